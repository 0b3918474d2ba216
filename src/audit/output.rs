//! The files of a run: all opened before the work, all put in their places when the last is whole.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::tables::pages::EncodedRowGroup;
use crate::tables::pages::file::RunTableFile;
use crate::tables::sink::{self, Footer, SinkError, TableFile, WholeFile};
use crate::tables::{
    Table, bodies, crawler_access, crawlers, decisions, fetches, findings, rules, training, training_verdicts, views,
};

/// The tables that a run writes.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
    files: Vec<(Table, OutputFile)>,
}

/// How a table is written.
#[derive(Debug)]
enum OutputFile {
    /// From rows.
    Rows(Box<TableFile>),
    /// From runs, in row groups that were encoded where they were made.
    Runs(Box<RunTableFile>),
}

impl OutputFile {
    fn create(folder: &Path, table: Table) -> Result<Self, SinkError> {
        let of_rows = |schema| TableFile::create(folder, table, schema).map(|file| Self::Rows(Box::new(file)));
        let of_runs = |schema| RunTableFile::create(folder, table, schema).map(|file| Self::Runs(Box::new(file)));
        match table {
            Table::Fetches => of_rows(fetches::schema()),
            Table::Bodies => of_rows(bodies::schema()),
            Table::Decisions => of_runs(decisions::run_schema()),
            Table::CrawlerAccess => of_rows(crawler_access::schema()),
            Table::Training => of_rows(training::schema()),
            Table::TrainingVerdicts => of_runs(training_verdicts::run_schema()),
            Table::Rules => of_rows(rules::schema()),
            Table::Findings => of_rows(findings::schema()),
            Table::Crawlers => of_rows(crawlers::schema()),
        }
    }

    const fn rows(&self) -> u64 {
        match self {
            Self::Rows(file) => file.rows(),
            Self::Runs(file) => file.rows(),
        }
    }

    fn finish(self, footer: &Footer) -> Result<WholeFile, SinkError> {
        match self {
            Self::Rows(file) => file.finish(footer),
            Self::Runs(file) => file.finish(footer),
        }
    }
}

/// The tables of a snapshot.
pub const SNAPSHOT_TABLES: [Table; 2] = [Table::Fetches, Table::Bodies];

/// The tables that are computed from a snapshot.
pub const COMPUTED_TABLES: [Table; 7] = [
    Table::Decisions,
    Table::CrawlerAccess,
    Table::Training,
    Table::TrainingVerdicts,
    Table::Rules,
    Table::Findings,
    Table::Crawlers,
];

impl Output {
    /// Makes the folder and opens the files of some tables.
    ///
    /// # Errors
    /// Where the folder or a file cannot be made.
    pub fn open(folder: &Path, tables: &[Table]) -> Result<Self, SinkError> {
        sink::make_folder(folder)?;
        let file = |table: &Table| OutputFile::create(folder, *table).map(|file| (*table, file));
        let files = tables.iter().map(file).collect::<Result<_, _>>()?;
        Ok(Self { folder: folder.to_owned(), files })
    }

    /// Adds rows to a table. A table that this run does not write takes nothing.
    ///
    /// # Errors
    /// Where the file cannot be written.
    ///
    /// # Panics
    /// Where the table is written from runs.
    pub fn write(&mut self, table: Table, batch: &RecordBatch) -> Result<(), SinkError> {
        match self.file(table) {
            Some(OutputFile::Rows(file)) if batch.num_rows() > 0 => file.write(batch),
            Some(OutputFile::Runs(_)) => unreachable!("{table} is written from runs"),
            _ => Ok(()),
        }
    }

    /// Adds a row group to a table. A table that this run does not write takes nothing.
    ///
    /// # Errors
    /// Where the file cannot be written.
    ///
    /// # Panics
    /// Where the table is written from rows.
    pub fn append(&mut self, table: Table, group: EncodedRowGroup) -> Result<(), SinkError> {
        match self.file(table) {
            Some(OutputFile::Runs(file)) => file.append(group),
            Some(OutputFile::Rows(_)) => unreachable!("{table} is written from rows"),
            None => Ok(()),
        }
    }

    fn file(&mut self, table: Table) -> Option<&mut OutputFile> {
        self.files.iter_mut().find(|(written, _)| *written == table).map(|(_, file)| file)
    }

    /// Rows of a table so far.
    #[must_use]
    pub fn rows(&self, table: Table) -> u64 {
        self.files.iter().find(|(written, _)| *written == table).map_or(0, |(_, file)| file.rows())
    }

    /// Ends all files, then gives each its name. Nothing half-written ever has a final name.
    ///
    /// # Errors
    /// Where a file cannot be ended or renamed.
    pub fn finish(self, footer: &Footer) -> Result<(), SinkError> {
        let whole = self.files.into_iter().map(|(_, file)| file.finish(footer)).collect::<Result<Vec<_>, _>>()?;
        whole.into_iter().try_for_each(|file| file.publish().map(|_| ()))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Takes away what an earlier run left in a folder: the files of some tables, `views.sql` and `run.json`. Beside new
/// tables they would be answers to other questions.
///
/// # Errors
/// Where a file cannot be removed.
pub fn clear(folder: &Path, tables: &[Table]) -> Result<(), SinkError> {
    let parts = tables.iter().map(|table| folder.join(table.as_str()).join("part-00000.parquet"));
    for path in parts.chain([folder.join("views.sql"), folder.join("run.json")]) {
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => return Err(SinkError::Publish { path, source }),
            _ => {}
        }
    }
    Ok(())
}

/// Writes `views.sql` for the tables in a folder.
///
/// # Errors
/// Where it cannot be written.
pub fn write_views(folder: &Path, tables: &[Table]) -> Result<(), SinkError> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    sink::write_text(folder, "views.sql", &views::sql(&absolute, tables))
}
