//! `audit`: a snapshot or a folder to all tables.

use std::path::Path;
use std::sync::Arc;

use super::args::{AuditArgs, Global};
use super::exit::{Exit, Failed};
use super::progress::Progress;
use super::scan::{Start, conclude};
use super::show;
use crate::audit::event::{Event, Stage};
use crate::audit::output::{Output, clear};
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
    let options = global.options(args.ask.options())?;
    let plan = Arc::new(options.plan().map_err(Failed::before)?);
    let source = source(&args.from)?;
    if !global.quiet
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
    let tables = plan.tables();
    let mut output = Output::open(folder, &tables).map_err(Failed::before)?;
    let mut progress = Progress::new(global, None);
    let threads = options.threads();
    let report = run::audit(&plan, &source, urls, None, threads, &mut output, &mut |event| progress.event(event));
    let report = report.map_err(Failed::running)?;
    progress.event(Event::Stage(Stage::Finish, None));
    let absent: Vec<Table> = Table::ALL.iter().copied().filter(|table| !tables.contains(table)).collect();
    clear(folder, &absent).map_err(Failed::running)?;
    output.finish(&report.footer).map_err(Failed::running)?;
    progress.finish();
    let summary = start.summary("audit", Some(&plan), &report.totals, folder, threads);
    conclude(global, &summary, &tables)?;
    Ok(Exit::Done)
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
