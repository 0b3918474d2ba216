//! Table `fetches`: one row per input origin, and one per input line that is none.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    ArrayRef, Int16Builder, Int64Builder, ListBuilder, RecordBatch, StringBuilder, StructBuilder,
    TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::column::{self, Words, text, timestamp, value, words};
use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Flags, Outage, OutageStage, Reason};
use crate::signals::response::ResponseFields;

/// Microseconds since 1970-01-01T00:00:00Z.
pub type Timestamp = i64;

/// SHA-256 of a body.
pub type BodyHash = [u8; 32];

/// The versions of HTTP that an answer can have.
pub const HTTP_VERSIONS: [&str; 2] = ["HTTP/1.0", "HTTP/1.1"];

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
    /// When the answer, or its absence, was established; of a stored answer, when that was.
    pub fetch_time: Option<Timestamp>,
    /// The class.
    pub class: FetchClass,
    /// Why, where the class alone does not say.
    pub reason: Option<Reason>,
    /// Facts beside the class.
    pub flags: Flags,
    /// Status of the last answer.
    pub status: Option<u16>,
    /// Attempts made, the last one included; 0 for a stored answer, `None` where nothing is ever asked (folders).
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
    /// Since when the origin gives no answer, where an earlier run is known.
    pub unreachable_since: Option<Timestamp>,
    /// Address of the last connection.
    pub remote_ip: Option<String>,
    /// Version of the last answer: one of [`HTTP_VERSIONS`].
    pub http_version: Option<&'static str>,
    /// Milliseconds from the first look-up to the end of the answer.
    pub elapsed_ms: Option<i64>,
    /// Seconds that the server asked to wait.
    pub retry_after_s: Option<i64>,
    /// SHA-256 of the decoded body, where one was read; in an outage, of that of the last good answer.
    pub body_sha256: Option<BodyHash>,
    /// Octets of the body that `body_sha256` names.
    pub body_octets: Option<i64>,
    /// Header fields of the last answer, as sent (`\xNN` for octets that are no UTF-8).
    pub headers: Headers,
}

/// The header fields of the last answer that are kept.
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
    /// Those that say something of use: no columns here, but a table of their own.
    pub signals: ResponseFields,
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

    /// The outage that the observation stands in.
    #[must_use]
    pub fn outage(&self) -> Outage {
        let lasted = outage_lasted(self.unreachable_since, self.fetch_time);
        Outage {
            stage: lasted.map_or(OutageStage::Early, OutageStage::of),
            has_copy: self.body_sha256.is_some(),
            answers_http: self.status.is_some(),
        }
    }
}

/// How long an outage had lasted when the origin was asked; a clock that was set back makes it no longer.
#[must_use]
pub fn outage_lasted(unreachable_since: Option<Timestamp>, fetch_time: Option<Timestamp>) -> Option<Duration> {
    let micros = fetch_time?.checked_sub(unreachable_since?)?;
    u64::try_from(micros).ok().map(Duration::from_micros)
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

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    let redirects = DataType::List(Arc::new(Field::new("item", DataType::Struct(redirect_fields()), true)));
    Arc::new(Schema::new(vec![
        text("origin"),
        text("url_host_name"),
        text("url_host_registered_domain"),
        value("rank", DataType::Int64),
        text("input"),
        value("input_line", DataType::Int64),
        text("robots_url"),
        timestamp("fetch_time"),
        words("fetch_class"),
        words("reason"),
        column::texts("flags"),
        value("fetch_status", DataType::Int16),
        value("attempts", DataType::Int16),
        value("hops", DataType::Int16),
        value("redirects", redirects),
        text("final_url"),
        words("scheme_used"),
        words("first_attempt_class"),
        timestamp("unreachable_since"),
        text("remote_ip"),
        words("http_version"),
        value("elapsed_ms", DataType::Int64),
        value("retry_after_s", DataType::Int64),
        text("body_sha256"),
        value("body_octets", DataType::Int64),
        text("content_type"),
        text("content_encoding"),
        text("etag"),
        text("last_modified"),
        text("cache_control"),
        text("server"),
    ]))
}

