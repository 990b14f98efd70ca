//! The world read back from its rows is the world there was: nothing lives in memory alone.

use mainspring::engine::World;

use super::Checker;
use crate::engine::bench::START;
use crate::sim::rows::MemoryRows;

pub struct Level;

impl Checker for Level {
    fn name(&self) -> &'static str {
        "level"
    }

    fn end(&mut self, world: &World, rows: &MemoryRows) -> Result<(), String> {
        let again = rows.world(1, mainspring::model::NodeId(9));
        for run in world.runs() {
            if again.run(run.row.id) != Some(run) {
                return Err(format!("run {} is another when read back", run.row.id));
            }
        }
        match (again.next_wake(), again.has_ready(START)) {
            (None, false) => Ok(()),
            other => Err(format!("read back it has something to do: {other:?}")),
        }
    }
}
