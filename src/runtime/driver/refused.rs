//! When a commit is refused: what still stands is decided again on a world read anew.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;

use super::News;
use super::message::{Begin, Serve, Take};
use super::serve::Serving;
use super::slots::Gate;
use super::{Driver, Message, Waiting};
use crate::engine::{Decision, Plan, World, apply};
use crate::model::{Instant, RunId};
use crate::runtime::executor::Executor as _;
use crate::runtime::refusal::SessionError;
use crate::store::{Batch, CommitError, StoreError};

/// How long the driver waits before it tries a refused write again, in milliseconds.
const STALL_MS: u64 = 500;

/// How a turn goes on after a refused commit.
pub(super) enum Next {
    /// The same batch again.
    SameBatch,
    /// Decide again.
    Again,
    /// Decide again, but not what was asked for: those who asked have been told.
    AgainWithoutAskers,
    /// The world could not be read: what others reported is decided when it can be.
    Later,
    /// The turn is over.
    Nothing,
}

/// Tells whoever asks for something that it cannot be written; gives back what nobody waits for.
fn refuse(message: Message, error: &StoreError) -> Option<Message> {
    let why = || SessionError::Store(error.to_string());
    match message {
        Message::Submit(submit) => {
            let _ = submit.reply.send(Err(why()));
        }
        Message::Adopt(adopt) => {
            let _ = adopt.reply.send(Err(why()));
        }
        Message::Begin(Begin { reply, .. }) | Message::Take(Take { reply, .. }) => {
            let _ = reply.send(Err(why()));
        }
        Message::Rerun(_, _, reply)
        | Message::Approve(_, reply)
        | Message::Pause { reply, .. }
        | Message::Refresh { reply, .. }
        | Message::Serve(Serve { reply, .. }) => {
            let _ = reply.send(Err(why()));
        }
        other => return Some(other),
    }
    None
}

/// Tells those who ask for runs that there is no database to make them in.
pub(super) fn refuse_submits(messages: Vec<Message>, error: &StoreError) -> Vec<Message> {
    let refuse = |message| match message {
        Message::Submit(_) | Message::Begin(_) => refuse(message, error),
        other => Some(other),
    };
    messages.into_iter().filter_map(refuse).collect()
}

impl Driver {
    /// What to do about a refused commit.
    pub(super) fn refused(&mut self, error: CommitError, waiting: &mut Waiting) -> Next {
        match error {
            CommitError::IdsMoved(_) | CommitError::Conflict { .. } => self.anew(waiting),
            CommitError::PoolFull { pool, free } => self.full(Gate::Pool(pool), free, waiting),
            CommitError::LimitFull { limit, free } => self.full(Gate::Limit(limit), free, waiting),
            CommitError::Fenced => self.lose(waiting, &error.to_string()),
            // Waiting does not bring back a file that was taken away.
            CommitError::Store(error @ StoreError::Open { .. }) => {
                self.lose(waiting, &error.to_string())
            }
            // Another schedule of the target made it, or another process: it is theirs as well.
            CommitError::RunExists { run, key } => {
                self.know_timed(*key, run);
                self.anew(waiting)
            }
            CommitError::CellOpen { task, nominal_at } => {
                self.open_elsewhere.push((task, nominal_at));
                self.anew(waiting)
            }
            CommitError::CellFilled { task, nominal_at, run, backfill } => {
                self.filled_elsewhere.push(((task, nominal_at), run, backfill));
                self.anew(waiting)
            }
            CommitError::Store(error) if waiting.is_empty() => match self.stall(&error) {
                true => Next::Nothing,
                false => Next::SameBatch,
            },
            CommitError::Store(error) => {
                // Whoever asked is told at once; what others reported is decided again.
                self.fail_waiting(waiting, &error.to_string());
                match self.reload() {
                    Ok(()) => Next::AgainWithoutAskers,
                    Err(error) => self.later(&error),
                }
            }
        }
    }

    fn full(&mut self, gate: Gate, free: u32, waiting: &mut Waiting) -> Next {
        let next = self.anew(waiting);
        if matches!(next, Next::Again) {
            self.close(gate, free);
        }
        next
    }

    /// Whether a batch whose commit failed is there all the same: an error on the way back says
    /// nothing of what became durable. Its journal tells, which no other batch has.
    pub(super) fn is_written(&mut self, batch: &Batch) -> bool {
        let Some((run, packed)) = batch.journal.first() else { return false };
        self.store.journal(*run).is_ok_and(|rows| rows.last() == Some(packed))
    }

    /// Reads the world anew, to decide again.
    pub(super) fn anew(&mut self, waiting: &mut Waiting) -> Next {
        // What was not committed is not ours: by now its number may be that of somebody else's run.
        for run in waiting
            .made
            .iter()
            .map(|(_, run)| run)
            .chain(waiting.adopted.iter().map(|(_, run)| run))
            .chain(&waiting.fired)
        {
            self.runs.remove(run);
        }
        self.forget_begun(waiting);
        match self.reload() {
            Ok(()) => Next::Again,
            Err(error) => {
                self.fail_waiting(waiting, &error.to_string());
                self.later(&error)
            }
        }
    }

