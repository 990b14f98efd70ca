//! Puts a decision into the world, and refuses what no decision may do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cell::found;
use super::edges::{Standing, edge_verdict};
use super::filling::BackfillPlace;
use super::items::Place;
use super::queue::{claims_of, fits};
use super::run::{Live, Run, TaskRun};
use super::{
    CreateRun, Decision, EdgeAt, End, FillMove, FillPlace, LeaseStop, Move, NewFilling, NewItems,
    Overdue, Rests, RunMove, ScheduleMove, Start, TaskRunRef, World,
};
use crate::model::{BackfillId, Progress, RunId, RunState, ScheduleId, State};

/// A decision, or a row, that does not fit the world. The world is not usable any more and must
/// be read anew; it is a mistake of ours wherever it happens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Rows that are not those of a run of the plan they came with.
    #[error("the rows of run {0} do not fit its plan")]
    Rows(RunId),
    /// A run that is not here, or is here already.
    #[error("run {0} is not where the decision says")]
    Run(RunId),
    /// A task run that is not here.
    #[error("run {} has no task run with index {}", .0.run, .0.index)]
    NoTaskRun(TaskRunRef),
    /// A task run that stands elsewhere than the decision says.
    #[error("task run {} of run {} is {found}, not {expected}", .at.index, .at.run)]
    Elsewhere {
        /// Which.
        at: TaskRunRef,
        /// Where the decision has it.
        expected: State,
        /// Where it is.
        found: State,
    },
    /// An arrow that is not in the table.
    #[error("task run {} of run {} cannot go from {from} to {to}", .at.index, .at.run)]
    NoArrow {
        /// Which.
        at: TaskRunRef,
        /// From where.
        from: State,
        /// To where.
        to: State,
    },
    /// A rule of starts and ends of attempts.
    #[error("task run {} of run {}: {rule}", .at.index, .at.run)]
    Attempt {
        /// Which.
        at: TaskRunRef,
        /// What would be broken.
        rule: &'static str,
    },
    /// A schedule that is not here, or has come further or less far than the decision says.
    #[error("schedule {0} is not where the decision says")]
    Schedule(ScheduleId),
    /// A backfill that is not here, or has come further or less far than the decision says.
    #[error("backfill {0} is not where the decision says")]
    Backfill(BackfillId),
    /// The state of a run is another than the decision says.
    #[error("run {run} is {found}, not {expected}")]
    RunElsewhere {
        /// Which.
        run: RunId,
        /// Where the decision has it.
        expected: RunState,
        /// Where it is.
        found: RunState,
    },
}

/// Carries out the moves, creates, starts and ends of a decision, in this order.
///
/// # Errors
/// `Broken` where the decision was not made from this world.
pub fn apply(world: &mut World, decision: &Decision) -> Result<(), Broken> {
    for (pool, slots) in &decision.pools {
        world.pools.entry(pool.clone()).or_default().slots = *slots;
    }
    for (pool, step_ms) in &decision.ageing {
        world.pools.entry(pool.clone()).or_default().ageing_ms = *step_ms;
    }
    for (limit, slots) in &decision.limits {
        world.limits.entry(limit.clone()).or_default().slots = *slots;
    }
    world.interrupting |= decision.interrupting;
    for (key, known) in &decision.cells {
        world.read(key, known);
    }
    decision.backfills.iter().try_for_each(|new| world.begin(new))?;
    decision.filled.iter().try_for_each(|place| world.fill_in(place))?;
    for create in &decision.creates {
        world.create(create)?;
    }
    for (at, texts) in &decision.texts {
        world.change(*at, |task_run| task_run.texts = Some(Box::new(texts.clone())));
    }
    for (at, edge) in &decision.waited {
        world.wait_no_longer(*at, *edge);
    }
    for items in &decision.items {
        world.make_items(items)?;
    }
    for to in &decision.moves {
        world.take_arrow(to)?;
    }
    // What begins and ends in one decision has never held anything.
    let at_once = |at: TaskRunRef, attempt_no: u32| {
        let mut ends = decision.ends.iter();
        !decision.starts.is_empty()
            && ends.any(|end| end.at == at && end.end.attempt_no == attempt_no)
            && decision.starts.iter().any(|start| start.at == at)
    };
    for start in &decision.starts {
        if at_once(start.at, start.attempt.attempt_no) {
            continue;
        }
        world.start(start)?;
    }
    for to in &decision.rests {
        world.rest(to)?;
    }
    for stop in &decision.stops {
        world.stop(stop)?;
    }
    for end in &decision.ends {
        if at_once(end.at, end.end.attempt_no) {
            continue;
        }
        world.end(end)?;
    }
    for at in &decision.releases {
        let live = world.change(*at, |task_run| task_run.live.take());
        if live.flatten().is_none_or(|live| !live.ended) {
            return Err(rule(*at, "only what has ended is released"));
        }
    }
    for (at, _) in &decision.stale {
        let marked = world.change(*at, |task_run| task_run.progress.stale = true);
        marked.ok_or(Broken::NoTaskRun(*at))?;
    }
    decision.overdue.iter().try_for_each(|overdue| world.note_overdue(overdue))?;
    let moved: BTreeSet<RunId> = decision.moves.iter().map(|to| to.at.run).collect();
    moved.into_iter().for_each(|run| world.recount(run));
    decision.run_moves.iter().try_for_each(|to| world.move_run(to))?;
    decision.fill_moves.iter().try_for_each(|to| world.move_backfill(to))?;
    decision.halts.iter().for_each(|(backfill, halted)| world.halt(*backfill, *halted));
    decision.schedules.iter().try_for_each(|to| world.move_schedule(to))
}

