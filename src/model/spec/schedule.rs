//! When a dag fires. Expressions are kept as text here; the calendar reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reader::Reader;
use crate::model::json::kind_of;
use crate::model::key::{NameKind, check_name};
use crate::model::schedule::FARTHEST;
use crate::model::{
    Binding, BizOffset, CalendarDef, Date, Fold, Gap, Instant, Missed, OnClosed, Overlap, Problem,
    ScheduleDef, TimeRule,
};

const FIELDS: &[&str] = &[
    "name",
    "renamed_from",
    "expression",
    "timezone",
    "start_date",
    "end_date",
    "gap",
    "fold",
    "anchor",
    "calendar",
    "on",
    "jitter",
    "jitter_ms",
    "jitter_sec",
    "biz_offset",
    "missed",
    "missed_window",
    "missed_window_ms",
    "missed_window_sec",
    "overlap",
    "tasks",
    "params",
    "paused",
];

const JITTER: [&str; 3] = ["jitter", "jitter_ms", "jitter_sec"];

/// The largest jitter there is: a week.
const MOST_JITTER_MS: i64 = 7 * 86_400_000;

/// What a schedule takes from its dag where it says nothing itself.
struct Bounds {
    timezone: String,
    start_date: Option<Date>,
    end_date: Option<Date>,
    biz_offset: Option<BizOffset>,
}

/// All schedules of a dag.
pub(super) fn read(
    r: &mut Reader<'_, '_>,
    timezone: &str,
    biz_offset: Option<BizOffset>,
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
    let mut fields = Vec::new();
    for (field, value) in given {
        let default = (1..)
            .map(|n| if n == 1 { "default".to_owned() } else { format!("default_{n}") })
            .nth(schedules.len())
            .unwrap_or_default();
        let Some(schedule) = one(r, &field, value, default, &bounds) else { continue };
        if names.insert(schedule.name.clone()) {
            schedules.push(schedule);
            fields.push(field);
        } else {
            let message = format!("two schedules are named `{}`", schedule.name);
            r.advise(&field, "duplicate_schedule", message, "give each a name of its own");
        }
    }
    renamed(r, &fields, &schedules);
    schedules
}

/// One schedule goes on where another was: the one that had the name, which is there no more.
fn renamed(r: &mut Reader<'_, '_>, fields: &[String], schedules: &[ScheduleDef]) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (field, schedule) in fields.iter().zip(schedules) {
        let Some(former) = schedule.renamed_from.as_deref() else { continue };
        let field = format!("{field}.renamed_from");
        if schedules.iter().any(|other| other.name == former) {
            let message = format!("a schedule is still named `{former}`");
            let hint = "leave it out; who has the name goes on where it was";
            r.advise(&field, "bad_rename", message, hint);
        } else if let Some(first) = seen.insert(former, &schedule.name) {
            let message = format!("`{first}` was named `{former}` too");
            r.advise(&field, "bad_rename", message, "only one can go on where it was");
        }
    }
}

