//! Origins of an invented web, each with the class that a fetch of its robots.txt has to find.
//!
//! The mix is the one that large crawls see: two thirds answer with rules, a sixth has no file, the rest is empty,
//! forbidden, busy, redirected or broken in one of many ways. Same count and seed, same web.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;

use super::answer::{Answer, Body, Certificate, Door, End, Framing, Pace, Response, Route};
use super::bodies::{Sort, robots_txt};
use super::seeded::Seeded;
use crate::origin::Scheme;
use crate::robots::access::{FetchClass, Reason};

/// Octets of the bodies that are longer than the demo's fetch limits allow.
const OVERSIZE_OCTETS: u64 = 700_000;
/// The host that serves the rules of sites that redirect to somebody else.
const ELSEWHERE: &str = "static.example";
/// Origins that share one address, as on shared hosting.
const PER_ADDRESS: u32 = 3;

/// How an origin behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Rules,
    RulesGzip,
    RulesMislabelled,
    RulesHttpOnly,
    RulesPlainOnTlsPort,
    RulesHttpAsked,
    RedirectToWww,
    RedirectToHttps,
    RedirectElsewhere,
    RedirectLoop,
    RedirectChain,
    RedirectWithoutLocation,
    RedirectToOtherScheme,
    RedirectToBlocked,
    Empty,
    Status(u16),
    Html,
    Json,
    Oversize,
    HeadersLate,
    BodyIdle,
    BodyDrips,
    Blackhole,
    Refused,
    Reset,
    CutShort,
    CertExpired,
    CertWrongHost,
    CertSelfSigned,
    NoSuchName,
    NameFailure,
    BrokenGzip,
}

use Behaviour as B;

/// How many of a thousand origins behave in which way.
const MIX: &[(Behaviour, u64)] = &[
    (B::Rules, 520),
    (B::RulesGzip, 40),
    (B::RulesMislabelled, 3),
    (B::RulesHttpOnly, 60),
    (B::RulesPlainOnTlsPort, 7),
    (B::RulesHttpAsked, 10),
    (B::RedirectToWww, 16),
    (B::RedirectToHttps, 8),
    (B::RedirectElsewhere, 6),
    (B::RedirectLoop, 8),
    (B::RedirectChain, 5),
    (B::RedirectWithoutLocation, 3),
    (B::RedirectToOtherScheme, 2),
    (B::RedirectToBlocked, 2),
    (B::Status(404), 140),
    (B::Status(410), 10),
    (B::Empty, 45),
    (B::Status(204), 5),
    (B::Status(401), 6),
    (B::Status(403), 40),
    (B::Status(451), 2),
    (B::Status(418), 2),
    (B::Status(429), 12),
    (B::Status(503), 12),
    (B::Status(500), 3),
    (B::Status(521), 3),
    (B::Html, 6),
    (B::Json, 1),
    (B::Oversize, 2),
    (B::HeadersLate, 2),
    (B::BodyIdle, 1),
    (B::BodyDrips, 1),
    (B::Blackhole, 2),
    (B::Refused, 2),
    (B::Reset, 2),
    (B::CutShort, 1),
    (B::CertExpired, 2),
    (B::CertWrongHost, 1),
    (B::CertSelfSigned, 1),
    (B::NoSuchName, 4),
    (B::NameFailure, 1),
    (B::BrokenGzip, 1),
];

/// What the shares add up to.
const WHOLE: u64 = 1000;

const _: () = {
    let (mut sum, mut index) = (0, 0);
    while index < MIX.len() {
        sum += MIX[index].1;
        index += 1;
    }
    assert!(sum == WHOLE, "the shares of the mix do not add up");
};

impl Behaviour {
    /// Consecutive origins go through the whole mix in a scattered order, so that a small web has it as well.
    fn of(index: u64, seed: u64) -> Self {
        let start = Seeded::new(seed, u64::MAX).below(WHOLE);
        let mut slot = (index % WHOLE * 617 + start) % WHOLE;
        for (behaviour, share) in MIX {
            if slot < *share {
                return *behaviour;
            }
            slot -= share;
        }
        Self::Rules
    }

