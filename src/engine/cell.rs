//! Cells: a task and a business date, or a task and some fires of its schedule, as edges of other
//! runs look at them.
//!
//! A cell holds which runs are expected there and how those that exist stand. What is in it is read
//! from the store once, and kept up to date by the arrows of the runs that are in the world. An edge
//! counts what each run says, so that the end of one changes a number and nothing is looked at anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::TaskRunRef;
use super::edges::{Standing, Texts, Verdict, edge_verdict, skip_codes};
use super::plan::Across;
use super::run::TaskRun;
use crate::calendar::dates::add_months;
use crate::model::{Date, Instant, OffsetUnit, Progress, RunId, State, TaskId, TaskRunId, Which};

/// Which cell: the upstream's full key, or `@` and an asset, and which of its runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellKey {
    /// The upstream.
    pub upstream: Arc<str>,
    /// Which of its runs.
    pub at: CellAt,
}

/// From where edges look at other runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looking {
    pub biz_date: Date,
    pub nominal_at: Instant,
    /// Whether the run is of the instant of the upstream that its dag follows.
    pub follows: bool,
}

/// Which runs of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellAt {
    /// The one of an instant.
    Instant(Instant),
    /// Those of a business date.
    Date(Date),
    /// The same; for an upstream that has none that day and one in its week, that one.
    Week(Date),
    /// The same with the month.
    Month(Date),
    /// Those of some fires, counted from the last one up to an instant: 0 is that, -1 the one before.
    Slots {
        /// The instant.
        until: Instant,
        /// The first fire.
        from: i32,
        /// The last fire.
        to: i32,
    },
}

impl CellAt {
    /// The week or month whose one fire counts where the date has none.
    pub(super) fn period(&self) -> Option<(Date, Date)> {
        match *self {
            CellAt::Week(date) => {
                let monday = date.plus_days(-(date.weekday() as i32));
                Some((monday, monday.plus_days(6)))
            }
            CellAt::Month(date) => {
                let (year, month, day) = date.ymd();
                let first = date.plus_days(1 - day as i32);
                Some((first, first.plus_days(Date::days_in_month(year, month) as i32 - 1)))
            }
            CellAt::Date(_) | CellAt::Instant(_) | CellAt::Slots { .. } => None,
        }
    }
}

/// How an upstream as such stands at a cell where it has no fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absence {
    /// It has no schedule: a run may come at any time.
    #[default]
    Unscheduled,
    /// Its schedule has no fire there: nothing is expected.
    NoFire,
    /// The cell lies before its first fire.
    BeforeFirst,
    /// Its schedules have ended.
    Expired,
    /// It was removed, or its schedule was.
    Removed,
    /// There is no such task or asset.
    Unknown,
}

/// A run of an upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The run.
    pub run: RunId,
    /// The task run.
    pub task_run: TaskRunId,
    /// Where it stands.
    pub state: State,
    /// Its code.
    pub code: Option<String>,
    /// Whether its output is that of the success before, as it has found itself.
    pub unchanged: bool,
    /// What it is BLOCKED by.
    pub blocked_by: Option<TaskRunId>,
    /// Its result, if it is in its row.
    pub result: Option<Arc<str>>,
    /// What of its output is in files.
    pub texts: Option<Box<Texts>>,
}

/// What is known of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Fires that are expected, and whether their schedule was paused then.
    pub expected: BTreeMap<Instant, bool>,
    /// Why there are none, where there are none.
    pub absence: Absence,
    /// Whose runs they are.
    pub task: Option<TaskId>,
    /// The newest run for each nominal time.
    pub found: BTreeMap<Instant, Found>,
    /// Whether somebody outside has declared the asset ready.
    pub declared: bool,
}

/// A cell in the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// None until it was read.
    pub known: Option<Known>,
    /// The edges that look at it: task run, and number of the edge.
    pub watchers: BTreeSet<(TaskRunRef, u32)>,
}

/// How many runs say what to an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    pub(super) holds: u32,
    pub(super) waits: u32,
    pub(super) broken: u32,
    pub(super) skips: u32,
    pub(super) passed: u32,
    /// Cells that were not read yet.
    pub(super) unread: u32,
    /// Whether the edge is waited for no longer.
    pub(super) over: bool,
}

