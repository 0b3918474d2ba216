//! Flags as typed. What they mean is resolved by `config`.

use std::io::IsTerminal;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ipnet::IpNet;

use super::dataset_args::{AnnotateArgs, FilterArgs};
use super::exit::Failed;
use super::fail_on::FailOn;
use super::faults::{Faults, Only};
use super::ingest_args::{IngestArgs, ReportArgs};
use super::lint::FailingFinding;
use crate::config::{LimitOptions, NameServer, Options, Seconds};

/// Audit the robots.txt of very many origins
///
/// For every crawler and every URL: may it be fetched, by which line, under which policy, and may it be used to train
/// models? The answers are Parquet files.
#[derive(Debug, Parser)]
#[command(name = "robots-audit", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done; 1 failure while running; 2 a check asked for did not hold; \
3 usage, settings, unreadable input or output that cannot be written; 130 interrupted, the same command goes on")]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Flags of every subcommand.
#[derive(Debug, Args)]
#[command(next_help_heading = "General")]
pub(super) struct Global {
    /// TOML file with settings; flags go over it
    #[arg(short, long, global = true, value_name = "FILE", env = "ROBOTS_AUDIT_CONFIG", hide_env_values = true)]
    pub(super) config: Option<PathBuf>,
    /// Threads that evaluate [default: one a core]
    #[arg(long, global = true, value_name = "N", env = "ROBOTS_AUDIT_THREADS", hide_env_values = true)]
    pub(super) threads: Option<NonZeroUsize>,
    /// Form of what goes to stdout: table or json; of lint also sarif or junit
    #[arg(
        id = "format",
        long = "format",
        global = true,
        value_name = "FORMAT",
        default_value = "table",
        hide_possible_values = true
    )]
    pub(super) output: OutputFormat,
    /// The same where only table and json are known; see [`Cli::settle`].
    #[arg(skip)]
    pub(super) format: Format,
    /// No progress bar (there is none either where stderr is no terminal)
    #[arg(long, global = true)]
    pub(super) no_progress: bool,
    /// Nothing but errors and results
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// More about what happens; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
    /// The log on stderr as JSON, a line an event, with how far the run is every ten seconds
    #[arg(long, global = true)]
    pub(super) log_json: bool,
    /// Colours: auto, always or never (`NO_COLOR` is heeded)
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub(super) color: Color,
}

/// Forms of output, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// Static Analysis Results Interchange Format 2.1.0.
    Sarif,
    /// Test results as XML.
    Junit,
}

/// Forms of output of every subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether what goes to this stream is coloured.
    pub(super) fn is_wanted(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Fetch the robots.txt of every origin, then audit: the main job
    Scan(ScanArgs),
    /// Fetch only: the network to a snapshot (tables fetches and bodies)
    Fetch(FetchArgs),
    /// Make a snapshot of what others captured: WARC files, rows, a folder
    Ingest(IngestArgs),
    /// Compute all tables from a snapshot, a folder or WARC files, without the network
    Audit(AuditArgs),
    /// Lists made from the tables of an audit
    Report(ReportArgs),
    /// Add decisions to the rows of Parquet files with a URL column, without the network
    Annotate(AnnotateArgs),
    /// Keep the rows of Parquet files that robots.txt lets you use, without the network
    Filter(FilterArgs),
    /// Say what one robots.txt says about some URLs, and why
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Say what is odd in a robots.txt, or in a folder of them, and what to do about it
    #[command(after_help = LINT_EXAMPLES)]
    Lint(LintArgs),
    /// Look into the registry of crawlers
    Crawlers(CrawlersArgs),
    /// Run the whole pipeline against a small web of generated origins on loopback
    Demo(DemoArgs),
    /// Print a completion script
    Completions {
        /// For this shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Where the tables go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Folder for the tables, made where it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: PathBuf,
}

/// What is asked of every origin.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is asked")]
pub(super) struct AskArgs {
    /// Crawlers: tokens and sets (@common, @ai, @ai-training, @search, @all), or a file of them [default: @common]
    #[arg(long, value_name = "LIST", env = "ROBOTS_AUDIT_CRAWLERS", hide_env_values = true)]
    pub(super) crawlers: Option<String>,
    /// CSV file that extends the registry of crawlers
    #[arg(long, value_name = "FILE", env = "ROBOTS_AUDIT_REGISTRY", hide_env_values = true)]
    pub(super) registry: Option<PathBuf>,
    /// What is made of missing and failed answers: rfc9309, conservative, google [default: rfc9309]
    #[arg(long, value_name = "POLICY", env = "ROBOTS_AUDIT_POLICY", hide_env_values = true)]
    pub(super) policy: Option<String>,
    /// How files are read: rfc9309, or google as Google's parser does [default: rfc9309]
    #[arg(long, value_name = "MODE", env = "ROBOTS_AUDIT_MATCHING", hide_env_values = true)]
    pub(super) matching: Option<String>,
    /// Also ask the other mode of matching, and tell where the two part and why
    #[arg(long)]
    pub(super) compare_matching: bool,
    /// Take a crawler's own groups or the wildcard's, never those of its fall-back token
    #[arg(long)]
    pub(super) exact_tokens: bool,
}

/// Which URLs are evaluated.
#[derive(Debug, Args)]
#[command(next_help_heading = "URLs")]
pub(super) struct UrlArgs {
    /// URLs to evaluate: text, CSV, NDJSON or Parquet, also compressed; `-` is stdin; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) urls: Vec<String>,
    /// Column of the URLs, with dots for structs [default: url]
    #[arg(long, value_name = "COLUMN", requires = "urls")]
    pub(super) url_column: Option<String>,
}

/// What is fetched, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Origins")]
pub(super) struct LiveArgs {
    /// Lists of origins (text, CSV, NDJSON, Parquet, also compressed; `-` is stdin), or origins
    #[arg(required = true, value_name = "ORIGINS")]
    pub(super) origins: Vec<String>,
    /// Column of the origins in CSV, NDJSON or Parquet
    #[arg(long, value_name = "COLUMN")]
    pub(super) origin_column: Option<String>,
    /// Attempt only the first N origins
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<u64>,
    /// Output folder of an earlier run: answers younger than a day are used again, older ones confirmed
    #[arg(long, value_name = "DIR")]
    pub(super) reuse: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) manners: MannersArgs,
}

