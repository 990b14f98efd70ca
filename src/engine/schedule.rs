//! A schedule in the world: which of its fires are covered, which come next, and which were missed.
//!
//! Each fire up to the watermark is a run or in the record of a skip. Skips may be recorded ahead of
//! it, when fires before them still wait to become runs; the watermark then passes over them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::moment::entry;
use crate::calendar::{Entry, Fire};
use crate::model::{
    BizOffset, DagId, Instant, Missed, Overlap, Period, PeriodKind, Problem, ScheduleDef,
    ScheduleId, Skip, SkipReason, SpecError, Target, variant,
};
use crate::policy::{is_missed, splitmix64, verdict};

/// So many fires are counted at once; more than that take several decisions.
const COUNTED: i64 = 10_000;

/// A schedule and how far it has come.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// Its id.
    pub id: ScheduleId,
    /// Its dag.
    pub dag: DagId,
    /// Its definition.
    pub def: ScheduleDef,
    /// What it fires.
    pub bindings: Vec<Bound>,
    /// Each fire up to here is a run or a skip.
    pub watermark: Instant,
    /// When it was last changed, as the store has it.
    pub(super) changed_at: Instant,
    /// Up to here it is decided which fires were missed.
    pub judged: Instant,
    /// Fires after the first and up to the second of these were missed and are caught up with.
    pub(super) catching_up: (Instant, Instant),
    /// Skips beyond the watermark.
    pub(super) ahead: Vec<(Instant, Instant)>,
    /// Why the fire at the watermark was skipped, if it was.
    pub(super) last_skip: Option<SkipReason>,
    /// Whether its next fire waits for a run of its dag to end.
    pub(super) waiting: bool,
    /// Whether it waited until now: its fires were late, but not missed.
    pub(super) woken: bool,
    spans: Vec<Span>,
    /// Of its name; spreads its fires.
    seed: u64,
}

/// What a schedule makes runs of.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The dag, or a task of it.
    pub target: Target,
    /// Values for the run's parameters.
    pub params: Map<String, Value>,
    /// Tells them apart; see `TimedKey`.
    pub variant: String,
}

/// A period with its rule, read.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub from: Instant,
    pub until: Option<Instant>,
    pub kind: PeriodKind,
    pub entry: Entry,
    pub timezone: String,
    jitter_ms: i64,
}

/// A fire that is not covered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<'s> {
    pub fire: Fire,
    /// Whether the calendar is closed on its day.
    pub closed: bool,
    /// When it is due: later than the fire by its jitter.
    pub due: Instant,
    pub span: &'s Span,
}

/// Which fires of an outage make no run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Judged {
    pub skips: Vec<Skip>,
    /// Up to here it is decided.
    pub until: Instant,
    /// Whether there was an outage.
    pub outage: bool,
}

impl Scheduled {
    /// A schedule as it is stored. `key` names it for ever: `dag.schedule`.
    ///
    /// # Errors
    /// What is wrong with the rule of a period.
    pub fn new(
        id: ScheduleId,
        dag: DagId,
        key: &str,
        def: ScheduleDef,
        bindings: Vec<(Target, BTreeMap<String, Value>)>,
        watermark: Instant,
        periods: &[Period],
    ) -> Result<Scheduled, SpecError> {
        let bindings = bindings
            .into_iter()
            .map(|(target, params)| Bound {
                target,
                variant: variant(&params),
                params: params.into_iter().collect(),
            })
            .collect();
        let spans = periods.iter().map(Span::of).collect::<Result<_, _>>();
        let spans = spans.map_err(|SpecError(problems)| {
            let of =
                |problem: Problem| Problem { place: format!("{key}.{}", problem.place), ..problem };
            SpecError(problems.into_iter().map(of).collect())
        })?;
        let seed = key.bytes().fold(0, |seed, byte| splitmix64(seed ^ u64::from(byte)));
        Ok(Scheduled {
            id,
            dag,
            def,
            bindings,
            watermark,
            changed_at: Instant(i64::MIN),
            judged: watermark,
            catching_up: (watermark, watermark),
            ahead: Vec::new(),
            last_skip: None,
            waiting: false,
            woken: false,
            spans,
            seed,
        })
    }

