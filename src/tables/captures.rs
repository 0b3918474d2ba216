//! Table `captures`: where the rows of a snapshot were taken over from, and what could not be read there.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Builder, RecordBatch, StringBuilder, TimestampMicrosecondBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Words, text, timestamp, value, words};
use super::fetches::Timestamp;
use crate::robots::access::names;

names! {
    /// What became of what stands in a file.
    pub enum Use {
        /// It is the newest of its origin: a row of `fetches` comes from it.
        Row => "row",
        /// It is damaged and was passed over.
        Damaged => "damaged",
        /// Its time cannot be read: it serves, as older than all others.
        Undated => "undated",
    }
}

names! {
    /// What is wrong with what was passed over.
    pub enum Fault {
        /// The compression cannot be undone, or a check sum is wrong.
        Compression => "compression",
        /// The octets end before the record does.
        CutOff => "cut_off",
        /// No record begins here, or its head is longer than may be.
        Head => "head",
        /// The record tells no length, or a wrong one.
        Length => "length",
        /// The record is longer than may be.
        TooLong => "too_long",
        /// A compressed member goes on behind its record.
        SecondRecord => "second_record",
        /// A capture names no URL that can be read.
        Target => "target",
        /// A row cannot be read.
        Row => "row",
        /// The status of a row is none.
        Status => "status",
        /// The time of a capture cannot be read.
        Time => "time",
    }
}

/// How often each fault was met, in the order of [`Fault::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts([u64; Fault::ALL.len()]);

impl FaultCounts {
    /// Counts a fault.
    pub const fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Adds those of another file.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// How often one was met.
    #[must_use]
    pub const fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// What was passed over: all but those that serve without their time.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.total() - self.of(Fault::Time)
    }

    /// All faults.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureRow {
    /// The origin, where one is known.
    pub origin: Option<String>,
    /// The URL as the file names it.
    pub target_uri: Option<String>,
    /// When the capture was made.
    pub capture_time: Option<Timestamp>,
    /// What became of it.
    pub used_as: Use,
    /// Captures of the origin's robots.txt, older ones among them.
    pub captures: Option<i64>,
    /// The file, as given.
    pub file: String,
    /// Where in the file it begins: the octet, or the 1-based row.
    pub place: i64,
    /// What is wrong with it.
    pub fault: Option<Fault>,
}

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("origin"),
        text("target_uri"),
        timestamp("capture_time"),
        words("used_as"),
        value("n_captures", DataType::Int64),
        text("file"),
        value("place", DataType::Int64),
        words("fault"),
    ]))
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct CapturesBuilder {
    origin: StringBuilder,
    target_uri: StringBuilder,
    capture_time: TimestampMicrosecondBuilder,
    used_as: Words,
    captures: Int64Builder,
    file: StringBuilder,
    place: Int64Builder,
    fault: Words,
    rows: usize,
}

impl Default for CapturesBuilder {
    fn default() -> Self {
        Self {
            origin: StringBuilder::new(),
            target_uri: StringBuilder::new(),
            capture_time: column::timestamps(),
            used_as: Words::of(Use::ALL.iter().map(|used_as| used_as.as_str())),
            captures: Int64Builder::new(),
            file: StringBuilder::new(),
            place: Int64Builder::new(),
            fault: Words::of(Fault::ALL.iter().map(|fault| fault.as_str())),
            rows: 0,
        }
    }
}

impl CapturesBuilder {
    /// Adds a row.
    pub fn push(&mut self, row: &CaptureRow) {
        self.rows += 1;
        self.origin.append_option(row.origin.as_deref());
        self.target_uri.append_option(row.target_uri.as_deref());
        self.capture_time.append_option(row.capture_time);
        self.used_as.push(Some(row.used_as as usize));
        self.captures.append_option(row.captures);
        self.file.append_value(&row.file);
        self.place.append_value(row.place);
        self.fault.push(row.fault.map(|fault| fault as usize));
    }

    /// Rows added since the last batch.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The rows so far; the builder is empty again.
    #[must_use]
    pub fn finish(&mut self) -> RecordBatch {
        let Self {
            mut origin,
            mut target_uri,
            mut capture_time,
            used_as,
            mut captures,
            mut file,
            mut place,
            fault,
            ..
        } = std::mem::take(self);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(origin.finish()),
            Arc::new(target_uri.finish()),
            Arc::new(capture_time.finish()),
            used_as.finish(),
            Arc::new(captures.finish()),
            Arc::new(file.finish()),
            Arc::new(place.finish()),
            fault.finish(),
        ];
        column::batch(schema(), columns)
    }
}
