//! A schedule in the world: which of its fires are covered, which come next, and which were missed.
//!
//! Each fire up to the watermark is a run or in the record of a skip. Skips may be recorded ahead of
//! it, when fires before them still wait to become runs; the watermark then passes over them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::moment::entry;
use crate::calendar::{Entry, Fire};
use crate::model::{
    BizOffset, DagId, Instant, Missed, Overlap, Period, PeriodKind, ScheduleDef, ScheduleId, Skip,
    SkipReason, SpecError, Target, variant,
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
    /// Up to here it is decided which fires were missed.
    pub judged: Instant,
    /// Fires up to here were missed and are caught up with.
    pub(super) catching_up: Instant,
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
        let spans = periods.iter().map(Span::of).collect::<Result<_, _>>()?;
        let seed = key.bytes().fold(0, |seed, byte| splitmix64(seed ^ u64::from(byte)));
        Ok(Scheduled {
            id,
            dag,
            def,
            bindings,
            watermark,
            judged: watermark,
            catching_up: watermark,
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

    /// With what an earlier copy of it in this process had decided about missed fires.
    #[must_use]
    pub fn judged_as(mut self, earlier: &Scheduled) -> Scheduled {
        self.judged = self.judged.max(earlier.judged);
        self.catching_up = self.catching_up.max(earlier.catching_up);
        self
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
        self.spans.iter().filter(|span| span.fires()).find_map(|span| {
            if span.until.is_some_and(|until| until <= after) {
                return None;
            }
            let next = span.entry.occurrence_after(after.max(span.from))?;
            let inside = span.until.is_none_or(|until| next.fire.at <= until);
            inside.then(|| self.pending(next.fire, next.closed, span))
        })
    }

    /// The last occurrence up to an instant.
    fn occurrence_until(&self, until: Instant) -> Option<Pending<'_>> {
        self.spans.iter().rev().filter(|span| span.fires()).find_map(|span| {
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
        if self.woken || !is_missed(first.due, now) {
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
            match verdict(self.def.missed, window, times, Some(at) == newest, now) {
                Some(reason) => judged.add(self.id, at, reason),
                None => return judged,
            }
            next = self.uncovered(at, &self.ahead);
        }
        judged.until = judged.skips.last().map_or(judged.until, |skip| skip.to);
        judged
    }

    /// The last fire that has fallen due.
    fn newest_due(&self, now: Instant) -> Option<Instant> {
        let mut last = self.occurrence_until(now)?;
        while last.due > now {
            last = self.occurrence_until(last.fire.at.plus_micros(-1))?;
        }
        Some(last.fire.at)
    }

    /// Fires that fell into the pause that is going on, up to `now`, and become no runs.
    pub(super) fn paused_fires(&self, now: Instant, keep: Option<Missed>) -> Option<Skip> {
        let pause = self.current().filter(|span| span.kind == PeriodKind::Paused)?;
        let fires = || {
            let next = |after: Instant| {
                let next = pause.entry.occurrence_after(after)?;
                (next.fire.at <= now).then_some(next.fire.at)
            };
            std::iter::successors(next(pause.from), move |at| next(*at))
        };
        let last = pause.entry.occurrence_before(now.plus_micros(1))?.fire.at;
        let kept = |at: Instant| match keep {
            None | Some(Missed::None) => false,
            Some(Missed::Last) => at == last,
            Some(Missed::All) => true,
        };
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

    /// Its life goes on in another period.
    pub(super) fn turn(&mut self, paused: bool, at: Instant) {
        let kind = if paused { PeriodKind::Paused } else { PeriodKind::Active };
        let Some(last) = self.spans.last_mut() else { return };
        let next = Span { from: at, until: None, kind, ..last.clone() };
        last.until = Some(at);
        self.def.paused = paused;
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

    /// Whether its fires are to become runs. Those of a pause are, once it is over and no skip
    /// covers them: somebody said so when it ended.
    fn fires(&self) -> bool {
        match self.kind {
            PeriodKind::Active => true,
            PeriodKind::Paused => self.until.is_some(),
            PeriodKind::Removed => false,
        }
    }
}

impl Judged {
    fn add(&mut self, schedule: ScheduleId, at: Instant, reason: SkipReason) {
        match self.skips.last_mut().filter(|last| last.reason == reason) {
            Some(last) => {
                last.to = at;
                last.count += 1;
            }
            None => self.skips.push(Skip { schedule, from: at, to: at, count: 1, reason }),
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
