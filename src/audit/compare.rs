//! Where the two modes of matching part on a body, and why.
//!
//! A cause is found, not guessed: Google's reading is asked again with one quirk undone, for each quirk. The one that
//! alone turns its answer into that of RFC 9309 is the cause; where none or several do, there is no single one.

use super::compile::{CompiledBody, evidence};
use super::plan::Plan;
use crate::robots::access::{FetchClass, Outage};
use crate::robots::decision::{Answer, Decision};
use crate::robots::google::{Quirk, Reading, may_show};
use crate::robots::group::GroupIndex;
use crate::robots::matcher::Hit;
use crate::robots::parse::Robots;
use crate::robots::path::{Path, RawPath};
use crate::robots::rule_sets::RuleSets;
use crate::robots::token::Matching;
use crate::robots::verdict::Verdict;
use crate::tables::matching_differences::{Parting, Told};

/// What a compiled body holds beside the rule sets of its plan's own mode.
#[derive(Debug)]
pub struct Comparison {
    /// The rule sets of the other mode.
    sets: RuleSets,
    /// For each rule of the other mode: the line as evidence.
    evidence: Vec<Box<str>>,
    /// Google's with one quirk undone, where that makes them others.
    undone: Vec<(Quirk, RuleSets)>,
}

impl Comparison {
    /// Compiles a body, which was parsed and compiled in the plan's own mode.
    #[must_use]
    pub fn of(plan: &Plan, body: &[u8], robots: &Robots<'_>, sets: &RuleSets) -> Self {
        let other = Robots::parse(body, plan.matching.other());
        let other_sets = compile(plan, &other);
        let (google, google_sets) = match plan.matching {
            Matching::Google => (robots, sets),
            Matching::Rfc9309 => (&other, &other_sets),
        };
        let undo = |quirk: &Quirk| undo(plan, body, (google, google_sets), *quirk).map(|sets| (*quirk, sets));
        let undone = Quirk::ALL.iter().filter_map(undo).collect();
        Self { undone, evidence: other.rules.iter().map(|rule| evidence(rule).into()).collect(), sets: other_sets }
    }

    fn undone(&self, quirk: Quirk) -> Option<&RuleSets> {
        self.undone.iter().find(|(undone, _)| *undone == quirk).map(|(_, sets)| sets)
    }
}

fn compile(plan: &Plan, robots: &Robots<'_>) -> RuleSets {
    RuleSets::of(robots, &GroupIndex::of(robots), plan.asked_as(robots.mode_of(Quirk::Token)))
}

/// Google's rule sets with one quirk undone; `None` where they stay the same.
fn undo(plan: &Plan, body: &[u8], (google, sets): (&Robots<'_>, &RuleSets), quirk: Quirk) -> Option<RuleSets> {
    if !may_show(quirk, body, &google.rules) {
        return None;
    }
    let robots = Robots::parse_as(body, Reading::without(quirk));
    let is_read_alike = robots.groups == google.groups && robots.rules == google.rules;
    let is_compiled_alike = match quirk {
        Quirk::PathForm | Quirk::IndexHtml => false,
        Quirk::Token => plan.asked_as(Matching::Rfc9309) == plan.asked_as(Matching::Google),
        Quirk::RobotsTxt | Quirk::SizeLimit | Quirk::MissingColon | Quirk::MisspeltKey | Quirk::LineCut => true,
    };
    if is_read_alike && is_compiled_alike {
        return None;
    }
    let undone = compile(plan, &robots);
    (undone.list != sets.list || undone.crawlers != sets.crawlers).then_some(undone)
}

/// Where the two modes decide differently about a URL, for a plan that asks for it.
#[must_use]
pub fn partings<'b>(
    plan: &Plan,
    seen: (FetchClass, Outage),
    body: Option<&'b CompiledBody>,
    url: &[u8],
) -> Vec<Parting<'b>> {
    let rfc9309 = Side::ask(plan, seen, body, Matching::Rfc9309, url);
    let google = Side::ask(plan, seen, body, Matching::Google, url);
    if let (Answers::ForAll(one), Answers::ForAll(other)) = (&rfc9309.answers, &google.answers)
        && one.decision == other.decision
    {
        return Vec::new();
    }
    let part = |crawler| {
        let answers = [rfc9309.answer(crawler), google.answer(crawler)];
        (answers[0].decision != answers[1].decision).then(|| Parting {
            crawler,
            rfc9309: rfc9309.told(answers[0]),
            google: google.told(answers[1]),
            cause: Question { plan, seen, body, url, crawler }.cause(google.view, answers[0]),
        })
    };
    (0..plan.crawlers.len()).filter_map(part).collect()
}

