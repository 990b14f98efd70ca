//! What an upstream of other runs is expected to do: its fires over the whole life of its schedules.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Absence, CellAt};
use super::moment::entry;
use super::{When, moment::biz_rule};
use crate::calendar::{BizRule, Entry, Timetable, Zone, dates};
use crate::model::{BizOffset, Date, Instant, Period, PeriodKind, ScheduleDef, SpecError};

/// A schedule that does not fire within so many days does not fire any more: 29 February comes
/// again within eight years.
const FAR_DAYS: i32 = 4_000;

/// So many fires of one cell are looked at: a day of seconds has fewer.
const MOST: usize = 100_000;

/// A task or the producer of an asset, as edges of other runs see it.
#[derive(Clone, Debug)]
pub struct Upstream {
    stretches: Vec<Stretch>,
    /// The first date it can have a run for, where it has no schedule.
    first_date: Date,
    /// Whether it has schedules, or had.
    scheduled: bool,
    /// When it was removed.
    removed: bool,
}

/// A stretch of time in which none of the rules changed.
#[derive(Clone, Debug)]
struct Stretch {
    /// Fires after this instant.
    from: Instant,
    /// Up to this one.
    until: Option<Instant>,
    all: Timetable,
    /// Without those that are paused; none where nothing is.
    running: Option<Timetable>,
}

/// Where an upstream comes from: all that the store knows of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Zone of its dag.
    pub timezone: String,
    /// From nominal to business dates where no schedule says.
    pub biz_offset: Option<BizOffset>,
    /// Schedules that fire it, with all periods of their lives.
    pub schedules: Vec<(ScheduleDef, Vec<Period>)>,
    /// When the task was registered first.
    pub since: Instant,
    /// Whether it was removed, and no file defines it any more.
    pub removed: bool,
}

impl Upstream {
    /// Reads its schedules.
    ///
    /// # Errors
    /// What is wrong with a rule.
    pub fn new(origin: &Origin) -> Result<Upstream, SpecError> {
        let mut rules: Vec<(Instant, Option<Instant>, PeriodKind, Entry)> = Vec::new();
        for (_, periods) in &origin.schedules {
            for period in periods.iter().filter(|period| period.kind != PeriodKind::Removed) {
                let from = period.from.max(origin.since);
                if period.until.is_none_or(|until| from < until) {
                    rules.push((from, period.until, period.kind, entry(&period.rule)?));
                }
            }
        }
        // One rule of dates for all of them, as it is now.
        let said = origin.schedules.iter().find_map(|(def, _)| Some((def.biz_offset?, def)));
        let biz = said.map_or(Ok(BizRule::Default), |(offset, def)| {
            let open = entry(&def.rule)?.open.map(|open| open.calendar);
            Ok::<_, SpecError>(biz_rule(offset, open))
        })?;
        let ends = rules.iter().filter_map(|(_, until, ..)| *until);
        let borders: BTreeSet<Instant> = rules.iter().map(|(from, ..)| *from).chain(ends).collect();
        let borders: Vec<Instant> = borders.into_iter().collect();
        let mut stretches = Vec::new();
        for (nth, from) in borders.iter().enumerate() {
            let until = borders.get(nth + 1).copied();
            let (mut all, mut running) = (Vec::new(), Vec::new());
            for (_, _, kind, entry) in rules
                .iter()
                .filter(|(start, end, ..)| start <= from && end.is_none_or(|end| *from < end))
            {
                all.push(entry.clone());
                if *kind == PeriodKind::Active {
                    running.push(entry.clone());
                }
            }
            if all.is_empty() {
                continue;
            }
            let is_whole = running.len() == all.len();
            let running = (!is_whole).then(|| Timetable::of(running, biz.clone()));
            let all = Timetable::of(all, biz.clone());
            stretches.push(Stretch { from: *from, until, all, running });
        }
        let when = When::of(&origin.timezone, origin.biz_offset, [])?;
        let zone = Zone::named(&origin.timezone).map_err(SpecError::from)?;
        Ok(Upstream {
            stretches,
            first_date: when.date_without_schedule(zone.date(origin.since)),
            scheduled: !origin.schedules.is_empty(),
            removed: origin.removed,
        })
    }

