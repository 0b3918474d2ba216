//! Client CPU for a fetch, against curl and aiohttp in the same run: distinct origins on loopback, HTTP and HTTPS (TLS 1.3,
//! ECDSA), 256 in flight, each connection closed after its answer.
//!
//! Needs bash, and takes the peers that are installed: `curl`, and `python3` with the package `aiohttp`. The server runs
//! in a process of its own, so that a client's CPU time is its own; every client checks certificates.
#![expect(clippy::print_stdout, reason = "a bench prints its results")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use robots_audit::origin::Target;
use robots_audit::robots::access::FetchClass;
use robots_audit::source::http::{
    EmbeddedNetwork, FetchSettings, Fetcher, NameAnswer, Network, Stop, fetch_all, user_agent,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// In flight.
const CONCURRENCY: usize = 256;
/// Origins of a round.
const HTTP_ORIGINS: usize = 20_000;
const HTTPS_ORIGINS: usize = 6_000;
/// Rounds; the quickest of each client counts.
const ROUNDS: usize = 3;
const DOMAIN: &str = "bench.test";

/// The aiohttp client: scheme, origins, in flight, port, certificate.
const AIOHTTP: &str = r#"
import asyncio, socket, ssl, sys
import aiohttp
scheme, count, limit, port, ca = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]

def host(number):
    if scheme == "https":
        return f"n{number}.bench.test"
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"

class Loopback(aiohttp.abc.AbstractResolver):
    async def resolve(self, host, port=0, family=socket.AF_INET):
        return [dict(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]
    async def close(self):
        pass

async def main():
    turns = asyncio.Semaphore(limit)
    tls = ssl.create_default_context(cafile=ca) if scheme == "https" else True
    connector = aiohttp.TCPConnector(limit=limit, force_close=True, resolver=Loopback(), ssl=tls)
    async with aiohttp.ClientSession(connector=connector) as session:
        async def fetch(number):
            async with turns:
                async with session.get(f"{scheme}://{host(number)}:{port}/robots.txt") as answer:
                    assert answer.status == 200 and len(await answer.read()) > 900
        await asyncio.gather(*(fetch(number) for number in range(count)))

asyncio.run(main())
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", folder] => serve(Path::new(folder)),
        ["client", scheme, count, port, ca] => client(scheme, number(count), number(port), Path::new(ca)),
        _ => compare(),
    }
}

fn number<N: std::str::FromStr>(text: &str) -> N {
    text.parse().ok().expect("a number")
}

/// Runs the server and, one after the other, every client.
fn compare() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = std::env::current_exe().expect("this program");
    let mut server = Command::new(&own)
        .arg("serve")
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut ports = String::new();
    BufReader::new(server.stdout.take().expect("piped")).read_line(&mut ports).expect("ports");
    let ports: Vec<&str> = ports.split_whitespace().collect();
    fs::write(folder.path().join("client.py"), AIOHTTP).expect("written");
    let ca = folder.path().join("ca.pem");
    println!("{CONCURRENCY} in flight, distinct origins, connection closed; CPU µs a fetch of the client alone\n");
    println!(
        "| scheme | origins | this program | curl, an address each | curl, names of one address | aiohttp | curl : this | \
         aiohttp : this |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (scheme, count, port) in [("http", HTTP_ORIGINS, ports[0]), ("https", HTTPS_ORIGINS, ports[1])] {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let curl = |hosts: Hosts| {
            let config = folder.path().join(format!("{scheme}-{hosts:?}.curl"));
            fs::write(&config, curl_config(scheme, hosts, count, port, &ca)).expect("written");
            vec!["curl".into(), "--config".into(), text(&config)]
        };
        let count_text = count.to_string();
        let clients = [
            vec![text(&own), "client".into(), scheme.into(), count_text.clone(), port.into(), text(&ca)],
            if scheme == "http" { curl(Hosts::Addresses) } else { Vec::new() },
            curl(Hosts::Names),
            vec![
                "python3".into(),
                text(&folder.path().join("client.py")),
                scheme.into(),
                count_text,
                CONCURRENCY.to_string(),
                port.into(),
                text(&ca),
            ],
        ];
        // Rounds are interleaved: a noisy neighbour disturbs all alike.
        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            for (best, client) in best.iter_mut().zip(&clients) {
                *best = best.min(cpu_s(client).unwrap_or(f64::INFINITY));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let [this, curl_addresses, curl_names, aiohttp] = best.map(|seconds| seconds * 1e6 / count as f64);
        let peers = [curl_addresses, curl_names, aiohttp];
        let [addresses, names, other] = peers.map(|micros| told(micros, format!("{micros:.0}")));
        let [of_addresses, of_names, of_other] = peers.map(|micros| told(micros, format!("{:.1}x", micros / this)));
        println!(
            "| {scheme} | {count} | {this:.0} | {addresses} | {names} | {other} | {of_addresses}, {of_names} | {of_other} |"
        );
    }
    drop(server.stdin.take());
    server.wait().expect("the server ends");
}

