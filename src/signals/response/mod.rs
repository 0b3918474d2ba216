//! What the header fields of the answer to a request for robots.txt say of use: reported, never part of a verdict.
//!
//! Such a field describes the representation that it came with, here the robots.txt, and not the site or its pages
//! (RFC 9110 §8). Many servers send the same fields with everything, and that is all that can be taken from it.
//!
//! | module | holds |
//! |---|---|
//! | [`content_usage`] | `Content-Usage` (AIPREF) |
//! | [`x_robots_tag`] | `X-Robots-Tag` |
//! | [`tdm`] | `tdm-reservation` and `tdm-policy` (`TDMRep`) |
//! | [`license`] | `Link` to a licence of RSL |
//!
//! Of pay-per-crawl, presence alone is noted: `crawler-price` and `crawler-error` of a 402.

pub mod content_usage;
pub mod license;
pub mod tdm;
pub mod x_robots_tag;

use url::Url;

use self::tdm::Reservation;
use super::content_usage::Usage;
use super::license::LICENSE_OCTETS;
use crate::robots::access::names;

/// Fields kept of one answer. Servers send one or two; more of them say nothing new.
pub const FIELDS_KEPT: usize = 16;

/// Octets kept of the values of one answer, in all. The longest honest value is a link of 2 KiB, and an answer of a
/// million takes this much memory and disk at most.
pub const FIELD_OCTETS_KEPT: usize = 8 * 1024;

/// Statements told of one field; its value is there in whole beside them.
pub const STATEMENTS_TOLD: usize = 16;

names! {
    /// The fields that are read.
    pub enum FieldName {
        /// Usage preferences of AIPREF.
        ContentUsage => "content-usage",
        /// Tokens for crawlers.
        XRobotsTag => "x-robots-tag",
        /// Whether rights of text and data mining are reserved.
        TdmReservation => "tdm-reservation",
        /// Where they can be had.
        TdmPolicy => "tdm-policy",
        /// Links; those to a licence of RSL.
        Link => "link",
        /// What a crawler is to pay.
        CrawlerPrice => "crawler-price",
        /// Why a payment was not taken.
        CrawlerError => "crawler-error",
    }
}

impl FieldName {
    /// The field with this name, in whatever case.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str().as_bytes().eq_ignore_ascii_case(name))
    }

    const fn signal(self) -> HeaderSignal {
        match self {
            Self::ContentUsage => HeaderSignal::ContentUsage,
            Self::XRobotsTag => HeaderSignal::XRobotsTag,
            Self::TdmReservation => HeaderSignal::TdmReservation,
            Self::TdmPolicy => HeaderSignal::TdmPolicy,
            Self::Link => HeaderSignal::RslLicense,
            Self::CrawlerPrice | Self::CrawlerError => HeaderSignal::PayPerCrawl,
        }
    }

    const fn mark(self) -> u16 {
        1 << self as u16
    }
}

names! {
    /// The signals that fields carry.
    pub enum HeaderSignal {
        /// Usage preferences of AIPREF.
        ContentUsage => "content_usage",
        /// Tokens for crawlers.
        XRobotsTag => "x_robots_tag",
        /// Whether rights of text and data mining are reserved.
        TdmReservation => "tdm_reservation",
        /// Where they can be had.
        TdmPolicy => "tdm_policy",
        /// A licence of RSL.
        RslLicense => "rsl_license",
        /// A price for crawlers.
        PayPerCrawl => "pay_per_crawl",
    }
}

names! {
    /// What is said, where a word can tell it.
    pub enum Reading {
        /// The use is fine (`y`).
        Allow => "allow",
        /// It is not (`n`).
        Disallow => "disallow",
        /// Something is said of the use, and nobody can tell what.
        Unknown => "unknown",
        /// Rights of text and data mining are reserved (`1`).
        Reserved => "reserved",
        /// They are not (`0`).
        NotReserved => "not_reserved",
    }
}

impl From<Usage> for Reading {
    fn from(usage: Usage) -> Self {
        match usage {
            Usage::Allow => Self::Allow,
            Usage::Disallow => Self::Disallow,
            Usage::Unknown => Self::Unknown,
        }
    }
}

