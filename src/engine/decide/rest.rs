//! Attempts that rest: probes between two checks, and gates until a person speaks.
//!
//! Nothing of them is stored meanwhile but their lease, which takes no slot. So the end of a
//! process is not theirs: whoever has the run next goes on with the same attempt.

use serde_json::json;

use super::super::run::Live;
use super::super::{Effect, Rest, Rests, TaskRunRef, Word, explain};
use super::Refusal;
use super::draft::Draft;
use super::ended::stopped;
use crate::model::{AttemptRecord, AttemptStart, Instant, Outcome, State, Token};

/// The code of a gate at which somebody said no.
const REJECTED: &str = "REJECTED";

/// Characters of a note that is kept with a word.
pub(super) const LONGEST_NOTE: usize = 10_000;

/// How often a probe is asked whose version says nothing about it.
const POLL_MS: i64 = 60_000;

impl Draft<'_> {
    /// A check said no: its attempt rests until the next one. Of an attempt that was given up
    /// meanwhile it says that nothing runs any more.
    pub(super) fn not_ready(
        &mut self,
        at: TaskRunRef,
        attempt_no: u32,
        token: Token,
    ) -> Result<(), Refusal> {
        self.known_run(at.run)?;
        self.world.task_run(at).ok_or(Refusal::NoTaskRun(at))?;
        let world = self.world;
        let live =
            world.live(at).filter(|live| (live.attempt_no, live.token) == (attempt_no, token));
        match live {
            Some(live) if live.ended => self.release(at),
            Some(live) => match live.stop {
                Some(stop) => self.end_resting(at, live, stopped(stop.reason)),
                None => {
                    let rest = Some(Rest { until: Some(self.next_poll(at, live)) });
                    self.out.rests.push(Rests { at, rest, polls: live.polls + 1 });
                }
            },
            None => {}
        }
        Ok(())
    }

    /// Whole intervals after the start of the attempt, so that slow checks do not shift them.
    fn next_poll(&self, at: TaskRunRef, live: &Live) -> Instant {
        let interval = self.task(at).and_then(|task| task.def.poll_ms).unwrap_or(POLL_MS).max(1);
        let passed = self.now.millis_since(live.started_at).max(0) / interval;
        live.started_at.plus_millis((passed + 1).saturating_mul(interval))
    }

    /// The check of a probe is called again, for the same attempt.
    pub(super) fn poll(&mut self, at: TaskRunRef, live: &Live) {
        let Some(run) = self.world.run(at.run) else { return };
        let (Some(task_run), Some(task)) = (run.get(at.index), run.task(at.index)) else { return };
        let attempt = AttemptStart {
            task_run_id: task_run.id,
            attempt_no: live.attempt_no,
            token: live.token,
            nominal_at: run.row.nominal_at,
            task_version_id: task.version_id,
            node_id: self.world.node,
            started_at: live.started_at,
            slots: live.slots,
            pool: self.world.pool_of(at),
            limits: Vec::new(),
        };
        self.out.rests.push(Rests { at, rest: None, polls: live.polls });
        self.out.effects.push(Effect::Poll(at, attempt));
    }

    /// What rests has no process: it goes on here, and a check that was being called is called
    /// again.
    pub(super) fn take_on(&mut self, at: TaskRunRef, live: &Live) {
        if live.rest.is_none() {
            let rest = Some(Rest { until: Some(self.now) });
            self.out.rests.push(Rests { at, rest, polls: live.polls });
        }
    }

    /// A probe that nobody asked for a while is asked again.
    pub(super) fn ask_again(&mut self, at: TaskRunRef, live: &Live) {
        if live.rest.is_some_and(|rest| rest.until.is_none()) {
            let rest = Some(Rest { until: Some(self.now) });
            self.out.rests.push(Rests { at, rest, polls: live.polls });
        }
    }

    /// The process ends: nothing is asked any more until another one has the run.
    pub(super) fn lay_down(&mut self, at: TaskRunRef, live: &Live) {
        self.out.rests.push(Rests { at, rest: Some(Rest { until: None }), polls: live.polls });
    }

    /// An attempt ends for which nothing runs.
    pub(super) fn end_resting(&mut self, at: TaskRunRef, live: &Live, outcome: Outcome) {
        let duration_ms = self.now.millis_since(live.started_at);
        let record = AttemptRecord { duration_ms, ..AttemptRecord::default() };
        self.end(at, live, outcome, record, true, (None, None));
    }

    /// A person's word counts where it is awaited, and nowhere else.
    pub(super) fn approve(&mut self, word: &Word) -> Result<(), Refusal> {
        let at = word.at;
        let world = self.world;
        let run = self.known_run(at.run)?;
        let task = run.task(at.index).ok_or(Refusal::NoTaskRun(at))?;
        if !task.def.is_gate() {
            let gates = run.plan.tasks.iter().filter(|task| task.def.is_gate());
            return Err(Refusal::NoGate {
                run: at.run,
                task: task.def.name.clone(),
                gates: gates.map(|task| task.def.name.clone()).collect(),
            });
        }
        let waits = run.task_run(at.index).progress.state == State::Running;
        let Some(live) = world.live(at).filter(|live| waits && !live.ended) else {
            let why = explain(world, at, self.now).map(|found| found.to_string());
            return Err(Refusal::NotAwaited(why.unwrap_or_default()));
        };
        let length = word.note.as_ref().map_or(0, |note| note.chars().count());
        if length > LONGEST_NOTE {
            return Err(Refusal::LongNote(length));
        }
        let duration_ms = self.now.millis_since(live.started_at);
        let mut record = AttemptRecord { duration_ms, ..AttemptRecord::default() };
        if word.reject {
            let by = word.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let note = word.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            record.error_code = Some(REJECTED.to_owned());
            record.error = Some(format!("rejected{by}{note}"));
            self.end(at, live, Outcome::Failed, record, true, (None, None));
        } else {
            let said = json!({"by": word.by, "note": word.note, "at": self.now.to_string()});
            let result = Some(said.to_string().into());
            self.end(at, live, Outcome::Success, record, true, (result, None));
        }
        Ok(())
    }
}
