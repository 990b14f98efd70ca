//! What of a definition is its content, which version carries it, and what edges across dags
//! must hold. Shared by all stores, so that they cannot differ.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::StoreError;
use crate::graph;
use crate::model::{DagDef, Problem, ScheduleDef, SpecError, TaskDef, content_hash};

/// The content of a task: as it is stored, and what it is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// JSON text of the definition without its place in the author's file.
    pub json: String,
    /// Of the same without the authored number, which names the content and is none.
    pub hash: [u8; 16],
}

impl Content {
    pub(super) fn of(def: &TaskDef) -> Result<Self, StoreError> {
        let mut def = def.clone();
        def.source = None;
        let authored = def.authored_version.take();
        let mut json = to_json(&def)?;
        let hash = content_hash(json.as_bytes());
        if authored.is_some() {
            def.authored_version = authored;
            json = to_json(&def)?;
        }
        Ok(Content { json, hash })
    }
}

/// JSON text of something of ours, which cannot fail but for a bug.
pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))
}

/// A dag without what has rows of its own.
pub(super) fn header(dag: &DagDef) -> DagDef {
    DagDef {
        key: dag.key.clone(),
        title: dag.title.clone(),
        doc: dag.doc.clone(),
        owner: dag.owner.clone(),
        labels: dag.labels.clone(),
        timezone: dag.timezone.clone(),
        biz_offset: dag.biz_offset,
        max_active_runs: dag.max_active_runs,
        source_file: dag.source_file.clone(),
        schedules: Vec::new(),
        tasks: Vec::new(),
    }
}

/// Which stored schedule, by its index, each definition of a dag is: the one of its name, else the
/// one of its former name, unless that is still defined or somebody else was that already.
pub(super) fn matched(stored: &[&str], defs: &[ScheduleDef]) -> Vec<Option<usize>> {
    let find = |name: &str| stored.iter().position(|known| *known == name);
    let mut taken = BTreeSet::new();
    let mut of = |def: &ScheduleDef| {
        find(&def.name).or_else(|| {
            let former = def.renamed_from.as_deref()?;
            let is_defined = defs.iter().any(|other| other.name == former);
            find(former).filter(|at| !is_defined && taken.insert(*at))
        })
    };
    defs.iter().map(&mut of).collect()
}

/// Whether a schedule is defined otherwise than before. A pause made elsewhere stays.
pub(super) fn edited(stored: &ScheduleDef, def: &ScheduleDef) -> bool {
    ScheduleDef { paused: def.paused, ..stored.clone() } != *def
}

/// The key of a task everywhere.
pub(super) fn full_key(dag: &str, task: &str) -> String {
    format!("{dag}.{task}")
}

/// Which version carries some content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This one, which exists.
    Known(u32),
    /// One to be made, with this number.
    New(u32),
    /// The author's number stands for other content.
    Refused(u32),
}

/// Chooses among the versions of a task. Content that comes back takes the version that it had,
/// the one that was registered last first.
pub(super) fn choose(
    authored: Option<u32>,
    hash: &[u8; 16],
    versions: &[(u32, [u8; 16])],
    last: Option<u32>,
) -> Choice {
    let with = |number: u32| versions.iter().find(|(version, _)| *version == number);
    if let Some(number) = authored {
        return match with(number) {
            Some((_, known)) if known == hash => Choice::Known(number),
            Some(_) => Choice::Refused(number),
            None => Choice::New(number),
        };
    }
    if let Some((number, known)) = last.and_then(with)
        && known == hash
    {
        return Choice::Known(*number);
    }
    let same = versions.iter().filter(|(_, known)| known == hash).map(|(number, _)| *number);
    match same.max() {
        Some(number) => Choice::Known(number),
        None => Choice::New(versions.iter().map(|(number, _)| *number).max().unwrap_or(0) + 1),
    }
}

/// The problem of `Choice::Refused`.
pub(super) fn content_changed(dag: &str, task: &str, version: u32) -> Problem {
    let message = format!("version {version} is registered with other content");
    Problem::new("version_content_changed", full_key(dag, task), message)
        .hint(format!("what was registered stays: write version {} for the change", version + 1))
}

