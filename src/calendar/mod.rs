//! When: cron dialects, zones and clock changes, business dates, calendars, date placeholders.
//!
//! Everything is computed from what is passed in; nothing here reads a clock or the host's zone.

mod biz;
mod business;
mod cron;
pub mod dates;
mod day_rule;
mod every;
mod fires;
mod ics;
mod open_days;
mod rule;
mod template;
mod timetable;
mod wall;
mod zone;
mod zone_names;

pub use crate::model::{Fold, Gap};
pub use biz::{BizFire, BizRule};
pub use business::BusinessCalendar;
pub use cron::{Cron, Dialect, FIRST_YEAR, LAST_YEAR, MAX_LENGTH};
pub use day_rule::DayRule;
pub use every::{Every, Step};
pub use fires::{ClockChange, Fire};
pub use rule::{At, CronRule, Rule};
pub use template::{MAX_TEXT, Moment, Outside, Part, Template, Value};
pub use timetable::{Entry, Occurrence, Open, Timetable};
pub use wall::Wall;
pub use zone::{Meaning, Zone};