/// How a live run begins and ends.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Long runs")]
pub(super) struct RunArgs {
    /// Go on with the unfinished run in the output folder (this is the default), and do nothing where it is finished
    #[arg(long, conflicts_with = "restart")]
    pub(super) resume: bool,
    /// Discard an unfinished run in the output folder
    #[arg(long)]
    pub(super) restart: bool,
    /// Stop, resumable and with code 2, once more than N origins gave no answer
    #[arg(long, value_name = "N")]
    pub(super) max_errors: Option<u64>,
    /// End with code 2 if origins have this class: CLASS, CLASS:N for more than N, CLASS:N% for a larger share
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub(super) fail_on: Vec<FailOn>,
    /// End a part file, and with it what a crash can cost, after N rows [default: 131072]
    #[arg(long, value_name = "N")]
    pub(super) part_rows: Option<NonZeroU64>,
    /// End a part file after this time, in seconds [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(super) part_seconds: Option<f64>,
}

/// How this program presents itself and behaves.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Manners")]
pub(super) struct MannersArgs {
    /// URL or e-mail address that site owners can turn to; required for live fetches
    #[arg(long, value_name = "URL_OR_EMAIL", env = "ROBOTS_AUDIT_CONTACT", hide_env_values = true)]
    pub(super) contact: Option<String>,
    /// Product token of the User-Agent [default: robots-audit]
    #[arg(long, value_name = "TOKEN", env = "ROBOTS_AUDIT_PRODUCT_TOKEN", hide_env_values = true)]
    pub(super) product_token: Option<String>,
    /// Connections at a time at most; the limit of open files may allow fewer [default: 256]
    #[arg(long, value_name = "N", env = "ROBOTS_AUDIT_CONCURRENCY", hide_env_values = true)]
    pub(super) concurrency: Option<NonZeroUsize>,
    /// Attempts after the first, where another answer is likely soon [default: 2]
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u16>,
    /// Connections to one IP address at a time; 0 is no limit [default: 8]
    #[arg(long, value_name = "N")]
    pub(super) per_ip_concurrency: Option<usize>,
    /// New connections to one IP address in a second; 0 is no limit [default: 10]
    #[arg(long, value_name = "N")]
    pub(super) per_ip_rate: Option<u32>,
    /// Name server to ask instead of the system's; may be repeated
    #[arg(long, value_name = "SERVER[:PORT]")]
    pub(super) dns: Vec<NameServer>,
    /// HTTP proxy for all connections, http://HOST:PORT; it resolves the names
    #[arg(long, value_name = "URL")]
    pub(super) proxy: Option<String>,
    /// Address range that may be connected to though it is not public; may be repeated
    #[arg(long, value_name = "CIDR")]
    pub(super) allow_address: Vec<IpNet>,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

/// Limits of one fetch.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// For a look-up, and again for a connection with its TLS handshake [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(super) connect_timeout: Option<Seconds>,
    /// From the request to the end of the header fields [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(super) headers_timeout: Option<Seconds>,
    /// Silence within a body [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub(super) idle_timeout: Option<Seconds>,
    /// One attempt with its redirects; waiting for a turn is not counted [default: 20]
    #[arg(long, value_name = "SECONDS")]
    pub(super) attempt_timeout: Option<Seconds>,
    /// All attempts for one origin, the waits between them not counted [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(super) origin_timeout: Option<Seconds>,
    /// Redirects followed, 5 at least [default: 5]
    #[arg(long, value_name = "N")]
    pub(super) max_redirects: Option<u16>,
    /// Octets of a body that are read, 512000 at least [default: 1048576]
    #[arg(long, value_name = "OCTETS")]
    pub(super) max_body: Option<usize>,
}

