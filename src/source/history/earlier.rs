//! What an earlier run knows of one origin, and what follows from it: pure decisions without clock or network
//! (§2.3.1.4, §2.4, RFC 9111 §4; fetch policy §3).

use std::time::Duration;

use super::freshness::lifetime;
use super::texts::{Text, Texts};
use crate::origin::{Scheme, Target};
use crate::robots::access::{FetchClass, Flag, Flags};
use crate::signals::response::ResponseFields;
use crate::tables::fetches::{BodyHash, Headers, Observation, Redirect, Timestamp};
use crate::tables::text::octets_as_sent;

/// Flags that speak of the body, and stay with its copy.
const BODY_FLAGS: [Flag; 4] = [Flag::Empty, Flag::Truncated, Flag::CodingMislabelled, Flag::NonUtf8];

/// What an earlier run knows of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Earlier {
    /// A clear answer, which may be used again.
    Answer(Box<StoredAnswer>),
    /// No answer; perhaps a good one from before.
    Outage(Box<StoredOutage>),
}

/// A clear answer, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    pub(super) fetch_time: Timestamp,
    pub(super) class: FetchClass,
    pub(super) flags: Flags,
    pub(super) status: Option<u16>,
    pub(super) hops: Option<u16>,
    pub(super) scheme_used: Option<Scheme>,
    pub(super) first_attempt_class: Option<FetchClass>,
    pub(super) http_version: Option<&'static str>,
    pub(super) body: Option<Body>,
    pub(super) redirects: Box<[Redirect]>,
    pub(super) texts: Texts,
    /// What its header fields say of use. An answer from before an outage has none: they are not in the outage's row.
    pub(super) signals: ResponseFields,
}

/// An origin without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutage {
    /// Since when; `None` where only a fault of this program stands between now and the last answer.
    pub(super) since: Option<Timestamp>,
    /// The last good answer, where one is known.
    pub(super) copy: Option<LastCopy>,
}

/// The last good answer of an origin in an outage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastCopy {
    pub(super) body: Body,
    pub(super) flags: Flags,
    pub(super) etag: Option<Box<str>>,
    pub(super) last_modified: Option<Box<str>>,
}

/// A body by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) sha256: BodyHash,
    pub(super) octets: Option<i64>,
}

/// What to do about an origin now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// The stored answer is used without a request: this is its row.
    Fresh(Box<Observation>),
    /// The origin is asked whether its answer has changed.
    Revalidate(Validators),
    /// The origin is asked.
    Ask,
}

/// What a conditional request is made of (RFC 9110 §13.1). At least one field is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validators {
    /// The URL that the validators belong to: requests for other URLs, before a redirect, are not conditional.
    pub url: String,
    /// For `If-None-Match`: a well-formed entity tag.
    pub etag: Option<String>,
    /// For `If-Modified-Since`: a date as the server wrote it.
    pub last_modified: Option<String>,
}

impl Validators {
    /// The validators, as far as they can be sent back.
    fn of(url: String, etag: Option<&str>, last_modified: Option<&str>) -> Option<Self> {
        let etag = etag.filter(|etag| is_entity_tag(etag)).map(str::to_owned);
        let last_modified = last_modified.filter(|date| is_http_date(date)).map(str::to_owned);
        (etag.is_some() || last_modified.is_some()).then_some(Self { url, etag, last_modified })
    }
}

/// RFC 9110 §8.8.3, ASCII only: octets beyond it, which are kept as `\xNN`, or a tag that was cut, do not come back as
/// they were.
fn is_entity_tag(text: &str) -> bool {
    let opaque = text.strip_prefix("W/").unwrap_or(text);
    let inner = opaque.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.is_some_and(|inner| {
        octets_as_sent(inner)
            .is_some_and(|octets| octets.iter().all(|octet| octet.is_ascii_graphic() && *octet != b'"'))
    })
}

fn is_http_date(text: &str) -> bool {
    let is_visible = text.bytes().all(|octet| octet.is_ascii_graphic() || octet == b' ');
    is_visible && jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).is_ok()
}

impl Earlier {
    /// The same with what the header fields of an answer say of use.
    #[must_use]
    pub(super) fn with_signals(mut self, signals: &ResponseFields) -> Self {
        if let Self::Answer(answer) = &mut self {
            answer.signals = signals.clone();
        }
        self
    }

    /// What to do about the target now.
    #[must_use]
    pub fn plan(&self, target: &Target, now: Timestamp) -> Plan {
        match self {
            Self::Answer(answer) if !answer.is_for(target) => Plan::Ask,
            Self::Answer(answer) if answer.is_fresh(now) => Plan::Fresh(Box::new(answer.used_again(target))),
            Self::Answer(answer) => answer.validators(target).map_or(Plan::Ask, Plan::Revalidate),
            Self::Outage(outage) => outage.validators(target).map_or(Plan::Ask, Plan::Revalidate),
        }
    }

