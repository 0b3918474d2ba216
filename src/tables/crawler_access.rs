//! Table `crawler_access`: one row per origin and crawler.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, Int32Builder, Int64Builder, RecordBatch};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Runs, Words, value, words};
use crate::robots::access::names;
use crate::robots::decision::Decision;
use crate::robots::group::GroupSource;

names! {
    /// How much of an origin is open to a crawler: exact, from the rules.
    pub enum Access {
        /// No path can be refused.
        Full => "full",
        /// Some paths are allowed, some refused.
        Partial => "partial",
        /// No path but `/robots.txt` can be allowed.
        Blocked => "blocked",
        /// The rules are not known.
        Unknown => "unknown",
    }
}

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("origin"),
        value("rank", DataType::Int64),
        words("crawler"),
        words("operator"),
        words("purpose"),
        words("group_source"),
        words("access"),
        words("root_decision"),
        value("n_allow", DataType::Int32),
        value("n_disallow", DataType::Int32),
        value("crawl_delay_s", DataType::Float64),
        value("drops_star_rules", DataType::Int32),
    ]))
}

/// A crawler as the table names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlerName {
    /// The token as asked for.
    pub token: String,
    /// Who runs it, where the registry knows.
    pub operator: Option<String>,
    /// What for, where the registry knows.
    pub purpose: Option<String>,
}

/// What one origin says to one crawler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrawlerAccess {
    /// How much is open.
    pub access: Access,
    /// The decision on `/`.
    pub root_decision: Decision,
    /// The rules behind it, where a file was read.
    pub rules: Option<AppliedRules>,
}

/// The rules that apply to a crawler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AppliedRules {
    /// How the groups were found.
    pub group_source: GroupSource,
    /// Allow lines.
    pub n_allow: u32,
    /// Disallow lines.
    pub n_disallow: u32,
    /// Seconds of Crawl-delay.
    pub crawl_delay_s: Option<f64>,
    /// Rules of the wildcard that the crawler's own groups leave behind.
    pub drops_star_rules: u32,
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct CrawlerAccessBuilder {
    origin: Runs,
    rank: Int64Builder,
    crawler: Words,
    operator: Words,
    purpose: Words,
    group_source: Words,
    access: Words,
    root_decision: Words,
    n_allow: Int32Builder,
    n_disallow: Int32Builder,
    crawl_delay_s: Float64Builder,
    drops_star_rules: Int32Builder,
}

impl CrawlerAccessBuilder {
    /// A builder for these crawlers, in the order in which they were asked for.
    #[must_use]
    pub fn new(crawlers: &[CrawlerName]) -> Self {
        Self {
            origin: Runs::default(),
            rank: Int64Builder::new(),
            crawler: Words::of(crawlers.iter().map(|crawler| crawler.token.as_str())),
            operator: Words::of(crawlers.iter().map(|crawler| crawler.operator.as_deref().unwrap_or_default())),
            purpose: Words::of(crawlers.iter().map(|crawler| crawler.purpose.as_deref().unwrap_or_default())),
            group_source: Words::of(GroupSource::ALL.iter().map(|source| source.as_str())),
            access: Words::of(Access::ALL.iter().map(|access| access.as_str())),
            root_decision: Words::of(Decision::ALL.iter().map(|decision| decision.as_str())),
            n_allow: Int32Builder::new(),
            n_disallow: Int32Builder::new(),
            crawl_delay_s: Float64Builder::new(),
            drops_star_rules: Int32Builder::new(),
        }
    }

    /// Adds the rows of an origin: one for each crawler, in order.
    pub fn push(&mut self, origin: &str, rank: Option<i64>, crawlers: &[CrawlerName], rows: &[CrawlerAccess]) {
        let origin = self.origin.add(origin);
        for (place, (crawler, row)) in crawlers.iter().zip(rows).enumerate() {
            self.origin.push(Some(origin));
            self.rank.append_option(rank);
            self.crawler.push(Some(place));
            self.operator.push(crawler.operator.as_ref().map(|_| place));
            self.purpose.push(crawler.purpose.as_ref().map(|_| place));
            self.access.push(Some(row.access as usize));
            self.root_decision.push(Some(row.root_decision as usize));
            self.rules(row.rules.as_ref());
        }
    }

    fn rules(&mut self, rules: Option<&AppliedRules>) {
        self.group_source.push(rules.map(|rules| rules.group_source as usize));
        self.n_allow.append_option(rules.map(|rules| rules.n_allow.cast_signed()));
        self.n_disallow.append_option(rules.map(|rules| rules.n_disallow.cast_signed()));
        self.crawl_delay_s.append_option(rules.and_then(|rules| rules.crawl_delay_s));
        self.drops_star_rules.append_option(rules.map(|rules| rules.drops_star_rules.cast_signed()));
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            self.origin.finish(),
            Arc::new(self.rank.finish()),
            self.crawler.finish(),
            self.operator.finish(),
            self.purpose.finish(),
            self.group_source.finish(),
            self.access.finish(),
            self.root_decision.finish(),
            Arc::new(self.n_allow.finish()),
            Arc::new(self.n_disallow.finish()),
            Arc::new(self.crawl_delay_s.finish()),
            Arc::new(self.drops_star_rules.finish()),
        ];
        column::batch(schema(), columns)
    }
}
