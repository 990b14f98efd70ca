//! Questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::client::{
    self, Connection, NO_LIMIT, OptionalExtension, Row, Value, params, params_from_iter,
};

use super::errors::Fault;
use super::texts;
use super::{releases, rows, scopes};
use crate::model::{
    AttemptRow, DagId, RunId, RunState, ScheduleDef, ScheduleId, ScopeId, ScopeLease, State,
    TaskDef, TaskId, TaskRunId, TaskVersionId,
};
use crate::store::definition::UNCHANGED;
use crate::store::{
    AttemptFilter, RegisteredDag, RegisteredTask, RunFilter, RunSummary, StoreError, StoredResult,
    StoredRun, TaskRunView,
};

type Found<T> = Result<T, Fault>;

/// All rows of a text with one parameter.
fn all<T>(
    conn: &Connection,
    text: &str,
    id: i64,
    read: impl FnMut(&Row<'_>) -> client::Result<T>,
) -> client::Result<Vec<T>> {
    conn.prepare_cached(text)?.query_map([id], read)?.collect()
}

pub(super) fn dag_keys(conn: &Connection) -> Found<Vec<String>> {
    let mut select = conn.prepare_cached(texts::DAG_KEYS)?;
    let keys = select.query_map([], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

pub(super) fn dag(conn: &Connection, key: &str) -> Found<Option<RegisteredDag>> {
    let header = conn
        .prepare_cached(texts::DAG_READ)?
        .query_row([key], |row| {
            let removed = row.get::<_, Option<i64>>(3)?.is_some();
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get(2)?, removed))
        })
        .optional()?;
    let Some((id, definition, revision, removed)) = header else { return Ok(None) };
    let mut tasks = Vec::new();
    let mut select = conn.prepare_cached(texts::VERSION_OF_DAG)?;
    let mut found = select.query([id])?;
    while let Some(row) = found.next()? {
        tasks.push(version(row)?);
    }
    let schedules = schedules(conn, id)?
        .into_iter()
        .filter(|schedule| !schedule.removed)
        .map(|schedule| (schedule.id, schedule.def))
        .collect();
    let mut held = releases::held(conn, id)?;
    held.retain(|held| tasks.iter().any(|task| task.task_id == held.active.task_id));
    let def = json(&definition)?;
    Ok(Some(RegisteredDag { id: DagId(id), def, tasks, schedules, held, revision, removed }))
}

pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| {
        StoreError::Unreadable(format!("a stored definition cannot be read: {error}"))
    })
}

fn version(row: &Row<'_>) -> Found<RegisteredTask> {
    let mut def: TaskDef = json(row.get_ref(3)?.as_str().map_err(client::Error::from)?)?;
    def.source = row.get(4)?;
    Ok(RegisteredTask {
        task_id: TaskId(row.get(0)?),
        version_id: TaskVersionId(row.get(1)?),
        version: row.get(2)?,
        def: Arc::new(def),
        enabled: row.get(5)?,
    })
}

pub(super) fn versions(
    conn: &Connection,
    ids: &[TaskVersionId],
) -> Found<BTreeMap<TaskVersionId, RegisteredTask>> {
    let mut select = conn.prepare_cached(texts::VERSION_READ)?;
    let mut found = BTreeMap::new();
    for id in ids {
        if let Some(row) = select.query([id.0])?.next()? {
            found.insert(*id, version(row)?);
        }
    }
    Ok(found)
}

/// A schedule as it stands.
pub(super) struct KnownSchedule {
    pub id: ScheduleId,
    /// Its definition; `paused` is how it stands now.
    pub def: ScheduleDef,
    pub position: u32,
    pub removed: bool,
}

/// The schedules of a dag, removed ones too.
pub(super) fn schedules(conn: &Connection, dag: i64) -> Found<Vec<KnownSchedule>> {
    let mut select = conn.prepare_cached(texts::SCHEDULE_OF_DAG)?;
    let mut found = select.query([dag])?;
    let mut schedules = Vec::new();
    while let Some(row) = found.next()? {
        schedules.push(KnownSchedule {
            id: ScheduleId(row.get(0)?),
            def: schedule_def(row)?,
            position: row.get(3)?,
            removed: row.get::<_, Option<i64>>(4)?.is_some(),
        });
    }
    Ok(schedules)
}

/// The columns `definition` and `paused`, which come second and third.
pub(super) fn schedule_def(row: &Row<'_>) -> Found<ScheduleDef> {
    let mut def: ScheduleDef = json(row.get_ref(1)?.as_str().map_err(client::Error::from)?)?;
    def.paused = row.get(2)?;
    Ok(def)
}

pub(super) fn holder(conn: &Connection, scope: ScopeId) -> client::Result<Option<ScopeLease>> {
    conn.prepare_cached(texts::SCOPE_READ)?.query_row([scope.0], scopes::lease).optional()
}

pub(super) fn stored_run(conn: &Connection, run: RunId) -> Found<Option<StoredRun>> {
    let found = conn.prepare_cached(texts::RUN_READ)?.query_row([run.0], rows::run).optional()?;
    let Some((row, cancel_requested)) = found else { return Ok(None) };
    Ok(Some(StoredRun {
        row,
        cancel_requested,
        task_runs: all(conn, texts::TASK_RUN_OF_RUN, run.0, rows::task_run)?,
        leases: all(conn, texts::LEASE_OF_RUN, run.0, rows::lease)?,
    }))
}

