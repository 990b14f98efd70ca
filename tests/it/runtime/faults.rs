//! The n-th commit fails, for each n: before it has an effect, or after it (the answer is lost).
//! Whatever happens, each attempt is called once, and the history is whole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mainspring::engine::check_definition;
use mainspring::model::{
    Ask, AttemptRow, BackfillId, BackfillPlan, DagDef, DagId, Date, Instant, NodeId, NodeRow,
    PastCell, ReleaseAsk, ReleaseRow, RequestRow, RunId, RunRow, RunState, ScheduleId, ScopeId,
    ScopeLease, Skip, State, TaskDef, TaskId, TaskRunId, TaskVersionId, VersionRow,
};
use mainspring::runtime::{HandlerHost, NewRunRequest};
use mainspring::store::{
    AttemptFilter, BackfillCell, BackfillStore, BackfillSummary, Batch, CommitError, DependentEdge,
    EndsAsked, InTheWay, NextIds, RegisteredDag, RegisteredTask, RunFilter, RunSummary, RunsAt,
    ScheduleLife, SqlStore, Store, StoreError, StoredBackfill, StoredResult, StoredRun,
    StoredSchedule, TaskRunView, UpstreamRun, UpstreamTask, Violation,
};
use serde_json::json;

use super::handlers::{Desk, Folder, Host, returned, sound, states};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nothing is written.
    Before,
    /// Everything is written, and nobody hears of it.
    After,
    /// Somebody else was first.
    Refused,
    /// Between the decision and the commit somebody edits the schedule, a second before it fires.
    Edited,
}

/// `d` as it is edited: on the half hour.
fn edited() -> DagDef {
    let tasks = json!([{"name": "a", "handler": "m:a", "doc": "edited"}]);
    let spec = json!({"name": "d", "tasks": tasks, "schedules": [{"expression": "30 * * * *"}]});
    check_definition(&spec).unwrap()
}

/// A store whose commit number `left` fails.
struct Spoilt {
    real: Box<dyn SqlStore>,
    fault: Fault,
    left: Arc<AtomicI64>,
}

fn lost() -> CommitError {
    CommitError::Store(StoreError::Other("the answer was lost on the way".into()))
}

impl BackfillStore for Spoilt {
    fn next_backfill(&mut self) -> Result<BackfillId, StoreError> {
        self.real.next_backfill()
    }

    fn backfill(&mut self, id: BackfillId) -> Result<Option<StoredBackfill>, StoreError> {
        self.real.backfill(id)
    }

    fn backfills(&mut self) -> Result<Vec<BackfillSummary>, StoreError> {
        self.real.backfills()
    }

    fn backfill_cells(&mut self, id: BackfillId) -> Result<Vec<BackfillCell>, StoreError> {
        self.real.backfill_cells(id)
    }

    fn open_backfills(&mut self, scope: ScopeId) -> Result<Vec<BackfillId>, StoreError> {
        self.real.open_backfills(scope)
    }

    fn held_cells(&mut self) -> Result<BTreeMap<(TaskId, Instant), BackfillId>, StoreError> {
        self.real.held_cells()
    }

    fn earlier_fingerprint(&mut self, of: TaskRunId) -> Result<Option<String>, StoreError> {
        self.real.earlier_fingerprint(of)
    }

    fn in_the_way(&mut self, plan: &BackfillPlan) -> Result<Option<InTheWay>, StoreError> {
        self.real.in_the_way(plan)
    }

    fn take_over_backfill(
        &mut self,
        id: BackfillId,
        from: ScopeId,
        lease: ScopeLease,
    ) -> Result<(), CommitError> {
        self.real.take_over_backfill(id, from, lease)
    }
}

