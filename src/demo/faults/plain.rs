//! M4, M5: healthy origins in great numbers, and with few descriptors.

use super::super::answer::{Answer, Response};
use super::child::{Ended, Fetch, mib};
use super::ledger::{Ledger, leftovers};
use super::street::Street;
use super::{Bench, Outcome, Scale};
use crate::report::text::number;

/// Fetches at a time in M4.
const CONCURRENCY: usize = 512;
/// Descriptors that a run may hold beside one a fetch.
const OTHER_DESCRIPTORS: u64 = 64;
/// Octets of a body.
const BODY_OCTETS: usize = 1_000;

pub(super) const NO_STREET: &str = "only Linux takes all of 127/8 for this machine";

/// A hundred thousand origins: memory stays flat, descriptors bounded, nothing is lost.
pub(super) fn many(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let street = Street::open(|address, _| kilobyte(u64::from(u32::from(address))))?;
    let ledger = Ledger::healthy(street.origins(bench.scale.of(2_000, 100_000)));
    let ended = Fetch::of(bench, &ledger, CONCURRENCY, &[])?.start()?.watch()?;
    let mut outcome = whole(&ledger, bench, &ended)?;
    if let Some(descriptors) = ended.descriptors() {
        outcome.fact(format!("descriptors {descriptors}"));
        outcome.require(descriptors <= CONCURRENCY as u64 + OTHER_DESCRIPTORS, || {
            format!("{descriptors} descriptors at {CONCURRENCY} fetches")
        });
    }
    if let (Some(second), Some(last)) = (ended.quarter_kib(1), ended.quarter_kib(3)) {
        outcome.fact(format!("memory {} MiB in the second quarter, {} MiB in the last", second / 1024, last / 1024));
        // Two thousand origins are done while the program is still warming up.
        outcome.require(bench.scale == Scale::Small || last * 10 <= second * 11, || {
            format!("memory grows from {second} KiB in the second quarter to {last} KiB in the last")
        });
    }
    Ok(outcome)
}

/// So few descriptors that the asked concurrency is not possible.
pub(super) fn few_descriptors(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let street = Street::open(|address, _| kilobyte(u64::from(u32::from(address))))?;
    let ledger = Ledger::healthy(street.origins(bench.scale.of(1_500, 20_000)));
    let fetch = Fetch::of(bench, &ledger, CONCURRENCY, &[])?.after("ulimit -n 256");
    let ended = fetch.start()?.watch()?;
    let mut outcome = whole(&ledger, bench, &ended)?;
    outcome.fact(format!("{} connections at a time", street.most_waiting()));
    Ok(outcome)
}

/// Checks the tables of a run that is to have ended well.
pub(super) fn whole(ledger: &Ledger, bench: &Bench, ended: &Ended) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    anyhow::ensure!(ended.status.success(), "the run ended with {}: {}", ended.status, ended.said);
    let output = bench.folder.join("out");
    ledger.check(&output, &mut outcome)?;
    let left = leftovers(&output);
    outcome.require(left == 0, || format!("{left} temporary files are left"));
    let milliseconds = ended.duration.as_millis().max(1);
    let rate = number(u64::try_from(ledger.len() as u128 * 1_000 / milliseconds).unwrap_or(u64::MAX));
    outcome.fact(format!("{rate} origins/s, peak memory {}", mib(ended.peak_mib())));
    Ok(outcome)
}

/// Rules of about a kilobyte, different for every seed.
pub(super) fn kilobyte(seed: u64) -> Answer {
    let mut text = format!("User-agent: *\nDisallow: /{seed:x}/\n");
    while text.len() < BODY_OCTETS {
        text += "Disallow: /one/of/many/paths/\n";
    }
    Response::text(text).into()
}
