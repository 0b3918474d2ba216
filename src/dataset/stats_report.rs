//! What a training set loses, as JSON. `docs/datasets.md` describes it.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::DatasetError;
use super::annotate::Annotator;
use super::keep::REASONS;
use super::parquet_file::check_balance;
use super::stats::{ALL, Asked, CRAWLERS, Collector, Counts, EXCLUDED, Groups, NAMELESS, OTHER, Stats};
use crate::tables::sink::{make_folder, write_text};

/// How rows of names that are not told apart are called.
const OTHER_NAME: &str = "(other)";

/// A file that was counted.
#[derive(Debug, Clone)]
pub struct CountedFile {
    /// The input.
    pub path: PathBuf,
    /// Whether its outputs were there before, so that it was read for the counts alone.
    pub is_finished_before: bool,
}

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct Report<'r> {
    /// The command.
    pub command: &'r str,
    /// Whether rows are excluded.
    pub is_filter: bool,
    /// The files, in their order.
    pub files: &'r [CountedFile],
    /// Rows of the files.
    pub rows: u64,
}

impl Report<'_> {
    /// Writes the report: under a temporary name, renamed when whole.
    ///
    /// # Errors
    /// Where rows were lost or doubled, or the file cannot be written.
    pub fn write(&self, annotator: &Annotator, collector: &Collector, path: &Path) -> Result<(), DatasetError> {
        let (folder, name) = parts(path)?;
        let stats = collector.stats();
        check_balance(self.rows, stats.all().rows)?;
        let tokens = annotator.snapshots().plan().crawlers.iter().map(|crawler| crawler.token.clone()).collect();
        let writing = Writing { is_filter: self.is_filter, asked: collector.asked(), stats: &stats, tokens };
        Ok(write_text(folder, name, format!("{:#}\n", writing.json(self)))?)
    }
}

/// Makes the folder of a report, so that what cannot work is known before work starts.
///
/// # Errors
/// A path that names no file, or one of the data files; a folder that cannot be made.
pub fn prepare(path: &Path, inputs: &[PathBuf]) -> Result<(), DatasetError> {
    let (folder, _) = parts(path)?;
    make_folder(folder)?;
    let same = |input: &PathBuf| path.canonicalize().is_ok_and(|path| input.canonicalize().is_ok_and(|it| it == path));
    let is_data = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
    // An output has the name of its input.
    let is_output = inputs.iter().any(|input| input.file_name() == path.file_name());
    if is_data || is_output || inputs.iter().any(same) {
        return Err(DatasetError::StatsOverData { path: path.to_owned() });
    }
    Ok(())
}

fn parts(path: &Path) -> Result<(&Path, &str), DatasetError> {
    let name = path.file_name().and_then(|name| name.to_str()).filter(|_| !path.is_dir());
    let name = name.ok_or_else(|| DatasetError::NoName { path: path.to_owned() })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")), name))
}

struct Writing<'s> {
    is_filter: bool,
    asked: &'s Asked,
    stats: &'s Stats,
    tokens: Vec<String>,
}

