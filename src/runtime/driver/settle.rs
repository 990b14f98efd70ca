//! For those who move a clock that stands: when has everything happened that this instant brings?

use crossbeam_channel::Sender;

use super::Driver;
use crate::model::Instant;

/// Told when nothing more will happen at this instant: when something will next, if ever.
pub type Settled = Sender<Option<Instant>>;

impl Driver {
    /// Tells those who wait, if nothing is under way.
    pub(super) fn settle(&mut self) {
        if self.settling.is_empty() || !self.is_settled() {
            return;
        }
        let next = self.next_wake();
        for reply in self.settling.drain(..) {
            let _ = reply.send(next);
        }
    }

    fn is_settled(&self) -> bool {
        let now = self.clock.now();
        // A handler that runs takes no time of a clock that stands; a stubbed one may.
        self.world.live_count() == self.stubs.live()
            && self.instant.is_empty()
            && self.held.is_empty()
            && !self.world.has_ready(now)
            && !self.has_unread()
            && !self.has_unfollowed()
            && self.world.next_gathering().is_none()
            && self.next_wake().is_none_or(|wake| wake > now)
    }

    /// When the driver has something to do of itself.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let wakes =
            [self.world.next_wake(), self.shared.recheck_at, self.stubs.next(), self.next_look()];
        wakes.into_iter().flatten().min()
    }
}
