//! The octets of a file with their places, read ahead in one buffer, so that a reader can go back a little for free.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// Octets read ahead.
const BUFFER_OCTETS: usize = 64 * 1024;

/// A file and the place in it.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Octets of the buffer that were taken.
    taken: usize,
    /// Place in the file of the first octet of the buffer.
    offset: u64,
    /// Whether the file itself could not be read, as against octets that mean nothing.
    has_failed: bool,
}

impl<R: Read + Seek> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), taken: 0, offset: 0, has_failed: false }
    }

    /// The place of the next octet.
    pub(super) fn at(&self) -> u64 {
        self.offset + self.taken as u64
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Goes to a place; within the buffer that costs nothing.
    pub(super) fn seek(&mut self, to: u64) -> io::Result<()> {
        match to.checked_sub(self.offset).and_then(|taken| usize::try_from(taken).ok()) {
            Some(taken) if taken <= self.buffer.len() => self.taken = taken,
            _ => {
                self.has_failed = true;
                self.reader.seek(SeekFrom::Start(to))?;
                self.has_failed = false;
                self.buffer.clear();
                (self.taken, self.offset) = (0, to);
            }
        }
        Ok(())
    }

    /// The next octets, so many where the file has them; more may be given.
    pub(super) fn ahead(&mut self, octets: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.taken < octets && self.read_on()? {}
        Ok(&self.buffer[self.taken..])
    }

    /// Reads another piece behind what the buffer holds; `false` at the end.
    fn read_on(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.taken);
        self.offset += self.taken as u64;
        self.taken = 0;
        let held = self.buffer.len();
        self.buffer.resize(held + BUFFER_OCTETS, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(held + read.as_ref().copied().unwrap_or_default());
        self.has_failed = read.is_err();
        Ok(read? > 0)
    }

    /// Goes to the next place where `needle` stands, from here; `false` at the end.
    pub(super) fn find(&mut self, needle: &[u8]) -> io::Result<bool> {
        let finder = memchr::memmem::Finder::new(needle);
        loop {
            let ahead = self.ahead(needle.len())?;
            if let Some(place) = finder.find(ahead) {
                self.taken += place;
                return Ok(true);
            }
            let passed = ahead.len().saturating_sub(needle.len() - 1);
            if passed == 0 {
                self.taken = self.buffer.len();
                return Ok(false);
            }
            self.taken += passed;
        }
    }
}

/// Reads from the buffer of a reader that has one.
pub(super) fn read_buffered(reader: &mut impl BufRead, out: &mut [u8]) -> io::Result<usize> {
    let ahead = reader.fill_buf()?;
    let octets = ahead.len().min(out.len());
    out[..octets].copy_from_slice(&ahead[..octets]);
    reader.consume(octets);
    Ok(octets)
}

impl<R: Read + Seek> Read for Input<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}

impl<R: Read + Seek> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.ahead(1)
    }

    fn consume(&mut self, octets: usize) {
        self.taken = (self.taken + octets).min(self.buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn places_and_needles_over_borders_of_the_buffer() {
        let mut octets = vec![b'.'; BUFFER_OCTETS * 2];
        octets[BUFFER_OCTETS - 1..=BUFFER_OCTETS].copy_from_slice(b"xy");
        let mut input = Input::new(Cursor::new(octets));
        assert!(input.find(b"xy").unwrap());
        assert_eq!(input.at(), BUFFER_OCTETS as u64 - 1);
        input.consume(1);
        assert!(!input.find(b"xy").unwrap());
        assert_eq!(input.at(), BUFFER_OCTETS as u64 * 2);
        input.seek(BUFFER_OCTETS as u64).unwrap();
        assert_eq!(input.ahead(1).unwrap()[0], b'y');
        input.seek(3).unwrap();
        assert_eq!((input.at(), input.ahead(1).unwrap()[0]), (3, b'.'));
    }
}
