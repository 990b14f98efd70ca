//! The slow planner: lists of all fires, and loops over all tasks, dates and edges.

use std::collections::{BTreeMap, BTreeSet};

use mainspring::engine::{PlannedTask, When};
use mainspring::model::{
    DagDef, Date, Dependency, EdgeKind, Instant, OffsetUnit, Only, PastCell, Planned, ScheduleDef,
    State, TaskId, Which, Why,
};

use super::worlds::{FIRST, World};

/// A task, and its fires: date and instant.
pub struct Task {
    pub key: String,
    pub dag: usize,
    pub own: bool,
    pub task: PlannedTask,
    pub since: Instant,
    pub by_day: bool,
    pub starts: Option<Date>,
    /// Index of the task whose dates it has.
    pub follows: Option<usize>,
    fires: Vec<(Date, Instant)>,
}

/// All cells of a world.
pub struct Cells {
    pub tasks: Vec<Task>,
}

/// A cell: index of a task, and instant.
pub type Cell = (usize, Instant);

impl Cells {
    pub fn of(world: &World) -> Cells {
        let mut tasks = Vec::new();
        for (dag, (def, facts)) in world.defs.iter().zip(&world.facts.dags).enumerate() {
            for (index, (task, _)) in facts.tasks.iter().enumerate() {
                let own = def.has_own_schedule(&task.def.name);
                let life = facts.lives.iter().find(|life| life.task == own.then_some(index));
                let schedules: Vec<&ScheduleDef> =
                    life.unwrap().schedules.iter().map(|(each, _)| each).collect();
                let starts: Option<Vec<Date>> =
                    schedules.iter().map(|each| each.rule.start_date).collect();
                let since = life.unwrap().schedules.first().map(|(_, periods)| periods[0].from);
                tasks.push(Task {
                    key: format!("{}.{}", def.key, task.def.name),
                    dag,
                    own,
                    task: task.clone(),
                    since: since.unwrap_or(Instant(i64::MAX)),
                    by_day: schedules.is_empty(),
                    starts: starts.and_then(|all| all.into_iter().min()),
                    follows: None,
                    fires: fires(def, &schedules),
                });
            }
        }
        let mut cells = Cells { tasks };
        cells.follow(world);
        cells
    }

    /// A dag without a schedule has the fires of what its first edge to another dag looks at.
    fn follow(&mut self, world: &World) {
        for (dag, def) in world.defs.iter().enumerate() {
            if !def.schedules.is_empty() {
                continue;
            }
            let edges = def.tasks.iter().flat_map(|task| &task.dependencies);
            let mut edges = edges.filter(|edge| edge.kind != EdgeKind::Weak && edge.is_here());
            let is_other =
                |edge: &&Dependency| !edge.upstream.starts_with(&format!("{}.", def.key));
            // Dags come after those that they look at.
            let Some(leader) = edges.find(is_other).and_then(|edge| self.find(&edge.upstream))
            else {
                continue;
            };
            let up = &self.tasks[leader];
            let (fires, by_day, since) = (up.fires.clone(), up.by_day, up.since);
            let (starts, root) = (up.starts, up.follows.unwrap_or(leader));
            for task in self.tasks.iter_mut().filter(|task| task.dag == dag) {
                task.fires.clone_from(&fires);
                (task.by_day, task.since, task.starts) = (by_day, since, starts);
                task.follows = Some(root);
            }
        }
    }

    pub fn fires(&self, task: usize) -> &[(Date, Instant)] {
        &self.tasks[task].fires
    }

    pub fn find(&self, key: &str) -> Option<usize> {
        self.tasks.iter().position(|task| task.key == key)
    }

    fn of_date(&self, task: usize, date: Date) -> Vec<Instant> {
        let fires = self.tasks[task].fires.iter().filter(|(of, _)| *of == date);
        fires.map(|(_, at)| *at).collect()
    }

    fn date(&self, (task, at): Cell) -> Date {
        self.tasks[task].fires.iter().find(|(_, fire)| *fire == at).unwrap().0
    }

