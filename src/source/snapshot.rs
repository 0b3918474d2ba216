//! A snapshot: the tables `fetches` and `bodies` of an earlier run, read back, and `response_signals` where it has that.
//!
//! A snapshot is opened read-only and may be open many times.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicate, ArrowPredicateFn, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowFilter,
};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::contained;
use crate::robots::access::FetchClass;
use crate::tables::cause::{self, Cause};
use crate::tables::fetches::BodyHash;
use crate::tables::journal::{JournalError, Journaled, Part};
use crate::tables::sink::{self, FORMAT_KEY};
use crate::tables::{FORMAT_VERSION, Table, fetches, response_signals};

/// Rows read at once; bodies are large, so few.
const FETCHES_BATCH_ROWS: usize = 8_192;
const BODIES_BATCH_ROWS: usize = 64;

/// What can go wrong with a snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The folder holds no such table.
    #[error("{} is no snapshot: it has no table {table}", folder.display())]
    NoTable {
        /// The folder.
        folder: PathBuf,
        /// The table.
        table: Table,
    },
    /// A file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is no whole Parquet file.
    #[error("cannot read {} as Parquet", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Cause,
    },
    /// A batch of a file cannot be read.
    #[error("cannot read {} behind row {row}", path.display())]
    Batch {
        /// The file.
        path: PathBuf,
        /// Rows that were read before.
        row: usize,
        /// The cause.
        source: Cause,
    },
    /// The tables are in another format.
    #[error("{} is in format {found}, this version reads {FORMAT_VERSION}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: String,
    },
    /// A column is missing.
    #[error("{} has no column {column}", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A row of `fetches` that this version cannot use: an unknown class, or a body that `bodies` does not hold.
    #[error("fetches, row {row}: {column} is not usable")]
    Row {
        /// 1-based row.
        row: usize,
        /// The column.
        column: &'static str,
    },
    /// The journal of an unfinished run.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A value is not what its column promises.
    #[error("{}, row {row}: {column} is not usable", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// 1-based row.
        row: usize,
        /// The column.
        column: &'static str,
    },
}

/// Bodies that are looked for.
type Wanted = Arc<HashSet<BodyHash>>;

/// A row of `fetches` as far as a run needs it that goes on where another stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneRow {
    /// What was seen.
    pub class: FetchClass,
    /// The origin; `None` for lines that name none.
    pub origin: Option<String>,
    /// The line as given.
    pub input: Option<String>,
    /// Its number.
    pub line: Option<i64>,
    /// The body that the row names.
    pub body: Option<BodyHash>,
}

/// The files of a snapshot.
#[derive(Debug, Clone)]
pub struct Snapshot {
    fetches: Vec<PathBuf>,
    bodies: Vec<PathBuf>,
    /// `None` where the run knew nothing of header fields.
    response_signals: Option<Vec<PathBuf>>,
}

impl Snapshot {
    /// Finds the files of a snapshot and looks into each, so that what is no snapshot is known before work starts.
    /// Of an unfinished run only the parts count that its journal names.
    ///
    /// # Errors
    /// Where a table is missing, or a file cannot be opened or lacks a column.
    pub fn open(folder: &Path) -> Result<Self, SnapshotError> {
        if let Some(journaled) = Journaled::read(folder)? {
            return Self::of_parts(folder, &journaled.parts);
        }
        Self {
            fetches: parts(folder, Table::Fetches)?,
            bodies: parts(folder, Table::Bodies)?,
            response_signals: parts(folder, Table::ResponseSignals).ok(),
        }
        .checked()
    }

    /// The snapshot of some parts alone, as a journal names them.
    ///
    /// # Errors
    /// Where a file cannot be opened or lacks a column.
    pub fn of_parts(folder: &Path, parts: &[Part]) -> Result<Self, SnapshotError> {
        let path = |table, part: &Part| sink::part_path(folder, table, part.part);
        let with_fetches = parts.iter().filter(|part| part.fetches.is_some());
        let with_bodies = parts.iter().filter(|part| part.bodies.is_some());
        let with_signals = parts.iter().filter(|part| part.response_signals.is_some());
        Self {
            fetches: with_fetches.map(|part| path(Table::Fetches, part)).collect(),
            bodies: with_bodies.map(|part| path(Table::Bodies, part)).collect(),
            response_signals: Some(with_signals.map(|part| path(Table::ResponseSignals, part)).collect()),
        }
        .checked()
    }

