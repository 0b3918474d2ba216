//! M16: runs hours, days and a month apart, and one whose clock was set back: copies, confirmations, outages, and what
//! each policy decides (fetch policy §3).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;

use super::super::answer::{Response, Route};
use super::super::script::Script;
use super::super::web::ScriptedWeb;
use super::child::without_settings;
use super::ledger::{Expected, Ledger, texts_of};
use super::{Bench, Outcome, inside};
use crate::origin::Scheme;
use crate::robots::access::{FetchClass as C, Flag, Policy};
use crate::source::clock::Clock;
use crate::source::history::History;
use crate::source::http::{FetchSettings, NameAnswer, Network};
use crate::source::snapshot::Snapshot;

const RULES: &str = "User-agent: *\nDisallow: /x\n";
const ETAG: &str = "\"v1\"";
const DAYS_30: u64 = 30 * 24;

/// How an origin fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Well; from the second day on it confirms.
    Steady,
    /// Well, then 503.
    Lost,
    /// Well, then its name is gone.
    Gone,
    /// Always 503.
    Never,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Steady, Self::Lost, Self::Gone, Self::Never];

    const fn word(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Lost => "lost",
            Self::Gone => "gone",
            Self::Never => "never",
        }
    }

    fn host(self, index: usize) -> String {
        format!("{}-{index}.test", self.word())
    }
}

/// What is decided on a path that the rules forbid, and on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    Deny,
    Defer,
    Allow,
    ByRules,
}

impl Decided {
    const fn words(self) -> [&'static str; 2] {
        match self {
            Self::Deny => ["deny"; 2],
            Self::Defer => ["defer"; 2],
            Self::Allow => ["allow"; 2],
            Self::ByRules => ["deny", "allow"],
        }
    }
}

use Decided::{Allow, ByRules, Defer, Deny};

/// One run.
struct Step {
    hour: u64,
    /// Whether the origins have fallen ill.
    is_ill: bool,
    /// What each kind ends as, in the order of [`Kind::ALL`], and what is decided under each policy.
    expected: [(Expected, [Decided; 3]); 4],
}

/// The runs, each knowing the one before. Decisions are those of `rfc9309`, `conservative`, `google`.
fn steps() -> Vec<Step> {
    let (ok, lost) = (Expected::HEALTHY, Expected::fault(C::ServerError));
    let gone = Expected::fault(C::DnsNxdomain);
    let again = Expected::fault(C::Ok).with_flag(Flag::FromCache);
    let confirmed = Expected::fault(C::Ok).with_flag(Flag::Revalidated);
    let rules = [ByRules; 3];
    let early = [Deny, Defer, Deny];
    let step = |hour, is_ill, expected| Step { hour, is_ill, expected };
    vec![
        step(0, false, [(ok, rules), (ok, rules), (ok, rules), (lost, early)]),
        // A copy of two hours.
        step(2, false, [(again, rules), (again, rules), (again, rules), (lost, early)]),
        // A day and an hour: asked again. Whoever never answered is out for more than twelve hours, without a copy.
        step(25, true, [(confirmed, rules), (lost, early), (gone, early), (lost, [Deny, Defer, Allow])]),
        // Twelve hours later the copies count for Google.
        step(
            37,
            true,
            [
                (again, rules),
                (lost, [Deny, Defer, ByRules]),
                (gone, [Deny, Defer, ByRules]),
                (lost, [Deny, Defer, Allow]),
            ],
        ),
        // Thirty days: the copies count for the standard; for Google what still answers HTTP is free.
        step(
            25 + DAYS_30,
            true,
            [
                (confirmed, rules),
                (lost, [ByRules, Defer, Allow]),
                (gone, [ByRules, Defer, Deny]),
                (lost, [Allow, Defer, Allow]),
            ],
        ),
        // The clock is set back: answers from the future are not fresh.
        step(1, false, [(ok, rules), (ok, rules), (ok, rules), (lost, early)]),
    ]
}

/// Origins of each kind through all runs.
pub(super) fn history(bench: &Bench) -> anyhow::Result<Outcome> {
    let each = bench.scale.of(5, 250);
    let urls: Vec<String> = hosts(each).map(|(_, host)| format!("http://{host}/x\nhttp://{host}/y\n")).collect();
    fs::write(bench.folder.join("urls.txt"), urls.concat())?;
    let mut outcome = Outcome::default();
    let mut last: Option<PathBuf> = None;
    let mut decisions = 0;
    for (number, step) in steps().iter().enumerate() {
        let folder = bench.folder.join(format!("run-{number}"));
        let output = run(&folder, step, each, last.as_deref(), &mut outcome)?;
        for policy in Policy::ALL {
            decisions += check_decisions(bench, &output, step, *policy, each, &mut outcome)?;
        }
        last = Some(output);
    }
    outcome.fact(format!("{decisions} decisions as the policies have them, over {} runs", steps().len()));
    Ok(outcome)
}

