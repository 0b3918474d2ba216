//! Both modes against the conformance data: every verdict and, in RFC mode, every deciding line.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int32Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use robots_audit::robots::group::{GroupIndex, GroupSource};
use robots_audit::robots::matcher::{RuleSet, Tier};
use robots_audit::robots::parse::Robots;
use robots_audit::robots::path::RawPath;
use robots_audit::robots::token::{Asked, Matching};
use robots_audit::robots::verdict::{self, Verdict};
use serde_json::Value;

use crate::shared;

#[test]
fn corpus_verdicts_and_lines() {
    let Some(shared) = shared::folder("corpus_verdicts_and_lines") else { return };
    let by_host = expected_rows(&shared.join("corpus/verdicts.parquet"));
    for matching in Matching::ALL {
        for tier in Tier::ALL {
            let (rows, wrong) = by_host
                .iter()
                .map(|(host, rows)| (rows.len(), wrong_rows(&shared, host, rows, (*matching, *tier))))
                .fold((0, 0), |total, file| (total.0 + file.0, total.1 + file.1));
            assert_eq!((rows, wrong), (1_865_980, 0), "{matching} {tier}");
        }
    }
}

pub(crate) struct Expected {
    pub(crate) url: String,
    pub(crate) agent: String,
    pub(crate) allowed: bool,
    pub(crate) line: Option<i32>,
    pub(crate) allowed_by_google: bool,
}

impl Expected {
    /// Whether an answer is the expected one; of Google's the line is not known.
    pub(crate) fn is(&self, matching: Matching, allowed: bool, line: Option<i32>) -> bool {
        match matching {
            Matching::Rfc9309 => (allowed, line) == (self.allowed, self.line),
            Matching::Google => allowed == self.allowed_by_google,
        }
    }
}

/// The expected verdicts by host.
pub(crate) fn expected_rows(path: &Path) -> BTreeMap<String, Vec<Expected>> {
    let file = File::open(path).expect("readable");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .expect("Parquet");
    let mut rows: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for batch in reader {
        let batch = batch.expect("a whole batch");
        let text = |name| column(&batch, name);
        let (hosts, urls, agents) = (text("host"), text("url"), text("agent"));
        let truth = |name| batch.column_by_name(name).expect("a column").as_boolean().clone();
        let (allowed, allowed_by_google) = (truth("rfc_allowed"), truth("google_allowed"));
        let lines = batch.column_by_name("rfc_line").expect("a column").as_primitive::<Int32Type>().clone();
        for row in 0..batch.num_rows() {
            rows.entry(hosts[row].clone()).or_default().push(Expected {
                url: urls[row].clone(),
                agent: agents[row].clone(),
                allowed: allowed.value(row),
                line: lines.iter().nth(row).expect("a row"),
                allowed_by_google: allowed_by_google.value(row),
            });
        }
    }
    rows
}

fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).expect("a column");
    let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8).expect("text");
    column.as_string::<i32>().iter().map(|value| value.expect("not null").to_owned()).collect()
}

fn wrong_rows(shared: &Path, host: &str, rows: &[Expected], (matching, tier): (Matching, Tier)) -> usize {
    let body = fs::read(shared.join("corpus/robots").join(format!("{host}.txt"))).expect("readable");
    let robots = Robots::parse(&body, matching);
    let index = GroupIndex::of(&robots);
    let mut compiled: BTreeMap<&str, (GroupSource, RuleSet)> = BTreeMap::new();
    let mut buffer = Vec::new();
    let mut wrong = 0;
    for row in rows {
        let (source, rules) = compiled.entry(&row.agent).or_insert_with(|| {
            let choice = index.choose(&Asked::named(&row.agent, matching).expect("a token"));
            (choice.source, RuleSet::with_tier(&robots, choice.groups, tier))
        });
        let path = RawPath::read(row.url.as_bytes(), matching).prepare(&mut buffer);
        let verdict = Verdict::of_path(rules, *source, &path);
        let line = verdict.line().map(|line| i32::try_from(u32::from(line)).expect("small"));
        if !row.is(matching, verdict.is_allowed(), line) {
            eprintln!("{matching} {tier} {host} {} {}: {verdict:?}", row.url, row.agent);
            wrong += 1;
        }
    }
    wrong
}

fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("readable");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn octets(text: &Value) -> Vec<u8> {
    text.as_str().expect("text").chars().map(|c| u8::try_from(u32::from(c)).expect("an octet")).collect()
}

