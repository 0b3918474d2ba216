//! Commands that fetch: against the generated web, and against a small server on loopback.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread::JoinHandle;

use crate::program::{run, table, temporary, write};

/// Answers so many requests with a robots.txt, then ends; gives back what was asked.
fn server(answers: usize, body: &'static str) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let thread = std::thread::spawn(move || {
        let requests = listener.incoming().take(answers).map(|stream| {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut octet = [0];
                stream.read_exact(&mut octet).expect("a whole request");
                request.push(octet[0]);
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).expect("an answer");
            stream.shutdown(Shutdown::Write).expect("an end");
            String::from_utf8(request).expect("text")
        });
        requests.collect()
    });
    (port, thread)
}

#[test]
fn the_demo_loses_nothing_and_can_be_computed_again() {
    let folder = temporary();
    let (stdout, stderr) = run(folder.path(), &["demo", "--origins", "300", "-o", "out"], 0);
    assert!(stderr.contains("300 of 300 origins have the class that the web was made to answer"), "{stderr}");
    assert!(stdout.contains("Nothing lost: 300 lines = 300 rows"), "{stdout}");
    let report = fs::read_to_string(folder.path().join("out/run.json")).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["lines"]["rows"], 300);
    assert_eq!(report["plan"]["policy"], "rfc9309");
    run(folder.path(), &["audit", "--from", "out", "--urls", "out/urls.txt", "-o", "again"], 0);
    let columns =
        ["url", "origin", "crawler", "decision", "decision_source", "matched_rule", "rule_line", "checked_at"];
    let rows = |out: &str| table(&folder.path().join(out), "decisions", &columns);
    assert!(rows("out") == rows("again"), "the same decisions, with and without the network");
    let access = |out: &str| table(&folder.path().join(out), "crawler_access", &["origin", "crawler", "access"]);
    assert!(access("out") == access("again"));
}

#[test]
fn a_scan_of_loopback_origins() {
    let folder = temporary();
    let (port, requests) = server(1, "User-agent: *\nDisallow: /x\n");
    let origin = format!("http://127.0.0.1:{port}");
    let lines = format!("{origin}\n\n{origin}/again\nftp://a.test\nhttp://127.0.0.2:1\n# end\n");
    write(folder.path(), "origins.txt", lines);
    write(folder.path(), "urls.txt", format!("{origin}/x/1\nhttp://10.0.0.1/y\n"));
    let arguments = [
        "scan",
        "origins.txt",
        "--urls",
        "urls.txt",
        "--crawlers",
        "GPTBot",
        "--contact",
        "https://example.org/about",
        "--allow-address",
        "127.0.0.1/32",
        "-o",
        "out",
    ];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    let words = "6 lines = 4 rows + 1 duplicates + 2 blank or comment - 1 added from URLs";
    assert!(stdout.contains(words), "{stdout}");
    let out = folder.path().join("out");
    let mut classes = table(&out, "fetches", &["input", "input_line", "fetch_class"]);
    classes.sort();
    let class = |input: Option<&str>, line: Option<&str>, class: &str| {
        vec![input.map(str::to_owned), line.map(str::to_owned), Some(class.to_owned())]
    };
    let mut expected = [
        class(None, None, "blocked_address"),
        class(Some(&origin), Some("1"), "ok"),
        class(Some("ftp://a.test"), Some("4"), "invalid_target"),
        class(Some("http://127.0.0.2:1"), Some("5"), "blocked_address"),
    ];
    expected.sort();
    assert_eq!(classes, expected);
    let decisions = table(&out, "decisions", &["decision", "decision_source"]);
    let decision = |decision: &str, source: &str| vec![Some(decision.to_owned()), Some(source.to_owned())];
    assert_eq!(decisions, [decision("deny", "rule"), decision("deny", "blocked")]);
    let request = requests.join().expect("the server ends").remove(0);
    let request = request.to_ascii_lowercase();
    assert!(request.starts_with("get /robots.txt http/1.1\r\n"), "{request}");
    assert!(request.contains("user-agent: robots-audit/0.1.0 (+https://example.org/about)\r\n"), "{request}");
    for field in ["cookie", "referer", "authorization", "range"] {
        assert!(!request.contains(&format!("\r\n{field}:")), "{request}");
    }
}

