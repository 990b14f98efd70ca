//! A backfill is applied, makes its runs as there is room, and is paused, given up or tried again.

use std::sync::Arc;

use serde_json::Map;

use super::super::filling::Due;
use super::super::run::Live;
use super::super::{
    Backfilling, FillMove, FillPlace, NewBackfill, NewFilling, NewRun, Plan, RerunWhat, TaskRunRef,
};
use super::Refusal;
use super::draft::Draft;
use crate::model::{
    BackfillId, BackfillPlan, BackfillRow, BackfillState, Outcome, PlannedRun, RunState, Steer,
    StopReason, TaskId, Trigger, backfill_notes, params,
};

/// The code of what an older run had BLOCKED of a cell that a backfill computes.
pub(super) const SUPERSEDED: &str = Outcome::Superseded.as_str();

/// At most so many runs are made in one decision.
const MOST: u32 = 256;

impl Draft<'_> {
    /// A plan is to be carried out: all of its places are there from now on.
    pub(super) fn new_backfill(&mut self, new: &NewBackfill) -> Result<(), Refusal> {
        if self.world.fillings.contains_key(&new.id) || new.plans.len() != new.plan.sets.len() {
            return Err(Refusal::BadPlan(new.plan.ask.dag.clone()));
        }
        let row = BackfillRow {
            id: new.id,
            plan: Arc::clone(&new.plan),
            state: BackfillState::Running,
            requested_by: new.requested_by.clone(),
            created_at: self.now,
            finished_at: None,
            cancel_requested: false,
            scope_id: self.world.scope,
        };
        self.out.backfills.push(NewFilling { row, plans: new.plans.clone() });
        Ok(())
    }

    /// What a backfill needs next is done.
    pub(super) fn fill(&mut self, id: BackfillId) {
        let world = self.world;
        let Some(filling) = world.fillings.get(&id) else { return };
        match filling.due() {
            None => {}
            Some(Due::Make) => self.make_next(filling),
            Some(Due::Stop) => self.leave(filling),
            Some(Due::End(state)) => self.move_backfill(filling, state, |_| {}),
        }
    }

    /// Makes the next runs of a backfill, group by group.
    fn make_next(&mut self, filling: &Backfilling) {
        let (mut made, mut last) = (0, None);
        loop {
            let group = filling.next_group(last);
            let Some(end) = group.last().copied() else { return };
            if made >= MOST || !filling.fits(made, group.len() as u32) {
                return;
            }
            for ordinal in group {
                made += u32::from(self.make_planned(filling, ordinal));
            }
            last = Some(end);
        }
    }

    /// Makes the run of a place, or notes why there is none; whether there is.
    fn make_planned(&mut self, filling: &Backfilling, ordinal: u32) -> bool {
        let (world, id) = (self.world, filling.row.id);
        let plan = filling.plan();
        let Some(planned) = plan.runs.get(ordinal as usize) else { return false };
        let note = |note: &'static str| FillPlace {
            backfill: id,
            ordinal,
            run: None,
            note: Some(note.to_owned()),
        };
        let Some(of) = filling.plans.get(planned.set as usize) else {
            self.out.filled.push(note(backfill_notes::REFUSED));
            return false;
        };
        let tasks: Vec<TaskId> = of.tasks.iter().map(|task| task.task_id).collect();
        if world.is_in_flight(of.dag_id, &tasks, planned.nominal_at) {
            self.out.filled.push(note(backfill_notes::RUNNING));
            return false;
        }
        let new = new_run(plan, planned, of);
        let new = new.map(|new| NewRun { requested_by: filling.row.requested_by.clone(), ..new });
        match new.map(|new| self.create_of(&new, Some(id))) {
            Some(Ok(run)) => {
                let place = FillPlace { backfill: id, ordinal, run: Some(run), note: None };
                self.out.filled.push(place);
            }
            _ => {
                self.out.filled.push(note(backfill_notes::REFUSED));
                return false;
            }
        }
        true
    }

    /// No more runs are made: what has none is noted.
    fn leave(&mut self, filling: &Backfilling) {
        let note = |ordinal| FillPlace {
            backfill: filling.row.id,
            ordinal,
            run: None,
            note: Some(backfill_notes::NOT_STARTED.to_owned()),
        };
        self.out.filled.extend(filling.unmade().map(note));
    }

    fn move_backfill(
        &mut self,
        filling: &Backfilling,
        to: BackfillState,
        change: impl FnOnce(&mut FillMove),
    ) {
        let mut to = FillMove {
            backfill: filling.row.id,
            from: filling.row.state,
            to,
            finished_at: to.is_final().then_some(self.now),
            cancel_requested: filling.row.cancel_requested,
        };
        change(&mut to);
        self.out.fill_moves.push(to);
    }

    /// Somebody says what is to become of a backfill.
    pub(super) fn steer(
        &mut self,
        id: BackfillId,
        steer: Steer,
        grace_ms: Option<i64>,
    ) -> Result<(), Refusal> {
        let world = self.world;
        let filling = world.fillings.get(&id).ok_or(Refusal::NoBackfill(id))?;
        let state = filling.row.state;
        let over = state.is_final() || filling.row.cancel_requested;
        match steer {
            Steer::Pause | Steer::Halt | Steer::Resume | Steer::Cancel if over => {
                return Err(Refusal::BackfillOver { id, state });
            }
            Steer::Pause if state != BackfillState::Paused => {
                self.move_backfill(filling, BackfillState::Paused, |_| {});
            }
            Steer::Pause => {}
            Steer::Halt => {
                if state != BackfillState::Paused {
                    self.move_backfill(filling, BackfillState::Paused, |_| {});
                }
                self.out.halts.push((id, true));
                self.each_live(id, |draft, at, live| match live.rest {
                    Some(_) if !live.ended => draft.lay_down(at, live),
                    _ => {
                        let own = draft.task(at).map_or(0, |task| task.def.policy.grace_ms);
                        draft.stop_within(at, StopReason::Interrupt, grace_ms.unwrap_or(own));
                    }
                });
            }
            Steer::Resume => {
                if state != BackfillState::Running {
                    self.move_backfill(filling, BackfillState::Running, |_| {});
                }
                if filling.halted {
                    self.out.halts.push((id, false));
                    self.each_live(id, |draft, at, live| {
                        if draft.task(at).is_some_and(|task| task.def.is_probe()) {
                            draft.ask_again(at, live);
                        }
                    });
                }
            }
            Steer::Cancel => {
                self.leave(filling);
                let open = filling.places().iter().filter(|p| p.state == Some(RunState::Running));
                let open: Vec<_> = open.filter_map(|place| place.run).collect();
                for run in open {
                    // What is not here has ended.
                    let _ = self.cancel(run, None, grace_ms);
                }
                self.move_backfill(filling, state, |to| to.cancel_requested = true);
            }
            Steer::Retry => self.retry(filling)?,
        }
        Ok(())
    }

    /// Does something with each attempt of a backfill that is live.
    fn each_live(&mut self, id: BackfillId, mut of: impl FnMut(&mut Self, TaskRunRef, &Live)) {
        let world = self.world;
        for at in &world.leased {
            let of_it = world.run(at.run).is_some_and(|run| run.row.backfill_id == Some(id));
            if let Some(live) = world.live(*at).filter(|_| of_it) {
                of(self, *at, live);
            }
        }
    }

    /// What failed runs again, and what was not started is made.
    fn retry(&mut self, filling: &Backfilling) -> Result<(), Refusal> {
        let (world, id) = (self.world, filling.row.id);
        if filling.row.cancel_requested && !filling.row.state.is_final() {
            return Err(Refusal::BackfillOver { id, state: filling.row.state });
        }
        if !filling.can_be_retried() {
            return Err(Refusal::NothingToRetry(id));
        }
        for (ordinal, place) in (0u32..).zip(filling.places()) {
            let left = place.note.as_deref().is_some_and(|note| note != backfill_notes::RUNNING);
            if left && place.run.is_none() {
                self.out.filled.push(FillPlace { backfill: id, ordinal, run: None, note: None });
            }
            let badly = matches!(place.state, Some(RunState::Failed | RunState::Canceled));
            let Some(run) = place.run.filter(|_| badly).and_then(|run| world.run(run)) else {
                continue;
            };
            let tasks: Vec<TaskId> = run.plan.tasks.iter().map(|task| task.task_id).collect();
            // Another run has a cell of it by now, be it BLOCKED: that one goes on.
            let (dag, at) = (run.row.dag_id, run.row.nominal_at);
            let mut others = world.open_cells(dag, &tasks, at);
            if world.is_in_flight(dag, &tasks, at) || others.any(|(o, _)| o.row.id != run.row.id) {
                continue;
            }
            // One in which only something BLOCKED is left goes on when that is repaired.
            let _ = self.rerun(run.row.id, &RerunWhat::Failed);
        }
        self.move_backfill(filling, BackfillState::Running, |to| to.cancel_requested = false);
        self.out.halts.extend(filling.halted.then_some((id, false)));
        Ok(())
    }
}

