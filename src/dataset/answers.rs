//! A batch of URLs to a batch of answers.
//!
//! Rows are grouped by the body that decides about them and the answers put back in the order of the rows, so that a
//! body is looked up once a batch, in whatever order the rows come.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array, BinaryViewArray};

use super::DatasetError;
use super::bodies::Compiled;
use super::snapshots::{CaptureId, Snapshots, When};
use crate::audit::library::BodyId;
use crate::audit::origins::Entry;
use crate::origin::{URL_OCTETS, normal_form};
use crate::robots::access::FetchClass;
use crate::robots::decision::{Answer, Decision, DecisionSource};
use crate::robots::path::RawPath;
use crate::robots::verdict::Verdict;
use crate::signals::training::Preference;
use crate::tables::fetches::Timestamp;

/// Rows that are grouped at once: more make a random order cheaper, and cost about fifty octets each, with the URL.
pub const GROUPED_ROWS: usize = 1 << 17;

/// What a row without a usable URL has in place of an answer.
const NO_ANSWER: u8 = u8::MAX;

/// No rule decided.
const NO_RULE: u32 = u32::MAX;

/// The answers about a batch of rows.
#[derive(Debug)]
pub struct Answers {
    crawlers: usize,
    captures: Vec<CaptureId>,
    /// For each row its decisions, crawler by crawler.
    decisions: Vec<u8>,
    training: Vec<u8>,
    classes: Vec<u8>,
    checked_at: Vec<Option<Timestamp>>,
    rules: Option<Rules>,
}

/// The rules behind the answers, where they are asked for.
#[derive(Debug, Default)]
struct Rules {
    sources: Vec<u8>,
    /// For each answer the place of its rule's text.
    places: Vec<u32>,
    lines: Vec<u32>,
    texts: Vec<Box<str>>,
    known: HashMap<(BodyId, u32), u32, RandomState>,
}

impl Answers {
    /// Answers about URLs. `whens` has a time for each, or one for all.
    ///
    /// # Errors
    /// A body that cannot be read back.
    pub fn about(snapshots: &Snapshots, urls: &BinaryViewArray, whens: Whens<'_>) -> Result<Self, DatasetError> {
        let rows = urls.len();
        let crawlers = snapshots.plan().crawlers.len();
        let mut answers = Self {
            crawlers,
            captures: captures(snapshots, urls, whens),
            decisions: vec![NO_ANSWER; rows * crawlers],
            training: vec![NO_ANSWER; rows],
            classes: vec![NO_ANSWER; rows],
            checked_at: vec![None; rows],
            rules: snapshots.shows_rules().then(|| Rules::new(rows * crawlers)),
        };
        let mut by_body: Vec<(u32, u32)> = Vec::with_capacity(rows);
        for row in 0..rows {
            let entry = answers.begin(snapshots, row);
            if let Some(entry) = entry {
                // Those without a body come last.
                by_body.push((entry.body.map_or(u32::MAX, BodyId::place), small(row)));
            }
        }
        by_body.sort_unstable();
        let mut buffer = Vec::new();
        for group in by_body.chunk_by(|one, next| one.0 == next.0) {
            let body = match group[0].0 {
                u32::MAX => None,
                place => Some((BodyId::at(place), snapshots.body(BodyId::at(place))?)),
            };
            for (_, row) in group {
                answers.answer(snapshots, *row as usize, urls.value(*row as usize), body.as_ref(), &mut buffer);
            }
            if let Some((_, body)) = &body {
                body.sets.list.iter().for_each(|rules| rules.note_served(group.len() as u64));
            }
        }
        Ok(answers)
    }

    /// Notes what is known of a row's origin; the entry, where there is something to decide about.
    fn begin(&mut self, snapshots: &Snapshots, row: usize) -> Option<Entry> {
        let capture = self.captures[row];
        if capture == CaptureId::NONE {
            return None;
        }
        let entry = snapshots.entry(capture);
        self.classes[row] = entry.class as u8;
        self.checked_at[row] = entry.checked_at;
        (capture != CaptureId::INVALID).then_some(entry)
    }

    fn answer(
        &mut self,
        snapshots: &Snapshots,
        row: usize,
        url: &[u8],
        body: Option<&(BodyId, Arc<Compiled>)>,
        buffer: &mut Vec<u8>,
    ) {
        let plan = snapshots.plan();
        let entry = snapshots.entry(self.captures[row]);
        let path = RawPath::read(url, plan.matching).prepare(buffer);
        let first = row * self.crawlers;
        let cells = first..first + self.crawlers;
        let body_read = body.filter(|_| entry.class.has_body());
        let training = body_read
            .map_or_else(|| Preference::without_file(entry.class), |(_, body)| body.training.preference(&path).0);
        self.training[row] = training as u8;
        if let Some(fixed) = Answer::before_rules(plan.policy, entry.class, entry.outage, &path) {
            return cells.for_each(|cell| self.put(cell, &fixed, body));
        }
        let (_, compiled) = body.expect("where rules count there is a body");
        let sets = &compiled.sets;
        let verdict = |set: usize| Answer::of_verdict(Verdict::of_path(&sets.list[set], sets.sources[set], &path));
        // Neighbours often obey the same rules.
        let mut known: Option<(usize, Answer)> = None;
        for (cell, applied) in cells.zip(&sets.crawlers) {
            let set = applied.rule_set;
            let answer = known.filter(|(same, _)| *same == set).map_or_else(|| verdict(set), |(_, answer)| answer);
            known = Some((set, answer));
            self.put(cell, &answer, body);
        }
    }

