//! One or several snapshots, opened for look-ups: the newest capture of an origin, or the newest at or before a time.
//!
//! An origin costs its name and about fifty octets, a capture forty; bodies are on the disk. The same snapshots may be
//! open in many processes.

use std::path::Path;
use std::sync::Arc;

use ahash::RandomState;
use hashbrown::HashTable;
use sha2::{Digest, Sha256};

use super::DatasetError;
use super::bodies::{Bodies, Compiled, Gathering};
use crate::audit::library::BodyId;
use crate::audit::origins::{COLUMNS, Entry, add_to_digest, rows_with};
use crate::audit::plan::Plan;
use crate::robots::access::FetchClass;
use crate::source::snapshot::Snapshot;
use crate::tables::column::hex;
use crate::tables::fetches::Timestamp;

/// Octets of compiled bodies that are kept in memory, where nothing else is asked for.
pub const CACHE_OCTETS: usize = 512 << 20;

/// Snapshots, opened for a plan.
#[derive(Debug)]
pub struct Snapshots {
    plan: Arc<Plan>,
    captures: Captures,
    bodies: Bodies,
    shows_rules: bool,
    digest: String,
}

/// How snapshots are opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// Folder that bodies are kept in while the snapshots are open; the file has no name.
    pub spool: &'a Path,
    /// Octets of compiled bodies that are kept in memory.
    pub cache_octets: usize,
    /// Whether deciding rules will be asked for.
    pub shows_rules: bool,
}

/// The place of a capture, or of none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaptureId(u32);

impl CaptureId {
    /// No snapshot holds the origin, or none did at that time.
    pub const NOT_COLLECTED: Self = Self(u32::MAX);
    /// The URL names no http(s) origin.
    pub const INVALID: Self = Self(u32::MAX - 1);
    /// There is no URL.
    pub const NONE: Self = Self(u32::MAX - 2);
    /// The row says no time at which a capture could be looked up.
    pub const NO_TIME: Self = Self(u32::MAX - 3);
    /// The row says one that cannot be read.
    pub const UNREADABLE_TIME: Self = Self(u32::MAX - 4);
}

/// Which capture of an origin is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The newest.
    Newest,
    /// The newest at or before this time.
    At(Timestamp),
    /// None: the row does not say when.
    Unknown,
    /// None: what the row says of it cannot be read.
    Unreadable,
}

/// How much there is, and how it was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Origins.
    pub origins: u64,
    /// Captures of them.
    pub captures: u64,
    /// Distinct bodies.
    pub bodies: u64,
    /// How often a group of rows asked for a compiled body.
    pub lookups: u64,
    /// How often it had to be compiled for that.
    pub compiled: u64,
}

impl Snapshots {
    /// Reads snapshots: their bodies to the disk, what is known of origins to memory.
    ///
    /// # Errors
    /// A snapshot that cannot be read or whose rows name bodies that it does not hold; a full disk.
    pub fn open(plan: Arc<Plan>, snapshots: &[Snapshot], opening: Opening<'_>) -> Result<Self, DatasetError> {
        let spool_error = |source| DatasetError::Spool { folder: opening.spool.to_owned(), source };
        let mut gathering = Gathering::begin(opening.spool).map_err(spool_error)?;
        let mut captures = Gathered::default();
        let mut digest = Sha256::new();
        for snapshot in snapshots {
            for body in snapshot.bodies() {
                let (hash, body) = body?;
                gathering.add(hash, &body).map_err(spool_error)?;
            }
            for batch in snapshot.fetches_with(&COLUMNS) {
                let batch = batch?;
                add_to_digest(&batch, &mut digest);
                let rows = rows_with(&batch, |hash| gathering.find(hash)).map_err(DatasetError::SnapshotRow)?;
                for row in rows {
                    digest.update(format!("{:?} ", row.entry.checked_at));
                    // Nothing was captured there: it must not stand before what another snapshot holds.
                    if let Some(origin) = row.origin.filter(|_| row.entry.class != FetchClass::NotCollected) {
                        captures.add(&origin, row.entry);
                    }
                }
            }
        }
        Ok(Self {
            plan,
            captures: captures.sorted(),
            bodies: gathering.finish(opening.cache_octets).map_err(spool_error)?,
            shows_rules: opening.shows_rules,
            digest: hex(&digest.finalize()),
        })
    }

    /// The plan that bodies are compiled for.
    #[must_use]
    pub const fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// SHA-256 of all that answers rest on.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether deciding rules can be told.
    #[must_use]
    pub const fn shows_rules(&self) -> bool {
        self.shows_rules
    }

    /// How much there is, and how it was used.
    #[must_use]
    pub fn counts(&self) -> SnapshotCounts {
        let (lookups, compiled) = self.bodies.use_counts();
        SnapshotCounts {
            origins: self.captures.starts.len().saturating_sub(1) as u64,
            captures: self.captures.list.len() as u64,
            bodies: self.bodies.len() as u64,
            lookups,
            compiled,
        }
    }

    /// The capture of an origin in normal form.
    #[must_use]
    pub fn find(&self, origin: &str, when: When) -> CaptureId {
        match when {
            When::Unknown => return CaptureId::NO_TIME,
            When::Unreadable => return CaptureId::UNREADABLE_TIME,
            When::Newest | When::At(_) => {}
        }
        let captures = &self.captures;
        let hash = captures.hasher.hash_one(origin.as_bytes());
        let found = captures.table.find(hash, |place| captures.name(*place) == origin.as_bytes());
        found.and_then(|place| captures.of_origin(*place, when)).unwrap_or(CaptureId::NOT_COLLECTED)
    }

