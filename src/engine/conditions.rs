//! What a run's own times say of its tasks: from when on one may start, and whether it runs at all.

use super::PlannedTask;
use crate::calendar::{DayRule, Wall, Zone};
use crate::model::{DagDef, Date, Instant, NotBefore, Problem, Progress, RunDays, RunOn, RunRow};

/// A task run as it stands when its run is made: one that has to wait for a time of day knows when
/// that is.
pub(super) fn first_progress(run: &RunRow, task: Option<&PlannedTask>) -> Progress {
    let not_before = task.and_then(|task| task.def.policy.not_before);
    let not_before = not_before.filter(|_| run.trigger.is_automatic());
    Progress { wake_at: not_before.and_then(|time| starts_at(run, time)), ..Progress::default() }
}

/// The instant of a time of day after the nominal date, by the wall clock of the run's zone. A
/// time that the clocks jump over is the end of the jump.
pub(super) fn starts_at(run: &RunRow, time: NotBefore) -> Option<Instant> {
    let zone = Zone::named(&run.timezone).ok()?;
    let date = zone.date(run.nominal_at).plus_days(i32::from(time.days));
    Some(zone.first_instant(Wall::new(date, i64::from(time.second))))
}

/// Whether a task runs in this run. What cannot be read, because a newer version wrote it, runs.
pub(super) fn runs_on(run: &RunRow, on: &RunOn) -> bool {
    let wall = nominal(run);
    let date = if on.biz_date { run.biz_date } else { wall.date() };
    match &on.days {
        RunDays::Calendar(calendar) => calendar.has(date),
        RunDays::Rule(text) => DayRule::parse(text).map_or(true, |rule| match on.biz_date {
            true => rule.matches_date(date),
            false => rule.matches(wall),
        }),
    }
}

/// Why a task does not run in this run.
pub(super) fn why_not(run: &RunRow, on: &RunOn) -> String {
    let wall = nominal(run);
    if on.biz_date {
        return format!("its business date {} is not in `{}`", day(run.biz_date), on.days);
    }
    let (hour, minute, _) = wall.hms();
    format!("{} {hour:02}:{minute:02} is not in `{}`", day(wall.date()), on.days)
}

fn nominal(run: &RunRow) -> Wall {
    let zone = Zone::named(&run.timezone).unwrap_or_else(|_| Zone::utc());
    zone.wall(run.nominal_at)
}

fn day(date: Date) -> String {
    const NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    format!("{date} ({})", NAMES[date.weekday() as usize % 7])
}

/// Day rules of a dag that mean nothing.
pub(super) fn check(dag: &DagDef) -> Vec<Problem> {
    let mut problems = Vec::new();
    for task in &dag.tasks {
        let Some(RunOn { days: RunDays::Rule(text), .. }) = &task.policy.run_on else { continue };
        if let Err(problem) = DayRule::parse(text) {
            let place = format!("{}.{}.run_on", dag.key, task.name);
            problems.push(Problem { place, ..problem });
        }
    }
    problems
}
