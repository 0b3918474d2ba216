//! Readers of a run's events: a bar on a terminal, a log on stderr.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tracing_subscriber::filter::LevelFilter;

use super::args::{Color, Global};
use crate::audit::event::{Event, Stage};
use crate::report::text::number;
use crate::robots::access::FetchClass;

/// How often the bar is drawn again, and the counts beside it are written anew.
const REDRAW: Duration = Duration::from_millis(100);

/// Sets up the log: warnings, and more with `-v`.
pub(super) fn log(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::TRACE,
    };
    let colors = match global.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    };
    tracing_subscriber::fmt().with_max_level(level).with_ansi(colors).with_writer(std::io::stderr).init();
}

/// The bar.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Origins by class, so far.
    classes: BTreeMap<FetchClass, u64>,
    total: Option<u64>,
    stage: Option<Stage>,
    redrawn: Instant,
}

impl Progress {
    /// A bar where stderr is a terminal, nothing elsewhere. `origins` is how many are known to come.
    pub(super) fn new(global: &Global, origins: Option<u64>) -> Self {
        let is_shown = !global.no_progress && !global.quiet && std::io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            bar: ProgressBar::with_draw_target(None, target),
            classes: BTreeMap::new(),
            total: origins,
            stage: None,
            redrawn: Instant::now(),
        }
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Stage(stage, total) => self.begin(stage, total),
            // Not `inc`: rows that were there before are no part of the rate.
            Event::Kept(rows) => self.bar.set_position(rows),
            Event::Fetched(class) => {
                *self.classes.entry(class).or_default() += 1;
                self.bar.inc(1);
                if self.redrawn.elapsed() > REDRAW {
                    self.redrawn = Instant::now();
                    self.bar.set_message(self.classes());
                }
            }
            Event::Compiled(bodies) => self.advance(Stage::Compile, bodies),
            Event::Audited(origins) => self.advance(Stage::Origins, origins),
            Event::Evaluated(urls) => self.advance(Stage::Urls, urls),
        }
    }

    fn advance(&self, stage: Stage, count: u64) {
        if self.stage == Some(stage) {
            self.bar.inc(count);
        }
    }

    fn begin(&mut self, stage: Stage, total: Option<u64>) {
        tracing::info!(?stage, "begins");
        self.stage = Some(stage);
        let total = if stage == Stage::Fetch { self.total.or(total) } else { total };
        let (what, unit) = match stage {
            Stage::Fetch => ("fetching", "origins"),
            Stage::Compile => ("compiling", "bodies"),
            Stage::Origins => ("auditing", "origins"),
            Stage::Urls => ("evaluating", "URLs"),
            Stage::Finish => ("finishing", "tables"),
        };
        let counts = match total {
            Some(_) => format!("{{bar:24}} {{human_pos}} / {{human_len}} {unit}  {{rate}}  eta {{eta}}"),
            None => format!("{{spinner}} {{human_pos}} {unit}  {{rate}}  {{elapsed}}"),
        };
        let style = ProgressStyle::with_template(&format!("{what:<10} {counts}  {{wide_msg}}"));
        let rate = |state: &ProgressState, text: &mut dyn Write| {
            // Nothing to do about a line that cannot be drawn.
            let _ = write!(text, "{:.0}/s", state.per_sec());
        };
        self.bar.set_style(style.expect("a valid template").with_key("rate", rate));
        self.bar.reset();
        self.bar.enable_steady_tick(REDRAW);
        self.bar.set_message("");
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
    }

    fn classes(&self) -> String {
        let mut counts: Vec<_> = self.classes.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shown = counts.iter().take(5).map(|(class, count)| format!("{class} {}", number(**count)));
        shown.collect::<Vec<_>>().join(" · ")
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