fn redirect_fields() -> Fields {
    Fields::from(vec![value("status", DataType::Int16), text("url")])
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct FetchesBuilder {
    names: Names,
    times: Times,
    outcome: OutcomeColumns,
    way: Way,
    headers: [StringBuilder; 6],
    rows: usize,
}

/// What the input said.
#[derive(Debug, Default)]
struct Names {
    origin: StringBuilder,
    host: StringBuilder,
    registered_domain: StringBuilder,
    rank: Int64Builder,
    input: StringBuilder,
    input_line: Int64Builder,
    robots_url: StringBuilder,
}

/// When things happened and how long they took.
#[derive(Debug)]
struct Times {
    fetch_time: TimestampMicrosecondBuilder,
    unreachable_since: TimestampMicrosecondBuilder,
    elapsed_ms: Int64Builder,
    retry_after_s: Int64Builder,
}

/// What came of it.
#[derive(Debug)]
struct OutcomeColumns {
    class: Words,
    reason: Words,
    flags: ListBuilder<StringBuilder>,
    status: Int16Builder,
    attempts: Int16Builder,
    first_attempt_class: Words,
    body_sha256: StringBuilder,
    body_octets: Int64Builder,
}

/// How the answer was reached.
#[derive(Debug)]
struct Way {
    hops: Int16Builder,
    redirects: ListBuilder<StructBuilder>,
    final_url: StringBuilder,
    scheme_used: Words,
    remote_ip: StringBuilder,
    http_version: Words,
}

impl Default for FetchesBuilder {
    fn default() -> Self {
        let classes = || Words::of(FetchClass::ALL.iter().map(|class| class.as_str()));
        Self {
            names: Names::default(),
            times: Times {
                fetch_time: column::timestamps(),
                unreachable_since: column::timestamps(),
                elapsed_ms: Int64Builder::new(),
                retry_after_s: Int64Builder::new(),
            },
            outcome: OutcomeColumns {
                class: classes(),
                reason: Words::of(Reason::ALL.iter().map(|reason| reason.as_str())),
                flags: ListBuilder::new(StringBuilder::new()),
                status: Int16Builder::new(),
                attempts: Int16Builder::new(),
                first_attempt_class: classes(),
                body_sha256: StringBuilder::new(),
                body_octets: Int64Builder::new(),
            },
            way: Way {
                hops: Int16Builder::new(),
                redirects: ListBuilder::new(StructBuilder::from_fields(redirect_fields(), 0)),
                final_url: StringBuilder::new(),
                scheme_used: Words::of([Scheme::Http, Scheme::Https].map(Scheme::as_str)),
                remote_ip: StringBuilder::new(),
                http_version: Words::of(HTTP_VERSIONS),
            },
            headers: std::array::from_fn(|_| StringBuilder::new()),
            rows: 0,
        }
    }
}

impl FetchesBuilder {
    /// Adds a row.
    pub fn push(&mut self, row: &FetchRow) {
        self.rows += 1;
        self.names.push(row);
        self.times.push(&row.observation);
        self.outcome.push(&row.observation);
        self.way.push(&row.observation);
        let Headers { content_type, content_encoding, etag, last_modified, cache_control, server, signals: _ } =
            &row.observation.headers;
        let fields = [content_type, content_encoding, etag, last_modified, cache_control, server];
        for (column, field) in self.headers.iter_mut().zip(fields) {
            column.append_option(field.as_deref());
        }
    }

    /// Rows added since the last batch.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The rows so far; the builder is empty again.
    #[must_use]
    pub fn finish(&mut self) -> RecordBatch {
        let Self { mut names, mut times, mut outcome, mut way, headers, .. } = std::mem::take(self);
        let [mut content_type, mut content_encoding, mut etag, mut last_modified, mut cache_control, mut server] =
            headers;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(names.origin.finish()),
            Arc::new(names.host.finish()),
            Arc::new(names.registered_domain.finish()),
            Arc::new(names.rank.finish()),
            Arc::new(names.input.finish()),
            Arc::new(names.input_line.finish()),
            Arc::new(names.robots_url.finish()),
            Arc::new(times.fetch_time.finish()),
            outcome.class.finish(),
            outcome.reason.finish(),
            Arc::new(outcome.flags.finish()),
            Arc::new(outcome.status.finish()),
            Arc::new(outcome.attempts.finish()),
            Arc::new(way.hops.finish()),
            Arc::new(way.redirects.finish()),
            Arc::new(way.final_url.finish()),
            way.scheme_used.finish(),
            outcome.first_attempt_class.finish(),
            Arc::new(times.unreachable_since.finish()),
            Arc::new(way.remote_ip.finish()),
            way.http_version.finish(),
            Arc::new(times.elapsed_ms.finish()),
            Arc::new(times.retry_after_s.finish()),
            Arc::new(outcome.body_sha256.finish()),
            Arc::new(outcome.body_octets.finish()),
            Arc::new(content_type.finish()),
            Arc::new(content_encoding.finish()),
            Arc::new(etag.finish()),
            Arc::new(last_modified.finish()),
            Arc::new(cache_control.finish()),
            Arc::new(server.finish()),
        ];
        column::batch(schema(), columns)
    }
}

