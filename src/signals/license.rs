//! `License` records: where the terms of use are, as RSL 1.0 has it.
//!
//! Source: rslstandard.org. The record stands for the whole site, wherever it stands. The document that it names is not
//! fetched.

use std::collections::HashSet;

use super::fact::Fact;
use crate::robots::access::names;
use crate::robots::lex::Line;

/// Octets of the longest URL that is taken.
pub const LICENSE_OCTETS: usize = 2_048;

/// URLs told of one file.
pub const LICENSES_LISTED: usize = 16;

names! {
    /// What a record is worth.
    pub enum Validity {
        /// An absolute http or https URL.
        Valid => "valid",
        /// One that an earlier record names.
        Duplicate => "duplicate",
        /// Anything else.
        Invalid => "invalid",
    }
}

/// One `License` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct License<'a> {
    /// Where.
    pub line: Line,
    /// Whether it stands behind a user-agent line.
    pub is_in_group: bool,
    /// What it is worth.
    pub validity: Validity,
    /// The URL as written.
    pub url: &'a [u8],
}

/// All `License` records of a file, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Licenses<'a> {
    /// The records.
    pub records: Vec<License<'a>>,
}

impl<'a> Licenses<'a> {
    pub(super) fn of<'f>(facts: impl Iterator<Item = &'f Fact<'a>>) -> Self
    where
        'a: 'f,
    {
        let mut known = HashSet::new();
        let mut validity = |url: &'a [u8]| match (is_absolute(url), known.insert(url)) {
            (false, _) => Validity::Invalid,
            (true, false) => Validity::Duplicate,
            (true, true) => Validity::Valid,
        };
        let records = facts.map(|fact| License {
            line: fact.line,
            is_in_group: fact.group.is_some(),
            validity: validity(fact.raw),
            url: fact.raw,
        });
        Self { records: records.collect() }
    }

    /// The distinct URLs as written, at most [`LICENSES_LISTED`].
    pub fn urls(&self) -> impl Iterator<Item = &'a [u8]> {
        let valid = self.records.iter().filter(|record| record.validity == Validity::Valid);
        valid.map(|record| record.url).take(LICENSES_LISTED)
    }
}

/// Whether a value is an absolute http or https URL of at most [`LICENSE_OCTETS`]; it need not be percent-encoded.
pub(super) fn is_absolute(value: &[u8]) -> bool {
    let behind = |scheme: &str| {
        let head = value.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme.as_bytes()).then(|| &value[scheme.len()..])
    };
    let rest = behind("https://").or_else(|| behind("http://"));
    let has_host = rest.is_some_and(|rest| !matches!(rest, [] | [b'/' | b'?' | b':' | b'@', ..]));
    has_host && value.len() <= LICENSE_OCTETS && !value.iter().any(|octet| *octet <= b' ' || *octet == 0x7F)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::parse::Robots;
    use crate::robots::token::Matching;
    use crate::signals::Signals;

    #[test]
    fn absolute_urls() {
        let long = format!("https://a.test/{}", "x".repeat(LICENSE_OCTETS));
        for (value, expected) in [
            ("https://legal.example/rsl.xml", true),
            ("HTTP://legal.example", true),
            ("https://legal.example/caf\u{e9}", true),
            ("/rsl.xml", false),
            ("legal.example/rsl.xml", false),
            ("ftp://legal.example/rsl.xml", false),
            ("https:///rsl.xml", false),
            ("https://", false),
            ("https://a.test/a b", false),
            ("", false),
            (&long, false),
        ] {
            assert_eq!(is_absolute(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn records_count_for_the_site_wherever_they_stand() {
        let body = b"License: https://a.test/1\nUser-agent: *\nlicense: https://a.test/2\nAllow: /\n\
            License: /3\nLicense: https://a.test/1\n";
        let robots = Robots::parse(body, Matching::Rfc9309);
        let licenses = Signals::of(&robots, &GroupIndex::of(&robots), body).licenses;
        assert!(licenses.urls().eq([&b"https://a.test/1"[..], b"https://a.test/2"]));
        let told = licenses.records.iter().map(|record| (u32::from(record.line), record.is_in_group, record.validity));
        assert!(told.eq([
            (1, false, Validity::Valid),
            (3, true, Validity::Valid),
            (5, true, Validity::Invalid),
            (6, true, Validity::Duplicate),
        ]));
    }
}
