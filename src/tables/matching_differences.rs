//! Table `matching_differences`: one row per URL and crawler about which the two modes of matching decide differently.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{ArrayRef, Int32Builder, RecordBatch};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Runs, Words, value, words};
use super::text::{of_octets, of_octets_cut};
use crate::robots::decision::Decision;
use crate::robots::google::Quirk;

/// Octets kept of a rule; table `rules` holds it whole.
pub const RULE_OCTETS: usize = 1_024;

/// Octets of URLs and rules of one batch of rows; beyond them another begins.
const BATCH_OCTETS: usize = 64 << 20;

/// How many causes there are: each quirk alone, and [`SEVERAL`].
pub const CAUSES: usize = Quirk::ALL.len() + 1;

/// The cause where no single quirk is one: two are needed, or each of two is enough.
pub const SEVERAL: &str = "several";

/// The word for a cause.
#[must_use]
pub fn word(cause: Option<Quirk>) -> &'static str {
    cause.map_or(SEVERAL, Quirk::as_str)
}

/// The place of a cause; `None` stands for [`SEVERAL`].
#[must_use]
pub fn place(cause: Option<Quirk>) -> usize {
    cause.map_or(Quirk::ALL.len(), |quirk| quirk as usize)
}

/// The names of the causes, by place.
pub fn causes() -> impl Iterator<Item = &'static str> {
    Quirk::ALL.iter().map(|quirk| quirk.as_str()).chain([SEVERAL])
}

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("url"),
        words("origin"),
        words("crawler"),
        words("rfc9309_decision"),
        words("rfc9309_rule"),
        value("rfc9309_line", DataType::Int32),
        words("google_decision"),
        words("google_rule"),
        value("google_line", DataType::Int32),
        words("cause"),
    ]))
}

/// The answer of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a> {
    /// May the URL be fetched?
    pub decision: Decision,
    /// The deciding line as written, and its number.
    pub rule: Option<(&'a str, u32)>,
}

/// Two modes that part about one URL and crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parting<'a> {
    /// Place of the crawler among those asked about.
    pub crawler: usize,
    /// The answer by RFC 9309.
    pub rfc9309: Told<'a>,
    /// The answer of Google's parser.
    pub google: Told<'a>,
    /// The one quirk without which Google's parser would answer as RFC 9309 has it.
    pub cause: Option<Quirk>,
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct MatchingDifferencesBuilder {
    crawlers: Vec<String>,
    columns: Columns,
    full: Vec<RecordBatch>,
    counts: [u64; CAUSES],
}

impl MatchingDifferencesBuilder {
    /// A builder for these crawlers, in the order in which they were asked for.
    #[must_use]
    pub fn new<'a>(crawlers: impl Iterator<Item = &'a str>) -> Self {
        let crawlers: Vec<String> = crawlers.map(str::to_owned).collect();
        Self { columns: Columns::of(&crawlers), crawlers, full: Vec::new(), counts: [0; CAUSES] }
    }

    /// Adds the rows of a URL.
    pub fn push(&mut self, url: &[u8], origin: Option<&str>, partings: &[Parting<'_>]) {
        if partings.is_empty() {
            return;
        }
        if self.columns.octets >= BATCH_OCTETS {
            let next = Columns::of(&self.crawlers);
            self.full.push(std::mem::replace(&mut self.columns, next).finish());
        }
        self.columns.push(url, origin, partings);
        for parting in partings {
            self.counts[place(parting.cause)] += 1;
        }
    }

    /// The rows, and how many there are by cause.
    #[must_use]
    pub fn finish(mut self) -> (Vec<RecordBatch>, [u64; CAUSES]) {
        self.full.push(self.columns.finish());
        (self.full, self.counts)
    }
}

/// The rows of one batch.
#[derive(Debug)]
struct Columns {
    url: Runs,
    origin: Runs,
    /// The last origin, which the next URL often shares.
    last_origin: Option<(String, usize)>,
    crawler: Words,
    rfc9309: Side,
    google: Side,
    cause: Words,
    octets: usize,
}

impl Columns {
    fn of(crawlers: &[String]) -> Self {
        Self {
            url: Runs::default(),
            origin: Runs::default(),
            last_origin: None,
            crawler: Words::of(crawlers.iter().map(String::as_str)),
            rfc9309: Side::default(),
            google: Side::default(),
            cause: Words::of(causes()),
            octets: 0,
        }
    }

    fn push(&mut self, url: &[u8], origin: Option<&str>, partings: &[Parting<'_>]) {
        let url = of_octets(url);
        self.octets += url.len();
        let url = self.url.add(&url);
        let origin = origin.map(|origin| self.origin_place(origin));
        for parting in partings {
            self.url.push(Some(url));
            self.origin.push(origin);
            self.crawler.push(Some(parting.crawler));
            self.octets += self.rfc9309.push(&parting.rfc9309) + self.google.push(&parting.google);
            self.cause.push(Some(place(parting.cause)));
        }
    }

    fn origin_place(&mut self, origin: &str) -> usize {
        match &self.last_origin {
            Some((last, place)) if last == origin => *place,
            _ => {
                self.octets += origin.len();
                let place = self.origin.add(origin);
                self.last_origin = Some((origin.to_owned(), place));
                place
            }
        }
    }

    fn finish(self) -> RecordBatch {
        let [rfc9309, google] = [self.rfc9309, self.google].map(Side::finish);
        let names = vec![self.url.finish(), self.origin.finish(), self.crawler.finish()];
        let columns = names.into_iter().chain(rfc9309).chain(google).chain([self.cause.finish()]);
        column::batch(schema(), columns.collect())
    }
}

/// The columns of one mode.
#[derive(Debug)]
struct Side {
    decision: Words,
    rule: Runs,
    line: Int32Builder,
    rules: HashMap<Box<str>, usize, RandomState>,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            decision: Words::of(Decision::ALL.iter().map(|decision| decision.as_str())),
            rule: Runs::default(),
            line: Int32Builder::new(),
            rules: HashMap::default(),
        }
    }
}

impl Side {
    /// Adds a row; how many octets it took.
    fn push(&mut self, told: &Told<'_>) -> usize {
        let (mut octets, mut place) = (0, None);
        if let Some((rule, _)) = told.rule {
            place = self.rules.get(rule).copied();
            if place.is_none() {
                let shown = of_octets_cut(rule.as_bytes(), RULE_OCTETS);
                octets = rule.len() + shown.len();
                place = Some(self.rule.add(&shown));
                self.rules.insert(rule.into(), self.rules.len());
            }
        }
        self.decision.push(Some(told.decision as usize));
        self.rule.push(place);
        self.line.append_option(told.rule.map(|(_, line)| line.cast_signed()));
        octets
    }

    fn finish(mut self) -> [ArrayRef; 3] {
        [self.decision.finish(), self.rule.finish(), Arc::new(self.line.finish())]
    }
}
