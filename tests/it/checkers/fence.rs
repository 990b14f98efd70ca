//! Only a report of the current attempt ends it: a success comes from the attempt that made it.

use mainspring::engine::Event;
use mainspring::model::{Outcome, State};

use super::{Checker, Step};

pub struct Fence;

impl Checker for Fence {
    fn name(&self) -> &'static str {
        "fence"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let report = match step.event {
            Event::AttemptEnded(report) => Some(report),
            _ => None,
        };
        for end in &step.decision.ends {
            if let Some(report) = report
                && (report.at, report.attempt_no, report.token)
                    != (end.at, end.end.attempt_no, end.end.token)
            {
                return Err(format!("{report:?} ended {:?}", end.end));
            }
            let word = match step.event {
                Event::Approve(word) => word.at == end.at && !word.reject,
                _ => false,
            };
            let success = report.is_some_and(|report| report.outcome == Outcome::Success) || word;
            if end.end.outcome == Outcome::Success && !success {
                return Err(format!("nobody reported this: {:?}", end.end));
            }
        }
        for to in step.decision.moves.iter().filter(|to| to.to.state == State::Success) {
            let end = step.decision.ends.iter().find(|end| end.at == to.at);
            let collected = matches!(step.event, Event::Collect { at, .. } if *at == to.at);
            if !collected && end.is_none_or(|end| end.end.outcome != Outcome::Success) {
                return Err(format!("no attempt succeeded: {to:?}"));
            }
        }
        Ok(())
    }
}
