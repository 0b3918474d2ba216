//! Origins to their rows of `crawler_access` and `training`, and decisions on `/`.

use std::borrow::Cow;

use arrow::array::RecordBatch;
use parquet::errors::ParquetError;

use super::evaluate::{Evaluated, Evaluator};
use super::origins::{self, Entry, OriginRow, RowFault};
use super::totals::Totals;
use crate::robots::access::FetchClass;
use crate::robots::decision::{Answer, Decision};
use crate::source::input::UrlBatch;
use crate::tables::crawler_access::{Access, CrawlerAccess, CrawlerAccessBuilder};
use crate::tables::training::{TrainingBuilder, TrainingRow};

/// Gives origins their rows.
pub(super) struct Describer {
    pub(super) evaluator: Evaluator,
}

/// The rows of a batch of origins.
pub(super) struct Described {
    pub(super) fetches: RecordBatch,
    pub(super) rows: Vec<OriginRow>,
    pub(super) access: RecordBatch,
    pub(super) training: RecordBatch,
    pub(super) totals: Totals,
}

impl Describer {
    /// The rows of a batch of `fetches`.
    pub(super) fn describe(&self, fetches: RecordBatch) -> Result<Described, RowFault> {
        let rows = origins::rows_of(&fetches, &self.evaluator.library)?;
        Ok(self.described(fetches, rows))
    }

    /// The same of a snapshot that others made: rows of origins that only URLs of an earlier audit named are left out, and
    /// counted.
    pub(super) fn describe_lines(&self, fetches: RecordBatch) -> Result<Described, RowFault> {
        let rows = origins::rows_of(&fetches, &self.evaluator.library)?;
        let read = rows.len();
        let (fetches, rows) = origins::without_named_only(fetches, rows);
        let mut described = self.described(fetches, rows);
        described.totals.lines.named_only = (read - described.rows.len()) as u64;
        Ok(described)
    }

    fn described(&self, fetches: RecordBatch, rows: Vec<OriginRow>) -> Described {
        let plan = &self.evaluator.plan;
        let mut totals = Totals::of_crawlers(plan.crawlers.len());
        let mut access = CrawlerAccessBuilder::new(&plan.crawlers);
        let mut training = TrainingBuilder::default();
        for row in &rows {
            totals.count_row(row.entry.class);
            let Some(origin) = &row.origin else { continue };
            totals.named_rows += 1;
            let crawlers = self.access(&row.entry);
            let preference = self.training(&row.entry);
            totals.count_access(row.entry.class, &crawlers);
            totals.count_training(row.entry.class, &preference);
            access.push(origin, row.rank, &plan.crawlers, &crawlers);
            training.push(origin, row.rank, &preference);
        }
        Described { access: access.finish(), training: training.finish(), totals, fetches, rows }
    }

    fn access(&self, entry: &Entry) -> Cow<'_, [CrawlerAccess]> {
        let plan = &self.evaluator.plan;
        let fixed = Answer::without_rules(plan.policy, entry.class, entry.outage);
        let Some(body) = entry.body_read().map(|id| self.evaluator.library.get(id)) else {
            return Cow::Owned(self.access_without_file(entry, fixed));
        };
        match fixed {
            None => Cow::Borrowed(&body.access),
            Some(Answer { decision, .. }) => {
                let decided = |access: &CrawlerAccess| CrawlerAccess { root_decision: decision, ..*access };
                Cow::Owned(body.access.iter().map(decided).collect())
            }
        }
    }

    /// No file was read. A last good copy may decide, but access is not known from it.
    fn access_without_file(&self, entry: &Entry, fixed: Option<Answer>) -> Vec<CrawlerAccess> {
        let access = if entry.class == FetchClass::Missing { Access::Full } else { Access::Unknown };
        let row = |root_decision| CrawlerAccess { access, root_decision, rules: None };
        match (fixed, entry.body) {
            (None, Some(copy)) => {
                let of_copy = &self.evaluator.library.get(copy).access;
                of_copy.iter().map(|crawler| row(crawler.root_decision)).collect()
            }
            (fixed, _) => {
                let decision = fixed.map_or(Decision::Unresolved, |answer| answer.decision);
                vec![row(decision); self.evaluator.plan.crawlers.len()]
            }
        }
    }

    fn training(&self, entry: &Entry) -> Cow<'_, TrainingRow> {
        let Some(id) = entry.body_read() else {
            return Cow::Owned(TrainingRow::without_file(entry.class));
        };
        Cow::Borrowed(&self.evaluator.library.get(id).training_row)
    }

    /// Decisions on `/` of each origin.
    pub(super) fn roots(&self, rows: &[OriginRow]) -> Result<Evaluated, ParquetError> {
        let origins = || rows.iter().filter_map(|row| row.origin.as_deref().map(|origin| (origin, row.entry)));
        let urls = UrlBatch::of_urls(origins().map(|(origin, _)| format!("{origin}/")));
        let mut resolved = origins().map(|(origin, entry)| (Some(Cow::Borrowed(origin)), entry));
        self.evaluator.evaluate(&urls, |_| resolved.next().expect("as many as URLs"))
    }
}
