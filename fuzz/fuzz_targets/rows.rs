//! Any octets as a list of URLs and origins, and as a data set of text that is annotated or filtered: every line is
//! counted, and what stood in it stays.
//!
//! The first octet says what the rest is taken for.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use robots_audit::audit::output::Output;
use robots_audit::audit::pipeline;
use robots_audit::audit::plan::Plan;
use robots_audit::audit::run::{Source, audit};
use robots_audit::crawlers::Registry;
use robots_audit::dataset::annotate::{Annotator, AsOf, PREFIX, Settings, URL_COLUMN};
use robots_audit::dataset::job::{Job, Task};
use robots_audit::dataset::keep::{Missing, Rules};
use robots_audit::dataset::shape::Shape;
use robots_audit::dataset::snapshots::{Opening, Snapshots};
use robots_audit::dataset::tally::Tally;
use robots_audit::robots::access::Policy;
use robots_audit::robots::token::Matching;
use robots_audit::source::folder::Folder;
use robots_audit::source::input::{Distinct, OriginInputs, UrlInputs};
use robots_audit::source::snapshot::Snapshot;
use serde_json::{Map, Value};
use tempfile::TempDir;

use twin_records::{Record, lines, records, unquoted};

mod twin_records;

/// Rules with what delimited text has to put in quotes.
const BODY: &[u8] = b"User-agent: *\nDisallow: /x,\"y\";z\tw\nDisallow: /x\r\nAllow: /a\n";
/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// How octets begin that are taken for something packed, or for UTF-16.
const PACKED: [&[u8]; 8] =
    [b"\x1F\x8B", b"\x28\xB5\x2F\xFD", b"PK", b"PAR", b"BZh", b"\xFD7z", b"\xFF\xFE", b"\xFE\xFF"];

/// What the octets are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Tsv,
    Ndjson,
    Text,
}

fuzz_target!(|input: &[u8]| {
    let Some((form, octets)) = input.split_first() else { return };
    let (form, name) = match form % 4 {
        0 => (Form::Csv, "x.csv"),
        1 => (Form::Tsv, "x.tsv"),
        2 => (Form::Ndjson, "x.ndjson"),
        _ => (Form::Text, "x.txt"),
    };
    let path = world().folder.path().join(name);
    fs::write(&path, octets).expect("written");
    let is_packed = PACKED.iter().any(|magic| octets.starts_with(magic)) || is_skippable(octets);
    let text = octets.strip_prefix(MARK).unwrap_or(octets);
    check_urls(&path, form, text, is_packed);
    check_origins(&path, text, is_packed);
    if form != Form::Text {
        check_rows(&path, form, octets, input[0] / 4 % 2 == 1, is_packed);
    }
});

/// A frame of zstd that readers pass over.
fn is_skippable(octets: &[u8]) -> bool {
    matches!(octets, [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..])
}

struct World {
    folder: TempDir,
    annotator: Annotator,
    pool: Arc<rayon::ThreadPool>,
}

/// A snapshot of one origin, opened once.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("bodies")).expect("a folder");
        fs::write(at("bodies").join("a.test.txt"), BODY).expect("written");
        let registry = Registry::embedded();
        let asked = registry.select("GPTBot,a").expect("crawlers");
        let plan = Arc::new(Plan::new(registry, &asked, Policy::Rfc9309, Matching::Rfc9309, false));
        let source = Source::Folder(Arc::new(Folder::open(&at("bodies")).expect("a folder")));
        let mut output = Output::open(&at("snapshot"), &plan.tables()).expect("a folder");
        let report = audit(&plan, &source, None, None, 1, &mut output, &mut |_| {}).expect("a run");
        output.finish(&report.footer).expect("written");
        let snapshot = Snapshot::open(&at("snapshot")).expect("a snapshot");
        let opening = Opening { spool: folder.path(), cache_octets: 1 << 20, shows_rules: true };
        let snapshots = Snapshots::open(plan, &[snapshot], opening).expect("opened");
        let settings = Settings {
            prefix: PREFIX.to_owned(),
            url_column: URL_COLUMN.to_owned(),
            as_of: AsOf::Newest,
            training: true,
            rules: true,
            fails_on_bad_url: false,
        };
        let annotator = Annotator::new(Arc::new(snapshots), settings);
        World { annotator, pool: pipeline::pool(1).expect("a thread"), folder }
    })
}

