//! What a fetcher counts beside the observations: its manners, name look-ups, and failures that are its own.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::network::NameAnswer;

/// How a fetcher behaved, for the run's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Manners {
    /// Attempts beyond the first, the one over http after https aside.
    pub retries: u64,
    /// Waits that a server's `Retry-After` asked for.
    pub waits_for_retry_after: u64,
    /// Connections that had to wait for their address's turn.
    pub waits_for_turn: u64,
    /// Most connections to one address at a time; `None` where addresses are not paced.
    pub most_connections_to_one_address: Option<u64>,
    /// What look-ups of names gave.
    pub look_ups: LookUps,
}

/// What look-ups of names gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LookUps {
    /// Addresses.
    pub found: u64,
    /// There is no such name.
    pub nxdomain: u64,
    /// The name has no address.
    pub no_data: u64,
    /// The name servers failed or refused.
    pub failed: u64,
    /// No answer in time.
    pub timed_out: u64,
}

/// Failures of this machine, each waited out before it could become the origin's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OwnFailures {
    /// No descriptor for a connection: too many open files.
    pub descriptors: u64,
    /// No port or buffer for a connection.
    pub ports: u64,
    /// The resolver could not ask.
    pub resolver: u64,
}

/// One count.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counts of one fetcher.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) retries: Count,
    pub(super) waits_for_retry_after: Count,
    pub(super) waits_for_turn: Count,
    /// Fetches of a crowd under way, those that wait among them.
    pub(super) under_way: Count,
    pub(super) own_descriptors: Count,
    pub(super) own_ports: Count,
    pub(super) own_resolver: Count,
    /// By the order of [`LookUps`].
    look_ups: [Count; 5],
}

impl Tally {
    pub(super) fn count_look_up(&self, answer: &NameAnswer) {
        let index = match answer {
            NameAnswer::Addresses(addresses) if !addresses.is_empty() => 0,
            NameAnswer::NxDomain => 1,
            NameAnswer::Addresses(_) | NameAnswer::NoData => 2,
            NameAnswer::Failure => 3,
            NameAnswer::Timeout => 4,
        };
        self.look_ups[index].add_one();
    }

    pub(super) fn manners(&self, most_connections_to_one_address: Option<u64>) -> Manners {
        let [found, nxdomain, no_data, failed, timed_out] = self.look_ups.each_ref().map(Count::get);
        Manners {
            retries: self.retries.get(),
            waits_for_retry_after: self.waits_for_retry_after.get(),
            waits_for_turn: self.waits_for_turn.get(),
            most_connections_to_one_address,
            look_ups: LookUps { found, nxdomain, no_data, failed, timed_out },
        }
    }

    pub(super) fn own_failures(&self) -> OwnFailures {
        OwnFailures {
            descriptors: self.own_descriptors.get(),
            ports: self.own_ports.get(),
            resolver: self.own_resolver.get(),
        }
    }
}
