//! Blocks: task runs of a backfill of which one runs for all, where their task computes a range as
//! one batch.
//!
//! A block is the places of such a task in runs of one group whose intervals follow on each other.
//! Its members are what of that is open. Each of them becomes READY by itself; when all are, the
//! last one is released into the queue, and the others go with it. All of this follows from the
//! plan and the rows, so nothing of it is stored.

use std::collections::{BTreeMap, VecDeque};

use super::plan::local;
use super::{Backfilling, Run, TaskRunRef, World};
use crate::model::{
    BackfillId, BackfillPlan, DagDef, EdgeKind, Instant, Problem, RunId, RunState, State, TaskDef,
    TaskId,
};

/// The places of a task that are computed as one, the earliest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub task: TaskId,
    pub places: Vec<u32>,
}

/// Which block of which backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockRef {
    pub backfill: BackfillId,
    pub number: u32,
}

/// The blocks of a plan. A place alone is none.
pub(super) fn blocks_of(plan: &BackfillPlan) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (number, task) in (0u32..).zip(&plan.tasks).filter(|(_, task)| task.batch) {
        let holds = |set: u32| {
            plan.sets.get(set as usize).is_some_and(|set| set.tasks.binary_search(&number).is_ok())
        };
        let mut of_task: Vec<_> =
            (0u32..).zip(&plan.runs).filter(|(_, run)| holds(run.set)).collect();
        of_task.sort_by_key(|(_, run)| run.nominal_at);
        let rows =
            of_task.chunk_by(|(_, a), (_, b)| a.group == b.group && a.interval.1 == b.interval.0);
        blocks.extend(rows.filter(|row| row.len() > 1).map(|row| Block {
            task: task.task_id,
            places: row.iter().map(|(ordinal, _)| *ordinal).collect(),
        }));
    }
    blocks
}

/// The task run of a task in a run.
pub(super) fn place_of(run: &Run, task: TaskId) -> Option<TaskRunRef> {
    let mut tasks = (0u32..).zip(&run.plan.tasks);
    let (index, _) = tasks.find(|(_, planned)| planned.task_id == task)?;
    Some(TaskRunRef { run: run.row.id, index })
}

/// Tasks that compute a range as one, though one of its dates waits for another by way of other tasks:
/// what runs for both would wait for its own end. An edge to itself is refused where it is read.
pub(super) fn check(dag: &DagDef) -> Vec<Problem> {
    let batches = dag.tasks.iter().filter(|task| task.batch);
    let ways = batches.filter_map(|task| way_back(dag, task));
    let problem = |way: Vec<&str>| {
        let name = way.first().copied().unwrap_or_default();
        let message = format!(
            "a range is not computed as one by a task of which a date waits for another: {}",
            way.join(" -> ")
        );
        Problem::new("bad_batch", format!("{}.{name}.batch", dag.key), message).hint(
            "leave out one of these edges, or `batch`: all dates of a batch are computed at once",
        )
    };
    ways.map(problem).collect()
}

