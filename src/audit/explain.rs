//! One file and a few URLs: the same answers as in the tables, one by one.

use super::compare::partings;
use super::compile::{self, CompiledBody, evidence};
use super::plan::Plan;
use crate::origin::normal_form;
use crate::robots::access::{FetchClass, Outage};
use crate::robots::decision::Answer;
use crate::robots::group::{GroupIndex, GroupSource};
use crate::robots::matcher::{Hit, RuleSet};
use crate::robots::parse::Robots;
use crate::robots::path::RawPath;
use crate::robots::token::{Asked, Matching};
use crate::robots::verdict::Verdict;
use crate::signals::training::{Preference, Training};
use crate::tables::matching_differences::Parting;

/// A file, or the lack of one, ready to be asked.
#[derive(Debug)]
pub struct Subject<'a> {
    class: FetchClass,
    file: Option<File<'a>>,
}

#[derive(Debug)]
struct File<'a> {
    robots: Robots<'a>,
    index: GroupIndex,
    training: Training,
    /// In both modes of matching, where the plan compares them.
    compiled: Option<CompiledBody>,
}

/// The answer about one URL for one crawler.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// May it be fetched, and why.
    pub answer: Answer,
    /// How the groups were found, where a file was read.
    pub group_source: Option<GroupSource>,
    /// The deciding line as written.
    pub matched_rule: Option<String>,
}

/// The training preference for one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingExplanation {
    /// The preference.
    pub preference: Preference,
    /// The deciding line as written, and its number.
    pub rule: Option<(String, u32)>,
}

impl<'a> Subject<'a> {
    /// What came of asking for a file: its class, and its body where one was read.
    #[must_use]
    pub fn new(plan: &Plan, class: FetchClass, body: Option<&'a [u8]>) -> Self {
        let file = body.filter(|_| class.has_body()).map(|body| {
            let robots = Robots::parse(body, plan.matching);
            let index = GroupIndex::of(&robots);
            let training = Training::of(&robots, &index);
            let compiled = plan.compare_matching.then(|| compile::body(plan, body));
            File { robots, index, training, compiled }
        });
        // Without its file an answer is none: it must not become "no rules".
        let is_lost = class.has_body() && file.is_none();
        Self { class: if is_lost { FetchClass::NotCollected } else { class }, file }
    }

    /// The parsed file, where one was read.
    #[must_use]
    pub fn robots(&self) -> Option<&Robots<'a>> {
        self.file.as_ref().map(|file| &file.robots)
    }

    /// The answer about a URL for a crawler.
    ///
    /// # Panics
    /// Never: what was made without its file has no class whose rules count.
    #[must_use]
    pub fn explain(&self, plan: &Plan, asked: &Asked, url: &[u8]) -> Explanation {
        let mut buffer = Vec::new();
        let path = RawPath::read(url, plan.matching).prepare(&mut buffer);
        let class = self.class_of(url);
        let choice = self.file.as_ref().map(|file| file.index.choose(asked));
        let by_rules = || {
            let (file, choice) = self.file.as_ref().zip(choice).expect("a class whose rules count has a file");
            let rules = RuleSet::of_groups(&file.robots, choice.groups);
            Answer::of_verdict(Verdict::of_path(&rules, choice.source, &path))
        };
        let answer = Answer::before_rules(plan.policy, class, Outage::UNKNOWN, &path).unwrap_or_else(by_rules);
        Explanation {
            group_source: choice.map(|choice| choice.source),
            matched_rule: answer.hit.and_then(|hit| self.rule(hit)),
            answer,
        }
    }

    /// The class behind a URL: that of the file, where the URL is a path or names an origin.
    fn class_of(&self, url: &[u8]) -> FetchClass {
        let is_path = matches!(url, [b'/', second, ..] if *second != b'/') || url == b"/";
        if is_path || normal_form(url).is_ok() { self.class } else { FetchClass::InvalidTarget }
    }

    /// Where the two modes of matching part about a URL; none where the plan does not compare them.
    #[must_use]
    pub fn partings(&self, plan: &Plan, url: &[u8]) -> Vec<Parting<'_>> {
        if !plan.compare_matching {
            return Vec::new();
        }
        let compiled = self.file.as_ref().and_then(|file| file.compiled.as_ref());
        partings(plan, (self.class_of(url), Outage::UNKNOWN), compiled, url)
    }

    /// The training preference for a URL.
    #[must_use]
    pub fn training(&self, url: &[u8]) -> TrainingExplanation {
        let mut buffer = Vec::new();
        let matching = self.robots().map_or(Matching::Rfc9309, |robots| robots.matching);
        let path = RawPath::read(url, matching).prepare(&mut buffer);
        let without_file = || (Preference::without_file(self.class), None);
        let (preference, hit) = self.file.as_ref().map_or_else(without_file, |file| file.training.preference(&path));
        let rule = hit.and_then(|hit| Some((self.rule(hit)?, hit.line.into())));
        TrainingExplanation { preference, rule }
    }

    /// A rule as written: directive and value.
    fn rule(&self, hit: Hit) -> Option<String> {
        self.file.as_ref()?.robots.rules.get(hit.rule as usize).map(evidence)
    }
}
