//! Parquet files: written under a temporary name, renamed when whole.

use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, encode_arrow_schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use thiserror::Error;

use super::cause::{self, Cause};
use super::{FORMAT_VERSION, Table, stored_schema};

/// Rows of the largest row group: one is the unit that readers skip or take in parallel.
pub const ROW_GROUP_ROWS: usize = 1 << 20;

/// Octets after which a row group ends: bodies are few but large.
pub const ROW_GROUP_OCTETS: usize = 64 << 20;

/// Octets of the largest dictionary page. The format's usual 1 MiB makes a column of long URLs fall back to plain
/// pages, three times as large.
pub const DICTIONARY_PAGE_OCTETS: usize = 16 << 20;

/// zstd level: higher ones cost much time for little space here.
pub(super) const ZSTD_LEVEL: i32 = 1;

/// False-positive probability of the filter on `origin`.
pub(super) const BLOOM_FILTER_FPP: f64 = 0.01;

/// Key of the format's version in the footer.
pub const FORMAT_KEY: &str = "robots_audit.format";

/// What can go wrong with an output folder.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The folder cannot be made or is none.
    #[error("cannot use {} as output folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file cannot be made.
    #[error("cannot create {}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Another run is writing the file.
    #[error("another run is writing {}; wait for its end, or take another folder", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Cause,
    },
    /// A whole file cannot be put in its place.
    #[error("cannot put {} in its place", path.display())]
    Publish {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Facts about a run that stand in the footer of each of its files.
#[derive(Debug, Clone, Default)]
pub struct Footer(Vec<(String, String)>);

impl Footer {
    /// A footer that names the program and the format.
    #[must_use]
    pub fn new() -> Self {
        let mut footer = Self::default();
        footer.add("version", env!("CARGO_PKG_VERSION"));
        footer.add("format", FORMAT_VERSION);
        footer
    }

    /// Adds a fact under `robots_audit.NAME`.
    pub fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((format!("robots_audit.{name}"), value.into()));
    }

    /// What stands in the footer of a table with this schema.
    pub(super) fn entries(&self, schema: &SchemaRef) -> impl Iterator<Item = KeyValue> {
        let schema = (ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(&stored_schema(schema)));
        let entries = std::iter::once(schema).chain(self.0.iter().cloned());
        entries.map(|(key, value)| KeyValue::new(key, value))
    }
}

/// Makes the output folder where it does not exist.
///
/// # Errors
/// Where the path is a file, or cannot be made.
pub fn make_folder(path: &Path) -> Result<(), SinkError> {
    fs::create_dir_all(path).map_err(|source| SinkError::Folder { path: path.to_owned(), source })
}

/// A table being written.
#[derive(Debug)]
pub struct TableFile {
    writer: ArrowWriter<BufWriter<File>>,
    place: Place,
    schema: SchemaRef,
    rows: u64,
}

/// Where a file is written and where it belongs. The temporary file goes away unless it was published; until then it is
/// locked, so that no two runs write one file.
#[derive(Debug)]
pub(crate) struct Place {
    temporary: PathBuf,
    path: PathBuf,
    /// Holds the lock.
    locked: Option<File>,
    is_published: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.locked.is_some() && !self.is_published {
            // Best effort: a leftover has a name that no reader opens.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

impl TableFile {
    /// Creates the file of a table in an output folder, still under a temporary name.
    ///
    /// # Errors
    /// Where the folder or the file cannot be made.
    pub fn create(folder: &Path, table: Table, schema: SchemaRef) -> Result<Self, SinkError> {
        Self::create_part(folder, table, 0, schema, ROW_GROUP_ROWS)
    }

    /// Creates a file of a table, counted from 0, with row groups of so many rows: one is held in memory until it is
    /// whole.
    ///
    /// # Errors
    /// Where the folder or the file cannot be made.
    pub fn create_part(
        folder: &Path,
        table: Table,
        part: u32,
        schema: SchemaRef,
        row_group_rows: usize,
    ) -> Result<Self, SinkError> {
        let mut place = Place::of_table(folder, table, part)?;
        let file = place.create()?;
        let options =
            ArrowWriterOptions::new().with_properties(properties(row_group_rows)).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(BufWriter::new(file), schema.clone(), options)
            .map_err(|source| place.write_error(source))?;
        Ok(Self { writer, place, schema, rows: 0 })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), SinkError> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|source| self.place.write_error(source))
    }

