//! What waits: retries, turns of addresses, names, and a stop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Long enough for a slow machine, too short to be met by waiting for it.
const SOON: Duration = Duration::from_secs(30);

/// A server that counts the requests of each path-less name and answers by that count, from 1.
async fn counting(act: impl Fn(&str, usize) -> Act + Send + Sync + 'static) -> Server {
    let counts = Mutex::new(HashMap::<String, usize>::new());
    Server::start_with_host(move |host| {
        let mut counts = counts.lock().expect("no panic");
        let count = counts.entry(host.to_owned()).or_default();
        *count += 1;
        act(host, *count)
    })
    .await
}

fn refused(status: &str, retry_after: &str) -> Act {
    say(sized(status, &format!("Retry-After: {retry_after}\r\n"), b""))
}

fn patient(server: &Server, retries: u16) -> FetchSettings {
    FetchSettings {
        retries,
        retry_seed: Some(1),
        ..settings_on(network(Some(server), None, Vec::new()), short_limits())
    }
}

fn made(settings: FetchSettings) -> Arc<Fetcher> {
    Arc::new(Fetcher::new(settings).expect("valid settings"))
}

/// Names of the targets in the order in which they came back.
async fn order_of(results: Results<String>) -> Vec<(String, String)> {
    let read = move || results.map(|(name, fetched)| (name, outcome(&fetched))).collect();
    tokio::task::spawn_blocking(read).await.expect("no panic")
}

fn named(names: Vec<String>) -> impl Iterator<Item = (String, Target)> + Send + 'static {
    names.into_iter().map(|name| (name.clone(), target(&format!("http://{name}.test"))))
}

