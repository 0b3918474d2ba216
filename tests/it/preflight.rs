//! The question before a fetch: five decisions from a live origin on loopback, copies that spare a request, hops that
//! are questions of their own.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

use robots_audit::audit::preflight::evidence::AnswerFrom;
use robots_audit::audit::preflight::{Identity, Preflight, Question, Terms, preflight};
use robots_audit::crawlers::AskedCrawler;
use robots_audit::demo::answer::{Body, Response, Route};
use robots_audit::demo::script::Script;
use robots_audit::demo::web::ScriptedWeb;
use robots_audit::origin::Scheme;
use robots_audit::robots::access::{FetchClass, Policy};
use robots_audit::robots::decision::{Decision, DecisionSource};
use robots_audit::robots::token::Matching;
use robots_audit::source::cache::Cache;
use robots_audit::source::clock::Clock;
use robots_audit::source::http::{FetchSettings, Fetcher, Network, user_agent};
use serde_json::{Value, json};

use crate::program::{run, temporary};

const RULES: &str = "User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\nAllow: /open/\n";

/// A server on loopback that gives one answer to every request, and counts them. It ends when it is dropped.
struct Server {
    origin: String,
    requests: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(status: u16, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let (requests, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (counted, ends) = (Arc::clone(&requests), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                answer(&mut stream.expect("a connection"), status, body, &counted);
            }
        });
        Self { origin, requests, is_over, thread: Some(thread) }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let address = self.origin.trim_start_matches("http://");
        if TcpStream::connect(address).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// Counts a whole request, before whoever sent it can know the answer.
fn answer(stream: &mut TcpStream, status: u16, body: &str, counted: &AtomicUsize) {
    let mut request = Vec::new();
    let mut octet = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut octet), Ok(1)) {
            return;
        }
        request.push(octet[0]);
    }
    assert!(request.starts_with(b"GET /robots.txt HTTP/1.1\r\n"), "the page itself is never asked for");
    counted.fetch_add(1, Ordering::SeqCst);
    let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).expect("an answer");
    // Whoever has seen the whole answer may have closed already.
    let _ = stream.shutdown(Shutdown::Write);
}

/// Runs `check URL --live` with copies in `copies`, and gives back the record.
fn check(folder: &Path, url: &str, more: &[&str], code: i32) -> Value {
    let (stdout, stderr) = run(folder, &[&arguments(url)[..], &["--format", "json"], more].concat(), code);
    assert_eq!(stderr, "");
    serde_json::from_str(&stdout).expect("JSON")
}

fn arguments(url: &str) -> [&str; 11] {
    [
        "check",
        url,
        "--live",
        "--contact",
        "https://example.org/about",
        "--allow-address",
        "127.0.0.1/32",
        "--retries",
        "0",
        "--cache",
        "copies",
    ]
}

