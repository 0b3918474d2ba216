//! What was probably meant by a key, a value or a name that means nothing, or something else.
//!
//! Only findings come of it: no reading and no verdict does.

use super::finding::Code;
use super::lex::{BYTE_ORDER_MARK, is_blank};
use super::token::{Matching, leading_token};

/// Whether the key is a known one but for blanks, hyphens, underscores and doubled letters.
fn has_odd_joints(key: &[u8]) -> bool {
    const FOLDED: [&[u8]; 5] = [b"useragent", b"disalow", b"alow", b"sitemap", b"crawldelay"];
    const LONGEST: usize = 24;
    if key.len() > LONGEST {
        return false;
    }
    let mut folded: Vec<u8> =
        key.iter().filter(|octet| octet.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect();
    folded.dedup();
    let has_only_these = key.iter().all(|octet| octet.is_ascii_alphabetic() || matches!(octet, b' ' | b'-' | b'_'));
    has_only_these
        && (FOLDED.contains(&&folded[..]) || matches!(&folded[..], b"disalaw" | b"dissalow" | b"disalo" | b"dialow"))
}

/// Whether a key was probably meant for a known one.
pub(super) fn is_misspelt(key: &[u8]) -> bool {
    has_odd_joints(key) || is_nearly_known(key)
}

/// Whether the key is a known one but for one letter, for something invisible or odd before it, or for a colon of
/// another script behind it.
fn is_nearly_known(key: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] = [b"user-agent", b"disallow", b"sitemap", b"crawl-delay"];
    const ODD_OCTETS: usize = 8;
    let lower = key[..key.len().min(24)].to_ascii_lowercase();
    let is_odd = |odd: &[u8]| odd.len() <= ODD_OCTETS && !odd.iter().any(u8::is_ascii_alphanumeric);
    !begins_with_mark(key)
        && NAMES.iter().any(|name| {
            is_slip(&lower, name)
                || lower.strip_suffix(*name).is_some_and(is_odd)
                || lower.strip_prefix(*name).is_some_and(|rest| rest.first().is_some_and(|octet| !octet.is_ascii()))
        })
}

/// Whether one text becomes the other by one letter more, less or other, or by two that change places.
pub(crate) fn is_slip(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[same..], &other[same..]);
    let same = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    match (&one[..one.len() - same], &other[..other.len() - same]) {
        ([], [_]) | ([_], [] | [_]) => true,
        ([a, b], [c, d]) => (a, b) == (d, c),
        _ => false,
    }
}

/// Whether a text begins with a byte order mark, or with one that was taken for three letters and encoded again.
pub(super) fn begins_with_mark(text: &[u8]) -> bool {
    const TWICE_ENCODED: &[u8] = "\u{ef}\u{bb}\u{bf}".as_bytes();
    text.starts_with(BYTE_ORDER_MARK) || text.starts_with(TWICE_ENCODED)
}

/// Whether a rule's value is a URL of the web.
pub(super) fn is_url(value: &[u8]) -> bool {
    let begins = |scheme: &[u8]| value.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme));
    begins(b"http://") || begins(b"https://")
}

/// What stands behind the token of a user-agent value.
pub(super) fn extra_text(token: &[u8], value: &[u8]) -> Code {
    let rest = &value[token.len()..];
    // What a name says of itself in parentheses may hold anything.
    let rest = &rest[..rest.iter().position(|octet| *octet == b'(').unwrap_or(rest.len())];
    if token.eq_ignore_ascii_case(b"Mozilla") {
        Code::AgentIsFullString
    } else if are_several_names(value) {
        Code::AgentsOnOneLine
    } else if rest.first() == Some(&b'/') && !rest.trim_ascii_end().iter().any(|octet| is_blank(*octet)) {
        Code::AgentWithVersion
    } else if rest.first().is_some_and(|octet| is_blank(*octet)) && !rest.trim_ascii().is_empty() {
        Code::AgentWithBlank
    } else {
        Code::AgentWithExtraText
    }
}

/// Whether a value is a list: tokens with commas, semicolons or bars between them, each perhaps with a version.
fn are_several_names(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        let part = part.trim_ascii();
        let end = part.iter().position(|octet| *octet == b'/').unwrap_or(part.len());
        let token = leading_token(part, Matching::Rfc9309);
        !token.is_empty() && token.len() == end && !part.iter().any(|octet| is_blank(*octet))
    };
    let mut parts = value.split(|octet| matches!(octet, b',' | b';' | b'|'));
    value.iter().any(|octet| matches!(octet, b',' | b';' | b'|')) && parts.all(is_name)
}
