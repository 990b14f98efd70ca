//! What must hold of a plan, and faults that are planted to see that it is looked at.

use std::collections::{BTreeMap, BTreeSet};

use mainspring::model::{Date, Instant, Planned, Why};

use super::naive::{Cell, Cells, Said};
use super::worlds::World;

pub fn all(world: &World, planned: &Planned, said: &Said) -> Result<(), String> {
    let cells = Cells::of(world);
    the_same_is_said(&cells, planned, said)?;
    each_cell_is_in_one_run(&cells, planned, said)?;
    none_comes_before_what_it_waits_for(&cells, planned, said)
}

/// The tasks of a plan as the naive planner numbers them.
fn numbers(cells: &Cells, planned: &Planned) -> Vec<usize> {
    let tasks = planned.plan.tasks.iter();
    tasks.map(|task| cells.find(&format!("{}.{}", task.dag, task.name)).unwrap()).collect()
}

fn the_same_is_said(cells: &Cells, planned: &Planned, said: &Said) -> Result<(), String> {
    let tasks = numbers(cells, planned);
    let mut found: BTreeMap<Cell, Why> = BTreeMap::new();
    let mut empty: BTreeMap<(usize, Date), Why> = BTreeMap::new();
    for grid in &planned.grids {
        for row in &grid.rows {
            let task = tasks[row.task as usize];
            for (column, code) in grid.columns.iter().zip(&row.why) {
                let Some(why) = Why::from_code(*code) else { continue };
                match column.nominal_at {
                    Some(at) => found.insert((task, at), why),
                    None => empty.insert((task, column.biz_date), why),
                };
            }
        }
    }
    let name = |task: usize| &cells.tasks[task].key;
    for ((task, at), why) in &said.cells {
        let other = found.get(&(*task, *at));
        if other != Some(why) {
            return Err(format!("{} at {at}: {other:?} and not {why:?}", name(*task)));
        }
    }
    for ((task, at), why) in &found {
        if !said.cells.contains_key(&(*task, *at)) {
            return Err(format!("{} at {at}: {why:?} and not nothing", name(*task)));
        }
    }
    if empty != said.empty {
        return Err(format!("dates without fires: {empty:?} and not {:?}", said.empty));
    }
    Ok(())
}

fn each_cell_is_in_one_run(cells: &Cells, planned: &Planned, said: &Said) -> Result<(), String> {
    let tasks = numbers(cells, planned);
    let mut found: BTreeSet<Cell> = BTreeSet::new();
    let mut targets: BTreeSet<(usize, Option<usize>, Instant)> = BTreeSet::new();
    for run in &planned.plan.runs {
        let set = &planned.plan.sets[run.set as usize];
        for task in set.tasks.iter().map(|task| tasks[*task as usize]) {
            let of = &cells.tasks[task];
            if of.own != set.alone || planned.plan.tasks.is_empty() {
                return Err(format!("{} is in a run of another kind", of.key));
            }
            if !found.insert((task, run.nominal_at)) {
                return Err(format!("{} is twice at {}", of.key, run.nominal_at));
            }
        }
        let first = tasks[set.tasks[0] as usize];
        let alone = set.alone.then_some(first);
        if !targets.insert((cells.tasks[first].dag, alone, run.nominal_at)) {
            return Err(format!("two runs of {} at {}", set.dag, run.nominal_at));
        }
    }
    let inside = said.cells.iter().filter(|(_, why)| why.is_in()).map(|(cell, _)| *cell);
    if found == inside.collect() { Ok(()) } else { Err("the runs have other cells".into()) }
}

fn places(cells: &Cells, planned: &Planned) -> BTreeMap<Cell, usize> {
    let tasks = numbers(cells, planned);
    let mut places = BTreeMap::new();
    for (place, run) in planned.plan.runs.iter().enumerate() {
        for task in &planned.plan.sets[run.set as usize].tasks {
            places.insert((tasks[*task as usize], run.nominal_at), place);
        }
    }
    places
}

fn none_comes_before_what_it_waits_for(
    cells: &Cells,
    planned: &Planned,
    said: &Said,
) -> Result<(), String> {
    let places = places(cells, planned);
    let runs = &planned.plan.runs;
    if runs
        .windows(2)
        .any(|pair| pair[1].group < pair[0].group || pair[1].group > pair[0].group + 1)
    {
        return Err("the runs of a group are not consecutive".into());
    }
    for cell in said.cells.iter().filter(|(_, why)| why.is_in()).map(|(cell, _)| *cell) {
        for up in cells.ups(cell) {
            let (Some(up), Some(down)) = (places.get(&up), places.get(&cell)) else { continue };
            if up > down && runs[*up].group != runs[*down].group {
                return Err(format!("run {down} waits for run {up}"));
            }
        }
    }
    // Groups are circles, and no larger: without one each run is its own.
    Ok(())
}

/// Another reason for a cell.
pub fn another_reason(planned: &Planned) -> Option<Planned> {
    let mut planned = planned.clone();
    let rows = planned.grids.iter_mut().flat_map(|grid| &mut grid.rows);
    let code = rows.flat_map(|row| &mut row.why).find(|code| **code != u8::MAX)?;
    *code = if *code == Why::Forced.code() { Why::Missing.code() } else { Why::Forced.code() };
    Some(planned)
}

/// A run and one that it waits for change places.
pub fn two_runs_swapped(world: &World, planned: &Planned, said: &Said) -> Option<Planned> {
    let cells = Cells::of(world);
    let places = places(&cells, planned);
    for cell in said.cells.keys() {
        for up in cells.ups(*cell) {
            let (Some(up), Some(down)) = (places.get(&up), places.get(cell)) else { continue };
            let runs = &planned.plan.runs;
            if up < down && runs[*up].group != runs[*down].group {
                let mut planned = planned.clone();
                let (first, second) = (runs[*up].group, runs[*down].group);
                planned.plan.runs.swap(*up, *down);
                planned.plan.runs[*up].group = first;
                planned.plan.runs[*down].group = second;
                return Some(planned);
            }
        }
    }
    None
}

/// A run is not there.
pub fn a_run_lost(planned: &Planned) -> Option<Planned> {
    let mut planned = planned.clone();
    planned.plan.runs.pop()?;
    Some(planned)
}
