//! Whole User-Agent header fields given where a product token is asked for (RFC 9110 §10.1.5).
//!
//! `Mozilla/5.0 (compatible; GPTBot/1.2; +https://…)` begins with a token that no crawler obeys; the one that is meant
//! stands inside. Only the registry can tell which.

use super::Registry;

/// A header field that was given as a crawler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderAsked {
    /// As given.
    pub given: String,
    /// The token of the registry that stands in it.
    pub token: Option<String>,
}

/// A list of crawlers, with the tokens of header fields in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutHeaders {
    /// What [`Registry::select`] is to be asked. A header field without a known token stays as it is.
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
            let token = self.token_in(header);
            headers.push(HeaderAsked { given: header.to_owned(), token: token.clone() });
            // What is left of a header field must not be taken for two names.
            token.unwrap_or_else(|| header.split(['/', ' ']).next().unwrap_or_default().to_owned())
        };
        let names: Vec<String> = parts(asked).map(&mut name).collect();
        if headers.is_empty() {
            return WithoutHeaders { asked: asked.to_owned(), headers };
        }
        WithoutHeaders { asked: names.join(","), headers }
    }

    /// The token of the registry that stands in a header field by itself: the longest, of equals the first.
    fn token_in(&self, header: &str) -> Option<String> {
        let header = header.to_ascii_lowercase();
        let place = |token: &str| {
            let token = token.to_ascii_lowercase();
            header.match_indices(&token).map(|(start, _)| start).find(|start| {
                let (before, behind) = (&header[..*start], &header[start + token.len()..]);
                stands_alone(before.chars().next_back(), behind.chars().next())
            })
        };
        let found = self.crawlers().iter().filter_map(|crawler| Some((&crawler.token, place(&crawler.token)?)));
        let best = found.max_by_key(|(token, start)| (token.len(), std::cmp::Reverse(*start)));
        best.map(|(token, _)| token.clone())
    }
}

/// Whether what stands around a token is no part of it, and of no URL.
fn stands_alone(before: Option<char>, behind: Option<char>) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_before = before.is_none_or(|c| !is_part(c) && !matches!(c, '.' | '/' | '@' | '+'));
    is_before && behind.is_none_or(|c| !is_part(c) && c != '.')
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
    fn a_url_names_no_crawler() {
        let header = "Mozilla/5.0 (X11; +https://ccbot.example/ccbot) Gecko/20100101";
        assert_eq!(found(header), ("Mozilla".to_owned(), vec![None]));
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
