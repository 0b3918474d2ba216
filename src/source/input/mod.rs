//! Lists that a run starts from: origins and URLs, in text, CSV, NDJSON or Parquet, plain or compressed.
//!
//! `open` recognises formats, `lines`, `delimited` and `columns` read one format each, `rows` makes them one; `origins` and
//! `urls` are what others use. `spool` keeps what can be read only once, `contents` notices a list that changes between two
//! readings. Packings are undone by `packing`, values of JSON found by `json_path`. Everything is read as a stream: memory
//! does not grow with the file.

mod columns;
mod contents;
mod delimited;
mod distinct;
mod error;
mod lines;
mod open;
mod origins;
mod rows;
mod spool;
mod urls;
mod zipped;

pub use contents::Contents;
pub use distinct::{Distinct, ListCounts, SeenOrigins};
pub use error::{InputError, RowFault};
pub use origins::{INPUT_OCTETS, OriginInputs, OriginItem, OriginLine};
pub use spool::Spooled;
pub use urls::{URL_BATCH_OCTETS, URL_BATCH_ROWS, UrlBatch, UrlCounts, UrlInputs};

#[cfg(test)]
mod tests;

/// Octets of the longest line or cell that is taken as one; of a longer one only this much is kept.
pub const CELL_OCTETS: usize = 64 * 1024;

/// Whether a list is JSON by its first octet: no URL and no name begins with a brace.
fn looks_like_json(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"{")
}

/// What to say of a JSON array, which could only be read whole.
fn json_array_fault(head: &[u8]) -> Option<&'static str> {
    let rest = head.trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
    matches!(rest.first(), Some(b'{' | b'"')).then_some("is a JSON array; NDJSON, with an object a line, is read only")
}
