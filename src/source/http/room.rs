//! Room for fetches under way: who has a connection, and who waits beside without holding anything (fetch policy §4).
//!
//! A fetch has a seat while it is connected or its answer is not handed over yet. It gives the seat up where it has
//! to wait for a name, for its address's turn or for another attempt. Seats are waited for only by those who hold
//! none, so nobody can wait for each other.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::stop::Stop;

/// Origins that wait beside at most; with more of them no further target is read. Each takes a few KiB.
pub(super) const WAITING_ORIGINS: usize = 16 * 1024;

/// What a fetch without a seat is doing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aside {
    /// Waits for its address's turn, another attempt, or something that this machine is short of.
    Wait,
    /// Looks a name up, or waits to do so.
    LookUp,
    /// Waits for a seat.
    Queue,
}

/// The room of one run.
#[derive(Debug)]
pub(super) struct Room {
    seats: Arc<Semaphore>,
    size: usize,
    look_ups: usize,
    /// By [`Aside`].
    aside: [AtomicUsize; 3],
    changed: Notify,
    stop: Stop,
}

impl Room {
    /// A room of so many seats that reads so many names ahead.
    pub(super) fn new(size: usize, look_ups: usize, stop: Stop) -> Self {
        let size = size.min(Semaphore::MAX_PERMITS);
        let (seats, changed) = (Arc::new(Semaphore::new(size)), Notify::new());
        Self { seats, size, look_ups, aside: Default::default(), changed, stop }
    }

    /// Whether one more fetch may begin where so many are under way.
    pub(super) fn admits(&self, under_way: usize) -> bool {
        let looking_up = self.count(Aside::LookUp);
        let busy = under_way.saturating_sub(self.count(Aside::Wait) + looking_up);
        busy < self.size && looking_up < self.look_ups && under_way < self.size + WAITING_ORIGINS
    }

    /// Whether none of so many fetches under way has a connection.
    pub(super) fn is_quiet(&self, under_way: usize) -> bool {
        under_way <= [Aside::Wait, Aside::LookUp, Aside::Queue].map(|aside| self.count(aside)).iter().sum()
    }

    /// Comes when somebody steps aside or back, or tells.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Lets [`Self::changed`] come.
    pub(super) fn tell(&self) {
        self.changed.notify_one();
    }

    fn count(&self, aside: Aside) -> usize {
        self.aside[aside as usize].load(Ordering::Relaxed)
    }

    fn step_aside(&self, aside: Aside) -> Stay<'_> {
        self.aside[aside as usize].fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
        Stay { room: self, aside }
    }

    /// Goes on, unless a stop is requested: then whoever waits is left where it is and goes with the run.
    async fn unless_stopped(&self) {
        if self.stop.is_requested() {
            pending::<()>().await;
        }
    }
}

/// Counted as aside while it lives.
struct Stay<'a> {
    room: &'a Room,
    aside: Aside,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.room.aside[self.aside as usize].fetch_sub(1, Ordering::Relaxed);
        self.room.changed.notify_one();
    }
}

/// One fetch's place in a room.
#[derive(Debug)]
pub(super) struct Seat {
    room: Option<Arc<Room>>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Seat {
    /// For a fetch that shares its room with nobody.
    pub(super) const fn alone() -> Self {
        Self { room: None, taken: None }
    }

    /// For a fetch in the room; the seat is not taken yet.
    pub(super) const fn in_room(room: Arc<Room>) -> Self {
        Self { room: Some(room), taken: None }
    }

    /// Waits for the future, without a seat where it does not come at once.
    pub(super) async fn aside<F: Future>(&mut self, aside: Aside, future: F) -> F::Output {
        let mut future = pin!(future);
        if let Poll::Ready(output) = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
            return output;
        }
        let Some(room) = &self.room else { return future.await };
        self.taken = None;
        let _stay = room.step_aside(aside);
        let output = future.await;
        room.unless_stopped().await;
        output
    }

    /// Takes the seat, where it is not taken yet.
    pub(super) async fn take(&mut self) {
        let Some(room) = self.room.as_ref().filter(|_| self.taken.is_none()) else { return };
        if let Ok(seat) = Arc::clone(&room.seats).try_acquire_owned() {
            self.taken = Some(seat);
            return;
        }
        let _stay = room.step_aside(Aside::Queue);
        let seat = Arc::clone(&room.seats).acquire_owned().await.expect("the seats are never closed");
        room.unless_stopped().await;
        self.taken = Some(seat);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{sleep, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_steps_aside_gives_the_seat_up() {
        let room = Arc::new(Room::new(1, 8, Stop::default()));
        let (mut one, mut other) = (Seat::in_room(Arc::clone(&room)), Seat::in_room(Arc::clone(&room)));
        one.take().await;
        assert!(!room.admits(1));
        let is_late = timeout(Duration::from_secs(1), other.take()).await.is_err();
        assert!(is_late, "there is one seat");
        one.aside(Aside::Wait, std::future::ready(())).await;
        assert!(one.taken.is_some(), "what comes at once is not waited for");
        let waits = one.aside(Aside::Wait, sleep(Duration::from_secs(9)));
        let sits = async {
            other.take().await;
            assert!(room.admits(1) && !room.admits(2), "who waits is not busy");
        };
        tokio::join!(waits, sits);
        assert!(one.taken.is_none() && other.taken.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn names_and_waits_are_bounded() {
        let room = Arc::new(Room::new(2, 3, Stop::default()));
        let stays: Vec<Stay<'_>> = (0..3).map(|_| room.step_aside(Aside::LookUp)).collect();
        assert!(!room.admits(3), "so many names are looked up ahead and no more");
        drop(stays);
        let _stays: Vec<Stay<'_>> = (0..WAITING_ORIGINS).map(|_| room.step_aside(Aside::Wait)).collect();
        assert!(room.admits(WAITING_ORIGINS + 1), "the seats are free");
        assert!(!room.admits(WAITING_ORIGINS + 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_leaves_those_who_wait() {
        let stop = Stop::default();
        let room = Arc::new(Room::new(1, 1, stop.clone()));
        let mut seat = Seat::in_room(Arc::clone(&room));
        let wait = tokio::spawn(async move { seat.aside(Aside::Wait, sleep(Duration::from_secs(1))).await });
        tokio::task::yield_now().await;
        assert!(room.is_quiet(1) && !room.is_quiet(2));
        stop.request();
        sleep(Duration::from_secs(5)).await;
        assert!(!wait.is_finished() && room.is_quiet(1));
        wait.abort();
    }
}
