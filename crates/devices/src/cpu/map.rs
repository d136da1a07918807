//! Linear maps with Gaussian weights, dense and convolutional, over the tiles of [`super::tile`].
//!
//! The batch is first copied into pairs (see there), images with their zeros around them; there the inputs of a
//! window are a few runs of neighbours ([`tile::Segment`]), the same for every position. A dense map is a window that
//! covers everything.

use super::lines::Lines;
use super::state::State;
use super::tile::{self, LINE, PAIR, PANEL};
use super::weights::Weights;
use super::window::{Scratch, padded};
use super::{Cpu, Loop, Shared, turn};
use crate::{Maps, Purpose};
use pulp::{Simd, WithSimd};
use std::ops::Range;
use tractable_core::moments::product;

/// Rows in one task of a forward pass, at most, and inputs they may have together.
const CHUNK: usize = 96;
const CHUNK_INPUTS: usize = 1 << 15;
/// Products below which one thread is faster than waking another.
pub(super) const ALONE: usize = 1 << 19;

impl Cpu {
    /// Runs `tasks`, on one thread when there are few products to share.
    pub(super) fn share(&self, products: usize, tasks: usize, job: &(dyn Fn(usize, usize) + Sync)) {
        if products < ALONE { (0..tasks).for_each(|t| job(t, 0)) } else { self.each(tasks, job) }
    }

    /// Runs `tasks`, on all threads when there are several.
    pub(super) fn each(&self, tasks: usize, job: &(dyn Fn(usize, usize) + Sync)) {
        self.team.run(tasks, job)
    }

    /// Copies the batch into pairs, images with their zeros around them.
    fn stage(&self, w: &Weights, s: &mut Scratch, x: &State) {
        s.lay_out(&w.map, x.stride);
        s.lay_out_rows(x.rows);
        let (sample, x_sample) = (s.sample, x.sample());
        if s.far() < x.rows * sample * PAIR {
            // Afresh, so that the zeros around the images are zeros in both halves.
            s.pairs = Lines::zeros(2 * (x.rows * sample * PAIR).next_multiple_of(PANEL));
        }
        let far = s.far();
        let pairs = Shared(s.pairs.as_mut_ptr());
        let input = w.map.input;
        // Runs of neighbours: (how many, how long, from, how far apart there and here).
        let (runs, len, at, from, to) = match w.map.window {
            None => (1, x_sample, 0, 0, 0),
            Some(window) => {
                let (_, width) = padded(&w.map);
                let at = (window.before() * width + window.before()) * input.channels;
                (input.height, input.width, at, input.width * x.stride, width * input.channels)
            }
        };
        let dense = w.map.window.is_none();
        self.share(x.rows * sample * 4, x.rows, &|row, _| {
            self.arch.dispatch(Loop(
                #[inline(always)]
                || {
                    for run in 0..runs {
                        let (from, to) = (row * x_sample + run * from, row * sample + at + run * to);
                        // A dense map, or one whose pixels touch, copies a whole run at once.
                        let (pixels, channels, apart) = match dense || x.stride == input.channels {
                            true => (1, if dense { len } else { len * input.channels }, 0),
                            false => (len, input.channels, x.stride),
                        };
                        for p in 0..pixels {
                            let from = from + p * apart;
                            let (mean, var) = (&x.mean[from..][..channels], &x.var[from..][..channels]);
                            // SAFETY: pixels of this row's own sample, inside the buffer by `lay_out`.
                            let [near, behind] = [0, far].map(|half| unsafe {
                                let to = pairs.at(half + (to + p * input.channels) * PAIR);
                                std::slice::from_raw_parts_mut(to as *mut [f32; PAIR], channels)
                            });
                            for i in 0..channels {
                                near[i] = [mean[i], mean[i] * mean[i]];
                            }
                            if !x.exact {
                                for i in 0..channels {
                                    behind[i] = [product::second_moment(mean[i], var[i]), var[i]];
                                }
                            }
                        }
                    }
                },
            ));
        });
    }
}

