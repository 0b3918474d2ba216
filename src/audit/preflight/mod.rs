//! May this URL be fetched now, by this crawler? One question before one fetch, answered with its evidence.
//!
//! [`judge`] answers from what was seen of an origin, without network or clock; [`evidence`] is the record. With the
//! feature `http`, [`preflight`] asks: the cache first, then the origin. A redirect of the page that leads to another
//! origin is a question of its own, and the strictest answer counts for the path.

#[cfg(feature = "http")]
mod ask;
pub mod evidence;
pub mod judge;

#[cfg(feature = "http")]
pub use ask::{Preflight, preflight};

use super::plan;
use crate::crawlers::AskedCrawler;
use crate::robots::access::{Policy, names};
use crate::robots::token::{Asked, Matching};

names! {
    /// May a URL be fetched whose origin has no robots.txt (404 or 410)?
    pub enum Missing {
        /// As the policy has it.
        Allow => "allow",
        /// Not now: somebody should look first.
        Defer => "defer",
    }
}

/// How answers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// What is made of missing and failed answers.
    pub policy: Policy,
    /// How files are read.
    pub matching: Matching,
    /// What is made of a missing file, where the policy would allow.
    pub missing: Missing,
}

impl Default for Terms {
    fn default() -> Self {
        Self { policy: Policy::Rfc9309, matching: Matching::Rfc9309, missing: Missing::Allow }
    }
}

/// The crawler that wants to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its name as given.
    pub name: String,
    /// The same, as the rules are asked.
    pub asked: Asked,
}

impl Identity {
    /// The identity of a crawler; the registry finds one with [`identify`](crate::crawlers::Registry::identify).
    #[must_use]
    pub fn of(crawler: &AskedCrawler, matching: Matching, exact_tokens: bool) -> Self {
        Self { name: crawler.name.clone(), asked: plan::asked(crawler, matching, exact_tokens) }
    }
}

/// What is asked before a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The URL of the page, in full: `http://…` or `https://…`.
    pub url: String,
    /// Who wants to fetch it; without an identity every answer is `unresolved`, and nothing is asked.
    pub identity: Option<Identity>,
    /// Where redirects of the page led, in order and in full, as far as they are known; `None` where nobody looked.
    pub hops: Option<Vec<String>>,
    /// How answers are read.
    pub terms: Terms,
}

#[cfg(feature = "http")]
impl Question {
    /// The URL and where it led.
    fn path(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.url).chain(self.hops.iter().flatten()).map(String::as_str)
    }
}
