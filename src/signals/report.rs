//! Signals to findings: one for each line that states a preference, and for other facts the first of each kind.

use super::Signals;
use super::comments::Comments;
use super::conflict::Conflict;
use super::content_signal::SignalRecord;
use super::content_usage::Statement;
use super::fact::{Fact, FactKind};
use super::license::{License, Validity};
use super::training::{Training, is_field_near_miss, is_unknown_policy_token};
use crate::robots::finding::{Code, Finding};
use crate::robots::lex::Line;
use crate::robots::parse::Robots;
use crate::robots::token::Agent;

/// Findings of one code about the preferences of one body. Of other facts there is one.
pub const PREFERENCE_FINDINGS: usize = 16;

impl<'a> Signals<'a> {
    /// The findings about signals, in file order; `conflicts` are those of [`Self::conflicts`].
    ///
    /// They come on top of [`Robots::findings`] and repeat none of them. At most [`PREFERENCE_FINDINGS`] have the same
    /// code; [`Self::facts`] has all.
    #[must_use]
    pub fn findings(&self, conflicts: &[Conflict]) -> Vec<Finding<'a>> {
        let mut found = Found::default();
        self.tokens.iter().for_each(|finding| found.add(finding.line, finding.code, finding.raw));
        for fact in &self.facts {
            found.fact(fact);
        }
        let of_kind = |kind| self.facts.iter().filter(move |fact| fact.kind == kind);
        for (fact, statement) in of_kind(FactKind::ContentUsage).zip(&self.content_usage.statements) {
            found.content_usage(fact, statement);
        }
        for (fact, record) in of_kind(FactKind::ContentSignal).zip(&self.content_signal.records) {
            found.content_signal(fact, record);
        }
        self.licenses.records.iter().for_each(|license| found.license(license));
        for conflict in conflicts {
            found.add(self.line_of(*conflict), Code::SignalConflict, conflict.as_str().as_bytes());
        }
        found.in_file_order()
    }

    /// The first line of a signal that a contradiction is about.
    fn line_of(&self, conflict: Conflict) -> Line {
        let usage = self.content_usage.statements.first().map(|statement| statement.line);
        let mut signals = self.content_signal.records.iter();
        let line = match conflict {
            Conflict::ContentSignalDuplicate => {
                signals.find(|record| record.is_contradiction).map(|record| record.line)
            }
            Conflict::TrainTokenVsContentUsage
            | Conflict::TrainTokenVsContentSignal
            | Conflict::TokenAgainstButTrainingCrawlersAllowed
            | Conflict::TokenInFavorButTrainingCrawlersDenied => self.training.line(),
            Conflict::ContentUsageVsContentSignal => usage,
            Conflict::AiTrainNoButTrainingCrawlersAllowed
            | Conflict::AiTrainYesButTrainingCrawlersDenied
            | Conflict::SearchNoButSearchCrawlersAllowed
            | Conflict::SearchYesButSearchCrawlersDenied => signals.next().map(|record| record.line),
        };
        line.unwrap_or(Line::FIRST)
    }
}

/// Findings about reserved tokens, wherever they stand.
pub(super) fn of_tokens<'a>(robots: &Robots<'a>, training: &Training, comments: &Comments<'a>) -> Vec<Finding<'a>> {
    let mut found = Found::default();
    for (line, agent) in robots.groups.iter().flat_map(|group| &group.agents) {
        if let Agent::Token(token) = agent
            && is_unknown_policy_token(token)
        {
            found.add(*line, Code::OtherPolicyToken, token);
        }
    }
    for record in robots.extensions.iter().filter(|record| is_field_near_miss(record.key)) {
        found.add(record.line, Code::TrainingTokenAsField, record.key);
    }
    if let (None, Some(comment)) = (training.rules(), comments.training_token) {
        found.add(comment.line, Code::TrainingTokenInComment, comment.text);
    }
    found.list
}

/// Findings, and how many there are of each code.
#[derive(Default)]
struct Found<'a> {
    list: Vec<Finding<'a>>,
    counts: Vec<(Code, usize)>,
}

impl<'a> Found<'a> {
    fn add(&mut self, line: Line, code: Code, raw: &'a [u8]) {
        self.add_up_to(PREFERENCE_FINDINGS, line, code, raw);
    }

    fn add_up_to(&mut self, most: usize, line: Line, code: Code, raw: &'a [u8]) {
        // A file has few codes.
        let place = self.counts.iter().position(|(known, _)| *known == code).unwrap_or_else(|| {
            self.counts.push((code, 0));
            self.counts.len() - 1
        });
        let count = &mut self.counts[place].1;
        if *count < most {
            *count += 1;
            self.list.push(Finding { line, code, raw });
        }
    }

