//! Data sets of text: NDJSON and CSV, packed and not, beside Parquet of the same rows; hostile lines; runs that were
//! killed.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the failure")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::dataset::{ASK, column, killed_after, read_parquet, rows_of_all_kinds, two_origins, urls, write_parquet};
use crate::program::{run, temporary, write};

/// Columns that are added with `--rule`.
const ADDED: [&str; 11] = [
    "robots_GPTBot_decision",
    "robots_CCBot_decision",
    "robots_GPTBot_rule",
    "robots_GPTBot_rule_line",
    "robots_GPTBot_decision_source",
    "robots_CCBot_rule",
    "robots_CCBot_rule_line",
    "robots_CCBot_decision_source",
    "robots_training_verdict",
    "robots_fetch_class",
    "robots_checked_at",
];

fn annotate(folder: &Path, input: &str, more: &[&str], code: i32) -> (String, String) {
    run(folder, &[&["annotate", input, "-o", "out"], &ASK[..], more].concat(), code)
}

/// The answers about rows, as the Parquet file of the same rows has them.
fn expected(folder: &Path, urls: &[Option<String>]) -> Vec<Vec<Option<String>>> {
    write_parquet(&folder.join("in.parquet"), &rows_of_all_kinds(urls), 300);
    annotate(folder, "in.parquet", &["--rule"], 0);
    let (annotated, _) = read_parquet(&folder.join("out/in.parquet"));
    let columns: Vec<_> = ADDED.iter().map(|name| column(&annotated, name)).collect();
    (0..urls.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

/// Times are told in words in text, in microseconds here.
fn as_number(time: &str) -> String {
    time.parse::<jiff::Timestamp>().unwrap().as_microsecond().to_string()
}

fn added_members(line: &str) -> Vec<Option<String>> {
    let object: Value = serde_json::from_str(line).unwrap();
    let cell = |name: &&str| match &object[*name] {
        Value::Null => None,
        Value::String(time) if *name == "robots_checked_at" => Some(as_number(time)),
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    ADDED.iter().map(cell).collect()
}

fn unpacked(path: &Path) -> String {
    let octets = fs::read(path).unwrap();
    let octets = match octets[..2] {
        [0x1F, 0x8B] => {
            let mut text = Vec::new();
            MultiGzDecoder::new(&*octets).read_to_end(&mut text).unwrap();
            text
        }
        [0x28, 0xB5] => zstd::decode_all(&*octets).unwrap(),
        _ => octets,
    };
    String::from_utf8(octets).unwrap()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The same rows in lines of many shapes.
fn ndjson(urls: &[Option<String>]) -> String {
    let mut text = "\u{feff}".to_owned();
    for (row, url) in urls.iter().enumerate() {
        let url = serde_json::to_string(url).unwrap();
        text += &match row % 3 {
            0 => format!("{{\"url\":{url},\"text\":\"}} é \\u00e9\"}}\n"),
            1 => format!(" {{ \"n\" : 1.0e0 , \"url\" : {url} }} \r\n"),
            _ => format!("{{\"x\":{{\"url\":7,\"robots_rule\":1}},\"url\":{url}}}\n\n"),
        };
    }
    text.trim_end().to_owned()
}

#[test]
fn ndjson_gets_the_answers_of_parquet() {
    let folder = temporary();
    two_origins(folder.path());
    let urls = urls(700);
    let expected = expected(folder.path(), &urls);
    let text = ndjson(&urls);
    for (name, octets) in [
        ("in.ndjson", text.clone().into_bytes()),
        ("in.jsonl.gz", [gzip(&text[..7000]), gzip(&text[7000..])].concat()),
        ("in.json.zst", zstd::encode_all(text.as_bytes(), 3).unwrap()),
    ] {
        write(folder.path(), name, &octets);
        annotate(folder.path(), name, &["--rule"], 0);
        let path = folder.path().join("out").join(name);
        assert_eq!(fs::read(&path).unwrap()[..2], octets[..2], "{name} is packed as it was");
        let annotated = unpacked(&path);
        let (lines, before): (Vec<_>, Vec<_>) = (annotated.split('\n').collect(), text.split('\n').collect());
        assert_eq!(lines.len(), before.len());
        let mut answers = expected.iter();
        for (line, before) in lines.iter().zip(before) {
            if before.is_empty() {
                assert_eq!(*line, "");
                continue;
            }
            // What is added stands in one piece; without it the line is as it was.
            let start = line.find(",\"robots_GPTBot_decision\"").unwrap();
            let end = start + (line.len() - before.len());
            assert_eq!(format!("{}{}", &line[..start], &line[end..]), before);
            assert_eq!(added_members(line.trim_start_matches('\u{feff}')), *answers.next().unwrap(), "{line}");
        }
        assert!(answers.next().is_none());
    }
}

#[test]
fn csv_gets_the_answers_of_parquet() {
    let folder = temporary();
    two_origins(folder.path());
    let urls = urls(700);
    let expected = expected(folder.path(), &urls);
    for (name, delimiter, end) in [("in.csv", ",", "\r\n"), ("in.csv.gz", ";", "\n"), ("in.tsv.zst", "\t", "\n")] {
        let mut text = format!("id{delimiter}\"url\"{delimiter}text{end}");
        for (row, url) in urls.iter().enumerate() {
            let url = url.as_deref().unwrap_or_default();
            let url = if row % 2 == 0 { url.to_owned() } else { format!("\"{url}\"") };
            text += &format!("{row}{delimiter}{url}{delimiter}\"a \"\"quoted\"\"{delimiter}{end}text\"{end}");
        }
        let octets = match name {
            "in.csv.gz" => gzip(&text),
            "in.tsv.zst" => zstd::encode_all(text.as_bytes(), 3).unwrap(),
            _ => text.clone().into_bytes(),
        };
        write(folder.path(), name, &octets);
        annotate(folder.path(), name, &["--rule"], 0);
        let annotated = unpacked(&folder.path().join("out").join(name));
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter.as_bytes()[0]).from_reader(annotated.as_bytes());
        let names: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(names[..3], ["id", "url", "text"]);
        assert_eq!(names[3..], ADDED);
        let mut stripped = format!("id{delimiter}\"url\"{delimiter}text{end}");
        let mut rest = annotated.split_once(end).unwrap().1;
        let mut rows = 0;
        for record in reader.records() {
            let record = record.unwrap();
            let cells = record.iter().skip(3).zip(ADDED).map(|(cell, name)| match (cell, name) {
                ("", _) => None,
                (time, "robots_checked_at") => Some(as_number(time)),
                (text, _) => Some(text.to_owned()),
            });
            assert_eq!(cells.collect::<Vec<_>>(), expected[rows], "{record:?}");
            let added: String = record.iter().skip(3).flat_map(|cell| [delimiter, cell]).collect();
            let length = rest.find(&format!("text\"{added}{end}")).unwrap() + "text\"".len();
            stripped += &rest[..length];
            rest = &rest[length + added.len() + end.len()..];
            stripped += end;
            rows += 1;
        }
        assert_eq!(rows, urls.len());
        assert!(stripped == text, "{name}: what stood there still does");
    }
}

#[test]
fn urls_stand_in_objects_and_in_json_in_text() {
    let folder = temporary();
    two_origins(folder.path());
    let inner = r#"{\"url\":\"https://a.test/x\"}"#;
    let text = format!("{{}}\n{{\"page\":{{\"url\":\"https://a.test/x\"}}}}\n{{\"page\":\"{inner}\"}}\n");
    write(folder.path(), "in.ndjson", text);
    annotate(folder.path(), "in.ndjson", &["--url-column", "page.url", "--training=false"], 0);
    let annotated = unpacked(&folder.path().join("out/in.ndjson"));
    let lines: Vec<&str> = annotated.lines().collect();
    let nothing = "\"robots_GPTBot_decision\":null,\"robots_CCBot_decision\":null,";
    assert_eq!(lines[0], format!("{{{nothing}\"robots_fetch_class\":null,\"robots_checked_at\":null}}"));
    assert!(lines[1..].iter().all(|line| line.contains("\"robots_GPTBot_decision\":\"deny\"")), "{annotated}");
    write(folder.path(), "in.csv", "page\n\"{\"\"url\"\":\"\"https://a.test/x\"\"}\"\nno json\n");
    annotate(folder.path(), "in.csv", &["--url-column", "page.url", "--training=false"], 0);
    let annotated = unpacked(&folder.path().join("out/in.csv"));
    assert!(annotated.contains("\"}\",deny,allow,ok,1970-01-01T00:00:00.000005Z\nno json,,,,\n"), "{annotated}");
}

#[test]
fn the_time_of_a_row() {
    let folder = temporary();
    two_origins(folder.path());
    write(
        folder.path(),
        "in.csv",
        "date,url\n1969-12-01,https://a.test/\n2024-05-01,https://a.test/\n,https://a.test/\n",
    );
    write(
        folder.path(),
        "in.ndjson",
        "{\"date\":\"1969-12-01\",\"url\":\"https://a.test/\"}\n{\"date\":\"2024-05-01\",\"url\":\"https://a.test/\"}\n{\"date\":7,\"url\":\"https://a.test/\"}\n",
    );
    for name in ["in.csv", "in.ndjson"] {
        annotate(folder.path(), name, &["--as-of", "date"], 0);
        let annotated = unpacked(&folder.path().join("out").join(name));
        let lines: Vec<_> = annotated.lines().filter(|line| line.contains("https:")).collect();
        let is_collected: Vec<_> = lines.iter().map(|line| !line.contains("not_collected")).collect();
        assert_eq!(is_collected, [false, true, false], "{annotated}");
    }
}

#[test]
fn what_cannot_be_a_row_is_told_with_its_line() {
    let folder = temporary();
    two_origins(folder.path());
    for (name, text, more, code, told) in [
        ("a.ndjson", "{\"url\":null}\n\n{\"url\":\n", &[][..], 1, "line 3 is no JSON"),
        ("b.ndjson", "[{\"url\":\"x\"}]\n", &[], 1, "line 1 is no JSON object"),
        (
            "c.ndjson",
            "{\"url\":\"x\"}\n{\"Robots_fetch_CLASS\":1,\"url\":\"x\"}\n",
            &[],
            1,
            "in line 2: there is a column",
        ),
        ("d.ndjson", "{\"uri\":\"x\"}\n", &[], 3, "there is no column `url` (columns: uri)"),
        (
            "e.ndjson",
            "{\"url\":\"https://a.test/\"}\n\n{\"n\":1}\n",
            &["--on-bad-url", "fail"],
            2,
            "in line 3: row 2 has no",
        ),
        ("f.csv", "url,x\na,1\nb\n", &[], 1, "line 3 has 1 fields, the header 2"),
        ("g.csv", "url,x\na,\"1\nb,2\n", &[], 1, "line 2 opens a quoted field that does not end"),
        ("h.csv", "url,robots_FETCH_class\n", &[], 3, "there is a column `robots_FETCH_class` already"),
        ("i.csv", "uri\n", &[], 3, "there is no column `url` (columns: uri)"),
        ("j.csv", "", &[], 3, "there is no column `url`"),
        ("k.csv", "url\n\"x\r\n\"\nftp://x\n", &["--on-bad-url", "fail"], 2, "in line 2: row 1 has no"),
        ("l.csv", "\u{1f}\u{8b}", &[], 3, "there is no column"),
        (
            "m.ndjson",
            "{\"url\":\"x\"}\n",
            &["--sidecar", "--id-column", "id"],
            3,
            "there is no column `id` (columns: url)",
        ),
        ("q.csv", "url,n\n", &["--sidecar", "--id-column", "id"], 3, "there is no column `id` (columns: url, n)"),
        (
            "r.csv",
            "url,n\n",
            &["--sidecar", "--id-column", "url", "--url-column", "n"],
            3,
            "the ids of `url` and the URLs of `n` would both be called `url`",
        ),
        ("s.ndjson", "{\"url\":\"x\"}\n", &["--as-of", "nosuch"], 3, "there is no column `nosuch` (columns: url)"),
        ("n.csv", "\"url\nx", &[], 3, "line 1 opens a quoted field"),
    ] {
        write(folder.path(), name, text);
        let (_, stderr) = annotate(folder.path(), name, more, code);
        assert!(stderr.contains(told) && stderr.contains(name), "{name}: {stderr}");
        assert!(!folder.path().join("out").join(name).exists(), "{name}");
    }
    write(folder.path(), "o.csv", b"\xFF\xFEu\0r\0l\0");
    assert!(annotate(folder.path(), "o.csv", &[], 3).1.contains("is UTF-16"));
    let packed = gzip(&"url\nhttps://a.test/\n".repeat(1000));
    write(folder.path(), "p.csv.gz", &packed[..packed.len() - 12]);
    assert!(annotate(folder.path(), "p.csv.gz", &[], 1).1.contains("cannot read on behind line"));
    let names: Vec<_> =
        fs::read_dir(folder.path().join("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn octets_that_are_no_text_stay() {
    let folder = temporary();
    two_origins(folder.path());
    write(folder.path(), "in.csv", b"url,x\nhttps://a.test/\xFF,\xFE\0\n".as_slice());
    annotate(folder.path(), "in.csv", &[], 0);
    let annotated = fs::read(folder.path().join("out/in.csv")).unwrap();
    assert!(annotated.windows(22).any(|part| part == b"\nhttps://a.test/\xFF,\xFE\0,d"), "{annotated:?}");
}

#[test]
fn answers_beside_an_id_alone() {
    let folder = temporary();
    two_origins(folder.path());
    let urls = urls(700);
    let expected = expected(folder.path(), &urls);
    let (mut lines, mut records) = (String::new(), "\u{feff}x,\"the id\",page\r\n".to_owned());
    for (row, url) in urls.iter().enumerate() {
        let url = serde_json::to_string(url).unwrap();
        lines += &format!("{{\"page\":{{\"url\":{url},\"id\": [{row}, \"\\u00e9\"] }},\"x\":1}}\n\n");
        let page = format!("{{\"url\":{url}}}").replace('"', "\"\"");
        records += &format!("\"a\r\n\"\"b\",\"{row},\"\"é\",\"{page}\"\r\n\r\n");
    }
    write(folder.path(), "in.jsonl.gz", gzip(lines.trim_end()));
    write(folder.path(), "in.csv.zst", zstd::encode_all(records.as_bytes(), 3).unwrap());
    let ask = ["--rule", "--url-column", "page.url", "--sidecar", "--id-column"];

    annotate(folder.path(), "in.jsonl.gz", &[&ask[..], &["page.id"]].concat(), 0);
    let text = unpacked(&folder.path().join("out/in.jsonl.gz"));
    assert!(!text.ends_with('\n'));
    let told: Vec<&str> = text.lines().collect();
    assert_eq!(told.len(), urls.len());
    for (row, line) in told.iter().enumerate() {
        assert!(line.starts_with(&format!("{{\"page.id\":[{row}, \"\\u00e9\"],\"url\":")), "{line}");
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (object["url"].as_str(), object.as_object().unwrap().len()),
            (urls[row].as_deref(), 2 + ADDED.len())
        );
        assert_eq!(added_members(line), expected[row]);
    }

    annotate(folder.path(), "in.csv.zst", &[&ask[..], &["the id"]].concat(), 0);
    let text = unpacked(&folder.path().join("out/in.csv.zst"));
    assert!(text.starts_with("\u{feff}the id,url,robots_GPTBot_decision,"), "{text}");
    assert!(text.contains("\r\n\"3,\"\"é\",ftp://x,,"), "{text}");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), urls.len());
    for (row, record) in records.iter().enumerate() {
        let url = urls[row].as_deref().unwrap_or_default();
        assert_eq!(
            (&record[0], &record[1], &record[2]),
            (&*format!("{row},\"é"), url, expected[row][0].as_deref().unwrap_or(""))
        );
    }

    // Without an id rows have numbers, over all batches.
    write(folder.path(), "n.csv", "url\nhttps://a.test/\n\n\"\"\n");
    write(folder.path(), "n.ndjson", "\n{\"url\":\"https://a.test/\"}\n{}");
    for (name, row) in
        [("n.csv", "0,https://a.test/,deny,"), ("n.ndjson", "{\"robots_row\":0,\"url\":\"https://a.test/\",")]
    {
        annotate(folder.path(), name, &["--sidecar", "--training=false"], 0);
        let text = unpacked(&folder.path().join("out").join(name));
        assert!(text.contains(row), "{text}");
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("1,,,,") || last.starts_with("{\"robots_row\":1,\"url\":null,"), "{text}");
    }
    let (told, _) = annotate(folder.path(), "n.csv", &["--sidecar", "--training=false"], 0);
    assert!(told.ends_with("1 finished before: nothing was left to do\n"), "{told}");
}

#[test]
fn kept_and_excluded_lines() {
    let folder = temporary();
    two_origins(folder.path());
    write(folder.path(), "in.csv", "url,n\r\nhttps://a.test/,1\r\nhttps://b.test/,2\r\n,3\r\n");
    write(folder.path(), "in.ndjson", "{\"url\":\"https://a.test/\"}\n{\"url\":\"https://b.test/\"}\n{}");
    let arguments = [
        &["filter", "in.csv", "in.ndjson", "-o", "kept", "--excluded-out", "excluded", "--drop-denied", "GPTBot"][..],
        &ASK[..],
    ]
    .concat();
    let (told, _) = run(folder.path(), &arguments, 0);
    assert!(told.contains("6 rows"), "{told}");
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(text("kept/in.csv"), "url,n\r\nhttps://b.test/,2\r\n");
    assert_eq!(text("excluded/in.csv"), "url,n,robots_reason\r\nhttps://a.test/,1,denied\r\n,3,no_url\r\n");
    assert_eq!(text("kept/in.ndjson"), "{\"url\":\"https://b.test/\"}\n");
    assert_eq!(
        text("excluded/in.ndjson"),
        "{\"url\":\"https://a.test/\",\"robots_reason\":\"denied\"}\n{\"robots_reason\":\"no_url\"}"
    );
    let (told, _) = run(folder.path(), &arguments, 0);
    assert!(told.contains("2 finished before"), "{told}");
}

#[test]
fn finished_files_stay_and_others_are_not_written_over() {
    let folder = temporary();
    two_origins(folder.path());
    write(folder.path(), "in.csv", "url\nhttps://a.test/\n");
    annotate(folder.path(), "in.csv", &[], 0);
    let output = folder.path().join("out/in.csv");
    let (told, _) = annotate(folder.path(), "in.csv", &[], 0);
    assert!(told.contains("1 finished before"), "{told}");
    let (_, stderr) = annotate(folder.path(), "in.csv", &["--rule"], 3);
    assert!(stderr.contains("is not what would be written now"), "{stderr}");
    annotate(folder.path(), "in.csv", &["--rule", "--overwrite"], 0);
    assert!(unpacked(&output).contains("robots_CCBot_rule_line"));
    // One that was changed by somebody, one that somebody else made, one whose input changed.
    fs::write(&output, "url\n").unwrap();
    annotate(folder.path(), "in.csv", &["--rule"], 3);
    annotate(folder.path(), "in.csv", &["--overwrite"], 0);
    fs::remove_file(folder.path().join("out/.in.csv.robots-audit")).unwrap();
    annotate(folder.path(), "in.csv", &[], 3);
    annotate(folder.path(), "in.csv", &["--overwrite"], 0);
    write(folder.path(), "in.csv", "url\nhttps://b.test/\n");
    annotate(folder.path(), "in.csv", &[], 3);
    let (_, stderr) = run(folder.path(), &[&["annotate", "in.csv", "-o", "."], &ASK[..]].concat(), 3);
    assert!(stderr.contains("over itself"), "{stderr}");
}

#[test]
fn a_killed_run_goes_on_with_what_is_missing() {
    let folder = temporary();
    two_origins(folder.path());
    let text = ndjson(&urls(4000));
    let names: Vec<String> = (0..40).map(|n| format!("in/{n:02}.ndjson.gz")).collect();
    for name in &names {
        write(folder.path(), name, gzip(&text));
    }
    let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let arguments = [&["annotate", "-o", "out", "--format", "json"], &ASK[..], &inputs].concat();
    let before = killed_after(folder.path(), &arguments, 3);
    let (told, _) = run(folder.path(), &arguments, 0);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["files_finished_before"], &told["files"]), (&before.into(), &(40 - before).into()));
    let first = unpacked(&folder.path().join("out/00.ndjson.gz"));
    for name in &names {
        let path = folder.path().join("out").join(name.strip_prefix("in/").unwrap());
        assert_eq!(unpacked(&path), first);
    }
    let left = fs::read_dir(folder.path().join("out")).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().ends_with(".tmp")));
}
