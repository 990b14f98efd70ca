//! Which versions runs take: what stands, what was decided, and deciding.

use std::collections::BTreeMap;

use super::client::{self, Connection, OptionalExtension, Row, params};

use super::errors::Fault;
use super::register::edges_of;
use super::texts;
use super::{read, register_rows, rows};
use crate::model::{
    DagId, Date, Instant, Problem, ReleaseAsk, ReleaseKind, ReleaseRow, Share, SpecError,
    TaskVersionId, VersionRow,
};
use crate::store::definition::{self, to_json};
use crate::store::release::{Settled, Standing, combined, explained, given, standing_def};
use crate::store::{Held, RegisteredTask, StoreError};

/// The columns `percent` and `from_biz_date`.
fn share(row: &Row<'_>, at: usize) -> client::Result<Option<Share>> {
    if let Some(percent) = row.get(at)? {
        return Ok(Some(Share::Percent(percent)));
    }
    Ok(rows::word_or_null::<Date>(row, at + 1)?.map(Share::FromBizDate))
}

/// Tasks of a dag whose version somebody chose; those too that are not in it at the moment.
pub(super) fn held(conn: &Connection, dag: i64) -> Result<Vec<Held>, Fault> {
    let mut select = conn.prepare_cached(texts::RELEASE_OPEN)?;
    let open = select.query_map([dag], |row| {
        let versions = [TaskVersionId(row.get(0)?), TaskVersionId(row.get(1)?)];
        Ok((versions, share(row, 2)?))
    })?;
    let open: Vec<_> = open.collect::<Result<_, _>>()?;
    let mut held = Vec::with_capacity(open.len());
    for ([active, other], share) in open {
        let found = read::versions(conn, &[active, other])?;
        // A version that is not there is for `verify` to find.
        let Some(active) = found.get(&active).cloned() else { continue };
        let other = share.and_then(|share| Some((share, found.get(&other)?.clone())));
        held.push(Held { active, other });
    }
    Ok(held)
}

