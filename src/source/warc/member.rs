//! A WARC file as a row of members: gzip members or zstd frames, one a record, or the plain octets (ISO 28500, annex D).
//!
//! Undoes compression and finds the next member behind a damage; what a member holds is read by `record`.

use std::io::{self, BufRead, Read, Seek};

use flate2::bufread::GzDecoder;

use super::input::{Input, read_buffered};

/// How a gzip member with the one method there is begins (RFC 1952 §2.3).
const GZIP_MAGIC: &[u8] = b"\x1F\x8B\x08";
/// How a zstd frame begins (RFC 8878 §3.1.1).
const ZSTD_MAGIC: &[u8] = b"\x28\xB5\x2F\xFD";
/// How every record begins.
pub(super) const RECORD_MAGIC: &[u8] = b"WARC/";
/// Octets undone at once.
const DECODED_OCTETS: usize = 16 * 1024;
/// Octets that are read a second time behind damages, the length of the file aside: after that, the search goes on where
/// a damage was seen and not behind its beginning, so that no file costs more than a few readings.
const SECOND_LOOK_OCTETS: u64 = 64 << 20;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Records one behind the other.
    Plain,
    /// A gzip member for each.
    Gzip,
    /// A zstd frame for each.
    Zstd,
}

impl Packing {
    /// What the first octets say; `None` where they are no WARC file.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(GZIP_MAGIC) {
            Some(Self::Gzip)
        } else if head.starts_with(ZSTD_MAGIC) {
            Some(Self::Zstd)
        } else {
            head.trim_ascii_start().starts_with(RECORD_MAGIC).then_some(Self::Plain)
        }
    }

    const fn magic(self) -> &'static [u8] {
        match self {
            Self::Plain => RECORD_MAGIC,
            Self::Gzip => GZIP_MAGIC,
            Self::Zstd => ZSTD_MAGIC,
        }
    }
}

/// The members of a file, read one after the other.
pub(super) struct Members<R: Read + Seek> {
    state: State<R>,
    packing: Packing,
    /// Where the member at hand begins.
    at: u64,
    /// What was undone and not taken yet; unused for plain octets.
    decoded: Vec<u8>,
    taken: usize,
    second_look: u64,
}

enum State<R: Read + Seek> {
    /// Before a member, or in plain octets.
    Bare(Input<R>),
    Gzip(Box<GzDecoder<Input<R>>>),
    Zstd(Box<zstd::Decoder<'static, Input<R>>>),
    /// Between two of the others.
    Changing,
}

impl<R: Read + Seek> Members<R> {
    /// The members of a file of so many octets.
    pub(super) fn new(reader: R, packing: Packing, octets: u64) -> Self {
        let second_look = SECOND_LOOK_OCTETS.saturating_add(octets);
        let (decoded, taken) = (vec![0; DECODED_OCTETS], DECODED_OCTETS);
        Self { state: State::Bare(Input::new(reader)), packing, at: 0, decoded, taken, second_look }
    }

    pub(super) const fn packing(&self) -> Packing {
        self.packing
    }

    /// Where the member at hand begins.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// Whether the file itself could not be read.
    pub(super) fn has_failed(&self) -> bool {
        match &self.state {
            State::Bare(input) => input.has_failed(),
            State::Gzip(decoder) => decoder.get_ref().has_failed(),
            State::Zstd(decoder) => decoder.get_ref().has_failed(),
            State::Changing => true,
        }
    }

    /// The octets of the file, whatever is being decoded.
    pub(super) fn bare(&mut self) -> &mut Input<R> {
        let input = match std::mem::replace(&mut self.state, State::Changing) {
            State::Bare(input) => input,
            State::Gzip(decoder) => decoder.into_inner(),
            State::Zstd(decoder) => decoder.finish(),
            State::Changing => unreachable!("a state is put back before anyone can look"),
        };
        self.state = State::Bare(input);
        match &mut self.state {
            State::Bare(input) => input,
            _ => unreachable!("set above"),
        }
    }

    /// Goes to the member that begins at a place.
    pub(super) fn seek(&mut self, at: u64) -> io::Result<()> {
        self.bare().seek(at)
    }

