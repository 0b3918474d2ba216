//! Fetches against small servers on loopback, octet by octet.

mod proxies;
mod waits;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const RULES: &str = "User-agent: *\nDisallow: /x\n";

/// What a server does once it has read a request head.
#[derive(Debug, Clone)]
enum Act {
    /// Writes the octets and closes.
    Say(Vec<u8>),
    /// Writes the octets and resets the connection.
    Reset(Vec<u8>),
    /// Writes the octets and stays.
    Hold(Vec<u8>),
    /// Waits, then writes the octets and closes.
    Slow(Vec<u8>, Duration),
    /// Writes the first octets, then the second ones for ever, every so often.
    Drip(Vec<u8>, Vec<u8>, Duration),
}

fn say(text: impl Into<Vec<u8>>) -> Act {
    Act::Say(text.into())
}

fn sized(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn ok(body: &str) -> Act {
    say(sized("200 OK", "", body.as_bytes()))
}

fn moved(to: &str) -> Act {
    say(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
}

/// A server whose heads are kept as they came.
#[derive(Clone)]
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Acts by the request line.
    async fn start(tls: Option<ServerConfig>, act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        Self::start_with_head(tls, move |head| act(head.lines().next().unwrap_or_default())).await
    }

    /// Acts by the Host field.
    async fn start_with_host(act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let host = |head: &str| {
            let field = head.lines().find_map(|line| line.strip_prefix("Host: "));
            field.unwrap_or("none").to_owned()
        };
        Self::start_with_head(None, move |head| act(&host(head))).await
    }

    async fn start_with_head(tls: Option<ServerConfig>, act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let server = Self { port, heads: Arc::default() };
        let heads = Arc::clone(&server.heads);
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let act = Arc::new(act);
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (heads, act, acceptor) = (Arc::clone(&heads), Arc::clone(&act), acceptor.clone());
                tokio::spawn(async move {
                    let answer = move |head: String| {
                        let act = act(&head);
                        heads.lock().expect("no panic").push(head);
                        act
                    };
                    match acceptor {
                        Some(acceptor) => serve_tls(acceptor, tcp, answer).await,
                        None => serve_plain(tcp, answer).await,
                    }
                });
            }
        });
        server
    }

    async fn plain(act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        Self::start(None, act).await
    }

    fn requests(&self) -> usize {
        self.heads.lock().expect("no panic").len()
    }
}

async fn serve_plain(mut tcp: TcpStream, answer: impl FnOnce(String) -> Act) {
    let act = answer(head(&mut tcp).await);
    if let Act::Reset(_) = act {
        tcp.set_zero_linger().expect("allowed");
    }
    play(&mut tcp, act).await;
}

