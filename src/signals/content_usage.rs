//! `Content-Usage` rules: usage preferences for automated processing, by path.
//!
//! Sources: draft-ietf-aipref-attach-05 (the rule), draft-ietf-aipref-vocab (its labels), RFC 9651 (its value, a
//! dictionary of structured fields).
//!
//! The first makes it a rule of its group, which by the grammar would end a run of user-agent lines. Here it does not, as
//! for every reader of RFC 9309 alone: groups, and with them verdicts, depend on no signal. Where a run goes on behind
//! such a rule, the parser finds `bridged_agents`.

use sfv::{BareItem, Dictionary, ListEntry, Parser};

use super::fact::Fact;
use crate::robots::access::names;
use crate::robots::group::Choice;
use crate::robots::lex::Line;
use crate::robots::path::Path;
use crate::robots::pattern::LonePattern;
use crate::robots::verdict::Verdict;

names! {
    /// What is said of one kind of use.
    pub enum Usage {
        /// It is fine (`y`).
        Allow => "allow",
        /// It is not (`n`).
        Disallow => "disallow",
        /// Something is said, but not of this kind of use, or nothing that can be read.
        Unknown => "unknown",
    }
}

names! {
    /// The labels that a draft or an open proposal had at some time; sites go on using old ones.
    pub enum Label {
        /// Training of models.
        TrainAi => "train-ai",
        /// Search with links to the source.
        Search => "search",
        /// Any use by AI systems.
        AiUse => "ai-use",
        /// All automated processing, July 2025.
        All => "all",
        /// Training of generative models, July 2025.
        TrainGenai => "train-genai",
        /// All automated processing, autumn 2025.
        Bots => "bots",
        /// Output of AI systems, autumn 2025.
        AiOutput => "ai-output",
        /// Text and data mining, May 2025.
        Tdm => "tdm",
        /// Training of models, May 2025.
        Ai => "ai",
        /// Training of generative models, May 2025.
        Genai => "genai",
        /// Use at the request of a person; a proposal.
        InferUser => "infer-user",
        /// Use at the request of a system; a proposal.
        InferSystem => "infer-system",
    }
}

/// What a dictionary says of each label. Labels are independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preferences {
    usages: [Usage; Label::ALL.len()],
    stated: [bool; Label::ALL.len()],
    /// Whether a label is none of [`Label`].
    pub has_unknown_label: bool,
    /// Whether a known label has a value other than the tokens `y` and `n`.
    pub has_invalid_value: bool,
}

impl Preferences {
    /// Nothing said.
    const SILENT: Self = Self {
        usages: [Usage::Unknown; Label::ALL.len()],
        stated: [false; Label::ALL.len()],
        has_unknown_label: false,
        has_invalid_value: false,
    };

    /// Reads a dictionary; `None` where the octets are none.
    #[must_use]
    pub fn of(dictionary: &[u8]) -> Option<Self> {
        let dictionary: Dictionary = Parser::new(dictionary).parse().ok()?;
        let mut preferences = Self::SILENT;
        for (key, entry) in &dictionary {
            let Some(label) = Label::from_name(key.as_str()) else {
                preferences.has_unknown_label = true;
                continue;
            };
            preferences.stated[label as usize] = true;
            match usage(entry) {
                Usage::Unknown => preferences.has_invalid_value = true,
                usage => preferences.usages[label as usize] = usage,
            }
        }
        Some(preferences)
    }

    /// What is said of a label.
    #[must_use]
    pub const fn get(&self, label: Label) -> Usage {
        self.usages[label as usize]
    }

    /// The labels that the dictionary has, in the order of [`Label::ALL`].
    pub fn labels(&self) -> impl Iterator<Item = Label> {
        Label::ALL.iter().copied().filter(|label| self.stated[*label as usize])
    }
}

/// Only the tokens `y` and `n` say anything; parameters change nothing.
fn usage(entry: &ListEntry) -> Usage {
    match entry {
        ListEntry::Item(item) => match &item.bare_item {
            BareItem::Token(token) if token.as_str() == "y" => Usage::Allow,
            BareItem::Token(token) if token.as_str() == "n" => Usage::Disallow,
            _ => Usage::Unknown,
        },
        ListEntry::InnerList(_) => Usage::Unknown,
    }
}

/// Several statements about the same thing: the most restrictive counts.
#[must_use]
pub fn combine(usages: impl IntoIterator<Item = Usage>) -> Usage {
    usages.into_iter().fold(Usage::Unknown, |all, next| match (all, next) {
        (Usage::Disallow, _) | (_, Usage::Disallow) => Usage::Disallow,
        (Usage::Allow, _) | (_, Usage::Allow) => Usage::Allow,
        (Usage::Unknown, Usage::Unknown) => Usage::Unknown,
    })
}

