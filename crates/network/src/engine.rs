//! A network's layers on one device, and the plans run over a batch. Only numbers: [`crate::network`] handles names, units and
//! checks of arguments.

// `UpdateRule::Counted` (T39) pulls every weight back to its prior by `rows/(all + margin)` while it
// learns a batch, so that rows seen repeatedly count once. The prior of a layer is two Gaussians, one
// for its weights and one for its biases; `engine.rs` stores them next to the blocks, and
// `Update::steps` turns rule, batch and prior into the `Step` that kernels take.
//
// The engine holds inferred noise (`InferredNoise`, T43): `infer_noise` (T40) sums what a batch says
// about its noise, and a running average follows. With `Noise::PerInput` the layer before the last is
// the *head*: it reads the same input as the last layer, outputs the logarithm of a noise variance, and
// learns from its own innovation (T42). `Graph::readers` leaves it out, so it sends no innovations to
// the layers below, where they would harm the mean.
//
// A network under `UpdateRule::Paced` predicts with the average of its means (T81). The engine then holds
// its parameters twice: `layers`, which everything but learning reads, and `latest`, which learns. Variances,
// noise and running statistics are copied from `latest` after every batch.

mod average;
mod lent;
mod noise;
mod sums;
mod walk;

pub(crate) use noise::InferredNoise;
pub(crate) use walk::{ActiveWalk, Walking};

use crate::graph::Graph;
use crate::layer::{Block, Contents, Layer};
use crate::plan::Op;
use lent::LentPass;
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use sums::LayerSums;
use tractable_core::error::{Error, Result};
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;
use tractable_core::shape::Shape;
use tractable_core::stop;
use tractable_core::workers::{Numbers, Transport};
use tractable_devices::{
    Backend, Change, Device, Field, Handle, NoiseSums, NoiseVar, PRIOR, Priors, Seen, Tally, Together, Units,
    Update,
};

/// Mean and variance of a state, row by row.
pub(crate) type MeanVar = [Vec<f64>; 2];

/// Sums, or a table, on whatever device made it.
pub(crate) type OnDevice = Box<dyn Any + Send + Sync>;

/// The samples of a batch.
#[derive(Clone, Copy)]
pub(crate) enum Batch<'a> {
    /// Means and, unless exact, variances, `[rows, width]`.
    Values(&'a [f64], Option<&'a [f64]>),
    /// Rows of a table.
    Rows(&'a OnDevice, &'a [usize]),
    /// Images that the device keeps as bytes, augmented if there are changes.
    Images(&'a OnDevice, &'a [usize], &'a [Change]),
}

/// Observed outputs of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) entries: Entries<'a>,
    /// Variance of the noise; `None`: inferred.
    pub(crate) noise: Option<NoiseVar<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) enum Entries<'a> {
    /// `[rows, width]`, and which of them were observed, if not all.
    Values(&'a [f64], Option<&'a [bool]>),
    /// Rows of a table.
    Rows(&'a OnDevice, &'a [usize]),
}

impl<'a> From<Seen<'a>> for Observed<'a> {
    fn from(Seen { y, noise, seen }: Seen<'a>) -> Self {
        Observed { entries: Entries::Values(y, seen), noise: Some(noise) }
    }
}

/// A requested derivative: of this output, with respect to the state `at` (0 is the input).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slope {
    pub(crate) output: usize,
    pub(crate) at: usize,
    pub(crate) gate: Gate,
}

