//! Mini-batches of a value network and its policy in one kernel: where its states are in shared memory, and its launch.

use super::driver::Buffer;
use super::map::{Geometry, Weights, step_args};
use super::unitwise::{number, single};
use super::{Cuda, Precision, StepArgs};
use crate::lesson::{Dense, Given, Lessons, MOST_ROWS, Told};
use crate::{Parameters, Steps};
use tractable_core::error::Result;

/// Layers of a network, and actions: the kernel's limits.
const MOST_LAYERS: usize = 6;
const MOST_ACTIONS: usize = 32;
const THREADS: usize = 512;
/// Bytes of the kernel's own shared memory.
const STATIC_SHARED: usize = 4 << 10;
/// 32-bit words of the kernel's `LessonTold`.
const TOLD_WORDS: usize = 18;

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Default)]
struct LayerArgs {
    inputs: i32,
    outputs: i32,
    depth: i32,
    weight_stride: i32,
    activation: i32,
    negative_slope: f32,
    w: [u64; 2],
    steps: [[StepArgs; 2]; 2],
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Default)]
struct NetArgs {
    layers: i32,
    line: [i32; MOST_LAYERS + 1],
    mean: [i32; MOST_LAYERS + 1],
    var: [i32; MOST_LAYERS + 1],
    d_mean: [i32; MOST_LAYERS + 1],
    d_var: [i32; MOST_LAYERS + 1],
    layer: [LayerArgs; MOST_LAYERS],
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Default)]
struct LessonArgs {
    nets: [NetArgs; 2],
    rows: i32,
    batch: i32,
    batches: i32,
    rounds: i32,
    cut: i32,
    shared: i32,
    slots: i32,
    slot: i32,
    policy_noise: f32,
    order: u64,
    rollout: [u64; 4],
    told: u64,
}

pub struct CudaLessons {
    /// With streams of its own: several agents learn at the same time.
    cuda: Cuda,
    nets: [Vec<Weights>; 2],
    /// The arguments that never change.
    form: LessonArgs,
    order: Buffer<u32>,
    /// States, actions, returns, noise.
    rollout: [Buffer<f32>; 4],
    told: Buffer<u32>,
}

/// Floats from one row of a state to the next, so that eight rows are read without bank conflicts.
fn line(width: usize) -> usize {
    let padded = width.next_multiple_of(16);
    if padded.is_multiple_of(32) { padded + 16 } else { padded }
}

/// Reserves an array of 16 rows in shared memory; returns where it begins.
fn reserve(end: &mut usize, line: usize) -> i32 {
    let at = *end;
    *end += MOST_ROWS * line;
    at as i32
}

