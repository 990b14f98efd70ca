//! A gate ends as somebody said: SUCCESS by a yes, FAILED with REJECTED by a no and never tried
//! again by itself; else only by a cancel or when its time is over.

use mainspring::engine::Event;
use mainspring::model::{Outcome, State};

use super::{Checker, Step};

pub struct Words;

impl Checker for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for end in &step.decision.ends {
            if !step.task(end.at).is_gate() {
                continue;
            }
            let word = match step.event {
                Event::Approve(word) if word.at == end.at => Some(word.reject),
                _ => None,
            };
            let code = end.end.record.error_code.as_deref();
            let right = match end.end.outcome {
                Outcome::Success => word == Some(false),
                Outcome::Failed => word == Some(true) && code == Some("REJECTED"),
                Outcome::Timeout => matches!(step.event, Event::Tick),
                Outcome::Canceled => match step.event {
                    Event::Cancel { .. } => true,
                    // Its deadline: another checker knows whether it has passed.
                    _ => step.decision.overdue.iter().any(|late| late.at == end.at && late.cancels),
                },
                _ => false,
            };
            let state = step.world.task_run(end.at).unwrap().progress.state;
            if !right || !state.is_final() || state == State::Skipped {
                return Err(format!("{word:?} made {:?} and {state}", end.end));
            }
        }
        Ok(())
    }
}
