//! A batch of rows to the same rows with columns more. Pure: the same batch, snapshots and settings give the same
//! columns, in a file, in a stream, in any process.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::answers::{Answers, Whens};
use super::columns::{ColumnPath, check_free};
use super::snapshots::{CaptureId, Snapshots, When};
use super::stats::{Asked, Collector, Stats, StatsColumns, Typing};
use super::tally::Tally;
use super::{DatasetError, time};
use crate::robots::access::FetchClass;
use crate::robots::decision::{Decision, DecisionSource};
use crate::signals::training::Preference;
use crate::tables::column::{Words, text, timestamp, timestamps, value, words};
use crate::tables::fetches::Timestamp;

/// What added columns begin with, where nothing else is asked for.
pub const PREFIX: &str = "robots_";

/// The column that URLs are read from, where none is named.
pub const URL_COLUMN: &str = "url";

/// How the `*` crawler is called in the name of a column.
const STAR: &str = "star";

/// Which capture of its origin a row is judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AsOf {
    /// The newest.
    Newest,
    /// The newest at or before this time.
    Time(Timestamp),
    /// The newest at or before the time in this column.
    Column(String),
}

impl AsOf {
    /// Reads a time, or else the name of a column.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        time::of_text(text).map_or_else(|| Self::Column(text.to_owned()), Self::Time)
    }
}

/// What is told about each row, and where its URL and time stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What the names of added columns begin with.
    pub prefix: String,
    /// The column of the URLs.
    pub url_column: String,
    /// Which capture counts.
    pub as_of: AsOf,
    /// Whether the training preference is told.
    pub training: bool,
    /// Whether rule, line and source of each decision are told.
    pub rules: bool,
    /// Whether a row without a usable URL stops the work.
    pub fails_on_bad_url: bool,
}

/// Annotates batches.
#[derive(Debug, Clone)]
pub struct Annotator {
    snapshots: Arc<Snapshots>,
    settings: Settings,
    collector: Option<Arc<Collector>>,
}

/// Where an annotator finds what it reads, in one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The URLs.
    pub urls: ColumnPath,
    /// The times.
    pub times: Option<ColumnPath>,
    /// What losses are counted by, where they are.
    pub stats: Option<StatsColumns>,
}

impl Sources {
    /// Where the values stand that are read, the lengths of texts aside.
    pub(super) fn columns(&self) -> impl Iterator<Item = &ColumnPath> {
        let columns = [Some(&self.urls), self.times.as_ref()].into_iter().flatten();
        columns.chain(self.stats.iter().flat_map(StatsColumns::values))
    }
}

/// Rows without a usable URL, as an error tells them.
const NULL_URL: &str = "it is null";
const INVALID_URL: &str = "it names no http(s) origin";

impl Annotator {
    /// An annotator over opened snapshots. Rules can be told only where the snapshots were opened for that.
    #[must_use]
    pub fn new(snapshots: Arc<Snapshots>, settings: Settings) -> Self {
        let rules = settings.rules && snapshots.shows_rules();
        Self { snapshots, settings: Settings { rules, ..settings }, collector: None }
    }

    /// The same, where what is lost in files is counted.
    #[must_use]
    pub fn with_stats(self, collector: Option<Arc<Collector>>) -> Self {
        Self { collector, ..self }
    }

    /// What is asked about losses, where they are counted.
    pub(super) fn stats_asked(&self) -> Option<&Asked> {
        self.collector.as_ref().map(|collector| collector.asked())
    }

    /// Takes what a piece of a file counted.
    pub(super) fn collect(&self, counted: Option<&Stats>) {
        if let Some(collector) = &self.collector {
            collector.add(counted);
        }
    }

    /// The snapshots.
    #[must_use]
    pub const fn snapshots(&self) -> &Arc<Snapshots> {
        &self.snapshots
    }

