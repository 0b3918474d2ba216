//! The tables: Arrow schemas and column builders, one file a table, and the Parquet files they go to.
//!
//! Builders are filled by `source` and `audit`; nothing here reads a list, evaluates a rule or knows a run.

pub mod bodies;
pub mod captures;
pub mod cause;
pub mod column;
pub mod crawler_access;
pub mod crawlers;
pub mod decisions;
pub mod fetches;
pub mod findings;
pub mod journal;
pub mod matching_differences;
pub mod pages;
pub mod response_signals;
pub mod rules;
pub mod sink;
pub mod text;
pub mod training;
pub mod training_verdicts;
pub mod views;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::robots::access::names;

/// Version of the tables' format: moves when a column does.
pub const FORMAT_VERSION: &str = "2";

names! {
    /// The tables of an output folder.
    pub enum Table {
        /// One row per input origin.
        Fetches => "fetches",
        /// One row per distinct body.
        Bodies => "bodies",
        /// One row per URL and crawler.
        Decisions => "decisions",
        /// One row per origin and crawler.
        CrawlerAccess => "crawler_access",
        /// One row per origin.
        Training => "training",
        /// One row per URL.
        TrainingVerdicts => "training_verdicts",
        /// One row per rule of a distinct body.
        Rules => "rules",
        /// One row per finding of a distinct body.
        Findings => "findings",
        /// The registry as used.
        Crawlers => "crawlers",
        /// One row per URL and crawler about which the modes of matching part; only where they are compared.
        MatchingDifferences => "matching_differences",
        /// One row per origin and per damage of the files that a snapshot was taken over from; only there.
        Captures => "captures",
        /// One row per thing that the header fields of an answer say of use; only where these were seen.
        ResponseSignals => "response_signals",
    }
}

/// Columns whose values come in runs. They are written from dictionaries, since that is cheap, but they are plain text
/// to readers: only closed sets are dictionaries there.
const RUN_COLUMNS: [&str; 6] = ["url", "origin", "matched_rule", "body_sha256", "rfc9309_rule", "google_rule"];

/// The schema that readers see.
#[must_use]
pub fn stored_schema(schema: &SchemaRef) -> Schema {
    let plain = |field: &Arc<Field>| {
        if RUN_COLUMNS.contains(&field.name().as_str()) && matches!(field.data_type(), DataType::Dictionary(..)) {
            Arc::new(Field::new(field.name(), DataType::Utf8, field.is_nullable()))
        } else {
            Arc::clone(field)
        }
    };
    Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>())
}
