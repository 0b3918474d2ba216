//! The record of a preflight: what was asked, what was seen, what follows. What was not observed is null.

use serde::{Serialize, Serializer};

use super::{Missing, Question};
use crate::robots::access::{FetchClass, Flag, Flags, Policy, names};
use crate::robots::decision::{Decision, DecisionSource};
use crate::robots::group::GroupSource;
use crate::robots::token::Matching;
use crate::tables::fetches::Timestamp;
use crate::tables::response_signals::HeaderFact;

/// Why nothing is answered where nobody is named.
pub const NO_IDENTITY: &str = "no_identity";

names! {
    /// Where an answer came from.
    pub enum AnswerFrom {
        /// The origin was asked.
        Network => "network",
        /// It was asked whether its answer had changed, and said no.
        Revalidated => "revalidated",
        /// A copy that is still fresh: nothing was asked.
        Cache => "cache",
    }
}

impl AnswerFrom {
    /// Where an observation with these flags came from.
    #[must_use]
    pub const fn of(flags: Flags) -> Self {
        if flags.contains(Flag::FromCache) {
            Self::Cache
        } else if flags.contains(Flag::Revalidated) {
            Self::Revalidated
        } else {
            Self::Network
        }
    }
}

/// The evidence for one decision: the fields in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The URL asked about, as given.
    pub requested_url: String,
    /// The origin whose robots.txt decided; that of `decided_by`.
    pub checked_origin: Option<String>,
    /// The crawler that wants to fetch, as given.
    pub crawler_identity: Option<String>,
    /// Status of the answer to the request for robots.txt.
    pub robots_status: Option<u16>,
    /// The deciding line as written.
    pub matched_rule: Option<String>,
    /// May the URL be fetched, by the whole path that is known: the strictest of `answers`.
    #[serde(serialize_with = "word")]
    pub decision: Decision,
    /// When the answer of the origin was established; of a copy, when that was.
    #[serde(serialize_with = "time")]
    pub checked_at: Option<Timestamp>,
    /// Status of the page: always null, since a preflight never asks for it.
    pub fetch_status: Option<u16>,
    /// Where the page's redirects led in the end: the last hop that was given.
    pub observed_final_url: Option<String>,
    /// Where the page's redirects led, in order; null where no trace was given.
    pub hops: Option<Vec<String>>,
    /// How many redirects the trace holds; null without one, and then only the URL itself was checked, not its path.
    pub redirects_observed: Option<usize>,
    /// The URL whose answer is the decision.
    pub decided_by: String,
    /// What the decision rests on; null where nothing could be asked.
    #[serde(serialize_with = "words")]
    pub decision_source: Option<DecisionSource>,
    /// How the crawler's groups were found; null where no rules were asked.
    #[serde(serialize_with = "words")]
    pub group_source: Option<GroupSource>,
    /// Number of the deciding line.
    pub rule_line: Option<u32>,
    /// The class of the answer to the request for robots.txt.
    #[serde(serialize_with = "words")]
    pub robots_class: Option<FetchClass>,
    /// Why the class is what it is, or why nothing could be asked (`no_identity`, or what is wrong with the URL).
    pub reason: Option<&'static str>,
    /// Where the answer came from.
    #[serde(serialize_with = "words")]
    pub answer_from: Option<AnswerFrom>,
    /// What the header fields of that answer say of use: reported, never part of the decision.
    pub header_fields: Vec<HeaderFact>,
    /// What is made of missing and failed answers.
    #[serde(serialize_with = "word")]
    pub policy: Policy,
    /// How files are read.
    #[serde(serialize_with = "word")]
    pub matching: Matching,
    /// What is made of a missing file.
    #[serde(serialize_with = "word")]
    pub missing: Missing,
    /// The answer about the URL, and about each hop.
    pub answers: Vec<UrlAnswer>,
}

