//! Writing a batch: everything is checked first, so that writing cannot stop half-way.

use std::collections::{BTreeMap, BTreeSet};

use super::{Data, Told};
use crate::model::{AttemptRecord, AttemptRow, LeaseRow, RunId, TaskRunId, TimedKey};
use crate::store::batch::{DEADLINE_EVENT, Order, claimed};
use crate::store::definition::to_json;
use crate::store::{Batch, Changed, CommitError, Ended, PastDeadline};

type Checked = Result<(), CommitError>;

pub(super) fn conflict(what: Changed) -> CommitError {
    CommitError::Conflict { what }
}

impl Data {
    pub(super) fn check(&self, batch: &Batch) -> Checked {
        self.fence(batch.lease)?;
        for (id, state) in &batch.relies {
            if self.task_runs.get(id).is_none_or(|row| row.progress.state != *state) {
                return Err(conflict(Changed::TaskRun(*id)));
            }
        }
        if batch.expected_ids().is_some_and(|expected| expected != self.next_ids()) {
            return Err(CommitError::IdsMoved(self.next_ids()));
        }
        self.check_timed(batch)?;
        for change in &batch.progressed {
            let known = self.task_runs.get(&change.id);
            if known.is_none_or(|row| row.progress.revision != change.expected_revision) {
                return Err(conflict(Changed::TaskRun(change.id)));
            }
        }
        let leases = self.check_attempts(batch)?;
        check_pools(self, batch, &leases)?;
        check_limits(self, batch, &leases)?;
        self.check_answers(batch)?;
        self.check_backfills(batch)?;
        self.check_run_moves(batch)?;
        self.check_schedules(batch)
    }

    fn check_timed(&self, batch: &Batch) -> Checked {
        if !batch.created.iter().any(|run| run.row.timed) {
            return Ok(());
        }
        let mut timed: BTreeMap<TimedKey, RunId> = BTreeMap::new();
        let known = self.runs.values().map(|(row, _)| row);
        for row in known.chain(batch.created.iter().map(|run| &run.row)) {
            let Some(key) = row.timed_key() else { continue };
            if let Some(run) = timed.insert(key.clone(), row.id) {
                return Err(CommitError::RunExists { run, key: Box::new(key) });
            }
        }
        Ok(())
    }

    /// The leases as they will be, if every start and end is right.
    fn check_attempts(&self, batch: &Batch) -> Result<BTreeMap<TaskRunId, LeaseRow>, CommitError> {
        let order = Order::of(batch);
        let mut leases = self.leases.clone();
        let mut done = BTreeSet::new();
        let mut end = |leases: &mut BTreeMap<_, _>, Ended { end, released }: &Ended, token| {
            let at = (end.task_run_id, end.attempt_no);
            if token != Some(end.token) || !done.insert(at) {
                return Err(conflict(Changed::Attempt(at.0, at.1)));
            }
            if *released {
                leases.remove(&end.task_run_id);
            }
            Ok(())
        };
        for ended in order.ends_before() {
            let known = self.attempts.get(&(ended.end.task_run_id, ended.end.attempt_no));
            let open = known.filter(|row| row.outcome.is_none()).map(|row| row.start.token);
            end(&mut leases, ended, open)?;
        }
        order.releases_before().for_each(|id| drop(leases.remove(&id)));
        let mut begun = BTreeMap::new();
        for start in &batch.starts {
            let at = (start.task_run_id, start.attempt_no);
            let lease = LeaseRow {
                task_run_id: start.task_run_id,
                attempt_no: start.attempt_no,
                token: start.token,
                node_id: start.node_id,
                pool: start.pool.clone(),
                slots: start.slots,
                limits: start.held(),
                stop_reason: None,
            };
            let is_taken = self.attempts.contains_key(&at)
                || begun.insert(at, start.token).is_some()
                || leases.insert(start.task_run_id, lease).is_some();
            if is_taken {
                return Err(conflict(Changed::Attempt(at.0, at.1)));
            }
        }
        for ended in order.ends_after() {
            let at = (ended.end.task_run_id, ended.end.attempt_no);
            end(&mut leases, ended, begun.get(&at).copied())?;
        }
        order.releases_after().for_each(|id| drop(leases.remove(&id)));
        for (id, reason) in &batch.stops {
            if let Some(lease) = leases.get_mut(id) {
                lease.stop_reason = Some(*reason);
            }
        }
        Ok(leases)
    }

    fn check_answers(&self, batch: &Batch) -> Checked {
        let is_open = |id: &i64| self.requests.get(id).is_some_and(|row| row.decided_at.is_none());
        match batch.answers.iter().find(|(id, _)| !is_open(id)) {
            Some((id, _)) => Err(conflict(Changed::Request(*id))),
            None => Ok(()),
        }
    }

    fn check_run_moves(&self, batch: &Batch) -> Checked {
        let created: BTreeSet<RunId> = batch.created.iter().map(|run| run.row.id).collect();
        let mut states = BTreeMap::new();
        for change in batch.run_moves.iter().filter(|change| !created.contains(&change.run)) {
            let stored = self.runs.get(&change.run).map(|(row, _)| row.state);
            if states.insert(change.run, change.to).or(stored) != Some(change.from) {
                return Err(conflict(Changed::Run(change.run)));
            }
        }
        Ok(())
    }

    /// Slots that live attempts hold in a pool, and how many attempts those are.
    pub(super) fn pool_use(&self, pool: &str) -> (u32, u32) {
        pool_use(&self.leases, pool)
    }

