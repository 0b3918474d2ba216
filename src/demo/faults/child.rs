//! The program as a process of its own: started, watched, ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::Bench;
use super::ledger::Ledger;

/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// No load takes so long; a process that does hangs.
const LONGEST: Duration = Duration::from_secs(1800);

/// A `fetch` of one list into one folder, to be started as often as it takes.
#[derive(Debug)]
pub(super) struct Fetch {
    program: PathBuf,
    /// Where it runs.
    pub(super) folder: PathBuf,
    /// Its output folder.
    pub(super) output: PathBuf,
    flags: Vec<String>,
    /// What a shell does before the program starts.
    prelude: Option<&'static str>,
}

impl Fetch {
    /// Writes the list; nothing runs yet.
    pub(super) fn of(bench: &Bench, ledger: &Ledger, concurrency: usize, flags: &[&str]) -> anyhow::Result<Self> {
        let folder = bench.folder.clone();
        fs::write(folder.join("origins.txt"), ledger.text())?;
        let mut all = vec!["--concurrency".to_owned(), concurrency.to_string()];
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        Ok(Self { program: bench.program.clone(), output: folder.join("out"), folder, flags: all, prelude: None })
    }

    /// The same, started by a shell that first does something.
    pub(super) fn after(self, prelude: &'static str) -> Self {
        Self { prelude: Some(prelude), ..self }
    }

    fn command(&self) -> Command {
        let mut command = match self.prelude {
            None => Command::new(&self.program),
            Some(prelude) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("{prelude}; exec \"$0\" \"$@\"")]).arg(&self.program);
                shell
            }
        };
        let list = self.folder.join("origins.txt");
        command.arg("fetch").arg(list).arg("-o").arg(&self.output).args(FLAGS).args(&self.flags);
        without_settings(&mut command);
        command.current_dir(&self.folder);
        command
    }

    /// Starts it.
    pub(super) fn start(&self) -> anyhow::Result<Running> {
        let said = self.folder.join("said.txt");
        let stderr = File::create(&said)?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        Ok(Running { child, said, begun: Instant::now() })
    }
}

/// Flags of every fetch of the bench: faults are to be seen as they are.
const FLAGS: [&str; 11] = [
    "--contact",
    "https://example.org/robots-audit-faults",
    "--allow-address",
    "127.0.0.0/8",
    "--retries",
    "0",
    "--per-ip-concurrency",
    "0",
    "--per-ip-rate",
    "0",
    "-q",
];

/// Settings of whoever runs the bench do not count.
pub(super) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ROBOTS_AUDIT_")) {
        command.env_remove(name);
    }
}

/// A process under way. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    said: PathBuf,
    begun: Instant,
}

/// How a process ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) said: String,
    pub(super) duration: Duration,
    pub(super) samples: Vec<Sample>,
}

/// What a process held at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    at: Duration,
    resident_kib: u64,
    most_resident_kib: u64,
    descriptors: u64,
}

impl Running {
    /// Waits for its end, looking at it meanwhile.
    pub(super) fn watch(mut self) -> anyhow::Result<Ended> {
        let mut samples = Vec::new();
        loop {
            if let Some(status) = self.child.try_wait()? {
                let duration = self.begun.elapsed();
                return Ok(Ended { status, said: self.said(), duration, samples });
            }
            samples.extend(Sample::of(self.child.id(), self.begun.elapsed()));
            anyhow::ensure!(self.begun.elapsed() < LONGEST, "a run has not ended in half an hour");
            thread::sleep(LOOK);
        }
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Ends it as a crash does.
    pub(super) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end as Ctrl-C does, and waits for that.
    pub(super) fn interrupt(mut self) -> anyhow::Result<Ended> {
        let asked = Instant::now();
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().context("cannot run kill")?;
        let status = self.child.wait()?;
        Ok(Ended { status, said: self.said(), duration: asked.elapsed(), samples: Vec::new() })
    }

    fn said(&self) -> String {
        let octets = fs::read(&self.said).unwrap_or_default();
        String::from_utf8_lossy(&octets).trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sample {
    /// What the system says about a process; `None` where it does not say.
    fn of(process: u32, at: Duration) -> Option<Self> {
        let folder = Path::new("/proc").join(process.to_string());
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let descriptors = fs::read_dir(folder.join("fd")).map(Iterator::count).unwrap_or_default();
        Some(Self {
            at,
            resident_kib: kib("VmRSS:")?,
            most_resident_kib: kib("VmHWM:")?,
            descriptors: descriptors as u64,
        })
    }
}

impl Ended {
    /// Peak of resident memory, in MiB; `None` where it is not measured.
    pub(super) fn peak_mib(&self) -> Option<u64> {
        self.samples.iter().map(|sample| sample.most_resident_kib).max().map(|kib| kib.div_ceil(1024))
    }

    /// Peak of open descriptors.
    pub(super) fn descriptors(&self) -> Option<u64> {
        self.samples.iter().map(|sample| sample.descriptors).max()
    }

    /// Mean resident memory over a quarter of the run (0 to 3), in KiB.
    pub(super) fn quarter_kib(&self, quarter: u32) -> Option<u64> {
        let length = self.duration / 4;
        let own = length * quarter..length * (quarter + 1);
        let samples: Vec<u64> =
            self.samples.iter().filter(|sample| own.contains(&sample.at)).map(|sample| sample.resident_kib).collect();
        (!samples.is_empty()).then(|| samples.iter().sum::<u64>() / samples.len() as u64)
    }
}

/// A number of MiB for people; where there is no `/proc`, that.
pub(super) fn mib(measured: Option<u64>) -> String {
    measured.map_or("not measured".to_owned(), |mib| format!("{mib} MiB"))
}
