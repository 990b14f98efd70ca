//! How a running handler is asked to stop: an exception raised in its thread, or `cancel()`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::host::hook;
use crate::model::StopReason;

/// How a call is stopped.
pub enum PyStop {
    /// By an exception raised in its thread.
    Thread(Arc<Interruptible>),
    /// By `cancel()`.
    Coroutine(Py<PyAny>),
}

impl PyStop {
    /// Asks it to stop.
    ///
    /// # Errors
    /// Those of the Python side.
    pub fn ask(&self, py: Python<'_>, reason: StopReason) -> PyResult<()> {
        match self {
            PyStop::Thread(thread) => thread.interrupt(py, reason),
            PyStop::Coroutine(task) => task.bind(py).call_method0("cancel").map(|_| ()),
        }
    }
}

/// A thread inside a handler. An exception may be raised in it only while it is there: the next
/// job on the same thread must not be hit by what was meant for this one.
pub struct Interruptible {
    ident: u64,
    phase: AtomicU8,
}

const INSIDE: u8 = 0;
/// An exception is being sent.
const SENDING: u8 = 1;
/// It was sent; it may not have arrived yet.
const SENT: u8 = 2;
const OUTSIDE: u8 = 3;

impl Interruptible {
    /// This thread, about to enter a handler.
    ///
    /// # Errors
    /// Those of the Python side.
    pub fn here(py: Python<'_>) -> PyResult<Self> {
        static IDENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let made = || py.import("threading")?.getattr("get_ident").map(Bound::unbind);
        let ident = IDENT.get_or_try_init(py, made)?.bind(py).call0()?.extract()?;
        Ok(Interruptible { ident, phase: AtomicU8::new(INSIDE) })
    }

    fn take(&self, to: u8) -> bool {
        self.phase.compare_exchange(INSIDE, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn interrupt(&self, py: Python<'_>, reason: StopReason) -> PyResult<()> {
        static INTERRUPT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if !self.take(SENDING) {
            return Ok(());
        }
        let class = match reason {
            StopReason::Timeout => "AttemptTimeout",
            _ => "AttemptCanceled",
        };
        let sent = hook(py, &INTERRUPT, "interrupt").and_then(|f| f.call1((self.ident, class)));
        self.phase.store(SENT, Ordering::SeqCst);
        sent.map(|_| ())
    }

    /// The handler has returned. Takes back an exception that came too late.
    ///
    /// # Errors
    /// That exception itself, if it arrives on the way.
    pub fn leave(&self, py: Python<'_>) -> PyResult<()> {
        static CLEAR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if self.take(OUTSIDE) {
            return Ok(());
        }
        while self.phase.load(Ordering::SeqCst) == SENDING {
            py.detach(std::thread::yield_now);
        }
        hook(py, &CLEAR, "clear_interrupt")?.call1((self.ident,))?;
        Ok(())
    }
}
