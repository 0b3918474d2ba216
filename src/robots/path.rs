//! Path and query of a URL, brought to the one form in which rules are compared (§2.2.2).
//!
//! Works on the octets of the URL as given: no dot-segment, backslash or other rewriting.
//!
//! A [`Path`] is made once per URL and asked by many rule sets. Most URLs are in that form already; then it borrows
//! from the URL, and nothing is copied.

use std::cell::OnceCell;

use super::google::{self, Quirk, Reading};
use super::token::Matching;

/// Octets that stand for themselves whether escaped or not (RFC 3986 §2.3).
const fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// The path and query of a URL, as given, and whether a `/` is missing in front of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPath<'a> {
    /// Octets of path and query; empty where the URL ends at its authority.
    octets: &'a [u8],
    needs_slash: bool,
    reading: Reading,
}

impl<'a> RawPath<'a> {
    /// Cuts path and query from a URL as a mode has it.
    #[must_use]
    pub fn read(url: &'a [u8], matching: Matching) -> Self {
        Self::read_as(url, matching.into())
    }

    /// The same, in a mode of which one quirk may be undone.
    #[must_use]
    pub fn read_as(url: &'a [u8], reading: Reading) -> Self {
        match reading.mode_of(Quirk::PathForm) {
            Matching::Rfc9309 => Self { reading, ..Self::of_url(url) },
            Matching::Google => Self::new(google::path_of_url(url), reading),
        }
    }

    fn new(octets: &'a [u8], reading: Reading) -> Self {
        Self { octets, needs_slash: octets.first() != Some(&b'/'), reading }
    }

    fn form(self) -> Matching {
        self.reading.mode_of(Quirk::PathForm)
    }

    fn path(self, octets: &[u8]) -> Path<'_> {
        Path::new(octets, self.reading.mode_of(Quirk::RobotsTxt))
    }

    /// The same as RFC 9309 has it: from `scheme://authority/path?query#fragment`, `//authority/path` or `/path`.
    ///
    /// A URL without a scheme that does not begin with `/` begins with its authority.
    #[must_use]
    pub fn of_url(url: &'a [u8]) -> Self {
        let url = memchr::memchr(b'#', url).map_or(url, |fragment| &url[..fragment]);
        let octets = match url {
            [b'/', b'/', rest @ ..] => after_authority(rest),
            [b'/', ..] => url,
            _ => after_authority(after_scheme(url)),
        };
        Self::new(octets, Matching::Rfc9309.into())
    }

    /// The normal form, ready to be asked; it is built in `buffer` where the URL is not in that form already.
    ///
    /// Octets above 0x7F become `%XX`, escapes of unreserved characters are undone, the hex digits of others become
    /// upper case, and `*` and `$` become `%2A` and `%24` (§2.2.3); all else stays. For [`Matching::Google`] the path
    /// stays as it is.
    #[must_use]
    pub fn prepare<'b>(self, buffer: &'b mut Vec<u8>) -> Path<'b>
    where
        'a: 'b,
    {
        if !self.needs_slash && (self.form() == Matching::Google || is_plain(self.octets, Form::PATH)) {
            return self.path(self.octets);
        }
        self.normalise_into(buffer);
        self.path(buffer)
    }

    /// Writes the normal form into `buffer`, whose former content is dropped; see [`prepare`](Self::prepare).
    pub fn normalise_into(self, buffer: &mut Vec<u8>) {
        buffer.clear();
        if self.needs_slash {
            buffer.push(b'/');
        }
        match self.form() {
            Matching::Rfc9309 => normalise(self.octets, Form::PATH, buffer),
            Matching::Google => buffer.extend_from_slice(self.octets),
        }
    }

    /// The normal form in a buffer of its own; see [`prepare`](Self::prepare).
    #[must_use]
    pub fn normalised(self) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(self.octets.len() + 1);
        self.normalise_into(&mut buffer);
        buffer
    }
}

/// A normalised path, with what the matcher derives of it for all rule sets.
#[derive(Debug, Clone)]
pub struct Path<'a> {
    octets: &'a [u8],
    head: u64,
    marks: OnceCell<Marks>,
    exempts_robots_txt: bool,
}

