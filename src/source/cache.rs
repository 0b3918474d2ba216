//! Copies of answers on disk, one small file an origin, for programs that ask about one URL at a time.
//!
//! How long a copy is used, and what an outage is made of, is decided by [`crate::source::history`]; this module only
//! writes and reads. A file that is damaged, of another version or of another origin is no copy. Files are replaced
//! whole. There are never more than [`COPIES`] of them: an origin whose place is taken by another's copy takes it over.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::history::earlier::Earlier;
use super::history::earlier_of;
use crate::origin::{Origin, Scheme};
use crate::robots::access::{FetchClass, Flag};
use crate::signals::response::{FieldName, ResponseFields, SignalField};
use crate::tables::column::hex;
use crate::tables::fetches::{BodyHash, FetchRow, HTTP_VERSIONS, Headers, Observation, Redirect, Timestamp};
use crate::tables::text::{octets_as_sent, of_octets};

/// Copies in a folder at most.
pub const COPIES: usize = 1 << (4 * PLACE_DIGITS);
/// Octets of a copy at most, its body included; an answer that takes more is not kept.
pub const COPY_OCTETS: usize = 4 << 20;

/// Hexadecimal digits that name the place of a copy.
const PLACE_DIGITS: usize = 5;
/// How a copy begins; a digest of the rest of the file follows.
const BEGIN: &[u8] = b"robots-audit copy 1 ";
/// Octets of that digest as text.
const DIGEST_OCTETS: usize = 64;

/// Why a copy could not be written or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the copy {}", path.display())]
pub struct CacheError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: io::Error,
}

/// A folder of copies. Several programs may use it at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// What a folder knows of an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// What follows from it.
    pub earlier: Earlier,
    /// The body of the answer, or of the last good one where there is none now.
    pub body: Option<Bytes>,
    /// Its hash.
    pub body_sha256: Option<BodyHash>,
}

impl Cache {
    /// A folder of copies; it is made with the first of them.
    #[must_use]
    pub const fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What is known of an origin.
    #[must_use]
    pub fn find(&self, origin: &Origin) -> Option<Copied> {
        copied(origin, &read(&self.path(origin))?)
    }

    /// Keeps what has been seen of an origin, with the body that `body_sha256` names. What a later question cannot use
    /// takes the place of an older copy all the same: it is removed.
    ///
    /// # Errors
    /// The file cannot be written or removed.
    pub fn keep(&self, origin: &Origin, seen: &Observation, body: Option<&[u8]>) -> Result<(), CacheError> {
        let path = self.path(origin);
        let is_of_use = seen.class.is_stored_answer() || seen.class.keeps_earlier_copy();
        let is_whole = seen.body_sha256.is_some() == body.is_some();
        let octets = (is_of_use && is_whole).then(|| octets_of(origin, seen, body));
        let done = match octets.filter(|octets| octets.len() <= COPY_OCTETS) {
            Some(octets) => replace(&path, &octets),
            None if self.find(origin).is_some() => fs::remove_file(&path),
            None => Ok(()),
        };
        done.map_err(|source| CacheError { path, source })
    }

    fn path(&self, origin: &Origin) -> PathBuf {
        let digits = hex(&Sha256::digest(origin.as_str()));
        self.folder.join(&digits[..2]).join(format!("{}.copy", &digits[2..PLACE_DIGITS]))
    }
}

/// The octets of a plain file that is not too long.
fn read(path: &Path) -> Option<Bytes> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut octets = Vec::new();
    File::open(path).ok()?.take(COPY_OCTETS as u64 + 1).read_to_end(&mut octets).ok()?;
    (octets.len() <= COPY_OCTETS).then(|| octets.into())
}

