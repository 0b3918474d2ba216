//! Replays the fetch cases of the shared case file over loopback, through the real fetcher.
//!
//! No case is left out.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::fs;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use robots_audit::demo::answer::{Answer, Body, Certificate, Door, End, Framing, Pace, Response, Route};
use robots_audit::demo::script::{LOCALHOST, Script};
use robots_audit::demo::web::ScriptedWeb;
use robots_audit::origin::{Scheme, Target};
use robots_audit::robots::access::{FetchClass, Flag, Outcome, Policy, Reason};
use robots_audit::robots::decision;
use robots_audit::robots::parse::Robots;
use robots_audit::robots::token::{Asked, Matching};
use robots_audit::robots::verdict;
use robots_audit::source::clock::Clock;
use robots_audit::source::history::History;
use robots_audit::source::http::{FetchLimits, FetchSettings, Fetched, Fetcher, NameAnswer, Network, user_agent};
use robots_audit::source::snapshot::Snapshot;
use robots_audit::tables::fetches::Observation;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::program::temporary;
use crate::reuse::{row_of, write_snapshot};
use crate::shared;

/// Replays at the same time.
const THREADS: usize = 4;
const PRODUCT_TOKEN: &str = "robots-audit";

#[test]
fn every_fetch_case_holds() {
    let Some(cases) = fetch_cases() else { return };
    let queue = Mutex::new(cases.iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(case) = { queue.lock().expect("no panic").next() } {
                    let problems = replay(case);
                    failed.lock().expect("no panic").extend(problems);
                }
            });
        }
    });
    let mut failed = failed.into_inner().expect("no panic");
    failed.sort();
    assert!(failed.is_empty(), "{} expectations do not hold:\n{}", failed.len(), failed.join("\n"));
}

/// The fetch cases; `None` where this checkout has no case file beside it.
fn fetch_cases() -> Option<Vec<Value>> {
    let lines = fs::read_to_string(shared::folder("fetch cases")?.join("cases/cases.jsonl")).expect("readable");
    let cases = lines.lines().map(|line| serde_json::from_str(line).expect("a case is JSON"));
    Some(cases.filter(|case| text(case, "kind") == "fetch").collect())
}

/// Plays one case and lists what does not hold.
fn replay(case: &Value) -> Vec<String> {
    let web = ScriptedWeb::of_script(script(case)).expect("a web on loopback");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let known = Known::of(case);
    let fetcher = || fetcher(&web, case, known.history.clone());
    let mut run =
        Run { case, web: &web, fetcher: fetcher(), copy: known.body, done: HashMap::new(), problems: Vec::new() };
    let whole = std::slice::from_ref(case);
    for check in case["checks"].as_array().map_or(whole, Vec::as_slice) {
        if check["new_run"] == true {
            run.done.clear();
            run.fetcher = fetcher();
        }
        runtime.block_on(run.check(check));
    }
    run.problems
}

/// What an earlier run knows.
struct Known {
    history: Option<Arc<History>>,
    /// The body of the last good answer; nothing where there is none.
    body: Bytes,
}

impl Known {
    fn of(case: &Value) -> Self {
        let stored = &case["history"];
        let body = Bytes::from(text(stored, "body").to_owned());
        if stored.is_null() {
            return Self { history: None, body };
        }
        let target = Target::parse(text(case, "origin").as_bytes()).expect("an origin");
        let ago = |name: &str| stored[name].as_i64().map(|seconds| Clock::System.now_micros() - seconds * 1_000_000);
        let mut seen = Observation::of_class(FetchClass::Ok, None);
        seen.fetch_time = ago("age_s");
        if let Some(since) = ago("unreachable_s") {
            seen.class = FetchClass::ServerError;
            seen.unreachable_since = Some(since);
            seen.fetch_time = Some(since);
        }
        let field = |name: &str| stored[name].as_str().map(str::to_owned);
        seen.headers.etag = field("etag");
        seen.headers.last_modified = field("last_modified");
        seen.headers.cache_control = field("cache_control");
        let mut bodies = BTreeMap::new();
        if !stored["body"].is_null() {
            let hash = Sha256::digest(&body).into();
            seen.body_sha256 = Some(hash);
            bodies.insert(hash, body.clone());
        }
        let folder = temporary();
        write_snapshot(folder.path(), &[row_of(&target, seen)], &bodies);
        let history = Snapshot::open(folder.path()).and_then(|snapshot| History::open(&snapshot));
        Self { history: Some(Arc::new(history.expect("a history"))), body }
    }
}

