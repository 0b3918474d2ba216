//! What a training set loses: the report against counts taken anew from the files that were written.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the failure")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, UInt16Array};
use arrow::datatypes::Int32Type;
use arrow::ipc::writer::StreamWriter;
use serde_json::{Value, json};

use crate::dataset::{Capture, column, read_parquet, snapshot, write_parquet};
use crate::program::{run, run_in, temporary, write};

const FILE: &str = "User-agent: *\nDisallow: /private/\nUser-agent: GPTBot\nDisallow: /\n";

/// Origins with their registered domains; the last ones are in no snapshot.
const ORIGINS: [(&str, Option<&str>); 6] = [
    ("https://a.site.co.uk", Some("site.co.uk")),
    ("https://b.site.co.uk:8443", Some("site.co.uk")),
    ("http://other.test", Some("other.test")),
    ("https://192.0.2.7", None),
    ("https://free.org", Some("free.org")),
    ("https://unknown.example", Some("unknown.example")),
];

fn prepare(folder: &Path) {
    let captures: Vec<Capture<'_>> = ORIGINS[..5]
        .iter()
        .map(|(origin, _)| (*origin, Some(5), if origin.contains("free") { "" } else { FILE }))
        .collect();
    snapshot(&folder.join("snapshot"), &captures);
}

fn url(row: usize) -> Option<String> {
    let path = ["x", "private/y", "private/z"][row / 7 % 3];
    (!row.is_multiple_of(11)).then(|| format!("{}/{path}", ORIGINS[row / 3 % 6].0))
}

fn text(row: usize) -> Option<String> {
    (!row.is_multiple_of(13)).then(|| "wörter ".repeat(row % 17))
}

fn dump(row: usize) -> Option<&'static str> {
    [Some("CC-MAIN-2023-06"), Some("CC-MAIN-2024-18"), None][row / 1000 % 3]
}

/// Rows as `FineWeb` has them, and a score.
fn rows(count: usize) -> RecordBatch {
    let dumps: DictionaryArray<Int32Type> = (0..count).map(dump).collect();
    let tokens = |row: usize| (!row.is_multiple_of(5)).then(|| u16::try_from(row % 60_000).unwrap());
    let score =
        |row: usize| if row.is_multiple_of(9) { f64::NAN } else { f64::from(u32::try_from(row).unwrap()) / 7.0 };
    RecordBatch::try_from_iter_with_nullable([
        ("text", Arc::new((0..count).map(text).collect::<StringArray>()) as ArrayRef, true),
        ("url", Arc::new((0..count).map(url).collect::<StringArray>()) as ArrayRef, true),
        ("dump", Arc::new(dumps) as ArrayRef, true),
        ("token_count", Arc::new((0..count).map(tokens).collect::<UInt16Array>()) as ArrayRef, true),
        ("score", Arc::new((0..count).map(|row| Some(score(row))).collect::<Float64Array>()) as ArrayRef, true),
    ])
    .unwrap()
}

fn report(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

/// Rows, octets and weight of the rows of a batch that are meant.
fn counted(batch: &RecordBatch, is_meant: impl Fn(usize) -> bool) -> Value {
    let (texts, tokens) = (column(batch, "text"), column(batch, "token_count"));
    let meant: Vec<usize> = (0..batch.num_rows()).filter(|row| is_meant(*row)).collect();
    let octets: usize = meant.iter().map(|row| texts[*row].as_ref().map_or(0, String::len)).sum();
    let weight: u64 = meant.iter().map(|row| tokens[*row].as_ref().map_or(0, |tokens| tokens.parse().unwrap())).sum();
    json!({ "rows": meant.len(), "octets": octets, "weight": weight })
}

/// The registered domain of a URL that [`url`] made.
fn domain(url: Option<&String>) -> Option<&'static str> {
    let url = url?;
    ORIGINS.iter().find(|(origin, _)| url.starts_with(&format!("{origin}/"))).and_then(|(_, domain)| *domain)
}

/// The same rows, an object a line; what needs no escape is escaped all the same in every third.
fn ndjson(batch: &RecordBatch) -> String {
    let names = ["text", "url", "dump"];
    let columns = names.map(|name| column(batch, name));
    let (tokens, scores) = (column(batch, "token_count"), column(batch, "score"));
    let mut lines = String::new();
    for row in 0..batch.num_rows() {
        let mut line: Vec<String> =
            names.iter().zip(&columns).map(|(name, cells)| format!("\"{name}\":{}", json!(cells[row]))).collect();
        let number = |cell: &Option<String>| cell.clone().filter(|cell| cell != "NaN").unwrap_or("null".to_owned());
        line.push(format!("\"n\":{{\"tokens\":{},\"score\":{}}}", number(&tokens[row]), number(&scores[row])));
        if row % 3 == 0 {
            line[0] = line[0].replace('ö', "\\u00f6").replace('w', "\\u0077");
            line.reverse();
        }
        lines += &format!("{{{}}}\n", line.join(","));
    }
    lines
}

