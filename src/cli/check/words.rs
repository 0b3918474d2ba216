//! Answers in words.

use super::screen::Ink;
use crate::audit::explain::{Explanation, TrainingExplanation};
use crate::robots::decision::{Decision, DecisionSource};
use crate::tables::matching_differences::{Parting, Told, word};

/// A cell of a grid: `deny:18`, `allow:none`.
pub(super) fn cell(explanation: &Explanation) -> String {
    let line = explanation.answer.hit.map_or_else(|| "none".to_owned(), |hit| hit.line.to_string());
    format!("{}:{line}", explanation.answer.decision)
}

/// The same of a training preference; where none is expressed, no line could be named.
pub(super) fn training_cell(training: &TrainingExplanation) -> String {
    use crate::signals::training::Preference as P;
    let words = training_words(training);
    match (&training.rule, training.preference) {
        (Some((_, line)), _) => format!("{words}:{line}"),
        (None, P::InFavor | P::Against) => format!("{words}:none"),
        (None, P::NoneExpressed | P::Unknown) => words,
    }
}

/// The preference for people.
pub(super) fn training_words(training: &TrainingExplanation) -> String {
    training.preference.as_str().replace('_', " ")
}

/// The rule, or in brackets what there is instead.
pub(super) fn rule_or_source(explanation: &Explanation) -> String {
    explanation.matched_rule.clone().unwrap_or_else(|| {
        let words = match explanation.answer.source {
            DecisionSource::NoMatch => "no matching rule",
            DecisionSource::NoGroup => "no group",
            DecisionSource::RobotsTxt => "robots.txt itself",
            other => other.as_str(),
        };
        format!("({words})")
    })
}

/// What an answer rests on, where no rule decided.
pub(super) const fn reason(source: DecisionSource) -> &'static str {
    match source {
        DecisionSource::Rule => "a rule decides",
        DecisionSource::NoMatch => "no rule of the group matches, so nothing is forbidden",
        DecisionSource::NoGroup => "no group applies, so nothing is forbidden",
        DecisionSource::RobotsTxt => "/robots.txt itself is always allowed",
        DecisionSource::Missing => "there is no robots.txt",
        DecisionSource::Unavailable => "the server gives no robots.txt (4xx)",
        DecisionSource::Unreachable => "there was no useful answer",
        DecisionSource::Redirect => "redirects led nowhere",
        DecisionSource::Suspect => "the body is probably no robots.txt, and the policy does not read it",
        DecisionSource::Blocked => "the address is one that is not connected to",
        DecisionSource::Invalid => "this names no http(s) origin",
        DecisionSource::NotCollected => "there is nothing to decide on",
    }
}

/// The ink of a decision.
pub(super) const fn ink(decision: Decision) -> Ink {
    match decision {
        Decision::Allow => Ink::Good,
        Decision::Deny => Ink::Bad,
        Decision::AllowByPolicy | Decision::Defer | Decision::Unresolved => Ink::Care,
    }
}

/// Both answers where the modes of matching part, and why.
pub(super) fn parting(parting: &Parting<'_>) -> String {
    let side = |told: Told<'_>| match told.rule {
        Some((rule, line)) => format!("{} (line {line}: {rule})", told.decision),
        None => format!("{} (no rule)", told.decision),
    };
    format!("differs: rfc9309 {}, google {}; {}", side(parting.rfc9309), side(parting.google), word(parting.cause))
}
