//! Asking a run of fetches to end early (fetch policy §8).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// How long fetches under way get to end by themselves once a stop is requested.
pub const STOP_GRACE: Duration = Duration::from_secs(10);

/// A handle on the wish to stop: its clones share one wish, any thread may utter it, and it is never taken back.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    /// A handle of its own, on which nobody has requested anything yet.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.send_replace(true);
    }

    /// Whether somebody has asked for the end.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until somebody asks for the end.
    pub(super) async fn requested(&self) {
        // An error would mean that the sender is gone, and this handle holds it.
        let _ = self.0.subscribe().wait_for(|is_requested| *is_requested).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clones_share_one_wish() {
        let stop = Stop::default();
        let (other, stranger) = (stop.clone(), Stop::default());
        assert!(!other.is_requested());
        std::thread::spawn(move || other.request()).join().expect("no panic");
        stop.requested().await;
        assert!(stop.is_requested() && !stranger.is_requested());
    }
}
