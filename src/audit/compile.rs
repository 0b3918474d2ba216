//! A body to what evaluation needs of it: rule sets for the plan's crawlers, evidence, the training preference; and to
//! its rows of the tables `bodies`, `rules` and `findings`.

use arrow::array::RecordBatch;

use super::compare::Comparison;
use super::plan::Plan;
use crate::robots::coverage::{self, Budget, Coverage, RulesFile};
use crate::robots::decision::Answer;
use crate::robots::finding::{Code, Finding};
use crate::robots::group::{Choice, GroupIndex, GroupSource};
use crate::robots::lex::Line;
use crate::robots::parse::{Robots, Rule};
use crate::robots::path::Path;
use crate::robots::rule_sets::{Applied, RuleSets};
use crate::robots::token::Asked;
use crate::robots::verdict::Verdict;
use crate::signals::Signals;
use crate::signals::conflict::{Conflict, CrawlerRoots, RootAccess};
use crate::signals::training::Training;
use crate::tables::bodies::{BodiesBuilder, BodyCounts};
use crate::tables::crawler_access::{Access, AppliedRules, CrawlerAccess};
use crate::tables::fetches::BodyHash;
use crate::tables::findings::FindingsBuilder;
use crate::tables::rules::RulesBuilder;
use crate::tables::text::{of_octets, of_octets_cut};
use crate::tables::training::{SignalCells, TokenRules, TrainingRow};

/// A body, compiled for the crawlers of a plan.
#[derive(Debug)]
pub struct CompiledBody {
    /// The distinct rule sets that the crawlers obey; URLs are evaluated against these.
    pub sets: RuleSets,
    /// The crawlers of the plan in order, neighbours that obey the same rules as one.
    pub segments: Vec<Segment>,
    /// For each rule of the file, in order: the line as evidence.
    pub evidence: Vec<Box<str>>,
    /// The training preference.
    pub training: Training,
    /// For each crawler of the plan, its row of `crawler_access`.
    pub access: Vec<CrawlerAccess>,
    /// The row of `training`.
    pub training_row: TrainingRow,
    /// The other mode of matching, where the plan compares them.
    pub comparison: Option<Box<Comparison>>,
}

/// Neighbouring crawlers of the plan that obey the same rules for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// How many there are.
    pub crawlers: u32,
    /// What they obey.
    pub applied: Applied,
}

impl Segment {
    fn all(crawlers: &[Applied]) -> Vec<Self> {
        let segment =
            |run: &[Applied]| Self { crawlers: u32::try_from(run.len()).unwrap_or(u32::MAX), applied: run[0] };
        crawlers.chunk_by(|one, next| one == next).map(segment).collect()
    }
}

/// Octets kept of a rule as evidence. Longer ones are cut; table `rules` holds them whole.
pub const EVIDENCE_OCTETS: usize = 8 * 1024;

/// Several bodies, compiled, and their rows.
#[derive(Debug)]
pub struct CompiledChunk {
    /// The bodies.
    pub bodies: Vec<(BodyHash, CompiledBody)>,
    /// Rows of `bodies`.
    pub bodies_rows: RecordBatch,
    /// Rows of `rules`.
    pub rules_rows: RecordBatch,
    /// Rows of `findings`.
    pub findings_rows: RecordBatch,
    /// Rule sets whose access class could not be settled.
    pub undetermined: u64,
}

/// Compiles several bodies.
#[must_use]
pub fn chunk(plan: &Plan, bodies: Vec<(BodyHash, Vec<u8>)>) -> CompiledChunk {
    let mut rows = (BodiesBuilder::default(), RulesBuilder::default(), FindingsBuilder::default());
    let mut compiled = Vec::with_capacity(bodies.len());
    let mut undetermined = 0;
    for (hash, body) in bodies {
        let robots = Robots::parse(&body, plan.matching);
        rows.0.push(&hash, &body, &BodyCounts::of(&robots));
        rows.1.push(&hash, &robots);
        rows.2.body(&hash);
        robots.findings.iter().for_each(|finding| rows.2.push(finding));
        let index = GroupIndex::of(&robots);
        let signals = Signals::of(&robots, &index, &body);
        let conflicts = conflicts(plan, &robots, &index, &signals);
        signals.findings(&conflicts).iter().for_each(|finding| rows.2.push(finding));
        let (body, open_questions) = compile(plan, &body, &robots, &index, (signals, conflicts));
        if open_questions > 0 {
            rows.2.push(&Finding { line: Line::FIRST, code: Code::AccessUndetermined, raw: b"" });
        }
        undetermined += open_questions;
        compiled.push((hash, body));
    }
    let (mut bodies_rows, rules_rows, findings_rows) = rows;
    CompiledChunk {
        bodies: compiled,
        bodies_rows: bodies_rows.finish(),
        rules_rows: rules_rows.finish(),
        findings_rows: findings_rows.finish(),
        undetermined,
    }
}

/// Compiles one body.
#[must_use]
pub fn body(plan: &Plan, body: &[u8]) -> CompiledBody {
    let robots = Robots::parse(body, plan.matching);
    let index = GroupIndex::of(&robots);
    let signals = Signals::of(&robots, &index, body);
    let conflicts = conflicts(plan, &robots, &index, &signals);
    compile(plan, body, &robots, &index, (signals, conflicts)).0
}

