//! What each tier costs to build and to ask, and so which one pays for how many paths.
//!
//! All figures are nanoseconds of one core, fitted to the groups `compile` and `match` of `benches/robots.rs` (see
//! `benches/README.md`). Only their ratios matter, and those hardly move from machine to machine.

use super::Tier;

/// How large a rule set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Rules without wildcards that may decide.
    pub(super) literals: usize,
    /// Rules with wildcards that may decide.
    pub(super) wildcards: usize,
}

/// Building a probe of a literal rule, or of a wildcard, which has marks as well.
const BUILD_PROBE: f64 = 7.0;
const BUILD_WILDCARD_PROBE: f64 = 35.0;
/// Sorting a literal, for each doubling of their number.
const BUILD_SORTED: f64 = 4.0;
/// Any automaton, and one more wildcard in a sparse or a dense one.
const BUILD_AUTOMATON: f64 = 10_000.0;
const BUILD_SPARSE: f64 = 750.0;
const BUILD_DENSE: f64 = 3_600.0;

/// Asking a probe, once the marks of the path are known.
const ASK_PROBE: f64 = 0.55;
const ASK_WILDCARD_PROBE: f64 = 3.2;
/// Finding the marks of a path.
const ASK_MARKS: f64 = 25.0;
/// Each halving of the sorted literals.
const ASK_SORTED: f64 = 5.0;
/// One pass over the path, and the few rules whose pieces occur, for each doubling of the wildcards.
const ASK_SPARSE: f64 = 60.0;
const ASK_DENSE: f64 = 35.0;
const ASK_SPARSE_FOUND: f64 = 25.0;
const ASK_DENSE_FOUND: f64 = 15.0;

impl Size {
    /// Nanoseconds to build a tier.
    fn to_build(self, tier: Tier) -> f64 {
        let (literals, wildcards) = (count(self.literals), count(self.wildcards));
        let sorted = literals * doublings(literals) * BUILD_SORTED;
        match tier {
            Tier::Constant => 0.0,
            Tier::Scan => literals * BUILD_PROBE + wildcards * BUILD_WILDCARD_PROBE,
            Tier::Sorted => sorted + wildcards * BUILD_WILDCARD_PROBE,
            Tier::Sparse => sorted + BUILD_AUTOMATON + wildcards * BUILD_SPARSE,
            Tier::Dense => sorted + BUILD_AUTOMATON + wildcards * BUILD_DENSE,
        }
    }

    /// Nanoseconds to ask a tier about one path.
    fn to_ask(self, tier: Tier) -> f64 {
        let (literals, wildcards) = (count(self.literals), count(self.wildcards));
        let sorted = doublings(literals) * ASK_SORTED;
        let scanned = if self.wildcards == 0 { 0.0 } else { ASK_MARKS + wildcards * ASK_WILDCARD_PROBE };
        match tier {
            Tier::Constant => 0.0,
            Tier::Scan => literals * ASK_PROBE + scanned,
            Tier::Sorted => sorted + scanned,
            Tier::Sparse => sorted + ASK_SPARSE + doublings(wildcards) * ASK_SPARSE_FOUND,
            Tier::Dense => sorted + ASK_DENSE + doublings(wildcards) * ASK_DENSE_FOUND,
        }
    }

    /// The cheapest tier for so many paths, building included.
    pub(super) fn cheapest(self, paths: u64) -> Tier {
        let cost = |tier: Tier| self.to_build(tier) + paths_of(paths) * self.to_ask(tier);
        let tiers = [Tier::Scan, Tier::Sorted, Tier::Sparse, Tier::Dense];
        tiers.into_iter().min_by(|one, other| cost(*one).total_cmp(&cost(*other))).unwrap_or(Tier::Scan)
    }

    /// The tier to go on with after so many paths, if that is another: it has to win back its cost over as many again.
    pub(super) fn promotion(self, from: Tier, paths: u64) -> Option<Tier> {
        let gain = |tier: Tier| paths_of(paths) * (self.to_ask(from) - self.to_ask(tier)) - self.to_build(tier);
        let tiers = [Tier::Sorted, Tier::Sparse, Tier::Dense].into_iter().filter(|tier| *tier > from);
        tiers.filter(|tier| gain(*tier) > 0.0).max_by(|one, other| gain(*one).total_cmp(&gain(*other)))
    }
}

fn count(rules: usize) -> f64 {
    f64::from(u32::try_from(rules).unwrap_or(u32::MAX))
}

fn doublings(rules: f64) -> f64 {
    (rules + 1.0).log2()
}

fn paths_of(paths: u64) -> f64 {
    f64::from(u32::try_from(paths).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_follows_rules_and_paths() {
        let cheapest = |literals, wildcards, paths| Size { literals, wildcards }.cheapest(paths);
        assert_eq!(cheapest(4, 1, 1), Tier::Scan);
        assert_eq!(cheapest(8, 0, 1_000), Tier::Scan);
        assert_eq!(cheapest(500, 0, 1_000), Tier::Sorted);
        assert_eq!(cheapest(4_000, 1_000, 100), Tier::Sorted);
        assert_eq!(cheapest(4_000, 1_000, 2_000), Tier::Sparse);
        assert_eq!(cheapest(4_000, 1_000, 10_000_000), Tier::Dense);
    }

    #[test]
    fn promotion_goes_up_and_pays() {
        let size = Size { literals: 400, wildcards: 100 };
        assert_eq!(size.promotion(Tier::Scan, 1), None);
        assert_eq!(size.promotion(Tier::Scan, 200), Some(Tier::Sorted));
        assert_eq!(size.promotion(Tier::Sorted, 1_000_000), Some(Tier::Dense));
        assert_eq!(size.promotion(Tier::Dense, u64::MAX), None);
    }
}
