//! What to do about each finding.

use crate::robots::finding::Code;

/// What to do about a finding, in a few words.
#[must_use]
pub const fn hint(code: Code) -> &'static str {
    match code {
        Code::UnknownField => "remove the line, or put a # before it",
        Code::MisspeltField => "write User-agent, Allow, Disallow, Sitemap or Crawl-delay",
        Code::MissingColon => "put a colon behind the field's name, or a # before a remark",
        Code::RuleOutsideGroup => "put a line `User-agent: *` before it",
        Code::RuleNeverMatches => "put a / before the path",
        Code::RuleWithBlank => "give each path a line of its own; write %20 for a blank of the path",
        Code::RuleWithUrl => "leave out the scheme and the host: a file is about its own origin",
        Code::DollarInside => "write %24 for the character; $ may only end a rule",
        Code::ShadowedRule => "remove one of the two, or make this one longer",
        Code::DuplicateRule | Code::LicenseDuplicate => "remove one of the two",
        Code::RawNonAscii => "write each octet above 0x7F as %XX",
        Code::InvalidUtf8 => "save the file as UTF-8, or write %XX as the site's URLs have it",
        Code::NeedlessEscape => "write the character itself",
        Code::AgentWithoutToken => "name a crawler by its product token, or * for all others",
        Code::AgentWithExtraText => "write the product token alone",
        Code::AgentWithVersion => "leave the version out",
        Code::AgentWithBlank => "write the token without a blank, as its operator documents it",
        Code::AgentsOnOneLine => "give each name a User-agent line of its own",
        Code::AgentIsFullString => "write the product token, such as Googlebot, in place of the whole string",
        Code::CrawlerNearMiss => "write the name as its operator documents it",
        Code::RetiredToken => "remove the line",
        Code::BridgedAgents => "end the group above with a rule: `Disallow:` with nothing behind it allows everything",
        Code::GroupWithoutRules => "write `Disallow:` with nothing behind it if everything is to be open",
        Code::DuplicateGroup => "put all rules for the name into one group; some readers know only one of them",
        Code::StarRulesLeftBehind => "repeat the rules of * in this group",
        Code::StarRulesLifted => "nothing, if that is meant; else repeat the rules of * in this group",
        Code::SearchCrawlerInAiGroup => "take the search engine out, or the site leaves its results",
        Code::CrawlDelayInvalid => "write a number of seconds, such as 2.5",
        Code::MarkInside => "remove the invisible character, U+FEFF; it comes from gluing files together",
        Code::LoneCarriageReturn => "save the file with line feeds only",
        Code::NulOctet => "save the file as UTF-8 text",
        Code::Utf16Body => "save the file as UTF-8",
        Code::HtmlBody | Code::JsonBody | Code::BinaryBody => {
            "let the server send text, or the status 404 where there is none"
        }
        Code::TrainingTokenNearMiss => "write `User-agent: __usage_ai-training`",
        Code::TrainingTokenAsField => "write `User-agent: __usage_ai-training`, and a rule below it",
        Code::TrainingTokenInComment => "remove the # if the line is to count",
        Code::TrainingTokenWithSuffix => "write the token alone",
        Code::OtherPolicyToken => "write __usage_ai-training if training is meant",
        Code::ContentUsageOutsideGroup | Code::ContentSignalOutsideGroup => "put it below a line `User-agent: *`",
        Code::ContentUsageInvalid => "write labels in lower case, such as `train-ai=n, search=y`",
        Code::ContentUsageValueInvalid => "write y or n, without quotation marks",
        Code::ContentUsageLabelUnknown => "write train-ai or search",
        Code::ContentSignalWithPath => "leave the path out",
        Code::ContentSignalInvalid => {
            "write `search`, `ai-input` and `ai-train`, each with yes or no, and commas between"
        }
        Code::ContentSignalContradiction => "leave one of the two",
        Code::LicenseInGroup => "put the line before the first group",
        Code::LicenseInvalid => "write the whole URL, with https://",
        Code::AiTrainingRule => "use Content-Usage, Content-Signal or the token __usage_ai-training",
        Code::Noindex => "use a robots meta element or the header field X-Robots-Tag",
        Code::RelativeSitemap => "write the whole URL, with https:// and the host",
        Code::ExtensionInvalid => "write the value as the readers of the field document it",
        Code::SignalConflict => "let the signals say the same",
        Code::OverLimit => "shorten the file, most often by patterns in place of lists",
        Code::MoreExtensions | Code::MoreFindings => "mend what is listed, then look again",
        Code::ContentUsage
        | Code::ContentSignal
        | Code::ContentSignalManaged
        | Code::ContentSignalUse
        | Code::License
        | Code::CrawlDelay
        | Code::RequestRate
        | Code::VisitTime
        | Code::Host
        | Code::CleanParam
        | Code::Sitemap
        | Code::CloudflareManaged
        | Code::ContentSignalsPolicy
        | Code::CommentMentionsTdm
        | Code::AccessUndetermined => "nothing: this is a fact",
    }
}
