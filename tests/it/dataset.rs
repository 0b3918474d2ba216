//! Data sets: annotated and filtered files, streams, snapshots in time, runs that were killed.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the failure")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use robots_audit::origin::Origin;
use robots_audit::robots::access::FetchClass;
use robots_audit::robots::parse::Robots;
use robots_audit::robots::token::Matching;
use robots_audit::tables::bodies::{BodiesBuilder, BodyCounts};
use robots_audit::tables::fetches::{FetchRow, FetchesBuilder, Observation};
use robots_audit::tables::sink::{Footer, TableFile};
use robots_audit::tables::{Table, bodies, fetches};
use sha2::{Digest, Sha256};

use crate::duckdb::python;
use crate::program::{run, run_in, temporary, write};

/// An origin, when it was asked, and its file.
pub(crate) type Capture<'a> = (&'a str, Option<i64>, &'a str);

/// Writes a snapshot.
pub(crate) fn snapshot(folder: &Path, captures: &[Capture<'_>]) {
    let (mut rows, mut texts) = (FetchesBuilder::default(), BodiesBuilder::default());
    for (origin, fetch_time, body) in captures {
        let hash = Sha256::digest(body).into();
        let mut observation = Observation::of_class(FetchClass::Ok, None);
        observation.fetch_time = *fetch_time;
        observation.body_sha256 = Some(hash);
        let origin = Some(Origin::of_url(origin.as_bytes()).unwrap());
        rows.push(&FetchRow { origin, rank: None, input: None, input_line: None, observation });
        texts.push(&hash, body.as_bytes(), &BodyCounts::of(&Robots::parse(body.as_bytes(), Matching::Rfc9309)));
    }
    for (table, schema, batch) in
        [(Table::Fetches, fetches::schema(), rows.finish()), (Table::Bodies, bodies::schema(), texts.finish())]
    {
        let mut file = TableFile::create(folder, table, schema).unwrap();
        file.write(&batch).unwrap();
        file.finish(&Footer::new()).unwrap().publish().unwrap();
    }
}

const A: &str = "User-agent: *\nDisallow: /private/\nUser-agent: GPTBot\nDisallow: /\n";
const B: &str = "User-agent: __usage_ai-training\nDisallow: /\n";

/// The snapshot of most tests.
pub(crate) fn two_origins(folder: &Path) {
    snapshot(&folder.join("snapshot"), &[("https://a.test", Some(5), A), ("https://b.test", Some(6), B)]);
}

/// URLs of every kind, again and again.
pub(crate) fn urls(rows: usize) -> Vec<Option<String>> {
    let kinds = [
        Some("https://a.test/x"),
        Some("https://a.test/private/y"),
        None,
        Some("ftp://x"),
        Some("HTTPS://B.test:443/z?q#f"),
        Some("https://c.test/"),
        Some("https://a.test/robots.txt"),
    ];
    kinds.iter().cycle().take(rows).map(|url| url.map(str::to_owned)).collect()
}

/// A batch with columns of many kinds.
pub(crate) fn rows_of_all_kinds(urls: &[Option<String>]) -> RecordBatch {
    let count = i64::try_from(urls.len()).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(
        (0..count).map(|n| (n % 3 > 0).then(|| (0..n % 5).map(|m| (m != 1).then_some(m)).collect::<Vec<_>>())),
    );
    let words: DictionaryArray<Int32Type> =
        (0..count).map(|n| (n % 4 > 0).then_some(["x", "yy", "z"][usize::try_from(n % 3).unwrap()])).collect();
    let lists: ArrayRef = Arc::new(lists);
    let page = StructArray::from(vec![
        (Arc::new(Field::new("url", DataType::Utf8, true)), Arc::new(StringArray::from(urls.to_vec())) as ArrayRef),
        (Arc::new(Field::new("ids", lists.data_type().clone(), true)), Arc::clone(&lists)),
    ]);
    let json = urls.iter().map(|url| Some(serde_json::json!({"url": url, "n": 1}).to_string()));
    RecordBatch::try_from_iter_with_nullable([
        ("id", numbers, true),
        ("url", Arc::new(StringArray::from(urls.to_vec())) as ArrayRef, true),
        ("lists", lists, true),
        ("word", Arc::new(words) as ArrayRef, true),
        ("page", Arc::new(page) as ArrayRef, true),
        ("metadata", Arc::new(json.collect::<StringArray>()) as ArrayRef, true),
    ])
    .unwrap()
}

/// Writes a file with a bloom filter, an own fact in the footer, and row groups of so many rows.
pub(crate) fn write_parquet(path: &Path, batch: &RecordBatch, group_rows: usize) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_column_bloom_filter_enabled("url".into(), true)
        .set_key_value_metadata(Some(vec![KeyValue::new("own".to_owned(), "fact".to_owned())]))
        .set_created_by("some writer version 1".to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub(crate) fn read_parquet(path: &Path) -> (RecordBatch, Arc<ParquetMetaData>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let (schema, metadata) = (builder.schema().clone(), builder.metadata().clone());
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    (concat_batches(&schema, &batches).unwrap(), metadata)
}

pub(crate) fn column(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    let is_time = matches!(column.data_type(), DataType::Timestamp(..));
    let plain = if is_time { cast(column, &DataType::Int64).unwrap() } else { Arc::clone(column) };
    let texts = cast(&plain, &DataType::Utf8).unwrap();
    texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

fn group_rows(metadata: &ParquetMetaData) -> Vec<i64> {
    metadata.row_groups().iter().map(parquet::file::metadata::RowGroupMetaData::num_rows).collect()
}

pub(crate) const ASK: [&str; 4] = ["--from", "snapshot", "--crawlers", "GPTBot,CCBot"];

#[test]
fn annotated_files_keep_all_that_was_there() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(1000));
    write_parquet(&folder.path().join("in.parquet"), &batch, 300);
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out", "--rule"], &ASK[..]].concat(), 0);
    let (annotated, metadata) = read_parquet(&folder.path().join("out/in.parquet"));
    let (_, before) = read_parquet(&folder.path().join("in.parquet"));
    for (place, field) in batch.schema().fields().iter().enumerate() {
        assert_eq!(annotated.schema().field(place), &**field);
        assert_eq!(annotated.column(place), batch.column(place), "{}", field.name());
    }
    assert_eq!(group_rows(&metadata), group_rows(&before));
    assert_eq!(metadata.file_metadata().created_by(), Some("some writer version 1"));
    let facts = metadata.file_metadata().key_value_metadata().unwrap();
    assert!(facts.iter().any(|fact| fact.key == "own" && fact.value.as_deref() == Some("fact")));
    for (group, group_before) in metadata.row_groups().iter().zip(before.row_groups()) {
        for (column, column_before) in group.columns().iter().zip(group_before.columns()) {
            assert_eq!(column.statistics(), column_before.statistics());
            assert_eq!(column.compressed_size(), column_before.compressed_size());
            assert_eq!(column.bloom_filter_offset().is_some(), column_before.bloom_filter_offset().is_some());
            assert!(column.column_index_offset().is_some() && column.offset_index_offset().is_some());
        }
    }
    let some = |texts: [&str; 7]| texts.map(|text| (text != "-").then(|| text.to_owned())).to_vec();
    for (name, expected) in [
        ("robots_GPTBot_decision", ["deny", "deny", "-", "-", "allow", "unresolved", "allow"]),
        ("robots_CCBot_decision", ["allow", "deny", "-", "-", "allow", "unresolved", "allow"]),
        ("robots_CCBot_rule", ["-", "Disallow: /private/", "-", "-", "-", "-", "-"]),
        ("robots_GPTBot_rule_line", ["4", "4", "-", "-", "-", "-", "-"]),
        ("robots_CCBot_decision_source", ["no_match", "rule", "-", "-", "no_group", "not_collected", "robots_txt"]),
        (
            "robots_training_verdict",
            ["none_expressed", "none_expressed", "-", "-", "against", "unknown", "none_expressed"],
        ),
        ("robots_fetch_class", ["ok", "ok", "-", "invalid_target", "ok", "not_collected", "ok"]),
        ("robots_checked_at", ["5", "5", "-", "-", "6", "-", "5"]),
    ] {
        let found = column(&annotated, name);
        assert_eq!(found[..7], some(expected), "{name}");
        assert!(found.iter().enumerate().all(|(row, cell)| *cell == found[row % 7]), "{name}");
    }
}

#[test]
fn decisions_are_those_of_an_audit() {
    let folder = temporary();
    two_origins(folder.path());
    let urls: Vec<String> = urls(70).into_iter().flatten().collect();
    write(folder.path(), "urls.txt", urls.join("\n"));
    run(folder.path(), &[&["audit", "--urls", "urls.txt", "-o", "tables"], &ASK[..]].concat(), 0);
    let audited = crate::program::table(&folder.path().join("tables"), "decisions", &["url", "crawler", "decision"]);
    let batch = rows_of_all_kinds(&urls.iter().cloned().map(Some).collect::<Vec<_>>());
    write_parquet(&folder.path().join("in.parquet"), &batch, 1000);
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out"], &ASK[..]].concat(), 0);
    let (annotated, _) = read_parquet(&folder.path().join("out/in.parquet"));
    for (place, crawler) in ["GPTBot", "CCBot"].into_iter().enumerate() {
        let decisions = column(&annotated, &format!("robots_{crawler}_decision"));
        for (row, decision) in decisions.iter().enumerate() {
            let expected = &audited[row * 2 + place];
            assert_eq!((expected[0].as_deref(), expected[1].as_deref()), (Some(&*urls[row]), Some(crawler)));
            let is_invalid = urls[row].starts_with("ftp:");
            assert_eq!(decision.as_deref(), expected[2].as_deref().filter(|_| !is_invalid), "{}", urls[row]);
        }
    }
}

#[test]
fn urls_in_structs_and_in_json_and_beside_an_id_alone() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(500));
    write_parquet(&folder.path().join("in.parquet"), &batch, 200);
    let read = |out: &str, more: &[&str]| {
        run(folder.path(), &[&["annotate", "in.parquet", "-o", out], &ASK[..], more].concat(), 0);
        read_parquet(&folder.path().join(out).join("in.parquet")).0
    };
    let plain = read("plain", &[]);
    for (out, path) in [("struct", "page.url"), ("json", "metadata.url")] {
        assert_eq!(read(out, &["--url-column", path]).columns(), plain.columns(), "{path}");
    }
    let sidecar = read("sidecar", &["--sidecar", "--id-column", "id", "--url-column", "page.url", "--prefix", "r_"]);
    assert_eq!(sidecar.schema().field(0).name(), "id");
    assert_eq!(sidecar.column(0), batch.column(0));
    assert_eq!(column(&sidecar, "url"), column(&batch, "url"));
    assert_eq!(column(&sidecar, "r_CCBot_decision"), column(&plain, "robots_CCBot_decision"));
    assert_eq!(column(&read("rows", &["--sidecar", "--training=false"]), "robots_row"), column(&batch, "id"));
}

