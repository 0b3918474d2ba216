//! Captures that others made to a snapshot: tables `fetches`, `bodies`, `captures` and, from WARC files,
//! `response_signals`, without the network.
//!
//! Files are indexed side by side, then the newest capture of each origin is read in the order of the files. Held are a
//! few octets for each URL, 16 for each distinct body, and the bodies whose turn it is.

use std::sync::Arc;

use rayon::ThreadPool;
use sha2::{Digest, Sha256};

use super::AuditError;
use super::event::{Event, Observer, Stage};
use super::folder_rows;
use super::output::{INGESTED_TABLES, Output};
use super::pipeline::{self, ordered};
use super::totals::{Classes, Imbalance, LineTotals};
use crate::origin::without_user_information;
use crate::robots::parse::Robots;
use crate::robots::token::Matching;
use crate::source::captures::{Capture, Damage, FileIndex, Found, Index};
use crate::source::folder::{FileRow, Folder};
use crate::source::input::SeenOrigins;
use crate::source::mark::{Mark, MarkSet};
use crate::source::rows::RowFiles;
use crate::source::warc::{Readers, WarcError, WarcFiles};
use crate::tables::Table;
use crate::tables::bodies::{BodiesBuilder, BodyCounts};
use crate::tables::captures::{CaptureRow, CapturesBuilder, Fault, FaultCounts, Use};
use crate::tables::fetches::{BodyHash, FetchRow, FetchesBuilder, Observation};
use crate::tables::response_signals::ResponseSignalsBuilder;

/// Captures read as one piece of work, and octets of their records after which a piece ends.
const PIECE_CAPTURES: usize = 256;
const PIECE_OCTETS: u64 = 4 << 20;
/// Octets of bodies that a worker holds before it hands them over: small records can hold large bodies.
const HELD_OCTETS: usize = 8 << 20;
/// Rows held before they are written.
const HELD_ROWS: usize = 4_096;

/// Where captures come from.
#[derive(Debug)]
pub enum Captures {
    /// WARC files.
    Warc(Arc<WarcFiles>),
    /// Parquet or NDJSON files, or `SQLite` databases.
    Rows(Arc<RowFiles>),
    /// A folder of bodies.
    Folder(Arc<Folder>),
}

impl Captures {
    /// The tables of the snapshot that is made of them: only WARC files hold header fields.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let of_fields = matches!(self, Self::Warc(_)).then_some(Table::ResponseSignals);
        INGESTED_TABLES.into_iter().chain(of_fields).collect()
    }
}

/// What was found, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngestTotals {
    /// Files read.
    pub files: u64,
    /// Captures: of any resource.
    pub captures: u64,
    /// Rows of `fetches`: one for each origin with a capture of its robots.txt.
    pub rows: u64,
    /// Captures of a robots.txt of which there is a newer one.
    pub older: u64,
    /// Captures of other resources.
    pub other_targets: u64,
    /// Records that are no captures, or entries of a folder that hold no body.
    pub other_records: u64,
    /// What is damaged and was passed over, and captures whose time cannot be read.
    pub faults: FaultCounts,
    /// Damages that have no row in `captures`, since their file has too many.
    pub untold: u64,
    /// Distinct bodies.
    pub bodies: u64,
}

/// A snapshot that was made.
#[derive(Debug)]
pub struct Ingested {
    /// What was counted.
    pub totals: IngestTotals,
    /// Rows by class.
    pub classes: Classes,
}

impl IngestTotals {
    /// The equation that has to hold: captures = rows + older ones + other targets.
    #[must_use]
    pub const fn balances(&self) -> bool {
        self.captures == self.rows + self.older + self.other_targets
    }

    /// The same as lines and what became of them.
    #[must_use]
    pub fn lines(&self) -> LineTotals {
        let lines = self.captures - self.other_targets;
        let skipped = self.other_targets + self.other_records;
        LineTotals { lines, rows: self.rows, duplicates: self.older, skipped, ..LineTotals::default() }
    }
}

/// A row with what belongs to it.
struct Taken {
    fetch: FetchRow,
    body: Option<TakenBody>,
    capture: CaptureRow,
}

struct TakenBody {
    hash: BodyHash,
    octets: Vec<u8>,
    counts: BodyCounts,
}

