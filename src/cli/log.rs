//! The log: on stderr, as lines for people or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;

use super::args::{Color, Global};

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
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
    } else {
        log.with_ansi(has_colors(global, std::io::stderr().is_terminal())).init();
    }
}

/// Whether to use colours on a stream.
pub(super) fn has_colors(global: &Global, is_terminal: bool) -> bool {
    match global.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}
