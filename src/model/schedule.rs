//! A time rule as it is defined: when it fires, what of, and what becomes of fires that were missed.
//!
//! The rule itself is text and dates here; the calendar reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::words;
use super::{Date, Instant};

/// How long a missed fire is still run by default: seven days.
pub const MISSED_WINDOW_MS: i64 = 7 * 86_400_000;

words! {
    /// What to do with a wall time that the clocks jump over.
    #[derive(Default)]
    pub enum Gap {
        /// Run once at the first instant after the gap.
        #[default]
        Carry = "carry", 0;
        /// Do not run.
        Skip = "skip", 1;
        /// Run later by the size of the gap.
        Shift = "shift", 2;
    }
}

words! {
    /// What to do with a wall time that the clocks show twice.
    #[derive(Default)]
    pub enum Fold {
        /// Run the first time.
        #[default]
        First = "first", 0;
        /// Run the second time.
        Last = "last", 1;
        /// Run both times.
        Both = "both", 2;
    }
}

words! {
    /// What to do with a fire on a day on which the schedule's calendar is closed.
    #[derive(Default)]
    pub enum OnClosed {
        /// Leave it out, with a record.
        #[default]
        Skip = "skip", 0;
        /// Run on the next open day, at most once a day.
        Next = "next", 1;
        /// Run on the open day before, at most once a day.
        Previous = "previous", 2;
    }
}

words! {
    /// What becomes of fires that fell due while nobody was there to see them.
    #[derive(Default)]
    pub enum Missed {
        /// Each is run.
        #[default]
        All = "all", 0;
        /// The newest is run.
        Last = "last", 1;
        /// None is run.
        None = "none", 2;
    }
}

words! {
    /// What becomes of a fire while as many runs of the dag are live as may be.
    #[derive(Default)]
    pub enum Overlap {
        /// It waits, in nominal order.
        #[default]
        Queue = "queue", 0;
        /// It makes no run, with a record.
        Skip = "skip", 1;
    }
}

words! {
    /// Why a fire made no run.
    pub enum SkipReason {
        /// Nobody was there when it fell due, and its schedule runs fewer of those.
        Missed = "missed", 0;
        /// Nobody was there, and it is older than the window of its schedule.
        Expired = "expired", 1;
        /// Its schedule was paused.
        Paused = "paused", 2;
        /// As many runs of the dag were live as may be.
        Overlap = "overlap", 3;
        /// The calendar of its schedule is closed on that day.
        Calendar = "calendar", 4;
        /// Its schedule was removed before anybody could run it.
        Removed = "removed", 5;
        /// The values that its schedule gives do not fit the parameters of the tasks.
        Params = "params", 6;
    }
}

impl CalendarDef {
    /// Whether the date is one of its days.
    pub fn has(&self, date: Date) -> bool {
        let weekday = self.weekdays.iter().any(|day| u32::from(*day) == date.weekday());
        (weekday || self.include.contains(&date)) && !self.exclude.contains(&date)
    }
}

/// From the nominal local date to the business date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BizOffset {
    /// Calendar days.
    Days(i32),
    /// Days on which the schedule's calendar is open, Monday to Friday without one.
    Workdays(i32),
    /// No count: the local date on which the data interval begins.
    IntervalStart,
}

impl std::fmt::Display for BizOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BizOffset::Days(days) => write!(f, "{days}"),
            BizOffset::Workdays(days) => write!(f, "{days} workday"),
            BizOffset::IntervalStart => f.write_str("interval_start"),
        }
    }
}

impl std::str::FromStr for BizOffset {
    type Err = String;

    /// Reads `-1`, `-1d`, `-1 workday` or `interval_start`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        if trimmed == "interval_start" {
            return Ok(BizOffset::IntervalStart);
        }
        let sign = usize::from(trimmed.starts_with(['-', '+']));
        let digits = trimmed[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = trimmed.split_at(sign + digits);
        let number = number.parse::<i32>().ok().filter(|days| days.abs() <= FARTHEST);
        match (number, unit.trim()) {
            (Some(days), "" | "d" | "day" | "days") => Ok(BizOffset::Days(days)),
            (Some(days), "workday" | "workdays") => Ok(BizOffset::Workdays(days)),
            _ => {
                let shown: String = text.chars().take(30).flat_map(char::escape_debug).collect();
                Err(format!("`{shown}` is not an offset"))
            }
        }
    }
}

/// Days that a business date may lie away: ten years.
pub const FARTHEST: i32 = 3_660;

