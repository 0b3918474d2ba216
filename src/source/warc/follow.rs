//! One capture to what was seen: the earlier capture that it may name, the redirects that it leads to, its body.

use std::collections::HashMap;
use std::fs::File;

use super::answer::{Answer, Body, HEAD_OCTETS};
use super::record::{Head, Item, Kind, Record, Records};
use super::{WarcError, WarcFiles, target, target_uri};
use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Flag, Reason, suspect_body};
use crate::source::body;
use crate::source::captures::{Capture, Index};
use crate::source::folder::BODY_OCTETS;
use crate::source::mark::Mark;
use crate::source::redirect::Place;
use crate::tables::fetches::{Observation, Redirect};
use crate::tables::text::of_octets;

/// Redirects followed (§2.3.1.2).
pub const HOPS_MAX: usize = 5;
/// Octets of a block that are read: a head and a body.
pub(super) const BLOCK_OCTETS: usize = HEAD_OCTETS + BODY_OCTETS;

/// What a capture says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The origin.
    pub origin: Origin,
    /// The URL as the record names it.
    pub target_uri: String,
    /// What was seen.
    pub observation: Observation,
    /// The body, where one was read.
    pub body: Option<Vec<u8>>,
}

/// Files that are open to be read here and there. One for each thread.
pub struct Readers<'a> {
    files: &'a WarcFiles,
    index: &'a Index,
    open: HashMap<u32, Records<File>>,
}

/// Files that one reader holds open.
const OPEN_MAX: usize = 8;

/// Where following redirects ended.
struct End {
    class: FetchClass,
    reason: Option<Reason>,
    body: Option<Vec<u8>>,
}

impl End {
    const fn of(class: FetchClass) -> Self {
        Self { class, reason: None, body: None }
    }
}

impl<'a> Readers<'a> {
    /// Nothing is open yet.
    #[must_use]
    pub fn new(files: &'a WarcFiles, index: &'a Index) -> Self {
        Self { files, index, open: HashMap::new() }
    }

    /// What the capture of a robots.txt says.
    ///
    /// # Errors
    /// Where a file cannot be read, or is another than it was when it was indexed.
    pub fn see(&mut self, capture: Capture) -> Result<Seen, WarcError> {
        let record = self.record(capture)?;
        let place = target(&record.head).map_err(|_| self.changed(capture))?;
        let uri = target_uri(&record.head, "WARC-Target-URI").unwrap_or_default();
        let target_uri = of_octets(uri).into_owned();
        let origin = place.origin().clone();
        let mut observation = Observation::of_class(FetchClass::NotCollected, None);
        observation.hops = Some(0);
        observation.fetch_time = capture.time();
        observation.scheme_used = Some(origin.scheme());
        let end = self.follow(place, record, &mut observation)?;
        (observation.class, observation.reason) = (end.class, end.reason);
        Ok(Seen { origin, target_uri, observation, body: end.body })
    }

    fn follow(&mut self, mut place: Place, mut record: Record, seen: &mut Observation) -> Result<End, WarcError> {
        loop {
            seen.final_url = Some(place.url());
            seen.hops = u16::try_from(seen.redirects.len()).ok();
            let to = match self.answered(&place, record, seen)? {
                Step::End(end) => return Ok(end),
                Step::To(to) => to,
            };
            if seen.redirects.len() > HOPS_MAX {
                return Ok(End::of(FetchClass::RedirectLimit));
            }
            // What is not in the files says neither yes nor no.
            let Some(entry) = self.index.get(Mark::of_name(&to.url())) else {
                return Ok(End::of(FetchClass::NotCollected));
            };
            if (place.origin().scheme(), to.origin().scheme()) == (Scheme::Https, Scheme::Http) {
                seen.flags.insert(Flag::Downgraded);
            }
            // What was known only when the last of the answers came was not known before.
            seen.fetch_time = seen.fetch_time.max(entry.newest.time());
            record = self.record(entry.newest)?;
            place = to;
        }
    }

    /// What a record says: where its redirect leads, or what is to be made of it.
    fn answered(&mut self, place: &Place, record: Record, seen: &mut Observation) -> Result<Step, WarcError> {
        if let Some(address) = record.head.field("WARC-IP-Address") {
            seen.remote_ip = Some(of_octets(address).into_owned());
        }
        let is_not_modified = is_not_modified(&record);
        if record.head.kind() != Kind::Revisit && !is_not_modified {
            return Ok(whole(place, record, seen));
        }
        note_head(&record.block, seen);
        let Some(earlier) = self.earlier(place, &record.head)? else {
            return Ok(Step::End(End::of(FetchClass::NotCollected)));
        };
        let is_not_modified = is_not_modified || names_not_modified(&record.head);
        let newer = seen.headers.signals.clone();
        let step = whole(place, earlier, seen);
        if is_not_modified && matches!(&step, Step::End(end) if end.class.has_body()) {
            seen.flags.insert(Flag::Revalidated);
            seen.status = Some(304);
            seen.headers.signals = seen.headers.signals.renewed_by(&newer);
        }
        Ok(step)
    }

    /// The capture that holds the answer which another one only names.
    fn earlier(&mut self, place: &Place, head: &Head) -> Result<Option<Record>, WarcError> {
        let named = target_uri(head, "WARC-Refers-To-Target-URI").and_then(|uri| Place::of_absolute(uri).ok());
        let url = named.as_ref().unwrap_or(place).url();
        let Some(capture) = self.index.get(Mark::of_name(&url)).and_then(|entry| entry.whole) else { return Ok(None) };
        let earlier = self.record(capture)?;
        // One that names another in its turn holds no answer.
        if is_not_modified(&earlier) {
            return Ok(None);
        }
        let digest = |head: &Head| head.field("WARC-Payload-Digest").map(<[u8]>::to_ascii_lowercase);
        // Where one of them says nothing of its payload, the name has to do.
        let is_same = match (digest(head), digest(&earlier.head)) {
            (Some(own), Some(other)) => own == other || names_not_modified(head),
            _ => true,
        };
        Ok(is_same.then_some(earlier))
    }

