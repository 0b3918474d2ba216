//! `DisallowAITraining` and `AllowAITraining`: rules about training that mirror Disallow and Allow.
//!
//! Source: draft-canel-robots-ai-control, expired. Its second version made families of such names without a list: those
//! are facts, but only the two of the first version are evaluated.

use super::training::Preference;
use crate::robots::lex::Line;
use crate::robots::parse::{Directive, Extension};
use crate::robots::path::Path;
use crate::robots::pattern::LonePattern;

/// One such rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AiRule {
    /// Where.
    pub line: Line,
    /// Its group; `None` before the first one, where it applies to nobody.
    pub group: Option<u32>,
    /// What it says.
    pub directive: Directive,
    /// The paths that it is about.
    pub pattern: LonePattern,
}

/// All such rules of a file, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AiRules {
    /// The rules.
    pub rules: Vec<AiRule>,
}

impl AiRules {
    pub(super) fn of(records: &[Extension<'_>]) -> Self {
        let rules = records.iter().filter_map(|record| {
            Some(AiRule {
                line: record.line,
                group: record.group,
                directive: directive(record.key)?,
                pattern: (!record.value.is_empty()).then(|| LonePattern::of(record.value))?,
            })
        });
        Self { rules: rules.collect() }
    }

    /// The preference for a path to a crawler, given its groups, and the line that decides: the longest rule that
    /// matches, allow before disallow. No match is no preference.
    #[must_use]
    pub fn preference(&self, groups: &[u32], path: &Path<'_>) -> (Preference, Option<Line>) {
        let is_own = |rule: &&AiRule| rule.group.is_some_and(|group| groups.binary_search(&group).is_ok());
        let matching = self.rules.iter().filter(is_own).filter(|rule| rule.pattern.matches(path.octets()));
        let precedence = |rule: &&AiRule| (rule.pattern.octets(), rule.directive == Directive::Allow);
        // Of equals `max_by_key` takes the last.
        match matching.rev().max_by_key(precedence) {
            None => (Preference::NoneExpressed, None),
            Some(AiRule { directive: Directive::Allow, line, .. }) => (Preference::InFavor, Some(*line)),
            Some(AiRule { directive: Directive::Disallow, line, .. }) => (Preference::Against, Some(*line)),
        }
    }
}

fn directive(key: &[u8]) -> Option<Directive> {
    let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
    match () {
        () if is("disallowaitraining") => Some(Directive::Disallow),
        () if is("allowaitraining") => Some(Directive::Allow),
        () => None,
    }
}

/// Whether a key is of the family of names.
pub(super) fn is_ai_key(key: &[u8]) -> bool {
    let begins = |name: &str| key.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()));
    begins("disallowai") || begins("allowai")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::parse::Robots;
    use crate::robots::token::{Asked, Matching};
    use crate::signals::Signals;

    #[test]
    fn the_longest_rule_decides_and_the_wildcard_speaks() {
        let body = b"DisallowAITraining: /\nUser-agent: *\nDisallowAITraining: /\nallowaitraining: /press/\n\
            AllowAITraining: /same\nDisallowAITraining: /same\nDisallowAISearch: /x\nAllow: /\n\
            User-agent: a\nAllowAITraining: /x\nDisallowAITraining:\nAllow: /\n";
        let robots = Robots::parse(body, Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let rules = Signals::of(&robots, &index, body).ai_rules;
        for (crawler, path, preference, line) in [
            ("b", "/", Preference::Against, Some(3)),
            ("*", "/press/1", Preference::InFavor, Some(4)),
            ("*", "/same", Preference::InFavor, Some(5)),
            ("a", "/x", Preference::InFavor, Some(10)),
            ("a", "/", Preference::NoneExpressed, None),
        ] {
            let choice = index.choose(&Asked::named(crawler, Matching::Rfc9309).expect("a token"));
            let (found, by) = rules.preference(choice.groups, &Path::of(path.as_bytes()));
            assert_eq!((found, by.map(u32::from)), (preference, line), "{crawler} {path}");
        }
    }
}
