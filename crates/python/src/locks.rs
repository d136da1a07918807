//! Locks that are waited for without Python's own: whoever holds them may need it.

use pyo3::Python;
use pyo3::sync::{MutexExt, RwLockExt};
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// To ask.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    match lock.try_read() {
        Ok(guard) => guard,
        Err(_) => {
            Python::attach(|py| lock.read_py_attached(py)).unwrap_or_else(|poisoned| poisoned.into_inner())
        }
    }
}

/// To change.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    match lock.try_write() {
        Ok(guard) => guard,
        Err(_) => {
            Python::attach(|py| lock.write_py_attached(py)).unwrap_or_else(|poisoned| poisoned.into_inner())
        }
    }
}

/// For one at a time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(_) => {
            Python::attach(|py| mutex.lock_py_attached(py)).unwrap_or_else(|poisoned| poisoned.into_inner())
        }
    }
}

thread_local! {
    /// The locks that this thread holds while it calls functions of Python's.
    static CALLING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Says that this thread calls Python while it holds a lock, for as long as this lives.
pub(crate) struct Calling;

impl Calling {
    pub(crate) fn with<T>(lock: &T) -> Self {
        CALLING.with_borrow_mut(|all| all.push(std::ptr::from_ref(lock) as usize));
        Calling
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.with_borrow_mut(Vec::pop);
    }
}

/// An error where waiting for a lock would never end: in a function that is called by whoever holds it.
pub(crate) fn check<T>(lock: &T, what: &str) -> tractable::Result<()> {
    let place = std::ptr::from_ref(lock) as usize;
    if !CALLING.with_borrow(|all| all.contains(&place)) {
        return Ok(());
    }
    let why =
        "it is learning, and a function that it calls cannot use it; a copy made before can be used".into();
    Err(tractable::Error::Invalid { what: what.into(), why })
}
