//! Records to groups (§2.1, §2.2). Parsing cannot fail: one bad line costs one line (§2.3.1.5).

use std::ops::Range;

use super::finding::{Code, FINDINGS, Finding};
use super::google::{self, Quirk, Reading};
use super::lex::{Content, Line, Lines, content, is_word, readable};
use super::slip::{begins_with_mark, extra_text, is_misspelt, is_url};
use super::token::{Agent, Matching, leading_token};

/// A parsed file. It borrows the body.
#[derive(Debug, Clone, PartialEq)]
pub struct Robots<'a> {
    /// The groups, in file order.
    pub groups: Vec<Group<'a>>,
    /// The rules of all groups, in file order. Lines without a value are none, but for [`Matching::Google`], where
    /// they match every path and refuse none.
    pub rules: Vec<Rule<'a>>,
    /// Values of the Sitemap records, in file order (§2.2.4); they belong to no group.
    pub sitemaps: Vec<(Line, &'a [u8])>,
    /// Records that are no part of RFC 9309, in file order; at most [`EXTENSIONS`]. What they mean is left to
    /// [`signals`](crate::signals).
    pub extensions: Vec<Extension<'a>>,
    /// What was odd, in file order; at most [`FINDINGS`] and one.
    pub findings: Vec<Finding<'a>>,
    /// Lines read.
    pub lines: u32,
    /// Lines with a colon.
    pub records: u32,
    /// Whether the body was longer than the size limit.
    pub is_truncated: bool,
    /// The mode that it was read in.
    pub matching: Matching,
    /// What was done as RFC 9309 has it all the same.
    pub undone: Option<Quirk>,
}

/// A run of user-agent lines and the rules after them.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'a> {
    /// The user-agent lines.
    pub agents: Vec<(Line, Agent<'a>)>,
    /// Its rules: places in [`Robots::rules`].
    pub rules: Range<usize>,
    /// Seconds of the first valid Crawl-delay: reported, never applied.
    pub crawl_delay_s: Option<f64>,
}

/// An allow or disallow line; with a value, but for [`Matching::Google`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule<'a> {
    /// Where.
    pub line: Line,
    /// Which of the two.
    pub directive: Directive,
    /// The key as written.
    pub key: &'a [u8],
    /// The value as written, trimmed, without a comment.
    pub value: &'a [u8],
}

/// Records of [`Robots::extensions`] kept of one body; a finding says that there were others.
pub const EXTENSIONS: usize = 4_096;

/// A record that is neither user-agent line, rule nor sitemap: no group and no verdict depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Where.
    pub line: Line,
    /// The group that it stands in, a place in [`Robots::groups`]; `None` before the first.
    pub group: Option<u32>,
    /// The key as written.
    pub key: &'a [u8],
    /// The value as written, trimmed, without a comment.
    pub value: &'a [u8],
}

/// The two kinds of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Directive {
    /// `Allow`.
    Allow,
    /// `Disallow`.
    Disallow,
}

impl Directive {
    /// The name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Disallow => "disallow",
        }
    }
}

impl<'a> Robots<'a> {
    /// Parses a body. Every octet string is a file; what cannot be used is a finding.
    #[must_use]
    pub fn parse(body: &'a [u8], matching: Matching) -> Self {
        Self::parse_as(body, matching.into())
    }

    /// The same, in a mode of which one quirk may be undone.
    #[must_use]
    pub fn parse_as(body: &'a [u8], reading: Reading) -> Self {
        let readable = readable(body, reading.mode_of(Quirk::SizeLimit).parse_octets());
        let mut parser = Parser::new(reading, readable.is_truncated);
        parser.robots.rules.reserve(readable.octets.len() / OCTETS_PER_RULE);
        let lines = Lines::of(readable.octets);
        match reading.matching {
            Matching::Rfc9309 => lines.for_each(|(line, text)| parser.line(line, content(text))),
            Matching::Google => lines.for_each(|(line, text)| parser.line(line, google::line_content(text, reading))),
        }
        parser.finish()
    }

