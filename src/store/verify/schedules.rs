//! Schedules: how far they came, the periods of their lives, and the fires that made no run.
//!
//! Whether each fire is there takes a calendar; what contradicts itself is found without one.

use std::collections::BTreeMap;

use super::Findings;
use crate::model::{Instant, RunId, ScheduleId};

/// A schedule with everything that belongs to it.
#[derive(Debug, Default)]
pub(in crate::store) struct ScheduleFacts {
    /// How far it came; none is a row that was never filled.
    pub watermark: Option<Instant>,
    /// From and until, by their beginnings.
    pub periods: Vec<(Instant, Option<Instant>)>,
    /// First and last fire, by their beginnings.
    pub skips: Vec<(Instant, Instant)>,
}

/// Checks schedules, and the timed runs that they made.
pub(in crate::store) fn check_schedules(
    schedules: &BTreeMap<ScheduleId, ScheduleFacts>,
    fired: impl IntoIterator<Item = (ScheduleId, Instant, RunId)>,
    findings: &mut Findings,
) {
    // For each schedule the beginnings of its skips, and how far those up to there reach.
    let mut skipped: BTreeMap<ScheduleId, Vec<(Instant, Instant)>> = BTreeMap::new();
    for (id, facts) in schedules {
        life(*id, facts, findings);
        skipped.insert(*id, skips(*id, facts, findings));
    }
    for (id, at, run) in fired {
        let Some(skips) = skipped.get(&id) else { continue };
        let begun = skips.partition_point(|(from, _)| *from <= at);
        let reach = begun.checked_sub(1).and_then(|last| skips.get(last)).map(|(_, reach)| *reach);
        if reach.is_some_and(|reach| reach >= at) {
            findings.note("U2", format!("schedule {id} fired run {run} for {at}, and skipped it"));
        }
    }
}

fn life(id: ScheduleId, facts: &ScheduleFacts, findings: &mut Findings) {
    let begins = facts.periods.first().map(|(from, _)| *from);
    if facts.watermark.is_none() || facts.watermark < begins {
        let watermark = facts.watermark.map_or("nowhere".to_owned(), |at| at.to_string());
        findings.note("U3", format!("schedule {id} is at {watermark}, before its life"));
    }
    let open = facts.periods.iter().filter(|(_, until)| until.is_none()).count();
    if open != 1 || facts.periods.last().is_none_or(|(_, until)| until.is_some()) {
        findings.note("U3", format!("schedule {id} has {open} open periods, or none at its end"));
    }
    for pair in facts.periods.windows(2) {
        let [(_, until), (next, _)] = pair else { continue };
        if until.is_some_and(|until| until != *next) {
            findings
                .note("U3", format!("schedule {id}: no period ends where that of {next} begins"));
        }
    }
    let backwards =
        |(from, until): &&(Instant, Option<Instant>)| until.is_some_and(|end| end <= *from);
    for (from, _) in facts.periods.iter().filter(backwards) {
        findings.note("U3", format!("schedule {id}: the period of {from} ends before it begins"));
    }
}

fn skips(
    id: ScheduleId,
    facts: &ScheduleFacts,
    findings: &mut Findings,
) -> Vec<(Instant, Instant)> {
    let mut reaches: Vec<(Instant, Instant)> = Vec::with_capacity(facts.skips.len());
    for (from, to) in &facts.skips {
        let before = reaches.last().map(|(_, reach)| *reach);
        if before.is_some_and(|reach| *from <= reach) || to < from {
            findings.note("U2", format!("schedule {id} skipped from {from} to {to} twice"));
        }
        reaches.push((*from, before.map_or(*to, |reach| reach.max(*to))));
    }
    reaches
}
