//! Live fetches: settings and lists to a fetcher and a collection.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::{Global, LiveArgs, UrlArgs};
use super::exit::Failed;
use super::show;
use crate::audit::collect::Collection;
use crate::config::Options;
use crate::source::clock::Clock;
use crate::source::history::History;
use crate::source::http::{FetchSettings, Fetcher, Network};
use crate::source::input::{InputError, OriginInputs, OriginItem, UrlInputs};
use crate::source::snapshot::Snapshot;
use crate::tables::sink;

/// Everything that a live run needs, opened before any work.
pub(super) struct Live {
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) collection: Collection,
    pub(super) urls: UrlLists,
    /// How it fetches, for the run's metadata.
    pub(super) facts: Value,
    /// Origins that the lists name at most, where that is known.
    pub(super) expected: Option<u64>,
}

impl Live {
    /// Opens the lists and makes the fetcher; the output folder is made where lists have to be copied into it.
    pub(super) fn prepare(
        global: &Global,
        options: &Options,
        (live, urls): (&LiveArgs, &UrlArgs),
        settings: FetchSettings,
        folder: &Path,
    ) -> Result<Self, Failed> {
        let lists = open_origins(live)?;
        let concurrency = concurrency(global, options);
        let facts = facts(&settings, live.limit);
        let fetcher = Fetcher::new(settings).map(Arc::new).map_err(Failed::before)?;
        sink::make_folder(folder).map_err(Failed::before)?;
        let expected = expected_origins(global, live);
        let urls = UrlLists::of(urls, &live.origins, folder)?;
        let collection = Collection {
            lists,
            urls: urls.open()?,
            limit: live.limit,
            concurrency,
            matching: options.matching().map_err(Failed::before)?,
        };
        Ok(Self { fetcher, collection, urls, facts, expected })
    }
}

/// Settings of a fetcher on the real network.
pub(super) fn settings(options: &Options) -> Result<FetchSettings, Failed> {
    Ok(FetchSettings {
        user_agent: options.user_agent().map_err(Failed::before)?,
        limits: options.limits(),
        allowed_addresses: options.allow_address.clone().unwrap_or_default(),
        network: Network::System,
        history: None,
        clock: Clock::System,
    })
}

/// The same, with what the run knows that is to be used again.
pub(super) fn settings_with_history(options: &Options) -> Result<FetchSettings, Failed> {
    let open = |folder: &PathBuf| Snapshot::open(folder).and_then(|snapshot| History::open(&snapshot));
    let history = options.reuse.as_ref().map(open).transpose().map_err(Failed::before)?;
    Ok(FetchSettings { history: history.map(Arc::new), ..settings(options)? })
}

fn facts(settings: &FetchSettings, limit: Option<u64>) -> Value {
    let limits = &settings.limits;
    json!({
        "user_agent": settings.user_agent,
        "allowed_addresses": settings.allowed_addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "limit": limit,
        "origins_known_before": settings.history.as_ref().map(|history| history.len()),
        "connect_s": limits.connect.as_secs_f64(),
        "headers_s": limits.headers.as_secs_f64(),
        "idle_s": limits.idle.as_secs_f64(),
        "attempt_s": limits.attempt.as_secs_f64(),
        "origin_s": limits.origin.as_secs_f64(),
        "body_octets": limits.body_octets,
        "redirects": limits.redirects,
    })
}

/// URL lists that can be read twice; copies of pipes go away at the end.
#[derive(Debug, Default)]
pub(super) struct UrlLists {
    pub(super) paths: Vec<String>,
    column: Option<String>,
    copies: Vec<PathBuf>,
}

impl UrlLists {
    /// Copies what can be read only once into a folder. `origins` are the other inputs of the run.
    pub(super) fn of(args: &UrlArgs, origins: &[String], spool: &Path) -> Result<Self, Failed> {
        if args.urls.iter().chain(origins).filter(|input| *input == "-").count() > 1 {
            return Err(Failed::before(InputError::StdinTwice));
        }
        let mut lists = Self::default();
        lists.column.clone_from(&args.url_column);
        lists.paths = UrlInputs::spool_pipes(&args.urls, spool).map_err(Failed::before)?;
        lists.copies = lists.paths.iter().filter(|path| !args.urls.contains(path)).map(PathBuf::from).collect();
        lists.open()?;
        Ok(lists)
    }

    /// Opens the lists, where there are any.
    pub(super) fn open(&self) -> Result<Option<UrlInputs>, Failed> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        UrlInputs::open(&self.paths, self.column.as_deref()).map(Some).map_err(Failed::before)
    }
}

impl Drop for UrlLists {
    fn drop(&mut self) {
        for copy in &self.copies {
            // Best effort: the copy is only in the way.
            let _ = std::fs::remove_file(copy);
        }
    }
}

/// Descriptors that are kept for files, name servers and the rest.
const OTHER_DESCRIPTORS: u64 = 128;
/// Descriptors that one fetch may need at a time.
const DESCRIPTORS_A_FETCH: u64 = 2;

/// Fetches under way that the limit of open files allows; it is raised where that is possible.
///
/// Beyond it connections would fail through our own fault, and that must not look like the origin's.
fn concurrency(global: &Global, options: &Options) -> NonZeroUsize {
    let asked = options.concurrency();
    let wanted = (asked.get() as u64).saturating_mul(DESCRIPTORS_A_FETCH).saturating_add(OTHER_DESCRIPTORS);
    let Ok(descriptors) = rlimit::increase_nofile_limit(wanted) else {
        return asked;
    };
    let possible = descriptors.saturating_sub(OTHER_DESCRIPTORS) / DESCRIPTORS_A_FETCH;
    let possible = usize::try_from(possible).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
    if possible < asked && !global.quiet {
        show::remark(&format!("{possible} fetches at a time: {descriptors} open files allow no more than that"));
    }
    asked.min(possible)
}

fn open_origins(live: &LiveArgs) -> Result<OriginInputs, Failed> {
    OriginInputs::open(&live.origins, live.origin_column.as_deref()).map_err(Failed::before)
}

/// How many origins the lists name at most, for the bar: a pass over what can be read twice. `None` where stdin is
/// among them, or nobody looks.
fn expected_origins(global: &Global, live: &LiveArgs) -> Option<u64> {
    if global.no_progress || global.quiet || !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        return None;
    }
    let is_file_or_name = |origin: &String| std::fs::metadata(origin).map_or(origin != "-", |meta| meta.is_file());
    if !live.origins.iter().all(is_file_or_name) {
        return None;
    }
    let lists = OriginInputs::open(&live.origins, live.origin_column.as_deref()).ok()?;
    let names_origin = |item: &Result<_, _>| matches!(item, Ok(OriginItem::Line(named)) if named.target.is_ok());
    let count = lists.filter(names_origin).count() as u64;
    Some(live.limit.map_or(count, |limit| limit.min(count)))
}
