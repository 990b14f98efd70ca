//! What edges look at in other runs: tasks with the lives of their schedules, runs, and assets.

use super::client::{self, Connection, OptionalExtension, Row, params};

use super::errors::Fault;
use super::read::{self, json};
use super::texts;
use super::{rows, schedules};
use crate::model::{
    DagDef, Date, EdgeKind, Instant, RunId, RunRow, ScheduleId, ScopeId, State, TaskDef, TaskId,
    TaskRunId,
};
use crate::store::definition::{
    NOT_SELECTED, PROBE, UNCHANGED, fires, unknown_asset, unknown_task,
};
use crate::store::{DependentEdge, EndsAsked, RunsAt, UpstreamRun, UpstreamTask};

pub(super) fn upstream(conn: &Connection, key: &str) -> Result<Option<UpstreamTask>, Fault> {
    let mut select = conn.prepare_cached(texts::UPSTREAM_TASK)?;
    let mut found = select.query([key])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let (task, dag): (i64, i64) = (row.get(0)?, row.get(1)?);
    let name: String = row.get(2)?;
    let since = Instant(row.get(3)?);
    let is_removed = |at: usize| Ok::<_, Fault>(row.get::<_, Option<i64>>(at)?.is_some());
    let removed = is_removed(4)? || is_removed(5)?;
    let def: DagDef = json(row.get_ref(6)?.as_str().map_err(client::Error::from)?)?;
    let known = read::schedules(conn, dag)?;
    let standing: Vec<_> = known.iter().map(|each| (&each.def, each.removed)).collect();
    let mut lives = Vec::new();
    for (nth, _) in fires(&standing, &name) {
        if let Some(schedule) = known.get(nth) {
            lives.push((schedule.def.clone(), periods(conn, schedule.id)?));
        }
    }
    let mut assets = conn.prepare_cached(texts::ASSET_OF_TASK)?;
    let produces = assets.query_map([task], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Some(UpstreamTask {
        task: TaskId(task),
        timezone: def.timezone,
        biz_offset: def.biz_offset,
        schedules: lives,
        since,
        removed,
        is_probe: row.get_ref(7)?.as_str().map_err(client::Error::from)? == PROBE,
        produces,
    }))
}

fn periods(conn: &Connection, id: ScheduleId) -> Result<Vec<crate::model::Period>, Fault> {
    schedules::read_periods(conn.prepare_cached(texts::LIFE_PERIODS)?.query([id.0])?)
}

pub(super) fn producer(conn: &Connection, asset: &str) -> Result<Option<String>, Fault> {
    let mut select = conn.prepare_cached(texts::ASSET_PRODUCER)?;
    Ok(select.query_row([asset], |row| row.get(0)).optional()?)
}

pub(super) fn runs(
    conn: &Connection,
    task: TaskId,
    at: &RunsAt,
) -> Result<Vec<UpstreamRun>, Fault> {
    let mut runs: Vec<UpstreamRun> = Vec::new();
    let mut add = |mut found: UpstreamRun| match runs.last_mut() {
        // The last row of an instant is of the newest run.
        Some(last) if last.nominal_at == found.nominal_at => {
            let before = std::mem::replace(last, found.clone());
            if found.code.as_deref() == Some(UNCHANGED) {
                found.keep(before);
                *last = found;
            }
        }
        _ => runs.push(found),
    };
    match at {
        RunsAt::Date(date) => {
            let mut select = conn.prepare_cached(texts::UPSTREAM_OF_DATE)?;
            let rows = select.query_map(params![task.0, date.to_string(), NOT_SELECTED], run)?;
            rows.into_iter().try_for_each(|row| row.map(&mut add))?;
        }
        RunsAt::Fires(fires) => {
            let mut select = conn.prepare_cached(texts::UPSTREAM_OF_FIRE)?;
            for at in fires {
                let rows = select.query_map(params![task.0, at.0, NOT_SELECTED], run)?;
                rows.into_iter().try_for_each(|row| row.map(&mut add))?;
            }
        }
    }
    Ok(runs)
}

pub(super) fn ends(
    conn: &Connection,
    asked: &EndsAsked,
) -> Result<Vec<(RunRow, UpstreamRun)>, Fault> {
    let (task, since, dag) = (asked.task.0, asked.since.0, asked.follower.0);
    let found: Vec<UpstreamRun> = match asked.after {
        None => conn
            .prepare_cached(texts::UPSTREAM_ENDS)?
            .query_map(params![task, since, dag, NOT_SELECTED], run)?
            .collect::<Result<_, _>>()?,
        Some(after) => conn
            .prepare_cached(texts::UPSTREAM_ENDS_AFTER)?
            .query_map(params![task, since, dag, NOT_SELECTED, after], run)?
            .collect::<Result<_, _>>()?,
    };
    let mut select = conn.prepare_cached(texts::RUN_READ)?;
    let with_row = |found: UpstreamRun| {
        let (row, _) = select.query_row([found.run.0], rows::run)?;
        if found.code.as_deref() != Some(UNCHANGED) {
            return Ok((row, found));
        }
        // Its output is that of the success before.
        let kept = runs(conn, asked.task, &RunsAt::Fires(vec![found.nominal_at]))?;
        Ok((row, kept.into_iter().next().unwrap_or(found)))
    };
    found.into_iter().map(with_row).collect()
}