fn copies(folder: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder.join("copies")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    files.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn all_five_decisions_of_a_live_origin() {
    let (rules, none, ill) = (Server::start(200, RULES), Server::start(404, ""), Server::start(503, ""));
    let folder = temporary();
    let exit = "--exit-code";
    for (url, more, code, decision, status) in [
        (rules.url("/open/x"), &["--as", "GPTBot", exit][..], 0, "allow", Some(200)),
        (rules.url("/x"), &["--as", "GPTBot", exit], 2, "deny", Some(200)),
        (none.url("/x"), &["--as", "GPTBot", exit], 0, "allow", Some(404)),
        (none.url("/x"), &["--as", "GPTBot", exit, "--policy", "conservative"], 0, "allow_by_policy", Some(404)),
        (none.url("/x"), &["--as", "GPTBot", exit, "--missing", "defer"], 2, "defer", Some(404)),
        (ill.url("/x"), &["--as", "GPTBot", exit, "--policy", "conservative"], 2, "defer", Some(503)),
        (ill.url("/x"), &["--as", "GPTBot", exit], 2, "deny", Some(503)),
        (ill.url("/x"), &["--as", "GPTBot"], 0, "deny", Some(503)),
        (rules.url("/open/x"), &["--preflight", exit], 2, "unresolved", None),
        (rules.url("/open/x"), &["--as", "", exit], 2, "unresolved", None),
        ("ftp://127.0.0.1/x".to_owned(), &["--as", "GPTBot", exit], 2, "unresolved", None),
        ("127.0.0.1/x".to_owned(), &["--as", "GPTBot", exit], 2, "unresolved", None),
    ] {
        let record = check(folder.path(), &url, more, code);
        assert_eq!(
            (record["decision"].as_str(), &record["robots_status"]),
            (Some(decision), &json!(status)),
            "{url} {more:?}"
        );
        assert_eq!(record["requested_url"], url);
    }
    assert_eq!((rules.requests(), none.requests()), (1, 1), "answers are kept");
    assert_eq!(ill.requests(), 3, "an outage is no answer that could be kept");
}

#[test]
fn the_record_says_what_was_observed_and_what_not() {
    let server = Server::start(200, RULES);
    let folder = temporary();
    let mut record = check(folder.path(), &server.url("/x"), &["--as", "gptbot"], 0);
    let checked_at = record["checked_at"].take();
    assert!(checked_at.as_str().is_some_and(|time| time.starts_with("20") && time.ends_with('Z')), "{checked_at}");
    assert_eq!(record["answers"].as_array().map(Vec::len), Some(1));
    record["answers"] = Value::Null;
    let expected = json!({
        "requested_url": server.url("/x"),
        "checked_origin": server.origin,
        "crawler_identity": "gptbot",
        "robots_status": 200,
        "matched_rule": "Disallow: /",
        "decision": "deny",
        "checked_at": null,
        "fetch_status": null,
        "observed_final_url": null,
        "hops": null,
        "redirects_observed": null,
        "decided_by": server.url("/x"),
        "decision_source": "rule",
        "group_source": "named",
        "rule_line": 5,
        "robots_class": "ok",
        "reason": null,
        "answer_from": "network",
        "header_fields": [],
        "policy": "rfc9309",
        "matching": "rfc9309",
        "missing": "allow",
        "answers": null,
    });
    assert_eq!(record, expected);
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("text");
    let (_, told) = readme.split_once("\nThe record, in this order;").expect("a table");
    let told = told.split("\n## ").next().expect("its text").lines().filter_map(|line| line.strip_prefix("| `"));
    let told: Vec<&str> = told.filter_map(|line| line.split('`').next()).collect();
    let fields: Vec<&str> = expected.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(told, fields, "the document has the fields in their order");
    let nobody = check(folder.path(), &server.url("/x"), &["--preflight"], 0);
    assert_eq!((&nobody["reason"], &nobody["checked_at"]), (&json!("no_identity"), &Value::Null));
}

#[test]
fn the_next_call_makes_no_request() {
    let server = Server::start(200, RULES);
    let folder = temporary();
    let first = check(folder.path(), &server.url("/private/a"), &["--as", "FooBot"], 0);
    let second = check(folder.path(), &server.url("/private/b"), &["--as", "FooBot"], 0);
    let third = check(folder.path(), &server.url("/b"), &["--as", "CCBot"], 0);
    assert_eq!(server.requests(), 1);
    for (record, decision, from) in
        [(&first, "deny", "network"), (&second, "deny", "cache"), (&third, "allow", "cache")]
    {
        assert_eq!((&record["decision"], &record["answer_from"]), (&json!(decision), &json!(from)));
    }
    assert_eq!(first["checked_at"], second["checked_at"], "the time of the answer");
    assert_eq!((&second["matched_rule"], &second["robots_status"]), (&json!("Disallow: /private/"), &json!(200)));
    let url = server.url("/b");
    let mut uncached = arguments(&url).to_vec();
    uncached.truncate(9);
    run(folder.path(), &[&uncached[..], &["--as", "FooBot", "--no-cache"]].concat(), 0);
    assert_eq!(server.requests(), 2);
}

#[test]
fn a_damaged_copy_is_none() {
    let server = Server::start(200, RULES);
    let folder = temporary();
    let ask = || check(folder.path(), &server.url("/private/a"), &["--as", "FooBot"], 0)["decision"].clone();
    assert_eq!(ask(), "deny");
    let [copy] = &copies(folder.path())[..] else { panic!("one copy") };
    let whole = fs::read_to_string(copy).expect("text");
    for damaged in [whole.replace("/private/", "/nothing/"), whole[..whole.len() / 2].to_owned(), String::new()] {
        fs::write(copy, damaged).expect("written");
        assert_eq!(ask(), "deny");
    }
    assert_eq!(server.requests(), 4);
    assert_eq!(fs::read_to_string(copy).expect("text").len(), whole.len(), "it is whole again");
    assert_eq!(ask(), "deny");
    assert_eq!(server.requests(), 4);
}

#[test]
fn a_hop_to_another_origin_is_a_question_of_its_own() {
    let (first, second) = (Server::start(200, RULES), Server::start(200, "User-agent: *\nDisallow: /login\n"));
    let folder = temporary();
    let (url, within, away) = (first.url("/open/a"), first.url("/open/b"), second.url("/login?a"));
    let record = check(folder.path(), &url, &["--as", "GPTBot", "--hop", &within], 0);
    assert_eq!((&record["decision"], &record["redirects_observed"]), (&json!("allow"), &json!(1)));
    assert_eq!((first.requests(), second.requests()), (1, 0), "the same origin is asked once");

    let hops = ["--as", "GPTBot", "--hop", &within, "--hop", &away, "--exit-code"];
    let record = check(folder.path(), &url, &hops, 2);
    assert_eq!((first.requests(), second.requests()), (1, 1));
    assert_eq!(record["decision"], "deny");
    assert_eq!(record["requested_url"], url);
    assert_eq!((&record["checked_origin"], &record["decided_by"]), (&json!(second.origin), &json!(away)));
    assert_eq!(record["matched_rule"], "Disallow: /login");
    assert_eq!((&record["observed_final_url"], &record["redirects_observed"]), (&json!(away), &json!(2)));
    assert_eq!(record["hops"], json!([within, away]));
    let answers: Vec<&Value> =
        record["answers"].as_array().expect("an array").iter().map(|one| &one["decision"]).collect();
    assert_eq!(answers, ["allow", "allow", "deny"]);

    let record = check(folder.path(), &url, &["--as", "GPTBot", "--hop", "/login"], 0);
    assert_eq!((&record["decision"], &record["reason"]), (&json!("unresolved"), &json!("scheme")));
    let (stdout, _) = run(folder.path(), &[&arguments(&url)[..], &hops[..6]].concat(), 0);
    assert_eq!((first.requests(), second.requests()), (1, 1), "both are known now");
    assert!(stdout.contains("checked with the 2 redirects given"), "{stdout}");
}

#[test]
fn what_people_read() {
    let server = Server::start(200, RULES);
    let folder = temporary();
    let url = server.url("/private/a");
    let (stdout, stderr) = run(folder.path(), &[&arguments(&url)[..], &["--as", "FooBot"]].concat(), 0);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], format!("deny: FooBot, {url}"));
    assert_eq!(lines[1], "  because  line 2: Disallow: /private/, group: star");
    assert!(
        lines[2].starts_with(&format!("  seen     {}/robots.txt: ok, status 200, at 20", server.origin)),
        "{stdout}"
    );
    assert!(lines[3].starts_with("  path     not checked: "), "{stdout}");
    assert_eq!((lines.len(), &*stderr), (4, ""));
    let (stdout, _) = run(folder.path(), &[&arguments(&url)[..], &["--as", "FooBot"]].concat(), 0);
    assert!(stdout.lines().nth(2).is_some_and(|line| line.ends_with(", from the cache")), "{stdout}");
    let (stdout, _) = run(folder.path(), &[&arguments(&url)[..], &["--preflight"]].concat(), 0);
    assert!(stdout.starts_with("unresolved: nobody, "), "{stdout}");
    let (stdout, _) = run(folder.path(), &[&arguments("a.test")[..], &["--as", "FooBot"]].concat(), 0);
    assert!(stdout.contains("this is no http(s) URL in full (scheme)"), "{stdout}");
}

