//! From text to bit sets; everything that is wrong is found in one go.

use super::days::{self, MonthDays, WeekDays};
use super::fields::Field;
use super::items::{self, Refusal};
use super::{Cron, Dates, Dialect, FIRST_YEAR, Times, Years};
use crate::model::{Problem, SpecError};

/// Longest expression in bytes; every real one has less than 100.
pub const MAX_LENGTH: usize = 4096;

/// The words for whole expressions, and what they stand for.
const MACROS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

pub(super) fn parse(text: &str) -> Result<Cron, SpecError> {
    if text.len() > MAX_LENGTH {
        let message = format!("the expression has {} bytes; {MAX_LENGTH} is the limit", text.len());
        return Err(Problem::new("too_long", "cron", message).into());
    }
    // Blanks and tabs part fields and nothing else does: a line break is a pasted second line.
    let trimmed = text.trim_matches([' ', '\t']);
    let expanded = match trimmed.strip_prefix('@') {
        Some(_) => macro_text(trimmed)?,
        None => trimmed,
    };
    let capitals = expanded.to_ascii_uppercase();
    let parts: Vec<&str> = capitals.split([' ', '\t']).filter(|part| !part.is_empty()).collect();
    let (dialect, second, rest, year) = match parts.as_slice() {
        rest if rest.len() == 5 => (Dialect::Unix, "0", rest, "*"),
        [second, rest @ ..] if rest.len() == 5 => (Dialect::Quartz, *second, rest, "*"),
        [second, rest @ .., year] if rest.len() == 5 => (Dialect::Quartz, *second, rest, *year),
        _ => return Err(field_count(trimmed, parts.len()).into()),
    };
    let mut reader =
        Reader { quartz: dialect == Dialect::Quartz, count: parts.len(), problems: vec![] };
    let times = Times {
        seconds: reader.set(Field::Second, 0, second),
        minutes: reader.set(Field::Minute, 1, rest[0]),
        hours: reader.set(Field::Hour, 2, rest[1]) as u32,
    };
    let month_days = reader.month_days(rest[2]);
    let months = reader.set(Field::Month, 4, rest[3]) as u32;
    let week_days = reader.week_days(rest[4]);
    let years = reader.years(year);
    if reader.quartz && reader.problems.is_empty() {
        reader.one_day_field(rest[2], rest[4]);
    }
    if !reader.problems.is_empty() {
        return Err(SpecError(reader.problems));
    }
    // vixie and cronie: "either" only if neither field begins with a star, so `*/2` means "both".
    let either = !reader.quartz && !month_days.starred && !week_days.starred;
    let table = days::table(&month_days, &week_days, either);
    let dates = Dates { months, years, table, month_days, week_days, either };
    let cron = Cron { source: text.to_owned(), dialect, times, dates };
    if cron.first_date().is_none() {
        return Err(never(&cron).into());
    }
    Ok(cron)
}

fn macro_text(text: &str) -> Result<&'static str, SpecError> {
    let known = MACROS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
    if let Some((_, expanded)) = known {
        return Ok(expanded);
    }
    let shown: String = text.chars().take(30).collect();
    let lower = shown.to_ascii_lowercase();
    let problem = Problem::new("bad_macro", "cron", format!("`{shown}` is not a known word"));
    let nearest = MACROS
        .iter()
        .map(|(word, _)| (strsim::damerau_levenshtein(word, &lower), *word))
        .min_by_key(|(distance, _)| *distance);
    Err(if lower.starts_with("@every") {
        problem.hint("an interval is its own kind of schedule, such as every(\"5m\")")
    } else if lower == "@reboot" {
        problem.hint("a schedule cannot follow the start of a machine; trigger a run instead")
    } else if lower == "@quarterly" {
        problem.hint("write 0 0 1 */3 *")
    } else if lower == "@once" || lower == "@none" {
        problem.hint("leave the schedule out for tasks that are only triggered")
    } else {
        match nearest {
            Some((distance, word)) if distance <= 3 => {
                problem.hint(format!("did you mean {word}?"))
            }
            _ => problem.hint("known: @hourly @daily @midnight @weekly @monthly @yearly @annually"),
        }
    }
    .into())
}

