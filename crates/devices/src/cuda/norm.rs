//! Batch normalisation: parameters in f32, statistics and sums in f64.

use super::driver::{self, Buffer, arguments};
use super::map::step_args;
use super::state::{Layout, PRIOR, Part, State, padded};
use super::status::Status;
use super::sums::{OF_CHANNEL, Sums};
use super::{Cuda, Scratch, StepArgs};
use crate::norm::common;
use crate::{Norms, Parameters, Purpose, Statistics, Steps, Together};
use tractable_core::error::Result;

/// Scale and shift, and the running statistics, one entry per channel.
pub struct Norm {
    pub(super) channels: usize,
    pub(super) scale: [Buffer<f32>; 2],
    pub(super) shift: [Buffer<f32>; 2],
    pub(super) running: [Buffer<f64>; 2],
    momentum: f64,
    epsilon: f64,
}

/// What a normalisation remembers of a pass, besides numbers on the device.
#[derive(Default)]
pub(super) struct Standard {
    /// The statistics are the batch's own.
    of_batch: bool,
    /// The way back goes through statistics of a batch.
    projects: bool,
    /// The batch whose innovations were summed up.
    total_of: Option<Layout>,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct NormArgs {
    of: Layout,
    parts: i32,
    use_batch: i32,
    relu: i32,
    epsilon: f64,
    count: f64,
    parameters: [u64; 4],
    running: [u64; 2],
    statistics: [u64; 2],
    factors: u64,
    common: u64,
    partial: u64,
    total: u64,
    x: [u64; 2],
    z_d: [u64; 2],
    z: [u64; 2],
    own: u64,
    x_d: [u64; 2],
    sums: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct NormApplyArgs {
    channels: i32,
    momentum: f64,
    scale: StepArgs,
    shift: StepArgs,
    parameters: [u64; 4],
    running: [u64; 2],
    sums: u64,
    status: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        NormArgs: "norm_mean", "norm_var", "norm_statistics", "norm_forward", "norm_forward_four", "norm_back", "norm_back_four", "norm_sums", "norm_total", "norm_add";
        NormApplyArgs: "norm_apply";
    }
}

/// Minimum number of values of a channel per block (16 per thread), and the maximum number of blocks: two for each of a large GPU's
/// multiprocessors. More parts would take longer to add.
const PER_PART: usize = 128;
const MOST_BLOCKS: usize = 256;

impl Cuda {
    fn norm_args(&self, norm: &Norm, scratch: &Scratch, of: Layout) -> NormArgs {
        let values = of.rows as usize * of.pixels as usize;
        let most = (MOST_BLOCKS / norm.channels.div_ceil(32)).max(1);
        NormArgs {
            of,
            parts: values.div_ceil(PER_PART).clamp(1, most) as i32,
            epsilon: norm.epsilon,
            count: values as f64,
            parameters: parameters(norm),
            running: [norm.running[0].at(), norm.running[1].at()],
            statistics: [scratch.at(0), scratch.at(1)],
            factors: scratch.floats_at(),
            common: scratch.floats_at() + (size_of::<f32>() * of_channels(norm)) as u64,
            partial: scratch.at(2),
            total: scratch.at(3),
            ..NormArgs::default()
        }
    }
}

impl Norms for Cuda {
    type Norm = Norm;

    fn norm(&self, p: &Parameters, s: &Statistics) -> Result<Norm> {
        let channels = p.mean.len();
        let single = |values: &[f64]| {
            let buffer = Buffer::zeros(&self.gpu, padded(channels))?;
            buffer.write(0, &values.iter().map(|&v| v as f32).collect::<Vec<_>>());
            Ok(buffer)
        };
        let double = |values: &[f64]| {
            let buffer = Buffer::zeros(&self.gpu, channels)?;
            buffer.write(0, values);
            Ok(buffer)
        };
        Ok(Norm {
            channels,
            scale: [single(&p.mean)?, single(&p.var)?],
            shift: [single(&p.bias_mean)?, single(&p.bias_var)?],
            running: [double(&s.mean)?, double(&s.var)?],
            momentum: s.momentum,
            epsilon: s.epsilon,
        })
    }

    fn norm_parameters(&self, norm: &Norm) -> Result<(Parameters, Statistics)> {
        let n = norm.channels;
        let single = |b: &Buffer<f32>| Ok(b.read(n)?.into_iter().map(f64::from).collect::<Vec<_>>());
        let p = Parameters {
            mean: single(&norm.scale[0])?,
            var: single(&norm.scale[1])?,
            bias_mean: single(&norm.shift[0])?,
            bias_var: single(&norm.shift[1])?,
        };
        let [mean, var] = [norm.running[0].read(n)?, norm.running[1].read(n)?];
        Ok((p, Statistics { mean, var, momentum: norm.momentum, epsilon: norm.epsilon }))
    }

