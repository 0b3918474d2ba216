//! A rule value, classed by shape once and tested many times (§2.2.2, §2.2.3).
//!
//! The literals of a value are kept in normal form, those of all rules of a rule set in one text.

use std::ops::Range;

use memchr::{memchr, memmem};

use super::path::{Form, is_plain, normalise};
use super::token::Matching;

/// How a rule value is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Begins with neither `/` nor `*`: no path can match.
    Never,
    /// The path starts with the text. Stars at the end of a value ask for nothing more.
    Prefix,
    /// A final `$` and no `*`: the path is the text.
    Exact,
    /// The pieces between the stars are found in order, the first where the path begins.
    Wildcard,
    /// The same, and the last piece is where the path ends.
    AnchoredWildcard,
}

/// A rule value ready to be tested against normalised paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern<'t> {
    /// In normal form; stars part the pieces, and only the first piece may be empty.
    text: &'t [u8],
    shape: Shape,
}

/// A rule value whose text was added to a longer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiled {
    pub(super) shape: Shape,
    /// See [`octets_of`].
    pub(super) octets: u32,
    pub(super) text: Range<usize>,
}

/// A rule value that stands by itself, in no rule set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LonePattern {
    shape: Shape,
    octets: u32,
    text: Box<[u8]>,
}

impl LonePattern {
    /// Compiles a rule value, as RFC 9309 has it.
    #[must_use]
    pub fn of(value: &[u8]) -> Self {
        let mut texts = Vec::with_capacity(value.len());
        let Compiled { shape, octets, .. } = compile(value, Matching::Rfc9309, &mut texts);
        Self { shape, octets, text: texts.into() }
    }

    /// Octets of its normal form: of two patterns that match, the one with more is the more specific (§2.2.2).
    #[must_use]
    pub const fn octets(&self) -> u32 {
        self.octets
    }

    /// Whether a normalised path matches.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        Pattern::new(self.shape, &self.text).matches(path)
    }
}

/// Compiles a rule value; its text goes to the end of `texts`.
pub(super) fn compile(value: &[u8], matching: Matching, texts: &mut Vec<u8>) -> Compiled {
    let start = texts.len();
    let is_able = matches!(value, [] | [b'/' | b'*', ..]);
    if is_able && is_plain(value, Form::PATH) {
        texts.extend_from_slice(value);
        return Compiled { shape: Shape::Prefix, octets: count(value.len()), text: start..texts.len() };
    }
    let octets = octets_in(value, matching, texts);
    let shape = if is_able { append(value, matching, texts) } else { Shape::Never };
    Compiled { shape, octets, text: start..texts.len() }
}

/// Appends the text of a value that can match.
fn append(value: &[u8], matching: Matching, texts: &mut Vec<u8>) -> Shape {
    let form = match matching {
        Matching::Rfc9309 => Form::PATH,
        Matching::Google => Form::GOOGLE_RULE,
    };
    let (body, is_anchored) = match value {
        [body @ .., b'$'] => (body, true),
        _ => (value, false),
    };
    let end = body.iter().rposition(|octet| *octet != b'*').map_or(0, |last| last + 1);
    // Behind a star every end is as good as another.
    let is_anchored = is_anchored && end == body.len();
    let mut pieces = body[..end].split(|octet| *octet == b'*');
    // Most values have nothing but their stars and their end that is not in normal form already.
    let is_normal = is_plain(body, Form::RULE) && memchr(b'$', body).is_none();
    let add = |piece: &[u8], texts: &mut Vec<u8>| {
        if is_normal { texts.extend_from_slice(piece) } else { normalise(piece, form, texts) }
    };
    add(pieces.next().unwrap_or_default(), texts);
    let mut has_star = false;
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        texts.push(b'*');
        add(piece, texts);
        has_star = true;
    }
    match (has_star, is_anchored) {
        (false, false) => Shape::Prefix,
        (false, true) => Shape::Exact,
        (true, false) => Shape::Wildcard,
        (true, true) => Shape::AnchoredWildcard,
    }
}

/// Octets of a value in its normal form, `*` and `$` included: what makes one rule more specific than another (§2.2.2).
#[must_use]
pub fn octets_of(value: &[u8], matching: Matching) -> u32 {
    octets_in(value, matching, &mut Vec::new())
}

/// The same, with room to work in that is left as it was.
fn octets_in(value: &[u8], matching: Matching, room: &mut Vec<u8>) -> u32 {
    let form = match matching {
        Matching::Rfc9309 => Form::RULE,
        Matching::Google => Form::GOOGLE_RULE,
    };
    if is_plain(value, form) {
        return count(value.len());
    }
    let before = room.len();
    normalise(value, form, room);
    let octets = room.len() - before;
    room.truncate(before);
    count(octets)
}

fn count(octets: usize) -> u32 {
    u32::try_from(octets).unwrap_or(u32::MAX)
}

impl<'t> Pattern<'t> {
    /// A pattern whose text stands in `texts`.
    pub(super) const fn new(shape: Shape, text: &'t [u8]) -> Self {
        Self { text, shape }
    }

    /// Octets of a value in its normal form; see [`octets_of`].
    #[must_use]
    pub fn octets_of(value: &[u8], matching: Matching) -> u32 {
        octets_of(value, matching)
    }

