//! What a scripted origin answers, as plain data.
//!
//! Holds routes, answers, bodies and doors (how a listener behaves before any HTTP). Nothing here opens a socket:
//! [`play`](super::play) writes an answer, [`web`](super::web) chooses it.

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::origin::Scheme;

/// Octets that a generated body is written in.
const PIECE_OCTETS: usize = 16 * 1024;

/// One answer and the requests that it is for. Of the routes that fit a request, the narrowest answers.
#[derive(Debug, Clone)]
pub struct Route {
    /// The scheme that the request came by.
    pub scheme: Scheme,
    /// Host, lower case, with the port where it is not the scheme's own.
    pub host: String,
    /// Path and query, exactly as requested.
    pub path: String,
    /// Only the n-th request for this scheme, host and path (from 1).
    pub nth: Option<u32>,
    /// Only requests with these fields: lower-case name, part of the value.
    pub match_headers: Vec<(String, String)>,
    /// Only requests by this method.
    pub method: Option<String>,
    /// What is sent.
    pub answer: Answer,
}

impl Route {
    /// An answer to every request for the host's `/robots.txt`.
    #[must_use]
    pub fn robots(scheme: Scheme, host: &str, answer: impl Into<Answer>) -> Self {
        Self::at(scheme, host, "/robots.txt", answer)
    }

    /// An answer to every request for one path of the host.
    #[must_use]
    pub fn at(scheme: Scheme, host: &str, path: &str, answer: impl Into<Answer>) -> Self {
        Self {
            scheme,
            host: host.to_owned(),
            path: path.to_owned(),
            nth: None,
            match_headers: Vec::new(),
            method: None,
            answer: answer.into(),
        }
    }

    /// How many conditions beside scheme, host and path the route has.
    pub(super) fn narrowness(&self) -> usize {
        usize::from(self.nth.is_some()) + self.match_headers.len() + usize::from(self.method.is_some())
    }
}

/// The octets that a request gets, and when.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A status line, fields and a body.
    Response(Box<Response>),
    /// Exactly these octets, then the connection is closed.
    Raw(Bytes),
    /// The prefix, then the repeated octets at each interval until the client leaves.
    RawRepeat {
        /// Sent once.
        prefix: Bytes,
        /// Sent again and again.
        repeat: Bytes,
        /// Time between two repetitions.
        interval: Duration,
    },
    /// The connection is ended without a single octet.
    End(End),
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self::Response(Box::new(response))
    }
}

/// A response, right or wrong.
#[derive(Debug, Clone)]
pub struct Response {
    /// Such as `HTTP/1.1`.
    pub version: Cow<'static, str>,
    /// The status code; any number.
    pub status: u16,
    /// The reason phrase.
    pub reason: Cow<'static, str>,
    /// Header fields, in order; values are raw octets.
    pub headers: Vec<(Cow<'static, str>, Bytes)>,
    /// The body.
    pub body: Body,
    /// How the end of the body is announced.
    pub framing: Framing,
    /// What follows the body.
    pub end: End,
    /// Delays.
    pub pace: Pace,
}

impl Response {
    /// A response with this status, no fields and no body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            version: Cow::Borrowed("HTTP/1.1"),
            status,
            reason: Cow::Borrowed(reason_phrase(status)),
            headers: Vec::new(),
            body: Body::Octets(Bytes::new()),
            framing: Framing::Length,
            end: End::Fin,
            pace: Pace::default(),
        }
    }

    /// A 200 with this text.
    #[must_use]
    pub fn text(body: impl Into<Bytes>) -> Self {
        Self::status(200).header("Content-Type", "text/plain; charset=utf-8").body(Body::Octets(body.into()))
    }

    /// A redirect.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location.to_owned())
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<Bytes>) -> Self {
        self.headers.push((Cow::Borrowed(name), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Sets the framing.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Sets what follows the body.
    #[must_use]
    pub fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Sets the delays.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Status line and fields, up to and with the empty line.
    pub(super) fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} {}\r\n", self.version, self.status, self.reason).into_bytes();
        for (name, value) in &self.headers {
            field(&mut head, name, value);
        }
        match (self.framing, self.body.octets()) {
            // RFC 9110 §8.6: no length beside these.
            (Framing::Length, _) if matches!(self.status, 100..=199 | 204 | 304) => {}
            (Framing::Length, Some(octets)) | (Framing::FalseLength(octets), _) => {
                field(&mut head, "Content-Length", octets.to_string().as_bytes());
            }
            (Framing::Chunked | Framing::ChunkedWithoutEnd, _) => field(&mut head, "Transfer-Encoding", b"chunked"),
            (Framing::Close, _) => field(&mut head, "Connection", b"close"),
            (Framing::Length, None) | (Framing::AsListed, _) => {}
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

fn field(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

/// The usual phrase for a status (RFC 9110 §15).
#[must_use]
pub const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

/// The octets of a body, or how they are made.
#[derive(Debug, Clone)]
pub enum Body {
    /// These octets.
    Octets(Bytes),
    /// A text repeated up to a size, between a prefix and a suffix.
    Repeat {
        /// Sent first.
        prefix: Bytes,
        /// Repeated; the last repetition may be cut.
        text: Bytes,
        /// Octets of prefix and repetitions together.
        octets: u64,
        /// Sent last.
        suffix: Bytes,
    },
    /// A prefix, then a text for ever.
    Infinite {
        /// Sent first.
        prefix: Bytes,
        /// Repeated without end.
        text: Bytes,
    },
}

impl Body {
    /// Like [`Body::Repeat`], compressed with gzip.
    #[must_use]
    pub fn gzip_repeat(prefix: &[u8], text: &[u8], octets: u64, suffix: &[u8]) -> Self {
        let plain = Self::Repeat {
            prefix: Bytes::copy_from_slice(prefix),
            text: Bytes::copy_from_slice(text),
            octets,
            suffix: Bytes::copy_from_slice(suffix),
        };
        Self::Octets(gzip(plain.pieces()))
    }

    /// A text, compressed with gzip.
    #[must_use]
    pub fn gzip(text: &[u8]) -> Self {
        Self::Octets(gzip(std::iter::once(Bytes::copy_from_slice(text))))
    }

    /// Octets of the whole body; `None` where it has no end.
    #[must_use]
    pub fn octets(&self) -> Option<u64> {
        match self {
            Self::Octets(octets) => Some(octets.len() as u64),
            Self::Repeat { prefix, octets, suffix, .. } => {
                Some((*octets).max(prefix.len() as u64) + suffix.len() as u64)
            }
            Self::Infinite { .. } => None,
        }
    }

    /// The body, piece by piece; no piece is empty or larger than needed to write at ease.
    pub(super) fn pieces(&self) -> Box<dyn Iterator<Item = Bytes> + Send + '_> {
        match self {
            Self::Octets(octets) => Box::new(cut(octets.clone())),
            Self::Repeat { prefix, text, octets, suffix } => {
                let repeated = octets.saturating_sub(prefix.len() as u64);
                Box::new(cut(prefix.clone()).chain(repeat(text, repeated)).chain(cut(suffix.clone())))
            }
            Self::Infinite { prefix, text } => Box::new(cut(prefix.clone()).chain(repeat(text, u64::MAX))),
        }
    }
}

fn cut(mut octets: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let piece = octets.split_to(octets.len().min(PIECE_OCTETS));
        (!piece.is_empty()).then_some(piece)
    })
}

fn repeat(text: &Bytes, octets: u64) -> impl Iterator<Item = Bytes> + use<> {
    let block = if text.is_empty() { Bytes::new() } else { text.repeat((PIECE_OCTETS / text.len()).max(1)).into() };
    let mut left = if block.is_empty() { 0 } else { octets };
    std::iter::from_fn(move || {
        let take = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        left -= take as u64;
        (take > 0).then(|| block.slice(..take))
    })
}

fn gzip(pieces: impl Iterator<Item = Bytes>) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for piece in pieces {
        encoder.write_all(&piece).expect("a vector takes every octet");
    }
    encoder.finish().expect("a vector takes every octet").into()
}

