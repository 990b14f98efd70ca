//! Proof on a live database that no fire was lost: each is a run, or in the record of a skip.
//!
//! What the rows alone can contradict, the store checks; this asks the calendar when each schedule
//! was to fire. It shares nothing with what fires but the calendar.

use std::collections::BTreeSet;

use crate::engine::entry;
use crate::model::{Instant, PeriodKind, Skip};
use crate::store::{ScheduleLife, Store, StoreError, Violation};

/// So many fires of each schedule are looked at, the newest.
const FIRES: u32 = 1_000_000;

/// What was found.
#[derive(Debug, Default)]
pub struct Proof {
    /// What does not hold; empty when all does.
    pub violations: Vec<Violation>,
    /// How many fires were looked at.
    pub fires: u64,
    /// Schedules with fires so old, or so many, that they were not looked at, and up to when.
    pub unproven: Vec<(String, Instant)>,
}

/// Checks the invariants of the data and that no fire was lost.
///
/// # Errors
/// Those of the store.
pub fn verify(store: &mut dyn Store) -> Result<Vec<Violation>, StoreError> {
    let mut broken = store.verify()?;
    for found in prove_fires(store, FIRES)?.violations {
        match broken.iter_mut().find(|known| known.invariant == found.invariant) {
            Some(known) => known.rows.extend(found.rows),
            None => broken.push(found),
        }
    }
    Ok(broken)
}

/// Checks of each schedule its newest fires up to its watermark, at most so many.
///
/// # Errors
/// Those of the store.
pub fn prove_fires(store: &mut dyn Store, most: u32) -> Result<Proof, StoreError> {
    let mut proof = Proof::default();
    let mut rows = Vec::new();
    let mut last = None;
    while let Some(life) = store.life(last, most)? {
        last = Some(life.id);
        check(&life, most as usize, &mut rows, &mut proof);
    }
    if !rows.is_empty() {
        let rule = "a fire is a run or a skip, and that once";
        proof.violations.push(Violation { invariant: "U2", rule, rows });
    }
    Ok(proof)
}

fn check(life: &ScheduleLife, most: usize, rows: &mut Vec<String>, proof: &mut Proof) {
    let key = &life.key;
    let fires = Fires::of(life, most, rows);
    proof.fires += fires.all.len() as u64;
    if let Some(floor) = fires.floor {
        proof.unproven.push((key.clone(), floor));
    }
    let seen = |at: Instant| at <= life.watermark && fires.floor.is_none_or(|floor| at > floor);
    let fired: BTreeSet<Instant> = life.fired.iter().map(|(at, _)| *at).collect();
    let mut skips: Vec<&Skip> = life.skips.iter().collect();
    skips.sort_by_key(|skip| (skip.from, skip.to));
    for at in fires.all.iter().copied().filter(|at| seen(*at)) {
        let begun = skips.partition_point(|skip| skip.from <= at);
        // Skips that overlap are found by the store.
        let skipped = begun.checked_sub(1).and_then(|last| skips.get(last));
        let skipped = skipped.is_some_and(|skip| skip.to >= at);
        match (fired.contains(&at), skipped) {
            (false, false) => rows.push(format!("{key}: the fire of {at} is neither")),
            (true, true) => rows.push(format!("{key}: the fire of {at} is both")),
            _ => {}
        }
    }
    for skip in skips.into_iter().filter(|skip| seen(skip.from) && seen(skip.to)) {
        let fires = fires.between(skip.from, skip.to);
        if i64::try_from(fires) != Ok(skip.count) {
            let Skip { from, to, count, .. } = skip;
            rows.push(format!("{key}: a skip of {count} from {from} to {to} has {fires} fires"));
        }
    }
    for (at, run) in life.fired.iter().filter(|(at, _)| seen(*at)) {
        if fires.between(*at, *at) == 0 {
            rows.push(format!("{key}: run {run} is for {at}, when it does not fire"));
        }
    }
}

/// When a schedule was to fire.
struct Fires {
    /// Ascending.
    all: Vec<Instant>,
    /// Up to here nobody looked.
    floor: Option<Instant>,
}

impl Fires {
    fn of(life: &ScheduleLife, most: usize, rows: &mut Vec<String>) -> Fires {
        // Of what was cut off nothing is known.
        let oldest_run = life.fired.last().filter(|_| life.fired.len() >= most).map(|(at, _)| *at);
        let oldest_skip = life.skips.last().filter(|_| life.skips.len() >= most);
        let mut floor = oldest_run.max(oldest_skip.map(|skip| skip.to));
        let mut all = Vec::new();
        'periods: for period in life.periods.iter().rev() {
            if period.kind == PeriodKind::Removed {
                continue;
            }
            let entry = match entry(&period.rule) {
                Ok(entry) => entry,
                Err(problem) => {
                    let from = period.from;
                    rows.push(format!("{}: its rule of {from} is broken: {problem}", life.key));
                    floor = floor.max(period.until);
                    break;
                }
            };
            let end = period.until.map_or(life.watermark, |until| until.min(life.watermark));
            let mut before = end.plus_micros(1);
            while let Some(found) = entry.occurrence_before(before) {
                let at = found.fire.at;
                if at <= period.from {
                    break;
                }
                if floor.is_some_and(|floor| at <= floor) || all.len() >= most {
                    floor = floor.max(Some(at));
                    break 'periods;
                }
                all.push(at);
                before = at;
            }
        }
        all.reverse();
        Fires { all, floor }
    }

    fn between(&self, from: Instant, to: Instant) -> usize {
        let end = self.all.partition_point(|at| *at <= to);
        end.saturating_sub(self.all.partition_point(|at| *at < from))
    }
}
