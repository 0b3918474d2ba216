//! The math of one answer: every rule that matches, longest first (§2.2.2).

use crate::robots::access::names;
use crate::robots::matcher::{Entry, RuleSet};
use crate::robots::parse::{Directive, Robots};
use crate::robots::path::Path;

use super::evidence;

/// Rules that are listed of those that match; all are counted.
pub const RULES_LISTED: usize = 1_000;

names! {
    /// Why one of several rules of the same length decides.
    pub enum Tie {
        /// An allow rule goes before a disallow rule.
        AllowFirst => "allow_first",
        /// They say the same; the earlier line is named.
        EarlierLine => "earlier_line",
    }
}

/// The rules that match a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Math {
    /// The rules that could have matched.
    pub n_rules: usize,
    /// Those that do.
    pub n_matching: usize,
    /// The longest of these, the one that decides first; at most [`RULES_LISTED`].
    pub matching: Vec<MatchingRule>,
    /// Where another rule is as long as the one that decides: why that decides.
    pub tie: Option<Tie>,
}

/// A rule that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchingRule {
    /// Where.
    pub line: u32,
    /// Directive and value as written.
    pub rule: String,
    /// Octets of the normalised value, `*` and `$` included.
    pub octets: u32,
    /// Whether it is as long as the one that decides.
    pub ties: bool,
}

impl Math {
    pub(super) fn of(robots: &Robots<'_>, rules: &RuleSet, path: &Path<'_>) -> Self {
        let mut matching: Vec<Entry<'_>> = rules.matching(path).collect();
        let n_all = matching.len();
        // A rule that stands for two is one: its longer form counts.
        let mut known = std::collections::HashSet::with_capacity(n_all);
        matching.retain(|entry| known.insert(entry.hit.rule));
        let longest = matching.first().copied();
        let is_tied = |entry: &Entry<'_>| longest.is_some_and(|longest| longest.octets == entry.octets);
        let told = |entry: &Entry<'_>| MatchingRule {
            line: entry.hit.line.into(),
            rule: robots.rules.get(entry.hit.rule as usize).map(evidence).unwrap_or_default(),
            octets: entry.octets,
            ties: is_tied(entry),
        };
        let places: std::collections::HashSet<u32> = rules.entries().map(|entry| entry.hit.rule).collect();
        Self {
            n_rules: places.len(),
            n_matching: matching.len(),
            matching: matching.iter().take(RULES_LISTED).map(told).collect(),
            tie: tie(matching.iter().take_while(|entry| is_tied(entry))),
        }
    }
}

/// Why the first of several rules of one length decides; `None` where it is the only one.
fn tie<'e>(mut longest: impl Iterator<Item = &'e Entry<'e>>) -> Option<Tie> {
    let decides = longest.next()?.hit.directive;
    let mut others = longest.peekable();
    others.peek()?;
    let is_against = decides == Directive::Allow && others.any(|entry| entry.hit.directive != decides);
    Some(if is_against { Tie::AllowFirst } else { Tie::EarlierLine })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;

    fn math(rules: &str, path: &str) -> Math {
        let body = format!("User-agent: *\n{rules}");
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        Math::of(&robots, &RuleSet::of_groups(&robots, &[0]), &Path::of(path.as_bytes()))
    }

    #[test]
    fn ties_are_explained() {
        for (rules, lines, tie) in [
            ("Disallow: /a\nAllow: /\n", &[2, 3][..], None),
            ("Disallow: /a\nAllow: /a\nDisallow: /\n", &[3, 2, 4], Some(Tie::AllowFirst)),
            ("Disallow: /a\nDisallow: /*\nDisallow: /a\n", &[2, 3, 4], Some(Tie::EarlierLine)),
            ("Allow: /b\n", &[], None),
        ] {
            let math = math(rules, "/a");
            let found: Vec<u32> = math.matching.iter().map(|rule| rule.line).collect();
            assert_eq!((&found[..], math.tie), (lines, tie), "{rules}");
            assert_eq!(math.n_matching, lines.len());
        }
    }

    #[test]
    fn lengths_are_those_of_the_normal_form() {
        let math = math("Disallow: /%7Ecaf\u{e9}*$\n", "/~caf%C3%A9");
        assert_eq!(math.matching[0].octets, 13);
        assert_eq!(math.matching[0].rule, "Disallow: /%7Ecaf\u{e9}*$");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let rules = "Disallow: /a\n".repeat(RULES_LISTED + 5);
        let math = math(&rules, "/a");
        assert_eq!((math.matching.len(), math.n_matching), (RULES_LISTED, RULES_LISTED + 5));
    }
}