#[test]
fn a_stream_gives_the_same_columns() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(1000));
    write_parquet(&folder.path().join("in.parquet"), &batch, 300);
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out", "--rule"], &ASK[..]].concat(), 0);
    let (annotated, _) = read_parquet(&folder.path().join("out/in.parquet"));
    let mut writer =
        StreamWriter::try_new(File::create(folder.path().join("in.arrow")).unwrap(), &batch.schema()).unwrap();
    for start in (0..1000).step_by(128) {
        writer.write(&batch.slice(start, 128.min(1000 - start))).unwrap();
    }
    writer.finish().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder.path()).args(["annotate", "--stream", "arrow", "--rule"]).args(ASK);
    let output = command.stdin(File::open(folder.path().join("in.arrow")).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reader = StreamReader::try_new(&output.stdout[..], None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.len(), 8);
    let streamed = concat_batches(&batches[0].schema(), &batches).unwrap();
    for name in streamed.schema().fields().iter().map(|field| field.name()).filter(|name| name.starts_with("robots_")) {
        assert_eq!(column(&streamed, name), column(&annotated, name), "{name}");
    }
    assert_eq!(streamed.num_columns(), annotated.num_columns());
    assert_eq!(column(&streamed, "id"), column(&batch, "id"));
    // A stream that ends in the middle is an error, not the end.
    let whole = fs::read(folder.path().join("in.arrow")).unwrap();
    write(folder.path(), "cut.arrow", &whole[..whole.len() / 2]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder.path()).args(["annotate", "--stream", "arrow"]).args(ASK).stdout(Stdio::null());
    let status = command.stdin(File::open(folder.path().join("cut.arrow")).unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn each_row_is_judged_by_the_capture_of_its_time() {
    let at = |text: &str| Some(text.parse::<jiff::Timestamp>().unwrap().as_microsecond());
    let folder = temporary();
    for (name, time, body) in [
        ("s1", at("2022-06-01T00:00:00Z"), "User-agent: *\nAllow: /\n"),
        ("s2", at("2023-06-01T00:00:00Z"), "User-agent: *\nDisallow: /\n"),
        ("s3", at("2024-05-05T12:00:00Z"), "User-agent: *\nAllow: /\n"),
    ] {
        snapshot(&folder.path().join(name), &[("https://a.test", time, body)]);
    }
    let rows = [
        ("2022-05-31T23:59:59Z", "CC-MAIN-2022-05", "unresolved", None),
        ("2022-06-01", "CC-MAIN-2022-27", "allow", Some("2022-06-01T00:00:00Z")),
        ("2023-06-01T00:00:00Z", "CC-MAIN-2023-23", "deny", Some("2023-06-01T00:00:00Z")),
        ("2024-05-05T11:59:59Z", "CC-MAIN-2024-17", "deny", Some("2023-06-01T00:00:00Z")),
        ("2024-05-05", "CC-MAIN-2024-18", "allow", Some("2024-05-05T12:00:00Z")),
        ("yesterday", "CC-MAIN-x", "unresolved", None),
    ];
    let texts = |texts: Vec<&str>| Arc::new(StringArray::from(texts)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("url", texts(vec!["https://a.test/x"; rows.len()])),
        ("date", texts(rows.iter().map(|row| row.0).collect())),
        ("dump", texts(rows.iter().map(|row| row.1).collect())),
        ("json", Arc::new(rows.iter().map(|row| Some(format!("{{\"d\":\"{}\"}}", row.0))).collect::<StringArray>())),
        ("number", Arc::new(Int64Array::from(vec![2024; rows.len()]))),
    ]);
    write_parquet(&folder.path().join("in.parquet"), &batch.unwrap(), 100);
    // The order of the snapshots tells nothing.
    let ask = ["annotate", "in.parquet", "--from", "s3", "--from", "s1", "--from", "s2", "--crawlers", "CCBot"];
    let annotated = |out: &str, as_of: &[&str]| {
        run(folder.path(), &[&ask[..], &["-o", out], as_of].concat(), 0);
        read_parquet(&folder.path().join(out).join("in.parquet")).0
    };
    for by in ["date", "dump", "json.d"] {
        let annotated = annotated(by, &["--as-of", by]);
        let decisions: Vec<Option<String>> = rows.iter().map(|row| Some(row.2.to_owned())).collect();
        assert_eq!(column(&annotated, "robots_CCBot_decision"), decisions, "{by}");
        let times: Vec<_> = rows.iter().map(|row| row.3.and_then(at).map(|time| time.to_string())).collect();
        assert_eq!(column(&annotated, "robots_checked_at"), times, "{by}");
    }
    let (_, told) = run(folder.path(), &[&ask[..], &["-o", "n", "--as-of", "number"]].concat(), 3);
    assert!(told.contains("column `number` is of type Int64, not text or time"), "{told}");
    let all = |word: &str| vec![Some(word.to_owned()); rows.len()];
    assert_eq!(column(&annotated("newest", &[]), "robots_CCBot_decision"), all("allow"));
    assert_eq!(column(&annotated("day", &["--as-of", "2023-12-24"]), "robots_CCBot_decision"), all("deny"));
    run(
        folder.path(),
        &["filter", "in.parquet", "--from", "s1", "--as-of", "date", "--keep", "allow(CCBot)", "-o", "f"],
        0,
    );
    assert_eq!(read_parquet(&folder.path().join("f/in.parquet")).0.num_rows(), 4);
}

#[test]
fn kept_and_excluded_rows_are_all_rows() {
    let folder = temporary();
    two_origins(folder.path());
    // Row groups that are kept whole, excluded whole, and parted.
    let whole = |url: &str| vec![Some(url.to_owned()); 300];
    let urls = [whole("https://a.test/x"), whole("https://a.test/private/"), urls(700)].concat();
    let batch = rows_of_all_kinds(&urls);
    write_parquet(&folder.path().join("in.parquet"), &batch, 300);
    let rules = ["--drop-denied", "CCBot", "--drop-training-against", "--missing", "keep"];
    let filter = ["filter", "in.parquet", "--from", "snapshot", "-o", "kept", "--excluded-out", "excluded"];
    run(folder.path(), &[&filter[..], &rules].concat(), 0);
    let (kept, kept_metadata) = read_parquet(&folder.path().join("kept/in.parquet"));
    let (excluded, _) = read_parquet(&folder.path().join("excluded/in.parquet"));
    let reason = |url: &Option<String>| match url.as_deref() {
        Some("https://a.test/private/" | "https://a.test/private/y") => Some("denied"),
        Some("HTTPS://B.test:443/z?q#f") => Some("training_against"),
        _ => None,
    };
    let is_kept: arrow::array::BooleanArray = urls.iter().map(|url| Some(reason(url).is_none())).collect();
    let expected = arrow::compute::filter_record_batch(&batch, &is_kept).unwrap();
    let others = arrow::compute::filter_record_batch(&batch, &arrow::compute::not(&is_kept).unwrap()).unwrap();
    let plain = |array: &ArrayRef| match array.data_type() {
        DataType::Dictionary(..) => cast(array, &DataType::Utf8).unwrap(),
        _ => Arc::clone(array),
    };
    for (place, field) in batch.schema().fields().iter().enumerate() {
        assert_eq!(kept.schema().field(place), &**field);
        assert_eq!(&plain(kept.column(place)), &plain(expected.column(place)), "{}", field.name());
        assert_eq!(&plain(excluded.column(place)), &plain(others.column(place)), "{}", field.name());
    }
    let reasons: Vec<_> = urls.iter().filter_map(reason).map(|reason| Some(reason.to_owned())).collect();
    assert_eq!(column(&excluded, "robots_reason"), reasons);
    assert_eq!(kept.num_rows() + excluded.num_rows(), batch.num_rows());
    assert_eq!(kept_metadata.num_row_groups(), 4);
    // Rows of which nothing is known.
    run(folder.path(), &["filter", "in.parquet", "--from", "snapshot", "-o", "k2", "--keep", "not deny(CCBot)"], 0);
    let known =
        urls.iter().filter(|url| url.as_ref().is_some_and(|url| !url.starts_with("ftp:") && !url.contains("c.test")));
    let known = known.filter(|url| reason(url) != Some("denied")).count();
    assert_eq!(read_parquet(&folder.path().join("k2/in.parquet")).0.num_rows(), known);
    let fail =
        ["filter", "in.parquet", "--from", "snapshot", "-o", "k3", "--keep", "not deny(CCBot)", "--missing", "fail"];
    let (_, told) = run(folder.path(), &fail, 2);
    assert_eq!(told, "error: in in.parquet: row 603 has no usable URL (it is null)\n");
    assert_eq!(fs::read_dir(folder.path().join("k3")).unwrap().count(), 0);
}

#[test]
fn what_cannot_work_is_said_before_work_starts() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(50));
    write_parquet(&folder.path().join("in.parquet"), &batch, 300);
    write_parquet(&folder.path().join("other/in.parquet"), &batch, 300);
    let whole = fs::read(folder.path().join("in.parquet")).unwrap();
    write(folder.path(), "cut.parquet", &whole[..whole.len() - 20]);
    write(folder.path(), "text.parquet", "url\nhttps://a.test/\n");
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out"], &ASK[..]].concat(), 0);
    for (arguments, expected) in [
        (&["in.parquet", "-o", "."][..], "would be written over itself"),
        (&["in.parquet", "other/in.parquet", "-o", "o"], "would both become in.parquet"),
        (&["out/in.parquet", "-o", "o"], "there is a column `robots_GPTBot_decision` already"),
        (&["in.parquet", "-o", "o", "--url-column", "link"], "there is no column `link` (columns: id, url,"),
        (&["in.parquet", "-o", "o", "--url-column", "id"], "column `id` is of type Int64, not text"),
        (&["in.parquet", "-o", "o", "--as-of", "when"], "there is no column `when`"),
        (&["in.parquet", "-o", "out", "--rule"], "is not what would be written now"),
        (&["cut.parquet", "-o", "o"], "cannot read cut.parquet as Parquet"),
        (&["text.parquet", "-o", "o"], "cannot read text.parquet as Parquet"),
        (&["absent.parquet", "-o", "o"], "cannot open absent.parquet"),
    ] {
        let (_, told) = run(folder.path(), &[&["annotate"], arguments, &ASK[..]].concat(), 3);
        assert!(told.contains(expected), "{told}");
    }
    let (_, told) =
        run(folder.path(), &[&["annotate", "in.parquet", "-o", "o", "--on-bad-url", "fail"], &ASK[..]].concat(), 2);
    assert!(told.contains("in.parquet: row 3 has no usable URL (it is null)"), "{told}");
    assert_eq!(fs::read_dir(folder.path().join("o")).unwrap().count(), 0, "nothing is left of a failed run");
    run(folder.path(), &[&["annotate", "in.parquet", "-o", "out", "--rule", "--overwrite"], &ASK[..]].concat(), 0);
}

