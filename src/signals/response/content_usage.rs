//! `Content-Usage` as a header field: the dictionary of the rule of the same name, without a path.
//!
//! Source: draft-ietf-aipref-attach-05. Lines of the field are one dictionary (RFC 9651 §4.2), of which the last value
//! of a label counts; a line that is none takes the others with it.

use crate::signals::content_usage::{Label, Preferences, Usage};

/// What is said of each label; nothing where the octets are no dictionary.
#[must_use]
pub fn usages(value: &[u8]) -> Vec<(Label, Usage)> {
    let Some(preferences) = Preferences::of(value) else { return Vec::new() };
    preferences.labels().map(|label| (label, preferences.get(label))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_what_is_said_of_them() {
        for (value, expected) in [
            ("train-ai=n, search=y", "train-ai disallow, search allow"),
            ("search=y, train-ai=N", "train-ai unknown, search allow"),
            ("train-ai=y, train-ai=n;until=\"2027\"", "train-ai disallow"),
            ("frobnicate=n", ""),
            ("train-ai=n,", ""),
            ("/samples/ train-ai=n", ""),
            ("", ""),
        ] {
            let said: Vec<String> =
                usages(value.as_bytes()).into_iter().map(|(label, usage)| format!("{label} {usage}")).collect();
            assert_eq!(said.join(", "), expected, "{value:?}");
        }
    }
}
