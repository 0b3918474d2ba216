//! Batches of records, judged and rewritten.

use arrow::array::{Array, BinaryViewArray};

use super::cells::{self, Cells};
use super::gather::Gathered;
use super::json;
use super::layout::{Cut, Layout};
use super::records::{Batch, Record};
use super::treatment::Treatment;
use crate::dataset::DatasetError;
use crate::dataset::annotate::Annotator;
use crate::dataset::answers::Answers;
use crate::dataset::keep::{Fate, REASONS, Rules};
use crate::dataset::stats::{Counter, Stats};
use crate::dataset::tally::Tally;
use crate::tables::column::Words;
use crate::tables::text::of_octets;

/// The work on one file.
pub(super) struct Work {
    annotator: Annotator,
    layout: Layout,
    /// Names of the added columns, in JSON.
    keys: Vec<String>,
    treatment: Treatment,
}

/// What is known of the rows of a batch.
struct Judged {
    answers: Answers,
    urls: BinaryViewArray,
    /// What tells them apart, where that is wanted.
    ids: Option<BinaryViewArray>,
    /// What becomes of them, where they are filtered.
    fates: Option<Vec<Fate>>,
    stats: Option<Stats>,
}

/// What became of a batch.
#[derive(Default)]
pub(super) struct Treated {
    pub(super) kept: Vec<u8>,
    pub(super) rows_kept: u64,
    pub(super) excluded: Vec<u8>,
    pub(super) rows_excluded: u64,
    pub(super) tally: Tally,
    pub(super) stats: Option<Stats>,
}

impl Work {
    /// The work on a file of this layout.
    pub(super) fn new(annotator: &Annotator, layout: Layout, treatment: &Treatment) -> Self {
        let keys = layout.added.iter().map(|field| cells::in_json(field.name())).collect();
        Self { annotator: annotator.clone(), layout, keys, treatment: treatment.clone() }
    }

    /// Counts what is lost, and writes nothing.
    pub(super) fn count(&self, batch: &Batch) -> Result<Option<Stats>, DatasetError> {
        Ok(self.judge(batch)?.stats)
    }

    /// Judges and rewrites.
    pub(super) fn treat(&self, batch: &Batch) -> Result<Treated, DatasetError> {
        let judged = self.judge(batch)?;
        let mut treated = Treated::default();
        self.annotator.count(&judged.answers, &mut treated.tally);
        match &self.treatment {
            Treatment::Annotate(shape) => {
                let columns = shape.columns(&self.annotator, &judged.answers, &judged.urls, batch.rows_before);
                self.annotate(batch, &Cells::of(&columns)?, judged.ids.as_ref(), &mut treated)?;
            }
            Treatment::Filter { wants_excluded, .. } => {
                self.part(batch, judged.fates.as_deref().unwrap_or_default(), *wants_excluded, &mut treated)?;
            }
        }
        Ok(Treated { stats: judged.stats, ..treated })
    }

    fn judge(&self, batch: &Batch) -> Result<Judged, DatasetError> {
        let Gathered { columns, text_octets, ids } = self.layout.gather(batch)?;
        let answers = self.annotator.answers(&columns, &self.layout.sources, batch.rows_before);
        let (answers, urls) = answers.map_err(|error| at_line(error, batch))?;
        let fates = self.treatment.rules().map(|rules| {
            fates(rules, &answers, batch.rows_before, |row| of_octets(urls.value(row)).into_owned())
                .map_err(|error| at_line(error, batch))
        });
        let fates = fates.transpose()?;
        let mut counter = Counter::begin(&self.annotator, &self.layout.sources);
        if let Some(counter) = &mut counter {
            counter.add(&columns, text_octets.as_deref(), &answers, &urls, fates.as_deref())?;
        }
        Ok(Judged { answers, urls, ids, fates, stats: counter.map(Counter::finish) })
    }

    fn annotate(
        &self,
        batch: &Batch,
        cells: &Cells,
        ids: Option<&BinaryViewArray>,
        treated: &mut Treated,
    ) -> Result<(), DatasetError> {
        let is_sidecar = self.treatment.is_sidecar();
        let mut rows = 0;
        for record in batch.records() {
            if record.is_blank() {
                // A blank line is none of the rows that a sidecar is about.
                treated.kept.extend_from_slice(if is_sidecar { b"" } else { record.octets });
                continue;
            }
            if is_sidecar {
                self.put_beside(record, ids, cells, rows, &mut treated.kept);
            } else {
                self.put_in(record, cells, rows, &mut treated.kept)?;
            }
            rows += 1;
        }
        treated.rows_kept = rows as u64;
        Ok(())
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
            Cut::Object => json::end_of_members(record.octets),
            Cut::Fields { .. } => record.body().len(),
        };
        out.extend_from_slice(&record.octets[..end]);
        match self.layout.cut {
            Cut::Object => {
                let is_empty = json::check_keys(record.octets, &self.layout.added);
                let at_line = |error| DatasetError::AtLine { line: record.line, source: Box::new(error) };
                cells.append_members(row, &self.keys, is_empty.map_err(at_line)?, out);
            }
            Cut::Fields { delimiter, .. } => cells.append_fields(row, delimiter, false, out),
        }
        out.extend_from_slice(&record.octets[end..]);
        Ok(())
    }

    /// Appends the id, if any, and the cells of a row, with the end of the record's line.
    fn put_beside(
        &self,
        record: Record<'_>,
        ids: Option<&BinaryViewArray>,
        cells: &Cells,
        row: usize,
        out: &mut Vec<u8>,
    ) {
        let id = ids.map(|ids| ids.is_valid(row).then(|| ids.value(row)));
        match self.layout.cut {
            Cut::Object => {
                out.push(b'{');
                if let Some((id, name)) = id.zip(self.layout.id()) {
                    out.extend_from_slice(cells::in_json(name).as_bytes());
                    out.push(b':');
                    out.extend_from_slice(id.unwrap_or(b"null"));
                }
                cells.append_members(row, &self.keys, id.is_none(), out);
                out.push(b'}');
            }
            Cut::Fields { delimiter, .. } => {
                out.extend_from_slice(id.flatten().unwrap_or_default());
                cells.append_fields(row, delimiter, id.is_none(), out);
            }
        }
        out.extend_from_slice(&record.octets[record.body().len()..]);
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
        match rules.error(fate, answers.capture(row), rows_before + row as u64 + 1, || url(row)) {
            Some(error) => Err(error),
            None => Ok(fate),
        }
    };
    (0..answers.len()).map(judge).collect()
}

/// An error about a row, told with its line.
fn at_line(error: DatasetError, batch: &Batch) -> DatasetError {
    let (DatasetError::BadUrl { row, .. } | DatasetError::BadTime { row, .. } | DatasetError::NotCollected { row, .. }) =
        &error
    else {
        return error;
    };
    let place = usize::try_from(row.saturating_sub(batch.rows_before + 1)).unwrap_or(usize::MAX);
    match batch.records().filter(|record| !record.is_blank()).nth(place) {
        Some(record) => DatasetError::AtLine { line: record.line, source: Box::new(error) },
        None => error,
    }
}
