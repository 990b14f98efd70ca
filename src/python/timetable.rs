//! Rules with their first and last dates and their business dates, for Python.

use pyo3::prelude::*;

use super::business::Calendar;
use super::calendar::{Rule, date, walk};
use super::{errors, values};
use crate::calendar::{self, BizRule, Entry, Fire};
use crate::engine::{When, entry};
use crate::model::{Date, Instant};

/// All rules of one target: two of them at one instant are one fire.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Timetable {
    inner: calendar::Timetable,
}

/// Instant, nominal wall time, business date.
type Row = (i64, i64, String);

#[pymethods]
impl Timetable {
    #[new]
    #[pyo3(signature = (entries, biz_offset = None, calendar = None))]
    fn new(
        entries: Vec<(Py<Rule>, Option<String>, Option<String>)>,
        biz_offset: Option<&str>,
        calendar: Option<Py<Calendar>>,
    ) -> PyResult<Timetable> {
        let made: PyResult<Vec<Entry>> = entries
            .into_iter()
            .map(|(rule, start, end)| {
                let (start, end) = (date(start.as_deref())?, date(end.as_deref())?);
                Ok(Entry { rule: rule.get().inner.clone(), start, end, open: None })
            })
            .collect();
        let calendar = || calendar.as_ref().map(|calendar| calendar.get().inner.clone());
        let biz = biz_offset.map(|text| BizRule::parse(text, calendar())).transpose();
        let biz = biz.map_err(|problem| errors::spec(problem.into()))?.unwrap_or_default();
        Ok(Timetable { inner: calendar::Timetable::of(made?, biz) })
    }

    /// The schedules of a dag together, or with other business dates.
    #[staticmethod]
    #[pyo3(signature = (spec, biz_offset = None, calendar = None))]
    fn of_dag(
        spec: &Bound<'_, PyAny>,
        biz_offset: Option<&str>,
        calendar: Option<Py<Calendar>>,
    ) -> PyResult<Timetable> {
        let spec = values::to_json(spec)?;
        let inner = crate::engine::check_definition(&spec).and_then(|dag| {
            let entries = dag.schedules.iter().map(|schedule| entry(&schedule.rule));
            let when = When::of(&dag.timezone, dag.biz_offset, &dag.schedules)?;
            let own = when.timetable().map(|table| table.biz().clone()).unwrap_or_default();
            let calendar = calendar.as_ref().map(|calendar| calendar.get().inner.clone());
            let biz = biz_offset.map(|text| BizRule::parse(text, calendar)).transpose()?;
            let entries = entries.collect::<Result<_, _>>()?;
            Ok(calendar::Timetable::of(entries, biz.unwrap_or(own)))
        });
        Ok(Timetable { inner: inner.map_err(errors::spec)? })
    }

    /// The first fires strictly after an instant: (instant, nominal wall time, business date).
    #[pyo3(signature = (after, n = 1))]
    fn next(&self, py: Python<'_>, after: i64, n: usize) -> PyResult<Vec<Row>> {
        self.rows(py, Instant(after).plus_micros(1), Instant(i64::MAX), n)
    }

    /// The fires from one instant (included) to another (not included), at most `limit`.
    #[pyo3(signature = (start, end, limit = None))]
    fn between(
        &self,
        py: Python<'_>,
        start: i64,
        end: i64,
        limit: Option<usize>,
    ) -> PyResult<Vec<Row>> {
        self.rows(py, Instant(start), Instant(end), limit.unwrap_or(usize::MAX))
    }

    /// The fires whose business dates lie in a range, both ends included, at most `limit`.
    #[pyo3(signature = (first, last, limit = None))]
    fn backfill(
        &self,
        py: Python<'_>,
        first: &str,
        last: &str,
        limit: Option<usize>,
    ) -> PyResult<Vec<Row>> {
        let parse = |text| Date::parse(text).map_err(|problem| errors::spec(problem.into()));
        let (first, last) = (parse(first)?, parse(last)?);
        py.detach(|| {
            let rows = self.inner.backfill(first, last)?.take(limit.unwrap_or(usize::MAX));
            Ok(rows.map(|row| self.row(row.fire)).collect())
        })
        .map_err(|problem: crate::model::Problem| errors::spec(problem.into()))
    }

    /// The data interval of the fire at an instant: (start, end).
    fn interval(&self, at: i64) -> (Option<i64>, i64) {
        span(self.inner.interval(Instant(at)))
    }

    /// The last data interval that has ended by an instant.
    fn last_complete(&self, now: i64) -> Option<(Option<i64>, i64)> {
        self.inner.last_complete(Instant(now)).map(span)
    }

    /// What is legal but probably not meant: [{"code", "place", "message", "hint"}].
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::face(py, &self.inner.warnings())
    }
}

impl Timetable {
    fn rows(
        &self,
        py: Python<'_>,
        start: Instant,
        end: Instant,
        limit: usize,
    ) -> PyResult<Vec<Row>> {
        let mut found = Vec::new();
        let next = |at| self.inner.next(at);
        walk(py, next, start, end, limit, |fire| found.push(self.row(fire)))?;
        Ok(found)
    }

    fn row(&self, fire: Fire) -> Row {
        (fire.at.0, fire.nominal.0, self.inner.biz_date(fire).to_string())
    }
}

fn span((start, end): (Option<Instant>, Instant)) -> (Option<i64>, i64) {
    (start.map(|at| at.0), end.0)
}
