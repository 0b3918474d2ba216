//! Older extensions: Crawl-delay, Request-rate, Visit-time, Host, Clean-param, Noindex and Sitemap.
//!
//! All are reported, none is applied. What each holds follows its best-known reader.

use super::fact::FactKind;
use super::license::is_absolute;
use crate::robots::parse;

/// How many documents in how many seconds, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    /// Documents.
    pub documents: u32,
    /// Seconds that they are spread over.
    pub seconds: u32,
    /// When the rate holds; `None`: always.
    pub window: Option<Window>,
}

/// A time of day, in minutes after midnight UTC; one that ends before it begins goes over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first minute.
    pub from_minute: u16,
    /// Its last.
    pub to_minute: u16,
}

impl RequestRate {
    /// Reads `1/10`, `1/5m` or `1/10 0600-0845`.
    #[must_use]
    pub fn of(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        let (rate, window) = match text.split_once([' ', '\t']) {
            Some((rate, window)) => (rate, Some(Window::of(window.trim_ascii().as_bytes())?)),
            None => (text, None),
        };
        let (documents, period) = rate.split_once('/')?;
        let (number, unit_s) = match period.as_bytes().last()? {
            b's' | b'S' => (&period[..period.len() - 1], 1),
            b'm' | b'M' => (&period[..period.len() - 1], 60),
            b'h' | b'H' => (&period[..period.len() - 1], 3_600),
            _ => (period, 1),
        };
        let seconds = whole(number)?.checked_mul(unit_s)?;
        Some(Self { documents: whole(documents)?, seconds, window })
    }
}

impl Window {
    /// Reads `0100-0500`.
    #[must_use]
    pub fn of(value: &[u8]) -> Option<Self> {
        let (from, to) = std::str::from_utf8(value).ok()?.split_once('-')?;
        Some(Self { from_minute: minute(from.trim_ascii())?, to_minute: minute(to.trim_ascii())? })
    }
}

fn minute(clock: &str) -> Option<u16> {
    let digits = whole(clock).filter(|_| clock.len() == 4)?;
    let (hour, minute) = (digits / 100, digits % 100);
    let is_time = minute < 60 && (hour < 24 || digits == 2_400);
    is_time.then(|| u16::try_from(hour * 60 + minute).expect("at most 1440"))
}

/// A whole number without a sign.
fn whole(text: &str) -> Option<u32> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A value in words; `None` where nobody can read it.
pub(super) fn meaning(kind: FactKind, value: &[u8]) -> Option<String> {
    let shown = || String::from_utf8_lossy(value);
    match kind {
        FactKind::CrawlDelay => parse::seconds(value).map(|seconds| format!("{seconds} s between requests")),
        FactKind::RequestRate => {
            let rate = RequestRate::of(value)?;
            let when = rate.window.map_or(String::new(), |window| format!(", {}", clock(window)));
            Some(format!("{} documents in {} s{when}", rate.documents, rate.seconds))
        }
        FactKind::VisitTime => Window::of(value).map(clock),
        FactKind::Host => is_host(value).then(|| format!("{} is the preferred host", shown())),
        FactKind::CleanParam => clean_param(value),
        FactKind::Noindex => matches!(value, [b'/' | b'*', ..]).then(|| format!("{} is not to be indexed", shown())),
        FactKind::Sitemap => is_absolute(value).then(|| "a sitemap".to_owned()),
        _ => None,
    }
}

fn clock(window: Window) -> String {
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    format!("{} to {} UTC", time(window.from_minute), time(window.to_minute))
}

fn is_host(value: &[u8]) -> bool {
    !value.is_empty() && !value.iter().any(|octet| octet.is_ascii_whitespace() || *octet == b',')
}

/// Parameters joined by `&`, and perhaps a path.
fn clean_param(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value);
    let mut words = text.split_ascii_whitespace();
    let (parameters, path, rest) = (words.next()?, words.next(), words.next());
    let is_path = path.is_none_or(|path| path.starts_with(['/', '*']));
    let scope = path.map_or(String::new(), |path| format!(" on {path}"));
    (is_path && rest.is_none()).then(|| format!("{} changes nothing{scope}", parameters.replace('&', ", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_their_readers_do() {
        use FactKind as K;
        for (kind, value, expected) in [
            (K::CrawlDelay, "2.5", Some("2.5 s between requests")),
            (K::CrawlDelay, "10s", Some("10 s between requests")),
            (K::CrawlDelay, "fast", None),
            (K::RequestRate, "1/10", Some("1 documents in 10 s")),
            (K::RequestRate, "3/5m 0600-0845", Some("3 documents in 300 s, 06:00 to 08:45 UTC")),
            (K::RequestRate, "1/10 soon", None),
            (K::RequestRate, "1", None),
            (K::RequestRate, "1/", None),
            (K::RequestRate, "/5", None),
            (K::RequestRate, "-1/5", None),
            (K::RequestRate, "1/9999999999", None),
            (K::RequestRate, "1/4294967295h", None),
            (K::RequestRate, "1/5\u{e9}", None),
            (K::VisitTime, "0100-0500", Some("01:00 to 05:00 UTC")),
            (K::VisitTime, "2200 - 2400", Some("22:00 to 24:00 UTC")),
            (K::VisitTime, "0160-0500", None),
            (K::VisitTime, "100-500", None),
            (K::Host, "www.shop.example", Some("www.shop.example is the preferred host")),
            (K::Host, "a b", None),
            (K::CleanParam, "ref&sid /list/", Some("ref, sid changes nothing on /list/")),
            (K::CleanParam, "ref", Some("ref changes nothing")),
            (K::CleanParam, "ref list", None),
            (K::CleanParam, "", None),
            (K::Noindex, "/old/", Some("/old/ is not to be indexed")),
            (K::Noindex, "old", None),
            (K::Sitemap, "https://shop.example/sm.xml", Some("a sitemap")),
            (K::Sitemap, "/sm.xml", None),
        ] {
            assert_eq!(meaning(kind, value.as_bytes()).as_deref(), expected, "{kind} {value:?}");
        }
    }
}
