//! Octets to lines and `key: value` records (§2.2, §2.5).
//!
//! Applies the size limit, drops a byte order mark, splits lines and cuts comments. What a key means is left to
//! [`parse`](super::parse).

use std::fmt;
use std::num::NonZeroU32;

/// Octets of a body that are read; §2.5 asks for at least 500 KiB.
pub const PARSE_OCTETS: usize = 512_000;

/// U+FEFF in UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A 1-based line number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(NonZeroU32);

impl Line {
    /// The first line.
    pub const FIRST: Self = Self(NonZeroU32::MIN);

    /// The line after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl From<Line> for u32 {
    fn from(line: Line) -> Self {
        line.0.get()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The part of a body that is parsed, and whether lines were lost at the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readable<'a> {
    /// At most as many as the limit, without a byte order mark.
    pub octets: &'a [u8],
    /// Whether the body was longer than the limit.
    pub is_truncated: bool,
}

/// Cuts a body at the size limit and drops a leading byte order mark, or as much of one as is there.
///
/// Of a longer body only the lines whose end mark lies within the limit are kept: half a rule is no rule.
#[must_use]
pub fn readable(body: &[u8], limit_octets: usize) -> Readable<'_> {
    let is_truncated = body.len() > limit_octets;
    let kept = if is_truncated { whole_lines(&body[..limit_octets]) } else { body };
    let mark = kept.iter().zip(BYTE_ORDER_MARK).take_while(|(octet, mark)| octet == mark).count();
    Readable { octets: &kept[mark..], is_truncated }
}

fn whole_lines(head: &[u8]) -> &[u8] {
    &head[..end_of_last_line(head).unwrap_or(0)]
}

fn end_of_last_line(head: &[u8]) -> Option<usize> {
    memchr::memrchr2(b'\n', b'\r', head).map(|mark| mark + 1)
}

/// Drops the last line of a body that was cut before it came to be parsed: half a rule is no rule.
///
/// A body without a line end stays as it is, as evidence: a rule needs a line in front of it that opens its group.
pub fn drop_half_line(cut: &mut Vec<u8>) {
    if let Some(end) = end_of_last_line(cut) {
        cut.truncate(end);
    }
}

/// What one line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// Nothing but blanks or a comment.
    Blank,
    /// A key and a value, both trimmed.
    Record {
        /// Before the first colon.
        key: &'a [u8],
        /// After it, without a comment; may be empty.
        value: &'a [u8],
    },
    /// Text without a colon.
    Other(&'a [u8]),
}

/// The lines of a readable body, numbered, each without its comment.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    octets: &'a [u8],
    /// Where the next line begins.
    start: usize,
    line: Line,
    line_feeds: Next,
    carriage_returns: Next,
    comments: Next,
}

/// Where an octet occurs next. What a file hardly uses is looked for once in many lines, so that none is read through
/// for each of its lines.
#[derive(Debug, Clone, Copy)]
struct Next {
    octet: u8,
    /// No place between where the search began and here.
    place: usize,
}

/// Behind every body.
const NOT_LOOKED_FOR: usize = usize::MAX;

impl Next {
    const fn new(octet: u8) -> Self {
        Self { octet, place: NOT_LOOKED_FOR }
    }

    /// The first place from `start` on, or the end; `start` never goes back.
    #[inline]
    fn from(&mut self, octets: &[u8], start: usize) -> usize {
        if self.place < start || self.place == NOT_LOOKED_FOR {
            self.place = memchr::memchr(self.octet, &octets[start..]).map_or(octets.len(), |place| start + place);
        }
        self.place
    }
}

impl<'a> Lines<'a> {
    /// The lines of these octets, from number 1.
    #[must_use]
    pub const fn of(octets: &'a [u8]) -> Self {
        let (line_feeds, carriage_returns, comments) = (Next::new(b'\n'), Next::new(b'\r'), Next::new(b'#'));
        Self { octets, start: 0, line: Line::FIRST, line_feeds, carriage_returns, comments }
    }

    /// The same lines with their comments.
    pub fn with_comments(mut self) -> impl Iterator<Item = (Line, &'a [u8])> {
        std::iter::from_fn(move || {
            if self.start == self.octets.len() {
                return None;
            }
            let (end, next) = self.ends();
            let (line, text) = (self.line, &self.octets[self.start..end]);
            (self.start, self.line) = (next, line.next());
            Some((line, text))
        })
    }