#[test]
fn damaged_files_are_errors() {
    let folder = temporary();
    two_origins(folder.path());
    write_parquet(&folder.path().join("in.parquet"), &rows_of_all_kinds(&urls(2000)), 500);
    let whole = fs::read(folder.path().join("in.parquet")).unwrap();
    for seed in 0..60_usize {
        let mut damaged = whole.clone();
        for n in 0..4_usize {
            let place = (seed * 7919 + n * 104_729) % (damaged.len() - 8) + 4;
            damaged[place] ^= u8::try_from(seed * 4 + n).unwrap() | 1;
        }
        write(folder.path(), "x.parquet", damaged);
        for command in [
            &["annotate", "x.parquet", "-o", "out"][..],
            &["filter", "x.parquet", "-o", "kept", "--drop-denied", "CCBot"],
        ] {
            let output = run_in(folder.path(), &[command, &ASK[..], &["--overwrite", "-q"]].concat());
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1 | 3)), "{seed}: {code:?} {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Starts the program and kills it once so many files are finished in `out`; how many are in the end.
pub(crate) fn killed_after(folder: &Path, arguments: &[&str], files: usize) -> usize {
    let finished = || {
        let entries = fs::read_dir(folder.join("out")).into_iter().flatten().flatten();
        entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder).args(arguments).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    while finished() < files && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = finished();
    assert!(before >= files);
    before
}

#[test]
fn a_killed_run_goes_on_with_what_is_missing() {
    let folder = temporary();
    two_origins(folder.path());
    let batch = rows_of_all_kinds(&urls(4000));
    let names: Vec<String> = (0..60).map(|n| format!("in/{n:02}.parquet")).collect();
    write_parquet(&folder.path().join(&names[0]), &batch, 100);
    for name in &names[1..] {
        fs::copy(folder.path().join(&names[0]), folder.path().join(name)).unwrap();
    }
    let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let arguments = [&["annotate", "-o", "out", "--format", "json"], &ASK[..], &inputs].concat();
    let before = killed_after(folder.path(), &arguments, 3);
    let times = |name: &str| fs::metadata(folder.path().join("out").join(name)).unwrap().modified().unwrap();
    let first = times("00.parquet");
    let (told, _) = run(folder.path(), &arguments, 0);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["files_finished_before"], &told["files"]), (&before.into(), &(60 - before).into()));
    assert_eq!(times("00.parquet"), first);
    assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), 60, "no temporary file is left");
    for name in &names {
        let (annotated, _) = read_parquet(&folder.path().join("out").join(name.strip_prefix("in/").unwrap()));
        assert_eq!(annotated.num_rows(), 4000);
    }
}

