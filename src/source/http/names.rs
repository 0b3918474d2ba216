//! Names to addresses: the name servers that the settings or the system name, or the embedded network.

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RecordType};
use tokio::runtime::{self, Handle};
use tokio::time::{sleep, timeout};

use super::HttpError;
use super::network::{EmbeddedNetwork, NameAnswer};
use super::shortage::{self, Shortage};
use super::tally::Tally;

/// Look-ups that may wait on one connection to a name server; beyond it the resolver would refuse.
const ACTIVE_REQUESTS: usize = 16 * 1024;
/// Answers of name servers that are remembered: redirects and retries ask for names again, lists hardly do.
const REMEMBERED_ANSWERS: u64 = 8 * 1024;
/// How long a name whose IPv4 addresses are known waits for its IPv6 ones: some name servers never answer for them.
const IPV6_GRACE: Duration = Duration::from_millis(500);

/// The resolver of the system's configuration, or of name servers that were given.
///
/// Its connections to name servers live on the runtime that opened them, so each runtime has a resolver of its own;
/// the one used last is kept.
pub(super) struct SystemResolver {
    config: ResolverConfig,
    options: ResolverOpts,
    current: Mutex<Option<(runtime::Id, Arc<TokioResolver>)>>,
    tally: Arc<Tally>,
}

/// The resolver could not ask, through a fault of this machine.
struct CannotAsk;

impl SystemResolver {
    /// Asks these name servers; those that the system names where there are none.
    ///
    /// # Errors
    /// The system's resolver configuration cannot be read.
    pub(super) fn new(servers: &[SocketAddr], tally: Arc<Tally>) -> Result<Self, HttpError> {
        if !servers.is_empty() {
            let servers = servers.iter().copied().map(name_server).collect();
            let mut options = ResolverOpts::default();
            options.use_hosts_file = ResolveHosts::Never;
            return Ok(Self::with_config(ResolverConfig::from_name_servers(servers), options, tally));
        }
        let (config, options) = hickory_resolver::system_conf::read_system_conf()
            .map_err(|source| HttpError::Resolver { source: Box::new(source) })?;
        Ok(Self::with_config(config, options, tally))
    }

    fn with_config(config: ResolverConfig, mut options: ResolverOpts, tally: Arc<Tally>) -> Self {
        options.max_active_requests = ACTIVE_REQUESTS;
        options.cache_size = REMEMBERED_ANSWERS;
        Self { config, options, current: Mutex::new(None), tally }
    }

    /// Looks a name up. What this machine is short of is waited for.
    pub(super) async fn look_up(&self, name: &str, limit: Duration) -> NameAnswer {
        let Some(name) = full_name(name) else {
            return NameAnswer::NxDomain;
        };
        for tries in 0..shortage::TRIES {
            if let Ok(answer) = self.look_up_once(&name, limit).await {
                return answer;
            }
            self.tally.own_resolver.add_one();
            sleep(shortage::pause(tries)).await;
        }
        NameAnswer::Failure
    }

