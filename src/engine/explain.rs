//! Why a task run is where it is, from the functions that put it there.

use std::fmt;

use super::across_words::said;
use super::edges::{edge_verdict, skip_codes};
use super::filling::SHARE;
use super::patience::until;
use super::queue::fits;
use super::run::MAPPING;
use super::{Stop, TaskRunRef, World, conditions};
use crate::model::{Claim, Instant, NotBefore, RunId, State, TaskRunId};

/// The answer: where a task run stands, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Name of its task.
    pub task: String,
    /// Its run.
    pub run: RunId,
    /// Where it stands.
    pub state: State,
    /// Why, and what it waits for; empty where the state says all.
    pub reasons: Vec<Reason>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// These upstreams do not let it go; the first few of them, and how many more.
    Upstreams(Vec<(String, State)>, usize),
    /// What an edge to another run looks at, and what it says of it.
    Outside(String),
    /// An edge to this upstream is waited for until then; after that it holds without.
    WaitsUpTo(String, Instant),
    /// This upstream was waited for until then, and is waited for no longer.
    Without(String, Instant),
    /// It waits for a circle of task runs that wait for each other.
    Circle(String),
    /// It is BLOCKED by this failed task, at the root.
    BlockedBy(String, TaskRunId),
    /// A delay is not over.
    WaitsUntil(Instant, Option<String>),
    /// An earlier attempt has ended on paper, but its thread or a process of it still runs and
    /// holds its slots.
    SlotsHeld(u32),
    /// It is in the queue of a pool.
    Queued {
        /// The pool; none is the default pool.
        pool: Option<String>,
        /// How many are before it.
        ahead: usize,
        /// Slots held.
        held: u32,
        /// Slots there are.
        slots: u32,
        /// Slots it takes.
        wants: u32,
    },
    /// A limit holds it back.
    Limited {
        /// The limit: the name of a shared one; none is `max_active` of its task.
        limit: Option<String>,
        /// Slots held.
        held: u32,
        /// Slots there are.
        slots: u32,
        /// Slots it takes.
        wants: u32,
    },
    /// Its deadline has passed.
    Overdue(Instant),
    /// It is given up then, if it is still BLOCKED.
    BlockedUntil(Instant),
    /// Nothing starts here any more: an orderly shutdown.
    Interrupting,
    /// An attempt is live.
    Attempt {
        /// Its number.
        attempt_no: u32,
        /// Since when.
        since: Instant,
        /// When its time is over.
        timeout_at: Option<Instant>,
        /// A stop in progress.
        stop: Option<Stop>,
    },
    /// It waits for a time of day.
    NotBefore(NotBefore, Instant),
    /// It did not run in this run: why its day is not one of its days.
    NotOn(String),
    /// A reprocess left it as it was.
    Unchanged,
    /// A gate waits for a person, until its time is over.
    Awaits {
        /// The run, to be named with the answer.
        run: RunId,
        /// The gate.
        task: String,
        /// Since when.
        since: Instant,
        /// When its time is over.
        timeout_at: Option<Instant>,
    },
    /// A probe was asked so often, and is asked again then; none where its check is being called.
    Polled(u32, Option<Instant>),
    /// It stands for items: so many are open, so many have ended badly, of so many.
    Items {
        /// Have not ended.
        open: u32,
        /// Have ended badly.
        badly: u32,
        /// There are.
        all: u32,
    },
    /// It is an item and as many of its mapping are live as may be.
    Gated {
        /// How many are live.
        held: u32,
        /// How many may be.
        limit: u32,
    },
    /// Its backfill holds as much of the pool as it may.
    Shared {
        /// How many slots it holds.
        held: u32,
        /// How many it may hold.
        slots: u32,
    },
    /// It ended so.
    Ended(Option<String>, Option<Instant>),
    /// An upstream was run again since.
    Stale,
}

/// Upstreams that are named; the rest is counted.
const NAMED: usize = 8;

