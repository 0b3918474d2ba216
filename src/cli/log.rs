//! What goes to stderr beside results: lines for people, or with `--log-json` a JSON object a line and nothing else.
//!
//! Under `--log-json` everything passes [`say`]: remarks, errors, how far a run is, and as the last line what came of
//! it. What libraries log has the same form. This module alone knows the mode.

use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tracing_subscriber::filter::LevelFilter;

use super::args::Global;
use super::exit::Exit;
use crate::tables::text::ascii_json;

/// The flag as typed, for what is wrong with the flags themselves.
const FLAG: &str = "--log-json";

/// Set where the log is JSON.
static JSON: OnceLock<JsonLog> = OnceLock::new();

struct JsonLog {
    is_quiet: bool,
    begun: Instant,
    closing: Mutex<Closing>,
}

/// What the last line will tell.
#[derive(Default)]
struct Closing {
    totals: Value,
    is_whole: bool,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something worth knowing.
    Remark,
    /// Something that may be wrong.
    Warning,
    /// What ends the program.
    Error,
    /// A stage begins.
    Stage,
    /// How far it is.
    Progress,
    /// The program ends.
    End,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Remark => "remark",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Stage => "stage",
            Self::Progress => "progress",
            Self::End => "end",
        }
    }

    const fn level(self) -> &'static str {
        match self {
            Self::Remark | Self::Stage | Self::Progress | Self::End => "INFO",
            Self::Warning => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// Sets up the log: warnings, and more with `-v`. As JSON it is read by programs, which want to know how far things are.
pub(super) fn set_up(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) if !global.log_json => LevelFilter::WARN,
        (false, 0 | 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::TRACE,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    if global.log_json {
        begin_json(global.quiet);
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
        // One origin's panic is caught and becomes its row; what is said of it is no line for people here.
        std::panic::set_hook(Box::new(|panic| {
            say(Kind::Error, &panic.to_string(), Map::new());
        }));
    } else {
        log.with_ansi(global.color.is_wanted(&std::io::stderr())).init();
    }
}

/// The same for flags that could not be read: whether JSON was asked for is then seen in them as typed.
pub(super) fn set_up_unread() {
    if std::env::args_os().any(|flag| flag == FLAG) {
        begin_json(false);
    }
}

fn begin_json(is_quiet: bool) {
    JSON.get_or_init(|| JsonLog { is_quiet, begun: Instant::now(), closing: Mutex::default() });
}

/// Whether the log is JSON.
pub(super) fn is_json() -> bool {
    JSON.get().is_some()
}

/// Writes a line where the log is JSON; whether it is.
pub(super) fn say(kind: Kind, message: &str, facts: Map<String, Value>) -> bool {
    let Some(log) = JSON.get() else { return false };
    if log.is_quiet && kind != Kind::Error {
        return true;
    }
    let mut line = Map::new();
    line.insert("timestamp".to_owned(), jiff::Timestamp::now().to_string().into());
    line.insert("level".to_owned(), kind.level().into());
    line.insert("event".to_owned(), kind.as_str().into());
    line.insert("message".to_owned(), message.into());
    line.extend(facts);
    // In one piece, so that no other thread's line comes between. Where nobody reads, nothing is lost.
    let text = ascii_json(&Value::from(line).to_string()) + "\n";
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    true
}

/// Notes what the last line tells of a run that ends early: how far it is.
pub(super) fn so_far(totals: impl FnOnce() -> Value) {
    let Some(log) = JSON.get() else { return };
    let mut closing = log.closing.lock().unwrap_or_else(PoisonError::into_inner);
    if !closing.is_whole {
        closing.totals = totals();
    }
}

/// Notes what the last line tells of a whole run.
pub(super) fn whole(totals: impl FnOnce() -> Value) {
    let Some(log) = JSON.get() else { return };
    *log.closing.lock().unwrap_or_else(PoisonError::into_inner) = Closing { totals: totals(), is_whole: true };
}

/// The last line: how the program ends.
pub(super) fn end(exit: Exit) {
    let Some(log) = JSON.get() else { return };
    let totals = std::mem::take(&mut log.closing.lock().unwrap_or_else(PoisonError::into_inner).totals);
    let facts = json!({ "exit_code": exit as u8, "seconds": log.begun.elapsed().as_secs_f64(), "totals": totals });
    say(Kind::End, "ends", facts.as_object().cloned().unwrap_or_default());
}
