//! What Google's open-source parser reads otherwise than RFC 9309 has it: lines, keys, names, and the path of a URL.
//!
//! Measured against github.com/google/robotstxt at commit 22b355f. How its groups are chosen and how its longest match
//! decides is as in [`group`](super::group) and [`matcher`](super::matcher). What it does otherwise is a [`Quirk`]; each
//! can be undone alone, which tells why the two modes part.

use super::access::names;
use super::lex::{Content, content, trim};
use super::parse::{Directive, Key, Rule};
use super::token::Matching;

names! {
    /// What Google's parser does otherwise, as far as it changes verdicts.
    pub enum Quirk {
        /// Paths are compared as they are written, and a path may begin with `;`.
        PathForm => "path_form",
        /// `/robots.txt` is a path like others.
        RobotsTxt => "robots_txt",
        /// Names hold letters, `_` and `-` only, and a crawler's name is taken whole.
        Token => "token",
        /// No limit of octets.
        SizeLimit => "size_limit",
        /// An allow line for an index page allows its folder.
        IndexHtml => "index_html",
        /// A blank may stand for the colon.
        MissingColon => "missing_colon",
        /// Keys count by how they begin, also misspelt.
        MisspeltKey => "misspelt_key",
        /// A line ends at a NUL octet, and is cut behind so many octets.
        LineCut => "line_cut",
    }
}

/// A mode, or Google's with one quirk undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The mode.
    pub matching: Matching,
    /// What is done as RFC 9309 has it all the same.
    pub undone: Option<Quirk>,
}

impl Reading {
    /// Google's, but for one quirk.
    #[must_use]
    pub const fn without(quirk: Quirk) -> Self {
        Self { matching: Matching::Google, undone: Some(quirk) }
    }

    /// The mode in which one thing is read.
    #[must_use]
    pub fn mode_of(self, quirk: Quirk) -> Matching {
        if self.undone == Some(quirk) { Matching::Rfc9309 } else { self.matching }
    }

    /// Whether a quirk is there.
    fn has(self, quirk: Quirk) -> bool {
        self.mode_of(quirk) == Matching::Google
    }
}

impl From<Matching> for Reading {
    fn from(matching: Matching) -> Self {
        Self { matching, undone: None }
    }
}

/// Octets of the longest line; what stands behind them on a line is not read.
pub const LINE_OCTETS: usize = 2_083 * 8 - 1;

/// Octets of a body that are read in this mode. That parser has no limit; this one is beyond all that is ever kept.
pub const PARSE_OCTETS: usize = 256 * 1024 * 1024;

/// What a line without its comment holds. A NUL octet ends it, and a blank may stand for a missing colon where there
/// are two words.
pub(super) fn line_content(text: &[u8], reading: Reading) -> Content<'_> {
    let text = if reading.has(Quirk::LineCut) { cut(text) } else { text };
    match content(text) {
        Content::Other(words) if reading.has(Quirk::MissingColon) => two_words(words).unwrap_or(Content::Other(words)),
        content => content,
    }
}

fn cut(text: &[u8]) -> &[u8] {
    let text = &text[..text.len().min(LINE_OCTETS)];
    memchr::memchr(0, text).map_or(text, |end| &text[..end])
}

fn two_words(words: &[u8]) -> Option<Content<'_>> {
    let is_blank = |octet: &u8| matches!(octet, b' ' | b'\t');
    let end = words.iter().position(is_blank)?;
    let (key, rest) = words.split_at(end);
    let start = rest.iter().position(|octet| !is_blank(octet))?;
    let value = &rest[start..];
    (!value.iter().any(is_blank)).then(|| Content::Record { key: trim(key), value: trim(value) })
}

/// Keys that count, each by how it begins: whatever follows is not looked at.
const KEYS: [(&[u8], Key); 12] = [
    (b"user-agent", Key::UserAgent),
    (b"useragent", Key::UserAgent),
    (b"user agent", Key::UserAgent),
    (b"allow", Key::Rule(Directive::Allow)),
    (b"disallow", Key::Rule(Directive::Disallow)),
    (b"dissallow", Key::Rule(Directive::Disallow)),
    (b"dissalow", Key::Rule(Directive::Disallow)),
    (b"disalow", Key::Rule(Directive::Disallow)),
    (b"diasllow", Key::Rule(Directive::Disallow)),
    (b"disallaw", Key::Rule(Directive::Disallow)),
    (b"sitemap", Key::Sitemap),
    (b"site-map", Key::Sitemap),
];

/// What a key means, if it is one that counts; no other is applied.
pub(super) fn key(key: &[u8]) -> Option<Key> {
    let begins = |name: &[u8]| key.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    KEYS.iter().find(|(name, _)| begins(name)).map(|(_, meaning)| *meaning)
}

/// The leading run of letters, `_` and `-`: all that counts of a user-agent value.
pub(super) fn leading_token(value: &[u8]) -> &[u8] {
    let is_token = |octet: &u8| octet.is_ascii_alphabetic() || matches!(octet, b'_' | b'-');
    &value[..value.iter().position(|octet| !is_token(octet)).unwrap_or(value.len())]
}

