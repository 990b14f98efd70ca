//! What is final is run again: the same task runs, with fresh budgets and numbers that go on.

use std::collections::BTreeMap;

use super::super::{RerunWhat, Run, TaskRun, TaskRunRef};
use super::Refusal;
use super::draft::Draft;
use crate::model::{Instant, Progress, RunId, State, TaskId};

/// What is chosen of a run.
struct Chosen {
    /// Tasks of the plan. A mapped one among them is expanded anew.
    planned: Vec<u32>,
    /// Items, by the mapped task that they belong to: it goes on with the items that it has.
    items: BTreeMap<u32, Vec<u32>>,
}

impl Chosen {
    /// Parts items from tasks; those of a task that is chosen itself are run again with it.
    fn of(run: &Run, indexes: &[u32]) -> Chosen {
        let (planned, others): (Vec<u32>, Vec<u32>) =
            indexes.iter().partition(|index| run.planned(**index) == **index);
        let mut items: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for index in others {
            let of = run.planned(index);
            if planned.binary_search(&of).is_err() {
                items.entry(of).or_default().push(index);
            }
        }
        Chosen { planned, items }
    }

    /// Tasks of the plan whose results may become others.
    fn changed(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.items.keys().chain(&self.planned).copied().collect();
        all.sort_unstable();
        all
    }
}

impl Draft<'_> {
    pub(super) fn rerun(&mut self, id: RunId, what: &RerunWhat) -> Result<(), Refusal> {
        let run = self.known_run(id)?;
        let chosen = match what {
            RerunWhat::Failed => Chosen::of(run, &failed(run)?),
            RerunWhat::Only(only) => Chosen::of(run, &self.known_task_runs(id, Some(only))?),
            RerunWhat::WithDownstream(from) => {
                let from = self.known_task_runs(id, Some(from))?;
                refuse_open(run, &from, |_| true)?;
                let mut chosen = Chosen::of(run, &from);
                // What has not started yet below is judged again anyway.
                let mut all = run.plan.graph.reachable_down(&chosen.changed());
                all.retain(|index| !chosen.items.contains_key(index));
                refuse_open(run, &all, |state| state == State::Running)?;
                all.retain(|index| run.task_run(*index).progress.state.is_final());
                chosen.planned = all;
                chosen
            }
        };
        let named: &[u32] = match what {
            RerunWhat::Failed => &[],
            RerunWhat::Only(named) | RerunWhat::WithDownstream(named) => named,
        };
        self.refuse_items(run, &chosen)?;
        refuse_open(run, &chosen.planned, |_| true)?;
        let changed = chosen.changed();
        let tasks = changed.iter().filter_map(|at| run.plan.tasks.get(*at as usize));
        let tasks: Vec<TaskId> = tasks.map(|task| task.task_id).collect();
        let (plan, nominal_at) = (run.plan.clone(), run.row.nominal_at);
        self.refuse_filled(&plan, tasks, nominal_at, id)?;
        self.mark_stale(id, &chosen);
        let now = self.now;
        for index in &chosen.planned {
            let at = TaskRunRef { run: id, index: *index };
            let is_named = named.contains(index);
            self.shift(at, |progress| {
                afresh(progress, now);
                // Whoever asks for it by name has it computed, whatever came out unchanged.
                if is_named {
                    progress.first_ready_at.get_or_insert(now);
                }
            });
            self.touched.push_back(at);
        }
        for (of, items) in &chosen.items {
            self.rerun_items(TaskRunRef { run: id, index: *of }, items);
        }
        self.set_cancel_requested(id, false);
        Ok(())
    }

    /// Runs items again; what stands for them goes on with those that it has. Where its upstreams
    /// are to run again themselves its list may become another: then it is expanded anew.
    fn rerun_items(&mut self, whole: TaskRunRef, items: &[u32]) {
        let now = self.now;
        let Some(state) = self.progress(whole).map(|progress| progress.state) else { return };
        if state != State::Running {
            self.shift(whole, |p| afresh(p, now));
            self.touched.push_back(whole);
            if self.edges(whole).counts.unmet > 0 {
                return;
            }
            self.shift(whole, |p| {
                p.state = State::Ready;
                p.first_ready_at.get_or_insert(now);
            });
            self.shift(whole, |p| {
                p.state = State::Running;
                p.started_at = Some(now);
            });
        }
        for index in items {
            let at = TaskRunRef { run: whole.run, index: *index };
            self.shift(at, |p| afresh(p, now));
            self.touched.push_back(at);
        }
    }

    /// Refuses items that are open, that are removed, or whose list is about to become another.
    fn refuse_items(&self, run: &Run, chosen: &Chosen) -> Result<(), Refusal> {
        for (of, items) in &chosen.items {
            refuse_open(run, items, |_| true)?;
            let (id, whole) = (run.row.id, run.task_run(*of));
            let removed = items.iter().find(|at| run.task_run(**at).progress.is_removed());
            if let Some(item) = removed {
                return Err(Refusal::Removed { run: id, item: run.name(*item) });
            }
            let state = whole.progress.state;
            if !state.is_final() && state != State::Running {
                let (item, task) = (run.name(items[0]), run.name(*of));
                return Err(Refusal::NotExpanded { run: id, item, task, state });
            }
        }
        Ok(())
    }

    /// Marks what is final below the chosen ones and not among them.
    fn mark_stale(&mut self, id: RunId, chosen: &Chosen) {
        let Some(run) = self.world.run(id) else { return };
        let changed = chosen.changed();
        for index in run.plan.graph.reachable_down(&changed) {
            let task_run = run.task_run(index);
            let stays =
                task_run.progress.state.is_final() && changed.binary_search(&index).is_err();
            if stays && !task_run.progress.stale {
                self.out.stale.push((TaskRunRef { run: id, index }, task_run.id));
            }
        }
        // What other runs have made of it is old too; those that are not here are marked by the
        // driver, which can look for them.
        for at in changed.iter().flat_map(|index| self.world.watchers(run, *index)) {
            let Some(task_run) = self.world.task_run(at) else { continue };
            if task_run.progress.state.is_final() && !task_run.progress.stale {
                self.out.stale.push((at, task_run.id));
            }
        }
    }
}

