//! A body, a crawler and a URL through parsing, choice of groups, compilation, verdict, coverage, training and
//! the other signals, in both modes.
//!
//! The input is a body; behind its last two NULs stand a crawler's name and a URL.
#![no_main]

use libfuzzer_sys::fuzz_target;
use robots_audit::robots::access::suspect_body;
use robots_audit::robots::coverage::{self, Budget, Coverage, RulesFile};
use robots_audit::robots::finding::FINDINGS;
use robots_audit::robots::group::GroupIndex;
use robots_audit::robots::matcher::{RuleSet, Tier};
use robots_audit::robots::parse::{Directive, EXTENSIONS, Robots};
use robots_audit::robots::path::{Path, RawPath};
use robots_audit::robots::token::{Asked, Matching};
use robots_audit::robots::verdict::{self, Verdict};
use robots_audit::signals::Signals;
use robots_audit::signals::fact::Fact;
use robots_audit::signals::training::{self, Preference, Scope, TOKENS_LISTED, Training};
use robots_audit::tables::text;

mod twin_path;
mod twin_rules;

/// Rules that the twin is asked about.
const RULES: usize = 48;
/// Rules of a training preference whose scope is searched.
const SCOPE_RULES: usize = 12;
/// Steps of one search: one that gives up takes thousands of times as long as a verdict.
const STEPS: usize = 50_000;
/// Octets of a path that the twin is asked about.
const PATH_OCTETS: usize = 512;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.rsplitn(3, |octet| *octet == 0);
    let (last, middle, first) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let (body, agent, url) = match (first, middle) {
        (Some(body), Some(agent)) => (body, agent, last),
        (_, Some(body)) => (body, &b"*"[..], last),
        _ => (last, &b"*"[..], &b"https://a.test/x"[..]),
    };
    let agent = String::from_utf8_lossy(agent);
    check_mode(body, &agent, url, Matching::Rfc9309);
    check_mode(body, &agent, url, Matching::Google);
    check_text(body);
    let _ = suspect_body(body);
});

fn check_mode(body: &[u8], agent: &str, url: &[u8], matching: Matching) {
    let robots = Robots::parse(body, matching);
    check_structure(&robots, body);
    let index = GroupIndex::of(&robots);
    let mut buffer = Vec::new();
    let path = RawPath::read(url, matching).prepare(&mut buffer);
    let expected = match matching {
        Matching::Rfc9309 => twin_path::path_of(url),
        Matching::Google => twin_path::google_path_of(url),
    };
    assert_eq!(path.octets(), expected);
    if let Some(asked) = Asked::named(agent, matching) {
        check_verdict(&robots, &index, &asked, url, &path);
    }
    check_verdict(&robots, &index, &Asked::Star, url, &path);
    check_training(&robots, &index, &path);
    check_signals(&robots, &index, body);
}

fn check_structure(robots: &Robots<'_>, body: &[u8]) {
    assert!(robots.findings.len() <= FINDINGS + 1);
    assert!(robots.records <= robots.lines);
    assert!(robots.lines as usize <= body.len() + 1);
    let mut end = 0;
    for group in &robots.groups {
        assert!(!group.agents.is_empty());
        assert_eq!(group.rules.start, end);
        end = group.rules.end;
        assert!(group.crawl_delay_s.is_none_or(|seconds| seconds >= 0.0 && seconds.is_finite()));
    }
    assert_eq!(end, robots.rules.len());
    assert!(robots.rules.windows(2).all(|pair| pair[0].line < pair[1].line));
    assert!(robots.rules.iter().all(|rule| u32::from(rule.line) <= robots.lines));
    let may_be_empty = robots.matching == Matching::Google;
    assert!(robots.rules.iter().all(|rule| may_be_empty || !rule.value.is_empty()));
}

