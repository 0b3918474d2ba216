//! What one fetch has while it is under way: its seat, and the time left for work.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until};

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
        let (result, spent) = timed(left.min(limit), future).await;
        self.attempt = self.attempt.saturating_sub(spent);
        self.origin = self.origin.saturating_sub(spent);
        result.ok_or_else(|| if left <= limit { Failure::timeout(Reason::Total) } else { or })
    }
}

/// Waits for the future as long as the limit.
pub(super) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    timed(limit, future).await.0
}

/// Waits for the future as long as the limit, and says how long that took. What comes at once needs neither timer nor
/// clock.
async fn timed<F: Future>(limit: Duration, future: F) -> (Option<F::Output>, Duration) {
    let mut future = pin!(future);
    let mut timer = pin!(None);
    let mut start = None;
    let output = poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if start.is_none() {
            let now = *start.insert(Instant::now());
            // A future that keeps the thread busy does not keep its timer from coming.
            timer.set(Some(unconstrained(sleep_until(now + limit))));
        }
        timer.as_mut().as_pin_mut().map_or(Poll::Pending, |timer| timer.poll(cx).map(|()| None))
    });
    let output = output.await;
    (output, start.map_or(Duration::ZERO, |start| start.elapsed()))
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
