//! [`Teacher`]: a value network and its policy learn a whole rollout on a GPU, in one kernel.

use crate::layer::{Contents, Layer};
use crate::network::{LearnInfo, Network};
use tractable_core::error::{Error, Result};
use tractable_core::moments::Activation;
use tractable_devices::lesson::{self, Dense, Given, Lessons};
use tractable_devices::{Device, Update};

/// A GPU on which a value network and a policy learn rollouts, all mini-batches in one kernel. The networks themselves stay where they
/// are, usually on the CPU, which acts faster: [`teach`](Teacher::teach) copies their weights to the GPU and back. Each teacher uses one
/// multiprocessor, so that many agents learn at the same time.
///
/// ```
/// use tractable::{Activation, Device, Lesson, Network, Teacher};
/// # let Ok(device) = Device::cuda(0) else { return Ok(()) };
/// let mut value = Network::mlp([2, 16, 1], Activation::Tanh).build()?; // of one state and one action
/// let mut policy = Network::mlp([1, 16, 1], Activation::Relu).build()?;
/// let mut teacher = Teacher::new(&device, &value, &policy)?;
/// let lesson = Lesson {
///     states: &[0.1, 0.2],
///     actions: &[0.5, -0.5],
///     returns: &[1.0, 0.0],
///     noise_var: &[0.1, 0.1],
///     policy_noise_var: 1.0,
///     order: &[1, 0],
///     batch: 16,
///     rounds: 1,
///     clip: true,
/// };
/// let taught = teacher.teach(&mut value, &mut policy, &lesson)?;
/// assert_eq!(taught.value.rows, 2);
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Teacher {
    lessons: Box<dyn Lessons>,
    /// The layers there is room for, of the value network and of the policy.
    nets: [Vec<Dense>; 2],
    device: Device,
}

/// A rollout, row by row, and how to learn it.
///
/// ```
/// # use tractable::Lesson;
/// let lesson = Lesson {
///     states: &[0.1, 0.2],
///     actions: &[0.5, -0.5],
///     returns: &[1.0, 0.0],
///     noise_var: &[0.1, 0.1],
///     policy_noise_var: 1.0,
///     order: &[1, 0],
///     batch: 16,
///     rounds: 1,
///     clip: true,
/// };
/// assert_eq!(lesson.order.len(), lesson.returns.len()); // one epoch
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Lesson<'a> {
    /// States, `[rows, width]`.
    pub states: &'a [f64],
    /// Actions that were taken, `[rows, width]`.
    pub actions: &'a [f64],
    /// Their returns, one per row.
    pub returns: &'a [f64],
    /// Variance of the noise of every return.
    pub noise_var: &'a [f64],
    /// Variance of the noise with which the policy observes an inferred action.
    pub policy_noise_var: f64,
    /// Rows in the order of learning: all rows, once per epoch.
    pub order: &'a [usize],
    /// Rows of a mini-batch, at most [`Teacher::MOST_ROWS`].
    pub batch: usize,
    /// Rounds of inference per mini-batch.
    pub rounds: usize,
    /// Whether actions are clipped to ±1.
    pub clip: bool,
}

/// What [`Teacher::teach`] did. Means are over all inferred actions.
///
/// ```
/// assert_eq!(tractable::Taught::default().inferred_move, 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Taught {
    /// What the value network learned.
    pub value: LearnInfo,
    /// What the policy learned.
    pub policy: LearnInfo,
    /// Mean standard deviation of the policy's actions.
    pub action_std: f64,
    /// Mean size of the policy's actions.
    pub action_size: f64,
    /// Mean distance from the policy's action to the inferred one.
    pub inferred_move: f64,
    /// Mean size of the value's slope, in its standard deviations.
    pub slope_to_noise: f64,
}

