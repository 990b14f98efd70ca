//! Business calendars for Python: sets of days, dates as ISO text.

use std::sync::Arc;

use pyo3::prelude::*;

use super::calendar::Rule;
use super::{errors, values};
use crate::calendar::{self, BusinessCalendar};
use crate::model::{Date, Problem, SpecError};

/// A named set of days on which something is open.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Calendar {
    pub(super) inner: Arc<BusinessCalendar>,
}

#[pymethods]
impl Calendar {
    /// Every date that a cron rule can match; without one, no day at all.
    #[new]
    #[pyo3(signature = (name, rule = None))]
    fn new(name: &str, rule: Option<Py<Rule>>) -> PyResult<Calendar> {
        match rule.as_ref().map(|rule| &rule.get().inner) {
            None => Ok(made(BusinessCalendar::empty(name))),
            Some(calendar::Rule::Cron(rule)) => {
                Ok(made(BusinessCalendar::from_cron(name, &rule.cron)))
            }
            Some(_) => {
                let message = "only a cron rule names days";
                let problem = Problem::new("wrong_type", format!("calendar {name}"), message);
                Err(errors::spec(problem.into()))
            }
        }
    }

    /// The dates of the events of iCalendar text.
    #[staticmethod]
    fn from_ics(py: Python<'_>, name: &str, text: &str) -> PyResult<Calendar> {
        checked(py.detach(|| BusinessCalendar::from_ics(name, text)))
    }

    /// The same with these days added.
    fn include(&self, dates: Vec<String>) -> PyResult<Calendar> {
        checked(BusinessCalendar::clone(&self.inner).include(&parsed(&dates)?))
    }

    /// The same with these days taken away.
    fn exclude(&self, dates: Vec<String>) -> PyResult<Calendar> {
        checked(BusinessCalendar::clone(&self.inner).exclude(&parsed(&dates)?))
    }

    /// The same days in the shortest form: name, weekdays, and the days that differ from those.
    fn definition<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::face(py, &self.inner.def())
    }

    /// The days of either calendar.
    fn union(&self, other: &Calendar) -> Calendar {
        made(BusinessCalendar::clone(&self.inner).union(&other.inner))
    }

    /// The days of this calendar that are not in the other.
    fn minus(&self, other: &Calendar) -> Calendar {
        made(BusinessCalendar::clone(&self.inner).minus(&other.inner))
    }

    /// Whether the day is in the set.
    fn is_open(&self, day: &str) -> PyResult<bool> {
        Ok(self.inner.is_open(date(day)?))
    }

    /// Some open days on (or back); nothing beyond the years that calendars have.
    fn add_days(&self, day: &str, n: i32) -> PyResult<Option<String>> {
        Ok(self.inner.add_days(date(day)?, n).map(|day| day.to_string()))
    }

    /// The open days of a range, both ends included.
    fn days(&self, first: &str, last: &str) -> PyResult<Vec<String>> {
        let (mut at, last) = (date(first)?, date(last)?);
        let mut days = Vec::new();
        while let Some(day) = self.inner.ceil(at).filter(|day| *day <= last) {
            days.push(day.to_string());
            at = day.plus_days(1);
        }
        Ok(days)
    }
}

fn made(calendar: BusinessCalendar) -> Calendar {
    Calendar { inner: Arc::new(calendar) }
}

fn checked(calendar: Result<BusinessCalendar, Problem>) -> PyResult<Calendar> {
    calendar.map(made).map_err(|problem| errors::spec(problem.into()))
}

fn date(text: &str) -> PyResult<Date> {
    Date::parse(text).map_err(|problem| errors::spec(problem.into()))
}

/// Dates; every one that is none is told.
fn parsed(texts: &[String]) -> PyResult<Vec<Date>> {
    let (mut dates, mut problems) = (Vec::with_capacity(texts.len()), Vec::new());
    for text in texts {
        match Date::parse(text) {
            Ok(date) => dates.push(date),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(dates) } else { Err(errors::spec(SpecError(problems))) }
}
