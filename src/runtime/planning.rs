//! The plan of a backfill is computed from what is in the database: nothing is written.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::asking::Asker;
use super::refusal::SessionError;
use super::session::{Session, lock};
use super::versions::missing;
use crate::engine::PlannedTask;
use crate::engine::backfill::{DagFacts, Facts, Life, Past, Refused, plan_backfill};
use crate::model::{BackfillAsk, Date, Instant, PastCell, Planned, TaskDef, TaskId, TaskVersionId};
use crate::store::{RegisteredDag, RegisteredTask, Store, StoreError};

impl Asker {
    /// The plan of a backfill; nothing is started or written.
    ///
    /// # Errors
    /// `NotFound` for a dag that is not registered; `Spec` with everything that is wrong with the
    /// question; `Store`.
    pub fn plan(&self, ask: &BackfillAsk) -> Result<Planned, SessionError> {
        plan(&mut **lock(&self.store), ask, self.clock.now())
    }
}

impl Session {
    /// As [`Asker::plan`].
    ///
    /// # Errors
    /// As [`Asker::plan`].
    pub fn plan(&self, ask: &BackfillAsk) -> Result<Planned, SessionError> {
        plan(&mut **lock(&self.store), ask, self.now())
    }
}

/// The plan of a backfill as the store and the time stand.
///
/// # Errors
/// As [`Asker::plan`].
pub fn plan(
    store: &mut dyn Store,
    ask: &BackfillAsk,
    now: Instant,
) -> Result<Planned, SessionError> {
    let facts = facts(store, ask)?;
    plan_backfill(&facts, ask, &mut Remembered { store }, now).map_err(|refused| match refused {
        Refused::Spec(problems) => problems.into(),
        Refused::Past(error) => error.into(),
    })
}

/// What a store remembers.
struct Remembered<'s> {
    store: &'s mut dyn Store,
}

impl Past for Remembered<'_> {
    type Error = StoreError;

    fn cells(
        &mut self,
        task: TaskId,
        dates: (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), StoreError> {
        self.store.past_cells(task, dates, each)
    }

    fn definition(&mut self, version: TaskVersionId) -> Result<Option<Arc<TaskDef>>, StoreError> {
        Ok(self.store.versions(&[version])?.remove(&version).map(|task| task.def))
    }

    fn durations(&mut self, task: TaskId, limit: u32) -> Result<Vec<i64>, StoreError> {
        self.store.past_durations(task, limit)
    }
}

/// What is registered, as far as a plan reaches: what its dags look at, and, where it takes in what
/// depends on it, all that looks at them.
fn facts(store: &mut dyn Store, ask: &BackfillAsk) -> Result<Facts, SessionError> {
    let asked = match store.dag(&ask.dag)? {
        Some(dag) if !dag.removed => dag,
        _ => return Err(missing("dag", &ask.dag, &store.dag_keys()?)),
    };
    let mut found: BTreeMap<String, RegisteredDag> = BTreeMap::new();
    found.insert(ask.dag.clone(), asked);
    if ask.downstream {
        add_dependents(store, &mut found)?;
    }
    // An edge is followed once up, further where cells are taken in or fire when others do.
    let mut next: VecDeque<(String, bool)> = found.keys().map(|key| (key.clone(), true)).collect();
    let mut looked = BTreeSet::new();
    while let Some((key, goes_on)) = next.pop_front() {
        if !looked.insert(key.clone()) {
            continue;
        }
        let upstreams = match found.get(&key) {
            Some(dag) if goes_on || ask.upstream || dag.schedules.is_empty() => {
                dags_above(store, dag)?
            }
            _ => continue,
        };
        for up in upstreams {
            if !found.contains_key(&up)
                && let Some(dag) = store.dag(&up)?.filter(|dag| !dag.removed)
            {
                found.insert(up.clone(), dag);
            }
            next.push_back((up, false));
        }
    }
    let mut facts = Facts::default();
    for dag in found.into_values() {
        facts.dags.push(dag_facts(store, dag)?);
    }
    facts.held = store.held_cells()?;
    facts.slots = store.pools()?.into_iter().map(|(name, (slots, _))| (name, slots)).collect();
    let limits = store.limits()?.into_iter();
    facts.slots.extend(limits.map(|(name, (slots, _))| (format!("limit:{name}"), slots)));
    Ok(facts)
}

/// The dags that the edges of a dag look at.
fn dags_above(
    store: &mut dyn Store,
    dag: &RegisteredDag,
) -> Result<BTreeSet<String>, SessionError> {
    let mut above = BTreeSet::new();
    for edge in dag.tasks.iter().flat_map(|task| &task.def.dependencies) {
        let key = match edge.asset() {
            Some(asset) => store.producer(asset)?,
            None => Some(edge.upstream.clone()),
        };
        let up = key.as_deref().and_then(|key| key.split_once('.')).map(|(dag, _)| dag.to_owned());
        above.extend(up);
    }
    above.remove(&dag.def.key);
    Ok(above)
}

/// Adds the dags that look at one that is there, whatever lies between.
fn add_dependents(
    store: &mut dyn Store,
    found: &mut BTreeMap<String, RegisteredDag>,
) -> Result<(), SessionError> {
    let mut others = BTreeMap::new();
    for key in store.dag_keys()? {
        if !found.contains_key(&key)
            && let Some(dag) = store.dag(&key)?
        {
            let above = dags_above(store, &dag)?;
            others.insert(key, (dag, above));
        }
    }
    loop {
        let looks = |above: &BTreeSet<String>| above.iter().any(|up| found.contains_key(up));
        let next: Vec<String> = others
            .iter()
            .filter(|(_, (_, above))| looks(above))
            .map(|(key, _)| key.clone())
            .collect();
        if next.is_empty() {
            return Ok(());
        }
        for key in next {
            if let Some((dag, _)) = others.remove(&key) {
                found.insert(key, dag);
            }
        }
    }
}

fn dag_facts(store: &mut dyn Store, dag: RegisteredDag) -> Result<DagFacts, SessionError> {
    let key = dag.def.key.clone();
    let planned = |task: &RegisteredTask| PlannedTask {
        task_id: task.task_id,
        version_id: task.version_id,
        def: Arc::clone(&task.def),
        enabled: task.enabled,
    };
    let own = |name: &str| dag.schedules.iter().any(|(_, schedule)| schedule.binds_task(name));
    let mut lives = Vec::new();
    let together = dag.tasks.iter().find(|task| !own(&task.def.name));
    let alone = (0usize..).zip(&dag.tasks).filter(|(_, task)| own(&task.def.name));
    let alone = alone.map(|(index, task)| (Some(index), &task.def.name));
    for (task, name) in together.map(|task| (None, &task.def.name)).into_iter().chain(alone) {
        let upstream = store.upstream(&format!("{key}.{name}"))?;
        let schedules = upstream.map(|upstream| upstream.schedules).unwrap_or_default();
        lives.push(Life { task, schedules });
    }
    let share = |index: usize, task: &RegisteredTask| {
        let held = dag.held.iter().find(|held| held.active.task_id == task.task_id)?;
        let (share, other) = held.other.as_ref()?;
        Some((index, *share, other.version_id))
    };
    let shares =
        (0usize..).zip(&dag.tasks).filter_map(|(index, task)| share(index, task)).collect();
    Ok(DagFacts {
        id: dag.id,
        timezone: dag.def.timezone,
        biz_offset: dag.def.biz_offset,
        tasks: dag.tasks.iter().map(|task| (planned(task), task.version)).collect(),
        shares,
        lives,
        key,
    })
}
