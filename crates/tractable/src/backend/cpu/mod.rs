//! The fast device: f32, the widest vectors the processor has (chosen at run time), a team of threads.
//!
//! `tile` holds the three inner loops, `map` and `update` drive them for dense and convolutional layers over `weights` and
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
mod update;
mod weights;
mod window;

use super::device::width;
use super::{
    Backend, Broken, Field, INNOVATION, Map, Noted, PRIOR, Parameters, Pool, Seen, Statistics, Units,
};
use crate::error::Result;
use crate::moments::Activation;
use crate::moments::derivative::Gate;
use crate::shape::{Shape, Window};
use std::ops::Range;
use std::sync::OnceLock;

pub(crate) struct Cpu {
    arch: pulp::Arch,
    threads: usize,
    /// Started by the first kernel that is worth sharing.
    team: OnceLock<team::Team>,
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cpu {{ threads: {}, vectors: {} }}", self.threads, self.width())
    }
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
    /// With these vectors and so many threads.
    pub(super) fn with_arch(arch: pulp::Arch, threads: usize) -> Self {
        Self { arch, threads, team: OnceLock::new() }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Numbers in a vector.
    pub(super) fn width(&self) -> usize {
        width(self.arch)
    }

    fn team(&self) -> &team::Team {
        self.team.get_or_init(|| team::Team::new(self.threads))
    }

    /// The first row in which one of these fields is not finite, with that value.
    fn not_finite(&self, state: &state::State, fields: [Field; 2]) -> Option<(usize, f64)> {
        fields.into_iter().find_map(|field| {
            let known = state.d_finite && INNOVATION.contains(&field);
            match known || self.all_finite(state.field(field), state.rows * state.sample()) {
                // Most of the time the whole memory is finite; else padding does not count.
                true => None,
                false => state.not_finite(field),
            }
        })
    }
}

impl Backend for Cpu {
    type State = state::State;
    type Scratch = window::Scratch;
    type Weights = weights::Weights;
    type Norm = norm::Norm;
    type Sums = weights::Sums;
    type RowStore = state::RowStore;
    type Status = Noted;
    type Derivative = derivative::Derivative;

    fn is_double(&self) -> bool {
        false
    }

    fn bytes(&self, map: &Map) -> u64 {
        weights::bytes(map)
    }

    fn numbers(&self, shape: Shape) -> usize {
        // Mean, variance and their innovations; slopes or picked units.
        5 * state::State::new(shape).sample()
    }

    fn state(&self, shape: Shape) -> Self::State {
        state::State::new(shape)
    }

    fn like(&self, state: &Self::State, spare: &mut Self::State) {
        spare.like(state);
    }

    fn write(&self, state: &mut Self::State, mean: &[f64], var: Option<&[f64]>) -> Result<()> {
        state.write(mean, var);
        Ok(())
    }

    fn read(&self, state: &Self::State, field: Field) -> Result<Vec<f64>> {
        Ok(state.read(field))
    }

    fn table(&self, shape: Shape, rows: usize) -> Result<Self::RowStore> {
        state::RowStore::new(shape, rows)
    }

    fn table_write(&self, table: &mut Self::RowStore, first: usize, values: &[f64]) -> Result<()> {
        table.write(first, values);
        Ok(())
    }

    fn gather(&self, table: &Self::RowStore, rows: &[usize], state: &mut Self::State) {
        state.gather(table, rows);
    }

    fn status(&self, status: &mut Self::Status) -> Result<Noted> {
        Ok(std::mem::take(status))
    }

    fn check_states(&self, states: &[Self::State], status: &mut Self::Status) {
        let broken = |state: usize| {
            self.not_finite(&states[state], PRIOR).map(|(row, value)| Broken { state, row, value })
        };
        if broken(states.len() - 1).is_some() {
            status.note((0..states.len()).find_map(broken));
        }
    }

    fn check_innovation(&self, state: &Self::State, number: usize, status: &mut Self::Status) {
        let broken = self.not_finite(state, INNOVATION);
        status.note(broken.map(|(row, value)| Broken { state: number, row, value }));
    }