impl Maps for Cpu {
    fn map(&self, w: &Weights, s: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        // Tell apart what the weights add to the variance.
        let own = purpose == Purpose::Rows;
        z.padded(x.rows);
        if own {
            z.own.grow(z.rows * z.sample());
        }
        self.stage(w, s, x);
        let s = &*s;
        let rows = s.rows.len();
        let (z_mean, z_var) = (Shared(z.mean.as_mut_ptr()), Shared(z.var.as_mut_ptr()));
        let z_own = own.then(|| Shared(z.own.as_mut_ptr()));
        let products = rows * w.depth() * w.n_panels() * PANEL;
        // A chunk of rows stays in the second cache while panel after panel is multiplied with it.
        let chunk = (CHUNK_INPUTS / s.sample.min(w.depth())).clamp(2 * tile::MAX_ROWS, CHUNK);
        let (chunks, n_panels) = (rows.div_ceil(chunk), w.n_panels());
        let (z_stride, far) = (z.stride, (!x.exact).then_some(s.far()));
        self.share(products, chunks * n_panels, &|task, _| {
            let (panel, chunk_at) = (task % n_panels, task / n_panels * chunk);
            self.arch.dispatch(Forward {
                s,
                lines: &w.panels[panel * w.depth() * LINE..],
                bias: &w.bias[panel * LINE..][..LINE],
                lanes: w.lanes(panel),
                far,
                rows: chunk_at..rows.min(chunk_at + chunk),
                z_stride,
                // This task alone has these rows and this panel.
                z: [Shared(z_mean.at(panel * PANEL)), Shared(z_var.at(panel * PANEL))],
                own: z_own.map(|own| Shared(own.at(panel * PANEL))),
            });
        });
    }

    fn map_back(&self, w: &Weights, s: &mut Scratch, z: &State, x: &mut State) {
        s.lay_out(&w.map, x.stride);
        let outputs = w.map.output.channels;
        s.turned.grow(s.chunks.len() * outputs * PANEL);
        let dense = w.map.window.is_none();
        if !dense {
            s.images.resize_with(self.team.size(), Default::default);
            for image in s.images.iter_mut().flatten() {
                image.grow(s.sample + PANEL);
            }
        }
        let turned = Shared(s.turned.as_mut_ptr());
        let images = Shared(s.images.as_mut_ptr());
        let (x_mean, x_var) = (Shared(x.d_mean.as_mut_ptr()), Shared(x.d_var.as_mut_ptr()));
        let s = &*s;
        let d = [Shared(z.d_mean.as_ptr()), Shared(z.d_var.as_ptr())];
        let products = z.rows * s.starts.len() * w.depth() * outputs;
        let (x_stride, x_sample, rows) = (x.stride, x.sample(), x.rows);
        // Turn the weights round, 32 inputs a task; a dense map goes on at once with what it has turned.
        self.share(products.max(w.depth() * outputs), s.chunks.len(), &|task, _| {
            let (first, at, len) = s.chunks[task];
            // SAFETY: this task's own part of the buffer.
            let lines =
                unsafe { std::slice::from_raw_parts_mut(turned.at(task * outputs * PANEL), outputs * PANEL) };
            turn::turn(self.arch, &w.panels[first * LINE..], w.depth() * LINE, len, outputs, lines);
            if dense {
                self.arch.dispatch(Backward {
                    outputs,
                    turned: lines,
                    lanes: len,
                    d,
                    rows: 0..rows,
                    z_at: &|row| row * z.stride,
                    x_at: &|row| row * x_sample + at,
                    x: [Shared(x_mean.at(0)), Shared(x_var.at(0))],
                    add: false,
                    means_only: z.means_only,
                });
            }
        });
        if dense {
            return;
        }
        let window = w.map.window.expect("a convolution");
        let (input, (_, width), pad) = (w.map.input, padded(&w.map), window.before());
        let (c, per_image) = (input.channels, s.starts.len());
        self.share(products, rows, &|row, worker| {
            // SAFETY: no other worker uses this worker's pair of images while the team runs.
            let [mean, var] = unsafe { &mut *images.get().add(worker) };
            let (mean, var) = (&mut mean[..s.sample + PANEL], &mut var[..s.sample + PANEL]);
            mean.fill(0.0);
            var.fill(0.0);
            for (task, &(_, at, len)) in s.chunks.iter().enumerate() {
                self.arch.dispatch(Backward {
                    outputs,
                    turned: &s.turned[task * outputs * PANEL..][..outputs * PANEL],
                    lanes: len,
                    d,
                    rows: 0..per_image,
                    z_at: &|p| (row * per_image + p) * z.stride,
                    x_at: &|p| s.starts[p] + at,
                    x: [Shared(mean.as_mut_ptr()), Shared(var.as_mut_ptr())],
                    add: true,
                    means_only: z.means_only,
                });
            }
            for y in 0..input.height {
                for xx in 0..input.width {
                    let from = ((y + pad) * width + xx + pad) * c;
                    let to = row * x_sample + (y * input.width + xx) * x_stride;
                    // SAFETY: a pixel of this row's own image.
                    unsafe {
                        std::ptr::copy_nonoverlapping(mean[from..].as_ptr(), x_mean.at(to), c);
                        std::ptr::copy_nonoverlapping(var[from..].as_ptr(), x_var.at(to), c);
                    }
                }
            }
        });
    }
}

