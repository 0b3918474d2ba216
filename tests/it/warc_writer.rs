//! WARC files in the shape in which Common Crawl publishes its robots.txt captures: a gzip member for each record, a
//! request and metadata beside each response, bodies decoded and the fields that told of their codings renamed.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Records one behind the other, each packed alone.
#[derive(Default)]
pub(crate) struct WarcWriter {
    /// The file so far.
    pub(crate) octets: Vec<u8>,
    /// Where each record begins.
    pub(crate) places: Vec<usize>,
    pub(crate) is_plain: bool,
}

impl WarcWriter {
    pub(crate) fn new() -> Self {
        let mut writer = Self::default();
        writer.record("warcinfo", &[("WARC-Date", "2024-02-01T00:00:00Z")], b"isPartOf: CC-MAIN-2024-10\r\n");
        writer
    }

    pub(crate) fn plain() -> Self {
        Self { is_plain: true, ..Self::default() }
    }

    /// Any record.
    pub(crate) fn record(&mut self, kind: &str, fields: &[(&str, &str)], block: &[u8]) {
        let mut record = format!("WARC/1.0\r\nWARC-Type: {kind}\r\n").into_bytes();
        for (name, value) in fields {
            record.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        record.extend_from_slice(format!("Content-Length: {}\r\n\r\n", block.len()).as_bytes());
        record.extend_from_slice(block);
        record.extend_from_slice(b"\r\n\r\n");
        self.member(&record);
    }

    /// Octets as a member of their own.
    pub(crate) fn member(&mut self, octets: &[u8]) {
        self.places.push(self.octets.len());
        if self.is_plain {
            self.octets.extend_from_slice(octets);
            return;
        }
        let mut encoder = GzEncoder::new(&mut self.octets, Compression::fast());
        encoder.write_all(octets).expect("memory");
        encoder.finish().expect("memory");
    }

    /// A response as it stands, with fields of the record beside the usual ones.
    pub(crate) fn response(&mut self, uri: &str, date: &str, fields: &[(&str, &str)], message: &str) {
        let usual = [
            ("WARC-Date", date),
            ("WARC-Target-URI", uri),
            ("WARC-IP-Address", "198.51.100.7"),
            ("Content-Type", "application/http; msgtype=response"),
        ];
        self.record("response", &[&usual[..], fields].concat(), message.as_bytes());
    }

    /// What a crawl leaves of one fetch: request, response, metadata.
    pub(crate) fn capture(&mut self, uri: &str, date: &str, message: &str) {
        let about = [("WARC-Date", date), ("WARC-Target-URI", uri)];
        self.record("request", &about, b"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n");
        self.response(uri, date, &[], message);
        self.record("metadata", &about, b"fetchTimeMs: 312\r\n");
    }
}

/// A 200 as Common Crawl stores it where the server sent chunks of gzip.
pub(crate) fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/plain\r\nX-Crawl-Content-Encoding: gzip\r\n\
         X-Crawl-Transfer-Encoding: chunked\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A redirect.
pub(crate) fn moved(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

/// An answer without a body.
pub(crate) fn status(status: u16) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n")
}
