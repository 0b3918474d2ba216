//! Origins (RFC 6454): the unit that a robots.txt speaks for.
//!
//! Holds the normal form of an origin and how one is read from a list line or cut from a URL. Pure: no look-ups.
//! Where a URL library is needed it is used here only; paths are cut by [`crate::robots::path`].

use std::borrow::Cow;
use std::fmt;

use url::{Host, Url};

use crate::robots::access::Reason;

/// Octets of the longest URL that is taken as one.
pub const URL_OCTETS: usize = 8 * 1024;
/// Octets of the longest host name (RFC 1035 §2.3.4).
pub const HOST_OCTETS: usize = 253;
/// Octets of the longest label of a host name (RFC 1035 §2.3.4).
pub const LABEL_OCTETS: usize = 63;

/// The two schemes that a robots.txt is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that the scheme uses where none is given.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Scheme, host and port in normal form, such as `https://a.test` or `http://a.test:8080`.
///
/// The host is a lower-case A-label name (a trailing dot is kept), an IPv4 address or a bracketed IPv6 address;
/// the scheme's own port is left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(Box<str>);

impl Origin {
    /// The origin of one URL, given in octets: `https://host/…`, `//host/…` or `host/…` (both https).
    ///
    /// # Errors
    /// The reason why the URL names no http(s) origin.
    pub fn of_url(url: &[u8]) -> Result<Self, Reason> {
        normal_form(url).map(|text| Self(text.into_owned().into_boxed_str()))
    }

    /// `scheme://host[:port]`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        if self.0.starts_with("https:") { Scheme::Https } else { Scheme::Http }
    }

    /// Host and port as written in the normal form.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.0[self.scheme().as_str().len() + "://".len()..]
    }

    /// The host; an IPv6 address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let authority = self.authority();
        match authority.rfind(':') {
            Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
            _ => authority,
        }
    }

    /// The port, also where it is the scheme's own.
    #[must_use]
    pub fn port(&self) -> u16 {
        let rest = &self.authority()[self.host().len()..];
        rest.strip_prefix(':').and_then(|port| port.parse().ok()).unwrap_or(self.scheme().default_port())
    }

    /// The same host and port under another scheme; a port that was the scheme's own becomes the other's own.
    #[must_use]
    pub fn with_scheme(&self, scheme: Scheme) -> Self {
        let text = format!("{}://{}", scheme.as_str(), self.authority());
        let own = format!(":{}", scheme.default_port());
        Self(text.strip_suffix(&own).unwrap_or(&text).into())
    }

    /// The URL of the origin's robots.txt (§2.3).
    #[must_use]
    pub fn robots_url(&self) -> String {
        format!("{}/robots.txt", self.0)
    }

    /// The registrable domain of the host by the Public Suffix List; `None` for addresses and bare suffixes.
    #[must_use]
    pub fn registered_domain(&self) -> Option<&str> {
        let host = self.host();
        if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
            return None;
        }
        psl::domain_str(host.strip_suffix('.').unwrap_or(host))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An origin as a list names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The origin in normal form; https for a bare name.
    pub origin: Origin,
    /// Whether the input had no scheme, so that http may be tried where https gives no connection.
    pub is_bare: bool,
}

impl Target {
    /// Reads a name, an origin or a URL.
    ///
    /// # Errors
    /// The reason why the text names no http(s) origin.
    pub fn parse(input: &[u8]) -> Result<Self, Reason> {
        let input = input.trim_ascii();
        let head = input.split(|octet| matches!(octet, b'/' | b'?' | b'#')).next().unwrap_or_default();
        let is_bare = !(head.ends_with(b":") && input[head.len()..].starts_with(b"//"));
        Origin::of_url(input).map(|origin| Self { origin, is_bare })
    }
}

/// The normal form of a URL's origin, borrowed where the URL already holds it.
///
/// # Errors
/// The reason why the URL names no http(s) origin.
pub fn normal_form(url: &[u8]) -> Result<Cow<'_, str>, Reason> {
    match already_normal(url) {
        Some(origin) => Ok(Cow::Borrowed(origin)),
        None => parsed(url).map(Cow::Owned),
    }
}

