//! A scripted web on the loopback interface.
//!
//! One listener serves every origin over HTTP, one over TLS; a few more stand for addresses that refuse, swallow
//! or drop connections. Which names lead to which listener is told to the fetcher by its embedded network, so no
//! name is ever looked up. The web serves one request a connection, counts what it sees and ends when dropped.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::answer::{Answer, Body, Certificate, Door, End, Response, Route};
use super::certificates::{Authority, server_config};
use super::play::{Request, play, read_request, see_off, stay};
use super::script::{LOCALHOST, Names, Script};
use crate::origin::Scheme;
use crate::source::http::EmbeddedNetwork;

/// Connections served at a time; more wait to be accepted.
const CONNECTIONS: usize = 2048;
/// Connections that the system may hold for us.
const BACKLOG: u32 = 1024;
/// How long a connection may last, whatever is played on it.
const CONNECTION_LIFE: Duration = Duration::from_secs(120);
/// How long a client may take to leave after its answer.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time for octets to arrive before a reset overtakes them.
const BEFORE_RESET: Duration = Duration::from_millis(50);
/// Requests kept in the log; later ones are only counted.
const LOG_REQUESTS: usize = 4096;

/// A running web. Dropping it ends every connection and frees its ports.
#[derive(Debug)]
pub struct ScriptedWeb {
    shared: Arc<Shared>,
    doors: BTreeMap<Door, SocketAddr>,
    watched: Vec<(SocketAddr, Arc<AtomicUsize>)>,
    names: Arc<Names>,
    places: HashMap<(IpAddr, u16), Door>,
    root: CertificateDer<'static>,
    /// Sockets that make a door what it is without being served.
    held: Vec<Held>,
    runtime: Option<Runtime>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held open, never used")]
enum Held {
    Bound(TcpSocket),
    Listening(TcpListener),
    Connected(std::net::TcpStream),
}

/// What every connection may look at.
#[derive(Debug)]
struct Shared {
    routes: HashMap<String, Vec<Route>>,
    certificates: HashMap<String, Certificate>,
    seen: Mutex<Seen>,
    connections: AtomicUsize,
    permits: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Seen {
    log: Vec<(Scheme, Request)>,
    requests: usize,
    by_route: HashMap<String, u32>,
}

impl ScriptedWeb {
    /// Starts a web of these routes.
    ///
    /// # Errors
    /// Where no port or thread is to be had.
    pub fn start(routes: Vec<Route>) -> io::Result<Self> {
        Self::of_script(Script::new(routes))
    }

    /// Starts the web of a script.
    ///
    /// # Errors
    /// Where no port or thread is to be had, or a watched address is none of this machine.
    pub fn of_script(script: Script) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("embedded-web")
            .enable_all()
            .build()?;
        let places = script.all_places();
        let authority = Arc::new(Authority::new()?);
        let root = authority.root().clone();
        let shared = Arc::new(Shared::new(script.routes, script.certificates));
        let for_names = Arc::clone(&shared);
        let tls = server_config(authority, move |name| for_names.certificate(name))?;
        let mut web = Self {
            shared,
            doors: BTreeMap::new(),
            watched: Vec::new(),
            names: Arc::new(script.names),
            places,
            root,
            held: Vec::new(),
            runtime: None,
        };
        {
            let _context = runtime.enter();
            let wanted: BTreeSet<Door> = web.places.values().copied().chain([Door::Refused]).collect();
            for door in wanted {
                web.open(door, &tls)?;
            }
            for address in script.watched {
                web.watch(address)?;
            }
        }
        web.runtime = Some(runtime);
        Ok(web)
    }

    /// The network on which a fetcher finds this web, and nothing else.
    #[must_use]
    pub fn network(&self) -> EmbeddedNetwork {
        let names = Arc::clone(&self.names);
        let lookups: Mutex<HashMap<String, usize>> = Mutex::default();
        let sockets = self.sockets();
        let refused = self.doors[&Door::Refused];
        EmbeddedNetwork {
            names: Box::new(move |name| {
                // Only listed names have a second answer, so only they are counted.
                let nth = names.listed.get(name).filter(|answers| answers.len() > 1).map(|_| {
                    let mut lookups = lookups.lock().unwrap_or_else(PoisonError::into_inner);
                    let count = lookups.entry(name.to_owned()).or_default();
                    *count += 1;
                    *count - 1
                });
                names.answer(name, nth.unwrap_or_default())
            }),
            ports: Box::new(move |address, port| sockets.get(&(address, port)).copied().unwrap_or(refused)),
            extra_roots: vec![self.root.clone()],
        }
    }

