//! Opens one list: undoes compression, told by the first octets and not by the name, and finds what is inside.

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use super::lines::Stream;
use super::{InputError, zipped};
use crate::source::packing::{Packing, beginning};

/// The argument that stands for standard input.
pub(super) const STDIN: &str = "-";

/// Octets that formats are recognised by.
const HEAD_OCTETS: usize = 64 * 1024;

/// Octets that a stream is read ahead.
const BUFFER_OCTETS: usize = 128 * 1024;

/// Octets that tell what a file is.
const MAGIC_OCTETS: usize = 8;

/// A list whose compression is undone.
pub(super) enum Opened {
    /// A Parquet file.
    Parquet(File),
    /// Anything else: what it begins with, and the whole of it (byte order mark aside).
    Text {
        /// The first octets.
        head: Vec<u8>,
        /// All octets, those of `head` included.
        stream: Stream,
    },
}

/// The name of an argument in messages.
pub(super) fn place(arg: &str) -> &str {
    if arg == STDIN { "standard input" } else { arg }
}

/// Whether the argument can be opened again and gives the same: not so for standard input and pipes.
pub(super) fn can_be_read_again(arg: &str) -> bool {
    arg != STDIN && fs::metadata(arg).is_ok_and(|metadata| metadata.is_file())
}

/// Opens a file, or standard input for `-`.
pub(super) fn open(arg: &str) -> Result<Opened, InputError> {
    let place = place(arg);
    if arg == STDIN {
        return open_pipe(Box::new(io::stdin()), place);
    }
    if Path::new(arg).is_dir() {
        return Err(InputError::Directory { place: place.to_owned() });
    }
    let file = File::open(arg).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => InputError::NoSuchFile { place: place.to_owned() },
        _ => cannot_open(place, source),
    })?;
    if can_be_read_again(arg) { open_file(file, place) } else { open_pipe(Box::new(file), place) }
}

fn open_file(mut file: File, place: &str) -> Result<Opened, InputError> {
    let magic = beginning(&mut file, MAGIC_OCTETS).map_err(|source| cannot_open(place, source))?;
    file.seek(SeekFrom::Start(0)).map_err(|source| cannot_open(place, source))?;
    match Container::of(&magic) {
        Container::Parquet => Ok(Opened::Parquet(file)),
        Container::Zip => text(zipped::open(file, place)?, place),
        Container::Unread => Err(unread(place)),
        Container::Stream(packing) => unpacked(packing, file, place),
    }
}

fn open_pipe(mut pipe: Box<dyn Read + Send>, place: &str) -> Result<Opened, InputError> {
    let magic = beginning(&mut pipe, MAGIC_OCTETS).map_err(|source| cannot_open(place, source))?;
    let fault = match Container::of(&magic) {
        Container::Parquet => "is Parquet, which is read from a file only, not from a pipe",
        Container::Zip => "is a zip archive, which is read from a file only, not from a pipe",
        Container::Unread => return Err(unread(place)),
        Container::Stream(packing) => return unpacked(packing, Cursor::new(magic).chain(pipe), place),
    };
    Err(InputError::Format { place: place.to_owned(), fault })
}

fn unpacked(packing: Packing, packed: impl Read + Send + 'static, place: &str) -> Result<Opened, InputError> {
    let buffered = BufReader::with_capacity(BUFFER_OCTETS, packed);
    text(packing.unpack(buffered).map_err(|source| cannot_open(place, source))?, place)
}

fn unread(place: &str) -> InputError {
    let fault = "is compressed in a way that is not read (gzip, zstd and zip are)";
    InputError::Format { place: place.to_owned(), fault }
}

fn text(mut octets: Box<dyn Read + Send>, place: &str) -> Result<Opened, InputError> {
    let mut head = Vec::new();
    octets.by_ref().take(HEAD_OCTETS as u64).read_to_end(&mut head).map_err(|source| {
        // What was read before is in the head all the same.
        let lines = memchr::memchr_iter(b'\n', &head).count();
        InputError::Read { place: place.to_owned(), line: i64::try_from(lines + 1).unwrap_or(i64::MAX), source }
    })?;
    let fault = match Container::of(&head) {
        Container::Stream(Packing::Plain) => None,
        Container::Parquet => Some("is a compressed Parquet file; Parquet is read uncompressed only"),
        _ => Some("is compressed twice"),
    };
    let is_wide = head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF");
    if let Some(fault) = fault.or(is_wide.then_some("is UTF-16 text; UTF-8 is read only")) {
        return Err(InputError::Format { place: place.to_owned(), fault });
    }
    if head.starts_with(b"\xEF\xBB\xBF") {
        head.drain(..3);
    }
    let whole = Cursor::new(head.clone()).chain(octets);
    Ok(Opened::Text { head, stream: Box::new(BufReader::with_capacity(BUFFER_OCTETS, whole)) })
}

fn cannot_open(place: &str, source: io::Error) -> InputError {
    InputError::Open { place: place.to_owned(), source }
}

/// What the first octets say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Parquet,
    Zip,
    /// A packing that is known, but not read.
    Unread,
    /// One stream, packed or not.
    Stream(Packing),
}

impl Container {
    fn of(head: &[u8]) -> Self {
        match head {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            [b'P', b'A', b'R', b'1' | b'E', ..] => Self::Parquet,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] | [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => {
                Self::Unread
            }
            other => Self::Stream(Packing::of(other)),
        }
    }
}
