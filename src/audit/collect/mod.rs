//! Lists and the network to a snapshot: the tables `fetches` and `bodies`.
//!
//! The lists are read on the thread that feeds the fetches, a few lines ahead; results are written as they finish.
//! Lines that name no origin, and errors of the lists, travel beside the fetches.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::AuditError;
use super::event::{Event, Observer, Stage};
use super::output::Output;
use super::totals::LineTotals;
use crate::origin::{Origin, Target};
use crate::robots::access::{FetchClass, Reason};
use crate::robots::parse::Robots;
use crate::robots::token::Matching;
use crate::source::http::{Fetched, Fetcher, Stop, fetch_all};
use crate::source::input::{Distinct, InputError, OriginInputs, OriginLine, SeenOrigins, UrlInputs};
use crate::tables::Table;
use crate::tables::bodies::{BodiesBuilder, BodyCounts};
use crate::tables::column::hex;
use crate::tables::fetches::{BodyHash, FetchRow, FetchesBuilder, Observation};
use crate::tables::sink::Footer;

/// Rows of `fetches` held before they are written.
const HELD_ROWS: usize = 1_024;
/// Octets of bodies held before they are written.
const HELD_OCTETS: usize = 8 << 20;
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
    /// Origins attempted at most.
    pub limit: Option<u64>,
    /// Fetches under way at most.
    pub concurrency: NonZeroUsize,
    /// How files are read, for the counts of `bodies`.
    pub matching: Matching,
}

/// Fetches the robots.txt of every origin and writes the tables of a snapshot. The files are not ended yet.
///
/// # Errors
/// A list that cannot be read to its end, or a file that cannot be written.
pub fn collect(
    fetcher: Arc<Fetcher>,
    collection: Collection,
    output: &mut Output,
    observer: Observer<'_>,
) -> Result<(LineTotals, Footer), AuditError> {
    let Collection { lists, urls, limit, concurrency, matching } = collection;
    observer(Event::Stage(Stage::Fetch, None));
    let (aside, beside) = sync_channel(ASIDE_QUEUE);
    let feed = Feed::new(lists, urls, limit, aside);
    let tagged = feed.map(|(line, target)| ((line, target.origin.clone()), target));
    let results = fetch_all(fetcher, tagged, concurrency, Stop::default());
    let mut writer = Writer::new(matching, output, observer);
    let mut totals = None;
    let mut digest = String::new();
    loop {
        let result = results.recv_timeout(LOOK_ASIDE);
        let is_over = matches!(result, Err(RecvTimeoutError::Disconnected));
        if let Ok(((named, origin), fetched)) = result {
            writer.fetched(named, origin, fetched)?;
        }
        for message in beside.try_iter() {
            match message {
                Aside::Row(row) => writer.row(&row)?,
                Aside::Broken(error) => return Err(error.into()),
                Aside::End(lines, lists_digest) => (totals, digest) = (Some(lines), lists_digest),
            }
        }
        if is_over {
            break;
        }
    }
    let mut totals: LineTotals = totals.ok_or(AuditError::Worker)?;
    totals.rows = writer.finish()?;
    let mut footer = Footer::new();
    footer.add("origins_sha256", digest);
    Ok((totals, footer))
}

/// What the lists say about an origin.
#[derive(Debug, Clone, Default)]
struct Named {
    input: Option<String>,
    line: Option<i64>,
    rank: Option<i64>,
}

/// What travels beside the fetches.
enum Aside {
    /// A row that needs no fetch.
    Row(Box<FetchRow>),
    /// A list that cannot be read on.
    Broken(InputError),
    /// The lists are read: what became of their lines, and their digest.
    End(LineTotals, String),
}

/// The targets of the lists, each once, then those that only URLs name.
struct Feed {
    lists: Option<Distinct<OriginInputs>>,
    urls: Option<UrlInputs>,
    limit: u64,
    attempted: u64,
    totals: LineTotals,
    digest: Sha256,
    seen: SeenOrigins,
    /// Origins behind the limit, and those of them that a URL names.
    behind_limit: SeenOrigins,
    named_by_url: SeenOrigins,
    /// Targets of the URL batch at hand.
    waiting: std::vec::IntoIter<Target>,
    aside: SyncSender<Aside>,
    is_done: bool,
}

impl Feed {
    fn new(lists: OriginInputs, urls: Option<UrlInputs>, limit: Option<u64>, aside: SyncSender<Aside>) -> Self {
        Self {
            lists: Some(Distinct::new(lists)),
            urls,
            limit: limit.unwrap_or(u64::MAX),
            attempted: 0,
            totals: LineTotals::default(),
            digest: Sha256::new(),
            seen: SeenOrigins::default(),
            behind_limit: SeenOrigins::default(),
            named_by_url: SeenOrigins::default(),
            waiting: Vec::new().into_iter(),
            aside,
            is_done: false,
        }
    }

    fn tell(&self, message: Aside) {
        // The writer may have stopped: then nobody wants to know.
        let _ = self.aside.send(message);
    }

    fn next_of_lists(&mut self) -> Option<(Named, Target)> {
        loop {
            let line = match self.lists.as_mut()?.next() {
                Some(Ok(line)) => line,
                Some(Err(error)) => {
                    self.tell(Aside::Broken(error));
                    self.is_done = true;
                    return None;
                }
                None => {
                    self.end_lists();
                    return None;
                }
            };
            self.digest.update(line.input.as_bytes());
            self.digest.update(b"\n");
            if let Some(target) = self.take(line) {
                return Some(target);
            }
        }
    }

