//! The store in plain maps: the oracle that the others are compared with.
//!
//! Clones share one memory, so that every thread can have one, as with a file.

mod backfills;
mod commit;
mod past;
mod read;
mod register;
mod releases;
mod schedules;
mod upstreams;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::definition::to_json;
use super::{
    AttemptFilter, Batch, Changed, CommitError, DependentEdge, EndsAsked, NextIds, RegisteredDag,
    RegisteredTask, RunFilter, RunSummary, RunsAt, ScheduleLife, Store, StoreError, StoredResult,
    StoredRun, StoredSchedule, TaskRunView, UpstreamRun, UpstreamTask, Violation,
};
use crate::model::{
    Ask, AttemptRow, BackfillId, BackfillRow, BackfillRunRow, DagDef, DagId, Date, Instant,
    LeaseRow, NodeId, NodeRow, PastCell, Period, ReleaseAsk, ReleaseRow, RequestRow, RunId, RunRow,
    ScheduleDef, ScheduleId, ScopeId, ScopeLease, Skip, TaskDef, TaskId, TaskRunId, TaskRunRow,
    TaskVersionId, VersionRow,
};

/// A store that is gone with its last clone.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    data: Arc<Mutex<Data>>,
}

/// Everything. Each map is a table; ids count up from 1.
#[derive(Clone, Debug, Default)]
struct Data {
    dags: BTreeMap<DagId, MemoryDag>,
    tasks: BTreeMap<TaskId, MemoryTask>,
    versions: BTreeMap<TaskVersionId, MemoryVersion>,
    schedules: BTreeMap<ScheduleId, MemorySchedule>,
    /// In the order in which they were noted.
    skips: Vec<Skip>,
    /// Which schedules a run comes from.
    fired: BTreeSet<(RunId, ScheduleId)>,
    nodes: BTreeMap<NodeId, NodeRow>,
    scopes: BTreeMap<ScopeId, ScopeLease>,
    scope_names: BTreeMap<String, ScopeId>,
    requests: BTreeMap<i64, RequestRow>,
    backfills: BTreeMap<BackfillId, (BackfillRow, Vec<BackfillRunRow>)>,
    runs: BTreeMap<RunId, (RunRow, bool)>,
    task_runs: BTreeMap<TaskRunId, TaskRunRow>,
    /// Items of mapped tasks, which were made after their runs.
    items: BTreeMap<RunId, Vec<TaskRunId>>,
    attempts: BTreeMap<(TaskRunId, u32), AttemptRow>,
    leases: BTreeMap<TaskRunId, LeaseRow>,
    journal: BTreeMap<RunId, Vec<Vec<u8>>>,
    pools: BTreeMap<String, MemoryPool>,
    limits: BTreeMap<String, MemoryLimit>,
    outbox: Vec<Told>,
    releases: BTreeMap<i64, ReleaseRow>,
    /// Assets that somebody outside declared ready.
    declared: BTreeSet<(String, Date)>,
    /// Ids given so far.
    last: Last,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    run: i64,
    task_run: i64,
    attempt: i64,
}

