//! One text column of a Parquet file, read alone.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::schema::types::SchemaDescriptor;

use super::{CELL_OCTETS, InputError};
use crate::source::contained;
use crate::tables::cause;

/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;

/// What one row holds in the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The value was kept.
    Whole,
    /// The beginning of the value was kept.
    Cut,
    /// There is no value.
    Null,
}

/// The values of one column, from the first row to the last.
pub(super) struct ParquetColumn {
    reader: ParquetRecordBatchReader,
    batch: Option<Batch>,
    /// Row that comes next, 1-based.
    row: i64,
}

struct Batch {
    values: BinaryViewArray,
    /// Also covers the structs that the column lies in.
    nulls: Option<NullBuffer>,
    next: usize,
}

impl ParquetColumn {
    /// Opens the column with this name, or with this dotted path through structs.
    pub(super) fn open(file: File, place: &str, column: &str) -> Result<Self, InputError> {
        let broken = |source| InputError::Parquet { place: place.to_owned(), source: cause::of_parquet(source) };
        // Types as the file has them, not as the writer had them in memory: no dictionaries, no large offsets.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = contained(|| ArrowReaderMetadata::load(&file, options.clone())).and_then(|loaded| loaded);
        let metadata = metadata.map_err(broken)?;
        let path = find(metadata.schema().fields(), column).ok_or_else(|| InputError::MissingColumn {
            place: place.to_owned(),
            column: column.to_owned(),
            columns: names(metadata.schema().fields()),
        })?;
        let fields = with_views(metadata.schema().fields(), &path).map_err(|found| InputError::ColumnType {
            place: place.to_owned(),
            column: column.to_owned(),
            found: found.to_string(),
        })?;
        let options = options.with_schema(Arc::new(Schema::new(fields)));
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options).map_err(broken)?;
        let mask = ProjectionMask::leaves(metadata.parquet_schema(), leaf(metadata.parquet_schema(), &path));
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS);
        let reader = contained(|| builder.build()).and_then(|built| built).map_err(broken)?;
        Ok(Self { reader, batch: None, row: 1 })
    }

    /// The next row, 1-based.
    pub(super) fn next_row(&self) -> i64 {
        self.row
    }

    /// Appends the value of the next row to `out`; `None` at the end.
    pub(super) fn append_next(&mut self, out: &mut Vec<u8>) -> Result<Option<Cell>, ArrowError> {
        loop {
            if let Some(batch) = &mut self.batch
                && let Some(cell) = batch.append_next(out)
            {
                self.row += 1;
                return Ok(Some(cell));
            }
            self.batch = None;
            let reader = &mut self.reader;
            match contained(|| reader.next()).map_err(ArrowError::from)? {
                Some(batch) => self.batch = Some(Batch::new(&batch?)?),
                None => return Ok(None),
            }
        }
    }
}

impl Batch {
    /// Goes down through the structs, of which each has the one child that was asked for.
    fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let mut array: ArrayRef = Arc::clone(batch.column(0));
        let mut nulls = array.nulls().cloned();
        while let Some(parent) = array.as_struct_opt() {
            let child = Arc::clone(parent.column(0));
            nulls = NullBuffer::union(nulls.as_ref(), child.nulls());
            array = child;
        }
        let values = match array.data_type() {
            DataType::Utf8View => array.as_string_view().clone().to_binary_view(),
            DataType::BinaryView => array.as_binary_view().clone(),
            other => return Err(ArrowError::SchemaError(format!("the column is of type {other}"))),
        };
        Ok(Self { values, nulls, next: 0 })
    }

    fn append_next(&mut self, out: &mut Vec<u8>) -> Option<Cell> {
        let index = self.next;
        if index >= self.values.len() {
            return None;
        }
        self.next += 1;
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(index)) {
            return Some(Cell::Null);
        }
        let value = self.values.value(index);
        out.extend_from_slice(&value[..value.len().min(CELL_OCTETS)]);
        Some(if value.len() > CELL_OCTETS { Cell::Cut } else { Cell::Whole })
    }
}

/// The names on the way to a column: the whole name first, then name by name into structs.
fn find(fields: &Fields, column: &str) -> Option<Vec<String>> {
    if let Some(field) = fields.iter().find(|field| field.name() == column) {
        return Some(vec![field.name().clone()]);
    }
    fields.iter().find_map(|field| {
        let rest = column.strip_prefix(field.name().as_str())?.strip_prefix('.')?;
        let DataType::Struct(children) = field.data_type() else { return None };
        let mut path = find(children, rest)?;
        path.insert(0, field.name().clone());
        Some(path)
    })
}