    fn normalize(&self, norm: &Norm, s: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        z.made_from(x, x.planes);
        z.room(PRIOR);
        if purpose == Purpose::Rows {
            z.room([Part::Own]);
        }
        let n = norm.channels;
        s.standard = Standard::default();
        let parts = self.norm_args(norm, s, x.layout()).parts as usize;
        s.doubles(&self.gpu, [n, n, 4 * n * parts, 4 * n], z);
        if s.floats(&self.gpu, 2 * of_channels(norm)).is_none() {
            z.failed = s.failed.clone();
        }
        if z.failed.is_some() {
            return;
        }
        let args = NormArgs {
            relu: x.relu as i32,
            x: [x.mean.at(), x.var.at()],
            z: [z.mean.at(), z.var.at()],
            own: if purpose == Purpose::Rows { z.own.at() } else { 0 },
            broken: z.flag(false),
            ..self.norm_args(norm, s, x.layout())
        };
        // One value per channel has no variance: use the running statistics.
        let use_batch = purpose == Purpose::Learn && args.count > 1.0;
        let args = NormArgs { use_batch: use_batch as i32, ..args };
        s.standard.of_batch = use_batch;
        if use_batch {
            self.gpu.launch("norm_mean", [n.div_ceil(32), parts, 1], 256, 0, &args);
            self.gpu.launch("norm_var", [n.div_ceil(32), parts, 1], 256, 0, &args);
        }
        self.gpu.launch("norm_statistics", [n.div_ceil(32), 1, 1], 256, 0, &args);
        match z.planes {
            true => self.over("norm_forward", args.of.numbers(), &args),
            false => self.over("norm_forward_four", args.of.numbers() / 4, &args),
        }
    }

    fn normalize_total(
        &self,
        norm: &Norm,
        s: &mut Scratch,
        x: &State,
        z: &State,
        together: Option<Together<'_>>,
    ) -> Result<()> {
        if together.is_some() {
            z.check()?;
        }
        if x.failed.is_some() || z.failed.is_some() {
            return Ok(());
        }
        let args = NormArgs {
            relu: x.relu as i32,
            x: [x.mean.at(), x.var.at()],
            z_d: [z.d_mean.at(), z.d_var.at()],
            ..self.norm_args(norm, s, x.layout())
        };
        let n = norm.channels;
        self.gpu.launch("norm_sums", [n.div_ceil(32), args.parts as usize, 1], 256, 0, &args);
        self.gpu.launch("norm_total", [n.div_ceil(32), 4, 1], 256, 0, &args);
        s.standard.projects = s.standard.of_batch;
        s.standard.total_of = Some(args.of);
        let (Some(together), Some(total), Some(floats)) = (together, &s.doubles[3], &s.floats) else {
            return Ok(());
        };
        let (total, mut means) = (total.read(4 * n)?, Vec::new());
        common(args.count, [&total[2 * n..3 * n], &total[..n]], Some(together), &mut means)?;
        s.standard.projects = !means.is_empty();
        if s.standard.projects {
            let pairs = means[..n].iter().zip(&means[n..]);
            let pairs: Vec<f32> = pairs.flat_map(|(&shift, &scale)| [shift as f32, scale as f32]).collect();
            floats.write(of_channels(norm), &pairs);
        }
        Ok(())
    }

    fn normalize_back(&self, norm: &Norm, s: &Scratch, of: Option<&State>, z: &State, x: &mut State) {
        x.rows_in_planes(z.planes);
        x.receive(z);
        if x.failed.is_some() {
            return;
        }
        let of = of.unwrap_or(x);
        let args = NormArgs {
            use_batch: s.standard.projects as i32,
            relu: of.relu as i32,
            x: [of.mean.at(), 0],
            z_d: [z.d_mean.at(), z.d_var_at()],
            x_d: [x.d_mean.at(), x.d_var_at()],
            broken: x.flag(true),
            ..self.norm_args(norm, s, z.layout())
        };
        match z.planes {
            true => self.over("norm_back", args.of.numbers(), &args),
            false => self.over("norm_back_four", args.of.numbers() / 4, &args),
        }
    }

    fn normalize_sums(&self, norm: &Norm) -> Sums {
        let n = OF_CHANNEL * norm.channels;
        match Buffer::zeros(&self.gpu, n) {
            Ok(buffer) => Sums::Norm(buffer, n),
            Err(e) => Sums::Failed(driver::why(e)),
        }
    }

    fn normalize_accumulate(&self, norm: &Norm, s: &Scratch, sums: &mut Sums) {
        let (Sums::Norm(sums, _), Some(of)) = (sums, s.standard.total_of) else { return };
        let args = NormArgs { sums: sums.at(), ..self.norm_args(norm, s, of) };
        self.gpu.launch("norm_add", [norm.channels.div_ceil(128), 1, 1], 128, 0, &args);
    }

    fn normalize_apply(&self, norm: &mut Norm, sums: &Sums, steps: Steps, status: &mut Status) {
        let sums = match sums {
            Sums::Norm(sums, _) => sums,
            Sums::Failed(why) => return status.failed = Some(why.clone()),
            Sums::Map(..) => return,
        };
        let (Some(status), false) = (self.status_at(status), status.failed.is_some()) else { return };
        let [scale, shift] = step_args(steps);
        let args = NormApplyArgs {
            channels: norm.channels as i32,
            momentum: norm.momentum,
            scale,
            shift,
            parameters: parameters(norm),
            running: [norm.running[0].at(), norm.running[1].at()],
            sums: sums.at(),
            status,
        };
        self.gpu.launch("norm_apply", [norm.channels.div_ceil(128), 1, 1], 128, 0, &args);
    }
}

/// Two numbers of every channel, padding included.
fn of_channels(norm: &Norm) -> usize {
    2 * padded(norm.channels)
}

fn parameters(norm: &Norm) -> [u64; 4] {
    let [scale_mean, scale_var] = norm.scale.each_ref().map(|b| b.at());
    let [shift_mean, shift_var] = norm.shift.each_ref().map(|b| b.at());
    [scale_mean, scale_var, shift_mean, shift_var]
}
