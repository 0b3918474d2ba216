//! Many fetches at once: one tokio task an origin, on a runtime of its own, and room for so many at a time.
//!
//! Async ends here: the caller reads finished fetches from a plain bounded channel. Where it reads slowly no new
//! fetch is started, and finished ones keep their seats, so that never more than the limit of bodies is held. Targets
//! and results cross between threads in batches: waking a thread for each would cost more than many a fetch.

use std::future::pending;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;
use std::vec;

use tokio::sync::mpsc;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Sleep, sleep};

use super::room::{Room, Seat};
use super::stop::{STOP_GRACE, Stop};
use super::{Fetched, Fetcher};
use crate::origin::Target;
use crate::robots::access::FetchClass;

/// Finished fetches that are handed over together at most, and the share of all seats that may wait for that.
const FINISHED_BATCH: usize = 16;
const FINISHED_SHARE: usize = 16;
/// How long a finished fetch waits for others at most.
const LINGER: Duration = Duration::from_millis(2);
/// Targets that are read together, and batches of them that wait.
const TARGET_BATCH: usize = 32;
const TARGET_QUEUE: usize = 2;

/// Fetches all targets, at most `concurrency` connections at a time, and gives them back as they finish.
///
/// Every target comes back exactly once, with the value that it was given with; a panic within one fetch gives
/// class `internal`. Dropping the results ends the run: no further fetch is started, and those under way end.
/// The iterator is read on a thread of its own, a hundred targets ahead.
///
/// Fetches that wait for a name, their address's turn or another attempt are not counted there and hold nothing; with
/// many thousands of them no further target is read.
///
/// Once `stop` is requested no further target is taken and who waits is dropped. Fetches that have a connection get
/// [`STOP_GRACE`] to end and come back as always; then the results end. What was taken and did not come back was
/// not fetched to its end.
///
/// # Panics
/// The operating system gives no thread.
pub fn fetch_all<T: Send + 'static>(
    fetcher: Arc<Fetcher>,
    targets: impl Iterator<Item = (T, Target)> + Send + 'static,
    concurrency: NonZeroUsize,
    stop: Stop,
) -> Results<T> {
    let (finished, batches) = sync_channel(1);
    let (wanted, queue) = mpsc::channel(TARGET_QUEUE);
    thread::spawn(move || {
        let mut targets = targets;
        loop {
            let batch: Vec<_> = targets.by_ref().take(TARGET_BATCH).collect();
            if batch.is_empty() || wanted.blocking_send(batch).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("fetch").build() {
            Ok(runtime) => {
                // On the runtime's own threads, where a finished fetch wakes nobody from outside. Where it panics the
                // results end early, and the caller sees that.
                let crowd = run(fetcher, Queue::new(queue), concurrency.get(), finished, stop);
                let _ = runtime.block_on(async { tokio::spawn(crowd).await });
                runtime.shutdown_background();
            }
            Err(_) => refuse_all(queue, &finished),
        }
    });
    Results { batches, batch: Vec::new().into_iter() }
}

/// Finished fetches, in the order of their ends.
#[derive(Debug)]
pub struct Results<T> {
    batches: Receiver<Vec<(T, Fetched)>>,
    batch: vec::IntoIter<(T, Fetched)>,
}

impl<T> Results<T> {
    /// The next finished fetch, if there is one within this time.
    ///
    /// # Errors
    /// There is none within the time, or there will be no more.
    pub fn next_within(&mut self, time: Duration) -> Result<(T, Fetched), RecvTimeoutError> {
        loop {
            if let Some(result) = self.batch.next() {
                return Ok(result);
            }
            self.batch = self.batches.recv_timeout(time)?.into_iter();
        }
    }
}

impl<T> Iterator for Results<T> {
    type Item = (T, Fetched);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(result) = self.batch.next() {
                return Some(result);
            }
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}

/// Targets as they are taken, one by one.
struct Queue<T> {
    batches: mpsc::Receiver<Vec<(T, Target)>>,
    batch: vec::IntoIter<(T, Target)>,
}

impl<T> Queue<T> {
    fn new(batches: mpsc::Receiver<Vec<(T, Target)>>) -> Self {
        Self { batches, batch: Vec::new().into_iter() }
    }

    /// The next target. Nothing is lost where this is not waited for to its end.
    async fn next(&mut self) -> Option<(T, Target)> {
        loop {
            if let Some(target) = self.batch.next() {
                return Some(target);
            }
            self.batch = self.batches.recv().await?.into_iter();
        }
    }

    fn close(&mut self) {
        self.batches.close();
        self.batch = Vec::new().into_iter();
    }
}

async fn run<T: Send + 'static>(
    fetcher: Arc<Fetcher>,
    mut queue: Queue<T>,
    concurrency: usize,
    finished: SyncSender<Vec<(T, Fetched)>>,
    stop: Stop,
) {
    let room = Arc::new(Room::new(concurrency, fetcher.look_ups.get(), stop.clone()));
    let mut under_way = JoinSet::new();
    let mut queue_ended = false;
    let mut stopped = pin!(stop.requested());
    let mut grace: Option<Pin<Box<Sleep>>> = None;
    let mut linger: Option<Pin<Box<Sleep>>> = None;
    let mut batch = Vec::with_capacity(FINISHED_BATCH);
    let enough = (concurrency / FINISHED_SHARE).clamp(1, FINISHED_BATCH);
    loop {
        fetcher.tally.under_way.set(under_way.len() as u64);
        let is_over = queue_ended && under_way.is_empty() || grace.is_some() && room.is_quiet(under_way.len());
        if batch.len() >= enough || is_over {
            linger = None;
            if !hand_over(&mut batch, &finished) || is_over {
                return;
            }
        }
        tokio::select! {
            biased;
            () = &mut stopped, if grace.is_none() => {
                queue_ended = true;
                queue.close();
                grace = Some(Box::pin(sleep(STOP_GRACE)));
            }
            () = end_of(&mut grace) => {
                hand_over(&mut batch, &finished);
                return;
            }
            Some(done) = under_way.join_next() => {
                batch.push(done.expect("a fetch catches its panics, and none is aborted here"));
                linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
            }
            () = end_of(&mut linger) => {
                linger = None;
                if !hand_over(&mut batch, &finished) {
                    return;
                }
            }
            next = queue.next(), if !queue_ended && room.admits(under_way.len()) => match next {
                Some((tag, target)) => {
                    let fetcher = Arc::clone(&fetcher);
                    let mut seat = Seat::in_room(Arc::clone(&room));
                    under_way.spawn(async move {
                        let answer = fetcher.fetch_from(&mut seat, &target).await;
                        (tag, answer, seat)
                    });
                }
                None => queue_ended = true,
            },
            () = room.changed() => {}
        }
    }
}

