//! After the commit: those who wait are told, attempts are handed to their executor.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Driver, Message, Waiting};
use crate::engine::{Effect, Kept, Place, Report, TaskRunRef, results_asked};
use crate::model::{AttemptRecord, AttemptStart, Outcome, RunId, State};
use crate::runtime::crash;
use crate::runtime::executor::{Executor as _, Input, Job, JobItem, Said, Stoppable};
use crate::runtime::logs::LogSink;
use crate::runtime::render::Texts;

impl Driver {
    /// Tells those who wait, after the commit.
    pub(super) fn tell(&mut self, runs: &[RunId], waiting: Waiting) {
        for run in runs {
            let (Some(driven), Some(found)) = (self.runs.get(run), self.world.run(*run)) else {
                continue;
            };
            driven.watch.update(|status| {
                status.state = found.row.state;
                status.stalled = None;
                for (at, state) in State::ALL.iter().enumerate() {
                    if let Some(count) = status.counts.get_mut(at) {
                        *count = found.count(*state);
                    }
                }
                let live = driven.live.iter();
                let named = |gates: bool| {
                    let these = live.clone().filter(move |index| {
                        found.task(**index).is_some_and(|task| task.def.is_gate() == gates)
                    });
                    these.take(8).map(|index| found.name(*index)).collect()
                };
                (status.running, status.awaited) = (named(false), named(true));
            });
        }
        for (reply, run) in waiting.made {
            if let Some(driven) = self.runs.get(&run) {
                let made = reply.send(Ok((run, Arc::clone(&driven.watch))));
                if made.is_err() {
                    // Whoever asked did not wait: nobody knows of this run.
                    self.held.push(Message::Cancel { run, only: None, grace_ms: Some(0) });
                }
            }
        }
        for (reply, run) in waiting.adopted {
            if let Some(driven) = self.runs.get(&run) {
                let _ = reply.send(Ok(Arc::clone(&driven.watch)));
            }
        }
        self.tell_backfills(waiting.backfills);
        for reply in waiting.rerun.into_iter().chain(waiting.done) {
            let _ = reply.send(Ok(()));
        }
    }

    /// Performs what a turn decided, in its order; attempts go to the pool together.
    pub(super) fn perform(&mut self, effects: Vec<Effect>) {
        let mut jobs = Vec::new();
        for effect in effects {
            match effect {
                Effect::Start(at, attempt) => jobs.extend(self.start(at, attempt, true)),
                Effect::Poll(at, attempt) if self.closing => {
                    // Nothing is begun any more; whoever has the run next asks.
                    let (attempt_no, token) = (attempt.attempt_no, attempt.token);
                    self.held.push(Message::NotReady { at, attempt_no, token });
                }
                Effect::Poll(at, attempt) => jobs.extend(self.start(at, attempt, false)),
                Effect::Stop { at, attempt_no, reason, grace_ms, .. } => {
                    if let Some(report) = self.stubs.stop(at, attempt_no) {
                        self.instant.push(report);
                        continue;
                    }
                    self.hand_out(std::mem::take(&mut jobs));
                    crash::at("stop.before");
                    self.pool.stop(at, attempt_no, reason, grace_ms);
                    crash::at("stop.after");
                }
                Effect::RunEnded(run) => {
                    // A run whose threads have not all ended stays until their slots are back.
                    if self.world.forget(run) {
                        self.runs.remove(&run);
                    }
                }
            }
        }
        self.hand_out(jobs);
    }

    /// What the upstreams returned that the run of a backfill leaves out.
    fn results_outside(&mut self, at: TaskRunRef) -> BTreeMap<String, Input> {
        let Some(run) = self.world.run(at.run).filter(|run| run.row.backfill_id.is_some()) else {
            return BTreeMap::new();
        };
        let Some(task) = run.task(at.index) else { return BTreeMap::new() };
        let asked = results_asked(&run.row.dag, &task.def);
        let inputs = task.def.inputs.values().cloned();
        let names: Vec<String> = inputs.chain(asked).collect();
        let result = |name: String| Some((name.clone(), self.result_outside(at, &name)?));
        names.into_iter().filter_map(result).collect()
    }

    fn hand_out(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        crash::at("start.before");
        self.pool.submit(jobs);
        crash::at("start.after");
    }

    /// The job of an attempt that begins, or of one whose check is called again; none where
    /// nothing has to be called.
    fn start(&mut self, at: TaskRunRef, attempt: AttemptStart, begins: bool) -> Option<Job> {
        let outside = self.results_outside(at);
        let (driven, run) = (self.runs.get(&at.run)?, self.world.run(at.run)?);
        let (task, planned) = (run.task(at.index)?, run.planned(at.index));
        if task.def.is_gate() {
            return None;
        }
        if !self.stubs.is_empty() {
            let key = format!("{}.{}", run.row.dag, task.def.name);
            if let Some(stub) = self.stubs.plan.of(&key).cloned() {
                self.stubs.start(&stub, at, &attempt, task.def.fingerprint);
                return None;
            }
        }
        if task.def.kind == "noop" {
            self.instant.push(Report {
                at,
                attempt_no: attempt.attempt_no,
                token: attempt.token,
                outcome: Outcome::Success,
                result: None,
                result_uri: None,
                record: AttemptRecord::default(),
                released: true,
                texts: None,
            });
            return None;
        }
        let result_of = |upstream: &str| {
            if let Some(input) = outside.get(upstream) {
                return input.clone();
            }
            let found = driven
                .plan
                .graph
                .upstream(planned)
                .iter()
                .find(|index| driven.plan.tasks[**index as usize].def.name == upstream);
            match found.map(|index| &run.task_run(*index).progress) {
                Some(progress) => match Kept::result(progress) {
                    Kept::Text(text) => Input::Text(text),
                    Kept::File(uri) => Input::File(uri),
                    Kept::Nothing => Input::Nothing,
                },
                None => Input::Nothing,
            }
        };
        let inputs = task.def.inputs.iter().map(|(name, from)| (name.clone(), result_of(from)));
        let asked = results_asked(&driven.info.dag, &task.def).into_iter();
        let texts =
            Texts::of(&task.def, asked.map(|name| (name.clone(), result_of(&name))).collect());
        let task_run = run.get(at.index)?;
        let item = match (&task_run.place, &task_run.progress.item) {
            (Place::Item { map_index, .. }, Some(text)) => {
                Some(JobItem { map_index: *map_index, text: Arc::clone(text) })
            }
            _ => None,
        };
        let made = |sink: fn(&_, &_, _, _, _) -> LogSink| {
            sink(&self.files, &self.clock, at.run, attempt.task_run_id, attempt.attempt_no)
        };
        let log = match task.def.is_probe() {
            false => Arc::new(made(LogSink::new)),
            true if begins => self.resting.log(at, &attempt, || made(LogSink::new)),
            true => self.resting.log(at, &attempt, || made(LogSink::continued)),
        };
        Some(Job {
            at,
            attempt,
            def: Arc::clone(driven.light.get(&planned).unwrap_or(&task.def)),
            run: Arc::clone(&driven.info),
            item,
            inputs: inputs.collect(),
            texts,
            host: Arc::clone(driven.earlier.get(&planned).unwrap_or(&driven.host)),
            log,
            clock: self.clock.clone(),
            stoppable: Stoppable::default(),
            said: Said::default(),
        })
    }
}
