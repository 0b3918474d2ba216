//! `--log-json`: every line on stderr is a JSON object, whatever happens.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::program::{run, temporary, write};

/// The lines, each an object.
fn lines(stderr: &str) -> Vec<Value> {
    let object = |line: &str| -> Value {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value.is_object() && value["level"].is_string() && value["message"].is_string(), "{line}");
        value
    };
    stderr.lines().map(object).collect()
}

fn of<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn a_run_that_stalls_tells_so_and_how_it_ended() {
    let folder = temporary();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Longer than the time after which a line is due.
            thread::sleep(Duration::from_secs(11));
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let slow = format!("http://127.0.0.1:{port}");
    let flags = ["--headers-timeout", "60", "--attempt-timeout", "90", "--allow-address", "127.0.0.1/32"];
    let scan = ["scan", &slow, "http://127.0.0.9:1", "--contact", "a@b.test", "-o", "out", "--log-json"];
    let (_, stderr) = run(folder.path(), &[&scan[..], &flags].concat(), 0);
    let lines = lines(&stderr);
    assert_eq!(of(&lines, "remark")[0]["message"], "256 connections at a time");
    let progress = of(&lines, "progress")[0];
    assert_eq!((&progress["message"], &progress["stage"]), (&"fetching".into(), &"fetch".into()));
    assert_eq!((&progress["rows"], &progress["of"], &progress["under_way"]), (&1.into(), &2.into(), &1.into()));
    assert_eq!(progress["classes"], serde_json::json!({ "blocked_address": 1 }));
    let end = lines.last().expect("lines");
    assert_eq!((&end["event"], &end["exit_code"]), (&"end".into(), &0.into()));
    assert!(end["seconds"].as_f64().is_some_and(|seconds| seconds > 10.0), "{end}");
    let totals = &end["totals"];
    assert_eq!((&totals["rows"], &totals["classes"]["missing"]), (&2.into(), &1.into()));
    assert_eq!(of(&lines, "end").len(), 1);
}

#[test]
fn what_fails_is_json_too() {
    let folder = temporary();
    write(folder.path(), "closed.txt", "http://127.0.0.1:1024\nhttp://127.0.0.1:1025\n");
    let fetch = ["fetch", "closed.txt", "--contact", "a@b.test", "-o", "out", "--retries", "0", "--log-json"];
    let stop = ["--max-errors", "0", "--allow-address", "127.0.0.1/32"];
    for (arguments, code, error) in [
        ([&fetch[..], &stop].concat(), 2, "more than --max-errors bears"),
        (
            vec!["fetch", "absent.txt", "--contact", "a@b.test", "-o", "out", "--log-json"],
            3,
            "no such file: absent.txt",
        ),
        (vec!["scan", "--log-json"], 3, "required arguments were not provided"),
        (vec!["lint", "--log-json", "--no-such-flag", "x"], 3, "unexpected argument"),
    ] {
        let (_, stderr) = run(folder.path(), &arguments, code);
        let lines = lines(&stderr);
        let errors = of(&lines, "error");
        assert!(errors.len() == 1 && errors[0]["level"] == "ERROR", "{stderr}");
        assert!(errors[0]["message"].as_str().is_some_and(|said| said.contains(error)), "{stderr}");
        let end = lines.last().expect("lines");
        assert_eq!((&end["event"], &end["exit_code"]), (&"end".into(), &code.into()), "{stderr}");
        if code == 2 {
            assert!(end["totals"]["classes"]["connect_failed"].as_u64().is_some_and(|rows| rows > 0), "{stderr}");
        }
    }
    let (_, stderr) = run(folder.path(), &["fetch", "absent.txt", "--contact", "a@b.test", "-o", "out"], 3);
    assert_eq!(stderr, "error: no such file: absent.txt\n", "without the flag nothing changes");
}
