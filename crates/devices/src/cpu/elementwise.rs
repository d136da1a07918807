//! Activations, observation and state posterior on the fast device: plain loops over the scalar formulae of
//! [`tractable_core::moments`], which the compiler turns into vectors inside the run-time dispatch.

use super::state::State;
use super::{Cpu, Loop, Shared};
use crate::{NoiseSums, Seen};
use std::sync::atomic::{AtomicBool, Ordering};
use tractable_core::moments::{
    Activation, Moments, identity, leaky_relu, mixture_relu, noise, observe, relu, sigmoid, smooth, softplus,
    tanh,
};

/// Numbers one task takes.
const TASK: usize = 1 << 15;

impl Cpu {
    /// Calls `f` with ranges that cover `0..n`, on several threads when `n` is large.
    fn ranges(&self, n: usize, f: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
        let tasks = n.div_ceil(TASK);
        self.each(tasks, &|task, _| f(task * TASK..n.min((task + 1) * TASK)));
    }

    /// Whether the first `n` numbers are all finite.
    pub(super) fn all_finite(&self, v: &[f32], n: usize) -> bool {
        let broken = AtomicBool::new(false);
        self.ranges(n, &|range| {
            let v = &v[range];
            let sum = self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    // x * 0 is 0 for finite numbers and NaN otherwise: no branch in the loop.
                    let mut sums = [0.0f32; 64];
                    let (lines, rest) = v.as_chunks::<64>();
                    lines.iter().for_each(|line| (0..64).for_each(|i| sums[i] += line[i] * 0.0));
                    rest.iter().chain(&sums).map(|v| v * 0.0).sum::<f32>()
                },
            ));
            if sum != 0.0 {
                broken.store(true, Ordering::Relaxed);
            }
        });
        !broken.into_inner()
    }

    pub(super) fn activation_forward(&self, activation: Activation, z: &State, a: &mut State) {
        // Closures, not the functions themselves, for the reason that [`Loop`] gives.
        macro_rules! with {
            ($moments:path) => {
                self.activate_with(
                    z,
                    a,
                    #[inline(always)]
                    |m, v| $moments(m, v),
                )
            };
        }
        match activation {
            Activation::Identity => with!(identity::moments),
            Activation::Relu => with!(relu::moments),
            Activation::LeakyRelu { slope } => self.activate_with(
                z,
                a,
                #[inline(always)]
                move |m, v| leaky_relu::moments(m, v, slope as f32),
            ),
            Activation::Tanh => with!(tanh::moments),
            Activation::Sigmoid => with!(sigmoid::moments),
            Activation::Softplus => with!(softplus::moments),
            Activation::MixtureRelu => with!(mixture_relu::moments),
        }
    }

    #[inline(always)]
    fn activate_with(&self, z: &State, a: &mut State, f: impl Fn(f32, f32) -> Moments<f32> + Sync) {
        a.like(z);
        a.exact = z.exact;
        let n = z.rows * z.sample();
        a.slope.grow(n);
        let to = [&mut a.mean, &mut a.var, &mut a.slope].map(|v| Shared(v.as_mut_ptr()));
        self.ranges(n, &|range| {
            // SAFETY: ranges do not overlap and lie inside the buffers.
            let [mean, var, slope] = [&to[0], &to[1], &to[2]]
                .map(|p| unsafe { std::slice::from_raw_parts_mut(p.at(range.start), range.len()) });
            let (z_mean, z_var) = (&z.mean[range.clone()], &z.var[range.clone()]);
            self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    for i in 0..z_mean.len() {
                        let m = f(z_mean[i], z_var[i]);
                        (mean[i], var[i], slope[i]) = (m.mean, m.var, m.slope);
                    }
                },
            ));
        });
    }

    pub(super) fn activation_backward(&self, a: &State, z: &mut State) {
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

    pub(super) fn sum_of_states(&self, states: &[State], numbers: &[usize], z: &mut State) {
        z.padded(states[numbers[0]].rows);
        z.exact = numbers.iter().all(|&n| states[n].exact);
        z.mean.fill(0.0);
        z.var.fill(0.0);
        let layout = (z.stride, z.sample());
        for x in numbers.iter().map(|&n| &states[n]) {
            Self::each_unit(x, layout, |from, to| {
                z.mean[to] += x.mean[from];
                z.var[to] += x.var[from];
            });
        }
    }

    pub(super) fn copy_innovation(&self, z: &State, x: &mut State) {
        Self::each_unit(z, (x.stride, x.sample()), |from, to| {
            (x.d_mean[to], x.d_var[to]) = (z.d_mean[from], z.d_var[from]);
        });
        x.d_finite = false;
    }

    pub(super) fn more_innovation(&self, more: &State, x: &mut State) {
        Self::each_unit(more, (x.stride, x.sample()), |from, to| {
            x.d_mean[to] += more.d_mean[from];
            x.d_var[to] += more.d_var[from];
        });
        x.d_finite = false;
    }

    pub(super) fn output_innovation(&self, output: &mut State, seen: Seen<'_>) {
        let (channels, pixels) = (output.shape.channels, output.shape.pixels());
        let width = output.shape.len();
        for row in 0..output.rows {
            for c in 0..channels {
                for p in 0..pixels {
                    let here = row * output.sample() + p * output.stride + c;
                    let (column, there) = (c * pixels + p, row * width + c * pixels + p);
                    let noise = seen.noise.at(row, column, width) as f32;
                    let is_seen = seen.seen.is_none_or(|s| s[there]);
                    let innovation =
                        observe::innovation(output.mean[here], output.var[here], seen.y[there] as f32, noise);
                    (output.d_mean[here], output.d_var[here]) = if is_seen { innovation } else { (0.0, 0.0) };
                }
            }
        }
    }

    pub(super) fn noise_innovation(
        &self,
        output: &State,
        mut head: Option<&mut State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    ) {
        let (channels, pixels) = (output.shape.channels, output.shape.pixels());
        let width = output.shape.len();
        for row in 0..output.rows {
            for c in 0..channels {
                for p in 0..pixels {
                    let here = row * output.sample() + p * output.stride + c;
                    let (column, there) = (c * pixels + p, row * width + c * pixels + p);
                    let is_seen = seen.seen.is_none_or(|s| s[there]);
                    let log = head.as_ref().map(|h| row * h.sample() + p * h.stride + c);
                    let noise_var = match (log, &head) {
                        (Some(at), Some(h)) => noise::expected(h.mean[at], h.var[at]),
                        _ => seen.noise.at(row, column, width) as f32,
                    };
                    let square =
                        noise::square(output.mean[here], output.var[here], seen.y[there] as f32, noise_var);
                    if is_seen {
                        sums.add(column, f64::from(square.mean));
                    }
                    if let (Some(at), Some(h)) = (log, &mut head) {
                        let d = noise::log_innovation(noise_var, h.var[at], square);
                        (h.d_mean[at], h.d_var[at]) = if is_seen { d } else { (0.0, 0.0) };
                    }
                }
            }
        }
    }

    pub(super) fn state_posterior(&self, state: &mut State) {
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
