//! Where in the records of a file the values stand that are read, and what its header says.

use std::sync::Arc;

use arrow::array::{Array, BinaryViewArray, BinaryViewBuilder};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::cells;
use super::format::{Syntax, TextInput};
use super::gather::{Gathered, Gatherer, Role};
use super::records::{Batch, Reader, Record, body, fields, unquoted};
use super::treatment::Treatment;
use crate::dataset::DatasetError;
use crate::dataset::annotate::{Annotator, AsOf, Sources};
use crate::dataset::columns::{ColumnPath, check_free, listed};
use crate::dataset::members::{Members, PATH_ROWS};
use crate::dataset::stats::{StatsColumns, Typing};
use crate::source::json_path::{self, Found, Path, Value};
use crate::tables::text::of_octets;

/// How the records of a file are read and written.
pub(super) struct Layout {
    pub(super) cut: Cut,
    /// Columns that are added to some output.
    pub(super) added: Vec<Field>,
    pub(super) sources: Sources,
    /// What is read of each row, columns first.
    wanted: Vec<Wanted>,
    /// The columns.
    schema: SchemaRef,
    /// What tells rows apart, where that stands in the JSON of a field.
    id_in_json: Option<ColumnPath>,
}

/// What a record is.
pub(super) enum Cut {
    /// An object.
    Object,
    /// So many fields; the values stand in those of these places.
    Fields { delimiter: u8, count: usize, places: Vec<usize> },
}

/// A value that is read of each row.
struct Wanted {
    /// The path or the column.
    name: String,
    role: Role,
    /// Whether it was asked for, so that it has to stand somewhere.
    is_asked: bool,
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
    /// Opens a file, with whose rows this is done.
    pub(super) fn of(input: &TextInput, annotator: &Annotator, treatment: &Treatment) -> Result<Self, DatasetError> {
        treatment.check(annotator)?;
        let (stream, mark) = input.open()?;
        let mut reader = Reader::new(stream);
        let (layout, header) = match input.syntax {
            Syntax::Ndjson => (Layout::of_objects(annotator, treatment)?, Vec::new()),
            Syntax::Csv | Syntax::Tsv => {
                let given = (input.syntax == Syntax::Tsv).then_some(b'\t');
                let (header, delimiter) = reader.header(given)?;
                (Layout::of_header(&header, delimiter, annotator, treatment)?, header)
            }
        };
        Ok(Self { layout, reader, mark, header })
    }

    /// What an output begins with, when rows get these columns more.
    pub(super) fn beginning(&self, added: &[Field]) -> Vec<u8> {
        let names = body(&self.header);
        self.beginning_with(Some(names), added)
    }

    /// What an output begins with that holds only an id, if any, and these columns.
    pub(super) fn sidecar_beginning(&self, added: &[Field]) -> Vec<u8> {
        let Cut::Fields { delimiter, .. } = self.layout.cut else { return self.mark.to_vec() };
        let id = self.layout.id().map(|name| {
            let mut field = Vec::new();
            cells::append_field(name, delimiter, &mut field);
            field
        });
        self.beginning_with(id.as_deref(), added)
    }

    fn beginning_with(&self, names: Option<&[u8]>, added: &[Field]) -> Vec<u8> {
        let mut beginning = self.mark.to_vec();
        let Cut::Fields { delimiter, .. } = self.layout.cut else { return beginning };
        beginning.extend_from_slice(names.unwrap_or_default());
        for (place, field) in added.iter().enumerate() {
            if place > 0 || names.is_some() {
                beginning.push(delimiter);
            }
            cells::append_field(field.name(), delimiter, &mut beginning);
        }
        beginning.extend_from_slice(&self.header[body(&self.header).len()..]);
        beginning
    }

    /// Whether what was asked for stands where it is looked for, in any of the first rows.
    pub(super) fn check(self) -> Result<(), DatasetError> {
        match self.layout.cut {
            Cut::Object => self.check_objects(),
            Cut::Fields { .. } => self.check_fields(),
        }
    }

    /// Columns are known by the header; what stands in JSON is not.
    fn check_fields(mut self) -> Result<(), DatasetError> {
        let mut members = Members::of(self.layout.sources.columns().chain(&self.layout.id_in_json));
        while !members.is_settled() {
            // What is wrong with a record is told when its turn comes.
            let Ok(batch) = self.reader.batch(PATH_ROWS) else { break };
            let Ok(gathered) = self.layout.gather(&batch) else { break };
            if batch.records().next().is_none() {
                break;
            }
            members.look(&gathered.columns)?;
        }
        members.finish()
    }