    /// This process can do no more for any of its runs, and tells those who watch.
    fn lose(&mut self, waiting: &mut Waiting, why: &str) -> Next {
        for driven in self.runs.values() {
            driven.watch.update(|status| status.lost = Some(why.to_owned()));
        }
        self.fail_waiting(waiting, why);
        if let Some(told) = self.told.as_ref().filter(|_| self.serves()) {
            told.tell(News::Fenced { at: self.clock.now(), why: why.to_owned() });
        }
        self.pool.lease_lost();
        self.lose_backfills(why);
        self.runs.clear();
        self.resting.clear();
        self.serving = Serving::default();
        // Nothing is left to decide for; a world that cannot be read is empty as well.
        let next = self.store.next_ids().map_or((1, 1), |next| (next.run, next.task_run));
        let (node, scope) = (self.lease.node_id, self.lease.scope_id);
        self.world = World::new(next, self.default_slots, node, scope);
        Next::Nothing
    }

    /// The world is half read: wait, and read it before anything else is decided.
    pub(super) fn later(&mut self, error: &StoreError) -> Next {
        self.unread = true;
        self.stall(error);
        Next::Later
    }

    /// Reads the world if that failed before; whether it is whole now. What cannot wait is refused.
    pub(super) fn is_read(&mut self, messages: &mut Vec<Message>) -> bool {
        if !self.unread {
            return true;
        }
        match self.reload() {
            Ok(()) => {
                self.unread = false;
                true
            }
            Err(error) => {
                let kept = std::mem::take(messages).into_iter();
                let kept: Vec<_> = kept.filter_map(|message| refuse(message, &error)).collect();
                self.held.extend(kept);
                self.stall(&error);
                false
            }
        }
    }

    /// Nothing can be written now (a full disk): say so, wait, and let the caller try again. What
    /// arrives meanwhile is held back; true when it is the word to close.
    pub(super) fn stall(&mut self, error: &StoreError) -> bool {
        self.say_stalled(error);
        match self.inbox.recv_timeout(Duration::from_millis(STALL_MS)) {
            Ok(Message::Close { .. }) | Err(RecvTimeoutError::Disconnected) => {
                self.abandoned = true;
                true
            }
            // Whoever asks for more is told at once, and need not wait for the disk.
            Ok(message) => {
                self.held.extend(refuse(message, error));
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
        }
    }

    /// Tells once that nothing can be written.
    pub(super) fn say_stalled(&mut self, error: &StoreError) {
        let text = error.to_string();
        if let Some(told) = self.told.as_ref().filter(|_| !self.stalled) {
            told.tell(News::Stalled { at: self.clock.now(), why: Some(text.clone()) });
        }
        self.stalled = true;
        for driven in self.runs.values() {
            driven.watch.update(|status| status.stalled = Some(text.clone()));
        }
    }

    /// Tells that it can be written again, where it was told that it cannot.
    pub(super) fn say_written(&mut self, now: Instant) {
        if std::mem::take(&mut self.stalled)
            && let Some(told) = &self.told
        {
            told.tell(News::Stalled { at: now, why: None });
        }
    }

    pub(super) fn fail_waiting(&mut self, waiting: &mut Waiting, why: &str) {
        for (reply, run) in waiting.made.drain(..) {
            self.runs.remove(&run);
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
        for (reply, run) in waiting.adopted.drain(..) {
            self.runs.remove(&run);
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
        for run in waiting.fired.drain(..) {
            self.runs.remove(&run);
        }
        self.forget_begun(waiting);
        waiting.begun.clear();
        for (reply, _) in waiting.backfills.drain(..) {
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
        for reply in waiting.rerun.drain(..).chain(waiting.done.drain(..)) {
            let _ = reply.send(Err(SessionError::Store(why.to_owned())));
        }
    }

    /// Which task runs of a run hold a slot, read off the world.
    fn find_live(&mut self, run: RunId) {
        let Some(found) = self.world.run(run) else { return };
        let live = (0..).zip(found.task_runs()).filter(|(_, task_run)| task_run.live.is_some());
        let live = live.map(|(index, _)| index).collect();
        if let Some(driven) = self.runs.get_mut(&run) {
            driven.live = live;
        }
    }

    /// Throws the working world away and reads it anew from what is committed.
    pub(super) fn reload(&mut self) -> Result<(), StoreError> {
        self.ends_are_unseen();
        let next = self.store.next_ids()?;
        self.world = World::new(
            (next.run, next.task_run),
            self.default_slots,
            self.lease.node_id,
            self.lease.scope_id,
        );
        self.size_all();
        // A shutdown goes on.
        let interrupting = Decision { interrupting: self.closing, ..Decision::default() };
        let _ = apply(&mut self.world, &interrupting);
        self.reload_schedules()?;
        self.reload_backfills()?;
        let runs: Vec<(RunId, Arc<Plan>)> =
            self.runs.iter().map(|(run, driven)| (*run, Arc::clone(&driven.plan))).collect();
        for (run, plan) in runs {
            match self.reload_run(run, plan) {
                Ok(()) => {}
                Err(error) if error.is_of_one() => {
                    if let Some(driven) = self.runs.remove(&run) {
                        driven.watch.update(|status| status.lost = Some(error.to_string()));
                    }
                    self.tell_unreadable_run(run, &error);
                }
                Err(error) => return Err(StoreError::Other(error.to_string())),
            }
        }
        Ok(())
    }

    fn reload_run(&mut self, run: RunId, plan: Arc<Plan>) -> Result<(), SessionError> {
        match self.store.stored_run(run)? {
            Some(stored) => {
                self.load(&stored, plan)
                    .map_err(|broken| SessionError::Unreadable(broken.to_string()))?;
                self.find_live(run);
            }
            // Decided, but never committed.
            None => {
                self.runs.remove(&run);
            }
        }
        self.recall_rests();
        Ok(())
    }
}