/// One `Content-Usage` rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Where.
    pub line: Line,
    /// Its group; `None` before the first one, where it applies to nobody.
    pub group: Option<u32>,
    /// The paths that it is about; `None`: all.
    pub path: Option<LonePattern>,
    /// What it says; `None` where its value is no dictionary.
    pub preferences: Option<Preferences>,
}

impl Statement {
    fn of(fact: &Fact<'_>) -> Self {
        let (path, dictionary) = parts(fact.raw);
        Self {
            line: fact.line,
            group: fact.group,
            path: path.map(LonePattern::of),
            preferences: Preferences::of(dictionary),
        }
    }

    /// Octets of the path: what makes one rule more specific than another. No path is the shortest.
    fn octets(&self) -> u32 {
        self.path.as_ref().map_or(0, LonePattern::octets)
    }

    fn usage(&self, label: Label) -> Usage {
        self.preferences.map_or(Usage::Unknown, |preferences| preferences.get(label))
    }
}

/// The path of a rule, if it has one, and its dictionary: only a value that begins with `/` has a path.
fn parts(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if value.first() != Some(&b'/') {
        return (None, value);
    }
    let end = value.iter().position(|octet| matches!(octet, b' ' | b'\t')).unwrap_or(value.len());
    (Some(&value[..end]), value[end..].trim_ascii())
}

/// All `Content-Usage` rules of a file, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentUsage {
    /// The rules.
    pub statements: Vec<Statement>,
}

impl ContentUsage {
    pub(super) fn of<'f, 'a: 'f>(facts: impl Iterator<Item = &'f Fact<'a>>) -> Self {
        Self { statements: facts.map(Statement::of).collect() }
    }

    /// What is said of a path to a crawler, given its groups and its verdict on that path; `None`: nothing.
    ///
    /// A path that may not be crawled has no preference. Of the rules that match, those with the longest path count,
    /// and of several the most restrictive; their order in the file means nothing.
    #[must_use]
    pub fn preference(&self, choice: &Choice<'_>, verdict: &Verdict, path: &Path<'_>, label: Label) -> Option<Usage> {
        if !verdict.is_allowed() {
            return None;
        }
        let is_own =
            |statement: &Statement| statement.group.is_some_and(|group| choice.groups.binary_search(&group).is_ok());
        let matches = |statement: &Statement| statement.path.as_ref().is_none_or(|p| p.matches(path.octets()));
        let able: Vec<&Statement> =
            self.statements.iter().filter(|statement| is_own(statement) && matches(statement)).collect();
        let longest = able.iter().map(|statement| statement.octets()).max()?;
        let deciding = able.iter().filter(|statement| statement.octets() == longest);
        Some(combine(deciding.map(|statement| statement.usage(label))))
    }
}

