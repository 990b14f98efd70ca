//! Rows: what a store would remember of the decisions committed to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring::engine::{BackfillPlace, Decision, Plan, World};
use mainspring::model::journal::{self, Entry};
use mainspring::model::{
    BackfillId, BackfillRow, DagId, Instant, LeaseRow, NodeId, Outcome, Progress, RunId, RunRow,
    ScopeId, TaskRunId, TaskRunRow,
};

/// A run as it is stored.
#[derive(Clone)]
pub struct Stored {
    pub row: RunRow,
    pub cancel_requested: bool,
    pub plan: Arc<Plan>,
    pub task_runs: BTreeMap<TaskRunId, TaskRunRow>,
    pub leases: BTreeMap<TaskRunId, LeaseRow>,
    pub journal: Vec<Vec<u8>>,
}

impl Stored {
    /// Items come after the task runs of the plan, by their ids.
    fn id(&self, index: u32) -> Result<TaskRunId, String> {
        let id = self.task_runs.keys().nth(index as usize).copied();
        id.ok_or_else(|| format!("no task run {index}"))
    }
}

/// A backfill as it is stored.
#[derive(Clone)]
pub struct StoredBackfill {
    pub row: BackfillRow,
    pub plans: Vec<Arc<Plan>>,
    /// Run and note of each place.
    pub places: Vec<(Option<RunId>, Option<String>)>,
}

/// The fold of all decisions.
#[derive(Clone, Default)]
pub struct MemoryRows {
    pub runs: BTreeMap<RunId, Stored>,
    pub backfills: BTreeMap<BackfillId, StoredBackfill>,
    timed: BTreeSet<(DagId, Instant)>,
    /// Outcome of each attempt; none while it is open.
    pub attempts: BTreeMap<(TaskRunId, u32), Option<Outcome>>,
    next: (i64, i64),
}

impl MemoryRows {
    pub fn new() -> MemoryRows {
        MemoryRows { next: (1, 1), ..MemoryRows::default() }
    }

