//! M9, M10: many names on one address, and servers that ask to wait.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::super::answer::{Answer, Response};
use super::super::play::Request;
use super::ledger::{Expected, Ledger};
use super::street::Street;
use super::{Bench, Outcome, inside};
use crate::robots::access::FetchClass;
use crate::source::http::{EmbeddedNetwork, FetchSettings, NameAnswer, Network};

/// Connections to one address at a time.
const AT_ONCE: usize = 8;
const RULES: &str = "User-agent: *\nDisallow: /x\n";

/// A network in which every name leads to the same address, and that to the street.
fn one_address(street: &Street) -> Network {
    let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, street.port()));
    Network::Embedded(EmbeddedNetwork {
        names: Box::new(|_| NameAnswer::Addresses(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])),
        ports: Box::new(move |_, _| socket),
        extra_roots: Vec::new(),
    })
}

/// Two thousand names on one address.
pub(super) fn shared_address(bench: &Bench) -> anyhow::Result<Outcome> {
    let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let counts = Arc::clone(&asked);
    let street = Street::slow(Duration::from_millis(10), move |_, request: &Request| -> Answer {
        *counts.lock().unwrap_or_else(PoisonError::into_inner).entry(request.host.clone()).or_default() += 1;
        Response::text(RULES).into()
    })?;
    let names = bench.scale.of(300, 2_000);
    let ledger = Ledger::healthy((0..names).map(|index| format!("http://shared-{index}.test")));
    let settings =
        FetchSettings { per_ip_concurrency: AT_ONCE, ..inside::settings(one_address(&street), &["127.0.0.1/32"])? };
    let ran = inside::run(&bench.folder, &ledger, settings, 256)?;
    let mut outcome = Outcome::default();
    ledger.check(&ran.output, &mut outcome)?;
    let most = street.most_waiting();
    outcome.require(most <= AT_ONCE, || format!("{most} connections to one address at once"));
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let once = asked.values().filter(|count| **count == 1).count();
    outcome.require(once == names && asked.len() == names, || format!("{once} of {names} names were asked once"));
    outcome.fact(format!("{most} connections at once, one for each of {once} names"));
    Ok(outcome)
}

/// Fetches at a time while five hundred origins wait.
const FEW: usize = 16;

/// What each origin was told, and when it came back.
#[derive(Debug, Default)]
struct Waits {
    not_before: HashMap<String, SystemTime>,
    too_early: usize,
    returned: usize,
}

impl Waits {
    /// First a refusal for a while, then rules.
    fn answer(&mut self, host: &str) -> Answer {
        let now = SystemTime::now();
        if let Some(not_before) = self.not_before.get(host) {
            self.returned += 1;
            self.too_early += usize::from(now < *not_before);
            return Response::text(RULES).into();
        }
        let number = self.not_before.len() as u64;
        let seconds = 1 + number % 3;
        let status = if number.is_multiple_of(2) { 429 } else { 503 };
        self.not_before.insert(host.to_owned(), now + Duration::from_secs(seconds));
        Response::status(status).header("Retry-After", seconds.to_string()).into()
    }
}

/// Five hundred origins that ask to wait one to three seconds.
pub(super) fn waits(bench: &Bench) -> anyhow::Result<Outcome> {
    let waits: Arc<Mutex<Waits>> = Arc::default();
    let shared = Arc::clone(&waits);
    let street = Street::open(move |_, request: &Request| {
        shared.lock().unwrap_or_else(PoisonError::into_inner).answer(&request.host)
    })?;
    let origins = bench.scale.of(60, 500);
    let mut ledger = Ledger::default();
    let expected = Expected::fault(FetchClass::Ok);
    (0..origins).for_each(|index| ledger.expect(format!("http://busy-{index}.test"), expected));
    let settings = FetchSettings { retries: 2, ..inside::settings(one_address(&street), &["127.0.0.1/32"])? };
    let ran = inside::run(&bench.folder, &ledger, settings, FEW)?;
    let mut outcome = Outcome::default();
    ledger.check(&ran.output, &mut outcome)?;
    let waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.require(waits.too_early == 0, || format!("{} requests before their time", waits.too_early));
    outcome.require(waits.returned == origins, || format!("{} of {origins} were asked twice", waits.returned));
    // Two seconds each on the average: one after the other on these few fetches they take far longer.
    let one_after_the_other = Duration::from_secs(2) * u32::try_from(origins / FEW)?;
    outcome.require(ran.duration < one_after_the_other, || {
        format!("{:?} for waits that add up to {one_after_the_other:?} on {FEW} fetches", ran.duration)
    });
    outcome.fact(format!(
        "{:.1} s at {FEW} fetches at a time; waits that held a fetch would take {} s",
        ran.duration.as_secs_f64(),
        one_after_the_other.as_secs()
    ));
    Ok(outcome)
}
