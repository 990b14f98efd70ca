//! From decisions to one transaction: what a turn of the driver gathers.

use std::collections::BTreeMap;

use crate::engine::{Decision, Effect, Move, Run, ScheduleMove, TaskRunRef, World};
use crate::model::journal::{self, Entry};
use crate::model::{
    BackfillRunRow, Date, Decided, Instant, RunId, ScheduleId, ScopeLease, TaskId, TaskRunId,
};
use crate::store::{
    BackfillMoved, Batch, CreatedRun, Ended, NewSkip, NextIds, PastDeadline, Pause, Progressed,
    Watermark,
};

/// What the decisions of one turn come to.
#[derive(Default)]
pub struct Turn {
    /// Runs that were made, each with the schedules that it comes from.
    created: BTreeMap<RunId, (Vec<ScheduleId>, u32)>,
    /// Items that were made: of each run the index of the first, and the ids in order.
    items: BTreeMap<RunId, (u32, Vec<TaskRunId>)>,
    /// Task runs that changed: their revision before the turn.
    touched: BTreeMap<TaskRunRef, u32>,
    decisions: Vec<Decision>,
    journal: BTreeMap<RunId, Vec<Entry>>,
    answers: Vec<(i64, Decided)>,
    /// What other runs have made of something that is run again.
    pub outdated: Vec<(TaskId, Date, RunId)>,
}

impl Turn {
    /// Adds a decision that has been applied to the world.
    pub fn add(&mut self, decision: Decision) {
        for create in &decision.creates {
            let made = (create.schedules.clone(), create.row.task_count);
            self.created.insert(create.row.id, made);
        }
        for made in &decision.items {
            let (_, ids) = self.items.entry(made.of.run).or_insert((u32::MAX, Vec::new()));
            ids.extend((0..made.items.len() as u32).map(|nth| made.first.offset(nth)));
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

    /// Whether a backfill begins with it.
    pub fn begins_backfill(&self) -> bool {
        self.decisions.iter().any(|decision| !decision.backfills.is_empty())
    }

    /// Adds what another gathered after it.
    pub fn append(&mut self, other: Turn) {
        self.created.extend(other.created);
        for (run, (_, ids)) in other.items {
            self.items.entry(run).or_insert((u32::MAX, Vec::new())).1.extend(ids);
        }
        for (at, revision) in other.touched {
            self.touched.entry(at).or_insert(revision);
        }
        for (run, entries) in other.journal {
            self.journal.entry(run).or_default().extend(entries);
        }
        self.decisions.extend(other.decisions);
        self.answers.extend(other.answers);
        self.outdated.extend(other.outdated);
    }

    /// Whether its row is made by this turn: with its run, or as an item.
    fn is_new(&self, at: TaskRunRef) -> bool {
        let of_run = || self.created.get(&at.run).is_some_and(|(_, count)| at.index < *count);
        let first = || self.items.get(&at.run).is_some_and(|(first, _)| at.index >= *first);
        of_run() || first()
    }

    /// Whether it makes runs or items.
    pub fn makes(&self) -> bool {
        !self.created.is_empty() || !self.items.is_empty()
    }

    /// The ids that came next before the turn made anything.
    fn expected(&self, batch: &Batch, world: &World) -> Option<NextIds> {
        let runs = batch.created.iter().map(|run| (run.row.id.0, run.row.first_task_run_id.0));
        let items = batch.items.iter().map(|item| (world.next_ids().0, item.id.0));
        let (run, task_run) = runs.chain(items).reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))?;
        Some(NextIds { run, task_run })
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
        self.find_items(world, &mut batch);
        for (run, (schedules, _)) in &self.created {
            let Some(run) = world.run(*run) else { continue };
            batch.created.push(created(run, schedules));
        }
        for (at, expected_revision) in &self.touched {
            if self.is_new(*at) {
                continue;
            }
            let Some(task_run) = world.task_run(*at) else { continue };
            batch.progressed.push(Progressed {
                id: task_run.id,
                expected_revision: *expected_revision,
                progress: task_run.progress.clone(),
            });
        }
        // As the store has them: what this very batch pauses it changes after its watermarks.
        let mut seen: BTreeMap<ScheduleId, Instant> = BTreeMap::new();
        for decision in &self.decisions {
            batch.relies.extend(&decision.relies);
            batch.unfilled.extend(decision.unfilled.iter().cloned());
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
                let changed_at = *seen.entry(to.schedule).or_insert(to.changed_at);
                scheduled(to, changed_at, &mut batch);
            }
            backfills(decision, &mut batch);
            for run_move in &decision.run_moves {
                if !self.created.contains_key(&run_move.run) {
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
        batch.expected = self.expected(&batch, world);
        batch.answers.clone_from(&self.answers);
        batch.outdated.clone_from(&self.outdated);
        for (run, entries) in &self.journal {
            if let Some(found) = world.run(*run) {
                batch.journal.push((*run, journal::pack(found.row.first_task_run_id, entries)));
            }
        }
        batch
    }

    /// The rows of items as they are after the turn.
    fn find_items(&mut self, world: &World, batch: &mut Batch) {
        for (id, (first, ids)) in &mut self.items {
            let Some(run) = world.run(*id) else { continue };
            let indexes = ids.iter().filter_map(|id| run.index_of(*id));
            for index in indexes {
                *first = index.min(*first);
                batch.items.extend(run.item_row(index));
            }
        }
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
    world.task_run(at).map(|task_run| task_run.id)
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
fn scheduled(to: &ScheduleMove, changed_at: Instant, batch: &mut Batch) {
    let schedule = to.schedule;
    if to.watermark != to.from {
        let last = batch.watermarks.iter_mut().rev().find(|last| last.schedule == schedule);
        match last {
            Some(last) => last.to = to.watermark,
            None => batch.watermarks.push(Watermark {
                schedule,
                from: to.from,
                to: to.watermark,
                changed_at,
            }),
        }
    }
    let skips = to.skips.iter().cloned();
    batch.skips.extend(skips.map(|(skip, joins)| NewSkip { skip, joins }));
    batch.links.extend(to.links.iter().map(|run| (*run, schedule)));
    if let Some(paused) = to.paused {
        batch.pauses.push(Pause { schedule, paused, at: to.when });
    }
}

/// What a decision writes of backfills.
fn backfills(decision: &Decision, batch: &mut Batch) {
    batch.backfills.extend(decision.backfills.iter().map(|new| new.row.clone()));
    batch.filled.extend(decision.filled.iter().map(|place| BackfillRunRow {
        backfill_id: place.backfill,
        ordinal: place.ordinal,
        run_id: place.run,
        note: place.note.clone(),
    }));
    batch.fill_moves.extend(decision.fill_moves.iter().map(|to| BackfillMoved {
        id: to.backfill,
        from: to.from,
        to: to.to,
        finished_at: to.finished_at,
        cancel_requested: to.cancel_requested,
    }));
}

fn created(run: &Run, schedules: &[ScheduleId]) -> CreatedRun {
    let mut task_runs = run.plan.task_run_rows(&run.row);
    for (row, task_run) in task_runs.iter_mut().zip(run.task_runs()) {
        row.progress = task_run.progress.clone();
    }
    CreatedRun { row: run.row.clone(), task_runs, schedules: schedules.to_vec() }
}
