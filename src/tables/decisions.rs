//! Table `decisions`: one row per URL and crawler.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{timestamp, value, words};
use super::fetches::Timestamp;
use super::pages::RunSchema;
use super::pages::keys::{NumberColumn, TextColumn, WordColumn};
use super::pages::runs::{NULL, Rows, RunColumn, RunGroup, Texts, Values};
use super::text::of_octets;
use crate::robots::decision::{Answer, Decision, DecisionSource};
use crate::robots::group::GroupSource;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("url"),
        words("origin"),
        words("crawler"),
        words("decision"),
        words("decision_source"),
        words("group_source"),
        words("matched_rule"),
        value("rule_line", DataType::Int32),
        timestamp("checked_at"),
    ]))
}

/// The columns as runs.
///
/// # Panics
/// Never: the columns have types of Parquet.
#[must_use]
pub fn run_schema() -> RunSchema {
    RunSchema::of(schema()).expect("the columns have types of Parquet")
}

/// Collects the rows of URLs as runs: the crawlers of one rule set share all but their name.
#[derive(Debug, Clone)]
pub struct DecisionsBuilder {
    crawlers: Texts,
    crawler_count: u32,
    url: TextColumn,
    origin: TextColumn,
    decision: WordColumn,
    source: WordColumn,
    group: WordColumn,
    rule: TextColumn,
    line: NumberColumn<i32>,
    checked_at: NumberColumn<Timestamp>,
    rows: u32,
}

/// A rule text that was added to the builder. It holds until the rows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulePlace(u32);

impl DecisionsBuilder {
    /// A builder for these crawlers, in the order in which they were asked for.
    ///
    /// # Panics
    /// Where there are four billion crawlers.
    #[must_use]
    pub fn new<'a>(crawlers: impl IntoIterator<Item = &'a str>) -> Self {
        let crawlers: Texts = crawlers.into_iter().collect();
        Self {
            crawler_count: u32::try_from(crawlers.len()).expect("crawlers are few"),
            crawlers,
            url: TextColumn::default(),
            origin: TextColumn::default(),
            decision: WordColumn::of(Decision::ALL.iter().map(|decision| decision.as_str())),
            source: WordColumn::of(DecisionSource::ALL.iter().map(|source| source.as_str())),
            group: WordColumn::of(GroupSource::ALL.iter().map(|source| source.as_str())),
            rule: TextColumn::default(),
            line: NumberColumn::default(),
            checked_at: NumberColumn::default(),
            rows: 0,
        }
    }

    /// Begins a URL: its rows are one for each crawler, and the answers that follow are about it.
    pub fn url(&mut self, url: &[u8], origin: Option<&str>, checked_at: Option<Timestamp>) {
        self.url.push_text(Some(&of_octets(url)), self.crawler_count);
        self.origin.push_text(origin, self.crawler_count);
        self.checked_at.push(checked_at, self.crawler_count);
        self.rows += self.crawler_count;
    }

    /// Adds a rule's text, to be named by the answers that rest on it.
    pub fn rule(&mut self, text: &str) -> RulePlace {
        RulePlace(self.rule.key(text))
    }

    /// Adds the answer for the next so many crawlers of the URL.
    pub fn answer_run(&mut self, crawlers: u32, answer: &Answer, group: Option<GroupSource>, rule: Option<RulePlace>) {
        self.decision.push(Some(answer.decision as usize), crawlers);
        self.source.push(Some(answer.source as usize), crawlers);
        self.group.push(group.map(|group| group as usize), crawlers);
        self.rule.push(rule.map_or(NULL, |rule| rule.0), crawlers);
        self.line.push(answer.hit.map(|hit| u32::from(hit.line).cast_signed()), crawlers);
    }

    /// The rows; the builder is empty then and can be filled again. Whether each URL got an answer for each crawler is
    /// found out when they are encoded.
    pub fn take(&mut self) -> RunGroup {
        let crawlers = RunColumn { values: Values::Text(self.crawlers.clone()), rows: Rows::Cycle };
        let columns = vec![
            self.url.take(),
            self.origin.take(),
            crawlers,
            self.decision.take(),
            self.source.take(),
            self.group.take(),
            self.rule.take(),
            self.line.take(),
            self.checked_at.take(),
        ];
        RunGroup { columns, rows: std::mem::take(&mut self.rows) }
    }
}
