//! The fast device: f32, the widest vectors the processor has (chosen at run time), a team of threads.
//!
//! `tile` holds the three inner loops, `map` and `update` drive them for dense and convolutional layers over `weights` and
//! `window`s, `state` says how a layer lies in memory, `elementwise`, `pool` and `norm` do the rest, `derivative` goes
//! the other way round the chain rule, `team` shares the work.

// The arithmetic of a dense layer with n weights and a batch of B is 7 n B multiply-adds: three forward
// (mean; `second_a * var_w`; `var_a * mu_w^2`), two back, two in the update. Three tiles in `tile.rs`
// do all of it:
//
// - *forward*: 6 rows x 32 outputs in registers, one pass over the inputs. Weights are stored in panels
//   of 32 outputs, means and variances side by side, 64-byte aligned. Inputs are stored as pairs:
//   (mean, mean squared) and, at a fixed offset, (second moment, variance), so that one pointer per row
//   reaches all of them and known inputs need only the first pair.
// - *backward*: 6 rows x 32 inputs over the outputs, on the transposed means (`turn.rs`, 4 % of the
//   time at batch 16).
// - *sums*: 6 inputs x 32 outputs over the rows, then `posterior::free_step` on a whole line at once;
//   lines that need capping or repair take the slow path and are counted.
//
// Convolutions use the same tiles: the staged image is zero-padded and the inputs of a window are a few
// contiguous runs, so the forward pass needs no patch matrix; in the backward pass a tile adds its 32
// inputs to the image directly. The general `gemm` crate was not needed: batch updates reach 65 to 80 %
// of the measured peak, and a general matrix product would pass over memory three times where one pass
// suffices here.
//
// Threads: `team.rs` is a fork-join pool that spins for some tens of microseconds before it sleeps;
// work below half a million products stays on the calling thread. Every thread handles the same samples
// in every kernel, and the update of a convolution is summed in parts of the batch (the same parts for
// any number of threads), so samples stay in the cache of one core. Vector widths: `pulp` picks
// AVX-512, AVX2 or scalar code at run time; `Device::vectors` forces one. The tails of the normal
// distribution are cut off before they become denormal.

mod derivative;
mod elementwise;
mod lines;
mod map;
mod norm;
mod pool;
mod rows;
mod state;
mod team;
mod tile;
mod turn;
mod update;
mod weights;
mod window;

use super::device::width;
use super::{
    Backend, Broken, Field, INNOVATION, Map, NoiseSums, Noted, PRIOR, Parameters, Pool, Purpose, Seen,
    Statistics, Steps, Units,
};
use derivative::Derivative;
use norm::Norm;
use rows::Spread;
use state::{RowStore, State};
use std::ops::Range;
use std::sync::OnceLock;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;
use tractable_core::shape::{Shape, Window};
use tractable_core::workers::Numbers;
use weights::{Sums, Weights};
use window::Scratch;

pub struct Cpu {
    arch: pulp::Arch,
    threads: usize,
    /// Started by the first kernel with several tasks.
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

/// A loop to be compiled for the vectors at hand. A closure that is given to them as it is may be called through a function of
/// its own, which is not.
struct Loop<F>(F);

impl<R, F: FnMut() -> R> pulp::WithSimd for Loop<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> R {
        self.0()
    }
}

