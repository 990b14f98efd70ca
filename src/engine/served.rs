//! A dag whose schedules fire here: what each target runs, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cell::Found;
use super::edges::Verdict;
use super::schedule::Scheduled;
use super::{Across, Candidate, Plan, PlannedTask, Plans, When};
use crate::calendar::Entry;
use crate::model::{
    DagDef, DagId, Date, EdgeKind, Problem, ScheduleDef, ScheduleId, SpecError, Target, TaskDef,
    TaskId,
};

/// A dag that is served.
#[derive(Clone, Debug)]
pub struct Served {
    /// The dag.
    pub dag: DagId,
    /// Its key.
    pub key: String,
    /// How many of its runs may be live at once.
    pub max_active_runs: u32,
    targets: BTreeMap<Option<TaskId>, (Plans, When)>,
    /// The edge to another dag whose upstream makes its runs, where it has no schedule.
    follows: Option<Across>,
}

impl Served {
    /// A registered dag with the versions of its tasks that are out, and its schedules.
    ///
    /// # Errors
    /// What is wrong with its edges or schedules.
    pub fn new(
        dag: DagId,
        def: &DagDef,
        tasks: &[PlannedTask],
        candidates: &[Candidate],
        schedules: &[(ScheduleId, ScheduleDef)],
    ) -> Result<Served, SpecError> {
        let defs = || schedules.iter().map(|(_, def)| def);
        let own = |name: &str| defs().any(|schedule| schedule.binds_task(name));
        let mut targets = BTreeMap::new();
        let together = tasks.iter().filter(|task| !own(&task.def.name)).cloned().collect();
        let when =
            |schedules: Vec<&ScheduleDef>| When::of(&def.timezone, def.biz_offset, schedules);
        let of_dag = when(defs().filter(|schedule| schedule.binds_dag()).collect())?;
        targets.insert(None, (Plans::new(dag, &def.key, together, candidates)?, of_dag));
        for task in tasks.iter().filter(|task| own(&task.def.name)) {
            let of_task = defs().filter(|schedule| schedule.binds_task(&task.def.name)).collect();
            let plans = Plans::new(dag, &def.key, vec![task.clone()], candidates)?;
            targets.insert(Some(task.task_id), (plans, when(of_task)?));
        }
        let is_timed = !schedules.is_empty();
        let dag_plan: Option<&(Plans, When)> = targets.get(&None);
        let follows =
            dag_plan.filter(|_| !is_timed).and_then(|(plans, _)| plans.active().followed());
        let follows = follows.cloned();
        let (key, max_active_runs) = (def.key.clone(), def.max_active_runs);
        Ok(Served { dag, key, max_active_runs, targets, follows })
    }

    /// The upstream in another dag, or the asset, whose end makes its runs: that of the first edge
    /// in the author's order that looks at its own period.
    pub fn follows(&self) -> Option<&Arc<str>> {
        self.follows.as_ref().map(|edge| &edge.upstream)
    }

    /// Whether the edge to the upstream that it follows holds where that stands so.
    pub(super) fn is_let_go_by(&self, found: &Found) -> bool {
        self.follows.as_ref().is_some_and(|edge| found.verdict(edge) == Verdict::Holds)
    }

    /// The task whose edge it is that is followed, and whether a definition of it has such an edge.
    pub fn following(&self) -> Option<(&PlannedTask, impl Fn(&TaskDef) -> bool + use<'_>)> {
        let upstream = self.follows()?;
        let plan = self.targets.get(&None)?.0.active();
        let index = plan.across.iter().position(|edges| edges.iter().any(|edge| edge.follows))?;
        let task = plan.tasks.get(index)?;
        let follows = move |def: &TaskDef| {
            let alone = PlannedTask { def: Arc::new(def.clone()), ..task.clone() };
            let plan = Plan::build(self.dag, &self.key, vec![alone]);
            plan.is_ok_and(|plan| plan.followed().is_some_and(|edge| edge.upstream == *upstream))
        };
        Some((task, follows))
    }

    /// A dag of which nothing new is made.
    pub fn following_nobody(mut self) -> Served {
        self.follows = None;
        self
    }

    /// Whether the edge that is followed looks at what its upstream gives or prints.
    pub fn matches_what_it_follows(&self) -> bool {
        self.follows.as_ref().is_some_and(|edge| edge.rule.kind == EdgeKind::OutputMatch)
    }

    /// What a target runs for a business date.
    pub(super) fn plan(
        &self,
        task: Option<TaskId>,
        biz_date: Date,
    ) -> Result<Arc<Plan>, SpecError> {
        self.target(task)?.0.of(biz_date)
    }

    /// When a target fires.
    pub(super) fn when(&self, task: Option<TaskId>) -> Result<&When, SpecError> {
        self.target(task).map(|(_, when)| when)
    }

