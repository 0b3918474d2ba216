//! Files in, files out: each keeps its name, is written under a temporary one and renamed when whole, and stays as it is
//! once it is finished.
//!
//! A file is finished where one of its name is in the output folder and its footer says that it was made of the same
//! input (size and footer), the same snapshots and the same settings, by the same version. One that says anything else is
//! an error, not overwritten in silence. Text files have no footer: of those a small file beside them says it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::ThreadPool;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::DatasetError;
use super::annotate::{Annotator, Settings};
use super::filter::{self, Places};
use super::keep::{Expression, Rules};
use super::parquet_file::{self, Input};
use super::shape::Shape;
use super::stats;
use super::tally::Tally;
use super::text_file::{self, TextInput, Treatment};
use crate::tables::column::hex;
use crate::tables::sink::{Place, WholeFile, make_folder};

/// What is done with each file.
#[derive(Debug, Clone)]
pub enum Task {
    /// Columns are added, or stand alone with an id.
    Annotate(Shape),
    /// Rows are kept or excluded.
    Filter {
        /// Which are kept.
        rules: Rules,
        /// Folder of the excluded ones.
        excluded: Option<PathBuf>,
    },
}

/// The same work for many files.
#[derive(Debug)]
pub struct Job {
    /// Answers about rows.
    pub annotator: Annotator,
    /// What is done.
    pub task: Task,
    /// Folder of the outputs.
    pub output: PathBuf,
    /// Whether files that something else made are written over.
    pub overwrites: bool,
}

/// A file to be worked on.
#[derive(Debug)]
pub struct Planned {
    /// The input.
    pub input: PathBuf,
    /// Its name, and that of the output.
    pub name: String,
    /// Whether the output is there already.
    pub is_finished: bool,
}

/// An input, opened.
enum Opened {
    Parquet(Input),
    Text(TextInput),
}

impl Opened {
    fn of(path: &Path) -> Result<Self, DatasetError> {
        Ok(match TextInput::recognize(path)? {
            Some(text) => Self::Text(text),
            None => Self::Parquet(Input::open(path)?),
        })
    }

    /// Tells it from every other.
    fn digest(&self, path: &Path) -> Result<String, DatasetError> {
        let digest = match self {
            Self::Parquet(_) => input_digest(path),
            Self::Text(text) => text.digest(),
        };
        digest.map_err(|source| DatasetError::Open { path: path.to_owned(), source })
    }
}

