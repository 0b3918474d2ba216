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

/// Path and query of a URL as Google's parser has them, as they are written.
pub fn google_path_of(url: &[u8]) -> Vec<u8> {
    let start = if url.starts_with(b"//") { 2 } else { 0 };
    let begins_path = |octet: &u8| matches!(octet, b'/' | b'?' | b';');
    // A scheme ends before anything that may begin a path, its own `/` aside.
    let scheme = (start..url.len()).find(|place| url[*place..].starts_with(b"://"));
    let has_scheme = scheme.is_some_and(|end| !url[start..end].iter().any(begins_path));
    let authority = if has_scheme { scheme.map_or(start, |end| end + 3) } else { start };
    let fragment = (start..url.len()).find(|place| url[*place] == b'#').unwrap_or(url.len());
    let path = (authority..url.len()).find(|place| begins_path(&url[*place])).unwrap_or(url.len());
    let path = if path < fragment { &url[path..fragment] } else { &[] };
    let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
    [slash, path].concat()
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