    /// The observation that has just been made, with what stays of this one.
    ///
    /// One with flag `revalidated` gets the body of the stored answer. In an outage the row says since when it
    /// lasts, and which good answer came before.
    #[must_use]
    pub fn after(&self, target: &Target, mut seen: Observation) -> Observation {
        if seen.flags.contains(Flag::Revalidated) {
            self.renew(&mut seen);
        } else if seen.class.keeps_earlier_copy() {
            seen.unreachable_since = since(self.since(), &seen);
            if let Some(copy) = self.copy(target) {
                copy.stay_with(&mut seen);
            }
        }
        seen
    }

    const fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Answer(_) => None,
            Self::Outage(outage) => outage.since,
        }
    }

    fn copy(&self, target: &Target) -> Option<LastCopy> {
        match self {
            Self::Answer(answer) if answer.is_for(target) => answer.copy(target),
            Self::Answer(_) => None,
            Self::Outage(outage) => outage.copy.clone(),
        }
    }

    /// What a 304 confirms: the body, and the header fields that the 304 does not replace (RFC 9111 §3.2).
    fn renew(&self, seen: &mut Observation) {
        let headers = &mut seen.headers;
        let (body, flags) = match self {
            Self::Answer(answer) => {
                *headers = answer.headers_under(headers);
                (answer.body.as_ref(), answer.flags)
            }
            Self::Outage(outage) => {
                let copy = outage.copy.as_ref();
                let stored = |text: Option<&Option<Box<str>>>| text.and_then(Option::as_deref).map(str::to_owned);
                headers.etag = headers.etag.take().or_else(|| stored(copy.map(|copy| &copy.etag)));
                let modified = || stored(copy.map(|copy| &copy.last_modified));
                headers.last_modified = headers.last_modified.take().or_else(modified);
                (copy.map(|copy| &copy.body), copy.map(|copy| copy.flags).unwrap_or_default())
            }
        };
        note_body(seen, body, flags);
    }
}

/// Since when an origin gives no answer, seen now; `None` where it is not the origin's fault alone.
///
/// Where nothing is known from before, an outage begins with this observation.
#[must_use]
pub fn since(earlier: Option<Timestamp>, seen: &Observation) -> Option<Timestamp> {
    earlier.or_else(|| seen.fetch_time.filter(|_| seen.class.is_outage()))
}

fn note_body(seen: &mut Observation, body: Option<&Body>, flags: Flags) {
    seen.body_sha256 = body.map(|body| body.sha256);
    seen.body_octets = body.and_then(|body| body.octets);
    for flag in BODY_FLAGS.into_iter().filter(|flag| flags.contains(*flag)) {
        seen.flags.insert(flag);
    }
}

impl StoredAnswer {
    /// Whether the answer is one to the same question: http was asked only because the input was a bare name.
    fn is_for(&self, target: &Target) -> bool {
        target.is_bare || self.scheme_used.is_none_or(|scheme| scheme == target.origin.scheme())
    }

