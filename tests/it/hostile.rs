//! Bodies that nobody wrote in good faith: whatever the octets are, everything that is pure gives an answer.

use std::fs;

use robots_audit::robots::access::suspect_body;
use robots_audit::robots::coverage::{self, Budget, Coverage, RulesFile};
use robots_audit::robots::finding::FINDINGS;
use robots_audit::robots::group::{GroupIndex, GroupSource};
use robots_audit::robots::matcher::RuleSet;
use robots_audit::robots::parse::Robots;
use robots_audit::robots::path::{Path, RawPath};
use robots_audit::robots::token::{Asked, Matching};
use robots_audit::robots::verdict::Verdict;
use robots_audit::signals::Signals;
use robots_audit::signals::conflict::{CrawlerRoots, RootAccess};
use robots_audit::signals::fact::Fact;
use robots_audit::signals::report::PREFERENCE_FINDINGS;
use robots_audit::signals::training::{self, Preference, Scope, TOKENS_LISTED, Training};
use robots_audit::tables::bodies::{BodiesBuilder, BodyCounts};
use robots_audit::tables::findings::FindingsBuilder;
use robots_audit::tables::rules::RulesBuilder;
use robots_audit::tables::text;

use crate::shared;

const BODIES: u64 = 20_000;
const BODY_OCTETS: usize = 4_096;

const CRAWLERS: [&str; 4] = ["*", "GPTBot", "Googlebot-News", "__usage_ai-training"];

const URLS: [&[u8]; 6] = [
    b"https://a.test/",
    b"https://a.test/a/b?c=%2f*$&d",
    b"https://a.test/robots.txt",
    b"//a.test?%%36%31\xFF",
    b"a.test/%",
    b"",
];

/// Splitmix64: the same bodies on every machine.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    fn one_of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }

    fn octets(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// A line as files hold it, or something of the kind.
    fn line(&mut self) -> Vec<u8> {
        const KEYS: [&str; 21] = [
            "User-agent",
            "user-agent",
            "Disallow",
            "Allow",
            "disallow ",
            "DISALLOW",
            "allow",
            "Disalow",
            "Sitemap",
            "Crawl-delay",
            "Host",
            "Noindex",
            "\u{feff}User-agent",
            "",
            "#",
            "Content-Signal",
            "Content-Usage",
            "License",
            "DisallowAITraining",
            "Request-rate",
            "__usage_ai-training",
        ];
        const VALUES: [&str; 26] = [
            "*",
            "* x",
            "GPTBot",
            "GPTBot/1.0 (x)",
            "googlebot-news",
            "__usage_ai-training",
            "_Usage-AI_training",
            "/",
            "/a",
            "/a*b$",
            "/*",
            "*",
            "/**a**$",
            "/%2F%zz%4",
            "/caf\u{e9}",
            "",
            "1.5",
            "1e999",
            "https://a.test/x",
            "$",
            "train-ai=n, search=y",
            "search=yes, ai-train=no",
            "/a train-ai=y;x=(1 2)",
            ",",
            "1/10 0600-0845",
            "ref&sid /a",
        ];
        const ENDS: [&str; 6] = ["\n", "\r\n", "\r", "", " # c\n", " # BEGIN Cloudflare Managed content\n"];
        let mut line = format!("{}:{}", self.one_of(&KEYS), self.one_of(&["", " ", "\t\x0B"])).into_bytes();
        for _ in 0..=self.below(3) {
            line.extend(self.one_of(&VALUES).bytes());
        }
        if self.below(8) == 0 {
            line.extend(self.octets(40));
        }
        line.extend(self.one_of(&ENDS).bytes());
        line
    }

    /// Up to [`BODY_OCTETS`]: only lines, only octets, or both.
    fn body(&mut self) -> Vec<u8> {
        let octets = self.below(BODY_OCTETS + 1);
        let share_of_lines = self.one_of(&[&0, &9, &10, &10]);
        let mut body = Vec::with_capacity(octets + 64);
        while body.len() < octets {
            if self.below(10) < *share_of_lines {
                body.extend(self.line());
            } else {
                body.extend(self.octets(200));
                body.push(b'\n');
            }
        }
        body.truncate(octets);
        body
    }
}

#[test]
fn invented_bodies() {
    let mut seeded = Seeded(9309);
    let (mut rules, mut findings) = (0, 0);
    for _ in 0..BODIES {
        let body = seeded.body();
        let robots = Robots::parse(&body, Matching::Rfc9309);
        rules += robots.rules.len();
        findings += robots.findings.len();
        everything_answers(&body, &robots);
        everything_answers(&body, &Robots::parse(&body, Matching::Google));
    }
    assert!(rules > 100_000 && findings > 100_000, "tame bodies: {rules} rules, {findings} findings");
}

#[test]
fn real_bodies() {
    let Some(shared) = shared::folder("real_bodies") else { return };
    let mut bodies = 0;
    for entry in fs::read_dir(shared.join("corpus/robots")).expect("readable") {
        let body = fs::read(entry.expect("readable").path()).expect("readable");
        for mode in Matching::ALL {
            everything_answers(&body, &Robots::parse(&body, *mode));
        }
        bodies += 1;
    }
    assert!(bodies > 7_000, "only {bodies} bodies");
}

