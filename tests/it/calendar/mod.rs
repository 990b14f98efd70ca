//! The calendar floor: cases with checked answers, and properties over random schedules.

mod agree;
mod biz;
mod cases;
mod corners;
mod crons;
mod fuzz;
mod open_days;
mod oracle;
mod properties;
mod random;
mod refusals;
mod slow;
mod support;
mod template;
