//! One file and a few URLs: the same answers as in the tables, one by one, with all that led to them.
//!
//! Plain data; how it is shown is left to others.
//!
//! | module | holds |
//! |---|---|
//! | [`group`] | the groups that apply to a crawler, why, and what they are merged to |
//! | [`math`] | every rule that matches a path, and which decides |
//! | [`context`] | lines of the file around the one that decides |
//! | [`remark`] | findings that touch an answer |
//! | [`usage`] | what signals say of the use of a page |

pub mod context;
pub mod group;
pub mod math;
pub mod remark;
pub mod usage;

use self::context::ContextLine;
use self::group::AppliedGroups;
use self::math::Math;
use self::remark::Remark;
use self::usage::UsageFacts;
use super::compare::partings;
use super::compile::{self, CompiledBody, evidence};
use super::plan::Plan;
use crate::origin::normal_form;
use crate::robots::access::{FetchClass, Outage};
use crate::robots::decision::{Answer, DecisionSource};
use crate::robots::group::{GroupIndex, GroupSource};
use crate::robots::lex::readable;
use crate::robots::matcher::Hit;
use crate::robots::parse::Robots;
use crate::robots::path::{Path, RawPath};
use crate::robots::rule_sets::RuleSets;
use crate::robots::token::Matching;
use crate::robots::verdict::Verdict;
use crate::signals::Signals;
use crate::signals::conflict::Conflict;
use crate::signals::fact::Fact;
use crate::signals::training::Preference;
use crate::tables::matching_differences::Parting;
use crate::tables::text::of_octets;

/// A file, or the lack of one, ready to be asked.
#[derive(Debug)]
pub struct Subject<'a> {
    class: FetchClass,
    file: Option<File<'a>>,
}

#[derive(Debug)]
struct File<'a> {
    body: &'a [u8],
    robots: Robots<'a>,
    index: GroupIndex,
    signals: Signals<'a>,
    conflicts: Vec<Conflict>,
    /// In both modes of matching, where the plan compares them.
    compiled: Option<CompiledBody>,
}

/// What was lost at the size limit (§2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The limit, in octets.
    pub limit_octets: usize,
    /// Octets of the body.
    pub octets: usize,
    /// Octets that were not read, from the first line that does not end within the limit.
    pub octets_lost: usize,
    /// The last line that was read; 0 where none was.
    pub last_line: u32,
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

/// What led to an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Path and query, as they are compared.
    pub path: String,
    /// The rules that match; `None` where no rules were asked.
    pub math: Option<Math>,
    /// The deciding line, what stands around it, and the user-agent lines that lead to it.
    pub context: Vec<ContextLine>,
    /// Findings that touch the answer.
    pub remarks: Vec<Remark>,
    /// What signals say of the page's use.
    pub usage: UsageFacts,
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
        let file = body.filter(|_| class.has_body()).map(|body| File::read(plan, body));
        // Without its file an answer is none: it must not become "no rules".
        let is_lost = class.has_body() && file.is_none();
        Self { class: if is_lost { FetchClass::NotCollected } else { class }, file }
    }

    /// The parsed file, where one was read.
    #[must_use]
    pub fn robots(&self) -> Option<&Robots<'a>> {
        self.file.as_ref().map(|file| &file.robots)
    }

    /// What was lost at the size limit, if anything was.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        let file = self.file.as_ref().filter(|file| file.robots.is_truncated)?;
        let limit_octets = file.robots.matching.parse_octets();
        let kept = readable(file.body, limit_octets).octets;
        let mark_octets = kept.as_ptr().addr() - file.body.as_ptr().addr();
        let octets = file.body.len();
        let octets_lost = octets - mark_octets - kept.len();
        Some(Cut { limit_octets, octets, octets_lost, last_line: file.robots.lines })
    }

    /// What the file says beside its rules, in file order.
    #[must_use]
    pub fn facts(&self) -> &[Fact<'a>] {
        self.file.as_ref().map_or(&[], |file| file.signals.facts())
    }

    /// Signals that contradict each other or the rules.
    #[must_use]
    pub fn conflicts(&self) -> &[Conflict] {
        self.file.as_ref().map_or(&[], |file| &file.conflicts)
    }

    /// Whether a group names the training token.
    #[must_use]
    pub fn names_training_token(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.signals.training.rules().is_some())
    }

    /// The crawlers of a plan before this subject.
    #[must_use]
    pub fn panel<'s>(&'s self, plan: &'s Plan) -> Panel<'s> {
        let sets = self.file.as_ref().map(|file| RuleSets::of(&file.robots, &file.index, &plan.asked));
        Panel { subject: self, plan, sets }
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
        let of_file = |file: &File<'_>| file.signals.training.preference(&path);
        let (preference, hit) = self.file.as_ref().map_or_else(without_file, of_file);
        let rule = hit.and_then(|hit| Some((self.rule(hit)?, hit.line.into())));
        TrainingExplanation { preference, rule }
    }

    /// A rule as written: directive and value.
    fn rule(&self, hit: Hit) -> Option<String> {
        self.file.as_ref()?.robots.rules.get(hit.rule as usize).map(evidence)
    }
}

