//! The live fetch engine: asks an origin for its robots.txt and says what was seen (§2.3.1).
//!
//! One plain GET over HTTP/1.1, no more than one connection at a time, its address checked before it is opened;
//! redirects, retries, content codings and limits are the engine's own work, so that each failure has an exact class.
//! Addresses are paced, and who waits holds nothing. What an earlier run knows is used before and behind the requests.
//! This is the only place that opens sockets.

mod attempt;
mod connect;
mod crowd;
mod exchange;
mod failure;
mod guard;
mod http_date;
pub mod limits;
mod memory;
mod names;
mod network;
mod observe;
mod pace;
mod proxy;
mod retry;
mod room;
mod shortage;
mod stop;
mod tally;
mod trip;
mod user_agent;

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use hyper::header::HeaderValue;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use url::Url;

use self::connect::Connector;
use self::failure::{Ending, Failure};
use self::limits::{LEAST_REDIRECTS, MOST_REDIRECTS};
use self::retry::{Pause, Retry};
use self::room::{Aside, Seat};
use self::tally::Tally;
use self::trip::{TimeLeft, Trip};
use crate::origin::{Origin, Scheme, Target};
use crate::robots::access::{FetchClass, Flag, Reason};
use crate::source::clock::Clock;
use crate::source::history::History;
use crate::source::history::earlier::Validators;
use crate::tables::fetches::Observation;

pub use crowd::{Results, fetch_all};
pub use limits::FetchLimits;
pub use network::{EmbeddedNetwork, NameAnswer, Network};
pub use pace::{PER_IP_CONCURRENCY, PER_IP_RATE};
pub use retry::{LONGEST_RETRY_AFTER, RETRIES};
pub use stop::{STOP_GRACE, Stop};
pub use tally::{LookUps, Manners, OwnFailures};
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
    /// The redirect limit is below §2.3.1.2, or beyond all use.
    #[error(
        "a limit of {redirects} redirects is not between the {least} that should be followed and {most}",
        least = LEAST_REDIRECTS,
        most = MOST_REDIRECTS
    )]
    RedirectLimit {
        /// As given.
        redirects: u16,
    },
    /// The proxy is no plain HTTP proxy.
    #[error("proxy {url:?} is not of the form http://HOST:PORT")]
    Proxy {
        /// As given, without user information and path.
        url: String,
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
    /// Attempts after the first; the one over http after https is none of them.
    pub retries: u16,
    /// Makes the waits before retries reproducible.
    pub retry_seed: Option<u64>,
    /// Connections to one address at a time; 0 is no limit.
    pub per_ip_concurrency: usize,
    /// New connections to one address in a second; 0 is no limit.
    pub per_ip_rate: u32,
    /// Names looked up at a time, whatever the number of connections.
    pub look_ups: NonZeroUsize,
    /// Name servers that are asked instead of the system's.
    pub dns_servers: Vec<SocketAddr>,
    /// The HTTP proxy (`http://HOST:PORT`) that all connections go through. It resolves names, so that the guard
    /// judges literal addresses only, and addresses are not paced.
    pub proxy: Option<Url>,
    /// What an earlier run knows, where there was one.
    pub history: Option<Arc<History>>,
    /// The time of day that answers are dated with.
    pub clock: Clock,
}

/// Names looked up at a time. A name server that never answers takes its time; the other names go on meanwhile.
pub const LOOK_UPS: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

impl FetchSettings {
    /// The defaults, on a network.
    #[must_use]
    pub fn new(user_agent: String, network: Network) -> Self {
        Self {
            user_agent,
            limits: FetchLimits::default(),
            allowed_addresses: Vec::new(),
            network,
            retries: RETRIES,
            retry_seed: None,
            per_ip_concurrency: PER_IP_CONCURRENCY,
            per_ip_rate: PER_IP_RATE,
            look_ups: LOOK_UPS,
            dns_servers: Vec::new(),
            proxy: None,
            history: None,
            clock: Clock::System,
        }
    }
}

/// Bodies in br that are undone at the same time; the window of each may take 16 MiB.
const WIDE_WINDOWS: usize = 2;

