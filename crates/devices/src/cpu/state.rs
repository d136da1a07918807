//! A layer's state on the fast device: pixels one after the other, the channels of a pixel together and
//! padded to whole panels, so that kernels load and store full vectors. Padding lanes are always finite.

use super::lines::Lines;
use super::tile::PANEL;
use super::window::Scratch;
use super::{Cpu, Loop};
use crate::{Field, States, Tables};
use tractable_core::error::{Error, Result};
use tractable_core::shape::Shape;

pub struct State {
    pub(super) shape: Shape,
    /// Numbers from one pixel to the next.
    pub(super) stride: usize,
    pub(super) rows: usize,
    pub(super) mean: Lines,
    pub(super) var: Lines,
    pub(super) slope: Lines,
    /// The part of the variance that is the layer's own.
    pub(super) own: Lines,
    /// Max pooling: the pixel of the input that was picked.
    pub(super) picked: Vec<u32>,
    pub(super) d_mean: Lines,
    pub(super) d_var: Lines,
    /// The means are known exactly: `var` is zero everywhere.
    pub(super) exact: bool,
    /// Rows: innovations of means alone.
    pub(super) means_only: bool,
    /// The innovations of this batch were seen to be finite when they were written.
    pub(super) d_finite: bool,
}

impl State {
    pub(super) fn new(shape: Shape) -> Self {
        let none = Lines::default;
        State {
            shape,
            stride: shape.channels.next_multiple_of(PANEL),
            rows: 0,
            mean: none(),
            var: none(),
            slope: none(),
            own: none(),
            picked: Vec::new(),
            d_mean: none(),
            d_var: none(),
            exact: false,
            means_only: false,
            d_finite: false,
        }
    }

    /// Numbers from one sample to the next: whole panels, so that the last vector of a sample is its own.
    pub(super) fn sample(&self) -> usize {
        (self.shape.pixels() * self.stride).next_multiple_of(PANEL)
    }

    /// Makes room for `rows` samples in whole panels, whatever was written here before; for layers that make a layout of
    /// their own.
    pub(super) fn padded(&mut self, rows: usize) {
        self.stride = self.shape.channels.next_multiple_of(PANEL);
        self.exact = false;
        self.resize(rows);
    }

    /// Makes room for a batch like `other`, laid out like it; for layers that work channel by channel.
    pub(super) fn like(&mut self, other: &State) {
        self.stride = other.stride;
        self.exact = false;
        self.means_only = false;
        self.resize(other.rows);
    }

    /// Makes room for `rows` samples; memory only ever grows. Fresh memory is zero.
    pub(super) fn resize(&mut self, rows: usize) {
        self.rows = rows;
        self.d_finite = false;
        let n = rows * self.sample();
        for v in [&mut self.mean, &mut self.var, &mut self.d_mean, &mut self.d_var] {
            v.grow(n);
        }
    }

    /// Calls `f(place here, place outside)` for every number of a batch; outside, channel follows channel.
    pub(super) fn places(&self, rows: usize, mut f: impl FnMut(usize, usize)) {
        let (pixels, channels) = (self.shape.pixels(), self.shape.channels);
        for row in 0..rows {
            for c in 0..channels {
                for p in 0..pixels {
                    f(row * self.sample() + p * self.stride + c, (row * channels + c) * pixels + p);
                }
            }
        }
    }

    /// The layout of what comes from outside: an image there may have a single channel, so it has no padding.
    fn without_padding(&mut self) {
        if !self.shape.is_flat() {
            self.stride = self.shape.channels;
        }
    }

    /// Samples from outside in this layout, from the start of `to` on.
    #[inline(always)]
    fn lay_out(&self, from: &[f64], to: &mut [f32]) {
        if !self.shape.is_flat() {
            return self.places(from.len() / self.shape.len(), |here, there| to[here] = from[there] as f32);
        }
        for (to, from) in to.chunks_exact_mut(self.stride).zip(from.chunks_exact(self.shape.channels)) {
            let to = &mut to[..self.stride];
            for (to, &from) in to.iter_mut().zip(from) {
                *to = from as f32;
            }
            // A posterior that overflowed may have left its mark there.
            to[from.len()..].fill(0.0);
        }
    }

    #[inline(always)]
    pub(super) fn write(&mut self, mean: &[f64], var: Option<&[f64]>) {
        self.without_padding();
        let rows = mean.len() / self.shape.len();
        self.resize(rows);
        let was_exact = self.exact;
        self.exact = var.is_none_or(|v| v.iter().all(|&v| v == 0.0));
        let mut to = std::mem::take(&mut self.mean);
        self.lay_out(mean, &mut to);
        self.mean = to;
        let mut to = std::mem::take(&mut self.var);
        match var {
            Some(var) if !self.exact => {
                to.fill(0.0);
                self.places(rows, |here, there| to[here] = var[there] as f32);
            }
            _ if was_exact => {}
            _ => to.fill(0.0),
        }
        self.var = to;
    }

    pub(super) fn field(&self, field: Field) -> &[f32] {
        match field {
            Field::Mean => &self.mean,
            Field::Var => &self.var,
            Field::Slope => &self.slope,
            Field::Own => &self.own,
            Field::DMean => &self.d_mean,
            Field::DVar => &self.d_var,
        }
    }
}

/// Rows of a data set, pixel after pixel, without any padding.
pub struct RowStore {
    shape: Shape,
    values: Vec<f32>,
}

impl States for Cpu {
    type State = State;
    type Scratch = Scratch;

    fn is_double(&self) -> bool {
        false
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
        let mut to = Vec::new();
        self.read_into(state, field, &mut to)?;
        Ok(to)
    }

    fn read_into(&self, state: &State, field: Field, to: &mut Vec<f64>) -> Result<()> {
        let from = state.field(field);
        to.resize(state.rows * state.shape.len(), 0.0);
        state.places(state.rows, |here, there| to[there] = f64::from(from[here]));
        Ok(())
    }
}

impl Tables for Cpu {
    type RowStore = RowStore;

    fn table(&self, shape: Shape, rows: usize) -> Result<RowStore> {
        let (n, mut values) = (rows * shape.len(), Vec::new());
        values.try_reserve_exact(n).map_err(|_| Error::Memory { bytes: n as u64 * 4 })?;
        values.resize(n, 0.0);
        Ok(RowStore { shape, values })
    }

    fn table_write(&self, table: &mut RowStore, first: usize, values: &[f64]) -> Result<()> {
        let (pixels, channels, len) = (table.shape.pixels(), table.shape.channels, table.shape.len());
        let rows = table.values[first * len..].chunks_exact_mut(len).zip(values.chunks_exact(len));
        for (to, from) in rows {
            for (i, to) in to.iter_mut().enumerate() {
                *to = from[i % channels * pixels + i / channels] as f32;
            }
        }
        Ok(())
    }

    fn gather(&self, table: &RowStore, rows: &[usize], state: &mut State) {
        state.without_padding();
        state.resize(rows.len());
        let (sample, len) = (state.sample(), state.shape.len());
        for (to, &row) in state.mean.chunks_exact_mut(sample).zip(rows) {
            to[..len].copy_from_slice(&table.values[row * len..][..len]);
            to[len..].fill(0.0);
        }
        if !std::mem::replace(&mut state.exact, true) {
            state.var.fill(0.0);
        }
    }
}
