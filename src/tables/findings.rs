//! Table `findings`: one row per finding of a distinct body.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Runs, Words, hex, text, value, words};
use super::fetches::BodyHash;
use super::text::of_octets_cut;
use crate::robots::finding::{Code, Finding, Severity};

/// Octets kept of the text that a finding is about.
pub const RAW_OCTETS: usize = 256;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("body_sha256"),
        value("line", DataType::Int32),
        words("code"),
        words("severity"),
        words("message"),
        text("raw"),
    ]))
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct FindingsBuilder {
    sha256: Runs,
    line: Int32Builder,
    code: Words,
    severity: Words,
    message: Words,
    raw: StringBuilder,
    /// Place of the current body's hash.
    body: usize,
}

impl Default for FindingsBuilder {
    fn default() -> Self {
        Self {
            sha256: Runs::default(),
            line: Int32Builder::new(),
            code: Words::of(Code::ALL.iter().map(|code| code.as_str())),
            severity: Words::of(Severity::ALL.iter().map(|severity| severity.as_str())),
            message: Words::of(Code::ALL.iter().map(|code| code.message())),
            raw: StringBuilder::new(),
            body: 0,
        }
    }
}

impl FindingsBuilder {
    /// Begins a body. The findings that follow are about it.
    pub fn body(&mut self, hash: &BodyHash) {
        self.body = self.sha256.add(&hex(hash));
    }

    /// Adds a finding of the current body.
    pub fn push(&mut self, finding: &Finding<'_>) {
        self.sha256.push(Some(self.body));
        self.line.append_value(u32::from(finding.line).cast_signed());
        self.code.push(Some(finding.code as usize));
        self.severity.push(Some(finding.code.severity() as usize));
        self.message.push(Some(finding.code as usize));
        self.raw.append_value(of_octets_cut(finding.raw, RAW_OCTETS));
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            self.sha256.finish(),
            Arc::new(self.line.finish()),
            self.code.finish(),
            self.severity.finish(),
            self.message.finish(),
            Arc::new(self.raw.finish()),
        ];
        column::batch(schema(), columns)
    }
}
