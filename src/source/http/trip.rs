//! What one fetch has while it is under way: its seat, and the time left for work.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::failure::Failure;
use super::limits::FetchLimits;
use super::room::Seat;
use crate::robots::access::Reason;
use crate::source::history::earlier::Validators;

/// One fetch under way.
pub(super) struct Trip<'a> {
    pub(super) seat: &'a mut Seat,
    pub(super) time: TimeLeft,
    /// What is known of the answer from before.
    pub(super) validators: Option<&'a Validators>,
}

/// Time left for work. It stands still while a fetch waits for its turn or between attempts: that time is not the
/// origin's, and it has bounds of its own.
#[derive(Debug)]
pub(super) struct TimeLeft {
    attempt: Duration,
    origin: Duration,
}

impl TimeLeft {
    pub(super) const fn new(limits: &FetchLimits) -> Self {
        Self { attempt: limits.attempt, origin: limits.origin }
    }

    /// A new attempt has its whole time again, as far as the origin's lasts.
    pub(super) fn begin_attempt(&mut self, limits: &FetchLimits) {
        self.attempt = limits.attempt;
    }

    /// Whether there is time for another attempt.
    pub(super) const fn is_over(&self) -> bool {
        self.origin.is_zero()
    }

    /// Works on the future as long as the attempt's time lasts.
    ///
    /// # Errors
    /// The attempt is out of time.
    pub(super) async fn spend<F: Future>(&mut self, future: F) -> Result<F::Output, Failure> {
        self.spend_at_most(Duration::MAX, Failure::timeout(Reason::Total), future).await
    }

    /// The same within a limit of its own.
    ///
    /// # Errors
    /// The attempt is out of time, or the limit is over: then it is the failure given.
    pub(super) async fn spend_at_most<F: Future>(
        &mut self,
        limit: Duration,
        or: Failure,
        future: F,
    ) -> Result<F::Output, Failure> {
        let left = self.attempt.min(self.origin);
        let start = Instant::now();
        let result = timeout(left.min(limit), future).await;
        let spent = start.elapsed();
        self.attempt = self.attempt.saturating_sub(spent);
        self.origin = self.origin.saturating_sub(spent);
        result.map_err(|_| if left <= limit { Failure::timeout(Reason::Total) } else { or })
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::robots::access::FetchClass;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn only_work_counts() {
        let limits = FetchLimits { attempt: 4 * SECOND, origin: 6 * SECOND, ..FetchLimits::default() };
        let mut time = TimeLeft::new(&limits);
        time.spend(sleep(3 * SECOND)).await.expect("in time");
        sleep(60 * SECOND).await;
        let late = time.spend(sleep(2 * SECOND)).await;
        assert_eq!(late, Err(Failure::timeout(Reason::Total)), "one second was left");
        time.begin_attempt(&limits);
        assert!(!time.is_over());
        let or = Failure::from(FetchClass::ConnectTimeout);
        assert_eq!(time.spend_at_most(SECOND, or, sleep(5 * SECOND)).await, Err(or));
        assert_eq!(time.spend(sleep(3 * SECOND)).await, Err(Failure::timeout(Reason::Total)), "the origin's time");
        assert!(time.is_over());
    }
}