/// The tasks of a dag that is registered, and their edges as far as both ends are there.
#[derive(Clone, Debug, Default)]
pub(super) struct Registered {
    /// Full keys.
    pub tasks: Vec<String>,
    /// Edges that can close a cycle: index in `tasks`, full key of the upstream.
    pub edges: Vec<(usize, String)>,
}

/// The code of a task run whose task was disabled.
pub(super) const DISABLED: &str = "DISABLED";

/// The code of a task run that was left out of its run, which then counts for nobody.
pub(super) const NOT_SELECTED: &str = "NOT_SELECTED";

/// The code of a task run that a reprocess left as it was: what is asked of it is answered by the
/// success before.
pub(super) const UNCHANGED: &str = "UNCHANGED";

/// The type of a task that looks whether data is ready.
pub(super) const PROBE: &str = "probe";

/// Which of a dag's schedules fire a task: its own, else those of the dag; those that were removed
/// only where no other does.
pub(super) fn fires<'s>(
    schedules: &[(&'s ScheduleDef, bool)],
    task: &str,
) -> Vec<(usize, &'s ScheduleDef)> {
    let all = |own: bool, removed: bool| -> Vec<(usize, &'s ScheduleDef)> {
        let binds = |def: &ScheduleDef| if own { def.binds_task(task) } else { def.binds_dag() };
        let found = schedules
            .iter()
            .enumerate()
            .filter(|(_, (def, gone))| binds(def) && (removed || !gone));
        found.map(|(nth, (def, _))| (nth, *def)).collect()
    };
    let is_there = |own: bool| !all(own, false).is_empty();
    match (is_there(true), is_there(false)) {
        (true, _) => all(true, true),
        (false, true) => all(false, true),
        (false, false) => [all(true, true), all(false, true)].concat(),
    }
}

/// No task has to do with this asset.
pub(super) fn unknown_asset(asset: &str, known: &[String]) -> SpecError {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let message = format!("there is no asset `{asset}`: no task makes it or waits for it");
    let problem = Problem::new("unknown_asset", asset, message);
    SpecError::from(match graph::Nearest::new(&names).find(asset) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("a task makes it with produces=, or waits for it with depends_on="),
    })
}

/// There is no such task.
pub(super) fn unknown_task(key: &str) -> SpecError {
    let message = format!("there is no task `{key}`");
    SpecError::from(Problem::new("unknown_task", key, message).hint("write it as `dag.task`"))
}