/// The fields with the one at `path` read as a view; its type, where that is not text or octets.
fn with_views(fields: &Fields, path: &[String]) -> Result<Fields, DataType> {
    let Some((name, rest)) = path.split_first() else { return Ok(fields.clone()) };
    let place = fields.iter().position(|field| field.name() == name);
    let changed = fields.iter().enumerate().map(|(index, field)| {
        if Some(index) == place { with_view(field, rest).map(Arc::new) } else { Ok(FieldRef::clone(field)) }
    });
    changed.collect()
}

fn with_view(field: &Field, rest: &[String]) -> Result<Field, DataType> {
    let data_type = match field.data_type() {
        DataType::Struct(children) if !rest.is_empty() => DataType::Struct(with_views(children, rest)?),
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        other => return Err(other.clone()),
    };
    Ok(field.clone().with_data_type(data_type))
}

/// The one leaf of the Parquet schema at `path`.
fn leaf(schema: &SchemaDescriptor, path: &[String]) -> Option<usize> {
    schema.columns().iter().position(|column| column.path().parts() == path)
}

/// The columns that exist, with those inside structs, for messages.
fn names(fields: &Fields) -> String {
    let mut names = Vec::new();
    push_names(fields, "", &mut names);
    super::rows::listed(&names)
}

fn push_names(fields: &Fields, before: &str, names: &mut Vec<String>) {
    for field in fields {
        let name = format!("{before}{}", field.name());
        match field.data_type() {
            DataType::Struct(children) => push_names(children, &format!("{name}."), names),
            _ => names.push(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Int64Array, LargeStringArray, StringArray, StringViewArray, StructArray};
    use arrow::datatypes::Int32Type;
    use parquet::arrow::ArrowWriter;

    use super::*;

    fn file(columns: Vec<(&str, ArrayRef)>) -> File {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
        let batch = batch.expect("a batch");
        let file = tempfile::tempfile().expect("a file");
        let mut writer =
            ArrowWriter::try_new(file.try_clone().expect("a handle"), batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("closed");
        file
    }

    fn values(file: File, column: &str) -> Vec<String> {
        let mut column = match ParquetColumn::open(file, "x.parquet", column) {
            Ok(column) => column,
            Err(error) => return vec![error.to_string()],
        };
        let mut values = Vec::new();
        loop {
            let row = column.next_row();
            let mut value = Vec::new();
            match column.append_next(&mut value).expect("readable") {
                Some(cell) => values.push(format!("{row} {cell:?} {}", String::from_utf8_lossy(&value))),
                None => return values,
            }
        }
    }

    #[test]
    fn every_text_type_gives_the_same_values() {
        let text = [Some("a"), None, Some("")];
        let dictionary: DictionaryArray<Int32Type> = text.into_iter().collect();
        let octets = BinaryViewArray::from(vec![Some(&b"a"[..]), None, Some(b"")]);
        let arrays: [ArrayRef; 5] = [
            Arc::new(StringArray::from(text.to_vec())),
            Arc::new(LargeStringArray::from(text.to_vec())),
            Arc::new(StringViewArray::from(text.to_vec())),
            Arc::new(dictionary),
            Arc::new(octets),
        ];
        for array in arrays {
            let what = array.data_type().to_string();
            let other: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
            assert_eq!(
                values(file(vec![("n", other), ("url", array)]), "url"),
                ["1 Whole a", "2 Null ", "3 Whole "],
                "{what}"
            );
        }
    }

    #[test]
    fn structs_and_their_nulls() {
        let url: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("hidden"), None]));
        let n: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let fields =
            Fields::from(vec![Field::new("n", DataType::Int64, true), Field::new("url", DataType::Utf8, true)]);
        let page: ArrayRef = Arc::new(StructArray::new(fields, vec![n.clone(), url], Some(nulls)));
        let columns = || vec![("n", n.clone()), ("page", page.clone())];
        assert_eq!(values(file(columns()), "page.url"), ["1 Whole a", "2 Null ", "3 Null "]);
        for (column, expected) in [
            ("url", "x.parquet has no column `url` (columns: n, page.n, page.url)"),
            ("page.x", "x.parquet has no column `page.x` (columns: n, page.n, page.url)"),
            ("n", "column `n` of x.parquet is of type Int64, not text"),
            ("page.n", "column `page.n` of x.parquet is of type Int64, not text"),
        ] {
            assert_eq!(values(file(columns()), column), [expected]);
        }
        assert!(values(file(columns()), "page")[0].starts_with("column `page` of x.parquet is of type Struct("));
    }

    #[test]
    fn a_name_with_a_dot_is_found_as_it_is() {
        let url: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        assert_eq!(values(file(vec![("page.url", url)]), "page.url"), ["1 Whole a"]);
    }

    #[test]
    fn long_values_are_cut() {
        let url: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(CELL_OCTETS + 1)]));
        assert_eq!(values(file(vec![("url", url)]), "url"), [format!("1 Cut {}", "a".repeat(CELL_OCTETS))]);
    }
}
