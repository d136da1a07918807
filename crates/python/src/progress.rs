//! Long calls: what they report to Python, and how Ctrl-C ends them.

use crate::errors::OrRaise;
use crate::locks;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tractable::stop;

/// Does long work without Python's own lock. Ctrl-C ends it: then Python's exception is raised, and nothing has changed.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> tractable::Result<T> + Send,
) -> PyResult<T> {
    let raised = Arc::new(Mutex::new(None));
    let kept = raised.clone();
    let done = py.detach(|| {
        let stop = move || {
            let signal = Python::attach(|py| py.check_signals()).err();
            let stop = signal.is_some();
            *locks::lock(&kept) = signal;
            stop
        };
        stop::until(stop, work)
    });
    match locks::lock(&raised).take() {
        Some(raised) => Err(raised),
        None => done.or_raise(),
    }
}

/// Time between two looks at Python.
const EVERY: Duration = Duration::from_millis(50);

/// Calls `progress(done, of, what)` now and then, and notices signals. Keeps what Python raised.
pub(crate) struct Watch {
    call: Option<Py<PyAny>>,
    last: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    /// Of what a caller passed as `progress`: a function, False for none, or None for a bar on a terminal.
    pub(crate) fn new(py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let call = py.import("tractable._progress")?.call_method1("start", (progress,))?;
        let call = (!call.is_none()).then(|| call.unbind());
        Ok(Watch { call, last: Instant::now(), raised: None })
    }

    pub(crate) fn look(&mut self, what: &str, done: u64, of: u64) -> ControlFlow<()> {
        if self.raised.is_none() && (self.last.elapsed() >= EVERY || done == of) {
            self.last = Instant::now();
            let looked = Python::attach(|py| {
                py.check_signals()?;
                self.call.as_ref().map_or(Ok(()), |call| call.call1(py, (done, of, what)).map(drop))
            });
            self.raised = looked.err();
        }
        if self.raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Ends the bar. What stopped the work, if anything did.
    pub(crate) fn end(self) -> PyResult<()> {
        if let Some(call) = &self.call {
            Python::attach(|py| match call.getattr(py, "close") {
                Ok(close) => close.call0(py).map(drop),
                Err(_) => Ok(()),
            })?;
        }
        self.raised.map_or(Ok(()), Err)
    }
}