impl Job {
    /// Looks into every input, so that what cannot work is known before work starts.
    ///
    /// # Errors
    /// An input that cannot be read or lacks a column, two of one name, an output that would be the input or is
    /// something else's.
    pub fn plan(&self, inputs: &[PathBuf]) -> Result<Vec<Planned>, DatasetError> {
        for folder in self.folders() {
            make_folder(folder)?;
        }
        let folders: Vec<_> = self.folders().map(fs::canonicalize).filter_map(Result::ok).collect();
        if let [output, excluded] = &folders[..]
            && output == excluded
        {
            return Err(DatasetError::OneFolder { path: self.output.clone() });
        }
        let mut planned: Vec<Planned> = Vec::with_capacity(inputs.len());
        for path in inputs {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| DatasetError::NoName { path: path.clone() })?.to_owned();
            if let Some(first) = planned.iter().find(|other| other.name == name) {
                return Err(DatasetError::SameName { first: first.input.clone(), second: path.clone(), name });
            }
            let input = Opened::of(path)?;
            self.check(&input).map_err(|error| error.of_file(path))?;
            let is_finished = self.is_finished(path, &input, &name)?;
            planned.push(Planned { input: path.clone(), name, is_finished });
        }
        Ok(planned)
    }

    /// Does the work on a file.
    ///
    /// # Errors
    /// What cannot be read or written.
    pub fn run(&self, planned: &Planned, pool: &Arc<ThreadPool>) -> Result<Tally, DatasetError> {
        let input = Opened::of(&planned.input)?;
        let mark = self.mark(&input.digest(&planned.input)?);
        let run = match &input {
            Opened::Parquet(input) => self.run_parquet(input, &planned.name, &mark, pool),
            Opened::Text(input) => self.run_text(input, &planned.name, &mark, pool),
        };
        run.map_err(|error: DatasetError| error.of_file(&planned.input))
    }

    /// Counts what is lost of a file that is finished, without writing it again; its rows.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn count(&self, planned: &Planned, pool: &Arc<ThreadPool>) -> Result<u64, DatasetError> {
        let rules = match &self.task {
            Task::Annotate(_) => None,
            Task::Filter { rules, .. } => Some(rules),
        };
        let count = || match Opened::of(&planned.input)? {
            Opened::Parquet(input) => stats::read(&self.annotator, rules, &input, pool),
            Opened::Text(input) => text_file::count(&self.annotator, &input, &self.task.treatment(), pool),
        };
        count().map_err(|error| error.of_file(&planned.input))
    }

    fn run_parquet(
        &self,
        input: &Input,
        name: &str,
        mark: &str,
        pool: &Arc<ThreadPool>,
    ) -> Result<Tally, DatasetError> {
        match &self.task {
            Task::Annotate(shape) => {
                let place = Place::of(&self.output, name);
                let (whole, tally) = parquet_file::annotate(&self.annotator, input, shape, place, mark, pool)?;
                whole.publish()?;
                Ok(tally)
            }
            Task::Filter { rules, .. } => {
                let filtered = filter::filter(&self.annotator, rules, input, self.places(name), mark, pool)?;
                // The kept rows last: where they are, all is.
                filtered.excluded.map(WholeFile::publish).transpose()?;
                filtered.kept.publish()?;
                Ok(filtered.tally)
            }
        }
    }

    fn run_text(
        &self,
        input: &TextInput,
        name: &str,
        mark: &str,
        pool: &Arc<ThreadPool>,
    ) -> Result<Tally, DatasetError> {
        let treatment = self.task.treatment();
        let done = text_file::run(&self.annotator, input, &treatment, self.places(name), pool)?;
        done.excluded.map(|excluded| text_file::publish(excluded, mark)).transpose()?;
        text_file::publish(done.kept, mark)?;
        Ok(done.tally)
    }

    fn places(&self, name: &str) -> Places {
        let excluded = match &self.task {
            Task::Filter { excluded, .. } => excluded.as_ref(),
            Task::Annotate(_) => None,
        };
        Places { kept: Place::of(&self.output, name), excluded: excluded.map(|folder| Place::of(folder, name)) }
    }

    fn check(&self, input: &Opened) -> Result<(), DatasetError> {
        let input = match input {
            Opened::Parquet(input) => input,
            Opened::Text(text) => return text_file::check(&self.annotator, text, &self.task.treatment()),
        };
        self.annotator.sources(input.fields())?;
        match &self.task {
            Task::Annotate(shape) => parquet_file::check(&self.annotator, input, shape),
            Task::Filter { excluded, .. } => filter::check(&self.annotator, input, excluded.is_some()),
        }
    }

    /// Whether all outputs are there and what would be written now.
    fn is_finished(&self, path: &Path, input: &Opened, name: &str) -> Result<bool, DatasetError> {
        // Text is read as a whole to be told from other text: only where there is something to compare.
        if !self.folders().any(|folder| folder.join(name).exists()) {
            return Ok(false);
        }
        let mark = self.mark(&input.digest(path)?);
        let mut is_finished = true;
        for folder in self.folders() {
            is_finished &= self.is_there(path, input, folder, name, &mark)?;
        }
        Ok(is_finished)
    }

    /// The folders that outputs go to.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        let excluded = match &self.task {
            Task::Filter { excluded, .. } => excluded.as_deref(),
            Task::Annotate(_) => None,
        };
        [&*self.output].into_iter().chain(excluded)
    }

    fn is_there(
        &self,
        input_path: &Path,
        input: &Opened,
        folder: &Path,
        name: &str,
        mark: &str,
    ) -> Result<bool, DatasetError> {
        let path = folder.join(name);
        if !path.exists() {
            return Ok(false);
        }
        if is_same_file(input_path, &path) {
            return Err(DatasetError::OverItself { path });
        }
        let is_finished = match input {
            Opened::Parquet(_) => Input::open(&path).is_ok_and(|output| output.mark() == Some(mark)),
            Opened::Text(_) => text_file::is_finished(folder, name, mark),
        };
        if is_finished || self.overwrites { Ok(is_finished) } else { Err(DatasetError::Other { path }) }
    }

    /// What an output says that it was made by.
    fn mark(&self, input_sha256: &str) -> String {
        let plan = self.annotator.snapshots().plan();
        let made_by = json!({
            "program": "robots-audit",
            "version": env!("CARGO_PKG_VERSION"),
            "task": self.task.to_json(),
            "plan": plan.to_json(),
            "settings": self.annotator.settings().to_json(),
            "snapshots_sha256": self.annotator.snapshots().digest(),
            "input_sha256": input_sha256,
        });
        // What the registry says of the crawlers counts, too.
        let asked = hex(&Sha256::digest(format!("{made_by} {:?}", plan.asked)));
        let mut mark = made_by;
        mark["asked_sha256"] = asked.into();
        mark.to_string()
    }
}

