//! Dates out of iCalendar text (RFC 5545): whole-day events, also repeated yearly.
//!
//! Only what holiday files contain is read. A repetition that is not understood is refused and not
//! dropped, because a calendar with missing holidays looks like a right one.

use super::cron::LAST_YEAR;
use super::dates::add_months;
use crate::model::{Date, Problem};

/// Most bytes of text; holiday files have some ten thousand.
const MAX_BYTES: usize = 4 << 20;
/// Longest event in days.
const MAX_DAYS: i32 = 3660;

/// The dates that the events cover, ascending and each once.
///
/// # Errors
/// `too_long` for texts over 4 MiB, `syntax` for what is not iCalendar, `unsupported` for
/// repetitions other than yearly ones.
pub(super) fn dates(text: &str) -> Result<Vec<Date>, Problem> {
    if text.len() > MAX_BYTES {
        return Err(Problem::new("too_long", "ics", format!("more than {MAX_BYTES} bytes")));
    }
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with("BEGIN:VCALENDAR") {
        return Err(Problem::new("syntax", "ics", "the text does not begin with BEGIN:VCALENDAR"));
    }
    let mut found = vec![];
    let mut event: Option<Event> = None;
    // Long lines are folded: a line break and a blank stand for nothing.
    let unfolded = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "");
    for (number, line) in unfolded.lines().enumerate() {
        let place = || format!("ics line {}", number + 1);
        match (line, &mut event) {
            ("BEGIN:VEVENT", _) => event = Some(Event::default()),
            ("END:VEVENT", _) => {
                if let Some(event) = event.take() {
                    event.push_dates(&mut found).map_err(|p| Problem { place: place(), ..p })?;
                }
            }
            (line, Some(event)) => event.read(line).map_err(|p| Problem { place: place(), ..p })?,
            (_, None) => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[derive(Default)]
struct Event {
    start: Option<Date>,
    end: Option<Date>,
    rule: String,
    except: Vec<Date>,
    cancelled: bool,
}

impl Event {
    fn read(&mut self, line: &str) -> Result<(), Problem> {
        let Some((name, value)) = line.split_once(':') else { return Ok(()) };
        match name.split(';').next().unwrap_or(name) {
            "DTSTART" => self.start = Some(date(value)?),
            "DTEND" => self.end = Some(date(value)?),
            "RRULE" => value.clone_into(&mut self.rule),
            "EXDATE" => {
                for value in value.split(',') {
                    self.except.push(date(value)?);
                }
            }
            "STATUS" => self.cancelled = value == "CANCELLED",
            "RDATE" => return Err(unsupported("RDATE")),
            _ => {}
        }
        Ok(())
    }

    fn push_dates(self, found: &mut Vec<Date>) -> Result<(), Problem> {
        if self.cancelled {
            return Ok(());
        }
        let Some(start) = self.start else {
            return Err(Problem::new("syntax", "", "the event has no DTSTART"));
        };
        // DTEND is the first day after the event; without one it lasts a day.
        let length = self.end.map_or(1, |end| end.0.saturating_sub(start.0)).max(1);
        if length > MAX_DAYS {
            return Err(Problem::new("out_of_range", "", format!("the event has {length} days")));
        }
        for first in self.repeat(start)? {
            if !self.except.contains(&first) {
                found.extend((0..length).map(|n| first.plus_days(n)));
            }
        }
        Ok(())
    }

    /// The first days of all repetitions.
    fn repeat(&self, start: Date) -> Result<Vec<Date>, Problem> {
        if self.rule.is_empty() {
            return Ok(vec![start]);
        }
        let (mut yearly, mut every, mut count, mut until) = (false, 1, i32::MAX, Date::MAX);
        for part in self.rule.split(';') {
            match part.split_once('=') {
                Some(("FREQ", "YEARLY")) => yearly = true,
                Some(("INTERVAL", n)) => every = positive(n)?,
                Some(("COUNT", n)) => count = positive(n)?,
                Some(("UNTIL", value)) => until = date(value)?,
                _ => return Err(unsupported(part)),
            }
        }
        if !yearly {
            return Err(unsupported(&self.rule));
        }
        let mut dates = vec![];
        let mut year = 0;
        while (dates.len() as i32) < count {
            let Some(date) = add_months(start, year * 12) else { break };
            if date > until || date.ymd().0 > LAST_YEAR {
                break;
            }
            // A 29 February is repeated in leap years only, as RFC 5545 has it.
            if date.ymd().2 == start.ymd().2 {
                dates.push(date);
            }
            year += every;
        }
        Ok(dates)
    }
}

/// `20240210`, also with a time behind it, which does not matter for days.
fn date(value: &str) -> Result<Date, Problem> {
    let digits = value.split('T').next().unwrap_or(value);
    let refuse = || Problem::new("syntax", "", "not a date in the form yyyymmdd");
    if digits.len() != 8 || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(refuse());
    }
    let number = |range| digits.get(range).and_then(|t: &str| t.parse::<u32>().ok());
    match (number(0..4), number(4..6), number(6..8)) {
        (Some(y), Some(m), Some(d)) => Date::from_ymd(y as i32, m, d).ok_or_else(refuse),
        _ => Err(refuse()),
    }
}

fn positive(text: &str) -> Result<i32, Problem> {
    let n = text.parse::<i32>().ok().filter(|n| (1..=1000).contains(n));
    n.ok_or_else(|| Problem::new("out_of_range", "", "a number from 1 to 1000 is expected"))
}

fn unsupported(what: &str) -> Problem {
    let shown: String = what.chars().take(60).collect();
    Problem::new("unsupported", "", format!("the repetition `{shown}` is not understood"))
        .hint("yearly repetitions are; write the dates out otherwise")
}
