//! Building blocks of the column builders.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, DictionaryArray, Int32Builder, RecordBatch, StringArray, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, Int32Type, SchemaRef, TimeUnit};

/// A text column that may be null.
#[must_use]
pub fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

/// A column of another type that may be null.
#[must_use]
pub fn value(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

/// A column of few different words, stored as a dictionary.
#[must_use]
pub fn words(name: &str) -> Field {
    Field::new(name, dictionary(), true)
}

/// UTC, in microseconds.
#[must_use]
pub fn timestamp(name: &str) -> Field {
    Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true)
}

/// A list of texts.
#[must_use]
pub fn texts(name: &str) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))), true)
}

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Columns put together.
///
/// # Panics
/// Where the columns are not those of the schema: a fault of the builder that made them.
#[must_use]
pub fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(schema, columns).expect("columns are those of the schema")
}

/// A builder of UTC timestamps.
#[must_use]
pub fn timestamps() -> TimestampMicrosecondBuilder {
    TimestampMicrosecondBuilder::new().with_timezone("UTC")
}

/// The SHA-256 of a body: 64 lower-case hexadecimal digits.
#[must_use]
pub fn hex(hash: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = hash.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// A column of a closed set of words, filled by their places in it.
#[derive(Debug)]
pub struct Words {
    words: ArrayRef,
    places: Int32Builder,
}

impl Words {
    /// A column over these words.
    #[must_use]
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self { words: Arc::new(StringArray::from_iter_values(words)), places: Int32Builder::new() }
    }

    /// Adds the word at this place, or null.
    pub fn push(&mut self, place: Option<usize>) {
        self.places.append_option(place.map(small));
    }

    /// The finished column.
    ///
    /// # Panics
    /// Where a place was outside the set.
    #[must_use]
    pub fn finish(mut self) -> ArrayRef {
        let column = DictionaryArray::<Int32Type>::try_new(self.places.finish(), self.words);
        Arc::new(column.expect("every place is one of a word"))
    }
}

/// A column whose values come in runs: each is added once and then named by its place.
#[derive(Debug, Default)]
pub struct Runs {
    values: StringBuilder,
    count: usize,
    places: Int32Builder,
}

impl Runs {
    /// Adds a value and returns its place.
    pub fn add(&mut self, value: &str) -> usize {
        self.values.append_value(value);
        self.count += 1;
        self.count - 1
    }

    /// Adds a row with the value at this place, or null.
    pub fn push(&mut self, place: Option<usize>) {
        self.places.append_option(place.map(small));
    }

    /// The finished column.
    ///
    /// # Panics
    /// Where a place was never given out.
    #[must_use]
    pub fn finish(mut self) -> ArrayRef {
        let column = DictionaryArray::<Int32Type>::try_new(self.places.finish(), Arc::new(self.values.finish()));
        Arc::new(column.expect("every place was given out"))
    }
}

fn small(place: usize) -> i32 {
    i32::try_from(place).expect("a batch has fewer than two billion values")
}

/// A builder of octet columns.
pub type OctetsBuilder = BinaryBuilder;
