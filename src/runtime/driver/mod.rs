//! The driver: drains events, decides each, commits the batch, and only then acts.
//!
//! A batch is whatever arrived while the last one was being committed, so one task costs one
//! commit and ten thousand tasks share a few. Nothing here ever needs the interpreter.

mod act;
mod ask;
mod cells;
mod circles;
mod fill;
mod follow;
mod gather;
mod message;
mod refused;
mod requests;
mod rests;
mod serve;
mod settle;
mod slots;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

pub use self::message::{
    Adopt, Answer, Backfilled, Begin, Load, Made, Message, Serve, Served, Submit, Take,
};
use self::refused::{Next, refuse_submits};
pub use self::serve::{plan_of, ready};
pub use self::settle::Settled;
use super::clock::Clock;
use super::crash;
use super::executor::{HandlerHost, RunInfo};
use super::executors::Executors;
use super::files::Files;
use super::node::{HEARTBEAT_MS, LEASE_MS};
use super::stubs::Stubs;
use super::told::{News, Told};
use super::turn::Turn;
use super::watch::RunWatch;
use crate::engine::{Event, Plan, Report, World};
use crate::model::{BackfillId, Instant, RunId, ScopeLease, TaskDef, TaskId};
use crate::store::{CommitError, Store, StoreError};

/// At most so many messages make one batch.
const BATCH: usize = 2_048;
/// How long the driver waits for one more end while many attempts are live, in microseconds.
const LINGER_US: u64 = 100;

/// What the driver keeps of a run besides the world.
struct Driven {
    plan: Arc<Plan>,
    info: Arc<RunInfo>,
    host: HandlerHost,
    /// Of tasks whose version is not what the file says now.
    earlier: BTreeMap<u32, HandlerHost>,
    watch: Arc<RunWatch>,
    /// Definitions of mapped tasks without the items that stand in them: each of these has its own.
    light: BTreeMap<u32, Arc<TaskDef>>,
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
    pub(super) pool: Executors,
    pub(super) default_slots: u32,
    /// Pools and limits that processes share.
    shared: slots::Shared,
    runs: BTreeMap<RunId, Driven>,
    /// Ends of attempts that need no thread.
    instant: Vec<Report>,
    next_heartbeat: Instant,
    closing: bool,
    /// Messages that came while nothing could be written.
    held: Vec<Message>,
    /// Told to close while nothing could be written: what was not committed is given up.
    abandoned: bool,
    /// The world could not be read when it was to be read anew.
    unread: bool,
    /// Dags whose schedules fire here.
    serving: serve::Serving,
    /// Whether the last write was refused for want of room or the like.
    stalled: bool,
    /// Until when somebody else looked after the schedules.
    pub(super) seen_until: Instant,
    /// Who reads what is done here.
    pub(super) told: Option<Arc<Told>>,
    /// What others ask and change.
    watching: requests::Watching,
    /// Handlers that are not called.
    stubs: Stubs,
    /// Those who wait until nothing more happens at this instant.
    settling: Vec<Settled>,
    /// What edges to other runs look at.
    upstreams: cells::Upstreams,
    /// Task runs that wait for each other.
    circles: circles::Circles,
    /// Ends that make runs of dags which follow them.
    following: follow::Following,
    /// Probes that live here.
    resting: rests::Resting,
    /// Backfills.
    fills: BTreeMap<BackfillId, fill::Filled>,
    /// Cells that a commit found to be open in runs of others.
    open_elsewhere: Vec<(TaskId, Instant)>,
    /// Cells that runs of backfills of others compute, as a commit found.
    filled_elsewhere: Vec<((TaskId, Instant), RunId, BackfillId)>,
}

/// Whether a message tells what has happened or is to stop, and nobody waits for an answer.
fn is_told(message: &Message) -> bool {
    matches!(
        message,
        Message::Report(_)
            | Message::NotReady { .. }
            | Message::Cancel { .. }
            | Message::Close { .. }
    )
}

