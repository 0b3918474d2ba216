//! What a row says about its time: a timestamp, a date, or text. How text is read is the same for captures: see
//! [`crate::source::time`]. A column of numbers is no column of times here: it was named by mistake more likely.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::snapshots::When;
use crate::source::time;
use crate::source::told::Told;

pub use crate::source::time::of_text;

/// Whether values of a type may tell a time.
#[must_use]
pub fn may_tell(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => true,
        DataType::Dictionary(_, values) => values.is_string(),
        other => other.is_string() || other.is_binary(),
    }
}

/// The times of a column.
///
/// # Errors
/// A type that tells no time.
pub fn of_column(column: &ArrayRef) -> Result<Vec<When>, ArrowError> {
    let plain = match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values)?,
        other if !may_tell(other) => return Err(ArrowError::CastError(format!("{other} tells no time"))),
        _ => Arc::clone(column),
    };
    let when = |told| match told {
        Told::This(time) => When::At(time),
        Told::Nothing => When::Unknown,
        Told::Unreadable => When::Unreadable,
    };
    Ok(time::of_column(&plain)?.into_iter().map(when).collect())
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, StringArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn columns_tell_times_as_captures_do() {
        let texts = [Some("2024-01-01T00:00:00"), None, Some("yesterday"), Some("2024-01-01T00:00:00")];
        let words: DictionaryArray<Int32Type> = texts.into_iter().collect();
        let time = When::At(1_704_067_200_000_000);
        let expected = [time, When::Unknown, When::Unreadable, time];
        assert_eq!(of_column(&(Arc::new(words) as ArrayRef)).unwrap(), expected);
        assert_eq!(of_column(&(Arc::new(StringArray::from(texts.to_vec())) as ArrayRef)).unwrap(), expected);
        assert!(!may_tell(&DataType::Boolean) && !may_tell(&DataType::Int64));
    }
}
