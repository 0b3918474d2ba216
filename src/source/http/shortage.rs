//! What this machine may be short of. Such a failure is not the origin's: it is waited out, for a while.

use std::io;
use std::time::Duration;

use super::tally::{Count, Tally};

/// How often the same thing is tried while this machine is short of something; with the pauses about eight seconds.
pub(super) const TRIES: u32 = 12;
/// The first pause; the next ones are longer, up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The pause after so many tries.
pub(super) fn pause(tries: u32) -> Duration {
    PAUSE.saturating_mul(2_u32.saturating_pow(tries)).min(LONGEST_PAUSE)
}

/// What this machine was short of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shortage {
    /// Descriptors, of this process or the whole system.
    Descriptors,
    /// Ports or buffers for connections.
    Ports,
}

impl Shortage {
    /// `None` where the error is no fault of this machine.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::EMFILE | libc::ENFILE => Some(Self::Descriptors),
            libc::ENOBUFS | libc::EADDRNOTAVAIL => Some(Self::Ports),
            _ => None,
        }
    }

    /// Its count.
    pub(super) const fn count(self, tally: &Tally) -> &Count {
        match self {
            Self::Descriptors => &tally.own_descriptors,
            Self::Ports => &tally.own_ports,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shortages_are_ours() {
        let of = |number| Shortage::of(&io::Error::from_raw_os_error(number));
        assert_eq!(of(libc::EMFILE), Some(Shortage::Descriptors));
        assert_eq!(of(libc::ENFILE), Some(Shortage::Descriptors));
        assert_eq!(of(libc::EADDRNOTAVAIL), Some(Shortage::Ports));
        assert_eq!(of(libc::ECONNREFUSED), None);
        assert_eq!(of(libc::ENETUNREACH), None);
        assert_eq!(Shortage::of(&io::Error::other("no number")), None);
    }

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Duration = (0..TRIES).map(pause).sum();
        assert_eq!((pause(0), pause(1), pause(31)), (PAUSE, 2 * PAUSE, LONGEST_PAUSE));
        assert!(pauses < Duration::from_secs(10), "{pauses:?}");
    }
}
