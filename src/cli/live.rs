//! Live fetches: settings and lists to a fetcher and a collection.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::args::{Global, LiveArgs, RunArgs, UrlArgs};
use super::descriptors::{Fitted, fitted};
use super::exit::Failed;
use crate::audit::collect::Collection;
use crate::audit::collect::parts::{PartLimits, Parts, Unfinished};
use crate::audit::collect::survey::{Survey, survey};
use crate::audit::plan::Plan;
use crate::audit::totals::Classes;
use crate::config::Options;
use crate::source::history::History;
use crate::source::http::{FetchSettings, Fetcher, Network, Stop};
use crate::source::input::{Contents, InputError, OriginInputs, Spooled, UrlInputs};
use crate::source::snapshot::Snapshot;
use crate::tables::FORMAT_VERSION;
use crate::tables::column::hex;
use crate::tables::journal::Journaled;
use crate::tables::sink::Footer;

/// Everything that a live run needs, opened before any work.
pub(super) struct Live {
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) collection: Collection,
    pub(super) parts: Parts,
    pub(super) urls: UrlLists,
    /// How it fetches, for the run's metadata.
    pub(super) facts: Value,
    /// Rows that the lists give.
    pub(super) expected: u64,
    /// What is to be said when work begins.
    pub(super) remark: Option<String>,
    /// Lists that could be read only once.
    _spooled: Spooled,
}

/// What a live run is asked, beside its lists.
pub(super) struct Asked<'a> {
    pub(super) command: &'static str,
    pub(super) live: &'a LiveArgs,
    pub(super) urls: &'a UrlArgs,
    pub(super) plan: Option<&'a Plan>,
    pub(super) folder: &'a Path,
}

/// What there is to do.
pub(super) enum ToDo {
    /// Everything, or the rest of it.
    Run(Box<Live>),
    /// Nothing: the run was finished before, with rows of these classes.
    Nothing(Classes),
}

impl Live {
    /// Reads the lists once, makes the fetcher, and opens the output folder.
    pub(super) fn prepare(
        global: &Global,
        options: &Options,
        asked: &Asked<'_>,
        settings: FetchSettings,
        stop: Stop,
    ) -> Result<ToDo, Failed> {
        let Asked { live, folder, .. } = *asked;
        if live.origins.iter().chain(&asked.urls.urls).filter(|input| *input == "-").count() > 1 {
            return Err(Failed::before(InputError::StdinTwice));
        }
        let spooled = Spooled::of(&live.origins, folder, "origins").map_err(Failed::before)?;
        let lists = || OriginInputs::open(spooled.paths(), live.origin_column.as_deref()).map_err(Failed::before);
        let first_reading = lists()?;
        let mut urls = UrlLists::of(asked.urls, folder)?;
        let found = survey(first_reading, urls.open()?, live.limit).map_err(Failed::before)?;
        urls.contents.clone_from(&found.urls);
        let mut facts = facts(&settings, live.limit);
        let asked_sha256 = asked.digest(&found, &facts);
        facts["asked_sha256"] = asked_sha256.as_str().into();
        if live.run.resume
            && let Some(classes) = finished(folder, &asked_sha256)?
        {
            return Ok(ToDo::Nothing(classes));
        }
        let Fitted { concurrency, look_ups, remark } = fitted(options.concurrency());
        let settings = FetchSettings { look_ups, ..settings };
        add_pace(&mut facts, &settings, concurrency);
        let history = settings.history.clone();
        let fetcher = Fetcher::new(settings).map(Arc::new).map_err(Failed::before)?;
        let mut footer = Footer::new();
        footer.add("origins_sha256", found.lists.sha256.as_str());
        footer.add("fetching", facts.to_string());
        let unfinished = if live.run.restart { Unfinished::Discard } else { Unfinished::Resume };
        let parts = Parts::open(folder, &asked_sha256, unfinished, live.run.part_limits(), footer);
        let collection = Collection {
            lists: lists()?.expecting(found.lists),
            urls: urls.open()?,
            exact: found.exact,
            limit: live.limit,
            concurrency,
            matching: options.matching().map_err(Failed::before)?,
            most_failures: live.run.max_errors,
            history,
            stop,
        };
        Ok(ToDo::Run(Box::new(Self {
            fetcher,
            collection,
            parts: parts.map_err(Failed::before)?,
            urls,
            facts,
            expected: found.rows,
            remark: remark.filter(|_| !global.quiet),
            _spooled: spooled,
        })))
    }
}