impl Names {
    fn push(&mut self, row: &FetchRow) {
        let origin = row.origin.as_ref();
        self.origin.append_option(origin.map(Origin::as_str));
        self.host.append_option(origin.map(Origin::host));
        self.registered_domain.append_option(origin.and_then(Origin::registered_domain));
        self.rank.append_option(row.rank);
        self.input.append_option(row.input.as_deref());
        self.input_line.append_option(row.input_line);
        self.robots_url.append_option(origin.map(Origin::robots_url));
    }
}

impl Times {
    fn push(&mut self, seen: &Observation) {
        self.fetch_time.append_option(seen.fetch_time);
        self.unreachable_since.append_option(seen.unreachable_since);
        self.elapsed_ms.append_option(seen.elapsed_ms);
        self.retry_after_s.append_option(seen.retry_after_s);
    }
}

impl OutcomeColumns {
    fn push(&mut self, seen: &Observation) {
        self.class.push(Some(seen.class as usize));
        self.reason.push(seen.reason.map(|reason| reason as usize));
        for flag in seen.flags.iter() {
            self.flags.values().append_value(flag.as_str());
        }
        self.flags.append(true);
        self.status.append_option(seen.status.map(u16::cast_signed));
        self.attempts.append_option(seen.attempts.map(u16::cast_signed));
        self.first_attempt_class.push(seen.first_attempt_class.map(|class| class as usize));
        self.body_sha256.append_option(seen.body_sha256.map(|hash| column::hex(&hash)));
        self.body_octets.append_option(seen.body_octets);
    }
}

impl Way {
    fn push(&mut self, seen: &Observation) {
        self.hops.append_option(seen.hops.map(u16::cast_signed));
        for redirect in &seen.redirects {
            let hop = self.redirects.values();
            let status = hop.field_builder::<Int16Builder>(0).expect("the first field is the status");
            status.append_value(redirect.status.cast_signed());
            hop.field_builder::<StringBuilder>(1).expect("the second is the URL").append_value(&redirect.url);
            hop.append(true);
        }
        self.redirects.append(seen.hops.is_some());
        self.final_url.append_option(seen.final_url.as_deref());
        self.scheme_used.push(seen.scheme_used.map(|scheme| scheme as usize));
        self.remote_ip.append_option(seen.remote_ip.as_deref());
        let version = seen.http_version;
        self.http_version.push(version.and_then(|version| HTTP_VERSIONS.iter().position(|known| *known == version)));
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;

    #[test]
    fn a_row_of_each_kind_fits_the_schema() {
        let mut builder = FetchesBuilder::default();
        let mut observation = Observation::of_class(FetchClass::RedirectLimit, None);
        observation.hops = Some(1);
        observation.redirects = vec![Redirect { status: 301, url: "http://b.test/".into() }];
        builder.push(&FetchRow {
            origin: Origin::of_url(b"http://a.test").ok(),
            rank: Some(1),
            input: Some("a.test".into()),
            input_line: Some(1),
            observation,
        });
        builder.push(&FetchRow {
            origin: None,
            rank: None,
            input: Some("::".into()),
            input_line: Some(2),
            observation: Observation::of_class(FetchClass::InvalidTarget, Some(Reason::Host)),
        });
        let batch = builder.finish();
        assert_eq!((batch.num_rows(), builder.rows()), (2, 0));
        assert!(batch.column_by_name("redirects").expect("a column").is_null(1));
    }
}
