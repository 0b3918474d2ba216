//! Ctrl-C and SIGTERM during a live run: the first asks it to stop, the second ends it at once.
//!
//! Whatever happens, the journal holds what is done; a run that is killed outright loses no more than one part.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::exit::Exit;
use super::{log, show};
use crate::source::http::Stop;

/// Looks out for signals as long as the program runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt {
    stop: Stop,
    is_fetching: Arc<AtomicBool>,
    is_signalled: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to look out. Until fetches begin, and after they have ended, a signal ends the program at once: nothing
    /// would be gained by waiting.
    pub(super) fn watch() -> Self {
        let interrupt = Self::default();
        let watcher = interrupt.clone();
        thread::spawn(move || {
            // Without a runtime a signal does what it does to any program.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            let mut signals = 0;
            let _ = runtime.block_on(on_each_signal(|| {
                signals += 1;
                if signals == 1 { watcher.first() } else { abort("aborted") }
            }));
        });
        interrupt
    }

    fn first(&self) {
        if !self.is_fetching.load(Ordering::Acquire) {
            abort("interrupted; the same command goes on where this one was");
        }
        self.is_signalled.store(true, Ordering::Release);
        self.stop.request();
        show::remark("stopping: requests under way get 10 seconds; interrupt again to abort at once");
    }

    /// The wish to stop.
    pub(super) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Fetches begin.
    pub(super) fn fetching(&self) {
        self.is_fetching.store(true, Ordering::Release);
    }

    /// The fetches have ended.
    pub(super) fn fetched(&self) {
        self.is_fetching.store(false, Ordering::Release);
        if self.is_signalled.load(Ordering::Acquire) {
            abort("interrupted; the same command goes on where this one was");
        }
    }
}

fn abort(why: &str) -> ! {
    show::remark(why);
    log::end(Exit::Interrupted);
    std::process::exit(Exit::Interrupted as i32);
}

/// Calls back for every Ctrl-C and every SIGTERM.
#[cfg(unix)]
async fn on_each_signal(mut callback: impl FnMut()) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut pressed, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        tokio::select! {
            _ = pressed.recv() => callback(),
            _ = terminate.recv() => callback(),
        }
    }
}

/// Calls back for every Ctrl-C.
#[cfg(not(unix))]
async fn on_each_signal(mut callback: impl FnMut()) -> std::io::Result<()> {
    loop {
        tokio::signal::ctrl_c().await?;
        callback();
    }
}
