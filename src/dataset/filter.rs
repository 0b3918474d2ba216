//! A Parquet file to its kept and its excluded rows.
//!
//! The URL column is read first. A row group that is kept or excluded as a whole is copied as it is stored, or skipped;
//! of the others every column chunk is decoded once and its rows go to one file or the other. At most as many row groups
//! as there are threads are held in memory.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt8Array};
use arrow::datatypes::{Field, UInt8Type};
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use rayon::ThreadPool;

use super::DatasetError;
use super::annotate::{Annotator, Sources};
use super::columns::check_free;
use super::keep::{Fate, REASONS, Rules};
use super::parquet_file::{Cutter, Encoder, Input, Layout, Output, check_balance};
use super::rewrite::{self, Chunk};
use super::stats::{PieceCounter, Stats};
use super::tally::Tally;
use crate::audit::pipeline::{ordered, ordered_within};
use crate::tables::column::{Words, words};
use crate::tables::sink::{Place, WholeFile};
use crate::tables::text::of_octets;

/// Where rows go.
pub(super) struct Places {
    /// The kept ones.
    pub(super) kept: Place,
    /// The others, where they are wanted.
    pub(super) excluded: Option<Place>,
}

/// The files, whole but not yet under their names.
pub(super) struct Filtered {
    /// The kept rows.
    pub(super) kept: WholeFile,
    /// The others.
    pub(super) excluded: Option<WholeFile>,
    /// What was counted.
    pub(super) tally: Tally,
}

/// What is read to decide about rows.
struct Judging {
    annotator: Annotator,
    rules: Rules,
    sources: Sources,
    leaves: Vec<usize>,
    input: Input,
}

/// What is done to row groups that are kept in part.
struct Parting {
    input: Input,
    wants_excluded: bool,
    reasons: Encoder,
}

/// The rows of a row group, judged.
type Judged = (usize, Vec<Fate>);

/// A row group on its way out.
struct Parted {
    row_group: usize,
    rows_kept: u64,
    rows_excluded: u64,
    /// Where it is kept in part: its columns.
    columns: Option<(Vec<Chunk>, Vec<Chunk>)>,
    reasons: Vec<ArrowColumnChunk>,
}

/// The column of the excluded rows that tells why.
pub(super) fn reason_field(annotator: &Annotator) -> Field {
    words(&format!("{}reason", annotator.settings().prefix))
}

/// Whether a file can be filtered.
pub(super) fn check(annotator: &Annotator, input: &Input, wants_excluded: bool) -> Result<(), DatasetError> {
    let sources = annotator.sources(input.fields())?;
    if wants_excluded {
        let names = input.fields().iter().map(|field| field.name().as_str());
        check_free(names, &[reason_field(annotator)])?;
    }
    input.check_codecs(&(0..input.schema().num_columns()).collect::<Vec<_>>())?;
    input.check_members(sources.columns())
}

/// Filters a file.
pub(super) fn filter(
    annotator: &Annotator,
    rules: &Rules,
    input: &Input,
    places: Places,
    mark: &str,
    pool: &Arc<ThreadPool>,
) -> Result<Filtered, DatasetError> {
    let sources = annotator.sources(input.fields())?;
    let judging = Judging {
        leaves: sources.leaves(input.schema()),
        sources,
        annotator: annotator.clone(),
        rules: rules.clone(),
        input: input.clone(),
    };
    let kept_layout = Layout::all(input, Vec::new());
    let excluded_layout = Layout::all(input, vec![reason_field(annotator)]);
    let parting = Parting {
        input: input.clone(),
        wants_excluded: places.excluded.is_some(),
        reasons: Encoder::new(input, &excluded_layout)?,
    };
    let mut kept = Output::create(input, &kept_layout, places.kept, mark)?;
    let excluded = places.excluded.map(|place| Output::create(input, &excluded_layout, place, mark));
    let mut excluded = excluded.transpose()?;

    let mut tally = Tally::default();
    let judged = ordered(pool, input.pieces().into_iter(), move |piece| judging.judge(piece));
    let groups = judged.flat_map(|judged| match judged.map_err(DatasetError::from).and_then(|judged| judged) {
        Ok((groups, counted, stats)) => {
            tally += &counted;
            annotator.collect(stats.as_ref());
            groups.into_iter().map(Ok).collect::<Vec<_>>()
        }
        Err(error) => vec![Err(error)],
    });
    let threads = pool.current_num_threads();
    let parted = ordered_within(pool, threads, groups, move |judged: Result<Judged, DatasetError>| {
        judged.and_then(|(row_group, fates)| parting.part(row_group, &fates))
    });
    let mut rows_excluded = 0;
    for group in parted {
        let group = group??;
        rows_excluded += group.rows_excluded;
        put(input, group, &mut kept, excluded.as_mut())?;
    }
    check_balance(tally.kept, kept.rows())?;
    check_balance(tally.rows, kept.rows() + rows_excluded)?;
    if let Some(excluded) = &excluded {
        check_balance(rows_excluded, excluded.rows())?;
    }
    let excluded = excluded.map(Output::finish).transpose()?;
    Ok(Filtered { kept: kept.finish()?, excluded, tally })
}

