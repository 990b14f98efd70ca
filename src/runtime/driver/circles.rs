//! Task runs that wait for each other are told, as nobody else would notice that nothing happens.

use std::collections::BTreeSet;

use super::Driver;
use crate::engine::TaskRunRef;
use crate::model::Instant;
use crate::runtime::told::News;

/// How often it is looked for them, in milliseconds.
const LOOK_MS: i64 = 60_000;

/// Circles that were told, and when to look for others.
#[derive(Default)]
pub struct Circles {
    next: Option<Instant>,
    told: BTreeSet<Vec<TaskRunRef>>,
}

impl Driver {
    /// Looks once a minute, and tells each circle once.
    pub(super) fn look_for_circles(&mut self, now: Instant) {
        let is_due = self.circles.next.is_none_or(|next| next <= now);
        let Some(told) = self.told.as_ref().filter(|_| is_due && self.serving.is_active()) else {
            return;
        };
        self.circles.next = Some(now.plus_millis(LOOK_MS));
        let circles: BTreeSet<Vec<TaskRunRef>> = self.world.circles().into_iter().collect();
        for circle in circles.difference(&self.circles.told) {
            let Some(run) = circle.first().map(|at| at.run) else { continue };
            let why = self.world.circle_in_words(circle);
            told.tell(News::Circle { at: now, run, why });
        }
        self.circles.told = circles;
    }
}
