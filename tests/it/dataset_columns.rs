//! The columns of data sets as they are named: mistyped ones, those of times, ids, and those that are added.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the failure")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use crate::dataset::{ASK, column, read_parquet, rows_of_all_kinds, two_origins, urls, write_parquet};
use crate::program::{run, temporary, write};

fn annotate(folder: &Path, input: &str, more: &[&str], code: i32) -> (String, String) {
    run(folder, &[&["annotate", input, "-o", "out"], &ASK[..], more].concat(), code)
}

fn texts(texts: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

#[test]
fn times_that_cannot_be_read_are_told_by_themselves() {
    let folder = temporary();
    two_origins(folder.path());
    let url = Some("https://a.test/x");
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("url", texts(&[url, url, url, url, Some("https://c.test/"), None]), true),
        ("dic", texts(&[Some("x"), Some("y"), None, Some("2024-05-01"), Some("2024-05-01"), Some("x")]), true),
    ]);
    write_parquet(&folder.path().join("in.parquet"), &batch.unwrap(), 100);
    let text = "url,dic\nhttps://a.test/x,x\nhttps://a.test/x,y\nhttps://a.test/x,\nhttps://a.test/x,2024-05-01\n\
                https://c.test/,2024-05-01\n,x\n";
    write(folder.path(), "in.csv", text);
    let line = |url: &str, time: &str| format!("{{\"url\":{url},\"dic\":{time}}}\n");
    let url = "\"https://a.test/x\"";
    let lines = [
        line(url, "\"x\""),
        line(url, "7"),
        line(url, "null"),
        line(url, "1714521600"),
        line("\"https://c.test/\"", "\"2024-05-01\""),
        line("null", "\"x\""),
    ];
    write(folder.path(), "in.ndjson", lines.concat());
    for input in ["in.parquet", "in.csv", "in.ndjson"] {
        let (told, _) = annotate(folder.path(), input, &["--as-of", "dic"], 0);
        let expected = "6 rows, 1 without a URL, 1 without a time, 2 with a time that cannot be read, 1 of origins \
                        that no snapshot holds\n";
        assert!(told.contains(expected), "{input}: {told}");
        let json = ["--as-of", "dic", "--overwrite", "--training=false", "--format", "json"];
        let (told, _) = annotate(folder.path(), input, &json, 0);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let counts = ["not_collected", "null_times", "unreadable_times"].map(|name| told[name].as_u64());
        assert_eq!(counts, [Some(4), Some(1), Some(2)], "{input}");
        let fail = ["--from", "snapshot", "--as-of", "dic", "--keep", "allow(CCBot)", "--missing", "fail", "-o", "f"];
        let (_, told) = run(folder.path(), &[&["filter", input], &fail[..]].concat(), 2);
        assert!(told.ends_with("row 1: its time cannot be read, so that no capture counts\n"), "{told}");
    }
}

#[test]
fn two_columns_of_one_name_are_not_added() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(10));
    write_parquet(&folder.path().join("in.parquet"), &batch, 100);
    write(folder.path(), "in.csv", "url\nhttps://a.test/\n");
    write(folder.path(), "in.ndjson", "{\"url\":\"https://a.test/\"}\n");
    write_stream(&folder.path().join("in.arrow"), &[batch]);
    let ask = ["--from", "snapshot", "--crawlers", "star,*"];
    let expected = "two columns `robots_star_decision` would be added";
    for input in ["in.parquet", "in.csv", "in.ndjson"] {
        for more in [&[][..], &["--sidecar"], &["--sidecar", "--id-column", "url"]] {
            let (_, told) = run(folder.path(), &[&["annotate", input, "-o", "o"], &ask[..], more].concat(), 3);
            assert!(told.contains(expected) && told.contains("--crawlers"), "{told}");
        }
    }
    let output = stream(folder.path(), "in.arrow", &ask);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
}

#[test]
fn of_a_key_that_stands_twice_the_last_counts() {
    let folder = temporary();
    two_origins(folder.path());
    let twice = r#"{"url":"https://a.test/private/","url":"https://a.test/x"}"#;
    write(folder.path(), "in.ndjson", format!("{twice}\n"));
    annotate(folder.path(), "in.ndjson", &[], 0);
    let line = fs::read_to_string(folder.path().join("out/in.ndjson")).unwrap();
    assert!(
        line.starts_with(&twice[..twice.len() - 1]) && line.contains("\"robots_CCBot_decision\":\"allow\""),
        "{line}"
    );
    let batch = RecordBatch::try_from_iter([("page", texts(&[Some(twice)]))]).unwrap();
    write_parquet(&folder.path().join("in.parquet"), &batch, 100);
    annotate(folder.path(), "in.parquet", &["--url-column", "page.url"], 0);
    let (annotated, _) = read_parquet(&folder.path().join("out/in.parquet"));
    assert_eq!(column(&annotated, "robots_CCBot_decision"), [Some("allow".to_owned())]);
}

fn write_stream(path: &Path, batches: &[RecordBatch]) {
    let file = File::create(path).unwrap();
    let mut writer = arrow::ipc::writer::StreamWriter::try_new(file, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

/// Annotates a stream that stands in a file.
fn stream(folder: &Path, input: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder).args(["annotate", "--stream", "arrow"]).args(more);
    command.stdin(File::open(folder.join(input)).unwrap()).output().unwrap()
}
