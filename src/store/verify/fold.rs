//! The journal of a run, read from its beginning: it must use the arrows of the table only, give
//! the rows as they are, and never start what its upstreams do not allow.

use std::collections::BTreeMap;

use super::{Findings, RunFacts};
use crate::model::journal::{Entry, unpack};
use crate::model::{EdgeKind, Instant, State, TaskRunId};

/// A task run as the journal has it so far.
#[derive(Clone, Copy)]
struct Folded {
    state: State,
    moves: u32,
    attempt_no: u32,
    last: Option<Instant>,
}

const NEW: Folded = Folded { state: State::Pending, moves: 0, attempt_no: 0, last: None };

pub(super) fn check(facts: &RunFacts<'_>, findings: &mut Findings) {
    let run = &facts.run.row;
    let mut folded: BTreeMap<TaskRunId, Folded> =
        facts.run.task_runs.iter().map(|row| (row.id, NEW)).collect();
    let upstreams = Upstreams::of(facts);
    for packed in facts.journal {
        let entries = match unpack(run.first_task_run_id, packed) {
            Ok(entries) => entries,
            Err(error) => {
                findings.note("L3", format!("run {}: {error}", run.id));
                return;
            }
        };
        for entry in entries {
            let Entry::Moved { task_run, from, to, attempt_no, when, .. } = entry else { continue };
            let Some(before) = folded.get(&task_run).copied() else {
                findings.note("L3", format!("run {} tells of task run {task_run}", run.id));
                continue;
            };
            let arrow = || format!("task run {task_run}: {from} to {to} at {when}");
            if !from.may_become(to) {
                let invariant = if from.is_final() { "L2" } else { "L1" };
                findings.note(invariant, arrow());
            }
            if before.state != from || attempt_no < before.attempt_no {
                findings.note("L3", arrow());
            }
            if before.last.is_some_and(|last| when < last) {
                findings.note("L4", arrow());
            }
            if to == State::Running
                && let Some(upstream) = upstreams.forbids(task_run, &folded)
            {
                findings.note("D1", format!("{} while {upstream}", arrow()));
            }
            let after = Folded { state: to, moves: before.moves + 1, attempt_no, last: Some(when) };
            folded.insert(task_run, after);
        }
    }
    for row in &facts.run.task_runs {
        let Some(end) = folded.get(&row.id) else { continue };
        let now = &row.progress;
        if end.state != now.state || end.moves != now.revision || end.attempt_no > now.attempt_no {
            let text = format!(
                "task run {} is {} after {} moves, its journal says {} after {}",
                row.id, now.state, now.revision, end.state, end.moves
            );
            findings.note("L3", text);
        }
    }
}

/// Edges within the run: of each task run, the task runs that it waits for and how.
struct Upstreams(BTreeMap<TaskRunId, Vec<(TaskRunId, EdgeKind)>>);

impl Upstreams {
    fn of(facts: &RunFacts<'_>) -> Self {
        let mut ids: BTreeMap<&str, Vec<TaskRunId>> = BTreeMap::new();
        let named = |row: &crate::model::TaskRunRow| facts.versions.get(&row.task_version_id);
        for row in facts.planned() {
            if let Some(version) = named(row) {
                ids.entry(&version.def.name).or_default().push(row.id);
            }
        }
        let mut edges: BTreeMap<TaskRunId, Vec<(TaskRunId, EdgeKind)>> = BTreeMap::new();
        for row in facts.planned() {
            let Some(version) = named(row) else { continue };
            for edge in &version.def.dependencies {
                // An edge to another period or another dag looks at other runs.
                if (edge.offset_from, edge.offset_to) != (0, 0) || edge.kind == EdgeKind::Weak {
                    continue;
                }
                let Some((dag, name)) = edge.upstream.split_once('.') else { continue };
                if dag != facts.run.row.dag {
                    continue;
                }
                let upstreams = ids.get(name).into_iter().flatten();
                edges.entry(row.id).or_default().extend(upstreams.map(|up| (*up, edge.kind)));
            }
        }
        Upstreams(edges)
    }

    /// What forbids that this task run starts now, if anything.
    fn forbids(&self, id: TaskRunId, folded: &BTreeMap<TaskRunId, Folded>) -> Option<String> {
        self.0.get(&id)?.iter().find_map(|(up, kind)| {
            let state = folded.get(up)?.state;
            let holds = match kind {
                EdgeKind::Completed => state.is_final(),
                _ => matches!(state, State::Success | State::Skipped),
            };
            (!holds).then(|| format!("task run {up} is {state}"))
        })
    }
}
