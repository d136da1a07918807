//! All unit-by-unit operations.

use super::Cuda;
use super::driver::{MOST_DOWN, arguments};
use super::state::{INNOVATION, Layout, PRIOR, Part, State};
use crate::{Purpose, Unitwise};
use tractable_core::moments::Activation;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct ActivateArgs {
    n: i64,
    activation: i32,
    negative_slope: f32,
    z_mean: u64,
    z_var: u64,
    mean: u64,
    var: u64,
    slope: u64,
    own: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct ActivateBackArgs {
    of: Layout,
    k: i32,
    forward: Layout,
    slope: u64,
    a_mean: u64,
    a_var: u64,
    z_mean: u64,
    z_var: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct CombineArgs {
    from: Layout,
    to: Layout,
    more: i32,
    from_pair: [u64; 2],
    to_pair: [u64; 2],
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct MaskArgs {
    n: i64,
    mean: u64,
    d_mean: u64,
    d_var: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct PosteriorArgs {
    n: i64,
    mean: u64,
    var: u64,
    d_mean: u64,
    d_var: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        ActivateArgs: "activate";
        ActivateBackArgs: "activate_back", "activate_back_four";
        CombineArgs: "combine";
        MaskArgs: "mask";
        PosteriorArgs: "posterior";
    }
}

/// The kernels' code for an activation, and its parameter.
pub(super) fn number(activation: Activation) -> (i32, f32) {
    let same = |a: &Activation| std::mem::discriminant(a) == std::mem::discriminant(&activation);
    let code = Activation::ALL.iter().position(same).expect("one of them");
    (code as i32, activation.parameter().unwrap_or(0.0) as f32)
}

impl Cuda {
    /// After an innovation was sent to a view: sets it to zero where ReLU is flat.
    pub(super) fn mask(&self, state: &State) {
        if state.relu && state.failed.is_none() {
            let of = state.layout();
            let args = MaskArgs {
                n: of.numbers() as i64,
                mean: state.mean.at(),
                d_mean: state.d_mean.at(),
                d_var: state.d_var.at(),
            };
            self.over("mask", of.numbers(), &args);
        }
    }

    pub(super) fn activate_state(&self, activation: Activation, z: &State, a: &mut State, with_own: bool) {
        a.made_from(z, z.planes);
        a.room([Part::Mean, Part::Var, Part::Slope]);
        if with_own {
            a.room([Part::Own]);
        }
        if a.failed.is_some() {
            return;
        }
        let (activation, negative_slope) = number(activation);
        let n = z.layout().numbers();
        let args = ActivateArgs {
            n: n as i64,
            activation,
            negative_slope,
            z_mean: z.mean.at(),
            z_var: z.var.at(),
            mean: a.mean.at(),
            var: a.var.at(),
            slope: a.slope.at(),
            own: if with_own { a.own.at() } else { 0 },
            broken: a.flag(false),
        };
        self.over("activate", n, &args);
    }

    fn combine(&self, from: &State, to: &State, more: bool, [from_pair, to_pair]: [[u64; 2]; 2], of_d: bool) {
        let (from, layout) = (from.layout(), to.layout());
        let args =
            CombineArgs { from, to: layout, more: more as i32, from_pair, to_pair, broken: to.flag(of_d) };
        self.over("combine", layout.numbers(), &args);
    }

    /// The innovation of one state becomes another's, or is added to it.
    pub(super) fn send_innovation(&self, from: &State, to: &mut State, more: bool) {
        to.receive(from);
        if to.failed.is_some() {
            return;
        }
        // Rows have no variances: processing their means twice does no harm.
        let pair = |s: &State| [s.d_mean.at(), if s.means_only { s.d_mean.at() } else { s.d_var.at() }];
        let (from_pair, to_pair) = (pair(from), pair(to));
        if to.means_only {
            return self.combine_means(from, to, more);
        }
        self.combine(from, to, more, [from_pair, to_pair], true);
        self.mask(to);
    }

    fn combine_means(&self, from: &State, to: &mut State, more: bool) {
        // The second pair goes to separate memory, so that no thread reads what another writes.
        to.room([Part::DVar]);
        if to.failed.is_none() {
            let pairs = [[from.d_mean.at(); 2], [to.d_mean.at(), to.d_var.at()]];
            self.combine(from, to, more, pairs, true);
        }
    }
}

impl Unitwise for Cuda {
    /// While learning, ReLU is a view: code that reads it applies ReLU.
    fn activate(&self, activation: Activation, z: &State, a: &mut State, purpose: Purpose) {
        if purpose != Purpose::Learn {
            return self.activate_state(activation, z, a, purpose == Purpose::Rows);
        }
        if activation == Activation::Relu && !z.relu && !z.planes {
            return a.view_of(z);
        }
        let mut copy = None;
        self.activate_state(activation, self.solid(z, &mut copy), a, false);
    }

    fn activate_back(&self, forward: &State, a: &State, z: &mut State) {
        if forward.relu {
            return z.share_innovation(a);
        }
        z.rows_in_planes(a.planes);
        z.receive(a);
        if z.failed.is_some() {
            return;
        }
        let of = a.layout();
        let args = ActivateBackArgs {
            of,
            k: (a.rows / forward.rows) as i32,
            forward: forward.layout(),
            slope: forward.slope.at(),
            a_mean: a.d_mean.at(),
            a_var: a.d_var_at(),
            z_mean: z.d_mean.at(),
            z_var: z.d_var_at(),
            broken: z.flag(true),
        };
        match !a.planes && !forward.planes && a.shape.pixels() <= MOST_DOWN {
            true => self.over_pixels("activate_back_four", of, &args),
            false => self.over("activate_back", of.numbers(), &args),
        }
    }

    fn add(&self, states: &[State], numbers: &[usize], z: &mut State) {
        let first = &states[numbers[0]];
        z.made_from(first, false);
        z.failed = numbers.iter().find_map(|&n| states[n].failed.clone());
        z.room(PRIOR);
        if z.failed.is_some() {
            return;
        }
        for (i, x) in numbers.iter().map(|&n| &states[n]).enumerate() {
            let mut copy = None;
            let x = self.solid(x, &mut copy);
            if x.failed.is_some() {
                return z.failed = x.failed.clone();
            }
            let pairs = [[x.mean.at(), x.var.at()], [z.mean.at(), z.var.at()]];
            self.combine(x, z, i > 0, pairs, false);
        }
    }

    fn add_back(&self, z: &State, x: &mut State) {
        self.send_innovation(z, x, false);
    }

    fn add_innovation(&self, more: &State, x: &mut State) {
        self.send_innovation(more, x, true);
    }

    fn forget_innovation(&self, state: &mut State) {
        state.room(INNOVATION);
        if state.failed.is_none() {
            let n = state.layout().numbers();
            state.d_mean.clear(n);
            state.d_var.clear(n);
        }
    }

    fn posterior(&self, state: &mut State) {
        (state.exact, state.zeros) = (false, 0);
        if state.failed.is_some() {
            return;
        }
        let n = state.layout().numbers();
        let [mean, var, d_mean, d_var] =
            [&state.mean, &state.var, &state.d_mean, &state.d_var].map(|b| b.at());
        self.over("posterior", n, &PosteriorArgs { n: n as i64, mean, var, d_mean, d_var });
    }
}

impl State {
    /// Makes room for the innovation that `from` sends here.
    pub(super) fn receive(&mut self, from: &State) {
        self.failed = self.failed.take().or_else(|| from.failed.clone());
        self.room(INNOVATION);
    }

    /// Chooses the layout of rows, which need not be that of their state.
    pub(super) fn rows_in_planes(&mut self, planes: bool) {
        if self.several {
            self.planes = planes;
        }
    }

    /// Both innovations; rows have only one, and computing the other does no harm.
    pub(super) fn pair_of_d(&self) -> [u64; 2] {
        [self.d_mean.at(), if self.means_only { self.d_mean.at() } else { self.d_var.at() }]
    }

    /// The variances of the innovations, if there are any.
    pub(super) fn d_var_at(&self) -> u64 {
        if self.means_only { 0 } else { self.d_var.at() }
    }
}
