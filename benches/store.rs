//! The SQLite store against a plain writer of the same rows, and bytes per finished task run; with the
//! feature `postgres` that store too.
//!
//! Run with `cargo bench --no-default-features --features sqlite --bench store`. Each round is one
//! transaction with 32 ends, 32 starts, 64 changed task runs and their journal.
#![allow(clippy::unwrap_used, reason = "a benchmark has nobody to report to")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

#[cfg(feature = "postgres")]
mod postgres;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant as Clock};

use mainspring::engine::RunMove;
use mainspring::model::journal::{Entry, pack};
use mainspring::model::{
    AttemptEnd, AttemptRecord, AttemptStart, DagDef, Date, Dependency, Instant, NodeId, NodeRow,
    Outcome, Progress, RunId, RunRow, RunState, ScopeLease, State, TaskDef, TaskPolicy, TaskRunId,
    TaskRunRow, Token, Trigger,
};
use mainspring::store::{
    Batch, CreatedRun, Ended, NextIds, Progressed, RegisteredDag, SqliteOptions, SqliteStore, Store,
};

const TASKS: usize = 1_000;
const RUNS: usize = 100;
const WIDTH: usize = 32;
const START: i64 = 1_705_284_000_000_000;

fn task(dag: &str, number: usize) -> TaskDef {
    let upstream = number.checked_sub(WIDTH).map(|up| format!("{dag}.step_{up:04}"));
    TaskDef {
        poll_ms: None,
        batch: false,
        fingerprint: None,
        produces: Vec::new(),
        name: format!("step_{number:04}"),
        kind: "python".into(),
        handler: Some(format!("jobs:step_{number:04}")),
        doc: None,
        owner: None,
        labels: Vec::new(),
        category: None,
        resource: None,
        resource_key: None,
        config: Default::default(),
        params: Default::default(),
        param_schema: Vec::new(),
        inputs: Default::default(),
        map: None,
        injected: vec!["biz_date".into()],
        dependencies: upstream.into_iter().map(Dependency::on_success).collect(),
        policy: TaskPolicy::default(),
        authored_version: None,
        code_hash: Some("0123456789abcdef".into()),
        source: Some("jobs.py:1".into()),
        ext: Default::default(),
    }
}

fn dag(key: &str, tasks: usize) -> DagDef {
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
        tasks: (0..tasks).map(|number| task(key, number)).collect(),
    }
}

fn node() -> NodeRow {
    let now = Instant(START);
    NodeRow {
        id: NodeId(0),
        host: "bench".into(),
        pid: 1,
        role: "cli".into(),
        version: "0".into(),
        started_at: now,
        heartbeat_at: now,
        lease_until: now,
        stopped_at: None,
    }
}

fn new_run(dag: &RegisteredDag, lease: ScopeLease, ids: NextIds, day: i32) -> CreatedRun {
    let nominal_at = Instant(START + i64::from(day) * 86_400_000_000);
    let biz_date = Date(19_736).plus_days(day);
    let row = RunRow {
        id: RunId(ids.run),
        dag_id: dag.id,
        dag: dag.def.key.clone(),
        task_id: None,
        nominal_at,
        biz_date,
        interval_start: nominal_at,
        interval_end: nominal_at,
        timezone: "UTC".into(),
        trigger: Trigger::Schedule,
        timed: true,
        variant: String::new(),
        interactive: false,
        requested_by: None,
        params: "{}".into(),
        state: RunState::Running,
        created_at: nominal_at,
        finished_at: None,
        scope_id: lease.scope_id,
        first_task_run_id: TaskRunId(ids.task_run),
        task_count: dag.tasks.len() as u32,
        schedule_id: None,
        backfill_id: None,
    };
    let task_runs = (0u32..).zip(&dag.tasks).map(|(index, task)| TaskRunRow {
        id: TaskRunId(ids.task_run).offset(index),
        run_id: row.id,
        task_id: task.task_id,
        task_version_id: task.version_id,
        map_index: 0,
        nominal_at,
        biz_date,
        created_at: nominal_at,
        progress: Progress::default(),
    });
    CreatedRun { task_runs: task_runs.collect(), row, schedules: Vec::new() }
}

fn moved(row: &TaskRunRow, from: State, to: State, when: Instant) -> Entry {
    let attempt_no = row.progress.attempt_no;
    Entry::Moved { task_run: row.id, from, to, attempt_no, when, code: None }
}

