//! What a cell of somebody else's rows tells: a value, nothing, or something that cannot be read. The last is never
//! taken for nothing.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::error::ArrowError;

/// What a cell tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Told<T> {
    /// Nothing: there is no cell, or it is null.
    #[default]
    Nothing,
    /// This.
    This(T),
    /// Something that is no such value.
    Unreadable,
}

impl<T> Told<T> {
    /// What is there, where it can be read.
    pub(crate) fn read(value: Option<T>) -> Self {
        value.map_or(Self::Unreadable, Self::This)
    }

    /// The value, where one is told.
    pub(crate) fn known(self) -> Option<T> {
        match self {
            Self::This(value) => Some(value),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// How values of a kind are read, in whatever form a cell holds them; `None` is what is no such value.
pub(crate) struct Reading<T> {
    /// From a whole number.
    pub(crate) integer: fn(i64) -> Option<T>,
    /// From a number that may have a fraction.
    pub(crate) float: fn(f64) -> Option<T>,
    /// From text.
    pub(crate) text: fn(&str) -> Option<T>,
    /// What the values are, for messages.
    pub(crate) name: &'static str,
}

impl<T: Copy> Reading<T> {
    /// What text tells.
    pub(crate) fn of_text(&self, octets: &[u8]) -> Told<T> {
        Told::read(std::str::from_utf8(octets).ok().and_then(self.text))
    }

    /// What the digits of a number tell.
    pub(crate) fn of_digits(&self, octets: &[u8]) -> Told<T> {
        let number = |digits: &str| match digits.parse() {
            Ok(integer) => (self.integer)(integer),
            Err(_) => digits.parse().ok().and_then(self.float),
        };
        Told::read(std::str::from_utf8(octets).ok().and_then(number))
    }

    /// What the rows of a column tell.
    ///
    /// # Errors
    /// A type that holds no such values.
    pub(crate) fn of_column(&self, column: &ArrayRef) -> Result<Vec<Told<T>>, ArrowError> {
        let kind = column.data_type();
        if kind.is_null() {
            Ok(vec![Told::Nothing; column.len()])
        } else if kind.is_integer() {
            let numbers = cast(column, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            // What does not fit into the other type has become null.
            Ok(told(column, |row| numbers.is_valid(row).then(|| numbers.value(row)).and_then(self.integer)))
        } else if kind.is_numeric() {
            let numbers = cast(column, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            Ok(told(column, |row| numbers.is_valid(row).then(|| numbers.value(row)).and_then(self.float)))
        } else if kind.is_string() || kind.is_binary() {
            let texts = cast(column, &DataType::Binary)?;
            let texts = texts.as_binary::<i32>();
            // Rows of a crawl stand together: what is like the row before is not read again.
            let mut last: Option<(&[u8], Told<T>)> = None;
            let read = |row: usize| {
                let text = texts.value(row);
                let value =
                    last.filter(|(same, _)| *same == text).map_or_else(|| self.of_text(text), |(_, value)| value);
                last = Some((text, value));
                value.known()
            };
            Ok(told(column, read))
        } else {
            Err(ArrowError::CastError(format!("{kind} holds no {}", self.name)))
        }
    }
}

/// What the rows of a column tell, where those that are not null are read by a function.
pub(crate) fn told<T>(column: &ArrayRef, mut read: impl FnMut(usize) -> Option<T>) -> Vec<Told<T>> {
    let of_row = |row| if column.is_valid(row) { Told::read(read(row)) } else { Told::Nothing };
    (0..column.len()).map(of_row).collect()
}