/// The same rows as records.
fn csv(batch: &RecordBatch) -> String {
    let names = ["text", "url", "dump", "token_count", "score"];
    let columns = names.map(|name| column(batch, name));
    let mut text = format!("{}\n", names.join(","));
    for row in 0..batch.num_rows() {
        let cells: Vec<String> = columns.iter().map(|cells| cells[row].clone().unwrap_or_default()).collect();
        text += &format!("\"{}\",{}\n", cells[0], cells[1..].join(","));
    }
    text
}

/// What was counted, without where it was.
fn counts_of(mut report: Value) -> Value {
    for name in ["files", "text_column", "weight_column"] {
        report[name].take();
    }
    report["by"].as_object_mut().unwrap().remove("column");
    report
}

const ASK: [&str; 7] = ["--from", "snapshot", "--weight-column", "token_count", "--by", "dump", "--stats"];

#[test]
fn annotated_rows_are_counted_as_their_columns_say() {
    let folder = temporary();
    prepare(folder.path());
    // More than one piece of work, and row groups that end within batches.
    write_parquet(&folder.path().join("in.parquet"), &rows(150_000), 40_001);
    let annotate = |output: &str, stats: &str, threads: &str| {
        let more = ["-o", output, "--crawlers", "GPTBot,CCBot", "--top", "2", "--threads", threads];
        run(folder.path(), &[&["annotate", "in.parquet"], &ASK[..], &[stats], &more].concat(), 0);
    };
    annotate("out", "told/losses.json", "1");
    annotate("out4", "four.json", "4");
    let told = report(folder.path(), "told/losses.json");
    assert_eq!(told, report(folder.path(), "four.json"));
    let (annotated, _) = read_parquet(&folder.path().join("out/in.parquet"));
    let (urls, dumps) = (column(&annotated, "url"), column(&annotated, "dump"));
    assert_eq!(told["all"], counted(&annotated, |_| true));
    assert_eq!(told["rows_without_weight"], 30_000);
    assert_eq!(told["files"], json!([{"path": "in.parquet", "finished_before": false}]));
    for crawler in ["GPTBot", "CCBot"] {
        let decisions = column(&annotated, &format!("robots_{crawler}_decision"));
        let is_lost = |row: usize| decisions[row].as_deref() == Some("deny");
        let lost = counted(&annotated, is_lost);
        assert!(lost["rows"].as_u64().unwrap() > 10_000, "{lost}");
        assert_eq!(told["lost"][crawler], lost);

        let mut by_domain: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        for row in (0..urls.len()).filter(|row| is_lost(*row)) {
            *by_domain.entry(domain(urls[row].as_ref())).or_default() += 1;
        }
        let domains = told["domains"]["lost"][crawler].as_array().unwrap();
        let names: Vec<_> = domains.iter().map(|domain| domain["domain"].as_str()).collect();
        assert_eq!(names, [Some("site.co.uk"), Some("other.test"), None]);
        for told in domains {
            let is_there = |row: usize| domain(urls[row].as_ref()) == told["domain"].as_str();
            assert_eq!(told["lost"]["rows"], by_domain[&told["domain"].as_str()]);
            assert_eq!(told["lost"], counted(&annotated, |row| is_there(row) && is_lost(row)));
            assert_eq!(told["all"], counted(&annotated, is_there));
        }
        let values = told["by"]["values"].as_array().unwrap();
        let names: Vec<_> = values.iter().map(|value| value["value"].as_str()).collect();
        assert_eq!(names, [Some("CC-MAIN-2023-06"), Some("CC-MAIN-2024-18"), None]);
        for told in values {
            let is_of = |row: usize| dumps[row].as_deref() == told["value"].as_str();
            assert_eq!(told["lost"][crawler], counted(&annotated, |row| is_of(row) && is_lost(row)));
            assert_eq!(told["all"], counted(&annotated, is_of));
        }
    }
    assert_eq!(told["domains"]["told_apart"], 4);
    assert_eq!(told["domains"]["is_complete"], true);
}

