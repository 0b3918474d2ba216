//! Live runs that end early, in every way: what is done stays done, what is not is done later, nothing twice.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{all_parts, rows_of, run, temporary, write};

/// A server on all loopback addresses: every address of 127/8 is an origin of its own. It ends with the test program.
struct Web {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Web {
    fn start(delay: Duration) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                thread::spawn(move || answer(stream, &counter, delay));
            }
        });
        Self { port, requests }
    }

    fn origins(&self, count: usize) -> Vec<String> {
        let port = self.port;
        (0..count).map(|number| format!("http://127.1.{}.{}:{port}", number / 250, number % 250 + 1)).collect()
    }
}

fn answer(mut stream: TcpStream, requests: &AtomicUsize, delay: Duration) {
    let mut request = [0; 1024];
    if !stream.read(&mut request).is_ok_and(|octets| octets > 0) {
        return;
    }
    requests.fetch_add(1, Ordering::Relaxed);
    thread::sleep(delay);
    let host = stream.local_addr().expect("an address").ip();
    let body = format!("User-agent: *\nDisallow: /{host}\n");
    // The client may be gone; that is what these tests are about.
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
}

const MANNERS: [&str; 10] = [
    "--contact",
    "https://contact.test/",
    "--allow-address",
    "127.0.0.0/8",
    "--concurrency",
    "16",
    "--part-rows",
    "40",
    "--part-seconds",
    "60",
];

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["fetch", "origins.txt", "-o", "out"], &MANNERS[..], more].concat()
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    command.current_dir(folder).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Waits until the journal names so many parts.
fn wait_for_parts(folder: &Path, parts: usize) {
    let end = Instant::now() + Duration::from_secs(60);
    while journaled_parts(folder) < parts {
        assert!(Instant::now() < end, "no part in a minute");
        thread::sleep(Duration::from_millis(5));
    }
}

fn journaled_parts(folder: &Path) -> usize {
    fs::read_to_string(folder.join("out/journal")).unwrap_or_default().matches("{\"part\":{").count()
}

/// Rows of the parts that the journal names.
fn journaled_rows(folder: &Path) -> usize {
    let parts = journaled_parts(folder);
    let part = |number| rows_of(&folder.join(format!("out/fetches/part-{number:05}.parquet")), &["origin"]).len();
    (0..parts).map(part).sum()
}

/// Every origin has one row, every body that a row names is there once, and nothing else is.
fn assert_whole(folder: &Path, origins: &[String]) {
    let rows = all_parts(&folder.join("out"), "fetches", &["origin", "fetch_class", "body_sha256"]);
    let found: BTreeSet<_> = rows.iter().map(|row| row[0].clone().expect("an origin")).collect();
    assert_eq!(rows.len(), origins.len(), "rows");
    assert_eq!(found, origins.iter().cloned().collect::<BTreeSet<_>>());
    assert!(rows.iter().all(|row| row[1].as_deref() == Some("ok")));
    let bodies = all_parts(&folder.join("out"), "bodies", &["body_sha256"]);
    let distinct: BTreeSet<_> = bodies.iter().map(|row| row[0].clone()).collect();
    assert_eq!(bodies.len(), distinct.len(), "no body twice");
    assert_eq!(distinct, rows.iter().map(|row| row[2].clone()).collect::<BTreeSet<_>>());
    assert_eq!(leftovers(&folder.join("out")), Vec::<PathBuf>::new());
    assert!(folder.join("out/run.json").exists() && !folder.join("out/journal").exists());
}

fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let here = files.into_iter().filter(|path| path.to_string_lossy().ends_with(".tmp"));
    here.chain(folders.iter().flat_map(|folder| leftovers(folder))).collect()
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(20));
    let origins = web.origins(400);
    write(folder.path(), "origins.txt", origins.join("\n") + "\nno origin\n");
    for parts in 1..=3 {
        let mut child = start(folder.path(), &arguments(&[]));
        wait_for_parts(folder.path(), parts);
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!folder.path().join("out/run.json").exists());
    }
    for others in [&["audit", "--from", "out", "-o", "out"][..], &["demo", "--origins", "20", "-o", "out"]] {
        let (_, said) = run(folder.path(), others, 3);
        assert!(said.contains("out holds an unfinished run"), "{said}");
    }
    let before = web.requests.load(Ordering::Relaxed);
    let kept = journaled_rows(folder.path());
    let (told, _) = run(folder.path(), &arguments(&[]), 0);
    assert!(told.contains(&format!("400 origins, {kept} of them from before, in ")), "{told}");
    let asked = web.requests.load(Ordering::Relaxed) - before;
    // One row is the line without an origin.
    assert!(asked <= 400 - 3 * 40 + 1, "{asked} of 400 were asked again");
    let mut rows = all_parts(&folder.path().join("out"), "fetches", &["origin", "fetch_class"]);
    rows.retain(|row| row[0].is_none());
    assert_eq!(rows, [vec![None, Some("invalid_target".to_owned())]]);
    let report = fs::read_to_string(folder.path().join("out/run.json")).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((&report["lines"]["lines"], &report["classes"]["ok"]), (&401.into(), &400.into()));
    assert_eq!(report["fetching"]["rows_from_before"], kept);
    let (_, said) = run(folder.path(), &arguments(&["--resume"]), 0);
    assert!(said.contains("nothing to do"), "{said}");
    let (_, said) = run(folder.path(), &arguments(&["--resume", "--fail-on", "invalid_target"]), 2);
    assert!(said.contains("nothing to do") && said.contains("1 of 401 origins"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_stops_soon_and_goes_on() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(30));
    let origins = web.origins(300);
    write(folder.path(), "origins.txt", origins.join("\n"));
    for signal in ["-INT", "-TERM"] {
        let parts = journaled_parts(folder.path());
        let child = start(folder.path(), &arguments(&[]));
        wait_for_parts(folder.path(), parts + 1);
        let begun = Instant::now();
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let ended = child.wait_with_output().expect("ended");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(130), "{said}");
        assert!(said.contains("interrupted; ") && said.contains("the same command goes on"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(12));
        assert_eq!(leftovers(&folder.path().join("out")), Vec::<PathBuf>::new());
    }
    run(folder.path(), &arguments(&[]), 0);
    assert_whole(folder.path(), &origins);
    assert!(web.requests.load(Ordering::Relaxed) <= 300, "an interrupt loses nothing that was asked");
}

#[test]
fn another_plan_is_refused_and_can_be_started_over() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(20));
    let origins = web.origins(120);
    write(folder.path(), "origins.txt", origins.join("\n"));
    let mut child = start(folder.path(), &arguments(&[]));
    wait_for_parts(folder.path(), 1);
    let (_, said) = run(folder.path(), &arguments(&[]), 3);
    assert!(said.contains("another run is writing to out"), "{said}");
    child.kill().expect("killed");
    child.wait().expect("ended");
    write(folder.path(), "origins.txt", origins[..100].join("\n"));
    let (_, said) = run(folder.path(), &arguments(&[]), 3);
    assert!(said.contains("unfinished run") && said.contains("--restart"), "{said}");
    assert_eq!(journaled_parts(folder.path()), 1, "a refusal changes nothing");
    run(folder.path(), &arguments(&["--restart"]), 0);
    assert_whole(folder.path(), &origins[..100]);
}

#[test]
fn a_changed_part_is_noticed() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(20));
    write(folder.path(), "origins.txt", web.origins(120).join("\n"));
    let mut child = start(folder.path(), &arguments(&[]));
    wait_for_parts(folder.path(), 1);
    child.kill().expect("killed");
    child.wait().expect("ended");
    fs::write(folder.path().join("out/bodies/part-00000.parquet"), "cut").expect("written");
    let (_, said) = run(folder.path(), &arguments(&[]), 3);
    assert!(said.contains("out/bodies/part-00000.parquet is not as the journal"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_what_is_whole() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(5));
    let origins = web.origins(200);
    write(folder.path(), "origins.txt", origins.join("\n"));
    // The third part of bodies leads to a device without space.
    fs::create_dir_all(folder.path().join("out/bodies")).expect("a folder");
    let full = folder.path().join("out/bodies/.part-00002.parquet.tmp");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let (_, said) = run(folder.path(), &arguments(&[]), 1);
    assert!(said.contains("cannot write out/bodies/part-00002.parquet: No space left on device"), "{said}");
    assert!(said.contains("the same command goes on") && said.matches("No space").count() == 1, "{said}");
    assert_eq!(journaled_parts(folder.path()), 2);
    let _ = fs::remove_file(full);
    run(folder.path(), &arguments(&[]), 0);
    assert_whole(folder.path(), &origins);
}

#[cfg(target_os = "linux")]
#[test]
fn a_scan_that_fails_behind_its_fetches_asks_nothing_again() {
    let folder = temporary();
    let web = Web::start(Duration::ZERO);
    let origins = web.origins(90);
    write(folder.path(), "origins.txt", origins.join("\n"));
    fs::create_dir_all(folder.path().join("out/decisions")).expect("a folder");
    let full = folder.path().join("out/decisions/.part-00000.parquet.tmp");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let scan = [&["scan"], &arguments(&[])[1..]].concat();
    let (_, said) = run(folder.path(), &scan, 1);
    assert!(said.contains("cannot write out/decisions/part-00000.parquet: No space left on device"), "{said}");
    assert!(said.contains("the same command goes on") && said.matches("No space").count() == 1, "{said}");
    let _ = fs::remove_file(full);
    // What is there already can be read meanwhile.
    let (_, said) = run(folder.path(), &["audit", "--from", "out", "-o", "early"], 0);
    assert!(said.contains("unfinished"), "{said}");
    let (_, said) = run(folder.path(), &["audit", "--from", "out", "-o", "out"], 3);
    assert!(said.contains("out holds an unfinished run of scan or fetch"), "{said}");
    let (said, _) = run(folder.path(), &scan, 0);
    assert!(said.contains("90 lines = 90 rows"), "{said}");
    assert_eq!(web.requests.load(Ordering::Relaxed), 90, "nothing is asked twice");
    assert_whole(folder.path(), &origins);
}

