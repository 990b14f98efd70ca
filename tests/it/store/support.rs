//! Definitions, runs and batches to write, made short.

use std::sync::Arc;

use mainspring::model::journal::{Entry, pack};
use mainspring::model::{
    AttemptEnd, AttemptRecord, AttemptStart, BackfillPlan, BackfillTask, BizOffset, DagDef, Date,
    Dependency, EdgeKind, Instant, NodeId, NodeRow, Outcome, PlannedRun, Progress, RunId, RunRow,
    RunState, ScheduleDef, ScopeLease, State, TaskDef, TaskPolicy, TaskRunId, TaskRunRow, TaskSet,
    TimeRule, Token, Trigger,
};
use mainspring::store::{Batch, CreatedRun, Ended, NextIds, Progressed, RegisteredDag, Store};

/// 2024-01-15T02:00:00Z and a number of seconds.
pub fn at(seconds: i64) -> Instant {
    Instant::from_secs(1_705_284_000 + seconds)
}

pub fn task(name: &str, upstreams: &[&str]) -> TaskDef {
    TaskDef {
        batch: false,
        poll_ms: None,
        fingerprint: None,
        name: name.into(),
        kind: "python".into(),
        handler: Some(format!("jobs:{name}")),
        doc: None,
        owner: None,
        labels: Vec::new(),
        produces: vec![],
        category: None,
        resource: None,
        resource_key: None,
        config: Default::default(),
        params: Default::default(),
        param_schema: Vec::new(),
        inputs: Default::default(),
        map: None,
        injected: Vec::new(),
        dependencies: upstreams.iter().map(|up| Dependency::on_success(*up)).collect(),
        policy: TaskPolicy::default(),
        authored_version: None,
        code_hash: None,
        source: Some(format!("jobs.py:{}", name.len())),
        ext: Default::default(),
    }
}

pub fn edge(upstream: &str, kind: EdgeKind, offset: i32) -> Dependency {
    Dependency { kind, offset_from: offset, offset_to: offset, ..Dependency::on_success(upstream) }
}

pub fn dag(key: &str, tasks: Vec<TaskDef>) -> DagDef {
    DagDef {
        key: key.into(),
        title: None,
        doc: None,
        owner: None,
        labels: Vec::new(),
        timezone: "UTC".into(),
        biz_offset: None,
        max_active_runs: 16,
        source_file: None,
        schedules: Vec::new(),
        tasks,
    }
}

/// `flights`: fetch, clean and load, one after the other.
pub fn flights() -> DagDef {
    dag(
        "flights",
        vec![
            task("fetch", &[]),
            task("clean", &["flights.fetch"]),
            task("load", &["flights.clean"]),
        ],
    )
}

pub fn schedule(name: &str, expression: &str) -> ScheduleDef {
    let mut rule = TimeRule::new(expression, "Asia/Shanghai");
    rule.start_date = Date::parse("2024-01-01").ok();
    ScheduleDef { biz_offset: Some(BizOffset::Days(-1)), ..ScheduleDef::new(name, rule) }
}

pub fn node(pid: i64) -> NodeRow {
    NodeRow {
        id: NodeId(0),
        host: "here".into(),
        pid,
        role: "cli".into(),
        version: "0.1.0".into(),
        started_at: at(0),
        heartbeat_at: at(0),
        lease_until: at(15),
        stopped_at: None,
    }
}

/// A manual run of all tasks of a dag with their task runs, as they are when they are made.
pub fn new_run(dag: &RegisteredDag, lease: ScopeLease, ids: NextIds, nominal: i64) -> CreatedRun {
    let biz_date = Date::parse("2024-01-14").unwrap();
    let row = RunRow {
        id: RunId(ids.run),
        dag_id: dag.id,
        dag: dag.def.key.clone(),
        task_id: None,
        nominal_at: at(nominal),
        biz_date,
        interval_start: at(nominal - 86_400),
        interval_end: at(nominal),
        timezone: "UTC".into(),
        trigger: Trigger::Manual,
        timed: false,
        variant: String::new(),
        interactive: true,
        requested_by: None,
        params: "{}".into(),
        state: RunState::Running,
        created_at: at(nominal),
        finished_at: None,
        scope_id: lease.scope_id,
        first_task_run_id: TaskRunId(ids.task_run),
        task_count: dag.tasks.len() as u32,
        schedule_id: None,
        backfill_id: None,
    };
    let task_runs = (0u32..)
        .zip(&dag.tasks)
        .map(|(index, task)| TaskRunRow {
            id: TaskRunId(ids.task_run).offset(index),
            run_id: row.id,
            task_id: task.task_id,
            task_version_id: task.version_id,
            map_index: 0,
            nominal_at: row.nominal_at,
            biz_date,
            created_at: row.created_at,
            progress: Progress::default(),
        })
        .collect();
    CreatedRun { row, task_runs, schedules: Vec::new() }
}

/// A plan of all tasks of a dag for some instants.
pub fn backfill_plan(dag: &RegisteredDag, hash: &str, nominals: &[i64]) -> BackfillPlan {
    let mut plan = BackfillPlan::nothing();
    plan.ask.dag = dag.def.key.clone();
    plan.hash = hash.into();
    plan.tasks = (dag.tasks.iter())
        .map(|task| BackfillTask {
            dag: dag.def.key.clone(),
            name: task.def.name.clone(),
            task_id: task.task_id,
            version_id: task.version_id,
            batch: false,
        })
        .collect();
    plan.sets.push(TaskSet {
        dag: dag.def.key.clone(),
        tasks: (0..plan.tasks.len() as u32).collect(),
        keep: Vec::new(),
        timezone: "UTC".into(),
        alone: false,
    });
    plan.runs = (0u32..)
        .zip(nominals)
        .map(|(group, nominal)| PlannedRun {
            set: 0,
            group,
            nominal_at: at(*nominal),
            biz_date: Date::parse("2024-01-14").unwrap(),
            interval: (at(*nominal - 86_400), at(*nominal)),
        })
        .collect();
    plan
}

