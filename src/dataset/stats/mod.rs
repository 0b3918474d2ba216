//! What a training set loses: rows, octets of text and weight, in total, for each crawler, registered domain and value of
//! a column.
//!
//! A row is lost for a crawler where its decision is `deny`; it is excluded where `filter` does not keep it. Rows are
//! counted in the order of the file, pieces are added up in that order too: sums of floats are the same with any number
//! of threads. What a piece counts is bounded by its rows, what a run counts by [`DOMAINS`] and [`VALUES`].
//!
//! | module | holds |
//! |---|---|
//! | `groups` | counts, and counts by name |
//! | `counter` | rows to counts |
//! | `weights` | what a row weighs |
//! | `parquet` | the rows of Parquet files: lengths of texts page by page, and files that are there already |

mod counter;
mod groups;
mod parquet;
mod weights;

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::parquet::schema::types::SchemaDescriptor;
use arrow::array::RecordBatch;
use arrow::datatypes::Fields;

use super::DatasetError;
use super::columns::{ColumnPath, lengths};
use super::keep::REASONS;
pub(super) use counter::Counter;
pub use groups::Counts;
pub(super) use groups::{ALL, CRAWLERS, EXCLUDED, Groups, NAMELESS, OTHER};
pub(super) use parquet::{PieceCounter, read};

/// Registered domains that are told apart; rows of later ones are counted together.
pub const DOMAINS: usize = 1 << 18;

/// Values of the column of `by` that are told apart; rows of later ones are counted together.
pub const VALUES: usize = 10_000;

/// Octets of the longest such value; rows of longer ones are counted together.
pub const VALUE_OCTETS: usize = 256;

/// The column of the text, where none is named.
pub const TEXT_COLUMN: &str = "text";

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

/// What the columns of a file say of their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// Each has a type.
    Typed,
    /// All hold text, numbers among them.
    Untyped,
}

impl Asked {
    /// The column whose octets are counted.
    #[must_use]
    pub fn text_column(&self) -> &str {
        self.text_column.as_deref().unwrap_or(TEXT_COLUMN)
    }

    /// Finds the columns.
    ///
    /// # Errors
    /// A column that is missing or holds something else.
    pub fn columns(&self, fields: &Fields, typing: Typing) -> Result<StatsColumns, DatasetError> {
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
        let is_number = match typing {
            Typing::Typed => |path: &ColumnPath| path.found().is_integer() || path.found().is_floating(),
            Typing::Untyped => ColumnPath::is_text,
        };
        let weight = find(&self.weight_column, is_number, "an integer or a float")?;
        let by = find(&self.by, |path| path.found().is_integer() || path.is_text(), "text or an integer")?;
        Ok(StatsColumns { text, weight, by })
    }
}

impl StatsColumns {
    /// The columns, that of the text aside.
    pub(super) fn values(&self) -> impl Iterator<Item = &ColumnPath> {
        [&self.weight, &self.by].into_iter().flatten()
    }

    /// The column of the text.
    pub(super) const fn text(&self) -> Option<&ColumnPath> {
        self.text.as_ref()
    }

    /// The octets of the texts of a batch that holds them, 0 where there is none.
    pub(super) fn text_octets(&self, batch: &RecordBatch) -> Result<Option<Vec<u64>>, DatasetError> {
        self.text.as_ref().map(|path| path.texts(batch).map(|texts| lengths(&texts))).transpose()
    }

    /// The leaves of a Parquet schema that are read with the URLs; the text is not among them.
    #[must_use]
    pub fn leaves(&self, schema: &SchemaDescriptor) -> Vec<usize> {
        self.values().flat_map(|path| path.leaves(schema)).collect()
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
