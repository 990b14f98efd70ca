//! The tasks that a plan reaches, when they fire, and which cells look at which.
//!
//! Which fires an edge looks at is said by the functions that the engine itself asks when a run
//! waits: `Across::cells` and `of_date_or_period`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::cell::Looking;
use super::super::{Across, Plan, PlannedTask};
use super::facts::{DagFacts, Facts, Life};
use super::timeline::{Span, Timeline};
use crate::model::{Date, EdgeKind, OffsetUnit, Share, SpecError, TaskVersionId, Which};

/// A task of the board.
#[derive(Debug)]
pub struct Node {
    /// Index of its dag in the facts.
    pub dag: usize,
    /// What fires it: tasks of one target and one fire are of one run.
    pub target: u32,
    /// Its full key.
    pub key: Arc<str>,
    /// The task.
    pub task: PlannedTask,
    /// Number of its version.
    pub number: u32,
    /// Another version that is out.
    pub share: Option<(Share, TaskVersionId)>,
    /// When it fires.
    pub timeline: usize,
    /// Its place among the tasks of its target, none before one that it waits for.
    pub rank: u32,
    /// Upstreams in its own run.
    pub here_up: Vec<u32>,
    /// Dependents in its own run.
    pub here_down: Vec<u32>,
    /// Edges to other runs.
    pub looks: Vec<Look>,
    /// Edges of others to it: the task, and which of its edges.
    pub seen: Vec<(u32, usize)>,
}

/// An edge of a task to other runs.
#[derive(Clone, Debug)]
pub struct Look {
    /// The upstream.
    pub up: u32,
    /// Which cells it looks at.
    pub pairing: usize,
    /// Whether one of them is enough.
    pub any: bool,
}

/// Which fires of one timeline look at which of another.
#[derive(Debug)]
pub struct Pairing {
    down: usize,
    up: usize,
    edge: Across,
    follows: bool,
    memo: BTreeMap<Date, Arc<[Span]>>,
}

/// The fires that a cell looks at.
pub enum Pairs {
    /// In a row.
    One([Span; 1]),
    /// In several.
    Many(Arc<[Span]>),
}

impl std::ops::Deref for Pairs {
    type Target = [Span];

    fn deref(&self) -> &[Span] {
        match self {
            Pairs::One(span) => span,
            Pairs::Many(spans) => spans,
        }
    }
}

/// What fires.
#[derive(Debug)]
pub struct Firing {
    /// Index of its dag in the facts.
    pub dag: usize,
    /// Its tasks, in the order of the board.
    pub tasks: Vec<u32>,
    /// Whether it is a task with a schedule of its own.
    pub alone: bool,
    /// When.
    pub timeline: usize,
}

/// The board.
#[derive(Debug, Default)]
pub struct Board {
    /// When targets fire; several may fire together.
    pub timelines: Vec<Timeline>,
    /// All tasks.
    pub nodes: Vec<Node>,
    /// What fires.
    pub targets: Vec<Firing>,
    /// Which fires look at which.
    pub pairings: Vec<Pairing>,
}

impl Board {
    /// Lays out what is registered.
    ///
    /// # Errors
    /// What is wrong with rules or edges.
    pub fn new(facts: &Facts) -> Result<Board, SpecError> {
        let mut board = Board::default();
        let mut plans: Vec<(Plan, u32)> = Vec::new();
        let mut names: BTreeMap<Arc<str>, u32> = BTreeMap::new();
        for (at, dag) in facts.dags.iter().enumerate() {
            for life in &dag.lives {
                board.add_target((at, dag), life, &mut plans, &mut names)?;
            }
        }
        board.follow(&plans, &names);
        for (target, (plan, first)) in plans.iter().enumerate() {
            board.connect(target, plan, *first, &names);
        }
        Ok(board)
    }

