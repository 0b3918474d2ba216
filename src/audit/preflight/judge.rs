//! What was seen of an origin, to the answer about one URL. Pure: no network, no clock.

use super::evidence::{AnswerFrom, UrlAnswer};
use super::{Identity, Missing, Terms};
use crate::audit::compile::evidence;
use crate::origin::Origin;
use crate::robots::access::Reason;
use crate::robots::decision::{Answer, Decision, DecisionSource};
use crate::robots::group::{GroupIndex, GroupSource};
use crate::robots::matcher::RuleSet;
use crate::robots::parse::Robots;
use crate::robots::path::{Path, RawPath};
use crate::robots::verdict::Verdict;
use crate::tables::fetches::Observation;
use crate::tables::response_signals::HeaderFact;

/// The origin of a URL that is given in full.
///
/// # Errors
/// The reason why it is no http(s) URL. A bare name is none here: which scheme a page is fetched by has to be known.
pub fn origin_of(url: &str) -> Result<Origin, Reason> {
    let begins = |scheme: &str| url.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
    if begins("http://") || begins("https://") { Origin::of_url(url.as_bytes()) } else { Err(Reason::Scheme) }
}

/// The answer about a URL, by what was seen of its origin and the body that the observation names.
#[must_use]
pub fn judge(
    terms: Terms,
    identity: &Identity,
    (url, origin): (&str, &Origin),
    (seen, body): (&Observation, Option<&[u8]>),
) -> UrlAnswer {
    let mut buffer = Vec::new();
    let path = RawPath::read(url.as_bytes(), terms.matching).prepare(&mut buffer);
    let judged = match Answer::before_rules(terms.policy, seen.class, seen.outage(), &path) {
        Some(answer) => Judged::without_rules(answer),
        None => {
            body.map_or(Judged::without_rules(Answer::NOT_COLLECTED), |body| by_rules(terms, identity, &path, body))
        }
    };
    let answer = judged.answer;
    let is_deferred = terms.missing == Missing::Defer && answer.source == DecisionSource::Missing;
    UrlAnswer {
        url: url.to_owned(),
        checked_origin: Some(origin.as_str().to_owned()),
        robots_status: seen.status,
        matched_rule: judged.rule,
        decision: if is_deferred { Decision::Defer } else { answer.decision },
        checked_at: seen.fetch_time,
        decision_source: Some(answer.source),
        group_source: judged.group_source,
        rule_line: answer.hit.map(|hit| hit.line.into()),
        robots_class: Some(seen.class),
        reason: seen.reason.map(Reason::as_str),
        answer_from: Some(AnswerFrom::of(seen.flags)),
        header_fields: HeaderFact::of(seen),
    }
}

struct Judged {
    answer: Answer,
    group_source: Option<GroupSource>,
    rule: Option<String>,
}

impl Judged {
    const fn without_rules(answer: Answer) -> Self {
        Self { answer, group_source: None, rule: None }
    }
}

