//! The rows of one list, whatever its format: each gives a value, or says why it has none.

use std::fs::File;

use super::columns::{self, ParquetColumn};
use super::delimited::{self, Delimited, Fault, Wanted};
use super::lines::{LineEnd, Stream, append_line};
use super::{CELL_OCTETS, InputError, RowFault};
use crate::source::json_path::{self, Found};
use crate::tables::cause;

/// Octets of the longest JSON line that is read.
const JSON_OCTETS: usize = 16 * 1024 * 1024;

/// Columns that a message lists.
const LISTED_MAX: usize = 40;

/// Characters of a column's name that a message shows.
const NAME_CHARS_MAX: usize = 80;

/// What one row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    /// A value; all of it was appended.
    Value,
    /// A value longer than [`CELL_OCTETS`], of which that much was appended.
    Cut,
    /// No value.
    Null,
    /// A blank line or a comment.
    Blank,
    /// A row that cannot be read; what is known of it was appended.
    Broken(RowFault),
}

/// The rows of one list.
pub(super) struct RowReader {
    place: String,
    /// 1-based line of the row read last.
    line: i64,
    rows: Rows,
}

enum Rows {
    Text(Stream),
    Delimited(Delimited),
    Json { stream: Stream, path: String, line: Vec<u8> },
    Parquet(ParquetColumn),
}

impl RowReader {
    /// One value a line.
    pub(super) fn text(place: &str, stream: Stream) -> Self {
        Self::new(place, Rows::Text(stream))
    }

    /// A delimited text; `choose` finds the columns in the header.
    pub(super) fn delimited(
        place: &str,
        stream: Stream,
        head: &[u8],
        column: &str,
        choose: impl FnOnce(&[String]) -> Option<Wanted>,
    ) -> Result<Self, InputError> {
        let mut delimited = Delimited::new(stream, delimiter(head));
        let header = delimited.header().map_err(|fault| fatal(place, 1, fault))?;
        let wanted = choose(&header).ok_or_else(|| missing(place, column, &header))?;
        delimited.want(wanted);
        Ok(Self::new(place, Rows::Delimited(delimited)))
    }

    /// Counts lines of a delimited text that begin with `#` as comments.
    pub(super) fn with_comments(mut self) -> Self {
        if let Rows::Delimited(delimited) = &mut self.rows {
            delimited.skip_comments();
        }
        self
    }

    /// An object a line. The first one has to have the column.
    pub(super) fn ndjson(place: &str, stream: Stream, head: &[u8], path: &str) -> Result<Self, InputError> {
        let first = head.split(|octet| *octet == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
        // A first line longer than the head is not whole and cannot be judged.
        if json_path::append_value(first, path, &mut Vec::new()) == Ok(Found::Missing) {
            return Err(missing(place, path, &json_path::keys(first)));
        }
        Ok(Self::new(place, Rows::Json { stream, path: path.to_owned(), line: Vec::new() }))
    }

    /// A column of a Parquet file.
    pub(super) fn parquet(place: &str, file: File, column: &str) -> Result<Self, InputError> {
        Ok(Self::new(place, Rows::Parquet(ParquetColumn::open(file, place, column)?)))
    }

    fn new(place: &str, rows: Rows) -> Self {
        Self { place: place.to_owned(), line: 0, rows }
    }

    /// The name of the list, for messages.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// The line, or row of a Parquet file, read last; 1-based.
    pub(super) fn line(&self) -> i64 {
        self.line
    }

    /// The rank beside the value read last, where the list has a column of ranks.
    pub(super) fn rank(&self) -> Option<i64> {
        match &self.rows {
            Rows::Delimited(delimited) => delimited.rank(),
            Rows::Text(_) | Rows::Json { .. } | Rows::Parquet(_) => None,
        }
    }

    /// Whether values stand on lines of their own, as typed.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.rows, Rows::Text(_))
    }

