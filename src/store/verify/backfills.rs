//! Backfills: each place of a plan has one run or the note of why it has none, and each run one
//! place.

use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use crate::model::{BackfillId, BackfillState, RunId, RunState};
use crate::store::backfills::{MadeRun, StoredBackfill};

pub(in crate::store) fn check_backfills(
    backfills: &BTreeMap<BackfillId, StoredBackfill>,
    made: &[MadeRun],
    findings: &mut Findings,
) {
    let mut placed: BTreeMap<RunId, (BackfillId, u32)> = BTreeMap::new();
    for (id, backfill) in backfills {
        check(*id, backfill, findings);
        for (place, _) in &backfill.places {
            let Some(run) = place.run_id else { continue };
            if placed.insert(run, (*id, place.ordinal)).is_some() {
                findings.note("U8", format!("run {run} has two places"));
            }
        }
    }
    for run in made {
        let place = placed.remove(&run.id).filter(|(backfill, _)| *backfill == run.backfill);
        let planned = place.and_then(|(id, ordinal)| {
            let plan = &backfills.get(&id)?.row.plan;
            let planned = plan.runs.get(ordinal as usize)?;
            Some((planned, plan.sets.get(planned.set as usize)?))
        });
        let is_so = planned.is_some_and(|(planned, set)| {
            set.dag == run.dag
                && set.tasks.len() == run.task_count as usize
                && planned.nominal_at == run.nominal_at
                && planned.biz_date == run.biz_date
        });
        if !is_so {
            findings.note("U8", format!("run {} is not one of backfill {}", run.id, run.backfill));
        }
    }
    for (run, (id, ordinal)) in placed {
        findings.note("U8", format!("run {run} of place {ordinal} of backfill {id} is gone"));
    }
}

fn check(id: BackfillId, backfill: &StoredBackfill, findings: &mut Findings) {
    let row = &backfill.row;
    let ordinals = backfill.places.iter().map(|(place, _)| place.ordinal);
    if !ordinals.eq(0..row.plan.runs.len() as u32) {
        findings.note("U8", format!("backfill {id} does not have the places of its plan"));
    }
    let mut cells = BTreeSet::new();
    for run in &row.plan.runs {
        let tasks = row.plan.sets.get(run.set as usize).map_or(&[][..], |set| &set.tasks);
        for task in tasks.iter().filter(|task| !cells.insert((run.nominal_at, **task))) {
            let name = row.plan.tasks.get(*task as usize).map_or("?", |task| &task.name);
            findings.note("U8", format!("backfill {id} has {name} for {} twice", run.biz_date));
        }
    }
    if row.state.is_final() != row.finished_at.is_some() {
        findings.note("L2", format!("backfill {id}"));
    }
    let unmade = |(place, _): &&(crate::model::BackfillRunRow, Option<RunState>)| {
        place.run_id.is_none() && place.note.is_none()
    };
    if row.state.is_final() && backfill.places.iter().any(|place| unmade(&place)) {
        findings.note("U8", format!("backfill {id} is {} before its end", row.state));
    }
    let badly = |(place, state): &(crate::model::BackfillRunRow, Option<RunState>)| {
        let left = place.note.as_deref() == Some(crate::model::backfill_notes::NOT_STARTED);
        left || state.is_none() && place.run_id.is_some()
    };
    if row.state == BackfillState::Success && backfill.places.iter().any(badly) {
        findings.note("S1", format!("backfill {id} is {}", row.state));
    }
}