    /// Where the line that begins at `start` ends, and where the next one begins: behind LF, CR LF or a lone CR.
    #[inline]
    fn ends(&mut self) -> (usize, usize) {
        let (octets, start) = (self.octets, self.start);
        let end = self.line_feeds.from(octets, start);
        let carriage_return = self.carriage_returns.from(octets, start);
        if carriage_return < end {
            let is_pair = carriage_return + 1 == end && end < octets.len();
            return (carriage_return, carriage_return + 1 + usize::from(is_pair));
        }
        (end, octets.len().min(end + 1))
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (Line, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.start == self.octets.len() {
            return None;
        }
        let (end, next) = self.ends();
        let comment = self.comments.from(self.octets, self.start);
        let text = &self.octets[self.start..end.min(comment)];
        self.start = next;
        let line = self.line;
        self.line = line.next();
        Some((line, text))
    }
}

/// The most frequent key.
const DISALLOW: &[u8; 8] = b"disallow";

/// Whether the key is these lower-case letters, in either case; of one length, so that they are compared all at once.
pub(super) fn is_word<const N: usize>(key: &[u8], letters: [u8; N]) -> bool {
    let Ok(key) = <[u8; N]>::try_from(key) else { return false };
    key.map(|octet| octet | 0x20) == letters
}

/// What a line without its comment holds.
#[inline]
#[must_use]
pub fn content(text: &[u8]) -> Content<'_> {
    // Nine lines of ten are this one, and its colon need not be looked for.
    if let [key @ .., b':'] = text.get(..DISALLOW.len() + 1).unwrap_or_default()
        && is_word(key, *DISALLOW)
    {
        return Content::Record { key, value: trim(&text[DISALLOW.len() + 1..]) };
    }
    // Keys are short: a plain loop reaches the colon before a vector search would have begun.
    match text.iter().position(|octet| *octet == b':') {
        Some(colon) => Content::Record { key: trim(&text[..colon]), value: trim(&text[colon + 1..]) },
        None => match trim(text) {
            [] => Content::Blank,
            other => Content::Other(other),
        },
    }
}

/// Blank, tab, LF, VT, FF and CR: white space in the sense of C, which the file's grammar keeps to.
pub(super) const fn is_blank(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t'..=b'\r')
}

pub(super) fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|octet| !is_blank(*octet)).unwrap_or(text.len());
    let end = text.iter().rposition(|octet| !is_blank(*octet)).map_or(start, |last| last + 1);
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(body: &[u8]) -> Vec<(u32, Vec<u8>)> {
        Lines::of(readable(body, PARSE_OCTETS).octets)
            .filter_map(|(line, text)| match content(text) {
                Content::Record { key, .. } => Some((line.into(), key.to_vec())),
                Content::Blank | Content::Other(_) => None,
            })
            .collect()
    }

    #[test]
    fn the_line_that_was_cut_is_dropped() {
        for (cut, kept) in
            [("a\nb\r\nDisallow: /", "a\nb\r\n"), ("a\rb", "a\r"), ("a\n", "a\n"), ("<html>", "<html>"), ("", "")]
        {
            let mut body = cut.as_bytes().to_vec();
            drop_half_line(&mut body);
            assert_eq!(body, kept.as_bytes(), "{cut:?}");
        }
    }

    #[test]
    fn lines_end_at_lf_crlf_and_cr() {
        assert_eq!(
            keys(b"a:\nb:\r\nc:\rd:\r\r\ne:"),
            [(1, b"a".to_vec()), (2, b"b".to_vec()), (3, b"c".to_vec()), (4, b"d".to_vec()), (6, b"e".to_vec())]
        );
    }

    #[test]
    fn a_partial_byte_order_mark_is_dropped() {
        for mark in [&b"\xEF"[..], b"\xEF\xBB", b"\xEF\xBB\xBF"] {
            assert_eq!(keys(&[mark, b"a:1"].concat()), [(1, b"a".to_vec())]);
        }
        assert_eq!(keys(b"\xBB\xBFa:1"), [(1, b"\xBB\xBFa".to_vec())]);
    }

    #[test]
    fn a_line_across_the_limit_is_dropped_whole() {
        let mut body = vec![b'#'; PARSE_OCTETS - 5];
        body.extend(b"\na:1\nb:2\n");
        let kept = readable(&body, PARSE_OCTETS);
        assert!(kept.is_truncated);
        assert_eq!(kept.octets.len(), PARSE_OCTETS);
        assert_eq!(keys(&body), [(2, b"a".to_vec())]);
        body.insert(0, b'#');
        assert!(keys(&body).is_empty());
    }

    #[test]
    fn comments_stay_where_they_are_asked_for() {
        let lines = Lines::of(b"a: # b\r\n#\rc:\n\n").with_comments();
        assert!(lines.map(|(line, text)| (u32::from(line), text)).eq([
            (1, &b"a: # b"[..]),
            (2, b"#"),
            (3, b"c:"),
            (4, b""),
        ]));
    }

    #[test]
    fn records_are_trimmed_and_comments_cut() {
        let line = |text| Lines::of(text).next().map(|(_, text)| content(text));
        assert_eq!(line(b"\t Key\x0b:\x0c v:w # c"), Some(Content::Record { key: b"Key", value: b"v:w" }));
        assert_eq!(line(b"key # : v"), Some(Content::Other(b"key")));
        assert_eq!(line(b"  # : v"), Some(Content::Blank));
        assert_eq!(line(b":"), Some(Content::Record { key: b"", value: b"" }));
        assert_eq!(line(b""), None);
    }
}
