//! Our errors as the exceptions of `mainspring.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::model::SpecError;
use crate::runtime::SessionError;
use crate::store::StoreError;

/// The exception class of this name.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || py.import("mainspring.errors").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

fn raise(name: &str, message: String) -> PyErr {
    Python::attach(|py| match class(py, name).and_then(|class| class.call1((message,))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    })
}

/// Everything that is wrong with a definition or a request.
pub fn spec(error: SpecError) -> PyErr {
    Python::attach(|py| {
        let made = (|| {
            let mut problems = Vec::with_capacity(error.0.len());
            for problem in &error.0 {
                let dict = PyDict::new(py);
                dict.set_item("code", problem.code)?;
                dict.set_item("place", &problem.place)?;
                dict.set_item("message", &problem.message)?;
                dict.set_item("hint", problem.hint.as_deref())?;
                problems.push(dict);
            }
            class(py, "SpecError")?.call_method1("from_core", (problems,))
        })();
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    })
}

/// What is wrong with the database.
pub fn store(error: StoreError) -> PyErr {
    match error {
        StoreError::Refused(problems) => spec(problems),
        unreadable @ StoreError::Unreadable(_) => raise("_Unreadable", unreadable.to_string()),
        absent @ StoreError::Absent { .. } => raise("NotFoundError", absent.to_string()),
        other => raise("StoreError", other.to_string()),
    }
}

/// Why a session could not do what it was asked.
pub fn session(error: SessionError) -> PyErr {
    match error {
        SessionError::Spec(problems) => spec(problems),
        SessionError::NotFound(message) => raise("NotFoundError", message),
        SessionError::Refused(message) => raise("ConflictError", message),
        SessionError::Store(message) => raise("StoreError", message),
        SessionError::Unreadable(message) => raise("_Unreadable", message),
        other @ (SessionError::Closed | SessionError::Internal(_)) => {
            raise("MainspringError", other.to_string())
        }
    }
}
