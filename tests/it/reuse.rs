//! Runs that know an earlier one: copies of a day, 304, outages of hours and of a month, a clock that was set back;
//! and what each policy decides then.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use robots_audit::demo::answer::{Body, Response, Route};
use robots_audit::demo::script::Script;
use robots_audit::demo::web::ScriptedWeb;
use robots_audit::origin::{Origin, Scheme, Target};
use robots_audit::robots::access::{FetchClass, Flag};
use robots_audit::robots::parse::Robots;
use robots_audit::robots::token::Matching;
use robots_audit::source::clock::Clock;
use robots_audit::source::history::History;
use robots_audit::source::http::{FetchSettings, Fetched, Fetcher, NameAnswer, Network, user_agent};
use robots_audit::source::snapshot::{Snapshot, SnapshotError};
use robots_audit::tables::FORMAT_VERSION;
use robots_audit::tables::Table;
use robots_audit::tables::bodies::{self, BodiesBuilder, BodyCounts};
use robots_audit::tables::fetches::{self, BodyHash, FetchRow, FetchesBuilder, Observation};
use robots_audit::tables::response_signals::{self, HeaderFact, ResponseSignalsBuilder};
use robots_audit::tables::sink::{Footer, TableFile};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::program::{run, table, temporary, write};

const RULES: &str = "User-agent: *\nDisallow: /x\n";
const ETAG: &str = "\"v1\"";

/// Writes a snapshot of these rows and bodies.
pub(crate) fn write_snapshot(folder: &Path, rows: &[FetchRow], of_rows: &BTreeMap<BodyHash, Bytes>) {
    let (mut fetches_rows, mut signals_rows) = (FetchesBuilder::default(), ResponseSignalsBuilder::default());
    for row in rows {
        fetches_rows.push(row);
        signals_rows.push(row);
    }
    let mut bodies_rows = BodiesBuilder::default();
    for (hash, body) in of_rows {
        bodies_rows.push(hash, body, &BodyCounts::of(&Robots::parse(body, Matching::Rfc9309)));
    }
    for (table, schema, batch) in [
        (Table::Fetches, fetches::schema(), fetches_rows.finish()),
        (Table::Bodies, bodies::schema(), bodies_rows.finish()),
        (Table::ResponseSignals, response_signals::schema(), signals_rows.finish()),
    ] {
        let mut file = TableFile::create(folder, table, schema).expect("a file");
        file.write(&batch).expect("written");
        file.finish(&Footer::new()).expect("whole").publish().expect("published");
    }
}

/// The row of an origin of which this is known.
pub(crate) fn row_of(target: &Target, observation: Observation) -> FetchRow {
    FetchRow { origin: Some(target.origin.clone()), rank: None, input: None, input_line: None, observation }
}

/// Runs of which each knows the one before.
struct Runs {
    folder: TempDir,
    last: Option<PathBuf>,
    done: usize,
}

/// What one run saw.
struct Run {
    folder: PathBuf,
    seen: BTreeMap<String, Observation>,
    web: ScriptedWeb,
}

impl Runs {
    fn new() -> Self {
        Self { folder: temporary(), last: None, done: 0 }
    }

