//! The calendar floor: cases with checked answers, and properties over random schedules.

mod cases;
mod crons;
mod oracle;
mod properties;
mod support;
