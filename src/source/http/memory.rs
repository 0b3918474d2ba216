//! What an earlier run knows, around a fetch: before it, whether to ask at all; behind it, what stays known (fetch
//! policy §3). The decisions are those of [`crate::source::history::earlier`].

use super::room::Seat;
use super::{Fetched, Fetcher};
use crate::origin::Target;
use crate::source::history::earlier::{Earlier, Plan, since};

impl Fetcher {
    /// What comes of the target's robots.txt: what an earlier run knows where that is fresh, otherwise what is seen
    /// now. Trouble of any kind, a fault of this program too, is a class of the observation.
    ///
    /// Needs a tokio runtime with time and I/O. Memory beside the body stays within the limits' body octets plus
    /// 512 KiB; undoing br adds its window, for two fetches at a time. The time is bounded, but not by the origin's
    /// limit alone: waits for the address's turn, and those between attempts, are not counted there.
    pub async fn fetch(&self, target: &Target) -> Fetched {
        self.fetch_from(&mut Seat::alone(), target).await
    }

    /// The same from a seat, which is still taken at the end where a body was read.
    pub(super) async fn fetch_from(&self, seat: &mut Seat, target: &Target) -> Fetched {
        match &self.history {
            Some(history) => self.fetch_behind(seat, target, history.find(&target.origin)).await,
            None => self.fetch_now(seat, target, None).await,
        }
    }

    /// The same as [`Self::fetch`], where this is known of the target from before, whatever the settings say.
    ///
    /// The body of an answer that is used again, or confirmed, is with whoever knew it.
    pub async fn fetch_knowing(&self, target: &Target, earlier: Option<&Earlier>) -> Fetched {
        self.fetch_behind(&mut Seat::alone(), target, earlier).await
    }

    async fn fetch_behind(&self, seat: &mut Seat, target: &Target, earlier: Option<&Earlier>) -> Fetched {
        let Some(earlier) = earlier else {
            let mut fetched = self.fetch_now(seat, target, None).await;
            fetched.observation.unreachable_since = since(None, &fetched.observation);
            return fetched;
        };
        let fetched = match earlier.plan(target, self.clock.now_micros()) {
            Plan::Fresh(observation) => return Fetched { observation: *observation, body: None },
            Plan::Revalidate(validators) => self.fetch_now(seat, target, Some(&validators)).await,
            Plan::Ask => self.fetch_now(seat, target, None).await,
        };
        Fetched { observation: earlier.after(target, fetched.observation), body: fetched.body }
    }
}
