//! Backfills in maps.

use std::collections::{BTreeMap, BTreeSet};

use super::commit::conflict;
use super::{Data, MemoryStore, next};
use crate::model::{
    BackfillId, BackfillPlan, BackfillRunRow, Instant, RunId, RunState, ScopeId, ScopeLease,
    TaskId, TaskRunId, TaskRunRow,
};
use crate::store::backfills::{MadeRun, held, overlap};
use crate::store::verify::{Findings, check_backfills};
use crate::store::{
    BackfillCell, BackfillStore, BackfillSummary, Batch, Changed, CommitError, InTheWay,
    StoreError, StoredBackfill,
};

impl BackfillStore for MemoryStore {
    fn next_backfill(&mut self) -> Result<BackfillId, StoreError> {
        Ok(self.lock().next_backfill())
    }

    fn backfill(&mut self, id: BackfillId) -> Result<Option<StoredBackfill>, StoreError> {
        Ok(self.lock().stored_backfill(id))
    }

    fn backfills(&mut self) -> Result<Vec<BackfillSummary>, StoreError> {
        let data = self.lock();
        let all = data.backfills.keys().rev().filter_map(|id| data.stored_backfill(*id));
        Ok(all.map(|stored| summary(&stored)).collect())
    }

    fn backfill_cells(&mut self, id: BackfillId) -> Result<Vec<BackfillCell>, StoreError> {
        let data = self.lock();
        let places = data.backfills.get(&id).map_or(&[][..], |(_, places)| places);
        let runs: BTreeMap<RunId, u32> =
            places.iter().filter_map(|place| Some((place.run_id?, place.ordinal))).collect();
        let mut cells: Vec<BackfillCell> = data
            .task_runs
            .values()
            .filter(|row| row.map_index <= 0 && row.progress.item.is_none())
            .filter_map(|row| {
                Some(BackfillCell {
                    ordinal: *runs.get(&row.run_id)?,
                    task_run: row.id,
                    task: row.task_id,
                    state: row.progress.state,
                    code: row.progress.code.clone(),
                })
            })
            .collect();
        cells.sort_by_key(|cell| (cell.ordinal, cell.task_run));
        Ok(cells)
    }

    fn open_backfills(&mut self, scope: ScopeId) -> Result<Vec<BackfillId>, StoreError> {
        let data = self.lock();
        let rows = data.backfills.values().map(|(row, _)| row);
        let open = rows.filter(|row| row.scope_id == scope && row.finished_at.is_none());
        Ok(open.map(|row| row.id).collect())
    }

    fn held_cells(&mut self) -> Result<BTreeMap<(TaskId, Instant), BackfillId>, StoreError> {
        let data = self.lock();
        let ids = data.backfills.iter().filter(|(_, (row, _))| row.finished_at.is_none());
        let open: Vec<StoredBackfill> =
            ids.filter_map(|(id, _)| data.stored_backfill(*id)).collect();
        Ok(open.iter().flat_map(|b| held(b).map(|cell| (cell, b.row.id))).collect())
    }

    fn earlier_fingerprint(&mut self, of: TaskRunId) -> Result<Option<String>, StoreError> {
        let data = self.lock();
        Ok(data.earlier(of).and_then(|row| row.progress.fingerprint.clone()))
    }

    fn in_the_way(&mut self, plan: &BackfillPlan) -> Result<Option<InTheWay>, StoreError> {
        Ok(self.lock().in_the_way(plan))
    }

    fn take_over_backfill(
        &mut self,
        id: BackfillId,
        from: ScopeId,
        lease: ScopeLease,
    ) -> Result<(), CommitError> {
        let mut data = self.lock();
        data.fence(lease)?;
        let mut open = match data.backfills.get_mut(&id) {
            Some((row, _)) if row.scope_id == from => {
                row.scope_id = lease.scope_id;
                row.finished_at.is_none()
            }
            _ => return Err(conflict(Changed::Backfill(id))),
        };
        for (row, _) in data.runs.values_mut() {
            if row.backfill_id == Some(id) && row.scope_id == from {
                row.scope_id = lease.scope_id;
                open |= row.finished_at.is_none();
            }
        }
        let led = data.scope_names.values().any(|scope| *scope == from);
        if let Some(scope) = data.scopes.get_mut(&from)
            && scope.node_id != lease.node_id
            && (open || !led)
        {
            scope.epoch += 1;
            if !led {
                scope.node_id = lease.node_id;
            }
        }
        Ok(())
    }
}

