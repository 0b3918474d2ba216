//! Reads a request and writes an answer, octet by octet.
//!
//! No HTTP library has a hand in it: a library would refuse to send what a test needs.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};

use super::answer::{Answer, End, Framing, Response};

/// Octets of the longest request head that is read.
const HEAD_OCTETS: usize = 16 * 1024;
/// Octets gathered before they are written.
const WRITE_OCTETS: usize = 16 * 1024;
/// How long a request head may take.
const HEAD_WAIT: Duration = Duration::from_secs(10);

/// A request as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The `Host` field, in lower case; empty where there is none.
    pub host: String,
    /// Every field: name in lower case, value.
    pub headers: Vec<(String, String)>,
}

impl Request {
    fn parse(head: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(head);
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") {
            return None;
        }
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let host = headers.iter().find(|(name, _)| name == "host").map(|(_, value)| value.to_ascii_lowercase());
        Some(Self { method: method.to_owned(), path: path.to_owned(), host: host.unwrap_or_default(), headers })
    }

    /// Whether a field with this name (lower case) holds this text.
    #[must_use]
    pub fn holds(&self, name: &str, part: &str) -> bool {
        self.headers.iter().any(|(own, value)| own == name && value.contains(part))
    }
}

/// Reads one request head; `None` where something else came, or nothing in time.
pub(super) async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<Request> {
    let mut head = Vec::with_capacity(512);
    let deadline = Instant::now() + HEAD_WAIT;
    loop {
        if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
            return Request::parse(&head[..end]);
        }
        if head.len() > HEAD_OCTETS || looks_like_tls(&head) {
            return None;
        }
        let read = tokio::time::timeout_at(deadline, stream.read_buf(&mut head)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return None;
        }
    }
}

/// A TLS greeting instead of a request (RFC 8446 §5.1): nothing more will come before an answer.
fn looks_like_tls(head: &[u8]) -> bool {
    head.first() == Some(&0x16)
}

/// Writes an answer and says how the connection is to be ended.
pub(super) async fn play<S>(stream: &mut S, answer: &Answer) -> io::Result<End>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match answer {
        Answer::Response(response) => {
            respond(stream, response).await?;
            Ok(response.end)
        }
        Answer::Raw(octets) => {
            stream.write_all(octets).await?;
            stream.flush().await?;
            Ok(End::Fin)
        }
        Answer::RawRepeat { prefix, repeat, interval } => {
            stream.write_all(prefix).await?;
            stream.flush().await?;
            while stay(stream, *interval).await {
                stream.write_all(repeat).await?;
                stream.flush().await?;
            }
            Ok(End::Fin)
        }
        Answer::End(end) => Ok(*end),
    }
}

async fn respond<S>(stream: &mut S, response: &Response) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if !response.pace.headers.is_zero() && !stay(stream, response.pace.headers).await {
        return Ok(());
    }
    let mut out = response.head();
    for piece in response.body.pieces() {
        let Some((chunk_octets, wait)) = response.pace.chunks else {
            frame(&mut out, response.framing, &piece);
            if out.len() >= WRITE_OCTETS {
                stream.write_all(&out).await?;
                out.clear();
            }
            continue;
        };
        for chunk in piece.chunks(chunk_octets.max(1)) {
            stream.write_all(&out).await?;
            stream.flush().await?;
            out.clear();
            if !stay(stream, wait).await {
                return Ok(());
            }
            frame(&mut out, response.framing, chunk);
        }
    }
    if response.framing == Framing::Chunked {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    stream.write_all(&out).await?;
    stream.flush().await
}

fn frame(out: &mut Vec<u8>, framing: Framing, octets: &[u8]) {
    if matches!(framing, Framing::Chunked | Framing::ChunkedWithoutEnd) {
        out.extend_from_slice(format!("{:x}\r\n", octets.len()).as_bytes());
        out.extend_from_slice(octets);
        out.extend_from_slice(b"\r\n");
    } else {
        out.extend_from_slice(octets);
    }
}

/// Waits; false as soon as the client has left. What the client still says is dropped.
pub(super) async fn stay<S: AsyncRead + Unpin>(stream: &mut S, wait: Duration) -> bool {
    let deadline = Instant::now() + wait;
    let mut said = [0; 512];
    loop {
        tokio::select! {
            () = sleep_until(deadline) => return true,
            read = stream.read(&mut said) => if !matches!(read, Ok(1..)) { return false },
        }
    }
}

/// Reads on until the client has left, so that its last octets do not turn the end into a reset.
pub(super) async fn see_off<S: AsyncRead + Unpin>(stream: &mut S, wait: Duration) {
    let mut said = [0; 512];
    let _ = timeout(wait, async { while matches!(stream.read(&mut said).await, Ok(1..)) {} }).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::answer::{Body, Pace};

    async fn played(answer: impl Into<Answer>) -> Vec<u8> {
        let (mut client, mut server) = tokio::io::duplex(64 * 1024);
        let answer = answer.into();
        let play = tokio::spawn(async move {
            play(&mut server, &answer).await.expect("a duplex takes every octet");
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.expect("a duplex gives every octet");
        play.await.expect("no panic");
        received
    }

    #[tokio::test(start_paused = true)]
    async fn chunks_and_delays() {
        let started = Instant::now();
        let pace = Pace { headers: Duration::from_secs(3), chunks: Some((2, Duration::from_secs(1))) };
        let body = Body::Octets("abcde".into());
        let received = played(Response::status(200).body(body).framing(Framing::Chunked).pace(pace)).await;
        let expected = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&received), expected);
        assert_eq!(started.elapsed().as_secs(), 6);
    }

    #[tokio::test]
    async fn raw_octets_stay_raw() {
        assert_eq!(played(Answer::Raw("\0no http\n".into())).await, b"\0no http\n");
        assert_eq!(played(Answer::End(End::Reset)).await, b"");
    }

    #[tokio::test]
    async fn requests() {
        let mut octets: &[u8] = b"GET /r.txt?v=2 HTTP/1.1\r\nHost: A.Test:81\r\nX-Y:  z \r\n\r\n";
        let request = read_request(&mut octets).await.expect("a request");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/r.txt?v=2"));
        assert_eq!(request.host, "a.test:81");
        assert!(request.holds("x-y", "z") && !request.holds("x-y", "a"));
        for wrong in [&b"\x16\x03\x01"[..], b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a"] {
            let mut wrong = wrong;
            assert_eq!(read_request(&mut wrong).await, None);
        }
    }
}
