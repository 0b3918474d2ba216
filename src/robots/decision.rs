//! The decision: what a policy makes of the class of an answer and, where rules count, of the verdict.

use super::access::{FetchClass, Outcome, Policy, names};
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

    /// The answer where they do not; `None` where the policy lets the rules of this class decide.
    #[must_use]
    pub const fn without_rules(policy: Policy, class: FetchClass) -> Option<Self> {
        let decision = match policy.outcome(class) {
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
    pub fn before_rules(policy: Policy, class: FetchClass, path: &Path<'_>) -> Option<Self> {
        if path.is_robots_txt() { Some(Self::ROBOTS_TXT) } else { Self::without_rules(policy, class) }
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
    use super::*;

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
                let found = Answer::without_rules(policy, class).map_or("rules", |answer| answer.decision.as_str());
                assert_eq!(found, *expected, "{class} under {policy}");
            }
        }
    }
}