/// The layers on a device.
pub(crate) trait Engine: Walking + Send + Sync {
    fn is_double(&self) -> bool;
    /// Numbers that the states of one sample take.
    fn numbers(&self) -> usize;
    /// Sets the parameters of some outputs of a layer.
    fn fill(&mut self, layer: usize, outputs: Range<usize>, contents: &Contents) -> Result<()>;
    /// The parameters of a layer, if it has any: those of some outputs, or of a normalisation.
    fn contents(&self, layer: usize, outputs: Range<usize>) -> Result<Option<Contents>>;
    /// A pass for the caller alone.
    fn pass(&self) -> Box<dyn ActivePass + '_>;
    /// Updates the parameters with a batch, unless a value is not finite; see [`status`](Engine::status).
    fn learn(&mut self, batch: Batch<'_>, seen: Observed<'_>, update: Update, rows: usize) -> Result<()>;
    /// The output for the batch that was learned last.
    fn read_output(&mut self, field: Field, to: &mut Vec<f64>) -> Result<()>;
    /// What [`learn`](Engine::learn) and [`apply`](Engine::apply) recorded since the last call.
    fn status(&mut self) -> Result<Tally>;
    /// The inferred noise.
    fn noise(&self) -> Result<&InferredNoise>;
    fn set_noise(&mut self, noise: InferredNoise);
    /// Zero sums.
    fn sums(&self) -> OnDevice;
    /// Adds the updates of a batch, `together` with other workers if they share the batch.
    fn accumulate(
        &self,
        batch: Batch<'_>,
        seen: Observed<'_>,
        sums: &mut OnDevice,
        together: Option<Together<'_>>,
    ) -> Result<()>;
    /// Adds the sums and rows of all workers; afterwards all workers have the same.
    fn sums_together(&self, sums: &mut OnDevice, rows: &mut usize, workers: &dyn Transport) -> Result<()>;
    /// The sums as numbers that add up over workers.
    fn sums_read(&self, sums: &OnDevice) -> Result<(Numbers, Vec<f64>)>;
    /// The reverse, from the same number of numbers.
    fn sums_write(&self, sums: &mut OnDevice, many: &Numbers, few: &[f64]) -> Result<()>;
    /// Updates the parameters with sums over this many samples.
    fn apply(&mut self, sums: &OnDevice, update: Update, rows: usize) -> Result<()>;
    /// Moves running statistics by this share towards those of a batch, computed with the parameters that predict.
    fn restate(&mut self, batch: Batch<'_>, share: f64) -> Result<()>;
    /// Learns from the parameters that predict from now on.
    fn forget_latest(&mut self);
    /// Allocates a table for this many samples.
    fn table(&self, rows: usize) -> Result<OnDevice>;
    /// Sets rows of a table from `first` on.
    fn table_write(&self, table: &mut OnDevice, first: usize, values: &[f64]) -> Result<()>;
    /// Whether the device keeps whole data sets; see [`Backend`].
    fn keeps_data(&self) -> bool;
    /// Images as bytes; `None` unless the device keeps them.
    fn images(&self, shape: Shape, pixels: &[u8], scaled: &[f32], greys: &[f32]) -> Result<Option<OnDevice>>;
    /// Targets `[rows, outputs]`, if the device keeps them; NaN means not observed.
    fn targets(&self, y: &[f64]) -> Result<OnDevice>;
}

/// A pass over a batch, with its own memory.
pub(crate) trait ActivePass: Send {
    fn write(&mut self, state: usize, mean: &[f64], var: Option<&[f64]>) -> Result<()>;
    /// Sets the input.
    fn set(&mut self, batch: Batch<'_>) -> Result<()>;
    fn read(&self, state: usize, field: Field) -> Result<Vec<f64>>;
    /// Runs a plan and returns its errors; `seen` is the observation of [`Op::Observe`].
    fn run(&mut self, ops: &[Op], seen: Option<Observed<'_>>) -> Result<()>;
    /// Gives the output's means an innovation, and its variances none.
    fn innovate(&mut self, d_mean: &[f64]) -> Result<()>;
    /// After a pass forward for [`Purpose::Rows`](tractable_devices::Purpose): propagates `k` rows per sample of the state `from`,
    /// `[samples, k, width]`, down by a plan. Returns them at another state, and their covariance `[samples, k, k]`.
    fn rows(
        &mut self,
        plan: &[Op],
        from: usize,
        k: usize,
        rows: &[f64],
        at: Option<usize>,
    ) -> Result<[Vec<f64>; 2]>;
    /// After a forward pass: mean and variance of a derivative, and its covariance with the state. Layers must be dense.
    fn derivative(&mut self, slope: Slope) -> Result<[Vec<f64>; 3]>;

    fn read_prior(&self, state: usize) -> Result<MeanVar> {
        let [mean, var] = PRIOR;
        Ok([self.read(state, mean)?, self.read(state, var)?])
    }
}

/// Bytes that the weights of a network may always take on a device; beyond these, at most [`MOST_TIMES`] the size in
/// a file, so that a small file cannot fill memory.
const FREE_BYTES: u64 = 256 << 20;
const MOST_TIMES: u64 = 4;

/// Puts layers on a device, with all parameters zero and these priors.
pub(crate) fn load(
    device: &Device,
    graph: &Arc<Graph>,
    priors: Vec<Option<Priors>>,
) -> Result<Box<dyn Engine>> {
    device.check()?;
    Ok(match &device.0 {
        Handle::Cpu(backend) => Box::new(Loaded::new(backend.clone(), graph.clone(), priors)?),
        #[cfg(feature = "cuda")]
        Handle::Cuda(backend) => Box::new(Loaded::new(backend.clone(), graph.clone(), priors)?),
        Handle::Reference(backend) => Box::new(Loaded::new(backend.clone(), graph.clone(), priors)?),
    })
}

struct Loaded<B: Backend> {
    /// What predicts.
    layers: Layers<B>,
    /// What learns, if what predicts is an average.
    latest: Option<Layers<B>>,
    /// The plan for learning, the plan with fused first layers if there is one, and the memory both run in.
    learn: Vec<Op>,
    joined: Option<Vec<Op>>,
    learning: Mutex<Pass<B>>,
    /// Idle passes.
    idle: Mutex<Vec<Pass<B>>>,
}

/// The layers themselves.
struct Layers<B: Backend> {
    backend: Arc<B>,
    graph: Arc<Graph>,
    blocks: Vec<Block<B>>,
    priors: Vec<Option<Priors>>,
    noise: InferredNoise,
}

/// The memory of a pass: states of all layers, the input first, and what kernels work with.
struct Pass<B: Backend> {
    states: Vec<B::State>,
    scratch: Vec<B::Scratch>,
    /// A second innovation, for states that several layers read.
    spares: Vec<Option<B::State>>,
    /// Of normalisations that learn.
    sums: Vec<Option<B::Sums>>,
    /// The derivative by every state that was asked for it.
    derivatives: Vec<B::Derivative>,
    /// Rows of the output as they come down to every state, how many a sample has, and their covariance.
    rows: Vec<B::State>,
    k: usize,
    spread: B::Spread,
    noise: NoiseSums,
    status: B::Status,
}

/// Units of a layer by the numbers of their states: pre-activation, activation, what it makes of them.
type Station = (usize, Activation, usize);

impl<B: Backend> Loaded<B> {
    fn new(backend: Arc<B>, graph: Arc<Graph>, priors: Vec<Option<Priors>>) -> Result<Self> {
        let mut bytes = 0u64;
        for (i, layer) in graph.layers.iter().enumerate() {
            let map = layer.map(graph.input_shape(i))?;
            bytes += map.map_or(0, |map| backend.bytes(&map));
        }
        if bytes > FREE_BYTES + MOST_TIMES * 8 * graph.parameters as u64 {
            let why = format!(
                "the weights of these narrow layers take {bytes} bytes on this device, more than {MOST_TIMES} times \
                 their size"
            );
            return Err(Error::invalid("layers", why));
        }
        let blocks = blocks(&*backend, &graph)?;
        let layers = Layers { backend, graph, blocks, priors, noise: InferredNoise::default() };
        let (learn, joined) = (layers.graph.learn(), layers.graph.learn_joined());
        let learning = Mutex::new(layers.pass());
        Ok(Loaded { layers, latest: None, learn, joined, learning, idle: Mutex::default() })
    }

    /// An idle pass, or a new one.
    fn lend(&self) -> LentPass<'_, B> {
        let idle = self.idle.lock().unwrap_or_else(|e| e.into_inner()).pop();
        LentPass { engine: self, pass: Some(idle.unwrap_or_else(|| self.layers.pass())) }
    }
}

/// The layers of a network, with all parameters zero.
fn blocks<B: Backend>(backend: &B, graph: &Graph) -> Result<Vec<Block<B>>> {
    let layers = graph.layers.iter().enumerate();
    layers.map(|(i, l)| Block::new(backend, l, graph.input_shape(i))).collect()
}

impl<B: Backend> Layers<B> {
    fn pass(&self) -> Pass<B> {
        let state = |shape: &Shape| self.backend.state(*shape);
        let shared = |s: usize| (self.graph.readers(s).count() > 1).then(|| state(&self.graph.shapes[s]));
        Pass {
            states: self.graph.shapes.iter().map(state).collect(),
            scratch: self.blocks.iter().map(|_| B::Scratch::default()).collect(),
            spares: (0..self.graph.shapes.len()).map(shared).collect(),
            sums: Vec::new(),
            derivatives: Vec::new(),
            rows: Vec::new(),
            k: 0,
            spread: B::Spread::default(),
            noise: NoiseSums::default(),
            status: B::Status::default(),
        }
    }

