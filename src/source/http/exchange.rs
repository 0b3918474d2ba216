//! One request and its answer over one connection (RFC 9110, RFC 9112), with limits on time and octets.
//!
//! The connection is driven by whoever waits for it and goes when the answer does: there is no task to leak and no
//! pool of idle connections.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Builder, Connection};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, HOST, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, TRANSFER_ENCODING,
    USER_AGENT,
};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::connect::Wire;
use super::failure::Failure;
use super::limits::FetchLimits;
use super::trip::{TimeLeft, within};
use crate::robots::access::{FetchClass, Reason};
use crate::source::history::earlier::Validators;
use crate::source::redirect::Place;

/// A connection that sends one request.
struct Line {
    connection: Pin<Box<Connection<TokioIo<Wire>, Empty<Bytes>>>>,
    is_over: bool,
    is_tls: bool,
}

/// How a request line names what it asks for (RFC 9112 §3.2).
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// By its path, to the origin itself.
    Origin,
    /// By its URL, to a proxy.
    Absolute,
}

/// What a request is made of.
pub(super) struct Question<'a> {
    pub(super) place: &'a Place,
    pub(super) form: Form,
    pub(super) user_agent: &'a HeaderValue,
    /// Makes it conditional.
    pub(super) validators: Option<&'a Validators>,
}

/// The head of an answer, and the way to its body.
pub(super) struct Answer {
    pub(super) response: Response<Incoming>,
    line: Line,
}

/// The octets of a body as they came.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawBody {
    pub(super) octets: Vec<u8>,
    /// Whether more would have come.
    pub(super) is_cut: bool,
    /// Whether TLS ended without `close_notify` where nothing else told the end of the body.
    pub(super) is_unclean: bool,
}

/// Sends the request and reads the answer's head.
pub(super) async fn ask(
    wire: Wire,
    question: &Question<'_>,
    limits: &FetchLimits,
    time: &mut TimeLeft,
) -> Result<Answer, Failure> {
    let request = request(question)?;
    let is_tls = wire.is_tls();
    let (mut sender, connection) =
        builder(limits).handshake(TokioIo::new(wire)).await.map_err(|_| FetchClass::ProtocolError)?;
    let mut line = Line { connection: Box::pin(connection), is_over: false, is_tls };
    let late = Failure::timeout(Reason::Headers);
    let answer = {
        let sent = pin!(sender.send_request(request));
        time.spend_at_most(limits.headers, late, pin!(line.drive(sent))).await?
    };
    match answer {
        Ok(response) => Ok(Answer { response, line }),
        Err(error) if tls_cause(&error).is_some() => Err(Failure::tls(Reason::Handshake)),
        Err(_) => Err(FetchClass::ProtocolError.into()),
    }
}

/// A plain GET with nothing that tells more than it must (fetch policy §4), conditional where there are validators.
fn request(question: &Question<'_>) -> Result<Request<Empty<Bytes>>, Failure> {
    let Question { place, form, user_agent, validators } = *question;
    let request = match form {
        Form::Origin => Request::get(place.path()),
        Form::Absolute => Request::get(format!("http://{}{}", place.host_field(), place.path())),
    };
    let mut request = request
        .header(HOST, place.host_field())
        .header(USER_AGENT, user_agent)
        .header(ACCEPT, "text/plain, */*;q=0.1")
        .header(ACCEPT_ENCODING, "gzip, deflate, br")
        .header(CONNECTION, "close");
    if let Some(etag) = validators.and_then(|validators| validators.etag.as_deref()) {
        request = request.header(IF_NONE_MATCH, etag);
    }
    if let Some(date) = validators.and_then(|validators| validators.last_modified.as_deref()) {
        request = request.header(IF_MODIFIED_SINCE, date);
    }
    request
        .body(Empty::new())
        // Only a redirect brings a path that the URL parser takes and the HTTP library does not.
        .map_err(|_| FetchClass::RedirectInvalid.into())
}

fn builder(limits: &FetchLimits) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_headers(limits.header_fields)
        .max_header_size(limits.header_octets)
        .max_buf_size(limits.header_octets)
        .title_case_headers(true)
        // RFC 9112 §5.2 has a user agent read folded lines; a line that is no field is not worth the answer.
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    builder
}

impl Line {
    /// Lets the connection work while the future waits for it.
    async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            // Its own error reaches the future too.
            if !self.is_over && self.connection.as_mut().poll(cx).is_ready() {
                self.is_over = true;
            }
            future.as_mut().poll(cx)
        })
        .await
    }
}

impl Answer {
    /// Reads the body up to the cap.
    pub(super) async fn read(self, cap_octets: usize, idle: Duration) -> Result<RawBody, Failure> {
        let is_close_delimited = self.is_close_delimited();
        let Self { response, mut line } = self;
        let mut incoming = response.into_body();
        let mut body = RawBody { octets: Vec::new(), is_cut: false, is_unclean: false };
        loop {
            let frame = within(idle, pin!(line.drive(incoming.frame()))).await;
            let frame = match frame {
                Some(Some(Ok(frame))) => frame,
                Some(Some(Err(error))) if is_close_delimited && line.is_tls && is_early_end(&error) => {
                    body.is_unclean = true;
                    return Ok(body);
                }
                Some(Some(Err(error))) => return Err(of_body_error(&error).into()),
                Some(None) => return Ok(body),
                None => return Err(Failure::timeout(Reason::Idle)),
            };
            // Trailers are of no use here.
            let Ok(data) = frame.into_data() else { continue };
            let left = cap_octets - body.octets.len();
            // A copy: the frames share read buffers that one octet would keep alive.
            body.octets.extend_from_slice(&data[..data.len().min(left)]);
            if data.len() > left {
                body.is_cut = true;
                return Ok(body);
            }
        }
    }

    /// Whether only the end of the connection tells the end of the body (RFC 9112 §6.3).
    fn is_close_delimited(&self) -> bool {
        let is_chunked = self.response.headers().get_all(TRANSFER_ENCODING).iter().any(|value| {
            value
                .as_bytes()
                .rsplit(|octet| *octet == b',')
                .any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
        });
        !is_chunked && self.response.body().size_hint().exact().is_none()
    }
}

fn of_body_error(error: &hyper::Error) -> FetchClass {
    let is_bad_framing = tls_cause(error).is_none()
        && io_cause(error)
            .is_some_and(|cause| matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
    if is_bad_framing { FetchClass::ProtocolError } else { FetchClass::BodyIncomplete }
}

fn is_early_end(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || io_cause(error).is_some_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}

fn io_cause(error: &hyper::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(this) = cause {
        if let Some(io) = this.downcast_ref() {
            return Some(io);
        }
        cause = this.source();
    }
    None
}

/// The fault of TLS behind an error: a server that refuses a client says so in an alert after the handshake.
fn tls_cause(error: &hyper::Error) -> Option<&rustls::Error> {
    io_cause(error)?.get_ref()?.downcast_ref()
}