impl std::fmt::Debug for Teacher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Teacher").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Teacher {
    /// Maximum number of rows of a mini-batch.
    ///
    /// ```
    /// assert_eq!(tractable::Teacher::MOST_ROWS, 16);
    /// ```
    pub const MOST_ROWS: usize = lesson::MOST_ROWS;

    /// Room for both networks on a GPU. The value network reads a state and an action side by side. Its first activation is tanh or sigmoid,
    /// the others have a constant slope (ReLU, leaky ReLU, identity).
    ///
    /// # Errors
    /// If the device is not a GPU, or the networks have other layers, other activations or are too large.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Network, Teacher};
    /// let net = |inputs| Network::mlp([inputs, 8, 1], Activation::Relu).build();
    /// assert!(Teacher::new(&Device::cpu(1), &net(2)?, &net(1)?).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn new(device: &Device, value: &Network, policy: &Network) -> Result<Self> {
        let refuse = |why: &str| Error::Device { device: device.to_string(), why: why.into() };
        if !device.is_gpu() {
            return Err(refuse("only a GPU has a kernel for agents"));
        }
        let other =
            "its kernel for agents takes chains of dense layers with ReLU, leaky ReLU, tanh or sigmoid";
        let [v, p] =
            [chain(value).ok_or_else(|| refuse(other))?, chain(policy).ok_or_else(|| refuse(other))?];
        let straight =
            |(_, activation): &Dense| !matches!(activation, Activation::Tanh | Activation::Sigmoid);
        let widths = (value.input().len(), value.output().units());
        if v.len() < 2
            || straight(&v[0])
            || !v[1..].iter().all(straight)
            || v[v.len() - 1].1 != Activation::Identity
            || widths != (policy.input().len() + policy.output().units(), 1)
        {
            return Err(refuse(
                "its kernel for agents takes a value network of a state and an action with at least one hidden layer, curved only in its \
                 first layer: tanh or sigmoid",
            ));
        }
        let lessons = device.lessons([&v, &p])?;
        let lessons =
            lessons.ok_or_else(|| refuse("the agent's networks do not fit into its shared memory"))?;
        Ok(Teacher { lessons, nets: [v, p], device: device.clone() })
    }

    /// For every mini-batch: the value network learns returns, better actions are inferred from its derivative, the policy learns them.
    /// After an error both networks are as before.
    ///
    /// # Errors
    /// If arrays do not fit, a number becomes infinite or NaN, or the GPU fails.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Lesson, Network, Teacher};
    /// # let Ok(device) = Device::cuda(0) else { return Ok(()) };
    /// # let mut value = Network::mlp([2, 16, 1], Activation::Tanh).build()?;
    /// # let mut policy = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// # let mut teacher = Teacher::new(&device, &value, &policy)?;
    /// # let lesson = Lesson { states: &[0.1], actions: &[0.5], returns: &[1.0], noise_var: &[0.1], policy_noise_var: 1.0, order: &[0], batch: 16, rounds: 1, clip: true };
    /// assert!(teacher.teach(&mut value, &mut policy, &Lesson { batch: 17, ..lesson }).is_err());
    /// assert!(teacher.teach(&mut value, &mut policy, &lesson)?.inferred_move >= 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn teach(
        &mut self,
        value: &mut Network,
        policy: &mut Network,
        lesson: &Lesson<'_>,
    ) -> Result<Taught> {
        let nets = [chain(value), chain(policy)];
        if nets.iter().zip(&self.nets).any(|(net, own)| net.as_ref() != Some(own)) {
            return Err(Error::invalid(
                "networks",
                "they have other layers than those this teacher was made for",
            ));
        }
        check(policy, lesson)?;
        for (i, net) in [&*value, &*policy].into_iter().enumerate() {
            for (at, layer) in dense(net).enumerate() {
                self.lessons.fill(i, at, &net.contents(layer)?.unwrap_or_default().parameters)?;
            }
        }
        let rows = lesson.returns.len();
        let steps = |net: &Network| -> Result<Vec<_>> {
            let update = Update { rule: net.update_rule(), weight: 1.0 };
            let last = match rows % lesson.batch {
                0 => lesson.batch,
                rest => rest,
            };
            let steps = |layer: usize| {
                let priors = net.spec.prior_of(&net.graph, layer)?.expect("a dense layer has parameters");
                Ok([lesson.batch, last].map(|rows| update.steps(rows, 1, priors)))
            };
            dense(net).map(steps).collect()
        };
        let told = self.lessons.run(&Given {
            states: lesson.states,
            actions: lesson.actions,
            returns: lesson.returns,
            noise: lesson.noise_var,
            policy_noise: lesson.policy_noise_var,
            order: lesson.order,
            batch: lesson.batch,
            rounds: lesson.rounds,
            clip: lesson.clip,
            steps: [steps(value)?, steps(policy)?],
        })?;
        if let Some((net, layer, row)) = told.broken {
            let of = if net == 0 { &*value } else { &*policy };
            let layer = dense(of).nth(layer).map_or("input".into(), |l| of.layer_names()[l].clone());
            return Err(Error::Diverged { layer, row, value: f64::NAN });
        }
        // Everything is read before anything is replaced.
        let read = |i: usize, net: &Network| -> Result<Vec<Contents>> {
            let read = |at| Ok(Contents { parameters: self.lessons.parameters(i, at)?, running: None });
            (0..dense(net).count()).map(read).collect()
        };
        let both = [read(0, value)?, read(1, policy)?];
        for (net, contents) in [&mut *value, &mut *policy].into_iter().zip(both) {
            for (layer, contents) in dense(net).collect::<Vec<_>>().into_iter().zip(contents) {
                net.fill(layer, 0..contents.parameters.bias_mean.len(), &contents)?;
            }
            net.note_updates(
                lesson.order.chunks(rows).flat_map(|epoch| epoch.chunks(lesson.batch)).map(<[_]>::len),
            );
        }
        let info = |i: usize| LearnInfo {
            rows: lesson.order.len(),
            capped: told.capped[i],
            repaired: told.repaired[i],
        };
        let count = (lesson.order.len() * policy.output().units()) as f64;
        let [action_std, action_size, inferred_move, slope_to_noise] = told.sums.map(|sum| sum / count);
        Ok(Taught { value: info(0), policy: info(1), action_std, action_size, inferred_move, slope_to_noise })
    }
}

