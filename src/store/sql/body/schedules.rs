//! Schedules as whoever fires them needs them, and what a batch writes of them.

use std::collections::BTreeMap;

use super::client::{self, Connection, OptionalExtension, Row, Rows, params};

use super::commit::conflict;
use super::errors::Fault;
use super::read::{json, schedule_def};
use super::rows;
use super::schedule_rows::turn;
use super::texts;
use crate::model::{
    DagId, Instant, Period, PeriodKind, RunId, ScheduleDef, ScheduleId, Skip, SkipReason, Target,
    TaskId, TimeRule,
};
use crate::store::{Batch, Changed, NewSkip, Pause, ScheduleLife, StoredSchedule, Watermark};

pub(super) fn schedules(conn: &Connection, dag: DagId) -> Result<Vec<StoredSchedule>, Fault> {
    let mut select = conn.prepare_cached(texts::SCHEDULE_FIRING)?;
    let mut found = select.query([dag.0])?;
    let mut firing = Vec::new();
    while let Some(row) = found.next()? {
        let (id, watermark) = (ScheduleId(row.get(0)?), Instant(row.get(3)?));
        firing.push(StoredSchedule {
            id,
            dag,
            def: schedule_def(row)?,
            bindings: Vec::new(),
            watermark,
            changed_at: Instant(row.get(4)?),
            periods: periods(conn, id, watermark)?,
            ahead: ahead(conn, id, watermark)?,
            last_skip: conn
                .prepare_cached(texts::SKIP_AT)?
                .query_row([id.0, watermark.0], |row| rows::word(row, 0))
                .optional()?,
        });
    }
    // Most dags fire as a whole: then no task is looked for.
    let fires_tasks =
        firing.iter().flat_map(|each| &each.def.bindings).any(|bound| bound.task.is_some());
    let tasks = if fires_tasks { tasks(conn, dag)? } else { BTreeMap::new() };
    for schedule in &mut firing {
        schedule.bindings = bindings(dag, &schedule.def, &tasks);
    }
    Ok(firing)
}

fn tasks(conn: &Connection, dag: DagId) -> Result<BTreeMap<String, TaskId>, Fault> {
    let mut select = conn.prepare_cached(texts::TASK_NAME)?;
    let tasks = select.query_map([dag.0], |row| Ok((row.get(0)?, TaskId(row.get(1)?))))?;
    Ok(tasks.collect::<Result<_, _>>()?)
}

fn bindings(
    dag: DagId,
    def: &ScheduleDef,
    tasks: &BTreeMap<String, TaskId>,
) -> Vec<(Target, BTreeMap<String, serde_json::Value>)> {
    let target = |task: &Option<String>| match task {
        None => Some(Target { dag, task: None }),
        Some(name) => tasks.get(name).map(|id| Target { dag, task: Some(*id) }),
    };
    let bound = def.bindings.iter();
    bound.filter_map(|each| Some((target(&each.task)?, each.params.clone()))).collect()
}

fn periods(conn: &Connection, id: ScheduleId, after: Instant) -> Result<Vec<Period>, Fault> {
    let mut select = conn.prepare_cached(texts::PERIOD_AHEAD)?;
    read_periods(select.query([id.0, after.0])?)
}

pub(super) fn read_periods(mut found: Rows<'_>) -> Result<Vec<Period>, Fault> {
    let mut periods = Vec::new();
    while let Some(row) = found.next()? {
        periods.push(Period {
            from: Instant(row.get(0)?),
            until: row.get::<_, Option<i64>>(1)?.map(Instant),
            kind: rows::word(row, 2)?,
            rule: json::<TimeRule>(row.get_ref(3)?.as_str().map_err(client::Error::from)?)?,
        });
    }
    Ok(periods)
}

fn ahead(
    conn: &Connection,
    id: ScheduleId,
    after: Instant,
) -> client::Result<Vec<(Instant, Instant)>> {
    let mut select = conn.prepare_cached(texts::SKIP_AHEAD)?;
    let found = select
        .query_map([id.0, after.0], |row| Ok((Instant(row.get(0)?), Instant(row.get(1)?))))?;
    found.collect()
}

pub(super) fn skips(conn: &Connection, dag: DagId, limit: u32) -> Result<Vec<Skip>, Fault> {
    let mut select = conn.prepare_cached(texts::SKIP_OF_DAG)?;
    Ok(select.query_map(params![dag.0, limit], read_skip)?.collect::<Result<_, _>>()?)
}

fn read_skip(row: &Row<'_>) -> client::Result<Skip> {
    Ok(Skip {
        schedule: ScheduleId(row.get(0)?),
        from: Instant(row.get(1)?),
        to: Instant(row.get(2)?),
        count: row.get(3)?,
        reason: rows::word(row, 4)?,
    })
}