impl<'a> Path<'a> {
    /// A path that is in the normal form already: it begins with `/`.
    #[must_use]
    pub fn of(normalised: &'a [u8]) -> Self {
        Self::new(normalised, Matching::Rfc9309)
    }

    fn new(octets: &'a [u8], rules_file: Matching) -> Self {
        let exempts_robots_txt = rules_file.exempts_robots_txt();
        Self { octets, head: head(octets), marks: OnceCell::new(), exempts_robots_txt }
    }

    /// The octets.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Whether it is the rules file itself, which is always allowed (§2.2.2), but for [`Matching::Google`].
    #[must_use]
    pub fn is_robots_txt(&self) -> bool {
        self.exempts_robots_txt && is_robots_txt(self.octets)
    }

    /// The first eight octets; see [`head`].
    pub(super) const fn head(&self) -> u64 {
        self.head
    }

    /// The octets and pairs of octets that occur; computed when first asked for.
    pub(super) fn marks(&self) -> &Marks {
        self.marks.get_or_init(|| Marks::of(self.octets))
    }
}

/// The first eight octets as a number that sorts as they do; missing ones count as zero.
pub(super) fn head(octets: &[u8]) -> u64 {
    octets.first_chunk().map_or_else(|| short_head(octets), |first| u64::from_be_bytes(*first))
}

fn short_head(octets: &[u8]) -> u64 {
    let read = octets.iter().fold(0, |read, octet| read << 8 | u64::from(*octet));
    // No octets at all: a shift by 64 would overflow, and nothing was read.
    read.checked_shl(64 - 8 * u32::try_from(octets.len()).expect("fewer than eight")).unwrap_or(0)
}

/// Which octets, and which pairs of neighbours by an eight-bit hash, occur in a path.
#[derive(Debug, Clone)]
pub(super) struct Marks([u64; 8]);

impl Marks {
    fn of(octets: &[u8]) -> Self {
        // The first mark is always set: it is what is asked for where nothing has to be there.
        let mut marks = [0; 8];
        marks[0] = 1;
        let mut before = None;
        for octet in octets.iter().copied() {
            marks[usize::from(octet >> 6)] |= 1 << (octet & 63);
            if let Some(before) = before {
                let pair = pair_hash(before, octet);
                marks[4 + usize::from(pair >> 6)] |= 1 << (pair & 63);
            }
            before = Some(octet);
        }
        Self(marks)
    }

    /// Whether a mark is set; false means that the octet or pair does not occur.
    pub(super) const fn has(&self, mark: Mark) -> bool {
        self.0[(mark.0 >> 6) as usize & 7] >> (mark.0 & 63) & 1 != 0
    }
}

/// What [`Marks`] may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u16);

impl Mark {
    /// Set for every path.
    pub(super) const ALWAYS: Self = Self(0);

    pub(super) const fn of_octet(octet: u8) -> Self {
        Self(octet as u16)
    }

    pub(super) const fn of_pair(first: u8, second: u8) -> Self {
        Self(256 + pair_hash(first, second) as u16)
    }
}

const fn pair_hash(first: u8, second: u8) -> u8 {
    first.wrapping_mul(67) ^ second
}

/// Whether a normalised path is the rules file itself, which is always allowed (§2.2.2).
#[must_use]
pub fn is_robots_txt(normalised: &[u8]) -> bool {
    normalised == b"/robots.txt"
}

fn after_scheme(url: &[u8]) -> &[u8] {
    if let Some(rest) = url.strip_prefix(b"https://").or_else(|| url.strip_prefix(b"http://")) {
        return rest;
    }
    let is_scheme = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-' | b'.');
    let end = url.iter().position(|octet| !is_scheme(octet)).unwrap_or(url.len());
    url[end..].strip_prefix(b"://").unwrap_or(url)
}

fn after_authority(rest: &[u8]) -> &[u8] {
    memchr::memchr2(b'/', b'?', rest).map_or(&[], |end| &rest[end..])
}

/// The one form of some octets: what of them changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// Whether `*` and `$` are ordinary octets, the same as `%2A` and `%24`, or are left as they are.
    pub(super) specials_are_octets: bool,
    /// Whether escapes of unreserved characters are undone.
    pub(super) undoes_escapes: bool,
}

