//! The registry itself: the embedded entries, a user's own on top of them, look-ups and sets.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::robots::token::{Matching, ProductToken};

use super::read::{COLUMNS, RegistryError, read_entries};
use super::{Crawler, Purpose};

/// The embedded entries.
const EMBEDDED: &str = include_str!("../../inputs/crawlers.csv");

/// The sets that can be asked for, each with what it holds.
pub const SETS: [(&str, &str); 5] = [
    ("@common", "ten that are named most"),
    ("@ai", "purpose ai-* or dataset"),
    ("@ai-training", "purpose ai-training or dataset"),
    ("@search", "purpose search"),
    ("@all", "every entry, policy tokens included"),
];

/// Crawlers by product token, in a fixed order.
#[derive(Debug, Clone)]
pub struct Registry {
    crawlers: Vec<Crawler>,
    /// Places in `crawlers` by lower-case token.
    places: HashMap<String, usize>,
}

impl Registry {
    /// The entries that come with the program.
    ///
    /// # Panics
    /// Never: the embedded text is checked by a test.
    #[must_use]
    pub fn embedded() -> Self {
        let mut registry = Self { crawlers: Vec::new(), places: HashMap::new() };
        registry.extend(EMBEDDED, "crawlers.csv").expect("the embedded registry is well formed");
        registry
    }

    /// Adds the entries of a CSV text with a header; only the column `token` has to be there. An entry whose token is
    /// known already changes it: columns that the text lacks, and empty cells, keep their value, save that an empty
    /// cell of `fallback_token` or `doc_url` clears it. `file` names the text in errors.
    ///
    /// # Errors
    /// What is wrong, with file, line and column. The registry is unchanged then.
    pub fn extend(&mut self, text: &str, file: &str) -> Result<(), RegistryError> {
        for crawler in read_entries(text, file, |token| self.get(token).cloned())? {
            self.put(crawler);
        }
        Ok(())
    }

    fn put(&mut self, crawler: Crawler) {
        let key = crawler.token.to_ascii_lowercase();
        if let Some(place) = self.places.get(&key) {
            self.crawlers[*place] = crawler;
        } else {
            self.places.insert(key, self.crawlers.len());
            self.crawlers.push(crawler);
        }
    }

    /// Every entry, in order.
    #[must_use]
    pub fn crawlers(&self) -> &[Crawler] {
        &self.crawlers
    }

    /// The entry of a token, looked up without regard to case; of a name with more behind its token (`Googlebot/2.1`),
    /// that of the token.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Crawler> {
        let entry = |name: &str| self.places.get(&name.to_ascii_lowercase()).map(|place| &self.crawlers[*place]);
        entry(name).or_else(|| entry(ProductToken::of_name(name, Matching::Rfc9309)?.as_str()))
    }

    /// The entries of a set such as `@ai`, in order; `None` where there is no such set.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<Vec<&Crawler>> {
        let belongs: fn(&Crawler) -> bool = match name {
            "@common" => |crawler| crawler.is_common,
            "@ai" => |crawler| crawler.purpose.is_ai(),
            "@ai-training" => |crawler| matches!(crawler.purpose, Purpose::AiTraining | Purpose::Dataset),
            "@search" => |crawler| crawler.purpose == Purpose::Search,
            "@all" => return Some(self.crawlers.iter().collect()),
            _ => return None,
        };
        Some(self.crawlers.iter().filter(|crawler| !crawler.is_policy_token() && belongs(crawler)).collect())
    }

    /// The registry as CSV text in its one canonical form: what [`Self::extend`] reads.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = COLUMNS.join(",");
        text.push('\n');
        for crawler in &self.crawlers {
            push_row(&mut text, crawler);
        }
        text
    }

    /// SHA-256 of [`Self::to_csv`], in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut text = String::with_capacity(64);
        for octet in Sha256::digest(self.to_csv()) {
            write!(text, "{octet:02x}").expect("writing to a string does not fail");
        }
        text
    }
}