    /// With skips that were recorded beyond the watermark, and why the fire at it was skipped.
    #[must_use]
    pub fn with_skips(
        mut self,
        ahead: Vec<(Instant, Instant)>,
        last_skip: Option<SkipReason>,
    ) -> Scheduled {
        self.ahead = ahead;
        self.last_skip = last_skip;
        self
    }

    /// With when it was last changed, which the store compares when it comes further.
    #[must_use]
    pub fn changed_at(mut self, at: Instant) -> Scheduled {
        self.changed_at = at;
        self
    }

    /// With what an earlier copy of it in this process had decided about missed fires. One that
    /// waited goes on from there: what fell due meanwhile was not missed.
    #[must_use]
    pub fn judged_as(mut self, earlier: &Scheduled) -> Scheduled {
        self.judged = self.judged.max(earlier.judged);
        self.catching_up = earlier.catching_up;
        self.woken |= earlier.waiting || earlier.woken;
        self
    }

    /// Somebody else looked after it until then: what fell due before was seen in time, and waits.
    #[must_use]
    pub fn seen_until(mut self, until: Instant) -> Scheduled {
        self.judged = self.judged.max(until);
        self
    }

    /// Up to here its fires are runs or skips, or lie before something that is skipped already:
    /// nothing that changes its life can reach behind it, whatever the clock says.
    pub(super) fn covered(&self) -> Instant {
        self.ahead.iter().map(|(_, to)| *to).fold(self.watermark, Instant::max)
    }

    /// Whether it is paused now.
    pub fn is_paused(&self) -> bool {
        self.spans.last().is_some_and(|span| span.kind == PeriodKind::Paused)
    }

    /// Whether it is there only for fires before its removal.
    pub fn is_removed(&self) -> bool {
        self.spans.last().is_none_or(|span| span.kind == PeriodKind::Removed)
    }

    /// How it counts business dates.
    pub fn biz_offset(&self) -> Option<BizOffset> {
        self.def.biz_offset
    }

    /// What becomes of fires while as many runs are live as may be.
    pub(super) fn overlap(&self) -> Overlap {
        self.def.overlap
    }

    /// The rule that is in force, or was at last.
    pub(super) fn current(&self) -> Option<&Span> {
        self.spans.last()
    }

    /// When it has something to do next; none while it waits for a run to end, is paused, or will
    /// never fire again.
    pub fn next_due(&self) -> Option<Instant> {
        if self.waiting {
            return None;
        }
        self.next().map(|pending| pending.due)
    }

    /// The fire that comes next, whenever that is.
    pub fn next_fire(&self) -> Option<Fire> {
        self.next().map(|pending| pending.fire)
    }

