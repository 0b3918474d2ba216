//! A second reading of the rules, as plain as can be: the twin that the matcher has to agree with.

use proptest::prelude::*;
use robots_audit::robots::coverage::{self, Budget, Coverage, RulesFile};
use robots_audit::robots::group::{GroupIndex, GroupSource};
use robots_audit::robots::matcher::{RuleSet, Tier};
use robots_audit::robots::parse::{Directive, Robots};
use robots_audit::robots::path::{Path, RawPath};
use robots_audit::robots::token::Matching;
use robots_audit::robots::verdict::Verdict;

/// One pass over the octets, written out as strings.
fn one_form(raw: &str, is_rule: bool) -> String {
    let octets = raw.as_bytes();
    let mut form = String::new();
    let mut at = 0;
    while at < octets.len() {
        let escape =
            raw.get(at + 1..at + 3).filter(|_| octets[at] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let signed = raw.get(at + 1..at + 2) == Some("+");
        match escape.filter(|_| !signed) {
            Some(octet) if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) => form.push(char::from(octet)),
            Some(octet) => form += &format!("%{octet:02X}"),
            None if !octets[at].is_ascii() => form += &format!("%{:02X}", octets[at]),
            None if !is_rule && b"*$".contains(&octets[at]) => form += &format!("%{:02X}", octets[at]),
            None => form.push(char::from(octets[at])),
        }
        at += if escape.is_some() && !signed { 3 } else { 1 };
    }
    form
}

/// Backtracking, one octet at a time.
fn matches(rule: &[u8], path: &[u8]) -> bool {
    match (rule, path) {
        ([], _) => true,
        ([b'$'], rest) => rest.is_empty(),
        ([b'*', rule @ ..], _) => (0..=path.len()).any(|skip| matches(rule, &path[skip..])),
        ([b'$', rule @ ..], _) => path.strip_prefix(b"%24").is_some_and(|rest| matches(rule, rest)),
        ([wanted, rule @ ..], [found, path @ ..]) => wanted == found && matches(rule, path),
        (_, []) => false,
    }
}

/// The deciding line of `(is_allow, value)` rules that stand from line 2 on.
fn decide(rules: &[(bool, String)], path: &str) -> Option<usize> {
    let path = one_form(path, false);
    let mut best: Option<(usize, bool, usize)> = None;
    for (index, (is_allow, value)) in rules.iter().enumerate() {
        let rule = one_form(value, true);
        let can_match = value.starts_with('/') || value.starts_with('*');
        if can_match && matches(rule.as_bytes(), path.as_bytes()) {
            let better = best.is_none_or(|(octets, allow, _)| (rule.len(), *is_allow) > (octets, allow));
            if better {
                best = Some((rule.len(), *is_allow, index + 2));
            }
        }
    }
    best.map(|(_, _, line)| line)
}

/// A rule as Google's parser compares it.
fn google_form(value: &str) -> Vec<u8> {
    let mut octets = value.as_bytes().to_vec();
    let is_hex = |octet: Option<&u8>| octet.is_some_and(u8::is_ascii_hexdigit);
    let mut at = 0;
    while at < octets.len() {
        if octets[at] == b'%' && is_hex(octets.get(at + 1)) && is_hex(octets.get(at + 2)) {
            octets[at + 1..at + 3].make_ascii_uppercase();
            at += 2;
        } else if octets[at] >= 0x80 {
            let escaped = format!("%{:02X}", octets[at]);
            octets.splice(at..=at, escaped.bytes());
            at += 2;
        }
        at += 1;
    }
    octets
}

fn google_matches(rule: &[u8], path: &[u8]) -> bool {
    match (rule, path) {
        ([], _) => true,
        ([b'$'], rest) => rest.is_empty(),
        ([b'*', rule @ ..], _) => (0..=path.len()).any(|skip| google_matches(rule, &path[skip..])),
        ([wanted, rule @ ..], [found, path @ ..]) => wanted == found && google_matches(rule, path),
        (_, []) => false,
    }
}

