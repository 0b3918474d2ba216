//! Names to addresses: the resolver that the system is configured with, or the embedded one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use hickory_resolver::net::NetError;
use hickory_resolver::proto::rr::Name;
use tokio::runtime::{self, Handle};
use tokio::time::timeout;

use super::HttpError;
use super::network::{EmbeddedNetwork, NameAnswer};

/// Look-ups that may wait on one connection to a name server; beyond it the resolver would refuse.
const ACTIVE_REQUESTS: usize = 16 * 1024;

/// The resolver of the system's configuration.
///
/// Its connections to name servers live on the runtime that opened them, so each runtime has a resolver of its own;
/// the one used last is kept.
pub(super) struct SystemResolver {
    current: Mutex<Option<(runtime::Id, Arc<TokioResolver>)>>,
}

impl SystemResolver {
    /// # Errors
    /// The system's resolver configuration cannot be read.
    pub(super) fn new() -> Result<Self, HttpError> {
        // Read here once so that a broken configuration is known before any work starts.
        build().map_err(|source| HttpError::Resolver { source: Box::new(source) })?;
        Ok(Self { current: Mutex::new(None) })
    }

    pub(super) async fn look_up(&self, name: &str, limit: Duration) -> NameAnswer {
        let Ok(name) = Name::from_ascii(format!("{name}.")) else {
            return NameAnswer::NxDomain;
        };
        let Ok(resolver) = self.of_this_runtime() else {
            return NameAnswer::Failure;
        };
        match timeout(limit, resolver.lookup_ip(name)).await {
            Ok(Ok(answer)) => NameAnswer::Addresses(answer.iter().collect()),
            Ok(Err(error)) => of_error(&error),
            Err(_) => NameAnswer::Timeout,
        }
    }

    fn of_this_runtime(&self) -> Result<Arc<TokioResolver>, NetError> {
        let here = Handle::current().id();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((runtime, resolver)) = &*current
            && *runtime == here
        {
            return Ok(Arc::clone(resolver));
        }
        let resolver = Arc::new(build()?);
        *current = Some((here, Arc::clone(&resolver)));
        Ok(resolver)
    }
}

fn build() -> Result<TokioResolver, NetError> {
    let mut builder = TokioResolver::builder_tokio()?;
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.max_active_requests = ACTIVE_REQUESTS;
    builder.build()
}

fn of_error(error: &NetError) -> NameAnswer {
    if error.is_nx_domain() {
        NameAnswer::NxDomain
    } else if error.is_no_records_found() {
        NameAnswer::NoData
    } else if matches!(error, NetError::Timeout) {
        NameAnswer::Timeout
    } else {
        NameAnswer::Failure
    }
}

/// Asks the embedded network. A name server that does not answer takes the whole limit, as a real one would.
pub(super) async fn look_up_embedded(network: &EmbeddedNetwork, name: &str, limit: Duration) -> NameAnswer {
    let answer = (network.names)(name);
    if answer == NameAnswer::Timeout {
        tokio::time::sleep(limit).await;
    }
    answer
}
