//! Edges that are waited for no longer.

use super::super::EdgeAt;
use super::super::TaskRunRef;
use super::super::edges::{Standing, Verdict, edge_verdict};
use super::draft::Draft;

impl Draft<'_> {
    /// Whether an edge of a task run is waited for no longer.
    pub(super) fn is_over(&self, at: TaskRunRef, edge: EdgeAt) -> bool {
        self.over.contains(&(at, edge))
            || self.run(at.run).is_some_and(|run| run.is_over(at.index, edge))
    }

    /// Whether time will let an edge of a task run go.
    pub(super) fn is_patient(&self, at: TaskRunRef) -> bool {
        let task_run = self.run(at.run).and_then(|run| run.get(at.index));
        let Some(patience) = task_run.and_then(|it| it.patience.as_deref()) else { return false };
        patience.open.iter().any(|(_, edge)| !self.over.contains(&(at, *edge)))
    }

    /// Edges of a task run whose time is over hold from now on.
    pub(super) fn wait_no_longer(&mut self, at: TaskRunRef) {
        let patience = self.task_run(at).and_then(|task_run| task_run.patience.as_deref());
        let Some(patience) = patience else { return };
        let now = self.now;
        let due = patience.open.iter().take_while(|(until, _)| *until <= now);
        for (_, edge) in due {
            if self.over.insert((at, *edge)) {
                self.out.waited.push((at, *edge));
                self.without(at, *edge);
            }
        }
    }

    fn without(&mut self, at: TaskRunRef, edge: EdgeAt) {
        let Some(plan) = self.run(at.run).map(|run| run.plan.clone()) else { return };
        let mut edges = self.edges(at);
        let said = match edge {
            EdgeAt::Across(nth) => {
                let Some(across) = plan.across(at.index).get(nth as usize) else { return };
                let Some(mut votes) = self.votes_of(at, nth) else { return };
                let from = votes;
                votes.over = true;
                self.votes.insert((at, nth), votes);
                edges.counts.change_outside(across.rule.kind, from, votes);
                from.verdict()
            }
            EdgeAt::Here(up) => {
                let rule = plan.upstream(at.index).find(|(index, _)| *index == up);
                let upstream = TaskRunRef { run: at.run, index: up };
                let (Some((_, rule)), Some(progress)) = (rule, self.progress(upstream)) else {
                    return;
                };
                let said = edge_verdict(rule, Standing::of(progress, None));
                edges.counts.change(rule.kind, said, said.without(true));
                said
            }
        };
        edges.lost_cause |= said == Verdict::Broken;
        edges.searched = false;
        self.edges.insert(at, edges);
        self.look_at_run(at.run);
        self.touched.push_back(at);
    }
}
