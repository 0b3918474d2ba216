//! A batch of URLs to a batch of decisions: plain code, no files, no global state.
//!
//! A URL is evaluated against the distinct rule sets of its origin's body; crawlers only name them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::compile::{Applied, CompiledBody};
use super::library::{BodyId, Library};
use super::origins::{Entry, Found, Origins};
use super::plan::Plan;
use crate::origin::normal_form;
use crate::robots::access::FetchClass;
use crate::robots::decision::{Answer, Decision};
use crate::robots::path::{Path, RawPath};
use crate::robots::verdict::Verdict;
use crate::signals::training::Preference;
use crate::source::input::UrlBatch;
use crate::tables::decisions::{DecisionsBuilder, RulePlace};
use crate::tables::training_verdicts::{TrainingVerdict, TrainingVerdictsBuilder};

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
    pub decisions: RecordBatch,
    /// Rows of `training_verdicts`.
    pub training: RecordBatch,
    /// URLs evaluated.
    pub urls: u64,
    /// Decisions by kind, in the order of [`Decision::ALL`].
    pub counts: [u64; Decision::ALL.len()],
}

/// A URL's origin, as far as it has one, and what is known of it.
pub type Resolved<'u> = (Option<Cow<'u, str>>, Entry);

/// Finds the origin of each URL, and notes those that the source holds not under this name.
#[derive(Debug)]
pub struct Resolver<'o> {
    origins: &'o Origins,
    /// Origins that only URLs name, each once, in the order of their first URL.
    added: Vec<Added>,
    noted: HashSet<Box<str>>,
}

/// An origin that only a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The origin.
    pub origin: Box<str>,
    /// What is known of it.
    pub entry: Entry,
}

impl<'o> Resolver<'o> {
    /// A resolver over the origins of a source.
    #[must_use]
    pub fn new(origins: &'o Origins) -> Self {
        Self { origins, added: Vec::new(), noted: HashSet::new() }
    }

    /// The origin of a URL and what is known of it.
    pub fn resolve<'u>(&mut self, url: &'u [u8]) -> Resolved<'u> {
        let Ok(origin) = normal_form(url) else {
            return (None, Entry::INVALID);
        };
        let entry = match self.origins.find(&origin) {
            Found::Held(entry) => entry,
            Found::AsHttps(entry) => self.note(&origin, entry),
            Found::Missing => self.note(&origin, Entry::NOT_COLLECTED),
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

impl Evaluator {
    /// Evaluates URLs; `resolve` gives the origin of each, in order.
    pub fn evaluate<'u>(&self, urls: &'u UrlBatch, mut resolve: impl FnMut(&'u [u8]) -> Resolved<'u>) -> Evaluated {
        let mut rows = Rows::new(self);
        let mut buffer = Vec::new();
        for url in urls.iter() {
            let (origin, entry) = resolve(url);
            let path = RawPath::of_url(url).prepare(&mut buffer);
            rows.decisions.url(url, origin.as_deref(), entry.checked_at);
            rows.answers(&entry, &path);
            rows.training(url, origin.as_deref(), &entry, &path);
        }
        Evaluated {
            decisions: rows.decisions.finish(),
            training: rows.verdicts.finish(),
            urls: urls.len() as u64,
            counts: rows.counts,
        }
    }
}

/// Rows being built for one batch.
struct Rows<'e> {
    evaluator: &'e Evaluator,
    decisions: DecisionsBuilder,
    verdicts: TrainingVerdictsBuilder,
    counts: [u64; Decision::ALL.len()],
    /// Rule texts that were added to the decisions.
    rules: HashMap<(BodyId, u32), RulePlace>,
    /// For each rule set of the body at hand: the answer, and the text of the rule behind it.
    answers: Vec<(Answer, Option<RulePlace>)>,
}

impl<'e> Rows<'e> {
    fn new(evaluator: &'e Evaluator) -> Self {
        Self {
            evaluator,
            decisions: DecisionsBuilder::new(evaluator.plan.crawlers.iter().map(|crawler| crawler.token.as_str())),
            verdicts: TrainingVerdictsBuilder::default(),
            counts: [0; Decision::ALL.len()],
            rules: HashMap::new(),
            answers: Vec::new(),
        }
    }

    fn answers(&mut self, entry: &Entry, path: &Path<'_>) {
        let body = entry.body.map(|id| (id, self.evaluator.library.get(id)));
        let fixed = if path.is_robots_txt() {
            Some(Answer::ROBOTS_TXT)
        } else {
            Answer::without_rules(self.evaluator.plan.policy, entry.class)
        };
        match (fixed, body) {
            (None, Some((id, body))) => self.by_rules(id, body, path),
            (fixed, body) => {
                let answer = fixed.expect("a class whose rules count has a body");
                self.for_all(&answer, body.map(|(_, body)| &body.crawlers[..]));
            }
        }
    }

    fn by_rules(&mut self, id: BodyId, body: &CompiledBody, path: &Path<'_>) {
        self.answers.clear();
        for (place, rules) in body.rule_sets.iter().enumerate() {
            let source = body.crawlers.iter().find(|applied| applied.rule_set == place).map(|applied| applied.source);
            let verdict = Verdict::of_path(rules, source.expect("a rule set is some crawler's"), path);
            let answer = Answer::of_verdict(verdict);
            let rule = answer.hit.map(|hit| self.rule_place(id, body, hit.rule));
            self.answers.push((answer, rule));
        }
        for (crawler, applied) in body.crawlers.iter().enumerate() {
            let (answer, rule) = self.answers[applied.rule_set];
            self.answer(crawler, &answer, Some(*applied), rule);
        }
    }

    fn for_all(&mut self, answer: &Answer, applied: Option<&[Applied]>) {
        for crawler in 0..self.evaluator.plan.crawlers.len() {
            self.answer(crawler, answer, applied.map(|applied| applied[crawler]), None);
        }
    }

    fn answer(&mut self, crawler: usize, answer: &Answer, applied: Option<Applied>, rule: Option<RulePlace>) {
        self.counts[answer.decision as usize] += 1;
        self.decisions.answer(crawler, answer, applied.map(|applied| applied.source), rule);
    }

    fn rule_place(&mut self, id: BodyId, body: &CompiledBody, rule: u32) -> RulePlace {
        let decisions = &mut self.decisions;
        *self.rules.entry((id, rule)).or_insert_with(|| decisions.rule(&body.evidence[rule as usize]))
    }

    fn training(&mut self, url: &[u8], origin: Option<&str>, entry: &Entry, path: &Path<'_>) {
        let body = entry.body.map(|id| self.evaluator.library.get(id));
        let (verdict, hit) = match (body, entry.class) {
            (Some(body), _) => body.training.preference(path),
            (None, FetchClass::Missing) => (Preference::NoneExpressed, None),
            (None, _) => (Preference::Unknown, None),
        };
        let rule = body.zip(hit).map(|(body, hit)| (&*body.evidence[hit.rule as usize], u32::from(hit.line)));
        self.verdicts.push(TrainingVerdict { url, origin, verdict, rule, checked_at: entry.checked_at });
    }
}
