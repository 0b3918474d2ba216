//! Table `training_verdicts`: one row per URL.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, RecordBatch, TimestampMicrosecondBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Runs, Words, timestamp, timestamps, value, words};
use super::fetches::Timestamp;
use super::text::of_octets;
use crate::signals::training::Preference;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("url"),
        words("origin"),
        words("verdict"),
        words("matched_rule"),
        value("rule_line", DataType::Int32),
        timestamp("checked_at"),
    ]))
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct TrainingVerdict<'a> {
    /// The URL as given.
    pub url: &'a [u8],
    /// Its origin.
    pub origin: Option<&'a str>,
    /// The preference.
    pub verdict: Preference,
    /// The rule that decided, and its line.
    pub rule: Option<(&'a str, u32)>,
    /// When the answer was fetched.
    pub checked_at: Option<Timestamp>,
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct TrainingVerdictsBuilder {
    url: Runs,
    origin: Runs,
    verdict: Words,
    rule: Runs,
    line: Int32Builder,
    checked_at: TimestampMicrosecondBuilder,
}

impl Default for TrainingVerdictsBuilder {
    fn default() -> Self {
        Self {
            url: Runs::default(),
            origin: Runs::default(),
            verdict: Words::of(Preference::ALL.iter().map(|preference| preference.as_str())),
            rule: Runs::default(),
            line: Int32Builder::new(),
            checked_at: timestamps(),
        }
    }
}

impl TrainingVerdictsBuilder {
    /// Adds a row.
    pub fn push(&mut self, row: TrainingVerdict<'_>) {
        let url = self.url.add(&of_octets(row.url));
        self.url.push(Some(url));
        let origin = row.origin.map(|origin| self.origin.add(origin));
        self.origin.push(origin);
        self.verdict.push(Some(row.verdict as usize));
        let rule = row.rule.map(|(text, _)| self.rule.add(text));
        self.rule.push(rule);
        self.line.append_option(row.rule.map(|(_, line)| line.cast_signed()));
        self.checked_at.append_option(row.checked_at);
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            self.url.finish(),
            self.origin.finish(),
            self.verdict.finish(),
            self.rule.finish(),
            Arc::new(self.line.finish()),
            Arc::new(self.checked_at.finish()),
        ];
        column::batch(schema(), columns)
    }
}
