//! M12: spellings of addresses that are not public, names that lead to them, and public ones beside them. What is not
//! public never gets as far as a connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::ledger::{Expected, Ledger};
use super::{Bench, Outcome, inside};
use crate::robots::access::FetchClass;
use crate::source::http::{EmbeddedNetwork, NameAnswer, Network};

/// Hosts that are not public, as a list or a `Location` may spell them.
const BLOCKED: [&str; 68] = [
    "0.0.0.0",
    "0",
    "0.255.255.255",
    "10.0.0.1",
    "10.255.255.255",
    "012.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "127.1",
    "127.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "127\u{3002}0\u{3002}0\u{3002}1",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "0xA9FEA9FE",
    "2852039166",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "0300.0250.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[64:ff9b:1::1]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[::ffff:7f00:1]",
    "[::FFFF:127.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::127.0.0.1]",
    "[::a00:1]",
    "[64:ff9b::10.0.0.1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[fe80::5efe:8.8.8.8]",
    "[2606:4700::5efe:192.168.0.1]",
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "inside.test",
];

/// Public ones, some next to a range that is not.
const PUBLIC: [&str; 12] = [
    "9.255.255.255",
    "11.0.0.0",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.17",
    "172.32.0.0",
    "198.20.0.0",
    "223.255.255.255",
    "[::ffff:8.8.8.8]",
    "[2606:4700::1111]",
    "outside.test",
];

/// Ports that no service uses: every spelling is an origin of its own, though many mean the same address.
const FIRST_PORT: usize = 20_000;

/// Every spelling once.
pub(super) fn spellings(bench: &Bench) -> anyhow::Result<Outcome> {
    let mut ledger = Ledger::default();
    for (index, host) in BLOCKED.iter().chain(&PUBLIC).enumerate() {
        let expected = if index < BLOCKED.len() {
            Expected::fault(FetchClass::BlockedAddress)
        } else {
            // Nothing is sent to the world: the way out is a port that refuses.
            Expected { class: FetchClass::ConnectFailed, ..Expected::HEALTHY }
        };
        ledger.expect(format!("http://{host}:{}/", FIRST_PORT + index), expected);
    }
    let connections = Arc::new(AtomicUsize::new(0));
    let settings = inside::settings(Network::Embedded(network(Arc::clone(&connections))?), &[])?;
    let ran = inside::run(&bench.folder, &ledger, settings, 8)?;
    let mut outcome = Outcome::default();
    ledger.check(&ran.output, &mut outcome)?;
    let connections = connections.load(Ordering::SeqCst);
    outcome.require(connections == PUBLIC.len(), || {
        format!("{connections} connections were tried, of which {} are to be", PUBLIC.len())
    });
    outcome.fact(format!("{} spellings refused, {} let pass", BLOCKED.len(), PUBLIC.len()));
    Ok(outcome)
}

/// Names lead inside or outside; every connection is counted and refused.
fn network(connections: Arc<AtomicUsize>) -> anyhow::Result<EmbeddedNetwork> {
    // Free a moment ago, and nobody is told of it.
    let refused: SocketAddr = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    Ok(EmbeddedNetwork {
        names: Box::new(|name| {
            let public = IpAddr::V4(Ipv4Addr::new(8, 8, 4, 4));
            let private = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 10));
            NameAnswer::Addresses(if name == "outside.test" { vec![public] } else { vec![public, private] })
        }),
        ports: Box::new(move |_, _| {
            connections.fetch_add(1, Ordering::SeqCst);
            refused
        }),
        extra_roots: Vec::new(),
    })
}