    /// What is known of a capture.
    #[must_use]
    pub fn entry(&self, capture: CaptureId) -> Entry {
        match capture {
            CaptureId::NOT_COLLECTED | CaptureId::NO_TIME | CaptureId::UNREADABLE_TIME => Entry::NOT_COLLECTED,
            CaptureId::INVALID | CaptureId::NONE => Entry::INVALID,
            CaptureId(place) => self.captures.list[place as usize],
        }
    }

    /// A body, compiled.
    pub(super) fn body(&self, id: BodyId) -> Result<Arc<Compiled>, DatasetError> {
        self.bodies.get(id, &self.plan, self.shows_rules).map_err(DatasetError::Body)
    }
}

/// Captures by origin, those of each by time.
#[derive(Debug, Default)]
struct Captures {
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<u64>,
    table: HashTable<u32>,
    hasher: RandomState,
    /// For each origin the first of its captures; one more at the end.
    starts: Vec<u32>,
    list: Vec<Entry>,
}

impl Captures {
    fn name(&self, place: u32) -> &[u8] {
        let place = place as usize;
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        // What was read into memory has offsets that fit.
        &self.names
            [usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(self.ends[place]).unwrap_or(usize::MAX)]
    }

    fn of_origin(&self, place: u32, when: When) -> Option<CaptureId> {
        let (start, end) = (self.starts[place as usize], self.starts[place as usize + 1]);
        let of_origin = &self.list[start as usize..end as usize];
        let count = match when {
            When::Newest => of_origin.len(),
            When::At(time) => {
                // Those without a time stand first. When they were made nobody knows: they are none at that time.
                let undated = of_origin.partition_point(|entry| entry.checked_at.is_none());
                let dated = &of_origin[undated..];
                let before = dated.partition_point(|entry| entry.checked_at.is_some_and(|checked| checked <= time));
                if before == 0 { 0 } else { undated + before }
            }
            When::Unknown | When::Unreadable => 0,
        };
        let last = u32::try_from(count).ok()?.checked_sub(1)?;
        Some(CaptureId(start + last))
    }
}

/// Captures as they are read.
#[derive(Default)]
struct Gathered {
    captures: Captures,
    list: Vec<(u32, Entry)>,
}

impl Gathered {
    fn add(&mut self, origin: &str, entry: Entry) {
        let captures = &mut self.captures;
        let hash = captures.hasher.hash_one(origin.as_bytes());
        let found = captures.table.find(hash, |place| captures.name(*place) == origin.as_bytes()).copied();
        let place = found.unwrap_or_else(|| captures.add_name(origin, hash));
        self.list.push((place, entry));
    }

    fn sorted(mut self) -> Captures {
        // Of captures of the same time the one read last counts as the newest.
        self.list.sort_by_key(|(place, entry)| (*place, entry.checked_at));
        let mut captures = self.captures;
        let origins = u32::try_from(captures.ends.len()).expect("counted when they were added");
        let mut rest = &self.list[..];
        for place in 0..origins {
            captures.starts.push(u32::try_from(captures.list.len()).expect("fewer than four billion captures"));
            let count = rest.partition_point(|(found, _)| *found == place);
            captures.list.extend(rest[..count].iter().map(|(_, entry)| *entry));
            rest = &rest[count..];
        }
        captures.starts.push(u32::try_from(captures.list.len()).expect("fewer than four billion captures"));
        captures
    }
}

impl Captures {
    fn add_name(&mut self, origin: &str, hash: u64) -> u32 {
        let place = u32::try_from(self.ends.len()).expect("fewer than four billion origins");
        self.names.extend_from_slice(origin.as_bytes());
        self.ends.push(self.names.len() as u64);
        let Self { table, hasher, names, ends, .. } = self;
        let name = |place: &u32| {
            let place = *place as usize;
            let start = if place == 0 { 0 } else { ends[place - 1] };
            let within = |end: u64| usize::try_from(end).unwrap_or(usize::MAX);
            hasher.hash_one(&names[within(start)..within(ends[place])])
        };
        table.insert_unique(hash, place, name);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(times: &[Option<Timestamp>]) -> Captures {
        let mut gathered = Gathered::default();
        for time in times {
            gathered.add("https://other.test", Entry::NOT_COLLECTED);
            gathered.add("https://a.test", Entry { class: FetchClass::Missing, checked_at: *time, ..Entry::INVALID });
        }
        gathered.sorted()
    }

    #[test]
    fn the_newest_at_or_before_a_time() {
        let captures = captured(&[Some(30), Some(10), None, Some(20)]);
        let at = |when| captures.of_origin(1, when).map(|CaptureId(place)| captures.list[place as usize].checked_at);
        for (when, expected) in [
            (When::At(9), None),
            (When::At(10), Some(Some(10))),
            (When::At(19), Some(Some(10))),
            (When::At(20), Some(Some(20))),
            (When::At(99), Some(Some(30))),
            (When::Newest, Some(Some(30))),
            (When::Unknown, None),
        ] {
            assert_eq!(at(when), expected, "{when:?}");
        }
    }

    #[test]
    fn undated_captures_serve_without_a_time_only() {
        let captures = captured(&[None, None]);
        assert_eq!(captures.of_origin(1, When::At(i64::MAX)), None);
        assert_eq!(captures.of_origin(1, When::Newest), Some(CaptureId(3)));
    }
}