#[test]
fn excluded_rows_are_counted_by_reason_and_finished_files_again() {
    let folder = temporary();
    prepare(folder.path());
    for (name, count) in [("one", 4000), ("two", 777)] {
        write_parquet(&folder.path().join(format!("{name}.parquet")), &rows(count), 500);
    }
    let more = ["-o", "kept", "--excluded-out", "excluded", "--drop-denied", "CCBot"];
    let filter = |inputs: &[&str], stats: &str| {
        run(folder.path(), &[&["filter"], inputs, &ASK[..], &[stats], &more].concat(), 0);
        report(folder.path(), stats)
    };
    let first = filter(&["one.parquet"], "first.json");
    let (excluded, _) = read_parquet(&folder.path().join("excluded/one.parquet"));
    let (kept, _) = read_parquet(&folder.path().join("kept/one.parquet"));
    let reasons = column(&excluded, "robots_reason");
    assert_eq!(first["excluded"], counted(&excluded, |_| true));
    let rows_of = |of: &Value| of["rows"].as_u64().unwrap();
    assert_eq!(rows_of(&first["all"]), rows_of(&first["excluded"]) + kept.num_rows() as u64);
    let told = first["reasons"].as_object().unwrap();
    assert_eq!(told.keys().collect::<Vec<_>>(), ["no_url", "not_collected", "denied"]);
    for (reason, counts) in told {
        assert_eq!(*counts, counted(&excluded, |row| reasons[row].as_ref() == Some(reason)), "{reason}");
    }
    assert_eq!(first["lost"]["CCBot"], first["reasons"]["denied"]);
    assert_eq!(first["domains"]["excluded"][0]["domain"], "site.co.uk");
    let by: u64 = first["by"]["values"].as_array().unwrap().iter().map(|value| rows_of(&value["excluded"])).sum();
    assert_eq!(by, excluded.num_rows() as u64);

    let time = || fs::metadata(folder.path().join("kept/one.parquet")).unwrap().modified().unwrap();
    let before = time();
    let both = filter(&["one.parquet", "two.parquet"], "both.json");
    assert_eq!(time(), before);
    let finished = |file: usize| both["files"][file]["finished_before"].as_bool().unwrap();
    assert_eq!((finished(0), finished(1)), (true, false));
    assert_eq!(rows_of(&both["all"]), 4777);
    let again = filter(&["one.parquet", "two.parquet"], "again.json");
    let without_files = |mut report: Value| {
        report["files"].take();
        report
    };
    assert_eq!(without_files(again), without_files(both));
    assert_eq!(without_files(filter(&["one.parquet"], "alone.json")), without_files(first));
}

#[test]
fn floats_and_absent_columns() {
    let folder = temporary();
    prepare(folder.path());
    let batch = rows(2000).project(&[1, 4]).unwrap();
    write_parquet(&folder.path().join("in.parquet"), &batch, 300);
    let ask = ["--from", "snapshot", "--crawlers", "GPTBot", "--weight-column", "score", "--stats", "losses.json"];
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out"], &ask[..]].concat(), 0);
    let told = report(folder.path(), "losses.json");
    let scores = column(&batch, "score").into_iter().map(|score| score.unwrap().parse::<f64>().unwrap());
    let sum = scores.filter(|score| score.is_finite()).fold(0.0, |sum, score| sum + score);
    let difference = told["all"]["weight"].as_f64().unwrap() - sum;
    assert!(difference.abs() < 1e-6, "{difference}");
    assert_eq!(told["rows_without_weight"], 2000_usize.div_ceil(9));
    assert_eq!((&told["all"]["octets"], &told["text_column"], &told["by"]), (&Value::Null, &Value::Null, &Value::Null));
}

#[test]
fn text_files_are_counted_as_parquet_is() {
    let folder = temporary();
    prepare(folder.path());
    let batch = rows(4000);
    write_parquet(&folder.path().join("in.parquet"), &batch, 700);
    write(folder.path(), "in.ndjson.zst", zstd::encode_all(ndjson(&batch).as_bytes(), 3).unwrap());
    write(folder.path(), "in.csv", csv(&batch));
    let told = |command: &[&str], name: &str, weight: &str| {
        let ask = ["--from", "snapshot", "--stats", "losses.json", "--by", "dump", "--weight-column", weight];
        run(folder.path(), &[command, &[name], &ask[..]].concat(), 0);
        let report = report(folder.path(), "losses.json");
        assert_eq!((&report["text_column"], &report["weight_column"]), (&json!("text"), &json!(weight)));
        counts_of(report)
    };
    let annotate = ["annotate", "--crawlers", "GPTBot,CCBot", "-o", "out"];
    let filter = ["filter", "--drop-denied", "CCBot", "-o", "kept", "--excluded-out", "excluded"];
    for command in [&annotate[..], &filter] {
        for (weight, member) in [("token_count", "n.tokens"), ("score", "n.score")] {
            let expected = told(command, "in.parquet", weight);
            assert!(expected["lost"]["CCBot"]["octets"].as_u64().unwrap() > 10_000, "{expected}");
            // Written, or finished before: the counts are the same.
            for _ in 0..2 {
                assert_eq!(told(command, "in.csv", weight), expected, "{weight}");
                assert_eq!(told(command, "in.ndjson.zst", member), expected, "{weight}");
            }
        }
    }
}

