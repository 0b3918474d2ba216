//! One attempt: the request for an origin's robots.txt, the redirects that it leads to, and what the last answer is.

use std::pin::pin;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, LOCATION};

use super::Fetcher;
use super::exchange::{self, Answer, Form, Question, RawBody};
use super::failure::{Ending, Failure};
use super::guard;
use super::limits::LEAST_REDIRECTS;
use super::observe;
use super::trip::{TimeLeft, Trip};
use crate::origin::{Origin, Scheme, URL_OCTETS, without_user_information};
use crate::robots::access::{FetchClass, Flag, Reason, suspect_body};
use crate::source::body;
use crate::source::coding::{Codings, Decoded};
use crate::source::history::earlier::Validators;
use crate::source::redirect::Place;
use crate::tables::fetches::{Observation, Redirect};

impl Fetcher {
    /// Asks for the origin's robots.txt and follows redirects. Facts are noted as they are met, so that they stay
    /// where the attempt is cut short.
    pub(super) async fn follow(
        &self,
        first: &Origin,
        seen: &mut Observation,
        trip: &mut Trip<'_>,
    ) -> Result<Ending, Failure> {
        let mut place = Place::robots_txt_of(first);
        loop {
            Self::check_port(&place, first, seen)?;
            let validators = trip.validators.filter(|validators| validators.url == place.url());
            let answer = self.ask(&place, validators, seen, trip).await?;
            match answer.response.status().as_u16() {
                301 | 302 | 303 | 307 | 308 => place = self.next_place(&place, &answer, seen)?,
                304 if validators.is_some() => {
                    seen.flags.insert(Flag::Revalidated);
                    return Ok(Ending { class: FetchClass::Ok, reason: None, body: None });
                }
                304 => return Err(FetchClass::ProtocolError.into()),
                300..=399 => {
                    note_redirect(seen, location_as_given(&answer));
                    return Err(FetchClass::RedirectInvalid.into());
                }
                // Boxed, as the exchange is: an origin that waits for its turn does so in this future.
                status => return Box::pin(self.last_answer(status, answer, seen, &mut trip.time)).await,
            }
        }
    }

    /// Any port but those of other services for the first request; a redirect may not lead to new ones.
    fn check_port(place: &Place, first: &Origin, seen: &Observation) -> Result<(), Failure> {
        let port = place.origin().port();
        let may_use = if seen.redirects.is_empty() {
            guard::is_web_port(port)
        } else {
            [Scheme::Http.default_port(), Scheme::Https.default_port(), first.port()].contains(&port)
        };
        if may_use { Ok(()) } else { Err(Failure::blocked(Reason::Port)) }
    }

    /// One request and the head of its answer.
    async fn ask(
        &self,
        place: &Place,
        validators: Option<&Validators>,
        seen: &mut Observation,
        trip: &mut Trip<'_>,
    ) -> Result<Answer, Failure> {
        let has_proxy = self.connector.has_proxy();
        if has_proxy {
            seen.flags.insert(Flag::ViaProxy);
        }
        let addresses = self.connector.addresses(place.origin(), trip).await;
        if !matches!(addresses, Err(failure) if failure.class == FetchClass::BlockedAddress) {
            seen.hops = u16::try_from(seen.redirects.len()).ok();
        }
        let mut connected_to = None;
        let wire = self.connector.open(place.origin(), &addresses?, trip, &mut connected_to).await;
        seen.remote_ip = connected_to.map(|address| address.to_string()).or(seen.remote_ip.take());
        let form = match place.origin().scheme() {
            Scheme::Http if has_proxy => Form::Absolute,
            Scheme::Http | Scheme::Https => Form::Origin,
        };
        let question = Question { place, form, user_agent: &self.user_agent, validators };
        let wire = wire?;
        // Only now: without a connection no request is made.
        seen.final_url = Some(place.url());
        let answer = Box::pin(exchange::ask(wire, &question, &self.limits, &mut trip.time)).await?;
        let response = &answer.response;
        seen.status = Some(response.status().as_u16());
        seen.http_version = Some(observe::version(response.version()));
        seen.headers = observe::headers(response.status(), response.headers());
        if seen.redirects.is_empty() {
            seen.scheme_used = Some(place.origin().scheme());
        }
        Ok(answer)
    }

