//! A schedule is due: its next fire becomes runs, or the record of why it does not.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::schedule::{Bound, Pending, Scheduled};
use super::super::served::Served;
use super::super::{NewRun, ScheduleMove};
use super::backfill::SUPERSEDED;
use super::draft::Draft;
use crate::model::{
    Instant, Missed, Overlap, RunId, RunState, ScheduleId, Skip, SkipReason, SpecError, TimedKey,
    Trigger, params,
};
use crate::policy::LATE_MS;

impl Draft<'_> {
    /// Takes one fire of a schedule, or judges what was missed.
    pub(super) fn schedule_due(&mut self, id: ScheduleId) {
        let Some(schedule) = self.world.schedules.get(&id) else { return };
        let judged = schedule.judge(self.now);
        let mut to = ScheduleMove::of(schedule, self.now);
        to.judged = judged.until;
        if judged.outage {
            let seen = schedule.judged.max(schedule.watermark);
            to.catching_up = (seen, self.now.plus_millis(-LATE_MS));
        }
        judged.skips.into_iter().for_each(|skip| to.skip(skip, schedule));
        let next = schedule.uncovered(to.watermark, &to.ahead);
        if let Some(next) = next.filter(|next| next.due <= self.now && next.fire.at <= to.judged) {
            self.fire(schedule, next, &mut to);
        }
        self.out.schedules.push(to);
    }

    fn fire(&mut self, schedule: &Scheduled, next: Pending<'_>, to: &mut ScheduleMove) {
        let at = next.fire.at;
        let left_out = schedule.left_out(&next).or_else(|| self.make_runs(schedule, next, to));
        match left_out {
            Some(reason) => {
                let skip = Skip { schedule: schedule.id, from: at, to: at, count: 1, reason };
                to.skip(skip, schedule);
            }
            None if to.waiting => {}
            None => to.cover(at, schedule),
        }
    }

    /// Makes the runs of a fire, all of them or none; says why none, unless they have to wait.
    fn make_runs(
        &mut self,
        schedule: &Scheduled,
        next: Pending<'_>,
        to: &mut ScheduleMove,
    ) -> Option<SkipReason> {
        let Some(served) = self.world.served.get(&schedule.dag) else {
            return Some(SkipReason::Removed);
        };
        // Its tasks are gone, each of them.
        if schedule.bindings.is_empty() {
            return Some(SkipReason::Removed);
        }
        let nominal_at = next.fire.at;
        let (mut fresh, mut known, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
        for bound in &schedule.bindings {
            let key = TimedKey { target: bound.target, nominal_at, variant: bound.variant.clone() };
            match self.timed_run(&key) {
                Some(run) => known.push(run),
                // Two bindings that say the same are one.
                None if keys.insert(key) => fresh.push(bound),
                None => {}
            }
        }
        let filled = self.filled_by_backfills(schedule, served, &fresh, next);
        if filled.iter().any(|(_, _, active)| *active) {
            // A backfill computes these very cells at the moment; after that it is this one's turn.
            to.waiting = true;
            return None;
        }
        let (live, most) = (self.world.active_runs(schedule.dag), served.max_active_runs);
        let fits = live == 0 || u64::from(live) + fresh.len() as u64 <= u64::from(most);
        if !fresh.is_empty() && !fits {
            if schedule.overlap() == Overlap::Skip {
                return Some(SkipReason::Overlap);
            }
            to.waiting = true;
            return None;
        }
        let (after, until) = to.catching_up;
        let late = after < nominal_at && nominal_at <= until;
        let trigger = if late { Trigger::Catchup } else { Trigger::Schedule };
        let made: Result<Vec<NewRun>, SpecError> = fresh
            .into_iter()
            .map(|bound| new_run(self.world, served, schedule, bound, next, trigger))
            .collect();
        let Ok(made) = made else { return Some(SkipReason::Params) };
        for new in &made {
            if self.create(new).is_err() {
                return Some(SkipReason::Params);
            }
        }
        // What a backfill has there waits for something that may come of this fire alone.
        for (run, open, _) in filled {
            self.cancel_all(run, open, None, SUPERSEDED);
        }
        to.links = known;
        None
    }

    /// What open runs of backfills have of the cells of a fire, and whether they move by themselves.
    fn filled_by_backfills(
        &self,
        schedule: &Scheduled,
        served: &Served,
        fresh: &[&Bound],
        next: Pending<'_>,
    ) -> Vec<(RunId, Vec<u32>, bool)> {
        let mut filled = Vec::new();
        if self.world.fillings.is_empty() {
            return filled;
        }
        for bound in fresh {
            let of_dag = || {
                let date = served.when(None).ok()?.of_fire(next.fire).biz_date;
                let plan = served.plan(None, date).ok()?;
                Some(plan.tasks.iter().map(|task| task.task_id).collect())
            };
            let tasks = bound.target.task.map(|task| vec![task]).or_else(of_dag);
            let tasks = tasks.unwrap_or_default();
            let open = self.world.open_cells(schedule.dag, &tasks, next.fire.at);
            let open = open.filter(|(run, _)| {
                run.row.backfill_id.is_some() && run.row.state == RunState::Running
            });
            filled.extend(open.map(|(run, open)| (run.row.id, open, run.counted)));
        }
        filled
    }

    /// A schedule is paused, or goes on. What fell into the pause is not run unless asked for.
    pub(super) fn pause(&mut self, id: ScheduleId, paused: bool, missed: Option<Missed>) {
        let Some(schedule) = self.world.schedules.get(&id) else { return };
        if schedule.is_removed() || schedule.is_paused() == paused {
            return;
        }
        // By a clock that was set back, it is covered beyond now.
        let mut to = ScheduleMove::of(schedule, self.now.max(schedule.covered()));
        if !paused {
            if let Some(skip) = schedule.paused_fires(self.now, missed) {
                to.skip(skip, schedule);
            }
            to.judged = self.now.max(to.judged);
        }
        // Fires from before it wait as they did.
        to.waiting = schedule.waiting;
        to.paused = Some(paused);
        self.out.schedules.push(to);
    }
}

