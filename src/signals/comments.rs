//! What comments tell: the marks of Cloudflare's managed block, and texts about content signals and data mining.
//!
//! Comments are no records, so that the parser drops them; here those of the body are looked through once. Of each kind
//! of mention the first is kept.

use memchr::memmem::Finder;

use crate::robots::lex::{Line, Lines};

/// A comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'a> {
    /// Where.
    pub line: Line,
    /// From its `#` on.
    pub text: &'a [u8],
}

/// A block that Cloudflare puts before the site's own lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagedBlock<'a> {
    /// Its first mark.
    pub begin: Comment<'a>,
    /// The line of its last mark; where that is missing, the block goes on to the end.
    pub end: Option<Line>,
}

impl ManagedBlock<'_> {
    /// Whether a line stands between the marks.
    #[must_use]
    pub fn holds(&self, line: Line) -> bool {
        line > self.begin.line && self.end.is_none_or(|end| line < end)
    }
}

/// What the comments of a body tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Comments<'a> {
    /// The managed block.
    pub managed: Option<ManagedBlock<'a>>,
    /// A text about content signals.
    pub content_signals: Option<Comment<'a>>,
    /// A text about text and data mining.
    pub data_mining: Option<Comment<'a>>,
    /// A comment that holds the training token.
    pub training_token: Option<Comment<'a>>,
}

const BEGIN: &[u8] = b"begin cloudflare managed content";
const END: &[u8] = b"end cloudflare managed content";
const CONTENT_SIGNALS: [&[u8]; 2] = [b"content signal", b"content-signal"];
const DATA_MINING: [&[u8]; 3] = [b"2019/790", b"text and data mining", b"tdm-reservation"];
const TRAINING_TOKEN: &[u8] = b"__usage_ai-training";

impl<'a> Comments<'a> {
    /// Looks through the readable octets of a body.
    pub(super) fn of(octets: &'a [u8]) -> Self {
        let mut comments = Self::default();
        if memchr::memchr(b'#', octets).is_none() {
            return comments;
        }
        let needles = Needles::new();
        let (mut start, mut lower) = (0, Vec::new());
        while let Some(mark) = memchr::memchr(b'#', &octets[start..]) {
            let begin = start + mark;
            let rest = &octets[begin..];
            let text = &rest[..memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())];
            lower.clear();
            lower.extend(text.iter().map(u8::to_ascii_lowercase));
            comments.note(&needles, &lower, || Comment { line: line_of(octets, begin), text: text.trim_ascii_end() });
            start = begin + text.len();
        }
        comments
    }

    fn note(&mut self, needles: &Needles, lower: &[u8], comment: impl Fn() -> Comment<'a>) {
        let has = |finder: &Finder<'_>| finder.find(lower).is_some();
        match &mut self.managed {
            None if has(&needles.begin) => self.managed = Some(ManagedBlock { begin: comment(), end: None }),
            Some(block @ ManagedBlock { end: None, .. }) if has(&needles.end) => block.end = Some(comment().line),
            _ => {}
        }
        if self.content_signals.is_none() && needles.content_signals.iter().any(has) {
            self.content_signals = Some(comment());
        }
        if self.data_mining.is_none() && needles.data_mining.iter().any(has) {
            self.data_mining = Some(comment());
        }
        if self.training_token.is_none() && has(&needles.training_token) {
            self.training_token = Some(comment());
        }
    }
}

/// What is looked for, in lower case.
struct Needles {
    begin: Finder<'static>,
    end: Finder<'static>,
    content_signals: [Finder<'static>; 2],
    data_mining: [Finder<'static>; 3],
    training_token: Finder<'static>,
}

impl Needles {
    fn new() -> Self {
        Self {
            begin: Finder::new(BEGIN),
            end: Finder::new(END),
            content_signals: CONTENT_SIGNALS.map(Finder::new),
            data_mining: DATA_MINING.map(Finder::new),
            training_token: Finder::new(TRAINING_TOKEN),
        }
    }
}

/// The line that an octet stands in; counted from the beginning, which happens a few times a body.
fn line_of(octets: &[u8], place: usize) -> Line {
    Lines::of(&octets[..=place]).last().map_or(Line::FIRST, |(line, _)| line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_managed_block_lies_between_its_marks() {
        let body =
            b"User-agent: x\r\n# begin CLOUDFLARE managed content\rUser-agent: *\n\nContent-Signal: search=yes\n\
            Allow: / # END Cloudflare Managed Content\nUser-agent: *\n# END Cloudflare Managed Content\n";
        let block = Comments::of(body).managed.expect("a block");
        assert_eq!((u32::from(block.begin.line), block.end.map(u32::from)), (2, Some(6)));
        let held = Lines::of(body).filter(|(line, _)| block.holds(*line)).map(|(line, _)| u32::from(line));
        assert!(held.eq([3, 4, 5]));
        let open = Comments::of(b"# END Cloudflare Managed Content\n#BEGIN Cloudflare Managed content").managed;
        assert_eq!(open.map(|block| block.end), Some(None));
        assert_eq!(Comments::of(b"User-agent: BEGIN Cloudflare Managed content\n").managed, None);
    }

    #[test]
    fn of_each_mention_the_first_is_kept() {
        let comments = Comments::of(
            b"Allow: / # Content Signals say more\n# content-signal\n# Article 4 of (EU) 2019/790\n\
            # later: __USAGE_AI-training  \n",
        );
        let told = |comment: Option<Comment<'_>>| comment.map(|comment| u32::from(comment.line));
        assert_eq!(told(comments.content_signals), Some(1));
        assert_eq!(told(comments.data_mining), Some(3));
        let token = comments.training_token.expect("a mention");
        assert_eq!((u32::from(token.line), token.text), (4, &b"# later: __USAGE_AI-training"[..]));
        assert_eq!(Comments::of(b"__usage_ai-training: text and data mining\n"), Comments::default());
    }
}
