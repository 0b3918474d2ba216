//! The limit of open files, and how many connections and look-ups it allows (fetch policy §4).

use std::num::NonZeroUsize;

use crate::source::http::LOOK_UPS;

/// Descriptors that are kept for files, name servers and the rest.
const OTHER_DESCRIPTORS: u64 = 128;
/// Those of them that look-ups of names do not take.
const FILE_DESCRIPTORS: u64 = 64;
/// Descriptors that one fetch may need at a time.
const DESCRIPTORS_A_FETCH: u64 = 2;
/// Descriptors that one look-up may need at a time: both families, two name servers.
const DESCRIPTORS_A_LOOK_UP: u64 = 4;

/// What the limit of open files allows.
pub(super) struct Fitted {
    /// Connections at a time.
    pub(super) concurrency: NonZeroUsize,
    /// Look-ups at a time.
    pub(super) look_ups: NonZeroUsize,
    /// What to say of it once work begins.
    pub(super) remark: Option<String>,
}

/// Connections and look-ups at a time that the limit of open files allows; it is raised where that is possible.
///
/// Beyond it connections would fail through our own fault, and that must not look like the origin's.
pub(super) fn fitted(asked: NonZeroUsize) -> Fitted {
    let wanted = OTHER_DESCRIPTORS
        .saturating_add(DESCRIPTORS_A_FETCH.saturating_mul(asked.get() as u64))
        .saturating_add(DESCRIPTORS_A_LOOK_UP * LOOK_UPS.get() as u64);
    let Ok(descriptors) = rlimit::increase_nofile_limit(wanted) else {
        return Fitted { concurrency: asked, look_ups: LOOK_UPS, remark: None };
    };
    let (concurrency, look_ups) = within(descriptors, asked);
    let at_a_time = format!("{concurrency} connections at a time");
    let remark = if concurrency < asked {
        format!("{at_a_time}: {descriptors} open files allow no more than that")
    } else {
        at_a_time
    };
    Fitted { concurrency, look_ups, remark: Some(remark) }
}

/// Connections and look-ups at a time with so many descriptors.
fn within(descriptors: u64, asked: NonZeroUsize) -> (NonZeroUsize, NonZeroUsize) {
    let at_least_one = |count: u64| {
        usize::try_from(count)
            .ok()
            .map_or(NonZeroUsize::MAX, |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN))
    };
    let concurrency = asked.min(at_least_one(descriptors.saturating_sub(OTHER_DESCRIPTORS) / DESCRIPTORS_A_FETCH));
    let left = descriptors.saturating_sub(FILE_DESCRIPTORS).saturating_sub(concurrency.get() as u64);
    (concurrency, LOOK_UPS.min(at_least_one(left / DESCRIPTORS_A_LOOK_UP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_look_ups_fit_the_open_files() {
        let within = |descriptors, asked| {
            let (concurrency, look_ups) = within(descriptors, NonZeroUsize::new(asked).expect("not zero"));
            (concurrency.get(), look_ups.get())
        };
        assert_eq!(within(256, 1024), (64, 32));
        assert_eq!(within(1024, 256), (256, 176));
        assert_eq!(within(1024, 4096), (448, 128));
        assert_eq!(within(u64::MAX, 256), (256, 512));
        assert_eq!(within(0, 256), (1, 1));
    }
}
