//! Checks of states, and what kernels record.

use super::Cuda;
use super::driver::{self, Buffer, arguments};
use super::state::{Layout, State};
use crate::{Broken, Checks, Noted, Tally};
use tractable_core::error::Result;

/// Where the kernels record what happens.
#[derive(Default)]
pub struct Status {
    on_device: Option<Buffer<u32>>,
    pub(super) failed: Option<String>,
}

/// Words of the kernels' `Status`: whether a number is not finite, its state, row and value; two counts of two words each.
const STATUS_WORDS: usize = 8;

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct Checked {
    of: Layout,
    first: u64,
    second: u64,
}

/// States checked per launch.
const AT_ONCE: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct CheckArgs {
    flag: u64,
    status: u64,
    states: i32,
    number: i32,
    last: i32,
    state: [Checked; AT_ONCE],
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! { unsafe { CheckArgs: "check"; } }

impl Cuda {
    /// Address of a status on the device; `None` if it cannot be allocated.
    pub(super) fn status_at(&self, status: &mut Status) -> Option<u64> {
        if status.on_device.is_none() {
            match Buffer::zeros(&self.gpu, STATUS_WORDS) {
                Ok(buffer) => status.on_device = Some(buffer),
                Err(e) => status.failed = Some(driver::why(e)),
            }
        }
        status.on_device.as_ref().map(Buffer::at)
    }

    fn check_some(&self, flag: u64, number: usize, state: &State, all: &[Checked], status: &mut Status) {
        status.failed = status.failed.take().or_else(|| state.failed.clone());
        if status.failed.is_some() {
            return;
        }
        let Some(at) = self.status_at(status) else { return };
        for (i, some) in all.chunks(AT_ONCE).enumerate() {
            let mut args = CheckArgs {
                flag,
                status: at,
                states: some.len() as i32,
                number: (number + i * AT_ONCE) as i32,
                last: ((i + 1) * AT_ONCE >= all.len()) as i32,
                state: [Checked::default(); AT_ONCE],
            };
            args.state[..some.len()].copy_from_slice(some);
            self.gpu.launch("check", [1, 1, 1], 256, 0, &args);
        }
    }
}

impl Checks for Cuda {
    type Status = Status;

    fn lacks(&self, status: &mut Status) -> Result<()> {
        self.gpu.alive()?;
        status.failed.take().map_or(Ok(()), |why| Err(driver::failed(why)))
    }

    fn status(&self, status: &mut Status) -> Result<Noted> {
        self.lacks(status)?;
        let Some(on_device) = &mut status.on_device else { return Ok(Noted::default()) };
        let w = on_device.read(STATUS_WORDS)?;
        on_device.clear(STATUS_WORDS);
        let broken =
            Broken { state: w[1] as usize, row: w[2] as usize, value: f64::from(f32::from_bits(w[3])) };
        let long = |i: usize| u64::from(w[i]) | u64::from(w[i + 1]) << 32;
        let tally = Tally { capped: long(4), repaired: long(6) };
        Ok(Noted { broken: (w[0] != 0).then_some(broken), tally })
    }

    fn check_states(&self, states: &[State], status: &mut Status) {
        let last = states.last().expect("there is an output");
        let flag = last.flag(false);
        let checked = |s: &State| Checked { of: s.layout(), first: s.mean.at(), second: s.var_at() };
        self.check_some(flag, 0, last, &states.iter().map(checked).collect::<Vec<_>>(), status);
    }

    fn check_innovation(&self, state: &State, number: usize, status: &mut Status) {
        let checked = Checked { of: state.layout(), first: state.d_mean.at(), second: state.d_var.at() };
        self.check_some(state.flag(true), number, state, &[checked], status);
    }
}
