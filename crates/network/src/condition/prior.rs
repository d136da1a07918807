//! The prior of a state: one sample, in the network's own units.

use super::points;
use std::sync::Arc;
use tractable_core::cholesky;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;

/// A mean, and a covariance.
#[derive(Debug, Clone)]
pub struct Prior {
    /// The mean of every entry.
    pub mean: Vec<f64>,
    /// How far the entries may be from it, and how together.
    pub covariance: Covariance,
}

/// A covariance matrix.
#[derive(Debug, Clone)]
pub enum Covariance {
    /// Independent entries with these variances.
    Diagonal(Vec<f64>),
    /// A full matrix, and its Cholesky factor if it has one.
    Full {
        /// `[width, width]`.
        matrix: Arc<Vec<f64>>,
        /// Lower triangular, `[width, width]`.
        factor: Option<Arc<Vec<f64>>>,
    },
}

impl Covariance {
    /// The user's matrix for this many entries, divided by the units of each: checked to be a covariance.
    pub fn given(given: &Matrix, width: usize, unit: impl Fn(usize) -> f64) -> Result<Self> {
        let d = width;
        if given.rows() != d || given.width() != d {
            let found = format!("{} x {}", given.rows(), given.width());
            return Err(Error::shape("prior covariance", format!("{d} x {d} numbers"), found));
        }
        let entry = |i: usize, j: usize| given.data()[i * d + j];
        for i in 0..d {
            for j in 0..i {
                if (entry(i, j) - entry(j, i)).abs() > 1e-9 * (entry(i, i) * entry(j, j)).abs().sqrt() {
                    let why =
                        format!("entries {i}, {j} and {j}, {i} differ: {} and {}", entry(i, j), entry(j, i));
                    return Err(Error::invalid("prior covariance", why));
                }
            }
        }
        let matrix = (0..d * d).map(|i| given.data()[i] / (unit(i / d) * unit(i % d))).collect();
        let covariance = Covariance::full(matrix, d);
        if matches!(covariance, Covariance::Full { factor: None, .. }) {
            let why = "it is not positive definite, so it is not a covariance";
            return Err(Error::invalid("prior covariance", why));
        }
        Ok(covariance)
    }

    pub(crate) fn full(matrix: Vec<f64>, width: usize) -> Self {
        let mut factor = matrix.clone();
        let factor = cholesky::factor(&mut factor, width).then(|| Arc::new(factor));
        Covariance::Full { matrix: Arc::new(matrix), factor }
    }
}

impl Prior {
    /// Number of entries.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn var(&self) -> Vec<f64> {
        match &self.covariance {
            Covariance::Diagonal(var) => var.clone(),
            Covariance::Full { matrix, .. } => {
                (0..self.width()).map(|i| matrix[i * (self.width() + 1)]).collect()
            }
        }
    }

    /// An entry of the covariance.
    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        match &self.covariance {
            Covariance::Diagonal(var) if i == j => var[i],
            Covariance::Diagonal(_) => 0.0,
            Covariance::Full { matrix, .. } => matrix[i * self.width() + j],
        }
    }

    /// `P v` for every row `v` of a few.
    pub(crate) fn times(&self, rows: &[f64]) -> Vec<f64> {
        let d = self.width();
        match &self.covariance {
            Covariance::Diagonal(var) => rows.iter().enumerate().map(|(i, v)| v * var[i % d]).collect(),
            Covariance::Full { matrix, .. } => {
                let product = |row: &[f64]| {
                    let entry = |line: &[f64]| line.iter().zip(row).map(|(p, v)| p * v).sum::<f64>();
                    matrix.chunks_exact(d).map(entry).collect::<Vec<f64>>()
                };
                rows.chunks_exact(d).flat_map(product).collect()
            }
        }
    }

    /// Entries that can move.
    pub fn free(&self) -> Vec<usize> {
        let var = self.var();
        (0..var.len()).filter(|&i| var[i] > 0.0).collect()
    }

    /// The point `u` standard deviations of the free entries from the mean.
    pub(crate) fn place(&self, free: &[usize], u: &[f64]) -> Vec<f64> {
        let mut x = self.mean.clone();
        self.scaled(free, u).iter().zip(free).for_each(|(v, &i)| x[i] += v);
        x
    }

    /// This many points of the prior.
    pub fn draws(&self, n: usize) -> Vec<f64> {
        let free = self.free();
        (0..n as u32)
            .flat_map(|i| self.place(&free, &points::normal_point(i, free.len()).collect::<Vec<_>>()))
            .collect()
    }

    /// `L u` for the free entries.
    pub(crate) fn scaled(&self, free: &[usize], u: &[f64]) -> Vec<f64> {
        match &self.covariance {
            Covariance::Diagonal(var) => free.iter().zip(u).map(|(&i, u)| var[i].sqrt() * u).collect(),
            Covariance::Full { factor, .. } => {
                let mut v = u.to_vec();
                let factor = factor.as_ref().expect("only what has a factor is placed");
                cholesky::times(factor, v.len(), &mut v);
                v
            }
        }
    }

    /// The inverse of [`scaled`](Prior::scaled): the length of a step in standard deviations, in every direction.
    pub(crate) fn unscaled(&self, free: &[usize], step: &[f64]) -> Vec<f64> {
        match &self.covariance {
            Covariance::Diagonal(var) => free.iter().map(|&i| step[i] / var[i].sqrt()).collect(),
            Covariance::Full { factor, .. } => {
                let mut v = step.to_vec();
                let factor = factor.as_ref().expect("only what has a factor is placed");
                cholesky::solve(factor, v.len(), &mut v);
                v
            }
        }
    }
}
