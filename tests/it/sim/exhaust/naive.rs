//! A naive reading of the rules of edges: it looks at all rows, each time anew.

use std::collections::BTreeMap;

use mainspring::engine::{
    Absence, Across, CellAt, CellKey, Decision, Found, Known, Standing, TaskRunRef, Verdict,
    edge_verdict,
};
use mainspring::model::{
    Date, EdgeKind, Instant, OffsetUnit, RunId, State, TaskRunId, TaskRunRow, Which,
};

use super::acts::Small;
use super::node::Node;
use crate::sim::rows::{MemoryRows, Stored};

const DAY: i64 = 86_400_000_000;

/// When every dag of such a world fires for a day.
pub fn fire(date: Date) -> Instant {
    Instant(i64::from(date.0) * DAY)
}

/// The newest run of a task for a date.
fn newest<'r>(rows: &'r MemoryRows, key: &str, date: Date) -> Option<(RunId, &'r TaskRunRow)> {
    let mut found = None;
    for stored in rows.runs.values().filter(|stored| stored.row.biz_date == date) {
        let index = stored.plan.names.iter().position(|names| &*names[0] == key);
        if let Some(index) = index {
            let id = stored.row.first_task_run_id.offset(index as u32);
            found = Some((stored.row.id, &stored.task_runs[&id]));
        }
    }
    found
}

/// What is in a cell, by the rows.
pub fn known(small: &Small, rows: &MemoryRows, key: &CellKey) -> Known {
    let CellAt::Date(date) = key.at else { panic!("{key:?}") };
    if small.first.is_some_and(|first| date < first) {
        return Known { absence: Absence::BeforeFirst, ..Known::default() };
    }
    let found = newest(rows, &key.upstream, date).map(|(run, row)| {
        let found = Found {
            run,
            task_run: row.id,
            state: row.progress.state,
            code: row.progress.code.clone(),
            unchanged: row.progress.unchanged,
            blocked_by: row.progress.blocked_by,
            result: row.progress.result.clone(),
            texts: None,
        };
        (fire(date), found)
    });
    Known {
        expected: BTreeMap::from([(fire(date), false)]),
        absence: Absence::NoFire,
        found: found.into_iter().collect(),
        ..Known::default()
    }
}

/// What each edge of a task run says, but for WEAK ones; and who is at the root where it is broken.
fn verdicts(small: &Small, node: &Node, at: TaskRunRef) -> Vec<(Verdict, Option<TaskRunId>)> {
    let (stored, plan) = (&node.rows.runs[&at.run], &node.truth.plans[&at.run]);
    let said = |rule, row: &TaskRunRow| {
        let root = row.progress.blocked_by.unwrap_or(row.id);
        (edge_verdict(rule, Standing::of(&row.progress, None)), Some(root))
    };
    let inside = plan.upstream(at.index).filter(|(_, rule)| rule.kind != EdgeKind::Weak);
    let inside = inside
        .map(|(up, rule)| said(rule, &stored.task_runs[&stored.row.first_task_run_id.offset(up)]));
    let mut all: Vec<_> = inside.collect();
    for edge in plan.across(at.index) {
        let Across { from, to, unit: OffsetUnit::Day, which: Which::All, .. } = *edge else {
            panic!("{edge:?}")
        };
        for offset in from..=to {
            let date = stored.row.biz_date.plus_days(offset);
            all.push(match newest(&node.rows, &edge.upstream, date) {
                _ if small.first.is_some_and(|first| date < first) => (Verdict::Holds, None),
                Some((_, row)) => said(&edge.rule, row),
                None => (Verdict::Waits, None),
            });
        }
    }
    all
}

/// An attempt starts only if every edge lets it go, by the rows as they are before.
pub fn starts(small: &Small, node: &Node, decision: &Decision) -> Result<(), String> {
    for start in &decision.starts {
        let said = verdicts(small, node, start.at);
        if said.iter().any(|(verdict, _)| !verdict.lets_go()) {
            return Err(format!("edges: {:?} starts while they say {said:?}", start.at));
        }
    }
    let rows = || node.rows.runs.values().flat_map(|stored| stored.task_runs.values());
    for (id, state) in &decision.relies {
        if rows().find(|row| row.id == *id).map(|row| row.progress.state) != Some(*state) {
            return Err(format!("edges: it relies on {id} being {state}, which it is not"));
        }
    }
    Ok(())
}

/// Whatever has not started stands where its edges say.
pub fn stands(small: &Small, node: &Node) -> Result<(), String> {
    let here = |stored: &&Stored| node.world.run(stored.row.id).is_some();
    for stored in node.rows.runs.values().filter(here) {
        for (index, row) in (0u32..).zip(stored.task_runs.values()) {
            let at = TaskRunRef { run: stored.row.id, index };
            let progress = &row.progress;
            if progress.state.is_final() || progress.state == State::Running {
                continue;
            }
            let said = verdicts(small, node, at);
            let has = |verdict| said.iter().any(|(said, _)| *said == verdict);
            let expected = match () {
                () if has(Verdict::Skip) => State::Skipped,
                () if has(Verdict::Broken) => State::Blocked,
                () if has(Verdict::Waits) => State::Pending,
                () if has(Verdict::Passed) && !has(Verdict::Holds) => State::Skipped,
                () => State::Ready,
            };
            // A delay or a thread that still runs keeps it from the queue.
            let delayed = progress.wake_at.is_some() || stored.leases.contains_key(&row.id);
            let may_wait = [State::Pending, State::RetryWait].contains(&progress.state);
            let fits =
                expected == progress.state || expected == State::Ready && delayed && may_wait;
            if !fits {
                let found = progress.state;
                return Err(format!("stands: {at:?} is {found}, not {expected}: {said:?}"));
            }
            let roots = || said.iter().filter(|(said, _)| *said == Verdict::Broken);
            let is_named = progress.blocked_by.is_some()
                && roots().any(|(_, root)| *root == progress.blocked_by);
            if expected == State::Blocked && !is_named {
                let named = progress.blocked_by;
                return Err(format!("stands: {at:?} is blocked by {named:?}: {said:?}"));
            }
        }
    }
    Ok(())
}
