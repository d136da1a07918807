//! Pooling and batch normalisation on the fast device, channel beside channel.

use super::state::State;
use super::tile::{LINE, PANEL};
use super::weights::step;
use super::window::Scratch;
use super::{Cpu, Shared};
use crate::backend::{Parameters, Pool, Statistics, Tally};
use crate::moments::product;
use crate::shape::{Shape, Window};

/// Scale and shift as lines of 32 means and 32 variances, and the running statistics.
pub(crate) struct Norm {
    channels: usize,
    scale: Vec<f32>,
    shift: Vec<f32>,
    running: Statistics,
}

impl Norm {
    pub(super) fn new(shape: Shape, p: &Parameters, statistics: &Statistics) -> Self {
        let lines = |mean: &[f64], var: &[f64]| {
            let mut to = vec![0.0; shape.channels.div_ceil(PANEL) * LINE];
            for c in 0..shape.channels {
                to[c / PANEL * LINE + c % PANEL] = mean[c] as f32;
                to[c / PANEL * LINE + PANEL + c % PANEL] = var[c] as f32;
            }
            to
        };
        Norm {
            channels: shape.channels,
            scale: lines(&p.mean, &p.var),
            shift: lines(&p.bias_mean, &p.bias_var),
            running: statistics.clone(),
        }
    }

    pub(super) fn parameters(&self) -> (Parameters, Statistics) {
        let part = |lines: &[f32], from: usize| {
            let at = |c: usize| f64::from(lines[c / PANEL * LINE + from + c % PANEL]);
            (0..self.channels).map(at).collect::<Vec<_>>()
        };
        let p = Parameters {
            mean: part(&self.scale, 0),
            var: part(&self.scale, PANEL),
            bias_mean: part(&self.shift, 0),
            bias_var: part(&self.shift, PANEL),
        };
        (p, self.running.clone())
    }
}

/// Mean and variance of one parameter in its lines.
fn pair(lines: &[f32], c: usize) -> (f32, f32) {
    let at = c / PANEL * LINE + c % PANEL;
    (lines[at], lines[at + PANEL])
}

