//! What rows weigh: integers are added up as such, floats as floats.

use arrow::array::{Array, AsArray, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};

use super::groups::Counts;
use crate::dataset::DatasetError;
use crate::dataset::columns::ColumnPath;

/// The weights of a batch.
pub(super) enum Weights {
    Signed(Int64Array),
    Unsigned(UInt64Array),
    Floats(Float64Array),
    /// Numbers in text.
    Texts(Vec<Option<Number>>),
}

/// A number that was read from text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// Reads a number; `None` where there is none, or none that is finite.
    fn of_text(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim_ascii();
        let integer = text.parse::<i64>().map(i128::from).or_else(|_| text.parse::<u64>().map(i128::from));
        let float = || text.parse().ok().filter(|float: &f64| float.is_finite());
        integer.map(Self::Integer).ok().or_else(|| float().map(Self::Float))
    }
}

impl Weights {
    /// The weights at a path.
    pub(super) fn of(path: &ColumnPath, batch: &RecordBatch) -> Result<Self, DatasetError> {
        if path.is_text() {
            let texts = path.scalars(batch)?;
            return Ok(Self::Texts(texts.iter().map(|text| text.and_then(Number::of_text)).collect()));
        }
        let values = path.values(batch)?;
        Ok(match values.data_type() {
            DataType::UInt64 => Self::Unsigned(values.as_primitive::<UInt64Type>().clone()),
            other if other.is_integer() => {
                Self::Signed(cast(&values, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            other if other.is_floating() => {
                Self::Floats(cast(&values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            other => return Err(path.wrong_type(other, "an integer or a float")),
        })
    }

    /// Whether there are floats among them.
    pub(super) fn are_floats(&self) -> bool {
        match self {
            Self::Signed(_) | Self::Unsigned(_) => false,
            Self::Floats(_) => true,
            Self::Texts(numbers) => numbers.iter().any(|number| matches!(number, Some(Number::Float(_)))),
        }
    }

    /// Puts down the weight of a row; whether it has one.
    pub(super) fn put(&self, row: usize, counts: &mut Counts) -> bool {
        match self {
            Self::Signed(values) if values.is_valid(row) => counts.integer_weight = values.value(row).into(),
            Self::Unsigned(values) if values.is_valid(row) => counts.integer_weight = values.value(row).into(),
            Self::Floats(values) if values.is_valid(row) && values.value(row).is_finite() => {
                counts.float_weight = values.value(row);
            }
            Self::Texts(numbers) => match numbers[row] {
                Some(Number::Integer(integer)) => counts.integer_weight = integer,
                Some(Number::Float(float)) => counts.float_weight = float,
                None => return false,
            },
            Self::Signed(_) | Self::Unsigned(_) | Self::Floats(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_text() {
        for (text, expected) in [
            ("0", Some(Number::Integer(0))),
            (" -7 ", Some(Number::Integer(-7))),
            ("18446744073709551615", Some(Number::Integer(u64::MAX.into()))),
            ("18446744073709551616", Some(Number::Float(18_446_744_073_709_551_616.0))),
            ("7.0", Some(Number::Float(7.0))),
            ("1e3", Some(Number::Float(1000.0))),
            ("NaN", None),
            ("-inf", None),
            ("1e999", None),
            ("", None),
            ("7 tokens", None),
        ] {
            assert_eq!(Number::of_text(text.as_bytes()), expected, "{text:?}");
        }
    }
}
