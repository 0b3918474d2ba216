//! Table `training_verdicts`: one row per URL.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{timestamp, value, words};
use super::fetches::Timestamp;
use super::pages::RunSchema;
use super::pages::keys::{NumberColumn, TextColumn, WordColumn};
use super::pages::runs::RunGroup;
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

/// The columns as runs.
///
/// # Panics
/// Never: the columns have types of Parquet.
#[must_use]
pub fn run_schema() -> RunSchema {
    RunSchema::of(schema()).expect("the columns have types of Parquet")
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

/// Collects rows as runs: neighbours often share all but the URL.
#[derive(Debug, Clone)]
pub struct TrainingVerdictsBuilder {
    url: TextColumn,
    origin: TextColumn,
    verdict: WordColumn,
    rule: TextColumn,
    line: NumberColumn<i32>,
    checked_at: NumberColumn<Timestamp>,
    rows: u32,
}

impl Default for TrainingVerdictsBuilder {
    fn default() -> Self {
        Self {
            url: TextColumn::default(),
            origin: TextColumn::default(),
            verdict: WordColumn::of(Preference::ALL.iter().map(|preference| preference.as_str())),
            rule: TextColumn::default(),
            line: NumberColumn::default(),
            checked_at: NumberColumn::default(),
            rows: 0,
        }
    }
}

impl TrainingVerdictsBuilder {
    /// Adds a row.
    pub fn push(&mut self, row: TrainingVerdict<'_>) {
        self.url.push_text(Some(&of_octets(row.url)), 1);
        self.origin.push_text(row.origin, 1);
        self.verdict.push(Some(row.verdict as usize), 1);
        self.rule.push_text(row.rule.map(|(text, _)| text), 1);
        self.line.push(row.rule.map(|(_, line)| line.cast_signed()), 1);
        self.checked_at.push(row.checked_at, 1);
        self.rows += 1;
    }

    /// The rows; the builder is empty then and can be filled again.
    pub fn take(&mut self) -> RunGroup {
        let columns = vec![
            self.url.take(),
            self.origin.take(),
            self.verdict.take(),
            self.rule.take(),
            self.line.take(),
            self.checked_at.take(),
        ];
        RunGroup { columns, rows: std::mem::take(&mut self.rows) }
    }
}
