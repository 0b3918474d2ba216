//! Who a text names that was given as the identity of one crawler: a product token, or by mistake a User-Agent header.

use super::select::{AskedCrawler, SelectionError};
use super::{Crawler, Registry};
use crate::robots::token::{Matching, leading_token};

/// The product token that nearly every browser, and many a crawler, begins its header with: nobody's identity.
const ANYBODY: &str = "Mozilla";

/// Who a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identified {
    /// Nobody: the text is empty, or the wildcard.
    Nobody,
    /// A crawler, by its product token or the name that the registry has for it.
    Crawler(AskedCrawler),
    /// A User-Agent header, where a product token belongs.
    Header {
        /// Whose it is: the product that it begins with; behind `Mozilla` the crawler that the registry knows in it,
        /// if that is one only.
        crawler: Option<AskedCrawler>,
        /// The tokens of the registry that it holds.
        known: Vec<String>,
    },
}

impl Registry {
    /// Who a text names.
    ///
    /// # Errors
    /// Text that no product token begins with: no crawler has such an identity.
    pub fn identify(&self, given: &str) -> Result<Identified, SelectionError> {
        let given = given.trim();
        if given.is_empty() || given == "*" {
            return Ok(Identified::Nobody);
        }
        let leading = String::from_utf8_lossy(leading_token(given.as_bytes(), Matching::Rfc9309)).into_owned();
        if leading.is_empty() {
            return Err(SelectionError::NoToken { name: given.to_owned() });
        }
        let entry = self.get(given).filter(|crawler| crawler.token.eq_ignore_ascii_case(given));
        if entry.is_some() || leading == given {
            return Ok(Identified::Crawler(AskedCrawler { name: given.to_owned(), crawler: entry.cloned() }));
        }
        Ok(self.of_header(given, leading))
    }

    fn of_header(&self, header: &str, leading: String) -> Identified {
        let known = self.known_in(header);
        let crawler = if leading.eq_ignore_ascii_case(ANYBODY) {
            match known[..] {
                [one] => Some(asked(one)),
                _ => None,
            }
        } else {
            let begins = |crawler: &&&Crawler| place(header, &crawler.token) == Some(0);
            let own = known.iter().find(begins).map(|crawler| asked(crawler));
            Some(own.unwrap_or(AskedCrawler { name: leading, crawler: None }))
        };
        Identified::Header { crawler, known: known.into_iter().map(|crawler| crawler.token.clone()).collect() }
    }

    /// The entries whose token stands in the text as words of its own, but not within the token of another.
    fn known_in(&self, text: &str) -> Vec<&Crawler> {
        let found = || self.crawlers().iter().filter(|crawler| place(text, &crawler.token).is_some());
        let is_part = |crawler: &Crawler| {
            let others = found().filter(|other| other.token.len() > crawler.token.len());
            others.into_iter().any(|other| place(&other.token, &crawler.token).is_some())
        };
        found().filter(|crawler| !is_part(crawler)).collect()
    }
}

fn asked(crawler: &Crawler) -> AskedCrawler {
    AskedCrawler { name: crawler.token.clone(), crawler: Some(crawler.clone()) }
}

/// Where a token stands in a text as words of its own, without regard to case.
fn place(text: &str, token: &str) -> Option<usize> {
    let (text, token) = (text.to_ascii_lowercase(), token.to_ascii_lowercase());
    let is_part = |octet: Option<&u8>| {
        octet.is_some_and(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-' | b'.'))
    };
    text.match_indices(&token).map(|(start, _)| start).find(|start| {
        let before = start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
        !is_part(before) && !is_part(text.as_bytes().get(start + token.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(given: &str) -> String {
        match Registry::embedded().identify(given) {
            Ok(Identified::Nobody) => "nobody".to_owned(),
            Ok(Identified::Crawler(crawler)) => crawler.name,
            Ok(Identified::Header { crawler, known }) => {
                let crawler = crawler.map_or_else(|| "?".to_owned(), |crawler| crawler.name);
                format!("{crawler} of [{}]", known.join(", "))
            }
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn tokens_and_headers() {
        for (given, expected) in [
            ("", "nobody"),
            (" * ", "nobody"),
            ("FooBot", "FooBot"),
            ("gptbot", "gptbot"),
            ("Sogou web spider", "Sogou web spider"),
            ("GPTBot/1.2", "GPTBot of [GPTBot]"),
            ("FooBot/1.0 (+https://foo.test/bot)", "FooBot of []"),
            ("FooBot/1.0 (like GPTBot)", "FooBot of [GPTBot]"),
            ("Sogou web spider/4.0(+http://sogou.test/)", "Sogou web spider of [Sogou web spider]"),
            ("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.test/gptbot)", "GPTBot of [GPTBot]"),
            ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "? of []"),
            ("Mozilla/5.0 (compatible; CCBot/2.0; GPTBot/1.2)", "? of [GPTBot, CCBot]"),
            ("Mozilla/5.0 (compatible; NotGPTBot/1.2)", "? of []"),
            ("/x", "! `/x` is no product token"),
            ("@common", "! `@common` is no product token"),
        ] {
            let found = named(given);
            let sorted = |text: &str| {
                let mut words: Vec<String> = text.split(['[', ']', ' ', ',']).map(str::to_owned).collect();
                words.sort();
                words
            };
            assert_eq!(sorted(&found), sorted(expected), "{given}: {found}");
        }
    }

    #[test]
    fn an_entry_comes_with_its_facts() {
        let found = Registry::embedded().identify("gptbot").expect("a token");
        let Identified::Crawler(crawler) = found else { panic!("{found:?}") };
        assert_eq!(crawler.crawler.map(|known| known.token).as_deref(), Some("GPTBot"));
    }
}
