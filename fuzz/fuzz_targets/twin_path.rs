//! A second reading of the path of a URL, as plain as can be.

/// Path and query of a URL in normal form.
pub fn path_of(url: &[u8]) -> Vec<u8> {
    let url = url.split(|octet| *octet == b'#').next().unwrap_or_default();
    let from_authority = if url.starts_with(b"//") {
        Some(&url[2..])
    } else if url.starts_with(b"/") {
        None
    } else {
        let scheme = url.iter().take_while(|octet| octet.is_ascii_alphanumeric() || b"+-.".contains(octet)).count();
        Some(if url[scheme..].starts_with(b"://") { &url[scheme + 3..] } else { url })
    };
    let path = match from_authority {
        Some(rest) => &rest[rest.iter().take_while(|octet| !b"/?".contains(octet)).count()..],
        None => url,
    };
    let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
    [slash, &one_form(path, false)].concat()
}

/// The normal form of a path, or of a rule, whose `*` and `$` are kept.
pub fn one_form(raw: &[u8], is_rule: bool) -> Vec<u8> {
    let mut form = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let digits = raw.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.filter(|_| raw[at] == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(octet) if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) => form.push(octet),
            Some(octet) => form.extend(format!("%{octet:02X}").bytes()),
            None if raw[at] >= 0x80 || (!is_rule && b"*$".contains(&raw[at])) => {
                form.extend(format!("%{:02X}", raw[at]).bytes());
            }
            None => form.push(raw[at]),
        }
        at += if escaped.is_some() { 3 } else { 1 };
    }
    form
}
