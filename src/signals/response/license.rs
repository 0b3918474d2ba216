//! `Link` to a licence of RSL: `<URL>; rel="license"; type="application/rsl+xml"`.
//!
//! Sources: rslstandard.org (RSL 1.0, the guide to header fields), RFC 8288 §3. A `license` of another type is not of
//! RSL, and a link with an `anchor` speaks of another resource. The document is not fetched.

/// One link to a licence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LicenseLink<'a> {
    /// The link as it stands in the field, with its parameters.
    pub octets: &'a [u8],
    /// What it points to, as given.
    pub target: &'a [u8],
}

/// The links to a licence that a field holds, in their order. What is no link is passed over up to the next comma.
pub fn links(value: &[u8]) -> impl Iterator<Item = LicenseLink<'_>> {
    let mut reader = Reader { rest: value };
    std::iter::from_fn(move || reader.next()).filter(|(_, is_license)| *is_license).map(|(link, _)| link)
}

/// What stands before the cursor is read.
struct Reader<'a> {
    rest: &'a [u8],
}

/// What the parameters of a link say; of several with one name the first counts.
#[derive(Default)]
struct Parameters {
    is_license: Option<bool>,
    is_rsl: Option<bool>,
    has_anchor: bool,
}

impl<'a> Reader<'a> {
    /// The next link, and whether it is one to a licence.
    fn next(&mut self) -> Option<(LicenseLink<'a>, bool)> {
        loop {
            self.skip(|octet| matches!(octet, b' ' | b'\t' | b','));
            let start = self.rest;
            if self.take(b'<') {
                let target = self.until(|octet| octet == b'>');
                if self.take(b'>') {
                    let parameters = self.parameters();
                    let octets = start[..start.len() - self.rest.len()].trim_ascii_end();
                    return Some((LicenseLink { octets, target: target.trim_ascii() }, parameters.are_of_a_license()));
                }
            }
            if self.rest.is_empty() {
                return None;
            }
            self.skip(|octet| octet != b',');
        }
    }

    /// Parameters up to the comma behind them.
    fn parameters(&mut self) -> Parameters {
        let mut parameters = Parameters::default();
        loop {
            self.skip(|octet| matches!(octet, b' ' | b'\t' | b';'));
            if matches!(self.rest, [] | [b',', ..]) {
                return parameters;
            }
            let name = self.until(|octet| matches!(octet, b'=' | b';' | b',' | b' ' | b'\t'));
            self.skip_blanks();
            let value = if self.take(b'=') { self.value() } else { Vec::new() };
            parameters.note(name, &value);
        }
    }

    /// A token, or what stands between quotes with its escapes undone.
    fn value(&mut self) -> Vec<u8> {
        self.skip_blanks();
        if !self.take(b'"') {
            return self.until(|octet| matches!(octet, b';' | b',' | b' ' | b'\t')).to_vec();
        }
        let mut value = Vec::new();
        while let [octet, rest @ ..] = self.rest {
            self.rest = rest;
            match (octet, rest) {
                (b'"', _) => break,
                (b'\\', [escaped, rest @ ..]) => {
                    value.push(*escaped);
                    self.rest = rest;
                }
                _ => value.push(*octet),
            }
        }
        value
    }

    fn take(&mut self, octet: u8) -> bool {
        let behind = self.rest.strip_prefix(&[octet]);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    fn until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|octet| ends(*octet)).unwrap_or(self.rest.len());
        let (before, rest) = self.rest.split_at(end);
        self.rest = rest;
        before
    }

    fn skip(&mut self, skips: impl Fn(u8) -> bool) {
        self.until(|octet| !skips(octet));
    }

    fn skip_blanks(&mut self) {
        self.skip(|octet| matches!(octet, b' ' | b'\t'));
    }
}

impl Parameters {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"rel") {
            let mut relations = value.split(u8::is_ascii_whitespace);
            self.is_license.get_or_insert_with(|| relations.any(|relation| relation.eq_ignore_ascii_case(b"license")));
        } else if name.eq_ignore_ascii_case(b"type") {
            let essence = value.split(|octet| *octet == b';').next().unwrap_or_default().trim_ascii();
            self.is_rsl.get_or_insert_with(|| essence.eq_ignore_ascii_case(b"application/rsl+xml"));
        } else if name.eq_ignore_ascii_case(b"anchor") {
            self.has_anchor = true;
        }
    }

    fn are_of_a_license(&self) -> bool {
        self.is_license == Some(true) && self.is_rsl == Some(true) && !self.has_anchor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_licences() {
        for (value, expected) in [
            ("<https://l.test/1>; rel=\"license\"; type=\"application/rsl+xml\"", "https://l.test/1"),
            ("</l.xml>;type=Application/RSL+XML;REL=License", "/l.xml"),
            ("<a>; rel=\"alternate license\" ; type=\"application/rsl+xml; charset=utf-8\"", "a"),
            ("<a>; rel = license; type = \"application\\/rsl+xml\"", "a"),
            ("<a>;;rel=license;flag;type=application/rsl+xml;", "a"),
            (
                "<a,b>; title=\"x, <y>; rel=z\"; rel=license; type=application/rsl+xml, <c>; rel=next, \
                 <d>;rel=license;type=application/rsl+xml",
                "a,b d",
            ),
            ("nonsense, <a>;rel=license;type=application/rsl+xml", "a"),
            ("<a>; rel=next; rel=license; type=application/rsl+xml", ""),
            ("<a>; rel=license; type=text/html; type=application/rsl+xml", ""),
            ("<a>; rel=license", ""),
            ("<a>; rel=license; type=application/rsl+xml; anchor=\"/b\"", ""),
            ("<a>; rel=\"license; type=application/rsl+xml", ""),
            ("<a; rel=license; type=application/rsl+xml", ""),
            ("<", ""),
            ("<>", ""),
            ("<a>; rel=license; type=\"application/rsl+xml\\", ""),
            ("", ""),
        ] {
            let found: Vec<&str> =
                links(value.as_bytes()).map(|link| std::str::from_utf8(link.target).expect("text")).collect();
            assert_eq!(found.join(" "), expected, "{value:?}");
        }
    }

    #[test]
    fn a_link_alone_is_read_as_in_its_field() {
        let value = b"<x>; rel=next, </l>; rel=license ; type=\"application/rsl+xml\" , <y>";
        let link = links(value).next().expect("a licence");
        assert_eq!(link.octets, b"</l>; rel=license ; type=\"application/rsl+xml\"");
        assert!(links(link.octets).map(|again| again.target).eq([link.target]));
    }
}
