//! What a training set loses: rows, octets of text and weight, in total, for each crawler, registered domain and value of
//! a column.
//!
//! A row is lost for a crawler where its decision is `deny`; it is excluded where `filter` does not keep it. Rows are
//! counted in the order of the file, pieces are added up in that order too: sums of floats are the same with any number
//! of threads. What a piece counts is bounded by its rows, what a run counts by [`DOMAINS`] and [`VALUES`].

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::RandomState;
use arrow::array::{Array, AsArray, BinaryViewArray, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Fields, Float64Type, Int64Type, UInt64Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::SchemaDescriptor;
use rayon::ThreadPool;

use super::DatasetError;
use super::annotate::{Annotator, Sources};
use super::answers::{Answers, begins_with_origin};
use super::columns::ColumnPath;
use super::keep::{Fate, REASONS, Rules};
use super::parquet_file::Input;
use crate::audit::pipeline::ordered;
use crate::origin::Origin;
use crate::robots::decision::Decision;
use crate::source::contained;
use crate::tables::text::of_octets;

/// Registered domains that are told apart; rows of later ones are counted together.
pub const DOMAINS: usize = 1 << 18;

/// Values of the column of `by` that are told apart; rows of later ones are counted together.
pub const VALUES: usize = 10_000;

/// Octets of the longest such value; rows of longer ones are counted together.
pub const VALUE_OCTETS: usize = 256;

/// The column of the text, where none is named.
pub const TEXT_COLUMN: &str = "text";

/// Values of the text column that are decoded at once: they point into their page.
const TEXTS: usize = 1024;

/// What is asked about losses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The column whose octets are counted; where none is named [`TEXT_COLUMN`], as far as a file has it.
    pub text_column: Option<String>,
    /// The column whose numbers are added up.
    pub weight_column: Option<String>,
    /// The column for each of whose values is counted.
    pub by: Option<String>,
    /// How many registered domains are told.
    pub top: usize,
}

/// Where the columns stand in one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsColumns {
    text: Option<ColumnPath>,
    weight: Option<ColumnPath>,
    by: Option<ColumnPath>,
}

impl Asked {
    /// Finds the columns.
    ///
    /// # Errors
    /// A column that is missing or holds something else.
    pub fn columns(&self, fields: &Fields) -> Result<StatsColumns, DatasetError> {
        let text = match &self.text_column {
            Some(column) => Some(ColumnPath::find_text(fields, column)?),
            None => ColumnPath::find_text(fields, TEXT_COLUMN).ok(),
        };
        if let Some(path) = text.as_ref().filter(|path| path.is_in_json()) {
            return Err(path.wrong_type(path.found(), "text of its own"));
        }
        let find = |column: &Option<String>, fits: fn(&ColumnPath) -> bool, wanted| {
            let path = column.as_ref().map(|column| ColumnPath::find(fields, column)).transpose()?;
            match path {
                Some(path) if !fits(&path) => Err(path.wrong_type(path.found(), wanted)),
                path => Ok(path),
            }
        };
        let is_number = |path: &ColumnPath| path.found().is_integer() || path.found().is_floating();
        let weight = find(&self.weight_column, is_number, "an integer or a float")?;
        let by = find(&self.by, |path| path.found().is_integer() || path.is_text(), "text or an integer")?;
        Ok(StatsColumns { text, weight, by })
    }
}

impl StatsColumns {
    /// The leaves of a Parquet schema that are read with the URLs; the text is not among them.
    #[must_use]
    pub fn leaves(&self, schema: &SchemaDescriptor) -> Vec<usize> {
        [&self.weight, &self.by].into_iter().flatten().flat_map(|path| path.leaves(schema)).collect()
    }
}

/// Rows, with their octets and weight.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Octets of their texts.
    pub octets: u64,
    /// The sum of their weights, as far as these are integers.
    pub integer_weight: i128,
    /// The sum of the others.
    pub float_weight: f64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.octets = self.octets.saturating_add(other.octets);
        self.integer_weight = self.integer_weight.saturating_add(other.integer_weight);
        self.float_weight += other.float_weight;
    }
}

/// All rows.
pub(super) const ALL: usize = 0;
/// Those that are excluded.
pub(super) const EXCLUDED: usize = 1;
/// Those that are lost for the first crawler; those for the others follow.
pub(super) const CRAWLERS: usize = 2;

