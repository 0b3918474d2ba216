//! Which groups apply to a crawler (§2.2.1).

use std::ops::Range;

use super::access::names;
use super::parse::Robots;
use super::path::head;
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
///
/// Sorted rather than hashed: a file has few tokens, and none that it may choose makes the search slow.
#[derive(Debug, Clone, Default)]
pub struct GroupIndex {
    /// The tokens, ascending.
    tokens: Vec<Named>,
    /// Their texts in lower case, one behind the other.
    texts: Vec<u8>,
    /// The groups that name each token, ascending, token by token.
    groups: Vec<u32>,
    star: Vec<u32>,
}

/// A token that a file names.
#[derive(Debug, Clone)]
struct Named {
    /// Its first octets, which nearly always settle a comparison.
    head: u64,
    text: Range<usize>,
    /// Place in [`GroupIndex::groups`].
    groups: Range<usize>,
}

impl GroupIndex {
    /// Indexes a parsed file.
    #[must_use]
    pub fn of(robots: &Robots<'_>) -> Self {
        let mut index = Self::default();
        let n_agents = robots.groups.iter().map(|group| group.agents.len()).sum();
        let mut mentions = Vec::with_capacity(n_agents);
        index.texts.reserve(n_agents * TOKEN_OCTETS);
        for (group, place) in robots.groups.iter().zip(0u32..) {
            for (_, agent) in &group.agents {
                match *agent {
                    Agent::Nobody => {}
                    Agent::Star if index.star.last() == Some(&place) => {}
                    Agent::Star => index.star.push(place),
                    Agent::Token(token) => mentions.push(index.mention(token, place)),
                }
            }
        }
        index.gather(mentions);
        index
    }

    fn mention(&mut self, token: &[u8], group: u32) -> Mention {
        let start = self.texts.len();
        self.texts.extend(token.iter().map(u8::to_ascii_lowercase));
        let text = start..self.texts.len();
        Mention { head: head(&self.texts[text.clone()]), text, group }
    }

    /// Brings the mentions of each token together.
    fn gather(&mut self, mut mentions: Vec<Mention>) {
        self.tokens.reserve(mentions.len());
        self.groups.reserve(mentions.len());
        let texts = &self.texts;
        mentions.sort_unstable_by(|one, other| {
            let by_text = || texts[one.text.clone()].cmp(&texts[other.text.clone()]);
            one.head.cmp(&other.head).then_with(by_text).then(one.group.cmp(&other.group))
        });
        for Mention { head, text, group } in mentions {
            let is_same = |known: &&mut Named| known.head == head && texts[known.text.clone()] == texts[text.clone()];
            let known = self.tokens.last_mut().filter(is_same);
            match known {
                Some(_) if self.groups.last() == Some(&group) => continue,
                Some(known) => known.groups.end += 1,
                None => {
                    let groups = self.groups.len()..self.groups.len() + 1;
                    self.tokens.push(Named { head, text, groups });
                }
            }
            self.groups.push(group);
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
        let by_token = |named: &Named| {
            let by_text = || self.texts[named.text.clone()].cmp(token.as_str().as_bytes());
            named.head.cmp(&token.head()).then_with(by_text)
        };
        let place = self.tokens.binary_search_by(by_token).ok()?;
        Some(&self.groups[self.tokens[place].groups.clone()])
    }

    /// The wildcard's groups.
    #[must_use]
    pub fn star(&self) -> &[u32] {
        &self.star
    }

    /// The tokens that the file names, in lower case and ascending.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        // A token is ASCII, so that none is left out.
        self.tokens.iter().filter_map(|named| std::str::from_utf8(&self.texts[named.text.clone()]).ok())
    }
}

/// Octets of a token, for a first guess at those of all.
const TOKEN_OCTETS: usize = 12;

/// A user-agent line with a token.
struct Mention {
    head: u64,
    text: Range<usize>,
    group: u32,
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
