//! Connections: addresses that the guard let pass, TCP, and TLS where the scheme asks for it.
//!
//! A connection goes to the very address that was checked, or to the listener that stands for it on an embedded
//! network; nothing is looked up twice.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::Failure;
use super::names::{SystemResolver, look_up_embedded};
use super::network::{EmbeddedNetwork, NameAnswer, Network};
use super::{HttpError, guard, guard::Guard, limits::FetchLimits};
use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Reason};

/// Addresses of a name that are tried; all of them are checked.
const ADDRESSES_TRIED: usize = 8;

/// Opens connections for one fetcher.
pub(super) struct Connector {
    guard: Guard,
    reach: Reach,
    tls: TlsConnector,
}

/// Where names and connections go.
enum Reach {
    System(Box<SystemResolver>),
    Embedded(EmbeddedNetwork),
}

/// An open connection.
pub(super) enum Wire {
    /// TCP alone.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connector {
    pub(super) fn new(guard: Guard, network: Network) -> Result<Self, HttpError> {
        let extra_roots = match &network {
            Network::System => &[],
            Network::Embedded(network) => network.extra_roots.as_slice(),
        };
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for root in extra_roots {
            roots.add(root.clone()).map_err(|source| HttpError::Tls { source })?;
        }
        let tls = TlsConnector::from(Arc::new(client_config(roots)?));
        let reach = match network {
            Network::System => Reach::System(Box::new(SystemResolver::new()?)),
            Network::Embedded(network) => Reach::Embedded(network),
        };
        Ok(Self { guard, reach, tls })
    }

    /// The addresses of the origin's host, all of them checked.
    pub(super) async fn addresses(&self, origin: &Origin, limits: &FetchLimits) -> Result<Vec<IpAddr>, Failure> {
        let name = bare_host(origin);
        let addresses = match name.parse() {
            Ok(address) => vec![address],
            Err(_) if guard::is_local_name(name) => return Err(Failure::blocked(Reason::Address)),
            Err(_) => self.look_up(name, limits).await?,
        };
        if addresses.iter().all(|address| self.guard.lets_pass(*address)) {
            Ok(addresses)
        } else {
            Err(Failure::blocked(Reason::Address))
        }
    }

    async fn look_up(&self, name: &str, limits: &FetchLimits) -> Result<Vec<IpAddr>, Failure> {
        let answer = match &self.reach {
            Reach::System(resolver) => resolver.look_up(name, limits.connect).await,
            Reach::Embedded(network) => look_up_embedded(network, name, limits.connect).await,
        };
        match answer {
            NameAnswer::Addresses(addresses) if !addresses.is_empty() => Ok(addresses),
            NameAnswer::Addresses(_) | NameAnswer::NxDomain | NameAnswer::NoData => Err(FetchClass::DnsNxdomain.into()),
            NameAnswer::Failure | NameAnswer::Timeout => Err(FetchClass::DnsFailure.into()),
        }
    }

    /// Connects to one of the addresses. The address is noted as soon as TCP stands, whatever TLS then does.
    pub(super) async fn open(
        &self,
        origin: &Origin,
        addresses: &[IpAddr],
        limits: &FetchLimits,
        connected_to: &mut Option<IpAddr>,
    ) -> Result<Wire, Failure> {
        let end = Instant::now() + limits.connect;
        let (tcp, address) = self.open_tcp(addresses, origin.port(), end).await?;
        *connected_to = Some(address);
        if origin.scheme() == Scheme::Http {
            return Ok(Wire::Plain(tcp));
        }
        let name = ServerName::try_from(bare_host(origin).to_owned()).map_err(|_| Failure::tls(Reason::Handshake))?;
        match timeout_at(end, self.tls.connect(name, tcp)).await {
            Ok(Ok(tls)) => Ok(Wire::Tls(Box::new(tls))),
            Ok(Err(error)) => Err(Failure::tls(of_handshake(&error))),
            Err(_) => Err(Failure::because(FetchClass::ConnectTimeout, Reason::Tls)),
        }
    }

    /// Tries the addresses in turn; each gets an equal share of the time that is left.
    async fn open_tcp(&self, addresses: &[IpAddr], port: u16, end: Instant) -> Result<(TcpStream, IpAddr), Failure> {
        let mut class = FetchClass::ConnectFailed;
        let tried = addresses.len().min(ADDRESSES_TRIED);
        for (left, address) in (1..=tried).rev().zip(addresses) {
            let share = end.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(1);
            match timeout_at(Instant::now() + share, TcpStream::connect(self.socket(*address, port))).await {
                Ok(Ok(tcp)) => return Ok((tcp, *address)),
                Ok(Err(error)) if error.kind() != io::ErrorKind::TimedOut => {}
                Ok(Err(_)) | Err(_) => class = FetchClass::ConnectTimeout,
            }
        }
        Err(class.into())
    }

    fn socket(&self, address: IpAddr, port: u16) -> SocketAddr {
        match &self.reach {
            Reach::System(_) => SocketAddr::new(address, port),
            Reach::Embedded(network) => (network.ports)(address, port),
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
        matches!(self, Self::Tls(_))
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, octets),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, octets),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
