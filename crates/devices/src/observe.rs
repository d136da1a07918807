//! Observations, and the noise they are made with.

use super::States;
use tractable_core::error::Result;

/// Noise variance of what is observed.
#[derive(Debug, Clone, Copy)]
pub enum NoiseVar<'a> {
    /// Of everything.
    One(f64),
    /// Of every output.
    PerOutput(&'a [f64]),
    /// Of every output of every row.
    PerEntry(&'a [f64]),
    /// None: the outputs are those of a softmax, with one pixel, and of a row `y` is 1 for the class that was seen and 0 for the others.
    Softmax,
}

impl NoiseVar<'_> {
    pub(crate) fn at(&self, row: usize, column: usize, width: usize) -> f64 {
        match self {
            NoiseVar::One(v) => *v,
            NoiseVar::PerOutput(v) => v[column],
            NoiseVar::PerEntry(v) => v[row * width + column],
            NoiseVar::Softmax => 0.0,
        }
    }
}

/// Observed outputs.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Their values, `[rows, width]`.
    pub y: &'a [f64],
    /// Variance of their noise.
    pub noise: NoiseVar<'a>,
    /// Which entries were observed; `None`: all.
    pub seen: Option<&'a [bool]>,
}

/// Sum of squared noise for every output, and the number of entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoiseSums {
    /// Sums of squares.
    pub squares: Vec<f64>,
    /// Numbers of entries.
    pub count: Vec<f64>,
}

impl NoiseSums {
    /// No entries yet.
    pub fn zeros(outputs: usize) -> Self {
        NoiseSums { squares: vec![0.0; outputs], count: vec![0.0; outputs] }
    }

    /// The same in memory that is kept.
    pub fn begin(&mut self, outputs: usize) {
        for of_outputs in [&mut self.squares, &mut self.count] {
            of_outputs.clear();
            of_outputs.resize(outputs, 0.0);
        }
    }

    pub(crate) fn add(&mut self, output: usize, square: f64) {
        self.squares[output] += square;
        self.count[output] += 1.0;
    }
}

/// Innovations that come from outside.
pub trait Observing: States {
    /// Innovation of the output given the observation.
    fn observe(&self, output: &mut Self::State, seen: Seen<'_>);
    /// Infers the noise of the observation, added to the sums, and the innovation of the noise head, if there is one.
    fn infer_noise(
        &self,
        output: &mut Self::State,
        head: Option<&mut Self::State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    );
    /// Gives the output's means an innovation, `[rows, width]`, and its variances none.
    fn innovate(&self, output: &mut Self::State, d_mean: &[f64]) -> Result<()>;
}
