//! Names of which everything is refused to crawlers, for the URL filters of data pipelines.
//!
//! A name is listed only where every origin that the tables hold of it refuses everything; what gave no clear answer
//! refuses nothing, so that a silence is never taken for a no.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use thiserror::Error;

use crate::origin::Origin;
use crate::source::access::{self, AccessRow};
use crate::source::snapshot::SnapshotError;
use crate::tables::crawler_access::Access;

/// What can go wrong with a list.
#[derive(Debug, Error)]
pub enum BlocklistError {
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] SnapshotError),
    /// The audit did not ask for a crawler.
    #[error("the tables say nothing of {crawler}; audit again with --crawlers (they hold {found})")]
    NotAsked {
        /// The crawler.
        crawler: String,
        /// Those that were asked for.
        found: String,
    },
}

/// What a list names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Scheme, host and port.
    Origin,
    /// The host, for all its origins.
    Host,
    /// The registrable domain by the Public Suffix List, for all hosts below it; a host that has none stands for itself.
    RegisteredDomain,
}

impl Level {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::Host => "host",
            Self::RegisteredDomain => "registered_domain",
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Tokens of crawlers.
    pub crawlers: Vec<String>,
    /// Whether each of them has to be refused, and not any.
    pub of_every_crawler: bool,
    /// What is named.
    pub level: Level,
    /// Whether names are listed of which a part is refused.
    pub with_partial: bool,
}

/// A name, and the origins of it by what is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Origins.
    pub origins: i64,
    /// Of which everything is refused.
    pub blocked: i64,
    /// Of which a part is refused.
    pub partial: i64,
    /// That gave no clear answer.
    pub unknown: i64,
}

/// The list, in the order of its names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocklist {
    /// Names that are listed.
    pub names: Vec<(String, Counts)>,
    /// Names that the tables hold.
    pub known: u64,
    /// Names that are not listed only because some of their origins gave no clear answer.
    pub unsettled: u64,
}

/// The list that the tables in a folder give.
///
/// # Errors
/// Where there is no table `crawler_access`, or it holds nothing of a crawler.
pub fn of_tables(folder: &Path, asked: &Asked) -> Result<Blocklist, BlocklistError> {
    let mut names = Names { asked, counts: BTreeMap::new(), current: None, found: BTreeMap::new() };
    for row in access::rows(folder)? {
        names.add(row?);
    }
    names.finish()
}

struct Names<'a> {
    asked: &'a Asked,
    counts: BTreeMap<String, Counts>,
    /// The origin whose rows are being read, and what it says to the crawlers asked for.
    current: Option<(String, Vec<Access>)>,
    /// Crawlers of the table, in lower case and as they stand there.
    found: BTreeMap<String, String>,
}

impl Names<'_> {
    fn add(&mut self, row: AccessRow) {
        let AccessRow { origin, crawler, access } = row;
        if self.current.as_ref().is_none_or(|(current, _)| *current != origin) {
            self.end_origin();
            self.current = Some((origin, Vec::new()));
        }
        let is_asked = self.asked.crawlers.iter().any(|asked| asked.eq_ignore_ascii_case(&crawler));
        if let Some((_, said)) = self.current.as_mut().filter(|_| is_asked) {
            said.push(access);
        }
        let lower = crawler.to_ascii_lowercase();
        self.found.entry(lower).or_insert(crawler);
    }

    fn end_origin(&mut self) {
        let Some((origin, said)) = self.current.take() else { return };
        let Ok(parsed) = Origin::of_url(origin.as_bytes()) else { return };
        let name = match self.asked.level {
            Level::Origin => origin,
            Level::Host => parsed.host().to_owned(),
            Level::RegisteredDomain => parsed.registered_domain().unwrap_or(parsed.host()).to_owned(),
        };
        let counts = self.counts.entry(name).or_default();
        counts.origins += 1;
        match together(&said, self.asked.of_every_crawler) {
            Access::Blocked => counts.blocked += 1,
            Access::Partial => counts.partial += 1,
            Access::Unknown => counts.unknown += 1,
            Access::Full => {}
        }
    }

    fn finish(mut self) -> Result<Blocklist, BlocklistError> {
        self.end_origin();
        let found: HashSet<&str> = self.found.keys().map(String::as_str).collect();
        let missing = self.asked.crawlers.iter().find(|asked| !found.contains(asked.to_ascii_lowercase().as_str()));
        if let Some(crawler) = missing.filter(|_| !self.counts.is_empty()) {
            let found: Vec<&str> = self.found.values().map(String::as_str).collect();
            return Err(BlocklistError::NotAsked { crawler: crawler.clone(), found: found.join(", ") });
        }
        let mut list = Blocklist { known: self.counts.len() as u64, ..Blocklist::default() };
        for (name, counts) in self.counts {
            let Counts { origins, blocked, partial, unknown } = counts;
            if blocked == origins || (self.asked.with_partial && blocked + partial > 0) {
                list.names.push((name, counts));
            } else if blocked > 0 && blocked + unknown == origins {
                list.unsettled += 1;
            }
        }
        Ok(list)
    }
}

