//! Text to batches of records, each with its own octets: a line, or with quotes (RFC 4180) several.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use super::format::Stream;
use crate::dataset::DatasetError;
use crate::dataset::answers::GROUPED_ROWS;
use crate::source::input::RowFault;

/// Octets of the longest record: a quote that nobody closes must not gather a whole file.
const RECORD_OCTETS: usize = 64 << 20;

/// Octets after which a batch ends.
const BATCH_OCTETS: usize = 16 << 20;

/// Neighbouring records.
#[derive(Debug, Default)]
pub(super) struct Batch {
    octets: Vec<u8>,
    records: Vec<Place>,
    /// Rows of the file that stand before.
    pub(super) rows_before: u64,
}

/// Where a record stands.
#[derive(Debug)]
struct Place {
    end: usize,
    line: u64,
}

/// A record of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    /// All its octets, the end of the line included.
    pub(super) octets: &'a [u8],
    /// Its first line, from 1 on.
    pub(super) line: u64,
}

impl<'a> Record<'a> {
    /// The record without the end of its line.
    pub(super) fn body(self) -> &'a [u8] {
        body(self.octets)
    }

    /// Whether it is a blank line, which is no row.
    pub(super) fn is_blank(self) -> bool {
        is_blank(self.octets)
    }
}

impl Batch {
    /// The records in their order.
    pub(super) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let starts = [0].into_iter().chain(self.records.iter().map(|place| place.end));
        let places = starts.zip(&self.records);
        places.map(|(start, place)| Record { octets: &self.octets[start..place.end], line: place.line })
    }
}

/// A record without the end of its line.
pub(super) fn body(octets: &[u8]) -> &[u8] {
    let octets = octets.strip_suffix(b"\n").unwrap_or(octets);
    octets.strip_suffix(b"\r").unwrap_or(octets)
}

fn is_blank(octets: &[u8]) -> bool {
    octets.trim_ascii().is_empty() && !octets.contains(&b'\t')
}

/// Cuts text into records.
pub(super) struct Reader {
    stream: Stream,
    /// What stands between fields, where fields may be quoted.
    delimiter: Option<u8>,
    line: u64,
    rows: u64,
    has_failed: bool,
}

impl Reader {
    /// A reader of lines.
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, delimiter: None, line: 0, rows: 0, has_failed: false }
    }

    /// Reads the names of the columns, and from then on cuts by their delimiter: the one given, or that which is found.
    pub(super) fn header(&mut self, given: Option<u8>) -> Result<(Vec<u8>, u8), DatasetError> {
        let mut header = Vec::new();
        self.next_record(&mut header)?;
        let delimiter = given.unwrap_or_else(|| delimiter_of(&header));
        let mut quotes = Quotes::Start.behind(&header, delimiter);
        while quotes == Quotes::Quoted {
            let start = header.len();
            if self.next_record(&mut header)?.is_none() {
                return Err(DatasetError::Line { line: 1, fault: RowFault::Quote });
            }
            if header.len() > RECORD_OCTETS {
                return Err(DatasetError::Line { line: 1, fault: RowFault::TooLong { limit: RECORD_OCTETS } });
            }
            quotes = quotes.behind(&header[start..], delimiter);
        }
        self.delimiter = Some(delimiter);
        Ok((header, delimiter))
    }

    /// Appends the next record; its first line, or `None` at the end.
    pub(super) fn next_record(&mut self, octets: &mut Vec<u8>) -> Result<Option<u64>, DatasetError> {
        let (first, start) = (self.line + 1, octets.len());
        let fault = |fault| DatasetError::Line { line: first, fault };
        let mut quotes = Quotes::Start;
        loop {
            let room = RECORD_OCTETS - (octets.len() - start);
            let read_error = |source| DatasetError::ReadText { line: self.line, source };
            let read = self.stream.by_ref().take(room as u64).read_until(b'\n', octets).map_err(read_error)?;
            if read == 0 {
                return if octets.len() == start { Ok(None) } else { Err(fault(RowFault::Quote)) };
            }
            self.line += 1;
            if let Some(delimiter) = self.delimiter {
                let more = &octets[octets.len() - read..];
                quotes = quotes.behind(more, delimiter);
            }
            let is_whole = octets.ends_with(b"\n") && quotes != Quotes::Quoted;
            if !is_whole && octets.len() - start == RECORD_OCTETS {
                return Err(fault(RowFault::TooLong { limit: RECORD_OCTETS }));
            }
            if quotes != Quotes::Quoted {
                return Ok(Some(first));
            }
        }
    }

    /// The next records, so many at most.
    pub(super) fn batch(&mut self, records: usize) -> Result<Batch, DatasetError> {
        let mut batch = Batch { rows_before: self.rows, ..Batch::default() };
        while batch.records.len() < records && batch.octets.len() < BATCH_OCTETS {
            let start = batch.octets.len();
            let Some(line) = self.next_record(&mut batch.octets)? else { break };
            self.rows += u64::from(!is_blank(&batch.octets[start..]));
            batch.records.push(Place { end: batch.octets.len(), line });
        }
        Ok(batch)
    }
}

