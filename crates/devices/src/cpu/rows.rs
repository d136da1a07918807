//! Rows on the fast device: slopes of a few outputs per sample, propagated like a batch of that many samples, and their
//! covariance.

use super::state::State;
use super::tile::PANEL;
use super::{Cpu, Loop, Shared};
use crate::{Field, Rows};
use tractable_core::error::Result;
use tractable_core::moments::{Moments, rows};

/// Covariances of `k` rows with each other, sample after sample.
#[derive(Default)]
pub struct Spread {
    k: usize,
    entries: Vec<f64>,
}

impl Cpu {
    /// T44 of an activation.
    pub(super) fn own_of_activation(&self, z: &State, a: &mut State) {
        let n = z.rows * z.sample();
        a.own.grow(n);
        let (own, mean, var, slope) = (&mut a.own[..n], &a.mean[..n], &a.var[..n], &a.slope[..n]);
        let z_var = &z.var[..n];
        self.arch.dispatch(Loop(
            #[inline(always)]
            || {
                for i in 0..n {
                    own[i] = rows::own(Moments { mean: mean[i], var: var[i], slope: slope[i] }, z_var[i]);
                }
            },
        ));
    }

    /// Rows of an activation become rows of its pre-activation.
    pub(super) fn rows_through(&self, forward: &State, a: &State, z: &mut State) {
        let (k, sample) = (a.rows / forward.rows, a.sample());
        let to = Shared(z.d_mean.as_mut_ptr());
        self.share(a.rows * sample, a.rows, &|row, _| {
            // SAFETY: this row's own numbers.
            let to = unsafe { std::slice::from_raw_parts_mut(to.at(row * sample), sample) };
            let (from, slope) =
                (&a.d_mean[row * sample..][..sample], &forward.slope[row / k * sample..][..sample]);
            self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    for i in 0..sample {
                        to[i] = slope[i] * from[i]; // T18
                    }
                },
            ));
        });
    }
}

impl Rows for Cpu {
    type Spread = Spread;

    fn rows(&self, of: &State, k: usize, rows: &mut State) {
        rows.stride = of.stride;
        rows.means_only = true;
        rows.rows = of.rows * k;
        rows.d_finite = false;
        let n = rows.rows * rows.sample();
        rows.d_mean.grow(n);
        rows.d_var.grow(n);
    }

    fn spread_begin(&self, of: &State, k: usize, spread: &mut Spread) {
        spread.k = k;
        spread.entries.clear();
        spread.entries.resize(of.rows * k * k, 0.0);
    }

    /// T45: `rows diag(var) rows'` of every sample.
    fn spread_add(&self, of: &State, field: Field, rows: &State, spread: &mut Spread) {
        let (k, sample, var) = (spread.k, of.sample(), of.field(field));
        let entries = Shared(spread.entries.as_mut_ptr());
        self.share(of.rows * k * k * sample, of.rows, &|at, _| {
            // SAFETY: this sample's own entries.
            let entries = unsafe { std::slice::from_raw_parts_mut(entries.at(at * k * k), k * k) };
            let (var, g) = (&var[at * sample..][..sample], &rows.d_mean[at * k * sample..][..k * sample]);
            self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    for i in 0..k {
                        for j in 0..=i {
                            let sum = weighted(var, &g[i * sample..][..sample], &g[j * sample..][..sample]);
                            entries[i * k + j] += sum;
                            if i != j {
                                entries[j * k + i] += sum;
                            }
                        }
                    }
                },
            ));
        });
    }

    fn spread_read(&self, spread: &Spread) -> Result<Vec<f64>> {
        Ok(spread.entries.clone())
    }
}

/// `sum var a b` over whole panels.
#[inline(always)]
fn weighted(var: &[f32], a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f32; PANEL];
    let lines = var.chunks_exact(PANEL).zip(a.chunks_exact(PANEL)).zip(b.chunks_exact(PANEL));
    for ((var, a), b) in lines {
        for i in 0..PANEL {
            sums[i] += var[i] * a[i] * b[i];
        }
    }
    // A few sums side by side: one after the other they would wait for each other.
    let mut total = [0.0f64; 8];
    for sums in sums.as_chunks::<8>().0 {
        for i in 0..8 {
            total[i] += f64::from(sums[i]);
        }
    }
    total.iter().sum()
}
