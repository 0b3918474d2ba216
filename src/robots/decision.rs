//! The decision: what a policy makes of the class of an answer and, where rules count, of the verdict.

use super::access::{FetchClass, Outage, Outcome, Policy, names};
use super::matcher::Hit;
use super::path::Path;
use super::verdict::{Basis, Verdict};

names! {
    /// May the URL be fetched?
    pub enum Decision {
        /// Yes.
        Allow => "allow",
        /// No.
        Deny => "deny",
        /// Nothing is known against it; the policy allows it, the site did not.
        AllowByPolicy => "allow_by_policy",
        /// Not now; ask again later.
        Defer => "defer",
        /// There is nothing to decide on.
        Unresolved => "unresolved",
    }
}

names! {
    /// What a decision rests on.
    pub enum DecisionSource {
        /// A rule.
        Rule => "rule",
        /// Groups apply, none of their rules matches.
        NoMatch => "no_match",
        /// No group applies.
        NoGroup => "no_group",
        /// The path is `/robots.txt` itself.
        RobotsTxt => "robots_txt",
        /// There is no robots.txt.
        Missing => "missing",
        /// Another 4xx.
        Unavailable => "unavailable",
        /// No useful answer.
        Unreachable => "unreachable",
        /// Redirects that led nowhere.
        Redirect => "redirect",
        /// A body that is probably no robots.txt.
        Suspect => "suspect",
        /// An address that is not connected to.
        Blocked => "blocked",
        /// The input names no http(s) origin.
        Invalid => "invalid",
        /// The source does not hold the origin.
        NotCollected => "not_collected",
    }
}

/// A decision and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// May the URL be fetched?
    pub decision: Decision,
    /// What that rests on.
    pub source: DecisionSource,
    /// The rule, where one decided.
    pub hit: Option<Hit>,
}

impl Answer {
    /// The answer where the rules count.
    #[must_use]
    pub const fn of_verdict(verdict: Verdict) -> Self {
        let decision = if verdict.is_allowed() { Decision::Allow } else { Decision::Deny };
        let source = match verdict.basis {
            Basis::RobotsTxt => DecisionSource::RobotsTxt,
            Basis::Rule(_) => DecisionSource::Rule,
            Basis::NoMatch => DecisionSource::NoMatch,
            Basis::NoGroup => DecisionSource::NoGroup,
        };
        Self { decision, source, hit: verdict.hit() }
    }

    /// The answer where they do not; `None` where the policy lets rules decide, those of the last good copy included.
    #[must_use]
    pub const fn without_rules(policy: Policy, class: FetchClass, outage: Outage) -> Option<Self> {
        let decision = match policy.outcome(class, outage) {
            Outcome::Rules => return None,
            Outcome::Allow => Decision::Allow,
            Outcome::AllowByPolicy => Decision::AllowByPolicy,
            Outcome::Deny => Decision::Deny,
            Outcome::Defer => Decision::Defer,
            Outcome::Unresolved => Decision::Unresolved,
        };
        Some(Self { decision, source: DecisionSource::of_class(class), hit: None })
    }

    /// The answer about a path, as far as it does not rest on rules; `None` where the rules decide.
    #[must_use]
    pub fn before_rules(policy: Policy, class: FetchClass, outage: Outage, path: &Path<'_>) -> Option<Self> {
        if path.is_robots_txt() { Some(Self::ROBOTS_TXT) } else { Self::without_rules(policy, class, outage) }
    }

    /// The answer where the source holds nothing to decide on.
    pub const NOT_COLLECTED: Self =
        Self { decision: Decision::Unresolved, source: DecisionSource::NotCollected, hit: None };

    /// The answer about `/robots.txt` itself, under every class and policy (§2.2.2), but for Google's matching.
    pub const ROBOTS_TXT: Self = Self { decision: Decision::Allow, source: DecisionSource::RobotsTxt, hit: None };
}

