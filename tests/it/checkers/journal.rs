//! Folding the journal of a run gives the state of each of its task runs.

use std::collections::BTreeMap;

use mainspring::engine::World;
use mainspring::model::State;
use mainspring::model::journal::{Entry, unpack};

use super::Checker;
use crate::sim::rows::MemoryRows;

pub struct Journal;

impl Checker for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn end(&mut self, _: &World, rows: &MemoryRows) -> Result<(), String> {
        for stored in rows.runs.values() {
            let mut fold = BTreeMap::new();
            for packed in &stored.journal {
                for entry in
                    unpack(stored.row.first_task_run_id, packed).map_err(|e| e.to_string())?
                {
                    let Entry::Moved { task_run, from, to, attempt_no, code, .. } = entry else {
                        continue;
                    };
                    let (state, _, revision, _) =
                        fold.remove(&task_run).unwrap_or((State::Pending, 0, 0, None));
                    if state != from {
                        return Err(format!("{task_run} is {state} and leaves {from}"));
                    }
                    fold.insert(task_run, (to, attempt_no, revision + 1, code));
                }
            }
            for (id, row) in &stored.task_runs {
                let p = &row.progress;
                let now = (p.state, p.attempt_no, p.revision, p.code.clone());
                if fold.get(id).unwrap_or(&(State::Pending, 0, 0, None)) != &now {
                    return Err(format!("{id}: folded {:?}, stored {now:?}", fold.get(id)));
                }
            }
        }
        Ok(())
    }
}
