//! NDJSON and CSV, also packed: a text file to the same with columns more, or to its kept and its excluded rows. What
//! stood there stays, octet for octet; members and fields are put in behind it.
//!
//! One thread reads and writes, the pool judges and puts in. Memory does not grow with the file: as many batches of at
//! most 16 MiB and a record are held as there are threads, and one.
//!
//! | module | holds |
//! |---|---|
//! | `format` | names, packing |
//! | `records` | text to records, records to fields |
//! | `json` | the object of a line |
//! | `layout` | where URL and time stand |
//! | `cells` | added columns as text |
//! | `finished` | what an output was made by, beside it |

mod cells;
mod finished;
mod format;
mod json;
mod layout;
mod records;

use std::io;
use std::sync::Arc;

use arrow::datatypes::Field;
use parquet::errors::ParquetError;
use rayon::ThreadPool;

use self::cells::Cells;
pub(super) use self::finished::{is_finished, publish};
use self::format::Packer;
pub(super) use self::format::TextInput;
use self::layout::{Cut, Layout, Opened};
use self::records::{Batch, Record};
use super::DatasetError;
use super::annotate::Annotator;
use super::answers::Answers;
use super::filter::{Filtered, Places, reason_field};
use super::keep::{Fate, REASONS, Rules};
use super::parquet_file::check_balance;
use super::tally::Tally;
use crate::audit::pipeline::ordered_within;
use crate::tables::column::Words;
use crate::tables::sink::{Place, WholeFile};
use crate::tables::text::of_octets;

/// What is done with each row.
#[derive(Debug, Clone)]
pub(super) enum Treatment {
    /// It gets the added columns.
    Annotate,
    /// It is kept or excluded.
    Filter {
        rules: Rules,
        /// Whether the excluded rows are wanted.
        wants_excluded: bool,
    },
}

impl Treatment {
    /// The columns that are added to some output.
    fn added(&self, annotator: &Annotator) -> Vec<Field> {
        match self {
            Self::Annotate => annotator.fields(),
            Self::Filter { wants_excluded: true, .. } => vec![reason_field(annotator)],
            Self::Filter { wants_excluded: false, .. } => Vec::new(),
        }
    }
}

/// Whether a file can be worked on, as far as its beginning tells.
pub(super) fn check(annotator: &Annotator, input: &TextInput, treatment: &Treatment) -> Result<(), DatasetError> {
    Opened::of(input, annotator, treatment.added(annotator))?.check()
}

/// Works on a file. The kept rows are all, where none are filtered.
pub(super) fn run(
    annotator: &Annotator,
    input: &TextInput,
    treatment: &Treatment,
    places: Places,
    pool: &Arc<ThreadPool>,
) -> Result<Filtered, DatasetError> {
    let added = treatment.added(annotator);
    let opened = Opened::of(input, annotator, added.clone())?;
    let kept_added: &[Field] = if matches!(treatment, Treatment::Annotate) { &added } else { &[] };
    let mut kept = Output::create(input, places.kept, &opened.beginning(kept_added))?;
    let excluded = places.excluded.map(|place| Output::create(input, place, &opened.beginning(&added)));
    let mut excluded = excluded.transpose()?;
    let keys = added.iter().map(|field| cells::in_json(field.name())).collect();
    let Opened { layout, reader, .. } = opened;
    let work = Work { annotator: annotator.clone(), layout, keys, treatment: treatment.clone() };
    let mut tally = Tally::default();
    let batches = ordered_within(pool, pool.current_num_threads() + 1, reader, move |batch| {
        batch.and_then(|batch: Batch| work.treat(&batch))
    });
    let mut rows_excluded = 0;
    for treated in batches {
        let treated = treated??;
        tally += &treated.tally;
        rows_excluded += treated.rows_excluded;
        kept.add(&treated.kept, treated.rows_kept)?;
        if let Some(excluded) = &mut excluded {
            excluded.add(&treated.excluded, treated.rows_excluded)?;
        }
    }
    check_balance(tally.rows, kept.rows + rows_excluded)?;
    let excluded = excluded.map(Output::finish).transpose()?;
    Ok(Filtered { kept: kept.finish()?, excluded, tally })
}

/// The work on one file.
struct Work {
    annotator: Annotator,
    layout: Layout,
    /// Names of the added columns, in JSON.
    keys: Vec<String>,
    treatment: Treatment,
}

/// What became of a batch.
#[derive(Default)]
struct Treated {
    kept: Vec<u8>,
    rows_kept: u64,
    excluded: Vec<u8>,
    rows_excluded: u64,
    tally: Tally,
}

