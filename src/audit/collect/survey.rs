//! The lists read once before any work.
//!
//! Whatever is wrong with them is known before the first request; what they hold tells whether an unfinished run was
//! about the same ones, and whether they stay the same until they are read again.

use crate::origin::{Scheme, Target};
use crate::source::input::{Contents, InputError, OriginInputs, OriginItem, OriginLine, SeenOrigins, UrlInputs};

/// What the lists hold.
#[derive(Debug)]
pub struct Survey {
    /// Rows that they give within the limit: distinct origins, and lines that name none. Origins that only URLs name
    /// come on top.
    pub rows: u64,
    /// Origins that one line names bare and another with its scheme: that one means no other scheme, whichever comes
    /// first (fetch policy §7).
    pub exact: SeenOrigins,
    /// The lines.
    pub lists: Contents,
    /// The URLs, where there are any.
    pub urls: Option<Contents>,
}

/// Reads the lists to their ends. So many origins are attempted at most.
///
/// # Errors
/// One of them cannot be read.
pub fn survey(mut lists: OriginInputs, urls: Option<UrlInputs>, limit: Option<u64>) -> Result<Survey, InputError> {
    let mut found = Found::default();
    let limit = limit.unwrap_or(u64::MAX);
    for item in lists.by_ref() {
        if let OriginItem::Line(line) = item? {
            found.add(&line, limit);
        }
    }
    let urls = urls.map(read_urls).transpose()?;
    Ok(Survey { rows: found.origins.min(limit) + found.invalid, exact: found.exact, lists: lists.contents(), urls })
}

/// What was found so far, 16 octets for each form of an origin.
#[derive(Default)]
struct Found {
    /// Origins, those named bare without their scheme.
    forms: SeenOrigins,
    /// Whether there are names without scheme, and with https.
    has_bare: bool,
    has_https: bool,
    exact: SeenOrigins,
    /// Distinct ones.
    origins: u64,
    /// Lines that name none, as long as lines are attempted.
    invalid: u64,
}

impl Found {
    fn add(&mut self, line: &OriginLine, limit: u64) {
        match &line.target {
            Ok(target) => self.add_target(target),
            Err(_) => self.invalid += u64::from(self.origins < limit),
        }
    }

    fn add_target(&mut self, Target { origin, is_bare }: &Target) {
        let is_https = origin.scheme() == Scheme::Https;
        let (form, other, has_other) = if *is_bare {
            self.has_bare = true;
            (origin.authority(), origin.as_str(), self.has_https)
        } else {
            self.has_https |= is_https;
            (origin.as_str(), origin.authority(), self.has_bare && is_https)
        };
        if !self.forms.insert_text(form) {
            return;
        }
        if has_other && self.forms.contains_text(other) {
            self.exact.insert(origin);
        } else {
            self.origins += 1;
        }
    }
}

fn read_urls(mut urls: UrlInputs) -> Result<Contents, InputError> {
    urls.by_ref().try_for_each(|batch| batch.map(drop))?;
    Ok(urls.contents())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;

    fn found(lines: &[&str], limit: Option<u64>) -> Survey {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        survey(OriginInputs::open(&lines, None).expect("literals"), None, limit).expect("readable")
    }

    #[test]
    fn rows_are_counted_as_they_will_be() {
        let lines = ["a.test", "A.test", "no one", "https://a.test", "http://a.test", "b.test", "no one", "a.test"];
        for (limit, rows) in [(None, 5), (Some(9), 5), (Some(3), 4), (Some(2), 3), (Some(1), 1), (Some(0), 0)] {
            assert_eq!(found(&lines, limit).rows, rows, "{limit:?}");
        }
    }

    #[test]
    fn a_scheme_counts_wherever_it_stands() {
        for lines in [["a.test", "https://a.test"], ["https://a.test/x", "a.test"]] {
            let exact = found(&lines, None).exact;
            assert!(exact.len() == 1 && exact.contains(&Origin::of_url(b"a.test").expect("an origin")), "{lines:?}");
        }
        for lines in [["a.test", "http://a.test"], ["http://a.test", "a.test"], ["a.test", "a.test"]] {
            assert!(found(&lines, None).exact.is_empty(), "{lines:?}");
        }
    }
}