fn field_count(text: &str, count: usize) -> Problem {
    let problem = Problem::new(
        "field_count",
        "cron",
        format!("an expression has 5, 6 or 7 fields, this one has {count}"),
    );
    let lower = text.to_ascii_lowercase();
    let interval = lower.trim_end_matches(['s', 'm', 'h', 'd', 'w', 'y']);
    if MACROS.iter().any(|(word, _)| word[1..] == lower) {
        problem.hint(format!("write @{lower}"))
    } else if count == 1
        && interval.len() < lower.len()
        && interval.bytes().all(|c| c.is_ascii_digit())
    {
        problem.hint(format!("an interval is its own kind of schedule: every(\"{lower}\")"))
    } else if text.contains(':') {
        problem.hint("this looks like systemd's OnCalendar; 02:30 every day is `30 2 * * *`")
    } else if lower.contains("cron(") {
        problem.hint("write only what stands between the brackets of cron(...), seconds first")
    } else {
        problem.hint("minute hour day month weekday; a second may come first, then a year last")
    }
}

/// Why no date can match.
fn never(cron: &Cron) -> Problem {
    Problem::new(
        "never",
        "cron",
        format!("no date from {FIRST_YEAR} to {} can match", super::LAST_YEAR),
    )
    .hint(if cron.dates.months & (1 << 2) != 0 {
        "February has 29 days only in leap years, and never 30"
    } else {
        "the months named do not have such a day; L is the last day of any month"
    })
}

/// Reads fields and collects what is wrong with each.
struct Reader {
    quartz: bool,
    count: usize,
    problems: Vec<Problem>,
}

impl Reader {
    /// A field of plain numbers below 64; `index` counts from the second field of Quartz.
    fn set(&mut self, field: Field, index: usize, text: &str) -> u64 {
        let mut set = 0u64;
        let read = items::plain(field, text, self.quartz, |n| set |= 1 << n);
        self.note(field, index, read);
        set
    }

    fn years(&mut self, text: &str) -> Years {
        let mut years = Years([0; 4]);
        let read = items::plain(Field::Year, text, self.quartz, |n| years.insert(n as i32));
        self.note(Field::Year, 6, read);
        years
    }

    fn month_days(&mut self, text: &str) -> MonthDays {
        let read = items::month_days(text, self.quartz);
        self.note(Field::MonthDay, 3, read).unwrap_or_default()
    }

    fn week_days(&mut self, text: &str) -> WeekDays {
        let read = items::week_days(text, self.quartz);
        let field = if self.quartz { Field::QuartzWeekDay } else { Field::UnixWeekDay };
        self.note(field, 5, read).unwrap_or_default()
    }

    /// Quartz: exactly one day field may restrict; `*` and `?` both mean "no restriction".
    fn one_day_field(&mut self, dom: &str, dow: &str) {
        let place = "cron, day of month and day of week";
        if dom == "?" && dow == "?" {
            self.problems.push(
                Problem::new("dom_dow_conflict", place, "`?` stands in both day fields")
                    .hint("write `*` in one of them"),
            );
        } else if !matches!(dom, "*" | "?") && !matches!(dow, "*" | "?") {
            let message = format!("both day fields restrict: `{dom}` and `{dow}`");
            self.problems.push(Problem::new("dom_dow_conflict", place, message).hint(format!(
                "write `{dom} ... ?` for those days of the month or `? ... {dow}` for those \
                     weekdays; 5 fields mean either of them"
            )));
        }
    }

    fn note<T>(&mut self, field: Field, index: usize, read: Result<T, Refusal>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(Refusal { code, message, hint }) => {
                let position = if self.quartz { index + 1 } else { index };
                let place = format!("cron, {} (field {position} of {})", field.name(), self.count);
                self.problems.push(Problem { code, place, message, hint });
                None
            }
        }
    }
}
