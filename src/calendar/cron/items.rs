//! One list item of a field: `5`, `MON-FRI`, `*/15`, `22-4/2`, `LW`, `2#1`.

use super::days::{MonthDay, MonthDays, WeekDay, WeekDays};
use super::fields::{Field, WEEKDAYS};

/// Why an item is refused: stable code, sentence, hint.
#[derive(Debug)]
pub(super) struct Refusal {
    pub code: &'static str,
    pub message: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }
}

/// Most items in one list: a field has at most 230 values, so more is not a schedule.
pub(super) const MAX_ITEMS: usize = 512;

/// Reads a field without day terms; calls `set` with each number.
pub(super) fn plain(
    field: Field,
    text: &str,
    quartz: bool,
    mut set: impl FnMut(u32),
) -> Result<(), Refusal> {
    for item in items(text)? {
        sequence(field, item, quartz, &mut set)?;
    }
    Ok(())
}

/// Reads the day-of-month field.
pub(super) fn month_days(text: &str, quartz: bool) -> Result<MonthDays, Refusal> {
    let mut days = MonthDays { starred: text.starts_with(['*', '?']), ..MonthDays::default() };
    if text == "?" {
        sequence(Field::MonthDay, "*", quartz, &mut |n| days.plain |= 1 << n)?;
        return Ok(days);
    }
    for item in items(text)? {
        match month_day_term(item)? {
            Some(term) => {
                days.terms.insert(term);
            }
            None => sequence(Field::MonthDay, item, quartz, &mut |n| days.plain |= 1 << n)?,
        }
    }
    Ok(days)
}

/// Reads the weekday field.
pub(super) fn week_days(text: &str, quartz: bool) -> Result<WeekDays, Refusal> {
    let field = if quartz { Field::QuartzWeekDay } else { Field::UnixWeekDay };
    // Both dialects are kept with Sunday as 0.
    let sunday0 = |n: u32| (n + 7 - field.low()) % 7;
    let mut days = WeekDays { starred: text.starts_with(['*', '?']), ..WeekDays::default() };
    if text == "?" {
        sequence(field, "*", quartz, &mut |n| days.plain |= 1 << sunday0(n))?;
        return Ok(days);
    }
    for item in items(text)? {
        if item == "L" && quartz {
            days.plain |= 1 << 6;
        } else if let Some(weekday) = item.strip_suffix('L').filter(|rest| !rest.is_empty()) {
            days.terms.insert(WeekDay::Last(sunday0(number(field, weekday)?)));
        } else if let Some((weekday, nth)) = item.split_once('#') {
            let weekday = sunday0(number(field, weekday)?);
            match digits(nth) {
                Some(k @ 1..=5) => days.terms.insert(WeekDay::Nth(weekday, k)),
                Some(k) => {
                    return Err(Refusal::new(
                        "out_of_range",
                        format!("a month has no {} number {k}", WEEKDAYS[weekday as usize]),
                    )
                    .hint("write #1 to #5, or L for the last one"));
                }
                None => return Err(not_a(field, item)),
            };
        } else {
            sequence(field, item, quartz, &mut |n| days.plain |= 1 << sunday0(n))?;
        }
    }
    Ok(days)
}

