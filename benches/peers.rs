//! The same sites through this crate and through crates `robotstxt` and `texting_robots`, in one run; prints ratios.
//!
//! CPU time of this thread where the system tells it, since a shared machine makes clocks lie. The slow peers get a
//! part of the sites; times are compared per decision, on the same part for both sides.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::fs;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use robots_audit::robots::parse::Robots;
use robots_audit::robots::token::Matching;
use robotstxt::DefaultMatcher;
use texting_robots::Robot;
use workloads::{CRAWLERS, Matrix, Site, Sites, asked};

#[expect(dead_code, reason = "rules and paths are for the other bench")]
mod workloads;

/// One site in so many goes to a peer that parses the file again for every decision.
const SITES_PER_SLOW_SITE: usize = 40;
/// Of each side the quickest of so many rounds counts.
const ROUNDS: usize = 5;

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let sites = Sites::best();
    println!("{}: {} sites, {} URLs, one thread, CPU time", sites.name, sites.list.len(), sites.urls());
    for n_crawlers in [1, 5, 50] {
        matrix(&sites.list, &CRAWLERS[..n_crawlers]);
    }
    parse(&sites.list);
}

/// Decisions, refusals and the time that they took.
struct Run {
    decisions: u64,
    refused: u64,
    cpu: Duration,
}

impl Run {
    fn nanos_per_decision(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e9 / self.decisions as f64
    }
}

fn matrix(sites: &[Site], crawlers: &[&str]) {
    let few: Vec<&Site> = sites.iter().step_by(SITES_PER_SLOW_SITE).collect();
    let all: Vec<&Site> = sites.iter().collect();
    let ours = ours(&all, crawlers);
    report(crawlers.len(), "robots-audit, all sites", &ours, &ours);
    let texting = texting(&all, crawlers);
    report(crawlers.len(), "texting_robots, all sites", &texting, &ours);
    let ours = self::ours(&few, crawlers);
    report(crawlers.len(), "robots-audit, few sites", &ours, &ours);
    report(crawlers.len(), "robotstxt, few sites", &google(&few, crawlers), &ours);
}

fn report(n_crawlers: usize, name: &str, run: &Run, ours: &Run) {
    let (nanos, ratio) = (run.nanos_per_decision(), run.nanos_per_decision() / ours.nanos_per_decision());
    let refused = 100.0 * run.refused as f64 / run.decisions as f64;
    let decisions = run.decisions;
    println!(
        "{n_crawlers:>2} crawlers  {name:<26} {decisions:>9} decisions, {refused:5.2} % refused, {nanos:>10.2} ns each, x {ratio:.1}"
    );
}

fn ours(sites: &[&Site], crawlers: &[&str]) -> Run {
    let asked = asked(crawlers);
    let mut matrix = Matrix::default();
    quickest(|| {
        sites.iter().fold((0, 0), |(decisions, refused), site| {
            matrix.site(site, &asked);
            (decisions + matrix.decisions.len() as u64, refused + matrix.refused())
        })
    })
}

fn texting(sites: &[&Site], crawlers: &[&str]) -> Run {
    timed(|| {
        counted(sites, crawlers, |site, crawler| {
            let robot = Robot::new(crawler, &site.body).ok()?;
            Some(site.urls.iter().filter(|url| !robot.allowed(url)).count())
        })
    })
}

fn google(sites: &[&Site], crawlers: &[&str]) -> Run {
    let texts: Vec<(&&Site, String)> =
        sites.iter().map(|site| (site, String::from_utf8_lossy(&site.body).into_owned())).collect();
    timed(|| {
        texts.iter().fold((0, 0), |total, (site, text)| {
            let of_site = counted(&[site], crawlers, |site, crawler| {
                let is_refused =
                    |url: &&String| !DefaultMatcher::default().one_agent_allowed_by_robots(text, crawler, url);
                Some(site.urls.iter().filter(is_refused).count())
            });
            (total.0 + of_site.0, total.1 + of_site.1)
        })
    })
}

/// Decisions and refusals; what makes a peer panic or give up counts as neither.
fn counted(sites: &[&Site], crawlers: &[&str], refused: impl Fn(&Site, &str) -> Option<usize>) -> (u64, u64) {
    let mut total = (0, 0);
    for site in sites {
        for crawler in crawlers {
            if let Ok(Some(refused)) = catch_unwind(AssertUnwindSafe(|| refused(site, crawler))) {
                total.0 += site.urls.len() as u64;
                total.1 += refused as u64;
            }
        }
    }
    total
}

fn parse(sites: &[Site]) {
    let texts: Vec<String> = sites.iter().map(|site| String::from_utf8_lossy(&site.body).into_owned()).collect();
    let ours = quickest(|| {
        let rules: usize = sites.iter().map(|site| Robots::parse(&site.body, Matching::Rfc9309).rules.len()).sum();
        (sites.len() as u64, rules as u64)
    });
    let theirs = quickest(|| {
        let parsed = texts.iter().filter(|text| {
            catch_unwind(|| {
                robotstxt::parse_robotstxt(text, &mut Rules::default());
            })
            .is_ok()
        });
        (parsed.count() as u64, 0)
    });
    for (name, run) in [("robots-audit", &ours), ("robotstxt", &theirs)] {
        let files = run.decisions as f64 / run.cpu.as_secs_f64();
        println!(
            "parse        {name:<26} {files:>9.0} files/s, x {:.1}",
            run.nanos_per_decision() / ours.nanos_per_decision()
        );
    }
}

/// Takes what the parser finds and keeps the number of rules.
#[derive(Default)]
struct Rules(u64);

impl robotstxt::RobotsParseHandler for Rules {
    fn handle_robots_start(&mut self) {}
    fn handle_robots_end(&mut self) {
        black_box(self.0);
    }
    fn handle_user_agent(&mut self, _: u32, _: &str) {}
    fn handle_allow(&mut self, _: u32, _: &str) {
        self.0 += 1;
    }
    fn handle_disallow(&mut self, _: u32, _: &str) {
        self.0 += 1;
    }
    fn handle_sitemap(&mut self, _: u32, _: &str) {}
    fn handle_unknown_action(&mut self, _: u32, _: &str, _: &str) {}
}

fn quickest(mut run: impl FnMut() -> (u64, u64)) -> Run {
    let runs = (0..ROUNDS).map(|_| timed(&mut run));
    runs.min_by_key(|run| run.cpu).expect("at least one round")
}

fn timed(run: impl FnOnce() -> (u64, u64)) -> Run {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let (decisions, refused) = black_box(run());
    let cpu = cpu_time().zip(cpu).map_or_else(|| wall.elapsed(), |(end, start)| end.saturating_sub(start));
    Run { decisions, refused, cpu }
}

/// What this thread has used of a core, as Linux tells it.
fn cpu_time() -> Option<Duration> {
    // Giving way makes the system bring its books up to date.
    std::thread::yield_now();
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
