//! The fast device: f32, the widest vectors the processor has (chosen at run time), a team of threads.
//!
//! `tile` holds the three inner loops, `map` drives them for dense and convolutional layers over `weights` and
//! `window`s, `state` says how a layer lies in memory, `elementwise`, `pool` and `norm` do the rest, `derivative` goes
//! the other way round the chain rule, `team` shares the work.

mod derivative;
mod elementwise;
mod lines;
mod map;
mod norm;
mod pool;
mod state;
mod team;
mod tile;
mod turn;
mod weights;
mod window;

use super::{Backend, Map, Parameters, Part, Pool, Seen, Statistics, Tally, Units};
use crate::moments::Activation;
use crate::moments::derivative::Gate;
use crate::shape::{Shape, Window};
use std::ops::Range;

pub(crate) struct Cpu {
    arch: pulp::Arch,
    team: team::Team,
}

/// A pointer that may go to other threads; whoever follows it says why that is sound.
#[derive(Clone, Copy)]
struct Shared<P>(P);
// SAFETY: see above.
unsafe impl<T> Send for Shared<*mut T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<*mut T> {}
// SAFETY: see above.
unsafe impl<T> Send for Shared<*const T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<*const T> {}

impl<P: Copy> Shared<P> {
    /// The pointer. (Closures that call this capture the wrapper, not the pointer inside.)
    fn get(&self) -> P {
        self.0
    }
}

impl<T> Shared<*mut T> {
    /// The pointer, so many places on; callers stay inside the buffer.
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

impl Cpu {
    /// With this many threads; 0 means one per core.
    pub(crate) fn new(threads: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        Self::with_arch(pulp::Arch::new(), if threads == 0 { cores() } else { threads })
    }

    /// With these vectors and exactly so many threads.
    pub(super) fn with_arch(arch: pulp::Arch, threads: usize) -> Self {
        Self { arch, team: team::Team::new(threads) }
    }
}

impl Backend for Cpu {
    type State = state::State;
    type Scratch = window::Scratch;
    type Weights = weights::Weights;
    type Norm = norm::Norm;
    type Derivative = derivative::Derivative;

    fn state(&self, shape: Shape) -> Self::State {
        state::State::new(shape)
    }

    fn numbers(&self, shape: Shape) -> usize {
        // Mean, variance and their innovations; slopes or picked units.
        5 * state::State::new(shape).sample()
    }

    fn write(&self, state: &mut Self::State, mean: &[f64], var: Option<&[f64]>) {
        state.write(mean, var);
    }

    fn read(&self, state: &Self::State, part: Part) -> Vec<f64> {
        state.read(part)
    }

    fn not_finite(&self, state: &Self::State, parts: [Part; 2]) -> Option<(usize, f64)> {
        parts.into_iter().find_map(|part| {
            let known = state.d_finite && matches!(part, Part::DMean | Part::DVar);
            match known || self.all_finite(state.part(part), state.rows * state.sample()) {
                // Most of the time the whole memory is finite; else padding does not count.
                true => None,
                false => state.not_finite(part),
            }
        })
    }

    fn weights(&self, map: Map) -> Self::Weights {
        weights::Weights::zeros(map)
    }

    fn set_weights(&self, weights: &mut Self::Weights, outputs: Range<usize>, parameters: &Parameters) {
        weights.set(outputs, parameters);
    }

    fn weights_parameters(&self, weights: &Self::Weights) -> Parameters {
        weights.parameters()
    }

    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Self::Norm {
        norm::Norm::new(parameters, statistics)
    }

    fn norm_parameters(&self, norm: &Self::Norm) -> (Parameters, Statistics) {
        norm.parameters()
    }

    fn map(&self, w: &Self::Weights, scratch: &mut Self::Scratch, x: &Self::State, z: &mut Self::State) {
        self.map_forward(w, scratch, x, z);
    }

    fn map_back(&self, w: &Self::Weights, scratch: &mut Self::Scratch, z: &Self::State, x: &mut Self::State) {
        self.map_backward(w, scratch, z, x);
    }

    fn map_learn(
        &self,
        w: &mut Self::Weights,
        scratch: &mut Self::Scratch,
        _: &Self::State,
        z: &Self::State,
        cap: Option<f64>,
    ) -> Tally {
        self.map_update(w, scratch, z, cap)
    }

    fn pool(&self, pool: Pool, window: Window, x: &Self::State, z: &mut Self::State) {
        self.pool_forward(pool, window, x, z);
    }

    fn pool_back(&self, pool: Pool, window: Window, z: &Self::State, x: &mut Self::State) {
        self.pool_backward(pool, window, z, x);
    }

    fn normalize(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &mut Self::State,
        learning: bool,
    ) {
        self.norm_forward(norm, scratch, x, z, learning);
    }

    fn normalize_back(&self, n: &Self::Norm, scratch: &Self::Scratch, z: &Self::State, x: &mut Self::State) {
        self.norm_backward(n, scratch, z, x);
    }

    fn normalize_learn(
        &self,
        norm: &mut Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        cap: Option<f64>,
    ) -> Tally {
        self.norm_update(norm, scratch, x, z, cap)
    }

    fn activate(&self, activation: Activation, z: &Self::State, a: &mut Self::State) {
        self.activation_forward(activation, z, a);
    }

    fn activate_back(&self, a: &Self::State, z: &mut Self::State) {
        self.activation_backward(a, z);
    }

    fn observe(&self, output: &mut Self::State, seen: Seen<'_>) {
        self.output_innovation(output, seen);
    }

    fn innovate(&self, output: &mut Self::State, d_mean: &[f64]) {
        output.innovate(d_mean);
    }

    fn posterior(&self, state: &mut Self::State) {
        self.state_posterior(state);
    }

    fn derivative_output(&self, units: Units<'_, Self::State>, output: usize, d: &mut Self::Derivative) {
        self.derivative_of_output(units, output, d);
    }

    fn derivative_map(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        below: Units<'_, Self::State>,
        above: Units<'_, Self::State>,
        d_above: &Self::Derivative,
        gate: Gate,
        d: &mut Self::Derivative,
    ) {
        self.derivative_below(w, &mut scratch.derivative, below, above, d_above, gate, d);
    }

    fn derivative_read(&self, d: &Self::Derivative) -> [Vec<f64>; 3] {
        d.read()
    }

    fn stationary(&self, d: &Self::Derivative, noise: &[f64], towards: f64, state: &mut Self::State) {
        self.make_stationary(d, noise, towards, state);
    }
}
