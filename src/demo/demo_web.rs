//! The web of the `demo` command: thousands of invented origins behind a handful of listeners on 127.0.0.1.
//!
//! Every origin has a loopback address of its own or shares one with two others; the embedded network leads all of
//! them to the same listeners.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};

use super::answer::{Certificate, Door};
use super::origins::{Lookup, Site};
use super::script::{Names, Script};
use super::web::ScriptedWeb;
use crate::origin::{Scheme, Target};
use crate::robots::access::{FetchClass, Reason};
use crate::source::http::{EmbeddedNetwork, FetchLimits, NameAnswer};

/// Origins of a web whose size nobody chose.
pub const ORIGINS: usize = 2000;

/// Origins that there are addresses for.
const MOST_ORIGINS: usize = 1_000_000;

/// A running web of invented origins. Dropping it ends it.
#[derive(Debug)]
pub struct DemoWeb {
    web: ScriptedWeb,
    cards: Vec<Card>,
    by_origin: HashMap<String, usize>,
}

/// What is kept of an origin once its answers are with the server.
#[derive(Debug)]
struct Card {
    line: String,
    expected: (FetchClass, Option<Reason>),
    urls: Vec<String>,
}

impl DemoWeb {
    /// Starts a web of `count` origins on a thread of its own. The same count and seed give the same web.
    ///
    /// # Errors
    /// Where no port or thread is to be had, or `count` is above a million.
    pub fn start(count: usize, seed: u64) -> io::Result<Self> {
        let count = u32::try_from(count)
            .ok()
            .filter(|_| count <= MOST_ORIGINS)
            .ok_or_else(|| io::Error::other("an embedded web has at most 1000000 origins"))?;
        let mut script = Script::new(Vec::new());
        script.names = Names { listed: HashMap::new(), otherwise: NameAnswer::NxDomain };
        let mut cards = Vec::new();
        let mut by_origin = HashMap::new();
        for site in (0..count).map(|index| Site::generate(index, seed)) {
            if let Ok(target) = Target::parse(site.line.as_bytes()) {
                by_origin.insert(target.origin.as_str().to_owned(), cards.len());
            }
            cards.push(add(&mut script, site));
        }
        Ok(Self { web: ScriptedWeb::of_script(script)?, cards, by_origin })
    }

    /// The lines of the origin list.
    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.cards.iter().map(|card| card.line.clone())
    }

    /// A few URLs of every origin, origin by origin.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.cards.iter().flat_map(|card| card.urls.iter().map(String::as_str))
    }

    /// The network on which a fetcher finds this web, and nothing else.
    #[must_use]
    pub fn network(&self) -> EmbeddedNetwork {
        self.web.network()
    }

    /// The addresses that the address guard has to let pass.
    #[must_use]
    pub fn allowed_addresses(&self) -> Vec<IpNet> {
        let loopback = Ipv4Net::new_assert(std::net::Ipv4Addr::new(127, 0, 0, 0), 8);
        vec![IpNet::V4(loopback)]
    }

    /// The class that a fetch of this origin (or line of the list) has to find, and the reason where one is defined.
    #[must_use]
    pub fn expected(&self, origin: &str) -> Option<(FetchClass, Option<Reason>)> {
        let target = Target::parse(origin.as_bytes()).ok()?;
        let index = self.by_origin.get(target.origin.as_str())?;
        Some(self.cards[*index].expected)
    }

    /// Limits that suit a web without distances: short enough not to wait long for origins that never answer, long
    /// enough for a busy machine.
    #[must_use]
    pub fn limits(&self) -> FetchLimits {
        FetchLimits {
            connect: Duration::from_millis(2500),
            headers: Duration::from_millis(2500),
            idle: Duration::from_secs(2),
            attempt: Duration::from_secs(5),
            origin: Duration::from_secs(15),
            body_octets: 512_000,
            coded_octets: 512_000,
            ..FetchLimits::default()
        }
    }

    /// The server, for what it has seen.
    #[must_use]
    pub fn web(&self) -> &ScriptedWeb {
        &self.web
    }
}

fn add(script: &mut Script, site: Site) -> Card {
    for (name, lookup) in site.names {
        let answer = match lookup {
            Lookup::Address(address) => {
                for (scheme, door) in [(Scheme::Http, site.doors.0), (Scheme::Https, site.doors.1)] {
                    if door != Door::Refused {
                        script.places.entry((address, scheme.default_port())).or_insert(door);
                    }
                }
                NameAnswer::Addresses(vec![address])
            }
            Lookup::NoSuchName => NameAnswer::NxDomain,
            Lookup::Failure => NameAnswer::Failure,
        };
        script.names.listed.insert(name, vec![answer]);
    }
    if site.certificate != Certificate::Valid {
        script.certificates.insert(site.host, site.certificate);
    }
    script.routes.extend(site.routes);
    Card { line: site.line, expected: site.expected, urls: site.urls }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::script::LOCALHOST;

    #[test]
    fn every_line_has_an_expected_class() {
        let web = DemoWeb::start(1000, 5).expect("a web on loopback");
        let lines: Vec<String> = web.targets().collect();
        assert_eq!(lines.len(), 1000);
        assert!(lines.iter().all(|line| web.expected(line).is_some()));
        let bare = lines.iter().find(|line| !line.contains("://")).expect("most are bare");
        assert_eq!(web.expected(bare), web.expected(&format!("HTTPS://{bare}:443/x")));
        assert_eq!(web.expected("https://nowhere.test"), None);
        assert!(web.urls().count() > 4000);
    }

    #[test]
    fn every_name_leads_to_a_listener_of_this_web() {
        let web = DemoWeb::start(1000, 5).expect("a web on loopback");
        let network = web.network();
        for line in web.targets() {
            let target = Target::parse(line.as_bytes()).expect("an origin");
            if let NameAnswer::Addresses(addresses) = (network.names)(target.origin.host()) {
                for address in addresses {
                    assert!(web.allowed_addresses().iter().any(|range| range.contains(&address)));
                    assert_eq!((network.ports)(address, target.origin.port()).ip(), LOCALHOST);
                }
            }
        }
        assert_eq!((network.names)("nowhere.test"), NameAnswer::NxDomain);
    }

    #[test]
    fn too_large_a_web_is_refused() {
        assert!(DemoWeb::start(MOST_ORIGINS + 1, 1).is_err());
    }
}