    /// Whether two tasks are of one run, where both are computed.
    fn together(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.tasks[one], &self.tasks[other]);
        one.dag == other.dag && !one.own && !other.own
    }

    /// The cells that a cell looks at.
    pub fn ups(&self, cell: Cell) -> Vec<Cell> {
        let (task, at) = cell;
        let date = self.date(cell);
        let mut ups = Vec::new();
        let mut has_followed = false;
        for edge in &self.tasks[task].task.def.dependencies {
            if edge.kind == EdgeKind::Weak {
                continue;
            }
            let up = self.find(&edge.upstream).unwrap();
            if edge.is_here() && self.together(task, up) {
                ups.push((up, at));
                continue;
            }
            let root = |task: usize| self.tasks[task].follows.unwrap_or(task);
            let is_leader = edge.is_here()
                && self.tasks[task].follows.is_some()
                && self.tasks[task].dag != self.tasks[up].dag
                && self.is_first(task, edge)
                && self.tasks[root(task)].fires == self.tasks[up].fires;
            if is_leader && !has_followed {
                has_followed = true;
                ups.push((up, at));
                continue;
            }
            ups.extend(self.looks(edge, up, date, at).into_iter().map(|at| (up, at)));
        }
        ups
    }

    /// Whether no earlier task of its dag has an edge that its dag follows.
    fn is_first(&self, task: usize, edge: &Dependency) -> bool {
        let dag = self.tasks[task].dag;
        let tasks = self.tasks.iter().filter(|each| each.dag == dag);
        let own = self.tasks[task].key.split_once('.').unwrap().0;
        let edges = tasks
            .flat_map(|each| each.task.def.dependencies.iter().map(move |edge| (&each.key, edge)));
        let mut edges = edges.filter(|(_, edge)| {
            edge.kind != EdgeKind::Weak
                && edge.is_here()
                && !edge.upstream.starts_with(&format!("{own}."))
        });
        edges.next().is_some_and(|(key, first)| *key == self.tasks[task].key && first == edge)
    }

    fn looks(&self, edge: &Dependency, up: usize, date: Date, at: Instant) -> BTreeSet<Instant> {
        let mut found = BTreeSet::new();
        let mut take = |mut fires: Vec<Instant>| {
            fires.sort();
            match edge.which {
                Which::Last => found.extend(fires.pop()),
                _ => found.extend(fires),
            }
        };
        if edge.offset_unit == OffsetUnit::Slot {
            if self.tasks[up].by_day {
                return found;
            }
            let mut all: Vec<Instant> = self.tasks[up].fires.iter().map(|(_, at)| *at).collect();
            all.sort();
            let last = all.iter().filter(|fire| **fire <= at).count() as i32 - 1;
            let slots = (edge.offset_from..=edge.offset_to).map(|offset| last + offset);
            take(slots.filter_map(|slot| all.get(usize::try_from(slot).ok()?).copied()).collect());
            return found;
        }
        for offset in edge.offset_from..=edge.offset_to {
            let (day, first, last) = match edge.offset_unit {
                OffsetUnit::Day => {
                    let day = date.plus_days(offset);
                    (day, day, day)
                }
                OffsetUnit::Week => {
                    let day = date.plus_days(7 * offset);
                    let monday = day.plus_days(-(day.weekday() as i32));
                    (day, monday, monday.plus_days(6))
                }
                _ => {
                    let (year, month, day) = date.ymd();
                    let months = year * 12 + month as i32 - 1 + offset;
                    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
                    let most = Date::days_in_month(year, month);
                    let date = |day| Date::from_ymd(year, month, day).unwrap();
                    (date(day.min(most)), date(1), date(most))
                }
            };
            let own = self.of_date(up, day);
            if !own.is_empty() || self.tasks[up].by_day {
                take(own);
                continue;
            }
            let around = self.tasks[up].fires.iter().filter(|(of, _)| (first..=last).contains(of));
            let around: Vec<Instant> = around.map(|(_, at)| *at).collect();
            if around.len() == 1 {
                take(around);
            }
        }
        found
    }
}

