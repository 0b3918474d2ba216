//! A source to all tables, without the network.
//!
//! Four passes, each a stream: bodies are compiled, origins audited, URLs evaluated, and origins that only URLs named
//! get their rows. Every pass spreads its work over the pool and writes its results in order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use rayon::ThreadPool;
use sha2::{Digest, Sha256};

use super::AuditError;
use super::compile;
use super::describe::{Described, Describer};
use super::evaluate::{Added, Evaluated, Evaluator, Resolver};
use super::event::{Event, Observer, Stage};
use super::folder_rows;
use super::gather::{BodyChunks, RowPieces, UrlPieces, origins_of_a_piece, urls_of_a_row_group};
use super::library::Library;
use super::origins::{self, Origins};
use super::output::Output;
use super::pipeline::{self, ordered};
use super::plan::Plan;
use super::totals::{Imbalance, LineTotals, Totals, add_all};
use crate::origin::Origin;
use crate::source::folder::{FileRow, Folder};
use crate::source::input::{UrlBatch, UrlInputs};
use crate::source::snapshot::Snapshot;
use crate::tables::Table;
use crate::tables::column::hex;
use crate::tables::crawlers;
use crate::tables::fetches::BodyHash;
use crate::tables::sink::Footer;

/// Where bodies come from.
#[derive(Debug)]
pub enum Source {
    /// A folder of bodies.
    Folder(Arc<Folder>),
    /// The tables of an earlier run.
    Snapshot(Snapshot),
}

/// How the second pass goes.
#[derive(Debug, Clone, Copy)]
struct OriginsAsked {
    /// Whether there are decisions on `/`, since no URLs were given.
    evaluates_roots: bool,
    /// Whether the source was made by another run, which may have added rows for URLs of its own.
    has_lines_of_others: bool,
}

impl Source {
    /// Whether header fields were seen where the bodies come from.
    #[must_use]
    pub const fn has_response_signals(&self) -> bool {
        match self {
            Self::Folder(_) => false,
            Self::Snapshot(snapshot) => snapshot.has_response_signals(),
        }
    }
}

/// What a run has found, beside its tables.
#[derive(Debug)]
pub struct Report {
    /// What was counted.
    pub totals: Totals,
    /// Facts for the footers.
    pub footer: Footer,
}

/// Computes the tables of a source and writes those that `output` has open. The files are not ended yet.
///
/// `lines` is what became of the lines that the source was made from, where it was made by this run.
///
/// # Errors
/// What stops a run: see [`AuditError`].
pub fn audit(
    plan: &Arc<Plan>,
    source: &Source,
    urls: Option<UrlInputs>,
    lines: Option<LineTotals>,
    threads: usize,
    output: &mut Output,
    observer: Observer<'_>,
) -> Result<Report, AuditError> {
    let mut run = Run {
        plan: Arc::clone(plan),
        pool: pipeline::pool(threads)?,
        output,
        observer,
        totals: Totals::of_crawlers(plan.crawlers.len()),
        source_rows: 0,
    };
    run.output.write(Table::Crawlers, &crawlers::batch(plan.registry.crawlers()))?;
    run.copy_response_signals(source)?;
    let (library, rows) = run.compile(source)?;
    let evaluator = Evaluator { plan: Arc::clone(plan), library: Arc::new(library) };
    let asked = OriginsAsked { evaluates_roots: urls.is_none(), has_lines_of_others: lines.is_none() };
    let (origins, snapshot_digest) = run.audit_origins(&evaluator, source, &rows, asked)?;
    let mut footer = Footer::new();
    footer.add("plan", plan.to_json().to_string());
    footer.add("registry_sha256", plan.registry.digest());
    footer.add("snapshot_sha256", snapshot_digest);
    run.output.set_footer(&footer);
    if let Some(urls) = urls {
        let (added, urls_digest) = run.evaluate_urls(&evaluator, urls, Arc::new(origins))?;
        run.audit_added(&evaluator, &added, &rows)?;
        footer.add("urls_sha256", urls_digest);
    }
    run.settle_lines(source, lines);
    run.check().map_err(AuditError::Balance)?;
    Ok(Report { totals: run.totals, footer })
}

struct Run<'a> {
    plan: Arc<Plan>,
    pool: Arc<ThreadPool>,
    output: &'a mut Output,
    observer: Observer<'a>,
    totals: Totals,
    /// Rows of `fetches` that the source holds.
    source_rows: u64,
}

