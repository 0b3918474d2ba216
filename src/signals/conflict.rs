//! Signals of one file that contradict each other, or the rules that stand beside them.
//!
//! All are judged by what is said about `/`: of the training token, of the wildcard's groups, and of what the rules
//! make of the crawlers that collect for training or for search.

use super::Signals;
use super::content_signal::{Signal, SignalKey};
use super::content_usage::Usage;
use super::training::Preference;
use crate::robots::access::names;
use crate::robots::group::GroupIndex;
use crate::robots::parse::Robots;
use crate::robots::path::Path;
use crate::robots::rule_sets::RuleSets;
use crate::robots::token::Asked;

names! {
    /// The kinds of contradictions.
    pub enum Conflict {
        /// A `Content-Signal` takes back an earlier one for the same crawlers.
        ContentSignalDuplicate => "content_signal_duplicate",
        /// The training token and `train-ai` of `Content-Usage` say opposite things.
        TrainTokenVsContentUsage => "train_token_vs_content_usage",
        /// The training token and `ai-train` of `Content-Signal` say opposite things.
        TrainTokenVsContentSignal => "train_token_vs_content_signal",
        /// `Content-Usage` and `Content-Signal` say opposite things about training or about search.
        ContentUsageVsContentSignal => "content_usage_vs_content_signal",
        /// The training token is against, yet every crawler that collects for training may come.
        TokenAgainstButTrainingCrawlersAllowed => "token_against_but_training_crawlers_allowed",
        /// The training token is in favor, yet no crawler that collects for training may come.
        TokenInFavorButTrainingCrawlersDenied => "token_in_favor_but_training_crawlers_denied",
        /// `ai-train=no`, yet every crawler that collects for training may come.
        AiTrainNoButTrainingCrawlersAllowed => "ai_train_no_but_training_crawlers_allowed",
        /// `ai-train=yes`, yet no crawler that collects for training may come.
        AiTrainYesButTrainingCrawlersDenied => "ai_train_yes_but_training_crawlers_denied",
        /// `search=no`, yet every search crawler may come.
        SearchNoButSearchCrawlersAllowed => "search_no_but_search_crawlers_allowed",
        /// `search=yes`, yet no search crawler may come.
        SearchYesButSearchCrawlersDenied => "search_yes_but_search_crawlers_denied",
    }
}

/// How many of some crawlers may fetch `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootAccess {
    /// Every one.
    All,
    /// Some, or there are none to ask about.
    Some,
    /// None.
    None,
}

impl RootAccess {
    /// Asks a file about some crawlers.
    #[must_use]
    pub fn of(robots: &Robots<'_>, index: &GroupIndex, crawlers: &[Asked]) -> Self {
        let sets = RuleSets::for_paths(robots, index, crawlers, 1);
        let mut verdicts = Vec::new();
        sets.verdicts(&Path::of(b"/"), &mut verdicts);
        let allowed = sets.crawlers.iter().filter(|applied| verdicts[applied.rule_set].is_allowed()).count();
        match allowed {
            _ if crawlers.is_empty() => Self::Some,
            0 => Self::None,
            allowed if allowed == crawlers.len() => Self::All,
            _ => Self::Some,
        }
    }
}

/// What the rules make of crawlers by their purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrawlerRoots {
    /// Of those that collect for training.
    pub training: RootAccess,
    /// Of those of search engines.
    pub search: RootAccess,
}

impl Signals<'_> {
    /// Whether [`Self::conflicts`] has use for what the rules make of crawlers.
    #[must_use]
    pub fn concern_crawlers(&self) -> bool {
        let signal = |key| self.root.content_signal.get(key).is_some();
        self.root.training != Preference::NoneExpressed || signal(SignalKey::Search) || signal(SignalKey::AiTrain)
    }

    /// The contradictions, in the order of [`Conflict::ALL`]; without `crawlers`, those among the signals only.
    #[must_use]
    pub fn conflicts(&self, crawlers: Option<&CrawlerRoots>) -> Vec<Conflict> {
        Conflict::ALL.iter().copied().filter(|conflict| self.has(*conflict, crawlers)).collect()
    }

    fn has(&self, conflict: Conflict, crawlers: Option<&CrawlerRoots>) -> bool {
        let training = crawlers.map(|crawlers| crawlers.training);
        let search = crawlers.map(|crawlers| crawlers.search);
        let signal = |key| self.root.content_signal.get(key);
        let token = yes_of_preference(self.root.training);
        let train_ai = yes_of_usage(self.root.train_ai);
        let ai_train = yes_of_signal(signal(SignalKey::AiTrain));
        let usage_search = yes_of_usage(self.root.search);
        let signal_search = yes_of_signal(signal(SignalKey::Search));
        match conflict {
            Conflict::ContentSignalDuplicate => {
                self.content_signal.records.iter().any(|record| record.is_contradiction)
            }
            Conflict::TrainTokenVsContentUsage => are_opposite(token, train_ai),
            Conflict::TrainTokenVsContentSignal => are_opposite(token, ai_train),
            Conflict::ContentUsageVsContentSignal => {
                are_opposite(train_ai, ai_train) || are_opposite(usage_search, signal_search)
            }
            Conflict::TokenAgainstButTrainingCrawlersAllowed => {
                token == Some(false) && training == Some(RootAccess::All)
            }
            Conflict::TokenInFavorButTrainingCrawlersDenied => {
                token == Some(true) && training == Some(RootAccess::None)
            }
            Conflict::AiTrainNoButTrainingCrawlersAllowed => {
                ai_train == Some(false) && training == Some(RootAccess::All)
            }
            Conflict::AiTrainYesButTrainingCrawlersDenied => {
                ai_train == Some(true) && training == Some(RootAccess::None)
            }
            Conflict::SearchNoButSearchCrawlersAllowed => {
                signal_search == Some(false) && search == Some(RootAccess::All)
            }
            Conflict::SearchYesButSearchCrawlersDenied => {
                signal_search == Some(true) && search == Some(RootAccess::None)
            }
        }
    }
}

