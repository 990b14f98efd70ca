//! What is final is run again: the same task runs, with fresh budgets and numbers that go on.

use super::super::{RerunWhat, Run, TaskRunRef};
use super::Refusal;
use super::draft::Draft;
use crate::model::{Instant, Progress, RunId, State};

impl Draft<'_> {
    pub(super) fn rerun(&mut self, id: RunId, what: &RerunWhat) -> Result<(), Refusal> {
        let run = self.known_run(id)?;
        let chosen = match what {
            RerunWhat::Failed => failed(run)?,
            RerunWhat::Only(only) => self.known_task_runs(id, Some(only))?,
            RerunWhat::WithDownstream(from) => {
                let from = self.known_task_runs(id, Some(from))?;
                refuse_open(run, &from, |_| true)?;
                // What has not started yet below is judged again anyway.
                let mut all = run.plan.graph.reachable_down(&from);
                refuse_open(run, &all, |state| state == State::Running)?;
                all.retain(|index| run.task_run(*index).progress.state.is_final());
                all
            }
        };
        refuse_open(run, &chosen, |_| true)?;
        self.mark_stale(run.row.id, &chosen);
        for index in chosen {
            let at = TaskRunRef { run: id, index };
            let now = self.now;
            self.shift(at, |progress| afresh(progress, now));
            self.touched.push_back(at);
        }
        self.set_cancel_requested(id, false);
        Ok(())
    }

    /// Marks what is final below the chosen ones and not among them.
    fn mark_stale(&mut self, id: RunId, chosen: &[u32]) {
        let Some(run) = self.world.run(id) else { return };
        for index in run.plan.graph.reachable_down(chosen) {
            let task_run = run.task_run(index);
            let stays = task_run.progress.state.is_final() && chosen.binary_search(&index).is_err();
            if stays && !task_run.progress.stale {
                self.out.stale.push((TaskRunRef { run: id, index }, task_run.id));
            }
        }
    }
}

fn failed(run: &Run) -> Result<Vec<u32>, Refusal> {
    let failed = |state| matches!(state, State::Failed | State::Timeout | State::Canceled);
    let all: Vec<u32> = (0u32..)
        .zip(run.task_runs())
        .filter(|(_, task_run)| failed(task_run.progress.state))
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
        .filter_map(|(index, state)| Some((run.task(index)?.def.name.clone(), state)))
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
        deadline_at: progress.deadline_at,
        overdue_at: progress.overdue_at.or(late.map(|_| now)),
        ..Progress::default()
    };
}