/// Gives finished fetches to the caller, and only then their seats to others; whether the caller still wants them.
fn hand_over<T>(batch: &mut Vec<(T, Fetched, Seat)>, finished: &SyncSender<Vec<(T, Fetched)>>) -> bool {
    if batch.is_empty() {
        return true;
    }
    let (results, seats): (Vec<_>, Vec<Seat>) =
        batch.drain(..).map(|(tag, fetched, seat)| ((tag, fetched), seat)).unzip();
    let is_wanted = match finished.try_send(results) {
        Ok(()) => true,
        Err(TrySendError::Disconnected(_)) => false,
        // The caller is slow: other threads take over what this one has to do meanwhile.
        Err(TrySendError::Full(results)) => block_in_place(|| finished.send(results).is_ok()),
    };
    drop(seats);
    is_wanted
}

/// Never comes where there is nothing to wait for.
async fn end_of(time: &mut Option<Pin<Box<Sleep>>>) {
    match time {
        Some(time) => time.await,
        None => pending().await,
    }
}

/// Without a runtime nothing can be asked, but nothing is lost either.
fn refuse_all<T>(mut queue: mpsc::Receiver<Vec<(T, Target)>>, finished: &SyncSender<Vec<(T, Fetched)>>) {
    while let Some(targets) = queue.blocking_recv() {
        let refused = targets.into_iter().map(|(tag, _)| (tag, Fetched::of_class(FetchClass::Internal)));
        if finished.send(refused.collect()).is_err() {
            return;
        }
    }
}
