//! A second reading of rules: no compilation, no recursion, one table of reachable places per rule.

use crate::twin_path::one_form;

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