    fn expected(self) -> (FetchClass, Option<Reason>) {
        use FetchClass as C;
        match self {
            B::Rules
            | B::RulesGzip
            | B::RulesMislabelled
            | B::RulesHttpOnly
            | B::RulesPlainOnTlsPort
            | B::RulesHttpAsked
            | B::RedirectToWww
            | B::RedirectToHttps
            | B::RedirectElsewhere
            | B::Empty
            | B::Oversize => (C::Ok, None),
            B::Status(status) => FetchClass::of_status(status).expect("the mix holds final statuses"),
            B::RedirectLoop | B::RedirectChain => (C::RedirectLimit, None),
            B::RedirectWithoutLocation | B::RedirectToOtherScheme => (C::RedirectInvalid, None),
            B::RedirectToBlocked => (C::BlockedAddress, None),
            B::Html => (C::OkSuspect, Some(Reason::Html)),
            B::Json => (C::OkSuspect, Some(Reason::Json)),
            B::HeadersLate => (C::Timeout, Some(Reason::Headers)),
            B::BodyIdle => (C::Timeout, Some(Reason::Idle)),
            B::BodyDrips => (C::Timeout, Some(Reason::Total)),
            B::Blackhole => (C::ConnectTimeout, None),
            B::Refused => (C::ConnectFailed, None),
            B::Reset => (C::ProtocolError, None),
            B::CutShort => (C::BodyIncomplete, None),
            B::CertExpired => (C::TlsFailed, Some(Reason::CertExpired)),
            B::CertWrongHost => (C::TlsFailed, Some(Reason::CertName)),
            B::CertSelfSigned => (C::TlsFailed, Some(Reason::CertIssuer)),
            B::NoSuchName => (C::DnsNxdomain, None),
            B::NameFailure => (C::DnsFailure, None),
            B::BrokenGzip => (C::DecodeFailed, None),
        }
    }

    /// The doors of the origin's address for http and https.
    const fn doors(self) -> (Door, Door) {
        match self {
            B::RulesHttpOnly => (Door::Http, Door::Refused),
            B::Blackhole => (Door::Blackhole, Door::Blackhole),
            B::Refused => (Door::Refused, Door::Refused),
            _ => (Door::Http, Door::Tls),
        }
    }

    const fn certificate(self) -> Certificate {
        match self {
            B::RulesPlainOnTlsPort => Certificate::PlainHttp,
            B::CertExpired => Certificate::Expired,
            B::CertWrongHost => Certificate::WrongHost,
            B::CertSelfSigned => Certificate::SelfSigned,
            _ => Certificate::Valid,
        }
    }
}

/// What looking up a name of the invented web gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// An address that is this web's alone: nothing outside the process listens there.
    Address(IpAddr),
    /// There is no such name.
    NoSuchName,
    /// The name servers do not answer usefully.
    Failure,
}

/// One origin: how a list names it, what it does, what is to be found.
#[derive(Debug)]
pub(super) struct Site {
    /// The host.
    pub(super) host: String,
    /// The line of the origin list.
    pub(super) line: String,
    /// Class and, where one is defined, reason.
    pub(super) expected: (FetchClass, Option<Reason>),
    /// Names and where they lead to.
    pub(super) names: Vec<(String, Lookup)>,
    /// Doors of the origin's address, for http and https.
    pub(super) doors: (Door, Door),
    /// The certificate it shows.
    pub(super) certificate: Certificate,
    /// Its answers.
    pub(super) routes: Vec<Route>,
    /// A few URLs of the site.
    pub(super) urls: Vec<String>,
}

impl Site {
    /// The `index`-th origin of the web with this seed.
    pub(super) fn generate(index: u32, seed: u64) -> Self {
        let mut seeded = Seeded::new(seed, u64::from(index));
        let behaviour = Behaviour::of(u64::from(index), seed);
        let sort = seeded.pick(Sort::WEIGHTED);
        let suffix = seeded.pick(&["test", "test", "test", "example", "example", "co.test", "org.example"]);
        let host = format!("{}{:04}.{suffix}", sort.label(), index + 1);
        let line = line(&mut seeded, behaviour, &host);
        let base = if line.starts_with("http://") { "http" } else { "https" };
        let urls = sort.paths().iter().map(|path| format!("{base}://{host}{path}")).collect();
        let body = robots_txt(&mut seeded, sort, &host);
        let mut routes = routes(behaviour, &host, &body, &mut seeded);
        // A stream of its own, so that the rest of the web is the same with and without.
        say_in_header(&mut routes, &mut Seeded::new(!seed, u64::from(index)));
        Self {
            line,
            expected: behaviour.expected(),
            names: names(behaviour, &host, index),
            doors: behaviour.doors(),
            certificate: behaviour.certificate(),
            routes,
            urls,
            host,
        }
    }
}

/// Lists name most origins bare, some with their scheme.
fn line(seeded: &mut Seeded, behaviour: Behaviour, host: &str) -> String {
    match behaviour {
        B::RedirectToHttps | B::RulesHttpAsked => format!("http://{host}"),
        B::RulesHttpOnly | B::RulesPlainOnTlsPort => host.to_owned(),
        _ if seeded.chance(15) => format!("https://{host}"),
        _ => host.to_owned(),
    }
}