fn looks_like_json(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Each line is a URL, has none, or is blank; and the URLs are those of the twin.
fn check_urls(path: &Path, form: Form, text: &[u8], is_packed: bool) {
    let arguments = [path.to_str().expect("a name").to_owned()];
    let expected = if is_packed || looks_like_json(text) { None } else { Some(urls_of(form, text)) };
    let Ok(mut inputs) = UrlInputs::open(&arguments, None) else {
        let opens = matches!(form, Form::Csv | Form::Tsv) || expected.is_none();
        assert!(opens && expected.flatten().is_none(), "{form:?} is not opened");
        return;
    };
    let (mut urls, mut is_whole) = (Vec::new(), true);
    for batch in inputs.by_ref() {
        match batch {
            Ok(batch) => urls.extend(batch.iter().map(<[u8]>::to_vec)),
            Err(_) => is_whole = false,
        }
    }
    let counts = inputs.counts();
    assert_eq!(counts.lines, counts.urls + counts.blank_or_comment + counts.nulls);
    assert!(!is_whole || counts.urls == urls.len() as u64);
    if let Some(expected) = expected {
        assert_eq!(is_whole, expected.is_some(), "{counts:?}");
        if let Some((lines, expected)) = expected {
            assert_eq!((counts.lines, urls), (lines, expected));
        }
    } else if is_whole && !is_packed && text.trim_ascii_start().starts_with(b"{") {
        assert_eq!(counts.lines, lines(text).len() as u64);
    }
}

/// Lines and URLs; `None` where the list cannot be read to its end, or has no such column.
fn urls_of(form: Form, text: &[u8]) -> Option<(u64, Vec<Vec<u8>>)> {
    if matches!(form, Form::Text | Form::Ndjson) {
        let lines = lines(text);
        let urls = lines.iter().map(|line| line.fields[0].trim_ascii());
        let urls = urls.filter(|line| !line.is_empty() && !line.starts_with(b"#")).map(<[u8]>::to_vec).collect();
        return Some((lines.len() as u64, urls));
    }
    let first = lines(text).into_iter().find(|line| !line.raw.trim_ascii().is_empty());
    let has = |octet| first.as_ref().is_some_and(|line| line.raw.contains(&octet));
    let delimiter = if has(b'\t') && !has(b',') { b'\t' } else { b',' };
    let records = records(text, delimiter)?;
    let mut records = records.iter().skip_while(|record| record.fields == [b""]);
    let names = &records.next()?.fields;
    let place = names.iter().position(|name| unquoted(name).trim_ascii() == b"url")?;
    let (mut count, mut urls) = (0, Vec::new());
    for record in records {
        count += 1;
        let value = record.fields.get(place).map(|field| unquoted(field).into_owned());
        urls.extend(value.filter(|value| !value.is_empty()));
    }
    Some((count, urls))
}

/// Each line is a row, one that was there before, or blank.
fn check_origins(path: &Path, text: &[u8], is_packed: bool) {
    let arguments = [path.to_str().expect("a name").to_owned()];
    let Ok(inputs) = OriginInputs::open(&arguments, None) else { return };
    let mut distinct = Distinct::new(inputs);
    let (mut rows, mut last, mut is_whole) = (0, 0, true);
    for line in distinct.by_ref() {
        let Ok(line) = line else {
            is_whole = false;
            continue;
        };
        assert!(line.line > last, "{line:?}");
        (rows, last) = (rows + 1, line.line);
    }
    let counts = distinct.counts();
    assert_eq!(counts.lines, counts.duplicates + counts.blank_or_comment + counts.invalid + counts.distinct);
    assert_eq!(rows, counts.invalid + counts.distinct);
    if is_whole && !is_packed {
        assert!(last <= lines(text).len() as i64);
        assert!(counts.lines <= lines(text).len() as u64);
    }
}

/// Rewrites a text, and looks at what came of it.
fn check_rows(path: &Path, form: Form, octets: &[u8], is_filter: bool, is_packed: bool) {
    let World { folder, annotator, pool } = world();
    let folders = [folder.path().join("kept"), folder.path().join("excluded")];
    let [kept, excluded] = folders.clone();
    let rules =
        Rules { missing: Missing::Drop, keeps_deferred: false, denied: vec![0], training_against: false, keep: None };
    let task = match is_filter {
        true => Task::Filter { rules, excluded: Some(excluded.clone()) },
        false => Task::Annotate(Shape::Annotated),
    };
    let job = Job { annotator: annotator.clone(), task, output: kept.clone(), overwrites: false };
    let done = job.plan(&[path.to_owned()]).and_then(|planned| job.run(&planned[0], pool));
    let name = path.file_name().expect("a name");
    match done {
        Ok(tally) if !is_packed => {
            let read = |folder: &PathBuf| fs::read(folder.join(name)).unwrap_or_default();
            let fields = annotator.fields();
            let added: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            let added = if is_filter { vec!["robots_reason"] } else { added };
            check_outputs(form, octets, &[read(&kept), read(&excluded)], &added, is_filter, &tally);
        }
        Ok(_) => {}
        Err(error) => {
            for folder in folders.iter().filter(|folder| folder.exists()) {
                let left = fs::read_dir(folder).expect("a folder").count();
                assert_eq!(left, 0, "{error}");
            }
            let is_told = is_packed
                || !is_sound(
                    form,
                    octets,
                    &annotator.fields()[..].iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
                );
            assert!(is_told, "{error}: {:?}", std::error::Error::source(&error));
        }
    }
    for folder in folders {
        let _ = fs::remove_dir_all(folder);
    }
}

fn delimiter_of(form: Form, text: &[u8]) -> u8 {
    let first = lines(text).into_iter().next();
    let has = |octet: &u8| first.as_ref().is_some_and(|line| line.raw.contains(octet));
    match form {
        Form::Tsv => b'\t',
        _ => [b',', b';', b'\t'].into_iter().find(has).unwrap_or(b','),
    }
}

fn is_blank(record: &Record<'_>) -> bool {
    record.raw.trim_ascii().is_empty() && !record.raw.contains(&b'\t')
}

fn split(form: Form, text: &[u8], delimiter: u8) -> Option<Vec<Record<'_>>> {
    if form == Form::Ndjson { Some(lines(text)) } else { records(text, delimiter) }
}

