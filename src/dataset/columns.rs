//! Where the URL of a row stands: a column, a field of a struct, or a member of JSON in a text column; and names that
//! clash.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields};
use parquet::schema::types::SchemaDescriptor;

use super::{DatasetError, time};
use crate::origin::URL_OCTETS;
use crate::source::json_path::{Found, append_value, keys};

/// Names told in a message.
const NAMES_TOLD: usize = 30;

/// Where values stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnPath {
    /// The column as asked for.
    asked: String,
    /// The names on the way: a column, then fields of structs.
    names: Vec<String>,
    /// The path within the JSON that stands there.
    json: Option<String>,
    /// The type of what stands there.
    found: DataType,
}

impl ColumnPath {
    /// Finds a column by its name, or by a dotted path into structs and into JSON.
    ///
    /// # Errors
    /// Where there is none, or what is there holds no text.
    pub fn find(fields: &Fields, asked: &str) -> Result<Self, DatasetError> {
        let missing = || DatasetError::MissingColumn { column: asked.to_owned(), columns: told(fields) };
        let (names, json, found) = walk(fields, asked).ok_or_else(missing)?;
        Ok(Self { asked: asked.to_owned(), names, json, found })
    }

    /// The same, where the values have to be text.
    ///
    /// # Errors
    /// Likewise.
    pub fn find_text(fields: &Fields, asked: &str) -> Result<Self, DatasetError> {
        let path = Self::find(fields, asked)?;
        if is_text(&path.found) { Ok(path) } else { Err(path.wrong_type(&path.found, "text")) }
    }

    /// The same, where the values have to be times, or text that may tell them.
    ///
    /// # Errors
    /// Likewise.
    pub fn find_time(fields: &Fields, asked: &str) -> Result<Self, DatasetError> {
        let path = Self::find(fields, asked)?;
        if time::may_tell(&path.found) { Ok(path) } else { Err(path.wrong_type(&path.found, "text or time")) }
    }