/// Writes a file under a name of its own, then gives it its name.
fn replace(path: &Path, octets: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let own = format!(".{}-{}.tmp", process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let temporary = folder.join(own);
    let written = File::create(&temporary).and_then(|mut file| file.write_all(octets));
    let done = written.and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// The line of a copy: what is used of an observation. The rest of the file is the body.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    origin: String,
    fetch_time: Option<Timestamp>,
    fetch_class: String,
    flags: Vec<String>,
    fetch_status: Option<u16>,
    hops: Option<u16>,
    redirects: Vec<(u16, String)>,
    final_url: Option<String>,
    scheme_used: Option<String>,
    first_attempt_class: Option<String>,
    unreachable_since: Option<Timestamp>,
    remote_ip: Option<String>,
    http_version: Option<String>,
    content_type: Option<String>,
    content_encoding: Option<String>,
    etag: Option<String>,
    last_modified: Option<String>,
    cache_control: Option<String>,
    server: Option<String>,
    /// Names and values; copies of older versions have none.
    #[serde(default)]
    signals: Vec<(String, Option<String>)>,
    has_body: bool,
}

fn octets_of(origin: &Origin, seen: &Observation, body: Option<&[u8]>) -> Vec<u8> {
    let line = Line::of(origin, seen, body.is_some());
    let mut rest = serde_json::to_vec(&line).expect("texts and numbers");
    rest.push(b'\n');
    rest.extend_from_slice(body.unwrap_or_default());
    let digest = hex(&Sha256::digest(&rest));
    [BEGIN, digest.as_bytes(), b"\n", &rest[..]].concat()
}

/// What a file says of an origin, if it is a whole copy of it.
fn copied(origin: &Origin, octets: &Bytes) -> Option<Copied> {
    let after_begin = octets.strip_prefix(BEGIN)?;
    let (digest, rest) = after_begin.split_at_checked(DIGEST_OCTETS)?;
    let rest = rest.strip_prefix(b"\n")?;
    if hex(&Sha256::digest(rest)).as_bytes() != digest {
        return None;
    }
    let end = memchr::memchr(b'\n', rest)?;
    let line: Line = serde_json::from_slice(&rest[..end]).ok()?;
    if line.origin != origin.as_str() {
        return None;
    }
    let body = line.has_body.then(|| octets.slice_ref(&rest[end + 1..]));
    let observation = line.observation(body.as_deref())?;
    let body_sha256 = observation.body_sha256;
    let row = FetchRow { origin: Some(origin.clone()), rank: None, input: None, input_line: None, observation };
    Some(Copied { earlier: earlier_of(&row)?, body, body_sha256 })
}

impl Line {
    fn of(origin: &Origin, seen: &Observation, has_body: bool) -> Self {
        let headers = seen.headers.clone();
        Self {
            origin: origin.as_str().to_owned(),
            fetch_time: seen.fetch_time,
            fetch_class: seen.class.as_str().to_owned(),
            flags: seen.flags.iter().map(|flag| flag.as_str().to_owned()).collect(),
            fetch_status: seen.status,
            hops: seen.hops,
            redirects: seen.redirects.iter().map(|hop| (hop.status, hop.url.clone())).collect(),
            final_url: seen.final_url.clone(),
            scheme_used: seen.scheme_used.map(|scheme| scheme.as_str().to_owned()),
            first_attempt_class: seen.first_attempt_class.map(|class| class.as_str().to_owned()),
            unreachable_since: seen.unreachable_since,
            remote_ip: seen.remote_ip.clone(),
            http_version: seen.http_version.map(str::to_owned),
            content_type: headers.content_type,
            content_encoding: headers.content_encoding,
            etag: headers.etag,
            last_modified: headers.last_modified,
            cache_control: headers.cache_control,
            server: headers.server,
            signals: headers.signals.fields().iter().map(text_of_field).collect(),
            has_body,
        }
    }

    /// The observation; `None` where a word is none of this version.
    fn observation(self, body: Option<&[u8]>) -> Option<Observation> {
        let mut seen = Observation::of_class(FetchClass::from_name(&self.fetch_class)?, None);
        for flag in &self.flags {
            seen.flags.insert(Flag::from_name(flag)?);
        }
        seen.fetch_time = self.fetch_time;
        seen.status = self.fetch_status;
        seen.hops = self.hops;
        seen.redirects = self.redirects.into_iter().map(|(status, url)| Redirect { status, url }).collect();
        seen.final_url = self.final_url;
        seen.scheme_used = known(self.scheme_used, scheme_of)?;
        seen.first_attempt_class = known(self.first_attempt_class, FetchClass::from_name)?;
        seen.http_version = known(self.http_version, version_of)?;
        seen.unreachable_since = self.unreachable_since;
        seen.remote_ip = self.remote_ip;
        seen.body_sha256 = body.map(|body| Sha256::digest(body).into());
        seen.body_octets = body.and_then(|body| i64::try_from(body.len()).ok());
        seen.headers = Headers {
            content_type: self.content_type,
            content_encoding: self.content_encoding,
            etag: self.etag,
            last_modified: self.last_modified,
            cache_control: self.cache_control,
            server: self.server,
            signals: self.signals.into_iter().map(field_of_text).collect::<Option<ResponseFields>>()?,
        };
        Some(seen)
    }
}

/// The value that a word stands for, where there is a word; `None` where it is not known.
#[expect(clippy::option_option, reason = "absent and unknown are two things here")]
fn known<T>(word: Option<String>, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    match word {
        Some(word) => read(&word).map(Some),
        None => Some(None),
    }
}

fn text_of_field(field: &SignalField) -> (String, Option<String>) {
    let value = field.value.as_deref().map(|value| of_octets(value).into_owned());
    (field.name.as_str().to_owned(), value)
}

fn field_of_text((name, value): (String, Option<String>)) -> Option<SignalField> {
    Some(SignalField {
        name: FieldName::from_name(&name)?,
        value: value.as_deref().and_then(octets_as_sent).map(Into::into),
    })
}

fn scheme_of(name: &str) -> Option<Scheme> {
    [Scheme::Http, Scheme::Https].into_iter().find(|scheme| scheme.as_str() == name)
}

fn version_of(name: &str) -> Option<&'static str> {
    HTTP_VERSIONS.into_iter().find(|version| *version == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Target;
    use crate::source::history::earlier::Plan;

    const BODY: &[u8] = b"User-agent: *\nDisallow: /x\n";
    const HOUR: Timestamp = 3_600_000_000;

    fn origin(name: &str) -> Origin {
        Origin::of_url(format!("http://{name}").as_bytes()).expect("an origin")
    }

    fn seen(class: FetchClass, body: Option<&[u8]>) -> Observation {
        let mut seen = Observation::of_class(class, None);
        seen.fetch_time = Some(HOUR);
        seen.status = Some(200);
        seen.scheme_used = Some(Scheme::Http);
        seen.http_version = Some("HTTP/1.1");
        seen.redirects = vec![Redirect { status: 301, url: "http://a.test/r".into() }];
        seen.hops = Some(1);
        seen.final_url = Some("http://a.test/r".into());
        seen.flags.insert(Flag::NonUtf8);
        seen.headers.etag = Some("\"é\"".into());
        seen.body_sha256 = body.map(|body| Sha256::digest(body).into());
        seen.body_octets = body.map(|body| i64::try_from(body.len()).expect("short"));
        seen
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().join("copies"));
        (folder, cache)
    }

    fn fresh(copied: &Copied, now: Timestamp) -> Option<Observation> {
        let target = Target { origin: origin("a.test"), is_bare: false };
        match copied.earlier.plan(&target, now) {
            Plan::Fresh(seen) => Some(*seen),
            Plan::Revalidate(_) | Plan::Ask => None,
        }
    }

    #[test]
    fn a_copy_comes_back_as_it_was() {
        let (_folder, cache) = cache();
        assert_eq!(cache.find(&origin("a.test")), None);
        let kept = seen(FetchClass::Ok, Some(BODY));
        cache.keep(&origin("a.test"), &kept, Some(BODY)).expect("kept");
        let found = cache.find(&origin("a.test")).expect("a copy");
        assert_eq!((found.body.as_deref(), found.body_sha256), (Some(BODY), kept.body_sha256));
        let mut expected = kept;
        expected.flags.insert(Flag::FromCache);
        expected.attempts = Some(0);
        assert_eq!(fresh(&found, 2 * HOUR), Some(expected));
        assert_eq!(fresh(&found, 26 * HOUR), None);
        assert_eq!(cache.find(&origin("b.test")), None);
    }

    #[test]
    fn what_is_of_no_use_takes_the_copy_away() {
        let (folder, cache) = cache();
        let origin = origin("a.test");
        cache.keep(&origin, &seen(FetchClass::RedirectInvalid, None), None).expect("nothing to do");
        assert!(!folder.path().join("copies").exists());
        cache.keep(&origin, &seen(FetchClass::Ok, Some(BODY)), Some(BODY)).expect("kept");
        cache.keep(&origin, &seen(FetchClass::OkSuspect, Some(BODY)), Some(BODY)).expect("removed");
        assert_eq!(cache.find(&origin), None);
        let large = vec![b'#'; COPY_OCTETS];
        cache.keep(&origin, &seen(FetchClass::Ok, Some(BODY)), Some(BODY)).expect("kept");
        cache.keep(&origin, &seen(FetchClass::Ok, Some(&large)), Some(&large)).expect("removed");
        assert_eq!(cache.find(&origin), None);
    }

    #[test]
    fn every_damage_makes_it_no_copy() {
        let (_folder, cache) = cache();
        let origin = origin("a.test");
        cache.keep(&origin, &seen(FetchClass::Ok, Some(BODY)), Some(BODY)).expect("kept");
        let path = cache.path(&origin);
        let whole = fs::read(&path).expect("a file");
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&path, &damaged).expect("written");
            assert_eq!(cache.find(&origin), None, "octet {place}");
            fs::write(&path, &whole[..place]).expect("written");
            assert_eq!(cache.find(&origin), None, "cut at {place}");
        }
        fs::write(&path, [&whole[..], b"#"].concat()).expect("written");
        assert_eq!(cache.find(&origin), None);
        fs::write(&path, &whole).expect("written");
        assert!(cache.find(&origin).is_some());
    }

    #[test]
    fn a_copy_of_another_origin_or_version_is_none() {
        let (_folder, cache) = cache();
        let path = cache.path(&origin("a.test"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let kept = seen(FetchClass::Ok, Some(BODY));
        fs::write(&path, octets_of(&origin("b.test"), &kept, Some(BODY))).expect("written");
        assert_eq!(cache.find(&origin("a.test")), None);
        fs::write(&path, octets_of(&origin("a.test"), &seen(FetchClass::Ok, None), None)).expect("written");
        assert_eq!(cache.find(&origin("a.test")), None, "an answer with rules and without a body");
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("a folder");
        assert_eq!(cache.find(&origin("a.test")), None);
        let error = cache.keep(&origin("a.test"), &kept, Some(BODY)).expect_err("a folder stands there");
        assert!(error.to_string().starts_with("cannot keep the copy "), "{error}");
        let left: Vec<_> = fs::read_dir(path.parent().expect("a folder")).expect("readable").collect();
        assert_eq!(left.len(), 1, "nothing temporary is left");
    }

    #[test]
    fn who_reads_while_others_write_sees_a_whole_copy() {
        let (_folder, cache) = cache();
        let origin = origin("a.test");
        let large = vec![b'#'; 100_000];
        let keep = |body: &[u8]| cache.keep(&origin, &seen(FetchClass::Ok, Some(body)), Some(body)).expect("kept");
        keep(BODY);
        std::thread::scope(|scope| {
            for body in [BODY, &large] {
                scope.spawn(move || (0..30).for_each(|_| keep(body)));
            }
            for _ in 0..60 {
                let found = cache.find(&origin).expect("a copy").body.expect("a body");
                assert!(found == BODY || found == large);
            }
        });
    }

    #[test]
    fn an_outage_keeps_the_last_good_copy() {
        let (_folder, cache) = cache();
        let origin = origin("a.test");
        let mut outage = seen(FetchClass::ServerError, Some(BODY));
        outage.unreachable_since = Some(7);
        cache.keep(&origin, &outage, Some(BODY)).expect("kept");
        let found = cache.find(&origin).expect("a copy");
        assert!(matches!(found.earlier, Earlier::Outage(_)));
        assert_eq!(found.body.as_deref(), Some(BODY));
        assert_eq!(fresh(&found, HOUR), None, "an outage is no answer");
    }
}
