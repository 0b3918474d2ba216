//! Flags of `scan` and `fetch`: what is fetched, how, and how a long run begins and ends.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use ipnet::IpNet;

use super::{AskArgs, CompareArgs, OutputArgs, UrlArgs};
use crate::cli::fail_on::FailOn;
use crate::config::{LimitOptions, NameServer, Options, Seconds};

/// What is fetched, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Origins")]
pub(in crate::cli) struct LiveArgs {
    /// Lists of origins (text, CSV, NDJSON, Parquet, also compressed; `-` is stdin), or origins
    #[arg(required = true, value_name = "ORIGINS")]
    pub(in crate::cli) origins: Vec<String>,
    /// Column of the origins in CSV, NDJSON or Parquet
    #[arg(long, value_name = "COLUMN")]
    pub(in crate::cli) origin_column: Option<String>,
    /// Attempt only the first N origins
    #[arg(long, value_name = "N")]
    pub(in crate::cli) limit: Option<u64>,
    /// Output folder of an earlier run: answers younger than a day are used again, older ones confirmed
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) reuse: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) run: RunArgs,
    #[command(flatten)]
    pub(in crate::cli) manners: MannersArgs,
}

impl LiveArgs {
    /// As options.
    pub(in crate::cli) fn options(&self) -> Options {
        Options { reuse: self.reuse.clone(), ..self.manners.options() }
    }
}

/// How a live run begins and ends.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Long runs")]
pub(in crate::cli) struct RunArgs {
    /// Go on with the unfinished run in the output folder (this is the default), and do nothing where it is finished
    #[arg(long, conflicts_with = "restart")]
    pub(in crate::cli) resume: bool,
    /// Discard an unfinished run in the output folder
    #[arg(long)]
    pub(in crate::cli) restart: bool,
    /// Stop, resumable and with code 2, once more than N origins gave no answer
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_errors: Option<u64>,
    /// End with code 2 if origins have this class: CLASS, CLASS:N for more than N, CLASS:N% for a larger share
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub(in crate::cli) fail_on: Vec<FailOn>,
    /// End a part file, and with it what a crash can cost, after N rows [default: 131072]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) part_rows: Option<NonZeroU64>,
    /// End a part file after this time, in seconds [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) part_seconds: Option<f64>,
}

/// How this program presents itself and behaves.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Manners")]
pub(in crate::cli) struct MannersArgs {
    /// URL or e-mail address that site owners can turn to; required for live fetches
    #[arg(long, value_name = "URL_OR_EMAIL", env = "ROBOTS_AUDIT_CONTACT", hide_env_values = true)]
    pub(in crate::cli) contact: Option<String>,
    /// Product token of the User-Agent [default: robots-audit]
    #[arg(long, value_name = "TOKEN", env = "ROBOTS_AUDIT_PRODUCT_TOKEN", hide_env_values = true)]
    pub(in crate::cli) product_token: Option<String>,
    /// Connections at a time at most; the limit of open files may allow fewer [default: 256]
    #[arg(long, value_name = "N", env = "ROBOTS_AUDIT_CONCURRENCY", hide_env_values = true)]
    pub(in crate::cli) concurrency: Option<NonZeroUsize>,
    /// Attempts after the first, where another answer is likely soon [default: 2]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) retries: Option<u16>,
    /// Connections to one IP address at a time; 0 is no limit [default: 8]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) per_ip_concurrency: Option<usize>,
    /// New connections to one IP address in a second; 0 is no limit [default: 10]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) per_ip_rate: Option<u32>,
    /// Name server to ask instead of the system's; may be repeated
    #[arg(long, value_name = "SERVER[:PORT]")]
    pub(in crate::cli) dns: Vec<NameServer>,
    /// HTTP proxy for all connections, http://HOST:PORT; it resolves the names
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) proxy: Option<String>,
    /// Address range that may be connected to though it is not public; may be repeated
    #[arg(long, value_name = "CIDR")]
    pub(in crate::cli) allow_address: Vec<IpNet>,
    #[command(flatten)]
    pub(in crate::cli) limits: LimitArgs,
}

impl MannersArgs {
    /// As options.
    pub(in crate::cli) fn options(&self) -> Options {
        Options {
            contact: self.contact.clone(),
            product_token: self.product_token.clone(),
            concurrency: self.concurrency,
            retries: self.retries,
            per_ip_concurrency: self.per_ip_concurrency,
            per_ip_rate: self.per_ip_rate,
            dns: (!self.dns.is_empty()).then(|| self.dns.clone()),
            proxy: self.proxy.clone(),
            limits: Some(self.limits.options()),
            allow_address: (!self.allow_address.is_empty()).then(|| self.allow_address.clone()),
            ..Options::default()
        }
    }
}

/// Limits of one fetch.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(in crate::cli) struct LimitArgs {
    /// For a look-up, and again for a connection with its TLS handshake [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) connect_timeout: Option<Seconds>,
    /// From the request to the end of the header fields [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) headers_timeout: Option<Seconds>,
    /// Silence within a body [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) idle_timeout: Option<Seconds>,
    /// One attempt with its redirects; waiting for a turn is not counted [default: 20]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) attempt_timeout: Option<Seconds>,
    /// All attempts for one origin, the waits between them not counted [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) origin_timeout: Option<Seconds>,
    /// Redirects followed, 5 at least and 50 at most [default: 5]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_redirects: Option<u16>,
    /// Octets of a body that are read, 512000 at least [default: 1048576]
    #[arg(long, value_name = "OCTETS")]
    pub(in crate::cli) max_body: Option<usize>,
}

impl LimitArgs {
    /// As options.
    fn options(&self) -> LimitOptions {
        LimitOptions {
            connect_s: self.connect_timeout,
            headers_s: self.headers_timeout,
            idle_s: self.idle_timeout,
            attempt_s: self.attempt_timeout,
            origin_s: self.origin_timeout,
            body_octets: self.max_body,
            redirects: self.max_redirects,
        }
    }
}

/// `scan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ScanArgs {
    #[command(flatten)]
    pub(in crate::cli) live: LiveArgs,
    #[command(flatten)]
    pub(in crate::cli) urls: UrlArgs,
    #[command(flatten)]
    pub(in crate::cli) ask: AskArgs,
    #[command(flatten)]
    pub(in crate::cli) compare: CompareArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// `fetch`.
#[derive(Debug, Args)]
pub(in crate::cli) struct FetchArgs {
    #[command(flatten)]
    pub(in crate::cli) live: LiveArgs,
    #[command(flatten)]
    pub(in crate::cli) urls: UrlArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
