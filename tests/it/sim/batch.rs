//! A decision as a batch, for stories that are told over a real store.

use std::collections::BTreeMap;

use mainspring::engine::{Decision, World};
use mainspring::model::journal::{Entry, pack};
use mainspring::model::{Instant, RunId, ScopeLease};
use mainspring::store::{Batch, CreatedRun, Ended, NewSkip, NextIds, Pause, Progressed, Watermark};

/// What is written of a decision that was applied to this world.
pub fn batch_of(world: &World, decision: &Decision, lease: ScopeLease, now: Instant) -> Batch {
    let mut batch = Batch::new(lease, now);
    for create in &decision.creates {
        let run = world.run(create.row.id).unwrap();
        let first = NextIds { run: run.row.id.0, task_run: run.row.first_task_run_id.0 };
        batch.expected.get_or_insert(first);
        let mut task_runs = run.plan.task_run_rows(&run.row);
        for (row, task_run) in task_runs.iter_mut().zip(run.task_runs()) {
            row.progress = task_run.progress.clone();
        }
        let schedules = create.schedules.clone();
        batch.created.push(CreatedRun { row: run.row.clone(), task_runs, schedules });
    }
    let fresh = |run: RunId| decision.creates.iter().any(|create| create.row.id == run);
    let mut touched = BTreeMap::new();
    let mut entries: BTreeMap<RunId, Vec<Entry>> = BTreeMap::new();
    for to in &decision.moves {
        touched.entry((to.at, to.id)).or_insert(to.to.revision - 1);
        entries.entry(to.at.run).or_default().push(Entry::Moved {
            task_run: to.id,
            from: to.from,
            to: to.to.state,
            attempt_no: to.to.attempt_no,
            when: to.when,
            code: to.to.code.clone(),
        });
    }
    for ((at, id), expected_revision) in touched {
        if !fresh(at.run) {
            let progress = world.task_run(at).unwrap().progress.clone();
            batch.progressed.push(Progressed { id, expected_revision, progress });
        }
    }
    batch.starts.extend(decision.starts.iter().map(|start| start.attempt.clone()));
    let ended =
        |end: &mainspring::engine::End| Ended { end: end.end.clone(), released: end.released };
    batch.ends.extend(decision.ends.iter().map(ended));
    batch.run_moves.extend(decision.run_moves.iter().filter(|to| !fresh(to.run)).cloned());
    for to in &decision.schedules {
        let schedule = to.schedule;
        if to.watermark != to.from {
            let (from, changed_at) = (to.from, to.changed_at);
            batch.watermarks.push(Watermark { schedule, from, to: to.watermark, changed_at });
        }
        let skips = to.skips.iter().cloned();
        batch.skips.extend(skips.map(|(skip, joins)| NewSkip { skip, joins }));
        batch.links.extend(to.links.iter().map(|run| (*run, schedule)));
        batch.pauses.extend(to.paused.map(|paused| Pause { schedule, paused, at: to.when }));
    }
    for (run, entries) in entries {
        let first = world.run(run).unwrap().row.first_task_run_id;
        batch.journal.push((run, pack(first, &entries)));
    }
    batch
}
