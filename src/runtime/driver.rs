//! The driver: drains events, decides each, commits the batch, and only then acts.
//!
//! A batch is whatever arrived while the last one was being committed, so one task costs one
//! commit and ten thousand tasks share a few. Nothing here ever needs the interpreter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::clock::Clock;
use super::executor::{HandlerHost, Input, Job, RunInfo};
use super::files::Files;
use super::inline::InlinePool;
use super::logs::LogSink;
use super::node::{HEARTBEAT_MS, LEASE_MS};
use super::session::SessionError;
use super::turn::Turn;
use super::watch::RunWatch;
use crate::engine::{
    self, Decision, Effect, Event, NewRun, Plan, Report, TaskRunRef, World, apply, decide,
};
use crate::model::{AttemptRecord, AttemptStart, Instant, Outcome, RunId, ScopeLease, State};
use crate::store::{CommitError, Store, StoreError, StoredRun};

/// At most so many messages make one batch.
const BATCH: usize = 2_048;
/// How long the driver waits before it tries a refused write again, in milliseconds.
const STALL_MS: u64 = 500;

/// What the driver is told.
pub enum Message {
    /// Make a run.
    Submit(Submit),
    /// Go on with a run that another process began.
    Adopt(Adopt),
    /// Run again what is final.
    Rerun(RunId, engine::RerunWhat, Sender<Result<(), SessionError>>),
    /// An attempt has ended.
    Report(Report),
    /// Stop a run or some of its task runs.
    Cancel {
        /// The run.
        run: RunId,
        /// Only these.
        only: Option<Vec<u32>>,
        /// How long they may take.
        grace_ms: Option<i64>,
    },
    /// Why is this task run where it is?
    Explain(TaskRunRef, Sender<Option<String>>),
    /// A named pool has so many slots.
    PoolSized(String, u32),
    /// Interrupt what runs and end.
    Close {
        /// How long live attempts may take.
        grace_ms: i64,
    },
}

/// A run to be made.
pub struct Submit {
    /// What to make.
    pub run: NewRun,
    /// Who can call its handlers.
    pub host: Arc<dyn HandlerHost>,
    /// Told the run's id when it is durable.
    pub reply: Sender<Result<(RunId, Arc<RunWatch>), SessionError>>,
}

/// A run to be taken up.
pub struct Adopt {
    /// It, as it is stored.
    pub stored: StoredRun,
    /// What it is to do.
    pub plan: Arc<Plan>,
    /// Who can call its handlers.
    pub host: Arc<dyn HandlerHost>,
    /// What to do with it besides taking up what is open.
    pub rerun: Option<engine::RerunWhat>,
    /// Told when it is durable.
    pub reply: Sender<Result<Arc<RunWatch>, SessionError>>,
}

/// What the driver keeps of a run besides the world.
struct Driven {
    plan: Arc<Plan>,
    info: Arc<RunInfo>,
    host: Arc<dyn HandlerHost>,
    watch: Arc<RunWatch>,
    /// Which of its task runs hold a slot.
    live: BTreeSet<u32>,
}

/// The driver's belongings.
pub struct Driver {
    pub(super) store: Box<dyn Store>,
    pub(super) world: World,
    pub(super) lease: ScopeLease,
    pub(super) clock: Clock,
    pub(super) files: Files,
    pub(super) inbox: Receiver<Message>,
    pub(super) pool: InlinePool,
    pub(super) default_slots: u32,
    pub(super) pools: BTreeMap<String, u32>,
    runs: BTreeMap<RunId, Driven>,
    /// Ends of attempts that need no thread.
    instant: Vec<Report>,
    next_heartbeat: Instant,
    closing: bool,
    /// Messages that came while nothing could be written.
    held: Vec<Message>,
    /// Told to close while nothing could be written: what was not committed is given up.
    abandoned: bool,
}

/// Those who wait for what a turn makes, to be told after its commit.
#[derive(Default)]
struct Waiting {
    made: Vec<(Sender<Result<(RunId, Arc<RunWatch>), SessionError>>, RunId)>,
    adopted: Vec<(Sender<Result<Arc<RunWatch>, SessionError>>, RunId)>,
    rerun: Vec<Sender<Result<(), SessionError>>>,
}

