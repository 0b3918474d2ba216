//! The object of a line: its keys, and where members can be put in.

use std::fmt;

use arrow::datatypes::Field;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::dataset::DatasetError;

/// Looks at the keys of an object; whether it has none.
///
/// # Errors
/// A key that an added member would clash with.
pub(super) fn check_keys(line: &[u8], added: &[Field]) -> Result<bool, DatasetError> {
    let mut json = serde_json::Deserializer::from_slice(line);
    // Whether it is JSON was looked at before.
    let keys = json.deserialize_map(Keys { added }).unwrap_or(Keys::NONE);
    match keys.clash {
        Some((added, found)) => Err(DatasetError::Clash { added, found }),
        None => Ok(keys.count == 0),
    }
}

/// Behind which octet of an object members can be added.
pub(super) fn end_of_members(line: &[u8]) -> usize {
    let line = line.trim_ascii_end();
    line.strip_suffix(b"}").unwrap_or(line).trim_ascii_end().len()
}

struct Keys<'a> {
    added: &'a [Field],
}

/// What the keys are like.
struct Seen {
    count: usize,
    clash: Option<(String, String)>,
}

impl Keys<'_> {
    const NONE: Seen = Seen { count: 0, clash: None };
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = Seen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Seen, A::Error> {
        let mut seen = Self::NONE;
        while let Some(clash) = map.next_key_seed(Key { added: self.added })? {
            seen.count += 1;
            seen.clash = seen.clash.or(clash);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(seen)
    }
}

struct Key<'a> {
    added: &'a [Field],
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<(String, String)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let clash = self.added.iter().find(|added| added.name().eq_ignore_ascii_case(key));
        Ok(clash.map(|added| (added.name().clone(), key.to_owned())))
    }
}
