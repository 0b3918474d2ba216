//! Table `crawler_access` of an earlier run, read back as far as lists need it.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use super::contained;
use super::snapshot::{SnapshotError, parts};
use crate::tables::Table;
use crate::tables::cause;
use crate::tables::crawler_access::Access;

const BATCH_ROWS: usize = 8_192;
const COLUMNS: [&str; 3] = ["origin", "crawler", "access"];

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRow {
    /// The origin.
    pub origin: String,
    /// The crawler, as it was asked for.
    pub crawler: String,
    /// How much is open to it.
    pub access: Access,
}

/// The rows of the table in an output folder, in its order; those of one origin stand together.
///
/// # Errors
/// Where the folder has no such table.
pub fn rows(folder: &Path) -> Result<impl Iterator<Item = Result<AccessRow, SnapshotError>>, SnapshotError> {
    let files = parts(folder, Table::CrawlerAccess)?;
    Ok(files.into_iter().flat_map(|path| match FileRows::open(path) {
        Ok(rows) => Box::new(rows.flatten()) as Box<dyn Iterator<Item = _>>,
        Err(error) => Box::new(std::iter::once(Err(error))),
    }))
}

struct FileRows {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    rows: usize,
}

impl FileRows {
    fn open(path: PathBuf) -> Result<Self, SnapshotError> {
        let file = File::open(&path).map_err(|source| SnapshotError::Open { path: path.clone(), source })?;
        let open = || -> Result<_, ParquetError> {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
            let missing = COLUMNS.into_iter().find(|name| builder.schema().column_with_name(name).is_none());
            let mask = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
            Ok((builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()?, missing))
        };
        match contained(open).and_then(|opened| opened) {
            Ok((batches, None)) => Ok(Self { path, batches, rows: 0 }),
            Ok((_, Some(column))) => Err(SnapshotError::NoColumn { path, column: column.to_owned() }),
            Err(source) => Err(SnapshotError::Parquet { path, source: cause::of_parquet(source) }),
        }
    }

    fn rows_of(&self, batch: &RecordBatch) -> Result<Vec<Result<AccessRow, SnapshotError>>, ArrowError> {
        let column = |name: &str| {
            let column = batch.column_by_name(name).expect("looked for when the file was opened");
            cast(column, &DataType::Utf8)
        };
        let columns = [column(COLUMNS[0])?, column(COLUMNS[1])?, column(COLUMNS[2])?];
        let row =
            |row: usize| {
                let [origin, crawler, access] = columns.each_ref().map(|column| {
                    let column = column.as_string::<i32>();
                    column.is_valid(row).then(|| column.value(row))
                });
                // A line that names no origin has no row to be listed.
                let origin = origin?;
                let value_error =
                    |column| SnapshotError::Value { path: self.path.clone(), row: self.rows + row + 1, column };
                let access = access.and_then(Access::from_name).ok_or_else(|| value_error("access"));
                let crawler = crawler.ok_or_else(|| value_error("crawler"));
                Some(access.and_then(|access| {
                    Ok(AccessRow { origin: origin.to_owned(), crawler: crawler?.to_owned(), access })
                }))
            };
        Ok((0..batch.num_rows()).filter_map(row).collect())
    }
}

impl Iterator for FileRows {
    type Item = Vec<Result<AccessRow, SnapshotError>>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = contained(|| self.batches.next()).unwrap_or_else(|damage| Some(Err(damage.into())))?;
        let rows = batch.and_then(|batch| Ok((self.rows_of(&batch)?, batch.num_rows())));
        Some(match rows {
            Ok((rows, read)) => {
                self.rows += read;
                rows
            }
            Err(source) => vec![Err(SnapshotError::Batch {
                path: self.path.clone(),
                row: self.rows,
                source: cause::of_arrow(source),
            })],
        })
    }
}
