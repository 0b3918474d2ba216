//! The journal of a live run: which part files are whole (fetch policy §8).
//!
//! A line a record, with a checksum before it; the first record holds a digest of what was asked. A part is in its
//! place before its record is written, so that rows of the parts named here are done and all others are not. A record
//! that was cut off by a crash counts as not written. The journal goes away when the run has ended: a folder that holds
//! one holds an unfinished run.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::column::hex;
use super::sink::sync_folder;

/// Name of the journal in an output folder.
pub const JOURNAL: &str = "journal";

/// Octets of a record's checksum: the beginning of a SHA-256.
const CHECKSUM_OCTETS: usize = 8;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// What was asked: a digest of lists and settings.
    Begin {
        /// SHA-256 in hexadecimal.
        asked_sha256: String,
    },
    /// Files that are in their places.
    Part(Part),
    /// All parts are written; the facts are the run's own.
    Collected {
        /// What became of the lines.
        lines: serde_json::Value,
    },
}

/// Files of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Their number, the same for all.
    pub part: u32,
    /// The file of `fetches`.
    pub fetches: Option<PartFile>,
    /// The file of `bodies`.
    pub bodies: Option<PartFile>,
    /// The file of `response_signals`: most parts have none.
    #[serde(default)]
    pub response_signals: Option<PartFile>,
}

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// Its rows.
    pub rows: u64,
    /// Its octets.
    pub octets: u64,
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Journaled {
    /// The digest of what was asked.
    pub asked_sha256: String,
    /// Parts, in the order of writing.
    pub parts: Vec<Part>,
    /// What became of the lines, once all parts are written.
    pub lines: Option<serde_json::Value>,
}

/// What can go wrong with a journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Another run has it open.
    #[error("another run is writing to {}", folder.display())]
    InUse {
        /// The output folder.
        folder: PathBuf,
    },
    /// A record before the last is damaged.
    #[error("{}, line {line}: the record is damaged", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// 1-based line.
        line: usize,
    },
}

/// A journal being written. As long as it is open no other run writes to its folder.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens the journal of a folder, or makes one; what it says, where it is not new.
    ///
    /// # Errors
    /// It cannot be read or written, is damaged, or another run has it open.
    pub fn open(folder: &Path) -> Result<(Self, Option<Journaled>), JournalError> {
        let path = folder.join(JOURNAL);
        let write_error = |source| JournalError::Write { path: path.clone(), source };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(write_error)?;
        // Some file systems know no locks; one run at a time is then the caller's business.
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            return Err(JournalError::InUse { folder: folder.to_owned() });
        }
        let mut journal = Self { file, path };
        let (journaled, whole_octets) = read(&journal.path)?;
        journal.cut(whole_octets)?;
        Ok((journal, journaled))
    }

    /// Forgets all records.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn clear(&mut self) -> Result<(), JournalError> {
        self.cut(0)
    }

    fn cut(&mut self, octets: u64) -> Result<(), JournalError> {
        let cut = self.file.set_len(octets).and_then(|()| self.file.seek(SeekFrom::Start(octets)));
        cut.map(|_| ()).map_err(|source| JournalError::Write { path: self.path.clone(), source })
    }

    /// Adds a record and waits until it is on the disk.
    ///
    /// # Errors
    /// It cannot be written. What was written of it is no record.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let line = line_of(record);
        let appended = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let appended = appended.and_then(|()| sync_folder(folder));
        appended.map_err(|source| JournalError::Write { path: self.path.clone(), source })
    }

    /// Takes the journal away: the run has ended.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn end(self) -> Result<(), JournalError> {
        fs::remove_file(&self.path).map_err(|source| JournalError::Write { path: self.path, source })
    }
}

impl Journaled {
    /// What the journal of a folder says; `None` where it holds none, or one without a record.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn read(folder: &Path) -> Result<Option<Self>, JournalError> {
        read(&folder.join(JOURNAL)).map(|(journaled, _)| journaled)
    }
}

