//! Part files of a snapshot, and the journal that names those that are whole (fetch policy §8).
//!
//! A part is a file of `fetches`, one of `bodies` and one of `response_signals` with the same number. They are written
//! under temporary names, put in their places when whole, and only then named in the journal; so the rows of the named
//! parts are done, and everything else is still to do.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use thiserror::Error;

use super::super::AuditError;
use super::super::output::{FETCHED_TABLES, clear};
use super::super::totals::{Classes, LineTotals};
use super::feed::Named;
use crate::source::input::SeenOrigins;
use crate::source::snapshot::{DoneRow, Snapshot};
use crate::tables::fetches::BodyHash;
use crate::tables::journal::{Journal, Journaled, Part, PartFile, Record};
use crate::tables::sink::{self, Footer, SinkError, TableFile, WholeFile};
use crate::tables::{Table, bodies, fetches, response_signals};

/// Rows after which a part ends.
pub const PART_ROWS: u64 = 131_072;
/// Age at which a part ends: about as much work a crash costs at most.
pub const PART_AGE: Duration = Duration::from_secs(30);
/// Rows of a row group of a part. It is in memory until it is whole, so that a run's memory does not grow with its parts.
const ROW_GROUP_ROWS: usize = 8_192;
/// Octets of bodies after which a part ends.
const PART_BODY_OCTETS: u64 = 1 << 30;

/// When a part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimits {
    /// Rows of `fetches`.
    pub rows: u64,
    /// Time since its first row.
    pub age: Duration,
}

impl Default for PartLimits {
    fn default() -> Self {
        Self { rows: PART_ROWS, age: PART_AGE }
    }
}

/// What to do with an unfinished run that the folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Go on, where it was asked the same.
    Resume,
    /// Forget it.
    Discard,
}

/// Why an unfinished run cannot be gone on with.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// It was asked something else.
    #[error(
        "{} holds an unfinished run with other lists or settings; end it with the command that began it, or discard it \
         with --restart",
        folder.display()
    )]
    AskedOther {
        /// The output folder.
        folder: PathBuf,
    },
    /// A part is not as the journal says.
    #[error("{} is not as the journal of the unfinished run says; discard that run with --restart", path.display())]
    Part {
        /// The part file.
        path: PathBuf,
    },
}

/// What an unfinished run has done.
#[derive(Debug, Default)]
pub struct Done {
    /// Origins that have their row.
    pub(super) origins: SeenOrigins,
    /// Lines that name no origin and have their row; several lists may hold the same.
    invalid: HashMap<(i64, String), u64>,
    /// Bodies that are written.
    pub(super) bodies: HashSet<BodyHash>,
    /// Bodies that rows name and no part holds yet.
    pub(super) wanted: HashSet<BodyHash>,
    /// Rows by class.
    pub classes: Classes,
    /// What became of the lines, where everything was fetched.
    pub lines: Option<LineTotals>,
}

impl Done {
    /// What the parts of a journal hold.
    fn read(folder: &Path, journaled: &Journaled) -> Result<Self, AuditError> {
        let snapshot = Snapshot::of_parts(folder, &journaled.parts)?;
        let mut done = Self { bodies: snapshot.body_hashes().collect::<Result<_, _>>()?, ..Self::default() };
        for row in snapshot.done_rows() {
            let DoneRow { class, origin, input, line, body } = row?;
            done.classes.count(class);
            match origin {
                Some(origin) => {
                    done.origins.insert_text(&origin);
                }
                None => *done.invalid.entry((line.unwrap_or(0), input.unwrap_or_default())).or_default() += 1,
            }
            done.wanted.extend(body.filter(|hash| !done.bodies.contains(hash)));
        }
        done.lines = journaled.lines.as_ref().and_then(LineTotals::of_json);
        Ok(done)
    }

    /// Whether this line has its row already; each row stands for one line.
    pub(super) fn take_invalid(&mut self, named: &Named) -> bool {
        let key = (named.line.unwrap_or(0), named.input.clone().unwrap_or_default());
        match self.invalid.get_mut(&key) {
            Some(rows) if *rows > 0 => {
                *rows -= 1;
                true
            }
            _ => false,
        }
    }
}

/// The parts of a snapshot being written.
#[derive(Debug)]
pub struct Parts {
    folder: PathBuf,
    journal: Journal,
    limits: PartLimits,
    footer: Footer,
    written: Vec<Part>,
    current: Current,
    done: Done,
}

/// The part at hand; its files are made with their first rows.
#[derive(Debug, Default)]
struct Current {
    fetches: Option<TableFile>,
    bodies: Option<TableFile>,
    response_signals: Option<TableFile>,
    body_octets: u64,
    begun: Option<Instant>,
}

impl Parts {
    /// Opens a folder for a run that was asked this (a digest of lists and settings), and takes away what a crash left.
    ///
    /// # Errors
    /// The folder cannot be written, another run is writing to it, or it holds an unfinished run that cannot be gone on
    /// with.
    pub fn open(
        folder: &Path,
        asked_sha256: &str,
        unfinished: Unfinished,
        limits: PartLimits,
        footer: Footer,
    ) -> Result<Self, AuditError> {
        sink::make_folder(folder)?;
        let (mut journal, journaled) = Journal::open(folder)?;
        let journaled = match unfinished {
            Unfinished::Resume => journaled,
            Unfinished::Discard => {
                journal.clear()?;
                None
            }
        };
        Table::ALL.iter().try_for_each(|table| sink::remove_temporary(folder, *table))?;
        let (written, done) = match journaled {
            None => {
                journal.append(&Record::Begin { asked_sha256: asked_sha256.to_owned() })?;
                (Vec::new(), Done::default())
            }
            Some(journaled) if journaled.asked_sha256 != asked_sha256 => {
                return Err(ResumeError::AskedOther { folder: folder.to_owned() }.into());
            }
            Some(journaled) => {
                check(folder, &journaled.parts)?;
                if !journaled.parts.is_empty() {
                    remove_unnamed(folder, &journaled.parts)?;
                }
                let done = Done::read(folder, &journaled)?;
                (journaled.parts, done)
            }
        };
        let folder = folder.to_owned();
        Ok(Self { folder, journal, limits, footer, written, current: Current::default(), done })
    }