fn push_row(text: &mut String, crawler: &Crawler) {
    let yes_or_no = |value| if value { "yes" } else { "no" };
    let cells = [
        crawler.token.as_str(),
        &crawler.operator,
        crawler.purpose.as_str(),
        crawler.kind.as_str(),
        crawler.obeys_robots.as_str(),
        crawler.fallback.as_deref().unwrap_or_default(),
        yes_or_no(crawler.star_applies),
        yes_or_no(crawler.is_common),
        crawler.doc_url.as_deref().unwrap_or_default(),
    ];
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if cell.contains(['"', ',', '\n', '\r']) {
            write!(text, "\"{}\"", cell.replace('"', "\"\"")).expect("writing to a string does not fail");
        } else {
            text.push_str(cell);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(crawlers: &[&Crawler]) -> Vec<String> {
        crawlers.iter().map(|crawler| crawler.token.clone()).collect()
    }

    #[test]
    fn the_embedded_file_is_canonical() {
        let registry = Registry::embedded();
        assert_eq!(registry.to_csv(), EMBEDDED);
        assert_eq!(registry.crawlers().len(), 225);
        assert_eq!(registry.digest().len(), 64);
        for crawler in registry.crawlers() {
            let fallback = crawler.fallback.as_deref();
            assert!(fallback.is_none_or(|token| registry.get(token).is_some()), "{}", crawler.token);
        }
    }

    #[test]
    fn sets() {
        let registry = Registry::embedded();
        let set = |name| tokens(&registry.set(name).expect("a set"));
        assert_eq!(
            set("@common").join(" "),
            "Applebot-Extended Google-Extended ClaudeBot Bytespider GPTBot CCBot PerplexityBot ChatGPT-User Googlebot \
             Bingbot"
        );
        assert_eq!((set("@ai").len(), set("@ai-training").len(), set("@search").len()), (141, 39, 26));
        assert_eq!(set("@all").len(), 225);
        assert!(set("@all").contains(&"__usage_ai-training".to_owned()));
        for (name, _) in SETS.iter().filter(|(name, _)| *name != "@all") {
            assert!(!set(name).iter().any(|token| token.starts_with("__usage_")), "{name}");
        }
        assert!(registry.set("@AI").is_none() && registry.set("@nothing").is_none());
    }

    #[test]
    fn look_up_without_regard_to_case() {
        let registry = Registry::embedded();
        assert_eq!(registry.get("gptbot").map(|crawler| crawler.token.as_str()), Some("GPTBot"));
        assert_eq!(registry.get("GoogleBot-IMAGE").and_then(|found| found.fallback.as_deref()), Some("Googlebot"));
        assert!(!registry.get("AdsBot-Google").expect("known").star_applies);
        assert!(!registry.get("__usage_ai-training").expect("known").star_applies);
        assert!(registry.get("GPTBo").is_none());
    }

    #[test]
    fn a_users_file_changes_and_adds() {
        let mut registry = Registry::embedded();
        let before = registry.digest();
        registry
            .extend(
                "\u{feff}token,operator,purpose,fallback_token\r\ngptbot,Someone,,\r\nMine,Me,search,GPTBot\r\n",
                "x",
            )
            .expect("a registry");
        assert_ne!(registry.digest(), before);
        let changed = registry.get("GPTBot").expect("known");
        assert_eq!((changed.token.as_str(), changed.operator.as_str()), ("gptbot", "Someone"));
        assert_eq!((changed.purpose, changed.is_common), (Purpose::AiTraining, true));
        assert_eq!(registry.crawlers().last().map(|last| last.token.as_str()), Some("Mine"));
        assert_eq!(registry.set("@search").map(|set| set.len()), Some(27));
        registry.extend("token\n__usage_new\n", "x").expect("a registry");
        assert!(!registry.get("__usage_new").expect("known").star_applies);
    }

    #[test]
    fn canonical_text_is_read_back() {
        let mut registry = Registry::embedded();
        registry.extend("token,operator\nA,\"x, \"\"y\"\"\"\n", "x").expect("a registry");
        let mut again = Registry { crawlers: Vec::new(), places: HashMap::new() };
        again.extend(&registry.to_csv(), "x").expect("a registry");
        assert_eq!(again.crawlers(), registry.crawlers());
    }
}
