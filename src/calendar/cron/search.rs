//! The next and the last matching wall-clock time, by jumping from set bit to set bit.

use super::{Cron, Dates, FIRST_YEAR, LAST_YEAR, Times, Years};
use crate::calendar::wall::Wall;
use crate::model::Date;

impl Cron {
    /// The first matching wall time not before this one.
    pub fn ceil(&self, wall: Wall) -> Option<Wall> {
        let (date, second) = (wall.date(), wall.second_of_day());
        // After the day's last time only the days from tomorrow on are of interest.
        let over = second > self.times.last();
        let found = self.ceil_date(if over { date.plus_days(1) } else { date })?;
        let second = if found == date { self.times.ceil(second)? } else { self.times.first() };
        Some(Wall::new(found, second))
    }

    /// The last matching wall time not after this one.
    pub fn floor(&self, wall: Wall) -> Option<Wall> {
        let (date, second) = (wall.date(), wall.second_of_day());
        let before = second < self.times.first();
        let found = self.floor_date(if before { date.plus_days(-1) } else { date })?;
        let second = if found == date { self.times.floor(second)? } else { self.times.last() };
        Some(Wall::new(found, second))
    }

    /// The first date that can match at all.
    pub(super) fn first_date(&self) -> Option<Date> {
        self.ceil_date(Date(0))
    }

    /// The first matching date not before this one.
    pub(crate) fn ceil_date(&self, date: Date) -> Option<Date> {
        self.dates.ceil(date)
    }

    /// The last matching date not after this one.
    pub(crate) fn floor_date(&self, date: Date) -> Option<Date> {
        self.dates.floor(date)
    }
}

impl Dates {
    fn ceil(&self, date: Date) -> Option<Date> {
        let (mut year, mut month, mut day) = date.ymd();
        if year < FIRST_YEAR {
            (year, month, day) = (FIRST_YEAR, 1, 1);
        }
        loop {
            let wanted = self.years.ceil(year)?;
            if wanted != year {
                (year, month, day) = (wanted, 1, 1);
            }
            while let Some(wanted) = ceil_bit(u64::from(self.months), month) {
                if wanted != month {
                    (month, day) = (wanted, 1);
                }
                let (first, days) = self.month(year, month)?;
                if let Some(found) = ceil_bit(u64::from(days), day) {
                    return Some(first.plus_days(found as i32 - 1));
                }
                (month, day) = (month + 1, 1);
            }
            (year, month, day) = (year + 1, 1, 1);
        }
    }

    fn floor(&self, date: Date) -> Option<Date> {
        let (mut year, mut month, mut day) = date.ymd();
        if year > LAST_YEAR {
            (year, month, day) = (LAST_YEAR, 12, 31);
        }
        loop {
            let wanted = self.years.floor(year)?;
            if wanted != year {
                (year, month, day) = (wanted, 12, 31);
            }
            while let Some(wanted) = floor_bit(u64::from(self.months), month) {
                if wanted != month {
                    (month, day) = (wanted, 31);
                }
                let (first, days) = self.month(year, month)?;
                if let Some(found) = floor_bit(u64::from(days), day) {
                    return Some(first.plus_days(found as i32 - 1));
                }
                (month, day) = (month - 1, 31);
            }
            (year, month, day) = (year - 1, 12, 31);
        }
    }

    /// First day of a month, and the set of its days that match.
    fn month(&self, year: i32, month: u32) -> Option<(Date, u32)> {
        let first = Date::from_ymd(year, month, 1)?;
        let length = Date::days_in_month(year, month);
        let weekday = (first.weekday() + 1) % 7;
        Some((first, self.table[(length - 28) as usize][weekday as usize]))
    }
}

