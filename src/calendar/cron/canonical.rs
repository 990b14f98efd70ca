//! The canonical form: the shortest plain way to write the same schedule in the same dialect.
//!
//! Weekdays are written as names, because their numbers differ between the dialects by one.

use std::fmt::{self, Write as _};

use super::days::{MonthDay, WeekDay};
use super::fields::{WEEKDAYS, all};
use super::{Cron, Dialect, FIRST_YEAR, LAST_YEAR};

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quartz = self.dialect == Dialect::Quartz;
        let (times, dates) = (&self.times, &self.dates);
        if quartz {
            write!(f, "{} ", numbers(times.seconds, 0, 59))?;
        }
        let hours = numbers(u64::from(times.hours), 0, 23);
        write!(f, "{} {hours} ", numbers(times.minutes, 0, 59))?;
        let (dom, dow) = (self.month_days(), self.week_days());
        let months = numbers(u64::from(dates.months), 1, 12);
        // Quartz wants one field that says "no restriction", and reads `?` most readily.
        match (quartz, dow.as_str()) {
            (true, "*") => write!(f, "{dom} {months} ?")?,
            (true, _) => write!(f, "? {months} {dow}")?,
            (false, _) => write!(f, "{dom} {months} {dow}")?,
        }
        let years = self.years();
        if years != "*" {
            write!(f, " {years}")?;
        }
        Ok(())
    }
}

impl Cron {
    fn month_days(&self) -> String {
        let days = &self.dates.month_days;
        let mut text = if days.plain == 0 {
            String::new()
        } else {
            self.starred(u64::from(days.plain), 1, 31, days.starred, |n| n.to_string())
        };
        for term in &days.terms {
            if !text.is_empty() {
                text.push(',');
            }
            match *term {
                MonthDay::Last(0) => text.push('L'),
                MonthDay::Last(n) => text.push_str(&format!("L-{n}")),
                MonthDay::LastWork(0) => text.push_str("LW"),
                MonthDay::LastWork(n) => text.push_str(&format!("L-{n}W")),
                MonthDay::NearWork(n) => text.push_str(&format!("{n}W")),
            }
        }
        text
    }

    fn week_days(&self) -> String {
        let days = &self.dates.week_days;
        let name = |n: u32| WEEKDAYS.get(n as usize).copied().unwrap_or_default();
        let mut text = if days.plain == 0 {
            String::new()
        } else {
            self.starred(u64::from(days.plain), 0, 6, days.starred, |n| name(n).to_owned())
        };
        for term in &days.terms {
            if !text.is_empty() {
                text.push(',');
            }
            match *term {
                WeekDay::Nth(weekday, k) => text.push_str(&format!("{}#{k}", name(weekday))),
                WeekDay::Last(weekday) => text.push_str(&format!("{}L", name(weekday))),
            }
        }
        text
    }

    /// A day set. In the Unix dialect a leading star is not only a way of writing: it makes the
    /// two day fields mean "both", so a set that was written with one keeps one.
    fn starred(
        &self,
        set: u64,
        low: u32,
        high: u32,
        starred: bool,
        name: impl Fn(u32) -> String,
    ) -> String {
        if self.dialect == Dialect::Quartz || set == all(low, high) && starred {
            return list(set, low, high, name);
        }
        if !starred {
            // A full set written as 1-31 is no star.
            return ranges(set, high, name);
        }
        for step in 1..=high + 1 {
            let stepped: u64 = (low..=high).step_by(step as usize).map(|n| 1u64 << n).sum();
            if set & stepped == stepped {
                let rest = set & !stepped;
                let mut text = format!("*/{step}");
                if rest != 0 {
                    let _ = write!(text, ",{}", ranges(rest, high, name));
                }
                return text;
            }
        }
        list(set, low, high, name)
    }

    fn years(&self) -> String {
        let years = &self.dates.years;
        let mut text = String::new();
        let mut year = FIRST_YEAR;
        while year <= LAST_YEAR {
            let from = year;
            while year <= LAST_YEAR && years.contains(year) {
                year += 1;
            }
            if year > from {
                if from == FIRST_YEAR && year > LAST_YEAR {
                    return "*".into();
                }
                push_range(&mut text, &from.to_string(), &(year - 1).to_string(), year - 1 - from);
            }
            year += 1;
        }
        text
    }
}

fn numbers(set: u64, low: u32, high: u32) -> String {
    list(set, low, high, |n| n.to_string())
}

fn list(set: u64, low: u32, high: u32, name: impl Fn(u32) -> String) -> String {
    if set == all(low, high) { "*".into() } else { ranges(set, high, name) }
}

fn ranges(set: u64, high: u32, name: impl Fn(u32) -> String) -> String {
    let mut text = String::new();
    let mut n = 0;
    while n <= high {
        let from = n;
        while n <= high && set >> n & 1 == 1 {
            n += 1;
        }
        if n > from {
            push_range(&mut text, &name(from), &name(n - 1), (n - 1 - from) as i32);
        }
        n += 1;
    }
    text
}

fn push_range(text: &mut String, from: &str, to: &str, length: i32) {
    if !text.is_empty() {
        text.push(',');
    }
    text.push_str(from);
    match length {
        0 => {}
        1 => {
            text.push(',');
            text.push_str(to);
        }
        _ => {
            text.push('-');
            text.push_str(to);
        }
    }
}
