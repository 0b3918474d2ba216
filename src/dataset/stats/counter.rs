//! Rows to counts.

use arrow::array::{Array, AsArray, BinaryViewArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::groups::{ALL, CRAWLERS, Counts, EXCLUDED, Groups, NAMELESS, OTHER};
use super::weights::Weights;
use super::{Stats, StatsColumns, VALUE_OCTETS};
use crate::dataset::DatasetError;
use crate::dataset::annotate::{Annotator, Sources};
use crate::dataset::answers::{Answers, begins_with_origin};
use crate::dataset::columns::ColumnPath;
use crate::dataset::keep::Fate;
use crate::origin::Origin;
use crate::robots::decision::Decision;
use crate::tables::text::of_octets;

/// Counts the rows of a piece of work.
pub(in crate::dataset) struct Counter {
    columns: StatsColumns,
    stats: Stats,
    crawlers: usize,
}

impl Counter {
    /// A counter, where something is asked.
    pub(in crate::dataset) fn begin(annotator: &Annotator, sources: &Sources) -> Option<Self> {
        let columns = sources.stats.clone()?;
        let crawlers = annotator.snapshots().plan().crawlers.len();
        // A piece has no more names than rows; a bound here would cut off what the run still tells apart.
        Some(Self { columns, stats: Stats::new(crawlers, usize::MAX, usize::MAX), crawlers })
    }

    /// Counts the rows of a batch, the octets of whose texts are these; `fates` where rows are filtered.
    pub(in crate::dataset) fn add(
        &mut self,
        batch: &RecordBatch,
        octets: Option<&[u64]>,
        answers: &Answers,
        urls: &BinaryViewArray,
        fates: Option<&[Fate]>,
    ) -> Result<(), DatasetError> {
        let weights = self.columns.weight.as_ref().map(|path| Weights::of(path, batch)).transpose()?;
        let values = self.columns.by.as_ref().map(|path| by_values(path, batch)).transpose()?;
        self.stats.has_text |= octets.is_some();
        self.stats.has_floats |= weights.as_ref().is_some_and(Weights::are_floats);
        let mut lanes = Vec::with_capacity(CRAWLERS + self.crawlers);
        let mut last = None;
        for row in 0..answers.len() {
            let mut counts = Counts { rows: 1, ..Counts::default() };
            counts.octets = octets.map_or(0, |octets| octets[row]);
            if weights.as_ref().is_some_and(|weights| !weights.put(row, &mut counts)) {
                self.stats.rows_without_weight += 1;
            }
            lanes.clear();
            lanes.push(ALL);
            if let Some(fate) = fates.map(|fates| fates[row]) {
                self.stats.reasons[usize::from(fate.0)].add(&counts);
                lanes.extend((fate != Fate::KEPT).then_some(EXCLUDED));
            }
            let is_lost = |crawler: &usize| answers.decision(row, *crawler) == Some(Decision::Deny);
            lanes.extend((0..self.crawlers).filter(is_lost).map(|crawler| CRAWLERS + crawler));
            for lane in &lanes {
                self.stats.total[*lane].add(&counts);
            }
            let place = domain(&mut self.stats.domains, urls, row, &mut last);
            self.stats.domains.add(place, &lanes, &counts);
            if let Some(values) = &values {
                let place = value_place(&mut self.stats.values, values, row);
                self.stats.values.add(place, &lanes, &counts);
            }
        }
        Ok(())
    }

    /// What was counted.
    pub(in crate::dataset) fn finish(self) -> Stats {
        self.stats
    }
}

/// The place of the registered domain of a row's URL. The last one is known: the next row often is of the same origin.
fn domain(domains: &mut Groups, urls: &BinaryViewArray, row: usize, last: &mut Option<(Origin, usize)>) -> usize {
    if urls.is_null(row) {
        return NAMELESS;
    }
    let url = urls.value(row);
    if let Some((origin, place)) = last
        && begins_with_origin(url, origin.as_str())
    {
        return *place;
    }
    let Ok(origin) = Origin::of_url(url) else { return NAMELESS };
    let place = origin.registered_domain().map_or(NAMELESS, |domain| domains.place(domain));
    *last = Some((origin, place));
    place
}

fn value_place(groups: &mut Groups, values: &BinaryViewArray, row: usize) -> usize {
    if values.is_null(row) {
        return NAMELESS;
    }
    let value = values.value(row);
    if value.len() > VALUE_OCTETS { OTHER } else { groups.place(&of_octets(value)) }
}

/// The values of a column as text.
fn by_values(path: &ColumnPath, batch: &RecordBatch) -> Result<BinaryViewArray, DatasetError> {
    if path.is_text() {
        return path.scalars(batch);
    }
    let texts = cast(&path.values(batch)?, &DataType::Utf8View)?;
    Ok(texts.as_string_view().clone().to_binary_view())
}
