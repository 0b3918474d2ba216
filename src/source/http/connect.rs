//! Connections: addresses that the guard let pass, TCP, and TLS where the scheme asks for it.
//!
//! A connection goes to the very address that was checked, or to the listener that stands for it on an embedded
//! network; nothing is looked up twice. Each connection has its address's turn. With a proxy every connection goes
//! there: only literal addresses and local names can be judged then.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::header::HeaderValue;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::Failure;
use super::guard::{self, Guard};
use super::limits::FetchLimits;
use super::names::{SystemResolver, look_up_embedded};
use super::network::{EmbeddedNetwork, NameAnswer, Network};
use super::pace::{Pace, Turn};
use super::proxy::{self, Proxy};
use super::room::Aside;
use super::shortage::{self, Shortage};
use super::tally::Tally;
use super::trip::{TimeLeft, Trip};
use super::{FetchSettings, HttpError};
use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Reason};

/// Addresses of a name that are tried; all of them are checked.
const ADDRESSES_TRIED: usize = 8;

/// Opens connections for one fetcher.
pub(super) struct Connector {
    guard: Guard,
    reach: Reach,
    tls: TlsConnector,
    proxy: Option<Proxy>,
    pace: Option<Pace>,
    look_ups: Semaphore,
    user_agent: HeaderValue,
    limits: FetchLimits,
    tally: Arc<Tally>,
}

/// Where names and connections go.
enum Reach {
    System(Box<SystemResolver>),
    Embedded(EmbeddedNetwork),
}

/// An open connection, and its address's turn as long as it is open.
pub(super) struct Wire {
    stream: Stream,
    _turn: Option<Turn>,
}

enum Stream {
    /// TCP alone.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A TCP connection with its address.
struct Opened {
    tcp: TcpStream,
    address: IpAddr,
    turn: Option<Turn>,
    /// Time left for TLS.
    left: Duration,
}

impl Connector {
    /// With settings that are checked already.
    pub(super) fn new(settings: FetchSettings, user_agent: HeaderValue, tally: Arc<Tally>) -> Result<Self, HttpError> {
        let extra_roots = match &settings.network {
            Network::System => &[],
            Network::Embedded(network) => network.extra_roots.as_slice(),
        };
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for root in extra_roots {
            roots.add(root.clone()).map_err(|source| HttpError::Tls { source })?;
        }
        let tls = TlsConnector::from(Arc::new(client_config(roots)?));
        let reach = match settings.network {
            Network::System => Reach::System(Box::new(SystemResolver::new(&settings.dns_servers, Arc::clone(&tally))?)),
            Network::Embedded(network) => Reach::Embedded(network),
        };
        let proxy = settings.proxy.as_ref().map(Proxy::of_url).transpose()?;
        let is_direct = proxy.is_none();
        Ok(Self {
            guard: Guard::new(settings.allowed_addresses),
            reach,
            tls,
            proxy,
            pace: Pace::new(settings.per_ip_concurrency, settings.per_ip_rate).filter(|_| is_direct),
            look_ups: Semaphore::new(settings.look_ups.get().min(Semaphore::MAX_PERMITS)),
            user_agent,
            limits: settings.limits,
            tally,
        })
    }

    /// Whether origins are reached through a proxy.
    pub(super) fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// Most connections to one address at a time, where addresses are paced.
    pub(super) fn most_to_one_address(&self) -> Option<u64> {
        self.pace.as_ref().map(|pace| pace.most_at_once() as u64)
    }

    /// The addresses to connect to for the origin, all of them checked; those of the proxy where there is one.
    pub(super) async fn addresses(&self, origin: &Origin, trip: &mut Trip<'_>) -> Result<Vec<IpAddr>, Failure> {
        let name = bare_host(origin);
        let addresses = match (name.parse(), &self.proxy) {
            (Ok(address), _) => vec![address],
            (Err(_), _) if guard::is_local_name(name) => return Err(Failure::blocked(Reason::Address)),
            (Err(_), None) => self.look_up(name, trip).await?,
            (Err(_), Some(_)) => Vec::new(),
        };
        if !addresses.iter().all(|address| self.guard.lets_pass(*address)) {
            return Err(Failure::blocked(Reason::Address));
        }
        match &self.proxy {
            Some(proxy) => self.addresses_of_proxy(proxy, trip).await,
            None => Ok(addresses),
        }
    }

