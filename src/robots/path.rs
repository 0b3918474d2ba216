//! Path and query of a URL, brought to the one form in which rules are compared (§2.2.2).
//!
//! Works on the octets of the URL as given: no dot-segment, backslash or other rewriting.

/// Octets that stand for themselves whether escaped or not (RFC 3986 §2.3).
const fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// The path and query of a URL, as given, and whether a `/` is missing in front of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPath<'a> {
    /// Octets of path and query; empty where the URL ends at its authority.
    octets: &'a [u8],
    needs_slash: bool,
}

impl<'a> RawPath<'a> {
    /// Cuts path and query from `scheme://authority/path?query#fragment`, `//authority/path` or `/path`.
    ///
    /// A URL without a scheme that does not begin with `/` begins with its authority.
    #[must_use]
    pub fn of_url(url: &'a [u8]) -> Self {
        let url = memchr::memchr(b'#', url).map_or(url, |fragment| &url[..fragment]);
        let octets = match url {
            [b'/', b'/', rest @ ..] => after_authority(rest),
            [b'/', ..] => url,
            _ => after_authority(after_scheme(url)),
        };
        Self { octets, needs_slash: octets.first() != Some(&b'/') }
    }

    /// Writes the normal form into `buffer`, whose former content is dropped.
    ///
    /// Octets above 0x7F become `%XX`, escapes of unreserved characters are undone, the hex digits of others become
    /// upper case, and `*` and `$` become `%2A` and `%24` (§2.2.3); all else stays.
    pub fn normalise_into(self, buffer: &mut Vec<u8>) {
        buffer.clear();
        if self.needs_slash {
            buffer.push(b'/');
        }
        normalise(self.octets, Specials::AreOctets, buffer);
    }

    /// The normal form; see [`normalise_into`](Self::normalise_into).
    #[must_use]
    pub fn normalised(self) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(self.octets.len() + 1);
        self.normalise_into(&mut buffer);
        buffer
    }
}

/// Whether a normalised path is the rules file itself, which is always allowed (§2.2.2).
#[must_use]
pub fn is_robots_txt(normalised: &[u8]) -> bool {
    normalised == b"/robots.txt"
}

fn after_scheme(url: &[u8]) -> &[u8] {
    let is_scheme = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-' | b'.');
    let end = url.iter().position(|octet| !is_scheme(octet)).unwrap_or(url.len());
    url[end..].strip_prefix(b"://").unwrap_or(url)
}

fn after_authority(rest: &[u8]) -> &[u8] {
    memchr::memchr2(b'/', b'?', rest).map_or(&[], |end| &rest[end..])
}

/// What `*` and `$` are in the octets at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Specials {
    /// Ordinary octets, the same as `%2A` and `%24`.
    AreOctets,
    /// Left as they are.
    AreKept,
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends the normal form of some octets: one pass, from left to right.
pub(super) fn normalise(raw: &[u8], specials: Specials, into: &mut Vec<u8>) {
    let mut rest = raw;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                rest = after;
                escape([*high, *low], into);
            }
            (0x80.., _) => push_escaped(*first, into),
            (b'*' | b'$', _) if specials == Specials::AreOctets => push_escaped(*first, into),
            _ => into.push(*first),
        }
    }
}

fn escape(digits: [u8; 2], into: &mut Vec<u8>) {
    let [high, low] = digits.map(hex_value);
    let octet = high << 4 | low;
    if is_unreserved(octet) {
        into.push(octet);
    } else {
        push_escaped(octet, into);
    }
}

const fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn push_escaped(octet: u8, into: &mut Vec<u8>) {
    into.extend([b'%', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_and_brought_to_one_form() {
        for (url, expected) in [
            ("https://a.test", "/"),
            ("https://a.test?id=3", "/?id=3"),
            ("https://a.test/x?y#z", "/x?y"),
            ("//shop.test/checkout/cart", "/checkout/cart"),
            ("/search?q=http://b.test/", "/search?q=http://b.test/"),
            ("a.test/x", "/x"),
            ("HTTP://u:p@a.test:8080/a b", "/a b"),
            ("http://[::1]/%7euser/%2f%c3%A9é", "/~user/%2F%C3%A9%C3%A9"),
            ("http://a.test/100%-off/%zz/%4", "/100%-off/%zz/%4"),
            ("http://a.test/*/$%2a", "/%2A/%24%2A"),
            ("http://a.test/a/../b//c\\d", "/a/../b//c\\d"),
            ("http://a.test/%%36%31", "/%61"),
            ("", "/"),
        ] {
            assert_eq!(String::from_utf8_lossy(&RawPath::of_url(url.as_bytes()).normalised()), expected, "{url:?}");
        }
    }
}
