//! A node is gone with everything that ran on it.

use super::draft::Draft;
use super::ended::outcome_of;
use crate::model::{AttemptRecord, NodeId, Outcome};

impl Draft<'_> {
    /// Its live attempts are lost but for those that rest, its threads are gone, its slots come back.
    pub(super) fn node_lost(&mut self, node: NodeId) {
        let world = self.world;
        for at in &world.leased {
            let Some(live) = world.live(*at).filter(|live| live.node_id == node) else { continue };
            if live.ended {
                self.release(*at);
            } else if self.task(*at).is_some_and(|task| task.def.rests()) && live.stop.is_none() {
                self.take_on(*at, live);
            } else {
                let outcome = outcome_of(live, Outcome::Lost);
                self.end(*at, live, outcome, AttemptRecord::default(), true, (None, None));
            }
        }
    }
}
