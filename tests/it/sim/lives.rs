//! Schedules as they were meant: when each fires, found by looking at every minute.

use mainspring::engine::Decision;
use mainspring::model::{Instant, Missed, Overlap, PeriodKind, ScheduleId, Skip};

use super::rng::Rng;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;

/// A rule simple enough to be checked minute by minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each so many minutes of an hour.
    Each(i64),
    /// At a minute of each hour.
    Hourly(i64),
    /// At an hour and minute.
    Daily(i64, i64),
    /// The same on Monday to Friday.
    Weekdays(i64, i64),
}

impl Shape {
    pub fn new(rng: &mut Rng) -> Shape {
        let minute = rng.below(60) as i64;
        match rng.below(4) {
            0 => Shape::Each(*rng.pick(&[10, 15, 20, 30])),
            1 => Shape::Hourly(minute),
            2 => Shape::Daily(rng.below(24) as i64, minute),
            _ => Shape::Weekdays(rng.below(24) as i64, minute),
        }
    }

    pub fn text(self) -> String {
        match self {
            Shape::Each(step) => format!("*/{step} * * * *"),
            Shape::Hourly(minute) => format!("{minute} * * * *"),
            Shape::Daily(hour, minute) => format!("{minute} {hour} * * *"),
            Shape::Weekdays(hour, minute) => format!("{minute} {hour} * * 1-5"),
        }
    }

    /// Whether it fires in this minute since 1970, a Thursday.
    fn fires(self, minute: i64) -> bool {
        let (of_hour, of_day, day) = (minute % 60, minute / 60 % 24, minute / 1440);
        match self {
            Shape::Each(step) => of_hour % step == 0,
            Shape::Hourly(at) => of_hour == at,
            Shape::Daily(hour, at) => (of_day, of_hour) == (hour, at),
            Shape::Weekdays(hour, at) => (of_day, of_hour) == (hour, at) && (day + 3) % 7 < 5,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Span {
    pub from: Instant,
    pub until: Option<Instant>,
    pub kind: PeriodKind,
    pub shape: Shape,
}

/// One schedule from its registration on.
#[derive(Clone, Debug)]
pub struct Life {
    pub spans: Vec<Span>,
    pub missed: Missed,
    pub window_ms: i64,
    pub overlap: Overlap,
    /// Fires of a pause that were asked for when it ended.
    pub kept: Vec<Instant>,
    /// How far it is covered, skips beyond its watermark included.
    pub covered: Instant,
    pub watermark: Instant,
    pub skips: Vec<Skip>,
    /// Fires that have a run of it.
    pub fired: Vec<Instant>,
}

impl Life {
    pub fn new(shape: Shape, paused: bool, now: Instant) -> Life {
        let kind = if paused { PeriodKind::Paused } else { PeriodKind::Active };
        Life {
            spans: vec![Span { from: now, until: None, kind, shape }],
            missed: Missed::All,
            window_ms: 0,
            overlap: Overlap::Queue,
            kept: Vec::new(),
            covered: now,
            watermark: now,
            skips: Vec::new(),
            fired: Vec::new(),
        }
    }

    pub fn last(&self) -> &Span {
        self.spans.last().unwrap()
    }

    /// From here on it is another; never before what is covered.
    pub fn turn(&mut self, kind: PeriodKind, shape: Shape, at: Instant) {
        let at = at.max(self.covered);
        let open = self.spans.last_mut().unwrap();
        if (open.kind, open.shape) == (kind, shape) {
            return;
        }
        if at <= open.from {
            (open.kind, open.shape) = (kind, shape);
            return;
        }
        open.until = Some(at);
        self.spans.push(Span { from: at, until: None, kind, shape });
    }

    /// Its fires after an instant and up to another, each with its period.
    pub fn fires(&self, after: Instant, to: Instant) -> Vec<(Instant, &Span)> {
        let mut found = Vec::new();
        for span in self.spans.iter().filter(|span| span.kind != PeriodKind::Removed) {
            let from = span.from.max(after);
            let until = span.until.map_or(to, |until| until.min(to));
            let first = from.0.div_euclid(MINUTE * 1000) + 1;
            for minute in first..=until.0.div_euclid(MINUTE * 1000) {
                if span.shape.fires(minute) {
                    found.push((Instant(minute * MINUTE * 1000), span));
                }
            }
        }
        found
    }

    pub fn fire_at(&self, at: Instant) -> Option<&Span> {
        let found = self.fires(at + -1, at);
        found.into_iter().next().map(|(_, span)| span)
    }

    /// The fires of the pause that is going on.
    pub fn of_pause(&self, now: Instant) -> Vec<Instant> {
        let began = self.spans.iter().rposition(|span| span.kind == PeriodKind::Active);
        let began = began.map_or(self.spans[0].from, |at| self.spans[at].until.unwrap());
        let fires = self.fires(began.max(self.covered), now);
        fires.into_iter().map(|(at, _)| at).collect()
    }

    /// What a decision says of it.
    pub fn note(&mut self, id: ScheduleId, decision: &Decision) {
        for create in &decision.creates {
            if create.schedules.contains(&id) && !self.fired.contains(&create.row.nominal_at) {
                self.fired.push(create.row.nominal_at);
            }
        }
        for to in decision.schedules.iter().filter(|to| to.schedule == id) {
            self.watermark = to.watermark;
            self.covered = self.covered.max(to.watermark);
            for (skip, _) in &to.skips {
                self.covered = self.covered.max(skip.to);
                self.skips.push(skip.clone());
            }
        }
    }

    pub fn skipped(&self, at: Instant) -> usize {
        self.skips.iter().filter(|skip| (skip.from..=skip.to).contains(&at)).count()
    }
}