#[test]
fn a_header_is_no_token_and_is_warned_about() {
    let server = Server::start(200, RULES);
    let folder = temporary();
    let url = server.url("/x");
    let ask = |identity: &str| {
        let more = ["--as", identity, "--format", "json"];
        let (stdout, stderr) = run(folder.path(), &[&arguments(&url)[..], &more].concat(), 0);
        let record: Value = serde_json::from_str(&stdout).expect("JSON");
        (record["crawler_identity"].clone(), record["decision"].clone(), stderr)
    };
    let (identity, decision, stderr) = ask("Mozilla/5.0 (compatible; GPTBot/1.2; +https://a.test/)");
    assert_eq!((identity, decision), (json!("GPTBot"), json!("deny")));
    let warning =
        "warning: --as takes a product token, and this is a User-Agent header; this is the answer for GPTBot\n";
    assert_eq!(stderr, warning);
    let (identity, decision, stderr) = ask("Mozilla/5.0 (X11)");
    assert_eq!((identity, decision), (Value::Null, json!("unresolved")));
    assert!(stderr.ends_with("; the registry knows no crawler in it\n"), "{stderr}");
    let (_, _, stderr) = ask("Mozilla/5.0 (GPTBot, CCBot)");
    assert!(stderr.contains("knows more than one crawler in it: "), "{stderr}");
    for arguments in [
        &["check", "http://a.test", "--as", "FooBot"][..],
        &["check", "http://a.test", "--live", "--as", "FooBot", "--url", "/x"],
        &["check", "http://a.test", "--live", "--as", "@common", "--contact", "a@b.test"],
        &["check", "http://a.test", "--live", "--as", "FooBot"],
        &["check", "http://a.test", "--live", "--as", "FooBot", "--cache", "x", "--no-cache"],
    ] {
        run(folder.path(), arguments, 3);
    }
}

