//! Settings: flags over the TOML file over defaults, resolved to a plan and to fetch settings.
//!
//! The library reads no command line and no environment; the command line fills [`Options`] from both.

mod values;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::Deserialize;
use thiserror::Error;

use crate::audit::plan::Plan;
use crate::crawlers::{Registry, RegistryError, SelectionError};
use crate::robots::access::Policy;
use crate::robots::token::Matching;

pub use values::{NameServer, Seconds, ValueError};

/// Crawlers that are asked where none are named.
pub const CRAWLERS: &str = "@common";
/// Connections at a time at most. More hide latency, but cost more for each fetch.
pub const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Threads that evaluate at most; more than a machine has cores only slow each other down.
pub const THREADS: usize = 256;
/// Product token of the User-Agent.
pub const PRODUCT_TOKEN: &str = "robots-audit";

/// What a flag, the environment or the file may say. Everything may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Crawlers to ask about: tokens and sets, or a file.
    pub crawlers: Option<String>,
    /// A file that extends the registry.
    pub registry: Option<PathBuf>,
    /// What is made of missing and failed answers.
    pub policy: Option<String>,
    /// How files are read.
    pub matching: Option<String>,
    /// Whether the other mode is asked as well, and where the two part is told.
    pub compare_matching: Option<bool>,
    /// Whether fall-back tokens are ignored.
    pub exact_tokens: Option<bool>,
    /// URL or e-mail address that site owners can turn to.
    pub contact: Option<String>,
    /// Product token of the User-Agent.
    pub product_token: Option<String>,
    /// Connections at a time at most.
    pub concurrency: Option<NonZeroUsize>,
    /// Attempts after the first.
    pub retries: Option<u16>,
    /// Connections to one address at a time; 0 is no limit.
    pub per_ip_concurrency: Option<usize>,
    /// New connections to one address in a second; 0 is no limit.
    pub per_ip_rate: Option<u32>,
    /// Name servers that are asked instead of the system's.
    pub dns: Option<Vec<NameServer>>,
    /// The HTTP proxy that all connections go through.
    pub proxy: Option<String>,
    /// Address ranges that the guard lets pass.
    pub allow_address: Option<Vec<IpNet>>,
    /// Output folder of an earlier run whose answers are used again.
    pub reuse: Option<PathBuf>,
    /// Threads that evaluate.
    pub threads: Option<NonZeroUsize>,
    /// Limits of one fetch.
    pub limits: Option<LimitOptions>,
}

/// Limits of one fetch, in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitOptions {
    /// Seconds for a look-up, and again for a connection with its TLS handshake.
    pub connect_s: Option<Seconds>,
    /// Seconds until the end of the header fields.
    pub headers_s: Option<Seconds>,
    /// Seconds of silence within a body.
    pub idle_s: Option<Seconds>,
    /// Seconds of one attempt.
    pub attempt_s: Option<Seconds>,
    /// Seconds of work for one origin.
    pub origin_s: Option<Seconds>,
    /// Octets of a decoded body.
    pub body_octets: Option<usize>,
    /// Redirects followed.
    pub redirects: Option<u16>,
}

/// Why settings cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no valid TOML, or holds an unknown key.
    #[error("in {}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The cause, with line and caret.
        source: Box<toml::de::Error>,
    },
    /// A word that is none of a closed set.
    #[error("{name} {value:?} is not known (there are {known})")]
    Word {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: String,
        /// What there is.
        known: String,
    },
    /// The registry file.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The crawlers asked for.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// A live fetch without a contact.
    #[error("fetching needs a contact: give --contact with a URL or e-mail address that site owners can turn to")]
    NoContact,
    /// No proxy.
    #[error("proxy {given:?} is no URL")]
    Proxy {
        /// As given.
        given: String,
        /// The cause.
        source: url::ParseError,
    },
    /// The settings of a fetch.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Http(#[from] crate::source::http::HttpError),
}