    fn check_objects(mut self) -> Result<(), DatasetError> {
        let wanted: Vec<&Wanted> = self.layout.wanted.iter().filter(|wanted| wanted.is_asked).collect();
        let paths: Vec<Path<'_>> = wanted.iter().map(|wanted| Path::to(&wanted.name)).collect();
        let mut values: Vec<Value> = paths.iter().map(|_| Value::default()).collect();
        let (mut is_there, mut is_missing) = (vec![false; paths.len()], vec![false; paths.len()]);
        let (mut line, mut first) = (Vec::new(), None);
        for _ in 0..PATH_ROWS {
            line.clear();
            // What is wrong with a line is told when its turn comes.
            let Ok(Some(_)) = self.reader.next_record(&mut line) else { break };
            if json_path::read(&line, &paths, &mut values).is_err() {
                continue;
            }
            for ((is_there, is_missing), value) in is_there.iter_mut().zip(&mut is_missing).zip(&values) {
                *is_missing |= value.found == Found::Missing;
                // Below a null nothing is there, and nothing is missing.
                *is_there |= !matches!(value.found, Found::Missing | Found::NullAbove);
            }
            if is_there.iter().all(|is| *is) {
                return Ok(());
            }
            first = first.or_else(|| Some(listed(json_path::keys(&line).iter().map(AsRef::as_ref))));
        }
        let gone = wanted.iter().zip(is_there.iter().zip(is_missing)).find(|(_, (there, missing))| !*there && *missing);
        match first.zip(gone) {
            Some((columns, (wanted, _))) => Err(DatasetError::MissingColumn { column: wanted.name.clone(), columns }),
            None => Ok(()),
        }
    }
}

impl Layout {
    fn of_objects(annotator: &Annotator, treatment: &Treatment) -> Result<Self, DatasetError> {
        let settings = annotator.settings();
        let mut wanted = Vec::new();
        add_column(&mut wanted, &settings.url_column, Role::Text, true);
        if let AsOf::Column(column) = &settings.as_of {
            add_column(&mut wanted, column, Role::Scalar, true);
        }
        let text = annotator.stats_asked().map(|asked| {
            for column in [&asked.weight_column, &asked.by].into_iter().flatten() {
                add_column(&mut wanted, column, Role::Scalar, true);
            }
            let name = asked.text_column().to_owned();
            Wanted { name, role: Role::Length, is_asked: asked.text_column.is_some() }
        });
        let schema = schema(&wanted);
        wanted.extend(text);
        let sources = annotator.sources_in(&all_text(wanted.iter().map(|wanted| &wanted.name)), Typing::Untyped)?;
        let id = treatment.id_column();
        wanted.extend(id.map(|id| Wanted { name: id.to_owned(), role: Role::Written, is_asked: true }));
        let added = treatment.added(annotator);
        check_free(id, &added)?;
        Ok(Self { cut: Cut::Object, added, sources, wanted, schema, id_in_json: None })
    }

    fn of_header(
        header: &[u8],
        delimiter: u8,
        annotator: &Annotator,
        treatment: &Treatment,
    ) -> Result<Self, DatasetError> {
        let mut names = Vec::new();
        let count = fields(body(header), delimiter, |_, name| names.push(of_octets(&unquoted(name)).into_owned()));
        let all = all_text(names.iter());
        let sources = annotator.sources_in(&all, Typing::Untyped)?;
        let mut wanted = Vec::new();
        let columns = [Some(&sources.urls), sources.times.as_ref()].into_iter().flatten();
        for path in columns.chain(sources.stats.iter().flat_map(StatsColumns::values)) {
            add_column(&mut wanted, path.column(), Role::Text, true);
        }
        let id = treatment.id_column().map(|id| ColumnPath::find(&all, id)).transpose()?;
        let (id, id_in_json) =
            id.map_or((None, None), |id| if id.is_in_json() { (None, Some(id)) } else { (Some(id), None) });
        if let Some(path) = &id_in_json {
            add_column(&mut wanted, path.column(), Role::Text, true);
        }
        let schema = schema(&wanted);
        let text = sources.stats.as_ref().and_then(StatsColumns::text).map(ColumnPath::column);
        wanted.extend(text.map(|name| Wanted { name: name.to_owned(), role: Role::Length, is_asked: true }));
        let id = id.as_ref().map(ColumnPath::column);
        wanted.extend(id.map(|name| Wanted { name: name.to_owned(), role: Role::Written, is_asked: true }));
        let added = treatment.added(annotator);
        if treatment.is_sidecar() {
            check_free(treatment.id_column(), &added)?;
        } else {
            check_free(names.iter().map(String::as_str), &added)?;
        }
        let place = |wanted: &Wanted| names.iter().position(|name| *name == wanted.name);
        let places = wanted.iter().filter_map(place).collect();
        Ok(Self { cut: Cut::Fields { delimiter, count, places }, added, sources, wanted, schema, id_in_json })
    }