    fn checked(self) -> Result<Self, SnapshotError> {
        for path in &self.fetches {
            Reader::open(path, &fetches::schema(), FETCHES_BATCH_ROWS, None)?;
        }
        for path in &self.bodies {
            Reader::open(path, &body_columns(), BODIES_BATCH_ROWS, None)?;
        }
        for path in self.response_signals.iter().flatten() {
            Reader::open(path, &response_signals::schema(), FETCHES_BATCH_ROWS, None)?;
        }
        Ok(self)
    }

    /// The rows of `fetches`, in batches with the columns of [`fetches::schema`].
    pub fn fetches(&self) -> impl Iterator<Item = Result<RecordBatch, SnapshotError>> + use<> {
        let batches = batches(self.fetches.clone(), fetches::schema(), FETCHES_BATCH_ROWS, None);
        batches.map(|batch| batch.map(|(batch, ..)| batch))
    }

    /// Whether it has the table of header fields: runs of older versions have not, nor do folders of bodies.
    #[must_use]
    pub const fn has_response_signals(&self) -> bool {
        self.response_signals.is_some()
    }

    /// The rows of `response_signals`, in batches with the columns of [`response_signals::schema`].
    pub fn response_signals(&self) -> impl Iterator<Item = Result<RecordBatch, SnapshotError>> + use<> {
        let paths = self.response_signals.clone().unwrap_or_default();
        let batches = batches(paths, response_signals::schema(), FETCHES_BATCH_ROWS, None);
        batches.map(|batch| batch.map(|(batch, ..)| batch))
    }

    /// The rows of `fetches` with these columns of it alone.
    ///
    /// # Panics
    /// Where the table has no such column.
    pub fn fetches_with(&self, columns: &[&str]) -> impl Iterator<Item = Result<RecordBatch, SnapshotError>> + use<> {
        let schema = fetches::schema();
        let fields = columns.iter().map(|name| schema.field_with_name(name).expect("a column of the table").clone());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        batches(self.fetches.clone(), schema, FETCHES_BATCH_ROWS, None).map(|batch| batch.map(|(batch, ..)| batch))
    }

    /// The bodies with their hashes, in file order.
    pub fn bodies(&self) -> impl Iterator<Item = Result<(BodyHash, Vec<u8>), SnapshotError>> + use<> {
        self.bodies_where(None)
    }

    /// Those of these bodies that the snapshot holds, with their hashes, in file order. The others are not read,
    /// as far as they stand in pages without a wanted one. Rows of errors are counted among the wanted.
    pub fn bodies_named(
        &self,
        wanted: Arc<HashSet<BodyHash>>,
    ) -> impl Iterator<Item = Result<(BodyHash, Vec<u8>), SnapshotError>> + use<> {
        self.bodies_where(Some(wanted))
    }

    fn bodies_where(
        &self,
        wanted: Option<Wanted>,
    ) -> impl Iterator<Item = Result<(BodyHash, Vec<u8>), SnapshotError>> + use<> {
        batches(self.bodies.clone(), body_columns(), BODIES_BATCH_ROWS, wanted).flat_map(|batch| match batch {
            Ok((batch, path, first_row)) => bodies_of(&batch, &path, first_row),
            Err(error) => vec![Err(error)],
        })
    }
}

impl Snapshot {
    /// The hashes of the bodies, without the bodies.
    pub fn body_hashes(&self) -> impl Iterator<Item = Result<BodyHash, SnapshotError>> + use<> {
        let schema = Arc::new(Schema::new(vec![Field::new("body_sha256", DataType::Utf8, true)]));
        batches(self.bodies.clone(), schema, FETCHES_BATCH_ROWS, None).flat_map(|batch| {
            rows(batch, |(batch, path, first_row), row| {
                let hashes = batch.column(0).as_string::<i32>();
                let hash = hashes.is_valid(row).then(|| of_hex(hashes.value(row))).flatten();
                let at = first_row + row + 1;
                hash.ok_or_else(|| SnapshotError::Value { path: path.clone(), row: at, column: "body_sha256" })
            })
        })
    }

