//! Dags whose schedules fire here: they are taken up, fire, are paused, and are let go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::message::{Message, Serve, Served};
use super::requests::Cached;
use super::{Driver, Waiting};
use crate::engine::{Event, Plan, PlannedTask, Plans, Scheduled, When, decide};
use crate::model::{
    DagId, Instant, Missed, NodeId, RunId, RunRow, RunState, ScheduleId, TaskId, TimedKey,
};
use crate::runtime::executor::{HandlerHost, ProcessHost};
use crate::runtime::filling::part;
use crate::runtime::refusal::SessionError;
use crate::runtime::request::CachedPlan;
use crate::runtime::told::News;
use crate::runtime::turn::Turn;
use crate::store::{RegisteredDag, RegisteredTask, Store, StoreError, StoredRun};

/// So many fires are taken in one turn at most: the next commit is soon enough for the others.
const FIRES: usize = 1_024;

/// What the driver keeps of the dags that it serves, besides the world.
#[derive(Default)]
pub struct Serving {
    /// Whether this process schedules, be it for no dag yet.
    active: bool,
    dags: BTreeMap<DagId, ServedDag>,
    /// How far it was decided which fires were missed, as of the last commit.
    judged: BTreeMap<ScheduleId, Scheduled>,
    /// Timed runs that a commit found to be there already.
    known: Vec<(TimedKey, RunId)>,
    /// Nodes that had the scope before, with whatever ran on them.
    gone: BTreeSet<NodeId>,
    /// Tasks that were enabled since the last turn.
    enabled: Vec<TaskId>,
    /// Open runs that cannot be read, and were told.
    unreadable: BTreeSet<RunId>,
}

struct ServedDag {
    served: crate::engine::Served,
    cached: Cached,
    host: HandlerHost,
    /// Who can call the handlers of runs that were made before this instant, the oldest first.
    older: Vec<(Instant, HandlerHost)>,
    /// Its file is gone: what is open goes on, and nothing new is made.
    removed: bool,
}

impl ServedDag {
    /// Who can call the handlers of a run that was made then.
    fn host_at(&self, created_at: Instant) -> HandlerHost {
        let older = self.older.iter().find(|(until, _)| created_at < *until);
        Arc::clone(older.map_or(&self.host, |(_, host)| host))
    }
}

impl Serving {
    /// Whether this process schedules.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// The dags that are served.
    pub(super) fn served(&self) -> Vec<DagId> {
        self.dags.keys().copied().collect()
    }

    /// A dag by its key.
    pub(super) fn dag(&self, key: &str) -> Result<DagId, SessionError> {
        let found = self.dags.values().find(|each| each.served.key == key);
        found.map(|each| each.served.dag).ok_or_else(|| {
            SessionError::NotFound(format!("the scheduler does not know the dag {key}"))
        })
    }

    /// A dag, ready to make runs that somebody asks for.
    pub(super) fn cached(&self, key: &str) -> Result<Cached, SessionError> {
        let dag = self.dag(key)?;
        match self.dags.get(&dag) {
            Some(each) if !each.removed => Ok(Arc::clone(&each.cached)),
            Some(_) => Err(SessionError::Refused(format!(
                "the dag {key} was removed\n  hint: no dag file defines it any more; what is open \
                 of it goes on"
            ))),
            None => Err(SessionError::Closed),
        }
    }

    /// Who can call the handlers of a dag.
    pub(super) fn host(&self, dag: DagId) -> Result<HandlerHost, SessionError> {
        self.dags.get(&dag).map(|each| Arc::clone(&each.host)).ok_or_else(|| {
            SessionError::NotFound("the scheduler does not serve the dag of this run".to_owned())
        })
    }
}

