//! Signals from a file through the whole program into the tables.

use std::collections::BTreeSet;
use std::path::Path;

use robots_audit::robots::finding::Code;

use crate::program::{run, table, write};

/// Every signal at once, with a contradiction of each kind that does not exclude the others.
const EVERYTHING: &str = "\
# A content signal says what a page may be used for. We reserve text and data mining.
License: https://legal.example/rsl.xml
License: /rsl.xml
# BEGIN Cloudflare Managed content
User-agent: *
Content-Signal: search=yes, ai-train=no
Allow: /
# END Cloudflare Managed Content

User-agent: *
Content-Signal: search=no, ai-input=yes, use=reference
Content-Usage: train-ai=y
Content-Usage: / search=y, frobnicate=n
Content-Usage: /samples/ train-ai=y
DisallowAITraining: /
Crawl-delay: 2.5
Request-rate: 1/10 0600-0845
Visit-time: 0100-0500
Noindex: /old/
Disallow: /tmp/

User-agent: __usage_ai-training/1.0
User-agent: __usage_summaries
User-agent: _usage_ai-training
Disallow: /
Allow: /open/

__usage_ai-training: /
License: HTTPS://legal.example/images.xml
License: https://legal.example/rsl.xml
Host: www.a.example
Clean-param: ref&sid /list/
Sitemap: https://a.example/sitemap.xml
";

const COLUMNS: [&str; 19] = [
    "origin",
    "rank",
    "token_present",
    "root_preference",
    "scope",
    "n_allow",
    "n_disallow",
    "first_line",
    "near_misses",
    "other_policy_tokens",
    "content_usage_train_ai",
    "content_usage_search",
    "content_signal_search",
    "content_signal_ai_input",
    "content_signal_ai_train",
    "rsl_license_urls",
    "cloudflare_managed",
    "names_ai_crawler",
    "conflicts",
];

/// The row of `training` of an origin, each cell as text.
fn training(folder: &Path, origin: &str) -> Vec<Option<String>> {
    let rows = table(folder, "training", &COLUMNS);
    rows.into_iter().find(|row| row[0].as_deref() == Some(origin)).expect("a row")
}

fn audit(body: &str) -> tempfile::TempDir {
    let folder = crate::program::temporary();
    write(folder.path(), "bodies/a.example.txt", body);
    run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out"], 0);
    folder
}

#[test]
fn a_file_with_all_signals_has_them_in_its_row() {
    let folder = audit(EVERYTHING);
    let expected = [
        Some("https://a.example"),
        None,
        Some("true"),
        Some("against"),
        Some("mixed"),
        Some("1"),
        Some("1"),
        Some("22"),
        Some("[_usage_ai-training, __usage_ai-training:]"),
        Some("[__usage_summaries]"),
        Some("unknown"),
        Some("allow"),
        Some("no"),
        Some("yes"),
        Some("no"),
        Some("[https://legal.example/rsl.xml, HTTPS://legal.example/images.xml]"),
        Some("true"),
        Some("false"),
        Some(
            "[content_signal_duplicate, content_usage_vs_content_signal, token_against_but_training_crawlers_allowed, \
             ai_train_no_but_training_crawlers_allowed, search_no_but_search_crawlers_allowed]",
        ),
    ];
    let row = training(&folder.path().join("out"), "https://a.example");
    for ((column, found), expected) in COLUMNS.iter().zip(&row).zip(expected) {
        assert_eq!(found.as_deref(), expected, "{column}");
    }
}

#[test]
fn every_fact_is_a_finding_with_its_line() {
    let folder = audit(EVERYTHING);
    let rows = table(&folder.path().join("out"), "findings", &["line", "code", "raw"]);
    let has = |line: u32, code: Code, raw: &str| {
        let expected = [Some(line.to_string()), Some(code.to_string()), Some(raw.to_owned())];
        assert!(rows.iter().any(|row| *row == expected), "{line} {code} {raw}\n{rows:?}");
    };
    has(1, Code::CommentMentionsTdm, EVERYTHING.lines().next().expect("a line"));
    has(3, Code::LicenseInvalid, "/rsl.xml");
    has(4, Code::CloudflareManaged, "# BEGIN Cloudflare Managed content");
    has(6, Code::ContentSignalManaged, "search=yes, ai-train=no");
    has(11, Code::ContentSignalUse, "search=no, ai-input=yes, use=reference");
    has(11, Code::SignalConflict, "content_signal_duplicate");
    has(14, Code::ContentUsage, "/samples/ train-ai=y");
    has(15, Code::AiTrainingRule, "/");
    has(17, Code::RequestRate, "1/10 0600-0845");
    has(22, Code::TrainingTokenWithSuffix, "__usage_ai-training/1.0");
    let found: BTreeSet<&str> = rows.iter().filter_map(|row| row[1].as_deref()).collect();
    for code in [
        Code::ContentSignalsPolicy,
        Code::License,
        Code::LicenseInGroup,
        Code::LicenseDuplicate,
        Code::ContentSignal,
        Code::ContentSignalContradiction,
        Code::ContentUsageLabelUnknown,
        Code::CrawlDelay,
        Code::VisitTime,
        Code::Noindex,
        Code::OtherPolicyToken,
        Code::TrainingTokenNearMiss,
        Code::TrainingTokenAsField,
        Code::Host,
        Code::CleanParam,
        Code::Sitemap,
    ] {
        assert!(found.contains(code.as_str()), "{code}: {found:?}");
    }
}

#[test]
fn a_file_that_says_nothing_leaves_the_columns_null() {
    let folder = audit("User-agent: *\nDisallow: /\nContent-Usage: train-ai=n\n");
    let row = training(&folder.path().join("out"), "https://a.example");
    let cells: Vec<Option<&str>> = row[10..].iter().map(Option::as_deref).collect();
    let expected = [None, None, None, None, None, Some("[]"), Some("false"), Some("false"), Some("[]")];
    assert_eq!(cells, expected);
}

#[test]
fn what_was_not_read_is_not_known() {
    let folder = audit("User-agent: *\nContent-Signal: search=yes\nAllow: /\n");
    write(folder.path(), "urls.txt", "https://b.example/\n");
    run(folder.path(), &["audit", "--from", "dir:bodies", "--urls", "urls.txt", "-o", "out"], 0);
    let row = training(&folder.path().join("out"), "https://b.example");
    assert!(row[10..].iter().all(Option::is_none), "{row:?}");
    let row = training(&folder.path().join("out"), "https://a.example");
    assert_eq!(row[12].as_deref(), Some("yes"));
}
