//! Hands what is stored to `verify`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Data, MemorySchedule};
use crate::model::{Instant, LeaseRow, ScheduleId};
use crate::store::verify::{Findings, RunFacts, ScheduleFacts, check_run, check_schedules};
use crate::store::{AttemptFilter, Violation};

impl Data {
    /// A map has no two rows of one key, so only what is inside the rows is looked at.
    pub(super) fn verify(&self) -> Vec<Violation> {
        let mut findings = Findings::default();
        let versions: BTreeMap<_, _> = self
            .versions
            .keys()
            .filter_map(|id| Some((*id, Arc::new(self.version(*id)?))))
            .collect();
        for (pool, slots) in &self.pools {
            let (used, live) = self.pool_use(pool);
            let of_pool = |lease: &LeaseRow| lease.pool.as_deref() == Some(pool);
            if used > slots.size && live > 1 && self.started_since(of_pool, slots.sized_at) {
                findings.note("O2", format!("pool {pool}: {used} of {} slots", slots.size));
            }
        }
        for (name, limit) in &self.limits {
            let (used, live) = self.limit_use(name);
            let of_limit = |lease: &LeaseRow| lease.limits.contains_key(name);
            if used > limit.size && live > 1 && self.started_since(of_limit, limit.sized_at) {
                findings.note("O3", format!("limit {name}: {used} of {} slots", limit.size));
            }
        }
        self.verify_schedules(&mut findings);
        self.verify_releases(&mut findings);
        self.verify_backfills(&mut findings);
        for id in self.runs.keys() {
            let Some(run) = self.stored_run(*id) else { continue };
            let facts = RunFacts {
                run: &run,
                attempts: &self.attempt_rows(&AttemptFilter::Run(*id)),
                journal: self.journal.get(id).map_or(&[], Vec::as_slice),
                versions: &versions,
            };
            check_run(&facts, &mut findings);
        }
        findings.into_violations()
    }

    fn verify_schedules(&self, findings: &mut Findings) {
        for (run, schedule) in self.fired.iter().filter(|(run, _)| !self.runs.contains_key(run)) {
            findings.note("S2", format!("the run {run} of schedule {schedule} is gone"));
        }
        let is_known = |schedule: &ScheduleId| self.schedules.contains_key(schedule);
        for (run, schedule) in self.fired.iter().filter(|(_, schedule)| !is_known(schedule)) {
            findings.note("S2", format!("the schedule {schedule} of run {run} is gone"));
        }
        let mut skipped: Vec<ScheduleId> = self.skips.iter().map(|skip| skip.schedule).collect();
        skipped.sort_unstable();
        for schedule in skipped.iter().filter(|schedule| !is_known(schedule)) {
            findings.note("S2", format!("the schedule {schedule} of a skip is gone"));
        }
        let facts = |(id, schedule): (&ScheduleId, &MemorySchedule)| {
            let of_it = self.skips.iter().filter(|skip| skip.schedule == *id);
            let mut skips: Vec<_> = of_it.map(|skip| (skip.from, skip.to)).collect();
            skips.sort_unstable();
            let periods = schedule.periods.iter().map(|each| (each.from, each.until)).collect();
            let watermark = Some(schedule.watermark);
            (*id, ScheduleFacts { watermark, periods, skips })
        };
        let fired = self.fired.iter().filter_map(|(run, schedule)| {
            let (row, _) = self.runs.get(run).filter(|(row, _)| row.timed)?;
            Some((*schedule, row.nominal_at, *run))
        });
        check_schedules(&self.schedules.iter().map(facts).collect(), fired, findings);
    }

    /// Work that began before its pool was made smaller goes on, and breaks nothing.
    fn started_since(&self, which: impl Fn(&LeaseRow) -> bool, sized_at: Instant) -> bool {
        self.leases.values().filter(|lease| which(lease)).any(|lease| {
            let attempt = self.attempts.get(&(lease.task_run_id, lease.attempt_no));
            attempt.is_some_and(|attempt| attempt.start.started_at > sized_at)
        })
    }
}
