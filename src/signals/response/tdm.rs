//! `tdm-reservation` and `tdm-policy`: rights of text and data mining.
//!
//! Source: the TDM Reservation Protocol of the W3C community group of that name. Only 0 and 1 are values; anything else
//! means that nothing is said. A policy counts where rights are reserved.

use crate::robots::access::names;

names! {
    /// What a `tdm-reservation` says.
    pub enum Reservation {
        /// Rights are reserved.
        Reserved => "1",
        /// They are not.
        NotReserved => "0",
    }
}

impl Reservation {
    /// Reads a value.
    #[must_use]
    pub fn of(value: &[u8]) -> Option<Self> {
        std::str::from_utf8(value.trim_ascii()).ok().and_then(Self::from_name)
    }
}

/// Whether the fields of an answer reserve rights: one says so, and none says the opposite.
pub fn is_reserved<'a>(values: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut said = values.filter_map(Reservation::of).peekable();
    said.peek().is_some() && said.all(|one| one == Reservation::Reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_values_say_anything() {
        assert_eq!(Reservation::of(b" 1\t"), Some(Reservation::Reserved));
        assert_eq!(Reservation::of(b"0"), Some(Reservation::NotReserved));
        for odd in ["", "2", "01", "true", "1, 1", "\"1\"", "1;x", "\u{661}"] {
            assert_eq!(Reservation::of(odd.as_bytes()), None, "{odd}");
        }
        for (values, expected) in [(&["1", "1"][..], true), (&["x", "1"], true), (&["1", "0"], false), (&[], false)] {
            assert_eq!(is_reserved(values.iter().map(|value| value.as_bytes())), expected, "{values:?}");
        }
    }
}
