//! What the signals of a file say of the use of one page, to one crawler: reported, never part of an answer.

use crate::robots::group::Choice;
use crate::robots::path::Path;
use crate::robots::verdict::Verdict;
use crate::signals::Signals;
use crate::signals::content_signal::{Keeping, Signal, SignalKey};
use crate::signals::content_usage::{Label, Usage};
use crate::signals::training::Preference;

/// What is said of the use of a page. The training token stands beside it: it speaks to nobody in particular.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageFacts {
    /// By `Content-Usage`: the labels of which something is said.
    pub content_usage: Vec<(Label, Usage)>,
    /// By `Content-Signal`.
    pub content_signal: Vec<(SignalKey, Signal)>,
    /// By `Content-Signal`: how much may be kept.
    pub keeping: Option<Keeping>,
    /// By `DisallowAITraining` and `AllowAITraining`, and the line.
    pub ai_rules: Option<(Preference, u32)>,
}

impl UsageFacts {
    pub(super) fn of(signals: &Signals<'_>, choice: &Choice<'_>, verdict: &Verdict, path: &Path<'_>) -> Self {
        let usage = |label: &Label| {
            let usage = signals.content_usage.preference(choice, verdict, path, *label);
            usage.filter(|usage| *usage != Usage::Unknown).map(|usage| (*label, usage))
        };
        let stated = signals.content_signal.stated(choice.groups, path);
        let (preference, line) = signals.ai_rules.preference(choice.groups, path);
        Self {
            content_usage: Label::ALL.iter().filter_map(usage).collect(),
            content_signal: SignalKey::ALL.iter().filter_map(|key| Some((*key, stated.get(*key)?))).collect(),
            keeping: stated.keeping,
            ai_rules: line.map(|line| (preference, line.into())),
        }
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::parse::Robots;
    use crate::robots::token::{Asked, Matching};
    use crate::robots::verdict::of_url;

    #[test]
    fn what_is_said_of_one_page() {
        let body = b"User-agent: *\nContent-Usage: /a search=y, train-ai=n\nContent-Usage: train-ai=y\n\
            Content-Signal: ai-train=no, use=reference\nDisallowAITraining: /a\nDisallow: /x\n";
        let robots = Robots::parse(body, Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let signals = Signals::of(&robots, &index, body);
        let facts = |path: &'static str| {
            let verdict = of_url(&robots, &Asked::Star, path.as_bytes());
            UsageFacts::of(&signals, &index.choose(&Asked::Star), &verdict, &Path::of(path.as_bytes()))
        };
        let of_a = facts("/a");
        assert_eq!(of_a.content_usage, [(Label::TrainAi, Usage::Disallow), (Label::Search, Usage::Allow)]);
        assert_eq!(of_a.content_signal, [(SignalKey::AiTrain, Signal::No)]);
        assert_eq!((of_a.keeping, of_a.ai_rules), (Some(Keeping::Reference), Some((Preference::Against, 5))));
        assert_eq!(facts("/b").content_usage, [(Label::TrainAi, Usage::Allow)]);
        assert!(facts("/x").content_usage.is_empty(), "what may not be crawled has no preference");
    }
}
