//! Rules of time for Python: instants are microseconds UTC, wall times seconds of the wall clock.

use std::collections::BTreeMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyBytes, PyList, PyType};
use serde::de::DeserializeOwned;

use super::errors;
use crate::calendar::{
    self, ClockChange, Dialect, Every, Fire, Meaning, Moment, Outside, Step, Template, Wall, Zone,
};
use crate::model::{Date, Instant, Problem, SpecError, TimeRule};

/// How many fires are computed between two looks at Ctrl-C.
const CHUNK: usize = 1 << 16;

/// When something fires: a cron line, an interval, or given instants, in a zone.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Rule {
    pub(super) inner: calendar::Rule,
}

#[pymethods]
impl Rule {
    /// A cron expression.
    #[staticmethod]
    #[pyo3(signature = (expression, timezone, gap = "carry", fold = "first"))]
    fn cron(expression: &str, timezone: &str, gap: &str, fold: &str) -> PyResult<Rule> {
        let made = || {
            let (zone, clock) = (Zone::named(timezone)?, clock_change(gap, fold)?);
            calendar::Rule::cron_with(expression, &zone, clock)
        };
        made().map(|inner| Rule { inner }).map_err(errors::spec)
    }

    /// A step from an anchor; by default from the first midnight of 1970 in the zone.
    #[staticmethod]
    #[pyo3(signature = (step, anchor, timezone, gap = "carry", fold = "first"))]
    fn every(
        step: &str,
        anchor: Option<i64>,
        timezone: &str,
        gap: &str,
        fold: &str,
    ) -> PyResult<Rule> {
        let made = || -> Result<Rule, SpecError> {
            let (zone, clock) = (Zone::named(timezone)?, clock_change(gap, fold)?);
            let first = || zone.first_instant(Wall::new(Date(0), 0));
            let anchor = anchor.map_or_else(first, Instant);
            let every = Every::new(Step::parse(step)?, anchor, zone, clock);
            Ok(Rule { inner: calendar::Rule::Every(every) })
        };
        made().map_err(errors::spec)
    }

    /// Given instants.
    #[staticmethod]
    fn at(instants: Vec<i64>, timezone: &str) -> PyResult<Rule> {
        let zone = zone(timezone)?;
        let instants = instants.into_iter().map(Instant).collect();
        Ok(Rule { inner: calendar::Rule::at(instants, &zone) })
    }

    /// A schedule as a dag writes it: a cron line, `@daily`, `every 6h`, `at <local time>`.
    #[staticmethod]
    #[pyo3(signature = (expression, timezone, start_date = None))]
    fn written(expression: &str, timezone: &str, start_date: Option<&str>) -> PyResult<Rule> {
        let start_date = date(start_date)?;
        let rule = TimeRule { start_date, ..TimeRule::new(expression, timezone) };
        crate::engine::rule(&rule).map(|inner| Rule { inner }).map_err(errors::spec)
    }

