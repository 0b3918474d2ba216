//! What a web is to play: answers, certificates, names and what is behind each port.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use super::answer::{Certificate, Door, Route};
use crate::origin::Scheme;
use crate::source::http::NameAnswer;

/// The address that the web listens on.
pub const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What the web is to play.
#[derive(Debug, Clone)]
pub struct Script {
    /// Answers; of those that fit a request the narrowest is played, the first where several are equally narrow.
    pub routes: Vec<Route>,
    /// Hosts (without port) that do not show a valid certificate.
    pub certificates: HashMap<String, Certificate>,
    /// What names lead to.
    pub names: Names,
    /// What is behind an address and port. HTTP and TLS are on 80 and 443 of 127.0.0.1, and on the ports that routes
    /// name, unless something else stands here; everywhere else connections are refused.
    pub places: HashMap<(IpAddr, u16), Door>,
    /// Further loopback addresses with an HTTP listener on port 80, to see whether anybody connects.
    pub watched: Vec<IpAddr>,
}

impl Script {
    /// A script in which every name leads to 127.0.0.1.
    #[must_use]
    pub fn new(routes: Vec<Route>) -> Self {
        Self {
            routes,
            certificates: HashMap::new(),
            names: Names::default(),
            places: HashMap::new(),
            watched: Vec::new(),
        }
    }

    /// Every place, the usual ones with it.
    pub(super) fn all_places(&self) -> HashMap<(IpAddr, u16), Door> {
        let named = self.routes.iter().filter_map(|route| {
            let (_, port) = route.host.rsplit_once(':')?;
            Some((port.parse().ok()?, door_of(route.scheme)))
        });
        let mut places: HashMap<_, _> = [Scheme::Http, Scheme::Https]
            .into_iter()
            .map(|scheme| (scheme.default_port(), door_of(scheme)))
            .chain(named)
            .map(|(port, door)| ((LOCALHOST, port), door))
            .collect();
        places.extend(&self.places);
        places
    }
}

const fn door_of(scheme: Scheme) -> Door {
    match scheme {
        Scheme::Http => Door::Http,
        Scheme::Https => Door::Tls,
    }
}

/// What names lead to.
#[derive(Debug, Clone)]
pub struct Names {
    /// Answers by name, one a look-up; the last one stays.
    pub listed: HashMap<String, Vec<NameAnswer>>,
    /// The answer for every other name.
    pub otherwise: NameAnswer,
}

impl Default for Names {
    fn default() -> Self {
        Self { listed: HashMap::new(), otherwise: NameAnswer::Addresses(vec![LOCALHOST]) }
    }
}

impl Names {
    /// The answer to the `nth` look-up of a name (from 0).
    pub(super) fn answer(&self, name: &str, nth: usize) -> NameAnswer {
        match self.listed.get(name) {
            Some(answers) => answers.get(nth).or(answers.last()).cloned().unwrap_or(NameAnswer::NoData),
            None => self.otherwise.clone(),
        }
    }
}
