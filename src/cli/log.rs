//! The log: on stderr, as lines for people or as JSON.

use tracing_subscriber::filter::LevelFilter;

use super::args::Global;

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
        log.with_ansi(global.color.is_wanted(&std::io::stderr())).init();
    }
}