/// The answer about one URL of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UrlAnswer {
    /// The URL as given.
    pub url: String,
    /// Its origin.
    pub checked_origin: Option<String>,
    /// Status of the answer to the request for that origin's robots.txt.
    pub robots_status: Option<u16>,
    /// The deciding line as written.
    pub matched_rule: Option<String>,
    /// May it be fetched?
    #[serde(serialize_with = "word")]
    pub decision: Decision,
    /// When the answer of the origin was established.
    #[serde(serialize_with = "time")]
    pub checked_at: Option<Timestamp>,
    /// What the decision rests on.
    #[serde(serialize_with = "words")]
    pub decision_source: Option<DecisionSource>,
    /// How the crawler's groups were found.
    #[serde(serialize_with = "words")]
    pub group_source: Option<GroupSource>,
    /// Number of the deciding line.
    pub rule_line: Option<u32>,
    /// The class of the answer to the request for robots.txt.
    #[serde(serialize_with = "words")]
    pub robots_class: Option<FetchClass>,
    /// Why the class is what it is, or why nothing could be asked.
    pub reason: Option<&'static str>,
    /// Where the answer came from.
    #[serde(serialize_with = "words")]
    pub answer_from: Option<AnswerFrom>,
    /// What the header fields of that answer say of use.
    pub header_fields: Vec<HeaderFact>,
}

impl UrlAnswer {
    /// The answer where nothing can be asked.
    #[must_use]
    pub fn unresolved(url: &str, reason: &'static str, source: Option<DecisionSource>) -> Self {
        Self {
            url: url.to_owned(),
            checked_origin: None,
            robots_status: None,
            matched_rule: None,
            decision: Decision::Unresolved,
            checked_at: None,
            decision_source: source,
            group_source: None,
            rule_line: None,
            robots_class: None,
            reason: Some(reason),
            answer_from: None,
            header_fields: Vec::new(),
        }
    }
}

impl Evidence {
    /// The record of a question, from the answers about its URL and each hop, in that order; `None` without an answer.
    #[must_use]
    pub fn of(question: &Question, answers: Vec<UrlAnswer>) -> Option<Self> {
        let decision = strictest(answers.iter().map(|answer| answer.decision))?;
        let deciding = answers.iter().find(|answer| answer.decision == decision)?.clone();
        Some(Self {
            requested_url: question.url.clone(),
            checked_origin: deciding.checked_origin,
            crawler_identity: question.identity.as_ref().map(|identity| identity.name.clone()),
            robots_status: deciding.robots_status,
            matched_rule: deciding.matched_rule,
            decision,
            checked_at: deciding.checked_at,
            fetch_status: None,
            observed_final_url: question.hops.as_ref().map(|hops| hops.last().unwrap_or(&question.url).clone()),
            hops: question.hops.clone(),
            redirects_observed: question.hops.as_ref().map(Vec::len),
            decided_by: deciding.url,
            decision_source: deciding.decision_source,
            group_source: deciding.group_source,
            rule_line: deciding.rule_line,
            robots_class: deciding.robots_class,
            reason: deciding.reason,
            answer_from: deciding.answer_from,
            header_fields: deciding.header_fields,
            policy: question.terms.policy,
            matching: question.terms.matching,
            missing: question.terms.missing,
            answers,
        })
    }

    /// Whether the fetch may go ahead: `allow` or `allow_by_policy`.
    #[must_use]
    pub const fn may_fetch(&self) -> bool {
        matches!(self.decision, Decision::Allow | Decision::AllowByPolicy)
    }
}

/// The strictest of several decisions, that of a path: `deny`, `unresolved`, `defer`, `allow_by_policy`, `allow`.
///
/// A refusal is the only final answer; what cannot be asked at all is worse than what will be known later.
#[must_use]
pub fn strictest(decisions: impl IntoIterator<Item = Decision>) -> Option<Decision> {
    decisions.into_iter().max_by_key(|decision| match decision {
        Decision::Allow => 0,
        Decision::AllowByPolicy => 1,
        Decision::Defer => 2,
        Decision::Unresolved => 3,
        Decision::Deny => 4,
    })
}