impl Task {
    /// What is done with the rows of text files.
    fn treatment(&self) -> Treatment {
        match self {
            Self::Annotate(shape) => Treatment::Annotate(shape.clone()),
            Self::Filter { rules, excluded } => {
                Treatment::Filter { rules: rules.clone(), wants_excluded: excluded.is_some() }
            }
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Annotate(Shape::Annotated) => json!("annotate"),
            Self::Annotate(Shape::Sidecar { id_column }) => json!({ "sidecar": id_column }),
            Self::Filter { rules, excluded } => json!({
                "filter": {
                    "missing": rules.missing.as_str(),
                    "deferred": if rules.keeps_deferred { "keep" } else { "drop" },
                    "drop_denied": rules.denied,
                    "drop_training_against": rules.training_against,
                    "keep": rules.keep.as_ref().map(Expression::text),
                    "excluded_out": excluded.is_some(),
                }
            }),
        }
    }
}

impl Settings {
    /// As it stands in footers.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "prefix": self.prefix,
            "url_column": self.url_column,
            "as_of": format!("{:?}", self.as_of),
            "training": self.training,
            "rules": self.rules,
        })
    }
}

/// A digest of a Parquet file's size and footer: the footer names all its pages with their sizes and extremes.
fn input_digest(path: &Path) -> std::io::Result<String> {
    use std::io::{Seek, SeekFrom};
    /// The length of the footer and the magic octets.
    const TAIL_OCTETS: usize = 8;
    let mut file = File::open(path)?;
    let octets = file.metadata()?.len();
    let mut tail = [0; TAIL_OCTETS];
    file.seek(SeekFrom::Start(octets.saturating_sub(TAIL_OCTETS as u64)))?;
    file.read_exact(&mut tail)?;
    let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = octets.saturating_sub(TAIL_OCTETS as u64).saturating_sub(footer);
    file.seek(SeekFrom::Start(start))?;
    let mut digest = Sha256::new();
    digest.update(octets.to_le_bytes());
    let mut part = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&part[..read]);
    }
}

/// Whether two paths lead to one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let same_path = fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other));
    same_path || is_same_inode(one, other)
}

#[cfg(unix)]
fn is_same_inode(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    inode(one).is_some_and(|found| inode(other) == Some(found))
}

#[cfg(not(unix))]
fn is_same_inode(_: &Path, _: &Path) -> bool {
    false
}
