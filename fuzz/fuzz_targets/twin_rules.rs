//! A second reading of rules: no compilation, no recursion, one table of reachable places per rule.

use robots_audit::robots::token::Matching;

use crate::twin_path::one_form;

/// Whether a rule in normal form matches a path in normal form.
pub fn matches(rule: &[u8], path: &[u8], matching: Matching) -> bool {
    if !matches!(rule, [] | [b'/' | b'*', ..]) {
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
            b'$' if matching == Matching::Rfc9309 => {
                b"%24".iter().for_each(|octet| advance(&mut reachable, *octet, path))
            }
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

/// The place of the deciding rule among `(is_allow, value)`, and whether it refuses.
pub fn decide(rules: &[(bool, &[u8])], path: &[u8], matching: Matching) -> Option<(usize, bool)> {
    match matching {
        Matching::Rfc9309 => decide_by_rfc9309(rules, path).map(|place| (place, !rules[place].0)),
        Matching::Google => decide_by_google(rules, path),
    }
}

fn decide_by_rfc9309(rules: &[(bool, &[u8])], path: &[u8]) -> Option<usize> {
    let mut best: Option<(usize, bool, usize)> = None;
    for (place, (is_allow, value)) in rules.iter().enumerate() {
        let rule = one_form(value, true);
        let is_better = best.is_none_or(|(octets, allow, _)| (rule.len(), *is_allow) > (octets, allow));
        if is_better && (value.starts_with(b"/") || value.starts_with(b"*")) && matches(&rule, path, Matching::Rfc9309)
        {
            best = Some((rule.len(), *is_allow, place));
        }
    }
    best.map(|(_, _, place)| place)
}

/// The best of the allow lines against the best of the others. An allow line for an index page that does not match is
/// asked again as one for its folder; a line without a value matches everything, and refuses nothing.
fn decide_by_google(rules: &[(bool, &[u8])], path: &[u8]) -> Option<(usize, bool)> {
    let mut best: [Option<(usize, usize)>; 2] = [None, None];
    for (place, (is_allow, value)) in rules.iter().enumerate() {
        let mut rule = google_form(value);
        let mut is_match = matches(&rule, path, Matching::Google);
        if let (false, true, Some(slash)) = (is_match, *is_allow, rule.iter().rposition(|octet| *octet == b'/'))
            && rule[slash..].starts_with(b"/index.htm")
        {
            rule.truncate(slash + 1);
            rule.push(b'$');
            is_match = matches(&rule, path, Matching::Google);
        }
        let side = &mut best[usize::from(*is_allow)];
        if is_match && side.is_none_or(|(octets, _)| octets < rule.len()) {
            *side = Some((rule.len(), place));
        }
    }
    let [disallow, allow] = best;
    let octets = |side: Option<(usize, usize)>| side.map(|(octets, _)| octets);
    if octets(disallow) > octets(allow) {
        disallow.map(|(octets, place)| (place, octets > 0))
    } else {
        allow.map(|(_, place)| (place, false))
    }
}

/// A rule as Google's parser compares it: hex digits in upper case, octets beyond ASCII escaped.
fn google_form(rule: &[u8]) -> Vec<u8> {
    let mut form = Vec::new();
    let mut at = 0;
    while at < rule.len() {
        let digits = rule.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        match digits.filter(|_| rule[at] == b'%') {
            Some(digits) => form.extend([b"%", &digits.to_ascii_uppercase()[..]].concat()),
            None if rule[at] >= 0x80 => form.extend(format!("%{:02X}", rule[at]).bytes()),
            None => form.push(rule[at]),
        }
        at += if rule[at] == b'%' && digits.is_some() { 3 } else { 1 };
    }
    form
}
