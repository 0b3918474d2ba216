//! Whole lists, written in every format and packing, and what reading them gives.

use std::fs;
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::source::packing::packed_in_every_way;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a path").to_owned()
    }

    fn write(&self, name: &str, octets: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, octets).expect("written");
        path
    }
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(octets).expect("written");
    encoder.finish().expect("written")
}

fn zip_of(files: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, octets) in files {
        if name.ends_with('/') {
            archive.add_directory(*name, options).expect("added");
        } else {
            archive.start_file(*name, options).expect("added");
            archive.write_all(octets).expect("written");
        }
    }
    archive.finish().expect("written").into_inner()
}

fn parquet_of(column: &str, values: Vec<Option<&str>>) -> Vec<u8> {
    let array: ArrayRef = Arc::new(StringArray::from(values));
    let batch = RecordBatch::try_from_iter_with_nullable([(column, array, true)]).expect("a batch");
    let mut octets = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut octets, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    octets
}

/// An error with its causes.
fn told(error: &InputError, folder: &Folder) -> String {
    let first: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(first), |error| error.source());
    let texts: Vec<_> = causes.map(ToString::to_string).collect();
    texts.join(": ").replace(&folder.path(""), "")
}

fn origins(folder: &Folder, args: &[&str], column: Option<&str>) -> Vec<String> {
    let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let inputs = match OriginInputs::open(&args, column) {
        Ok(inputs) => inputs,
        Err(error) => return vec![told(&error, folder)],
    };
    let shown = |item| match item {
        Ok(OriginItem::Skipped) => "-".to_owned(),
        Ok(OriginItem::Line(line)) => {
            let rank = line.rank.map_or(String::new(), |rank| format!("#{rank} "));
            let target = line.target.map_or_else(|reason| format!("!{reason}"), |target| target.origin.to_string());
            format!("{} {rank}{:?} {target}", line.line, line.input)
        }
        Err(error) => told(&error, folder),
    };
    inputs.map(shown).collect()
}

fn origins_of(text: &[u8], column: Option<&str>) -> Vec<String> {
    let folder = Folder::new();
    let path = folder.write("list", text);
    origins(&folder, &[&path], column)
}

fn urls(folder: &Folder, paths: &[&str], column: Option<&str>) -> Vec<String> {
    let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
    let mut inputs = match UrlInputs::open(&paths, column) {
        Ok(inputs) => inputs,
        Err(error) => return vec![told(&error, folder)],
    };
    let mut seen = Vec::new();
    for batch in inputs.by_ref() {
        match batch {
            Ok(batch) => {
                let urls: Vec<_> = batch.iter().map(|url| String::from_utf8_lossy(url).into_owned()).collect();
                seen.push(format!("{}: {}", batch.first_line, urls.join(" | ")));
            }
            Err(error) => {
                seen.push(told(&error, folder));
                return seen;
            }
        }
    }
    let counts = inputs.counts();
    assert_eq!(counts.lines, counts.urls + counts.blank_or_comment + counts.nulls);
    seen
}

fn urls_of(name: &str, text: &[u8], column: Option<&str>) -> Vec<String> {
    let folder = Folder::new();
    let path = folder.write(name, text);
    urls(&folder, &[&path], column)
}

#[test]
fn plain_names_origins_and_urls() {
    let text = b"\xEF\xBB\xBFa.test\r\n\r\n# a comment\n  # another\n HTTP://B.test:80/x?y \nftp://c.test\nd.test.";
    let expected = [
        r#"1 "a.test" https://a.test"#,
        "-",
        "-",
        "-",
        r#"5 " HTTP://B.test:80/x?y " http://b.test"#,
        r#"6 "ftp://c.test" !scheme"#,
        r#"7 "d.test." https://d.test."#,
    ];
    assert_eq!(origins_of(text, None), expected);
}