impl DecisionSource {
    /// What a decision without rules rests on.
    const fn of_class(class: FetchClass) -> Self {
        use FetchClass as C;
        match class {
            C::Ok | C::OkSuspect => Self::Suspect,
            C::Missing => Self::Missing,
            C::AccessDenied | C::RateLimited | C::ClientError => Self::Unavailable,
            C::RedirectLimit | C::RedirectInvalid => Self::Redirect,
            C::BlockedAddress => Self::Blocked,
            C::InvalidTarget => Self::Invalid,
            C::NotCollected => Self::NotCollected,
            C::ServerError
            | C::DnsNxdomain
            | C::DnsFailure
            | C::ConnectFailed
            | C::ConnectTimeout
            | C::TlsFailed
            | C::Timeout
            | C::ProtocolError
            | C::BodyIncomplete
            | C::DecodeFailed
            | C::Internal => Self::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::robots::access::{LONG_OUTAGE, OutageStage, SHORT_OUTAGE};

    /// The table of classes and policies, as people read it.
    #[test]
    fn every_class_under_every_policy() {
        let table = "
            ok              rules        rules            rules
            ok_suspect      rules        defer            rules
            missing         allow        allow_by_policy  allow
            access_denied   allow        defer            allow
            rate_limited    allow        defer            deny
            client_error    allow        defer            allow
            server_error    deny         defer            deny
            redirect_limit  allow        defer            allow
            redirect_invalid deny        defer            deny
            blocked_address deny         defer            deny
            dns_nxdomain    deny         defer            deny
            dns_failure     deny         defer            deny
            connect_failed  deny         defer            deny
            connect_timeout deny         defer            deny
            tls_failed      deny         defer            deny
            timeout         deny         defer            deny
            protocol_error  deny         defer            deny
            body_incomplete deny         defer            deny
            decode_failed   deny         defer            deny
            invalid_target  unresolved   unresolved       unresolved
            not_collected   unresolved   unresolved       unresolved
            internal        deny         defer            deny";
        let rows: Vec<Vec<&str>> = table.trim().lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.len(), FetchClass::ALL.len());
        for row in rows {
            let class = FetchClass::from_name(row[0]).expect("a class");
            for (policy, expected) in [Policy::Rfc9309, Policy::Conservative, Policy::Google].into_iter().zip(&row[1..])
            {
                let found = Answer::without_rules(policy, class, Outage::UNKNOWN)
                    .map_or("rules", |answer| answer.decision.as_str());
                assert_eq!(found, *expected, "{class} under {policy}");
            }
        }
    }
    /// What an outage of each length is made of, with and without a copy, where HTTP is answered and where it is not.
    #[test]
    fn every_class_in_every_outage() {
        let table = "
            rfc9309       early  deny   deny   deny   deny
            rfc9309       later  deny   deny   deny   deny
            rfc9309       long   rules  allow  rules  allow
            conservative  early  defer  defer  defer  defer
            conservative  later  defer  defer  defer  defer
            conservative  long   defer  defer  defer  defer
            google        early  deny   deny   deny   deny
            google        later  rules  allow  rules  allow
            google        long   allow  allow  deny   deny";
        let found = |policy, class, outage| {
            Answer::without_rules(policy, class, outage).map_or("rules", |answer| answer.decision.as_str())
        };
        for row in table.trim().lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
            let policy = Policy::from_name(row[0]).expect("a policy");
            let stage = match row[1] {
                "early" => OutageStage::Early,
                "later" => OutageStage::Later,
                _ => OutageStage::Long,
            };
            let outages = [(true, true), (false, true), (true, false), (false, false)];
            for ((has_copy, answers_http), expected) in outages.into_iter().zip(&row[2..]) {
                let outage = Outage { stage, has_copy, answers_http };
                for class in FetchClass::ALL.iter().copied() {
                    let is_unavailable = class == FetchClass::RateLimited && policy == Policy::Rfc9309;
                    let expected = if class.is_outage() && !is_unavailable {
                        expected
                    } else {
                        found(policy, class, Outage::UNKNOWN)
                    };
                    assert_eq!(found(policy, class, outage), expected, "{class} under {policy}, {outage:?}");
                }
            }
        }
    }

    #[test]
    fn stages_begin_at_their_lengths() {
        let almost = |length: Duration| length.saturating_sub(Duration::from_secs(1));
        for (lasted, stage) in [
            (Duration::ZERO, OutageStage::Early),
            (almost(SHORT_OUTAGE), OutageStage::Early),
            (SHORT_OUTAGE, OutageStage::Later),
            (almost(LONG_OUTAGE), OutageStage::Later),
            (LONG_OUTAGE, OutageStage::Long),
            (Duration::MAX, OutageStage::Long),
        ] {
            assert_eq!(OutageStage::of(lasted), stage, "{lasted:?}");
        }
    }
}