    /// What is told.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The columns that are added, in order.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let prefix = &self.settings.prefix;
        let named = |name: &str| format!("{prefix}{name}");
        let crawlers = &self.snapshots.plan().crawlers;
        let token = |crawler: usize| if crawlers[crawler].token == "*" { STAR } else { &crawlers[crawler].token };
        let mut fields: Vec<Field> =
            (0..crawlers.len()).map(|crawler| words(&named(&format!("{}_decision", token(crawler))))).collect();
        if self.settings.rules {
            for crawler in 0..crawlers.len() {
                // With one crawler there is no doubt whose rule it is.
                let of_crawler = if crawlers.len() == 1 { String::new() } else { format!("{}_", token(crawler)) };
                fields.push(text(&named(&format!("{of_crawler}rule"))));
                fields.push(value(&named(&format!("{of_crawler}rule_line")), DataType::Int32));
                fields.push(words(&named(&format!("{of_crawler}decision_source"))));
            }
        }
        if self.settings.training {
            fields.push(words(&named("training_verdict")));
        }
        fields.push(words(&named("fetch_class")));
        fields.push(timestamp(&named("checked_at")));
        fields
    }

    /// Finds the columns that are read.
    ///
    /// # Errors
    /// A column that is missing or holds something else.
    pub fn sources(&self, fields: &Fields) -> Result<Sources, DatasetError> {
        self.sources_in(fields, Typing::Typed)
    }

    /// The same, where columns say more or less of their values.
    pub(super) fn sources_in(&self, fields: &Fields, typing: Typing) -> Result<Sources, DatasetError> {
        let urls = ColumnPath::find_text(fields, &self.settings.url_column)?;
        let times = match &self.settings.as_of {
            AsOf::Column(column) => Some(ColumnPath::find_time(fields, column)?),
            AsOf::Newest | AsOf::Time(_) => None,
        };
        let stats = self.stats_asked().map(|asked| asked.columns(fields, typing)).transpose()?;
        Ok(Sources { urls, times, stats })
    }

    /// Whether the names of the added columns are free.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check_names<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), DatasetError> {
        check_free(names, &self.fields())
    }

    /// The schema of annotated batches.
    ///
    /// # Errors
    /// A name that is taken.
    pub fn schema(&self, schema: &Schema) -> Result<SchemaRef, DatasetError> {
        self.check_names(schema.fields().iter().map(|field| field.name().as_str()))?;
        let added = self.fields().into_iter().map(Arc::new);
        let fields: Vec<_> = schema.fields().iter().cloned().chain(added).collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
    }

    /// A batch with the columns added.
    ///
    /// # Errors
    /// A column that is missing or of another type, a name that is taken, a row without a usable URL where that was not
    /// to be borne (rows count from 1 within the batch).
    pub fn annotate(&self, batch: &RecordBatch) -> Result<RecordBatch, DatasetError> {
        let sources = self.sources(batch.schema_ref().fields())?;
        let schema = self.schema(batch.schema_ref())?;
        let (answers, _) = self.answers(batch, &sources, 0)?;
        let mut columns = batch.columns().to_vec();
        columns.extend(self.columns(&answers));
        Ok(RecordBatch::try_new(schema, columns)?)
    }

    /// The answers about the rows of a batch, before which so many rows stand; and the URLs.
    ///
    /// # Errors
    /// As of [`annotate`](Self::annotate).
    pub fn answers(
        &self,
        batch: &RecordBatch,
        sources: &Sources,
        rows_before: u64,
    ) -> Result<(Answers, BinaryViewArray), DatasetError> {
        let urls = sources.urls.texts(batch)?;
        let answers = match (&self.settings.as_of, &sources.times) {
            (AsOf::Newest, _) => Answers::about(&self.snapshots, &urls, Whens::All(When::Newest)),
            (AsOf::Time(time), _) => Answers::about(&self.snapshots, &urls, Whens::All(When::At(*time))),
            (AsOf::Column(_), Some(path)) => {
                let times = path.values(batch)?;
                let whens = time::of_column(&times);
                let whens = whens.map_err(|_| path.wrong_type(times.data_type(), "text or time"))?;
                Answers::about(&self.snapshots, &urls, Whens::Each(&whens))
            }
            (AsOf::Column(_), None) => Answers::about(&self.snapshots, &urls, Whens::All(When::Unknown)),
        }?;
        if self.settings.fails_on_bad_url {
            check_urls(&answers, rows_before)?;
        }
        Ok((answers, urls))
    }

    /// The added columns.
    #[must_use]
    pub fn columns(&self, answers: &Answers) -> Vec<ArrayRef> {
        let rows = answers.len();
        let crawlers = self.snapshots.plan().crawlers.len();
        let mut columns = Vec::new();
        for crawler in 0..crawlers {
            let decision = |row| answers.decision(row, crawler).map(|decision| decision as usize);
            columns.push(closed(Decision::ALL.iter().map(|word| word.as_str()), (0..rows).map(decision)));
        }
        if self.settings.rules {
            for crawler in 0..crawlers {
                let rule = |row| answers.rule(row, crawler);
                columns.push(Arc::new((0..rows).map(|row| rule(row).map(|(text, _)| text)).collect::<StringArray>()));
                let line = |row| rule(row).map(|(_, line)| line.cast_signed());
                columns.push(Arc::new((0..rows).map(line).collect::<Int32Array>()));
                let source = |row| answers.source(row, crawler).map(|source| source as usize);
                columns.push(closed(DecisionSource::ALL.iter().map(|word| word.as_str()), (0..rows).map(source)));
            }
        }
        if self.settings.training {
            let verdict = |row| answers.training(row).map(|verdict| verdict as usize);
            columns.push(closed(Preference::ALL.iter().map(|word| word.as_str()), (0..rows).map(verdict)));
        }
        let class = |row| answers.class(row).map(|class| class as usize);
        columns.push(closed(FetchClass::ALL.iter().map(|word| word.as_str()), (0..rows).map(class)));
        let mut checked_at = timestamps();
        (0..rows).for_each(|row| checked_at.append_option(answers.checked_at(row)));
        columns.push(Arc::new(checked_at.finish()));
        columns
    }

    /// Counts what the answers say.
    pub fn count(&self, answers: &Answers, tally: &mut Tally) {
        tally.add(answers, self.snapshots.plan().crawlers.len());
    }
}

/// A column of a closed set of words.
fn closed(set: impl Iterator<Item = &'static str>, places: impl Iterator<Item = Option<usize>>) -> ArrayRef {
    let mut column = Words::of(set);
    places.for_each(|place| column.push(place));
    column.finish()
}

fn check_urls(answers: &Answers, rows_before: u64) -> Result<(), DatasetError> {
    for row in 0..answers.len() {
        let why = match answers.capture(row) {
            CaptureId::NONE => NULL_URL,
            CaptureId::INVALID => INVALID_URL,
            _ => continue,
        };
        return Err(DatasetError::BadUrl { row: rows_before + row as u64 + 1, why });
    }
    Ok(())
}
