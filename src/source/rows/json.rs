//! Rows of NDJSON: an object a line.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Chosen, Row, Rows, RowsError, unpacked};
use crate::source::captures::time_of;

/// Octets of the longest line: a body with every octet escaped, and some more.
pub(super) const LINE_OCTETS: u64 = 128 << 20;

/// The names of an object's values, those inside objects with dots; `None` where the line holds no object.
pub(super) fn columns(line: &[u8]) -> Option<Vec<String>> {
    let object: Map<String, Value> = serde_json::from_slice(line).ok()?;
    let mut names = Vec::new();
    push_names(&object, "", &mut names);
    Some(names)
}

fn push_names(object: &Map<String, Value>, before: &str, names: &mut Vec<String>) {
    for (key, value) in object {
        let name = format!("{before}{key}");
        if let Value::Object(inner) = value {
            push_names(inner, &format!("{name}."), names);
        }
        names.push(name);
    }
}

/// The rows of a file. A line that is no object is a row that cannot be read; blank lines are none.
pub(super) fn rows(path: &Path, file: File, columns: &Chosen, with_bodies: bool) -> Result<Rows, RowsError> {
    let text = unpacked(file).map_err(|source| RowsError::Open { path: path.to_owned(), source })?;
    Ok(Box::new(Lines { path: path.to_owned(), text, columns: columns.clone(), with_bodies, line: 0 }))
}

struct Lines {
    path: PathBuf,
    text: Box<dyn BufRead>,
    columns: Chosen,
    with_bodies: bool,
    line: u64,
}

impl Iterator for Lines {
    type Item = Result<Option<Row>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.line += 1;
            let mut line = Vec::new();
            let read = (&mut self.text).take(LINE_OCTETS).read_until(b'\n', &mut line);
            let is_long = line.len() as u64 == LINE_OCTETS && !line.ends_with(b"\n");
            let passed = if is_long { pass_line(&mut self.text) } else { Ok(()) };
            match read.and_then(|read| passed.map(|()| read)) {
                Err(source) => return Some(Err(RowsError::Read { path: self.path.clone(), line: self.line, source })),
                Ok(0) => return None,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) if is_long => return Some(Ok(None)),
                Ok(_) => return Some(Ok(row(&line, &self.columns, self.with_bodies))),
            }
        }
    }
}

fn pass_line(text: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let ahead = text.fill_buf()?;
        let end = memchr::memchr(b'\n', ahead);
        let octets = end.map_or(ahead.len(), |end| end + 1);
        text.consume(octets);
        if end.is_some() || octets == 0 {
            return Ok(());
        }
    }
}

fn row(line: &[u8], columns: &Chosen, with_bodies: bool) -> Option<Row> {
    let object: Map<String, Value> = serde_json::from_slice(line).ok()?;
    let octets = |path: &str| at(&object, path).and_then(Value::as_str).map(|text| text.as_bytes().to_vec());
    Some(Row {
        url: octets(&columns.url),
        body: if with_bodies { octets(&columns.body) } else { None },
        status: columns.status.as_deref().and_then(|path| at(&object, path)).and_then(number),
        time: columns.time.as_deref().and_then(|path| at(&object, path)).and_then(time),
    })
}

/// The value at a path: the whole path as a key first, then step by step.
fn at<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    path.match_indices('.').find_map(|(dot, _)| at(object.get(&path[..dot])?.as_object()?, &path[dot + 1..]))
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// RFC 3339, or seconds since 1970.
fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => time_of(text),
        other => other.as_i64()?.checked_mul(1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_by_path() {
        let columns = Chosen {
            url: "page.url".to_owned(),
            body: "body".to_owned(),
            status: Some("s".to_owned()),
            time: Some("t".to_owned()),
        };
        let line =
            br#"{"page":{"url":"https://a.test/"},"body":"x\u0000","s":"404","t":"2024-01-01T00:00:00Z","z":[]}"#;
        let expected = Row {
            url: Some(b"https://a.test/".to_vec()),
            body: Some(b"x\0".to_vec()),
            status: Some(404),
            time: Some(1_704_067_200_000_000),
        };
        assert_eq!(row(line, &columns, true), Some(expected));
        assert_eq!(row(b"{\"body\":7,\"t\":1}", &columns, true).and_then(|row| row.time), Some(1_000_000));
        assert_eq!(row(b"[1]", &columns, true), None);
        assert_eq!(columns_of(line), ["page.url", "page", "body", "s", "t", "z"]);
    }

    fn columns_of(line: &[u8]) -> Vec<String> {
        super::columns(line).expect("an object")
    }
}
