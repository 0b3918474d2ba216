//! Rules without wildcards, sorted by their octets: one binary search finds all that match.

use super::rules::{NO_PLACE, Place, Rules, small};
use crate::robots::path::{Path, head};
use crate::robots::pattern::Shape;

/// The literal rules of a rule set.
#[derive(Debug, Clone)]
pub(super) struct Literals {
    /// First octets of each prefix, ascending; beside `prefixes` so that the search stays in few cache lines.
    heads: Box<[u64]>,
    prefixes: Box<[Prefix]>,
    /// Rules that match one path, by their texts.
    exact: Box<[Place]>,
}

/// A distinct prefix.
#[derive(Debug, Clone)]
struct Prefix {
    /// The first rule that asks for it.
    place: Place,
    /// The longest other one that it begins with, else [`NO_PARENT`].
    parent: u32,
    /// The first rule of it and its parents, which match wherever it does. Precedence goes by the octets of the
    /// rule, not of the text, so that this may be a parent's.
    best: Place,
}

const NO_PARENT: u32 = u32::MAX;

impl Literals {
    /// Sorts the literal rules.
    pub(super) fn of(rules: &Rules) -> Self {
        let of_shape = |shape: Shape| {
            let places = rules.places().filter(move |place| rules.shape(*place) == shape);
            let mut keyed: Vec<(u64, Place)> = places.map(|place| (head(rules.text(place)), place)).collect();
            keyed.sort_unstable_by(|one, other| {
                let texts = || rules.text(one.1).cmp(rules.text(other.1));
                one.0.cmp(&other.0).then_with(texts).then_with(|| one.1.cmp(&other.1))
            });
            // Of equal texts the first rule always decides.
            keyed.dedup_by(|later, kept| later.0 == kept.0 && rules.text(later.1) == rules.text(kept.1));
            keyed
        };
        let prefixes = of_shape(Shape::Prefix);
        Self {
            heads: prefixes.iter().map(|(head, _)| *head).collect(),
            prefixes: with_parents(rules, &prefixes).into(),
            exact: of_shape(Shape::Exact).into_iter().map(|(_, place)| place).collect(),
        }
    }

    /// The first literal rule that matches, else [`NO_PLACE`].
    pub(super) fn first(&self, rules: &Rules, path: &Path<'_>) -> Place {
        self.exact_rule(rules, path).min(self.prefix_rule(rules, path))
    }

    fn exact_rule(&self, rules: &Rules, path: &Path<'_>) -> Place {
        if self.exact.is_empty() {
            return NO_PLACE;
        }
        let found = self.exact.binary_search_by(|place| rules.text(*place).cmp(path.octets()));
        found.map_or(NO_PLACE, |index| self.exact[index])
    }

    /// The longest matching prefix is the last that sorts not behind the path, or one of its parents.
    fn prefix_rule(&self, rules: &Rules, path: &Path<'_>) -> Place {
        let Some(last) = self.not_behind(rules, path).checked_sub(1) else {
            return NO_PLACE;
        };
        let text = rules.text(self.prefixes[last].place);
        let shared = text.iter().zip(path.octets()).take_while(|(one, other)| one == other).count();
        let mut prefix = &self.prefixes[last];
        while rules.text(prefix.place).len() > shared {
            if prefix.parent == NO_PARENT {
                return NO_PLACE;
            }
            prefix = &self.prefixes[prefix.parent as usize];
        }
        prefix.best
    }

    /// How many prefixes sort before the path or are the path.
    fn not_behind(&self, rules: &Rules, path: &Path<'_>) -> usize {
        let start = self.heads.partition_point(|head| *head < path.head());
        let same = self.heads[start..].partition_point(|head| *head == path.head());
        let not_behind = |prefix: &Prefix| rules.text(prefix.place) <= path.octets();
        start + self.prefixes[start..start + same].partition_point(not_behind)
    }
}

/// One pass over sorted prefixes, with those that the next one may begin with on a stack.
fn with_parents(rules: &Rules, sorted: &[(u64, Place)]) -> Vec<Prefix> {
    let mut prefixes: Vec<Prefix> = Vec::with_capacity(sorted.len());
    let mut open: Vec<usize> = Vec::new();
    for (index, (_, place)) in sorted.iter().enumerate() {
        let text = rules.text(*place);
        while open.last().is_some_and(|last| !text.starts_with(rules.text(prefixes[*last].place))) {
            open.pop();
        }
        let parent = open.last().copied();
        let best = parent.map_or(*place, |parent| prefixes[parent].best.min(*place));
        prefixes.push(Prefix { place: *place, parent: parent.map_or(NO_PARENT, small), best });
        open.push(index);
    }
    prefixes
}
