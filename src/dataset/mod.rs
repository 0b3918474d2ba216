//! Data sets with a URL column: a decision for each row, every other column untouched.
//!
//! | module | holds |
//! |---|---|
//! | [`snapshots`] | one or several snapshots, opened for look-ups by origin and time |
//! | `bodies` | their bodies: on the disk, compiled when needed, a bounded number of them in memory |
//! | [`time`] | what a row says about its time |
//! | [`columns`] | where the URL of a row stands, and names that clash |
//! | `members` | whether JSON holds what paths lead to |
//! | [`answers`] | a batch of URLs to a batch of answers, grouped by body and put back in order |
//! | [`annotate`] | a batch of rows to the same with columns more: one function for files and streams |
//! | [`keep`] | which rows are kept: a small closed language |
//! | [`shape`] | what an output holds of each row |
//! | [`parquet_file`] | a Parquet file whose columns are copied without being decoded, and others added |
//! | `text_file` | NDJSON and CSV: rows as they stand, with columns put in, or kept and excluded |
//! | `filter` | a Parquet file to its kept and its excluded rows |
//! | `rewrite` | some rows of a column chunk, in its own physical type |
//! | [`job`] | files in, files out: what is finished stays finished |
//! | [`stats`] | rows, octets and weight that are lost, and [`stats_report`] tells them as JSON |
//! | [`stream`] | Arrow IPC in, Arrow IPC out |
//! | [`tally`] | what is counted |
//!
//! Nothing here opens a socket. What is written about a row depends on the row, the snapshots and the plan alone.

pub mod annotate;
pub mod answers;
mod bodies;
pub mod columns;
mod error;
mod filter;
pub mod job;
pub mod keep;
mod members;
pub mod parquet_file;
mod rewrite;
pub mod shape;
pub mod snapshots;
pub mod stats;
pub mod stats_report;
pub mod stream;
pub mod tally;
mod text_file;
pub mod time;

pub use error::DatasetError;