    /// Writes what was checked.
    pub(super) fn write(&mut self, batch: &Batch) {
        // Not reached with an error: `check` came first, under the same lock.
        let leases = self.check_attempts(batch).unwrap_or_default();
        for run in &batch.created {
            self.last.run = self.last.run.max(run.row.id.0);
            self.runs.insert(run.row.id, (run.row.clone(), false));
            self.fired.extend(run.schedules.iter().map(|schedule| (run.row.id, *schedule)));
            for row in &run.task_runs {
                self.last.task_run = self.last.task_run.max(row.id.0);
                self.task_runs.insert(row.id, row.clone());
            }
        }
        for row in &batch.items {
            self.last.task_run = self.last.task_run.max(row.id.0);
            self.items.entry(row.run_id).or_default().push(row.id);
            self.task_runs.insert(row.id, row.clone());
        }
        for (id, decided) in &batch.answers {
            if let Some(row) = self.requests.get_mut(id) {
                row.decided_at = Some(batch.now);
                row.answer = to_json(decided).ok();
            }
        }
        for change in &batch.progressed {
            if let Some(row) = self.task_runs.get_mut(&change.id) {
                row.progress = change.progress.clone();
            }
        }
        for (task, date, run) in &batch.outdated {
            let rows = self
                .task_runs
                .values_mut()
                .filter(|row| row.task_id == *task && row.biz_date == *date && row.run_id != *run);
            for row in rows.filter(|row| row.progress.finished_at.is_some()) {
                row.progress.stale = true;
            }
        }
        for id in &batch.stale {
            if let Some(row) = self.task_runs.get_mut(id) {
                row.progress.stale = true;
            }
        }
        for overdue in &batch.overdue {
            self.write_overdue(overdue);
        }
        for start in &batch.starts {
            self.last.attempt += 1;
            let row = AttemptRow {
                id: self.last.attempt,
                start: start.clone(),
                outcome: None,
                finished_at: None,
                record: AttemptRecord::default(),
            };
            self.attempts.insert((start.task_run_id, start.attempt_no), row);
        }
        for Ended { end, .. } in &batch.ends {
            if let Some(row) = self.attempts.get_mut(&(end.task_run_id, end.attempt_no)) {
                row.outcome = Some(end.outcome);
                row.finished_at = Some(end.finished_at);
                row.record = end.record.clone();
            }
        }
        self.leases = leases;
        let created: BTreeSet<RunId> = batch.created.iter().map(|run| run.row.id).collect();
        for change in &batch.run_moves {
            if let Some((row, cancel_requested)) = self.runs.get_mut(&change.run) {
                // A run that this batch made is written as it is at the end; only the flag is new.
                if !created.contains(&change.run) {
                    row.state = change.to;
                    row.finished_at = change.finished_at;
                }
                *cancel_requested = change.cancel_requested;
            }
        }
        self.write_schedules(batch);
        self.write_backfills(batch);
        for (run, entries) in &batch.journal {
            self.journal.entry(*run).or_default().push(entries.clone());
        }
    }
}

impl Data {
    /// Notes that a task run is open beyond its deadline, and what is to be told of it, once.
    fn write_overdue(&mut self, overdue: &PastDeadline) {
        let Some(row) = self.task_runs.get_mut(&overdue.id) else { return };
        row.progress.overdue_at.get_or_insert(overdue.when);
        let known = |told: &Told| told.task_run == overdue.id && told.event == DEADLINE_EVENT;
        if !self.outbox.iter().any(known) {
            self.outbox.push(Told { event: DEADLINE_EVENT, task_run: overdue.id });
        }
    }

    /// Slots of a limit that live attempts hold, and how many attempts those are.
    pub(super) fn limit_use(&self, limit: &str) -> (u32, u32) {
        limit_use(&self.leases, limit)
    }
}

fn limit_use(leases: &BTreeMap<TaskRunId, LeaseRow>, limit: &str) -> (u32, u32) {
    let held = leases.values().filter_map(|lease| lease.limits.get(limit));
    held.fold((0, 0), |(all, count), slots| (all + slots, count + 1))
}

/// The same for limits as for pools; what a task has for itself is in what it claims.
fn check_limits(data: &Data, batch: &Batch, leases: &BTreeMap<TaskRunId, LeaseRow>) -> Checked {
    for (limit, (mine, most)) in claimed(&batch.starts) {
        let capacity = most.unwrap_or_else(|| data.limits.get(limit).map_or(0, |limit| limit.size));
        let (used, live) = limit_use(leases, limit);
        if used > capacity && live > 1 {
            let free = capacity.saturating_sub(used.saturating_sub(mine));
            return Err(CommitError::LimitFull { limit: limit.into(), free });
        }
    }
    Ok(())
}

fn pool_use(leases: &BTreeMap<TaskRunId, LeaseRow>, pool: &str) -> (u32, u32) {
    leases
        .values()
        .filter(|lease| lease.pool.as_deref() == Some(pool) && lease.slots > 0)
        .fold((0, 0), |(slots, count), lease| (slots + lease.slots, count + 1))
}

fn check_pools(data: &Data, batch: &Batch, leases: &BTreeMap<TaskRunId, LeaseRow>) -> Checked {
    let mut mine: BTreeMap<&str, u32> = BTreeMap::new();
    for start in &batch.starts {
        if let Some(pool) = start.pool.as_ref().filter(|_| start.slots > 0) {
            *mine.entry(pool).or_insert(0) += start.slots;
        }
    }
    for (pool, mine) in mine {
        let capacity = data.pools.get(pool).map_or(0, |pool| pool.size);
        let (used, live) = pool_use(leases, pool);
        if used > capacity && live > 1 {
            let free = capacity.saturating_sub(used.saturating_sub(mine));
            return Err(CommitError::PoolFull { pool: pool.into(), free });
        }
    }
    Ok(())
}
