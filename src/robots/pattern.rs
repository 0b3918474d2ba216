//! A rule value, classed by shape once and tested many times (§2.2.2, §2.2.3).

use memchr::memmem;

use super::path::{Specials, normalise};

/// How a rule value is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Begins with neither `/` nor `*`: no path can match.
    Never,
    /// No `*`, no final `$`: the path starts with these octets.
    Prefix(Box<[u8]>),
    /// A final `$` and no `*`: the path is these octets.
    Exact(Box<[u8]>),
    /// At least one `*`: literal pieces found in order.
    Wildcard {
        /// The literals around the stars; the first one is where the path begins, any may be empty.
        pieces: Box<[Box<[u8]>]>,
        /// Whether the last piece is where the path ends.
        is_anchored: bool,
    },
}

/// A rule value ready to be tested against normalised paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    shape: Shape,
    octets: u32,
}

impl Pattern {
    /// Compiles a rule value.
    #[must_use]
    pub fn of_value(value: &[u8]) -> Self {
        let octets = normalised_octets(value);
        if !matches!(value, [b'/' | b'*', ..]) {
            return Self { shape: Shape::Never, octets };
        }
        let (body, is_anchored) = match value {
            [body @ .., b'$'] => (body, true),
            _ => (value, false),
        };
        let mut pieces: Vec<Box<[u8]>> = body.split(|octet| *octet == b'*').map(normalised_literal).collect();
        let shape = match (pieces.len(), is_anchored) {
            (1, false) => Shape::Prefix(pieces.remove(0)),
            (1, true) => Shape::Exact(pieces.remove(0)),
            _ => wildcard(pieces, is_anchored),
        };
        Self { shape, octets }
    }

    /// Octets of a value in its normal form, without compiling it.
    #[must_use]
    pub fn octets_of(value: &[u8]) -> u32 {
        normalised_octets(value)
    }

    /// Octets of the normalised value, `*` and `$` included: what makes one rule more specific than another (§2.2.2).
    #[must_use]
    pub const fn octets(&self) -> u32 {
        self.octets
    }

    /// How the pattern is tested.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether a normalised path matches, in time linear in its length.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        match &self.shape {
            Shape::Never => false,
            Shape::Prefix(prefix) => path.starts_with(prefix),
            Shape::Exact(exact) => path == &exact[..],
            Shape::Wildcard { pieces, is_anchored } => wildcard_matches(pieces, *is_anchored, path),
        }
    }
}

/// Runs of `*` match what one does: empty pieces between two stars are dropped, those at the ends stay.
fn wildcard(pieces: Vec<Box<[u8]>>, is_anchored: bool) -> Shape {
    let last = pieces.len() - 1;
    let kept = |(index, piece): &(usize, Box<[u8]>)| *index == 0 || *index == last || !piece.is_empty();
    let pieces = pieces.into_iter().enumerate().filter(kept).map(|(_, piece)| piece).collect();
    Shape::Wildcard { pieces, is_anchored }
}

/// The leftmost place of each piece is always good enough: a later one leaves less of the path to the rest.
fn wildcard_matches(pieces: &[Box<[u8]>], is_anchored: bool, path: &[u8]) -> bool {
    let [first, middle @ .., last] = pieces else {
        return false;
    };
    let Some(mut rest) = path.strip_prefix(&first[..]) else {
        return false;
    };
    for piece in middle {
        match memmem::find(rest, piece) {
            Some(start) => rest = &rest[start + piece.len()..],
            None => return false,
        }
    }
    if is_anchored { rest.ends_with(last) } else { memmem::find(rest, last).is_some() }
}

fn normalised_literal(literal: &[u8]) -> Box<[u8]> {
    let mut octets = Vec::with_capacity(literal.len());
    normalise(literal, Specials::AreOctets, &mut octets);
    octets.into()
}

fn normalised_octets(value: &[u8]) -> u32 {
    let mut octets = Vec::with_capacity(value.len());
    normalise(value, Specials::AreKept, &mut octets);
    u32::try_from(octets.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let shape = |value: &str| Pattern::of_value(value.as_bytes()).shape;
        assert_eq!(shape("/x"), Shape::Prefix((*b"/x").into()));
        assert_eq!(shape("/x$"), Shape::Exact((*b"/x").into()));
        assert_eq!(shape("/x$y"), Shape::Prefix((*b"/x%24y").into()));
        assert_eq!(shape("$"), Shape::Never);
        assert_eq!(shape("x"), Shape::Never);
        assert!(matches!(shape("/***a**$"), Shape::Wildcard { pieces, is_anchored: true } if pieces.len() == 3));
    }

    #[test]
    fn octets_are_those_of_the_normal_form() {
        for (value, octets) in [("/caf\u{e9}", 10), ("/%7e", 2), ("/%2f", 4), ("/*a$", 4), ("/a$b", 4), ("/page*", 6)] {
            assert_eq!(Pattern::of_value(value.as_bytes()).octets(), octets, "{value:?}");
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
            assert_eq!(Pattern::of_value(value.as_bytes()).matches(path.as_bytes()), expected, "{value} {path}");
        }
    }
}