/// All batches that take a run from its making to its end.
fn batches(run: &mut CreatedRun, lease: ScopeLease) -> Vec<Batch> {
    let first = run.row.first_task_run_id;
    let created_at = run.row.created_at;
    let mut all = vec![Batch::new(lease, created_at)];
    all[0].created.push(run.clone());
    let steps = run.task_runs.len() / WIDTH + 2;
    for step in 0..steps {
        let now = created_at.plus_millis(1_000 * (step as i64 + 1));
        let mut batch = Batch::new(lease, now);
        let mut entries = Vec::new();
        let ends = step.checked_sub(1).map_or(0..0, |before| before * WIDTH..step * WIDTH);
        for index in ends.start..ends.end.min(run.task_runs.len()) {
            let row = &mut run.task_runs[index];
            let before = row.progress.revision;
            row.progress.state = State::Success;
            row.progress.revision += 1;
            row.progress.finished_at = Some(now);
            row.progress.result = Some("{\"rows\":1024}".into());
            entries.push(moved(row, State::Running, State::Success, now));
            let end = AttemptEnd {
                task_run_id: row.id,
                attempt_no: 1,
                token: row.progress.token,
                outcome: Outcome::Success,
                finished_at: now,
                record: AttemptRecord { duration_ms: 998, cpu_ms: Some(120), ..Default::default() },
            };
            batch.ends.push(Ended { end, released: true });
            let progress = row.progress.clone();
            batch.progressed.push(Progressed { id: row.id, expected_revision: before, progress });
        }
        for index in step * WIDTH..((step + 1) * WIDTH).min(run.task_runs.len()) {
            let row = &mut run.task_runs[index];
            entries.push(moved(row, State::Pending, State::Ready, now));
            row.progress.state = State::Running;
            row.progress.revision += 2;
            row.progress.attempt_no = 1;
            row.progress.first_ready_at = Some(now);
            row.progress.started_at = Some(now);
            row.progress.token = Token(0).next(now);
            entries.push(moved(row, State::Ready, State::Running, now));
            batch.starts.push(AttemptStart {
                task_run_id: row.id,
                attempt_no: 1,
                token: row.progress.token,
                nominal_at: row.nominal_at,
                task_version_id: row.task_version_id,
                node_id: lease.node_id,
                started_at: now,
                slots: 1,
                pool: None,
                limits: Vec::new(),
            });
            let progress = row.progress.clone();
            batch.progressed.push(Progressed { id: row.id, expected_revision: 0, progress });
        }
        if !entries.is_empty() {
            batch.journal.push((run.row.id, pack(first, &entries)));
            all.push(batch);
        }
    }
    let finish = created_at.plus_millis(1_000 * steps as i64);
    if let Some(last) = all.last_mut() {
        last.run_moves.push(RunMove {
            run: run.row.id,
            from: RunState::Running,
            to: RunState::Success,
            finished_at: Some(finish),
            cancel_requested: false,
        });
    }
    all
}

fn bytes(path: &Path) -> u64 {
    ["", "-wal", "-shm"]
        .iter()
        .filter_map(|end| std::fs::metadata(format!("{}{end}", path.display())).ok())
        .map(|found| found.len())
        .sum()
}

/// What the batches would cost at least: the same row changes by hand, with nothing checked.
fn plain(path: &Path, all: &[Batch]) -> Vec<Duration> {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;").unwrap();
    let text =
        |name: &str| std::fs::read_to_string(format!("src/store/sql/common/{name}.sql")).unwrap();
    let (progress, begin, lease) =
        (text("task_run_progress"), text("attempt_insert"), text("lease_insert"));
    let (end, release, journal) = (text("attempt_end"), text("lease_drop"), text("journal_insert"));
    let mut progress = conn.prepare(&progress).unwrap();
    let mut begin = conn.prepare(&begin).unwrap();
    let mut lease = conn.prepare(&lease).unwrap();
    let mut end = conn.prepare(&end).unwrap();
    let mut release = conn.prepare(&release).unwrap();
    let mut journal = conn.prepare(&journal).unwrap();
    let mut next = 1i64 << 40;
    let mut times = Vec::new();
    for batch in all {
        let clock = Clock::now();
        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        for Progressed { id, expected_revision, progress: now } in &batch.progressed {
            progress
                .execute(rusqlite::params![
                    now.state.as_str(),
                    now.revision,
                    now.first_ready_at.map(|at| at.0),
                    now.started_at.map(|at| at.0),
                    now.finished_at.map(|at| at.0),
                    now.attempt_no,
                    0,
                    0,
                    0,
                    0,
                    now.token.0,
                    None::<i64>,
                    None::<i64>,
                    None::<String>,
                    0,
                    None::<String>,
                    now.result.as_deref(),
                    None::<i64>,
                    None::<i64>,
                    None::<i64>,
                    None::<String>,
                    None::<String>,
                    false,
                    id.0,
                    expected_revision
                ])
                .unwrap();
        }
        for Ended { end: row, .. } in &batch.ends {
            end.execute(rusqlite::params![
                row.outcome.as_str(),
                row.finished_at.0,
                row.record.duration_ms,
                row.record.cpu_ms,
                None::<i64>,
                None::<i64>,
                None::<i64>,
                None::<i64>,
                None::<String>,
                None::<String>,
                None::<String>,
                None::<String>,
                None::<String>,
                None::<String>,
                None::<String>,
                None::<i64>,
                row.task_run_id.0,
                row.attempt_no,
                row.token.0
            ])
            .unwrap();
            release.execute([row.task_run_id.0]).unwrap();
        }
        for row in &batch.starts {
            next += 1;
            begin
                .execute(rusqlite::params![
                    next,
                    row.task_run_id.0,
                    row.attempt_no,
                    row.token.0,
                    row.nominal_at.0,
                    row.task_version_id.0,
                    row.node_id.0,
                    row.started_at.0
                ])
                .unwrap();
            lease
                .execute(rusqlite::params![
                    row.task_run_id.0,
                    row.attempt_no,
                    row.token.0,
                    row.node_id.0,
                    None::<String>,
                    row.slots,
                    None::<String>
                ])
                .unwrap();
        }
        for (run, entries) in &batch.journal {
            journal.execute(rusqlite::params![run.0, entries]).unwrap();
        }
        conn.execute_batch("COMMIT").unwrap();
        times.push(clock.elapsed());
    }
    times
}

