//! Flags as typed, a file for each group of subcommands. What they mean is resolved by `config`.

mod ask;
mod check;
mod dataset;
mod ingest;
mod live;

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::exit::Failed;
use super::faults::{Faults, Only};
use crate::config::Options;

pub(super) use ask::{AskArgs, AuditArgs, CompareArgs, OutputArgs, UrlArgs};
use check::{CHECK_EXAMPLES, LINT_EXAMPLES};
pub(super) use check::{CheckArgs, LintArgs, MissingFile, PreflightArgs};
pub(super) use dataset::{
    AnnotateArgs, Columns, Deferred, FilterArgs, KeepArgs, RowArgs, StatsArgs, StreamFormat, options,
};
pub(super) use ingest::{BlocklistArgs, ColumnArgs, IngestArgs, ReportArgs, ReportCommand};
pub(super) use live::{FetchArgs, LiveArgs, MannersArgs, RunArgs, ScanArgs};

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
    /// Everything on stderr as JSON, an object a line: remarks and errors, how far the run is every ten seconds, how it ended
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
    /// Print the manual page of the program, or of a subcommand
    Man {
        /// The subcommand, such as scan or report blocklist
        #[arg(value_name = "SUBCOMMAND")]
        command: Vec<String>,
    },
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
