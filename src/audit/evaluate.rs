//! A batch of URLs to a batch of decisions: plain code, no files, no global state.
//!
//! A URL is evaluated against the distinct rule sets of its origin's body; crawlers only name them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::RandomState;
use arrow::array::RecordBatch;
use parquet::errors::ParquetError;

use super::compare::partings;
use super::compile::CompiledBody;
use super::library::{BodyId, Library};
use super::origins::{Entry, Found, Origins};
use super::plan::Plan;
use crate::origin::{URL_OCTETS, normal_form};
use crate::robots::decision::{Answer, Decision};
use crate::robots::group::GroupSource;
use crate::robots::path::{Path, RawPath};
use crate::robots::verdict::Verdict;
use crate::signals::training::Preference;
use crate::source::input::UrlBatch;
use crate::tables::decisions::{self, DecisionsBuilder, RulePlace};
use crate::tables::matching_differences::{CAUSES, MatchingDifferencesBuilder};
use crate::tables::pages::{EncodedRowGroup, encode};
use crate::tables::training_verdicts::{self, TrainingVerdict, TrainingVerdictsBuilder};

/// Evaluates URLs under a plan against compiled bodies.
#[derive(Debug, Clone)]
pub struct Evaluator {
    /// What is asked.
    pub plan: Arc<Plan>,
    /// The compiled bodies.
    pub library: Arc<Library>,
}

/// The rows of a batch of URLs.
#[derive(Debug)]
pub struct Evaluated {
    /// Rows of `decisions`.
    pub decisions: EncodedRowGroup,
    /// Rows of `training_verdicts`.
    pub training: EncodedRowGroup,
    /// URLs evaluated.
    pub urls: u64,
    /// Decisions by kind, in the order of [`Decision::ALL`].
    pub counts: [u64; Decision::ALL.len()],
    /// Rows of `matching_differences`.
    pub differences: Vec<RecordBatch>,
    /// These by cause, in the order of [`causes`](crate::tables::matching_differences::causes).
    pub parted: [u64; CAUSES],
    /// Time that finding origins, paths and verdicts took.
    pub matching: Duration,
    /// Time that encoding took.
    pub encoding: Duration,
}

/// A URL's origin, as far as it has one, and what is known of it.
pub type Resolved<'u> = (Option<Cow<'u, str>>, Entry);

/// Finds the origin of each URL, and notes those that the source holds not under this name.
#[derive(Debug)]
pub struct Resolver<'o, 'u> {
    origins: &'o Origins,
    /// Origins that only URLs name, each once, in the order of their first URL.
    added: Vec<Added>,
    noted: HashSet<Box<str>>,
    /// The origin that the last URL began with: the next one often does, too.
    last: Option<(&'u str, Entry)>,
}

/// An origin that only a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The origin.
    pub origin: Box<str>,
    /// What is known of it.
    pub entry: Entry,
}

impl<'o, 'u> Resolver<'o, 'u> {
    /// A resolver over the origins of a source.
    #[must_use]
    pub fn new(origins: &'o Origins) -> Self {
        Self { origins, added: Vec::new(), noted: HashSet::new(), last: None }
    }

    /// The origin of a URL and what is known of it.
    pub fn resolve(&mut self, url: &'u [u8]) -> Resolved<'u> {
        if let Some((origin, entry)) = self.last
            && begins_with_origin(url, origin)
        {
            return (Some(Cow::Borrowed(origin)), entry);
        }
        let Ok(origin) = normal_form(url) else {
            return (None, Entry::INVALID);
        };
        let entry = match self.origins.find(&origin) {
            Found::Held(entry) => entry,
            Found::AsHttps(entry) => self.note(&origin, entry),
            Found::Missing => self.note(&origin, Entry::NOT_COLLECTED),
        };
        self.last = match origin {
            Cow::Borrowed(origin) => Some((origin, entry)),
            Cow::Owned(_) => None,
        };
        (Some(origin), entry)
    }

    fn note(&mut self, origin: &str, entry: Entry) -> Entry {
        if !self.noted.contains(origin) {
            self.noted.insert(origin.into());
            self.added.push(Added { origin: origin.into(), entry });
        }
        entry
    }

    /// The origins that only URLs named.
    #[must_use]
    pub fn into_added(self) -> Vec<Added> {
        self.added
    }
}

/// Whether a URL begins with an origin in normal form that ends there.
fn begins_with_origin(url: &[u8], origin: &str) -> bool {
    let rest = url.strip_prefix(origin.as_bytes());
    url.len() <= URL_OCTETS && rest.is_some_and(|rest| matches!(rest, [] | [b'/' | b'?' | b'#', ..]))
}

impl Evaluator {
    /// Evaluates URLs; `resolve` gives the origin of each, in order. The rows come encoded, a row group each.
    ///
    /// # Errors
    /// Where the rows cannot be encoded: a URL of gigabytes.
    pub fn evaluate<'u>(
        &self,
        urls: &'u UrlBatch,
        mut resolve: impl FnMut(&'u [u8]) -> Resolved<'u>,
    ) -> Result<Evaluated, ParquetError> {
        let start = Instant::now();
        let mut rows = Rows::new(self);
        let mut buffer = Vec::new();
        for url in urls.iter() {
            let (origin, entry) = resolve(url);
            let path = RawPath::read(url, self.plan.matching).prepare(&mut buffer);
            rows.decisions.url(url, origin.as_deref(), entry.checked_at);
            rows.answers(&entry, &path);
            rows.training(url, origin.as_deref(), &entry, &path);
            rows.compare(url, origin.as_deref(), &entry);
        }
        rows.note(rows.served);
        let (differences, parted) =
            rows.differences.take().map_or_else(Default::default, MatchingDifferencesBuilder::finish);
        let matching = start.elapsed();
        Ok(Evaluated {
            differences,
            parted,
            decisions: encode(&decisions::run_schema(), &rows.decisions.take())?,
            training: encode(&training_verdicts::run_schema(), &rows.verdicts.take())?,
            urls: urls.len() as u64,
            counts: rows.counts,
            matching,
            encoding: start.elapsed().saturating_sub(matching),
        })
    }
}

/// Rows being built for one batch.
struct Rows<'e> {
    evaluator: &'e Evaluator,
    decisions: DecisionsBuilder,
    verdicts: TrainingVerdictsBuilder,
    /// Where the plan compares the modes of matching.
    differences: Option<MatchingDifferencesBuilder>,
    counts: [u64; Decision::ALL.len()],
    /// Rule texts that were added to the decisions.
    rules: HashMap<(BodyId, u32), RulePlace, RandomState>,
    /// For each rule set of the body at hand: the answer, and the text of the rule behind it.
    answers: Vec<(Answer, Option<RulePlace>)>,
    /// How many crawlers are asked about.
    crawlers: u32,
    /// The body asked last, and how many paths in a row.
    served: Option<(BodyId, u64)>,
}