impl Driver {
    /// Serves these dags from now on, and takes up what is open of them.
    pub(super) fn serve(
        &mut self,
        serve: Serve,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        self.serving.active = true;
        for Served { served, cached, host, older, removed } in &serve.dags {
            let known = ServedDag {
                served: served.clone(),
                cached: Arc::clone(cached),
                host: Arc::clone(host),
                older: older.clone(),
                removed: *removed,
            };
            self.serving.dags.insert(served.dag, known);
        }
        let mut dags = serve.dags.iter().map(|each| each.served.dag);
        let taken = dags.try_for_each(|dag| {
            let loaded = self.load_schedules(dag);
            self.or_without(dag, loaded)
        });
        match taken.and_then(|()| self.take_up(turn, now)) {
            Ok(()) => {
                self.asked_before(turn, waiting, now);
                waiting.done.push(serve.reply.clone());
                Some(Message::Serve(serve))
            }
            Err(error) => {
                let _ = serve.reply.send(Err(error));
                None
            }
        }
    }

    /// A dag that cannot be read is served no more, which is told; what else failed is given back.
    pub(super) fn or_without(
        &mut self,
        dag: DagId,
        read: Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        match read {
            Err(error) if error.is_of_one() => {
                self.world.unserve(dag);
                if let Some(known) = self.serving.dags.remove(&dag) {
                    self.tell_unreadable(Some(known.served.key), None, &error);
                }
                Ok(())
            }
            other => other,
        }
    }

    /// Tells of an open run that cannot be read, once.
    pub(super) fn tell_unreadable_run(&mut self, run: RunId, why: &SessionError) {
        if self.serving.unreadable.insert(run) {
            self.tell_unreadable(None, Some(run), why);
        }
    }

    fn tell_unreadable(&self, dag: Option<String>, run: Option<RunId>, why: &SessionError) {
        if let Some(told) = &self.told {
            let (at, why) = (self.clock.now(), why.to_string());
            told.tell(News::Unreadable { at, dag, run, why });
        }
    }

    /// Whether schedules fire here.
    pub(super) fn serves(&self) -> bool {
        self.serving.active
    }

    /// Reads the schedules of a dag that is served.
    pub(super) fn load_schedules(&mut self, dag: DagId) -> Result<(), SessionError> {
        let Some(known) = self.serving.dags.get(&dag) else { return Ok(()) };
        let mut schedules = Vec::new();
        for stored in self.store.schedules(dag)? {
            let key = format!("{}.{}", known.served.key, stored.def.name);
            let schedule = Scheduled::new(
                stored.id,
                dag,
                &key,
                stored.def,
                stored.bindings,
                stored.watermark,
                &stored.periods,
            )?
            .with_skips(stored.ahead, stored.last_skip)
            .changed_at(stored.changed_at);
            schedules.push(match self.serving.judged.get(&stored.id) {
                Some(before) => schedule.judged_as(before),
                None => schedule.seen_until(self.seen_until),
            });
        }
        let served = match known.removed {
            true => known.served.clone().following_nobody(),
            false => known.served.clone(),
        };
        self.world.serve(served, schedules);
        self.ends_may_differ();
        Ok(())
    }

    /// Reads a dag anew that somebody registered, paused or removed.
    pub(super) fn reread(&mut self, dag: DagId) -> Result<(), SessionError> {
        let Some(known) = self.serving.dags.get_mut(&dag) else { return Ok(()) };
        if let Some(found) = self.store.dag(&known.served.key)? {
            // A dag that was removed keeps what it had: its runs go on.
            known.removed = found.removed;
            if !known.removed {
                let (served, cached) = ready(found)?;
                let enabled = newly_enabled(&known.cached, &cached);
                self.serving.enabled.extend(enabled);
                (known.served, known.cached) = (served, Arc::new(cached));
            }
        }
        self.load_schedules(dag)
    }

