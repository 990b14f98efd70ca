//! Mapped tasks: their list has been read, their items end, their results are together.

use std::sync::Arc;

use super::super::edges::Texts;
use super::super::items::{NoList, Place};
use super::super::run::Tally;
use super::super::{End, NewItems, Start, TaskRunRef};
use super::Refusal;
use super::draft::Draft;
use super::rerun::afresh;
use crate::model::{
    AttemptEnd, AttemptRecord, AttemptStart, Outcome, Progress, REMOVED, State, TaskRunId,
};
use crate::policy::retry;

impl Draft<'_> {
    /// The list of a mapped task was read. Items that there are run again with what the list has
    /// at their places now, those beyond its end are removed, and what is missing is made.
    pub(super) fn expand(
        &mut self,
        at: TaskRunRef,
        list: &Result<Vec<Arc<str>>, NoList>,
    ) -> Result<(), Refusal> {
        let world = self.world;
        self.known_run(at.run)?;
        let task_run = world.task_run(at).ok_or(Refusal::NoTaskRun(at))?;
        let ready = task_run.is_gathering() && task_run.progress.state == State::Ready;
        let Place::Mapped(items) = &task_run.place else { return Ok(()) };
        // What moved since will be asked for again.
        if !ready || world.interrupting {
            return Ok(());
        }
        // It may end here and now, and time would not be looked at any more.
        if self.check_deadline(at) {
            return Ok(());
        }
        let list = match list {
            Ok(list) => list,
            Err(no_list) => {
                self.not_expanded(at, no_list);
                return Ok(());
            }
        };
        let now = self.now;
        self.shift(at, |p| {
            p.state = State::Running;
            p.started_at = Some(now);
            p.code = None;
        });
        for (place, index) in items.indexes.iter().enumerate() {
            let item = TaskRunRef { run: at.run, index: *index };
            let Some(progress) = self.progress(item).filter(|p| p.state.is_final()) else {
                continue;
            };
            match list.get(place) {
                Some(text) => {
                    let text = Arc::clone(text);
                    self.shift(item, |p| {
                        afresh(p, now);
                        p.item = Some(text);
                    });
                    self.touched.push_back(item);
                }
                None if progress.is_removed() => {}
                None => self.shift_twice(
                    item,
                    |p| afresh(p, now),
                    |p| {
                        p.state = State::Canceled;
                        p.finished_at = Some(now);
                        p.code = Some(REMOVED.into());
                    },
                ),
            }
        }
        let new: Vec<Arc<str>> = list.iter().skip(items.indexes.len()).cloned().collect();
        if !new.is_empty() {
            let first = TaskRunId(world.next_task_run);
            self.out.items.push(NewItems { of: at, first, items: new, when: now });
        }
        Ok(())
    }

    /// There is no list: that is a failure with a message, which an attempt has. It begins and
    /// ends at once, and takes no slot.
    fn not_expanded(&mut self, at: TaskRunRef, no_list: &NoList) {
        let now = self.now;
        let (Some(run), Some(task)) = (self.world.run(at.run), self.task(at)) else { return };
        let version = task.version_id;
        let Some(id) = run.get(at.index).map(|task_run| task_run.id) else { return };
        let (nominal_at, node_id) = (run.row.nominal_at, self.world.node);
        self.shift(at, |p| {
            p.state = State::Running;
            p.attempt_no += 1;
            p.token = p.token.next(now);
            p.started_at = Some(now);
            p.code = None;
        });
        let Some(progress) = self.progress(at) else { return };
        let (attempt_no, token) = (progress.attempt_no, progress.token);
        let attempt = AttemptStart {
            task_run_id: id,
            attempt_no,
            token,
            nominal_at,
            task_version_id: version,
            node_id,
            started_at: now,
            slots: 0,
            pool: None,
            limits: Vec::new(),
        };
        self.out.starts.push(Start { at, attempt, timeout_at: None, rest: None });
        self.shift(at, |p| {
            p.errors_used += 1;
            p.state = State::Failed;
            p.finished_at = Some(now);
            p.code = Some(no_list.code.into());
        });
        let record = AttemptRecord {
            error_code: Some(no_list.code.into()),
            error_type: Some("MappingError".into()),
            error: Some(no_list.why.clone()),
            ..AttemptRecord::default()
        };
        let outcome = Outcome::Failed;
        let end =
            AttemptEnd { task_run_id: id, attempt_no, token, outcome, finished_at: now, record };
        self.out.ends.push(End { at, end, released: true });
    }

    /// The results of all items are together: one list, or nothing where that cannot be kept.
    pub(super) fn collect(
        &mut self,
        at: TaskRunRef,
        (result, result_uri): (Option<&Arc<str>>, Option<&str>),
        (fingerprint, unchanged): (Option<&str>, bool),
        texts: Option<&Texts>,
    ) -> Result<(), Refusal> {
        let world = self.world;
        self.known_run(at.run)?;
        let task_run = world.task_run(at).ok_or(Refusal::NoTaskRun(at))?;
        let running = task_run.is_gathering() && task_run.progress.state == State::Running;
        if !running || world.interrupting || self.check_deadline(at) {
            return Ok(());
        }
        let (now, stale) = (self.now, task_run.counts.unmet > 0);
        let kept = result.is_some() || result_uri.is_some();
        if let Some(texts) = texts {
            self.out.texts.push((at, texts.clone()));
            self.texts.insert(at, texts.clone());
        }
        self.shift(at, |p| {
            p.state = if kept { State::Success } else { State::Failed };
            p.code = (!kept).then(|| retry::RESULT.to_owned());
            p.result = result.cloned();
            p.result_uri = result_uri.map(str::to_owned);
            p.fingerprint = fingerprint.filter(|_| kept).map(str::to_owned);
            p.unchanged = unchanged && p.fingerprint.is_some();
            p.finished_at = Some(now);
            p.stale |= stale;
        });
        Ok(())
    }

    /// Ends a mapped task whose items have all ended, and one of them badly. With good ends alone
    /// it waits until their results are together.
    pub(super) fn conclude(&mut self, at: TaskRunRef) {
        let world = self.world;
        let tally = self.item_tally(at);
        if tally.open() > 0 || tally.ended_badly() == 0 || self.is_leased(at) {
            return;
        }
        let failed = tally.ended_badly() > tally.of(State::Canceled);
        let Some(run) = world.run(at.run) else { return };
        let indexes = run.items(at.index).map_or(&[][..], |items| &items.indexes);
        let code = indexes.iter().find_map(|index| {
            let p = self.progress(TaskRunRef { run: at.run, index: *index })?;
            let counts =
                !p.is_removed() && p.state.ended_badly() && (p.state != State::Canceled || !failed);
            counts.then(|| p.code.clone())
        });
        let stale = self.edges(at).counts.unmet > 0;
        let now = self.now;
        self.shift(at, |p| {
            p.state = if failed { State::Failed } else { State::Canceled };
            p.code = code.flatten();
            p.finished_at = Some(now);
            p.stale |= stale;
        });
    }

    /// An item has moved: what that is to the mapped task that it belongs to.
    pub(super) fn item_moved(&mut self, of: TaskRunRef, from: &Progress, to: &Progress) {
        let mut tally = self.item_tally(of);
        tally.item(from, to);
        self.items.insert(of, tally);
        if tally.open() == 0 {
            self.touched.push_back(of);
        }
    }

    fn item_tally(&self, at: TaskRunRef) -> Tally {
        let known = || self.world.run(at.run)?.items(at.index).map(|items| items.tally);
        self.items.get(&at).copied().or_else(known).unwrap_or_default()
    }

    /// Whether it is a mapped task with items that have not ended.
    pub(super) fn has_open_items(&self, at: TaskRunRef) -> bool {
        self.item_tally(at).open() > 0
    }

    /// Whether this stands for the items of a mapped task.
    pub(super) fn is_mapped(&self, at: TaskRunRef) -> bool {
        self.run(at.run).and_then(|run| run.get(at.index)).is_some_and(|found| found.is_mapped())
    }
}
