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
use crate::source::http::{FetchSettings, Fetcher, LOOK_UPS, Network};
use crate::source::input::{InputError, OriginInputs, OriginItem, UrlInputs};
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
        let (concurrency, look_ups) = fitted(global, options.concurrency());
        let settings = FetchSettings { look_ups, ..settings };
        let facts = facts(&settings, (live.limit, concurrency));
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
    options.fetch_settings(Network::System).map_err(Failed::before)
}

fn facts(settings: &FetchSettings, (limit, concurrency): (Option<u64>, NonZeroUsize)) -> Value {
    let limits = &settings.limits;
    json!({
        "user_agent": settings.user_agent,
        "allowed_addresses": settings.allowed_addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "limit": limit,
        "concurrency": concurrency.get(),
        "retries": settings.retries,
        "per_ip_concurrency": settings.per_ip_concurrency,
        "per_ip_rate": settings.per_ip_rate,
        "look_ups": settings.look_ups.get(),
        "dns": settings.dns_servers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "proxy": settings.proxy.as_ref().map(ToString::to_string),
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
/// Those of them that look-ups of names do not take.
const FILE_DESCRIPTORS: u64 = 64;
/// Descriptors that one fetch may need at a time.
const DESCRIPTORS_A_FETCH: u64 = 2;
/// Descriptors that one look-up may need at a time: both families, two name servers.
const DESCRIPTORS_A_LOOK_UP: u64 = 4;

/// Connections and look-ups at a time that the limit of open files allows; it is raised where that is possible.
///
/// Beyond it connections would fail through our own fault, and that must not look like the origin's.
fn fitted(global: &Global, asked: NonZeroUsize) -> (NonZeroUsize, NonZeroUsize) {
    let wanted = OTHER_DESCRIPTORS
        .saturating_add(DESCRIPTORS_A_FETCH.saturating_mul(asked.get() as u64))
        .saturating_add(DESCRIPTORS_A_LOOK_UP * LOOK_UPS.get() as u64);
    let Ok(descriptors) = rlimit::increase_nofile_limit(wanted) else {
        return (asked, LOOK_UPS);
    };
    let (concurrency, look_ups) = within(descriptors, asked);
    if !global.quiet {
        let at_a_time = format!("{concurrency} connections at a time");
        if concurrency < asked {
            show::remark(&format!("{at_a_time}: {descriptors} open files allow no more than that"));
        } else {
            show::remark(&at_a_time);
        }
    }
    (concurrency, look_ups)
}

/// Connections and look-ups at a time with so many descriptors.
fn within(descriptors: u64, asked: NonZeroUsize) -> (NonZeroUsize, NonZeroUsize) {
    let at_least_one = |count: u64| {
        usize::try_from(count)
            .ok()
            .map_or(NonZeroUsize::MAX, |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN))
    };
    let concurrency = asked.min(at_least_one(descriptors.saturating_sub(OTHER_DESCRIPTORS) / DESCRIPTORS_A_FETCH));
    let left = descriptors.saturating_sub(FILE_DESCRIPTORS).saturating_sub(concurrency.get() as u64);
    (concurrency, LOOK_UPS.min(at_least_one(left / DESCRIPTORS_A_LOOK_UP)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_look_ups_fit_the_open_files() {
        let within = |descriptors, asked| {
            let (concurrency, look_ups) = within(descriptors, NonZeroUsize::new(asked).expect("not zero"));
            (concurrency.get(), look_ups.get())
        };
        assert_eq!(within(256, 1024), (64, 32));
        assert_eq!(within(1024, 256), (256, 176));
        assert_eq!(within(1024, 4096), (448, 128));
        assert_eq!(within(u64::MAX, 256), (256, 512));
        assert_eq!(within(0, 256), (1, 1));
    }
}
