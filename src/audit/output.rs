//! The files of a run: all opened before the work, all put in their places when the last is whole.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::tables::pages::file::RunTableFile;
use crate::tables::pages::{EncodedRowGroup, RunSchema};
use crate::tables::sink::{self, Footer, SinkError, TableFile, WholeFile};
use crate::tables::{
    Table, bodies, captures, crawler_access, crawlers, decisions, fetches, findings, matching_differences,
    response_signals, rules, training, training_verdicts, views,
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
    Runs(Box<Parts>),
}

/// Row groups of the largest file. The index of a file is held until its end, about 90 kB a row group of decisions, so
/// a file ends before that grows with the number of URLs.
pub const PART_ROW_GROUPS: u32 = 256;

/// The files of a table of runs.
#[derive(Debug)]
struct Parts {
    folder: PathBuf,
    table: Table,
    schema: RunSchema,
    /// The file being written.
    current: RunTableFile,
    /// Files that are whole, and their rows.
    whole: Vec<WholeFile>,
    rows: u64,
    /// What is known for the footers of files that end before the run does.
    footer: Footer,
}

impl Parts {
    fn create(folder: &Path, table: Table, schema: RunSchema) -> Result<Self, SinkError> {
        let current = RunTableFile::create(folder, table, schema.clone())?;
        let (folder, footer) = (folder.to_owned(), Footer::new());
        Ok(Self { folder, table, schema, current, whole: Vec::new(), rows: 0, footer })
    }

    fn append(&mut self, group: EncodedRowGroup) -> Result<(), SinkError> {
        if self.current.row_groups() == PART_ROW_GROUPS {
            let part = u32::try_from(self.whole.len() + 1).expect("files are few");
            let next = RunTableFile::create_part(&self.folder, self.table, part, self.schema.clone())?;
            let full = std::mem::replace(&mut self.current, next);
            self.rows += full.rows();
            self.whole.push(full.finish(&self.footer)?);
        }
        self.current.append(group)
    }

    fn finish(mut self, footer: &Footer) -> Result<Vec<WholeFile>, SinkError> {
        self.whole.push(self.current.finish(footer)?);
        Ok(self.whole)
    }
}

impl OutputFile {
    fn create(folder: &Path, table: Table) -> Result<Self, SinkError> {
        let of_rows = |schema| TableFile::create(folder, table, schema).map(|file| Self::Rows(Box::new(file)));
        let of_runs = |schema| Parts::create(folder, table, schema).map(|parts| Self::Runs(Box::new(parts)));
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
            Table::MatchingDifferences => of_rows(matching_differences::schema()),
            Table::Captures => of_rows(captures::schema()),
            Table::ResponseSignals => of_rows(response_signals::schema()),
        }
    }

    const fn rows(&self) -> u64 {
        match self {
            Self::Rows(file) => file.rows(),
            Self::Runs(parts) => parts.rows + parts.current.rows(),
        }
    }

    fn finish(self, footer: &Footer) -> Result<Vec<WholeFile>, SinkError> {
        match self {
            Self::Rows(file) => file.finish(footer).map(|file| vec![file]),
            Self::Runs(parts) => parts.finish(footer),
        }
    }
}

/// The tables of every snapshot.
pub const SNAPSHOT_TABLES: [Table; 2] = [Table::Fetches, Table::Bodies];

/// The tables of a snapshot that was fetched.
pub const FETCHED_TABLES: [Table; 3] = [Table::Fetches, Table::Bodies, Table::ResponseSignals];

/// The tables of a snapshot that was taken over from files of others, whether or not these hold header fields.
pub const INGESTED_TABLES: [Table; 3] = [Table::Fetches, Table::Bodies, Table::Captures];

/// The tables that are computed from a snapshot, the last one only where it is asked for.
pub const COMPUTED_TABLES: [Table; 8] = [
    Table::Decisions,
    Table::CrawlerAccess,
    Table::Training,
    Table::TrainingVerdicts,
    Table::Rules,
    Table::Findings,
    Table::Crawlers,
    Table::MatchingDifferences,
];

