//! Where a request goes, and where a `Location` points to from there (RFC 9110 §10.2.2, §2.3.1.2).

use url::Url;

use crate::origin::{Origin, Scheme, URL_OCTETS};
use crate::robots::access::Reason;

/// Where a robots.txt is (§2.3).
const ROBOTS_PATH: &str = "/robots.txt";

/// A base for paths only; a name that no `Location` can resolve to by chance.
const BASE_HOST: &str = "base.invalid";

/// A resource: an origin with path and query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    origin: Origin,
    path: String,
}

impl Place {
    /// The origin's robots.txt (§2.3).
    pub(super) fn robots_txt_of(origin: &Origin) -> Self {
        Self { origin: origin.clone(), path: ROBOTS_PATH.to_owned() }
    }

    /// The resource that an absolute URL names.
    ///
    /// # Errors
    /// The reason why it names no http(s) resource.
    pub(super) fn of_absolute(url: &[u8]) -> Result<Self, Reason> {
        let origin = Origin::of_url(url)?;
        // The common case, without a URL parser.
        if url.strip_prefix(origin.as_str().as_bytes()) == Some(ROBOTS_PATH.as_bytes()) {
            return Ok(Self::robots_txt_of(&origin));
        }
        Self::robots_txt_of(&origin).resolve(url)
    }

    /// Whether this is the robots.txt of its origin.
    pub(super) fn is_robots_txt(&self) -> bool {
        self.path == ROBOTS_PATH
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Path and query, as a request line holds them.
    #[cfg(feature = "http")]
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The URL, without user information and fragment.
    pub(super) fn url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    /// The Host field: the origin's authority without the trailing dot of the name.
    #[cfg(feature = "http")]
    pub(super) fn host_field(&self) -> String {
        let authority = self.origin.authority();
        let host = self.origin.host();
        let name = host.strip_suffix('.').unwrap_or(host);
        format!("{name}{}", &authority[host.len()..])
    }

    /// Where a `Location` points to from here.
    ///
    /// # Errors
    /// The reason why it points to no http(s) resource.
    pub(super) fn resolve(&self, location: &[u8]) -> Result<Self, Reason> {
        let reference = percent_encoded(location.trim_ascii());
        if reference.is_empty() {
            return Err(Reason::Host);
        }
        if reference.len() > URL_OCTETS {
            return Err(Reason::Length);
        }
        match Url::parse(&self.url()).and_then(|base| base.join(&reference)) {
            Ok(url) => Self::of_url(&url),
            Err(_) => self.resolve_by_hand(&reference),
        }
    }

    fn of_url(url: &Url) -> Result<Self, Reason> {
        // `name:80/x` has the scheme `name`, and could be read as a name with a port.
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Reason::Scheme);
        }
        let origin = Origin::of_url(url.as_str().as_bytes())?;
        Ok(Self { origin, path: path_and_query(url) })
    }

    /// For names that the URL parser refuses though they may resolve: names are read by [`Origin`], paths here.
    fn resolve_by_hand(&self, reference: &str) -> Result<Self, Reason> {
        let absolute = match reference.strip_prefix("//") {
            Some(rest) => format!("{}://{rest}", self.origin.scheme().as_str()),
            None => reference.to_owned(),
        };
        let at_base = |path: &str| Url::parse(&format!("{}://{BASE_HOST}{path}", Scheme::Http.as_str()));
        // What looks like a scheme may stand in a path or a query.
        let behind_scheme = absolute.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?', '#']));
        let (origin, url) = match behind_scheme {
            // Not joined to the base: a path may begin with `//`, or not be there.
            Some((_, rest)) => {
                let at = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
                (Origin::of_url(absolute.as_bytes())?, at_base(&rest[at..]))
            }
            None => (self.origin.clone(), at_base(&self.path).and_then(|base| base.join(reference))),
        };
        let url = url.map_err(|_| Reason::Host)?;
        if url.host_str() != Some(BASE_HOST) {
            return Err(Reason::Host);
        }
        let place = Self { origin, path: path_and_query(&url) };
        if place.url().len() > URL_OCTETS { Err(Reason::Length) } else { Ok(place) }
    }
}

