//! Where bodies and URLs come in: lists of origins, URL files, folders, snapshots, captures of others, and the network.

pub mod access;
mod body;
pub mod cache;
pub mod captures;
pub mod clock;
mod coding;
pub mod folder;
pub mod history;
#[cfg(feature = "http")]
pub mod http;
pub mod input;
pub(crate) mod json_path;
pub mod mark;
pub(crate) mod packing;
mod redirect;
pub mod rows;
pub mod snapshot;
pub mod time;
pub(crate) mod told;
pub mod warc;

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

/// Runs a step of the Parquet reader, which panics on some damaged files; what it leaves behind is not used again.
pub(crate) fn contained<T>(step: impl FnOnce() -> T) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|_| ParquetError::General("the file is damaged".to_owned()))
}
