//! M6, M7, M8: runs that end before their end, and go on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::super::answer::Response;
use super::super::seeded::Seeded;
use super::child::Fetch;
use super::ledger::{Ledger, open_visible};
use super::plain::{NO_STREET, whole};
use super::street::Street;
use super::{Bench, Outcome};

const CONCURRENCY: usize = 64;
/// How long an answer takes: so long that a run does not end before it is ended.
const ANSWER: Duration = Duration::from_millis(100);
/// Small parts, so that a crash costs little.
const SMALL_PARTS: [&str; 4] = ["--part-rows", "100", "--part-seconds", "0.3"];
/// How long a run that was asked to stop may take.
const LONGEST_STOP: Duration = Duration::from_secs(12);

fn slow_street() -> anyhow::Result<Street> {
    let rules = |address| Response::text(format!("User-agent: *\nDisallow: /{address}\n")).into();
    Ok(Street::slow(ANSWER, move |address, _| rules(address))?)
}

/// A moment within the first second of a run.
fn moment(seeded: &mut Seeded, from: u64, below: u64) -> Duration {
    Duration::from_millis(from + seeded.below(below))
}

/// Killed again and again.
pub(super) fn killed(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let (origins, kills) = (bench.scale.of(3_000, 10_000), bench.scale.of(4, 20));
    let street = slow_street()?;
    let ledger = Ledger::healthy(street.origins(origins));
    let fetch = Fetch::of(bench, &ledger, CONCURRENCY, &SMALL_PARTS)?;
    let mut seeded = Seeded::new(6, 0);
    let (mut done, mut opened) = (0, 0);
    for _ in 0..kills {
        let mut running = fetch.start()?;
        sleep(moment(&mut seeded, 10, bench.scale.of(700, 900)));
        // A run that was faster than the bench has nothing more to be killed.
        anyhow::ensure!(!running.has_ended()?, "a run ended before it was killed");
        running.kill()?;
        done += 1;
        opened += open_visible(&fetch.output)?;
    }
    let ended = fetch.start()?.watch()?;
    let mut outcome = whole(&ledger, bench, &ended)?;
    outcome.tally.injected += done;
    outcome.tally.survived += done;
    outcome.fact(format!("{done} kills, every visible part opened ({opened} times)"));
    outcome.fact(asked_again(&street, origins));
    Ok(outcome)
}

fn asked_again(street: &Street, origins: usize) -> String {
    format!("{} of {origins} requests were made again", street.requests().saturating_sub(origins))
}

/// Interrupted again and again.
pub(super) fn interrupted(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let (origins, interrupts) = (bench.scale.of(2_000, 5_000), bench.scale.of(3, 10));
    let street = slow_street()?;
    let ledger = Ledger::healthy(street.origins(origins));
    let fetch = Fetch::of(bench, &ledger, CONCURRENCY, &SMALL_PARTS)?;
    let mut seeded = Seeded::new(7, 0);
    let mut longest = Duration::ZERO;
    let mut complaints = Vec::new();
    for _ in 0..interrupts {
        let running = fetch.start()?;
        wait_for_journal(&fetch.output)?;
        sleep(moment(&mut seeded, 20, 500));
        let ended = running.interrupt()?;
        longest = longest.max(ended.duration);
        if ended.status.code() != Some(130) || !ended.said.contains("the same command goes on") {
            complaints.push(format!("an interrupted run ended with {}: {}", ended.status, ended.said));
        }
        open_visible(&fetch.output)?;
    }
    let ended = fetch.start()?.watch()?;
    let mut outcome = whole(&ledger, bench, &ended)?;
    outcome.tally.injected += interrupts;
    outcome.tally.survived += interrupts - complaints.len() as u64;
    outcome.complaints.extend(complaints);
    outcome.require(longest <= LONGEST_STOP, || format!("a stop took {longest:?}"));
    outcome.fact(format!("{interrupts} interrupts, the longest stop took {} ms", longest.as_millis()));
    outcome.fact(asked_again(&street, origins));
    Ok(outcome)
}

/// From here on a signal is heard.
fn wait_for_journal(output: &Path) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !output.join("journal").exists() {
        anyhow::ensure!(begun.elapsed() < Duration::from_secs(60), "no journal in a minute");
        sleep(Duration::from_millis(5));
    }
    // The journal of an earlier run is there at once; the program has to get going.
    sleep(Duration::from_millis(150));
    Ok(())
}