impl Cpu {
    /// With these vectors and this many threads.
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
    fn not_finite(&self, state: &State, fields: [Field; 2]) -> Option<(usize, f64)> {
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
    type State = State;
    type Scratch = Scratch;
    type Weights = Weights;
    type Norm = Norm;
    type Sums = Sums;
    type RowStore = RowStore;
    type Status = Noted;
    type Derivative = Derivative;
    type Spread = Spread;

    fn is_double(&self) -> bool {
        false
    }

    fn bytes(&self, map: &Map) -> u64 {
        weights::bytes(map)
    }

    fn numbers(&self, shape: Shape) -> usize {
        // Mean, variance and their innovations; slopes or picked units.
        5 * State::new(shape).sample()
    }

    fn state(&self, shape: Shape) -> State {
        State::new(shape)
    }

    fn like(&self, state: &State, spare: &mut State) {
        spare.like(state);
    }

    fn write(&self, state: &mut State, mean: &[f64], var: Option<&[f64]>) -> Result<()> {
        self.arch.dispatch(Loop(
            #[inline(always)]
            || state.write(mean, var),
        ));
        Ok(())
    }

    fn read(&self, state: &State, field: Field) -> Result<Vec<f64>> {
        Ok(state.read(field))
    }

    fn read_into(&self, state: &State, field: Field, to: &mut Vec<f64>) -> Result<()> {
        state.read_into(field, to);
        Ok(())
    }

    fn table(&self, shape: Shape, rows: usize) -> Result<RowStore> {
        RowStore::new(shape, rows)
    }

    fn table_write(&self, table: &mut RowStore, first: usize, values: &[f64]) -> Result<()> {
        table.write(first, values);
        Ok(())
    }

    fn gather(&self, table: &RowStore, rows: &[usize], state: &mut State) {
        state.gather(table, rows);
    }

    fn status(&self, status: &mut Noted) -> Result<Noted> {
        Ok(std::mem::take(status))
    }

    fn check_states(&self, states: &[State], status: &mut Noted) {
        let broken = |state: usize| {
            self.not_finite(&states[state], PRIOR).map(|(row, value)| Broken { state, row, value })
        };
        if broken(states.len() - 1).is_some() {
            status.note((0..states.len()).find_map(broken));
        }
    }

    fn check_innovation(&self, state: &State, number: usize, status: &mut Noted) {
        let broken = self.not_finite(state, INNOVATION);
        status.note(broken.map(|(row, value)| Broken { state: number, row, value }));
    }

    fn weights(&self, map: Map) -> Result<Weights> {
        Weights::zeros(map)
    }

    fn set_weights(
        &self,
        weights: &mut Weights,
        outputs: Range<usize>,
        parameters: &Parameters,
    ) -> Result<()> {
        weights.set(outputs, parameters);
        Ok(())
    }

    fn weights_parameters(&self, weights: &Weights, outputs: Range<usize>) -> Result<Parameters> {
        Ok(weights.parameters(outputs))
    }

    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Result<Norm> {
        Ok(Norm::new(parameters, statistics))
    }

    fn norm_parameters(&self, norm: &Norm) -> Result<(Parameters, Statistics)> {
        Ok(norm.parameters())
    }

    fn map(&self, w: &Weights, scratch: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        self.map_forward(w, scratch, x, z, purpose == Purpose::Rows);
    }

    fn map_back(&self, w: &Weights, scratch: &mut Scratch, z: &State, x: &mut State) {
        self.map_backward(w, scratch, z, x);
    }

    fn map_sums(&self, w: &Weights) -> Sums {
        w.sums()
    }

    fn map_accumulate(&self, w: &Weights, scratch: &mut Scratch, _: &State, z: &State, sums: &mut Sums) {
        self.sum_up(w, scratch, z);
        sums.add(scratch);
    }

    fn map_apply(&self, w: &mut Weights, sums: &Sums, steps: Steps, status: &mut Noted) {
        self.step_by(w, &sums.lines, (1, 1), steps, status);
    }

    fn map_learn(
        &self,
        w: &mut Weights,
        scratch: &mut Scratch,
        _: &State,
        z: &State,
        steps: Steps,
        status: &mut Noted,
    ) {
        self.map_update(w, scratch, z, steps, status);
    }

    fn pool(&self, pool: Pool, window: Window, x: &State, z: &mut State) {
        self.pool_forward(pool, window, x, z);
    }

    fn pool_back(&self, pool: Pool, window: Window, forward: &State, z: &State, x: &mut State) {
        self.pool_backward(pool, window, forward, z, x);
    }

    fn normalize(&self, norm: &Norm, scratch: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        self.norm_forward(norm, scratch, x, z, purpose);
    }

    fn normalize_back(&self, n: &Norm, scratch: &Scratch, z: &State, x: &mut State) {
        self.norm_backward(n, scratch, z, x);
    }

    fn normalize_sums(&self, norm: &Norm) -> Sums {
        norm.sums()
    }

    fn normalize_accumulate(
        &self,
        norm: &Norm,
        scratch: &mut Scratch,
        x: &State,
        z: &State,
        sums: &mut Sums,
    ) {
        self.norm_sum_up(norm, scratch, x, z, sums);
    }

    fn normalize_apply(&self, n: &mut Norm, sums: &Sums, steps: Steps, status: &mut Noted) {
        n.apply(sums, steps, status);
    }

    fn clear(&self, sums: &mut Sums) {
        sums.clear();
    }

    fn sums_read(&self, sums: &Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()> {
        sums.read(many, few);
        Ok(())
    }

    fn sums_write(
        &self,
        sums: &mut Sums,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize> {
        Ok(sums.write(many, at, few))
    }

    fn activate(&self, activation: Activation, z: &State, a: &mut State, purpose: Purpose) {
        self.activation_forward(activation, z, a);
        if purpose == Purpose::Rows {
            self.own_of_activation(z, a);
        }
    }

    fn activate_back(&self, forward: &State, a: &State, z: &mut State) {
        if a.means_only { self.rows_through(forward, a, z) } else { self.activation_backward(a, z) }
    }

    fn add(&self, states: &[State], numbers: &[usize], z: &mut State) {
        self.sum_of_states(states, numbers, z);
    }

    fn add_back(&self, z: &State, x: &mut State) {
        self.copy_innovation(z, x);
    }

    fn add_innovation(&self, more: &State, x: &mut State) {
        self.more_innovation(more, x);
    }

    fn observe(&self, output: &mut State, seen: Seen<'_>) {
        self.output_innovation(output, seen);
    }

    fn infer_noise(
        &self,
        output: &mut State,
        head: Option<&mut State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    ) {
        self.noise_innovation(output, head, seen, sums);
    }

    fn innovate(&self, output: &mut State, d_mean: &[f64]) -> Result<()> {
        output.innovate(d_mean);
        Ok(())
    }

    fn forget_innovation(&self, state: &mut State) {
        state.d_mean.fill(0.0);
        state.d_var.fill(0.0);
    }

    fn posterior(&self, state: &mut State) {
        self.state_posterior(state);
    }

    fn rows(&self, of: &State, k: usize, rows: &mut State) {
        rows.rows_of(of, k);
    }

    fn spread_begin(&self, of: &State, k: usize, spread: &mut Spread) {
        spread.begin(of, k);
    }

    fn spread_add(&self, of: &State, field: Field, rows: &State, spread: &mut Spread) {
        self.add_spread(of, field, rows, spread);
    }

    fn spread_read(&self, spread: &Spread) -> Result<Vec<f64>> {
        Ok(spread.read())
    }

    fn derivative_output(&self, units: Units<'_, State>, output: usize, d: &mut Derivative) {
        self.derivative_of_output(units, output, d);
    }

    fn derivative_map(
        &self,
        w: &Weights,
        scratch: &mut Scratch,
        below: Units<'_, State>,
        above: Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        self.derivative_below(w, &mut scratch.derivative, below, above, d_above, gate, more, d);
    }

    fn derivative_add(
        &self,
        below: Units<'_, State>,
        above: Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        self.derivative_below_sum(below, above, d_above, gate, more, d);
    }

    fn derivative_read(&self, d: &Derivative) -> Result<[Vec<f64>; 3]> {
        Ok(d.read())
    }
}
