//! A body and a URL through the two modes of matching, compared and explained, and a body through the linter.
//!
//! The input is a body; behind its last NUL stands a URL.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use robots_audit::audit::compare::partings;
use robots_audit::audit::compile;
use robots_audit::audit::plan::Plan;
use robots_audit::crawlers::Registry;
use robots_audit::lint::Linter;
use robots_audit::robots::access::{FetchClass, Outage, Policy};
use robots_audit::robots::decision::Answer;
use robots_audit::robots::finding::{Code, FINDINGS};
use robots_audit::robots::google::{Quirk, Reading};
use robots_audit::robots::group::GroupIndex;
use robots_audit::robots::lex::{Lines, PARSE_OCTETS, readable};
use robots_audit::robots::matcher::RuleSet;
use robots_audit::robots::parse::Robots;
use robots_audit::robots::path::RawPath;
use robots_audit::robots::token::Matching;
use robots_audit::robots::verdict::Verdict;

/// Some with digits, with blanks, with a fall-back, and some to whom the wildcard does not apply.
const CRAWLERS: &str =
    "FooBot,MJ12bot,a,Sogou web spider,archive.org_bot,Googlebot-Image,AdsBot-Google,__usage_ai-training,*";

/// Findings about one octet of what they show, or about several lines.
const ELSEWHERE: [Code; 5] =
    [Code::LoneCarriageReturn, Code::NulOctet, Code::SignalConflict, Code::TrainingTokenInComment, Code::MarkInside];

fuzz_target!(|input: &[u8]| {
    let mut parts = input.rsplitn(2, |octet| *octet == 0);
    let (last, first) = (parts.next().unwrap_or_default(), parts.next());
    let (body, url) = first.map_or((last, &b"https://a.test/x"[..]), |body| (body, last));
    check_linter(body);
    check_comparison(body, url);
});

/// Every finding stands where it says, and there are not more than are kept.
fn check_linter(body: &[u8]) {
    static LINTER: OnceLock<Linter> = OnceLock::new();
    let findings = LINTER.get_or_init(|| Linter::new(Registry::embedded())).findings(body);
    assert!(findings.len() <= 3 * (FINDINGS + 1) + 1);
    assert!(findings.is_sorted_by_key(|found| (found.line, found.column)));
    let lines: Vec<&[u8]> = Lines::of(readable(body, PARSE_OCTETS).octets).map(|(_, text)| text).collect();
    for found in findings {
        assert!((1..=found.column).contains(&found.character), "{found:?}");
        assert!(!found.message().is_empty() && !found.hint().is_empty(), "{found:?}");
        let line = u32::from(found.line) as usize;
        assert!(line <= lines.len().max(1), "{found:?}");
        let text = lines.get(line - 1).copied().unwrap_or_default();
        let rest = text.get(found.column as usize - 1..);
        let is_elsewhere = ELSEWHERE.contains(&found.code) || !text.as_ptr_range().contains(&found.raw.as_ptr());
        assert!(is_elsewhere || rest.is_some_and(|rest| rest.starts_with(found.raw)), "{found:?} in {text:?}");
    }
}

/// Where the modes part is told, with the lines that decide, and the cause is the only quirk that makes the difference.
fn check_comparison(body: &[u8], url: &[u8]) {
    static PLANS: OnceLock<[Plan; 2]> = OnceLock::new();
    for plan in PLANS.get_or_init(|| [plan(Matching::Rfc9309), plan(Matching::Google)]) {
        let compiled = compile::body(plan, body);
        let told = partings(plan, (FetchClass::Ok, Outage::UNKNOWN), Some(&compiled), url);
        let mut told = told.iter().peekable();
        let by_rfc9309 = answers(plan, body, url, Matching::Rfc9309.into());
        let by_google = answers(plan, body, url, Matching::Google.into());
        let undone: Vec<_> =
            Quirk::ALL.iter().map(|quirk| (*quirk, answers(plan, body, url, Reading::without(*quirk)))).collect();
        for crawler in 0..plan.crawlers.len() {
            let (wanted, found) = (by_rfc9309[crawler], by_google[crawler]);
            let Some(parting) = told.next_if(|parting| parting.crawler == crawler) else {
                assert_eq!(wanted.decision, found.decision, "{crawler}");
                continue;
            };
            assert_ne!(wanted.decision, found.decision, "{crawler}");
            for (told, answer) in [(parting.rfc9309, wanted), (parting.google, found)] {
                assert_eq!(told.decision, answer.decision);
                assert_eq!(told.rule.map(|(_, line)| line), answer.hit.map(|hit| u32::from(hit.line)));
            }
            let causes = undone.iter().filter(|(_, answers)| answers[crawler].decision == wanted.decision);
            let causes: Vec<Quirk> = causes.map(|(quirk, _)| *quirk).collect();
            let only = (causes.len() == 1).then(|| causes[0]);
            assert_eq!(parting.cause, only, "{crawler}: {causes:?}");
        }
        assert!(told.next().is_none());
    }
}

fn plan(matching: Matching) -> Plan {
    let registry = Registry::embedded();
    let asked = registry.select(CRAWLERS).expect("names of crawlers");
    Plan::new(registry, &asked, Policy::Rfc9309, matching, false).comparing()
}

/// The answer for each crawler, in the plainest way.
fn answers(plan: &Plan, body: &[u8], url: &[u8], reading: Reading) -> Vec<Answer> {
    let robots = Robots::parse_as(body, reading);
    let index = GroupIndex::of(&robots);
    let mut buffer = Vec::new();
    let path = RawPath::read_as(url, reading).prepare(&mut buffer);
    let asked = plan.asked_as(reading.mode_of(Quirk::Token)).iter();
    let verdicts = asked.map(|asked| {
        let choice = index.choose(asked);
        Verdict::of_path(&RuleSet::for_paths(&robots, choice.groups, 1), choice.source, &path)
    });
    verdicts.map(Answer::of_verdict).collect()
}
