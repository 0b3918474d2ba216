//! The distinct rule sets of a file for many crawlers: URLs are evaluated against these, crawlers only name them.

use super::group::{Choice, GroupIndex, GroupSource};
use super::matcher::{EXPECTED_PATHS, RuleSet};
use super::parse::Robots;
use super::path::Path;
use super::token::Asked;
use super::verdict::Verdict;

/// What one crawler obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// Place in [`RuleSets::list`].
    pub rule_set: usize,
    /// How the groups were found.
    pub source: GroupSource,
}

/// The rule sets of one file, each once.
#[derive(Debug, Default)]
pub struct RuleSets {
    /// The rule sets.
    pub list: Vec<RuleSet>,
    /// For each how the groups of its first crawler were found. Where none applies to one, none does to all.
    pub sources: Vec<GroupSource>,
    /// For each crawler asked for, in order.
    pub crawlers: Vec<Applied>,
}

impl RuleSets {
    /// Compiles the rule sets of these crawlers.
    #[must_use]
    pub fn of(robots: &Robots<'_>, index: &GroupIndex, asked: &[Asked]) -> Self {
        Self::for_paths(robots, index, asked, EXPECTED_PATHS)
    }

    /// The same, where so many paths will be asked.
    #[must_use]
    pub fn for_paths(robots: &Robots<'_>, index: &GroupIndex, asked: &[Asked], expected_paths: u64) -> Self {
        let mut sets = Self { crawlers: Vec::with_capacity(asked.len()), ..Self::default() };
        let mut known: Vec<Choice<'_>> = Vec::new();
        for asked in asked {
            let choice = index.choose(asked);
            let place = known.iter().position(|known| are_equal(robots, known, &choice));
            let rule_set = place.unwrap_or_else(|| {
                known.push(choice);
                sets.sources.push(choice.source);
                sets.list.push(RuleSet::for_paths(robots, choice.groups, expected_paths));
                sets.list.len() - 1
            });
            sets.crawlers.push(Applied { rule_set, source: choice.source });
        }
        sets
    }

    /// For each rule set the verdict on a path, into `verdicts`, whose former content is dropped.
    pub fn verdicts(&self, path: &Path<'_>, verdicts: &mut Vec<Verdict>) {
        verdicts.clear();
        let sets = self.list.iter().zip(&self.sources);
        verdicts.extend(sets.map(|(rules, source)| Verdict::of_path(rules, *source, path)));
    }
}

/// Whether two choices give the same verdicts, lines included: groups without rules add nothing.
fn are_equal(robots: &Robots<'_>, one: &Choice<'_>, other: &Choice<'_>) -> bool {
    let has_none = |choice: &Choice<'_>| choice.source == GroupSource::None;
    let has_rules = |group: &&u32| !robots.groups[**group as usize].rules.is_empty();
    std::ptr::eq(one.groups, other.groups)
        || (has_none(one) == has_none(other)
            && one.groups.iter().filter(has_rules).eq(other.groups.iter().filter(has_rules)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;
    use crate::robots::verdict::Basis;

    #[test]
    fn equal_rules_are_compiled_once() {
        let body = b"User-agent: a\nUser-agent: b\nAllow: /1\nUser-agent: b\nDisallow:\n\
            User-agent: c\nDisallow:\nUser-agent: d\nAllow: /1\n";
        let robots = Robots::parse(body, Matching::Rfc9309);
        let named = ["a", "b", "c", "d", "e", "f"].map(|name| Asked::named(name, Matching::Rfc9309).expect("a token"));
        let sets = RuleSets::of(&robots, &GroupIndex::of(&robots), &named);
        let places: Vec<usize> = sets.crawlers.iter().map(|applied| applied.rule_set).collect();
        assert_eq!(places, [0, 0, 1, 2, 3, 3]);
        let mut verdicts = Vec::new();
        sets.verdicts(&Path::of(b"/1"), &mut verdicts);
        let bases = verdicts.iter().map(|verdict| (verdict.line().map(u32::from), verdict.basis == Basis::NoGroup));
        assert!(bases.eq([(Some(3), false), (None, false), (Some(9), false), (None, true)]));
    }
}