/// Counts by name: for each name a lane for all rows, one for the excluded, and one for each crawler.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    lanes: usize,
    limit: usize,
    places: HashMap<Arc<str>, usize, RandomState>,
    /// In the order in which they came.
    names: Vec<Arc<str>>,
    /// Those of rows without a name, of rows of names that are not told apart, then of the names.
    counts: Vec<Counts>,
}

/// Rows without a name.
pub(super) const NAMELESS: usize = 0;
/// Rows of names that are not told apart.
pub(super) const OTHER: usize = 1;
const NAMED: usize = 2;

impl Groups {
    fn new(lanes: usize, limit: usize) -> Self {
        let counts = vec![Counts::default(); NAMED * lanes];
        Self { lanes, limit, places: HashMap::default(), names: Vec::new(), counts }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        if self.names.len() >= self.limit {
            return OTHER;
        }
        let (name, place) = (Arc::<str>::from(name), NAMED + self.names.len());
        self.places.insert(Arc::clone(&name), place);
        self.names.push(name);
        self.counts.resize(self.counts.len() + self.lanes, Counts::default());
        place
    }

    fn add(&mut self, place: usize, lanes: &[usize], counts: &Counts) {
        for lane in lanes {
            self.counts[place * self.lanes + lane].add(counts);
        }
    }

    /// A name keeps its place once it has one, so its counts are whole.
    fn merge(&mut self, other: &Self) {
        let places = [NAMELESS, OTHER].into_iter().map(|place| (place, place));
        let places: Vec<(usize, usize)> =
            places.chain(other.names.iter().enumerate().map(|(n, name)| (self.place(name), NAMED + n))).collect();
        for (to, from) in places {
            let (to, from) = (to * self.lanes, from * other.lanes);
            for lane in 0..self.lanes {
                self.counts[to + lane].add(&other.counts[from + lane]);
            }
        }
    }

    /// The counts of a place, lane by lane.
    pub(super) fn counts(&self, place: usize) -> &[Counts] {
        &self.counts[place * self.lanes..(place + 1) * self.lanes]
    }

    /// The names with their places.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.names.iter().enumerate().map(|(n, name)| (&**name, NAMED + n))
    }

    /// How many names are told apart at most.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }
}

/// What was counted.
#[derive(Debug, Clone)]
pub struct Stats {
    /// All rows, the excluded ones, those lost for each crawler.
    pub(super) total: Vec<Counts>,
    /// By what became of them, in the order of [`REASONS`].
    pub(super) reasons: [Counts; REASONS.len()],
    pub(super) domains: Groups,
    pub(super) values: Groups,
    /// Whether a file had the text column.
    pub(super) has_text: bool,
    /// Whether a file had weights that are floats.
    pub(super) has_floats: bool,
    /// Rows whose weight is null or no finite number.
    pub(super) rows_without_weight: u64,
}

impl Stats {
    /// Nothing counted yet, with bounds for what is told apart.
    fn new(crawlers: usize, domains: usize, values: usize) -> Self {
        let lanes = CRAWLERS + crawlers;
        Self {
            total: vec![Counts::default(); lanes],
            reasons: [Counts::default(); REASONS.len()],
            domains: Groups::new(lanes, domains),
            values: Groups::new(lanes, values),
            has_text: false,
            has_floats: false,
            rows_without_weight: 0,
        }
    }

    /// All rows.
    #[must_use]
    pub fn all(&self) -> &Counts {
        &self.total[ALL]
    }

    fn merge(&mut self, other: &Self) {
        self.total.iter_mut().zip(&other.total).for_each(|(counts, other)| counts.add(other));
        self.reasons.iter_mut().zip(&other.reasons).for_each(|(counts, other)| counts.add(other));
        self.domains.merge(&other.domains);
        self.values.merge(&other.values);
        self.has_text |= other.has_text;
        self.has_floats |= other.has_floats;
        self.rows_without_weight += other.rows_without_weight;
    }
}

/// What a run counts, file after file.
#[derive(Debug)]
pub struct Collector {
    asked: Asked,
    stats: Mutex<Stats>,
}