    /// Where a redirect leads, if it may be followed.
    fn next_place(&self, from: &Place, answer: &Answer, seen: &mut Observation) -> Result<Place, Failure> {
        let given: Vec<_> = answer.response.headers().get_all(LOCATION).iter().collect();
        let to = match given.as_slice() {
            [location] => from.resolve(location.as_bytes()),
            _ => Err(Reason::Host),
        };
        let is_beyond_limit = seen.redirects.len() >= usize::from(self.limits.redirects);
        match to {
            Ok(to) => {
                let is_loop = is_loop(seen, &to);
                note_redirect(seen, to.url());
                if is_beyond_limit || is_loop {
                    return Err(FetchClass::RedirectLimit.into());
                }
                if (from.origin().scheme(), to.origin().scheme()) == (Scheme::Https, Scheme::Http) {
                    seen.flags.insert(Flag::Downgraded);
                }
                Ok(to)
            }
            Err(reason) => {
                note_redirect(seen, location_as_given(answer));
                if is_beyond_limit {
                    return Err(FetchClass::RedirectLimit.into());
                }
                Err(Failure::because(FetchClass::RedirectInvalid, reason))
            }
        }
    }

    /// The class of an answer that is no redirect; its body, where it has one that counts.
    async fn last_answer(
        &self,
        status: u16,
        answer: Answer,
        seen: &mut Observation,
        time: &mut TimeLeft,
    ) -> Result<Ending, Failure> {
        // Only interim statuses have no class here; switching protocols was not asked for.
        let (class, reason) = FetchClass::of_status(status).ok_or(FetchClass::ProtocolError)?;
        if !class.has_body() {
            seen.retry_after_s = observe::retry_after_s(answer.response.headers(), self.clock.now());
            return Ok(Ending { class, reason, body: None });
        }
        let has_content = !matches!(status, 204 | 205);
        let (body, is_unclean) = if has_content { self.body(answer, seen, time).await? } else { (Vec::new(), false) };
        let is_cut = seen.flags.contains(Flag::Truncated);
        body::add_flags(&mut seen.flags, &body, is_cut);
        let reason = reason.or_else(|| suspect_body(&body)).or_else(|| is_unclean.then_some(Reason::UncleanClose));
        let class = if reason.is_some() { FetchClass::OkSuspect } else { class };
        Ok(Ending { class, reason, body: Some(Bytes::from(body)) })
    }

    /// Reads the body and undoes its codings.
    async fn body(
        &self,
        answer: Answer,
        seen: &mut Observation,
        time: &mut TimeLeft,
    ) -> Result<(Vec<u8>, bool), Failure> {
        let field = observe::list(answer.response.headers(), &CONTENT_ENCODING).unwrap_or_default();
        let codings = Codings::parse(&field).ok_or(FetchClass::DecodeFailed)?;
        let cap = if codings.is_plain() { self.limits.body_octets } else { self.limits.coded_octets };
        let RawBody { octets, is_cut, is_unclean } = time.spend(pin!(answer.read(cap, self.limits.idle))).await??;
        let _window = if codings.has_wide_window() { self.wide_windows.acquire().await.ok() } else { None };
        let Decoded { mut octets, is_cut, is_mislabelled } =
            codings.undo(octets, is_cut, self.limits.body_octets).map_err(|_| FetchClass::DecodeFailed)?;
        if body::keep(&mut octets, self.limits.body_octets, is_cut) {
            seen.flags.insert(Flag::Truncated);
        }
        octets.shrink_to_fit();
        if is_mislabelled {
            seen.flags.insert(Flag::CodingMislabelled);
        }
        Ok((octets, is_unclean))
    }
}

/// Whether the redirects come back to where they were. No cookie is sent, so that the same request gets the same answer;
/// but as many as have to be followed anyway are (§2.3.1.2).
fn is_loop(seen: &Observation, to: &Place) -> bool {
    let url = to.url();
    seen.redirects.len() >= usize::from(LEAST_REDIRECTS) && seen.redirects.iter().any(|hop| hop.url == url)
}

fn note_redirect(seen: &mut Observation, url: String) {
    let status = seen.status.unwrap_or_default();
    seen.redirects.push(Redirect { status, url });
}

/// What the answer says, for a redirect that could not be resolved.
fn location_as_given(answer: &Answer) -> String {
    let mut given = observe::list(answer.response.headers(), &LOCATION).unwrap_or_default();
    given.truncate(URL_OCTETS);
    without_user_information(&observe::text(&given), false).into_owned()
}
