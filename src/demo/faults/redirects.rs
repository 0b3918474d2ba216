//! M11: redirects in every shape. Chains up to the limit lead to rules, everything else ends as what it is, and nobody
//! who may not be connected to sees a connection.

use std::net::{IpAddr, Ipv4Addr};

use super::super::answer::{Response, Route};
use super::super::script::Script;
use super::super::seeded::Seeded;
use super::super::web::ScriptedWeb;
use super::ledger::{Expected, Ledger};
use super::{Bench, Outcome, inside};
use crate::origin::Scheme;
use crate::robots::access::FetchClass;
use crate::source::http::{NameAnswer, Network};

/// Nobody may connect to it, though somebody listens there.
const FORBIDDEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const INSIDE: &str = "inside.test";
/// Hops that are followed.
const MOST_HOPS: usize = 5;

/// Ways into [`FORBIDDEN`] and other places that are not public.
const BLOCKED: [&str; 18] = [
    "http://127.0.0.2/robots.txt",
    "http://inside.test/robots.txt",
    "http://INSIDE.test./",
    "//127.0.0.2/x",
    "http://2130706434/",
    "http://0x7f000002/",
    "http://0177.0.0.2/",
    "http://127.2/",
    "http://user:secret@127.0.0.2/",
    "http://[::ffff:127.0.0.2]/",
    "http://[::ffff:7f00:2]/",
    "http://[64:ff9b::7f00:2]/",
    "http://[::1]/",
    "http://[fd00::1]/",
    "http://localhost/",
    "http://a.localhost/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
];

/// What is no place to go to.
const INVALID: [&str; 12] = [
    "",
    "http://",
    "http://[",
    "http://a b.test/",
    "http://$host/robots.txt",
    "http://a..test/",
    "http://a.test:99999/",
    "ftp://a.test/robots.txt",
    "file:///etc/hostname",
    "javascript:alert(1)",
    "data:text/plain,User-agent:*",
    "gopher://a.test:70/",
];

/// What stands at the end of a chain.
#[derive(Debug, Clone, Copy)]
enum Goal {
    Rules,
    /// Back to the hop with this number.
    Loop(usize),
    To(&'static str),
}

/// A graph: a chain of hops, within one host or from host to host, and a goal.
#[derive(Debug, Clone, Copy)]
struct Graph {
    number: usize,
    hops: usize,
    crosses_hosts: bool,
    goal: Goal,
}

impl Graph {
    fn of(number: usize) -> Self {
        let mut seeded = Seeded::new(11, number as u64);
        let below = |seeded: &mut Seeded, bound: usize| {
            usize::try_from(seeded.below(bound as u64)).expect("below a small number")
        };
        let turn = number / 4;
        let (hops, goal) = match number % 4 {
            0 => (turn % 13, Goal::Rules),
            1 => {
                let hops = 1 + turn % 6;
                (hops, Goal::Loop(below(&mut seeded, hops)))
            }
            2 => (turn % MOST_HOPS, Goal::To(BLOCKED[turn % BLOCKED.len()])),
            _ => (turn % MOST_HOPS, Goal::To(INVALID[turn % INVALID.len()])),
        };
        Self { number, hops, crosses_hosts: seeded.chance(50), goal }
    }

    fn host(&self, hop: usize) -> String {
        let own = if self.crosses_hosts { hop } else { 0 };
        format!("graph-{}-{own}.test", self.number)
    }

    fn path(hop: usize) -> String {
        if hop == 0 { "/robots.txt".to_owned() } else { format!("/hop/{hop}") }
    }

    /// Where the hop with this number is.
    fn url(&self, hop: usize) -> String {
        let path = Self::path(hop);
        if self.crosses_hosts { format!("http://{}{path}", self.host(hop)) } else { path }
    }

    fn expected(&self) -> Expected {
        match self.goal {
            Goal::Rules if self.hops == 0 => Expected::HEALTHY,
            Goal::Rules if self.hops <= MOST_HOPS => Expected::fault(FetchClass::Ok),
            Goal::Rules | Goal::Loop(_) => Expected::fault(FetchClass::RedirectLimit),
            Goal::To(location) if BLOCKED.contains(&location) => Expected::fault(FetchClass::BlockedAddress),
            Goal::To(_) => Expected::fault(FetchClass::RedirectInvalid),
        }
    }

    fn routes(&self) -> impl Iterator<Item = Route> {
        let at = |hop, answer| Route::at(Scheme::Http, &self.host(hop), &Self::path(hop), answer);
        let status = [301, 302, 303, 307, 308][self.number % 5];
        let chain = (0..self.hops).map(move |hop| at(hop, Response::redirect(status, &self.url(hop + 1))));
        let last = match self.goal {
            Goal::Rules => Response::text("User-agent: *\nDisallow: /x\n"),
            Goal::Loop(hop) => Response::redirect(status, &self.url(hop)),
            Goal::To("") => Response::status(status),
            Goal::To(location) => Response::redirect(status, location),
        };
        chain.chain(std::iter::once(at(self.hops, last)))
    }
}

/// Three hundred graphs.
pub(super) fn graphs(bench: &Bench) -> anyhow::Result<Outcome> {
    let graphs: Vec<Graph> = (0..bench.scale.of(144, 300)).map(Graph::of).collect();
    let mut script = Script::new(graphs.iter().flat_map(Graph::routes).collect());
    let forbidden = IpAddr::V4(FORBIDDEN);
    script.names.listed.insert(INSIDE.to_owned(), vec![NameAnswer::Addresses(vec![forbidden])]);
    // Elsewhere only one loopback address can be listened on.
    if cfg!(target_os = "linux") {
        script.watched = vec![forbidden];
    }
    let mut ledger = Ledger::default();
    for graph in &graphs {
        ledger.expect(format!("http://{}", graph.host(0)), graph.expected());
    }
    let web = ScriptedWeb::of_script(script)?;
    let settings = inside::settings(Network::Embedded(web.network()), &["127.0.0.1/32"])?;
    let ran = inside::run(&bench.folder, &ledger, settings, 64)?;
    let mut outcome = Outcome::default();
    ledger.check(&ran.output, &mut outcome)?;
    let connections = web.connections_to(forbidden);
    outcome.require(connections == 0, || format!("a forbidden address saw {connections} connections"));
    outcome.fact(format!("{connections} connections to the forbidden address"));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_and_length_is_played() {
        let graphs: Vec<Graph> = (0..144).map(Graph::of).collect();
        for location in BLOCKED.iter().chain(&INVALID) {
            let is_it = |graph: &Graph| matches!(graph.goal, Goal::To(to) if to == *location);
            assert!(graphs.iter().any(is_it), "{location}");
        }
        for hops in 0..=12 {
            assert!(graphs.iter().any(|graph| matches!(graph.goal, Goal::Rules) && graph.hops == hops), "{hops}");
        }
    }
}