fn rule(at: TaskRunRef, rule: &'static str) -> Broken {
    Broken::Attempt { at, rule }
}

impl World {
    fn create(&mut self, create: &CreateRun) -> Result<(), Broken> {
        let row = &create.row;
        let taken = row.id.0 < self.next_run || row.first_task_run_id.0 < self.next_task_run;
        if taken || row.task_count as usize != create.plan.0.graph.len() {
            return Err(Broken::Run(row.id));
        }
        self.set_next_ids(row.id.0 + 1, row.first_task_run_id.offset(row.task_count).0);
        let run = Run::new(row.clone(), create.plan.0.clone(), &self.cells);
        self.insert(run, Some(&create.left_out));
        Ok(())
    }

    fn make_items(&mut self, items: &NewItems) -> Result<(), Broken> {
        let (broken, of) = (Broken::Run(items.of.run), items.of);
        let run = self.runs.get_mut(&of.run).ok_or(broken.clone())?;
        let known = run.items(of.index).ok_or(broken.clone())?.indexes.len() as u32;
        let first = run.task_runs.len() as u32;
        if items.first.0 < self.next_task_run {
            return Err(broken);
        }
        for (nth, item) in (0u32..).zip(&items.items) {
            run.task_runs.push(TaskRun {
                id: items.first.offset(nth),
                place: Place::Item { of: of.index, map_index: known + nth },
                created_at: items.when,
                progress: Progress { item: Some(item.clone()), ..Progress::default() },
                live: None,
                counts: Default::default(),
                votes: Vec::new(),
                patience: None,
                texts: None,
            });
            run.count_item(first + nth);
        }
        let end = run.task_runs.len() as u32;
        self.next_task_run = items.first.offset(end - first).0;
        for index in first..end {
            let at = TaskRunRef { run: of.run, index };
            let keys = self.keys(at);
            self.put(at, &keys);
        }
        Ok(())
    }

    fn take_arrow(&mut self, arrow: &Move) -> Result<(), Broken> {
        let Move { at, from, ref to, .. } = *arrow;
        let task_run = self.task_run(at).ok_or(Broken::NoTaskRun(at))?;
        let (found, counts) = (&task_run.progress, task_run.counts);
        if found.state != from {
            return Err(Broken::Elsewhere { at, expected: from, found: found.state });
        }
        if !from.may_become(to.state) {
            return Err(Broken::NoArrow { at, from, to: to.state });
        }
        if to.revision != found.revision + 1 {
            return Err(rule(at, "a transition was left out"));
        }
        // What stands for items runs without an attempt of its own, and so does what another runs for.
        let is_whole = || {
            to.attempt_no == found.attempt_no && (task_run.is_mapped() || self.block(at).is_some())
        };
        let started = to.state == State::Running && !is_whole();
        if to.attempt_no != found.attempt_no + u32::from(started) {
            return Err(rule(at, "attempts are numbered without a gap"));
        }
        if started && to.token <= found.token || !started && to.token != found.token {
            return Err(rule(at, "tokens grow from attempt to attempt"));
        }
        if to.state == State::Running && counts.unmet > 0 {
            return Err(rule(at, "an attempt starts only when every edge holds"));
        }
        let of = match task_run.place {
            Place::Item { of, .. } => Some(TaskRunRef { run: at.run, index: of }),
            _ => None,
        };
        let before = self.change(at, |it| std::mem::replace(&mut it.progress, to.clone()));
        match (of, before) {
            (Some(of), Some(before)) => self.count(of, &before, to),
            (None, Some(before)) => self.spread(at, &before, to),
            (_, None) => {}
        }
        Ok(())
    }

