//! The run: a plan, a source, tables.
//!
//! | module | holds |
//! |---|---|
//! | `collect` | lists and the network to a snapshot (feature `http`) |
//! | [`plan`] | what is asked: crawlers, policy, matching; resolved and validated |
//! | [`compile`] | a body to rule sets for the plan's crawlers, and to its rows |
//! | [`compare`] | where the two modes of matching part, and why |
//! | [`library`] | the compiled bodies, each once |
//! | [`origins`] | what is known of each origin, in a few octets |
//! | [`evaluate`] | a batch of URLs to a batch of decisions |
//! | `describe` | origins to their rows of access and training |
//! | `folder_rows`, `gather` | rows that no table holds yet; work gathered into pieces |
//! | [`ingest`] | captures that others made to a snapshot |
//! | [`explain`] | one file and a few URLs, one by one |
//! | [`preflight`] | may this URL be fetched now? One question, one record of evidence |
//! | [`pipeline`] | work spread over threads, results in order |
//! | [`run`] | a source to all tables |
//! | [`output`] | the files of a run |
//! | [`totals`], [`event`] | what is counted, and what is told while it happens |
//!
//! Data runs one way: source, evaluate, sink. Totals and events go out at the side; nothing goes back.

#[cfg(feature = "http")]
pub mod collect;
pub mod compare;
pub mod compile;
mod describe;
pub mod evaluate;
pub mod event;
pub mod explain;
mod folder_rows;
mod gather;
pub mod ingest;
pub mod library;
pub mod origins;
pub mod output;
pub mod pipeline;
pub mod plan;
pub mod preflight;
pub mod run;
pub mod totals;

use parquet::errors::ParquetError;
use thiserror::Error;

use crate::source::folder::FolderError;
use crate::source::input::InputError;
use crate::source::rows::RowsError;
use crate::source::snapshot::SnapshotError;
use crate::source::warc::WarcError;
use crate::tables::journal::JournalError;
use crate::tables::sink::SinkError;

/// What stops a run. One origin's trouble never does; it is a row.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A list of origins or URLs.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A folder of bodies.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// WARC files.
    #[error(transparent)]
    Warc(#[from] WarcError),
    /// Captures in rows.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Captures and what became of them do not balance: a fault of this program.
    #[error("captures were lost or doubled: {0:?}; this is a fault of robots-audit")]
    Captures(Box<ingest::IngestTotals>),
    /// The output folder.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The journal of a live run.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// An unfinished run that cannot be gone on with.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Resume(#[from] collect::parts::ResumeError),
    /// Somebody asked to stop.
    #[error("interrupted; {rows} rows are kept")]
    Interrupted {
        /// Rows that need not be fetched again.
        rows: u64,
    },
    /// More origins gave no answer than are borne.
    #[error("{failures} origins gave no answer, more than --max-errors bears; {rows} rows are kept")]
    TooManyFailures {
        /// Origins without an answer.
        failures: u64,
        /// Rows that need not be fetched again.
        rows: u64,
    },
    /// The earlier run has changed meanwhile.
    #[error("the earlier run of --reuse no longer holds all bodies that rows name; begin again with --restart")]
    BodiesGone,
    /// Lists that changed while an unfinished run read them, and were put back.
    #[error("the unfinished run holds {rows} rows that its lists do not name; begin again with --restart")]
    ForeignRows {
        /// Rows of no line.
        rows: u64,
    },
    /// Rows that no file can hold.
    #[error("cannot encode rows of decisions")]
    Encode(#[from] ParquetError),
    /// The pool of threads.
    #[error("cannot start the threads")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// A worker stopped in the middle of its work: a fault of this program.
    #[error("a worker stopped in the middle of its work; this is a fault of robots-audit")]
    Worker,
    /// What came in and what went out do not balance: a fault of this program.
    #[error("rows were lost or doubled: {0}; this is a fault of robots-audit")]
    Balance(totals::Imbalance),
}
