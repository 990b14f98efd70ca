//! From decisions to one transaction: what a turn of the driver gathers.

use std::collections::BTreeMap;

use crate::engine::{Decision, Effect, Move, Run, ScheduleMove, TaskRunRef, World};
use crate::model::journal::{self, Entry};
use crate::model::{Decided, Instant, RunId, ScheduleId, ScopeLease, TaskRunId};
use crate::store::{
    Batch, CreatedRun, Ended, NewSkip, NextIds, PastDeadline, Pause, Progressed, Watermark,
};

/// What the decisions of one turn come to.
#[derive(Default)]
pub struct Turn {
    /// Runs that were made, each with the schedules that it comes from.
    created: BTreeMap<RunId, Vec<ScheduleId>>,
    /// Task runs that changed: their revision before the turn.
    touched: BTreeMap<TaskRunRef, u32>,
    decisions: Vec<Decision>,
    journal: BTreeMap<RunId, Vec<Entry>>,
    answers: Vec<(i64, Decided)>,
}

impl Turn {
    /// Adds a decision that has been applied to the world.
    pub fn add(&mut self, decision: Decision) {
        for create in &decision.creates {
            self.created.insert(create.row.id, create.schedules.clone());
        }
        for taken in &decision.moves {
            self.touched.entry(taken.at).or_insert(taken.to.revision.saturating_sub(1));
            self.journal.entry(taken.at.run).or_default().push(moved(taken));
        }
        self.decisions.push(decision);
    }

    /// A request is decided.
    pub fn answer(&mut self, request: i64, decided: Decided) {
        self.answers.push((request, decided));
    }

    /// Adds what another gathered after it.
    pub fn append(&mut self, other: Turn) {
        self.created.extend(other.created);
        for (at, revision) in other.touched {
            self.touched.entry(at).or_insert(revision);
        }
        for (run, entries) in other.journal {
            self.journal.entry(run).or_default().extend(entries);
        }
        self.decisions.extend(other.decisions);
        self.answers.extend(other.answers);
    }

    fn is_new(&self, run: RunId) -> bool {
        self.created.contains_key(&run)
    }

    /// Runs that the turn changes.
    pub fn runs(&self) -> Vec<RunId> {
        let mut runs: Vec<RunId> = self.touched.keys().map(|at| at.run).collect();
        runs.extend(self.created.keys());
        runs.extend(self.decisions.iter().flat_map(|d| d.run_moves.iter().map(|m| m.run)));
        runs.sort_unstable();
        runs.dedup();
        runs
    }

    /// Runs of which something has ended, been given back or noted: one that had ended before may
    /// be kept for nothing now.
    pub fn kept(&self) -> Vec<RunId> {
        let mut runs = self.runs();
        let decisions = || self.decisions.iter();
        runs.extend(decisions().flat_map(|d| d.releases.iter().map(|at| at.run)));
        runs.extend(decisions().flat_map(|d| d.overdue.iter().map(|overdue| overdue.at.run)));
        runs.sort_unstable();
        runs.dedup();
        runs
    }

