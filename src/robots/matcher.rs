//! A rule set: the merged rules of the groups that apply, compiled once and asked for many paths (§2.2.2).

use std::cmp::Reverse;

use super::lex::Line;
use super::parse::{Directive, Robots, Rule};
use super::pattern::{Pattern, Shape};

/// The rule that decides about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Its line.
    pub line: Line,
    /// Whether it allows or disallows.
    pub directive: Directive,
    /// Its place in [`Robots::rules`](super::parse::Robots::rules).
    pub rule: u32,
}

/// One rule in a rule set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it matches.
    pub pattern: Pattern,
    /// What it then says.
    pub hit: Hit,
}

/// Merged rules in order of precedence: most octets first, allow before disallow, earlier line first.
///
/// The first rule that matches a path decides about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleSet {
    /// Without those that can never match.
    entries: Box<[Entry]>,
    n_allow: u32,
    n_disallow: u32,
}

impl RuleSet {
    /// Merges and compiles the rules of some groups of a file.
    ///
    /// # Panics
    /// Where a place is none of the file's groups.
    #[must_use]
    pub fn of_groups(robots: &Robots<'_>, groups: &[u32]) -> Self {
        let places = groups.iter().flat_map(|group| robots.groups[*group as usize].rules.clone());
        Self::of_rules(
            places.map(|place| (u32::try_from(place).expect("bounded by the size limit"), &robots.rules[place])),
        )
    }

    fn of_rules<'a>(rules: impl Iterator<Item = (u32, &'a Rule<'a>)>) -> Self {
        let mut set = Self::default();
        let mut entries = Vec::new();
        for (place, rule) in rules {
            match rule.directive {
                Directive::Allow => set.n_allow += 1,
                Directive::Disallow => set.n_disallow += 1,
            }
            let pattern = Pattern::of_value(rule.value);
            if *pattern.shape() != Shape::Never {
                entries.push(Entry { pattern, hit: Hit { line: rule.line, directive: rule.directive, rule: place } });
            }
        }
        entries.sort_by_key(|entry| (Reverse(entry.pattern.octets()), entry.hit.directive, entry.hit.line));
        set.entries = entries.into();
        set
    }

    /// The rule that decides about a normalised path, if any matches.
    #[must_use]
    pub fn decide(&self, path: &[u8]) -> Option<Hit> {
        self.entries.iter().find(|entry| entry.pattern.matches(path)).map(|entry| entry.hit)
    }

    /// The rules that can match, in order of precedence.
    #[must_use]
    pub const fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Allow lines with a value, also those that can never match.
    #[must_use]
    pub const fn n_allow(&self) -> u32 {
        self.n_allow
    }

    /// Disallow lines with a value, also those that can never match.
    #[must_use]
    pub const fn n_disallow(&self) -> u32 {
        self.n_disallow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;

    fn decide(rules: &str, path: &str) -> Option<u32> {
        let body = format!("User-agent: *\n{rules}");
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        RuleSet::of_groups(&robots, &[0]).decide(path.as_bytes()).map(|hit| hit.line.into())
    }

    #[test]
    fn most_octets_then_allow_then_the_first_line() {
        assert_eq!(decide("Allow: /a\nDisallow: /a/b\n", "/a/b/c"), Some(3));
        assert_eq!(decide("Disallow: /*\nAllow: /$\n", "/"), Some(3));
        assert_eq!(decide("Disallow: /\nDisallow: /\n", "/x"), Some(2));
        assert_eq!(decide("Disallow: /x\n", "/y"), None);
    }
}