impl Cpu {
    pub(super) fn pool_forward(&self, pool: Pool, window: Window, x: &State, z: &mut State) {
        z.like(x);
        z.exact = x.exact;
        let n = z.rows * z.sample();
        if pool == Pool::Max && z.picked.len() < n {
            z.picked.resize(n, 0);
        }
        let (from, shape, stride) = (x.shape, z.shape, z.stride);
        let (x_sample, z_sample) = (x.sample(), z.sample());
        let to = [&mut z.mean, &mut z.var].map(|v| Shared(v.as_mut_ptr()));
        let picked = Shared(z.picked.as_mut_ptr());
        let cells = (window.kernel * window.kernel) as f32;
        let (share_mean, share_var) = (1.0 / cells, 1.0 / (cells * cells));
        self.team.run(z.rows, &|row, _| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    for (down, across) in positions(shape) {
                        let at = row * z_sample + (down * shape.width + across) * stride;
                        // SAFETY: a pixel of this row's own image.
                        let [mean, var] = [&to[0], &to[1]]
                            .map(|p| unsafe { std::slice::from_raw_parts_mut(p.at(at), stride) });
                        mean.fill(0.0);
                        var.fill(0.0);
                        let (ys, xs) = window.covers(from, down, across);
                        let pixels = ys.flat_map(|y| xs.clone().map(move |xx| y * from.width + xx));
                        match pool {
                            Pool::Average => {
                                for pixel in pixels {
                                    let at = row * x_sample + pixel * stride;
                                    let (x_mean, x_var) = (&x.mean[at..][..stride], &x.var[at..][..stride]);
                                    for c in 0..stride {
                                        mean[c] += x_mean[c];
                                        var[c] += x_var[c];
                                    }
                                }
                                for c in 0..stride {
                                    mean[c] *= share_mean;
                                    var[c] *= share_var;
                                }
                            }
                            Pool::Max => {
                                // SAFETY: as above.
                                let pick = unsafe { std::slice::from_raw_parts_mut(picked.at(at), stride) };
                                // A window in the padding alone picks nothing and stays 0.
                                pick.fill(u32::MAX);
                                for (i, pixel) in pixels.enumerate() {
                                    let at = row * x_sample + pixel * stride;
                                    let (x_mean, x_var) = (&x.mean[at..][..stride], &x.var[at..][..stride]);
                                    for c in 0..stride {
                                        let better = i == 0 || x_mean[c] > mean[c];
                                        mean[c] = if better { x_mean[c] } else { mean[c] };
                                        var[c] = if better { x_var[c] } else { var[c] };
                                        pick[c] = if better { pixel as u32 } else { pick[c] };
                                    }
                                }
                            }
                        }
                    }
                },
            );
        });
    }

    pub(super) fn pool_backward(&self, pool: Pool, window: Window, z: &State, x: &mut State) {
        let (from, shape, stride) = (x.shape, z.shape, z.stride);
        let (x_sample, z_sample) = (x.sample(), z.sample());
        let to = [&mut x.d_mean, &mut x.d_var].map(|v| Shared(v.as_mut_ptr()));
        let cells = (window.kernel * window.kernel) as f32;
        let (share_mean, share_var) = (1.0 / cells, 1.0 / (cells * cells));
        self.team.run(z.rows, &|row, _| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    // SAFETY: this row's own image.
                    let [d_mean, d_var] = [&to[0], &to[1]]
                        .map(|p| unsafe { std::slice::from_raw_parts_mut(p.at(row * x_sample), x_sample) });
                    d_mean.fill(0.0);
                    d_var.fill(0.0);
                    for (down, across) in positions(shape) {
                        let at = row * z_sample + (down * shape.width + across) * stride;
                        let (z_mean, z_var) = (&z.d_mean[at..][..stride], &z.d_var[at..][..stride]);
                        let (ys, xs) = window.covers(from, down, across);
                        for pixel in ys.flat_map(|y| xs.clone().map(move |xx| y * from.width + xx)) {
                            let mean = &mut d_mean[pixel * stride..][..stride];
                            let var = &mut d_var[pixel * stride..][..stride];
                            match pool {
                                Pool::Average => {
                                    for c in 0..stride {
                                        mean[c] += share_mean * z_mean[c];
                                        var[c] += share_var * z_var[c];
                                    }
                                }
                                Pool::Max => {
                                    let pick = &z.picked[at..][..stride];
                                    for c in 0..stride {
                                        let mine = pick[c] == pixel as u32;
                                        mean[c] += if mine { z_mean[c] } else { 0.0 };
                                        var[c] += if mine { z_var[c] } else { 0.0 };
                                    }
                                }
                            }
                        }
                    }
                },
            );
        });
    }

    pub(super) fn norm_forward(
        &self,
        norm: &Norm,
        s: &mut Scratch,
        x: &State,
        z: &mut State,
        learning: bool,
    ) {
        z.like(x);
        let values = (x.rows * x.shape.pixels()) as f64;
        s.norm_mean.clear();
        s.norm_var.clear();
        // One value a channel has no spread of its own: the running statistics serve.
        if learning && values > 1.0 {
            s.norm_mean.resize(norm.channels, 0.0);
            s.norm_var.resize(norm.channels, 0.0);
            let (mean, var) = (&mut s.norm_mean[..], &mut s.norm_var[..]);
            each_pixel(x, |at| {
                for (m, v) in mean.iter_mut().zip(&x.mean[at..]) {
                    *m += f64::from(*v);
                }
            });
            mean.iter_mut().for_each(|m| *m /= values);
            each_pixel(x, |at| {
                for c in 0..mean.len() {
                    let off = f64::from(x.mean[at + c]) - mean[c];
                    var[c] += off * off + f64::from(x.var[at + c]); // T25
                }
            });
            var.iter_mut().for_each(|v| *v /= values);
        } else {
            s.norm_mean.extend_from_slice(&norm.running.mean);
            s.norm_var.extend_from_slice(&norm.running.var);
        }
        let (z_mean, z_var) = (&mut z.mean, &mut z.var);
        each_pixel(x, |at| {
            for c in 0..norm.channels {
                let (center, inverse) = s.standard(c, norm.running.epsilon);
                let mu_a = (x.mean[at + c] - center) * inverse; // T26
                let var_a = x.var[at + c] * inverse * inverse;
                let ((mu_w, var_w), (mu_b, var_b)) = (pair(&norm.scale, c), pair(&norm.shift, c));
                z_mean[at + c] = product::term_mean(mu_w, mu_a) + mu_b;
                z_var[at + c] =
                    product::term_var(mu_w, var_w, var_a, product::second_moment(mu_a, var_a)) + var_b;
            }
        });
    }

    pub(super) fn norm_backward(&self, norm: &Norm, s: &Scratch, z: &State, x: &mut State) {
        let (mut d_mean, mut d_var) = (std::mem::take(&mut x.d_mean), std::mem::take(&mut x.d_var));
        each_pixel(x, |at| {
            for c in 0..norm.channels {
                let (_, inverse) = s.standard(c, norm.running.epsilon);
                let weight = pair(&norm.scale, c).0 * inverse;
                d_mean[at + c] = weight * z.d_mean[at + c];
                d_var[at + c] = weight * weight * z.d_var[at + c];
            }
        });
        (x.d_mean, x.d_var) = (d_mean, d_var);
    }

    pub(super) fn norm_update(
        &self,
        norm: &mut Norm,
        s: &Scratch,
        x: &State,
        z: &State,
        cap: Option<f64>,
    ) -> Tally {
        let mut tally = Tally::default();
        let cap = cap.map(|c| c as f32);
        for (panel, line) in norm.scale.chunks_exact_mut(LINE).enumerate() {
            let (mut scale, mut shift) = ([0.0; LINE], [0.0; LINE]);
            let channels = panel * PANEL..norm.channels.min((panel + 1) * PANEL);
            each_pixel(x, |at| {
                for c in channels.clone() {
                    let (center, inverse) = s.standard(c, norm.running.epsilon);
                    let mu_a = (x.mean[at + c] - center) * inverse;
                    let i = c - channels.start;
                    scale[i] += mu_a * z.d_mean[at + c];
                    scale[PANEL + i] += mu_a * mu_a * z.d_var[at + c];
                    shift[i] += z.d_mean[at + c];
                    shift[PANEL + i] += z.d_var[at + c];
                }
            });
            tally += step(line.try_into().expect("one line"), &scale, cap);
            let line = &mut norm.shift[panel * LINE..][..LINE];
            tally += step(line.try_into().expect("one line"), &shift, cap);
        }
        norm.running.follow(&s.norm_mean, &s.norm_var);
        tally
    }
}

impl Scratch {
    /// What a normalisation subtracts and multiplies by.
    fn standard(&self, c: usize, epsilon: f64) -> (f32, f32) {
        (self.norm_mean[c] as f32, (1.0 / (self.norm_var[c] + epsilon).sqrt()) as f32)
    }
}

fn positions(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.height).flat_map(move |y| (0..shape.width).map(move |x| (y, x)))
}

/// Calls `f` with the place of every pixel of the batch.
fn each_pixel(x: &State, mut f: impl FnMut(usize)) {
    for row in 0..x.rows {
        for p in 0..x.shape.pixels() {
            f(row * x.sample() + p * x.stride);
        }
    }
}
