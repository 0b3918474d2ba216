//! Many fetches at once: one tokio task an origin, on a runtime of its own, and room for so many at a time.
//!
//! Async ends here: the caller reads finished fetches from a plain bounded channel. Where it reads slowly no new
//! fetch is started, and finished ones keep their seats, so that never more than the limit of bodies is held.

use std::future::pending;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

use super::room::{Room, Seat};
use super::stop::{STOP_GRACE, Stop};
use super::{Fetched, Fetcher};
use crate::origin::Target;
use crate::robots::access::FetchClass;

/// Finished fetches that wait for the caller.
const FINISHED_QUEUE: usize = 16;
/// Targets read ahead of the fetches.
const TARGET_QUEUE: usize = 16;

/// Fetches all targets, at most `concurrency` connections at a time, and gives them back as they finish.
///
/// Every target comes back exactly once, with the value that it was given with; a panic within one fetch gives
/// class `internal`. Dropping the receiver ends the run: no further fetch is started, and those under way end.
/// The iterator is read on a thread of its own, a few targets ahead.
///
/// Fetches that wait for a name, their address's turn or another attempt are not counted there and hold nothing; with
/// many thousands of them no further target is read.
///
/// Once `stop` is requested no further target is taken and who waits is dropped. Fetches that have a connection get
/// [`STOP_GRACE`] to end and come back as always; then the channel closes. What was taken and did not come back was
/// not fetched to its end.
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
    let room = Arc::new(Room::new(concurrency, fetcher.look_ups.get(), stop.clone()));
    let mut under_way = JoinSet::new();
    let mut queue_ended = false;
    let mut stopped = pin!(stop.requested());
    let mut grace: Option<Pin<Box<Sleep>>> = None;
    loop {
        fetcher.tally.under_way.set(under_way.len() as u64);
        let is_over = queue_ended && under_way.is_empty() || grace.is_some() && room.is_quiet(under_way.len());
        if is_over {
            return;
        }
        tokio::select! {
            biased;
            () = &mut stopped, if grace.is_none() => {
                queue_ended = true;
                queue.close();
                grace = Some(Box::pin(sleep(STOP_GRACE)));
            }
            () = end_of(&mut grace) => return,
            Some(done) = under_way.join_next() => {
                let (tag, result, _seat) = done.expect("a fetch catches its panics, and none is aborted here");
                if finished.send((tag, result)).is_err() {
                    return;
                }
            }
            next = queue.recv(), if !queue_ended && room.admits(under_way.len()) => match next {
                Some((tag, target)) => {
                    let fetcher = Arc::clone(fetcher);
                    let mut seat = Seat::in_room(Arc::clone(&room));
                    under_way.spawn(async move {
                        let result = fetcher.fetch_from(&mut seat, &target).await;
                        (tag, result, seat)
                    });
                }
                None => queue_ended = true,
            },
            () = room.changed() => {}
        }
    }
}

/// Never comes where nobody asked for a stop.
async fn end_of(grace: &mut Option<Pin<Box<Sleep>>>) {
    match grace {
        Some(grace) => grace.await,
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