    /// A line that is attempted; others get their row, or are counted, here.
    fn take(&mut self, line: OriginLine) -> Option<(Named, Target)> {
        if self.attempted >= self.limit {
            self.totals.not_attempted += 1;
            if let Ok(target) = &line.target {
                self.behind_limit.insert(&target.origin);
            }
            return None;
        }
        let facts = Named { input: Some(line.input), line: Some(line.line), rank: line.rank };
        match line.target {
            Ok(target) => {
                self.attempted += 1;
                Some((facts, target))
            }
            Err(reason) => {
                self.tell(Aside::Row(Box::new(invalid_row(facts, reason))));
                None
            }
        }
    }

    fn end_lists(&mut self) {
        let Some(lists) = self.lists.take() else { return };
        let counts = lists.counts();
        self.totals.lines = counts.lines;
        self.totals.duplicates = counts.duplicates;
        self.totals.blank_or_comment = counts.blank_or_comment;
        self.seen = lists.into_seen();
    }

    fn next_of_urls(&mut self) -> Option<(Named, Target)> {
        loop {
            while let Some(target) = self.waiting.next() {
                if let Some(target) = self.take_of_urls(target) {
                    return Some((Named::default(), target));
                }
            }
            match self.urls.as_mut()?.next() {
                Some(Ok(batch)) => {
                    let targets = batch.iter().filter_map(|url| Target::parse(url).ok());
                    let new = targets.filter(|target| {
                        let origin = &target.origin;
                        self.seen.insert(origin)
                            || (self.behind_limit.contains(origin) && self.named_by_url.insert(origin))
                    });
                    self.waiting = new.collect::<Vec<_>>().into_iter();
                }
                Some(Err(error)) => {
                    self.tell(Aside::Broken(error));
                    self.is_done = true;
                    return None;
                }
                None => self.urls = None,
            }
        }
    }

    /// An origin that a URL names and no attempted line does. Behind the limit it gets its row here.
    fn take_of_urls(&mut self, target: Target) -> Option<Target> {
        if self.behind_limit.contains(&target.origin) {
            // Its line was counted as not attempted; now it is a row.
            self.totals.not_attempted -= 1;
        } else {
            self.totals.added_from_urls += 1;
            if self.attempted < self.limit {
                self.attempted += 1;
                return Some(target);
            }
        }
        self.tell(Aside::Row(Box::new(not_collected_row(target))));
        None
    }
}

impl Iterator for Feed {
    type Item = (Named, Target);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.next_of_lists().or_else(|| if self.is_done { None } else { self.next_of_urls() });
        if next.is_none() && !self.is_done {
            self.is_done = true;
            let digest = hex(&std::mem::take(&mut self.digest).finalize());
            self.tell(Aside::End(self.totals, digest));
        }
        next
    }
}

fn invalid_row(line: Named, reason: Reason) -> FetchRow {
    FetchRow {
        origin: None,
        rank: line.rank,
        input: line.input,
        input_line: line.line,
        observation: Observation::of_class(FetchClass::InvalidTarget, Some(reason)),
    }
}

fn not_collected_row(target: Target) -> FetchRow {
    FetchRow {
        origin: Some(target.origin),
        rank: None,
        input: None,
        input_line: None,
        observation: Observation::of_class(FetchClass::NotCollected, None),
    }
}

/// Writes rows as they come; each distinct body once.
struct Writer<'a> {
    matching: Matching,
    output: &'a mut Output,
    observer: Observer<'a>,
    fetches: FetchesBuilder,
    bodies: BodiesBuilder,
    /// 32 octets for each distinct body.
    written: HashSet<BodyHash>,
    rows: u64,
}

impl<'a> Writer<'a> {
    fn new(matching: Matching, output: &'a mut Output, observer: Observer<'a>) -> Self {
        Self {
            matching,
            output,
            observer,
            fetches: FetchesBuilder::default(),
            bodies: BodiesBuilder::default(),
            written: HashSet::new(),
            rows: 0,
        }
    }

    fn fetched(&mut self, named: Named, origin: Origin, fetched: Fetched) -> Result<(), AuditError> {
        let Fetched { observation, body } = fetched;
        if let (Some(hash), Some(body)) = (observation.body_sha256, &body)
            && self.written.insert(hash)
        {
            self.bodies.push(&hash, body, &BodyCounts::of(&Robots::parse(body, self.matching)));
        }
        let Named { input, line, rank } = named;
        self.row(&FetchRow { origin: Some(origin), rank, input, input_line: line, observation })
    }

    fn row(&mut self, row: &FetchRow) -> Result<(), AuditError> {
        self.rows += 1;
        self.fetches.push(row);
        (self.observer)(Event::Fetched(row.observation.class));
        if self.fetches.rows() >= HELD_ROWS || self.bodies.held_octets() >= HELD_OCTETS {
            self.flush()?;
        }
        Ok(())
    }

    /// Bodies first: a reader of half a snapshot never misses the body of a row.
    fn flush(&mut self) -> Result<(), AuditError> {
        self.output.write(Table::Bodies, &self.bodies.finish())?;
        self.output.write(Table::Fetches, &self.fetches.finish())?;
        Ok(())
    }

    fn finish(mut self) -> Result<u64, AuditError> {
        self.flush()?;
        Ok(self.rows)
    }
}
