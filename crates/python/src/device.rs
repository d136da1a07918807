//! Devices by name. All networks on `cpu` share one team of threads.

use crate::errors::OrRaise;
use pyo3::PyResult;
use std::sync::LazyLock;
use tractable::Device;

/// The shared one: its threads stay when no network has it.
static CPU: LazyLock<Device> = LazyLock::new(Device::default);

pub(crate) fn device(name: &str) -> PyResult<Device> {
    if name == "cpu" { Ok(CPU.clone()) } else { name.parse().or_raise() }
}