/// Compiles one parsed body; also how many rule sets have an access class that could not be settled.
fn compile(
    plan: &Plan,
    octets: &[u8],
    robots: &Robots<'_>,
    index: &GroupIndex,
    (signals, conflicts): (Signals<'_>, Vec<Conflict>),
) -> (CompiledBody, u64) {
    let sets = RuleSets::of(robots, index, &plan.asked);
    let mut budget = Budget::default();
    let coverage_of = |rules| coverage::of_rules(rules, RulesFile::of(plan.matching), &mut budget);
    let coverages: Vec<Coverage> = sets.list.iter().map(coverage_of).collect();
    let undetermined = coverages.iter().filter(|coverage| **coverage == Coverage::Undetermined).count() as u64;
    let summary = Summary { plan, robots, index, sets: &sets, coverages: &coverages };
    let body = CompiledBody {
        access: summary.access(),
        training_row: summary.training(&signals, conflicts),
        evidence: robots.rules.iter().map(|rule| evidence(rule).into()).collect(),
        training: signals.training,
        segments: Segment::all(&sets.crawlers),
        comparison: plan.compare_matching.then(|| Box::new(Comparison::of(plan, octets, robots, &sets))),
        sets,
    };
    (body, undetermined)
}

/// The contradictions of a body; crawlers are asked about only where a signal concerns them.
pub(super) fn conflicts(plan: &Plan, robots: &Robots<'_>, index: &GroupIndex, signals: &Signals<'_>) -> Vec<Conflict> {
    let crawlers = signals.concern_crawlers().then(|| CrawlerRoots {
        training: RootAccess::of(robots, index, &plan.training_crawlers),
        search: RootAccess::of(robots, index, &plan.search_crawlers),
    });
    signals.conflicts(crawlers.as_ref())
}

/// Directive and value as written.
pub(crate) fn evidence(rule: &Rule<'_>) -> String {
    if rule.value.is_empty() {
        return format!("{}:", of_octets(rule.key));
    }
    let mut text = format!("{}: {}", of_octets(rule.key), of_octets_cut(rule.value, EVIDENCE_OCTETS));
    if rule.value.len() > EVIDENCE_OCTETS {
        text.push('…');
    }
    text
}

/// Seconds of the first valid Crawl-delay of these groups.
pub(super) fn crawl_delay_s(robots: &Robots<'_>, choice: &Choice<'_>) -> Option<f64> {
    choice.groups.iter().find_map(|group| robots.groups[*group as usize].crawl_delay_s)
}

/// Rules of the wildcard that would apply to the crawler, had it no group of its own.
pub(super) fn star_rules_left_behind(
    robots: &Robots<'_>,
    index: &GroupIndex,
    asked: &Asked,
    choice: &Choice<'_>,
) -> u32 {
    let is_own = matches!(choice.source, GroupSource::Named | GroupSource::Fallback);
    if !is_own || !matches!(asked, Asked::Named { star_applies: true, .. }) {
        return 0;
    }
    let left_behind = index.star().iter().filter(|group| !choice.groups.contains(group));
    let rules = left_behind.map(|group| robots.groups[*group as usize].rules.len());
    u32::try_from(rules.sum::<usize>()).unwrap_or(u32::MAX)
}

/// What is told of a whole body.
struct Summary<'a> {
    plan: &'a Plan,
    robots: &'a Robots<'a>,
    index: &'a GroupIndex,
    sets: &'a RuleSets,
    coverages: &'a [Coverage],
}

impl Summary<'_> {
    fn access(&self) -> Vec<CrawlerAccess> {
        let asked = self.sets.crawlers.iter().zip(&self.plan.asked);
        asked.map(|(applied, asked)| self.access_of(*applied, asked)).collect()
    }

    fn access_of(&self, applied: Applied, asked: &Asked) -> CrawlerAccess {
        let rules = &self.sets.list[applied.rule_set];
        let choice = self.index.choose(asked);
        let access = match self.coverages[applied.rule_set] {
            Coverage::Everything => Access::Full,
            Coverage::Nothing => Access::Blocked,
            Coverage::Partial | Coverage::Undetermined => Access::Partial,
        };
        let root = Verdict::of_path(rules, applied.source, &Path::of(b"/"));
        CrawlerAccess {
            access,
            root_decision: Answer::of_verdict(root).decision,
            rules: Some(AppliedRules {
                group_source: applied.source,
                n_allow: rules.n_allow(),
                n_disallow: rules.n_disallow(),
                crawl_delay_s: crawl_delay_s(self.robots, &choice),
                drops_star_rules: star_rules_left_behind(self.robots, self.index, asked, &choice),
            }),
        }
    }

    fn training(&self, signals: &Signals<'_>, conflicts: Vec<Conflict>) -> TrainingRow {
        let training = &signals.training;
        TrainingRow {
            token_present: Some(training.rules().is_some()),
            root_preference: signals.root.training,
            scope: training.scope(),
            counts: training.rules().map(|rules| TokenRules {
                n_allow: rules.n_allow(),
                n_disallow: rules.n_disallow(),
                first_line: training.first_line(),
            }),
            near_misses: Some(signals.near_misses.clone()),
            other_policy_tokens: Some(signals.other_policy_tokens.clone()),
            names_ai_crawler: Some(self.index.tokens().any(|token| self.plan.ai_tokens.contains(token))),
            signals: Some(SignalCells {
                train_ai: signals.root.train_ai,
                search: signals.root.search,
                content_signal: signals.root.content_signal,
                rsl_license_urls: signals.licenses.urls().map(|url| of_octets(url).into_owned()).collect(),
                cloudflare_managed: signals.comments.managed.is_some(),
                conflicts,
            }),
        }
    }
}
