//! One world from its first event to its end: faults at first, and then none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring::engine::{
    Decision, Effect, Event, NewRun, Plan, Report, RerunWhat, TaskRunRef, Word, World, apply,
    decide,
};
use mainspring::model::{
    AttemptRecord, AttemptStart, Instant, NodeId, Outcome, RunId, State, StopReason, Token, Trigger,
};

use super::rng::Rng;
use super::rows::MemoryRows;
use super::seed::{Rates, random_plan};
use crate::checkers::{Checker, Step, Truth, all};
use crate::engine::bench::{START, gathered, new_run};

/// A rule that is taken away, to see that its checker notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    NoAttemptFence,
    NoUniqueRunKey,
    NoSlotLimit,
    NoUpstreamCheck,
    NoRetryBudget,
    NoCancel,
    RestsInASlot,
    NoIsALoss,
    WrongWord,
    NoNotBefore,
    NoRunOn,
    NoItemLimit,
    LostItem,
    ResultsAskew,
}

pub struct Told {
    pub steps: u64,
    pub hash: u64,
    pub arrows: BTreeSet<(State, State)>,
    /// Items made, made again with another list, and removed; lists without any.
    pub items: [u64; 4],
}

/// A story that takes more steps than this does not end.
const LONGEST: u64 = 40_000;

pub struct Story {
    rng: Rng,
    rates: Rates,
    pub fault: Fault,
    pub world: World,
    pub rows: MemoryRows,
    truth: Truth,
    checkers: Vec<Box<dyn Checker>>,
    now: Instant,
    node: i64,
    /// What will happen, by time and order.
    agenda: BTreeMap<(Instant, u64), Event>,
    sequence: u64,
    told: Told,
    quiet: bool,
    /// Effects that no executor saw: the process died in between.
    died: bool,
}

