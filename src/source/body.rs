//! What is kept of a body, wherever it comes from.

use crate::robots::access::{Flag, Flags};
use crate::robots::lex::drop_half_line;

/// Keeps so many octets of a body, and of a body that was cut only whole lines; whether it was cut, here or before.
pub(super) fn keep(octets: &mut Vec<u8>, cap: usize, was_cut: bool) -> bool {
    let is_cut = was_cut || octets.len() > cap;
    octets.truncate(cap);
    if is_cut {
        drop_half_line(octets);
    }
    is_cut
}

/// Adds what is told of a body beside its class. A character that was cut is no fault of it.
pub(super) fn add_flags(flags: &mut Flags, body: &[u8], is_cut: bool) {
    let is_utf8 = std::str::from_utf8(body).map_or_else(|error| is_cut && error.error_len().is_none(), |_| true);
    for (flag, holds) in [(Flag::Empty, body.is_empty()), (Flag::Truncated, is_cut), (Flag::NonUtf8, !is_utf8)] {
        if holds {
            flags.insert(flag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_ends_with_a_line() {
        let kept = |body: &str, cap, was_cut| {
            let mut octets = body.as_bytes().to_vec();
            let is_cut = keep(&mut octets, cap, was_cut);
            (String::from_utf8(octets).unwrap(), is_cut)
        };
        assert_eq!(kept("a\nbc", 9, false), ("a\nbc".to_owned(), false));
        assert_eq!(kept("a\nbc", 3, false), ("a\n".to_owned(), true));
        assert_eq!(kept("a\nbc", 9, true), ("a\n".to_owned(), true));
    }

    #[test]
    fn a_character_that_was_cut_is_no_fault() {
        let words = |body: &[u8], is_cut| {
            let mut flags = Flags::default();
            add_flags(&mut flags, body, is_cut);
            flags.iter().collect::<Vec<_>>()
        };
        assert_eq!(words(b"a\xC3", true), [Flag::Truncated]);
        assert_eq!(words(b"a\xC3", false), [Flag::NonUtf8]);
        assert_eq!(words(b"\xFFa", true), [Flag::Truncated, Flag::NonUtf8]);
        assert_eq!(words(b"", false), [Flag::Empty]);
    }
}