impl Driver {
    #[allow(clippy::too_many_arguments, reason = "called once, by the session that owns them all")]
    pub(super) fn new(
        store: Box<dyn Store>,
        world: World,
        lease: ScopeLease,
        clock: Clock,
        files: Files,
        inbox: Receiver<Message>,
        pool: InlinePool,
        default_slots: u32,
    ) -> Self {
        let next_heartbeat = clock.now().plus_millis(HEARTBEAT_MS);
        Driver {
            store,
            world,
            lease,
            clock,
            files,
            inbox,
            pool,
            default_slots,
            pools: BTreeMap::new(),
            runs: BTreeMap::new(),
            instant: Vec::new(),
            next_heartbeat,
            closing: false,
            held: Vec::new(),
            abandoned: false,
        }
    }

    /// Turns until it is told to close and nothing is live any more, or nobody is left to tell it.
    pub fn run(mut self) {
        let mut messages = Vec::new();
        loop {
            messages.append(&mut self.held);
            if messages.is_empty() && self.instant.is_empty() && !self.receive(&mut messages) {
                break;
            }
            while messages.len() < BATCH {
                match self.inbox.try_recv() {
                    Ok(message) => messages.push(message),
                    Err(_) => break,
                }
            }
            messages.extend(std::mem::take(&mut self.instant).into_iter().map(Message::Report));
            self.turn(std::mem::take(&mut messages));
            self.heartbeat();
            if self.abandoned || (self.closing && self.world.live_count() == 0) {
                break;
            }
        }
        self.pool.close();
        // Leaving in good order is a courtesy: a lease that is not given back runs out.
        let _ = self.store.leave(self.lease, self.clock.now());
        for driven in self.runs.values() {
            driven.watch.update(|status| status.lost = Some("the session was closed".into()));
        }
    }

