//! The findings of one file with column and advice: those of the parser and of the signals, and those that take a look at
//! the whole file or at the registry of crawlers.
//!
//! Pure. Reads as RFC 9309 has it. What only costs time at scale is done here and not in an audit; facts that the table
//! `findings` holds for statistics are left out, since there is nothing to mend about them.
//!
//! | module | holds |
//! |---|---|
//! | `octets` | marks, carriage returns, NUL octets, bodies that are something else, the size limit |
//! | `rules` | odd characters in rules; rules that never decide, or stand there twice |
//! | `groups` | groups that leave the wildcard's rules behind, duplicates, search engines among crawlers for AI |
//! | `names` | almost known names, retired ones |
//! | `hint` | what to do about each finding |

mod groups;
mod hint;
mod names;
mod octets;
mod rules;

use std::borrow::Cow;

pub use hint::hint;

use crate::crawlers::{Crawler, Registry};
use crate::robots::access::{Reason, suspect_body};
use crate::robots::finding::{Code, FINDINGS, Finding, FoundBy, Severity};
use crate::robots::group::GroupIndex;
use crate::robots::lex::{Content, Line, Lines, PARSE_OCTETS, content, readable};
use crate::robots::parse::{Group, Robots};
use crate::robots::token::{Agent, Asked, Matching, ProductToken};
use crate::signals::Signals;
use crate::signals::conflict::{CrawlerRoots, RootAccess};

/// A finding with its place and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<'a> {
    /// 1-based.
    pub line: Line,
    /// 1-based octet within the line at which the text that it is about begins.
    pub column: u32,
    /// The same, counted in characters; an octet that is no UTF-8 is one.
    pub character: u32,
    /// What.
    pub code: Code,
    /// What there is to say about this very place.
    pub detail: Option<String>,
    /// What to do, where more can be said than [`hint`] does.
    pub advice: Option<String>,
    /// The octets that it is about.
    pub raw: &'a [u8],
}

impl Located<'_> {
    /// How much it matters.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// One sentence, with what there is to say about this very place. It may hold text of the file.
    #[must_use]
    pub fn message(&self) -> Cow<'static, str> {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.code.message()).into(),
            None => self.code.message().into(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        self.advice.as_deref().unwrap_or_else(|| hint(self.code))
    }
}

/// Finds what is odd in files, with a registry of crawlers.
#[derive(Debug)]
pub struct Linter {
    registry: Registry,
    names: names::KnownNames,
    training: Vec<Asked>,
    search: Vec<Asked>,
}

impl Linter {
    /// Prepares a registry.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        let asked = |set: &str| -> Vec<Asked> {
            let crawlers = registry.set(set).unwrap_or_default();
            crawlers.into_iter().filter_map(asked_as).collect()
        };
        let (training, search) = (asked("@ai-training"), asked("@search"));
        Self { names: names::KnownNames::of(&registry), training, search, registry }
    }

    /// The findings of a body, by line and column; at most [`FINDINGS`] and one of each of the three kinds: of the parser,
    /// of the signals, and of what is found here alone.
    #[must_use]
    pub fn findings<'a>(&self, body: &'a [u8]) -> Vec<Located<'a>> {
        let file = File::of(body);
        let mut notes = self.notes(&file);
        let other = suspect_body(body).map(code_of_body);
        let other = other.or_else(|| octets::is_binary(&file).then_some(Code::BinaryBody));
        if let Some(code) = other {
            // Each line of something else would be a finding; a file with groups is one with odd lines at worst.
            notes.retain(|_| !file.robots.groups.is_empty());
            notes.push(Note::new(Line::FIRST, code, b""));
        }
        let mut located: Vec<Located<'a>> = notes.into_iter().map(|note| file.locate(note)).collect();
        located.sort_by_key(|found| (found.line, found.column));
        located
    }

    fn notes<'a>(&self, file: &File<'a>) -> Vec<Note<'a>> {
        let signals = Signals::of(&file.robots, &file.index, file.body);
        let crawlers = signals.concern_crawlers().then(|| CrawlerRoots {
            training: RootAccess::of(&file.robots, &file.index, &self.training),
            search: RootAccess::of(&file.robots, &file.index, &self.search),
        });
        let of_signals = signals.findings(&signals.conflicts(crawlers.as_ref()));
        let known =
            file.robots.findings.iter().copied().chain(of_signals).filter(|finding| self.is_kept(file, *finding));
        let mut notes: Vec<Note<'a>> = known.map(Note::with_own_advice).collect();
        let mut own = Notes::default();
        octets::check(file, &mut own);
        rules::check(file, &mut own);
        groups::check(self, file, &mut own);
        names::check(self, file, &mut own);
        octets::count_lost_rules(file, &mut notes);
        notes.append(&mut own.list);
        notes
    }

    /// Whether a finding of parser or signals is one here.
    fn is_kept(&self, file: &File<'_>, finding: Finding<'_>) -> bool {
        match finding.code {
            code if code.found_by() == FoundBy::Audit => false,
            // A `Disallow:` without a value says so on purpose.
            Code::GroupWithoutRules => !file.opens_explicitly(finding.line),
            // Whoever stands there twice shares nothing with others.
            Code::BridgedAgents => !file.names_one_only(finding.line),
            // Some operators' names have blanks.
            Code::AgentWithBlank => !self.names.is_known_with_blank(finding.raw),
            _ => true,
        }
    }
}

/// A crawler as it looks for its groups.
fn asked_as(crawler: &Crawler) -> Option<Asked> {
    let token_of = |name: &str| ProductToken::of_name(name, Matching::Rfc9309);
    Some(Asked::Named {
        token: token_of(&crawler.token)?,
        fallback: crawler.fallback.as_deref().and_then(token_of),
        star_applies: crawler.star_applies,
    })
}

