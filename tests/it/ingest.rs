//! Captures of others: WARC files, rows and folders to a snapshot, and lists out of an audit.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Float64Array, Int32Array, RecordBatch, StringArray, StructArray, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Field, Fields};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use robots_audit::audit::output::{COMPUTED_TABLES, Output};
use robots_audit::audit::plan::Plan;
use robots_audit::audit::run::{Source, audit};
use robots_audit::crawlers::Registry;
use robots_audit::robots::access::Policy;
use robots_audit::robots::token::Matching;
use robots_audit::source::input::UrlInputs;
use robots_audit::source::snapshot::Snapshot;
use robots_audit::tables::Table;
use serde_json::Value;

use crate::duckdb::python;
use crate::program::{run, table, temporary, write};
use crate::warc_writer::{WarcWriter, moved, ok, status};

const DAY: &str = "2024-02-21T10:00:00Z";
const LATER: &str = "2024-02-22T10:00:00Z";
const RULES: &str = "User-agent: GPTBot\nDisallow: /\n";

/// Origin to class, reason, status, hops and flags.
fn classes(folder: &Path) -> BTreeMap<String, String> {
    let columns = ["origin", "fetch_class", "reason", "fetch_status", "hops"];
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "-".to_owned());
    let rows = table(folder, "fetches", &columns);
    rows.iter().map(|row| (cell(&row[0]), row[1..].iter().map(cell).collect::<Vec<_>>().join(" "))).collect()
}

fn expect(folder: &Path, expected: &[(&str, &str)]) {
    let expected: BTreeMap<String, String> =
        expected.iter().map(|(origin, class)| ((*origin).to_owned(), (*class).to_owned())).collect();
    assert_eq!(classes(folder), expected);
}

fn ingest_facts(folder: &Path) -> Value {
    let run = fs::read_to_string(folder.join("run.json")).expect("a report");
    serde_json::from_str::<Value>(&run).expect("JSON")["ingest"].clone()
}

fn captures_of(folder: &Path) -> Vec<Vec<Option<String>>> {
    table(folder, "captures", &["origin", "used_as", "n_captures", "file", "place", "fault"])
}

#[test]
fn every_kind_of_record_ends_as_what_it_is() {
    let folder = temporary();
    let mut warc = WarcWriter::new();
    let robots = |name: &str| format!("https://{name}.test/robots.txt");
    warc.capture(&robots("ok"), DAY, &ok(RULES));
    warc.capture("http://ok.test:80/robots.txt", DAY, &moved(301, "https://ok.test/robots.txt"));
    warc.capture("http://port.test:8080/robots.txt", DAY, &status(404));
    warc.capture(&robots("home"), DAY, &moved(302, "/start?x=1"));
    warc.capture("https://home.test/start?x=1", DAY, &ok("<html>"));
    warc.capture(&robots("away"), DAY, &moved(301, "https://elsewhere.test/robots.txt"));
    warc.capture(&robots("nowhere"), DAY, &moved(301, "ftp://x.test/"));
    warc.capture(&robots("loop"), DAY, &moved(301, "https://loop.test/robots.txt"));
    warc.capture(&robots("denied"), DAY, &status(403));
    warc.capture(&robots("down"), DAY, &status(503));
    warc.capture(&robots("noise"), DAY, "no HTTP at all");
    warc.capture("https://page.test/index.html", DAY, &ok("<html>"));
    warc.record("response", &[("WARC-Target-URI", "dns:ok.test"), ("WARC-Date", DAY)], b"20240221100000\nok.test A");
    let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nUser-\r\n9\r\nagent: *\n\r\n0\r\n\r\n";
    warc.capture(&robots("chunks"), DAY, raw);
    warc.response(&robots("long"), DAY, &[("WARC-Truncated", "length")], &ok(RULES));
    warc.response(&robots("cut"), DAY, &[("WARC-Truncated", "disconnect")], &ok(RULES));
    warc.response(&robots("slow"), DAY, &[("WARC-Truncated", "time")], &ok(RULES));
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\n";
    warc.capture(&robots("short"), DAY, short);
    let digest = ("WARC-Payload-Digest", "sha1:AAAA");
    warc.response(&robots("again"), DAY, &[digest], &ok(RULES));
    let again = [("WARC-Target-URI", "https://again.test/robots.txt"), ("WARC-Date", LATER), digest];
    warc.record("revisit", &again, b"HTTP/1.1 200 OK\r\nETag: \"2\"\r\n\r\n");
    let lost = [("WARC-Target-URI", "https://lost.test/robots.txt"), ("WARC-Date", DAY), digest];
    warc.record("revisit", &lost, b"HTTP/1.1 200 OK\r\n\r\n");
    warc.response(&robots("same"), DAY, &[], &ok(RULES));
    let profile = ("WARC-Profile", "http://netpreserve.org/warc/1.0/revisit/server-not-modified");
    let same = [("WARC-Target-URI", "<https://same.test/robots.txt>"), ("WARC-Date", LATER), profile];
    warc.record("revisit", &same, b"HTTP/1.1 304 Not Modified\r\n\r\n");
    warc.response(&robots("second"), DAY, &[], &ok(RULES));
    warc.response(&robots("second"), LATER, &[], "HTTP/2 304\r\n\r\n");
    warc.response(&robots("hint"), DAY, &[], &ok(RULES));
    let hinted = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n";
    warc.response(&robots("hint"), LATER, &[], hinted);
    warc.response(&robots("alone"), DAY, &[], "HTTP/2 304\r\n\r\n");
    warc.record("resource", &[("WARC-Target-URI", "https://res.test/robots.txt"), ("WARC-Date", DAY)], b"");
    write(folder.path(), "cc.warc.gz", &warc.octets);
    let (stdout, _) = run(folder.path(), &["ingest", "warc:cc.warc.gz", "-o", "out"], 0);
    expect(
        &folder.path().join("out"),
        &[
            ("https://ok.test", "ok - 200 0"),
            ("http://ok.test", "ok - 200 1"),
            ("http://port.test:8080", "missing - 404 0"),
            ("https://home.test", "ok_suspect html 200 1"),
            ("https://away.test", "not_collected - 301 0"),
            ("https://nowhere.test", "redirect_invalid scheme 301 0"),
            ("https://loop.test", "redirect_limit - 301 5"),
            ("https://denied.test", "access_denied - 403 0"),
            ("https://down.test", "server_error - 503 0"),
            ("https://noise.test", "protocol_error - - 0"),
            ("https://chunks.test", "ok - 200 0"),
            ("https://long.test", "ok - 200 0"),
            ("https://cut.test", "body_incomplete - 200 0"),
            ("https://slow.test", "timeout total 200 0"),
            ("https://short.test", "body_incomplete - 200 0"),
            ("https://again.test", "ok - 200 0"),
            ("https://lost.test", "not_collected - 200 0"),
            ("https://same.test", "ok - 304 0"),
            ("https://second.test", "ok - 304 0"),
            ("https://hint.test", "ok - 304 0"),
            ("https://alone.test", "not_collected - 304 0"),
            ("https://res.test", "ok - - 0"),
        ],
    );
    let told = "29 captures in 1 files = 22 rows + 4 older captures of the same origins + 3 of other resources; \
                29 records that are no captures";
    assert!(stdout.contains(told), "{stdout}");
    let bodies = table(&folder.path().join("out"), "bodies", &["octets"]);
    assert_eq!(bodies.len(), 4, "each distinct body once: {bodies:?}");
}

