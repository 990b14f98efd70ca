//! Task runs of which one runs for all: they start together, and end as that one does.

use super::super::TaskRunRef;
use super::super::blocks::{BlockRef, place_of};
use super::draft::Draft;
use crate::model::{RunState, State};

/// The code of what failed because what runs for it did, or because it cannot.
const BATCH: &str = "BATCH";

impl Draft<'_> {
    /// The block of a task run, be its run one that this decision makes.
    pub(super) fn block_of(&self, at: TaskRunRef) -> Option<BlockRef> {
        if self.world.run(at.run).is_some() {
            return self.world.block(at);
        }
        let run = self.run(at.run)?;
        let task = run.plan.tasks.get(at.index as usize).filter(|task| task.def.batch)?;
        let backfill = run.row.backfill_id?;
        let place = self.out.filled.iter().find(|place| place.run == Some(at.run))?;
        let number = self.world.fillings.get(&backfill)?.block(place.ordinal, task.task_id)?;
        Some(BlockRef { backfill, number })
    }

    /// The task runs of a block that are open, the earliest first, with where they stand. None where
    /// a run that is open is not here.
    fn members(&self, block: BlockRef) -> Option<Vec<(TaskRunRef, State)>> {
        let filling = self.world.fillings.get(&block.backfill)?;
        let of = filling.block_at(block.number)?;
        let mut members = Vec::with_capacity(of.places.len());
        for ordinal in &of.places {
            let place = filling.places().get(*ordinal as usize)?;
            let Some(id) = self.run_at(filling, *ordinal) else { continue };
            let Some(at) = self.run(id).and_then(|run| place_of(run, of.task)) else {
                if self.run(id).is_none() && place.state == Some(RunState::Running) {
                    return None;
                }
                continue;
            };
            let state = self.progress(at).map(|progress| progress.state);
            members.extend(state.filter(|state| !state.is_final()).map(|state| (at, state)));
        }
        Some(members)
    }

    /// One of a block is BLOCKED: nobody can run for all of it, and those that wait have failed.
    pub(super) fn judge_block(&mut self, block: BlockRef) {
        let Some(members) = self.members(block) else { return };
        if members.iter().all(|(_, state)| *state != State::Blocked) {
            return;
        }
        // One whose edges hold no longer goes back to PENDING by itself, with this decision.
        let waits = |(at, state): &(TaskRunRef, State)| {
            *state == State::Ready && self.edges(*at).counts.unmet == 0
        };
        let waiting: Vec<TaskRunRef> =
            members.into_iter().filter(waits).map(|(at, _)| at).collect();
        let now = self.now;
        for at in waiting {
            self.shift_twice(
                at,
                |p| {
                    p.state = State::Running;
                    p.started_at.get_or_insert(now);
                },
                |p| {
                    p.state = State::Failed;
                    p.finished_at = Some(now);
                    p.code = Some(BATCH.into());
                },
            );
        }
    }

    /// The others of its block run with an attempt that begins.
    pub(super) fn start_block(&mut self, leader: TaskRunRef) {
        let Some(block) = self.block_of(leader) else { return };
        let now = self.now;
        for (at, state) in self.members(block).unwrap_or_default() {
            if at == leader || state != State::Ready {
                continue;
            }
            let relied = self.relied(at);
            self.out.relies.extend(relied);
            self.shift(at, |p| {
                p.state = State::Running;
                p.started_at.get_or_insert(now);
                p.code = None;
            });
        }
    }

    /// An attempt has ended: those that it ran for stand where it stands, or wait with it.
    pub(super) fn end_block(&mut self, leader: TaskRunRef) {
        let Some(block) = self.block_of(leader) else { return };
        let Some(to) = self.progress(leader).cloned() else { return };
        let texts = self.texts.get(&leader).cloned();
        let now = self.now;
        for (at, state) in self.members(block).unwrap_or_default() {
            if at == leader || state != State::Running {
                continue;
            }
            let stale = self.edges(at).counts.unmet > 0;
            if let Some(texts) = &texts {
                self.out.texts.push((at, texts.clone()));
                self.texts.insert(at, texts.clone());
            }
            self.shift(at, |p| {
                p.state = if to.state.is_final() { to.state } else { State::Ready };
                p.finished_at = to.state.is_final().then_some(now);
                match to.state {
                    State::Success => {
                        (p.result, p.result_uri) = (to.result.clone(), to.result_uri.clone());
                        p.stale |= stale;
                    }
                    State::Failed | State::Timeout => p.code = Some(BATCH.into()),
                    _ => p.code.clone_from(&to.code),
                }
            });
            self.touched.push_back(at);
        }
    }

    /// What runs for nobody and is run for by nobody, as rows may say whose backfill is not here.
    pub(super) fn is_adrift(&self, at: TaskRunRef) -> bool {
        let was = self.world.task_run(at);
        was.is_some_and(|was| was.progress.state == State::Running && was.is_alone())
            && self.world.block(at).is_none()
    }
}