impl Asked<'_> {
    /// What an unfinished run must have been asked, too.
    fn digest(&self, found: &Survey, facts: &Value) -> String {
        let asked = json!({
            "format": FORMAT_VERSION,
            "command": self.command,
            "plan": self.plan.map(Plan::to_json),
            "origins": found.lists.sha256,
            "urls": found.urls.as_ref().map(|urls| urls.sha256.as_str()),
            "fetching": facts,
        });
        hex(&Sha256::digest(asked.to_string()))
    }
}

/// The classes of the rows, where the folder holds the tables of a run that was asked the same and has ended.
fn finished(folder: &Path, asked_sha256: &str) -> Result<Option<Classes>, Failed> {
    if Journaled::read(folder).map_err(Failed::before)?.is_some() {
        return Ok(None);
    }
    let Ok(text) = std::fs::read_to_string(folder.join("run.json")) else { return Ok(None) };
    let run: Value = serde_json::from_str(&text).unwrap_or_default();
    let classes = || Classes::of_counts(|class| run["classes"][class.as_str()].as_u64().unwrap_or_default());
    Ok((run["fetching"]["asked_sha256"] == asked_sha256).then(classes))
}

impl RunArgs {
    fn part_limits(&self) -> PartLimits {
        let limits = PartLimits::default();
        PartLimits {
            rows: self.part_rows.map_or(limits.rows, NonZeroU64::get),
            age: self.part_seconds.map_or(limits.age, |seconds| {
                Duration::try_from_secs_f64(seconds.max(LEAST_PART_SECONDS)).unwrap_or(limits.age)
            }),
        }
    }
}

/// A part a row would be a file a row.
const LEAST_PART_SECONDS: f64 = 0.1;

/// Settings of a fetcher on the real network.
pub(super) fn settings(options: &Options) -> Result<FetchSettings, Failed> {
    options.fetch_settings(Network::System).map_err(Failed::before)
}

/// The same, with the memory of an earlier run where one is to be used.
pub(super) fn settings_with_history(options: &Options, output: &Path) -> Result<FetchSettings, Failed> {
    let settings = settings(options)?;
    let Some(folder) = options.reuse.as_deref() else { return Ok(settings) };
    // Its bodies are read until the end, when the output takes their place.
    let is_output =
        folder.canonicalize().is_ok_and(|folder| output.canonicalize().is_ok_and(|output| folder == output));
    if is_output {
        return Err(Failed::before(anyhow!("{} is reused and cannot be the output folder too", folder.display())));
    }
    let history = Snapshot::open(folder).and_then(|snapshot| History::open(&snapshot)).map_err(Failed::before)?;
    Ok(FetchSettings { history: Some(Arc::new(history)), ..settings })
}

/// What an answer may depend on.
fn facts(settings: &FetchSettings, limit: Option<u64>) -> Value {
    let limits = &settings.limits;
    json!({
        "user_agent": settings.user_agent,
        "allowed_addresses": settings.allowed_addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "limit": limit,
        "origins_known_before": settings.history.as_ref().map(|history| history.len()),
        "retries": settings.retries,
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

/// How fast answers are asked for; another pace may go on with an unfinished run.
fn add_pace(facts: &mut Value, settings: &FetchSettings, concurrency: NonZeroUsize) {
    facts["concurrency"] = concurrency.get().into();
    facts["per_ip_concurrency"] = settings.per_ip_concurrency.into();
    facts["per_ip_rate"] = settings.per_ip_rate.into();
    facts["look_ups"] = settings.look_ups.get().into();
}

/// URL lists that can be read as often as needed.
#[derive(Debug, Default)]
pub(super) struct UrlLists {
    spooled: Spooled,
    column: Option<String>,
    /// What they held when they were read first.
    contents: Option<Contents>,
}

impl UrlLists {
    /// Copies what can be read only once into a folder.
    pub(super) fn of(args: &UrlArgs, folder: &Path) -> Result<Self, Failed> {
        let spooled = Spooled::of(&args.urls, folder, "urls").map_err(Failed::before)?;
        Ok(Self { spooled, column: args.url_column.clone(), contents: None })
    }

    /// Opens the lists, where there are any. From the second reading on they have to be the same.
    pub(super) fn open(&self) -> Result<Option<UrlInputs>, Failed> {
        if self.spooled.paths().is_empty() {
            return Ok(None);
        }
        let urls = UrlInputs::open(self.spooled.paths(), self.column.as_deref()).map_err(Failed::before)?;
        Ok(Some(match &self.contents {
            Some(contents) => urls.expecting(contents.clone()),
            None => urls,
        }))
    }
}