    /// The top-level column.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.names[0]
    }

    /// The leaves of a Parquet schema that hold the values.
    #[must_use]
    pub fn leaves(&self, schema: &SchemaDescriptor) -> Vec<usize> {
        let holds = |parts: &[String]| parts.starts_with(&self.names);
        let columns = schema.columns().iter().enumerate();
        columns.filter(|(_, column)| holds(column.path().parts())).map(|(leaf, _)| leaf).collect()
    }

    /// The array at the path, null also where a struct on the way is.
    ///
    /// # Errors
    /// Where the batch has no such column.
    fn array(&self, batch: &RecordBatch) -> Result<ArrayRef, DatasetError> {
        let missing =
            || DatasetError::MissingColumn { column: self.asked.clone(), columns: told(batch.schema_ref().fields()) };
        let mut array = Arc::clone(batch.column_by_name(&self.names[0]).ok_or_else(missing)?);
        for name in &self.names[1..] {
            let parent = array.as_struct_opt().ok_or_else(missing)?;
            let child = Arc::clone(parent.column_by_name(name).ok_or_else(missing)?);
            array = under(&child, parent.nulls())?;
        }
        Ok(array)
    }

    /// The values at the path, of whatever type; texts and numbers in JSON as text.
    ///
    /// # Errors
    /// Where the batch has no such column.
    pub fn values(&self, batch: &RecordBatch) -> Result<ArrayRef, DatasetError> {
        if self.json.is_none() {
            return self.array(batch);
        }
        let texts: ArrayRef = Arc::new(self.scalars(batch)?);
        Ok(cast(&texts, &DataType::Utf8View)?)
    }

    /// The texts at the path; JSON that cannot be read has none.
    ///
    /// # Errors
    /// Where the batch has no such column, or it holds no text.
    pub fn texts(&self, batch: &RecordBatch) -> Result<BinaryViewArray, DatasetError> {
        // Longer ones are no URLs; what is cut still tells that.
        self.texts_and(batch, Found::Text, URL_OCTETS + 1)
    }

    /// The same, and the numbers that stand in JSON.
    pub(super) fn scalars(&self, batch: &RecordBatch) -> Result<BinaryViewArray, DatasetError> {
        self.texts_and(batch, Found::Number, URL_OCTETS + 1)
    }

    /// The column that the values make on their own, under the name that was asked for.
    pub(super) fn field(&self) -> Field {
        let kind = if self.is_in_json() { DataType::Utf8 } else { self.found.clone() };
        Field::new(&self.asked, kind, true)
    }

    /// The values of that column: whole, those in JSON as text.
    pub(super) fn whole_values(&self, batch: &RecordBatch) -> Result<ArrayRef, DatasetError> {
        if self.json.is_none() {
            return self.array(batch);
        }
        let texts: ArrayRef = Arc::new(self.whole_scalars(batch)?);
        Ok(cast(&texts, &DataType::Utf8)?)
    }

    /// Texts, and numbers that stand in JSON, none of them cut.
    pub(super) fn whole_scalars(&self, batch: &RecordBatch) -> Result<BinaryViewArray, DatasetError> {
        self.texts_and(batch, Found::Number, usize::MAX)
    }

    /// Whether the JSON of any row has what is looked for.
    pub(super) fn look(&self, batch: &RecordBatch) -> Result<Look, DatasetError> {
        let Some(path) = &self.json else { return Ok(Look::There) };
        let (mut value, mut instead) = (Vec::new(), None);
        for text in octets(&self.array(batch)?)?.iter().flatten() {
            value.clear();
            match append_value(text, path, &mut value) {
                Ok(Found::NullAbove) => {}
                Ok(Found::Missing) | Err(_) => instead = instead.or_else(|| Some(told_of_json(text))),
                Ok(_) => return Ok(Look::There),
            }
        }
        Ok(instead.map_or(Look::Nothing, Look::Instead))
    }

    /// The texts at the path, and what else of JSON counts as one, cut to so many octets.
    fn texts_and(&self, batch: &RecordBatch, other: Found, limit: usize) -> Result<BinaryViewArray, DatasetError> {
        let array = self.array(batch)?;
        if !is_text(array.data_type()) {
            return Err(self.wrong_type(array.data_type(), "text"));
        }
        let texts = octets(&array)?;
        Ok(match &self.json {
            None => texts,
            Some(path) => in_json(&texts, path, other, limit),
        })
    }

    /// The type of what stands there, which may be JSON.
    pub(super) const fn found(&self) -> &DataType {
        &self.found
    }

    /// Whether the values are text.
    pub(super) fn is_text(&self) -> bool {
        is_text(&self.found)
    }

    /// What was asked for.
    pub(super) fn asked(&self) -> &str {
        &self.asked
    }

    /// Whether the path leads to a whole column.
    pub(super) fn is_whole_column(&self) -> bool {
        self.names.len() == 1 && self.json.is_none()
    }

    /// Whether the values stand in JSON.
    pub(super) const fn is_in_json(&self) -> bool {
        self.json.is_some()
    }

    /// The error about a column of another type.
    pub(super) fn wrong_type(&self, found: &DataType, wanted: &'static str) -> DatasetError {
        DatasetError::ColumnType { column: self.asked.clone(), found: found.to_string(), wanted }
    }
}

/// What rows have of a path into JSON.
pub(super) enum Look {
    /// One has it.
    There,
    /// None has it; the first that could has this.
    Instead(String),
    /// None has any JSON, or `null` stands above it in all.
    Nothing,
}

/// The octets of texts, 0 where there is none.
pub(super) fn lengths(texts: &BinaryViewArray) -> Vec<u64> {
    texts.iter().map(|text| text.map_or(0, |text| text.len() as u64)).collect()
}

/// The child of a struct, null also where the struct is.
fn under(child: &ArrayRef, parent: Option<&NullBuffer>) -> Result<ArrayRef, DatasetError> {
    let Some(parent) = parent else { return Ok(Arc::clone(child)) };
    let is_null = arrow::array::BooleanArray::new(!parent.inner(), None);
    Ok(arrow::compute::nullif(child, &is_null)?)
}

/// Text of any layout as views of octets.
fn octets(array: &ArrayRef) -> Result<BinaryViewArray, DatasetError> {
    let views = match array.data_type() {
        DataType::BinaryView => Arc::clone(array),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => cast(array, &DataType::BinaryView)?,
        _ => return Ok(cast(array, &DataType::Utf8View)?.as_string_view().clone().to_binary_view()),
    };
    Ok(views.as_binary_view().clone())
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => matches!(**values, DataType::Utf8 | DataType::LargeUtf8),
        other => other.is_string() || other.is_binary(),
    }
}

fn in_json(texts: &BinaryViewArray, path: &str, other: Found, limit: usize) -> BinaryViewArray {
    let mut found = BinaryViewBuilder::with_capacity(texts.len());
    let mut value = Vec::new();
    for text in texts {
        value.clear();
        match text.map(|text| append_value(text, path, &mut value)) {
            Some(Ok(kind)) if kind == Found::Text || kind == other => {
                found.append_value(&value[..value.len().min(limit)]);
            }
            _ => found.append_null(),
        }
    }
    found.finish()
}