impl Collector {
    /// One for a plan of so many crawlers.
    #[must_use]
    pub fn new(asked: Asked, crawlers: usize) -> Self {
        Self { asked, stats: Mutex::new(Stats::new(crawlers, DOMAINS, VALUES)) }
    }

    /// What is asked.
    #[must_use]
    pub const fn asked(&self) -> &Asked {
        &self.asked
    }

    /// What was counted.
    pub fn stats(&self) -> MutexGuard<'_, Stats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a piece counted; pieces have to come in their order.
    pub(super) fn add(&self, counted: Option<&Stats>) {
        if let Some(counted) = counted {
            self.stats().merge(counted);
        }
    }
}

/// Counts the rows of neighbouring row groups.
pub(super) struct Counter {
    columns: StatsColumns,
    texts: Option<Texts>,
    stats: Stats,
    crawlers: usize,
}

impl Counter {
    /// A counter, where something is asked.
    pub(super) fn begin(annotator: &Annotator, sources: &Sources, input: &Input, piece: Range<usize>) -> Option<Self> {
        let columns = sources.stats.clone()?;
        let leaf = columns.text.as_ref().and_then(|path| path.leaves(input.schema()).first().copied());
        let texts = leaf.map(|leaf| Texts::new(input, leaf, piece));
        let crawlers = annotator.snapshots().plan().crawlers.len();
        // A piece has no more names than rows; a bound here would cut off what the run still tells apart.
        Some(Self { columns, texts, stats: Stats::new(crawlers, usize::MAX, usize::MAX), crawlers })
    }

    /// Counts the rows of a batch; `fates` where rows are filtered.
    pub(super) fn add(
        &mut self,
        batch: &RecordBatch,
        answers: &Answers,
        urls: &BinaryViewArray,
        fates: Option<&[Fate]>,
    ) -> Result<(), DatasetError> {
        let weights = self.columns.weight.as_ref().map(|path| Weights::of(path, batch)).transpose()?;
        let values = self.columns.by.as_ref().map(|path| by_values(path, batch)).transpose()?;
        let octets = self.texts.as_mut().map(|texts| texts.next(answers.len())).transpose()?;
        self.stats.has_text |= octets.is_some();
        self.stats.has_floats |= matches!(weights, Some(Weights::Floats(_)));
        let mut lanes = Vec::with_capacity(CRAWLERS + self.crawlers);
        let mut last = None;
        for row in 0..answers.len() {
            let mut counts = Counts { rows: 1, ..Counts::default() };
            counts.octets = octets.as_ref().map_or(0, |octets| octets[row]);
            if weights.as_ref().is_some_and(|weights| !weights.put(row, &mut counts)) {
                self.stats.rows_without_weight += 1;
            }
            lanes.clear();
            lanes.push(ALL);
            if let Some(fate) = fates.map(|fates| fates[row]) {
                self.stats.reasons[usize::from(fate.0)].add(&counts);
                lanes.extend((fate != Fate::KEPT).then_some(EXCLUDED));
            }
            let is_lost = |crawler: &usize| answers.decision(row, *crawler) == Some(Decision::Deny);
            lanes.extend((0..self.crawlers).filter(is_lost).map(|crawler| CRAWLERS + crawler));
            for lane in &lanes {
                self.stats.total[*lane].add(&counts);
            }
            let place = domain(&mut self.stats.domains, urls, row, &mut last);
            self.stats.domains.add(place, &lanes, &counts);
            if let Some(values) = &values {
                let place = value_place(&mut self.stats.values, values, row);
                self.stats.values.add(place, &lanes, &counts);
            }
        }
        Ok(())
    }

    /// What was counted.
    pub(super) fn finish(self) -> Stats {
        self.stats
    }
}

/// The place of the registered domain of a row's URL. The last one is known: the next row often is of the same origin.
fn domain(domains: &mut Groups, urls: &BinaryViewArray, row: usize, last: &mut Option<(Origin, usize)>) -> usize {
    if urls.is_null(row) {
        return NAMELESS;
    }
    let url = urls.value(row);
    if let Some((origin, place)) = last
        && begins_with_origin(url, origin.as_str())
    {
        return *place;
    }
    let Ok(origin) = Origin::of_url(url) else { return NAMELESS };
    let place = origin.registered_domain().map_or(NAMELESS, |domain| domains.place(domain));
    *last = Some((origin, place));
    place
}

