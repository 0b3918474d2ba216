//! The one file of a zip archive, as a stream that owns its file.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::InputError;

/// Opens the only file of an archive; folders and the resource forks of macOS do not count.
pub(super) fn open(mut file: File, place: &str) -> Result<Box<dyn Read + Send>, InputError> {
    let broken = |error: ZipError| {
        // The library's own text repeats what it wraps.
        let source = match error {
            ZipError::Io(cause) => cause.into(),
            other => other.into(),
        };
        InputError::Zip { place: place.to_owned(), source }
    };
    let refused = |fault| InputError::Format { place: place.to_owned(), fault };
    let mut archive = ZipArchive::new(BufReader::new(&file)).map_err(broken)?;
    let index = only_file(&archive).map_err(refused)?;
    let entry = archive.by_index_raw(index).map_err(broken)?;
    if entry.encrypted() {
        return Err(refused("is an encrypted zip archive"));
    }
    let start = entry.data_start().ok_or_else(|| refused("is a damaged zip archive"))?;
    let (method, octets, crc) = (entry.compression(), entry.compressed_size(), entry.crc32());
    drop(entry);
    drop(archive);
    let seek = file.seek(SeekFrom::Start(start));
    seek.map_err(|source| InputError::Open { place: place.to_owned(), source })?;
    let packed = BufReader::new(file.take(octets));
    match method {
        CompressionMethod::Stored => Ok(Box::new(Checked::new(packed, crc))),
        CompressionMethod::Deflated => Ok(Box::new(Checked::new(DeflateDecoder::new(packed), crc))),
        _ => Err(refused("is a zip archive with another compression than deflate")),
    }
}

fn only_file<R: Read + Seek>(archive: &ZipArchive<R>) -> Result<usize, &'static str> {
    let mut found = None;
    for (index, name) in archive.file_names_raw().enumerate() {
        if name.ends_with(b"/") || name.starts_with(b"__MACOSX/") {
            continue;
        }
        if found.replace(index).is_some() {
            return Err("is a zip archive of more than one file");
        }
    }
    found.ok_or("is a zip archive without a file")
}

/// Compares the checksum at the end.
struct Checked<R> {
    inner: R,
    crc: Crc,
    expected: u32,
}

impl<R> Checked<R> {
    fn new(inner: R, expected: u32) -> Self {
        Self { inner, crc: Crc::new(), expected }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let octets = self.inner.read(buffer)?;
        self.crc.update(&buffer[..octets]);
        if octets == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum in the zip archive does not agree"));
        }
        Ok(octets)
    }
}
