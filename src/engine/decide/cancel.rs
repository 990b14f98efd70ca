//! Somebody says stop, or the process has to go.

use super::super::TaskRunRef;
use super::Refusal;
use super::draft::Draft;
use crate::model::{RunId, State, StopReason};

impl Draft<'_> {
    /// What does not run is CANCELED at once, what runs is asked to stop. A run that has nothing
    /// open any more stays as it is.
    pub(super) fn cancel(
        &mut self,
        run: RunId,
        only: Option<&[u32]>,
        grace_ms: Option<i64>,
    ) -> Result<(), Refusal> {
        let all = self.known_task_runs(run, only)?;
        let any = self.cancel_all(run, all, grace_ms, State::Canceled.as_str());
        if any && only.is_none() {
            self.set_cancel_requested(run, true);
        }
        Ok(())
    }

    /// Cancels these, with the items of the mapped tasks among them; whether any was open.
    pub(super) fn cancel_all(
        &mut self,
        run: RunId,
        indexes: Vec<u32>,
        grace_ms: Option<i64>,
        code: &str,
    ) -> bool {
        let mut any = false;
        for index in self.with_items(run, indexes) {
            let at = TaskRunRef { run, index };
            let Some(progress) = self.progress(at) else { continue };
            if progress.state.is_final() {
                continue;
            }
            any = true;
            if progress.state == State::Running && self.has_open_items(at) {
                // It ends with the last of its items, which are canceled as well.
                continue;
            }
            if progress.state == State::Running && self.world.live(at).is_some() {
                let own = self.task(at).map_or(0, |task| task.def.policy.grace_ms);
                self.stop_within(at, StopReason::Cancel, grace_ms.unwrap_or(own));
            } else {
                self.cancel_open(at, code);
            }
        }
        any
    }

    /// These indexes, and the items of the mapped tasks among them.
    fn with_items(&self, run: RunId, indexes: Vec<u32>) -> Vec<u32> {
        let Some(found) = self.world.run(run) else { return indexes };
        let items = |index: &u32| found.items(*index).map(|items| items.indexes.clone());
        let mut all: Vec<u32> = indexes.iter().filter_map(items).flatten().collect();
        all.extend(indexes);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// An orderly shutdown: every live attempt is asked to stop, and nothing starts any more. What
    /// rests goes on where the run goes on.
    pub(super) fn interrupt(&mut self, grace_ms: i64) {
        self.out.interrupting = true;
        for at in &self.world.leased {
            match self.world.live(*at) {
                Some(live) if live.rest.is_some() && !live.ended => self.lay_down(*at, live),
                _ => self.stop_within(*at, StopReason::Interrupt, grace_ms),
            }
        }
    }
}
