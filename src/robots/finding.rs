//! The closed list of oddities that parsing survives, each with its line.

use super::access::names;
use super::lex::Line;

/// Findings kept of one body; one more says that there were others.
pub const FINDINGS: usize = 1_000;

names! {
    /// What is odd. The names are stable.
    pub enum Code {
        /// A key that no reader of robots.txt is known to use.
        UnknownField => "unknown_field",
        /// A key that looks like a misspelt known one; it is not applied.
        MisspeltField => "misspelt_field",
        /// Text without a colon.
        MissingColon => "missing_colon",
        /// A rule before the first user-agent line.
        RuleOutsideGroup => "rule_outside_group",
        /// A rule whose value begins with neither `/` nor `*`, or is a lone `$`.
        RuleNeverMatches => "rule_never_matches",
        /// A rule with a blank or a control octet inside.
        RuleWithBlank => "rule_with_blank",
        /// A user-agent value that names nobody.
        AgentWithoutToken => "agent_without_token",
        /// A user-agent value of which only the leading token counts.
        AgentWithExtraText => "agent_with_extra_text",
        /// A user-agent run that goes on behind Crawl-delay or another record, so that two crawlers share one group.
        BridgedAgents => "bridged_agents",
        /// A group without rules: everything is allowed to it.
        GroupWithoutRules => "group_without_rules",
        /// A Crawl-delay that is no number of seconds.
        CrawlDelayInvalid => "crawl_delay_invalid",
        /// A byte order mark behind the beginning: two files glued together.
        MarkInside => "mark_inside",
        /// The training token written almost, but not quite, right.
        TrainingTokenNearMiss => "training_token_near_miss",
        /// The body is longer than the size limit; later lines were not read.
        OverLimit => "over_limit",
        /// Whether some path is refused could not be settled within the state limit.
        AccessUndetermined => "access_undetermined",
        /// There were more findings than are kept.
        MoreFindings => "more_findings",
    }
}

names! {
    /// How much a finding matters to the owner of the file.
    pub enum Severity {
        /// What was meant and what is read differ.
        Error => "error",
        /// What was meant and what is read may differ.
        Warning => "warning",
        /// Worth knowing.
        Info => "info",
    }
}

impl Code {
    /// How much the finding matters.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::MisspeltField
            | Self::MissingColon
            | Self::RuleOutsideGroup
            | Self::RuleNeverMatches
            | Self::MarkInside
            | Self::OverLimit => Severity::Error,
            Self::RuleWithBlank
            | Self::AgentWithoutToken
            | Self::AgentWithExtraText
            | Self::BridgedAgents
            | Self::CrawlDelayInvalid
            | Self::TrainingTokenNearMiss => Severity::Warning,
            Self::UnknownField | Self::GroupWithoutRules | Self::AccessUndetermined | Self::MoreFindings => {
                Severity::Info
            }
        }
    }

    /// One sentence for people.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::UnknownField => "this field is not known; it is ignored",
            Self::MisspeltField => "this looks like a misspelt field; it is ignored",
            Self::MissingColon => "there is no colon, so this line is ignored",
            Self::RuleOutsideGroup => "this rule stands before any user-agent line and applies to nobody",
            Self::RuleNeverMatches => "a path begins with / or *; this rule can never match",
            Self::RuleWithBlank => "a blank or control octet is compared like any other; two paths need two lines",
            Self::AgentWithoutToken => "this user-agent line names nobody",
            Self::AgentWithExtraText => "only the leading product token of this user-agent line counts",
            Self::BridgedAgents => "only a rule ends a run of user-agent lines; this one joins the group above",
            Self::GroupWithoutRules => "this group has no rules: it allows everything",
            Self::CrawlDelayInvalid => "the delay is not a number of seconds; it is ignored",
            Self::MarkInside => "a byte order mark inside the file hides this line's field",
            Self::TrainingTokenNearMiss => "this is almost the training token, and has no effect",
            Self::OverLimit => "the file is longer than 512000 octets; lines after this one are ignored",
            Self::AccessUndetermined => "too many rules interact to tell whether any path is refused",
            Self::MoreFindings => "there are more findings; they are not listed",
        }
    }
}

/// One oddity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding<'a> {
    /// Where.
    pub line: Line,
    /// What.
    pub code: Code,
    /// The octets that it is about.
    pub raw: &'a [u8],
}
