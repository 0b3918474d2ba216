//! The training preference: the groups of the reserved token `__usage_ai-training`.
//!
//! Source: draft-kelley-aipref-training-preference-signal-00. The token is named by ordinary groups and its rules are
//! ordinary rules, but the wildcard never speaks for it, in either direction: absence is "none expressed".

use super::comments::Comments;
use crate::robots::access::{FetchClass, names};
use crate::robots::coverage::{self, Budget, Coverage, RulesFile};
use crate::robots::group::GroupIndex;
use crate::robots::lex::Line;
use crate::robots::matcher::{Hit, RuleSet};
use crate::robots::parse::{Directive, Robots, TRAINING_TOKEN, is_training_near_miss};
use crate::robots::path::Path;
use crate::robots::token::{Agent, ProductToken};

names! {
    /// What a site says about training on one path.
    pub enum Preference {
        /// Nothing.
        NoneExpressed => "none_expressed",
        /// It may be used.
        InFavor => "in_favor",
        /// It may not.
        Against => "against",
        /// The file could not be read.
        Unknown => "unknown",
    }
}

names! {
    /// What a site says about training on all its paths.
    pub enum Scope {
        /// Nothing.
        NoneExpressed => "none_expressed",
        /// All may be used.
        InFavor => "in_favor",
        /// None may.
        Against => "against",
        /// Some may.
        Mixed => "mixed",
        /// The file could not be read.
        Unknown => "unknown",
    }
}

impl Preference {
    /// The preference where no file was read: a missing one expresses none, anything else may.
    #[must_use]
    pub const fn without_file(class: FetchClass) -> Self {
        match class {
            FetchClass::Missing => Self::NoneExpressed,
            _ => Self::Unknown,
        }
    }
}

/// The training preference of one file.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Training {
    /// `None` where no group names the token.
    rules: Option<RuleSet>,
    first_line: Option<Line>,
}

impl Training {
    /// Reads the preference of a parsed file.
    #[must_use]
    pub fn of(robots: &Robots<'_>, index: &GroupIndex) -> Self {
        let token = ProductToken::of_name(TRAINING_TOKEN, robots.matching);
        let groups = token.as_ref().and_then(|token| index.naming(token));
        let first_line = groups.and_then(|groups| first_line(robots, groups[0]));
        Self { rules: groups.map(|groups| RuleSet::of_groups(robots, groups)), first_line }
    }

    /// The preference for a path, and the rule that decided.
    #[must_use]
    pub fn preference(&self, path: &Path<'_>) -> (Preference, Option<Hit>) {
        let Some(rules) = &self.rules else {
            return (Preference::NoneExpressed, None);
        };
        let hit = rules.decide(path);
        match hit.map(|hit| hit.directive) {
            Some(Directive::Disallow) => (Preference::Against, hit),
            Some(Directive::Allow) | None => (Preference::InFavor, hit),
        }
    }

    /// The preference over all paths. Like a refusal of `/`, it is exact; a search that gives up counts as mixed.
    #[must_use]
    pub fn scope(&self) -> Scope {
        let Some(rules) = &self.rules else {
            return Scope::NoneExpressed;
        };
        match coverage::of_rules(rules, RulesFile::Counts, &mut Budget::default()) {
            Coverage::Everything => Scope::InFavor,
            Coverage::Nothing => Scope::Against,
            Coverage::Partial | Coverage::Undetermined => Scope::Mixed,
        }
    }

    /// The rules of the token, where a group names it.
    #[must_use]
    pub const fn rules(&self) -> Option<&RuleSet> {
        self.rules.as_ref()
    }

    /// The first line that names the token.
    #[must_use]
    pub fn first_line(&self) -> Option<u32> {
        self.first_line.map(u32::from)
    }

    pub(super) const fn line(&self) -> Option<Line> {
        self.first_line
    }
}

fn first_line(robots: &Robots<'_>, group: u32) -> Option<Line> {
    let names_it =
        |agent: &Agent<'_>| matches!(agent, Agent::Token(t) if t.eq_ignore_ascii_case(TRAINING_TOKEN.as_bytes()));
    let agents = &robots.groups[group as usize].agents;
    agents.iter().find(|(_, agent)| names_it(agent)).map(|(line, _)| *line)
}

/// User-agent tokens that are almost the training token, and fields named like it (with their colon), as spelt, at most
/// [`TOKENS_LISTED`].
#[must_use]
pub fn near_misses(robots: &Robots<'_>) -> Vec<String> {
    let mut tokens = listed(robots, |token| is_training_near_miss(token, robots.matching));
    for record in robots.extensions.iter().filter(|record| is_field_near_miss(record.key)) {
        add(&mut tokens, format!("{}:", String::from_utf8_lossy(record.key)));
    }
    tokens
}