/// The text of a question for runs and its values: only the conditions that there are, so that
/// the planner sees which index serves them.
fn run_list(filter: &RunFilter) -> (String, Vec<Value>) {
    let mut conditions: Vec<String> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        conditions.push(condition.replace('?', &format!("${}", values.len())));
    };
    if let Some(dag) = &filter.dag {
        add("run.dag_id = (SELECT dag.id FROM dag WHERE dag.key = ?)", dag.clone().into());
    }
    if let Some(id) = filter.id {
        add("run.id = ?", id.0.into());
    }
    if let Some(from) = filter.biz_date_from {
        add("run.biz_date >= ?", from.to_string().into());
    }
    if let Some(to) = filter.biz_date_to {
        add("run.biz_date <= ?", to.to_string().into());
    }
    if !filter.states.is_empty() {
        // One placeholder a state: there are as many as the enum has.
        let first = values.len() + 1;
        values
            .extend(filter.states.iter().map(|state: &RunState| state.as_str().to_owned().into()));
        let places: Vec<String> = (first..=values.len()).map(|at| format!("${at}")).collect();
        conditions.push(format!("run.state IN ({})", places.join(", ")));
    }
    if conditions.is_empty() {
        conditions.push("1 = 1".into());
    }
    let limit = filter.limit.map_or(NO_LIMIT.to_owned(), |limit| limit.to_string());
    let text = texts::RUN_LIST
        .replace("{{conditions}}", &conditions.join(" AND "))
        .replace("{{limit}}", &limit);
    (text, values)
}

pub(super) fn runs(conn: &Connection, filter: &RunFilter) -> Found<Vec<RunSummary>> {
    let (text, values) = run_list(filter);
    let mut select = conn.prepare(&text)?;
    let rows: Vec<_> =
        select.query_map(params_from_iter(values), rows::run)?.collect::<Result<_, _>>()?;
    let mut count = conn.prepare_cached(texts::TASK_RUN_COUNTS)?;
    let mut node = conn.prepare_cached(texts::NODE_OF_SCOPE)?;
    let mut summaries = Vec::with_capacity(rows.len());
    for (row, _) in rows {
        let mut counts: Vec<(State, u32)> = count
            .query_map([row.id.0], |row| Ok((rows::word(row, 0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        counts.sort_unstable();
        let node = node.query_row([row.scope_id.0], rows::node).optional()?;
        summaries.push(RunSummary { row, counts, node });
    }
    Ok(summaries)
}

pub(super) fn task_runs(conn: &Connection, run: RunId) -> Found<Vec<TaskRunView>> {
    Ok(all(conn, texts::TASK_RUN_VIEW, run.0, |row| {
        Ok(TaskRunView {
            row: rows::task_run(row)?,
            task: row.get(rows::TASK_RUN_COLUMNS)?,
            version: row.get(rows::TASK_RUN_COLUMNS + 1)?,
            kind: row.get(rows::TASK_RUN_COLUMNS + 2)?,
        })
    })?)
}

pub(super) fn attempts(conn: &Connection, filter: &AttemptFilter) -> Found<Vec<AttemptRow>> {
    let (text, id) = match filter {
        AttemptFilter::TaskRun(id) => (texts::ATTEMPT_OF_TASK_RUN, id.0),
        AttemptFilter::Run(id) => (texts::ATTEMPT_OF_RUN, id.0),
    };
    Ok(all(conn, text, id, rows::attempt)?)
}

pub(super) fn journal(conn: &Connection, run: RunId) -> Found<Vec<Vec<u8>>> {
    Ok(all(conn, texts::JOURNAL_OF_RUN, run.0, |row| row.get(0))?)
}

pub(super) fn pools(conn: &Connection) -> Found<BTreeMap<String, (u32, u32)>> {
    let mut select = conn.prepare_cached(texts::POOL_LIST)?;
    let pools = select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(pools.collect::<Result<_, _>>()?)
}

pub(super) fn ageing(conn: &Connection) -> Found<BTreeMap<String, i64>> {
    let mut select = conn.prepare_cached(texts::POOL_AGEING)?;
    let pools = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(pools.collect::<Result<_, _>>()?)
}

pub(super) fn limits(conn: &Connection) -> Found<BTreeMap<String, (u32, u32)>> {
    let mut select = conn.prepare_cached(texts::LIMIT_LIST)?;
    let limits = select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(limits.collect::<Result<_, _>>()?)
}

pub(super) fn result(conn: &Connection, task_run: TaskRunId) -> Found<Option<StoredResult>> {
    let result = conn
        .prepare_cached(texts::TASK_RUN_RESULT)?
        .query_row(params![UNCHANGED, State::Success.as_str(), task_run.0], |row| {
            let text = row.get_ref(0)?.as_str_or_null()?.map(Arc::from);
            Ok(StoredResult::of(text, row.get(1)?))
        })
        .optional()?;
    Ok(result.flatten())
}