    fn set(&self, pass: &mut Pass<B>, batch: Batch<'_>) -> Result<()> {
        match batch {
            Batch::Values(mean, var) => self.backend.write(&mut pass.states[0], mean, var),
            Batch::Rows(table, rows) => {
                let table = table.downcast_ref().expect("a table of this device");
                self.backend.gather(table, rows, &mut pass.states[0]);
                Ok(())
            }
            Batch::Images(images, rows, changes) => {
                let images = images.downcast_ref().expect("images of this device");
                let data_sets = self.backend.data_sets().expect("a device that keeps images");
                data_sets.gather_images(images, rows, changes, &mut pass.states[0]);
                Ok(())
            }
        }
    }

    /// Whether this batch may use the fused first layers.
    fn joins(&self, pass: &Pass<B>) -> bool {
        match (self.backend.fused(), &self.blocks[0], self.blocks.get(2).and_then(Block::pool)) {
            (Some(fused), Block::Map(w, _), Some(pool)) => fused.joins(w, pool, &pass.states[0]),
            _ => false,
        }
    }

    /// Runs a plan from top to bottom, unless it is to stop.
    fn run(&self, pass: &mut Pass<B>, ops: &[Op], seen: Option<Observed<'_>>) -> Result<()> {
        let backend = &*self.backend;
        let Pass { states, scratch, spares, noise, status, rows, k, spread, .. } = pass;
        let inferred = NoiseVar::PerOutput(&self.noise.var);
        for &op in ops {
            stop::check()?;
            match op {
                Op::Forward { layer, purpose } => {
                    let (below, above) = states.split_at_mut(layer + 1);
                    let inputs = &self.graph.inputs[layer];
                    self.blocks[layer].forward(
                        backend,
                        &mut scratch[layer],
                        below,
                        inputs,
                        &mut above[0],
                        purpose,
                    );
                }
                Op::Join => {
                    let (below, above) = states.split_at_mut(3);
                    if let (Some(fused), Block::Map(w, _), Some(pool)) =
                        (backend.fused(), &self.blocks[0], self.blocks[2].pool())
                    {
                        fused.join(w, &mut scratch[0], pool, &below[0], &mut above[0]);
                    }
                }
                Op::CheckStates => backend.check_states(states, status),
                Op::Observe => {
                    let (output, below) = states.split_last_mut().expect("there is an output");
                    let Observed { entries, noise } = seen.expect("a plan that observes is given what to");
                    let noise = noise.unwrap_or(inferred);
                    match entries {
                        Entries::Values(y, seen) => backend.observe(output, Seen { y, noise, seen }),
                        Entries::Rows(targets, rows) => {
                            let targets = targets.downcast_ref().expect("targets of this device");
                            let data_sets = backend.data_sets().expect("a device that keeps targets");
                            data_sets.observe_rows(&below[0], output, targets, rows, noise);
                        }
                    }
                }
                Op::InferNoise => {
                    let (output, below) = states.split_last_mut().expect("there is an output");
                    let head = self.graph.head.map(|i| &mut below[i + 1]);
                    match (seen, head) {
                        (Some(Observed { entries: Entries::Values(y, seen), noise: None }), head) => {
                            backend.infer_noise(output, head, Seen { y, noise: inferred, seen }, noise);
                        }
                        (_, Some(head)) => backend.forget_innovation(head),
                        (_, None) => {}
                    }
                }
                Op::Total { layer } => {
                    let (x, z) = (&states[self.graph.inputs[layer][0]], &states[layer + 1]);
                    self.blocks[layer].total(backend, &mut scratch[layer], x, z, None)?;
                }
                Op::Back { layer, state, more } => {
                    let (below, above) = states.split_at_mut(layer + 1);
                    let (x, z, scratch) = (&mut below[state], &above[0], &mut scratch[layer]);
                    if !more {
                        self.blocks[layer].back(backend, scratch, z, None, z, x);
                        continue;
                    }
                    let spare = spares[state].as_mut().expect("several layers read this state");
                    backend.like(x, spare);
                    self.blocks[layer].back(backend, scratch, z, Some(x), z, spare);
                    backend.add_innovation(spare, x);
                }
                Op::CheckInnovation { state } => backend.check_innovation(&states[state], state, status),
                Op::Posterior { state } => backend.posterior(&mut states[state]),
                Op::BackRows { layer, state, more } => {
                    let (below, above) = rows.split_at_mut(layer + 1);
                    let (x, z, scratch) = (&mut below[state], &above[0], &mut scratch[layer]);
                    let (of, forward) = (&states[state], &states[layer + 1]);
                    if !more {
                        backend.rows(of, *k, x);
                        self.blocks[layer].back(backend, scratch, forward, None, z, x);
                        continue;
                    }
                    let spare = spares[state].as_mut().expect("several layers read this state");
                    backend.rows(of, *k, spare);
                    self.blocks[layer].back(backend, scratch, forward, None, z, spare);
                    backend.add_innovation(spare, x);
                }
                Op::Spread { state } => {
                    let field = if state == 0 { Field::Var } else { Field::Own };
                    backend.spread_add(&states[state], field, &rows[state], spread);
                }
            }
        }
        stop::check()
    }