/// Those who wait for what a turn makes, to be told after its commit.
#[derive(Default)]
struct Waiting {
    made: Vec<(Answer<Made>, RunId)>,
    adopted: Vec<(Answer<Arc<RunWatch>>, RunId)>,
    rerun: Vec<Answer<()>>,
    /// Those who asked for something that is not of one run.
    done: Vec<Answer<()>>,
    /// Runs that schedules and backfills made.
    fired: Vec<RunId>,
    /// Those who asked for backfills, or for something to be done about one.
    backfills: Vec<(Answer<Backfilled>, BackfillId)>,
    /// Backfills that were begun or taken up in this turn.
    begun: Vec<BackfillId>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.made.is_empty()
            && self.adopted.is_empty()
            && self.rerun.is_empty()
            && self.done.is_empty()
            && self.backfills.is_empty()
    }
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
        pool: Executors,
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
            shared: slots::Shared::default(),
            runs: BTreeMap::new(),
            instant: Vec::new(),
            next_heartbeat,
            closing: false,
            held: Vec::new(),
            abandoned: false,
            unread: false,
            serving: serve::Serving::default(),
            stalled: false,
            seen_until: Instant(i64::MIN),
            told: None,
            watching: requests::Watching::default(),
            stubs: Stubs::default(),
            settling: Vec::new(),
            upstreams: cells::Upstreams::default(),
            following: follow::Following::default(),
            circles: circles::Circles::default(),
            resting: rests::Resting::default(),
            fills: BTreeMap::new(),
            open_elsewhere: Vec::new(),
            filled_elsewhere: Vec::new(),
        }
    }

    /// Turns until it is told to close and nothing is live any more, or nobody is left to tell it.
    pub fn run(mut self) {
        let mut messages = Vec::new();
        loop {
            messages.append(&mut self.held);
            let unread = self.has_unread() || self.has_unfollowed();
            let idle = messages.is_empty() && self.instant.is_empty() && !unread;
            if idle && !self.receive(&mut messages) {
                break;
            }
            self.gather(&mut messages);
            messages.extend(std::mem::take(&mut self.instant).into_iter().map(Message::Report));
            let ended = self.stubs.ended(self.clock.now());
            messages.extend(ended.into_iter().map(Message::Report));
            self.turn(std::mem::take(&mut messages));
            self.heartbeat();
            self.settle();
            if self.abandoned || (self.closing && self.world.live_count() == 0) {
                break;
            }
        }
        // Leaving in good order is a courtesy: a lease that is not given back runs out.
        let _ = self.store.leave(self.lease, self.clock.now());
        for driven in self.runs.values() {
            driven.watch.update(|status| status.lost = Some("the session was closed".into()));
        }
        self.lose_backfills("the session was closed");
    }

    /// Takes what else has arrived. Where many attempts are live, more ends are on their way: a
    /// moment spent on them saves commits, and nobody's start waits for a single end there.
    fn gather(&self, messages: &mut Vec<Message>) {
        let linger = Duration::from_micros(LINGER_US);
        while messages.len() < BATCH {
            match self.inbox.try_recv() {
                Ok(message) => messages.push(message),
                Err(_) if (messages.len() + self.instant.len()) * 2 < self.live() => {
                    match self.inbox.recv_timeout(linger) {
                        Ok(message) => messages.push(message),
                        Err(_) => break,
                    }
                }
                Err(_) => break,
            }
        }
    }

    /// How many attempts are live here, as far as they have been handed out.
    fn live(&self) -> usize {
        self.runs.values().map(|driven| driven.live.len()).sum()
    }

    /// Waits for a message or the next timer; false when nobody can send any more.
    fn receive(&self, messages: &mut Vec<Message>) -> bool {
        let now = self.clock.now();
        let mut until = self.next_wake();
        if self.is_needed() {
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

    /// One turn: decide, commit, act. Where the commit was refused, what still stands is decided
    /// again on a world that was read anew.
    fn turn(&mut self, messages: Vec<Message>) {
        let mut messages = messages;
        if !self.is_read(&mut messages) {
            return;
        }
        self.shared.begin_turn();
        while let Some(again) = self.try_turn(messages) {
            messages = again;
        }
    }

    fn try_turn(&mut self, messages: Vec<Message>) -> Option<Vec<Message>> {
        let now = self.clock.now();
        let mut turn = Turn::default();
        let mut waiting = Waiting::default();
        let mut again = Vec::new();
        let mut messages = messages;
        messages.extend(self.look(now).into_iter().map(Message::Request));
        let fires = self.world.next_schedule_due(now).is_some()
            || self.world.has_followers()
            || self.world.has_backfills();
        let makes = |m: &Message| {
            matches!(
                m,
                Message::Submit(_)
                    | Message::Request(_)
                    | Message::Serve(_)
                    | Message::Begin(_)
                    | Message::Take(_)
            )
        };
        if fires || messages.iter().any(makes) {
            match self.store.next_ids() {
                Ok(next) => self.world.set_next_ids(next.run, next.task_run),
                Err(error) if fires => {
                    self.held.extend(refuse_submits(messages, &error));
                    self.stall(&error);
                    return None;
                }
                Err(error) => return Some(refuse_submits(messages, &error)),
            }
        }
        let begins = |m: &Message| {
            matches!(
                m,
                Message::Submit(_)
                    | Message::Adopt(_)
                    | Message::Serve(_)
                    | Message::Begin(_)
                    | Message::Take(_)
            )
        };
        if messages.iter().any(begins) {
            self.read_slots();
        }
        self.read_cells(&mut turn, now);
        self.follow_up(&mut turn, now);
        for message in messages {
            if let Some(kept) = self.take(message, &mut turn, &mut waiting, now) {
                again.push(kept);
            }
        }
        self.enable(&mut turn, now);
        self.reopen_slots(&mut turn, now);
        self.fire(&mut turn, &mut waiting, now);
        self.tick_and_gather(&mut turn, now);
        while self.fill(&mut turn, &mut waiting, now) {
            self.tick_and_gather(&mut turn, now);
        }
        if self.world.has_ready(now) {
            self.decide(&Event::Dispatch, &mut turn, now);
        }
        let batch = turn.batch(&self.world, self.lease, now);
        if !batch.is_empty() {
            let mut doubtful = false;
            crash::at("commit.before");
            while let Err(error) = self.store.commit(&batch) {
                doubtful |= matches!(error, CommitError::Store(_));
                if doubtful && (self.is_written(&batch) || self.is_begun(&batch)) {
                    break;
                }
                let next = match self.refused(error, &mut waiting) {
                    // Should it be there after all, nothing would refuse it a second time.
                    Next::SameBatch if batch.only_adds() => self.anew(&mut waiting),
                    next => next,
                };
                match next {
                    Next::SameBatch => {}
                    Next::Again => return Some(again),
                    Next::AgainWithoutAskers => {
                        return Some(again.into_iter().filter(is_told).collect());
                    }
                    Next::Later => {
                        self.held.extend(again.into_iter().filter(is_told));
                        return None;
                    }
                    Next::Nothing => return None,
                }
            }
        }
        crash::at("commit.after");
        self.say_written(now);
        self.schedules_stand(&turn);
        self.backfills_stand(turn.decisions());
        self.ends_are_seen();
        turn.decisions().iter().for_each(|decision| self.resting.stand(decision));
        if let Some(told) = self.told.as_ref().filter(|_| self.serves()) {
            turn.decisions().iter().for_each(|decision| told.tell_of(decision, &self.world, now));
        }
        self.look_for_circles(now);
        self.tell(&turn.runs(), waiting);
        let effects = turn.effects();
        self.perform(effects);
        // What had ended before and was kept for something that has happened now is let go.
        for run in turn.kept() {
            self.let_go(run);
        }
        self.let_go_backfills();
        None
    }

    /// Whether somebody counts on this process being alive. A clock that stands is its owner's, and
    /// nobody else looks.
    fn is_needed(&self) -> bool {
        !self.clock.stands() && (!self.runs.is_empty() || !self.fills.is_empty() || self.serves())
    }

    /// Gives a sign of life when one is due and somebody's run depends on it.
    fn heartbeat(&mut self) {
        let now = self.clock.now();
        if now < self.next_heartbeat || !self.is_needed() {
            return;
        }
        self.next_heartbeat = now.plus_millis(HEARTBEAT_MS);
        // Another process may have resized a pool or a limit.
        self.read_slots();
        let until = now.plus_millis(LEASE_MS);
        match self.store.heartbeat(self.lease, now, until) {
            Err(CommitError::Fenced) => {
                self.refused(CommitError::Fenced, &mut Waiting::default());
            }
            // Who has nothing else to write says so too.
            Err(CommitError::Store(error @ StoreError::Away { .. })) => self.say_stalled(&error),
            Ok(()) if self.stalled && !self.unread => {
                self.say_written(now);
                let watches = self.runs.values().map(|driven| &driven.watch);
                watches.for_each(|watch| watch.update(|status| status.stalled = None));
            }
            Ok(()) | Err(_) => {}
        }
    }
}