#[test]
fn what_is_known_of_a_capture_is_kept() {
    let folder = temporary();
    let mut warc = WarcWriter::new();
    warc.capture("http://a.test/robots.txt", DAY, &moved(301, "https://a.test/robots.txt"));
    warc.capture("https://a.test/robots.txt", LATER, &ok(RULES));
    write(folder.path(), "cc.warc.gz", &warc.octets);
    run(folder.path(), &["ingest", "cc.warc.gz", "-o", "out"], 0);
    let columns = [
        "origin",
        "input",
        "final_url",
        "remote_ip",
        "http_version",
        "content_encoding",
        "server",
        "body_octets",
        "fetch_time",
    ];
    let rows = table(&folder.path().join("out"), "fetches", &columns);
    let row = |cells: [&str; 9]| cells.map(|cell| Some(cell.to_owned())).to_vec();
    let (seen, octets) = ("1708596000000000", RULES.len().to_string());
    let end = ["198.51.100.7", "HTTP/1.1", "gzip", "nginx", &octets, seen];
    let whole = |start: [&str; 3]| row([&start[..], &end[..]].concat().try_into().expect("nine cells"));
    let url = "https://a.test/robots.txt";
    // The redirect is older than what it led to; what was known of both was known at the later time.
    assert_eq!(rows, [whole(["http://a.test", "http://a.test/robots.txt", url]), whole(["https://a.test", url, url])]);
}

#[test]
fn the_newest_capture_counts_over_all_files() {
    let folder = temporary();
    let url = "https://a.test/robots.txt";
    for (name, date, message) in [
        ("1.warc.gz", DAY, ok("User-agent: *\nDisallow: /old\n")),
        ("2.warc.gz", LATER, status(404)),
        ("3.warc.gz", DAY, ok(RULES)),
    ] {
        let mut warc = WarcWriter::new();
        warc.capture(url, date, &message);
        write(folder.path(), &format!("cc/{name}"), &warc.octets);
    }
    for source in ["warc:cc", "warc:cc/*.warc.gz", "warc:cc/?.warc.gz"] {
        run(folder.path(), &["ingest", source, "-o", "out"], 0);
        expect(&folder.path().join("out"), &[("https://a.test", "missing - 404 0")]);
        let row = &captures_of(&folder.path().join("out"))[0];
        let cells: Vec<&str> = row[..4].iter().map(|cell| cell.as_deref().unwrap_or("-")).collect();
        assert_eq!(cells, ["https://a.test", "row", "3", "cc/2.warc.gz"]);
        assert!(table(&folder.path().join("out"), "bodies", &["octets"]).is_empty(), "no older body is kept");
    }
}

