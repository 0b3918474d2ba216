//! Usage preferences and other signals that stand beside the rules: one file a signal. Pure, like
//! [`robots`](crate::robots).
//!
//! A signal never changes a verdict: whether a path may be crawled and how its content may be used are two questions.
//! Each preference has three values, and absence is never permission.
//!
//! | module | holds |
//! |---|---|
//! | [`training`] | the training token `__usage_ai-training`, its near misses, other `__usage_…` tokens |
//! | [`content_usage`] | `Content-Usage` (AIPREF) |
//! | [`content_signal`] | `Content-Signal` |
//! | [`license`] | `License` (RSL) |
//! | [`ai_rules`] | `DisallowAITraining`, `AllowAITraining` |
//! | [`classic`] | Crawl-delay, Request-rate, Visit-time, Host, Clean-param, Noindex, Sitemap |
//! | [`comments`] | Cloudflare's managed block, and what else comments tell |
//! | [`conflict`] | signals that contradict each other or the rules |
//! | [`fact`] | all of these, line by line |
//! | [`report`] | the findings about them |
//! | [`response`] | what header fields of the answer say beside the file |
//!
//! ```
//! use robots_audit::robots::{group::GroupIndex, parse::Robots, token::Matching};
//! use robots_audit::signals::{Signals, content_signal::{Signal, SignalKey}, content_usage::Usage};
//!
//! let body = b"User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: train-ai=n\nAllow: /\n";
//! let robots = Robots::parse(body, Matching::Rfc9309);
//! let signals = Signals::of(&robots, &GroupIndex::of(&robots), body);
//!
//! assert_eq!(signals.root.train_ai, Some(Usage::Disallow));
//! assert_eq!(signals.root.content_signal.get(SignalKey::Search), Some(Signal::Yes));
//! let meanings: Vec<String> = signals.facts().iter().filter_map(|fact| fact.meaning()).collect();
//! assert_eq!(meanings, ["search yes, ai-train no", "train-ai disallow"]);
//! ```

pub mod ai_rules;
pub mod classic;
pub mod comments;
pub mod conflict;
pub mod content_signal;
pub mod content_usage;
pub mod fact;
pub mod license;
pub mod report;
pub mod response;
pub mod training;

use self::ai_rules::AiRules;
use self::comments::Comments;
use self::content_signal::{ContentSignal, Stated};
use self::content_usage::{ContentUsage, Label, Usage};
use self::fact::{Author, Fact, FactKind};
use self::license::Licenses;
use self::training::{Preference, Training};
use crate::robots::finding::Finding;
use crate::robots::group::{GroupIndex, GroupSource};
use crate::robots::lex::readable;
use crate::robots::matcher::RuleSet;
use crate::robots::parse::Robots;
use crate::robots::path::Path;
use crate::robots::token::Asked;
use crate::robots::verdict::Verdict;

/// Every signal of one body.
#[derive(Debug)]
pub struct Signals<'a> {
    /// The training token.
    pub training: Training,
    /// User-agent tokens, fields and comments that are almost the training token, as spelt.
    pub near_misses: Vec<String>,
    /// Other tokens of the reserved form `__usage_…`, as spelt.
    pub other_policy_tokens: Vec<String>,
    /// `Content-Usage`.
    pub content_usage: ContentUsage,
    /// `Content-Signal`.
    pub content_signal: ContentSignal,
    /// `License`.
    pub licenses: Licenses<'a>,
    /// `DisallowAITraining` and `AllowAITraining`.
    pub ai_rules: AiRules,
    /// What comments tell.
    pub comments: Comments<'a>,
    /// What all of them say about `/`.
    pub root: RootPreferences,
    facts: Vec<Fact<'a>>,
    /// Findings about user-agent values and fields that have to do with reserved tokens.
    tokens: Vec<Finding<'a>>,
}

