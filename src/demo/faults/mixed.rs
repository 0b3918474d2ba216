//! M1: every class at once, and what the healthy origins beside them pay for it.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;

use super::super::answer::{Answer, Body, Certificate, Door, End, Framing, Pace, Response, Route};
use super::super::script::{LOCALHOST, Script};
use super::super::web::ScriptedWeb;
use super::ledger::{Expected, Ledger};
use super::{Bench, Outcome, inside};
use crate::origin::Scheme;
use crate::robots::access::{FetchClass as C, Flag, Reason};
use crate::source::http::{NameAnswer, Network};

const RULES: &str = "User-agent: *\nDisallow: /private/\nAllow: /\n";
const CONCURRENCY: usize = 1024;
/// Kinds of faults; some have several variants, which take turns.
const KINDS: usize = 25;

/// A fault of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Status(u16),
    Page(&'static [u8], Reason),
    UncleanClose,
    RedirectLoop,
    RedirectChain,
    Redirect(&'static str),
    RedirectBlocked(&'static str),
    Name(NameFault),
    Door(Door),
    SilentTls,
    Shown(Certificate),
    HeadersLate,
    EndlessInterim,
    BodyIdle,
    BodyDrips,
    Raw(&'static [u8]),
    LongHeaders,
    ManyHeaders,
    ResetAtOnce,
    CutShort,
    ChunksCutShort,
    ResetInBody,
    BrokenGzip,
    Endless,
    Bomb,
    NoOrigin(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameFault {
    NoSuchName,
    NoAddress,
    Failure,
    Silence,
    BlockedAddress,
}

use Fault as F;

/// Every kind, each with its variants.
const FAULTS: [&[Fault]; KINDS] = [
    &[F::Status(404), F::Status(410)],
    &[F::Status(401), F::Status(403), F::Status(407), F::Status(451)],
    &[F::Status(429)],
    &[F::Status(400), F::Status(418), F::Status(499)],
    &[F::Status(500), F::Status(503), F::Status(521), F::Status(599), F::Status(999)],
    &[F::Page(b"<!DOCTYPE html><title>Hello</title>", Reason::Html), F::Page(b"{\"error\": 1}", Reason::Json)],
    &[F::Page(b"U\0s\0e\0r\0-\0a\0g\0e\0n\0t\0", Reason::Encoding), F::Page(b"\x89PNG\r\n\x1a\n", Reason::Binary)],
    &[F::Status(202), F::Status(206), F::Status(299)],
    &[F::UncleanClose],
    &[F::RedirectLoop, F::RedirectChain],
    &[F::Redirect(""), F::Redirect("http://["), F::Redirect("ftp://files.example/"), F::Redirect("javascript:x()")],
    &[
        F::RedirectBlocked("http://10.0.0.1/robots.txt"),
        F::RedirectBlocked("http://0x7f.2/"),
        F::Name(NameFault::BlockedAddress),
    ],
    &[F::Name(NameFault::NoSuchName), F::Name(NameFault::NoAddress)],
    &[F::Name(NameFault::Failure), F::Name(NameFault::Silence)],
    &[F::Door(Door::Refused)],
    &[F::Door(Door::Blackhole), F::SilentTls],
    &[F::Shown(Certificate::Expired), F::Shown(Certificate::WrongHost), F::Shown(Certificate::SelfSigned)],
    &[F::Shown(Certificate::PlainHttp)],
    &[F::HeadersLate],
    &[F::BodyIdle],
    &[F::BodyDrips],
    &[
        F::Raw(b"\0\0\0no http at all\n"),
        F::Raw(b"\0\0\x12\x04\0\0\0\0\0"),
        F::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"),
        F::Raw(b""),
        F::LongHeaders,
        F::ManyHeaders,
        F::EndlessInterim,
        F::ResetAtOnce,
        F::Door(Door::AcceptClose),
        F::Status(304),
    ],
    &[F::CutShort, F::ChunksCutShort, F::ResetInBody],
    &[F::BrokenGzip, F::Endless, F::Bomb],
    &[
        F::NoOrigin("ftp://files-{}.test/"),
        F::NoOrigin("http://a b {}.test/"),
        F::NoOrigin("http://origin-{}.test:99999/"),
    ],
];

impl Fault {
    fn expected(self) -> Expected {
        let fault = Expected::fault;
        match self {
            F::Status(304) => fault(C::ProtocolError),
            F::Status(status) => {
                let (class, reason) = C::of_status(status).expect("the kinds hold final statuses");
                Expected { reason, ..fault(class) }
            }
            F::Page(_, reason) => fault(C::OkSuspect).with_reason(reason),
            F::UncleanClose => fault(C::OkSuspect).with_reason(Reason::UncleanClose),
            F::RedirectLoop | F::RedirectChain => fault(C::RedirectLimit),
            F::Redirect(_) => fault(C::RedirectInvalid),
            F::RedirectBlocked(_) | F::Name(NameFault::BlockedAddress) => fault(C::BlockedAddress),
            F::Name(NameFault::NoSuchName | NameFault::NoAddress) => fault(C::DnsNxdomain),
            F::Name(NameFault::Failure | NameFault::Silence) => fault(C::DnsFailure),
            F::Door(Door::Blackhole) => fault(C::ConnectTimeout),
            F::Door(Door::Refused) => fault(C::ConnectFailed),
            F::SilentTls => fault(C::ConnectTimeout).with_reason(Reason::Tls),
            F::Shown(Certificate::Expired) => fault(C::TlsFailed).with_reason(Reason::CertExpired),
            F::Shown(Certificate::WrongHost) => fault(C::TlsFailed).with_reason(Reason::CertName),
            F::Shown(Certificate::SelfSigned) => fault(C::TlsFailed).with_reason(Reason::CertIssuer),
            F::Shown(_) => fault(C::TlsFailed).with_reason(Reason::Handshake),
            F::HeadersLate | F::EndlessInterim => fault(C::Timeout).with_reason(Reason::Headers),
            F::BodyIdle => fault(C::Timeout).with_reason(Reason::Idle),
            F::BodyDrips => fault(C::Timeout).with_reason(Reason::Total),
            F::Raw(_) | F::LongHeaders | F::ManyHeaders | F::ResetAtOnce | F::Door(_) => fault(C::ProtocolError),
            F::CutShort | F::ChunksCutShort | F::ResetInBody => fault(C::BodyIncomplete),
            F::BrokenGzip => fault(C::DecodeFailed),
            F::Endless | F::Bomb => fault(C::Ok).with_flag(Flag::Truncated),
            F::NoOrigin(_) => fault(C::InvalidTarget),
        }
    }

    const fn scheme(self) -> Scheme {
        match self {
            F::UncleanClose | F::SilentTls | F::Shown(_) => Scheme::Https,
            _ => Scheme::Http,
        }
    }

    /// What the origin answers, where it gets so far.
    fn answer(self, bodies: &Bodies) -> Option<Answer> {
        let text = || Response::text(RULES);
        let late = |headers, chunks| Pace { headers, chunks };
        let minute = Duration::from_secs(60);
        Some(match self {
            F::Status(status) => Response::status(status).into(),
            F::Page(page, _) => Response::status(200).body(Body::Octets(Bytes::from_static(page))).into(),
            F::UncleanClose => text().framing(Framing::Close).end(End::FinWithoutNotify).into(),
            F::Redirect("") => Response::status(302).into(),
            F::Redirect(location) | F::RedirectBlocked(location) => Response::redirect(302, location).into(),
            F::HeadersLate => text().pace(late(minute, None)).into(),
            F::EndlessInterim => Answer::RawRepeat {
                prefix: Bytes::new(),
                repeat: "HTTP/1.1 103 Early Hints\r\n\r\n".into(),
                interval: Duration::from_millis(100),
            },
            F::BodyIdle => text().pace(late(Duration::ZERO, Some((16, minute)))).into(),
            F::BodyDrips => text().body(bodies.endless.clone()).pace(late(Duration::ZERO, Some((1, DRIP)))).into(),
            F::Raw(octets) => Answer::Raw(Bytes::from_static(octets)),
            F::LongHeaders => text().header("X-Long", vec![b'x'; 200_000]).into(),
            F::ManyHeaders => (0..200).fold(text(), |answer, _| answer.header("X-Many", "x")).into(),
            F::ResetAtOnce => Answer::End(End::Reset),
            F::CutShort => text().framing(Framing::FalseLength(5_000)).into(),
            F::ChunksCutShort => text().framing(Framing::ChunkedWithoutEnd).into(),
            F::ResetInBody => text().framing(Framing::FalseLength(5_000)).end(End::Reset).into(),
            F::BrokenGzip => text().header("Content-Encoding", "gzip").body(bodies.broken_gzip.clone()).into(),
            F::Endless => text().body(bodies.endless.clone()).framing(Framing::Close).into(),
            F::Bomb => text().header("Content-Encoding", "gzip").body(bodies.bomb.clone()).into(),
            F::RedirectLoop | F::RedirectChain | F::Name(_) | F::Door(_) | F::SilentTls | F::NoOrigin(_) => {
                return None;
            }
            F::Shown(_) => text().into(),
        })
    }
}

/// Time between two octets of a drip.
const DRIP: Duration = Duration::from_millis(200);

/// Bodies that many origins share.
pub(super) struct Bodies {
    pub(super) endless: Body,
    pub(super) bomb: Body,
    broken_gzip: Body,
}

impl Bodies {
    pub(super) fn new() -> Self {
        let line = b"Disallow: /a/line/that/comes/again/and/again/\n";
        let whole = match Body::gzip(&RULES.as_bytes().repeat(50)) {
            Body::Octets(whole) => whole,
            other => unreachable!("gzip gives octets, not {other:?}"),
        };
        Self {
            endless: Body::Infinite { prefix: RULES.into(), text: Bytes::from_static(line) },
            bomb: Body::gzip_repeat(RULES.as_bytes(), line, 64 << 20, b""),
            broken_gzip: Body::Octets(whole.slice(..whole.len() * 2 / 3)),
        }
    }
}

/// Ten thousand origins, three in ten of them faulty, and the same number without a fault.
pub(super) fn every_class(bench: &Bench) -> anyhow::Result<Outcome> {
    let (origins, per_kind) = (bench.scale.of(600, 10_000), bench.scale.of(12, 120));
    let mut outcome = Outcome::default();
    let healthy = Ledger::healthy((0..origins).map(|index| format!("http://{}", host(index))));
    let web = ScriptedWeb::of_script(Script::new((0..origins).map(rules_of).collect()))?;
    let plain = inside::run(
        &bench.folder.join("plain"),
        &healthy,
        inside::settings(Network::Embedded(web.network()), &ALLOWED)?,
        CONCURRENCY,
    )?;
    healthy.check(&plain.output, &mut outcome)?;
    drop(web);
    let (script, ledger) = mixed(origins, per_kind);
    let web = ScriptedWeb::of_script(script)?;
    let settings = inside::settings(Network::Embedded(web.network()), &ALLOWED)?;
    let limits = settings.limits.clone();
    let mixed = inside::run(&bench.folder.join("mixed"), &ledger, settings, CONCURRENCY)?;
    ledger.check(&mixed.output, &mut outcome)?;
    let most = plain.duration * 3 + limits.attempt;
    outcome.fact(format!(
        "{:.1} s with faults, {:.1} s without",
        mixed.duration.as_secs_f64(),
        plain.duration.as_secs_f64()
    ));
    // A few hundred origins are done before the clock says anything.
    let is_measured = bench.scale == super::Scale::Full;
    outcome.require(!is_measured || mixed.duration <= most, || {
        format!(
            "{:?} with faults, {:?} without: more than three times and the longest limit",
            mixed.duration, plain.duration
        )
    });
    Ok(outcome)
}

/// The addresses of the web.
const ALLOWED: [&str; 2] = ["127.0.0.1/32", "127.9.0.0/24"];

fn host(index: usize) -> String {
    format!("origin-{index:05}.test")
}

fn rules_of(index: usize) -> Route {
    Route::robots(Scheme::Http, &host(index), Response::text(format!("# {}\n{RULES}", index % 100)))
}

/// The script of a web with so many origins of each kind among the healthy ones.
fn mixed(origins: usize, per_kind: usize) -> (Script, Ledger) {
    let mut script = Script::new(Vec::new());
    let mut ledger = Ledger::default();
    let bodies = Bodies::new();
    let faulty = per_kind * KINDS;
    // Scattered over the list, as faults are.
    let step = origins / faulty.max(1);
    for index in 0..origins {
        let nth = index / step;
        if !index.is_multiple_of(step) || nth >= faulty {
            script.routes.push(rules_of(index));
            ledger.expect(format!("http://{}", host(index)), Expected::HEALTHY);
            continue;
        }
        let variants = FAULTS[nth % KINDS];
        let fault = variants[nth / KINDS % variants.len()];
        ledger.expect(add(&mut script, fault, index, &bodies), fault.expected());
    }
    (script, ledger)
}

/// Adds a faulty origin; gives the line of the list.
fn add(script: &mut Script, fault: Fault, index: usize, bodies: &Bodies) -> String {
    let host = host(index);
    let scheme = fault.scheme();
    if let Some(answer) = fault.answer(bodies) {
        script.routes.push(Route::robots(scheme, &host, answer));
    }
    let at = |path: &str, to: &str| Route::at(scheme, &host, path, Response::redirect(302, to));
    match fault {
        F::NoOrigin(line) => return line.replace("{}", &index.to_string()),
        F::RedirectLoop => script.routes.extend([at("/robots.txt", "/a"), at("/a", "/robots.txt")]),
        F::RedirectChain => {
            script.routes.push(at("/robots.txt", "/0"));
            script.routes.extend((0..8).map(|hop| at(&format!("/{hop}"), &format!("/{}", hop + 1))));
        }
        F::Name(fault) => {
            script.names.listed.insert(host.clone(), vec![name_answer(fault)]);
        }
        F::Door(door) => place(script, &host, door, scheme),
        F::SilentTls => place(script, &host, Door::Silent, scheme),
        F::Shown(certificate) => {
            script.certificates.insert(host.clone(), certificate);
        }
        _ => {}
    }
    format!("{}://{host}", scheme.as_str())
}

fn name_answer(fault: NameFault) -> NameAnswer {
    match fault {
        NameFault::NoSuchName => NameAnswer::NxDomain,
        NameFault::NoAddress => NameAnswer::NoData,
        NameFault::Failure => NameAnswer::Failure,
        NameFault::Silence => NameAnswer::Timeout,
        NameFault::BlockedAddress => NameAnswer::Addresses(vec![LOCALHOST, Ipv4Addr::new(10, 1, 2, 3).into()]),
    }
}

/// Doors other than the usual are behind ports of their own names' addresses: one for each kind of door.
fn place(script: &mut Script, host: &str, door: Door, scheme: Scheme) {
    let address = IpAddr::V4(Ipv4Addr::new(127, 9, 0, 1 + door as u8));
    script.names.listed.insert(host.to_owned(), vec![NameAnswer::Addresses(vec![address])]);
    script.places.insert((address, scheme.default_port()), door);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_class_of_the_policy_is_played() {
        let played: HashSet<&str> =
            FAULTS.iter().copied().flatten().map(|fault| fault.expected().class.as_str()).collect();
        let never = [C::NotCollected, C::Internal];
        for class in C::ALL.iter().filter(|class| !never.contains(class)) {
            assert!(played.contains(class.as_str()), "{class} is not played");
        }
    }

    #[test]
    fn every_variant_is_played_even_in_a_small_run() {
        let (_, ledger) = mixed(600, 12);
        assert_eq!(ledger.len(), 600);
        assert!(FAULTS.iter().all(|variants| variants.len() <= 12));
    }
}
