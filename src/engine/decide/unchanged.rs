//! Exact reprocess: what depends only on what came out unchanged is left as it is.
//!
//! It is judged where a task run would become READY, when all that it waits for has ended.

use super::super::TaskRunRef;
use super::super::edges::skip_codes;
use super::super::filling::Backfilling;
use super::draft::Draft;
use crate::model::{EdgeKind, RunId, State};

/// What became of a planned cell that another depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome<'a> {
    state: State,
    code: Option<&'a str>,
    /// Its fingerprint is that of the success before.
    same: bool,
}

impl Outcome<'_> {
    /// Whether its output is what it was. What says nothing of its output has changed.
    fn is_unchanged(self) -> bool {
        match self.state {
            State::Success => self.same,
            State::Skipped => self.code == Some(skip_codes::UNCHANGED),
            _ => false,
        }
    }
}

/// Whether a cell is left as it is that depends on these planned ones. On none is no reason to be.
fn stays<'a>(ups: impl IntoIterator<Item = Outcome<'a>>) -> bool {
    let mut ups = ups.into_iter().peekable();
    ups.peek().is_some() && ups.all(Outcome::is_unchanged)
}

impl Draft<'_> {
    /// Whether a task run whose edges hold is left as it is. One that was in the queue before, or
    /// that somebody runs again by its name, is not; nor one whose output an edge reads as a text.
    pub(super) fn stays_as_it_is(&self, at: TaskRunRef) -> bool {
        let is_kept = || {
            let filling = self.reprocess(at.run)?;
            let run = self.run(at.run)?;
            let task = run.plan.tasks.get(at.index as usize)?.task_id;
            let ordinal = self.ordinal(filling, at.run)?;
            let is_new = self.progress(at)?.first_ready_at.is_none();
            let is_kept = is_new && filling.keeps(ordinal, task);
            (is_kept && !run.plan.is_matched(at.index) && !self.world.is_matched(at))
                .then_some(filling)
        };
        is_kept().is_some_and(|filling| stays(self.planned_ups(at, filling)))
    }

    /// The backfill of a run, if that stops where nothing changes.
    fn reprocess(&self, run: RunId) -> Option<&Backfilling> {
        let id = self.run(run)?.row.backfill_id?;
        self.world.fillings.get(&id).filter(|filling| filling.plan().ask.reprocess)
    }

    /// The place of a run in the plan of its backfill; it may be made with this decision.
    fn ordinal(&self, filling: &Backfilling, run: RunId) -> Option<u32> {
        filling.ordinal(run).or_else(|| {
            let made = self.out.filled.iter().find(|place| place.run == Some(run));
            made.map(|place| place.ordinal)
        })
    }

    /// What became of the planned cells that a task run depends on: in its run, and in others.
    fn planned_ups(&self, at: TaskRunRef, filling: &Backfilling) -> Vec<Outcome<'_>> {
        let Some(run) = self.run(at.run) else { return Vec::new() };
        let here = run.plan.upstream(at.index).filter(|(_, rule)| rule.kind != EdgeKind::Weak);
        let here = here.filter_map(|(index, _)| {
            let up = self.progress(TaskRunRef { run: at.run, index })?;
            Some(Outcome { state: up.state, code: up.code.as_deref(), same: up.unchanged })
        });
        let mut ups: Vec<Outcome<'_>> = here.collect();
        // It is being computed elsewhere, or was not read: nobody knows how it will come out.
        let unknown = Outcome { state: State::Running, code: None, same: false };
        let edges = run.plan.across(at.index).iter();
        for edge in edges.filter(|edge| edge.rule.kind != EdgeKind::Weak) {
            for key in edge.cells(run.period()) {
                let known = self.read.get(&key).or_else(|| self.world.cells.known(&key));
                let Some((known, task)) = known.and_then(|known| Some((known, known.task?))) else {
                    ups.push(unknown);
                    continue;
                };
                let changed = self.changed_in(&key);
                let instants = known.expected.keys().chain(known.found.keys());
                let instants = instants.chain(changed.iter().map(|(at, _)| at));
                for nominal_at in instants.collect::<std::collections::BTreeSet<_>>() {
                    let Some(place) = filling.planned(task, *nominal_at) else { continue };
                    let now = changed.iter().find(|(at, _)| at == nominal_at).map(|(_, f)| *f);
                    let found = now.or_else(|| known.found.get(nominal_at));
                    let mine = found.filter(|found| place.run == Some(found.run));
                    ups.push(mine.map_or(unknown, |found| Outcome {
                        state: found.state,
                        code: found.code.as_deref(),
                        same: found.unchanged,
                    }));
                }
            }
        }
        ups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Outcome<'_> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let state = word.parse().unwrap_or(State::Pending);
        let code = (state == State::Skipped).then_some(rest);
        Outcome { state, code, same: rest == "same" }
    }

    /// All that it depends on, and whether it is left as it is.
    #[test]
    fn the_table() {
        let rows = [
            ("", false),
            ("SUCCESS same", true),
            ("SUCCESS other", false),
            ("SUCCESS", false),
            ("SKIPPED UNCHANGED", true),
            ("SKIPPED RUN_ON", false),
            ("SKIPPED NO_MATCH", false),
            ("SKIPPED DISABLED", false),
            ("FAILED", false),
            ("FAILED same", false),
            ("TIMEOUT", false),
            ("CANCELED", false),
            ("BLOCKED", false),
            ("PENDING", false),
            ("RUNNING same", false),
            ("SUCCESS same, SKIPPED UNCHANGED", true),
            ("SUCCESS same, SUCCESS other", false),
            ("SKIPPED UNCHANGED, FAILED", false),
            ("SUCCESS same, RUNNING", false),
        ];
        for (ups, expected) in rows {
            let ups_of = ups.split(", ").filter(|up| !up.is_empty()).map(outcome);
            assert_eq!(stays(ups_of), expected, "{ups}");
        }
    }
}
