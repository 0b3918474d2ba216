//! Fetches that ask a name server of their own: one on loopback that fails in every way (RFC 1035 §4).

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use robots_audit::origin::Target;
use robots_audit::robots::access::FetchClass;
use robots_audit::source::http::{FetchLimits, FetchSettings, Fetcher, Network, Stop, fetch_all, user_agent};

const A: u8 = 1;
/// Flag TC of a header: the answer goes on over TCP.
const TRUNCATED: u8 = 0x02;

/// What the name server says about the first addresses of a name.
enum Said {
    Nothing,
    Code(u8),
    Addresses(Vec<Ipv4Addr>),
    Truncated,
}

/// By the first word of the name, and how often it was asked for already.
fn say(name: &str, asked: usize, is_tcp: bool) -> Said {
    let others = |count: u8| (2..=count).map(|last| Ipv4Addr::new(127, 0, 0, last));
    match name.split(['-', '.']).next().expect("a word") {
        "nx" => Said::Code(3),
        "refused" => Said::Code(5),
        "broken" => Said::Code(2),
        "fail" if asked < 2 => Said::Code(2),
        "silent" => Said::Nothing,
        "nodata" => Said::Addresses(Vec::new()),
        "long" if !is_tcp => Said::Truncated,
        "long" | "many" => Said::Addresses(std::iter::once(Ipv4Addr::LOCALHOST).chain(others(60)).collect()),
        "inner" => Said::Addresses(others(40).chain([Ipv4Addr::new(127, 1, 0, 1)]).collect()),
        _ => Said::Addresses(vec![Ipv4Addr::LOCALHOST]),
    }
}

#[derive(Default)]
struct NameServer {
    asked: HashMap<Vec<u8>, usize>,
}

impl NameServer {
    fn answer(&mut self, query: &[u8], is_tcp: bool) -> Option<Vec<u8>> {
        let name_octets = query[12..].iter().position(|octet| *octet == 0)? + 1;
        let question = &query[12..12 + name_octets + 4];
        let kind = question[name_octets + 1];
        let name: String = question[1..name_octets - 1].iter().map(|octet| char::from((*octet).max(b'-'))).collect();
        let asked = self.asked.entry(question.to_vec()).or_default();
        let said = say(&name.to_ascii_lowercase(), *asked, is_tcp);
        *asked += 1;
        let (flags, code, addresses) = match said {
            Said::Nothing => return None,
            Said::Code(code) => (0, code, Vec::new()),
            Said::Truncated => (TRUNCATED, 0, Vec::new()),
            Said::Addresses(addresses) => (0, 0, if kind == A { addresses } else { Vec::new() }),
        };
        let count = u8::try_from(addresses.len()).expect("few");
        let mut message = vec![query[0], query[1], 0x81 | flags, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0];
        message.extend_from_slice(question);
        for address in addresses {
            message.extend_from_slice(&[0xC0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0, 4]);
            message.extend_from_slice(&address.octets());
        }
        Some(message)
    }
}

/// A name server over UDP and TCP; it goes with the tests.
fn name_server() -> SocketAddr {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let place = udp.local_addr().expect("bound");
    let tcp = TcpListener::bind(place).expect("the same port");
    thread::spawn(move || {
        let (mut server, mut query) = (NameServer::default(), [0; 1024]);
        while let Ok((octets, peer)) = udp.recv_from(&mut query) {
            if let Some(message) = server.answer(&query[..octets], false) {
                udp.send_to(&message, peer).expect("loopback");
            }
        }
    });
    thread::spawn(move || {
        for stream in tcp.incoming() {
            thread::spawn(move || serve_tcp(stream.expect("a connection")));
        }
    });
    place
}

fn serve_tcp(mut stream: TcpStream) {
    let (mut server, mut length) = (NameServer::default(), [0; 2]);
    while stream.read_exact(&mut length).is_ok() {
        let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut query).expect("a whole query");
        let message = server.answer(&query, true).expect("asked over UDP first");
        let length = u16::try_from(message.len()).expect("short").to_be_bytes();
        stream.write_all(&[&length[..], &message].concat()).expect("a client");
    }
}

/// A web server for every name; gives its port.
fn web_server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut head = Vec::new();
            let mut octets = [0; 1024];
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read(&mut octets) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => head.extend_from_slice(&octets[..count]),
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nUser-agent: *\n");
        }
    });
    port
}

/// A fetcher that waits so long for a name.
fn fetcher(retries: u16, look_up: Duration) -> Arc<Fetcher> {
    let agent = user_agent("robots-audit", "https://contact.test/").expect("a user agent");
    let limits = FetchLimits { connect: look_up, ..FetchLimits::default() };
    let fetcher = Fetcher::new(FetchSettings {
        limits,
        allowed_addresses: vec!["127.0.0.0/24".parse().expect("a range")],
        retries,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        dns_servers: vec![name_server()],
        ..FetchSettings::new(agent, Network::System)
    });
    Arc::new(fetcher.expect("a fetcher"))
}

fn fetched(fetcher: &Arc<Fetcher>, names: Vec<String>) -> Vec<(String, FetchClass)> {
    let port = web_server();
    let target = move |name: &str| Target::parse(format!("http://{name}.test:{port}").as_bytes()).expect("an origin");
    let targets = names.into_iter().map(move |name| (name.clone(), target(&name)));
    let seats = NonZeroUsize::new(4).expect("not zero");
    let results = fetch_all(Arc::clone(fetcher), targets, seats, Stop::default());
    results.map(|(name, fetched)| (name, fetched.observation.class)).collect()
}

#[test]
fn answers_are_told_apart() {
    let fetcher = fetcher(2, Duration::from_secs(10));
    let expected = [
        ("broken", FetchClass::DnsFailure),
        ("fail", FetchClass::Ok),
        ("good", FetchClass::Ok),
        ("inner", FetchClass::BlockedAddress),
        ("long", FetchClass::Ok),
        ("many", FetchClass::Ok),
        ("nodata", FetchClass::DnsNxdomain),
        ("nx", FetchClass::DnsNxdomain),
        ("refused", FetchClass::DnsFailure),
    ];
    let mut seen = fetched(&fetcher, expected.iter().map(|(name, _)| (*name).to_owned()).collect());
    seen.sort();
    assert_eq!(seen, expected.map(|(name, class)| (name.to_owned(), class)));
    let look_ups = fetcher.manners().look_ups;
    assert_eq!((look_ups.nxdomain, look_ups.no_data, look_ups.timed_out), (1, 1, 0));
    assert!(look_ups.failed >= 6, "three attempts for each of two names: {look_ups:?}");
}

#[test]
fn silent_names_delay_no_others() {
    // Long enough that the others are done before it even where the machine is busy.
    let fetcher = fetcher(0, Duration::from_secs(10));
    let names = |word: &str| (0..100).map(move |n| format!("{word}-{n}")).collect::<Vec<_>>();
    let seen = fetched(&fetcher, [names("silent"), names("nx"), names("fail"), names("good")].concat());
    assert_eq!(seen.len(), 400);
    for (name, class) in &seen {
        let expected = match name.split('-').next() {
            Some("silent") => FetchClass::DnsFailure,
            Some("nx") => FetchClass::DnsNxdomain,
            _ => FetchClass::Ok,
        };
        assert_eq!(*class, expected, "{name}");
    }
    let first_silent = seen.iter().position(|(name, _)| name.starts_with("silent")).expect("a hundred of them");
    assert!(first_silent >= 290, "of 300 others {first_silent} ended before the first silent one did");
}