    fn add_target(
        &mut self,
        (at, dag): (usize, &DagFacts),
        life: &Life,
        plans: &mut Vec<(Plan, u32)>,
        names: &mut BTreeMap<Arc<str>, u32>,
    ) -> Result<(), SpecError> {
        let own = |index: usize| dag.lives.iter().any(|life| life.task == Some(index));
        let is_of = |index: usize| life.task.map_or(!own(index), |task| task == index);
        let members: Vec<usize> = (0..dag.tasks.len()).filter(|index| is_of(*index)).collect();
        let tasks = members.iter().filter_map(|index| dag.tasks.get(*index));
        let tasks: Vec<PlannedTask> = tasks.map(|(task, _)| task.clone()).collect();
        let plan = Plan::build(dag.id, &dag.key, tasks)?;
        let target = self.targets.len() as u32;
        let timeline = self.timelines.len();
        self.timelines.push(Timeline::new(dag, life)?);
        let first = self.nodes.len() as u32;
        for (task, index) in plan.tasks.iter().zip(&members) {
            let key = format!("{}.{}", dag.key, task.def.name).into();
            let share = dag.shares.iter().find(|(of, ..)| of == index);
            self.nodes.push(Node {
                dag: at,
                target,
                key,
                task: task.clone(),
                number: dag.tasks.get(*index).map_or(0, |(_, number)| *number),
                share: share.map(|(_, share, version)| (*share, *version)),
                timeline,
                rank: 0,
                here_up: Vec::new(),
                here_down: Vec::new(),
                looks: Vec::new(),
                seen: Vec::new(),
            });
        }
        for (of_task, index) in plan.names.iter().zip(first..) {
            names.extend(of_task.iter().map(|name| (Arc::clone(name), index)));
        }
        let tasks = (first..self.nodes.len() as u32).collect();
        self.targets.push(Firing { dag: at, tasks, alone: life.task.is_some(), timeline });
        plans.push((plan, first));
        Ok(())
    }

    /// A dag without a schedule that follows an upstream fires when that does.
    fn follow(&mut self, plans: &[(Plan, u32)], names: &BTreeMap<Arc<str>, u32>) {
        let leader = |board: &Board, target: usize| {
            let firing = board.targets.get(target)?;
            let by_day = board.timelines.get(firing.timeline)?.is_by_day();
            let edge = plans.get(target)?.0.followed().filter(|_| by_day && !firing.alone)?;
            let node = board.nodes.get(*names.get(&edge.upstream)? as usize)?;
            Some(node.target as usize)
        };
        for target in 0..self.targets.len() {
            // Who follows a follower fires when the first of them does; nobody's own tail.
            let (mut at, mut steps) = (target, 0);
            while let Some(next) = leader(self, at).filter(|_| steps <= self.targets.len()) {
                (at, steps) = (next, steps + 1);
            }
            if at == target || steps > self.targets.len() {
                continue;
            }
            let Some(timeline) = self.targets.get(at).map(|firing| firing.timeline) else {
                continue;
            };
            let Some(firing) = self.targets.get_mut(target) else { continue };
            firing.timeline = timeline;
            for index in firing.tasks.clone() {
                if let Some(node) = self.nodes.get_mut(index as usize) {
                    node.timeline = timeline;
                }
            }
        }
    }

    fn connect(&mut self, target: usize, plan: &Plan, first: u32, names: &BTreeMap<Arc<str>, u32>) {
        let timeline = self.targets.get(target).map_or(0, |firing| firing.timeline);
        let order = plan.graph.order().unwrap_or_else(|_| plan.graph.nodes().collect());
        for (rank, index) in (0u32..).zip(order) {
            if let Some(node) = self.nodes.get_mut((first + index) as usize) {
                node.rank = rank;
            }
        }
        for (node, index) in (first..).zip(0u32..plan.tasks.len() as u32) {
            for (up, rule) in plan.upstream(index) {
                if rule.kind == EdgeKind::Weak {
                    continue;
                }
                let up = first + up;
                if let Some(found) = self.nodes.get_mut(node as usize) {
                    found.here_up.push(up);
                }
                if let Some(found) = self.nodes.get_mut(up as usize) {
                    found.here_down.push(node);
                }
            }
            for edge in plan.across(index) {
                // What comes from outside is no task of ours.
                let Some(up) = names.get(&edge.upstream).copied() else { continue };
                let upper = self.nodes.get(up as usize).map_or(0, |node| node.timeline);
                // It looks at the very fire that its own run is of.
                let follows = edge.follows && upper == timeline;
                let pairing = self.pairing(timeline, upper, edge, follows);
                let Some(found) = self.nodes.get_mut(node as usize) else { continue };
                let number = found.looks.len();
                found.looks.push(Look { up, pairing, any: edge.which == Which::Any });
                if let Some(found) = self.nodes.get_mut(up as usize) {
                    found.seen.push((node, number));
                }
            }
        }
    }

