//! The groups that apply to a crawler, why they do, and the one group that they are merged to (§2.2.1).

use crate::audit::compile::{crawl_delay_s, star_rules_left_behind};
use crate::robots::group::{Choice, GroupIndex, GroupSource};
use crate::robots::parse::{Directive, Robots, Rule};
use crate::robots::token::{Agent, Asked, Matching, ProductToken, leading_token};
use crate::tables::text::{is_unsafe, of_octets};

/// The groups that apply to a crawler.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedGroups {
    /// How they were found.
    pub source: GroupSource,
    /// The token that they name, as the file spells it first; `*` for the wildcard, `None` where none applies.
    pub named: Option<String>,
    /// The token that the crawler would fall back to, in lower case.
    pub fallback: Option<String>,
    /// Whether the wildcard applies to the crawler at all.
    pub star_applies: bool,
    /// How many groups there are.
    pub n_groups: usize,
    /// The user-agent lines that name the token.
    pub agent_lines: Vec<u32>,
    /// Allow and disallow lines of all of them.
    pub n_rules: usize,
    /// The groups as one, ready to be copied: a user-agent line and the rules in file order.
    pub merged: Vec<String>,
    /// Seconds of the first valid Crawl-delay: reported, never applied.
    pub crawl_delay_s: Option<f64>,
    /// Rules of the wildcard that do not apply because the crawler has a group of its own.
    pub star_rules_left_behind: u32,
}

impl AppliedGroups {
    pub(super) fn of(robots: &Robots<'_>, index: &GroupIndex, name: &str, asked: &Asked) -> Self {
        let choice = index.choose(asked);
        let groups = || choice.groups.iter().map(|group| &robots.groups[*group as usize]);
        let agents = groups().flat_map(|group| &group.agents).filter(|(_, agent)| leads(asked, choice.source, *agent));
        let agents: Vec<_> = agents.collect();
        let rules = || groups().flat_map(|group| &robots.rules[group.rules.clone()]);
        let (fallback, star_applies) = match asked {
            Asked::Star => (None, true),
            Asked::Named { fallback, star_applies, .. } => (fallback.as_ref(), *star_applies),
        };
        Self {
            source: choice.source,
            named: agents.first().map(|(_, agent)| spelt(*agent)),
            fallback: fallback.map(|token| token.as_str().to_owned()),
            star_applies,
            n_groups: choice.groups.len(),
            agent_lines: agents.iter().map(|(line, _)| u32::from(*line)).collect(),
            n_rules: rules().count(),
            merged: merged(name, &choice, rules()),
            crawl_delay_s: crawl_delay_s(robots, &choice),
            star_rules_left_behind: star_rules_left_behind(robots, index, asked, &choice),
        }
    }
}

/// Whether a user-agent line makes its group apply to a crawler whose groups were found in this way.
pub(super) fn leads(asked: &Asked, source: GroupSource, agent: Agent<'_>) -> bool {
    let is = |token: &ProductToken| matches!(agent, Agent::Token(text) if text.eq_ignore_ascii_case(token.as_str().as_bytes()));
    match (source, asked) {
        (GroupSource::Star, _) => agent == Agent::Star,
        (GroupSource::Named, Asked::Named { token, .. }) => is(token),
        (GroupSource::Fallback, Asked::Named { fallback, .. }) => fallback.as_ref().is_some_and(is),
        (GroupSource::None, _) | (_, Asked::Star) => false,
    }
}

fn spelt(agent: Agent<'_>) -> String {
    match agent {
        Agent::Star => "*".to_owned(),
        Agent::Token(token) => of_octets(token).into_owned(),
        Agent::Nobody => String::new(),
    }
}

/// Nothing where no group applies: an empty group would say more than the file does.
fn merged<'r>(name: &str, choice: &Choice<'_>, rules: impl Iterator<Item = &'r Rule<'r>>) -> Vec<String> {
    if choice.source == GroupSource::None {
        return Vec::new();
    }
    let token = match leading_token(name.as_bytes(), Matching::Rfc9309) {
        [] => name,
        token => std::str::from_utf8(token).unwrap_or(name),
    };
    let mut lines = vec![format!("User-agent: {token}")];
    lines.extend(rules.map(rule));
    if lines.len() == 1 {
        lines.push("Disallow:".to_owned());
    }
    lines
}

/// A rule as a line. Octets that are no UTF-8, and characters that nobody would see, are escaped, which changes nothing
/// of what it matches; control octets of ASCII have no other form.
fn rule(rule: &Rule<'_>) -> String {
    let directive = match rule.directive {
        Directive::Allow => "Allow:",
        Directive::Disallow => "Disallow:",
    };
    if rule.value.is_empty() {
        return directive.to_owned();
    }
    let mut line = format!("{directive} ");
    for chunk in rule.value.utf8_chunks() {
        for c in chunk.valid().chars() {
            if !c.is_ascii() && is_unsafe(c) {
                escape(&mut line, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                line.push(c);
            }
        }
        escape(&mut line, chunk.invalid());
    }
    line
}

fn escape(line: &mut String, octets: &[u8]) {
    for octet in octets {
        *line += &format!("%{octet:02X}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] =
        b"User-agent: *\nDisallow: /s\nUser-agent: A\nUser-agent: b\nCrawl-delay: 5\nDisallow: /caf\xE9\n\
        allow: /c\xC3\xA9\xE2\x80\x8B\nUser-agent: a/1\nDisalow: /x\nDisallow: /y\nUser-agent: d\nDisallow:\n";

    fn groups(name: &str, fallback: Option<&str>, star_applies: bool) -> AppliedGroups {
        let robots = Robots::parse(FILE, Matching::Rfc9309);
        let token = |name: &str| ProductToken::of_name(name, Matching::Rfc9309);
        let asked =
            Asked::Named { token: token(name).expect("a token"), fallback: fallback.and_then(token), star_applies };
        AppliedGroups::of(&robots, &GroupIndex::of(&robots), name, &asked)
    }

    #[test]
    fn why_groups_apply() {
        let of =
            |found: &AppliedGroups| (found.source, found.named.clone().unwrap_or_default(), found.agent_lines.clone());
        let named = groups("a/2.0", None, true);
        assert_eq!(of(&named), (GroupSource::Named, "A".to_owned(), vec![3, 8]));
        assert_eq!((named.n_groups, named.n_rules, named.star_rules_left_behind), (2, 3, 1));
        assert_eq!(named.crawl_delay_s, Some(5.0));
        assert_eq!(of(&groups("c", Some("B"), true)), (GroupSource::Fallback, "b".to_owned(), vec![4]));
        assert_eq!(of(&groups("c", None, true)), (GroupSource::Star, "*".to_owned(), vec![1]));
        assert_eq!(of(&groups("c", None, false)), (GroupSource::None, String::new(), vec![]));
    }

    #[test]
    fn the_merged_group_is_a_file_that_says_the_same() {
        assert_eq!(
            groups("a/2.0", None, true).merged,
            ["User-agent: a", "Disallow: /caf%E9", "Allow: /c\u{e9}%E2%80%8B", "Disallow: /y"]
        );
        assert_eq!(groups("D", None, true).merged, ["User-agent: D", "Disallow:"]);
        assert!(groups("c", None, false).merged.is_empty());
    }
}