    fn put(&mut self, cell: usize, answer: &Answer, body: Option<&(BodyId, Arc<Compiled>)>) {
        self.decisions[cell] = answer.decision as u8;
        if let Some(rules) = &mut self.rules {
            rules.put(cell, answer, body);
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.captures.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.captures.is_empty()
    }

    /// Which capture a row's answers rest on.
    #[must_use]
    pub fn capture(&self, row: usize) -> CaptureId {
        self.captures[row]
    }

    /// The decision about a row for a crawler of the plan; `None` where the row has no usable URL.
    #[must_use]
    pub fn decision(&self, row: usize, crawler: usize) -> Option<Decision> {
        Decision::ALL.get(usize::from(self.decisions[row * self.crawlers + crawler])).copied()
    }

    /// What a decision rests on; `None` also where rules were not asked for.
    #[must_use]
    pub fn source(&self, row: usize, crawler: usize) -> Option<DecisionSource> {
        let source = self.rules.as_ref()?.sources[row * self.crawlers + crawler];
        DecisionSource::ALL.get(usize::from(source)).copied()
    }

    /// The rule that decided and its line, where one did and rules were asked for.
    #[must_use]
    pub fn rule(&self, row: usize, crawler: usize) -> Option<(&str, u32)> {
        let rules = self.rules.as_ref()?;
        let cell = row * self.crawlers + crawler;
        let text = rules.texts.get(rules.places[cell] as usize)?;
        Some((text, rules.lines[cell]))
    }

    /// The training preference for a row; `None` where the row has no usable URL.
    #[must_use]
    pub fn training(&self, row: usize) -> Option<Preference> {
        Preference::ALL.get(usize::from(self.training[row])).copied()
    }

    /// The class of the answer of a row's origin; `None` where the row has no URL.
    #[must_use]
    pub fn class(&self, row: usize) -> Option<FetchClass> {
        FetchClass::ALL.get(usize::from(self.classes[row])).copied()
    }

    /// When the capture was made.
    #[must_use]
    pub fn checked_at(&self, row: usize) -> Option<Timestamp> {
        self.checked_at[row]
    }
}

impl Rules {
    fn new(cells: usize) -> Self {
        Self { sources: vec![NO_ANSWER; cells], places: vec![NO_RULE; cells], lines: vec![0; cells], ..Self::default() }
    }

    fn put(&mut self, cell: usize, answer: &Answer, body: Option<&(BodyId, Arc<Compiled>)>) {
        self.sources[cell] = answer.source as u8;
        let Some((hit, (id, body))) = answer.hit.zip(body) else { return };
        let texts = &mut self.texts;
        self.places[cell] = *self.known.entry((*id, hit.rule)).or_insert_with(|| {
            texts.push(body.evidence[hit.rule as usize].clone());
            small(texts.len() - 1)
        });
        self.lines[cell] = u32::from(hit.line);
    }
}

/// The times of rows.
#[derive(Debug, Clone, Copy)]
pub enum Whens<'a> {
    /// The same for all.
    All(When),
    /// One for each.
    Each(&'a [When]),
}

impl Whens<'_> {
    fn of(self, row: usize) -> When {
        match self {
            Self::All(when) => when,
            Self::Each(whens) => whens[row],
        }
    }
}

/// The capture for each row.
fn captures(snapshots: &Snapshots, urls: &BinaryViewArray, whens: Whens<'_>) -> Vec<CaptureId> {
    // The origin that the last URL began with: the next one often does, too.
    let mut last: Option<(&str, When, CaptureId)> = None;
    let mut captures = Vec::with_capacity(urls.len());
    for row in 0..urls.len() {
        if urls.is_null(row) {
            captures.push(CaptureId::NONE);
            continue;
        }
        let (url, when) = (urls.value(row), whens.of(row));
        if let Some((origin, same, capture)) = last
            && same == when
            && begins_with_origin(url, origin)
        {
            captures.push(capture);
            continue;
        }
        captures.push(match normal_form(url) {
            Err(_) => CaptureId::INVALID,
            Ok(origin) => {
                let capture = snapshots.find(&origin, when);
                if let std::borrow::Cow::Borrowed(origin) = origin {
                    last = Some((origin, when, capture));
                }
                capture
            }
        });
    }
    captures
}

/// Whether a URL begins with an origin in normal form that ends there.
pub(super) fn begins_with_origin(url: &[u8], origin: &str) -> bool {
    let rest = url.strip_prefix(origin.as_bytes());
    url.len() <= URL_OCTETS && rest.is_some_and(|rest| matches!(rest, [] | [b'/' | b'?' | b'#', ..]))
}

fn small(row: usize) -> u32 {
    u32::try_from(row).expect("a batch has fewer than four billion rows")
}