    /// Looks up addresses of both families at the same time.
    async fn look_up_once(&self, name: &Name, limit: Duration) -> Result<NameAnswer, CannotAsk> {
        let resolver = self.of_this_runtime().map_err(|_| CannotAsk)?;
        let mut v4 = pin!(records(&resolver, name, RecordType::A, limit));
        let mut v6 = pin!(records(&resolver, name, RecordType::AAAA, limit));
        let mut v6_answer = None;
        let v4_answer = loop {
            tokio::select! {
                answer = &mut v4 => break answer,
                answer = &mut v6, if v6_answer.is_none() => v6_answer = Some(answer),
            }
        };
        let v6_answer = match (v6_answer, &v4_answer) {
            (Some(answer), _) => answer,
            (None, Ok(NameAnswer::Addresses(_))) => timeout(IPV6_GRACE, v6).await.unwrap_or(Ok(NameAnswer::Timeout)),
            (None, _) => v6.await,
        };
        match (v4_answer, v6_answer) {
            (Ok(v4), Ok(v6)) => Ok(merged(v4, v6)),
            (Ok(NameAnswer::Addresses(addresses)), Err(_)) => Ok(NameAnswer::Addresses(addresses)),
            (Err(_), _) | (_, Err(_)) => Err(CannotAsk),
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
        let mut builder = TokioResolver::builder_with_config(self.config.clone(), TokioRuntimeProvider::default());
        *builder.options_mut() = self.options.clone();
        let resolver = Arc::new(builder.build()?);
        *current = Some((here, Arc::clone(&resolver)));
        Ok(resolver)
    }
}

/// A name server that is asked over UDP, and over TCP where an answer is too long for that.
fn name_server(address: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// The name as it stands, without the system's search list; `None` where DNS can hold no such name.
fn full_name(name: &str) -> Option<Name> {
    // Label by label: some names that are no host names by the book resolve all the same.
    let labels: Vec<&[u8]> = name.split('.').map(str::as_bytes).collect();
    Name::from_labels(labels).ok()
}

/// Addresses of one family.
async fn records(
    resolver: &TokioResolver,
    name: &Name,
    kind: RecordType,
    limit: Duration,
) -> Result<NameAnswer, CannotAsk> {
    Ok(match timeout(limit, resolver.lookup(name.clone(), kind)).await {
        Ok(Ok(answer)) => {
            let addresses: Vec<IpAddr> = answer.answers().iter().filter_map(|record| record.data.ip_addr()).collect();
            if addresses.is_empty() { NameAnswer::NoData } else { NameAnswer::Addresses(addresses) }
        }
        Ok(Err(NetError::Busy)) => return Err(CannotAsk),
        Ok(Err(NetError::Io(error))) if Shortage::of(&error).is_some() => return Err(CannotAsk),
        Ok(Err(error)) => of_error(&error),
        Err(_) => NameAnswer::Timeout,
    })
}

/// Any address counts; without one, only two clear answers make a clear answer.
fn merged(v4: NameAnswer, v6: NameAnswer) -> NameAnswer {
    use NameAnswer as N;
    match (v4, v6) {
        (N::Addresses(mut v4), N::Addresses(v6)) => {
            v4.extend(v6);
            N::Addresses(v4)
        }
        (N::Addresses(addresses), _) | (_, N::Addresses(addresses)) => N::Addresses(addresses),
        (N::NxDomain, _) | (_, N::NxDomain) => N::NxDomain,
        (N::Failure, _) | (_, N::Failure) => N::Failure,
        (N::Timeout, _) | (_, N::Timeout) => N::Timeout,
        (N::NoData, N::NoData) => N::NoData,
    }
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hickory_resolver::config::NameServerConfig;
    use tokio::net::UdpSocket;

    use super::*;

    const A: u8 = 1;
    const AAAA: u8 = 28;

    /// What the name server does for a name and a record type: a response code with addresses, or nothing.
    fn play(label: &str, kind: u8) -> Option<(u8, Vec<u8>)> {
        let v4 = vec![192, 0, 2, 7];
        let v6 = [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[7]].concat();
        Some(match (label, kind) {
            ("both" | "quiet6" | "broken6", A) => (0, v4),
            ("both" | "only6", AAAA) => (0, v6),
            ("only6" | "nodata" | "half", A) | ("nodata", AAAA) => (0, Vec::new()),
            ("nx", _) => (3, Vec::new()),
            ("servfail", _) | ("broken6" | "half", AAAA) => (2, Vec::new()),
            ("refused", _) => (5, Vec::new()),
            _ => return None,
        })
    }

    /// The answer to one query (RFC 1035 §4.1).
    fn response(query: &[u8]) -> Option<Vec<u8>> {
        let label_octets = usize::from(query[12]);
        let label = std::str::from_utf8(&query[13..13 + label_octets]).expect("ASCII").to_ascii_lowercase();
        let name_octets = query[12..].iter().position(|octet| *octet == 0).expect("the root") + 1;
        let question = &query[12..12 + name_octets + 4];
        let kind = question[name_octets + 1];
        let (code, address) = play(&label, kind)?;
        let answers = u8::from(!address.is_empty());
        let mut message = vec![query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, answers, 0, 0, 0, 0];
        message.extend_from_slice(question);
        if !address.is_empty() {
            message.extend_from_slice(&[0xC0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0]);
            message.push(u8::try_from(address.len()).expect("short"));
            message.extend_from_slice(&address);
        }
        Some(message)
    }

    async fn resolver() -> SystemResolver {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let mut server = NameServerConfig::udp(IpAddr::from(Ipv4Addr::LOCALHOST));
        server.connections[0].port = socket.local_addr().expect("bound").port();
        tokio::spawn(async move {
            let mut query = [0; 512];
            while let Ok((octets, peer)) = socket.recv_from(&mut query).await {
                if let Some(message) = response(&query[..octets]) {
                    let _ = socket.send_to(&message, peer).await;
                }
            }
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        SystemResolver::with_config(config, ResolverOpts::default(), Arc::default())
    }

    #[tokio::test]
    async fn answers_of_a_name_server() {
        let resolver = resolver().await;
        let v4: IpAddr = "192.0.2.7".parse().expect("an address");
        let v6: IpAddr = "2001:db8::7".parse().expect("an address");
        for (name, expected) in [
            ("both.test", NameAnswer::Addresses(vec![v4, v6])),
            ("only6.test", NameAnswer::Addresses(vec![v6])),
            ("quiet6.test", NameAnswer::Addresses(vec![v4])),
            ("broken6.test", NameAnswer::Addresses(vec![v4])),
            ("nx.test", NameAnswer::NxDomain),
            ("nodata.test", NameAnswer::NoData),
            ("half.test", NameAnswer::Failure),
            ("servfail.test", NameAnswer::Failure),
            ("refused.test", NameAnswer::Failure),
            ("silent.test", NameAnswer::Timeout),
        ] {
            let limit = Duration::from_millis(if name == "silent.test" { 300 } else { 10_000 });
            assert_eq!(resolver.look_up(name, limit).await, expected, "{name}");
        }
    }

    #[test]
    fn a_resolver_for_each_runtime() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let first = runtime();
        let resolver = first.block_on(resolver());
        let on = |runtime: &tokio::runtime::Runtime| {
            runtime.block_on(async { resolver.of_this_runtime().expect("a resolver") })
        };
        let (one, same, other) = (on(&first), on(&first), on(&runtime()));
        assert!(Arc::ptr_eq(&one, &same));
        assert!(!Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn names_are_taken_as_they_are() {
        for name in ["a.test", "a_b.test", "_x.test", "-a.test", "a-.test", "xn--lw8h.test", "xn--a.test", "1.2.test"] {
            assert!(full_name(name).is_some_and(|full| full.is_fqdn()), "{name}");
        }
        assert_eq!(full_name(&["a"; 200].join(".")), None);
        assert_eq!(full_name("a..test"), None);
    }
}