fn everything_answers(body: &[u8], robots: &Robots<'_>) {
    assert!(robots.findings.len() <= FINDINGS + 1);
    assert!(robots.records <= robots.lines);
    let _ = suspect_body(body);
    let index = GroupIndex::of(robots);
    let mode = robots.matching;
    let mut buffers = vec![Vec::new(); URLS.len()];
    let paths = URLS.iter().zip(&mut buffers).map(|(url, buffer)| RawPath::read(url, mode).prepare(buffer));
    let paths: Vec<Path<'_>> = paths.collect();
    for crawler in CRAWLERS {
        let choice = index.choose(&Asked::named(crawler, mode).expect("a token"));
        rule_set_answers(&RuleSet::of_groups(robots, choice.groups), choice.source, (&paths, RulesFile::of(mode)));
    }
    training_answers(robots, &index, &paths);
    signals_answer(body, robots, &index);
    rows_are_written(body, robots);
}

/// The access class never contradicts a verdict.
fn rule_set_answers(rules: &RuleSet, source: GroupSource, (paths, rules_file): (&[Path<'_>], RulesFile)) {
    let coverage = coverage::of_rules(rules, rules_file, &mut Budget::default());
    for path in paths {
        let verdict = Verdict::of_path(rules, source, path);
        let agrees = match coverage {
            Coverage::Everything => verdict.is_allowed(),
            Coverage::Nothing => !verdict.is_allowed() || path.is_robots_txt(),
            Coverage::Partial | Coverage::Undetermined => true,
        };
        assert!(agrees, "{coverage:?}, but {verdict:?} on {}", String::from_utf8_lossy(path.octets()));
    }
}

fn training_answers(robots: &Robots<'_>, index: &GroupIndex, paths: &[Path<'_>]) {
    let training = Training::of(robots, index);
    let scope = training.scope();
    for path in paths {
        let preference = training.preference(path).0;
        let agrees = match scope {
            Scope::NoneExpressed => preference == Preference::NoneExpressed,
            Scope::InFavor => preference == Preference::InFavor,
            Scope::Against => preference == Preference::Against,
            Scope::Mixed => matches!(preference, Preference::InFavor | Preference::Against),
            Scope::Unknown => false,
        };
        assert!(agrees, "{scope}, but {preference} on {}", String::from_utf8_lossy(path.octets()));
    }
    assert!(training::near_misses(robots).len() <= TOKENS_LISTED);
    assert!(training::other_policy_tokens(robots).len() <= TOKENS_LISTED);
}

/// Facts and findings stand in file order, at lines that there are, and there are not too many.
fn signals_answer(body: &[u8], robots: &Robots<'_>, index: &GroupIndex) {
    let signals = Signals::of(robots, index, body);
    let facts = signals.facts();
    assert!(facts.iter().all(|fact| u32::from(fact.line) <= robots.lines));
    assert!(facts.is_sorted_by_key(|fact| fact.line));
    for meaning in facts.iter().filter_map(Fact::meaning) {
        assert!(!meaning.is_empty());
    }
    let gptbot = Asked::named("GPTBot", Matching::Rfc9309).expect("a token");
    let access = RootAccess::of(robots, index, &[gptbot]);
    let conflicts = signals.conflicts(Some(&CrawlerRoots { training: access, search: access }));
    let findings = signals.findings(&conflicts);
    assert!(findings.is_sorted_by_key(|finding| finding.line));
    for finding in &findings {
        assert!(u32::from(finding.line) <= robots.lines);
        let same = findings.iter().filter(|other| other.code == finding.code).count();
        assert!(same <= PREFERENCE_FINDINGS, "{same} of {}", finding.code);
        text_is_safe(finding.raw);
    }
}

fn rows_are_written(body: &[u8], robots: &Robots<'_>) {
    let hash = [0; 32];
    let (mut bodies, mut rules) = (BodiesBuilder::default(), RulesBuilder::default());
    bodies.push(&hash, body, &BodyCounts::of(robots));
    rules.push(&hash, robots);
    let mut findings = FindingsBuilder::default();
    findings.body(&hash);
    for finding in &robots.findings {
        findings.push(finding);
        assert!(!text::for_people(finding.code.message()).is_empty());
        text_is_safe(finding.raw);
    }
    assert_eq!(bodies.finish().num_rows(), 1);
    assert_eq!(rules.finish().num_rows(), robots.rules.len());
    assert_eq!(findings.finish().num_rows(), robots.findings.len());
}

/// Valid UTF-8 stays as it is; nothing that steers a terminal reaches people.
fn text_is_safe(octets: &[u8]) {
    let stored = text::of_octets(octets);
    if let Ok(valid) = std::str::from_utf8(octets) {
        assert_eq!(stored, valid);
    }
    let shown = text::for_people(&stored);
    assert!(!shown.contains(steers), "{}", shown.escape_debug());
}

/// Control characters (general category Cc), and those that Unicode's `Bidi_Control` property names.
fn steers(c: char) -> bool {
    matches!(u32::from(c), 0..=0x1F | 0x7F..=0x9F | 0x61C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069)
}

#[test]
fn no_character_steers_a_terminal() {
    for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
        let text = format!("a{c}b");
        assert_eq!(text::of_octets(text.as_bytes()), text);
        let shown = text::for_people(&text);
        assert!(!shown.contains(steers), "{}", shown.escape_debug());
        assert!(shown.starts_with('a') && shown.ends_with('b'));
    }
}

#[test]
fn invented_octets_become_text() {
    let mut seeded = Seeded(3629);
    for _ in 0..BODIES {
        let mut octets = seeded.octets(24);
        if seeded.below(2) == 0 {
            octets = String::from_utf8_lossy(&octets).into_owned().into_bytes();
        }
        text_is_safe(&octets);
        let cut = text::of_octets_cut(&octets, 9);
        assert_eq!(cut, text::of_octets(&octets[..octets.len().min(9)]));
    }
}
