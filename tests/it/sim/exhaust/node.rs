//! A state of a small world: what the engine knows, what is stored, and what is really so.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mainspring::engine::{CellKey, Event, TaskRunRef, World, apply, decide};
use mainspring::model::{Instant, NodeId, RunId, Token};

use super::acts::{Act, BOUNDS, Bound, Choice, Small};
use super::naive;
use super::planted::{Fault, keep, plant};
use crate::checkers::{Canceled, Checker, Step, Truth, at_any_time, at_the_end};
use crate::engine::bench::START;
use crate::sim::rows::MemoryRows;

#[derive(Clone)]
pub struct Node {
    pub world: World,
    pub rows: MemoryRows,
    pub truth: Rc<Truth>,
    pub canceled: Canceled,
    pub now: Instant,
    /// The newest attempt of each task run whose end is recorded: it may say something yet.
    pub gone: BTreeMap<TaskRunRef, (u32, Token)>,
    /// Runs that the process has let go of.
    pub forgotten: BTreeSet<RunId>,
    /// How many runs of each list were made.
    pub made: Vec<usize>,
    /// How much is left of what happens only so many times, of each kind and in all.
    pub left: [u8; BOUNDS],
    pub troubles: u8,
    process: i64,
}

impl Node {
    /// A process that has just come up.
    pub fn first(small: &Small) -> Node {
        let rows = MemoryRows::new();
        let mut left = [0; BOUNDS];
        for (bound, count) in &small.bounds {
            left[*bound as usize] = *count;
        }
        let pools = small.pools.iter().map(|(pool, slots, _)| (pool.clone(), *slots)).collect();
        let mut node = Node {
            world: rows.world(0, NodeId(1)),
            rows,
            truth: Rc::new(Truth { pools, ..Truth::default() }),
            canceled: Canceled::default(),
            now: START,
            gone: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            made: vec![0; small.runs.len()],
            left,
            troubles: small.troubles,
            process: 1,
        };
        node.size_pools(Fault::None).unwrap();
        node
    }

    /// The state after something has happened; none where that changes nothing.
    pub fn step(
        &self,
        small: &Small,
        fault: Fault,
        choice: &Choice,
    ) -> Result<Option<Node>, String> {
        let mut next = self.clone();
        if let Some(bound) = choice.of {
            next.left[bound as usize] -= 1;
            next.troubles -= 1;
        }
        if let Some(list) = choice.makes {
            next.made[list] += 1;
        }
        match &choice.act {
            Act::Happens(event) => {
                if let Event::Rerun { run, .. } = event {
                    next.load(*run)?;
                }
                if matches!(event, Event::Tick) {
                    next.now = next.now.max(next.world.next_timer().unwrap_or(next.now));
                }
                if !next.happen(small, fault, event)? {
                    return Ok(None);
                }
            }
            Act::Later => {
                let timer = next.world.next_timer().unwrap_or(next.now);
                next.now = timer.max(next.now.plus_millis(1_000));
            }
            Act::Forget(run) => {
                if !next.world.forget(*run) {
                    return Ok(None);
                }
                next.forgotten.insert(*run);
            }
            Act::Crash => {
                let lost = NodeId(next.process);
                next.process += 1;
                next.read_anew();
                next.size_pools(fault)?;
                next.happen(small, fault, &Event::NodeLost { node: lost })?;
            }
            Act::Reread => {
                let was = next.world.interrupting();
                next.read_anew();
                next.size_pools(fault)?;
                if was {
                    next.happen(small, fault, &Event::Drain)?;
                }
            }
        }
        Ok(Some(next))
    }

    /// The world is thrown away, and read from the rows.
    fn read_anew(&mut self) {
        self.world = self.rows.world(0, NodeId(self.process));
        for run in &self.forgotten {
            self.world.forget(*run);
        }
    }

    /// Somebody has to do with a run that was let go of.
    fn load(&mut self, run: RunId) -> Result<(), String> {
        if !self.forgotten.remove(&run) {
            return Ok(());
        }
        let stored = &self.rows.runs[&run];
        let task_runs = stored.task_runs.values().cloned().collect();
        let leases = stored.leases.values().cloned().collect();
        let (row, plan) = (stored.row.clone(), stored.plan.clone());
        let loaded = self.world.load(row, stored.cancel_requested, plan, task_runs, leases);
        loaded.map_err(|broken| format!("rows: {broken}"))
    }

    fn size_pools(&mut self, fault: Fault) -> Result<(), String> {
        for (pool, slots) in self.truth.pools.clone() {
            let event = plant(fault, self, &Event::PoolSized { pool, slots });
            let decision = decide(&self.world, &event, self.now).map_err(|e| e.to_string())?;
            apply(&mut self.world, &decision).map_err(|e| format!("apply: {e}"))?;
        }
        Ok(())
    }