const fn code_of_body(reason: Reason) -> Code {
    match reason {
        Reason::Html => Code::HtmlBody,
        Reason::Json => Code::JsonBody,
        Reason::Encoding => Code::Utf16Body,
        _ => Code::BinaryBody,
    }
}

/// A finding before its column is known.
#[derive(Debug)]
struct Note<'a> {
    finding: Finding<'a>,
    detail: Option<String>,
    advice: Option<String>,
}

impl<'a> Note<'a> {
    const fn of(finding: Finding<'a>) -> Self {
        Self { finding, detail: None, advice: None }
    }

    const fn new(line: Line, code: Code, raw: &'a [u8]) -> Self {
        Self::of(Finding { line, code, raw })
    }

    /// With what is better advice for this very text.
    fn with_own_advice(finding: Finding<'a>) -> Self {
        let note = Self::of(finding);
        let is_url = finding.raw.eq_ignore_ascii_case(b"http") || finding.raw.eq_ignore_ascii_case(b"https");
        if finding.code == Code::UnknownField && is_url {
            return note.advice("put `Sitemap:` before the address, if it is one of a sitemap".to_owned());
        }
        note
    }

    fn detail(mut self, detail: String) -> Self {
        self.detail = Some(detail);
        self
    }

    fn advice(mut self, advice: String) -> Self {
        self.advice = Some(advice);
        self
    }
}

/// Findings of this module, not more than are kept.
#[derive(Debug, Default)]
struct Notes<'a> {
    list: Vec<Note<'a>>,
}

impl<'a> Notes<'a> {
    /// Whether more are not kept.
    fn are_full(&self) -> bool {
        self.list.len() > FINDINGS
    }

    fn add(&mut self, note: Note<'a>) {
        match self.list.len() {
            0..FINDINGS => self.list.push(note),
            FINDINGS => self.list.push(Note::new(note.finding.line, Code::MoreFindings, b"")),
            _ => {}
        }
    }
}

/// A body and what reading it gave.
#[derive(Debug)]
struct File<'a> {
    body: &'a [u8],
    /// What of it is read.
    octets: &'a [u8],
    robots: Robots<'a>,
    index: GroupIndex,
    /// Where in `body` each line begins.
    starts: Vec<(usize, Line)>,
    /// Lines of rules without a value.
    empty_rules: Vec<Line>,
}

impl<'a> File<'a> {
    fn of(body: &'a [u8]) -> Self {
        let robots = Robots::parse(body, Matching::Rfc9309);
        let octets = readable(body, PARSE_OCTETS).octets;
        let (mut starts, mut empty_rules) = (Vec::new(), Vec::new());
        for (line, text) in Lines::of(octets) {
            starts.push((offset_in(body, text).unwrap_or_default(), line));
            if let Content::Record { key, value: [] } = content(text)
                && (key.eq_ignore_ascii_case(b"disallow") || key.eq_ignore_ascii_case(b"allow"))
            {
                empty_rules.push(line);
            }
        }
        Self { body, octets, index: GroupIndex::of(&robots), robots, starts, empty_rules }
    }

    /// Whether the group that begins in a line has a rule without a value, which opens everything.
    fn opens_explicitly(&self, begin: Line) -> bool {
        let next = self.robots.groups.get(self.groups_up_to(begin)).and_then(|group| group.agents.first());
        let rule = self.empty_rules.get(self.empty_rules.partition_point(|line| *line <= begin));
        rule.is_some_and(|rule| next.is_none_or(|(next, _)| rule < next))
    }

    /// How many groups begin in a line or before it.
    fn groups_up_to(&self, line: Line) -> usize {
        let begins = |group: &Group<'_>| group.agents.first().is_some_and(|(first, _)| *first <= line);
        self.robots.groups.partition_point(begins)
    }

    /// Whether all user-agent lines of the group that a line stands in name the same crawler.
    fn names_one_only(&self, line: Line) -> bool {
        let Some(group) = self.groups_up_to(line).checked_sub(1).map(|place| &self.robots.groups[place]) else {
            return false;
        };
        let is_same = |one: &Agent<'_>, other: &Agent<'_>| match (one, other) {
            (Agent::Token(one), Agent::Token(other)) => one.eq_ignore_ascii_case(other),
            (one, other) => one == other,
        };
        group.agents.windows(2).all(|pair| is_same(&pair[0].1, &pair[1].1))
    }

    /// The groups that name a token of this file.
    fn naming(&self, token: &str) -> &[u32] {
        let token = ProductToken::of_name(token, Matching::Rfc9309);
        token.and_then(|token| self.index.naming(&token)).unwrap_or_default()
    }

    fn locate(&self, Note { finding: Finding { line, code, raw }, detail, advice }: Note<'a>) -> Located<'a> {
        let place = u32::from(line) as usize - 1;
        let start = self.starts.get(place).map_or(0, |(start, _)| *start);
        let end = self.starts.get(place + 1).map_or(self.body.len(), |(start, _)| *start);
        let text = &self.body[start..end];
        let indent = || text.iter().position(|octet| !octet.is_ascii_whitespace()).unwrap_or_default();
        let offset = offset_in(text, raw).filter(|_| !raw.is_empty()).unwrap_or_else(indent);
        let before = &text[..offset];
        let characters: usize =
            before.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum();
        Located { line, column: place_of(offset), character: place_of(characters), code, detail, advice, raw }
    }
}

/// Where within a text a part of it begins; `None` where it is no part of it.
fn offset_in(text: &[u8], part: &[u8]) -> Option<usize> {
    let offset = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    (offset + part.len() <= text.len()).then_some(offset)
}

fn place_of(offset: usize) -> u32 {
    u32::try_from(offset + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
