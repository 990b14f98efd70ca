//! The calendar floor: cases with checked answers, and properties over random schedules.

mod biz;
mod cases;
mod corners;
mod crons;
mod open_days;
mod oracle;
mod properties;
mod refusals;
mod support;
mod template;
