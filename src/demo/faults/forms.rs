//! M14: text that would steer a terminal, break a reader or run in a spreadsheet, in every form of output.

use std::fs;
use std::process::Command;

use anyhow::Context;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::Value;

use super::super::seeded::Seeded;
use super::child::without_settings;
use super::ledger::open_visible;
use super::{Bench, Outcome, Tally};
use crate::source::snapshot::Snapshot;

/// What a body may hold that nobody wants to see unescaped.
const HOSTILE: [&[u8]; 30] = [
    b"\x1b[2J\x1b[H",
    b"\x1b]0;title\x07",
    b"\x07",
    b"\x08\x08\x08",
    b"\x7f",
    b"\0",
    b"\x0b\x0c",
    b"\t",
    b"\x1b[31m",
    b"\xc2\x9b31m",
    b"\xc2\x85",
    b"\xe2\x80\xae",
    b"\xe2\x81\xa6",
    b"\xe2\x80\x8b",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\xf3\xa0\x80\xa1",
    b"\xff\xfe",
    b"\xc3",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"=cmd|' /C calc'!A0",
    b"+1+1",
    b"-2+3",
    b"@SUM(1)",
    b"\"quoted\"",
    b"'; DROP TABLE x; --",
    b"</script>",
    b",;|",
];

/// Two thousand bodies: a folder of them to tables and report, each of them to `check` in both forms.
pub(super) fn hostile_text(bench: &Bench) -> anyhow::Result<Outcome> {
    let bodies: u64 = bench.scale.of(60, 2_000);
    let folder = bench.folder.join("bodies");
    fs::create_dir_all(&folder)?;
    for index in 0..bodies {
        fs::write(folder.join(name(index)), body(index))?;
    }
    let urls: Vec<String> = (0..bodies).map(|index| format!("https://h{index}.test/{}\n", path(index))).collect();
    fs::write(bench.folder.join("urls.txt"), urls.concat())?;
    let mut outcome = tables(bench, bodies)?;
    let complaints: Vec<String> = (0..bodies)
        .into_par_iter()
        .map(|index| Ok(check(bench, index)?.map(|complaint| format!("body {index}: {complaint}"))))
        .collect::<anyhow::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    outcome.tally.injected = bodies;
    outcome.tally.survived = bodies - complaints.len() as u64;
    outcome.complaints.extend(complaints);
    Ok(outcome)
}

fn name(index: u64) -> String {
    format!("h{index}.test.txt")
}

/// Hostile text in every place that a line has.
fn body(index: u64) -> Vec<u8> {
    let mut seeded = Seeded::new(14, index);
    let mut body = Vec::new();
    for (before, between) in [
        (&b"User-agent: *\nDisallow: /"[..], &b"\nAllow: /*"[..]),
        (b"\nUser-agent: ", b"\nDisallow: "),
        (b"\nSitemap: https://a.test/", b"\n#"),
        (b"\n", b": no such field\nCrawl-delay: "),
        (b"\nUser-agent: __usage_ai-training", b"\nDisallow: /"),
    ] {
        for part in [before, seeded.pick(&HOSTILE), seeded.pick(&HOSTILE), between, seeded.pick(&HOSTILE)] {
            body.extend_from_slice(part);
        }
    }
    body.push(b'\n');
    body
}

/// A path that asks for hostile text, as far as an argument can hold it.
fn path(index: u64) -> String {
    let hostile = Seeded::new(15, index).pick(&HOSTILE);
    String::from_utf8_lossy(hostile).replace(['\0', '\n'], "")
}

/// `audit` of the folder: what it says, and what it writes.
fn tables(bench: &Bench, bodies: u64) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let arguments = ["audit", "--from", "dir:bodies", "--urls", "urls.txt", "-o", "out"];
    let said = said(bench, &arguments)?;
    outcome.complaints.extend(complaint(&said).map(|complaint| format!("the report: {complaint}")));
    let output = bench.folder.join("out");
    let files = open_visible(&output)?;
    let rows: u64 = Snapshot::open(&output)?
        .fetches()
        .try_fold(0, |rows, batch| -> anyhow::Result<u64> { Ok(rows + batch?.num_rows() as u64) })?;
    serde_json::from_str::<Value>(&fs::read_to_string(output.join("run.json"))?)?;
    outcome.tally = Tally {
        origins: bodies,
        rows,
        lost: bodies.saturating_sub(rows),
        duplicated: rows.saturating_sub(bodies),
        ..Tally::default()
    };
    outcome.fact(format!("{files} table files open"));
    Ok(outcome)
}

/// `check` of one body, as text and as JSON.
fn check(bench: &Bench, index: u64) -> anyhow::Result<Option<String>> {
    let (file, url) = (format!("bodies/{}", name(index)), format!("/{}", path(index)));
    let text = said(bench, &["check", &file, "--url", &url])?;
    let json = said(bench, &["check", &file, "--url", &url, "--format", "json"])?;
    let is_json = serde_json::from_slice::<Value>(&json).is_ok();
    let complaint = complaint(&text).or_else(|| complaint(&json).map(|complaint| format!("as JSON: {complaint}")));
    Ok(complaint.or_else(|| (!is_json).then(|| "what should be JSON is none".to_owned())))
}

/// What the program says on a terminal.
fn said(bench: &Bench, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new(&bench.program);
    without_settings(&mut command);
    let output = command.current_dir(&bench.folder).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {}", bench.program.display()))?;
    let said = [output.stdout, output.stderr].concat();
    anyhow::ensure!(
        output.status.success(),
        "{arguments:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&said)
    );
    Ok(said)
}

/// What does not belong on a terminal.
fn complaint(said: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(said) else { return Some("not UTF-8".to_owned()) };
    text.chars().find(|c| steers(*c)).map(|c| format!("a raw U+{:04X}", u32::from(c)))
}

/// C0 but for line ends, DEL, C1, zero-width and bidi characters, separators, the byte order mark, tags.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_seen() {
        assert_eq!(complaint(b"plain \xc3\xa9\n"), None);
        for hostile in [&b"\x1b[2J"[..], b"\r", b"\xc2\x9b", b"\xe2\x80\xae", b"\xff"] {
            assert!(complaint(hostile).is_some(), "{}", hostile.escape_ascii());
        }
    }
}