impl Run<'_> {
    /// What header fields say, as the snapshot has it: nothing else in an audit depends on it.
    fn copy_response_signals(&mut self, source: &Source) -> Result<(), AuditError> {
        let Source::Snapshot(snapshot) = source else { return Ok(()) };
        snapshot.response_signals().try_for_each(|batch| Ok(self.output.write(Table::ResponseSignals, &batch?)?))
    }

    /// First pass: each distinct body is compiled once, in the order of its first appearance.
    fn compile(&mut self, source: &Source) -> Result<(Library, Vec<FileRow>), AuditError> {
        let mut rows = Vec::new();
        let library = match source {
            Source::Folder(folder) => {
                (self.observer)(Event::Stage(Stage::Compile, Some(folder.len() as u64)));
                let files = Arc::clone(folder);
                let read = ordered(&self.pool, 0..folder.len(), move |place| files.read(place));
                let mut seen: HashSet<BodyHash> = HashSet::new();
                let bodies = read.filter_map(|file| {
                    let (row, body) = match file {
                        Ok(Ok(file)) => file,
                        Ok(Err(error)) => return Some(Err(error.into())),
                        Err(error) => return Some(Err(error)),
                    };
                    let hash = *row.hash();
                    let is_new = row.origin.is_ok() && seen.insert(hash);
                    rows.push(row);
                    is_new.then_some(Ok((hash, body)))
                });
                self.compile_bodies(bodies)?
            }
            Source::Snapshot(snapshot) => {
                (self.observer)(Event::Stage(Stage::Compile, None));
                self.compile_bodies(snapshot.bodies().map(|body| body.map_err(AuditError::from)))?
            }
        };
        self.totals.bodies = library.len() as u64;
        Ok((library, rows))
    }

    fn compile_bodies(
        &mut self,
        bodies: impl Iterator<Item = Result<(BodyHash, Vec<u8>), AuditError>>,
    ) -> Result<Library, AuditError> {
        let mut library = Library::default();
        let plan = Arc::clone(&self.plan);
        let compile = move |chunk: Result<_, AuditError>| chunk.map(|chunk| compile::chunk(&plan, chunk));
        for chunk in ordered(&self.pool, BodyChunks::new(bodies), compile) {
            let chunk = chunk??;
            self.output.write(Table::Bodies, &chunk.bodies_rows)?;
            self.output.write(Table::Rules, &chunk.rules_rows)?;
            self.output.write(Table::Findings, &chunk.findings_rows)?;
            self.totals.undetermined += chunk.undetermined;
            (self.observer)(Event::Compiled(chunk.bodies.len() as u64));
            chunk.bodies.into_iter().for_each(|(hash, body)| library.add(hash, body));
        }
        Ok(library)
    }

    /// Second pass: rows of `fetches`, `crawler_access` and `training`; decisions on `/` where no URLs were given.
    fn audit_origins(
        &mut self,
        evaluator: &Evaluator,
        source: &Source,
        rows: &[FileRow],
        OriginsAsked { evaluates_roots, has_lines_of_others }: OriginsAsked,
    ) -> Result<(Origins, String), AuditError> {
        let (batches, mut origins): (Box<dyn Iterator<Item = Result<RecordBatch, AuditError>>>, _) = match source {
            Source::Folder(_) => {
                let distinct = folder_rows::distinct(rows);
                self.totals.lines.lines = rows.len() as u64;
                self.totals.lines.duplicates = (rows.len() - distinct.len()) as u64;
                let rows = distinct.into_iter().map(FileRow::fetch_row);
                (Box::new(folder_rows::batches(rows).map(Ok)), Origins::new(true))
            }
            Source::Snapshot(snapshot) => {
                (Box::new(snapshot.fetches().map(|batch| batch.map_err(AuditError::from))), Origins::new(false))
            }
        };
        let is_snapshot = matches!(source, Source::Snapshot(_));
        let mut rows_read = 0;
        let batches = batches.inspect(|batch| rows_read += batch.as_ref().map_or(0, RecordBatch::num_rows));
        (self.observer)(Event::Stage(Stage::Origins, (!rows.is_empty()).then_some(rows.len() as u64)));
        let mut digest = Sha256::new();
        let worker = Describer { evaluator: evaluator.clone() };
        let piece_rows =
            if evaluates_roots { origins_of_a_piece(self.plan.crawlers.len()) } else { folder_rows::BATCH_ROWS };
        let mut rows_before = 0;
        let placed = RowPieces::new(batches, piece_rows).map(|batch| {
            let batch = batch?;
            rows_before += batch.num_rows();
            Ok((rows_before - batch.num_rows(), batch))
        });
        let audit = move |batch: Result<_, AuditError>| {
            let (rows_before, batch) = batch?;
            let described = if has_lines_of_others { worker.describe_lines(batch) } else { worker.describe(batch) };
            let described = described.map_err(|fault| fault.behind(rows_before))?;
            let roots = evaluates_roots.then(|| worker.roots(&described.rows)).transpose()?;
            Ok::<_, AuditError>((described, roots))
        };
        let audited = ordered(&self.pool, placed, audit);
        for batch in audited {
            let (batch, roots) = batch??;
            self.write_origins(&batch)?;
            if let Some(roots) = roots {
                self.totals.urls.lines += roots.urls;
                self.write_evaluated(roots)?;
            }
            origins::add_to_digest(&batch.fetches, &mut digest);
            for row in batch.rows {
                if let Some(origin) = row.origin {
                    origins.add(origin, row.entry);
                }
            }
        }
        if is_snapshot {
            self.source_rows = rows_read as u64;
            self.totals.lines.lines = self.source_rows - self.totals.lines.named_only;
        }
        Ok((origins, hex(&digest.finalize())))
    }

    fn write_origins(&mut self, batch: &Described) -> Result<(), AuditError> {
        self.output.write(Table::Fetches, &batch.fetches)?;
        self.output.write(Table::CrawlerAccess, &batch.access)?;
        self.output.write(Table::Training, &batch.training)?;
        self.totals.add(&batch.totals);
        (self.observer)(Event::Audited(batch.rows.len() as u64));
        Ok(())
    }

    fn write_evaluated(&mut self, evaluated: Evaluated) -> Result<(), AuditError> {
        let start = Instant::now();
        self.output.append(Table::Decisions, evaluated.decisions)?;
        self.output.append(Table::TrainingVerdicts, evaluated.training)?;
        evaluated.differences.iter().try_for_each(|rows| self.output.write(Table::MatchingDifferences, rows))?;
        let spent = &mut self.totals.spent;
        spent.writing += start.elapsed();
        spent.matching += evaluated.matching;
        spent.encoding += evaluated.encoding;
        self.totals.urls.urls += evaluated.urls;
        add_all(&mut self.totals.urls.decisions, &evaluated.counts);
        add_all(&mut self.totals.parted, &evaluated.parted);
        (self.observer)(Event::Evaluated(evaluated.urls));
        Ok(())
    }

    /// Third pass: decisions in the order of the URLs. Also the origins that only URLs named, and a digest of the URLs.
    fn evaluate_urls(
        &mut self,
        evaluator: &Evaluator,
        mut urls: UrlInputs,
        origins: Arc<Origins>,
    ) -> Result<(Vec<Added>, String), AuditError> {
        (self.observer)(Event::Stage(Stage::Urls, None));
        let start = Instant::now();
        let mut read = Duration::ZERO;
        let mut added = AddedOrigins::default();
        let evaluator = evaluator.clone();
        let evaluate = move |batch: Result<UrlBatch, AuditError>| {
            let batch = batch?;
            let mut resolver = Resolver::new(&origins);
            let evaluated = evaluator.evaluate(&batch, |url| resolver.resolve(url))?;
            Ok::<_, AuditError>((evaluated, resolver.into_added()))
        };
        let batches = std::iter::from_fn(|| {
            let start = Instant::now();
            let batch = urls.next()?.map_err(AuditError::from);
            read += start.elapsed();
            Some(batch)
        });
        let pieces = UrlPieces::new(batches, urls_of_a_row_group(self.plan.crawlers.len()));
        for batch in ordered(&self.pool, pieces, evaluate) {
            let (evaluated, new) = batch??;
            self.write_evaluated(evaluated)?;
            added.extend(new);
        }
        self.totals.spent.read += read;
        self.totals.spent.urls += start.elapsed();
        let counts = urls.counts();
        self.totals.urls.lines += counts.lines;
        self.totals.urls.blank_or_comment += counts.blank_or_comment;
        self.totals.urls.nulls += counts.nulls;
        Ok((added.list, urls.contents().sha256))
    }

    /// Fourth pass: rows of the origins that only URLs named.
    fn audit_added(&mut self, evaluator: &Evaluator, added: &[Added], files: &[FileRow]) -> Result<(), AuditError> {
        let worker = Describer { evaluator: evaluator.clone() };
        let named = |row| FileRow::origin(row).map(|origin| (origin, row));
        let files: HashMap<&Origin, &FileRow> = folder_rows::distinct(files).into_iter().filter_map(named).collect();
        for batch in folder_rows::batches(added.iter().map(|added| folder_rows::added(added, &files))) {
            let described = worker.describe(batch).map_err(|fault| AuditError::from(fault.behind(0)))?;
            self.write_origins(&described)?;
        }
        self.totals.lines.added_from_urls += added.len() as u64;
        Ok(())
    }

    /// Compares what came in, what was counted and what the tables hold.
    fn check(&self) -> Result<(), Imbalance> {
        let crawlers = self.plan.crawlers.len() as u64;
        self.totals.check(crawlers, self.output.rows(Table::Decisions))?;
        self.output.tables().try_for_each(|(table, rows)| self.totals.check_table(table, crawlers, rows))?;
        if self.output.tables().any(|(table, _)| table == Table::Fetches) {
            return Ok(());
        }
        // The rows stay where they are, so that all of them have to be there.
        self.totals.check_table(Table::Fetches, crawlers, self.source_rows)
    }

    /// What became of the lines: those of this run's own lists, or the rows of the source.
    fn settle_lines(&mut self, source: &Source, lines: Option<LineTotals>) {
        let own = self.totals.lines;
        self.totals.lines = match (lines, source) {
            (Some(lines), _) => LineTotals { rows: own.rows, ..lines },
            (None, Source::Folder(folder)) => LineTotals { skipped: folder.skipped(), ..own },
            (None, Source::Snapshot(_)) => own,
        };
    }
}

/// Origins that only URLs named, each once, in the order of their first URL.
#[derive(Default)]
struct AddedOrigins {
    list: Vec<Added>,
    seen: HashSet<Box<str>>,
}

impl AddedOrigins {
    fn extend(&mut self, added: Vec<Added>) {
        for one in added {
            if self.seen.insert(one.origin.clone()) {
                self.list.push(one);
            }
        }
    }
}