impl Story {
    /// Tells the story of a seed; what is wrong begins with the name of the checker.
    pub fn tell(seed: u64, fault: Fault) -> Result<Told, String> {
        let mut rng = Rng(seed);
        let rates = Rates::new(&mut rng);
        let mut story = Story {
            rates,
            fault,
            world: MemoryRows::new().world(0, NodeId(1)),
            rows: MemoryRows::new(),
            truth: Truth::default(),
            checkers: all(),
            now: START,
            node: 1,
            agenda: BTreeMap::new(),
            sequence: 0,
            told: Told { steps: 0, hash: 0, arrows: BTreeSet::new(), items: [0; 4] },
            quiet: false,
            died: false,
            rng,
        };
        story.begin()?;
        let faults_end = START + 60_000_000;
        story.run_until(Some(faults_end))?;
        story.quiet = true;
        story.now = story.now.max(faults_end);
        // What died silently is noticed at last, and a shutdown is followed by a new process, which
        // does not die.
        story.died = false;
        story.crash()?;
        story.run_until(None)?;
        for checker in &mut story.checkers {
            checker
                .end(&story.world, &story.rows)
                .map_err(|e| format!("{}: {e}", checker.name()))?;
        }
        for packed in story.rows.runs.values().flat_map(|stored| &stored.journal) {
            for byte in packed {
                story.told.hash =
                    (story.told.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        Ok(story.told)
    }

    fn begin(&mut self) -> Result<(), String> {
        for pool in [None, Some("p".to_owned())] {
            let slots = 1 + self.rng.below(6) as u32;
            self.happen(Event::PoolSized { pool, slots })?;
        }
        for nth in 0..1 + self.rng.below(3) {
            let plan = random_plan(&mut self.rng);
            let mut new = new_run(&plan);
            new.timed = self.rng.chance(700);
            new.nominal_at = START + nth as i64 * 1_000_000;
            new.trigger = *self.rng.pick(&[Trigger::Schedule, Trigger::Manual, Trigger::Catchup]);
            new.timezone = (*self.rng.pick(&["UTC", "UTC", "Asia/Shanghai"])).into();
            new.force = self.rng.chance(100);
            if self.rng.chance(100) {
                let count = plan.tasks.len() as u64;
                new.only = Some((0..1 + count / 2).map(|_| self.rng.below(count) as u32).collect());
            }
            let again = self.rng.chance(300);
            let at = self.rng.below(5_000) as i64;
            if again {
                self.later(at + 3_000, Event::CreateRun(NewRun { ..new.clone() }));
            }
            self.later(at, Event::CreateRun(new));
        }
        Ok(())
    }

    fn later(&mut self, millis: i64, event: Event) {
        self.sequence += 1;
        self.agenda.insert((self.now.plus_millis(millis), self.sequence), event);
    }

    /// Whatever comes next, reports or timers, until nothing does.
    fn run_until(&mut self, end: Option<Instant>) -> Result<(), String> {
        loop {
            if self.told.steps > LONGEST {
                return Err("ends: it does not".into());
            }
            let reported = self.agenda.first_key_value().map(|((at, _), _)| *at);
            let wake = self.world.next_wake();
            let next = match (reported, wake) {
                (Some(a), Some(b)) => a.min(b),
                (Some(at), None) | (None, Some(at)) => at,
                (None, None) => return Ok(()),
            };
            if end.is_some_and(|end| next > end) {
                return Ok(());
            }
            self.now = self.now.max(next);
            let event = match reported.filter(|at| *at <= self.now) {
                Some(_) => self.agenda.pop_first().map(|(_, event)| event).unwrap(),
                None => Event::Tick,
            };
            self.happen(event)?;
            if !self.quiet {
                self.somebody_interferes()?;
            }
            if std::mem::take(&mut self.died) {
                self.crash()?;
            }
        }
    }

    fn somebody_interferes(&mut self) -> Result<(), String> {
        let runs: Vec<(RunId, u32)> =
            self.world.runs().map(|run| (run.row.id, run.task_runs().len() as u32)).collect();
        if runs.is_empty() {
            return Ok(());
        }
        let (run, count) = *self.rng.pick(&runs);
        let some = vec![self.rng.below(u64::from(count)) as u32];
        if self.rng.chance(self.rates.cancel) {
            let only = self.rng.chance(700).then(|| some.clone());
            let grace_ms = self.rng.chance(300).then(|| self.rng.below(2) as i64 * 500);
            self.happen(Event::Cancel { run, only, grace_ms })?;
        }
        if self.rng.chance(self.rates.rerun) {
            let what = match self.rng.below(3) {
                0 => RerunWhat::Failed,
                1 => RerunWhat::Only(some),
                _ => RerunWhat::WithDownstream(some),
            };
            self.happen(Event::Rerun { run, what })?;
            self.a_list_is_made_again(run)?;
        }
        if self.rng.chance(self.rates.cancel) {
            let at = TaskRunRef { run, index: self.rng.below(u64::from(count)) as u32 };
            let reject = self.rng.chance(300);
            self.happen(Event::Approve(Word { at, reject, note: None, by: None }))?;
        }
        if self.rng.chance(self.rates.resize) {
            let pool = self.rng.chance(500).then(|| "p".to_owned());
            let slots = 1 + self.rng.below(6) as u32;
            self.happen(Event::PoolSized { pool, slots })?;
        }
        if self.rng.chance(self.rates.interrupt) {
            self.happen(Event::Interrupt { grace_ms: 1_000 })?;
            // The process lives on for a while and is followed by another one.
            self.run_until(Some(self.now + 2_000_000))?;
            self.died = true;
        }
        self.died |= self.rng.chance(self.rates.crash);
        Ok(())
    }

    /// What a task is mapped over is run again, and its list may become another.
    fn a_list_is_made_again(&mut self, run: RunId) -> Result<(), String> {
        let Some(found) = self.world.run(run).filter(|_| self.rng.chance(500)) else {
            return Ok(());
        };
        let lists = (0..found.row.task_count).filter(|index| {
            let below = found.plan.graph.downstream(*index).iter();
            found.task_run(*index).progress.state.is_final()
                && below.into_iter().any(|below| {
                    found.items(*below).is_some_and(|items| !items.is_empty())
                        && found.task_run(*below).progress.state.is_final()
                })
        });
        let lists: Vec<u32> = lists.collect();
        if lists.is_empty() {
            return Ok(());
        }
        let what = RerunWhat::WithDownstream(vec![*self.rng.pick(&lists)]);
        self.happen(Event::Rerun { run, what })
    }

    /// The process is gone with its world; the next one reads the rows.
    fn crash(&mut self) -> Result<(), String> {
        let lost = NodeId(self.node);
        self.node += 1;
        // The checks of probes go with the process that called them, and answer nobody else.
        let (truth, world) = (&self.truth, &self.world);
        self.agenda.retain(|_, event| match event {
            Event::NotReady { .. } => false,
            Event::AttemptEnded(report) => !truth.task(planned(world, report.at)).is_probe(),
            _ => true,
        });
        self.world = self.rows.world(0, NodeId(self.node));
        for (pool, slots) in self.truth.pools.clone() {
            self.happen(Event::PoolSized { pool, slots })?;
        }
        // What rests goes on under the lease of a node before the last one.
        let leases = self.rows.runs.values().flat_map(|stored| stored.leases.values());
        let mut nodes: BTreeSet<NodeId> = leases.map(|lease| lease.node_id).collect();
        nodes.insert(lost);
        nodes.into_iter().try_for_each(|node| self.happen(Event::NodeLost { node }))
    }

    /// An event, and then whoever may start.
    fn happen(&mut self, event: Event) -> Result<(), String> {
        self.step(event)?;
        while let Some(event) = gathered(&self.world).filter(|_| !self.died) {
            self.step(event)?;
        }
        while self.world.has_ready() && !self.died {
            self.step(Event::Dispatch)?;
        }
        Ok(())
    }

    fn step(&mut self, event: Event) -> Result<(), String> {
        self.told.steps += 1;
        match &event {
            Event::PoolSized { pool, slots } => {
                self.truth.pools.insert(pool.clone(), *slots);
            }
            Event::CreateRun(new) => {
                let id = RunId(self.rows.runs.len() as i64 + 1);
                self.truth.plans.insert(id, new.plan.clone());
            }
            _ => {}
        }
        let given = super::planted::plant(self, &event);
        let Ok(decision) = decide(&self.world, &given, self.now) else {
            return Ok(());
        };
        let wrong = |who: &str, what: String| format!("{who}: {what}\n  {event:?}");
        self.rows.commit(&decision).map_err(|e| wrong("rows", e))?;
        apply(&mut self.world, &decision).map_err(|e| wrong("apply", e.to_string()))?;
        self.told.arrows.extend(decision.moves.iter().map(|to| (to.from, to.to.state)));
        self.count_items(&event, &decision);
        let step = Step {
            now: self.now,
            event: &event,
            decision: &decision,
            world: &self.world,
            truth: &self.truth,
        };
        for checker in &mut self.checkers {
            checker.step(&step).map_err(|e| wrong(checker.name(), e))?;
        }
        if !self.quiet && !decision.starts.is_empty() && self.rng.chance(self.rates.crash) {
            self.died = true;
            return Ok(());
        }
        for effect in decision.effects {
            match effect {
                Effect::Start(at, attempt) | Effect::Poll(at, attempt) => {
                    match self.truth.task(planned(&self.world, at)) {
                        task if task.is_gate() => self.somebody_answers(at),
                        task if task.is_probe() => self.check(at, &attempt),
                        _ => self.work(at, &attempt),
                    }
                }
                Effect::Stop { at, attempt_no, token, reason, grace_ms } => {
                    self.asked_to_stop(at, attempt_no, token, reason, grace_ms);
                }
                Effect::RunEnded(_) => {}
            }
        }
        Ok(())
    }

    /// A worker calls the check of a probe.
    fn check(&mut self, at: TaskRunRef, attempt: &AttemptStart) {
        if !self.rng.chance(600) {
            return self.work(at, attempt);
        }
        let (attempt_no, token) = (attempt.attempt_no, attempt.token);
        let millis = 20 + self.rng.below(1_500) as i64;
        if self.quiet || !self.rng.chance(self.rates.silent) {
            self.later(millis, Event::NotReady { at, attempt_no, token });
        }
    }

    /// Somebody speaks at a gate sooner or later, or never.
    fn somebody_answers(&mut self, at: TaskRunRef) {
        if self.rng.chance(700) {
            let millis = self.rng.below(20_000) as i64;
            let reject = self.rng.chance(300);
            self.later(millis, Event::Approve(Word { at, reject, note: None, by: None }));
        }
    }

    fn count_items(&mut self, event: &Event, decision: &Decision) {
        let Event::Expand { list: Ok(list), .. } = event else { return };
        let made: u64 = decision.items.iter().map(|items| items.items.len() as u64).sum();
        let removed = decision.moves.iter().filter(|to| to.to.is_removed()).count() as u64;
        let again = decision
            .moves
            .iter()
            .filter(|to| to.to.item.is_some() && to.to.state == State::Pending);
        let again = again.count() as u64 - removed;
        let counts = [made, again, removed, u64::from(list.is_empty())];
        self.told.items.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// A worker takes an attempt: how will it end?
    fn work(&mut self, at: TaskRunRef, attempt: &AttemptStart) {
        let rate = |rate| if self.quiet { 0 } else { rate };
        let (fail, lost, silent) =
            (self.rates.fail, rate(self.rates.lost), rate(self.rates.silent));
        let (twice, late, hung) =
            (rate(self.rates.twice), rate(self.rates.late), rate(self.rates.hung));
        let mut millis = 50 + self.rng.below(3_000) as i64;
        if self.rng.chance(late) {
            millis *= 10;
        }
        let outcome = match () {
            _ if self.rng.chance(lost) => Outcome::Lost,
            _ if self.rng.chance(fail) => *self.rng.pick(&[Outcome::Failed, Outcome::Timeout]),
            _ => Outcome::Success,
        };
        let code = *self.rng.pick(&["X", "Y", "RESULT"]);
        let released = !self.rng.chance(hung);
        let mut report = report(at, attempt.attempt_no, attempt.token, outcome, code, released);
        if outcome == Outcome::Success && !self.rng.chance(100) {
            // What is mapped over it has so many items.
            let list: Vec<u64> = (0..self.rng.below(5)).map(|_| self.rng.below(9)).collect();
            report.result = Some(format!("{list:?}").into());
        }
        if self.rng.chance(twice) {
            let mut other = report.clone();
            other.outcome = *self.rng.pick(&[Outcome::Success, Outcome::Failed, Outcome::Lost]);
            other.released = true;
            let delay = self.rng.below(9_000) as i64;
            self.later(millis + delay, Event::AttemptEnded(other));
        }
        if !released {
            let (attempt_no, token) = (attempt.attempt_no, attempt.token);
            let released = Event::AttemptReleased { at, attempt_no, token };
            let delay = 1 + self.rng.below(5_000) as i64;
            if !self.rng.chance(silent) {
                self.later(millis + delay, released);
            }
        }
        if !self.rng.chance(silent) {
            self.later(millis, Event::AttemptEnded(report));
        }
    }

    /// An executor obeys, unless it is deaf; then the first report comes in its own time.
    fn asked_to_stop(
        &mut self,
        at: TaskRunRef,
        attempt_no: u32,
        token: Token,
        reason: StopReason,
        grace_ms: i64,
    ) {
        let deaf = if self.quiet { 0 } else { self.rates.deaf };
        let outcome = match reason {
            StopReason::Timeout => Outcome::Timeout,
            StopReason::Cancel => Outcome::Canceled,
            _ => Outcome::Interrupted,
        };
        let millis = self.rng.below(grace_ms as u64 + 1) as i64;
        if !self.rng.chance(deaf) {
            let report = report(at, attempt_no, token, outcome, "X", true);
            self.later(millis, Event::AttemptEnded(report));
        } else if !self.rng.chance(self.rates.silent) {
            // Its thread will be gone some day; one that says so never goes with its node.
            self.later(millis + 20_000, Event::AttemptReleased { at, attempt_no, token });
        }
    }
}

/// What stands in the plan for a task run: for an item, its mapped task.
fn planned(world: &World, at: TaskRunRef) -> TaskRunRef {
    let index = world.run(at.run).map_or(at.index, |run| run.planned(at.index));
    TaskRunRef { index, ..at }
}

fn report(
    at: TaskRunRef,
    attempt_no: u32,
    token: Token,
    outcome: Outcome,
    code: &str,
    released: bool,
) -> Report {
    let failed = outcome == Outcome::Failed;
    let record =
        AttemptRecord { error_code: failed.then(|| code.to_owned()), ..AttemptRecord::default() };
    let result = (outcome == Outcome::Success).then(|| Arc::from("{}"));
    Report {
        at,
        attempt_no,
        token,
        outcome,
        result,
        result_uri: None,
        record,
        released,
        texts: None,
    }
}

/// A plan with other policies or edges than were meant.
pub fn altered(plan: &Plan, change: impl FnOnce(&mut Plan)) -> Arc<Plan> {
    let mut plan = plan.clone();
    change(&mut plan);
    Arc::new(plan)
}