/// Both say something, and not the same.
fn are_opposite(one: Option<bool>, other: Option<bool>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

const fn yes_of_preference(preference: Preference) -> Option<bool> {
    match preference {
        Preference::InFavor => Some(true),
        Preference::Against => Some(false),
        Preference::NoneExpressed | Preference::Unknown => None,
    }
}

const fn yes_of_usage(usage: Option<Usage>) -> Option<bool> {
    match usage {
        Some(Usage::Allow) => Some(true),
        Some(Usage::Disallow) => Some(false),
        Some(Usage::Unknown) | None => None,
    }
}

fn yes_of_signal(signal: Option<Signal>) -> Option<bool> {
    signal.map(|signal| signal == Signal::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;

    fn conflicts(body: &str) -> Vec<&'static str> {
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let signals = Signals::of(&robots, &index, body.as_bytes());
        let asked = |name| Asked::named(name, Matching::Rfc9309).expect("a token");
        let crawlers = CrawlerRoots {
            training: RootAccess::of(&robots, &index, &[asked("GPTBot"), asked("CCBot")]),
            search: RootAccess::of(&robots, &index, &[asked("Googlebot")]),
        };
        signals.conflicts(Some(&crawlers)).into_iter().map(Conflict::as_str).collect()
    }

    #[test]
    fn each_contradiction_has_its_name() {
        const TOKEN_NO: &str = "User-agent: __usage_ai-training\nDisallow: /\n";
        const TOKEN_YES: &str = "User-agent: __usage_ai-training\nAllow: /\n";
        const SHUT: &str = "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n";
        const HALF_SHUT: &str = "User-agent: CCBot\nDisallow: /\n";
        for (parts, expected) in [
            (
                &["User-agent: *\nContent-Signal: ai-input=no\nContent-Signal: ai-input=yes\nAllow: /\n"][..],
                &["content_signal_duplicate"][..],
            ),
            (
                &["User-agent: *\nContent-Usage: train-ai=y\nAllow: /\n", HALF_SHUT, TOKEN_NO],
                &["train_token_vs_content_usage"],
            ),
            (
                &["User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n", HALF_SHUT, TOKEN_YES],
                &["train_token_vs_content_signal"],
            ),
            (
                &["User-agent: *\nContent-Usage: search=n\nContent-Signal: search=yes\nAllow: /\n"],
                &["content_usage_vs_content_signal"],
            ),
            (&[TOKEN_NO], &["token_against_but_training_crawlers_allowed"]),
            (&[TOKEN_YES, SHUT], &["token_in_favor_but_training_crawlers_denied"]),
            (
                &["User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n"],
                &["ai_train_no_but_training_crawlers_allowed"],
            ),
            (
                &["User-agent: *\nContent-Signal: ai-train=yes\nAllow: /\n", SHUT],
                &["ai_train_yes_but_training_crawlers_denied"],
            ),
            (&["User-agent: *\nContent-Signal: search=no\nAllow: /\n"], &["search_no_but_search_crawlers_allowed"]),
            (&["User-agent: *\nContent-Signal: search=yes\nDisallow: /\n"], &["search_yes_but_search_crawlers_denied"]),
            (&["User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n", SHUT, TOKEN_NO], &[]),
            (&["User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n", HALF_SHUT], &[]),
            (&[TOKEN_YES, "User-agent: *\nContent-Usage: train-ai=N\nAllow: /\n"], &[]),
        ] {
            assert_eq!(conflicts(&parts.concat()), expected, "{parts:?}");
        }
    }

    #[test]
    fn nobody_to_ask_about_is_no_contradiction() {
        let robots = Robots::parse(b"", Matching::Rfc9309);
        assert_eq!(RootAccess::of(&robots, &GroupIndex::of(&robots), &[]), RootAccess::Some);
    }
}
