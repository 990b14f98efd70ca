//! Time has passed.

use super::super::TaskRunRef;
use super::draft::Draft;
use super::ended::stopped;
use crate::model::{Instant, Outcome, RunId, StopReason};

impl Draft<'_> {
    /// Delays that are over, attempts out of their time, stops out of their grace, probes that are
    /// asked again; and whatever
    /// stands where it cannot stay, which rows may do that a crash left behind.
    pub(super) fn tick(&mut self) {
        let world = self.world;
        let end = (self.now, TaskRunRef { run: RunId(i64::MAX), index: u32::MAX });
        for (_, at) in world.timers.range(..=end) {
            self.due(*at);
        }
    }

    fn due(&mut self, at: TaskRunRef) {
        if self.check_deadline(at) {
            return;
        }
        self.wait_no_longer(at);
        self.check_blocked(at);
        let world = self.world;
        let Some(live) = world.live(at).filter(|live| !live.ended) else {
            self.touched.push_back(at);
            return;
        };
        let passed = |when: Instant| when <= self.now;
        match live.stop {
            Some(stop) if passed(stop.give_up_at) => self.give_up(at, live, stop.reason),
            None if live.timeout_at.is_some_and(passed) && live.rest.is_some() => {
                self.end_resting(at, live, Outcome::Timeout);
            }
            None if live.timeout_at.is_some_and(passed) => {
                let grace_ms = self.task(at).map_or(0, |task| task.def.policy.grace_ms);
                self.stop_within(at, StopReason::Timeout, grace_ms);
            }
            None if live.rest.and_then(|rest| rest.until).is_some_and(passed) => {
                self.poll(at, live);
            }
            _ => {}
        }
    }

    /// Asks a live attempt to stop; without any grace it is given up at once.
    pub(super) fn stop_within(&mut self, at: TaskRunRef, reason: StopReason, grace_ms: i64) {
        let world = self.world;
        let Some(live) = world.live(at).filter(|live| !live.ended) else { return };
        if live.rest.is_some() {
            // Nothing runs that would have to be asked.
            return self.end_resting(at, live, stopped(reason));
        }
        let stop = self.stop(at, live, reason, grace_ms);
        if stop.give_up_at <= self.now {
            self.give_up(at, live, stop.reason);
        }
    }
}