pub(super) fn life(
    conn: &Connection,
    after: Option<ScheduleId>,
    limit: u32,
) -> Result<Option<ScheduleLife>, Fault> {
    let next = conn
        .prepare_cached(texts::LIFE_NEXT)?
        .query_row([after.map_or(i64::MIN, |id| id.0)], |row| {
            let (dag, name): (String, String) = (row.get(1)?, row.get(2)?);
            // A row that was never filled is a finding of its own.
            let watermark = row.get::<_, Option<i64>>(3)?.unwrap_or(i64::MIN);
            Ok((ScheduleId(row.get(0)?), format!("{dag}.{name}"), Instant(watermark)))
        })
        .optional()?;
    let Some((id, key, watermark)) = next else { return Ok(None) };
    let mut fired = conn.prepare_cached(texts::LIFE_FIRED)?;
    let fired = fired
        .query_map(params![id.0, limit], |row| Ok((Instant(row.get(0)?), RunId(row.get(1)?))))?;
    let mut skips = conn.prepare_cached(texts::LIFE_SKIPS)?;
    let skips = skips.query_map(params![id.0, limit], read_skip)?;
    Ok(Some(ScheduleLife {
        id,
        key,
        watermark,
        periods: read_periods(conn.prepare_cached(texts::LIFE_PERIODS)?.query([id.0])?)?,
        skips: skips.collect::<Result<_, _>>()?,
        fired: fired.collect::<Result<_, _>>()?,
    }))
}

/// What a batch says of schedules. Most batches say nothing, and pay nothing.
pub(super) fn commit(conn: &Connection, batch: &Batch) -> Result<(), Fault> {
    for watermark in &batch.watermarks {
        advance(conn, *watermark)?;
    }
    for skip in &batch.skips {
        note(conn, skip, batch.now)?;
    }
    link(conn, batch.links.iter().copied())?;
    for change in &batch.pauses {
        pause(conn, *change)?;
    }
    Ok(())
}

fn advance(conn: &Connection, watermark: Watermark) -> Result<(), Fault> {
    let Watermark { schedule, from, to, changed_at } = watermark;
    let mut update = conn.prepare_cached(texts::SCHEDULE_WATERMARK)?;
    if to <= from || update.execute([to.0, schedule.0, from.0, changed_at.0])? != 1 {
        return Err(conflict(Changed::Schedule(schedule)));
    }
    Ok(())
}

fn note(conn: &Connection, NewSkip { skip, joins }: &NewSkip, now: Instant) -> Result<(), Fault> {
    if *joins {
        let before: Option<(i64, SkipReason)> = conn
            .prepare_cached(texts::SKIP_BEFORE)?
            .query_row([skip.schedule.0, skip.from.0], |row| Ok((row.get(0)?, rows::word(row, 1)?)))
            .optional()?;
        // Whatever lies between is not made part of it.
        if let Some((id, _)) = before.filter(|(_, reason)| *reason == skip.reason) {
            conn.prepare_cached(texts::SKIP_EXTEND)?.execute([skip.to.0, skip.count, id])?;
            return Ok(());
        }
    }
    conn.prepare_cached(texts::SKIP_INSERT)?.execute(params![
        skip.schedule.0,
        skip.from.0,
        skip.to.0,
        skip.count,
        skip.reason.as_str(),
        now.0,
    ])?;
    Ok(())
}

/// Notes which schedules a run comes from.
pub(super) fn link(
    conn: &Connection,
    links: impl Iterator<Item = (RunId, ScheduleId)>,
) -> Result<(), Fault> {
    for (run, schedule) in links {
        conn.prepare_cached(texts::RUN_SCHEDULE_INSERT)?.execute([run.0, schedule.0])?;
    }
    Ok(())
}

fn pause(conn: &Connection, change: Pause) -> Result<(), Fault> {
    let Pause { schedule, paused, at } = change;
    let standing: Option<(i64, bool)> = conn
        .prepare_cached(texts::SCHEDULE_STANDING)?
        .query_row([schedule.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((dag, stands)) = standing else {
        return Err(conflict(Changed::Schedule(schedule)));
    };
    if stands == paused {
        return Ok(());
    }
    conn.prepare_cached(texts::SCHEDULE_PAUSE)?.execute(params![paused, at.0, schedule.0])?;
    conn.prepare_cached(texts::DAG_TOUCH)?.execute([at.0, dag])?;
    let kind = if paused { PeriodKind::Paused } else { PeriodKind::Active };
    turn(conn, schedule, Some(kind), None, at)
}
