//! What a scheduler did, for whoever reads its log: said after the commit, and kept only until it
//! is read.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::engine::{Decision, World};
use crate::model::{Date, Instant, Outcome, RunId};

/// What is not read is forgotten beyond so many, the oldest first.
const KEPT: usize = 10_000;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum News {
    /// A run was made.
    RunMade {
        /// When.
        at: Instant,
        /// The run.
        run: RunId,
        /// Its dag.
        dag: String,
        /// The instant it is meant for.
        nominal_at: Instant,
        /// The day its data belongs to.
        biz_date: Date,
        /// What made it.
        trigger: &'static str,
    },
    /// A run cannot move any more, or can again.
    RunMoved {
        /// When.
        at: Instant,
        /// The run.
        run: RunId,
        /// Its dag.
        dag: String,
        /// Its state.
        state: &'static str,
        /// Seconds since it was made.
        seconds: f64,
    },
    /// An attempt ended, and not well.
    AttemptEnded {
        /// When.
        at: Instant,
        /// The run.
        run: RunId,
        /// `dag.task`.
        task: String,
        /// Which attempt.
        attempt: u32,
        /// How it ended.
        outcome: &'static str,
        /// The code of its error.
        code: Option<String>,
        /// The first line of its error.
        error: Option<String>,
    },
    /// A task run is open beyond its deadline.
    Overdue {
        /// When this was seen.
        at: Instant,
        /// The run.
        run: RunId,
        /// `dag.task`.
        task: String,
        /// Its deadline.
        deadline_at: Instant,
        /// Where it stands.
        state: &'static str,
        /// Whether it is canceled for that.
        canceled: bool,
    },
    /// Task runs wait for each other, and nothing lets them go by itself.
    Circle {
        /// When this was seen.
        at: Instant,
        /// A run of it.
        run: RunId,
        /// Who waits for whom.
        why: String,
    },
    /// Fires made no run.
    Skipped {
        /// When this was decided.
        at: Instant,
        /// `dag.schedule`.
        schedule: String,
        /// The first.
        from: Instant,
        /// The last.
        to: Instant,
        /// How many.
        count: i64,
        /// Why.
        reason: &'static str,
    },
    /// A dag or a run of it is stored in a way that cannot be read. Others go on without it.
    Unreadable {
        /// When.
        at: Instant,
        /// The dag, which is not served; none where it is a run.
        dag: Option<String>,
        /// The run, which does not go on.
        run: Option<RunId>,
        /// Why.
        why: String,
    },
    /// This process may not decide any more: another one has taken over, or its file is gone.
    Fenced {
        /// When it learnt that.
        at: Instant,
        /// Why.
        why: String,
    },
    /// Nothing can be written, or it can again.
    Stalled {
        /// Since when.
        at: Instant,
        /// Why; nothing when it is over.
        why: Option<String>,
    },
}

/// What was not read yet.
#[derive(Debug, Default)]
pub struct Told(Mutex<VecDeque<News>>);

impl Told {
    /// Takes all that was not read yet, the oldest first.
    pub fn take(&self) -> Vec<News> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    /// Tells one thing.
    pub(super) fn tell(&self, news: News) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() == KEPT {
            told.pop_front();
        }
        told.push_back(news);
    }

    /// Tells what a decision brought about.
    pub(super) fn tell_of(&self, decision: &Decision, world: &World, now: Instant) {
        for create in &decision.creates {
            let row = &create.row;
            self.tell(News::RunMade {
                at: now,
                run: row.id,
                dag: row.dag.clone(),
                nominal_at: row.nominal_at,
                biz_date: row.biz_date,
                trigger: row.trigger.as_str(),
            });
        }
        for end in decision.ends.iter().filter(|end| end.end.outcome != Outcome::Success) {
            let Some(run) = world.run(end.at.run) else { continue };
            let name = run.name(end.at.index);
            let first_line = |text: &String| text.lines().next().unwrap_or_default().to_owned();
            self.tell(News::AttemptEnded {
                at: end.end.finished_at,
                run: end.at.run,
                task: format!("{}.{name}", run.row.dag),
                attempt: end.end.attempt_no,
                outcome: end.end.outcome.as_str(),
                code: end.end.record.error_code.clone(),
                error: end.end.record.error.as_ref().map(first_line),
            });
        }
        for overdue in &decision.overdue {
            let Some(run) = world.run(overdue.at.run) else { continue };
            let task = run.plan.tasks.get(overdue.at.index as usize);
            let name = task.map_or("?", |task| &task.def.name);
            let state = run.get(overdue.at.index).map_or("?", |t| t.progress.state.as_str());
            self.tell(News::Overdue {
                at: overdue.when,
                run: overdue.at.run,
                task: format!("{}.{name}", run.row.dag),
                deadline_at: overdue.deadline_at,
                state,
                canceled: overdue.cancels,
            });
        }
        for to in &decision.run_moves {
            let Some(run) = world.run(to.run) else { continue };
            if to.from == to.to {
                continue;
            }
            self.tell(News::RunMoved {
                at: now,
                run: to.run,
                dag: run.row.dag.clone(),
                state: to.to.as_str(),
                seconds: now.millis_since(run.row.created_at) as f64 / 1_000.0,
            });
        }
        for to in &decision.schedules {
            let Some(schedule) = world.schedule(to.schedule) else { continue };
            let dag = world.served_dag(schedule.dag);
            for (skip, _) in &to.skips {
                self.tell(News::Skipped {
                    at: now,
                    schedule: format!("{}.{}", dag.map_or("?", |dag| &dag.key), schedule.def.name),
                    from: skip.from,
                    to: skip.to,
                    count: skip.count,
                    reason: skip.reason.as_str(),
                });
            }
        }
    }
}