/// Asks origins for their robots.txt.
pub struct Fetcher {
    user_agent: HeaderValue,
    limits: FetchLimits,
    look_ups: NonZeroUsize,
    retry: Retry,
    connector: Connector,
    tally: Arc<Tally>,
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
    pub fn new(mut settings: FetchSettings) -> Result<Self, HttpError> {
        settings.limits = settings.limits.checked()?;
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| HttpError::UserAgent { user_agent: settings.user_agent.clone() })?;
        let tally = Arc::<Tally>::default();
        Ok(Self {
            limits: settings.limits.clone(),
            look_ups: settings.look_ups,
            retry: Retry::new(settings.retries, settings.retry_seed),
            history: settings.history.clone(),
            clock: settings.clock,
            connector: Connector::new(settings, user_agent.clone(), Arc::clone(&tally))?,
            user_agent,
            tally,
            wide_windows: Semaphore::new(WIDE_WINDOWS),
        })
    }

    /// How this fetcher has behaved so far.
    #[must_use]
    pub fn manners(&self) -> Manners {
        self.tally.manners(self.connector.most_to_one_address())
    }

    /// Fetches of [`fetch_all`] under way, those that wait for something among them.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.tally.under_way.get()
    }

    /// What this machine was short of so far.
    #[must_use]
    pub fn own_failures(&self) -> OwnFailures {
        self.tally.own_failures()
    }

    /// Asks for the target's robots.txt, with validators whether it has changed. The seat is still taken at the end
    /// where there is a body.
    async fn fetch_now(&self, seat: &mut Seat, target: &Target, validators: Option<&Validators>) -> Fetched {
        let start = Instant::now();
        let mut seen = Observation::of_class(FetchClass::Internal, None);
        let mut trip = Trip { seat, time: TimeLeft::new(&self.limits), validators };
        let ending = caught(pin!(self.ask_until_clear(target, &mut seen, &mut trip))).await;
        let ending = ending.unwrap_or_else(|| Failure::from(FetchClass::Internal).into());
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

    /// Attempts until an answer is clear or the retries are used up. A bare name means https, and http at once where
    /// https gives no connection (fetch policy §7): that is no retry, and later retries stay with http.
    async fn ask_until_clear(&self, target: &Target, seen: &mut Observation, trip: &mut Trip<'_>) -> Ending {
        let mut origin = Cow::Borrowed(&target.origin);
        let mut retries = 0;
        loop {
            let ending = self.attempt(&origin, seen, trip).await;
            let may_fall_back = target.is_bare && origin.scheme() == Scheme::Https && seen.status.is_none();
            if may_fall_back && gave_no_connection(&ending) {
                seen.first_attempt_class = Some(ending.class);
                seen.flags.insert(Flag::SchemeFallback);
                origin = Cow::Owned(origin.with_scheme(Scheme::Http));
                continue;
            }
            let Some(pause) = self.retry.pause(&ending, seen, retries).filter(|_| !trip.time.is_over()) else {
                return ending;
            };
            retries += 1;
            self.wait(pause, trip.seat).await;
        }
    }

    async fn wait(&self, pause: Pause, seat: &mut Seat) {
        self.tally.retries.add_one();
        let pause = match pause {
            Pause::Jittered(pause) => pause,
            Pause::Asked(pause) => {
                self.tally.waits_for_retry_after.add_one();
                pause
            }
        };
        seat.aside(Aside::Wait, pin!(sleep(pause))).await;
    }

    /// One attempt. Of those before it only their number stays, and what led to this scheme.
    async fn attempt(&self, origin: &Origin, seen: &mut Observation, trip: &mut Trip<'_>) -> Ending {
        let mut new = Observation::of_class(FetchClass::Internal, None);
        new.attempts = Some(seen.attempts.unwrap_or(0).saturating_add(1));
        new.first_attempt_class = seen.first_attempt_class;
        new.hops = Some(0);
        if seen.flags.contains(Flag::SchemeFallback) {
            new.flags.insert(Flag::SchemeFallback);
        }
        *seen = new;
        trip.time.begin_attempt(&self.limits);
        // Boxed: what waits between attempts is small.
        Box::pin(self.follow(origin, seen, trip)).await.unwrap_or_else(Ending::from)
    }
}

fn gave_no_connection(ending: &Ending) -> bool {
    match ending.class {
        FetchClass::ConnectFailed | FetchClass::ConnectTimeout => true,
        FetchClass::TlsFailed => ending.reason == Some(Reason::Handshake),
        _ => false,
    }
}

/// What the future gives; `None` where it panics. Here and elsewhere callers pin what they pass on: a future that is
/// moved into another has its place in it twice.
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