#[test]
fn text_files_of_several_kinds_are_one_report() {
    let folder = temporary();
    prepare(folder.path());
    write(
        folder.path(),
        "a.ndjson",
        "{\"url\":\"http://other.test/x\",\"w\":\"7\",\"k\":1.5}\n{\"url\":null,\"w\":true,\"k\":[]}\n",
    );
    write(folder.path(), "b.csv", "w;k;url\n-2; ;http://other.test/private/\nx;1.5;ftp://x\n");
    let ask = ["--from", "snapshot", "--crawlers", "CCBot", "-o", "out", "--stats", "s.json"];
    let more = ["--weight-column", "w", "--by", "k"];
    run(folder.path(), &[&["annotate", "a.ndjson", "b.csv"], &ask[..], &more].concat(), 0);
    let told = report(folder.path(), "s.json");
    assert_eq!(told["all"], json!({"rows": 4, "octets": null, "weight": 5}));
    assert_eq!(told["lost"]["CCBot"], json!({"rows": 1, "octets": null, "weight": -2}));
    assert_eq!(told["rows_without_weight"], 2);
    let values: Vec<_> =
        told["by"]["values"].as_array().unwrap().iter().map(|of| (&of["value"], &of["all"]["rows"])).collect();
    assert_eq!(values, [(&json!(" "), &json!(1)), (&json!("1.5"), &json!(2)), (&Value::Null, &json!(1))]);
    for (name, more, expected) in [
        ("a.ndjson", ["--by", "dump"], "there is no column `dump` (columns: url, w, k)"),
        ("a.ndjson", ["--text-column", "w.text"], "there is no column `w.text`"),
        ("b.csv", ["--weight-column", "tokens"], "there is no column `tokens` (columns: w, k, url)"),
        ("b.csv", ["--text-column", "w.text"], "not text of its own"),
    ] {
        let output = run_in(folder.path(), &[&["annotate", name], &ask[..], &more].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(3) && told.contains(expected), "{more:?}: {told}");
    }
}

#[test]
fn streams_are_counted_as_files_are() {
    let folder = temporary();
    prepare(folder.path());
    let batch = rows(4000);
    write_parquet(&folder.path().join("in.parquet"), &batch, 700);
    let ask = [&ASK[..], &["losses.json", "--crawlers", "GPTBot,CCBot"]].concat();
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out"], &ask[..]].concat(), 0);
    let expected = report(folder.path(), "losses.json");
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    for start in (0..4000).step_by(333) {
        writer.write(&batch.slice(start, 333.min(4000 - start))).unwrap();
    }
    write(folder.path(), "in.arrow", writer.into_inner().unwrap());
    let stream = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
        command.current_dir(folder.path()).args(["annotate", "--stream", "arrow"]).args(&ask).args(more);
        command.stdin(fs::File::open(folder.path().join("in.arrow")).unwrap()).output().unwrap()
    };
    let output = stream(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = report(folder.path(), "losses.json");
    assert_eq!(told["files"], json!([]));
    assert_eq!(counts_of(told), counts_of(expected));
    fs::remove_file(folder.path().join("losses.json")).unwrap();
    let output = stream(&["--text-column", "token_count"]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("not text"));
    assert!(!folder.path().join("losses.json").exists());
}

#[test]
fn what_cannot_be_counted_is_refused_before_work_starts() {
    let folder = temporary();
    prepare(folder.path());
    write_parquet(&folder.path().join("in.parquet"), &rows(10), 10);
    let before = fs::read(folder.path().join("in.parquet")).unwrap();
    for (more, expected) in [
        (&["--stats", "s.json", "--weight-column", "text"][..], "column `text` is of type"),
        (&["--stats", "s.json", "--by", "score"], "column `score` is of type Float64, not text or an integer"),
        (&["--stats", "s.json", "--text-column", "body"], "there is no column `body`"),
        (&["--stats", "in.parquet"], "in.parquet has a name of data files"),
        (&["--stats", "out/in.parquet"], "has a name of data files"),
        (&["--by", "dump"], "--stats <FILE>"),
    ] {
        let ask = ["annotate", "in.parquet", "--from", "snapshot", "--crawlers", "GPTBot", "-o", "out"];
        let output = run_in(folder.path(), &[&ask[..], more].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(expected), "{more:?}: {told}");
    }
    assert_eq!(fs::read(folder.path().join("in.parquet")).unwrap(), before);
    assert!(!folder.path().join("out/in.parquet").exists() && !folder.path().join("s.json").exists());
}
