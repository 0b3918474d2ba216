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
        /// A rule whose value is a whole URL.
        RuleWithUrl => "rule_with_url",
        /// A rule with a `$` that is not at its end.
        DollarInside => "dollar_inside",
        /// A rule that never decides, since a rule of the other kind matches whatever it matches and comes before it.
        ShadowedRule => "shadowed_rule",
        /// A rule that stands there already.
        DuplicateRule => "duplicate_rule",
        /// A rule with octets above 0x7F.
        RawNonAscii => "raw_non_ascii",
        /// A rule that is no UTF-8.
        InvalidUtf8 => "invalid_utf8",
        /// An escape of a character that needs none.
        NeedlessEscape => "needless_escape",
        /// A user-agent value that names nobody.
        AgentWithoutToken => "agent_without_token",
        /// A user-agent value of which only the leading token counts.
        AgentWithExtraText => "agent_with_extra_text",
        /// A user-agent value with a version behind its token.
        AgentWithVersion => "agent_with_version",
        /// A user-agent value with a blank inside.
        AgentWithBlank => "agent_with_blank",
        /// Several names in one user-agent line.
        AgentsOnOneLine => "agents_on_one_line",
        /// The User-Agent string of a browser or crawler, of which `Mozilla` is the token.
        AgentIsFullString => "agent_is_full_string",
        /// A token that is almost a known crawler's.
        CrawlerNearMiss => "crawler_near_miss",
        /// The token of a crawler that no longer comes.
        RetiredToken => "retired_token",
        /// A user-agent run that goes on behind Crawl-delay or another record, so that two crawlers share one group.
        BridgedAgents => "bridged_agents",
        /// A group without rules: everything is allowed to it.
        GroupWithoutRules => "group_without_rules",
        /// A second group for a token.
        DuplicateGroup => "duplicate_group",
        /// A group of its own that lacks rules of the wildcard.
        StarRulesLeftBehind => "star_rules_left_behind",
        /// A group that opens everything, rules of the wildcard included.
        StarRulesLifted => "star_rules_lifted",
        /// A large search engine in a group that shuts out crawlers for AI.
        SearchCrawlerInAiGroup => "search_crawler_in_ai_group",
        /// A Crawl-delay that is no number of seconds.
        CrawlDelayInvalid => "crawl_delay_invalid",
        /// A byte order mark behind the beginning: two files glued together.
        MarkInside => "mark_inside",
        /// A carriage return without a line feed.
        LoneCarriageReturn => "lone_carriage_return",
        /// A NUL octet.
        NulOctet => "nul_octet",
        /// A body in UTF-16 or UTF-32.
        Utf16Body => "utf16_body",
        /// A body that is HTML or XML.
        HtmlBody => "html_body",
        /// A body that is JSON.
        JsonBody => "json_body",
        /// A body that is no text.
        BinaryBody => "binary_body",
        /// The training token written almost, but not quite, right.
        TrainingTokenNearMiss => "training_token_near_miss",
        /// The training token as the name of a field.
        TrainingTokenAsField => "training_token_as_field",
        /// The training token in a comment, and in no group.
        TrainingTokenInComment => "training_token_in_comment",
        /// The training token with a version or other text behind it.
        TrainingTokenWithSuffix => "training_token_with_suffix",
        /// Another token of the reserved form `__usage_…`.
        OtherPolicyToken => "other_policy_token",
        /// A Content-Usage rule.
        ContentUsage => "content_usage",
        /// A Content-Usage rule before the first user-agent line.
        ContentUsageOutsideGroup => "content_usage_outside_group",
        /// A Content-Usage rule whose preference is no dictionary of structured fields.
        ContentUsageInvalid => "content_usage_invalid",
        /// A label of a Content-Usage rule with a value other than the tokens `y` and `n`.
        ContentUsageValueInvalid => "content_usage_value_invalid",
        /// A label of a Content-Usage rule that no draft ever had.
        ContentUsageLabelUnknown => "content_usage_label_unknown",
        /// A Content-Signal record of the site's own.
        ContentSignal => "content_signal",
        /// A Content-Signal record in a managed block.
        ContentSignalManaged => "content_signal_managed",
        /// A Content-Signal record that says how much may be kept.
        ContentSignalUse => "content_signal_use",
        /// A Content-Signal record before the first user-agent line.
        ContentSignalOutsideGroup => "content_signal_outside_group",
        /// A Content-Signal record with a path, which its policy does not know.
        ContentSignalWithPath => "content_signal_with_path",
        /// A Content-Signal record with a part that states nothing.
        ContentSignalInvalid => "content_signal_invalid",
        /// A Content-Signal record that takes back an earlier one of the same group.
        ContentSignalContradiction => "content_signal_contradiction",
        /// A License record of RSL.
        License => "license",
        /// A License record behind a user-agent line.
        LicenseInGroup => "license_in_group",
        /// A License record without an absolute http or https URL.
        LicenseInvalid => "license_invalid",
        /// A License record that was there before.
        LicenseDuplicate => "license_duplicate",
        /// A rule of an expired draft: `DisallowAITraining`, `AllowAITraining` and their kin.
        AiTrainingRule => "ai_training_rule",
        /// The first Crawl-delay.
        CrawlDelay => "crawl_delay",
        /// The first Request-rate.
        RequestRate => "request_rate",
        /// The first Visit-time.
        VisitTime => "visit_time",
        /// The first Host.
        Host => "host",
        /// The first Clean-param.
        CleanParam => "clean_param",
        /// The first Noindex.
        Noindex => "noindex",
        /// The first Sitemap.
        Sitemap => "sitemap",
        /// A Sitemap that is no absolute URL.
        RelativeSitemap => "relative_sitemap",
        /// A Request-rate, Visit-time, Host, Clean-param or Noindex that those who use it cannot read.
        ExtensionInvalid => "extension_invalid",
        /// The marks of a block that Cloudflare wrote.
        CloudflareManaged => "cloudflare_managed",
        /// A comment that explains content signals.
        ContentSignalsPolicy => "content_signals_policy",
        /// A comment that reserves rights on text and data mining.
        CommentMentionsTdm => "comment_mentions_tdm",
        /// Two signals, or a signal and the rules, that contradict each other.
        SignalConflict => "signal_conflict",
        /// The body is longer than the size limit; later lines were not read.
        OverLimit => "over_limit",
        /// Whether some path is refused could not be settled within the state limit.
        AccessUndetermined => "access_undetermined",
        /// There were more records beside the rules than are kept.
        MoreExtensions => "more_extensions",
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
            | Self::RuleWithUrl
            | Self::AgentsOnOneLine
            | Self::AgentIsFullString
            | Self::Utf16Body
            | Self::HtmlBody
            | Self::JsonBody
            | Self::BinaryBody
            | Self::MarkInside
            | Self::OverLimit => Severity::Error,
            Self::RuleWithBlank
            | Self::DollarInside
            | Self::ShadowedRule
            | Self::InvalidUtf8
            | Self::AgentWithBlank
            | Self::CrawlerNearMiss
            | Self::StarRulesLeftBehind
            | Self::SearchCrawlerInAiGroup
            | Self::NulOctet
            | Self::RelativeSitemap
            | Self::AgentWithoutToken
            | Self::AgentWithExtraText
            | Self::BridgedAgents
            | Self::CrawlDelayInvalid
            | Self::TrainingTokenNearMiss
            | Self::TrainingTokenAsField
            | Self::TrainingTokenInComment
            | Self::ContentUsageOutsideGroup
            | Self::ContentUsageInvalid
            | Self::ContentUsageValueInvalid
            | Self::ContentSignalOutsideGroup
            | Self::ContentSignalWithPath
            | Self::ContentSignalInvalid
            | Self::ContentSignalContradiction
            | Self::LicenseInvalid
            | Self::ExtensionInvalid
            | Self::SignalConflict => Severity::Warning,
            Self::UnknownField
            | Self::DuplicateRule
            | Self::RawNonAscii
            | Self::NeedlessEscape
            | Self::AgentWithVersion
            | Self::RetiredToken
            | Self::DuplicateGroup
            | Self::StarRulesLifted
            | Self::LoneCarriageReturn
            | Self::GroupWithoutRules
            | Self::AccessUndetermined
            | Self::TrainingTokenWithSuffix
            | Self::OtherPolicyToken
            | Self::ContentUsage
            | Self::ContentUsageLabelUnknown
            | Self::ContentSignal
            | Self::ContentSignalManaged
            | Self::ContentSignalUse
            | Self::License
            | Self::LicenseInGroup
            | Self::LicenseDuplicate
            | Self::AiTrainingRule
            | Self::CrawlDelay
            | Self::RequestRate
            | Self::VisitTime
            | Self::Host
            | Self::CleanParam
            | Self::Noindex
            | Self::Sitemap
            | Self::CloudflareManaged
            | Self::ContentSignalsPolicy
            | Self::CommentMentionsTdm
            | Self::MoreExtensions
            | Self::MoreFindings => Severity::Info,
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
            Self::RuleWithUrl => "a rule is a path; a whole URL can never match",
            Self::DollarInside => "only at the end $ means the end of the path; here it is an ordinary character",
            Self::ShadowedRule => "this rule never decides: one of the other kind always comes before it",
            Self::DuplicateRule => "this rule stands there already",
            Self::RawNonAscii => "characters beyond ASCII belong into a rule as %XX; not every reader escapes them",
            Self::InvalidUtf8 => "this rule is no UTF-8; URLs that are will not match",
            Self::NeedlessEscape => "an escape that is not needed; some readers compare it as it stands",
            Self::AgentWithoutToken => "this user-agent line names nobody",
            Self::AgentWithExtraText => "only the leading product token of this user-agent line counts",
            Self::AgentWithVersion => "the version is not compared: every version is meant",
            Self::AgentWithBlank => "only the word before the blank is the token",
            Self::AgentsOnOneLine => "of several names on one user-agent line only the first counts",
            Self::AgentIsFullString => {
                "of a whole User-Agent string only its first word counts, which names no crawler"
            }
            Self::CrawlerNearMiss => "this is almost the name of a crawler, and does not name it",
            Self::RetiredToken => "this crawler no longer comes",
            Self::BridgedAgents => "only a rule ends a run of user-agent lines; this one joins the group above",
            Self::GroupWithoutRules => "this group has no rules: it allows everything",
            Self::DuplicateGroup => "there is another group for this name; the two count as one",
            Self::StarRulesLeftBehind => "a crawler with its own group obeys none of the rules of *",
            Self::StarRulesLifted => "this group opens everything, also what * closes",
            Self::SearchCrawlerInAiGroup => "this group of crawlers for AI shuts out a search engine too",
            Self::CrawlDelayInvalid => "the delay is not a number of seconds; it is ignored",
            Self::MarkInside => "a byte order mark inside the file becomes part of what it stands in",
            Self::LoneCarriageReturn => "a carriage return without a line feed ends a line, too",
            Self::NulOctet => "a NUL octet; some readers stop at it",
            Self::Utf16Body => "this is not UTF-8 but UTF-16, UTF-32 or full of NUL octets; nothing can be read",
            Self::HtmlBody => "this is HTML or XML, no robots.txt",
            Self::JsonBody => "this is JSON, no robots.txt",
            Self::BinaryBody => "this is no text",
            Self::TrainingTokenNearMiss => "this is almost the training token, and has no effect",
            Self::TrainingTokenAsField => "the training token is a user-agent value; as a field it has no effect",
            Self::TrainingTokenInComment => "the training token stands in a comment only, and has no effect",
            Self::TrainingTokenWithSuffix => "the training token counts, but readers that compare whole values miss it",
            Self::OtherPolicyToken => "this token has the form of a usage preference, but its meaning is not known",
            Self::ContentUsage => "a usage preference (AIPREF)",
            Self::ContentUsageOutsideGroup => "this preference stands before any user-agent line and applies to nobody",
            Self::ContentUsageInvalid => "this is no dictionary of structured fields, so it expresses nothing",
            Self::ContentUsageValueInvalid => "a value other than the tokens y and n expresses nothing",
            Self::ContentUsageLabelUnknown => "a label of this preference is not known; it is ignored",
            Self::ContentSignal => "a usage signal (Content-Signal)",
            Self::ContentSignalManaged => "a usage signal that the managed block states, not the site",
            Self::ContentSignalUse => "this signal says how much may be kept",
            Self::ContentSignalOutsideGroup => {
                "this signal stands before any user-agent line; it is taken as meant for all"
            }
            Self::ContentSignalWithPath => "a path is no part of this field; readers may miss the whole line",
            Self::ContentSignalInvalid => {
                "a part of this signal is no known key with a known value; that part is ignored"
            }
            Self::ContentSignalContradiction => {
                "this signal contradicts an earlier one of the same group; the later one counts"
            }
            Self::License => "the terms of use are here (RSL)",
            Self::LicenseInGroup => "this record belongs to no group; it counts for the whole site",
            Self::LicenseInvalid => "a licence is named by an absolute http or https URL of at most 2048 octets",
            Self::LicenseDuplicate => "this licence is named above already",
            Self::AiTrainingRule => "a rule about training of a draft that has expired",
            Self::CrawlDelay => "seconds between requests; reported, never applied",
            Self::RequestRate => "a rate of requests; reported, never applied",
            Self::VisitTime => "a time of day for visits; reported, never applied",
            Self::Host => "the preferred host; reported, never applied",
            Self::CleanParam => "query parameters that change nothing; reported, never applied",
            Self::Noindex => "no large search engine reads this any more; reported, never applied",
            Self::Sitemap => "where a sitemap is",
            Self::RelativeSitemap => "a sitemap is named by an absolute URL",
            Self::ExtensionInvalid => "the value is not of the form that readers of this field expect",
            Self::CloudflareManaged => "a managed block begins here: its rules and signals are the vendor's",
            Self::ContentSignalsPolicy => "a comment speaks of content signals",
            Self::CommentMentionsTdm => "a comment speaks of text and data mining",
            Self::SignalConflict => "two signals of this file contradict each other",
            Self::OverLimit => "the file is longer than 512000 octets; lines after this one are ignored",
            Self::AccessUndetermined => "too many rules interact to tell whether any path is refused",
            Self::MoreExtensions => "there are more records beside the rules; from this line on they are not read",
            Self::MoreFindings => "there are more findings; they are not listed",
        }
    }
}

