//! The lists as targets: each origin once, first those of the lists, then those that only URLs name.

use std::sync::mpsc::SyncSender;

use super::super::totals::LineTotals;
use super::parts::Done;
use crate::origin::Target;
use crate::robots::access::{FetchClass, Reason};
use crate::source::input::{Distinct, InputError, OriginInputs, OriginLine, SeenOrigins, UrlInputs};
use crate::tables::fetches::{FetchRow, Observation};

/// What the lists say about an origin.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    pub(super) input: Option<String>,
    pub(super) line: Option<i64>,
    pub(super) rank: Option<i64>,
}

/// What travels beside the fetches.
pub(super) enum Aside {
    /// A row that needs no fetch.
    Row(Box<FetchRow>),
    /// A list that cannot be read on.
    Broken(InputError),
    /// The lists are read.
    End(Fed),
}

/// What the lists held.
pub(super) struct Fed {
    /// What became of their lines; rows are counted where they are written.
    pub(super) totals: LineTotals,
    /// Targets given out.
    pub(super) targets: u64,
    /// Rows of an unfinished run that the lists named again.
    pub(super) met: u64,
}

/// The targets that have no row yet.
pub(super) struct Feed {
    lists: Option<Distinct<OriginInputs>>,
    urls: Option<UrlInputs>,
    exact: SeenOrigins,
    limit: u64,
    /// Origins within the limit, those that are done among them.
    attempted: u64,
    targets: u64,
    /// Rows that were done, of those named so far.
    met: u64,
    totals: LineTotals,
    done: Done,
    seen: SeenOrigins,
    /// Origins behind the limit, and those of them that a URL names.
    behind_limit: SeenOrigins,
    named_by_url: SeenOrigins,
    /// Targets of the URL batch at hand.
    waiting: std::vec::IntoIter<Target>,
    aside: SyncSender<Aside>,
    is_over: bool,
}

impl Feed {
    /// The targets of these lists and URLs without what is done; other rows and the end are told aside.
    pub(super) fn new(
        (lists, urls): (OriginInputs, Option<UrlInputs>),
        exact: SeenOrigins,
        limit: Option<u64>,
        done: Done,
        aside: SyncSender<Aside>,
    ) -> Self {
        Self {
            lists: Some(Distinct::new(lists)),
            urls,
            exact,
            limit: limit.unwrap_or(u64::MAX),
            attempted: 0,
            targets: 0,
            met: 0,
            totals: LineTotals::default(),
            done,
            seen: SeenOrigins::default(),
            behind_limit: SeenOrigins::default(),
            named_by_url: SeenOrigins::default(),
            waiting: Vec::new().into_iter(),
            aside,
            is_over: false,
        }
    }

    fn tell(&self, message: Aside) {
        // The writer may have stopped: then nobody wants to know.
        let _ = self.aside.send(message);
    }

    fn next_of_lists(&mut self) -> Option<(Named, Target)> {
        loop {
            let line = match self.lists.as_mut()?.next() {
                Some(Ok(line)) => line,
                Some(Err(error)) => {
                    self.tell(Aside::Broken(error));
                    self.is_over = true;
                    return None;
                }
                None => {
                    self.end_lists();
                    return None;
                }
            };
            if let Some(target) = self.take(line) {
                return Some(target);
            }
        }
    }

    /// A line that is attempted; others get their row, or are counted, here.
    fn take(&mut self, line: OriginLine) -> Option<(Named, Target)> {
        if self.attempted >= self.limit {
            self.totals.not_attempted += 1;
            if let Ok(target) = &line.target {
                self.behind_limit.insert(&target.origin);
            }
            return None;
        }
        let facts = Named { input: Some(line.input), line: Some(line.line), rank: line.rank };
        match line.target {
            Ok(mut target) => {
                target.is_bare &= !self.exact.contains(&target.origin);
                self.attempted += 1;
                (!self.is_done(&target)).then_some((facts, target))
            }
            Err(reason) => {
                if self.done.take_invalid(&facts) {
                    self.met += 1;
                } else {
                    self.tell(Aside::Row(Box::new(invalid_row(facts, reason))));
                }
                None
            }
        }
    }

    /// Whether an unfinished run has the row; each is asked for once.
    fn is_done(&mut self, target: &Target) -> bool {
        let is_done = self.done.origins.contains(&target.origin);
        self.met += u64::from(is_done);
        is_done
    }

    fn end_lists(&mut self) {
        let Some(lists) = self.lists.take() else { return };
        let counts = lists.counts();
        self.totals.lines = counts.lines;
        self.totals.duplicates = counts.duplicates;
        self.totals.blank_or_comment = counts.blank_or_comment;
        self.seen = lists.into_seen();
    }

    fn next_of_urls(&mut self) -> Option<(Named, Target)> {
        loop {
            while let Some(target) = self.waiting.next() {
                if let Some(target) = self.take_of_urls(target) {
                    return Some((Named::default(), target));
                }
            }
            match self.urls.as_mut()?.next() {
                Some(Ok(batch)) => {
                    let targets = batch.iter().filter_map(|url| Target::parse(url).ok());
                    let new = targets.filter(|target| {
                        let origin = &target.origin;
                        self.seen.insert(origin)
                            || (self.behind_limit.contains(origin) && self.named_by_url.insert(origin))
                    });
                    self.waiting = new.collect::<Vec<_>>().into_iter();
                }
                Some(Err(error)) => {
                    self.tell(Aside::Broken(error));
                    self.is_over = true;
                    return None;
                }
                None => self.urls = None,
            }
        }
    }

    /// An origin that a URL names and no attempted line does. Behind the limit it gets its row here.
    fn take_of_urls(&mut self, target: Target) -> Option<Target> {
        let is_done = self.is_done(&target);
        if self.behind_limit.contains(&target.origin) {
            // Its line was counted as not attempted; now it is a row.
            self.totals.not_attempted -= 1;
        } else {
            self.totals.added_from_urls += 1;
            if self.attempted < self.limit {
                self.attempted += 1;
                return (!is_done).then_some(target);
            }
        }
        if !is_done {
            self.tell(Aside::Row(Box::new(not_collected_row(target))));
        }
        None
    }
}

impl Iterator for Feed {
    type Item = (Named, Target);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.next_of_lists().or_else(|| if self.is_over { None } else { self.next_of_urls() });
        if next.is_some() {
            self.targets += 1;
        } else if !self.is_over {
            self.is_over = true;
            self.tell(Aside::End(Fed { totals: self.totals, targets: self.targets, met: self.met }));
        }
        next
    }
}

fn invalid_row(line: Named, reason: Reason) -> FetchRow {
    FetchRow {
        origin: None,
        rank: line.rank,
        input: line.input,
        input_line: line.line,
        observation: Observation::of_class(FetchClass::InvalidTarget, Some(reason)),
    }
}

fn not_collected_row(target: Target) -> FetchRow {
    FetchRow {
        origin: Some(target.origin),
        rank: None,
        input: None,
        input_line: None,
        observation: Observation::of_class(FetchClass::NotCollected, None),
    }
}
