//! Optimisation by inference: asking and telling, values of every kind, files, trained networks, the paper's algorithm.

mod asking;
mod network;
mod quality;
mod state;
mod values;

use tractable::Error;
use tractable::optimize::{Optimizer, Trial};

/// A parabola with its minimum 0 at 0.3 in every coordinate.
fn bowl(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.3).powi(2)).sum()
}

/// A search that asked `f` so many times.
fn searched(mut search: Optimizer, evaluations: usize, f: impl Fn(&[f64]) -> f64) -> Optimizer {
    while search.history().len() < evaluations {
        let x = search.ask().unwrap();
        search.tell(&x, f(&x)).unwrap();
    }
    search
}

fn best(search: &Optimizer) -> &Trial {
    search.best().expect("a finite value was told")
}

/// Points of a search, bit for bit.
fn bits(search: &Optimizer) -> Vec<Vec<u64>> {
    let points = search.history().iter().map(|t| &t.x).chain(search.pending());
    points.map(|x| x.iter().map(|v| v.to_bits()).collect()).collect()
}

#[track_caller]
fn refuses<T: std::fmt::Debug>(result: Result<T, Error>, says: &[&str]) {
    let e = result.unwrap_err().to_string();
    for part in says {
        assert!(e.contains(part), "{part:?} is not in: {e}");
    }
}