impl Taken {
    /// Puts what was seen and its body together.
    fn new(mut fetch: FetchRow, body: Option<Vec<u8>>, capture: CaptureRow) -> Self {
        let body = body.map(|octets| {
            let hash = Sha256::digest(&octets).into();
            TakenBody { hash, counts: BodyCounts::of(&Robots::parse(&octets, Matching::Rfc9309)), octets }
        });
        if let Some(body) = &body {
            fetch.observation.body_sha256 = Some(body.hash);
            fetch.observation.body_octets = Some(i64::try_from(body.octets.len()).unwrap_or(i64::MAX));
        }
        Self { fetch, body, capture }
    }
}

/// Takes captures over into the tables that `output` has open. The files are not ended yet.
///
/// # Errors
/// What stops a run: see [`AuditError`].
pub fn ingest(
    source: &Captures,
    threads: usize,
    output: &mut Output,
    observer: Observer<'_>,
) -> Result<Ingested, AuditError> {
    let pool = pipeline::pool(threads)?;
    let mut run = Run {
        pool,
        writer: Writer {
            output,
            observer,
            fetches: FetchesBuilder::default(),
            bodies: BodiesBuilder::default(),
            captures: CapturesBuilder::default(),
            response_signals: ResponseSignalsBuilder::default(),
            written: MarkSet::default(),
            classes: Classes::default(),
        },
        totals: IngestTotals::default(),
    };
    match source {
        Captures::Warc(files) => run.warc(files)?,
        Captures::Rows(files) => run.rows(files)?,
        Captures::Folder(folder) => run.folder(folder)?,
    }
    run.finish()
}

struct Run<'a> {
    pool: Arc<ThreadPool>,
    writer: Writer<'a>,
    totals: IngestTotals,
}

