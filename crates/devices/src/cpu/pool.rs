//! Pooling on the fast device, channel beside channel.

use super::state::State;
use super::{Cpu, Loop, Shared};
use crate::{Pool, Pooling};
use tractable_core::shape::{Shape, Window};

impl Pooling for Cpu {
    fn pool(&self, pool: Pool, window: Window, x: &State, z: &mut State) {
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
        self.each(z.rows, &|row, _| {
            self.arch.dispatch(Loop(
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
                                // A window that covers only padding picks nothing and stays 0.
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
            ));
        });
    }

    fn pool_back(&self, pool: Pool, window: Window, forward: &State, z: &State, x: &mut State) {
        let k = z.rows / forward.rows;
        let (from, shape, stride) = (x.shape, z.shape, z.stride);
        let (x_sample, z_sample) = (x.sample(), z.sample());
        let to = [&mut x.d_mean, &mut x.d_var].map(|v| Shared(v.as_mut_ptr()));
        let cells = (window.kernel * window.kernel) as f32;
        let (share_mean, share_var) = (1.0 / cells, 1.0 / (cells * cells));
        self.each(z.rows, &|row, _| {
            self.arch.dispatch(Loop(
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
                                    let pick =
                                        &forward.picked[row / k * z_sample + at % z_sample..][..stride];
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
            ));
        });
    }
}

fn positions(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.height).flat_map(move |y| (0..shape.width).map(move |x| (y, x)))
}
