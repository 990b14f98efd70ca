//! Writing a batch: first what it is checked against, in one journey; then everything that it
//! writes, in another. All rows of a table go in one statement, as columns. The caller holds the
//! transaction, and nobody else writes meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use super::client::{Connection, Result as Answer, Row, Value, params};
use super::errors::Fault;
use super::months::Months;
use super::rows_out as out;
use super::{backfills, requests, schedules, texts};
use crate::model::{
    AttemptStart, Instant, RunId, RunRow, ScopeLease, TaskRunId, TaskRunRow, TimedKey,
};
use crate::store::batch::{DEADLINE_EVENT, Order, claimed};
use crate::store::{Batch, Changed, CommitError, Ended, NextIds};

type Done = Result<(), Fault>;

/// The `sequence` row.
pub(super) struct Sequence {
    pub run: i64,
    pub task_run: i64,
    pub attempt: i64,
}

impl Sequence {
    pub(super) fn read(conn: &Connection) -> Answer<Self> {
        conn.prepare_cached(texts::SEQUENCE_READ)?.query_row([], Sequence::of)
    }

    fn of(row: &Row<'_>) -> Answer<Self> {
        Ok(Sequence { run: row.get(0)?, task_run: row.get(1)?, attempt: row.get(2)? })
    }

    pub(super) fn next(&self) -> NextIds {
        NextIds { run: self.run, task_run: self.task_run }
    }
}

/// Refuses a holder that is not the current one of its scope.
pub(super) fn fence(conn: &Connection, lease: ScopeLease) -> Done {
    let held = conn.prepare_cached(texts::SCOPE_HELD)?.exists(params![
        lease.scope_id.0,
        lease.epoch,
        lease.node_id.0
    ])?;
    if held { Ok(()) } else { Err(CommitError::Fenced.into()) }
}

pub(super) fn conflict(what: Changed) -> Fault {
    CommitError::Conflict { what }.into()
}

pub(super) fn commit(conn: &Connection, batch: &Batch, months: &mut Months) -> Done {
    let sequence = check(conn, batch, months)?;
    backfills::begin(conn, batch)?;
    write(conn, batch, sequence, months)?;
    schedules::commit(conn, batch)?;
    backfills::fill(conn, batch)?;
    backfills::check_unfilled(conn, batch)?;
    backfills::check_cells(conn, batch)?;
    requests::answer(conn, batch)
}

/// Whether the batch may be written at all.
fn check(conn: &Connection, batch: &Batch, months: &mut Months) -> Result<Sequence, Fault> {
    let lease = batch.lease;
    let unknown = months.unknown(moved(batch));
    let timed: Vec<(&RunRow, TimedKey)> =
        (batch.created.iter()).filter_map(|run| Some((&run.row, run.row.timed_key()?))).collect();
    let held = vec![lease.scope_id.0.into(), lease.epoch.into(), lease.node_id.0.into()];
    let mut asked = vec![(texts::SCOPE_HELD, held), (texts::SEQUENCE_READ, Vec::new())];
    let mut ask = |wanted: bool, text, values: &dyn Fn() -> Vec<Value>| {
        wanted.then(|| {
            asked.push((text, values()));
            asked.len() - 1
        })
    };
    let relied = ask(!batch.relies.is_empty(), texts::TASK_RUN_MOVED, &|| {
        let (ids, states) = (batch.relies.iter().map(|(id, _)| id.0), batch.relies.iter());
        vec![Value::ints(ids), Value::texts(states.map(|(_, state)| Some(state.as_str())))]
    });
    let known = ask(!timed.is_empty(), texts::RUN_TIMED_MANY, &|| {
        let rows = || timed.iter().map(|(row, _)| row);
        vec![
            Value::ints(rows().map(|row| row.dag_id.0)),
            Value::ints(rows().map(|row| row.task_id.map_or(0, |id| id.0))),
            Value::ints(rows().map(|row| row.nominal_at.0)),
            Value::texts(rows().map(|row| Some(row.variant.as_str()))),
        ]
    });
    let found = ask(!unknown.is_empty(), texts::TASK_RUN_NOMINAL, &|| {
        vec![Value::ints(unknown.iter().copied())]
    });
    let answers = conn.all(&asked)?;
    let rows = |at: Option<usize>| at.and_then(|at| answers.get(at)).map_or(&[][..], Vec::as_slice);
    if rows(Some(0)).is_empty() {
        return Err(CommitError::Fenced.into());
    }
    if let Some(row) = rows(relied).first() {
        return Err(conflict(Changed::TaskRun(TaskRunId(row.get(0)?))));
    }
    let sequence = rows(Some(1)).first().map(Sequence::of).transpose()?;
    let sequence = sequence.ok_or(Fault::Sql(super::client::Error::NoRows))?;
    if batch.expected_ids().is_some_and(|expected| expected != sequence.next()) {
        return Err(CommitError::IdsMoved(sequence.next()).into());
    }
    if let Some(row) = rows(known).first() {
        let (run, nth) = (RunId(row.get(0)?), row.get::<_, i64>(1)?);
        let key = usize::try_from(nth - 1).ok().and_then(|nth| timed.get(nth));
        return Err(exists(run, key.map(|(_, key)| key.clone())));
    }
    once(&timed)?;
    for row in rows(found) {
        months.know(TaskRunId(row.get(0)?), Instant(row.get(1)?));
    }
    Ok(sequence)
}

