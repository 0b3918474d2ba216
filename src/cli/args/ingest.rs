//! Flags of `ingest` and `report` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::OutputArgs;
use crate::report::blocklist::Level;

/// `ingest`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  robots-audit ingest 'warc:crawl/robotstxt/*.warc.gz' -o outputs/cc
  robots-audit ingest warc:a.warc.gz warc:b.warc.gz -o outputs/ab
  robots-audit ingest robots.parquet --url-column page.url --body-column content --time-column fetched -o outputs/mine
  robots-audit ingest robots.ndjson.gz -o outputs/mine
  robots-audit ingest dir:bodies -o outputs/bodies
Then: robots-audit audit --from outputs/cc -o outputs/cc-audit")]
pub(in crate::cli) struct IngestArgs {
    /// warc:FILES (a name, a pattern with * and ?, or a folder), dir:FOLDER of HOST.txt files, or WARC, Parquet or
    /// NDJSON files, told by their content
    #[arg(required = true, value_name = "SOURCE")]
    pub(in crate::cli) sources: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) columns: ColumnArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// Columns of rows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns of Parquet and NDJSON (dots for structs)")]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub(in crate::cli) struct ColumnArgs {
    /// Origin, or any URL of it [default: origin, or else url]
    #[arg(long, value_name = "COLUMN", visible_alias = "origin-column")]
    pub(in crate::cli) url_column: Option<String>,
    /// Body of the robots.txt, text or octets [default: body]
    #[arg(long, value_name = "COLUMN")]
    pub(in crate::cli) body_column: Option<String>,
    /// HTTP status; without one the body alone tells the class [default: status, where it exists]
    #[arg(long, value_name = "COLUMN")]
    pub(in crate::cli) status_column: Option<String>,
    /// When the answer came: a time, text such as 2024-05-01T10:00:00Z or 2024-05-01, or seconds, milli-, micro- or
    /// nanoseconds since 1970 [default: time, where it exists]
    #[arg(long, value_name = "COLUMN")]
    pub(in crate::cli) time_column: Option<String>,
}

/// `report`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: ReportCommand,
}

/// What to list.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ReportCommand {
    /// Names of which everything is refused to a crawler, one a line, for the URL filter of a data pipeline
    Blocklist(BlocklistArgs),
}

/// `report blocklist`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  robots-audit report blocklist --crawlers GPTBot --level registered_domain --from outputs/cc-audit > blocked.txt
  robots-audit report blocklist --crawlers @ai-training --level host --from outputs/cc-audit -o blocked.parquet")]
pub(in crate::cli) struct BlocklistArgs {
    /// Crawlers: tokens and sets; the audit has to have asked for them
    #[arg(long, value_name = "LIST")]
    pub(in crate::cli) crawlers: String,
    /// CSV file that extends the registry of crawlers
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) registry: Option<PathBuf>,
    /// What is named: origin, host or `registered_domain`
    #[arg(long, value_name = "LEVEL", default_value = "host")]
    pub(in crate::cli) level: LevelArg,
    /// Output folder of an audit or scan
    #[arg(long, value_name = "OUT")]
    pub(in crate::cli) from: PathBuf,
    /// Name also what is refused in part only
    #[arg(long)]
    pub(in crate::cli) include_partial: bool,
    /// Name only what is refused to every one of the crawlers, not to any of them
    #[arg(long)]
    pub(in crate::cli) every_crawler: bool,
    /// File to write instead of stdout; one that ends in .parquet or .json holds counts beside the names
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) output: Option<PathBuf>,
}

/// What a list names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(in crate::cli) enum LevelArg {
    /// Scheme, host and port.
    Origin,
    /// The host, for all its origins.
    Host,
    /// The registrable domain, for all hosts below it.
    RegisteredDomain,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Origin => Self::Origin,
            LevelArg::Host => Self::Host,
            LevelArg::RegisteredDomain => Self::RegisteredDomain,
        }
    }
}
