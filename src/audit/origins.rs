//! What is known of each origin, in a few octets: enough to decide about its URLs.

use std::collections::HashMap;
use std::time::Duration;

use ahash::RandomState;
use arrow::array::{Array, AsArray, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{DataType, Int16Type, Int64Type, TimestampMicrosecondType};
use sha2::{Digest, Sha256};

use super::library::{BodyId, Library};
use crate::robots::access::{FetchClass, Outage, OutageStage};
use crate::source::snapshot::{SnapshotError, of_hex};
use crate::tables::fetches::{BodyHash, Timestamp, outage_lasted};

/// What a URL's decision needs of its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The class of the answer.
    pub class: FetchClass,
    /// The body that was read, or in an outage that of the last good copy.
    pub body: Option<BodyId>,
    /// The outage that the class stands in.
    pub outage: Outage,
    /// When the answer was fetched.
    pub checked_at: Option<Timestamp>,
}

impl Entry {
    /// An origin that the source does not hold.
    pub const NOT_COLLECTED: Self = Self::without_body(FetchClass::NotCollected);
    /// A URL that names no http(s) origin.
    pub const INVALID: Self = Self::without_body(FetchClass::InvalidTarget);

    const fn without_body(class: FetchClass) -> Self {
        Self { class, body: None, outage: Outage::UNKNOWN, checked_at: None }
    }

    /// The body, where one was read: a last good copy is none.
    #[must_use]
    pub fn body_read(&self) -> Option<BodyId> {
        self.body.filter(|_| self.class.has_body())
    }
}

/// A row of `fetches` as far as evaluation needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginRow {
    /// The origin; `None` for lines that name none.
    pub origin: Option<Box<str>>,
    /// Rank that the list gave.
    pub rank: Option<i64>,
    /// What is known.
    pub entry: Entry,
}

/// A row that cannot be used, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFault {
    /// 0-based row of the batch.
    pub row: usize,
    /// The column.
    pub column: &'static str,
}

impl RowFault {
    /// The error, where so many rows stand before the batch.
    #[must_use]
    pub const fn behind(self, rows: usize) -> SnapshotError {
        SnapshotError::Row { row: rows + self.row + 1, column: self.column }
    }
}

/// Reads the rows of a batch of `fetches`.
///
/// # Errors
/// A class that this version does not know, or a body that the library does not hold.
pub fn rows_of(batch: &RecordBatch, library: &Library) -> Result<Vec<OriginRow>, RowFault> {
    rows_with(batch, |hash| library.find(hash))
}

/// The same, where bodies are found otherwise.
///
/// # Errors
/// A class that this version does not know, or a body that is not found.
pub fn rows_with(batch: &RecordBatch, find: impl Fn(&BodyHash) -> Option<BodyId>) -> Result<Vec<OriginRow>, RowFault> {
    let columns = Columns::of(batch);
    (0..batch.num_rows()).map(|row| columns.row(row, &find)).collect()
}

/// A batch of `fetches` and its rows, without those of origins that only URLs of an earlier audit named. Nothing was asked
/// there, and a source has no line of them: the URLs of this audit name their own.
///
/// # Panics
/// Where the rows are not those of the batch.
#[must_use]
pub fn without_named_only(batch: RecordBatch, rows: Vec<OriginRow>) -> (RecordBatch, Vec<OriginRow>) {
    let inputs = batch.column_by_name("input").expect("the batch has the columns of the table");
    let is_named_only = |(place, row): (usize, &OriginRow)| {
        row.entry.class == FetchClass::NotCollected && row.entry.checked_at.is_none() && inputs.is_null(place)
    };
    let is_kept: BooleanArray = rows.iter().enumerate().map(|row| Some(!is_named_only(row))).collect();
    if is_kept.true_count() == rows.len() {
        return (batch, rows);
    }
    let kept = filter_record_batch(&batch, &is_kept).expect("as many rows as the batch has");
    let rows = rows.into_iter().zip(is_kept.values()).filter_map(|(row, is_kept)| is_kept.then_some(row));
    (kept, rows.collect())
}

/// The columns of `fetches` that rows are read from.
pub const COLUMNS: [&str; 7] =
    ["origin", "rank", "fetch_time", "fetch_class", "fetch_status", "unreachable_since", "body_sha256"];

