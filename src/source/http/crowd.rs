//! Many fetches at once: one tokio task an origin, on a runtime of its own, and room for so many at a time.
//!
//! Async ends here: the caller reads finished fetches from a plain bounded channel. Where it reads slowly no new
//! fetch is started, and finished ones keep their seats, so that never more than the limit of bodies is held. Targets
//! and results cross between threads in batches, and finished fetches are collected before anybody is woken for them:
//! a wake for each would cost more than many a fetch.

use std::future::pending;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use std::vec;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Sleep, sleep};

use super::room::{Room, Seat};
use super::stop::{STOP_GRACE, Stop};
use super::{Fetched, Fetcher, caught};
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
    let taken = Arc::<Notify>::default();
    let outlet = Outlet { finished, taken: Arc::clone(&taken) };
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
                let crowd = run(fetcher, Queue::new(queue), concurrency.get(), outlet, stop);
                let _ = runtime.block_on(async { tokio::spawn(crowd).await });
                runtime.shutdown_background();
            }
            Err(_) => refuse_all(queue, &outlet.finished),
        }
    });
    Results { batches, batch: Vec::new().into_iter(), taken: Taken(taken) }
}

/// Finished fetches, in the order of their ends.
#[derive(Debug)]
pub struct Results<T> {
    batches: Receiver<Vec<(T, Fetched)>>,
    batch: vec::IntoIter<(T, Fetched)>,
    // Behind the receiver, so that it goes when that is gone.
    taken: Taken,
}

/// Tells that there is place for a batch, or nobody left who wants one.
#[derive(Debug)]
struct Taken(Arc<Notify>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.notify_one();
    }
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
            self.taken.0.notify_one();
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
            self.taken.0.notify_one();
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

    /// The next target, where there is one already.
    fn next_at_hand(&mut self) -> Option<(T, Target)> {
        if self.batch.len() == 0 {
            self.batch = self.batches.try_recv().ok()?.into_iter();
        }
        self.batch.next()
    }

    fn close(&mut self) {
        self.batches.close();
        self.batch = Vec::new().into_iter();
    }
}

/// Fetches that have ended and still have their seats.
struct Batch<T> {
    results: Vec<(T, Fetched)>,
    seats: Vec<Seat>,
}

/// Where fetches wait from their ends until they are handed over.
struct Ended<T> {
    batch: Mutex<Batch<T>>,
    /// Those that are handed over together.
    enough: usize,
}

impl<T> Ended<T> {
    fn new(enough: usize) -> Self {
        Self { batch: Mutex::new(Batch { results: Vec::new(), seats: Vec::new() }), enough }
    }

    fn lock(&self) -> MutexGuard<'_, Batch<T>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.lock().seats.len()
    }

    /// Adds one; the room is told of the first, which does not wait for ever, and of the one that makes enough.
    fn add(&self, result: (T, Fetched), seat: Seat, room: &Room) {
        let mut batch = self.lock();
        batch.results.push(result);
        batch.seats.push(seat);
        let count = batch.seats.len();
        drop(batch);
        if count == 1 || count == self.enough {
            room.tell();
        }
    }

    /// The first of them; others keep their seats until the caller has taken these.
    fn take(&self) -> Batch<T> {
        let mut batch = self.lock();
        let count = batch.seats.len().min(self.enough);
        Batch { results: batch.results.drain(..count).collect(), seats: batch.seats.drain(..count).collect() }
    }
}

/// The way to the caller.
struct Outlet<T> {
    finished: SyncSender<Vec<(T, Fetched)>>,
    /// Comes when the caller has taken a batch, or gone.
    taken: Arc<Notify>,
}

impl<T> Outlet<T> {
    /// Gives finished fetches to the caller when it takes them, and only then their seats to others; whether it still
    /// wants any.
    async fn give(&self, batch: Batch<T>) -> bool {
        let Batch { mut results, seats } = batch;
        if results.is_empty() {
            return true;
        }
        loop {
            results = match self.finished.try_send(results) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(results)) => results,
            };
            self.taken.notified().await;
        }
        drop(seats);
        true
    }
}

