//! Times as others write them: of captures that are taken over, and of the rows that are judged by captures. One reading
//! for both, so that what the one takes the other takes.
//!
//! A day, a week or a year stands for its end, so that a capture of that day counts. What names no zone is UTC.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, TimeUnit, TimestampMicrosecondType};
use arrow::error::ArrowError;
use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday, date};
use jiff::tz::TimeZone;

use super::told::{Reading, Told, told};
use crate::tables::fetches::Timestamp;

/// Beginning of the names of Common Crawl's crawls.
const CRAWL: &str = "CC-MAIN-";

/// Microseconds of a day.
const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Digits of `20240501` and `20240501100000`, and the fewest of a count of seconds that may stand in text.
const DAY_DIGITS: usize = 8;
const SECOND_DIGITS: usize = 14;
const COUNT_DIGITS: usize = 9;
/// Digits of `20240501100000123`.
const MILLISECOND_DIGITS: usize = 17;

/// Counts since 1970 below these are of seconds (to the year 5138), milliseconds and microseconds; those above are of
/// nanoseconds.
const SECONDS: u64 = 100_000_000_000;
const MILLISECONDS: u64 = 1_000 * SECONDS;
const MICROSECONDS: u64 = 1_000 * MILLISECONDS;

/// How times are read.
pub(crate) const TIME: Reading<Timestamp> =
    Reading { integer: of_integer, float: of_float, text: of_text, name: "time" };

/// Reads `2024-05-01T10:00:00Z` (UTC where no offset is given, with `T` or a blank), `2024-05-01`, `20240501`,
/// `20240501100000`, a count since 1970 as [`of_integer`] does, `CC-MAIN-2024-18` and the older `CC-MAIN-2012` and
/// `CC-MAIN-2009-2010`.
#[must_use]
pub fn of_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(crawl) = text.strip_prefix(CRAWL) {
        return end_of(of_crawl(crawl)?);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match (digits == text.len(), text.as_bytes().get(digits)) {
        (true, _) if digits == DAY_DIGITS => return of_date_digits(text.parse().ok()?),
        (true, _) => return text.parse().ok().filter(|_| digits >= COUNT_DIGITS).and_then(of_integer),
        (false, Some(b'.')) if digits >= COUNT_DIGITS => return text.parse().ok().and_then(of_float),
        _ => {}
    }
    if text.len() <= "2024-05-01".len() {
        return end_of(text.parse().ok()?);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(time.as_microsecond());
    }
    let local: DateTime = text.strip_suffix(" UTC").unwrap_or(text).parse().ok()?;
    of_local(local)
}

/// Reads a count of seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size; and
/// `20240501`, `20240501100000` and `20240501100000123`, which are digits of a date and no counts.
#[must_use]
pub fn of_integer(number: i64) -> Option<Timestamp> {
    if let Some(time) = of_date_digits(number) {
        return Some(time);
    }
    if number.to_string().len() == MILLISECOND_DIGITS
        && let Some(second) = of_date_digits(number / 1_000)
    {
        return second.checked_add(number % 1_000 * 1_000);
    }
    match number.unsigned_abs() {
        ..SECONDS => number.checked_mul(1_000_000),
        SECONDS..MILLISECONDS => number.checked_mul(1_000),
        MILLISECONDS..MICROSECONDS => Some(number),
        _ => Some(number.div_euclid(1_000)),
    }
}

/// The same of a number with a fraction.
#[must_use]
pub fn of_float(number: f64) -> Option<Timestamp> {
    /// Below it every whole number is one float.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "far from the ends of the type")]
    let whole = |number: f64| number as i64;
    if !number.is_finite() || number.abs() >= 9e18 {
        return None;
    }
    if number.fract() == 0.0 && number.abs() < WHOLE {
        return of_integer(whole(number));
    }
    if number >= 1e13
        && let Some(second) = of_date_digits(whole(number.trunc()))
    {
        return second.checked_add(whole((number.fract() * 1e6).round()));
    }
    let size = number.abs();
    let micros = if size < 1e11 {
        number * 1e6
    } else if size < 1e14 {
        number * 1e3
    } else if size < 1e17 {
        number
    } else {
        number / 1e3
    };
    Some(whole(micros.round()))
}

/// `20240501` and `20240501100000`, where these are a day of 1900 to 2199 and a time of it.
fn of_date_digits(number: i64) -> Option<Timestamp> {
    let part = |place: i64, places: i64| i8::try_from(number / place % places).ok();
    let (days, is_day) = match number.to_string().len() {
        DAY_DIGITS => (1, true),
        SECOND_DIGITS => (1_000_000, false),
        _ => return None,
    };
    let year = i16::try_from(number / days / 10_000).ok().filter(|year| (1900..2200).contains(year))?;
    let day = Date::new(year, part(days * 100, 100)?, part(days, 100)?).ok()?;
    if is_day {
        return end_of(day);
    }
    let time = jiff::civil::Time::new(part(10_000, 100)?, part(100, 100)?, part(1, 100)?, 0).ok()?;
    of_local(day.to_datetime(time))
}

fn of_local(local: DateTime) -> Option<Timestamp> {
    Some(TimeZone::UTC.to_timestamp(local).ok()?.as_microsecond())
}