    /// The mode in which one thing was read.
    #[must_use]
    pub fn mode_of(&self, quirk: Quirk) -> Matching {
        Reading { matching: self.matching, undone: self.undone }.mode_of(quirk)
    }
}

/// Octets of a body for each rule, for a first guess at their number; real files have more.
const OCTETS_PER_RULE: usize = 40;

/// The keys that mean something, here or to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Rule(Directive),
    CrawlDelay,
    Sitemap,
    /// Known to some reader; not applied here.
    Other,
    Misspelt,
    Unknown,
}

impl Key {
    fn of(key: &[u8]) -> Self {
        let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
        // No two of the frequent keys are of the same length.
        match key.len() {
            8 if is_word(key, *b"disallow") => Self::Rule(Directive::Disallow),
            5 if is_word(key, *b"allow") => Self::Rule(Directive::Allow),
            10 if is("user-agent") => Self::UserAgent,
            7 if is("sitemap") => Self::Sitemap,
            11 if is("crawl-delay") => Self::CrawlDelay,
            _ if OTHER_KEYS.iter().any(|name| is(name)) => Self::Other,
            _ if is_misspelt(key) => Self::Misspelt,
            _ => Self::Unknown,
        }
    }
}

const OTHER_KEYS: [&str; 12] = [
    "host",
    "clean-param",
    "noindex",
    "request-rate",
    "visit-time",
    "content-signal",
    "content-usage",
    "license",
    "disallowaitraining",
    "allowaitraining",
    "comment",
    "nofollow",
];

struct Parser<'a> {
    robots: Robots<'a>,
    /// Whether the next user-agent line joins the last group.
    run_is_open: bool,
    /// Whether another record stood in the open run.
    run_is_bridged: bool,
    first_extension_left_out: Option<Line>,
    last_line: Line,
}

impl<'a> Parser<'a> {
    const fn new(Reading { matching, undone }: Reading, is_truncated: bool) -> Self {
        let robots = Robots {
            groups: Vec::new(),
            rules: Vec::new(),
            sitemaps: Vec::new(),
            extensions: Vec::new(),
            findings: Vec::new(),
            lines: 0,
            records: 0,
            is_truncated,
            matching,
            undone,
        };
        Self {
            robots,
            run_is_open: false,
            run_is_bridged: false,
            first_extension_left_out: None,
            last_line: Line::FIRST,
        }
    }

    fn line(&mut self, line: Line, content: Content<'a>) {
        self.robots.lines += 1;
        self.last_line = line;
        match content {
            Content::Blank => {}
            Content::Other(text) if begins_with_mark(text) => self.find(line, Code::MarkInside, text),
            Content::Other(text) => self.find(line, Code::MissingColon, text),
            Content::Record { key, value } => self.record(line, key, value),
        }
    }

    fn record(&mut self, line: Line, key: &'a [u8], value: &'a [u8]) {
        self.robots.records += 1;
        let meaning = match self.robots.mode_of(Quirk::MisspeltKey) {
            Matching::Rfc9309 => Key::of(key),
            Matching::Google => google::key(key).unwrap_or_else(|| Key::of(key)),
        };
        match meaning {
            Key::Rule(directive) => self.rule(Rule { line, directive, key, value }),
            Key::UserAgent => self.user_agent(line, value),
            Key::Sitemap => {
                self.robots.sitemaps.push((line, value));
                self.bridge();
            }
            Key::Misspelt => self.odd_key(line, Code::MisspeltField, key),
            Key::CrawlDelay | Key::Other | Key::Unknown => self.other_record(line, meaning, key, value),
        }
    }

    fn other_record(&mut self, line: Line, meaning: Key, key: &'a [u8], value: &'a [u8]) {
        self.extension(line, key, value);
        match meaning {
            Key::CrawlDelay => self.crawl_delay(line, value),
            Key::Other => self.bridge(),
            _ if begins_with_mark(key) => self.odd_key(line, Code::MarkInside, key),
            _ => self.odd_key(line, Code::UnknownField, key),
        }
    }

