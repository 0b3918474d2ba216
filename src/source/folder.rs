//! `dir:FOLDER`: a folder of bodies, one `HOST.txt` an origin.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::body;
use crate::origin::Origin;
use crate::robots::access::{FetchClass, Flags, Reason, suspect_body};
use crate::tables::fetches::{BodyHash, FetchRow, Observation};

/// Octets of a body that are kept of a file.
pub const BODY_OCTETS: usize = 16 << 20;

/// What can go wrong with a folder of bodies.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The folder cannot be listed.
    #[error("cannot list the folder {}", path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The files of a folder, in the order of their names.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    names: Vec<String>,
    skipped: u64,
}

/// What one file says, its body aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// The origin that its name stands for, or why it stands for none.
    pub origin: Result<Origin, Reason>,
    /// 1-based place of the file in the folder.
    pub line: i64,
    /// Name of the file less its ending.
    pub name: String,
    class: FetchClass,
    reason: Option<Reason>,
    flags: Flags,
    hash: BodyHash,
    octets: i64,
}

impl Folder {
    /// Lists a folder. Files that do not end in `.txt`, and sub-folders, are skipped and counted.
    ///
    /// # Errors
    /// Where the path is no folder or cannot be listed.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let list_error = |source| FolderError::List { path: path.to_owned(), source };
        let mut folder = Self { path: path.to_owned(), names: Vec::new(), skipped: 0 };
        for entry in fs::read_dir(path).map_err(list_error)? {
            let entry = entry.map_err(list_error)?;
            let name = entry.file_name().into_string().ok();
            match name.filter(|name| name.strip_suffix(".txt").is_some()) {
                Some(name) if entry.path().is_file() => folder.names.push(name),
                _ => folder.skipped += 1,
            }
        }
        folder.names.sort_unstable();
        Ok(folder)
    }

    /// How many files hold a body.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no file holds a body.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Entries that are no body.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Reads the file at a place: what it says, and its body.
    ///
    /// # Errors
    /// Where it cannot be read.
    ///
    /// # Panics
    /// Where there is no file at this place.
    pub fn read(&self, place: usize) -> Result<(FileRow, Vec<u8>), FolderError> {
        let name = &self.names[place];
        let path = self.path.join(name);
        let (body, is_cut) = read_capped(&path).map_err(|source| FolderError::Read { path, source })?;
        Ok((FileRow::of(name, place, &body, is_cut), body))
    }
}

fn read_capped(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    File::open(path)?.take(BODY_OCTETS as u64 + 1).read_to_end(&mut body)?;
    let is_cut = body::keep(&mut body, BODY_OCTETS, false);
    Ok((body, is_cut))
}

/// The origin `https://NAME`: a file's name is a host, and perhaps a port, and nothing else of a URL.
fn origin_of(name: &str) -> Result<Origin, Reason> {
    if name.contains(|c: char| matches!(c, '#' | '?' | '@') || c.is_whitespace()) {
        return Err(Reason::Host);
    }
    Origin::of_url(format!("https://{name}").as_bytes())
}

impl FileRow {
    fn of(file_name: &str, place: usize, body: &[u8], is_cut: bool) -> Self {
        let name = file_name.strip_suffix(".txt").unwrap_or(file_name);
        let reason = suspect_body(body);
        let mut flags = Flags::default();
        body::add_flags(&mut flags, body, is_cut);
        Self {
            origin: origin_of(name),
            line: i64::try_from(place + 1).unwrap_or(i64::MAX),
            name: name.to_owned(),
            class: if reason.is_some() { FetchClass::OkSuspect } else { FetchClass::Ok },
            reason,
            flags,
            hash: Sha256::digest(body).into(),
            octets: i64::try_from(body.len()).unwrap_or(i64::MAX),
        }
    }

    /// SHA-256 of the body.
    #[must_use]
    pub const fn hash(&self) -> &BodyHash {
        &self.hash
    }

    /// The row of table `fetches`.
    #[must_use]
    pub fn fetch_row(&self) -> FetchRow {
        let observation = match &self.origin {
            Ok(_) => self.observation(),
            Err(reason) => Observation::of_class(FetchClass::InvalidTarget, Some(*reason)),
        };
        FetchRow {
            origin: self.origin.clone().ok(),
            rank: None,
            input: Some(self.name.clone()),
            input_line: Some(self.line),
            observation,
        }
    }

    /// The origin that the file's name stands for, where it stands for one.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref().ok()
    }

    /// What was seen in the file: the same under https and http.
    #[must_use]
    pub fn observation(&self) -> Observation {
        let mut observation = Observation::of_class(self.class, self.reason);
        observation.flags = self.flags;
        observation.body_sha256 = Some(self.hash);
        observation.body_octets = Some(self.octets);
        observation
    }
}