/// The question before one fetch.
#[derive(Debug, Args)]
#[command(next_help_heading = "Before an agent fetches")]
pub(super) struct PreflightArgs {
    /// Answer for the crawler with this product token, once, with evidence; takes the place of --crawlers
    #[arg(long = "as", value_name = "TOKEN", requires = "live", conflicts_with = "url")]
    pub(super) identity: Option<String>,
    /// The same without --as: nobody is named, and the answer is `unresolved`
    #[arg(long, requires = "live", conflicts_with = "url")]
    pub(super) preflight: bool,
    /// URL in full that a redirect of the page led to; may be repeated, in order. The strictest answer counts
    #[arg(long, value_name = "URL", requires = "live", conflicts_with = "url")]
    pub(super) hop: Vec<String>,
    /// Where there is no robots.txt: allow as the policy has it, or defer [default: allow]
    #[arg(long, value_name = "ANSWER", requires = "live", hide_possible_values = true)]
    pub(super) missing: Option<MissingFile>,
    /// Folder of copies, so that the next call costs no request [default: robots-audit in the user's cache folder]
    #[arg(long, value_name = "DIR", requires = "live", conflicts_with = "no_cache")]
    pub(super) cache: Option<PathBuf>,
    /// Use no copies and keep none
    #[arg(long, requires = "live")]
    pub(super) no_cache: bool,
}

/// What is made of a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MissingFile {
    /// As the policy has it.
    Allow,
    /// Not now.
    Defer,
}

impl PreflightArgs {
    /// Whether this is the question before a fetch.
    pub(super) fn is_asked(&self) -> bool {
        let Self { identity, preflight, hop, missing, cache, no_cache } = self;
        identity.is_some() || *preflight || !hop.is_empty() || missing.is_some() || cache.is_some() || *no_cache
    }
}

/// `scan`.
#[derive(Debug, Args)]
pub(super) struct ScanArgs {
    #[command(flatten)]
    pub(super) live: LiveArgs,
    #[command(flatten)]
    pub(super) urls: UrlArgs,
    #[command(flatten)]
    pub(super) ask: AskArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `fetch`.
#[derive(Debug, Args)]
pub(super) struct FetchArgs {
    #[command(flatten)]
    pub(super) live: LiveArgs,
    #[command(flatten)]
    pub(super) urls: UrlArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `audit`.
#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// A snapshot folder (tables fetches and bodies), dir:FOLDER of HOST.txt files, or warc:FILES (a name, a pattern
    /// with * and ?, or a folder)
    #[arg(long, value_name = "SOURCE")]
    pub(super) from: String,
    #[command(flatten)]
    pub(super) urls: UrlArgs,
    #[command(flatten)]
    pub(super) ask: AskArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// A robots.txt file, `-` for stdin, or with --live a URL
    #[arg(value_name = "FILE|URL")]
    pub(super) subject: String,
    /// URL to ask about: in full, as a path, or as //host/path; may be repeated [default: /, or the URL itself]
    #[arg(long, value_name = "URL")]
    pub(super) url: Vec<String>,
    /// Fetch the robots.txt of the URL's origin
    #[arg(long)]
    pub(super) live: bool,
    /// End with code 2 where a URL is denied or deferred
    #[arg(long)]
    pub(super) exit_code: bool,
    #[command(flatten)]
    pub(super) view: ViewArgs,
    #[command(flatten)]
    pub(super) ask: AskArgs,
    #[command(flatten)]
    pub(super) preflight: PreflightArgs,
    #[command(flatten)]
    pub(super) manners: MannersArgs,
}

/// What is shown of a check.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
pub(super) struct ViewArgs {
    /// Explain each answer in full, as is done for one URL and one crawler
    #[arg(long)]
    pub(super) explain: bool,
    /// Print the merged group of each crawler and nothing else, ready to be copied into a file
    #[arg(long, conflicts_with_all = ["explain", "training"])]
    pub(super) merged: bool,
    /// Ask the training token instead of crawlers: in favor, against or none expressed
    #[arg(long, conflicts_with = "explain")]
    pub(super) training: bool,
}

/// What `check --help` ends with.
const CHECK_EXAMPLES: &str = "\
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

/// What `lint --help` shows at its end.
const LINT_EXAMPLES: &str = "\
Examples:
  robots-audit lint robots.txt
  robots-audit lint robots.txt --fail-on warning
  robots-audit lint bodies --format json --fail-on misspelt_field,bridged_agents
  robots-audit lint robots.txt --format sarif > lint.sarif
  curl -s https://shop.example/robots.txt | robots-audit lint -

docs/findings.md explains each code with a bad and a good example.";

/// `lint`.
#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// A robots.txt file, a folder of .txt files, or `-` for stdin
    #[arg(value_name = "PATH")]
    pub(super) path: String,
    /// End with code 2 where there are such findings: error, warning (errors too), info (any), or codes
    #[arg(long, value_name = "SEVERITY|CODE", value_delimiter = ',')]
    pub(super) fail_on: Vec<FailingFinding>,
    /// CSV file that extends the registry of crawlers
    #[arg(long, value_name = "FILE", env = "ROBOTS_AUDIT_REGISTRY", hide_env_values = true)]
    pub(super) registry: Option<PathBuf>,
}