impl<'a> File<'a> {
    fn read(plan: &Plan, body: &'a [u8]) -> Self {
        let robots = Robots::parse(body, plan.matching);
        let index = GroupIndex::of(&robots);
        let signals = Signals::of(&robots, &index, body);
        let conflicts = compile::conflicts(plan, &robots, &index, &signals);
        let compiled = plan.compare_matching.then(|| compile::body(plan, body));
        Self { body, robots, index, signals, conflicts, compiled }
    }
}

/// The crawlers of a plan before one subject: each is known by its place in the plan.
#[derive(Debug)]
pub struct Panel<'s> {
    subject: &'s Subject<'s>,
    plan: &'s Plan,
    /// `None` where no file was read.
    sets: Option<RuleSets>,
}

impl Panel<'_> {
    /// The answer about a URL for a crawler.
    ///
    /// # Panics
    /// Where the plan has no crawler in this place.
    #[must_use]
    pub fn explain(&self, crawler: usize, url: &[u8]) -> Explanation {
        let mut buffer = Vec::new();
        let path = RawPath::read(url, self.plan.matching).prepare(&mut buffer);
        let applied = self.sets.as_ref().map(|sets| sets.crawlers[crawler]);
        let by_rules = || self.verdict(crawler, &path).map_or(Answer::NOT_COLLECTED, Answer::of_verdict);
        let class = self.subject.class_of(url);
        let answer = Answer::before_rules(self.plan.policy, class, Outage::UNKNOWN, &path).unwrap_or_else(by_rules);
        Explanation {
            group_source: applied.map(|applied| applied.source),
            matched_rule: answer.hit.and_then(|hit| self.subject.rule(hit)),
            answer,
        }
    }

    /// What led to the answer about a URL for a crawler.
    ///
    /// # Panics
    /// Where the plan has no crawler in this place.
    #[must_use]
    pub fn details(&self, crawler: usize, url: &[u8]) -> Details {
        let mut buffer = Vec::new();
        let path = RawPath::read(url, self.plan.matching).prepare(&mut buffer);
        let answer = self.explain(crawler, url).answer;
        let file = self.subject.file.as_ref();
        let sets =
            self.sets.as_ref().filter(|_| matches!(answer.source, DecisionSource::Rule | DecisionSource::NoMatch));
        let math = sets
            .zip(file)
            .map(|(sets, file)| Math::of(&file.robots, &sets.list[sets.crawlers[crawler].rule_set], &path));
        let asked = &self.plan.asked[crawler];
        let choice = file.map(|file| file.index.choose(asked));
        let remarks = file.zip(choice).map(|(file, choice)| remark::of_groups(&file.robots, &choice));
        Details {
            path: of_octets(path.octets()).into_owned(),
            math,
            context: file
                .zip(answer.hit)
                .map_or_else(Vec::new, |(file, hit)| context::around(file.body, &file.robots, asked, hit)),
            remarks: remarks.unwrap_or_default(),
            usage: file.zip(choice).zip(self.verdict(crawler, &path)).map_or_else(UsageFacts::default, |found| {
                let ((file, choice), verdict) = found;
                UsageFacts::of(&file.signals, &choice, &verdict, &path)
            }),
        }
    }

    /// The groups that apply to a crawler, where a file was read.
    ///
    /// # Panics
    /// Where the plan has no crawler in this place.
    #[must_use]
    pub fn groups(&self, crawler: usize) -> Option<AppliedGroups> {
        let file = self.subject.file.as_ref()?;
        let name = &self.plan.crawlers[crawler].token;
        Some(AppliedGroups::of(&file.robots, &file.index, name, &self.plan.asked[crawler]))
    }

    fn verdict(&self, crawler: usize, path: &Path<'_>) -> Option<Verdict> {
        let sets = self.sets.as_ref()?;
        let applied = sets.crawlers[crawler];
        Some(Verdict::of_path(&sets.list[applied.rule_set], applied.source, path))
    }
}