/// Which commands report a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The table `findings` only: a fact for statistics, nothing to be mended.
    Audit,
    /// The table and `lint`.
    Both,
    /// `lint` only: finding it costs more than reading the file, or it is about more than one line.
    Lint,
}

impl FoundBy {
    /// In the words of the documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Both => "audit, lint",
            Self::Lint => "lint",
        }
    }
}

impl Code {
    /// Which commands report it.
    #[must_use]
    pub const fn found_by(self) -> FoundBy {
        match self {
            Self::ContentUsage
            | Self::ContentSignal
            | Self::ContentSignalManaged
            | Self::ContentSignalUse
            | Self::License
            | Self::CrawlDelay
            | Self::RequestRate
            | Self::VisitTime
            | Self::Host
            | Self::CleanParam
            | Self::Sitemap
            | Self::CloudflareManaged
            | Self::ContentSignalsPolicy
            | Self::CommentMentionsTdm
            | Self::AccessUndetermined => FoundBy::Audit,
            Self::DollarInside
            | Self::ShadowedRule
            | Self::DuplicateRule
            | Self::RawNonAscii
            | Self::InvalidUtf8
            | Self::NeedlessEscape
            | Self::CrawlerNearMiss
            | Self::RetiredToken
            | Self::DuplicateGroup
            | Self::StarRulesLeftBehind
            | Self::StarRulesLifted
            | Self::SearchCrawlerInAiGroup
            | Self::LoneCarriageReturn
            | Self::NulOctet
            | Self::Utf16Body
            | Self::HtmlBody
            | Self::JsonBody
            | Self::BinaryBody => FoundBy::Lint,
            _ => FoundBy::Both,
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
