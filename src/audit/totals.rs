//! What is counted, and the equation that every run has to fulfil.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::robots::access::FetchClass;
use crate::robots::decision::Decision;
use crate::robots::group::GroupSource;
use crate::signals::training::Scope;
use crate::tables::Table;
use crate::tables::crawler_access::{Access, CrawlerAccess};
use crate::tables::matching_differences::CAUSES;
use crate::tables::training::TrainingRow;

/// Everything counted in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Lines, and what became of them.
    pub lines: LineTotals,
    /// Rows of `fetches` by class.
    pub classes: Classes,
    /// For each crawler of the plan.
    pub crawlers: Vec<CrawlerTotals>,
    /// The training token.
    pub training: TrainingTotals,
    /// Rows that name an origin.
    pub named_rows: u64,
    /// Distinct bodies.
    pub bodies: u64,
    /// Rule sets whose access class could not be settled.
    pub undetermined: u64,
    /// URLs and decisions.
    pub urls: UrlTotals,
    /// Decisions about which the two modes of matching part, by cause, where the plan compares them; in the order of
    /// [`causes`](crate::tables::matching_differences::causes).
    pub parted: [u64; CAUSES],
    /// Where the time of the URLs went.
    pub spent: Spent,
}

/// Rows of `fetches` by class, in the order of [`FetchClass::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Classes([u64; FetchClass::ALL.len()]);

impl Classes {
    /// Counts a row.
    pub const fn count(&mut self, class: FetchClass) {
        self.0[class as usize] += 1;
    }

    /// Counts that were made before.
    #[must_use]
    pub fn of_counts(count: impl Fn(FetchClass) -> u64) -> Self {
        let mut classes = Self::default();
        for class in FetchClass::ALL.iter().copied() {
            classes.0[class as usize] = count(class);
        }
        classes
    }

    /// Rows of one class.
    #[must_use]
    pub const fn of(&self, class: FetchClass) -> u64 {
        self.0[class as usize]
    }

    /// All rows.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Rows of origins that gave no answer which could be understood.
    #[must_use]
    pub fn failures(&self) -> u64 {
        FetchClass::ALL.iter().filter(|class| class.is_failure()).map(|class| self.of(*class)).sum()
    }
}

/// Time that the pass over the URLs took, and time that its parts took on all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// From the first URL to the last, by the clock.
    pub urls: Duration,
    /// Reading lists.
    pub read: Duration,
    /// Finding origins, paths and verdicts.
    pub matching: Duration,
    /// Encoding row groups.
    pub encoding: Duration,
    /// Appending them to files.
    pub writing: Duration,
}

/// Lines of the origin lists, files of a folder, or rows of a snapshot, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTotals {
    /// Lines read.
    pub lines: u64,
    /// Rows of `fetches`.
    pub rows: u64,
    /// Lines whose origin an earlier line named.
    pub duplicates: u64,
    /// Blank lines and comments.
    pub blank_or_comment: u64,
    /// Lines behind `--limit`, or behind an interruption.
    pub not_attempted: u64,
    /// Origins that only a URL named.
    pub added_from_urls: u64,
    /// Entries of a folder that hold no body. They are no lines.
    pub skipped: u64,
    /// Rows of a snapshot whose origin only URLs of an earlier audit named. They are no lines, and are left out.
    #[serde(default)]
    pub named_only: u64,
}

/// URLs and their decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UrlTotals {
    /// Lines read.
    pub lines: u64,
    /// URLs evaluated.
    pub urls: u64,
    /// Blank lines and comments.
    pub blank_or_comment: u64,
    /// Rows without a value.
    pub nulls: u64,
    /// Rows of `decisions` by decision, in the order of [`Decision::ALL`].
    pub decisions: [u64; Decision::ALL.len()],
}

/// Access of one crawler, over the origins that gave a clear answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrawlerTotals {
    /// In the order of [`Access::ALL`]; origins without a clear answer are `unknown`.
    pub access: [u64; Access::ALL.len()],
    /// Origins with a group that names the crawler.
    pub named: u64,
}

/// Adoption of the training token, over the origins that gave a clear answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrainingTotals {
    /// Origins that gave a clear answer: the denominator of every share.
    pub determinable: u64,
    /// Origins with the token.
    pub token: u64,
    /// Of these, by scope, in the order of [`Scope::ALL`].
    pub token_scopes: [u64; Scope::ALL.len()],
    /// All rows of `training` by scope, whatever the origin answered.
    pub scopes: [u64; Scope::ALL.len()],
}

impl LineTotals {
    /// As JSON, for the journal.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// From what [`LineTotals::to_json`] made.
    #[must_use]
    pub fn of_json(json: &serde_json::Value) -> Option<Self> {
        Self::deserialize(json).ok()
    }
}

impl Totals {
    /// Totals for so many crawlers, all zero.
    #[must_use]
    pub fn of_crawlers(crawlers: usize) -> Self {
        Self { crawlers: vec![CrawlerTotals::default(); crawlers], ..Self::default() }
    }

    /// Counts a row of `fetches`.
    pub const fn count_row(&mut self, class: FetchClass) {
        self.lines.rows += 1;
        self.classes.count(class);
    }

    /// Counts the access of an origin's crawlers.
    pub fn count_access(&mut self, class: FetchClass, crawlers: &[CrawlerAccess]) {
        for (total, crawler) in self.crawlers.iter_mut().zip(crawlers) {
            let access = if class.is_determinable() { crawler.access } else { Access::Unknown };
            total.access[access as usize] += 1;
            let is_named = crawler.rules.is_some_and(|rules| rules.group_source == GroupSource::Named);
            total.named += u64::from(class.is_determinable() && is_named);
        }
    }

