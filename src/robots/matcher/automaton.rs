//! Wildcards found by one pass of an Aho-Corasick automaton over the path.
//!
//! Of each wildcard it looks for one literal piece, the rarest; a rule whose piece occurs is then tried as ever.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::probe::{Probe, rarity};
use super::rules::{Place, Rules, small};
use crate::robots::path::Path;

/// Octets of a piece that the automaton looks for: enough to be rare, and a bound on its states.
const PIECE_OCTETS: usize = 16;

/// Octets of all pieces up to which a table of all transitions is built: at 1 KiB a state at most, 16 MiB.
const DENSE_OCTETS: usize = 16_384;

/// How the automaton keeps its transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transitions {
    /// Those that are not a failure: quick to build.
    Sparse,
    /// All of them: quick to follow.
    Dense,
}

/// The wildcards of a rule set by their rarest pieces.
#[derive(Debug, Clone)]
pub(super) struct Automaton {
    finder: AhoCorasick,
    /// Where in `rules` those of each piece begin, and the end of the last.
    starts: Box<[u32]>,
    /// Rules by piece, in order of precedence within each.
    rules: Box<[(Place, Probe)]>,
    /// The first of all wildcards.
    start: Place,
}

impl Automaton {
    /// Builds it; `None` where there is no wildcard, or more than this kind of automaton should hold.
    pub(super) fn of(rules: &Rules, transitions: Transitions) -> Option<Self> {
        let start = rules.wildcards().next()?;
        let mut pieces = Pieces::default();
        for place in rules.wildcards() {
            pieces.add(rarest_piece(rules, place), place);
        }
        let octets: usize = pieces.list.iter().map(|(piece, _)| piece.len()).sum();
        let kind = match transitions {
            Transitions::Sparse => AhoCorasickKind::ContiguousNFA,
            Transitions::Dense if octets <= DENSE_OCTETS => AhoCorasickKind::DFA,
            Transitions::Dense => return None,
        };
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(kind)).match_kind(MatchKind::Standard).prefilter(false);
        let finder = builder.build(pieces.list.iter().map(|(piece, _)| piece)).ok()?;
        let mut starts = vec![0];
        let mut by_piece = Vec::new();
        for (_, places) in pieces.list {
            by_piece.extend(places.into_iter().map(|place| (place, Probe::of(rules, place))));
            starts.push(small(by_piece.len()));
        }
        Some(Self { finder, starts: starts.into(), rules: by_piece.into(), start })
    }

    /// The first wildcard that matches and stands before `before`; else `before`.
    pub(super) fn first(&self, rules: &Rules, path: &Path<'_>, before: Place) -> Place {
        if self.start >= before {
            return before;
        }
        // Room on the stack for nearly all; the largest rule sets take it from the heap.
        match self.starts.len() - 1 {
            0..=256 => self.first_of_found(rules, path, before, &mut [0; 4]),
            257..=4096 => self.first_of_found(rules, path, before, &mut [0; 64]),
            more => self.first_of_found(rules, path, before, &mut vec![0; more.div_ceil(64)]),
        }
    }

    /// `tried` has a bit for each piece, so that each rule is tried once however often its piece occurs.
    fn first_of_found(&self, rules: &Rules, path: &Path<'_>, before: Place, tried: &mut [u64]) -> Place {
        let mut best = before;
        for found in self.finder.find_overlapping_iter(path.octets()) {
            let piece = found.pattern().as_usize();
            let (word, bit) = (piece / 64, 1 << (piece % 64));
            if tried[word] & bit != 0 {
                continue;
            }
            tried[word] |= bit;
            best = self.first_of_piece(piece, rules, path, best);
        }
        best
    }

    fn first_of_piece(&self, piece: usize, rules: &Rules, path: &Path<'_>, before: Place) -> Place {
        let of_piece = self.starts[piece] as usize..self.starts[piece + 1] as usize;
        for (place, probe) in &self.rules[of_piece] {
            if *place >= before {
                break;
            }
            if probe.admits(path) && rules.pattern(*place).matches(path.octets()) {
                return *place;
            }
        }
        before
    }
}

/// Distinct pieces, each with its rules.
#[derive(Default)]
struct Pieces<'r> {
    list: Vec<(&'r [u8], Vec<Place>)>,
    known: HashMap<&'r [u8], usize>,
}

impl<'r> Pieces<'r> {
    fn add(&mut self, piece: &'r [u8], place: Place) {
        let index = *self.known.entry(piece).or_insert_with(|| {
            self.list.push((piece, Vec::new()));
            self.list.len() - 1
        });
        self.list[index].1.push(place);
    }
}

/// The start of the piece that a path is least likely to have.
fn rarest_piece(rules: &Rules, place: Place) -> &[u8] {
    let cut = |piece: &'_ [u8]| piece.len().min(PIECE_OCTETS);
    let weight = |piece: &&[u8]| piece[..cut(piece)].iter().map(|octet| rarity(*octet)).sum::<u32>();
    let piece = rules.pattern(place).pieces().max_by_key(weight).unwrap_or_default();
    &piece[..cut(piece)]
}
