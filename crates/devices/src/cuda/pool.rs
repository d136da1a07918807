//! Pooling.

use super::Cuda;
use super::driver::{MOST_DOWN, arguments};
use super::state::{Layout, PRIOR, Part, State};
use crate::{Pool, Pooling};
use tractable_core::shape::Window;

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct PoolArgs {
    x: Layout,
    z: Layout,
    forward: Layout,
    height: i32,
    width: i32,
    down: i32,
    across: i32,
    kernel: i32,
    stride: i32,
    before: i32,
    is_max: i32,
    k: i32,
    relu: i32,
    mask: u64,
    x_prior: [u64; 2],
    z_prior: [u64; 2],
    picked: u64,
    z_d: [u64; 2],
    x_d: [u64; 2],
    broken: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        PoolArgs: "pool", "pool_back", "average_four", "average_four_back";
    }
}

impl PoolArgs {
    fn new(pool: Pool, window: Window, x: &State, z: &State) -> Self {
        let [height, width, down, across] =
            [x.shape.height, x.shape.width, z.shape.height, z.shape.width].map(|n| n as i32);
        let [kernel, stride, before] = [window.kernel, window.stride, window.before()].map(|n| n as i32);
        let is_max = (pool == Pool::Max) as i32;
        let (x, z) = (x.layout(), z.layout());
        PoolArgs { x, z, height, width, down, across, kernel, stride, before, is_max, ..Default::default() }
    }
}

impl Pooling for Cuda {
    fn pool(&self, pool: Pool, window: Window, x: &State, z: &mut State) {
        z.made_from(x, x.planes);
        z.room(PRIOR);
        if pool == Pool::Max {
            z.room([Part::Picked]);
        }
        if z.failed.is_some() {
            return;
        }
        let args = PoolArgs {
            x_prior: [x.mean.at(), x.var.at()],
            z_prior: [z.mean.at(), z.var.at()],
            picked: z.picked.at(),
            relu: x.relu as i32,
            broken: z.flag(false),
            ..PoolArgs::new(pool, window, x, z)
        };
        match pool == Pool::Average && !x.planes && z.shape.pixels() <= MOST_DOWN {
            true => self.over_pixels("average_four", args.z, &args),
            false => self.over("pool", args.z.numbers(), &args),
        }
    }

    fn pool_back(&self, pool: Pool, window: Window, forward: &State, z: &State, x: &mut State) {
        x.receive(z);
        if x.failed.is_some() {
            return;
        }
        let args = PoolArgs {
            forward: forward.layout(),
            k: (z.rows / forward.rows) as i32,
            picked: forward.picked.at(),
            mask: if x.relu { x.mean.at() } else { 0 },
            z_d: [z.d_mean.at(), z.d_var_at()],
            x_d: [x.d_mean.at(), x.d_var_at()],
            broken: x.flag(true),
            ..PoolArgs::new(pool, window, x, z)
        };
        match pool == Pool::Average && !x.planes && !z.planes && x.shape.pixels() <= MOST_DOWN {
            true => self.over_pixels("average_four_back", args.x, &args),
            false => self.over("pool_back", args.x.numbers(), &args),
        }
    }
}
