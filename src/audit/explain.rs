//! One file and a few URLs: the same answers as in the tables, one by one.

use super::compile::evidence;
use super::plan::Plan;
use crate::origin::normal_form;
use crate::robots::access::FetchClass;
use crate::robots::decision::Answer;
use crate::robots::group::{GroupIndex, GroupSource};
use crate::robots::matcher::{Hit, RuleSet};
use crate::robots::parse::Robots;
use crate::robots::path::RawPath;
use crate::robots::token::{Asked, Matching};
use crate::robots::verdict::Verdict;
use crate::signals::training::{Preference, Training};

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
            File { robots, index, training }
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
        let is_path = matches!(url, [b'/', second, ..] if *second != b'/') || url == b"/";
        let class = if is_path || normal_form(url).is_ok() { self.class } else { FetchClass::InvalidTarget };
        let choice = self.file.as_ref().map(|file| file.index.choose(asked));
        let by_rules = || {
            let (file, choice) = self.file.as_ref().zip(choice).expect("a class whose rules count has a file");
            let rules = RuleSet::of_groups(&file.robots, choice.groups);
            Answer::of_verdict(Verdict::of_path(&rules, choice.source, &path))
        };
        let answer = Answer::before_rules(plan.policy, class, &path).unwrap_or_else(by_rules);
        Explanation {
            group_source: choice.map(|choice| choice.source),
            matched_rule: answer.hit.and_then(|hit| self.rule(hit)),
            answer,
        }
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
