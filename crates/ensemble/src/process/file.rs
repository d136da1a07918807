//! A Gaussian process in a file: the rows that it keeps, their pull, and `P` below the diagonal.

use super::readings::NUMBERS;
use super::{Kernel, MOST_ROWS, Process, Readings};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// What is not among the numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    kernel: Kernel,
    of_folds: Vec<Kernel>,
    mean: f64,
    rows: usize,
}

impl About {
    /// How many numbers there are.
    pub(crate) fn numbers(&self, inputs: usize) -> Option<usize> {
        (1..=MOST_ROWS)
            .contains(&self.rows)
            .then(|| self.rows * (inputs + 1) + self.rows * (self.rows + 1) / 2)
    }

    /// How many folds it knows the kernels of.
    pub(crate) fn folds(&self) -> usize {
        self.of_folds.len()
    }
}

impl Readings {
    /// The column of every input, and numbers of each.
    pub(crate) fn parts(&self) -> (&[usize], &[f64]) {
        (&self.groups, &self.numbers)
    }

    pub(crate) fn of_parts(groups: Vec<usize>, numbers: Vec<f64>) -> Option<Arc<Self>> {
        let readings = Readings { groups, numbers };
        readings.is_sound().then(|| Arc::new(readings))
    }

    pub(crate) fn numbers(inputs: usize) -> [usize; 2] {
        [inputs, NUMBERS]
    }
}

impl Process {
    pub(crate) fn about(&self) -> About {
        let (kernel, of_folds) = (self.kernel.clone(), self.of_folds.clone());
        About { kernel, of_folds, mean: self.mean, rows: self.rows() }
    }

    pub(crate) fn to_numbers(&self) -> Vec<f64> {
        let below = self.shape.chunks_exact(self.rows()).enumerate().flat_map(|(i, row)| &row[..=i]);
        self.x.iter().chain(&self.pull).chain(below).copied().collect()
    }

    /// `None` if these are not the numbers of one.
    pub(crate) fn of_parts(
        about: About,
        readings: &Arc<Readings>,
        log: bool,
        mut x: Vec<f64>,
    ) -> Option<Self> {
        let About { kernel, of_folds, mean, rows } = about;
        let inputs = readings.groups.len();
        let mut pull = x.split_off(rows * inputs);
        let below = pull.split_off(rows);
        let mut shape = vec![0.0; rows * rows];
        let mut next = below.into_iter();
        for i in 0..rows {
            for j in 0..=i {
                let v = next.next()?;
                (shape[i * rows + j], shape[j * rows + i]) = (v, v);
            }
        }
        let finite = x.iter().chain(&pull).chain(&shape).chain([&mean]).all(|v| v.is_finite());
        let definite = (0..rows).all(|i| shape[i * rows + i] > 0.0);
        let kernels = of_folds.iter().chain([&kernel]).all(|k| k.is_sound(readings.columns()));
        if !(finite && definite && kernels) {
            return None;
        }
        let (seen, readings) = (kernel.see(readings, &x, log), readings.clone());
        let inverse = OnceLock::new();
        Some(Process { readings, log, kernel, of_folds, mean, x, pull, shape, seen, inverse })
    }
}
