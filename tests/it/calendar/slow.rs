//! A slow evaluator of cron lines, to test the fast one against.
//!
//! It shares nothing with the product: it reads the text itself, asks each day and each time of the
//! clock one after the other, and takes the zones from another library. It is meant to be plainly
//! right. `oracle.rs` compares it with answers that were computed in another language.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, TimeDelta, TimeZone};
use chrono::{MappedLocalTime, Offset};
use chrono_tz::Tz;
use mainspring::calendar::{ClockChange, Fold, Gap};

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const YEARS: std::ops::RangeInclusive<u32> = 1970..=2199;

/// A line as sets of numbers and lists of day terms.
pub struct Slow {
    seconds: BTreeSet<u32>,
    minutes: BTreeSet<u32>,
    hours: BTreeSet<u32>,
    months: BTreeSet<u32>,
    years: BTreeSet<u32>,
    month_days: Vec<MonthDay>,
    week_days: Vec<WeekDay>,
    either: bool,
}

enum MonthDay {
    Any,
    Day(u32),
    /// So many days before the last.
    Last(u32),
    /// The weekday nearest to a day; `None` is the last day, less so many.
    Near(Option<u32>, u32),
}

enum WeekDay {
    Any,
    On(u32),
    Last(u32),
    Nth(u32, u32),
}

impl Slow {
    /// Reads a line that is well formed, as the tests make them.
    pub fn read(text: &str) -> Slow {
        let upper = text.to_uppercase();
        let fields: Vec<&str> = upper.split_whitespace().collect();
        let quartz = fields.len() > 5;
        let mut all = if quartz { vec![] } else { vec!["0"] };
        all.extend(fields);
        if all.len() == 6 {
            all.push("*");
        }
        let no_names: &[&str] = &[];
        let names_of_days: Vec<(String, u32)> = DAYS
            .iter()
            .enumerate()
            .map(|(n, name)| (name.to_string(), n as u32 + u32::from(quartz)))
            .collect();
        let week_day = |text: &str| -> u32 {
            let found = names_of_days.iter().find(|(name, _)| name == text).map(|(_, n)| *n);
            let n = found.unwrap_or_else(|| text.parse().unwrap());
            (if quartz { n - 1 } else { n }) % 7
        };
        Slow {
            seconds: list(all[0], 0, 59, no_names),
            minutes: list(all[1], 0, 59, no_names),
            hours: list(all[2], 0, 23, no_names),
            months: list(all[4], 1, 12, &MONTHS),
            years: list(all[6], *YEARS.start(), *YEARS.end(), no_names),
            month_days: all[3].split(',').flat_map(month_day).collect(),
            week_days: all[5].split(',').flat_map(|item| week_days(item, &week_day)).collect(),
            either: !quartz && !starred(all[3]) && !starred(all[5]),
        }
    }

    fn matches(&self, date: NaiveDate) -> bool {
        let (year, last) = (date.year() as u32, u32::from(date.num_days_in_month()));
        if !self.years.contains(&year) || !self.months.contains(&date.month()) {
            return false;
        }
        let weekday = date.weekday().num_days_from_sunday();
        let by_month = self.month_days.iter().any(|term| match *term {
            MonthDay::Any => true,
            MonthDay::Day(day) => date.day() == day,
            MonthDay::Last(less) => date.day() + less == last,
            MonthDay::Near(day, less) => {
                let day = day.unwrap_or(last.saturating_sub(less));
                (1..=last).contains(&day) && date == nearest(date.with_day(day).unwrap(), last)
            }
        });
        let by_week = self.week_days.iter().any(|term| match *term {
            WeekDay::Any => true,
            WeekDay::On(day) => weekday == day,
            WeekDay::Last(day) => weekday == day && date.day() + 7 > last,
            WeekDay::Nth(day, nth) => weekday == day && date.day().div_ceil(7) == nth,
        });
        if self.either { by_month || by_week } else { by_month && by_week }
    }

    /// Whether any date matches at all.
    pub fn can_fire(&self) -> bool {
        let first = NaiveDate::from_ymd_opt(*YEARS.start() as i32, 1, 1).unwrap();
        let last = NaiveDate::from_ymd_opt(*YEARS.end() as i32, 12, 31).unwrap();
        first.iter_days().take_while(|date| *date <= last).any(|date| self.matches(date))
    }

    /// Matching times of the clock from one to another, both included.
    fn walls(&self, from: NaiveDateTime, to: NaiveDateTime) -> Vec<NaiveDateTime> {
        let mut found = Vec::new();
        for date in from.date().iter_days().take_while(|date| *date <= to.date()) {
            if !self.matches(date) {
                continue;
            }
            let midnight = date.and_hms_opt(0, 0, 0).unwrap();
            let (low, high) = ((from - midnight).num_hours(), (to - midnight).num_hours());
            for hour in self.hours.iter().filter(|hour| (low..=high).contains(&(**hour).into())) {
                for minute in &self.minutes {
                    for second in &self.seconds {
                        let wall = date.and_hms_opt(*hour, *minute, *second).unwrap();
                        if from <= wall && wall <= to {
                            found.push(wall);
                        }
                    }
                }
            }
        }
        found
    }

