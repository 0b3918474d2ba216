//! Rows of `fetches` to what a later run needs of them.

use arrow::array::{Array, AsArray, ListArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};

use super::earlier::{Body, Earlier, LastCopy, StoredAnswer, StoredOutage};
use super::texts::{Text, Texts};
use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Flag, Flags};
use crate::signals::response::{FieldName, ResponseFields, SignalField};
use crate::source::snapshot::of_hex;
use crate::tables::fetches::{HTTP_VERSIONS, Redirect, Timestamp};
use crate::tables::text::octets_as_sent;

/// A row that is of use to a later run.
pub(super) struct Row {
    pub(super) origin: Origin,
    pub(super) fetch_time: Timestamp,
    /// `None` where nothing of the row is used again.
    pub(super) earlier: Option<Earlier>,
}

/// The columns of a batch.
pub(super) struct Columns {
    origin: StringArray,
    class: StringArray,
    flags: ListArray,
    scheme_used: StringArray,
    first_attempt_class: StringArray,
    http_version: StringArray,
    body_sha256: StringArray,
    body_octets: PrimitiveArray<Int64Type>,
    status: PrimitiveArray<Int16Type>,
    hops: PrimitiveArray<Int16Type>,
    redirects: ListArray,
    fetch_time: PrimitiveArray<TimestampMicrosecondType>,
    unreachable_since: PrimitiveArray<TimestampMicrosecondType>,
    /// In the order of [`Text::ALL`].
    texts: [StringArray; Text::ALL.len()],
}

impl Columns {
    /// The columns of a batch that has the schema of the table.
    pub(super) fn of(batch: &RecordBatch) -> Self {
        Self {
            origin: texts(batch, "origin"),
            class: texts(batch, "fetch_class"),
            flags: lists(batch, "flags"),
            scheme_used: texts(batch, "scheme_used"),
            first_attempt_class: texts(batch, "first_attempt_class"),
            http_version: texts(batch, "http_version"),
            body_sha256: texts(batch, "body_sha256"),
            body_octets: numbers(batch, "body_octets"),
            status: numbers(batch, "fetch_status"),
            hops: numbers(batch, "hops"),
            redirects: lists(batch, "redirects"),
            fetch_time: numbers(batch, "fetch_time"),
            unreachable_since: numbers(batch, "unreachable_since"),
            texts: Text::ALL.map(|which| texts(batch, column_of(which))),
        }
    }

    /// A row; `None` where it names no origin or was never asked for.
    ///
    /// # Errors
    /// The column whose value this version does not know.
    pub(super) fn row(&self, row: usize) -> Result<Option<Row>, &'static str> {
        let class = text(&self.class, row).and_then(FetchClass::from_name).ok_or("fetch_class")?;
        let (Some(origin), Some(fetch_time)) = (text(&self.origin, row), number(&self.fetch_time, row)) else {
            return Ok(None);
        };
        let origin = Origin::of_url(origin.as_bytes()).map_err(|_| "origin")?;
        let earlier = if class.is_stored_answer() {
            Some(Earlier::Answer(Box::new(self.answer(row, class, fetch_time, &origin)?)))
        } else if class.keeps_earlier_copy() {
            Some(Earlier::Outage(Box::new(self.outage(row, class, fetch_time)?)))
        } else {
            None
        };
        Ok(Some(Row { origin, fetch_time, earlier }))
    }

    fn answer(
        &self,
        row: usize,
        class: FetchClass,
        fetch_time: Timestamp,
        origin: &Origin,
    ) -> Result<StoredAnswer, &'static str> {
        let robots_url = origin.robots_url();
        let first_attempt = text(&self.first_attempt_class, row);
        let body = self.body(row)?;
        if class.has_body() && body.is_none() {
            return Err("body_sha256");
        }
        Ok(StoredAnswer {
            fetch_time,
            class,
            flags: self.flags(row),
            status: self.status(row),
            hops: number(&self.hops, row).map(i16::cast_unsigned),
            scheme_used: text(&self.scheme_used, row).and_then(scheme_of),
            first_attempt_class: first_attempt.and_then(FetchClass::from_name),
            http_version: text(&self.http_version, row).and_then(version_of),
            body: body.filter(|_| class.has_body()),
            redirects: self.redirects(row),
            texts: Texts::pack(|which| {
                let text = text(&self.texts[which as usize], row);
                // Nearly every URL is this one; absent stands for it.
                if which == Text::FinalUrl { text.filter(|url| **url != *robots_url) } else { text }
            }),
            signals: ResponseFields::default(),
        })
    }

    /// An outage begins with its row, where that does not say so itself.
    fn outage(&self, row: usize, class: FetchClass, fetch_time: Timestamp) -> Result<StoredOutage, &'static str> {
        let begun = Some(fetch_time).filter(|_| class.is_outage());
        let validator = |which: Text| text(&self.texts[which as usize], row).map(Into::into);
        let copy = self.body(row)?.map(|body| LastCopy {
            body,
            flags: self.flags(row),
            etag: validator(Text::Etag),
            last_modified: validator(Text::LastModified),
        });
        Ok(StoredOutage { since: number(&self.unreachable_since, row).or(begun), copy })
    }

    fn body(&self, row: usize) -> Result<Option<Body>, &'static str> {
        let Some(hash) = text(&self.body_sha256, row) else { return Ok(None) };
        let sha256 = of_hex(hash).ok_or("body_sha256")?;
        Ok(Some(Body { sha256, octets: number(&self.body_octets, row) }))
    }

    fn status(&self, row: usize) -> Option<u16> {
        number(&self.status, row).map(i16::cast_unsigned)
    }

    fn flags(&self, row: usize) -> Flags {
        let mut flags = Flags::default();
        if self.flags.is_valid(row) {
            let names = plain_texts(&self.flags.value(row));
            names.iter().flatten().filter_map(Flag::from_name).for_each(|flag| flags.insert(flag));
        }
        flags
    }

    fn redirects(&self, row: usize) -> Box<[Redirect]> {
        if self.redirects.is_null(row) || self.redirects.value_length(row) == 0 {
            return Box::default();
        }
        let hops = self.redirects.value(row);
        let hops = hops.as_struct();
        let (statuses, urls) = (hops.column(0).as_primitive::<Int16Type>(), plain_texts(hops.column(1)));
        let redirect = |(status, url): (Option<i16>, Option<&str>)| Redirect {
            status: status.unwrap_or_default().cast_unsigned(),
            url: url.unwrap_or_default().to_owned(),
        };
        statuses.iter().zip(urls.iter()).map(redirect).collect()
    }
}