/// Numbers of a network's dense layers.
fn dense(net: &Network) -> impl Iterator<Item = usize> + '_ {
    (0..net.layers().len()).filter(|&i| matches!(net.layers()[i], Layer::Linear { .. }))
}

/// The dense layers of a network without branches and scalers, with the activations that the kernel has.
fn chain(net: &Network) -> Option<Vec<Dense>> {
    let is_chain = net.layer_inputs().iter().enumerate().all(|(i, inputs)| *inputs == [i]);
    if !is_chain || net.input_scaler().is_some() || net.output_scaler().is_some() || !net.input().is_flat() {
        return None;
    }
    let mut chain: Vec<Dense> = Vec::new();
    for (i, layer) in net.layers().iter().enumerate() {
        match (layer, chain.last_mut()) {
            (Layer::Linear { .. }, _) => {
                chain.push((layer.map(net.graph.input_shape(i)).ok()??, Activation::Identity));
            }
            (Layer::Activation { function }, Some((_, above @ Activation::Identity))) => match function {
                Activation::Softplus | Activation::MixtureRelu => return None,
                // The kernel takes the slope from the sign of the activation.
                Activation::LeakyRelu { slope } if *slope < 0.0 => return None,
                function => *above = *function,
            },
            _ => return None,
        }
    }
    Some(chain)
}

fn check(policy: &Network, lesson: &Lesson<'_>) -> Result<()> {
    let (ns, na, rows) = (policy.input().len(), policy.output().units(), lesson.returns.len());
    let sizes = [
        ("states", lesson.states, rows * ns),
        ("actions", lesson.actions, rows * na),
        ("noise", lesson.noise_var, rows),
    ];
    if let Some((what, values, wanted)) =
        sizes.into_iter().find(|(_, values, wanted)| values.len() != *wanted)
    {
        return Err(Error::shape(what, wanted, values.len()));
    }
    let limits =
        [("rows of a mini-batch", lesson.batch, Teacher::MOST_ROWS), ("rounds", lesson.rounds, 1 << 24)];
    if let Some((what, n, most)) = limits.into_iter().find(|(_, n, most)| *n == 0 || n > most) {
        return Err(Error::invalid(what, format!("{n}: 1 to {most}")));
    }
    if rows == 0 || lesson.order.is_empty() || !lesson.order.len().is_multiple_of(rows) {
        return Err(Error::shape("order", format!("epochs of {rows} rows"), lesson.order.len()));
    }
    if let Some(row) = lesson.order.iter().find(|&&row| row >= rows) {
        return Err(Error::invalid("order", format!("{row}: there are {rows} rows")));
    }
    for (what, values) in
        [("states", lesson.states), ("actions", lesson.actions), ("returns", lesson.returns)]
    {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: what.into(), row: at, column: 0, value: values[at] });
        }
    }
    let noise = lesson.noise_var.iter().chain([&lesson.policy_noise_var]);
    match noise.enumerate().find(|(_, v)| !(**v > 0.0 && v.is_finite())) {
        None => Ok(()),
        Some((row, &value)) => {
            Err(Error::invalid("noise variance", format!("{value} in row {row} is not positive")))
        }
    }
}
