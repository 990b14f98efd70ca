//! Task runs that wait for each other in a circle: nothing but a person lets them go.
//!
//! The definitions that are in force have no circle among edges to the own or a later period. But an
//! edge to an earlier period answers one to a later, and a run that was made before an edit waits by
//! its old edges for a run that waits by the new ones.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::Why;
use super::edges::{Verdict, edge_verdict};
use super::patience::{EdgeAt, until};
use super::run::Run;
use super::{TaskRunRef, World};
use crate::model::{State, Which};

/// So many task runs are looked at for one of them; who waits for more is told nothing of circles.
const MOST: usize = 10_000;

/// Where the search stands with a task run: those that it waits for and that were not looked at.
struct Step {
    at: TaskRunRef,
    left: Vec<TaskRunRef>,
}

impl World {
    /// The circle for which a task run waits, if it does: each waits for the next, and the last for
    /// the first. It may be part of it itself.
    pub fn circle(&self, at: TaskRunRef) -> Option<Vec<TaskRunRef>> {
        let mut done = BTreeSet::new();
        self.circle_from(at, &mut done, MOST)
    }

    /// All circles, each found once. Looks at each task run that waits for another run, once.
    pub fn circles(&self) -> Vec<Vec<TaskRunRef>> {
        let mut done = BTreeSet::new();
        let waiting = self.cells.all().flat_map(|(_, cell)| &cell.watchers).map(|(at, _)| *at);
        let waiting: BTreeSet<TaskRunRef> = waiting.collect();
        let circles = waiting.into_iter();
        circles.filter_map(|at| self.circle_from(at, &mut done, usize::MAX)).collect()
    }

    /// Depth first, without recursion. What is in `done` waits for no circle that was not found.
    fn circle_from(
        &self,
        at: TaskRunRef,
        done: &mut BTreeSet<TaskRunRef>,
        most: usize,
    ) -> Option<Vec<TaskRunRef>> {
        let mut path: Vec<Step> = Vec::new();
        let mut on_path: BTreeMap<TaskRunRef, usize> = BTreeMap::new();
        let mut next = Some(at);
        let mut found = None;
        let mut looked = 0;
        loop {
            if let Some(at) = next.take() {
                if let Some(place) = on_path.get(&at) {
                    let circle = path.get(*place..).unwrap_or_default();
                    found = Some(circle.iter().map(|step| step.at).collect());
                    break;
                }
                looked += 1;
                if looked > most {
                    break;
                }
                if !done.contains(&at) {
                    on_path.insert(at, path.len());
                    path.push(Step { at, left: self.waits_for(at) });
                }
            }
            let Some(step) = path.last_mut() else { break };
            next = step.left.pop();
            if next.is_none()
                && let Some(step) = path.pop()
            {
                on_path.remove(&step.at);
                done.insert(step.at);
            }
        }
        done.extend(path.into_iter().map(|step| step.at));
        found
    }

    /// The task runs for which a PENDING one waits and which are PENDING themselves, here or in other
    /// runs. An edge that time lets go, or of which one of several runs is enough, is left out.
    fn waits_for(&self, at: TaskRunRef) -> Vec<TaskRunRef> {
        let Some(run) = self.run(at.run) else { return Vec::new() };
        let waits = run.get(at.index).is_some_and(|task_run| {
            task_run.progress.state == State::Pending && task_run.counts.unmet > 0
        });
        if !waits {
            return Vec::new();
        }
        let here = run.plan.upstream(at.index).filter_map(|(up, rule)| {
            let task_run = run.get(up)?;
            let is_open = task_run.progress.state == State::Pending
                && edge_verdict(rule, task_run.standing()) == Verdict::Waits
                && until(&run.row, rule).is_none();
            is_open.then_some(TaskRunRef { run: at.run, index: up })
        });
        let mut found: Vec<TaskRunRef> = here.collect();
        for (nth, edge) in (0..).zip(run.plan.across(at.index)) {
            let waits = until(&run.row, &edge.rule).is_none()
                && edge.which != Which::Any
                && !run.is_over(at.index, EdgeAt::Across(nth));
            let whys = if waits { self.cells.whys(edge, run) } else { Vec::new() };
            found.extend(whys.iter().filter_map(|(_, verdict, why)| match why {
                Why::Run(_, found)
                    if *verdict == Verdict::Waits && found.state == State::Pending =>
                {
                    let index = self.run(found.run)?.index_of(found.task_run)?;
                    Some(TaskRunRef { run: found.run, index })
                }
                _ => None,
            }));
        }
        found
    }

    /// A circle in words: `a.x of run 3 -> b.y of run 4 -> a.x of run 3`.
    pub fn circle_in_words(&self, circle: &[TaskRunRef]) -> String {
        let name = |at: &TaskRunRef| {
            let key = |run: &Run| Some(format!("{}.{}", run.row.dag, run.name(at.index)));
            let key = self.run(at.run).and_then(key).unwrap_or_default();
            format!("{key} of run {}", at.run)
        };
        let again = circle.first().into_iter();
        circle.iter().chain(again).map(name).collect::<Vec<_>>().join(" -> ")
    }
}