impl Run<'_> {
    fn warc(&mut self, files: &Arc<WarcFiles>) -> Result<(), AuditError> {
        let read = Arc::clone(files);
        let (index, damages) = self.index(files.len(), |file| files.name(file), move |file| Ok(read.index(file)?))?;
        let robots_txts = self.count(&index);
        let index = Arc::new(index);
        (self.writer.observer)(Event::Stage(Stage::Ingest, Some(robots_txts.len() as u64)));
        let (own_files, own_index) = (Arc::clone(files), Arc::clone(&index));
        let read = move |piece: Vec<(Capture, u32)>| read_piece(&own_files, &own_index, piece);
        for piece in ordered(&self.pool, pieces(robots_txts), read) {
            let Piece { taken, rest } = piece??;
            taken.into_iter().try_for_each(|taken| self.writer.take(taken))?;
            // Bodies that are far larger than their records are read one by one.
            let mut readers = Readers::new(files, &index);
            for capture in rest {
                self.writer.take(read_one(files, &mut readers, capture)?)?;
            }
        }
        damages.iter().try_for_each(|damage| self.writer.damage(damage))
    }

    /// First reading: the captures of every URL, and what is damaged.
    fn index(
        &mut self,
        files: usize,
        name: impl Fn(u32) -> String,
        read: impl Fn(u32) -> Result<FileIndex, AuditError> + Send + Sync + 'static,
    ) -> Result<(Index, Vec<CaptureRow>), AuditError> {
        (self.writer.observer)(Event::Stage(Stage::Index, None));
        let (mut index, mut damages) = (Index::default(), Vec::new());
        let numbers = 0..u32::try_from(files).unwrap_or(u32::MAX);
        let indexed = ordered(&self.pool, numbers.clone(), read);
        for (file, found) in numbers.zip(indexed) {
            let found = found??;
            self.totals.files += 1;
            self.totals.captures += found.captures.len() as u64 + found.other_schemes;
            self.totals.other_targets += found.other_schemes;
            self.totals.other_records += found.other_records;
            self.totals.faults.add(&found.faults);
            self.totals.untold += found.faults.total() - found.damages.len() as u64;
            self.add(&mut index, &found.captures);
            damages.extend(found.damages.iter().map(|damage| damage_row(name(file), damage)));
        }
        Ok((index, damages))
    }

    fn add(&mut self, index: &mut Index, found: &[Found]) {
        for found in found {
            index.add(found);
            self.totals.other_targets += u64::from(!found.is_robots_txt);
        }
        (self.writer.observer)(Event::Indexed(found.len() as u64));
    }

    /// The captures that become rows; the older ones of the same origins are counted.
    fn count(&mut self, index: &Index) -> Vec<(Capture, u32)> {
        let robots_txts = index.robots_txts();
        self.totals.older = robots_txts.iter().map(|(_, captures)| u64::from(*captures) - 1).sum();
        robots_txts
    }

    fn rows(&mut self, files: &Arc<RowFiles>) -> Result<(), AuditError> {
        let read = Arc::clone(files);
        let (index, damages) = self.index(files.len(), |file| files.name(file), move |file| Ok(read.index(file)?))?;
        let robots_txts = self.count(&index);
        drop(index);
        (self.writer.observer)(Event::Stage(Stage::Ingest, Some(robots_txts.len() as u64)));
        for of_file in robots_txts.chunk_by(|(one, _), (other, _)| one.file == other.file) {
            let (file, mut captures) = (of_file[0].0.file, of_file.iter());
            for seen in files.see(file, of_file.iter().map(|(capture, _)| capture.at).collect())? {
                let seen = seen?;
                let place = seen.at + 1;
                let count = captures.find(|(capture, _)| capture.at == seen.at).map(|(_, count)| *count);
                let capture = used_row(&seen.observation, files.name(file), place, count.unwrap_or(1))
                    .of(seen.origin.as_str(), &seen.url);
                let fetch = FetchRow {
                    origin: Some(seen.origin),
                    rank: None,
                    input: Some(without_user_information(&seen.url, true).into_owned()),
                    input_line: i64::try_from(place).ok(),
                    observation: seen.observation,
                };
                self.writer.take(Taken::new(fetch, seen.body, capture))?;
            }
        }
        damages.iter().try_for_each(|damage| self.writer.damage(damage))
    }

    fn folder(&mut self, folder: &Arc<Folder>) -> Result<(), AuditError> {
        (self.writer.observer)(Event::Stage(Stage::Ingest, Some(folder.len() as u64)));
        self.totals.files = folder.len() as u64;
        self.totals.captures = folder.len() as u64;
        self.totals.other_records = folder.skipped();
        let files = Arc::clone(folder);
        let mut seen = SeenOrigins::default();
        for file in ordered(&self.pool, 0..folder.len(), move |place| files.read(place)) {
            let (row, body) = file??;
            let is_new = folder_rows::is_new(&row, &mut seen);
            self.totals.older += u64::from(!is_new);
            if is_new {
                self.writer.take(folder_row(&row, body))?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Ingested, AuditError> {
        self.writer.flush()?;
        let Writer { written, classes, output, .. } = self.writer;
        self.totals.rows = classes.total();
        self.totals.bodies = written.len() as u64;
        if !self.totals.balances() {
            return Err(AuditError::Captures(Box::new(self.totals)));
        }
        let told = self.totals.faults.total() - self.totals.untold;
        for (what, table, expected) in [
            ("rows = those in the table fetches", Table::Fetches, self.totals.rows),
            ("distinct bodies = those in the table bodies", Table::Bodies, self.totals.bodies),
            ("rows + faults = rows of captures", Table::Captures, self.totals.rows + told),
        ] {
            Imbalance::check(what, expected, output.rows(table)).map_err(AuditError::Balance)?;
        }
        Ok(Ingested { totals: self.totals, classes })
    }
}

fn folder_row(row: &FileRow, body: Vec<u8>) -> Taken {
    let fetch = row.fetch_row();
    let place = u64::try_from(row.line).unwrap_or_default();
    let mut capture = used_row(&fetch.observation, format!("{}.txt", row.name), place, 1);
    capture.origin = row.origin().map(|origin| origin.as_str().to_owned());
    Taken::new(fetch, row.origin().map(|_| body), capture)
}

fn used_row(seen: &Observation, file: String, place: u64, captures: u32) -> CaptureRow {
    CaptureRow {
        origin: None,
        target_uri: None,
        capture_time: seen.fetch_time,
        used_as: Use::Row,
        captures: Some(captures.into()),
        file,
        place: i64::try_from(place).unwrap_or(i64::MAX),
        fault: None,
    }
}

impl CaptureRow {
    fn of(mut self, origin: &str, target_uri: &str) -> Self {
        self.origin = Some(origin.to_owned());
        self.target_uri = Some(without_user_information(target_uri, true).into_owned());
        self
    }
}

fn damage_row(file: String, damage: &Damage) -> CaptureRow {
    CaptureRow {
        origin: None,
        target_uri: None,
        capture_time: None,
        used_as: if damage.fault == Fault::Time { Use::Undated } else { Use::Damaged },
        captures: None,
        file,
        place: i64::try_from(damage.at).unwrap_or(i64::MAX),
        fault: Some(damage.fault),
    }
}

/// What a worker made of a piece; the rest was too large to be held.
struct Piece {
    taken: Vec<Taken>,
    rest: Vec<(Capture, u32)>,
}

/// Captures in the order of files and places, in pieces of about the same work.
fn pieces(captures: Vec<(Capture, u32)>) -> impl Iterator<Item = Vec<(Capture, u32)>> {
    let mut captures = captures.into_iter().peekable();
    std::iter::from_fn(move || {
        captures.peek()?;
        let (mut piece, mut octets) = (Vec::new(), 0);
        while piece.len() < PIECE_CAPTURES && octets < PIECE_OCTETS {
            let Some(one) = captures.next() else { break };
            octets += u64::from(one.0.octets);
            piece.push(one);
        }
        Some(piece)
    })
}

fn read_piece(files: &WarcFiles, index: &Index, piece: Vec<(Capture, u32)>) -> Result<Piece, WarcError> {
    let mut readers = Readers::new(files, index);
    let (mut taken, mut held, mut rest) = (Vec::with_capacity(piece.len()), 0, piece.into_iter());
    for capture in rest.by_ref() {
        let one = read_one(files, &mut readers, capture)?;
        held += one.body.as_ref().map_or(0, |body| body.octets.len());
        taken.push(one);
        if held >= HELD_OCTETS {
            break;
        }
    }
    Ok(Piece { taken, rest: rest.collect() })
}

fn read_one(
    files: &WarcFiles,
    readers: &mut Readers<'_>,
    (capture, count): (Capture, u32),
) -> Result<Taken, WarcError> {
    let seen = readers.see(capture)?;
    let mut row = used_row(&seen.observation, files.name(capture.file), capture.at, count)
        .of(seen.origin.as_str(), &seen.target_uri);
    row.capture_time = capture.time();
    let fetch = FetchRow {
        origin: Some(seen.origin),
        rank: None,
        input: Some(without_user_information(&seen.target_uri, true).into_owned()),
        input_line: None,
        observation: seen.observation,
    };
    Ok(Taken::new(fetch, seen.body, row))
}

/// Writes rows as they come.
struct Writer<'a> {
    output: &'a mut Output,
    observer: Observer<'a>,
    fetches: FetchesBuilder,
    bodies: BodiesBuilder,
    captures: CapturesBuilder,
    response_signals: ResponseSignalsBuilder,
    /// 16 octets for each distinct body.
    written: MarkSet,
    classes: Classes,
}

impl Writer<'_> {
    fn take(&mut self, taken: Taken) -> Result<(), AuditError> {
        let Taken { fetch, body, capture } = taken;
        if let Some(TakenBody { hash, octets, counts }) = body
            && self.written.insert(Mark::of_hash(&hash))
        {
            self.bodies.push(&hash, &octets, &counts);
        }
        self.classes.count(fetch.observation.class);
        (self.observer)(Event::Ingested);
        self.fetches.push(&fetch);
        self.response_signals.push(&fetch);
        self.captures.push(&capture);
        let held_octets = self.bodies.held_octets().max(self.response_signals.held_octets());
        if self.fetches.rows() >= HELD_ROWS || held_octets >= HELD_OCTETS { self.flush() } else { Ok(()) }
    }

    fn damage(&mut self, row: &CaptureRow) -> Result<(), AuditError> {
        self.captures.push(row);
        if self.captures.rows() >= HELD_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), AuditError> {
        self.output.write(Table::Bodies, &self.bodies.finish())?;
        self.output.write(Table::Fetches, &self.fetches.finish())?;
        self.output.write(Table::Captures, &self.captures.finish())?;
        self.output.write(Table::ResponseSignals, &self.response_signals.finish())?;
        Ok(())
    }
}
