//! The fault bench: loads of hostile origins and of ends in the middle of a run, each with the condition that it has to
//! pass (fetch policy §10).
//!
//! Every line of a load ends in exactly one row of its expected class, nothing is lost or doubled, nothing panics, and
//! the limits hold. Loads within the process play a [`ScriptedWeb`](super::web::ScriptedWeb); loads that need a process
//! of their own run this program as a child against a [`street`] of real sockets.
//!
//! | module | loads |
//! |---|---|
//! | `mixed` | M1: every class at once |
//! | `slow` | M2, M3: drips, endless bodies, decompression bombs |
//! | `plain` | M4, M5: many origins, few descriptors |
//! | `ends` | M6, M7, M8: kill -9, SIGINT, a full disk |
//! | `manners` | M9, M10: one address for many names, servers that ask to wait |
//! | `redirects` | M11 |
//! | `guarded` | M12 |
//! | `octets` | M13: random octets in parser, matcher and signals |
//! | `forms` | M14: hostile text in every form of output |
//! | `resolvers` | M15 |
//! | `clock` | M16 |
//!
//! What they share: `ledger` (what was expected, what was found), `child` (the program as a process), [`street`], `inside`
//! (the pipeline within this process).

mod child;
mod clock;
mod ends;
mod forms;
mod guarded;
mod inside;
mod ledger;
mod manners;
mod mixed;
pub mod octets;
mod plain;
mod redirects;
mod resolvers;
mod slow;
pub mod street;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::report::text::number;
use crate::robots::access::names;

names! {
    /// The loads, by their names in the fault matrix.
    pub enum Load {
        /// Every class at once.
        M1 => "M1",
        /// All origins drip.
        M2 => "M2",
        /// Endless bodies and decompression bombs.
        M3 => "M3",
        /// Very many healthy origins.
        M4 => "M4",
        /// Few descriptors.
        M5 => "M5",
        /// `kill -9` at random moments.
        M6 => "M6",
        /// SIGINT at random moments.
        M7 => "M7",
        /// A full disk.
        M8 => "M8",
        /// Many names on one address.
        M9 => "M9",
        /// Servers that ask to wait.
        M10 => "M10",
        /// Redirect graphs.
        M11 => "M11",
        /// Spellings of addresses that are not public.
        M12 => "M12",
        /// Random octets.
        M13 => "M13",
        /// Control characters, broken UTF-8, formulas.
        M14 => "M14",
        /// Name servers in trouble.
        M15 => "M15",
        /// Copies, outages, a clock that was set back.
        M16 => "M16",
    }
}

impl Load {
    /// What the load is, in a few words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::M1 => "every class at once",
            Self::M2 => "an octet per 200 ms",
            Self::M3 => "endless bodies and bombs",
            Self::M4 => "many origins",
            Self::M5 => "256 descriptors",
            Self::M6 => "kill -9, resume",
            Self::M7 => "SIGINT, resume",
            Self::M8 => "disk full, resume",
            Self::M9 => "many names, one address",
            Self::M10 => "429 and 503 with Retry-After",
            Self::M11 => "redirect graphs",
            Self::M12 => "spellings of addresses",
            Self::M13 => "random octets",
            Self::M14 => "hostile text, all forms",
            Self::M15 => "name servers in trouble",
            Self::M16 => "copies, outages, the clock",
        }
    }
}

/// How large the loads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As large as tests can bear.
    Small,
    /// As the fault matrix has them.
    Full,
}

impl Scale {
    pub(super) const fn of<T: Copy>(self, small: T, full: T) -> T {
        match self {
            Self::Small => small,
            Self::Full => full,
        }
    }
}

/// Where loads run.
#[derive(Debug, Clone)]
pub struct Bench {
    /// This program, to be started as a child.
    pub program: PathBuf,
    /// A folder that the loads may fill; each makes one of its own in it, and takes it away where it has passed.
    pub folder: PathBuf,
    /// How large the loads are.
    pub scale: Scale,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Faults that were played: origins, bodies, or ends of a process.
    pub injected: u64,
    /// Of these, those that ended as they should.
    pub survived: u64,
    /// Lines that were to be fetched.
    pub origins: u64,
    /// Rows that were found.
    pub rows: u64,
    /// Lines without a row.
    pub lost: u64,
    /// Rows beyond the first of a line.
    pub duplicated: u64,
    /// Panics, caught or not.
    pub panics: u64,
}

