//! The keyword arguments of a handler: static values, the run's parameters, results of upstreams,
//! and what the run fills by itself.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;

use super::context::{Context, date, datetime};
use super::values;
use crate::model::{Mapping, Param, ParamType};
use crate::runtime::{Finished, Input, Job};

/// Has the placeholders of a job filled in; secrets are those of this process's environment.
///
/// # Errors
/// How the attempt has failed.
pub fn fill(py: Python<'_>, job: &Job) -> Result<(), Box<Finished>> {
    job.fill(&|name| {
        let environment = py.import("os").and_then(|os| os.getattr("environ")).ok()?;
        let found = environment.call_method1("get", (format!("MAINSPRING_SECRET_{name}"),));
        found.ok()?.extract().ok()
    })
}

/// The arguments of a job whose placeholders have been filled in.
///
/// # Errors
/// Those of converters that the author's types bring, and of results that cannot be read.
pub fn keyword<'py>(
    py: Python<'py>,
    job: &Job,
    context: &Py<Context>,
    converters: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let arguments = PyDict::new(py);
    for (name, value) in job.params() {
        arguments.set_item(name, values::face(py, value)?)?;
    }
    let map = job.def.map.as_ref();
    let list = map.and_then(Mapping::param);
    // The list that a task is mapped over is no argument of its handler: the item is.
    for param in job.def.param_schema.iter().filter(|param| Some(&*param.name) != list) {
        let value = match job.run.params.get(&param.name).or(param.default.as_ref()) {
            Some(value) => typed(py, param, value)?,
            // The checks leave no other parameter without a value than dates that are the run's.
            None if param.kind == ParamType::Date && !param.nullable => date(py, job.run.biz_date)?,
            None => py.None().into_bound(py),
        };
        arguments.set_item(&param.name, value)?;
    }
    for (name, input) in &job.inputs {
        let value = match input {
            Input::Text(text) => values::text_to_python(py, text)?,
            Input::File(path) => values::text_to_python(py, &std::fs::read_to_string(path)?)?,
            Input::Nothing => py.None().into_bound(py),
        };
        arguments.set_item(name, value)?;
    }
    if let (Some(item), Some(name)) = (&job.item, map.and_then(|map| map.argument.as_ref())) {
        arguments.set_item(name, values::text_to_python(py, &item.text)?)?;
    }
    let run = &job.run;
    for name in &job.def.injected {
        let value = match name.as_str() {
            "biz_date" => date(py, run.biz_date)?,
            "nominal_at" => datetime(py, run.nominal_at, &run.timezone)?,
            "interval_start" => datetime(py, run.interval.0, &run.timezone)?,
            "interval_end" => datetime(py, run.interval.1, &run.timezone)?,
            "ctx" => wrapped(py, context)?,
            number => match job.item_values().into_iter().find(|(name, _)| *name == number) {
                Some((_, value)) => values::face(py, &value)?,
                None => continue,
            },
        };
        arguments.set_item(name, value)?;
    }
    if let Some(converters) = converters {
        for (name, convert) in converters.iter() {
            if let Some(value) = arguments.get_item(&name)? {
                arguments.set_item(name, convert.call1((value,))?)?;
            }
        }
    }
    Ok(arguments)
}

/// A parameter's value as its type wants it: dates as dates, durations as durations.
fn typed<'py>(py: Python<'py>, param: &Param, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    static PARSE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let kind = match param.kind {
        ParamType::Date => "date",
        ParamType::Datetime => "datetime",
        ParamType::Duration => "duration",
        _ => return values::face(py, value),
    };
    let Value::String(text) = value else { return values::face(py, value) };
    let made = || py.import("mainspring._time")?.getattr("parse").map(Bound::unbind);
    PARSE.get_or_try_init(py, made)?.bind(py).call1((kind, text))
}

/// The context as the author sees it.
fn wrapped<'py>(py: Python<'py>, context: &Py<Context>) -> PyResult<Bound<'py, PyAny>> {
    static WRAP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = || py.import("mainspring._context")?.getattr("Context").map(Bound::unbind);
    WRAP.get_or_try_init(py, made)?.bind(py).call1((context.clone_ref(py),))
}
