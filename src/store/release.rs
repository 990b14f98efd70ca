//! What becomes of the versions of a task when somebody decides about them, and what has to fit
//! together then. Shared by all stores, so that they cannot differ.

use super::definition::{full_key, header};
use super::{Held, RegisteredDag};
use crate::model::{DagDef, Problem, ReleaseAsk, Share, TaskDef, params};

/// How a task stands.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Its whole key.
    pub task: String,
    /// Numbers of all its versions.
    pub versions: Vec<u32>,
    /// What was registered last.
    pub registered: u32,
    /// What runs take.
    pub active: u32,
    /// The open release: its version, and the dates that take it.
    pub open: Option<(u32, Option<Share>)>,
}

/// How it stands then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub active: u32,
    pub open: Option<(u32, Option<Share>)>,
}

impl Standing {
    /// What is wanted, checked.
    pub(super) fn settle(&self, ask: ReleaseAsk) -> Result<Settled, Problem> {
        match ask {
            ReleaseAsk::Promote { version, share: None } => {
                self.known(version)?;
                let pinned = version != self.registered;
                Ok(Settled { active: version, open: pinned.then_some((version, None)) })
            }
            ReleaseAsk::Promote { version, share: Some(share) } => {
                self.known(version)?;
                self.check(share)?;
                Ok(Settled { active: self.base_for(version)?, open: Some((version, Some(share))) })
            }
            ReleaseAsk::Rollback { version } => {
                let version = self.rolled_back(version)?;
                Ok(Settled { active: version, open: Some((version, None)) })
            }
        }
    }

    /// Whether that is how it stands already.
    pub(super) fn is(&self, settled: &Settled) -> bool {
        self.active == settled.active && self.open == settled.open
    }

    fn known(&self, version: u32) -> Result<(), Problem> {
        if self.versions.contains(&version) {
            return Ok(());
        }
        let list = self.versions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("there is no version {version}");
        Err(Problem::new("unknown_version", &self.task, message).hint(format!("there are: {list}")))
    }

    fn check(&self, share: Share) -> Result<(), Problem> {
        let Share::Percent(percent) = share else { return Ok(()) };
        if (1..=100).contains(&percent) {
            return Ok(());
        }
        let message = format!("{percent} % is no share: it must be from 1 to 100");
        let hint = "without a percentage the version is for all runs; `rollback` ends a release";
        Err(Problem::new("bad_percent", &self.task, message).hint(hint))
    }

    /// Which version the other dates take.
    fn base_for(&self, version: u32) -> Result<u32, Problem> {
        if version != self.active {
            return Ok(self.active);
        }
        if let Some((other, Some(_))) = self.open {
            let message =
                format!("version {version} is what the dates run that do not take {other}");
            let hint = format!("change the share of version {other}, or roll back first");
            return Err(Problem::new("is_the_base", &self.task, message).hint(hint));
        }
        self.before(version).ok_or_else(|| {
            let message = format!("version {version} is the first: no other can have the rest");
            Problem::new("no_other_version", &self.task, message)
        })
    }

    fn before(&self, version: u32) -> Option<u32> {
        self.versions.iter().copied().filter(|other| *other < version).max()
    }

    fn rolled_back(&self, version: Option<u32>) -> Result<u32, Problem> {
        let Some(version) = version else {
            if let Some((_, Some(_))) = self.open {
                return Ok(self.active);
            }
            return self.before(self.active).ok_or_else(|| {
                let message = format!("there is no version before {}", self.active);
                Problem::new("nothing_to_roll_back_to", &self.task, message)
                    .hint("`mainspring versions` lists what there is")
            });
        };
        self.known(version)?;
        if version > self.active {
            let message = format!("version {version} is newer than the active {}", self.active);
            let hint = format!("`mainspring promote {} --version {version}`", self.task);
            return Err(Problem::new("not_older", &self.task, message).hint(hint));
        }
        Ok(version)
    }
}

/// A definition with what its tasks may really run: a task whose version somebody chose has that
/// one, with the edges of the other one beside its own. A circle in it is a circle in one of the
/// combinations, because it passes each task once.
pub(super) fn combined(def: &DagDef, held: &[Held]) -> DagDef {
    let standing = |task: &TaskDef| {
        let Some(held) = held.iter().find(|held| held.active.def.name == task.name) else {
            return task.clone();
        };
        let mut found = (*held.active.def).clone();
        let others = held.other.iter().flat_map(|(_, other)| &other.def.dependencies);
        for edge in others {
            if !found.dependencies.contains(edge) {
                found.dependencies.push(edge.clone());
            }
        }
        found
    };
    DagDef { tasks: def.tasks.iter().map(standing).collect(), ..def.clone() }
}

/// What schedules give, against what the chosen versions take: a run whose values do not fit is not
/// made. Looked at with the active versions, and with each other one among them.
pub(super) fn given(def: &DagDef, held: &[Held]) -> Vec<Problem> {
    let with = |chosen: &[&TaskDef]| {
        let task = |task: &TaskDef| {
            let found = chosen.iter().find(|chosen| chosen.name == task.name);
            found.map_or(task, |chosen| chosen).clone()
        };
        let def = DagDef { tasks: def.tasks.iter().map(task).collect(), ..def.clone() };
        params::check_given(&def, &def.key)
    };
    if held.is_empty() {
        return Vec::new();
    }
    let active: Vec<&TaskDef> = held.iter().map(|held| &*held.active.def).collect();
    let mut problems = with(&active);
    for (at, (_, other)) in
        held.iter().enumerate().filter_map(|(at, held)| Some((at, held.other.as_ref()?)))
    {
        let mut chosen = active.clone();
        if let Some(place) = chosen.get_mut(at) {
            *place = &other.def;
        }
        let found = with(&chosen);
        problems.extend(
            found.into_iter().filter(|found| !problems.contains(found)).collect::<Vec<_>>(),
        );
    }
    problems
}

/// The definition of a dag as its tasks stand.
pub(super) fn standing_def(dag: &RegisteredDag) -> DagDef {
    let mut def = header(&dag.def);
    def.tasks = dag.tasks.iter().map(|task| (*task.def).clone()).collect();
    def.schedules = dag.schedules.iter().map(|(_, schedule)| schedule.clone()).collect();
    def
}

/// The problems of a combination, with what to do about them.
pub(super) fn explained(problems: Vec<Problem>, held: &[(String, Held)]) -> Vec<Problem> {
    let key = |(dag, held): &(String, Held)| full_key(dag, &held.active.def.name);
    let tasks: Vec<String> = held.iter().map(key).collect();
    let hint = format!(
        "a version was chosen of {}: promote or roll back to versions that fit together",
        tasks.join(", ")
    );
    problems.into_iter().map(|problem| problem.hint(hint.clone())).collect()
}