/// A field of an answer, as the rows of `response_signals` have it: once for each thing that it says.
pub(super) struct FieldRow {
    pub(super) origin: Origin,
    pub(super) fetch_time: Timestamp,
    /// Its place among the fields of the answer.
    pub(super) place: i32,
    pub(super) field: SignalField,
}

/// The fields of a batch of `response_signals`. What this version does not know is nothing that it would use again.
pub(super) fn fields(batch: &RecordBatch) -> Vec<FieldRow> {
    let (origins, names, values) = (texts(batch, "origin"), texts(batch, "name"), texts(batch, "value"));
    let times = numbers::<TimestampMicrosecondType>(batch, "fetch_time");
    let places = numbers::<Int32Type>(batch, "field");
    let field = |row| {
        let name = FieldName::from_name(text(&names, row)?)?;
        let value = text(&values, row).and_then(octets_as_sent).map(Into::into);
        Some(FieldRow {
            origin: Origin::of_url(text(&origins, row)?.as_bytes()).ok()?,
            fetch_time: number(&times, row)?,
            place: number(&places, row)?,
            field: SignalField { name, value },
        })
    };
    (0..batch.num_rows()).filter_map(field).collect()
}

const fn column_of(which: Text) -> &'static str {
    match which {
        Text::FinalUrl => "final_url",
        Text::RemoteIp => "remote_ip",
        Text::ContentType => "content_type",
        Text::ContentEncoding => "content_encoding",
        Text::Etag => "etag",
        Text::LastModified => "last_modified",
        Text::CacheControl => "cache_control",
        Text::Server => "server",
    }
}

fn scheme_of(name: &str) -> Option<Scheme> {
    [Scheme::Http, Scheme::Https].into_iter().find(|scheme| scheme.as_str() == name)
}

fn version_of(name: &str) -> Option<&'static str> {
    HTTP_VERSIONS.into_iter().find(|version| *version == name)
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a dyn Array {
    batch.column_by_name(name).expect("the batch has the columns of the table")
}

fn texts(batch: &RecordBatch, name: &str) -> StringArray {
    plain_texts(column(batch, name))
}

fn plain_texts(array: &dyn Array) -> StringArray {
    cast(array, &DataType::Utf8).expect("a column of text").as_string::<i32>().clone()
}

fn lists(batch: &RecordBatch, name: &str) -> ListArray {
    column(batch, name).as_list::<i32>().clone()
}

fn numbers<T: ArrowPrimitiveType>(batch: &RecordBatch, name: &str) -> PrimitiveArray<T> {
    column(batch, name).as_primitive::<T>().clone()
}

fn text(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

fn number<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}
