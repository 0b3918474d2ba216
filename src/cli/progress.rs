//! Reads a run's events: a bar on a terminal, lines of the log elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::{Map, Value, json};

use super::args::Global;
use super::health::Health;
use super::log::{self, Kind};
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
    /// Rows of `fetches`, those of an unfinished run among them.
    rows: u64,
    /// Rows of `fetches` that are known to come.
    total: Option<u64>,
    stage: Option<Stage>,
    /// Items of the stage that are done, and how many there are.
    done: u64,
    of: Option<u64>,
    redrawn: Instant,
    /// When the log was last told, and what was done until then.
    logged: (Instant, u64),
    fetcher: Option<Arc<Fetcher>>,
    health: Health,
}

impl Progress {
    /// A bar where stderr is a terminal, nothing elsewhere. `rows` is how many are known to come.
    pub(super) fn new(global: &Global, rows: Option<u64>) -> Self {
        let is_wanted = !global.no_progress && !global.quiet && !global.log_json;
        let is_shown = is_wanted && std::io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            bar: ProgressBar::with_draw_target(None, target),
            classes: BTreeMap::new(),
            rows: 0,
            total: rows,
            stage: None,
            done: 0,
            of: None,
            redrawn: Instant::now(),
            logged: (Instant::now(), 0),
            fetcher: None,
            health: Health::new(!global.quiet),
        }
    }

    /// A bar for fetches.
    pub(super) fn of_fetches(global: &Global, rows: u64, fetcher: Arc<Fetcher>) -> Self {
        let mut progress = Self::new(global, Some(rows));
        progress.fetcher = Some(fetcher);
        progress
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Stage(stage, total) => self.begin(stage, total),
            Event::Kept(rows) => {
                // Not `inc`: rows that were there before are no part of the rate.
                self.bar.set_position(rows);
                (self.rows, self.done, self.logged.1) = (rows, rows, rows);
            }
            Event::Fetched(class) => self.fetched(class),
            Event::Waiting => self.look_around(),
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
        self.done += 1;
        self.bar.inc(1);
        if let Some(complaint) = self.health.count(class) {
            self.complain(&complaint);
        }
        self.look_around();
    }

    /// What is to be told from time to time, whether or not an origin has ended.
    fn look_around(&mut self) {
        if self.redrawn.elapsed() <= REDRAW {
            return;
        }
        self.redrawn = Instant::now();
        let complaint = self.fetcher.as_ref().and_then(|fetcher| self.health.look_at(&fetcher.own_failures()));
        if let Some(complaint) = complaint {
            self.complain(&complaint);
        }
        self.bar.set_message(self.state());
        log::so_far(|| self.totals());
        self.log();
    }

    /// Above the bar, or as a line of its own where there is none.
    fn complain(&self, complaint: &str) {
        self.bar.suspend(|| {
            if !log::say(Kind::Warning, complaint, Map::new()) {
                tracing::warn!("{complaint}");
            }
        });
    }

    /// Says how far the stage is, now and then.
    fn log(&mut self) {
        let (then, done_then) = self.logged;
        let elapsed = then.elapsed();
        let Some(stage) = self.stage.filter(|_| elapsed >= LOGGED) else { return };
        self.logged = (Instant::now(), self.done);
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let per_second = (self.done - done_then) as f64 / elapsed.as_secs_f64();
        let left = self.of.map(|of| of.saturating_sub(self.done));
        #[expect(clippy::cast_precision_loss, reason = "a guess")]
        let eta_s = left.filter(|_| per_second > 0.0).map(|left| (left as f64 / per_second).round());
        let under_way = self.fetcher.as_ref().filter(|_| stage == Stage::Fetch).map(|fetcher| fetcher.under_way());
        if !log::is_json() {
            if stage == Stage::Fetch {
                let classes = self.classes(usize::MAX);
                tracing::info!(
                    rows = self.rows,
                    of = self.of,
                    per_second = per_second.round(),
                    eta_s,
                    under_way,
                    classes,
                    "fetching"
                );
            }
            return;
        }
        let mut facts = object(json!({ "stage": name(stage) }));
        facts.insert(if stage == Stage::Fetch { "rows" } else { "done" }.to_owned(), self.done.into());
        facts.extend(object(json!({ "of": self.of, "per_second": per_second.round(), "eta_s": eta_s })));
        if stage == Stage::Fetch {
            facts.extend(object(json!({ "under_way": under_way, "classes": self.counts() })));
        }
        log::say(Kind::Progress, what(stage).0, facts);
    }

    /// Origins by class, as numbers.
    fn counts(&self) -> Map<String, Value> {
        self.classes.iter().map(|(class, count)| (class.to_string(), (*count).into())).collect()
    }

    /// What is known of a run that ends now.
    fn totals(&self) -> Value {
        json!({ "rows": self.rows, "classes": self.counts() })
    }

    /// What stands beside the bar.
    fn state(&self) -> String {
        let under_way = self.fetcher.as_ref().map(|fetcher| format!("{} under way · ", number(fetcher.under_way())));
        under_way.unwrap_or_default() + &self.classes(CLASSES_SHOWN)
    }

    fn advance(&mut self, stage: Stage, count: u64) {
        if self.stage == Some(stage) {
            self.bar.inc(count);
            self.done += count;
            if log::is_json() {
                self.log();
            }
        }
    }

    fn begin(&mut self, stage: Stage, total: Option<u64>) {
        let total = if stage == Stage::Fetch { self.total.or(total) } else { total };
        if !log::say(Kind::Stage, "begins", object(json!({ "stage": name(stage), "of": total }))) {
            tracing::info!(?stage, "begins");
        }
        self.stage = Some(stage);
        (self.done, self.of, self.logged) = (0, total, (Instant::now(), 0));
        let (what, unit) = what(stage);
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

impl Drop for Progress {
    fn drop(&mut self) {
        log::so_far(|| self.totals());
    }
}

/// What is done in a stage, and to what.
const fn what(stage: Stage) -> (&'static str, &'static str) {
    match stage {
        Stage::Fetch => ("fetching", "origins"),
        Stage::Index => ("indexing", "captures"),
        Stage::Ingest => ("reading", "origins"),
        Stage::Compile => ("compiling", "bodies"),
        Stage::Origins => ("auditing", "origins"),
        Stage::Urls => ("evaluating", "URLs"),
        Stage::Finish => ("finishing", "tables"),
    }
}

/// The name of a stage in the log.
const fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Fetch => "fetch",
        Stage::Index => "index",
        Stage::Ingest => "ingest",
        Stage::Compile => "compile",
        Stage::Origins => "origins",
        Stage::Urls => "urls",
        Stage::Finish => "finish",
    }
}

fn object(facts: Value) -> Map<String, Value> {
    match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    }
}
