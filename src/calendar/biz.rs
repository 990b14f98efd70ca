//! Business dates: the day a run's data belongs to, the interval it covers, and backfill ranges.
//!
//! Dates are computed from the
//! nominal wall time, so a run that is carried over a gap or repeated keeps its date.

use std::sync::Arc;

use super::business::BusinessCalendar;
use super::dates;
use super::fires::Fire;
use super::timetable::Timetable;
use crate::model::{Date, Instant, Problem};

/// How a business date follows from a fire.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum BizRule {
    /// One day back where the target fires at most once per local day, else
    /// [`IntervalStart`](BizRule::IntervalStart).
    #[default]
    Default,
    /// The nominal local date plus days.
    Days(i32),
    /// The nominal local date plus Monday-to-Friday days.
    Weekdays(i32),
    /// The nominal local date plus days on which a calendar is open.
    Workdays(i32, Arc<BusinessCalendar>),
    /// The local date on which the interval just closed began: that of the previous fire.
    IntervalStart,
}

/// A fire together with its business date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BizFire {
    /// The day the data belongs to.
    pub biz_date: Date,
    /// When it runs.
    pub fire: Fire,
}

impl BizRule {
    /// Reads `-1`, `0`, `-1d`, `-1 workday`, `interval_start`; workdays are those of `calendar`,
    /// or Monday to Friday without one.
    ///
    /// # Errors
    /// `syntax` for everything else.
    pub fn parse(text: &str, calendar: Option<Arc<BusinessCalendar>>) -> Result<BizRule, Problem> {
        let trimmed = text.trim();
        if trimmed == "interval_start" {
            return Ok(BizRule::IntervalStart);
        }
        let end = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let number = number.parse::<i32>().ok().filter(|n| n.abs() <= 3660);
        match (number, unit.trim()) {
            (Some(n), "" | "d" | "day" | "days") => Ok(BizRule::Days(n)),
            (Some(n), "workday" | "workdays") => Ok(match calendar {
                Some(calendar) => BizRule::Workdays(n, calendar),
                None => BizRule::Weekdays(n),
            }),
            _ => {
                let shown: String = text.chars().take(30).collect();
                Err(Problem::new("syntax", "biz_offset", format!("`{shown}` is not an offset"))
                    .hint("days such as -1, workdays such as `-1 workday`, or interval_start"))
            }
        }
    }

    /// A nominal date whose business date this is, where that depends on nothing else.
    pub fn nominal_of(&self, biz_date: Date) -> Date {
        let guess = match self {
            BizRule::Days(n) => return biz_date.plus_days(n.saturating_neg()),
            BizRule::Weekdays(n) => dates::add_workdays(biz_date, n.saturating_neg()),
            BizRule::Workdays(n, calendar) => calendar.add_days(biz_date, n.saturating_neg()),
            BizRule::Default | BizRule::IntervalStart => None,
        };
        guess.unwrap_or(biz_date)
    }

    /// The business date of a nominal date, where it depends on nothing else.
    pub fn of_date(&self, date: Date) -> Option<Date> {
        match self {
            BizRule::Days(n) => dates::add_days(date, i64::from(*n)),
            BizRule::Weekdays(n) => dates::add_workdays(date, *n),
            BizRule::Workdays(n, calendar) => calendar.add_days(date, *n),
            BizRule::Default | BizRule::IntervalStart => None,
        }
    }
}

impl Timetable {
    /// The day the data of this fire belongs to.
    ///
    /// A first fire without any interval before it belongs to its own date.
    pub fn biz_date(&self, fire: Fire) -> Date {
        let own = fire.nominal.date();
        let rule = self.effective_biz();
        if rule == &BizRule::IntervalStart {
            return self.interval_start(fire.at).map_or(own, |start| start.nominal.date());
        }
        rule.of_date(own).unwrap_or(own)
    }

    /// The data interval of the fire at an instant: from the previous fire to this one.
    pub fn interval(&self, at: Instant) -> (Option<Instant>, Instant) {
        (self.interval_start(at).map(|fire| fire.at), at)
    }

    /// The last data interval that has ended by an instant; for runs asked for by hand.
    pub fn last_complete(&self, now: Instant) -> Option<(Option<Instant>, Instant)> {
        self.prev(now.plus_micros(1)).map(|fire| self.interval(fire.at))
    }

    /// The fires whose business date is this day.
    pub fn fires_for_biz_date(&self, date: Date) -> impl Iterator<Item = BizFire> + '_ {
        self.in_biz_dates(date, date)
    }

    /// The fires whose business dates lie in a range, both ends included; there may be none.
    ///
    /// # Errors
    /// `bad_range` if the range ends before it begins.
    pub fn backfill(
        &self,
        from: Date,
        to: Date,
    ) -> Result<impl Iterator<Item = BizFire> + '_, Problem> {
        if from > to {
            let message = format!("the range ends ({to}) before it begins ({from})");
            return Err(Problem::new("bad_range", "backfill", message).hint("swap the two dates"));
        }
        Ok(self.in_biz_dates(from, to))
    }

    fn in_biz_dates(&self, from: Date, to: Date) -> impl Iterator<Item = BizFire> + '_ {
        let (low, high) = self.nominal_range(from, to);
        let (start, mut end) = self.window(low, high);
        if self.effective_biz() == &BizRule::IntervalStart {
            // The interval that begins last in the range is closed by a fire after it.
            end = self.next(end).map_or(end, |fire| fire.at.plus_micros(1));
        }
        self.after(start.plus_micros(-1))
            .take_while(move |fire| fire.at < end)
            .map(|fire| BizFire { biz_date: self.biz_date(fire), fire })
            .filter(move |row| (from..=to).contains(&row.biz_date))
    }

    /// Nominal dates among which all fires for these business dates are found (for intervals: the
    /// dates of their starts).
    fn nominal_range(&self, from: Date, to: Date) -> (Date, Date) {
        let rule = self.effective_biz();
        match rule {
            BizRule::Default | BizRule::IntervalStart => (from, to),
            BizRule::Days(n) => {
                (from.plus_days(n.saturating_neg()), to.plus_days(n.saturating_neg()))
            }
            BizRule::Weekdays(n) | BizRule::Workdays(n, _) => {
                // Counting workdays never turns two dates round, so the far end is found by walking.
                let beyond = |date: Date, end: Date, back: bool| match rule.of_date(date) {
                    Some(biz) if back => biz >= end,
                    Some(biz) => biz <= end,
                    None => false,
                };
                let (mut low, mut high) = (from, to);
                while *n > 0 && beyond(low, from, true) {
                    low = low.plus_days(-1);
                }
                while *n < 0 && beyond(high, to, false) {
                    high = high.plus_days(1);
                }
                (low, high)
            }
        }
    }
}
