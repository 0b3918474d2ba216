//! Findings for people: `file:line:column: severity: message [code]`, the text that it is about, a hint.

use super::Counts;
use crate::lint::Located;
use crate::robots::finding::Severity;
use crate::tables::text::{for_people, of_octets_cut};

/// Octets shown of the text that a finding is about.
const RAW_OCTETS: usize = 100;

pub(super) fn finding(name: &str, found: &Located<'_>, has_colors: bool) -> String {
    let severity = severity(found.severity(), has_colors);
    let (name, message) = (for_people(name), found.message());
    let mut text =
        format!("{name}:{}:{}: {severity}: {} [{}]\n", found.line, found.column, for_people(&message), found.code);
    if !found.raw.is_empty() {
        let cut = if found.raw.len() > RAW_OCTETS { "…" } else { "" };
        text += &format!("  | {}{cut}\n", for_people(&of_octets_cut(found.raw, RAW_OCTETS)));
    }
    text + &format!("  hint: {}\n", for_people(found.hint()))
}

fn severity(severity: Severity, has_colors: bool) -> String {
    let color = match severity {
        Severity::Error => 31,
        Severity::Warning => 33,
        Severity::Info => 36,
    };
    if has_colors { format!("\u{1b}[{color}m{severity}\u{1b}[0m") } else { severity.to_string() }
}

pub(super) fn summary(counts: &Counts) -> String {
    let files = if counts.files == 1 { "1 file".to_owned() } else { format!("{} files", counts.files) };
    let found = counts.found();
    if found.is_empty() {
        return format!("no findings in {files}\n");
    }
    let of = |severity| counts.of_severity(severity);
    let some = |severity, one: &str| {
        let count = of(severity);
        if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
    };
    let (errors, warnings) = (some(Severity::Error, "error"), some(Severity::Warning, "warning"));
    let mut text = format!("\n{files}: {errors}, {warnings}, {} info\n", of(Severity::Info));
    for (code, count) in found {
        text += &format!("{count:>8}  {:<7}  {code}\n", code.severity());
    }
    text
}
