//! A cheap test in front of a rule, which refuses most paths that do not match.

use std::array;

use super::rules::{Place, Rules};
use crate::robots::path::{Mark, Path, head};
use crate::robots::pattern::Shape;

/// What a path must have for a rule to be worth trying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Probe {
    /// The octets of `head` that count.
    mask: u64,
    /// The path begins with these.
    head: u64,
    /// These octets and pairs occur.
    marks: [Mark; MARKS],
}

/// Marks of one probe.
const MARKS: usize = 4;

impl Probe {
    pub(super) fn of(rules: &Rules, place: Place) -> Self {
        let pattern = rules.pattern(place);
        match pattern.shape() {
            Shape::Never | Shape::Prefix | Shape::Exact => Self::new(pattern.text(), [Mark::ALWAYS; MARKS]),
            Shape::Wildcard | Shape::AnchoredWildcard => {
                let first = pattern.pieces().next().unwrap_or_default();
                Self::new(first, marks_of(pattern.pieces()))
            }
        }
    }

    fn new(start: &[u8], marks: [Mark; MARKS]) -> Self {
        let mask = match start.len() {
            0 => 0,
            octets @ 1..8 => !0 << (64 - 8 * octets),
            _ => !0,
        };
        Self { mask, head: head(start) & mask, marks }
    }

    /// False only where the rule does not match.
    #[inline]
    pub(super) fn admits(&self, path: &Path<'_>) -> bool {
        (path.head() ^ self.head) & self.mask == 0
            && (self.marks[0] == Mark::ALWAYS || {
                let marks = path.marks();
                self.marks.iter().all(|mark| marks.has(*mark))
            })
    }
}

/// Marks of the longest piece, spread over it: together they are rare, and rarity need not be looked up.
fn marks_of<'t>(pieces: impl Iterator<Item = &'t [u8]>) -> [Mark; MARKS] {
    match pieces.max_by_key(|piece| piece.len()).unwrap_or_default() {
        [] => [Mark::ALWAYS; MARKS],
        [single] => [Mark::of_octet(*single); MARKS],
        piece => array::from_fn(|index| {
            let first = index * (piece.len() - 2) / (MARKS - 1);
            Mark::of_pair(piece[first], piece[first + 1])
        }),
    }
}

/// How much an octet tells, in bits, roughly as URLs use it.
pub(super) const fn rarity(octet: u8) -> u32 {
    match octet {
        b'/' => 2,
        b'a' | b'e' | b'i' | b'o' | b'n' | b'r' | b's' | b't' => 3,
        b'a'..=b'z' | b'-' => 4,
        b'0'..=b'9' | b'.' | b'_' | b'%' => 5,
        b'=' | b'?' | b'&' => 6,
        _ => 7,
    }
}
