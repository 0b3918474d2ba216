//! Table `bodies`: one row per distinct body, with its octets.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBuilder, Int64Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, OctetsBuilder, hex, text, value};
use super::fetches::BodyHash;
use crate::robots::parse::Robots;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("body_sha256"),
        value("body", DataType::Binary),
        value("octets", DataType::Int64),
        value("lines", DataType::Int64),
        value("records", DataType::Int64),
        value("groups", DataType::Int64),
        value("rules", DataType::Int64),
        value("is_truncated", DataType::Boolean),
    ]))
}

/// Counts of a parsed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyCounts {
    /// Lines read.
    pub lines: i64,
    /// Lines with a colon.
    pub records: i64,
    /// Groups.
    pub groups: i64,
    /// Rules with a value.
    pub rules: i64,
    /// Whether lines behind the size limit of the parser were lost.
    pub is_truncated: bool,
}

impl BodyCounts {
    /// The counts of a parsed body.
    #[must_use]
    pub fn of(robots: &Robots<'_>) -> Self {
        let count = |items: usize| i64::try_from(items).unwrap_or(i64::MAX);
        Self {
            lines: robots.lines.into(),
            records: robots.records.into(),
            groups: count(robots.groups.len()),
            rules: count(robots.rules.len()),
            is_truncated: robots.is_truncated,
        }
    }
}

/// Collects rows into columns.
#[derive(Debug, Default)]
pub struct BodiesBuilder {
    sha256: StringBuilder,
    body: OctetsBuilder,
    octets: Int64Builder,
    counts: [Int64Builder; 4],
    is_truncated: BooleanBuilder,
    held_octets: usize,
}

impl BodiesBuilder {
    /// Adds a row.
    pub fn push(&mut self, hash: &BodyHash, body: &[u8], counts: &BodyCounts) {
        self.sha256.append_value(hex(hash));
        self.body.append_value(body);
        self.octets.append_value(i64::try_from(body.len()).unwrap_or(i64::MAX));
        let BodyCounts { lines, records, groups, rules, is_truncated } = *counts;
        for (column, count) in self.counts.iter_mut().zip([lines, records, groups, rules]) {
            column.append_value(count);
        }
        self.is_truncated.append_value(is_truncated);
        self.held_octets += body.len();
    }

    /// Octets of the bodies added since the last batch.
    #[must_use]
    pub const fn held_octets(&self) -> usize {
        self.held_octets
    }

    /// The rows so far; the builder is empty again.
    #[must_use]
    pub fn finish(&mut self) -> RecordBatch {
        let Self { mut sha256, mut body, mut octets, counts, mut is_truncated, .. } = std::mem::take(self);
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(sha256.finish()), Arc::new(body.finish()), Arc::new(octets.finish())];
        columns.extend(counts.map(|mut column| Arc::new(column.finish()) as ArrayRef));
        columns.push(Arc::new(is_truncated.finish()));
        column::batch(schema(), columns)
    }
}