/// The fetches of one run.
struct Crowd<T> {
    fetcher: Arc<Fetcher>,
    room: Arc<Room>,
    ended: Arc<Ended<T>>,
    /// Begun and not handed over yet.
    held: usize,
}

impl<T: Send + 'static> Crowd<T> {
    /// Begun and not ended yet.
    fn under_way(&self) -> usize {
        self.held - self.ended.count()
    }

    fn begin(&mut self, tag: T, target: Target) {
        let (fetcher, room, ended) = (Arc::clone(&self.fetcher), Arc::clone(&self.room), Arc::clone(&self.ended));
        self.held += 1;
        tokio::spawn(async move {
            let mut seat = Seat::in_room(Arc::clone(&room));
            let answer = caught(pin!(fetcher.fetch_from(&mut seat, &target))).await;
            let answer = answer.unwrap_or_else(|| Fetched::of_class(FetchClass::Internal));
            ended.add((tag, answer), seat, &room);
        });
    }

    /// Hands over a batch of what has ended; whether the caller wants more.
    async fn hand_over(&mut self, outlet: &Outlet<T>) -> bool {
        let batch = self.ended.take();
        self.held -= batch.seats.len();
        outlet.give(batch).await
    }

    /// Hands over all that has ended.
    async fn hand_over_all(&mut self, outlet: &Outlet<T>) {
        while self.ended.count() > 0 && self.hand_over(outlet).await {}
    }
}

async fn run<T: Send + 'static>(
    fetcher: Arc<Fetcher>,
    mut queue: Queue<T>,
    concurrency: usize,
    outlet: Outlet<T>,
    stop: Stop,
) {
    let room = Arc::new(Room::new(concurrency, fetcher.look_ups.get(), stop.clone()));
    let enough = (concurrency / FINISHED_SHARE).clamp(1, FINISHED_BATCH);
    let ended = Arc::new(Ended::new(enough));
    let mut crowd = Crowd { fetcher, room: Arc::clone(&room), ended, held: 0 };
    let mut queue_ended = false;
    let mut stopped = pin!(stop.requested());
    let mut grace: Option<Pin<Box<Sleep>>> = None;
    let mut linger: Option<Pin<Box<Sleep>>> = None;
    loop {
        while !queue_ended && !stop.is_requested() && room.admits(crowd.under_way()) {
            let Some((tag, target)) = queue.next_at_hand() else { break };
            crowd.begin(tag, target);
        }
        let (ended, under_way) = (crowd.ended.count(), crowd.under_way());
        crowd.fetcher.tally.under_way.set(under_way as u64);
        let is_over = queue_ended && under_way == 0 || grace.is_some() && room.is_quiet(under_way);
        if is_over {
            return crowd.hand_over_all(&outlet).await;
        }
        if ended >= enough {
            linger = None;
            if !crowd.hand_over(&outlet).await {
                return;
            }
            continue;
        }
        if ended > 0 && linger.is_none() {
            linger = Some(Box::pin(sleep(LINGER)));
        }
        tokio::select! {
            biased;
            () = &mut stopped, if grace.is_none() => {
                queue_ended = true;
                queue.close();
                grace = Some(Box::pin(sleep(STOP_GRACE)));
            }
            () = end_of(&mut grace) => return crowd.hand_over_all(&outlet).await,
            () = end_of(&mut linger) => {
                linger = None;
                if !crowd.hand_over(&outlet).await {
                    return;
                }
            }
            next = queue.next(), if !queue_ended && room.admits(under_way) => match next {
                Some((tag, target)) => crowd.begin(tag, target),
                None => queue_ended = true,
            },
            () = room.changed() => {}
        }
    }
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
