//! `scan` and `fetch`: lists and the network to tables.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::args::{FetchArgs, Format, Global, LiveArgs, ScanArgs};
use super::exit::{Exit, Failed};
use super::live::{self, UrlLists};
use super::progress::Progress;
use super::show;
use crate::audit::collect::collect;
use crate::audit::event::{Event, Stage};
use crate::audit::output::{COMPUTED_TABLES, Output, SNAPSHOT_TABLES, write_views};
use crate::audit::plan::Plan;
use crate::audit::run::{Source, audit};
use crate::audit::totals::{LineTotals, Totals};
use crate::config::Options;
use crate::report::{self, Summary};
use crate::robots::access::FetchClass;
use crate::source::http::{Fetcher, Network};
use crate::source::snapshot::Snapshot;
use crate::tables::Table;
use crate::tables::sink::{self, Footer};

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
        }
    }
}

/// Fetches, then audits.
pub(super) fn scan(global: &Global, args: &ScanArgs) -> Result<Exit, Failed> {
    let options = global.options(args.live.manners.options().or(args.ask.options()))?;
    let fetcher = live::fetcher(&options, Network::System)?;
    let totals = run_scan(global, args, &options, fetcher, "scan")?;
    Ok(exit_of(&totals))
}

/// The scan itself, over whatever network the fetcher has; writes the report.
pub(super) fn run_scan(
    global: &Global,
    args: &ScanArgs,
    options: &Options,
    fetcher: Arc<Fetcher>,
    command: &'static str,
) -> Result<Totals, Failed> {
    let start = Start::now();
    let plan = Arc::new(options.plan().map_err(Failed::before)?);
    let folder = &args.output.output;
    let mut computed = Output::open(folder, &COMPUTED_TABLES).map_err(Failed::before)?;
    let urls = UrlLists::of(&args.urls, folder)?;
    let mut progress = Progress::new(global, live::expected_origins(global, &args.live));
    let lines = make_snapshot(&args.live, &urls, options, fetcher, folder, &mut progress)?;
    let snapshot = Snapshot::open(folder).map_err(Failed::running)?;
    let threads = options.threads();
    let observer = &mut |event| progress.event(event);
    let source = Source::Snapshot(snapshot);
    let report = audit(&plan, source, urls.open()?, Some(lines), threads, &mut computed, observer);
    let report = report.map_err(Failed::running)?;
    progress.event(Event::Stage(Stage::Finish, None));
    computed.finish(&report.footer).map_err(Failed::running)?;
    progress.finish();
    let summary = start.summary(command, Some(&plan), &report.totals, folder, threads);
    conclude(global, &summary, Table::ALL)?;
    Ok(report.totals)
}

/// Fetches only.
pub(super) fn fetch(global: &Global, args: &FetchArgs) -> Result<Exit, Failed> {
    let start = Start::now();
    let options = global.options(args.live.manners.options())?;
    let fetcher = live::fetcher(&options, Network::System)?;
    let folder = &args.output.output;
    sink::make_folder(folder).map_err(Failed::before)?;
    let urls = UrlLists::of(&args.urls, folder)?;
    let mut progress = Progress::new(global, live::expected_origins(global, &args.live));
    let mut totals = Totals::default();
    let mut counted = |event| {
        if let Event::Fetched(class) = event {
            totals.count_row(class);
        }
        progress.event(event);
    };
    totals.lines = snapshot_with(&args.live, &urls, &options, fetcher, folder, &mut counted)?;
    progress.finish();
    totals.check(0, 0).map_err(|imbalance| Failed::running(crate::audit::AuditError::Balance(imbalance)))?;
    let summary = start.summary("fetch", None, &totals, folder, options.threads());
    conclude(global, &summary, &SNAPSHOT_TABLES)?;
    Ok(exit_of(&totals))
}

fn make_snapshot(
    live: &LiveArgs,
    urls: &UrlLists,
    options: &Options,
    fetcher: Arc<Fetcher>,
    folder: &Path,
    progress: &mut Progress,
) -> Result<LineTotals, Failed> {
    snapshot_with(live, urls, options, fetcher, folder, &mut |event| progress.event(event))
}

/// Fetches into the tables of a snapshot and puts them in their places.
fn snapshot_with(
    live: &LiveArgs,
    urls: &UrlLists,
    options: &Options,
    fetcher: Arc<Fetcher>,
    folder: &Path,
    observer: &mut dyn FnMut(Event),
) -> Result<LineTotals, Failed> {
    let collection = live::collection(options, live, urls)?;
    let mut output = Output::open(folder, &SNAPSHOT_TABLES).map_err(Failed::before)?;
    let (lines, footer): (LineTotals, Footer) =
        collect(fetcher, collection, &mut output, observer).map_err(Failed::running)?;
    output.finish(&footer).map_err(Failed::running)?;
    Ok(lines)
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