    /// Waits for a message or the next timer; false when nobody can send any more.
    fn receive(&self, messages: &mut Vec<Message>) -> bool {
        let now = self.clock.now();
        let mut until = self.world.next_wake();
        if !self.runs.is_empty() {
            until = Some(until.map_or(self.next_heartbeat, |wake| wake.min(self.next_heartbeat)));
        }
        let received = match until {
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => {
                let micros = u64::try_from(until - now).unwrap_or(0);
                self.inbox.recv_timeout(Duration::from_micros(micros))
            }
        };
        match received {
            Ok(message) => messages.push(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    /// One turn: decide, commit, act. A refused commit discards the working world, reloads it and
    /// decides again what still stands.
    fn turn(&mut self, messages: Vec<Message>) {
        let now = self.clock.now();
        let mut turn = Turn::default();
        let mut waiting = Waiting::default();
        let mut again = Vec::new();
        if messages.iter().any(|message| matches!(message, Message::Submit(_))) {
            match self.store.next_ids() {
                Ok(next) => self.world.set_next_ids(next.run, next.task_run),
                Err(error) => return self.refuse_submits(messages, &error, now),
            }
        }
        for message in messages {
            if let Some(kept) = self.take(message, &mut turn, &mut waiting, now) {
                again.push(kept);
            }
        }
        if self.world.next_wake().is_some_and(|wake| wake <= now) {
            self.decide(&Event::Tick, &mut turn, now);
        }
        if self.world.has_ready() {
            self.decide(&Event::Dispatch, &mut turn, now);
        }
        let batch = turn.batch(&self.world, self.lease, now);
        if !batch.is_empty() {
            loop {
                match self.store.commit(&batch) {
                    Ok(()) => break,
                    Err(error) => {
                        if self.refused(error, &mut waiting, again) {
                            return;
                        }
                        again = Vec::new();
                    }
                }
            }
        }
        self.tell(&turn.runs(), waiting);
        for effect in turn.effects() {
            self.perform(effect);
        }
    }

    /// Decides one message. Returns what must be decided again should the commit be refused.
    fn take(
        &mut self,
        message: Message,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        match message {
            Message::Submit(submit) => self.submit(submit, turn, waiting, now),
            Message::Adopt(adopt) => self.adopt(adopt, turn, waiting, now),
            Message::Rerun(run, what, reply) => {
                match self.try_decide(&Event::Rerun { run, what: what.clone() }, turn, now) {
                    Ok(()) => {
                        waiting.rerun.push(reply.clone());
                        return Some(Message::Rerun(run, what, reply));
                    }
                    Err(refusal) => {
                        let _ = reply.send(Err(SessionError::Refused(refusal)));
                    }
                }
                None
            }
            Message::Report(report) => {
                let released = Event::AttemptReleased {
                    at: report.at,
                    attempt_no: report.attempt_no,
                    token: report.token,
                };
                self.decide(&Event::AttemptEnded(report.clone()), turn, now);
                self.decide(&released, turn, now);
                Some(Message::Report(report))
            }
            Message::Cancel { run, only, grace_ms } => {
                self.decide(&Event::Cancel { run, only: only.clone(), grace_ms }, turn, now);
                Some(Message::Cancel { run, only, grace_ms })
            }
            Message::Explain(at, reply) => {
                let text = engine::explain(&self.world, at, now).map(|found| found.to_string());
                let _ = reply.send(text);
                None
            }
            Message::PoolSized(pool, slots) => {
                self.pools.insert(pool.clone(), slots);
                self.decide(&Event::PoolSized { pool: Some(pool), slots }, turn, now);
                None
            }
            Message::Close { grace_ms } => {
                self.closing = true;
                self.decide(&Event::Interrupt { grace_ms }, turn, now);
                None
            }
        }
    }

    fn submit(
        &mut self,
        submit: Submit,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        let Submit { run, host, reply } = submit;
        let event = Event::CreateRun(run.clone());
        let decided = decide(&self.world, &event, now).map_err(SessionError::from).and_then(|d| {
            let row = d.creates.first().map(|create| create.row.clone());
            self.apply(d, turn)?;
            row.ok_or_else(|| SessionError::Internal("a run was decided but not made".into()))
        });
        match decided {
            Ok(row) => {
                let info = RunInfo {
                    id: row.id,
                    dag: row.dag,
                    nominal_at: row.nominal_at,
                    biz_date: row.biz_date,
                    interval: (row.interval_start, row.interval_end),
                    timezone: row.timezone,
                    params: run.params.clone(),
                };
                let driven = Driven {
                    plan: Arc::clone(&run.plan),
                    info: Arc::new(info),
                    host: Arc::clone(&host),
                    watch: Arc::new(RunWatch::new()),
                    live: BTreeSet::new(),
                };
                self.runs.insert(row.id, driven);
                waiting.made.push((reply.clone(), row.id));
                Some(Message::Submit(Submit { run, host, reply }))
            }
            Err(error) => {
                let _ = reply.send(Err(error));
                None
            }
        }
    }

    fn adopt(
        &mut self,
        adopt: Adopt,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        let Adopt { stored, plan, host, rerun, reply } = adopt;
        let row = stored.row.clone();
        let run = row.id;
        let params = match serde_json::from_str(&row.params) {
            Ok(serde_json::Value::Object(params)) => params,
            _ => serde_json::Map::new(),
        };
        let info = RunInfo {
            id: run,
            dag: row.dag.clone(),
            nominal_at: row.nominal_at,
            biz_date: row.biz_date,
            interval: (row.interval_start, row.interval_end),
            timezone: row.timezone.clone(),
            params,
        };
        let gone: Vec<_> = stored.leases.iter().map(|lease| lease.node_id).collect();
        if let Err(broken) = self.load(&stored, Arc::clone(&plan)) {
            let _ = reply.send(Err(SessionError::Store(broken.to_string())));
            return None;
        }
        let driven = Driven {
            plan: Arc::clone(&plan),
            info: Arc::new(info),
            host: Arc::clone(&host),
            watch: Arc::new(RunWatch::new()),
            live: BTreeSet::new(),
        };
        self.runs.insert(run, driven);
        for node in gone {
            if node != self.lease.node_id {
                self.decide(&Event::NodeLost { node }, turn, now);
            }
        }
        if let Some(what) = &rerun
            && let Err(refusal) =
                self.try_decide(&Event::Rerun { run, what: what.clone() }, turn, now)
        {
            let _ = reply.send(Err(SessionError::Refused(refusal)));
            self.runs.remove(&run);
            self.world.forget(run);
            return None;
        }
        waiting.adopted.push((reply.clone(), run));
        Some(Message::Adopt(Adopt { stored, plan, host, rerun, reply }))
    }

    fn load(&mut self, stored: &StoredRun, plan: Arc<Plan>) -> Result<(), engine::Broken> {
        self.world.load(
            stored.row.clone(),
            stored.cancel_requested,
            plan,
            stored.task_runs.clone(),
            stored.leases.clone(),
        )
    }

    fn decide(&mut self, event: &Event, turn: &mut Turn, now: Instant) {
        // A refusal here is an event about something that is gone: nothing to be done about it.
        let _ = self.try_decide(event, turn, now);
    }

    fn try_decide(&mut self, event: &Event, turn: &mut Turn, now: Instant) -> Result<(), String> {
        let mut decision =
            decide(&self.world, event, now).map_err(|refusal| refusal.to_string())?;
        for end in decision.ends.iter_mut().filter(|end| !end.released) {
            // Given up, but still running: what it has printed so far belongs to its record.
            if let Some(log) = self.pool.log_of(end.at) {
                (end.end.record.log_uri, end.end.record.log_tail) = log.finish();
            }
        }
        self.apply(decision, turn).map_err(|error| error.to_string())
    }

    fn apply(&mut self, decision: Decision, turn: &mut Turn) -> Result<(), SessionError> {
        apply(&mut self.world, &decision)
            .map_err(|broken| SessionError::Internal(broken.to_string()))?;
        for start in &decision.starts {
            if let Some(driven) = self.runs.get_mut(&start.at.run) {
                driven.live.insert(start.at.index);
            }
        }
        for end in decision.ends.iter().filter(|end| end.released) {
            self.no_longer_live(end.at);
        }
        for at in &decision.releases {
            self.no_longer_live(*at);
        }
        turn.add(decision);
        Ok(())
    }

    fn no_longer_live(&mut self, at: TaskRunRef) {
        if let Some(driven) = self.runs.get_mut(&at.run) {
            driven.live.remove(&at.index);
        }
    }

    /// What to do about a refused commit; true when the turn is over.
    fn refused(&mut self, error: CommitError, waiting: &mut Waiting, again: Vec<Message>) -> bool {
        match error {
            CommitError::IdsMoved(_)
            | CommitError::Conflict { .. }
            | CommitError::PoolFull { .. } => {
                if let Err(error) = self.reload() {
                    self.fail_waiting(waiting, &error.to_string());
                    return true;
                }
                *waiting = Waiting::default();
                self.turn(again);
                true
            }
            CommitError::Fenced | CommitError::RunExists(_) => {
                let text = error.to_string();
                if matches!(error, CommitError::Fenced) {
                    for driven in self.runs.values() {
                        driven.watch.update(|status| status.lost = Some(text.clone()));
                    }
                    self.runs.clear();
                }
                self.fail_waiting(waiting, &text);
                // What was decided is not to be: begin again from what is stored.
                let _ = self.reload();
                true
            }
            CommitError::Store(error) => {
                if !waiting.made.is_empty()
                    || !waiting.adopted.is_empty()
                    || !waiting.rerun.is_empty()
                {
                    // Whoever asked is told at once; what others reported is decided again.
                    self.fail_waiting(waiting, &error.to_string());
                    let rest: Vec<_> = again
                        .into_iter()
                        .filter(|m| matches!(m, Message::Report(_) | Message::Cancel { .. }))
                        .collect();
                    if self.reload().is_ok() {
                        self.turn(rest);
                    }
                    return true;
                }
                self.stall(&error)
            }
        }
    }

    /// Nothing can be written now (a full disk): say so, wait, and let the caller try again. What
    /// arrives meanwhile is held back; true when it is the word to close.
    fn stall(&mut self, error: &StoreError) -> bool {
        let text = error.to_string();
        for driven in self.runs.values() {
            driven.watch.update(|status| status.stalled = Some(text.clone()));
        }
        match self.inbox.recv_timeout(Duration::from_millis(STALL_MS)) {
            Ok(Message::Close { .. }) | Err(RecvTimeoutError::Disconnected) => {
                self.abandoned = true;
                true
            }
            Ok(message) => {
                self.held.push(message);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
        }
    }

    fn refuse_submits(&mut self, messages: Vec<Message>, error: &StoreError, now: Instant) {
        let mut rest = Vec::new();
        for message in messages {
            match message {
                Message::Submit(submit) => {
                    let _ = submit.reply.send(Err(SessionError::Store(error.to_string())));
                }
                other => rest.push(other),
            }
        }
        let _ = now;
        if !rest.is_empty() {
            self.turn(rest);
        }
    }

    fn fail_waiting(&mut self, waiting: &mut Waiting, why: &str) {
        for (reply, run) in waiting.made.drain(..) {
            self.runs.remove(&run);
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
        for (reply, run) in waiting.adopted.drain(..) {
            self.runs.remove(&run);
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
        for reply in waiting.rerun.drain(..) {
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
    }

    /// Throws the working world away and reads it anew from what is committed.
    fn reload(&mut self) -> Result<(), StoreError> {
        let next = self.store.next_ids()?;
        self.world = World::new(
            (next.run, next.task_run),
            self.default_slots,
            self.lease.node_id,
            self.lease.scope_id,
        );
        let now = self.clock.now();
        for (pool, slots) in self.pools.clone() {
            let event = Event::PoolSized { pool: Some(pool), slots };
            if let Ok(decision) = decide(&self.world, &event, now) {
                let _ = apply(&mut self.world, &decision);
            }
        }
        let runs: Vec<(RunId, Arc<Plan>)> =
            self.runs.iter().map(|(run, driven)| (*run, Arc::clone(&driven.plan))).collect();
        for (run, plan) in runs {
            match self.store.stored_run(run)? {
                Some(stored) => {
                    self.load(&stored, plan).map_err(|e| StoreError::Other(e.to_string()))?;
                }
                // Decided, but never committed.
                None => {
                    self.runs.remove(&run);
                }
            }
        }
        Ok(())
    }

    /// Tells those who wait, after the commit.
    fn tell(&mut self, runs: &[RunId], waiting: Waiting) {
        for run in runs {
            let (Some(driven), Some(found)) = (self.runs.get(run), self.world.run(*run)) else {
                continue;
            };
            driven.watch.update(|status| {
                status.state = found.row.state;
                status.stalled = None;
                for (at, state) in State::ALL.iter().enumerate() {
                    if let Some(count) = status.counts.get_mut(at) {
                        *count = found.count(*state);
                    }
                }
                status.running = driven
                    .live
                    .iter()
                    .take(8)
                    .filter_map(|index| found.plan.tasks.get(*index as usize))
                    .map(|task| task.def.name.clone())
                    .collect();
            });
        }
        for (reply, run) in waiting.made {
            if let Some(driven) = self.runs.get(&run) {
                let _ = reply.send(Ok((run, Arc::clone(&driven.watch))));
            }
        }
        for (reply, run) in waiting.adopted {
            if let Some(driven) = self.runs.get(&run) {
                let _ = reply.send(Ok(Arc::clone(&driven.watch)));
            }
        }
        for reply in waiting.rerun {
            let _ = reply.send(Ok(()));
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Start(at, attempt) => self.start(at, attempt),
            Effect::Stop { at, attempt_no, reason, .. } => self.pool.stop(at, attempt_no, reason),
            Effect::RunEnded(run) => {
                // A run whose threads have not all ended stays until they give their slots back.
                if self.world.forget(run) {
                    self.runs.remove(&run);
                }
            }
        }
    }

    fn start(&mut self, at: TaskRunRef, attempt: AttemptStart) {
        let (Some(driven), Some(run)) = (self.runs.get(&at.run), self.world.run(at.run)) else {
            return;
        };
        let Some(task) = driven.plan.tasks.get(at.index as usize) else { return };
        if task.def.kind == "noop" {
            self.instant.push(Report {
                at,
                attempt_no: attempt.attempt_no,
                token: attempt.token,
                outcome: Outcome::Success,
                result: None,
                result_uri: None,
                record: AttemptRecord::default(),
                released: true,
            });
            return;
        }
        let mut inputs = Vec::with_capacity(task.def.inputs.len());
        for (argument, upstream) in &task.def.inputs {
            let found = driven
                .plan
                .graph
                .upstream(at.index)
                .iter()
                .find(|index| driven.plan.tasks[**index as usize].def.name == *upstream);
            let input = match found.map(|index| &run.task_run(*index).progress) {
                Some(progress) => match (&progress.result, &progress.result_uri) {
                    (Some(text), _) => Input::Text(Arc::clone(text)),
                    (None, Some(uri)) => Input::File(uri.clone()),
                    (None, None) => Input::Nothing,
                },
                None => Input::Nothing,
            };
            inputs.push((argument.clone(), input));
        }
        let path = self.files.log(at.run, attempt.task_run_id, attempt.attempt_no);
        self.pool.submit(Job {
            at,
            attempt,
            def: Arc::clone(&task.def),
            run: Arc::clone(&driven.info),
            inputs,
            host: Arc::clone(&driven.host),
            log: Arc::new(LogSink::new(path, self.clock.clone())),
            clock: self.clock.clone(),
        });
    }

    /// Gives a sign of life when one is due and somebody's run depends on it.
    fn heartbeat(&mut self) {
        let now = self.clock.now();
        if now < self.next_heartbeat || self.runs.is_empty() {
            return;
        }
        self.next_heartbeat = now.plus_millis(HEARTBEAT_MS);
        if let Err(CommitError::Fenced) =
            self.store.heartbeat(self.lease, now, now.plus_millis(LEASE_MS))
        {
            self.refused(CommitError::Fenced, &mut Waiting::default(), Vec::new());
        }
    }
}
