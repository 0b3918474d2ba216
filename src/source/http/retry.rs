//! When an origin is asked again, and after how long (fetch policy §4).
//!
//! Waits are jittered in full: names of one server that failed together come back apart. `Retry-After` goes before
//! that. Between attempts nothing is held, and an origin's time limit stands still; it is bounded all the same, by
//! the retries and [`LONGEST_RETRY_AFTER`].

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::failure::Ending;
use crate::robots::access::FetchClass;
use crate::tables::fetches::Observation;

/// Attempts after the first.
pub const RETRIES: u16 = 2;
/// The longest `Retry-After` that is waited for; a longer one ends the attempts.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(120);

/// The longest wait before the first retry; it doubles with each further one.
const BASE: Duration = Duration::from_millis(500);
/// What it doubles up to.
const CAP: Duration = Duration::from_secs(8);

/// How failed attempts are followed by others.
#[derive(Debug)]
pub(super) struct Retry {
    most: u16,
    seed: u64,
    draws: AtomicU64,
}

/// A wait before the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// Of this program's own choice.
    Jittered(Duration),
    /// As the server asked.
    Asked(Duration),
}

impl Retry {
    /// At most so many retries; the waits are reproducible where a seed is given.
    pub(super) fn new(most: u16, seed: Option<u64>) -> Self {
        Self { most, seed: seed.unwrap_or_else(|| RandomState::new().hash_one(0)), draws: AtomicU64::new(0) }
    }

    /// The wait after an attempt that ended so, with so many retries made already; `None` where it was the last one.
    pub(super) fn pause(&self, ending: &Ending, seen: &Observation, made: u16) -> Option<Pause> {
        if made >= self.most || !is_worth_another(ending.class, seen.status) {
            return None;
        }
        match seen.retry_after_s.map(|seconds| Duration::from_secs(seconds.unsigned_abs())) {
            Some(asked) if asked > LONGEST_RETRY_AFTER => None,
            // A time that is over is no reason to come back faster than without one.
            Some(asked) if !asked.is_zero() => Some(Pause::Asked(asked)),
            _ => Some(Pause::Jittered(self.jittered(made))),
        }
    }

    /// Anything from nothing to the longest wait, evenly.
    fn jittered(&self, made: u16) -> Duration {
        let longest = BASE.saturating_mul(2_u32.saturating_pow(made.into())).min(CAP);
        let draw = mixed(self.seed, self.draws.fetch_add(1, Ordering::Relaxed));
        let micros = (u128::from(draw) * (longest.as_micros() + 1)) >> 64;
        Duration::from_micros(u64::try_from(micros).unwrap_or_default())
    }
}

/// The `n`th number of `SplitMix64`.
const fn mixed(seed: u64, n: u64) -> u64 {
    let mut mixed = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Whether the same question may well get another answer soon.
const fn is_worth_another(class: FetchClass, status: Option<u16>) -> bool {
    match class {
        FetchClass::ConnectFailed
        | FetchClass::ConnectTimeout
        | FetchClass::DnsFailure
        | FetchClass::Timeout
        | FetchClass::BodyIncomplete
        | FetchClass::ProtocolError
        | FetchClass::RateLimited => true,
        FetchClass::ServerError => matches!(status, Some(500 | 502 | 503 | 504 | 520..=529)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(class: FetchClass) -> Ending {
        Ending { class, reason: None, body: None }
    }

    fn seen(status: Option<u16>, retry_after_s: Option<i64>) -> Observation {
        Observation { status, retry_after_s, ..Observation::of_class(FetchClass::Internal, None) }
    }

    #[test]
    fn exactly_these_are_asked_again() {
        use FetchClass as C;
        let always = [
            C::RateLimited,
            C::ConnectFailed,
            C::ConnectTimeout,
            C::DnsFailure,
            C::Timeout,
            C::BodyIncomplete,
            C::ProtocolError,
        ];
        for class in FetchClass::ALL.iter().copied().filter(|class| *class != C::ServerError) {
            assert_eq!(is_worth_another(class, None), always.contains(&class), "{class}");
        }
        let again: Vec<u16> = (500..1000).filter(|status| is_worth_another(C::ServerError, Some(*status))).collect();
        assert_eq!(again, [500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 528, 529]);
    }

    #[test]
    fn retries_are_bounded() {
        let retry = Retry::new(2, Some(1));
        let pause = |made| retry.pause(&ending(FetchClass::Timeout), &seen(None, None), made);
        assert!(pause(0).is_some() && pause(1).is_some() && pause(2).is_none());
        assert_eq!(Retry::new(0, None).pause(&ending(FetchClass::Timeout), &seen(None, None), 0), None);
    }

    #[test]
    fn what_the_server_asks_goes_first_up_to_a_limit() {
        let retry = Retry::new(2, Some(1));
        for (seconds, expected) in [(1, Some(1)), (120, Some(120)), (121, None), (i64::MAX, None)] {
            let pause = retry.pause(&ending(FetchClass::RateLimited), &seen(Some(429), Some(seconds)), 0);
            assert_eq!(pause, expected.map(|seconds| Pause::Asked(Duration::from_secs(seconds))), "{seconds}");
        }
        let now = retry.pause(&ending(FetchClass::ServerError), &seen(Some(503), Some(0)), 0);
        assert!(matches!(now, Some(Pause::Jittered(wait)) if wait <= BASE), "{now:?}");
    }

    #[test]
    fn jitter_fills_its_range_and_comes_again_with_its_seed() {
        let waits = |seed: u64, made: u16| -> Vec<Duration> {
            let retry = Retry::new(9, Some(seed));
            (0..1000).map(|_| retry.jittered(made)).collect()
        };
        assert_eq!(waits(7, 0), waits(7, 0));
        assert_ne!(waits(7, 0), waits(8, 0));
        for (made, longest_ms) in [(0, 500), (1, 1000), (3, 4000), (4, 8000), (9, 8000), (u16::MAX, 8000)] {
            let (longest, waits) = (Duration::from_millis(longest_ms), waits(7, made));
            assert!(waits.iter().all(|wait| *wait <= longest));
            let low = waits.iter().filter(|wait| **wait < longest / 2).count();
            assert!((400..600).contains(&low), "{low} of 1000 in the lower half");
            assert!(
                waits.iter().any(|wait| *wait < longest / 50) && waits.iter().any(|wait| *wait > longest / 50 * 49)
            );
        }
    }
}