    /// A clock that was set back makes an answer stale, never fresh.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let age = now.checked_sub(self.fetch_time).and_then(|micros| u64::try_from(micros).ok());
        let lifetime = lifetime(self.texts.get(Text::CacheControl));
        age.is_some_and(|micros| Duration::from_micros(micros) < lifetime)
    }

    fn url(&self, target: &Target) -> String {
        self.texts.owned(Text::FinalUrl).unwrap_or_else(|| target.origin.robots_url())
    }

    /// Only a body can be confirmed: to what is no 2xx a server must not answer 304 (RFC 9110 §13.2.1).
    fn validators(&self, target: &Target) -> Option<Validators> {
        self.body.as_ref()?;
        Validators::of(self.url(target), self.texts.get(Text::Etag), self.texts.get(Text::LastModified))
    }

    fn headers_under(&self, newer: &mut Headers) -> Headers {
        Headers {
            content_type: newer.content_type.take().or_else(|| self.texts.owned(Text::ContentType)),
            content_encoding: newer.content_encoding.take().or_else(|| self.texts.owned(Text::ContentEncoding)),
            etag: newer.etag.take().or_else(|| self.texts.owned(Text::Etag)),
            last_modified: newer.last_modified.take().or_else(|| self.texts.owned(Text::LastModified)),
            cache_control: newer.cache_control.take().or_else(|| self.texts.owned(Text::CacheControl)),
            server: newer.server.take().or_else(|| self.texts.owned(Text::Server)),
            signals: self.signals.renewed_by(&newer.signals),
        }
    }

    /// The row of an answer that is used again: its own, but that nothing was asked for it now.
    fn used_again(&self, target: &Target) -> Observation {
        let mut seen = Observation::of_class(self.class, None);
        seen.fetch_time = Some(self.fetch_time);
        seen.flags = self.flags;
        seen.flags.insert(Flag::FromCache);
        seen.status = self.status;
        seen.attempts = Some(0);
        seen.redirects = self.redirects.to_vec();
        seen.hops = self.hops;
        seen.final_url = Some(self.url(target));
        seen.scheme_used = self.scheme_used;
        seen.first_attempt_class = self.first_attempt_class;
        seen.remote_ip = self.texts.owned(Text::RemoteIp);
        seen.http_version = self.http_version;
        seen.headers = self.headers_under(&mut Headers::default());
        note_body(&mut seen, self.body.as_ref(), self.flags);
        seen
    }

    /// The copy that stays known in an outage. Validators of another URL are left behind: its row does not name the
    /// URL that they are of.
    fn copy(&self, target: &Target) -> Option<LastCopy> {
        let body = self.body.clone()?;
        let is_own = self.url(target) == target.origin.robots_url();
        let validator = |which| self.texts.get(which).filter(|_| is_own).map(Into::into);
        Some(LastCopy {
            body,
            flags: self.flags,
            etag: validator(Text::Etag),
            last_modified: validator(Text::LastModified),
        })
    }
}

impl StoredOutage {
    fn validators(&self, target: &Target) -> Option<Validators> {
        let copy = self.copy.as_ref()?;
        Validators::of(target.origin.robots_url(), copy.etag.as_deref(), copy.last_modified.as_deref())
    }
}