#[test]
fn copies_stand_in_the_folder_of_the_user() {
    let server = Server::start(200, RULES);
    let folder = temporary();
    let url = server.url("/x");
    let ask = |cache: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
        command.args(&arguments(&url)[..9]).args(["--as", "FooBot"]);
        command.env_remove("ROBOTS_AUDIT_CONFIG").env("XDG_CACHE_HOME", cache).env("LOCALAPPDATA", cache);
        let output = command.output().expect("it starts");
        assert!(output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    assert_eq!(ask(folder.path()), "");
    assert_eq!(ask(folder.path()), "");
    assert_eq!(server.requests(), 1);
    assert!(folder.path().join("robots-audit").is_dir());
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    assert!(ask(&file).starts_with("warning: cannot keep the copy "), "and the answer is given all the same");
    assert_eq!(server.requests(), 2);
}

/// A library's question at an hour, of a web that plays these routes.
fn ask(cache: &Cache, hour: u64, routes: Vec<Route>, url: &str, policy: Policy) -> (Preflight, ScriptedWeb) {
    let web = ScriptedWeb::of_script(Script::new(routes)).expect("a web on loopback");
    let agent = user_agent("robots-audit", "https://contact.test/").expect("a user agent");
    let fetcher = Fetcher::new(FetchSettings {
        allowed_addresses: vec!["127.0.0.1/32".parse().expect("a range")],
        retries: 0,
        clock: Clock::At(UNIX_EPOCH + Duration::from_secs(hour * 3_600)),
        ..FetchSettings::new(agent, Network::Embedded(web.network()))
    })
    .expect("a fetcher");
    let crawler = AskedCrawler { name: "FooBot".into(), crawler: None };
    let question = Question {
        url: url.to_owned(),
        identity: Some(Identity::of(&crawler, Matching::Rfc9309, false)),
        hops: None,
        terms: Terms { policy, ..Terms::default() },
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    (runtime.block_on(preflight(&fetcher, Some(cache), &question)), web)
}

fn robots(response: Response) -> Route {
    Route::robots(Scheme::Http, "a.test", response)
}

fn well() -> Vec<Route> {
    vec![robots(Response::status(200).body(Body::Octets(RULES.into())).header("ETag", "\"v1\""))]
}

/// A 304 for those who show the validator, and nothing of use for others.
fn unchanged() -> Vec<Route> {
    let mut route = robots(Response::status(304));
    route.match_headers = vec![("if-none-match".to_owned(), "\"v1\"".to_owned())];
    vec![route, robots(Response::status(500))]
}

fn ill() -> Vec<Route> {
    vec![robots(Response::status(503))]
}

#[test]
fn copies_grow_old_and_are_confirmed_and_outlive_an_outage() {
    use AnswerFrom::{Cache as Copy, Network as Asked, Revalidated};
    use Decision::{Allow, Defer, Deny};
    use DecisionSource::{Rule, Unreachable};
    use FetchClass::{Ok, ServerError};
    use Policy::{Conservative, Google, Rfc9309};
    const MONTH: u64 = 30 * 24;
    let folder = temporary();
    let cache = Cache::at(folder.path().join("copies"));
    let story = |hour, routes, policy, expected: (Decision, DecisionSource, FetchClass, AnswerFrom, usize)| {
        let (found, web) = ask(&cache, hour, routes, "http://a.test/private/x", policy);
        assert!(found.cache_fault.is_none());
        let told = found.evidence;
        let found = (told.decision, told.decision_source, told.robots_class, told.answer_from, web.requests());
        let (decision, source, class, from, requests) = expected;
        assert_eq!(found, (decision, Some(source), Some(class), Some(from), requests), "hour {hour}, {policy}");
        told.checked_at.map(|micros| micros / 3_600_000_000)
    };
    assert_eq!(story(1, well(), Rfc9309, (Deny, Rule, Ok, Asked, 1)), Some(1));
    assert_eq!(story(24, ill(), Rfc9309, (Deny, Rule, Ok, Copy, 0)), Some(1), "the time of the answer");
    assert_eq!(story(26, unchanged(), Rfc9309, (Deny, Rule, Ok, Revalidated, 1)), Some(26));
    assert_eq!(story(49, ill(), Rfc9309, (Deny, Rule, Ok, Copy, 0)), Some(26), "a 304 renews");
    assert_eq!(story(51, ill(), Conservative, (Defer, Unreachable, ServerError, Asked, 1)), Some(51));
    story(52, ill(), Google, (Deny, Unreachable, ServerError, Asked, 1));
    story(64, ill(), Google, (Deny, Rule, ServerError, Asked, 1));
    story(51 + MONTH, ill(), Rfc9309, (Deny, Rule, ServerError, Asked, 1));
    story(51 + MONTH, ill(), Google, (Allow, Unreachable, ServerError, Asked, 1));
    story(52 + MONTH, unchanged(), Rfc9309, (Deny, Rule, Ok, Revalidated, 1));
    story(2, well(), Rfc9309, (Deny, Rule, Ok, Asked, 1));
}