/// What is wrong with these dags beside each other, and beside those registered earlier: edges to
/// what is not there, cycles across dags, one name twice.
///
/// Only dags that are upstream of the new ones can be on a cycle with them; `load` is asked for
/// those and for no others.
pub(super) fn check<E>(
    dags: &[DagDef],
    load: &mut dyn FnMut(&str) -> Result<Option<Registered>, E>,
    producer: &mut dyn FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Vec<Problem>, E> {
    let mut names: Vec<String> = Vec::new();
    let mut edges: Vec<(usize, String)> = Vec::new();
    let mut problems = repeated(dags);
    let mut loose: Vec<(String, String)> = Vec::new();
    let mut wanted: VecDeque<String> = VecDeque::new();
    let makers = makers(dags, &mut problems);
    for dag in dags {
        for task in &dag.tasks {
            let at = names.len();
            names.push(full_key(&dag.key, &task.name));
            for edge in &task.dependencies {
                if let Some(asset) = edge.asset() {
                    // Whoever makes the asset is upstream of whoever waits for it.
                    let maker = match makers.get(asset) {
                        Some(maker) => Some(maker.clone()),
                        None => producer(asset)?.filter(|key| !is_given(dags, key)),
                    };
                    match maker {
                        Some(maker) if edge.can_close_a_cycle() => {
                            wanted.extend(dag_of(&maker).map(str::to_owned));
                            edges.push((at, maker));
                        }
                        Some(_) => {}
                        None if edge.external => {}
                        None => problems.push(nobody_makes(&names[at], asset, &makers)),
                    }
                    continue;
                }
                wanted.extend(dag_of(&edge.upstream).map(str::to_owned));
                if edge.can_close_a_cycle() {
                    edges.push((at, edge.upstream.clone()));
                } else {
                    loose.push((names[at].clone(), edge.upstream.clone()));
                }
            }
        }
    }
    let mut seen: BTreeSet<String> = dags.iter().map(|dag| dag.key.clone()).collect();
    while let Some(key) = wanted.pop_front() {
        if !seen.insert(key.clone()) {
            continue;
        }
        if let Some(found) = load(&key)? {
            wanted.extend(found.edges.iter().filter_map(|(_, up)| dag_of(up)).map(str::to_owned));
            let offset = names.len();
            names.extend(found.tasks);
            edges.extend(found.edges.into_iter().map(|(at, up)| (offset + at, up)));
        }
    }
    let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    for (task, upstream) in loose {
        if !known.contains(upstream.as_str()) {
            let message = format!("upstream `{upstream}` does not exist");
            problems.push(Problem::new("unknown_upstream", task, message));
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<(usize, &str)> = edges.iter().map(|(at, up)| (*at, up.as_str())).collect();
    if let Err(found) = graph::check(&names, &edges, &|_| false, "") {
        problems.extend(found);
    }
    Ok(problems)
}

/// Who makes which asset ready; a problem where two do.
fn makers(dags: &[DagDef], problems: &mut Vec<Problem>) -> BTreeMap<String, String> {
    let mut makers: BTreeMap<String, String> = BTreeMap::new();
    for (dag, task) in dags.iter().flat_map(|dag| dag.tasks.iter().map(move |task| (dag, task))) {
        let key = full_key(&dag.key, &task.name);
        for asset in &task.produces {
            if let Some(first) = makers.insert(asset.clone(), key.clone()) {
                let message = format!("`{first}` makes the asset `{asset}` ready already");
                problems.push(
                    Problem::new("duplicate_asset", &key, message)
                        .hint("one task says that an asset is ready; let it wait for the others"),
                );
            }
        }
    }
    makers
}

/// Whether a task is of one of these dags, so that what they say of it counts.
fn is_given(dags: &[DagDef], key: &str) -> bool {
    dag_of(key).is_some_and(|name| dags.iter().any(|dag| dag.key == name))
}

fn nobody_makes(task: &str, asset: &str, makers: &BTreeMap<String, String>) -> Problem {
    let message = format!("no task makes the asset `{asset}` ready");
    let problem = Problem::new("unknown_asset", task, message);
    let names: Vec<&str> = makers.keys().map(String::as_str).collect();
    match graph::Nearest::new(&names).find(asset) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(
            "a task makes it with produces=; say external=True where it comes from elsewhere",
        ),
    }
}

/// The first dot parts dag from task.
fn dag_of(key: &str) -> Option<&str> {
    key.split_once('.').map(|(dag, _)| dag)
}

/// Dags, schedules and resources that are there twice, and what schedules miss; the graph looks for
/// tasks.
fn repeated(dags: &[DagDef]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut keys = BTreeSet::new();
    for dag in dags {
        if !keys.insert(&dag.key) {
            let message = "this dag is given twice in one registration";
            problems.push(Problem::new("duplicate_dag", &dag.key, message));
        }
        let mut schedules = BTreeSet::new();
        for schedule in &dag.schedules {
            if !schedules.insert(&schedule.name) {
                let message = format!("two schedules are named `{}`", schedule.name);
                problems.push(Problem::new("duplicate_schedule", &dag.key, message));
            }
        }
        problems.extend(unbound(dag));
        let mut resources = BTreeMap::new();
        for task in &dag.tasks {
            let Some(resource) = &task.resource else { continue };
            let key = (resource, task.resource_key.as_deref().unwrap_or(""));
            if let Some(first) = resources.insert(key, &task.name) {
                let message = format!("`{first}` writes {resource} already");
                problems.push(
                    Problem::new("duplicate_resource", full_key(&dag.key, &task.name), message)
                        .hint("give them different resource keys"),
                );
            }
        }
    }
    problems
}

/// Schedules fire tasks of their own dag.
fn unbound(dag: &DagDef) -> impl Iterator<Item = Problem> {
    let bindings = dag.schedules.iter().flat_map(|schedule| {
        schedule.bindings.iter().filter_map(move |bound| Some((schedule, bound.task.as_ref()?)))
    });
    let is_there = |name: &String| dag.tasks.iter().any(|task| task.name == *name);
    bindings.filter(move |(_, task)| !is_there(task)).map(|(schedule, task)| {
        let message =
            format!("the schedule `{}` fires `{task}`, which is not there", schedule.name);
        Problem::new("unknown_task", &dag.key, message)
    })
}