/// What is said about `/` to a crawler without a group of its own: by the wildcard's groups, and by the training token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootPreferences {
    /// By the training token.
    pub training: Preference,
    /// By `Content-Usage` about training; `None` where no rule applies, or `/` may not be crawled.
    pub train_ai: Option<Usage>,
    /// By `Content-Usage` about search; `None` as for training.
    pub search: Option<Usage>,
    /// By `Content-Signal`.
    pub content_signal: Stated,
}

impl<'a> Signals<'a> {
    /// Reads the signals of a parsed body. `index` is that of `robots`, and `body` what it was parsed from.
    #[must_use]
    pub fn of(robots: &Robots<'a>, index: &GroupIndex, body: &'a [u8]) -> Self {
        let comments = Comments::of(readable(body, robots.matching.parse_octets()).octets);
        let facts = facts(robots, &comments);
        let of_kind = |kind: FactKind| facts.iter().filter(move |fact| fact.kind == kind);
        let training = Training::of(robots, index);
        let content_usage = ContentUsage::of(of_kind(FactKind::ContentUsage));
        let content_signal = ContentSignal::of(of_kind(FactKind::ContentSignal), index.star());
        Self {
            root: RootPreferences::of(robots, index, &training, &content_usage, &content_signal),
            near_misses: training::near_misses_with_comments(robots, &training, &comments),
            other_policy_tokens: training::other_policy_tokens(robots),
            licenses: Licenses::of(of_kind(FactKind::License)),
            ai_rules: AiRules::of(&robots.extensions),
            tokens: report::of_tokens(robots, &training, &comments),
            training,
            content_usage,
            content_signal,
            comments,
            facts,
        }
    }

    /// Everything that the file says beside its rules, in file order.
    #[must_use]
    pub fn facts(&self) -> &[Fact<'a>] {
        &self.facts
    }
}

impl RootPreferences {
    fn of(
        robots: &Robots<'_>,
        index: &GroupIndex,
        training: &Training,
        content_usage: &ContentUsage,
        content_signal: &ContentSignal,
    ) -> Self {
        let root = Path::of(b"/");
        let mut preferences = Self {
            training: training.preference(&root).0,
            train_ai: None,
            search: None,
            content_signal: content_signal.stated(index.star(), &root),
        };
        if !content_usage.statements.is_empty() {
            let choice = index.choose(&Asked::Star);
            let rules = RuleSet::for_paths(robots, choice.groups, 1);
            let verdict = Verdict::of_path(&rules, GroupSource::Star, &root);
            let of_label = |label| content_usage.preference(&choice, &verdict, &root, label);
            preferences.train_ai = of_label(Label::TrainAi);
            preferences.search = of_label(Label::Search);
        }
        preferences
    }
}

/// Records, sitemaps and comments, in file order.
fn facts<'a>(robots: &Robots<'a>, comments: &Comments<'a>) -> Vec<Fact<'a>> {
    let author = |line| match comments.managed {
        Some(block) if block.holds(line) => Author::ManagedBlock,
        _ => Author::Site,
    };
    let records = robots.extensions.iter().filter_map(|record| {
        let kind = FactKind::of_record(record)?;
        Some(Fact { line: record.line, kind, group: record.group, author: author(record.line), raw: record.value })
    });
    let of_no_group = |kind, line, raw| Fact { line, kind, group: None, author: author(line), raw };
    let sitemaps = robots.sitemaps.iter().map(|(line, url)| of_no_group(FactKind::Sitemap, *line, *url));
    let mentions = [
        (FactKind::CloudflareManaged, comments.managed.map(|block| block.begin)),
        (FactKind::ContentSignalsPolicy, comments.content_signals),
        (FactKind::CommentMentionsTdm, comments.data_mining),
    ];
    let mentions =
        mentions.into_iter().filter_map(|(kind, comment)| Some(of_no_group(kind, comment?.line, comment?.text)));
    let mut facts: Vec<Fact<'a>> = records.chain(sitemaps).chain(mentions).collect();
    facts.sort_by_key(|fact| fact.line);
    facts
}
