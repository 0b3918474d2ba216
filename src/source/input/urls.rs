//! Lists of URLs: text, CSV, NDJSON or Parquet, handed on in batches and kept exactly as given.

use std::collections::VecDeque;

use super::contents::{Contents, Follower};
use super::delimited::Wanted;
use super::open::{Opened, STDIN, can_be_read_again, open, place};
use super::rows::{Row, RowReader};
use super::{InputError, json_array_fault, looks_like_json};

/// URLs of a full batch.
pub const URL_BATCH_ROWS: usize = 8192;

/// Octets at which a batch is full however few URLs it holds; the last one may reach beyond.
pub const URL_BATCH_OCTETS: usize = 4 * 1024 * 1024;

/// The column that is read where none is named.
const DEFAULT_COLUMN: &str = "url";

/// Endings of names of delimited text.
const DELIMITED_ENDINGS: [&str; 2] = [".csv", ".tsv"];

/// URLs of one list in their order, in one piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UrlBatch {
    octets: Vec<u8>,
    /// Where each URL ends in `octets`; that fits, since [`URL_BATCH_OCTETS`] bounds them.
    ends: Vec<u32>,
    /// 1-based line, or row of a Parquet file, of the first URL; where batches were joined, as far as lines follow each
    /// other.
    pub first_line: i64,
}

impl UrlBatch {
    /// A batch of these URLs; the caller keeps it small.
    #[must_use]
    pub fn of_urls<U: AsRef<[u8]>>(urls: impl IntoIterator<Item = U>) -> Self {
        let mut batch = Self { first_line: 1, ..Self::default() };
        for url in urls {
            batch.octets.extend_from_slice(url.as_ref());
            batch.close_url();
        }
        batch
    }

    /// The URLs as one text, each followed by LF: the same for every container that they came in.
    fn digest_text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.octets.len() + self.len());
        for url in self.iter() {
            text.extend_from_slice(url);
            text.push(b'\n');
        }
        text
    }

    /// How many URLs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One URL.
    ///
    /// # Panics
    /// Where there is no URL of that number.
    #[must_use]
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.octets[start as usize..self.ends[index] as usize]
    }

    /// The URLs in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Adds URLs of another batch, beginning with the one of that number, until the batch holds `urls` of them or so many
    /// octets; a batch without URLs takes one at least. Returns the number of the first URL that was not added.
    pub fn extend_from(&mut self, other: &Self, from: usize, urls: usize, octets: usize) -> usize {
        if self.is_empty() {
            self.first_line = other.first_line.saturating_add_unsigned(from as u64);
        }
        for (index, url) in other.iter().enumerate().skip(from) {
            if !self.is_empty() && (self.len() >= urls || self.octets.len() + url.len() > octets) {
                return index;
            }
            self.octets.extend_from_slice(url);
            self.close_url();
        }
        other.len()
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= URL_BATCH_ROWS || self.octets.len() >= URL_BATCH_OCTETS
    }

    /// Ends the URL whose octets were appended.
    fn close_url(&mut self) {
        self.ends.push(u32::try_from(self.octets.len()).expect("a batch is full long before 4 GiB"));
    }
}

/// What became of the lines read so far: `lines = urls + blank_or_comment + nulls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UrlCounts {
    /// Lines and rows; headers do not count.
    pub lines: u64,
    /// URLs handed on.
    pub urls: u64,
    /// Blank lines and comments.
    pub blank_or_comment: u64,
    /// Rows without a value in the column, or with one that cannot be read.
    pub nulls: u64,
    /// URLs, of those handed on, of which only the first [`super::CELL_OCTETS`] were kept.
    pub cut: u64,
}

/// The URL lists of a run, one after the other. A batch never holds URLs of two lists.
pub struct UrlInputs {
    pending: VecDeque<Pending>,
    current: Option<RowReader>,
    column: Option<String>,
    counts: UrlCounts,
    follower: Follower,
}

enum Pending {
    /// A file, to be opened again when its turn comes: handles are few.
    File(String),
    /// Standard input or a pipe.
    Held(Box<RowReader>),
}