impl CudaLessons {
    /// `None` if the networks do not fit.
    pub fn new(cuda: &Cuda, nets: [&[Dense]; 2]) -> Result<Option<Self>> {
        let widths = nets.map(|net| {
            let first = net.first().map(|(map, _)| map.input.len());
            first.into_iter().chain(net.iter().map(|(map, _)| map.output.len())).collect::<Vec<_>>()
        });
        let mut form = LessonArgs::default();
        let mut end = 0;
        for (args, widths) in form.nets.iter_mut().zip(&widths) {
            if !(2..=MOST_LAYERS + 1).contains(&widths.len()) {
                return Ok(None);
            }
            args.layers = widths.len() as i32 - 1;
            for (l, &width) in widths.iter().enumerate() {
                args.line[l] = line(width) as i32;
                args.mean[l] = reserve(&mut end, line(width));
                args.var[l] = reserve(&mut end, line(width));
            }
        }
        // Innovations of both networks and derivatives are never needed at the same time.
        let widest = widths.iter().flatten().map(|&w| line(w)).max().unwrap_or(0);
        form.slots = end as i32;
        form.slot = (MOST_ROWS * widest) as i32;
        let mut most = end + 6 * MOST_ROWS * widest;
        for (args, widths) in form.nets.iter_mut().zip(&widths) {
            let mut own = end;
            for (l, &width) in widths.iter().enumerate().skip(1) {
                args.d_mean[l] = reserve(&mut own, line(width));
                args.d_var[l] = reserve(&mut own, line(width));
            }
            most = most.max(own);
        }
        form.shared = most as i32;
        let actions = widths[1].last().is_none_or(|&n| n > MOST_ACTIONS);
        if actions || most > (cuda.gpu.most_shared - STATIC_SHARED) / 4 {
            return Ok(None);
        }
        let cuda = cuda.opened_again()?;
        let gpu = &cuda.gpu;
        let weights = |(map, _): &Dense| Weights::zeros(gpu, *map);
        let [value, policy] = nets.map(|net| net.iter().map(weights).collect::<Result<Vec<_>>>());
        let all = [value?, policy?];
        for (args, (net, weights)) in form.nets.iter_mut().zip(nets.iter().zip(&all)) {
            for (args, ((map, activation), weights)) in args.layer.iter_mut().zip(net.iter().zip(weights)) {
                let g = Geometry::new(map, 0);
                let (activation, negative_slope) = number(*activation);
                *args = LayerArgs {
                    inputs: map.input.len() as i32,
                    outputs: g.outputs,
                    depth: g.depth,
                    weight_stride: g.weight_stride,
                    activation,
                    negative_slope,
                    w: [weights.mean.at(), weights.var.at()],
                    steps: Default::default(),
                };
            }
        }
        let told = Buffer::zeros(gpu, TOLD_WORDS)?;
        form.told = told.at();
        let (order, rollout) = (Buffer::none(gpu), [(); 4].map(|_| Buffer::none(gpu)));
        Ok(Some(CudaLessons { nets: all, form, order, rollout, told, cuda }))
    }
}

impl Lessons for CudaLessons {
    fn fill(&mut self, net: usize, layer: usize, parameters: &Parameters) -> Result<()> {
        self.nets[net][layer].set(0..parameters.bias_mean.len(), parameters);
        self.cuda.gpu.alive()
    }

    fn parameters(&self, net: usize, layer: usize) -> Result<Parameters> {
        let weights = &self.nets[net][layer];
        weights.parameters(0..weights.map.output.len())
    }

    fn run(&mut self, lesson: &Given<'_>) -> Result<Told> {
        let rows = lesson.returns.len();
        self.order.grow(lesson.order.len())?;
        self.order.write(0, &lesson.order.iter().map(|&row| row as u32).collect::<Vec<_>>());
        let given = [lesson.states, lesson.actions, lesson.returns, lesson.noise];
        for (buffer, values) in self.rollout.iter_mut().zip(given) {
            buffer.grow(values.len())?;
            buffer.write(0, &single(values));
        }
        let mut args = LessonArgs {
            rows: rows as i32,
            batch: lesson.batch as i32,
            batches: (lesson.order.len() / rows * rows.div_ceil(lesson.batch)) as i32,
            rounds: lesson.rounds as i32,
            cut: lesson.clip as i32,
            policy_noise: lesson.policy_noise as f32,
            order: self.order.at(),
            rollout: self.rollout.each_ref().map(Buffer::at),
            ..self.form
        };
        for (args, steps) in args.nets.iter_mut().zip(&lesson.steps) {
            for (args, &steps) in args.layer.iter_mut().zip(steps) {
                args.steps = steps.map(|steps: Steps| step_args(steps));
            }
        }
        let kernel = match self.cuda.precision {
            Precision::Precise => "lesson_precise",
            Precision::Fast => "lesson_fast",
        };
        self.cuda.gpu.launch(kernel, [1; 3], THREADS, 4 * self.form.shared as usize, &args);
        let w = self.told.read(TOLD_WORDS)?;
        let long = |i: usize| u64::from(w[i]) | u64::from(w[i + 1]) << 32;
        let broken = (w[0] != u32::MAX).then_some((w[0] as usize / 32, w[0] as usize % 32, w[1] as usize));
        Ok(Told {
            broken,
            capped: [long(2), long(4)],
            repaired: [long(6), long(8)],
            sums: [10, 12, 14, 16].map(|i| f64::from_bits(long(i))),
        })
    }
}