#[test]
fn the_order_of_rows_and_the_cache_change_nothing() {
    let folder = temporary();
    let origins: Vec<(String, String)> = (0..500)
        .map(|n| (format!("https://o{n}.test"), format!("User-agent: *\nDisallow: /{n}/\nAllow: /{}\n", n / 2)))
        .collect();
    let captures: Vec<Capture<'_>> = origins.iter().map(|(origin, body)| (&**origin, Some(1), &**body)).collect();
    snapshot(&folder.path().join("snapshot"), &captures);
    let mut urls: Vec<String> = (0..20_000).map(|n| format!("{}/{}/x", origins[n % 500].0, (n * 7) % 600)).collect();
    urls.sort_unstable();
    let decisions = |name: &str, urls: &[String], cache: &str| {
        let batch = rows_of_all_kinds(&urls.iter().cloned().map(Some).collect::<Vec<_>>());
        write_parquet(&folder.path().join(format!("{name}.parquet")), &batch, 3000);
        let input = format!("{name}.parquet");
        run(folder.path(), &[&["annotate", &input, "-o", name, "--cache", cache], &ASK[..]].concat(), 0);
        let (annotated, _) = read_parquet(&folder.path().join(name).join(&input));
        let mut rows: Vec<_> = urls.iter().cloned().zip(column(&annotated, "robots_CCBot_decision")).collect();
        rows.sort_unstable();
        rows
    };
    let sorted = decisions("sorted", &urls, "512");
    let shuffled: Vec<String> = (0..20_000).map(|n| urls[(n * 7919) % 20_000].clone()).collect();
    assert_eq!(sorted, decisions("shuffled", &shuffled, "1"));
}