    /// Tells a mapped task that one of its items has moved.
    fn count(&mut self, of: TaskRunRef, from: &Progress, to: &Progress) {
        if let Some(run) = self.runs.get_mut(&of.run) {
            run.items.item(from, to);
        }
        self.change(of, |whole| {
            if let Place::Mapped(items) = &mut whole.place {
                items.tally.item(from, to);
            }
        });
    }

    /// Tells the dependents of a task run that it has moved.
    fn spread(&mut self, at: TaskRunRef, before: &Progress, to: &Progress) {
        let Some(run) = self.runs.get_mut(&at.run) else { return };
        run.tally.change(before.state, to.state);
        let plan = run.plan.clone();
        let when = (run.row.biz_date, run.row.nominal_at);
        // An edge inside the run looks at files of what it had before and has now alike.
        let texts = run.get(at.index).and_then(|task_run| task_run.texts.clone());
        let texts = texts.as_deref();
        for (index, rule) in plan.downstream(at.index) {
            let over = rule.wait_up_to_ms.is_some()
                && self
                    .runs
                    .get(&at.run)
                    .is_some_and(|run| run.is_over(index, EdgeAt::Here(at.index)));
            let from = edge_verdict(rule, Standing::of(before, texts)).without(over);
            let after = edge_verdict(rule, Standing::of(to, texts)).without(over);
            if from != after {
                let at = TaskRunRef { run: at.run, index };
                self.change(at, |task_run| task_run.counts.change(rule.kind, from, after));
            }
        }
        if !plan.names_of(at.index).iter().any(|name| self.cells.watched(name).is_some()) {
            return;
        }
        let seen = self.task_run(at).and_then(|task_run| found(at.run, task_run));
        if let Some(seen) = seen {
            self.see(&plan, at.index, when, &seen);
        }
    }

    fn start(&mut self, start: &Start) -> Result<(), Broken> {
        let (at, attempt) = (start.at, &start.attempt);
        let task_run = self.task_run(at).ok_or(Broken::NoTaskRun(at))?;
        if task_run.live.is_some() {
            return Err(rule(at, "one attempt is live at a time"));
        }
        let progress = &task_run.progress;
        if (progress.state, progress.attempt_no, progress.token)
            != (State::Running, attempt.attempt_no, attempt.token)
        {
            return Err(rule(at, "an attempt starts as the current one"));
        }
        let pool = self.pools.get(&attempt.pool);
        if !pool.is_some_and(|pool| fits(pool.slots, pool.held, attempt.slots)) {
            return Err(rule(at, "no more slots are held than there are"));
        }
        let claims = self.runs.get(&at.run).and_then(|run| run.task(at.index)).and_then(claims_of);
        if claims.as_deref().unwrap_or_default() != attempt.limits {
            return Err(rule(at, "an attempt takes what its definition says"));
        }
        let over = |claim| {
            let (capacity, held) = self.limit_for(claim);
            !fits(capacity, held, claim.slots)
        };
        if attempt.limits.iter().any(over) {
            return Err(rule(at, "no more of a limit is held than there is"));
        }
        let live = Live {
            attempt_no: attempt.attempt_no,
            token: attempt.token,
            node_id: attempt.node_id,
            started_at: attempt.started_at,
            slots: attempt.slots,
            limits: claims.map(|_| Arc::new(attempt.held())),
            timeout_at: start.timeout_at,
            stop: None,
            ended: false,
            rest: start.rest,
            polls: 0,
        };
        self.change(at, |task_run| task_run.live = Some(live));
        Ok(())
    }