impl Store for Spoilt {
    fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        if self.left.fetch_sub(1, Ordering::SeqCst) != 1 {
            return self.real.commit(batch);
        }
        if self.fault == Fault::Edited {
            self.real.register(&[edited()], batch.now.plus_millis(-1_000))?;
            return self.real.commit(batch);
        }
        if self.fault == Fault::Refused {
            return Err(CommitError::IdsMoved(self.real.next_ids()?));
        }
        if self.fault == Fault::After {
            self.real.commit(batch)?;
        }
        Err(lost())
    }

    fn register(&mut self, d: &[DagDef], now: Instant) -> Result<Vec<RegisteredDag>, StoreError> {
        self.real.register(d, now)
    }

    fn upstream_ends(
        &mut self,
        asked: &EndsAsked,
    ) -> Result<Vec<(RunRow, UpstreamRun)>, StoreError> {
        self.real.upstream_ends(asked)
    }

    fn journal_head(&mut self) -> Result<i64, StoreError> {
        self.real.journal_head()
    }

    fn so_since(
        &mut self,
        task: TaskId,
        is_so: &dyn Fn(&TaskDef) -> bool,
    ) -> Result<Option<Instant>, StoreError> {
        self.real.so_since(task, is_so)
    }

    fn upstream(&mut self, key: &str) -> Result<Option<UpstreamTask>, StoreError> {
        self.real.upstream(key)
    }

    fn producer(&mut self, asset: &str) -> Result<Option<String>, StoreError> {
        self.real.producer(asset)
    }

    fn upstream_runs(&mut self, task: TaskId, at: &RunsAt) -> Result<Vec<UpstreamRun>, StoreError> {
        self.real.upstream_runs(task, at)
    }

    fn dependents(&mut self, task: TaskId) -> Result<Vec<DependentEdge>, StoreError> {
        self.real.dependents(task)
    }

    fn past_cells(
        &mut self,
        task: TaskId,
        dates: (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), StoreError> {
        self.real.past_cells(task, dates, each)
    }

    fn past_durations(&mut self, task: TaskId, limit: u32) -> Result<Vec<i64>, StoreError> {
        self.real.past_durations(task, limit)
    }

    fn declare(
        &mut self,
        asset: &str,
        date: Date,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.real.declare(asset, date, by, now)
    }

    fn is_declared(&mut self, asset: &str, date: Date) -> Result<bool, StoreError> {
        self.real.is_declared(asset, date)
    }

    fn enable(
        &mut self,
        task: &str,
        enabled: bool,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.real.enable(task, enabled, by, now)
    }

    fn blocked_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError> {
        self.real.blocked_runs(scope)
    }

    fn remove_dags(&mut self, keys: &[String], now: Instant) -> Result<(), StoreError> {
        self.real.remove_dags(keys, now)
    }

    fn schedules(&mut self, dag: DagId) -> Result<Vec<StoredSchedule>, StoreError> {
        self.real.schedules(dag)
    }

    fn life(
        &mut self,
        after: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Option<ScheduleLife>, StoreError> {
        self.real.life(after, limit)
    }

    fn skips(&mut self, dag: DagId, limit: u32) -> Result<Vec<Skip>, StoreError> {
        self.real.skips(dag, limit)
    }

    fn lead(
        &mut self,
        name: &str,
        node: NodeId,
        held: Option<ScopeLease>,
        now: Instant,
    ) -> Result<ScopeLease, CommitError> {
        self.real.lead(name, node, held, now)
    }

    fn scope_named(&mut self, name: &str) -> Result<Option<ScopeLease>, StoreError> {
        self.real.scope_named(name)
    }

    fn put_request(
        &mut self,
        scope: ScopeId,
        ask: &Ask,
        by: Option<&str>,
        now: Instant,
    ) -> Result<i64, StoreError> {
        self.real.put_request(scope, ask, by, now)
    }

    fn request(&mut self, id: i64) -> Result<Option<RequestRow>, StoreError> {
        self.real.request(id)
    }

    fn open_requests(&mut self, scope: ScopeId, limit: u32) -> Result<Vec<RequestRow>, StoreError> {
        self.real.open_requests(scope, limit)
    }

    fn revisions(&mut self) -> Result<Vec<(DagId, i64)>, StoreError> {
        self.real.revisions()
    }

    fn changed(&mut self) -> Result<bool, StoreError> {
        self.real.changed()
    }

    fn open_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError> {
        self.real.open_runs(scope)
    }

    fn dag(&mut self, key: &str) -> Result<Option<RegisteredDag>, StoreError> {
        self.real.dag(key)
    }

    fn dag_keys(&mut self) -> Result<Vec<String>, StoreError> {
        self.real.dag_keys()
    }

    fn versions(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, RegisteredTask>, StoreError> {
        self.real.versions(ids)
    }

    fn task_versions(&mut self, task: &str) -> Result<Vec<VersionRow>, StoreError> {
        self.real.task_versions(task)
    }

    fn release(
        &mut self,
        task: &str,
        ask: ReleaseAsk,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.real.release(task, ask, by, now)
    }

    fn releases(&mut self, dag: DagId) -> Result<Vec<ReleaseRow>, StoreError> {
        self.real.releases(dag)
    }

    fn keep_code(&mut self, code: &[(&str, &str)]) -> Result<(), StoreError> {
        self.real.keep_code(code)
    }

    fn code(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, String>, StoreError> {
        self.real.code(ids)
    }

    fn join(&mut self, node: &NodeRow) -> Result<ScopeLease, StoreError> {
        self.real.join(node)
    }

    fn heartbeat(&mut self, l: ScopeLease, now: Instant, to: Instant) -> Result<(), CommitError> {
        self.real.heartbeat(l, now, to)
    }

    fn leave(&mut self, lease: ScopeLease, now: Instant) -> Result<(), StoreError> {
        self.real.leave(lease, now)
    }

    fn node(&mut self, id: NodeId) -> Result<Option<NodeRow>, StoreError> {
        self.real.node(id)
    }

    fn holder(&mut self, scope: ScopeId) -> Result<Option<ScopeLease>, StoreError> {
        self.real.holder(scope)
    }

    fn take_over(
        &mut self,
        run: RunId,
        from: ScopeId,
        lease: ScopeLease,
        now: Instant,
    ) -> Result<(), CommitError> {
        self.real.take_over(run, from, lease, now)
    }

    fn next_ids(&mut self) -> Result<NextIds, StoreError> {
        self.real.next_ids()
    }

    fn stored_run(&mut self, run: RunId) -> Result<Option<StoredRun>, StoreError> {
        self.real.stored_run(run)
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        self.real.runs(filter)
    }

    fn task_runs(&mut self, run: RunId) -> Result<Vec<TaskRunView>, StoreError> {
        self.real.task_runs(run)
    }

    fn attempts(&mut self, filter: &AttemptFilter) -> Result<Vec<AttemptRow>, StoreError> {
        self.real.attempts(filter)
    }

    fn journal(&mut self, run: RunId) -> Result<Vec<Vec<u8>>, StoreError> {
        self.real.journal(run)
    }

    fn pools(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError> {
        self.real.pools()
    }

    fn set_pool(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError> {
        self.real.set_pool(name, slots, now)
    }

    fn ageing(&mut self) -> Result<BTreeMap<String, i64>, StoreError> {
        self.real.ageing()
    }

    fn set_ageing(&mut self, pool: &str, step_ms: Option<i64>) -> Result<(), StoreError> {
        self.real.set_ageing(pool, step_ms)
    }

    fn limits(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError> {
        self.real.limits()
    }

    fn set_limit(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError> {
        self.real.set_limit(name, slots, now)
    }

    fn verify(&mut self) -> Result<Vec<Violation>, StoreError> {
        self.real.verify()
    }

    fn result(&mut self, task_run: TaskRunId) -> Result<Option<StoredResult>, StoreError> {
        self.real.result(task_run)
    }
}

/// A failure, a retry and a join: five commits at least.
fn diamond() -> serde_json::Value {
    json!([
        {"name": "a", "handler": "m:a"},
        {"name": "b", "handler": "m:b", "depends_on": ["a"], "max_attempts": 2,
         "retry_interval": "1ms", "retry_backoff": "fixed"},
        {"name": "c", "handler": "m:c", "depends_on": ["a"]},
        {"name": "d", "handler": "m:d", "depends_on": ["b", "c"]},
    ])
}

fn one(n: i64, fault: Fault) {
    let folder = Folder::new("fault");
    let left = Arc::new(AtomicI64::new(0));
    let spoilt = Spoilt { real: folder.store(), fault, left: Arc::clone(&left) };
    let desk = Desk::with(&folder, Box::new(spoilt));
    desk.register(diamond());
    left.store(n, Ordering::SeqCst);
    let host = Arc::new(Host::default().on("b", |job, _| match job.attempt.attempt_no {
        1 => mainspring::runtime::Finished::failed("ERROR", "ValueError", "not yet"),
        _ => returned(None),
    }));
    let submitted =
        desk.session.submit("d", Arc::clone(&host) as HandlerHost, NewRunRequest::default());
    let Ok(run) = submitted else {
        assert_eq!((n, fault), (1, Fault::Before), "only what was not written is refused");
        assert_eq!(folder.store().runs(&RunFilter::default()).unwrap().len(), 0);
        assert!(host.calls().is_empty());
        return;
    };
    // The delay of the retry is by the clock that we move.
    let watch = desk.session.watch(run).unwrap();
    for _ in 0..60_000 {
        if watch.wait(std::time::Duration::from_millis(1)) {
            break;
        }
        if watch.status().count(State::RetryWait) > 0 {
            desk.advance(1);
        }
    }
    assert_eq!(watch.status().state, RunState::Success, "commit {n}, {fault:?}");
    let mut calls = host.calls();
    calls.sort();
    let name = |n: &str| n.to_owned();
    let once = [(name("a"), 1), (name("b"), 1), (name("b"), 2), (name("c"), 1), (name("d"), 1)];
    assert_eq!(calls, once, "commit {n}, {fault:?}: each attempt is called once");
    assert!(states(&folder, run).iter().all(|(_, state, _)| *state == State::Success));
    sound(&folder);
}

#[test]
fn every_commit_may_fail_and_nothing_is_lost_or_doubled() {
    std::thread::scope(|scope| {
        for n in 1..=8 {
            for fault in [Fault::Before, Fault::After] {
                scope.spawn(move || one(n, fault));
            }
        }
    });
}

/// Three hours of an hourly schedule and one more at 02:00, which make one run together.
fn served(n: i64, fault: Fault) {
    let folder = Folder::new("served");
    let left = Arc::new(AtomicI64::new(0));
    let spoilt = Spoilt { real: folder.store(), fault, left: Arc::clone(&left) };
    let desk = Desk::with(&folder, Box::new(spoilt));
    let host = Arc::new(Host::default());
    let schedules = json!([{"expression": "0 * * * *"}, {"expression": "0 2 * * *"}]);
    desk.serve(json!([{"name": "a", "handler": "m:a"}]), schedules, &host);
    left.store(n, Ordering::SeqCst);
    desk.pass(3 * 3_600_000);
    let runs = folder.store().runs(&RunFilter::default()).unwrap();
    let at = |hour: i64| super::handlers::START.plus_millis(hour * 3_600_000);
    let times: Vec<Instant> = runs.iter().map(|run| run.row.nominal_at).collect();
    assert_eq!(times, [at(3), at(2), at(1)], "commit {n}, {fault:?}");
    assert!(runs.iter().all(|run| run.row.state == RunState::Success), "commit {n}, {fault:?}");
    assert_eq!(host.calls().len(), 3, "commit {n}, {fault:?}: each is called once");
    let mut store = folder.store();
    let hourly = store.life(None, 10).unwrap().unwrap();
    assert_eq!(hourly.fired.len(), 3);
    assert_eq!(store.life(Some(hourly.id), 10).unwrap().unwrap().fired.len(), 1);
    sound(&folder);
}

#[test]
fn every_commit_of_a_served_dag_may_fail_and_no_fire_is_lost_or_doubled() {
    std::thread::scope(|scope| {
        for n in 1..=7 {
            for fault in [Fault::Before, Fault::After, Fault::Refused] {
                scope.spawn(move || served(n, fault));
            }
        }
    });
}

/// The scheduler looks five times a second whether others wrote: in between it decides by what was.
#[test]
fn a_fire_that_was_decided_by_an_older_rule_is_decided_again_by_the_new_one() {
    let folder = Folder::new("edited");
    let left = Arc::new(AtomicI64::new(0));
    let fault = Fault::Edited;
    let spoilt = Spoilt { real: folder.store(), fault, left: Arc::clone(&left) };
    let desk = Desk::with(&folder, Box::new(spoilt));
    let host = Arc::new(Host::default());
    let tasks = json!([{"name": "a", "handler": "m:a"}]);
    desk.serve(tasks, json!([{"expression": "0 * * * *"}]), &host);
    left.store(1, Ordering::SeqCst);
    desk.pass(3 * 3_600_000);
    let mut store = folder.store();
    let runs = store.runs(&RunFilter::default()).unwrap();
    let at = |minutes: i64| super::handlers::START.plus_millis(minutes * 60_000);
    let times: Vec<Instant> = runs.iter().map(|run| run.row.nominal_at).collect();
    assert_eq!(times, [at(150), at(90)], "none at 1:00, which the new rule does not have");
    // What they run is the dag as it was edited, too.
    let newest = store.dag("d").unwrap().unwrap().tasks[0].version_id;
    for run in &runs {
        let stored = store.stored_run(run.row.id).unwrap().unwrap();
        assert_eq!(stored.task_runs[0].task_version_id, newest);
    }
    sound(&folder);
}

/// A list of three, mapped, and what takes the results: items are made in the middle of it.
fn mapped(n: i64, fault: Fault) {
    let folder = Folder::new("mapped");
    let left = Arc::new(AtomicI64::new(0));
    let spoilt = Spoilt { real: folder.store(), fault, left: Arc::clone(&left) };
    let desk = Desk::with(&folder, Box::new(spoilt));
    desk.register(json!([
        {"name": "l", "handler": "m:l"},
        {"name": "m", "handler": "m:m", "map": {"argument": "x", "result": "l"}},
        {"name": "r", "handler": "m:r", "inputs": {"all": "m"}},
    ]));
    let host = Arc::new(
        Host::default()
            .on("l", |_, _| returned(Some("[1,2,3]")))
            .on("m", |job, _| returned(Some(&job.item.as_ref().unwrap().text)))
            .on("r", |job, _| returned(Some(&super::handlers::first_input(job)))),
    );
    // The making of the run is another test's.
    let run = desk.submit(&host);
    left.store(n, Ordering::SeqCst);
    desk.wait(run);
    let mut calls: Vec<String> = host.calls().into_iter().map(|(task, _)| task).collect();
    calls.sort();
    assert_eq!(calls, ["l", "m", "m", "m", "r"], "commit {n}, {fault:?}: each is called once");
    let views = folder.store().task_runs(run).unwrap();
    assert_eq!(views[2].row.progress.result.as_deref(), Some("[1,2,3]"), "commit {n}, {fault:?}");
    sound(&folder);
}

#[test]
fn every_commit_of_a_mapped_task_may_fail_and_no_item_is_lost_or_doubled() {
    std::thread::scope(|scope| {
        for n in 1..=7 {
            for fault in [Fault::Before, Fault::After, Fault::Refused] {
                scope.spawn(move || mapped(n, fault));
            }
        }
    });
}

#[test]
fn a_shutdown_whose_commit_is_refused_goes_on_all_the_same() {
    let folder = Folder::new("closing");
    let left = Arc::new(AtomicI64::new(0));
    let fault = Fault::Refused;
    let spoilt = Spoilt { real: folder.store(), fault, left: Arc::clone(&left) };
    let desk = Desk::with(&folder, Box::new(spoilt));
    desk.register(json!([{"name": "a", "handler": "m:a"}]));
    let run = desk.submit(&Arc::new(Host::default().on("a", |_, stop| {
        let asked = stop.recv_timeout(std::time::Duration::from_secs(30));
        assert!(asked.is_ok(), "it is asked to stop");
        mainspring::runtime::Finished::failed("STOPPED", "Stopped", "asked to stop")
    })));
    desk.until(run, State::Running, 1);
    left.store(1, Ordering::SeqCst);
    desk.session.close(60_000, Some(std::time::Duration::from_secs(60)));
    assert_eq!(states(&folder, run), [("a".to_owned(), State::Ready, 1)]);
    sound(&folder);
}
