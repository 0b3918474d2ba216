//! The pipeline within this process, for webs whose names and ports are embedded.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;

use super::ledger::Ledger;
use crate::audit::collect::parts::{PartLimits, Parts, Unfinished};
use crate::audit::collect::{Collection, collect};
use crate::robots::token::Matching;
use crate::source::http::{FetchLimits, FetchSettings, Fetcher, Network, Stop, user_agent};
use crate::source::input::{OriginInputs, SeenOrigins};
use crate::tables::sink::Footer;

/// Limits that end a load soon, and are long enough for a busy machine.
pub(super) fn short_limits() -> FetchLimits {
    FetchLimits {
        connect: Duration::from_secs(2),
        headers: Duration::from_secs(2),
        idle: Duration::from_secs(2),
        attempt: Duration::from_secs(5),
        ..FetchLimits::default()
    }
}

/// Settings on a network: no second attempt, nothing paced.
pub(super) fn settings(network: Network, allowed: &[&str]) -> anyhow::Result<FetchSettings> {
    Ok(FetchSettings {
        limits: short_limits(),
        allowed_addresses: allowed.iter().map(|range| range.parse::<IpNet>()).collect::<Result<_, _>>()?,
        retries: 0,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        ..FetchSettings::new(user_agent("robots-audit", "https://example.org/robots-audit-faults")?, network)
    })
}

/// A run within this process.
#[derive(Debug)]
pub(super) struct Ran {
    /// Where its tables are.
    pub(super) output: PathBuf,
    /// How long it took.
    pub(super) duration: Duration,
}

/// Fetches every line of a ledger into the tables of a folder.
pub(super) fn run(folder: &Path, ledger: &Ledger, settings: FetchSettings, concurrency: usize) -> anyhow::Result<Ran> {
    fs::create_dir_all(folder)?;
    let list = folder.join("origins.txt");
    fs::write(&list, ledger.text())?;
    let output = folder.join("out");
    let start = Instant::now();
    let parts = Parts::open(&output, "faults", Unfinished::Discard, PartLimits::default(), Footer::new())?;
    let collection = Collection {
        lists: OriginInputs::open(&[list.to_string_lossy().into_owned()], None)?,
        urls: None,
        exact: SeenOrigins::default(),
        limit: None,
        history: settings.history.clone(),
        concurrency: NonZeroUsize::new(concurrency).unwrap_or(NonZeroUsize::MIN),
        matching: Matching::Rfc9309,
        most_failures: None,
        stop: Stop::default(),
    };
    let collected = collect(Arc::new(Fetcher::new(settings)?), collection, parts, &mut |_| {})?;
    collected.journal.end()?;
    Ok(Ran { output, duration: start.elapsed() })
}
