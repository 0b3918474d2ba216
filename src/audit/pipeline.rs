//! Work spread over a pool of threads, results in the order of the work: the same for one thread and for many.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::ThreadPool;

use super::AuditError;

/// Pieces of work under way or waiting for each thread: the bound on what is held.
pub const PIECES_PER_THREAD: usize = 4;

/// Results of a function over the items of an iterator, computed on a pool, in the iterator's order.
pub struct Ordered<I, F, T> {
    items: I,
    function: Arc<F>,
    pool: Arc<ThreadPool>,
    limit: usize,
    under_way: VecDeque<Receiver<T>>,
}

/// Maps items on a pool; at most [`PIECES_PER_THREAD`] for each thread are taken ahead.
pub fn ordered<I, F, T>(pool: &Arc<ThreadPool>, items: I, function: F) -> Ordered<I, F, T>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    ordered_within(pool, PIECES_PER_THREAD * pool.current_num_threads(), items, function)
}

/// The same, where at most so many items are taken ahead: for large ones.
pub fn ordered_within<I, F, T>(pool: &Arc<ThreadPool>, limit: usize, items: I, function: F) -> Ordered<I, F, T>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    Ordered { items, function: Arc::new(function), pool: Arc::clone(pool), limit, under_way: VecDeque::new() }
}

impl<I, F, T> Iterator for Ordered<I, F, T>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    type Item = Result<T, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.under_way.len() < self.limit {
            let Some(item) = self.items.next() else { break };
            let (result, receiver) = sync_channel(1);
            let function = Arc::clone(&self.function);
            self.pool.spawn(move || {
                // The reader may be gone: then nobody wants the result.
                let _ = result.send(function(item));
            });
            self.under_way.push_back(receiver);
        }
        let first = self.under_way.pop_front()?;
        Some(first.recv().map_err(|_| AuditError::Worker))
    }
}

/// A pool of so many threads. A panic in one piece of work ends the run with an error, not the process.
///
/// # Errors
/// Where the threads cannot be started.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, AuditError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("evaluate-{index}"))
        .panic_handler(|_| {})
        .build()?;
    Ok(Arc::new(pool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let pool = pool(2).expect("threads");
        let slow_first = |n: u64| {
            std::thread::sleep(std::time::Duration::from_millis(if n.is_multiple_of(7) { 5 } else { 0 }));
            n * 2
        };
        let results: Vec<u64> = ordered(&pool, 0..100, slow_first).map(|n| n.expect("no panic")).collect();
        assert_eq!(results, (0..100).map(|n| n * 2).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_is_an_error() {
        let pool = pool(1).expect("threads");
        let results: Vec<bool> = ordered(&pool, 0..3, |n: u8| assert_ne!(n, 1)).map(|n| n.is_ok()).collect();
        assert_eq!(results, [true, false, true]);
    }
}