    /// The rows of `fetches`, as far as a run needs them that goes on where another stopped.
    pub fn done_rows(&self) -> impl Iterator<Item = Result<DoneRow, SnapshotError>> + use<> {
        let field = |name| Field::new(name, DataType::Utf8, true);
        let names = ["fetch_class", "origin", "input", "body_sha256"];
        let mut fields: Vec<Field> = names.into_iter().map(field).collect();
        fields.push(Field::new("input_line", DataType::Int64, true));
        batches(self.fetches.clone(), Arc::new(Schema::new(fields)), FETCHES_BATCH_ROWS, None).flat_map(|batch| {
            rows(batch, |(batch, path, first_row), row| {
                let text = |column: usize| {
                    let column = batch.column(column).as_string::<i32>();
                    column.is_valid(row).then(|| column.value(row).to_owned())
                };
                let value_error =
                    |column| SnapshotError::Value { path: path.clone(), row: first_row + row + 1, column };
                let lines = batch.column(4).as_primitive::<Int64Type>();
                let class = text(0).and_then(|class| FetchClass::from_name(&class));
                let body = text(3).map(|hash| of_hex(&hash).ok_or_else(|| value_error("body_sha256"))).transpose()?;
                Ok(DoneRow {
                    class: class.ok_or_else(|| value_error("fetch_class"))?,
                    origin: text(1),
                    input: text(2),
                    line: lines.is_valid(row).then(|| lines.value(row)),
                    body,
                })
            })
        })
    }
}

/// Each row of a batch that was read, or the error instead.
fn rows<T>(
    batch: Result<Batch, SnapshotError>,
    read: impl Fn(&Batch, usize) -> Result<T, SnapshotError>,
) -> Vec<Result<T, SnapshotError>> {
    match batch {
        Ok(batch) => (0..batch.0.num_rows()).map(|row| read(&batch, row)).collect(),
        Err(error) => vec![Err(error)],
    }
}

/// Rows with the file that they are of and how many rows of it stand before them.
type Batch = (RecordBatch, PathBuf, usize);

fn body_columns() -> SchemaRef {
    let schema = crate::tables::bodies::schema();
    Arc::new(schema.project(&[0, 1]).expect("the table has two columns"))
}

fn bodies_of(batch: &RecordBatch, path: &Path, first_row: usize) -> Vec<Result<(BodyHash, Vec<u8>), SnapshotError>> {
    let (hashes, bodies) = (batch.column(0).as_string::<i32>(), batch.column(1).as_binary::<i32>());
    let body = |row: usize| {
        let value_error = |column| SnapshotError::Value { path: path.to_owned(), row: first_row + row + 1, column };
        let hash = hashes.is_valid(row).then(|| of_hex(hashes.value(row))).flatten();
        let hash = hash.ok_or_else(|| value_error("body_sha256"))?;
        if bodies.is_null(row) {
            return Err(value_error("body"));
        }
        let body = bodies.value(row);
        if hash != BodyHash::from(Sha256::digest(body)) {
            return Err(value_error("body_sha256"));
        }
        Ok((hash, body.to_vec()))
    };
    (0..batch.num_rows()).map(body).collect()
}

/// A hash from its 64 hexadecimal digits.
#[must_use]
pub fn of_hex(text: &str) -> Option<BodyHash> {
    let mut hash = [0; 32];
    if text.len() != hash.len() * 2 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (octet, digits) in hash.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
        *octet = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(hash)
}

pub(super) fn parts(folder: &Path, table: Table) -> Result<Vec<PathBuf>, SnapshotError> {
    let table_folder = folder.join(table.as_str());
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("part-") && Path::new(name).extension().is_some_and(|ending| ending == "parquet")
    };
    let entries = fs::read_dir(&table_folder).into_iter().flatten().flatten();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_part).collect();
    parts.sort_unstable();
    if parts.is_empty() { Err(SnapshotError::NoTable { folder: folder.to_owned(), table }) } else { Ok(parts) }
}

/// Batches of several files, one after the other, with the file and the rows before each.
fn batches(
    paths: Vec<PathBuf>,
    schema: SchemaRef,
    rows: usize,
    wanted: Option<Wanted>,
) -> impl Iterator<Item = Result<Batch, SnapshotError>> {
    paths.into_iter().flat_map(move |path| match Reader::open(&path, &schema, rows, wanted.as_ref()) {
        Ok(reader) => Box::new(reader) as Box<dyn Iterator<Item = _>>,
        Err(error) => Box::new(std::iter::once(Err(error))),
    })
}

