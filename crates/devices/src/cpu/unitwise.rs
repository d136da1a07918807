//! Activations, sums of layers and state posteriors on the fast device: plain loops over the scalar formulae of
//! [`tractable_core::moments`], which the compiler turns into vectors inside the run-time dispatch.

use super::state::State;
use super::{Cpu, Loop, Shared};
use crate::{Purpose, Unitwise};
use std::sync::atomic::{AtomicBool, Ordering};
use tractable_core::moments::derivative::Curve;
use tractable_core::moments::{Activation, Formulae, Moments, smooth};

/// Numbers one task takes.
const TASK: usize = 1 << 15;

impl Cpu {
    /// Calls `f` with ranges that cover `0..n`, on several threads when `n` is large.
    pub(super) fn ranges(&self, n: usize, f: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
        let tasks = n.div_ceil(TASK);
        self.each(tasks, &|task, _| f(task * TASK..n.min((task + 1) * TASK)));
    }
}

/// An activation, from its pre-activations.
struct Activate<'a>(&'a Cpu, &'a State, &'a mut State);

impl Formulae<f32> for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn with(
        self,
        moments: impl Fn(f32, f32) -> Moments<f32> + Sync,
        _: impl Fn(f32, f32, Moments<f32>) -> Curve<f32>,
    ) {
        let Activate(cpu, z, a) = self;
        a.like(z);
        a.exact = z.exact;
        let n = z.rows * z.sample();
        a.slope.grow(n);
        let to = [&mut a.mean, &mut a.var, &mut a.slope].map(|v| Shared(v.as_mut_ptr()));
        cpu.ranges(n, &|range| {
            // SAFETY: ranges do not overlap and lie inside the buffers.
            let [mean, var, slope] = [&to[0], &to[1], &to[2]]
                .map(|p| unsafe { std::slice::from_raw_parts_mut(p.at(range.start), range.len()) });
            let (z_mean, z_var) = (&z.mean[range.clone()], &z.var[range.clone()]);
            cpu.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    for i in 0..z_mean.len() {
                        let m = moments(z_mean[i], z_var[i]);
                        (mean[i], var[i], slope[i]) = (m.mean, m.var, m.slope);
                    }
                },
            ));
        });
    }
}

/// States of one shape may lie in memory differently: their numbers are brought into the layout of `to`.
fn each_unit(of: &State, to: (usize, usize), mut f: impl FnMut(usize, usize)) {
    let (stride, sample) = to;
    for row in 0..of.rows {
        for pixel in 0..of.shape.pixels() {
            let (from, to) = (row * of.sample() + pixel * of.stride, row * sample + pixel * stride);
            (0..of.shape.channels).for_each(|c| f(from + c, to + c));
        }
    }
}

impl Unitwise for Cpu {
    fn activate(&self, activation: Activation, z: &State, a: &mut State, purpose: Purpose) {
        activation.run(Activate(self, z, a));
        if purpose == Purpose::Rows {
            self.own_of_activation(z, a);
        }
    }

    fn activate_back(&self, forward: &State, a: &State, z: &mut State) {
        if a.means_only {
            return self.rows_through(forward, a, z);
        }
        let n = z.rows * z.sample();
        let to = [&mut z.d_mean, &mut z.d_var].map(|v| Shared(v.as_mut_ptr()));
        let broken = AtomicBool::new(false);
        self.ranges(n, &|range| {
            // SAFETY: ranges do not overlap and lie inside the buffers.
            let [d_mean, d_var] = [&to[0], &to[1]]
                .map(|p| unsafe { std::slice::from_raw_parts_mut(p.at(range.start), range.len()) });
            let [slope, a_mean, a_var] = [&a.slope, &a.d_mean, &a.d_var].map(|v| &v[range.clone()]);
            let finite = self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    let mut finite = true;
                    for i in 0..slope.len() {
                        (d_mean[i], d_var[i]) = smooth::through_slope(slope[i], a_mean[i], a_var[i]);
                        // x * 0 is 0 for finite numbers and NaN otherwise.
                        finite &= d_mean[i] * 0.0 + d_var[i] * 0.0 == 0.0;
                    }
                    finite
                },
            ));
            if !finite {
                broken.store(true, Ordering::Relaxed);
            }
        });
        z.d_finite = !broken.into_inner();
    }

    fn add(&self, states: &[State], numbers: &[usize], z: &mut State) {
        z.padded(states[numbers[0]].rows);
        z.exact = numbers.iter().all(|&n| states[n].exact);
        z.mean.fill(0.0);
        z.var.fill(0.0);
        let layout = (z.stride, z.sample());
        for x in numbers.iter().map(|&n| &states[n]) {
            each_unit(x, layout, |from, to| {
                z.mean[to] += x.mean[from];
                z.var[to] += x.var[from];
            });
        }
    }

    fn add_back(&self, z: &State, x: &mut State) {
        each_unit(z, (x.stride, x.sample()), |from, to| {
            (x.d_mean[to], x.d_var[to]) = (z.d_mean[from], z.d_var[from]);
        });
        x.d_finite = false;
    }

    fn add_innovation(&self, more: &State, x: &mut State) {
        each_unit(more, (x.stride, x.sample()), |from, to| {
            x.d_mean[to] += more.d_mean[from];
            x.d_var[to] += more.d_var[from];
        });
        x.d_finite = false;
    }

    fn forget_innovation(&self, state: &mut State) {
        state.d_mean.fill(0.0);
        state.d_var.fill(0.0);
    }

    fn posterior(&self, state: &mut State) {
        state.exact = false;
        let n = state.rows * state.sample();
        let State { mean, var, d_mean, d_var, .. } = state;
        let (mean, var, d_mean, d_var) = (&mut mean[..n], &mut var[..n], &d_mean[..n], &d_var[..n]);
        self.arch.dispatch(Loop(
            #[inline(always)]
            || {
                for i in 0..n {
                    (mean[i], var[i]) = smooth::posterior(mean[i], var[i], d_mean[i], d_var[i]);
                }
            },
        ));
    }
}
