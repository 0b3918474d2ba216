//! Rows of NDJSON: an object a line.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use serde_json::Map;

use super::status::STATUS;
use super::{Chosen, Row, Rows, RowsError, unpacked};
use crate::source::json_path::{self, Found, Path as Keys, Value};
use crate::source::time::TIME;
use crate::source::told::{Reading, Told};

/// Octets of the longest line: a body with every octet escaped, and some more.
pub(super) const LINE_OCTETS: u64 = 128 << 20;

/// The names of an object's values, those inside objects with dots; `None` where the line holds no object.
pub(super) fn columns(line: &[u8]) -> Option<Vec<String>> {
    let object: Map<String, serde_json::Value> = serde_json::from_slice(line).ok()?;
    let mut names = Vec::new();
    push_names(&object, "", &mut names);
    Some(names)
}

fn push_names(object: &Map<String, serde_json::Value>, before: &str, names: &mut Vec<String>) {
    for (key, value) in object {
        let name = format!("{before}{key}");
        if let serde_json::Value::Object(inner) = value {
            push_names(inner, &format!("{name}."), names);
        }
        names.push(name);
    }
}

/// The rows of a file. A line that is no object is a row that cannot be read; blank lines are none.
pub(super) fn rows(path: &Path, file: File, columns: &Chosen, with_bodies: bool) -> Result<Rows, RowsError> {
    let text = unpacked(file).map_err(|source| RowsError::Open { path: path.to_owned(), source })?;
    let values = Values::of(columns, with_bodies);
    Ok(Box::new(Lines { path: path.to_owned(), text, values, line: 0 }))
}

struct Lines {
    path: PathBuf,
    text: Box<dyn BufRead>,
    values: Values,
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
                Ok(_) => return Some(Ok(self.values.row(&line))),
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

/// The values that a row is made of.
struct Values {
    columns: Chosen,
    with_bodies: bool,
    found: Vec<Value>,
}

impl Values {
    fn of(columns: &Chosen, with_bodies: bool) -> Self {
        Self { columns: columns.clone(), with_bodies, found: Vec::new() }
    }

    fn row(&mut self, line: &[u8]) -> Option<Row> {
        let Chosen { url, body, status, time } = &self.columns;
        // The body is looked at in every reading, so that all of them take the same rows.
        let asked = [Some(url), Some(body), status.as_ref(), time.as_ref()];
        let paths: Vec<Keys<'_>> = asked.into_iter().flatten().map(|keys| Keys::to(keys)).collect();
        self.found.resize_with(paths.len(), Value::default);
        json_path::read(line, &paths, &mut self.found).ok()?;
        if self.found.iter().any(|value| value.found == Found::Unreadable) {
            return None;
        }
        let mut found = self.found.iter_mut();
        let [url, body, status, time] = asked.map(|asked| asked.and_then(|_| found.next()));
        Some(Row {
            url: url.and_then(text),
            body: body.filter(|_| self.with_bodies).and_then(text),
            status: status.map_or(Told::Nothing, |status| told(status, &STATUS)),
            time: time.map_or(Told::Nothing, |time| told(time, &TIME)),
        })
    }
}

fn text(value: &mut Value) -> Option<Vec<u8>> {
    (value.found == Found::Text).then(|| std::mem::take(&mut value.octets))
}

fn told<T: Copy>(value: &Value, reading: &Reading<T>) -> Told<T> {
    match value.found {
        Found::Missing | Found::Null | Found::NullAbove => Told::Nothing,
        Found::Text => reading.of_text(&value.octets),
        Found::Number => reading.of_digits(&value.octets),
        Found::Other | Found::Unreadable => Told::Unreadable,
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
            status: Told::This(404),
            time: Told::This(1_704_067_200_000_000),
        };
        let mut values = Values::of(&columns, true);
        assert_eq!(values.row(line), Some(expected.clone()));
        assert_eq!(values.row(b"{\"body\":7,\"t\":1}"), Some(Row { time: Told::This(1_000_000), ..Row::default() }));
        assert_eq!(values.row(b"[1]"), None);
        let half = br#"{"page":{"url":"https://a.test/"},"body":"\ud800"}"#;
        assert_eq!(
            (values.row(half), Values::of(&columns, false).row(half)),
            (None, None),
            "every reading takes the same"
        );
        assert_eq!(Values::of(&columns, false).row(line), Some(Row { body: None, ..expected }));
        assert_eq!(columns_of(line), ["page.url", "page", "body", "s", "t", "z"]);
    }

    fn columns_of(line: &[u8]) -> Vec<String> {
        super::columns(line).expect("an object")
    }
}