/// What was not measured is no number.
fn told(micros: f64, text: String) -> String {
    if micros.is_finite() { text } else { "–".to_owned() }
}

/// What curl is given to tell origins apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hosts {
    /// An address of loopback for each, as the others have over HTTP.
    Addresses,
    /// Names that one mapping takes to one address: much cheaper for curl.
    Names,
}

/// User and system time of a command; `None` where it is none, is not installed or fails.
fn cpu_s(command: &[String]) -> Option<f64> {
    if command.is_empty() {
        return None;
    }
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null", "bash"])
        .args(command)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        println!("{} failed: {}", command[0], said.lines().next().unwrap_or_default());
        return None;
    }
    let times = said.lines().last()?.split(' ').map(|time| time.parse::<f64>().ok());
    times.sum::<Option<f64>>()
}

fn curl_config(scheme: &str, hosts: Hosts, count: usize, port: &str, ca: &Path) -> String {
    let mut config = format!(
        "parallel\nparallel-max = {CONCURRENCY}\nno-progress-meter\nfail\nhttp1.1\nheader = \"Connection: close\"\ncacert = \
         \"{}\"\n",
        ca.display()
    );
    if hosts == Hosts::Names {
        writeln!(config, "connect-to = \"::127.0.0.1:{port}\"").expect("a string");
    }
    for number in 0..count {
        let host = if hosts == Hosts::Names { name(number) } else { host(scheme, number) };
        writeln!(config, "url = \"{scheme}://{host}:{port}/robots.txt\"\noutput = \"/dev/null\"").expect("a string");
    }
    config
}

/// An address of loopback for each origin over HTTP, so that no client looks names up; names over HTTPS, which are what
/// certificates are for, and which every client takes to the same address without a look-up.
fn host(scheme: &str, number: usize) -> String {
    if scheme == "https" {
        return name(number);
    }
    format!("127.{}.{}.{}", 1 + number / 62_500, number / 250 % 250, number % 250 + 1)
}

fn name(number: usize) -> String {
    format!("n{number}.{DOMAIN}")
}

/// This program's fetches.
fn client(scheme: &str, count: usize, port: u16, ca: &Path) {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let network = EmbeddedNetwork {
        names: Box::new(move |_| NameAnswer::Addresses(vec![loopback])),
        ports: Box::new(move |address, _| SocketAddr::new(address, port)),
        extra_roots: vec![CertificateDer::from_pem_file(ca).expect("a certificate")],
    };
    let agent = user_agent("robots-audit", "https://contact.test/").expect("a user agent");
    let settings = FetchSettings {
        allowed_addresses: vec!["127.0.0.0/8".parse().expect("a range")],
        retries: 0,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        ..FetchSettings::new(agent, Network::Embedded(network))
    };
    let fetcher = Arc::new(Fetcher::new(settings).expect("a fetcher"));
    let scheme = scheme.to_owned();
    let targets = (0..count).map(move |number| {
        let origin = format!("{scheme}://{}", host(&scheme, number));
        ((), Target::parse(origin.as_bytes()).expect("an origin"))
    });
    let concurrency = NonZeroUsize::new(CONCURRENCY).expect("not zero");
    let results = fetch_all(fetcher, targets, concurrency, Stop::default());
    let answered = results.filter(|((), fetched)| fetched.observation.class == FetchClass::Ok).count();
    assert_eq!(answered, count, "every origin answers");
}

/// Serves both schemes until stdin ends.
fn serve(folder: &Path) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([format!("*.{DOMAIN}")]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    fs::write(folder.join("ca.pem"), certificate.pem()).expect("written");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate.into()], key))
        .expect("a server");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        // All of loopback; nothing of it is reached from elsewhere, since other peers are sent away.
        let http = TcpListener::bind("0.0.0.0:0").await.expect("a port");
        let https = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        println!("{} {}", port(&http), port(&https));
        tokio::spawn(async move {
            while let Ok((stream, peer)) = http.accept().await {
                if peer.ip().is_loopback() {
                    tokio::spawn(answer(stream));
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = https.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream).await;
                    }
                });
            }
        });
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        let _ = ended.await;
    });
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut request = [0; 2048];
    let mut octets = 0;
    while !request[..octets].ends_with(b"\r\n\r\n") {
        match stream.read(&mut request[octets..]).await {
            Ok(read) if read > 0 => octets += read,
            _ => return,
        }
    }
    let body = "User-agent: *\nDisallow: /a-path-of-forty-octets-in-all/0000/\n".repeat(16);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
    let _ = stream.write_all((head + &body).as_bytes()).await;
    let _ = stream.shutdown().await;
}
