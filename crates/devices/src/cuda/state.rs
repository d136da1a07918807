//! A layer's state on the GPU, `[pixel][row][channel]`, and rows of a data set.
//!
//! Channels are padded to a multiple of four. Input images with another number of channels are laid out as
//! `[pixel][channel][row]` instead, with rows padded, and so are states that layers without weights compute from them.

use super::driver::{self, Buffer, Gpu, arguments};
use super::uploads::Uploads;
use super::{Cuda, Scratch};
use crate::{Field, States};
use std::sync::Arc;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_core::shape::Shape;

/// f64 numbers in the device's precision.
pub(super) fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}

/// The memory layout of a state; the kernels' `Layout`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) rows: i32,
    pub(super) channels: i32,
    pub(super) pixels: i32,
    pub(super) stride: i32,
    padded_rows: i32,
    per_row: i32,
    pub(super) per_channel: i32,
    per_pixel: i64,
}

/// A multiple of four.
pub(super) fn padded(n: usize) -> usize {
    n.next_multiple_of(4)
}

impl Layout {
    pub(super) fn new(shape: Shape, rows: usize, planes: bool) -> Self {
        let (channels, pixels) = (shape.channels, shape.pixels());
        let (stride, padded_rows) = (padded(channels), padded(rows));
        let (per_row, per_channel, per_pixel) = match planes {
            false => (stride, 1, rows * stride),
            true => (1, padded_rows, channels * padded_rows),
        };
        let [rows, channels, pixels, stride, padded_rows, per_row, per_channel] =
            [rows, channels, pixels, stride, padded_rows, per_row, per_channel].map(|n| n as i32);
        Layout {
            rows,
            channels,
            pixels,
            stride,
            padded_rows,
            per_row,
            per_channel,
            per_pixel: per_pixel as i64,
        }
    }

    /// All numbers, padding included.
    pub(super) fn numbers(&self) -> usize {
        self.per_pixel as usize * self.pixels as usize
    }
}

/// Device memory that several states may share: an activation that is only a view, and the state it views.
type Numbers<T = f32> = Arc<Buffer<T>>;

pub struct State {
    pub(super) gpu: Arc<Gpu>,
    pub(super) shape: Shape,
    pub(super) rows: usize,
    /// `[pixel][channel][row]`.
    pub(super) planes: bool,
    pub(super) mean: Numbers,
    pub(super) var: Numbers,
    pub(super) slope: Numbers,
    /// The part of the variance that is the layer's own.
    pub(super) own: Numbers,
    /// Max pooling: the pixel of the input that was picked.
    pub(super) picked: Numbers<u32>,
    pub(super) d_mean: Numbers,
    pub(super) d_var: Numbers,
    /// Kernels set the first flag if a mean or variance they wrote is not finite, the second for innovations.
    pub(super) flags: [Numbers<u32>; 2],
    /// A view: means and variances are those of pre-activations, in their memory. Code that reads them applies ReLU first, and code that
    /// sends innovations here sends none where a mean is not positive.
    pub(super) relu: bool,
    /// The innovation is in the memory of a view of this state.
    borrows: bool,
    /// The means are known exactly: variances are zero.
    pub(super) exact: bool,
    /// How many variances, from the first on, are known to be zero.
    pub(super) zeros: usize,
    /// Rows: innovations of means alone.
    pub(super) means_only: bool,
    /// Rows, several per sample: kernels do not expect the layout of their state.
    pub(super) several: bool,
    /// Data that the host sent for this batch.
    pub(super) uploads: Uploads,
    /// Why the state has no numbers: there was no memory for it, or for a state it was computed from.
    pub(super) failed: Option<String>,
}

/// The parts of a state that a kernel is about to write.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    Mean,
    Var,
    Slope,
    Own,
    Picked,
    DMean,
    DVar,
}

pub(super) const PRIOR: [Part; 2] = [Part::Mean, Part::Var];
pub(super) const INNOVATION: [Part; 2] = [Part::DMean, Part::DVar];

impl State {
    pub(super) fn new(gpu: &Arc<Gpu>, shape: Shape) -> Self {
        let none = || Arc::new(Buffer::none(gpu));
        State {
            gpu: gpu.clone(),
            shape,
            rows: 0,
            planes: false,
            mean: none(),
            var: none(),
            slope: none(),
            own: none(),
            picked: Arc::new(Buffer::none(gpu)),
            d_mean: none(),
            d_var: none(),
            flags: [0; 2].map(|_| Arc::new(Buffer::none(gpu))),
            relu: false,
            borrows: false,
            exact: false,
            zeros: 0,
            means_only: false,
            several: false,
            uploads: Uploads::new(gpu),
            failed: None,
        }
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::new(self.shape, self.rows, self.planes)
    }