/// No retries but where the case asks for them, and no pacing: all names share one address.
fn fetcher(web: &ScriptedWeb, case: &Value, history: Option<Arc<History>>) -> Fetcher {
    let seconds = Duration::from_secs;
    let limits = FetchLimits {
        connect: seconds(2),
        headers: seconds(2),
        idle: seconds(2),
        attempt: seconds(5),
        ..FetchLimits::default()
    };
    let retries = case["client"]["retries"].as_u64().unwrap_or_default();
    let agent = user_agent(PRODUCT_TOKEN, "https://contact.test/").expect("a user agent");
    Fetcher::new(FetchSettings {
        limits,
        allowed_addresses: ["127.0.0.1/32", "::1/128"].map(|range| range.parse().expect("a range")).to_vec(),
        retries: u16::try_from(retries).expect("a small number"),
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        history,
        ..FetchSettings::new(agent, Network::Embedded(web.network()))
    })
    .expect("a fetcher")
}

/// One replay: what was fetched so far, and what did not hold.
struct Run<'a> {
    case: &'a Value,
    web: &'a ScriptedWeb,
    fetcher: Fetcher,
    copy: Bytes,
    done: HashMap<String, Fetched>,
    problems: Vec<String>,
}

impl Run<'_> {
    async fn check(&mut self, check: &Value) {
        let expect = &check["expect"];
        let started = Instant::now();
        let before = self.web.requests();
        let input = text(check, "origin");
        let (origin, fetched) = match Target::parse(input.as_bytes()) {
            Ok(target) => {
                let origin = target.origin.as_str().to_owned();
                (origin, self.fetch_once(&target).await)
            }
            Err(reason) => (String::new(), invalid(reason)),
        };
        if let Some(least) = expect["wait_ms_min"].as_u64() {
            let elapsed = started.elapsed();
            self.hold("wait_ms_min", elapsed >= Duration::from_millis(least), &elapsed);
        }
        if let Some(most) = expect["wall_ms_max"].as_u64() {
            let elapsed = started.elapsed();
            self.hold("wall_ms_max", elapsed <= Duration::from_millis(most), &elapsed);
        }
        self.observation(expect, &fetched);
        self.body(expect, &fetched);
        self.requests(expect, before);
        self.decisions(check, &origin, &fetched);
        if let Some(expected) = expect["origin"].as_str() {
            self.hold("origin", origin == expected, &origin);
        }
    }

    async fn fetch_once(&mut self, target: &Target) -> Fetched {
        let origin = target.origin.as_str();
        if let Some(fetched) = self.done.get(origin) {
            return fetched.clone();
        }
        let fetched = self.fetcher.fetch(target).await;
        self.done.insert(origin.to_owned(), fetched.clone());
        fetched
    }

    fn hold(&mut self, what: &str, holds: bool, seen: &dyn Debug) {
        if !holds {
            let (id, note) = (text(self.case, "id"), text(self.case, "note"));
            self.problems.push(format!("{id} {what}: {seen:?} ({note})"));
        }
    }

    fn observation(&mut self, expect: &Value, fetched: &Fetched) {
        let seen = &fetched.observation;
        let context = (seen.class, seen.reason, seen.status, &seen.final_url);
        match (expect["fetch_class"].as_str(), expect["fetch_class_any"].as_array()) {
            (Some(class), _) => self.hold("fetch_class", seen.class.as_str() == class, &context),
            (None, Some(classes)) => {
                self.hold("fetch_class_any", classes.iter().any(|class| class == seen.class.as_str()), &context);
            }
            (None, None) => self.hold("fetch_class", false, &"the case expects no class"),
        }
        let facts = [
            ("reason", seen.reason.map(|reason| reason.as_str().into())),
            ("hops", seen.hops.map(Into::into)),
            ("final_url", seen.final_url.as_deref().map(Into::into)),
            ("attempts", seen.attempts.map(Into::into)),
            ("retry_after_s", seen.retry_after_s.map(Into::into)),
            ("scheme_used", seen.scheme_used.map(|scheme| scheme.as_str().into())),
        ];
        for (name, fact) in facts {
            if let Some(expected) = expect.get(name) {
                self.hold(name, fact.as_ref() == Some(expected), &fact);
            }
        }
        for name in strings(&expect["flags"]) {
            let flag = Flag::from_name(name).expect("a known flag");
            self.hold(name, seen.flags.contains(flag), &seen.flags.iter().collect::<Vec<_>>());
        }
    }

    fn body(&mut self, expect: &Value, fetched: &Fetched) {
        let octets = fetched.body.as_ref().map(|body| body.len() as u64);
        let seen = &fetched.observation;
        let is_stored = [Flag::FromCache, Flag::Revalidated].iter().any(|flag| seen.flags.contains(*flag));
        self.hold("body", fetched.body.is_some() == (seen.class.has_body() && !is_stored), &octets);
        if let Some(most) = expect["decoded_bytes_max"].as_u64() {
            self.hold("decoded_bytes_max", octets.is_none_or(|octets| octets <= most), &octets);
        }
    }

    fn requests(&mut self, expect: &Value, before: usize) {
        let total = self.web.requests();
        let exact = |name: &str, seen: usize| expect[name].as_u64().is_none_or(|expected| seen as u64 == expected);
        self.hold("requests", exact("requests", total - before), &(total - before));
        self.hold("requests_total", exact("requests_total", total), &total);
        let fits = expect["requests_max"].as_u64().is_none_or(|most| (total - before) as u64 <= most);
        self.hold("requests_max", fits, &(total - before));
        for address in strings(&expect["connects_forbidden"]) {
            let connections = self.web.connections_to(address.parse().expect("an address"));
            self.hold("connects_forbidden", connections == 0, &connections);
        }
        for (_, request) in self.web.log() {
            let plain = request.method == "GET" && request.holds("user-agent", PRODUCT_TOKEN);
            self.hold("request", plain && request.holds("user-agent", "(+https://"), &request);
            if let Some(expected) = expect["host_header"].as_str() {
                self.hold("host_header", request.host == expected, &request.host);
            }
            for name in strings(&expect["forbid_request_headers"]) {
                self.hold("forbid_request_headers", !request.holds(name, ""), &name);
            }
        }
    }

    fn decisions(&mut self, check: &Value, origin: &str, fetched: &Fetched) {
        let expect = &check["expect"];
        let url = match text(check, "url") {
            path if path.starts_with('/') && !path.starts_with("//") => format!("{origin}{path}"),
            url => url.to_owned(),
        };
        let agent = text(self.case, "agent");
        for (policy, expected) in expect["decision"].as_object().into_iter().flatten() {
            let policy = Policy::from_name(policy).expect("a known policy");
            let seen = self.decide(policy, fetched, agent, &url);
            // The case file spells one decision as the policy documents do.
            self.hold(
                policy.as_str(),
                expected.as_str().map(|name| name.replace('-', "_")).as_deref() == Some(seen.decision.as_str()),
                &seen,
            );
            if let (Some(hit), Some(line)) = (seen.hit, expect["line"].as_u64()) {
                self.hold("line", u64::from(u32::from(hit.line)) == line, &seen);
            }
            let outcome = policy.outcome(fetched.observation.class, fetched.observation.outage());
            let wants_line = expect["line"].is_u64() && outcome == Outcome::Rules;
            self.hold("line", !wants_line || seen.hit.is_some(), &seen);
        }
    }

    /// What a policy decides for one URL, by the rules of the body, or of the last good copy, where they count.
    fn decide(&self, policy: Policy, fetched: &Fetched, agent: &str, url: &str) -> decision::Answer {
        let seen = &fetched.observation;
        decision::Answer::without_rules(policy, seen.class, seen.outage()).unwrap_or_else(|| {
            let body = fetched.body.as_ref().unwrap_or(&self.copy);
            let asked = Asked::named(agent, Matching::Rfc9309).expect("a product token");
            let robots = Robots::parse(body, Matching::Rfc9309);
            decision::Answer::of_verdict(verdict::of_url(&robots, &asked, url.as_bytes()))
        })
    }
}

