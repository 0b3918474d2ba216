//! Smallest and largest values of pages and chunks, and how they are cut for statistics.

use std::cmp::Ordering;

use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::runs::Values;

/// Octets of text kept in statistics and in the page index: the usual number.
const KEPT_OCTETS: usize = 64;

/// Keys of the smallest and the largest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extremes {
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Extremes {
    /// The extremes with one more value.
    pub(super) fn with(this: Option<Self>, key: u32, values: &Values) -> Self {
        match this {
            None => Self { min: key, max: key },
            Some(this) if values.compare(key, this.max) == Ordering::Greater => Self { max: key, ..this },
            Some(this) if values.compare(key, this.min) == Ordering::Less => Self { min: key, ..this },
            Some(this) => this,
        }
    }

    /// The extremes of both.
    pub(super) fn joined(this: Option<Self>, other: Option<Self>, values: &Values) -> Option<Self> {
        let Some(other) = other else { return this };
        Some(Self::with(Some(Self::with(this, other.min, values)), other.max, values))
    }
}

/// Statistics of a whole chunk.
pub(super) fn of_chunk(values: &Values, extremes: Option<Extremes>, nulls: u64) -> Statistics {
    match values {
        Values::Text(texts) => {
            let min = extremes.map(|extremes| lower_bound(texts.get(extremes.min)));
            let max = extremes.map(|extremes| upper_bound(texts.get(extremes.max)));
            let is_exact = |bound: &Option<(Vec<u8>, bool)>| bound.as_ref().is_some_and(|(_, is_exact)| *is_exact);
            let exact = (is_exact(&min), is_exact(&max));
            let octets = |bound: Option<(Vec<u8>, bool)>| bound.map(|(octets, _)| ByteArray::from(octets));
            let statistics = ValueStatistics::new(octets(min), octets(max), None, Some(nulls), false);
            Statistics::from(statistics.with_min_is_exact(exact.0).with_max_is_exact(exact.1))
        }
        Values::Int32(numbers) => of_numbers(numbers, extremes, nulls).into(),
        Values::Int64(numbers) => of_numbers(numbers, extremes, nulls).into(),
    }
}

/// Numbers have the signed order of the format's oldest fields, so these are filled as well.
fn of_numbers<N: Copy>(numbers: &[N], extremes: Option<Extremes>, nulls: u64) -> ValueStatistics<N> {
    let number = |key: u32| numbers[key as usize];
    let (min, max) = (extremes.map(|extremes| number(extremes.min)), extremes.map(|extremes| number(extremes.max)));
    ValueStatistics::new(min, max, None, Some(nulls), false).with_backwards_compatible_min_max(true)
}

/// The bounds of a page as octets for the page index.
pub(super) fn of_page(values: &Values, extremes: Extremes) -> (Vec<u8>, Vec<u8>) {
    let octets = |key: u32| {
        let mut octets = Vec::new();
        values.write_plain(key, &mut octets);
        octets
    };
    match values {
        Values::Text(texts) => (lower_bound(texts.get(extremes.min)).0, upper_bound(texts.get(extremes.max)).0),
        Values::Int32(_) | Values::Int64(_) => (octets(extremes.min), octets(extremes.max)),
    }
}

/// A short text that is not greater, and whether it is the text itself.
fn lower_bound(text: &[u8]) -> (Vec<u8>, bool) {
    match cut(text) {
        Some(start) => (start.as_bytes().to_vec(), false),
        None => (text.to_vec(), true),
    }
}

/// A short text that is not smaller, and whether it is the text itself. Where no shorter text is greater, the whole
/// text is its own bound.
fn upper_bound(text: &[u8]) -> (Vec<u8>, bool) {
    cut(text).and_then(successor).map_or_else(|| (text.to_vec(), true), |bound| (bound.into_bytes(), false))
}

/// The start of a text that is longer than what is kept, ending with a whole character.
fn cut(text: &[u8]) -> Option<&str> {
    if text.len() <= KEPT_OCTETS {
        return None;
    }
    let text = std::str::from_utf8(text).expect("values of a text column are text");
    let end = (0..=KEPT_OCTETS).rfind(|end| text.is_char_boundary(*end)).expect("the start is a boundary");
    Some(&text[..end])
}

/// The smallest text of no more octets that is greater than every text with this start: its last character that has a
/// successor of the same length is replaced by that, and what follows it goes.
fn successor(start: &str) -> Option<String> {
    start.char_indices().rev().find_map(|(at, last)| {
        let next = char::from_u32(u32::from(last) + 1).filter(|next| next.len_utf8() == last.len_utf8())?;
        let mut bound = start[..at].to_owned();
        bound.push(next);
        Some(bound)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_have_short_bounds() {
        let a = "a".repeat(64);
        assert_eq!(lower_bound(a.as_bytes()), (a.clone().into_bytes(), true));
        let long = format!("{a}tail");
        assert_eq!(lower_bound(long.as_bytes()), (a.clone().into_bytes(), false));
        assert_eq!(upper_bound(long.as_bytes()), (format!("{}b", "a".repeat(63)).into_bytes(), false));
        // A character that does not fit as a whole is left out.
        let wide = format!("{}\u{20ac}rest", "a".repeat(62));
        assert_eq!(lower_bound(wide.as_bytes()), ("a".repeat(62).into_bytes(), false));
        // The last character has no successor of one octet.
        let edge = format!("{}\u{7f}tail", "a".repeat(63));
        assert_eq!(upper_bound(edge.as_bytes()), (format!("{}b", "a".repeat(62)).into_bytes(), false));
        let none = "\u{10ffff}".repeat(20);
        assert_eq!(upper_bound(none.as_bytes()), (none.clone().into_bytes(), true));
    }

    #[test]
    fn numbers_keep_their_sign() {
        let values = Values::Int32(vec![3, -1, 7]);
        let extremes = (0..3).fold(None, |extremes, key| Some(Extremes::with(extremes, key, &values)));
        assert_eq!(extremes, Some(Extremes { min: 1, max: 2 }));
        assert_eq!(of_page(&values, Extremes { min: 1, max: 2 }), ((-1_i32).to_le_bytes().to_vec(), vec![7, 0, 0, 0]));
    }
}
