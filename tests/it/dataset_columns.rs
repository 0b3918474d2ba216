//! The columns of data sets as they are named: mistyped ones, those of times, ids, and those that are added.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the failure")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, CompressionCodec, GzipLevel, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use sha2::{Digest, Sha256};

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

/// The rows as a stream.
const STREAM: &str = "in.arrow";

/// Rows with JSON in a column, in every format; names of the files.
fn with_metadata(folder: &Path, json: &[Option<&str>]) -> [&'static str; 4] {
    let url = vec![Some("https://a.test/x"); json.len()];
    let text = vec![Some("no JSON"); json.len()];
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("url", texts(&url), true),
        ("metadata", texts(json), true),
        ("words", texts(&text), true),
    ]);
    let batch = batch.unwrap();
    write_parquet(&folder.join("in.parquet"), &batch, 700);
    let cut: Vec<RecordBatch> =
        (0..json.len().max(1)).step_by(400).map(|row| batch.slice(row, 400.min(json.len() - row))).collect();
    write_stream(&folder.join("in.arrow"), &cut);
    let (mut csv, mut lines) = ("url,metadata,words\n".to_owned(), String::new());
    for json in json {
        let field = json.map(|json| format!("\"{}\"", json.replace('"', "\"\""))).unwrap_or_default();
        csv += &format!("https://a.test/x,{field},no JSON\n");
        lines += &format!("{}\n", serde_json::json!({"url": "https://a.test/x", "metadata": json, "words": "no JSON"}));
    }
    write(folder, "in.csv", csv);
    write(folder, "in.ndjson", lines);
    ["in.parquet", "in.csv", "in.ndjson", STREAM]
}

