//! Edges to other runs in words: what they look at, and why they do not let go.

use super::cell::{Absence, CellAt, CellKey, Why};
use super::edges::{Verdict, skip_codes};
use super::patience::until;
use super::plan::DATA;
use super::{Across, Run, World};
use crate::model::{ASSET, Instant, State};

/// So many runs of other dags are named; the rest is counted.
const NAMED: usize = 8;

/// What the edges of a task run to other runs say: first what does not let it go, then what holds
/// because there is nothing to wait for.
pub(super) fn said(world: &World, run: &Run, index: u32, now: Instant) -> Vec<String> {
    let is_over = |edge: &&Across| until(&run.row, &edge.rule).is_some_and(|at| at <= now);
    let edges = run.plan.across(index).iter().filter(|edge| !is_over(edge));
    let mut all: Vec<_> = edges.flat_map(|edge| world.cells.whys(edge, run)).collect();
    all.retain(|(_, verdict, why)| {
        let is_assumed = matches!(why, Why::Absent(_)) && *verdict == Verdict::Holds;
        !verdict.lets_go() || is_assumed
    });
    // What can be done something about comes first.
    all.sort_by_key(|(_, verdict, _)| match verdict {
        Verdict::Broken => 0,
        Verdict::Waits => 1,
        _ => 2,
    });
    let more = all.len().saturating_sub(NAMED);
    let mut words: Vec<String> =
        all.iter().take(NAMED).map(|(key, _, why)| one(world, key, why, now)).collect();
    if more > 0 {
        words.push(format!("and {more} more like these"));
    }
    words
}

fn one(world: &World, key: &CellKey, why: &Why<'_>, now: Instant) -> String {
    let what = place(key);
    let is_asset = key.upstream.starts_with(ASSET);
    match why {
        Why::Unread => format!("waits for {what}"),
        Why::Run(_, found) if found.state == State::Skipped => match found.code.as_deref() {
            Some(skip_codes::DISABLED) => format!("{what} is disabled (run {})", found.run),
            code => format!("{what} was skipped in run {}{}", found.run, in_brackets(code)),
        },
        Why::Run(_, found) => {
            let code = in_brackets(found.code.as_deref());
            let root = found.blocked_by.map(|id| root(world, id)).unwrap_or_default();
            format!("{what} is {}{code} in run {}{root}", found.state, found.run)
        }
        Why::Missing(at, true) => {
            format!("{what} was paused at {at} and made no run; {}", command(key))
        }
        Why::Missing(at, false) if *at <= now => {
            format!("{what} has no run for its fire at {at}; {}", command(key))
        }
        Why::Missing(at, false) => format!("waits for {what}, which fires at {at}"),
        Why::Absent(absence) => match absence {
            Absence::Unscheduled if is_asset => {
                let asset = key.upstream.trim_start_matches(ASSET);
                let date = match key.at {
                    CellAt::Date(date) | CellAt::Week(date) | CellAt::Month(date) => {
                        format!(" --biz-date {date}")
                    }
                    _ => String::new(),
                };
                format!("waits for {what}; declare it: mainspring asset ready {asset}{date}")
            }
            Absence::Unscheduled => {
                format!("waits for {what}, which has no schedule; {}", command(key))
            }
            Absence::NoFire => format!("{what} is not expected: its schedule has no fire there"),
            Absence::BeforeFirst => format!("{what} lies before its first fire: no predecessor"),
            Absence::Expired => format!("{what} will not come: its schedule has ended"),
            Absence::Removed => format!("{what} will not come: it was removed"),
            Absence::Unknown => format!("{what} is not known"),
        },
    }
}

/// An upstream with the period that is meant.
fn place(key: &CellKey) -> String {
    let name = match key.upstream.strip_prefix(ASSET) {
        Some(asset) => format!("asset {asset}"),
        None => match key.upstream.strip_suffix(DATA) {
            Some(task) => format!("the data of {task}"),
            None => key.upstream.to_string(),
        },
    };
    match key.at {
        CellAt::Date(date) => format!("{name} of {date}"),
        CellAt::Week(date) => format!("{name} of {date} or its week"),
        CellAt::Month(date) => format!("{name} of {date} or its month"),
        CellAt::Instant(at) => format!("{name} at {at}"),
        CellAt::Slots { until, from: 0, to: 0 } => format!("{name} of its last fire up to {until}"),
        CellAt::Slots { until, from, to } if from == to => {
            format!("{name} of fire {from} from the last one up to {until}")
        }
        CellAt::Slots { until, from, to } => {
            format!("{name} of fires {from} to {to} from the last one up to {until}")
        }
    }
}

fn in_brackets(code: Option<&str>) -> String {
    code.map(|code| format!(" ({code})")).unwrap_or_default()
}

/// The task run at the root, by its name where it is here.
fn root(world: &World, id: crate::model::TaskRunId) -> String {
    let run = world.runs().find_map(|run| Some((run, run.index_of(id)?)));
    match run.and_then(|(run, index)| run.plan.key(index)) {
        Some(key) => format!(", blocked by {key}"),
        None => format!(", blocked by task run {id}"),
    }
}

/// What to type for the run that is missing.
fn command(key: &CellKey) -> String {
    let dag = key.upstream.split('.').next().unwrap_or_default();
    match key.at {
        CellAt::Date(date) | CellAt::Week(date) | CellAt::Month(date)
            if !key.upstream.starts_with(ASSET) =>
        {
            format!("make one with: mainspring trigger {dag} --biz-date {date}")
        }
        _ if key.upstream.starts_with(ASSET) => {
            format!("or declare it: mainspring asset ready {}", &key.upstream[1..])
        }
        _ => format!("make one with: mainspring trigger {dag}"),
    }
}
