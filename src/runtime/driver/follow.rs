//! Dags that follow an upstream, and ends of that which nobody saw who served them: those of the
//! time when nobody did, and those of other processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Driver;
use crate::engine::{Event, Found};
use crate::model::{DagId, Instant, PeriodKind, RunId, RunRow};
use crate::runtime::refusal::SessionError;
use crate::runtime::turn::Turn;
use crate::store::EndsAsked;

/// How long after a failed read it is tried again, in milliseconds.
const RETRY_MS: i64 = 500;

/// How far the ends of upstreams have been looked at.
#[derive(Default)]
pub struct Following {
    seen: BTreeMap<DagId, Seen>,
    /// What is seen once the turn is committed.
    next: BTreeMap<DagId, Seen>,
    /// Runs that the turn makes, and that are nobody's before its commit.
    made: Vec<RunId>,
    /// Whether there may be others.
    stale: bool,
    /// When they could not be read at last; not tried again at once.
    failed_at: Option<Instant>,
}

/// How far the ends of what a dag follows have been looked at.
#[derive(Clone)]
struct Seen {
    upstream: Arc<str>,
    /// Ends before the dag followed it are none of its.
    since: Instant,
    /// The newest entry of the journal at that time.
    head: i64,
}

impl Driver {
    /// Whether there may be ends that make runs.
    pub(super) fn has_unfollowed(&self) -> bool {
        let failed = self.following.failed_at;
        let waits = failed.is_some_and(|at| self.clock.now() < at.plus_millis(RETRY_MS));
        !waits && self.following.stale && self.world.has_followers()
    }

    /// Somebody else wrote, or a dag is served anew: upstreams may have ended that nobody saw.
    pub(super) fn ends_may_differ(&mut self) {
        self.following.stale = true;
    }

    /// Makes the runs of dags that follow an upstream for ends that nobody saw who served them.
    pub(super) fn follow_up(&mut self, turn: &mut Turn, now: Instant) {
        if !self.has_unfollowed() {
            return;
        }
        self.following.stale = false;
        // What cannot be read now is read later.
        if self.try_follow_up(turn, now).is_err() {
            self.following.stale = true;
            self.following.failed_at = Some(now);
        }
    }

    fn try_follow_up(&mut self, turn: &mut Turn, now: Instant) -> Result<(), SessionError> {
        let follows =
            self.world.served().filter_map(|it| Some((it.dag, Arc::clone(it.follows()?))));
        let follows: Vec<(DagId, Arc<str>)> = follows.collect();
        // Before anything is read: what comes in between is read once more.
        let head = self.store.journal_head()?;
        for (dag, upstream) in follows {
            let seen = self.following.seen.get(&dag).filter(|seen| seen.upstream == upstream);
            // A journal that has become shorter is another one.
            let seen = seen.filter(|seen| seen.head <= head).cloned();
            let since = match &seen {
                Some(seen) => seen.since,
                None => self.follows_since(dag, now)?,
            };
            let ends = self.ends(dag, &upstream, since, seen.map(|seen| seen.head))?;
            self.following.next.insert(dag, Seen { upstream, since, head });
            if !ends.is_empty() {
                self.decide(&Event::Ended { dag, ends }, turn, now);
            }
        }
        Ok(())
    }

    /// After a commit: what was looked at is seen.
    pub(super) fn ends_are_seen(&mut self) {
        let following = &mut self.following;
        following.made.clear();
        if following.next.is_empty() {
            return;
        }
        // A dag that is not served any more is looked at anew when it is again.
        following.seen = std::mem::take(&mut following.next);
        following.failed_at = None;
    }

    /// A run that follows is made, unless the commit is refused.
    pub(super) fn is_following(&mut self, run: RunId) {
        self.following.made.push(run);
    }

    /// What the turn has decided is thrown away. The number of a run that it made may be that of
    /// somebody else's run by now.
    pub(super) fn ends_are_unseen(&mut self) {
        for run in std::mem::take(&mut self.following.made) {
            self.runs.remove(&run);
        }
        self.following.stale |= !self.following.next.is_empty();
        self.following.next.clear();
    }

    /// Since when a dag follows what it follows: registering it makes no run of older ends.
    fn follows_since(&mut self, dag: DagId, now: Instant) -> Result<Instant, SessionError> {
        let Some((task, follows)) = self.world.served_dag(dag).and_then(|it| it.following()) else {
            return Ok(now);
        };
        let since = self.store.so_since(task.task_id, &follows)?.unwrap_or(now);
        let key = self.world.served_dag(dag).map(|it| format!("{}.{}", it.key, task.def.name));
        let Some(known) = self.store.upstream(&key.unwrap_or_default())? else { return Ok(since) };
        // While it had a schedule it followed nobody.
        let lives = known.schedules.iter().flat_map(|(_, periods)| periods);
        let lives = lives.filter(|period| period.kind != PeriodKind::Removed);
        Ok(lives.filter_map(|period| period.until).fold(since, Instant::max))
    }

    fn ends(
        &mut self,
        follower: DagId,
        upstream: &Arc<str>,
        since: Instant,
        after: Option<i64>,
    ) -> Result<Vec<(RunRow, Found)>, SessionError> {
        let Some(reading) = self.upstream(upstream)? else { return Ok(Vec::new()) };
        let served = self.world.served_dag(follower);
        let matches = served.is_some_and(|served| served.matches_what_it_follows());
        let asked = EndsAsked { task: reading.task.task, follower, since, after };
        let ends = self.store.upstream_ends(&asked)?.into_iter();
        // What somebody tries out in a notebook is no end of a fire unless it stands for one.
        let counts = |row: &RunRow| !row.interactive || reading.expected.counts(row.nominal_at);
        let ends = ends.filter(|(row, _)| counts(row));
        Ok(ends.map(|(row, run)| (row, self.found(run, (matches, matches)))).collect())
    }
}