/// Annotates a file or a stream; what is said on stderr.
fn told(folder: &Path, input: &str, more: &[&str], code: i32) -> String {
    if input == STREAM {
        let output = stream(folder, input, &[&ASK[..], more].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{more:?}: {told}");
        return told;
    }
    annotate(folder, input, &[&["--overwrite"], more].concat(), code).1
}

#[test]
fn a_path_that_leads_to_nothing_is_told_before_work_starts() {
    let folder = temporary();
    two_origins(folder.path());
    let json = r#"{"url":"https://a.test/x","n":3,"date":"2024-05-01"}"#;
    for rows in [vec![Some(json); 3], vec![Some(json); 2500], [vec![None; 900], vec![Some(json); 200]].concat()] {
        for input in with_metadata(folder.path(), &rows) {
            for wrong in ["metadata.zzz", "metadata.url.x", "words.url"] {
                for more in [
                    &["--url-column", wrong][..],
                    &["--as-of", wrong],
                    &["--stats", "s.json", "--weight-column", wrong],
                    &["--stats", "s.json", "--by", wrong],
                    &["--sidecar", "--id-column", wrong],
                ] {
                    let (is_stream, is_typed) = (input == STREAM, !input.ends_with("csv") && !input.ends_with("on"));
                    if (is_stream && more[0] == "--sidecar") || (is_typed && more.contains(&"--weight-column")) {
                        continue;
                    }
                    let told = told(folder.path(), input, more, 3);
                    assert!(told.contains(&format!("there is no `{wrong}`")) || told.contains("no column"), "{told}");
                    assert!(told.contains(wrong), "{told}");
                }
            }
            for more in [
                &["--url-column", "metadata.url", "--as-of", "metadata.date"][..],
                &["--stats", "s.json", "--by", "metadata.n"],
            ] {
                told(folder.path(), input, more, 0);
            }
        }
        assert!(!folder.path().join("out/.in.parquet.tmp").exists());
    }
    let (_, told) = annotate(folder.path(), "in.parquet", &["--url-column", "metadata.zzz"], 3);
    let expected =
        "in in.parquet: there is no `metadata.zzz` in the first 1000 rows (the first with text has url, n, date)";
    assert!(told.contains(expected), "{told}");
    let filter = ["filter", "in.parquet", "--from", "snapshot", "--keep", "allow(CCBot)", "-o", "kept"];
    run(folder.path(), &[&filter[..], &["--url-column", "metadata.zzz"]].concat(), 3);
    run(folder.path(), &[&["filter", "in.csv"], &filter[2..], &["--url-column", "metadata.zzz"]].concat(), 3);
    assert_eq!(fs::read_dir(folder.path().join("kept")).unwrap().count(), 0);
}

#[test]
fn one_row_that_has_it_is_enough_and_rows_without_json_tell_nothing() {
    let folder = temporary();
    two_origins(folder.path());
    let other = Some("{}");
    let last = [vec![other; 999], vec![Some(r#"{"url":null}"#)], vec![other; 500]].concat();
    for rows in [last, vec![None; 1200], Vec::new()] {
        for input in with_metadata(folder.path(), &rows) {
            told(folder.path(), input, &["--url-column", "metadata.url"], 0);
        }
    }
    let late = [vec![other; 1000], vec![Some(r#"{"url":"https://a.test/x"}"#); 100]].concat();
    for input in with_metadata(folder.path(), &late) {
        told(folder.path(), input, &["--url-column", "metadata.url"], 3);
    }
}

#[test]
fn ids_within_columns_stand_alone() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(500));
    write_parquet(&folder.path().join("in.parquet"), &batch, 200);
    let sidecar = |id: &str, more: &[&str]| {
        let more = [&["--sidecar", "--overwrite", "--training=false", "--id-column", id], more].concat();
        annotate(folder.path(), "in.parquet", &more, 0);
        let (sidecar, _) = read_parquet(&folder.path().join("out/in.parquet"));
        let names: Vec<String> = sidecar.schema().fields().iter().map(|field| field.name().clone()).collect();
        (sidecar, names)
    };
    let answers = ["robots_GPTBot_decision", "robots_CCBot_decision", "robots_fetch_class", "robots_checked_at"];
    let plain = sidecar("id", &[]).0;
    for (id, same) in [("page.url", "url"), ("page.ids", "lists"), ("metadata.url", "url"), ("metadata.n", "")] {
        let (sidecar, names) = sidecar(id, &[]);
        assert_eq!(names, [&[id, "url"], &answers[..]].concat());
        if same.is_empty() {
            assert_eq!(column(&sidecar, id), vec![Some("1".to_owned()); 500]);
        } else {
            assert_eq!(sidecar.column(0), batch.column_by_name(same).unwrap(), "{id}");
        }
        assert_eq!(sidecar.columns()[1..], plain.columns()[1..], "{id}");
    }
    let text = "page,url\n\"{\"\"id\"\":\"\"a,\"\"}\",https://a.test/x\n,\n\"{\"\"id\"\":7}\",https://a.test/x\n";
    write(folder.path(), "in.csv", text);
    annotate(folder.path(), "in.csv", &["--sidecar", "--id-column", "page.id", "--training=false"], 0);
    let written = fs::read_to_string(folder.path().join("out/in.csv")).unwrap();
    assert_eq!(written.lines().count(), 4, "{written}");
    assert!(written.starts_with("page.id,url,robots_GPTBot_decision,"), "{written}");
    assert!(
        written.contains("\n\"a,\",https://a.test/x,deny,") && written.contains("\n7,https://a.test/x,deny,"),
        "{written}"
    );
}

#[test]
fn the_url_may_be_the_id() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(70));
    write_parquet(&folder.path().join("in.parquet"), &batch, 50);
    let more = ["--sidecar", "--id-column", "url", "--training=false"];
    annotate(folder.path(), "in.parquet", &more, 0);
    let (sidecar, _) = read_parquet(&folder.path().join("out/in.parquet"));
    assert_eq!((sidecar.num_columns(), sidecar.column(0)), (5, batch.column(1)));
    assert_eq!(
        (sidecar.schema().field(0).name(), sidecar.schema().field(1).name()),
        (&"url".to_owned(), &"robots_GPTBot_decision".to_owned())
    );
    write(folder.path(), "in.csv", "n,url\n1,\"https://a.test/x\"\n");
    annotate(folder.path(), "in.csv", &more, 0);
    let written = fs::read_to_string(folder.path().join("out/in.csv")).unwrap();
    assert!(written.starts_with("url,robots_GPTBot_decision,"), "{written}");
    assert!(written.contains("\n\"https://a.test/x\",deny,allow,ok,"), "{written}");
    write(folder.path(), "in.ndjson", "{\"n\":1,\"url\":\"https://a.test/\\u0078\"}\n");
    annotate(folder.path(), "in.ndjson", &more, 0);
    let written = fs::read_to_string(folder.path().join("out/in.ndjson")).unwrap();
    assert!(
        written.starts_with("{\"url\":\"https://a.test/\\u0078\",\"robots_GPTBot_decision\":\"deny\","),
        "{written}"
    );
    // Another column of that name is not the URL.
    for (input, path) in [("in.parquet", "page.url"), ("in.parquet", "metadata.url"), ("in.ndjson", "page.url")] {
        let (_, told) =
            annotate(folder.path(), input, &[&more[..], &["--url-column", path, "--overwrite"]].concat(), 3);
        assert!(told.contains("would both be called `url`; choose another --id-column"), "{told}");
    }
}

/// The same file, with each column of these as if it were packed with a codec.
fn claim_codec(from: &Path, to: &Path, columns: &[&str], codec: CompressionCodec) {
    let file = File::open(from).unwrap();
    let (_, metadata) = read_parquet(from);
    let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(File::create(to).unwrap(), schema, Arc::default()).unwrap();
    for group in metadata.row_groups() {
        let mut out = writer.next_row_group().unwrap();
        for chunk in group.columns() {
            let claims = columns.contains(&&*chunk.column_path().string());
            let codec = if claims { codec } else { chunk.compression_codec() };
            let closed = ColumnCloseResult {
                bytes_written: chunk.compressed_size().try_into().unwrap(),
                rows_written: group.num_rows().try_into().unwrap(),
                metadata: chunk.clone().into_builder().set_compression_codec(codec).build().unwrap(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            out.append_column(&file, closed).unwrap();
        }
        out.close().unwrap();
    }
    writer.close().unwrap();
}

fn filter(input: &str) -> Vec<&str> {
    vec!["filter", input, "--from", "snapshot", "--keep", "allow(CCBot)", "-o", "kept"]
}

#[test]
fn codecs_that_are_read_and_those_that_are_not() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(700));
    write_parquet(&folder.path().join("plain.parquet"), &batch, 300);
    annotate(folder.path(), "plain.parquet", &[], 0);
    run(folder.path(), &filter("plain.parquet"), 0);
    let out = |folder_name: &str, name: &str| read_parquet(&folder.path().join(folder_name).join(name));
    for (name, codec) in [
        ("snappy.parquet", Compression::SNAPPY),
        ("gzip.parquet", Compression::GZIP(GzipLevel::default())),
        ("brotli.parquet", Compression::BROTLI(BrotliLevel::default())),
        ("lz4.parquet", Compression::LZ4_RAW),
        ("zstd.parquet", Compression::ZSTD(ZstdLevel::default())),
    ] {
        let properties = WriterProperties::builder().set_compression(codec).set_max_row_group_row_count(Some(300));
        let file = File::create(folder.path().join(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        annotate(folder.path(), name, &[], 0);
        assert_eq!(out("out", name).0.columns(), out("out", "plain.parquet").0.columns(), "{name}");
        run(folder.path(), &filter(name), 0);
        let (kept, metadata) = out("kept", name);
        assert_eq!(kept.columns(), out("kept", "plain.parquet").0.columns(), "{name}");
        assert_eq!(metadata.row_group(0).column(0).compression_codec(), codec.into(), "{name}");
    }
    let claim = |name: &str, columns: &[&str]| {
        claim_codec(&folder.path().join("plain.parquet"), &folder.path().join(name), columns, CompressionCodec::LZO);
    };
    claim("url.parquet", &["url"]);
    claim("other.parquet", &["word"]);
    for arguments in [
        &["annotate", "url.parquet", "-o", "o", "--crawlers", "CCBot", "--from", "snapshot"][..],
        &filter("url.parquet"),
    ] {
        let (_, told) = run(folder.path(), arguments, 3);
        assert!(told.contains("in url.parquet: column `url` is packed with lzo, which is not read"), "{told}");
    }
    // What is only copied need not be read.
    annotate(folder.path(), "other.parquet", &[], 0);
    let (_, told) = run(folder.path(), &filter("other.parquet"), 3);
    assert!(told.contains("column `word` is packed with lzo"), "{told}");
    let by = ["--stats", "s.json", "--by", "word", "--overwrite"];
    let (_, told) = annotate(folder.path(), "other.parquet", &by, 3);
    assert!(told.contains("column `word` is packed with lzo"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_fault_of_the_input() {
    let folder = temporary();
    two_origins(folder.path());
    // More than is gathered before it is written, in one column.
    let long: Vec<String> = (0..9000u32).map(|row| format!("{:?}", Sha256::digest(row.to_le_bytes()))).collect();
    let long: ArrayRef = Arc::new(StringArray::from(long));
    let url: ArrayRef = Arc::new(StringArray::from(vec!["https://a.test/x"; 9000]));
    let batch = RecordBatch::try_from_iter([("long", long), ("url", url)]).unwrap();
    write_parquet(&folder.path().join("big.parquet"), &batch, 10_000);
    write_parquet(&folder.path().join("small.parquet"), &batch.slice(0, 10), 10_000);
    write_stream(&folder.path().join("in.arrow"), &[batch]);
    fs::create_dir(folder.path().join("out")).unwrap();
    for name in ["big.parquet", "small.parquet"] {
        std::os::unix::fs::symlink("/dev/full", folder.path().join(format!("out/.{name}.tmp"))).unwrap();
        let (_, told) = annotate(folder.path(), name, &[], 1);
        let expected = format!("error: in {name}: cannot write out/{name}: No space left on device (os error 28)\n");
        assert_eq!(told, expected);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder.path()).args(["annotate", "--stream", "arrow"]).args(ASK);
    command.stdin(File::open(folder.path().join("in.arrow")).unwrap());
    let output = command.stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "error: cannot write the Arrow stream: No space left on device (os error 28)\n");
}

fn write_stream(path: &Path, batches: &[RecordBatch]) {
    let file = File::create(path).unwrap();
    let mut writer = arrow::ipc::writer::StreamWriter::try_new(file, &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

/// Annotates a stream that stands in a file.
fn stream(folder: &Path, input: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder).args(["annotate", "--stream", "arrow"]).args(more);
    command.stdin(File::open(folder.join(input)).unwrap()).output().unwrap()
}