impl Work {
    fn treat(&self, batch: &Batch) -> Result<Treated, DatasetError> {
        let columns = self.layout.columns(batch)?;
        let answers = self.annotator.answers(&columns, &self.layout.sources, batch.rows_before);
        let (answers, urls) = answers.map_err(|error| at_line(error, batch))?;
        let mut treated = Treated::default();
        self.annotator.count(&answers, &mut treated.tally);
        match &self.treatment {
            Treatment::Annotate => {
                let cells = Cells::of(&self.annotator.columns(&answers))?;
                let mut rows = 0;
                for record in batch.records() {
                    if record.is_blank() {
                        treated.kept.extend_from_slice(record.octets);
                        continue;
                    }
                    self.put_in(record, &cells, rows, &mut treated.kept)?;
                    rows += 1;
                }
                treated.rows_kept = rows as u64;
            }
            Treatment::Filter { rules, wants_excluded } => {
                let fates = fates(rules, &answers, batch.rows_before, |row| of_octets(urls.value(row)).into_owned());
                let fates = fates.map_err(|error| at_line(error, batch))?;
                self.part(batch, &fates, *wants_excluded, &mut treated)?;
            }
        }
        Ok(treated)
    }

    fn part(
        &self,
        batch: &Batch,
        fates: &[Fate],
        wants_excluded: bool,
        treated: &mut Treated,
    ) -> Result<(), DatasetError> {
        let mut reasons = Words::of(REASONS);
        for fate in fates {
            reasons.push(Some(usize::from(fate.0)));
        }
        let cells = Cells::of(&[reasons.finish()])?;
        let mut rows = 0;
        for record in batch.records() {
            if record.is_blank() {
                treated.kept.extend_from_slice(record.octets);
                continue;
            }
            let fate = fates[rows];
            treated.tally.add_fate(fate);
            if fate == Fate::KEPT {
                treated.rows_kept += 1;
                treated.kept.extend_from_slice(record.octets);
            } else {
                treated.rows_excluded += 1;
                if wants_excluded {
                    self.put_in(record, &cells, rows, &mut treated.excluded)?;
                }
            }
            rows += 1;
        }
        Ok(())
    }

    /// Appends a record with the cells of a row put in.
    fn put_in(&self, record: Record<'_>, cells: &Cells, row: usize, out: &mut Vec<u8>) -> Result<(), DatasetError> {
        let end = match self.layout.cut {
            Cut::Object { .. } => json::end_of_members(record.octets),
            Cut::Fields { .. } => record.body().len(),
        };
        out.extend_from_slice(&record.octets[..end]);
        match self.layout.cut {
            Cut::Object { .. } => {
                let is_empty = json::check_keys(record.octets, &self.layout.added);
                let at_line = |error| DatasetError::AtLine { line: record.line, source: Box::new(error) };
                cells.append_members(row, &self.keys, is_empty.map_err(at_line)?, out);
            }
            Cut::Fields { delimiter, .. } => cells.append_fields(row, delimiter, out),
        }
        out.extend_from_slice(&record.octets[end..]);
        Ok(())
    }
}

/// What becomes of the rows.
fn fates(
    rules: &Rules,
    answers: &Answers,
    rows_before: u64,
    url: impl Fn(usize) -> String,
) -> Result<Vec<Fate>, DatasetError> {
    let judge = |row| {
        let fate = rules.fate(answers, row);
        match rules.error(fate, rows_before + row as u64 + 1, || url(row)) {
            Some(error) => Err(error),
            None => Ok(fate),
        }
    };
    (0..answers.len()).map(judge).collect()
}

/// An error about a row, told with its line.
fn at_line(error: DatasetError, batch: &Batch) -> DatasetError {
    let (DatasetError::BadUrl { row, .. } | DatasetError::NotCollected { row, .. }) = &error else { return error };
    let place = usize::try_from(row.saturating_sub(batch.rows_before + 1)).unwrap_or(usize::MAX);
    match batch.records().filter(|record| !record.is_blank()).nth(place) {
        Some(record) => DatasetError::AtLine { line: record.line, source: Box::new(error) },
        None => error,
    }
}

/// An output file being written.
struct Output {
    packer: Packer,
    place: Place,
    rows: u64,
}

impl Output {
    /// Creates it under a temporary name.
    fn create(input: &TextInput, place: Place, beginning: &[u8]) -> Result<Self, DatasetError> {
        let packer = input.pack(place.create()?).map_err(|source| write_error(&place, source))?;
        let mut output = Self { packer, place, rows: 0 };
        output.add(beginning, 0)?;
        Ok(output)
    }

    fn add(&mut self, octets: &[u8], rows: u64) -> Result<(), DatasetError> {
        self.rows += rows;
        self.packer.add(octets).map_err(|source| write_error(&self.place, source))
    }

    /// Ends the file; it is on the disk then, but still has its temporary name.
    fn finish(self) -> Result<WholeFile, DatasetError> {
        let Self { packer, place, rows } = self;
        let file = packer.finish().map_err(|source| write_error(&place, source))?;
        place.sync(&file)?;
        Ok(WholeFile::new(place, rows))
    }
}

fn write_error(place: &Place, source: io::Error) -> DatasetError {
    place.write_error(ParquetError::External(Box::new(source))).into()
}