pub(super) fn journal_head(conn: &Connection) -> Result<i64, Fault> {
    Ok(conn.prepare_cached(texts::JOURNAL_HEAD)?.query_row([], |row| row.get(0))?)
}

pub(super) fn so_since(
    conn: &Connection,
    task: TaskId,
    is_so: &dyn Fn(&TaskDef) -> bool,
) -> Result<Option<Instant>, Fault> {
    let mut select = conn.prepare_cached(texts::VERSION_WALK)?;
    let mut versions = select.query([task.0])?;
    let mut since = None;
    while let Some(version) = versions.next()? {
        let def: TaskDef = json(version.get_ref(1)?.as_str().map_err(client::Error::from)?)?;
        if !is_so(&def) {
            break;
        }
        since = Some(Instant(version.get(0)?));
    }
    Ok(since)
}

fn run(row: &Row<'_>) -> client::Result<UpstreamRun> {
    let (run, task_run) = (RunId(row.get(0)?), TaskRunId(row.get(1)?));
    Ok(UpstreamRun {
        run,
        task_run,
        nominal_at: Instant(row.get(2)?),
        state: rows::word(row, 3)?,
        code: row.get(4)?,
        blocked_by: row.get::<_, Option<i64>>(5)?.map(TaskRunId),
        result: row.get_ref(6)?.as_str_or_null()?.map(std::sync::Arc::from),
        result_uri: row.get(7)?,
        attempt_no: row.get(8)?,
        unchanged: row.get(9)?,
        output: (run, task_run),
    })
}

pub(super) fn dependents(conn: &Connection, task: TaskId) -> Result<Vec<DependentEdge>, Fault> {
    let mut select = conn.prepare_cached(texts::DEPENDENT_EDGES)?;
    let edges = select.query_map(params![task.0, EdgeKind::Weak.as_str()], |row| {
        Ok(DependentEdge {
            task: TaskId(row.get(0)?),
            from: row.get(1)?,
            to: row.get(2)?,
            unit: rows::word(row, 3)?,
        })
    })?;
    Ok(edges.collect::<Result<_, _>>()?)
}

/// What a task makes ready, as it is registered now.
pub(super) fn produces(conn: &Connection, task: i64, def: &TaskDef) -> Result<(), Fault> {
    conn.prepare_cached(texts::ASSET_CLEAR)?.execute([task])?;
    let mut insert = conn.prepare_cached(texts::ASSET_INSERT)?;
    for asset in &def.produces {
        insert.execute(params![task, asset])?;
    }
    Ok(())
}

pub(super) fn is_declared(conn: &Connection, asset: &str, date: Date) -> Result<bool, Fault> {
    let mut select = conn.prepare_cached(texts::ASSET_DECLARED)?;
    Ok(select.exists(params![asset, date.to_string()])?)
}

pub(super) fn declare(
    conn: &Connection,
    asset: &str,
    date: Date,
    by: Option<&str>,
    now: Instant,
) -> Result<bool, Fault> {
    let known: Vec<String> = {
        let mut select = conn.prepare_cached(texts::ASSET_KNOWN)?;
        select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    if !known.iter().any(|name| name == asset) {
        return Err(unknown_asset(asset, &known).into());
    }
    if is_declared(conn, asset, date)? {
        return Ok(false);
    }
    let values = params![asset, date.to_string(), now.0, by];
    conn.prepare_cached(texts::ASSET_DECLARE)?.execute(values)?;
    Ok(true)
}

pub(super) fn enable(
    conn: &Connection,
    task: &str,
    enabled: bool,
    by: Option<&str>,
    now: Instant,
) -> Result<bool, Fault> {
    let found: Option<(i64, i64)> = conn
        .prepare_cached(texts::TASK_FIND)?
        .query_row([task], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, dag)) = found else { return Err(unknown_task(task).into()) };
    let values = params![enabled, by, now.0, id];
    let changed = conn.prepare_cached(texts::TASK_ENABLE)?.execute(values)? == 1;
    if changed {
        conn.prepare_cached(texts::DAG_TOUCH)?.execute([now.0, dag])?;
    }
    Ok(changed)
}

pub(super) fn blocked_runs(conn: &Connection, scope: ScopeId) -> Result<Vec<RunId>, Fault> {
    let mut select = conn.prepare_cached(texts::RUN_BLOCKED)?;
    let ids = select
        .query_map(params![State::Blocked.as_str(), scope.0], |row| Ok(RunId(row.get(0)?)))?;
    Ok(ids.collect::<Result<_, _>>()?)
}