    fn extension(&mut self, line: Line, key: &'a [u8], value: &'a [u8]) {
        if self.robots.extensions.len() == EXTENSIONS {
            self.first_extension_left_out.get_or_insert(line);
            return;
        }
        let group = self.robots.groups.len().checked_sub(1).map(|place| u32::try_from(place).expect("within a body"));
        self.robots.extensions.push(Extension { line, group, key, value });
    }

    fn user_agent(&mut self, line: Line, value: &'a [u8]) {
        if self.run_is_open && self.run_is_bridged {
            self.find(line, Code::BridgedAgents, value);
        }
        if !self.run_is_open {
            self.close_group();
            let rules = self.robots.rules.len()..self.robots.rules.len();
            self.robots.groups.push(Group { agents: Vec::new(), rules, crawl_delay_s: None });
        }
        self.run_is_open = true;
        self.run_is_bridged = false;
        let agent = Agent::of_value(value, self.robots.mode_of(Quirk::Token));
        self.agent_findings(line, value, agent);
        self.robots.groups.last_mut().expect("a run has a group").agents.push((line, agent));
    }

    fn agent_findings(&mut self, line: Line, value: &'a [u8], agent: Agent<'a>) {
        match agent {
            Agent::Nobody => self.find(line, Code::AgentWithoutToken, value),
            Agent::Token(token) if is_training_with_suffix(token, value) => {
                self.find(line, Code::TrainingTokenWithSuffix, value);
            }
            Agent::Token(token) if token.len() < value.len() => self.find(line, extra_text(token, value), value),
            Agent::Star if value.len() > 1 => self.find(line, Code::AgentWithExtraText, value),
            Agent::Token(_) | Agent::Star => {}
        }
        if let Agent::Token(token) = agent
            && is_training_near_miss(token, self.robots.mode_of(Quirk::Token))
        {
            self.find(line, Code::TrainingTokenNearMiss, value);
        }
    }

    fn rule(&mut self, rule: Rule<'a>) {
        self.run_is_open = false;
        if self.robots.groups.is_empty() {
            self.find(rule.line, Code::RuleOutsideGroup, rule.value);
            return;
        }
        if rule.value.is_empty() && self.robots.matching == Matching::Rfc9309 {
            return;
        }
        if !matches!(rule.value, [] | [b'/' | b'*', ..]) {
            let code = if is_url(rule.value) { Code::RuleWithUrl } else { Code::RuleNeverMatches };
            self.find(rule.line, code, rule.value);
        } else if has_blank(rule.value) {
            self.find(rule.line, Code::RuleWithBlank, rule.value);
        }
        self.robots.rules.push(rule);
        self.robots.groups.last_mut().expect("not empty").rules.end = self.robots.rules.len();
    }

    fn crawl_delay(&mut self, line: Line, value: &'a [u8]) {
        match seconds(value) {
            Some(seconds) => {
                if let Some(group) = self.robots.groups.last_mut() {
                    group.crawl_delay_s.get_or_insert(seconds);
                }
            }
            None => self.find(line, Code::CrawlDelayInvalid, value),
        }
        self.bridge();
    }

    fn odd_key(&mut self, line: Line, code: Code, key: &'a [u8]) {
        self.find(line, code, key);
        self.bridge();
    }

    const fn bridge(&mut self) {
        self.run_is_bridged = self.run_is_open;
    }

    fn close_group(&mut self) {
        let Some(group) = self.robots.groups.last() else { return };
        let has_value = |rule: &Rule<'_>| !rule.value.is_empty();
        if !self.robots.rules[group.rules.clone()].iter().any(has_value)
            && let Some((line, _)) = group.agents.first().copied()
        {
            self.find(line, Code::GroupWithoutRules, b"");
        }
    }

    fn find(&mut self, line: Line, code: Code, raw: &'a [u8]) {
        match self.robots.findings.len() {
            0..FINDINGS => self.robots.findings.push(Finding { line, code, raw }),
            FINDINGS => self.robots.findings.push(Finding { line, code: Code::MoreFindings, raw: b"" }),
            _ => {}
        }
    }