    pub(super) fn next(&self) -> Option<Pending<'_>> {
        self.uncovered(self.watermark, &self.ahead)
    }

    /// The first fire after an instant that is in none of these skips.
    pub(super) fn uncovered(
        &self,
        mut after: Instant,
        ahead: &[(Instant, Instant)],
    ) -> Option<Pending<'_>> {
        loop {
            let next = self.occurrence_after(after)?;
            let at = next.fire.at;
            match ahead.iter().find(|(from, to)| (*from..=*to).contains(&at)) {
                Some((_, to)) => after = *to,
                None => return Some(next),
            }
        }
    }

    /// The first occurrence after an instant in any period in which it fires.
    fn occurrence_after(&self, after: Instant) -> Option<Pending<'_>> {
        self.firing().find_map(|span| {
            if span.until.is_some_and(|until| until <= after) {
                return None;
            }
            let next = span.entry.occurrence_after(after.max(span.from))?;
            let inside = span.until.is_none_or(|until| next.fire.at <= until);
            inside.then(|| self.pending(next.fire, next.closed, span))
        })
    }

    /// The periods whose fires are to become runs. Those of a pause are, once it is over and no
    /// skip covers them: somebody said so when it ended. An edit does not end it, and neither does a
    /// removal from which the schedule came back.
    fn firing(&self) -> impl DoubleEndedIterator<Item = &Span> {
        let resumed = self.spans.iter().rposition(|span| span.kind == PeriodKind::Active);
        let resumed = if self.is_removed() { Some(self.spans.len()) } else { resumed };
        let spans = self.spans.iter().enumerate();
        let fires = move |nth: usize, span: &Span| match span.kind {
            PeriodKind::Active => true,
            PeriodKind::Paused => resumed.is_some_and(|active| nth < active),
            PeriodKind::Removed => false,
        };
        spans.filter(move |(nth, span)| fires(*nth, span)).map(|(_, span)| span)
    }

    /// The last occurrence up to an instant.
    fn occurrence_until(&self, until: Instant) -> Option<Pending<'_>> {
        self.firing().rev().find_map(|span| {
            let end = span.until.map_or(until, |end| end.min(until));
            let last = span.entry.occurrence_before(end.plus_micros(1))?;
            (last.fire.at > span.from).then(|| self.pending(last.fire, last.closed, span))
        })
    }

    fn pending<'s>(&'s self, fire: Fire, closed: bool, span: &'s Span) -> Pending<'s> {
        Pending { fire, closed, due: fire.at.plus_millis(self.jitter(fire.at, span)), span }
    }

    /// How much later than it fires it is due: the same for the same name and instant, anywhere.
    fn jitter(&self, at: Instant, span: &Span) -> i64 {
        if span.jitter_ms <= 0 {
            return 0;
        }
        let hash = splitmix64(self.seed ^ at.0.cast_unsigned());
        // Multiply and shift maps the hash evenly to 0..=jitter.
        let width = i128::from(span.jitter_ms) + 1;
        i64::try_from((i128::from(hash >> 1) * width) >> 63).unwrap_or(span.jitter_ms)
    }

    /// Looks at fires that nobody has looked at yet: those that were missed are a first part of
    /// them, so skips come first and what runs comes last.
    pub(super) fn judge(&self, now: Instant) -> Judged {
        let seen = self.judged.max(self.watermark);
        let nothing = Judged { skips: Vec::new(), until: seen, outage: false };
        let Some(first) = self.uncovered(seen, &self.ahead).filter(|first| first.due <= now) else {
            return nothing;
        };
        if !self.is_removed() && (self.woken || !is_missed(first.due, now)) {
            return Judged { until: now.max(seen), ..nothing };
        }
        let newest = self.newest_due(now);
        let mut judged = Judged { skips: Vec::new(), until: now.max(seen), outage: true };
        let mut next = Some(first);
        for _ in 0..COUNTED {
            let Some(pending) = next.filter(|pending| pending.due <= now) else { return judged };
            let at = pending.fire.at;
            let times = (at, pending.due);
            let window = self.def.missed_window_ms;
            let newest = Some(at) == newest;
            let reason = self.left_out(&pending);
            match reason.or_else(|| verdict(self.def.missed, window, times, newest, now)) {
                Some(reason) => judged.add(self, at, reason),
                None => return judged,
            }
            next = self.uncovered(at, &self.ahead);
        }
        judged.until = judged.skips.last().map_or(judged.until, |skip| skip.to);
        judged
    }

    /// Why a fire makes no run, whenever it is seen: its schedule is gone, or its day is closed.
    pub(super) fn left_out(&self, pending: &Pending<'_>) -> Option<SkipReason> {
        match (self.is_removed(), pending.span.kind) {
            // Nobody can ask any more for what fell into a pause.
            (true, PeriodKind::Paused) => Some(SkipReason::Paused),
            (true, _) => Some(SkipReason::Removed),
            (false, _) => pending.closed.then_some(SkipReason::Calendar),
        }
    }

    /// The last fire that has fallen due and would make a run.
    fn newest_due(&self, now: Instant) -> Option<Instant> {
        let mut last = self.occurrence_until(now)?;
        for _ in 0..COUNTED {
            let at = last.fire.at;
            let skipped = self.ahead.iter().find(|(from, to)| (*from..=*to).contains(&at));
            if skipped.is_none() && last.due <= now && !last.closed {
                return Some(at);
            }
            if at <= self.watermark {
                break;
            }
            last = self.occurrence_until(skipped.map_or(at, |(from, _)| *from).plus_micros(-1))?;
        }
        None
    }

    /// Fires that fell into the pause that is going on, up to `now`, and become no runs. Edits and
    /// removals may have cut it into several periods.
    pub(super) fn paused_fires(&self, now: Instant, keep: Option<Missed>) -> Option<Skip> {
        if !self.is_paused() {
            return None;
        }
        let began = self.spans.iter().rposition(|span| span.kind == PeriodKind::Active);
        let pauses = || {
            let spans = self.spans.iter().skip(began.map_or(0, |active| active + 1));
            spans.filter(|span| span.kind == PeriodKind::Paused)
        };
        // What was covered before, by a clock that went back or while it was removed, stays so.
        let covered = self.covered();
        let fires = || {
            pauses().flat_map(|pause| {
                let end = pause.until.map_or(now, |until| until.min(now));
                let next = move |after: Instant| {
                    let next = pause.entry.occurrence_after(after)?;
                    (next.fire.at <= end).then_some(next)
                };
                let first = next(pause.from.max(covered));
                std::iter::successors(first, move |last| next(last.fire.at))
            })
        };
        let last = match keep {
            Some(Missed::Last) => fires().filter(|each| !each.closed).last(),
            _ => None,
        };
        let kept = |at: Instant| match keep {
            None | Some(Missed::None) => false,
            Some(Missed::Last) => last.is_some_and(|last| last.fire.at == at),
            Some(Missed::All) => true,
        };
        let fires = || fires().map(|each| each.fire.at);
        let mut skip: Option<Skip> = None;
        for at in fires().take_while(|at| !kept(*at)) {
            let fresh =
                Skip { schedule: self.id, from: at, to: at, count: 0, reason: SkipReason::Paused };
            let skip = skip.get_or_insert(fresh);
            skip.to = at;
            skip.count += 1;
        }
        skip
    }

    /// Its life goes on in another period, as the store has it: where no fire fell into the one
    /// that is open, that becomes the other.
    pub(super) fn turn(&mut self, paused: bool, at: Instant) {
        let kind = if paused { PeriodKind::Paused } else { PeriodKind::Active };
        let Some(last) = self.spans.last_mut() else { return };
        self.def.paused = paused;
        if at <= last.from {
            last.kind = kind;
            return;
        }
        let next = Span { from: at, until: None, kind, ..last.clone() };
        last.until = Some(at);
        self.spans.push(next);
    }

    /// Periods and skips that lie wholly behind the watermark are of no use any more.
    pub(super) fn tidy(&mut self) {
        let watermark = self.watermark;
        self.ahead.retain(|(_, to)| *to > watermark);
        self.spans.retain(|span| span.until.is_none_or(|until| until > watermark));
    }
}

