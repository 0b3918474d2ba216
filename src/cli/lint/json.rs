//! Findings as one JSON object: `findings`, then the counts.

use serde_json::{Map, Value, json};

use super::Counts;
use crate::lint::Located;
use crate::robots::finding::Severity;
use crate::tables::findings::RAW_OCTETS;
use crate::tables::text::of_octets_cut;

pub(super) const BEGIN: &str = "{\"findings\":[";

pub(super) fn finding(name: &str, found: &Located<'_>) -> Value {
    json!({
        "file": name,
        "line": u32::from(found.line),
        "column": found.column,
        "severity": found.severity().as_str(),
        "code": found.code.as_str(),
        "message": found.message(),
        "hint": found.hint(),
        "raw": of_octets_cut(found.raw, RAW_OCTETS),
    })
}

pub(super) fn end(counts: &Counts) -> String {
    let codes: Map<String, Value> =
        counts.found().into_iter().map(|(code, count)| (code.to_string(), count.into())).collect();
    let severities: Map<String, Value> =
        Severity::ALL.iter().map(|severity| (severity.to_string(), counts.of_severity(*severity).into())).collect();
    let (codes, severities) = (Value::from(codes), Value::from(severities));
    format!("\n],\n\"files\":{},\n\"severities\":{severities},\n\"codes\":{codes}}}\n", counts.files)
}