/// The last day of a crawl.
fn of_crawl(name: &str) -> Option<Date> {
    let (year, rest) = match name.split_once('-') {
        Some((year, rest)) => (year, Some(rest)),
        None => (name, None),
    };
    match rest {
        Some(week) if week.len() == 2 => {
            let week = ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Sunday).ok()?;
            Some(week.date())
        }
        Some(last) if last.len() == 4 => Date::new(last.parse().ok()?, 12, 31).ok(),
        None if year.len() == 4 => Date::new(year.parse().ok()?, 12, 31).ok(),
        _ => None,
    }
}

fn end_of(day: Date) -> Option<Timestamp> {
    end_of_days(day.since(date(1970, 1, 1)).ok()?.get_days())
}

fn end_of_days(days: i32) -> Option<Timestamp> {
    i64::from(days).checked_add(1)?.checked_mul(DAY_US)?.checked_sub(1)
}

/// The times of a column.
///
/// # Errors
/// A type that tells no time.
pub(crate) fn of_column(column: &ArrayRef) -> Result<Vec<Told<Timestamp>>, ArrowError> {
    match column.data_type() {
        DataType::Timestamp(_, zone) => {
            let micros = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            let micros = micros.as_primitive::<TimestampMicrosecondType>();
            Ok(told(column, |row| micros.is_valid(row).then(|| micros.value(row))))
        }
        DataType::Date32 | DataType::Date64 => {
            let days = cast(column, &DataType::Date32)?;
            let days = days.as_primitive::<Date32Type>();
            Ok(told(column, |row| days.is_valid(row).then(|| end_of_days(days.value(row))).flatten()))
        }
        _ => TIME.of_column(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse::<jiff::Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn times_as_texts_tell_them() {
        for (text, expected) in [
            ("2013-05-18T05:48:54Z", Some("2013-05-18T05:48:54Z")),
            (" 2013-05-18T05:48:54.5Z ", Some("2013-05-18T05:48:54.5Z")),
            ("2013-05-18T05:48:54+02:00", Some("2013-05-18T03:48:54Z")),
            ("2013-05-18 05:48:54+02:00", Some("2013-05-18T03:48:54Z")),
            ("2013-05-18 05:48:54", Some("2013-05-18T05:48:54Z")),
            ("2013-05-18T05:48:54", Some("2013-05-18T05:48:54Z")),
            ("2013-05-18 05:48:54 UTC", Some("2013-05-18T05:48:54Z")),
            ("2013-05-18", Some("2013-05-18T23:59:59.999999Z")),
            ("20130518", Some("2013-05-18T23:59:59.999999Z")),
            ("20130518054854", Some("2013-05-18T05:48:54Z")),
            ("20130518054854250", Some("2013-05-18T05:48:54.25Z")),
            ("20130518054854.5", Some("2013-05-18T05:48:54.5Z")),
            ("1368856134", Some("2013-05-18T05:48:54Z")),
            ("1368856134.5", Some("2013-05-18T05:48:54.5Z")),
            ("1368856134000", Some("2013-05-18T05:48:54Z")),
            ("CC-MAIN-2024-18", Some("2024-05-05T23:59:59.999999Z")),
            ("CC-MAIN-2020-53", Some("2021-01-03T23:59:59.999999Z")),
            ("CC-MAIN-2012", Some("2012-12-31T23:59:59.999999Z")),
            ("CC-MAIN-2009-2010", Some("2010-12-31T23:59:59.999999Z")),
            ("CC-MAIN-2021-53", None),
            ("CC-MAIN-", None),
            ("1960-01-01", Some("1960-01-01T23:59:59.999999Z")),
            ("2013-02-30T05:48:54Z", None),
            ("20130230", None),
            ("2013", None),
            ("99999999999999999999", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(of_text(text), expected.map(at), "{text}");
        }
    }

    #[test]
    fn counts_are_told_apart_by_size() {
        let expected = Some(at("2024-01-01T00:00:00Z"));
        for number in [1_704_067_200, 1_704_067_200_000, 1_704_067_200_000_000, 1_704_067_200_000_000_000] {
            assert_eq!(of_integer(number), expected, "{number}");
            assert_eq!(TIME.of_digits(number.to_string().as_bytes()), Told::read(expected), "{number}");
        }
        for number in [1_704_067_200.0, 1_704_067_200_000.0, 1_704_067_200_000_000.0, 1_704_067_200_000_000_000.0] {
            assert_eq!(of_float(number), expected, "{number}");
        }
        assert_eq!((of_integer(1), of_integer(-1), of_integer(0)), (Some(1_000_000), Some(-1_000_000), Some(0)));
        assert_eq!(of_integer(20_240_101_000_000), expected);
        assert_eq!(of_integer(20_240_101_000_000_250), expected.map(|time| time + 250_000));
        assert_eq!((end_of_days(i32::MAX), end_of_days(0)), (None, Some(DAY_US - 1)));
        assert_eq!(of_integer(i64::MIN), Some(i64::MIN.div_euclid(1_000)));
        assert_eq!(of_float(1_704_067_200.25), expected.map(|time| time + 250_000));
        assert_eq!([f64::NAN, f64::INFINITY, 1e300].map(of_float), [None; 3]);
    }
}