impl Form {
    /// A path, and what stands between the wildcards of a rule (§2.2.2).
    pub(super) const PATH: Self = Self { specials_are_octets: true, undoes_escapes: true };
    /// A rule as a whole.
    pub(super) const RULE: Self = Self { specials_are_octets: false, undoes_escapes: true };
    /// A rule, whole or in part, as Google's parser has it.
    pub(super) const GOOGLE_RULE: Self = Self { specials_are_octets: false, undoes_escapes: false };
}

/// Whether some octets are their own normal form, as most are; a lone `%` is taken for an escape.
#[inline]
pub(super) fn is_plain(raw: &[u8], form: Form) -> bool {
    // Without a way out in between, this is done for many octets at once.
    !raw.iter().fold(false, |found, octet| found | is_odd(*octet, form))
}

#[inline]
const fn is_odd(octet: u8, form: Form) -> bool {
    octet >= 0x80 || octet == b'%' || (form.specials_are_octets && matches!(octet, b'*' | b'$'))
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends the normal form of some octets: one pass, from left to right.
pub(super) fn normalise(raw: &[u8], form: Form, into: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some(odd) = rest.iter().position(|octet| is_odd(*octet, form)) {
        let (plain, behind) = rest.split_at(odd);
        into.extend_from_slice(plain);
        rest = match behind {
            [b'%', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                escape([*high, *low], form, into);
                after
            }
            [b'%', after @ ..] => {
                into.push(b'%');
                after
            }
            [octet, after @ ..] => {
                push_escaped(*octet, into);
                after
            }
            [] => behind,
        };
    }
    into.extend_from_slice(rest);
}

fn escape(digits: [u8; 2], form: Form, into: &mut Vec<u8>) {
    let [high, low] = digits.map(hex_value);
    let octet = high << 4 | low;
    if form.undoes_escapes && is_unreserved(octet) {
        into.push(octet);
    } else {
        push_escaped(octet, into);
    }
}

const fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn push_escaped(octet: u8, into: &mut Vec<u8>) {
    into.extend([b'%', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_sort_as_octets_do() {
        let texts: [&[u8]; 7] = [b"", b"\0", b"/", b"/a", b"/abcdefg", b"/abcdefgh", b"/b"];
        assert!(texts.windows(2).all(|pair| head(pair[0]) <= head(pair[1])));
        assert_eq!(head(b"/a"), 0x2F61_0000_0000_0000);
        assert_eq!(head(b"/abcdefgh"), head(b"/abcdefg"));
    }

    #[test]
    fn what_occurs_is_marked() {
        let marks = Marks::of(b"/a?");
        assert!([Mark::ALWAYS, Mark::of_octet(b'?'), Mark::of_pair(b'a', b'?')].into_iter().all(|m| marks.has(m)));
        assert!(!marks.has(Mark::of_octet(b'b')) && !marks.has(Mark::of_pair(b'?', b'a')));
    }

    #[test]
    fn cut_and_brought_to_one_form() {
        for (url, expected) in [
            ("https://a.test", "/"),
            ("https://a.test?id=3", "/?id=3"),
            ("https://a.test/x?y#z", "/x?y"),
            ("//shop.test/checkout/cart", "/checkout/cart"),
            ("/search?q=http://b.test/", "/search?q=http://b.test/"),
            ("a.test/x", "/x"),
            ("HTTP://u:p@a.test:8080/a b", "/a b"),
            ("http://[::1]/%7euser/%2f%c3%A9é", "/~user/%2F%C3%A9%C3%A9"),
            ("http://a.test/100%-off/%zz/%4", "/100%-off/%zz/%4"),
            ("http://a.test/*/$%2a", "/%2A/%24%2A"),
            ("http://a.test/a/../b//c\\d", "/a/../b//c\\d"),
            ("http://a.test/%%36%31", "/%61"),
            ("", "/"),
        ] {
            let raw = RawPath::of_url(url.as_bytes());
            assert_eq!(String::from_utf8_lossy(&raw.normalised()), expected, "{url:?}");
            assert_eq!(raw.prepare(&mut Vec::new()).octets(), expected.as_bytes(), "{url:?}");
        }
    }
}
