//! Devices by name. All networks on `cpu` share one team of threads.

use crate::errors::OrRaise;
use pyo3::PyResult;
use std::sync::Mutex;
use tractable::Device;

/// The shared one, and the process it was made in: a fork has no threads of its parent's.
static CPU: Mutex<Option<(u32, Device)>> = Mutex::new(None);

pub(crate) fn device(name: &str) -> PyResult<Device> {
    if name != "cpu" {
        return name.parse().or_raise();
    }
    let process = std::process::id();
    let mut shared = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match &*shared {
        Some((made_in, device)) if *made_in == process => Ok(device.clone()),
        _ => Ok(shared.insert((process, Device::default())).1.clone()),
    }
}
