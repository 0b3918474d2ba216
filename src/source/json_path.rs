//! Values of a JSON object by their dotted paths: all in one reading, without a tree of the rest.
//!
//! A path leads through objects, and through objects that stand in strings. A key may hold dots itself: of all ways that a
//! path can be read, the one counts whose key stands first. Of a key that an object has more than once the last counts, as
//! most readers of JSON have it (RFC 8259, section 4).

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// How a value is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// What it means: the text of a string, the digits of a number.
    Meant,
    /// Its JSON, octet for octet.
    Written,
}

/// A value that is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'p> {
    /// Keys with dots between them.
    pub(crate) keys: &'p str,
    /// How the value is given back.
    pub(crate) form: Form,
}

impl<'p> Path<'p> {
    /// The path to what a value means.
    pub(crate) const fn to(keys: &'p str) -> Self {
        Self { keys, form: Form::Meant }
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Found {
    /// A string.
    Text,
    /// A number; what is no integer of 64 bits is told as the nearest float.
    Number,
    /// `null`.
    Null,
    /// Nothing, since `null` stands above.
    NullAbove,
    /// Nothing.
    #[default]
    Missing,
    /// An object, an array, `true` or `false`.
    Other,
    /// A string that is no Unicode (half of a surrogate pair), or a number beyond all floats.
    Unreadable,
}

/// The value at a path, with memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Value {
    /// What was found.
    pub(crate) found: Found,
    /// The value, where it was asked for as it is written; else that of a string or a number.
    pub(crate) octets: Vec<u8>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonFault {
    /// It is no JSON.
    Json {
        /// 1-based place in the line.
        octet: usize,
    },
    /// It is JSON, but not an object.
    NoObject,
}

/// Reads the values at `paths` of the object in `line`, one into each of `values`.
///
/// # Errors
/// A line that is no JSON object; what was found until then is left.
pub(crate) fn read(line: &[u8], paths: &[Path<'_>], values: &mut [Value]) -> Result<(), JsonFault> {
    for value in &mut *values {
        value.found = Found::Missing;
        value.octets.clear();
    }
    let rests = paths.iter().enumerate();
    let rests: Vec<Rest<'_>> =
        rests.map(|(place, path)| Rest { place, keys: Some(path.keys), form: path.form }).collect();
    read_object(line, &rests, values)
}

/// Appends the text or the number at one path of the object in `line` to `out`.
///
/// # Errors
/// As of [`read`].
pub(crate) fn append_value(line: &[u8], path: &str, out: &mut Vec<u8>) -> Result<Found, JsonFault> {
    let mut value = [Value { found: Found::Missing, octets: std::mem::take(out) }];
    let read = read_object(line, &[Rest { place: 0, keys: Some(path), form: Form::Meant }], &mut value);
    let [value] = value;
    *out = value.octets;
    read.map(|()| value.found)
}

/// The keys of the object in `line`, for messages.
pub(crate) fn keys(line: &[u8]) -> Vec<String> {
    let object: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_slice(line);
    object.map(|object| object.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
}

fn read_object(line: &[u8], rests: &[Rest<'_>], values: &mut [Value]) -> Result<(), JsonFault> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(JsonFault::NoObject);
    }
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = Pick { rests, values }.deserialize(&mut json);
    read.and_then(|()| json.end()).map_err(|error| JsonFault::Json { octet: error.column() })
}

/// What remains of a path.
#[derive(Debug, Clone, Copy)]
struct Rest<'p> {
    /// Which path it is.
    place: usize,
    /// The keys to come; without any, the value itself is wanted.
    keys: Option<&'p str>,
    form: Form,
}

impl Rest<'_> {
    fn is_last(&self) -> bool {
        self.keys.is_none()
    }
}

/// Looks for what remains of paths in a value.
struct Pick<'r, 'v> {
    rests: &'r [Rest<'r>],
    values: &'v mut [Value],
}

impl<'r> Pick<'r, '_> {
    /// The value is no object, and this is what it is.
    fn end(self, found: Found, octets: &[u8]) {
        for rest in self.rests {
            match rest.keys {
                None => {
                    self.values[rest.place].found = found;
                    if rest.form == Form::Meant {
                        self.values[rest.place].octets.extend_from_slice(octets);
                    }
                }
                Some(_) if found == Found::Null => self.values[rest.place].found = Found::NullAbove,
                Some(_) => {}
            }
        }
    }

    fn beyond(&self) -> Vec<Rest<'r>> {
        self.rests.iter().copied().filter(|rest| rest.keys.is_some()).collect()
    }
}

