//! Origins on real sockets, for a program in a process of its own: every address of 127/8 is an origin.
//!
//! One listener answers for all of them (Linux takes all of 127/8 for this machine). Connections that came in by any
//! other address are closed without a word, so that nothing but loopback is served.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::super::answer::{Answer, End};
use super::super::play::{Request, play, read_request, see_off, stay};

/// Connections that the system may hold for the street.
const BACKLOG: u32 = 4096;
/// How long a connection may last, whatever is played on it.
const CONNECTION_LIFE: Duration = Duration::from_secs(120);
/// How long a client may take to leave after its answer.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the house at an address answers to a request.
pub type Houses = dyn Fn(Ipv4Addr, &Request) -> Answer + Send + Sync;

/// A running street. Dropping it ends every connection.
pub struct Street {
    port: u16,
    seen: Arc<Seen>,
    runtime: Option<Runtime>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: AtomicUsize,
    waiting: AtomicUsize,
    most_waiting: AtomicUsize,
}

impl fmt::Debug for Street {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Street").field("port", &self.port).field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Street {
    /// Whether this system takes all of 127/8 for its own.
    #[must_use]
    pub const fn is_possible() -> bool {
        cfg!(target_os = "linux")
    }

    /// Opens a street.
    ///
    /// # Errors
    /// Where no port or thread is to be had.
    pub fn open(houses: impl Fn(Ipv4Addr, &Request) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        Self::slow(Duration::ZERO, houses)
    }

    /// Opens a street on which every answer takes some time.
    ///
    /// # Errors
    /// Where no port or thread is to be had.
    pub fn slow(
        wait: Duration,
        houses: impl Fn(Ipv4Addr, &Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("street").enable_all().build()?;
        let seen = Arc::new(Seen::default());
        let houses: Arc<Houses> = Arc::new(houses);
        let listener = {
            let _context = runtime.enter();
            let socket = TcpSocket::new_v4()?;
            socket.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
            socket.listen(BACKLOG)?
        };
        let port = listener.local_addr()?.port();
        runtime.spawn(serve(listener, Arc::clone(&seen), wait, houses));
        Ok(Self { port, seen, runtime: Some(runtime) })
    }

    /// The port of all houses.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The first origins of the street, with their scheme.
    pub fn origins(&self, count: usize) -> impl Iterator<Item = String> {
        let port = self.port;
        (0..count).map(move |index| format!("http://{}:{port}", house(index)))
    }

    /// Requests seen.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::Relaxed)
    }

    /// Connections that waited for their answer at the same time.
    #[must_use]
    pub fn most_waiting(&self) -> usize {
        self.seen.most_waiting.load(Ordering::SeqCst)
    }
}

impl Drop for Street {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The address of the `index`-th house: from 127.1.0.1 on, without those that end in 0 or 255.
#[must_use]
pub fn house(index: usize) -> Ipv4Addr {
    let number = |value: usize| value.to_le_bytes()[0];
    let (street, door) = (index / 254, index % 254);
    Ipv4Addr::new(127, number(1 + street / 256), number(street), number(1 + door))
}

async fn serve(listener: TcpListener, seen: Arc<Seen>, wait: Duration, houses: Arc<Houses>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors: connections that end will free some.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        let Some(address) = loopback(&stream) else { continue };
        let (seen, houses) = (Arc::clone(&seen), Arc::clone(&houses));
        tokio::spawn(async move {
            let _ = timeout(CONNECTION_LIFE, greet(stream, address, &seen, wait, &*houses)).await;
        });
    }
}

fn loopback(stream: &TcpStream) -> Option<Ipv4Addr> {
    match stream.local_addr().ok()?.ip() {
        IpAddr::V4(address) if address.is_loopback() => Some(address),
        _ => None,
    }
}

async fn greet(mut stream: TcpStream, address: Ipv4Addr, seen: &Seen, wait: Duration, houses: &Houses) {
    // Counted until the answer begins: the client cannot think before that that it is done.
    let waiting = Waiting::of(seen);
    let Some(request) = read_request(&mut stream).await else { return };
    seen.requests.fetch_add(1, Ordering::Relaxed);
    if !wait.is_zero() && !stay(&mut stream, wait).await {
        return;
    }
    let answer = houses(address, &request);
    drop(waiting);
    match play(&mut stream, &answer).await {
        Ok(End::Reset) => drop(stream.set_zero_linger()),
        Ok(End::Fin | End::FinWithoutNotify) => {
            if stream.shutdown().await.is_ok() {
                see_off(&mut stream, FAREWELL).await;
            }
        }
        // The client has left.
        Err(_) => {}
    }
}

/// Counted as waiting while it lives.
struct Waiting<'a>(&'a Seen);

impl<'a> Waiting<'a> {
    fn of(seen: &'a Seen) -> Self {
        let waiting = seen.waiting.fetch_add(1, Ordering::SeqCst) + 1;
        seen.most_waiting.fetch_max(waiting, Ordering::SeqCst);
        Self(seen)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn houses_are_distinct_and_loopback() {
        let houses: HashSet<Ipv4Addr> = (0..200_000).map(house).collect();
        assert_eq!(houses.len(), 200_000);
        assert!(houses.iter().all(Ipv4Addr::is_loopback));
    }
}
