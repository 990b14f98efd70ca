//! Edges that hold without their upstream after a time: `wait_up_to`.
//!
//! The time is counted from when the run was made, or from its nominal time where that is later: so
//! a backfill of last year waits as long as a run of today does. Once it is over it stays so. Nothing
//! of it is stored: whoever reads a run anew finds the time over, and says so again.

use std::collections::BTreeSet;

use super::edges::{EdgeRule, edge_verdict};
use super::run::Run;
use super::{Plan, TaskRunRef, World};
use crate::model::{Instant, RunRow};

/// An edge of a task run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeAt {
    /// To the task of its own run with this index.
    Here(u32),
    /// To other runs: its number among those.
    Across(u32),
}

/// What edges of a task run are not waited for for ever.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Patience {
    /// Those that are still waited for, by when that is over.
    pub open: BTreeSet<(Instant, EdgeAt)>,
    /// Those that are waited for no longer.
    pub over: BTreeSet<EdgeAt>,
}

/// When an edge of a run is waited for no longer, if that ever is.
pub(super) fn until(run: &RunRow, rule: &EdgeRule) -> Option<Instant> {
    let from = run.nominal_at.max(run.created_at);
    rule.wait_up_to_ms.map(|wait_ms| from.plus_millis(wait_ms))
}

impl Patience {
    /// That of a task of a run; none where all its edges wait for ever, as most do.
    pub fn of(run: &RunRow, plan: &Plan, index: u32) -> Option<Box<Patience>> {
        let here = plan.upstream(index).map(|(up, rule)| (rule, EdgeAt::Here(up)));
        let across = (0..).zip(plan.across(index)).map(|(nth, edge)| (&edge.rule, nth));
        let across = across.map(|(rule, nth)| (rule, EdgeAt::Across(nth)));
        let open: BTreeSet<(Instant, EdgeAt)> =
            here.chain(across).filter_map(|(rule, edge)| Some((until(run, rule)?, edge))).collect();
        (!open.is_empty()).then(|| Box::new(Patience { open, over: BTreeSet::new() }))
    }
}

impl Run {
    /// Whether an edge of a task is waited for no longer.
    pub(super) fn is_over(&self, index: u32, edge: EdgeAt) -> bool {
        let patience = self.get(index).and_then(|task_run| task_run.patience.as_deref());
        patience.is_some_and(|patience| patience.over.contains(&edge))
    }
}

impl World {
    /// An edge is waited for no longer.
    pub(super) fn wait_no_longer(&mut self, at: TaskRunRef, edge: EdgeAt) {
        let Some(run) = self.runs.get(&at.run) else { return };
        let plan = run.plan.clone();
        let said = match edge {
            EdgeAt::Here(up) => {
                plan.upstream(at.index).find(|(index, _)| *index == up).and_then(|(_, rule)| {
                    Some((rule.kind, edge_verdict(rule, run.get(up)?.standing())))
                })
            }
            EdgeAt::Across(_) => None,
        };
        self.change(at, |task_run| {
            let Some(patience) = task_run.patience.as_deref_mut() else { return };
            patience.open.retain(|(_, open)| *open != edge);
            if !patience.over.insert(edge) {
                return;
            }
            match (edge, said) {
                (EdgeAt::Across(nth), _) => {
                    let across = plan.across(at.index).get(nth as usize);
                    let votes = task_run.votes.get_mut(nth as usize);
                    let (Some(across), Some(votes)) = (across, votes) else { return };
                    let from = *votes;
                    votes.over = true;
                    task_run.counts.change_outside(across.rule.kind, from, *votes);
                }
                (EdgeAt::Here(_), Some((kind, said))) => {
                    task_run.counts.change(kind, said, said.without(true));
                }
                (EdgeAt::Here(_), None) => {}
            }
        });
    }
}
