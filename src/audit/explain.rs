//! One file and a few URLs: the same answers as in the tables, one by one.

use super::plan::Plan;
use crate::origin::normal_form;
use crate::robots::access::FetchClass;
use crate::robots::decision::Answer;
use crate::robots::group::{GroupIndex, GroupSource};
use crate::robots::matcher::{Hit, RuleSet};
use crate::robots::parse::Robots;
use crate::robots::path::RawPath;
use crate::robots::token::Asked;
use crate::robots::verdict::Verdict;
use crate::signals::training::{Preference, Training};
use crate::tables::text::of_octets;

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
        Self { class, file }
    }

    /// The parsed file, where one was read.
    #[must_use]
    pub fn robots(&self) -> Option<&Robots<'a>> {
        self.file.as_ref().map(|file| &file.robots)
    }

    /// The answer about a URL for a crawler.
    #[must_use]
    pub fn explain(&self, plan: &Plan, asked: &Asked, url: &[u8]) -> Explanation {
        let mut buffer = Vec::new();
        let path = RawPath::of_url(url).prepare(&mut buffer);
        let is_path = matches!(url, [b'/', second, ..] if *second != b'/') || url == b"/";
        let class = if is_path || normal_form(url).is_ok() { self.class } else { FetchClass::InvalidTarget };
        let choice = self.file.as_ref().map(|file| file.index.choose(asked));
        let fixed =
            if path.is_robots_txt() { Some(Answer::ROBOTS_TXT) } else { Answer::without_rules(plan.policy, class) };
        let by_rules = || {
            let (file, choice) = self.file.as_ref().zip(choice)?;
            let rules = RuleSet::of_groups(&file.robots, choice.groups);
            Some(Answer::of_verdict(Verdict::of_path(&rules, choice.source, &path)))
        };
        let answer = fixed.or_else(by_rules).unwrap_or(Answer::NO_FILE);
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
        let path = RawPath::of_url(url).prepare(&mut buffer);
        let (preference, hit) = match (&self.file, self.class) {
            (Some(file), _) => file.training.preference(&path),
            (None, FetchClass::Missing) => (Preference::NoneExpressed, None),
            (None, _) => (Preference::Unknown, None),
        };
        let rule = hit.and_then(|hit| Some((self.rule(hit)?, hit.line.into())));
        TrainingExplanation { preference, rule }
    }

    /// A rule as written: directive and value.
    fn rule(&self, hit: Hit) -> Option<String> {
        let rule = self.file.as_ref()?.robots.rules.get(hit.rule as usize)?;
        Some(format!("{}: {}", of_octets(rule.key), of_octets(rule.value)))
    }
}