    /// Appends the value of the next row to `out`; `None` at the end.
    pub(super) fn append_next(&mut self, out: &mut Vec<u8>) -> Result<Option<Row>, InputError> {
        match &mut self.rows {
            Rows::Text(stream) => {
                self.line += 1;
                let start = out.len();
                let end =
                    append_line(stream, CELL_OCTETS, out).map_err(|source| failed(&self.place, self.line, source))?;
                Ok(text_row(end, start, out))
            }
            Rows::Delimited(delimited) => {
                self.line = delimited.next_line();
                let cell = delimited.append_next(out).map_err(|fault| fatal(&self.place, self.line, fault))?;
                Ok(cell.map(|cell| delimited_row(cell, delimited.wanted())))
            }
            Rows::Json { stream, path, line } => {
                self.line += 1;
                line.clear();
                let end =
                    append_line(stream, JSON_OCTETS, line).map_err(|source| failed(&self.place, self.line, source))?;
                Ok(json_row(end, line, path, out))
            }
            Rows::Parquet(column) => {
                self.line = column.next_row();
                let cell = column.append_next(out);
                let cell = cell.map_err(|source| InputError::ReadRow {
                    place: self.place.clone(),
                    row: self.line,
                    source: cause::of_arrow(source),
                })?;
                Ok(cell.map(|cell| match cell {
                    columns::Cell::Whole => Row::Value,
                    columns::Cell::Cut => Row::Cut,
                    columns::Cell::Null => Row::Null,
                }))
            }
        }
    }
}

fn text_row(end: LineEnd, start: usize, out: &mut Vec<u8>) -> Option<Row> {
    let text = out[start..].trim_ascii();
    // Blanks beyond which more follows are no blank line.
    let is_blank = text.starts_with(b"#") || (text.is_empty() && end == LineEnd::Whole);
    match end {
        LineEnd::Nothing => None,
        _ if is_blank => {
            out.truncate(start);
            Some(Row::Blank)
        }
        LineEnd::Whole => Some(Row::Value),
        LineEnd::Cut => Some(Row::Cut),
    }
}

fn delimited_row(cell: delimited::Cell, wanted: Wanted) -> Row {
    match cell {
        delimited::Cell::Whole => Row::Value,
        delimited::Cell::Cut => Row::Cut,
        delimited::Cell::Empty => Row::Null,
        delimited::Cell::Ignored => Row::Blank,
        delimited::Cell::Absent { fields } => Row::Broken(RowFault::Fields { found: fields, wanted: wanted.value + 1 }),
    }
}

fn json_row(end: LineEnd, line: &[u8], path: &str, out: &mut Vec<u8>) -> Option<Row> {
    let start = out.len();
    let fault = match end {
        LineEnd::Nothing => return None,
        LineEnd::Whole if line.trim_ascii().is_empty() => return Some(Row::Blank),
        LineEnd::Whole => match json_path::append_value(line, path, out) {
            Ok(Found::Text) if out.len() - start > CELL_OCTETS => {
                out.truncate(start + CELL_OCTETS);
                return Some(Row::Cut);
            }
            Ok(Found::Text) => return Some(Row::Value),
            Ok(Found::Null | Found::NullAbove | Found::Missing) => return Some(Row::Null),
            Ok(Found::Number | Found::Other | Found::Unreadable) => RowFault::NoText,
            Err(fault) => fault.into(),
        },
        LineEnd::Cut => RowFault::TooLong { limit: JSON_OCTETS },
    };
    out.truncate(start);
    out.extend_from_slice(&line[..line.len().min(CELL_OCTETS)]);
    Some(Row::Broken(fault))
}

/// Tab where the first line has one and no comma.
fn delimiter(head: &[u8]) -> u8 {
    let first = head.split(|octet| *octet == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    if first.contains(&b'\t') && !first.contains(&b',') { b'\t' } else { b',' }
}

fn failed(place: &str, line: i64, source: std::io::Error) -> InputError {
    InputError::Read { place: place.to_owned(), line, source }
}

fn fatal(place: &str, line: i64, fault: Fault) -> InputError {
    match fault {
        Fault::Io(source) => failed(place, line, source),
        Fault::Quote(line) => InputError::Row { place: place.to_owned(), line, fault: RowFault::Quote },
    }
}

fn missing(place: &str, column: &str, columns: &[String]) -> InputError {
    let columns = listed(columns);
    InputError::MissingColumn { place: place.to_owned(), column: column.to_owned(), columns }
}

/// The names of columns for a message.
pub(super) fn listed(columns: &[String]) -> String {
    let clipped = |name: &String| name.chars().take(NAME_CHARS_MAX).collect::<String>();
    let shown: Vec<_> = columns.iter().take(LISTED_MAX).map(clipped).collect();
    let more = if columns.len() > LISTED_MAX { ", …" } else { "" };
    if shown.is_empty() { "none".to_owned() } else { format!("{}{more}", shown.join(", ")) }
}
