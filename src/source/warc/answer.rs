//! The block of a response record: an HTTP message (RFC 9112), as crawlers store it.
//!
//! Stored messages differ from sent ones: the body may be decoded already though the head still names a coding, or its
//! fields are renamed (`X-Crawl-Content-Encoding`), as Common Crawl does. So the octets have the last word.

use crate::origin::without_user_information;
use crate::robots::access::{FetchClass, Flag, Flags};
use crate::signals::response::{FieldName, ResponseFields};
use crate::source::coding::Codings;
use crate::source::folder::BODY_OCTETS;
use crate::tables::fetches::{HTTP_VERSIONS, Headers};
use crate::tables::text::{of_octets, of_octets_cut};

/// Octets of the longest head of a message.
pub(super) const HEAD_OCTETS: usize = 64 * 1024;
/// Octets kept of a header field.
const FIELD_OCTETS: usize = 1024;
/// Interim answers that are passed over.
const INTERIM_MAX: usize = 8;
/// What Common Crawl puts before the fields that were true of the message on the wire and are not of the stored one.
const CRAWL_PREFIX: &str = "X-Crawl-";

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    /// The version, where it is one that the table knows.
    pub(super) version: Option<&'static str>,
    pub(super) status: u16,
    fields: Vec<(&'a [u8], &'a [u8])>,
    body: &'a [u8],
}

/// A body with its codings undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) octets: Vec<u8>,
    /// Whether more would have come.
    pub(super) is_cut: bool,
    pub(super) flags: Flags,
}

impl<'a> Answer<'a> {
    /// Reads a message; `None` where it is none, or its head too long.
    pub(super) fn of(block: &'a [u8]) -> Option<Self> {
        let mut rest = block;
        for _ in 0..=INTERIM_MAX {
            let answer = Self::of_one(rest)?;
            if !(100..200).contains(&answer.status) || answer.status == 101 {
                return Some(answer);
            }
            rest = answer.body;
        }
        None
    }

