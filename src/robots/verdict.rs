//! The answer for one path: allowed or not, by which line, on what basis.

use super::group::{GroupIndex, GroupSource};
use super::lex::Line;
use super::matcher::{Hit, RuleSet};
use super::parse::{Directive, Robots};
use super::path::{Path, RawPath};
use super::token::Asked;

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The path is the rules file itself (§2.2.2).
    RobotsTxt,
    /// A rule decided.
    Rule(Hit),
    /// Groups apply, but none of their rules matches.
    NoMatch,
    /// No group applies.
    NoGroup,
}

/// The answer for one path and one rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// What it rests on.
    pub basis: Basis,
}

impl Verdict {
    /// The verdict on a path by the rules that apply.
    #[must_use]
    pub fn of_path(rules: &RuleSet, source: GroupSource, path: &Path<'_>) -> Self {
        let basis = if path.is_robots_txt() {
            Basis::RobotsTxt
        } else {
            match (rules.decide(path), source) {
                (Some(hit), _) => Basis::Rule(hit),
                (None, GroupSource::None) => Basis::NoGroup,
                (None, _) => Basis::NoMatch,
            }
        };
        Self { basis }
    }

    /// Whether the path may be fetched.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        !matches!(self.basis, Basis::Rule(Hit { directive: Directive::Disallow, .. }))
    }

    /// The rule that decided, if one did.
    #[must_use]
    pub const fn hit(&self) -> Option<Hit> {
        match self.basis {
            Basis::Rule(hit) => Some(hit),
            Basis::RobotsTxt | Basis::NoMatch | Basis::NoGroup => None,
        }
    }

    /// The line that decided, if one did.
    #[must_use]
    pub fn line(&self) -> Option<Line> {
        self.hit().map(|hit| hit.line)
    }
}

/// The verdict on one URL for one crawler: the short way for a single question.
///
/// For many, index the groups and compile the rule sets once.
#[must_use]
pub fn of_url(robots: &Robots<'_>, asked: &Asked, url: &[u8]) -> Verdict {
    let index = GroupIndex::of(robots);
    let choice = index.choose(asked);
    let rules = RuleSet::of_groups(robots, choice.groups);
    Verdict::of_path(&rules, choice.source, &RawPath::read(url, robots.matching).prepare(&mut Vec::new()))
}