    /// `cron`, `every` or `at`.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.inner {
            calendar::Rule::Cron(_) => "cron",
            calendar::Rule::Every(_) => "every",
            calendar::Rule::At(_) => "at",
        }
    }

    /// The shortest plain way to write it: a cron line, a step, or instants joined by commas.
    #[getter]
    fn canonical(&self) -> String {
        match &self.inner {
            calendar::Rule::Cron(rule) => rule.cron.to_string(),
            calendar::Rule::Every(every) => every.step().to_string(),
            calendar::Rule::At(at) => {
                let shown: Vec<String> = at.instants().iter().map(ToString::to_string).collect();
                shown.join(",")
            }
        }
    }

    /// `unix` or `quartz`; nothing for what is no cron expression.
    #[getter]
    fn dialect(&self) -> Option<&'static str> {
        match &self.inner {
            calendar::Rule::Cron(rule) => Some(match rule.cron.dialect() {
                Dialect::Unix => "unix",
                Dialect::Quartz => "quartz",
            }),
            _ => None,
        }
    }

    /// Whether it is a cron expression of all 24 hours, which follows elapsed time.
    #[getter]
    fn every_hour(&self) -> bool {
        matches!(&self.inner, calendar::Rule::Cron(rule) if rule.cron.every_hour())
    }

    /// The zone's name.
    #[getter]
    fn timezone(&self) -> &str {
        self.inner.zone().name()
    }

    /// Whether two cron expressions match the same wall-clock times.
    fn same_times(&self, other: &Rule) -> bool {
        match (&self.inner, &other.inner) {
            (calendar::Rule::Cron(a), calendar::Rule::Cron(b)) => a.cron.same_times(&b.cron),
            _ => false,
        }
    }

    /// The first fires strictly after an instant: (instant, nominal wall time).
    #[pyo3(signature = (after, n = 1))]
    fn next(&self, py: Python<'_>, after: i64, n: usize) -> PyResult<Vec<(i64, i64)>> {
        let mut found = Vec::with_capacity(n.min(CHUNK));
        let after = Instant(after).plus_micros(1);
        let next = |at| self.inner.next(at);
        walk(py, next, after, Instant(i64::MAX), n, |fire| found.push(pair(fire)))?;
        Ok(found)
    }

    /// The last fires strictly before an instant, latest first.
    #[pyo3(signature = (before, n = 1))]
    fn prev(&self, py: Python<'_>, before: i64, n: usize) -> PyResult<Vec<(i64, i64)>> {
        let mut found = Vec::with_capacity(n.min(CHUNK));
        let mut at = Instant(before);
        while found.len() < n {
            let more = CHUNK.min(n - found.len());
            let chunk: Vec<Fire> = py.detach(|| self.inner.before(at).take(more).collect());
            let Some(last) = chunk.last() else { break };
            at = last.at;
            found.extend(chunk.into_iter().map(pair));
            py.check_signals()?;
        }
        Ok(found)
    }

    /// The fires from one instant (included) to another (not included), at most `limit`.
    #[pyo3(signature = (start, end, limit = None))]
    fn between(
        &self,
        py: Python<'_>,
        start: i64,
        end: i64,
        limit: Option<usize>,
    ) -> PyResult<Vec<(i64, i64)>> {
        let mut found = Vec::new();
        self.span(py, start, end, limit, |fire| found.push(pair(fire)))?;
        Ok(found)
    }

    /// The same, as instants alone.
    #[pyo3(signature = (start, end, limit = None))]
    fn between_micros(
        &self,
        py: Python<'_>,
        start: i64,
        end: i64,
        limit: Option<usize>,
    ) -> PyResult<Vec<i64>> {
        let mut found = Vec::new();
        self.span(py, start, end, limit, |fire| found.push(fire.at.0))?;
        Ok(found)
    }

    /// What `next` gives, as datetimes of a zone.
    fn next_shown<'py>(
        &self,
        py: Python<'py>,
        after: i64,
        n: usize,
        zone: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        shown(zone, self.next(py, after, n)?.into_iter().map(|(at, _)| at))
    }

    /// What `prev` gives, as datetimes of a zone.
    fn prev_shown<'py>(
        &self,
        py: Python<'py>,
        before: i64,
        n: usize,
        zone: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        shown(zone, self.prev(py, before, n)?.into_iter().map(|(at, _)| at))
    }

    /// What `between_micros` gives, as datetimes of a zone.
    #[pyo3(signature = (start, end, limit, zone))]
    fn between_shown<'py>(
        &self,
        py: Python<'py>,
        start: i64,
        end: i64,
        limit: Option<usize>,
        zone: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        shown(zone, self.between_micros(py, start, end, limit)?.into_iter())
    }

    /// The same, packed as eight bytes each in the order of this machine: a column of a table.
    #[pyo3(signature = (start, end, limit = None))]
    fn between_packed<'py>(
        &self,
        py: Python<'py>,
        start: i64,
        end: i64,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut found = Vec::new();
        self.span(py, start, end, limit, |fire| found.extend(fire.at.0.to_ne_bytes()))?;
        Ok(PyBytes::new(py, &found))
    }

    /// How many fires there are from one instant (included) to another (not included).
    fn count(&self, py: Python<'_>, start: i64, end: i64) -> PyResult<usize> {
        self.span(py, start, end, None, |_| ())
    }
}

impl Rule {
    fn span(
        &self,
        py: Python<'_>,
        start: i64,
        end: i64,
        limit: Option<usize>,
        each: impl FnMut(Fire) + Send,
    ) -> PyResult<usize> {
        let limit = limit.unwrap_or(usize::MAX);
        walk(py, |at| self.inner.next(at), Instant(start), Instant(end), limit, each)
    }
}

/// Calls `each` with the fires from `start` (included) to `end` (not included); Ctrl-C is heard.
pub(super) fn walk(
    py: Python<'_>,
    next: impl Fn(Instant) -> Option<Fire> + Sync,
    start: Instant,
    end: Instant,
    limit: usize,
    mut each: impl FnMut(Fire) + Send,
) -> PyResult<usize> {
    let (mut at, mut seen) = (start.plus_micros(-1), 0);
    loop {
        let over = py.detach(|| {
            for _ in 0..CHUNK {
                if seen >= limit {
                    return true;
                }
                let Some(fire) = next(at).filter(|fire| fire.at < end) else { return true };
                at = fire.at;
                seen += 1;
                each(fire);
            }
            false
        });
        if over {
            return Ok(seen);
        }
        py.check_signals()?;
    }
}

