//! `annotate`: decisions beside the rows of a data set.

use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::args::{AnnotateArgs, Columns, RowArgs, StatsArgs, StreamFormat, options};
use super::args::{Format, Global};
use super::exit::{Exit, Failed};
use super::show;
use crate::audit::pipeline;
use crate::audit::plan::Plan;
use crate::dataset::annotate::Annotator;
use crate::dataset::job::{Job, Task};
use crate::dataset::keep::REASONS;
use crate::dataset::shape::Shape;
use crate::dataset::snapshots::{Opening, Snapshots};
use crate::dataset::stats::Collector;
use crate::dataset::stats_report::{self, CountedFile, Report};
use crate::dataset::stream::Streamed;
use crate::dataset::tally::Tally;
use crate::dataset::{self, DatasetError};
use crate::report::text::{number, percent};
use crate::robots::decision::Decision;
use crate::signals::training::Preference;
use crate::source::snapshot::Snapshot;
use crate::tables::sink::make_folder;

/// Octets of a stream that are gathered.
const STREAM_OCTETS: usize = 1 << 20;

/// Annotates.
pub(super) fn annotate(global: &Global, args: &AnnotateArgs) -> Result<Exit, Failed> {
    let start = Instant::now();
    let options = options(global, &args.ask)?;
    let plan = Arc::new(options.plan().map_err(Failed::before)?);
    let columns = Columns {
        prefix: args.columns.prefix.clone(),
        training: args.columns.training,
        rules: args.columns.rule || plan.crawlers.len() == 1,
    };
    let folder = args.files.output.clone().unwrap_or_else(std::env::temp_dir);
    let annotator = annotator(plan, &args.rows, columns, &folder)?;
    let losses = Losses::begin("annotate", &args.stats, &annotator, &args.inputs)?;
    let annotator = annotator.with_stats(losses.as_ref().map(|losses| Arc::clone(&losses.collector)));
    if args.stream == Some(StreamFormat::Arrow) {
        return stream(global, &annotator, losses);
    }
    let shape = if args.sidecar { Shape::Sidecar { id_column: args.id_column.clone() } } else { Shape::Annotated };
    let job = Job { annotator, task: Task::Annotate(shape), output: folder, overwrites: args.files.overwrite };
    let done = run(&job, &args.inputs, options.threads(), losses)?;
    let told = Told { command: "annotate", job: &job, done: &done, elapsed_ms: start.elapsed().as_millis() };
    told.show(global)
}

/// Annotates what comes in on stdin; the counts go to stderr.
fn stream(global: &Global, annotator: &Annotator, losses: Option<Losses<'_>>) -> Result<Exit, Failed> {
    let input = BufReader::with_capacity(STREAM_OCTETS, std::io::stdin().lock());
    let output = BufWriter::with_capacity(STREAM_OCTETS, std::io::stdout().lock());
    let Streamed { tally, is_whole } = dataset::stream::annotate(annotator, input, output).map_err(stream_failed)?;
    match losses {
        Some(mut losses) if is_whole => {
            losses.rows = tally.rows;
            losses.write(annotator, false)?;
        }
        Some(losses) if !global.quiet => {
            show::remark(&format!("{} is not written: the stream was not read to its end", losses.path.display()));
        }
        Some(_) | None => {}
    }
    if !global.quiet {
        show::remark(&format!("{} rows annotated{}", number(tally.rows), without_answers(&tally)));
    }
    Ok(Exit::Done)
}

/// Opens snapshots for rows.
pub(super) fn annotator(plan: Arc<Plan>, rows: &RowArgs, columns: Columns, spool: &Path) -> Result<Annotator, Failed> {
    make_folder(spool).map_err(Failed::before)?;
    let opened = rows.from.iter().map(|folder| Snapshot::open(folder)).collect::<Result<Vec<_>, _>>();
    let opened = opened.map_err(Failed::before)?;
    let opening = Opening { spool, cache_octets: rows.cache_octets(), shows_rules: columns.rules };
    let snapshots = Snapshots::open(plan, &opened, opening).map_err(Failed::before)?;
    Ok(Annotator::new(Arc::new(snapshots), rows.settings(columns)))
}

/// The report of what is lost, while files pass.
pub(super) struct Losses<'a> {
    command: &'static str,
    path: &'a Path,
    pub(super) collector: Arc<Collector>,
    files: Vec<CountedFile>,
    rows: u64,
}