/// The common case: a plain lower-case name without port behind a lower-case scheme.
fn already_normal(url: &[u8]) -> Option<&str> {
    let scheme = if url.starts_with(b"https://") {
        Scheme::Https
    } else if url.starts_with(b"http://") {
        Scheme::Http
    } else {
        return None;
    };
    let start = scheme.as_str().len() + "://".len();
    let host_len =
        url[start..].iter().position(|octet| matches!(octet, b'/' | b'?' | b'#')).unwrap_or(url.len() - start);
    let host = &url[start..start + host_len];
    (url.len() <= URL_OCTETS && is_plain_name(host))
        .then(|| std::str::from_utf8(&url[..start + host_len]).expect("checked: ASCII"))
}

/// A name that needs no normalising: the same after IDNA, and no IPv4 address in any spelling.
fn is_plain_name(host: &[u8]) -> bool {
    let last_label = host.rsplit(|octet| *octet == b'.').next().unwrap_or(host);
    last_label.first().is_some_and(u8::is_ascii_lowercase)
        && host.iter().all(|octet| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
        && memchr::memmem::find(host, b"xn--").is_none()
        && labels_fit(host)
}

fn labels_fit(host: &[u8]) -> bool {
    let name = host.strip_suffix(b".").unwrap_or(host);
    name.len() <= HOST_OCTETS
        && name.split(|octet| *octet == b'.').all(|label| (1..=LABEL_OCTETS).contains(&label.len()))
}

fn parsed(url: &[u8]) -> Result<String, Reason> {
    if url.len() > URL_OCTETS {
        return Err(Reason::Length);
    }
    // Only the authority has to be text: path and query may hold any octets.
    let text = String::from_utf8_lossy(url);
    let (scheme, rest) = split_scheme(&text)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host_and_port = authority.rsplit('@').next().unwrap_or(authority);
    // The URL library would drop or reread these; readers of the same line would then see different hosts.
    let is_reread = |c: char| c.is_control() || c.is_whitespace() || c == '\\' || c == char::REPLACEMENT_CHARACTER;
    if authority.contains(is_reread) {
        return Err(Reason::Host);
    }
    let (host, port) = match Url::parse(&format!("{}://{host_and_port}/", scheme.as_str())) {
        Ok(url) => (normal_host(&url)?, url.port()),
        Err(_) => kept_as_is(host_and_port)?,
    };
    Ok(match port.filter(|port| *port != scheme.default_port()) {
        Some(port) => format!("{}://{host}:{port}", scheme.as_str()),
        None => format!("{}://{host}", scheme.as_str()),
    })
}

/// Scheme and the rest behind `//`. A bare name is https, as is `//host`.
fn split_scheme(text: &str) -> Result<(Scheme, &str), Reason> {
    if let Some((scheme, rest)) = text.split_once("://") {
        if scheme.eq_ignore_ascii_case("https") {
            return Ok((Scheme::Https, rest));
        }
        if scheme.eq_ignore_ascii_case("http") {
            return Ok((Scheme::Http, rest));
        }
        if is_scheme(scheme) {
            return Err(Reason::Scheme);
        }
    }
    if let Some((scheme, rest)) = text.split_once(':')
        && is_scheme(scheme)
        && !scheme.contains('.')
        && !rest.starts_with(|first: char| first.is_ascii_digit())
        && (is_opaque(scheme) || !has_user_information(rest))
    {
        return Err(Reason::Scheme);
    }
    Ok((Scheme::Https, text.strip_prefix("//").unwrap_or(text)))
}

/// Whether `rest`, what follows a colon, ends a user information: the colon then parts name and password.
fn has_user_information(rest: &str) -> bool {
    rest.split(['/', '?', '#']).next().unwrap_or(rest).contains('@')
}

/// Schemes in whose URLs `@` stands and is no end of user information.
const OPAQUE_SCHEMES: [&str; 13] =
    ["acct", "cid", "data", "im", "javascript", "mailto", "mid", "pres", "sip", "sips", "sms", "urn", "xmpp"];

fn is_opaque(scheme: &str) -> bool {
    OPAQUE_SCHEMES.iter().any(|opaque| scheme.eq_ignore_ascii_case(opaque))
}

/// What stands for user information where text from outside is stored or shown.
pub const MASK: &str = "***";

/// The text of a URL, or of what was meant as one, with its user information masked: `http://***@a.test/`. Passwords are
/// never stored, and tokens stand in the place of names.
///
/// Where the text names no origin, everything before the last `@` counts: a password may hold the `/` that makes it none.
#[must_use]
pub fn without_user_information(text: &str, names_origin: bool) -> Cow<'_, str> {
    let bare = text.trim_start();
    if bare.split_once(':').is_some_and(|(scheme, _)| is_opaque(scheme)) {
        return Cow::Borrowed(text);
    }
    let rest = match bare.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => bare.strip_prefix("//").unwrap_or(bare),
    };
    let start = text.len() - rest.len();
    let end = if names_origin { rest.find(['/', '?', '#']).unwrap_or(rest.len()) } else { rest.len() };
    match rest[..end].rfind('@') {
        Some(at) => Cow::Owned(format!("{}{MASK}{}", &text[..start], &rest[at..])),
        None => Cow::Borrowed(text),
    }
}