    /// Fires (second, wall time that was meant) from one second (included) to another (not).
    fn fires(&self, zone: Tz, rule: ClockChange, start: i64, end: i64) -> BTreeMap<i64, i64> {
        let every_hour = self.hours.len() == 24;
        let rule = if every_hour { ClockChange { gap: Gap::Skip, fold: Fold::Both } } else { rule };
        // What is meant lies as far from what is shown as clocks have jumped, by a day in Samoa;
        // where they do not change it is what is shown.
        let day = 86_400;
        let changes = offset(zone, start - day) != offset(zone, end + day);
        let jump = if zone == Tz::Pacific__Apia { 26 } else { 3 };
        let around = TimeDelta::hours(if changes { jump } else { 0 });
        let (from, to) = (shown(zone, start) - around, shown(zone, end) + around);
        let (mut regular, mut moved) = (BTreeMap::new(), BTreeMap::new());
        let mut gap_over: Option<(NaiveDate, bool, i64)> = None;
        for wall in self.walls(from, to) {
            let meant = wall.and_utc().timestamp();
            let second = |at: chrono::DateTime<Tz>| at.timestamp();
            match (zone.from_local_datetime(&wall), rule.fold, rule.gap) {
                (MappedLocalTime::Single(at), _, _) => {
                    regular.insert(second(at), meant);
                }
                (MappedLocalTime::Ambiguous(one, two), fold, _) => {
                    if fold != Fold::Last {
                        regular.insert(second(one), meant);
                    }
                    if fold != Fold::First {
                        regular.insert(second(two), meant);
                    }
                }
                (MappedLocalTime::None, _, Gap::Skip) => {}
                (MappedLocalTime::None, _, gap) => {
                    // Missing times of one date lie in one gap.
                    let (_, exists, after) = match gap_over {
                        Some(known) if known.0 == wall.date() => known,
                        _ => (wall.date(), exists(zone, wall.date()), after_gap(zone, wall)),
                    };
                    gap_over = Some((wall.date(), exists, after));
                    if !exists {
                        continue;
                    }
                    let before = i64::from(offset(zone, after - 1));
                    let at = if gap == Gap::Carry { after } else { meant - before };
                    // Of several that become one run the first gives it its name.
                    moved.entry(at).or_insert(meant);
                }
            }
        }
        moved.append(&mut regular);
        moved.into_iter().filter(|(at, _)| (start..end).contains(at)).collect()
    }

    /// The first fires strictly after a second.
    pub fn next(&self, zone: Tz, rule: ClockChange, after: i64, n: usize) -> Vec<(i64, i64)> {
        let (mut found, mut from, mut size) = (Vec::new(), after + 1, WINDOW.0);
        while found.len() < n {
            // Days without a fire are passed over; clocks have been off by no more than two.
            let near = shown(zone, from).date() - Days::new(2);
            let dates = near.iter_days();
            let mut dates = dates.take_while(|date| date.year() as u32 <= *YEARS.end());
            let Some(date) = dates.find(|date| self.matches(*date)) else { break };
            from = from.max(midnight(date - Days::new(2)));
            found.extend(self.fires(zone, rule, from, from + size));
            (from, size) = (from + size, (size * 8).min(WINDOW.1));
        }
        found.truncate(n);
        found
    }

    /// The last fires strictly before a second, latest first.
    pub fn prev(&self, zone: Tz, rule: ClockChange, before: i64, n: usize) -> Vec<(i64, i64)> {
        let (mut found, mut to, mut size) = (Vec::new(), before, WINDOW.0);
        while found.len() < n {
            let near = shown(zone, to).date() + Days::new(2);
            let dates = std::iter::successors(Some(near), |date| date.pred_opt());
            let mut dates = dates.take_while(|date| date.year() as u32 >= *YEARS.start());
            let Some(date) = dates.find(|date| self.matches(*date)) else { break };
            to = to.min(midnight(date + Days::new(3)));
            found.extend(self.fires(zone, rule, to - size, to).into_iter().rev());
            (to, size) = (to - size, (size * 8).min(WINDOW.1));
        }
        found.truncate(n);
        found
    }
}

/// Seconds that are looked at in one go, at first and at most: some lines fire each second.
const WINDOW: (i64, i64) = (600, 6 * 3600);

fn midnight(date: NaiveDate) -> i64 {
    date.and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp()
}

fn starred(field: &str) -> bool {
    field.starts_with(['*', '?'])
}