/// A time as text, with so many digits behind the seconds: RFC 3339, in UTC.
#[must_use]
pub fn time_text(time: Timestamp, digits: usize) -> Option<String> {
    jiff::Timestamp::from_microsecond(time).ok().map(|time| format!("{time:.digits$}"))
}

fn word<S: Serializer>(word: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(word)
}

#[expect(clippy::ref_option, reason = "serde gives it so")]
fn words<S: Serializer>(word: &Option<impl std::fmt::Display>, serializer: S) -> Result<S::Ok, S::Error> {
    match word {
        Some(word) => serializer.collect_str(word),
        None => serializer.serialize_none(),
    }
}

#[expect(clippy::ref_option, reason = "serde gives it so")]
fn time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    words(&time.and_then(|time| time_text(time, 6)), serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::preflight::Terms;

    fn answer(url: &str, decision: Decision) -> UrlAnswer {
        UrlAnswer { decision, checked_at: Some(1), ..UrlAnswer::unresolved(url, "x", None) }
    }

    fn question(hops: Option<&[&str]>) -> Question {
        Question {
            url: "https://a.test/".into(),
            identity: None,
            hops: hops.map(|hops| hops.iter().map(|hop| (*hop).to_owned()).collect()),
            terms: Terms::default(),
        }
    }

    #[test]
    fn the_strictest_answer_counts() {
        use Decision::{Allow, AllowByPolicy, Defer, Deny, Unresolved};
        let order = [Allow, AllowByPolicy, Defer, Unresolved, Deny];
        for (place, strict) in order.iter().enumerate() {
            for mild in &order[..=place] {
                assert_eq!(strictest([*strict, *mild]), Some(*strict));
                assert_eq!(strictest([*mild, *strict]), Some(*strict));
            }
        }
        assert_eq!(strictest([]), None);
    }

    #[test]
    fn the_record_shows_the_answer_that_decided() {
        let answers = vec![
            answer("https://a.test/", Decision::Allow),
            answer("https://b.test/1", Decision::Deny),
            answer("https://b.test/2", Decision::Deny),
        ];
        let hops = ["https://b.test/1", "https://b.test/2"];
        let evidence = Evidence::of(&question(Some(&hops)), answers).expect("a record");
        assert_eq!((evidence.decision, &*evidence.decided_by), (Decision::Deny, "https://b.test/1"));
        assert_eq!(evidence.observed_final_url.as_deref(), Some("https://b.test/2"));
        assert_eq!(evidence.redirects_observed, Some(2));
        assert!(!evidence.may_fetch());
    }

    #[test]
    fn fields_come_in_their_order_and_null_is_not_observed() {
        let evidence = Evidence::of(&question(None), vec![answer("https://a.test/", Decision::AllowByPolicy)]);
        let evidence = evidence.expect("a record");
        assert!(evidence.may_fetch());
        let json = serde_json::to_value(&evidence).expect("JSON");
        let names: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).take(11).collect();
        assert_eq!(
            names,
            [
                "requested_url",
                "checked_origin",
                "crawler_identity",
                "robots_status",
                "matched_rule",
                "decision",
                "checked_at",
                "fetch_status",
                "observed_final_url",
                "hops",
                "redirects_observed"
            ]
        );
        assert_eq!(json["decision"], "allow_by_policy");
        assert_eq!(json["checked_at"], "1970-01-01T00:00:00.000001Z");
        for name in ["crawler_identity", "fetch_status", "observed_final_url", "hops", "redirects_observed"] {
            assert!(json[name].is_null(), "{name}");
        }
        let none = Evidence::of(&question(Some(&[])), vec![answer("https://a.test/", Decision::Allow)]);
        let none = none.expect("a record");
        assert_eq!((none.redirects_observed, none.observed_final_url.as_deref()), (Some(0), Some("https://a.test/")));
    }
}