    /// How it is tested.
    #[must_use]
    pub const fn shape(self) -> Shape {
        self.shape
    }

    /// The literals, in order; only of a wildcard are there several, and only the first may be empty.
    pub fn pieces(self) -> impl Iterator<Item = &'t [u8]> {
        // An escaped star is written `%2A`, so that a plain one always parts.
        self.text.split(|octet| *octet == b'*')
    }

    /// The whole text.
    pub(super) const fn text(self) -> &'t [u8] {
        self.text
    }

    /// Whether every path matches.
    #[must_use]
    pub fn matches_everything(self) -> bool {
        self.shape == Shape::Prefix && matches!(self.text, [] | [b'/'])
    }

    /// Whether a normalised path matches, in time linear in its length.
    #[must_use]
    pub fn matches(self, path: &[u8]) -> bool {
        match self.shape {
            Shape::Never => false,
            Shape::Prefix => path.starts_with(self.text),
            Shape::Exact => path == self.text,
            Shape::Wildcard => behind_pieces(self.text, path).is_some_and(|(last, rest)| is_within(last, rest)),
            Shape::AnchoredWildcard => behind_pieces(self.text, path).is_some_and(|(last, rest)| rest.ends_with(last)),
        }
    }
}

/// Finds all pieces but the last; that one, and what of the path is left for it.
///
/// The leftmost place of each piece is always good enough: a later one leaves less of the path to the rest.
fn behind_pieces<'a>(text: &'a [u8], path: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let star = memchr(b'*', text)?;
    let mut rest = path.strip_prefix(&text[..star])?;
    let mut pieces = &text[star + 1..];
    while let Some(star) = memchr(b'*', pieces) {
        let piece = &pieces[..star];
        rest = &rest[memmem::find(rest, piece)? + piece.len()..];
        pieces = &pieces[star + 1..];
    }
    Some((pieces, rest))
}

fn is_within(piece: &[u8], text: &[u8]) -> bool {
    memmem::find(text, piece).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(value: &str) -> (Shape, String) {
        let mut texts = b"before".to_vec();
        let pattern = compile(value.as_bytes(), Matching::Rfc9309, &mut texts);
        (pattern.shape, String::from_utf8_lossy(&texts[pattern.text]).into_owned())
    }

    #[test]
    fn shapes() {
        for (value, shape, text) in [
            ("/x", Shape::Prefix, "/x"),
            ("/x$", Shape::Exact, "/x"),
            ("/x$y", Shape::Prefix, "/x%24y"),
            ("/x**", Shape::Prefix, "/x"),
            ("/x*$", Shape::Prefix, "/x"),
            ("*", Shape::Prefix, ""),
            ("/*$", Shape::Prefix, "/"),
            ("$", Shape::Never, ""),
            ("x%", Shape::Never, ""),
            ("/***a**$", Shape::Wildcard, "/*a"),
            ("**%61$", Shape::AnchoredWildcard, "*a"),
            ("/\u{e9}*%2a*b", Shape::Wildcard, "/%C3%A9*%2A*b"),
        ] {
            assert_eq!(compiled(value), (shape, text.to_owned()), "{value:?}");
        }
    }

    #[test]
    fn as_google_has_it_only_rules_change_and_no_escape_is_undone() {
        for (value, shape, text, octets) in [
            ("", Shape::Prefix, "", 0),
            ("/%7e%2a*$x", Shape::Wildcard, "/%7E%2A*$x", 10),
            ("/a$b$", Shape::Exact, "/a$b", 5),
            ("/\u{e9}%c3%", Shape::Prefix, "/%C3%A9%C3%", 11),
            ("$", Shape::Never, "", 1),
        ] {
            let mut texts = Vec::new();
            let pattern = compile(value.as_bytes(), Matching::Google, &mut texts);
            let found = (pattern.shape, String::from_utf8_lossy(&texts).into_owned(), pattern.octets);
            assert_eq!(found, (shape, text.to_owned(), octets), "{value:?}");
        }
    }

    #[test]
    fn octets_are_those_of_the_normal_form() {
        for (value, octets) in [("/caf\u{e9}", 10), ("/%7e", 2), ("/%2f", 4), ("/*a$", 4), ("/a$b", 4), ("/page*", 6)] {
            assert_eq!(octets_of(value.as_bytes(), Matching::Rfc9309), octets, "{value:?}");
            assert_eq!(compile(value.as_bytes(), Matching::Rfc9309, &mut Vec::new()).octets, octets, "{value:?}");
        }
    }

    #[test]
    fn matching() {
        for (value, path, expected) in [
            ("/fish", "/fish.html", true),
            ("/fish", "/Fish", false),
            ("/fish*.php", "/fishheads/a.php?x", true),
            ("/*.php$", "/a.php5", false),
            ("*/test", "/test", true),
            ("/a*b*c$", "/abcbc", true),
            ("/a*a$", "/a", false),
            ("*$", "/anything", true),
            ("/%2A", "/%2A", true),
            ("/**", "/", true),
        ] {
            let mut texts = Vec::new();
            let pattern = compile(value.as_bytes(), Matching::Rfc9309, &mut texts);
            assert_eq!(Pattern::new(pattern.shape, &texts).matches(path.as_bytes()), expected, "{value} {path}");
        }
    }
}
