//! Which groups apply to a crawler (§2.2.1).

use std::collections::HashMap;

use super::access::names;
use super::parse::Robots;
use super::token::{Agent, Asked, ProductToken};

names! {
    /// How the groups that apply were found.
    pub enum GroupSource {
        /// They name the crawler.
        Named => "named",
        /// They name the token that the crawler falls back to.
        Fallback => "fallback",
        /// None names the crawler; they are the wildcard's.
        Star => "star",
        /// No group applies.
        None => "none",
    }
}

/// The groups that apply to a crawler, all to be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'i> {
    /// How they were found.
    pub source: GroupSource,
    /// Places in [`Robots::groups`], ascending.
    pub groups: &'i [u32],
}

/// The groups of one file by the token that they name.
#[derive(Debug, Clone, Default)]
pub struct GroupIndex {
    named: HashMap<String, Vec<u32>>,
    star: Vec<u32>,
}

impl GroupIndex {
    /// Indexes a parsed file.
    #[must_use]
    pub fn of(robots: &Robots<'_>) -> Self {
        let mut index = Self::default();
        for (group, place) in robots.groups.iter().zip(0u32..) {
            for (_, agent) in &group.agents {
                index.add(*agent, place);
            }
        }
        index
    }

    fn add(&mut self, agent: Agent<'_>, group: u32) {
        let groups = match agent {
            Agent::Nobody => return,
            Agent::Star => &mut self.star,
            Agent::Token(token) => self.named.entry(String::from_utf8_lossy(token).to_ascii_lowercase()).or_default(),
        };
        if groups.last() != Some(&group) {
            groups.push(group);
        }
    }

    /// The groups for a crawler: its own, else its fall-back's, else the wildcard's where that applies to it.
    #[must_use]
    pub fn choose(&self, asked: &Asked) -> Choice<'_> {
        let (source, groups) = match asked {
            Asked::Star => (GroupSource::Star, self.star()),
            Asked::Named { token, fallback, star_applies } => {
                let fallback = || fallback.as_ref().and_then(|token| self.naming(token));
                let star = || if *star_applies { self.star() } else { &[] };
                match (self.naming(token), fallback()) {
                    (Some(groups), _) => (GroupSource::Named, groups),
                    (None, Some(groups)) => (GroupSource::Fallback, groups),
                    (None, None) => (GroupSource::Star, star()),
                }
            }
        };
        let source = if groups.is_empty() { GroupSource::None } else { source };
        Choice { source, groups }
    }

    /// The groups that name a token, if any does.
    #[must_use]
    pub fn naming(&self, token: &ProductToken) -> Option<&[u32]> {
        self.named.get(token.as_str()).map(Vec::as_slice)
    }

    /// The wildcard's groups.
    #[must_use]
    pub fn star(&self) -> &[u32] {
        &self.star
    }

    /// The tokens that the file names, in lower case and in no order.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;

    const FILE: &[u8] = b"User-agent: *\nUser-agent: a\nAllow: /1\n\
        User-agent: b\nAllow: /2\nUser-agent: A\nUser-agent: a\nAllow: /3\n";

    fn choose(asked: &Asked) -> (GroupSource, Vec<u32>) {
        let index = GroupIndex::of(&Robots::parse(FILE, Matching::Rfc9309));
        let choice = index.choose(asked);
        (choice.source, choice.groups.to_vec())
    }

    fn named(token: &str, fallback: Option<&str>, star_applies: bool) -> Asked {
        let token_of = |name: &str| ProductToken::of_name(name, Matching::Rfc9309);
        Asked::Named { token: token_of(token).expect("a token"), fallback: fallback.and_then(token_of), star_applies }
    }

    #[test]
    fn own_groups_then_fallback_then_star() {
        assert_eq!(choose(&named("A", None, true)), (GroupSource::Named, vec![0, 2]));
        assert_eq!(choose(&named("c", Some("b"), true)), (GroupSource::Fallback, vec![1]));
        assert_eq!(choose(&named("c", Some("d"), true)), (GroupSource::Star, vec![0]));
        assert_eq!(choose(&named("c", None, false)), (GroupSource::None, vec![]));
        assert_eq!(choose(&Asked::Star), (GroupSource::Star, vec![0]));
    }
}
