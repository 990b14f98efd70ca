//! Everything that fires one target: its rules, their first and last dates, its business dates.

use std::sync::Arc;

use super::biz::BizRule;
use super::business::BusinessCalendar;
use super::fires::Fire;
use super::rule::Rule;
use super::wall::{DAY, Wall};
use super::zone::{Meaning, Zone};
use crate::model::{Date, Instant, OnClosed, Problem};

/// A rule with the nominal local dates between which it counts, both included.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it fires.
    pub rule: Rule,
    /// First nominal date.
    pub start: Option<Date>,
    /// Last nominal date, to its last second.
    pub end: Option<Date>,
    /// The days on which it may fire, if not on all, and what happens on the others.
    pub open: Option<Open>,
}

/// The days on which something may fire.
#[derive(Clone, Debug)]
pub struct Open {
    /// The days.
    pub calendar: Arc<BusinessCalendar>,
    /// What happens to fires on other days.
    pub on: OnClosed,
}

/// What a rule says of an instant: run, or do not because of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The instant and the wall time.
    pub fire: Fire,
    /// Whether the calendar is closed on its day, so that it makes no run.
    pub closed: bool,
}

/// All rules of one target. Two rules at one instant are one fire.
#[derive(Clone, Debug)]
pub struct Timetable {
    entries: Vec<Entry>,
    biz: BizRule,
    effective: BizRule,
}

impl Timetable {
    /// One rule without limits and with the default business dates.
    pub fn new(rule: Rule) -> Timetable {
        Timetable::of(vec![Entry::always(rule)], BizRule::Default)
    }

    /// Any number of rules.
    pub fn of(entries: Vec<Entry>, biz: BizRule) -> Timetable {
        let effective = match &biz {
            BizRule::Default if once_a_day(&entries) => BizRule::Days(-1),
            BizRule::Default => BizRule::IntervalStart,
            other => other.clone(),
        };
        Timetable { entries, biz, effective }
    }

    /// The rules.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How business dates are computed, as it was said.
    pub fn biz(&self) -> &BizRule {
        &self.biz
    }

    /// How business dates are computed, the default resolved.
    pub fn effective_biz(&self) -> &BizRule {
        &self.effective
    }

    /// The first fire strictly after an instant.
    pub fn next(&self, after: Instant) -> Option<Fire> {
        self.entries.iter().filter_map(|entry| entry.next(after)).min_by_key(|fire| fire.at)
    }

    /// The last fire strictly before an instant.
    pub fn prev(&self, before: Instant) -> Option<Fire> {
        // `max_by_key` takes the last of equals and `next` the first, hence the reversal.
        self.entries.iter().rev().filter_map(|entry| entry.prev(before)).max_by_key(|fire| fire.at)
    }

    /// The fire at exactly this instant, if there is one.
    pub fn fire_at(&self, at: Instant) -> Option<Fire> {
        self.next(at.plus_micros(-1)).filter(|fire| fire.at == at)
    }

    /// All fires strictly after an instant, in order.
    pub fn after(&self, after: Instant) -> impl Iterator<Item = Fire> + '_ {
        std::iter::successors(self.next(after), |fire| self.next(fire.at))
    }

    /// The fires from one instant (included) to another (not included).
    pub fn between(&self, from: Instant, to: Instant) -> impl Iterator<Item = Fire> + '_ {
        self.after(from.plus_micros(-1)).take_while(move |fire| fire.at < to)
    }

    /// What is legal but probably not meant; for `check`.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut problems = vec![];
        let weekdays = self.entries.iter().any(
            |entry| matches!(&entry.rule, Rule::Cron(rule) if rule.cron.leaves_out_weekdays()),
        );
        if weekdays && self.biz == BizRule::Default && self.effective == BizRule::Days(-1) {
            problems.push(
                Problem::new(
                    "biz_weekdays",
                    "biz_offset",
                    "the schedule leaves out some weekdays, so the default of one day back gives \
                     Monday's run Sunday's date and some days no run",
                )
                .hint("biz_offset = \"-1 workday\" or \"interval_start\", or any number of days"),
            );
        }
        problems
    }

    /// The fire at which the interval that ends at `at` began.
    ///
    /// Limits of the dates do not shorten the very first interval: a daily schedule that starts
    /// on the 10th covers one day on the 10th too.
    pub(super) fn interval_start(&self, at: Instant) -> Option<Fire> {
        self.prev(at).or_else(|| {
            let firing = self.entries.iter().filter(|entry| entry.rule.fire_at(at).is_some());
            firing.filter_map(|entry| entry.rule.interval_start(at)).max_by_key(|fire| fire.at)
        })
    }

    /// Instants among which all fires with nominal dates in a range are found.
    pub(super) fn window(&self, from: Date, to: Date) -> (Instant, Instant) {
        let windows = || self.entries.iter().map(|entry| window(entry.rule.zone(), from, to));
        let start = windows().map(|(start, _)| start).min().unwrap_or(Instant(0));
        let end = windows().map(|(_, end)| end).max().unwrap_or(Instant(0));
        (start, end)
    }
}