impl Votes {
    fn slot(&mut self, verdict: Verdict) -> &mut u32 {
        match verdict {
            Verdict::Holds => &mut self.holds,
            Verdict::Waits => &mut self.waits,
            Verdict::Broken => &mut self.broken,
            Verdict::Skip => &mut self.skips,
            Verdict::Passed => &mut self.passed,
        }
    }

    fn add(&mut self, verdict: Verdict) {
        *self.slot(verdict) += 1;
    }

    /// Each of a list of verdicts is given back, and each of another is added.
    pub(super) fn change(&mut self, from: Votes, to: Votes) {
        self.holds = self.holds + to.holds - from.holds;
        self.waits = self.waits + to.waits - from.waits;
        self.broken = self.broken + to.broken - from.broken;
        self.skips = self.skips + to.skips - from.skips;
        self.passed = self.passed + to.passed - from.passed;
        self.unread = self.unread + to.unread - from.unread;
    }

    /// What they come to: all have to hold, as long as the edge is waited for.
    pub fn verdict(&self) -> Verdict {
        let said = match () {
            () if self.unread > 0 => Verdict::Waits,
            () if self.skips > 0 => Verdict::Skip,
            () if self.broken > 0 => Verdict::Broken,
            () if self.waits > 0 => Verdict::Waits,
            () if self.passed > 0 && self.holds == 0 => Verdict::Passed,
            () => Verdict::Holds,
        };
        said.without(self.over)
    }
}

impl Found {
    /// A task run as edges of other runs see it. None where it does not count, because whoever
    /// asked for its run left it out.
    pub(super) fn of(
        run: RunId,
        task_run: TaskRunId,
        progress: &Progress,
        texts: Option<&Texts>,
    ) -> Option<Found> {
        if progress.code.as_deref() == Some(skip_codes::NOT_SELECTED) {
            return None;
        }
        Some(Found {
            run,
            task_run,
            state: progress.state,
            code: progress.code.clone(),
            unchanged: progress.unchanged,
            blocked_by: progress.blocked_by,
            result: progress.result.clone(),
            texts: texts.cloned().map(Box::new),
        })
    }

    /// What it says to an edge by itself.
    pub(super) fn verdict(&self, edge: &Across) -> Verdict {
        edge_verdict(&edge.rule, self.standing())
    }

    fn standing(&self) -> Standing<'_> {
        let texts = self.texts.as_deref();
        Standing {
            state: self.state,
            code: self.code.as_deref(),
            result: self.result.as_deref().or(texts.and_then(|texts| texts.result.as_deref())),
            stdout: texts.and_then(|texts| texts.stdout.as_deref()),
        }
    }

    /// What a dependent is blocked by where this broke its edge.
    pub(super) fn root(&self) -> TaskRunId {
        self.blocked_by.unwrap_or(self.task_run)
    }
}

/// Why an edge to another run does not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why<'c> {
    /// The cell was not read yet.
    Unread,
    /// This run of the upstream stands as it does.
    Run(Instant, &'c Found),
    /// There is no run for this fire yet; true where the schedule was paused then.
    Missing(Instant, bool),
    /// There is no run, and no fire either.
    Absent(Absence),
}

impl Known {
    /// The nominal times that count for an edge, with what is there.
    fn runs(&self) -> Vec<(Instant, Option<&Found>)> {
        if self.expected.is_empty() {
            return self.found.iter().map(|(at, found)| (*at, Some(found))).collect();
        }
        self.expected.keys().map(|at| (*at, self.found.get(at))).collect()
    }

