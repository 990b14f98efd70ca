//! What a task waits for besides its upstreams: times of day, days, checks and people.
//!
//! Whether the text of a day rule means anything the calendar knows; see `engine::check_definition`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reader::Reader;
use super::schedule;
use crate::model::json::kind_of;
use crate::model::{CalendarDef, GATE, NotBefore, PROBE, Problem, RunDays, RunOn};

/// How often a probe is asked where nothing else is said: once a minute.
const POLL_MS: i64 = 60_000;
/// The shortest and the longest time between two questions, in milliseconds.
const POLLS: std::ops::RangeInclusive<i64> = 100..=31 * 86_400_000;
/// The longest text of a day rule.
const LONGEST_RULE: usize = 256;

/// The time of day before which a task does not start.
pub(super) fn not_before(r: &mut Reader<'_, '_>) -> Option<NotBefore> {
    let text = r.raw_text("not_before")?;
    let checked = text.parse().map_err(|message: String| {
        let hint = "a time on the nominal date, \"06:30\", or some days later, \"+1d 06:30\"";
        Problem::new("bad_not_before", "", message).hint(hint)
    });
    r.take("not_before", checked)
}

/// The days on which a task runs: the name of a calendar of the dag, a rule, or a calendar.
pub(super) fn run_on(
    r: &mut Reader<'_, '_>,
    calendars: &BTreeMap<String, CalendarDef>,
) -> Option<RunDays> {
    match r.get("run_on")? {
        Value::String(text) => match calendars.get(text) {
            Some(calendar) => Some(RunDays::Calendar(calendar.clone())),
            None => rule(r, text).map(RunDays::Rule),
        },
        Value::Object(_) => schedule::calendar(r, "run_on").map(RunDays::Calendar),
        other => {
            let message = format!("expected days, found {}", kind_of(other));
            r.advise("run_on", "wrong_type", message, "such as \"weekdays\", or a calendar");
            None
        }
    }
}

fn rule(r: &mut Reader<'_, '_>, text: &str) -> Option<String> {
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    let message = match length {
        0 => "the rule is empty".to_owned(),
        _ if length > LONGEST_RULE => {
            format!("the rule has {length} characters, at most {LONGEST_RULE} fit")
        }
        _ if trimmed.chars().any(char::is_control) => "the rule has control characters".to_owned(),
        _ => return Some(trimmed.to_owned()),
    };
    r.advise("run_on", "bad_run_on", message, "leave it out for a task that runs every time");
    None
}

/// Puts the days and what they are compared with together; `biz_date` from the nearest layer to
/// the farthest.
pub(super) fn resolve(
    r: &mut Reader<'_, '_>,
    days: Option<RunDays>,
    biz_date: [Option<bool>; 3],
) -> Option<RunOn> {
    if days.is_none() && biz_date[0] == Some(true) {
        let hint = "say which days: run_on=\"weekdays\"";
        let message = "there are no days to compare the business date with";
        r.advise("run_on_biz_date", "no_run_on", message, hint);
    }
    let biz_date = biz_date.into_iter().flatten().next().unwrap_or_default();
    days.map(|days| RunOn { days, biz_date })
}

/// How often the check of a probe is called; other types have none.
pub(super) fn poll(r: &mut Reader<'_, '_>, kind: &str) -> Option<i64> {
    let fields = ["interval", "interval_ms", "interval_sec"];
    let given = r.duration(fields).flatten();
    let field = fields.into_iter().find(|field| r.get(field).is_some()).unwrap_or("interval");
    if kind != PROBE {
        if r.get(field).is_some() {
            let hint = "it is how often the check of a probe is called: @ms.probe(interval=\"1m\")";
            let message = format!("a task of type `{kind}` has no interval");
            r.advise(field, "unexpected_field", message, hint);
        }
        return None;
    }
    match given {
        Some(ms) if !POLLS.contains(&ms) => {
            let message = format!("{ms} ms between two checks");
            r.advise(field, "out_of_range", message, "from 100 ms to 31 days");
            None
        }
        given => Some(given.unwrap_or(POLL_MS)),
    }
}

/// A probe calls something, a gate nothing.
pub(super) fn handler_of(r: &mut Reader<'_, '_>, kind: &str, has_handler: bool) {
    if kind == PROBE && !has_handler {
        let hint = "name the check as `package.module:function`";
        r.advise("handler", "missing_field", "the probe has no check to call", hint);
    }
    if kind == GATE && has_handler {
        let hint = "put what is to be done into a task downstream of it";
        r.advise("handler", "unexpected_field", "nothing is called at a gate", hint);
    }
}
