//! CSV and TSV (RFC 4180) with a header, of which one column, and perhaps a rank, is wanted.
//!
//! Fields are read straight from the stream and the unwanted ones passed over, so that a row of any length, with line
//! ends inside quotes, takes no more memory than the cell that is kept.

use std::io::{self, BufRead};

use super::CELL_OCTETS;
use super::lines::{Stream, append_line, fill};

/// Columns of the widest file that is read.
const COLUMNS_MAX: usize = 4096;

/// Octets of a rank that are looked at.
const RANK_OCTETS: usize = 32;

/// How one row was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The cell was kept.
    Whole,
    /// The beginning of the cell was kept.
    Cut,
    /// The cell is empty.
    Empty,
    /// The line is empty or a comment.
    Ignored,
    /// The row ends before the column.
    Absent {
        /// Fields of the row.
        fields: usize,
    },
}

/// Why a row could not be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The stream failed.
    Io(io::Error),
    /// A quoted field does not end; the line where it begins.
    Quote(i64),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Which columns are wanted, by their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The column of the value.
    pub(super) value: usize,
    /// The column of the rank.
    pub(super) rank: Option<usize>,
}

/// The rows of a delimited text.
pub(super) struct Delimited {
    stream: Stream,
    delimiter: u8,
    wanted: Wanted,
    /// Line that comes next.
    line: i64,
    rank: Vec<u8>,
    has_comments: bool,
}

impl Delimited {
    /// Starts at the header.
    pub(super) fn new(stream: Stream, delimiter: u8) -> Self {
        Self {
            stream,
            delimiter,
            wanted: Wanted { value: 0, rank: None },
            line: 1,
            rank: Vec::new(),
            has_comments: false,
        }
    }

    /// Reads the header: the names of the columns.
    pub(super) fn header(&mut self) -> Result<Vec<String>, Fault> {
        let mut names = Vec::new();
        loop {
            let mut name = Vec::new();
            let field = self.field(&mut Some(&mut name))?;
            let is_blank_line = names.is_empty() && field.octets == 0 && field.end == FieldEnd::Line;
            if is_blank_line && !field.is_quoted {
                continue;
            }
            names.push(String::from_utf8_lossy(name.trim_ascii()).into_owned());
            if names.len() > COLUMNS_MAX {
                return Err(io::Error::other(format!("more than {COLUMNS_MAX} columns")).into());
            }
            if field.end != FieldEnd::Delimiter {
                return Ok(names);
            }
        }
    }

    /// Chooses the columns.
    pub(super) fn want(&mut self, wanted: Wanted) {
        self.wanted = wanted;
    }

    /// Takes lines that begin with `#` as comments.
    pub(super) fn skip_comments(&mut self) {
        self.has_comments = true;
    }

    /// The columns chosen.
    pub(super) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// The line of the next row, 1-based.
    pub(super) fn next_line(&self) -> i64 {
        self.line
    }

    /// The rank of the row just read.
    pub(super) fn rank(&self) -> Option<i64> {
        std::str::from_utf8(&self.rank).ok()?.trim().parse().ok()
    }

    /// Appends the wanted cell of the next row to `out`; `None` at the end.
    pub(super) fn append_next(&mut self, out: &mut Vec<u8>) -> Result<Option<Cell>, Fault> {
        match fill(&mut self.stream)?.first() {
            None => return Ok(None),
            Some(b'#') if self.has_comments => {
                append_line(&mut self.stream, 0, out)?;
                self.line += 1;
                return Ok(Some(Cell::Ignored));
            }
            Some(_) => {}
        }
        let mut rank = std::mem::take(&mut self.rank);
        rank.clear();
        let mut cell = None;
        let mut fields = 0;
        loop {
            let is_value = fields == self.wanted.value;
            let is_rank = self.wanted.rank == Some(fields);
            let mut kept = if is_value {
                Some(&mut *out)
            } else if is_rank {
                Some(&mut rank)
            } else {
                None
            };
            let field = self.field(&mut kept)?;
            fields += 1;
            if is_value {
                cell = Some(field.as_cell());
            }
            if field.end != FieldEnd::Delimiter {
                let is_blank_line = fields == 1 && field.octets == 0 && !field.is_quoted;
                rank.truncate(RANK_OCTETS);
                self.rank = rank;
                return Ok(Some(if is_blank_line { Cell::Ignored } else { cell.unwrap_or(Cell::Absent { fields }) }));
            }
        }
    }

    fn field(&mut self, kept: &mut Option<&mut Vec<u8>>) -> Result<Field, Fault> {
        let mut field = Field::default();
        if fill(&mut self.stream)?.first() == Some(&b'"') {
            self.stream.consume(1);
            field.is_quoted = true;
            self.quoted_part(&mut field, kept)?;
        }
        self.plain_part(&mut field, kept)?;
        Ok(field)
    }

