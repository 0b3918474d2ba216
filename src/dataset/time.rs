//! What a row says about its time: a timestamp, a date, or the name of a crawl of Common Crawl.
//!
//! A day, a week or a year stands for its end, so that a capture of that day counts.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, TimeUnit, TimestampMicrosecondType};
use arrow::error::ArrowError;
use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday, date};
use jiff::tz::TimeZone;

use super::snapshots::When;
use crate::tables::fetches::Timestamp;

/// Beginning of the names of Common Crawl's crawls.
const CRAWL: &str = "CC-MAIN-";

/// Microseconds of a day.
const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Reads `2024-05-01T10:00:00Z` (UTC where no offset is given), `2024-05-01`, `CC-MAIN-2024-18` and the older
/// `CC-MAIN-2012` and `CC-MAIN-2009-2010`.
#[must_use]
pub fn of_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(crawl) = text.strip_prefix(CRAWL) {
        return end_of(of_crawl(crawl)?);
    }
    if text.len() <= "2024-05-01".len() {
        return end_of(text.parse().ok()?);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(time.as_microsecond());
    }
    let local: DateTime = text.parse().ok()?;
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
    let days = day.since(date(1970, 1, 1)).ok()?.get_days();
    i64::from(days).checked_add(1)?.checked_mul(DAY_US)?.checked_sub(1)
}

/// The times of a column; also of how many rows it is not known.
///
/// # Errors
/// A type that tells no time.
pub fn of_column(column: &ArrayRef) -> Result<Vec<When>, ArrowError> {
    match column.data_type() {
        DataType::Timestamp(..) => {
            let micros = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
            let micros = micros.as_primitive::<TimestampMicrosecondType>();
            Ok(micros.iter().map(|time| time.map_or(When::Unknown, When::At)).collect())
        }
        DataType::Date32 | DataType::Date64 => {
            let days = cast(column, &DataType::Date32)?;
            let end = |day: i32| (i64::from(day) + 1) * DAY_US - 1;
            Ok(days
                .as_primitive::<Date32Type>()
                .iter()
                .map(|day| day.map_or(When::Unknown, |d| When::At(end(d))))
                .collect())
        }
        _ => {
            let texts = cast(column, &DataType::Utf8View)?;
            let texts = texts.as_string_view();
            // Rows of a crawl stand together.
            let mut last: Option<(&str, When)> = None;
            let mut times = Vec::with_capacity(texts.len());
            for text in texts {
                let Some(text) = text else {
                    times.push(When::Unknown);
                    continue;
                };
                let time = match last {
                    Some((same, time)) if same == text => time,
                    _ => of_text(text).map_or(When::Unknown, When::At),
                };
                last = Some((text, time));
                times.push(time);
            }
            Ok(times)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_rows_tell_them() {
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        for (text, expected) in [
            ("2013-05-18T05:48:54Z", Some("2013-05-18T05:48:54Z")),
            ("2013-05-18T05:48:54+02:00", Some("2013-05-18T03:48:54Z")),
            ("2013-05-18 05:48:54", Some("2013-05-18T05:48:54Z")),
            ("2013-05-18", Some("2013-05-18T23:59:59.999999Z")),
            ("CC-MAIN-2024-18", Some("2024-05-05T23:59:59.999999Z")),
            ("CC-MAIN-2020-53", Some("2021-01-03T23:59:59.999999Z")),
            ("CC-MAIN-2012", Some("2012-12-31T23:59:59.999999Z")),
            ("CC-MAIN-2009-2010", Some("2010-12-31T23:59:59.999999Z")),
            ("CC-MAIN-2021-53", None),
            ("CC-MAIN-", None),
            ("1960-01-01", Some("1960-01-01T23:59:59.999999Z")),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(of_text(text), expected.map(at), "{text}");
        }
    }
}