/// Path, parameters and query of a URL, without the fragment: empty, or from the first `/`, `?` or `;` behind the
/// scheme on.
pub(super) fn path_of_url(url: &[u8]) -> &[u8] {
    let start = if url.starts_with(b"//") { 2 } else { 0 };
    let first_from = |from: usize| url[from..].iter().position(|octet| matches!(octet, b'/' | b'?' | b';'));
    // Only what stands before any path is a scheme.
    let early = first_from(start);
    let scheme = memchr::memmem::find(&url[start..], b"://").filter(|end| early.is_none_or(|early| *end < early));
    let authority = start + scheme.map_or(0, |end| end + 3);
    let fragment = memchr::memchr(b'#', &url[start..]).map_or(url.len(), |place| start + place);
    match first_from(authority).map(|place| authority + place) {
        Some(path) if path <= fragment => &url[path..fragment],
        _ => &[],
    }
}

/// Whether undoing a quirk may change what a body, as Google's parser reads it, says; false only where it cannot.
#[must_use]
pub fn may_show(quirk: Quirk, body: &[u8], rules: &[Rule<'_>]) -> bool {
    let is_odd = |octet: &u8| *octet >= 0x80 || matches!(octet, b'%' | b'$');
    match quirk {
        Quirk::PathForm => rules.iter().any(|rule| rule.value.iter().any(is_odd)),
        Quirk::RobotsTxt => false,
        Quirk::SizeLimit => body.len() > Matching::Rfc9309.parse_octets(),
        Quirk::IndexHtml => rules.iter().any(|rule| folder_of_index(rule).is_some()),
        Quirk::LineCut => body.len() > LINE_OCTETS || memchr::memchr(0, body).is_some(),
        Quirk::Token | Quirk::MissingColon | Quirk::MisspeltKey => true,
    }
}

/// Of an allow line for the index page of a folder, the value that allows the folder itself: no longer than the line's
/// own, so that it decides only where that does not match.
pub(super) fn folder_of_index(rule: &Rule<'_>) -> Option<Vec<u8>> {
    let slash = rule.value.iter().rposition(|octet| *octet == b'/')?;
    let is_index = rule.directive == Directive::Allow && rule.value[slash..].starts_with(b"/index.htm");
    is_index.then(|| [&rule.value[..=slash], b"$"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<'a>(key: &'a str, value: &'a str) -> Content<'a> {
        Content::Record { key: key.as_bytes(), value: value.as_bytes() }
    }

    #[test]
    fn a_blank_may_stand_for_the_colon_between_two_words() {
        for (line, expected) in [
            ("Disallow /x", record("Disallow", "/x")),
            (" Disallow \t /x ", record("Disallow", "/x")),
            ("Disallow /x /y", Content::Other(b"Disallow /x /y")),
            ("User agent *", Content::Other(b"User agent *")),
            ("Disallow\x0b/x", Content::Other(b"Disallow\x0b/x")),
            ("Disallow", Content::Other(b"Disallow")),
            ("Disallow /x:y", record("Disallow /x", "y")),
            ("Disallow: /x\0y", record("Disallow", "/x")),
            ("\0Disallow: /x", Content::Blank),
        ] {
            assert_eq!(line_content(line.as_bytes(), Matching::Google.into()), expected, "{line:?}");
        }
    }

    #[test]
    fn a_line_is_cut_behind_so_many_octets() {
        let line = format!("Disallow: /{}", "x".repeat(LINE_OCTETS));
        let content = line_content(line.as_bytes(), Matching::Google.into());
        let Content::Record { value, .. } = content else { panic!("a record") };
        assert_eq!(value.len(), LINE_OCTETS - "Disallow: ".len());
    }

    #[test]
    fn keys_count_by_how_they_begin() {
        for (name, expected) in [
            ("USERAGENTS", Some(Key::UserAgent)),
            ("user agent", Some(Key::UserAgent)),
            ("Disallowed", Some(Key::Rule(Directive::Disallow))),
            ("diasllow", Some(Key::Rule(Directive::Disallow))),
            ("allowed", Some(Key::Rule(Directive::Allow))),
            ("disalaw", None),
            ("alow", None),
            ("dis", None),
            ("user_agent", None),
        ] {
            assert_eq!(key(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn where_the_path_of_a_url_begins() {
        for (url, expected) in [
            ("https://a.test", ""),
            ("https://a.test/x?y#z", "/x?y"),
            ("https://a.test?q", "?q"),
            ("https://a.test;p/x", ";p/x"),
            ("https://a.test#/x", ""),
            ("a.test/x", "/x"),
            ("//a.test/x", "/x"),
            ("//a.test", ""),
            ("/x://y", "/x://y"),
            ("a.test/x://y/z", "/x://y/z"),
            ("a#://b/c", ""),
            ("#", ""),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8_lossy(path_of_url(url.as_bytes())), expected, "{url:?}");
        }
    }
}