/// A store with a process in it and `flights` registered.
pub struct Desk<'a> {
    pub store: &'a mut dyn Store,
    pub lease: ScopeLease,
    pub dag: RegisteredDag,
}

impl<'a> Desk<'a> {
    pub fn open(store: &'a mut dyn Store) -> Self {
        let lease = store.join(&node(1)).unwrap();
        let dag = store.register(&[flights()], at(0)).unwrap().remove(0);
        Desk { store, lease, dag }
    }

    pub fn batch(&self) -> Batch {
        Batch::new(self.lease, at(1))
    }

    /// Makes a run and commits it.
    pub fn create(&mut self, nominal: i64) -> CreatedRun {
        let ids = self.store.next_ids().unwrap();
        let run = new_run(&self.dag, self.lease, ids, nominal);
        let mut batch = self.batch();
        batch.expected = Some(ids);
        batch.created.push(run.clone());
        self.store.commit(&batch).unwrap();
        run
    }

    /// Adds to `batch` the cancel of a task run that does not run.
    pub fn cancel(&self, batch: &mut Batch, run: &mut CreatedRun, index: usize) {
        let row = &mut run.task_runs[index];
        let (before, from) = (row.progress.revision, row.progress.state);
        let now = &mut row.progress;
        (now.revision, now.state, now.finished_at) = (before + 1, State::Canceled, Some(at(5)));
        batch.progressed.push(Progressed {
            id: row.id,
            expected_revision: before,
            progress: now.clone(),
        });
        let entry = Entry::Moved {
            task_run: row.id,
            from,
            to: State::Canceled,
            attempt_no: now.attempt_no,
            when: at(5),
            code: None,
        };
        let packed = mainspring::model::journal::pack(run.row.first_task_run_id, &[entry]);
        batch.journal.push((run.row.id, packed));
    }

    /// Adds to `batch` what takes a task run from PENDING to RUNNING.
    pub fn start(&self, batch: &mut Batch, run: &mut CreatedRun, index: usize, when: i64) {
        let node_id = self.lease.node_id;
        let row = &mut run.task_runs[index];
        let before = row.progress.revision;
        let from = row.progress.state;
        let now = &mut row.progress;
        now.attempt_no += 1;
        now.token = Token(now.token.0 + 1);
        now.revision += 2;
        now.state = State::Running;
        now.finished_at = None;
        now.first_ready_at = now.first_ready_at.or(Some(at(when)));
        now.started_at = now.started_at.or(Some(at(when)));
        batch.progressed.push(Progressed {
            id: row.id,
            expected_revision: before,
            progress: now.clone(),
        });
        batch.starts.push(AttemptStart {
            task_run_id: row.id,
            attempt_no: now.attempt_no,
            token: now.token,
            nominal_at: row.nominal_at,
            task_version_id: row.task_version_id,
            node_id,
            started_at: at(when),
            slots: 1,
            pool: None,
            limits: Vec::new(),
        });
        let moved = |from, to, attempt_no| Entry::Moved {
            task_run: row.id,
            from,
            to,
            attempt_no,
            when: at(when),
            code: None,
        };
        let no = now.attempt_no;
        let entries = [moved(from, State::Ready, no - 1), moved(State::Ready, State::Running, no)];
        batch.journal.push((run.row.id, pack(run.row.first_task_run_id, &entries)));
    }

    /// Adds to `batch` what ends the live attempt of a task run for good.
    pub fn end(&self, batch: &mut Batch, run: &mut CreatedRun, index: usize, when: i64) {
        let row = &mut run.task_runs[index];
        let now = &mut row.progress;
        let before = now.revision;
        now.revision += 1;
        now.state = State::Success;
        now.finished_at = Some(at(when));
        now.result = Some(Arc::from("42"));
        batch.progressed.push(Progressed {
            id: row.id,
            expected_revision: before,
            progress: now.clone(),
        });
        batch.ends.push(ended(row.id, now.attempt_no, now.token, Outcome::Success, when));
        let entry = Entry::Moved {
            task_run: row.id,
            from: State::Running,
            to: State::Success,
            attempt_no: now.attempt_no,
            when: at(when),
            code: None,
        };
        batch.journal.push((run.row.id, pack(run.row.first_task_run_id, &[entry])));
    }
}

pub fn ended(id: TaskRunId, no: u32, token: Token, outcome: Outcome, when: i64) -> Ended {
    let end = AttemptEnd {
        task_run_id: id,
        attempt_no: no,
        token,
        outcome,
        finished_at: at(when),
        record: AttemptRecord { duration_ms: 1_000, cpu_ms: Some(250), ..Default::default() },
    };
    Ended { end, released: true }
}

#[cfg(feature = "sqlite")]
pub mod file {
    //! Stores in files that are gone with the test.

    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};

    use mainspring::store::{SqliteOptions, SqliteStore};

    /// A directory of one test.
    pub struct Folder(PathBuf);

    impl Folder {
        pub fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let name = format!(
                "mainspring-test-{}-{}",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            );
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        pub fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    pub fn open(path: impl AsRef<Path>) -> SqliteStore {
        SqliteStore::open(path, SqliteOptions::default()).unwrap()
    }
}