    fn target(&self, task: Option<TaskId>) -> Result<&(Plans, When), SpecError> {
        let missing =
            || Problem::new("unknown_task", &self.key, "the task is not in the dag any more");
        self.targets.get(&task).ok_or_else(|| missing().into())
    }
}

fn of_dag(dag: DagId) -> std::ops::RangeInclusive<(DagId, ScheduleId)> {
    (dag, ScheduleId(i64::MIN))..=(dag, ScheduleId(i64::MAX))
}

/// Two are equal that run the same versions of the same tasks.
impl PartialEq for Served {
    fn eq(&self, other: &Self) -> bool {
        let plans = |each: &Served| -> Vec<(Option<TaskId>, Plans)> {
            each.targets.iter().map(|(task, (plans, _))| (*task, plans.clone())).collect()
        };
        (self.dag, &self.key, self.max_active_runs, &self.follows)
            == (other.dag, &other.key, other.max_active_runs, &other.follows)
            && plans(self) == plans(other)
    }
}

impl super::World {
    /// Fires the schedules of a dag from now on, in place of those that it had.
    pub fn serve(&mut self, served: Served, schedules: Vec<Scheduled>) {
        let dag = served.dag;
        let earlier = self.unserve(dag);
        if let Some(upstream) = served.follows() {
            self.followers.insert((Arc::clone(upstream), dag));
        }
        self.served.insert(dag, served);
        for schedule in schedules {
            let schedule = match earlier.get(&schedule.id) {
                Some(before) => schedule.judged_as(before),
                None => schedule,
            };
            self.put_schedule(schedule);
        }
    }

    /// The schedules of a dag are fired here no more; gives back how far they had come.
    pub fn unserve(&mut self, dag: DagId) -> BTreeMap<ScheduleId, Scheduled> {
        if let Some(upstream) = self.served.remove(&dag).and_then(|was| was.follows().cloned()) {
            self.followers.remove(&(upstream, dag));
        }
        let ids: Vec<ScheduleId> =
            self.schedules_of.range(of_dag(dag)).map(|(_, id)| *id).collect();
        ids.into_iter().filter_map(|id| Some((id, self.take_schedule(id)?))).collect()
    }

    /// The dags that are served.
    pub fn served(&self) -> impl Iterator<Item = &Served> {
        self.served.values()
    }

    /// A dag, if it is served.
    pub fn served_dag(&self, dag: DagId) -> Option<&Served> {
        self.served.get(&dag)
    }

    /// All schedules that are here, by id.
    pub fn schedules(&self) -> impl Iterator<Item = &Scheduled> {
        self.schedules.values()
    }

    /// A schedule, if it is here.
    pub fn schedule(&self, id: ScheduleId) -> Option<&Scheduled> {
        self.schedules.get(&id)
    }

    /// How many runs of a dag are live here.
    pub fn active_runs(&self, dag: DagId) -> u32 {
        self.active.get(&dag).copied().unwrap_or(0)
    }

    /// When a target would fire if one of its schedules had another rule.
    pub(super) fn when_with(
        &self,
        when: &When,
        target: Target,
        other: &Scheduled,
        entry: &Entry,
    ) -> When {
        let fires = |each: &&Scheduled| {
            !each.is_removed() && each.bindings.iter().any(|bound| bound.target == target)
        };
        let of_dag = self.schedules_of.range(of_dag(target.dag));
        let schedules = of_dag.filter_map(|(_, id)| self.schedules.get(id));
        let entries = schedules.filter(fires).filter_map(|each| {
            if each.id == other.id {
                return Some(entry.clone());
            }
            each.current().map(|span| span.entry.clone())
        });
        let entries: Vec<Entry> = entries.collect();
        when.with_entries(entries)
    }

    pub(super) fn put_schedule(&mut self, schedule: Scheduled) {
        if schedule.waiting {
            self.waiting.insert((schedule.dag, schedule.id));
        } else if let Some(due) = schedule.next_due() {
            self.dues.insert((due, schedule.id));
        }
        self.schedules_of.insert((schedule.dag, schedule.id));
        self.schedules.insert(schedule.id, schedule);
    }

    pub(super) fn take_schedule(&mut self, id: ScheduleId) -> Option<Scheduled> {
        let schedule = self.schedules.remove(&id)?;
        self.schedules_of.remove(&(schedule.dag, id));
        if !self.waiting.remove(&(schedule.dag, id))
            && let Some(due) = schedule.next_due()
        {
            self.dues.remove(&(due, id));
        }
        Some(schedule)
    }

    /// A run of the dag has ended: fires that waited for that may go on.
    pub(super) fn wake_schedules(&mut self, dag: DagId) {
        let ids: Vec<ScheduleId> = self.waiting.range(of_dag(dag)).map(|(_, id)| *id).collect();
        for id in ids {
            if let Some(mut schedule) = self.take_schedule(id) {
                schedule.waiting = false;
                schedule.woken = true;
                self.put_schedule(schedule);
            }
        }
    }
}
