//! Locks that are waited for without Python's own: whoever holds them may need it.

use pyo3::Python;
use pyo3::sync::{MutexExt, RwLockExt};
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
