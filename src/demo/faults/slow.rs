//! M2, M3: bodies that never end, slow ones and fast ones.

use std::time::Duration;

use super::super::answer::{Answer, Framing, Pace, Response};
use super::child::{Fetch, mib};
use super::ledger::{Expected, Ledger};
use super::mixed::Bodies;
use super::plain::{NO_STREET, whole};
use super::street::Street;
use super::{Bench, Outcome};
use crate::robots::access::{FetchClass, Flag, Reason};

/// Fetches at a time in M2.
const MANY: usize = 1024;
/// Fetches at a time in M3.
const SOME: usize = 256;
/// Peak of memory in M3, in MiB.
const MOST_MIB: u64 = 300;
/// What drips may add to the memory of a run, in MiB.
const MOST_MORE_MIB: u64 = 64;

/// Every origin sends an octet per 200 ms, for ever.
pub(super) fn drips(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let bodies = Bodies::new();
    let baseline = baseline_mib(bench)?;
    let drip = Response::text("")
        .body(bodies.endless)
        .framing(Framing::Close)
        .pace(Pace { headers: Duration::ZERO, chunks: Some((1, Duration::from_millis(200))) });
    let street = Street::open(move |_, _| drip.clone().into())?;
    let mut ledger = Ledger::default();
    let expected = Expected::fault(FetchClass::Timeout).with_reason(Reason::Total);
    street.origins(bench.scale.of(300, 5_000)).for_each(|line| ledger.expect(line, expected));
    let ended = Fetch::of(bench, &ledger, MANY, &["--attempt-timeout", "3"])?.start()?.watch()?;
    let mut outcome = whole(&ledger, bench, &ended)?;
    outcome.fact(format!("baseline {}", mib(baseline)));
    if let (Some(baseline), Some(peak)) = (baseline, ended.peak_mib()) {
        outcome.require(peak <= baseline + MOST_MORE_MIB, || {
            format!("{peak} MiB at the peak, {baseline} MiB without drips")
        });
    }
    Ok(outcome)
}

/// Peak memory of a run over healthy origins at the same concurrency.
fn baseline_mib(bench: &Bench) -> anyhow::Result<Option<u64>> {
    let street = Street::open(|address, _| super::plain::kilobyte(u64::from(u32::from(address))))?;
    let ledger = Ledger::healthy(street.origins(bench.scale.of(300, 5_000)));
    let bench = Bench { folder: bench.folder.join("baseline"), ..bench.clone() };
    std::fs::create_dir_all(&bench.folder)?;
    Ok(Fetch::of(&bench, &ledger, MANY, &[])?.start()?.watch()?.peak_mib())
}

/// Half endless and fast, half 64 MiB in a small gzip stream.
pub(super) fn endless(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let Bodies { endless, bomb, .. } = Bodies::new();
    let fast = Response::text("").body(endless).framing(Framing::Close);
    let bomb = Response::text("").header("Content-Encoding", "gzip").body(bomb);
    let street = Street::open(move |address, _| -> Answer {
        if address.octets()[3] % 2 == 0 { fast.clone().into() } else { bomb.clone().into() }
    })?;
    let mut ledger = Ledger::default();
    let expected = Expected::fault(FetchClass::Ok).with_flag(Flag::Truncated);
    street.origins(bench.scale.of(100, 1_000)).for_each(|line| ledger.expect(line, expected));
    let ended = Fetch::of(bench, &ledger, SOME, &[])?.start()?.watch()?;
    let mut outcome = whole(&ledger, bench, &ended)?;
    if let Some(peak) = ended.peak_mib() {
        outcome.require(peak <= MOST_MIB, || format!("{peak} MiB at the peak, more than {MOST_MIB}"));
    }
    Ok(outcome)
}
