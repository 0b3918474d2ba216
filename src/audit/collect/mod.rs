//! Lists and the network to a snapshot: the tables `fetches`, `bodies` and `response_signals`, part by part.
//!
//! | module | holds |
//! |---|---|
//! | [`survey`] | the lists read once before any work: how many lines, and their digest |
//! | `feed` | the lists as targets, each origin once, without those that are done |
//! | [`parts`] | part files and the journal that names them; what an unfinished run has done |
//! | `writer` | finished fetches to rows and bodies |
//!
//! The lists are read on the thread that feeds the fetches, a few lines ahead; results are written as they finish.
//! Lines that name no origin, and errors of the lists, travel beside the fetches.

mod feed;
pub mod parts;
pub mod survey;
mod writer;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use self::feed::{Aside, Fed, Feed};
use self::parts::Parts;
use self::writer::Writer;
use super::AuditError;
use super::event::{Event, Observer, Stage};
use super::totals::{Classes, Imbalance, LineTotals};
use crate::robots::token::Matching;
use crate::source::history::History;
use crate::source::http::{Fetcher, Stop, fetch_all};
use crate::source::input::{OriginInputs, SeenOrigins, UrlInputs};
use crate::tables::journal::{Journal, Record};

/// Rows beside the fetches that wait for the writer.
const ASIDE_QUEUE: usize = 4_096;
/// How long a fetch is waited for before the rows beside the fetches are looked at: they wait meanwhile.
const LOOK_ASIDE: Duration = Duration::from_millis(20);

/// What to fetch, and how many at a time.
pub struct Collection {
    /// Origins.
    pub lists: OriginInputs,
    /// URLs whose origins are added.
    pub urls: Option<UrlInputs>,
    /// Origins that are asked by their own scheme alone, also where a line names them bare.
    pub exact: SeenOrigins,
    /// Origins attempted at most.
    pub limit: Option<u64>,
    /// Fetches under way at most.
    pub concurrency: NonZeroUsize,
    /// How files are read, for the counts of `bodies`.
    pub matching: Matching,
    /// Origins without an answer that are borne; one more stops the run.
    pub most_failures: Option<u64>,
    /// The earlier run whose answers the fetcher uses again: it holds their bodies.
    pub history: Option<Arc<History>>,
    /// The wish to stop early.
    pub stop: Stop,
}

/// A whole snapshot.
#[derive(Debug)]
pub struct Collected {
    /// What became of the lines.
    pub lines: LineTotals,
    /// Rows by class.
    pub classes: Classes,
    /// The journal, to be ended when nothing is left to do in the folder.
    pub journal: Journal,
}

/// Fetches the robots.txt of every origin that the parts do not hold yet.
///
/// # Errors
/// A list that cannot be read to its end, a file that cannot be written, or an early stop. What was finished before is
/// kept in every case: the same call on the same folder goes on from there.
pub fn collect(
    fetcher: Arc<Fetcher>,
    collection: Collection,
    mut parts: Parts,
    observer: Observer<'_>,
) -> Result<Collected, AuditError> {
    let Collection { lists, urls, exact, limit, concurrency, matching, most_failures, history, stop } = collection;
    observer(Event::Stage(Stage::Fetch, None));
    let mut done = parts.take_done();
    let kept = done.classes.total();
    observer(Event::Kept(kept));
    if let Some(lines) = done.lines {
        return Ok(Collected { lines, classes: done.classes, journal: parts.into_journal() });
    }
    let mut writer = Writer::new(matching, parts, &mut done, observer);
    let (aside, beside) = sync_channel(ASIDE_QUEUE);
    let feed = Feed::new((lists, urls), exact, limit, done, aside);
    let tagged = feed.map(|(line, target)| ((line, target.origin.clone()), target));
    let mut results = fetch_all(fetcher, tagged, concurrency, stop.clone());
    let mut end_of_lists: Option<Fed> = None;
    let mut fetched_here = 0;
    let has_failed = loop {
        let waited = results.next_within(LOOK_ASIDE);
        let is_over = matches!(waited, Err(RecvTimeoutError::Disconnected));
        match waited {
            Ok(((named, origin), answer)) => {
                fetched_here += 1;
                writer.fetched(named, origin, answer)?;
            }
            Err(_) => writer.wait(),
        }
        for message in beside.try_iter() {
            match message {
                Aside::Row(row) => writer.row(&row)?,
                Aside::Broken(error) => {
                    writer.close_part()?;
                    return Err(error.into());
                }
                Aside::End(end) => end_of_lists = Some(end),
            }
        }
        writer.close_due_part()?;
        let has_failed = most_failures.is_some_and(|most| writer.failures() > most);
        if has_failed {
            stop.request();
        }
        if is_over {
            break has_failed;
        }
    };
    match end_of_lists {
        _ if has_failed => Err(stopped(writer, has_failed)),
        Some(end) if end.met != kept => Err(AuditError::ForeignRows { rows: kept - end.met }),
        Some(end) if end.targets == fetched_here => finish(writer, history.as_deref(), end.totals),
        _ if stop.is_requested() => Err(stopped(writer, has_failed)),
        _ => Err(AuditError::Worker),
    }
}

fn finish(mut writer: Writer<'_>, history: Option<&History>, mut lines: LineTotals) -> Result<Collected, AuditError> {
    writer.add_earlier_bodies(history)?;
    let (parts, classes) = writer.finish()?;
    lines.rows = classes.total();
    let check = Imbalance::check("rows = those in the table fetches", lines.rows, parts.rows());
    check.map_err(AuditError::Balance)?;
    let mut journal = parts.into_journal();
    journal.append(&Record::Collected { lines: lines.to_json() })?;
    Ok(Collected { lines, classes, journal })
}

/// Keeps what is finished, and says why the run ends.
fn stopped(mut writer: Writer<'_>, has_failed: bool) -> AuditError {
    if let Err(error) = writer.close_part() {
        return error;
    }
    let (failures, rows) = (writer.failures(), writer.rows());
    if has_failed { AuditError::TooManyFailures { failures, rows } } else { AuditError::Interrupted { rows } }
}
