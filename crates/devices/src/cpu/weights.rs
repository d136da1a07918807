//! Gaussian weights of a map on the fast device, and their learning step.

use super::Cpu;
use super::lines::Lines;
use super::tile::{LINE, PANEL};
use crate::{Map, Parameters, Step, Steps, Tally, Weighted};
use std::mem::take;
use std::ops::Range;
use tractable_core::error::Result;
use tractable_core::moments::posterior::{self, Updated};

/// Inputs that are copied together between files and panels.
const BLOCK: usize = 16;

pub struct Weights {
    pub(super) map: Map,
    /// For every 32 outputs, for every input: 32 means, 32 variances. Inputs in the order of memory: window
    /// row, window column, channel. Outputs beyond the last are zero and stay zero.
    pub(super) panels: Lines,
    /// For every 32 outputs: 32 means, 32 variances.
    pub(super) bias: Lines,
}

impl Weights {
    pub(super) fn depth(&self) -> usize {
        self.map.fan_in()
    }

    /// Outputs in a panel: 32, except the last.
    pub(super) fn lanes(&self, panel: usize) -> usize {
        PANEL.min(self.map.output.channels - panel * PANEL)
    }

    pub(super) fn n_panels(&self) -> usize {
        self.map.output.channels.div_ceil(PANEL)
    }

    /// Calls `f(place in files, place in panels)` for every weight of some outputs, places in files counted from the
    /// first of them; the variance lies `PANEL` further on.
    fn places(&self, outputs: Range<usize>, mut f: impl FnMut(usize, usize)) {
        let Map { input, window, .. } = self.map;
        // A dense map is a window of the image's own size.
        let (height, width) = window.map_or((input.height, input.width), |w| (w.kernel, w.kernel));
        let (depth, first, pixels) = (self.depth(), outputs.start, height * width);
        // The inputs of an output: channel after channel in files, pixel after pixel in panels.
        let in_files: Vec<usize> =
            (0..depth).map(|k| k % input.channels * pixels + k / input.channels).collect();
        // In small blocks: neighbours in a panel are outputs, neighbours in a file are inputs.
        for panel in first / PANEL..outputs.end.div_ceil(PANEL) {
            let lanes = first.max(panel * PANEL)..outputs.end.min((panel + 1) * PANEL);
            for (block, in_files) in in_files.chunks(BLOCK).enumerate() {
                for o in lanes.clone() {
                    let here = (panel * depth + block * BLOCK) * LINE + o % PANEL;
                    for (k, at) in in_files.iter().enumerate() {
                        f((o - first) * depth + at, here + k * LINE);
                    }
                }
            }
        }
    }

    /// Lines of all panels, biases included.
    pub(super) fn lines(&self) -> usize {
        self.n_panels() * (self.depth() + 1)
    }
}

impl Weighted for Cpu {
    type Weights = Weights;

    fn bytes(&self, map: &Map) -> u64 {
        let outputs = map.output.channels.next_multiple_of(PANEL) as u64;
        outputs * (map.fan_in() as u64 + 1) * 8
    }

    fn weights(&self, map: Map) -> Result<Weights> {
        let mut w = Weights { map, panels: Lines::default(), bias: Lines::default() };
        w.panels = Lines::try_zeros(w.n_panels() * w.depth() * LINE)?;
        w.bias = Lines::zeros(w.n_panels() * LINE);
        Ok(w)
    }

    fn set_weights(&self, w: &mut Weights, outputs: Range<usize>, p: &Parameters) -> Result<()> {
        let (mut panels, mut bias) = (take(&mut w.panels), take(&mut w.bias));
        w.places(outputs.clone(), |there, here| {
            panels[here] = p.mean[there] as f32;
            panels[here + PANEL] = p.var[there] as f32;
        });
        for (there, o) in outputs.enumerate() {
            let here = o / PANEL * LINE + o % PANEL;
            bias[here] = p.bias_mean[there] as f32;
            bias[here + PANEL] = p.bias_var[there] as f32;
        }
        (w.panels, w.bias) = (panels, bias);
        Ok(())
    }

