//! The world takes in what became of a run that edges of other runs look at.

use super::cell::{CellAt, CellKey, Found, Known, Votes};
use super::watched::Cells;
use super::{Plan, TaskRunRef, World};
use crate::model::{Date, EdgeKind, Instant};

impl World {
    /// A task run stands as it is found now. One of an older run of the same instant is no news.
    pub(super) fn see(
        &mut self,
        plan: &Plan,
        index: u32,
        (date, at): (Date, Instant),
        found: &Found,
    ) {
        for name in plan.names_of(index) {
            let Some(watched) = self.cells.watched(name) else { continue };
            let places: Vec<CellAt> = watched.places(date, at).collect();
            for place in places {
                self.see_in(name, place, at, found);
            }
        }
    }

    fn see_in(&mut self, upstream: &str, place: CellAt, at: Instant, found: &Found) {
        let watched = self.cells.watched_mut(upstream);
        let Some(cell) = watched.and_then(|watched| watched.get_mut(place)) else { return };
        let Some(known) = &mut cell.known else { return };
        let old = known.found.get(&at);
        if old.is_some_and(|old| old.run > found.run || old == found) {
            return;
        }
        let mut changes = Vec::new();
        for (watcher, edge) in &cell.watchers {
            let rule = self
                .runs
                .get(&watcher.run)
                .and_then(|run| run.plan.across(watcher.index).get(*edge as usize));
            let Some(rule) = rule else { continue };
            let (before, after) = known.change(rule, at, old, found);
            if before != after {
                changes.push((*watcher, *edge, rule.rule.kind, before, after));
            }
        }
        known.found.insert(at, found.clone());
        for (watcher, edge, kind, before, after) in changes {
            self.vote(watcher, (edge, kind), before, after);
        }
    }

    /// What a cell is, as it was read anew.
    pub(super) fn read(&mut self, key: &CellKey, known: &Known) {
        let Some(cell) = self.cells.get(key) else { return };
        let mut changes = Vec::new();
        for (watcher, edge) in &cell.watchers {
            let run = self.runs.get(&watcher.run);
            let across = run.and_then(|run| run.plan.across(watcher.index).get(*edge as usize));
            let Some(across) = across else { continue };
            let before = Cells::cell_votes(cell.known.as_ref(), across);
            let after = Cells::cell_votes(Some(known), across);
            if before != after {
                changes.push((*watcher, *edge, across.rule.kind, before, after));
            }
        }
        self.cells.set(key, known.clone());
        for (watcher, edge, kind, before, after) in changes {
            self.vote(watcher, (edge, kind), before, after);
        }
    }

    /// A cell says something else to an edge.
    fn vote(&mut self, at: TaskRunRef, (edge, kind): (u32, EdgeKind), before: Votes, after: Votes) {
        self.change(at, |task_run| {
            let Some(votes) = task_run.votes.get_mut(edge as usize) else { return };
            let from = *votes;
            votes.change(before, after);
            task_run.counts.change_outside(kind, from, *votes);
        });
    }
}
