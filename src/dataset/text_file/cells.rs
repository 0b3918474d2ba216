//! Added columns as text: members of an object, or fields of a record.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type, TimestampMicrosecondType};

use crate::dataset::DatasetError;

/// Added columns of a batch.
pub(super) struct Cells(Vec<Column>);

enum Column {
    Words { places: Int32Array, words: StringArray },
    Text(StringArray),
    Numbers(Int64Array),
    Times(TimestampMicrosecondArray),
}

enum Value<'a> {
    Text(Cow<'a, str>),
    Number(i64),
}

impl Column {
    fn of(array: &ArrayRef) -> Result<Self, DatasetError> {
        Ok(match array.data_type() {
            DataType::Dictionary(key, _) if **key == DataType::Int32 => {
                let words = array.as_dictionary::<Int32Type>();
                let texts = cast(words.values(), &DataType::Utf8)?;
                Self::Words { places: words.keys().clone(), words: texts.as_string().clone() }
            }
            DataType::Int32 | DataType::Int64 => {
                Self::Numbers(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _) => {
                Self::Times(array.as_primitive::<TimestampMicrosecondType>().clone())
            }
            _ => Self::Text(cast(array, &DataType::Utf8)?.as_string().clone()),
        })
    }

    fn value(&self, row: usize) -> Option<Value<'_>> {
        match self {
            Self::Words { places, words } => {
                let place = places.is_valid(row).then(|| places.value(row))?;
                Some(Value::Text(Cow::Borrowed(words.value(usize::try_from(place).ok()?))))
            }
            Self::Text(texts) => texts.is_valid(row).then(|| Value::Text(Cow::Borrowed(texts.value(row)))),
            Self::Numbers(numbers) => numbers.is_valid(row).then(|| Value::Number(numbers.value(row))),
            Self::Times(times) => {
                let time = times.is_valid(row).then(|| times.value(row))?;
                Some(Value::Text(Cow::Owned(jiff::Timestamp::from_microsecond(time).ok()?.to_string())))
            }
        }
    }
}

impl Cells {
    /// The cells of columns.
    pub(super) fn of(columns: &[ArrayRef]) -> Result<Self, DatasetError> {
        Ok(Self(columns.iter().map(Column::of).collect::<Result<_, _>>()?))
    }

    /// Appends the members of a row to those of an object. `keys` are in JSON already.
    pub(super) fn append_members(&self, row: usize, keys: &[String], is_first: bool, out: &mut Vec<u8>) {
        let mut comma = !is_first;
        for (key, column) in keys.iter().zip(&self.0) {
            if comma {
                out.push(b',');
            }
            comma = true;
            out.extend_from_slice(key.as_bytes());
            out.push(b':');
            match column.value(row) {
                None => out.extend_from_slice(b"null"),
                Some(Value::Number(number)) => out.extend_from_slice(number.to_string().as_bytes()),
                Some(Value::Text(text)) => out.extend_from_slice(in_json(&text).as_bytes()),
            }
        }
    }

    /// Appends the fields of a row to those of a record; null is an empty field.
    pub(super) fn append_fields(&self, row: usize, delimiter: u8, is_first: bool, out: &mut Vec<u8>) {
        for (place, column) in self.0.iter().enumerate() {
            if place > 0 || !is_first {
                out.push(delimiter);
            }
            match column.value(row) {
                None => {}
                Some(Value::Number(number)) => out.extend_from_slice(number.to_string().as_bytes()),
                Some(Value::Text(text)) => append_field(&text, delimiter, out),
            }
        }
    }
}

/// A text in JSON.
pub(super) fn in_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Appends a field, in quotes where it needs them (RFC 4180, section 2).
pub(super) fn append_field(text: &str, delimiter: u8, out: &mut Vec<u8>) {
    let needs_quotes = |octet: u8| octet == delimiter || matches!(octet, b'"' | b'\r' | b'\n');
    if text.bytes().any(needs_quotes) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}