    /// An event is decided, committed and applied, and looked at by those who judge each step;
    /// false where it is refused or changes nothing.
    fn happen(&mut self, small: &Small, fault: Fault, event: &Event) -> Result<bool, String> {
        let given = plant(fault, self, event);
        let Ok(decision) = decide(&self.world, &given, self.now) else { return Ok(false) };
        if self.is_made_already(event) {
            return Ok(false);
        }
        match event {
            Event::PoolSized { pool, slots } => {
                self.change_truth(|truth| truth.pools.insert(pool.clone(), *slots));
            }
            Event::CreateRun(new) => {
                let id = RunId(self.rows.runs.len() as i64 + 1);
                self.change_truth(|truth| truth.plans.insert(id, new.plan.clone()));
            }
            _ => {}
        }
        naive::starts(small, self, &decision)?;
        self.rows.commit(&decision).map_err(|wrong| format!("rows: {wrong}"))?;
        keep(fault, &mut self.rows);
        // What was written down long ago decides nothing.
        self.rows.runs.values_mut().for_each(|stored| stored.journal.clear());
        apply(&mut self.world, &decision).map_err(|wrong| format!("apply: {wrong}"))?;
        let step = Step {
            now: self.now,
            event,
            decision: &decision,
            world: &self.world,
            truth: &self.truth,
        };
        for mut checker in at_any_time() {
            let is_for_this = match checker.name() {
                // It knows what an edge inside of a run is blocked by; `naive` knows the others.
                "blocked_by" => small.first.is_none(),
                // What looks at other runs leaves the queue until these are read.
                "order" => self.world.unread_cells().next().is_none(),
                _ => true,
            };
            if is_for_this {
                checker.step(&step).map_err(|wrong| format!("{}: {wrong}", checker.name()))?;
            }
        }
        self.canceled.step(&step).map_err(|wrong| format!("canceled: {wrong}"))?;
        let ended = decision.ends.iter();
        self.gone.extend(ended.map(|end| (end.at, (end.end.attempt_no, end.end.token))));
        Ok(!decision.is_empty())
    }

    /// Whether the store knows of a run that the engine would make, because it let go of it; the
    /// driver tells it so.
    fn is_made_already(&mut self, event: &Event) -> bool {
        let Event::CreateRun(new) = event else { return false };
        let forgotten = self.forgotten.iter().map(|run| &self.rows.runs[run].row);
        let wanted = (new.plan.dag_id, new.nominal_at);
        let made = forgotten.into_iter().find(|row| (row.dag_id, row.nominal_at) == wanted);
        let Some((key, run)) = made.and_then(|row| Some((row.timed_key()?, row.id))) else {
            return false;
        };
        self.world.know_timed(key, run);
        decide(&self.world, event, self.now).is_err()
    }

    fn change_truth<T>(&mut self, change: impl FnOnce(&mut Truth) -> T) {
        let mut truth = (*self.truth).clone();
        change(&mut truth);
        self.truth = Rc::new(truth);
    }

    /// What the driver reads of cells that nobody has read.
    pub fn read(&self, small: &Small) -> Event {
        self.read_all(small, &self.world)
    }

    fn read_all(&self, small: &Small, world: &World) -> Event {
        let unread: Vec<CellKey> = world.unread_cells().cloned().collect();
        let known = |key: CellKey| (key.clone(), naive::known(small, &self.rows, &key));
        Event::Read(unread.into_iter().map(known).collect())
    }

    /// What holds in every state: the rows say what the world says, a world that is read from them
    /// has nothing to do that this one has not, and everything stands where its edges let it.
    pub fn check(&self, small: &Small, fault: Fault) -> Result<(), String> {
        for run in self.world.runs() {
            let stored = &self.rows.runs[&run.row.id];
            let mut same =
                (&stored.row, stored.cancel_requested) == (&run.row, run.cancel_requested);
            for task_run in run.task_runs() {
                let row = &stored.task_runs[&task_run.id];
                same &= row.progress == task_run.progress;
                same &= match (stored.leases.get(&task_run.id), &task_run.live) {
                    (None, None) => true,
                    (Some(lease), Some(live)) => {
                        let of_row = (lease.attempt_no, lease.token, lease.slots, lease.node_id);
                        of_row == (live.attempt_no, live.token, live.slots, live.node_id)
                            && (live.ended || lease.stop_reason == live.stop.map(|s| s.reason))
                    }
                    _ => false,
                };
            }
            if !same {
                return Err(format!("level: run {} is stored otherwise: {run:?}", run.row.id));
            }
        }
        if self.world.unread_cells().next().is_some() || fault.is_seen_at_starts() {
            return Ok(());
        }
        let mut again = self.rows.world(0, NodeId(self.process));
        for run in &self.forgotten {
            again.forget(*run);
        }
        let read = decide(&again, &self.read_all(small, &again), self.now);
        let read = read.map_err(|refusal| refusal.to_string())?;
        if !read.moves.is_empty() {
            return Err(format!("level: read back it has something to do: {:?}", read.moves));
        }
        apply(&mut again, &read).map_err(|wrong| format!("apply: {wrong}"))?;
        for run in self.world.runs() {
            // A lease as it is stored knows less of its times.
            let is_quiet = run.task_runs().iter().all(|task_run| task_run.live.is_none());
            if is_quiet && again.run(run.row.id) != Some(run) {
                return Err(format!("level: run {} is another when read back", run.row.id));
            }
        }
        naive::stands(small, self)
    }

    /// What holds where nothing is left to do.
    pub fn check_end(&self, small: &Small) -> Result<(), String> {
        for mut checker in at_the_end() {
            // Edges to other runs are to be read first, which `check` does.
            if small.first.is_none() || checker.name() != "level" {
                let end = checker.end(&self.world, &self.rows);
                end.map_err(|wrong| format!("{}: {wrong}", checker.name()))?;
            }
        }
        Ok(())
    }

    /// How often something may still happen.
    pub fn left(&self, bound: Bound) -> u8 {
        self.left[bound as usize].min(self.troubles)
    }
}