/// What a journal says, and the octets of its whole records.
fn read(path: &Path) -> Result<(Option<Journaled>, u64), JournalError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        // What is no folder holds no journal; that it is none is said where it is used as one.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok((None, 0)),
        Err(source) => return Err(JournalError::Read { path: path.to_owned(), source }),
    };
    let mut journaled: Option<Journaled> = None;
    let mut octets = 0;
    let lines: Vec<&[u8]> = text.split_inclusive(|octet| *octet == b'\n').collect();
    for (place, line) in lines.iter().enumerate() {
        let is_last = place + 1 == lines.len();
        match (record_of(line), &mut journaled) {
            (Some(Record::Begin { asked_sha256 }), None) => {
                journaled = Some(Journaled { asked_sha256, ..Journaled::default() });
            }
            (Some(Record::Part(part)), Some(journaled)) => journaled.parts.push(part),
            (Some(Record::Collected { lines }), Some(journaled)) => journaled.lines = Some(lines),
            (None, _) if is_last => break,
            _ => return Err(JournalError::Damaged { path: path.to_owned(), line: place + 1 }),
        }
        octets += line.len() as u64;
    }
    Ok((journaled, octets))
}

fn line_of(record: &Record) -> String {
    let json = serde_json::to_string(record).expect("records are plain data");
    format!("{} {json}\n", checksum(json.as_bytes()))
}

fn record_of(line: &[u8]) -> Option<Record> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(CHECKSUM_OCTETS * 2 + 1)?;
    if sum.strip_suffix(b" ")? != checksum(json).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn checksum(json: &[u8]) -> String {
    hex(&Sha256::digest(json)[..CHECKSUM_OCTETS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32) -> Record {
        let file = Some(PartFile { rows: 3, octets: 400 });
        Record::Part(Part { part: number, fetches: file, bodies: None, response_signals: None })
    }

    fn begin() -> Record {
        Record::Begin { asked_sha256: "ab".repeat(32) }
    }

    #[test]
    fn what_was_appended_is_read_back_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, before) = Journal::open(folder.path()).unwrap();
        assert_eq!(before, None);
        for record in [begin(), part(0), part(1)] {
            journal.append(&record).unwrap();
        }
        assert!(matches!(Journal::open(folder.path()), Err(JournalError::InUse { .. })));
        let journaled = Journaled::read(folder.path()).unwrap().expect("records");
        assert_eq!((journaled.parts.len(), journaled.lines.as_ref()), (2, None));
        journal.append(&Record::Collected { lines: serde_json::json!({"rows": 6}) }).unwrap();
        assert!(Journaled::read(folder.path()).unwrap().expect("records").lines.is_some());
        journal.end().unwrap();
        assert_eq!(Journaled::read(folder.path()).unwrap(), None);
    }

    #[test]
    fn a_record_cut_off_anywhere_was_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let whole = line_of(&begin()) + &line_of(&part(0));
        let first = line_of(&begin()).len();
        for octets in 0..whole.len() {
            fs::write(folder.path().join(JOURNAL), &whole[..octets]).unwrap();
            let (mut journal, journaled) = Journal::open(folder.path()).unwrap();
            assert_eq!(journaled.is_some(), octets >= first, "{octets}");
            assert!(journaled.is_none_or(|journaled| journaled.parts.is_empty()));
            journal.append(&if octets < first { begin() } else { part(7) }).unwrap();
            drop(journal);
            let again = Journaled::read(folder.path()).unwrap().expect("records");
            assert_eq!(again.parts.len(), usize::from(octets >= first));
        }
    }

    #[test]
    fn damage_in_the_middle_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let text = line_of(&begin()) + &line_of(&part(0)).replace("400", "401") + &line_of(&part(1));
        fs::write(folder.path().join(JOURNAL), text).unwrap();
        assert!(matches!(Journal::open(folder.path()), Err(JournalError::Damaged { line: 2, .. })));
    }
}
