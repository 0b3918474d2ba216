//! Captures in rows: Parquet, NDJSON or a table of `SQLite`, with columns for the origin or URL, the body, its status and its time.
//!
//! As WARC files, they are read twice: once without bodies, to find the newest row of each origin, and once for those.

mod json;
mod parquet;
#[cfg(feature = "sqlite")]
mod sqlite;
mod status;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ::parquet::errors::ParquetError;
use arrow::error::ArrowError;
use thiserror::Error;

use super::body;
use super::captures::{Capture, Damage, FileIndex, Found};
use super::folder::BODY_OCTETS;
use super::mark::Mark;
use super::packing::{PACKING_OCTETS, Packing, beginning};
use super::told::Told;
use crate::origin::Origin;
use crate::robots::access::{FetchClass, Reason, suspect_body};
use crate::tables::captures::Fault;
use crate::tables::fetches::{Observation, Timestamp};

/// Octets that tell a format.
const MAGIC_OCTETS: usize = 16;

/// Octets that a text is read ahead.
const BUFFER_OCTETS: usize = 128 * 1024;

/// What can go wrong with rows.
#[derive(Debug, Error)]
pub enum RowsError {
    /// A file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is in no known format.
    #[error("{} is neither WARC nor Parquet, NDJSON or SQLite", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// A file is no whole Parquet file.
    #[error("cannot read {} as Parquet", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ParquetError,
    },
    /// A database cannot be read.
    #[cfg(feature = "sqlite")]
    #[error("cannot read {} as SQLite", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// Rows cannot be read, or a column is not of a type that fits.
    #[error("cannot read {} at row {row} or behind it", path.display())]
    Batch {
        /// The file.
        path: PathBuf,
        /// The first row that was not read, 1-based.
        row: u64,
        /// The cause.
        source: ArrowError,
    },
    /// A file cannot be read on.
    #[error("cannot read {} at line {line}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line, 1-based.
        line: u64,
        /// The cause.
        source: io::Error,
    },
    /// A column is missing.
    #[error("{} has no column `{column}` (columns: {columns}); name it with --{what}-column", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What it is for.
        what: &'static str,
        /// Those that exist.
        columns: String,
    },
}

/// The columns, as asked for; a name may lead through structs, with dots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowColumns {
    /// The origin, or any URL of it. Without a name, `origin`, or else `url`.
    pub url: Option<String>,
    /// The body. Without a name, `body`.
    pub body: Option<String>,
    /// The status of the answer. Without a name, `status` where it exists.
    pub status: Option<String>,
    /// When the answer came. Without a name, `time` where it exists.
    pub time: Option<String>,
}

/// The columns as a file has them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    url: String,
    body: String,
    status: Option<String>,
    time: Option<String>,
}

/// What a row holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Row {
    url: Option<Vec<u8>>,
    body: Option<Vec<u8>>,
    status: Told<u16>,
    time: Told<Timestamp>,
}

/// The rows of one file; a row that cannot be read is `None`.
type Rows = Box<dyn Iterator<Item = Result<Option<Row>, RowsError>>>;

/// The files of a source.
#[derive(Debug, Clone)]
pub struct RowFiles {
    files: Vec<RowFile>,
}

#[derive(Debug, Clone)]
struct RowFile {
    path: PathBuf,
    format: Format,
    columns: Chosen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Json,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

/// What a row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSeen {
    /// The place of the row, counted from 0.
    pub at: u64,
    /// The origin.
    pub origin: Origin,
    /// The URL as given.
    pub url: String,
    /// What was seen.
    pub observation: Observation,
    /// The body, where there is one.
    pub body: Option<Vec<u8>>,
}