/// One file, its columns cast to a schema.
struct Reader {
    path: PathBuf,
    schema: SchemaRef,
    batches: ParquetRecordBatchReader,
    rows: usize,
}

impl Reader {
    fn open(path: &Path, schema: &SchemaRef, rows: usize, wanted: Option<&Wanted>) -> Result<Self, SnapshotError> {
        let file = File::open(path).map_err(|source| SnapshotError::Open { path: path.to_owned(), source })?;
        let parquet_error =
            |source| SnapshotError::Parquet { path: path.to_owned(), source: cause::of_parquet(source) };
        // Where few rows are wanted, the index tells which pages they stand in.
        let index = if wanted.is_some() { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let options = ArrowReaderOptions::new().with_page_index_policy(index);
        let open = || ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
        let mut builder = contained(open).and_then(|opened| opened).map_err(parquet_error)?;
        if let Some(found) = other_format(builder.metadata()) {
            return Err(SnapshotError::Format { path: path.to_owned(), found });
        }
        let names = schema.fields().iter().map(|field| field.name().as_str());
        for column in names.clone() {
            if builder.schema().column_with_name(column).is_none() {
                return Err(SnapshotError::NoColumn { path: path.to_owned(), column: column.to_owned() });
            }
        }
        let mask = ProjectionMask::columns(builder.parquet_schema(), names);
        if let Some(wanted) = wanted {
            let hashes = ProjectionMask::columns(builder.parquet_schema(), ["body_sha256"]);
            builder = builder.with_row_filter(RowFilter::new(vec![Box::new(row_filter(hashes, Arc::clone(wanted)))]));
        }
        let build = || builder.with_projection(mask).with_batch_size(rows).build();
        let batches = contained(build).and_then(|built| built).map_err(parquet_error)?;
        Ok(Self { path: path.to_owned(), schema: Arc::clone(schema), batches, rows: 0 })
    }

    fn fit(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let column = |field: &Arc<arrow::datatypes::Field>| -> Result<ArrayRef, ArrowError> {
            let found = batch.column_by_name(field.name());
            let found = found.ok_or_else(|| ArrowError::SchemaError(format!("no column {}", field.name())))?;
            cast_to(found, field.data_type())
        };
        let columns = self.schema.fields().iter().map(column).collect::<Result<_, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// The format that a file says it is in, where that is another one.
fn other_format(metadata: &ParquetMetaData) -> Option<String> {
    let facts = metadata.file_metadata().key_value_metadata()?;
    let format = facts.iter().find(|fact| fact.key == FORMAT_KEY)?.value.clone()?;
    (format != FORMAT_VERSION).then_some(format)
}

/// Lets the rows of wanted bodies pass.
fn row_filter(hashes: ProjectionMask, wanted: Wanted) -> impl ArrowPredicate {
    ArrowPredicateFn::new(hashes, move |batch| {
        let hashes = cast_to(batch.column(0), &DataType::Utf8)?;
        let is_wanted = |hash: Option<&str>| hash.and_then(of_hex).is_some_and(|hash| wanted.contains(&hash));
        Ok(hashes.as_string::<i32>().iter().map(|hash| Some(is_wanted(hash))).collect::<BooleanArray>())
    })
}

fn cast_to(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == data_type { Ok(Arc::clone(column)) } else { cast(column, data_type) }
}

impl Iterator for Reader {
    type Item = Result<Batch, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows;
        let batch = contained(|| self.batches.next()).unwrap_or_else(|damage| Some(Err(damage.into())))?;
        let batch = batch.and_then(|batch| self.fit(&batch));
        Some(match batch {
            Ok(batch) => {
                self.rows += batch.num_rows();
                Ok((batch, self.path.clone(), row))
            }
            Err(source) => Err(SnapshotError::Batch { path: self.path.clone(), row, source: cause::of_arrow(source) }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_read_back() {
        let hash: BodyHash = std::array::from_fn(|place| u8::try_from(place * 7).expect("small"));
        assert_eq!(of_hex(&crate::tables::column::hex(&hash)), Some(hash));
        assert_eq!(of_hex("zz"), None);
        assert_eq!(of_hex(&"+1".repeat(32)), None);
    }
}