impl Writing<'_> {
    fn json(&self, report: &Report<'_>) -> Value {
        let files = report.files.iter();
        let files: Vec<Value> =
            files.map(|file| json!({ "path": file.path, "finished_before": file.is_finished_before })).collect();
        let mut json = Map::new();
        json.insert("command".to_owned(), json!(report.command));
        json.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
        json.insert("files".to_owned(), json!(files));
        let text_column = self.asked.text_column();
        json.insert("text_column".to_owned(), json!(self.stats.has_text.then_some(text_column)));
        json.insert("weight_column".to_owned(), json!(self.asked.weight_column));
        let without_weight = self.asked.weight_column.as_ref().map(|_| self.stats.rows_without_weight);
        json.insert("rows_without_weight".to_owned(), json!(without_weight));
        self.put_lanes(&self.stats.total, &mut json);
        if self.is_filter {
            let reasons = REASONS.iter().zip(&self.stats.reasons).skip(1).filter(|(_, counts)| counts.rows > 0);
            let reasons: Value = reasons.map(|(reason, counts)| ((*reason).to_owned(), self.counts(counts))).collect();
            json.insert("reasons".to_owned(), reasons);
        }
        json.insert("domains".to_owned(), self.domains());
        json.insert("by".to_owned(), json!(self.asked.by.as_ref().map(|column| self.values(column))));
        Value::Object(json)
    }

    /// The same counts of all rows, of the excluded, and of those lost for each crawler.
    fn put_lanes(&self, lanes: &[Counts], json: &mut Map<String, Value>) {
        json.insert("all".to_owned(), self.counts(&lanes[ALL]));
        if self.is_filter {
            json.insert("excluded".to_owned(), self.counts(&lanes[EXCLUDED]));
        }
        let crawlers = self.tokens.iter().zip(&lanes[CRAWLERS..]);
        let lost: Value = crawlers.map(|(token, counts)| (token.clone(), self.counts(counts))).collect();
        json.insert("lost".to_owned(), lost);
    }

    fn counts(&self, counts: &Counts) -> Value {
        json!({
            "rows": counts.rows,
            "octets": self.stats.has_text.then_some(counts.octets),
            "weight": self.asked.weight_column.as_ref().map(|_| self.weight(counts)),
        })
    }

    fn weight(&self, counts: &Counts) -> Value {
        let integers = counts.integer_weight;
        #[expect(clippy::cast_precision_loss, reason = "a sum with floats, or beyond 64 bits, is a float")]
        let float = || json!(integers as f64 + counts.float_weight);
        if self.stats.has_floats {
            return float();
        }
        let integer = i64::try_from(integers).map(Value::from).or_else(|_| u64::try_from(integers).map(Value::from));
        integer.unwrap_or_else(|_| float())
    }

    /// The registered domains that lose most, for each crawler, and by what is excluded.
    fn domains(&self) -> Value {
        let groups = &self.stats.domains;
        let mut json = Map::new();
        json.insert("told_apart".to_owned(), json!(groups.names().count()));
        json.insert("limit".to_owned(), json!(groups.limit()));
        json.insert("is_complete".to_owned(), json!(groups.counts(OTHER)[ALL].rows == 0));
        if self.is_filter {
            json.insert("excluded".to_owned(), self.top(groups, EXCLUDED));
        }
        let crawlers = self.tokens.iter().zip(CRAWLERS..);
        let lost: Value = crawlers.map(|(token, lane)| (token.clone(), self.top(groups, lane))).collect();
        json.insert("lost".to_owned(), lost);
        Value::Object(json)
    }

    /// The first domains by rows of a lane; those without one and the others come last.
    fn top(&self, groups: &Groups, lane: usize) -> Value {
        let rows = |place: usize| groups.counts(place)[lane].rows;
        let mut names: Vec<(&str, usize)> = groups.names().filter(|(_, place)| rows(*place) > 0).collect();
        names.sort_unstable_by_key(|(name, place)| (Reverse(rows(*place)), *name));
        names.truncate(self.asked.top);
        let first = names.into_iter().map(|(name, place)| (Some(name), place));
        let rest = [(None, NAMELESS), (Some(OTHER_NAME), OTHER)].into_iter().filter(|(_, place)| rows(*place) > 0);
        let told = first.chain(rest).map(|(name, place)| {
            let counts = groups.counts(place);
            json!({ "domain": name, "lost": self.counts(&counts[lane]), "all": self.counts(&counts[ALL]) })
        });
        told.collect()
    }

    /// What is lost for each value of a column, by value.
    fn values(&self, column: &str) -> Value {
        let groups = &self.stats.values;
        let mut names: Vec<(&str, usize)> = groups.names().collect();
        names.sort_unstable();
        let first = names.into_iter().map(|(name, place)| (Some(name), place));
        let rest = [(None, NAMELESS), (Some(OTHER_NAME), OTHER)].into_iter();
        let rest = rest.filter(|(_, place)| groups.counts(*place)[ALL].rows > 0);
        let values = first.chain(rest).map(|(name, place)| {
            let mut value = Map::from_iter([("value".to_owned(), json!(name))]);
            self.put_lanes(groups.counts(place), &mut value);
            Value::Object(value)
        });
        let values: Vec<Value> = values.collect();
        let is_complete = groups.counts(OTHER)[ALL].rows == 0;
        json!({ "column": column, "limit": groups.limit(), "is_complete": is_complete, "values": values })
    }
}