    /// The listener behind each place.
    fn sockets(&self) -> HashMap<(IpAddr, u16), SocketAddr> {
        let watched = self.watched.iter().map(|(socket, _)| ((socket.ip(), Scheme::Http.default_port()), *socket));
        self.places.iter().map(|(place, door)| (*place, self.doors[door])).chain(watched).collect()
    }

    /// Connections that a watched address has seen.
    #[must_use]
    pub fn connections_to(&self, address: IpAddr) -> usize {
        self.watched
            .iter()
            .filter(|(watched, _)| watched.ip() == address)
            .map(|(_, connections)| connections.load(Ordering::SeqCst))
            .sum()
    }

    /// Connections seen, the watched addresses aside.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Requests seen.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.seen().requests
    }

    /// The first few thousand requests, in the order in which they came.
    #[must_use]
    pub fn log(&self) -> Vec<(Scheme, Request)> {
        self.shared.seen().log.clone()
    }

    fn open(&mut self, door: Door, tls: &Arc<ServerConfig>) -> io::Result<()> {
        let socket = bound(LOCALHOST)?;
        let address = socket.local_addr()?;
        match door {
            // Bound but not listening: nobody else gets the port, and connections are refused.
            Door::Refused => self.held.push(Held::Bound(socket)),
            Door::Blackhole => self.fill_backlog(socket, address)?,
            Door::Http | Door::Tls | Door::AcceptClose | Door::Silent => {
                let (shared, tls) = (Arc::clone(&self.shared), Arc::clone(tls));
                tokio::spawn(serve(socket.listen(BACKLOG)?, door, shared, tls));
            }
        }
        self.doors.insert(door, address);
        Ok(())
    }

    /// A listener that accepts nothing and whose queue is full leaves further connections without an answer.
    fn fill_backlog(&mut self, socket: TcpSocket, address: SocketAddr) -> io::Result<()> {
        self.held.push(Held::Listening(socket.listen(1)?));
        for _ in 0..16 {
            match std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
                Ok(connected) => self.held.push(Held::Connected(connected)),
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn watch(&mut self, address: IpAddr) -> io::Result<()> {
        let listener = bound(address)?.listen(BACKLOG)?;
        let connections = Arc::new(AtomicUsize::new(0));
        self.watched.push((listener.local_addr()?, Arc::clone(&connections)));
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve_plain(stream, Arc::clone(&shared)));
            }
        });
        Ok(())
    }
}

impl Drop for ScriptedWeb {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Also where the web is dropped inside another runtime, which may not block.
            runtime.shutdown_background();
        }
    }
}

fn bound(address: IpAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(SocketAddr::new(address, 0))?;
    Ok(socket)
}

