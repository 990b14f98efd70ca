//! The runs of a plan: cells of one target and one fire are computed together.

use std::collections::BTreeMap;

use super::facts::Past;
use super::order::Waits;
use super::planner::Planner;
use super::sheet::Cell;
use super::{Refused, hash::Hash};
use crate::model::{
    BackfillOrder, BackfillPlan, BackfillTask, Column, Conflict, Grid, Planned, PlannedRun, Row,
    RunId, TaskSet, Why,
};

/// No run.
const NONE: u32 = u32::MAX;

/// A run before it is in order.
struct Raw {
    target: u32,
    fire: u32,
    set: u32,
}

impl<P: Past> Planner<'_, P> {
    /// Puts everything together.
    pub fn finish(mut self) -> Result<Planned, Refused<P::Error>> {
        // Tasks of which something is shown, and their numbers in the plan.
        let shown: Vec<u32> = (self.sheets.iter().zip(0u32..))
            .filter(|(sheet, at)| self.asked.contains(at) || sheet.shown().next().is_some())
            .map(|(_, at)| at)
            .collect();
        let mut numbers = vec![NONE; self.sheets.len()];
        for (number, task) in (0u32..).zip(&shown) {
            numbers[*task as usize] = number;
        }
        let (runs, sets) = self.gather(&numbers);
        let (order, waits) = self.arrange(&runs, &sets, &shown);
        let planned: Vec<PlannedRun> = order
            .iter()
            .map(|(run, group)| {
                let run = &runs[*run as usize];
                let timeline = self.board.targets[run.target as usize].timeline;
                let times = &self.board.timelines[timeline];
                PlannedRun {
                    set: run.set,
                    group: *group,
                    nominal_at: times.at(run.fire),
                    biz_date: times.date(run.fire),
                    interval: times.interval(run.fire),
                }
            })
            .collect();
        let tasks: Vec<BackfillTask> = shown.iter().map(|task| self.task(*task)).collect();
        let grids = self.grids(&shown);
        let conflicts = self.conflicts(&shown);
        let hash = self.hash(&shown, &planned, &sets);
        let versions = shown.iter().map(|task| self.board.nodes[*task as usize].number).collect();
        let plan = BackfillPlan { ask: self.ask.clone(), tasks, sets, runs: planned, hash };
        let estimate = self.estimate(&plan, &shown, &waits, &order)?;
        Ok(Planned { plan, versions, grids, conflicts, estimate, made_at: self.now })
    }

    fn task(&self, task: u32) -> BackfillTask {
        let node = &self.board.nodes[task as usize];
        BackfillTask {
            dag: self.facts.dags[node.dag].key.clone(),
            name: node.task.def.name.clone(),
            task_id: node.task.task_id,
            version_id: node.task.version_id,
            batch: node.task.def.batch,
        }
    }

    /// The runs, by target and fire, and the sets of tasks that they hold.
    fn gather(&self, numbers: &[u32]) -> (Vec<Raw>, Vec<TaskSet>) {
        let (mut runs, mut sets) = (Vec::new(), Vec::new());
        for (target, firing) in (0u32..).zip(&self.board.targets) {
            let mut known: BTreeMap<(Vec<u32>, Vec<u32>), u32> = BTreeMap::new();
            let times = &self.board.timelines[firing.timeline];
            let members: Vec<u32> = firing
                .tasks
                .iter()
                .copied()
                .filter(|task| numbers[*task as usize] != NONE)
                .collect();
            if members.is_empty() {
                continue;
            }
            let mut wanted: (Vec<u32>, Vec<u32>) = Default::default();
            for fire in 0..times.len() {
                let (tasks, keep) = (&mut wanted.0, &mut wanted.1);
                tasks.clear();
                keep.clear();
                for task in &members {
                    let cell = self.sheets[*task as usize].get(fire);
                    let number = numbers[*task as usize];
                    tasks.extend(cell.is_in().then_some(number));
                    keep.extend((cell.is_in() && cell.keep).then_some(number));
                }
                if tasks.is_empty() {
                    continue;
                }
                let set = match known.get(&wanted) {
                    Some(set) => *set,
                    None => {
                        let set = sets.len() as u32;
                        known.insert(wanted.clone(), set);
                        sets.push(TaskSet {
                            dag: self.facts.dags[firing.dag].key.clone(),
                            tasks: wanted.0.clone(),
                            keep: wanted.1.clone(),
                            timezone: times.timezone.clone(),
                            alone: firing.alone,
                        });
                        set
                    }
                };
                runs.push(Raw { target, fire, set });
            }
        }
        (runs, sets)
    }

    /// The order of the runs, with their groups.
    fn arrange(
        &mut self,
        runs: &[Raw],
        sets: &[TaskSet],
        shown: &[u32],
    ) -> (Vec<(u32, u32)>, Waits) {
        // The run of a fire, by target.
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); self.board.targets.len()];
        for (number, run) in (0u32..).zip(runs) {
            let of_target = &mut places[run.target as usize];
            of_target.resize((run.fire as usize + 1).max(of_target.len()), NONE);
            of_target[run.fire as usize] = number;
        }
        let place = |target: u32, fire: u32| {
            places[target as usize].get(fire as usize).copied().unwrap_or(NONE)
        };
        let mut waits = Waits::new(runs.len() as u32);
        for task in shown {
            let target = self.board.nodes[*task as usize].target;
            for at in 0..self.board.nodes[*task as usize].looks.len() {
                let look = self.board.nodes[*task as usize].looks[at].clone();
                if !shown.contains(&look.up) {
                    continue;
                }
                let up_target = self.board.nodes[look.up as usize].target;
                let timeline = self.board.nodes[*task as usize].timeline;
                let by_date = self.board.is_by_date(look.pairing);
                let is_in = |fire: &u32| self.sheets[*task as usize].get(*fire).is_in();
                let fires: Vec<u32> = (0..self.board.timelines[timeline].len()).collect();
                let times = &self.board.timelines[timeline];
                let together: Vec<&[u32]> = match by_date {
                    true => fires.chunk_by(|a, b| times.date(*a) == times.date(*b)).collect(),
                    false => fires.chunks(1).collect(),
                };
                for fires in together {
                    let downs: Vec<u32> =
                        fires.iter().filter(|at| is_in(at)).map(|at| place(target, *at)).collect();
                    let Some(first) = fires.first().filter(|_| !downs.is_empty()) else { continue };
                    let sheet = &self.sheets[look.up as usize];
                    let pairs = self.board.pairs(look.pairing, *first);
                    let ups = pairs.iter().flat_map(|(first, end)| *first..*end);
                    let ups: Vec<u32> = ups
                        .filter(|fire| sheet.get(*fire).is_in())
                        .map(|fire| place(up_target, fire))
                        .collect();
                    waits.add(&ups, &downs);
                }
            }
        }
        self.join_batches(runs, sets, shown, &mut waits);
        let sign = match self.ask.order {
            BackfillOrder::Asc => 1,
            BackfillOrder::Desc => -1,
        };
        let key = |run: u32| {
            let run = &runs[run as usize];
            let times = &self.board.timelines[self.board.targets[run.target as usize].timeline];
            let at = times.at(run.fire);
            let date = i64::from(times.date(run.fire).0);
            (sign * date, sign * at.0)
        };
        let order = waits.order(&key);
        (order, waits)
    }

    /// Runs in a row of a task whose dates are computed as one block are made together.
    fn join_batches(&self, runs: &[Raw], sets: &[TaskSet], shown: &[u32], waits: &mut Waits) {
        for (number, task) in (0u32..).zip(shown) {
            let node = &self.board.nodes[*task as usize];
            if !node.task.def.batch {
                continue;
            }
            let times = &self.board.timelines[node.timeline];
            let mut of_task: Vec<(i64, u32, u32)> = (0u32..)
                .zip(runs)
                .filter(|(_, run)| run.target == node.target)
                .filter(|(_, run)| sets[run.set as usize].tasks.contains(&number))
                .map(|(at, run)| (times.at(run.fire).0, run.fire, at))
                .collect();
            of_task.sort_unstable();
            for pair in of_task.windows(2) {
                let (from, to) = (times.interval(pair[0].1), times.interval(pair[1].1));
                // A date in between that is not computed ends a block.
                if from.1 == to.0 {
                    waits.join(pair[0].2, pair[1].2);
                }
            }
        }
    }

    /// What is said of all cells, by timeline.
    fn grids(&self, shown: &[u32]) -> Vec<Grid> {
        let mut by_timeline: BTreeMap<usize, Vec<(u32, u32)>> = BTreeMap::new();
        for (number, task) in (0u32..).zip(shown) {
            let timeline = self.board.nodes[*task as usize].timeline;
            by_timeline.entry(timeline).or_default().push((number, *task));
        }
        let mut grids = Vec::new();
        for (timeline, tasks) in by_timeline {
            let times = &self.board.timelines[timeline];
            let is_shown = |fire: &u32| {
                tasks.iter().any(|(_, task)| self.sheets[*task as usize].get(*fire).is_shown())
            };
            let fires: Vec<u32> = (0..times.len()).filter(is_shown).collect();
            let mut places: Vec<(Column, Option<u32>, u8)> = fires
                .iter()
                .map(|fire| {
                    let column =
                        Column { nominal_at: Some(times.at(*fire)), biz_date: times.date(*fire) };
                    (column, Some(*fire), 0)
                })
                .collect();
            let empty = self.empty.iter().filter(|(of, ..)| *of == timeline);
            places.extend(empty.map(|(_, date, why)| {
                (Column { nominal_at: None, biz_date: *date }, None, why.code())
            }));
            if !places.is_sorted_by_key(|(column, ..)| (column.biz_date, column.nominal_at)) {
                places.sort_by_key(|(column, ..)| (column.biz_date, column.nominal_at));
            }
            let rows = tasks.iter().map(|(number, task)| {
                let sheet = &self.sheets[*task as usize];
                let is_asked = self.asked.contains(task);
                let why = places.iter().map(|(_, fire, why)| match fire {
                    Some(fire) => sheet.get(*fire).why_code(),
                    None if is_asked => *why,
                    None => u8::MAX,
                });
                Row { task: *number, why: why.collect() }
            });
            let rows = rows.collect();
            let columns = places.into_iter().map(|(column, ..)| column).collect();
            let timezone = times.timezone.clone();
            grids.push(Grid { timezone, columns, rows });
        }
        grids
    }

    fn conflicts(&self, shown: &[u32]) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        for (number, task) in (0u32..).zip(shown) {
            let node = &self.board.nodes[*task as usize];
            let times = &self.board.timelines[node.timeline];
            for (fire, cell) in self.sheets[*task as usize].shown() {
                let (at, date) = (times.at(fire), times.date(fire));
                let held = || self.facts.held.get(&(node.task.task_id, at)).copied();
                let (run, backfill) = match cell.why() {
                    Some(Why::Running) => (Some(RunId(cell.run)), None),
                    Some(Why::InBackfill) => (None, held()),
                    _ => continue,
                };
                conflicts.push(Conflict {
                    task: number,
                    nominal_at: at,
                    biz_date: date,
                    run,
                    backfill,
                });
            }
        }
        conflicts
    }

    fn hash(&self, shown: &[u32], runs: &[PlannedRun], sets: &[TaskSet]) -> String {
        let mut hash = Hash::new();
        hash.text(&serde_json::to_string(self.ask).unwrap_or_default());
        for task in shown {
            let node = &self.board.nodes[*task as usize];
            hash.text(&node.key);
            hash.add(node.task.version_id.0);
            if let Some((_, version)) = node.share {
                hash.add(version.0);
            }
            let times = &self.board.timelines[node.timeline];
            for (fire, cell) in self.sheets[*task as usize].shown() {
                hash.add(times.at(fire).0);
                hash.add(said(cell));
                hash.add(i64::from(cell.why_code()));
            }
        }
        for set in sets {
            set.tasks.iter().for_each(|task| hash.add(i64::from(*task)));
            set.keep.iter().for_each(|task| hash.add(-1 - i64::from(*task)));
        }
        for run in runs {
            hash.add(i64::from(run.set));
            hash.add(i64::from(run.group));
            hash.add(run.nominal_at.0);
            hash.add(run.interval.0.0);
            hash.add(run.interval.1.0);
        }
        hash.hex()
    }
}

/// What of a cell counts. One that is open moves, and stays the same to a plan.
fn said(cell: &Cell) -> i64 {
    let revision = if cell.why() == Some(Why::Running) { 0 } else { i64::from(cell.revision) };
    cell.run.wrapping_mul(1 << 20) ^ revision
}
