//! Flags of whatever is asked of files: crawlers, URLs, policies; where tables go; `audit`.

use std::path::PathBuf;

use clap::Args;

use crate::config::Options;

/// Where the tables go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct OutputArgs {
    /// Folder for the tables, made where it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(in crate::cli) output: PathBuf,
}

/// What is asked of every origin.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is asked")]
pub(in crate::cli) struct AskArgs {
    /// Crawlers: tokens and sets (@common, @ai, @ai-training, @search, @all), or a file of them [default: @common]
    #[arg(long, value_name = "LIST", env = "ROBOTS_AUDIT_CRAWLERS", hide_env_values = true)]
    pub(in crate::cli) crawlers: Option<String>,
    /// CSV file that extends the registry of crawlers
    #[arg(long, value_name = "FILE", env = "ROBOTS_AUDIT_REGISTRY", hide_env_values = true)]
    pub(in crate::cli) registry: Option<PathBuf>,
    /// What is made of missing and failed answers: rfc9309, conservative, google [default: rfc9309]
    #[arg(long, value_name = "POLICY", env = "ROBOTS_AUDIT_POLICY", hide_env_values = true)]
    pub(in crate::cli) policy: Option<String>,
    /// How files are read: rfc9309, or google as Google's parser does [default: rfc9309]
    #[arg(long, value_name = "MODE", env = "ROBOTS_AUDIT_MATCHING", hide_env_values = true)]
    pub(in crate::cli) matching: Option<String>,
    /// Take a crawler's own groups or the wildcard's, never those of its fall-back token
    #[arg(long)]
    pub(in crate::cli) exact_tokens: bool,
}

impl AskArgs {
    /// As options.
    pub(in crate::cli) fn options(&self) -> Options {
        Options {
            crawlers: self.crawlers.clone(),
            registry: self.registry.clone(),
            policy: self.policy.clone(),
            matching: self.matching.clone(),
            exact_tokens: self.exact_tokens.then_some(true),
            ..Options::default()
        }
    }
}

/// Whether both modes of matching are asked.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What is asked")]
pub(in crate::cli) struct CompareArgs {
    /// Also ask the other mode of matching, and tell where the two part and why
    #[arg(long)]
    pub(in crate::cli) compare_matching: bool,
}

impl CompareArgs {
    /// As options.
    pub(in crate::cli) fn options(&self) -> Options {
        Options { compare_matching: self.compare_matching.then_some(true), ..Options::default() }
    }
}

/// Which URLs are evaluated.
#[derive(Debug, Args)]
#[command(next_help_heading = "URLs")]
pub(in crate::cli) struct UrlArgs {
    /// URLs to evaluate: text, CSV, NDJSON or Parquet, also compressed; `-` is stdin; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) urls: Vec<String>,
    /// Column of the URLs, with dots for structs [default: url]
    #[arg(long, value_name = "COLUMN", requires = "urls")]
    pub(in crate::cli) url_column: Option<String>,
}

/// `audit`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditArgs {
    /// A snapshot folder (tables fetches and bodies), dir:FOLDER of HOST.txt files, or warc:FILES (a name, a pattern
    /// with * and ?, or a folder)
    #[arg(long, value_name = "SOURCE")]
    pub(in crate::cli) from: String,
    #[command(flatten)]
    pub(in crate::cli) urls: UrlArgs,
    #[command(flatten)]
    pub(in crate::cli) ask: AskArgs,
    #[command(flatten)]
    pub(in crate::cli) compare: CompareArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