fn fires(def: &DagDef, schedules: &[&ScheduleDef]) -> Vec<(Date, Instant)> {
    let when = When::of(&def.timezone, def.biz_offset, schedules.iter().copied()).unwrap();
    let (from, to) = (FIRST.plus_days(-150), FIRST.plus_days(150));
    match when.timetable() {
        Some(timetable) => {
            let rows = timetable.backfill(from, to).unwrap();
            rows.map(|row| (row.biz_date, row.fire.at)).collect()
        }
        None => {
            let ask =
                |date| mainspring::engine::Asked { biz_date: Some(date), ..Default::default() };
            let dates = (from.0..=to.0).map(Date);
            dates
                .map(|date| (date, when.resolve(ask(date), Instant(0)).unwrap().nominal_at))
                .collect()
        }
    }
}

/// What is said of each cell, and of each date of the range without a fire.
#[derive(Default)]
pub struct Said {
    pub cells: BTreeMap<Cell, Why>,
    pub empty: BTreeMap<(usize, Date), Why>,
}

struct Judge<'w> {
    world: &'w World,
    cells: Cells,
    newest: BTreeMap<(TaskId, Instant), PastCell>,
}

pub fn said(world: &World) -> Said {
    let cells = Cells::of(world);
    let mut newest = BTreeMap::new();
    for (task, row) in &world.past.rows {
        let known = newest.entry((*task, row.nominal_at)).or_insert(*row);
        if row.run > known.run {
            *known = *row;
        }
    }
    let judge = Judge { world, cells, newest };
    let ask = &world.ask;
    let mut said = Said::default();
    for (index, task) in judge.cells.tasks.iter().enumerate() {
        let (dag, name) = task.key.split_once('.').unwrap();
        let is_asked = ask.tasks.as_ref().is_none_or(|tasks| tasks.iter().any(|each| each == name));
        if dag != ask.dag || !is_asked {
            continue;
        }
        for date in (ask.from.0..=ask.to.0).map(Date) {
            let fires = judge.cells.of_date(index, date);
            if fires.is_empty() {
                let first = task.fires.iter().map(|(date, _)| *date).min();
                let early = task.starts.is_some() && first.is_some_and(|first| date < first);
                let why = if early { Why::BeforeStart } else { Why::NotExpected };
                said.empty.insert((index, date), why);
            }
            for at in fires {
                said.cells.insert((index, at), judge.asked((index, at)));
            }
        }
    }
    if ask.upstream {
        while judge.take_upstream(&mut said) {}
    }
    if ask.downstream {
        while judge.take_downstream(&mut said) {}
    }
    said
}

