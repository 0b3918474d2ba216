//! Table `decisions`: one row per URL and crawler.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, RecordBatch, TimestampMicrosecondBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::column::{self, Runs, Words, timestamp, timestamps, value, words};
use super::fetches::Timestamp;
use super::text::of_octets;
use crate::robots::decision::{Answer, Decision, DecisionSource};
use crate::robots::group::GroupSource;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    let runs = |name: &str| -> Field { words(name) };
    Arc::new(Schema::new(vec![
        runs("url"),
        runs("origin"),
        words("crawler"),
        words("decision"),
        words("decision_source"),
        words("group_source"),
        runs("matched_rule"),
        value("rule_line", DataType::Int32),
        timestamp("checked_at"),
    ]))
}

/// Collects the rows of a batch of URLs into columns.
#[derive(Debug)]
pub struct DecisionsBuilder {
    url: Runs,
    origin: Runs,
    crawler: Words,
    decision: Words,
    source: Words,
    group: Words,
    rule: Runs,
    line: Int32Builder,
    checked_at: TimestampMicrosecondBuilder,
    /// The URL that answers are added to.
    current: Current,
}

#[derive(Debug, Clone, Copy, Default)]
struct Current {
    url: usize,
    origin: Option<usize>,
    checked_at: Option<Timestamp>,
}

/// A rule text that was added to the builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulePlace(usize);

impl DecisionsBuilder {
    /// A builder for these crawlers, in the order in which they were asked for.
    #[must_use]
    pub fn new<'a>(crawlers: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            url: Runs::default(),
            origin: Runs::default(),
            crawler: Words::of(crawlers),
            decision: Words::of(Decision::ALL.iter().map(|decision| decision.as_str())),
            source: Words::of(DecisionSource::ALL.iter().map(|source| source.as_str())),
            group: Words::of(GroupSource::ALL.iter().map(|source| source.as_str())),
            rule: Runs::default(),
            line: Int32Builder::new(),
            checked_at: timestamps(),
            current: Current::default(),
        }
    }

    /// Begins a URL. The answers that follow are about it.
    pub fn url(&mut self, url: &[u8], origin: Option<&str>, checked_at: Option<Timestamp>) {
        self.current = Current {
            url: self.url.add(&of_octets(url)),
            origin: origin.map(|origin| self.origin.add(origin)),
            checked_at,
        };
    }

    /// Adds a rule's text, to be named by the answers that rest on it.
    pub fn rule(&mut self, text: &str) -> RulePlace {
        RulePlace(self.rule.add(text))
    }

    /// Adds the answer for one crawler.
    pub fn answer(&mut self, crawler: usize, answer: &Answer, group: Option<GroupSource>, rule: Option<RulePlace>) {
        self.url.push(Some(self.current.url));
        self.origin.push(self.current.origin);
        self.crawler.push(Some(crawler));
        self.decision.push(Some(answer.decision as usize));
        self.source.push(Some(answer.source as usize));
        self.group.push(group.map(|group| group as usize));
        self.rule.push(rule.map(|rule| rule.0));
        self.line.append_option(answer.hit.map(|hit| u32::from(hit.line).cast_signed()));
        self.checked_at.append_option(self.current.checked_at);
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            self.url.finish(),
            self.origin.finish(),
            self.crawler.finish(),
            self.decision.finish(),
            self.source.finish(),
            self.group.finish(),
            self.rule.finish(),
            Arc::new(self.line.finish()),
            Arc::new(self.checked_at.finish()),
        ];
        column::batch(schema(), columns)
    }
}
