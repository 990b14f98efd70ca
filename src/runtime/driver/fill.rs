//! Backfills: they begin, are taken up, make their runs as there is room, and are let go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::message::{Backfilled, Begin, Message, Take};
use super::serve::plan_of;
use super::{Answer, Driver, Waiting};
use crate::engine::{BackfillPlace, Decision, Event, Kept, NewBackfill, Plan, TaskRunRef, decide};
use crate::model::{
    BackfillId, BackfillPlan, Instant, RequestRow, RunId, RunRow, RunState, Steer, TaskRunId,
};
use crate::runtime::executor::{HandlerHost, Input};
use crate::runtime::filling::{refusal, refuse_old, sets_of};
use crate::runtime::refusal::SessionError;
use crate::runtime::turn::Turn;
use crate::runtime::watch::BackfillWatch;
use crate::store::{Batch, StoreError, StoredBackfill, StoredResult};

/// So many decisions about backfills are made in one turn at most.
const FILLS: usize = 1_024;

/// Why a plan without a cell is not applied.
const NOTHING: &str = "nothing is to be done: the plan computes no cell\n  hint: only=\"all\" \
                       computes again what is there";

/// What the driver keeps of a backfill besides the world.
pub(super) struct Filled {
    plans: Vec<Arc<Plan>>,
    /// Who can call the handlers of each dag; of those that are served, whoever serves them.
    hosts: BTreeMap<String, HandlerHost>,
    watch: Arc<BackfillWatch>,
    halted: bool,
}

impl Driver {
    /// A plan is to be carried out here.
    pub(super) fn begin_backfill(
        &mut self,
        begin: Begin,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        if turn.begins_backfill() {
            // What is in its way is seen only when the one before is written.
            self.held.push(Message::Begin(begin));
            return None;
        }
        let Begin { plan, plans, hosts, requested_by, reply } = &begin;
        let begun = self.begin(plan, plans, hosts, requested_by.clone(), turn, now);
        match begun {
            Ok(id) => {
                waiting.backfills.push((reply.clone(), id));
                Some(Message::Begin(begin))
            }
            Err(error) => {
                let _ = reply.send(Err(error));
                None
            }
        }
    }

    fn begin(
        &mut self,
        plan: &Arc<BackfillPlan>,
        plans: &[Arc<Plan>],
        hosts: &BTreeMap<String, HandlerHost>,
        requested_by: Option<String>,
        turn: &mut Turn,
        now: Instant,
    ) -> Result<BackfillId, SessionError> {
        if plan.runs.is_empty() {
            return Err(SessionError::Refused(NOTHING.to_owned()));
        }
        if let Some(found) = self.store.in_the_way(plan)? {
            return Err(SessionError::Refused(refusal(&found)));
        }
        let id = self.store.next_backfill()?;
        let (plan, plans) = (Arc::clone(plan), plans.to_vec());
        let new = NewBackfill { id, plan, plans: plans.clone(), requested_by };
        let decision = decide(&self.world, &Event::NewBackfill(new), now)?;
        self.apply(decision, turn)?;
        self.keep(id, plans, hosts.clone());
        Ok(id)
    }