/// The run of a place; none where its parameters do not fit it any more.
fn new_run(plan: &BackfillPlan, planned: &PlannedRun, of: &Arc<Plan>) -> Option<NewRun> {
    let set = plan.sets.get(planned.set as usize)?;
    let tasks = of.tasks.iter().map(|task| &*task.def);
    let mut given = Map::new();
    if of.dag == plan.ask.dag {
        // A part of a dag has a part of its parameters.
        let known = tasks.clone().flat_map(|task| &task.param_schema);
        let known: Vec<&str> = known.map(|param| param.name.as_str()).collect();
        let mine = plan.ask.params.iter().filter(|(name, _)| known.contains(&name.as_str()));
        given.extend(mine.map(|(name, value)| (name.clone(), value.clone())));
    }
    let schema = tasks.clone().flat_map(|task| &task.param_schema);
    params::fill_biz_date(schema, &mut given, planned.biz_date);
    let params = params::bind_dag(&of.dag, tasks, &given).ok()?;
    Some(NewRun {
        plan: Arc::clone(of),
        nominal_at: planned.nominal_at,
        biz_date: planned.biz_date,
        interval: planned.interval,
        timezone: set.timezone.clone(),
        trigger: Trigger::Backfill,
        task: of.tasks.first().filter(|_| set.alone).map(|task| task.task_id),
        timed: false,
        variant: String::new(),
        interactive: false,
        requested_by: None,
        params,
        schedules: Vec::new(),
        only: None,
        force: plan.ask.force,
    })
}