impl Times {
    fn ceil(&self, second_of_day: i64) -> Option<i64> {
        let s = second_of_day as u32;
        let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
        let h = ceil_bit(u64::from(self.hours), hour)?;
        if h == hour {
            if let Some(m) = ceil_bit(self.minutes, minute) {
                if m > minute {
                    return Some(at(h, m, self.seconds.trailing_zeros()));
                }
                if let Some(s) = ceil_bit(self.seconds, second) {
                    return Some(at(h, m, s));
                }
                if let Some(m) = ceil_bit(self.minutes, minute + 1) {
                    return Some(at(h, m, self.seconds.trailing_zeros()));
                }
            }
            let h = ceil_bit(u64::from(self.hours), hour + 1)?;
            return Some(at(h, self.minutes.trailing_zeros(), self.seconds.trailing_zeros()));
        }
        Some(at(h, self.minutes.trailing_zeros(), self.seconds.trailing_zeros()))
    }

    fn floor(&self, second_of_day: i64) -> Option<i64> {
        let s = second_of_day as u32;
        let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
        let h = floor_bit(u64::from(self.hours), hour)?;
        if h == hour {
            if let Some(m) = floor_bit(self.minutes, minute) {
                if m < minute {
                    return Some(at(h, m, top_bit(self.seconds)));
                }
                if let Some(s) = floor_bit(self.seconds, second) {
                    return Some(at(h, m, s));
                }
                if let Some(m) = minute.checked_sub(1).and_then(|m| floor_bit(self.minutes, m)) {
                    return Some(at(h, m, top_bit(self.seconds)));
                }
            }
            let h = hour.checked_sub(1).and_then(|h| floor_bit(u64::from(self.hours), h))?;
            return Some(at(h, top_bit(self.minutes), top_bit(self.seconds)));
        }
        Some(at(h, top_bit(self.minutes), top_bit(self.seconds)))
    }

    fn first(&self) -> i64 {
        let hour = self.hours.trailing_zeros();
        at(hour, self.minutes.trailing_zeros(), self.seconds.trailing_zeros())
    }

    fn last(&self) -> i64 {
        at(top_bit(u64::from(self.hours)), top_bit(self.minutes), top_bit(self.seconds))
    }
}

impl Years {
    pub(super) fn insert(&mut self, year: i32) {
        if let Some((word, bit)) = Years::place(year) {
            self.0[word] |= 1 << bit;
        }
    }

    pub(super) fn contains(&self, year: i32) -> bool {
        Years::place(year).is_some_and(|(word, bit)| self.0[word] >> bit & 1 == 1)
    }

    fn ceil(&self, year: i32) -> Option<i32> {
        let (mut word, mut bit) = Years::place(year)?;
        loop {
            if let Some(bit) = ceil_bit(self.0[word], bit) {
                return Some(FIRST_YEAR + word as i32 * 64 + bit as i32);
            }
            (word, bit) = (word + 1, 0);
            if word == self.0.len() {
                return None;
            }
        }
    }

    fn floor(&self, year: i32) -> Option<i32> {
        let (mut word, mut bit) = Years::place(year)?;
        loop {
            if let Some(bit) = floor_bit(self.0[word], bit) {
                return Some(FIRST_YEAR + word as i32 * 64 + bit as i32);
            }
            (word, bit) = (word.checked_sub(1)?, 63);
        }
    }

    fn place(year: i32) -> Option<(usize, u32)> {
        let n = u32::try_from(year - FIRST_YEAR).ok().filter(|_| year <= LAST_YEAR)?;
        Some((n as usize / 64, n % 64))
    }
}

fn at(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3600 + minute * 60 + second)
}

/// The lowest set bit that is not below `from`.
fn ceil_bit(set: u64, from: u32) -> Option<u32> {
    let rest = set.checked_shr(from)?;
    (rest != 0).then(|| from + rest.trailing_zeros())
}

/// The highest set bit that is not above `from`.
fn floor_bit(set: u64, from: u32) -> Option<u32> {
    let rest = set & (u64::MAX >> (63 - from.min(63)));
    (rest != 0).then(|| top_bit(rest))
}

/// The highest bit of a set that is not empty.
fn top_bit(set: u64) -> u32 {
    63 - set.leading_zeros().min(63)
}
