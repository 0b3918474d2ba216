//! Manners towards one address, which many names may share: so many connections at a time, so many new ones a second
//! (fetch policy §4).
//!
//! What counts is the address that is connected to, at redirects too. IPv6 is paced by /64, the least that a site is
//! given: its addresses are one machine, or one customer. An origin whose address is busy waits in line without a
//! seat, and its time limits stand still. The wait ends, since all before it in the line have time limits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::room::{Aside, Seat};
use super::tally::Tally;

/// Connections to one address at a time.
pub const PER_IP_CONCURRENCY: usize = 8;
/// New connections to one address in a second.
pub const PER_IP_RATE: u32 = 10;

/// Addresses that are always remembered; beyond it those that are idle are forgotten from time to time.
const REMEMBERED: usize = 1024;

/// Who has connections to which address.
#[derive(Debug)]
pub(super) struct Pace {
    at_once: usize,
    /// Between the beginnings of two connections.
    interval: Duration,
    addresses: Mutex<Addresses>,
    most_at_once: AtomicUsize,
}

#[derive(Debug)]
struct Addresses {
    known: HashMap<IpAddr, Arc<Address>>,
    /// Idle ones are looked for where there are so many.
    sweep_at: usize,
}

#[derive(Debug)]
struct Address {
    slots: Arc<Semaphore>,
    /// When the next connection may begin. Whoever is next in line holds the lock.
    next: Arc<tokio::sync::Mutex<Instant>>,
    /// Connections; those in line have a slot and none yet.
    open: AtomicUsize,
}

/// The right to one connection, while it lives.
#[derive(Debug)]
pub(super) struct Turn {
    _slot: OwnedSemaphorePermit,
    /// Held also so that the address is not taken for an idle one.
    address: Arc<Address>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.address.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pace {
    /// `None` where neither is limited; 0 is no limit.
    pub(super) fn new(at_once: usize, per_second: u32) -> Option<Self> {
        if at_once == 0 && per_second == 0 {
            return None;
        }
        let at_once = if at_once == 0 { Semaphore::MAX_PERMITS } else { at_once.min(Semaphore::MAX_PERMITS) };
        let interval = Duration::from_secs(1).checked_div(per_second).unwrap_or_default();
        let addresses = Mutex::new(Addresses { known: HashMap::new(), sweep_at: REMEMBERED });
        Some(Self { at_once, interval, addresses, most_at_once: AtomicUsize::new(0) })
    }

    /// Waits for the address's turn, then for the seat: with both a connection may begin.
    pub(super) async fn turn(&self, address: IpAddr, seat: &mut Seat, tally: &Tally) -> Turn {
        let address = self.address(address);
        let in_line = async {
            let mut has_waited = false;
            let slot = if let Ok(slot) = Arc::clone(&address.slots).try_acquire_owned() {
                slot
            } else {
                has_waited = true;
                Arc::clone(&address.slots).acquire_owned().await.expect("the slots are never closed")
            };
            let next = Arc::clone(&address.next).lock_owned().await;
            if *next > Instant::now() {
                has_waited = true;
                sleep_until(*next).await;
            }
            if has_waited {
                tally.waits_for_turn.add_one();
            }
            (slot, next)
        };
        let (slot, mut next) = seat.aside(Aside::Wait, pin!(in_line)).await;
        // Others in line wait for the seat too: else those who got one together would begin together.
        seat.take().await;
        *next = Instant::now() + self.interval;
        let open = address.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(open, Ordering::Relaxed);
        Turn { _slot: slot, address }
    }

    /// Most connections to one address that were seen at a time.
    pub(super) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::Relaxed)
    }

    fn address(&self, address: IpAddr) -> Arc<Address> {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.known.len() >= addresses.sweep_at {
            addresses.forget_idle(Instant::now());
        }
        let new = || {
            let slots = Arc::new(Semaphore::new(self.at_once));
            let next = Arc::new(tokio::sync::Mutex::new(Instant::now()));
            Arc::new(Address { slots, next, open: AtomicUsize::new(0) })
        };
        Arc::clone(addresses.known.entry(paced(address)).or_insert_with(new))
    }
}

