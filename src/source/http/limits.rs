//! Limits of one fetch: everything that a stranger could make long or large has one (fetch policy §5).

use std::time::Duration;

use super::HttpError;

/// Octets of a body that every reader of robots.txt must be able to take (§2.5).
pub const LEAST_BODY_OCTETS: usize = 512_000;
/// Redirects that should be followed at least (§2.3.1.2).
pub const LEAST_REDIRECTS: u16 = 5;
/// Redirects that may be followed at most: longer chains lead nowhere, and each of them is a request to somebody.
pub const MOST_REDIRECTS: u16 = 50;

/// Name resolution, and after it a connection with its TLS handshake.
pub const CONNECT: Duration = Duration::from_secs(10);
/// From the request to the end of the answer's header fields.
pub const HEADERS: Duration = Duration::from_secs(10);
/// Silence within a body.
pub const IDLE: Duration = Duration::from_secs(5);
/// One attempt, its redirects included.
pub const ATTEMPT: Duration = Duration::from_secs(20);
/// Everything done for one origin.
pub const ORIGIN: Duration = Duration::from_secs(60);
/// Octets of status line and header fields.
pub const HEADER_OCTETS: usize = 64 * 1024;
/// Header fields of an answer.
pub const HEADER_FIELDS: usize = 128;
/// Octets of a body, decoded.
pub const BODY_OCTETS: usize = 1024 * 1024;
/// Octets of a body as compressed.
pub const CODED_OCTETS: usize = 1024 * 1024;

/// Bounds of every time limit: a wait has to be possible, and to end.
const LEAST_TIME: Duration = Duration::from_millis(1);
const MOST_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Octets of the smallest buffer that the HTTP parser works with.
const LEAST_HEADER_OCTETS: usize = 8 * 1024;

/// Limits of one fetch. The defaults are the constants of this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLimits {
    /// The look-up of a name, and again a connection with its TLS handshake.
    pub connect: Duration,
    /// From the request to the end of the answer's header fields; interim answers do not extend it.
    pub headers: Duration,
    /// Silence within a body.
    pub idle: Duration,
    /// One attempt, its redirects included.
    pub attempt: Duration,
    /// Everything done for one origin.
    pub origin: Duration,
    /// Octets of status line and header fields; at least 8 KiB are taken.
    pub header_octets: usize,
    /// Header fields of an answer.
    pub header_fields: usize,
    /// Body octets kept, decoded; at least 512 000 (§2.5).
    pub body_octets: usize,
    /// Body octets read where they are compressed.
    pub coded_octets: usize,
    /// Redirects followed; at least 5 (§2.3.1.2), at most 50.
    pub redirects: u16,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: CONNECT,
            headers: HEADERS,
            idle: IDLE,
            attempt: ATTEMPT,
            origin: ORIGIN,
            header_octets: HEADER_OCTETS,
            header_fields: HEADER_FIELDS,
            body_octets: BODY_OCTETS,
            coded_octets: CODED_OCTETS,
            redirects: LEAST_REDIRECTS,
        }
    }
}

impl FetchLimits {
    /// The limits as the HTTP parser can keep them.
    ///
    /// # Errors
    /// A limit is below what RFC 9309 asks for, or beyond all use.
    pub(super) fn checked(mut self) -> Result<Self, HttpError> {
        if self.body_octets < LEAST_BODY_OCTETS {
            return Err(HttpError::BodyLimit { octets: self.body_octets });
        }
        if !(LEAST_REDIRECTS..=MOST_REDIRECTS).contains(&self.redirects) {
            return Err(HttpError::RedirectLimit { redirects: self.redirects });
        }
        self.header_octets = self.header_octets.max(LEAST_HEADER_OCTETS);
        for limit in [&mut self.connect, &mut self.headers, &mut self.idle, &mut self.attempt, &mut self.origin] {
            *limit = (*limit).clamp(LEAST_TIME, MOST_TIME);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_below_the_standard() {
        let limits = FetchLimits { body_octets: 511_999, ..FetchLimits::default() };
        assert!(matches!(limits.checked(), Err(HttpError::BodyLimit { octets: 511_999 })));
        for redirects in [4, 51, u16::MAX] {
            let limits = FetchLimits { redirects, ..FetchLimits::default() };
            let error = limits.checked().expect_err("beyond the bounds");
            assert!(matches!(error, HttpError::RedirectLimit { .. }), "{redirects}");
        }
        assert!(FetchLimits { redirects: MOST_REDIRECTS, ..FetchLimits::default() }.checked().is_ok());
        let limits = FetchLimits { header_octets: 1, ..FetchLimits::default() };
        assert_eq!(limits.checked().expect("fine").header_octets, LEAST_HEADER_OCTETS);
    }
}