/// `crawlers`.
#[derive(Debug, Args)]
pub(super) struct CrawlersArgs {
    #[command(subcommand)]
    pub(super) command: CrawlersCommand,
}

/// What to look up in the registry.
#[derive(Debug, Subcommand)]
pub(super) enum CrawlersCommand {
    /// The crawlers of a set, or all
    List {
        /// @common, @ai, @ai-training, @search or @all
        #[arg(default_value = "@all")]
        set: String,
        /// CSV file that extends the registry
        #[arg(long, value_name = "FILE")]
        registry: Option<PathBuf>,
    },
    /// What is known of one crawler
    Show {
        /// Its product token
        token: String,
        /// CSV file that extends the registry
        #[arg(long, value_name = "FILE")]
        registry: Option<PathBuf>,
    },
}

/// `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Origins of the generated web
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(super) origins: usize,
    /// Another web for another number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Play the loads of the fault matrix instead: small or full
    #[arg(long, value_name = "SIZE", hide_possible_values = true)]
    pub(super) faults: Option<Faults>,
    /// Only these loads, such as M4,M6
    #[arg(long, value_name = "LOAD", value_delimiter = ',', requires = "faults")]
    pub(super) only: Vec<Only>,
    /// Folder for the tables
    #[arg(short, long, value_name = "DIR", default_value = "outputs/demo")]
    pub(super) output: PathBuf,
}

impl Cli {
    /// Settles the form of the output; what to say where the subcommand does not know it.
    pub(super) fn settle(&mut self) -> Result<(), &'static str> {
        self.global.format = match (self.global.output, &self.command) {
            (OutputFormat::Table, _) => Format::Table,
            (OutputFormat::Json, _) => Format::Json,
            (OutputFormat::Sarif | OutputFormat::Junit, Command::Lint(_)) => return Ok(()),
            (OutputFormat::Sarif | OutputFormat::Junit, _) => return Err("only lint writes sarif and junit"),
        };
        Ok(())
    }
}

impl Global {
    /// These flags, over those of a subcommand, over the file.
    pub(super) fn options(&self, flags: Options) -> Result<Options, Failed> {
        let own = Options { threads: self.threads, ..Options::default() };
        let file = self.config.as_deref().map(Options::read).transpose().map_err(Failed::before)?;
        Ok(own.or(flags).or(file.unwrap_or_default()))
    }
}

impl AskArgs {
    /// As options.
    pub(super) fn options(&self) -> Options {
        Options {
            crawlers: self.crawlers.clone(),
            registry: self.registry.clone(),
            policy: self.policy.clone(),
            matching: self.matching.clone(),
            compare_matching: self.compare_matching.then_some(true),
            exact_tokens: self.exact_tokens.then_some(true),
            ..Options::default()
        }
    }
}

impl LiveArgs {
    /// As options.
    pub(super) fn options(&self) -> Options {
        Options { reuse: self.reuse.clone(), ..self.manners.options() }
    }
}

impl MannersArgs {
    /// As options.
    pub(super) fn options(&self) -> Options {
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
