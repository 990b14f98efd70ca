//! What stands in `$[...]`, as DolphinScheduler writes it: a format with an offset, or a function.
//!
//! | written | meaning |
//! | --- | --- |
//! | `$[yyyyMMdd-1]`, `$[yyyyMMdd+7*2]` | days of the calendar |
//! | `$[yyyyMMddHH-1/24]`, `-5/24/60` | elapsed hours, minutes |
//! | `$[add_months(yyyyMMdd,-1)]` | months, clamped to the month's end |
//! | `$[last_day(yyyyMMdd)]` | yesterday(!), as in its documentation |
//!
//! `year_week` uses the year of the ISO week, where DolphinScheduler joins the calendar year and
//! is wrong around New Year; that is not copied.

use super::expr::{Base, Expr, Form, Move, Time};
use super::pattern::Pattern;
use crate::model::Problem;

/// Largest offset; more than all the days that dates have is a mistake.
const MAX_NUMBER: i64 = 1_000_000;

pub(super) fn parse(body: &str) -> Result<Expr, Problem> {
    let time = match call(body) {
        Some((name, pattern, argument)) => function(name, pattern, argument)?,
        None => offset(body)?,
    };
    Ok(Expr::Time(time))
}

/// `name(pattern)` or `name(pattern,argument)`.
fn call(body: &str) -> Option<(&str, &str, Option<&str>)> {
    let (name, rest) = body.split_once('(')?;
    let inside = rest.strip_suffix(')')?;
    let named = !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    if !named || inside.contains(['(', ')']) {
        return None;
    }
    Some(match inside.split_once(',') {
        Some((pattern, argument)) => (name, pattern, Some(argument)),
        None => (name, inside, None),
    })
}

fn function(name: &str, pattern: &str, argument: Option<&str>) -> Result<Time, Problem> {
    let n = argument.map_or(Ok(0), product)?;
    let months = n as i32;
    let moves = match name {
        "this_day" | "last_day" | "year_week" if argument.is_some() => {
            return Err(Problem::new("syntax", "", format!("{name} takes a format only")));
        }
        "year_week" => {
            let form = Form::YearWeek { dash: pattern.contains('-') };
            return Ok(Time { base: Base::Nominal, moves: vec![], form });
        }
        "this_day" => vec![],
        "last_day" => vec![Move::Days(-1)],
        "add_months" => vec![Move::Months(months)],
        "month_first_day" => vec![Move::MonthStart, Move::Months(months)],
        "month_last_day" => vec![Move::MonthStart, Move::Months(months), Move::MonthEnd],
        "month_begin" => vec![Move::MonthStart, Move::Days(n)],
        "month_end" => vec![Move::MonthEnd, Move::Days(n)],
        "week_first_day" => vec![Move::WeekStart, Move::Days(n * 7)],
        "week_last_day" => vec![Move::WeekEnd, Move::Days(n * 7)],
        "week_begin" => vec![Move::WeekStart, Move::Days(n)],
        "week_end" => vec![Move::WeekEnd, Move::Days(n)],
        _ => {
            return Err(Problem::new(
                "unknown_name",
                "",
                format!("`{name}` is not a known function"),
            )
            .hint(
                "known: add_months this_day last_day month_first_day month_last_day \
                     week_first_day week_last_day month_begin month_end week_begin week_end \
                     year_week",
            ));
        }
    };
    let form = Form::Pattern(format(pattern)?);
    Ok(Time { base: Base::Nominal, moves, form })
}

/// A format with a date or time in it: `$[0]` and `$['name']` are paths of JSON and not dates.
fn format(text: &str) -> Result<Pattern, Problem> {
    let plain = "for the plain characters write `$$[`";
    let pattern = Pattern::parse(text).map_err(|problem| {
        let hint = problem.hint.clone();
        problem.hint(hint.map_or(plain.to_owned(), |hint| format!("{hint}; {plain}")))
    })?;
    if pattern.has_letters() {
        return Ok(pattern);
    }
    Err(Problem::new("syntax", "", "there is no date in the brackets")
        .hint(format!("a date is written such as yyyyMMdd-1; {plain}")))
}

/// A format, perhaps with `±N`, `±N/24` or `±N/24/60` at its end.
fn offset(body: &str) -> Result<Time, Problem> {
    let time = |pattern: &str, moves| -> Result<Time, Problem> {
        let form = Form::Pattern(format(pattern)?);
        Ok(Time { base: Base::Nominal, moves, form })
    };
    // Dates contain dashes too; only the last sign can begin an offset.
    let Some(sign) = body.rfind(['+', '-']) else { return time(body, vec![]) };
    let tail = &body[sign + 1..];
    if !tail.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        return time(body, vec![]);
    }
    let (amount, unit) = match tail.split_once('/') {
        None => (tail, None),
        Some((amount, unit)) => (amount, Some(unit)),
    };
    if tail.contains(' ') {
        return Err(Problem::new("syntax", "", "the offset contains blanks")
            .hint("write it without, such as yyyyMMdd-1"));
    }
    let n = product(amount)? * if body[sign..].starts_with('-') { -1 } else { 1 };
    let step = match unit {
        None => Move::Days(n),
        Some("24") => Move::Seconds(n * 3600),
        Some("24/60") => Move::Seconds(n * 60),
        Some(_) => {
            return Err(Problem::new("syntax", "", "the offset is not understood")
                .hint("days N, hours N/24, minutes N/24/60"));
        }
    };
    time(&body[..sign], vec![step])
}

/// A number, or a product such as `7*2`.
fn product(text: &str) -> Result<i64, Problem> {
    let refuse = |code| {
        let shown: String = text.chars().take(30).collect();
        Problem::new(code, "", format!("`{shown}` is not a usable offset"))
            .hint("a whole number or a product such as 7*2")
    };
    let mut n = 1i64;
    for factor in text.split('*') {
        let factor = factor.trim().parse::<i64>().map_err(|_| refuse("syntax"))?;
        n = n
            .checked_mul(factor)
            .filter(|n| n.abs() <= MAX_NUMBER)
            .ok_or_else(|| refuse("out_of_range"))?;
    }
    Ok(n)
}