    /// Begins the next member; `false` at the end of the file. Of plain octets, this is a record.
    pub(super) fn begin(&mut self) -> io::Result<bool> {
        let packing = self.packing;
        let input = self.bare();
        if packing == Packing::Plain {
            skip_line_ends(input)?;
        }
        let is_end = input.ahead(1)?.is_empty();
        let at = input.at();
        (self.at, self.taken) = (at, self.decoded.len());
        let State::Bare(input) = std::mem::replace(&mut self.state, State::Changing) else {
            unreachable!("made bare above")
        };
        self.state = match packing {
            _ if is_end => State::Bare(input),
            Packing::Plain => State::Bare(input),
            Packing::Gzip => State::Gzip(Box::new(GzDecoder::new(input))),
            Packing::Zstd => State::Zstd(Box::new(zstd::Decoder::with_buffer(input)?.single_frame())),
        };
        Ok(!is_end)
    }

    /// Goes behind a damage, to the next place where a member seems to begin; `false` where there is none.
    pub(super) fn recover(&mut self) -> io::Result<bool> {
        let (packing, begin) = (self.packing, self.at);
        let mut budget = self.second_look;
        let input = self.bare();
        let mut from = second_look(begin, input.at(), &mut budget);
        let mut found = false;
        input.seek(from)?;
        while !found && input.find(packing.magic())? {
            from = input.at();
            found = begins_a_record(input, packing);
            if input.has_failed() {
                return Err(io::Error::other("the file cannot be read on"));
            }
            if !found {
                from = second_look(from, input.at(), &mut budget);
            }
            input.seek(from)?;
        }
        self.second_look = budget;
        Ok(found)
    }
}

/// Where to go on behind a failure that began at one place and was seen at another.
fn second_look(begin: u64, seen: u64, budget: &mut u64) -> u64 {
    match budget.checked_sub(seen.saturating_sub(begin + 1)) {
        Some(left) => {
            *budget = left;
            begin + 1
        }
        None => seen.max(begin + 1),
    }
}

/// Whether a record begins here. Plain octets are believed only at the beginning of a line.
fn begins_a_record<R: Read + Seek>(input: &mut Input<R>, packing: Packing) -> bool {
    let mut head = [0; RECORD_MAGIC.len()];
    let read = match packing {
        Packing::Plain => return follows_a_line_end(input),
        Packing::Gzip => GzDecoder::new(input).read_exact(&mut head),
        Packing::Zstd => {
            zstd::Decoder::with_buffer(input).and_then(|decoder| decoder.single_frame().read_exact(&mut head))
        }
    };
    read.is_ok() && head == RECORD_MAGIC
}

fn follows_a_line_end<R: Read + Seek>(input: &mut Input<R>) -> bool {
    let at = input.at();
    at == 0 || (input.seek(at - 1).is_ok() && input.ahead(1).is_ok_and(|ahead| ahead.starts_with(b"\n")))
}

pub(super) fn skip_line_ends(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let ahead = input.fill_buf()?;
        let ends = ahead.iter().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
        let is_last = ends < ahead.len() || ahead.is_empty();
        input.consume(ends);
        if is_last {
            return Ok(());
        }
    }
}

impl<R: Read + Seek> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}

impl<R: Read + Seek> BufRead for Members<R> {
    /// Empty at the end of the member, whose check sum was right then.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let decoder: &mut dyn Read = match &mut self.state {
            State::Bare(input) if self.packing == Packing::Plain => return input.fill_buf(),
            State::Bare(_) | State::Changing => return Ok(&[]),
            State::Gzip(decoder) => decoder,
            State::Zstd(decoder) => decoder,
        };
        if self.taken == self.decoded.len() {
            self.decoded.resize(DECODED_OCTETS, 0);
            let read = loop {
                match decoder.read(&mut self.decoded) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.decoded.truncate(read.as_ref().copied().unwrap_or_default());
            self.taken = 0;
            read?;
        }
        Ok(&self.decoded[self.taken..])
    }

    fn consume(&mut self, octets: usize) {
        match &mut self.state {
            State::Bare(input) if self.packing == Packing::Plain => input.consume(octets),
            _ => self.taken = (self.taken + octets).min(self.decoded.len()),
        }
    }
}