/// Looks on in an object that stands in a string. Each level doubles what escapes them, so that there are few.
fn read_inner(text: &str, rests: &[Rest<'_>], values: &mut [Value]) {
    let before = lengths(rests, values);
    if read_object(text.as_bytes(), rests, values).is_err() {
        forget(rests, &before, values);
    }
}

/// Looks into a value that is JSON, but perhaps none that can be told: one such value does not make a line unreadable.
fn read_written(written: &str, rests: &[Rest<'_>], values: &mut [Value]) {
    let before = lengths(rests, values);
    let pick = Pick { rests, values: &mut *values };
    let read = pick.deserialize(&mut serde_json::Deserializer::from_str(written));
    if read.is_err() {
        forget(rests, &before, values);
    }
    for rest in rests.iter().filter(|rest| rest.is_last()) {
        let value = &mut values[rest.place];
        if read.is_err() {
            value.found = Found::Unreadable;
        }
        if rest.form == Form::Written {
            value.octets.extend_from_slice(written.as_bytes());
        }
    }
}

fn lengths(rests: &[Rest<'_>], values: &[Value]) -> Vec<usize> {
    rests.iter().map(|rest| values[rest.place].octets.len()).collect()
}

/// Takes back what was found.
fn forget(rests: &[Rest<'_>], lengths: &[usize], values: &mut [Value]) {
    for (rest, octets) in rests.iter().zip(lengths) {
        values[rest.place].found = Found::Missing;
        values[rest.place].octets.truncate(*octets);
    }
}

impl<'de> DeserializeSeed<'de> for Pick<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        let beyond = self.beyond();
        if !beyond.is_empty() {
            read_inner(text, &beyond, self.values);
        }
        self.end(Found::Text, text.as_bytes());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.end(Found::Null, b"");
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.end(Found::Other, b"");
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.end(Found::Number, number.to_string().as_bytes());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.end(Found::Number, number.to_string().as_bytes());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        // With a point or an exponent, so that it is told from an integer.
        self.end(Found::Number, format!("{number:?}").as_bytes());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.end(Found::Other, b"");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let before = lengths(self.rests, self.values);
        // By which key each path went on; without a second key of that name it stays so.
        let mut keys: Vec<Option<usize>> = vec![None; self.rests.len()];
        while let Some(Steps { key, rests }) =
            map.next_key_seed(Step { rests: self.rests, keys: &keys, values: &*self.values })?
        {
            let is_met = |rest: &Rest<'_>| rests.iter().any(|met| met.place == rest.place);
            for (rest, octets) in self.rests.iter().zip(&before).filter(|(rest, _)| is_met(rest)) {
                forget(&[*rest], &[*octets], self.values);
            }
            if rests.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else if rests.iter().any(Rest::is_last) {
                let written: Box<RawValue> = map.next_value()?;
                read_written(written.get(), &rests, self.values);
            } else {
                map.next_value_seed(Pick { rests: &rests, values: &mut *self.values })?;
            }
            for (rest, by) in self.rests.iter().zip(&mut keys).filter(|(rest, _)| is_met(rest)) {
                *by = (self.values[rest.place].found != Found::Missing).then_some(key);
            }
        }
        self.end(Found::Other, b"");
        Ok(())
    }
}

/// Compares a key with paths: what remains behind it of those that it is on and that have no value yet, or one behind a key
/// of the same name.
struct Step<'r, 'v> {
    rests: &'r [Rest<'r>],
    /// By which key, told by its octets, each has its value.
    keys: &'v [Option<usize>],
    values: &'v [Value],
}

/// What remains of paths behind a key.
struct Steps<'r> {
    /// The octets of the key: of the keys on one path that tells it.
    key: usize,
    rests: Vec<Rest<'r>>,
}

