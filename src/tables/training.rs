//! Table `training`: one row per origin: the reserved token and the signals beside it.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Words, text, texts, value, words};
use crate::robots::access::FetchClass;
use crate::signals::conflict::Conflict;
use crate::signals::content_signal::{Signal, SignalKey, Stated};
use crate::signals::content_usage::Usage;
use crate::signals::training::{Preference, Scope};

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("origin"),
        value("rank", DataType::Int64),
        value("token_present", DataType::Boolean),
        words("root_preference"),
        words("scope"),
        value("n_allow", DataType::Int32),
        value("n_disallow", DataType::Int32),
        value("first_line", DataType::Int32),
        texts("near_misses"),
        texts("other_policy_tokens"),
        words("content_usage_train_ai"),
        words("content_usage_search"),
        words("content_signal_search"),
        words("content_signal_ai_input"),
        words("content_signal_ai_train"),
        texts("rsl_license_urls"),
        value("cloudflare_managed", DataType::Boolean),
        value("names_ai_crawler", DataType::Boolean),
        texts("conflicts"),
    ]))
}

/// What one body says about training; the same for every origin that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingRow {
    /// Whether a group names the token; `None` where nothing is known.
    pub token_present: Option<bool>,
    /// The preference for `/`.
    pub root_preference: Preference,
    /// The preference over all paths.
    pub scope: Scope,
    /// Rules of the token, where a group names it.
    pub counts: Option<TokenRules>,
    /// Tokens that are almost the training token.
    pub near_misses: Option<Vec<String>>,
    /// Other tokens of the reserved form.
    pub other_policy_tokens: Option<Vec<String>>,
    /// Whether a group names a crawler of the set `@ai`.
    pub names_ai_crawler: Option<bool>,
    /// The other signals; `None` where no file was read.
    pub signals: Option<SignalCells>,
}

/// What the signals beside the token say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalCells {
    /// `Content-Usage` about training, for `/` and whoever has no group of their own.
    pub train_ai: Option<Usage>,
    /// `Content-Usage` about search, likewise.
    pub search: Option<Usage>,
    /// `Content-Signal`, likewise.
    pub content_signal: Stated,
    /// URLs of RSL documents.
    pub rsl_license_urls: Vec<String>,
    /// Whether the file has a managed block.
    pub cloudflare_managed: bool,
    /// Contradictions.
    pub conflicts: Vec<Conflict>,
}

/// The rules of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRules {
    /// Allow lines.
    pub n_allow: u32,
    /// Disallow lines.
    pub n_disallow: u32,
    /// The first line that names the token.
    pub first_line: Option<u32>,
}