#[test]
fn ranked_lists() {
    let tranco = "1,a.test\r\n2,\"b.test\"\n3,\n\nc.test\nx,d.test\n4,http://e.test/x,y\n99999999999999999999,f.test\n";
    let expected = [
        r#"1 #1 "a.test" https://a.test"#,
        r#"2 #2 "b.test" https://b.test"#,
        "-",
        "-",
        r#"5 "c.test" https://c.test"#,
        r#"6 "x,d.test" !host"#,
        r#"7 #4 "http://e.test/x" http://e.test"#,
        r#"8 "99999999999999999999,f.test" !host"#,
    ];
    assert_eq!(origins_of(tranco.as_bytes(), None), expected);
    let majestic =
        "GlobalRank,TldRank,Domain,TLD,RefSubNets\n1,9,a.test,test,5\n\n# x\n2,8,\"b.test\",test,4\n3,7\n4,6,,test,1\n";
    let expected =
        [r#"2 #1 "a.test" https://a.test"#, "-", "-", r#"5 #2 "b.test" https://b.test"#, r#"6 #3 "" !host"#, "-"];
    assert_eq!(origins_of(majestic.as_bytes(), None), expected);
    let crux = "\u{feff}\"origin\",\"rank\"\r\nhttps://a.test,1000\r\nhttp://b.test,5000\r\n";
    let expected = [r#"2 #1000 "https://a.test" https://a.test"#, r#"3 #5000 "http://b.test" http://b.test"#];
    assert_eq!(origins_of(crux.as_bytes(), None), expected);
    assert_eq!(origins_of(b"domain\n", None), [r#"1 "domain" https://domain"#]);
}

#[test]
fn columns_by_name() {
    let csv = b"id;x,site,rank\n1,a.test,7\n2,\"b\n.test\",\n3\n";
    let seen = origins_of(csv, Some("site"));
    assert_eq!(seen[0], r#"2 #7 "a.test" https://a.test"#);
    assert!(seen[1].starts_with(r#"3 "b\n.test" "#), "{seen:?}");
    assert_eq!(seen[2], r#"5 "" !host"#);
    let tsv = b"x\tsite\n1\ta.test\n";
    assert_eq!(origins_of(tsv, Some("site")), [r#"2 "a.test" https://a.test"#]);
    let ndjson = b"{\"page\":{\"site\":\"a.test\"}}\n\n{\"page\":null}\n{\"page\":{\"site\":7}}\nnot json\n{\"page\":{\"site\":\" \"}}\n";
    let expected = [
        r#"1 "a.test" https://a.test"#,
        "-",
        "-",
        r#"4 "{\"page\":{\"site\":7}}" !host"#,
        r#"5 "not json" !host"#,
        "-",
    ];
    assert_eq!(origins_of(ndjson, Some("page.site")), expected);
    let parquet = parquet_of("site", vec![Some("a.test"), None, Some("::")]);
    assert_eq!(origins_of(&parquet, Some("site"))[..2], [r#"1 "a.test" https://a.test"#, "-"]);
}

#[test]
fn hostile_lines_are_one_row_each() {
    let mut text = vec![b'a'; CELL_OCTETS];
    text.extend(b".test\nb\0.test\n\xFF\xFE\x80.test\n<script>\n\x1B[31m.test\n");
    text.extend("é".repeat(INPUT_OCTETS).as_bytes());
    text.extend(b"\n");
    text.extend([0x80; INPUT_OCTETS]);
    text.extend(b"\nc.test");
    let seen = origins_of(&text, None);
    assert_eq!(seen.len(), 8);
    assert_eq!(seen[0], format!("1 \"{}\" !length", "a".repeat(INPUT_OCTETS)));
    assert_eq!(seen[1..4], [r#"2 "b\0.test" !host"#, r#"3 "\\xFF\\xFE\\x80.test" !host"#, r#"4 "<script>" !host"#]);
    assert_eq!(seen[5], format!("6 \"{}\" !length", "é".repeat(INPUT_OCTETS / 2)));
    assert_eq!(seen[6], format!("7 \"{}\" !host", r"\\x80".repeat(INPUT_OCTETS / 4)));
    assert_eq!(seen[7], r#"8 "c.test" https://c.test"#);
}

#[test]
fn literals_files_and_what_is_neither() {
    let folder = Folder::new();
    let list = folder.write("list.txt", b"a.test\n");
    let seen = origins(&folder, &["b.test", &list, "https://c.test/x.csv", "mailto:x", &list], None);
    let expected = [
        r#"1 "b.test" https://b.test"#,
        r#"1 "a.test" https://a.test"#,
        r#"2 "https://c.test/x.csv" https://c.test"#,
        r#"3 "mailto:x" !scheme"#,
        r#"1 "a.test" https://a.test"#,
    ];
    assert_eq!(seen, expected);
    for (arg, expected) in [
        (folder.path("absent"), "no such file: absent"),
        ("absent.CSV".to_owned(), "no such file: absent.CSV"),
        ("a.test/x".to_owned(), "no such file: a.test/x"),
        (folder.0.path().to_str().expect("a path").to_owned(), " is a directory, not a list"),
    ] {
        let seen = origins(&folder, &["a.test", &arg], None);
        assert!(seen.len() == 1 && seen[0].ends_with(expected), "{seen:?}");
    }
    assert_eq!(origins(&folder, &["\0", &"a".repeat(10_000)], None).len(), 2);
    assert!(origins(&folder, &[], None).is_empty());
}

#[test]
fn packings_are_told_by_content() {
    let folder = Folder::new();
    let text = b"\xEF\xBB\xBF1,a.test\r\n2,b.test\r\n";
    let files: [(&str, &[u8]); 3] = [("x/", b""), ("x/list.csv", text), ("__MACOSX/x/._list.csv", b"fork")];
    let zipped = [
        ("zip, deflated", zip_of(&files, zip::CompressionMethod::Deflated)),
        ("zip, stored", zip_of(&files, zip::CompressionMethod::Stored)),
    ];
    for (name, octets) in packed_in_every_way(text).into_iter().chain(zipped) {
        let path = folder.write("list.bin", &octets);
        let expected = [r#"1 #1 "a.test" https://a.test"#, r#"2 #2 "b.test" https://b.test"#];
        assert_eq!(origins(&folder, &[&path], None), expected, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_said_before_any_work() {
    let folder = Folder::new();
    let two: [(&str, &[u8]); 2] = [("a", b"a.test"), ("b", b"b.test")];
    let parquet = parquet_of("url", vec![Some("a")]);
    let json = b"{\"a\":1,\"b\":{\"c\":2}}\n";
    let cases: [(&[u8], Option<&str>, &str); 16] = [
        (&zip_of(&two, zip::CompressionMethod::Stored), None, "is a zip archive of more than one file"),
        (&zip_of(&two[..0], zip::CompressionMethod::Stored), None, "is a zip archive without a file"),
        (b"PK\x03\x04 and so on", None, "cannot read the zip archive x: "),
        (&parquet, None, "x is Parquet: name the column that holds the origins"),
        (&parquet, Some("site"), "x has no column `site` (columns: url)"),
        (b"PAR1 and so on", Some("site"), "cannot read the Parquet file x: "),
        (&gzip(&parquet), Some("url"), "x is a compressed Parquet file; Parquet is read uncompressed only"),
        (&gzip(&gzip(b"a.test")), None, "x is compressed twice"),
        (b"\x1F\x8Bbroken", None, "cannot read x at line 1: "),
        (b"\x28\xB5\x2F\xFDbroken", None, "cannot read x at line 1: "),
        (b"\xFD7zXZ\0\0\0", None, "x is compressed in a way that is not read (gzip, zstd and zip are)"),
        (b"\xFF\xFEa\0", None, "x is UTF-16 text; UTF-8 is read only"),
        (json, None, "x is JSON: name the column that holds the origins"),
        (json, Some("b.x"), "x has no column `b.x` (columns: a, b)"),
        (b"[{\"a\":1}]", Some("a"), "x is a JSON array; NDJSON, with an object a line, is read only"),
        (b"id,name\n1,a.test\n", Some("site"), "x has no column `site` (columns: id, name)"),
    ];
    for (octets, column, expected) in cases {
        let path = folder.write("x", octets);
        let seen = origins(&folder, &["a.test", &path], column);
        assert!(seen.len() == 1 && seen[0].contains(expected), "{expected}: {seen:?}");
    }
}

#[test]
fn damage_in_the_middle_names_the_line() {
    let folder = Folder::new();
    // Names that do not repeat, so that packing leaves enough to damage.
    let mut state = 1_u64;
    let names: Vec<_> = (0..20_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{state:x}.test\n")
        })
        .collect();
    let text = names.concat().into_bytes();
    let packed = gzip(&text);
    let path = folder.write("list.gz", &packed[..packed.len() / 2]);
    let seen = origins(&folder, &[&path, "b.test"], None);
    let (last, before) = seen.split_last().expect("an error at least");
    assert!(before.len() > 5_000 && before.iter().all(|line| line.contains(".test\" https://")));
    assert!(last.starts_with(&format!("cannot read list.gz at line {}: ", before.len() + 1)), "{last}");

    let mut zipped = zip_of(&[("x", &text)], zip::CompressionMethod::Stored);
    zipped[100_000] ^= 1;
    let path = folder.write("list.zip", &zipped);
    let last = origins(&folder, &[&path], None).pop().expect("an error at least");
    assert_eq!(last, "cannot read list.zip at line 20001: the checksum in the zip archive does not agree");

    let path = folder.write("urls.csv", b"id,url\n1,a\n2,\"b\n3,c\n");
    assert_eq!(urls(&folder, &[&path], None), ["line 3 of urls.csv opens a quoted field that does not end"]);
    // A single broken row costs itself, and is counted.
    let path = folder.write("urls.csv", b"id,url\n1,a\n2\n3,c\n");
    assert_eq!(urls(&folder, &[&path], None), ["2: a | c"]);
    let path = folder.write("urls.ndjson", b"{\"url\":\"a\"}\n{\"url\":\"b\"\n");
    assert_eq!(urls(&folder, &[&path], None), ["1: a"]);
    let path = folder.write("urls.ndjson", b"{\"url\":\"a\"}\n{\"url\":8}\n");
    assert_eq!(urls(&folder, &[&path], None), ["1: a"]);
}

#[test]
fn urls_stay_as_they_are() {
    let text = b"\xEF\xBB\xBF https://a.test/x#y \t\r\n\r\n#c\nHTTPS://B.test/\xFF%2f\nnot a url,at all\n";
    let expected = ["1: https://a.test/x#y | HTTPS://B.test/\u{fffd}%2f | not a url,at all"];
    assert_eq!(urls_of("urls", text, None), expected);
    let csv = b"id,url\n1,\" https://a.test/,x\"\"y \"\n\n2,\n#3,https://b.test/\n";
    assert_eq!(urls_of("u.csv", csv, None), ["2:  https://a.test/,x\"y  | https://b.test/"]);
    assert_eq!(urls_of("u.CSV.gz", &gzip(csv), None), ["2:  https://a.test/,x\"y  | https://b.test/"]);
    assert_eq!(urls_of("u", csv, Some("id")), ["2: 1 | 2 | #3"]);
    assert_eq!(urls_of("u.tsv", b"id\turl\n1\ta,b\n", None), ["2: a,b"]);
    assert_eq!(urls_of("u.csv", b"https://a.test/\n", None), ["u.csv has no column `url` (columns: https://a.test/)"]);
    let ndjson = b"{\"url\":\" \\u00e9\"}\n{\"url\":null}\n{}\n{\"url\":\"\"}\n";
    assert_eq!(urls_of("u", ndjson, None), ["1:  é | "]);
    let parquet = parquet_of("url", vec![None, Some(" a "), Some("")]);
    assert_eq!(urls_of("u", &parquet, None), ["2:  a  | "]);
    assert_eq!(urls_of("u", &parquet, Some("x")), ["u has no column `x` (columns: url)"]);
}

#[test]
fn what_is_broken_is_no_part_of_the_next_url() {
    let text = b"{\"url\":\"https://a.test/1\"}\n{\"url\":7}\n{\"url\":\"https://a.test/2\"}\n";
    assert_eq!(urls_of("x.ndjson", text, None), ["1: https://a.test/1 | https://a.test/2"]);
    // More broken rows than a batch has room for are not the end of the list.
    let broken = format!("{{\"url\":[\"{}\"]}}\n", "x".repeat(60_000)).repeat(100);
    let long = format!("{broken}{{\"url\":\"https://a.test/3\"}}\n");
    assert_eq!(urls_of("x.ndjson", long.as_bytes(), None), ["101: https://a.test/3"]);
}

#[test]
fn counts_of_urls() {
    let folder = Folder::new();
    let long = "a".repeat(CELL_OCTETS + 1);
    let text = folder.write("a", format!("\n#c\nu\n{long}\n").as_bytes());
    let parquet = folder.write("b", &parquet_of("url", vec![None, Some("v")]));
    let mut inputs = UrlInputs::open(&[text, parquet], None).expect("lists");
    let batches: Vec<_> = inputs.by_ref().map(|batch| batch.expect("readable")).collect();
    let lens: Vec<_> = batches.iter().flat_map(UrlBatch::iter).map(<[u8]>::len).collect();
    assert_eq!(lens, [1, CELL_OCTETS, 1]);
    let expected = UrlCounts { lines: 6, urls: 3, blank_or_comment: 2, nulls: 1, cut: 1 };
    assert_eq!(inputs.counts(), expected);
}

#[test]
fn batches_are_bounded_in_rows_and_octets_and_keep_the_order() {
    let folder = Folder::new();
    let numbers: Vec<_> = (0..=URL_BATCH_ROWS * 2).map(|number| number.to_string()).collect();
    let numbers = numbers.join("\n") + "\n";
    let path = folder.write("numbers", numbers.as_bytes());
    let batches: Vec<_> =
        UrlInputs::open(&[path], None).expect("a list").map(|batch| batch.expect("readable")).collect();
    let sizes: Vec<_> = batches.iter().map(|batch| (batch.first_line, batch.len())).collect();
    assert_eq!(sizes, [(1, URL_BATCH_ROWS), (8193, URL_BATCH_ROWS), (16385, 1)]);
    let all = batches.iter().flat_map(UrlBatch::iter).map(|url| String::from_utf8_lossy(url).into_owned() + "\n");
    assert_eq!(all.collect::<String>(), numbers);

    let long = format!("{}\n", "a".repeat(CELL_OCTETS)).repeat(200);
    let path = folder.write("long", long.as_bytes());
    let batches: Vec<_> =
        UrlInputs::open(&[path], None).expect("a list").map(|batch| batch.expect("readable")).collect();
    assert_eq!(batches.iter().map(UrlBatch::len).collect::<Vec<_>>(), [64, 64, 64, 8]);
}

#[test]
fn standard_input_is_named_once() {
    let folder = Folder::new();
    assert_eq!(origins(&folder, &["-", "-"], None), ["standard input is named twice"]);
    assert_eq!(urls(&folder, &["-", "x", "-"], None), ["standard input is named twice"]);
}

#[cfg(unix)]
#[test]
fn pipes_are_read_once_and_can_be_spooled() {
    let folder = Folder::new();
    let (pipe, octets) = (folder.path("pipe"), gzip(b"a.test\n"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let feed = |octets: Vec<u8>| {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::write(pipe, octets))
    };
    let writer = feed(octets.clone());
    assert_eq!(origins(&folder, &[&pipe], None), [r#"1 "a.test" https://a.test"#]);
    writer.join().expect("no panic").expect("written");

    let writer = feed(parquet_of("url", vec![Some("a")]));
    assert_eq!(urls(&folder, &[&pipe], None), ["pipe is Parquet, which is read from a file only, not from a pipe"]);
    // Whether it fails depends on how much of it the pipe took.
    drop(writer.join());

    let plain = folder.write("plain", b"b\n");
    let writer = feed(octets);
    let spooled = Spooled::of(&[plain.clone(), pipe.clone()], folder.0.path(), "urls").expect("copied");
    writer.join().expect("no panic").expect("written");
    let lists = spooled.paths();
    assert_eq!(lists[0], plain);
    assert!(PathBuf::from(&lists[1]).starts_with(folder.0.path()) && lists[1] != pipe);
    let lists: Vec<_> = lists.iter().map(String::as_str).collect();
    for _ in 0..2 {
        assert_eq!(urls(&folder, &lists, None), ["1: b", "1: a.test"]);
    }
    let copy = spooled.paths()[1].clone();
    drop(spooled);
    assert!(!PathBuf::from(copy).exists() && PathBuf::from(plain).exists());
}

#[test]
fn damaged_files_are_errors_and_no_panics() {
    let folder = Folder::new();
    let values: Vec<_> = (0..50).map(|number| format!("https://{number}.test/")).collect();
    let text = values.join("\n");
    let parquet = parquet_of("url", values.iter().map(|value| Some(value.as_str())).collect());
    let zipped = zip_of(&[("x", text.as_bytes())], zip::CompressionMethod::Deflated);
    let zstd = zstd::encode_all(text.as_bytes(), 3).expect("packed");
    for whole in [parquet, zipped, gzip(text.as_bytes()), zstd] {
        for place in 0..whole.len() {
            for flip in [0x01, 0xFF] {
                let mut damaged = whole.clone();
                damaged[place] ^= flip;
                let path = folder.write("x", &damaged);
                let seen = urls(&folder, &[&path], None);
                assert!(seen.len() <= 3, "{seen:?}");
            }
            let path = folder.write("x", &whole[..place]);
            urls(&folder, &[&path], None);
        }
    }
}

#[test]
fn the_samples_are_read_whole() {
    let folder = Folder::new();
    let sample = |name: &str| format!("{}/inputs/{name}", env!("CARGO_MANIFEST_DIR"));
    let seen = origins(&folder, &[&sample("domains.csv")], None);
    assert_eq!(seen.len(), 100);
    assert_eq!(seen[0], r#"1 #1 "google.com" https://google.com"#);
    assert!(!seen.iter().any(|line| line == "-" || line.contains('!')));
    let batch = UrlInputs::open(&[sample("urls.txt")], None).expect("a list").next().expect("URLs").expect("readable");
    assert!(batch.len() >= 60 && batch.iter().all(|url| crate::origin::Origin::of_url(url).is_ok()));
}
