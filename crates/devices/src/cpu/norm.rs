//! Batch normalisation on the fast device: channels side by side, one task per sample. Sums over the batch are
//! kept sample by sample and added up in order, so that threads do not change them.

use super::lines::Lines;
use super::state::State;
use super::sums::Sums;
use super::tile::{LINE, PANEL};
use super::weights::{single, step};
use super::window::Scratch;
use super::{Cpu, Loop, Shared};
use crate::norm::common;
use crate::{Norms, Noted, Parameters, Pooled, Purpose, Statistics, Steps, Together};
use tractable_core::error::Result;
use tractable_core::moments::product;

/// Scale and shift, one number a channel, padded to whole panels with zeros; the running statistics.
pub struct Norm {
    channels: usize,
    pub(super) scale: [Lines; 2],
    pub(super) shift: [Lines; 2],
    pub(super) running: Statistics,
}

/// What a normalisation remembers from its forward pass.
#[derive(Default)]
pub(super) struct Standard {
    /// What was subtracted and multiplied by, padded like the channels.
    center: Lines,
    inverse: Lines,
    /// The statistics used, and whether they are the batch's own.
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
    of_batch: bool,
    /// Sums of every sample, two or four for each channel.
    sums: Vec<f64>,
    /// Values of a channel, and what their innovations add up to, as in [`NormSums`].
    values: f64,
    total: Vec<f64>,
    /// What the way back takes from every innovation, if anything, and the same in single precision, padded.
    common: Vec<f64>,
    taken: [Lines; 2],
}

impl Standard {
    /// Works out what to subtract and multiply by from the statistics.
    fn prepare(&mut self, epsilon: f64) {
        let n = self.mean.len().next_multiple_of(PANEL);
        self.center.grow(n);
        self.inverse.grow(n);
        for c in 0..self.mean.len() {
            self.center[c] = self.mean[c] as f32;
            self.inverse[c] = (1.0 / (self.var[c] + epsilon).sqrt()) as f32;
        }
    }

    /// Makes room for `n` sums, all zero.
    fn clear_sums(&mut self, n: usize) {
        self.sums.clear();
        self.sums.resize(n, 0.0);
    }

    /// Sum number `k` of a channel over all samples, in their order; each sample has `kinds` sums a channel.
    fn total(&self, k: usize, kinds: usize, channels: usize, c: usize) -> f64 {
        self.sums.chunks_exact(kinds * channels).map(|sample| sample[k * channels + c]).sum()
    }
}

impl Cpu {
    /// Runs `f` for every sample, compiled for the vectors at hand.
    fn each_sample(&self, rows: usize, f: impl Fn(usize) + Sync) {
        self.each(rows, &|row, _| {
            self.arch.dispatch(Loop(
                #[inline(always)]
                || f(row),
            ))
        });
    }

    /// T44: what scale and shift add.
    fn own_of_norm(&self, norm: &Norm, s: &Standard, x: &State, z: &mut State) {
        let (channels, pixels) = (norm.channels, x.shape.pixels());
        z.own.grow(x.rows * x.sample());
        let to = Shared(z.own.as_mut_ptr());
        self.each_sample(
            x.rows,
            #[inline(always)]
            |row| {
                for p in 0..pixels {
                    let at = row * x.sample() + p * x.stride;
                    // SAFETY: a pixel of this sample.
                    let own = unsafe { std::slice::from_raw_parts_mut(to.at(at), channels) };
                    let (mean, var) = (&x.mean[at..][..channels], &x.var[at..][..channels]);
                    for c in 0..channels {
                        let inverse = s.inverse[c];
                        let mu_a = (mean[c] - s.center[c]) * inverse;
                        let second_a = product::second_moment(mu_a, var[c] * inverse * inverse);
                        own[c] = norm.scale[1][c] * second_a + norm.shift[1][c];
                    }
                }
            },
        );
    }
}

impl Norms for Cpu {
    type Norm = Norm;

    fn norm(&self, p: &Parameters, statistics: &Statistics) -> Result<Norm> {
        let channels = p.mean.len();
        let padded = |from: &[f64]| {
            let mut to = Lines::zeros(channels.next_multiple_of(PANEL));
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
            to
        };
        Ok(Norm {
            channels,
            scale: [padded(&p.mean), padded(&p.var)],
            shift: [padded(&p.bias_mean), padded(&p.bias_var)],
            running: statistics.clone(),
        })
    }

    fn norm_parameters(&self, norm: &Norm) -> Result<(Parameters, Statistics)> {
        let part = |v: &Lines| v[..norm.channels].iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let [mean, var] = norm.scale.each_ref().map(part);
        let [bias_mean, bias_var] = norm.shift.each_ref().map(part);
        Ok((Parameters { mean, var, bias_mean, bias_var }, norm.running.clone()))
    }