    /// What each of the runs says to an edge; a single verdict where the edge asks for one of them.
    pub(super) fn verdicts(&self, edge: &Across) -> Vec<(Verdict, Why<'_>)> {
        if self.declared && !edge.needs_task {
            return vec![(Verdict::Holds, Why::Absent(self.absence))];
        }
        let mut all: Vec<(Verdict, Why<'_>)> = self
            .runs()
            .into_iter()
            .map(|(at, found)| (self.verdict_at(edge, at, found), self.why_at(at, found)))
            .collect();
        if all.is_empty() {
            return vec![(self.verdict_of_absence(), Why::Absent(self.absence))];
        }
        match edge.which {
            Which::All => all,
            Which::Last => all.pop().into_iter().collect(),
            Which::Any => {
                use Verdict::{Broken, Holds, Passed, Skip, Waits};
                let first = [Holds, Waits, Broken, Skip, Passed]
                    .into_iter()
                    .find_map(|best| all.iter().find(|(verdict, _)| *verdict == best).copied());
                first.into_iter().collect()
            }
        }
    }

    fn verdict_at(&self, edge: &Across, at: Instant, found: Option<&Found>) -> Verdict {
        match found {
            Some(found) => {
                let verdict = edge_verdict(&edge.rule, found.standing());
                // A holiday makes nothing ready, but somebody may have said that it is.
                let is_skipped = found.state == State::Skipped && verdict == Verdict::Waits;
                if is_skipped && self.declared { Verdict::Holds } else { verdict }
            }
            None if self.expected.get(&at) == Some(&true) => Verdict::Broken,
            None => Verdict::Waits,
        }
    }

    fn why_at<'c>(&self, at: Instant, found: Option<&'c Found>) -> Why<'c> {
        match found {
            Some(found) => Why::Run(at, found),
            None => Why::Missing(at, self.expected.get(&at) == Some(&true)),
        }
    }

    fn verdict_of_absence(&self) -> Verdict {
        match self.absence {
            Absence::Unscheduled => Verdict::Waits,
            Absence::NoFire | Absence::BeforeFirst => Verdict::Holds,
            Absence::Expired | Absence::Removed | Absence::Unknown => Verdict::Broken,
        }
    }

    /// What this cell says to an edge.
    pub(super) fn votes(&self, edge: &Across) -> Votes {
        let mut votes = Votes::default();
        self.verdicts(edge).iter().for_each(|(verdict, _)| votes.add(*verdict));
        votes
    }

    /// What a change of one run changes about that: before and after. None where the other runs of
    /// the cell have to be looked at as well.
    pub(super) fn change_alone(
        &self,
        edge: &Across,
        at: Instant,
        old: Option<&Found>,
        new: &Found,
    ) -> Option<(Votes, Votes)> {
        let is_expected = self.expected.contains_key(&at);
        if !is_expected && !self.expected.is_empty() {
            // A run besides those that are expected.
            return Some((Votes::default(), Votes::default()));
        }
        let is_counted = is_expected || old.is_some();
        if edge.which != Which::All || self.declared && !edge.needs_task || !is_counted {
            return None;
        }
        let (mut before, mut after) = (Votes::default(), Votes::default());
        before.add(self.verdict_at(edge, at, old));
        after.add(self.verdict_at(edge, at, Some(new)));
        Some((before, after))
    }

    /// The same, whatever has to be looked at. `self` is as it was before.
    pub(super) fn change(
        &self,
        edge: &Across,
        at: Instant,
        old: Option<&Found>,
        new: &Found,
    ) -> (Votes, Votes) {
        self.change_alone(edge, at, old, new).unwrap_or_else(|| {
            let mut then = self.clone();
            then.found.insert(at, new.clone());
            (self.votes(edge), then.votes(edge))
        })
    }
}

impl Across {
    /// The cells that the edge of a run looks at.
    pub(super) fn cells(&self, from: Looking) -> Vec<CellKey> {
        let Looking { biz_date, nominal_at, follows } = from;
        let key = |at| CellKey { upstream: Arc::clone(&self.upstream), at };
        if self.same || follows && self.follows {
            return vec![key(CellAt::Instant(nominal_at))];
        }
        if self.unit == OffsetUnit::Slot {
            let at = CellAt::Slots { until: nominal_at, from: self.from, to: self.to };
            return vec![key(at)];
        }
        let cell = |offset: i32| match self.unit {
            OffsetUnit::Month => CellAt::Month(add_months(biz_date, offset).unwrap_or(biz_date)),
            OffsetUnit::Week => CellAt::Week(biz_date.plus_days(offset.saturating_mul(7))),
            OffsetUnit::Day | OffsetUnit::Slot => CellAt::Date(biz_date.plus_days(offset)),
        };
        let mut keys: Vec<CellKey> =
            (self.from..=self.to).map(|offset| key(cell(offset))).collect();
        // Two months back from the 30th and the 31st is one day.
        keys.dedup();
        keys
    }
}

/// A task run that is in the world, as edges of other runs see it.
pub(super) fn found(run: RunId, task_run: &TaskRun) -> Option<Found> {
    Found::of(run, task_run.id, &task_run.progress, task_run.texts.as_deref())
}
