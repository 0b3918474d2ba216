//! `Content-Signal` records: what a vendor's policy says of search, of answers and of training.
//!
//! Source: contentsignals.org and draft-romm-aipref-contentsignals-00. The field belongs to a group; before the first
//! one it is taken as meant for all. Keys and values are read without regard to case. A part that is no known key with
//! a known value states nothing: it neither grants nor restricts, and takes nothing back.

use super::fact::{Author, Fact};
use crate::robots::access::names;
use crate::robots::lex::Line;
use crate::robots::path::Path;
use crate::robots::pattern::LonePattern;

names! {
    /// The kinds of use.
    pub enum SignalKey {
        /// An index with links and short extracts.
        Search => "search",
        /// Input to a model that answers.
        AiInput => "ai-input",
        /// Training or fine-tuning of models.
        AiTrain => "ai-train",
    }
}

names! {
    /// What is said of one kind of use.
    pub enum Signal {
        /// It is fine.
        Yes => "yes",
        /// It is not.
        No => "no",
    }
}

names! {
    /// How much may be kept: the key `use`, which carries no permission to crawl.
    pub enum Keeping {
        /// Nothing behind the answer at hand.
        Immediate => "immediate",
        /// What refers to the source.
        Reference => "reference",
        /// All of it.
        Full => "full",
    }
}

/// What one record, or several, state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stated {
    signals: [Option<Signal>; SignalKey::ALL.len()],
    /// How much may be kept.
    pub keeping: Option<Keeping>,
}

impl Stated {
    /// What is stated of a kind of use.
    #[must_use]
    pub const fn get(&self, key: SignalKey) -> Option<Signal> {
        self.signals[key as usize]
    }

    /// Takes over what a later record states; whether that takes something back.
    fn override_with(&mut self, later: Self) -> bool {
        let mut is_contradiction = false;
        for (known, new) in self.signals.iter_mut().zip(later.signals) {
            is_contradiction |= known.zip(new).is_some_and(|(known, new)| known != new);
            *known = new.or(*known);
        }
        is_contradiction |= self.keeping.zip(later.keeping).is_some_and(|(known, new)| known != new);
        self.keeping = later.keeping.or(self.keeping);
        is_contradiction
    }
}

/// One `Content-Signal` record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalRecord {
    /// Where.
    pub line: Line,
    /// Its group; `None` before the first one.
    pub group: Option<u32>,
    /// Who speaks.
    pub author: Author,
    /// The paths that it is about, which the field does not foresee; `None`: all.
    pub path: Option<LonePattern>,
    /// What it states.
    pub stated: Stated,
    /// Whether a part of it states nothing.
    pub has_invalid_part: bool,
    /// Whether it takes back what it, or an earlier record for the same crawlers, states.
    pub is_contradiction: bool,
}

impl SignalRecord {
    fn of(fact: &Fact<'_>) -> Self {
        let (path, pairs) = parts(fact.raw);
        let read = read(pairs);
        Self {
            line: fact.line,
            group: fact.group,
            author: fact.author,
            path: path.map(LonePattern::of),
            stated: read.stated,
            has_invalid_part: read.has_invalid_part,
            is_contradiction: read.is_contradiction,
        }
    }
}

fn parts(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if value.first() != Some(&b'/') {
        return (None, value);
    }
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    (Some(&value[..end]), value[end..].trim_ascii())
}

/// What the pairs of one record say.
#[derive(Default)]
struct Read {
    stated: Stated,
    has_invalid_part: bool,
    is_contradiction: bool,
}

fn read(pairs: &[u8]) -> Read {
    let mut read = Read::default();
    for part in pairs.split(|octet| *octet == b',') {
        match pair(part) {
            Some(stated) => read.is_contradiction |= read.stated.override_with(stated),
            None => read.has_invalid_part = true,
        }
    }
    read
}

/// A known key with a known value.
fn pair(part: &[u8]) -> Option<Stated> {
    const LONGEST: usize = 32;
    if part.len() > LONGEST {
        return None;
    }
    let text = std::str::from_utf8(part).ok()?.to_ascii_lowercase();
    let (key, value) = text.split_once('=')?;
    let (key, value) = (key.trim_ascii(), value.trim_ascii());
    let mut stated = Stated::default();
    if key == "use" {
        stated.keeping = Some(Keeping::from_name(value)?);
    } else {
        stated.signals[SignalKey::from_name(key)? as usize] = Some(Signal::from_name(value)?);
    }
    Some(stated)
}

/// All `Content-Signal` records of a file, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentSignal {
    /// The records.
    pub records: Vec<SignalRecord>,
}