fn value_place(groups: &mut Groups, values: &BinaryViewArray, row: usize) -> usize {
    if values.is_null(row) {
        return NAMELESS;
    }
    let value = values.value(row);
    if value.len() > VALUE_OCTETS { OTHER } else { groups.place(&of_octets(value)) }
}

/// The values of a column as text.
fn by_values(path: &ColumnPath, batch: &RecordBatch) -> Result<BinaryViewArray, DatasetError> {
    if path.is_text() {
        return path.texts(batch);
    }
    let texts = cast(&path.values(batch)?, &DataType::Utf8View)?;
    Ok(texts.as_string_view().clone().to_binary_view())
}

enum Weights {
    Signed(Int64Array),
    Unsigned(UInt64Array),
    Floats(Float64Array),
}

impl Weights {
    fn of(path: &ColumnPath, batch: &RecordBatch) -> Result<Self, DatasetError> {
        let values = path.values(batch)?;
        Ok(match values.data_type() {
            DataType::UInt64 => Self::Unsigned(values.as_primitive::<UInt64Type>().clone()),
            other if other.is_integer() => {
                Self::Signed(cast(&values, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            other if other.is_floating() => {
                Self::Floats(cast(&values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            other => return Err(path.wrong_type(other, "an integer or a float")),
        })
    }

    /// Puts down the weight of a row; whether it has one.
    fn put(&self, row: usize, counts: &mut Counts) -> bool {
        match self {
            Self::Signed(values) if values.is_valid(row) => counts.integer_weight = values.value(row).into(),
            Self::Unsigned(values) if values.is_valid(row) => counts.integer_weight = values.value(row).into(),
            Self::Floats(values) if values.is_valid(row) && values.value(row).is_finite() => {
                counts.float_weight = values.value(row);
            }
            _ => return false,
        }
        true
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
pub(super) fn read(
    annotator: &Annotator,
    rules: Option<&Rules>,
    input: &Input,
    pool: &Arc<ThreadPool>,
) -> Result<u64, DatasetError> {
    let sources = annotator.sources(input.fields())?;
    let leaves = sources.leaves(input.schema());
    let (judge, rules, file) = (annotator.clone(), rules.cloned(), input.clone());
    let count = move |piece: Range<usize>| {
        let mut counter = Counter::begin(&judge, &sources, &file, piece.clone());
        file.batches(piece, leaves.clone(), |batch, rows_before| {
            let (answers, urls) = judge.answers(batch, &sources, rows_before)?;
            let fate = |rules: &Rules| (0..answers.len()).map(|row| rules.fate(&answers, row)).collect::<Vec<_>>();
            let fates = rules.as_ref().map(fate);
            counter.as_mut().map_or(Ok(()), |counter| counter.add(batch, &answers, &urls, fates.as_deref()))
        })?;
        Ok::<_, DatasetError>(counter.map(Counter::finish))
    };
    let mut rows = 0;
    for counted in ordered(pool, input.pieces().into_iter(), count) {
        let counted = counted??;
        rows += counted.as_ref().map_or(0, |counted| counted.all().rows);
        annotator.collect(counted.as_ref());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_bound_are_counted_together_and_the_others_are_whole() {
        let one = Counts { rows: 1, octets: 3, integer_weight: -2, float_weight: 0.5 };
        let mut run = Groups::new(CRAWLERS, 2);
        for names in [["a", "b", "a"], ["c", "a", "b"], ["d", "c", "b"]] {
            let mut piece = Groups::new(CRAWLERS, usize::MAX);
            for name in names {
                let place = piece.place(name);
                piece.add(place, &[ALL], &one);
            }
            piece.add(NAMELESS, &[ALL, EXCLUDED], &one);
            run.merge(&piece);
        }
        let rows = |place: usize, lane: usize| run.counts(place)[lane].rows;
        let named: Vec<_> = run.names().map(|(name, place)| (name, rows(place, ALL))).collect();
        assert_eq!(named, [("a", 3), ("b", 3)]);
        assert_eq!((rows(OTHER, ALL), rows(NAMELESS, ALL), rows(NAMELESS, EXCLUDED)), (3, 3, 3));
        let other = run.counts(OTHER)[ALL];
        assert_eq!((other.octets, other.integer_weight), (9, -6));
    }
}