/// The same, and a comment that holds the token, as `# __usage_ai-training`, where no group names it.
pub(super) fn near_misses_with_comments(
    robots: &Robots<'_>,
    training: &Training,
    comments: &Comments<'_>,
) -> Vec<String> {
    let mut tokens = near_misses(robots);
    if training.rules().is_none() && comments.training_token.is_some() {
        add(&mut tokens, format!("# {TRAINING_TOKEN}"));
    }
    tokens
}

/// Whether a key is the training token, or almost.
pub(super) fn is_field_near_miss(key: &[u8]) -> bool {
    const LONGEST: usize = 32;
    let is_word = |octet: &u8| octet.is_ascii_alphabetic() || matches!(octet, b'_' | b'-' | b' ');
    let letters = key.iter().filter(|octet| octet.is_ascii_alphabetic()).map(u8::to_ascii_lowercase);
    key.len() <= LONGEST && key.iter().all(is_word) && letters.eq(*b"usageaitraining")
}

/// Other tokens of the reserved form `__usage_…`, as spelt, at most [`TOKENS_LISTED`].
#[must_use]
pub fn other_policy_tokens(robots: &Robots<'_>) -> Vec<String> {
    listed(robots, |token| is_policy_token(token) && !token.eq_ignore_ascii_case(TRAINING_TOKEN.as_bytes()))
}

/// Whether a token is of the reserved form, but neither the training token nor almost it.
pub(super) fn is_unknown_policy_token(token: &[u8]) -> bool {
    is_policy_token(token) && !is_field_near_miss(token)
}

/// Whether a token states a preference about use and is no crawler's: the reserved form `__usage_…`.
#[must_use]
pub fn is_policy_token(token: &[u8]) -> bool {
    token.get(..POLICY_PREFIX.len()).is_some_and(|head| head.eq_ignore_ascii_case(POLICY_PREFIX))
}

/// Octets kept of a token that is listed.
pub const TOKEN_OCTETS: usize = 256;

/// Tokens listed of one file.
pub const TOKENS_LISTED: usize = 16;

const POLICY_PREFIX: &[u8] = b"__usage_";

fn listed(robots: &Robots<'_>, wanted: impl Fn(&[u8]) -> bool) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for (_, agent) in robots.groups.iter().flat_map(|group| &group.agents) {
        let Agent::Token(token) = agent else { continue };
        if tokens.len() < TOKENS_LISTED && wanted(token) {
            add(&mut tokens, String::from_utf8_lossy(&token[..token.len().min(TOKEN_OCTETS)]).into_owned());
        }
    }
    tokens
}

fn add(tokens: &mut Vec<String>, token: String) {
    if tokens.len() < TOKENS_LISTED && !tokens.contains(&token) {
        tokens.push(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;

    fn training(body: &str, path: &str) -> (Preference, Scope) {
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let training = Training::of(&robots, &GroupIndex::of(&robots));
        (training.preference(&Path::of(path.as_bytes())).0, training.scope())
    }

    #[test]
    fn the_wildcard_never_speaks_for_the_token() {
        use Preference as P;
        const MIXED: &str = "User-agent: __Usage_AI-Training\nDisallow: /\nAllow: /open-data/\n";
        for (body, path, expected) in [
            ("User-agent: *\nDisallow: /\n", "/a", (P::NoneExpressed, Scope::NoneExpressed)),
            ("User-agent: *\nAllow: /\n", "/a", (P::NoneExpressed, Scope::NoneExpressed)),
            ("User-agent: __usage_ai-training\n", "/a", (P::InFavor, Scope::InFavor)),
            ("User-agent: __usage_ai-training\nDisallow: /\n", "/robots.txt", (P::Against, Scope::Against)),
            ("User-agent: __usage_ai-training/1.0\nDisallow: /\n", "/a", (P::Against, Scope::Against)),
            (MIXED, "/open-data/x", (P::InFavor, Scope::Mixed)),
            (MIXED, "/a", (P::Against, Scope::Mixed)),
            ("User-agent: GPTBot\nUser-agent: __usage_ai-training\nDisallow: /x\n", "/x", (P::Against, Scope::Mixed)),
        ] {
            assert_eq!(training(body, path), expected, "{body:?} {path}");
        }
    }

    #[test]
    fn near_misses_and_other_tokens_are_listed() {
        let body =
            b"User-agent: __usage-ai-training\nUser-agent: __USAGE_search\nUser-agent: usage_ai-training\nAllow: /\n";
        let robots = Robots::parse(body, Matching::Rfc9309);
        assert_eq!(near_misses(&robots), ["__usage-ai-training", "usage_ai-training"]);
        assert_eq!(other_policy_tokens(&robots), ["__USAGE_search"]);
    }
}