impl<'de, 'r> DeserializeSeed<'de> for Step<'r, '_> {
    type Value = Steps<'r>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'r> Visitor<'_> for Step<'r, '_> {
    type Value = Steps<'r>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let is_open = |rest: &Rest<'_>, by: Option<usize>| {
            self.values[rest.place].found == Found::Missing || by == Some(key.len())
        };
        let open = self.rests.iter().zip(self.keys).filter(|(rest, by)| is_open(rest, **by));
        let behind = open.filter_map(|(rest, _)| {
            let keys = rest.keys?;
            if key == keys {
                return Some(Rest { keys: None, ..*rest });
            }
            let keys = keys.strip_prefix(key)?.strip_prefix('.')?;
            Some(Rest { keys: Some(keys), ..*rest })
        });
        Ok(Steps { key: key.len(), rests: behind.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_path() {
        for (line, path, expected) in [
            (r#"{"x":[1,{"url":"no"}],"url":"https://a.test/\u00e9"}"#, "url", "Text https://a.test/é"),
            (r#" {"page":{"x":1,"url":"u"},"z":{}} "#, "page.url", "Text u"),
            (r#"{"page.url":"u"}"#, "page.url", "Text u"),
            (r#"{"page":{"x":1},"page.url":"u"}"#, "page.url", "Text u"),
            (r#"{"page":{"url":"first"},"page.url":"u"}"#, "page.url", "Text first"),
            (r#"{"a.b":{"c":"u"}}"#, "a.b.c", "Text u"),
            (r#"{"url":null}"#, "url", "Null "),
            (r#"{"page":null}"#, "page.url", "NullAbove "),
            (r#"{"page":"x"}"#, "page.url", "Missing "),
            (r#"{"page":7}"#, "page.url", "Missing "),
            (r#"{"page":"{\"url\":\"u\"}"}"#, "page.url", "Text u"),
            (r#"{"page":"{\"url\":\"u\""}"#, "page.url", "Missing "),
            (r#"{"pag":{"url":"x"}}"#, "page.url", "Missing "),
            (r#"{"url":7}"#, "url", "Number 7"),
            (r#"{"url":-7}"#, "url", "Number -7"),
            (r#"{"url":200.0}"#, "url", "Number 200.0"),
            (r#"{"url":true}"#, "url", "Other "),
            (r#"{"url":{"a":1}}"#, "url", "Other "),
            (r#"{"url":["u"]}"#, "url", "Other "),
            (r#"{"url":""}"#, "url", "Text "),
            (r#"{"url":"first","url":"second"}"#, "url", "Text second"),
            (r#"{"url":"first","url":7}"#, "url", "Number 7"),
            (r#"{"url":"first","url":null}"#, "url", "Null "),
            (r#"{"url":"first","url":"\ud800"}"#, "url", "Unreadable "),
            (r#"{"page":{"url":"first"},"page":{"x":1}}"#, "page.url", "Missing "),
            (r#"{"page":{"url":"first"},"page":"{\"url\":\"second\",\"url\":\"last\"}"}"#, "page.url", "Text last"),
            (r#"{"page":{"url":"first"},"page.url":"u","page":{"url":"x","url":"last"}}"#, "page.url", "Text last"),
            (r#"{"page":{"x":1},"page.url":"u","page":{"url":"other"},"page.url":"last"}"#, "page.url", "Text last"),
            (r#"{"page":null,"page":{"url":"u"}}"#, "page.url", "Text u"),
            (r#"{"url":"\ud800","z":1}"#, "url", "Unreadable "),
            (r#"{"url":1e999,"z":1}"#, "url", "Unreadable "),
            (r#"{"z":"\ud800","y":1e999,"url":"u"}"#, "url", "Text u"),
            (r#"{"url":"u""#, "url", "Json { octet: 10 }"),
            (r#"{"url":"u"} x"#, "url", "Json { octet: 13 }"),
            (r#"["u"]"#, "url", "NoObject"),
            ("", "url", "NoObject"),
        ] {
            let mut out = Vec::new();
            let seen = match append_value(line.as_bytes(), path, &mut out) {
                Ok(found) => format!("{found:?} {}", String::from_utf8_lossy(&out)),
                Err(fault) => format!("{fault:?}"),
            };
            assert_eq!(seen, expected, "{line}");
        }
    }

    #[test]
    fn many_paths_in_one_reading() {
        let line = br#"{"n": 1e2 ,"a":{"id" : {"x" : [1, "\u00e9"]},"b":"t"},"s":"{\"id\": \"q\",\"n\":3}","z":null}"#;
        let written = |keys| Path { keys, form: Form::Written };
        let paths = [
            Path::to("a.b"),
            written("a.id"),
            Path::to("n"),
            written("n"),
            written("s.id"),
            Path::to("s.n"),
            written("s"),
            written("z"),
            Path::to("a"),
            written("gone"),
        ];
        let mut values = paths.map(|_| Value::default());
        // What was read before goes.
        for _ in 0..2 {
            assert_eq!(read(line, &paths, &mut values), Ok(()));
        }
        let seen: Vec<_> = values
            .iter()
            .map(|value| format!("{:?} {}", value.found, String::from_utf8_lossy(&value.octets)))
            .collect();
        let expected = [
            "Text t",
            r#"Other {"x" : [1, "\u00e9"]}"#,
            "Number 100.0",
            "Number 1e2",
            "Text \"q\"",
            "Number 3",
            r#"Text "{\"id\": \"q\",\"n\":3}""#,
            "Null null",
            "Other ",
            "Missing ",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn deep_nesting_is_a_fault() {
        let deep = format!("{{\"url\":{}", "{\"url\":".repeat(100_000));
        assert!(append_value(deep.as_bytes(), "url", &mut Vec::new()).is_err());
        assert!(append_value(deep.as_bytes(), &"url.".repeat(100_000), &mut Vec::new()).is_err());
        let whole = format!("{deep}1{}", "}".repeat(100_001));
        assert_eq!(append_value(whole.as_bytes(), "url", &mut Vec::new()), Ok(Found::Other));
        assert!(append_value(whole.as_bytes(), &"url.".repeat(100_000), &mut Vec::new()).is_err());
        let written = [Path { keys: "url", form: Form::Written }];
        assert!(read(deep.as_bytes(), &written, &mut [Value::default()]).is_err());
    }
}
