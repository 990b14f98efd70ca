//! Durations as people write them, in whole milliseconds inside.

use super::Problem;

/// The longest duration that is accepted: ten years of 365 days.
pub const LONGEST_MS: i64 = 10 * 365 * DAY;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// Units in falling order: each may be written once, and a smaller one only after a larger one.
const UNITS: &[(&str, i64)] =
    &[("w", WEEK), ("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];

const HOW: &str = "write a number with its unit, such as 250ms, 30s, 10m, 1h30m, 2d or PT30S";

/// The milliseconds that `30s`, `1h30m`, `1.5h`, `250ms` or ISO `PT30S` mean.
///
/// # Errors
/// `duration_needs_unit` for a bare number other than 0, `duration_out_of_range` for negative
/// ones and for more than ten years, `bad_duration` for anything else.
pub fn parse(text: &str) -> Result<i64, Problem> {
    let trimmed = text.trim();
    let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if let Ok(number) = trimmed.parse::<f64>() {
        if number == 0.0 {
            return Ok(0);
        }
        if trimmed.bytes().any(|b| b.is_ascii_digit()) {
            let message = format!("the duration `{shown}` has no unit");
            return Err(Problem::new("duration_needs_unit", "", message)
                .hint(format!("did you mean `{trimmed}s` or `{trimmed}ms`?")));
        }
    }
    if trimmed.starts_with('-') {
        return Err(out_of_range(&format!("the duration `{shown}` is negative")));
    }
    let millis = match trimmed.strip_prefix('P') {
        Some(iso) => iso_parts(iso),
        None => parts(trimmed, UNITS),
    };
    match millis {
        Some(millis) => check(millis, &shown),
        None => {
            let message = format!("`{shown}` is not a duration");
            Err(Problem::new("bad_duration", "", message).hint(HOW))
        }
    }
}

/// The same bounds for a number of milliseconds that came with its unit.
///
/// # Errors
/// `duration_out_of_range`.
pub fn check(millis: i64, shown: &str) -> Result<i64, Problem> {
    if millis < 0 {
        return Err(out_of_range(&format!("the duration `{shown}` is negative")));
    }
    if millis > LONGEST_MS {
        return Err(out_of_range(&format!("the duration `{shown}` is longer than ten years")));
    }
    Ok(millis)
}

fn out_of_range(message: &str) -> Problem {
    Problem::new("duration_out_of_range", "", message).hint("durations go from 0 to ten years")
}

/// ISO 8601 after its `P`. Years and months have no fixed length and are refused.
fn iso_parts(text: &str) -> Option<i64> {
    const DATE: &[(&str, i64)] = &[("W", WEEK), ("D", DAY)];
    const TIME: &[(&str, i64)] = &[("H", HOUR), ("M", MINUTE), ("S", SECOND)];
    let (date, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let days = match (date, time) {
        ("", Some(_)) => 0,
        _ => parts(date, DATE)?,
    };
    let rest = time.map_or(Some(0), |time| parts(time, TIME))?;
    days.checked_add(rest)
}

/// Numbers with units in falling order. What is too large for the type comes back as too large
/// for the bounds.
fn parts(text: &str, units: &[(&str, i64)]) -> Option<i64> {
    let mut rest = text;
    let mut units = units;
    let mut sum = 0i64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let at = units.iter().position(|(name, _)| *name == unit)?;
        sum = sum.saturating_add(scaled(number, units[at].1)?);
        units = &units[at + 1..];
        rest = after.trim_start_matches(' ');
    }
    Some(sum)
}

/// `1.5` times a unit, exactly; none where less than a millisecond would be lost.
fn scaled(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let part = fraction.parse::<i64>().ok()?.checked_mul(unit)?;
    let scale = 10i64.pow(fraction.len() as u32);
    if part % scale != 0 {
        return None;
    }
    // More digits than the type holds are certainly more than ten years.
    let whole = whole.parse::<i64>().unwrap_or(i64::MAX);
    Some(whole.saturating_mul(unit).saturating_add(part / scale))
}

/// The shortest exact way to write it: `1h30m`, `250ms`, `0s`.
pub fn print(millis: i64) -> String {
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = if millis < 0 { "-".to_owned() } else { String::new() };
    let mut rest = millis.unsigned_abs();
    // Weeks are read but not written: days are what people count in.
    for (name, unit) in UNITS.iter().skip(1) {
        let unit = unit.unsigned_abs();
        if rest >= unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_MS, parse, print};

    #[test]
    fn what_people_write() {
        for (text, want) in [
            ("30s", 30_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
            ("250ms", 250),
            ("1.5s", 1_500),
            ("PT30S", 30_000),
            ("PT0.25S", 250),
            ("P1DT2H", 93_600_000),
            ("P2W", 1_209_600_000),
            ("0", 0),
            ("0s", 0),
            (" 5m ", 300_000),
            ("3650d", LONGEST_MS),
        ] {
            assert_eq!(parse(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_is_refused_and_why() {
        for (text, code) in [
            ("30", "duration_needs_unit"),
            ("1.5", "duration_needs_unit"),
            ("-30", "duration_needs_unit"),
            ("-30s", "duration_out_of_range"),
            ("3651d", "duration_out_of_range"),
            ("99999999999999999999999d", "duration_out_of_range"),
            ("", "bad_duration"),
            ("s", "bad_duration"),
            ("30 s", "bad_duration"),
            ("30m1h", "bad_duration"),
            ("1h1h", "bad_duration"),
            ("0.5ms", "bad_duration"),
            ("1..5s", "bad_duration"),
            ("P1Y", "bad_duration"),
            ("P1M", "bad_duration"),
            ("P", "bad_duration"),
            ("PT", "bad_duration"),
            ("P1DT", "bad_duration"),
            ("nan", "bad_duration"),
            ("ten minutes", "bad_duration"),
            ("30S", "bad_duration"),
            ("٣s", "bad_duration"),
        ] {
            assert_eq!(parse(text).unwrap_err().code, code, "{text}");
        }
    }

    #[test]
    fn print_and_parse_are_one() {
        for millis in [0, 1, 250, 1_000, 90_061_001, 5_400_000, LONGEST_MS] {
            assert_eq!(parse(&print(millis)).unwrap(), millis);
        }
        assert_eq!(print(5_400_000), "1h30m");
        assert_eq!(print(-1_500), "-1s500ms");
    }
}
