//! The registry of crawlers: product tokens, who runs them and what for, and how a run asks for some of them.
//!
//! Holds facts that operators document or that lists report. What a rule set says to a crawler belongs to `robots`.

mod header;
mod identity;
mod read;
mod registry;
mod select;

pub use header::{HeaderAsked, WithoutHeaders};
pub use identity::Identified;
pub use read::RegistryError;
pub use registry::{Registry, SETS};
pub use select::{AskedCrawler, SelectionError};

use crate::robots::access::names;
use crate::robots::token::{Matching, ProductToken};
use crate::signals::training::is_policy_token;

names! {
    /// What a crawler collects for.
    pub enum Purpose {
        /// Collecting text to train models.
        AiTraining => "ai-training",
        /// Collecting public data sets that models are trained on.
        Dataset => "dataset",
        /// An index that answers of models are drawn from.
        AiSearch => "ai-search",
        /// Pages read because a user of a model asked.
        AiUser => "ai-user",
        /// A browser driven by a model.
        AiAgent => "ai-agent",
        /// Pages read by a programming tool.
        AiCoding => "ai-coding",
        /// Data sold or served to makers and users of models.
        AiData => "ai-data",
        /// A search engine for people.
        Search => "search",
        /// Link and ranking analysis.
        Seo => "seo",
        /// Web archives.
        Archive => "archive",
        /// Link previews.
        Social => "social",
        /// Checks of pages that advertisements lead to or stand on.
        Ads => "ads",
        /// Search for malware.
        Security => "security",
        /// Something else.
        Other => "other",
        /// Not known.
        Unknown => "unknown",
    }
}

impl Purpose {
    /// Whether models are what it is for: `ai-…` or `dataset`.
    #[must_use]
    pub fn is_ai(self) -> bool {
        self == Self::Dataset || self.as_str().starts_with("ai-")
    }
}

names! {
    /// What stands behind a product token.
    pub enum Kind {
        /// A program that finds pages by itself.
        Crawler => "crawler",
        /// A program that fetches what a user asks for.
        UserTriggered => "user-triggered",
        /// No program of its own: a token that governs what is done with pages.
        ControlToken => "control-token",
    }
}

names! {
    /// Whether a crawler follows robots.txt.
    pub enum ObeysRobots {
        /// Its operator says so.
        Yes => "yes",
        /// Its operator says that it does not.
        No => "no",
        /// Reports differ.
        Disputed => "disputed",
        /// Nothing is known.
        Unknown => "unknown",
    }
}

/// One entry of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawler {
    /// The product token as its operator spells it.
    pub token: String,
    /// Who runs it.
    pub operator: String,
    /// What it collects for.
    pub purpose: Purpose,
    /// What stands behind the token.
    pub kind: Kind,
    /// Whether it follows robots.txt.
    pub obeys_robots: ObeysRobots,
    /// The token whose groups it follows where none names itself.
    pub fallback: Option<String>,
    /// Whether the wildcard group applies to it.
    pub star_applies: bool,
    /// Whether it is one of the set `@common`.
    pub is_common: bool,
    /// Where its operator, or a list, describes it.
    pub doc_url: Option<String>,
}

impl Crawler {
    /// An entry of which only the token is known.
    #[must_use]
    pub fn of_token(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            operator: "unknown".to_owned(),
            purpose: Purpose::Unknown,
            kind: Kind::Crawler,
            obeys_robots: ObeysRobots::Unknown,
            fallback: None,
            star_applies: !is_policy_token(token.as_bytes()),
            is_common: false,
            doc_url: None,
        }
    }

    /// Whether the token states a preference about use and is no crawler's.
    #[must_use]
    pub fn is_policy_token(&self) -> bool {
        is_policy_token(self.token.as_bytes())
    }
}

/// Whether the text begins with a product token, so that a group can name it.
fn holds_token(text: &str) -> bool {
    ProductToken::of_name(text, Matching::Rfc9309).is_some()
}