    fn finish(mut self) -> Robots<'a> {
        self.close_group();
        if let Some(line) = self.first_extension_left_out {
            self.find(line, Code::MoreExtensions, b"");
        }
        if self.robots.is_truncated {
            self.find(self.last_line, Code::OverLimit, b"");
        }
        self.robots
    }
}

/// Whether there is white space or another control octet inside.
fn has_blank(value: &[u8]) -> bool {
    let is_odd = |octet: u8| octet <= b' ' || octet == 0x7F;
    // Without a way out in between, this is done for many octets at once.
    value.iter().fold(false, |found, octet| found | is_odd(*octet))
}

/// A finite, non-negative decimal number of seconds, also with a unit `s`.
pub(crate) fn seconds(value: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(value).ok()?;
    let number = text.strip_suffix(['s', 'S']).unwrap_or(text);
    let is_decimal = number.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    is_decimal.then(|| number.parse().ok()).flatten().filter(|seconds: &f64| seconds.is_finite())
}

/// The reserved token that carries a training preference.
pub const TRAINING_TOKEN: &str = "__usage_ai-training";

/// Whether a user-agent value is the training token and what may follow a product token: `/` and a version.
fn is_training_with_suffix(token: &[u8], value: &[u8]) -> bool {
    token.len() == TRAINING_TOKEN.len()
        && value.get(token.len()) == Some(&b'/')
        && token.eq_ignore_ascii_case(TRAINING_TOKEN.as_bytes())
}

