//! What header fields say of use, from the answer into the table and back out of it: fetched, gone on with, used again,
//! taken over from WARC files, and shown for single answers. What a 304 does with them is in `reuse`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{all_parts, run, table, temporary, write};
use crate::warc_writer::{WarcWriter, ok, status};

const MANNERS: [&str; 4] = ["--contact", "https://contact.test/", "--allow-address", "127.0.0.0/8"];

/// What an origin answers, by the last number of its address: status and fields.
type Answers = fn(u8) -> (u16, &'static str);

/// A server whose origins are the addresses of 127.1.0.0/24. It ends with the test program.
fn serve(answers: Answers, delay: Duration) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, answers, delay));
        }
    });
    port
}

fn answer(mut stream: TcpStream, answers: Answers, delay: Duration) {
    let mut request = [0; 2048];
    if !stream.read(&mut request).is_ok_and(|octets| octets > 0) {
        return;
    }
    thread::sleep(delay);
    let IpAddr::V4(address) = stream.local_addr().expect("an address").ip() else { return };
    let (status, fields) = answers(address.octets()[3]);
    let body = "User-agent: *\nDisallow: /x\n";
    let answer = format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len());
    // The client may be gone.
    let _ = stream.write_all(answer.as_bytes());
}

fn origins(port: u16, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("http://127.1.0.{number}:{port}")).collect()
}

fn fetch(folder: &Path, more: &[&str]) {
    run(folder, &[&["fetch", "origins.txt"], &MANNERS[..], more].concat(), 0);
}

/// What each origin says: signal, agent, term, reading and the path of the URL, by the last number of its address.
fn said(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let columns = ["origin", "signal", "agent", "term", "reading", "url"];
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in all_parts(folder, "response_signals", &columns) {
        let origin = row[0].as_deref().expect("an origin");
        let number = origin.rsplit('.').next().and_then(|end| end.split(':').next()).unwrap_or(origin);
        let url = row[5].as_deref().map(|url| url.splitn(4, '/').last().unwrap_or_default().to_owned());
        let words = row[1..5].iter().flatten().cloned().chain(url);
        said.entry(number.to_owned()).or_default().push(words.collect::<Vec<_>>().join(" "));
    }
    said
}

fn each_signal(number: u8) -> (u16, &'static str) {
    let fields = match number {
        1 => "X-Robots-Tag: noai, noimageai\r\nX-Robots-Tag: examplebot: noindex, noarchive\r\n",
        2 => "Content-Usage: train-ai=y\r\nServer: x\r\nContent-Usage: search=y, train-ai=n\r\n",
        3 => "TDM-Reservation: 1\r\nTDM-Policy: /tdm.json\r\n",
        4 => "Link: </a.css>; rel=preload, </rsl.xml>; rel=\"license\"; type=\"application/rsl+xml\"\r\n",
        5 => return (402, "crawler-price: USD 0.01\r\n"),
        6 => "Content-Usage: train-ai=n,\r\nX-Robots-Tag: nofollow\r\n",
        _ => "",
    };
    (200, fields)
}