    /// The fires of a cell, each with whether its schedule was paused then; and why there are none.
    pub fn expect(&self, at: &CellAt) -> (BTreeMap<Instant, bool>, Absence) {
        let fires = match *at {
            CellAt::Date(date) => self.of_date(date),
            CellAt::Week(date) | CellAt::Month(date) => {
                let (first, last) = at.period().unwrap_or((date, date));
                self.of_date_or_period(date, first, last)
            }
            CellAt::Slots { until, from, to } => self.slots(until, from, to),
            // Whoever looks so was made because there is one.
            CellAt::Instant(at) => BTreeMap::from([(at, false)]),
        };
        let absence = match *at {
            _ if !fires.is_empty() => Absence::NoFire,
            CellAt::Date(date) | CellAt::Week(date) | CellAt::Month(date) => self.absence(date),
            CellAt::Instant(_) => Absence::Unscheduled,
            CellAt::Slots { until, .. } => match self.stretches.first() {
                Some(first) if until <= first.from => Absence::BeforeFirst,
                None => self.absence(self.first_date),
                Some(_) => Absence::BeforeFirst,
            },
        };
        (fires, absence)
    }

    /// Whether a run for this instant is one that edges count: one of its fires, or any where it has
    /// no schedule.
    pub fn counts(&self, at: Instant) -> bool {
        let fires = |stretch: &Stretch| stretch.covers(at) && stretch.all.fire_at(at).is_some();
        !self.scheduled || self.stretches.iter().any(fires)
    }

    /// Why there is no fire for a date.
    fn absence(&self, date: Date) -> Absence {
        if !self.scheduled {
            return match date < self.first_date {
                true => Absence::BeforeFirst,
                false if self.removed => Absence::Removed,
                false => Absence::Unscheduled,
            };
        }
        let first = self.stretches.iter().find_map(|stretch| {
            let fire = stretch.all.next(stretch.from)?;
            stretch.covers(fire.at).then(|| stretch.all.biz_date(fire))
        });
        match first {
            Some(first) if date < first => return Absence::BeforeFirst,
            // It never fires in any of its lives.
            None if !self.removed => return Absence::Expired,
            _ => {}
        }
        let last = self.stretches.last();
        match last {
            Some(last) if last.fires_from(date) => Absence::NoFire,
            Some(Stretch { until: None, .. }) if !self.removed => Absence::Expired,
            _ => Absence::Removed,
        }
    }

    fn of_date(&self, date: Date) -> BTreeMap<Instant, bool> {
        let fires = self.stretches.iter().flat_map(|stretch| {
            let fires = stretch.all.fires_for_biz_date(date).map(|row| row.fire.at);
            let fires = fires.filter(|at| stretch.covers(*at)).take(MOST);
            fires.map(|at| (at, stretch.is_paused(at)))
        });
        fires.collect()
    }

    /// The fires of a date; where there are none, the one fire of the period around it, if there is
    /// just one.
    fn of_date_or_period(&self, date: Date, from: Date, to: Date) -> BTreeMap<Instant, bool> {
        of_date_or_period(date, from, to, &mut |date| self.of_date(date).into_iter().collect())
            .into_iter()
            .collect()
    }

    /// The fires of some business dates, each with its date, in the order of dates and instants.
    pub(super) fn dated(&self, from: Date, to: Date) -> Vec<(Date, Instant)> {
        let mut fires = Vec::new();
        for stretch in &self.stretches {
            if let Ok(rows) = stretch.all.backfill(from, to) {
                let rows = rows.map(|row| (row.biz_date, row.fire.at));
                fires.extend(rows.filter(|(_, at)| stretch.covers(*at)));
            }
        }
        if !fires.is_sorted() {
            fires.sort_unstable();
        }
        fires.dedup();
        fires
    }