/// What did not succeed. Of a mapped task only those items, unless it failed without any.
fn failed(run: &Run) -> Result<Vec<u32>, Refusal> {
    let failed = |task_run: &TaskRun| {
        let progress = &task_run.progress;
        let ended = matches!(progress.state, State::Failed | State::Timeout | State::Canceled);
        ended && !progress.is_removed()
    };
    let is_chosen = |index: u32, task_run: &TaskRun| {
        let by_items = run.items(index).is_some_and(|items| items.tally.ended_badly() > 0);
        // Items of what waits to be expanded anew are run again with it.
        let expanded = run.get(run.planned(index)).is_some_and(|whole| {
            let state = whole.progress.state;
            state == State::Running || state.is_final()
        });
        failed(task_run) && !by_items && (run.planned(index) == index || expanded)
    };
    let all: Vec<u32> = (0u32..)
        .zip(run.task_runs())
        .filter(|(index, task_run)| is_chosen(*index, task_run))
        .map(|(index, _)| index)
        .collect();
    if all.is_empty() { Err(Refusal::NothingFailed(run.row.id)) } else { Ok(all) }
}

/// Refuses, by name, those of the chosen task runs that are open and of which `which` is true.
fn refuse_open(run: &Run, chosen: &[u32], which: impl Fn(State) -> bool) -> Result<(), Refusal> {
    let open: Vec<(String, State)> = chosen
        .iter()
        .map(|index| (*index, run.task_run(*index).progress.state))
        .filter(|(_, state)| !state.is_final() && which(*state))
        .map(|(index, state)| (run.name(index), state))
        .collect();
    if open.is_empty() { Ok(()) } else { Err(Refusal::NotFinal { run: run.row.id, open }) }
}

pub(super) fn afresh(progress: &mut Progress, now: Instant) {
    // Whoever reruns what is past its deadline knows that: nobody is told, and nothing canceled.
    let late = progress.deadline_at.filter(|deadline_at| *deadline_at <= now);
    *progress = Progress {
        state: State::Pending,
        rerun_base: progress.attempt_no,
        // What grows goes on.
        revision: progress.revision,
        attempt_no: progress.attempt_no,
        token: progress.token,
        first_ready_at: progress.first_ready_at,
        item: progress.item.take(),
        deadline_at: progress.deadline_at,
        overdue_at: progress.overdue_at.or(late.map(|_| now)),
        ..Progress::default()
    };
}
