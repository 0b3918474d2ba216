//! Whole User-Agent header fields in a list of crawlers, where product tokens belong (RFC 9110 §10.1.5).
//!
//! `Mozilla/5.0 (compatible; GPTBot/1.2; +https://…)` begins with a token that no crawler obeys; the one that is meant
//! stands inside. Who that is, is left to [`identify`](Registry::identify).

use super::{Identified, Registry};

/// A header field that was given as a crawler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderAsked {
    /// As given.
    pub given: String,
    /// Whose it is, where that is clear.
    pub token: Option<String>,
    /// The tokens of the registry that it holds.
    pub known: Vec<String>,
}

/// A list of crawlers, with tokens in the place of header fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutHeaders {
    /// What [`Registry::select`] is to be asked. Of a header field that is nobody's only the beginning is left.
    pub asked: String,
    /// The header fields.
    pub headers: Vec<HeaderAsked>,
}

impl Registry {
    /// Finds header fields in a comma list of crawlers. A comma within brackets parts nothing.
    #[must_use]
    pub fn without_headers(&self, asked: &str) -> WithoutHeaders {
        let mut headers = Vec::new();
        let mut name = |part: &str| {
            let Some(header) = header(part) else { return part.to_owned() };
            let (token, known) = match self.identify(header) {
                Ok(Identified::Header { crawler, known }) => (crawler.map(|crawler| crawler.name), known),
                _ => (None, Vec::new()),
            };
            headers.push(HeaderAsked { given: header.to_owned(), token: token.clone(), known });
            // What is left of a header field must not be taken for two names.
            token.unwrap_or_else(|| header.split(['/', ' ']).next().unwrap_or_default().to_owned())
        };
        let names: Vec<String> = parts(asked).map(&mut name).collect();
        if headers.is_empty() {
            return WithoutHeaders { asked: asked.to_owned(), headers };
        }
        WithoutHeaders { asked: names.join(","), headers }
    }
}

/// The parts of a comma list; within brackets a comma is one like others.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    list.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// The header field, if it is one: a product with a version, and more behind it. The field's name may stand in front.
fn header(part: &str) -> Option<&str> {
    const NAME: &str = "user-agent:";
    let part = part.trim();
    let value = match part.get(..NAME.len()) {
        Some(name) if name.eq_ignore_ascii_case(NAME) => part[NAME.len()..].trim_start(),
        _ => part,
    };
    let (product, rest) = value.split_once('/')?;
    let is_version = rest.starts_with(|c: char| c.is_ascii_digit());
    let has_more = rest.contains([' ', '(', ';']);
    (!product.is_empty() && !product.contains('(') && is_version && has_more).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(asked: &str) -> (String, Vec<Option<String>>) {
        let without = Registry::embedded().without_headers(asked);
        (without.asked, without.headers.into_iter().map(|header| header.token).collect())
    }

    #[test]
    fn tokens_are_found_in_whole_header_fields() {
        for (header, token) in [
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
                "GPTBot",
            ),
            (
                "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/W.X.Y.Z Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                "Googlebot",
            ),
            ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "Bingbot"),
            ("User-Agent: CCBot/2.0 (https://commoncrawl.org/faq/)", "CCBot"),
            ("Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)", "Sogou web spider"),
        ] {
            assert_eq!(found(header), (token.to_owned(), vec![Some(token.to_owned())]), "{header}");
        }
    }

    #[test]
    fn a_header_field_may_be_nobodys() {
        for (header, asked) in [
            ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "Mozilla"),
            ("Mozilla/5.0 (compatible; CCBot/2.0; GPTBot/1.2)", "Mozilla"),
        ] {
            assert_eq!(found(header), (asked.to_owned(), vec![None]), "{header}");
        }
        assert_eq!(found("FooBot/1.0 (+https://foo.test/)"), ("FooBot".to_owned(), vec![Some("FooBot".to_owned())]));
    }

    #[test]
    fn lists_without_header_fields_stay_as_they_are() {
        for asked in ["GPTBot, *", "@common,gptbot", "Googlebot/2.1", "Kangaroo Bot", "", "a(b,c)d"] {
            assert_eq!(found(asked), (asked.to_owned(), vec![]), "{asked}");
        }
        let mixed = "FooBot,Mozilla/5.0 (KHTML, like Gecko; GPTBot/1.2),@search";
        assert_eq!(found(mixed), ("FooBot,GPTBot,@search".to_owned(), vec![Some("GPTBot".to_owned())]));
    }
}