/// A compiled body in one mode.
#[derive(Debug, Clone, Copy)]
struct View<'b> {
    sets: &'b RuleSets,
    evidence: &'b [Box<str>],
}

impl<'b> View<'b> {
    /// `None` where the body was not compiled in this mode.
    fn of(plan: &Plan, body: &'b CompiledBody, matching: Matching) -> Option<Self> {
        if matching == plan.matching {
            return Some(Self { sets: &body.sets, evidence: &body.evidence });
        }
        body.comparison.as_ref().map(|other| Self { sets: &other.sets, evidence: &other.evidence })
    }
}

/// What one mode says about a URL.
struct Side<'b> {
    view: Option<View<'b>>,
    answers: Answers,
}

enum Answers {
    /// The rules do not matter, or there are none.
    ForAll(Answer),
    /// For each rule set.
    OfSets(Vec<Answer>),
}

impl<'b> Side<'b> {
    fn ask(
        plan: &Plan,
        (class, outage): (FetchClass, Outage),
        body: Option<&'b CompiledBody>,
        matching: Matching,
        url: &[u8],
    ) -> Self {
        let mut buffer = Vec::new();
        let path = RawPath::read(url, matching).prepare(&mut buffer);
        let view = body.and_then(|body| View::of(plan, body, matching));
        let answers = match (Answer::before_rules(plan.policy, class, outage, &path), view) {
            (Some(answer), _) => Answers::ForAll(answer),
            (None, Some(view)) => Answers::OfSets(all(view.sets, &path)),
            (None, None) => Answers::ForAll(Answer::NOT_COLLECTED),
        };
        Self { view, answers }
    }

    fn answer(&self, crawler: usize) -> Answer {
        match (&self.answers, self.view) {
            (Answers::OfSets(answers), Some(view)) => answers[view.sets.crawlers[crawler].rule_set],
            (Answers::ForAll(answer), _) => *answer,
            (Answers::OfSets(_), None) => Answer::NOT_COLLECTED,
        }
    }

    fn told(&self, answer: Answer) -> Told<'b> {
        let text = |hit: Hit| self.view.map(|view| (&*view.evidence[hit.rule as usize], hit.line.into()));
        Told { decision: answer.decision, rule: answer.hit.and_then(text) }
    }
}

fn all(sets: &RuleSets, path: &Path<'_>) -> Vec<Answer> {
    let mut verdicts = Vec::new();
    sets.verdicts(path, &mut verdicts);
    verdicts.into_iter().map(Answer::of_verdict).collect()
}

/// One crawler and one URL, about which the modes part.
struct Question<'a> {
    plan: &'a Plan,
    seen: (FetchClass, Outage),
    body: Option<&'a CompiledBody>,
    url: &'a [u8],
    crawler: usize,
}

