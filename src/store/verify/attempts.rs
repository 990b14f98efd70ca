//! Attempts and leases of a run.

use std::collections::BTreeMap;

use super::{Findings, RunFacts};
use crate::model::{AttemptRow, LeaseRow, Outcome, State, TaskRunId, TaskRunRow};

pub(super) fn check(facts: &RunFacts<'_>, findings: &mut Findings) {
    let mut of_task_run: BTreeMap<TaskRunId, Vec<&AttemptRow>> = BTreeMap::new();
    for attempt in facts.attempts {
        of_task_run.entry(attempt.start.task_run_id).or_default().push(attempt);
    }
    let leases: BTreeMap<TaskRunId, &LeaseRow> =
        facts.run.leases.iter().map(|lease| (lease.task_run_id, lease)).collect();
    for row in &facts.run.task_runs {
        let mut attempts = of_task_run.remove(&row.id).unwrap_or_default();
        attempts.sort_by_key(|attempt| attempt.start.attempt_no);
        numbers(row, &attempts, findings);
        budgets(facts, row, findings);
        history(row, &attempts, findings);
        leased(facts, row, &attempts, leases.get(&row.id).copied(), findings);
    }
}

/// 1 to the number that the row has, each once.
fn numbers(row: &TaskRunRow, attempts: &[&AttemptRow], findings: &mut Findings) {
    let numbers: Vec<u32> = attempts.iter().map(|attempt| attempt.start.attempt_no).collect();
    if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
        findings.note("L5", format!("task run {} has attempts {numbers:?}", row.id));
    } else if !numbers.iter().copied().eq(1..=row.progress.attempt_no) {
        let text = format!(
            "task run {} has attempts {numbers:?}, its row counts {}",
            row.id, row.progress.attempt_no
        );
        findings.note("R1", text);
    }
}

fn budgets(facts: &RunFacts<'_>, row: &TaskRunRow, findings: &mut Findings) {
    let now = &row.progress;
    let Some(version) = facts.versions.get(&row.task_version_id) else {
        findings.note("S2", format!("task run {} uses a version that is not there", row.id));
        return;
    };
    let policy = &version.def.policy;
    let allowed = policy.attempts_for(facts.run.row.interactive);
    let since = now.attempt_no.saturating_sub(now.rerun_base);
    let used = now.errors_used + now.losses_used + now.preemptions_used;
    let within = now.errors_used <= allowed
        && now.losses_used <= policy.max_losses.saturating_add(1)
        && used <= since
        && now.rerun_base <= now.attempt_no;
    if !within {
        let text = format!(
            "task run {}: {} errors of {allowed}, {} losses, {} preemptions in {since} attempts",
            row.id, now.errors_used, now.losses_used, now.preemptions_used
        );
        findings.note("R1", text);
    }
}

fn history(row: &TaskRunRow, attempts: &[&AttemptRow], findings: &mut Findings) {
    let name = |attempt: &AttemptRow| {
        format!("attempt {} of task run {}", attempt.start.attempt_no, row.id)
    };
    for attempt in attempts {
        if attempt.outcome.is_some() != attempt.finished_at.is_some() {
            findings.note("L5", name(attempt));
        }
        let start = attempt.start.started_at;
        if start < row.created_at || attempt.finished_at.is_some_and(|end| end < start) {
            findings.note("L4", name(attempt));
        }
        if attempt.start.nominal_at != row.nominal_at {
            findings.note("S2", format!("{} has another nominal time", name(attempt)));
        }
    }
    for pair in attempts.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        if later.start.token <= earlier.start.token {
            findings.note("F3", name(later));
        }
        // A worker that is lost may live on for a while.
        let is_apart = match earlier.finished_at {
            Some(end) => end <= later.start.started_at || earlier.outcome == Some(Outcome::Lost),
            None => false,
        };
        if !is_apart {
            findings.note("L4", name(later));
        }
    }
    if let Some(last) = attempts.last()
        && last.start.token != row.progress.token
    {
        findings.note("F3", format!("task run {} has another token than its attempt", row.id));
    }
}

fn leased(
    facts: &RunFacts<'_>,
    row: &TaskRunRow,
    attempts: &[&AttemptRow],
    lease: Option<&LeaseRow>,
    findings: &mut Findings,
) {
    let open = attempts.iter().filter(|attempt| attempt.outcome.is_none());
    let open: Vec<u32> = open.map(|attempt| attempt.start.attempt_no).collect();
    // What stands for the items of a mapped task runs without an attempt, and so does what another
    // one of its backfill runs for.
    let is_running = row.progress.state == State::Running;
    let version = facts.versions.get(&row.task_version_id);
    let of_batch =
        facts.run.row.backfill_id.is_some() && version.is_some_and(|version| version.def.batch);
    if (row.map_index < 0 || of_batch) && is_running && open.is_empty() && lease.is_none() {
        return;
    }
    let right = match (open.as_slice(), lease) {
        ([number], Some(lease)) => {
            is_running
                && lease.attempt_no == *number
                && lease.token == row.progress.token
                && *number == row.progress.attempt_no
        }
        // An attempt that ended while its thread runs on keeps its slot.
        ([], Some(lease)) => {
            !is_running && attempts.iter().any(|row| row.start.attempt_no == lease.attempt_no)
        }
        ([], None) => !is_running,
        _ => false,
    };
    if !right {
        let held =
            lease.map_or("no lease".into(), |lease| format!("a lease of {}", lease.attempt_no));
        let text = format!(
            "task run {} is {} with open attempts {open:?} and {held}",
            row.id, row.progress.state
        );
        findings.note("V2", text);
    }
}