    /// The business date of the fire at an instant, if there is one.
    pub(super) fn date_of(&self, at: Instant) -> Option<Date> {
        let stretch = self.stretches.iter().find(|stretch| stretch.covers(at))?;
        stretch.all.fire_at(at).map(|fire| stretch.all.biz_date(fire))
    }

    /// The data interval of the fire at an instant.
    pub(super) fn interval(&self, at: Instant) -> Option<(Instant, Instant)> {
        let stretch = self.stretches.iter().find(|stretch| stretch.covers(at))?;
        let (from, to) = stretch.all.interval(at);
        from.map(|from| (from, to))
    }

    /// The first business date that it has a fire for, if it ever fires.
    pub(super) fn first_fire(&self) -> Option<Date> {
        self.stretches.iter().find_map(|stretch| {
            let fire = stretch.all.next(stretch.from)?;
            stretch.covers(fire.at).then(|| stretch.all.biz_date(fire))
        })
    }

    fn slots(&self, until: Instant, from: i32, to: i32) -> BTreeMap<Instant, bool> {
        let mut fires = BTreeMap::new();
        // Backwards from the last fire up to the instant, which is slot 0.
        let earliest = usize::try_from(-i64::from(from)).unwrap_or(0);
        let latest = usize::try_from(-i64::from(to)).unwrap_or(0);
        if from <= 0 {
            let before = self.before(until.plus_micros(1)).take(earliest + 1);
            fires.extend(before.skip(latest));
        }
        if to > 0 {
            let first = usize::try_from(from.max(1)).unwrap_or(1);
            let last = usize::try_from(to).unwrap_or(1);
            fires.extend(self.after(until).take(last).skip(first - 1));
        }
        fires
    }

    fn before(&self, before: Instant) -> impl Iterator<Item = (Instant, bool)> + '_ {
        self.stretches.iter().rev().flat_map(move |stretch| {
            let end = stretch.until.map_or(before, |until| before.min(until.plus_micros(1)));
            let first = stretch.all.prev(end);
            let fires = std::iter::successors(first, |fire| stretch.all.prev(fire.at));
            let fires = fires.take_while(|fire| fire.at > stretch.from);
            fires.map(|fire| (fire.at, stretch.is_paused(fire.at)))
        })
    }

    fn after(&self, after: Instant) -> impl Iterator<Item = (Instant, bool)> + '_ {
        self.stretches.iter().flat_map(move |stretch| {
            let fires = stretch.all.after(after.max(stretch.from));
            let fires = fires.take_while(|fire| stretch.covers(fire.at));
            fires.map(|fire| (fire.at, stretch.is_paused(fire.at)))
        })
    }
}

/// The fires of a date; where there are none, the one fire of the period around it, if there is
/// just one. `of_date` gives the fires of a date, in their order.
pub(super) fn of_date_or_period<F>(
    date: Date,
    from: Date,
    to: Date,
    of_date: &mut dyn FnMut(Date) -> Vec<F>,
) -> Vec<F> {
    let fires = of_date(date);
    if !fires.is_empty() {
        return fires;
    }
    let days = 0..=dates::days_between(from, to);
    let all: Vec<F> = days.flat_map(|days| of_date(from.plus_days(days as i32))).collect();
    if all.len() == 1 { all } else { Vec::new() }
}

impl Stretch {
    fn covers(&self, at: Instant) -> bool {
        at > self.from && self.until.is_none_or(|until| at <= until)
    }

    fn is_paused(&self, at: Instant) -> bool {
        self.running.as_ref().is_some_and(|running| running.fire_at(at).is_none())
    }

    /// Whether it fires for a business date from this one on.
    fn fires_from(&self, date: Date) -> bool {
        let fires = self.all.backfill(date, date.plus_days(FAR_DAYS));
        fires.is_ok_and(|mut fires| fires.next().is_some_and(|row| self.covers(row.fire.at)))
    }
}