    /// Becomes a batch computed from `from`, with this layout. If `from` has failed, so has this state.
    pub(super) fn made_from(&mut self, from: &State, planes: bool) {
        self.give_back();
        self.rows = from.rows;
        self.planes = planes;
        self.exact = false;
        (self.means_only, self.several) = (false, false);
        self.failed = from.failed.clone();
    }

    /// Leaves memory of other states to them, before this state is written again.
    fn give_back(&mut self) {
        let none = || Arc::new(Buffer::none(&self.gpu));
        if self.relu {
            (self.mean, self.var) = (none(), none());
            self.flags[0] = Arc::new(Buffer::none(&self.gpu));
            (self.relu, self.zeros) = (false, 0);
        }
        if self.borrows {
            (self.d_mean, self.d_var) = (none(), none());
            self.flags[1] = Arc::new(Buffer::none(&self.gpu));
            self.borrows = false;
        }
    }

    /// Becomes a view of `z` with ReLU, without numbers of its own.
    pub(super) fn view_of(&mut self, z: &State) {
        self.made_from(z, z.planes);
        self.exact = z.exact;
        self.zeros = 0;
        self.relu = true;
        (self.mean, self.var) = (z.mean.clone(), z.var.clone());
        self.flags[0] = z.flags[0].clone();
    }

    /// Takes over the innovation of a view of this state.
    pub(super) fn share_innovation(&mut self, view: &State) {
        self.failed = self.failed.take().or_else(|| view.failed.clone());
        (self.d_mean, self.d_var) = (view.d_mean.clone(), view.d_var.clone());
        self.flags[1] = view.flags[1].clone();
        self.borrows = true;
    }

    /// Makes room for these parts; if there is no memory, the state has failed.
    pub(super) fn room<const N: usize>(&mut self, parts: [Part; N]) {
        if self.failed.is_none()
            && let Err(e) = self.try_room(&parts)
        {
            self.failed = Some(driver::why(e));
        }
    }

    fn try_room(&mut self, parts: &[Part]) -> Result<()> {
        let n = self.layout().numbers();
        let gpu = self.gpu.clone();
        for part in parts {
            let flag = &mut self.flags[matches!(part, Part::DMean | Part::DVar) as usize];
            if flag.at() == 0 {
                *flag = Arc::new(Buffer::zeros(&gpu, 1)?);
            }
            match part {
                Part::Mean => grow(&gpu, &mut self.mean, n)?,
                Part::Var => {
                    self.zeros = 0;
                    grow(&gpu, &mut self.var, n)?;
                }
                Part::Slope => grow(&gpu, &mut self.slope, n)?,
                Part::Own => grow(&gpu, &mut self.own, n)?,
                Part::Picked => grow(&gpu, &mut self.picked, n)?,
                Part::DMean => grow(&gpu, &mut self.d_mean, n)?,
                Part::DVar => grow(&gpu, &mut self.d_var, n)?,
            }
        }
        Ok(())
    }

    /// An error if the state failed or the device was lost.
    pub(super) fn check(&self) -> Result<()> {
        self.gpu.alive()?;
        match &self.failed {
            None => Ok(()),
            Some(why) => Err(driver::failed(why.clone())),
        }
    }

    /// Address of the flag for means and variances, or for innovations.
    pub(super) fn flag(&self, of_innovation: bool) -> u64 {
        self.flags[of_innovation as usize].at()
    }

    /// The address of the variances, or null if the means are known exactly.
    pub(super) fn var_at(&self) -> u64 {
        if self.exact { 0 } else { self.var.at() }
    }

    pub(super) fn field(&self, field: Field) -> &Buffer<f32> {
        match field {
            Field::Mean => &self.mean,
            Field::Var => &self.var,
            Field::Slope => &self.slope,
            Field::Own => &self.own,
            Field::DMean => &self.d_mean,
            Field::DVar => &self.d_var,
        }
    }

    /// Makes all variances zero.
    pub(super) fn make_exact(&mut self) {
        let (n, zeros) = (self.layout().numbers(), self.zeros);
        self.exact = true;
        if self.failed.is_none() && zeros < n {
            self.room([Part::Var]);
            if self.failed.is_none() {
                self.var.clear(n);
                self.zeros = n;
            }
        }
    }

