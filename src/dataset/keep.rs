//! Which rows are kept: rules from the command line, and a small closed language.
//!
//! ```text
//! expression = term { "or" term }
//! term       = factor { "and" factor }
//! factor     = "not" factor | "(" expression ")" | test
//! test       = ("allow" | "deny" | "defer") "(" CRAWLER ")"
//!            | "training_against" | "training_in_favor" | "training_none_expressed" | "training_unknown"
//! ```
//!
//! `allow` holds for the decisions `allow` and `allow_by_policy`, `deny` for `deny`. A decision `defer` counts as `deny`,
//! or as `allow` where deferred rows are kept. Rows of origins that no snapshot holds, and rows without a usable URL, never
//! get here: [`Missing`] decides about them.

use thiserror::Error;

use super::DatasetError;
use super::answers::Answers;
use super::snapshots::CaptureId;
use crate::robots::access::{FetchClass, names};
use crate::robots::decision::Decision;
use crate::signals::training::Preference;

/// Parentheses and `not` within each other; deeper ones are refused.
const DEPTH: usize = 64;

/// Why an expression cannot be used. Columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeepError {
    /// Something else was expected.
    #[error("--keep, column {column}: expected {expected}, found {found}")]
    Expected {
        /// Where.
        column: usize,
        /// What was expected.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Parentheses within parentheses within parentheses.
    #[error("--keep, column {column}: more than {DEPTH} levels")]
    Deep {
        /// Where.
        column: usize,
    },
    /// A crawler that is not asked about.
    #[error("--keep, column {column}: {crawler} is none of the crawlers asked about")]
    Crawler {
        /// Where.
        column: usize,
        /// As written.
        crawler: String,
    },
}

/// What is expected where a test begins.
const TEST: &str = "allow(CRAWLER), deny(CRAWLER), defer(CRAWLER), training_against, training_in_favor, \
training_none_expressed, training_unknown, not or (";

names! {
    /// What happens to rows about which nothing is known: their origin is in no snapshot, or they have no usable URL.
    pub enum Missing {
        /// They are kept.
        Keep => "keep",
        /// They are excluded.
        Drop => "drop",
        /// They stop the work.
        Fail => "fail",
    }
}

/// A test of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Allow(usize),
    Deny(usize),
    Defer(usize),
    Training(Preference),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
}

/// Which rows are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// What happens to rows about which nothing is known.
    pub missing: Missing,
    /// Whether a decision `defer` counts as `allow`.
    pub keeps_deferred: bool,
    /// Crawlers of the plan, of whom none may be denied.
    pub denied: Vec<usize>,
    /// Whether rows that must not be used for training are excluded.
    pub training_against: bool,
    /// What has to hold beside that.
    pub keep: Option<Expression>,
}

/// An expression, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
    test: Test,
}

/// What becomes of a row: kept, or the place of the reason why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate(pub u8);

impl Fate {
    /// The row is kept.
    pub const KEPT: Self = Self(0);
    const NO_URL: Self = Self(1);
    const INVALID_URL: Self = Self(2);
    const NOT_COLLECTED: Self = Self(3);
    const DENIED: Self = Self(4);
    const DEFERRED: Self = Self(5);
    const TRAINING: Self = Self(6);
    const EXPRESSION: Self = Self(7);
}

/// Why rows are excluded, in the order of [`Fate`].
pub const REASONS: [&str; 8] =
    ["kept", "no_url", "invalid_url", "not_collected", "denied", "deferred", "training_against", "keep_is_false"];

impl Rules {
    /// What becomes of a row.
    #[must_use]
    pub fn fate(&self, answers: &Answers, row: usize) -> Fate {
        let unknown = match answers.capture(row) {
            CaptureId::NONE => Some(Fate::NO_URL),
            CaptureId::INVALID => Some(Fate::INVALID_URL),
            _ if answers.class(row) == Some(FetchClass::NotCollected) => Some(Fate::NOT_COLLECTED),
            _ => None,
        };
        if let Some(reason) = unknown {
            return if self.missing == Missing::Keep { Fate::KEPT } else { reason };
        }
        for crawler in &self.denied {
            match answers.decision(row, *crawler) {
                Some(Decision::Deny) => return Fate::DENIED,
                Some(Decision::Defer) if !self.keeps_deferred => return Fate::DEFERRED,
                _ => {}
            }
        }
        if self.training_against && answers.training(row) == Some(Preference::Against) {
            return Fate::TRAINING;
        }
        let keeps = self.keep.as_ref().is_none_or(|keep| keep.test.holds(answers, row, self.keeps_deferred));
        if keeps { Fate::KEPT } else { Fate::EXPRESSION }
    }