/// `L`, `L-3`, `LW`, `L-3W`, `15W`; nothing for a plain item.
fn month_day_term(item: &str) -> Result<Option<MonthDay>, Refusal> {
    if let Some(rest) = item.strip_prefix('L') {
        let (rest, work) = match rest.strip_suffix('W') {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let n = match rest.strip_prefix('-') {
            None if rest.is_empty() => 0,
            Some(n) => match digits(n) {
                Some(n @ 0..=30) => n,
                Some(n) => {
                    return Err(Refusal::new(
                        "out_of_range",
                        format!("no month has a day {n} days before its last"),
                    )
                    .hint("L-0 to L-30"));
                }
                None => return Err(not_a(Field::MonthDay, item)),
            },
            None => return Err(not_a(Field::MonthDay, item)),
        };
        return Ok(Some(if work { MonthDay::LastWork(n) } else { MonthDay::Last(n) }));
    }
    match item.strip_suffix('W') {
        Some(day) if digits(day).is_some() => {
            Ok(Some(MonthDay::NearWork(number(Field::MonthDay, day)?)))
        }
        Some(_) => Err(not_a(Field::MonthDay, item)
            .hint("W follows one day, such as 15W, or L; it cannot follow a range")),
        None => Ok(None),
    }
}

/// Calls `set` with each number of `*`, `a`, `a-b`, each with or without `/step`.
fn sequence(
    field: Field,
    item: &str,
    quartz: bool,
    set: &mut dyn FnMut(u32),
) -> Result<(), Refusal> {
    let (body, step) = match item.split_once('/') {
        None => (item, None),
        Some((body, step)) => (body, Some(read_step(field, item, step)?)),
    };
    let (low, high) = (field.low(), field.high());
    // A Unix 7 is a Sunday, but as the end of a range it comes after Saturday.
    let sunday = |n: u32| if field == Field::UnixWeekDay && n == 7 { 0 } else { n };
    let (from, to) = if body == "*" || (body.is_empty() && step.is_some() && quartz) {
        (low, high)
    } else if let Some((a, b)) = body.split_once('-') {
        let (a, b) = (number(field, a)?, number(field, b)?);
        (sunday(a), if a == b { sunday(b) } else { b })
    } else {
        let a = sunday(number(field, body)?);
        (a, if step.is_some() { high } else { a })
    };
    if from > to && field == Field::Year {
        return Err(Refusal::new("out_of_range", format!("`{item}` ends before it begins")));
    }
    // 22-2, FRI-MON: past the field's end it goes on at the beginning, and so does the step.
    let length = if from <= to { to - from } else { high - low + 1 + to - from };
    let size = high - low + 1;
    for i in (0..=length).step_by(step.unwrap_or(1) as usize) {
        let n = from + i;
        set(if n > high { n - size } else { n });
    }
    Ok(())
}

fn read_step(field: Field, item: &str, step: &str) -> Result<u32, Refusal> {
    let largest = field.largest_step();
    match digits(step) {
        Some(n) if (1..=largest).contains(&n) => Ok(n),
        Some(0) => Err(Refusal::new("bad_step", format!("the step of `{item}` is 0"))),
        Some(n) => {
            let refusal = Refusal::new(
                "bad_step",
                format!(
                    "the step {n} of `{item}` is longer than the field, which ends at {largest}"
                ),
            );
            let first = item.split(['-', '/']).next().filter(|text| digits(text).is_some());
            Err(match field {
                _ if first.is_some() => refusal
                    .hint(format!("it matches one value only: write {}", first.unwrap_or(""))),
                Field::Second | Field::Minute | Field::Hour => refusal.hint(
                    "steps start again with each minute, hour or day; for a steady rhythm use an \
                     interval such as every(\"90m\")",
                ),
                _ => refusal,
            })
        }
        None => Err(Refusal::new("bad_step", format!("the step of `{item}` is not a number"))
            .hint(format!("write a whole number from 1 to {largest}, such as */5"))),
    }
}

fn number(field: Field, text: &str) -> Result<u32, Refusal> {
    if let Some(n) = field.named(text) {
        return Ok(n);
    }
    let Some(n) = digits(text) else { return Err(not_a(field, text)) };
    if (field.low()..=field.written_high()).contains(&n) {
        return Ok(n);
    }
    let refusal = Refusal::new(
        "out_of_range",
        format!("{n} is not {}, which is {} to {}", field.one(), field.low(), field.written_high()),
    );
    Err(match field {
        Field::QuartzWeekDay => {
            refusal.hint("with 6 or 7 fields 1 is SUN and 7 is SAT; names such as MON are safer")
        }
        Field::UnixWeekDay => {
            refusal.hint("with 5 fields 0 and 7 are SUN and 6 is SAT; names such as MON are safer")
        }
        Field::Hour if n == 24 => refusal.hint("midnight is hour 0 of the next day"),
        Field::MonthDay if n == 0 => {
            refusal.hint("days begin at 1; if 6 fields were meant (second first), one is missing")
        }
        _ => refusal,
    })
}

/// A decimal number of ASCII digits; huge ones become the largest number, which no field accepts.
fn digits(text: &str) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0u32, |n, c| {
        c.is_ascii_digit().then(|| n.saturating_mul(10).saturating_add(u32::from(c - b'0')))
    })
}

fn items(text: &str) -> Result<std::str::Split<'_, char>, Refusal> {
    if text.bytes().filter(|c| *c == b',').count() >= MAX_ITEMS {
        return Err(Refusal::new("too_long", format!("the list has more than {MAX_ITEMS} items")));
    }
    Ok(text.split(','))
}

/// `syntax`, with the likely reason.
fn not_a(field: Field, text: &str) -> Refusal {
    let one = field.one();
    if text.is_empty() {
        return Refusal::new("syntax", format!("{one} is missing"))
            .hint("look for a comma or dash too many");
    }
    let shown: String = text.chars().take(30).collect();
    let refusal = Refusal::new("syntax", format!("`{shown}` is not {one}"));
    let day_field = matches!(field, Field::UnixWeekDay | Field::QuartzWeekDay);
    if text.contains('，') || text.chars().any(|c| ('０'..='９').contains(&c)) {
        return refusal.hint("use ASCII digits and commas, not full-width ones");
    }
    if text.contains('?') {
        return refusal.hint("`?` stands alone, in the day of month or the day of week");
    }
    if day_field && text == "L" {
        return refusal.hint("with 5 fields name the weekday, such as FRIL for the last Friday");
    }
    if text.len() > 3 && text.is_char_boundary(3) && field.named(&text[..3]).is_some() {
        return refusal.hint(format!("names have three letters, such as {}", &text[..3]));
    }
    if text.contains(['L', 'W', '#']) && !day_field && field != Field::MonthDay {
        return refusal.hint("L, W and # belong into the day fields");
    }
    refusal
}