/// RFC 3986 §3.1.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn normal_host(url: &Url) -> Result<String, Reason> {
    match url.host() {
        Some(Host::Domain(name)) => checked_name(name).map(str::to_owned),
        Some(address @ (Host::Ipv4(_) | Host::Ipv6(_))) => Ok(address.to_string()),
        None => Err(Reason::Host),
    }
}

fn checked_name(name: &str) -> Result<&str, Reason> {
    if !name.bytes().all(|octet| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-')) {
        return Err(Reason::Host);
    }
    let bare = name.strip_suffix('.').unwrap_or(name);
    if bare.split('.').any(str::is_empty) {
        return Err(Reason::Host);
    }
    if labels_fit(name.as_bytes()) { Ok(name) } else { Err(Reason::Length) }
}

/// Names that IDNA refuses though they are plain `xn--` labels are tried as they are: some of them resolve.
fn kept_as_is(host_and_port: &str) -> Result<(String, Option<u16>), Reason> {
    let lower = host_and_port.to_ascii_lowercase();
    let (host, port) = match lower.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().map_err(|_| Reason::Port)?)),
        None => (lower.as_str(), None),
    };
    if !host.contains("xn--") {
        return Err(Reason::Host);
    }
    checked_name(host).map(|name| (name.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(input: &str) -> String {
        match Target::parse(input.as_bytes()) {
            Ok(target) => target.origin.to_string(),
            Err(reason) => format!("!{reason}"),
        }
    }

    #[test]
    fn one_normal_form() {
        for (input, expected) in [
            ("a.test", "https://a.test"),
            ("  A.Test  ", "https://a.test"),
            ("HTTP://A.Test:80", "http://a.test"),
            ("http://a.test/", "http://a.test"),
            ("http://user:pw@a.test/x?y#z", "http://a.test"),
            ("user@a.test", "https://a.test"),
            ("user:pw@a.test", "https://a.test"),
            ("user:pw@a.test:8080/x", "https://a.test:8080"),
            ("user:80@a.test", "https://a.test"),
            ("user:p@w@a.test", "https://a.test"),
            ("a.test:8080", "https://a.test:8080"),
            ("localhost:8080", "https://localhost:8080"),
            ("https://a.test:443/x", "https://a.test"),
            ("http://a.test:443", "http://a.test:443"),
            ("//a.test/x", "https://a.test"),
            ("a.test/path", "https://a.test"),
            ("http://bücher.test", "http://xn--bcher-kva.test"),
            ("shop_de.a.test", "https://shop_de.a.test"),
            ("a.test.", "https://a.test."),
            ("http://127.1", "http://127.0.0.1"),
            ("http://0x7f.0.0.1", "http://127.0.0.1"),
            ("http://[::FFFF:7f00:1]:81", "http://[::ffff:7f00:1]:81"),
            ("https://a.test?x=1", "https://a.test"),
            ("ftp://a.test", "!scheme"),
            ("mailto:x@a.test", "!scheme"),
            ("SIP:x@a.test", "!scheme"),
            ("javascript:x/@a.test", "!scheme"),
            ("tel:x", "!scheme"),
            ("http://a b.test", "!host"),
            ("http://a..test", "!host"),
            ("http://b\n.test", "!host"),
            ("http://a.test\\@b.test", "!host"),
            ("http://", "!host"),
            ("", "!host"),
            ("http://a.test:99999", "!port"),
            ("http://[::bad/", "!port"),
        ] {
            assert_eq!(normal(input), expected, "{input:?}");
        }
        assert_eq!(normal(&format!("{}.test", "a".repeat(64))), "!length");
        assert_eq!(normal(&format!("https://a.test/{}", "a".repeat(URL_OCTETS))), "!length");
    }

    #[test]
    fn user_information_is_masked() {
        for (text, names_origin, expected) in [
            ("http://user:pw@a.test/x?y@z", true, "http://***@a.test/x?y@z"),
            ("HTTPS://token@a.test", true, "HTTPS://***@a.test"),
            ("user:pw@a.test", true, "***@a.test"),
            ("//user:p@w@a.test:8/x", true, "//***@a.test:8/x"),
            ("a.test/@x//y@z", true, "a.test/@x//y@z"),
            ("a.test?u=http://x:y@b.test", true, "a.test?u=http://x:y@b.test"),
            ("a.test", true, "a.test"),
            ("ftp://user:pw@a.test/", false, "ftp://***@a.test/"),
            ("https://user:p/w@a.test/", false, "https://***@a.test/"),
            ("user:p//w@a.test x", false, "***@a.test x"),
            (" http://user:pw@a.test ", true, " http://***@a.test "),
            ("http:\\\\user:pw@a.test", false, "***@a.test"),
            ("mailto:x@a.test", false, "mailto:x@a.test"),
            ("no one", false, "no one"),
        ] {
            assert_eq!(without_user_information(text, names_origin), expected, "{text}");
        }
    }

    #[test]
    fn only_the_authority_has_to_be_text() {
        let normal = |url: &[u8]| normal_form(url).map(Cow::into_owned);
        for url in [&b"https://a.test/\xFF\0"[..], b"https://A.test/\xFF\0", b"A.test?\xE9#\xFC"] {
            assert_eq!(normal(url).as_deref(), Ok("https://a.test"), "{url:?}");
        }
        for url in [&b"https://\xFF.test/"[..], b"https://\xFF@a.test/", b"\xFFhttps://a.test"] {
            assert_eq!(normal(url), Err(Reason::Host), "{url:?}");
        }
    }

    #[test]
    fn a_url_behind_white_space_is_none() {
        // Its path would be cut elsewhere than its origin.
        for url in
            [" https://a.test/x", "\thttps://a.test/x", "\u{a0}https://a.test/x", "https://a.test /x", "\u{a0}a.test"]
        {
            assert_eq!(Origin::of_url(url.as_bytes()), Err(Reason::Host), "{url:?}");
        }
        assert!(Origin::of_url(b"https://a.test/x y ").is_ok());
    }

    #[test]
    fn a_scheme_in_the_query_is_none() {
        assert!(Target::parse(b"a.test/x?u=http://b.test").is_ok_and(|target| target.is_bare));
        assert!(Target::parse(b"http://a.test/").is_ok_and(|target| !target.is_bare));
    }

    #[test]
    fn names_that_idna_refuses_are_tried() {
        assert!(normal("http://xn--lw8h.test").starts_with("http://xn--lw8h.test"));
    }

    #[test]
    fn parts() {
        let origin = Origin::of_url(b"http://[::1]:8080/x").expect("an origin");
        assert_eq!((origin.host(), origin.port(), origin.scheme()), ("[::1]", 8080, Scheme::Http));
        let origin = Origin::of_url(b"https://www.a.co.uk").expect("an origin");
        assert_eq!((origin.host(), origin.port()), ("www.a.co.uk", 443));
        assert_eq!(origin.registered_domain(), Some("a.co.uk"));
        assert_eq!(origin.with_scheme(Scheme::Http).as_str(), "http://www.a.co.uk");
        assert_eq!(origin.robots_url(), "https://www.a.co.uk/robots.txt");
    }

    #[test]
    fn the_short_way_agrees_with_the_long_one() {
        for url in ["https://a.test/x", "http://a-b.c_d.test?x", "https://1a.test#f", "https://a.test.", "https://a.1b"]
        {
            let short = already_normal(url.as_bytes()).map(str::to_owned);
            assert!(short.is_none_or(|short| Ok(short) == parsed(url.as_bytes())), "{url}");
        }
    }
}
