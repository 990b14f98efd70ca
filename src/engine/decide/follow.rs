//! A dag without a schedule follows an upstream in another dag: its runs are made when that ends.

use std::sync::Arc;

use serde_json::Map;

use super::super::cell::Found;
use super::super::edges::skip_codes::DISABLED;
use super::super::served::Served;
use super::super::{NewRun, TaskRunRef};
use super::draft::Draft;
use super::rerun::afresh;
use crate::model::{DagId, RunRow, State, Target, TaskId, TimedKey, Trigger, params};

impl Draft<'_> {
    /// Makes the runs of the dags that follow an upstream, where it ended so that their edge to it
    /// holds: one for each of its instants.
    pub(super) fn follow(&mut self, upstream: &Arc<str>, at: TaskRunRef, found: &Found) {
        if !found.state.is_final() {
            return;
        }
        let Some(row) = self.run(at.run).map(|run| run.row.clone()) else { return };
        // What somebody tries out counts only where it stands for a fire, which is not known here.
        if row.interactive {
            return;
        }
        let world = self.world;
        let first = (Arc::clone(upstream), DagId(i64::MIN));
        let dags = world.followers.range(first..).take_while(|(name, _)| name == upstream);
        let dags: Vec<DagId> = dags.map(|(_, dag)| *dag).collect();
        for dag in dags {
            self.follow_one(dag, &row, found);
        }
    }

    /// The same of ends that were read: those that nobody saw who served the dag.
    pub(super) fn follow_up(&mut self, dag: DagId, ends: &[(RunRow, Found)]) {
        for (row, found) in ends {
            self.follow_one(dag, row, found);
        }
    }

    fn follow_one(&mut self, dag: DagId, row: &RunRow, found: &Found) {
        // A backfill makes the runs that it names and no others.
        let served = self.world.served.get(&dag).filter(|_| row.backfill_id.is_none());
        let Some(served) = served else { return };
        let target = Target { dag, task: None };
        let key = TimedKey { target, nominal_at: row.nominal_at, variant: String::new() };
        if !found.state.is_final() || !served.is_let_go_by(found) || self.timed_run(&key).is_some()
        {
            return;
        }
        // What cannot be made of these versions or parameters was refused at registration.
        if let Some(new) = following(served, row) {
            let _ = self.create(&new);
        }
    }

    /// A task is enabled again: where it was skipped and somebody is blocked by that, it is run.
    pub(super) fn enabled(&mut self, task: TaskId) {
        let mut skipped = Vec::new();
        for run in self.world.runs() {
            for (index, planned) in (0u32..).zip(&run.plan.tasks) {
                let Some(task_run) = run.get(index).filter(|_| planned.task_id == task) else {
                    continue;
                };
                let is_left_out = task_run.progress.state == State::Skipped
                    && task_run.progress.code.as_deref() == Some(DISABLED);
                let blocks = || {
                    run.plan.downstream(index).any(|(below, _)| {
                        run.get(below).is_some_and(|t| t.progress.state == State::Blocked)
                    }) || self.blocks_others(run, index)
                };
                if is_left_out && blocks() {
                    skipped.push(TaskRunRef { run: run.row.id, index });
                }
            }
        }
        for at in skipped {
            let now = self.now;
            self.shift(at, |progress| afresh(progress, now));
            self.touched.push_back(at);
        }
    }

    /// Whether a task run of another run is blocked by one of this run.
    fn blocks_others(&self, run: &super::super::Run, index: u32) -> bool {
        self.world.watchers(run, index).any(|watcher| {
            let waiting = self.world.task_run(watcher);
            waiting.is_some_and(|task_run| task_run.progress.state == State::Blocked)
        })
    }
}

/// The run that a dag makes of the run of its upstream: of the same instant and dates.
fn following(served: &Served, row: &RunRow) -> Option<NewRun> {
    let plan = served.plan(None, row.biz_date).ok()?;
    let mut given = Map::new();
    let tasks = plan.tasks.iter().map(|task| &*task.def);
    let schema = tasks.clone().flat_map(|task| &task.param_schema);
    params::fill_biz_date(schema, &mut given, row.biz_date);
    let params = params::bind_dag(&plan.dag, tasks, &given).ok()?;
    Some(NewRun {
        plan,
        nominal_at: row.nominal_at,
        biz_date: row.biz_date,
        interval: (row.interval_start, row.interval_end),
        timezone: row.timezone.clone(),
        trigger: Trigger::Dependency,
        task: None,
        timed: true,
        variant: String::new(),
        interactive: false,
        requested_by: None,
        params,
        schedules: Vec::new(),
        only: None,
        force: false,
    })
}