    /// Becomes an input batch, whose numbers are set later.
    pub(super) fn begin(&mut self, rows: usize) {
        self.give_back();
        self.rows = rows;
        self.planes = !self.shape.is_flat() && !self.shape.channels.is_multiple_of(4);
        self.means_only = false;
        self.failed = None;
    }
}

/// Makes room for `n` numbers. Views of the old memory keep it until they are made again.
fn grow<T: Copy>(gpu: &Arc<Gpu>, numbers: &mut Numbers<T>, n: usize) -> Result<()> {
    if numbers.room() < n {
        // Freed first if it is not shared.
        *numbers = Arc::new(Buffer::none(gpu));
        let mut more = Buffer::none(gpu);
        more.grow(n)?;
        *numbers = Arc::new(more);
    }
    Ok(())
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct LayOutArgs {
    to: Layout,
    from: u64,
    out: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! { unsafe { LayOutArgs: "lay_out", "read_out"; } }

impl Cuda {
    /// Writes the host's numbers into a part of a state that has room for them.
    pub(super) fn lay_out(&self, layout: Layout, values: &[f64], to: u64) -> Result<()> {
        let mut from = Buffer::none(&self.gpu);
        from.grow(values.len())?;
        from.write(0, &single(values));
        self.over("lay_out", layout.numbers(), &LayOutArgs { to: layout, from: from.at(), out: to });
        Ok(())
    }

    /// The state itself or, if it is a view, a copy with its own numbers.
    pub(super) fn solid<'a>(&self, state: &'a State, copy: &'a mut Option<State>) -> &'a State {
        if !state.relu {
            return state;
        }
        let copy = copy.insert(State::new(&self.gpu, state.shape));
        self.activate_state(Activation::Relu, state, copy, false);
        copy
    }
}

/// Rows of a data set, `[rows][channels][pixels]`.
pub struct RowStore {
    pub(super) len: usize,
    pub(super) values: Buffer<f32>,
    /// Images stay bytes.
    pub(super) bytes: Option<Bytes>,
}

/// Images as bytes, `[image][channel][row][column]`.
pub(super) struct Bytes {
    pub(super) shape: Shape,
    pub(super) pixels: Buffer<u8>,
    /// The number for every byte, `[channels][256]`, and of every image's hole, `[images][channels]`.
    pub(super) scaled: Buffer<f32>,
    pub(super) greys: Buffer<f32>,
}

impl States for Cuda {
    type State = State;
    type Scratch = Scratch;

    fn is_double(&self) -> bool {
        false
    }

    fn numbers(&self, shape: Shape) -> usize {
        5 * Layout::new(shape, 1, false).numbers()
    }

    fn state(&self, shape: Shape) -> State {
        State::new(&self.gpu, shape)
    }

    fn like(&self, state: &State, spare: &mut State) {
        spare.made_from(state, state.planes);
    }

    fn write(&self, state: &mut State, mean: &[f64], var: Option<&[f64]>) -> Result<()> {
        state.begin(mean.len() / state.shape.len());
        state.room([Part::Mean]);
        state.check()?;
        self.lay_out(state.layout(), mean, state.mean.at())?;
        match var {
            Some(var) if var.iter().any(|&v| v != 0.0) => {
                state.exact = false;
                state.room([Part::Var]);
                state.check()?;
                self.lay_out(state.layout(), var, state.var.at())
            }
            _ => {
                state.make_exact();
                state.check()
            }
        }
    }

    fn read(&self, state: &State, field: Field) -> Result<Vec<f64>> {
        state.check()?;
        let mut copy = None;
        let state = match field {
            Field::DMean | Field::DVar => state,
            _ => self.solid(state, &mut copy),
        };
        state.check()?;
        let (n, from) = (state.rows * state.shape.len(), state.field(field));
        if from.at() == 0 {
            return Ok(vec![if field == Field::Slope { 1.0 } else { 0.0 }; n]);
        }
        let mut to = Buffer::<f32>::none(&self.gpu);
        to.grow(n)?;
        let args = LayOutArgs { to: state.layout(), from: from.at(), out: to.at() };
        self.over("read_out", args.to.numbers(), &args);
        Ok(to.read(n)?.into_iter().map(f64::from).collect())
    }
}