impl<'a> Losses<'a> {
    /// A report, where one is asked for.
    pub(super) fn begin(
        command: &'static str,
        args: &'a StatsArgs,
        annotator: &Annotator,
        inputs: &[PathBuf],
    ) -> Result<Option<Self>, Failed> {
        let Some((path, asked)) = args.stats.as_deref().zip(args.asked()) else { return Ok(None) };
        stats_report::prepare(path, inputs).map_err(Failed::before)?;
        let collector = Arc::new(Collector::new(asked, annotator.snapshots().plan().crawlers.len()));
        Ok(Some(Self { command, path, collector, files: Vec::new(), rows: 0 }))
    }

    fn add(&mut self, path: &Path, is_finished_before: bool, rows: u64) {
        self.files.push(CountedFile { path: path.to_owned(), is_finished_before });
        self.rows += rows;
    }

    fn write(self, annotator: &Annotator, is_filter: bool) -> Result<(), Failed> {
        let report = Report { command: self.command, is_filter, files: &self.files, rows: self.rows };
        report.write(annotator, &self.collector, self.path).map_err(Failed::running)
    }
}

/// What came of a job.
pub(super) struct Done {
    pub(super) written: usize,
    pub(super) finished_before: usize,
    pub(super) tally: Tally,
}

/// Does a job, file by file.
pub(super) fn run(
    job: &Job,
    inputs: &[PathBuf],
    threads: usize,
    mut losses: Option<Losses<'_>>,
) -> Result<Done, Failed> {
    let planned = job.plan(inputs).map_err(Failed::before)?;
    let pool = pipeline::pool(threads).map_err(Failed::running)?;
    let mut done = Done { written: 0, finished_before: 0, tally: Tally::default() };
    for file in &planned {
        if file.is_finished {
            done.finished_before += 1;
            if let Some(losses) = &mut losses {
                losses.add(&file.input, true, job.count(file, &pool).map_err(failed)?);
            }
            continue;
        }
        tracing::info!(file = %file.input.display(), "begins");
        let tally = job.run(file, &pool).map_err(failed)?;
        if let Some(losses) = &mut losses {
            losses.add(&file.input, false, tally.rows);
        }
        done.tally += &tally;
        done.written += 1;
    }
    if let Some(losses) = losses {
        losses.write(&job.annotator, matches!(job.task, Task::Filter { .. }))?;
    }
    Ok(done)
}

/// What was asked to hold of rows and did not is no failure of the machine.
fn failed(error: DatasetError) -> Failed {
    let exit = match error.itself() {
        DatasetError::BadUrl { .. } | DatasetError::BadTime { .. } | DatasetError::NotCollected { .. } => Exit::NotHeld,
        _ => Exit::Failed,
    };
    Failed { exit, error: error.into() }
}

/// What the columns of a stream lack was not to be known sooner.
fn stream_failed(error: DatasetError) -> Failed {
    match error {
        DatasetError::MissingColumn { .. }
        | DatasetError::MissingMember { .. }
        | DatasetError::ColumnType { .. }
        | DatasetError::Clash { .. }
        | DatasetError::AddedTwice { .. } => Failed::before(error),
        other => failed(other),
    }
}

/// What is told at the end.
pub(super) struct Told<'a> {
    pub(super) command: &'static str,
    pub(super) job: &'a Job,
    pub(super) done: &'a Done,
    pub(super) elapsed_ms: u128,
}

