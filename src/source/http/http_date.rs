//! Dates of header fields, in the three forms that a recipient has to read (RFC 9110 §5.6.7).

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970; `None` where it is no date. A year of two digits is read from `now_s`.
pub(super) fn parse(value: &str, now_s: i64) -> Option<i64> {
    let parts: Vec<&str> = value.split([' ', ',', '-']).filter(|part| !part.is_empty()).collect();
    // IMF-fixdate and the form of RFC 850; the form of C's asctime().
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = parts.as_slice() else { return None };
    let month = MONTHS.iter().zip(1..).find(|(name, _)| *name == month)?.1;
    let year = match (year.len(), number(year)?) {
        (4, year) => year,
        (2, year) => near(year, now_s)?,
        _ => return None,
    };
    let date = Date::new(year, month, i8::try_from(number(day)?).ok()?).ok()?;
    let timestamp = TimeZone::UTC.to_timestamp(date.to_datetime(time_of_day(time)?)).ok()?;
    Some(timestamp.as_second())
}

fn time_of_day(text: &str) -> Option<Time> {
    let [hour, minute, second] = text.split(':').collect::<Vec<_>>()[..] else { return None };
    let part = |text: &str| i8::try_from(number(text)?).ok();
    // A leap second is read as the second before.
    Time::new(part(hour)?, part(minute)?, part(second).map(|second| if second == 60 { 59 } else { second })?, 0).ok()
}

fn number(text: &str) -> Option<i16> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The year with these last two digits that is not more than 50 years ahead, and not longer ago than it must be.
fn near(two_digits: i16, now_s: i64) -> Option<i16> {
    let this_year = TimeZone::UTC.to_datetime(jiff::Timestamp::from_second(now_s).ok()?).year();
    (this_year - 49..=this_year + 50).find(|year| year % 100 == two_digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-11-30T12:00:00Z.
    const NOW_S: i64 = 1_796_040_000;

    #[test]
    fn three_forms_of_one_time() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun Nov 06 08:49:37 1994",
        ] {
            assert_eq!(parse(text, NOW_S), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn years_of_two_digits_are_near() {
        let year = |digits: &str| {
            let second = parse(&format!("Sunday, 06-Nov-{digits} 08:49:37 GMT"), NOW_S).expect("a date");
            TimeZone::UTC.to_datetime(jiff::Timestamp::from_second(second).expect("in range")).year()
        };
        assert_eq!(["26", "27", "76", "77", "99", "00"].map(year), [2026, 2027, 2076, 1977, 1999, 2000]);
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "soon",
            "-5",
            "Sun, 31 Feb 2021 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 199 08:49:37 GMT",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "6 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(parse(text, NOW_S), None, "{text}");
        }
        assert!(parse("Thu, 31 Dec 2016 23:59:60 GMT", NOW_S).is_some(), "a leap second");
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_or_none(
            text in "([A-Z][a-z]{2}|[0-9]{1,5}|[0-9]{2}:[0-9]{2}:[0-9]{2}|GMT|.|[ ,-]){0,12}",
            now_s: i64,
        ) {
            if let Some(second) = parse(&text, now_s) {
                prop_assert!(jiff::Timestamp::from_second(second).is_ok());
            }
        }

        #[test]
        fn every_second_of_four_digits_is_read_in_three_forms(second in -62_167_219_200_i64..253_402_207_201) {
            let time = TimeZone::UTC.to_datetime(jiff::Timestamp::from_second(second).expect("in range"));
            let (year, month, day) = (time.year(), MONTHS[usize::from(time.month().unsigned_abs()) - 1], time.day());
            let clock = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
            for text in [
                format!("Xxx, {day:02} {month} {year:04} {clock} GMT"),
                format!("Xxx {month} {day:2} {clock} {year:04}"),
            ] {
                prop_assert_eq!(parse(&text, NOW_S), Some(second), "{}", text);
            }
            let text = format!("Xxxday, {day:02}-{month}-{:02} {clock} GMT", year % 100);
            prop_assert_eq!(parse(&text, second), Some(second), "{}", text);
        }
    }
}