/// Compares files as pyarrow and DuckDB see them: other columns by hash, rows, the footer.
const OTHER_READERS: &str = r"
import duckdb, pyarrow as pa, pyarrow.parquet as pq
connection = duckdb.connect()
n = 5000
url = ['https://a.test/x', 'https://a.test/private/y', None, 'nonsense', 'https://b.test/z'] * (n // 5)
table = pa.table({
    'text': ['t%d' % i for i in range(n)], 'url': url,
    'dump': pa.array(['CC-MAIN-2024-18'] * n).dictionary_encode(),
    'nested': [{'a': [{'b': i}] if i % 3 else None} for i in range(n)],
    'score': [i / 7 for i in range(n)], 'token_count': pa.array(range(n), pa.uint16()),
}).replace_schema_metadata({'own': 'fact'})
pq.write_table(table, 'in.parquet', row_group_size=700, compression='zstd', write_page_index=True)
import subprocess, os
program = os.environ['PROGRAM']
ask = ['--from', 'snapshot', '--crawlers', 'GPTBot,CCBot']
subprocess.run([program, 'annotate', 'in.parquet', '-o', 'out', *ask], check=True, stdout=subprocess.DEVNULL)
subprocess.run([program, 'filter', 'in.parquet', '-o', 'kept', '--excluded-out', 'excluded', '--drop-denied', 'CCBot',
    '--from', 'snapshot', '--missing', 'keep'], check=True, stdout=subprocess.DEVNULL)
annotated, before = pq.ParquetFile('out/in.parquet'), pq.ParquetFile('in.parquet')
assert annotated.schema_arrow.metadata[b'own'] == b'fact'
assert annotated.read().select(table.column_names).equals(table)
rows = lambda file: [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
assert rows(annotated) == rows(before)
for name in table.column_names:
    hashed = 'SELECT sum(hash(%s))::VARCHAR FROM ' % name
    files = ['in.parquet', 'out/in.parquet', 'kept/in.parquet', 'excluded/in.parquet']
    one, other, kept, excluded = (int(connection.execute(hashed + repr(file)).fetchall()[0][0]) for file in files)
    assert one == other == kept + excluded, name
print(connection.execute('SELECT robots_CCBot_decision, count(*) FROM \'out/in.parquet\' GROUP BY 1 ORDER BY 1').fetchall())
print(connection.execute('SELECT robots_reason, count(*) FROM \'excluded/in.parquet\' GROUP BY 1').fetchall())
with pa.OSFile('in.arrow', 'wb') as sink, pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table, max_chunksize=512)
with open('in.arrow') as i, open('out.arrow', 'w') as o:
    subprocess.run([program, 'annotate', '--stream', 'arrow', *ask], stdin=i, stdout=o, check=True, stderr=subprocess.DEVNULL)
streamed = pa.ipc.open_stream('out.arrow').read_all()
assert streamed.to_pylist() == annotated.read().to_pylist()
print('same')
";

#[test]
fn other_readers_see_the_same_rows() {
    let folder = temporary();
    two_origins(folder.path());
    let script =
        format!("import os\nos.environ['PROGRAM'] = {:?}\n{OTHER_READERS}", env!("CARGO_BIN_EXE_robots-audit"));
    let Some(seen) = python("other_readers_see_the_same_rows", folder.path(), "duckdb, pyarrow", &script) else {
        return;
    };
    let expected = "[('allow', 2000), ('deny', 1000), ('unresolved', 1000), (None, 1000)]\n[('denied', 1000)]\nsame\n";
    assert_eq!(seen, expected);
}