impl Span {
    fn of(period: &Period) -> Result<Span, SpecError> {
        Ok(Span {
            from: period.from,
            until: period.until,
            kind: period.kind,
            entry: entry(&period.rule)?,
            timezone: period.rule.timezone.clone(),
            jitter_ms: period.rule.jitter_ms,
        })
    }
}

impl Judged {
    fn add(&mut self, schedule: &Scheduled, at: Instant, reason: SkipReason) {
        let schedule_id = schedule.id;
        // One record reaches over nothing that another has.
        let between =
            |after: Instant| schedule.ahead.iter().any(|(from, _)| after < *from && *from < at);
        let last = self.skips.last_mut();
        match last.filter(|last| last.reason == reason && !between(last.to)) {
            Some(last) => {
                last.to = at;
                last.count += 1;
            }
            None => {
                let skip = Skip { schedule: schedule_id, from: at, to: at, count: 1, reason };
                self.skips.push(skip);
            }
        }
    }
}

/// Two are equal that fire alike and have come equally far.
impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        let shape = |each: &Scheduled| {
            let spans = each.spans.iter().map(|span| (span.from, span.until, span.kind));
            spans.collect::<Vec<_>>()
        };
        (self.id, self.dag, &self.def, &self.bindings)
            == (other.id, other.dag, &other.def, &other.bindings)
            && (self.watermark, self.judged, &self.ahead, self.waiting)
                == (other.watermark, other.judged, &other.ahead, other.waiting)
            && shape(self) == shape(other)
    }
}
