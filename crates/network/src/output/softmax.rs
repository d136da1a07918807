//! Classes by a softmax: one output unit a class.

use super::Spread;
use super::spread::second_moment;
use tractable_core::metrics::normal_quantile;
use tractable_core::moments::softmax;

/// The softmax that turns the units of an output layer into the probabilities of as many classes. Made by
/// [`Output::class_units`](super::Output::class_units).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    pub(super) classes: usize,
}

/// One row of outputs to first order: what a class says of them, as observations with unit noise.
pub(crate) struct AsObserved {
    /// `[classes, classes]`: every row makes one observed number of the outputs.
    pub(crate) of_outputs: Vec<f64>,
    /// What is observed, less what the outputs' means make of it.
    pub(crate) off: Vec<f64>,
}

/// Probabilities below this count as this: a class that is almost impossible says no more.
const LEAST: f64 = 1e-12;

impl Softmax {
    pub(super) fn probabilities(&self, mean: &[f64], var: &[f64]) -> Vec<f64> {
        let mut p = vec![0.0; self.classes];
        softmax::probabilities(mean, var, &mut p);
        p
    }

    /// T93. A probability has the mean `p` of T90, and the second moment of `Phi(u)` with that mean, where `u` is `sqrt(pi/8)` times
    /// the logarithm of the odds: its variance is, to first order, `pi/8 (S_k + sum_(j != k) (p_j/(1 - p_k))^2 S_j)`.
    pub(super) fn spread(&self, mean: &[f64], var: &[f64]) -> Spread {
        let p = self.probabilities(mean, var);
        let all: f64 = p.iter().zip(var).map(|(p, v)| p * p * v).sum();
        let (mut model, mut noise) = (0.0, 0.0);
        for (&p, &v) in p.iter().zip(var).filter(|(p, _)| **p > 0.0 && **p < 1.0) {
            let others = (all - p * p * v).max(0.0) / ((1.0 - p) * (1.0 - p));
            let second = second_moment(p, normal_quantile(p), std::f64::consts::PI / 8.0 * (v + others));
            model += second - p * p;
            noise += p - second;
        }
        Spread { model, noise }
    }

    /// T94. `d ln P(class)/d m_k = (1[k = class] - p_k)/sqrt(1 + pi S_k/8)`.
    pub(super) fn ln_gradient(&self, class: usize, mean: &[f64], var: &[f64]) -> Vec<f64> {
        let p = self.probabilities(mean, var);
        // Not 1 - p, which would lose its digits where the network is sure.
        let others: f64 = (0..self.classes).filter(|&k| k != class).map(|k| p[k]).sum();
        let of = |(k, &v): (usize, &f64)| softmax::tempered(v) * if k == class { others } else { -p[k] };
        var.iter().enumerate().map(of).collect() // T94
    }

    /// `ln P(class)`, finite wherever the means are.
    pub(crate) fn ln_probability(&self, class: usize, mean: &[f64], var: &[f64]) -> f64 {
        let logits = || mean.iter().zip(var).map(|(m, v)| m * softmax::tempered(*v));
        let most = logits().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logits().map(|l| libm::exp(l - most)).sum();
        mean[class] * softmax::tempered(var[class]) - most - libm::log(sum)
    }

    /// T92. The likelihood of a class to second order, by observations with unit noise: with `T = diag 1/sqrt(1 + pi S/8)` and
    /// `v_k = sqrt(p_k) (e_k - p)`, the number `v_k' T m` is observed to be `(y_k - p_k)/sqrt(p_k)` more than it is. Together they have the
    /// gradient `T (y - p)` and the curvature `T (diag p - p p') T` of `ln P(class)`.
    pub(crate) fn as_observed(&self, class: usize, mean: &[f64], var: &[f64]) -> AsObserved {
        let (p, n) = (self.probabilities(mean, var), self.classes);
        let p: Vec<f64> = p.iter().map(|p| p.max(LEAST)).collect();
        let entry = |i: usize| {
            let (k, j) = (i / n, i % n);
            p[k].sqrt() * softmax::tempered(var[j]) * (f64::from(u8::from(j == k)) - p[j])
        };
        let off = |k: usize| (f64::from(u8::from(k == class)) - p[k]) / p[k].sqrt();
        AsObserved { of_outputs: (0..n * n).map(entry).collect(), off: (0..n).map(off).collect() } // T92
    }
}
