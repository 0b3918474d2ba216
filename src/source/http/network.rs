//! Where names are looked up and connections go: the system's network, or one that is embedded in the program.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::CertificateDer;

/// The network that fetches run on.
#[derive(Debug)]
pub enum Network {
    /// Names are asked of the resolver that the system is configured with.
    System,
    /// Names are answered by the program itself, and connections go to its own listeners on loopback.
    Embedded(EmbeddedNetwork),
}

/// A web inside the program, for demonstrations, tests and benches.
///
/// The address guard works as on any network: the loopback addresses in use have to be allowed.
pub struct EmbeddedNetwork {
    /// Answers look-ups of names (lower case, no trailing dot).
    pub names: Box<dyn Fn(&str) -> NameAnswer + Send + Sync>,
    /// The listener that stands for a port of an address; 80 and 443 are the schemes' own.
    pub ports: Box<dyn Fn(IpAddr, u16) -> SocketAddr + Send + Sync>,
    /// Issuers that are trusted beside the public ones.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

impl fmt::Debug for EmbeddedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedNetwork").field("extra_roots", &self.extra_roots.len()).finish_non_exhaustive()
    }
}

/// What came of looking up a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameAnswer {
    /// Its addresses.
    Addresses(Vec<IpAddr>),
    /// There is no such name.
    NxDomain,
    /// The name exists, without an address.
    NoData,
    /// The name servers failed or refused.
    Failure,
    /// No answer within the limit.
    Timeout,
}