    /// Errors or counts.
    fn told(&self, status: &mut B::Status) -> Result<Tally> {
        let status = self.backend.status(status)?;
        match status.broken {
            None => Ok(status.tally),
            Some(broken) => {
                let layer = broken.state.checked_sub(1).map_or("input", |i| &self.graph.names[i]).into();
                Err(Error::Diverged { layer, row: broken.row, value: broken.value })
            }
        }
    }

    /// The units of which this state is the activation, or the pre-activation where there is none.
    fn station(&self, a: usize, at: usize) -> Station {
        match a.checked_sub(1).map(|i| (i, self.graph.layers[i])) {
            // A layer that is asked for after its activation stands for itself.
            Some((i, Layer::Activation { function })) if a != at => (self.graph.inputs[i][0], function, a),
            _ => (a, Activation::Identity, a),
        }
    }

    /// Layers that are differentiated as they read a state; activations go with it.
    fn branches(&self, state: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.readers(state).filter(|&i| !matches!(self.graph.layers[i], Layer::Activation { .. }))
    }

    /// The activations of a state that has branches of its own, or is the output: itself, or what its activations make.
    fn stations(&self, z: usize, at: usize) -> impl Iterator<Item = Station> + '_ {
        let activated =
            self.graph.readers(z).filter(|&i| matches!(self.graph.layers[i], Layer::Activation { .. }));
        let itself = (z == self.graph.output() || self.branches(z).next().is_some()).then_some(z);
        activated.map(|i| i + 1).chain(itself).map(move |a| self.station(a, at))
    }