fn exists(run: RunId, key: Option<TimedKey>) -> Fault {
    match key {
        Some(key) => CommitError::RunExists { run, key: Box::new(key) }.into(),
        None => conflict(Changed::Run(run)),
    }
}

/// Refuses a batch that makes a timed run twice.
fn once(timed: &[(&RunRow, TimedKey)]) -> Done {
    let mut made: BTreeMap<&TimedKey, RunId> = BTreeMap::new();
    for (row, key) in timed {
        if let Some(run) = made.insert(key, row.id) {
            return Err(exists(run, Some(key.clone())));
        }
    }
    Ok(())
}

/// Task runs that the batch changes and does not make.
fn moved(batch: &Batch) -> impl Iterator<Item = TaskRunId> {
    let made: BTreeSet<TaskRunId> = (batch.created.iter().flat_map(|run| &run.task_runs))
        .chain(&batch.items)
        .map(|row| row.id)
        .collect();
    let progressed = batch.progressed.iter().map(|each| each.id);
    let ended = batch.ends.iter().map(|ended| ended.end.task_run_id);
    progressed.chain(ended).filter(move |id| !made.contains(id))
}

/// What a statement of a batch is expected to answer.
enum Wanted {
    Nothing,
    /// These task runs, each once.
    TaskRuns(Vec<TaskRunId>),
    /// These attempts, each once.
    Attempts(Vec<(TaskRunId, u32)>),
    /// These runs, each once.
    Runs(Vec<RunId>),
    /// Whether a pool has room: what the batch takes of it.
    Pool(String, i64),
    /// The same of a limit, with the most that a definition says.
    Limit(String, i64, Option<i64>),
}