impl Entry {
    /// A rule without first or last date and without a calendar.
    pub fn always(rule: Rule) -> Entry {
        Entry { rule, start: None, end: None, open: None }
    }

    /// The first occurrence strictly after an instant: a fire, or one that the calendar forbids.
    pub fn occurrence_after(&self, after: Instant) -> Option<Occurrence> {
        match &self.open {
            Some(open) if open.on == OnClosed::Skip => {
                let fire = self.raw_next(after)?;
                let closed = !open.calendar.is_open(fire.nominal.date());
                Some(Occurrence { fire, closed })
            }
            _ => self.next(after).map(|fire| Occurrence { fire, closed: false }),
        }
    }

    /// The last occurrence strictly before an instant.
    pub fn occurrence_before(&self, before: Instant) -> Option<Occurrence> {
        match &self.open {
            Some(open) if open.on == OnClosed::Skip => {
                let fire = self.raw_prev(before)?;
                let closed = !open.calendar.is_open(fire.nominal.date());
                Some(Occurrence { fire, closed })
            }
            _ => self.prev(before).map(|fire| Occurrence { fire, closed: false }),
        }
    }

    /// The first fire strictly after an instant.
    pub fn next(&self, after: Instant) -> Option<Fire> {
        match &self.open {
            None => self.raw_next(after),
            Some(open) => open.next(self, after),
        }
    }

    /// The last fire strictly before an instant.
    pub fn prev(&self, before: Instant) -> Option<Fire> {
        match &self.open {
            None => self.raw_prev(before),
            Some(open) => open.prev(self, before),
        }
    }

    /// The first fire after an instant, whatever the calendar says.
    pub(super) fn raw_next(&self, mut after: Instant) -> Option<Fire> {
        let zone = self.rule.zone();
        if let Some(start) = self.start {
            after = after.max(window(zone, start, start).0.plus_micros(-1));
        }
        match self.end {
            None => self.rule.after(after).find(|fire| self.covers(*fire)),
            Some(end) => {
                let (_, end) = window(zone, end, end);
                let inside = self.rule.after(after).take_while(|fire| fire.at < end);
                inside.into_iter().find(|fire| self.covers(*fire))
            }
        }
    }

    /// The last fire before an instant, whatever the calendar says.
    pub(super) fn raw_prev(&self, mut before: Instant) -> Option<Fire> {
        let zone = self.rule.zone();
        if let Some(end) = self.end {
            before = before.min(window(zone, end, end).1);
        }
        match self.start {
            None => self.rule.before(before).find(|fire| self.covers(*fire)),
            Some(start) => {
                let (start, _) = window(zone, start, start);
                let inside = self.rule.before(before).take_while(|fire| fire.at >= start);
                inside.into_iter().find(|fire| self.covers(*fire))
            }
        }
    }

    fn covers(&self, fire: Fire) -> bool {
        let date = fire.nominal.date();
        self.start.is_none_or(|start| start <= date) && self.end.is_none_or(|end| date <= end)
    }
}

/// Start (included) and end (not included) of all instants whose nominal date can lie in a range.
///
/// Wider than the local days: clocks may go back over midnight into the previous date, and a run
/// of the last date may be carried or shifted out of a gap.
pub(super) fn window(zone: &Zone, from: Date, to: Date) -> (Instant, Instant) {
    let start = zone.first_instant(Wall::new(from, 0));
    let end = match zone.meaning(Wall::new(to.plus_days(1), 0)) {
        Meaning::Once(at) | Meaning::Twice(_, at) | Meaning::Never { end: at, .. } => at,
    };
    // A gap just before may have moved runs of the last date behind this midnight: to its end, or
    // by its whole size.
    let day_before = end.plus_micros(-DAY * Instant::SECOND);
    let moved = (zone.offset(end) - zone.offset(day_before)).max(0) + 1;
    (start, end.plus_micros(moved * Instant::SECOND))
}

/// Whether several rules together fire at most once per local date.
fn once_a_day(entries: &[Entry]) -> bool {
    if !entries.iter().all(|entry| entry.rule.once_a_day()) {
        return false;
    }
    entries.iter().enumerate().all(|(i, a)| {
        entries[i + 1..].iter().all(|b| match (&a.rule, &b.rule) {
            (Rule::Cron(a), Rule::Cron(b)) => {
                a.zone == b.zone
                    && (a.cron.same_time_of_day(&b.cron) || !a.cron.shares_a_date_with(&b.cron))
            }
            // Nothing is known about other pairs; interval starts are right for any of them.
            _ => false,
        })
    })
}