#[test]
fn fuzz_cases() {
    let Some(shared) = shared::folder("fuzz_cases") else { return };
    let cases = json_lines(&shared.join("corpus/fuzz_cases.jsonl"));
    for matching in Matching::ALL {
        let wrong = cases.iter().filter(|case| !fuzz_case_holds(case, *matching)).map(|case| &case["id"]);
        let wrong: Vec<&Value> = wrong.collect();
        assert_eq!((cases.len(), wrong.len()), (5_000, 0), "{matching} {wrong:?}");
    }
}

fn fuzz_case_holds(case: &Value, matching: Matching) -> bool {
    let body = octets(&case["robots"]);
    let robots = Robots::parse(&body, matching);
    let asked = Asked::named(case["agent"].as_str().expect("text"), matching).expect("a token");
    let index = GroupIndex::of(&robots);
    let choice = index.choose(&asked);
    let group = match choice.source {
        GroupSource::Named => "exact",
        GroupSource::Star => "wildcard",
        GroupSource::Fallback | GroupSource::None => "none",
    };
    let url = octets(&case["url"]);
    let mut buffer = Vec::new();
    let path = RawPath::read(&url, matching).prepare(&mut buffer);
    let holds = |verdict: Verdict| {
        let line = verdict.line().map(u32::from);
        match matching {
            Matching::Rfc9309 => {
                Some(verdict.is_allowed()) == case["rfc_allowed"].as_bool()
                    && line.map(u64::from) == case["rfc_line"].as_u64()
            }
            Matching::Google => Some(verdict.is_allowed()) == case["google_allowed"].as_bool(),
        }
    };
    let by_tier = |tier: &Tier| {
        let rules = RuleSet::with_tier(&robots, choice.groups, *tier);
        Verdict::of_path(&rules, choice.source, &path)
    };
    holds(verdict::of_url(&robots, &asked, &url))
        && Tier::ALL.iter().map(by_tier).all(holds)
        && (matching == Matching::Google || case["rfc_group"] == group)
}

#[test]
fn parse_cases() {
    let Some(shared) = shared::folder("parse_cases") else { return };
    let cases = json_lines(&shared.join("cases/cases.jsonl"));
    let cases: Vec<&Value> = cases.iter().filter(|case| case["kind"] == "parse").collect();
    for matching in Matching::ALL {
        let wrong = cases.iter().filter(|case| !parse_case_holds(case, *matching)).map(|case| &case["id"]);
        let wrong: Vec<&Value> = wrong.collect();
        assert_eq!((cases.len(), wrong.len()), (94, 0), "{matching} {wrong:?}");
    }
}

fn parse_case_holds(case: &Value, matching: Matching) -> bool {
    let body = case_body(case);
    let robots = Robots::parse(&body, matching);
    let asked = Asked::named(case["agent"].as_str().expect("text"), matching).expect("a token");
    let verdict = verdict::of_url(&robots, &asked, case["url"].as_str().expect("text").as_bytes());
    let of_google = case.get("expect_google").filter(|_| matching == Matching::Google);
    let expect = of_google.unwrap_or(&case["expect"]);
    let delay_holds = expect.get("crawl_delay").is_none_or(|delay| {
        let index = GroupIndex::of(&robots);
        let groups = index.choose(&asked).groups.to_vec();
        let found = groups.iter().find_map(|group| robots.groups[*group as usize].crawl_delay_s);
        found == delay.as_f64()
    });
    Some(verdict.is_allowed()) == expect["allowed"].as_bool()
        && verdict.line().map(|line| u64::from(u32::from(line))) == expect["line"].as_u64()
        && delay_holds
}

fn case_body(case: &Value) -> Vec<u8> {
    if let Some(text) = case["robots"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(encoded) = case["robots_b64"].as_str() {
        return base64(encoded);
    }
    let made = &case["robots_gen"];
    let part = |name: &str| made[name].as_str().expect("text").to_owned();
    let count = usize::try_from(made["count"].as_u64().expect("a number")).expect("small");
    (part("prefix") + &part("repeat").repeat(count) + &part("suffix")).into_bytes()
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut octets = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for digit in text.bytes().filter(|digit| *digit != b'=') {
        let value = ALPHABET.iter().position(|known| *known == digit).expect("base64");
        bits = bits << 6 | u32::try_from(value).expect("six bits");
        held += 6;
        if held >= 8 {
            held -= 8;
            octets.push(u8::try_from(bits >> held & 0xFF).expect("eight bits"));
        }
    }
    octets
}
