//! Counts of rows, and counts by name, of which so many are told apart.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;

/// Rows, with their octets and weight.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Octets of their texts.
    pub octets: u64,
    /// The sum of their weights, as far as these are integers.
    pub integer_weight: i128,
    /// The sum of the others.
    pub float_weight: f64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.octets = self.octets.saturating_add(other.octets);
        self.integer_weight = self.integer_weight.saturating_add(other.integer_weight);
        self.float_weight += other.float_weight;
    }
}

/// All rows.
pub(in crate::dataset) const ALL: usize = 0;
/// Those that are excluded.
pub(in crate::dataset) const EXCLUDED: usize = 1;
/// Those that are lost for the first crawler; those for the others follow.
pub(in crate::dataset) const CRAWLERS: usize = 2;

/// Counts by name: for each name a lane for all rows, one for the excluded, and one for each crawler.
#[derive(Debug, Clone)]
pub(in crate::dataset) struct Groups {
    lanes: usize,
    limit: usize,
    places: HashMap<Arc<str>, usize, RandomState>,
    /// In the order in which they came.
    names: Vec<Arc<str>>,
    /// Those of rows without a name, of rows of names that are not told apart, then of the names.
    counts: Vec<Counts>,
}

/// Rows without a name.
pub(in crate::dataset) const NAMELESS: usize = 0;
/// Rows of names that are not told apart.
pub(in crate::dataset) const OTHER: usize = 1;
const NAMED: usize = 2;

impl Groups {
    pub(super) fn new(lanes: usize, limit: usize) -> Self {
        let counts = vec![Counts::default(); NAMED * lanes];
        Self { lanes, limit, places: HashMap::default(), names: Vec::new(), counts }
    }

    pub(super) fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        if self.names.len() >= self.limit {
            return OTHER;
        }
        let (name, place) = (Arc::<str>::from(name), NAMED + self.names.len());
        self.places.insert(Arc::clone(&name), place);
        self.names.push(name);
        self.counts.resize(self.counts.len() + self.lanes, Counts::default());
        place
    }

    pub(super) fn add(&mut self, place: usize, lanes: &[usize], counts: &Counts) {
        for lane in lanes {
            self.counts[place * self.lanes + lane].add(counts);
        }
    }

    /// A name keeps its place once it has one, so its counts are whole.
    pub(super) fn merge(&mut self, other: &Self) {
        let places = [NAMELESS, OTHER].into_iter().map(|place| (place, place));
        let places: Vec<(usize, usize)> =
            places.chain(other.names.iter().enumerate().map(|(n, name)| (self.place(name), NAMED + n))).collect();
        for (to, from) in places {
            let (to, from) = (to * self.lanes, from * other.lanes);
            for lane in 0..self.lanes {
                self.counts[to + lane].add(&other.counts[from + lane]);
            }
        }
    }

    /// The counts of a place, lane by lane.
    pub(in crate::dataset) fn counts(&self, place: usize) -> &[Counts] {
        &self.counts[place * self.lanes..(place + 1) * self.lanes]
    }

    /// The names with their places.
    pub(in crate::dataset) fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.names.iter().enumerate().map(|(n, name)| (&**name, NAMED + n))
    }

    /// How many names are told apart at most.
    pub(in crate::dataset) const fn limit(&self) -> usize {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_bound_are_counted_together_and_the_others_are_whole() {
        let one = Counts { rows: 1, octets: 3, integer_weight: -2, float_weight: 0.5 };
        let mut run = Groups::new(CRAWLERS, 2);
        for names in [["a", "b", "a"], ["c", "a", "b"], ["d", "c", "b"]] {
            let mut piece = Groups::new(CRAWLERS, usize::MAX);
            for name in names {
                let place = piece.place(name);
                piece.add(place, &[ALL], &one);
            }
            piece.add(NAMELESS, &[ALL, EXCLUDED], &one);
            run.merge(&piece);
        }
        let rows = |place: usize, lane: usize| run.counts(place)[lane].rows;
        let named: Vec<_> = run.names().map(|(name, place)| (name, rows(place, ALL))).collect();
        assert_eq!(named, [("a", 3), ("b", 3)]);
        assert_eq!((rows(OTHER, ALL), rows(NAMELESS, ALL), rows(NAMELESS, EXCLUDED)), (3, 3, 3));
        let other = run.counts(OTHER)[ALL];
        assert_eq!((other.octets, other.integer_weight), (9, -6));
    }
}