    /// The derivative by the units of one state, from the output down, after a forward pass.
    fn differentiate(&self, pass: &mut Pass<B>, Slope { output, at, gate }: Slope) -> Result<()> {
        let Pass { states, scratch, derivatives, .. } = pass;
        derivatives.resize_with(states.len(), Default::default);
        let units = |(z, activation, a): Station| Units { z: &states[z], activation, a: &states[a] };
        let above_at = self.graph.above(|s| s == at);
        for a in (at..=self.graph.output()).rev().filter(|&a| above_at[a]) {
            stop::check()?;
            let below = self.station(a, at);
            // By a state below the one that is asked for: by an activation of something else.
            if !above_at[below.0] {
                continue;
            }
            let (lower, upper) = derivatives.split_at_mut(a + 1);
            let d = &mut lower[a];
            let mut more = false;
            if a == self.graph.output() {
                self.backend.derivative_output(units(below), output, d);
                more = true;
            }
            for layer in self.branches(a) {
                for above in self.stations(layer + 1, at) {
                    // The authors' code knows no covariance with the slope of an output that has none.
                    let bare = above == (self.graph.output(), Activation::Identity, self.graph.output());
                    let gate = if bare { Gate::Both } else { gate };
                    let d_above = &upper[above.2 - a - 1];
                    let (below, above) = (units(below), units(above));
                    let w = match &self.blocks[layer] {
                        Block::Map(w, _) => Some(w),
                        _ => None,
                    };
                    self.backend.derivative_below(
                        w,
                        &mut scratch[layer],
                        below,
                        above,
                        d_above,
                        gate,
                        more,
                        d,
                    );
                    more = true;
                }
            }
        }
        stop::check()
    }
}

impl<B: Backend> Engine for Loaded<B> {
    fn is_double(&self) -> bool {
        self.layers.backend.is_double()
    }

