//! Edges to other runs that can never hold, or seldom: found before anything waits for them.
//!
//! For a year of business dates of the dependent, it is looked whether the upstream's schedule has a
//! run where the edge looks. Nothing here knows what has run.

use super::When;
use super::cell::Looking;
use super::plan::{Across, local};
use super::upstream::{Origin, Upstream};
use crate::model::{
    DagDef, Date, Dependency, EdgeKind, Instant, OffsetUnit, Period, PeriodKind, Problem,
    ScheduleDef, TaskDef, TimeRule,
};

/// So many business dates are looked at.
const DAYS: i32 = 366;

/// What is wrong with the edges of a dag to other runs. `find` gives the dag of a key; an upstream
/// that it does not know is somebody else's to complain about.
pub fn check_pairs(
    dag: &DagDef,
    find: &mut dyn FnMut(&str) -> Option<DagDef>,
    now: Instant,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for task in &dag.tasks {
        for edge in &task.dependencies {
            let is_judged = edge.kind != EdgeKind::Weak && edge.asset().is_none();
            if !is_judged || looks_here(dag, task, edge) {
                continue;
            }
            let Some((up_dag, up_task)) = edge.upstream.split_once('.') else { continue };
            let other = if up_dag == dag.key { Some(dag.clone()) } else { find(up_dag) };
            let Some(other) = other.filter(|other| has_task(other, up_task)) else { continue };
            problems.extend(check_edge(dag, task, edge, (&other, up_task), now));
        }
    }
    problems
}

/// Whether the edge looks at the run that the task is in.
fn looks_here(dag: &DagDef, task: &TaskDef, edge: &Dependency) -> bool {
    edge.is_here()
        && local(&dag.key, &edge.upstream)
            .is_some_and(|up| !dag.has_own_schedule(up) && !dag.has_own_schedule(&task.name))
}

fn has_task(dag: &DagDef, name: &str) -> bool {
    dag.tasks.iter().any(|task| task.name == name)
}

/// The schedules that fire a task: its own, else those of the dag.
fn fired_by<'d>(dag: &'d DagDef, task: &str) -> Vec<&'d ScheduleDef> {
    let own = dag.has_own_schedule(task);
    let fires = |schedule: &&ScheduleDef| match own {
        true => schedule.binds_task(task),
        false => schedule.binds_dag(),
    };
    dag.schedules.iter().filter(fires).collect()
}

fn check_edge(
    dag: &DagDef,
    task: &TaskDef,
    edge: &Dependency,
    (other, up): (&DagDef, &str),
    now: Instant,
) -> Option<Problem> {
    let place = format!("{}.{}", dag.key, task.name);
    let up_schedules = fired_by(other, up);
    if up_schedules.is_empty() {
        if edge.offset_unit != OffsetUnit::Slot {
            return None;
        }
        let message = format!("`{}` has no schedule, so it has no slots", edge.upstream);
        let problem = Problem::new("edge_never_matches", place, message);
        return Some(problem.hint("count in days, weeks or months"));
    }
    let mine = fired_by(dag, &task.name);
    if mine.is_empty() || edge.offset_unit == OffsetUnit::Slot {
        return None;
    }
    // What is wrong with a rule is told by whoever reads it first.
    let when = When::of(&dag.timezone, dag.biz_offset, mine).ok()?;
    let always = |schedule: &ScheduleDef| {
        // A schedule that begins or ends in that year is no mistake.
        let rule = TimeRule { start_date: None, end_date: None, ..schedule.rule.clone() };
        let life = Period { from: Instant(i64::MIN), until: None, kind: PeriodKind::Active, rule };
        (schedule.clone(), vec![life])
    };
    let upstream = Upstream::new(&Origin {
        timezone: other.timezone.clone(),
        biz_offset: other.biz_offset,
        schedules: up_schedules.into_iter().map(always).collect(),
        since: Instant(i64::MIN),
        removed: false,
    })
    .ok()?;
    let across = Across::plain(edge);
    let timetable = when.timetable()?;
    let first = timetable.next(now).map(|fire| timetable.biz_date(fire))?;
    let (mut dates, mut missing, mut example) = (0, 0, None);
    for date in (0..DAYS).map(|days| first.plus_days(days)) {
        let Some(row) = timetable.fires_for_biz_date(date).next() else { continue };
        dates += 1;
        let cells =
            across.cells(Looking { biz_date: date, nominal_at: row.fire.at, follows: false });
        if cells.iter().all(|key| upstream.expect(&key.at).0.is_empty()) {
            missing += 1;
            example.get_or_insert(date);
        }
    }
    // A holiday or a weekend without a run is no mistake; one day in seven with one is.
    if missing * 2 <= dates {
        return None;
    }
    Some(problem(place, edge, (missing, dates), example?))
}

fn problem(
    place: String,
    edge: &Dependency,
    (missing, dates): (i32, i32),
    example: Date,
) -> Problem {
    let upstream = &edge.upstream;
    let never = missing == dates;
    let how = if never {
        "never has a run where it looks".to_owned()
    } else {
        // A week of seven is what people count in.
        let of_seven = (f64::from(missing) * 7.0 / f64::from(dates)).round();
        format!("has no run where it looks on {missing} of {dates} days, {of_seven} of 7")
    };
    let what = if edge.offset_from == edge.offset_to { "edge" } else { "window" };
    let message = format!("the {what} can not match: `{upstream}` {how}, such as for {example}");
    Problem::new("edge_never_matches", place, message).hint(
        "offset=ms.slots(0) is its last run up to then, ms.weeks(..) or ms.months(..) the one of \
         that week or month; kind=\"WEAK\" waits for none",
    )
}
