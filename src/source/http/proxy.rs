//! An HTTP proxy between this program and all origins (fetch policy §6): absolute-form for http, CONNECT for https
//! (RFC 9112 §3.2.2, RFC 9110 §9.3.6).
//!
//! The proxy resolves names, so that the guard sees none of their addresses, and no address can be paced.

use hyper::header::HeaderValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::HttpError;
use super::failure::Failure;
use crate::origin::Origin;
use crate::robots::access::FetchClass;

/// Octets of what a proxy says to CONNECT.
const ANSWER_OCTETS: usize = 16 * 1024;

/// Where the proxy is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    /// Name or address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Proxy {
    /// # Errors
    /// The URL is more, or other, than `http://HOST:PORT`.
    pub(super) fn of_url(url: &Url) -> Result<Self, HttpError> {
        let is_bare = url.scheme() == "http"
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none();
        let host = match url.host().filter(|_| is_bare) {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(HttpError::Proxy { url: shown(url) }),
        };
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80) })
    }
}

/// Without what could be a secret.
fn shown(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default())
}

/// Asks the proxy for a way through to the origin. What the proxy refuses is no connection: whether the name, the
/// address or the proxy was at fault is not told reliably.
pub(super) async fn tunnel(tcp: &mut TcpStream, origin: &Origin, user_agent: &HeaderValue) -> Result<(), Failure> {
    let host = origin.host();
    let name = host.strip_suffix('.').unwrap_or(host);
    let authority = format!("{name}:{}", origin.port());
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: ").into_bytes();
    request.extend_from_slice(user_agent.as_bytes());
    request.extend_from_slice(b"\r\n\r\n");
    let refused = |_| Failure::from(FetchClass::ConnectFailed);
    tcp.write_all(&request).await.map_err(refused)?;
    let mut answer = Vec::new();
    // A TLS server speaks second: what comes before it is asked is all of the proxy's answer.
    while !answer.ends_with(b"\r\n\r\n") {
        let octets = tcp.read_buf(&mut answer).await.map_err(refused)?;
        if octets == 0 || answer.len() > ANSWER_OCTETS {
            return Err(FetchClass::ConnectFailed.into());
        }
    }
    if is_success(&answer) { Ok(()) } else { Err(FetchClass::ConnectFailed.into()) }
}

/// Whether the status line says 2xx.
fn is_success(answer: &[u8]) -> bool {
    answer.starts_with(b"HTTP/1.")
        && matches!(answer.get(8..12), Some([b' ', b'2', a, b]) if a.is_ascii_digit() && b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_place_is_taken() {
        let of = |url: &str| Proxy::of_url(&Url::parse(url).expect(url)).map(|proxy| (proxy.host, proxy.port));
        assert_eq!(of("http://proxy.test:3128").expect("fine"), ("proxy.test".into(), 3128));
        assert_eq!(of("http://[::1]").expect("fine"), ("::1".into(), 80));
        for url in
            ["https://p.test", "socks5://p.test:1", "http://u:secret@p.test", "http://p.test/x", "http://p.test/?x"]
        {
            let error = of(url).expect_err(url).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn answers_to_connect() {
        for (answer, expected) in [
            ("HTTP/1.1 200 Connection established\r\n\r\n", true),
            ("HTTP/1.0 200\r\n\r\n", true),
            ("HTTP/1.1 407 No\r\n\r\n", false),
            ("HTTP/1.1 2", false),
            ("SSH-2.0 200 ok", false),
        ] {
            assert_eq!(is_success(answer.as_bytes()), expected, "{answer}");
        }
    }
}
