//! Rows of `fetches` that no table holds yet: those of a folder, and those of origins that only URLs name.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;

use super::evaluate::Added;
use crate::origin::{Origin, Scheme};
use crate::source::folder::FileRow;
use crate::source::input::SeenOrigins;
use crate::tables::fetches::{FetchRow, FetchesBuilder, Observation};

/// Rows of one batch.
pub(super) const BATCH_ROWS: usize = 2_048;

/// The rows of a folder in which each origin is named once: of two files for one origin the first counts.
pub(super) fn distinct(rows: &[FileRow]) -> Vec<&FileRow> {
    let mut seen = HashSet::new();
    rows.iter().filter(|row| row.origin.as_ref().map_or(true, |origin| seen.insert(origin))).collect()
}

/// Whether a file names an origin that no earlier one has named, or none at all.
pub(super) fn is_new(row: &FileRow, seen: &mut SeenOrigins) -> bool {
    row.origin.as_ref().map_or(true, |origin| seen.insert(origin))
}

/// The row of an origin that only a URL names: a folder's file stands for its host under http as well.
pub(super) fn added(added: &Added, files: &HashMap<&Origin, &FileRow>) -> FetchRow {
    let origin = Origin::of_url(added.origin.as_bytes()).ok();
    let as_https = origin.as_ref().map(|origin| origin.with_scheme(Scheme::Https));
    let file = as_https.and_then(|origin| files.get(&origin).copied()).filter(|_| added.entry.class.has_body());
    let observation = file.map_or_else(|| Observation::of_class(added.entry.class, None), FileRow::observation);
    FetchRow { origin, rank: None, input: None, input_line: None, observation }
}

/// Rows in batches.
pub(super) fn batches(mut rows: impl Iterator<Item = FetchRow>) -> impl Iterator<Item = RecordBatch> {
    std::iter::from_fn(move || {
        let mut builder = FetchesBuilder::default();
        rows.by_ref().take(BATCH_ROWS).for_each(|row| builder.push(&row));
        (builder.rows() > 0).then(|| builder.finish())
    })
}
