//! Business calendars: named sets of days.
//!
//! A calendar is worked out to one bit per day of the years that schedules have. Union, minus and
//! counting workdays are then plain bit operations, whatever the calendar was built from.

use super::cron::{Cron, FIRST_YEAR, LAST_YEAR};
use crate::model::{CalendarDef, Date, Problem};

/// Days from 1970-01-01 to 2199-12-31.
const DAYS: i32 = 84_006;
const WORDS: usize = (DAYS as usize).div_ceil(64);

/// A named set of days on which something is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusinessCalendar {
    name: String,
    days: Vec<u64>,
}

impl BusinessCalendar {
    /// A calendar without any day.
    pub fn empty(name: &str) -> BusinessCalendar {
        BusinessCalendar { name: name.to_owned(), days: vec![0; WORDS] }
    }

    /// Every date that falls on one of these weekdays (Monday 0).
    pub fn weekdays(name: &str, weekdays: &[u32]) -> BusinessCalendar {
        let mut calendar = BusinessCalendar::empty(name);
        for day in (0..DAYS).map(Date) {
            if weekdays.contains(&day.weekday()) {
                calendar.set(day, true);
            }
        }
        calendar
    }

    /// The calendar that a definition describes. Days outside of 1970 to 2199 are in none.
    pub fn of(def: &CalendarDef) -> BusinessCalendar {
        let weekdays: Vec<u32> = def.weekdays.iter().map(|day| u32::from(*day)).collect();
        let mut calendar = BusinessCalendar::weekdays(&def.name, &weekdays);
        def.include.iter().for_each(|date| calendar.set(*date, true));
        def.exclude.iter().for_each(|date| calendar.set(*date, false));
        calendar
    }

    /// The shortest definition of the same days: a weekday counts as open where more of its days
    /// are than not.
    pub fn def(&self) -> CalendarDef {
        let all = || (0..DAYS).map(Date);
        let mut balance = [0i32; 7];
        for day in all() {
            balance[day.weekday() as usize] += if self.is_open(day) { 1 } else { -1 };
        }
        let open = |day: Date| balance[day.weekday() as usize] > 0;
        CalendarDef {
            name: self.name.clone(),
            weekdays: (0..7).filter(|day| balance[usize::from(*day)] > 0).collect(),
            include: all().filter(|day| self.is_open(*day) && !open(*day)).collect(),
            exclude: all().filter(|day| !self.is_open(*day) && open(*day)).collect(),
        }
    }

    /// Every date that a cron expression can match; its times of day do not matter.
    pub fn from_cron(name: &str, cron: &Cron) -> BusinessCalendar {
        let mut calendar = BusinessCalendar::empty(name);
        let mut next = cron.ceil_date(Date(0));
        while let Some(date) = next {
            calendar.set(date, true);
            next = cron.ceil_date(date.plus_days(1));
        }
        calendar
    }

    /// The dates of the events of iCalendar text.
    ///
    /// # Errors
    /// `too_long`, `syntax`, `out_of_range`, and `unsupported` for repetitions that are not yearly.
    pub fn from_ics(name: &str, text: &str) -> Result<BusinessCalendar, Problem> {
        let dates = super::ics::dates(text)?;
        BusinessCalendar::empty(name).include(&dates)
    }

    /// The same with these days added, such as make-up workdays.
    ///
    /// # Errors
    /// `out_of_range` for days outside 1970 to 2199, which would be dropped in silence.
    pub fn include(mut self, dates: &[Date]) -> Result<BusinessCalendar, Problem> {
        dates.iter().try_for_each(|date| self.checked_set(*date, true))?;
        Ok(self)
    }

    /// The same with these days taken away, such as holidays.
    ///
    /// # Errors
    /// `out_of_range` for days outside 1970 to 2199.
    pub fn exclude(mut self, dates: &[Date]) -> Result<BusinessCalendar, Problem> {
        dates.iter().try_for_each(|date| self.checked_set(*date, false))?;
        Ok(self)
    }

    /// The days of either calendar.
    #[must_use]
    pub fn union(mut self, other: &BusinessCalendar) -> BusinessCalendar {
        self.days.iter_mut().zip(&other.days).for_each(|(mine, theirs)| *mine |= theirs);
        self
    }

    /// The days of this calendar that are not in the other.
    #[must_use]
    pub fn minus(mut self, other: &BusinessCalendar) -> BusinessCalendar {
        self.days.iter_mut().zip(&other.days).for_each(|(mine, theirs)| *mine &= !theirs);
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same days under another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> BusinessCalendar {
        name.clone_into(&mut self.name);
        self
    }

    /// Whether the day is in the set.
    pub fn is_open(&self, date: Date) -> bool {
        place(date).is_some_and(|(word, bit)| self.days[word] >> bit & 1 == 1)
    }

    /// The first open day not before this one.
    pub fn ceil(&self, date: Date) -> Option<Date> {
        let (mut word, bit) = place(date.max(Date(0)))?;
        let mut rest = self.days[word] & (u64::MAX << bit);
        while rest == 0 {
            word += 1;
            rest = *self.days.get(word)?;
        }
        Some(Date(word as i32 * 64 + rest.trailing_zeros() as i32))
    }

    /// The last open day not after this one.
    pub fn floor(&self, date: Date) -> Option<Date> {
        let (mut word, bit) = place(date.min(Date(DAYS - 1)))?;
        let mut rest = self.days[word] & (u64::MAX >> (63 - bit));
        while rest == 0 {
            word = word.checked_sub(1)?;
            rest = self.days[word];
        }
        Some(Date(word as i32 * 64 + 63 - rest.leading_zeros() as i32))
    }

    /// Some open days on (or back if negative); 0 leaves the date as it is.
    pub fn add_days(&self, date: Date, days: i32) -> Option<Date> {
        let mut at = date;
        for _ in 0..days.unsigned_abs() {
            at = if days > 0 { self.ceil(at.plus_days(1))? } else { self.floor(at.plus_days(-1))? };
        }
        Some(at)
    }

    /// How many days are open from one date to another, both included.
    pub fn count(&self, from: Date, to: Date) -> usize {
        let mut next = self.ceil(from).filter(|date| *date <= to);
        let mut count = 0;
        while let Some(date) = next {
            count += 1;
            next = self.ceil(date.plus_days(1)).filter(|date| *date <= to);
        }
        count
    }

    fn set(&mut self, date: Date, open: bool) {
        if let Some((word, bit)) = place(date) {
            let mask = 1u64 << bit;
            if open {
                self.days[word] |= mask;
            } else {
                self.days[word] &= !mask;
            }
        }
    }

    fn checked_set(&mut self, date: Date, open: bool) -> Result<(), Problem> {
        if place(date).is_none() {
            let place = format!("calendar {}", self.name);
            let message = format!("{date} is outside the years {FIRST_YEAR} to {LAST_YEAR}");
            return Err(Problem::new("out_of_range", place, message));
        }
        self.set(date, open);
        Ok(())
    }
}

fn place(date: Date) -> Option<(usize, u32)> {
    (0..DAYS).contains(&date.0).then_some((date.0 as usize / 64, date.0 as u32 % 64))
}
