//! Months of history: `task_run` and `attempt` lie in a table for each month of nominal time, so
//! that a question about some days reads those of their months, and retention takes whole tables
//! away. What is in no month is in the default partition: old backfills, and whatever came while a
//! month could not be made.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::client::{self, Connection};
use super::errors::Fault;
use super::open::Kind;
use super::{PostgresStore, texts};
use crate::model::{Date, Instant, State, TaskRunId};
use crate::store::Batch;

/// Tables that lie in months.
const TABLES: &[&str] = &["task_run", "attempt"];

/// Months that are made before they come.
const AHEAD: i32 = 2;

/// How long to wait until a month that could not be made is tried again.
const AGAIN_MS: i64 = 600_000;

/// How long those who read may keep a month from being made, and be kept waiting for that.
const WAIT: Duration = Duration::from_secs(2);

const DAY_MICROS: i64 = 86_400_000_000;

/// A month of UTC, counted from the year 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Month(i32);

impl Month {
    fn of(at: Instant) -> Month {
        let day = i32::try_from(at.0.div_euclid(DAY_MICROS)).unwrap_or(0);
        let (year, month, _) = Date(day).ymd();
        Month(year * 12 + i32::try_from(month).unwrap_or(1) - 1)
    }

    fn plus(self, months: i32) -> Month {
        Month(self.0 + months)
    }

    fn parts(self) -> (i32, u32) {
        (self.0.div_euclid(12), self.0.rem_euclid(12).unsigned_abs() + 1)
    }

    fn begins(self) -> Option<i64> {
        let (year, month) = self.parts();
        Some(i64::from(Date::from_ymd(year, month, 1)?.0) * DAY_MICROS)
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month) = self.parts();
        write!(f, "{year:04}_{month:02}")
    }
}

/// What is known of months, and in which of them task runs are that may still change.
#[derive(Debug, Default)]
pub(super) struct Months {
    /// The last one that was made, or was found to be there.
    made: Option<Month>,
    /// When making one has failed.
    failed_at: Option<Instant>,
    open: BTreeMap<TaskRunId, Instant>,
}

impl Months {
    /// Those of these task runs whose nominal time is not known.
    pub(super) fn unknown(&self, ids: impl Iterator<Item = TaskRunId>) -> Vec<i64> {
        ids.filter(|id| !self.open.contains_key(id)).map(|id| id.0).collect()
    }

    pub(super) fn know(&mut self, id: TaskRunId, nominal_at: Instant) {
        self.open.insert(id, nominal_at);
    }

    /// First and last nominal time of these task runs, so that the months of others are not looked
    /// at; everything where one is not known.
    pub(super) fn bounds(&self, ids: impl Iterator<Item = TaskRunId>) -> (i64, i64) {
        let mut bounds = (i64::MAX, i64::MIN);
        for id in ids {
            let Some(at) = self.open.get(&id) else { return (i64::MIN, i64::MAX) };
            bounds = (bounds.0.min(at.0), bounds.1.max(at.0));
        }
        bounds
    }

    /// After a batch was committed: what it made may change, what it ended seldom will.
    pub(super) fn committed(&mut self, batch: &Batch) {
        let made = batch.created.iter().flat_map(|run| &run.task_runs).chain(&batch.items);
        let now = |id, state: State, at| (id, (!state.is_final()).then_some(at));
        let made = made.map(|row| now(row.id, row.progress.state, Some(row.nominal_at)));
        let moved = batch.progressed.iter().map(|each| now(each.id, each.progress.state, None));
        for (id, open) in made.chain(moved) {
            match open {
                None => {
                    self.open.remove(&id);
                }
                Some(Some(at)) => self.know(id, at),
                Some(None) => {}
            }
        }
    }

    /// After anything went wrong: what was known may be of a history that is not the server's.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    /// The months that are to be made, as far as is known.
    fn wanted(&self, now: Instant) -> Option<(Month, Month)> {
        let last = Month::of(now).plus(AHEAD);
        let waits = self.failed_at.is_some_and(|at| now.millis_since(at).abs() < AGAIN_MS);
        if waits || self.made.is_some_and(|made| made >= last) {
            return None;
        }
        // The first time, what has just begun looks back over the end of its month.
        Some((self.made.map_or(Month::of(now).plus(-1), |made| made.plus(1)), last))
    }
}

impl PostgresStore {
    /// Makes months ahead of time. One that cannot be made is no reason to stop: its rows go to the
    /// default partition.
    pub(super) fn make_months(&self, batch: &Batch) {
        let wanted = self.months.borrow().wanted(batch.now);
        let Some((first, last)) = wanted else { return };
        for month in first.0..=last.0 {
            for table in TABLES {
                if self.make_month(table, Month(month)).is_err() {
                    self.months.borrow_mut().failed_at = Some(batch.now);
                    return;
                }
            }
        }
        let mut months = self.months.borrow_mut();
        (months.made, months.failed_at) = (Some(last), None);
    }

    /// One table in a transaction of its own: of two, a reader might hold the one and want the
    /// other.
    fn make_month(&self, table: &str, month: Month) -> Result<(), Fault> {
        let (Some(from), Some(until)) = (month.begins(), month.plus(1).begins()) else {
            return Ok(());
        };
        let text = |text: &str| {
            text.replace("{{table}}", table)
                .replace("{{month}}", &month.to_string())
                .replace("{{from}}", &from.to_string())
                .replace("{{until}}", &until.to_string())
        };
        let made = self.transaction(Kind::Alone, |conn: &Connection| {
            let name = format!("{table}_{month}");
            if conn.prepare_cached(texts::MONTH_FIND)?.exists([name])? {
                return Ok(());
            }
            conn.execute_batch(&format!("SET LOCAL lock_timeout = {}", WAIT.as_millis()))?;
            conn.execute_batch(&text(texts::MONTH_TABLE))?;
            Ok(conn.execute_batch(&text(texts::MONTH_ATTACH))?)
        });
        match made {
            // Another process was quicker; or its rows are in the default partition by now, and
            // stay there.
            Err(Fault::Sql(client::Error::Server(error)))
                if [Some(&SqlState::DUPLICATE_TABLE), Some(&SqlState::CHECK_VIOLATION)]
                    .contains(&error.code()) =>
            {
                Ok(())
            }
            made => made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Month, Months};
    use crate::model::Instant;

    #[test]
    fn a_month_has_its_name_and_bounds() {
        let at = Instant::from_secs(1_705_284_000);
        let month = Month::of(at);
        assert_eq!(month.to_string(), "2024_01");
        assert_eq!(month.begins(), Some(1_704_067_200_000_000));
        assert_eq!(month.plus(12).to_string(), "2025_01");
        assert_eq!(month.plus(-1).to_string(), "2023_12");
        assert_eq!(Month::of(Instant(-1)).to_string(), "1969_12");
    }

    #[test]
    fn months_are_wanted_once_and_after_a_failure_later() {
        let now = Instant::from_secs(1_705_284_000);
        let mut months = Months::default();
        let (first, last) = months.wanted(now).unwrap();
        assert_eq!((first.to_string(), last.to_string()), ("2023_12".into(), "2024_03".into()));
        months.made = Some(last);
        assert_eq!(months.wanted(now), None);
        let later = now.plus_millis(31 * 86_400_000);
        assert_eq!(months.wanted(later).map(|(first, _)| first), Some(last.plus(1)));
        months.failed_at = Some(later);
        assert_eq!(months.wanted(later), None);
        assert!(months.wanted(later.plus_millis(super::AGAIN_MS)).is_some());
    }
}
