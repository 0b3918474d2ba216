//! A cheap test in front of a rule, which refuses most paths that do not match.

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
    /// These octets and pairs occur: the rarest of a wildcard's.
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
                Self::new(first, rarest_marks(pattern.pieces()))
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

/// The marks of the pieces that a path is least likely to have, rarest first.
fn rarest_marks<'t>(pieces: impl Iterator<Item = &'t [u8]>) -> [Mark; MARKS] {
    let mut found = [(0, Mark::ALWAYS); MARKS];
    let mut note = |rarity: u32, mark: Mark| {
        let place = found.iter().position(|(known, _)| rarity > *known);
        if let Some(place) = place
            && !found.iter().any(|(_, known)| *known == mark)
        {
            found[place..].rotate_right(1);
            found[place] = (rarity, mark);
        }
    };
    for piece in pieces {
        match piece {
            [single] => note(rarity(*single), Mark::of_octet(*single)),
            _ => piece.windows(2).for_each(|pair| {
                note(rarity(pair[0]) + rarity(pair[1]), Mark::of_pair(pair[0], pair[1]));
            }),
        }
    }
    found.map(|(_, mark)| mark)
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