#[test]
fn a_limit_leaves_lines_and_counts_them() {
    let folder = temporary();
    let lines = "http://127.0.0.1:1\nhttp://127.0.0.1:7\nnot an origin\nhttp://127.0.0.1:9\nhttp://127.0.0.1:1\n";
    write(folder.path(), "origins.txt", lines);
    let arguments = ["fetch", "origins.txt", "--limit", "1", "--contact", "a@b.test", "-o", "out"];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    let words = "5 lines = 1 rows + 1 duplicates + 0 blank or comment + 3 not attempted";
    assert!(stdout.contains(words), "{stdout}");
    assert!(folder.path().join("out/views.sql").is_file());
    assert!(!folder.path().join("out/decisions").exists());
}

#[test]
fn an_origin_behind_the_limit_that_a_url_names_has_its_row() {
    let folder = temporary();
    write(folder.path(), "origins.txt", "http://127.0.0.1:1\nhttp://127.0.0.2:1\nhttp://127.0.0.3:1\n");
    write(folder.path(), "urls.txt", "http://127.0.0.2:1/x\nhttp://127.0.0.9:1/x\nhttp://127.0.0.2:1/y\n");
    let arguments = ["scan", "origins.txt", "--limit", "1", "--urls", "urls.txt", "--contact", "a@b.test", "-o", "out"];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    let words = "3 lines = 3 rows + 0 duplicates + 0 blank or comment + 1 not attempted - 1 added from URLs";
    assert!(stdout.contains(words), "{stdout}");
    let report = fs::read_to_string(folder.path().join("out/run.json")).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["fetching"]["limit"], 1);
    assert_eq!(report["classes"]["not_collected"], 2);
}

#[test]
fn a_fetch_leaves_nothing_of_an_earlier_audit() {
    let folder = temporary();
    write(folder.path(), "bodies/a.test.txt", "User-agent: *\n");
    run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out"], 0);
    run(folder.path(), &["fetch", "http://127.0.0.1:1", "--contact", "a@b.test", "-o", "out"], 0);
    let out = folder.path().join("out");
    assert!(!out.join("decisions/part-00000.parquet").exists());
    assert_eq!(table(&out, "fetches", &["origin"]).len(), 1);
}

#[test]
fn a_live_check() {
    let folder = temporary();
    let (port, requests) = server(1, "User-agent: GPTBot\nDisallow: /\n");
    let url = format!("http://127.0.0.1:{port}/page");
    let arguments = [
        "check",
        &url,
        "--live",
        "--crawlers",
        "GPTBot",
        "--allow-address",
        "127.0.0.1/32",
        "--contact",
        "a@b.test",
        "--format",
        "json",
        "--exit-code",
    ];
    let (stdout, _) = run(folder.path(), &arguments, 2);
    let answer: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&answer["fetch_class"], &answer["robots_status"]), (&"ok".into(), &200.into()));
    assert_eq!(answer["results"][0]["decision"], "deny");
    assert_eq!(answer["results"][0]["url"], url);
    requests.join().expect("the server ends");
}

#[test]
fn settings_come_from_flags_then_the_file() {
    let folder = temporary();
    write(folder.path(), "robots.txt", "<html>\nUser-agent: *\nDisallow: /\n</html>\n");
    write(folder.path(), "settings.toml", "policy = \"conservative\"\ncrawlers = \"CCBot\"\n");
    let file = ["check", "robots.txt", "-c", "settings.toml"];
    assert!(run(folder.path(), &file, 0).0.contains("\ndefer  /  for CCBot\n"), "the file's policy and crawlers");
    let flags = [&file[..], &["--policy", "rfc9309"]].concat();
    assert!(
        run(folder.path(), &flags, 0).0.contains("\ndeny  /  for CCBot\n"),
        "the flag's policy, the file's crawlers"
    );
    write(folder.path(), "wrong.toml", "policy = \"conservative\"\ncrawler = \"CCBot\"\n");
    let (_, stderr) = run(folder.path(), &["check", "robots.txt", "-c", "wrong.toml"], 3);
    assert!(stderr.contains("wrong.toml") && stderr.contains("crawler"), "{stderr}");
}