    /// What an unfinished run has done; taken once.
    pub fn take_done(&mut self) -> Done {
        std::mem::take(&mut self.done)
    }

    /// Adds rows to a table of the part at hand.
    pub(super) fn write(&mut self, table: Table, batch: &RecordBatch) -> Result<(), SinkError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.file(table)?.write(batch)
    }

    /// Counts octets of bodies.
    pub(super) fn count_body(&mut self, octets: usize) {
        self.current.body_octets += octets as u64;
    }

    fn file(&mut self, table: Table) -> Result<&mut TableFile, SinkError> {
        let part = self.next_part();
        self.current.begun.get_or_insert_with(Instant::now);
        let (file, schema) = match table {
            Table::Bodies => (&mut self.current.bodies, bodies::schema()),
            Table::ResponseSignals => (&mut self.current.response_signals, response_signals::schema()),
            _ => (&mut self.current.fetches, fetches::schema()),
        };
        if file.is_none() {
            *file = Some(TableFile::create_part(&self.folder, table, part, schema, ROW_GROUP_ROWS)?);
        }
        Ok(file.as_mut().expect("made above"))
    }

    fn next_part(&self) -> u32 {
        self.written.last().map_or(0, |part| part.part + 1)
    }

    /// Whether the part at hand has reached a limit, with so many rows that wait for it.
    pub(super) fn is_due(&self, held_rows: u64) -> bool {
        let Current { fetches, body_octets, begun, .. } = &self.current;
        let rows = fetches.as_ref().map_or(0, TableFile::rows) + held_rows;
        rows >= self.limits.rows
            || *body_octets >= PART_BODY_OCTETS
            || begun.is_some_and(|begun| begun.elapsed() >= self.limits.age)
    }

    /// Notes that rows wait for the part at hand: its age counts from the first.
    pub(super) fn begin(&mut self) {
        self.current.begun.get_or_insert_with(Instant::now);
    }

    /// Ends the part at hand, puts its files in their places and names them in the journal.
    pub(super) fn close(&mut self) -> Result<(), AuditError> {
        let part = self.next_part();
        let Current { fetches, bodies, response_signals, .. } = std::mem::take(&mut self.current);
        let whole = |file: Option<TableFile>| file.map(|file| file.finish(&self.footer)).transpose();
        let (bodies, fetches, response_signals) = (whole(bodies)?, whole(fetches)?, whole(response_signals)?);
        if bodies.is_none() && fetches.is_none() && response_signals.is_none() {
            return Ok(());
        }
        if self.written.is_empty() {
            // From here on the folder is this run's: what an earlier one left would be read as rows of this one.
            clear(&self.folder, Table::ALL)?;
        }
        let publish = |file: Option<WholeFile>| {
            file.map(|file| Ok::<_, SinkError>(PartFile { rows: file.rows(), octets: file.publish()? })).transpose()
        };
        let (bodies, fetches, response_signals) = (publish(bodies)?, publish(fetches)?, publish(response_signals)?);
        let part = Part { part, fetches, bodies, response_signals };
        self.journal.append(&Record::Part(part))?;
        self.written.push(part);
        Ok(())
    }

    /// Ends the last part. A table without rows gets its file all the same.
    pub(super) fn finish(&mut self) -> Result<(), AuditError> {
        for table in FETCHED_TABLES {
            if self.written.iter().all(|part| file_of(part, table).is_none()) {
                self.file(table)?;
            }
        }
        self.close()
    }

    /// Rows of `fetches` in the parts that are whole.
    pub(super) fn rows(&self) -> u64 {
        self.written.iter().filter_map(|part| part.fetches).map(|file| file.rows).sum()
    }

    /// The journal, once the parts are whole.
    #[must_use]
    pub fn into_journal(self) -> Journal {
        self.journal
    }
}

fn files(folder: &Path, part: &Part) -> impl Iterator<Item = (PathBuf, PartFile)> {
    let path = |table| sink::part_path(folder, table, part.part);
    FETCHED_TABLES.into_iter().filter_map(move |table| Some((path(table), file_of(part, table)?)))
}

const fn file_of(part: &Part, table: Table) -> Option<PartFile> {
    match table {
        Table::Fetches => part.fetches,
        Table::Bodies => part.bodies,
        Table::ResponseSignals => part.response_signals,
        _ => None,
    }
}

/// Every part that the journal names is there, and as long as it says.
fn check(folder: &Path, parts: &[Part]) -> Result<(), ResumeError> {
    for (path, file) in parts.iter().flat_map(|part| files(folder, part)) {
        if fs::metadata(&path).map_or(true, |found| found.len() != file.octets) {
            return Err(ResumeError::Part { path });
        }
    }
    Ok(())
}

/// A part whose record was not written is done again.
fn remove_unnamed(folder: &Path, parts: &[Part]) -> Result<(), SinkError> {
    let named: Vec<PathBuf> = parts.iter().flat_map(|part| files(folder, part)).map(|(path, _)| path).collect();
    FETCHED_TABLES.iter().try_for_each(|table| sink::remove_other_parts(folder, *table, &named))
}
