//! Rows of a Parquet file, of which the columns asked for are read alone.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::status::STATUS;
use super::{Chosen, Row, Rows, RowsError};
use crate::source::contained;
use crate::source::time;
use crate::source::told::Told;

/// Rows decoded at once; bodies are large, so few.
const BATCH_ROWS: usize = 8_192;
const BATCH_ROWS_WITH_BODIES: usize = 64;

/// The names of all columns, those inside structs with dots.
pub(super) fn columns(path: &Path, file: &File) -> Result<Vec<String>, RowsError> {
    let builder = open(path, file)?;
    Ok(builder.parquet_schema().columns().iter().map(|column| column.path().string()).collect())
}

fn open(path: &Path, file: &File) -> Result<ParquetRecordBatchReaderBuilder<File>, RowsError> {
    let parquet_error = |source| RowsError::Parquet { path: path.to_owned(), source };
    let file = file.try_clone().map_err(|source| RowsError::Open { path: path.to_owned(), source })?;
    contained(|| ParquetRecordBatchReaderBuilder::try_new(file)).and_then(|opened| opened).map_err(parquet_error)
}

/// The rows of a file.
pub(super) fn rows(path: &Path, file: &File, columns: &Chosen, with_bodies: bool) -> Result<Rows, RowsError> {
    let builder = open(path, file)?;
    let mut names = vec![columns.url.as_str()];
    names.extend(with_bodies.then_some(columns.body.as_str()));
    names.extend(columns.status.as_deref());
    names.extend(columns.time.as_deref());
    let mask = ProjectionMask::columns(builder.parquet_schema(), names);
    let rows = if with_bodies { BATCH_ROWS_WITH_BODIES } else { BATCH_ROWS };
    let build = || builder.with_projection(mask).with_batch_size(rows).build();
    let reader = contained(build).and_then(|built| built);
    let reader = reader.map_err(|source| RowsError::Parquet { path: path.to_owned(), source })?;
    let batches = Batches { path: path.to_owned(), reader, columns: columns.clone(), with_bodies, rows: 0 };
    Ok(Box::new(batches.flat_map(|batch| match batch {
        Ok(rows) => rows.into_iter().map(|row| Ok(Some(row))).collect::<Vec<_>>(),
        Err(error) => vec![Err(error)],
    })))
}

struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    columns: Chosen,
    with_bodies: bool,
    rows: u64,
}

impl Iterator for Batches {
    type Item = Result<Vec<Row>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = contained(|| self.reader.next()).unwrap_or_else(|damage| Some(Err(damage.into())))?;
        let rows = batch.and_then(|batch| self.rows_of(&batch));
        Some(match rows {
            Ok(rows) => {
                self.rows += rows.len() as u64;
                Ok(rows)
            }
            Err(source) => Err(RowsError::Batch { path: self.path.clone(), row: self.rows + 1, source }),
        })
    }
}

impl Batches {
    fn rows_of(&self, batch: &RecordBatch) -> Result<Vec<Row>, ArrowError> {
        let optional = |name: &Option<String>| name.as_deref().map(|name| column(batch, name)).transpose();
        let urls = cast(&column(batch, &self.columns.url)?, &DataType::Binary)?;
        let body = self.with_bodies.then(|| column(batch, &self.columns.body)).transpose()?;
        let body = body.map(|body| cast(&body, &DataType::Binary)).transpose()?;
        let status = optional(&self.columns.status)?.map(|status| STATUS.of_column(&status)).transpose()?;
        let time = optional(&self.columns.time)?.map(|time| time::of_column(&time)).transpose()?;
        let octets = |column: &ArrayRef, row: usize| {
            let column = column.as_binary::<i32>();
            column.is_valid(row).then(|| column.value(row).to_vec())
        };
        let row = |row: usize| Row {
            url: octets(&urls, row),
            body: body.as_ref().and_then(|body| octets(body, row)),
            status: status.as_ref().map_or(Told::Nothing, |status| status[row]),
            time: time.as_ref().map_or(Told::Nothing, |times| times[row]),
        };
        Ok((0..batch.num_rows()).map(row).collect())
    }
}

/// The column with this name, or the one that it leads to through structs.
fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef, ArrowError> {
    if let Some(column) = batch.column_by_name(name) {
        return Ok(plain(column));
    }
    let none = || ArrowError::SchemaError(format!("no column {name}"));
    let mut steps = name.split('.');
    let mut found = Arc::clone(steps.next().and_then(|step| batch.column_by_name(step)).ok_or_else(none)?);
    for step in steps {
        let parent = found.as_struct_opt().ok_or_else(none)?;
        let child = parent.column_by_name(step).ok_or_else(none)?;
        // A row without the struct has no value in it either.
        let hidden = arrow::compute::is_null(parent)?;
        found = arrow::compute::nullif(child, &hidden)?;
    }
    Ok(plain(&found))
}

/// Dictionaries undone, since they cannot be cast to everything.
fn plain(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values).unwrap_or_else(|_| Arc::clone(column)),
        _ => Arc::clone(column),
    }
}