impl Options {
    /// Reads the file.
    ///
    /// # Errors
    /// Where it cannot be read, is no TOML, or holds an unknown key.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        toml::from_str(&text).map_err(|source| ConfigError::Toml { path: path.to_owned(), source: Box::new(source) })
    }

    /// These options, and others where these say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            crawlers: self.crawlers.or(other.crawlers),
            registry: self.registry.or(other.registry),
            policy: self.policy.or(other.policy),
            matching: self.matching.or(other.matching),
            compare_matching: self.compare_matching.or(other.compare_matching),
            exact_tokens: self.exact_tokens.or(other.exact_tokens),
            contact: self.contact.or(other.contact),
            product_token: self.product_token.or(other.product_token),
            concurrency: self.concurrency.or(other.concurrency),
            retries: self.retries.or(other.retries),
            per_ip_concurrency: self.per_ip_concurrency.or(other.per_ip_concurrency),
            per_ip_rate: self.per_ip_rate.or(other.per_ip_rate),
            dns: self.dns.or(other.dns),
            proxy: self.proxy.or(other.proxy),
            allow_address: self.allow_address.or(other.allow_address),
            reuse: self.reuse.or(other.reuse),
            threads: self.threads.or(other.threads),
            limits: match (self.limits, other.limits) {
                (Some(limits), Some(others)) => Some(limits.or(others)),
                (limits, others) => limits.or(others),
            },
        }
    }

    /// The registry: the embedded one, extended by the file.
    ///
    /// # Errors
    /// Where the file cannot be read or used.
    pub fn registry(&self) -> Result<Registry, ConfigError> {
        let mut registry = Registry::embedded();
        if let Some(path) = &self.registry {
            let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.clone(), source })?;
            registry.extend(&text, &path.to_string_lossy())?;
        }
        Ok(registry)
    }

    /// What is asked.
    ///
    /// # Errors
    /// An unknown set, policy or mode, or an unusable registry file.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        let registry = self.registry()?;
        let crawlers = registry.select(self.crawlers.as_deref().unwrap_or(CRAWLERS))?;
        let policy = word("policy", self.policy.as_deref(), Policy::Rfc9309, Policy::ALL)?;
        let matching = self.matching()?;
        let plan = Plan::new(registry, &crawlers, policy, matching, self.exact_tokens.unwrap_or(false));
        Ok(if self.compare_matching.unwrap_or(false) { plan.comparing() } else { plan })
    }

    /// How files are read.
    ///
    /// # Errors
    /// An unknown mode.
    pub fn matching(&self) -> Result<Matching, ConfigError> {
        word("matching", self.matching.as_deref(), Matching::Rfc9309, Matching::ALL)
    }

    /// Threads that evaluate: as many as the machine has, where nothing is said; at most [`THREADS`].
    #[must_use]
    pub fn threads(&self) -> usize {
        let machine = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(machine).get().min(THREADS)
    }

    /// Connections at a time at most.
    #[must_use]
    pub fn concurrency(&self) -> NonZeroUsize {
        self.concurrency.unwrap_or(CONCURRENCY)
    }

    /// The User-Agent of a live fetch.
    ///
    /// # Errors
    /// No contact, or a token or contact that cannot be sent.
    #[cfg(feature = "http")]
    pub fn user_agent(&self) -> Result<String, ConfigError> {
        let contact = self.contact.as_deref().ok_or(ConfigError::NoContact)?;
        let product_token = self.product_token.as_deref().unwrap_or(PRODUCT_TOKEN);
        Ok(crate::source::http::user_agent(product_token, contact)?)
    }

    /// The settings of a live fetch on the network.
    ///
    /// # Errors
    /// No contact, or a value that cannot be used.
    #[cfg(feature = "http")]
    pub fn fetch_settings(
        &self,
        network: crate::source::http::Network,
    ) -> Result<crate::source::http::FetchSettings, ConfigError> {
        let default = crate::source::http::FetchSettings::new(self.user_agent()?, network);
        let given = |given: &String| {
            url::Url::parse(given).map_err(|source| ConfigError::Proxy { given: given.clone(), source })
        };
        Ok(crate::source::http::FetchSettings {
            limits: self.limits(),
            allowed_addresses: self.allow_address.clone().unwrap_or_default(),
            retries: self.retries.unwrap_or(default.retries),
            per_ip_concurrency: self.per_ip_concurrency.unwrap_or(default.per_ip_concurrency),
            per_ip_rate: self.per_ip_rate.unwrap_or(default.per_ip_rate),
            dns_servers: self.dns.iter().flatten().map(|server| server.0).collect(),
            proxy: self.proxy.as_ref().map(given).transpose()?,
            ..default
        })
    }

    /// The limits of a live fetch.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn limits(&self) -> crate::source::http::FetchLimits {
        let mut limits = crate::source::http::FetchLimits::default();
        let given = self.limits.unwrap_or_default();
        for (limit, seconds) in [
            (&mut limits.connect, given.connect_s),
            (&mut limits.headers, given.headers_s),
            (&mut limits.idle, given.idle_s),
            (&mut limits.attempt, given.attempt_s),
            (&mut limits.origin, given.origin_s),
        ] {
            *limit = seconds.map_or(*limit, |seconds| seconds.0);
        }
        limits.body_octets = given.body_octets.unwrap_or(limits.body_octets);
        limits.redirects = given.redirects.unwrap_or(limits.redirects);
        limits
    }
}