    /// Writes a decision, all or nothing as far as a test needs it.
    pub fn commit(&mut self, decision: &Decision) -> Result<(), String> {
        for create in &decision.creates {
            let row = create.row.clone();
            if row.timed && !self.timed.insert((row.dag_id, row.nominal_at)) {
                return Err(format!("a second run for {}", row.nominal_at));
            }
            self.next = (row.id.0 + 1, row.first_task_run_id.offset(row.task_count).0);
            let plan = create.plan.0.clone();
            let rows = plan.task_run_rows(&row).into_iter().map(|row| (row.id, row)).collect();
            let stored = Stored {
                row,
                cancel_requested: false,
                plan,
                task_runs: rows,
                leases: BTreeMap::new(),
                journal: Vec::new(),
            };
            self.runs.insert(stored.row.id, stored);
        }
        for made in &decision.items {
            let stored = self.run(made.of.run)?;
            let planned = &stored.plan.tasks[made.of.index as usize];
            let known = stored.task_runs.values().filter(|row| row.task_id == planned.task_id);
            let known = known.count() as i32 - 1;
            let rows: Vec<TaskRunRow> = (0u32..)
                .zip(&made.items)
                .map(|(nth, item)| TaskRunRow {
                    id: made.first.offset(nth),
                    run_id: made.of.run,
                    task_id: planned.task_id,
                    task_version_id: planned.version_id,
                    map_index: known + nth as i32,
                    nominal_at: stored.row.nominal_at,
                    biz_date: stored.row.biz_date,
                    created_at: made.when,
                    progress: Progress { item: Some(item.clone()), ..Progress::default() },
                })
                .collect();
            stored.task_runs.extend(rows.into_iter().map(|row| (row.id, row)));
            self.next.1 = made.first.offset(made.items.len() as u32).0;
        }
        let mut entries: BTreeMap<RunId, Vec<Entry>> = BTreeMap::new();
        for to in &decision.moves {
            let row = self.run(to.at.run)?.task_runs.get_mut(&to.id).ok_or("no such row")?;
            if row.progress.state != to.from || row.progress.revision + 1 != to.to.revision {
                return Err(format!("{:?} is not where {to:?} says", row.progress));
            }
            row.progress = to.to.clone();
            entries.entry(to.at.run).or_default().push(Entry::Moved {
                task_run: to.id,
                from: to.from,
                to: to.to.state,
                attempt_no: to.to.attempt_no,
                when: to.when,
                code: to.to.code.clone(),
            });
        }
        for late in &decision.late {
            let id = self.run(late.at.run)?.id(late.at.index)?;
            entries.entry(late.at.run).or_default().push(Entry::Late {
                task_run: id,
                outcome: late.outcome,
                attempt_no: late.attempt_no,
                when: late.when,
            });
        }
        for start in &decision.starts {
            let attempt = &start.attempt;
            let key = (attempt.task_run_id, attempt.attempt_no);
            if self.attempts.insert(key, None).is_some() {
                return Err(format!("attempt {key:?} exists already"));
            }
            let lease = LeaseRow {
                task_run_id: attempt.task_run_id,
                attempt_no: attempt.attempt_no,
                token: attempt.token,
                node_id: attempt.node_id,
                pool: attempt.pool.clone(),
                slots: attempt.slots,
                limits: attempt.held(),
                stop_reason: None,
            };
            if self.run(start.at.run)?.leases.insert(lease.task_run_id, lease).is_some() {
                return Err(format!("{key:?} has a lease already"));
            }
        }
        for stop in &decision.stops {
            let lease = self.run(stop.at.run)?.leases.get_mut(&stop.id).ok_or("no lease")?;
            lease.stop_reason = Some(stop.stop.reason);
        }
        for end in &decision.ends {
            let key = (end.end.task_run_id, end.end.attempt_no);
            let open = self.attempts.get_mut(&key).filter(|outcome| outcome.is_none());
            *open.ok_or(format!("{key:?} is not open"))? = Some(end.end.outcome);
            if end.released {
                self.run(end.at.run)?.leases.remove(&key.0);
            }
        }
        for at in &decision.releases {
            let stored = self.run(at.run)?;
            let id = stored.id(at.index)?;
            stored.leases.remove(&id).ok_or("no lease to drop")?;
        }
        for (at, id) in &decision.stale {
            let row = self.run(at.run)?.task_runs.get_mut(id).ok_or("no such row")?;
            row.progress.stale = true;
        }
        for overdue in &decision.overdue {
            let row = self.run(overdue.at.run)?.task_runs.get_mut(&overdue.id);
            row.ok_or("no such row")?.progress.overdue_at.get_or_insert(overdue.when);
        }
        for to in &decision.run_moves {
            let stored = self.run(to.run)?;
            stored.row.state = to.to;
            stored.row.finished_at = to.finished_at;
            stored.cancel_requested = to.cancel_requested;
        }
        for new in &decision.backfills {
            let places = vec![(None, None); new.row.plan.runs.len()];
            let (row, plans) = (new.row.clone(), new.plans.clone());
            self.backfills.insert(new.row.id, StoredBackfill { row, plans, places });
        }
        for place in &decision.filled {
            let stored = self.backfills.get_mut(&place.backfill).ok_or("no backfill")?;
            let known = stored.places.get_mut(place.ordinal as usize).ok_or("no place")?;
            if known.0.is_some() {
                return Err(format!("a second run for {place:?}"));
            }
            *known = (place.run, place.note.clone());
        }
        for to in &decision.fill_moves {
            let row = &mut self.backfills.get_mut(&to.backfill).ok_or("no backfill")?.row;
            if row.state != to.from {
                return Err(format!("backfill {} is {}", to.backfill, row.state));
            }
            row.state = to.to;
            row.finished_at = to.finished_at;
            row.cancel_requested = to.cancel_requested;
        }
        for (run, entries) in entries {
            let stored = self.run(run)?;
            stored.journal.push(journal::pack(stored.row.first_task_run_id, &entries));
        }
        Ok(())
    }

    fn run(&mut self, run: RunId) -> Result<&mut Stored, String> {
        self.runs.get_mut(&run).ok_or(format!("no run {run}"))
    }

    /// The world that these rows make for a process that comes up on this node.
    pub fn world(&self, default_slots: u32, node: NodeId) -> World {
        let mut world = World::new(self.next, default_slots, node, ScopeId(1));
        for stored in self.backfills.values() {
            let place = |(run, note): &(Option<RunId>, Option<String>)| {
                let state = run.map(|run| self.runs[&run].row.state);
                BackfillPlace::of(*run, note.clone(), state)
            };
            let places = stored.places.iter().map(place).collect();
            world.load_backfill(stored.row.clone(), stored.plans.clone(), places);
        }
        for stored in self.runs.values() {
            let task_runs = stored.task_runs.values().cloned().collect();
            let leases = stored.leases.values().cloned().collect();
            let (row, plan) = (stored.row.clone(), stored.plan.clone());
            world.load(row, stored.cancel_requested, plan, task_runs, leases).unwrap();
        }
        world
    }
}