    /// Takes a run of the scope into the world, if it is not there: one that has ended, to be run
    /// again.
    pub(super) fn take_in(&mut self, run: RunId) -> Result<Arc<Plan>, SessionError> {
        if let Some(driven) = self.runs.get(&run) {
            return Ok(Arc::clone(&driven.plan));
        }
        let missing = || SessionError::NotFound(format!("there is no run {run}"));
        let stored = self.store.stored_run(run)?.ok_or_else(missing)?;
        if stored.row.scope_id != self.lease.scope_id {
            return Err(SessionError::Refused(format!(
                "run {run} was made by another process, which decides for it\n  hint: rerun it \
                 from there, or with dag.rerun({run})"
            )));
        }
        let host = self.serving.host(stored.row.dag_id)?;
        let plan = plan_of(&mut *self.store, &stored)?;
        self.load(&stored, Arc::clone(&plan))
            .map_err(|broken| SessionError::Store(broken.to_string()))?;
        self.drive_stored(stored, &plan, &host);
        Ok(plan)
    }

    /// Who calls the handlers of tasks whose version is not what the file of the dag says now: the
    /// same file as it was, where a copy of that was kept. By indexes of the plan.
    pub(super) fn earlier_hosts(
        &mut self,
        plan: &Plan,
        host: &HandlerHost,
    ) -> BTreeMap<u32, HandlerHost> {
        let Some(known) = self.serving.dags.get(&plan.dag_id) else { return BTreeMap::new() };
        let Some(now) = host.downcast_ref::<ProcessHost>() else { return BTreeMap::new() };
        let followed = &known.cached.followed;
        let others = (0u32..).zip(&plan.tasks).map(|(at, task)| (at, task.version_id));
        let others: Vec<_> = others.filter(|(_, version)| !followed.contains(version)).collect();
        if others.is_empty() {
            return BTreeMap::new();
        }
        let ids: Vec<_> = others.iter().map(|(_, version)| *version).collect();
        // What cannot be read is not known: the file as it is now has to do.
        let code = self.store.code(&ids).unwrap_or_default();
        let host = |(at, version): (u32, _)| {
            let version = code.get(&version).filter(|code| **code != now.version)?.clone();
            let earlier: HandlerHost = Arc::new(ProcessHost { version, ..now.clone() });
            Some((at, earlier))
        };
        others.into_iter().filter_map(host).collect()
    }

    /// Lets go of a run that was taken in and has ended all the same.
    pub(super) fn let_go(&mut self, run: RunId) {
        let ended = |found: &crate::engine::Run| found.row.state != RunState::Running;
        if self.world.run(run).is_some_and(ended) && self.world.forget(run) {
            self.runs.remove(&run);
        }
    }

    /// How many runs can still move. One that has ended may be here all the same: for a thread that
    /// runs on, or for what time will do about something that is BLOCKED.
    pub(super) fn open_runs(&self) -> usize {
        let open = |run: &RunId| {
            self.world.run(*run).is_some_and(|found| found.row.state == RunState::Running)
        };
        self.runs.keys().filter(|run| open(run)).count()
    }

    /// From now on a run that is stored is driven here.
    fn drive_stored(&mut self, stored: StoredRun, plan: &Arc<Plan>, host: &HandlerHost) {
        let params = match serde_json::from_str(&stored.row.params) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        self.drive(stored.row, params, plan, host);
    }

    /// Reads all schedules anew after a refused commit; where a dag was changed, what its runs are
    /// made of as well.
    pub(super) fn reload_schedules(&mut self) -> Result<(), StoreError> {
        let (changed, newest) = self.changed_dags()?;
        let dags: Vec<DagId> = self.serving.dags.keys().copied().collect();
        for dag in dags {
            let read = match changed.contains(&dag) {
                true => self.reread(dag),
                false => self.load_schedules(dag),
            };
            let read = self.or_without(dag, read);
            read.map_err(|error| StoreError::Other(error.to_string()))?;
        }
        self.all_read(newest);
        for (key, run) in self.serving.known.clone() {
            self.world.know_timed(key, run);
        }
        Ok(())
    }