    async fn addresses_of_proxy(&self, proxy: &Proxy, trip: &mut Trip<'_>) -> Result<Vec<IpAddr>, Failure> {
        match proxy.host.parse() {
            Ok(address) => Ok(vec![address]),
            // That a proxy's name does not exist says nothing about the origin's.
            Err(_) => self.look_up(&proxy.host, trip).await.map_err(|_| FetchClass::ConnectFailed.into()),
        }
    }

    /// Looks a name up. So many names at a time are looked up, whatever the number of connections; the time in that
    /// line is no work.
    async fn look_up(&self, name: &str, trip: &mut Trip<'_>) -> Result<Vec<IpAddr>, Failure> {
        let Trip { seat, time, .. } = trip;
        let in_line = async {
            let _one_of_few = self.look_ups.acquire().await.expect("never closed");
            time.spend(pin!(self.ask_for(name))).await
        };
        let answer = seat.aside(Aside::LookUp, pin!(in_line)).await?;
        self.tally.count_look_up(&answer);
        match answer {
            NameAnswer::Addresses(addresses) if !addresses.is_empty() => Ok(addresses),
            NameAnswer::NxDomain => Err(FetchClass::DnsNxdomain.into()),
            NameAnswer::Addresses(_) | NameAnswer::NoData => {
                Err(Failure::because(FetchClass::DnsNxdomain, Reason::NoData))
            }
            NameAnswer::Failure => Err(FetchClass::DnsFailure.into()),
            NameAnswer::Timeout => Err(Failure::because(FetchClass::DnsFailure, Reason::DnsTimeout)),
        }
    }

    async fn ask_for(&self, name: &str) -> NameAnswer {
        match &self.reach {
            Reach::System(resolver) => Box::pin(resolver.look_up(name, self.limits.connect)).await,
            Reach::Embedded(network) => look_up_embedded(network, name, self.limits.connect).await,
        }
    }

    /// Connects to one of the addresses. The address is noted as soon as TCP stands, whatever TLS then does.
    pub(super) async fn open(
        &self,
        origin: &Origin,
        addresses: &[IpAddr],
        trip: &mut Trip<'_>,
        connected_to: &mut Option<IpAddr>,
    ) -> Result<Wire, Failure> {
        let Opened { tcp, address, turn, left } = self.open_tcp(addresses, origin.port(), trip).await?;
        if !self.has_proxy() {
            *connected_to = Some(address);
        }
        let stream = match origin.scheme() {
            Scheme::Http => Stream::Plain(tcp),
            // Boxed: many origins wait for their turn here, and their futures are as large as the largest part.
            Scheme::Https => Stream::Tls(Box::pin(self.open_tls(tcp, origin, left, &mut trip.time)).await?),
        };
        Ok(Wire { stream, _turn: turn })
    }

    async fn open_tls(
        &self,
        mut tcp: TcpStream,
        origin: &Origin,
        left: Duration,
        time: &mut TimeLeft,
    ) -> Result<Box<TlsStream<TcpStream>>, Failure> {
        let name = ServerName::try_from(bare_host(origin).to_owned()).map_err(|_| Failure::tls(Reason::Handshake))?;
        let late = Failure::because(FetchClass::ConnectTimeout, Reason::Tls);
        let shake_hands = async {
            if self.has_proxy() {
                proxy::tunnel(&mut tcp, origin, &self.user_agent).await?;
            }
            self.tls.connect(name, tcp).await.map_err(|error| Failure::tls(of_handshake(&error)))
        };
        time.spend_at_most(left, late, pin!(shake_hands)).await?.map(Box::new)
    }

