//! M13: random octets through the parser, the matcher and the signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::super::seeded::Seeded;
use super::{Bench, Outcome, Scale, Tally};
use crate::report::text::number;
use crate::robots::group::GroupIndex;
use crate::robots::parse::Robots;
use crate::robots::path::RawPath;
use crate::robots::rule_sets::RuleSets;
use crate::robots::token::{Asked, Matching};
use crate::signals::training::{self, Training};

/// Octets of the longest body.
const BODY_OCTETS: u64 = 4_096;
/// Time that no body may take.
const LONGEST: Duration = Duration::from_millis(50);
/// Tries of a body that seems slow: the machine may have been busy with something else.
const TRIES: usize = 5;

const CRAWLERS: [&str; 4] = ["*", "GPTBot", "Googlebot-News", "CCBot"];
const URLS: [&[u8]; 5] =
    [b"https://a.test/", b"https://a.test/a/b?c=%2f*$&d", b"//a.test?%%36%31\xFF", b"a.test/%", b"/aaaaaaaaaaaaaaaab"];

/// Pieces of files, so that random octets get past the first line of the parser.
const PIECES: [&[u8]; 24] = [
    b"User-agent:",
    b"user-agent: *\n",
    b"User-agent: GPTBot\n",
    b"User-agent: __usage_ai-training\n",
    b"Disallow:",
    b"Disallow: /",
    b"Allow: /",
    b"Allow: /*a*a*a*a*a*a*a*a*b$",
    b"Disallow: /%",
    b"Sitemap: ",
    b"Crawl-delay: ",
    b"Content-Signal: ",
    b"\n",
    b"\r",
    b"\r\n",
    b"*",
    b"$",
    b"%2F",
    b"%",
    b"#",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xFF",
    b" ",
];

/// What came of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Whether something panicked.
    pub has_panicked: bool,
    /// How long it took.
    pub duration: Duration,
}

/// A body through everything that reads bodies, once in each matching mode; the longer time counts.
#[must_use]
pub fn try_body(body: &[u8]) -> Tried {
    let tried = Matching::ALL.iter().map(|matching| {
        let start = Instant::now();
        let has_panicked = catch_unwind(AssertUnwindSafe(|| read(body, *matching))).is_err();
        Tried { has_panicked, duration: start.elapsed() }
    });
    tried.fold(Tried { has_panicked: false, duration: Duration::ZERO }, |one, other| Tried {
        has_panicked: one.has_panicked || other.has_panicked,
        duration: one.duration.max(other.duration),
    })
}

fn read(body: &[u8], matching: Matching) {
    let robots = Robots::parse(body, matching);
    let index = GroupIndex::of(&robots);
    let asked: Vec<Asked> = CRAWLERS.iter().filter_map(|name| Asked::named(name, matching)).collect();
    let sets = RuleSets::of(&robots, &index, &asked);
    let training = Training::of(&robots, &index);
    let mut verdicts = Vec::new();
    for url in URLS {
        let mut buffer = Vec::new();
        let path = RawPath::of_url(url).prepare(&mut buffer);
        sets.verdicts(&path, &mut verdicts);
        std::hint::black_box((&verdicts, training.preference(&path)));
    }
    std::hint::black_box((training.scope(), training::near_misses(&robots), training::other_policy_tokens(&robots)));
}

/// A million bodies.
pub(super) fn random(bench: &Bench) -> Outcome {
    let bodies: u64 = bench.scale.of(20_000, 1_000_000);
    let (panics, slowest) = (0..bodies)
        .into_par_iter()
        .map(|index| {
            let tried = patiently(&body(index));
            (u64::from(tried.has_panicked), (tried.duration, index))
        })
        .reduce(Default::default, |one, other| (one.0 + other.0, one.1.max(other.1)));
    let mut outcome = Outcome {
        tally: Tally { injected: bodies, survived: bodies - panics, panics, ..Tally::default() },
        ..Outcome::default()
    };
    let (longest, index) = slowest;
    outcome.fact(format!("{} bodies, the slowest {:.1} ms", number(bodies), longest.as_secs_f64() * 1e3));
    // The small run is that of tests, where speed decides nothing.
    outcome.require(bench.scale == Scale::Small || longest <= LONGEST, || {
        let _ = std::fs::write(bench.folder.join("slowest.txt"), body(index));
        format!("body {index} took {longest:?}; it is kept in {}", bench.folder.display())
    });
    outcome
}

fn patiently(body: &[u8]) -> Tried {
    let mut tried = try_body(body);
    for _ in 1..TRIES {
        if tried.has_panicked || tried.duration <= LONGEST {
            break;
        }
        let again = try_body(body);
        tried = Tried { has_panicked: again.has_panicked, duration: tried.duration.min(again.duration) };
    }
    tried
}

/// Half of the bodies are octets alone, half have pieces of files among them.
fn body(index: u64) -> Vec<u8> {
    let mut seeded = Seeded::new(13, index);
    let length = usize::try_from(seeded.below(BODY_OCTETS + 1)).expect("a few thousand");
    let mut body = Vec::with_capacity(length + 32);
    while body.len() < length {
        if index.is_multiple_of(2) || seeded.chance(30) {
            body.extend_from_slice(&seeded.next().to_le_bytes());
        } else {
            body.extend_from_slice(seeded.pick(&PIECES));
        }
    }
    body.truncate(length);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_as_long_as_promised_and_reproducible() {
        let lengths: Vec<usize> = (0..2_000).map(|index| body(index).len()).collect();
        assert!(lengths.iter().all(|length| *length <= 4_096));
        assert!(lengths.iter().any(|length| *length > 4_000) && lengths.iter().any(|length| *length < 100));
        assert_eq!(body(7), body(7));
    }
}