    /// Rows added so far.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the file. It is whole now, but still has its temporary name.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(self, footer: &Footer) -> Result<WholeFile, SinkError> {
        let Self { mut writer, place, schema, rows } = self;
        for entry in footer.entries(&schema) {
            writer.append_key_value_metadata(entry);
        }
        writer.finish().map_err(|source| place.write_error(source))?;
        place.sync(writer.inner().get_ref())?;
        Ok(WholeFile::new(place, rows))
    }
}

/// A finished file that waits for the others of its run.
#[derive(Debug)]
pub struct WholeFile {
    place: Place,
    rows: u64,
}

impl WholeFile {
    pub(crate) const fn new(place: Place, rows: u64) -> Self {
        Self { place, rows }
    }

    /// The name that the file will have.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Rows of the file.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Octets of the file, still under its temporary name.
    pub(crate) fn octets(&self) -> std::io::Result<u64> {
        fs::metadata(&self.place.temporary).map(|file| file.len())
    }

    /// Gives the file its name, and waits until that is on the disk; the octets of the file.
    ///
    /// # Errors
    /// Where it cannot be renamed.
    pub fn publish(mut self) -> Result<u64, SinkError> {
        let Place { temporary, path, .. } = &self.place;
        let publish = || {
            fs::rename(temporary, path)?;
            sync_folder(path.parent().unwrap_or(Path::new(".")))?;
            fs::metadata(path).map(|file| file.len())
        };
        let octets = publish().map_err(|source| SinkError::Publish { path: path.clone(), source })?;
        self.place.is_published = true;
        Ok(octets)
    }
}

/// Removes the parts of a table but those named: what an earlier run left would be read as rows of this one.
///
/// # Errors
/// Where one cannot be removed.
pub fn remove_other_parts(folder: &Path, table: Table, kept: &[PathBuf]) -> Result<(), SinkError> {
    let entries = fs::read_dir(folder.join(table.as_str())).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_part = name.starts_with("part-") && path.extension().is_some_and(|ending| ending == "parquet");
        if is_part && !kept.contains(&path) {
            fs::remove_file(&path).map_err(|source| SinkError::Publish { path, source })?;
        }
    }
    Ok(())
}

/// Removes what a run that was killed left of a table under temporary names.
///
/// # Errors
/// Where one cannot be removed, or another run is writing it.
pub fn remove_temporary(folder: &Path, table: Table) -> Result<(), SinkError> {
    let entries = fs::read_dir(folder.join(table.as_str())).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    for path in files.map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(".part-") && path.extension().is_some_and(|ending| ending == "tmp") {
            let _held = lock(&path).map_err(|error| error.named(&path))?;
            fs::remove_file(&path).map_err(|source| SinkError::Publish { path, source })?;
        }
    }
    Ok(())
}

/// Why a file is not locked.
enum NotLocked {
    InUse,
    Failed(std::io::Error),
}

impl NotLocked {
    fn named(self, path: &Path) -> SinkError {
        let path = path.to_owned();
        match self {
            Self::InUse => SinkError::InUse { path },
            Self::Failed(source) => SinkError::Create { path, source },
        }
    }
}

/// Opens a file under a temporary name, or makes it, for this run alone.
fn lock(temporary: &Path) -> Result<File, NotLocked> {
    loop {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(temporary).map_err(NotLocked::Failed)?;
        // A device is nobody's. Some file systems know no locks; one run at a time is then the caller's business.
        if !file.metadata().map_err(NotLocked::Failed)?.is_file() {
            return Ok(file);
        }
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(NotLocked::InUse);
        }
        // Whoever held it before may have given the file its final name meanwhile.
        if is_still(temporary, &file).map_err(NotLocked::Failed)? {
            return Ok(file);
        }
    }
}