/// Whether a user-agent value differs from the training token only in its leading underscores and its separators.
#[must_use]
pub fn is_training_near_miss(value: &[u8], matching: Matching) -> bool {
    let token = leading_token(value, matching);
    if token.eq_ignore_ascii_case(TRAINING_TOKEN.as_bytes()) {
        return false;
    }
    let letters = token.iter().filter(|octet| octet.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    letters.eq(*b"usageaitraining")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Robots<'_> {
        Robots::parse(body.as_bytes(), Matching::Rfc9309)
    }

    fn codes(body: &str) -> Vec<(u32, &'static str)> {
        parse(body).findings.iter().map(|finding| (finding.line.into(), finding.code.as_str())).collect()
    }

    #[test]
    fn only_a_rule_ends_a_run_of_user_agent_lines() {
        let robots = parse("User-agent: a\nCrawl-delay: 5\n\nSitemap: x\nUser-agent: b\nDisallow:\nUser-agent: c\n");
        let sizes: Vec<usize> = robots.groups.iter().map(|group| group.agents.len()).collect();
        assert_eq!(sizes, [2, 1]);
        assert_eq!(robots.groups[0].crawl_delay_s, Some(5.0));
        assert!(robots.rules.is_empty());
        assert_eq!(robots.sitemaps.len(), 1);
    }

    #[test]
    fn findings_have_their_lines() {
        for (body, expected) in [
            ("Disallow: /\n", &[(1, "rule_outside_group")][..]),
            ("User-agent: *\nDisalow: /x\n", &[(2, "misspelt_field"), (1, "group_without_rules")]),
            ("Useragent: *\n", &[(1, "misspelt_field")]),
            ("User-agent: *\nDisallow /x\nAllow: /\n", &[(2, "missing_colon")]),
            ("User-agent: *\nDisallow: x\n", &[(2, "rule_never_matches")]),
            ("User-agent: *\nDisallow: /a /b\n", &[(2, "rule_with_blank")]),
            ("User-agent: *\nDisallow: HTTP://a.test/x\n", &[(2, "rule_with_url")]),
            ("User-agent: a/1\nAllow: /\n", &[(1, "agent_with_version")]),
            ("User-agent: a/2.1 (+http://a.test/x, y)\nAllow: /\n", &[(1, "agent_with_version")]),
            ("User-agent: Mozilla/5.0 (compatible; a/1)\nAllow: /\n", &[(1, "agent_is_full_string")]),
            ("User-agent: a b\nAllow: /\n", &[(1, "agent_with_blank")]),
            ("User-agent: a; b/1\nAllow: /\n", &[(1, "agents_on_one_line")]),
            ("User-agent: a, b c\nAllow: /\n", &[(1, "agent_with_extra_text")]),
            ("User-agent: a\nDisallop: /x\nAllow: /\n", &[(2, "misspelt_field")]),
            ("\u{200d}User-agent: a\n", &[(1, "misspelt_field")]),
            ("Sitemap\u{ff1a}https://a.test/x\n", &[(1, "misspelt_field")]),
            ("\u{ef}\u{bb}\u{bf}User-agent: a\n", &[(1, "mark_inside")]),
            ("User-agent: a/1 b/2\nAllow: /\n", &[(1, "agent_with_extra_text")]),
            ("User-agent: a*\nAllow: /\n", &[(1, "agent_with_extra_text")]),
            ("User-agent:\nAllow: /\n", &[(1, "agent_without_token")]),
            ("User-agent: a\nCrawl-delay: 1\nUser-agent: b\nAllow: /\n", &[(3, "bridged_agents")]),
            ("User-agent: a\nCrawl-delay: fast\nAllow: /\n", &[(2, "crawl_delay_invalid")]),
            ("User-agent: a\nAllow: /\n\u{feff}User-agent: *\n", &[(3, "mark_inside")]),
            ("User-agent: a\nAllow: /\n\u{feff}# b\n", &[(3, "mark_inside")]),
            ("User-agent: __usage_ai-training/1.0\nAllow: /\n", &[(1, "training_token_with_suffix")]),
            ("User-agent: __usage_ai-training, a\nAllow: /\n", &[(1, "agents_on_one_line")]),
            ("User-agent: _usage_ai_training\nAllow: /\n", &[(1, "training_token_near_miss")]),
            ("User-agent: a\nFrobnicate: 1\nAllow: /\n", &[(2, "unknown_field")]),
            ("User-agent: a\nNoindex: /x\nAllow: /\n", &[]),
        ] {
            assert_eq!(codes(body), expected, "{body:?}");
        }
    }

    #[test]
    fn what_is_no_rule_is_kept_with_its_group() {
        let body = "License: u\nUser-agent: a\nCrawl-delay: 1\nAllow: /\nX: y\nDisalow: /\nUser-agent: b\nHost: h\n";
        let kept = parse(body).extensions.into_iter().map(|kept| {
            let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
            (u32::from(kept.line), kept.group, format!("{}={}", text(kept.key), text(kept.value)))
        });
        let expected =
            [(1, None, "License=u"), (3, Some(0), "Crawl-delay=1"), (5, Some(0), "X=y"), (8, Some(1), "Host=h")];
        assert!(kept.eq(expected.map(|(line, group, text)| (line, group, text.to_owned()))));
    }

    #[test]
    fn extensions_are_bounded() {
        let text = "Host: x\n".repeat(EXTENSIONS + 3);
        let robots = parse(&text);
        assert_eq!(robots.extensions.len(), EXTENSIONS);
        let first_left_out = u32::try_from(EXTENSIONS + 1).expect("small");
        assert_eq!(codes(&text), [(first_left_out, "more_extensions")]);
    }

    #[test]
    fn findings_are_bounded() {
        let robots_text = "x\n".repeat(FINDINGS * 3);
        let robots = parse(&robots_text);
        assert_eq!(robots.findings.len(), FINDINGS + 1);
        assert_eq!(robots.findings[FINDINGS].code, Code::MoreFindings);
    }

    #[test]
    fn delays_are_decimal_seconds() {
        for (text, expected) in [
            ("2.5", Some(2.5)),
            ("10s", Some(10.0)),
            ("0", Some(0.0)),
            ("1e400", None),
            ("nan", None),
            ("-3", None),
            ("", None),
            (".", None),
            ("\u{b2}", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), expected, "{text:?}");
        }
    }
}