/// The way to a column: whole names first, then through structs, then into JSON; and the type of what holds the values.
fn walk(fields: &Fields, asked: &str) -> Option<(Vec<String>, Option<String>, DataType)> {
    if let Some(field) = fields.iter().find(|field| field.name() == asked) {
        return Some((vec![field.name().clone()], None, field.data_type().clone()));
    }
    fields.iter().find_map(|field| {
        let rest = asked.strip_prefix(field.name().as_str())?.strip_prefix('.')?;
        let name = field.name().clone();
        match field.data_type() {
            DataType::Struct(children) => {
                let (mut names, json, found) = walk(children, rest)?;
                names.insert(0, name);
                Some((names, json, found))
            }
            text if is_text(text) => Some((vec![name], Some(rest.to_owned()), text.clone())),
            _ => None,
        }
    })
}

/// The names of columns, for a message.
fn told(fields: &Fields) -> String {
    listed(fields.iter().map(|field| field.name().as_str()))
}

/// The keys of an object, for a message.
fn told_of_json(text: &[u8]) -> String {
    let keys = keys(text);
    if keys.is_empty() { "no JSON object with keys".to_owned() } else { listed(keys.iter().map(String::as_str)) }
}

pub(super) fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = if names.len() > NAMES_TOLD { ", …" } else { "" };
    format!("{}{more}", names.take(NAMES_TOLD).collect::<Vec<_>>().join(", "))
}

/// Whether added names are free and differ. Case is not looked at: some readers do not, either.
///
/// # Errors
/// The first name that is not.
pub fn check_free<'a>(names: impl IntoIterator<Item = &'a str>, added: &[Field]) -> Result<(), DatasetError> {
    let mut names_added = HashSet::new();
    if let Some(twice) = added.iter().find(|added| !names_added.insert(added.name().to_ascii_lowercase())) {
        return Err(DatasetError::AddedTwice { name: twice.name().clone() });
    }
    let clash = |name: &str| added.iter().find(|added| added.name().eq_ignore_ascii_case(name));
    let clashes = |name: &'a str| clash(name).map(|added| (added.name().clone(), name.to_owned()));
    match names.into_iter().find_map(clashes) {
        Some((added, found)) => Err(DatasetError::Clash { added, found }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Int64Array, LargeStringArray, StringArray, StructArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn texts(column: ArrayRef, path: &str) -> Vec<Option<String>> {
        let batch = RecordBatch::try_from_iter_with_nullable([("page", column, true)]).unwrap();
        let path = ColumnPath::find_text(batch.schema_ref().fields(), path).unwrap();
        let texts = path.texts(&batch).unwrap();
        texts.iter().map(|text| text.map(|text| String::from_utf8(text.to_vec()).unwrap())).collect()
    }

    #[test]
    fn every_layout_and_json() {
        let some = Some("u".to_owned());
        let dictionary: DictionaryArray<Int32Type> = [Some("u"), None].into_iter().collect();
        assert_eq!(texts(Arc::new(dictionary), "page"), [some.clone(), None]);
        assert_eq!(texts(Arc::new(LargeStringArray::from(vec![Some("u"), None])), "page"), [some.clone(), None]);
        let json = StringArray::from(vec![Some(r#"{"meta":{"url":"u"}}"#), Some("{broken"), Some("{}"), None]);
        assert_eq!(texts(Arc::new(json), "page.meta.url"), [some.clone(), None, None, None]);
        let urls: ArrayRef = Arc::new(StringArray::from(vec!["u", "hidden"]));
        let fields = Fields::from(vec![Field::new("url", DataType::Utf8, true)]);
        let structs = StructArray::new(fields, vec![urls], Some(NullBuffer::from(vec![true, false])));
        assert_eq!(texts(Arc::new(structs), "page.url"), [some, None]);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let find = |path| ColumnPath::find_text(batch.schema_ref().fields(), path).unwrap_err().to_string();
        assert_eq!(find("url"), "there is no column `url` (columns: n)");
        assert_eq!(find("n.url"), "there is no column `n.url` (columns: n)");
        assert_eq!(find("n"), "column `n` is of type Int64, not text");
        let clash =
            check_free(["Robots_Rule"], &[Field::new("robots_rule", DataType::Utf8, true)]).unwrap_err().to_string();
        assert!(clash.contains("`Robots_Rule`") && clash.contains("--prefix"), "{clash}");
    }
}
