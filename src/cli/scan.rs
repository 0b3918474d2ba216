//! `scan` and `fetch`: lists and the network to tables.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::args::{FetchArgs, Format, Global, ScanArgs};
use super::exit::{Exit, Failed};
use super::live::{self, Live, UrlLists};
use super::progress::Progress;
use super::show;
use crate::audit::AuditError;
use crate::audit::collect::collect;
use crate::audit::event::{Event, Stage};
use crate::audit::output::{COMPUTED_TABLES, Output, SNAPSHOT_TABLES, clear, write_views};
use crate::audit::plan::Plan;
use crate::audit::run::{Source, audit};
use crate::audit::totals::{LineTotals, Totals};
use crate::config::Options;
use crate::report::{self, Summary};
use crate::robots::access::FetchClass;
use crate::source::http::FetchSettings;
use crate::source::snapshot::Snapshot;
use crate::tables::Table;
use crate::tables::sink;

/// When a run started.
#[derive(Debug)]
pub(super) struct Start {
    clock: Instant,
    at: jiff::Timestamp,
}

impl Start {
    pub(super) fn now() -> Self {
        Self { clock: Instant::now(), at: jiff::Timestamp::now() }
    }

    /// The report of a run that ends now.
    pub(super) fn summary<'a>(
        &self,
        command: &'static str,
        plan: Option<&'a Plan>,
        totals: &'a Totals,
        folder: &Path,
        threads: usize,
    ) -> Summary<'a> {
        Summary {
            command,
            plan,
            totals,
            folder: folder.to_owned(),
            started_at: self.at.to_string(),
            duration: self.clock.elapsed(),
            threads,
            fetching: None,
        }
    }
}

/// Fetches, then audits.
pub(super) fn scan(global: &Global, args: &ScanArgs) -> Result<Exit, Failed> {
    let options = global.options(args.live.manners.options().or(args.ask.options()))?;
    let totals = run_scan(global, args, &options, live::settings(&options)?, "scan")?;
    Ok(exit_of(&totals))
}

/// The scan itself, over whatever network the settings name; writes the report.
pub(super) fn run_scan(
    global: &Global,
    args: &ScanArgs,
    options: &Options,
    settings: FetchSettings,
    command: &'static str,
) -> Result<Totals, Failed> {
    let start = Start::now();
    let plan = Arc::new(options.plan().map_err(Failed::before)?);
    let folder = &args.output.output;
    let live = Live::prepare(global, options, (&args.live, &args.urls), settings, folder)?;
    let tables = plan.tables();
    let computed: Vec<Table> = tables.iter().copied().filter(|table| COMPUTED_TABLES.contains(table)).collect();
    let mut computed = Output::open(folder, &computed).map_err(Failed::before)?;
    let mut progress = Progress::new(global, live.expected);
    let (lines, urls, facts) = make_snapshot(live, folder, &mut |event| progress.event(event))?;
    let source = Source::Snapshot(Snapshot::open(folder).map_err(Failed::running)?);
    let threads = options.threads();
    let observer = &mut |event| progress.event(event);
    let report = audit(&plan, &source, urls.open()?, Some(lines), threads, &mut computed, observer);
    let report = report.map_err(Failed::running)?;
    progress.event(Event::Stage(Stage::Finish, None));
    computed.finish(&report.footer).map_err(Failed::running)?;
    progress.finish();
    let summary = start.summary(command, Some(&plan), &report.totals, folder, threads).with_fetching(facts);
    conclude(global, &summary, &tables)?;
    Ok(report.totals)
}

/// Fetches only.
pub(super) fn fetch(global: &Global, args: &FetchArgs) -> Result<Exit, Failed> {
    let start = Start::now();
    let options = global.options(args.live.manners.options())?;
    let folder = &args.output.output;
    let live = Live::prepare(global, &options, (&args.live, &args.urls), live::settings(&options)?, folder)?;
    let mut progress = Progress::new(global, live.expected);
    let mut totals = Totals::default();
    let (lines, _, facts) = make_snapshot(live, folder, &mut |event| {
        if let Event::Fetched(class) = event {
            totals.count_row(class);
        }
        progress.event(event);
    })?;
    totals.lines = lines;
    progress.finish();
    totals.check(0, 0).map_err(|imbalance| Failed::running(AuditError::Balance(imbalance)))?;
    let summary = start.summary("fetch", None, &totals, folder, options.threads()).with_fetching(facts);
    conclude(global, &summary, &SNAPSHOT_TABLES)?;
    Ok(exit_of(&totals))
}

/// Fetches into the tables of a snapshot and puts them in their places; what an earlier run left beside them goes away.
fn make_snapshot(
    live: Live,
    folder: &Path,
    observer: &mut dyn FnMut(Event),
) -> Result<(LineTotals, UrlLists, Value), Failed> {
    let Live { fetcher, collection, urls, facts, .. } = live;
    let mut output = Output::open(folder, &SNAPSHOT_TABLES).map_err(Failed::before)?;
    let (lines, mut footer) = collect(fetcher, collection, &mut output, observer).map_err(Failed::running)?;
    footer.add("fetching", facts.to_string());
    clear(folder, &COMPUTED_TABLES).map_err(Failed::running)?;
    output.finish(&footer).map_err(Failed::running)?;
    Ok((lines, urls, facts))
}

/// Writes `views.sql` and `run.json`, then the report.
pub(super) fn conclude(global: &Global, summary: &Summary<'_>, tables: &[Table]) -> Result<(), Failed> {
    let json = report::json::report(summary);
    let text = format!("{json:#}\n");
    write_views(&summary.folder, tables).map_err(Failed::running)?;
    sink::write_text(&summary.folder, "run.json", &text).map_err(Failed::running)?;
    match global.format {
        Format::Json => show::text(&text),
        Format::Table if global.quiet => Ok(Exit::Done),
        Format::Table => show::text(&report::text::report(summary)),
    }
    .map(|_| ())
}

/// A fault of this program in one origin is a row like others, but the exit code says so.
fn exit_of(totals: &Totals) -> Exit {
    if totals.class(FetchClass::Internal) > 0 { Exit::Failed } else { Exit::Done }
}
