//! What a run asks, resolved and validated. No value means "default".

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::crawlers::{AskedCrawler, Registry};
use crate::robots::access::Policy;
use crate::robots::token::{Asked, Matching, ProductToken};
use crate::signals::training::is_policy_token;
use crate::tables::Table;
use crate::tables::crawler_access::CrawlerName;

/// What is asked of every body and URL.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The crawlers, as the tables name them.
    pub crawlers: Vec<CrawlerName>,
    /// The same crawlers, as the rules are asked.
    pub asked: Vec<Asked>,
    /// The same, in the other mode of matching.
    pub asked_otherwise: Vec<Asked>,
    /// What is made of missing and failed answers.
    pub policy: Policy,
    /// How files are read.
    pub matching: Matching,
    /// Whether the other mode is asked as well, and where the two part is told.
    pub compare_matching: bool,
    /// Whether fall-back tokens are ignored.
    pub exact_tokens: bool,
    /// Tokens of the set `@ai`, in lower case.
    pub ai_tokens: HashSet<String>,
    /// The crawlers that collect for training, the set `@ai-training`: what signals say is compared with their access.
    pub training_crawlers: Vec<Asked>,
    /// The crawlers of search engines, the set `@search`: likewise.
    pub search_crawlers: Vec<Asked>,
    /// The registry as used.
    pub registry: Registry,
}

impl Plan {
    /// Resolves what is asked.
    ///
    /// # Panics
    /// Where a crawler's name holds no token, which the selection refuses.
    #[must_use]
    pub fn new(
        registry: Registry,
        crawlers: &[AskedCrawler],
        policy: Policy,
        matching: Matching,
        exact_tokens: bool,
    ) -> Self {
        let ai_tokens = registry.set("@ai").unwrap_or_default();
        let ai_tokens = ai_tokens.iter().filter_map(|crawler| ProductToken::of_name(&crawler.token, matching));
        let asked_in = |mode| crawlers.iter().map(|crawler| asked(crawler, mode, exact_tokens)).collect();
        let set = |name| {
            let known = registry.set(name).unwrap_or_default().into_iter();
            let crawlers = known.map(|known| AskedCrawler { name: known.token.clone(), crawler: Some(known.clone()) });
            crawlers.map(|crawler| asked(&crawler, matching, exact_tokens)).collect()
        };
        Self {
            training_crawlers: set("@ai-training"),
            search_crawlers: set("@search"),
            crawlers: crawlers.iter().map(name).collect(),
            asked: asked_in(matching),
            asked_otherwise: asked_in(matching.other()),
            policy,
            matching,
            compare_matching: false,
            exact_tokens,
            ai_tokens: ai_tokens.map(|token| token.as_str().to_owned()).collect(),
            registry,
        }
    }

    /// The same plan, with a comparison of the two modes of matching.
    #[must_use]
    pub fn comparing(self) -> Self {
        Self { compare_matching: true, ..self }
    }

    /// The crawlers as the rules are asked in a mode.
    #[must_use]
    pub fn asked_as(&self, matching: Matching) -> &[Asked] {
        if matching == self.matching { &self.asked } else { &self.asked_otherwise }
    }

    /// The tables that an audit of this plan writes.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let is_written = |table: &Table| match table {
            Table::MatchingDifferences => self.compare_matching,
            Table::Captures => false,
            _ => true,
        };
        Table::ALL.iter().copied().filter(is_written).collect()
    }

    /// The plan as it stands in each footer: without threads and paths, which change nothing.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "crawlers": self.crawlers.iter().map(|crawler| crawler.token.as_str()).collect::<Vec<_>>(),
            "policy": self.policy.as_str(),
            "matching": self.matching.as_str(),
            "compare_matching": self.compare_matching,
            "exact_tokens": self.exact_tokens,
        })
    }
}

fn name(crawler: &AskedCrawler) -> CrawlerName {
    CrawlerName {
        token: crawler.name.clone(),
        operator: crawler.crawler.as_ref().map(|known| known.operator.clone()),
        purpose: crawler.crawler.as_ref().map(|known| known.purpose.as_str().to_owned()),
    }
}

pub(super) fn asked(crawler: &AskedCrawler, matching: Matching, exact_tokens: bool) -> Asked {
    if crawler.is_wildcard() {
        return Asked::Star;
    }
    let token = ProductToken::of_name(&crawler.name, matching).expect("the selection takes only names with a token");
    let known = crawler.crawler.as_ref();
    let fallback = known.filter(|_| !exact_tokens).and_then(|known| known.fallback.as_deref());
    Asked::Named {
        token,
        fallback: fallback.and_then(|name| ProductToken::of_name(name, matching)),
        // The wildcard never speaks for a preference about use, listed or not.
        star_applies: known.is_none_or(|known| known.star_applies) && !is_policy_token(crawler.name.as_bytes()),
    }
}