/// Why a task run is where it is. None where there is no such task run.
pub fn explain(world: &World, at: TaskRunRef, now: Instant) -> Option<Explanation> {
    let run = world.run(at.run)?;
    let (task_run, task) = (run.get(at.index)?, run.task(at.index)?);
    let progress = &task_run.progress;
    let mut reasons = Vec::new();
    let live = task_run.live.as_ref();
    match progress.state {
        State::Running if task_run.is_mapped() && live.is_none() => {
            reasons.extend(run.items(at.index).map(|items| Reason::Items {
                open: items.tally.open(),
                badly: items.tally.ended_badly(),
                all: items.tally.all(),
            }));
        }
        State::Pending | State::Blocked if task_run.counts.unmet > 0 => {
            let root = progress.blocked_by.and_then(|root| Some((root, run.index_of(root)?)));
            if let Some((root, index)) = root {
                let name = run.name(index);
                reasons.push(Reason::BlockedBy(name, root));
            }
            reasons.extend(upstreams(run, at.index, now));
            reasons.extend(said(world, run, at.index, now).into_iter().map(Reason::Outside));
            let circle = world.circle(at);
            reasons.extend(circle.map(|circle| Reason::Circle(world.circle_in_words(&circle))));
        }
        State::Running if task.def.is_gate() && live.is_some_and(|live| !live.ended) => {
            reasons.extend(live.map(|live| Reason::Awaits {
                run: at.run,
                task: task.def.name.clone(),
                since: live.started_at,
                timeout_at: live.timeout_at,
            }));
        }
        State::Running => {
            reasons.extend(live.map(|live| Reason::Attempt {
                attempt_no: live.attempt_no,
                since: live.started_at,
                timeout_at: live.timeout_at,
                stop: live.stop,
            }));
            let asked = live.filter(|live| task.def.is_probe() && !live.ended);
            reasons.extend(asked.map(|live| {
                let next = live.rest.map(|rest| rest.until.unwrap_or(now).max(now));
                Reason::Polled(live.polls, next)
            }));
        }
        State::Ready => {
            let limited = world.limited(at);
            // Its own list holds it back, so its place in the queue says nothing.
            if !limited.iter().any(|reason| matches!(reason, Reason::Gated { .. })) {
                reasons.extend(world.queued(at, now));
            }
            reasons.extend(limited);
        }
        state if state.is_final() => {
            reasons.push(Reason::Ended(progress.code.clone(), progress.finished_at));
            let on = task.def.policy.run_on.as_ref();
            let on = on.filter(|_| progress.code.as_deref() == Some(skip_codes::RUN_ON));
            reasons.extend(on.map(|on| Reason::NotOn(conditions::why_not(&run.row, on))));
            let left = progress.code.as_deref() == Some(skip_codes::UNCHANGED);
            reasons.extend(left.then_some(Reason::Unchanged));
        }
        _ => {}
    }
    if task_run.patience.is_some() && !progress.state.is_final() {
        reasons.extend(patience(world, run, at.index, now));
    }
    reasons.extend(progress.blocked_until.map(Reason::BlockedUntil));
    if let Some(deadline_at) = progress.deadline_at.filter(|_| progress.overdue_at.is_some()) {
        reasons.push(Reason::Overdue(deadline_at));
    }
    if let Some(wake_at) = progress.wake_at.filter(|wake_at| *wake_at > now) {
        let not_before = task.def.policy.not_before;
        reasons.push(match not_before.filter(|_| progress.attempt_no == progress.rerun_base) {
            Some(time) => Reason::NotBefore(time, wake_at),
            None => Reason::WaitsUntil(wake_at, progress.code.clone()),
        });
    }
    reasons.extend(live.filter(|live| live.ended).map(|live| Reason::SlotsHeld(live.attempt_no)));
    if world.interrupting && progress.state.can_move() {
        reasons.push(Reason::Interrupting);
    }
    if progress.stale {
        reasons.push(Reason::Stale);
    }
    Some(Explanation { task: run.name(at.index), run: at.run, state: progress.state, reasons })
}

/// Upstreams that it waits for, or waited for, up to a time.
fn patience(world: &World, run: &super::Run, index: u32, now: Instant) -> Vec<Reason> {
    let here = run.plan.upstream(index).filter_map(|(up, rule)| {
        let said = edge_verdict(rule, run.get(up)?.standing());
        Some((run.name(up), said, until(&run.row, rule)?))
    });
    let across = run.plan.across(index).iter().filter_map(|edge| {
        let until = until(&run.row, &edge.rule)?;
        let whys = world.cells.whys(edge, run);
        let waits = whys.iter().map(|(_, verdict, _)| *verdict).find(|said| !said.lets_go());
        Some((edge.upstream.to_string(), waits?, until))
    });
    let open = here.chain(across).filter(|(_, said, _)| !said.lets_go());
    open.map(|(name, _, until)| match until > now {
        true => Reason::WaitsUpTo(name, until),
        false => Reason::Without(name, until),
    })
    .collect()
}

fn upstreams(run: &super::Run, index: u32, now: Instant) -> Option<Reason> {
    let mut named = Vec::new();
    let mut more = 0;
    for (upstream, rule) in run.plan.upstream(index) {
        let (Some(task_run), Some(task)) = (run.get(upstream), run.task(upstream)) else {
            continue;
        };
        let state = task_run.progress.state;
        let over = until(&run.row, rule).is_some_and(|until| until <= now);
        if edge_verdict(rule, task_run.standing()).without(over).lets_go() {
            continue;
        }
        if named.len() < NAMED {
            named.push((task.def.name.clone(), state));
        } else {
            more += 1;
        }
    }
    (!named.is_empty()).then_some(Reason::Upstreams(named, more))
}

impl World {
    fn queued(&self, at: TaskRunRef, now: Instant) -> Option<Reason> {
        let name = self.pool_of(at);
        let pool = self.pools.get(&name)?;
        let ahead = match self.slots(at) {
            0 => 0,
            _ => pool.ahead(self.queue_key(at)?, now),
        };
        let (held, slots, wants) = (pool.held, pool.slots, self.slots(at));
        Some(Reason::Queued { pool: name, ahead, held, slots, wants })
    }

