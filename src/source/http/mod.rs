//! The live fetch engine: asks an origin for its robots.txt and says what was seen (§2.3.1).
//!
//! One plain GET over HTTP/1.1, no more than one connection at a time, its address checked before it is opened;
//! redirects, content codings and limits are the engine's own work, so that each failure has an exact class.
//! What an earlier run knows is used before and behind the request. Retries and pacing per address are left to the caller. This is the only place that opens sockets.

mod attempt;
mod coding;
mod connect;
mod crowd;
mod exchange;
mod failure;
mod guard;
pub mod limits;
mod memory;
mod names;
mod network;
mod observe;
mod redirect;
mod stop;
mod user_agent;

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use hyper::header::HeaderValue;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use self::connect::Connector;
use self::failure::{Ending, Failure};
use self::guard::Guard;
use crate::origin::{Origin, Scheme, Target};
use crate::robots::access::{FetchClass, Flag, Reason};
use crate::source::clock::Clock;
use crate::source::history::History;
use crate::source::history::earlier::Validators;
use crate::tables::fetches::Observation;

pub use crowd::fetch_all;
pub use limits::FetchLimits;
pub use network::{EmbeddedNetwork, NameAnswer, Network};
pub use stop::{STOP_GRACE, Stop};
pub use user_agent::user_agent;

/// Why no fetcher could be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The product token breaks §2.2.1.
    #[error("product token {token:?} may hold only letters, `_` and `-`")]
    ProductToken {
        /// As given.
        token: String,
    },
    /// The contact is of no use to a server's owner.
    #[error("contact {contact:?} is neither an http(s) URL nor an e-mail address, or holds parentheses")]
    Contact {
        /// As given.
        contact: String,
    },
    /// The User-Agent cannot be sent.
    #[error("user agent {user_agent:?} is no header value")]
    UserAgent {
        /// As given.
        user_agent: String,
    },
    /// The read cap is below §2.5.
    #[error("a body limit of {octets} octets is below the 512000 that must be read")]
    BodyLimit {
        /// As given.
        octets: usize,
    },
    /// The redirect limit is below §2.3.1.2.
    #[error("a limit of {redirects} redirects is below the 5 that should be followed")]
    RedirectLimit {
        /// As given.
        redirects: u16,
    },
    /// The system's resolver configuration cannot be used.
    #[error("resolver configuration of this system is not usable")]
    Resolver {
        /// What was wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The TLS client cannot be set up.
    #[error("TLS client cannot be set up")]
    Tls {
        /// What was wrong.
        #[source]
        source: rustls::Error,
    },
}

/// Settings of a [`Fetcher`].
#[derive(Debug)]
pub struct FetchSettings {
    /// The User-Agent value, as [`user_agent`] makes it.
    pub user_agent: String,
    /// Limits of each fetch.
    pub limits: FetchLimits,
    /// Address ranges that the address guard lets pass, whatever they are.
    pub allowed_addresses: Vec<IpNet>,
    /// Where names are looked up and connections go.
    pub network: Network,
    /// What an earlier run knows, where there was one.
    pub history: Option<Arc<History>>,
    /// The time of day that answers are dated with.
    pub clock: Clock,
}

/// Bodies in br that are undone at the same time; the window of each may take 16 MiB.
const WIDE_WINDOWS: usize = 2;

/// Asks origins for their robots.txt.
pub struct Fetcher {
    user_agent: HeaderValue,
    limits: FetchLimits,
    connector: Connector,
    wide_windows: Semaphore,
    history: Option<Arc<History>>,
    clock: Clock,
}

/// What came of one fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// What was seen.
    pub observation: Observation,
    /// The decoded body, where one was read. A body that an earlier run read is in its snapshot.
    pub body: Option<Bytes>,
}

impl Fetched {
    /// A fetch of which only the class is known.
    #[must_use]
    pub fn of_class(class: FetchClass) -> Self {
        Self { observation: Observation::of_class(class, None), body: None }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("user_agent", &self.user_agent)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Fetcher {
    /// A fetcher with these settings.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub fn new(settings: FetchSettings) -> Result<Self, HttpError> {
        let FetchSettings { user_agent, limits, allowed_addresses, network, history, clock } = settings;
        let limits = limits.checked()?;
        let user_agent = HeaderValue::from_str(&user_agent).map_err(|_| HttpError::UserAgent { user_agent })?;
        let connector = Connector::new(Guard::new(allowed_addresses), network)?;
        let wide_windows = Semaphore::new(WIDE_WINDOWS);
        Ok(Self { user_agent, limits, connector, wide_windows, history, clock })
    }

    /// Asks for the target's robots.txt; with validators, whether it has changed.
    async fn fetch_now(&self, target: &Target, validators: Option<&Validators>) -> Fetched {
        let start = Instant::now();
        let mut seen = Observation::of_class(FetchClass::Internal, None);
        let ending = {
            let schemes = timeout(self.limits.origin, self.try_schemes(target, validators, &mut seen));
            match caught(Box::pin(schemes)).await {
                Some(Ok(ending)) => ending,
                Some(Err(_)) => Failure::timeout(Reason::Total).into(),
                None => Failure::from(FetchClass::Internal).into(),
            }
        };
        seen.fetch_time = Some(self.clock.now_micros());
        seen.elapsed_ms = i64::try_from(start.elapsed().as_millis()).ok();
        seen.class = ending.class;
        seen.reason = ending.reason;
        if let Some(body) = &ending.body {
            seen.body_sha256 = Some(Sha256::digest(body).into());
            seen.body_octets = i64::try_from(body.len()).ok();
        }
        Fetched { observation: seen, body: ending.body }
    }

    /// A bare name means https, and http where https gives no connection (fetch policy §7).
    async fn try_schemes(&self, target: &Target, validators: Option<&Validators>, seen: &mut Observation) -> Ending {
        let ending = self.attempt(&target.origin, validators, seen).await;
        let may_fall_back = target.is_bare && target.origin.scheme() == Scheme::Https && seen.status.is_none();
        if !may_fall_back || !gave_no_connection(&ending) {
            return ending;
        }
        seen.first_attempt_class = Some(ending.class);
        seen.flags.insert(Flag::SchemeFallback);
        seen.remote_ip = None;
        self.attempt(&target.origin.with_scheme(Scheme::Http), validators, seen).await
    }

    async fn attempt(&self, origin: &Origin, validators: Option<&Validators>, seen: &mut Observation) -> Ending {
        seen.attempts = Some(seen.attempts.unwrap_or(0) + 1);
        seen.hops = Some(0);
        match timeout(self.limits.attempt, self.follow(origin, validators, seen)).await {
            Ok(result) => result.unwrap_or_else(Ending::from),
            Err(_) => Failure::timeout(Reason::Total).into(),
        }
    }
}

fn gave_no_connection(ending: &Ending) -> bool {
    match ending.class {
        FetchClass::ConnectFailed | FetchClass::ConnectTimeout => true,
        FetchClass::TlsFailed => ending.reason == Some(Reason::Handshake),
        _ => false,
    }
}

/// What the future gives; `None` where it panics.
async fn caught<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod loopback;