/// Writes a row group to where its rows belong.
fn put(input: &Input, group: Parted, kept: &mut Output, excluded: Option<&mut Output>) -> Result<(), DatasetError> {
    let Parted { row_group, rows_kept, rows_excluded, columns, reasons } = group;
    match columns {
        Some((kept_columns, excluded_columns)) => {
            kept.add_row_group(rows_kept, kept_columns, Vec::new())?;
            match excluded {
                Some(excluded) => excluded.add_row_group(rows_excluded, excluded_columns, reasons),
                None => Ok(()),
            }
        }
        None if rows_excluded == 0 => kept.copy_row_group(input, row_group, Vec::new()),
        None => match excluded {
            Some(excluded) => excluded.copy_row_group(input, row_group, reasons),
            None => Ok(()),
        },
    }
}

impl Judging {
    /// What becomes of the rows of neighbouring row groups.
    fn judge(&self, piece: Range<usize>) -> Result<(Vec<Judged>, Tally, Option<Stats>), DatasetError> {
        let mut tally = Tally::default();
        let mut groups = Vec::new();
        let mut use_group = |row_group: usize, parts: &[Vec<ArrayRef>]| {
            let fates = parts.iter().flat_map(|part| part[0].as_primitive::<UInt8Type>().values().iter());
            groups.push((row_group, fates.map(|fate| Fate(*fate)).collect()));
            Ok(())
        };
        let mut cutter = Cutter::new(&self.input, piece.clone());
        let mut counter = PieceCounter::begin(&self.annotator, &self.sources, &self.input, piece.clone());
        self.input.batches(piece, self.leaves.clone(), |batch, rows_before| {
            let (answers, urls) = self.annotator.answers(batch, &self.sources, rows_before)?;
            self.annotator.count(&answers, &mut tally);
            let mut fates = Vec::with_capacity(answers.len());
            for row in 0..answers.len() {
                let fate = self.rules.fate(&answers, row);
                let url = || of_octets(urls.value(row)).into_owned();
                if let Some(error) = self.rules.error(fate, answers.capture(row), rows_before + row as u64 + 1, url) {
                    return Err(error);
                }
                tally.add_fate(fate);
                fates.push(fate);
            }
            counter.as_mut().map_or(Ok(()), |counter| counter.add(batch, &answers, &urls, Some(&fates)))?;
            let rows = fates.len();
            let fates = UInt8Array::from_iter_values(fates.into_iter().map(|fate| fate.0));
            cutter.add(&[Arc::new(fates) as ArrayRef], rows, &mut use_group)
        })?;
        cutter.finish(&mut use_group)?;
        Ok((groups, tally, counter.map(PieceCounter::finish)))
    }
}

impl Parting {
    fn part(&self, row_group: usize, fates: &[Fate]) -> Result<Parted, DatasetError> {
        let is_kept: Vec<bool> = fates.iter().map(|fate| *fate == Fate::KEPT).collect();
        let rows_kept = is_kept.iter().filter(|is_kept| **is_kept).count() as u64;
        let rows_excluded = is_kept.len() as u64 - rows_kept;
        let is_parted = rows_kept > 0 && rows_excluded > 0;
        let columns = is_parted.then(|| self.columns(row_group, &is_kept)).transpose()?;
        let reasons = if rows_excluded > 0 && self.wants_excluded { self.reasons(fates)? } else { Vec::new() };
        Ok(Parted { row_group, rows_kept, rows_excluded, columns, reasons })
    }

    fn columns(&self, row_group: usize, is_kept: &[bool]) -> Result<(Vec<Chunk>, Vec<Chunk>), DatasetError> {
        let (mut kept, mut excluded) = (Vec::new(), Vec::new());
        for leaf in 0..self.input.schema().num_columns() {
            let parted = rewrite::part(&self.input, row_group, leaf, is_kept, self.wants_excluded);
            let (chunk, others) = parted.map_err(|source| self.input.parquet_error(source))?;
            kept.push(chunk);
            excluded.extend(others);
        }
        Ok((kept, excluded))
    }

    /// Why the excluded rows are.
    fn reasons(&self, fates: &[Fate]) -> Result<Vec<ArrowColumnChunk>, DatasetError> {
        let mut reasons = Words::of(REASONS);
        fates.iter().filter(|fate| **fate != Fate::KEPT).for_each(|fate| reasons.push(Some(usize::from(fate.0))));
        self.reasons.encode(&[vec![reasons.finish()]]).map_err(|source| self.input.parquet_error(source))
    }
}
