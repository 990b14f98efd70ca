//! The rows of a registration, one function a row.

use super::client::{Connection, params};
use serde::Serialize;

use super::errors::Fault;
use super::texts;
use super::upstreams;
use crate::model::{DagDef, Dependency, Instant, TaskDef};
use crate::store::StoreError;
use crate::store::definition::{Content, full_key, to_json};

/// JSON text of what is not empty.
pub(super) fn some_json<T: Serialize>(
    value: &T,
    empty: bool,
) -> Result<Option<String>, StoreError> {
    if empty { Ok(None) } else { to_json(value).map(Some) }
}

pub(super) fn dag(
    conn: &Connection,
    id: Option<i64>,
    dag: &DagDef,
    header: &str,
    now: Instant,
) -> Result<i64, Fault> {
    let labels = to_json(&dag.labels)?;
    if let Some(id) = id {
        conn.prepare_cached(texts::DAG_UPDATE)?.execute(params![
            dag.title,
            dag.doc,
            dag.owner,
            labels,
            dag.timezone,
            dag.max_active_runs,
            dag.source_file,
            header,
            now.0,
            id
        ])?;
        return Ok(id);
    }
    let id = conn.prepare_cached(texts::DAG_INSERT)?.query_row(
        params![
            dag.key,
            dag.title,
            dag.doc,
            dag.owner,
            labels,
            dag.timezone,
            dag.max_active_runs,
            dag.source_file,
            header,
            now.0
        ],
        |row| row.get(0),
    )?;
    Ok(id)
}

/// A task without a version yet.
pub(super) fn task(
    conn: &Connection,
    dag_id: i64,
    dag: &str,
    def: &TaskDef,
    now: Instant,
) -> Result<i64, Fault> {
    let key = full_key(dag, &def.name);
    let id = conn
        .prepare_cached(texts::TASK_INSERT)?
        .query_row(params![dag_id, key, def.name, def.kind, now.0], |row| row.get(0))?;
    Ok(id)
}

/// Makes a version the active one, which is what its dag file says.
pub(super) fn activate(
    conn: &Connection,
    (task, version): (i64, i64),
    def: &TaskDef,
    position: u32,
    now: Instant,
) -> Result<(), Fault> {
    conn.prepare_cached(texts::TASK_ACTIVATE)?.execute(params![
        version,
        def.kind,
        def.owner,
        to_json(&def.labels)?,
        def.category,
        def.resource,
        def.resource_key,
        position,
        def.source,
        now.0,
        task
    ])?;
    upstreams::produces(conn, task, def)
}

/// A version is what its dag file says, and does not become active.
pub(super) fn registered(
    conn: &Connection,
    (task, version): (i64, i64),
    def: &TaskDef,
    position: u32,
    now: Instant,
) -> Result<(), Fault> {
    let values = params![version, position, def.source, now.0, task];
    conn.prepare_cached(texts::TASK_REGISTER)?.execute(values)?;
    Ok(())
}

/// Numbers and hashes of the versions of a task.
pub(super) fn versions(conn: &Connection, task: i64) -> Result<Vec<(u32, [u8; 16])>, Fault> {
    let mut select = conn.prepare_cached(texts::VERSION_LIST)?;
    let versions = select.query_map([task], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(versions.collect::<Result<_, _>>()?)
}

pub(super) fn version_id(conn: &Connection, task: i64, version: u32) -> Result<i64, Fault> {
    let mut select = conn.prepare_cached(texts::VERSION_ID)?;
    Ok(select.query_row(params![task, version], |row| row.get(0))?)
}

/// A new version with its edges.
pub(super) fn version(
    conn: &Connection,
    task: i64,
    number: u32,
    def: &TaskDef,
    content: &Content,
    now: Instant,
) -> Result<i64, Fault> {
    let policy = &def.policy;
    let id = conn.prepare_cached(texts::VERSION_INSERT)?.query_row(
        params![
            task,
            number,
            content.hash,
            content.json,
            def.kind,
            def.handler,
            some_json(&def.config, def.config.is_empty())?,
            some_json(&def.params, def.params.is_empty())?,
            some_json(&def.param_schema, def.param_schema.is_empty())?,
            policy.max_attempts,
            policy.max_losses,
            policy.retry_interval_ms,
            policy.retry_backoff.as_str(),
            policy.retry_cap_ms,
            policy.retry_on.as_ref().map(to_json).transpose()?,
            policy.timeout_ms,
            policy.grace_ms,
            policy.idempotent,
            policy.dedup_key,
            policy.priority,
            policy.preemptible,
            policy.pool,
            def.slots(),
            def.resource,
            def.resource_key,
            some_json(&def.ext, def.ext.is_empty())?,
            def.code_hash,
            policy.not_before.map(|time| time.to_string()),
            policy.run_on.as_ref().map(to_json).transpose()?,
            now.0,
            policy.deadline.map(|deadline| deadline.to_string()),
            policy.max_active,
        ],
        |row| row.get(0),
    )?;
    for edge in &def.dependencies {
        dependency(conn, (task, id), edge, now)?;
    }
    Ok(id)
}

fn dependency(
    conn: &Connection,
    (task, version): (i64, i64),
    edge: &Dependency,
    now: Instant,
) -> Result<(), Fault> {
    let upstream: i64 = match edge.asset() {
        // An asset is no task; whoever makes it ready may change.
        Some(_) => 0,
        None => {
            conn.prepare_cached(texts::TASK_ID)?.query_row([&edge.upstream], |row| row.get(0))?
        }
    };
    conn.prepare_cached(texts::DEPENDENCY_INSERT)?.execute(params![
        version,
        task,
        upstream,
        edge.kind.as_str(),
        edge.offset_from,
        edge.offset_to,
        edge.offset_unit.as_str(),
        edge.which.as_str(),
        edge.pattern,
        edge.pattern.as_ref().map(|_| edge.match_on.as_str()),
        edge.on_skip.map(|word| word.as_str()),
        edge.wait_up_to_ms,
        edge.asset(),
        now.0,
    ])?;
    Ok(())
}