    fn weights(&self, map: Map) -> Result<Self::Weights> {
        weights::Weights::zeros(map)
    }

    fn set_weights(
        &self,
        weights: &mut Self::Weights,
        outputs: Range<usize>,
        parameters: &Parameters,
    ) -> Result<()> {
        weights.set(outputs, parameters);
        Ok(())
    }

    fn weights_parameters(&self, weights: &Self::Weights) -> Result<Parameters> {
        Ok(weights.parameters())
    }

    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Result<Self::Norm> {
        Ok(norm::Norm::new(parameters, statistics))
    }

    fn norm_parameters(&self, norm: &Self::Norm) -> Result<(Parameters, Statistics)> {
        Ok(norm.parameters())
    }

    fn map(&self, w: &Self::Weights, scratch: &mut Self::Scratch, x: &Self::State, z: &mut Self::State) {
        self.map_forward(w, scratch, x, z);
    }

    fn map_back(&self, w: &Self::Weights, scratch: &mut Self::Scratch, z: &Self::State, x: &mut Self::State) {
        self.map_backward(w, scratch, z, x);
    }

    fn map_sums(&self, w: &Self::Weights) -> Self::Sums {
        w.sums()
    }

    fn map_accumulate(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        _: &Self::State,
        z: &Self::State,
        sums: &mut Self::Sums,
    ) {
        self.sum_up(w, scratch, z);
        sums.add(scratch);
    }

    fn map_apply(&self, w: &mut Self::Weights, sums: &Self::Sums, cap: Option<f64>, status: &mut Noted) {
        self.step_by(w, &sums.lines, 1, cap, status);
    }

    fn map_learn(
        &self,
        w: &mut Self::Weights,
        scratch: &mut Self::Scratch,
        _: &Self::State,
        z: &Self::State,
        cap: Option<f64>,
        status: &mut Noted,
    ) {
        self.map_update(w, scratch, z, cap, status);
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

    fn normalize_sums(&self, norm: &Self::Norm) -> Self::Sums {
        norm.sums()
    }

    fn normalize_accumulate(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        sums: &mut Self::Sums,
    ) {
        self.norm_sum_up(norm, scratch, x, z, sums);
    }

    fn normalize_apply(&self, n: &mut Self::Norm, sums: &Self::Sums, cap: Option<f64>, status: &mut Noted) {
        n.apply(sums, cap, status);
    }

    fn clear(&self, sums: &mut Self::Sums) {
        sums.clear();
    }

    fn activate(&self, activation: Activation, z: &Self::State, a: &mut Self::State) {
        self.activation_forward(activation, z, a);
    }

    fn activate_back(&self, a: &Self::State, z: &mut Self::State) {
        self.activation_backward(a, z);
    }

    fn add(&self, states: &[Self::State], numbers: &[usize], z: &mut Self::State) {
        self.sum_of_states(states, numbers, z);
    }

    fn add_back(&self, z: &Self::State, x: &mut Self::State) {
        self.copy_innovation(z, x);
    }

    fn add_innovation(&self, more: &Self::State, x: &mut Self::State) {
        self.more_innovation(more, x);
    }

    fn observe(&self, output: &mut Self::State, seen: Seen<'_>) {
        self.output_innovation(output, seen);
    }

    fn innovate(&self, output: &mut Self::State, d_mean: &[f64]) -> Result<()> {
        output.innovate(d_mean);
        Ok(())
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
        more: bool,
        d: &mut Self::Derivative,
    ) {
        self.derivative_below(w, &mut scratch.derivative, below, above, d_above, gate, more, d);
    }

    fn derivative_add(
        &self,
        below: Units<'_, Self::State>,
        above: Units<'_, Self::State>,
        d_above: &Self::Derivative,
        gate: Gate,
        more: bool,
        d: &mut Self::Derivative,
    ) {
        self.derivative_below_sum(below, above, d_above, gate, more, d);
    }

    fn derivative_read(&self, d: &Self::Derivative) -> Result<[Vec<f64>; 3]> {
        Ok(d.read())
    }
}