impl RowFiles {
    /// Looks into each file, so that a missing column is known before work starts.
    ///
    /// # Errors
    /// Where one cannot be opened, is in no known format or lacks a column.
    pub fn open(paths: &[PathBuf], columns: &RowColumns) -> Result<Self, RowsError> {
        let open = |path: &PathBuf| RowFile::open(path, columns);
        Ok(Self { files: paths.iter().map(open).collect::<Result<_, _>>()? })
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The name of a file.
    #[must_use]
    pub fn name(&self, file: u32) -> String {
        self.files[file as usize].path.to_string_lossy().into_owned()
    }

    /// Reads a file without its bodies and says where its captures are.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn index(&self, file: u32) -> Result<FileIndex, RowsError> {
        let mut index = FileIndex::default();
        for (row, at) in self.files[file as usize].rows(false)?.zip(0..) {
            let Some(row) = row? else {
                index.damage(Damage { at: at + 1, fault: Fault::Row });
                continue;
            };
            match (row.origin(), row.status) {
                (Err(_), _) => index.damage(Damage { at: at + 1, fault: Fault::Target }),
                // What came of asking is not known: neither an answer nor none.
                (Ok(_), Told::Unreadable) => index.damage(Damage { at: at + 1, fault: Fault::Status }),
                (Ok(origin), _) => {
                    let time = index.time(row.time, at + 1);
                    index.captures.push(Found {
                        url: Mark::of_name(&origin.robots_url()),
                        capture: Capture::new(time, file, at, 0),
                        is_robots_txt: true,
                        is_whole: true,
                    });
                }
            }
        }
        Ok(index)
    }

    /// Some rows of a file, by their places, which ascend.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn see(
        &self,
        file: u32,
        wanted: Vec<u64>,
    ) -> Result<impl Iterator<Item = Result<RowSeen, RowsError>>, RowsError> {
        let mut wanted = wanted.into_iter().peekable();
        let rows = self.files[file as usize].rows(true)?.zip(0..);
        Ok(rows.filter_map(move |(row, at)| match row {
            Err(error) => Some(Err(error)),
            Ok(row) => {
                wanted.next_if_eq(&at)?;
                Some(Ok(row?.seen(at)?))
            }
        }))
    }
}

impl RowFile {
    fn open(path: &Path, columns: &RowColumns) -> Result<Self, RowsError> {
        let open_error = |source| RowsError::Open { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(open_error)?;
        let head = beginning(&mut file, MAGIC_OCTETS).map_err(open_error)?;
        let (format, found) = match &head[..] {
            [b'P', b'A', b'R', b'1', ..] => (Format::Parquet, parquet::columns(path, &file)?),
            #[cfg(feature = "sqlite")]
            head if head.starts_with(sqlite::MAGIC) => (Format::Sqlite, sqlite::columns(path)?),
            _ => {
                let first = first_line(file, path)?;
                (Format::Json, json::columns(&first).ok_or_else(|| RowsError::Format { path: path.to_owned() })?)
            }
        };
        Ok(Self { path: path.to_owned(), format, columns: columns.choose(path, &found)? })
    }

    fn rows(&self, with_bodies: bool) -> Result<Rows, RowsError> {
        let file = File::open(&self.path).map_err(|source| RowsError::Open { path: self.path.clone(), source })?;
        match self.format {
            Format::Parquet => parquet::rows(&self.path, &file, &self.columns, with_bodies),
            Format::Json => json::rows(&self.path, file, &self.columns, with_bodies),
            #[cfg(feature = "sqlite")]
            Format::Sqlite => sqlite::rows(&self.path, &self.columns, with_bodies),
        }
    }
}

/// A text, unpacked.
fn unpacked(mut file: File) -> io::Result<Box<dyn BufRead>> {
    file.seek(SeekFrom::Start(0))?;
    let packing = Packing::of(&beginning(&mut file, PACKING_OCTETS)?);
    file.seek(SeekFrom::Start(0))?;
    let text = packing.unpack(BufReader::with_capacity(BUFFER_OCTETS, file))?;
    Ok(Box::new(BufReader::with_capacity(BUFFER_OCTETS, text)))
}

fn first_line(file: File, path: &Path) -> Result<Vec<u8>, RowsError> {
    let read_error = |source| RowsError::Read { path: path.to_owned(), line: 1, source };
    let mut text = unpacked(file).map_err(read_error)?.take(json::LINE_OCTETS);
    let mut line = Vec::new();
    while line.trim_ascii().is_empty() {
        line.clear();
        if text.read_until(b'\n', &mut line).map_err(read_error)? == 0 {
            break;
        }
    }
    Ok(line)
}

impl RowColumns {
    fn choose(&self, path: &Path, found: &[String]) -> Result<Chosen, RowsError> {
        let has = |name: &str| found.iter().any(|found| found == name);
        let missing = |column: &str, what| RowsError::NoColumn {
            path: path.to_owned(),
            column: column.to_owned(),
            what,
            columns: found.join(", "),
        };
        let must = |asked: &Option<String>, usual: &[&str], what| match asked {
            Some(name) if has(name) => Ok(name.clone()),
            Some(name) => Err(missing(name, what)),
            None => {
                let usual_one = usual.iter().find(|name| has(name)).map(|name| (*name).to_owned());
                usual_one.ok_or_else(|| missing(usual[0], what))
            }
        };
        let may = |asked: &Option<String>, usual: &str, what| match asked {
            Some(name) if !has(name) => Err(missing(name, what)),
            Some(name) => Ok(Some(name.clone())),
            None => Ok(has(usual).then(|| usual.to_owned())),
        };
        Ok(Chosen {
            url: must(&self.url, &["origin", "url"], "url")?,
            body: must(&self.body, &["body"], "body")?,
            status: may(&self.status, "status", "status")?,
            time: may(&self.time, "time", "time")?,
        })
    }
}

impl Row {
    fn origin(&self) -> Result<Origin, Reason> {
        Origin::of_url(self.url.as_deref().unwrap_or_default().trim_ascii())
    }

