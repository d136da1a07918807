//! The Python module `tractable._tractable`: the library's types on NumPy arrays. What is only Python is in `python/tractable`.

// `arrays.rs` reads doubles in C order where they are; `_convert.py` turns everything else (frames,
// tensors, single precision) into such arrays or, where a frame has texts, dates or gaps, into the
// columns of a `data::Table`. Native classes are frozen and hold a lock: several threads ask one
// network at once, learning waits. Long calls release Python's own lock, look at signals every 50 ms
// (`progress.rs`), and keep what was learned when they are interrupted. Errors keep their words; only
// the type is Python's (`errors.rs`). Files and pickles are the same safetensors bytes as everywhere.

mod agent;
mod arrays;
mod attack;
mod columns;
mod device;
mod ensemble;
mod errors;
mod insight;
mod layer;
mod learned;
mod locks;
mod merge;
mod network;
mod optimizer;
mod posterior;
mod prediction;
mod progress;
mod related;
mod settings;
mod table;
mod task;
mod want;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _tractable {
    use super::*;

    #[pymodule_export]
    use agent::Agent;
    #[pymodule_export]
    use attack::attack;
    #[pymodule_export]
    use ensemble::Ensemble;
    #[pymodule_export]
    use layer::Layer;
    #[pymodule_export]
    use learned::{Drift, LearnInfo, Surprise};
    #[pymodule_export]
    use merge::{Mark, Sums};
    #[pymodule_export]
    use network::Network;
    #[pymodule_export]
    use optimizer::Optimizer;
    #[pymodule_export]
    use posterior::{Derivative, Gaussian, Mode, Posterior};
    #[pymodule_export]
    use prediction::Prediction;
    #[pymodule_export]
    use task::Task;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Runs the command line; the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| tractable_cli::run(args))
    }
}