fn check_verdict(robots: &Robots<'_>, index: &GroupIndex, asked: &Asked, url: &[u8], path: &Path<'_>) {
    let choice = index.choose(asked);
    let rules = RuleSet::of_groups(robots, choice.groups);
    let verdict = Verdict::of_path(&rules, choice.source, path);
    assert_eq!(verdict, verdict::of_url(robots, asked, url));
    let places: Vec<usize> =
        choice.groups.iter().flat_map(|group| robots.groups[*group as usize].rules.clone()).collect();
    let valued = places.iter().filter(|place| !robots.rules[**place].value.is_empty()).count();
    assert_eq!(valued, (rules.n_allow() + rules.n_disallow()) as usize);
    if places.len() > RULES {
        return;
    }
    if path.octets().len() <= PATH_OCTETS {
        let values: Vec<(bool, &[u8])> = places
            .iter()
            .map(|place| &robots.rules[*place])
            .map(|rule| (rule.directive == Directive::Allow, rule.value))
            .collect();
        let expected = twin_rules::decide(&values, path.octets(), robots.matching);
        let expected = expected.map(|(place, refuses)| (robots.rules[places[place]].line, refuses));
        for tier in Tier::ALL {
            let rules = RuleSet::with_tier(robots, choice.groups, *tier);
            let found = rules.decide(path).map(|hit| (hit.line, hit.directive == Directive::Disallow));
            assert_eq!(found, expected, "{tier}");
        }
    }
    let is_refused = rules.decide(path).is_some_and(|hit| hit.directive == Directive::Disallow);
    check_coverage(coverage::of_rules(&rules, RulesFile::Counts, &mut Budget::of_steps(STEPS)), is_refused);
    if robots.matching.exempts_robots_txt() && !path.is_robots_txt() {
        check_coverage(coverage::of_rules(&rules, RulesFile::IsExempt, &mut Budget::of_steps(STEPS)), is_refused);
    }
}

fn check_coverage(coverage: Coverage, is_refused: bool) {
    match coverage {
        Coverage::Everything => assert!(!is_refused),
        Coverage::Nothing => assert!(is_refused),
        Coverage::Partial | Coverage::Undetermined => {}
    }
}

fn check_training(robots: &Robots<'_>, index: &GroupIndex, path: &Path<'_>) {
    let training = Training::of(robots, index);
    assert!(training::near_misses(robots).len() <= TOKENS_LISTED);
    assert!(training::other_policy_tokens(robots).len() <= TOKENS_LISTED);
    assert_eq!(training.rules().is_some(), training.first_line().is_some());
    if training.rules().is_some_and(|rules| rules.entries().len() > SCOPE_RULES) {
        return;
    }
    let preference = training.preference(path).0;
    match training.scope() {
        Scope::NoneExpressed => assert_eq!(preference, Preference::NoneExpressed),
        Scope::InFavor => assert_eq!(preference, Preference::InFavor),
        Scope::Against => assert_eq!(preference, Preference::Against),
        Scope::Mixed => assert!(matches!(preference, Preference::InFavor | Preference::Against)),
        Scope::Unknown => unreachable!("the file was read"),
    }
}

fn check_signals(robots: &Robots<'_>, index: &GroupIndex, body: &[u8]) {
    assert!(robots.extensions.len() <= EXTENSIONS);
    assert!(robots.extensions.windows(2).all(|pair| pair[0].line < pair[1].line));
    let signals = Signals::of(robots, index, body);
    assert!(signals.facts().is_sorted_by_key(|fact| fact.line));
    assert!(signals.facts().iter().filter_map(Fact::meaning).all(|meaning| !meaning.is_empty()));
    let findings = signals.findings(&signals.conflicts(None));
    assert!(findings.iter().all(|finding| u32::from(finding.line) <= robots.lines));
}

fn check_text(octets: &[u8]) {
    let shown = text::of_octets(octets);
    if let Ok(valid) = std::str::from_utf8(octets) {
        assert_eq!(shown, valid);
    }
    assert!(!text::for_people(&shown).chars().any(char::is_control));
}
