//! Fires on closed days: left out, or rolled to an open day near by.
//!
//! A day that has fires of its own takes no rolled one; one that has none takes one at most: that
//! of the nearest closed day, at its first time of day.

use super::fires::Fire;
use super::timetable::{Entry, Open, window};
use super::wall::Wall;
use super::zone::Meaning;
use crate::model::{Date, Fold, Instant, OnClosed};

use super::rule::Rule;

impl Open {
    /// The first fire strictly after an instant.
    pub(super) fn next(&self, entry: &Entry, after: Instant) -> Option<Fire> {
        let own = self.own_next(entry, after);
        let rolled = match self.on {
            OnClosed::Skip => None,
            _ => self.rolled_next(entry, after, own),
        };
        own.into_iter().chain(rolled).min_by_key(|fire| fire.at)
    }

    /// The last fire strictly before an instant.
    pub(super) fn prev(&self, entry: &Entry, before: Instant) -> Option<Fire> {
        let own = self.own_prev(entry, before);
        let rolled = match self.on {
            OnClosed::Skip => None,
            _ => self.rolled_prev(entry, before, own),
        };
        own.into_iter().chain(rolled).max_by_key(|fire| fire.at)
    }

    /// The first fire on an open day.
    fn own_next(&self, entry: &Entry, mut after: Instant) -> Option<Fire> {
        loop {
            let fire = entry.raw_next(after)?;
            let date = fire.nominal.date();
            if self.calendar.is_open(date) {
                return Some(fire);
            }
            let open = self.calendar.ceil(date.plus_days(1))?;
            after = begin(entry, open).max(fire.at);
        }
    }

    /// The last fire on an open day.
    fn own_prev(&self, entry: &Entry, mut before: Instant) -> Option<Fire> {
        loop {
            let fire = entry.raw_prev(before)?;
            let date = fire.nominal.date();
            if self.calendar.is_open(date) {
                return Some(fire);
            }
            let open = self.calendar.floor(date.plus_days(-1))?;
            before = end(entry, open).min(fire.at);
        }
    }

    /// The first rolled fire after an instant; none where one on an open day comes before it.
    fn rolled_next(&self, entry: &Entry, after: Instant, own: Option<Fire>) -> Option<Fire> {
        let date = entry.rule.zone().date(after).plus_days(-1);
        // Closed days before the day itself may be rolled to it.
        let from = match self.on {
            OnClosed::Next => self.calendar.floor(date).unwrap_or(date),
            _ => date,
        };
        let mut raw = entry.raw_next(begin(entry, from))?;
        loop {
            let date = raw.nominal.date();
            let target = self.target(date);
            let beyond = |day: Date| own.is_some_and(|own| day > own.nominal.date());
            if target.is_none_or(beyond) && beyond(date) {
                return None;
            }
            if !self.calendar.is_open(date)
                && let Some(fire) = target.and_then(|day| self.rolled(entry, day))
                && fire.at > after
            {
                return Some(fire);
            }
            // Past this day or, where it is closed, past all that are closed with it.
            let next = match self.calendar.is_open(date) {
                true => date.plus_days(1),
                false => self.calendar.ceil(date)?,
            };
            raw = entry.raw_next(begin(entry, next).max(raw.at))?;
        }
    }

    /// The last rolled fire before an instant; none where one on an open day comes after it.
    fn rolled_prev(&self, entry: &Entry, before: Instant, own: Option<Fire>) -> Option<Fire> {
        let date = entry.rule.zone().date(before).plus_days(1);
        let to = match self.on {
            OnClosed::Previous => self.calendar.ceil(date).unwrap_or(date),
            _ => date,
        };
        let mut raw = entry.raw_prev(end(entry, to))?;
        loop {
            let date = raw.nominal.date();
            let target = self.target(date);
            let beyond = |day: Date| own.is_some_and(|own| day < own.nominal.date());
            if target.is_none_or(beyond) && beyond(date) {
                return None;
            }
            if !self.calendar.is_open(date)
                && let Some(fire) = target.and_then(|day| self.rolled(entry, day))
                && fire.at < before
            {
                return Some(fire);
            }
            let next = match self.calendar.is_open(date) {
                true => date.plus_days(-1),
                false => self.calendar.floor(date)?,
            };
            raw = entry.raw_prev(end(entry, next).min(raw.at))?;
        }
    }

    /// The open day that a date is rolled to.
    fn target(&self, date: Date) -> Option<Date> {
        match self.on {
            OnClosed::Previous => self.calendar.floor(date),
            _ => self.calendar.ceil(date),
        }
    }

    /// The fire that is rolled to an open day, unless that has fires of its own.
    fn rolled(&self, entry: &Entry, day: Date) -> Option<Fire> {
        if on(entry, day).is_some() {
            return None;
        }
        let from = match self.on {
            // The nearest closed day that has a fire: the last before, or the first after.
            OnClosed::Previous => entry.raw_next(begin(entry, day.plus_days(1)))?,
            _ => entry.raw_prev(end(entry, day.plus_days(-1)))?,
        };
        let from = from.nominal.date();
        if self.calendar.is_open(from) || self.target(from) != Some(day) {
            return None;
        }
        let time = on(entry, from)?.nominal.second_of_day();
        let nominal = Wall::new(day, time);
        let at = match entry.rule.zone().meaning(nominal) {
            Meaning::Twice(_, last) if fold(&entry.rule) == Fold::Last => last,
            Meaning::Once(at) | Meaning::Twice(at, _) | Meaning::Never { end: at, .. } => at,
        };
        Some(Fire { at, nominal })
    }
}

fn fold(rule: &Rule) -> Fold {
    match rule {
        Rule::Cron(rule) => rule.clock.fold,
        _ => Fold::First,
    }
}

/// The first fire of a day.
fn on(entry: &Entry, day: Date) -> Option<Fire> {
    let (start, end) = window(entry.rule.zone(), day, day);
    std::iter::successors(entry.raw_next(start.plus_micros(-1)), |fire| entry.raw_next(fire.at))
        .take_while(|fire| fire.at < end)
        .find(|fire| fire.nominal.date() == day)
}

/// Just before everything that a day can have.
fn begin(entry: &Entry, day: Date) -> Instant {
    window(entry.rule.zone(), day, day).0.plus_micros(-1)
}

/// Just after it.
fn end(entry: &Entry, day: Date) -> Instant {
    window(entry.rule.zone(), day, day).1
}