    fn of_one(block: &'a [u8]) -> Option<Self> {
        let mut lines = Lines { rest: block };
        let (version, status) = status_line(lines.next()?)?;
        let mut fields = Vec::new();
        while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
            if block.len() - lines.rest.len() > HEAD_OCTETS {
                return None;
            }
            if let Some(colon) = memchr::memchr(b':', line) {
                fields.push((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()));
            }
        }
        Some(Self { version, status, fields, body: lines.rest })
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let of_name = move |own: &[u8]| own.eq_ignore_ascii_case(name.as_bytes());
        self.fields.iter().filter(move |(own, _)| of_name(own)).map(|(_, value)| *value)
    }

    fn list(&self, name: &str) -> Option<Vec<u8>> {
        let values: Vec<&[u8]> = self.values(name).collect();
        (!values.is_empty()).then(|| values.join(&b", "[..]))
    }

    fn has_chunked(&self, name: &str) -> bool {
        let mut codings = self.values(name).flat_map(|value| value.split(|octet| *octet == b','));
        codings.any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
    }

    /// Where the message points to, if it says so once.
    pub(super) fn location(&self) -> Option<&'a [u8]> {
        let mut values = self.values("Location");
        values.next().filter(|_| values.next().is_none())
    }

    /// The header fields that are kept, as the server sent them.
    pub(super) fn headers(&self) -> Headers {
        let kept = |octets: &[u8]| of_octets_cut(octets, FIELD_OCTETS).into_owned();
        let first = |name| self.values(name).next().map(kept);
        let all = |name: &str| self.list(name).map(|octets| kept(&octets));
        Headers {
            content_type: first("Content-Type"),
            content_encoding: all("Content-Encoding").or_else(|| all(&format!("{CRAWL_PREFIX}Content-Encoding"))),
            etag: first("ETag"),
            last_modified: first("Last-Modified"),
            cache_control: all("Cache-Control"),
            server: first("Server"),
            signals: ResponseFields::of(self.status, self.sent_fields()),
        }
    }

    /// The fields under the names that they had on the wire. A renamed one counts where no other has its name.
    fn sent_fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let is_there = |name: &&FieldName| self.values(name.as_str()).next().is_some();
        let there: Vec<FieldName> = FieldName::ALL.iter().filter(is_there).copied().collect();
        self.fields.iter().filter_map(move |(name, value)| {
            let parts = name.split_at_checked(CRAWL_PREFIX.len());
            match parts.filter(|(prefix, _)| prefix.eq_ignore_ascii_case(CRAWL_PREFIX.as_bytes())) {
                None => Some((*name, *value)),
                Some((_, name)) => FieldName::of(name).filter(|name| !there.contains(name)).map(|_| (name, *value)),
            }
        })
    }

    /// What `Retry-After` says in seconds.
    pub(super) fn retry_after_s(&self) -> Option<i64> {
        std::str::from_utf8(self.values("Retry-After").next()?).ok()?.parse().ok().filter(|seconds| *seconds >= 0)
    }

    /// The location as text, for redirects that lead nowhere.
    pub(super) fn location_as_given(&self) -> String {
        let mut given = self.list("Location").unwrap_or_default();
        given.truncate(crate::origin::URL_OCTETS);
        without_user_information(&of_octets(&given), false).into_owned()
    }

    /// The body with its codings undone. `is_cut` says that the block does not hold all of it.
    ///
    /// # Errors
    /// The class of an answer whose body cannot be had.
    pub(super) fn body(&self, is_cut: bool) -> Result<Body, FetchClass> {
        let octets = self.unchunked(is_cut)?;
        let field = self.list("Content-Encoding").unwrap_or_default();
        let codings = Codings::parse(&field).ok_or(FetchClass::DecodeFailed)?;
        let is_short = !is_cut && codings.is_plain() && self.ends_early(octets.len());
        let decoded = codings.undo(octets, is_cut, BODY_OCTETS).map_err(|_| FetchClass::DecodeFailed)?;
        if is_short {
            return Err(FetchClass::BodyIncomplete);
        }
        let mut flags = Flags::default();
        // A coding that is named and not there was undone by the crawler; one that is there and not named tells.
        if decoded.is_mislabelled && codings.is_plain() {
            flags.insert(Flag::CodingMislabelled);
        }
        Ok(Body { octets: decoded.octets, is_cut: decoded.is_cut, flags })
    }

    /// Without the chunks of RFC 9112 §7.1, where they are there. A crawler that undid them may have left the field.
    fn unchunked(&self, is_cut: bool) -> Result<Vec<u8>, FetchClass> {
        let is_announced = self.has_chunked("Transfer-Encoding");
        let was_announced = self.has_chunked(&format!("{CRAWL_PREFIX}Transfer-Encoding"));
        match Chunks::of(self.body) {
            Chunks::Whole(octets) if is_announced || was_announced => Ok(octets),
            Chunks::Cut(octets) if is_announced && is_cut => Ok(octets),
            Chunks::Cut(_) if is_announced => Err(FetchClass::BodyIncomplete),
            _ => Ok(self.body.to_vec()),
        }
    }

    /// Whether the stored body is shorter than the field says. Where a coding was undone, the field says nothing of it.
    fn ends_early(&self, octets: usize) -> bool {
        let was_decoded = ["Content-Encoding", "Transfer-Encoding", "Content-Length"]
            .iter()
            .any(|name| self.values(&format!("{CRAWL_PREFIX}{name}")).next().is_some());
        let length = self.values("Content-Length").next().and_then(|digits| std::str::from_utf8(digits).ok());
        let length: Option<u64> = length.and_then(|digits| digits.parse().ok());
        let is_framed = self.has_chunked("Transfer-Encoding");
        !was_decoded && !is_framed && length.is_some_and(|length| (octets as u64) < length)
    }
}