/// Whether Google's parser allows, and by which line: the best of the allow lines against the best of the others.
fn google_decides(rules: &[(bool, String)], path: &str) -> (bool, Option<usize>) {
    let mut best: [Option<(usize, usize)>; 2] = [None, None];
    for (index, (is_allow, value)) in rules.iter().enumerate() {
        let mut rule = google_form(value);
        let mut is_match = google_matches(&rule, path.as_bytes());
        if let (false, true, Some(slash)) = (is_match, *is_allow, rule.iter().rposition(|octet| *octet == b'/'))
            && rule[slash..].starts_with(b"/index.htm")
        {
            rule.truncate(slash + 1);
            rule.push(b'$');
            is_match = google_matches(&rule, path.as_bytes());
        }
        let side = &mut best[usize::from(*is_allow)];
        if is_match && side.is_none_or(|(octets, _)| octets < rule.len()) {
            *side = Some((rule.len(), index + 2));
        }
    }
    let [disallow, allow] = best;
    let octets = |side: Option<(usize, usize)>| side.map(|(octets, _)| octets);
    let refuses = octets(disallow) > octets(allow);
    let line = if refuses { disallow } else { allow }.map(|(_, line)| line);
    (!refuses || octets(disallow) == Some(0), line)
}

fn rules() -> impl Strategy<Value = Vec<(bool, String)>> {
    prop::collection::vec((any::<bool>(), "[/*][/ab*$%24A]{0,7}"), 0..9)
}

/// Every path of up to seven octets over a small alphabet.
fn short_paths() -> Vec<Vec<u8>> {
    let mut paths = vec![b"/".to_vec()];
    let mut from = 0;
    for _ in 1..7 {
        let to = paths.len();
        for place in from..to {
            for octet in *b"/ab#" {
                let longer = [&paths[place][..], &[octet]].concat();
                paths.push(longer);
            }
        }
        from = to;
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn coverage_agrees_with_trying_every_short_path(
        rules in prop::collection::vec((any::<bool>(), "[/*][ab*]{0,3}[$]?"), 1..4),
    ) {
        let mut body = String::from("User-agent: *\n");
        for (is_allow, value) in &rules {
            body += &format!("{}: {value}\n", if *is_allow { "Allow" } else { "Disallow" });
        }
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let compiled = RuleSet::of_groups(&robots, GroupIndex::of(&robots).star());
        let is_refused = |path: &Vec<u8>| {
            compiled.decide(&Path::of(path)).is_some_and(|hit| hit.directive == Directive::Disallow)
        };
        let paths = short_paths();
        let refused = paths.iter().filter(|path| is_refused(path)).count();
        let expected = match refused {
            0 => Coverage::Everything,
            all if all == paths.len() => Coverage::Nothing,
            _ => Coverage::Partial,
        };
        let found = coverage::of_rules(&compiled, RulesFile::Counts, &mut Budget::default());
        prop_assert_eq!(found, expected, "{}", body);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_matcher_agrees_with_its_naive_twin(rules in rules(), path in "/[/ab*$%24Aé]{0,9}") {
        let mut body = String::from("User-agent: *\n");
        for (is_allow, value) in &rules {
            body += &format!("{}: {value}\n", if *is_allow { "Allow" } else { "Disallow" });
        }
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let url = format!("https://a.test{path}");
        let mut buffer = Vec::new();
        let prepared = RawPath::of_url(url.as_bytes()).prepare(&mut buffer);
        let expected = decide(&rules, &path);
        for tier in Tier::ALL {
            let compiled = RuleSet::with_tier(&robots, index.star(), *tier);
            let verdict = Verdict::of_path(&compiled, GroupSource::Star, &prepared);
            let line = verdict.line().map(|line| u32::from(line) as usize);
            prop_assert_eq!(line, expected, "{}: {} {}", tier, body, path);
        }
    }
    #[test]
    fn the_matcher_agrees_with_the_twin_of_google(
        rules in prop::collection::vec((any::<bool>(), "([/*][/ab*$%24Aé]{0,7}(/index[.]html?)?)?"), 0..9),
        path in "/[/ab*$%24Aaé;]{0,9}",
    ) {
        let mut body = String::from("User-agent: *\n");
        for (is_allow, value) in &rules {
            body += &format!("{}: {value}\n", if *is_allow { "Allow" } else { "Disallow" });
        }
        let robots = Robots::parse(body.as_bytes(), Matching::Google);
        let index = GroupIndex::of(&robots);
        let url = format!("https://a.test{path}");
        let mut buffer = Vec::new();
        let prepared = RawPath::read(url.as_bytes(), Matching::Google).prepare(&mut buffer);
        let expected = google_decides(&rules, &path);
        for tier in Tier::ALL {
            let compiled = RuleSet::with_tier(&robots, index.star(), *tier);
            let verdict = Verdict::of_path(&compiled, GroupSource::Star, &prepared);
            let line = verdict.line().map(|line| u32::from(line) as usize);
            prop_assert_eq!((verdict.is_allowed(), line), expected, "{}: {} {}", tier, body, path);
        }
    }
}