impl From<Reservation> for Reading {
    fn from(reservation: Reservation) -> Self {
        match reservation {
            Reservation::Reserved => Self::Reserved,
            Reservation::NotReserved => Self::NotReserved,
        }
    }
}

/// One field as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalField {
    /// Its name.
    pub name: FieldName,
    /// Its value, of `Content-Usage` all lines of it, of `Link` one link; `None` where it was too long to be kept, since
    /// a part of it could say the opposite.
    pub value: Option<Box<[u8]>>,
}

/// One thing that a field says. A field that says nothing that can be read has one of these all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The signal.
    pub signal: HeaderSignal,
    /// To whom, as spelt; `None`: to everybody.
    pub agent: Option<&'a [u8]>,
    /// What it is about: a label of `Content-Usage`, a token of `X-Robots-Tag`.
    pub term: Option<&'static str>,
    /// What is said.
    pub reading: Option<Reading>,
    /// Where more is said: resolved, or as given where it cannot be; `None` too where what is given does not count.
    pub url: Option<String>,
}

impl Statement<'_> {
    const fn silent(signal: HeaderSignal) -> Self {
        Self { signal, agent: None, term: None, reading: None, url: None }
    }
}

/// The fields of one answer that are read here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponseFields {
    list: Box<[SignalField]>,
    /// Names that the answer has, also where nothing of them is kept: they are what a 304 replaces.
    sent: u16,
}

impl ResponseFields {
    /// Picks the fields out of all those of an answer with this status, given as name and value in their order.
    #[must_use]
    pub fn of<'a>(status: u16, fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let mut picked = Picked::default();
        let mut sent = 0;
        for (name, value) in fields {
            let Some(name) = FieldName::of(name) else { continue };
            sent |= name.mark();
            match name {
                FieldName::ContentUsage => picked.join(name, value),
                FieldName::XRobotsTag if !x_robots_tag::has_token(value) => {}
                FieldName::XRobotsTag | FieldName::TdmReservation | FieldName::TdmPolicy => picked.add(name, value),
                FieldName::Link => license::links(value).for_each(|link| picked.add(name, link.octets)),
                // Elsewhere these are receipts, or refusals for another reason.
                FieldName::CrawlerPrice | FieldName::CrawlerError if status == 402 => picked.add(name, value),
                FieldName::CrawlerPrice | FieldName::CrawlerError => {}
            }
        }
        let kept = |(name, value): (FieldName, Vec<u8>)| SignalField { name, value: Some(value.into()) };
        Self { sent, ..picked.0.into_iter().map(kept).collect() }
    }

    /// The fields in their order.
    #[must_use]
    pub const fn fields(&self) -> &[SignalField] {
        &self.list
    }

    /// What stays of these, stored with an answer, when a 304 brings newer ones: those whose names it does not have
    /// (RFC 9111 §3.2).
    #[must_use]
    pub fn renewed_by(&self, newer: &Self) -> Self {
        let stays = |field: &&SignalField| newer.sent & field.name.mark() == 0;
        let list = self.list.iter().filter(stays).chain(&newer.list);
        Self { sent: self.sent | newer.sent, ..list.cloned().collect() }
    }

    /// What the fields say, each with the place of its field. Relative URLs are resolved against `base`, the URL that
    /// the answer came from.
    pub fn statements<'a>(&'a self, base: Option<&str>) -> impl Iterator<Item = (usize, Statement<'a>)> {
        let base = base.and_then(|base| Url::parse(base).ok());
        let is_reserved = tdm::is_reserved(self.values(FieldName::TdmReservation));
        self.list.iter().enumerate().flat_map(move |(place, field)| {
            let mut said = field
                .value
                .as_deref()
                .map_or_else(Vec::new, |value| said(field.name, value, is_reserved, base.as_ref()));
            if said.is_empty() {
                said.push(Statement::silent(field.name.signal()));
            }
            said.into_iter().map(move |statement| (place, statement))
        })
    }

    fn values(&self, name: FieldName) -> impl Iterator<Item = &[u8]> {
        self.list.iter().filter(move |field| field.name == name).filter_map(|field| field.value.as_deref())
    }
}

