//! What stops work on a data set. A row without a usable URL never does, unless it was asked to.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use thiserror::Error;

use super::keep::KeepError;
use crate::audit::AuditError;
use crate::audit::origins::RowFault;
use crate::source::input::RowFault as LineFault;
use crate::source::snapshot::SnapshotError;
use crate::tables::cause::Cause;
use crate::tables::sink::SinkError;

/// Why a data set cannot be annotated or filtered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// A snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A row of a snapshot.
    #[error("fetches of a snapshot, row {} of a batch: {} is not usable", .0.row + 1, .0.column)]
    SnapshotRow(RowFault),
    /// The bodies on the disk.
    #[error("cannot keep the bodies of the snapshots in {}", folder.display())]
    Spool {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A body cannot be read back.
    #[error("cannot read a body of the snapshots back")]
    Body(#[source] io::Error),
    /// A file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is no whole Parquet file.
    #[error("cannot read {} as Parquet", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Cause,
    },
    /// Rows of a file cannot be read.
    #[error("cannot read rows of {}", path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Cause,
    },
    /// A text file is of a kind that is not read.
    #[error("the file {fault}")]
    Text {
        /// What is wrong, as the end of a sentence.
        fault: &'static str,
    },
    /// Text that cannot be read to its end.
    #[error("cannot read on behind line {line}")]
    ReadText {
        /// 1-based.
        line: u64,
        /// The cause.
        source: io::Error,
    },
    /// A line that is no row.
    #[error("line {line} {fault}")]
    Line {
        /// 1-based.
        line: u64,
        /// What is wrong.
        fault: LineFault,
    },
    /// A record that does not fit the header.
    #[error("line {line} has {found} fields, the header {wanted}")]
    FieldCount {
        /// 1-based.
        line: u64,
        /// Fields of the record.
        found: usize,
        /// Fields of the header.
        wanted: usize,
    },
    /// The same error, of a line.
    #[error("in line {line}")]
    AtLine {
        /// 1-based.
        line: u64,
        /// What happened there.
        source: Box<DatasetError>,
    },
    /// The stream cannot be read or written.
    #[error("cannot {verb} the Arrow stream")]
    Stream {
        /// Read or write.
        verb: &'static str,
        /// The cause.
        source: Cause,
    },
    /// Columns that do not fit together: a fault of this program.
    #[error("cannot build the columns")]
    Columns(#[from] ArrowError),
    /// A column is not there.
    #[error("there is no column `{column}` (columns: {columns})")]
    MissingColumn {
        /// What was asked for.
        column: String,
        /// What there is.
        columns: String,
    },
    /// JSON in a column lacks what was asked for, in all of the first rows.
    #[error("there is no `{column}` in the first {rows} rows (the first with text has {instead})")]
    MissingMember {
        /// What was asked for.
        column: String,
        /// Rows that were looked at.
        rows: usize,
        /// What the first of them has instead.
        instead: String,
    },
    /// A column is not of a usable type.
    #[error("column `{column}` is of type {found}, not {wanted}")]
    ColumnType {
        /// The column.
        column: String,
        /// Its type.
        found: String,
        /// What was expected.
        wanted: &'static str,
    },
    /// Pages that cannot be unpacked.
    #[error(
        "column `{column}` is packed with {codec}, which is not read (snappy, gzip, brotli, lz4, lz4_raw and zstd are)"
    )]
    Codec {
        /// The column.
        column: String,
        /// Its codec.
        codec: String,
    },
    /// Ids and URLs from two places under one name.
    #[error(
        "the ids of `{id_column}` and the URLs of `{url_column}` would both be called `url`; choose another --id-column, \
         or leave it out for the number of the row"
    )]
    IdNamedUrl {
        /// Where the ids stand.
        id_column: String,
        /// Where the URLs stand.
        url_column: String,
    },
    /// A column that would be added is there already.
    #[error("there is a column `{found}` already, which `{added}` would clash with; give another --prefix")]
    Clash {
        /// The column that would be added.
        added: String,
        /// The one that is there.
        found: String,
    },
    /// Two columns of one name would be added.
    #[error(
        "two columns `{name}` would be added (in names of columns the crawler * is called star, and case is not looked at); \
         leave one of the two crawlers out of --crawlers, or ask for it in a run of its own"
    )]
    AddedTwice {
        /// The name.
        name: String,
    },
    /// A row has no usable URL, and that was not to be borne.
    #[error("row {row} has no usable URL ({why})")]
    BadUrl {
        /// 1-based.
        row: u64,
        /// Why.
        why: &'static str,
    },
    /// A row has no usable time, and that was not to be borne.
    #[error("row {row}: its time {why}, so that no capture counts")]
    BadTime {
        /// 1-based.
        row: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A row's origin is in no snapshot, and that was not to be borne.
    #[error("row {row}: no snapshot holds the origin of {url}")]
    NotCollected {
        /// 1-based.
        row: u64,
        /// The URL.
        url: String,
    },
    /// The same error, of a file.
    #[error("in {}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What happened there.
        source: Box<DatasetError>,
    },
    /// What to keep.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// The output would be the input.
    #[error("{} would be written over itself; choose another output folder", path.display())]
    OverItself {
        /// The file.
        path: PathBuf,
    },
    /// Kept and excluded rows in one folder.
    #[error("kept and excluded rows would both go to {}", path.display())]
    OneFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The report of what is lost under a name of data.
    #[error("{} has a name of data files; choose another one for --stats", path.display())]
    StatsOverData {
        /// The file.
        path: PathBuf,
    },
    /// Two inputs with one name.
    #[error("{} and {} would both become {name} in the output folder", first.display(), second.display())]
    SameName {
        /// One.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The name.
        name: String,
    },
    /// An input without a name.
    #[error("{} names no file", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// A finished file that something else made.
    #[error("{} is there already, and is not what would be written now; give --overwrite, or another output folder", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// An output file.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The threads.
    #[error(transparent)]
    Work(#[from] AuditError),
    /// Rows were lost or doubled: a fault of this program.
    #[error("{rows_in} rows in, {rows_out} out; this is a fault of robots-audit")]
    Balance {
        /// Rows of the input.
        rows_in: u64,
        /// Rows of the outputs.
        rows_out: u64,
    },
}

impl DatasetError {
    /// The error, told with the file that it is of.
    #[must_use]
    pub fn of_file(self, path: &std::path::Path) -> Self {
        Self::In { path: path.to_owned(), source: Box::new(self) }
    }

    /// The error itself, without the file and the line that it is of.
    #[must_use]
    pub fn itself(&self) -> &Self {
        match self {
            Self::In { source, .. } | Self::AtLine { source, .. } => source.itself(),
            other => other,
        }
    }
}