/// Whether nothing is wrong with a delimited text: it must be worked on then. What is wrong with JSON is its parser's
/// business.
fn is_sound(form: Form, octets: &[u8], added: &[&str]) -> bool {
    let text = octets.strip_prefix(MARK).unwrap_or(octets);
    let Some(records) = split(form, text, delimiter_of(form, text)).filter(|_| form != Form::Ndjson) else {
        return false;
    };
    let Some((header, rows)) = records.split_first() else { return false };
    let names: Vec<_> = header.fields.iter().map(|name| unquoted(name)).collect();
    let clashes = names.iter().any(|name| added.iter().any(|added| added.as_bytes().eq_ignore_ascii_case(name)));
    names.iter().any(|name| **name == *b"url")
        && !clashes
        && rows.iter().all(|row| is_blank(row) || row.fields.len() == header.fields.len())
}

/// Every record stands in one of the outputs as it was, with what was added behind it.
fn check_outputs(form: Form, octets: &[u8], outputs: &[Vec<u8>; 2], added: &[&str], is_filter: bool, tally: &Tally) {
    let mark = octets.starts_with(MARK);
    let text = octets.strip_prefix(MARK).unwrap_or(octets);
    let delimiter = delimiter_of(form, text);
    let of_output = |output| {
        let text = if mark { <[u8]>::strip_prefix(output, MARK).expect("the mark stays") } else { output };
        split(form, text, delimiter).expect("an output is sound")
    };
    let (before, kept, excluded) = (
        split(form, text, delimiter).expect("no open quote is written over"),
        of_output(&outputs[0][..]),
        if is_filter { of_output(&outputs[1][..]) } else { Vec::new() },
    );
    let (mut before, mut kept, mut excluded) = (before.iter(), kept.iter().peekable(), excluded.iter());
    if form != Form::Ndjson {
        let header = before.next().expect("a header");
        match is_filter {
            true => {
                assert_eq!(kept.next(), Some(header));
                check_added(form, header, excluded.next().expect("a header"), added, true);
            }
            false => check_added(form, header, kept.next().expect("a header"), added, true),
        }
    }
    let (mut rows, mut rows_kept) = (0, 0);
    for record in before {
        if is_blank(record) {
            assert_eq!(kept.next(), Some(record));
            continue;
        }
        rows += 1;
        if !is_filter {
            check_added(form, record, kept.next().expect("a row"), added, false);
        } else if kept.next_if(|kept| *kept == record).is_some() {
            rows_kept += 1;
        } else {
            check_added(form, record, excluded.next().expect("a row"), added, false);
        }
    }
    assert!(kept.next().is_none() && excluded.next().is_none());
    assert_eq!(tally.rows, rows);
    assert!(!is_filter || tally.kept == rows_kept);
}

fn check_added(form: Form, before: &Record<'_>, after: &Record<'_>, added: &[&str], is_header: bool) {
    if form != Form::Ndjson {
        let (stayed, new) = after.fields.split_at(before.fields.len());
        assert_eq!((stayed, after.end), (&before.fields[..], before.end));
        assert_eq!(new.len(), added.len(), "{after:?}");
        assert!(!is_header || new.iter().zip(added).all(|(new, added)| *new == added.as_bytes()));
        return;
    }
    let close = before.raw.iter().rposition(|octet| *octet == b'}').expect("an object");
    let (head, tail) = before.raw.split_at(before.raw[..close].trim_ascii_end().len());
    let new = after.raw.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)).expect("what stood there stays");
    let members = [b"{", new.strip_prefix(b",").unwrap_or(new), b"}"].concat();
    let members: Map<String, Value> = serde_json::from_slice(&members).expect("members");
    assert!(members.keys().eq(added), "{members:?}");
    let keys = |line| serde_json::from_slice::<Map<String, Value>>(line).map(|object| object.len());
    if let Ok(count) = keys(before.raw) {
        assert_eq!(keys(after.raw).ok(), Some(count + added.len()));
    }
}
