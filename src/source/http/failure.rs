//! How a fetch ends: its class, why, and the body where the class has one.

use bytes::Bytes;

use crate::robots::access::{FetchClass, Reason};

/// The end of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) class: FetchClass,
    pub(super) reason: Option<Reason>,
    pub(super) body: Option<Bytes>,
}

/// An end without an answer that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: FetchClass,
    pub(super) reason: Option<Reason>,
}

impl Failure {
    /// A class with its reason.
    pub(super) const fn because(class: FetchClass, reason: Reason) -> Self {
        Self { class, reason: Some(reason) }
    }

    /// Headers, body or the whole attempt ran out of time.
    pub(super) const fn timeout(reason: Reason) -> Self {
        Self::because(FetchClass::Timeout, reason)
    }

    /// The address guard refused.
    pub(super) const fn blocked(reason: Reason) -> Self {
        Self::because(FetchClass::BlockedAddress, reason)
    }

    /// The TLS handshake failed.
    pub(super) const fn tls(reason: Reason) -> Self {
        Self::because(FetchClass::TlsFailed, reason)
    }
}

impl From<FetchClass> for Failure {
    fn from(class: FetchClass) -> Self {
        Self { class, reason: None }
    }
}

impl From<Failure> for Ending {
    fn from(Failure { class, reason }: Failure) -> Self {
        Self { class, reason, body: None }
    }
}
