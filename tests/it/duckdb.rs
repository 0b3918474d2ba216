//! The tables in DuckDB, through Python's package `duckdb`. Without it these tests are skipped, or fail under `CI=true`.

use std::path::Path;
use std::process::Command;

use robots_audit::tables::Table;

use crate::program::{run, temporary, write};
use crate::shared;
use crate::warc_writer::{WarcWriter, ok};

/// Runs a Python script; `None` where Python lacks one of the packages.
pub(crate) fn python(test: &str, folder: &Path, packages: &str, script: &str) -> Option<String> {
    let import = format!("import {packages}");
    let has_them = Command::new("python3").args(["-c", &import]).output().is_ok_and(|o| o.status.success());
    if !has_them {
        shared::skip(test, &format!("Python lacks one of the packages {packages}"));
        return None;
    }
    let output = Command::new("python3").current_dir(folder).args(["-c", script]).output().expect("Python starts");
    let words = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    assert!(output.status.success(), "{}", words(&output.stderr));
    Some(words(&output.stdout))
}

const QUERY: &str = "
import duckdb, sys
connection = duckdb.connect()
connection.execute(open('FOLDER/views.sql').read())
views = [row[0] for row in connection.execute('SELECT view_name FROM duckdb_views() WHERE NOT internal').fetchall()]
for view in sorted(views):
    print(view, len(connection.execute('FROM ' + view).fetchall()))
";

#[test]
fn every_view_answers_from_any_directory() {
    let folder = temporary();
    write(
        folder.path(),
        "bodies/a.test.txt",
        "User-agent: *\nDisalow: /$\nDisallow: /x\nUser-agent: GPTBot\nAllow: /\n",
    );
    let training = "User-agent: __usage_ai-training\nDisallow: /\n";
    write(folder.path(), "bodies/b.test.txt", training);
    // A name that is awkward in SQL and in a glob pattern.
    let out = "o'ut [1]";
    run(folder.path(), &["audit", "--from", "dir:bodies", "--compare-matching", "-o", out], 0);
    let script = QUERY.replace("FOLDER", &folder.path().join(out).display().to_string().replace('\'', "\\'"));
    let elsewhere = temporary();
    let Some(counts) = python("every_view_answers_from_any_directory", elsewhere.path(), "duckdb", &script) else {
        return;
    };
    let counts: Vec<(&str, usize)> = counts
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(view, rows)| (view, rows.parse().expect("a number")))
        .collect();
    // Captures stand only where a snapshot was taken over, and header fields only where they were seen.
    let is_of_an_audit = |table: &&Table| ![Table::Captures, Table::ResponseSignals].contains(table);
    let of_an_audit = Table::ALL.iter().filter(is_of_an_audit);
    for name in of_an_audit.map(|table| table.as_str()).chain(["runs"]) {
        assert!(counts.iter().any(|(view, rows)| *view == name && *rows > 0), "{name}: {counts:?}");
    }
    let rows = |view| counts.iter().find(|(name, _)| *name == view).map(|(_, rows)| *rows);
    assert_eq!(rows("blocked_by_crawler"), Some(10));
    assert_eq!(rows("adoption"), Some(1));
    assert!(rows("adoption_by_signal").is_some_and(|rows| rows > 10), "{counts:?}");
    assert_eq!(rows("evidence"), rows("decisions"));
    assert_eq!(rows("star_rule_traps"), Some(1));
    // Of the common ten, five collect for training; all may read b.test.
    assert!(rows("conflicts").is_some_and(|rows| rows >= 5), "{counts:?}");
}

#[test]
fn adoption_is_counted_for_each_signal() {
    let folder = temporary();
    let signal = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: train-ai=n\nAllow: /\n";
    write(folder.path(), "bodies/a.test.txt", signal);
    write(folder.path(), "bodies/b.test.txt", "License: https://legal.test/1\nUser-agent: GPTBot\nDisallow: /\n");
    write(folder.path(), "bodies/c.example.txt", "User-agent: *\nAllow: /\n");
    write(folder.path(), "bodies/d.test.txt", "<html>Content-Signal: search=yes</html>");
    run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out"], 0);
    let script = "
import duckdb
connection = duckdb.connect()
connection.execute(open('out/views.sql').read())
for row in connection.execute('FROM adoption_by_signal').fetchall():
    print(*row)
";
    let Some(rows) = python("adoption_is_counted_for_each_signal", folder.path(), "duckdb", script) else { return };
    for row in [
        "content_signal unranked test 2 1 0.5",
        "content_signal unranked example 1 0 0.0",
        "content_signal_ai_train_no unranked test 2 1 0.5",
        "content_signal_ai_input_yes unranked test 2 0 0.0",
        "content_usage_train_ai_disallow unranked test 2 1 0.5",
        "rsl_license unranked test 2 1 0.5",
        "names_ai_crawler unranked test 2 1 0.5",
        "cloudflare_managed unranked test 2 0 0.0",
        "conflict unranked test 2 1 0.5",
        "training_token unranked test 2 0 0.0",
    ] {
        assert!(rows.lines().any(|found| found == row), "{row}\n{rows}");
    }
}