/// A task, what waits for it one after the other, and the task again; the shortest way.
fn way_back<'d>(dag: &'d DagDef, start: &'d TaskDef) -> Option<Vec<&'d str>> {
    let mut came: BTreeMap<&str, &'d str> = BTreeMap::new();
    let mut next = VecDeque::from([start.name.as_str()]);
    while let Some(up) = next.pop_front() {
        let waits = |task: &&TaskDef| {
            task.dependencies.iter().any(|edge| {
                edge.kind != EdgeKind::Weak && local(&dag.key, &edge.upstream) == Some(up)
            })
        };
        for down in dag.tasks.iter().filter(waits).map(|task| task.name.as_str()) {
            if down == start.name && up != down {
                let mut way = vec![down, up];
                while let Some(before) = way.last().and_then(|last| came.get(last)) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if down != start.name && !came.contains_key(down) {
                came.insert(down, up);
                next.push_back(down);
            }
        }
    }
    None
}

impl World {
    /// The block of a task run, if it is in one.
    pub(super) fn block(&self, at: TaskRunRef) -> Option<BlockRef> {
        let run = self.runs.get(&at.run)?;
        let of = run.filling?;
        let task = run.plan.tasks.get(at.index as usize).filter(|task| task.def.batch)?;
        let number = self.fillings.get(&of.id)?.block(of.ordinal, task.task_id)?;
        Some(BlockRef { backfill: of.id, number })
    }

    /// The task runs of a block, the earliest first. None where a run that is open is not here.
    pub(super) fn members(&self, block: BlockRef) -> Option<Vec<TaskRunRef>> {
        let filling = self.fillings.get(&block.backfill)?;
        let of = filling.block_at(block.number)?;
        let mut members = Vec::with_capacity(of.places.len());
        for ordinal in &of.places {
            let place = filling.places().get(*ordinal as usize)?;
            let Some(id) = place.run else { continue };
            match self.runs.get(&id) {
                Some(run) => members.extend(place_of(run, of.task)),
                None if place.state == Some(RunState::Running) => return None,
                None => {}
            }
        }
        Some(members)
    }

    /// Who may start for a block: the last of those that are open, when all of them may.
    fn may_start(&self, block: BlockRef) -> Option<TaskRunRef> {
        let mut last = None;
        for at in self.members(block)? {
            let task_run = self.task_run(at)?;
            if task_run.progress.state.is_final() {
                continue;
            }
            let is_ready = task_run.progress.state == State::Ready
                && task_run.counts.unmet == 0
                && task_run.live.is_none();
            if !is_ready {
                return None;
            }
            last = Some(at);
        }
        last
    }

    /// The blocks that a run has a part in.
    pub(super) fn blocks_of_run(&self, id: RunId) -> Vec<BlockRef> {
        let Some(run) = self.runs.get(&id).filter(|run| run.filling.is_some()) else {
            return Vec::new();
        };
        let indexes = 0..run.plan.tasks.len() as u32;
        indexes.filter_map(|index| self.block(TaskRunRef { run: id, index })).collect()
    }

    /// The same for all blocks of a run.
    pub(super) fn reblock_run(&mut self, id: RunId) {
        self.blocks_of_run(id).into_iter().for_each(|block| self.reblock(block));
    }

    /// Whether others of a block would not see what is BLOCKED if this run were let go.
    pub(super) fn is_missed(&self, run: &Run) -> bool {
        run.filling.is_some()
            && (0u32..).zip(run.task_runs()).any(|(index, task_run)| {
                !task_run.progress.state.is_final()
                    && self.block(TaskRunRef { run: run.row.id, index }).is_some()
            })
    }

    /// Whether a block may start is seen anew.
    pub(super) fn reblock(&mut self, block: BlockRef) {
        let (before, after) = (self.released.get(&block).copied(), self.may_start(block));
        if before == after {
            return;
        }
        let both = || before.into_iter().chain(after);
        for at in both() {
            let keys = self.keys(at);
            self.take(at, &keys);
        }
        match after {
            Some(at) => self.released.insert(block, at),
            None => self.released.remove(&block),
        };
        for at in both() {
            let keys = self.keys(at);
            self.put(at, &keys);
        }
    }

    /// The interval for which an attempt runs that others have none beside; none where it runs for
    /// itself alone.
    pub fn block_interval(&self, at: TaskRunRef) -> Option<(Instant, Instant)> {
        let members = self.members(self.block(at)?)?;
        let is_running = |at: &TaskRunRef| {
            self.task_run(*at).is_some_and(|found| found.progress.state == State::Running)
        };
        let runs = members.into_iter().filter(is_running).filter_map(|at| self.runs.get(&at.run));
        let intervals = runs.map(|run| (run.row.interval_start, run.row.interval_end));
        intervals.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    }

    /// What a member of a block waits for that may run as far as it is concerned, or who runs for
    /// it; in words.
    pub(super) fn of_block(&self, at: TaskRunRef) -> Option<String> {
        let members = self.members(self.block(at)?)?;
        let others = || members.iter().copied().filter(|other| *other != at);
        let standing = |at: TaskRunRef| {
            let run = self.runs.get(&at.run)?;
            let state = run.get(at.index)?.progress.state;
            Some((state, format!("{} of run {} ({state})", run.name(at.index), at.run)))
        };
        match self.task_run(at)?.progress.state {
            State::Running if self.live(at).is_none() => {
                let leader = others().find(|other| self.live(*other).is_some())?;
                Some(format!("computed as one batch with {}", standing(leader)?.1))
            }
            State::Ready if self.released.get(&self.block(at)?) != Some(&at) => {
                let found = others()
                    .filter_map(standing)
                    .find(|(state, _)| !state.is_final() && *state != State::Ready);
                Some(match found {
                    Some((_, other)) => format!("computed as one batch, which waits for {other}"),
                    None => format!("computed as one batch with {}", standing(*members.last()?)?.1),
                })
            }
            State::Failed => {
                let found = others().filter_map(standing);
                let mut found =
                    found.filter(|(state, _)| state.ended_badly() || *state == State::Blocked);
                found.next_back().map(|(_, other)| format!("computed as one batch with {other}"))
            }
            _ => None,
        }
    }
}

impl Backfilling {
    /// The number of the block that a task has at a place.
    pub(super) fn block(&self, ordinal: u32, task: TaskId) -> Option<u32> {
        self.block_numbers.get(&(ordinal, task)).copied()
    }

    pub(super) fn block_at(&self, number: u32) -> Option<&Block> {
        self.blocks.get(number as usize)
    }
}