    fn numbers(&self) -> usize {
        self.layers.graph.shapes.iter().map(|&s| self.layers.backend.numbers(s)).sum()
    }

    fn fill(&mut self, layer: usize, outputs: Range<usize>, contents: &Contents) -> Result<()> {
        self.fill_both(layer, outputs, contents)
    }

    fn contents(&self, layer: usize, outputs: Range<usize>) -> Result<Option<Contents>> {
        self.contents_of_both(layer, outputs)
    }

    fn pass(&self) -> Box<dyn ActivePass + '_> {
        Box::new(self.lend())
    }

    fn learn(&mut self, batch: Batch<'_>, seen: Observed<'_>, update: Update, rows: usize) -> Result<()> {
        if update.average.is_some() {
            self.split()?;
        }
        let Loaded { layers: predicts, latest, learn, joined, learning, .. } = self;
        let layers = latest.as_mut().unwrap_or(&mut *predicts);
        let pass = mine(learning);
        layers.set(pass, batch)?;
        pass.noise.begin(layers.noise.var.len());
        let joined = joined.as_ref().filter(|_| layers.joins(pass));
        let ran = layers.run(pass, joined.unwrap_or(learn), Some(seen));
        if ran.is_err() {
            pass.status = B::Status::default();
        }
        ran?;
        // Nothing may fail once the first layer has learned.
        layers.reserve(pass, joined.is_some())?;
        if seen.noise.is_none() {
            layers.noise.follow(&pass.noise, update.rule);
        }
        let Layers { backend, graph, blocks, priors, .. } = layers;
        let Pass { states, scratch, sums, status, .. } = pass;
        let pool = joined.and_then(|_| blocks[2].pool());
        stop::finish(|| {
            for (i, block) in blocks.iter_mut().enumerate() {
                let Some(priors) = priors[i] else { continue };
                let (x, z) = (&states[graph.inputs[i][0]], &states[i + 1]);
                let steps = block.steps(update, rows, priors);
                if let (0, Some(fused), Some(pool), Block::Map(w, _)) =
                    (i, backend.fused(), pool, &mut *block)
                {
                    fused.join_learn(w, &mut scratch[0], pool, [x, &states[3]], steps, status);
                    continue;
                }
                block.learn(backend, &mut scratch[i], x, z, sums[i].as_mut(), steps, status);
            }
        });
        if let (Some(share), Some(latest)) = (update.average, latest) {
            stop::finish(|| predicts.follow(latest, share, status));
        }
        Ok(())
    }

    fn read_output(&mut self, field: Field, to: &mut Vec<f64>) -> Result<()> {
        let output = mine(&mut self.learning).states.last().expect("there is an output");
        self.layers.backend.read_into(output, field, to)
    }

    fn status(&mut self) -> Result<Tally> {
        self.layers.told(&mut mine(&mut self.learning).status)
    }