impl Question<'_> {
    /// The only quirk that has to be undone for the answer of RFC 9309.
    fn cause(&self, google: Option<View<'_>>, rfc9309: Answer) -> Option<Quirk> {
        let undoes = |quirk: &&Quirk| self.without(**quirk, google) == Some(rfc9309.decision);
        let mut causes = Quirk::ALL.iter().filter(undoes);
        let cause = causes.next().copied();
        cause.filter(|_| causes.next().is_none())
    }

    /// What Google's parser would decide, were one quirk undone.
    fn without(&self, quirk: Quirk, google: Option<View<'_>>) -> Option<Decision> {
        let mut buffer = Vec::new();
        let path = RawPath::read_as(self.url, Reading::without(quirk)).prepare(&mut buffer);
        let (class, outage) = self.seen;
        if let Some(answer) = Answer::before_rules(self.plan.policy, class, outage, &path) {
            return Some(answer.decision);
        }
        let undone = self.body.and_then(|body| body.comparison.as_ref()?.undone(quirk));
        let sets = undone.or(google.map(|view| view.sets))?;
        let applied = sets.crawlers[self.crawler];
        let verdict = Verdict::of_path(&sets.list[applied.rule_set], applied.source, &path);
        Some(Answer::of_verdict(verdict).decision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::compile;
    use crate::crawlers::Registry;
    use crate::robots::access::Policy;

    /// `crawler: rfc9309 by line, google by line: cause` for each crawler about which the modes part.
    fn told(matching: Matching, body: &str, url: &str) -> Vec<String> {
        let registry = Registry::embedded();
        let asked = registry.select("FooBot,MJ12bot").expect("crawlers");
        let plan = Plan::new(registry, &asked, Policy::Rfc9309, matching, true).comparing();
        let compiled = compile::body(&plan, body.as_bytes());
        let side = |told: Told<'_>| format!("{} {}", told.decision, told.rule.map_or(0, |(_, line)| line));
        partings(&plan, (FetchClass::Ok, Outage::UNKNOWN), Some(&compiled), url.as_bytes())
            .iter()
            .map(|parting| {
                let crawler = &plan.crawlers[parting.crawler].token;
                let cause = parting.cause.map_or("several", Quirk::as_str);
                format!("{crawler}: {}, {}: {cause}", side(parting.rfc9309), side(parting.google))
            })
            .collect()
    }

    #[test]
    fn every_cause_is_found_whichever_mode_is_the_plans() {
        let long = format!("User-agent: *\n#{}\nDisallow: /x\n", "#".repeat(512_000));
        let cut = format!("User-agent: *\nDisallow: /{}\n", "x".repeat(20_000));
        let far = format!("/{}", "x".repeat(17_000));
        let path_form = "FooBot: deny 2, allow 0: path_form";
        for (body, url, expected) in [
            ("User-agent: *\nDisallow: /x\n", "/x", &[][..]),
            ("User-agent: *\nDisallow: /x\n", "/%78", &[path_form, "MJ12bot: deny 2, allow 0: path_form"]),
            ("User-agent: FooBot\nDisallow: /%78\n", "/x", &[path_form]),
            ("User-agent: FooBot\nDisallow: /\n", "/robots.txt", &["FooBot: allow 0, deny 2: robots_txt"]),
            ("User-agent: MJ12bot\nDisallow: /\n", "/x", &["MJ12bot: deny 2, allow 0: token"]),
            ("User-agent: FooBot1\nDisallow: /\n", "/x", &["FooBot: allow 0, deny 2: token"]),
            ("User-agent: FooBot\nDisallow /\n", "/x", &["FooBot: allow 0, deny 2: missing_colon"]),
            ("User-agent: FooBot\nDisalow: /\n", "/x", &["FooBot: allow 0, deny 2: misspelt_key"]),
            ("User-agent: FooBot\nDisallow: /x\0y\n", "/x", &["FooBot: allow 0, deny 2: line_cut"]),
            (
                "User-agent: FooBot\nDisallow: /\nAllow: /a/index.html\n",
                "/a/",
                &["FooBot: deny 2, allow 3: index_html"],
            ),
            ("User-agent: FooBot\nDisalow /\n", "/x", &["FooBot: allow 0, deny 2: several"]),
            ("User-agent: FooBot\nDisalow: /x\nDisallow /x\n", "/x", &["FooBot: allow 0, deny 2: several"]),
            (&long, "/x", &["FooBot: allow 0, deny 3: size_limit", "MJ12bot: allow 0, deny 3: size_limit"]),
            (&cut, &far, &["FooBot: allow 0, deny 2: line_cut", "MJ12bot: allow 0, deny 2: line_cut"]),
        ] {
            for matching in Matching::ALL {
                let body_start: String = body.chars().take(60).collect();
                assert_eq!(told(*matching, body, url), expected, "{matching} {body_start:?}");
            }
        }
    }

    #[test]
    fn without_rules_the_modes_part_about_the_rules_file_only() {
        let registry = Registry::embedded();
        let asked = registry.select("FooBot").expect("crawlers");
        let plan = Plan::new(registry, &asked, Policy::Rfc9309, Matching::Rfc9309, true).comparing();
        let causes = |class, url: &str| -> Vec<Option<Quirk>> {
            partings(&plan, (class, Outage::UNKNOWN), None, url.as_bytes())
                .iter()
                .map(|parting| parting.cause)
                .collect()
        };
        assert_eq!(causes(FetchClass::ServerError, "https://a.test/robots.txt"), [Some(Quirk::RobotsTxt)]);
        assert_eq!(causes(FetchClass::ServerError, "https://a.test/robots%2Etxt"), [None]);
        assert!(causes(FetchClass::ServerError, "https://a.test/x").is_empty());
        assert!(causes(FetchClass::Missing, "https://a.test/robots.txt").is_empty());
    }
}
