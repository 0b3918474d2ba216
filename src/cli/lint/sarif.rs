//! Findings as SARIF 2.1.0 (OASIS): one run, a rule for each code, a result for each finding.

use serde_json::{Value, json};

use crate::lint::{Located, hint};
use crate::robots::finding::{Code, FoundBy, Severity};
use crate::tables::findings::RAW_OCTETS;
use crate::tables::text::{for_people, of_octets_cut};

/// The document whose sections are the codes.
const FINDINGS: &str = include_str!("../../../docs/findings.md");

pub(super) const END: &str = "\n]}]}\n";

/// The codes that a run may find; a rule's place in this list is its index.
fn codes() -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(|code| code.found_by() != FoundBy::Audit)
}

/// All up to the results.
pub(super) fn begin() -> String {
    let rules: Vec<Value> = codes().map(rule).collect();
    let driver = json!({
        "name": "robots-audit",
        "version": env!("CARGO_PKG_VERSION"),
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    format!(
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{{\
         \"tool\":{{\"driver\":{driver}}},\"columnKind\":\"unicodeCodePoints\",\"results\":["
    )
}

fn rule(code: Code) -> Value {
    let mut rule = json!({
        "id": code.as_str(),
        "shortDescription": {"text": code.message()},
        "help": {"text": hint(code), "markdown": section(code)},
        "defaultConfiguration": {"level": level(code.severity())},
    });
    // A URI has to be absolute: there is one only where the package names its repository.
    if let Some(repository) = Some(env!("CARGO_PKG_REPOSITORY")).filter(|repository| !repository.is_empty()) {
        rule["helpUri"] = format!("{repository}/blob/main/docs/findings.md#{code}").into();
    }
    rule
}

/// What the document says about a code.
fn section(code: Code) -> &'static str {
    let heading = format!("\n## {code}\n");
    let after = FINDINGS.split_once(heading.as_str()).map_or("", |(_, after)| after);
    after.split_once("\n## ").map_or(after, |(section, _)| section).trim()
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

pub(super) fn result(name: &str, found: &Located<'_>) -> Value {
    let text = format!("{}. Hint: {}.", found.message(), found.hint());
    let mut region = json!({"startLine": u32::from(found.line), "startColumn": found.character});
    if !found.raw.is_empty() {
        region["snippet"] = json!({"text": of_octets_cut(found.raw, RAW_OCTETS)});
    }
    json!({
        "ruleId": found.code.as_str(),
        "ruleIndex": codes().position(|code| code == found.code),
        "level": level(found.severity()),
        "message": {"text": for_people(&text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(name)}, "region": region}}],
    })
}

/// A path as a URI: relative where it is, else with the scheme `file`.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let mut uri = scheme.to_owned();
    for octet in path.bytes() {
        match octet {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(octet)),
            _ if octet.is_ascii_alphanumeric() => uri.push(char::from(octet)),
            _ => uri += &format!("%{octet:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        for (path, expected) in
            [("a/b c.txt", "a/b%20c.txt"), ("/x/\u{e9}", "file:///x/%C3%A9"), ("a:b#c?d", "a%3Ab%23c%3Fd")]
        {
            assert_eq!(uri(path), expected);
        }
    }

    #[test]
    fn every_rule_has_its_section() {
        for code in codes() {
            assert!(!section(code).is_empty() && !section(code).contains("\n## "), "{code}");
        }
    }
}