/// Lines of a head, without their ends.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest);
        let line = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = &self.rest[end.map_or(self.rest.len(), |end| end + 1)..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// `HTTP/1.1 200 OK`; the reason may be absent, and the version one that has no status line on the wire.
fn status_line(line: &[u8]) -> Option<(Option<&'static str>, u16)> {
    let mut words = line.split(|octet| *octet == b' ').filter(|word| !word.is_empty());
    let version = words.next().filter(|version| version.starts_with(b"HTTP/"))?;
    let status = words.next().filter(|status| status.len() == 3)?;
    let status = std::str::from_utf8(status).ok()?.parse().ok().filter(|status| *status >= 100)?;
    let known = HTTP_VERSIONS.into_iter().find(|known| known.as_bytes() == version);
    Some((known, status))
}

/// A body as chunks.
enum Chunks {
    /// Chunks to the last one.
    Whole(Vec<u8>),
    /// Chunks at the beginning, and then octets that are none.
    Cut(Vec<u8>),
    /// It has none.
    None,
}

impl Chunks {
    fn of(body: &[u8]) -> Self {
        let (mut rest, mut octets) = (body, Vec::new());
        loop {
            let Some((size, behind)) = chunk_size(rest) else {
                return if rest.len() == body.len() { Self::None } else { Self::Cut(octets) };
            };
            if size == 0 {
                return Self::Whole(octets);
            }
            let Some((chunk, behind)) = behind.split_at_checked(size) else {
                octets.extend_from_slice(behind);
                return Self::Cut(octets);
            };
            octets.extend_from_slice(chunk);
            let Some(behind) = behind.strip_prefix(b"\r\n") else {
                // Text may begin like the size of a chunk, and does not go on like one.
                let is_first = rest.len() == body.len() && !behind.is_empty();
                return if is_first { Self::None } else { Self::Cut(octets) };
            };
            rest = behind;
        }
    }
}

/// The size of a chunk, and what stands behind its line.
fn chunk_size(octets: &[u8]) -> Option<(usize, &[u8])> {
    let end = memchr::memchr(b'\n', &octets[..octets.len().min(1024)])?;
    let line = octets[..end].strip_suffix(b"\r")?.split(|octet| *octet == b';').next()?.trim_ascii();
    let is_size = (1..=8).contains(&line.len()) && line.iter().all(u8::is_ascii_hexdigit);
    let size = is_size.then(|| std::str::from_utf8(line).ok()).flatten()?;
    Some((usize::from_str_radix(size, 16).ok()?, &octets[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(message: &str) -> Result<(String, bool), FetchClass> {
        let answer = Answer::of(message.as_bytes()).expect("a message");
        answer.body(false).map(|body| {
            let text = String::from_utf8(body.octets).expect("text");
            (text, body.flags.contains(Flag::CodingMislabelled))
        })
    }

    #[test]
    fn bodies_as_crawlers_store_them() {
        let ok = |text: &str| Ok((text.to_owned(), false));
        for (head, stored, expected) in [
            ("Content-Length: 3", "abc", ok("abc")),
            ("Content-Length: 4", "abc", Err(FetchClass::BodyIncomplete)),
            ("Content-Length: 2", "abc", ok("abc")),
            ("X-Crawl-Content-Length: 400\r\nContent-Length: 3", "abc", ok("abc")),
            ("X-Crawl-Content-Encoding: gzip\r\nContent-Length: 9", "abc", ok("abc")),
            ("Content-Encoding: gzip\r\nContent-Length: 900", "User-agent: *", ok("User-agent: *")),
            ("Transfer-Encoding: chunked", "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", ok("abcde")),
            ("Transfer-Encoding: chunked", "User-agent: *\n", ok("User-agent: *\n")),
            ("Transfer-Encoding: chunked", "ad\nsense: no\n", ok("ad\nsense: no\n")),
            ("Transfer-Encoding: chunked", "3\r\nabc\r\n9\r\nde", Err(FetchClass::BodyIncomplete)),
            ("X-Crawl-Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n", ok("abc")),
            ("X-Crawl-Transfer-Encoding: chunked", "3\r\nabc\r\n9\r\nde", ok("3\r\nabc\r\n9\r\nde")),
        ] {
            assert_eq!(body(&format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{stored}")), expected, "{head}: {stored}");
        }
    }

    #[test]
    fn heads() {
        let answer = Answer::of(b"HTTP/1.1 103 Early\r\n\r\nHTTP/2 301\nlocation:  /x \nBroken\n\nbody").expect("one");
        assert_eq!((answer.version, answer.status, answer.location()), (None, 301, Some(&b"/x"[..])));
        assert_eq!(answer.body, b"body");
        for none in ["", "\r\n", "HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 099 X", "<html>", "ICY 200 OK"] {
            assert_eq!(Answer::of(none.as_bytes()), None, "{none}");
        }
        let twice = Answer::of(b"HTTP/1.0 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n").expect("one");
        assert_eq!((twice.location(), twice.location_as_given()), (None, "/a, /b".to_owned()));
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(HEAD_OCTETS));
        assert_eq!(Answer::of(long.as_bytes()), None);
    }
}
