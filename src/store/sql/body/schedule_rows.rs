//! The rows of schedules: what they are, what they fire, and the periods of their lives.

use super::client::{Connection, OptionalExtension, params};

use super::errors::Fault;
use super::read::{KnownSchedule, json};
use super::register_rows::some_json;
use super::rows;
use super::texts;
use crate::model::{BizOffset, Instant, PeriodKind, ScheduleDef, ScheduleId, TimeRule};
use crate::store::definition::{edited, to_json};

/// Finds the id of a task by its name in the dag.
type Named<'a> = &'a dyn Fn(&str) -> Option<i64>;

/// Columns that repeat the definition for people and views.
struct Columns {
    start_date: Option<String>,
    end_date: Option<String>,
    biz_offset: Option<i32>,
    biz_rule: Option<String>,
    definition: String,
}

impl Columns {
    fn of(def: &ScheduleDef) -> Result<Columns, Fault> {
        let (biz_offset, biz_rule) = match def.biz_offset {
            None => (None, None),
            Some(BizOffset::Days(days)) => (Some(days), None),
            Some(rule) => (None, Some(rule.to_string())),
        };
        Ok(Columns {
            start_date: def.rule.start_date.map(|date| date.to_string()),
            end_date: def.rule.end_date.map(|date| date.to_string()),
            biz_offset,
            biz_rule,
            definition: to_json(def)?,
        })
    }
}

fn kind_of(paused: bool) -> PeriodKind {
    if paused { PeriodKind::Paused } else { PeriodKind::Active }
}

/// A new schedule, whose life begins now.
pub(super) fn add(
    conn: &Connection,
    dag: i64,
    def: &ScheduleDef,
    position: u32,
    named: Named<'_>,
    now: Instant,
) -> Result<(), Fault> {
    let columns = Columns::of(def)?;
    let id: i64 = conn.prepare_cached(texts::SCHEDULE_INSERT)?.query_row(
        params![
            dag,
            def.name,
            def.rule.expression,
            def.rule.timezone,
            columns.start_date,
            columns.end_date,
            columns.biz_offset,
            columns.biz_rule,
            def.missed.as_str(),
            def.missed_window_ms,
            columns.definition,
            def.paused,
            position,
            now.0,
        ],
        |row| row.get(0),
    )?;
    bind(conn, (dag, id), def, named, now)?;
    begin(conn, id, now.0, kind_of(def.paused), &to_json(&def.rule)?)
}

/// A schedule that moved, came back or is defined otherwise; its pause and watermark stay.
pub(super) fn edit(
    conn: &Connection,
    dag: i64,
    stored: &KnownSchedule,
    def: &ScheduleDef,
    position: u32,
    named: Named<'_>,
    now: Instant,
) -> Result<(), Fault> {
    let columns = Columns::of(def)?;
    let id = stored.id;
    conn.prepare_cached(texts::SCHEDULE_UPDATE)?.execute(params![
        def.name,
        def.rule.expression,
        def.rule.timezone,
        columns.start_date,
        columns.end_date,
        columns.biz_offset,
        columns.biz_rule,
        def.missed.as_str(),
        def.missed_window_ms,
        columns.definition,
        position,
        stored.removed || edited(&stored.def, def),
        now.0,
        id.0,
    ])?;
    if stored.def.bindings != def.bindings {
        conn.prepare_cached(texts::SCHEDULE_UNBIND)?.execute([id.0])?;
        bind(conn, (dag, id.0), def, named, now)?;
    }
    if stored.removed {
        turn(conn, id, Some(kind_of(stored.def.paused)), Some(&def.rule), now)?;
    } else if stored.def.rule != def.rule {
        turn(conn, id, None, Some(&def.rule), now)?;
    }
    Ok(())
}

fn bind(
    conn: &Connection,
    (dag, schedule): (i64, i64),
    def: &ScheduleDef,
    named: Named<'_>,
    now: Instant,
) -> Result<(), Fault> {
    let mut insert = conn.prepare_cached(texts::SCHEDULE_BIND)?;
    for binding in &def.bindings {
        let params = some_json(&binding.params, binding.params.is_empty())?;
        let (dag, task) = match &binding.task {
            None => (Some(dag), None),
            Some(task) => match named(task) {
                Some(id) => (None, Some(id)),
                None => continue,
            },
        };
        insert.execute(params![schedule, dag, task, params, now.0])?;
    }
    Ok(())
}

/// A schedule leaves.
pub(super) fn remove(conn: &Connection, schedule: ScheduleId, now: Instant) -> Result<(), Fault> {
    conn.prepare_cached(texts::SCHEDULE_REMOVE)?.execute([now.0, schedule.0])?;
    turn(conn, schedule, Some(PeriodKind::Removed), None, now)
}

/// Dags leave with their schedules.
pub(super) fn remove_dags(conn: &Connection, keys: &[String], now: Instant) -> Result<(), Fault> {
    let mut remove_dag = conn.prepare_cached(texts::DAG_REMOVE)?;
    let mut select = conn.prepare_cached(texts::SCHEDULE_OF_REMOVED_DAG)?;
    for key in keys {
        let dag: Option<i64> =
            remove_dag.query_row(params![now.0, key], |row| row.get(0)).optional()?;
        let Some(dag) = dag else { continue };
        let schedules: Vec<i64> =
            select.query_map([dag], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for schedule in schedules {
            remove(conn, ScheduleId(schedule), now)?;
        }
    }
    Ok(())
}

fn begin(
    conn: &Connection,
    schedule: i64,
    from: i64,
    kind: PeriodKind,
    rule: &str,
) -> Result<(), Fault> {
    let mut insert = conn.prepare_cached(texts::PERIOD_INSERT)?;
    insert.execute(params![schedule, from, kind.as_str(), rule])?;
    Ok(())
}

/// From `at` on a schedule is of another kind, or of another rule. A period that began at this
/// instant had no fire yet: it becomes the new one. So does one that began later, which is what a
/// clock that was set back looks like.
pub(super) fn turn(
    conn: &Connection,
    schedule: ScheduleId,
    kind: Option<PeriodKind>,
    rule: Option<&TimeRule>,
    at: Instant,
) -> Result<(), Fault> {
    let open = conn
        .prepare_cached(texts::PERIOD_OPEN)?
        .query_row([schedule.0], |row| {
            let id: i64 = row.get(0)?;
            let from: i64 = row.get(1)?;
            let covered: (Option<i64>, Option<i64>) = (row.get(4)?, row.get(5)?);
            let covered = covered.0.max(covered.1);
            Ok((id, from, rows::word::<PeriodKind>(row, 2)?, row.get::<_, String>(3)?, covered))
        })
        .optional()?;
    let Some((id, from, old_kind, old_rule, covered)) = open else { return Ok(()) };
    // What is covered already, by a clock that was ahead, stays as it was.
    let at = covered.map_or(at, |covered| at.max(Instant(covered)));
    let kind = kind.unwrap_or(old_kind);
    let same_rule = match rule {
        Some(rule) => json::<TimeRule>(&old_rule)? == *rule,
        None => true,
    };
    if kind == old_kind && same_rule {
        return Ok(());
    }
    let rule = rule.map_or(Ok(old_rule), to_json)?;
    if at.0 <= from {
        let mut replace = conn.prepare_cached(texts::PERIOD_REPLACE)?;
        replace.execute(params![kind.as_str(), rule, id])?;
        return Ok(());
    }
    conn.prepare_cached(texts::PERIOD_CLOSE)?.execute([at.0, id])?;
    begin(conn, schedule.0, at.0, kind, &rule)
}
