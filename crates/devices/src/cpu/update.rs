//! Learning on the fast device: updates of a map's weights, summed over the rows of a batch, and the resulting step.

use super::lines::Lines;
use super::map::{ALONE, tiles};
use super::norm::NormSums;
use super::state::State;
use super::sums::Sums;
use super::tile::{self, LINE, PAIR, PANEL};
use super::weights::{Weights, single, step};
use super::window::Scratch;
use super::{Cpu, Shared};
use crate::{Learning, Noted, Step, Steps, Tally};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Inputs whose sums one task keeps at hand, and rows it takes at a time: together they fit the first cache.
const INPUTS: usize = 80;
const BLOCK: usize = 32;
/// Samples in a part of an update, at least, and parts, at most.
const PART: usize = 8;
const MOST_PARTS: usize = 4;

impl Cpu {
    /// What a batch says about the weights, into the scratch. Images are summed up in parts, so that a core only reads
    /// those that are in its cache; a part holds panel after panel, the inputs and then the bias.
    fn sum_up(&self, w: &Weights, s: &mut Scratch, z: &State) {
        let per_sample = s.starts.len();
        s.parts = if per_sample == 1 { 1 } else { (z.rows / PART).clamp(1, MOST_PARTS) };
        let (cut, parts) = (Cut::new(w, s.rows.len()), s.parts);
        let mut all_sums = std::mem::take(&mut s.sums);
        all_sums.grow(parts * w.lines() * LINE);
        let sums = Shared(all_sums.as_mut_ptr());
        let shared = &*s;
        self.share(cut.products, parts * cut.tasks(), &|task, _| {
            let (part, (panel, inputs)) = (task / cut.tasks(), cut.task(task % cut.tasks()));
            let samples = part * z.rows / parts..(part + 1) * z.rows / parts;
            // SAFETY: this task's own sums, and those of the bias with the first inputs.
            let (sums, bias) = unsafe {
                let sums = sums.at((part * w.lines() + panel * (w.depth() + 1)) * LINE) as *mut [f32; LINE];
                (Shared(sums.add(inputs.start)), (inputs.start == 0).then(|| &mut *sums.add(w.depth())))
            };
            let rows = samples.start * per_sample..samples.end * per_sample;
            self.arch.dispatch(SumTask::new(w, shared, z, panel, &inputs, rows, sums, bias));
        });
        s.sums = all_sums;
    }

    /// The posterior of the weights from sums in these parts over this many rows, unless there was an error.
    fn step_by(
        &self,
        w: &mut Weights,
        sums: &Lines,
        (parts, rows): (usize, usize),
        steps: Steps,
        status: &mut Noted,
    ) {
        let (sums, depth, all) = (sums.as_chunks::<LINE>().0, w.depth(), w.lines());
        let [of_weights, of_biases] = single(steps);
        self.step_all(w, rows, status, |_, panel, inputs, lines, bias| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    let (mut tally, first) = (Tally::default(), panel * (depth + 1));
                    for (line, input) in lines.iter_mut().zip(inputs.start..) {
                        tally += step(line, &total(sums, first + input, all, parts), of_weights);
                    }
                    if let Some(bias) = bias {
                        tally += step(bias, &total(sums, first + depth, all, parts), of_biases);
                    }
                    tally
                },
            )
        });
    }

    /// The posterior of the weights from one sample of a dense map: nothing is summed up, so no sums are kept.
    fn update_by_one(
        &self,
        w: &mut Weights,
        pairs: &[f32],
        places: &[usize],
        z: &State,
        steps: [Step<f32>; 2],
        status: &mut Noted,
    ) {
        self.step_all(w, 1, status, |w, panel, inputs, lines, bias| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    let mut d = Innovations([[0.0; PANEL]; 2]);
                    for (to, from) in d.0.iter_mut().zip([&z.d_mean, &z.d_var]) {
                        to.copy_from_slice(&from[panel * PANEL..][..PANEL]);
                        to[w.lanes(panel)..].fill(0.0);
                    }
                    let mut tally = Tally::default();
                    for (line, &place) in lines.iter_mut().zip(&places[inputs]) {
                        tally +=
                            step_by_one(line, pairs[place * PAIR], pairs[place * PAIR + 1], &d, steps[0]);
                    }
                    if let Some(bias) = bias {
                        tally += step_by_one(bias, 1.0, 1.0, &d, steps[1]);
                    }
                    tally
                },
            )
        });
    }

    /// Calls `f(weights, panel, inputs, their lines, the bias)` for every part of the weights, unless something is broken;
    /// the bias comes with the first inputs of a panel.
    fn step_all(
        &self,
        w: &mut Weights,
        rows: usize,
        status: &mut Noted,
        f: impl Fn(&Weights, usize, Range<usize>, &mut [[f32; LINE]], Option<&mut [f32; LINE]>) -> Tally + Sync,
    ) {
        if status.broken.is_some() {
            return;
        }
        let cut = Cut::new(w, rows);
        let (panels, bias) = (Shared(w.panels.as_mut_ptr()), Shared(w.bias.as_mut_ptr()));
        let (w, tally) = (&*w, std::sync::Mutex::new(Tally::default()));
        self.share(cut.products, cut.tasks(), &|task, _| {
            let (panel, inputs) = cut.task(task);
            // SAFETY: one task alone has a group of a panel; the first group has the panel's bias too.
            let (lines, bias) = unsafe {
                let lines = panels.at((panel * w.depth() + inputs.start) * LINE) as *mut [f32; LINE];
                let bias = bias.at(panel * LINE) as *mut [f32; LINE];
                let lines = std::slice::from_raw_parts_mut(lines, inputs.len());
                (lines, (inputs.start == 0).then(|| &mut *bias))
            };
            let t = f(w, panel, inputs, lines, bias);
            if t != Tally::default() {
                *tally.lock().unwrap_or_else(|e| e.into_inner()) += t;
            }
        });
        status.tally += tally.into_inner().unwrap_or_else(|e| e.into_inner());
    }
}