    /// The transaction that writes it, read off the world after the turn.
    pub fn batch(&mut self, world: &World, lease: ScopeLease, now: Instant) -> Batch {
        let mut batch = Batch::new(lease, now);
        for (run, schedules) in &self.created {
            let Some(run) = world.run(*run) else { continue };
            if batch.expected.is_none() {
                batch.expected =
                    Some(NextIds { run: run.row.id.0, task_run: run.row.first_task_run_id.0 });
            }
            batch.created.push(created(run, schedules));
        }
        for (at, expected_revision) in &self.touched {
            if self.is_new(at.run) {
                continue;
            }
            let (Some(run), Some(task_run)) = (world.run(at.run), world.task_run(*at)) else {
                continue;
            };
            batch.progressed.push(Progressed {
                id: run.row.first_task_run_id.offset(at.index),
                expected_revision: *expected_revision,
                progress: task_run.progress.clone(),
            });
        }
        for decision in &self.decisions {
            batch.starts.extend(decision.starts.iter().map(|start| start.attempt.clone()));
            batch.ends.extend(
                decision.ends.iter().map(|e| Ended { end: e.end.clone(), released: e.released }),
            );
            batch.stops.extend(decision.stops.iter().map(|stop| (stop.id, stop.stop.reason)));
            batch.releases.extend(decision.releases.iter().filter_map(|at| id_of(world, *at)));
            let overdue = decision.overdue.iter();
            batch.overdue.extend(overdue.map(|overdue| PastDeadline {
                id: overdue.id,
                run: overdue.at.run,
                deadline_at: overdue.deadline_at,
                when: overdue.when,
                canceled: overdue.cancels,
            }));
            batch.stale.extend(decision.stale.iter().map(|(_, id)| *id));
            for to in &decision.schedules {
                scheduled(to, &mut batch);
            }
            for run_move in &decision.run_moves {
                if !self.is_new(run_move.run) {
                    batch.run_moves.push(run_move.clone());
                }
            }
            for late in &decision.late {
                if let Some(task_run) = id_of(world, late.at) {
                    self.journal.entry(late.at.run).or_default().push(Entry::Late {
                        task_run,
                        outcome: late.outcome,
                        attempt_no: late.attempt_no,
                        when: late.when,
                    });
                }
            }
        }
        batch.answers.clone_from(&self.answers);
        for (run, entries) in &self.journal {
            if let Some(found) = world.run(*run) {
                batch.journal.push((*run, journal::pack(found.row.first_task_run_id, entries)));
            }
        }
        batch
    }

    /// What was decided, in order.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// How far the turn decided which fires were missed; true once it is durable.
    pub fn judged(&self) -> impl Iterator<Item = &ScheduleMove> {
        self.decisions.iter().flat_map(|decision| &decision.schedules)
    }

    /// What to do once it is durable.
    pub fn effects(&mut self) -> Vec<Effect> {
        self.decisions
            .iter_mut()
            .flat_map(|decision| std::mem::take(&mut decision.effects))
            .collect()
    }
}

fn id_of(world: &World, at: TaskRunRef) -> Option<TaskRunId> {
    world.run(at.run).map(|run| run.row.first_task_run_id.offset(at.index))
}

fn moved(taken: &Move) -> Entry {
    Entry::Moved {
        task_run: taken.id,
        from: taken.from,
        to: taken.to.state,
        attempt_no: taken.to.attempt_no,
        when: taken.when,
        code: taken.to.code.clone(),
    }
}

/// What a turn writes of a schedule. Several decisions of one turn follow each other, so their
/// watermarks make one step.
fn scheduled(to: &ScheduleMove, batch: &mut Batch) {
    let schedule = to.schedule;
    if to.watermark != to.from {
        let last = batch.watermarks.iter_mut().rev().find(|last| last.schedule == schedule);
        match last {
            Some(last) => last.to = to.watermark,
            None => batch.watermarks.push(Watermark { schedule, from: to.from, to: to.watermark }),
        }
    }
    let skips = to.skips.iter().cloned();
    batch.skips.extend(skips.map(|(skip, joins)| NewSkip { skip, joins }));
    batch.links.extend(to.links.iter().map(|run| (*run, schedule)));
    if let Some(paused) = to.paused {
        batch.pauses.push(Pause { schedule, paused, at: to.when });
    }
}

fn created(run: &Run, schedules: &[ScheduleId]) -> CreatedRun {
    let mut task_runs = run.plan.task_run_rows(&run.row);
    for (row, task_run) in task_runs.iter_mut().zip(run.task_runs()) {
        row.progress = task_run.progress.clone();
    }
    CreatedRun { row: run.row.clone(), task_runs, schedules: schedules.to_vec() }
}