/// Within the limits: what is too long loses its value, and behind the last place there is nothing.
impl FromIterator<SignalField> for ResponseFields {
    fn from_iter<T: IntoIterator<Item = SignalField>>(fields: T) -> Self {
        let mut octets_left = FIELD_OCTETS_KEPT;
        let fit = |mut field: SignalField| {
            let octets = field.value.as_ref().map_or(0, |value| value.len());
            match octets_left.checked_sub(octets) {
                Some(left) => octets_left = left,
                None => field.value = None,
            }
            field
        };
        let list: Box<[SignalField]> = fields.into_iter().take(FIELDS_KEPT).map(fit).collect();
        let sent = list.iter().fold(0, |sent, field| sent | field.name.mark());
        Self { list, sent }
    }
}

/// What is picked out of an answer.
#[derive(Default)]
struct Picked(Vec<(FieldName, Vec<u8>)>);

impl Picked {
    fn add(&mut self, name: FieldName, value: &[u8]) {
        if self.0.len() < FIELDS_KEPT {
            self.0.push((name, value.to_vec()));
        }
    }

    /// Adds a line to those of the same name (RFC 9110 §5.3).
    fn join(&mut self, name: FieldName, value: &[u8]) {
        match self.0.iter_mut().find(|(own, _)| *own == name) {
            Some((_, lines)) => {
                lines.extend_from_slice(b", ");
                lines.extend_from_slice(value);
            }
            None => self.add(name, value),
        }
    }
}

/// What one field says.
fn said<'a>(name: FieldName, value: &'a [u8], is_reserved: bool, base: Option<&Url>) -> Vec<Statement<'a>> {
    let silent = Statement::silent(name.signal());
    match name {
        FieldName::ContentUsage => content_usage::usages(value)
            .into_iter()
            .map(|(label, usage)| Statement {
                term: Some(label.as_str()),
                reading: Some(usage.into()),
                ..silent.clone()
            })
            .collect(),
        FieldName::XRobotsTag => x_robots_tag::tags(value)
            .into_iter()
            .map(|(agent, tag)| Statement { agent, term: Some(tag.as_str()), ..silent.clone() })
            .collect(),
        FieldName::TdmReservation => {
            vec![Statement { reading: Reservation::of(value).map(Reading::from), ..silent }]
        }
        // Where nothing is reserved, there is nothing to be had.
        FieldName::TdmPolicy if is_reserved => vec![Statement { url: Some(resolved(value, base)), ..silent }],
        FieldName::Link => license::links(value)
            .map(|link| Statement { url: Some(resolved(link.target, base)), ..silent.clone() })
            .collect(),
        FieldName::TdmPolicy | FieldName::CrawlerPrice | FieldName::CrawlerError => Vec::new(),
    }
}

