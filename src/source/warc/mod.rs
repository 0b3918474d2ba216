//! `warc:FILES`: captures of robots.txt files in WARC files, as Common Crawl publishes them (ISO 28500).
//!
//! | module | holds |
//! |---|---|
//! | `input` | octets of a file with their places |
//! | `member` | compression, and the way behind a damage |
//! | `record` | fields and blocks of records |
//! | `answer` | the HTTP message in a block |
//! | `follow` | a capture, the earlier one that it may name, and its redirects, to what was seen |
//!
//! The files are read twice. The first reading finds the captures and keeps a few octets of each URL; the second reads
//! the newest capture of each robots.txt, and where its redirects lead. So no body is held that has not its turn.

mod answer;
mod follow;
mod input;
mod member;
mod record;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::captures::{Capture, Damage, FileIndex, Found};
use super::mark::Mark;
use super::redirect::Place;
use crate::robots::access::Reason;
use crate::tables::captures::Fault;
use answer::Answer;
pub use follow::{HOPS_MAX, Readers, Seen};
use member::Packing;
use record::{Head, Item, Kind, Record, Records};

/// Octets by which a file is known.
const MAGIC_OCTETS: u64 = 64;
/// Octets of a block that tell its status, also behind an interim answer.
const STATUS_OCTETS: usize = 1024;
/// How the files of a folder end that are read.
const ENDINGS: [&str; 3] = [".warc", ".warc.gz", ".warc.zst"];

/// What can go wrong with WARC files.
#[derive(Debug, Error)]
pub enum WarcError {
    /// Nothing has this name or matches this pattern.
    #[error("no WARC file: {pattern}")]
    NoFile {
        /// As given.
        pattern: String,
    },
    /// A file or folder cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is something else.
    #[error("{} is no WARC file (plain, gzip or zstd)", path.display())]
    NoWarc {
        /// The file.
        path: PathBuf,
    },
    /// A file is compressed in one piece.
    #[error("{} is compressed as a whole and not record by record; decompress it and give the plain file", path.display())]
    OneMember {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read on.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is not what it was when it was read for the first time.
    #[error("{} has changed while it was read (see octet {at})", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The record that is gone.
        at: u64,
    },
}

/// The files of a source.
#[derive(Debug, Clone)]
pub struct WarcFiles {
    files: Vec<WarcFile>,
}

#[derive(Debug, Clone)]
struct WarcFile {
    path: PathBuf,
    packing: Packing,
    octets: u64,
}

impl WarcFiles {
    /// Finds files by name, by a pattern with `*` and `?` in the last part of the path, or in a folder, and looks into
    /// each, so that what is no WARC file is known before work starts.
    ///
    /// # Errors
    /// Where there are none, or one cannot be opened or is none.
    pub fn open<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, WarcError> {
        let mut files = Vec::new();
        for pattern in patterns {
            let paths = paths(pattern)?;
            if paths.is_empty() {
                return Err(WarcError::NoFile { pattern: pattern.to_owned() });
            }
            for path in paths {
                files.push(WarcFile::open(path)?);
            }
        }
        Ok(Self { files })
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

    /// Octets of all files.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.files.iter().map(|file| file.octets).sum()
    }

    /// The name of a file.
    #[must_use]
    pub fn name(&self, file: u32) -> String {
        self.files[file as usize].path.to_string_lossy().into_owned()
    }

    /// Whether a record stands at the beginning of each: a packed file may hold anything.
    #[must_use]
    pub fn begin_with_records(&self) -> bool {
        let begins = |file: &WarcFile| {
            let first = file.records().ok().and_then(|mut records| records.next(|_| 0).ok().flatten());
            matches!(first, Some(Item::Record(_)))
        };
        self.files.iter().all(begins)
    }

    /// Reads a file to its end and says where its captures are.
    ///
    /// # Errors
    /// Where it cannot be read, or is compressed in one piece.
    pub fn index(&self, file: u32) -> Result<FileIndex, WarcError> {
        let warc = &self.files[file as usize];
        let mut index = FileIndex::default();
        let mut records = warc.records()?;
        let (mut members, mut overfull) = (0_u64, 0_u64);
        while let Some(item) = records.next(octets_of_status).map_err(|source| warc.read_error(source))? {
            members += 1;
            match item {
                Item::Damage(damage) => {
                    overfull += u64::from(damage.fault == Fault::SecondRecord);
                    index.damage(damage);
                }
                Item::Record(record) => add_record(&mut index, file, &record),
            }
        }
        if (members, overfull) == (1, 1) {
            return Err(WarcError::OneMember { path: warc.path.clone() });
        }
        Ok(index)
    }
}

impl WarcFile {
    fn open(path: PathBuf) -> Result<Self, WarcError> {
        let head = |path: &Path| {
            let mut head = Vec::new();
            let mut file = File::open(path)?;
            io::Read::read_to_end(&mut io::Read::take(&mut file, MAGIC_OCTETS), &mut head)?;
            Ok((head, file.metadata()?.len()))
        };
        match head(&path) {
            Err(source) => Err(WarcError::Open { path, source }),
            Ok((head, octets)) => match Packing::of(&head) {
                Some(packing) => Ok(Self { path, packing, octets }),
                None => Err(WarcError::NoWarc { path }),
            },
        }
    }

    fn records(&self) -> Result<Records<File>, WarcError> {
        let open_error = |source| WarcError::Open { path: self.path.clone(), source };
        Ok(Records::new(File::open(&self.path).map_err(open_error)?, self.packing, self.octets))
    }

