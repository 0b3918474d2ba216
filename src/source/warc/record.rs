//! Records of a WARC file (ISO 28500): the fields of each and its block, and what is damaged between them.
//!
//! A damage costs one record: it is told with its place, and reading goes on at the next one. What a block means is
//! read by `answer`.

use std::io::{self, BufRead, Read, Seek};

use super::member::{Members, Packing, RECORD_MAGIC, skip_line_ends};
use crate::source::captures::Damage;
use crate::source::time::TIME;
use crate::source::told::Told;
use crate::tables::captures::Fault;
use crate::tables::fetches::Timestamp;

/// Octets of the longest head of a record.
const HEAD_OCTETS: usize = 64 * 1024;
/// Octets of the longest record that is passed over; a longer one is a damage.
const RECORD_OCTETS: u64 = 4 << 30;

/// What a record holds, as far as it matters here (`WARC-Type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An answer with its head.
    Response,
    /// A body without a head.
    Resource,
    /// An answer whose body stands in an earlier record.
    Revisit,
    /// Requests, notes, and kinds that later versions may bring.
    Other,
}

/// The fields of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    octets: Vec<u8>,
    /// Octets of the block.
    pub(super) length: u64,
}

/// A record whose block was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Where it begins, or its member does.
    pub(super) at: u64,
    pub(super) head: Head,
    /// The beginning of the block, as much as was asked for.
    pub(super) block: Vec<u8>,
}

/// What comes next in a file.
pub(super) enum Item {
    Record(Record),
    Damage(Damage),
}

/// The records of a file.
pub(super) struct Records<R: Read + Seek> {
    members: Members<R>,
    /// Octets of the file.
    octets: u64,
}

/// Why a record cannot be read: its octets, or the file itself.
enum Stop {
    Fault(Fault),
    File(io::Error),
}

impl Head {
    /// The value of a field, without the white space around it; the first where there are several.
    pub(super) fn field(&self, name: &str) -> Option<&[u8]> {
        self.octets.split(|octet| *octet == b'\n').find_map(|line| {
            let (own, value) = line.split_at_checked(name.len())?;
            let value = own.eq_ignore_ascii_case(name.as_bytes()).then_some(value)?;
            value.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii)
        })
    }

    pub(super) fn kind(&self) -> Kind {
        match self.field("WARC-Type").map(<[u8]>::to_ascii_lowercase).as_deref() {
            Some(b"response") => Kind::Response,
            Some(b"resource") => Kind::Resource,
            Some(b"revisit") => Kind::Revisit,
            _ => Kind::Other,
        }
    }

    /// When the record was made.
    pub(super) fn time(&self) -> Told<Timestamp> {
        self.field("WARC-Date").map_or(Told::Nothing, |date| TIME.of_text(date))
    }
}

impl<R: Read + Seek> Records<R> {
    /// The records of a file of so many octets.
    pub(super) fn new(reader: R, packing: Packing, octets: u64) -> Self {
        Self { members: Members::new(reader, packing, octets), octets }
    }

    /// Goes to the record that begins at a place.
    pub(super) fn seek(&mut self, at: u64) -> io::Result<()> {
        self.members.seek(at)
    }

    /// The next record or damage; `None` at the end. `kept` says how many octets of a block are kept.
    ///
    /// # Errors
    /// The file itself cannot be read.
    pub(super) fn next(&mut self, kept: impl FnOnce(&Head) -> usize) -> io::Result<Option<Item>> {
        match self.members.begin() {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return self.damaged(Stop::File(error)),
        }
        match self.read(kept) {
            Ok(record) => Ok(Some(Item::Record(record))),
            Err(stop) => self.damaged(stop),
        }
    }

    fn damaged(&mut self, stop: Stop) -> io::Result<Option<Item>> {
        let fault = match stop {
            Stop::File(error) if self.members.has_failed() => return Err(error),
            Stop::File(error) if error.kind() == io::ErrorKind::UnexpectedEof => Fault::CutOff,
            Stop::File(_) => Fault::Compression,
            Stop::Fault(fault) => fault,
        };
        let damage = Damage { at: self.members.at(), fault };
        if !self.members.recover()? {
            self.members.seek(self.octets)?;
        }
        Ok(Some(Item::Damage(damage)))
    }

    fn read(&mut self, kept: impl FnOnce(&Head) -> usize) -> Result<Record, Stop> {
        let at = self.members.at();
        let head = self.head()?;
        let kept = u64::try_from(kept(&head)).unwrap_or(u64::MAX).min(head.length);
        let mut block = Vec::new();
        (&mut self.members).take(kept).read_to_end(&mut block)?;
        if (block.len() as u64) < kept {
            return Err(Stop::Fault(Fault::CutOff));
        }
        self.pass_over(head.length - kept)?;
        self.end()?;
        Ok(Record { at, head, block })
    }

    /// Reads the head of a record, to the empty line behind it.
    fn head(&mut self) -> Result<Head, Stop> {
        let mut octets = Vec::new();
        skip_line_ends(&mut self.members)?;
        loop {
            let begin = octets.len();
            let left = (HEAD_OCTETS - begin) as u64;
            (&mut self.members).take(left).read_until(b'\n', &mut octets)?;
            if begin == 0 && !octets.starts_with(RECORD_MAGIC) {
                return Err(Stop::Fault(Fault::Head));
            }
            match octets[begin..].strip_suffix(b"\n") {
                Some([] | b"\r") => break,
                Some(_) => {}
                None if octets.len() == HEAD_OCTETS => return Err(Stop::Fault(Fault::Head)),
                None => return Err(Stop::Fault(Fault::CutOff)),
            }
        }
        let mut head = Head { octets, length: 0 };
        let length = head.field("Content-Length").and_then(|digits| std::str::from_utf8(digits).ok());
        let length = length.filter(|digits| digits.bytes().all(|octet| octet.is_ascii_digit()));
        head.length = length.and_then(|digits| digits.parse().ok()).ok_or(Stop::Fault(Fault::Length))?;
        if head.length > RECORD_OCTETS { Err(Stop::Fault(Fault::TooLong)) } else { Ok(head) }
    }

    fn pass_over(&mut self, mut octets: u64) -> Result<(), Stop> {
        while octets > 0 {
            let ahead = self.members.fill_buf()?.len();
            if ahead == 0 {
                return Err(Stop::Fault(Fault::CutOff));
            }
            let passed = ahead.min(usize::try_from(octets).unwrap_or(usize::MAX));
            self.members.consume(passed);
            octets -= passed as u64;
        }
        Ok(())
    }

    /// Behind a record stand two line ends, and the member ends or the next record begins.
    fn end(&mut self) -> Result<(), Stop> {
        skip_line_ends(&mut self.members)?;
        let ahead = self.members.fill_buf()?;
        if ahead.is_empty() {
            return Ok(());
        }
        if self.members.packing() != Packing::Plain {
            return Err(self.overfull()?);
        }
        let is_record = self.members.bare().ahead(RECORD_MAGIC.len())?.starts_with(RECORD_MAGIC);
        if is_record { Ok(()) } else { Err(Stop::Fault(Fault::Length)) }
    }
}

impl<R: Read + Seek> Records<R> {
    /// What is wrong with a member that goes on behind its record: its octets, if they end with a wrong check sum.
    fn overfull(&mut self) -> Result<Stop, Stop> {
        let mut passed = 0;
        loop {
            let ahead = self.members.fill_buf()?.len();
            passed += ahead as u64;
            if ahead == 0 || passed > RECORD_OCTETS {
                return Ok(Stop::Fault(Fault::SecondRecord));
            }
            self.members.consume(ahead);
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