impl UrlInputs {
    /// Opens and recognises every list; `-` is standard input. `column` names the column of CSV, NDJSON and Parquet,
    /// with dots for structs; `url` where it is not given.
    ///
    /// # Errors
    /// A file that does not exist or cannot be read, a directory, a column that is missing or holds no text.
    pub fn open(paths: &[String], column: Option<&str>) -> Result<Self, InputError> {
        if paths.iter().filter(|path| *path == STDIN).count() > 1 {
            return Err(InputError::StdinTwice);
        }
        let mut pending = VecDeque::with_capacity(paths.len());
        for path in paths {
            let rows = open_list(path, column)?;
            pending.push_back(if can_be_read_again(path) {
                Pending::File(path.clone())
            } else {
                Pending::Held(Box::new(rows))
            });
        }
        let (column, counts, follower) = (column.map(str::to_owned), UrlCounts::default(), Follower::default());
        Ok(Self { pending, current: None, column, counts, follower })
    }

    /// What was read so far. Its digest is that of the URLs, each followed by LF: the same for every container that they
    /// came in.
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

    /// What became of the lines read so far.
    #[must_use]
    pub fn counts(&self) -> UrlCounts {
        self.counts
    }

    fn step(&mut self) -> Result<Option<UrlBatch>, InputError> {
        loop {
            if let Some(rows) = &mut self.current {
                let lines_before = self.counts.lines;
                let batch = read_batch(rows, &mut self.counts)?;
                self.follower.count(self.counts.lines - lines_before, rows.place())?;
                if !batch.is_empty() {
                    self.follower.add(&batch.digest_text());
                    return Ok(Some(batch));
                }
                self.follower.end_file(rows.place())?;
                self.current = None;
            }
            match self.pending.pop_front() {
                None => return Ok(None),
                Some(Pending::File(path)) => self.current = Some(open_list(&path, self.column.as_deref())?),
                Some(Pending::Held(rows)) => self.current = Some(*rows),
            }
        }
    }
}

impl Iterator for UrlInputs {
    type Item = Result<UrlBatch, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.step().transpose();
        if let Some(Err(_)) = batch {
            self.pending.clear();
            self.current = None;
        }
        batch
    }
}

/// The next URLs of a list; none at its end.
fn read_batch(rows: &mut RowReader, counts: &mut UrlCounts) -> Result<UrlBatch, InputError> {
    let mut batch = UrlBatch::default();
    while !batch.is_full() {
        let start = batch.octets.len();
        let Some(row) = rows.append_next(&mut batch.octets)? else { break };
        counts.lines += 1;
        match row {
            Row::Value | Row::Cut => {
                if rows.is_text() {
                    trim(&mut batch.octets, start);
                }
                if batch.is_empty() {
                    batch.first_line = rows.line();
                }
                batch.close_url();
                counts.urls += 1;
                counts.cut += u64::from(row == Row::Cut);
            }
            Row::Null | Row::Broken(_) => {
                // What was read of a broken row is no part of the next URL.
                batch.octets.truncate(start);
                counts.nulls += 1;
            }
            Row::Blank => {
                batch.octets.truncate(start);
                counts.blank_or_comment += 1;
            }
        }
    }
    Ok(batch)
}

/// Takes the blanks around the octets from `start` on away.
fn trim(octets: &mut Vec<u8>, start: usize) {
    octets.truncate(start + octets[start..].trim_ascii_end().len());
    let blanks = octets.len() - start - octets[start..].trim_ascii_start().len();
    octets.drain(start..start + blanks);
}

fn open_list(path: &str, column: Option<&str>) -> Result<RowReader, InputError> {
    let name = place(path);
    match open(path)? {
        Opened::Parquet(file) => RowReader::parquet(name, file, column.unwrap_or(DEFAULT_COLUMN)),
        Opened::Text { head, stream } => {
            if let Some(fault) = json_array_fault(&head) {
                return Err(InputError::Format { place: name.to_owned(), fault });
            }
            if looks_like_json(&head) {
                return RowReader::ndjson(name, stream, &head, column.unwrap_or(DEFAULT_COLUMN));
            }
            if column.is_none() && !is_named_delimited(path) {
                return Ok(RowReader::text(name, stream));
            }
            let column = column.unwrap_or(DEFAULT_COLUMN);
            let choose = |header: &[String]| {
                header.iter().position(|name| name == column).map(|value| Wanted { value, rank: None })
            };
            RowReader::delimited(name, stream, &head, column, choose)
        }
    }
}

/// Whether the name, less the ending of a compression, ends in `.csv` or `.tsv`.
fn is_named_delimited(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let bare = [".gz", ".zst", ".zip"].iter().find_map(|ending| lower.strip_suffix(ending)).unwrap_or(&lower);
    DELIMITED_ENDINGS.iter().any(|ending| bare.ends_with(ending))
}
