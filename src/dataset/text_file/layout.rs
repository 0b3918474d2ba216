//! Where in the records of a file the URL and the time stand, and what its header says.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewBuilder, RecordBatch};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::cells;
use super::format::{Syntax, TextInput};
use super::records::{Batch, Reader, Record, body, fields, unquoted};
use crate::dataset::DatasetError;
use crate::dataset::annotate::{Annotator, AsOf, Sources};
use crate::dataset::columns::{ColumnPath, check_free};
use crate::source::json_path::{self, Found, append_value};
use crate::tables::text::of_octets;

/// Rows of NDJSON in one of which the URL has to stand, or its path is taken for wrong.
const PATH_ROWS: usize = 1000;

/// How the records of a file are read and written.
pub(super) struct Layout {
    pub(super) cut: Cut,
    /// Columns that are added to some output.
    pub(super) added: Vec<Field>,
    pub(super) sources: Sources,
    schema: SchemaRef,
}

/// What a record is.
pub(super) enum Cut {
    /// An object; values stand at these paths.
    Object { paths: Vec<String> },
    /// So many fields; values stand in those of these places.
    Fields { delimiter: u8, count: usize, places: Vec<usize> },
}

/// A file, opened up to its first row.
pub(super) struct Opened {
    pub(super) layout: Layout,
    pub(super) reader: Reader,
    /// The byte order mark, where there is one.
    mark: &'static [u8],
    header: Vec<u8>,
}

impl Opened {
    /// Opens a file, of which rows get these columns more.
    pub(super) fn of(input: &TextInput, annotator: &Annotator, added: Vec<Field>) -> Result<Self, DatasetError> {
        let (stream, mark) = input.open()?;
        let mut reader = Reader::new(stream);
        let (layout, header) = match input.syntax {
            Syntax::Ndjson => (Layout::of_objects(annotator, added)?, Vec::new()),
            Syntax::Csv | Syntax::Tsv => {
                let given = (input.syntax == Syntax::Tsv).then_some(b'\t');
                let (header, delimiter) = reader.header(given)?;
                (Layout::of_header(&header, delimiter, annotator, added)?, header)
            }
        };
        Ok(Self { layout, reader, mark, header })
    }

    /// What an output begins with, when rows get these columns more.
    pub(super) fn beginning(&self, added: &[Field]) -> Vec<u8> {
        let mut beginning = self.mark.to_vec();
        let Cut::Fields { delimiter, .. } = self.layout.cut else { return beginning };
        let names = body(&self.header);
        beginning.extend_from_slice(names);
        for field in added {
            beginning.push(delimiter);
            cells::append_field(field.name(), delimiter, &mut beginning);
        }
        beginning.extend_from_slice(&self.header[names.len()..]);
        beginning
    }

    /// Whether the URL stands where it is looked for: in NDJSON, in any of the first rows.
    pub(super) fn check(mut self) -> Result<(), DatasetError> {
        let Cut::Object { paths } = &self.layout.cut else { return Ok(()) };
        let (mut line, mut value, mut first) = (Vec::new(), Vec::new(), None);
        for _ in 0..PATH_ROWS {
            line.clear();
            value.clear();
            // What is wrong with a line is told when its turn comes.
            let Ok(Some(_)) = self.reader.next_record(&mut line) else { break };
            match append_value(&line, &paths[0], &mut value) {
                Ok(Found::Missing) => first = first.or_else(|| Some(json_path::keys(&line).join(", "))),
                Ok(_) => return Ok(()),
                Err(_) => {}
            }
        }
        match first {
            Some(columns) => Err(DatasetError::MissingColumn { column: paths[0].clone(), columns }),
            None => Ok(()),
        }
    }
}

impl Layout {
    fn of_objects(annotator: &Annotator, added: Vec<Field>) -> Result<Self, DatasetError> {
        let settings = annotator.settings();
        let mut paths = vec![settings.url_column.clone()];
        if let AsOf::Column(column) = &settings.as_of
            && *column != settings.url_column
        {
            paths.push(column.clone());
        }
        let schema = schema(paths.iter().cloned());
        let sources = annotator.sources(schema.fields())?;
        Ok(Self { cut: Cut::Object { paths }, added, sources, schema })
    }

    fn of_header(header: &[u8], delimiter: u8, annotator: &Annotator, added: Vec<Field>) -> Result<Self, DatasetError> {
        let mut names = Vec::new();
        let count = fields(body(header), delimiter, |_, name| names.push(of_octets(&unquoted(name)).into_owned()));
        check_free(names.iter().map(String::as_str), &added)?;
        let all: Fields = names.iter().map(|name| Field::new(name, DataType::BinaryView, true)).collect();
        let sources = annotator.sources(&all)?;
        let mut used = vec![sources.urls.column()];
        used.extend(sources.times.as_ref().map(ColumnPath::column));
        used.dedup();
        let place = |column: &&str| names.iter().position(|name| name == column);
        let places = used.iter().filter_map(place).collect();
        let schema = schema(used.iter().map(|name| (*name).to_owned()));
        Ok(Self { cut: Cut::Fields { delimiter, count, places }, added, sources, schema })
    }

    /// What is read of the rows of a batch.
    pub(super) fn columns(&self, batch: &Batch) -> Result<RecordBatch, DatasetError> {
        let mut columns: Vec<_> = self.schema.fields().iter().map(|_| BinaryViewBuilder::new()).collect();
        let mut values = Vec::new();
        for record in batch.records().filter(|record| !record.is_blank()) {
            match &self.cut {
                Cut::Object { paths } => append_members(record, paths, &mut columns, &mut values)?,
                Cut::Fields { delimiter, count, places } => {
                    append_fields(record, *delimiter, *count, places, &mut columns)?;
                }
            }
        }
        let columns = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

fn schema(names: impl Iterator<Item = String>) -> SchemaRef {
    let fields: Fields = names.map(|name| Field::new(name, DataType::BinaryView, true)).collect();
    Arc::new(Schema::new(fields))
}

fn append_members(
    record: Record<'_>,
    paths: &[String],
    columns: &mut [BinaryViewBuilder],
    value: &mut Vec<u8>,
) -> Result<(), DatasetError> {
    for (path, column) in paths.iter().zip(columns) {
        value.clear();
        let found = append_value(record.octets, path, value);
        match found.map_err(|fault| DatasetError::Line { line: record.line, fault: fault.into() })? {
            Found::Text => column.append_value(&*value),
            Found::Number | Found::Null | Found::Missing | Found::Other => column.append_null(),
        }
    }
    Ok(())
}

fn append_fields(
    record: Record<'_>,
    delimiter: u8,
    wanted: usize,
    places: &[usize],
    columns: &mut [BinaryViewBuilder],
) -> Result<(), DatasetError> {
    let mut values = [&[][..]; 2];
    let found = fields(record.body(), delimiter, |place, field| {
        if let Some(column) = places.iter().position(|wanted| *wanted == place) {
            values[column] = field;
        }
    });
    if found != wanted {
        return Err(DatasetError::FieldCount { line: record.line, found, wanted });
    }
    for (value, column) in values.iter().zip(columns) {
        let value = unquoted(value);
        if value.is_empty() {
            column.append_null();
        } else {
            column.append_value(value);
        }
    }
    Ok(())
}