    fn fact(&mut self, fact: &Fact<'a>) {
        let most = if fact.kind.is_preference() { PREFERENCE_FINDINGS } else { 1 };
        self.add_up_to(most, fact.line, fact.kind.code(fact.author), fact.raw);
        // An unreadable delay is a finding of the parser.
        let is_classic = matches!(
            fact.kind,
            FactKind::RequestRate
                | FactKind::VisitTime
                | FactKind::Host
                | FactKind::CleanParam
                | FactKind::Noindex
                | FactKind::Sitemap
        );
        if is_classic && fact.meaning().is_none() {
            let is_sitemap = fact.kind == FactKind::Sitemap;
            let code = if is_sitemap { Code::RelativeSitemap } else { Code::ExtensionInvalid };
            self.add(fact.line, code, fact.raw);
        }
    }

    fn content_usage(&mut self, fact: &Fact<'a>, statement: &Statement) {
        let tests = [
            (statement.group.is_none(), Code::ContentUsageOutsideGroup),
            (statement.preferences.is_none(), Code::ContentUsageInvalid),
            (statement.preferences.is_some_and(|said| said.has_invalid_value), Code::ContentUsageValueInvalid),
            (statement.preferences.is_some_and(|said| said.has_unknown_label), Code::ContentUsageLabelUnknown),
        ];
        self.add_those(fact, tests);
    }

    fn content_signal(&mut self, fact: &Fact<'a>, record: &SignalRecord) {
        let tests = [
            (record.stated.keeping.is_some(), Code::ContentSignalUse),
            (record.group.is_none(), Code::ContentSignalOutsideGroup),
            (record.path.is_some(), Code::ContentSignalWithPath),
            (record.has_invalid_part, Code::ContentSignalInvalid),
            (record.is_contradiction, Code::ContentSignalContradiction),
        ];
        self.add_those(fact, tests);
    }

    fn license(&mut self, license: &License<'a>) {
        let tests = [
            (license.is_in_group, Code::LicenseInGroup),
            (license.validity == Validity::Invalid, Code::LicenseInvalid),
            (license.validity == Validity::Duplicate, Code::LicenseDuplicate),
        ];
        for (_, code) in tests.into_iter().filter(|(is_so, _)| *is_so) {
            self.add(license.line, code, license.url);
        }
    }

    fn add_those<const N: usize>(&mut self, fact: &Fact<'a>, tests: [(bool, Code); N]) {
        for (_, code) in tests.into_iter().filter(|(is_so, _)| *is_so) {
            self.add(fact.line, code, fact.raw);
        }
    }

    fn in_file_order(mut self) -> Vec<Finding<'a>> {
        self.list.sort_by_key(|finding| finding.line);
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::token::Matching;

    fn codes(body: &str) -> Vec<(u32, &'static str)> {
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let signals = Signals::of(&robots, &GroupIndex::of(&robots), body.as_bytes());
        let findings = signals.findings(&signals.conflicts(None));
        findings.iter().map(|finding| (u32::from(finding.line), finding.code.as_str())).collect()
    }

    #[test]
    fn a_file_without_signals_has_no_such_findings() {
        assert_eq!(codes("# Hello\nUser-agent: *\nDisallow: /x\nFrobnicate: 1\n"), []);
    }

    #[test]
    fn facts_have_their_lines() {
        let body = "Sitemap: https://a.test/1\nSitemap: https://a.test/2\nUser-agent: *\nCrawl-delay: 1\nHost: a b\n\
            Content-Signal: search=yes, ai-train=maybe\nContent-Usage: train-ai=n,\nNoindex: /x\nNoindex: /y\n\
            # BEGIN Cloudflare Managed content\nContent-Signal: search=no\n";
        assert_eq!(
            codes(body),
            [
                (1, "sitemap"),
                (4, "crawl_delay"),
                (5, "host"),
                (5, "extension_invalid"),
                (6, "content_signal"),
                (6, "content_signal_invalid"),
                (7, "content_usage"),
                (7, "content_usage_invalid"),
                (8, "noindex"),
                (10, "cloudflare_managed"),
                (11, "content_signal_managed"),
                (11, "content_signal_contradiction"),
                (11, "signal_conflict"),
            ]
        );
    }

    #[test]
    fn findings_of_one_code_are_bounded() {
        let body = "Content-Usage: train-ai=n\nUser-agent: __usage_x\nLicense: x\nHost: a b\n".repeat(500);
        let codes = codes(&body);
        let of = |code| codes.iter().filter(|(_, found)| *found == code).count();
        assert_eq!(of("host"), 1);
        for code in ["content_usage", "license_invalid", "other_policy_token", "extension_invalid"] {
            assert_eq!(of(code), PREFERENCE_FINDINGS, "{code}");
        }
    }

    #[test]
    fn the_token_in_the_wrong_place_is_told() {
        for (body, expected) in [
            ("__usage_ai-training: /\n", &[(1, "training_token_as_field")][..]),
            ("Usage-AI-Training: no\n", &[(1, "training_token_as_field")]),
            ("# User-agent: __usage_ai-training\n", &[(1, "training_token_in_comment")]),
            ("User-agent: __usage_ai-training # __usage_ai-training\nAllow: /\n", &[]),
            ("User-agent: __usage_frobnicate\nAllow: /\n", &[(1, "other_policy_token")]),
        ] {
            assert_eq!(codes(body), expected, "{body:?}");
        }
    }
}