/// A list of plain items: `*`, `a`, `a-b`, each with `/s`.
fn list(text: &str, low: u32, high: u32, names: &[&str]) -> BTreeSet<u32> {
    text.split(',').flat_map(|item| plain(item, low, high, names)).collect()
}

fn plain(item: &str, low: u32, high: u32, names: &[&str]) -> Vec<u32> {
    let value = |text: &str| -> u32 {
        let named = names.iter().position(|name| *name == text).map(|at| at as u32 + low);
        named.unwrap_or_else(|| text.parse().unwrap())
    };
    let (body, step) = item.split_once('/').unwrap_or((item, ""));
    let values: Vec<u32> = match body.split_once('-') {
        Some((a, b)) if value(a) <= value(b) => (value(a)..=value(b)).collect(),
        Some((a, b)) => (value(a)..=high).chain(low..=value(b)).collect(),
        None if body == "*" || body.is_empty() => (low..=high).collect(),
        None if step.is_empty() => vec![value(body)],
        None => (value(body)..=high).collect(),
    };
    values.into_iter().step_by(step.parse().unwrap_or(1)).collect()
}

fn month_day(item: &str) -> Vec<MonthDay> {
    let (body, work) = (item.trim_end_matches('W'), item.ends_with('W'));
    if item == "?" {
        return vec![MonthDay::Any];
    }
    if let Some(less) = body.strip_prefix('L') {
        let less = less.strip_prefix('-').map_or(0, |n| n.parse().unwrap());
        return vec![if work { MonthDay::Near(None, less) } else { MonthDay::Last(less) }];
    }
    if work {
        return vec![MonthDay::Near(Some(body.parse().unwrap()), 0)];
    }
    plain(item, 1, 31, &[]).into_iter().map(MonthDay::Day).collect()
}

/// `number` reads a name or number as 0 for Sunday to 6.
fn week_days(item: &str, number: &dyn Fn(&str) -> u32) -> Vec<WeekDay> {
    if item == "?" {
        return vec![WeekDay::Any];
    }
    if item == "L" {
        return vec![WeekDay::On(6)];
    }
    if let Some(day) = item.strip_suffix('L') {
        return vec![WeekDay::Last(number(day))];
    }
    if let Some((day, nth)) = item.split_once('#') {
        return vec![WeekDay::Nth(number(day), nth.parse().unwrap())];
    }
    let (body, step) = item.split_once('/').unwrap_or((item, ""));
    let values: Vec<u32> = match body.split_once('-') {
        // Unix: 0-7 is the whole week and Sunday once more, 7-7 is Sunday.
        Some((a, "7")) if number("7") == 0 && a != "7" => {
            (number(a)..=7).map(|day| day % 7).collect()
        }
        Some((a, b)) => {
            let (a, b) = (number(a), number(b));
            if a <= b { (a..=b).collect() } else { (a..=6).chain(0..=b).collect() }
        }
        None if body == "*" || body.is_empty() => (0..=6).collect(),
        None if step.is_empty() => vec![number(body)],
        None => (number(body)..=6).collect(),
    };
    values.into_iter().step_by(step.parse().unwrap_or(1)).map(WeekDay::On).collect()
}

/// The weekday nearest to a day, without leaving its month.
fn nearest(date: NaiveDate, last: u32) -> NaiveDate {
    let day = date.day();
    match date.weekday().num_days_from_sunday() {
        6 if day > 1 => date - Days::new(1),
        6 => date + Days::new(2),
        0 if day < last => date + Days::new(1),
        0 => date - Days::new(2),
        _ => date,
    }
}

fn offset(zone: Tz, second: i64) -> i32 {
    let utc = chrono::DateTime::from_timestamp(second, 0).unwrap().naive_utc();
    zone.offset_from_utc_datetime(&utc).fix().local_minus_utc()
}

/// What the clocks show.
fn shown(zone: Tz, second: i64) -> NaiveDateTime {
    let utc = chrono::DateTime::from_timestamp(second, 0).unwrap().naive_utc();
    utc + TimeDelta::seconds(offset(zone, second).into())
}

/// Whether the clocks show any time of this date.
fn exists(zone: Tz, date: NaiveDate) -> bool {
    (0..48).any(|half| {
        let wall = date.and_hms_opt(half / 2, half % 2 * 30, 0).unwrap();
        !matches!(zone.from_local_datetime(&wall), MappedLocalTime::None)
    })
}

/// The first second at which the clocks show more than a time that they jump over.
fn after_gap(zone: Tz, wall: NaiveDateTime) -> i64 {
    let utc = wall.and_utc().timestamp();
    let (mut low, mut high) = (utc - 16 * 3600, utc + 16 * 3600);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if shown(zone, middle) > wall { high = middle } else { low = middle }
    }
    high
}