impl Iterator for Reader {
    type Item = Result<Batch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        match self.batch(GROUPED_ROWS) {
            Ok(batch) if batch.records.is_empty() => None,
            Ok(batch) => Some(Ok(batch)),
            Err(error) => {
                self.has_failed = true;
                Some(Err(error))
            }
        }
    }
}

/// Where in a field an octet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// Before the first octet.
    Start,
    /// Outside quotes, where a quote means itself.
    Bare,
    /// Within quotes.
    Quoted,
    /// Behind a quote that closes, unless another follows.
    Closed,
}

/// What stands between the names of a header: a comma, unless there is none and something else there is.
fn delimiter_of(header: &[u8]) -> u8 {
    [b',', b';', b'\t'].into_iter().find(|delimiter| header.contains(delimiter)).unwrap_or(b',')
}

impl Quotes {
    fn behind(self, octets: &[u8], delimiter: u8) -> Self {
        octets.iter().fold(self, |quotes, octet| quotes.after(*octet, delimiter))
    }

    fn after(self, octet: u8, delimiter: u8) -> Self {
        match (self, octet) {
            (Self::Quoted, b'"') => Self::Closed,
            (Self::Quoted, _) | (Self::Start | Self::Closed, b'"') => Self::Quoted,
            (_, octet) if octet == delimiter => Self::Start,
            _ => Self::Bare,
        }
    }
}

/// Hands on the fields of a record as they are written; how many there are.
pub(super) fn fields<'a>(body: &'a [u8], delimiter: u8, mut use_field: impl FnMut(usize, &'a [u8])) -> usize {
    let (mut quotes, mut start, mut count) = (Quotes::Start, 0, 0);
    for (at, octet) in body.iter().enumerate() {
        if *octet == delimiter && quotes != Quotes::Quoted {
            use_field(count, &body[start..at]);
            start = at + 1;
            count += 1;
        }
        quotes = quotes.after(*octet, delimiter);
    }
    use_field(count, &body[start..]);
    count + 1
}

/// What a field means.
pub(super) fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(rest) = field.strip_prefix(b"\"") else { return Cow::Borrowed(field) };
    let mut text = Vec::with_capacity(rest.len());
    let mut quotes = Quotes::Quoted;
    for octet in rest {
        // Fields are cut already: there is no delimiter outside quotes.
        let next = match (quotes, octet) {
            (Quotes::Quoted, b'"') => Quotes::Closed,
            (Quotes::Closed, b'"') => Quotes::Quoted,
            (Quotes::Closed, _) => Quotes::Bare,
            (same, _) => same,
        };
        if next != Quotes::Closed {
            text.push(*octet);
        }
        quotes = next;
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Result<Vec<(u64, String)>, DatasetError> {
        let mut reader = Reader::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec())));
        reader.delimiter = Some(b',');
        let mut found = Vec::new();
        for batch in reader {
            found.extend(
                batch?.records().map(|record| (record.line, String::from_utf8(record.octets.to_vec()).expect("text"))),
            );
        }
        Ok(found)
    }

    #[test]
    fn records_keep_their_octets_and_lines() {
        let text = "a,\"x\r\ny\"\r\n\nb\"c,\"\"\"\n\"\"\"\nlast,\"\"";
        let found = records(text).expect("records");
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 4, 6]);
        assert_eq!(found.into_iter().map(|(_, octets)| octets).collect::<String>(), text);
        let error = records("a\nb,\"c\nd\n").expect_err("a quote that is not closed");
        assert_eq!(error.to_string(), "line 2 opens a quoted field that does not end");
    }

    #[test]
    fn fields_and_what_they_mean() {
        let mut found = Vec::new();
        let count = fields(b"a,\"b,\"\"c\"\"\",,d\"e,\"f\"g\"", b',', |_, field| {
            found.push(String::from_utf8(unquoted(field).into_owned()).expect("text"));
        });
        assert_eq!(count, 5);
        assert_eq!(found, ["a", "b,\"c\"", "", "d\"e", "fg\""]);
    }
}