pub(super) fn releases(conn: &Connection, dag: DagId) -> Result<Vec<ReleaseRow>, Fault> {
    let mut select = conn.prepare_cached(texts::RELEASE_OF_DAG)?;
    let found = select.query_map([dag.0], |row| {
        Ok(ReleaseRow {
            id: row.get(0)?,
            task: row.get(1)?,
            version: row.get(2)?,
            share: share(row, 3)?,
            base: row.get(5)?,
            created_by: row.get(6)?,
            created_at: Instant(row.get(7)?),
            ended_by: row.get(8)?,
            ended_at: row.get::<_, Option<i64>>(9)?.map(Instant),
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn versions(conn: &Connection, task: &str) -> Result<Vec<VersionRow>, Fault> {
    let mut select = conn.prepare_cached(texts::VERSION_OF_TASK)?;
    let found = select.query_map([task], |row| {
        Ok(VersionRow {
            version: row.get(0)?,
            created_at: Instant(row.get(1)?),
            kind: row.get(2)?,
            handler: row.get(3)?,
            code_hash: row.get(4)?,
            active: row.get(5)?,
            registered: row.get(6)?,
            source: row.get(7)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn keep_code(conn: &Connection, code: &[(&str, &str)]) -> Result<(), Fault> {
    let mut update = conn.prepare_cached(texts::CODE_KEEP)?;
    for (dag, code) in code {
        update.execute([code, dag])?;
    }
    Ok(())
}

pub(super) fn code(
    conn: &Connection,
    ids: &[TaskVersionId],
) -> Result<BTreeMap<TaskVersionId, String>, Fault> {
    let mut select = conn.prepare_cached(texts::CODE_READ)?;
    let mut found = BTreeMap::new();
    for id in ids {
        if let Some(code) = select.query_row([id.0], |row| row.get(0)).optional()?.flatten() {
            found.insert(*id, code);
        }
    }
    Ok(found)
}

pub(super) fn release(
    conn: &Connection,
    key: &str,
    ask: ReleaseAsk,
    by: Option<&str>,
    now: Instant,
) -> Result<bool, Fault> {
    let found = conn
        .prepare_cached(texts::TASK_STANDING)?
        .query_row([key], |row| {
            let ids: (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok((ids, row.get::<_, u32>(4)?, row.get::<_, u32>(5)?))
        })
        .optional()?;
    let Some(((task, dag), active, registered)) = found else {
        let message = "there is no such task";
        return Err(SpecError::from(Problem::new("unknown_task", key, message)).into());
    };
    let mut numbers: Vec<u32> =
        register_rows::versions(conn, task)?.into_iter().map(|(number, _)| number).collect();
    numbers.sort_unstable();
    let open = releases(conn, DagId(dag))?
        .into_iter()
        .find(|row| row.task == key && row.ended_at.is_none())
        .map(|row| (row.version, row.share));
    let standing = Standing { task: key.to_owned(), versions: numbers, registered, active, open };
    let settled = standing.settle(ask).map_err(SpecError::from)?;
    if standing.is(&settled) {
        return Ok(false);
    }
    let version = version(conn, task, settled.active)?;
    let other = match settled.open {
        Some((number, Some(share))) => Some((share, self::version(conn, task, number)?)),
        _ => None,
    };
    let chosen = Held { active: version.clone(), other };
    check(conn, key, chosen)?;
    write(conn, (task, &version), &settled, by, now)?;
    conn.prepare_cached(texts::DAG_TOUCH)?.execute([now.0, dag])?;
    Ok(true)
}

fn version(conn: &Connection, task: i64, number: u32) -> Result<RegisteredTask, Fault> {
    let id = TaskVersionId(register_rows::version_id(conn, task, number)?);
    let missing = || StoreError::Other(format!("version {number} of task {task} is gone"));
    Ok(read::versions(conn, &[id])?.remove(&id).ok_or_else(missing)?)
}

/// Whether the versions that runs would be made of fit together.
fn check(conn: &Connection, key: &str, chosen: Held) -> Result<(), Fault> {
    let dag = key.split_once('.').map_or("", |(dag, _)| dag);
    let Some(found) = read::dag(conn, dag)? else { return Ok(()) };
    let mut held = found.held.clone();
    held.retain(|each| each.active.task_id != chosen.active.task_id);
    held.push(chosen);
    let standing = standing_def(&found);
    let def = combined(&standing, &held);
    let mut problems = given(&standing, &held);
    problems.extend(definition::check(
        std::slice::from_ref(&def),
        &mut |key| edges_of(conn, key),
        &mut |asset| super::upstreams::producer(conn, asset),
    )?);
    if problems.is_empty() {
        return Ok(());
    }
    let held: Vec<_> = held.into_iter().map(|held| (dag.to_owned(), held)).collect();
    Err(SpecError(explained(problems, &held)).into())
}

fn write(
    conn: &Connection,
    (task, active): (i64, &RegisteredTask),
    settled: &Settled,
    by: Option<&str>,
    now: Instant,
) -> Result<(), Fault> {
    conn.prepare_cached(texts::RELEASE_END)?.execute(params![by, now.0, task])?;
    if let Some((number, share)) = settled.open {
        let version = register_rows::version_id(conn, task, number)?;
        let kind = share.map_or(ReleaseKind::Pin, Share::kind);
        let base = share.map(|_| active.version_id.0);
        let (percent, from) = match share {
            Some(Share::Percent(percent)) => (Some(percent), None),
            Some(Share::FromBizDate(date)) => (None, Some(date.to_string())),
            None => (None, None),
        };
        conn.prepare_cached(texts::RELEASE_INSERT)?.execute(params![
            task,
            kind.as_str(),
            version,
            base,
            percent,
            from,
            by,
            now.0
        ])?;
    }
    let def = &active.def;
    conn.prepare_cached(texts::TASK_RELEASE)?.execute(params![
        active.version_id.0,
        def.kind,
        def.owner,
        to_json(&def.labels)?,
        def.category,
        def.resource,
        def.resource_key,
        now.0,
        task
    ])?;
    Ok(())
}