    /// Reads up to the closing quote.
    fn quoted_part(&mut self, field: &mut Field, kept: &mut Option<&mut Vec<u8>>) -> Result<(), Fault> {
        let opened = self.line;
        loop {
            let buffer = fill(&mut self.stream)?;
            if buffer.is_empty() {
                return Err(Fault::Quote(opened));
            }
            let end = memchr::memchr(b'"', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            self.line = self.line.saturating_add_unsigned(memchr::memchr_iter(b'\n', piece).count() as u64);
            field.add(piece, kept);
            let used = piece.len() + usize::from(end.is_some());
            self.stream.consume(used);
            if end.is_some() {
                if fill(&mut self.stream)?.first() != Some(&b'"') {
                    // A CR within quotes belongs to no CR LF.
                    field.last = None;
                    return Ok(());
                }
                self.stream.consume(1);
                field.add(b"\"", kept);
            }
        }
    }

    /// Reads up to the delimiter or the end of the line.
    fn plain_part(&mut self, field: &mut Field, kept: &mut Option<&mut Vec<u8>>) -> Result<(), Fault> {
        loop {
            let buffer = fill(&mut self.stream)?;
            let end = memchr::memchr2(self.delimiter, b'\n', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let found = match end.map(|end| buffer[end]) {
                Some(b'\n') => Some(FieldEnd::Line),
                Some(_) => Some(FieldEnd::Delimiter),
                None if buffer.is_empty() => Some(FieldEnd::File),
                None => None,
            };
            field.add(piece, kept);
            let used = piece.len() + usize::from(end.is_some());
            self.stream.consume(used);
            if let Some(found) = found {
                self.line += i64::from(found == FieldEnd::Line);
                field.finish(found, kept);
                return Ok(());
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum FieldEnd {
    Delimiter,
    Line,
    #[default]
    File,
}

#[derive(Debug, Default)]
struct Field {
    /// Octets of the field, kept or not.
    octets: usize,
    kept: usize,
    last: Option<u8>,
    is_quoted: bool,
    end: FieldEnd,
}

impl Field {
    fn add(&mut self, piece: &[u8], kept: &mut Option<&mut Vec<u8>>) {
        self.octets = self.octets.saturating_add(piece.len());
        self.last = piece.last().copied().or(self.last);
        if let Some(out) = kept {
            let fits = piece.len().min(CELL_OCTETS - self.kept);
            out.extend_from_slice(&piece[..fits]);
            self.kept += fits;
        }
    }

    /// Drops the CR of a CR LF.
    fn finish(&mut self, end: FieldEnd, kept: &mut Option<&mut Vec<u8>>) {
        self.end = end;
        if end != FieldEnd::Delimiter && self.last == Some(b'\r') {
            if let Some(out) = kept
                && self.kept == self.octets
            {
                out.pop();
                self.kept -= 1;
            }
            self.octets -= 1;
        }
    }

    fn as_cell(&self) -> Cell {
        if self.octets == 0 {
            Cell::Empty
        } else if self.octets > self.kept {
            Cell::Cut
        } else {
            Cell::Whole
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, buffer: usize) -> Vec<String> {
        let octets = std::io::Cursor::new(text.as_bytes().to_vec());
        let mut rows = Delimited::new(Box::new(io::BufReader::with_capacity(buffer, octets)), b',');
        let mut seen = vec![rows.header().map_or_else(|_| "fault".to_owned(), |names| names.join("|"))];
        rows.want(Wanted { value: 1, rank: Some(0) });
        loop {
            let line = rows.next_line();
            let mut cell = Vec::new();
            match rows.append_next(&mut cell) {
                Ok(None) => return seen,
                Ok(Some(kind)) => {
                    let cell = String::from_utf8_lossy(&cell).into_owned();
                    seen.push(format!("{line} {kind:?} {:?} {cell:?}", rows.rank()));
                }
                Err(fault) => {
                    seen.push(format!("{fault:?}"));
                    return seen;
                }
            }
        }
    }

    #[test]
    fn rows_as_rfc_4180_has_them() {
        for buffer in [1, 2, 7, 512] {
            assert_eq!(
                read(
                    "rank, url ,x\r\n1,a,b\r\n\r\n\"2\",\"a\"\"b\"\"\",\"x\ny\"\n3,\n4\n5,\"q\r\nr\"s\r\n,,\n7,last",
                    buffer
                ),
                [
                    "rank|url|x",
                    "2 Whole Some(1) \"a\"",
                    "3 Ignored None \"\"",
                    "4 Whole Some(2) \"a\\\"b\\\"\"",
                    "6 Empty Some(3) \"\"",
                    "7 Absent { fields: 1 } Some(4) \"\"",
                    "8 Whole Some(5) \"q\\r\\nrs\"",
                    "10 Empty None \"\"",
                    "11 Whole Some(7) \"last\"",
                ],
                "{buffer}"
            );
        }
        assert_eq!(read("a,b\n1,\"x\n2,y\n", 8), ["a|b", "Quote(2)"]);
        assert_eq!(
            read("a,b\n1,\"x\r\"\r\n2,\"\r\"\n", 8),
            ["a|b", "2 Whole Some(1) \"x\\r\"", "3 Whole Some(2) \"\\r\""]
        );
        assert_eq!(read("", 8), [""]);
    }

    #[test]
    fn long_cells_are_cut_and_long_rows_pass() {
        let long = "a".repeat(CELL_OCTETS);
        let rows = read(&format!("r,u\n{long}b,{long}\n1,{long}\r\n2,{long}b\n3,\"{long}\nb\"\n4,z\n"), 8192);
        let ends: Vec<_> = rows.iter().map(|row| row.replace(&long, "…")).collect();
        assert_eq!(ends[1], "2 Whole None \"…\"");
        assert_eq!(ends[2], "3 Whole Some(1) \"…\"");
        assert_eq!(ends[3], "4 Cut Some(2) \"…\"");
        assert_eq!(ends[4], "5 Cut Some(3) \"…\"");
        assert_eq!(ends[5], "7 Whole Some(4) \"z\"");
    }
}