impl Addresses {
    /// What nobody uses and could be used at once. New users only come with the lock that is held here.
    fn forget_idle(&mut self, now: Instant) {
        self.known.retain(|_, address| {
            Arc::strong_count(address) > 1 || address.next.try_lock().map_or(true, |next| *next > now)
        });
        self.sweep_at = (2 * self.known.len()).max(REMEMBERED);
    }
}

/// What is paced as one: an IPv4 address, or an IPv6 /64.
fn paced(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    const ONE: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2606, 1, 2, 3, 4, 5, 6, 7));
    const NEIGHBOUR: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2606, 1, 2, 3, 9, 9, 9, 9));
    const OTHER: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2606, 1, 2, 4, 4, 5, 6, 7));

    async fn turn(pace: &Pace, address: IpAddr) -> Turn {
        pace.turn(address, &mut Seat::alone(), &Tally::default()).await
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_at_a_time() {
        let pace = Pace::new(2, 0).expect("a limit");
        let first = turn(&pace, ONE).await;
        let _second = turn(&pace, NEIGHBOUR).await;
        assert!(timeout(Duration::from_secs(9), turn(&pace, ONE)).await.is_err(), "a /64 is one address");
        let _other = turn(&pace, OTHER).await;
        drop(first);
        let _third = timeout(Duration::from_secs(9), turn(&pace, ONE)).await.expect("a slot is free");
        assert_eq!(pace.most_at_once(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_a_second() {
        let pace = Pace::new(0, 10).expect("a limit");
        let tally = Tally::default();
        let start = Instant::now();
        for begun in 0..25_u32 {
            drop(pace.turn(ONE, &mut Seat::alone(), &tally).await);
            assert_eq!(start.elapsed(), Duration::from_millis(100) * begun);
        }
        assert_eq!(tally.waits_for_turn.get(), 24);
        sleep(Duration::from_secs(60)).await;
        let late = Instant::now();
        drop(turn(&pace, ONE).await);
        drop(turn(&pace, ONE).await);
        assert_eq!(late.elapsed(), Duration::from_millis(100), "a pause saves nothing up");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_in_line_has_no_connection() {
        let pace = Arc::new(Pace::new(0, 20).expect("a limit"));
        let visit = |pace: Arc<Pace>| async move {
            let turn = turn(&pace, ONE).await;
            sleep(Duration::from_millis(10)).await;
            drop(turn);
        };
        let visits: Vec<_> = (0..40).map(|_| tokio::spawn(visit(Arc::clone(&pace)))).collect();
        for visit in visits {
            visit.await.expect("no panic");
        }
        assert_eq!(pace.most_at_once(), 1, "each has ended when the next may begin");
    }

    #[tokio::test(start_paused = true)]
    async fn idle_addresses_are_forgotten() {
        let pace = Pace::new(8, 10).expect("a limit");
        let held = turn(&pace, OTHER).await;
        for address in 0..100_000_u32 {
            drop(turn(&pace, std::net::Ipv4Addr::from(address).into()).await);
            if address % 100 == 0 {
                sleep(Duration::from_millis(10)).await;
            }
        }
        let addresses = pace.addresses.lock().expect("no panic");
        assert!(addresses.known.len() <= 2 * REMEMBERED, "{}", addresses.known.len());
        assert!(addresses.known.contains_key(&paced(OTHER)), "one in use stays");
        drop((addresses, held));
    }

    #[test]
    fn no_limit_no_state() {
        assert!(Pace::new(0, 0).is_none());
        assert_eq!(paced("::ffff:192.0.2.7".parse().expect("an address")).to_string(), "192.0.2.7");
        assert_eq!(paced(ONE).to_string(), "2606:1:2:3::");
    }
}
