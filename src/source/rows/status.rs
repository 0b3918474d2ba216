//! The status of an answer as rows tell it: a number, or text that begins with one.
//!
//! Three digits are a status (RFC 9110, section 15), those from 600 on included, which count as server errors. What is
//! told and is none says that something went wrong: it must not pass for a row without a status, which its body alone
//! would make an `ok`.

use std::ops::RangeInclusive;

use crate::source::told::Reading;

/// Three digits.
const STATUSES: RangeInclusive<u16> = 100..=999;

/// How statuses are read.
pub(super) const STATUS: Reading<u16> = Reading { integer: of_integer, float: of_float, text: of_text, name: "status" };

fn of_integer(number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|status| STATUSES.contains(status))
}

/// `503.0` is 503.
fn of_float(number: f64) -> Option<u16> {
    let is_status = number.fract() == 0.0 && (100.0..=999.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of three digits")]
    is_status.then_some(number as u16)
}

/// `503`, `503.0`, or `503 Service Unavailable`.
fn of_text(text: &str) -> Option<u16> {
    let (digits, rest) = text.trim().split_at_checked(3)?;
    let is_end = match rest.as_bytes() {
        [] => true,
        [b'.', zeros @ ..] => !zeros.is_empty() && zeros.iter().all(|digit| *digit == b'0'),
        [b' ', ..] => rest.trim_start().starts_with(|first: char| first.is_alphabetic()),
        _ => false,
    };
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|status| is_number && is_end && STATUSES.contains(status))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int32Array, LargeStringArray, NullArray,
        UInt64Array,
    };

    use super::*;
    use crate::source::told::Told;

    #[test]
    fn three_digits_are_a_status_and_nothing_else_is() {
        for (text, expected) in [
            ("503", Some(503)),
            (" 503 ", Some(503)),
            ("503.0", Some(503)),
            ("503 Service Unavailable", Some(503)),
            ("999", Some(999)),
            ("503.", None),
            ("503.5", None),
            ("503 200", None),
            ("5033", None),
            ("503x", None),
            ("50", None),
            ("+50", None),
            ("-50", None),
            ("099", None),
            ("99999", None),
            ("n/a", None),
            ("timeout", None),
            ("", None),
            ("５", None),
            ("５０３", None),
        ] {
            assert_eq!(of_text(text), expected, "{text}");
        }
        assert_eq!([0, -1, 99, 1000, 99_999, i64::MAX].map(of_integer), [None; 6]);
        assert_eq!([503.5, f64::NAN, f64::INFINITY, -503.0, 0.0, 65_736.0].map(of_float), [None; 6]);
        assert_eq!((of_integer(503), of_float(503.0)), (Some(503), Some(503)));
        let of_digits = ["503", "503.0", "5.03e2", "1e400", "99999"].map(|digits| STATUS.of_digits(digits.as_bytes()));
        let (known, none) = (Told::This(503), Told::Unreadable);
        assert_eq!(of_digits, [known, known, known, none, none]);
    }

    #[test]
    fn columns_of_every_kind() {
        let decimals = Decimal128Array::from(vec![Some(50_300), None, Some(50_350)]).with_precision_and_scale(9, 2);
        let columns: [ArrayRef; 6] = [
            Arc::new(Int32Array::from(vec![Some(503), None, Some(7)])),
            Arc::new(UInt64Array::from(vec![Some(503), None, Some(u64::MAX)])),
            Arc::new(Float64Array::from(vec![Some(503.0), None, Some(f64::NAN)])),
            Arc::new(decimals.unwrap()),
            Arc::new(LargeStringArray::from(vec![Some("503 Service Unavailable"), None, Some("n/a")])),
            Arc::new(BinaryArray::from(vec![Some(&b"503"[..]), None, Some(b"\xFF")])),
        ];
        for column in columns {
            let told = STATUS.of_column(&column).unwrap();
            assert_eq!(told, [Told::This(503), Told::Nothing, Told::Unreadable], "{}", column.data_type());
        }
        let nothing: ArrayRef = Arc::new(NullArray::new(2));
        assert_eq!(STATUS.of_column(&nothing).unwrap(), [Told::Nothing; 2]);
        let truths: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
        assert!(STATUS.of_column(&truths).is_err());
    }
}
