//! What was expected of each line, and what the tables say.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{Outcome, Tally};
use crate::robots::access::{FetchClass, Flag, Reason};
use crate::source::snapshot::Snapshot;

/// What a line has to end as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) class: FetchClass,
    pub(super) reason: Option<Reason>,
    pub(super) flag: Option<Flag>,
    /// Whether a fault is played there.
    pub(super) is_fault: bool,
}

impl Expected {
    /// Rules, without any fault.
    pub(super) const HEALTHY: Self = Self { class: FetchClass::Ok, reason: None, flag: None, is_fault: false };

    /// A fault that ends in this class.
    pub(super) const fn fault(class: FetchClass) -> Self {
        Self { class, reason: None, flag: None, is_fault: true }
    }

    pub(super) const fn with_reason(self, reason: Reason) -> Self {
        Self { reason: Some(reason), ..self }
    }

    pub(super) const fn with_flag(self, flag: Flag) -> Self {
        Self { flag: Some(flag), ..self }
    }
}

/// The lines of a load, each once, with what they have to end as.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    lines: Vec<String>,
    expected: HashMap<String, Expected>,
}

impl Ledger {
    /// Lines of healthy origins.
    pub(super) fn healthy(lines: impl IntoIterator<Item = String>) -> Self {
        let mut ledger = Self::default();
        lines.into_iter().for_each(|line| ledger.expect(line, Expected::HEALTHY));
        ledger
    }

    pub(super) fn expect(&mut self, line: String, expected: Expected) {
        if self.expected.insert(line.clone(), expected).is_none() {
            self.lines.push(line);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The list.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// Compares the tables of a run that has ended with what was expected, and counts.
    pub(super) fn check(&self, folder: &Path, outcome: &mut Outcome) -> anyhow::Result<()> {
        let snapshot = Snapshot::open(folder)?;
        let mut found = Found::default();
        for batch in snapshot.fetches() {
            self.check_batch(&batch?, &mut found, &mut outcome.complaints)?;
        }
        let faults = self.expected.values().filter(|expected| expected.is_fault).count() as u64;
        outcome.tally.add(&Tally {
            injected: faults,
            survived: found.right_faults,
            origins: self.len() as u64,
            rows: found.rows,
            lost: (self.len() - found.lines.len()) as u64,
            duplicated: found.duplicated,
            panics: found.internal,
        });
        let mut bodies = HashSet::new();
        for body in snapshot.bodies() {
            let (hash, _) = body?;
            outcome.require(bodies.insert(hash), || "a body stands twice in the tables".to_owned());
        }
        outcome.require(found.bodies == bodies, || {
            format!("rows name {} bodies, the tables hold {}", found.bodies.len(), bodies.len())
        });
        Ok(())
    }

    fn check_batch(&self, batch: &RecordBatch, found: &mut Found, complaints: &mut Vec<String>) -> anyhow::Result<()> {
        let [inputs, classes, reasons, hashes] =
            ["input", "fetch_class", "reason", "body_sha256"].map(|n| text(batch, n));
        let (inputs, classes, reasons, hashes) = (inputs?, classes?, reasons?, hashes?);
        let flags = batch.column_by_name("flags").context("no column flags")?.as_list::<i32>().clone();
        for row in 0..batch.num_rows() {
            let (input, class) = (inputs.value(row), classes.value(row));
            found.rows += 1;
            found.internal += u64::from(class == FetchClass::Internal.as_str());
            if hashes.is_valid(row) {
                found.bodies.insert(crate::source::snapshot::of_hex(hashes.value(row)).context("no hash")?);
            }
            let Some(expected) = self.expected.get(input) else {
                complaints.push(format!("a row of {input:?}, which is no line of the list"));
                continue;
            };
            if !found.lines.insert(input.to_owned()) {
                found.duplicated += 1;
                continue;
            }
            let reason = reasons.is_valid(row).then(|| reasons.value(row));
            let row_flags = flags.value(row);
            let row_flags: Vec<&str> = row_flags.as_string::<i32>().iter().flatten().collect();
            if expected.fits(class, reason, &row_flags) {
                found.right_faults += u64::from(expected.is_fault);
            } else {
                complaints.push(format!("{input}: {expected:?} expected, {class} {reason:?} {row_flags:?} found"));
            }
        }
        Ok(())
    }
}

impl Expected {
    fn fits(self, class: &str, reason: Option<&str>, flags: &[&str]) -> bool {
        class == self.class.as_str()
            && (self.reason.is_none() || reason == self.reason.map(Reason::as_str))
            && self.flag.is_none_or(|flag| flags.contains(&flag.as_str()))
    }
}

#[derive(Debug, Default)]
struct Found {
    lines: HashSet<String>,
    bodies: HashSet<[u8; 32]>,
    rows: u64,
    duplicated: u64,
    internal: u64,
    right_faults: u64,
}

fn text(batch: &RecordBatch, name: &str) -> anyhow::Result<StringArray> {
    let column = batch.column_by_name(name).with_context(|| format!("no column {name}"))?;
    Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
}

/// Columns of a table, as text, over all its files; null is empty.
pub(super) fn texts_of(folder: &Path, columns: &[&str]) -> anyhow::Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for path in files_below(folder) {
        for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(&path)?)?.build()? {
            let batch = batch?;
            let columns = columns.iter().map(|name| text(&batch, name)).collect::<anyhow::Result<Vec<_>>>()?;
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|c| c.value(row).to_owned()).collect()));
        }
    }
    Ok(rows)
}

/// Files below a folder.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Reads every visible Parquet file to its end: visible are those that carry no temporary name.
pub(super) fn open_visible(folder: &Path) -> anyhow::Result<usize> {
    let mut opened = 0;
    for path in files_below(folder) {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden || path.extension().is_none_or(|ending| ending != "parquet") {
            continue;
        }
        let read = || -> anyhow::Result<()> {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path)?)?.build()?;
            reader.into_iter().try_for_each(|batch| Ok(batch.map(drop)?))
        };
        read().with_context(|| format!("{} does not open", path.display()))?;
        opened += 1;
    }
    Ok(opened)
}

/// Files with temporary names, of which none may be left at the end.
pub(super) fn leftovers(folder: &Path) -> usize {
    let is_temporary = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "tmp");
    files_below(folder).iter().filter(|path| is_temporary(path)).count()
}
