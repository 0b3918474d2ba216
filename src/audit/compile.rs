//! A body to what evaluation needs of it: rule sets for the plan's crawlers, evidence, the training preference; and to
//! its rows of the tables `bodies`, `rules` and `findings`.

use arrow::array::RecordBatch;

use super::plan::Plan;
use crate::robots::coverage::{self, Coverage, RulesFile};
use crate::robots::decision::Answer;
use crate::robots::finding::{Code, Finding};
use crate::robots::group::{Choice, GroupIndex, GroupSource};
use crate::robots::lex::Line;
use crate::robots::matcher::RuleSet;
use crate::robots::parse::{Robots, Rule};
use crate::robots::path::Path;
pub use crate::robots::rule_sets::Applied;
use crate::robots::rule_sets::RuleSets;
use crate::robots::verdict::Verdict;
use crate::signals::training::{self, Training};
use crate::tables::bodies::{BodiesBuilder, BodyCounts};
use crate::tables::crawler_access::{Access, AppliedRules, CrawlerAccess};
use crate::tables::fetches::BodyHash;
use crate::tables::findings::FindingsBuilder;
use crate::tables::rules::RulesBuilder;
use crate::tables::text::of_octets;
use crate::tables::training::{TokenRules, TrainingRow};

/// A body, compiled for the crawlers of a plan.
#[derive(Debug)]
pub struct CompiledBody {
    /// The distinct rule sets that the crawlers obey; URLs are evaluated against these.
    pub rule_sets: Vec<RuleSet>,
    /// For each crawler of the plan, in order.
    pub crawlers: Vec<Applied>,
    /// For each rule of the file, in order: the line as evidence.
    pub evidence: Vec<Box<str>>,
    /// The training preference.
    pub training: Training,
    /// For each crawler of the plan, its row of `crawler_access`.
    pub access: Vec<CrawlerAccess>,
    /// The row of `training`.
    pub training_row: TrainingRow,
}

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
        for finding in &robots.findings {
            rows.2.push(&hash, finding);
        }
        let (body, open_questions) = compile(plan, &robots);
        if open_questions > 0 {
            rows.2.push(&hash, &Finding { line: Line::FIRST, code: Code::AccessUndetermined, raw: b"" });
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

/// Compiles one parsed body; also how many rule sets have an access class that could not be settled.
fn compile(plan: &Plan, robots: &Robots<'_>) -> (CompiledBody, u64) {
    let index = GroupIndex::of(robots);
    let RuleSets { list: rule_sets, crawlers, .. } = RuleSets::of(robots, &index, &plan.asked);
    let coverages: Vec<Coverage> =
        rule_sets.iter().map(|rules| coverage::of_rules(rules, RulesFile::IsExempt)).collect();
    let undetermined = coverages.iter().filter(|coverage| **coverage == Coverage::Undetermined).count() as u64;
    let summary = Summary { plan, robots, index: &index, rule_sets: &rule_sets, coverages: &coverages };
    let training = Training::of(robots, &index);
    let body = CompiledBody {
        access: summary.access(&crawlers),
        training_row: summary.training(&training),
        evidence: robots.rules.iter().map(evidence).collect(),
        training,
        crawlers,
        rule_sets,
    };
    (body, undetermined)
}

/// Directive and value as written.
fn evidence(rule: &Rule<'_>) -> Box<str> {
    format!("{}: {}", of_octets(rule.key), of_octets(rule.value)).into()
}

/// What is told of a whole body.
struct Summary<'a> {
    plan: &'a Plan,
    robots: &'a Robots<'a>,
    index: &'a GroupIndex,
    rule_sets: &'a [RuleSet],
    coverages: &'a [Coverage],
}

impl Summary<'_> {
    fn access(&self, crawlers: &[Applied]) -> Vec<CrawlerAccess> {
        let delays = self.plan.asked.iter().map(|asked| self.crawl_delay(self.index.choose(asked)));
        crawlers.iter().zip(delays).map(|(applied, delay)| self.access_of(*applied, delay)).collect()
    }

    fn access_of(&self, applied: Applied, crawl_delay_s: Option<f64>) -> CrawlerAccess {
        let rules = &self.rule_sets[applied.rule_set];
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
                crawl_delay_s,
                drops_star_rules: self.star_rules_left_behind(applied.source),
            }),
        }
    }

    fn crawl_delay(&self, choice: Choice<'_>) -> Option<f64> {
        choice.groups.iter().find_map(|group| self.robots.groups[*group as usize].crawl_delay_s)
    }

    fn star_rules_left_behind(&self, source: GroupSource) -> u32 {
        match source {
            GroupSource::Named | GroupSource::Fallback => {
                let rules = self.index.star().iter().map(|group| self.robots.groups[*group as usize].rules.len());
                u32::try_from(rules.sum::<usize>()).unwrap_or(u32::MAX)
            }
            GroupSource::Star | GroupSource::None => 0,
        }
    }

    fn training(&self, training: &Training) -> TrainingRow {
        TrainingRow {
            token_present: Some(training.rules().is_some()),
            root_preference: training.preference(&Path::of(b"/")).0,
            scope: training.scope(),
            counts: training.rules().map(|rules| TokenRules {
                n_allow: rules.n_allow(),
                n_disallow: rules.n_disallow(),
                first_line: training.first_line(),
            }),
            near_misses: Some(training::near_misses(self.robots)),
            other_policy_tokens: Some(training::other_policy_tokens(self.robots)),
            names_ai_crawler: Some(self.index.tokens().any(|token| self.plan.ai_tokens.contains(token))),
        }
    }
}
