//! From an answer's head to the facts that the table keeps.

use std::time::SystemTime;

use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, RETRY_AFTER, SERVER,
};
use hyper::{StatusCode, Version};

use super::http_date;
use crate::signals::response::ResponseFields;
use crate::source::clock::micros;
use crate::tables::fetches::Headers;
use crate::tables::text::{of_octets, of_octets_cut};

/// Octets kept of a header field: validators and dates are far shorter.
pub(super) const FIELD_OCTETS: usize = 1024;

/// The header fields that are kept of an answer with this status.
pub(super) fn headers(status: StatusCode, map: &HeaderMap) -> Headers {
    let kept = |octets: &[u8]| of_octets_cut(octets, FIELD_OCTETS).into_owned();
    let first = |name: HeaderName| map.get(name).map(|value| kept(value.as_bytes()));
    let all = |name: HeaderName| list(map, &name).map(|octets| kept(&octets));
    let fields = map.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    Headers {
        content_type: first(CONTENT_TYPE),
        content_encoding: all(CONTENT_ENCODING),
        etag: first(ETAG),
        last_modified: first(LAST_MODIFIED),
        cache_control: all(CACHE_CONTROL),
        server: first(SERVER),
        signals: ResponseFields::of(status.as_u16(), fields),
    }
}

/// The value of a list field, its lines joined (RFC 9110 §5.3).
pub(super) fn list(map: &HeaderMap, name: &HeaderName) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = map.get_all(name).iter().map(hyper::header::HeaderValue::as_bytes).collect();
    (!lines.is_empty()).then(|| lines.join(&b", "[..]))
}

/// Octets as text; those that are no UTF-8 as `\xNN`.
pub(super) fn text(octets: &[u8]) -> String {
    of_octets(octets).into_owned()
}

/// Seconds that `Retry-After` asks for (RFC 9110 §10.2.3); a time that is over asks for none.
pub(super) fn retry_after_s(map: &HeaderMap, now: SystemTime) -> Option<i64> {
    let value = map.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit()) {
        return Some(value.parse().unwrap_or(i64::MAX));
    }
    let now_s = micros(now) / 1_000_000;
    http_date::parse(value, now_s).map(|time_s| (time_s - now_s).max(0))
}

/// The version as a status line writes it.
pub(super) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn retry_after_in_seconds_or_as_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(1_609_459_200);
        for (value, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999", Some(i64::MAX)),
            ("Fri, 01 Jan 2021 00:02:00 GMT", Some(120)),
            ("Fri, 01 Jan 1999 00:00:00 GMT", Some(0)),
            ("Friday, 01-Jan-21 00:02:00 GMT", Some(120)),
            ("Fri Jan  1 00:02:00 2021", Some(120)),
            ("-5", None),
            ("soon", None),
            ("", None),
        ] {
            let map = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(value).expect("ASCII"))]);
            assert_eq!(retry_after_s(&map, now), expected, "{value:?}");
        }
    }

    #[test]
    fn header_octets_become_text() {
        let mut map = HeaderMap::new();
        map.append(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        map.append(CONTENT_ENCODING, HeaderValue::from_static("br"));
        map.append(SERVER, HeaderValue::from_bytes(b"caf\xC3\xA9 \xFF").expect("allowed octets"));
        let headers = headers(StatusCode::OK, &map);
        assert_eq!(headers.content_encoding.as_deref(), Some("gzip, br"));
        assert_eq!(headers.server.as_deref(), Some("caf\u{e9} \\xFF"));
        assert_eq!(headers.etag, None);
    }

    proptest! {
        #[test]
        fn any_retry_after_is_no_time_or_one_to_come(value in "[0-9]{1,25}|[ -~]{0,40}|.{0,40}", now_s in 0_u64..1 << 40) {
            let Ok(value) = HeaderValue::from_str(&value) else { return Ok(()) };
            let map = HeaderMap::from_iter([(RETRY_AFTER, value)]);
            let seconds = retry_after_s(&map, UNIX_EPOCH + Duration::from_secs(now_s));
            prop_assert!(seconds.is_none_or(|seconds| seconds >= 0));
        }
    }
}