impl Judge<'_> {
    fn row(&self, (task, at): Cell) -> Option<&PastCell> {
        self.newest.get(&(self.cells.tasks[task].task.task_id, at))
    }

    fn hindered(&self, cell: Cell) -> Option<Why> {
        let task = &self.cells.tasks[cell.0].task;
        if cell.1 > self.world.now {
            return Some(Why::Future);
        }
        if !task.enabled && !self.world.ask.force {
            return Some(Why::Disabled);
        }
        if self.world.facts.held.contains_key(&(task.task_id, cell.1)) {
            return Some(Why::InBackfill);
        }
        let row = self.row(cell)?;
        let waits = matches!(row.state, State::Running | State::Pending);
        (waits || row.state == State::Blocked && row.live).then_some(Why::Running)
    }

    /// As it would be said if everything were asked for; Succeeded where nothing is wrong.
    fn kind(&self, cell: Cell) -> (Why, &'static [Only]) {
        use Only::{Failed, Missing, Stale};
        let Some(row) = self.row(cell) else { return (Why::Missing, &[Missing]) };
        match row.state {
            State::Failed | State::Timeout => return (Why::Failed, &[Failed]),
            State::Canceled | State::Blocked => return (Why::Failed, &[Failed, Missing]),
            State::Skipped if row.disabled => return (Why::Failed, &[Failed, Missing]),
            _ => {}
        }
        let active = self.cells.tasks[cell.0].task.version_id.0;
        if row.version.0 == active + 1_000 {
            return (Why::StaleVersion, &[Stale]);
        }
        let newer = |up: &Cell| {
            let up = self.row(*up).filter(|up| up.state == State::Success);
            up.is_some_and(|up| up.finished_at > row.finished_at)
        };
        let behind = row.state == State::Success && self.cells.ups(cell).iter().any(newer);
        if row.stale || behind { (Why::StaleUpstream, &[Stale]) } else { (Why::Succeeded, &[]) }
    }

    fn asked(&self, cell: Cell) -> Why {
        if let Some(why) = self.hindered(cell) {
            return why;
        }
        let ask = &self.world.ask;
        if ask.reprocess {
            return Why::Forced;
        }
        let wanted: Vec<Only> = ask.also.iter().copied().chain([ask.only]).collect();
        let all = wanted.contains(&Only::All);
        match self.kind(cell) {
            (Why::Succeeded, _) if all => Why::Forced,
            (Why::Succeeded, _) => Why::Succeeded,
            (why, _) if all => why,
            (Why::Failed, kinds) if !wanted.contains(&Only::Failed) => {
                let missing = kinds.contains(&Only::Missing) && wanted.contains(&Only::Missing);
                if missing { Why::Missing } else { Why::NotAsked }
            }
            (why, kinds) if kinds.iter().any(|kind| wanted.contains(kind)) => why,
            _ => Why::NotAsked,
        }
    }

    fn take_upstream(&self, said: &mut Said) -> bool {
        let range = self.world.ask.from..=self.world.ask.to;
        let mut found = Vec::new();
        for (cell, _) in said.cells.iter().filter(|(_, why)| why.is_in()) {
            for up in self.cells.ups(*cell) {
                if !matches!(said.cells.get(&up), None | Some(Why::NotAsked)) {
                    continue;
                }
                match self.hindered(up) {
                    Some(why @ (Why::Running | Why::InBackfill)) => {
                        found.push((up, why));
                        continue;
                    }
                    Some(_) => continue,
                    None => {}
                }
                let why = self.kind(up).0;
                let known = up.1 > self.cells.tasks[up.0].since && !self.cells.tasks[up.0].by_day;
                let near = range.contains(&self.cells.date(up))
                    || (up.0 != cell.0 && range.contains(&self.cells.date(*cell)));
                if why != Why::Succeeded && (why != Why::Missing || known || near) {
                    found.push((up, Why::Upstream));
                }
            }
        }
        let any = !found.is_empty();
        said.cells.extend(found);
        any
    }

    fn take_downstream(&self, said: &mut Said) -> bool {
        let mut found = Vec::new();
        for (task, of) in self.cells.tasks.iter().enumerate() {
            for (_, at) in &of.fires {
                let cell = (task, *at);
                let known = said.cells.get(&cell);
                if known.is_some_and(|why| why.is_in()) {
                    continue;
                }
                let is_in = |up: &Cell| said.cells.get(up).is_some_and(|why| why.is_in());
                if !self.cells.ups(cell).iter().any(is_in) {
                    continue;
                }
                match self.hindered(cell) {
                    None => found.push((cell, Why::Downstream)),
                    Some(why @ (Why::Running | Why::InBackfill)) if known.is_none() => {
                        found.push((cell, why));
                    }
                    Some(_) => {}
                }
            }
        }
        let any = !found.is_empty();
        said.cells.extend(found);
        any
    }
}

/// The task runs of cells that a plan shows.
pub fn shown(world: &World, planned: &Planned) -> Vec<(TaskId, PastCell)> {
    let mut cells = BTreeSet::new();
    for grid in &planned.grids {
        for row in &grid.rows {
            let task = planned.plan.tasks[row.task as usize].task_id;
            for (column, code) in grid.columns.iter().zip(&row.why) {
                if let (Some(at), true) = (column.nominal_at, *code != u8::MAX) {
                    cells.insert((task, at));
                }
            }
        }
    }
    let is_shown = |row: &&(TaskId, PastCell)| cells.contains(&(row.0, row.1.nominal_at));
    world.past.rows.iter().filter(is_shown).copied().collect()
}

/// Whether a task run is the newest of its cell.
pub fn is_newest(world: &World, at: usize) -> bool {
    let (task, row) = world.past.rows[at];
    let of_cell = world
        .past
        .rows
        .iter()
        .filter(|(of, other)| (*of, other.nominal_at) == (task, row.nominal_at));
    of_cell.map(|(_, other)| other.run).max() == Some(row.run)
}