    fn read_error(&self, source: io::Error) -> WarcError {
        WarcError::Read { path: self.path.clone(), source }
    }
}

/// Takes a record down.
fn add_record(index: &mut FileIndex, file: u32, record: &Record) {
    let kind = record.head.kind();
    if kind == Kind::Other {
        index.other_records += 1;
        return;
    }
    match target(&record.head) {
        Ok(place) => {
            let is_not_modified = Answer::of(&record.block).is_some_and(|answer| answer.status == 304);
            let time = index.time(record.head.time(), record.at);
            index.captures.push(Found {
                url: Mark::of_name(&place.url()),
                capture: Capture::new(time, file, record.at, record.head.length),
                is_robots_txt: place.is_robots_txt(),
                is_whole: kind == Kind::Resource || (kind == Kind::Response && !is_not_modified),
            });
        }
        Err(Reason::Scheme) => index.other_schemes += 1,
        Err(_) => index.damage(Damage { at: record.at, fault: Fault::Target }),
    }
}

fn octets_of_status(head: &Head) -> usize {
    if head.kind() == Kind::Response { STATUS_OCTETS } else { 0 }
}

/// The resource that a record is a capture of. Old programs put its URL between angle brackets.
fn target(head: &Head) -> Result<Place, Reason> {
    let uri = target_uri(head, "WARC-Target-URI").ok_or(Reason::Host)?;
    Place::of_absolute(uri)
}

fn target_uri<'a>(head: &'a Head, field: &str) -> Option<&'a [u8]> {
    let uri = head.field(field)?;
    // A name without a scheme would be taken for https.
    let uri = uri.strip_prefix(b"<").and_then(|uri| uri.strip_suffix(b">")).unwrap_or(uri);
    uri.contains(&b':').then_some(uri)
}

/// The files that a name, a pattern or a folder stands for, in the order of their names.
fn paths(pattern: &str) -> Result<Vec<PathBuf>, WarcError> {
    let path = Path::new(pattern);
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let is_folder = path.is_dir();
    let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_folder && !last.contains(['*', '?']) {
        return Ok(Vec::new());
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let open_error = |source| WarcError::Open { path: listed.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(listed).map_err(open_error)? {
        let entry = entry.map_err(open_error)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_meant = if is_folder {
            ENDINGS.iter().any(|ending| name.ends_with(ending))
        } else {
            matches(last.as_bytes(), name.as_bytes())
        };
        if is_meant && entry.path().is_file() {
            paths.push(folder.join(entry.file_name()));
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Whether a name fits a pattern in which `*` stands for any octets and `?` for one.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(octet) if *octet == b'?' || *octet == name[seen] => (at, seen) = (at + 1, seen + 1),
            _ => match &mut star {
                Some((begin, from)) => {
                    *from += 1;
                    (at, seen) = (*begin + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|octet| *octet == b'*')
}

/// Reads octets as a WARC file of its own, to the end, and counts what is found: captures, other records, damages.
///
/// For tests and for fuzzing: a hostile file must end, and must not make this panic.
#[must_use]
pub fn survey(octets: &[u8]) -> (usize, u64, u64) {
    let Some(packing) = Packing::of(octets) else { return (0, 0, 0) };
    let mut records = Records::new(io::Cursor::new(octets), packing, octets.len() as u64);
    let mut index = FileIndex::default();
    while let Ok(Some(item)) = records.next(|_| follow::BLOCK_OCTETS) {
        match item {
            Item::Damage(damage) => index.damage(damage),
            Item::Record(record) => {
                if let Some(answer) = Answer::of(&record.block) {
                    drop(answer.body(false));
                }
                add_record(&mut index, 0, &record);
            }
        }
    }
    (index.captures.len(), index.other_records + index.other_schemes, index.faults.total())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn member(octets: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap()
    }

    fn response(number: usize) -> Vec<u8> {
        let message = format!("HTTP/1.1 200 OK\r\n\r\nDisallow: /{}\n", number * 7_919);
        let head = format!("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://s{number}.test/robots.txt\r\n");
        format!("{head}Content-Length: {}\r\n\r\n{message}\r\n\r\n", message.len()).into_bytes()
    }

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, fits) in [
            ("*.warc.gz", "a.warc.gz", true),
            ("*.warc.gz", "a.warc", false),
            ("a*b*c", "a1b2b3c", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("a**", "a", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), fits, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_come_to_an_end(octets in prop::collection::vec(any::<u8>(), 0..400), is_packed: bool) {
            let text = [b"WARC/1.0\r\n", &octets[..]].concat();
            let file = if is_packed { [member(&text), octets].concat() } else { text };
            let (captures, others, damaged) = survey(&file);
            prop_assert!(captures as u64 + others + damaged <= file.len() as u64);
        }

        #[test]
        fn a_changed_octet_costs_one_record(at in 0_usize..10_000, octet: u8) {
            let members: Vec<Vec<u8>> = (0..5).map(|number| member(&response(number))).collect();
            let mut file = members.concat();
            let at = at % file.len();
            let place = |number: usize| members[..number].iter().map(Vec::len).sum::<usize>();
            let hit = (0..5).rfind(|number| place(*number) <= at).unwrap();
            // The beginning of the file tells how it is packed.
            prop_assume!(at >= 3);
            file[at] = octet;
            let (captures, _, damaged) = survey(&file);
            prop_assert!(captures >= 4, "{captures} of 5, member {hit} was hit");
            prop_assert!(captures as u64 + damaged >= 5);
        }
    }
}
