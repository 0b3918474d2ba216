//! `scan` and `fetch`: lists and the network to tables.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use serde_json::{Value, json};

use super::args::{FetchArgs, Format, Global, LiveArgs, ScanArgs};
use super::exit::{Exit, Failed};
use super::interrupt::Interrupt;
use super::live::{self, Asked, Live, ToDo, UrlLists};
use super::progress::Progress;
use super::{log, show};
use crate::audit::AuditError;
use crate::audit::collect::{Collected, collect};
use crate::audit::event::{Event, Stage};
use crate::audit::output::{COMPUTED_TABLES, FETCHED_TABLES, Output, write_views};
use crate::audit::plan::Plan;
use crate::audit::run::{Source, audit};
use crate::audit::totals::{Classes, Totals};
use crate::config::Options;
use crate::report::{self, Summary};
use crate::robots::access::FetchClass;
use crate::source::http::FetchSettings;
use crate::source::input::InputError;
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
            ingest: None,
        }
    }
}

/// Fetches, then audits.
pub(super) fn scan(global: &Global, args: &ScanArgs) -> Result<Exit, Failed> {
    let options = global.options(args.live.options().or(args.compare.options()).or(args.ask.options()))?;
    let settings = live::settings_with_history(&options, &args.output.output)?;
    exit_of(&run_scan(global, args, &options, settings, "scan")?, &args.live)
}

/// The scan itself, over whatever network the settings name; writes the report. The classes of its rows, also where the
/// run was finished before.
pub(super) fn run_scan(
    global: &Global,
    args: &ScanArgs,
    options: &Options,
    settings: FetchSettings,
    command: &'static str,
) -> Result<Classes, Failed> {
    let start = Start::now();
    let plan = Arc::new(options.plan().map_err(Failed::before)?);
    let folder = &args.output.output;
    let asked = Asked { command, live: &args.live, urls: &args.urls, plan: Some(&plan), folder };
    let interrupt = Interrupt::watch();
    let live = match prepare(global, options, &asked, settings, &interrupt)? {
        ToDo::Run(live) => *live,
        ToDo::Nothing(classes) => return Ok(classes),
    };
    let tables = plan.tables();
    let computed: Vec<Table> = tables.iter().copied().filter(|table| COMPUTED_TABLES.contains(table)).collect();
    let mut computed = Output::open(folder, &computed).map_err(Failed::before)?;
    let mut progress = Progress::of_fetches(global, live.expected, Arc::clone(&live.fetcher));
    let Snapped { collected, urls, facts } = make_snapshot(live, &interrupt, &mut |event| progress.event(event))?;
    let source = Source::Snapshot(Snapshot::open(folder).map_err(Failed::running)?);
    let threads = options.threads();
    let observer = &mut |event| progress.event(event);
    let urls = urls.open().map_err(|failed| goes_on(Failed { exit: Exit::Failed, ..failed }))?;
    let report = audit(&plan, &source, urls, Some(collected.lines), threads, &mut computed, observer);
    let report = report.map_err(stopped)?;
    progress.event(Event::Stage(Stage::Finish, None));
    computed.finish(&report.footer).map_err(|error| stopped(error.into()))?;
    progress.finish();
    let summary = start.summary(command, Some(&plan), &report.totals, folder, threads).with_fetching(facts);
    conclude(global, &summary, &tables).map_err(goes_on)?;
    collected.journal.end().map_err(Failed::running)?;
    doubt(global, &report.totals);
    Ok(report.totals.classes)
}

/// Fetches only.
pub(super) fn fetch(global: &Global, args: &FetchArgs) -> Result<Exit, Failed> {
    let start = Start::now();
    let options = global.options(args.live.options())?;
    let folder = &args.output.output;
    let asked = Asked { command: "fetch", live: &args.live, urls: &args.urls, plan: None, folder };
    let interrupt = Interrupt::watch();
    let live = match prepare(global, &options, &asked, live::settings_with_history(&options, folder)?, &interrupt)? {
        ToDo::Run(live) => *live,
        ToDo::Nothing(classes) => return exit_of(&classes, &args.live),
    };
    let mut progress = Progress::of_fetches(global, live.expected, Arc::clone(&live.fetcher));
    let Snapped { collected, facts, .. } = make_snapshot(live, &interrupt, &mut |event| progress.event(event))?;
    progress.finish();
    let totals = Totals { lines: collected.lines, classes: collected.classes, ..Totals::default() };
    totals.check(0, 0).map_err(|imbalance| Failed::running(AuditError::Balance(imbalance)))?;
    let summary = start.summary("fetch", None, &totals, folder, options.threads()).with_fetching(facts);
    conclude(global, &summary, &FETCHED_TABLES).map_err(goes_on)?;
    collected.journal.end().map_err(Failed::running)?;
    doubt(global, &totals);
    exit_of(&totals.classes, &args.live)
}

