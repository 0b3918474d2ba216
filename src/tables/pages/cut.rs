//! Runs cut at the ends of pages.

use super::runs::{NULL, Run, Values};

/// Rows of a full page: those of the ordinary writer, whose limit of 20,000 is looked at every 1,024 rows. Readers that
/// go by the page index skip in the usual steps.
pub(super) const PAGE_ROWS: u32 = 20 * 1_024;

/// Octets at which a plain page is full. A page holds one value at least, however large.
pub(super) const PAGE_OCTETS: usize = 1 << 20;

/// Cuts runs into pages.
#[derive(Debug)]
pub(super) struct Cutter<'r> {
    runs: &'r [Run],
    /// Rows of the first run that earlier pages took.
    taken: u32,
}

impl<'r> Cutter<'r> {
    pub(super) const fn new(runs: &'r [Run]) -> Self {
        Self { runs, taken: 0 }
    }

    /// Puts the runs of the next page into `page`, which ends at [`PAGE_ROWS`] and, where the values are given, before
    /// their plain octets pass [`PAGE_OCTETS`]. False where no rows are left.
    pub(super) fn next_page(&mut self, values: Option<&Values>, page: &mut Vec<Run>) -> bool {
        page.clear();
        let mut rows = PAGE_ROWS;
        let mut octets = PAGE_OCTETS;
        while let Some(run) = self.runs.first().filter(|_| rows > 0) {
            let mut take = (run.rows - self.taken).min(rows);
            if let Some(values) = values.filter(|_| run.key != NULL) {
                let size = values.plain_octets(run.key);
                let fitting = u32::try_from(octets / size).unwrap_or(u32::MAX);
                take = take.min(fitting.max(u32::from(page.is_empty())));
                if take == 0 {
                    break;
                }
                octets = octets.saturating_sub(size * take as usize);
            }
            page.push(Run { key: run.key, rows: take });
            rows -= take;
            self.advance(take, run.rows);
        }
        !page.is_empty()
    }

    fn advance(&mut self, take: u32, rows_of_run: u32) {
        self.taken += take;
        if self.taken == rows_of_run {
            self.runs = &self.runs[1..];
            self.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::pages::runs::Texts;

    fn pages(runs: &[Run], values: Option<&Values>) -> Vec<Vec<(u32, u32)>> {
        let mut cutter = Cutter::new(runs);
        let mut page = Vec::new();
        let mut pages = Vec::new();
        while cutter.next_page(values, &mut page) {
            pages.push(page.iter().map(|run| (run.key, run.rows)).collect());
        }
        pages
    }

    #[test]
    fn runs_go_on_behind_a_page() {
        let runs = [Run { key: 4, rows: 30_000 }, Run { key: NULL, rows: 10_000 }, Run { key: 1, rows: 1 }];
        assert_eq!(pages(&runs, None), [vec![(4, 20_480)], vec![(4, 9_520), (NULL, 10_000), (1, 1)]]);
        assert!(pages(&[], None).is_empty());
    }

    #[test]
    fn plain_pages_end_before_their_limit() {
        let texts: Texts =
            ["x".repeat(PAGE_OCTETS / 2 - 4).as_str(), "y", &"z".repeat(2 * PAGE_OCTETS)].into_iter().collect();
        let values = Values::Text(texts);
        let runs = [Run { key: 0, rows: 3 }, Run { key: 1, rows: 2 }, Run { key: 2, rows: 2 }];
        let cut = pages(&runs, Some(&values));
        assert_eq!(cut, [vec![(0, 2)], vec![(0, 1), (1, 2)], vec![(2, 1)], vec![(2, 1)]]);
    }
}
