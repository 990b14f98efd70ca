//! The transactions and questions of a store, as every dialect of SQL has them: what is done in
//! each is a function of the files beside this one, and how one begins and ends is the dialect's.

use std::collections::BTreeMap;

use super::client::{OptionalExtension, params};
use super::commit::{Sequence, fence};
use super::{
    Here, past, read, register, releases, requests, rows, schedule_rows, schedules, scopes, texts,
    upstreams, verify,
};
use crate::model::{
    Ask, AttemptRow, DagDef, DagId, Date, Instant, NodeId, NodeRow, PastCell, ReleaseAsk,
    ReleaseRow, RequestRow, RunId, RunRow, ScheduleId, ScopeId, ScopeLease, Skip, TaskDef, TaskId,
    TaskRunId, TaskVersionId, VersionRow,
};
use crate::store::{
    AttemptFilter, Batch, Changed, CommitError, DependentEdge, EndsAsked, NextIds, RegisteredDag,
    RegisteredTask, RunFilter, RunSummary, RunsAt, ScheduleLife, Store, StoreError, StoredResult,
    StoredRun, StoredSchedule, TaskRunView, UpstreamRun, UpstreamTask, Violation,
};

impl Store for Here {
    fn register(
        &mut self,
        dags: &[DagDef],
        now: Instant,
    ) -> Result<Vec<RegisteredDag>, StoreError> {
        self.write(|conn| register::register(conn, dags, now))
            .map_err(|fault| self.place.store(fault))
    }

    fn remove_dags(&mut self, keys: &[String], now: Instant) -> Result<(), StoreError> {
        self.write(|conn| schedule_rows::remove_dags(conn, keys, now))
            .map_err(|fault| self.place.store(fault))
    }

    fn schedules(&mut self, dag: DagId) -> Result<Vec<StoredSchedule>, StoreError> {
        self.read(|conn| schedules::schedules(conn, dag))
    }