    fn normalize(&self, norm: &Norm, s: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        z.like(x);
        let s = &mut s.standard;
        let (channels, pixels) = (norm.channels, x.shape.pixels());
        let values = (x.rows * pixels) as f64;
        s.mean.resize(channels, 0.0);
        s.var.resize(channels, 0.0);
        // One value per channel has no variance: use the running statistics.
        s.of_batch = purpose == Purpose::Learn && values > 1.0;
        s.common.clear();
        if s.of_batch {
            s.clear_sums(x.rows * 2 * channels);
            let sums = Shared(s.sums.as_mut_ptr());
            self.each_sample(
                x.rows,
                #[inline(always)]
                |row| {
                    // SAFETY: this sample's own sums.
                    let sums =
                        unsafe { std::slice::from_raw_parts_mut(sums.at(row * 2 * channels), 2 * channels) };
                    let (first, second) = sums.split_at_mut(channels);
                    for p in 0..pixels {
                        let at = row * x.sample() + p * x.stride;
                        let (mean, var) = (&x.mean[at..][..channels], &x.var[at..][..channels]);
                        for c in 0..channels {
                            let m = f64::from(mean[c]);
                            first[c] += m;
                            second[c] += m * m + f64::from(var[c]); // T25, expanded
                        }
                    }
                },
            );
            for c in 0..channels {
                let mean = s.total(0, 2, channels, c) / values;
                s.mean[c] = mean;
                s.var[c] = (s.total(1, 2, channels, c) / values - mean * mean).max(0.0);
            }
        } else {
            s.mean.copy_from_slice(&norm.running.mean);
            s.var.copy_from_slice(&norm.running.var);
        }
        s.prepare(norm.running.epsilon);
        if purpose == Purpose::Rows {
            self.own_of_norm(norm, s, x, z);
        }
        let to = [&mut z.mean, &mut z.var].map(|v| Shared(v.as_mut_ptr()));
        let s = &*s;
        self.each_sample(
            x.rows,
            #[inline(always)]
            |row| {
                for p in 0..pixels {
                    let at = row * x.sample() + p * x.stride;
                    // SAFETY: a pixel of this sample.
                    let [z_mean, z_var] = [&to[0], &to[1]]
                        .map(|v| unsafe { std::slice::from_raw_parts_mut(v.at(at), channels) });
                    let (mean, var) = (&x.mean[at..][..channels], &x.var[at..][..channels]);
                    let (center, inverse) = (&s.center[..channels], &s.inverse[..channels]);
                    let [mu_w, var_w] = norm.scale.each_ref().map(|v| &v[..channels]);
                    let [mu_b, var_b] = norm.shift.each_ref().map(|v| &v[..channels]);
                    for c in 0..channels {
                        // T26
                        let mu_a = (mean[c] - center[c]) * inverse[c];
                        let var_a = var[c] * inverse[c] * inverse[c];
                        let second_a = product::second_moment(mu_a, var_a);
                        z_mean[c] = product::term_mean(mu_w[c], mu_a) + mu_b[c];
                        z_var[c] = product::term_var(mu_w[c], var_w[c], var_a, second_a) + var_b[c];
                    }
                }
            },
        );
    }

    fn normalize_total(
        &self,
        norm: &Norm,
        s: &mut Scratch,
        x: &State,
        z: &State,
        together: Option<Together<'_>>,
    ) -> Result<()> {
        let s = &mut s.standard;
        let (channels, pixels) = (norm.channels, x.shape.pixels());
        s.clear_sums(x.rows * 4 * channels);
        let sums = Shared(s.sums.as_mut_ptr());
        let (center, inverse) = (&s.center[..channels], &s.inverse[..channels]);
        self.each_sample(
            x.rows,
            #[inline(always)]
            |row| {
                // SAFETY: this sample's own sums.
                let sums =
                    unsafe { std::slice::from_raw_parts_mut(sums.at(row * 4 * channels), 4 * channels) };
                let (scale, shift) = sums.split_at_mut(2 * channels);
                let (scale_mean, scale_var) = scale.split_at_mut(channels);
                let (shift_mean, shift_var) = shift.split_at_mut(channels);
                for p in 0..pixels {
                    let at = row * x.sample() + p * x.stride;
                    let mean = &x.mean[at..][..channels];
                    let (d_mean, d_var) = (&z.d_mean[at..][..channels], &z.d_var[at..][..channels]);
                    for c in 0..channels {
                        let mu_a = (mean[c] - center[c]) * inverse[c];
                        scale_mean[c] += f64::from(mu_a * d_mean[c]);
                        scale_var[c] += f64::from(mu_a * mu_a * d_var[c]);
                        shift_mean[c] += f64::from(d_mean[c]);
                        shift_var[c] += f64::from(d_var[c]);
                    }
                }
            },
        );
        s.values = (x.rows * pixels) as f64;
        s.total.resize(4 * channels, 0.0);
        for i in 0..4 * channels {
            s.total[i] = s.total(i / channels, 4, channels, i % channels);
        }
        if s.of_batch || together.is_some() {
            let [of_scale, _, of_shift, _] = [0, 1, 2, 3].map(|k| &s.total[k * channels..][..channels]);
            common(s.values, [of_shift, of_scale], together, &mut s.common)?;
            for (to, from) in s.taken.iter_mut().zip(s.common.chunks_exact(channels)) {
                to.grow(channels);
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
            }
        }
        Ok(())
    }

