//! Dags whose schedules fire here: they are taken up, fire, are paused, and are let go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::message::{Message, Serve, Served};
use super::{Driver, Waiting};
use crate::engine::{Event, Plan, PlannedTask, Scheduled, decide};
use crate::model::{DagId, Instant, Missed, NodeId, RunId, ScheduleId, SpecError, TimedKey};
use crate::runtime::executor::HandlerHost;
use crate::runtime::refusal::SessionError;
use crate::runtime::turn::Turn;
use crate::store::{Store, StoreError, StoredRun};

/// So many fires are taken in one turn at most: the next commit is soon enough for the others.
const FIRES: usize = 1_024;

/// What the driver keeps of the dags that it serves, besides the world.
#[derive(Default)]
pub struct Serving {
    dags: BTreeMap<DagId, ServedDag>,
    /// How far it was decided which fires were missed, as of the last commit.
    judged: BTreeMap<ScheduleId, Scheduled>,
    /// Timed runs that a commit found to be there already.
    known: Vec<(TimedKey, RunId)>,
    /// Nodes that had the scope before, with whatever ran on them.
    gone: BTreeSet<NodeId>,
}

struct ServedDag {
    served: crate::engine::Served,
    host: HandlerHost,
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
        for Served { served, host } in &serve.dags {
            let (served, host) = (served.clone(), Arc::clone(host));
            self.serving.dags.insert(served.dag, ServedDag { served, host });
        }
        let mut dags = serve.dags.iter().map(|each| each.served.dag);
        let taken = dags.try_for_each(|dag| self.load_schedules(dag));
        match taken.and_then(|()| self.take_up(turn, now)) {
            Ok(()) => {
                waiting.done.push(serve.reply.clone());
                Some(Message::Serve(serve))
            }
            Err(error) => {
                let _ = serve.reply.send(Err(error));
                None
            }
        }
    }

    /// Whether schedules fire here.
    pub(super) fn serves(&self) -> bool {
        !self.serving.dags.is_empty()
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
            .with_skips(stored.ahead, stored.last_skip);
            schedules.push(match self.serving.judged.get(&stored.id) {
                Some(before) => schedule.judged_as(before),
                None => schedule,
            });
        }
        self.world.serve(known.served.clone(), schedules);
        Ok(())
    }

    /// Reads all schedules anew after a refused commit.
    pub(super) fn reload_schedules(&mut self) -> Result<(), StoreError> {
        let dags: Vec<DagId> = self.serving.dags.keys().copied().collect();
        for dag in dags {
            self.load_schedules(dag).map_err(|error| StoreError::Other(error.to_string()))?;
        }
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
        for run in self.store.open_runs(self.lease.scope_id)? {
            if self.runs.contains_key(&run) {
                continue;
            }
            let Some(stored) = self.store.stored_run(run)? else { continue };
            let Some(known) = self.serving.dags.get(&stored.row.dag_id) else { continue };
            let host = Arc::clone(&known.host);
            let plan = plan_of(&mut *self.store, &stored)?;
            let nodes = stored.leases.iter().map(|lease| lease.node_id);
            self.serving.gone.extend(nodes.filter(|node| *node != self.lease.node_id));
            self.load(&stored, Arc::clone(&plan))
                .map_err(|broken| SessionError::Store(broken.to_string()))?;
            let params = match serde_json::from_str(&stored.row.params) {
                Ok(Value::Object(params)) => params,
                _ => Map::new(),
            };
            self.drive(stored.row, params, &plan, &host);
        }
        for node in self.serving.gone.clone() {
            self.decide(&Event::NodeLost { node }, turn, now);
        }
        Ok(())
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

/// The plan that a run was made with: the versions that its task runs name.
pub fn plan_of(store: &mut dyn Store, stored: &StoredRun) -> Result<Arc<Plan>, SessionError> {
    let ids: Vec<_> = stored.task_runs.iter().map(|t| t.task_version_id).collect();
    let mut versions = store.versions(&ids)?;
    let mut tasks = Vec::with_capacity(stored.task_runs.len());
    for task_run in &stored.task_runs {
        let version = versions.remove(&task_run.task_version_id).ok_or_else(|| {
            SessionError::Store(format!(
                "version {} of task run {} is not in the database",
                task_run.task_version_id, task_run.id
            ))
        })?;
        tasks.push(PlannedTask {
            task_id: version.task_id,
            version_id: version.version_id,
            def: version.def,
        });
    }
    let plan = Plan::build(stored.row.dag_id, &stored.row.dag, tasks);
    Ok(Arc::new(plan.map_err(SpecError::from)?))
}
