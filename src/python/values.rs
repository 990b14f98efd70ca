//! Values across the boundary: Python to JSON text by a walker of our own, JSON to Python by
//! pythonize.
//!
//! The walker is ours because the way in must survive what users have: lists that hold
//! themselves, a million levels, NaN, lone surrogates, 50 MB. It refuses or maps each by a rule
//! (see `mainspring._results`), and its depth is bounded, so the recursion is too.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde_json::Value;

/// How deep values may be nested; what reads them back allows no more.
const DEPTH: usize = 100;

/// Why a value cannot be stored: a message for the author.
#[derive(Debug)]
pub struct Unstorable(pub String);

/// Writes a Python value as JSON text of at most `limit` bytes.
///
/// # Errors
/// `Unstorable` with the place in the value and what to do instead.
pub fn to_text(value: &Bound<'_, PyAny>, limit: usize) -> Result<String, Unstorable> {
    let mut writer = Writer { out: String::new(), limit, path: Vec::new() };
    writer.value(value, DEPTH)?;
    Ok(writer.out)
}

/// A Python value as a JSON value; for definitions and requests.
///
/// # Errors
/// `ValueError` with the place in the value.
pub fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text = to_text(value, usize::MAX).map_err(|Unstorable(why)| PyValueError::new_err(why))?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// JSON text as a Python value.
///
/// # Errors
/// `ValueError` where the text is damaged.
pub fn text_to_python<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("a stored result is damaged: {error}")))?;
    face(py, &value)
}

/// One of our own values as plain Python values.
///
/// # Errors
/// Those of making Python objects.
pub fn face<'py, T: Serialize + ?Sized>(py: Python<'py>, value: &T) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}

struct Writer {
    out: String,
    limit: usize,
    /// Where we are: keys and positions from the outside in.
    path: Vec<Step>,
}

enum Step {
    Item(usize),
    Key(String),
}

impl Writer {
    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Unstorable> {
        if depth == 0 {
            let why = format!("is nested more than {DEPTH} levels deep (does it contain itself?)");
            return Err(self.refuse(&why));
        }
        if value.is_none() {
            self.out.push_str("null");
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            self.out.push_str(if flag.is_true() { "true" } else { "false" });
        } else if let Ok(text) = value.cast_exact::<PyString>() {
            self.text(text)?;
        } else if value.cast_exact::<PyInt>().is_ok() {
            self.integer(value)?;
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            self.float(number.value())?;
        } else if let Ok(list) = value.cast_exact::<PyList>() {
            self.items(list.iter(), depth)?;
        } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            self.items(tuple.iter(), depth)?;
        } else if let Ok(dict) = value.cast_exact::<PyDict>() {
            self.entries(dict, depth)?;
        } else {
            self.mapped(value, depth)?;
        }
        if self.out.len() > self.limit {
            return Err(self.too_large());
        }
        Ok(())
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Result<(), Unstorable> {
        let Ok(text) = text.to_str() else {
            return Err(self.refuse("is text with a lone surrogate, which UTF-8 cannot carry"));
        };
        if text.len() > self.limit {
            return Err(self.too_large());
        }
        match serde_json::to_string(text) {
            Ok(quoted) => self.out.push_str(&quoted),
            Err(error) => return Err(self.refuse(&error.to_string())),
        }
        Ok(())
    }

    fn integer(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Unstorable> {
        if let Ok(number) = value.extract::<i64>() {
            self.out.push_str(&number.to_string());
        } else if let Ok(number) = value.extract::<u64>() {
            self.out.push_str(&number.to_string());
        } else {
            return Err(self.refuse("is a whole number beyond 64 bits\n  hint: return it as text"));
        }
        Ok(())
    }

    fn float(&mut self, number: f64) -> Result<(), Unstorable> {
        if !number.is_finite() {
            let why = "is not a finite number, and JSON has no word for it\n  hint: return None";
            return Err(self.refuse(why));
        }
        match serde_json::to_string(&number) {
            Ok(text) => self.out.push_str(&text),
            Err(error) => return Err(self.refuse(&error.to_string())),
        }
        Ok(())
    }

    fn items<'py>(
        &mut self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> Result<(), Unstorable> {
        self.out.push('[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.path.push(Step::Item(at));
            self.value(&item, depth - 1)?;
            self.path.pop();
        }
        self.out.push(']');
        Ok(())
    }

    fn entries(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<(), Unstorable> {
        self.out.push('{');
        for (at, (key, value)) in dict.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            let Ok(key) = key.cast::<PyString>() else {
                let why = format!("has a key of type {}; keys must be text", type_name(&key));
                return Err(self.refuse(&why));
            };
            self.text(key)?;
            self.out.push(':');
            self.path.push(Step::Key(key.to_string_lossy().into_owned()));
            self.value(&value, depth - 1)?;
            self.path.pop();
        }
        self.out.push('}');
        Ok(())
    }

    /// Types beyond JSON's own, by the documented mapping of the Python side.
    fn mapped(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Unstorable> {
        static FALLBACK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = value.py();
        let made = || py.import("mainspring._results")?.getattr("fallback").map(Bound::unbind);
        let mapped = FALLBACK
            .get_or_try_init(py, made)
            .and_then(|fallback| fallback.bind(py).call1((value,)));
        match mapped {
            Ok(mapped) => self.value(&mapped, depth - 1),
            Err(error) => {
                let why = error.value(py).str().map(|text| text.to_string());
                let why = why.unwrap_or_else(|_| "cannot be stored".into());
                Err(self.refuse(&why))
            }
        }
    }

    fn too_large(&self) -> Unstorable {
        let size = self.limit / (1024 * 1024);
        Unstorable(format!(
            "it is larger than {size} MiB as JSON\n  hint: write it to a file or a table and return where it is"
        ))
    }

    fn refuse(&self, why: &str) -> Unstorable {
        if self.path.is_empty() {
            return Unstorable(format!("it {why}"));
        }
        let mut place = String::new();
        for step in self.path.iter().take(8) {
            match step {
                Step::Item(at) => place.push_str(&format!("[{at}]")),
                Step::Key(key) => place.push_str(&format!("[{key:?}]")),
            }
        }
        if self.path.len() > 8 {
            place.push_str("...");
        }
        Unstorable(format!("what stands at {place} {why}"))
    }
}

/// The name of a value's class.
pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map(|name| name.to_string()).unwrap_or_else(|_| "unknown".into())
}