struct Forward<'a> {
    s: &'a Scratch,
    lines: &'a [f32],
    bias: &'a [f32],
    lanes: usize,
    far: Option<usize>,
    rows: Range<usize>,
    z_stride: usize,
    z: [Shared<*mut f32>; 2],
    own: Option<Shared<*mut f32>>,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        tiles(
            self.rows.clone(),
            if self.own.is_some() { tile::rows_with_own::<S>() } else { tile::rows_of::<S>() },
            #[inline(always)]
            |from, n| {
                let mut z_at = [0; tile::MAX_ROWS];
                (0..n).for_each(|i| z_at[i] = (from + i) * self.z_stride);
                // SAFETY: `stage` and `resize` made the buffers as large as rows and segments say.
                unsafe {
                    tile::forward(
                        simd,
                        &self.s.segments,
                        self.lines.as_ptr(),
                        self.bias.as_ptr(),
                        self.lanes,
                        self.s.pairs.as_ptr(),
                        self.far,
                        &self.s.rows[from..from + n],
                        &z_at[..n],
                        self.z.map(|p| p.0),
                        self.own.map_or(std::ptr::null_mut(), |p| p.0),
                    )
                }
            },
        );
    }
}

struct Backward<'a, Z, X> {
    outputs: usize,
    turned: &'a [f32],
    lanes: usize,
    d: [Shared<*const f32>; 2],
    rows: Range<usize>,
    z_at: &'a Z,
    x_at: &'a X,
    x: [Shared<*mut f32>; 2],
    add: bool,
    means_only: bool,
}

impl<Z: Fn(usize) -> usize, X: Fn(usize) -> usize> WithSimd for Backward<'_, Z, X> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        tiles(
            self.rows.clone(),
            tile::rows_of::<S>(),
            #[inline(always)]
            |from, n| {
                let (mut z_at, mut x_at) = ([0; tile::MAX_ROWS], [0; tile::MAX_ROWS]);
                for i in 0..n {
                    z_at[i] = (self.z_at)(from + i);
                    x_at[i] = (self.x_at)(from + i);
                }
                let (d, x) = (self.d.map(|p| p.0), self.x.map(|p| p.0));
                // SAFETY: the callers' buffers hold a panel at every place named.
                unsafe {
                    tile::backward(
                        simd,
                        self.outputs,
                        self.turned.as_ptr(),
                        self.lanes,
                        d,
                        &z_at[..n],
                        &x_at[..n],
                        x,
                        self.add,
                        self.means_only,
                    )
                }
            },
        );
    }
}

/// Cuts `rows` into tiles of nearly equal size, at most `most` rows each. Closures given here must be inlined
/// always: a closure of its own would not be compiled for the vectors at hand.
#[inline(always)]
pub(super) fn tiles(rows: Range<usize>, most: usize, mut f: impl FnMut(usize, usize)) {
    let n = rows.len();
    let tiles = n.div_ceil(most);
    let mut from = rows.start;
    for t in 0..tiles {
        let size = n / tiles + usize::from(t < n % tiles);
        f(from, size);
        from += size;
    }
}