impl LastCopy {
    /// Keeps the copy in the row of an outage: its body and validators, and what the flags say of the body.
    fn stay_with(self, seen: &mut Observation) {
        seen.headers.etag = self.etag.map(Into::into);
        seen.headers.last_modified = self.last_modified.map(Into::into);
        note_body(seen, Some(&self.body), self.flags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Timestamp = 3_600_000_000;
    const NOW: Timestamp = 1_000_000 * HOUR;

    fn target(input: &str) -> Target {
        Target::parse(input.as_bytes()).expect("an origin")
    }

    fn answer(age: Timestamp, cache_control: Option<&str>) -> StoredAnswer {
        StoredAnswer {
            fetch_time: NOW - age,
            class: FetchClass::Ok,
            flags: Flags::default(),
            status: Some(200),
            hops: Some(0),
            scheme_used: Some(Scheme::Http),
            first_attempt_class: None,
            http_version: Some("HTTP/1.1"),
            body: Some(Body { sha256: [7; 32], octets: Some(3) }),
            redirects: Box::default(),
            texts: Texts::pack(|which| match which {
                Text::Etag => Some("\"v1\""),
                Text::CacheControl => cache_control,
                _ => None,
            }),
            signals: ResponseFields::default(),
        }
    }

    fn plan(answer: StoredAnswer, input: &str) -> Plan {
        Earlier::Answer(Box::new(answer)).plan(&target(input), NOW)
    }

    fn word(plan: &Plan) -> &'static str {
        match plan {
            Plan::Fresh(_) => "fresh",
            Plan::Revalidate(_) => "revalidate",
            Plan::Ask => "ask",
        }
    }

    #[test]
    fn an_answer_is_fresh_for_a_day_at_most_and_never_from_the_future() {
        for (age, cache_control, expected) in [
            (0, None, "fresh"),
            (24 * HOUR - 1, None, "fresh"),
            (24 * HOUR, None, "revalidate"),
            (2 * HOUR, Some("max-age=3600"), "revalidate"),
            (HOUR / 120, Some("max-age=0"), "fresh"),
            (HOUR / 60, Some("no-store"), "revalidate"),
            (-1, None, "revalidate"),
            (Timestamp::MIN + NOW + 1, None, "revalidate"),
        ] {
            let found = plan(answer(age, cache_control), "http://a.test");
            assert_eq!(word(&found), expected, "{age} {cache_control:?}");
        }
    }

    #[test]
    fn what_has_no_body_or_no_validator_is_asked_again() {
        let missing = StoredAnswer { class: FetchClass::Missing, body: None, ..answer(25 * HOUR, None) };
        assert_eq!(plan(missing, "http://a.test"), Plan::Ask);
        let bare = StoredAnswer { texts: Texts::pack(|_| None), ..answer(25 * HOUR, None) };
        assert_eq!(plan(bare, "http://a.test"), Plan::Ask);
    }

    #[test]
    fn an_answer_over_http_is_none_for_those_who_ask_for_https() {
        assert_eq!(word(&plan(answer(HOUR, None), "a.test")), "fresh");
        assert_eq!(word(&plan(answer(HOUR, None), "https://a.test")), "ask");
        let known = Earlier::Answer(Box::new(answer(HOUR, None)));
        assert!(known.copy(&target("a.test")).is_some());
        assert_eq!(known.copy(&target("https://a.test")), None);
    }

    #[test]
    fn only_validators_that_can_come_back_as_they_were_are_sent() {
        for (etag, is_sent) in [
            ("\"v1\"", true),
            ("W/\"v1\"", true),
            ("\"\"", true),
            ("v1", false),
            ("\"v1", false),
            ("\"", false),
            ("\"a b\"", false),
            ("\"a\"b\"", false),
            ("\"\u{e9}\"", false),
            ("\"caf\\xE9\"", false),
            ("\"a\r\nX: y\"", false),
            ("", false),
        ] {
            let validators = Validators::of("http://a.test/robots.txt".into(), Some(etag), None);
            assert_eq!(validators.is_some(), is_sent, "{etag:?}");
        }
        for (date, is_sent) in [
            ("Mon, 02 Nov 2026 08:00:00 GMT", true),
            ("yesterday", false),
            ("Mon, 02 Nov 2026 08:00:00 GMT\r\nX: y", false),
        ] {
            let validators = Validators::of("http://a.test/robots.txt".into(), None, Some(date));
            assert_eq!(validators.is_some(), is_sent, "{date:?}");
        }
    }

    #[test]
    fn an_outage_keeps_its_beginning_and_the_last_good_copy() {
        let target = target("http://a.test");
        let refused = |class, hour| {
            let mut seen = Observation::of_class(class, None);
            seen.fetch_time = Some(NOW + hour * HOUR);
            seen.headers.etag = Some("\"of an error page\"".into());
            seen
        };
        let first = Earlier::Answer(Box::new(answer(25 * HOUR, None)));
        let seen = first.after(&target, refused(FetchClass::ServerError, 0));
        assert_eq!((seen.class, seen.unreachable_since), (FetchClass::ServerError, Some(NOW)));
        assert_eq!((seen.body_sha256, seen.headers.etag.as_deref()), (Some([7; 32]), Some("\"v1\"")));
        let copy = first.copy(&target);
        let second = Earlier::Outage(Box::new(StoredOutage { since: Some(NOW), copy }));
        let seen = second.after(&target, refused(FetchClass::Timeout, 48));
        assert_eq!((seen.unreachable_since, seen.body_sha256), (Some(NOW), Some([7; 32])));
        let seen = second.after(&target, refused(FetchClass::Missing, 48));
        assert_eq!((seen.unreachable_since, seen.body_sha256), (None, None));
        let seen = first.after(&target, refused(FetchClass::Internal, 0));
        assert_eq!((seen.unreachable_since, seen.body_sha256), (None, Some([7; 32])), "no fault of the origin");
    }

    #[test]
    fn a_304_renews_the_copy() {
        let target = target("http://a.test");
        let mut seen = Observation::of_class(FetchClass::Ok, None);
        seen.fetch_time = Some(NOW);
        seen.flags.insert(Flag::Revalidated);
        seen.headers.cache_control = Some("max-age=60".into());
        let mut stored = answer(25 * HOUR, Some("max-age=7200"));
        stored.flags.insert(Flag::NonUtf8);
        let renewed = Earlier::Answer(Box::new(stored)).after(&target, seen);
        assert_eq!((renewed.body_sha256, renewed.body_octets), (Some([7; 32]), Some(3)));
        assert_eq!(renewed.headers.etag.as_deref(), Some("\"v1\""));
        assert_eq!(renewed.headers.cache_control.as_deref(), Some("max-age=60"));
        assert!(renewed.flags.contains(Flag::NonUtf8));
    }

    #[test]
    fn validators_behind_a_redirect_belong_to_the_url_that_gave_them() {
        let mut behind = answer(25 * HOUR, None);
        behind.texts = Texts::pack(|which| match which {
            Text::FinalUrl => Some("http://b.test/robots.txt"),
            Text::Etag => Some("\"v1\""),
            _ => None,
        });
        let Plan::Revalidate(validators) = plan(behind.clone(), "http://a.test") else { panic!("a stale copy") };
        assert_eq!(validators.url, "http://b.test/robots.txt");
        let copy = behind.copy(&target("http://a.test")).expect("a body");
        assert_eq!((copy.body.sha256, copy.etag), ([7; 32], None));
    }
}
