//! Findings as test results in the XML of `JUnit`: a suite for each file, a test case for each finding; a file without
//! findings is one case that passed.

use crate::lint::Located;
use crate::tables::text::{for_people, of_octets_cut};

/// Octets shown of the text that a finding is about.
const RAW_OCTETS: usize = 256;

pub(super) const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"robots-audit lint\">\n";

pub(super) const END: &str = "</testsuites>\n";

pub(super) fn suite(name: &str, found: &[Located<'_>], is_failure: impl Fn(&Located<'_>) -> bool) -> String {
    let failures = found.iter().filter(|one| is_failure(one)).count();
    let (tests, name) = (found.len().max(1), escaped(name));
    let mut text = format!(
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"0\">\n"
    );
    if found.is_empty() {
        text += &format!("    <testcase classname=\"{name}\" name=\"no findings\" time=\"0\"/>\n");
    }
    for one in found {
        text += &format!("    <testcase classname=\"{name}\" name=\"{}, line {}\" time=\"0\">\n", one.code, one.line);
        let message = escaped(&one.message());
        let place = format!("{name}:{}:{}", one.line, one.column);
        let raw = escaped(&of_octets_cut(one.raw, RAW_OCTETS));
        let told = format!("{place}: {raw}\nhint: {}", escaped(one.hint()));
        let severity = one.severity();
        text += &if is_failure(one) {
            format!("      <failure type=\"{severity}\" message=\"{message}\">{told}</failure>\n")
        } else {
            format!("      <system-out>{severity}: {message}\n{told}</system-out>\n")
        };
        text += "    </testcase>\n";
    }
    text + "  </testsuite>\n"
}

/// Text for XML 1.0: what that does not know at all becomes `\u{…}`, as for people; marks of its own become references.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in for_people(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            '\u{fffe}' | '\u{ffff}' => escaped.extend(c.escape_unicode()),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_the_document() {
        assert_eq!(
            escaped("a<b>&\"'\u{1b}\0\u{ffff}\u{e9}"),
            "a&lt;b&gt;&amp;&quot;&apos;\\u{1b}\\u{0}\\u{ffff}\u{e9}"
        );
    }
}