/// How the end of a body is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// The right `Content-Length`; none for a body without end.
    Length,
    /// This `Content-Length`, whatever the body.
    FalseLength(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Chunked, but the last chunk never comes.
    ChunkedWithoutEnd,
    /// No length: the body ends with the connection.
    Close,
    /// The header fields exactly as listed.
    AsListed,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// In good order; over TLS with `close_notify`.
    Fin,
    /// By a TCP reset.
    Reset,
    /// By a TCP FIN alone, without the `close_notify` that TLS asks for.
    FinWithoutNotify,
}

/// Delays of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// Wait before the status line.
    pub headers: Duration,
    /// The body in chunks of so many octets, each after so long a wait.
    pub chunks: Option<(usize, Duration)>,
}

/// The certificate that an origin shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Certificate {
    /// For the name asked for, by the authority of this web.
    #[default]
    Valid,
    /// Out of date.
    Expired,
    /// For another name.
    WrongHost,
    /// By no authority.
    SelfSigned,
    /// None: the origin answers in plain HTTP on the port for TLS.
    PlainHttp,
}

/// What is behind one port of one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Door {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Tls,
    /// Nothing listens.
    Refused,
    /// Connections are never completed.
    Blackhole,
    /// Connections are accepted and closed at once.
    AcceptClose,
    /// Connections are accepted, and nothing is ever said.
    Silent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up() {
        let text = Bytes::from_static(b"# pad\n");
        for (prefix, octets, suffix) in [("", 0, ""), ("ab", 1, "c"), ("ab", 100_003, "tail"), ("", 16_384, "")] {
            let body = Body::Repeat { prefix: prefix.into(), text: text.clone(), octets, suffix: suffix.into() };
            let whole: Vec<u8> = body.pieces().flatten().collect();
            assert_eq!(Some(whole.len() as u64), body.octets());
            assert!(whole.starts_with(prefix.as_bytes()) && whole.ends_with(suffix.as_bytes()));
        }
        let endless = Body::Infinite { prefix: "x".into(), text: "y".into() };
        assert_eq!(endless.octets(), None);
        assert!(endless.pieces().take(100).all(|piece| !piece.is_empty()));
    }

    #[test]
    fn heads() {
        let head = |response: Response| String::from_utf8(response.head()).expect("ASCII");
        assert_eq!(head(Response::status(204)), "HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(
            head(Response::status(404).body(Body::Octets("no".into()))),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n"
        );
        assert_eq!(
            head(Response::redirect(301, "/r").framing(Framing::Chunked)),
            "HTTP/1.1 301 Moved Permanently\r\nLocation: /r\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        assert!(head(Response::status(200).framing(Framing::FalseLength(500))).contains("Content-Length: 500\r\n"));
    }
}