fn seats(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

#[tokio::test]
async fn the_last_attempt_is_what_is_seen() {
    let server = counting(|_, count| match count {
        1 => refused("503 Unavailable", "0"),
        2 => moved("http://a.test/robots.txt"),
        3 => say("no HTTP"),
        _ => ok(RULES),
    })
    .await;
    let fetcher = made(patient(&server, 2));
    let seen = fetcher.fetch(&target("http://a.test")).await;
    assert_eq!((outcome(&seen).as_str(), server.requests()), ("ok", 4));
    let seen = seen.observation;
    assert_eq!((seen.attempts, seen.status, seen.retry_after_s), (Some(3), Some(200), None));
    assert_eq!((seen.hops, seen.redirects.len()), (Some(0), 0), "the hop was another attempt's");
    let manners = fetcher.manners();
    assert_eq!((manners.retries, manners.waits_for_retry_after), (2, 0));
    assert_eq!((manners.look_ups.found, manners.most_connections_to_one_address), (4, None));
    assert_eq!(fetcher.own_failures(), OwnFailures::default());
}

#[tokio::test]
async fn clear_answers_are_not_asked_for_again() {
    for (answer, attempts) in [
        (say(sized("404 No", "", b"")), 1),
        (say(sized("403 No", "", b"")), 1),
        (say(sized("501 No", "", b"")), 1),
        (say(sized("599 No", "", b"")), 1),
        (refused("429 Too Many", "86400"), 1),
        (refused("503 Unavailable", "121"), 1),
        (moved("http://127.0.0.2/"), 1),
        (moved("ftp://a.test/"), 1),
        (say(sized("520 Odd", "", b"")), 2),
        (say(sized("200 OK", "Content-Length: 99\r\n", RULES.as_bytes())), 2),
    ] {
        let server = Server::plain(move |_| answer.clone()).await;
        let seen = made(patient(&server, 1)).fetch(&target("http://a.test")).await.observation;
        assert_eq!((seen.attempts, server.requests()), (Some(attempts), usize::from(attempts)), "{seen:?}");
    }
    let server = Server::plain(|_| ok(RULES)).await;
    for (origin, attempts) in [("http://nx.test", 1), ("http://nodata.test", 1), ("http://servfail.test", 2)] {
        let seen = made(patient(&server, 1)).fetch(&target(origin)).await.observation;
        assert_eq!(seen.attempts, Some(attempts), "{origin}");
    }
}

#[tokio::test]
async fn falling_back_is_no_retry() {
    let server = counting(|_, count| if count == 1 { refused("503 Unavailable", "0") } else { ok(RULES) }).await;
    let seen = made(patient(&server, 1)).fetch(&target("a.test")).await;
    assert_eq!(outcome(&seen), "ok +scheme_fallback");
    let seen = seen.observation;
    assert_eq!((seen.attempts, seen.first_attempt_class), (Some(3), Some(FetchClass::ConnectFailed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_waits_for_another_attempt_holds_no_seat() {
    let server = counting(|host, count| match (host, count) {
        ("late.test", 1) => refused("429 Too Many", "1"),
        _ => ok(RULES),
    })
    .await;
    let fetcher = made(patient(&server, 2));
    let names = std::iter::once("late".to_owned()).chain((0..50).map(|n| format!("n{n}"))).collect();
    let start = Instant::now();
    let order = order_of(fetch_all(Arc::clone(&fetcher), named(names), seats(1), Stop::default())).await;
    assert!(start.elapsed() >= Duration::from_secs(1), "the time that was asked for");
    assert_eq!(order.len(), 51);
    assert_eq!(order.last().expect("51"), &("late".to_owned(), "ok".to_owned()));
    assert_eq!(fetcher.manners().waits_for_retry_after, 1);
}

/// Names `slow…` share an address; each other one has its own.
fn many_addresses(server: &Server) -> EmbeddedNetwork {
    let port = server.port;
    EmbeddedNetwork {
        names: Box::new(|name| {
            let number = |name: &str| name.strip_prefix('n')?.split('.').next()?.parse().ok();
            NameAnswer::Addresses(vec![[127, 0, 1, number(name).unwrap_or(0_u8)].into()])
        }),
        ports: Box::new(move |_, _| SocketAddr::new(LOOPBACK, port)),
        extra_roots: Vec::new(),
    }
}

fn paced(network: EmbeddedNetwork, per_ip_concurrency: usize, per_ip_rate: u32) -> FetchSettings {
    let allowed_addresses = vec!["127.0.0.0/16".parse().expect("a range")];
    let settings = settings_on(network, short_limits());
    FetchSettings { allowed_addresses, per_ip_concurrency, per_ip_rate, ..settings }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_busy_address_keeps_nobody_else_waiting() {
    let server = Server::plain(|_| ok(RULES)).await;
    let fetcher = made(FetchSettings {
        limits: FetchLimits {
            attempt: Duration::from_millis(700),
            origin: Duration::from_millis(700),
            ..short_limits()
        },
        ..paced(many_addresses(&server), 8, 1)
    });
    let names = (0..4).map(|n| format!("slow{n}")).chain((1..=100).map(|n| format!("n{n}"))).collect();
    let start = Instant::now();
    let order = order_of(fetch_all(Arc::clone(&fetcher), named(names), seats(2), Stop::default())).await;
    assert!(start.elapsed() >= Duration::from_secs(3), "four beginnings, a second between each two");
    assert!(order.iter().all(|(_, outcome)| outcome == "ok"), "the limits stand still meanwhile: {order:?}");
    let late: Vec<&str> = order[101..].iter().map(|(name, _)| &name[..4]).collect();
    assert_eq!(late, ["slow"; 3]);
    assert_eq!(fetcher.manners().waits_for_turn, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn so_many_connections_to_one_address() {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let listener = TcpListener::bind((LOOPBACK, 0)).await.expect("a port");
    let server = Server { port: listener.local_addr().expect("bound").port(), heads: Arc::default() };
    let (counted, seen) = (Arc::clone(&open), Arc::clone(&most));
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            seen.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                head(&mut tcp).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                // Before the end of the answer: the next one may come as soon as that is read.
                counted.fetch_sub(1, Ordering::SeqCst);
                play(&mut tcp, ok(RULES)).await;
            });
        }
    });
    let fetcher = made(paced(many_addresses(&server), 3, 0));
    let names = (0..60).map(|n| format!("slow{n}")).collect();
    let order = order_of(fetch_all(Arc::clone(&fetcher), named(names), seats(32), Stop::default())).await;
    assert_eq!(order.iter().filter(|(_, outcome)| outcome == "ok").count(), 60);
    assert_eq!((most.load(Ordering::SeqCst), fetcher.manners().most_connections_to_one_address), (3, Some(3)));
}

#[tokio::test]
async fn redirects_wait_for_their_turn_too() {
    let server =
        Server::plain(|line| if line.contains("robots.txt") { moved("http://slow2.test/r") } else { ok(RULES) }).await;
    let fetcher = made(paced(many_addresses(&server), 1, 10));
    let start = Instant::now();
    assert_eq!(outcome(&fetcher.fetch(&target("http://slow1.test")).await), "ok");
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert_eq!(fetcher.manners().waits_for_turn, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn silent_names_keep_nobody_waiting() {
    let server = Server::plain(|_| ok(RULES)).await;
    let port = server.port;
    let network = EmbeddedNetwork {
        names: Box::new(|name| {
            if name.starts_with('s') { NameAnswer::Timeout } else { NameAnswer::Addresses(vec![LOOPBACK]) }
        }),
        ports: Box::new(move |_, _| SocketAddr::new(LOOPBACK, port)),
        extra_roots: Vec::new(),
    };
    let limits = FetchLimits { connect: Duration::from_secs(2), ..short_limits() };
    let fetcher = made(FetchSettings {
        look_ups: seats(64),
        limits: FetchLimits { attempt: Duration::from_secs(4), ..limits },
        ..settings_on(network, short_limits())
    });
    let names = (0..60).map(|n| format!("s{n}")).chain((0..60).map(|n| format!("n{n}"))).collect();
    let order = order_of(fetch_all(Arc::clone(&fetcher), named(names), seats(1), Stop::default())).await;
    let outcomes: Vec<&str> = order.iter().map(|(_, outcome)| outcome.as_str()).collect();
    assert_eq!(outcomes, [["ok"; 60], ["dns_failure (dns_timeout)"; 60]].concat());
    assert_eq!((fetcher.manners().look_ups.found, fetcher.manners().look_ups.timed_out), (60, 60));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_drops_who_waits_and_lets_others_end() {
    let server = Server::start_with_host(|host| match &host[..1] {
        "w" => refused("503 Unavailable", "100"),
        "r" => Act::Slow(sized("200 OK", "", RULES.as_bytes()), Duration::from_millis(900)),
        _ => ok(RULES),
    })
    .await;
    let limits = FetchLimits { headers: SOON, attempt: SOON, ..short_limits() };
    let fetcher = made(FetchSettings { limits, ..patient(&server, 2) });
    let first = ["w1", "w2", "r1", "r2"].map(str::to_owned);
    let endless = (0_u64..).map(|n| format!("n{n}"));
    let stop = Stop::default();
    let targets = first.into_iter().chain(endless).map(|name| (name.clone(), target(&format!("http://{name}.test"))));
    let results = fetch_all(Arc::clone(&fetcher), targets, seats(4), stop.clone());
    let read = move || {
        let mut came = Vec::new();
        for (name, fetched) in results {
            assert_eq!(outcome(&fetched), "ok");
            came.push(name);
            if came.len() == 20 {
                stop.request();
            }
        }
        came
    };
    let reading = tokio::time::timeout(STOP_GRACE, tokio::task::spawn_blocking(read));
    let came = reading.await.expect("ends before the grace does").expect("no panic");
    assert!(came.len() < 100, "no new target is taken");
    assert!(came.contains(&"r1".to_owned()) && came.contains(&"r2".to_owned()), "{came:?}");
    assert!(!came.iter().any(|name| name.starts_with('w')), "{came:?}");
}

#[tokio::test]
async fn an_origin_that_waits_takes_little_memory() {
    let server = Server::plain(|_| ok(RULES)).await;
    let fetcher = made(patient(&server, 2));
    let target = target("http://a.test");
    let mut seat = Seat::alone();
    let whole = size_of_val(&fetcher.fetch_from(&mut seat, &target));
    let mut seen = Observation::of_class(FetchClass::Internal, None);
    let mut trip = Trip { seat: &mut seat, time: TimeLeft::new(&fetcher.limits), validators: None };
    let attempt = size_of_val(&fetcher.follow(&target.origin, &mut seen, &mut trip));
    assert!(whole + attempt <= 8 * 1024, "{whole} and {attempt} octets");
}