    fn rest(&mut self, to: &Rests) -> Result<(), Broken> {
        let noted = self.change(to.at, |task_run| {
            let live = task_run.live.as_mut().filter(|live| !live.ended && live.slots == 0);
            live.map(|live| (live.rest, live.polls) = (to.rest, to.polls))
        });
        noted.flatten().ok_or(rule(to.at, "only a live attempt without slots rests"))
    }

    fn stop(&mut self, stop: &LeaseStop) -> Result<(), Broken> {
        let noted = self.change(stop.at, |task_run| {
            let live = task_run.live.as_mut().filter(|live| !live.ended);
            live.map(|live| live.stop = Some(stop.stop))
        });
        noted.flatten().ok_or(rule(stop.at, "only a live attempt is stopped"))
    }

    fn end(&mut self, end: &End) -> Result<(), Broken> {
        let ended = self.change(end.at, |task_run| {
            let live = task_run.live.as_mut()?;
            let current = (live.attempt_no, live.token) == (end.end.attempt_no, end.end.token);
            if live.ended || !current {
                return None;
            }
            live.ended = true;
            if end.released {
                task_run.live = None;
            }
            Some(())
        });
        ended.flatten().ok_or(rule(end.at, "only the current attempt ends, and once"))
    }

    fn note_overdue(&mut self, overdue: &Overdue) -> Result<(), Broken> {
        let noted = self.change(overdue.at, |task_run| {
            task_run.progress.overdue_at.get_or_insert(overdue.when);
        });
        noted.ok_or(Broken::NoTaskRun(overdue.at))
    }

    fn move_run(&mut self, to: &RunMove) -> Result<(), Broken> {
        let run = self.runs.get_mut(&to.run).ok_or(Broken::Run(to.run))?;
        let (expected, found) = (to.from, run.row.state);
        if expected != found {
            return Err(Broken::RunElsewhere { run: to.run, expected, found });
        }
        run.row.state = to.to;
        run.row.finished_at = to.finished_at;
        run.cancel_requested = to.cancel_requested;
        self.stand(to.run);
        Ok(())
    }

    fn begin(&mut self, new: &NewFilling) -> Result<(), Broken> {
        let places = vec![BackfillPlace::default(); new.row.plan.runs.len()];
        if self.backfill(new.row.id).is_some() {
            return Err(Broken::Backfill(new.row.id));
        }
        self.load_backfill(new.row.clone(), new.plans.clone(), places);
        Ok(())
    }

    fn fill_in(&mut self, to: &FillPlace) -> Result<(), Broken> {
        let broken = Broken::Backfill(to.backfill);
        let filling = self.fillings.get_mut(&to.backfill).ok_or(broken.clone())?;
        let place = filling.places().get(to.ordinal as usize).ok_or(broken.clone())?;
        // What was made once stays, and is never made again.
        if place.run.is_some() {
            return Err(broken);
        }
        filling.set(to.ordinal, |place| {
            place.run = to.run;
            place.note.clone_from(&to.note);
            place.state = to.run.map(|_| RunState::Running);
        });
        self.refill(to.backfill);
        Ok(())
    }

    fn move_backfill(&mut self, to: &FillMove) -> Result<(), Broken> {
        let broken = Broken::Backfill(to.backfill);
        let filling = self.fillings.get_mut(&to.backfill).ok_or(broken.clone())?;
        if filling.row.state != to.from {
            return Err(broken);
        }
        filling.row.state = to.to;
        filling.row.finished_at = to.finished_at;
        filling.row.cancel_requested = to.cancel_requested;
        self.refill(to.backfill);
        Ok(())
    }

    fn move_schedule(&mut self, to: &ScheduleMove) -> Result<(), Broken> {
        let broken = Broken::Schedule(to.schedule);
        let Some(mut schedule) = self.take_schedule(to.schedule) else { return Err(broken) };
        let fits = schedule.watermark == to.from && to.watermark >= to.from;
        if fits {
            schedule.watermark = to.watermark;
            schedule.judged = to.judged;
            schedule.catching_up = to.catching_up;
            schedule.ahead.clone_from(&to.ahead);
            schedule.last_skip = to.last_skip;
            schedule.waiting = to.waiting;
            schedule.woken &= to.paused.is_some();
            if let Some(paused) = to.paused {
                schedule.turn(paused, to.when);
                schedule.changed_at = to.when;
            }
            schedule.tidy();
        }
        self.put_schedule(schedule);
        if fits { Ok(()) } else { Err(broken) }
    }
}