fn summary(stored: &StoredBackfill) -> BackfillSummary {
    let row = &stored.row;
    let mut runs: BTreeMap<String, u32> = BTreeMap::new();
    for (place, state) in &stored.places {
        let word = state.map(|state| state.as_str().to_owned());
        *runs.entry(word.or_else(|| place.note.clone()).unwrap_or_default()).or_default() += 1;
    }
    BackfillSummary {
        id: row.id,
        dag: row.plan.ask.dag.clone(),
        from: row.plan.ask.from,
        to: row.plan.ask.to,
        state: row.state,
        cancel_requested: row.cancel_requested,
        requested_by: row.requested_by.clone(),
        created_at: row.created_at,
        finished_at: row.finished_at,
        scope_id: row.scope_id,
        runs,
    }
}

impl Data {
    fn next_backfill(&self) -> BackfillId {
        BackfillId(next(&self.backfills, |id| id.0))
    }

    fn stored_backfill(&self, id: BackfillId) -> Option<StoredBackfill> {
        let (row, places) = self.backfills.get(&id)?;
        let state = |place: &BackfillRunRow| Some(self.runs.get(&place.run_id?)?.0.state);
        let places = places.iter().map(|place| (place.clone(), state(place))).collect();
        Some(StoredBackfill { row: row.clone(), places })
    }

    fn in_the_way(&self, plan: &BackfillPlan) -> Option<InTheWay> {
        let rows = || self.backfills.values().map(|(row, _)| row);
        if let Some(row) = rows().rev().find(|row| row.plan.hash == plan.hash) {
            return Some(InTheWay::Applied(row.id));
        }
        let open = rows().filter(|row| row.finished_at.is_none());
        open.filter_map(|row| self.stored_backfill(row.id)).find_map(|other| overlap(plan, &other))
    }

    pub(super) fn check_backfills(&self, batch: &Batch) -> Result<(), CommitError> {
        for (nth, row) in (0..).zip(&batch.backfills) {
            let id = BackfillId(self.next_backfill().0 + nth);
            if id != row.id || self.in_the_way(&row.plan).is_some() {
                return Err(conflict(Changed::Backfill(row.id)));
            }
        }
        let begun = |id| batch.backfills.iter().find(|row| row.id == id);
        for place in &batch.filled {
            let id = place.backfill_id;
            let known = self.backfills.get(&id).map(|(_, places)| places);
            let is_free = match known {
                Some(places) => {
                    let known = places.get(place.ordinal as usize);
                    known.is_some_and(|known| known.run_id.is_none())
                }
                None => begun(id).is_some_and(|row| row.plan.runs.len() > place.ordinal as usize),
            };
            if !is_free {
                return Err(conflict(Changed::Backfill(id)));
            }
        }
        let mut states = BTreeMap::new();
        for to in &batch.fill_moves {
            let stored = self.backfills.get(&to.id).map(|(row, _)| row).or(begun(to.id));
            let known = states.insert(to.id, to.to).or(stored.map(|row| row.state));
            if known != Some(to.from) {
                return Err(conflict(Changed::Backfill(to.id)));
            }
        }
        self.check_unfilled(batch)?;
        self.check_cells(batch)
    }