impl LimitOptions {
    /// These limits, and others where these say nothing.
    fn or(self, other: Self) -> Self {
        Self {
            connect_s: self.connect_s.or(other.connect_s),
            headers_s: self.headers_s.or(other.headers_s),
            idle_s: self.idle_s.or(other.idle_s),
            attempt_s: self.attempt_s.or(other.attempt_s),
            origin_s: self.origin_s.or(other.origin_s),
            body_octets: self.body_octets.or(other.body_octets),
            redirects: self.redirects.or(other.redirects),
        }
    }
}

/// A value of a closed set by its name.
fn word<T: Copy + std::fmt::Display>(
    name: &'static str,
    given: Option<&str>,
    default: T,
    all: &[T],
) -> Result<T, ConfigError> {
    let Some(given) = given else { return Ok(default) };
    all.iter().copied().find(|value| value.to_string() == given).ok_or_else(|| ConfigError::Word {
        name,
        value: given.to_owned(),
        known: all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_go_over_the_file_and_the_file_over_defaults() {
        let file: Options = toml::from_str("policy = \"google\"\nconcurrency = 7\n[limits]\nconnect_s = 3\n").unwrap();
        let flags = Options { policy: Some("conservative".into()), ..Options::default() };
        let options = flags.or(file);
        assert_eq!(options.plan().unwrap().policy, Policy::Conservative);
        assert_eq!(options.concurrency().get(), 7);
        assert_eq!(options.plan().unwrap().crawlers.len(), 10);
    }

    #[test]
    fn limits_are_merged_one_by_one() {
        let file: Options = toml::from_str("dns = [\"192.0.2.1\"]\n[limits]\nconnect_s = 3\nidle_s = 0.5\n").unwrap();
        let seconds = |seconds: &str| Some(seconds.parse().unwrap());
        let flags = LimitOptions { connect_s: seconds("1.5"), ..LimitOptions::default() };
        let options = Options { limits: Some(flags), ..Options::default() }.or(file);
        let limits = options.limits.unwrap();
        assert_eq!((limits.connect_s, limits.idle_s, limits.headers_s), (seconds("1.5"), seconds("0.5"), None));
        assert_eq!(options.dns, Some(vec!["192.0.2.1:53".parse().unwrap()]));
        for text in ["dns = [\"ns.test\"]", "[limits]\nconnect_s = -1"] {
            assert!(toml::from_str::<Options>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_words_are_named_with_what_there_is() {
        let options = Options { policy: Some("strict".into()), ..Options::default() };
        let error = options.plan().unwrap_err().to_string();
        assert_eq!(error, "policy \"strict\" is not known (there are rfc9309, conservative, google)");
        assert!(toml::from_str::<Options>("polcy = \"google\"").is_err());
    }

    #[test]
    fn the_sample_file_is_valid() {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/robots-audit.toml");
        let options = Options::read(&sample).unwrap();
        assert!(options.plan().is_ok());
    }
}