impl Tally {
    /// Adds another.
    pub const fn add(&mut self, other: &Self) {
        self.injected += other.injected;
        self.survived += other.survived;
        self.origins += other.origins;
        self.rows += other.rows;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.panics += other.panics;
    }

    /// Whether nothing went wrong.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.injected == self.survived && self.lost == 0 && self.duplicated == 0 && self.panics == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { injected, survived, origins, rows, lost, duplicated, panics } = self;
        write!(
            f,
            "faults injected: {injected}, survived: {survived}, origins: {origins}, rows: {rows}, lost: {lost}, \
             duplicated: {duplicated}, panics: {panics}"
        )
    }
}

/// How a load ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What was counted.
    pub tally: Tally,
    /// What was measured, for people.
    pub facts: Vec<String>,
    /// What should have been otherwise; a load without complaints has passed.
    pub complaints: Vec<String>,
    /// Why the load could not be played on this system.
    pub skipped: Option<&'static str>,
}

impl Outcome {
    fn skipped(why: &'static str) -> Self {
        Self { skipped: Some(why), ..Self::default() }
    }

    fn fact(&mut self, fact: impl Into<String>) {
        self.facts.push(fact.into());
    }

    fn require(&mut self, holds: bool, complaint: impl FnOnce() -> String) {
        if !holds {
            self.complaints.push(complaint());
        }
    }
}

/// A load that has been played.
#[derive(Debug, Clone)]
pub struct Played {
    /// The load.
    pub load: Load,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
}

impl Played {
    /// Whether the load was played and everything was as it should be.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.outcome.skipped.is_none() && self.outcome.complaints.is_empty() && self.outcome.tally.is_clean()
    }

    /// Whether something was not as it should be.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.outcome.skipped.is_none() && !self.has_passed()
    }
}

/// Complaints that are shown of one load.
const SHOWN_COMPLAINTS: usize = 10;

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { tally, facts, complaints, skipped } = &self.outcome;
        let (name, title) = (self.load.as_str(), self.load.title());
        if let Some(why) = skipped {
            return write!(f, "{name:<4} skip  {title}: {why}");
        }
        let word = if self.has_passed() { "pass" } else { "FAIL" };
        let seconds = self.duration.as_secs_f64();
        write!(f, "{name:<4} {word}  {title}: {} origins, ", number(tally.origins))?;
        write!(f, "{} of {} faults survived, {seconds:.1} s", number(tally.survived), number(tally.injected))?;
        if !facts.is_empty() {
            write!(f, "; {}", facts.join("; "))?;
        }
        if !tally.is_clean() {
            write!(f, "\n       {tally}")?;
        }
        for complaint in complaints.iter().take(SHOWN_COMPLAINTS) {
            write!(f, "\n       {complaint}")?;
        }
        match complaints.len().saturating_sub(SHOWN_COMPLAINTS) {
            0 => Ok(()),
            more => write!(f, "\n       and {more} more"),
        }
    }
}

/// Plays a load.
///
/// # Errors
/// The bench itself failed: no port, no process, no file.
pub fn play(load: Load, bench: &Bench) -> anyhow::Result<Played> {
    // The web has one end of every connection, and one listener a fetch.
    let _ = rlimit::increase_nofile_limit(DESCRIPTORS);
    let start = Instant::now();
    let own = bench.folder.join(load.as_str());
    let _ = std::fs::remove_dir_all(&own);
    std::fs::create_dir_all(&own)?;
    let bench = &Bench { folder: own.clone(), ..bench.clone() };
    let outcome = match load {
        Load::M1 => mixed::every_class(bench),
        Load::M2 => slow::drips(bench),
        Load::M3 => slow::endless(bench),
        Load::M4 => plain::many(bench),
        Load::M5 => plain::few_descriptors(bench),
        Load::M6 => ends::killed(bench),
        Load::M7 => ends::interrupted(bench),
        Load::M8 => ends::disk_full(bench),
        Load::M9 => manners::shared_address(bench),
        Load::M10 => manners::waits(bench),
        Load::M11 => redirects::graphs(bench),
        Load::M12 => guarded::spellings(bench),
        Load::M13 => Ok(octets::random(bench)),
        Load::M14 => forms::hostile_text(bench),
        Load::M15 => resolvers::troubled_names(bench),
        Load::M16 => clock::history(bench),
    }?;
    let played = Played { load, outcome, duration: start.elapsed() };
    if !played.has_failed() {
        // What is left of a failure is there to be looked at.
        let _ = std::fs::remove_dir_all(own);
    }
    Ok(played)
}

/// Open files that the bench wants.
const DESCRIPTORS: u64 = 8192;