fn one(
    r: &mut Reader<'_, '_>,
    field: &str,
    value: &Value,
    default_name: String,
    bounds: &Bounds,
) -> Option<ScheduleDef> {
    let rule = TimeRule {
        start_date: bounds.start_date,
        end_date: bounds.end_date,
        ..TimeRule::new("", bounds.timezone.clone())
    };
    let mut schedule = ScheduleDef::new(default_name, rule);
    schedule.biz_offset = bounds.biz_offset;
    match value {
        Value::String(text) => schedule.rule.expression = expression(r, field, text)?,
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
    schedule.name = schedule_name(r, "name").unwrap_or_else(|| schedule.name.clone());
    schedule.renamed_from = schedule_name(r, "renamed_from");
    when(r, &mut schedule.rule);
    schedule.biz_offset = biz_offset(r).or(schedule.biz_offset);
    schedule.missed = chosen(r, "missed", Missed::ALL);
    schedule.overlap = chosen(r, "overlap", Overlap::ALL);
    let window = r.duration(["missed_window", "missed_window_ms", "missed_window_sec"]);
    if let Some(window) = window {
        // Written as nothing it has no end.
        schedule.missed_window_ms = window.unwrap_or(i64::MAX);
    }
    schedule.bindings = bindings(r);
    schedule.paused = r.flag("paused").unwrap_or_default();
    match r.raw_text("expression") {
        Some(text) => schedule.rule.expression = expression(r, "expression", text)?,
        None => {
            if r.get("expression").is_none() {
                r.report("expression", "missing_field", "the schedule does not say when");
            }
            return None;
        }
    }
    Some(())
}

fn schedule_name(r: &mut Reader<'_, '_>, field: &str) -> Option<String> {
    let text = r.raw_text(field)?;
    let checked = check_name(NameKind::Schedule, text, "");
    r.take(field, checked)
}

/// A word of a closed list, or its first where none is written.
fn chosen<T>(r: &mut Reader<'_, '_>, field: &str, all: &'static [T]) -> T
where
    T: Copy + Default + Word,
{
    let words: Vec<(&'static str, T)> = all.iter().map(|word| (word.word(), *word)).collect();
    r.word(field, "unknown_choice", &words).unwrap_or_default()
}

/// A member of a closed list.
trait Word {
    fn word(self) -> &'static str;
}

macro_rules! choices {
    ($($name:ident),+) => {$(
        impl Word for $name {
            fn word(self) -> &'static str {
                self.as_str()
            }
        }
    )+};
}
choices!(Gap, Fold, OnClosed, Missed, Overlap);

/// When it fires, but for the expression.
fn when(r: &mut Reader<'_, '_>, rule: &mut TimeRule) {
    if let Some(zone) = timezone(r, "timezone") {
        rule.timezone = zone;
    }
    rule.start_date = r.date("start_date").or(rule.start_date);
    rule.end_date = r.date("end_date").or(rule.end_date);
    if r.get("start_date").is_some() || r.get("end_date").is_some() {
        in_order(r, rule.start_date, rule.end_date);
    }
    rule.gap = chosen(r, "gap", Gap::ALL);
    rule.fold = chosen(r, "fold", Fold::ALL);
    rule.on = chosen(r, "on", OnClosed::ALL);
    // Microseconds UTC: whoever writes it has a zone-aware datetime.
    rule.anchor = r.int("anchor", i64::MIN, i64::MAX).map(Instant);
    rule.calendar = calendar(r, "calendar");
    if rule.calendar.is_none() && r.get("on").is_some() && r.get("calendar").is_none() {
        let hint = "name the calendar whose closed days it is about: calendar=ms.calendar(...)";
        r.advise("on", "no_calendar", "there is no calendar to be closed", hint);
    }
    let jitter = r.duration(JITTER).flatten();
    rule.jitter_ms = jitter.unwrap_or_default();
    if rule.jitter_ms > MOST_JITTER_MS {
        let message = "fires would be due more than a week late";
        let hint = "a jitter spreads what starts at one instant, such as \"10m\"; at most 7 days";
        let field = JITTER.into_iter().find(|field| r.get(field).is_some()).unwrap_or(JITTER[0]);
        r.advise(field, "duration_out_of_range", message, hint);
    }
}

/// The days on which it may fire.
pub(super) fn calendar(r: &mut Reader<'_, '_>, field: &str) -> Option<CalendarDef> {
    let value = r.get(field)?;
    let place = r.place_of(field);
    let mut inner = r.inside(value, &place, &["name", "weekdays", "include", "exclude"])?;
    let name = inner.line("name", 128).unwrap_or_default();
    if name.is_empty() {
        inner.report("name", "missing_field", "the calendar has no name");
    }
    let mut weekdays: Vec<u8> = Vec::new();
    for (at, item) in inner.list("weekdays").iter().enumerate() {
        match item.as_u64().and_then(|day| u8::try_from(day).ok()).filter(|day| *day < 7) {
            Some(day) => weekdays.push(day),
            None => {
                let message = format!("{} is not a weekday", kind_of(item));
                let field = format!("weekdays[{at}]");
                inner.advise(&field, "bad_weekday", message, "0 is Monday, 6 is Sunday");
            }
        }
    }
    weekdays.sort_unstable();
    weekdays.dedup();
    let (include, exclude) = (days(&mut inner, "include"), days(&mut inner, "exclude"));
    Some(CalendarDef { name, weekdays, include, exclude })
}

/// Dates, ascending and each once.
fn days(r: &mut Reader<'_, '_>, field: &str) -> Vec<Date> {
    let mut days = BTreeSet::new();
    for (place, text) in r.texts(field) {
        let checked = Date::parse(text);
        days.extend(r.take(&place, checked));
    }
    days.into_iter().collect()
}

/// What it fires: the tasks that it names, each with values of its own if it has them, or the dag.
fn bindings(r: &mut Reader<'_, '_>) -> Vec<Binding> {
    let params = r.object("params");
    let mut bindings = Vec::new();
    for (at, value) in r.list("tasks").iter().enumerate() {
        let field = format!("tasks[{at}]");
        match value {
            Value::String(task) => {
                bindings.push(Binding { task: Some(task.clone()), params: params.clone() });
            }
            Value::Object(_) => {
                let place = r.place_of(&field);
                let Some(mut inner) = r.inside(value, &place, &["task", "params"]) else {
                    continue;
                };
                let Some(task) = inner.raw_text("task").map(str::to_owned) else {
                    inner.report("task", "missing_field", "it does not say which task");
                    continue;
                };
                let mut own = params.clone();
                own.extend(inner.object("params"));
                bindings.push(Binding { task: Some(task), params: own });
            }
            other => {
                let message = format!("expected the name of a task, found {}", kind_of(other));
                r.advise(&field, "wrong_type", message, "such as \"load\"");
            }
        }
    }
    if matches!(r.get("tasks"), Some(Value::Array(tasks)) if tasks.is_empty()) {
        let hint = "name tasks, or leave it out: then the schedule fires the whole dag";
        r.advise("tasks", "no_tasks", "the schedule fires no task", hint);
    }
    if bindings.is_empty() {
        bindings = vec![Binding { task: None, params }];
    }
    bindings
}

fn expression(r: &mut Reader<'_, '_>, field: &str, text: &str) -> Option<String> {
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    // Instants are as many as there are.
    let most = if trimmed.starts_with("at ") { 65_536 } else { 256 };
    if trimmed.is_empty() || length > most || trimmed.chars().any(char::is_control) {
        let message = match length {
            0 => "the schedule is empty".to_owned(),
            _ if length > most => {
                format!("the schedule has {length} characters, at most {most} fit")
            }
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

/// From the nominal local date to the business date.
pub(super) fn biz_offset(r: &mut Reader<'_, '_>) -> Option<BizOffset> {
    match r.get("biz_offset")? {
        Value::String(text) => {
            let hint = "days such as -1, workdays such as \"-1 workday\", or \"interval_start\"";
            let problem = |message| Problem::new("syntax", "", message).hint(hint);
            r.take("biz_offset", text.parse().map_err(problem))
        }
        _ => {
            let farthest = i64::from(FARTHEST);
            let days = r.int("biz_offset", -farthest, farthest)?;
            i32::try_from(days).ok().map(BizOffset::Days)
        }
    }
}

fn in_order(r: &mut Reader<'_, '_>, start: Option<Date>, end: Option<Date>) {
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        let message = format!("it ends on {end}, before it starts on {start}");
        r.report("end_date", "bad_date_range", message);
    }
}
