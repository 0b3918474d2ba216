//! Reads a run's events: a bar on a terminal, lines of the log elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::args::Global;
use super::health::Health;
use crate::audit::event::{Event, Stage};
use crate::report::text::number;
use crate::robots::access::FetchClass;
use crate::source::http::Fetcher;

/// How often the bar is drawn again, and the counts beside it are written anew.
const REDRAW: Duration = Duration::from_millis(100);
/// Classes beside the bar.
const CLASSES_SHOWN: usize = 5;
/// How often the log says how far the fetches are.
const LOGGED: Duration = Duration::from_secs(10);

/// The bar.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Origins by class, so far.
    classes: BTreeMap<FetchClass, u64>,
    total: Option<u64>,
    stage: Option<Stage>,
    redrawn: Instant,
    /// When the log was last told, and the rows until then.
    logged: (Instant, u64),
    /// Rows, those of an unfinished run among them.
    rows: u64,
    fetcher: Option<Arc<Fetcher>>,
    health: Health,
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
            logged: (Instant::now(), 0),
            rows: 0,
            fetcher: None,
            health: Health::new(!global.quiet),
        }
    }

    /// A bar for fetches.
    pub(super) fn of_fetches(global: &Global, origins: u64, fetcher: Arc<Fetcher>) -> Self {
        Self { fetcher: Some(fetcher), ..Self::new(global, Some(origins)) }
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Stage(stage, total) => self.begin(stage, total),
            Event::Kept(rows) => {
                // Not `inc`: rows that were there before are no part of the rate.
                self.bar.set_position(rows);
                (self.rows, self.logged.1) = (rows, rows);
            }
            Event::Fetched(class) => self.fetched(class),
            Event::Indexed(captures) => self.advance(Stage::Index, captures),
            Event::Ingested => self.advance(Stage::Ingest, 1),
            Event::Compiled(bodies) => self.advance(Stage::Compile, bodies),
            Event::Audited(origins) => self.advance(Stage::Origins, origins),
            Event::Evaluated(urls) => self.advance(Stage::Urls, urls),
        }
    }

    fn fetched(&mut self, class: FetchClass) {
        *self.classes.entry(class).or_default() += 1;
        self.rows += 1;
        self.bar.inc(1);
        if let Some(complaint) = self.health.count(class) {
            self.complain(&complaint);
        }
        if self.redrawn.elapsed() > REDRAW {
            self.redrawn = Instant::now();
            let complaint = self.fetcher.as_ref().and_then(|fetcher| self.health.look_at(&fetcher.own_failures()));
            if let Some(complaint) = complaint {
                self.complain(&complaint);
            }
            self.bar.set_message(self.state());
            self.log();
        }
    }

    /// Above the bar, or as a line of its own where there is none.
    fn complain(&self, complaint: &str) {
        self.bar.suspend(|| tracing::warn!("{complaint}"));
    }

    /// Says how far the fetches are, now and then.
    fn log(&mut self) {
        let (then, rows) = self.logged;
        let elapsed = then.elapsed();
        if elapsed < LOGGED {
            return;
        }
        self.logged = (Instant::now(), self.rows);
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let per_second = (self.rows - rows) as f64 / elapsed.as_secs_f64();
        let left = self.total.map(|total| total.saturating_sub(self.rows));
        #[expect(clippy::cast_precision_loss, reason = "a guess")]
        let eta_s = left.map(|left| (left as f64 / per_second.max(f64::MIN_POSITIVE)).round());
        tracing::info!(
            rows = self.rows,
            of = self.total,
            per_second = per_second.round(),
            eta_s,
            under_way = self.fetcher.as_ref().map(|fetcher| fetcher.under_way()),
            classes = self.classes(usize::MAX),
            "fetching"
        );
    }

    /// What stands beside the bar.
    fn state(&self) -> String {
        let under_way = self.fetcher.as_ref().map(|fetcher| format!("{} under way · ", number(fetcher.under_way())));
        under_way.unwrap_or_default() + &self.classes(CLASSES_SHOWN)
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
            Stage::Index => ("indexing", "captures"),
            Stage::Ingest => ("reading", "origins"),
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

    /// The most frequent classes.
    fn classes(&self, most: usize) -> String {
        let mut counts: Vec<_> = self.classes.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shown = counts.iter().take(most).map(|(class, count)| format!("{class} {}", number(**count)));
        shown.collect::<Vec<_>>().join(" · ")
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