/// A file system that is too small for the tables, and then large enough.
pub(super) fn disk_full(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let street = Street::open(|address, _| {
        // Text that no compression makes small.
        let mut seeded = Seeded::new(8, u64::from(u32::from(address)));
        let noise: Vec<String> = (0..60).map(|_| format!("{:016x}", seeded.next())).collect();
        Response::text(format!("User-agent: *\n# {}\nDisallow: /{address}\n", noise.concat())).into()
    })?;
    let ledger = Ledger::healthy(street.origins(bench.scale.of(5_000, 5_000)));
    let fetch = Fetch::of(bench, &ledger, CONCURRENCY, &["--part-rows", "500", "--part-seconds", "60"])?;
    match SmallDisk::mount(&fetch.output, "2m")? {
        Some(disk) => full_then_larger(bench, &ledger, &fetch, &disk),
        None => files_too_large(bench, &ledger, &fetch),
    }
}

/// A file system in memory, over a folder. Dropping it takes it away.
#[derive(Debug)]
struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// `None` where this process may not mount.
    fn mount(folder: &Path, size: &str) -> anyhow::Result<Option<Self>> {
        fs::create_dir_all(folder)?;
        let mounted = mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], folder);
        Ok(mounted.then(|| Self { folder: folder.to_owned() }))
    }

    fn grow(&self, size: &str) -> anyhow::Result<()> {
        let grown = mount(&["-o", &format!("remount,size={size}")], &self.folder);
        anyhow::ensure!(grown, "the small file system cannot be made larger");
        Ok(())
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).output();
    }
}

fn full_then_larger(bench: &Bench, ledger: &Ledger, fetch: &Fetch, disk: &SmallDisk) -> anyhow::Result<Outcome> {
    let stopped = fetch.start()?.watch()?;
    let complaint = stop_complaint(stopped.status.code(), &stopped.said);
    let kept = open_visible(&fetch.output)?;
    disk.grow("64m")?;
    let ended = fetch.start()?.watch()?;
    let mut outcome = whole(ledger, bench, &ended)?;
    outcome.fact(format!("full at 2 MiB with {kept} whole files, then 64 MiB"));
    conclude(&mut outcome, complaint);
    Ok(outcome)
}

/// Where no file system can be mounted: no file may become larger than this many blocks of 512 or 1,024 octets.
const FEW_BLOCKS: &str = "trap '' XFSZ; ulimit -f 512";

fn files_too_large(bench: &Bench, ledger: &Ledger, fetch: &Fetch) -> anyhow::Result<Outcome> {
    let first = fetch.start()?;
    wait_for_files(&fetch.output, 2)?;
    first.kill()?;
    // With large parts the next file is larger than a file may be.
    let limited = Fetch::of(bench, ledger, CONCURRENCY, &["--part-rows", "1000000"])?.after(FEW_BLOCKS);
    let stopped = limited.start()?.watch()?;
    let complaint = stop_complaint(stopped.status.code(), &stopped.said);
    let kept = open_visible(&fetch.output)?;
    let ended = fetch.start()?.watch()?;
    let mut outcome = whole(ledger, bench, &ended)?;
    outcome
        .fact(format!("no file system could be mounted: files were limited in size instead; {kept} whole files kept"));
    conclude(&mut outcome, complaint);
    Ok(outcome)
}

fn wait_for_files(output: &Path, files: usize) -> anyhow::Result<()> {
    let begun = Instant::now();
    while open_visible(output)? < files {
        anyhow::ensure!(begun.elapsed() < Duration::from_secs(60), "no part file in a minute");
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn stop_complaint(code: Option<i32>, said: &str) -> Option<String> {
    let names_the_file = said.contains("cannot write") || said.contains("out/");
    let is_clean = code == Some(1) && names_the_file && said.contains("the same command goes on");
    (!is_clean).then(|| format!("a full disk ended the run with {code:?}: {said}"))
}

fn conclude(outcome: &mut Outcome, complaint: Option<String>) {
    outcome.tally.injected += 1;
    outcome.tally.survived += u64::from(complaint.is_none());
    outcome.complaints.extend(complaint);
}