#[test]
fn header_fields_are_counted_among_answers() {
    let folder = temporary();
    let mut warc = WarcWriter::new();
    for (name, fields) in [
        ("a.test", "X-Robots-Tag: noai\r\nX-Robots-Tag: x: noml\r\nContent-Usage: train-ai=n\r\n"),
        ("b.test", "tdm-reservation: 1\r\ntdm-policy: /p\r\n"),
        ("c.example", "Link: </l>; rel=license; type=application/rsl+xml\r\n"),
    ] {
        let message = ok("User-agent: *\n").replace("Server: nginx\r\n", fields);
        warc.capture(&format!("https://{name}/robots.txt"), "2024-02-21T10:00:00Z", &message);
    }
    write(folder.path(), "cc.warc.gz", &warc.octets);
    run(folder.path(), &["ingest", "cc.warc.gz", "-o", "out"], 0);
    let script = "
import duckdb
connection = duckdb.connect()
connection.execute(open('out/views.sql').read())
for row in connection.execute('FROM adoption_by_header_signal').fetchall():
    print(*row)
";
    let Some(rows) = python("header_fields_are_counted_among_answers", folder.path(), "duckdb", script) else { return };
    for row in [
        "x_robots_noai unranked test 2 1 0.5",
        "x_robots_noai unranked example 1 0 0.0",
        "x_robots_noml unranked test 2 0 0.0",
        "x_robots_for_one_agent unranked test 2 1 0.5",
        "content_usage unranked test 2 1 0.5",
        "content_usage_train_ai_disallow unranked test 2 1 0.5",
        "tdm_reserved unranked test 2 1 0.5",
        "tdm_policy unranked test 2 1 0.5",
        "rsl_license unranked example 1 1 1.0",
        "pay_per_crawl unranked test 2 0 0.0",
    ] {
        assert!(rows.lines().any(|found| found == row), "{row}\n{rows}");
    }
    assert_eq!(rows.lines().count(), 2 * 16, "{rows}");
}

#[test]
fn readers_see_the_promised_types() {
    let folder = temporary();
    write(folder.path(), "bodies/a.test.txt", "User-agent: *\nDisallow: /caf\u{e9}\n");
    run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out"], 0);
    let script = "
import duckdb
connection = duckdb.connect()
connection.execute(open('out/views.sql').read())
for table in ['fetches', 'decisions', 'rules']:
    for name, type in connection.execute('SELECT column_name, column_type FROM (DESCRIBE ' + table + ')').fetchall():
        print(table + '.' + name, type)
filters = connection.execute('''SELECT count(*) FROM parquet_metadata('out/decisions/*.parquet')
    WHERE path_in_schema = 'origin' AND bloom_filter_offset IS NOT NULL AND stats_min_value IS NOT NULL''').fetchone()
print('filters', filters[0])
codecs = connection.execute('''SELECT DISTINCT compression FROM parquet_metadata('out/*/*.parquet')''').fetchall()
print('codecs', *[codec[0] for codec in codecs])
";
    let Some(types) = python("readers_see_the_promised_types", folder.path(), "duckdb", script) else { return };
    for line in [
        "fetches.fetch_time TIMESTAMP WITH TIME ZONE",
        "fetches.flags VARCHAR[]",
        "fetches.redirects STRUCT(status SMALLINT, url VARCHAR)[]",
        "fetches.fetch_status SMALLINT",
        "decisions.rule_line INTEGER",
        "decisions.matched_rule VARCHAR",
        "rules.value_octets BLOB",
        "filters 1",
        "codecs ZSTD",
    ] {
        assert!(types.lines().any(|found| found == line), "{line}\n{types}");
    }
}