fn new_run(
    world: &super::super::World,
    served: &Served,
    schedule: &Scheduled,
    bound: &Bound,
    next: Pending<'_>,
    trigger: Trigger,
) -> Result<NewRun, SpecError> {
    let when = served.when(bound.target.task)?;
    let moment = match schedule.current() {
        Some(current) if std::ptr::eq(current, next.span) => when.of_fire(next.fire),
        // A fire of an earlier rule: its dates follow from that.
        _ => world.when_with(when, bound.target, schedule, &next.span.entry).of_fire(next.fire),
    };
    let plan = served.plan(bound.target.task, moment.biz_date)?;
    let mut given: Map<String, Value> = bound.params.clone();
    let tasks = plan.tasks.iter().map(|task| &*task.def);
    params::fill_biz_date(
        tasks.clone().flat_map(|task| &task.param_schema),
        &mut given,
        moment.biz_date,
    );
    let params = params::bind_dag(&plan.dag, tasks, &given).map_err(SpecError)?;
    Ok(NewRun {
        plan,
        nominal_at: moment.nominal_at,
        biz_date: moment.biz_date,
        interval: moment.interval,
        timezone: next.span.timezone.clone(),
        trigger,
        task: bound.target.task,
        timed: true,
        variant: bound.variant.clone(),
        interactive: false,
        requested_by: None,
        params,
        schedules: vec![schedule.id],
        only: None,
        force: false,
    })
}

impl ScheduleMove {
    fn of(schedule: &Scheduled, now: Instant) -> ScheduleMove {
        ScheduleMove {
            schedule: schedule.id,
            from: schedule.watermark,
            watermark: schedule.watermark,
            changed_at: schedule.changed_at,
            judged: schedule.judged,
            catching_up: schedule.catching_up,
            ahead: schedule.ahead.clone(),
            last_skip: schedule.last_skip,
            skips: Vec::new(),
            links: Vec::new(),
            waiting: false,
            paused: None,
            when: now,
        }
    }

    /// Records fires that make no run, and moves the watermark over them if nothing comes before.
    fn skip(&mut self, skip: Skip, schedule: &Scheduled) {
        let first = schedule.uncovered(self.watermark, &self.ahead);
        let next = first.is_some_and(|first| first.fire.at == skip.from)
            // Fires of a pause that is still going on are no fires yet.
            || schedule.is_paused() && first.is_none();
        let joins = next && self.ahead.is_empty() && self.last_skip == Some(skip.reason);
        let (from, to, reason) = (skip.from, skip.to, skip.reason);
        self.skips.push((skip, joins));
        if next {
            self.cover(to, schedule);
            self.last_skip = Some(reason);
        } else {
            self.ahead.push((from, to));
            self.ahead.sort_unstable();
        }
    }

    /// All fires up to here are covered, and those after it that are skipped already.
    fn cover(&mut self, to: Instant, schedule: &Scheduled) {
        self.watermark = self.watermark.max(to);
        self.last_skip = None;
        while let Some((from, to)) = self.ahead.first().copied() {
            let between = schedule.uncovered(self.watermark, &[]);
            if to > self.watermark && between.is_some_and(|next| next.fire.at < from) {
                return;
            }
            self.watermark = self.watermark.max(to);
            self.ahead.remove(0);
        }
    }
}
