//! What can be wrong with a list.

use std::cmp::Ordering;
use std::io;

use crate::tables::cause::Cause;
use crate::tables::sink::SinkError;

use crate::source::json_path::JsonFault;

/// Why a list cannot be read. `place` is the file as given, or `standard input`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The copy of a list that can be read only once cannot be made.
    #[error(transparent)]
    Copy(#[from] SinkError),
    /// An argument that looks like a file and is none.
    #[error("no such file: {place}")]
    NoSuchFile {
        /// The file.
        place: String,
    },
    /// A directory where a list was expected.
    #[error("{place} is a directory, not a list")]
    Directory {
        /// The directory.
        place: String,
    },
    /// `-` more than once.
    #[error("standard input is named twice")]
    StdinTwice,
    /// The file cannot be opened, or its beginning cannot be read.
    #[error("cannot open {place}")]
    Open {
        /// The file.
        place: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The zip archive cannot be read.
    #[error("cannot read the zip archive {place}")]
    Zip {
        /// The file.
        place: String,
        /// Why.
        #[source]
        source: Cause,
    },
    /// The Parquet file cannot be read.
    #[error("cannot read the Parquet file {place}")]
    Parquet {
        /// The file.
        place: String,
        /// Why.
        #[source]
        source: Cause,
    },
    /// A format that is not read, or not there.
    #[error("{place} {fault}")]
    Format {
        /// The file.
        place: String,
        /// What is wrong, as the end of a sentence.
        fault: &'static str,
    },
    /// The column does not exist.
    #[error("{place} has no column `{column}` (columns: {columns})")]
    MissingColumn {
        /// The file.
        place: String,
        /// The column asked for.
        column: String,
        /// The columns that exist.
        columns: String,
    },
    /// The column does not hold text.
    #[error("column `{column}` of {place} is of type {found}, not text")]
    ColumnType {
        /// The file.
        place: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// Reading failed in the middle.
    #[error("cannot read {place} at line {line}")]
    Read {
        /// The file.
        place: String,
        /// The line that was about to be read, 1-based.
        line: i64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Reading a Parquet file failed in the middle.
    #[error("cannot read {place} at row {row} or behind it")]
    ReadRow {
        /// The file.
        place: String,
        /// The first row that was not read, 1-based.
        row: i64,
        /// Why.
        #[source]
        source: Cause,
    },
    /// A list is not what it was when it was read before.
    #[error("{place} changed while it was in use: {}", change(*.rows_before, *.rows_now))]
    Changed {
        /// The file.
        place: String,
        /// Its rows, blank lines and comments among them, when it was read first.
        rows_before: u64,
        /// Its rows so far when the change was noticed.
        rows_now: u64,
    },
    /// One row is broken.
    #[error("line {line} of {place} {fault}")]
    Row {
        /// The file.
        place: String,
        /// The line, 1-based.
        line: i64,
        /// What is wrong.
        fault: RowFault,
    },
}

fn change(before: u64, now: u64) -> String {
    match now.cmp(&before) {
        Ordering::Less => format!("{before} rows at first, then {now}"),
        Ordering::Equal => format!("{before} rows, but not the same ones"),
        Ordering::Greater => format!("{before} rows at first, then more"),
    }
}

/// What is wrong with one row, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFault {
    /// The line is no JSON.
    #[error("is no JSON (see octet {octet})")]
    Json {
        /// 1-based place in the line.
        octet: usize,
    },
    /// The line is JSON, but not an object.
    #[error("is no JSON object")]
    NoObject,
    /// The column holds something else than text.
    #[error("holds no text in the column")]
    NoText,
    /// The line is longer than a JSON line may be.
    #[error("is longer than {limit} octets")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// The row ends before the column.
    #[error("has {found} fields, the column is number {wanted}")]
    Fields {
        /// Fields of the row.
        found: usize,
        /// 1-based place of the column.
        wanted: usize,
    },
    /// A quoted field goes on to the end of the file.
    #[error("opens a quoted field that does not end")]
    Quote,
}

impl From<JsonFault> for RowFault {
    fn from(fault: JsonFault) -> Self {
        match fault {
            JsonFault::Json { octet } => Self::Json { octet },
            JsonFault::NoObject => Self::NoObject,
        }
    }
}