/// The statements of a batch, in their order.
#[derive(Default)]
struct Statements {
    asked: Vec<(&'static str, Vec<Value>)>,
    wanted: Vec<Wanted>,
}

impl Statements {
    fn add(&mut self, text: &'static str, values: Vec<Value>, wanted: Wanted) {
        self.asked.push((text, values));
        self.wanted.push(wanted);
    }
}

fn write(conn: &Connection, batch: &Batch, mut sequence: Sequence, months: &mut Months) -> Done {
    let mut all = Statements::default();
    let made = || batch.created.iter().flat_map(|run| &run.task_runs).chain(&batch.items);
    for row in made() {
        months.know(row.id, row.nominal_at);
        sequence.task_run = sequence.task_run.max(row.id.0 + 1);
    }
    for run in &batch.created {
        sequence.run = sequence.run.max(run.row.id.0 + 1);
    }
    create(&mut all, batch, &made().collect::<Vec<_>>());
    progress(&mut all, batch, months);
    attempts(&mut all, batch, &mut sequence, months);
    if !batch.created.is_empty() || !batch.items.is_empty() || !batch.starts.is_empty() {
        let next = [sequence.run, sequence.task_run, sequence.attempt];
        all.add(texts::SEQUENCE_MOVE, next.map(Value::from).to_vec(), Wanted::Nothing);
    }
    move_runs(&mut all, batch);
    if !batch.journal.is_empty() {
        let runs = Value::ints(batch.journal.iter().map(|(run, _)| run.0));
        let entries = batch.journal.iter().map(|(_, entries)| entries.clone()).collect();
        all.add(texts::JOURNAL_INSERT_MANY, vec![runs, Value::Blobs(entries)], Wanted::Nothing);
    }
    let answers = conn.all(&all.asked)?;
    for (wanted, rows) in all.wanted.iter().zip(&answers) {
        answered(wanted, rows)?;
    }
    Ok(())
}

/// Refuses the batch where a statement did not find what it was to change.
fn answered(wanted: &Wanted, rows: &[Row<'_>]) -> Done {
    match wanted {
        Wanted::Nothing => Ok(()),
        Wanted::TaskRuns(ids) => {
            let found = numbers(rows)?;
            let missing = ids.iter().find(|id| !found.contains(&id.0));
            missing.map_or(Ok(()), |id| Err(conflict(Changed::TaskRun(*id))))
        }
        Wanted::Attempts(attempts) => {
            // An attempt is as current as its task run's lease, so its task run says which it is.
            let found = numbers(rows)?;
            let missing = attempts.iter().find(|(id, _)| !found.contains(&id.0));
            missing.map_or(Ok(()), |(id, no)| Err(conflict(Changed::Attempt(*id, *no))))
        }
        Wanted::Runs(runs) => {
            let found = numbers(rows)?;
            let missing = runs.iter().find(|run| !found.contains(&run.0));
            missing.map_or(Ok(()), |run| Err(conflict(Changed::Run(*run))))
        }
        Wanted::Pool(pool, mine) => match room(rows, *mine, None)? {
            Some(free) => Err(CommitError::PoolFull { pool: pool.clone(), free }.into()),
            None => Ok(()),
        },
        Wanted::Limit(limit, mine, most) => match room(rows, *mine, *most)? {
            Some(free) => Err(CommitError::LimitFull { limit: limit.clone(), free }.into()),
            None => Ok(()),
        },
    }
}

fn numbers(rows: &[Row<'_>]) -> Answer<BTreeSet<i64>> {
    rows.iter().map(|row| row.get(0)).collect()
}

/// What is left of a pool or limit that is overfull. One that is wider than all of it may run alone.
fn room(rows: &[Row<'_>], mine: i64, most: Option<i64>) -> Answer<Option<u32>> {
    let Some(row) = rows.first() else { return Ok(None) };
    let (capacity, used, live): (Option<i64>, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let capacity = most.or(capacity).unwrap_or(0);
    let overfull = used > capacity && live > 1;
    Ok(overfull.then(|| u32::try_from(capacity - (used - mine)).unwrap_or(0)))
}

fn create(all: &mut Statements, batch: &Batch, task_runs: &[&TaskRunRow]) {
    if !batch.created.is_empty() {
        let rows: Vec<&RunRow> = batch.created.iter().map(|run| &run.row).collect();
        all.add(texts::RUN_INSERT_MANY, out::runs(&rows), Wanted::Nothing);
    }
    if !task_runs.is_empty() {
        all.add(texts::TASK_RUN_INSERT_MANY, out::task_runs(task_runs), Wanted::Nothing);
    }
    let links: Vec<(i64, i64)> = (batch.created.iter())
        .flat_map(|run| run.schedules.iter().map(|schedule| (run.row.id.0, schedule.0)))
        .collect();
    if !links.is_empty() {
        let runs = Value::ints(links.iter().map(|(run, _)| *run));
        let schedules = Value::ints(links.iter().map(|(_, schedule)| *schedule));
        all.add(texts::RUN_SCHEDULE_INSERT_MANY, vec![runs, schedules], Wanted::Nothing);
    }
}

fn progress(all: &mut Statements, batch: &Batch, months: &Months) {
    for progressed in rounds(&batch.progressed, |each| each.id) {
        let bounds = months.bounds(progressed.iter().map(|each| each.id));
        let ids = progressed.iter().map(|each| each.id).collect();
        let values = out::progressed(&progressed, bounds);
        all.add(texts::TASK_RUN_PROGRESS_MANY, values, Wanted::TaskRuns(ids));
    }
    if !batch.stale.is_empty() {
        let ids = Value::ints(batch.stale.iter().map(|id| id.0));
        all.add(texts::TASK_RUN_STALE_MANY, vec![ids], Wanted::Nothing);
    }
    for (task, date, run) in &batch.outdated {
        let values = vec![task.0.into(), date.to_string().into(), run.0.into()];
        all.add(texts::TASK_RUN_OUTDATE, values, Wanted::Nothing);
    }
    for overdue in &batch.overdue {
        let (when, id) = (overdue.when.0, overdue.id.0);
        all.add(texts::TASK_RUN_OVERDUE, vec![when.into(), id.into()], Wanted::Nothing);
        let payload = serde_json::json!({
            "deadline_at": overdue.deadline_at.0,
            "canceled": overdue.canceled,
        });
        // A commit may be tried again that was durable after all: nothing is told twice.
        let values = vec![
            DEADLINE_EVENT.to_owned().into(),
            overdue.run.0.into(),
            id.into(),
            payload.to_string().into(),
            when.into(),
        ];
        all.add(texts::OUTBOX_ONCE, values, Wanted::Nothing);
    }
}

/// Attempts and leases, in the order that `Order` explains.
fn attempts(all: &mut Statements, batch: &Batch, sequence: &mut Sequence, months: &Months) {
    let order = Order::of(batch);
    finish(all, &order.ends_before().collect::<Vec<_>>(), months);
    drop_leases(all, order.releases_before());
    begin(all, &batch.starts, sequence);
    finish(all, &order.ends_after().collect::<Vec<_>>(), months);
    drop_leases(all, order.releases_after());
    if !batch.stops.is_empty() {
        // The last word on each counts.
        let stops: BTreeMap<_, _> = batch.stops.iter().copied().collect();
        let ids = Value::ints(stops.keys().map(|id| id.0));
        let reasons = Value::texts(stops.values().map(|reason| Some(reason.as_str())));
        all.add(texts::LEASE_STOP_MANY, vec![ids, reasons], Wanted::Nothing);
    }
    let mut pools: BTreeMap<&str, i64> = BTreeMap::new();
    for start in &batch.starts {
        if let Some(pool) = start.pool.as_deref().filter(|_| start.slots > 0) {
            *pools.entry(pool).or_insert(0) += i64::from(start.slots);
        }
    }
    for (pool, mine) in pools {
        let values = vec![pool.to_owned().into()];
        all.add(texts::POOL_USE, values, Wanted::Pool(pool.to_owned(), mine));
    }
    for (limit, (mine, most)) in claimed(&batch.starts) {
        let wanted = Wanted::Limit(limit.to_owned(), mine.into(), most.map(i64::from));
        all.add(texts::LIMIT_USE, vec![limit.to_owned().into()], wanted);
    }
}

fn begin(all: &mut Statements, starts: &[AttemptStart], sequence: &mut Sequence) {
    for starts in rounds(starts, |start| start.task_run_id) {
        let wanted =
            || starts.iter().map(|start| (start.task_run_id, start.attempt_no)).collect::<Vec<_>>();
        let values = out::attempts(&starts, sequence.attempt);
        all.add(texts::ATTEMPT_INSERT_MANY, values, Wanted::Attempts(wanted()));
        all.add(texts::LEASE_INSERT_MANY, out::leases(&starts), Wanted::Attempts(wanted()));
        sequence.attempt += i64::try_from(starts.len()).unwrap_or(i64::MAX);
    }
}

fn finish(all: &mut Statements, ends: &[&Ended], months: &Months) {
    for ends in rounds(ends, |ended| ended.end.task_run_id) {
        let bounds = months.bounds(ends.iter().map(|ended| ended.end.task_run_id));
        let wanted = ends.iter().map(|ended| (ended.end.task_run_id, ended.end.attempt_no));
        let wanted = Wanted::Attempts(wanted.collect());
        all.add(texts::ATTEMPT_END_MANY, out::ends(&ends, bounds), wanted);
    }
    let released = ends.iter().filter(|ended| ended.released);
    drop_leases(all, released.map(|ended| ended.end.task_run_id));
}

fn drop_leases(all: &mut Statements, ids: impl Iterator<Item = TaskRunId>) {
    let ids: Vec<i64> = ids.map(|id| id.0).collect();
    if !ids.is_empty() {
        all.add(texts::LEASE_DROP_MANY, vec![Value::ints(ids)], Wanted::Nothing);
    }
}

fn move_runs(all: &mut Statements, batch: &Batch) {
    let created: BTreeMap<RunId, &RunRow> =
        batch.created.iter().map(|run| (run.row.id, &run.row)).collect();
    for moves in rounds(&batch.run_moves, |change| change.run) {
        // A run that this batch made is written as it is at the end; only the flag is new.
        let moved = |change: &&crate::engine::RunMove| match created.get(&change.run) {
            Some(row) => (row.state, row.state, row.finished_at),
            None => (change.from, change.to, change.finished_at),
        };
        let words = moves.iter().map(moved).collect::<Vec<_>>();
        let values = vec![
            Value::ints(moves.iter().map(|change| change.run.0)),
            Value::texts(words.iter().map(|(from, ..)| Some(from.as_str()))),
            Value::texts(words.iter().map(|(_, to, _)| Some(to.as_str()))),
            Value::Ints(words.iter().map(|(.., at)| at.map(|at| at.0)).collect()),
            Value::ints(moves.iter().map(|change| i64::from(change.cancel_requested))),
        ];
        let runs = moves.iter().map(|change| change.run).collect();
        all.add(texts::RUN_MOVE_MANY, values, Wanted::Runs(runs));
    }
}

/// A statement changes a row once: what a batch says of one several times is said in rounds.
pub(super) fn rounds<T, K: Ord>(all: &[T], key: impl Fn(&T) -> K) -> Vec<Vec<&T>> {
    let mut met: BTreeMap<K, usize> = BTreeMap::new();
    let mut rounds: Vec<Vec<&T>> = Vec::new();
    for each in all {
        let times = met.entry(key(each)).or_insert(0);
        match rounds.get_mut(*times) {
            Some(round) => round.push(each),
            None => rounds.push(vec![each]),
        }
        *times += 1;
    }
    rounds
}
