//! Flags of the commands that work on data sets, as typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{AskArgs, Global};
use crate::cli::exit::Failed;
use crate::config::Options;
use crate::dataset::annotate::{AsOf, PREFIX, Settings, URL_COLUMN};
use crate::dataset::stats::Asked;

/// Where answers come from, and how rows are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows and snapshots")]
pub(in crate::cli) struct RowArgs {
    /// A snapshot folder (tables fetches and bodies); may be repeated: the newest capture of an origin counts
    #[arg(long, value_name = "SNAPSHOT", required = true)]
    pub(in crate::cli) from: Vec<PathBuf>,
    /// Column of the URLs, with dots for structs, objects and JSON in a text column (metadata.url)
    #[arg(long, value_name = "COLUMN", default_value = URL_COLUMN)]
    pub(in crate::cli) url_column: String,
    /// Judge by the newest capture at or before this time, or the time in this column: a timestamp, a date (its end), or
    /// CC-MAIN-YYYY-WW (the end of that week)
    #[arg(long, value_name = "TIME|COLUMN")]
    pub(in crate::cli) as_of: Option<String>,
    /// What rows without a usable URL do: keep (they get null) or fail
    #[arg(long, value_name = "HOW", default_value = "keep", hide_possible_values = true)]
    pub(in crate::cli) on_bad_url: OnBadUrl,
    /// MiB of memory for compiled bodies
    #[arg(long, value_name = "MIB", default_value = "512")]
    pub(in crate::cli) cache: NonZeroUsize,
}

/// What rows without a usable URL do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OnBadUrl {
    /// They get null, and are counted.
    Keep,
    /// They stop the work.
    Fail,
}

/// Which columns are added.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns")]
pub(in crate::cli) struct ColumnArgs {
    /// What the names of added columns begin with
    #[arg(long, value_name = "TEXT", default_value = PREFIX)]
    pub(in crate::cli) prefix: String,
    /// Whether the training verdict is told
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1,
        require_equals = true, action = clap::ArgAction::Set)]
    pub(in crate::cli) training: bool,
    /// Also the deciding rule, its line and what the decision rests on; always with one crawler
    #[arg(long)]
    pub(in crate::cli) rule: bool,
}

/// What is lost, counted.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is lost")]
pub(in crate::cli) struct StatsArgs {
    /// Write as JSON what is lost: rows, octets of text and weight, for each crawler and registered domain
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) stats: Option<PathBuf>,
    /// Column whose octets are counted [default: text, as far as there is one]
    #[arg(long, value_name = "COLUMN", requires = "stats")]
    pub(in crate::cli) text_column: Option<String>,
    /// Column of integers or floats that are added up (`token_count`)
    #[arg(long, value_name = "COLUMN", requires = "stats")]
    pub(in crate::cli) weight_column: Option<String>,
    /// Count also for each value of this column of text or integers (dump)
    #[arg(long, value_name = "COLUMN", requires = "stats")]
    pub(in crate::cli) by: Option<String>,
    /// How many registered domains are told, those that lose most rows first [default: 20]
    #[arg(long, value_name = "N", requires = "stats")]
    pub(in crate::cli) top: Option<usize>,
}

/// Where files go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct FilesArgs {
    /// Folder for the files, each under the name of its input, made where it does not exist
    #[arg(short, long, value_name = "DIR", required_unless_present = "stream")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Write over files of the output folder that other settings or other inputs gave
    #[arg(long)]
    pub(in crate::cli) overwrite: bool,
}

/// Streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum StreamFormat {
    /// Arrow IPC.
    Arrow,
}