    /// The error that a row stands for, where nothing is known of it and that was not to be borne.
    #[must_use]
    pub fn error(
        &self,
        fate: Fate,
        capture: CaptureId,
        row: u64,
        url: impl FnOnce() -> String,
    ) -> Option<DatasetError> {
        if self.missing != Missing::Fail {
            return None;
        }
        match fate {
            Fate::NOT_COLLECTED if capture == CaptureId::NO_TIME => Some(DatasetError::BadTime { row, why: "is null" }),
            Fate::NOT_COLLECTED if capture == CaptureId::UNREADABLE_TIME => {
                Some(DatasetError::BadTime { row, why: "cannot be read" })
            }
            Fate::NO_URL => Some(DatasetError::BadUrl { row, why: "it is null" }),
            Fate::INVALID_URL => Some(DatasetError::BadUrl { row, why: "it names no http(s) origin" }),
            Fate::NOT_COLLECTED => Some(DatasetError::NotCollected { row, url: url() }),
            _ => None,
        }
    }
}

impl Test {
    fn holds(&self, answers: &Answers, row: usize, keeps_deferred: bool) -> bool {
        let decision = |crawler: &usize| answers.decision(row, *crawler);
        let holds = |test: &Self| test.holds(answers, row, keeps_deferred);
        match self {
            Self::Allow(crawler) => match decision(crawler) {
                Some(Decision::Allow | Decision::AllowByPolicy) => true,
                Some(Decision::Defer) => keeps_deferred,
                _ => false,
            },
            Self::Deny(crawler) => match decision(crawler) {
                Some(Decision::Deny) => true,
                Some(Decision::Defer) => !keeps_deferred,
                _ => false,
            },
            Self::Defer(crawler) => decision(crawler) == Some(Decision::Defer),
            Self::Training(preference) => answers.training(row) == Some(*preference),
            Self::Not(test) => !holds(test),
            Self::All(tests) => tests.iter().all(holds),
            Self::Any(tests) => tests.iter().any(holds),
        }
    }
}

impl Expression {
    /// Reads an expression over these crawlers.
    ///
    /// # Errors
    /// What was expected where.
    pub fn parse(text: &str, crawlers: &[&str]) -> Result<Self, KeepError> {
        let mut parser = Parser { words: words(text), next: 0, crawlers, depth: 0 };
        let holds = parser.any()?;
        match parser.peek() {
            None => Ok(Self { text: text.to_owned(), test: holds }),
            Some(_) => Err(parser.expected("and, or, or the end")),
        }
    }

    /// The crawlers that an expression names, each once. What is no expression names those that can be found.
    #[must_use]
    pub fn crawlers(text: &str) -> Vec<String> {
        let words = words(text);
        let mut crawlers: Vec<String> = Vec::new();
        for three in words.windows(3) {
            let is_test = matches!(three[0].text, "allow" | "deny" | "defer") && three[1].text == "(";
            if is_test && !crawlers.iter().any(|known| known.eq_ignore_ascii_case(three[2].text)) {
                crawlers.push(three[2].text.to_owned());
            }
        }
        crawlers
    }

    /// As written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A word or a parenthesis, and its column.
#[derive(Debug, Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    column: usize,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = None;
    let column = |place: usize| text[..place].chars().count() + 1;
    for (place, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_parenthesis = matches!(character, '(' | ')');
        if character.is_whitespace() || is_parenthesis {
            if let Some(start) = start.take() {
                words.push(Word { text: &text[start..place], column: column(start) });
            }
            if is_parenthesis {
                words.push(Word { text: &text[place..=place], column: column(place) });
            }
        } else {
            start = start.or(Some(place));
        }
    }
    words
}