/// Processor time of this thread so far, where the system tells: on a busy machine the clock on
/// the wall measures the others.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(spent.unwrap_or(0))
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mainspring-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn main() {
    let folder = folder();
    registering(&folder);
    let path = folder.join("full.db");
    let mut store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    let lease = store.join(&node()).unwrap();
    let registered = store.register(&[dag("bench", TASKS)], Instant(START)).unwrap().remove(0);
    let empty = bytes(&path);
    let (mut creating, mut full, mut longest_wal) = (Vec::new(), Vec::new(), 0);
    let clock = Clock::now();
    for day in 0..RUNS as i32 {
        let ids = store.next_ids().unwrap();
        let mut run = new_run(&registered, lease, ids, day);
        for (at, batch) in batches(&mut run, lease).iter().enumerate() {
            let clock = Clock::now();
            store.commit(batch).unwrap();
            let times = if at == 0 { &mut creating } else { &mut full };
            times.push(clock.elapsed());
        }
        let wal = std::fs::metadata(format!("{}-wal", path.display())).map_or(0, |wal| wal.len());
        longest_wal = longest_wal.max(wal);
    }
    let total = clock.elapsed();
    let count = TASKS * RUNS;
    println!(
        "{count} finished task runs: {total:.2?}, {:.0}/s",
        count as f64 / total.as_secs_f64()
    );
    println!(
        "  {:.1} MB with indexes, of it WAL {:.1} MB",
        (bytes(&path) - empty) as f64 / 1e6,
        longest_wal as f64 / 1e6
    );
    println!("  make a run of {TASKS}: {:.2?}", median(&mut creating));
    println!("  32 ends + 32 starts, synced: {:.2?}", median(&mut full));
    let clock = Clock::now();
    let broken = store.verify().unwrap();
    println!("  verify: {:.2?}, {} violations", clock.elapsed(), broken.len());

    // Without fsync, and the same against a writer by hand.
    store.connection().execute_batch("PRAGMA synchronous = OFF").unwrap();
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let (mut our_cpu, mut their_cpu) = (Duration::ZERO, Duration::ZERO);
    for day in 0..20 {
        let ids = store.next_ids().unwrap();
        let mut run = new_run(&registered, lease, ids, 1_000 + day);
        let all = batches(&mut run, lease);
        store.commit(&all[0]).unwrap();
        let before = cpu();
        if day % 2 == 0 {
            for batch in &all[1..] {
                let clock = Clock::now();
                store.commit(batch).unwrap();
                ours.push(clock.elapsed());
            }
            our_cpu += cpu() - before;
        } else {
            theirs.extend(plain(&path, &all[1..]));
            their_cpu += cpu() - before;
        }
    }
    let (our_cpu, their_cpu) = (our_cpu / ours.len() as u32, their_cpu / theirs.len() as u32);
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    println!("  32 ends + 32 starts, no fsync: {ours:.2?}; by hand {theirs:.2?}");
    println!("  the same, processor time: {our_cpu:.2?}; by hand {their_cpu:.2?}");
    drop(store);
    std::fs::remove_dir_all(&folder).unwrap();
    #[cfg(feature = "postgres")]
    postgres::main();
}

fn registering(folder: &Path) {
    let dags: Vec<DagDef> = (0..1_000).map(|number| dag(&format!("dag_{number:04}"), 10)).collect();
    let path = folder.join("register.db");
    let mut store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
    for what in ["first", "again"] {
        let (clock, before) = (Clock::now(), cpu());
        store.register(&dags, Instant(START)).unwrap();
        let (wall, spent) = (clock.elapsed(), cpu() - before);
        println!("register 1,000 dags of 10 tasks, {what}: {wall:.2?}, processor {spent:.2?}");
    }
}