impl<'e> Rows<'e> {
    fn new(evaluator: &'e Evaluator) -> Self {
        let crawlers = || evaluator.plan.crawlers.iter().map(|crawler| crawler.token.as_str());
        Self {
            evaluator,
            decisions: DecisionsBuilder::new(crawlers()),
            differences: evaluator.plan.compare_matching.then(|| MatchingDifferencesBuilder::new(crawlers())),
            verdicts: TrainingVerdictsBuilder::default(),
            counts: [0; Decision::ALL.len()],
            rules: HashMap::default(),
            answers: Vec::new(),
            crawlers: u32::try_from(evaluator.plan.crawlers.len()).expect("crawlers are few"),
            served: None,
        }
    }

    fn answers(&mut self, entry: &Entry, path: &Path<'_>) {
        let library = &self.evaluator.library;
        let fixed = Answer::before_rules(self.evaluator.plan.policy, entry.class, entry.outage, path);
        match (fixed, entry.body) {
            (None, Some(id)) => self.by_rules(id, library.get(id), path),
            (fixed, _) => {
                let answer = fixed.expect("where rules count there is a body");
                self.for_all(&answer, entry.body_read().map(|id| library.get(id)));
            }
        }
    }

    fn by_rules(&mut self, id: BodyId, body: &CompiledBody, path: &Path<'_>) {
        self.serve(id);
        self.answers.clear();
        for (rules, source) in body.sets.list.iter().zip(&body.sets.sources) {
            let answer = Answer::of_verdict(Verdict::of_path(rules, *source, path));
            let rule = answer.hit.map(|hit| self.rule_place(id, body, hit.rule));
            self.answers.push((answer, rule));
        }
        for segment in &body.segments {
            let (answer, rule) = self.answers[segment.applied.rule_set];
            self.answer(segment.crawlers, &answer, Some(segment.applied.source), rule);
        }
    }

    fn for_all(&mut self, answer: &Answer, body: Option<&CompiledBody>) {
        let Some(body) = body else {
            return self.answer(self.crawlers, answer, None, None);
        };
        for segment in &body.segments {
            self.answer(segment.crawlers, answer, Some(segment.applied.source), None);
        }
    }

    fn answer(&mut self, crawlers: u32, answer: &Answer, group: Option<GroupSource>, rule: Option<RulePlace>) {
        self.counts[answer.decision as usize] += u64::from(crawlers);
        self.decisions.answer_run(crawlers, answer, group, rule);
    }

    /// Counts paths asked of a body, so that a busy one gets a matcher that is dearer to build and cheaper to ask.
    fn serve(&mut self, id: BodyId) {
        match &mut self.served {
            Some((served, paths)) if *served == id => *paths += 1,
            served => {
                let before = served.replace((id, 1));
                self.note(before);
            }
        }
    }

    fn note(&self, served: Option<(BodyId, u64)>) {
        let Some((id, paths)) = served else { return };
        for rules in &self.evaluator.library.get(id).sets.list {
            rules.note_served(paths);
        }
    }

    fn rule_place(&mut self, id: BodyId, body: &CompiledBody, rule: u32) -> RulePlace {
        let decisions = &mut self.decisions;
        *self.rules.entry((id, rule)).or_insert_with(|| decisions.rule(&body.evidence[rule as usize]))
    }

    fn compare(&mut self, url: &[u8], origin: Option<&str>, entry: &Entry) {
        let Some(differences) = &mut self.differences else { return };
        let body = entry.body.map(|id| self.evaluator.library.get(id));
        differences.push(url, origin, &partings(&self.evaluator.plan, (entry.class, entry.outage), body, url));
    }

    fn training(&mut self, url: &[u8], origin: Option<&str>, entry: &Entry, path: &Path<'_>) {
        let body = entry.body_read().map(|id| self.evaluator.library.get(id));
        let without_file = || (Preference::without_file(entry.class), None);
        let (verdict, hit) = body.map_or_else(without_file, |body| body.training.preference(path));
        let rule = body.zip(hit).map(|(body, hit)| (&*body.evidence[hit.rule as usize], u32::from(hit.line)));
        self.verdicts.push(TrainingVerdict { url, origin, verdict, rule, checked_at: entry.checked_at });
    }
}
