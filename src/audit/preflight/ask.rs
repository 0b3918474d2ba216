//! The asking side of a preflight: the cache first, then the origin, each origin of a path once.

use bytes::Bytes;

use super::evidence::{Evidence, NO_IDENTITY, UrlAnswer};
use super::judge::{judge, origin_of};
use super::{Identity, Question, Terms};
use crate::origin::{Origin, Target};
use crate::robots::access::Flag;
use crate::robots::decision::DecisionSource;
use crate::source::cache::{Cache, CacheError};
use crate::source::http::Fetcher;
use crate::tables::fetches::Observation;

/// What came of a preflight.
#[derive(Debug)]
pub struct Preflight {
    /// The decision and what it rests on.
    pub evidence: Evidence,
    /// Why an answer could not be kept for the next time, where that failed. The decision stands all the same.
    pub cache_fault: Option<CacheError>,
}

/// Asks whether a URL may be fetched, and by the way whether each hop may.
///
/// Each origin of the path is asked for its robots.txt once at most, and not at all where the cache has a fresh copy; the
/// page itself is never asked for. Times are those of the fetcher's clock. The bodies of all origins of the path are held
/// until the end: a program that follows redirects should limit their number.
///
/// Needs a tokio runtime with time and I/O, as [`Fetcher::fetch`] does.
///
/// # Panics
/// Never: there is an answer about the URL itself.
pub async fn preflight(fetcher: &Fetcher, cache: Option<&Cache>, question: &Question) -> Preflight {
    let mut asking = Asking { fetcher, cache, seen: Vec::new(), fault: None };
    let mut answers = Vec::new();
    for url in question.path() {
        answers.push(match &question.identity {
            Some(identity) => asking.answer(question.terms, identity, url).await,
            None => UrlAnswer::unresolved(url, NO_IDENTITY, None),
        });
    }
    let evidence = Evidence::of(question, answers).expect("there is an answer about the URL itself");
    Preflight { evidence, cache_fault: asking.fault }
}

struct Asking<'a> {
    fetcher: &'a Fetcher,
    cache: Option<&'a Cache>,
    seen: Vec<Seen>,
    /// The first one.
    fault: Option<CacheError>,
}

struct Seen {
    origin: Origin,
    observation: Observation,
    body: Option<Bytes>,
}

impl Asking<'_> {
    async fn answer(&mut self, terms: Terms, identity: &Identity, url: &str) -> UrlAnswer {
        let origin = match origin_of(url) {
            Ok(origin) => origin,
            Err(reason) => return UrlAnswer::unresolved(url, reason.as_str(), Some(DecisionSource::Invalid)),
        };
        let known = self.seen.iter().position(|seen| seen.origin == origin);
        let place = known.unwrap_or(self.seen.len());
        if known.is_none() {
            let seen = self.ask(origin).await;
            self.seen.push(seen);
        }
        let Seen { origin, observation, body } = &self.seen[place];
        judge(terms, identity, (url, origin), (observation, body.as_deref()))
    }

    async fn ask(&mut self, origin: Origin) -> Seen {
        let target = Target { origin, is_bare: false };
        let copied = self.cache.and_then(|cache| cache.find(&target.origin));
        let fetched = self.fetcher.fetch_knowing(&target, copied.as_ref().map(|copied| &copied.earlier)).await;
        let observation = fetched.observation;
        let stored = || copied.filter(|copied| copied.body_sha256 == observation.body_sha256)?.body;
        let body = fetched.body.or_else(stored);
        if let Some(cache) = self.cache
            && !observation.flags.contains(Flag::FromCache)
            && let Err(fault) = cache.keep(&target.origin, &observation, body.as_deref())
        {
            self.fault.get_or_insert(fault);
        }
        Seen { origin: target.origin, observation, body }
    }
}
