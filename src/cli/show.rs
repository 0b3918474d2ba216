//! The only place that writes to stdout, and with `log` to stderr.

use std::io::{self, ErrorKind, Write};

use serde_json::{Map, Value};

use super::exit::{Exit, Failed};
use super::log::{self, Kind};
use crate::tables::text::{ascii_json, for_people};

/// Facts of the header fields of an answer that people are shown; JSON has them all.
pub(super) const HEADER_FACTS: usize = 8;

/// Writes text to stdout.
pub(super) fn text(text: &str) -> Result<Exit, Failed> {
    octets(text.as_bytes())
}

/// Writes lines that hold text from outside to stdout, made safe for a terminal.
pub(super) fn lines(text: &str) -> Result<Exit, Failed> {
    let safe = text.lines().map(|line| for_people(line) + "\n");
    octets(safe.collect::<String>().as_bytes())
}

/// Writes JSON to stdout, in ASCII alone: what comes from outside must not steer a terminal.
pub(super) fn json(value: &Value) -> Result<Exit, Failed> {
    text(&(ascii_json(&format!("{value:#}")) + "\n"))
}

/// Writes octets to stdout. A reader that has seen enough is no failure.
pub(super) fn octets(octets: &[u8]) -> Result<Exit, Failed> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(octets).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failed::running(anyhow::Error::new(error).context("cannot write to standard output")))
        }
        _ => Ok(Exit::Done),
    }
}

/// Says an error and its causes, in one line where they have no lines of their own.
pub(super) fn error(error: &anyhow::Error) {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    let lines: Vec<String> = causes.join(": ").lines().map(|line| for_people(line).into_owned()).collect();
    let text = lines.join("\n");
    if !log::say(Kind::Error, &text, Map::new()) {
        line(&format!("error: {text}"));
    }
}

/// Says something that may be wrong.
pub(super) fn warning(text: &str) {
    if !log::say(Kind::Warning, text, Map::new()) {
        line(&format!("warning: {text}"));
    }
}

/// Says something worth knowing.
pub(super) fn remark(text: &str) {
    if !log::say(Kind::Remark, text, Map::new()) {
        line(text);
    }
}

/// Writes a line to stderr.
fn line(text: &str) {
    // Where nobody reads, nothing is lost.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
