//! Finished fetches to rows of `fetches` and `response_signals`, and to bodies, each distinct body once.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::AuditError;
use super::super::event::{Event, Observer};
use super::super::totals::Classes;
use super::feed::Named;
use super::parts::{Done, Parts};
use crate::origin::Origin;
use crate::robots::parse::Robots;
use crate::robots::token::Matching;
use crate::source::history::History;
use crate::source::http::Fetched;
use crate::source::mark::{Mark, MarkSet};
use crate::tables::Table;
use crate::tables::bodies::{BodiesBuilder, BodyCounts};
use crate::tables::fetches::{BodyHash, FetchRow, FetchesBuilder};
use crate::tables::response_signals::ResponseSignalsBuilder;

/// Rows of `fetches` held before they are written.
const HELD_ROWS: usize = 1_024;
/// Octets of bodies, and of header fields, held before they are written.
const HELD_OCTETS: usize = 8 << 20;

/// Writes rows as they come.
pub(super) struct Writer<'a> {
    matching: Matching,
    parts: Parts,
    observer: Observer<'a>,
    fetches: FetchesBuilder,
    bodies: BodiesBuilder,
    response_signals: ResponseSignalsBuilder,
    /// 16 octets for each distinct body.
    written: MarkSet,
    /// Bodies of an earlier run that rows name and this one has not written.
    wanted: HashSet<BodyHash>,
    classes: Classes,
}

impl<'a> Writer<'a> {
    /// A writer of what is not done yet. What is known of bodies goes to it: nobody else asks for them.
    pub(super) fn new(matching: Matching, parts: Parts, done: &mut Done, observer: Observer<'a>) -> Self {
        Self {
            matching,
            parts,
            observer,
            fetches: FetchesBuilder::default(),
            bodies: BodiesBuilder::default(),
            response_signals: ResponseSignalsBuilder::default(),
            written: std::mem::take(&mut done.bodies).iter().map(Mark::of_hash).collect(),
            wanted: std::mem::take(&mut done.wanted),
            classes: done.classes,
        }
    }

    /// The row of an origin, and its body where that is new.
    pub(super) fn fetched(&mut self, named: Named, origin: Origin, fetched: Fetched) -> Result<(), AuditError> {
        let Fetched { observation, body } = fetched;
        match (observation.body_sha256, &body) {
            (Some(hash), Some(body)) => self.body(hash, body),
            (Some(hash), None) => drop(self.wanted.insert(hash)),
            (None, _) => {}
        }
        let Named { input, line, rank } = named;
        self.row(&FetchRow { origin: Some(origin), rank, input, input_line: line, observation })
    }

    fn body(&mut self, hash: BodyHash, body: &[u8]) {
        if self.written.insert(Mark::of_hash(&hash)) {
            self.parts.count_body(body.len());
            self.bodies.push(&hash, body, &BodyCounts::of(&Robots::parse(body, self.matching)));
        }
    }

    /// Copies the bodies that rows name and that no answer of this run brought.
    pub(super) fn add_earlier_bodies(&mut self, history: Option<&History>) -> Result<(), AuditError> {
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.retain(|hash| !self.written.contains(&Mark::of_hash(hash)));
        let wanted = Arc::new(wanted);
        let bodies = history.into_iter().flat_map(|history| history.bodies_named(Arc::clone(&wanted)));
        for body in bodies {
            let (hash, body) = body?;
            self.body(hash, &body);
            if self.bodies.held_octets() >= HELD_OCTETS {
                self.flush()?;
            }
        }
        let is_whole = wanted.iter().all(|hash| self.written.contains(&Mark::of_hash(hash)));
        if is_whole { Ok(()) } else { Err(AuditError::BodiesGone) }
    }

    /// One row.
    pub(super) fn row(&mut self, row: &FetchRow) -> Result<(), AuditError> {
        let class = row.observation.class;
        self.classes.count(class);
        self.parts.begin();
        self.fetches.push(row);
        self.response_signals.push(row);
        (self.observer)(Event::Fetched(class));
        let held_octets = self.bodies.held_octets().max(self.response_signals.held_octets());
        if self.fetches.rows() >= HELD_ROWS || held_octets >= HELD_OCTETS {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), AuditError> {
        self.parts.write(Table::Bodies, &self.bodies.finish())?;
        self.parts.write(Table::Fetches, &self.fetches.finish())?;
        self.parts.write(Table::ResponseSignals, &self.response_signals.finish())?;
        Ok(())
    }

    /// Nothing came for a moment: readers of events are told so that they can tell the time.
    pub(super) fn wait(&mut self) {
        (self.observer)(Event::Waiting);
    }

    /// Ends the part at hand if it has reached a limit.
    pub(super) fn close_due_part(&mut self) -> Result<(), AuditError> {
        if self.parts.is_due(self.fetches.rows() as u64) { self.close_part() } else { Ok(()) }
    }

    /// Ends the part at hand: what was finished so far is kept, whatever happens later.
    pub(super) fn close_part(&mut self) -> Result<(), AuditError> {
        self.flush()?;
        self.parts.close()
    }

    /// Rows, those of earlier runs among them.
    pub(super) fn rows(&self) -> u64 {
        self.classes.total()
    }

    /// Rows without an answer.
    pub(super) fn failures(&self) -> u64 {
        self.classes.failures()
    }

    /// Ends the last part.
    pub(super) fn finish(mut self) -> Result<(Parts, Classes), AuditError> {
        self.flush()?;
        self.parts.finish()?;
        Ok((self.parts, self.classes))
    }
}
