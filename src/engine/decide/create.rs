//! A run is made.

use std::collections::BTreeSet;

use super::super::edges::skip_codes::{DISABLED, NOT_SELECTED, RUN_ON};
use super::super::run::Run;
use super::super::{CreateRun, NewRun, Plan, PlanRef, TaskRunRef, conditions};
use super::Refusal;
use super::backfill::SUPERSEDED;
use super::draft::Draft;
use crate::model::{
    BackfillId, Instant, RunId, RunRow, RunState, State, TaskId, TaskRunId, TimedKey, Trigger,
    Unfilled,
};

impl Draft<'_> {
    pub(super) fn create(&mut self, new: &NewRun) -> Result<(), Refusal> {
        if matches!(new.trigger, Trigger::Manual | Trigger::Api) {
            let tasks = (0u32..).zip(&new.plan.tasks);
            let chosen = tasks.filter(|(at, _)| new.only.as_ref().is_none_or(|o| o.contains(at)));
            let tasks: Vec<TaskId> = chosen.map(|(_, task)| task.task_id).collect();
            self.refuse_filled(&new.plan, tasks, new.nominal_at, self.next_ids().0)?;
        }
        self.create_of(new, None).map(|_| ())
    }

    /// The same for a backfill, if it is made for one; gives the run.
    pub(super) fn create_of(
        &mut self,
        new: &NewRun,
        backfill: Option<BackfillId>,
    ) -> Result<RunId, Refusal> {
        let plan = &new.plan;
        let count = plan.tasks.len() as u32;
        if plan.graph.len() != plan.tasks.len() {
            return Err(Refusal::BadPlan(plan.dag.clone()));
        }
        let (run, first) = self.next_ids();
        let row = RunRow { backfill_id: backfill, ..self.row_of(new, run, first, count) };
        if let Some(run) = row.timed_key().and_then(|key| self.timed_run(&key)) {
            let (dag, nominal_at) = (plan.dag.clone(), new.nominal_at);
            return Err(Refusal::RunExists { dag, nominal_at, run });
        }
        let skipped = skipped(new, &row)?;
        let of_code = |code: &'static str| skipped.iter().filter(move |(_, why)| *why == code);
        let left_out: BTreeSet<u32> = of_code(NOT_SELECTED).map(|(index, _)| *index).collect();
        self.fresh.push(Run::new(row.clone(), plan.clone(), &self.world.cells));
        let (schedules, plan_ref) = (new.schedules.clone(), PlanRef(plan.clone()));
        let create = CreateRun { row, plan: plan_ref, schedules, left_out: left_out.clone() };
        self.out.creates.push(create);
        self.look(run);
        for index in (0..count).filter(|index| !left_out.contains(index)) {
            // It is the newest run of its instant now.
            self.spread_across(TaskRunRef { run, index });
        }
        for (index, code) in skipped {
            let now = self.now;
            self.shift(TaskRunRef { run, index }, |p| {
                p.state = State::Skipped;
                p.finished_at = Some(now);
                p.wake_at = None;
                p.code = Some(code.into());
            });
        }
        for index in 0..count {
            let at = TaskRunRef { run, index };
            let counts = self.edges(at).counts;
            if counts.unmet == 0 || counts.broken + counts.skips > 0 {
                self.touched.push_back(at);
            }
        }
        self.supersede(new, backfill);
        // A run without tasks takes no arrow that would make it look at its state.
        self.set_cancel_requested(run, false);
        Ok(run)
    }

    /// Refuses what somebody asks of cells, for this run, that another run of a backfill computes at
    /// the moment; the commit looks for those that are not here. A schedule that fires waits for it.
    pub(super) fn refuse_filled(
        &mut self,
        plan: &Plan,
        tasks: Vec<TaskId>,
        nominal_at: Instant,
        run: RunId,
    ) -> Result<(), Refusal> {
        let here = {
            let open = self.world.open_cells(plan.dag_id, &tasks, nominal_at);
            let mut open = open.map(|(run, _)| &run.row);
            let is_other = |row: &RunRow| row.state == RunState::Running && row.id != run;
            open.find_map(|row| Some((row.id, row.backfill_id.filter(|_| is_other(row))?)))
        };
        let filling = here.or_else(|| self.world.filled_elsewhere(&tasks, nominal_at));
        if let Some((run, backfill)) = filling {
            return Err(Refusal::InBackfill { dag: plan.dag.clone(), run, backfill });
        }
        let dag_id = plan.dag_id;
        self.out.unfilled.push(Unfilled { run, dag_id, nominal_at, tasks });
        Ok(())
    }

    /// What an older run has BLOCKED of the cells of a new one would go on by itself one day, beside
    /// the new one: it is given up, where a backfill has to do with one of them.
    fn supersede(&mut self, new: &NewRun, backfill: Option<BackfillId>) {
        let world = self.world;
        if backfill.is_none() && world.fillings.is_empty() && world.shares.is_empty() {
            return;
        }
        let tasks: Vec<TaskId> = new.plan.tasks.iter().map(|task| task.task_id).collect();
        let older: Vec<_> = world
            .open_cells(new.plan.dag_id, &tasks, new.nominal_at)
            .filter(|(run, _)| run.row.state != RunState::Running)
            .filter(|(run, _)| backfill.is_some() || run.row.backfill_id.is_some())
            .map(|(run, open)| (run.row.id, open))
            .collect();
        for (run, open) in older {
            self.cancel_all(run, open, None, SUPERSEDED);
        }
    }

    /// The ids that the next run of this decision gets.
    fn next_ids(&self) -> (RunId, TaskRunId) {
        match self.fresh.last() {
            Some(Run { row, .. }) => {
                (RunId(row.id.0 + 1), row.first_task_run_id.offset(row.task_count))
            }
            None => (RunId(self.world.next_run), TaskRunId(self.world.next_task_run)),
        }
    }

    /// The timed run with this key, if it is here.
    pub(super) fn timed_run(&self, key: &TimedKey) -> Option<RunId> {
        let fresh = self.fresh.iter().find(|run| run.row.timed_key().as_ref() == Some(key));
        fresh.map(|run| run.row.id).or_else(|| self.world.timed.get(key).copied())
    }

    fn row_of(&self, new: &NewRun, id: RunId, first: TaskRunId, task_count: u32) -> RunRow {
        RunRow {
            id,
            dag_id: new.plan.dag_id,
            dag: new.plan.dag.clone(),
            task_id: new.task,
            nominal_at: new.nominal_at,
            biz_date: new.biz_date,
            interval_start: new.interval.0,
            interval_end: new.interval.1,
            timezone: new.timezone.clone(),
            trigger: new.trigger,
            timed: new.timed,
            variant: new.variant.clone(),
            interactive: new.interactive,
            requested_by: new.requested_by.clone(),
            params: serde_json::Value::Object(new.params.clone()).to_string(),
            state: RunState::Running,
            created_at: self.now,
            finished_at: None,
            scope_id: self.world.scope,
            first_task_run_id: first,
            task_count,
            schedule_id: new.schedules.first().copied(),
            backfill_id: None,
        }
    }
}

/// Tasks that do not run in a run, each with the code of why. On a day that is not one of its days a
/// task would not have run had it been enabled.
fn skipped(new: &NewRun, run: &RunRow) -> Result<Vec<(u32, &'static str)>, Refusal> {
    let count = run.task_count;
    let mut chosen = vec![new.only.is_none(); count as usize];
    for index in new.only.iter().flatten() {
        let at = TaskRunRef { run: run.id, index: *index };
        *chosen.get_mut(*index as usize).ok_or(Refusal::NoTaskRun(at))? = true;
    }
    let mut found = Vec::new();
    for ((index, task), chosen) in (0..count).zip(&new.plan.tasks).zip(chosen) {
        let run_on = task.def.policy.run_on.as_ref();
        let code = match () {
            () if !chosen => NOT_SELECTED,
            () if new.force => continue,
            () if run_on.is_some_and(|on| !conditions::runs_on(run, on)) => RUN_ON,
            () if !task.enabled => DISABLED,
            () => continue,
        };
        found.push((index, code));
    }
    Ok(found)
}