/// A rule's value in words.
pub(super) fn meaning(value: &[u8]) -> Option<String> {
    let (path, dictionary) = parts(value);
    let preferences = Preferences::of(dictionary)?;
    let said: Vec<String> = preferences.labels().map(|label| format!("{label} {}", preferences.get(label))).collect();
    let scope = path.map_or(String::new(), |path| format!(" on {}", String::from_utf8_lossy(path)));
    (!said.is_empty()).then(|| said.join(", ") + &scope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::matcher::RuleSet;
    use crate::robots::parse::Robots;
    use crate::robots::token::{Asked, Matching};
    use crate::signals::Signals;

    fn train_ai(value: &str) -> Usage {
        combine(Preferences::of(value.as_bytes()).map(|preferences| preferences.get(Label::TrainAi)))
    }

    #[test]
    fn values_are_dictionaries_of_tokens() {
        for (value, expected) in [
            ("train-ai=n", Usage::Disallow),
            ("train-ai=y", Usage::Allow),
            ("train-ai=y, train-ai=n", Usage::Disallow),
            ("train-ai=n,train-ai=y", Usage::Allow),
            ("train-ai=n, train-ai", Usage::Unknown),
            ("train-ai", Usage::Unknown),
            ("train-ai=\"n\"", Usage::Unknown),
            ("train-ai=?0", Usage::Unknown),
            ("train-ai=N", Usage::Unknown),
            ("Train-AI=n", Usage::Unknown),
            ("train-ai=n;until=\"2027\"", Usage::Disallow),
            ("frobnicate=n, search=y", Usage::Unknown),
            ("train-ai=n,", Usage::Unknown),
            ("train-ai=(n)", Usage::Unknown),
            ("train-ai=n search=y", Usage::Unknown),
            ("train-ai=n, caf\u{e9}=y", Usage::Unknown),
            ("train-ai = n", Usage::Unknown),
            ("", Usage::Unknown),
        ] {
            assert_eq!(train_ai(value), expected, "{value:?}");
        }
        for broken in ["Train-AI=n", "train-ai=n,", "train-ai=n search=y", "=n", "train-ai=n;"] {
            assert_eq!(Preferences::of(broken.as_bytes()), None, "{broken:?}");
        }
    }

    #[test]
    fn labels_of_old_drafts_are_known_and_others_noted() {
        for label in Label::ALL {
            let preferences = Preferences::of(format!("{label}=n").as_bytes()).expect("a dictionary");
            assert_eq!(preferences.get(*label), Usage::Disallow);
            assert!(!preferences.has_unknown_label && preferences.labels().eq([*label]));
        }
        let preferences = Preferences::of(b"frobnicate=n, search=y").expect("a dictionary");
        assert!(preferences.has_unknown_label && !preferences.has_invalid_value);
        assert_eq!(preferences.get(Label::Search), Usage::Allow);
        assert!(Preferences::of(b"train-ai=N").expect("a dictionary").has_invalid_value);
    }

    fn preference(body: &str, crawler: &str, path: &str) -> Option<Usage> {
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let choice = index.choose(&Asked::named(crawler, Matching::Rfc9309).expect("a token"));
        let path = Path::of(path.as_bytes());
        let verdict = Verdict::of_path(&RuleSet::of_groups(&robots, choice.groups), choice.source, &path);
        let signals = Signals::of(&robots, &index, body.as_bytes());
        signals.content_usage.preference(&choice, &verdict, &path, Label::TrainAi)
    }

    #[test]
    fn the_longest_path_decides_and_the_strictest_of_equals() {
        use Usage::{Allow, Disallow, Unknown};
        const PATHS: &str = "User-agent: *\nDisallow: /tmp/\nContent-Usage: /samples/ train-ai=y, search=y\n\
            Content-Usage: train-ai=n\n";
        const TIE: &str = "User-agent: *\nContent-Usage: /a train-ai=y\nContent-Usage: /%61 train-ai=n\n\
            Content-Usage: /b search=n\nContent-Usage: /b train-ai=y\nContent-Usage: /c search=n\nAllow: /\n";
        for (body, path, expected) in [
            (PATHS, "/", Some(Disallow)),
            (PATHS, "/samples/x", Some(Allow)),
            (PATHS, "/tmp/x", None),
            (TIE, "/a", Some(Disallow)),
            (TIE, "/b", Some(Allow)),
            (TIE, "/c", Some(Unknown)),
            (TIE, "/d", None),
            ("User-agent: *\nContent-Usage: /*.png$ train-ai=n\nAllow: /\n", "/x/y.png", Some(Disallow)),
            ("User-agent: *\nContent-Usage: /caf\u{e9} train-ai=n\nAllow: /\n", "/caf%C3%A9/x", Some(Disallow)),
            ("User-agent: *\nContent-Usage: *.png train-ai=n\nAllow: /\n", "/x.png", Some(Unknown)),
            ("User-agent: *\ncontent-usage:\ttrain-ai=n # why\nAllow: /\n", "/x", Some(Disallow)),
            ("User-agent: *\nContent-Usage: /x\ttrain-ai=n\nAllow: /\n", "/x", Some(Disallow)),
            ("User-agent: *\nContent-Usage: /x\nAllow: /\n", "/x", Some(Unknown)),
            ("User-agent: *\nDisallow: /\nContent-Usage: train-ai=n\n", "/", None),
            ("User-agent: *\nDisallow: /\nContent-Usage: train-ai=n\n", "/robots.txt", Some(Disallow)),
            ("Content-Usage: train-ai=n\nUser-agent: *\nAllow: /\n", "/", None),
        ] {
            assert_eq!(preference(body, "*", path), expected, "{body:?} {path}");
        }
    }

    #[test]
    fn groups_are_chosen_as_for_rules() {
        let body = "User-agent: *\nContent-Usage: train-ai=n\nAllow: /\nUser-agent: a\nDisallow: /x\n\
            User-agent: b\nContent-Usage: train-ai=y\nAllow: /\nUser-agent: B\nContent-Usage: /x train-ai=n\nAllow: /\n";
        for (crawler, path, expected) in [
            ("a", "/", None),
            ("b", "/", Some(Usage::Allow)),
            ("b", "/x", Some(Usage::Disallow)),
            ("c", "/x", Some(Usage::Disallow)),
        ] {
            assert_eq!(preference(body, crawler, path), expected, "{crawler} {path}");
        }
    }

    #[test]
    fn values_have_words() {
        assert_eq!(meaning(b"/a search=y, train-ai=n").as_deref(), Some("train-ai disallow, search allow on /a"));
        assert_eq!(meaning(b"train-ai=n,"), None);
    }
}