    /// The limits that have no room for it.
    fn limited(&self, at: TaskRunRef) -> Vec<Reason> {
        let claims = self.runs.get(&at.run).and_then(|run| run.claims(at.index));
        let reason = |claim: &Claim| {
            let (slots, held) = self.limit_for(claim);
            if fits(slots, held, claim.slots) {
                return None;
            }
            if claim.limit.starts_with(MAPPING) {
                return Some(Reason::Gated { held, limit: slots });
            }
            if claim.limit.starts_with(SHARE) {
                return Some(Reason::Shared { held, slots });
            }
            let limit = claim.most.is_none().then(|| claim.limit.clone());
            Some(Reason::Limited { limit, held, slots, wants: claim.slots })
        };
        claims.iter().flat_map(|claims| claims.iter()).filter_map(reason).collect()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of run {} is {}", self.task, self.run, self.state)?;
        for (nth, reason) in self.reasons.iter().enumerate() {
            write!(f, "{} {reason}", if nth == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Upstreams(named, more) => {
                write!(f, "waits for ")?;
                for (nth, (task, state)) in named.iter().enumerate() {
                    write!(f, "{}{task} ({state})", if nth == 0 { "" } else { ", " })?;
                }
                if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            Reason::Outside(text) => f.write_str(text),
            Reason::Circle(text) => write!(
                f,
                "they wait for each other ({text}) and do not go on by themselves: cancel one of \
                 these runs, or make it anew"
            ),
            Reason::WaitsUpTo(task, at) => write!(f, "goes on without {task} at {at}"),
            Reason::Without(task, at) => write!(f, "{task} was waited for until {at}"),
            Reason::BlockedBy(task, id) => write!(f, "blocked by {task} (task run {id})"),
            Reason::WaitsUntil(at, Some(code)) => write!(f, "tried again at {at} after {code}"),
            Reason::WaitsUntil(at, None) => write!(f, "waits until {at}"),
            Reason::SlotsHeld(no) => {
                write!(
                    f,
                    "attempt {no} is over, but could not be ended (kill failed): what is left of \
                     it still runs and holds its slots"
                )
            }
            Reason::Queued { pool, ahead, held, slots, wants } => {
                match pool {
                    Some(pool) => write!(f, "in the queue of pool {pool}")?,
                    None => write!(f, "in the queue of the default pool")?,
                }
                write!(f, " behind {ahead}, wants {wants}, {held} of {slots} slots are held")
            }
            Reason::Items { open: 0, badly: 0, all } => {
                write!(f, "its items have ended ({all}), their results are put together")
            }
            Reason::Items { open, badly: 0, all } => {
                write!(f, "waits for {open} of its {all} items")
            }
            Reason::Items { open, badly, all } => {
                write!(f, "waits for {open} of its {all} items, {badly} have ended badly")
            }
            Reason::Gated { held, limit } => {
                write!(f, "waits for another item, {held} of {limit} are live at once")
            }
            Reason::Limited { limit, held, slots, wants } => {
                match limit {
                    Some(limit) => write!(f, "held back by the limit {limit}")?,
                    None => write!(f, "held back by max_active of its task")?,
                }
                write!(f, ": wants {wants}, {held} of {slots} are held")
            }
            Reason::Shared { held, slots } => {
                write!(f, "its backfill holds {held} of the {slots} slots that it may have there")
            }
            Reason::Overdue(at) => write!(f, "its deadline {at} has passed"),
            Reason::BlockedUntil(at) => write!(f, "given up at {at} if it is still blocked"),
            Reason::Interrupting => write!(f, "nothing starts any more, this process is stopping"),
            Reason::Attempt { attempt_no, since, timeout_at, stop } => {
                write!(f, "attempt {attempt_no} runs since {since}")?;
                if let Some(at) = timeout_at {
                    write!(f, ", its time is over at {at}")?;
                }
                match stop {
                    Some(stop) => write!(
                        f,
                        ", asked to stop ({}), given up at {}",
                        stop.reason, stop.give_up_at
                    ),
                    None => Ok(()),
                }
            }
            Reason::NotBefore(time, at) => write!(f, "not before {time}, which is {at}"),
            Reason::NotOn(why) => write!(f, "{why}"),
            Reason::Unchanged => {
                write!(f, "nothing that it depends on came out changed: the success before counts")
            }
            Reason::Awaits { run, task, since, timeout_at } => {
                write!(f, "waits for a person since {since}")?;
                if let Some(at) = timeout_at {
                    write!(f, ", its time is over at {at}")?;
                }
                write!(f, ", say it with `mainspring approve {run} {task}`")
            }
            Reason::Polled(times, next) => {
                let plural = if *times == 1 { "" } else { "s" };
                write!(f, "polled {times} time{plural}, ")?;
                match next {
                    Some(at) => write!(f, "next at {at}"),
                    None => write!(f, "being polled now"),
                }
            }
            Reason::Ended(code, at) => {
                write!(f, "ended")?;
                if let Some(at) = at {
                    write!(f, " at {at}")?;
                }
                code.as_ref().map_or(Ok(()), |code| write!(f, " with {code}"))
            }
            Reason::Stale => write!(f, "stale, an upstream was run again since"),
        }
    }
}
