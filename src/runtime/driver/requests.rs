//! What others ask in the request table, and what they change behind our back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Driver, Waiting};
use crate::engine::{self, Event, NewRun, RerunWhat, TaskRunRef, Word, decide};
use crate::model::{
    Ask, BackfillId, DagId, Decided, Instant, RequestRow, RunId, RunState, ScheduleId,
};
use crate::runtime::refusal::SessionError;
use crate::runtime::request::{
    CachedPlan, NewRunRequest, indexes, indexes_in, items_of_run, new_run,
};
use crate::runtime::turn::Turn;
use crate::store::StoreError;

/// How often it is looked whether somebody else wrote, in milliseconds.
const LOOK_MS: i64 = 200;

/// So many requests are decided in one turn at most.
const REQUESTS: u32 = 256;

/// When to look, and what was seen.
#[derive(Default)]
pub struct Watching {
    next: Option<Instant>,
    revisions: Revisions,
}

/// What a request has led to.
enum Outcome {
    /// This run, if it is about one.
    Run(Option<RunId>),
    /// This backfill.
    Backfill(BackfillId),
    /// It has to wait.
    Later,
}

/// How often each dag was changed.
pub type Revisions = BTreeMap<DagId, i64>;

impl Driver {
    /// When to look next; none while nothing can be asked of this process.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let asked = (self.serves() || !self.runs.is_empty() || !self.fills.is_empty())
            && !self.clock.stands();
        asked.then(|| self.watching.next.unwrap_or(Instant(i64::MIN)))
    }

    /// Looks, if it is time, whether somebody else wrote; gives what was asked.
    pub(super) fn look(&mut self, now: Instant) -> Vec<RequestRow> {
        if self.next_look().is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.watching.next = Some(now.plus_millis(LOOK_MS));
        // What cannot be read now is read at the next look.
        match self.store.changed() {
            Ok(true) => {
                let _ = self.refresh();
                self.cells_may_differ();
                self.ends_may_differ();
                self.store.open_requests(self.lease.scope_id, REQUESTS).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// The same for a clock that stands, which nobody looks at from time to time: it is looked
    /// before it is moved.
    pub(super) fn look_once(&mut self) {
        // What cannot be read now is read before the next move.
        if self.clock.stands() && matches!(self.store.changed(), Ok(true)) {
            let _ = self.refresh();
            self.cells_may_differ();
            self.ends_may_differ();
        }
    }

    /// Decides what was asked while nobody served, before anything fires: a pause that was left for
    /// this process has it already when the first fire is due.
    pub(super) fn asked_before(&mut self, turn: &mut Turn, waiting: &mut Waiting, now: Instant) {
        if self.watching.next.is_some() {
            return;
        }
        // What cannot be read now is read at the first look.
        let open = self.store.open_requests(self.lease.scope_id, REQUESTS).unwrap_or_default();
        for request in open {
            self.request(&request, turn, waiting, now);
        }
    }

    /// Reads dags anew that somebody registered, paused or removed, or whose versions he chose.
    fn refresh(&mut self) -> Result<(), SessionError> {
        if !self.serves() {
            return Ok(());
        }
        let (changed, newest) = self.changed_dags()?;
        for dag in changed {
            let read = self.reread(dag);
            self.or_without(dag, read)?;
        }
        self.all_read(newest);
        Ok(())
    }

    /// Which of the dags that are served were changed since this was last known, and what is to be
    /// known when they have been read.
    pub(super) fn changed_dags(&mut self) -> Result<(BTreeSet<DagId>, Revisions), StoreError> {
        let newest: Revisions = self.store.revisions()?.into_iter().collect();
        let changed = |dag: &DagId| self.watching.revisions.get(dag) != newest.get(dag);
        let changed = self.serving.served().into_iter().filter(changed).collect();
        Ok((changed, newest))
    }

    /// All that was changed so far has been read.
    pub(super) fn all_read(&mut self, newest: Revisions) {
        self.watching.revisions = newest;
    }

    /// Decides a request; the answer is written with what it brings about.
    pub(super) fn request(
        &mut self,
        request: &RequestRow,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) {
        let decided = match serde_json::from_str::<Ask>(&request.payload) {
            Ok(ask) => self.carry_out(ask, request, turn, waiting, now),
            Err(error) => Err(SessionError::Refused(format!("not understood: {error}"))),
        };
        let decided = match decided {
            // It is decided in the next turn.
            Ok(Outcome::Later) => return,
            Ok(Outcome::Run(run)) => Decided { run, ..Decided::default() },
            Ok(Outcome::Backfill(id)) => Decided { backfill: Some(id), ..Decided::default() },
            Err(error) => Decided { refused: Some(error.to_string()), ..Decided::default() },
        };
        turn.answer(request.id, decided);
    }

    fn carry_out(
        &mut self,
        ask: Ask,
        request: &RequestRow,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Result<Outcome, SessionError> {
        let run = match ask {
            Ask::Backfill { plan } => {
                let begun = self.begin_asked(*plan, request, turn, waiting, now)?;
                return Ok(begun.map_or(Outcome::Later, Outcome::Backfill));
            }
            Ask::Steer { backfill, steer, grace_ms } => {
                let none = BTreeMap::new();
                self.take_up_backfill(backfill, &none, Some(steer), turn, waiting, now)?;
                self.steer(backfill, Some(steer), grace_ms, turn, now)?;
                return Ok(Outcome::Backfill(backfill));
            }
            ask => self.carry_out_of_run(ask, request, turn, waiting, now)?,
        };
        Ok(Outcome::Run(run))
    }

    fn carry_out_of_run(
        &mut self,
        ask: Ask,
        request: &RequestRow,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Result<Option<RunId>, SessionError> {
        match ask {
            // Not asked of this.
            Ask::Backfill { .. } | Ask::Steer { .. } => Ok(None),
            Ask::Trigger { dag, biz_date, nominal_at, params, only, force } => {
                let asked = NewRunRequest {
                    biz_date,
                    nominal_at,
                    params,
                    only,
                    force,
                    requested_by: request.requested_by.clone(),
                    ..NewRunRequest::default()
                };
                let cached = self.serving.cached(&dag)?;
                let new = NewRun { interactive: false, ..new_run(&cached, asked, now)? };
                self.make(&new, turn, waiting, now).map(Some)
            }
            Ask::Cancel { run, tasks, grace_ms } => {
                let only = match tasks {
                    None => None,
                    Some(names) => {
                        let plan = self.plan_here(run)?;
                        Some(self.indexes_here(run, &plan, &names)?)
                    }
                };
                let event = Event::Cancel { run, only, grace_ms };
                self.try_decide(&event, turn, now).map_err(SessionError::Refused)?;
                Ok(Some(run))
            }
            Ask::Rerun { run, tasks, downstream } => {
                let plan = self.take_in(run)?;
                let what = match &tasks {
                    None => Ok(RerunWhat::Failed),
                    Some(names) => self.indexes_here(run, &plan, names).map(|indexes| {
                        if downstream {
                            RerunWhat::WithDownstream(indexes)
                        } else {
                            RerunWhat::Only(indexes)
                        }
                    }),
                };
                let decided = what.and_then(|what| {
                    let event = Event::Rerun { run, what };
                    self.try_decide(&event, turn, now).map_err(SessionError::Refused)
                });
                if decided.is_err() {
                    self.let_go(run);
                }
                decided.map(|()| Some(run))
            }
            Ask::Approve { run, task, reject, note } => {
                let index = indexes(&*self.plan_here(run)?, &[task])?.first().copied();
                let at = TaskRunRef { run, index: index.unwrap_or(0) };
                let word = Word { at, reject, note, by: request.requested_by.clone() };
                self.try_decide(&Event::Approve(word), turn, now).map_err(SessionError::Refused)?;
                Ok(Some(run))
            }
            Ask::Pause { dag, schedule } => {
                let schedules = self.schedules_named(&dag, schedule.as_deref())?;
                self.pause(&schedules, true, None, turn, now);
                Ok(None)
            }
            Ask::Resume { dag, schedule, missed } => {
                let schedules = self.schedules_named(&dag, schedule.as_deref())?;
                self.pause(&schedules, false, missed, turn, now);
                Ok(None)
            }
        }
    }

    /// Makes a run that is asked for.
    fn make(
        &mut self,
        new: &NewRun,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Result<RunId, SessionError> {
        let host = self.serving.host(new.plan.dag_id)?;
        let decision = decide(&self.world, &Event::CreateRun(new.clone()), now)?;
        let row = decision.creates.first().map(|create| create.row.clone());
        self.apply(decision, turn)?;
        let Some(row) = row else {
            return Err(SessionError::Internal("a run was decided but not made".into()));
        };
        let id = row.id;
        waiting.fired.push(id);
        self.drive(row, new.params.clone(), &new.plan, &host);
        Ok(id)
    }

    /// The plan of a run that is driven here.
    fn plan_here(&mut self, run: RunId) -> Result<Arc<engine::Plan>, SessionError> {
        if let Some(driven) = self.runs.get(&run) {
            return Ok(Arc::clone(&driven.plan));
        }
        let ended = self.store.stored_run(run)?.map(|stored| stored.row.state);
        let ended = ended.filter(|state| *state != RunState::Running);
        Err(SessionError::Refused(match ended {
            Some(state) => format!("run {run} has ended: it is {state}"),
            None => format!("run {run} is not live"),
        }))
    }

    /// Indexes of tasks and items of a run that is in the world.
    fn indexes_here(
        &self,
        run: RunId,
        plan: &engine::Plan,
        names: &[String],
    ) -> Result<Vec<u32>, SessionError> {
        let found = self.world.run(run);
        indexes_in(plan, names, &|of| items_of_run(found?, of))
    }

    fn schedules_named(
        &self,
        dag: &str,
        schedule: Option<&str>,
    ) -> Result<Vec<ScheduleId>, SessionError> {
        let id = self.serving.dag(dag)?;
        let of_dag = || self.world.schedules().filter(|each| each.dag == id && !each.is_removed());
        let named = |name: &str| schedule.is_none_or(|only| only == name);
        let found: Vec<ScheduleId> =
            of_dag().filter(|each| named(&each.def.name)).map(|each| each.id).collect();
        if found.is_empty() {
            let names: Vec<&str> = of_dag().map(|each| each.def.name.as_str()).collect();
            return Err(SessionError::NotFound(match schedule {
                Some(name) if !names.is_empty() => {
                    format!("dag {dag} has no schedule {name}\n  hint: it has {}", names.join(", "))
                }
                _ => format!("dag {dag} has no schedule"),
            }));
        }
        Ok(found)
    }
}

/// A dag that is served, ready to make runs that somebody asks for.
pub(super) type Cached = Arc<CachedPlan>;