/// Ends without `close_notify`, as many servers do.
async fn serve_tls(acceptor: TlsAcceptor, tcp: TcpStream, answer: impl FnOnce(String) -> Act) {
    if let Ok(mut tls) = acceptor.accept(tcp).await {
        let act = answer(head(&mut tls).await);
        play(&mut tls, act).await;
        let _ = tls.get_mut().0.shutdown().await;
    }
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    // A greeting of TLS is answered as a plain server does: at once.
    while !head.ends_with(b"\r\n\r\n") && head.first() != Some(&0x16) {
        match stream.read_u8().await {
            Ok(octet) => head.push(octet),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

async fn play(stream: &mut (impl AsyncWrite + Unpin), act: Act) {
    if let Act::Slow(_, pause) = &act {
        tokio::time::sleep(*pause).await;
    }
    let (Act::Say(first) | Act::Reset(first) | Act::Hold(first) | Act::Slow(first, _) | Act::Drip(first, ..)) = &act;
    let _ = stream.write_all(first).await;
    let _ = stream.flush().await;
    match act {
        Act::Say(_) | Act::Slow(..) => {}
        // Lets what was written arrive first.
        Act::Reset(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        Act::Hold(_) => tokio::time::sleep(Duration::from_secs(60)).await,
        Act::Drip(_, more, pause) => {
            while stream.write_all(&more).await.is_ok() && stream.flush().await.is_ok() {
                if pause.is_zero() {
                    tokio::task::yield_now().await;
                } else {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

fn short_limits() -> FetchLimits {
    FetchLimits {
        connect: Duration::from_millis(400),
        headers: Duration::from_millis(400),
        idle: Duration::from_millis(400),
        attempt: Duration::from_millis(1200),
        ..FetchLimits::default()
    }
}

/// Any name leads to the two listeners by port; `None` is a port where nothing listens.
fn network(http: Option<&Server>, https: Option<&Server>, roots: Vec<CertificateDer<'static>>) -> EmbeddedNetwork {
    let (http, https) = (http.map(|server| server.port), https.map(|server| server.port));
    EmbeddedNetwork {
        names: Box::new(|name| match name {
            "nx.test" => NameAnswer::NxDomain,
            "nodata.test" => NameAnswer::NoData,
            "none.test" => NameAnswer::Addresses(Vec::new()),
            "servfail.test" => NameAnswer::Failure,
            "silent.test" => NameAnswer::Timeout,
            "inner.test" => NameAnswer::Addresses(vec![LOOPBACK, [127, 0, 0, 2].into()]),
            "panic.test" => panic!("a fault on purpose"),
            _ => NameAnswer::Addresses(vec![LOOPBACK]),
        }),
        // Port 1 is the service that nobody runs on loopback.
        ports: Box::new(move |address, port| {
            let port = if port == 443 { https } else { http };
            SocketAddr::new(address, port.unwrap_or(1))
        }),
        extra_roots: roots,
    }
}

fn fetcher_on(network: EmbeddedNetwork, limits: FetchLimits) -> Fetcher {
    Fetcher::new(settings_on(network, limits)).expect("valid settings")
}

/// One attempt, and no pacing: nearly all names share one address here.
fn settings_on(network: EmbeddedNetwork, limits: FetchLimits) -> FetchSettings {
    let user_agent = user_agent("probe", "https://contact.test/").expect("valid");
    FetchSettings {
        limits,
        allowed_addresses: vec!["127.0.0.1/32".parse().expect("a range")],
        retries: 0,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        ..FetchSettings::new(user_agent, Network::Embedded(network))
    }
}

fn target(text: &str) -> Target {
    Target::parse(text.as_bytes()).expect("an origin")
}

async fn fetch_plain(server: &Server, origin: &str) -> Fetched {
    fetcher_on(network(Some(server), None, Vec::new()), short_limits()).fetch(&target(origin)).await
}

fn outcome(fetched: &Fetched) -> String {
    let Observation { class, reason, flags, .. } = &fetched.observation;
    let reason = reason.map(|reason| format!(" ({reason})"));
    let flags = flags.iter().map(|flag| format!(" +{flag}"));
    [class.to_string()].into_iter().chain(reason).chain(flags).collect()
}

/// What comes of one plain answer.
async fn outcome_of(act: Act) -> String {
    let server = Server::plain(move |_| act.clone()).await;
    outcome(&fetch_plain(&server, "http://a.test").await)
}

#[tokio::test]
async fn the_request_is_a_plain_get_and_the_facts_are_kept() {
    let server = Server::plain(|_| {
        say(sized("200 OK", "ETag: \"v1\"\r\nServer: nginx\r\nContent-Type: text/plain\r\n", RULES.as_bytes()))
    })
    .await;
    let fetched = fetch_plain(&server, "http://a.test.:8080").await;
    assert_eq!(
        server.heads.lock().expect("no panic").as_slice(),
        [format!(
            "GET /robots.txt HTTP/1.1\r\nHost: a.test:8080\r\nUser-Agent: probe/{} (+https://contact.test/)\r\nAccept: \
             text/plain, */*;q=0.1\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: close\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        )]
    );
    assert_eq!(fetched.body.as_deref(), Some(RULES.as_bytes()));
    let seen = fetched.observation;
    assert_eq!(
        (seen.class, seen.reason, seen.status, seen.attempts, seen.hops),
        (FetchClass::Ok, None, Some(200), Some(1), Some(0))
    );
    assert_eq!(seen.final_url.as_deref(), Some("http://a.test.:8080/robots.txt"));
    assert_eq!((seen.remote_ip.as_deref(), seen.http_version), (Some("127.0.0.1"), Some("HTTP/1.1")));
    assert_eq!((seen.scheme_used, seen.body_octets), (Some(Scheme::Http), Some(27)));
    assert_eq!(seen.headers.etag.as_deref(), Some("\"v1\""));
    assert_eq!(seen.body_sha256.expect("a body")[..4], Sha256::digest(RULES)[..4]);
    assert!(seen.fetch_time.is_some() && seen.elapsed_ms.is_some());
}

#[tokio::test]
async fn statuses() {
    for (status, expected) in [
        ("200 OK", "ok"),
        ("203 Non-Authoritative", "ok"),
        ("202 Accepted", "ok_suspect (status_202)"),
        ("206 Partial Content", "ok_suspect (partial)"),
        ("226 IM Used", "ok_suspect (status_2xx)"),
        ("204 No Content", "ok +empty"),
        ("205 Reset Content", "ok +empty"),
        ("300 Multiple Choices", "redirect_invalid"),
        ("301 Moved", "redirect_invalid (host)"),
        ("304 Not Modified", "protocol_error"),
        ("305 Use Proxy", "redirect_invalid"),
        ("101 Switching Protocols", "protocol_error"),
        ("404 Not Found", "missing"),
        ("451 Unavailable", "access_denied"),
        ("429 Too Many", "rate_limited"),
        ("418 Teapot", "client_error"),
        ("503 Unavailable", "server_error"),
        ("999 Request denied", "server_error"),
    ] {
        assert_eq!(outcome_of(say(sized(status, "", RULES.as_bytes()))).await, expected, "{status}");
    }
    let server = Server::plain(|_| say(sized("429 No", "Retry-After: 86400\r\n", b""))).await;
    assert_eq!(fetch_plain(&server, "http://a.test").await.observation.retry_after_s, Some(86400));
}

#[tokio::test]
async fn bodies() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cap = limits::BODY_OCTETS;
    for (act, expected) in [
        (ok(""), "ok +empty"),
        (ok("<!DOCTYPE html>"), "ok_suspect (html)"),
        (ok("{\"a\": 1}"), "ok_suspect (json)"),
        (say(sized("200 OK", "", b"Disallow: /\xFF")), "ok +non_utf8"),
        (say(format!("HTTP/1.0 200 OK\r\n\r\n{RULES}")), "ok"),
        (say(format!("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{RULES}")), "body_incomplete"),
        (Act::Reset(format!("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{RULES}").into()), "body_incomplete"),
        (Act::Reset(format!("HTTP/1.1 200 OK\r\n\r\n{RULES}").into()), "body_incomplete"),
        (say(format!("{chunked}1b\r\n{RULES}\r\n0\r\n\r\n")), "ok"),
        (say(format!("{chunked}1b\r\n{RULES}\r\n")), "body_incomplete"),
        (say(format!("{chunked}zz\r\n{RULES}\r\n")), "protocol_error"),
        (say(sized("200 OK", "", &vec![b'#'; cap])), "ok"),
        (say(sized("200 OK", "", &vec![b'#'; cap + 1])), "ok +truncated"),
        (say(sized("200 OK", "", "#\u{e9}".repeat(cap / 3 + 1).as_bytes())), "ok +truncated"),
        (Act::Drip(chunked.into(), b"4\r\n#pad\r\n".repeat(1000), Duration::ZERO), "ok +truncated"),
        (say(sized("200 OK", "Content-Encoding: gzip\r\n", RULES.as_bytes())), "ok +coding_mislabelled"),
        (say(sized("200 OK", "Content-Encoding: a, gzip, br, gzip\r\n", RULES.as_bytes())), "decode_failed"),
        (say(sized("200 OK", "Content-Encoding: gzip\r\n", b"\x1F\x8B\x08\0\0\0\0\0\0\x03")), "decode_failed"),
    ] {
        assert_eq!(outcome_of(act.clone()).await, expected, "{}", format!("{act:?}").get(..60).unwrap_or_default());
    }
}

#[tokio::test]
async fn half_a_rule_is_no_rule() {
    let cap = limits::BODY_OCTETS;
    let mut body = b"User-agent: *\nDisallow: /p\n#".to_vec();
    let kept = body.len() - 1;
    body.resize(cap - b"\nDisallow: /".len(), b'x');
    body.extend_from_slice(b"\nDisallow: /admin/\n");
    let answer = say(sized("200 OK", "", &body));
    let server = Server::plain(move |_| answer.clone()).await;
    let fetched = fetch_plain(&server, "http://a.test").await;
    let read = fetched.body.expect("a body");
    assert!(read.ends_with(b"x\n") && read.len() > kept, "the half line is dropped, and no more");
    assert!(fetched.observation.flags.contains(Flag::Truncated));
}

#[tokio::test]
async fn what_is_no_http_answer() {
    let field = "X: y\r\n";
    for (act, expected) in [
        (say(""), "protocol_error"),
        (Act::Reset(Vec::new()), "protocol_error"),
        (say(RULES), "protocol_error"),
        (say("HTTP/1.1 200 OK\r\nContent-Le"), "protocol_error"),
        (say("HTTP/1.1 200 OK\r\nContent-Length: 2O\r\n\r\n"), "protocol_error"),
        (say("HTTP/2 200 OK\r\n\r\n"), "protocol_error"),
        (say(format!("HTTP/1.1 200 OK\r\n{}\r\n", field.repeat(limits::HEADER_FIELDS + 1))), "protocol_error"),
        (say(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(limits::HEADER_OCTETS))), "protocol_error"),
        (say(format!("HTTP/1.1 200 OK\r\n{}\r\n{RULES}", field.repeat(limits::HEADER_FIELDS))), "ok"),
        (say(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n{RULES}", "y".repeat(60_000))), "ok"),
        (say(format!("HTTP/1.1 200\r\nX: folded\r\n line\r\n\r\n{RULES}")), "ok"),
    ] {
        assert_eq!(outcome_of(act.clone()).await, expected, "{}", format!("{act:?}").get(..60).unwrap_or_default());
    }
}

#[tokio::test]
async fn what_takes_too_long() {
    let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec();
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let pause = Duration::from_millis(50);
    for (act, expected) in [
        (Act::Hold(Vec::new()), "timeout (headers)"),
        (Act::Hold(b"HTTP/1.1 200 OK\r\nX: ".to_vec()), "timeout (headers)"),
        (Act::Drip(Vec::new(), hints, pause), "timeout (headers)"),
        (Act::Hold(sized("200 OK", "", RULES.as_bytes())[..50].to_vec()), "timeout (idle)"),
        (Act::Drip(chunked, b"1\r\n#\r\n".to_vec(), pause), "timeout (total)"),
    ] {
        assert_eq!(outcome_of(act).await, expected);
    }
}

#[tokio::test]
async fn redirects_are_followed_to_the_limit() {
    let server = Server::plain(|line| match line.split(' ').nth(1) {
        Some("/robots.txt") => moved("/1"),
        Some("/5") => ok(RULES),
        Some(path) => moved(&format!("/{}", path[1..].parse::<u8>().unwrap_or(10) + 1)),
        None => say(""),
    })
    .await;
    let seen = fetch_plain(&server, "http://a.test").await;
    assert_eq!((outcome(&seen).as_str(), seen.observation.hops, server.requests()), ("ok", Some(5), 6));
    let urls: Vec<&str> = seen.observation.redirects.iter().map(|hop| hop.url.as_str()).collect();
    assert_eq!(urls, [1, 2, 3, 4, 5].map(|hop| format!("http://a.test/{hop}")));
    assert_eq!(seen.observation.final_url.as_deref(), Some("http://a.test/5"));

    let server = Server::plain(|_| moved("http://b.test/robots.txt")).await;
    let seen = fetch_plain(&server, "http://a.test").await;
    assert_eq!(outcome(&seen), "redirect_limit");
    assert_eq!((seen.observation.hops, seen.observation.redirects.len(), server.requests()), (Some(5), 6, 6));
    assert_eq!(seen.observation.status, Some(302));
}

#[tokio::test]
async fn a_loop_is_known_behind_the_fifth_redirect() {
    for (period, redirects) in [(1, 6), (2, 6), (4, 6), (6, 7), (9, 10)] {
        let server = Server::plain(move |line| match line.split(' ').nth(1) {
            Some("/robots.txt") => moved("/1"),
            Some(path) => moved(&format!("/{}", path[1..].parse::<u8>().unwrap_or(0) % period + 1)),
            None => say(""),
        })
        .await;
        let limits = FetchLimits { redirects: 50, ..short_limits() };
        let network = network(Some(&server), None, Vec::new());
        let seen = fetcher_on(network, limits).fetch(&target("http://a.test")).await;
        assert_eq!(outcome(&seen), "redirect_limit", "{period}");
        assert_eq!(seen.observation.redirects.len(), redirects, "{period}");
        assert_eq!(server.requests(), redirects, "{period}");
    }
}

#[tokio::test]
async fn redirects_that_are_not_followed() {
    for (location, expected, hops) in [
        ("http://127.0.0.2/robots.txt", "blocked_address (address)", 0),
        ("http://[::ffff:7f00:2]/", "blocked_address (address)", 0),
        ("http://inner.test/", "blocked_address (address)", 0),
        ("http://localhost/", "blocked_address (address)", 0),
        ("http://b.test:8081/", "blocked_address (port)", 0),
        ("http://b.test:22/", "blocked_address (port)", 0),
        ("ftp://b.test/", "redirect_invalid (scheme)", 0),
        ("http://nx.test/", "dns_nxdomain", 1),
        ("https://b.test/", "connect_failed", 1),
    ] {
        let server = Server::plain(move |_| moved(location)).await;
        let seen = fetch_plain(&server, "http://a.test:8080").await;
        assert_eq!(outcome(&seen), expected, "{location}");
        assert_eq!((seen.observation.hops, seen.observation.redirects.len()), (Some(hops), 1), "{location}");
        assert_eq!(server.requests(), 1, "{location}");
        let asked = seen.observation.final_url.as_deref();
        assert_eq!(asked, Some("http://a.test:8080/robots.txt"), "{location}: the only request");
    }
    let twice = "HTTP/1.1 301 Moved\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(outcome_of(say(twice)).await, "redirect_invalid (host)");
}

#[tokio::test]
async fn a_forbidden_address_sees_no_connection() {
    let forbidden: IpAddr = [127, 0, 0, 2].into();
    for location in [
        "http://127.0.0.2/robots.txt",
        "http://127.0.0.2:80/",
        "//127.0.0.2/",
        "https://127.0.0.2/",
        "http://127.2/",
        "http://0x7f.0.0.2/",
        "http://0177.0.0.02/",
        "http://2130706434/",
        "http://127.0.0.2./",
        "http://%31%32%37.0.0.2/",
        "http://[::ffff:127.0.0.2]/",
        "http://[::ffff:7f00:2]/",
        "http://[::127.0.0.2]/",
        "http://[64:ff9b::7f00:2]/",
        "http://[2002:7f00:2::]/",
        "http://user@127.0.0.2/",
        "http://inner.test/",
        "http://inner.test./",
    ] {
        let server =
            Server::plain(move |line| if line.contains("robots.txt") { moved(location) } else { ok("") }).await;
        // The same port, so that a guard that fails is seen.
        let listener = std::net::TcpListener::bind((forbidden, server.port)).expect("a port");
        listener.set_nonblocking(true).expect("allowed");
        let network = network(Some(&server), Some(&server), Vec::new());
        let seen = fetcher_on(network, short_limits()).fetch(&target("http://a.test")).await;
        assert_eq!(outcome(&seen), "blocked_address (address)", "{location}");
        assert_eq!((seen.observation.hops, server.requests()), (Some(0), 1), "{location}");
        let nobody = listener.accept().map_err(|error| error.kind());
        assert!(matches!(nobody, Err(std::io::ErrorKind::WouldBlock)), "{location}");
    }
}

#[tokio::test]
async fn what_never_gets_a_connection() {
    let server = Server::plain(|_| ok(RULES)).await;
    for (origin, expected) in [
        ("http://nx.test", "dns_nxdomain"),
        ("http://nodata.test", "dns_nxdomain (no_data)"),
        ("http://none.test", "dns_nxdomain (no_data)"),
        ("http://servfail.test", "dns_failure"),
        ("http://silent.test", "dns_failure (dns_timeout)"),
        ("http://inner.test", "blocked_address (address)"),
        ("http://127.0.0.2", "blocked_address (address)"),
        ("http://2130706434", "blocked_address (address)"),
        ("http://a.localhost.", "blocked_address (address)"),
        ("http://a.test:25", "blocked_address (port)"),
        ("https://a.test", "connect_failed"),
        ("http://panic.test", "internal"),
    ] {
        let seen = fetch_plain(&server, origin).await;
        assert_eq!(outcome(&seen), expected, "{origin}");
        assert_eq!((seen.observation.attempts, seen.observation.status), (Some(1), None), "{origin}");
        assert_eq!(seen.observation.final_url, None, "{origin}: no request was made");
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn a_bare_name_falls_back_to_http_only_without_a_connection() {
    let http = Server::plain(|_| ok(RULES)).await;
    let seen = fetch_plain(&http, "a.test").await;
    assert_eq!(outcome(&seen), "ok +scheme_fallback");
    let seen = seen.observation;
    assert_eq!((seen.first_attempt_class, seen.attempts), (Some(FetchClass::ConnectFailed), Some(2)));
    assert_eq!((seen.scheme_used, seen.final_url.as_deref()), (Some(Scheme::Http), Some("http://a.test/robots.txt")));
    assert_eq!(outcome(&fetch_plain(&http, "nx.test").await), "dns_nxdomain");

    // Not TLS on port 443.
    let network_of = |https: &Server| network(Some(&http), Some(https), Vec::new());
    let seen = fetcher_on(network_of(&http), short_limits()).fetch(&target("a.test")).await;
    assert_eq!(outcome(&seen), "ok +scheme_fallback");
    assert_eq!(seen.observation.first_attempt_class, Some(FetchClass::TlsFailed));
    let seen = fetcher_on(network_of(&http), short_limits()).fetch(&target("https://a.test")).await;
    assert_eq!(outcome(&seen), "tls_failed (handshake)");

    let untrusted = Server::start(Some(Site::new().config(|_| {}, false)), |_| ok(RULES)).await;
    let seen = fetcher_on(network_of(&untrusted), short_limits()).fetch(&target("a.test")).await;
    assert_eq!(outcome(&seen), "tls_failed (cert_issuer)");
}

/// A throw-away authority.
struct Site {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

impl Site {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Of its own, as real authorities have: else it would be taken for the issuer of what it did not sign.
        params.distinguished_name.push(DnType::CommonName, format!("throw-away authority {:?}", key.public_key_raw()));
        let root = params.self_signed(&key).expect("a root").into();
        Self { issuer: Issuer::new(params, key), root }
    }

    /// A server with a certificate for `a.test`, changed as told.
    fn config(&self, change: impl FnOnce(&mut CertificateParams), is_self_signed: bool) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["a.test".to_owned()]).expect("a name");
        change(&mut params);
        let certificate = if is_self_signed { params.self_signed(&key) } else { params.signed_by(&key, &self.issuer) };
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.expect("a certificate").into()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .expect("a key that fits")
    }
}

async fn outcome_over_tls(site: &Site, config: ServerConfig, origin: &str, act: Act) -> String {
    let https = Server::start(Some(config), move |_| act.clone()).await;
    let network = network(None, Some(&https), vec![site.root.clone()]);
    outcome(&fetcher_on(network, short_limits()).fetch(&target(origin)).await)
}

#[tokio::test]
async fn certificates() {
    let site = Site::new();
    let as_authority = |params: &mut CertificateParams| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let over = |params: &mut CertificateParams| params.not_after = date_time_ymd(2020, 1, 1);
    for (config, origin, expected) in [
        (site.config(|_| {}, false), "https://a.test", "ok"),
        (site.config(|_| {}, false), "https://a.test.", "ok"),
        (site.config(|_| {}, false), "https://b.test", "tls_failed (cert_name)"),
        (site.config(|_| {}, true), "https://a.test", "tls_failed (cert_issuer)"),
        (site.config(as_authority, true), "https://a.test", "tls_failed (cert_issuer)"),
        (site.config(over, false), "https://a.test", "tls_failed (cert_expired)"),
        (Site::new().config(|_| {}, false), "https://a.test", "tls_failed (cert_issuer)"),
    ] {
        assert_eq!(outcome_over_tls(&site, config, origin, ok(RULES)).await, expected, "{origin}");
    }
}

#[tokio::test]
async fn tls_that_ends_without_saying_so() {
    let site = Site::new();
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\n{RULES}\r\n");
    for (act, expected) in [
        (ok(RULES), "ok"),
        (say(format!("{chunked}0\r\n\r\n")), "ok"),
        (say(chunked), "body_incomplete"),
        (say(format!("HTTP/1.1 200 OK\r\n\r\n{RULES}")), "ok_suspect (unclean_close)"),
        (say(format!("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{RULES}")), "body_incomplete"),
        (say(""), "protocol_error"),
    ] {
        assert_eq!(outcome_over_tls(&site, site.config(|_| {}, false), "https://a.test", act).await, expected);
    }
}

#[tokio::test]
async fn a_handshake_that_never_ends() {
    let listener = std::net::TcpListener::bind((LOOPBACK, 0)).expect("a port");
    let silent = Server { port: listener.local_addr().expect("bound").port(), heads: Arc::default() };
    let seen =
        fetcher_on(network(None, Some(&silent), Vec::new()), short_limits()).fetch(&target("https://a.test")).await;
    assert_eq!(outcome(&seen), "connect_timeout (tls)");
    assert_eq!(seen.observation.remote_ip.as_deref(), Some("127.0.0.1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_target_of_a_crowd_comes_back() {
    let server = Server::plain(|_| ok(RULES)).await;
    let fetcher = Arc::new(fetcher_on(network(Some(&server), None, Vec::new()), FetchLimits::default()));
    let concurrency = NonZeroUsize::new(8).expect("not zero");
    let origins = |count: usize| {
        (0..count)
            .map(|n| (n, target(&if n % 10 == 3 { "http://panic.test".into() } else { format!("http://n{n}.test") })))
    };
    let results = fetch_all(Arc::clone(&fetcher), origins(200), concurrency, Stop::default());
    let mut seen: Vec<(usize, FetchClass)> =
        tokio::task::spawn_blocking(move || results.map(|(n, fetched)| (n, fetched.observation.class)).collect())
            .await
            .expect("no panic");
    seen.sort_unstable();
    let expected = |n| if n % 10 == 3 { FetchClass::Internal } else { FetchClass::Ok };
    assert_eq!(seen, (0..200).map(|n| (n, expected(n))).collect::<Vec<_>>());

    // A run whose receiver is gone ends, though there are targets without end.
    drop(fetch_all(Arc::clone(&fetcher), origins(usize::MAX), concurrency, Stop::default()));
    tokio::time::timeout(Duration::from_secs(30), async {
        while Arc::strong_count(&fetcher) > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the run ends");
}

#[tokio::test]
async fn odd_paths_of_a_redirect_are_asked_for() {
    let server = Server::plain(|line| {
        if line.contains("robots.txt") {
            moved("//a.test//a|b^c{d}[e]`f'g\"h<i>\\j?k|l^m{n}`o'p\"q<r>")
        } else {
            ok(RULES)
        }
    })
    .await;
    assert_eq!(outcome(&fetch_plain(&server, "http://a.test").await), "ok");
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_server_that_wants_a_certificate_fails_the_handshake() {
    let site = Site::new();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(site.root.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["a.test".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &site.issuer).expect("a certificate");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(vec![certificate.into()], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))
        .expect("a key that fits");
    assert_eq!(outcome_over_tls(&site, config, "https://a.test", ok(RULES)).await, "tls_failed (handshake)");
}