    /// The name of what tells rows apart, where that is wanted.
    pub(super) fn id(&self) -> Option<&str> {
        let written = self.wanted.iter().find(|wanted| wanted.role == Role::Written);
        self.id_in_json.as_ref().map(ColumnPath::asked).or_else(|| written.map(|wanted| &*wanted.name))
    }

    /// What is read of the rows of a batch.
    pub(super) fn gather(&self, batch: &Batch) -> Result<Gathered, DatasetError> {
        let mut gatherer = Gatherer::new(self.wanted.iter().map(|wanted| wanted.role));
        let records = batch.records().filter(|record| !record.is_blank());
        match &self.cut {
            Cut::Object => {
                let paths = self.wanted.iter().map(|wanted| Path { keys: &wanted.name, form: wanted.role.form() });
                let paths: Vec<Path<'_>> = paths.collect();
                let mut values: Vec<Value> = paths.iter().map(|_| Value::default()).collect();
                for record in records {
                    let read = json_path::read(record.octets, &paths, &mut values);
                    read.map_err(|fault| DatasetError::Line { line: record.line, fault: fault.into() })?;
                    gatherer.add_members(&values);
                }
            }
            Cut::Fields { delimiter, count, places } => {
                for record in records {
                    add_fields(record, *delimiter, *count, places, &mut gatherer)?;
                }
            }
        }
        let found = gatherer.finish(&self.schema)?;
        match (&self.id_in_json, &self.cut) {
            (Some(path), Cut::Fields { delimiter, .. }) => {
                let ids = as_fields(&path.whole_scalars(&found.columns)?, *delimiter);
                Ok(Gathered { ids: Some(ids), ..found })
            }
            _ => Ok(found),
        }
    }
}

/// Adds a column, unless it is there.
fn add_column(wanted: &mut Vec<Wanted>, name: &str, role: Role, is_asked: bool) {
    match wanted.iter_mut().find(|wanted| wanted.name == name) {
        Some(same) => same.is_asked |= is_asked,
        None => wanted.push(Wanted { name: name.to_owned(), role, is_asked }),
    }
}

fn schema(wanted: &[Wanted]) -> SchemaRef {
    Arc::new(Schema::new(all_text(wanted.iter().map(|wanted| &wanted.name))))
}

fn all_text<'n>(names: impl Iterator<Item = &'n String>) -> Fields {
    names.map(|name| Field::new(name, DataType::BinaryView, true)).collect()
}

/// Texts as they are written in fields.
fn as_fields(texts: &BinaryViewArray, delimiter: u8) -> BinaryViewArray {
    let mut fields = BinaryViewBuilder::with_capacity(texts.len());
    for text in texts {
        let mut field = Vec::new();
        cells::append_field(&of_octets(text.unwrap_or_default()), delimiter, &mut field);
        fields.append_value(field);
    }
    fields.finish()
}

fn add_fields(
    record: Record<'_>,
    delimiter: u8,
    wanted: usize,
    places: &[usize],
    gatherer: &mut Gatherer,
) -> Result<(), DatasetError> {
    let mut values = vec![&[][..]; places.len()];
    let found = fields(record.body(), delimiter, |place, field| {
        for (value, _) in values.iter_mut().zip(places).filter(|(_, wanted)| **wanted == place) {
            *value = field;
        }
    });
    if found != wanted {
        return Err(DatasetError::FieldCount { line: record.line, found, wanted });
    }
    gatherer.add_fields(&values);
    Ok(())
}