fn path_and_query(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// Octets outside ASCII, percent-encoded as they are, whatever their charset.
fn percent_encoded(location: &[u8]) -> String {
    let mut text = String::with_capacity(location.len());
    for octet in location {
        if octet.is_ascii() {
            text.push(char::from(*octet));
        } else {
            text.push_str(&format!("%{octet:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resolved(base: &str, location: &[u8]) -> String {
        let origin = Origin::of_url(base.as_bytes()).expect("an origin");
        match Place::robots_txt_of(&origin).resolve(location) {
            Ok(place) => place.url(),
            Err(reason) => format!("!{reason}"),
        }
    }

    #[test]
    fn locations_are_resolved() {
        for (location, expected) in [
            (&b"https://a.test/robots.txt"[..], "https://a.test/robots.txt"),
            (b"/r1", "http://a.test/r1"),
            (b"r1", "http://a.test/r1"),
            (b"../../r1", "http://a.test/r1"),
            (b"?v=2", "http://a.test/robots.txt?v=2"),
            (b"//b.test/x", "http://b.test/x"),
            (b"HTTPS://B.Test:443", "https://b.test/"),
            (b"http://b.test?x", "http://b.test/?x"),
            (b"http://user:secret@b.test/x#frag", "http://b.test/x"),
            (b"#frag", "http://a.test/robots.txt"),
            (b"  /r1 ", "http://a.test/r1"),
            (b"/caf\xC3\xA9/robots.txt", "http://a.test/caf%C3%A9/robots.txt"),
            (b"/caf\xE9?\xFF", "http://a.test/caf%E9?%FF"),
            (b"http://b\xC3\xBCcher.test/", "http://xn--bcher-kva.test/"),
            (b"http://2130706434/robots.txt", "http://127.0.0.2/robots.txt"),
            (b"http://[::1]:81/x", "http://[::1]:81/x"),
            (b"/a b\"<>", "http://a.test/a%20b%22%3C%3E"),
            (b"https:/b.test/x", "https://b.test/x"),
            (b"http://b.test./x", "http://b.test./x"),
            (b"http://shop_de.b.test/x", "http://shop_de.b.test/x"),
        ] {
            assert_eq!(resolved("http://a.test", location), expected, "{}", location.escape_ascii());
        }
    }

    #[test]
    fn locations_that_lead_nowhere() {
        for (location, expected) in [
            (&b""[..], "!host"),
            (b" \t", "!host"),
            (b"http://", "!host"),
            (b"http://a b.test/", "!host"),
            (b"http://www.a.test{request_uri}/", "!host"),
            (b"http://$host/robots.txt", "!host"),
            (b"http://b\xFC.test/", "!host"),
            (b"http://a..test/", "!host"),
            (b"file:///etc/hostname", "!scheme"),
            (b"gopher://b.test:11211/_stats", "!scheme"),
            (b"javascript:alert(1)", "!scheme"),
            (b"data:text/plain,User-agent:*", "!scheme"),
            (b"ftp://b.test/", "!scheme"),
            (b"b.test:80/x", "!scheme"),
            (b"localhost:8080//", "!scheme"),
            (b"http://b.test:99999/", "!host"),
        ] {
            let seen = resolved("http://a.test", location);
            assert!(seen.starts_with('!'), "{}: {seen}", location.escape_ascii());
            if expected == "!scheme" {
                assert_eq!(seen, expected, "{}", location.escape_ascii());
            }
        }
        assert!(resolved("http://a.test", b"http://[::bad/robots.txt").starts_with('!'));
        let long = [b"/".as_slice(), &b"a".repeat(URL_OCTETS)].concat();
        assert_eq!(resolved("http://a.test", &long), "!length");
    }

    #[test]
    fn names_that_the_url_parser_refuses_are_followed() {
        let odd = "http://xn--a.test";
        assert!(Url::parse(odd).is_err(), "the case needs such a name");
        assert_eq!(resolved(odd, b"/r?x"), "http://xn--a.test/r?x");
        assert_eq!(resolved(odd, b"r"), "http://xn--a.test/r");
        assert_eq!(resolved(odd, b"https://xn--a.test/robots.txt"), "https://xn--a.test/robots.txt");
        assert_eq!(resolved("http://a.test", b"//xn--a.test/x"), "http://xn--a.test/x");
        assert_eq!(resolved(odd, b"https://xn--a.test//b.test/x"), "https://xn--a.test//b.test/x");
        assert_eq!(resolved("http://a.test", b"https://xn--a.test"), "https://xn--a.test/");
        assert_eq!(resolved("http://a.test", b"https://xn--a.test?x"), "https://xn--a.test/?x");
        assert_eq!(resolved(odd, b"/r?to=http://b.test/"), "http://xn--a.test/r?to=http://b.test/");
        assert_eq!(resolved(odd, b"mailto:x"), "!host");
        let grown = "/".to_owned() + &" a".repeat(URL_OCTETS / 3);
        assert_eq!([odd, "http://a.test"].map(|base| resolved(base, grown.as_bytes())), ["!length", "!length"]);
    }

    #[cfg(feature = "http")]
    #[test]
    fn the_host_field_has_no_trailing_dot() {
        for (origin, host) in [
            ("http://a.test", "a.test"),
            ("http://a.test.", "a.test"),
            ("https://a.test.:8443", "a.test:8443"),
            ("http://[::1]:81", "[::1]:81"),
        ] {
            let origin = Origin::of_url(origin.as_bytes()).expect("an origin");
            assert_eq!(Place::robots_txt_of(&origin).host_field(), host);
        }
    }

    /// Pieces that references are made of.
    const PIECES: [&[u8]; 30] = [
        b"http:",
        b"HTTPS:",
        b"ftp:",
        b"javascript:",
        b"//",
        b"/",
        b"\\",
        b"?",
        b"#",
        b"@",
        b":",
        b"..",
        b".",
        b"%2e",
        b"%",
        b"a.test",
        b"xn--a.test",
        b"127.1",
        b"[::1]",
        b":80",
        b":99999",
        b" ",
        b"\t",
        b"\n",
        b"\0",
        b"\xFF",
        b"\xC3\xBC",
        b"a",
        b"xn--a",
        b"base.invalid",
    ];

    proptest! {
        #[test]
        fn any_reference_leads_to_a_place_that_names_itself(
            base in prop::sample::select(vec!["http://a.test", "https://xn--a.test:81", "http://[::1]", "http://b.test."]),
            references in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 0..8), 1..5),
        ) {
            let mut place = Place::robots_txt_of(&Origin::of_url(base.as_bytes()).expect("an origin"));
            for pieces in references {
                let reference: Vec<u8> = pieces.iter().flat_map(|piece| PIECES[*piece]).copied().collect();
                let Ok(next) = place.resolve(&reference) else { continue };
                let url = next.url();
                prop_assert!(url.bytes().all(|octet| octet.is_ascii_graphic()), "{} from {}", url, place.url());
                prop_assert!(url.len() <= URL_OCTETS && !url.contains('#'), "{}", url);
                prop_assert_eq!(Place::of_absolute(url.as_bytes()), Ok(next.clone()), "{}", url);
                prop_assert_eq!(place.resolve(url.as_bytes()), Ok(next.clone()), "{}", url);
                place = next;
            }
        }
    }
}