fn invalid(reason: Reason) -> Fetched {
    Fetched { observation: Observation::of_class(FetchClass::InvalidTarget, Some(reason)), body: None }
}

/// The script that a case asks for.
fn script(case: &Value) -> Script {
    let mut script = Script::new(Vec::new());
    for (name, answers) in case["dns"].as_object().into_iter().flatten() {
        script.names.listed.insert(name.clone(), name_answers(answers));
    }
    for answer in case["server"].as_array().expect("every fetch case has a server") {
        let scheme = if answer["scheme"] == "https" { Scheme::Https } else { Scheme::Http };
        let host = text(answer, "host");
        if let Some(certificate) = answer["tls"].as_str() {
            script.certificates.insert(host.to_owned(), certificate_of(certificate));
        }
        match answer["connect"].as_str() {
            Some(connect) => {
                script.places.insert((LOCALHOST, scheme.default_port()), door_of(connect));
            }
            None => script.routes.push(route(scheme, host, answer)),
        }
    }
    script.watched = watched(case);
    script
}

/// The addresses that a case does not want to see connections to.
fn watched(case: &Value) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = std::iter::once(case)
        .chain(case["checks"].as_array().into_iter().flatten())
        .flat_map(|check| strings(&check["expect"]["connects_forbidden"]))
        .map(|address| address.parse().expect("an address"))
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// A list of addresses is one answer; a list of anything else is one answer a look-up.
fn name_answers(answers: &Value) -> Vec<NameAnswer> {
    let is_address = |value: &Value| value.as_str().is_some_and(|text| text.parse::<IpAddr>().is_ok());
    match answers.as_array() {
        Some(list) if !list.iter().all(is_address) => list.iter().flat_map(name_answers).collect(),
        Some(list) if list.is_empty() => vec![NameAnswer::NoData],
        Some(list) => {
            let addresses = list.iter().filter_map(Value::as_str).map(|text| text.parse().expect("an address"));
            vec![NameAnswer::Addresses(addresses.collect())]
        }
        None => vec![match answers.as_str() {
            Some("NXDOMAIN") => NameAnswer::NxDomain,
            Some("SERVFAIL") => NameAnswer::Failure,
            Some("TIMEOUT") => NameAnswer::Timeout,
            other => panic!("unknown answer {other:?}"),
        }],
    }
}

