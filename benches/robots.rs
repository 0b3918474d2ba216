//! Parsing, compiling and matching, each with its expected count asserted before it is timed.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robots_audit::robots::group::GroupIndex;
use robots_audit::robots::matcher::{RuleSet, Tier};
use robots_audit::robots::parse::Robots;
use robots_audit::robots::path::{Path, RawPath};
use robots_audit::robots::token::Matching;
use workloads::{CRAWLERS, Matrix, Sites, asked, paths, rules};

mod workloads;

const RULE_COUNTS: [usize; 5] = [5, 50, 500, 1_500, 5_000];
const WILDCARD_PERCENTS: [usize; 2] = [0, 20];

fn parsed(body: &[u8]) -> Robots<'_> {
    Robots::parse(body, Matching::Rfc9309)
}

fn parse(criterion: &mut Criterion) {
    let sites = Sites::best();
    let count = || sites.list.iter().map(|site| parsed(&site.body).rules.len()).sum::<usize>();
    let expected = if sites.name == "corpus" { 516_038 } else { GENERATED_RULES };
    assert_eq!(count(), expected);
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10).throughput(Throughput::Bytes(sites.octets()));
    group.bench_function(sites.name, |bencher| bencher.iter(count));
    group.finish();
}

fn compile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compile");
    group.sample_size(10);
    each_rule_set(|n_rules, percent, robots| {
        for tier in Tier::ALL {
            let set = || RuleSet::with_tier(robots, &[0], *tier);
            assert_eq!(set().n_allow() + set().n_disallow(), u32::try_from(n_rules).expect("few"));
            if set().tier() == *tier {
                let id = BenchmarkId::new(tier.as_str(), format!("{n_rules}/{percent}%"));
                group.bench_function(id, |bencher| bencher.iter(|| black_box(set())));
            }
        }
    });
    group.finish();
}

fn matching(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("match");
    group.sample_size(10);
    each_rule_set(|n_rules, percent, robots| {
        let urls = paths(n_rules);
        let mut buffer = Vec::new();
        let mut hits = |set: &RuleSet| {
            let decided = urls.iter().filter(|url| {
                let path = RawPath::of_url(url.as_bytes()).prepare(&mut buffer);
                black_box(set.decide(&path)).is_some()
            });
            decided.count()
        };
        let expected = naive_hits(robots, &urls);
        for tier in Tier::ALL {
            let set = RuleSet::with_tier(robots, &[0], *tier);
            assert_eq!(hits(&set), expected, "{tier}");
            if set.tier() == *tier {
                group.throughput(Throughput::Elements(urls.len() as u64));
                let id = BenchmarkId::new(tier.as_str(), format!("{n_rules}/{percent}%"));
                group.bench_function(id, |bencher| bencher.iter(|| hits(&set)));
            }
        }
    });
    group.finish();
}

fn each_rule_set(mut bench: impl FnMut(usize, usize, &Robots<'_>)) {
    for n_rules in RULE_COUNTS {
        for percent in WILDCARD_PERCENTS {
            let body = rules(n_rules, percent);
            bench(n_rules, percent, &parsed(body.as_bytes()));
        }
    }
}

/// Paths that some rule matches, each tried on each path.
fn naive_hits(robots: &Robots<'_>, urls: &[String]) -> usize {
    let set = RuleSet::of_groups(robots, &[0]);
    let is_hit = |url: &&String| set.entries().any(|entry| entry.pattern.matches(Path::of(url.as_bytes()).octets()));
    urls.iter().filter(is_hit).count()
}

fn matrix(criterion: &mut Criterion) {
    let sites = Sites::best();
    let mut group = criterion.benchmark_group("matrix");
    group.sample_size(10);
    for (n_crawlers, refused) in [(1, 0), (5, 1), (50, 2)] {
        let asked = asked(&CRAWLERS[..n_crawlers]);
        let mut matrix = Matrix::default();
        let decisions = sites.urls() * n_crawlers as u64;
        let expected = if sites.name == "corpus" { CORPUS_REFUSED } else { GENERATED_REFUSED };
        assert_eq!(matrix.count(&sites.list, &asked), (decisions, expected[refused]));
        group.throughput(Throughput::Elements(decisions));
        let id = BenchmarkId::new(sites.name, format!("{n_crawlers} crawlers"));
        group.bench_function(id, |bencher| bencher.iter(|| matrix.count(&sites.list, &asked)));
    }
    group.finish();
}

const GENERATED_RULES: usize = 195_962;
/// Refused URLs with 1, 5 and 50 crawlers.
const CORPUS_REFUSED: [u64; 3] = [98_898, 426_097, 4_206_689];
const GENERATED_REFUSED: [u64; 3] = [13_277, 66_013, 658_062];

/// The number of groups that the index is asked for is part of every matrix; alone it is hardly measurable.
fn index(criterion: &mut Criterion) {
    let sites = Sites::best();
    let robots: Vec<Robots<'_>> = sites.list.iter().map(|site| parsed(&site.body)).collect();
    let count = || robots.iter().map(|robots| GroupIndex::of(robots).tokens().count()).sum::<usize>();
    let expected = count();
    let mut group = criterion.benchmark_group("index");
    group.sample_size(10).throughput(Throughput::Elements(sites.list.len() as u64));
    group.bench_function(sites.name, |bencher| bencher.iter(|| assert_eq!(count(), expected)));
    group.finish();
}

criterion_group!(benches, parse, index, compile, matching, matrix);
criterion_main!(benches);
