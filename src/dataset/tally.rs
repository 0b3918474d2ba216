//! What is counted while rows pass.

use std::ops::AddAssign;

use super::answers::Answers;
use super::keep::{Fate, REASONS};
use super::snapshots::CaptureId;
use crate::robots::access::FetchClass;
use crate::robots::decision::Decision;
use crate::signals::training::Preference;

/// Counts of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// All rows.
    pub rows: u64,
    /// Rows without a URL.
    pub null_urls: u64,
    /// Rows whose URL names no http(s) origin.
    pub invalid_urls: u64,
    /// For each crawler of the plan its decisions, in the order of [`Decision::ALL`].
    pub decisions: Vec<[u64; Decision::ALL.len()]>,
    /// Training verdicts, in the order of [`Preference::ALL`].
    pub training: [u64; Preference::ALL.len()],
    /// Rows whose origin no snapshot holds, or none did at their time; those whose time is not known among them.
    pub not_collected: u64,
    /// Of these, rows that say no time, where each says its own.
    pub null_times: u64,
    /// And those whose time cannot be read.
    pub unreadable_times: u64,
    /// Rows kept, where rows are filtered.
    pub kept: u64,
    /// Rows by what became of them, in the order of [`REASONS`], where rows are filtered.
    pub fates: [u64; REASONS.len()],
}

impl Tally {
    /// Counts the rows of a batch.
    pub fn add(&mut self, answers: &Answers, crawlers: usize) {
        self.decisions.resize(crawlers, Default::default());
        self.rows += answers.len() as u64;
        for row in 0..answers.len() {
            match answers.capture(row) {
                CaptureId::NONE => self.null_urls += 1,
                CaptureId::INVALID => self.invalid_urls += 1,
                capture => {
                    self.null_times += u64::from(capture == CaptureId::NO_TIME);
                    self.unreadable_times += u64::from(capture == CaptureId::UNREADABLE_TIME);
                    for (crawler, counts) in self.decisions.iter_mut().enumerate() {
                        if let Some(decision) = answers.decision(row, crawler) {
                            counts[decision as usize] += 1;
                        }
                    }
                    if let Some(verdict) = answers.training(row) {
                        self.training[verdict as usize] += 1;
                    }
                    self.not_collected += u64::from(answers.class(row) == Some(FetchClass::NotCollected));
                }
            }
        }
    }

    /// Counts what became of a row.
    pub fn add_fate(&mut self, fate: Fate) {
        self.kept += u64::from(fate == Fate::KEPT);
        self.fates[usize::from(fate.0)] += 1;
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.rows += other.rows;
        self.null_urls += other.null_urls;
        self.invalid_urls += other.invalid_urls;
        self.not_collected += other.not_collected;
        self.null_times += other.null_times;
        self.unreadable_times += other.unreadable_times;
        self.kept += other.kept;
        self.fates.iter_mut().zip(other.fates).for_each(|(count, other)| *count += other);
        self.decisions.resize(self.decisions.len().max(other.decisions.len()), Default::default());
        for (counts, others) in self.decisions.iter_mut().zip(&other.decisions) {
            counts.iter_mut().zip(others).for_each(|(count, other)| *count += other);
        }
        self.training.iter_mut().zip(other.training).for_each(|(count, other)| *count += other);
    }
}