struct Parser<'t> {
    words: Vec<Word<'t>>,
    next: usize,
    crawlers: &'t [&'t str],
    depth: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<Word<'t>> {
        self.words.get(self.next).copied()
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.peek().is_some_and(|word| word.text == text);
        self.next += usize::from(is_next);
        is_next
    }

    fn expected(&self, expected: &'static str) -> KeepError {
        let end = self.words.last().map_or(1, |last| last.column + last.text.chars().count());
        let found = self.peek();
        KeepError::Expected {
            column: found.map_or(end, |word| word.column),
            expected,
            found: found.map_or_else(|| "the end".to_owned(), |word| format!("`{}`", word.text)),
        }
    }

    fn any(&mut self) -> Result<Test, KeepError> {
        let mut tests = vec![self.all()?];
        while self.takes("or") {
            tests.push(self.all()?);
        }
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::Any(tests) })
    }

    fn all(&mut self) -> Result<Test, KeepError> {
        let mut tests = vec![self.factor()?];
        while self.takes("and") {
            tests.push(self.factor()?);
        }
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::All(tests) })
    }

    fn factor(&mut self) -> Result<Test, KeepError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(KeepError::Deep { column: self.peek().map_or(1, |word| word.column) });
        }
        let test = if self.takes("not") {
            Test::Not(Box::new(self.factor()?))
        } else if self.takes("(") {
            let test = self.any()?;
            self.close()?;
            test
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(test)
    }

    fn close(&mut self) -> Result<(), KeepError> {
        if self.takes(")") { Ok(()) } else { Err(self.expected(")")) }
    }

    fn test(&mut self) -> Result<Test, KeepError> {
        let word = self.peek().ok_or_else(|| self.expected(TEST))?;
        if let Some(preference) = word.text.strip_prefix("training_").and_then(Preference::from_name) {
            self.next += 1;
            return Ok(Test::Training(preference));
        }
        let test: fn(usize) -> Test = match word.text {
            "allow" => Test::Allow,
            "deny" => Test::Deny,
            "defer" => Test::Defer,
            _ => return Err(self.expected(TEST)),
        };
        self.next += 1;
        if !self.takes("(") {
            return Err(self.expected("( and a crawler"));
        }
        let name = self.peek().filter(|word| !matches!(word.text, "(" | ")"));
        let name = name.ok_or_else(|| self.expected("a crawler"))?;
        let place = self.crawlers.iter().position(|crawler| crawler.eq_ignore_ascii_case(name.text));
        let unknown = || KeepError::Crawler { column: name.column, crawler: name.text.to_owned() };
        let place = place.ok_or_else(unknown)?;
        self.next += 1;
        self.close()?;
        Ok(test(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_closer_than_or() {
        let crawlers = ["GPTBot", "CCBot"];
        let parsed = Expression::parse("allow(gptbot) or not deny( CCBot ) and training_against", &crawlers).unwrap();
        let expected = Test::Any(vec![
            Test::Allow(0),
            Test::All(vec![Test::Not(Box::new(Test::Deny(1))), Test::Training(Preference::Against)]),
        ]);
        assert_eq!(parsed.test, expected);
        let grouped = Expression::parse("(allow(GPTBot) or allow(CCBot)) and not training_against", &crawlers).unwrap();
        assert!(matches!(grouped.test, Test::All(_)));
        assert_eq!(Expression::crawlers("allow(A) and deny(b) or defer(a)"), ["A", "b"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_column() {
        let parse = |text: &str| Expression::parse(text, &["GPTBot"]).unwrap_err().to_string();
        for (text, expected) in [
            ("allow(GPTBot) and", "--keep, column 18: expected allow(CRAWLER)"),
            ("allow(CCBot)", "--keep, column 7: CCBot is none of the crawlers asked about"),
            ("allow GPTBot", "--keep, column 7: expected ( and a crawler, found `GPTBot`"),
            ("(allow(GPTBot)", "--keep, column 15: expected ), found the end"),
            ("allow(GPTBot) deny(GPTBot)", "--keep, column 15: expected and, or, or the end, found `deny`"),
            ("training_no", "--keep, column 1: expected allow(CRAWLER)"),
            ("", "--keep, column 1: expected allow(CRAWLER)"),
            ("allow()", "--keep, column 7: expected a crawler, found `)`"),
        ] {
            let told = parse(text);
            assert!(told.starts_with(expected), "{text}: {told}");
        }
        assert!(parse(&"not ".repeat(1000)).contains("levels"));
        assert!(parse(&"(".repeat(100_000)).contains("levels"));
    }
}