#[derive(Clone, Copy, Debug)]
struct MemoryPool {
    size: u32,
    sized_at: Instant,
    ageing_ms: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct MemoryLimit {
    size: u32,
    sized_at: Instant,
}

/// What is to be told after its commit.
#[derive(Clone, Debug)]
struct Told {
    event: &'static str,
    task_run: TaskRunId,
}

#[derive(Clone, Debug)]
struct MemoryDag {
    header: DagDef,
    revision: i64,
    removed: bool,
}

#[derive(Clone, Debug)]
struct MemoryTask {
    dag: DagId,
    name: String,
    position: usize,
    source: Option<String>,
    active: TaskVersionId,
    /// What was registered last.
    registered: TaskVersionId,
    removed: bool,
    enabled: bool,
    /// When it was registered first.
    since: Instant,
}

#[derive(Clone, Debug)]
struct MemoryVersion {
    task: TaskId,
    number: u32,
    hash: [u8; 16],
    def: TaskDef,
    created_at: Instant,
    code: Option<String>,
}

#[derive(Clone, Debug)]
struct MemorySchedule {
    dag: DagId,
    def: ScheduleDef,
    position: usize,
    removed: bool,
    watermark: Instant,
    /// When it was last changed, watermark aside.
    changed: Instant,
    /// The end of its last skip; at first the beginning of its life.
    skipped: Instant,
    /// Oldest first; the last one is open.
    periods: Vec<Period>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A thread that panicked while it held the lock left whole values: every change is checked
    /// before it is begun.
    fn lock(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Data {
    fn fence(&self, lease: ScopeLease) -> Result<(), CommitError> {
        match self.scopes.get(&lease.scope_id) {
            Some(held) if *held == lease => Ok(()),
            _ => Err(CommitError::Fenced),
        }
    }

    fn scope_named(&self, name: &str) -> Option<ScopeLease> {
        self.scopes.get(self.scope_names.get(name)?).copied()
    }

    fn next_ids(&self) -> NextIds {
        NextIds { run: self.last.run + 1, task_run: self.last.task_run + 1 }
    }
}

/// The id after the last one of a table whose rows are never deleted.
fn next<K: Copy>(table: &BTreeMap<K, impl Sized>, number: impl Fn(K) -> i64) -> i64 {
    table.keys().next_back().map_or(1, |last| number(*last) + 1)
}

impl Store for MemoryStore {
    fn register(
        &mut self,
        dags: &[DagDef],
        now: Instant,
    ) -> Result<Vec<RegisteredDag>, StoreError> {
        self.lock().register(dags, now)
    }

    fn remove_dags(&mut self, keys: &[String], now: Instant) -> Result<(), StoreError> {
        self.lock().remove_dags(keys, now);
        Ok(())
    }

    fn schedules(&mut self, dag: DagId) -> Result<Vec<StoredSchedule>, StoreError> {
        Ok(self.lock().stored_schedules(dag))
    }

    fn life(
        &mut self,
        after: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Option<ScheduleLife>, StoreError> {
        Ok(self.lock().life_after(after, limit))
    }

    fn skips(&mut self, dag: DagId, limit: u32) -> Result<Vec<Skip>, StoreError> {
        Ok(self.lock().skips_of(dag, limit))
    }

    fn dag(&mut self, key: &str) -> Result<Option<RegisteredDag>, StoreError> {
        Ok(self.lock().dag(key))
    }

    fn dag_keys(&mut self) -> Result<Vec<String>, StoreError> {
        let data = self.lock();
        let there = data.dags.values().filter(|dag| !dag.removed);
        let mut keys: Vec<String> = there.map(|dag| dag.header.key.clone()).collect();
        keys.sort();
        Ok(keys)
    }

    fn versions(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, RegisteredTask>, StoreError> {
        let data = self.lock();
        Ok(ids.iter().filter_map(|id| Some((*id, data.version(*id)?))).collect())
    }

    fn task_versions(&mut self, task: &str) -> Result<Vec<VersionRow>, StoreError> {
        Ok(self.lock().task_versions(task))
    }

    fn release(
        &mut self,
        task: &str,
        ask: ReleaseAsk,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.lock().release(task, ask, by, now)
    }

    fn releases(&mut self, dag: DagId) -> Result<Vec<ReleaseRow>, StoreError> {
        Ok(self.lock().releases_of(dag))
    }

    fn keep_code(&mut self, code: &[(&str, &str)]) -> Result<(), StoreError> {
        self.lock().keep_code(code);
        Ok(())
    }

    fn code(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, String>, StoreError> {
        let data = self.lock();
        let code = |id: &TaskVersionId| Some((*id, data.versions.get(id)?.code.clone()?));
        Ok(ids.iter().filter_map(code).collect())
    }

    fn join(&mut self, node: &NodeRow) -> Result<ScopeLease, StoreError> {
        let mut data = self.lock();
        let node_id = NodeId(next(&data.nodes, |id| id.0));
        let scope_id = ScopeId(next(&data.scopes, |id| id.0));
        let lease = ScopeLease { scope_id, epoch: 1, node_id };
        data.nodes.insert(node_id, NodeRow { id: node_id, stopped_at: None, ..node.clone() });
        data.scopes.insert(scope_id, lease);
        Ok(lease)
    }

    fn lead(
        &mut self,
        name: &str,
        node: NodeId,
        held: Option<ScopeLease>,
        _now: Instant,
    ) -> Result<ScopeLease, CommitError> {
        let mut data = self.lock();
        let found = data.scope_named(name);
        if found != held {
            return Err(CommitError::Fenced);
        }
        let lease = match found {
            Some(held) => ScopeLease { epoch: held.epoch + 1, node_id: node, ..held },
            None => {
                let scope_id = ScopeId(next(&data.scopes, |id| id.0));
                data.scope_names.insert(name.to_owned(), scope_id);
                ScopeLease { scope_id, epoch: 1, node_id: node }
            }
        };
        data.scopes.insert(lease.scope_id, lease);
        Ok(lease)
    }

    fn scope_named(&mut self, name: &str) -> Result<Option<ScopeLease>, StoreError> {
        Ok(self.lock().scope_named(name))
    }

    fn open_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError> {
        let data = self.lock();
        let rows = data.runs.values().map(|(row, _)| row);
        let watched = |run: RunId| {
            let rows = data.task_runs.values().map(|row| (row.run_id, &row.progress));
            let mut open = rows.filter(|(of, p)| *of == run && p.finished_at.is_none());
            open.any(|(_, p)| {
                p.blocked_until.is_some() || p.deadline_at.is_some() && p.overdue_at.is_none()
            })
        };
        let open = rows.filter(|row| row.scope_id == scope);
        let open = open.filter(|row| row.finished_at.is_none() || watched(row.id));
        Ok(open.map(|row| row.id).collect())
    }

    fn put_request(
        &mut self,
        scope: ScopeId,
        ask: &Ask,
        by: Option<&str>,
        now: Instant,
    ) -> Result<i64, StoreError> {
        let payload = to_json(ask)?;
        let mut data = self.lock();
        let id = next(&data.requests, |id| id);
        let row = RequestRow {
            id,
            scope,
            payload,
            requested_by: by.map(str::to_owned),
            requested_at: now,
            decided_at: None,
            answer: None,
        };
        data.requests.insert(id, row);
        Ok(id)
    }

    fn request(&mut self, id: i64) -> Result<Option<RequestRow>, StoreError> {
        Ok(self.lock().requests.get(&id).cloned())
    }

    fn open_requests(&mut self, scope: ScopeId, limit: u32) -> Result<Vec<RequestRow>, StoreError> {
        let data = self.lock();
        let open = data.requests.values().filter(|r| r.scope == scope && r.decided_at.is_none());
        Ok(open.take(limit as usize).cloned().collect())
    }

    fn revisions(&mut self) -> Result<Vec<(DagId, i64)>, StoreError> {
        let data = self.lock();
        let dags = data.dags.iter().filter(|(_, dag)| !dag.removed);
        Ok(dags.map(|(id, dag)| (*id, dag.revision)).collect())
    }

    fn changed(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn heartbeat(
        &mut self,
        lease: ScopeLease,
        now: Instant,
        lease_until: Instant,
    ) -> Result<(), CommitError> {
        let mut data = self.lock();
        data.fence(lease)?;
        if let Some(node) = data.nodes.get_mut(&lease.node_id) {
            node.heartbeat_at = now;
            node.lease_until = lease_until;
        }
        Ok(())
    }

    fn leave(&mut self, lease: ScopeLease, now: Instant) -> Result<(), StoreError> {
        let data = &mut *self.lock();
        let attempts = &data.attempts;
        data.leases.retain(|id, held| {
            held.node_id != lease.node_id
                || attempts.get(&(*id, held.attempt_no)).is_none_or(|row| row.outcome.is_none())
        });
        if let Some(node) = data.nodes.get_mut(&lease.node_id)
            && node.stopped_at.is_none()
        {
            node.stopped_at = Some(now);
            node.heartbeat_at = now;
            node.lease_until = now;
        }
        Ok(())
    }

    fn node(&mut self, id: NodeId) -> Result<Option<NodeRow>, StoreError> {
        Ok(self.lock().nodes.get(&id).cloned())
    }

    fn holder(&mut self, scope: ScopeId) -> Result<Option<ScopeLease>, StoreError> {
        Ok(self.lock().scopes.get(&scope).copied())
    }

    fn take_over(
        &mut self,
        run: RunId,
        from: ScopeId,
        lease: ScopeLease,
        _now: Instant,
    ) -> Result<(), CommitError> {
        let mut data = self.lock();
        data.fence(lease)?;
        let open = match data.runs.get_mut(&run) {
            Some((row, _)) if row.scope_id == from => {
                row.scope_id = lease.scope_id;
                row.finished_at.is_none()
            }
            _ => return Err(CommitError::Conflict { what: Changed::Run(run) }),
        };
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

    fn next_ids(&mut self) -> Result<NextIds, StoreError> {
        Ok(self.lock().next_ids())
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        let mut data = self.lock();
        data.check(batch)?;
        data.write(batch);
        Ok(())
    }

    fn stored_run(&mut self, run: RunId) -> Result<Option<StoredRun>, StoreError> {
        Ok(self.lock().stored_run(run))
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        Ok(self.lock().summaries(filter))
    }

    fn task_runs(&mut self, run: RunId) -> Result<Vec<TaskRunView>, StoreError> {
        Ok(self.lock().task_run_views(run))
    }

    fn attempts(&mut self, filter: &AttemptFilter) -> Result<Vec<AttemptRow>, StoreError> {
        Ok(self.lock().attempt_rows(filter))
    }

    fn journal(&mut self, run: RunId) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(self.lock().journal.get(&run).cloned().unwrap_or_default())
    }

    fn pools(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError> {
        let data = self.lock();
        let used = |name: &String| data.pool_use(name).0;
        Ok(data
            .pools
            .iter()
            .map(|(name, slots)| (name.clone(), (slots.size, used(name))))
            .collect())
    }

    fn set_pool(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError> {
        let mut data = self.lock();
        let fresh = MemoryPool { size: slots, sized_at: now, ageing_ms: None };
        let pool = data.pools.entry(name.to_owned()).or_insert(fresh);
        if pool.size != slots {
            (pool.size, pool.sized_at) = (slots, now);
        }
        Ok(())
    }

    fn ageing(&mut self) -> Result<BTreeMap<String, i64>, StoreError> {
        let data = self.lock();
        let pools = data.pools.iter();
        Ok(pools.filter_map(|(name, pool)| Some((name.clone(), pool.ageing_ms?))).collect())
    }

    fn set_ageing(&mut self, pool: &str, step_ms: Option<i64>) -> Result<(), StoreError> {
        if let Some(pool) = self.lock().pools.get_mut(pool) {
            pool.ageing_ms = step_ms;
        }
        Ok(())
    }

    fn limits(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError> {
        let data = self.lock();
        let limits = data.limits.iter();
        let of = |(name, limit): (&String, &MemoryLimit)| {
            (name.clone(), (limit.size, data.limit_use(name).0))
        };
        Ok(limits.map(of).collect())
    }

    fn set_limit(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError> {
        let mut data = self.lock();
        let fresh = MemoryLimit { size: slots, sized_at: now };
        let limit = data.limits.entry(name.to_owned()).or_insert(fresh);
        if limit.size != slots {
            *limit = fresh;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<Vec<Violation>, StoreError> {
        Ok(self.lock().verify())
    }

    fn upstream(&mut self, key: &str) -> Result<Option<UpstreamTask>, StoreError> {
        Ok(self.lock().upstream(key))
    }

    fn producer(&mut self, asset: &str) -> Result<Option<String>, StoreError> {
        Ok(self.lock().producer(asset))
    }

    fn upstream_runs(&mut self, task: TaskId, at: &RunsAt) -> Result<Vec<UpstreamRun>, StoreError> {
        Ok(self.lock().upstream_runs(task, at))
    }

    fn upstream_ends(
        &mut self,
        asked: &EndsAsked,
    ) -> Result<Vec<(RunRow, UpstreamRun)>, StoreError> {
        Ok(self.lock().upstream_ends(asked))
    }

    fn journal_head(&mut self) -> Result<i64, StoreError> {
        Ok(0)
    }

    fn so_since(
        &mut self,
        task: TaskId,
        is_so: &dyn Fn(&TaskDef) -> bool,
    ) -> Result<Option<Instant>, StoreError> {
        Ok(self.lock().so_since(task, is_so))
    }

    fn dependents(&mut self, task: TaskId) -> Result<Vec<DependentEdge>, StoreError> {
        Ok(self.lock().dependents(task))
    }

    fn past_cells(
        &mut self,
        task: TaskId,
        dates: (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), StoreError> {
        self.lock().past_cells(task, dates, each);
        Ok(())
    }

    fn past_durations(&mut self, task: TaskId, limit: u32) -> Result<Vec<i64>, StoreError> {
        Ok(self.lock().past_durations(task, limit))
    }

    fn declare(
        &mut self,
        asset: &str,
        date: Date,
        _by: Option<&str>,
        _now: Instant,
    ) -> Result<bool, StoreError> {
        self.lock().declare(asset, date)
    }

    fn is_declared(&mut self, asset: &str, date: Date) -> Result<bool, StoreError> {
        Ok(self.lock().declared.contains(&(asset.to_owned(), date)))
    }

    fn enable(
        &mut self,
        task: &str,
        enabled: bool,
        _by: Option<&str>,
        _now: Instant,
    ) -> Result<bool, StoreError> {
        self.lock().enable(task, enabled)
    }

    fn blocked_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError> {
        Ok(self.lock().blocked_runs(scope))
    }

    fn result(&mut self, task_run: TaskRunId) -> Result<Option<StoredResult>, StoreError> {
        let data = self.lock();
        let progress = data.output_of(task_run).map(|row| &row.progress);
        Ok(progress.and_then(|p| StoredResult::of(p.result.clone(), p.result_uri.clone())))
    }
}