#[test]
fn jobs_that_should_stop_do() {
    let folder = temporary();
    let web = Web::start(Duration::ZERO);
    let mut lines = web.origins(3);
    // Nothing listens there.
    lines.extend((1..=5).map(|number| format!("http://127.2.0.{number}:1024")));
    write(folder.path(), "origins.txt", lines.join("\n"));
    let (_, said) = run(folder.path(), &arguments(&["--retries", "0", "--max-errors", "2"]), 2);
    assert!(said.contains("origins gave no answer, more than --max-errors bears"), "{said}");
    assert!(said.contains("raise --max-errors to go on") && !said.contains("the same command"), "{said}");
    let (_, said) = run(folder.path(), &arguments(&["--retries", "0", "--fail-on", "connect_failed:50%,timeout"]), 2);
    assert!(said.contains("5 of 8 origins (62.50%) are connect_failed, more than 50%"), "{said}");
    let (_, said) = run(folder.path(), &arguments(&["--fail-on", "nothing"]), 3);
    assert!(said.contains("there is no such class"), "{said}");
}

#[test]
fn a_second_run_uses_the_answers_of_the_first() {
    let folder = temporary();
    let web = Web::start(Duration::ZERO);
    let origins = web.origins(60);
    write(folder.path(), "origins.txt", origins.join("\n"));
    run(folder.path(), &arguments(&[]), 0);
    let asked = web.requests.load(Ordering::Relaxed);
    assert_eq!(asked, 60);
    fs::rename(folder.path().join("out"), folder.path().join("first")).expect("renamed");
    let (said, _) = run(folder.path(), &arguments(&["--reuse", "first"]), 0);
    assert!(said.contains("60 lines = 60 rows"), "{said}");
    assert_eq!(web.requests.load(Ordering::Relaxed), asked, "fresh copies cost no request");
    assert_whole(folder.path(), &origins);
    let rows = all_parts(&folder.path().join("out"), "fetches", &["attempts"]);
    assert!(rows.iter().all(|row| row[0].as_deref() == Some("0")));
    let (_, said) = run(folder.path(), &arguments(&["--reuse", "out"]), 3);
    assert!(said.contains("is reused and cannot be the output folder too"), "{said}");
    run(folder.path(), &arguments(&["--reuse", "nowhere"]), 3);
}

#[test]
fn a_list_that_changes_under_way_is_no_success() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(5));
    // Much longer than what is read ahead, so that its end is read long after the first part is written.
    let whole = web.origins(20_000).join("\n") + "\n";
    write(folder.path(), "origins.txt", &whole);
    let mut arguments = arguments(&[]);
    arguments.iter_mut().filter(|flag| **flag == "40").for_each(|rows| *rows = "500");
    let child = start(folder.path(), &arguments);
    wait_for_parts(folder.path(), 1);
    write(folder.path(), "origins.txt", &whole[..whole.len() / 100]);
    let ended = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("origins.txt changed while it was in use: 20000 rows at first, then "), "{said}");
    assert!(said.contains("the same command goes on") && said.contains("--restart"), "{said}");
    assert!(journaled_parts(folder.path()) > 0, "what was fetched is kept");
    let (_, said) = run(folder.path(), &arguments, 3);
    assert!(said.contains("other lists or settings"), "{said}");
}

#[test]
fn urls_that_change_under_way_are_no_success() {
    let folder = temporary();
    let web = Web::start(Duration::from_millis(400));
    let origins = web.origins(40);
    write(folder.path(), "origins.txt", origins.join("\n"));
    let urls: Vec<_> = (0..40_000).map(|number| format!("{}/{number}\n", origins[number % 40])).collect();
    let urls = urls.concat();
    write(folder.path(), "urls.txt", &urls);
    let scan = [&["scan"], &arguments(&["--urls", "urls.txt"])[1..]].concat();
    let child = start(folder.path(), &scan);
    while web.requests.load(Ordering::Relaxed) < 40 {
        thread::sleep(Duration::from_millis(5));
    }
    // The URLs are read once more while the last answers are under way, and then once more.
    thread::sleep(Duration::from_millis(150));
    write(folder.path(), "urls.txt", &urls[..urls.len() / 2]);
    let ended = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("urls.txt changed while it was in use: 40000 rows at first, then "), "{said}");
    assert!(said.contains("the same command goes on"), "{said}");
    write(folder.path(), "urls.txt", &urls);
    let (said, _) = run(folder.path(), &scan, 0);
    assert!(said.contains("on 40,000 URLs"), "{said}");
    assert_whole(folder.path(), &origins);
}
