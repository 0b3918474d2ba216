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
    let words = "6 lines = 4 rows + 1 duplicate + 2 blank or comment - 1 added from URLs";
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
    let words = "5 lines = 1 row + 1 duplicate + 0 blank or comment + 3 not attempted";
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

#[test]
fn a_scheme_on_any_line_means_no_other() {
    // Nothing listens there.
    let lines = ["127.0.0.1:1024", "https://127.0.0.1:1024/"];
    for lines in [[lines[0], lines[1]], [lines[1], lines[0]], [lines[0], lines[0]]] {
        let folder = temporary();
        write(folder.path(), "origins.txt", lines.join("\n"));
        let arguments = ["fetch", "origins.txt", "--retries", "0", "--allow-address", "127.0.0.0/8"];
        run(folder.path(), &[&arguments[..], &["--contact", "a@b.test", "-o", "out"]].concat(), 0);
        let rows = table(&folder.path().join("out"), "fetches", &["input", "first_attempt_class", "final_url"]);
        let is_bare = lines[0] == lines[1];
        let first = is_bare.then(|| "connect_failed".to_owned());
        assert_eq!(rows, [vec![Some(lines[0].to_owned()), first, None]]);
    }
}

#[test]
fn user_information_is_never_stored() {
    let folder = temporary();
    let lines = "http://user:secret@127.0.0.9:1/x\nuser:secret@127.0.0.8:1\nftp://user:secret@a.test/\n";
    write(folder.path(), "origins.txt", lines);
    let arguments = ["scan", "origins.txt", "http://user:secret@127.0.0.7:1", "--contact", "a@b.test", "-o", "out"];
    let (stdout, stderr) = run(folder.path(), &[&arguments[..], &["-vv"]].concat(), 0);
    assert!(!stdout.contains("secret") && !stderr.contains("secret"), "{stdout}\n{stderr}");
    let out = folder.path().join("out");
    let mut rows = table(&out, "fetches", &["input", "origin"]);
    rows.sort();
    let row = |input: &str, origin: &str| vec![Some(input.to_owned()), Some(origin.to_owned())];
    let expected = [
        row("***@127.0.0.8:1", "https://127.0.0.8:1"),
        vec![Some("ftp://***@a.test/".to_owned()), None],
        row("http://***@127.0.0.7:1", "http://127.0.0.7:1"),
        row("http://***@127.0.0.9:1/x", "http://127.0.0.9:1"),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn lists_that_hold_no_origin_are_doubted() {
    let folder = temporary();
    write(folder.path(), "origins.txt", "Site;Rank\nno one;1\n");
    let fetch = |output| ["fetch", "origins.txt", "--contact", "a@b.test", "-o", output];
    let (_, said) = run(folder.path(), &fetch("out"), 0);
    assert!(said.contains("warning: no line names an origin: ") && said.contains("--origin-column"), "{said}");
    write(folder.path(), "origins.txt", "Site;Rank\nhttp://127.0.0.1:1\n");
    let (_, said) = run(folder.path(), &fetch("other"), 0);
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn what_is_wrong_is_said_before_any_remark() {
    let folder = temporary();
    let fetch = ["fetch", "http://127.0.0.1:1", "-o", "out"];
    let (_, said) =
        run(folder.path(), &[&fetch[..], &["--contact", "a@b.test", "--max-redirects", "65535"]].concat(), 3);
    assert_eq!(said, "error: a limit of 65535 redirects is not between the 5 that should be followed and 50\n");
    let (_, said) = run(folder.path(), &[&fetch[..], &["--contact", "nobody"]].concat(), 3);
    assert!(said.starts_with("error: ") && !said.contains("connections at a time"), "{said}");
    let packed: &[u8] = b"\x1F\x8B\x08\0\0\0\0\0\0\xFF\x4A\xD4\x2B\x49";
    write(folder.path(), "cut.gz", packed);
    let (_, said) = run(folder.path(), &["fetch", "cut.gz", "--contact", "a@b.test", "-o", "out"], 3);
    assert!(said.starts_with("error: cannot read cut.gz at line 1: "), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_named() {
    let folder = temporary();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder.path()).args(["fetch", "http://127.0.0.1:1", "--contact", "a@b.test", "-o", "out"]);
    let output = command.stdout(full).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: cannot write to standard output: No space left on device"), "{said}");
}