#[test]
fn a_damage_costs_one_record() {
    let folder = temporary();
    let sound = |number: usize| {
        let mut warc = WarcWriter::default();
        let url = format!("https://s{number}.test/robots.txt");
        // Each body is another one, and long enough to be damaged in the middle.
        let rules: Vec<String> = (0..200).map(|rule| format!("Disallow: /{number}/{}\n", rule * rule)).collect();
        warc.response(&url, DAY, &[], &ok(&format!("User-agent: *\n{}", rules.concat())));
        warc.octets
    };
    let mut octets = WarcWriter::new().octets;
    let mut places = Vec::new();
    for number in 0..8 {
        let mut member = sound(number);
        places.push(octets.len());
        match number {
            // The check sum, the middle, the end, the length in the record, garbage between, and no record at all.
            1 => *member.iter_mut().rev().nth(6).expect("long") ^= 0xFF,
            2 => {
                let middle = member.len() / 2;
                member[middle..middle + 8].fill(0xFF);
            }
            4 => member.truncate(member.len() / 2),
            5 => {
                let mut warc = WarcWriter::default();
                warc.member(b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 9000\r\n\r\nshort\r\n\r\n");
                warc.member(b"WARC/1.0\r\nWARC-Type: response\r\n\r\n\r\n\r\n");
                member = [warc.octets, b"\x1F\x8B\x08 garbage \x1F\x8B".to_vec(), member].concat();
            }
            7 => {
                let mut warc = WarcWriter::default();
                warc.member(b"no record");
                member = [warc.octets, member].concat();
            }
            _ => {}
        }
        octets.extend_from_slice(&member);
    }
    let last = sound(9);
    octets.extend_from_slice(&last[..last.len() - 20]);
    write(folder.path(), "cc.warc.gz", &octets);
    let (stdout, _) = run(folder.path(), &["ingest", "warc:cc.warc.gz", "-o", "out"], 0);
    let out = folder.path().join("out");
    let sound = [0, 3, 5, 6, 7].map(|number| format!("https://s{number}.test"));
    assert_eq!(classes(&out).into_keys().collect::<Vec<_>>(), sound, "{stdout}");
    let damages: Vec<String> = captures_of(&out)
        .into_iter()
        .filter(|row| row[1].as_deref() == Some("damaged"))
        .map(|row| row[5].clone().expect("a fault"))
        .collect();
    let expected = ["compression", "compression", "cut_off", "cut_off", "length", "head", "cut_off"];
    assert_eq!(damages, expected);
    let first = captures_of(&out).into_iter().find(|row| row[1].as_deref() == Some("damaged")).expect("one");
    assert_eq!(first[4], Some(places[1].to_string()), "it says where");
    assert!(stdout.contains("; 7 damaged ones passed over"), "{stdout}");
    assert_eq!(ingest_facts(&out)["damaged"], 7);
}

#[test]
fn plain_and_zstd_files_are_read_as_gzip_is() {
    let folder = temporary();
    let mut warc = WarcWriter::plain();
    warc.response("https://a.test/robots.txt", DAY, &[], &ok(RULES));
    // A record with a length that swallows the next one, which is found all the same.
    warc.member(b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 99999999\r\n\r\nx\r\n\r\n");
    warc.response("https://b.test/robots.txt", DAY, &[], &ok(""));
    write(folder.path(), "a.warc", &warc.octets);
    run(folder.path(), &["ingest", "a.warc", "-o", "plain"], 0);
    let expected = [("https://a.test", "ok - 200 0"), ("https://b.test", "ok - 200 0")];
    expect(&folder.path().join("plain"), &expected);
    let ends: Vec<usize> = warc.places[1..].iter().copied().chain([warc.octets.len()]).collect();
    let frames = warc.places.iter().zip(ends).map(|(begin, end)| &warc.octets[*begin..end]);
    let packed: Vec<u8> = frames.flat_map(|record| zstd::encode_all(record, 1).expect("memory")).collect();
    write(folder.path(), "a.warc.zst", packed);
    run(folder.path(), &["ingest", "a.warc.zst", "-o", "zstd"], 0);
    expect(&folder.path().join("zstd"), &expected);
}

#[test]
fn a_file_packed_in_one_piece_is_told_and_not_lost() {
    let folder = temporary();
    let mut warc = WarcWriter::plain();
    warc.response("https://a.test/robots.txt", DAY, &[], &ok(RULES));
    warc.response("https://b.test/robots.txt", DAY, &[], &ok(RULES));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&warc.octets).expect("memory");
    write(folder.path(), "a.warc.gz", encoder.finish().expect("memory"));
    let (_, stderr) = run(folder.path(), &["ingest", "warc:a.warc.gz", "-o", "out"], 1);
    assert!(stderr.contains("a.warc.gz is compressed as a whole and not record by record"), "{stderr}");
}

#[test]
fn audit_reads_warc_files_at_once() {
    let folder = temporary();
    let mut warc = WarcWriter::new();
    warc.capture("https://a.test/robots.txt", DAY, &ok(RULES));
    warc.capture("https://b.test/robots.txt", DAY, &status(404));
    write(folder.path(), "cc.warc.gz", &warc.octets);
    write(folder.path(), "urls.txt", "https://a.test/x\nhttps://b.test/x\nhttps://c.test/x\n");
    let what = ["audit", "--from", "warc:cc.warc.gz", "--urls", "urls.txt", "--crawlers", "GPTBot", "-o", "one"];
    let (stdout, _) = run(folder.path(), &what, 0);
    assert!(stdout.contains("2 lines = 3 rows + 0 duplicates + 0 blank or comment - 1 added from URLs"), "{stdout}");
    assert!(stdout.contains("2 captures in 1 files = 2 rows"), "{stdout}");
    let columns = ["url", "decision", "decision_source", "matched_rule", "checked_at"];
    let rows = |out: &str| table(&folder.path().join(out), "decisions", &columns);
    let decisions: Vec<_> = rows("one").iter().map(|row| row[1].clone().unwrap_or_default()).collect();
    assert_eq!(decisions, ["deny", "allow", "unresolved"]);
    let classes = [("https://a.test", "ok - 200 0"), ("https://b.test", "missing - 404 0")];
    expect(&folder.path().join("one"), &[&classes[..], &[("https://c.test", "not_collected - - -")]].concat());
    // In two steps it is the same, and the captures stay beside an audit of the same folder.
    run(folder.path(), &["ingest", "warc:cc.warc.gz", "-o", "two"], 0);
    let what = ["audit", "--from", "two", "--urls", "urls.txt", "--crawlers", "GPTBot", "-o", "two"];
    run(folder.path(), &what, 0);
    assert_eq!(rows("one"), rows("two"));
    let fetches = |out: &str| table(&folder.path().join(out), "fetches", &["origin", "fetch_class", "body_sha256"]);
    assert_eq!(fetches("one"), fetches("two"));
    assert_eq!(captures_of(&folder.path().join("one")), captures_of(&folder.path().join("two")));
}

#[test]
fn an_audit_in_the_folder_of_its_snapshot_can_be_done_again() {
    let folder = temporary();
    let mut warc = WarcWriter::new();
    warc.capture("https://a.test/robots.txt", DAY, &ok(RULES));
    warc.capture("https://b.test/robots.txt", DAY, &status(404));
    warc.capture("https://away.test/robots.txt", DAY, &moved(301, "https://elsewhere.test/robots.txt"));
    warc.record("response", &[("WARC-Date", DAY)], b"of nothing");
    write(folder.path(), "cc.warc.gz", &warc.octets);
    write(folder.path(), "urls.txt", "https://a.test/x\nhttps://c.test/x\nhttps://d.test/x\n");
    run(folder.path(), &["ingest", "warc:cc.warc.gz", "-o", "x"], 0);
    let x = folder.path().join("x");
    let origins = |table: &str, columns: &[&str]| -> Vec<_> {
        crate::program::table(&x, table, columns).into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
    };
    let (captures, snapshot) = (captures_of(&x), origins("fetches", &["origin"]));
    assert_eq!((captures.len(), snapshot.len()), (4, 3));
    let mut before = None;
    for round in 0..3 {
        let again = ["audit", "--from", "x", "--urls", "urls.txt", "--crawlers", "GPTBot", "-o", "x"];
        let (stdout, _) = run(folder.path(), &again, 0);
        assert!(stdout.contains("3 lines = 5 rows"), "{stdout}");
        assert_eq!(stdout.contains("; 2 rows left out, whose origins only URLs"), round > 0, "{stdout}");
        let fetches = origins("fetches", &["origin"]);
        assert_eq!(fetches, [&snapshot[..], &["https://c.test".to_owned(), "https://d.test".to_owned()]].concat());
        assert_eq!(captures_of(&x), captures, "one row a capture, in the order of fetches, then the damages");
        assert_eq!(origins("captures", &["origin"])[..3], snapshot[..]);
        let octets = ["fetches", "bodies", "decisions", "crawler_access"]
            .map(|table| fs::read(x.join(table).join("part-00000.parquet")).expect("a file"));
        assert!(before.replace(octets.clone()).is_none_or(|before| before == octets), "the same octets again");
    }
    run(folder.path(), &["audit", "--from", "x", "-o", "x"], 0);
    assert_eq!(origins("fetches", &["origin"]), snapshot, "without URLs it is the snapshot again");
}

#[test]
fn a_row_that_no_table_takes_fails_the_run() {
    let folder = temporary();
    write(folder.path(), "bodies/a.test.txt", RULES);
    run(folder.path(), &["ingest", "dir:bodies", "-o", "snapshot"], 0);
    let urls = write(folder.path(), "urls.txt", "https://a.test/\nhttps://c.test/\n").to_string_lossy().into_owned();
    let plan = Plan::new(Registry::embedded(), &[], Policy::Rfc9309, Matching::Rfc9309, false);
    let audit_into = |tables: &[Table]| {
        let source = Source::Snapshot(Snapshot::open(&folder.path().join("snapshot")).expect("a snapshot"));
        let urls = UrlInputs::open(std::slice::from_ref(&urls), None).expect("a list");
        let mut output = Output::open(&folder.path().join("out"), tables).expect("a folder");
        audit(&Arc::new(plan.clone()), &source, Some(urls), None, 1, &mut output, &mut |_| {}).map(|_| ())
    };
    let error = audit_into(&COMPUTED_TABLES).expect_err("the row of c.test is nowhere").to_string();
    assert!(error.contains("rows = those in the table fetches (2 is not 1)"), "{error}");
    let with_fetches: Vec<Table> = COMPUTED_TABLES.into_iter().chain([Table::Fetches]).collect();
    audit_into(&with_fetches).expect("every row has its place");
}

#[test]
fn threads_change_no_octet_of_what_is_taken_over() {
    let folder = temporary();
    for file in 0..5 {
        let mut warc = WarcWriter::new();
        for site in 0..150 {
            let url = format!("https://s{}.test/robots.txt", site * (file + 1) % 400);
            warc.capture(
                &url,
                if file % 2 == 0 { DAY } else { LATER },
                &ok(&format!("User-agent: *\nDisallow: /{site}\n")),
            );
        }
        write(folder.path(), &format!("cc/{file}.warc.gz"), &warc.octets);
    }
    for threads in ["1", "2"] {
        let out = format!("out-{threads}");
        run(folder.path(), &["ingest", "warc:cc", "--threads", threads, "-o", &out], 0);
    }
    for name in ["fetches", "bodies", "captures"] {
        let part = |out: &str| fs::read(folder.path().join(out).join(name).join("part-00000.parquet")).expect("a file");
        assert_eq!(part("out-1"), part("out-2"), "{name}");
    }
}

#[test]
fn rows_of_ndjson_are_taken_over() {
    let folder = temporary();
    let rows = "\
{\"page\":{\"url\":\"https://a.test/robots.txt\"},\"text\":\"User-agent: *\\nDisallow: /x\\n\",\"code\":200,\"at\":\"2024-01-01T00:00:00Z\"}
{\"page\":{\"url\":\"https://a.test/\"},\"text\":null,\"code\":404,\"at\":\"2024-01-02T00:00:00Z\"}

{\"page\":{\"url\":\"http://b.test:81/x\"},\"text\":\"<html>\",\"code\":200,\"at\":null}
{\"page\":{\"url\":\"ftp://c.test/\"},\"text\":\"\",\"code\":200}
{\"page\":
";
    write(folder.path(), "rows.ndjson", rows);
    let columns =
        ["--url-column", "page.url", "--body-column", "text", "--status-column", "code", "--time-column", "at"];
    let (stdout, _) = run(folder.path(), &[&["ingest", "rows.ndjson", "-o", "out"], &columns[..]].concat(), 0);
    let expected = [("https://a.test", "missing - 404 -"), ("http://b.test:81", "ok_suspect html 200 -")];
    expect(&folder.path().join("out"), &expected);
    assert!(stdout.contains("3 captures in 1 files = 2 rows + 1 older"), "{stdout}");
    assert!(stdout.contains("2 damaged"), "{stdout}");
    let (_, stderr) = run(folder.path(), &["ingest", "rows.ndjson", "-o", "out"], 3);
    assert!(stderr.contains("no column `origin` (columns: page.url, page, text, code, at); name it with --url-column"));
}

/// What rows tell as a status, in JSON, and what comes of it.
const STATUSES: [(&str, &str); 12] = [
    ("200", "ok - 200 -"),
    ("200.0", "ok - 200 -"),
    ("null", "ok - - -"),
    ("503.0", "server_error - 503 -"),
    ("\"503 Service Unavailable\"", "server_error - 503 -"),
    ("999", "server_error - 999 -"),
    ("503.5", "-"),
    ("99999", "-"),
    ("0", "-"),
    ("\"n/a\"", "-"),
    ("\"\"", "-"),
    ("[503]", "-"),
];

/// Origins whose rows have the statuses, and those that get a row.
fn of_statuses() -> (Vec<String>, BTreeMap<String, String>) {
    let origins: Vec<String> = (0..STATUSES.len()).map(|n| format!("https://s{n}.test")).collect();
    let classes = origins.iter().zip(STATUSES).map(|(origin, (_, class))| (origin.clone(), class.to_owned()));
    (origins.clone(), classes.filter(|(_, class)| class != "-").collect())
}

#[test]
fn a_status_that_is_none_is_said_and_never_ok() {
    let folder = temporary();
    let (origins, expected) = of_statuses();
    let rows = origins.iter().zip(STATUSES).map(|(origin, (status, _))| {
        format!("{{\"url\":\"{origin}/\",\"body\":\"Service Unavailable\",\"status\":{status}}}\n")
    });
    write(folder.path(), "a.ndjson", rows.collect::<String>());
    let (stdout, _) = run(folder.path(), &["ingest", "a.ndjson", "-o", "out"], 0);
    let out = folder.path().join("out");
    assert_eq!(classes(&out), expected);
    assert!(stdout.contains("6 captures in 1 files = 6 rows"), "{stdout}");
    assert!(stdout.contains("; 6 damaged ones passed over: status 6 (table captures)"), "{stdout}");
    assert_eq!((&ingest_facts(&out)["damaged"], &ingest_facts(&out)["faults"]["status"]), (&6.into(), &6.into()));
    let told = captures_of(&out).into_iter().filter(|row| row[1].as_deref() == Some("damaged"));
    let told: Vec<_> = told.map(|row| (row[4].clone().expect("a place"), row[5].clone().expect("a fault"))).collect();
    assert_eq!(told, ["7", "8", "9", "10", "11", "12"].map(|place| (place.to_owned(), "status".to_owned())));
}

#[test]
fn a_status_of_a_parquet_file_that_is_none_is_said_and_never_ok() {
    let folder = temporary();
    let body: ArrayRef = Arc::new(StringArray::from(vec!["Service Unavailable"; 3]));
    let url: ArrayRef = Arc::new(StringArray::from(vec!["https://a.test", "https://b.test", "https://c.test"]));
    for (name, status) in [
        ("int", Arc::new(Int32Array::from(vec![Some(503), Some(99_999), None])) as ArrayRef),
        ("float", Arc::new(Float64Array::from(vec![Some(503.0), Some(503.5), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("503 Service Unavailable"), Some("n/a"), None]))),
    ] {
        let columns = [("url", Arc::clone(&url)), ("body", Arc::clone(&body)), ("status", status)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)));
        write_batch(&folder.path().join("a.parquet"), &batch.expect("columns of one length"));
        let (stdout, _) = run(folder.path(), &["ingest", "a.parquet", "-o", name], 0);
        let expected = [("https://a.test", "server_error - 503 -"), ("https://c.test", "ok - - -")];
        expect(&folder.path().join(name), &expected);
        assert!(stdout.contains("; 1 damaged ones passed over: status 1"), "{name}: {stdout}");
    }
}

fn write_batch(path: &Path, batch: &RecordBatch) {
    let file = fs::File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(batch).expect("written");
    writer.close().expect("closed");
}

#[cfg(feature = "sqlite")]
#[test]
fn a_status_of_a_database_that_is_none_is_said_and_never_ok() {
    let folder = temporary();
    let (origins, expected) = of_statuses();
    let database = rusqlite::Connection::open(folder.path().join("a.db")).expect("a database");
    database.execute_batch("CREATE TABLE pages(url, body, status)").expect("a table");
    for (origin, (status, _)) in origins.iter().zip(STATUSES) {
        // A database has no lists; octets that are no text stand for them.
        let status = status.replace("[503]", "x'FF'").replace('"', "'");
        let sql = format!("INSERT INTO pages VALUES ('{origin}', 'Service Unavailable', {status})");
        database.execute_batch(&sql).expect("a row");
    }
    drop(database);
    let (stdout, _) = run(folder.path(), &["ingest", "a.db", "-o", "out"], 0);
    assert_eq!(classes(&folder.path().join("out")), expected);
    assert!(stdout.contains("; 6 damaged ones passed over: status 6"), "{stdout}");
}

#[test]
fn times_are_read_as_judged_rows_tell_theirs_and_others_are_said() {
    let folder = temporary();
    let newest = "1717200000000000";
    for (time, expected) in [
        ("\"2024-06-01 00:00:00\"", Some(newest)),
        ("\"2024-06-01T00:00:00\"", Some(newest)),
        ("\"2024-06-01\"", Some("1717286399999999")),
        ("1717200000", Some(newest)),
        ("1717200000000", Some(newest)),
        ("1717200000000.0", Some(newest)),
        ("1717200000000000", Some(newest)),
        ("\"20240601000000\"", Some(newest)),
        ("\"first of June\"", None),
        ("[1717200000]", None),
    ] {
        let row = |status, time| {
            format!("{{\"url\":\"https://a.test\",\"body\":\"\",\"status\":{status},\"time\":{time}}}\n")
        };
        write(folder.path(), "a.ndjson", row(200, time) + &row(404, "\"2023-06-01T00:00:00Z\""));
        let (stdout, _) = run(folder.path(), &["ingest", "a.ndjson", "-o", "out"], 0);
        let out = folder.path().join("out");
        let rows = table(&out, "fetches", &["fetch_status", "fetch_time"]);
        let (status, newest) = expected.map_or(("404", "1685577600000000"), |time| ("200", time));
        assert_eq!(rows, [vec![Some(status.to_owned()), Some(newest.to_owned())]], "{time}");
        let is_said = stdout.contains("; 1 with a time that cannot be read, taken for older than all others");
        assert_eq!(is_said, expected.is_none(), "{time}: {stdout}");
        assert_eq!(ingest_facts(&out)["undated"], u64::from(expected.is_none()));
        let undated: Vec<_> =
            captures_of(&out).into_iter().filter(|row| row[1].as_deref() == Some("undated")).collect();
        assert_eq!(undated.len(), usize::from(expected.is_none()));
        assert!(undated.iter().all(|row| row[4].as_deref() == Some("1") && row[5].as_deref() == Some("time")));
    }
    let mut warc = WarcWriter::new();
    warc.capture("https://a.test/robots.txt", "first of June", &ok(RULES));
    write(folder.path(), "a.warc.gz", &warc.octets);
    let (stdout, _) = run(folder.path(), &["ingest", "a.warc.gz", "-o", "out"], 0);
    assert!(stdout.contains("1 captures in 1 files = 1 rows"), "{stdout}");
    assert!(stdout.contains("; 1 with a time that cannot be read"), "{stdout}");
}

#[cfg(feature = "sqlite")]
#[test]
fn rows_of_a_database_are_taken_over() {
    let folder = temporary();
    let database = rusqlite::Connection::open(folder.path().join("robots.db")).expect("a database");
    let sql = "CREATE TABLE pages(url TEXT, body BLOB, status INTEGER, time TEXT); CREATE TABLE notes(text);
        INSERT INTO pages VALUES ('https://a.test/robots.txt', 'User-agent: *', 200, '2024-01-01T00:00:00Z'),
        ('https://a.test/', NULL, 404, '2024-01-02T00:00:00Z'), ('http://b.test', x'3c68746d6c3e', NULL, NULL), (NULL, '', 200, NULL);";
    database.execute_batch(sql).expect("rows");
    drop(database);
    let (stdout, _) = run(folder.path(), &["ingest", "robots.db", "-o", "out"], 0);
    expect(
        &folder.path().join("out"),
        &[("https://a.test", "missing - 404 -"), ("http://b.test", "ok_suspect html - -")],
    );
    assert!(stdout.contains("3 captures in 1 files = 2 rows + 1 older"), "{stdout}");
    let (_, stderr) = run(folder.path(), &["ingest", "robots.db", "--body-column", "nothing", "-o", "out"], 3);
    assert!(stderr.contains("no column `nothing`") && stderr.contains("notes.text"), "{stderr}");
}

#[test]
fn rows_of_parquet_are_taken_over() {
    let folder = temporary();
    let text = |cells: [Option<&str>; 4]| -> ArrayRef { Arc::new(StringArray::from(cells.to_vec())) };
    let urls = text([Some("a.test"), Some("https://a.test/"), Some("http://b.test"), None]);
    let page = Fields::from(vec![Field::new("url", DataType::Utf8, true)]);
    let page: ArrayRef = Arc::new(StructArray::new(page, vec![urls], None));
    let body = BinaryArray::from(vec![Some(&b"User-agent: *\n"[..]), Some(b"caf\xE9"), None, Some(b"")]);
    let times = |times: [i64; 4]| -> ArrayRef { Arc::new(TimestampMillisecondArray::from(times.to_vec())) };
    let status: ArrayRef = Arc::new(Int32Array::from(vec![Some(200), None, Some(410), Some(200)]));
    let columns = [
        ("page", page),
        ("body", Arc::new(body) as ArrayRef),
        ("time", times([2_000, 1_000, 5, 7])),
        ("status", status),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    for name in ["1.parquet", "2.parquet"] {
        write_batch(&folder.path().join(name), &batch);
    }
    let what = ["ingest", "1.parquet", "2.parquet", "--url-column", "page.url", "-o", "out"];
    let (stdout, _) = run(folder.path(), &what, 0);
    let out = folder.path().join("out");
    expect(&out, &[("https://a.test", "ok - 200 -"), ("http://b.test", "missing - 410 -")]);
    assert!(stdout.contains("6 captures in 2 files = 2 rows + 4 older"), "{stdout}");
    let rows = table(&out, "captures", &["origin", "n_captures", "file", "place", "capture_time", "fault"]);
    let cells: Vec<String> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "https://a.test 4 2.parquet 1 2000000 -",
        "http://b.test 2 2.parquet 3 5000 -",
        "- - 1.parquet 4 - target",
        "- - 2.parquet 4 - target",
    ];
    assert_eq!(cells, expected);
}

#[test]
fn folders_are_taken_over() {
    let folder = temporary();
    write(folder.path(), "bodies/a.test.txt", RULES);
    write(folder.path(), "bodies/A.test.txt", "User-agent: *\n");
    write(folder.path(), "bodies/x y.txt", "");
    write(folder.path(), "bodies/readme.md", "");
    let (stdout, _) = run(folder.path(), &["ingest", "dir:bodies", "-o", "out"], 0);
    assert!(stdout.contains("3 captures in 3 files = 2 rows + 1 older"), "{stdout}");
    run(folder.path(), &["audit", "--from", "out", "-o", "audit"], 0);
    assert_eq!(table(&folder.path().join("audit"), "training", &["origin"]).len(), 1);
}

#[test]
fn sources_that_cannot_be_read_are_known_before_work_starts() {
    let folder = temporary();
    write(folder.path(), "a.txt", "User-agent: *\n");
    write(folder.path(), "rows.ndjson", "{\"url\":\"https://a.test\",\"body\":\"\"}\n");
    let warc = WarcWriter::new();
    write(folder.path(), "a.warc.gz", &warc.octets);
    for (sources, told) in [
        (&["warc:none.warc.gz"][..], "no WARC file: none.warc.gz"),
        (&["warc:*.none"], "no WARC file: *.none"),
        (&["warc:a.txt"], "a.txt is no WARC file"),
        (&["a.txt"], "a.txt is neither WARC nor Parquet, NDJSON or SQLite"),
        (&["a.warc.gz", "rows.ndjson"], "a.warc.gz cannot be read together with the other sources"),
        (&["none.parquet"], "cannot open none.parquet"),
    ] {
        let (_, stderr) = run(folder.path(), &[&["ingest", "-o", "out"], sources].concat(), 3);
        assert!(stderr.contains(told), "{sources:?}: {stderr}");
    }
    assert!(!folder.path().join("out").join("fetches").exists());
}

#[test]
fn names_of_which_everything_is_refused() {
    let folder = temporary();
    write(folder.path(), "bodies/www.a.test.txt", RULES);
    write(folder.path(), "bodies/b.test.txt", "User-agent: GPTBot\nDisallow: /x\n");
    write(folder.path(), "bodies/c.test.txt", "User-agent: CCBot\nDisallow: /\n");
    run(folder.path(), &["audit", "--from", "dir:bodies", "--crawlers", "GPTBot,CCBot", "-o", "out"], 0);
    let list = |more: &[&str]| run(folder.path(), &[&["report", "blocklist", "--from", "out"], more].concat(), 0);
    let (stdout, stderr) = list(&["--crawlers", "gptbot", "--level", "registered_domain"]);
    assert_eq!(stdout, "a.test\n");
    assert!(stderr.contains("1 of 3 names are listed"), "{stderr}");
    assert_eq!(list(&["--crawlers", "GPTBot,CCBot", "--level", "host"]).0, "c.test\nwww.a.test\n");
    assert_eq!(list(&["--crawlers", "GPTBot,CCBot", "--every-crawler"]).0, "");
    assert_eq!(
        list(&["--crawlers", "GPTBot", "--level", "origin", "--include-partial"]).0,
        "https://b.test\nhttps://www.a.test\n"
    );
    list(&["--crawlers", "GPTBot", "-o", "names.parquet"]);
    fs::create_dir(folder.path().join("names")).expect("a folder");
    fs::rename(folder.path().join("names.parquet"), folder.path().join("names/part-00000.parquet")).expect("renamed");
    let rows = table(folder.path(), "names", &["name", "n_origins", "n_blocked", "n_partial", "n_unknown"]);
    assert_eq!(rows, [["www.a.test", "1", "1", "0", "0"].map(|cell| Some(cell.to_owned())).to_vec()]);
    let (printed, _) = list(&["--crawlers", "GPTBot", "--format", "json"]);
    list(&["--crawlers", "GPTBot", "-o", "new/folder/names.json"]);
    assert_eq!(fs::read_to_string(folder.path().join("new/folder/names.json")).expect("written"), printed);
    let told: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!((&told["level"], &told["known"], &told["unsettled"]), (&"host".into(), &3.into(), &0.into()));
    assert_eq!(told["names"][0]["name"], "www.a.test");
    assert_eq!(told["names"][0]["n_blocked"], 1);
    let nowhere = ["report", "blocklist", "--from", "out", "--crawlers", "GPTBot", "-o", "names/part-00000.parquet/x"];
    let (_, stderr) = run(folder.path(), &nowhere, 3);
    assert!(stderr.contains("cannot use names/part-00000.parquet"), "{stderr}");
    let what = ["report", "blocklist", "--from", "out", "--crawlers", "Bingbot"];
    let (_, stderr) = run(folder.path(), &what, 3);
    assert!(stderr.contains("the tables say nothing of Bingbot; audit again with --crawlers"), "{stderr}");
}

#[test]
fn an_origin_that_only_a_url_named_hides_no_capture_of_it() {
    let folder = temporary();
    write(folder.path(), "first/other.test.txt", RULES);
    write(folder.path(), "second/a.test.txt", RULES);
    write(folder.path(), "urls.txt", "https://other.test/x\n");
    run(folder.path(), &["ingest", "dir:first", "-o", "held"], 0);
    run(folder.path(), &["ingest", "dir:second", "-o", "other"], 0);
    run(folder.path(), &["audit", "--from", "other", "--urls", "urls.txt", "-o", "named"], 0);
    let url: ArrayRef = Arc::new(StringArray::from(vec!["https://other.test/x"]));
    write_batch(&folder.path().join("in.parquet"), &RecordBatch::try_from_iter([("url", url)]).expect("a column"));
    for (one, other, out) in [("held", "named", "x"), ("named", "held", "y")] {
        let ask = ["annotate", "in.parquet", "--from", one, "--from", other, "--crawlers", "GPTBot", "-o", out];
        run(folder.path(), &ask, 0);
        fs::create_dir(folder.path().join(out).join("t")).expect("a folder");
        fs::rename(folder.path().join(out).join("in.parquet"), folder.path().join(out).join("t/part-00000.parquet"))
            .expect("renamed");
        let rows = table(&folder.path().join(out), "t", &["robots_fetch_class", "robots_GPTBot_decision"]);
        assert_eq!(rows, [["ok", "deny"].map(|cell| Some(cell.to_owned())).to_vec()], "{one}, {other}");
    }
}

const WARCIO: &str = "
import io
from warcio.warcwriter import WARCWriter
from warcio.statusandheaders import StatusAndHeaders

def head(line, *fields):
    return StatusAndHeaders(line, list(fields), protocol='HTTP/1.1')

for is_packed in (True, False):
    with open('w.warc.gz' if is_packed else 'w.warc', 'wb') as file:
        writer = WARCWriter(file, gzip=is_packed)
        writer.write_record(writer.create_warcinfo_record('w', {'software': 'a test'}))
        body = b'User-agent: GPTBot\\nDisallow: /\\n'
        ok = head('200 OK', ('Content-Type', 'text/plain'), ('Content-Length', str(len(body))))
        date = {'WARC-Date': '2024-02-21T10:00:00Z'}
        def response(url, payload, http, **more):
            record = writer.create_warc_record(url, 'response', payload=io.BytesIO(payload), http_headers=http,
                                               warc_headers_dict={**date, **more})
            writer.write_record(record)
            return record
        first = response('https://a.test/robots.txt', body, ok)
        response('http://a.test/robots.txt', b'', head('301 Moved', ('Location', 'https://a.test/robots.txt')))
        response('https://b.test/robots.txt', b'', head('404 Not Found'))
        chunked = head('200 OK', ('Transfer-Encoding', 'chunked'))
        response('https://c.test/robots.txt', b'5\\r\\nUser-\\r\\n9\\r\\nagent: *\\n\\r\\n0\\r\\n\\r\\n', chunked)
        response('https://d.test/page.html', b'<html>', head('200 OK'))
        writer.write_record(writer.create_revisit_record(
            'https://a.test/robots.txt', digest=first.rec_headers.get_header('WARC-Payload-Digest'),
            refers_to_uri='https://a.test/robots.txt', refers_to_date='2024-02-21T10:00:00Z',
            http_headers=ok, warc_headers_dict={'WARC-Date': '2024-02-22T10:00:00Z'}))
        request = head('GET /robots.txt HTTP/1.0')
        writer.write_record(writer.create_warc_record('https://a.test/robots.txt', 'request', http_headers=request))
";

#[test]
fn files_of_another_program_are_read() {
    let folder = temporary();
    if python("files_of_another_program_are_read", folder.path(), "warcio", WARCIO).is_none() {
        return;
    }
    for (name, out) in [("w.warc.gz", "packed"), ("w.warc", "plain")] {
        let (stdout, _) = run(folder.path(), &["ingest", name, "-o", out], 0);
        let out = folder.path().join(out);
        expect(
            &out,
            &[
                ("https://a.test", "ok - 200 0"),
                ("http://a.test", "ok - 200 1"),
                ("https://b.test", "missing - 404 0"),
                ("https://c.test", "ok - 200 0"),
            ],
        );
        assert_eq!(ingest_facts(&out)["damaged"], 0, "{stdout}");
    }
}
