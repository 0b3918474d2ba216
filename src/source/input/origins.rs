//! Lists of origins: files, standard input, or origins given literally.
//!
//! A text holds a name, an origin or a URL a line, alone or behind a rank (`rank,domain`); other formats are CSV with a
//! header that names its columns (Majestic, `CrUX`), and CSV, NDJSON or Parquet whose column is given.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::{fs, io};

use crate::origin::{Target, without_user_information};
use crate::robots::access::Reason;

use super::contents::{Contents, Follower};
use super::delimited::Wanted;
use super::open::{Opened, STDIN, can_be_read_again, open, place};
use super::rows::{Row, RowReader};
use super::{InputError, json_array_fault, looks_like_json};

/// Octets of the longest input that is kept as given.
pub const INPUT_OCTETS: usize = 8 * 1024;

/// Endings of names that are meant as files, whether or not they exist.
const FILE_ENDINGS: [&str; 9] = [".txt", ".csv", ".gz", ".zst", ".zip", ".parquet", ".json", ".ndjson", ".jsonl"];

/// Names, in lower case, of columns that hold origins in well-known lists.
const ORIGIN_COLUMNS: [&str; 2] = ["origin", "domain"];

/// Names, in lower case, of columns that hold ranks in well-known lists.
const RANK_COLUMNS: [&str; 2] = ["rank", "globalrank"];

/// One line of a list, or one literal origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginLine {
    /// The line, or its origin column, as given; user information is masked; `\xNN` for octets that are no UTF-8, cut
    /// at [`INPUT_OCTETS`].
    pub input: String,
    /// 1-based line of the file; row of a Parquet file; place among the literal origins.
    pub line: i64,
    /// The rank that the list gives.
    pub rank: Option<i64>,
    /// What the line names.
    pub target: Result<Target, Reason>,
}

/// What stands on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginItem {
    /// Something that is meant as an origin.
    Line(OriginLine),
    /// A blank line, a comment, or a row without a value.
    Skipped,
}

/// The lists of a run, one after the other.
pub struct OriginInputs {
    pending: VecDeque<Pending>,
    current: Option<RowReader>,
    column: Option<String>,
    value: Vec<u8>,
    follower: Follower,
}

enum Pending {
    /// A literal origin.
    Literal { text: String, line: i64 },
    /// A file, to be opened again when its turn comes: handles are few.
    File(String),
    /// Standard input or a pipe.
    Held(Box<RowReader>),
}

impl OriginInputs {
    /// Opens and recognises every argument: a file, `-` for standard input, or a literal origin. `column` names the
    /// column of CSV, NDJSON and Parquet files, with dots for structs.
    ///
    /// # Errors
    /// A file that does not exist or cannot be read, a directory, a column that is missing or holds no text, or a
    /// format that needs a column.
    pub fn open(args: &[String], column: Option<&str>) -> Result<Self, InputError> {
        if args.iter().filter(|arg| *arg == STDIN).count() > 1 {
            return Err(InputError::StdinTwice);
        }
        let mut pending = VecDeque::with_capacity(args.len());
        let mut literals = 0;
        for arg in args {
            if arg != STDIN && !is_file(arg)? {
                literals += 1;
                pending.push_back(Pending::Literal { text: arg.clone(), line: literals });
                continue;
            }
            let rows = open_list(arg, column)?;
            pending.push_back(if can_be_read_again(arg) {
                Pending::File(arg.clone())
            } else {
                Pending::Held(Box::new(rows))
            });
        }
        Ok(Self {
            pending,
            current: None,
            value: Vec::new(),
            column: column.map(str::to_owned),
            follower: Follower::default(),
        })
    }

    /// What was read so far.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.follower.contents()
    }

    /// Ends with an error where a file is not what it was at an earlier reading.
    #[must_use]
    pub fn expecting(mut self, contents: Contents) -> Self {
        self.follower.expect(contents);
        self
    }

    fn step(&mut self) -> Result<Option<OriginItem>, InputError> {
        loop {
            if let Some(rows) = &mut self.current {
                self.value.clear();
                if let Some(row) = rows.append_next(&mut self.value)? {
                    self.follower.count(1, rows.place())?;
                    let item = item(rows, row, &self.value);
                    follow(&mut self.follower, &item);
                    return Ok(Some(item));
                }
                self.follower.end_file(rows.place())?;
                self.current = None;
            }
            match self.pending.pop_front() {
                None => return Ok(None),
                Some(Pending::Literal { text, line }) => {
                    let target = Target::parse(text.as_bytes());
                    let is_origin = target.is_ok();
                    let item = OriginItem::Line(OriginLine {
                        input: as_kept(text.as_bytes(), is_origin),
                        line,
                        rank: None,
                        target,
                    });
                    follow(&mut self.follower, &item);
                    return Ok(Some(item));
                }
                Some(Pending::File(path)) => self.current = Some(open_list(&path, self.column.as_deref())?),
                Some(Pending::Held(rows)) => self.current = Some(*rows),
            }
        }
    }
}

impl Iterator for OriginInputs {
    type Item = Result<OriginItem, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        if let Some(Err(_)) = item {
            self.pending.clear();
            self.current = None;
        }
        item
    }
}