/// Whether a name still stands for an open file.
#[cfg(unix)]
fn is_still(path: &Path, file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An open file is not renamed on other systems.
#[cfg(not(unix))]
fn is_still(_: &Path, _: &File) -> std::io::Result<bool> {
    Ok(true)
}

/// Waits until the names in a folder are on the disk, where the system can do that.
pub(super) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The final name of a part of a table.
#[must_use]
pub fn part_path(folder: &Path, table: Table, part: u32) -> PathBuf {
    folder.join(table.as_str()).join(part_name(part))
}

fn part_name(part: u32) -> String {
    format!("part-{part:05}.parquet")
}

/// Writes a small file of the output folder, mostly of text: under a temporary name, renamed when whole.
///
/// # Errors
/// Where it cannot be written.
pub fn write_text(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> Result<(), SinkError> {
    let mut place = Place::of(folder, name);
    let written = place.create()?.write_all(text.as_ref());
    written.map_err(|source| place.write_error(ParquetError::External(Box::new(source))))?;
    fs::rename(&place.temporary, &place.path)
        .map_err(|source| SinkError::Publish { path: place.path.clone(), source })?;
    place.is_published = true;
    Ok(())
}

impl Place {
    /// A file of a folder.
    pub(crate) fn of(folder: &Path, name: &str) -> Self {
        let (temporary, path) = (folder.join(format!(".{name}.tmp")), folder.join(name));
        Self { temporary, path, locked: None, is_published: false }
    }

    /// A part of a table.
    pub(super) fn of_table(folder: &Path, table: Table, part: u32) -> Result<Self, SinkError> {
        let folder = folder.join(table.as_str());
        make_folder(&folder)?;
        Ok(Self::of(&folder, &part_name(part)))
    }

    /// Its name until then.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The file under its temporary name, empty.
    pub(crate) fn create(&mut self) -> Result<File, SinkError> {
        let file = lock(&self.temporary).map_err(|error| error.named(&self.path))?;
        // Before anything else: what a killed run left is this run's to take away.
        let file = self.locked.insert(file);
        let is_new = file.metadata().is_ok_and(|found| found.len() == 0);
        let emptied = if is_new { Ok(()) } else { file.set_len(0) };
        let created = emptied.and_then(|()| file.try_clone());
        created.map_err(|source| SinkError::Create { path: self.path.clone(), source })
    }

    /// Waits until the file is on the disk.
    pub(crate) fn sync(&self, file: &File) -> Result<(), SinkError> {
        file.sync_all().map_err(|source| self.write_error(ParquetError::External(Box::new(source))))
    }

    pub(crate) fn write_error(&self, source: ParquetError) -> SinkError {
        SinkError::Write { path: self.path.clone(), source: cause::of_parquet(source) }
    }
}

pub(super) fn properties(row_group_rows: usize) -> WriterProperties {
    let origin = ColumnPath::from("origin");
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a level of zstd");
    WriterProperties::builder()
        .set_created_by(concat!("robots-audit ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(row_group_rows))
        .set_max_row_group_bytes(Some(ROW_GROUP_OCTETS))
        .set_dictionary_page_size_limit(DICTIONARY_PAGE_OCTETS)
        // Each body is there once: a dictionary would hold them all a second time and find nothing.
        .set_column_dictionary_enabled(ColumnPath::from("body"), false)
        .set_column_bloom_filter_enabled(origin.clone(), true)
        .set_column_bloom_filter_fpp(origin.clone(), BLOOM_FILTER_FPP)
        // In memory a filter is as large as this from its first row on; the file gets it as small as it may be.
        .set_column_bloom_filter_max_ndv(origin, row_group_rows as u64)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_by_one_run_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = || Place::of(folder.path(), "a.parquet");
        fs::write(folder.path().join(".a.parquet.tmp"), "left by a run that was killed").expect("written");
        let mut first = place();
        let mut file = first.create().expect("nobody writes it");
        assert!(matches!(place().create(), Err(SinkError::InUse { path }) if path.ends_with("a.parquet")));
        file.write_all(b"whole").expect("written");
        drop(file);
        // Still locked: the file has not its final name yet.
        assert!(matches!(place().create(), Err(SinkError::InUse { .. })));
        WholeFile::new(first, 0).publish().expect("renamed");
        assert_eq!(fs::read(folder.path().join("a.parquet")).expect("there"), b"whole");
        let mut second = place();
        second.create().expect("the first has ended");
        assert_eq!(fs::read(folder.path().join("a.parquet")).expect("there"), b"whole");
        drop(second);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "what was not published goes away");
    }
}
