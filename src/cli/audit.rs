//! `audit`: a snapshot, a folder or WARC files to all tables.

use std::path::Path;
use std::sync::Arc;

use super::args::{AuditArgs, Global};
use super::exit::{Exit, Failed};
use super::ingest::{self, WARC_PREFIX};
use super::progress::Progress;
use super::scan::{Start, conclude};
use super::show;
use crate::audit::event::{Event, Stage};
use crate::audit::output::{COMPUTED_TABLES, Output};
use crate::audit::run::{self, Source};
use crate::source::folder::Folder;
use crate::source::input::UrlInputs;
use crate::source::snapshot::Snapshot;
use crate::tables::Table;
use crate::tables::journal::Journaled;
use crate::tables::text::for_people;

/// Audits.
pub(super) fn audit(global: &Global, args: &AuditArgs) -> Result<Exit, Failed> {
    let start = Start::now();
    let options = global.options(args.compare.options().or(args.ask.options()))?;
    let plan = Arc::new(options.plan().map_err(Failed::before)?);
    let warc = args.from.strip_prefix(WARC_PREFIX).map(ingest::warc).transpose()?;
    let mut source = if warc.is_none() { Some(source(&args.from)?) } else { None };
    if !global.quiet
        && warc.is_none()
        && !args.from.starts_with("dir:")
        && Journaled::read(Path::new(&args.from)).is_ok_and(|journal| journal.is_some())
    {
        show::remark(&format!(
            "{} holds an unfinished run: its whole parts are read, and no more",
            for_people(&args.from)
        ));
    }
    let urls = match &args.urls.urls[..] {
        [] => None,
        paths => Some(UrlInputs::open(paths, args.urls.url_column.as_deref()).map_err(Failed::before)?),
    };
    let folder = &args.output.output;
    ingest::must_be_free(folder)?;
    let threads = options.threads();
    let mut progress = Progress::new(global, None);
    let mut tables = plan.tables();
    // Captures become a snapshot in the same folder, from which the other tables are computed.
    let ingested = warc.map(|captures| ingest::take_over(&captures, folder, threads, &mut progress)).transpose()?;
    let source = match source.take() {
        Some(source) => source,
        None => Source::Snapshot(Snapshot::open(folder).map_err(Failed::running)?),
    };
    // An empty table would say that no answer had such a field.
    tables.retain(|table| *table != Table::ResponseSignals || source.has_response_signals());
    // Its `fetches` are written again, since origins that only URLs name get their rows there.
    let is_written = |table: &Table| ingested.is_none() || COMPUTED_TABLES.contains(table) || *table == Table::Fetches;
    let written: Vec<Table> = tables.iter().copied().filter(is_written).collect();
    let mut output = Output::open(folder, &written).map_err(Failed::before)?;
    if ingested.is_some() || is_same_folder(Path::new(&args.from), folder) && folder.join("captures").is_dir() {
        tables.push(Table::Captures);
    }
    let report = run::audit(&plan, &source, urls, None, threads, &mut output, &mut |event| progress.event(event));
    let report = report.map_err(Failed::running)?;
    progress.event(Event::Stage(Stage::Finish, None));
    let absent: Vec<Table> = Table::ALL.iter().copied().filter(|table| !tables.contains(table)).collect();
    output.finish_alone(&report.footer, &absent).map_err(Failed::running)?;
    progress.finish();
    let summary = start.summary("audit", Some(&plan), &report.totals, folder, threads);
    let summary = match ingested {
        Some(ingested) => summary.with_ingest(ingested.totals),
        None => summary,
    };
    conclude(global, &summary, &tables)?;
    Ok(Exit::Done)
}

/// Whether a snapshot is audited where it is: what it was taken over from stays beside it.
fn is_same_folder(from: &Path, folder: &Path) -> bool {
    from.canonicalize().is_ok_and(|from| folder.canonicalize().is_ok_and(|folder| from == folder))
}

/// `dir:FOLDER`, or the folder of a snapshot.
fn source(from: &str) -> Result<Source, Failed> {
    match from.strip_prefix("dir:") {
        Some(folder) => {
            let folder = Folder::open(Path::new(folder)).map_err(Failed::before)?;
            Ok(Source::Folder(Arc::new(folder)))
        }
        None => Snapshot::open(Path::new(from)).map(Source::Snapshot).map_err(Failed::before),
    }
}
