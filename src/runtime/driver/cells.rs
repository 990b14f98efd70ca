//! What edges to other runs look at is read from the store, and given to the engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Driver;
use crate::calendar::dates::add_months;
use crate::engine::{
    Absence, CellAt, CellKey, DATA, Decision, Event, Found, Known, Origin, Plan, READY, Report,
    TaskRunRef, Texts, Upstream,
};
use crate::model::{ASSET, Instant, OffsetUnit, Outcome, State};
use crate::runtime::output::{result_head, stdout_head};
use crate::runtime::refusal::SessionError;
use crate::runtime::turn::Turn;
use crate::store::{RunsAt, StoredRun, UpstreamRun, UpstreamTask};

/// How long after a failed read it is tried again, in milliseconds.
const RETRY_MS: i64 = 500;

/// What is known of the upstreams of edges to other runs, by the names that edges have for them.
#[derive(Default)]
pub struct Upstreams {
    known: BTreeMap<Arc<str>, Option<Arc<Reading>>>,
    /// Somebody else wrote: all cells are read again.
    stale: bool,
    /// When they could not be read at last; not tried again at once.
    failed_at: Option<Instant>,
}

pub(super) struct Reading {
    pub task: UpstreamTask,
    pub expected: Upstream,
}

impl Driver {
    /// Whether there is a cell that was not read.
    pub(super) fn has_unread(&self) -> bool {
        let failed = self.upstreams.failed_at;
        let waits = failed.is_some_and(|at| self.clock.now() < at.plus_millis(RETRY_MS));
        !waits && (self.upstreams.stale || self.world.unread_cells().next().is_some())
    }

    /// Somebody else wrote: what was read may be otherwise now.
    pub(super) fn cells_may_differ(&mut self) {
        self.upstreams.known.clear();
        self.upstreams.stale = self.world.cells().next().is_some();
    }

    /// Reads the cells that edges look at. What is in the world is committed at this time, so the
    /// store knows no less than the world.
    pub(super) fn read_cells(&mut self, turn: &mut Turn, now: Instant) {
        if !self.has_unread() {
            return;
        }
        let all = std::mem::take(&mut self.upstreams.stale);
        let keys: Vec<CellKey> = match all {
            true => self.world.cells().collect(),
            false => self.world.unread_cells().cloned().collect(),
        };
        let read: Result<Vec<_>, SessionError> =
            keys.into_iter().map(|key| Ok((key.clone(), self.cell(&key)?))).collect();
        match read {
            Ok(cells) => {
                self.upstreams.failed_at = None;
                self.decide(&Event::Read(cells), turn, now);
            }
            // What cannot be read now is read later.
            Err(_) => {
                self.upstreams.stale = all;
                self.upstreams.failed_at = Some(now);
            }
        }
    }

    /// What is in a cell.
    fn cell(&mut self, key: &CellKey) -> Result<Known, SessionError> {
        let asset = key.upstream.strip_prefix(ASSET).map(str::to_owned);
        let reading = self.upstream(&key.upstream)?;
        let date = match key.at {
            CellAt::Date(date) | CellAt::Week(date) | CellAt::Month(date) => Some(date),
            CellAt::Slots { .. } | CellAt::Instant(_) => None,
        };
        let ready = asset.clone().or_else(|| {
            let is_data = key.upstream.ends_with(DATA);
            reading.as_ref().filter(|_| is_data)?.task.produces.first().cloned()
        });
        let declared = match (ready, date) {
            (Some(asset), Some(date)) => self.store.is_declared(&asset, date)?,
            // Without an asset there is nothing that a skipped task could still owe.
            (None, _) => key.upstream.ends_with(DATA),
            _ => false,
        };
        let Some(reading) = reading else {
            let absence = if asset.is_some() { Absence::Unscheduled } else { Absence::Unknown };
            return Ok(Known { absence, declared, ..Known::default() });
        };
        let (expected, absence) = reading.expected.expect(&key.at);
        let at = match date {
            Some(date) if expected.is_empty() => RunsAt::Date(date),
            _ => RunsAt::Fires(expected.keys().copied().collect()),
        };
        let wants = self.world.wants_texts(key);
        let runs = self.store.upstream_runs(reading.task.task, &at)?.into_iter();
        let found = runs.map(|run| (run.nominal_at, self.found(run, wants))).collect();
        let task = Some(reading.task.task);
        Ok(Known { found, task, expected, absence, declared })
    }

    pub(super) fn found(
        &self,
        run: UpstreamRun,
        (want_result, want_stdout): (bool, bool),
    ) -> Found {
        let result = run.result_uri.as_deref().filter(|_| want_result);
        let log = self.files.log(run.output.0, run.output.1, run.attempt_no);
        let texts = Texts {
            result: result.and_then(|uri| result_head(Path::new(uri))),
            stdout: want_stdout.then(|| stdout_head(&log)).flatten(),
        };
        Found {
            run: run.run,
            task_run: run.task_run,
            state: run.state,
            code: run.code,
            unchanged: run.unchanged,
            blocked_by: run.blocked_by,
            result: run.result,
            texts: (texts != Texts::default()).then(|| Box::new(texts)),
        }
    }

