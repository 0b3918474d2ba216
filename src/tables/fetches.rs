//! Table `fetches`: one row per input origin, and one per input line that is none.

use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Flags, Reason};

/// Microseconds since 1970-01-01T00:00:00Z.
pub type Timestamp = i64;

/// SHA-256 of a body.
pub type BodyHash = [u8; 32];

/// One hop of a redirect chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Status of the redirecting answer.
    pub status: u16,
    /// URL that it pointed to, resolved; as given where it could not be.
    pub url: String,
}

/// What was seen when one origin was asked for its robots.txt. Absent facts are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// When the answer, or its absence, was established.
    pub fetch_time: Option<Timestamp>,
    /// The class.
    pub class: FetchClass,
    /// Why, where the class alone does not say.
    pub reason: Option<Reason>,
    /// Facts beside the class.
    pub flags: Flags,
    /// Status of the last answer.
    pub status: Option<u16>,
    /// Attempts made, the last one included; `None` where nothing is ever asked (folders).
    pub attempts: Option<u16>,
    /// The redirects followed, in order, and the last one seen where it was not followed.
    pub redirects: Vec<Redirect>,
    /// Redirects followed; `None` where nothing is ever asked.
    pub hops: Option<u16>,
    /// URL of the last request.
    pub final_url: Option<String>,
    /// Scheme that the answer came from, for the origin itself (redirects aside).
    pub scheme_used: Option<Scheme>,
    /// Class of the attempt before a fall-back to http.
    pub first_attempt_class: Option<FetchClass>,
    /// Since when the origin gives no answer.
    pub unreachable_since: Option<Timestamp>,
    /// Address of the last connection.
    pub remote_ip: Option<String>,
    /// Version of the last answer, such as `HTTP/1.1`.
    pub http_version: Option<&'static str>,
    /// Milliseconds from the first look-up to the end of the answer.
    pub elapsed_ms: Option<i64>,
    /// Seconds that the server asked to wait.
    pub retry_after_s: Option<i64>,
    /// SHA-256 of the decoded body, where one was read.
    pub body_sha256: Option<BodyHash>,
    /// Octets of the decoded body, where one was read.
    pub body_octets: Option<i64>,
    /// Header fields of the last answer, as sent (`\xNN` for octets that are no UTF-8).
    pub headers: Headers,
}

/// The header fields of the last answer that the table keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers {
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Server`.
    pub server: Option<String>,
}

impl Observation {
    /// An observation of which only the class is known.
    #[must_use]
    pub fn of_class(class: FetchClass, reason: Option<Reason>) -> Self {
        Self {
            fetch_time: None,
            class,
            reason,
            flags: Flags::default(),
            status: None,
            attempts: None,
            redirects: Vec::new(),
            hops: None,
            final_url: None,
            scheme_used: None,
            first_attempt_class: None,
            unreachable_since: None,
            remote_ip: None,
            http_version: None,
            elapsed_ms: None,
            retry_after_s: None,
            body_sha256: None,
            body_octets: None,
            headers: Headers::default(),
        }
    }
}

/// One row: what the input said, and what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRow {
    /// The origin; `None` where the line names none.
    pub origin: Option<Origin>,
    /// Rank that the list gave.
    pub rank: Option<i64>,
    /// The line, or its origin column, as given (`\xNN` for octets that are no UTF-8); `None` for origins that only a URL named.
    pub input: Option<String>,
    /// 1-based line (row, in a Parquet file) of the input.
    pub input_line: Option<i64>,
    /// What was seen.
    pub observation: Observation,
}