    /// The same for whoever asks by a row; nothing where it has to wait for the next turn.
    pub(super) fn begin_asked(
        &mut self,
        plan: BackfillPlan,
        request: &RequestRow,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Result<Option<BackfillId>, SessionError> {
        if turn.begins_backfill() {
            self.held.push(Message::Request(request.clone()));
            return Ok(None);
        }
        for set in &plan.sets {
            self.serving.cached(&set.dag)?;
        }
        refuse_old(&mut *self.store, &plan, now)?;
        let plans = sets_of(&mut *self.store, &plan)?;
        let by = request.requested_by.clone();
        let id = self.begin(&Arc::new(plan), &plans, &BTreeMap::new(), by, turn, now)?;
        waiting.begun.push(id);
        Ok(Some(id))
    }

    fn keep(
        &mut self,
        id: BackfillId,
        plans: Vec<Arc<Plan>>,
        hosts: BTreeMap<String, HandlerHost>,
    ) {
        let watch = Arc::new(BackfillWatch::new());
        self.fills.insert(id, Filled { plans, hosts, watch, halted: false });
    }

    /// A backfill is taken up here, and something is done about it.
    pub(super) fn take_backfill(
        &mut self,
        take: Take,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        let Take { id, hosts, steer, grace_ms, reply } = &take;
        let taken = self.take_up_backfill(*id, hosts, *steer, turn, waiting, now);
        match taken.and_then(|()| self.steer(*id, *steer, *grace_ms, turn, now)) {
            Ok(()) => {
                waiting.backfills.push((reply.clone(), *id));
                Some(Message::Take(take))
            }
            Err(error) => {
                let _ = reply.send(Err(error));
                None
            }
        }
    }

    /// Takes a backfill up, if it is not here, with the runs that it takes to do something about it.
    pub(super) fn take_up_backfill(
        &mut self,
        id: BackfillId,
        hosts: &BTreeMap<String, HandlerHost>,
        steer: Option<Steer>,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Result<(), SessionError> {
        let known = self.fills.contains_key(&id);
        if let Some(filled) = self.fills.get_mut(&id) {
            filled.hosts.extend(hosts.iter().map(|(dag, host)| (dag.clone(), Arc::clone(host))));
        }
        if known && steer != Some(Steer::Retry) {
            return Ok(());
        }
        let stored = self.stored_backfill(id)?;
        if !known {
            let plans = sets_of(&mut *self.store, &stored.row.plan)?;
            self.keep(id, plans, hosts.clone());
            self.load_backfill(&stored);
            waiting.begun.push(id);
        }
        self.take_runs(&stored, steer == Some(Steer::Retry), turn, now)
    }

    /// Does something about a backfill that is here.
    pub(super) fn steer(
        &mut self,
        id: BackfillId,
        steer: Option<Steer>,
        grace_ms: Option<i64>,
        turn: &mut Turn,
        now: Instant,
    ) -> Result<(), SessionError> {
        let Some(steer) = steer else { return Ok(()) };
        let event = Event::Steer { backfill: id, steer, grace_ms };
        self.try_decide(&event, turn, now).map_err(SessionError::Refused)?;
        if let Some(filled) = self.fills.get_mut(&id) {
            match steer {
                Steer::Halt => filled.halted = true,
                Steer::Resume | Steer::Retry => filled.halted = false,
                Steer::Pause | Steer::Cancel => {}
            }
        }
        Ok(())
    }

    fn stored_backfill(&mut self, id: BackfillId) -> Result<StoredBackfill, SessionError> {
        let missing = || SessionError::NotFound(format!("there is no backfill {id}"));
        let stored = self.store.backfill(id)?.ok_or_else(missing)?;
        if stored.row.scope_id != self.lease.scope_id {
            return Err(SessionError::Refused(format!(
                "another process decides for backfill {id}\n  hint: ask it, or resume it when that \
                 process is gone"
            )));
        }
        Ok(stored)
    }

    /// A backfill is in the world as its rows have it.
    fn load_backfill(&mut self, stored: &StoredBackfill) {
        let id = stored.row.id;
        let Some(filled) = self.fills.get(&id) else { return };
        let place = |(place, state): &(crate::model::BackfillRunRow, Option<RunState>)| {
            BackfillPlace::of(place.run_id, place.note.clone(), *state)
        };
        let places = stored.places.iter().map(place).collect();
        self.world.load_backfill(stored.row.clone(), filled.plans.clone(), places);
        self.world.halt(id, filled.halted);
    }

    /// Takes up the runs of a backfill that are open, and with `badly` those that ended otherwise
    /// than well. What was live of them is lost.
    fn take_runs(
        &mut self,
        stored: &StoredBackfill,
        badly: bool,
        turn: &mut Turn,
        now: Instant,
    ) -> Result<(), SessionError> {
        let mut gone = BTreeSet::new();
        for (place, state) in &stored.places {
            let wanted = match state {
                Some(RunState::Running) => true,
                Some(RunState::Failed | RunState::Canceled) => badly,
                _ => false,
            };
            let Some(run) = place.run_id.filter(|_| wanted) else { continue };
            if self.runs.contains_key(&run) {
                continue;
            }
            let Some(found) = self.store.stored_run(run)? else { continue };
            let plan = plan_of(&mut *self.store, &found)?;
            self.load(&found, Arc::clone(&plan))
                .map_err(|broken| SessionError::Unreadable(broken.to_string()))?;
            let nodes = found.leases.iter().map(|lease| lease.node_id);
            gone.extend(nodes.filter(|node| *node != self.lease.node_id));
            self.drive_planned(found.row, &plan)?;
        }
        for node in gone {
            self.decide(&Event::NodeLost { node }, turn, now);
        }
        Ok(())
    }

    /// From now on a run of a backfill is driven here.
    fn drive_planned(&mut self, row: RunRow, plan: &Arc<Plan>) -> Result<(), SessionError> {
        let given = row.backfill_id.and_then(|id| self.fills.get(&id)?.hosts.get(&row.dag));
        let host = match given {
            Some(host) => Arc::clone(host),
            None => self.serving.host(row.dag_id)?,
        };
        let params = match serde_json::from_str(&row.params) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        self.drive(row, params, plan, &host);
        Ok(())
    }

    /// The open backfills of the scope are taken up, those of which all dags are served.
    pub(super) fn take_up_backfills(&mut self) -> Result<(), SessionError> {
        for id in self.store.open_backfills(self.lease.scope_id)? {
            if self.fills.contains_key(&id) {
                continue;
            }
            let Some(stored) = self.store.backfill(id)? else { continue };
            let sets = &stored.row.plan.sets;
            if sets.iter().any(|set| self.serving.dag(&set.dag).is_err()) {
                continue;
            }
            // One that cannot be read hinders nobody else.
            let Ok(plans) = sets_of(&mut *self.store, &stored.row.plan) else { continue };
            self.keep(id, plans, BTreeMap::new());
            self.load_backfill(&stored);
        }
        Ok(())
    }

    /// Decides what backfills need; whether there was anything.
    pub(super) fn fill(&mut self, turn: &mut Turn, waiting: &mut Waiting, now: Instant) -> bool {
        let mut any = false;
        for _ in 0..FILLS {
            let Some(id) = self.world.next_fill() else { return any };
            any = true;
            let Ok(decision) = decide(&self.world, &Event::Fill(id), now) else { return any };
            let made: Vec<_> = (decision.creates.iter())
                .map(|create| (create.row.clone(), Arc::clone(&create.plan.0)))
                .collect();
            // A mistake of ours must not keep the driver here for ever.
            if decision.is_empty() || self.apply(decision, turn).is_err() {
                return any;
            }
            for (row, plan) in made {
                waiting.fired.push(row.id);
                // A dag that is served no more has nobody to call; its run waits for one.
                let _ = self.drive_planned(row, &plan);
            }
        }
        any
    }

    /// After the commit: those who watch are told, and what has ended is let go.
    pub(super) fn backfills_stand(&mut self, decisions: &[Decision]) {
        self.open_elsewhere.clear();
        self.filled_elsewhere.clear();
        self.world.forget_open();
        let moved: BTreeSet<BackfillId> = decisions
            .iter()
            .flat_map(|decision| {
                let places = decision.filled.iter().map(|place| place.backfill);
                let moves = decision.fill_moves.iter().map(|to| to.backfill);
                let begun = decision.backfills.iter().map(|new| new.row.id);
                places.chain(moves).chain(begun).collect::<Vec<_>>()
            })
            .collect();
        for id in moved {
            let Some(filling) = self.world.backfill(id) else { continue };
            let state = filling.row.state;
            if let Some(filled) = self.fills.get(&id) {
                filled.watch.update(|status| status.state = state);
            }
        }
    }

    /// Backfills that have ended are let go; those who wait for them have been told.
    pub(super) fn let_go_backfills(&mut self) {
        let is_over = |id: &&BackfillId| {
            let filling = self.world.backfill(**id);
            filling.is_none_or(|filling| filling.row.state.is_final())
        };
        let over: Vec<BackfillId> = self.fills.keys().filter(is_over).copied().collect();
        for id in over {
            self.let_go_backfill(id);
        }
    }

    fn let_go_backfill(&mut self, id: BackfillId) {
        self.fills.remove(&id);
        self.world.forget_backfill(id);
    }

    /// Those who asked for a backfill can watch it now.
    pub(super) fn tell_backfills(&self, waiting: Vec<(Answer<Backfilled>, BackfillId)>) {
        for (reply, id) in waiting {
            let watch = self.fills.get(&id).map(|filled| Arc::clone(&filled.watch));
            let watch = watch.unwrap_or_else(|| Arc::new(BackfillWatch::new()));
            if let Some(filling) = self.world.backfill(id) {
                let state = filling.row.state;
                watch.update(|status| status.state = state);
            }
            let _ = reply.send(Ok((id, watch)));
        }
    }

    /// How many attempts of a backfill are live here.
    pub(super) fn live_of(&self, id: BackfillId) -> usize {
        let of_it =
            |run: &RunId| self.world.run(*run).is_some_and(|run| run.row.backfill_id == Some(id));
        let runs = self.runs.iter().filter(|(run, _)| of_it(run));
        runs.map(|(_, driven)| driven.live.len()).sum()
    }

    /// Those who watch backfills are told that this process can do no more for them.
    pub(super) fn lose_backfills(&mut self, why: &str) {
        for filled in self.fills.values() {
            filled.watch.update(|status| status.lost = Some(why.to_owned()));
        }
        self.fills.clear();
    }

    /// What was not committed is not ours: backfills that were begun or taken up in this turn.
    pub(super) fn forget_begun(&mut self, waiting: &Waiting) {
        for id in &waiting.begun {
            self.fills.remove(id);
            let of_it = |run: &RunId| {
                let found = self.world.run(*run);
                found.is_some_and(|run| run.row.backfill_id == Some(*id))
            };
            let runs: Vec<RunId> = self.runs.keys().filter(|run| of_it(run)).copied().collect();
            runs.iter().for_each(|run| drop(self.runs.remove(run)));
        }
        for (_, id) in &waiting.backfills {
            if matches!(self.store.backfill(*id), Ok(None)) {
                self.fills.remove(id);
            }
        }
    }

    /// All backfills are read anew, before their runs are.
    pub(super) fn reload_backfills(&mut self) -> Result<(), StoreError> {
        for id in self.fills.keys().copied().collect::<Vec<_>>() {
            match self.store.backfill(id)? {
                Some(stored) => self.load_backfill(&stored),
                None => drop(self.fills.remove(&id)),
            }
        }
        for (task, nominal_at) in &self.open_elsewhere {
            self.world.know_open(*task, *nominal_at);
        }
        for (cell, run, backfill) in &self.filled_elsewhere {
            self.world.know_filled(*cell, *run, *backfill);
        }
        Ok(())
    }

    /// Whether a batch that begins a backfill is there although its commit failed.
    pub(super) fn is_begun(&mut self, batch: &Batch) -> bool {
        let Some(row) = batch.backfills.first() else { return false };
        self.store.backfill(row.id).is_ok_and(|found| {
            found.is_some_and(|found| {
                let (known, at) = (&found.row.plan.hash, found.row.created_at);
                (known, at, found.row.scope_id) == (&row.plan.hash, row.created_at, row.scope_id)
            })
        })
    }

    /// What an upstream returned that the run of a backfill leaves out.
    pub(super) fn result_outside(&mut self, at: TaskRunRef, upstream: &str) -> Option<Input> {
        let task_run = self.world.left_out(at, upstream)?;
        Some(match self.kept(task_run) {
            Kept::Text(text) => Input::Text(text),
            Kept::File(uri) => Input::File(uri),
            Kept::Nothing => Input::Nothing,
        })
    }

    /// What a task run that is stored returned.
    pub(super) fn kept(&mut self, task_run: TaskRunId) -> Kept {
        match self.store.result(task_run) {
            Ok(Some(StoredResult::Text(text))) => Kept::Text(text),
            Ok(Some(StoredResult::File(uri))) => Kept::File(uri),
            _ => Kept::Nothing,
        }
    }
}