fn certificate_of(name: &str) -> Certificate {
    match name {
        "valid" => Certificate::Valid,
        "expired" => Certificate::Expired,
        "wrong-host" => Certificate::WrongHost,
        "self-signed" => Certificate::SelfSigned,
        "plain-http" => Certificate::PlainHttp,
        other => panic!("unknown certificate {other}"),
    }
}

fn door_of(name: &str) -> Door {
    match name {
        "refused" => Door::Refused,
        "blackhole" => Door::Blackhole,
        "accept-close" => Door::AcceptClose,
        other => panic!("unknown connect {other}"),
    }
}

fn route(scheme: Scheme, host: &str, answer: &Value) -> Route {
    let path = answer["path"].as_str().unwrap_or("/robots.txt");
    let mut route = Route::at(scheme, host, path, answer_of(answer));
    route.nth = answer["nth"].as_u64().map(|nth| u32::try_from(nth).expect("a small number"));
    route.method = answer["method"].as_str().map(str::to_owned);
    route.match_headers = pairs(&answer["match_headers"])
        .map(|(name, part)| (name.to_ascii_lowercase(), part.as_str().expect("a text").to_owned()))
        .collect();
    route
}

fn answer_of(answer: &Value) -> Answer {
    if let Some(raw) = answer["raw_b64"].as_str() {
        return Answer::Raw(base64(raw).into());
    }
    if let Some(repeat) = answer["raw_repeat_b64"].as_str() {
        return Answer::RawRepeat {
            prefix: base64(answer["raw_prefix_b64"].as_str().unwrap_or_default()).into(),
            repeat: base64(repeat).into(),
            interval: Duration::from_millis(answer["interval_ms"].as_u64().expect("an interval")),
        };
    }
    let status = u16::try_from(answer["status"].as_u64().expect("a status")).expect("a status");
    let mut response = Response::status(status).body(body_of(answer)).framing(framing_of(&answer["framing"]));
    if let Some(version) = answer["version"].as_str() {
        response.version = version.to_owned().into();
    }
    if let Some(reason) = answer["reason"].as_str() {
        response.reason = reason.to_owned().into();
    }
    for (name, value) in pairs(&answer["headers"]) {
        response.headers.push((name.to_owned().into(), header_value(value).into()));
    }
    response.end = match answer["end"].as_str() {
        None | Some("fin") => End::Fin,
        Some("rst") => End::Reset,
        Some("tcp-fin-no-close-notify") => End::FinWithoutNotify,
        Some(other) => panic!("unknown end {other}"),
    };
    response.pace = pace_of(&answer["delay"]);
    response.into()
}

