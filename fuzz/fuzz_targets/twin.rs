//! A second reading of paths and rules: no compilation, no recursion, one table of reachable places per rule.

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

/// Whether a rule in normal form matches a path in normal form.
pub fn matches(rule: &[u8], path: &[u8]) -> bool {
    if !rule.starts_with(b"/") && !rule.starts_with(b"*") {
        return false;
    }
    let mut reachable = vec![false; path.len() + 1];
    reachable[0] = true;
    for (at, octet) in rule.iter().enumerate() {
        match octet {
            b'*' => {
                let first = reachable.iter().position(|is| *is).unwrap_or(reachable.len());
                reachable[first..].fill(true);
            }
            b'$' if at + 1 == rule.len() => return reachable[path.len()],
            b'$' => b"%24".iter().for_each(|octet| advance(&mut reachable, *octet, path)),
            literal => advance(&mut reachable, *literal, path),
        }
    }
    reachable.contains(&true)
}

fn advance(reachable: &mut [bool], octet: u8, path: &[u8]) {
    for place in (0..path.len()).rev() {
        reachable[place + 1] = reachable[place] && path[place] == octet;
    }
    reachable[0] = false;
}

/// The place of the deciding rule among `(is_allow, value)`.
pub fn decide(rules: &[(bool, &[u8])], path: &[u8]) -> Option<usize> {
    let mut best: Option<(usize, bool, usize)> = None;
    for (place, (is_allow, value)) in rules.iter().enumerate() {
        let rule = one_form(value, true);
        let is_better = best.is_none_or(|(octets, allow, _)| (rule.len(), *is_allow) > (octets, allow));
        if is_better && (value.starts_with(b"/") || value.starts_with(b"*")) && matches(&rule, path) {
            best = Some((rule.len(), *is_allow, place));
        }
    }
    best.map(|(_, _, place)| place)
}