fn names(behaviour: Behaviour, host: &str, index: u32) -> Vec<(String, Lookup)> {
    let own = match behaviour {
        B::NoSuchName => Lookup::NoSuchName,
        B::NameFailure => Lookup::Failure,
        _ if behaviour.doors() == (Door::Http, Door::Tls) => Lookup::Address(address(16, index / PER_ADDRESS)),
        _ => Lookup::Address(address(128, index)),
    };
    let mut names = vec![(host.to_owned(), own)];
    match behaviour {
        B::RedirectToWww | B::RedirectLoop => names.push((format!("www.{host}"), own)),
        B::RedirectElsewhere => names.push((ELSEWHERE.to_owned(), Lookup::Address(address(8, 0)))),
        _ => {}
    }
    names
}

/// The `index`-th address from `127.second.0.0` on.
fn address(second: u8, index: u32) -> IpAddr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, second, 0, 1)) + index).into()
}

fn routes(behaviour: Behaviour, host: &str, body: &Bytes, seeded: &mut Seeded) -> Vec<Route> {
    let https = |answer: Answer| vec![Route::robots(Scheme::Https, host, answer)];
    let http = |answer: Answer| vec![Route::robots(Scheme::Http, host, answer)];
    let text = || Response::text(body.clone());
    match behaviour {
        B::Rules | B::CertExpired | B::CertWrongHost | B::CertSelfSigned => https(plain(seeded, body).into()),
        B::RulesGzip => https(text().header("Content-Encoding", "gzip").body(Body::gzip(body)).into()),
        B::RulesMislabelled => https(text().header("Content-Encoding", "gzip").into()),
        B::RulesHttpOnly | B::RulesPlainOnTlsPort | B::RulesHttpAsked => http(text().into()),
        B::RedirectToWww
        | B::RedirectToHttps
        | B::RedirectElsewhere
        | B::RedirectLoop
        | B::RedirectChain
        | B::RedirectWithoutLocation
        | B::RedirectToOtherScheme
        | B::RedirectToBlocked => redirects(behaviour, host, body),
        B::Empty => https(Response::text("").into()),
        B::Status(status) => https(refusal(status, seeded).into()),
        B::Html => https(page("<!DOCTYPE html>\n<title>Welcome</title>\n<p>All pages look like this one.\n").into()),
        B::Json => https(page("{\"error\": \"no route\"}\n").into()),
        B::Oversize => https(text().body(oversize(body)).into()),
        B::HeadersLate => https(text().pace(Pace { headers: Duration::from_secs(60), chunks: None }).into()),
        B::BodyIdle => https(text().pace(in_chunks(16, Duration::from_secs(60))).into()),
        B::BodyDrips => https(text().body(oversize(body)).pace(in_chunks(1, Duration::from_millis(300))).into()),
        B::Reset => https(Answer::End(End::Reset)),
        B::CutShort => https(text().framing(Framing::FalseLength(body.len() as u64 + 400)).into()),
        B::BrokenGzip => https(broken_gzip(body).into()),
        B::Blackhole | B::Refused | B::NoSuchName | B::NameFailure => Vec::new(),
    }
}

/// Rules as most servers send them.
fn plain(seeded: &mut Seeded, body: &Bytes) -> Response {
    let response = Response::text(body.clone()).header("Server", seeded.pick(&["nginx", "Apache", "h2o", "caddy"]));
    match seeded.below(10) {
        0..=2 => response.framing(Framing::Chunked),
        3 => response.header("Cache-Control", "max-age=3600"),
        4 => response.header("ETag", "\"5f2a-61\"").header("Last-Modified", "Mon, 02 Nov 2026 08:00:00 GMT"),
        _ => response,
    }
}