/// Whether the argument is a file; an error where it can only be meant as one and is none.
fn is_file(arg: &str) -> Result<bool, InputError> {
    match fs::metadata(arg) {
        Ok(_) => Ok(true),
        Err(_) if !looks_like_file(arg) => Ok(false),
        Err(source) => Err(match source.kind() {
            io::ErrorKind::NotFound => InputError::NoSuchFile { place: arg.to_owned() },
            _ => InputError::Open { place: arg.to_owned(), source },
        }),
    }
}

fn looks_like_file(arg: &str) -> bool {
    let lower = arg.to_ascii_lowercase();
    !arg.contains("://") && (arg.contains(['/', '\\']) || FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending)))
}

fn open_list(arg: &str, column: Option<&str>) -> Result<RowReader, InputError> {
    let name = place(arg);
    let refused = |fault| InputError::Format { place: name.to_owned(), fault };
    match (open(arg)?, column) {
        (Opened::Parquet(file), Some(column)) => RowReader::parquet(name, file, column),
        (Opened::Parquet(_), None) => Err(refused("is Parquet: name the column that holds the origins")),
        (Opened::Text { head, stream }, Some(column)) => {
            if let Some(fault) = json_array_fault(&head) {
                return Err(refused(fault));
            }
            if looks_like_json(&head) {
                return RowReader::ndjson(name, stream, &head, column);
            }
            let choose = |header: &[String]| named(header, column);
            RowReader::delimited(name, stream, &head, column, choose).map(RowReader::with_comments)
        }
        (Opened::Text { head, stream: _ }, None) if looks_like_json(&head) => {
            Err(refused("is JSON: name the column that holds the origins"))
        }
        (Opened::Text { head, stream }, None) => {
            if is_known_header(&head) {
                return RowReader::delimited(name, stream, &head, "origin", known).map(RowReader::with_comments);
            }
            Ok(RowReader::text(name, stream))
        }
    }
}

/// The column with this name, and the ranks if there are any.
fn named(header: &[String], column: &str) -> Option<Wanted> {
    let value = header.iter().position(|name| name == column)?;
    Some(Wanted { value, rank: place_of(header, &RANK_COLUMNS).filter(|rank| *rank != value) })
}

/// The columns of a well-known list.
fn known(header: &[String]) -> Option<Wanted> {
    Some(Wanted { value: place_of(header, &ORIGIN_COLUMNS)?, rank: place_of(header, &RANK_COLUMNS) })
}

fn place_of(header: &[String], names: &[&str]) -> Option<usize> {
    header.iter().position(|column| names.contains(&column.to_ascii_lowercase().as_str()))
}

/// Whether the list begins with a header that names both origins and ranks.
fn is_known_header(head: &[u8]) -> bool {
    let mut lines = head.split(|octet| *octet == b'\n').map(<[u8]>::trim_ascii);
    let first = String::from_utf8_lossy(lines.find(|line| !line.is_empty()).unwrap_or_default());
    let header: Vec<_> = first.split([',', '\t']).map(|name| name.trim().trim_matches('"').to_owned()).collect();
    known(&header).is_some_and(|wanted| wanted.rank.is_some())
}

fn item(rows: &RowReader, row: Row, value: &[u8]) -> OriginItem {
    let (rank, value) = if rows.is_text() { split_rank(value) } else { (rows.rank(), value) };
    let target = match row {
        Row::Null | Row::Blank => return OriginItem::Skipped,
        Row::Value if value.trim_ascii().is_empty() => return OriginItem::Skipped,
        Row::Value => Target::parse(value),
        Row::Cut => Err(Reason::Length),
        Row::Broken(_) => Err(Reason::Host),
    };
    OriginItem::Line(OriginLine { input: as_kept(value, target.is_ok()), line: rows.line(), rank, target })
}

/// What of a line makes it the same one.
fn follow(follower: &mut Follower, item: &OriginItem) {
    let OriginItem::Line(line) = item else { return };
    follower.add(line.input.as_bytes());
    follower.add(b"\0");
    follower.add(&line.line.to_le_bytes());
    follower.add(&line.rank.unwrap_or(i64::MIN).to_le_bytes());
}

/// Parts `rank,domain` (and `rank,domain,…`); a line that does not begin with a number and a comma stays whole.
fn split_rank(line: &[u8]) -> (Option<i64>, &[u8]) {
    let whole = (None, line);
    let Some(comma) = memchr::memchr(b',', line) else { return whole };
    let Some(rank) = std::str::from_utf8(&line[..comma]).ok().and_then(|rank| rank.trim().parse().ok()) else {
        return whole;
    };
    let rest = &line[comma + 1..];
    let field = rest.split(|octet| *octet == b',').next().unwrap_or(rest);
    let bare = field.trim_ascii().strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
    (Some(rank), bare.unwrap_or(field))
}

/// A line as it is stored.
fn as_kept(line: &[u8], names_origin: bool) -> String {
    let text = escaped(line);
    match without_user_information(&text, names_origin) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}

/// Text of octets, `\xNN` for those that are no UTF-8, at most [`INPUT_OCTETS`] long.
fn escaped(octets: &[u8]) -> String {
    let mut text = String::new();
    for chunk in octets.utf8_chunks() {
        for c in chunk.valid().chars() {
            if text.len() + c.len_utf8() > INPUT_OCTETS {
                return text;
            }
            text.push(c);
        }
        for octet in chunk.invalid() {
            if text.len() + "\\xNN".len() > INPUT_OCTETS {
                return text;
            }
            write!(text, "\\x{octet:02X}").expect("writing to a string does not fail");
        }
    }
    text
}
