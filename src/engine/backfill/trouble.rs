//! What is wrong with what somebody asks for, all at once, before anything is computed.

use std::collections::BTreeMap;

use super::board::Board;
use super::facts::Facts;
use super::{LIMIT, MOST_ACTIVE};
use crate::graph::Nearest;
use crate::model::{BackfillAsk, Problem, SpecError, params};

/// The tasks that are asked for, by their numbers on the board.
///
/// # Errors
/// Everything that is wrong with the question: an unknown dag or task, dates the wrong way round,
/// numbers out of their range.
pub fn asked_tasks(board: &Board, facts: &Facts, ask: &BackfillAsk) -> Result<Vec<u32>, SpecError> {
    let mut problems = Vec::new();
    let place = |what: &str| format!("{}.{what}", ask.dag);
    let of_dag =
        |node: &super::board::Node| facts.dags.get(node.dag).is_some_and(|dag| dag.key == ask.dag);
    let own: BTreeMap<&str, u32> = (board.nodes.iter().zip(0u32..))
        .filter(|(node, _)| of_dag(node))
        .map(|(node, at)| (node.task.def.name.as_str(), at))
        .collect();
    let names: Vec<&str> = own.keys().copied().collect();
    let asked = match &ask.tasks {
        None => own.values().copied().collect(),
        Some(tasks) => {
            if tasks.is_empty() {
                let problem = Problem::new("no_tasks", place("tasks"), "no task is named");
                problems.push(problem.hint("leave it out for all tasks"));
            }
            let mut found = Vec::new();
            for name in tasks {
                match own.get(name.as_str()) {
                    Some(at) => found.push(*at),
                    None => {
                        let message = format!("there is no task `{name}` in the dag {}", ask.dag);
                        let problem = Problem::new("unknown_task", place("tasks"), message);
                        problems.push(match Nearest::new(&names).find(name) {
                            Some(near) => problem.hint(format!("did you mean `{near}`?")),
                            None => problem.hint(format!("there are: {}", names.join(", "))),
                        });
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            found
        }
    };
    if ask.from > ask.to {
        let message = format!("the range ends ({}) before it begins ({})", ask.to, ask.from);
        let problem = Problem::new("bad_range", place("start"), message);
        problems.push(problem.hint("swap the two dates"));
    }
    let mut bounds = |name: &str, value: u32, least: u32, most: u32| {
        if !(least..=most).contains(&value) {
            let message = format!("{value} is not from {least} to {most}");
            problems.push(Problem::new("out_of_range", place(name), message));
        }
    };
    bounds("max_active", ask.max_active, 1, MOST_ACTIVE);
    bounds("priority", u32::from(ask.priority), 0, 9);
    bounds("share", u32::from(ask.share), 1, 100);
    problems.extend(check_params(facts, ask));
    if problems.is_empty() { Ok(asked) } else { Err(SpecError(problems)) }
}

/// What is wrong with the values for the parameters of its runs. What a schedule gives is given.
fn check_params(facts: &Facts, ask: &BackfillAsk) -> Vec<Problem> {
    let Some(dag) = facts.dags.iter().find(|dag| dag.key == ask.dag) else { return Vec::new() };
    let mut given = ask.params.clone();
    let tasks = dag.tasks.iter().map(|(task, _)| &*task.def);
    let schema = tasks.clone().flat_map(|task| &task.param_schema);
    params::fill_biz_date(schema, &mut given, ask.from);
    let bindings = dag.lives.iter().flat_map(|life| &life.schedules);
    for binding in bindings.flat_map(|(schedule, _)| &schedule.bindings) {
        for (name, value) in &binding.params {
            given.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    params::bind_dag(&dag.key, tasks, &given).err().unwrap_or_default()
}

/// Whether a plan would have too many cells, before they are worked out.
///
/// # Errors
/// `too_many`, with the number and how to narrow it.
pub fn check_size(board: &Board, ask: &BackfillAsk, asked: &[u32]) -> Result<(), SpecError> {
    let days = f64::from(ask.to.0) - f64::from(ask.from.0) + 1.0;
    let mut densities: BTreeMap<usize, f64> = BTreeMap::new();
    let mut a_day = 0.0;
    for task in asked {
        let Some(node) = board.nodes.get(*task as usize) else { continue };
        let Some(times) = board.timelines.get(node.timeline) else { continue };
        let density =
            densities.entry(node.timeline).or_insert_with(|| times.density(ask.from, ask.to));
        a_day += density.max(1.0);
    }
    let cells = days * a_day;
    // The days that are looked at may be fuller than others.
    if cells <= LIMIT as f64 * 1.5 {
        return Ok(());
    }
    let fits = (LIMIT as f64 / a_day).floor().max(1.0);
    let message = format!(
        "from {} to {} it has about {} cells, and a plan has at most {}",
        ask.from,
        ask.to,
        grouped(cells as u64),
        grouped(LIMIT as u64)
    );
    Err(Problem::new("too_many", format!("{}.range", ask.dag), message)
        .hint(format!(
            "about {} days at a time, or fewer tasks with tasks=[..]",
            grouped(fits as u64)
        ))
        .into())
}

/// A plan has grown beyond what it may have.
pub fn grew_too_large(ask: &BackfillAsk) -> SpecError {
    let message = format!(
        "from {} to {} the plan has more than {} cells with what it takes in",
        ask.from,
        ask.to,
        grouped(LIMIT as u64)
    );
    Problem::new("too_many", format!("{}.range", ask.dag), message)
        .hint("a shorter range, fewer tasks with tasks=[..], or without downstream=True")
        .into()
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