/// What a few servers say of use with every answer.
fn say_in_header(routes: &mut [Route], seeded: &mut Seeded) {
    let fields: &[(&'static str, &'static str)] = match seeded.below(100) {
        0..=2 => &[("X-Robots-Tag", "noai, noimageai")],
        3 => &[("X-Robots-Tag", "examplebot: noindex, noai")],
        4 => &[("X-Robots-Tag", "noindex, noarchive")],
        5 => &[("Content-Usage", "train-ai=n")],
        6 => &[("tdm-reservation", "1"), ("tdm-policy", "/tdm-policy.json")],
        7 => &[("Link", "</rsl.xml>; rel=\"license\"; type=\"application/rsl+xml\"")],
        _ => &[],
    };
    let responses = routes.iter_mut().filter_map(|route| match &mut route.answer {
        Answer::Response(response) => Some(response),
        _ => None,
    });
    for response in responses {
        response.headers.extend(fields.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    }
}

fn redirects(behaviour: Behaviour, host: &str, body: &Bytes) -> Vec<Route> {
    let https = |path: &str, answer: Response| Route::at(Scheme::Https, host, path, answer);
    let first = |answer: Response| https("/robots.txt", answer);
    let www = format!("www.{host}");
    match behaviour {
        B::RedirectToWww => vec![
            first(Response::redirect(301, &format!("https://{www}/robots.txt"))),
            Route::robots(Scheme::Https, &www, Response::text(body.clone())),
        ],
        B::RedirectToHttps => vec![
            Route::robots(Scheme::Http, host, Response::redirect(301, &format!("https://{host}/robots.txt"))),
            first(Response::text(body.clone())),
        ],
        B::RedirectElsewhere => {
            let path = format!("/robots/{host}.txt");
            vec![
                first(Response::redirect(302, &format!("https://{ELSEWHERE}{path}"))),
                Route::at(Scheme::Https, ELSEWHERE, &path, Response::text(body.clone())),
            ]
        }
        B::RedirectLoop => vec![
            first(Response::redirect(302, &format!("https://{www}/robots.txt"))),
            Route::robots(Scheme::Https, &www, Response::redirect(302, &format!("https://{host}/robots.txt"))),
        ],
        B::RedirectChain => {
            let step = |hop: u32| format!("/moved/{hop}/robots.txt");
            std::iter::once(first(Response::redirect(307, &step(1))))
                .chain((1..8).map(|hop| https(&step(hop), Response::redirect(307, &step(hop + 1)))))
                .collect()
        }
        B::RedirectWithoutLocation => vec![first(Response::status(302))],
        B::RedirectToOtherScheme => vec![first(Response::redirect(301, "ftp://files.example/robots.txt"))],
        _ => vec![first(Response::redirect(302, "http://169.254.169.254/robots.txt"))],
    }
}

fn refusal(status: u16, seeded: &mut Seeded) -> Response {
    let response = Response::status(status).body(Body::Octets(match status {
        204 => Bytes::new(),
        403 => "User-agent: *\nDisallow: /\n".into(),
        _ => format!("<h1>{status}</h1>\n").into(),
    }));
    match status {
        401 => response.header("WWW-Authenticate", "Basic realm=\"site\""),
        429 | 503 => response.header("Retry-After", seeded.pick(&["120", "3600", "86400"])),
        _ => response,
    }
}

fn page(body: &'static str) -> Response {
    Response::status(200).header("Content-Type", "text/html").body(Body::Octets(body.into()))
}

fn oversize(body: &Bytes) -> Body {
    let text = Bytes::from_static(b"# a line of comment that was put here by some program, over and over\n");
    Body::Repeat { prefix: body.clone(), text, octets: OVERSIZE_OCTETS, suffix: Bytes::new() }
}

fn in_chunks(octets: usize, wait: Duration) -> Pace {
    Pace { headers: Duration::ZERO, chunks: Some((octets, wait)) }
}

fn broken_gzip(body: &Bytes) -> Response {
    let response = Response::text("").header("Content-Encoding", "gzip");
    match Body::gzip(body) {
        Body::Octets(mut whole) => {
            whole.truncate(whole.len() * 2 / 3);
            response.body(Body::Octets(whole))
        }
        other => response.body(other),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::origin::Target;

    #[test]
    fn the_mix_is_kept() {
        let mut classes: HashMap<FetchClass, usize> = HashMap::new();
        for index in 0..2000 {
            *classes.entry(Site::generate(index, 1).expected.0).or_default() += 1;
        }
        assert_eq!(classes[&FetchClass::Missing], 300);
        assert_eq!(classes[&FetchClass::AccessDenied], 96);
        assert_eq!(classes[&FetchClass::Ok], 2 * (670 + 50 + 2));
        assert_eq!(classes.len(), 19);
    }

    #[test]
    fn same_seed_same_web() {
        let web = |seed| (0..200).map(|index| format!("{:?}", Site::generate(index, seed))).collect::<Vec<_>>();
        assert_eq!(web(1), web(1));
        assert_ne!(web(1), web(2));
    }

    #[test]
    fn names_are_distinct_and_addresses_loopback() {
        let sites: Vec<Site> = (0..3000).map(|index| Site::generate(index, 3)).collect();
        let hosts: HashSet<&str> = sites.iter().map(|site| site.host.as_str()).collect();
        assert_eq!(hosts.len(), sites.len());
        for site in &sites {
            let target = Target::parse(site.line.as_bytes()).expect("an origin");
            assert_eq!(target.origin.host(), site.host);
            assert!(site.urls.len() >= 4);
            for (_, lookup) in &site.names {
                assert!(!matches!(lookup, Lookup::Address(address) if !address.is_loopback()));
            }
        }
    }

    #[test]
    fn one_address_has_one_pair_of_doors() {
        let mut doors = HashMap::new();
        for site in (0..3000).map(|index| Site::generate(index, 3)) {
            if let Lookup::Address(address) = site.names[0].1 {
                assert_eq!(*doors.entry(address).or_insert(site.doors), site.doors);
            }
        }
        assert!(doors.len() > 800);
    }
}