    /// The task behind the name that an edge has for its upstream.
    pub(super) fn upstream(
        &mut self,
        name: &Arc<str>,
    ) -> Result<Option<Arc<Reading>>, SessionError> {
        if let Some(known) = self.upstreams.known.get(name) {
            return Ok(known.clone());
        }
        let found = match (name.strip_prefix(ASSET), name.strip_suffix(DATA)) {
            (Some(asset), _) => match self.store.producer(asset)? {
                Some(key) => self.store.upstream(&key)?,
                None => None,
            },
            (None, Some(task)) => {
                // Its probe says when its data is ready, if it has one.
                let probe = self.store.upstream(&format!("{task}{READY}"))?;
                match probe.filter(|probe| probe.is_probe && !probe.removed) {
                    Some(probe) => Some(probe),
                    None => self.store.upstream(task)?,
                }
            }
            (None, None) => self.store.upstream(name)?,
        };
        let reading = match found {
            None => None,
            Some(task) => {
                let expected = Upstream::new(&Origin {
                    timezone: task.timezone.clone(),
                    biz_offset: task.biz_offset,
                    schedules: task.schedules.clone(),
                    since: task.since,
                    removed: task.removed,
                })?;
                Some(Arc::new(Reading { task, expected }))
            }
        };
        self.upstreams.known.insert(Arc::clone(name), reading.clone());
        Ok(reading)
    }

    /// What other runs have made of task runs that are run again is old.
    pub(super) fn outdate(&mut self, decision: &Decision, turn: &mut Turn) {
        for again in decision.moves.iter().filter(|to| to.from.is_final()) {
            let Some(run) = self.world.run(again.at.run) else { continue };
            let Some(task) = run.plan.tasks.get(again.at.index as usize) else { continue };
            let (id, date) = (run.row.id, run.row.biz_date);
            // What cannot be read now stays unmarked; the mark is for people.
            let edges = self.store.dependents(task.task_id).unwrap_or_default();
            for edge in edges {
                let dates = (edge.from..=edge.to).filter_map(|offset| match edge.unit {
                    OffsetUnit::Day => Some(date.plus_days(-offset)),
                    OffsetUnit::Week => Some(date.plus_days(-offset.saturating_mul(7))),
                    OffsetUnit::Month => add_months(date, -offset),
                    // Which fires those were is not known without the schedule of each.
                    OffsetUnit::Slot => Some(date),
                });
                turn.outdated.extend(dates.map(|date| (edge.task, date, id)));
            }
        }
    }

    /// A report with the beginning of the output that edges look at.
    pub(super) fn with_texts(&self, mut report: Report) -> Report {
        let is_looked_at = report.outcome == Outcome::Success && self.world.is_matched(report.at);
        if is_looked_at && report.texts.is_none() {
            let log = report.record.log_uri.as_deref();
            report.texts = Some(Box::new(Texts {
                result: report.result_uri.as_deref().and_then(|uri| result_head(Path::new(uri))),
                stdout: log.and_then(|log| stdout_head(Path::new(log))),
            }));
        }
        report
    }

    /// A report with whether the output is that of the success before, where a reprocess asks.
    pub(super) fn with_mark(&mut self, mut report: Report) -> Report {
        if report.outcome == Outcome::Success {
            let fingerprint = report.record.fingerprint.as_deref();
            report.record.unchanged = self.is_unchanged(report.at, fingerprint);
        }
        report
    }

    /// Whether a fingerprint is that of the success before. What cannot be read has changed.
    pub(super) fn is_unchanged(&mut self, at: TaskRunRef, fingerprint: Option<&str>) -> bool {
        let Some(run) = self.world.run(at.run).filter(|_| fingerprint.is_some()) else {
            return false;
        };
        let filling = run.row.backfill_id.and_then(|id| self.world.backfill(id));
        let asks = filling.is_some_and(|filling| filling.plan().ask.reprocess);
        let Some(task_run) = run.get(at.index).filter(|_| asks).map(|found| found.id) else {
            return false;
        };
        match self.store.earlier_fingerprint(task_run) {
            Ok(earlier) => earlier.as_deref() == fingerprint,
            Err(_) => false,
        }
    }

    /// The beginning of a result in a file, where an edge looks at it.
    pub(super) fn texts_of_result(&self, at: TaskRunRef, uri: &str) -> Option<Box<Texts>> {
        let texts = || Texts { result: result_head(Path::new(uri)), stdout: None };
        self.world.is_matched(at).then(|| Box::new(texts()))
    }

    /// Before a run is loaded: the beginning of the output of what has succeeded in it, where an
    /// edge of the run looks at that.
    pub(super) fn read_texts(&mut self, stored: &StoredRun, plan: &Plan) {
        for (index, row) in (0u32..).zip(&stored.task_runs) {
            let progress = &row.progress;
            if progress.state != State::Success || !plan.is_matched(index) {
                continue;
            }
            let log = self.files.log(stored.row.id, row.id, progress.attempt_no);
            let uri = progress.result_uri.as_deref();
            let result = uri.and_then(|uri| result_head(Path::new(uri)));
            self.world.know_texts(row.id, Texts { result, stdout: stdout_head(&log) });
        }
    }
}
