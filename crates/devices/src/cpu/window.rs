//! How a map reads its input: where windows start, where the inputs of a window lie, and the memory that a pass
//! over a batch keeps.

use super::derivative::Work;
use super::lines::Lines;
use super::norm::Standard;
use super::tile::{PANEL, Segment};
use crate::Map;

/// What a map keeps between the passes over one batch.
#[derive(Default)]
pub struct Scratch {
    /// Stride of the input the layout below was made for.
    made_for: usize,
    pub(super) segments: Vec<Segment>,
    /// Where every input lies in a window: the segments, one by one.
    pub(super) inputs: Vec<usize>,
    /// Chunks of up to 32 neighbours among them: (first input, place in a window, length).
    pub(super) chunks: Vec<(usize, usize, usize)>,
    /// Where the windows of a sample start; a dense map has one, at 0.
    pub(super) starts: Vec<usize>,
    /// Inputs from one sample to the next, as the map reads them.
    pub(super) sample: usize,
    /// The batch in pairs: (mean, squared mean) in the first half, (second moment, variance) in the second.
    pub(super) pairs: Lines,
    /// Means of the weights turned round, for every 32 inputs: a line of 32 per output.
    pub(super) turned: Lines,
    /// One padded image of innovations for every thread.
    pub(super) images: Vec<[Lines; 2]>,
    /// Of an update: what the parts of a batch say, to be added up, and how many there are.
    pub(super) sums: Lines,
    pub(super) parts: usize,
    /// Where every window of the batch starts.
    pub(super) rows: Vec<usize>,
    /// Of a derivative.
    pub(super) derivative: Work,
    /// Batch normalisation: what was subtracted and divided by.
    pub(super) standard: Standard,
}

impl Scratch {
    /// Works out how the map reads an input of this stride.
    pub(super) fn lay_out(&mut self, map: &Map, stride: usize) {
        if self.made_for == stride {
            return;
        }
        self.made_for = stride;
        self.segments.clear();
        self.inputs.clear();
        self.chunks.clear();
        self.starts.clear();
        self.rows.clear();
        let Map { input, output, window } = *map;
        match window {
            None => {
                if stride == input.channels {
                    self.segments.push(Segment { at: 0, len: input.len() });
                } else {
                    let pixel = |p| Segment { at: p * stride, len: input.channels };
                    self.segments.extend((0..input.pixels()).map(pixel));
                }
                self.starts.push(0);
                self.sample = (input.pixels() * stride).next_multiple_of(PANEL);
            }
            Some(w) => {
                let (height, width) = padded(map);
                let row = width * input.channels;
                let run = |y| Segment { at: y * row, len: w.kernel * input.channels };
                self.segments.extend((0..w.kernel).map(run));
                for y in 0..output.height {
                    let at = |x: usize| (y * w.stride) * row + x * w.stride * input.channels;
                    self.starts.extend((0..output.width).map(at));
                }
                self.sample = height * row;
            }
        }
        for s in &self.segments {
            let first = self.inputs.len();
            self.inputs.extend(s.at..s.at + s.len);
            let chunk = |i: usize| (first + i, s.at + i, PANEL.min(s.len - i));
            self.chunks.extend((0..s.len).step_by(PANEL).map(chunk));
        }
    }

    /// Numbers from a pair of the first half to that of the second.
    pub(super) fn far(&self) -> usize {
        self.pairs.len() / 2
    }

    /// Works out where the windows of a batch start.
    pub(super) fn lay_out_rows(&mut self, samples: usize) {
        let per_sample = self.starts.len();
        if self.rows.len() != samples * per_sample {
            self.rows.clear();
            let all = (0..samples).flat_map(|i| self.starts.iter().map(move |s| (i, s)));
            self.rows.extend(all.map(|(i, start)| i * self.sample + start));
        }
    }
}

/// Height and width of a convolution's image with its zeros, as far as windows reach.
pub(super) fn padded(map: &Map) -> (usize, usize) {
    let w = map.window.expect("only convolutions are padded");
    let side = |n: usize| n + w.before() + w.after();
    (side(map.input.height), side(map.input.width))
}