    fn record(&mut self, capture: Capture) -> Result<Record, WarcError> {
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(&capture.file) {
            self.open.clear();
        }
        let file = &self.files.files[capture.file as usize];
        let records = match self.open.entry(capture.file) {
            std::collections::hash_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::hash_map::Entry::Vacant(closed) => closed.insert(file.records()?),
        };
        records.seek(capture.at).map_err(|source| file.read_error(source))?;
        match records.next(|_| BLOCK_OCTETS).map_err(|source| file.read_error(source))? {
            Some(Item::Record(record)) if record.at == capture.at => Ok(record),
            _ => Err(self.changed(capture)),
        }
    }

    fn changed(&self, capture: Capture) -> WarcError {
        WarcError::Changed { path: self.files.files[capture.file as usize].path.clone(), at: capture.at }
    }
}

/// What comes of one record.
enum Step {
    To(Place),
    End(End),
}

/// Whether a message says 304; the body of a resource is none.
fn is_not_modified(record: &Record) -> bool {
    record.head.kind() != Kind::Resource && Answer::of(&record.block).is_some_and(|answer| answer.status == 304)
}

fn names_not_modified(head: &Head) -> bool {
    head.field("WARC-Profile").is_some_and(|profile| profile.ends_with(b"server-not-modified"))
}

/// Notes status and fields of a message; `None` where the block holds none.
fn note_head<'a>(block: &'a [u8], seen: &mut Observation) -> Option<Answer<'a>> {
    let answer = Answer::of(block)?;
    seen.status = Some(answer.status);
    seen.http_version = answer.version;
    seen.headers = answer.headers();
    Some(answer)
}

/// What a record says that holds an answer itself.
fn whole(place: &Place, record: Record, seen: &mut Observation) -> Step {
    if record.head.kind() != Kind::Resource {
        return response(place, &record, seen);
    }
    let is_cut = record.head.length > record.block.len() as u64;
    Step::End(read_body(Body { octets: record.block, is_cut, flags: seen.flags }, None, seen))
}

fn response(place: &Place, record: &Record, seen: &mut Observation) -> Step {
    let Some(answer) = note_head(&record.block, seen) else { return Step::End(End::of(FetchClass::ProtocolError)) };
    match answer.status {
        301 | 302 | 303 | 307 | 308 => redirect(place, &answer, seen),
        300..=399 => {
            seen.redirects.push(Redirect { status: answer.status, url: answer.location_as_given() });
            Step::End(End::of(FetchClass::RedirectInvalid))
        }
        _ => Step::End(last_answer(record, &answer, seen)),
    }
}

fn redirect(place: &Place, answer: &Answer<'_>, seen: &mut Observation) -> Step {
    let status = answer.status;
    match answer.location().ok_or(Reason::Host).and_then(|location| place.resolve(location)) {
        Ok(to) => {
            seen.redirects.push(Redirect { status, url: to.url() });
            Step::To(to)
        }
        Err(reason) => {
            seen.redirects.push(Redirect { status, url: answer.location_as_given() });
            Step::End(End { class: FetchClass::RedirectInvalid, reason: Some(reason), body: None })
        }
    }
}

/// The class of an answer that is no redirect, and its body where it has one that counts.
fn last_answer(record: &Record, answer: &Answer<'_>, seen: &mut Observation) -> End {
    let Some((class, reason)) = FetchClass::of_status(answer.status) else {
        return End::of(FetchClass::ProtocolError);
    };
    if !class.has_body() {
        seen.retry_after_s = answer.retry_after_s();
        return End { class, reason, body: None };
    }
    if matches!(answer.status, 204 | 205) {
        return read_body(Body { octets: Vec::new(), is_cut: false, flags: seen.flags }, reason, seen);
    }
    let truncated = record.head.field("WARC-Truncated").map(<[u8]>::to_ascii_lowercase);
    let is_cut = record.head.length > record.block.len() as u64;
    match truncated.as_deref() {
        None => {}
        Some(b"length") => return body_or_failure(answer, true, reason, seen),
        Some(b"time") => return End { class: FetchClass::Timeout, reason: Some(Reason::Total), body: None },
        // What is missing may be rules; a part of them is not the answer.
        Some(_) => return End::of(FetchClass::BodyIncomplete),
    }
    body_or_failure(answer, is_cut, reason, seen)
}

fn body_or_failure(answer: &Answer<'_>, is_cut: bool, reason: Option<Reason>, seen: &mut Observation) -> End {
    match answer.body(is_cut) {
        Ok(mut body) => {
            body.is_cut |= is_cut;
            read_body(body, reason, seen)
        }
        Err(class) => End::of(class),
    }
}

fn read_body(read: Body, reason: Option<Reason>, seen: &mut Observation) -> End {
    let Body { mut octets, is_cut, flags } = read;
    let is_cut = body::keep(&mut octets, BODY_OCTETS, is_cut);
    body::add_flags(&mut seen.flags, &octets, is_cut);
    if flags.contains(Flag::CodingMislabelled) {
        seen.flags.insert(Flag::CodingMislabelled);
    }
    let reason = reason.or_else(|| suspect_body(&octets));
    let class = if reason.is_some() { FetchClass::OkSuspect } else { FetchClass::Ok };
    End { class, reason, body: Some(octets) }
}