impl Shared {
    fn new(routes: Vec<Route>, certificates: HashMap<String, Certificate>) -> Self {
        let mut by_origin: HashMap<String, Vec<Route>> = HashMap::new();
        for route in routes {
            by_origin.entry(origin_key(route.scheme, &route.host)).or_default().push(route);
        }
        Self {
            routes: by_origin,
            certificates,
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            permits: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn certificate(&self, name: &str) -> Certificate {
        self.certificates.get(name).copied().unwrap_or_default()
    }

    /// Records a request and finds its answer; a clear no for what the script does not hold.
    fn answer(&self, scheme: Scheme, request: &Request) -> Answer {
        let known = self.routes.get(&origin_key(scheme, &request.host));
        let is_here = |route: &&Route| route.path == request.path;
        let nth = self.record(scheme, request, known.is_some_and(|routes| routes.iter().any(|route| is_here(&route))));
        let Some(routes) = known else {
            return Response::status(421).body(Body::Octets("no such origin here\n".into())).into();
        };
        let fits = |route: &&Route| {
            is_here(route)
                && route.nth.is_none_or(|wanted| wanted == nth)
                && route.method.as_ref().is_none_or(|wanted| *wanted == request.method)
                && route.match_headers.iter().all(|(name, part)| request.holds(name, part))
        };
        // `max_by_key` prefers the last of several equals: reversed, the first.
        match routes.iter().rev().filter(fits).max_by_key(|route| route.narrowness()) {
            Some(route) => route.answer.clone(),
            None => Response::status(404).body(Body::Octets("no such path here\n".into())).into(),
        }
    }

    /// Counts a request and says the how many-th it is for its path; 0 for paths without a route.
    fn record(&self, scheme: Scheme, request: &Request, has_route: bool) -> u32 {
        let mut seen = self.seen();
        seen.requests += 1;
        if seen.log.len() < LOG_REQUESTS {
            seen.log.push((scheme, request.clone()));
        }
        if !has_route {
            return 0;
        }
        let nth = seen.by_route.entry(format!("{}{}", origin_key(scheme, &request.host), request.path)).or_default();
        *nth += 1;
        *nth
    }
}

fn origin_key(scheme: Scheme, host: &str) -> String {
    format!("{}://{host}", scheme.as_str())
}

async fn serve(listener: TcpListener, door: Door, shared: Arc<Shared>, tls: Arc<ServerConfig>) {
    loop {
        let Ok(permit) = Arc::clone(&shared.permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors: connections that end will free some.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let (shared, tls) = (Arc::clone(&shared), Arc::clone(&tls));
        tokio::spawn(async move {
            let _permit = permit;
            let _ = timeout(CONNECTION_LIFE, greet(stream, door, shared, tls)).await;
        });
    }
}

async fn greet(mut stream: TcpStream, door: Door, shared: Arc<Shared>, tls: Arc<ServerConfig>) {
    match door {
        Door::Http => serve_plain(stream, shared).await,
        Door::Tls => serve_tls(stream, shared, tls).await,
        Door::Silent => {
            stay(&mut stream, CONNECTION_LIFE).await;
        }
        Door::AcceptClose | Door::Refused | Door::Blackhole => {}
    }
}

async fn serve_plain(mut stream: TcpStream, shared: Arc<Shared>) {
    let Some(request) = read_request(&mut stream).await else {
        return decline(stream).await;
    };
    if let Ok(end) = play(&mut stream, &shared.answer(Scheme::Http, &request)).await {
        end_plain(stream, end).await;
    }
}

/// What a plain HTTP server says to something that is no HTTP.
async fn decline(mut stream: TcpStream) {
    let _ = play(&mut stream, &Response::status(400).into()).await;
    end_plain(stream, End::Fin).await;
}

async fn serve_tls(stream: TcpStream, shared: Arc<Shared>, tls: Arc<ServerConfig>) {
    let Ok(start) = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await else { return };
    let name = start.client_hello().server_name().unwrap_or_default().to_ascii_lowercase();
    if shared.certificate(&name) == Certificate::PlainHttp {
        return decline(start.io).await;
    }
    let Ok(mut stream) = start.into_stream(tls).await else { return };
    let Some(request) = read_request(&mut stream).await else { return };
    if let Ok(end) = play(&mut stream, &shared.answer(Scheme::Https, &request)).await {
        end_tls(stream, end).await;
    }
}

async fn end_plain(mut stream: TcpStream, end: End) {
    match end {
        End::Fin | End::FinWithoutNotify => part(&mut stream).await,
        End::Reset => reset(&stream).await,
    }
}

async fn end_tls(mut stream: TlsStream<TcpStream>, end: End) {
    match end {
        End::Fin => part(&mut stream).await,
        End::FinWithoutNotify => part(stream.get_mut().0).await,
        End::Reset => reset(stream.get_ref().0).await,
    }
}

async fn part<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) {
    if stream.shutdown().await.is_ok() {
        see_off(stream, FAREWELL).await;
    }
}

async fn reset(stream: &TcpStream) {
    sleep(BEFORE_RESET).await;
    let _ = stream.set_zero_linger();
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::source::http::NameAnswer;

    const WAIT: Duration = Duration::from_secs(10);

    fn octets_from(socket: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(socket).expect("a listener");
        stream.set_read_timeout(Some(WAIT)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("a connection");
        let mut octets = Vec::new();
        let _ = stream.read_to_end(&mut octets);
        String::from_utf8_lossy(&octets).into_owned()
    }

    fn status(web: &ScriptedWeb, request: &str) -> String {
        let answer = octets_from(web.doors[&Door::Http], &format!("{request}\r\n\r\n"));
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    #[test]
    fn the_narrowest_route_answers() {
        let route = |code: u16| Route::robots(Scheme::Http, "a.test", Response::status(code));
        let web = ScriptedWeb::start(vec![
            route(200),
            route(999),
            Route { nth: Some(2), ..route(503) },
            Route { method: Some("HEAD".into()), ..route(405) },
            Route { match_headers: vec![("user-agent".into(), "bad".into())], ..route(403) },
        ])
        .expect("a web on loopback");
        let get = "GET /robots.txt HTTP/1.1\r\nHost: a.test";
        assert_eq!(status(&web, get), "200");
        assert_eq!(status(&web, get), "503");
        assert_eq!(status(&web, &format!("{get}\r\nUser-Agent: a bad one")), "403");
        assert_eq!(status(&web, "HEAD /robots.txt HTTP/1.1\r\nHost: A.test"), "405");
        assert_eq!(status(&web, "GET / HTTP/1.1\r\nHost: a.test"), "404");
        assert_eq!(status(&web, "GET / HTTP/1.1\r\nHost: b.test"), "421");
        assert_eq!(status(&web, "no http at all"), "400");
        assert_eq!((web.requests(), web.log().len(), web.connections()), (6, 6, 7));
    }

    #[test]
    fn doors_behave_as_they_are_called() {
        let mut script = Script::new(Vec::new());
        let doors = [(1, Door::Refused), (2, Door::AcceptClose), (3, Door::Silent), (4, Door::Blackhole)];
        script.places = doors.into_iter().map(|(port, door)| ((LOCALHOST, port), door)).collect();
        let web = ScriptedWeb::of_script(script).expect("a web on loopback");
        let network = web.network();
        let socket = |port| (network.ports)(LOCALHOST, port);
        let refused = TcpStream::connect(socket(1)).expect_err("nothing listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(octets_from(socket(2), ""), "");
        let mut silent = TcpStream::connect(socket(3)).expect("a listener");
        silent.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
        let nothing = silent.read(&mut [0]).expect_err("nothing is said");
        assert!(matches!(nothing.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
        // Elsewhere a full queue may refuse.
        if cfg!(target_os = "linux") {
            let hole = TcpStream::connect_timeout(&socket(4), Duration::from_millis(200)).expect_err("no answer");
            assert_eq!(hole.kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(socket(9), socket(1), "where the script holds nothing, nothing listens");
    }

    #[test]
    fn names_lead_where_the_script_says() {
        let mut script = Script::new(Vec::new());
        script.names.listed.insert("a.test".into(), vec![NameAnswer::Failure, NameAnswer::NxDomain]);
        let network = ScriptedWeb::of_script(script).expect("a web on loopback").network();
        let answers: Vec<NameAnswer> =
            ["a.test", "b.test", "a.test", "a.test"].map(|name| (network.names)(name)).into();
        let localhost = NameAnswer::Addresses(vec![LOCALHOST]);
        assert_eq!(answers, [NameAnswer::Failure, localhost, NameAnswer::NxDomain, NameAnswer::NxDomain]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn connections_to_watched_addresses_are_seen() {
        let address: IpAddr = [127, 0, 0, 2].into();
        let mut script = Script::new(Vec::new());
        script.watched = vec![address];
        let web = ScriptedWeb::of_script(script).expect("a web on loopback");
        assert_eq!(web.connections_to(address), 0);
        let socket = (web.network().ports)(address, 80);
        assert!(octets_from(socket, "GET / HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n").starts_with("HTTP/1.1 421"));
        assert_eq!((web.connections_to(address), web.connections()), (1, 0));
    }

    #[test]
    fn dropping_ends_the_web() {
        let web = ScriptedWeb::start(Vec::new()).expect("a web on loopback");
        let socket = web.doors[&Door::Http];
        let mut open = TcpStream::connect(socket).expect("a listener");
        drop(web);
        open.set_read_timeout(Some(WAIT)).expect("a timeout");
        // The end of the stream or a reset: both are an end.
        assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
    }
}