impl ContentSignal {
    /// Reads the records; `star` are the wildcard's groups, which are one.
    pub(super) fn of<'f, 'a: 'f>(facts: impl Iterator<Item = &'f Fact<'a>>, star: &[u32]) -> Self {
        let mut records: Vec<SignalRecord> = facts.map(SignalRecord::of).collect();
        let (mut everybody, mut own) = (Stated::default(), Stated::default());
        let mut own_group = None;
        for record in records.iter_mut().filter(|record| record.path.is_none()) {
            let is_for_everybody = record.group.is_none_or(|group| star.binary_search(&group).is_ok());
            let known = if is_for_everybody {
                &mut everybody
            } else {
                if own_group != record.group {
                    (own, own_group) = (Stated::default(), record.group);
                }
                &mut own
            };
            record.is_contradiction |= known.override_with(record.stated);
        }
        Self { records }
    }

    /// What is stated for a path to a crawler, given its groups: records of these and those before any group, the later
    /// over the earlier. A record with a path counts where that matches.
    #[must_use]
    pub fn stated(&self, groups: &[u32], path: &Path<'_>) -> Stated {
        let mut stated = Stated::default();
        for record in &self.records {
            let is_own = record.group.is_none_or(|group| groups.binary_search(&group).is_ok());
            if is_own && record.path.as_ref().is_none_or(|pattern| pattern.matches(path.octets())) {
                stated.override_with(record.stated);
            }
        }
        stated
    }
}

/// A record's value in words.
pub(super) fn meaning(value: &[u8]) -> Option<String> {
    let (path, pairs) = parts(value);
    let Stated { signals, keeping } = read(pairs).stated;
    let said = SignalKey::ALL.iter().zip(signals).filter_map(|(key, signal)| Some(format!("{key} {}", signal?)));
    let said: Vec<String> = said.chain(keeping.map(|keeping| format!("use {keeping}"))).collect();
    let scope = path.map_or(String::new(), |path| format!(" on {}", String::from_utf8_lossy(path)));
    (!said.is_empty()).then(|| said.join(", ") + &scope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::parse::Robots;
    use crate::robots::token::{Asked, Matching};
    use crate::signals::Signals;

    fn content_signal(body: &str) -> (ContentSignal, GroupIndex) {
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        (Signals::of(&robots, &index, body.as_bytes()).content_signal, index)
    }

    /// Search, ai-input and ai-train as `y`, `n` or `-`.
    fn letters(stated: Stated) -> String {
        let letter = |key: &SignalKey| match stated.get(*key) {
            Some(Signal::Yes) => 'y',
            Some(Signal::No) => 'n',
            None => '-',
        };
        SignalKey::ALL.iter().map(letter).collect()
    }

    #[test]
    fn pairs() {
        for (value, expected, is_invalid) in [
            ("search=yes, ai-train=no", "y-n", false),
            ("search=yes,ai-input=no,ai-train=no", "ynn", false),
            ("Search = YES , AI-Train=No", "y-n", false),
            ("search=maybe, ai-train=no", "--n", true),
            ("search=yes ai-train=no", "---", true),
            ("frobnicate=yes, ai-input=yes", "-y-", true),
            ("search", "---", true),
            ("", "---", true),
            ("search=yes,", "y--", true),
            ("search=yes, search=no", "n--", false),
        ] {
            let read = read(value.as_bytes());
            assert_eq!((letters(read.stated).as_str(), read.has_invalid_part), (expected, is_invalid), "{value:?}");
        }
        assert_eq!(read(b"use=Reference").stated.keeping, Some(Keeping::Reference));
        assert_eq!(meaning(b"/a ai-train=no, use=full").as_deref(), Some("ai-train no, use full on /a"));
    }

    #[test]
    fn later_records_override_earlier_ones_of_the_same_crawlers() {
        let (signal, index) = content_signal(
            "Content-Signal: ai-input=no\nUser-agent: *\nContent-signal: search=yes, ai-train=no\nAllow: /\n\
             User-agent: a\nContent-Signal: search=no\nAllow: /\n\
             User-agent: *\nContent-Signal: ai-train=yes\nContent-Signal: /api/ search=no\nDisallow: /x\n",
        );
        let of = |crawler: &str, path: &str| {
            let choice = index.choose(&Asked::named(crawler, Matching::Rfc9309).expect("a token"));
            letters(signal.stated(choice.groups, &Path::of(path.as_bytes())))
        };
        assert_eq!(of("*", "/"), "yny");
        assert_eq!(of("*", "/api/x"), "nny");
        assert_eq!(of("a", "/"), "nn-");
        let contradictions = signal.records.iter().filter(|record| record.is_contradiction);
        assert!(contradictions.map(|record| u32::from(record.line)).eq([9]));
    }
}