/// A reference as a URL; as given where that cannot be had.
fn resolved(reference: &[u8], base: Option<&Url>) -> String {
    let given = String::from_utf8_lossy(reference);
    let url = std::str::from_utf8(reference).ok().filter(|reference| reference.len() <= LICENSE_OCTETS);
    let url = url.and_then(|reference| base.map_or_else(|| Url::parse(reference), |base| base.join(reference)).ok());
    url.map_or_else(|| given.into_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, fields: &[(&str, &str)]) -> ResponseFields {
        ResponseFields::of(status, fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
    }

    /// Each statement in short: place, signal, agent, term, reading, URL.
    fn told(fields: &ResponseFields) -> Vec<String> {
        let short = |(place, said): (usize, Statement<'_>)| {
            let agent = said.agent.map(|agent| String::from_utf8_lossy(agent).into_owned());
            let words = [agent, said.term.map(str::to_owned), said.reading.map(|word| word.to_string()), said.url];
            let words: Vec<String> = words.into_iter().flatten().collect();
            format!("{place} {} {}", said.signal, words.join(" ")).trim_end().to_owned()
        };
        fields.statements(Some("https://a.test/robots.txt")).map(short).collect()
    }

    #[test]
    fn each_signal_is_read_and_nothing_else_is_kept() {
        let fields = of(
            200,
            &[
                ("Server", "noai"),
                ("CONTENT-USAGE", "train-ai=n"),
                ("X-Robots-Tag", "noindex, nofollow"),
                ("x-robots-tag", "examplebot: noindex, NoAI"),
                ("X-Robots-Tag", "noarchive"),
                ("Content-Usage", "search=y, train-ai=y"),
                ("TDM-Reservation", " 1 "),
                ("tdm-policy", "/tdm.json"),
                ("Link", "</style.css>; rel=preload, </l.xml>; rel=license; type=\"application/rsl+xml\""),
                ("crawler-price", "USD 0.01"),
            ],
        );
        assert_eq!(
            told(&fields),
            [
                "0 content_usage train-ai allow",
                "0 content_usage search allow",
                "1 x_robots_tag examplebot noai",
                "2 x_robots_tag noarchive",
                "3 tdm_reservation reserved",
                "4 tdm_policy https://a.test/tdm.json",
                "5 rsl_license https://a.test/l.xml",
            ]
        );
        assert_eq!(fields.fields()[0].value.as_deref(), Some(&b"train-ai=n, search=y, train-ai=y"[..]));
    }

    #[test]
    fn prices_count_with_a_402_alone() {
        let price = [("crawler-price", "USD 0.01"), ("Crawler-Error", "MissingCrawlerPrice")];
        assert_eq!(told(&of(402, &price)), ["0 pay_per_crawl", "1 pay_per_crawl"]);
        assert!(of(403, &price).fields().is_empty());
    }

    #[test]
    fn what_says_nothing_is_kept_and_says_nothing() {
        let fields = of(200, &[("Content-Usage", "train-ai=n,"), ("tdm-reservation", "yes"), ("tdm-policy", "/p")]);
        assert_eq!(told(&fields), ["0 content_usage", "1 tdm_reservation", "2 tdm_policy"]);
        let both = of(200, &[("tdm-reservation", "1"), ("tdm-reservation", "0"), ("tdm-policy", "/p")]);
        assert_eq!(told(&both)[2], "2 tdm_policy", "one of them says that nothing is reserved");
    }

    #[test]
    fn nothing_grows_with_what_is_sent() {
        let many: Vec<(&str, &str)> = (0..1_000).map(|_| ("X-Robots-Tag", "noai")).collect();
        assert_eq!(of(200, &many).fields().len(), FIELDS_KEPT);
        let long = format!("train-ai=n;x=\"{}\"", "y".repeat(FIELD_OCTETS_KEPT));
        let fields = of(200, &[("Content-Usage", &long), ("X-Robots-Tag", "noai")]);
        assert_eq!(fields.fields()[0].value, None, "a part of it could say the opposite");
        assert_eq!(told(&fields), ["0 content_usage", "1 x_robots_tag noai"]);
        let agents: Vec<String> = (0..500).map(|agent| format!("a{agent}:noai")).collect();
        assert_eq!(told(&of(200, &[("X-Robots-Tag", &agents.join(","))])).len(), STATEMENTS_TOLD);
    }

    #[test]
    fn hostile_octets_are_kept_and_not_read() {
        let values: [&[u8]; 3] = [b"train-ai=n, \xFF=y", b"train-ai=\"\x1B[2J\"", b"\0"];
        for value in values {
            let fields = ResponseFields::of(200, [(&b"content-usage"[..], value)]);
            assert_eq!(fields.fields()[0].value.as_deref(), Some(value));
            assert_eq!(told(&fields), ["0 content_usage"], "{value:?}");
        }
        let broken = ResponseFields::of(200, [(&b"tdm-reservation"[..], &b"1"[..]), (b"tdm-policy", b"/\xFF")]);
        assert_eq!(told(&broken)[1], "1 tdm_policy /\u{FFFD}");
    }

    #[test]
    fn a_304_replaces_the_names_that_it_has() {
        let stored = of(200, &[("X-Robots-Tag", "noai"), ("tdm-reservation", "1"), ("tdm-policy", "/p")]);
        assert_eq!(stored.renewed_by(&of(304, &[("ETag", "x")])), stored);
        let newer = of(304, &[("X-Robots-Tag", "noindex"), ("TDM-Reservation", "0")]);
        assert_eq!(told(&stored.renewed_by(&newer)), ["0 tdm_policy", "1 tdm_reservation not_reserved"]);
    }
}
