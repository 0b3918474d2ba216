//! Captures that others made: which of them is the newest of each URL, in a few octets a URL.
//!
//! What a capture says is read from its file when its turn comes; see `warc` and `rows`.

use super::mark::{Mark, MarkMap};
use super::told::Told;
use crate::tables::captures::{Fault, FaultCounts};
use crate::tables::fetches::Timestamp;

/// Damages of one file that are told one by one; further ones are counted only.
const DAMAGES_MAX: usize = 10_000;

/// Stands for a capture that does not say when it was made: older than any other.
const NO_TIME: Timestamp = Timestamp::MIN;

/// Where a capture is. Captures are ordered by age; of two made at once, the one that stands further behind is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capture {
    time: Timestamp,
    /// The file, by its place among the files.
    pub file: u32,
    /// Where it begins there: an octet, or a row counted from 0.
    pub at: u64,
    /// About so many octets are read for it.
    pub octets: u32,
}

/// The captures of one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The newest one.
    pub newest: Capture,
    /// The newest that holds an answer itself, and does not only name another.
    pub whole: Option<Capture>,
    /// How many there are.
    pub captures: u32,
    /// Whether the URL is that of a robots.txt.
    pub is_robots_txt: bool,
}

/// One capture, as it is found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The URL in normal form.
    pub url: Mark,
    /// Where it is.
    pub capture: Capture,
    /// Whether the URL is that of a robots.txt.
    pub is_robots_txt: bool,
    /// Whether it holds an answer itself.
    pub is_whole: bool,
}

/// A damage: what is no whole record or row, or is one of nothing that has an origin; or a time that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where it is: the octet at which the record or its member begins, or the row counted from 1.
    pub at: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// What the first reading of a file finds.
#[derive(Debug, Clone, Default)]
pub struct FileIndex {
    /// Captures of http(s) resources.
    pub captures: Vec<Found>,
    /// Captures of other resources: of DNS answers, for example.
    pub other_schemes: u64,
    /// Records that are no captures: requests, metadata and the like.
    pub other_records: u64,
    /// The first damages.
    pub damages: Vec<Damage>,
    /// All faults.
    pub faults: FaultCounts,
}

impl FileIndex {
    /// When a capture was made. Where that cannot be read it is counted: the capture serves, as older than all others.
    pub(super) fn time(&mut self, told: Told<Timestamp>, at: u64) -> Option<Timestamp> {
        if told == Told::Unreadable {
            self.damage(Damage { at, fault: Fault::Time });
        }
        told.known()
    }

    /// Counts a damage, and keeps it while there are few.
    pub(super) fn damage(&mut self, damage: Damage) {
        self.faults.count(damage.fault);
        if self.damages.len() < DAMAGES_MAX {
            self.damages.push(damage);
        }
    }
}

/// The captures of all URLs.
#[derive(Debug, Clone, Default)]
pub struct Index {
    entries: MarkMap<Entry>,
}

impl Capture {
    /// A capture made at this time.
    #[must_use]
    pub fn new(time: Option<Timestamp>, file: u32, at: u64, octets: u64) -> Self {
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        Self { time: time.unwrap_or(NO_TIME), file, at, octets }
    }

    /// When it was made.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        (self.time != NO_TIME).then_some(self.time)
    }
}

impl Index {
    /// Adds a capture.
    pub fn add(&mut self, found: &Found) {
        let Found { url, capture, is_robots_txt, is_whole } = *found;
        let whole = is_whole.then_some(capture);
        let fresh = Entry { newest: capture, whole, captures: 0, is_robots_txt };
        let entry = self.entries.entry(url).or_insert(fresh);
        entry.newest = entry.newest.max(capture);
        entry.whole = entry.whole.max(whole);
        entry.captures = entry.captures.saturating_add(1);
    }

    /// The captures of a URL.
    #[must_use]
    pub fn get(&self, url: Mark) -> Option<&Entry> {
        self.entries.get(&url)
    }

    /// The newest capture of each robots.txt and how many there are of it, in the order of files and of places in them.
    #[must_use]
    pub fn robots_txts(&self) -> Vec<(Capture, u32)> {
        let entries = self.entries.values().filter(|entry| entry.is_robots_txt);
        let mut captures: Vec<(Capture, u32)> = entries.map(|entry| (entry.newest, entry.captures)).collect();
        captures.sort_unstable_by_key(|(capture, _)| (capture.file, capture.at));
        captures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_capture_counts_in_whatever_order_they_come() {
        let captures = [(Some(5), 0, 10), (None, 1, 0), (Some(5), 1, 0), (Some(4), 2, 0)];
        let mut orders = vec![captures.to_vec(), captures.iter().rev().copied().collect()];
        orders.push(vec![captures[2], captures[0], captures[3], captures[1]]);
        for order in orders {
            let mut index = Index::default();
            for (time, file, at) in order {
                let capture = Capture::new(time, file, at, 1);
                let url = Mark::of_name("https://a.test/robots.txt");
                index.add(&Found { url, capture, is_robots_txt: true, is_whole: file != 1 });
            }
            assert_eq!(index.robots_txts(), [(Capture::new(Some(5), 1, 0, 1), 4)]);
            let whole = index.get(Mark::of_name("https://a.test/robots.txt")).and_then(|entry| entry.whole);
            assert_eq!(whole, Some(Capture::new(Some(5), 0, 10, 1)));
        }
    }
}
