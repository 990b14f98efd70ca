//! A BLOCKED task run names a task run that ended badly by itself, as the cause of one of its
//! own upstreams; and nothing stands where it cannot stay.

use mainspring::engine::{Run, Verdict, edge_verdict};
use mainspring::model::State;

use super::{Checker, Step};

pub struct BlockedBy;

impl Checker for BlockedBy {
    fn name(&self) -> &'static str {
        "blocked_by"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let mut runs: Vec<_> = step.decision.moves.iter().map(|to| to.at.run).collect();
        runs.dedup();
        runs.iter().filter_map(|run| step.world.run(*run)).try_for_each(check)
    }
}

fn check(run: &Run) -> Result<(), String> {
    for (task_run, index) in run.task_runs().iter().zip(0..) {
        let mut causes = Vec::new();
        let mut unmet = 0;
        let mut skips = 0;
        for (upstream, rule) in run.plan.upstream(index) {
            let upstream = run.task_run(upstream);
            let verdict = edge_verdict(rule, upstream.standing());
            skips += u32::from(verdict == Verdict::Skip);
            unmet += u32::from(!verdict.lets_go());
            if verdict == Verdict::Broken {
                causes.push(upstream.progress.blocked_by.unwrap_or(upstream.id));
            }
        }
        let progress = &task_run.progress;
        let fits = match progress.state {
            State::Pending => causes.is_empty() && skips == 0,
            State::Blocked => progress.blocked_by.is_some_and(|root| {
                let state = run.index_of(root).map(|root| run.task_run(root).progress.state);
                let bad = [State::Failed, State::Timeout, State::Canceled].map(Some);
                causes.contains(&root) && bad.contains(&state)
            }),
            State::Ready | State::RetryWait => unmet == 0,
            _ => true,
        };
        if !fits || progress.blocked_by.is_some() && progress.state != State::Blocked {
            return Err(format!("{progress:?} with upstream causes {causes:?}"));
        }
    }
    Ok(())
}
