//! The time of day as a value, so that what depends on it can be shown for any time.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::tables::fetches::Timestamp;

/// Where the time of day comes from. How long something takes is measured elsewhere, by a clock that never jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// It is always this time.
    At(SystemTime),
}

impl Clock {
    /// The time.
    #[must_use]
    pub fn now(self) -> SystemTime {
        match self {
            Self::System => SystemTime::now(),
            Self::At(time) => time,
        }
    }

    /// The time in microseconds since 1970; 0 for any time before.
    #[must_use]
    pub fn now_micros(self) -> Timestamp {
        micros(self.now())
    }
}

/// Microseconds since 1970; 0 for any time before.
#[must_use]
pub fn micros(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::try_from(since.as_micros()).unwrap_or(Timestamp::MAX)
}