/// Adds the facts of a batch that its decisions rest on to a digest.
pub fn add_to_digest(batch: &RecordBatch, digest: &mut Sha256) {
    let columns = Columns::of(batch);
    for row in 0..batch.num_rows() {
        for column in [&columns.origin, &columns.class, &columns.body] {
            digest.update(if column.is_valid(row) { column.value(row) } else { "" });
            digest.update(b"\0");
        }
        if let Some(lasted) = columns.outage_lasted(row) {
            let answers_http = columns.status.is_valid(row);
            digest.update(format!("{lasted:?} {answers_http}"));
        }
        digest.update(b"\n");
    }
}

struct Columns {
    origin: StringArray,
    class: StringArray,
    body: StringArray,
    rank: PrimitiveArray<Int64Type>,
    status: PrimitiveArray<Int16Type>,
    fetch_time: PrimitiveArray<TimestampMicrosecondType>,
    unreachable_since: PrimitiveArray<TimestampMicrosecondType>,
}

impl Columns {
    fn of(batch: &RecordBatch) -> Self {
        let column = |name| batch.column_by_name(name).expect("the batch has the columns of the table");
        let text = |name| {
            let plain = cast(column(name), &DataType::Utf8).expect("a column of text");
            plain.as_string::<i32>().clone()
        };
        Self {
            origin: text("origin"),
            class: text("fetch_class"),
            body: text("body_sha256"),
            rank: column("rank").as_primitive::<Int64Type>().clone(),
            status: column("fetch_status").as_primitive::<Int16Type>().clone(),
            fetch_time: column("fetch_time").as_primitive::<TimestampMicrosecondType>().clone(),
            unreachable_since: column("unreachable_since").as_primitive::<TimestampMicrosecondType>().clone(),
        }
    }

    fn fetch_time(&self, row: usize) -> Option<Timestamp> {
        self.fetch_time.is_valid(row).then(|| self.fetch_time.value(row))
    }

    fn outage_lasted(&self, row: usize) -> Option<Duration> {
        let since = self.unreachable_since.is_valid(row).then(|| self.unreachable_since.value(row));
        outage_lasted(since, self.fetch_time(row))
    }

    fn outage(&self, row: usize, has_copy: bool) -> Outage {
        let stage = self.outage_lasted(row).map_or(OutageStage::Early, OutageStage::of);
        Outage { stage, has_copy, answers_http: self.status.is_valid(row) }
    }

    fn row(&self, row: usize, find: impl Fn(&BodyHash) -> Option<BodyId>) -> Result<OriginRow, RowFault> {
        let class = self.class.is_valid(row).then(|| FetchClass::from_name(self.class.value(row))).flatten();
        let class = class.ok_or(RowFault { row, column: "fetch_class" })?;
        let hash = self.body.is_valid(row).then(|| of_hex(self.body.value(row))).flatten();
        let body = hash.and_then(|hash| find(&hash));
        // A body that got lost must not become "no rules", nor a lost copy "no copy".
        if body.is_none() && (class.has_body() || self.body.is_valid(row)) {
            return Err(RowFault { row, column: "body_sha256" });
        }
        Ok(OriginRow {
            origin: self.origin.is_valid(row).then(|| self.origin.value(row).into()),
            rank: self.rank.is_valid(row).then(|| self.rank.value(row)),
            entry: Entry { class, body, outage: self.outage(row, body.is_some()), checked_at: self.fetch_time(row) },
        })
    }
}

/// The origins of a source.
#[derive(Debug, Default)]
pub struct Origins {
    entries: HashMap<Box<str>, Entry, RandomState>,
    /// Whether a file stands for its host under http as well (folders).
    http_is_https: bool,
}

/// An origin that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The source holds it.
    Held(Entry),
    /// The source holds the same host under https, and its file stands for both.
    AsHttps(Entry),
    /// The source does not hold it.
    Missing,
}

impl Origins {
    /// No origins yet; `http_is_https` where a file stands for its host under both schemes.
    #[must_use]
    pub fn new(http_is_https: bool) -> Self {
        Self { entries: HashMap::default(), http_is_https }
    }

    /// Adds an origin; the first row of an origin stays.
    pub fn add(&mut self, origin: Box<str>, entry: Entry) {
        self.entries.entry(origin).or_insert(entry);
    }

    /// Looks for an origin in normal form.
    #[must_use]
    pub fn find(&self, origin: &str) -> Found {
        if let Some(entry) = self.entries.get(origin) {
            return Found::Held(*entry);
        }
        let host = if self.http_is_https { origin.strip_prefix("http://") } else { None };
        let as_https = host.and_then(|host| self.entries.get(format!("https://{host}").as_str()));
        as_https.map_or(Found::Missing, |entry| Found::AsHttps(*entry))
    }
}
