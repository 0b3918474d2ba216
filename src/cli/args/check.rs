//! Flags of `check`, of the question before a fetch, and of `lint`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{AskArgs, CompareArgs, MannersArgs};
use crate::cli::lint::FailingFinding;

/// What `check --help` ends with.
pub(in crate::cli) const CHECK_EXAMPLES: &str = "\
Examples:
  One URL, one crawler: which group, which line, and why
    robots-audit check robots.txt --url /search?q=boots --crawlers Googlebot
  The robots.txt of a live origin
    robots-audit check https://example.org/page --live --contact you@example.org --crawlers GPTBot
  Several of each: a grid, with cells such as deny:18 and allow:none
    robots-audit check robots.txt --url /a --url '/b?c=d' --crawlers Googlebot,GPTBot,'*'
  What the training token says of pages
    robots-audit check robots.txt --training --url /articles/1 --url /press/
  The rules that a crawler obeys, as one group
    robots-audit check robots.txt --crawlers Googlebot --merged
  Before one fetch: one crawler, one answer, with evidence
    robots-audit check https://example.org/page --live --as ExampleBot --contact you@example.org --exit-code
  From stdin, as JSON
    curl -s https://example.org/robots.txt | robots-audit check - --url /page --format json";

/// `check`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    /// A robots.txt file, `-` for stdin, or with --live a URL
    #[arg(value_name = "FILE|URL")]
    pub(in crate::cli) subject: String,
    /// URL to ask about: in full, as a path, or as //host/path; may be repeated [default: /, or the URL itself]
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) url: Vec<String>,
    /// Fetch the robots.txt of the URL's origin
    #[arg(long)]
    pub(in crate::cli) live: bool,
    /// End with code 2 where a URL is denied or deferred
    #[arg(long)]
    pub(in crate::cli) exit_code: bool,
    #[command(flatten)]
    pub(in crate::cli) view: ViewArgs,
    #[command(flatten)]
    pub(in crate::cli) ask: AskArgs,
    #[command(flatten)]
    pub(in crate::cli) compare: CompareArgs,
    #[command(flatten)]
    pub(in crate::cli) preflight: PreflightArgs,
    #[command(flatten)]
    pub(in crate::cli) manners: MannersArgs,
}

/// What is shown of a check.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
pub(in crate::cli) struct ViewArgs {
    /// Explain each answer in full, as is done for one URL and one crawler
    #[arg(long)]
    pub(in crate::cli) explain: bool,
    /// Print the merged group of each crawler and nothing else, ready to be copied into a file
    #[arg(long, conflicts_with_all = ["explain", "training"])]
    pub(in crate::cli) merged: bool,
    /// Ask the training token instead of crawlers: in favor, against or none expressed
    #[arg(long, conflicts_with = "explain")]
    pub(in crate::cli) training: bool,
}

/// The question before one fetch.
#[derive(Debug, Args)]
#[command(next_help_heading = "Before an agent fetches")]
pub(in crate::cli) struct PreflightArgs {
    /// Answer for the crawler with this product token, once, with evidence; takes the place of --crawlers
    #[arg(long = "as", value_name = "TOKEN", requires = "live", conflicts_with = "url")]
    pub(in crate::cli) identity: Option<String>,
    /// The same without --as: nobody is named, and the answer is `unresolved`
    #[arg(long, requires = "live", conflicts_with = "url")]
    pub(in crate::cli) preflight: bool,
    /// URL in full that a redirect of the page led to; may be repeated, in order. The strictest answer counts
    #[arg(long, value_name = "URL", requires = "live", conflicts_with = "url")]
    pub(in crate::cli) hop: Vec<String>,
    /// Where there is no robots.txt: allow as the policy has it, or defer [default: allow]
    #[arg(long, value_name = "ANSWER", requires = "live", hide_possible_values = true)]
    pub(in crate::cli) missing: Option<MissingFile>,
    /// Folder of copies, so that the next call costs no request [default: robots-audit in the user's cache folder]
    #[arg(long, value_name = "DIR", requires = "live", conflicts_with = "no_cache")]
    pub(in crate::cli) cache: Option<PathBuf>,
    /// Use no copies and keep none
    #[arg(long, requires = "live")]
    pub(in crate::cli) no_cache: bool,
}

impl PreflightArgs {
    /// Whether this is the question before a fetch.
    pub(in crate::cli) fn is_asked(&self) -> bool {
        let Self { identity, preflight, hop, missing, cache, no_cache } = self;
        identity.is_some() || *preflight || !hop.is_empty() || missing.is_some() || cache.is_some() || *no_cache
    }
}

/// What is made of a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum MissingFile {
    /// As the policy has it.
    Allow,
    /// Not now.
    Defer,
}

/// What `lint --help` shows at its end.
pub(in crate::cli) const LINT_EXAMPLES: &str = "\
Examples:
  robots-audit lint robots.txt
  robots-audit lint robots.txt --fail-on warning
  robots-audit lint bodies --format json --fail-on misspelt_field,bridged_agents
  robots-audit lint robots.txt --format sarif > lint.sarif
  curl -s https://shop.example/robots.txt | robots-audit lint -

docs/findings.md explains each code with a bad and a good example.";

/// `lint`.
#[derive(Debug, Args)]
pub(in crate::cli) struct LintArgs {
    /// A robots.txt file, a folder of .txt files, or `-` for stdin
    #[arg(value_name = "PATH")]
    pub(in crate::cli) path: String,
    /// End with code 2 where there are such findings: error, warning (errors too), info (any), or codes
    #[arg(long, value_name = "SEVERITY|CODE", value_delimiter = ',')]
    pub(in crate::cli) fail_on: Vec<FailingFinding>,
    /// CSV file that extends the registry of crawlers
    #[arg(long, value_name = "FILE", env = "ROBOTS_AUDIT_REGISTRY", hide_env_values = true)]
    pub(in crate::cli) registry: Option<PathBuf>,
}