impl TrainingRow {
    /// The row of an origin whose file was not read.
    #[must_use]
    pub const fn without_file(class: FetchClass) -> Self {
        let root_preference = Preference::without_file(class);
        let (token_present, scope) = match root_preference {
            Preference::NoneExpressed => (Some(false), Scope::NoneExpressed),
            _ => (None, Scope::Unknown),
        };
        Self {
            token_present,
            root_preference,
            scope,
            counts: None,
            near_misses: None,
            other_policy_tokens: None,
            names_ai_crawler: None,
            signals: None,
        }
    }
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct TrainingBuilder {
    origin: StringBuilder,
    rank: Int64Builder,
    token_present: BooleanBuilder,
    root_preference: Words,
    scope: Words,
    n_allow: Int32Builder,
    n_disallow: Int32Builder,
    first_line: Int32Builder,
    near_misses: ListBuilder<StringBuilder>,
    other_policy_tokens: ListBuilder<StringBuilder>,
    content_usage: [Words; 2],
    content_signal: [Words; SignalKey::ALL.len()],
    rsl_license_urls: ListBuilder<StringBuilder>,
    cloudflare_managed: BooleanBuilder,
    names_ai_crawler: BooleanBuilder,
    conflicts: ListBuilder<StringBuilder>,
}

impl Default for TrainingBuilder {
    fn default() -> Self {
        let usages = |()| Words::of(Usage::ALL.iter().map(|usage| usage.as_str()));
        let signals = |()| Words::of(Signal::ALL.iter().map(|signal| signal.as_str()));
        Self {
            origin: StringBuilder::new(),
            rank: Int64Builder::new(),
            token_present: BooleanBuilder::new(),
            root_preference: Words::of(Preference::ALL.iter().map(|preference| preference.as_str())),
            scope: Words::of(Scope::ALL.iter().map(|scope| scope.as_str())),
            n_allow: Int32Builder::new(),
            n_disallow: Int32Builder::new(),
            first_line: Int32Builder::new(),
            near_misses: ListBuilder::new(StringBuilder::new()),
            other_policy_tokens: ListBuilder::new(StringBuilder::new()),
            content_usage: [(); 2].map(usages),
            content_signal: [(); SignalKey::ALL.len()].map(signals),
            rsl_license_urls: ListBuilder::new(StringBuilder::new()),
            cloudflare_managed: BooleanBuilder::new(),
            names_ai_crawler: BooleanBuilder::new(),
            conflicts: ListBuilder::new(StringBuilder::new()),
        }
    }
}

impl TrainingBuilder {
    /// Adds the row of an origin.
    pub fn push(&mut self, origin: &str, rank: Option<i64>, row: &TrainingRow) {
        self.origin.append_value(origin);
        self.rank.append_option(rank);
        self.token_present.append_option(row.token_present);
        self.root_preference.push(Some(row.root_preference as usize));
        self.scope.push(Some(row.scope as usize));
        self.n_allow.append_option(row.counts.map(|counts| counts.n_allow.cast_signed()));
        self.n_disallow.append_option(row.counts.map(|counts| counts.n_disallow.cast_signed()));
        self.first_line.append_option(row.counts.and_then(|counts| counts.first_line).map(u32::cast_signed));
        push_list(&mut self.near_misses, row.near_misses.as_deref());
        push_list(&mut self.other_policy_tokens, row.other_policy_tokens.as_deref());
        self.names_ai_crawler.append_option(row.names_ai_crawler);
        self.push_signals(row.signals.as_ref());
    }

    fn push_signals(&mut self, signals: Option<&SignalCells>) {
        let usages = signals.map_or([None, None], |signals| [signals.train_ai, signals.search]);
        for (column, usage) in self.content_usage.iter_mut().zip(usages) {
            column.push(usage.map(|usage| usage as usize));
        }
        for (column, key) in self.content_signal.iter_mut().zip(SignalKey::ALL) {
            let signal = signals.and_then(|signals| signals.content_signal.get(*key));
            column.push(signal.map(|signal| signal as usize));
        }
        push_list(&mut self.rsl_license_urls, signals.map(|signals| &signals.rsl_license_urls[..]));
        self.cloudflare_managed.append_option(signals.map(|signals| signals.cloudflare_managed));
        let conflicts = signals.map(|signals| &signals.conflicts);
        self.conflicts.append_option(conflicts.map(|list| list.iter().map(|conflict| Some(conflict.as_str()))));
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.origin.finish()),
            Arc::new(self.rank.finish()),
            Arc::new(self.token_present.finish()),
            self.root_preference.finish(),
            self.scope.finish(),
            Arc::new(self.n_allow.finish()),
            Arc::new(self.n_disallow.finish()),
            Arc::new(self.first_line.finish()),
            Arc::new(self.near_misses.finish()),
            Arc::new(self.other_policy_tokens.finish()),
        ];
        columns.extend(self.content_usage.into_iter().chain(self.content_signal).map(Words::finish));
        columns.push(Arc::new(self.rsl_license_urls.finish()));
        columns.push(Arc::new(self.cloudflare_managed.finish()));
        columns.push(Arc::new(self.names_ai_crawler.finish()));
        columns.push(Arc::new(self.conflicts.finish()));
        column::batch(schema(), columns)
    }
}

fn push_list(list: &mut ListBuilder<StringBuilder>, values: Option<&[String]>) {
    list.append_option(values.map(|values| values.iter().map(Some)));
}
