//! The memory of an earlier run: what its snapshot knows of each origin (§2.4, §2.3.1.4; fetch policy §3).
//!
//! Fresh answers are used again, older ones confirmed, outages are counted from their beginning. What is decided
//! stands in [`earlier`]; sending the questions is left to `source::http`, bodies stay in the snapshot.

pub mod earlier;
pub mod freshness;
mod rows;
mod texts;

use std::collections::HashSet;
use std::sync::Arc;

use self::earlier::Earlier;
use self::rows::{Columns, FieldRow};
use super::mark::{Mark, MarkMap};
use super::snapshot::{Snapshot, SnapshotError};
use crate::origin::Origin;
use crate::signals::response::{ResponseFields, SignalField};
use crate::tables::fetches::{BodyHash, FetchRow, FetchesBuilder, Timestamp};

/// What an earlier run knows of its origins.
///
/// It takes about 350 octets an origin, header fields of the usual length included; an origin without an answer that
/// can be used again takes a tenth of that.
#[derive(Debug)]
pub struct History {
    snapshot: Snapshot,
    origins: MarkMap<Known>,
}

/// What is known of one origin, and when it was asked.
#[derive(Debug)]
struct Known {
    fetch_time: Timestamp,
    earlier: Option<Earlier>,
}

impl History {
    /// Reads the rows of a snapshot. Of two rows for one origin the newer one counts, of two equally old the later.
    ///
    /// # Errors
    /// A file that cannot be read, or a value that this version does not know.
    pub fn open(snapshot: &Snapshot) -> Result<Self, SnapshotError> {
        let mut history = Self { snapshot: snapshot.clone(), origins: MarkMap::default() };
        let signals = StoredSignals::read(snapshot)?;
        let mut rows_before = 0;
        for batch in snapshot.fetches() {
            let batch = batch?;
            let columns = Columns::of(&batch);
            for row in 0..batch.num_rows() {
                let fault = |column| SnapshotError::Row { row: rows_before + row + 1, column };
                if let Some(row) = columns.row(row).map_err(fault)? {
                    let fields = signals.of(&row.origin, row.fetch_time);
                    let earlier = row.earlier.map(|earlier| earlier.with_signals(&fields));
                    history.add(&row.origin, row.fetch_time, earlier);
                }
            }
            rows_before += batch.num_rows();
        }
        Ok(history)
    }

    fn add(&mut self, origin: &Origin, fetch_time: Timestamp, earlier: Option<Earlier>) {
        let known = Known { fetch_time, earlier };
        let mark = Mark::of_name(origin.as_str());
        match self.origins.get_mut(&mark) {
            Some(before) if before.fetch_time > fetch_time => {}
            Some(before) => *before = known,
            None => {
                self.origins.insert(mark, known);
            }
        }
    }

    /// What is known of an origin and of use now.
    #[must_use]
    pub fn find(&self, origin: &Origin) -> Option<&Earlier> {
        self.origins.get(&Mark::of_name(origin.as_str()))?.earlier.as_ref()
    }

    /// Origins that were asked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Those of these bodies that the snapshot holds, in file order; the others are skipped without being read.
    pub fn bodies_named(
        &self,
        wanted: Arc<HashSet<BodyHash>>,
    ) -> impl Iterator<Item = Result<(BodyHash, Vec<u8>), SnapshotError>> + use<> {
        self.snapshot.bodies_named(wanted)
    }
}

/// What header fields say, by origin, until it is with the answers; few of them have any.
#[derive(Default)]
struct StoredSignals(MarkMap<SignalsOfAnswer>);

struct SignalsOfAnswer {
    fetch_time: Timestamp,
    /// The place of the last field.
    place: i32,
    fields: Vec<SignalField>,
}

impl StoredSignals {
    fn read(snapshot: &Snapshot) -> Result<Self, SnapshotError> {
        let mut stored = Self::default();
        for batch in snapshot.response_signals() {
            for row in rows::fields(&batch?) {
                stored.add(row);
            }
        }
        Ok(stored)
    }

    fn add(&mut self, row: FieldRow) {
        let FieldRow { origin, fetch_time, place, field } = row;
        let new = SignalsOfAnswer { fetch_time, place: 0, fields: Vec::new() };
        let known = self.0.entry(Mark::of_name(origin.as_str())).or_insert(new);
        if known.fetch_time < fetch_time {
            *known = SignalsOfAnswer { fetch_time, place: 0, fields: Vec::new() };
        }
        // A field that says several things has as many rows.
        if known.fetch_time == fetch_time && known.place < place {
            known.place = place;
            known.fields.push(field);
        }
    }

    fn of(&self, origin: &Origin, fetch_time: Timestamp) -> ResponseFields {
        let known = self.0.get(&Mark::of_name(origin.as_str())).filter(|known| known.fetch_time == fetch_time);
        known.map_or_else(ResponseFields::default, |known| known.fields.iter().cloned().collect())
    }
}

/// What a row leaves for later, as if it had been read from a snapshot; `None` where nothing of it is used again.
#[must_use]
pub fn earlier_of(row: &FetchRow) -> Option<Earlier> {
    let mut rows = FetchesBuilder::default();
    rows.push(row);
    // Through the same door as rows of a snapshot, so that there is one set of rules.
    let earlier = Columns::of(&rows.finish()).row(0).ok().flatten()?.earlier;
    earlier.map(|earlier| earlier.with_signals(&row.observation.headers.signals))
}
