//! A task is skipped when its run is made exactly where the day of the run is none of its days,
//! which a table knows; and with that code no task run is skipped otherwise.

use mainspring::engine::{Event, TaskRunRef};
use mainspring::model::{RunDays, State};

use super::{Checker, Step};
use crate::sim::DAYS;

pub struct RunOn;

impl Checker for RunOn {
    fn name(&self) -> &'static str {
        "run_on"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let with_code = |at: TaskRunRef| {
            let mut moves = step.decision.moves.iter();
            moves.any(|to| {
                to.at == at
                    && to.to.state == State::Skipped
                    && to.to.code.as_deref() == Some("RUN_ON")
            })
        };
        let Event::CreateRun(new) = step.event else {
            let late = step.decision.moves.iter().find(|to| with_code(to.at));
            return late.map_or(Ok(()), |late| Err(format!("skipped later: {late:?}")));
        };
        for create in &step.decision.creates {
            for (index, task) in (0u32..).zip(&step.truth.plans[&create.row.id].tasks) {
                let named = |rule: &str, biz: bool| {
                    let row = DAYS.iter().find(|row| (row.0, row.1) == (rule, biz));
                    row.unwrap().2
                };
                let day = match &task.def.policy.run_on {
                    None => true,
                    Some(on) => match &on.days {
                        RunDays::Rule(rule) => named(rule, on.biz_date),
                        RunDays::Calendar(_) => return Err("no world draws this".into()),
                    },
                };
                let chosen = new.only.as_ref().is_none_or(|only| only.contains(&index));
                let meant = chosen && !new.force && !day;
                let at = TaskRunRef { run: create.row.id, index };
                if with_code(at) != meant {
                    return Err(format!("{at:?}: {:?}, forced {}", task.def.policy, new.force));
                }
            }
        }
        Ok(())
    }
}