/// Everything that is known before work starts.
fn prepare(
    global: &Global,
    options: &Options,
    asked: &Asked<'_>,
    settings: FetchSettings,
    interrupt: &Interrupt,
) -> Result<ToDo, Failed> {
    let to_do = Live::prepare(global, options, asked, settings, interrupt.stop())?;
    if matches!(to_do, ToDo::Nothing(_)) && !global.quiet {
        show::remark("nothing to do: the run in this folder is finished");
    }
    Ok(to_do)
}

/// A snapshot, and what the rest of the run needs.
struct Snapped {
    collected: Collected,
    urls: UrlLists,
    facts: Value,
}

/// Fetches into the parts of a snapshot.
fn make_snapshot(live: Live, interrupt: &Interrupt, observer: &mut dyn FnMut(Event)) -> Result<Snapped, Failed> {
    let Live { fetcher, collection, parts, urls, mut facts, remark, .. } = live;
    if let Some(remark) = remark {
        show::remark(&remark);
    }
    interrupt.fetching();
    let mut rows_from_before = 0;
    let noting = &mut |event| {
        if let Event::Kept(rows) = event {
            rows_from_before = rows;
        }
        observer(event);
    };
    let collected = collect(Arc::clone(&fetcher), collection, parts, noting).map_err(stopped)?;
    interrupt.fetched();
    facts["rows_from_before"] = rows_from_before.into();
    facts["manners"] = json!(fetcher.manners());
    facts["own_failures"] = json!(fetcher.own_failures());
    Ok(Snapped { collected, urls, facts })
}

/// Why a live run ended early; what was finished is kept.
fn stopped(error: AuditError) -> Failed {
    let exit = match error {
        AuditError::Interrupted { .. } => Exit::Interrupted,
        AuditError::TooManyFailures { .. } => Exit::NotHeld,
        _ => Exit::Failed,
    };
    let advice = match &error {
        AuditError::Input(InputError::Changed { .. }) => {
            "with the list as it was the same command goes on from what is finished; --restart begins again with the \
             list as it is now"
        }
        AuditError::TooManyFailures { .. } => "raise --max-errors to go on from what is finished",
        // The same again would come of the same command.
        AuditError::ForeignRows { .. } | AuditError::BodiesGone | AuditError::Balance(_) => {
            return Failed { exit, error: error.into() };
        }
        _ => GOES_ON,
    };
    let error = anyhow::Error::from(error);
    Failed { exit, error: anyhow!("{error:#}; {advice}") }
}

/// What to do where nothing but the end is missing.
const GOES_ON: &str = "the same command goes on from what is finished";

/// A failure behind the fetches, and what to do.
fn goes_on(Failed { exit, error }: Failed) -> Failed {
    Failed { exit, error: anyhow!("{error:#}; {GOES_ON}") }
}

/// Writes `views.sql` and `run.json`, then the report.
pub(super) fn conclude(global: &Global, summary: &Summary<'_>, tables: &[Table]) -> Result<(), Failed> {
    let json = report::json::report(summary);
    log::whole(|| {
        json!({
            "rows": summary.totals.lines.rows,
            "lines": json["lines"],
            "n_origins": json["n_origins"],
            "classes": json["classes"],
        })
    });
    let text = format!("{json:#}\n");
    write_views(&summary.folder, tables).map_err(Failed::running)?;
    sink::write_text(&summary.folder, "run.json", &text).map_err(Failed::running)?;
    match global.format {
        Format::Json => show::json(&json),
        Format::Table if global.quiet => Ok(Exit::Done),
        Format::Table => show::text(&report::text::report(summary)),
    }
    .map(|_| ())
}

/// Lists of which nothing was understood are probably not what they were taken for.
fn doubt(global: &Global, totals: &Totals) {
    let rows = totals.lines.rows;
    if !global.quiet && rows > 0 && totals.class(FetchClass::InvalidTarget) == rows {
        show::warning(
            "no line names an origin: is there a header, another separator, or a column to be named with --origin-column?",
        );
    }
}

/// A fault of this program in one origin is a row like others, but the exit code says so; what else a job takes for
/// failed was asked for.
fn exit_of(classes: &Classes, live: &LiveArgs) -> Result<Exit, Failed> {
    if classes.of(FetchClass::Internal) > 0 {
        return Ok(Exit::Failed);
    }
    let complaints: Vec<String> = live.run.fail_on.iter().filter_map(|fail_on| fail_on.complaint(classes)).collect();
    match &complaints[..] {
        [] => Ok(Exit::Done),
        _ => Err(Failed { exit: Exit::NotHeld, error: anyhow!("--fail-on: {}", complaints.join("; ")) }),
    }
}
