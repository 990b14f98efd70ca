//! Edges to other runs: what a task run that has moved says to them, and what was read of others.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::cell::{Absence, Cell, CellKey, Found, Known, Votes, Why};
use super::super::edges::Verdict;
use super::super::watched::Cells;
use super::super::{Across, EdgeAt, TaskRunRef};
use super::draft::Draft;
use crate::model::{EdgeKind, Instant, State, TaskRunId};

/// Codes of task runs that are BLOCKED by something that is no task run.
mod codes {
    pub const PAUSED: &str = "UPSTREAM_PAUSED";
    pub const EXPIRED: &str = "UPSTREAM_EXPIRED";
    pub const REMOVED: &str = "UPSTREAM_REMOVED";
}

impl Draft<'_> {
    /// Cells were read: the edges that look at them are judged by that.
    pub(super) fn read_cells(&mut self, cells: &[(CellKey, Known)]) {
        for (key, known) in cells {
            let Some(cell) = self.world.cells.get(key) else { continue };
            if cell.known.as_ref() == Some(known) {
                continue;
            }
            for (watcher, edge) in &cell.watchers {
                let Some(across) = self.across(*watcher, *edge) else { continue };
                let before = Cells::cell_votes(cell.known.as_ref(), across);
                let after = Cells::cell_votes(Some(known), across);
                // What it is blocked by may be another, though as many say the same.
                let kind = across.rule.kind;
                self.vote(*watcher, (*edge, kind), before, after);
            }
            self.read.insert(key.clone(), known.clone());
            self.out.cells.push((key.clone(), known.clone()));
        }
    }

    fn across(&self, at: TaskRunRef, edge: u32) -> Option<&Across> {
        self.run(at.run)?.plan.across(at.index).get(edge as usize)
    }

    /// Tells the edges of other runs how a task run stands now.
    pub(super) fn spread_across(&mut self, at: TaskRunRef) {
        let world = self.world;
        let of_backfill = self.run(at.run).is_some_and(|run| run.row.backfill_id.is_some());
        // A backfill makes the runs that it names and no others.
        let is_followed = !world.followers.is_empty() && !of_backfill;
        if world.cells.is_empty() && !is_followed {
            return;
        }
        let Some(run) = self.run(at.run) else { return };
        let (plan, when) = (run.plan.clone(), (run.row.biz_date, run.row.nominal_at));
        for name in plan.names_of(at.index) {
            let watched = world.cells.watched(name);
            if watched.is_none() && !is_followed {
                continue;
            }
            let Some(found) = self.found_now(at) else { return };
            for place in watched.iter().flat_map(|watched| watched.places(when.0, when.1)) {
                let Some(cell) = watched.and_then(|watched| watched.get(place)) else { continue };
                let key = CellKey { upstream: Arc::clone(name), at: place };
                self.see(key, cell, when.1, &found);
            }
            if is_followed {
                self.follow(name, at, &found);
            }
        }
    }

    /// A task run as edges of other runs see it now.
    fn found_now(&self, at: TaskRunRef) -> Option<Found> {
        let task_run = self.run(at.run)?.get(at.index)?;
        let texts = self.texts.get(&at).or(task_run.texts.as_deref());
        Found::of(at.run, task_run.id, self.progress(at)?, texts)
    }

    fn see(&mut self, key: CellKey, cell: &Cell, at: Instant, found: &Found) {
        let Some(known) = self.read.get(&key).or(cell.known.as_ref()) else { return };
        let place = (key, at);
        let old = self.found.get(&place).or_else(|| known.found.get(&at));
        if old.is_some_and(|old| old.run > found.run || old == found) {
            return;
        }
        let mut merged: Option<Known> = None;
        let mut changes = Vec::new();
        for (watcher, edge) in &cell.watchers {
            let Some(across) = self.across(*watcher, *edge) else { continue };
            let change = known.change_alone(across, at, old, found).unwrap_or_else(|| {
                let merged = merged.get_or_insert_with(|| self.merged(&place.0, known));
                merged.change(across, at, old, found)
            });
            changes.push((*watcher, (*edge, across.rule.kind), change));
        }
        self.found.insert(place, found.clone());
        for (watcher, edge, (before, after)) in changes {
            self.vote(watcher, edge, before, after);
        }
    }

    /// A cell with what this decision has changed in it.
    fn merged(&self, key: &CellKey, known: &Known) -> Known {
        let mut merged = known.clone();
        let first = (key.clone(), Instant(i64::MIN));
        let changed = self.found.range(first..).take_while(|((of, _), _)| of == key);
        merged.found.extend(changed.map(|((_, at), found)| (*at, found.clone())));
        merged
    }

    /// A cell says something else to an edge, or says it for another reason.
    fn vote(&mut self, at: TaskRunRef, (edge, kind): (u32, EdgeKind), before: Votes, after: Votes) {
        let Some(mut votes) = self.votes_of(at, edge) else { return };
        let from = votes;
        votes.change(before, after);
        self.votes.insert((at, edge), votes);
        let mut edges = self.edges(at);
        edges.counts.change_outside(kind, from, votes);
        edges.lost_cause |= from.verdict() == Verdict::Broken;
        // A cause that is found from now on may be another one.
        edges.searched = false;
        self.edges.insert(at, edges);
        self.touched.push_back(at);
    }

    /// What the runs say that an edge looks at, as of this decision.
    pub(super) fn votes_of(&self, at: TaskRunRef, edge: u32) -> Option<Votes> {
        let known = || self.task_run(at)?.votes.get(edge as usize).copied();
        self.votes.get(&(at, edge)).copied().or_else(known)
    }

    /// The task runs that the edges of one look at and that are not here: somebody else may move
    /// them, so the transaction that starts it looks again.
    pub(super) fn relied(&self, at: TaskRunRef) -> Vec<(TaskRunId, State)> {
        let Some(run) = self.run(at.run) else { return Vec::new() };
        let mut relied = Vec::new();
        for edge in run.plan.across(at.index) {
            for key in edge.cells(run.period()) {
                let Some(known) = self.world.cells.known(&key) else { continue };
                let elsewhere = known.found.values();
                let elsewhere = elsewhere.filter(|found| self.world.run(found.run).is_none());
                relied.extend(elsewhere.map(|found| (found.task_run, found.state)));
            }
        }
        relied
    }

    /// What breaks an edge to another run: the task run at the root, if it is one, and a code.
    pub(super) fn cause_outside(
        &self,
        at: TaskRunRef,
    ) -> Option<(Option<TaskRunId>, &'static str)> {
        let (mut root, mut code) = (None, None);
        self.each_broken(at, |why| match why {
            Why::Run(_, found) => root = root.or(Some(found.root())),
            Why::Missing(_, true) => code = Some(codes::PAUSED),
            Why::Absent(Absence::Expired) => code = Some(codes::EXPIRED),
            Why::Absent(_) => code = Some(codes::REMOVED),
            Why::Missing(..) | Why::Unread => {}
        });
        match root {
            Some(root) => Some((Some(root), super::cascade::UPSTREAM_FAILED)),
            None => code.map(|code| (None, code)),
        }
    }

    /// Whether an edge of a task run to another run, or one of its upstreams here, is blocked by
    /// this task run, which is of another run.
    pub(super) fn names_outside(&self, at: TaskRunRef, id: TaskRunId) -> bool {
        let Some(run) = self.run(at.run) else { return false };
        let mut named = run.plan.upstream(at.index).any(|(index, _)| {
            let progress = self.progress(TaskRunRef { run: at.run, index });
            progress.is_some_and(|p| p.state == State::Blocked && p.blocked_by == Some(id))
        });
        if !named {
            let is_named = |why: Why<'_>| matches!(why, Why::Run(_, found) if found.root() == id);
            self.each_broken(at, |why| named |= is_named(why));
        }
        named
    }

    /// Looks at what breaks the edges of a task run to other runs, as of this decision.
    fn each_broken(&self, at: TaskRunRef, mut look: impl FnMut(Why<'_>)) {
        let Some(run) = self.run(at.run) else { return };
        for (nth, edge) in (0..).zip(run.plan.across(at.index)) {
            if edge.rule.wait_up_to_ms.is_some() && self.is_over(at, EdgeAt::Across(nth)) {
                continue;
            }
            for key in edge.cells(run.period()) {
                let Some(known) = self.known(&key) else { continue };
                let verdicts = known.verdicts(edge).into_iter();
                verdicts
                    .filter(|(verdict, _)| *verdict == Verdict::Broken)
                    .for_each(|(_, why)| look(why));
            }
        }
    }

    /// What this decision has changed in a cell.
    pub(super) fn changed_in(&self, key: &CellKey) -> Vec<(Instant, &Found)> {
        let first = (key.clone(), Instant(i64::MIN));
        let changed = self.found.range(first..).take_while(|((of, _), _)| of == key);
        changed.map(|((_, at), found)| (*at, found)).collect()
    }

    /// A cell as of this decision.
    fn known(&self, key: &CellKey) -> Option<Cow<'_, Known>> {
        let known = self.read.get(key).or_else(|| self.world.cells.known(key))?;
        let first = (key.clone(), Instant(i64::MIN));
        let is_changed = self.found.range(first..).next().is_some_and(|((of, _), _)| of == key);
        Some(if is_changed { Cow::Owned(self.merged(key, known)) } else { Cow::Borrowed(known) })
    }
}