impl Output {
    /// Makes the folder and opens the files of some tables.
    ///
    /// # Errors
    /// Where the folder or a file cannot be made.
    pub fn open(folder: &Path, tables: &[Table]) -> Result<Self, SinkError> {
        sink::make_folder(folder)?;
        tables.iter().try_for_each(|table| sink::remove_temporary(folder, *table))?;
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
            Some(OutputFile::Runs(parts)) => parts.append(group),
            Some(OutputFile::Rows(_)) => unreachable!("{table} is written from rows"),
            None => Ok(()),
        }
    }

    fn file(&mut self, table: Table) -> Option<&mut OutputFile> {
        self.files.iter_mut().find(|(written, _)| *written == table).map(|(_, file)| file)
    }

    /// The tables that are written, each with its rows so far.
    pub fn tables(&self) -> impl Iterator<Item = (Table, u64)> {
        self.files.iter().map(|(table, file)| (*table, file.rows()))
    }

    /// Rows of a table so far.
    #[must_use]
    pub fn rows(&self, table: Table) -> u64 {
        self.files.iter().find(|(written, _)| *written == table).map_or(0, |(_, file)| file.rows())
    }

    /// Says what is known for the footers of files that end before the run does: all but the digest of the URLs.
    pub fn set_footer(&mut self, footer: &Footer) {
        for (_, file) in &mut self.files {
            if let OutputFile::Runs(parts) = file {
                parts.footer = footer.clone();
            }
        }
    }

    /// Ends all files, then gives each its name. Nothing half-written ever has a final name, and nothing of an earlier
    /// run stays beside the new files.
    ///
    /// # Errors
    /// Where a file cannot be ended, renamed or removed.
    pub fn finish(self, footer: &Footer) -> Result<(), SinkError> {
        self.replace(footer, None)
    }

    /// The same for a folder that is to hold nothing else: what an earlier run left of other tables goes when all files
    /// are whole.
    ///
    /// # Errors
    /// Where a file cannot be ended, renamed or removed.
    pub fn finish_alone(self, footer: &Footer, others: &[Table]) -> Result<(), SinkError> {
        self.replace(footer, Some(others))
    }

    fn replace(self, footer: &Footer, others: Option<&[Table]>) -> Result<(), SinkError> {
        let finish = |(table, file): (Table, OutputFile)| file.finish(footer).map(|whole| (table, whole));
        let tables = self.files.into_iter().map(finish).collect::<Result<Vec<_>, _>>()?;
        others.map_or(Ok(()), |others| clear(&self.folder, others))?;
        for (table, files) in tables {
            let paths: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
            files.into_iter().try_for_each(|file| file.publish().map(|_| ()))?;
            sink::remove_other_parts(&self.folder, table, &paths)?;
        }
        Ok(())
    }
}

/// Takes away what an earlier run left in a folder: the files of some tables, `views.sql` and `run.json`. Beside new
/// tables they would be answers to other questions.
///
/// # Errors
/// Where a file cannot be removed.
pub fn clear(folder: &Path, tables: &[Table]) -> Result<(), SinkError> {
    tables.iter().try_for_each(|table| sink::remove_other_parts(folder, *table, &[]))?;
    for path in [folder.join("views.sql"), folder.join("run.json")] {
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
    sink::write_text(folder, "views.sql", views::sql(&absolute, tables))
}

#[cfg(test)]
mod tests {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::robots::decision::Answer;
    use crate::tables::decisions::DecisionsBuilder;
    use crate::tables::pages::encode;

    #[test]
    fn a_full_file_is_followed_by_another_and_old_ones_go() {
        let folder = std::env::temp_dir().join(format!("robots-audit-parts-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("decisions")).unwrap();
        let old = folder.join("decisions/part-00002.parquet");
        std::fs::write(&old, "of an earlier run").unwrap();
        let mut output = Output::open(&folder, &[Table::Decisions]).unwrap();
        let mut builder = DecisionsBuilder::new(["GPTBot"]);
        for number in 0..=PART_ROW_GROUPS {
            builder.url(format!("https://a.test/{number}").as_bytes(), Some("https://a.test"), None);
            builder.answer_run(1, &Answer::ROBOTS_TXT, None, None);
            output.append(Table::Decisions, encode(&decisions::run_schema(), &builder.take()).unwrap()).unwrap();
        }
        assert_eq!(output.rows(Table::Decisions), u64::from(PART_ROW_GROUPS) + 1);
        assert!(old.exists(), "until the new files are whole the old ones stay");
        output.finish(&Footer::new()).unwrap();
        let rows = |part: u32| {
            let file = std::fs::File::open(folder.join(format!("decisions/part-{part:05}.parquet"))).unwrap();
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().file_metadata().num_rows()
        };
        assert_eq!((rows(0), rows(1)), (i64::from(PART_ROW_GROUPS), 1));
        assert!(!old.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
