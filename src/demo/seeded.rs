//! Reproducible choices: the same seed gives the same web.

/// `SplitMix64`: a small generator of well-mixed numbers, no secret ones.
#[derive(Debug, Clone)]
pub(super) struct Seeded(u64);

impl Seeded {
    /// A generator for one thing (`stream`) of one web (`seed`).
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut seeded = Self(seed ^ stream.wrapping_mul(0xA24B_AED4_963E_E407));
        seeded.next();
        seeded
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True in `percent` of 100 cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the choices, of which there is at least one.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = usize::try_from(self.below(choices.len() as u64)).expect("below the length");
        choices[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers() {
        let take = |seed, stream| {
            let mut seeded = Seeded::new(seed, stream);
            [seeded.next(), seeded.below(10), seeded.below(1)]
        };
        assert_eq!(take(1, 2), take(1, 2));
        assert_ne!(take(1, 2), take(1, 3));
        assert_ne!(take(1, 2), take(2, 2));
        assert_eq!(take(1, 2)[2], 0);
    }
}