    fn life(
        &mut self,
        after: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Option<ScheduleLife>, StoreError> {
        self.read(|conn| schedules::life(conn, after, limit))
    }

    fn skips(&mut self, dag: DagId, limit: u32) -> Result<Vec<Skip>, StoreError> {
        self.read(|conn| schedules::skips(conn, dag, limit))
    }

    fn dag(&mut self, key: &str) -> Result<Option<RegisteredDag>, StoreError> {
        self.read(|conn| read::dag(conn, key)).map_err(|error| error.of(&format!("dag {key}")))
    }

    fn dag_keys(&mut self) -> Result<Vec<String>, StoreError> {
        self.read(read::dag_keys)
    }

    fn versions(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, RegisteredTask>, StoreError> {
        self.read(|conn| read::versions(conn, ids))
    }

    fn task_versions(&mut self, task: &str) -> Result<Vec<VersionRow>, StoreError> {
        self.read(|conn| releases::versions(conn, task))
    }

    fn release(
        &mut self,
        task: &str,
        ask: ReleaseAsk,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.write(|conn| releases::release(conn, task, ask, by, now))
            .map_err(|fault| self.place.store(fault))
    }

    fn releases(&mut self, dag: DagId) -> Result<Vec<ReleaseRow>, StoreError> {
        self.read(|conn| releases::releases(conn, dag))
    }

    fn keep_code(&mut self, code: &[(&str, &str)]) -> Result<(), StoreError> {
        self.write(|conn| releases::keep_code(conn, code)).map_err(|fault| self.place.store(fault))
    }

    fn code(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, String>, StoreError> {
        self.read(|conn| releases::code(conn, ids))
    }

    fn join(&mut self, node: &NodeRow) -> Result<ScopeLease, StoreError> {
        self.write(|conn| {
            let node_id: i64 = conn.prepare_cached(texts::NODE_INSERT)?.query_row(
                params![
                    node.host,
                    node.pid,
                    node.role,
                    node.version,
                    node.started_at.0,
                    node.heartbeat_at.0,
                    node.lease_until.0,
                ],
                |row| row.get(0),
            )?;
            let scope_id: i64 = conn
                .prepare_cached(texts::SCOPE_INSERT)?
                .query_row([node_id, node.started_at.0], |row| row.get(0))?;
            Ok(ScopeLease { scope_id: ScopeId(scope_id), epoch: 1, node_id: NodeId(node_id) })
        })
        .map_err(|fault| self.place.store(fault))
    }

    fn lead(
        &mut self,
        name: &str,
        node: NodeId,
        held: Option<ScopeLease>,
        now: Instant,
    ) -> Result<ScopeLease, CommitError> {
        self.write(|conn| scopes::lead(conn, name, node, held, now))
            .map_err(|fault| self.place.commit(fault))
    }

    fn scope_named(&mut self, name: &str) -> Result<Option<ScopeLease>, StoreError> {
        self.read(|conn| Ok(scopes::named(conn, name)?))
    }

    fn open_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError> {
        self.read(|conn| scopes::open_runs(conn, scope))
    }

    fn put_request(
        &mut self,
        scope: ScopeId,
        ask: &Ask,
        by: Option<&str>,
        now: Instant,
    ) -> Result<i64, StoreError> {
        self.write(|conn| requests::ask(conn, scope, ask, by, now))
            .map_err(|fault| self.place.store(fault))
    }

    fn request(&mut self, id: i64) -> Result<Option<RequestRow>, StoreError> {
        self.read(|conn| requests::request(conn, id))
    }

    fn open_requests(&mut self, scope: ScopeId, limit: u32) -> Result<Vec<RequestRow>, StoreError> {
        self.read(|conn| requests::open(conn, scope, limit))
    }

    fn revisions(&mut self) -> Result<Vec<(DagId, i64)>, StoreError> {
        self.read(requests::revisions)
    }

    fn changed(&mut self) -> Result<bool, StoreError> {
        self.has_changed().map_err(|fault| self.place.store(fault))
    }

    fn heartbeat(
        &mut self,
        lease: ScopeLease,
        now: Instant,
        lease_until: Instant,
    ) -> Result<(), CommitError> {
        self.write(|conn| {
            fence(conn, lease)?;
            conn.prepare_cached(texts::NODE_BEAT)?.execute([
                now.0,
                lease_until.0,
                lease.node_id.0,
            ])?;
            Ok(())
        })
        .map_err(|fault| self.place.commit(fault))
    }

    fn leave(&mut self, lease: ScopeLease, now: Instant) -> Result<(), StoreError> {
        self.write(|conn| {
            conn.prepare_cached(texts::LEASE_DROP_ENDED)?.execute([lease.node_id.0])?;
            conn.prepare_cached(texts::NODE_STOP)?.execute([now.0, lease.node_id.0])?;
            Ok(())
        })
        .map_err(|fault| self.place.store(fault))
    }

    fn node(&mut self, id: NodeId) -> Result<Option<NodeRow>, StoreError> {
        self.read(|conn| {
            let mut select = conn.prepare_cached(texts::NODE_READ)?;
            Ok(select.query_row([id.0], rows::node).optional()?)
        })
    }

    fn holder(&mut self, scope: ScopeId) -> Result<Option<ScopeLease>, StoreError> {
        self.read(|conn| Ok(read::holder(conn, scope)?))
    }

    fn take_over(
        &mut self,
        run: RunId,
        from: ScopeId,
        lease: ScopeLease,
        _now: Instant,
    ) -> Result<(), CommitError> {
        self.write(|conn| {
            fence(conn, lease)?;
            let open: Option<i64> = conn
                .prepare_cached(texts::RUN_SCOPE_MOVE)?
                .query_row([lease.scope_id.0, run.0, from.0], |row| row.get(0))
                .optional()?;
            let Some(open) = open else {
                return Err(CommitError::Conflict { what: Changed::Run(run) }.into());
            };
            // Once it is ours there is nobody left to fence off. Who leads a scope goes on with all
            // else of it, though one run that has ended was taken away.
            conn.prepare_cached(texts::SCOPE_TAKE)?.execute([lease.node_id.0, from.0, open])?;
            Ok(())
        })
        .map_err(|fault| self.place.commit(fault))
    }

    fn next_ids(&mut self) -> Result<NextIds, StoreError> {
        self.read(|conn| Ok(Sequence::read(conn)?.next()))
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        self.write_batch(batch).map_err(|fault| self.place.commit(fault))
    }

    fn stored_run(&mut self, run: RunId) -> Result<Option<StoredRun>, StoreError> {
        self.read(|conn| read::stored_run(conn, run))
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        self.read(|conn| read::runs(conn, filter))
    }

    fn task_runs(&mut self, run: RunId) -> Result<Vec<TaskRunView>, StoreError> {
        self.read(|conn| read::task_runs(conn, run))
    }

    fn attempts(&mut self, filter: &AttemptFilter) -> Result<Vec<AttemptRow>, StoreError> {
        self.read(|conn| read::attempts(conn, filter))
    }

    fn journal(&mut self, run: RunId) -> Result<Vec<Vec<u8>>, StoreError> {
        self.read(|conn| read::journal(conn, run))
    }

    fn pools(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError> {
        self.read(read::pools)
    }

    fn set_pool(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError> {
        self.write(|conn| {
            conn.prepare_cached(texts::POOL_SET)?.execute(params![name, slots, now.0])?;
            Ok(())
        })
        .map_err(|fault| self.place.store(fault))
    }

    fn ageing(&mut self) -> Result<BTreeMap<String, i64>, StoreError> {
        self.read(read::ageing)
    }

    fn set_ageing(&mut self, pool: &str, step_ms: Option<i64>) -> Result<(), StoreError> {
        self.write(|conn| {
            conn.prepare_cached(texts::POOL_AGE)?.execute(params![step_ms, pool])?;
            Ok(())
        })
        .map_err(|fault| self.place.store(fault))
    }

    fn limits(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError> {
        self.read(read::limits)
    }

    fn set_limit(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError> {
        self.write(|conn| {
            conn.prepare_cached(texts::LIMIT_SET)?.execute(params![name, slots, now.0])?;
            Ok(())
        })
        .map_err(|fault| self.place.store(fault))
    }

    fn verify(&mut self) -> Result<Vec<Violation>, StoreError> {
        self.read(verify::verify)
    }

    fn upstream(&mut self, key: &str) -> Result<Option<UpstreamTask>, StoreError> {
        self.read(|conn| upstreams::upstream(conn, key))
    }

    fn producer(&mut self, asset: &str) -> Result<Option<String>, StoreError> {
        self.read(|conn| upstreams::producer(conn, asset))
    }

    fn upstream_runs(&mut self, task: TaskId, at: &RunsAt) -> Result<Vec<UpstreamRun>, StoreError> {
        self.read(|conn| upstreams::runs(conn, task, at))
    }

    fn upstream_ends(
        &mut self,
        asked: &EndsAsked,
    ) -> Result<Vec<(RunRow, UpstreamRun)>, StoreError> {
        self.read(|conn| upstreams::ends(conn, asked))
    }

    fn journal_head(&mut self) -> Result<i64, StoreError> {
        self.read(upstreams::journal_head)
    }

    fn so_since(
        &mut self,
        task: TaskId,
        is_so: &dyn Fn(&TaskDef) -> bool,
    ) -> Result<Option<Instant>, StoreError> {
        self.read(|conn| upstreams::so_since(conn, task, is_so))
    }

    fn dependents(&mut self, task: TaskId) -> Result<Vec<DependentEdge>, StoreError> {
        self.read(|conn| upstreams::dependents(conn, task))
    }

    fn past_cells(
        &mut self,
        task: TaskId,
        dates: (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), StoreError> {
        self.read(|conn| past::cells(conn, task, dates, each))
    }

    fn past_durations(&mut self, task: TaskId, limit: u32) -> Result<Vec<i64>, StoreError> {
        self.read(|conn| past::durations(conn, task, limit))
    }

    fn declare(
        &mut self,
        asset: &str,
        date: Date,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.write(|conn| upstreams::declare(conn, asset, date, by, now))
            .map_err(|fault| self.place.store(fault))
    }

    fn is_declared(&mut self, asset: &str, date: Date) -> Result<bool, StoreError> {
        self.read(|conn| upstreams::is_declared(conn, asset, date))
    }

    fn enable(
        &mut self,
        task: &str,
        enabled: bool,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.write(|conn| upstreams::enable(conn, task, enabled, by, now))
            .map_err(|fault| self.place.store(fault))
    }

    fn blocked_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError> {
        self.read(|conn| upstreams::blocked_runs(conn, scope))
    }

    fn result(&mut self, task_run: TaskRunId) -> Result<Option<StoredResult>, StoreError> {
        self.read(|conn| read::result(conn, task_run))
    }
}
