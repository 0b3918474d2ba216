//! Parquet pages from runs: the writer of tables whose columns hold the same value over many rows.
//!
//! Within a URL the crawlers of one rule set share decision, source, group, rule and line, and the URL and its origin
//! stand in all of its rows. A writer that looks at each row spends nearly all of its time finding that out. Here the
//! caller says so: a column of a row group is a dictionary of [`values`](runs::Values) and
//! [`runs`](runs::Run) of places in it, and both pages and statistics are made from those. What results is an ordinary
//! Parquet file with the same rows, statistics, page index and bloom filter as the ordinary writer's.
//!
//! - [`runs`]: a row group as dictionaries and runs.
//! - [`keys`]: how a builder collects them, each distinct value once.
//! - `cut`: runs cut at the ends of pages.
//! - `hybrid`: the format's RLE/bit-packing hybrid, fed with runs.
//! - `extremes`: smallest and largest values of pages and chunks, and how they are cut for statistics.
//! - `chunk`: one column of a row group, complete with its metadata.
//! - [`mod@file`]: the file that row groups are added to.
//!
//! [`encode`] is plain computation: row groups may be encoded on many threads and then added in their order. The other
//! tables, whose rows have little in common, are written by the `parquet` crate's Arrow writer.

mod chunk;
mod cut;
mod extremes;
pub mod file;
mod hybrid;
pub mod keys;
pub mod runs;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};

use self::chunk::{Chunk, Compressor};
use self::runs::RunGroup;

/// The column that gets a bloom filter.
const FILTERED_COLUMN: &str = "origin";

/// The columns of a table of runs. All of them may be null, and none is nested.
#[derive(Debug, Clone)]
pub struct RunSchema {
    arrow: SchemaRef,
    parquet: SchemaDescPtr,
}

impl RunSchema {
    /// The layout that the ordinary writer would choose for a schema.
    ///
    /// # Errors
    /// A type that Parquet does not have.
    pub fn of(arrow: SchemaRef) -> Result<Self, ParquetError> {
        let parquet: SchemaDescriptor = ArrowSchemaConverter::new().convert(&arrow)?;
        Ok(Self { arrow, parquet: Arc::new(parquet) })
    }

    /// The columns as Arrow sees them.
    #[must_use]
    pub const fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }
}

/// A row group, ready to be added to a file.
pub struct EncodedRowGroup {
    rows: u64,
    chunks: Vec<Chunk>,
}

impl EncodedRowGroup {
    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Octets of its pages.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.octets.len()).sum()
    }
}

impl std::fmt::Debug for EncodedRowGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodedRowGroup")
            .field("rows", &self.rows)
            .field("octets", &self.octets())
            .finish_non_exhaustive()
    }
}

/// Encodes a row group: complete column chunks with statistics, page index and bloom filter.
///
/// # Errors
/// Columns that are not those of the schema, have not the same number of rows, or name a value that they do not hold;
/// a value too large for a page.
pub fn encode(schema: &RunSchema, group: &RunGroup) -> Result<EncodedRowGroup, ParquetError> {
    if group.rows == 0 {
        return Ok(EncodedRowGroup { rows: 0, chunks: Vec::new() });
    }
    if group.columns.len() != schema.parquet.num_columns() {
        return Err(fault(&format!("{} columns for {}", group.columns.len(), schema.parquet.num_columns())));
    }
    let mut compressor = Compressor::new()?;
    let columns = schema.parquet.columns().iter().zip(&group.columns);
    let chunks = columns.map(|(descriptor, column)| {
        column
            .check(descriptor.physical_type(), group.rows)
            .map_err(|what| fault(&format!("{}: {what}", descriptor.name())))?;
        chunk::encode(descriptor, column, group.rows, descriptor.name() == FILTERED_COLUMN, &mut compressor)
    });
    Ok(EncodedRowGroup { rows: u64::from(group.rows), chunks: chunks.collect::<Result<_, _>>()? })
}

fn fault(what: &str) -> ParquetError {
    ParquetError::General(format!("a row group of runs does not hold together: {what}"))
}