    /// What is asked for by hand waits for the backfill that computes it.
    fn check_unfilled(&self, batch: &Batch) -> Result<(), CommitError> {
        if batch.unfilled.is_empty() {
            return Ok(());
        }
        let is_open = self.open_after(batch);
        for asked in &batch.unfilled {
            let filling = self.task_runs.values().find_map(|row| {
                let (run, _) = self.runs.get(&row.run_id)?;
                let backfill = run.backfill_id?;
                let is_one = run.id != asked.run
                    && (run.dag_id, row.nominal_at) == (asked.dag_id, asked.nominal_at)
                    && asked.tasks.contains(&row.task_id);
                (is_one && is_open(row)).then_some((row.task_id, run.id, backfill))
            });
            if let Some((task, run, backfill)) = filling {
                let nominal_at = asked.nominal_at;
                return Err(CommitError::CellFilled { task, nominal_at, run, backfill });
            }
        }
        Ok(())
    }

    /// Whether a task run that is known will be open, in an open run, after the batch.
    fn open_after<'d>(&'d self, batch: &Batch) -> impl Fn(&TaskRunRow) -> bool + use<'d> {
        let mut ended: BTreeSet<_> = BTreeSet::new();
        for change in &batch.progressed {
            if change.progress.finished_at.is_some() {
                ended.insert(change.id);
            }
        }
        let over: BTreeSet<RunId> = batch
            .run_moves
            .iter()
            .filter(|to| to.to != RunState::Running)
            .map(|to| to.run)
            .collect();
        move |row: &TaskRunRow| {
            row.progress.finished_at.is_none()
                && !ended.contains(&row.id)
                && !over.contains(&row.run_id)
                && self.runs.get(&row.run_id).is_some_and(|(run, _)| run.finished_at.is_none())
        }
    }

    /// As the task runs will be after the batch.
    fn check_cells(&self, batch: &Batch) -> Result<(), CommitError> {
        let made: Vec<_> =
            batch.created.iter().filter(|run| run.row.backfill_id.is_some()).collect();
        if made.is_empty() {
            return Ok(());
        }
        let is_open = self.open_after(batch);
        let known = self.task_runs.values().filter(|row| is_open(row));
        let fresh = batch.created.iter().filter(|run| run.row.finished_at.is_none());
        let fresh = fresh.flat_map(|run| &run.task_runs);
        let fresh = fresh.filter(|row| row.progress.finished_at.is_none());
        let open: BTreeSet<_> =
            known.chain(fresh).map(|row| (row.task_id, row.nominal_at, row.run_id)).collect();
        for row in made.iter().flat_map(|run| &run.task_runs) {
            let (task, nominal_at) = (row.task_id, row.nominal_at);
            let first = (task, nominal_at, RunId(i64::MIN));
            let of_cell = open.range(first..=(task, nominal_at, RunId(i64::MAX)));
            if of_cell.into_iter().any(|(_, _, run)| *run != row.run_id) {
                return Err(CommitError::CellOpen { task, nominal_at });
            }
        }
        Ok(())
    }

    pub(super) fn write_backfills(&mut self, batch: &Batch) {
        for row in &batch.backfills {
            let places = (0..row.plan.runs.len() as u32).map(|ordinal| BackfillRunRow {
                backfill_id: row.id,
                ordinal,
                run_id: None,
                note: None,
            });
            self.backfills.insert(row.id, (row.clone(), places.collect()));
        }
        for place in &batch.filled {
            let places = self.backfills.get_mut(&place.backfill_id).map(|(_, places)| places);
            if let Some(known) = places.and_then(|p| p.get_mut(place.ordinal as usize)) {
                *known = place.clone();
            }
        }
        for to in &batch.fill_moves {
            if let Some((row, _)) = self.backfills.get_mut(&to.id) {
                row.state = to.to;
                row.finished_at = to.finished_at;
                row.cancel_requested = to.cancel_requested;
            }
        }
    }

    pub(super) fn verify_backfills(&self, findings: &mut Findings) {
        let all = self.backfills.keys().filter_map(|id| Some((*id, self.stored_backfill(*id)?)));
        let made = self.runs.values().filter_map(|(row, _)| {
            Some(MadeRun {
                id: row.id,
                backfill: row.backfill_id?,
                dag: row.dag.clone(),
                nominal_at: row.nominal_at,
                biz_date: row.biz_date,
                task_count: row.task_count,
            })
        });
        check_backfills(&all.collect(), &made.collect::<Vec<_>>(), findings);
    }
}
