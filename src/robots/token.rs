//! Product tokens and the declared matching mode (§2.2.1).

use std::fmt;

use super::access::names;
use super::google;
use super::lex::{PARSE_OCTETS, is_blank};
use super::path::head;

names! {
    /// How names and paths of a file are read: declared once, applied everywhere.
    pub enum Matching {
        /// RFC 9309; tokens may also hold digits and dots, which real crawlers use.
        Rfc9309 => "rfc9309",
        /// Google's open-source parser, with all that is its own; see [`google`].
        Google => "google",
    }
}

impl Matching {
    /// The other mode.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Rfc9309 => Self::Google,
            Self::Google => Self::Rfc9309,
        }
    }

    /// Octets of a body that are read (§2.5).
    #[must_use]
    pub const fn parse_octets(self) -> usize {
        match self {
            Self::Rfc9309 => PARSE_OCTETS,
            Self::Google => google::PARSE_OCTETS,
        }
    }

    /// Whether the path `/robots.txt` is allowed whatever the rules say (§2.2.2).
    #[must_use]
    pub const fn exempts_robots_txt(self) -> bool {
        match self {
            Self::Rfc9309 => true,
            Self::Google => false,
        }
    }
}

/// A product token, compared without regard to case: letters, digits, `_`, `-` and inner dots.
///
/// Google's parser takes a crawler's name as it stands: one that holds anything but letters, `_` and `-` no file names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductToken {
    /// The first octets, in front: they sort as the text does.
    head: u64,
    text: Box<str>,
}

impl ProductToken {
    /// The token of a crawler's name: what it begins with, or for [`Matching::Google`] all of it. `None` where there is
    /// none.
    #[must_use]
    pub fn of_name(name: &str, matching: Matching) -> Option<Self> {
        let token = match matching {
            Matching::Rfc9309 => leading_token(name.as_bytes(), matching),
            Matching::Google => name.as_bytes(),
        };
        match token {
            [] => None,
            token => {
                let text = String::from_utf8_lossy(token).to_ascii_lowercase();
                Some(Self { head: head(text.as_bytes()), text: text.into() })
            }
        }
    }

    /// Its first octets; see [`head`].
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// The token in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ProductToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The leading run of token octets, less dots at its end; empty where there is none. For [`Matching::Google`] digits
/// and dots are no token octets.
#[must_use]
pub fn leading_token(value: &[u8], matching: Matching) -> &[u8] {
    match matching {
        Matching::Rfc9309 => {
            let is_token = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-' | b'.');
            let run = &value[..value.iter().position(|octet| !is_token(octet)).unwrap_or(value.len())];
            let end = run.iter().rposition(|octet| *octet != b'.').map_or(0, |last| last + 1);
            &run[..end]
        }
        Matching::Google => google::leading_token(value),
    }
}

/// Whom a user-agent line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent<'a> {
    /// Every crawler that no group names.
    Star,
    /// The crawlers with this token, as spelt in the file.
    Token(&'a [u8]),
    /// A value without a token: nobody.
    Nobody,
}

impl<'a> Agent<'a> {
    /// Reads the value of a user-agent line.
    #[must_use]
    pub fn of_value(value: &'a [u8], matching: Matching) -> Self {
        match value {
            [b'*'] => Self::Star,
            [b'*', next, ..] if is_blank(*next) => Self::Star,
            _ => match leading_token(value, matching) {
                [] => Self::Nobody,
                token => Self::Token(token),
            },
        }
    }
}

/// A crawler as it is asked for: which groups it looks for, in which order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Asked {
    /// The wildcard groups themselves.
    Star,
    /// A crawler with a token of its own.
    Named {
        /// The token that its groups name.
        token: ProductToken,
        /// The token whose groups it obeys where none names its own: an operator's choice, not part of the protocol.
        fallback: Option<ProductToken>,
        /// Whether the wildcard groups apply to it where no group names it.
        star_applies: bool,
    },
}

impl Asked {
    /// A crawler of this name, as RFC 9309 sees it: its own groups, else the wildcard's. `*` is the wildcard itself.
    ///
    /// `None` where the name holds no token.
    #[must_use]
    pub fn named(name: &str, matching: Matching) -> Option<Self> {
        if name == "*" {
            return Some(Self::Star);
        }
        ProductToken::of_name(name, matching).map(|token| Self::Named { token, fallback: None, star_applies: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_named() {
        for (value, expected) in [
            ("*", Agent::Star),
            ("* everyone", Agent::Star),
            ("*bot", Agent::Nobody),
            ("", Agent::Nobody),
            ("GPTBot/1.1", Agent::Token(b"GPTBot")),
            ("archive.org_bot.", Agent::Token(b"archive.org_bot")),
            ("...", Agent::Nobody),
            ("360Spider*", Agent::Token(b"360Spider")),
            ("Kangaroo Bot", Agent::Token(b"Kangaroo")),
            ("__usage_ai-training", Agent::Token(b"__usage_ai-training")),
        ] {
            assert_eq!(Agent::of_value(value.as_bytes(), Matching::Rfc9309), expected, "{value:?}");
        }
    }
}