/// Microseconds since 1970 in UTC as aware datetimes. From here a call costs a third of what a
/// loop in Python makes of it.
fn shown<'py>(
    zone: &Bound<'py, PyAny>,
    instants: impl ExactSizeIterator<Item = i64>,
) -> PyResult<Bound<'py, PyList>> {
    static DATETIME: PyOnceLock<Py<PyType>> = PyOnceLock::new();

    let py = zone.py();
    let datetime = DATETIME.import(py, "datetime", "datetime")?;
    let found: PyResult<Vec<Bound<'py, PyAny>>> = instants
        .map(|at| {
            let (second, rest) = (at.div_euclid(Instant::SECOND), at.rem_euclid(Instant::SECOND));
            let shown = datetime.call_method1(intern!(py, "fromtimestamp"), (second, zone))?;
            if rest == 0 {
                return Ok(shown);
            }
            let fraction = [(intern!(py, "microsecond"), rest)].into_py_dict(py)?;
            shown.call_method(intern!(py, "replace"), (), Some(&fraction))
        })
        .collect();
    PyList::new(py, found?)
}

fn pair(fire: Fire) -> (i64, i64) {
    (fire.at.0, fire.nominal.0)
}

fn clock_change(gap: &str, fold: &str) -> Result<ClockChange, SpecError> {
    Ok(ClockChange {
        gap: choice("gap", gap, "carry, skip, shift")?,
        fold: choice("fold", fold, "first, last, both")?,
    })
}

fn choice<T: DeserializeOwned>(place: &str, text: &str, known: &str) -> Result<T, Problem> {
    serde_json::from_value(text.into()).map_err(|_| {
        let shown: String = text.chars().take(30).collect();
        let message = format!("`{shown}` is not a choice");
        Problem::new("unknown_choice", place, message).hint(format!("one of {known}"))
    })
}

/// The zone of this name.
pub(super) fn zone(name: &str) -> PyResult<Zone> {
    Zone::named(name).map_err(|problem| errors::spec(problem.into()))
}

/// An ISO date, if there is one.
pub(super) fn date(text: Option<&str>) -> PyResult<Option<Date>> {
    text.map(Date::parse).transpose().map_err(|problem| errors::spec(problem.into()))
}

/// What the wall clock of a zone shows at an instant.
#[pyfunction]
pub fn wall_at(timezone: &str, at: i64) -> PyResult<i64> {
    Ok(zone(timezone)?.wall(Instant(at)).0)
}

/// The instants at which a zone's clock shows a wall time: none in a gap, two in a fold.
#[pyfunction]
pub fn instants_of(timezone: &str, wall: i64) -> PyResult<Vec<i64>> {
    Ok(match zone(timezone)?.meaning(Wall(wall)) {
        Meaning::Once(at) => vec![at.0],
        Meaning::Twice(first, second) => vec![first.0, second.0],
        Meaning::Never { .. } => vec![],
    })
}

/// The first instant at which a zone's clock shows a wall time or, after a gap, a later one.
#[pyfunction]
pub fn first_instant(timezone: &str, wall: i64) -> PyResult<i64> {
    Ok(zone(timezone)?.first_instant(Wall(wall)).0)
}

/// A text with its placeholders filled in for one run.
///
/// The run is named by the instant `at`, by its nominal wall time, or by both where they differ.
#[pyfunction]
#[pyo3(signature = (text, timezone, at, wall, biz_date, interval_start, params))]
pub fn render(
    text: &str,
    timezone: &str,
    at: Option<i64>,
    wall: Option<i64>,
    biz_date: Option<&str>,
    interval_start: Option<i64>,
    params: BTreeMap<String, String>,
) -> PyResult<String> {
    let (zone, biz_date) = (zone(timezone)?, date(biz_date)?);
    let at = match (at, wall) {
        (Some(at), _) => Instant(at),
        (None, wall) => zone.first_instant(Wall(wall.unwrap_or_default())),
    };
    let nominal = wall.map_or_else(|| zone.wall(at), Wall);
    let moment = Moment {
        at,
        nominal,
        biz_date: biz_date.unwrap_or_else(|| nominal.date().plus_days(-1)),
        interval_start: interval_start.map(Instant),
        interval_end: None,
        zone,
    };
    let lookup = |outside: &Outside| match outside {
        Outside::Param(name) if params.contains_key(name) => Ok(params[name].clone()),
        Outside::Param(name) => Err(unknown(&format!("${{params.{name}}}"), "pass params={...}")),
        Outside::Result(name) | Outside::Name(name) => {
            Err(unknown(&format!("${{result.{name}}}"), "only a run has results"))
        }
        Outside::Secret(name) => {
            Err(unknown(&format!("${{secret:{name}}}"), "secrets are filled in by a run only"))
        }
    };
    Template::parse(text, &[]).and_then(|text| text.render(&moment, &lookup)).map_err(errors::spec)
}

fn unknown(place: &str, hint: &str) -> Problem {
    Problem::new("unknown_name", place, "has no value here").hint(hint)
}
