//! What a run found, for people and for programs: one form of output a file.

pub mod blocklist;
pub mod json;
pub mod text;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::audit::ingest::IngestTotals;
use crate::audit::plan::Plan;
use crate::audit::totals::Totals;

/// What there is to report about a finished run.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The command: `scan`, `fetch`, `ingest`, `audit` or `demo`.
    pub command: &'static str,
    /// What was asked; `None` where only a snapshot was made.
    pub plan: Option<&'a Plan>,
    /// What was counted.
    pub totals: &'a Totals,
    /// Where the tables are.
    pub folder: PathBuf,
    /// When the run started, RFC 3339.
    pub started_at: String,
    /// How long it took.
    pub duration: Duration,
    /// Threads that evaluated.
    pub threads: usize,
    /// How origins were asked, where they were.
    pub fetching: Option<Value>,
    /// What was taken over from files of others, where that was done.
    pub ingest: Option<IngestTotals>,
}

impl Summary<'_> {
    /// The same, with how origins were asked.
    #[must_use]
    pub fn with_fetching(self, facts: Value) -> Self {
        Self { fetching: Some(facts), ..self }
    }

    /// Rows that earlier legs of the run had made, where it was interrupted.
    #[must_use]
    pub fn rows_from_before(&self) -> u64 {
        let told = self.fetching.as_ref().and_then(|facts| facts["rows_from_before"].as_u64());
        told.unwrap_or_default()
    }

    /// The same, with what was taken over.
    #[must_use]
    pub fn with_ingest(self, totals: IngestTotals) -> Self {
        Self { ingest: Some(totals), ..self }
    }
}
