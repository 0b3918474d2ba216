//! Octets from outside as text of a table: valid UTF-8, nothing lost.

use std::borrow::Cow;

/// The octets that a text stands for; `None` where some may have been told as `\xNN`, and cannot be had back.
#[must_use]
pub fn octets_as_sent(text: &str) -> Option<&[u8]> {
    (!text.contains("\\x")).then_some(text.as_bytes())
}

/// Octets as text; sequences that are no UTF-8 become `\xNN`, octet by octet.
#[must_use]
pub fn of_octets(octets: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(octets) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(octets.len() + 16);
    for chunk in octets.utf8_chunks() {
        text.push_str(chunk.valid());
        for octet in chunk.invalid() {
            text += &format!("\\x{octet:02X}");
        }
    }
    Cow::Owned(text)
}

/// Octets as text, cut behind at most so many octets of the input.
#[must_use]
pub fn of_octets_cut(octets: &[u8], limit: usize) -> Cow<'_, str> {
    of_octets(&octets[..octets.len().min(limit)])
}

/// Text for people: control, bidi and zero-width characters become `\u{…}`, so that nothing from outside can steer a
/// terminal.
#[must_use]
pub fn for_people(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// JSON in which everything outside printable ASCII is escaped, so that it steers no terminal either.
///
/// The text is JSON already: beyond ASCII it has something only within strings, where an escape means the same.
#[must_use]
pub fn ascii_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            text.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        }
    }
    text
}

/// Whether a character could steer a terminal or hide: C0, DEL, C1, zero-width, line and paragraph separators, bidi
/// controls, byte order mark, tags.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_octets_stay_visible() {
        assert_eq!(of_octets(b"caf\xE9/\xC3\xA9"), "caf\\xE9/\u{e9}");
        assert_eq!(of_octets_cut("é".as_bytes(), 1), "\\xC3");
    }

    #[test]
    fn json_is_ascii() {
        let value = serde_json::json!({ "a": "\u{9b}31m \u{7f} \u{202e} \u{e0021} \u{e9} \n" });
        let text = ascii_json(&format!("{value:#}"));
        assert!(text.bytes().all(|octet| octet == b'\n' || (b' '..=b'~').contains(&octet)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok(), Some(value));
    }

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(for_people("a\u{1b}[2J\u{202e}b"), "a\\u{1b}[2J\\u{202e}b");
        assert!(matches!(for_people("plain é"), Cow::Borrowed(_)));
    }
}
