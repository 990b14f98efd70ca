//! Hands what is stored to `verify`, and asks what concerns several runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::client::{self, Connection};

use super::errors::Fault;
use super::{backfills, read, texts};
use crate::model::{Instant, RunId, ScheduleId, TaskVersionId};
use crate::store::verify::{
    Findings, RunFacts, ScheduleFacts, check_backfills, check_run, check_schedules,
};
use crate::store::{AttemptFilter, RegisteredTask, Violation};

pub(super) fn verify(conn: &Connection) -> Result<Vec<Violation>, Fault> {
    let mut findings = Findings::default();
    client::whole(conn, &mut findings)?;
    several_runs(conn, &mut findings)?;
    schedules(conn, &mut findings)?;
    let (all, made) = backfills::all(conn)?;
    check_backfills(&all, &made, &mut findings);
    let mut known: BTreeMap<TaskVersionId, Arc<RegisteredTask>> = BTreeMap::new();
    let mut select = conn.prepare_cached(texts::VERIFY_RUNS)?;
    let ids: Vec<i64> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in ids.into_iter().map(RunId) {
        // A run without a dag is not read; it was found as an orphan.
        let Some(run) = read::stored_run(conn, id)? else { continue };
        let missing: Vec<TaskVersionId> = run
            .task_runs
            .iter()
            .map(|row| row.task_version_id)
            .filter(|version| !known.contains_key(version))
            .collect();
        for (id, version) in read::versions(conn, &missing)? {
            known.insert(id, Arc::new(version));
        }
        let facts = RunFacts {
            run: &run,
            attempts: &read::attempts(conn, &AttemptFilter::Run(id))?,
            journal: &read::journal(conn, id)?,
            versions: &known,
        };
        check_run(&facts, &mut findings);
    }
    Ok(findings.into_violations())
}

fn several_runs(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut select = conn.prepare_cached(texts::VERIFY_TIMED)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (dag, at, count): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        findings.note("U1", format!("dag {dag} has {count} timed runs for {}", Instant(at)));
    }
    let mut select = conn.prepare_cached(texts::VERIFY_POOLS)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (pool, used, slots): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        findings.note("O2", format!("pool {pool}: {used} of {slots} slots"));
    }
    let mut select = conn.prepare_cached(texts::VERIFY_LIMITS)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (limit, used, slots): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        findings.note("O3", format!("limit {limit}: {used} of {slots} slots"));
    }
    let mut select = conn.prepare_cached(texts::VERIFY_ORPHANS)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        findings.note("S2", row.get::<_, String>(0)?);
    }
    let mut select = conn.prepare_cached(texts::VERIFY_RELEASES)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        findings.note("S3", row.get::<_, String>(0)?);
    }
    Ok(())
}

fn schedules(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut known: BTreeMap<ScheduleId, ScheduleFacts> = BTreeMap::new();
    let mut select = conn.prepare_cached(texts::VERIFY_SCHEDULES)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let watermark = row.get::<_, Option<i64>>(1)?.map(Instant);
        known.insert(ScheduleId(row.get(0)?), ScheduleFacts { watermark, ..Default::default() });
    }
    let mut select = conn.prepare_cached(texts::VERIFY_PERIODS)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let period = (Instant(row.get(1)?), row.get::<_, Option<i64>>(2)?.map(Instant));
        // One without a schedule was found as an orphan.
        if let Some(facts) = known.get_mut(&ScheduleId(row.get(0)?)) {
            facts.periods.push(period);
        }
    }
    let mut select = conn.prepare_cached(texts::VERIFY_SKIPS)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(facts) = known.get_mut(&ScheduleId(row.get(0)?)) {
            facts.skips.push((Instant(row.get(1)?), Instant(row.get(2)?)));
        }
    }
    let mut select = conn.prepare_cached(texts::VERIFY_FIRED)?;
    let fired: Vec<(ScheduleId, Instant, RunId)> = select
        .query_map([], |row| {
            Ok((ScheduleId(row.get(0)?), Instant(row.get(1)?), RunId(row.get(2)?)))
        })?
        .collect::<Result<_, _>>()?;
    check_schedules(&known, fired, findings);
    Ok(())
}