fn hosts(each: usize) -> impl Iterator<Item = (Kind, String)> {
    (0..each).flat_map(|index| Kind::ALL.map(|kind| (kind, kind.host(index))))
}

fn run(folder: &Path, step: &Step, each: usize, last: Option<&Path>, outcome: &mut Outcome) -> anyhow::Result<PathBuf> {
    let web = ScriptedWeb::of_script(script(step.is_ill, each))?;
    let mut ledger = Ledger::default();
    for (kind, host) in hosts(each) {
        ledger.expect(format!("http://{host}"), step.expected[kind as usize].0);
    }
    let known = last.map(|last| -> anyhow::Result<_> { Ok(Arc::new(History::open(&Snapshot::open(last)?)?)) });
    let settings = FetchSettings {
        history: known.transpose()?,
        clock: Clock::At(UNIX_EPOCH + Duration::from_secs(step.hour * 3_600)),
        ..inside::settings(Network::Embedded(web.network()), &["127.0.0.1/32"])?
    };
    let ran = inside::run(folder, &ledger, settings, 64)?;
    let before = outcome.complaints.len();
    ledger.check(&ran.output, outcome)?;
    outcome.complaints[before..]
        .iter_mut()
        .for_each(|complaint| *complaint = format!("hour {}: {complaint}", step.hour));
    let is_asked = |kind: Kind| {
        let is_gone = kind == Kind::Gone && step.is_ill;
        !is_gone && step.expected[kind as usize].0.flag != Some(Flag::FromCache)
    };
    let asked = Kind::ALL.into_iter().filter(|kind| is_asked(*kind)).count() * each;
    outcome.require(web.requests() == asked, || {
        format!("hour {}: {} requests, {asked} expected", step.hour, web.requests())
    });
    Ok(ran.output)
}

fn script(is_ill: bool, each: usize) -> Script {
    let mut script = Script::new(Vec::new());
    for (kind, host) in hosts(each) {
        let robots = |response: Response| Route::robots(Scheme::Http, &host, response);
        let rules = || robots(Response::text(RULES).header("ETag", ETAG));
        match (kind, is_ill) {
            (Kind::Never, _) | (Kind::Lost, true) => script.routes.push(robots(Response::status(503))),
            (Kind::Gone, true) => {
                script.names.listed.insert(host.clone(), vec![NameAnswer::NxDomain]);
            }
            (Kind::Steady, true) => {
                let mut confirmation = robots(Response::status(304));
                confirmation.match_headers = vec![("if-none-match".to_owned(), ETAG.to_owned())];
                script.routes.extend([confirmation, robots(Response::status(500))]);
            }
            (Kind::Steady | Kind::Lost | Kind::Gone, false) => script.routes.push(rules()),
        }
    }
    script
}

/// Evaluates a snapshot under a policy, and compares every decision; how many there are.
fn check_decisions(
    bench: &Bench,
    snapshot: &Path,
    step: &Step,
    policy: Policy,
    each: usize,
    outcome: &mut Outcome,
) -> anyhow::Result<usize> {
    let output = snapshot.with_file_name(format!("decided-{policy}"));
    let mut command = Command::new(&bench.program);
    without_settings(&mut command);
    command.arg("audit").arg("--from").arg(snapshot).args(["--urls", "urls.txt", "--crawlers", "GPTBot", "-q"]);
    command.args(["--policy", policy.as_str(), "-o"]).arg(&output).current_dir(&bench.folder);
    let ended = command.output().with_context(|| format!("cannot start {}", bench.program.display()))?;
    anyhow::ensure!(
        ended.status.success(),
        "audit ended with {}: {}",
        ended.status,
        String::from_utf8_lossy(&ended.stderr)
    );
    let rows = texts_of(&output.join("decisions"), &["url", "decision"])?;
    let found: HashMap<&str, &str> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    for (kind, host) in hosts(each) {
        let decided = step.expected[kind as usize].1[policy as usize];
        for (path, word) in ["x", "y"].into_iter().zip(decided.words()) {
            let url = format!("http://{host}/{path}");
            let seen = found.get(url.as_str()).copied();
            outcome.require(seen == Some(word), || {
                format!("hour {}, {policy}: {url} is to be {word}, and is {seen:?}", step.hour)
            });
        }
    }
    Ok(rows.len())
}