fn header_value(value: &Value) -> Vec<u8> {
    if let Some(text) = value.as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(octets) = value["b64"].as_str() {
        return base64(octets);
    }
    let count = usize::try_from(value["bytes"].as_u64().expect("a count")).expect("a count");
    text(value, "repeat").bytes().cycle().take(count).collect()
}

fn body_of(answer: &Value) -> Body {
    if let Some(octets) = answer["body_b64"].as_str() {
        return Body::Octets(base64(octets).into());
    }
    let Some(made) = answer.get("body_gen") else {
        return Body::Octets(answer["body"].as_str().unwrap_or_default().to_owned().into());
    };
    let part = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
    let octets = made["bytes"].as_u64().unwrap_or_default();
    match text(made, "kind") {
        "repeat" => Body::Repeat {
            prefix: part("prefix").into(),
            text: part("text").into(),
            octets,
            suffix: part("suffix").into(),
        },
        "infinite" => Body::Infinite { prefix: part("prefix").into(), text: part("text").into() },
        "gzip_repeat" => {
            Body::gzip_repeat(part("prefix").as_bytes(), part("text").as_bytes(), octets, part("suffix").as_bytes())
        }
        other => panic!("unknown body {other}"),
    }
}

fn framing_of(framing: &Value) -> Framing {
    match (framing.as_str(), framing["content_length"].as_u64()) {
        (None, Some(octets)) => Framing::FalseLength(octets),
        (None, None) => Framing::Length,
        (Some("chunked"), _) => Framing::Chunked,
        (Some("chunked-no-end"), _) => Framing::ChunkedWithoutEnd,
        (Some("close"), _) => Framing::Close,
        (Some("none"), _) => Framing::AsListed,
        (Some(other), _) => panic!("unknown framing {other}"),
    }
}

fn pace_of(delay: &Value) -> Pace {
    let millis = |name: &str| Duration::from_millis(delay[name].as_u64().unwrap_or_default());
    let chunk_octets = delay["chunk_bytes"].as_u64().map(|octets| usize::try_from(octets).expect("a small number"));
    Pace { headers: millis("headers_ms"), chunks: chunk_octets.map(|octets| (octets, millis("chunk_ms"))) }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn pairs(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_array().into_iter().flatten().map(|pair| (pair[0].as_str().expect("a name"), &pair[1]))
}

/// RFC 4648 §4, as far as the case file needs it.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut octets, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for symbol in text.bytes().filter(|symbol| *symbol != b'=') {
        let value = ALPHABET.iter().position(|known| *known == symbol).expect("base64");
        bits = bits << 6 | u32::try_from(value).expect("below 64");
        held += 6;
        if held >= 8 {
            held -= 8;
            octets.push(u8::try_from(bits >> held & 0xFF).expect("masked"));
        }
    }
    octets
}

#[test]
fn base64_is_read() {
    assert_eq!(base64("SFRUUC8xLjEgMjAwDQo="), b"HTTP/1.1 200\r\n");
    assert_eq!(base64("//5VAA=="), b"\xFF\xFEU\0");
}
