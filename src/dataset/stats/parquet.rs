//! Counting the rows of Parquet files: the lengths of their texts page by page, and files whose outputs are there already.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BinaryViewArray, RecordBatch};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::serialized_reader::SerializedPageReader;
use rayon::ThreadPool;

use super::{Counter, Stats, StatsColumns};
use crate::audit::pipeline::ordered;
use crate::dataset::DatasetError;
use crate::dataset::annotate::{Annotator, Sources};
use crate::dataset::answers::Answers;
use crate::dataset::keep::{Fate, Rules};
use crate::dataset::parquet_file::Input;
use crate::source::contained;

/// Values of the text column that are decoded at once: they point into their page.
const TEXTS: usize = 1024;

/// Counts the rows of neighbouring row groups.
pub(in crate::dataset) struct PieceCounter {
    counter: Counter,
    texts: Option<Texts>,
}

impl PieceCounter {
    /// A counter, where something is asked.
    pub(in crate::dataset) fn begin(
        annotator: &Annotator,
        sources: &Sources,
        input: &Input,
        piece: Range<usize>,
    ) -> Option<Self> {
        let counter = Counter::begin(annotator, sources)?;
        let path = sources.stats.as_ref().and_then(StatsColumns::text);
        let leaf = path.and_then(|path| path.leaves(input.schema()).first().copied());
        Some(Self { counter, texts: leaf.map(|leaf| Texts::new(input, leaf, piece)) })
    }

    /// Counts the rows of a batch; `fates` where rows are filtered.
    pub(in crate::dataset) fn add(
        &mut self,
        batch: &RecordBatch,
        answers: &Answers,
        urls: &BinaryViewArray,
        fates: Option<&[Fate]>,
    ) -> Result<(), DatasetError> {
        let octets = self.texts.as_mut().map(|texts| texts.next(answers.len())).transpose()?;
        self.counter.add(batch, octets.as_deref(), answers, urls, fates)
    }

    /// What was counted.
    pub(in crate::dataset) fn finish(self) -> Stats {
        self.counter.finish()
    }
}

/// The lengths of the texts of neighbouring row groups. Values point into their page and are not copied: of a column that
/// may be most of the file, one page is in memory.
struct Texts {
    input: Input,
    leaf: usize,
    row_groups: Range<usize>,
    reader: Option<ColumnReaderImpl<ByteArrayType>>,
    /// Rows of the row group at hand that are to come.
    left: usize,
}

impl Texts {
    fn new(input: &Input, leaf: usize, row_groups: Range<usize>) -> Self {
        Self { input: input.clone(), leaf, row_groups, reader: None, left: 0 }
    }

    /// The octets of the next texts, 0 where there is none.
    fn next(&mut self, rows: usize) -> Result<Vec<u64>, DatasetError> {
        let read = contained(|| self.read(rows)).and_then(|read| read);
        read.map_err(|source| self.input.parquet_error(source))
    }

    fn read(&mut self, rows: usize) -> Result<Vec<u64>, ParquetError> {
        let damaged = || ParquetError::General("the file is damaged: texts are missing".to_owned());
        let full = self.input.schema().column(self.leaf).max_def_level();
        let (mut octets, mut values, mut levels) = (Vec::with_capacity(rows), Vec::<ByteArray>::new(), Vec::new());
        while octets.len() < rows {
            if self.left == 0 {
                self.open().ok_or_else(damaged)??;
                continue;
            }
            let reader = self.reader.as_mut().ok_or_else(damaged)?;
            values.clear();
            levels.clear();
            let wanted = self.left.min(rows - octets.len()).min(TEXTS);
            let (records, ..) = reader.read_records(wanted, (full > 0).then_some(&mut levels), None, &mut values)?;
            if records == 0 || records > wanted {
                return Err(damaged());
            }
            let mut lengths = values.iter().map(|value| value.len() as u64);
            for record in 0..records {
                let has_text = full == 0 || levels.get(record) == Some(&full);
                octets.push(if has_text { lengths.next().ok_or_else(damaged)? } else { 0 });
            }
            self.left -= records;
        }
        Ok(octets)
    }

    /// Opens the next row group; `None` where there is none.
    fn open(&mut self) -> Option<Result<(), ParquetError>> {
        let row_group = self.row_groups.next()?;
        self.left = usize::try_from(self.input.rows_of(row_group)).unwrap_or(usize::MAX);
        Some(self.reader(row_group).map(|reader| self.reader = Some(reader)))
    }

    fn reader(&self, row_group: usize) -> Result<ColumnReaderImpl<ByteArrayType>, ParquetError> {
        let chunk = self.input.metadata().row_group(row_group).column(self.leaf);
        let pages = SerializedPageReader::new(Arc::new(self.input.octets().clone()), chunk, self.left, None)?;
        match get_column_reader(self.input.schema().column(self.leaf), Box::new(pages)) {
            ColumnReader::ByteArrayColumnReader(reader) => Ok(reader),
            _ => Err(ParquetError::General("the column of the text holds no octets".to_owned())),
        }
    }
}

/// Counts the rows of a file of which the outputs are there already.
pub(in crate::dataset) fn read(
    annotator: &Annotator,
    rules: Option<&Rules>,
    input: &Input,
    pool: &Arc<ThreadPool>,
) -> Result<u64, DatasetError> {
    let sources = annotator.sources(input.fields())?;
    let leaves = sources.leaves(input.schema());
    let (judge, rules, file) = (annotator.clone(), rules.cloned(), input.clone());
    let count = move |piece: Range<usize>| {
        let mut counter = PieceCounter::begin(&judge, &sources, &file, piece.clone());
        file.batches(piece, leaves.clone(), |batch, rows_before| {
            let (answers, urls) = judge.answers(batch, &sources, rows_before)?;
            let fate = |rules: &Rules| (0..answers.len()).map(|row| rules.fate(&answers, row)).collect::<Vec<_>>();
            let fates = rules.as_ref().map(fate);
            counter.as_mut().map_or(Ok(()), |counter| counter.add(batch, &answers, &urls, fates.as_deref()))
        })?;
        Ok::<_, DatasetError>(counter.map(PieceCounter::finish))
    };
    let mut rows = 0;
    for counted in ordered(pool, input.pieces().into_iter(), count) {
        let counted = counted??;
        rows += counted.as_ref().map_or(0, |counted| counted.all().rows);
        annotator.collect(counted.as_ref());
    }
    Ok(rows)
}