impl Told<'_> {
    /// Shows it on stdout.
    pub(super) fn show(&self, global: &Global) -> Result<Exit, Failed> {
        match global.format {
            Format::Json => show::text(&format!("{:#}\n", self.json())),
            Format::Table if global.quiet => Ok(Exit::Done),
            Format::Table => show::lines(&self.text()),
        }
    }

    fn crawlers(&self) -> impl Iterator<Item = (&str, &[u64; Decision::ALL.len()])> {
        let crawlers = self.job.annotator.snapshots().plan().crawlers.iter();
        crawlers.map(|crawler| crawler.token.as_str()).zip(&self.done.tally.decisions)
    }

    const fn is_filter(&self) -> bool {
        matches!(self.job.task, Task::Filter { .. })
    }

    /// Why rows were excluded, and how many.
    fn excluded(&self) -> impl Iterator<Item = (String, Value)> {
        let fates = REASONS.iter().zip(self.done.tally.fates).skip(1);
        fates.filter(|(_, count)| *count > 0).map(|(reason, count)| ((*reason).to_owned(), json!(count)))
    }

    fn json(&self) -> Value {
        let tally = &self.done.tally;
        let counts = self.job.annotator.snapshots().counts();
        let decisions = |counts: &[u64]| -> Value {
            Decision::ALL.iter().zip(counts).map(|(word, count)| (word.to_string(), json!(count))).collect()
        };
        let training = Preference::ALL.iter().zip(tally.training).map(|(word, count)| (word.to_string(), json!(count)));
        json!({
            "command": self.command,
            "files": self.done.written,
            "files_finished_before": self.done.finished_before,
            "rows": tally.rows,
            "null_urls": tally.null_urls,
            "invalid_urls": tally.invalid_urls,
            "not_collected": tally.not_collected,
            "null_times": tally.null_times,
            "unreadable_times": tally.unreadable_times,
            "decisions": self.crawlers().map(|(token, counts)| (token.to_owned(), decisions(counts))).collect::<Value>(),
            "training": training.collect::<Value>(),
            "kept": self.is_filter().then_some(tally.kept),
            "excluded": self.is_filter().then(|| self.excluded().collect::<Value>()),
            "snapshots": {
                "origins": counts.origins,
                "captures": counts.captures,
                "bodies": counts.bodies,
                "body_lookups": counts.lookups,
                "bodies_compiled": counts.compiled,
                "cache_hits": counts.lookups.saturating_sub(counts.compiled),
            },
            "output": self.job.output,
            "elapsed_ms": u64::try_from(self.elapsed_ms).unwrap_or(u64::MAX),
        })
    }

    fn text(&self) -> String {
        let Done { written, finished_before, tally } = self.done;
        let counts = self.job.annotator.snapshots().counts();
        let files = if *written == 1 { "file" } else { "files" };
        let mut text = format!("{} {files} written to {}", number(*written as u64), self.job.output.display());
        if *finished_before > 0 {
            text += &format!(", {} finished before", number(*finished_before as u64));
        }
        if *written == 0 {
            return text + ": nothing was left to do\n";
        }
        text += &format!("\n{} rows{}\n\n", number(tally.rows), without_answers(tally));
        let longest = self.crawlers().map(|(token, _)| token.chars().count()).max().unwrap_or(0).max("training".len());
        for (token, counts) in self.crawlers() {
            let words = Decision::ALL.iter().map(|word| word.as_str()).zip(counts.iter().copied());
            text += &format!("  {token:longest$}  {}\n", shares(words, tally.rows));
        }
        let words = Preference::ALL.iter().map(|word| word.as_str()).zip(tally.training);
        if tally.rows > 0 {
            text += &format!("  {:longest$}  {}\n", "training", shares(words, tally.rows));
        }
        if self.is_filter() {
            let fates = REASONS.iter().copied().zip(tally.fates);
            text += &format!("\n  {:longest$}  {}\n", "rows", shares(fates, tally.rows));
        }
        let hits = counts.lookups.saturating_sub(counts.compiled);
        text + &format!(
            "\n{} origins, {} captures, {} bodies; {} of look-ups found a body compiled\n",
            number(counts.origins),
            number(counts.captures),
            number(counts.bodies),
            percent(hits, counts.lookups)
        )
    }
}

/// How many rows have no answer, and why.
fn without_answers(tally: &Tally) -> String {
    let not_held = tally.not_collected.saturating_sub(tally.null_times + tally.unreadable_times);
    let counts = [
        (tally.null_urls, "without a URL"),
        (tally.invalid_urls, "with one that names no http(s) origin"),
        (tally.null_times, "without a time"),
        (tally.unreadable_times, "with a time that cannot be read"),
        (not_held, "of origins that no snapshot holds"),
    ];
    let mut text = String::new();
    for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {} {what}", number(*count));
    }
    text
}

/// Counts with their words, the absent ones left out.
fn shares<'a>(counts: impl Iterator<Item = (&'a str, u64)>, rows: u64) -> String {
    let present = counts.filter(|(_, count)| *count > 0);
    present
        .map(|(word, count)| format!("{word} {} ({})", number(count), percent(count, rows)))
        .collect::<Vec<_>>()
        .join(", ")
}