#[test]
fn a_row_for_each_thing_that_is_said() {
    let folder = temporary();
    let port = serve(each_signal, Duration::ZERO);
    write(folder.path(), "origins.txt", origins(port, 7).join("\n"));
    fetch(folder.path(), &["-o", "out"]);
    let out = folder.path().join("out");
    let expected: BTreeMap<String, Vec<String>> = [
        ("1", &["x_robots_tag noai", "x_robots_tag noimageai", "x_robots_tag examplebot noarchive"][..]),
        ("2", &["content_usage train-ai disallow", "content_usage search allow"]),
        ("3", &["tdm_reservation reserved", "tdm_policy tdm.json"]),
        ("4", &["rsl_license rsl.xml"]),
        ("5", &["pay_per_crawl"]),
        ("6", &["content_usage"]),
    ]
    .into_iter()
    .map(|(number, said)| (number.to_owned(), said.iter().map(|said| (*said).to_owned()).collect()))
    .collect();
    assert_eq!(said(&out), expected);
    let values = all_parts(&out, "response_signals", &["name", "value", "field"]);
    let of_price = values.iter().find(|row| row[0].as_deref() == Some("crawler-price")).expect("a price");
    assert_eq!((of_price[1].as_deref(), of_price[2].as_deref()), (Some("USD 0.01"), Some("1")));

    fetch(folder.path(), &["--reuse", "out", "-o", "reused"]);
    assert_eq!(said(&folder.path().join("reused")), expected);

    // Nothing of it depends on threads, and it goes with the snapshot.
    for threads in ["1", "2"] {
        run(folder.path(), &["audit", "--from", "out", "--threads", threads, "-o", &format!("out-{threads}")], 0);
    }
    let file = |folder: &Path| fs::read(folder.join("response_signals/part-00000.parquet")).expect("a file");
    let [one, two] = ["out-1", "out-2"].map(|name| folder.path().join(name));
    assert_eq!(file(&one), file(&two));
    assert_eq!(said(&one), expected);
    let views = fs::read_to_string(one.join("views.sql")).expect("views");
    assert!(views.contains("VIEW response_signals AS") && views.contains("VIEW adoption_by_header_signal AS"));

    // A snapshot of an older version knows nothing of them; an empty table would say that there were none.
    fs::remove_dir_all(out.join("response_signals")).expect("removed");
    run(folder.path(), &["audit", "--from", "out", "-o", "out-1"], 0);
    assert!(!one.join("response_signals/part-00000.parquet").exists());
    assert!(!fs::read_to_string(one.join("views.sql")).expect("views").contains("response_signals"));
    fetch(folder.path(), &["--reuse", "out", "-o", "again"]);
    assert!(all_parts(&folder.path().join("again"), "response_signals", &["origin"]).len() <= 1);
}

