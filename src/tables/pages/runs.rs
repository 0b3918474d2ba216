//! A row group as dictionaries and runs.

use std::borrow::Cow;
use std::cmp::Ordering;

use parquet::basic::Type;

/// The key of rows without a value.
pub const NULL: u32 = u32::MAX;

/// Rows that follow each other and have the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Place of the value in the column's dictionary, or [`NULL`].
    pub key: u32,
    /// How many rows.
    pub rows: u32,
}

/// Adds rows to runs; a run goes on where the value stays the same.
pub fn push(runs: &mut Vec<Run>, key: u32, rows: u32) {
    match runs.last_mut() {
        Some(last) if last.key == key => last.rows += rows,
        _ if rows > 0 => runs.push(Run { key, rows }),
        _ => (),
    }
}

/// A row group.
#[derive(Debug, Clone, Default)]
pub struct RunGroup {
    /// The columns in the order of the schema.
    pub columns: Vec<RunColumn>,
    /// Rows of each column; at most two billion.
    pub rows: u32,
}

/// A column of a row group.
#[derive(Debug, Clone)]
pub struct RunColumn {
    /// The dictionary.
    pub values: Values,
    /// Which of the values stand in the rows.
    pub rows: Rows,
}

/// Which values of a dictionary stand in the rows of a column.
#[derive(Debug, Clone)]
pub enum Rows {
    /// Runs, first to last.
    Runs(Vec<Run>),
    /// All values one after the other, a row each, over and over.
    Cycle,
}

/// The dictionary of a column in one row group: its distinct values.
#[derive(Debug, Clone)]
pub enum Values {
    /// Text.
    Text(Texts),
    /// Numbers of 32 bits.
    Int32(Vec<i32>),
    /// Numbers of 64 bits, timestamps among them.
    Int64(Vec<i64>),
}

/// Texts in one piece of memory, each behind its length: the very octets of a dictionary page.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    plain: Vec<u8>,
    /// Where each text ends in `plain`.
    ends: Vec<usize>,
}

/// Octets of the length that stands before a text.
const LENGTH_OCTETS: usize = 4;

impl Texts {
    /// Adds a text.
    ///
    /// # Panics
    /// Where the text has 4 GiB or more.
    pub fn push(&mut self, text: &str) {
        let length = u32::try_from(text.len()).expect("a text under 4 GiB");
        self.plain.extend_from_slice(&length.to_le_bytes());
        self.plain.extend_from_slice(text.as_bytes());
        self.ends.push(self.plain.len());
    }

    /// How many texts there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The octets of one text.
    ///
    /// # Panics
    /// Where there is no text of that key.
    #[must_use]
    pub fn get(&self, key: u32) -> &[u8] {
        &self.plain(key)[LENGTH_OCTETS..]
    }

    /// One text behind its length.
    fn plain(&self, key: u32) -> &[u8] {
        let key = key as usize;
        let start = if key == 0 { 0 } else { self.ends[key - 1] };
        &self.plain[start..self.ends[key]]
    }
}

impl<'t> FromIterator<&'t str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'t str>>(texts: I) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text));
        all
    }
}

impl Values {
    /// How many values there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.len(),
            Self::Int32(numbers) => numbers.len(),
            Self::Int64(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The physical type.
    const fn physical_type(&self) -> Type {
        match self {
            Self::Text(_) => Type::BYTE_ARRAY,
            Self::Int32(_) => Type::INT32,
            Self::Int64(_) => Type::INT64,
        }
    }

    /// The order of two values: octets of text, numbers with their sign.
    pub(super) fn compare(&self, one: u32, other: u32) -> Ordering {
        match self {
            Self::Text(texts) => texts.get(one).cmp(texts.get(other)),
            Self::Int32(numbers) => numbers[one as usize].cmp(&numbers[other as usize]),
            Self::Int64(numbers) => numbers[one as usize].cmp(&numbers[other as usize]),
        }
    }

    /// Octets of a value in a plain page.
    pub(super) fn plain_octets(&self, key: u32) -> usize {
        match self {
            Self::Text(texts) => texts.plain(key).len(),
            Self::Int32(_) => size_of::<i32>(),
            Self::Int64(_) => size_of::<i64>(),
        }
    }

    /// Octets of a text without its length; none for numbers, whose size says nothing.
    pub(super) fn text_octets(&self, key: u32) -> u64 {
        match self {
            Self::Text(texts) => (texts.plain(key).len() - LENGTH_OCTETS) as u64,
            Self::Int32(_) | Self::Int64(_) => 0,
        }
    }

    /// Adds a value to a plain page.
    pub(super) fn write_plain(&self, key: u32, page: &mut Vec<u8>) {
        match self {
            Self::Text(texts) => page.extend_from_slice(texts.plain(key)),
            Self::Int32(numbers) => page.extend_from_slice(&numbers[key as usize].to_le_bytes()),
            Self::Int64(numbers) => page.extend_from_slice(&numbers[key as usize].to_le_bytes()),
        }
    }

    /// The dictionary page of the first so many values.
    pub(super) fn dictionary_page(&self, count: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Text(texts) => Cow::Borrowed(&texts.plain[..if count == 0 { 0 } else { texts.ends[count - 1] }]),
            Self::Int32(numbers) => numbers[..count].iter().flat_map(|number| number.to_le_bytes()).collect(),
            Self::Int64(numbers) => numbers[..count].iter().flat_map(|number| number.to_le_bytes()).collect(),
        }
    }

    /// How many values, from the first on, fit into a dictionary page of so many octets.
    pub(super) fn that_fit(&self, octets: usize) -> usize {
        match self {
            Self::Text(texts) => texts.ends.partition_point(|end| *end <= octets),
            Self::Int32(numbers) => numbers.len().min(octets / size_of::<i32>()),
            Self::Int64(numbers) => numbers.len().min(octets / size_of::<i64>()),
        }
    }
}

impl RunColumn {
    /// Whether the column is one of so many rows, and of this type.
    pub(super) fn check(&self, physical_type: Type, rows: u32) -> Result<(), &'static str> {
        if self.values.physical_type() != physical_type {
            return Err("values of another type");
        }
        let count = self.values.len();
        match &self.rows {
            _ if count >= NULL as usize => Err("too many values"),
            Rows::Cycle if count == 0 => Err("a cycle of no values"),
            Rows::Runs(runs) if runs.iter().map(|run| u64::from(run.rows)).sum::<u64>() != u64::from(rows) => {
                Err("another number of rows")
            }
            Rows::Runs(runs) if runs.iter().any(|run| run.key != NULL && run.key as usize >= count) => {
                Err("a value that is not in the dictionary")
            }
            Rows::Cycle | Rows::Runs(_) => Ok(()),
        }
    }
}
