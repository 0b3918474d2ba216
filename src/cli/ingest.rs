//! `ingest`: what others captured to a snapshot.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use super::args::Global;
use super::args::{ColumnArgs, IngestArgs};
use super::exit::{Exit, Failed};
use super::progress::Progress;
use super::scan::{Start, conclude};
use crate::audit::event::{Event, Stage};
use crate::audit::ingest::{self, Captures, Ingested};
use crate::audit::output::Output;
use crate::audit::totals::Totals;
use crate::config::Options;
use crate::source::folder::Folder;
use crate::source::rows::{RowColumns, RowFiles};
use crate::source::warc::WarcFiles;
use crate::tables::Table;
use crate::tables::journal::Journaled;
use crate::tables::sink::Footer;

/// What WARC files are named by.
pub(super) const WARC_PREFIX: &str = "warc:";
const FOLDER_PREFIX: &str = "dir:";

/// Takes over.
pub(super) fn ingest(global: &Global, args: &IngestArgs) -> Result<Exit, Failed> {
    let start = Start::now();
    let options = global.options(Options::default())?;
    let source = captures(&args.sources, &args.columns)?;
    let folder = &args.output.output;
    let threads = options.threads();
    let mut progress = Progress::new(global, None);
    let ingested = take_over(&source, folder, threads, &mut progress)?;
    progress.finish();
    let lines = ingested.totals.lines();
    let totals = Totals { lines, classes: ingested.classes, bodies: ingested.totals.bodies, ..Totals::default() };
    let summary = start.summary("ingest", None, &totals, folder, threads).with_ingest(ingested.totals);
    conclude(global, &summary, &source.tables())?;
    Ok(Exit::Done)
}

/// Makes the snapshot in a folder. What an earlier run left there goes away when the new tables are whole.
pub(super) fn take_over(
    source: &Captures,
    folder: &Path,
    threads: usize,
    progress: &mut Progress,
) -> Result<Ingested, Failed> {
    must_be_free(folder)?;
    let tables = source.tables();
    let mut output = Output::open(folder, &tables).map_err(Failed::before)?;
    let ingested = ingest::ingest(source, threads, &mut output, &mut |event| progress.event(event));
    let ingested = ingested.map_err(Failed::running)?;
    progress.event(Event::Stage(Stage::Finish, None));
    let others: Vec<Table> = Table::ALL.iter().copied().filter(|table| !tables.contains(table)).collect();
    output.finish_alone(&Footer::new(), &others).map_err(Failed::running)?;
    Ok(ingested)
}

/// Other tables would make what an unfinished run has done unreadable for it.
pub(super) fn must_be_free(folder: &Path) -> Result<(), Failed> {
    if !folder.is_dir() || Journaled::read(folder).map_err(Failed::before)?.is_none() {
        return Ok(());
    }
    let words = "holds an unfinished run of scan or fetch; end it, or take another folder";
    Err(Failed::before(anyhow!("{} {words}", folder.display())))
}

/// The WARC files of a pattern.
pub(super) fn warc(pattern: &str) -> Result<Captures, Failed> {
    let files = WarcFiles::open([pattern]).map_err(Failed::before)?;
    Ok(Captures::Warc(Arc::new(files)))
}

/// What the arguments stand for. They have to be of one kind: rows are put in one order.
fn captures(sources: &[String], columns: &ColumnArgs) -> Result<Captures, Failed> {
    if let [source] = sources
        && let Some(folder) = source.strip_prefix(FOLDER_PREFIX)
    {
        let folder = Folder::open(Path::new(folder)).map_err(Failed::before)?;
        return Ok(Captures::Folder(Arc::new(folder)));
    }
    let patterns: Option<Vec<&str>> = sources.iter().map(|source| warc_pattern(source)).collect();
    if let Some(patterns) = patterns {
        let files = WarcFiles::open(patterns).map_err(Failed::before)?;
        return Ok(Captures::Warc(Arc::new(files)));
    }
    if let Some(other) = sources.iter().find(|source| warc_pattern(source).is_some() || is_folder(source)) {
        let words = "cannot be read together with the other sources; WARC files, rows and a dir:FOLDER go alone";
        return Err(Failed::before(anyhow!("{other} {words}")));
    }
    let paths: Vec<PathBuf> = sources.iter().map(PathBuf::from).collect();
    let columns = RowColumns {
        url: columns.url_column.clone(),
        body: columns.body_column.clone(),
        status: columns.status_column.clone(),
        time: columns.time_column.clone(),
    };
    let files = RowFiles::open(&paths, &columns).map_err(Failed::before)?;
    Ok(Captures::Rows(Arc::new(files)))
}

fn is_folder(source: &str) -> bool {
    source.starts_with(FOLDER_PREFIX) || Path::new(source).is_dir()
}

/// What stands behind `warc:`, or the name of a file that is a WARC file by its content.
fn warc_pattern(source: &str) -> Option<&str> {
    if let Some(pattern) = source.strip_prefix(WARC_PREFIX) {
        return Some(pattern);
    }
    // A packed list is told from packed records by what is inside.
    let is_warc = || WarcFiles::open([source]).is_ok_and(|files| files.begin_with_records());
    (Path::new(source).is_file() && is_warc()).then_some(source)
}
