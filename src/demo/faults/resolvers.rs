//! M15: a name server that says no, fails at first, or says nothing; names beside those are not held up.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::super::answer::{Answer, Response};
use super::super::play::Request;
use super::ledger::{Expected, Ledger};
use super::plain::NO_STREET;
use super::street::{Street, house};
use super::{Bench, Outcome, Scale, inside};
use crate::robots::access::FetchClass;
use crate::source::http::{FetchSettings, Network};

/// How a name is answered; its first letter says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NoSuchName,
    FailsFirst,
    Silent,
    Healthy,
}

impl Kind {
    const ALL: [Self; 4] = [Self::NoSuchName, Self::FailsFirst, Self::Silent, Self::Healthy];

    const fn word(self) -> &'static str {
        match self {
            Self::NoSuchName => "none",
            Self::FailsFirst => "fails",
            Self::Silent => "silent",
            Self::Healthy => "healthy",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| name.starts_with(kind.word()))
    }

    const fn expected(self) -> Expected {
        match self {
            Self::NoSuchName => Expected::fault(FetchClass::DnsNxdomain),
            Self::FailsFirst => Expected::fault(FetchClass::Ok),
            Self::Silent => Expected::fault(FetchClass::DnsFailure),
            Self::Healthy => Expected::HEALTHY,
        }
    }
}

/// A thousand names in trouble, a quarter of that in health among them.
pub(super) fn troubled_names(bench: &Bench) -> anyhow::Result<Outcome> {
    if !Street::is_possible() {
        return Ok(Outcome::skipped(NO_STREET));
    }
    let last: Arc<Mutex<Option<Instant>>> = Arc::default();
    let seen = Arc::clone(&last);
    let street = Street::open(move |_, request: &Request| -> Answer {
        if Kind::of(&request.host) == Some(Kind::Healthy) {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        Response::text("User-agent: *\nDisallow: /x\n").into()
    })?;
    let server = NameServer::start()?;
    let mut ledger = Ledger::default();
    for index in 0..bench.scale.of(120, 1_000) {
        let mut add = |kind: Kind| {
            ledger.expect(format!("http://{}-{index}.test:{}", kind.word(), street.port()), kind.expected());
        };
        add(Kind::ALL[index % 3]);
        if index.is_multiple_of(4) {
            add(Kind::Healthy);
        }
    }
    let settings = FetchSettings {
        dns_servers: vec![server.address],
        retries: 1,
        ..inside::settings(Network::System, &["127.0.0.0/8"])?
    };
    let limit = settings.limits.connect;
    let start = Instant::now();
    let ran = inside::run(&bench.folder, &ledger, settings, 256)?;
    let mut outcome = Outcome::default();
    ledger.check(&ran.output, &mut outcome)?;
    let last = last.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at - start).unwrap_or_default();
    outcome.fact(format!(
        "the last healthy name was fetched after {} ms; silence lasts {} ms",
        last.as_millis(),
        limit.as_millis()
    ));
    outcome.require(bench.scale == Scale::Small || last < limit, || format!("a healthy name waited {last:?}"));
    Ok(outcome)
}

/// A name server on loopback. Dropping it ends it.
#[derive(Debug)]
struct NameServer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    fn start() -> anyhow::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let address = socket.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || serve(&socket, &ends));
        Ok(Self { address, is_over, thread: Some(thread) })
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, is_over: &AtomicBool) {
    let mut asked = HashMap::new();
    let mut octets = [0; 1500];
    while !is_over.load(Ordering::SeqCst) {
        let Ok((length, client)) = socket.recv_from(&mut octets) else { continue };
        if let Some(answer) = Query::read(&octets[..length]).and_then(|query| query.answer(&mut asked)) {
            let _ = socket.send_to(&answer, client);
        }
    }
}

/// A question (RFC 1035 §4.1.2), and the octets that hold it.
struct Query<'a> {
    id: [u8; 2],
    question: &'a [u8],
    name: String,
    kind: u16,
}

const HEADER_OCTETS: usize = 12;
const TYPE_A: u16 = 1;
const NO_ERROR: u8 = 0;
const SERVER_FAILURE: u8 = 2;
const NAME_ERROR: u8 = 3;

impl<'a> Query<'a> {
    fn read(message: &'a [u8]) -> Option<Self> {
        let id = [*message.first()?, *message.get(1)?];
        let mut at = HEADER_OCTETS;
        let mut labels = Vec::new();
        loop {
            let length = usize::from(*message.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_ascii_lowercase());
            at += length;
        }
        let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
        Some(Self { id, question: message.get(HEADER_OCTETS..at + 4)?, name: labels.join("."), kind })
    }

    /// `None` where nothing is said. Names that fail do so on their first question of each kind.
    fn answer(&self, asked: &mut HashMap<(String, u16), usize>) -> Option<Vec<u8>> {
        let times = asked.entry((self.name.clone(), self.kind)).or_default();
        *times += 1;
        let address = (self.kind == TYPE_A).then(|| self.address());
        match Kind::of(&self.name)? {
            Kind::NoSuchName => Some(self.message(NAME_ERROR, None)),
            Kind::FailsFirst if *times == 1 => Some(self.message(SERVER_FAILURE, None)),
            Kind::Silent => None,
            Kind::FailsFirst | Kind::Healthy => Some(self.message(NO_ERROR, address)),
        }
    }

    /// Each name has an address of its own.
    fn address(&self) -> Ipv4Addr {
        let number: String = self.name.chars().filter(char::is_ascii_digit).collect();
        house(number.parse().unwrap_or_default())
    }

    fn message(&self, code: u8, address: Option<Ipv4Addr>) -> Vec<u8> {
        let mut message = self.id.to_vec();
        // An answer, recursion desired and available; one question, at most one record.
        message.extend_from_slice(&[0x81, 0x80 | code, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        message.extend_from_slice(self.question);
        if let Some(address) = address {
            // The name of the question, type A, class IN, a minute, four octets.
            message.extend_from_slice(&[0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            message.extend_from_slice(&address.octets());
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_and_answered() {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(b"\x09Healthy-3\x04test\x00\x00\x01\x00\x01");
        let query = Query::read(&message).expect("a question");
        assert_eq!((query.name.as_str(), query.kind), ("healthy-3.test", TYPE_A));
        let answer = query.answer(&mut HashMap::new()).expect("an answer");
        assert!(answer.starts_with(&[7, 9, 0x81, 0x80]) && answer.ends_with(&house(3).octets()));
        assert!(Query::read(&message[..14]).is_none());
    }
}