fn by_rules(terms: Terms, identity: &Identity, path: &Path<'_>, body: &[u8]) -> Judged {
    let robots = Robots::parse(body, terms.matching);
    let index = GroupIndex::of(&robots);
    let choice = index.choose(&identity.asked);
    let rules = RuleSet::of_groups(&robots, choice.groups);
    let answer = Answer::of_verdict(Verdict::of_path(&rules, choice.source, path));
    let rule = answer.hit.and_then(|hit| robots.rules.get(hit.rule as usize)).map(evidence);
    Judged { answer, group_source: Some(choice.source), rule }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawlers::{Identified, Registry};
    use crate::robots::access::{FetchClass, Policy};
    use crate::robots::token::Matching;

    const BODY: &[u8] = b"User-agent: *\nDisallow: /x\n\nUser-agent: Googlebot\nDisallow: /y\n";
    const MONTH: i64 = 30 * 24 * 3_600_000_000;

    fn identity(name: &str) -> Identity {
        match Registry::embedded().identify(name) {
            Ok(Identified::Crawler(crawler)) => Identity::of(&crawler, Matching::Rfc9309, false),
            other => panic!("{other:?}"),
        }
    }

    fn answer(terms: Terms, name: &str, url: &str, seen: &Observation, body: Option<&[u8]>) -> UrlAnswer {
        judge(terms, &identity(name), (url, &origin_of(url).expect("a URL")), (seen, body))
    }

    #[test]
    fn only_a_url_in_full_has_an_origin_here() {
        for (url, expected) in [
            ("HTTP://A.test:80/x", Ok("http://a.test")),
            ("https://a.test", Ok("https://a.test")),
            ("a.test/x", Err(Reason::Scheme)),
            ("//a.test/x", Err(Reason::Scheme)),
            ("/x", Err(Reason::Scheme)),
            (" https://a.test", Err(Reason::Scheme)),
            ("ftp://a.test/", Err(Reason::Scheme)),
            ("", Err(Reason::Scheme)),
            ("http://é", Ok("http://xn--9ca")),
            ("https://", Err(Reason::Host)),
            ("https://a.test:99999/", Err(Reason::Port)),
        ] {
            assert_eq!(origin_of(url).as_ref().map(Origin::as_str).map_err(|reason| *reason), expected, "{url}");
        }
    }

    #[test]
    fn rules_decide_and_are_shown() {
        let seen = Observation::of_class(FetchClass::Ok, None);
        let found = answer(Terms::default(), "FooBot", "https://a.test/x/1", &seen, Some(BODY));
        assert_eq!((found.decision, found.rule_line), (Decision::Deny, Some(2)));
        assert_eq!(
            (found.matched_rule.as_deref(), found.group_source),
            (Some("Disallow: /x"), Some(GroupSource::Star))
        );
        let found = answer(Terms::default(), "Googlebot-Image", "https://a.test/x/1", &seen, Some(BODY));
        assert_eq!((found.decision, found.group_source), (Decision::Allow, Some(GroupSource::Fallback)));
        let found = answer(Terms::default(), "FooBot", "https://a.test/x/1", &seen, None);
        assert_eq!(found.decision, Decision::Unresolved, "rules that are not there are no permission");
    }

    #[test]
    fn a_missing_file_is_what_the_terms_say() {
        let seen = Observation::of_class(FetchClass::Missing, None);
        for (policy, missing, expected) in [
            (Policy::Rfc9309, Missing::Allow, Decision::Allow),
            (Policy::Conservative, Missing::Allow, Decision::AllowByPolicy),
            (Policy::Rfc9309, Missing::Defer, Decision::Defer),
            (Policy::Conservative, Missing::Defer, Decision::Defer),
            (Policy::Google, Missing::Defer, Decision::Defer),
        ] {
            let terms = Terms { policy, missing, ..Terms::default() };
            let found = answer(terms, "FooBot", "https://a.test/x", &seen, None);
            assert_eq!((found.decision, found.decision_source), (expected, Some(DecisionSource::Missing)));
        }
        let forbidden = Observation::of_class(FetchClass::AccessDenied, None);
        let terms = Terms { missing: Missing::Defer, ..Terms::default() };
        let found = answer(terms, "FooBot", "https://a.test/x", &forbidden, None);
        assert_eq!(found.decision, Decision::Allow, "a file that may not be read is not missing");
    }

    #[test]
    fn a_long_outage_is_decided_by_the_last_good_copy() {
        let mut seen = Observation::of_class(FetchClass::ServerError, None);
        seen.fetch_time = Some(2 * MONTH);
        let found = |seen: &Observation| answer(Terms::default(), "FooBot", "https://a.test/y", seen, Some(BODY));
        assert_eq!(found(&seen).decision, Decision::Deny);
        seen.unreachable_since = Some(MONTH);
        seen.body_sha256 = Some([0; 32]);
        assert_eq!(
            (found(&seen).decision, found(&seen).decision_source),
            (Decision::Allow, Some(DecisionSource::NoMatch))
        );
    }
}
