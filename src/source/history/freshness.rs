//! How long a stored answer may be used without asking again (§2.4, RFC 9111 §4.2, §5.2.2; fetch policy §3).

use std::time::Duration;

/// No answer is used longer without a request (§2.4), and one is that says nothing about it.
pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Every answer is used so long: no server can have itself asked again and again within one run.
pub const SHORTEST: Duration = Duration::from_secs(60);

/// The lifetime of an answer with this `Cache-Control`: `max-age` within [`SHORTEST`] and [`LONGEST`].
///
/// `no-cache` and `no-store` count as `max-age=0`, with or without field names, and so does a `max-age` that is no
/// number. Of several the shortest counts. `s-maxage` is for caches that serve others; `Expires` and `Age` are not
/// kept by the tables.
#[must_use]
pub fn lifetime(cache_control: Option<&str>) -> Duration {
    let directives = cache_control.unwrap_or_default().split(',');
    let shortest = directives.filter_map(of_directive).min();
    shortest.unwrap_or(LONGEST).clamp(SHORTEST, LONGEST)
}

/// What one directive allows; `None` where it says nothing about time.
fn of_directive(directive: &str) -> Option<Duration> {
    let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
    let name = name.trim();
    if name.eq_ignore_ascii_case("no-cache") || name.eq_ignore_ascii_case("no-store") {
        return Some(Duration::ZERO);
    }
    name.eq_ignore_ascii_case("max-age").then(|| seconds(value.trim().trim_matches('"')))
}

fn seconds(digits: &str) -> Duration {
    if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Duration::ZERO;
    }
    // More than a number holds is more than is ever used.
    Duration::from_secs(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lifetimes_by_directive() {
        for (cache_control, expected_s) in [
            (None, 86_400),
            (Some(""), 86_400),
            (Some("public"), 86_400),
            (Some("max-age=3600"), 3_600),
            (Some("public, Max-Age = 3600 , immutable"), 3_600),
            (Some("max-age=\"300\""), 300),
            (Some("max-age=0"), 60),
            (Some("max-age=59"), 60),
            (Some("max-age=31536000"), 86_400),
            (Some("max-age=99999999999999999999999"), 86_400),
            (Some("max-age=-1"), 60),
            (Some("max-age=soon"), 60),
            (Some("max-age"), 60),
            (Some("max-age=600, max-age=300"), 300),
            (Some("no-cache, max-age=3600"), 60),
            (Some("private, no-store"), 60),
            (Some("no-cache=\"set-cookie\""), 60),
            (Some("s-maxage=5"), 86_400),
            (Some("must-revalidate"), 86_400),
        ] {
            assert_eq!(lifetime(cache_control).as_secs(), expected_s, "{cache_control:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_said_lifetimes_are_bounded_and_more_words_shorten_them(
            said in "(max-age|no-store|s-maxage|=|,|\"|[0-9]{1,25}| |.){0,10}",
            more in "(max-age|no-cache|=|,|\"|[0-9]{1,25}| |.){0,10}",
        ) {
            let alone = lifetime(Some(&said));
            prop_assert!((SHORTEST..=LONGEST).contains(&alone));
            let both = format!("{said},{more}");
            prop_assert!(lifetime(Some(&both)) <= alone, "{}", both);
        }
    }
}
