//! Arithmetic on dates: months, quarters, ISO weeks, Monday-to-Friday workdays.
//!
//! Results outside the years 1 to 9999 are `None`. Holidays are not known here; see
//! [`BusinessCalendar`](super::BusinessCalendar).

use crate::model::Date;

/// The same day some months on, or the last day of that month if it is shorter.
///
/// It clamps and does not stick to month ends: 30 April - 1 month is 30 March, where Oracle and
/// Hive say 31.
pub fn add_months(date: Date, months: i32) -> Option<Date> {
    let (year, month, day) = date.ymd();
    let index = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(months);
    let year = i32::try_from(index.div_euclid(12)).ok()?;
    let month = index.rem_euclid(12) as u32 + 1;
    Date::from_ymd(year, month, day.min(Date::days_in_month(year, month)))
}

/// Some days on, inside the years that dates have.
pub fn add_days(date: Date, days: i64) -> Option<Date> {
    let day = i64::from(date.0).checked_add(days)?;
    i32::try_from(day).ok().map(Date).filter(|date| (Date::MIN..=Date::MAX).contains(date))
}

/// Days from one date to another; negative if `to` is earlier.
pub fn days_between(from: Date, to: Date) -> i64 {
    i64::from(to.0) - i64::from(from.0)
}

/// The first day of the month.
pub fn month_start(date: Date) -> Date {
    let (_, _, day) = date.ymd();
    Date(date.0 - day as i32 + 1)
}

/// The last day of the month.
pub fn month_end(date: Date) -> Date {
    let (year, month, day) = date.ymd();
    Date(date.0 + (Date::days_in_month(year, month) - day) as i32)
}

/// The first day of the quarter.
pub fn quarter_start(date: Date) -> Date {
    let (year, month, _) = date.ymd();
    Date::from_ymd(year, (month - 1) / 3 * 3 + 1, 1).unwrap_or(date)
}

/// The last day of the quarter.
pub fn quarter_end(date: Date) -> Date {
    let (year, month, _) = date.ymd();
    Date::from_ymd(year, (month - 1) / 3 * 3 + 3, 1).map_or(date, month_end)
}

/// The first and the last day of the quarter before.
pub fn prev_quarter(date: Date) -> (Date, Date) {
    let last = Date(quarter_start(date).0 - 1);
    (quarter_start(last), last)
}

/// The first day of the year.
pub fn year_start(date: Date) -> Date {
    Date::from_ymd(date.ymd().0, 1, 1).unwrap_or(date)
}

/// The last day of the year.
pub fn year_end(date: Date) -> Date {
    Date::from_ymd(date.ymd().0, 12, 31).unwrap_or(date)
}

/// The Monday of the week.
pub fn week_start(date: Date) -> Date {
    Date(date.0 - date.weekday() as i32)
}

/// The Sunday of the week.
pub fn week_end(date: Date) -> Date {
    Date(week_start(date).0 + 6)
}

/// Year and number of the ISO week: the year is the one that has the week's Thursday, so
/// 30 December 2024 lies in week 1 of 2025.
pub fn iso_week(date: Date) -> (i32, u32) {
    let thursday = Date(week_start(date).0 + 3);
    let week = (thursday.0 - year_start(thursday).0) / 7 + 1;
    (thursday.ymd().0, week as u32)
}

/// Number of the day in its year, from 1.
pub fn day_of_year(date: Date) -> u32 {
    (date.0 - year_start(date).0) as u32 + 1
}

/// Monday to Friday.
pub fn is_weekday(date: Date) -> bool {
    date.weekday() < 5
}

/// Some Monday-to-Friday days on (or back); 0 leaves the date as it is, also a Sunday.
pub fn add_workdays(date: Date, days: i32) -> Option<Date> {
    // Whole weeks are five workdays from any day; what is left is walked.
    let mut at = add_days(date, i64::from(days / 5) * 7)?;
    let step = i64::from(days.signum());
    let mut left = days % 5;
    if left == 0 && days != 0 && !is_weekday(at) {
        // From a weekend, the last of the workdays is the one on the near side.
        while !is_weekday(at) {
            at = add_days(at, -step)?;
        }
    }
    while left != 0 {
        at = add_days(at, step)?;
        if is_weekday(at) {
            left -= days.signum();
        }
    }
    Some(at)
}

/// Monday to Friday nearest to this date, inside its month (what `W` means in cron).
pub fn nearest_workday(date: Date) -> Date {
    let (start, end) = (month_start(date), month_end(date));
    match date.weekday() {
        5 if date > start => Date(date.0 - 1),
        5 => Date(date.0 + 2),
        6 if date < end => Date(date.0 + 1),
        6 => Date(date.0 - 2),
        _ => date,
    }
}

/// The first Monday-to-Friday day of the month.
pub fn first_workday_of_month(date: Date) -> Date {
    nearest_workday(month_start(date))
}

/// The last Monday-to-Friday day of the month.
pub fn last_workday_of_month(date: Date) -> Date {
    nearest_workday(month_end(date))
}

/// The k-th weekday (Monday 0) of the month; `None` if the month has not so many.
pub fn nth_weekday(date: Date, weekday: u32, k: u32) -> Option<Date> {
    let start = month_start(date);
    let first = (weekday + 7 - start.weekday()) % 7;
    let day = Date(start.0 + i32::try_from(first + k.checked_sub(1)?.checked_mul(7)?).ok()?);
    (day <= month_end(date)).then_some(day)
}

/// The last such weekday (Monday 0) of the month.
pub fn last_weekday(date: Date, weekday: u32) -> Date {
    let end = month_end(date);
    Date(end.0 - ((end.weekday() + 7 - weekday % 7) % 7) as i32)
}