    fn normalize_back(&self, norm: &Norm, s: &Scratch, of: Option<&State>, z: &State, x: &mut State) {
        let s = &s.standard;
        let (channels, pixels, rows) = (norm.channels, x.shape.pixels(), x.rows);
        let (sample, stride) = (x.sample(), x.stride);
        let State { mean, d_mean, d_var, .. } = x;
        let of = of.map_or(&**mean, |of| &of.mean);
        let to = [d_mean, d_var].map(|v| Shared(v.as_mut_ptr()));
        self.each_sample(
            rows,
            #[inline(always)]
            |row| {
                for p in 0..pixels {
                    let at = row * sample + p * stride;
                    // SAFETY: a pixel of this sample.
                    let [x_mean, x_var] = [&to[0], &to[1]]
                        .map(|v| unsafe { std::slice::from_raw_parts_mut(v.at(at), channels) });
                    let (d_mean, d_var) = (&z.d_mean[at..][..channels], &z.d_var[at..][..channels]);
                    let (inverse, mu_w) = (&s.inverse[..channels], &norm.scale[0][..channels]);
                    if s.common.is_empty() {
                        for c in 0..channels {
                            let weight = mu_w[c] * inverse[c]; // T24
                            x_mean[c] = weight * d_mean[c];
                            x_var[c] = weight * weight * d_var[c];
                        }
                        continue;
                    }
                    let (mean, center) = (&of[at..][..channels], &s.center[..channels]);
                    let [of_shift, of_scale] = s.taken.each_ref().map(|v| &v[..channels]);
                    for c in 0..channels {
                        let weight = mu_w[c] * inverse[c];
                        let mu_a = (mean[c] - center[c]) * inverse[c];
                        x_mean[c] = weight * (d_mean[c] - (of_shift[c] + mu_a * of_scale[c])); // T73
                        x_var[c] = weight * weight * d_var[c];
                    }
                }
            },
        );
    }

    fn normalize_sums(&self, norm: &Norm) -> Sums {
        let norm = NormSums { sums: vec![0.0; 4 * norm.channels], batch: Pooled::default() };
        Sums { lines: Lines::default(), norm }
    }

    fn normalize_accumulate(&self, _: &Norm, s: &Scratch, to: &mut Sums) {
        let (s, to) = (&s.standard, &mut to.norm);
        to.sums.iter_mut().zip(&s.total).for_each(|(sum, more)| *sum += more);
        to.batch.add(&s.mean, &s.var, s.values);
    }

    fn normalize_apply(&self, norm: &mut Norm, from: &Sums, steps: Steps, status: &mut Noted) {
        if status.broken.is_some() {
            return;
        }
        let (steps, channels) = (single(steps), norm.channels);
        for (k, [mean, var]) in [&mut norm.scale, &mut norm.shift].into_iter().enumerate() {
            for panel in (0..channels).step_by(PANEL) {
                let (mut line, mut sums) = ([0.0; LINE], [0.0; LINE]);
                line[..PANEL].copy_from_slice(&mean[panel..][..PANEL]);
                line[PANEL..].copy_from_slice(&var[panel..][..PANEL]);
                for c in panel..channels.min(panel + PANEL) {
                    sums[c - panel] = from.norm.sums[2 * k * channels + c] as f32;
                    sums[PANEL + c - panel] = from.norm.sums[(2 * k + 1) * channels + c] as f32;
                }
                status.tally += step(&mut line, &sums, steps[k]);
                mean[panel..][..PANEL].copy_from_slice(&line[..PANEL]);
                var[panel..][..PANEL].copy_from_slice(&line[PANEL..]);
            }
        }
        norm.running.follow(&from.norm.batch);
    }
}

/// What batches say about scale (mean, variance) and shift (the same), and their statistics.
#[derive(Default)]
pub(super) struct NormSums {
    sums: Vec<f64>,
    batch: Pooled,
}

impl NormSums {
    pub(super) fn clear(&mut self) {
        self.sums.fill(0.0);
        self.batch.clear();
    }

    /// Nothing for a map.
    pub(super) fn read(&self, to: &mut Vec<f64>) {
        if !self.sums.is_empty() {
            to.extend_from_slice(&self.sums);
            self.batch.read(self.sums.len() / 4, to);
        }
    }

    pub(super) fn write(&mut self, from: &mut dyn Iterator<Item = f64>) {
        if !self.sums.is_empty() {
            self.sums.iter_mut().zip(&mut *from).for_each(|(sum, v)| *sum = v);
            self.batch.write(self.sums.len() / 4, from);
        }
    }
}
