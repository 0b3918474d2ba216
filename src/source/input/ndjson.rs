//! One value out of a JSON object, found by its dotted path without building a tree of the rest.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::RowFault;

/// What stands at the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A string, appended.
    Text,
    /// `null`, there or above.
    Null,
    /// Nothing.
    Missing,
    /// A number, an object or the like.
    Other,
}

/// Appends the string at `path` of the object in `line` to `out`. A key that is the whole rest of the path is preferred
/// over one that is its first segment only by standing first.
pub(crate) fn append_value(line: &[u8], path: &str, out: &mut Vec<u8>) -> Result<Found, RowFault> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(RowFault::NoObject);
    }
    let mut json = serde_json::Deserializer::from_slice(line);
    let found = Pick { path: Some(path), out }.deserialize(&mut json);
    found.and_then(|found| json.end().map(|()| found)).map_err(|error| RowFault::Json { octet: error.column() })
}

/// The keys of the object in `line`, for messages.
pub(super) fn keys(line: &[u8]) -> Vec<String> {
    let object: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_slice(line);
    object.map(|object| object.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
}

/// Looks for the rest of a path; without a rest, the value itself is wanted.
struct Pick<'a> {
    path: Option<&'a str>,
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Pick<'_> {
    /// What a value that is neither text, null nor an object is.
    fn other(&self) -> Found {
        if self.path.is_none() { Found::Other } else { Found::Missing }
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Found, E> {
        if let Some(path) = self.path {
            // Objects also stand in strings. Each level doubles what escapes them, so that there are few.
            let start = self.out.len();
            return Ok(append_value(text.as_bytes(), path, self.out).unwrap_or_else(|_| {
                self.out.truncate(start);
                Found::Missing
            }));
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(Found::Text)
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Found, E> {
        Ok(self.other())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Found, E> {
        Ok(self.other())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Found, E> {
        Ok(self.other())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Found, E> {
        Ok(self.other())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let Some(path) = self.path else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Found::Other);
        };
        let mut found = Found::Missing;
        while let Some(step) = map.next_key_seed(Step { path })? {
            match step {
                Some(rest) if found == Found::Missing => {
                    found = map.next_value_seed(Pick { path: rest, out: &mut *self.out })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// Compares a key with the path: `None` for another key, else what remains of the path behind it.
struct Step<'a> {
    path: &'a str,
}

impl<'de, 'a> DeserializeSeed<'de> for Step<'a> {
    type Value = Option<Option<&'a str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Step<'a> {
    type Value = Option<Option<&'a str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        if key == self.path {
            return Ok(Some(None));
        }
        Ok(self.path.strip_prefix(key).and_then(|rest| rest.strip_prefix('.')).map(Some))
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
            (r#"{"a.b":{"c":"u"}}"#, "a.b.c", "Text u"),
            (r#"{"url":null}"#, "url", "Null "),
            (r#"{"page":null}"#, "page.url", "Null "),
            (r#"{"page":"x"}"#, "page.url", "Missing "),
            (r#"{"page":"{\"url\":\"u\"}"}"#, "page.url", "Text u"),
            (r#"{"page":"{\"url\":\"u\""}"#, "page.url", "Missing "),
            (r#"{"pag":{"url":"x"}}"#, "page.url", "Missing "),
            (r#"{"url":7}"#, "url", "Other "),
            (r#"{"url":{"a":1}}"#, "url", "Other "),
            (r#"{"url":["u"]}"#, "url", "Other "),
            (r#"{"url":""}"#, "url", "Text "),
            (r#"{"url":"first","url":"second"}"#, "url", "Text first"),
            (r#"{"url":"u""#, "url", "is no JSON (see octet 10)"),
            (r#"{"url":"u"} x"#, "url", "is no JSON (see octet 13)"),
            (r#"["u"]"#, "url", "is no JSON object"),
            ("", "url", "is no JSON object"),
        ] {
            let mut out = Vec::new();
            let seen = match append_value(line.as_bytes(), path, &mut out) {
                Ok(found) => format!("{found:?} {}", String::from_utf8_lossy(&out)),
                Err(fault) => fault.to_string(),
            };
            assert_eq!(seen, expected, "{line}");
        }
    }

    #[test]
    fn deep_nesting_is_a_fault() {
        let deep = format!("{{\"url\":{}", "{\"url\":".repeat(100_000));
        assert!(append_value(deep.as_bytes(), "url", &mut Vec::new()).is_err());
        assert!(append_value(deep.as_bytes(), &"url.".repeat(100_000), &mut Vec::new()).is_err());
    }
}