impl Serialize for BizOffset {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            BizOffset::Days(days) => s.serialize_i32(*days),
            other => s.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for BizOffset {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Days(i32),
            Text(String),
        }
        match Written::deserialize(d)? {
            Written::Days(days) => Ok(BizOffset::Days(days)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// A named set of days, in the shortest form: weekdays, days that are open besides, and days that
/// are closed all the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CalendarDef {
    /// What it is called.
    pub name: String,
    /// Open weekdays, Monday 0 to Sunday 6, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<u8>,
    /// Days that are open though their weekday is not, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<Date>,
    /// Days that are closed though their weekday is open, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Date>,
}

/// When a schedule fires: all that an edit of it can change about its fires.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeRule {
    /// The cron line, `@daily`, `every 6h` or `at <instants>`, as authored.
    pub expression: String,
    /// IANA zone, never empty.
    pub timezone: String,
    /// First nominal local date, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_date: Option<Date>,
    /// Last nominal local date, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_date: Option<Date>,
    /// Wall times that the clocks jump over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gap: Gap,
    /// Wall times that the clocks show twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fold: Fold,
    /// From where the steps of `every` are counted; none is the first day of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Instant>,
    /// The days on which it may fire; none is every day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarDef>,
    /// What happens on the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on: OnClosed,
    /// Each fire is due later by a part of this that follows from its name and instant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter_ms: i64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl TimeRule {
    /// A rule that is its text and zone, and the default in all else.
    pub fn new(expression: impl Into<String>, timezone: impl Into<String>) -> TimeRule {
        TimeRule {
            expression: expression.into(),
            timezone: timezone.into(),
            start_date: None,
            end_date: None,
            gap: Gap::default(),
            fold: Fold::default(),
            anchor: None,
            calendar: None,
            on: OnClosed::default(),
            jitter_ms: 0,
        }
    }
}

/// What a schedule makes runs of, and with which values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The task, by its name in the dag; none is the dag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Values for the run's parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
}

/// A time rule with what it fires and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleDef {
    /// Stable name, unique in its dag: by default `default`, then `default_2` and so on.
    pub name: String,
    /// The name that it had before, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// When it fires.
    pub rule: TimeRule,
    /// From nominal to business date; none is the default rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub biz_offset: Option<BizOffset>,
    /// What becomes of fires during an outage.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missed: Missed,
    /// How old a missed fire may be and still run.
    pub missed_window_ms: i64,
    /// What becomes of fires while `max_active_runs` are live.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overlap: Overlap,
    /// What it fires; never empty.
    pub bindings: Vec<Binding>,
    /// No new fires while true. Registering again does not undo a pause made elsewhere.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paused: bool,
}

impl ScheduleDef {
    /// A schedule of a whole dag with the default in all but its time.
    pub fn new(name: impl Into<String>, rule: TimeRule) -> ScheduleDef {
        ScheduleDef {
            name: name.into(),
            renamed_from: None,
            rule,
            biz_offset: None,
            missed: Missed::default(),
            missed_window_ms: MISSED_WINDOW_MS,
            overlap: Overlap::default(),
            bindings: vec![Binding::default()],
            paused: false,
        }
    }

    /// Whether it fires this task by itself.
    pub fn binds_task(&self, task: &str) -> bool {
        self.bindings.iter().any(|binding| binding.task.as_deref() == Some(task))
    }

    /// Whether it fires the dag.
    pub fn binds_dag(&self) -> bool {
        self.bindings.iter().any(|binding| binding.task.is_none())
    }
}

/// Tells apart bindings of one target that give different values: empty where they give none,
/// else a fingerprint of them (FNV-1a of 64 bits, stable over versions and platforms).
pub fn variant(params: &BTreeMap<String, Value>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    if params.is_empty() {
        return String::new();
    }
    // A map that is sorted, of values whose text is that of JSON: the same values, the same text.
    let text: Vec<String> =
        params.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    let hash = text
        .join(",")
        .bytes()
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}

impl super::DagDef {
    /// Whether a task has a schedule of its own: then it is not part of the dag's timed runs.
    pub fn has_own_schedule(&self, task: &str) -> bool {
        self.schedules.iter().any(|schedule| schedule.binds_task(task))
    }
}

/// What fires: a dag, or one task of it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The dag.
    pub dag: super::DagId,
    /// The task, if it fires by itself.
    pub task: Option<super::TaskId>,
}

/// What of timed runs is unique: two schedules of a target at one instant make one run, unless
/// they give it different values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimedKey {
    /// What fires.
    pub target: Target,
    /// The instant it is meant for.
    pub nominal_at: Instant,
    /// Tells apart bindings that give different values; empty where they give none.
    pub variant: String,
}

words! {
    /// Whether a schedule fires in a period of its life.
    pub enum PeriodKind {
        /// It does.
        Active = "active", 0;
        /// It is paused.
        Paused = "paused", 1;
        /// It is not there.
        Removed = "removed", 2;
    }
}

/// A period in the life of a schedule in which its rule stayed the same. Fires after `from` and up
/// to `until` are its.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// Its beginning, not included.
    pub from: Instant,
    /// Its end, included; none while it lasts.
    pub until: Option<Instant>,
    /// Whether it fires.
    pub kind: PeriodKind,
    /// When.
    pub rule: TimeRule,
}

/// Fires in a row that made no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Whose.
    pub schedule: super::ScheduleId,
    /// The first.
    pub from: Instant,
    /// The last.
    pub to: Instant,
    /// How many.
    pub count: i64,
    /// Why.
    pub reason: SkipReason,
}
