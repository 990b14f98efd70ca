//! Schedules make no run of a dag that has as many live ones as may be. A fire of several targets
//! goes alone if it is more than that.

use mainspring::model::RunState;

use super::{Checker, Step};

pub struct AtOnce;

impl Checker for AtOnce {
    fn name(&self) -> &'static str {
        "at_once"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let creates = step.decision.creates.iter().filter(|create| !create.schedules.is_empty());
        for create in creates {
            let dag = create.row.dag_id;
            let of_dag = |row: &mainspring::model::RunRow| row.dag_id == dag;
            let made = step.decision.creates.iter().filter(|create| of_dag(&create.row)).count();
            let live = step.world.runs().filter(|run| of_dag(&run.row));
            let live = live.filter(|run| run.row.state == RunState::Running).count();
            let most = step.truth.most[&dag] as usize;
            if live > most && live > made {
                return Err(format!("{live} of {most} runs, {made} of them new"));
            }
        }
        Ok(())
    }
}
