//! Many fetches at once: one tokio task an origin under a global limit, on a runtime of its own.
//!
//! Async ends here: the caller reads finished fetches from a plain bounded channel. Where it reads slowly no new
//! fetch is started, so that never more than the limit of answers is held.

use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::stop::{STOP_GRACE, Stop};
use super::{Fetched, Fetcher};
use crate::origin::Target;
use crate::robots::access::FetchClass;

/// Finished fetches that wait for the caller.
const FINISHED_QUEUE: usize = 16;
/// Targets read ahead of the fetches.
const TARGET_QUEUE: usize = 16;

/// Fetches all targets, at most `concurrency` at a time, and gives them back as they finish.
///
/// Every target comes back exactly once, with the value that it was given with; a panic within one fetch gives
/// class `internal`. Dropping the receiver ends the run: no further fetch is started, and those under way end.
/// The iterator is read on a thread of its own, a few targets ahead.
///
/// Once `stop` is requested no further target is taken. Fetches under way get [`STOP_GRACE`] to end and come back as
/// always; then the channel closes. What was taken and did not come back was not fetched to its end.
///
/// # Panics
/// The operating system gives no thread.
pub fn fetch_all<T: Send + 'static>(
    fetcher: Arc<Fetcher>,
    targets: impl Iterator<Item = (T, Target)> + Send + 'static,
    concurrency: NonZeroUsize,
    stop: Stop,
) -> Receiver<(T, Fetched)> {
    let (finished, results) = sync_channel(FINISHED_QUEUE);
    let (wanted, queue) = mpsc::channel(TARGET_QUEUE);
    thread::spawn(move || {
        for target in targets {
            if wanted.blocking_send(target).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("fetch").build() {
            Ok(runtime) => {
                runtime.block_on(run(&fetcher, queue, concurrency.get(), &finished, &stop));
                runtime.shutdown_background();
            }
            Err(_) => refuse_all(queue, &finished),
        }
    });
    results
}

/// Sending may wait for the caller. That holds up this thread only: the tasks run on the runtime's own.
async fn run<T: Send + 'static>(
    fetcher: &Arc<Fetcher>,
    mut queue: mpsc::Receiver<(T, Target)>,
    concurrency: usize,
    finished: &SyncSender<(T, Fetched)>,
    stop: &Stop,
) {
    let mut under_way = JoinSet::new();
    let mut queue_ended = false;
    let mut end = None;
    while !(queue_ended && under_way.is_empty()) {
        tokio::select! {
            biased;
            () = stop.requested(), if end.is_none() => {
                queue_ended = true;
                end = Some(Instant::now() + STOP_GRACE);
            }
            () = until(end) => return,
            Some(done) = under_way.join_next() => {
                let result = done.expect("a fetch catches its panics, and none is aborted while this runs");
                if finished.send(result).is_err() {
                    return;
                }
            }
            next = queue.recv(), if !queue_ended && under_way.len() < concurrency => match next {
                Some((tag, target)) => {
                    let fetcher = Arc::clone(fetcher);
                    under_way.spawn(async move { (tag, fetcher.fetch(&target).await) });
                }
                None => queue_ended = true,
            },
        }
    }
}

/// Never comes where there is no end.
async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => pending().await,
    }
}

/// Without a runtime nothing can be asked, but nothing is lost either.
fn refuse_all<T>(mut queue: mpsc::Receiver<(T, Target)>, finished: &SyncSender<(T, Fetched)>) {
    while let Some((tag, _)) = queue.blocking_recv() {
        if finished.send((tag, Fetched::of_class(FetchClass::Internal))).is_err() {
            return;
        }
    }
}
