//! The fires of a target by their business dates, worked out as far as somebody looks.
//!
//! A fire has a number that stays: a cell of a task is the number of a fire of its timeline. The
//! fires of a date have consecutive numbers.

use std::collections::BTreeMap;

use super::super::cell::CellAt;
use super::super::moment::When;
use super::super::upstream::{Origin, Upstream, of_date_or_period};
use super::facts::{DagFacts, Life};
use super::spans::Spans;
use crate::model::{Date, Instant, Period, PeriodKind, ScheduleDef, SpecError};

/// Numbers of fires, from one up to another that is not included.
pub type Span = (u32, u32);

/// When a target fires, or fired, or would have.
#[derive(Debug)]
pub struct Timeline {
    rules: Rules,
    when: When,
    /// Zone of its dates.
    pub timezone: String,
    dates: Vec<Date>,
    instants: Vec<Instant>,
    by_date: BTreeMap<Date, Span>,
    loaded: Spans,
    /// Edges of runs to its fires up to here let go: nothing is expected of what was not registered.
    pub registered: Instant,
    /// The first date of its schedules, where all of them have one.
    first: Option<Date>,
}

#[derive(Debug)]
enum Rules {
    /// Schedules, over all of time.
    Schedules(Box<Upstream>),
    /// None: one cell a day.
    Days,
}

impl Timeline {
    /// The timeline of the schedules of a target; a cell a day where there is none.
    ///
    /// # Errors
    /// What is wrong with a rule.
    pub fn new(dag: &DagFacts, life: &Life) -> Result<Timeline, SpecError> {
        let standing = || life.schedules.iter().filter(|(_, periods)| stands(periods));
        let when =
            When::of(&dag.timezone, dag.biz_offset, standing().map(|(schedule, _)| schedule))?;
        let current = standing().map(|(schedule, _)| schedule);
        let timezone = current.clone().map(|schedule| schedule.rule.timezone.clone()).next();
        let timezone = timezone.unwrap_or_else(|| dag.timezone.clone());
        let is_scheduled = current.clone().next().is_some();
        let starts: Option<Vec<Date>> = current.map(|each| each.rule.start_date).collect();
        let mut registered = Instant(i64::MAX);
        let mut first = None;
        let rules = if is_scheduled {
            let froms = life.schedules.iter().filter_map(|(_, periods)| periods.first());
            registered = froms.map(|period| period.from).min().unwrap_or(registered);
            let upstream = Upstream::new(&Origin {
                timezone: dag.timezone.clone(),
                biz_offset: dag.biz_offset,
                schedules: always(&life.schedules),
                since: Instant(i64::MIN),
                removed: false,
            })?;
            first = starts.and_then(|_| upstream.first_fire());
            Rules::Schedules(Box::new(upstream))
        } else {
            Rules::Days
        };
        Ok(Timeline {
            first,
            rules,
            when,
            timezone,
            dates: Vec::new(),
            instants: Vec::new(),
            by_date: BTreeMap::new(),
            loaded: Spans::default(),
            registered,
        })
    }

    /// Whether it has no schedule.
    pub fn is_by_day(&self) -> bool {
        matches!(self.rules, Rules::Days)
    }

    /// How many fires are known; their numbers are below.
    pub fn len(&self) -> u32 {
        self.instants.len() as u32
    }

    /// The instant of a fire.
    pub fn at(&self, fire: u32) -> Instant {
        self.instants.get(fire as usize).copied().unwrap_or(Instant(i64::MIN))
    }

    /// The business date of a fire.
    pub fn date(&self, fire: u32) -> Date {
        self.dates.get(fire as usize).copied().unwrap_or(Date::MIN)
    }

    /// Works out the fires of some business dates.
    pub fn ensure(&mut self, from: Date, to: Date) {
        for (from, to) in self.loaded.add(from, to) {
            let rows: Vec<(Date, Instant)> = match &self.rules {
                Rules::Schedules(upstream) => upstream.dated(from, to),
                Rules::Days => (from.0..=to.0)
                    .map(Date)
                    .filter_map(|date| Some((date, self.when.midnight_for(date)?)))
                    .collect(),
            };
            self.instants.reserve_exact(rows.len());
            self.dates.reserve_exact(rows.len());
            for chunk in rows.chunk_by(|a, b| a.0 == b.0) {
                let first = self.len();
                self.dates.extend(chunk.iter().map(|(date, _)| *date));
                self.instants.extend(chunk.iter().map(|(_, at)| *at));
                if let Some((date, _)) = chunk.first() {
                    self.by_date.insert(*date, (first, self.len()));
                }
            }
        }
    }

    /// The fires of a date; empty where it has none.
    pub fn of_date(&mut self, date: Date) -> Span {
        self.ensure(date, date);
        self.known(date)
    }

    /// The fires of a date that was worked out.
    pub fn known(&self, date: Date) -> Span {
        self.by_date.get(&date).copied().unwrap_or((0, 0))
    }

