//! Hands what is stored to `verify`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Data;
use crate::store::verify::{Findings, RunFacts, check_run};
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
            if used > slots.size && live > 1 && self.started_since(pool, slots.sized_at) {
                findings.note("O2", format!("pool {pool}: {used} of {} slots", slots.size));
            }
        }
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

    /// Work that began before its pool was made smaller goes on, and breaks nothing.
    fn started_since(&self, pool: &str, sized_at: crate::model::Instant) -> bool {
        self.leases.values().filter(|lease| lease.pool.as_deref() == Some(pool)).any(|lease| {
            let attempt = self.attempts.get(&(lease.task_run_id, lease.attempt_no));
            attempt.is_some_and(|attempt| attempt.start.started_at > sized_at)
        })
    }
}
