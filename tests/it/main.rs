//! Integration tests: one binary, one module a capability.
#![expect(clippy::print_stderr, reason = "a skipped test says so, and a wrong verdict is shown")]

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod corpus;
#[cfg(feature = "cli")]
mod dataset;
mod dataset_columns;
#[cfg(feature = "cli")]
mod dataset_stats;
#[cfg(feature = "cli")]
mod dataset_text;
#[cfg(feature = "cli")]
mod demo_web;
#[cfg(feature = "http")]
mod dns;
mod documents;
#[cfg(feature = "cli")]
mod duckdb;
#[cfg(feature = "cli")]
mod faults;
#[cfg(feature = "cli")]
mod fetch_cases;
#[cfg(feature = "cli")]
mod header_signals;
mod hostile;
#[cfg(feature = "cli")]
mod ingest;
mod layers;
#[cfg(feature = "cli")]
mod lint;
#[cfg(feature = "cli")]
mod live;
mod log;
mod naive;
#[cfg(feature = "cli")]
mod pages;
#[cfg(feature = "cli")]
mod preflight;
#[cfg(feature = "cli")]
mod program;
#[cfg(feature = "cli")]
mod resume;
#[cfg(feature = "cli")]
mod reuse;
mod shared;
#[cfg(feature = "cli")]
mod signals;
mod verdicts;
#[cfg(feature = "cli")]
mod warc_writer;