    /// Tries the addresses in turn; each gets an equal share of the time that is left.
    async fn open_tcp(&self, addresses: &[IpAddr], port: u16, trip: &mut Trip<'_>) -> Result<Opened, Failure> {
        let mut class = FetchClass::ConnectFailed;
        let mut left = self.limits.connect;
        let tried = addresses.len().min(ADDRESSES_TRIED);
        for (others, address) in (1..=tried).rev().zip(addresses.iter().copied()) {
            let share = left / u32::try_from(others).unwrap_or(1);
            let start = Instant::now();
            let mut waited = Duration::ZERO;
            let result = self.open_one(address, port, share, trip, &mut waited).await;
            left = left.saturating_sub(start.elapsed().saturating_sub(waited));
            match result? {
                Ok((tcp, turn)) => return Ok(Opened { tcp, address, turn, left }),
                Err(missed) if missed == FetchClass::ConnectTimeout => class = missed,
                Err(_) => {}
            }
        }
        Err(class.into())
    }

    /// Tries one address in its turn. What this machine is short of is waited for; beyond that it is no connection.
    ///
    /// # Errors
    /// Outside, the attempt is out of time; inside, the class of having no connection to this address.
    async fn open_one(
        &self,
        address: IpAddr,
        port: u16,
        share: Duration,
        trip: &mut Trip<'_>,
        waited: &mut Duration,
    ) -> Result<Result<(TcpStream, Option<Turn>), FetchClass>, Failure> {
        let late = Failure::from(FetchClass::ConnectTimeout);
        for tries in 0..shortage::TRIES {
            let start = Instant::now();
            let turn = self.turn(address, trip).await;
            *waited += start.elapsed();
            let connect = TcpStream::connect(self.socket(address, port));
            let error = match trip.time.spend_at_most(share, late, pin!(connect)).await {
                Ok(Ok(tcp)) => return Ok(Ok((tcp, turn))),
                Ok(Err(error)) => error,
                Err(failure) if failure == late => return Ok(Err(FetchClass::ConnectTimeout)),
                Err(failure) => return Err(failure),
            };
            let Some(shortage) = Shortage::of(&error) else {
                let is_late = error.kind() == io::ErrorKind::TimedOut;
                return Ok(Err(if is_late { FetchClass::ConnectTimeout } else { FetchClass::ConnectFailed }));
            };
            shortage.count(&self.tally).add_one();
            drop(turn);
            let start = Instant::now();
            trip.seat.aside(Aside::Wait, pin!(sleep(shortage::pause(tries)))).await;
            *waited += start.elapsed();
        }
        Ok(Err(FetchClass::ConnectFailed))
    }

    /// Waits until a connection to the address may begin.
    async fn turn(&self, address: IpAddr, trip: &mut Trip<'_>) -> Option<Turn> {
        if let Some(pace) = &self.pace {
            return Some(pace.turn(address, trip.seat, &self.tally).await);
        }
        trip.seat.take().await;
        None
    }

    fn socket(&self, address: IpAddr, port: u16) -> SocketAddr {
        match (&self.proxy, &self.reach) {
            (Some(proxy), _) => SocketAddr::new(address, proxy.port),
            (None, Reach::System(_)) => SocketAddr::new(address, port),
            (None, Reach::Embedded(network)) => (network.ports)(address, port),
        }
    }
}

/// The host without brackets, and without the trailing dot, which belongs to the origin alone (fetch policy §7).
fn bare_host(origin: &Origin) -> &str {
    let host = origin.host();
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address,
        None => host.strip_suffix('.').unwrap_or(host),
    }
}

fn client_config(roots: RootCertStore) -> Result<ClientConfig, HttpError> {
    // The provider is named here: a process-wide default would be the caller's business.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| HttpError::Tls { source })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Each origin is asked once, so that no session is ever resumed.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Why a handshake failed.
fn of_handshake(error: &io::Error) -> Reason {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(certificate)) = tls else {
        return Reason::Handshake;
    };
    match certificate {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => Reason::CertExpired,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Reason::CertName,
        CertificateError::UnknownIssuer => Reason::CertIssuer,
        // A self-signed certificate is mostly marked as an authority. The verifier's own error type is not at hand.
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => Reason::CertIssuer,
        _ => Reason::CertInvalid,
    }
}

impl Wire {
    pub(super) fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, octets),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, octets),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            // It is closed as soon as the answer is read: a call to end one direction first would only cost time.
            Stream::Plain(_) => Poll::Ready(Ok(())),
            Stream::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