    fn weights_parameters(&self, w: &Weights, outputs: Range<usize>) -> Result<Parameters> {
        let outputs = outputs.start..outputs.end.min(w.map.output.channels);
        let n = outputs.len() * w.depth();
        let mut p = Parameters {
            mean: vec![0.0; n],
            var: vec![0.0; n],
            bias_mean: vec![0.0; outputs.len()],
            bias_var: vec![0.0; outputs.len()],
        };
        let (panels, bias) = (&w.panels, &w.bias);
        w.places(outputs.clone(), |there, here| {
            p.mean[there] = f64::from(panels[here]);
            p.var[there] = f64::from(panels[here + PANEL]);
        });
        for (there, o) in outputs.enumerate() {
            let here = o / PANEL * LINE + o % PANEL;
            p.bias_mean[there] = f64::from(bias[here]);
            p.bias_var[there] = f64::from(bias[here + PANEL]);
        }
        Ok(p)
    }
}

/// The steps of a layer in the precision of this device.
pub(super) fn single(steps: Steps) -> [Step<f32>; 2] {
    steps.map(|step| match step {
        Step::Plain => Step::Plain,
        Step::Capped(cap) => Step::Capped(cap as f32),
        Step::Counted(count) => Step::Counted(count.to(|v| v as f32)),
        Step::Paced(pace) => Step::Paced(pace.to(|v| v as f32)),
    })
}

/// Posterior of one line of parameters from its sums (T20, T21, T39, T80). Closures, because they are inlined into code of the vectors' width.
#[allow(clippy::redundant_closure)]
#[inline(always)]
pub(super) fn step(line: &mut [f32; LINE], sums: &[f32; LINE], how: Step<f32>) -> Tally {
    match how {
        Step::Plain => step_with(
            line,
            sums,
            None,
            #[inline(always)]
            |m, v, g, h, cap, least| posterior::free_step(m, v, g, h, cap, least),
            posterior::plain,
        ),
        Step::Capped(cap) => step_with(
            line,
            sums,
            Some(cap),
            #[inline(always)]
            |m, v, g, h, cap, least| posterior::free_step(m, v, g, h, cap, least),
            |m, v, g, h| posterior::capped(m, v, g, h, cap),
        ),
        Step::Counted(count) => step_with(
            line,
            sums,
            Some(count.cap),
            #[inline(always)]
            |m, v, g, h, cap, least| posterior::free_counted(m, v, g, h, count, cap, least),
            |m, v, g, h| posterior::counted(m, v, g, h, count),
        ),
        Step::Paced(pace) => step_with(
            line,
            sums,
            None,
            #[inline(always)]
            |m, v, g, h, _, _| posterior::free_paced(m, v, g, h, pace),
            |m, v, g, h| posterior::paced(m, v, g, h, pace),
        ),
    }
}

/// Takes a whole line the free way, or where a number must be limited or repaired, all of it the careful way.
#[inline(always)]
fn step_with(
    line: &mut [f32; LINE],
    sums: &[f32; LINE],
    cap: Option<f32>,
    free_step: impl Fn(f32, f32, f32, f32, f32, f32) -> (f32, f32, bool),
    careful: impl Fn(f32, f32, f32, f32) -> Updated<f32>,
) -> Tally {
    let (mean, var) = line.split_at_mut(PANEL);
    let (g_mean, g_var) = sums.split_at(PANEL);
    let (cap_squared, least_shrink) = posterior::limits(cap);
    let (mut new_mean, mut new_var, mut free) = ([0.0; PANEL], [0.0; PANEL], true);
    for i in 0..PANEL {
        let step = free_step(mean[i], var[i], g_mean[i], g_var[i], cap_squared, least_shrink);
        (new_mean[i], new_var[i]) = (step.0, step.1);
        free &= step.2;
    }
    let mut tally = Tally::default();
    if free {
        mean.copy_from_slice(&new_mean);
        var.copy_from_slice(&new_var);
        return tally;
    }
    for i in 0..PANEL {
        let step = careful(mean[i], var[i], g_mean[i], g_var[i]);
        (mean[i], var[i]) = (step.mean, step.var);
        tally += Tally { capped: step.capped as u64, repaired: step.repaired as u64 };
    }
    tally
}