    /// A commit found that this timed run is there already.
    pub(super) fn know_timed(&mut self, key: TimedKey, run: RunId) {
        self.serving.known.push((key, run));
    }

    /// After a commit: what it decided about missed fires stands.
    pub(super) fn schedules_stand(&mut self, turn: &Turn) {
        self.serving.known.clear();
        for to in turn.judged() {
            if let Some(schedule) = self.world.schedule(to.schedule) {
                self.serving.judged.insert(to.schedule, schedule.clone());
            }
        }
    }

    /// Takes up the open runs of the scope whose dags are served: those of a process before this
    /// one. What was live there is lost.
    fn take_up(&mut self, turn: &mut Turn, now: Instant) -> Result<(), SessionError> {
        self.take_up_backfills()?;
        let mut runs = self.store.open_runs(self.lease.scope_id)?;
        // What is blocked goes on by itself when something outside of its run is repaired.
        let blocked: Vec<RunId> = self.store.blocked_runs(self.lease.scope_id)?;
        runs.extend(&blocked);
        runs.sort_unstable();
        runs.dedup();
        for run in runs {
            if self.runs.contains_key(&run) {
                continue;
            }
            match self.take_up_run(run) {
                Err(error) if error.is_of_one() => self.tell_unreadable_run(run, &error),
                taken => taken?,
            }
            if blocked.contains(&run) {
                self.let_go(run);
            }
        }
        for node in self.serving.gone.clone() {
            self.decide(&Event::NodeLost { node }, turn, now);
        }
        Ok(())
    }

    fn take_up_run(&mut self, run: RunId) -> Result<(), SessionError> {
        let Some(stored) = self.store.stored_run(run)? else { return Ok(()) };
        let Some(known) = self.serving.dags.get(&stored.row.dag_id) else { return Ok(()) };
        let host = known.host_at(stored.row.created_at);
        let plan = plan_of(&mut *self.store, &stored)?;
        self.load(&stored, Arc::clone(&plan))
            .map_err(|broken| SessionError::Unreadable(broken.to_string()))?;
        let nodes = stored.leases.iter().map(|lease| lease.node_id);
        self.serving.gone.extend(nodes.filter(|node| *node != self.lease.node_id));
        self.drive_stored(stored, &plan, &host);
        Ok(())
    }

    /// Tasks that were enabled: what they left out is run where somebody is blocked by that.
    pub(super) fn enable(&mut self, turn: &mut Turn, now: Instant) {
        for task in std::mem::take(&mut self.serving.enabled) {
            // The runs that it blocks are here; its own may have ended, and be here no more.
            for run in self.world.blocking_runs(task) {
                // One that cannot be read goes on being blocked by.
                let _ = self.take_in(run);
            }
            self.decide(&Event::Enabled(task), turn, now);
        }
    }

    /// A run that the end of an upstream made is driven here from now on.
    pub(super) fn drive_follower(&mut self, row: &RunRow, plan: &Arc<Plan>) {
        let Some(known) = self.serving.dags.get(&row.dag_id) else { return };
        let host = Arc::clone(&known.host);
        let params = match serde_json::from_str(&row.params) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        self.drive(row.clone(), params, plan, &host);
        self.is_following(row.id);
    }

    /// Decides the fires that are due, the earliest first.
    pub(super) fn fire(&mut self, turn: &mut Turn, waiting: &mut Waiting, now: Instant) {
        for _ in 0..FIRES {
            let Some(schedule) = self.world.next_schedule_due(now) else { return };
            let Ok(decision) = decide(&self.world, &Event::ScheduleDue(schedule), now) else {
                return;
            };
            let created: Vec<_> = decision
                .creates
                .iter()
                .map(|create| (create.row.clone(), Arc::clone(&create.plan.0)))
                .collect();
            // A mistake of ours stops this turn's fires, and not the driver.
            if self.apply(decision, turn).is_err() {
                return;
            }
            for (row, plan) in created {
                let Some(known) = self.serving.dags.get(&row.dag_id) else { continue };
                let host = Arc::clone(&known.host);
                let params = match serde_json::from_str(&row.params) {
                    Ok(Value::Object(params)) => params,
                    _ => Map::new(),
                };
                waiting.fired.push(row.id);
                self.drive(row, params, &plan, &host);
            }
        }
    }

