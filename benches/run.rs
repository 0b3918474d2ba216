//! The whole of `audit`: 418,920 or more distinct URLs of many origins, 1, 5 and 50 crawlers, one thread and two.
//! Prints decisions a second and where the time went.
#![expect(clippy::print_stdout, reason = "a bench prints its results")]

#[expect(dead_code, reason = "the other benches use the rest of it")]
mod workloads;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use robots_audit::audit::output::Output;
use robots_audit::audit::plan::Plan;
use robots_audit::audit::run::{Source, audit};
use robots_audit::audit::totals::Totals;
use robots_audit::crawlers::Registry;
use robots_audit::robots::access::Policy;
use robots_audit::robots::token::Matching;
use robots_audit::source::folder::Folder;
use robots_audit::source::input::UrlInputs;
use robots_audit::tables::Table;

use workloads::{CRAWLERS, Sites};

/// Distinct URLs at least.
const URLS: usize = 400_000;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (name, urls) = workload(folder.path());
    println!("{urls} distinct URLs of the workload `{name}`\n");
    println!("| crawlers | threads | seconds | URLs alone, M decisions/s | read s | match s | encode s | write s |");
    println!("|---|---|---|---|---|---|---|---|");
    for crawlers in [1, 5, 50] {
        for threads in [1, 2] {
            let start = Instant::now();
            let totals = run(folder.path(), crawlers, threads);
            let seconds = start.elapsed().as_secs_f64();
            let decisions: u64 = totals.urls.decisions.iter().sum();
            assert_eq!(decisions, urls * crawlers as u64, "a decision for every URL and crawler");
            let spent = totals.spent;
            let rate = f64::from(u32::try_from(decisions).expect("a few million")) / 1e6 / spent.urls.as_secs_f64();
            println!(
                "| {crawlers} | {threads} | {seconds:.2} | {rate:.1} | {:.2} | {:.2} | {:.2} | {:.2} |",
                spent.read.as_secs_f64(),
                spent.matching.as_secs_f64(),
                spent.encoding.as_secs_f64(),
                spent.writing.as_secs_f64()
            );
        }
    }
}

/// Bodies in a folder and URLs in a list; URLs are told apart by a number where there are too few of them.
fn workload(folder: &Path) -> (&'static str, u64) {
    let sites = Sites::best();
    let known: usize = sites.list.iter().map(|site| site.urls.len()).sum();
    let rounds = URLS.div_ceil(known);
    fs::create_dir(folder.join("bodies")).expect("a folder");
    let mut list = String::new();
    let mut urls = 0;
    for (number, site) in sites.list.iter().enumerate() {
        let host = format!("site-{number:05}.test");
        fs::write(folder.join(format!("bodies/{host}.txt")), &site.body).expect("a file");
        for round in 0..rounds {
            for (place, url) in site.urls.iter().enumerate() {
                let path = url.splitn(4, '/').nth(3).unwrap_or_default();
                let path = path.split('#').next().unwrap_or_default();
                let mark = if path.contains('?') { '&' } else { '?' };
                list += &format!("https://{host}/{path}{mark}n={round}.{place}\n");
                urls += 1;
            }
        }
    }
    fs::write(folder.join("urls.txt"), list).expect("a file");
    (sites.name, urls)
}

fn run(folder: &Path, crawlers: usize, threads: usize) -> Totals {
    let registry = Registry::embedded();
    let asked = registry.select(&CRAWLERS[..crawlers].join(",")).expect("tokens");
    let plan = Arc::new(Plan::new(registry, &asked, Policy::Rfc9309, Matching::Rfc9309, true));
    let source = Source::Folder(Arc::new(Folder::open(&folder.join("bodies")).expect("a folder")));
    let urls = UrlInputs::open(&[folder.join("urls.txt").to_string_lossy().into_owned()], None).expect("a list");
    let mut output = Output::open(&folder.join("out"), Table::ALL).expect("a folder");
    let report = audit(&plan, &source, Some(urls), None, threads, &mut output, &mut |_| {}).expect("a whole run");
    output.finish(&report.footer).expect("whole files");
    report.totals
}
