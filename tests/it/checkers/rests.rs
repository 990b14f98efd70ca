//! Probes and gates hold no slot, are never lost, and one check of a probe is called at a time,
//! never sooner than the interval says.

use std::collections::BTreeMap;

use mainspring::engine::{Effect, Event, TaskRunRef};
use mainspring::model::{Instant, Outcome};

use super::{Checker, Step};

/// A live attempt of a probe.
struct Asked {
    attempt_no: u32,
    since: Instant,
    /// Whether its check is being called.
    now: bool,
    /// When it was answered last.
    answered: Option<Instant>,
}

#[derive(Default)]
pub struct Rests(BTreeMap<TaskRunRef, Asked>);

impl Checker for Rests {
    fn name(&self) -> &'static str {
        "rests"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for start in &step.decision.starts {
            let task = step.task(start.at);
            if task.rests() && start.attempt.slots != 0 {
                return Err(format!("{:?} takes slots", start.attempt));
            }
            if task.is_probe() {
                let (attempt_no, since) = (start.attempt.attempt_no, step.now);
                self.0.insert(start.at, Asked { attempt_no, since, now: true, answered: None });
            }
        }
        self.answer(step);
        for end in &step.decision.ends {
            let task = step.task(end.at);
            // An executor may say so of a check that it called; a node never takes one with it.
            let told = matches!(step.event, Event::AttemptEnded(_));
            if task.rests() && end.end.outcome == Outcome::Lost && !told {
                return Err(format!("lost while it rested: {:?}", end.end));
            }
            self.0.remove(&end.at);
        }
        for effect in &step.decision.effects {
            if let Effect::Poll(at, attempt) = effect {
                self.poll(step, *at, attempt.attempt_no)?;
            }
        }
        Ok(())
    }
}

impl Rests {
    fn answer(&mut self, step: &Step) {
        match step.event {
            Event::NotReady { at, attempt_no, .. } => {
                let asked = self.0.get_mut(at).filter(|asked| asked.attempt_no == *attempt_no);
                if let Some(asked) = asked {
                    (asked.now, asked.answered) = (false, Some(step.now));
                }
            }
            // Checks go with the process that called them.
            Event::NodeLost { .. } => {
                self.0.values_mut().for_each(|asked| (asked.now, asked.answered) = (false, None));
            }
            _ => {}
        }
    }

    fn poll(&mut self, step: &Step, at: TaskRunRef, attempt_no: u32) -> Result<(), String> {
        let interval = step.task(at).poll_ms.ok_or("only probes are asked again")?;
        let asked = self.0.get_mut(&at).ok_or("nobody asks whose attempt has ended")?;
        if asked.now || asked.attempt_no != attempt_no {
            return Err(format!("{at:?} is asked twice at once"));
        }
        if let Some(answered) = asked.answered {
            let whole = answered.millis_since(asked.since) / interval + 1;
            if step.now < asked.since.plus_millis(whole * interval) {
                return Err(format!("{at:?} is asked too soon"));
            }
        }
        asked.now = true;
        Ok(())
    }
}
