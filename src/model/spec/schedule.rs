//! When a dag fires. Expressions are kept as text here; the calendar reads them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::reader::Reader;
use crate::model::json::kind_of;
use crate::model::key::{NameKind, check_name};
use crate::model::{Date, ScheduleDef};

const FIELDS: &[&str] =
    &["name", "expression", "timezone", "start_date", "end_date", "biz_offset", "params", "paused"];

/// Days that a business date may lie away: ten years.
const FARTHEST: i64 = 3_660;

/// What a schedule takes from its dag where it says nothing itself.
struct Bounds {
    timezone: String,
    start_date: Option<Date>,
    end_date: Option<Date>,
    biz_offset: Option<i32>,
}

/// All schedules of a dag.
pub(super) fn read(
    r: &mut Reader<'_, '_>,
    timezone: &str,
    biz_offset: Option<i32>,
) -> Vec<ScheduleDef> {
    let bounds = Bounds {
        timezone: timezone.to_owned(),
        start_date: r.date("start_date"),
        end_date: r.date("end_date"),
        biz_offset,
    };
    in_order(r, bounds.start_date, bounds.end_date);
    let field = match (r.get("schedule"), r.get("schedules")) {
        (Some(_), Some(_)) => {
            let message = "`schedule` and `schedules` say the same thing";
            r.advise("schedules", "duplicate_field", message, "keep one of the two");
            "schedule"
        }
        (None, Some(_)) => "schedules",
        _ => "schedule",
    };
    let given: Vec<(String, &Value)> = match r.get(field) {
        None => Vec::new(),
        Some(Value::Array(items)) => {
            items.iter().enumerate().map(|(at, item)| (format!("{field}[{at}]"), item)).collect()
        }
        Some(one) => vec![(field.to_owned(), one)],
    };
    let mut schedules: Vec<ScheduleDef> = Vec::new();
    let mut names = BTreeSet::new();
    for (field, value) in given {
        let default = (1..)
            .map(|n| if n == 1 { "default".to_owned() } else { format!("default_{n}") })
            .nth(schedules.len())
            .unwrap_or_default();
        let Some(schedule) = one(r, &field, value, default, &bounds) else { continue };
        if names.insert(schedule.name.clone()) {
            schedules.push(schedule);
        } else {
            let message = format!("two schedules are named `{}`", schedule.name);
            r.advise(&field, "duplicate_schedule", message, "give each a name of its own");
        }
    }
    schedules
}

fn one(
    r: &mut Reader<'_, '_>,
    field: &str,
    value: &Value,
    default_name: String,
    bounds: &Bounds,
) -> Option<ScheduleDef> {
    let mut schedule = ScheduleDef {
        name: default_name,
        expression: String::new(),
        timezone: bounds.timezone.clone(),
        start_date: bounds.start_date,
        end_date: bounds.end_date,
        biz_offset: bounds.biz_offset,
        params: Default::default(),
        paused: false,
    };
    match value {
        Value::String(text) => schedule.expression = expression(r, field, text)?,
        Value::Object(_) => {
            let place = r.place_of(field);
            let mut inner = r.inside(value, &place, FIELDS)?;
            fill(&mut inner, &mut schedule)?;
        }
        other => {
            let message = format!("expected a schedule, found {}", kind_of(other));
            let hint = "write a cron line such as \"0 2 * * *\", \"@daily\" or \"every 6h\"";
            r.advise(field, "wrong_type", message, hint);
            return None;
        }
    }
    Some(schedule)
}

fn fill(r: &mut Reader<'_, '_>, schedule: &mut ScheduleDef) -> Option<()> {
    if let Some(text) = r.raw_text("name") {
        let checked = check_name(NameKind::Schedule, text, "");
        schedule.name = r.take("name", checked)?;
    }
    if let Some(zone) = timezone(r, "timezone") {
        schedule.timezone = zone;
    }
    schedule.start_date = r.date("start_date").or(schedule.start_date);
    schedule.end_date = r.date("end_date").or(schedule.end_date);
    if r.get("start_date").is_some() || r.get("end_date").is_some() {
        in_order(r, schedule.start_date, schedule.end_date);
    }
    schedule.biz_offset = biz_offset(r).or(schedule.biz_offset);
    schedule.params = r.object("params");
    schedule.paused = r.flag("paused").unwrap_or_default();
    match r.raw_text("expression") {
        Some(text) => schedule.expression = expression(r, "expression", text)?,
        None => {
            if r.get("expression").is_none() {
                r.report("expression", "missing_field", "the schedule does not say when");
            }
            return None;
        }
    }
    Some(())
}

fn expression(r: &mut Reader<'_, '_>, field: &str, text: &str) -> Option<String> {
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    if trimmed.is_empty() || length > 256 || trimmed.chars().any(char::is_control) {
        let message = match length {
            0 => "the schedule is empty".to_owned(),
            257.. => format!("the schedule has {length} characters, at most 256 fit"),
            _ => "the schedule has control characters".to_owned(),
        };
        r.advise(field, "bad_schedule", message, "leave it out for a dag that never fires itself");
        return None;
    }
    Some(trimmed.to_owned())
}

/// A zone by its look; whether it exists the calendar knows.
pub(super) fn timezone(r: &mut Reader<'_, '_>, field: &str) -> Option<String> {
    let text = r.raw_text(field)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+');
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        let message = format!("`{shown}` is not the name of a zone");
        r.advise(field, "bad_timezone", message, "zones are named such as Asia/Shanghai or UTC");
        return None;
    }
    Some(text.to_owned())
}

/// Days from the nominal local date to the business date.
pub(super) fn biz_offset(r: &mut Reader<'_, '_>) -> Option<i32> {
    r.int("biz_offset", -FARTHEST, FARTHEST).and_then(|days| i32::try_from(days).ok())
}

fn in_order(r: &mut Reader<'_, '_>, start: Option<Date>, end: Option<Date>) {
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        let message = format!("it ends on {end}, before it starts on {start}");
        r.report("end_date", "bad_date_range", message);
    }
}