/// What an origin says to several crawlers, as one word.
fn together(said: &[Access], of_every_crawler: bool) -> Access {
    let has = |access| said.contains(&access);
    if of_every_crawler {
        // The most open of them.
        let order = [Access::Full, Access::Unknown, Access::Partial, Access::Blocked];
        return order.into_iter().find(|access| has(*access)).unwrap_or(Access::Unknown);
    }
    let order = [Access::Blocked, Access::Partial, Access::Unknown, Access::Full];
    order.into_iter().find(|access| has(*access)).unwrap_or(Access::Unknown)
}

impl Blocklist {
    /// One name a line.
    #[must_use]
    pub fn text(&self) -> String {
        self.names.iter().flat_map(|(name, _)| [name.as_str(), "\n"]).collect()
    }

    /// What was asked, and the names with their counts.
    #[must_use]
    pub fn json(&self, asked: &Asked) -> Value {
        let name = |(name, counts): &(String, Counts)| {
            let Counts { origins, blocked, partial, unknown } = counts;
            json!({"name": name, "n_origins": origins, "n_blocked": blocked, "n_partial": partial, "n_unknown": unknown})
        };
        json!({
            "crawlers": asked.crawlers,
            "of_every_crawler": asked.of_every_crawler,
            "level": asked.level.as_str(),
            "with_partial": asked.with_partial,
            "known": self.known,
            "unsettled": self.unsettled,
            "names": self.names.iter().map(name).collect::<Vec<_>>(),
        })
    }

    /// A Parquet file with the columns `name`, `n_origins`, `n_blocked`, `n_partial`, `n_unknown`.
    ///
    /// # Errors
    /// Where it cannot be encoded.
    ///
    /// # Panics
    /// Never: the columns are of one length.
    pub fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let count = |of: fn(&Counts) -> i64| -> ArrayRef {
            Arc::new(self.names.iter().map(|(_, counts)| Some(of(counts))).collect::<Int64Array>())
        };
        let names = StringArray::from_iter_values(self.names.iter().map(|(name, _)| name));
        let columns: [(&str, ArrayRef); 5] = [
            ("name", Arc::new(names)),
            ("n_origins", count(|counts| counts.origins)),
            ("n_blocked", count(|counts| counts.blocked)),
            ("n_partial", count(|counts| counts.partial)),
            ("n_unknown", count(|counts| counts.unknown)),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let compression = Compression::ZSTD(ZstdLevel::try_new(1)?);
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        writer.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(asked: &Asked, rows: &[(&str, &str, Access)]) -> Result<Vec<String>, BlocklistError> {
        let mut names = Names { asked, counts: BTreeMap::new(), current: None, found: BTreeMap::new() };
        for (origin, crawler, access) in rows {
            names.add(AccessRow { origin: (*origin).to_owned(), crawler: (*crawler).to_owned(), access: *access });
        }
        names.finish().map(|list| list.names.into_iter().map(|(name, _)| name).collect())
    }

    const ROWS: [(&str, &str, Access); 10] = [
        ("https://a.test", "GPTBot", Access::Blocked),
        ("https://a.test", "CCBot", Access::Full),
        ("http://a.test", "GPTBot", Access::Unknown),
        ("http://a.test", "CCBot", Access::Unknown),
        ("https://www.b.test", "GPTBot", Access::Blocked),
        ("https://www.b.test", "CCBot", Access::Blocked),
        ("https://b.test:8443", "GPTBot", Access::Partial),
        ("https://b.test:8443", "CCBot", Access::Full),
        ("http://127.0.0.1", "GPTBot", Access::Blocked),
        ("http://127.0.0.1", "CCBot", Access::Blocked),
    ];

    #[test]
    fn names_at_each_level() {
        let asked = |level, with_partial| Asked {
            crawlers: vec!["gptbot".to_owned()],
            of_every_crawler: false,
            level,
            with_partial,
        };
        for (level, partial, expected) in [
            (Level::Origin, false, &["http://127.0.0.1", "https://a.test", "https://www.b.test"][..]),
            (Level::Host, false, &["127.0.0.1", "www.b.test"]),
            (Level::RegisteredDomain, false, &["127.0.0.1"]),
            (Level::Host, true, &["127.0.0.1", "a.test", "b.test", "www.b.test"]),
            (Level::RegisteredDomain, true, &["127.0.0.1", "a.test", "b.test"]),
        ] {
            assert_eq!(list(&asked(level, partial), &ROWS).unwrap(), expected, "{level:?} {partial}");
        }
    }

    #[test]
    fn any_crawler_or_every_one() {
        let crawlers = vec!["GPTBot".to_owned(), "CCBot".to_owned()];
        let asked = Asked { crawlers, of_every_crawler: true, level: Level::Origin, with_partial: false };
        assert_eq!(list(&asked, &ROWS).unwrap(), ["http://127.0.0.1", "https://www.b.test"]);
        let any = Asked { of_every_crawler: false, ..asked.clone() };
        assert_eq!(list(&any, &ROWS).unwrap(), ["http://127.0.0.1", "https://a.test", "https://www.b.test"]);
        let other = Asked { crawlers: vec!["Bingbot".to_owned()], ..asked };
        let error = list(&other, &ROWS).unwrap_err().to_string();
        assert!(error.contains("nothing of Bingbot") && error.contains("CCBot, GPTBot"), "{error}");
    }
}