    /// What the row says; `None` where it names no origin, or has a status that cannot be read.
    fn seen(self, at: u64) -> Option<RowSeen> {
        let origin = self.origin().ok()?;
        let status = match self.status {
            Told::Nothing => None,
            Told::This(status) => Some(status),
            Told::Unreadable => return None,
        };
        let url = crate::tables::text::of_octets(self.url.as_deref().unwrap_or_default()).into_owned();
        let (class, reason) = class(status, self.body.as_deref());
        let mut observation = Observation::of_class(class, reason);
        observation.fetch_time = self.time.known();
        observation.status = status;
        let body = self.body.filter(|_| class.has_body()).map(|mut body| {
            let is_cut = body::keep(&mut body, BODY_OCTETS, false);
            body::add_flags(&mut observation.flags, &body, is_cut);
            body
        });
        Some(RowSeen { at, origin, url, observation, body })
    }
}

/// The class of a row. A redirect whose end the row does not tell, and an answer without its body, say neither yes nor no.
fn class(status: Option<u16>, body: Option<&[u8]>) -> (FetchClass, Option<Reason>) {
    let of_body = |body: &[u8], reason: Option<Reason>| match reason.or_else(|| suspect_body(body)) {
        Some(reason) => (FetchClass::OkSuspect, Some(reason)),
        None => (FetchClass::Ok, None),
    };
    let Some(status) = status else {
        return body.map_or((FetchClass::NotCollected, None), |body| of_body(body, None));
    };
    match FetchClass::of_status(status) {
        Some((class, reason)) if class.has_body() => {
            body.map_or((FetchClass::NotCollected, None), |body| of_body(body, reason))
        }
        Some(answer) => answer,
        None => (FetchClass::NotCollected, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::packing::packed_in_every_way;

    #[test]
    fn packings_are_told_by_content() {
        let text = b"\n{\"origin\":\"https://a.test\",\"body\":\"x\"}\n{\"origin\":\"https://b.test\",\"body\":null}\n";
        for (name, octets) in packed_in_every_way(text) {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), octets).unwrap();
            let files = RowFiles::open(&[file.path().to_owned()], &RowColumns::default()).unwrap();
            let seen = files.see(0, vec![0, 1]).unwrap().map(|seen| seen.unwrap().origin.as_str().to_owned());
            assert_eq!(seen.collect::<Vec<_>>(), ["https://a.test", "https://b.test"], "{name}");
        }
    }

    #[test]
    fn classes_of_rows() {
        for (status, body, expected) in [
            (None, Some("x"), FetchClass::Ok),
            (None, None, FetchClass::NotCollected),
            (Some(200), Some("<html>"), FetchClass::OkSuspect),
            (Some(200), None, FetchClass::NotCollected),
            (Some(301), Some("x"), FetchClass::NotCollected),
            (Some(404), Some("x"), FetchClass::Missing),
            (Some(503), None, FetchClass::ServerError),
            (Some(100), Some("x"), FetchClass::NotCollected),
            (Some(999), Some("x"), FetchClass::ServerError),
        ] {
            assert_eq!(class(status, body.map(str::as_bytes)).0, expected, "{status:?} {body:?}");
        }
    }
}
