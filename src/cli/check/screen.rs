//! Text for a terminal: pieces in inks, columns that line up, nothing from outside that could steer it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::tables::text::for_people;

/// Columns that a line is kept within where it holds text from outside.
pub(super) const COLUMNS: usize = 100;

/// How a piece of text looks. Everything is readable without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    /// Allowed.
    Good,
    /// Refused.
    Bad,
    /// Neither, or worth a look.
    Care,
    /// Headings, and what was asked for.
    Strong,
    /// What matters less.
    Faint,
}

impl Ink {
    /// The parameter of the escape sequence.
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Care => Some("33"),
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
        }
    }
}

/// Lines to be shown. Each piece is made safe when it comes; escape sequences are this module's alone.
#[derive(Debug)]
pub(super) struct Screen {
    text: String,
    has_colors: bool,
}

impl Screen {
    pub(super) const fn new(has_colors: bool) -> Self {
        Self { text: String::new(), has_colors }
    }

    /// Adds a piece to the line.
    pub(super) fn put(&mut self, ink: Ink, text: &str) -> &mut Self {
        let text = for_people(text);
        match ink.code().filter(|_| self.has_colors && !text.is_empty()) {
            Some(code) => self.text += &format!("\x1b[{code}m{text}\x1b[0m"),
            None => self.text += &text,
        }
        self
    }

    /// Adds a piece and blanks up to a width.
    pub(super) fn left(&mut self, ink: Ink, text: &str, columns: usize) -> &mut Self {
        self.put(ink, text).blanks(columns.saturating_sub(width(text)))
    }

    /// Adds a piece behind blanks up to a width.
    pub(super) fn right(&mut self, ink: Ink, text: &str, columns: usize) -> &mut Self {
        self.blanks(columns.saturating_sub(width(text))).put(ink, text)
    }

    fn blanks(&mut self, columns: usize) -> &mut Self {
        self.text.extend(std::iter::repeat_n(' ', columns));
        self
    }

    /// Ends the line; blanks at its end go.
    pub(super) fn end(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    /// A whole line.
    pub(super) fn line(&mut self, ink: Ink, text: &str) {
        self.put(ink, text).end();
    }

    /// An empty line and a heading.
    pub(super) fn heading(&mut self, text: &str) {
        self.end();
        self.line(Ink::Strong, text);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Columns that a text takes when it is shown.
pub(super) fn width(text: &str) -> usize {
    for_people(text).width()
}

/// The widest of some texts.
pub(super) fn widest<'t>(texts: impl IntoIterator<Item = &'t str>) -> usize {
    texts.into_iter().map(width).max().unwrap_or(0)
}

/// A text as it is shown, cut where it takes more columns; tabs are blanks.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    // What comes behind so many characters cannot fit, and need not be looked at.
    let looked_at: String = text.chars().take(columns.saturating_mul(4)).collect();
    let shown = for_people(&looked_at.replace('\t', " ")).into_owned();
    if looked_at.len() == text.len() && shown.width() <= columns {
        return shown;
    }
    let mut kept = String::new();
    let mut taken = 1;
    for c in shown.chars() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

/// A number with its noun in the singular or plural.
pub(super) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number with its digits in threes.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let threes = digits.as_bytes().rchunks(3).rev();
    threes.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_the_programs_alone() {
        for has_colors in [false, true] {
            let mut screen = Screen::new(has_colors);
            screen.put(Ink::Bad, "a\u{1b}[2Jb\nc").left(Ink::Plain, "é", 3).right(Ink::Plain, "日", 4).end();
            let expected = if has_colors { "\x1b[31ma\\u{1b}[2Jb\\u{a}c\x1b[0m" } else { "a\\u{1b}[2Jb\\u{a}c" };
            assert_eq!(screen.into_text(), format!("{expected}é    日\n"));
        }
    }

    #[test]
    fn numbers_for_people() {
        let found = [0, 999, 1_000, 512_000, 1_234_567].map(grouped);
        assert_eq!(found, ["0", "999", "1,000", "512,000", "1,234,567"]);
        assert_eq!((counted(1, "rule"), counted(2_000, "rule")), ("1 rule".to_owned(), "2,000 rules".to_owned()));
    }

    #[test]
    fn long_texts_are_cut() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("a\tb", 3, "a b"),
            ("\u{7}", 9, "\\u{7}"),
        ] {
            assert_eq!(fitted(text, columns), expected);
        }
        assert_eq!(fitted(&"x".repeat(1 << 20), 10), "xxxxxxxxx…");
    }
}
