//! The store in one SQLite file.
//!
//! Driven by rusqlite, on the thread that asks: a statement costs microseconds, and a hop to
//! another thread would cost more than all else. Write-ahead log, so readers and the one writer
//! do not wait for each other; every write transaction takes the lock at its beginning, so that it
//! waits there and never fails in its middle.

mod backfills;
mod commit;
mod errors;
mod history;
mod migrate;
mod open;
mod past;
mod read;
mod register;
mod register_rows;
mod releases;
mod requests;
mod rows;
mod schedule_rows;
mod schedules;
mod scopes;
mod sql;
mod upgrade;
mod upstreams;
mod verify;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use open::Identities;
pub use open::SqliteOptions;
pub use sql::{SqlValue, Table};

use self::commit::Sequence;
use self::errors::{Fault, Place};
use super::{
    AttemptFilter, Batch, Changed, CommitError, DependentEdge, EndsAsked, NextIds, RegisteredDag,
    RegisteredTask, RunFilter, RunSummary, RunsAt, ScheduleLife, Store, StoreError, StoredResult,
    StoredRun, StoredSchedule, TaskRunView, UpstreamRun, UpstreamTask, Violation, texts,
};
use crate::model::{
    Ask, AttemptRow, DagDef, DagId, Date, Instant, NodeId, NodeRow, PastCell, ReleaseAsk,
    ReleaseRow, RequestRow, RunId, RunRow, ScheduleId, ScopeId, ScopeLease, Skip, TaskDef, TaskId,
    TaskRunId, TaskVersionId, VersionRow,
};

/// A store in a SQLite file. Used by one thread; another thread opens its own.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    place: Place,
    files: Cell<Identities>,
    /// SQLite's number of what others wrote, when it was looked at last.
    data_version: Cell<Option<i64>>,
}

impl SqliteStore {
    /// Opens the file, makes it if there is none, and brings it up to date.
    ///
    /// `:memory:` is a store of its own that is gone with this value.
    ///
    /// # Errors
    /// `StoreError` that says what the path is instead of a database of ours; nothing in it was
    /// changed then.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let (conn, place) = open::open(path.as_ref(), options)?;
        let files = Cell::new(Identities::of(&place));
        Ok(SqliteStore { conn, place, files, data_version: Cell::new(None) })
    }

    /// The connection, for tests that break things on purpose and for questions in SQL.
    #[doc(hidden)]
    pub fn connection(&self) -> &Connection {
        &self.conn
    }

    /// One write transaction, all or nothing.
    fn change<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, crate::store::CommitError> {
        self.write(work).map_err(|fault| self.place.commit(fault))
    }

    fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        self.transaction("BEGIN IMMEDIATE", work)
    }

    /// Several questions of one snapshot.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.transaction("BEGIN", work).map_err(|fault| self.place.store(fault))
    }

    fn transaction<T>(
        &self,
        begin: &str,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut files = self.files.get();
        files.check(&self.place)?;
        self.files.set(files);
        self.conn.prepare_cached(begin)?.execute([])?;
        let done = work(&self.conn).and_then(|value| {
            self.conn.prepare_cached("COMMIT")?.execute([])?;
            Ok(value)
        });
        // SQLite has rolled back by itself after some errors, such as a full disk.
        if done.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        done
    }
}

impl Store for SqliteStore {
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
        let version = self
            .conn
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|error| self.place.store(Fault::from(error)))?;
        Ok(self.data_version.replace(Some(version)) != Some(version))
    }

    fn heartbeat(
        &mut self,
        lease: ScopeLease,
        now: Instant,
        lease_until: Instant,
    ) -> Result<(), CommitError> {
        self.write(|conn| {
            commit::fence(conn, lease)?;
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
            commit::fence(conn, lease)?;
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
        self.write(|conn| commit::commit(conn, batch)).map_err(|fault| self.place.commit(fault))
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