    /// The dates with fires of a range that was worked out, with those.
    pub fn range(
        &self,
        from: Date,
        to: Date,
    ) -> impl DoubleEndedIterator<Item = (Date, Span)> + '_ {
        self.by_date.range(from..=to).map(|(date, span)| (*date, *span))
    }

    /// The fire of a date at an instant.
    pub fn find(&self, date: Date, at: Instant) -> Option<u32> {
        let (from, to) = self.known(date);
        let fires = self.instants.get(from as usize..to as usize)?;
        if self.is_by_day() {
            // A run that somebody made at any time of the day is the run of that day.
            return (!fires.is_empty()).then_some(from);
        }
        fires.binary_search(&at).ok().map(|place| from + place as u32)
    }

    /// The fires of a cell as edges look at it.
    pub fn of_cell(&mut self, at: &CellAt) -> Vec<Span> {
        match *at {
            CellAt::Date(date) => vec![self.of_date(date)],
            CellAt::Week(date) | CellAt::Month(date) => {
                if self.is_by_day() {
                    return vec![self.of_date(date)];
                }
                let (first, last) = at.period().unwrap_or((date, date));
                self.ensure(first, last);
                of_date_or_period(date, first, last, &mut |date| {
                    let (from, to) = self.known(date);
                    (from..to).collect()
                })
                .into_iter()
                .map(|fire| (fire, fire + 1))
                .collect()
            }
            CellAt::Slots { .. } => self.slots(at),
            CellAt::Instant(_) => Vec::new(),
        }
    }

    fn slots(&mut self, at: &CellAt) -> Vec<Span> {
        let Rules::Schedules(upstream) = &self.rules else { return Vec::new() };
        let (fires, _) = upstream.expect(at);
        let dated: Vec<(Date, Instant)> =
            fires.into_keys().filter_map(|at| Some((upstream.date_of(at)?, at))).collect();
        let mut found = Vec::new();
        for (date, at) in dated {
            self.ensure(date, date);
            found.extend(self.find(date, at).map(|fire| (fire, fire + 1)));
        }
        found
    }

    /// The business date of the last fire of a cell of slots.
    pub fn last_date(&self, at: &CellAt) -> Option<Date> {
        let Rules::Schedules(upstream) = &self.rules else { return None };
        let (last, _) = upstream.expect(at).0.pop_last()?;
        upstream.date_of(last)
    }

    /// The data interval of a fire.
    pub fn interval(&self, fire: u32) -> (Instant, Instant) {
        let found = match &self.rules {
            Rules::Schedules(upstream) => upstream.interval(self.at(fire)),
            Rules::Days => None,
        };
        found.unwrap_or_else(|| self.when.day(self.date(fire)))
    }

    /// Whether a date lies before the first date of its schedules, all of which have one.
    pub fn is_before_start(&self, date: Date) -> bool {
        self.first.is_some_and(|first| date < first)
    }

    /// About how many fires a date has, of what three months in the range have.
    pub fn density(&self, from: Date, to: Date) -> f64 {
        let Rules::Schedules(upstream) = &self.rules else { return 1.0 };
        let middle = Date(from.0.midpoint(to.0));
        let most = [from, middle, to].map(|day| {
            let first = day.min(to.plus_days(-1)).max(from);
            upstream.dated(first, first.plus_days(1)).len()
        });
        most.into_iter().max().unwrap_or(0) as f64 / 2.0
    }
}

/// Whether a schedule is there: it fires, or is paused.
fn stands(periods: &[Period]) -> bool {
    periods.last().is_none_or(|last| last.kind != PeriodKind::Removed && last.until.is_none())
}

/// Schedules as they fired, and, where none was there, as they are now: a backfill fills what was
/// before the first registration and while the file was gone.
fn always(schedules: &[(ScheduleDef, Vec<Period>)]) -> Vec<(ScheduleDef, Vec<Period>)> {
    let lives = schedules.iter().flat_map(|(_, periods)| periods);
    let lives = lives.filter(|period| period.kind != PeriodKind::Removed);
    let mut covered: Vec<(Instant, Instant)> =
        lives.map(|period| (period.from, period.until.unwrap_or(Instant(i64::MAX)))).collect();
    covered.sort_unstable();
    let mut gaps = Vec::new();
    let mut until = Instant(i64::MIN);
    for (from, to) in covered {
        if until < from {
            gaps.push((until, Some(from)));
        }
        until = until.max(to);
    }
    if until < Instant(i64::MAX) {
        gaps.push((until, None));
    }
    let filled = schedules.iter().map(|(schedule, periods)| {
        let mut periods = periods.clone();
        if stands(&periods) {
            let fill = |(from, until): &(Instant, Option<Instant>)| Period {
                from: *from,
                until: *until,
                kind: PeriodKind::Active,
                rule: schedule.rule.clone(),
            };
            periods.extend(gaps.iter().map(fill));
        }
        (schedule.clone(), periods)
    });
    filled.collect()
}