    /// Pauses schedules, or lets them go on.
    pub(super) fn pause(
        &mut self,
        schedules: &[ScheduleId],
        paused: bool,
        missed: Option<Missed>,
        turn: &mut Turn,
        now: Instant,
    ) {
        for schedule in schedules {
            // What fell due before is not touched by it.
            let event = Event::Pause { schedule: *schedule, paused, missed };
            self.decide(&event, turn, now);
        }
    }
}

/// Tasks that are enabled now and were not before.
fn newly_enabled(before: &CachedPlan, now: &CachedPlan) -> Vec<TaskId> {
    let was = before.plans.active();
    let is_new = |task: &&PlannedTask| {
        let known = was.tasks.iter().find(|known| known.task_id == task.task_id);
        task.enabled && known.is_some_and(|known| !known.enabled)
    };
    now.plans.active().tasks.iter().filter(is_new).map(|task| task.task_id).collect()
}

/// What it takes to fire a registered dag, and to make runs that somebody asks for.
pub fn ready(dag: RegisteredDag) -> Result<(crate::engine::Served, CachedPlan), SessionError> {
    let tasks: Vec<PlannedTask> = dag.tasks.iter().map(RegisteredTask::planned).collect();
    let candidates = dag.candidates();
    let served = crate::engine::Served::new(dag.id, &dag.def, &tasks, &candidates, &dag.schedules)?;
    // A run that somebody asks for is one of the dag, so its dates are those of its schedules.
    let schedules = dag.schedules.iter().map(|(_, schedule)| schedule);
    let of_dag = schedules.filter(|schedule| schedule.binds_dag());
    let when = When::of(&dag.def.timezone, dag.def.biz_offset, of_dag)?;
    let plans = Plans::new(dag.id, &dag.def.key, tasks, &candidates)?;
    let is_held =
        |task: &&RegisteredTask| dag.held.iter().any(|held| held.active.task_id == task.task_id);
    let followed = dag.tasks.iter().filter(|task| !is_held(task)).map(|task| task.version_id);
    let followed = followed.collect();
    let revision = (dag.id, dag.revision);
    Ok((served, CachedPlan { plans, when, timezone: dag.def.timezone, revision, followed }))
}

/// The plan that a run was made with: the versions that its task runs name.
pub fn plan_of(store: &mut dyn Store, stored: &StoredRun) -> Result<Arc<Plan>, SessionError> {
    // Items of mapped tasks come after what the plan has.
    let planned = stored.row.task_count as usize;
    let ids: Vec<_> = stored.task_runs.iter().take(planned).map(|t| t.task_version_id).collect();
    let mut versions = store.versions(&ids)?;
    let mut tasks = Vec::with_capacity(planned);
    for task_run in stored.task_runs.iter().take(planned) {
        let version = versions.remove(&task_run.task_version_id).ok_or_else(|| {
            SessionError::Unreadable(format!(
                "version {} of task run {} is not in the database",
                task_run.task_version_id, task_run.id
            ))
        })?;
        tasks.push(PlannedTask {
            task_id: version.task_id,
            version_id: version.version_id,
            def: version.def,
            // Its runs are made; who is disabled now was not then.
            enabled: true,
        });
    }
    if stored.row.backfill_id.is_some()
        && let Some(dag) = store.dag(&stored.row.dag)?
    {
        return Ok(Arc::new(part(&dag, tasks)?));
    }
    let plan = Plan::build(stored.row.dag_id, &stored.row.dag, tasks);
    Ok(Arc::new(plan?))
}