impl Learning for Cpu {
    fn map_sums(&self, w: &Weights) -> Sums {
        Sums { lines: Lines::zeros(w.lines() * LINE), norm: NormSums::default() }
    }

    fn map_accumulate(&self, w: &Weights, s: &mut Scratch, _: &State, z: &State, sums: &mut Sums) {
        self.sum_up(w, s, z);
        let (mine, theirs) = (sums.lines.as_chunks_mut::<LINE>().0, s.sums.as_chunks::<LINE>().0);
        let all = mine.len();
        for (at, line) in mine.iter_mut().enumerate() {
            let more = total(theirs, at, all, s.parts);
            (0..LINE).for_each(|i| line[i] += more[i]);
        }
    }

    fn map_apply(&self, w: &mut Weights, sums: &Sums, steps: Steps, status: &mut Noted) {
        self.step_by(w, &sums.lines, (1, 1), steps, status);
    }

    /// The posterior of the weights from one batch: the sums of a few inputs are used while they are in the cache.
    fn map_learn(
        &self,
        w: &mut Weights,
        s: &mut Scratch,
        _: &State,
        z: &State,
        steps: Steps,
        status: &mut Noted,
    ) {
        if s.starts.len() > 1 && z.rows >= 2 * PART {
            self.sum_up(w, s, z);
            return self.step_by(w, &s.sums, (s.parts, s.rows.len()), steps, status);
        }
        let (s, steps) = (&*s, single(steps));
        if let [row] = s.rows[..] {
            return self.update_by_one(w, &s.pairs[row * PAIR..], &s.inputs, z, steps, status);
        }
        self.step_all(w, s.rows.len(), status, |w, panel, inputs, lines, bias| {
            let mut sums = [const { std::mem::MaybeUninit::<[f32; LINE]>::uninit() }; INPUTS];
            let sums = sums[..inputs.len()].as_mut_ptr() as *mut [f32; LINE];
            let mut bias_sums = [0.0; LINE];
            let of_bias = bias.is_some().then_some(&mut bias_sums);
            self.arch.dispatch(SumTask::new(w, s, z, panel, &inputs, 0..s.rows.len(), Shared(sums), of_bias));
            // SAFETY: there is at least one row, so there is a line for every input.
            let sums = unsafe { std::slice::from_raw_parts(sums, inputs.len()) };
            self.arch.dispatch(
                #[inline(always)]
                || {
                    let mut tally = Tally::default();
                    for (line, sums) in lines.iter_mut().zip(sums) {
                        tally += step(line, sums, steps[0]);
                    }
                    if let Some(bias) = bias {
                        tally += step(bias, &bias_sums, steps[1]);
                    }
                    tally
                },
            )
        });
    }
}

/// The weights of a map in tasks: some inputs of a panel each.
struct Cut {
    depth: usize,
    n_panels: usize,
    groups: usize,
    products: usize,
}