    fn noise(&self) -> Result<&InferredNoise> {
        Ok(&self.layers.noise)
    }

    fn set_noise(&mut self, noise: InferredNoise) {
        for layers in self.latest.iter_mut().chain([&mut self.layers]) {
            layers.noise.clone_from(&noise);
        }
    }

    fn sums(&self) -> OnDevice {
        let layers = self.layers.blocks.iter().map(|b| b.sums(&self.layers.backend)).collect();
        Box::new(LayerSums::<B> { layers, noise: NoiseSums::zeros(self.layers.noise.var.len()) })
    }

    fn accumulate(
        &self,
        batch: Batch<'_>,
        seen: Observed<'_>,
        sums: &mut OnDevice,
        together: Option<Together<'_>>,
    ) -> Result<()> {
        self.accumulate_batch(batch, seen, sums, together)
    }

    fn sums_together(&self, sums: &mut OnDevice, rows: &mut usize, workers: &dyn Transport) -> Result<()> {
        self.add_together(sums, rows, workers)
    }

    fn sums_read(&self, sums: &OnDevice) -> Result<(Numbers, Vec<f64>)> {
        self.numbers_of(sums, true)
    }

    fn sums_write(&self, sums: &mut OnDevice, many: &Numbers, few: &[f64]) -> Result<()> {
        self.set_numbers_of(sums, many, few, true)
    }

    fn apply(&mut self, sums: &OnDevice, update: Update, rows: usize) -> Result<()> {
        let sums = sums.downcast_ref::<LayerSums<B>>().ok_or_else(other_device)?;
        sums.layers.iter().flatten().try_for_each(|s| self.layers.backend.check_sums(s))?;
        if update.average.is_some() {
            self.split()?;
        }
        let Loaded { layers: predicts, latest, learning, .. } = self;
        let layers = latest.as_mut().unwrap_or(&mut *predicts);
        layers.noise.follow(&sums.noise, update.rule);
        let status = &mut mine(learning).status;
        let Layers { backend, blocks, priors, .. } = layers;
        stop::finish(|| {
            for ((block, sums), priors) in blocks.iter_mut().zip(&sums.layers).zip(priors) {
                if let (Some(sums), Some(priors)) = (sums, priors) {
                    let steps = block.steps(update, rows, *priors);
                    block.apply(backend, sums, steps, status);
                }
            }
        });
        if let (Some(share), Some(latest)) = (update.average, latest) {
            stop::finish(|| predicts.follow(latest, share, status));
        }
        Ok(())
    }

    fn restate(&mut self, batch: Batch<'_>, share: f64) -> Result<()> {
        self.restate_norms(batch, share)
    }

    fn forget_latest(&mut self) {
        self.latest = None;
    }

    fn table(&self, rows: usize) -> Result<OnDevice> {
        Ok(Box::new(self.layers.backend.table(self.layers.graph.shapes[0], rows)?))
    }

    fn table_write(&self, table: &mut OnDevice, first: usize, values: &[f64]) -> Result<()> {
        let table = table.downcast_mut().expect("a table of this device");
        self.layers.backend.table_write(table, first, values)
    }

    fn keeps_data(&self) -> bool {
        self.layers.backend.data_sets().is_some()
    }

    fn images(&self, shape: Shape, pixels: &[u8], scaled: &[f32], greys: &[f32]) -> Result<Option<OnDevice>> {
        let Some(data_sets) = self.layers.backend.data_sets() else { return Ok(None) };
        Ok(Some(Box::new(data_sets.images(shape, pixels, scaled, greys)?)))
    }

    fn targets(&self, y: &[f64]) -> Result<OnDevice> {
        let shape = *self.layers.graph.shapes.last().expect("there is an output");
        let mut table = self.layers.backend.table(shape, y.len() / shape.len())?;
        self.layers.backend.table_write(&mut table, 0, y)?;
        Ok(Box::new(table))
    }
}

/// What nobody else can reach.
fn mine<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(|e| e.into_inner())
}

fn other_device() -> Error {
    Error::invalid("sums", "they belong to a network on another device")
}
