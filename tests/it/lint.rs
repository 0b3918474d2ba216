//! `lint`: one file or a folder, in every form; and over the whole corpus.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::{run, temporary, write};
use crate::shared;

const ODD: &str = "User-agent: *\nDisalow: /<a&\"b\">\nDisallow: x\u{1b}[31m\nAllow: /\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn people_get_place_severity_code_and_hint() {
    let folder = temporary();
    write(folder.path(), "robots.txt", ODD);
    let (printed, _) = run(folder.path(), &["lint", "robots.txt"], 0);
    let expected = "robots.txt:2:1: error: this looks like a misspelt field; it is ignored [misspelt_field]\n  \
        | Disalow\n  hint: write User-agent, Allow, Disallow, Sitemap or Crawl-delay\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(printed.contains("\n  | x\\u{1b}[31m\n") && !printed.contains('\u{1b}'), "{printed}");
    assert!(printed.contains("\n1 file: 2 errors, 0 warnings, 0 info\n"), "{printed}");
    let (colored, _) = run(folder.path(), &["lint", "robots.txt", "--color", "always"], 0);
    assert!(colored.contains(": \u{1b}[31merror\u{1b}[0m: "), "{colored}");
    write(folder.path(), "good.txt", "User-agent: *\nDisallow: /private/\n");
    assert_eq!(run(folder.path(), &["lint", "good.txt"], 0).0, "no findings in 1 file\n");
}

#[test]
fn a_severity_or_code_may_fail() {
    let folder = temporary();
    write(folder.path(), "robots.txt", "User-agent: GPTBot/1.1\nDisallow: /a b\n");
    for (fail_on, code) in [
        ("error", 0),
        ("warning", 2),
        ("info", 2),
        ("misspelt_field", 0),
        ("misspelt_field,agent_with_version", 2),
        ("nonsense", 3),
    ] {
        run(folder.path(), &["lint", "robots.txt", "--fail-on", fail_on], code);
    }
}

#[test]
fn what_cannot_be_read_is_known_by_its_code() {
    let folder = temporary();
    write(folder.path(), "other/readme.md", "");
    let (_, error) = run(folder.path(), &["lint", "absent.txt"], 3);
    assert!(error.contains("absent.txt"), "{error}");
    run(folder.path(), &["lint", "other"], 3);
    let (_, error) = run(folder.path(), &["crawlers", "list", "--format", "sarif"], 3);
    assert!(error.contains("only lint writes sarif and junit"), "{error}");
}

#[test]
fn json_has_every_finding_and_the_counts() {
    let folder = temporary();
    write(folder.path(), "bodies/b.txt", ODD);
    write(folder.path(), "bodies/a.txt", "User-agent: *\nDisallow: /%7e\n");
    write(folder.path(), "bodies/c.txt", "");
    let (text, _) = run(folder.path(), &["lint", "bodies/", "--format", "json"], 0);
    let report = json(&text);
    let findings = report["findings"].as_array().expect("a list");
    let told: Vec<(&str, u64, u64, &str)> = findings
        .iter()
        .map(|found| {
            let text = |name: &str| found[name].as_str().expect("text");
            let number = |name: &str| found[name].as_u64().expect("a number");
            assert!(!text("hint").is_empty() && !text("message").is_empty() && !text("raw").is_empty());
            (text("file"), number("line"), number("column"), text("code"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("bodies/a.txt", 2, 12, "needless_escape"),
            ("bodies/b.txt", 2, 1, "misspelt_field"),
            ("bodies/b.txt", 3, 11, "rule_never_matches"),
        ]
    );
    assert_eq!(
        (&report["files"], &report["severities"]["error"], &report["codes"]["needless_escape"]),
        (&3.into(), &2.into(), &1.into())
    );
    let empty = json(&run(folder.path(), &["lint", "bodies/c.txt", "--format", "json"], 0).0);
    assert_eq!(empty["findings"], Value::Array(Vec::new()));
}

#[test]
fn sarif_names_a_rule_for_every_result() {
    let folder = temporary();
    write(folder.path(), "a b.txt", "User-agent: *\nDisallow: /\u{e9}%7e\n");
    let report = json(&run(folder.path(), &["lint", "a b.txt", "--format", "sarif"], 0).0);
    assert_eq!(report["version"], "2.1.0");
    let run = &report["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small")];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().expect("a section").contains("```"));
        assert_eq!(result["level"], "note");
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20b.txt");
    }
    let region = &results[1]["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], &region["startColumn"]), (&2.into(), &13.into()));
}

#[test]
fn junit_has_a_suite_a_file_and_a_failure_where_it_fails() {
    let folder = temporary();
    write(folder.path(), "d/a.txt", "User-agent: *\nDisallow: /%7e\n");
    write(folder.path(), "d/b.txt", ODD);
    write(folder.path(), "d/c.txt", "");
    let (text, _) = run(folder.path(), &["lint", "d", "--format", "junit"], 0);
    assert!(text.contains("<testsuite name=\"d/a.txt\" tests=\"1\" failures=\"0\""), "{text}");
    assert!(text.contains("<testsuite name=\"d/b.txt\" tests=\"2\" failures=\"2\""), "{text}");
    assert!(text.contains("<testcase classname=\"d/c.txt\" name=\"no findings\" time=\"0\"/>"), "{text}");
    assert!(text.contains("d/b.txt:3:11: x\\u{1b}[31m\n"), "{text}");
    assert!(text.starts_with("<?xml version=\"1.0\"") && text.ends_with("</testsuites>\n"), "{text}");
    let (text, _) = run(folder.path(), &["lint", "d", "--format", "junit", "--fail-on", "needless_escape"], 2);
    assert_eq!(text.matches("<failure ").count(), 1, "{text}");
}

/// Findings of each code over the corpus, those that matter most: a change of these numbers is a change of a lint.
const CORPUS: [(&str, u64); 8] = [
    ("bridged_agents", 1_791),
    ("html_body", 250),
    ("mark_inside", 63),
    ("misspelt_field", 21),
    ("over_limit", 4),
    ("shadowed_rule", 170),
    ("star_rules_left_behind", 1_825),
    ("star_rules_lifted", 836),
];

#[test]
fn the_corpus_has_no_file_that_stops_it() {
    let Some(shared) = shared::folder("the_corpus_has_no_file_that_stops_it") else { return };
    let bodies = shared.join("corpus/robots").display().to_string();
    let report = json(&run(temporary().path(), &["lint", &bodies, "--format", "json"], 0).0);
    assert_eq!(report["files"], 7_032);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for found in report["findings"].as_array().expect("a list") {
        *counts.entry(found["code"].as_str().expect("text")).or_default() += 1;
    }
    for (code, count) in &counts {
        assert_eq!(report["codes"][code], *count, "{code}");
    }
    assert_eq!(CORPUS.map(|(code, _)| (code, counts.get(code).copied().unwrap_or_default())), CORPUS);
}