    /// Counts the training preference of an origin.
    pub fn count_training(&mut self, class: FetchClass, row: &TrainingRow) {
        self.training.scopes[row.scope as usize] += 1;
        if class.is_determinable() {
            self.training.determinable += 1;
            if row.token_present == Some(true) {
                self.training.token += 1;
                self.training.token_scopes[row.scope as usize] += 1;
            }
        }
    }

    /// Adds the rows, crawlers and preferences that another part of the run counted.
    pub fn add(&mut self, part: &Self) {
        self.lines.rows += part.lines.rows;
        self.lines.named_only += part.lines.named_only;
        self.named_rows += part.named_rows;
        add_all(&mut self.classes.0, &part.classes.0);
        for (total, crawler) in self.crawlers.iter_mut().zip(&part.crawlers) {
            add_all(&mut total.access, &crawler.access);
            total.named += crawler.named;
        }
        self.training.determinable += part.training.determinable;
        self.training.token += part.training.token;
        add_all(&mut self.training.token_scopes, &part.training.token_scopes);
        add_all(&mut self.training.scopes, &part.training.scopes);
    }

    /// Rows of one class.
    #[must_use]
    pub const fn class(&self, class: FetchClass) -> u64 {
        self.classes.of(class)
    }

    /// Rows that name an origin.
    #[must_use]
    pub const fn origins(&self) -> u64 {
        self.lines.rows - self.class(FetchClass::InvalidTarget)
    }

    /// Origins that gave a clear answer: rules, or that there are none.
    #[must_use]
    pub fn determinable(&self) -> u64 {
        FetchClass::ALL.iter().filter(|class| class.is_determinable()).map(|class| self.class(*class)).sum()
    }

    /// Checks that nothing was lost and nothing doubled.
    ///
    /// # Errors
    /// The equation that does not hold, with its numbers.
    pub fn check(&self, crawlers: u64, decision_rows: u64) -> Result<(), Imbalance> {
        let LineTotals { lines, rows, duplicates, blank_or_comment, not_attempted, added_from_urls, .. } = self.lines;
        let balance = Imbalance::check;
        balance(
            "lines + origins added from URLs = rows + duplicates + blank or comment lines + not attempted",
            lines + added_from_urls,
            rows + duplicates + blank_or_comment + not_attempted,
        )?;
        balance("rows = sum of the classes", rows, self.classes.total())?;
        let UrlTotals { lines, urls, blank_or_comment, nulls, decisions } = self.urls;
        balance("URL lines = URLs + blank or comment lines + nulls", lines, urls + blank_or_comment + nulls)?;
        balance("decisions = URLs x crawlers", urls * crawlers, decision_rows)?;
        balance("decisions = sum of the kinds of decisions", decision_rows, decisions.iter().sum())
    }

    /// Checks that a table holds as many rows as were counted for it, where its rows are counted.
    ///
    /// # Errors
    /// The equation that does not hold, with its numbers.
    pub fn check_table(&self, table: Table, crawlers: u64, found: u64) -> Result<(), Imbalance> {
        let (what, expected) = match table {
            Table::Fetches => ("rows = those in the table fetches", self.lines.rows),
            Table::Bodies => ("distinct bodies = those in the table bodies", self.bodies),
            Table::CrawlerAccess => ("origins x crawlers = rows of crawler_access", self.named_rows * crawlers),
            Table::Training => ("origins = rows of training", self.named_rows),
            Table::TrainingVerdicts => ("URLs = rows of training_verdicts", self.urls.urls),
            Table::MatchingDifferences => ("differences = rows of matching_differences", self.parted.iter().sum()),
            _ => return Ok(()),
        };
        Imbalance::check(what, expected, found)
    }
}

pub(super) fn add_all(totals: &mut [u64], parts: &[u64]) {
    for (total, part) in totals.iter_mut().zip(parts) {
        *total += part;
    }
}

/// An equation that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imbalance {
    what: &'static str,
    expected: u64,
    found: u64,
}

impl Imbalance {
    /// Compares two sides of an equation.
    ///
    /// # Errors
    /// Where they are not the same.
    pub const fn check(what: &'static str, expected: u64, found: u64) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self { what, expected, found }) }
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} is not {})", self.what, self.expected, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_row_is_seen() {
        let mut totals = Totals::of_crawlers(1);
        totals.lines.lines = 2;
        totals.count_row(FetchClass::Ok);
        assert!(totals.check(1, 0).is_err());
        totals.count_row(FetchClass::Missing);
        assert_eq!(totals.check(1, 0), Ok(()));
        totals.urls.lines = 1;
        totals.urls.urls = 1;
        assert!(totals.check(1, 0).is_err());
        totals.urls.decisions[Decision::Deny as usize] = 1;
        assert_eq!(totals.check(1, 1), Ok(()));
    }

    #[test]
    fn a_row_that_was_counted_and_not_written_is_seen() {
        let mut totals = Totals::of_crawlers(3);
        totals.count_row(FetchClass::NotCollected);
        totals.named_rows = 1;
        for (table, rows) in [(Table::Fetches, 1), (Table::CrawlerAccess, 3), (Table::Training, 1), (Table::Bodies, 0)]
        {
            assert_eq!(totals.check_table(table, 3, rows), Ok(()), "{table}");
            assert!(totals.check_table(table, 3, rows + 1).is_err(), "{table}");
        }
    }
}
