//! Live fetches: settings and lists to a fetcher and a collection.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::{Global, LiveArgs, UrlArgs};
use super::exit::Failed;
use crate::audit::collect::Collection;
use crate::config::Options;
use crate::source::http::{FetchSettings, Fetcher, Network};
use crate::source::input::{OriginInputs, OriginItem, UrlInputs};

/// A fetcher under these options.
pub(super) fn fetcher(options: &Options, network: Network) -> Result<Arc<Fetcher>, Failed> {
    let settings = FetchSettings {
        user_agent: options.user_agent().map_err(Failed::before)?,
        limits: options.limits(),
        allowed_addresses: options.allow_address.clone().unwrap_or_default(),
        network,
    };
    Fetcher::new(settings).map(Arc::new).map_err(Failed::before)
}

/// URL lists that can be read twice; copies of pipes go away at the end.
#[derive(Debug, Default)]
pub(super) struct UrlLists {
    pub(super) paths: Vec<String>,
    column: Option<String>,
    copies: Vec<PathBuf>,
}

impl UrlLists {
    /// Copies what can be read only once into a folder.
    pub(super) fn of(args: &UrlArgs, spool: &std::path::Path) -> Result<Self, Failed> {
        let paths = UrlInputs::spool_pipes(&args.urls, spool).map_err(Failed::before)?;
        let copies = paths.iter().filter(|path| !args.urls.contains(path)).map(PathBuf::from).collect();
        let lists = Self { paths, column: args.url_column.clone(), copies };
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

/// What to fetch.
pub(super) fn collection(options: &Options, live: &LiveArgs, urls: &UrlLists) -> Result<Collection, Failed> {
    Ok(Collection {
        lists: open_origins(live)?,
        urls: urls.open()?,
        limit: live.limit,
        concurrency: options.concurrency(),
        matching: options.matching().map_err(Failed::before)?,
    })
}

fn open_origins(live: &LiveArgs) -> Result<OriginInputs, Failed> {
    OriginInputs::open(&live.origins, live.origin_column.as_deref()).map_err(Failed::before)
}

/// How many origins the lists name at most, for the bar: a pass over what can be read twice. `None` where stdin is
/// among them, or nobody looks.
pub(super) fn expected_origins(global: &Global, live: &LiveArgs) -> Option<u64> {
    if global.no_progress || global.quiet || !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        return None;
    }
    let is_file_or_name = |origin: &String| std::fs::metadata(origin).map_or(origin != "-", |meta| meta.is_file());
    if !live.origins.iter().all(is_file_or_name) {
        return None;
    }
    let lists = OriginInputs::open(&live.origins, live.origin_column.as_deref()).ok()?;
    let lines = lists.filter(|item| matches!(item, Ok(OriginItem::Line(line)) if line.target.is_ok())).count() as u64;
    Some(live.limit.map_or(lines, |limit| limit.min(lines)))
}