#[test]
fn a_run_that_was_killed_keeps_what_its_parts_have() {
    let folder = temporary();
    let port = serve(|_| (200, "X-Robots-Tag: noai\r\n"), Duration::from_millis(20));
    write(folder.path(), "origins.txt", origins(port, 120).join("\n"));
    let parts = ["--concurrency", "4", "--part-rows", "10", "--part-seconds", "60", "-o", "out"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder.path()).args(["fetch", "origins.txt"]).args(MANNERS).args(parts);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let end = Instant::now() + Duration::from_secs(60);
    let journal = folder.path().join("out/journal");
    while fs::read_to_string(&journal).unwrap_or_default().matches("\"response_signals\":{").count() < 2 {
        assert!(Instant::now() < end, "no part in a minute");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    fetch(folder.path(), &parts);
    let rows = all_parts(&folder.path().join("out"), "response_signals", &["origin", "term", "fetch_time"]);
    assert_eq!((rows.len(), said(&folder.path().join("out")).len()), (120, 120));
    let times = all_parts(&folder.path().join("out"), "fetches", &["origin", "fetch_time"]);
    assert!(rows.iter().all(|row| times.contains(&vec![row[0].clone(), row[2].clone()])));
}

#[test]
fn warc_files_have_them_and_rows_have_not() {
    const DAY: &str = "2024-02-21T10:00:00Z";
    const LATER: &str = "2024-02-22T10:00:00Z";
    let folder = temporary();
    let mut warc = WarcWriter::new();
    let rules = "User-agent: *\nDisallow: /x\n";
    let with = |fields: &str| ok(rules).replace("Server: nginx\r\n", &format!("{fields}\r\n"));
    let url = |name: &str| format!("https://{name}.test/robots.txt");
    warc.capture(&url("plain"), DAY, &with("X-Robots-Tag: noai"));
    warc.capture(&url("renamed"), DAY, &with("X-Crawl-tdm-reservation: 1\r\nX-Crawl-X-Robots-Tag: noml"));
    warc.capture(&url("both"), DAY, &with("tdm-reservation: 0\r\nX-Crawl-TDM-Reservation: 1"));
    warc.capture(&url("price"), DAY, &status(402).replace("\r\n\r\n", "\r\ncrawler-price: USD 1\r\n\r\n"));
    warc.capture(&url("silent"), DAY, &ok(rules));
    warc.response(&url("same"), DAY, &[], &with("X-Robots-Tag: noai\r\ntdm-reservation: 1"));
    let profile = ("WARC-Profile", "http://netpreserve.org/warc/1.0/revisit/server-not-modified");
    let head = [("WARC-Target-URI", "https://same.test/robots.txt"), ("WARC-Date", LATER), profile];
    warc.record("revisit", &head, b"HTTP/1.1 304 Not Modified\r\nX-Robots-Tag: noml\r\n\r\n");
    write(folder.path(), "cc.warc.gz", &warc.octets);
    let columns = ["origin", "signal", "term", "reading"];
    let expected = [
        "https://plain.test x_robots_tag noai",
        "https://renamed.test tdm_reservation reserved",
        "https://renamed.test x_robots_tag noml",
        "https://both.test tdm_reservation not_reserved",
        "https://price.test pay_per_crawl",
        "https://same.test tdm_reservation reserved",
        "https://same.test x_robots_tag noml",
    ];
    run(folder.path(), &["ingest", "warc:cc.warc.gz", "-o", "out"], 0);
    run(folder.path(), &["audit", "--from", "warc:cc.warc.gz", "-o", "audited"], 0);
    run(folder.path(), &["audit", "--from", "out", "-o", "out"], 0);
    for out in ["out", "audited"] {
        let rows = table(&folder.path().join(out), "response_signals", &columns);
        let told: Vec<String> =
            rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(told, expected, "{out}");
    }
    write(folder.path(), "rows.ndjson", "{\"url\": \"https://a.test/robots.txt\", \"body\": \"\", \"status\": 200}\n");
    run(folder.path(), &["ingest", "rows.ndjson", "-o", "out"], 0);
    assert!(!folder.path().join("out/response_signals/part-00000.parquet").exists(), "nothing is known of them");
    run(folder.path(), &["audit", "--from", "out", "-o", "out"], 0);
    assert!(!folder.path().join("out/response_signals/part-00000.parquet").exists());
}

#[test]
fn they_are_shown_beside_single_answers_and_decide_nothing() {
    let folder = temporary();
    let answers: Answers =
        |_| (200, "X-Robots-Tag: noai\r\nX-Robots-Tag: \x1B: noimageai\r\nX-Robots-Tag: GPTBot: noml\r\n");
    let url = format!("http://127.1.0.1:{}/page", serve(answers, Duration::ZERO));
    let check = |more: &[&str]| run(folder.path(), &[&["check", &url, "--live"], &MANNERS[..], more].concat(), 0).0;
    let text = check(&["--crawlers", "GPTBot"]);
    assert!(text.starts_with(&format!("{}: ok", url.replace("/page", "/robots.txt"))), "{text}");
    for line in ["  x-robots-tag    noai  in the answer's header fields", "  x-robots-tag    noml, to GPTBot  in the"] {
        let (_, reported) = text.split_once("Reported, never applied").expect("a heading");
        assert!(reported.contains(line), "{text}");
    }
    let json: Value = serde_json::from_str(&check(&["--crawlers", "GPTBot", "--format", "json"])).expect("JSON");
    assert_eq!(json["results"][0]["decision"], "allow");
    let fields = json["header_fields"].as_array().expect("an array");
    let told: Vec<_> = fields.iter().map(|fact| (fact["term"].as_str(), fact["agent"].as_str())).collect();
    assert_eq!(told, [(Some("noai"), None), (Some("noml"), Some("GPTBot"))]);
    // The second time from the copy.
    for from in ["network", "cache"] {
        let asked = ["--as", "GPTBot", "--cache", "cache", "--format", "json"];
        let record: Value = serde_json::from_str(&check(&asked)).expect("JSON");
        assert_eq!((&record["answer_from"], &record["decision"]), (&from.into(), &"allow".into()));
        assert_eq!(
            (&record["header_fields"], &record["answers"][0]["header_fields"]),
            (&json["header_fields"], &json["header_fields"])
        );
    }
    let words = check(&["--as", "GPTBot", "--cache", "cache"]);
    assert!(words.contains("  beside   x-robots-tag: noml, to GPTBot, in the answer's header fields\n"), "{words}");
    write(folder.path(), "robots.txt", "User-agent: *\n");
    let (of_file, _) = run(folder.path(), &["check", "robots.txt", "--format", "json"], 0);
    assert_eq!(serde_json::from_str::<Value>(&of_file).expect("JSON")["header_fields"], Value::Null);
}
