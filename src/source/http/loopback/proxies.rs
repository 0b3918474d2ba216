//! Fetches through a proxy.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A proxy that leads every CONNECT to one port, if there is one, and answers all else itself.
async fn proxy(to: Option<u16>) -> (Server, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.expect("a port");
    let server = Server { port: listener.local_addr().expect("bound").port(), heads: Arc::default() };
    let tunnels = Arc::new(AtomicUsize::new(0));
    let (heads, counted) = (Arc::clone(&server.heads), Arc::clone(&tunnels));
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let (heads, counted) = (Arc::clone(&heads), Arc::clone(&counted));
            tokio::spawn(async move {
                let head = head(&mut tcp).await;
                let is_connect = head.starts_with("CONNECT ");
                heads.lock().expect("no panic").push(head);
                match to {
                    Some(port) if is_connect => {
                        counted.fetch_add(1, Ordering::SeqCst);
                        let mut there = TcpStream::connect((LOOPBACK, port)).await.expect("a server");
                        tcp.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("a client");
                        let _ = tokio::io::copy_bidirectional(&mut tcp, &mut there).await;
                    }
                    _ if is_connect => play(&mut tcp, say("HTTP/1.1 502 Bad Gateway\r\n\r\n")).await,
                    _ => play(&mut tcp, ok(RULES)).await,
                }
            });
        }
    });
    (server, tunnels)
}

fn through(proxy: &Server, network: EmbeddedNetwork) -> Fetcher {
    let url = Url::parse(&format!("http://127.0.0.1:{}", proxy.port)).expect("a URL");
    Fetcher::new(FetchSettings { proxy: Some(url), per_ip_rate: 1, ..settings_on(network, short_limits()) })
        .expect("valid settings")
}

#[tokio::test]
async fn http_is_asked_for_by_its_url() {
    let (proxy, _) = proxy(None).await;
    let fetcher = through(&proxy, network(None, None, Vec::new()));
    for origin in ["http://nx.test", "http://a.test.:8080"] {
        let seen = fetcher.fetch(&target(origin)).await;
        assert_eq!(outcome(&seen), "ok +via_proxy", "the proxy resolves names: {origin}");
        assert_eq!((seen.observation.remote_ip, seen.observation.attempts), (None, Some(1)));
    }
    let heads = proxy.heads.lock().expect("no panic");
    assert!(heads[0].starts_with("GET http://nx.test/robots.txt HTTP/1.1\r\nHost: nx.test\r\n"), "{}", heads[0]);
    assert!(
        heads[1].starts_with("GET http://a.test:8080/robots.txt HTTP/1.1\r\nHost: a.test:8080\r\n"),
        "{}",
        heads[1]
    );
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_is_verified() {
    let site = Site::new();
    let https = Server::start(Some(site.config(|_| {}, false)), |_| ok(RULES)).await;
    let (proxy, tunnels) = proxy(Some(https.port)).await;
    let fetcher = through(&proxy, network(None, None, vec![site.root.clone()]));
    assert_eq!(outcome(&fetcher.fetch(&target("https://a.test")).await), "ok +via_proxy");
    assert_eq!(outcome(&fetcher.fetch(&target("https://b.test")).await), "tls_failed (cert_name) +via_proxy");
    assert_eq!((tunnels.load(Ordering::SeqCst), https.requests()), (2, 1));
    let heads = proxy.heads.lock().expect("no panic");
    assert!(
        heads[0].starts_with("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nUser-Agent: probe/"),
        "{}",
        heads[0]
    );
    assert!(https.heads.lock().expect("no panic")[0].starts_with("GET /robots.txt HTTP/1.1\r\nHost: a.test\r\n"));
}

#[tokio::test]
async fn what_the_proxy_refuses_and_what_the_guard_does() {
    let (proxy, _) = proxy(None).await;
    let fetcher = through(&proxy, network(None, None, Vec::new()));
    assert_eq!(outcome(&fetcher.fetch(&target("https://a.test")).await), "connect_failed +via_proxy");
    let requests = proxy.requests();
    for origin in ["http://127.0.0.2", "http://localhost", "https://[::1]", "http://a.test:25"] {
        let class = fetcher.fetch(&target(origin)).await.observation.class;
        assert_eq!(class, FetchClass::BlockedAddress, "{origin}");
    }
    assert_eq!(proxy.requests(), requests, "nothing was sent");
    let nobody = Server { port: 1, heads: Arc::default() };
    let seen = through(&nobody, network(None, None, Vec::new())).fetch(&target("http://a.test")).await;
    assert_eq!(outcome(&seen), "connect_failed +via_proxy");
}