    fn pairing(&mut self, down: usize, up: usize, edge: &Across, follows: bool) -> usize {
        let same = |known: &Pairing| {
            (known.down, known.up, known.follows) == (down, up, follows)
                && (known.edge.from, known.edge.to) == (edge.from, edge.to)
                && (known.edge.unit, known.edge.which) == (edge.unit, edge.which)
        };
        if let Some(known) = self.pairings.iter().position(same) {
            return known;
        }
        let edge = edge.clone();
        self.pairings.push(Pairing { down, up, edge, follows, memo: BTreeMap::new() });
        self.pairings.len() - 1
    }

    /// The fires of its upstream that the edge of a task looks at from one of its own.
    pub fn pairs(&mut self, pairing: usize, fire: u32) -> Pairs {
        let Some(at) = self.pairings.get_mut(pairing) else { return Pairs::One([(0, 0)]) };
        if at.follows {
            return Pairs::One([(fire, fire + 1)]);
        }
        let Some(down) = self.timelines.get(at.down) else { return Pairs::One([(0, 0)]) };
        let (biz_date, nominal_at) = (down.date(fire), down.at(fire));
        let Some(up) = self.timelines.get_mut(at.up) else { return Pairs::One([(0, 0)]) };
        let by_date = at.edge.unit != OffsetUnit::Slot;
        if let Some(known) = at.memo.get(&biz_date).filter(|_| by_date) {
            return Pairs::Many(Arc::clone(known));
        }
        let mut spans: Vec<Span> = Vec::new();
        for cell in at.edge.cells(Looking { biz_date, nominal_at, follows: false }) {
            let mut of_cell = up.of_cell(&cell.at);
            if at.edge.which == Which::Last {
                let last = of_cell.pop().filter(|(from, to)| from < to);
                of_cell = last.map(|(_, to)| (to - 1, to)).into_iter().collect();
            }
            for (from, to) in of_cell {
                match spans.last_mut() {
                    Some(last) if last.1 == from => last.1 = to,
                    _ if from < to => spans.push((from, to)),
                    _ => {}
                }
            }
        }
        match spans.as_slice() {
            [] => Pairs::One([(0, 0)]),
            [one] => Pairs::One([*one]),
            _ => {
                let spans: Arc<[Span]> = spans.into();
                if by_date {
                    at.memo.insert(biz_date, Arc::clone(&spans));
                }
                Pairs::Many(spans)
            }
        }
    }

    /// Whether all fires of a date look at the same.
    pub fn is_by_date(&self, pairing: usize) -> bool {
        let pairing = self.pairings.get(pairing);
        pairing.is_some_and(|at| !at.follows && at.edge.unit != OffsetUnit::Slot)
    }

    /// How many slots back an edge looks.
    pub fn slots_back(&self, pairing: usize) -> i32 {
        self.pairings.get(pairing).map_or(0, |at| at.edge.from.saturating_neg().max(0))
    }

    /// The dates of the upstream that an edge looks at from a range of dates; wider rather than
    /// narrower. None where that does not follow from the dates.
    pub fn reach_up(&self, pairing: usize, from: Date, to: Date) -> Option<(Date, Date)> {
        let at = self.pairings.get(pairing)?;
        if at.follows {
            return Some((from, to));
        }
        reach(at.edge.unit, (at.edge.from, at.edge.to), from, to)
    }

    /// The dates from which an edge looks at a range of dates of its upstream, the same way.
    pub fn reach_down(&self, pairing: usize, from: Date, to: Date) -> Option<(Date, Date)> {
        let at = self.pairings.get(pairing)?;
        if at.follows {
            return Some((from, to));
        }
        reach(at.edge.unit, (-at.edge.to, -at.edge.from), from, to)
    }
}

/// Dates that are some periods away from a range of dates.
fn reach(unit: OffsetUnit, offsets: (i32, i32), from: Date, to: Date) -> Option<(Date, Date)> {
    let (days, slack) = match unit {
        OffsetUnit::Day => (1, 0),
        OffsetUnit::Week => (7, 7),
        OffsetUnit::Month => (31, 62),
        OffsetUnit::Slot => return None,
    };
    // A month is shorter than 31 days: what lies ahead may be nearer, what lies behind too.
    let near = |offset: i32| if days == 31 { offset.saturating_mul(28) } else { offset * days };
    let low = offsets.0.saturating_mul(days).min(near(offsets.0));
    let high = offsets.1.saturating_mul(days).max(near(offsets.1));
    Some((from.plus_days(low - slack), to.plus_days(high + slack)))
}
