//! Until when a task run is to be finished: an instant that follows from its run alone.

use super::PlannedTask;
use crate::calendar::{Wall, Zone};
use crate::model::{Deadline, Instant, RunRow, Trigger};

impl PlannedTask {
    /// Until when a task run of this task is to be finished. Whoever asks for a run whose deadline
    /// has passed knows that: such a run has none.
    pub(super) fn deadline_in(&self, run: &RunRow) -> Option<Instant> {
        let deadline_at = self.def.policy.deadline.and_then(|deadline| deadline_at(deadline, run));
        deadline_at.filter(|at| *at > run.created_at || !is_asked_for(run.trigger))
    }
}

/// Whether a run is made because a person or a program said so, and not because its time has come.
const fn is_asked_for(trigger: Trigger) -> bool {
    match trigger {
        Trigger::Manual | Trigger::Backfill | Trigger::Api | Trigger::Rerun => true,
        Trigger::Schedule | Trigger::Dependency | Trigger::Catchup | Trigger::Event => false,
    }
}

/// The instant of a deadline in a run. A time of day that the clocks jump over is the end of the
/// jump, and one that they show twice is the first. A run in a zone that is not known any more has
/// no time of day.
pub(super) fn deadline_at(deadline: Deadline, run: &RunRow) -> Option<Instant> {
    match deadline {
        Deadline::After { after_ms } => Some(run.nominal_at.plus_millis(after_ms)),
        Deadline::At { days, second } => {
            let zone = Zone::named(&run.timezone).ok()?;
            let date = zone.date(run.nominal_at).plus_days(i32::try_from(days).ok()?);
            Some(zone.first_instant(Wall::new(date, i64::from(second))))
        }
    }
}
