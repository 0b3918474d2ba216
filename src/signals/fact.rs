//! What a file says beside its rules, record by record and in file order.
//!
//! A fact is kept as it stands; [`Fact::meaning`] puts into words what its reader would take from it.

use super::{ai_rules, classic, content_signal, content_usage, license};
use crate::robots::access::names;
use crate::robots::finding::Code;
use crate::robots::lex::Line;
use crate::robots::parse::Extension;

names! {
    /// The kinds of facts.
    pub enum FactKind {
        /// `Content-Usage`.
        ContentUsage => "content_usage",
        /// `Content-Signal`.
        ContentSignal => "content_signal",
        /// `License`.
        License => "license",
        /// `DisallowAITraining`, `AllowAITraining` and their kin.
        AiTrainingRule => "ai_training_rule",
        /// `Crawl-delay`.
        CrawlDelay => "crawl_delay",
        /// `Request-rate`.
        RequestRate => "request_rate",
        /// `Visit-time`.
        VisitTime => "visit_time",
        /// `Host`.
        Host => "host",
        /// `Clean-param`.
        CleanParam => "clean_param",
        /// `Noindex`.
        Noindex => "noindex",
        /// `Sitemap`.
        Sitemap => "sitemap",
        /// The first mark of a managed block.
        CloudflareManaged => "cloudflare_managed",
        /// A comment that explains content signals.
        ContentSignalsPolicy => "content_signals_policy",
        /// A comment about text and data mining.
        CommentMentionsTdm => "comment_mentions_tdm",
    }
}

names! {
    /// Who speaks.
    pub enum Author {
        /// The site.
        Site => "site",
        /// The vendor whose managed block the line stands in.
        ManagedBlock => "managed_block",
    }
}

/// One thing that a file says beside its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact<'a> {
    /// Where.
    pub line: Line,
    /// What kind of thing.
    pub kind: FactKind,
    /// The group that the line stands in, a place in [`Robots::groups`](crate::robots::parse::Robots::groups); `None`
    /// before the first one, and for what belongs to no group.
    pub group: Option<u32>,
    /// Who speaks.
    pub author: Author,
    /// The value as written, or the comment.
    pub raw: &'a [u8],
}

impl FactKind {
    /// The kind of a record with this key.
    pub(super) fn of_record(record: &Extension<'_>) -> Option<Self> {
        const KEYS: [(&str, FactKind); 9] = [
            ("content-usage", FactKind::ContentUsage),
            ("content-signal", FactKind::ContentSignal),
            ("license", FactKind::License),
            ("crawl-delay", FactKind::CrawlDelay),
            ("request-rate", FactKind::RequestRate),
            ("visit-time", FactKind::VisitTime),
            ("host", FactKind::Host),
            ("clean-param", FactKind::CleanParam),
            ("noindex", FactKind::Noindex),
        ];
        let is = |name: &str| record.key.eq_ignore_ascii_case(name.as_bytes());
        let by_name = KEYS.iter().find(|(name, _)| is(name)).map(|(_, kind)| *kind);
        by_name.or_else(|| ai_rules::is_ai_key(record.key).then_some(Self::AiTrainingRule))
    }

    /// The finding that tells of the fact.
    pub(super) const fn code(self, author: Author) -> Code {
        match (self, author) {
            (Self::ContentUsage, _) => Code::ContentUsage,
            (Self::ContentSignal, Author::Site) => Code::ContentSignal,
            (Self::ContentSignal, Author::ManagedBlock) => Code::ContentSignalManaged,
            (Self::License, _) => Code::License,
            (Self::AiTrainingRule, _) => Code::AiTrainingRule,
            (Self::CrawlDelay, _) => Code::CrawlDelay,
            (Self::RequestRate, _) => Code::RequestRate,
            (Self::VisitTime, _) => Code::VisitTime,
            (Self::Host, _) => Code::Host,
            (Self::CleanParam, _) => Code::CleanParam,
            (Self::Noindex, _) => Code::Noindex,
            (Self::Sitemap, _) => Code::Sitemap,
            (Self::CloudflareManaged, _) => Code::CloudflareManaged,
            (Self::ContentSignalsPolicy, _) => Code::ContentSignalsPolicy,
            (Self::CommentMentionsTdm, _) => Code::CommentMentionsTdm,
        }
    }

    /// Whether each of its lines is worth a finding; of the others the first is.
    pub(super) const fn is_preference(self) -> bool {
        matches!(self, Self::ContentUsage | Self::ContentSignal | Self::License | Self::AiTrainingRule)
    }
}

impl Fact<'_> {
    /// What a reader of such lines takes from it, in words; `None` where it takes nothing.
    #[must_use]
    pub fn meaning(&self) -> Option<String> {
        match self.kind {
            FactKind::ContentUsage => content_usage::meaning(self.raw),
            FactKind::ContentSignal => content_signal::meaning(self.raw),
            FactKind::License => license::is_absolute(self.raw).then(|| "terms of use".to_owned()),
            FactKind::AiTrainingRule => Some("training preference of an expired draft".to_owned()),
            FactKind::CrawlDelay
            | FactKind::RequestRate
            | FactKind::VisitTime
            | FactKind::Host
            | FactKind::CleanParam
            | FactKind::Noindex
            | FactKind::Sitemap => classic::meaning(self.kind, self.raw),
            FactKind::CloudflareManaged => Some("a managed block begins".to_owned()),
            FactKind::ContentSignalsPolicy => Some("explains content signals".to_owned()),
            FactKind::CommentMentionsTdm => Some("speaks of text and data mining".to_owned()),
        }
    }
}