/// `annotate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
robots-audit annotate fineweb/*.parquet --from snapshot --crawlers GPTBot,CCBot -o annotated\n  \
robots-audit annotate x.parquet --from s2023 --from s2024 --as-of dump --crawlers CCBot -o annotated\n  \
robots-audit annotate x.parquet --from snapshot --sidecar --id-column id -o decisions\n  \
producer | robots-audit annotate --stream arrow --from snapshot --crawlers GPTBot | consumer\n\n\
Files that are finished stay; the same command does what is missing.")]
pub(in crate::cli) struct AnnotateArgs {
    /// Parquet, NDJSON (.ndjson, .jsonl, .json) and CSV (.csv, .tsv) files, text also with .gz or .zst
    #[arg(required_unless_present = "stream", value_name = "IN")]
    pub(in crate::cli) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) rows: RowArgs,
    #[command(flatten)]
    pub(in crate::cli) ask: AskArgs,
    #[command(flatten)]
    pub(in crate::cli) columns: ColumnArgs,
    /// Write only the id, the URL and the added columns, for a later join; in the format of the input
    #[arg(long)]
    pub(in crate::cli) sidecar: bool,
    /// Column that tells rows apart [default: their number, from 0 on]
    #[arg(long, value_name = "COLUMN", requires = "sidecar")]
    pub(in crate::cli) id_column: Option<String>,
    /// Read Arrow IPC on stdin and write it on stdout, batch for batch
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["inputs", "output", "sidecar", "overwrite"])]
    pub(in crate::cli) stream: Option<StreamFormat>,
    #[command(flatten)]
    pub(in crate::cli) stats: StatsArgs,
    #[command(flatten)]
    pub(in crate::cli) files: FilesArgs,
}

/// Which rows are kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is kept")]
pub(in crate::cli) struct KeepArgs {
    /// Keep rows for which this holds, such as `allow(GPTBot) and not training_against`. There are allow, deny and defer of
    /// a crawler; `training_against`, `training_in_favor`, `training_none_expressed`, `training_unknown`; and, or, not, ()
    #[arg(long, value_name = "EXPR")]
    pub(in crate::cli) keep: Option<String>,
    /// Exclude rows that one of these crawlers may not fetch: tokens and sets
    #[arg(long, value_name = "LIST")]
    pub(in crate::cli) drop_denied: Option<String>,
    /// Exclude rows that must not be used for training
    #[arg(long)]
    pub(in crate::cli) drop_training_against: bool,
    /// Rows without a usable URL, or of origins that no snapshot holds: keep, drop or fail
    #[arg(long, value_name = "HOW", default_value = "drop")]
    pub(in crate::cli) missing: String,
    /// Whether a decision defer counts as allowed (keep) or denied (drop)
    #[arg(long, value_name = "HOW", default_value = "drop", hide_possible_values = true)]
    pub(in crate::cli) deferred: Deferred,
    /// Folder for the excluded rows, with the reason as a column more
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) excluded_out: Option<PathBuf>,
}

/// What a decision `defer` counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Deferred {
    /// Allowed.
    Keep,
    /// Denied.
    Drop,
}

/// `filter`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rules").args(["keep", "drop_denied", "drop_training_against"]).required(true).multiple(true))]
#[command(after_help = "Examples:\n  \
robots-audit filter fineweb/*.parquet --from snapshot --drop-denied GPTBot,CCBot -o kept --excluded-out excluded\n  \
robots-audit filter x.parquet --from snapshot --keep 'allow(CCBot) and not training_against' -o kept\n  \
robots-audit filter x.parquet --from s2023 --from s2024 --as-of dump --drop-training-against --missing keep -o kept\n\n\
Files that are finished stay; the same command does what is missing.")]
pub(in crate::cli) struct FilterArgs {
    /// Parquet, NDJSON (.ndjson, .jsonl, .json) and CSV (.csv, .tsv) files, text also with .gz or .zst
    #[arg(required = true, value_name = "IN")]
    pub(in crate::cli) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) rows: RowArgs,
    #[command(flatten)]
    pub(in crate::cli) keep: KeepArgs,
    #[command(flatten)]
    pub(in crate::cli) stats: StatsArgs,
    #[command(flatten)]
    pub(in crate::cli) ask: AskArgs,
    /// What the name of the reason column begins with
    #[arg(long, value_name = "TEXT", default_value = PREFIX)]
    pub(in crate::cli) prefix: String,
    /// Folder for the kept rows, each file under the name of its input, made where it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(in crate::cli) output: PathBuf,
    /// Write over files of the output folders that other settings or other inputs gave
    #[arg(long)]
    pub(in crate::cli) overwrite: bool,
}

impl RowArgs {
    /// What is told of each row, these columns of the answers at least.
    pub(in crate::cli) fn settings(&self, columns: Columns) -> Settings {
        Settings {
            prefix: columns.prefix,
            url_column: self.url_column.clone(),
            as_of: self.as_of.as_deref().map_or(AsOf::Newest, AsOf::of_text),
            training: columns.training,
            rules: columns.rules,
            fails_on_bad_url: self.on_bad_url == OnBadUrl::Fail,
        }
    }

    /// Octets of memory for compiled bodies.
    pub(in crate::cli) fn cache_octets(&self) -> usize {
        self.cache.get().saturating_mul(1 << 20)
    }
}

impl StatsArgs {
    /// How many registered domains are told, where nothing is said.
    const TOP: usize = 20;

    /// What is asked about losses.
    pub(in crate::cli) fn asked(&self) -> Option<Asked> {
        self.stats.as_ref().map(|_| Asked {
            text_column: self.text_column.clone(),
            weight_column: self.weight_column.clone(),
            by: self.by.clone(),
            top: self.top.unwrap_or(Self::TOP),
        })
    }
}

/// The columns that answers are told in.
pub(in crate::cli) struct Columns {
    /// What their names begin with.
    pub(in crate::cli) prefix: String,
    /// Whether the training preference is told.
    pub(in crate::cli) training: bool,
    /// Whether rules are told.
    pub(in crate::cli) rules: bool,
}

/// Flags, environment and file.
pub(in crate::cli) fn options(global: &Global, ask: &AskArgs) -> Result<Options, Failed> {
    // Nothing of it is told of rows; a setting of the file is for other commands.
    let compared = Options { compare_matching: Some(false), ..Options::default() };
    global.options(compared.or(ask.options()))
}