    /// Fetches every origin of the script at an hour, and writes what a later run can open.
    fn run(&mut self, hour: u64, inputs: &[&str], script: Script) -> Run {
        let web = ScriptedWeb::of_script(script).expect("a web on loopback");
        let history = self.last.as_deref().map(|folder| {
            let snapshot = Snapshot::open(folder).expect("a snapshot");
            Arc::new(History::open(&snapshot).expect("a history"))
        });
        let fetcher = fetcher(&web, history.clone(), Clock::At(UNIX_EPOCH + Duration::from_secs(hour * 3_600)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (mut rows, mut stored, mut missing) = (Vec::new(), BTreeMap::new(), HashSet::new());
        for input in inputs {
            let target = Target::parse(input.as_bytes()).expect("an origin");
            let Fetched { observation, body } = runtime.block_on(fetcher.fetch(&target));
            match (observation.body_sha256, body) {
                (Some(hash), Some(body)) => drop(stored.insert(hash, body)),
                (Some(hash), None) => drop(missing.insert(hash)),
                (None, _) => {}
            }
            rows.push(row_of(&target, observation));
        }
        if let Some(history) = history {
            missing.retain(|hash| !stored.contains_key(hash));
            for body in history.bodies_named(Arc::new(missing)) {
                let (hash, body) = body.expect("a body");
                stored.insert(hash, body.into());
            }
        }
        self.done += 1;
        let folder = self.folder.path().join(format!("run-{}", self.done));
        write_snapshot(&folder, &rows, &stored);
        self.last = Some(folder.clone());
        let host = |row: &FetchRow| row.origin.as_ref().map(|origin| origin.host().to_owned()).unwrap_or_default();
        let seen = rows.into_iter().map(|row| (host(&row), row.observation)).collect();
        Run { folder, seen, web }
    }
}

fn fetcher(web: &ScriptedWeb, history: Option<Arc<History>>, clock: Clock) -> Fetcher {
    let agent = user_agent("robots-audit", "https://contact.test/").expect("a user agent");
    Fetcher::new(FetchSettings {
        allowed_addresses: vec!["127.0.0.1/32".parse().expect("a range")],
        retries: 0,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        history,
        clock,
        ..FetchSettings::new(agent, Network::Embedded(web.network()))
    })
    .expect("a fetcher")
}

impl Run {
    /// Class, what the answer is known from, and the hour since which there is none.
    fn of(&self, host: &str) -> (&str, &str, Option<i64>) {
        let seen = &self.seen[host];
        let from = [Flag::FromCache, Flag::Revalidated].into_iter().find(|flag| seen.flags.contains(*flag));
        let since = seen.unreachable_since.map(|micros| micros / 3_600_000_000);
        (seen.class.as_str(), from.map_or("asked", Flag::as_str), since)
    }

    /// Hosts that were asked, each as often as that happened.
    fn asked(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self.web.log().into_iter().map(|(_, request)| request.host).collect();
        hosts.sort();
        hosts
    }

    /// Decisions on `/x`, which the rules forbid, and `/y`, under rfc9309, conservative and google.
    fn decisions(&self, host: &str) -> [String; 3] {
        ["rfc9309", "conservative", "google"].map(|policy| {
            let folder = temporary();
            write(folder.path(), "urls.txt", format!("http://{host}/x\nhttp://{host}/y\n"));
            let from = self.folder.to_str().expect("a path");
            let arguments = [
                "audit",
                "--from",
                from,
                "--policy",
                policy,
                "--crawlers",
                "GPTBot",
                "--urls",
                "urls.txt",
                "-o",
                "out",
            ];
            run(folder.path(), &arguments, 0);
            let rows = table(&folder.path().join("out"), "decisions", &["decision", "decision_source"]);
            let words = |row: Vec<Option<String>>| row.into_iter().flatten().collect::<Vec<_>>().join(" ");
            rows.into_iter().map(words).collect::<Vec<_>>().join(", ")
        })
    }
}

fn ok(headers: &[(&'static str, &'static str)]) -> Response {
    let response = Response::status(200).body(Body::Octets(RULES.into()));
    headers.iter().fold(response, |response, (name, value)| response.header(name, *value))
}

fn robots(host: &str, response: Response) -> Route {
    Route::robots(Scheme::Http, host, response)
}

/// A 304 for those who show the validator, and nothing of use for others.
fn unchanged(host: &str, name: &str, value: &str) -> Vec<Route> {
    let mut route = robots(host, Response::status(304));
    route.match_headers = vec![(name.to_owned(), value.to_owned())];
    vec![route, robots(host, Response::status(500))]
}

const DENY: &str = "deny unreachable, deny unreachable";
const DEFER: &str = "defer unreachable, defer unreachable";
const ALLOW: &str = "allow unreachable, allow unreachable";
const BY_RULES: &str = "deny rule, allow no_match";

#[test]
fn copies_outages_and_a_clock_that_was_set_back() {
    const STEADY: &str = "http://steady.test";
    const SHORT: &str = "http://short.test";
    const LOST: &str = "http://lost.test";
    const GONE: &str = "http://gone.test";
    const NEVER: &str = "http://never.test";
    const ALL: [&str; 5] = [STEADY, SHORT, LOST, GONE, NEVER];
    let mut runs = Runs::new();
    let well = || {
        Script::new(vec![
            robots("steady.test", ok(&[("ETag", ETAG)])),
            robots("short.test", ok(&[("Cache-Control", "max-age=3600")])),
            robots("lost.test", ok(&[("ETag", ETAG)])),
            robots("gone.test", ok(&[("Last-Modified", "Mon, 02 Nov 2026 08:00:00 GMT")])),
            robots("never.test", Response::status(503)),
        ])
    };
    let ill = || {
        let mut routes = unchanged("steady.test", "if-none-match", ETAG);
        routes.push(robots("short.test", Response::status(404)));
        routes.push(robots("lost.test", Response::status(503)));
        routes.push(robots("never.test", Response::status(503)));
        let mut script = Script::new(routes);
        script.names.listed.insert("gone.test".into(), vec![NameAnswer::NxDomain]);
        script
    };

    let first = runs.run(0, &ALL, well());
    assert_eq!(first.of("steady.test"), ("ok", "asked", None));
    assert_eq!(first.of("never.test"), ("server_error", "asked", None), "nothing is known from before");
    assert_eq!(first.decisions("never.test"), [DENY, DEFER, DENY]);

    let fresh = runs.run(2, &ALL, well());
    assert_eq!(fresh.asked(), ["never.test", "short.test"]);
    assert_eq!(fresh.of("steady.test"), ("ok", "from_cache", None));
    assert_eq!(fresh.seen["steady.test"].fetch_time, Some(0), "the time of the answer");
    assert_eq!(fresh.seen["steady.test"].attempts, Some(0));
    assert_eq!(fresh.of("never.test"), ("server_error", "asked", Some(0)));
    assert_eq!(fresh.decisions("steady.test"), [BY_RULES; 3]);

    let stale = runs.run(25, &ALL, ill());
    assert_eq!(stale.of("steady.test"), ("ok", "revalidated", None));
    assert_eq!(stale.seen["steady.test"].headers.etag.as_deref(), Some(ETAG));
    assert_eq!(stale.of("short.test"), ("missing", "asked", None));
    assert_eq!(stale.of("lost.test"), ("server_error", "asked", Some(25)));
    assert_eq!(stale.of("gone.test"), ("dns_nxdomain", "asked", Some(25)));
    assert_eq!(stale.decisions("steady.test"), [BY_RULES; 3]);
    assert_eq!(stale.decisions("lost.test"), [DENY, DEFER, DENY]);
    assert_eq!(stale.decisions("never.test"), [DENY, DEFER, ALLOW], "a day, and no copy");

    let half_a_day = runs.run(37, &ALL, ill());
    assert_eq!(half_a_day.asked(), ["lost.test", "never.test"], "what was confirmed or missing is fresh again");
    assert_eq!(half_a_day.of("lost.test"), ("server_error", "asked", Some(25)));
    assert_eq!(half_a_day.decisions("lost.test"), [DENY, DEFER, BY_RULES]);
    assert_eq!(half_a_day.decisions("gone.test"), [DENY, DEFER, BY_RULES]);

    let a_month = runs.run(25 + 30 * 24, &ALL, ill());
    assert_eq!(a_month.of("lost.test"), ("server_error", "asked", Some(25)));
    assert_eq!(a_month.decisions("lost.test"), [BY_RULES, DEFER, ALLOW], "it still answers HTTP");
    assert_eq!(a_month.decisions("gone.test"), [BY_RULES, DEFER, DENY], "it does not");
    assert_eq!(a_month.decisions("never.test"), [ALLOW, DEFER, ALLOW]);
    assert_eq!(table(&a_month.folder, "bodies", &["octets"]).len(), 1, "the copy went from run to run");

    let mut back = unchanged("lost.test", "if-none-match", ETAG);
    back.extend(unchanged("gone.test", "if-modified-since", "Mon, 02 Nov 2026 08:00:00 GMT"));
    back.extend(unchanged("steady.test", "if-none-match", ETAG));
    let healed = runs.run(26 + 30 * 24, &[STEADY, LOST, GONE], Script::new(back));
    for host in ["lost.test", "gone.test"] {
        assert_eq!(healed.of(host), ("ok", "revalidated", None), "the validators went from run to run");
        assert_eq!(healed.decisions(host), [BY_RULES; 3]);
    }

    let set_back = runs.run(1, &[LOST], well());
    assert_eq!(set_back.asked(), ["lost.test"], "an answer from the future is not fresh");
    assert_eq!(set_back.of("lost.test"), ("ok", "asked", None));
}

#[test]
fn header_fields_stay_with_a_copy_and_a_304_replaces_those_it_has() {
    const HOSTS: [&str; 3] = ["http://kept.test", "http://changed.test", "http://silent.test"];
    let mut runs = Runs::new();
    let fields = [("ETag", ETAG), ("X-Robots-Tag", "noai"), ("X-Robots-Tag", "x: noml"), ("TDM-Reservation", "1")];
    let answers = |host| robots(host, ok(&fields));
    runs.run(0, &HOSTS, Script::new(["kept.test", "changed.test", "silent.test"].map(answers).into()));
    let told = |run: &Run, host: &str| -> Vec<String> {
        HeaderFact::of(&run.seen[host]).iter().map(HeaderFact::in_words).collect()
    };
    let fresh = runs.run(1, &HOSTS, Script::new(Vec::new()));
    assert_eq!(fresh.of("kept.test"), ("ok", "from_cache", None));
    assert_eq!(told(&fresh, "kept.test"), ["noai", "noml, to x", "reserved"]);
    for hour in [25, 50] {
        let mut changed = unchanged("changed.test", "if-none-match", ETAG);
        let newer = Response::status(304).header("X-Robots-Tag", "noimageai").header("Content-Usage", "search=y");
        changed[0].answer = newer.into();
        let mut silent = unchanged("silent.test", "if-none-match", ETAG);
        silent[0].answer = Response::status(304).header("X-Robots-Tag", "noindex").into();
        let kept = unchanged("kept.test", "if-none-match", ETAG);
        let run = runs.run(hour, &HOSTS, Script::new([kept, changed, silent].concat()));
        assert_eq!(run.of("changed.test"), ("ok", "revalidated", None));
        assert_eq!(told(&run, "kept.test"), ["noai", "noml, to x", "reserved"]);
        assert_eq!(told(&run, "changed.test"), ["reserved", "noimageai", "search allow"]);
        assert_eq!(told(&run, "silent.test"), ["reserved"], "none of the terms is left");
    }
}

#[test]
fn an_outage_is_no_longer_for_a_clock_that_was_set_back() {
    let mut runs = Runs::new();
    let script = || Script::new(vec![robots("a.test", Response::status(503))]);
    runs.run(5_000, &["http://a.test"], script());
    runs.run(5_010, &["http://a.test"], script());
    let set_back = runs.run(10, &["http://a.test"], script());
    assert_eq!(set_back.of("a.test"), ("server_error", "asked", Some(5_000)));
    assert_eq!(set_back.decisions("a.test"), [DENY, DEFER, DENY]);
}

#[test]
fn rules_behind_a_redirect_are_kept_for_the_first_origin_only() {
    const TO: &str = "http://b.test/r";
    let mut runs = Runs::new();
    let moved = || robots("a.test", Response::redirect(301, TO));
    let there = |response| Route::at(Scheme::Http, "b.test", "/r", response);
    let first = runs.run(0, &["http://a.test"], Script::new(vec![moved(), there(ok(&[("ETag", ETAG)]))]));
    assert_eq!(first.asked(), ["a.test", "b.test"]);
    let second = runs.run(1, &["http://a.test", "http://b.test"], Script::new(vec![moved(), there(ok(&[]))]));
    assert_eq!(second.of("a.test"), ("ok", "from_cache", None));
    assert_eq!(second.seen["a.test"].final_url.as_deref(), Some(TO));
    assert_eq!(second.seen["a.test"].redirects, first.seen["a.test"].redirects);
    assert_eq!(second.asked(), ["b.test"]);
    assert_eq!(second.of("b.test"), ("missing", "asked", None));
    let mut unchanged = there(Response::status(304));
    unchanged.match_headers = vec![("if-none-match".to_owned(), ETAG.to_owned())];
    let third = runs.run(30, &["http://a.test"], Script::new(vec![moved(), unchanged]));
    assert_eq!(third.of("a.test"), ("ok", "revalidated", None));
    let conditional: Vec<bool> =
        third.web.log().iter().map(|(_, request)| request.holds("if-none-match", ETAG)).collect();
    assert_eq!(conditional, [false, true], "the validator goes where it came from");
}

#[test]
fn a_304_that_nobody_asked_for_is_no_answer() {
    let mut runs = Runs::new();
    runs.run(0, &["http://a.test"], Script::new(vec![robots("a.test", ok(&[("ETag", "no tag")]))]));
    let second = runs.run(25, &["http://a.test"], Script::new(vec![robots("a.test", Response::status(304))]));
    assert_eq!(second.of("a.test"), ("protocol_error", "asked", Some(25)));
    assert_eq!(second.seen["a.test"].body_sha256, Some(Sha256::digest(RULES).into()));
}

#[test]
fn of_two_rows_for_one_origin_the_newer_counts() {
    let folder = temporary();
    let target = Target::parse(b"http://a.test").expect("an origin");
    let row = |class, hour: i64| {
        let mut seen = Observation::of_class(class, None);
        seen.fetch_time = Some(hour * 3_600_000_000);
        row_of(&target, seen)
    };
    let rows = [row(FetchClass::Missing, 2), row(FetchClass::BlockedAddress, 3), row(FetchClass::Timeout, 1)];
    write_snapshot(folder.path(), &rows, &BTreeMap::new());
    let history = History::open(&Snapshot::open(folder.path()).expect("a snapshot")).expect("a history");
    assert_eq!((history.len(), history.find(&target.origin)), (1, None), "a refused address is nothing to go by");
    write_snapshot(folder.path(), &rows[..1], &BTreeMap::new());
    let history = History::open(&Snapshot::open(folder.path()).expect("a snapshot")).expect("a history");
    assert!(history.find(&target.origin).is_some());
    assert!(history.find(&Origin::of_url(b"https://a.test").expect("an origin")).is_none());
}

#[test]
fn bodies_are_found_by_name_among_many() {
    let folder = temporary();
    let all: Vec<Bytes> = (0..5_000).map(|n| Bytes::from(format!("User-agent: *\nDisallow: /{n}\n"))).collect();
    let hash = |body: &Bytes| BodyHash::from(Sha256::digest(body));
    let stored = all.iter().map(|body| (hash(body), body.clone())).collect();
    write_snapshot(folder.path(), &[], &stored);
    let snapshot = Snapshot::open(folder.path()).expect("a snapshot");
    let wanted: HashSet<BodyHash> = all.iter().step_by(700).map(hash).chain([[9; 32]]).collect();
    let found = snapshot.bodies_named(Arc::new(wanted.clone())).map(|body| body.expect("a body"));
    let found: HashSet<BodyHash> = found.map(|(hash, _)| hash).collect();
    assert_eq!(found.len(), wanted.len() - 1);
    assert!(found.is_subset(&wanted));
    assert_eq!(snapshot.bodies_named(Arc::default()).count(), 0);
}

#[test]
fn a_snapshot_of_another_format_is_refused() {
    let folder = temporary();
    write_snapshot(folder.path(), &[], &BTreeMap::new());
    let path = folder.path().join("fetches/part-00000.parquet");
    let octets = std::fs::read(&path).expect("a file");
    let key = b"robots_audit.format";
    let place = octets.windows(key.len()).rposition(|octets| octets == key).expect("the key in the footer");
    let mut other = octets;
    let version = *FORMAT_VERSION.as_bytes().first().expect("a version");
    let value = other[place + key.len()..].iter().position(|octet| *octet == version).expect("the version");
    other[place + key.len() + value] = b'9';
    std::fs::write(&path, other).expect("a file");
    let error = Snapshot::open(folder.path()).expect_err("another format");
    assert!(matches!(&error, SnapshotError::Format { found, .. } if found == "9"), "{error}");
    write(folder.path(), "origins.txt", "http://127.0.0.1:1\n");
    let arguments = ["fetch", "origins.txt", "--contact", "a@b.test", "--reuse", ".", "-o", "out"];
    let (_, stderr) = run(folder.path(), &arguments, 3);
    assert!(stderr.contains("format 9"), "{stderr}");
    assert!(!folder.path().join("out").exists(), "known before any work");
    let (_, stderr) = run(folder.path(), &[&arguments[..arguments.len() - 1], &["."]].concat(), 3);
    assert!(stderr.contains("cannot be the output folder"), "{stderr}");
    let (_, stderr) =
        run(folder.path(), &["fetch", "a.test", "--contact", "a@b.test", "--reuse", "no", "-o", "out"], 3);
    assert!(stderr.contains("is no snapshot"), "{stderr}");
}