impl Cut {
    /// For sums over so many rows; 0 where there are none to sum over.
    fn new(w: &Weights, rows: usize) -> Self {
        let (depth, n_panels) = (w.depth(), w.n_panels());
        let products = rows.max(1) * depth * n_panels * PANEL;
        // At least two groups of inputs where there is work to share.
        let groups = depth.div_ceil(INPUTS).max(if products < ALONE { 1 } else { 2.min(depth) });
        Cut { depth, n_panels, groups, products }
    }

    fn tasks(&self) -> usize {
        self.n_panels * self.groups
    }

    /// The panel and the inputs of a task.
    fn task(&self, task: usize) -> (usize, Range<usize>) {
        let (group, size) = (task / self.n_panels, self.depth.div_ceil(self.groups));
        (task % self.n_panels, self.depth.min(group * size)..self.depth.min((group + 1) * size))
    }
}

/// What a batch says about the weights of some inputs of a panel, summed up over rows.
struct SumTask<'a> {
    pairs: &'a [f32],
    inputs: &'a [usize],
    rows: &'a [usize],
    /// From the first row on.
    d: [&'a [f32]; 2],
    z_stride: usize,
    lanes: usize,
    /// A line for every input.
    sums: Shared<*mut [f32; LINE]>,
    /// Of the biases, unless another task has them.
    bias: Option<&'a mut [f32; LINE]>,
}

impl<'a> SumTask<'a> {
    #[allow(clippy::too_many_arguments)]
    fn new(
        w: &Weights,
        s: &'a Scratch,
        z: &'a State,
        panel: usize,
        inputs: &Range<usize>,
        rows: Range<usize>,
        sums: Shared<*mut [f32; LINE]>,
        bias: Option<&'a mut [f32; LINE]>,
    ) -> Self {
        SumTask {
            pairs: &s.pairs,
            inputs: &s.inputs[inputs.clone()],
            d: [&z.d_mean, &z.d_var].map(|d| &d[rows.start * z.stride + panel * PANEL..]),
            rows: &s.rows[rows],
            z_stride: z.stride,
            lanes: w.lanes(panel),
            sums,
            bias,
        }
    }
}

impl WithSimd for SumTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.lanes < PANEL {
            // Outputs that are not there have no sums of their own.
            // SAFETY: the caller's room for a line of every input.
            (0..self.inputs.len()).for_each(|i| unsafe { self.sums.0.add(i).write([0.0; LINE]) });
        }
        let mut bias_sums = [0.0; LINE];
        for (block, rows) in self.rows.chunks(BLOCK).enumerate() {
            let d = self.d.map(|d| &d[block * BLOCK * self.z_stride..]);
            tiles(
                0..self.inputs.len(),
                tile::rows_of::<S>(),
                #[inline(always)]
                |from, n| {
                    let sums = self.sums.0.wrapping_add(from) as *mut f32;
                    let (pairs, d) = (self.pairs.as_ptr(), d.map(<[f32]>::as_ptr));
                    let inputs = &self.inputs[from..from + n];
                    // SAFETY: rows and inputs lie in the staged batch, `d` holds a panel for every row.
                    unsafe {
                        tile::sums(simd, pairs, inputs, rows, self.lanes, self.z_stride, d, sums, block == 0)
                    }
                },
            );
            if self.bias.is_some() {
                for row in 0..rows.len() {
                    let [d_mean, d_var] = d.map(|d| &d[row * self.z_stride..][..PANEL]);
                    for i in 0..PANEL {
                        bias_sums[i] += d_mean[i];
                        bias_sums[PANEL + i] += d_var[i];
                    }
                }
            }
        }
        if let Some(bias) = self.bias {
            *bias = bias_sums;
        }
    }
}

/// Means and variances of a panel, from a cache line on.
#[repr(align(64))]
struct Innovations([[f32; PANEL]; 2]);

/// Posterior of one line of weights from one sample: its input and that squared, its innovations.
#[inline(always)]
fn step_by_one(
    line: &mut [f32; LINE],
    mu_a: f32,
    sq_a: f32,
    Innovations([d_mean, d_var]): &Innovations,
    how: Step<f32>,
) -> Tally {
    let mut sums = [0.0; LINE];
    for i in 0..PANEL {
        sums[i] = mu_a * d_mean[i];
        sums[PANEL + i] = sq_a * d_var[i];
    }
    step(line, &sums, how)
}

/// What the parts of a batch say of one line of weights, in their order.
#[inline(always)]
fn total(sums: &[[f32; LINE]], at: usize, part_size: usize, parts: usize) -> [f32; LINE] {
    let mut sum = sums[at];
    for part in 1..parts {
        let more = &sums[part * part_size + at];
        for i in 0..LINE {
            sum[i] += more[i];
        }
    }
    sum
}
