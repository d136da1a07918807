//! Settings of the agent: the paper's, except where `docs/results/rl-notes.md` found better ones.

use serde::{Deserialize, Serialize};
use tractable_core::error::{Error, Result};
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;
use tractable_devices::UpdateRule;

/// How sampled actions are squashed into their bounds.
///
/// ```
/// assert_eq!(tractable::rl::Squash::default(), tractable::rl::Squash::Once);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Squash {
    /// Only by the policy's tanh; a sample beyond the bounds is clipped. Task, value network and derivative
    /// all use the same number.
    #[default]
    Once,
    /// The sample goes through another tanh on its way to the task and to the value network, but not for
    /// the derivative, as in the authors' code.
    Twice,
}

/// How a time limit affects the return of a truncated episode.
///
/// ```
/// assert_ne!(tractable::rl::AtTimeLimit::Terminal, tractable::rl::AtTimeLimit::Bootstrap);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AtTimeLimit {
    /// Bootstrap: the rest is worth what the value network predicts.
    #[default]
    Bootstrap,
    /// Terminal: the rest is worth nothing, as in the authors' code.
    Terminal,
}

/// Schedule of a network's observation noise (a standard deviation): `start`, times `decay` per rollout from the third
/// on, never below `floor`.
///
/// ```
/// use tractable::rl::Decay;
/// let noise = Decay { start: 2.0, decay: 0.9999, floor: 0.3 };
/// assert_eq!((noise.at(0), noise.at(1)), (2.0, 2.0));
/// assert!((noise.at(1953) - 1.645).abs() < 1e-3); // after two million steps
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decay {
    /// Value for the first two rollouts.
    pub start: f64,
    /// Factor per rollout.
    pub decay: f64,
    /// Lower limit.
    pub floor: f64,
}

impl Decay {
    /// The value after this many rollouts.
    ///
    /// ```
    /// assert_eq!(tractable::rl::Decay { start: 0.2, decay: 0.5, floor: 0.3 }.at(2), 0.3);
    /// ```
    pub fn at(&self, rollouts: u64) -> f64 {
        match rollouts {
            0 | 1 => self.start,
            n => (self.start * libm::pow(self.decay, (n - 1) as f64)).max(self.floor),
        }
    }

    fn check(&self, what: &str) -> Result<()> {
        let positive = |v: f64| v > 0.0 && v < 1e6;
        match positive(self.start) && positive(self.floor) && self.decay > 0.0 && self.decay <= 1.0 {
            true => Ok(()),
            false => Err(Error::invalid(what, "start and floor must be positive, decay in (0, 1]")),
        }
    }
}

/// Settings of an [`Agent`](super::Agent).
///
/// ```
/// use tractable::rl::{Settings, Squash};
/// let settings = Settings { seed: 3, ..Settings::default() };
/// assert_eq!((settings.horizon, settings.batch, settings.discount), (1024, 16, 0.99));
/// assert_eq!(Settings::as_published().squash, Squash::Twice);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Random seed.
    pub seed: u64,
    /// Steps in a rollout, after which the networks learn from it.
    pub horizon: usize,
    /// Steps in a mini-batch.
    pub batch: usize,
    /// Epochs per rollout.
    pub epochs: usize,
    /// Discount factor per step.
    pub discount: f64,
    /// Weight of observed returns against the value network's prediction for the next step: 1 is the
    /// paper's full returns. Less than 1 removes the effect of later randomness, and with it most of a return's noise.
    pub trace: f64,
    /// Noise of returns. The smaller, the sooner the slope of the value with respect to the action is trusted.
    pub value_noise: Decay,
    /// Noise of inferred actions. The larger, the longer the policy explores, and the farther it moves: its steps
    /// scale with the square of this over the square of `value_noise`.
    pub policy_noise: Decay,
    /// Share by which both networks forget after every rollout ([`forget`](tractable_network::Network::forget)).
    pub forget: f64,
    /// Squashing of sampled actions.
    pub squash: Squash,
    /// Treatment of truncated episodes.
    pub at_time_limit: AtTimeLimit,
    /// Which slopes are treated as correlated in the derivative with respect to the action.
    pub gate: Gate,
    /// How a batch changes the weights.
    pub update: UpdateRule,
    /// Steps of inference towards a better action, each from the result of the last.
    pub inference_steps: usize,
    /// Whether the covariance of an action with the slope comes from second derivatives (T50), as in
    /// [`condition`](tractable_network::Network::condition), rather than from products of slopes, as in the paper.
    pub second_order: bool,
    /// Factor on the prior variance of the policy's weights.
    pub policy_gain: f64,
    /// Factor on the prior variance of the value network's weights.
    pub value_gain: f64,
    /// Hidden layers of the value network.
    pub value_layers: Vec<usize>,
    /// Hidden layers of the policy.
    pub policy_layers: Vec<usize>,
    /// Activation of the policy's output: tanh, or the identity, whose actions are clipped at their bounds and keep
    /// their variance there.
    pub policy_output: Activation,
    /// Activation of hidden layers, except the value network's first, which is tanh.
    pub activation: Activation,
}

/// Explores widely and takes large steps: suits HalfCheetah. [`gentle`](Settings::gentle) is for tasks that punish that.
impl Default for Settings {
    fn default() -> Self {
        let noise = Decay { start: 4.0, decay: 0.9999, floor: 0.3 };
        Settings {
            seed: 0,
            horizon: 1024,
            batch: 16,
            epochs: 1,
            discount: 0.99,
            trace: 0.9,
            value_noise: Decay { start: 0.3, ..noise },
            policy_noise: noise,
            forget: 0.0,
            squash: Squash::Once,
            at_time_limit: AtTimeLimit::Bootstrap,
            gate: Gate::Both,
            update: UpdateRule::Capped,
            inference_steps: 1,
            second_order: false,
            policy_gain: 0.6,
            value_gain: 1.0,
            value_layers: vec![128; 3],
            policy_layers: vec![128; 2],
            policy_output: Activation::Identity,
            activation: Activation::Relu,
        }
    }
}

impl Settings {
    /// For tasks that end after a few extreme actions, such as balancing a pole: first actions of a sixth of their range, small steps,
    /// full returns.
    ///
    /// ```
    /// use tractable::rl::Settings;
    /// assert!(Settings::gentle().policy_gain < Settings::default().policy_gain);
    /// ```
    pub fn gentle() -> Self {
        let noise = Decay { start: 2.0, decay: 0.9999, floor: 0.3 };
        Settings {
            trace: 1.0,
            value_noise: Decay { start: 0.5, ..noise },
            policy_noise: noise,
            policy_gain: 0.25,
            ..Settings::default()
        }
    }

    /// The authors' code: noise 2, a tanh policy with a wide prior, two squashings, a time limit that ends the
    /// task, correlated slopes by the lower layer, plain sums over a batch.
    ///
    /// ```
    /// use tractable::{condition::Gate, rl::Settings};
    /// assert_eq!(Settings::as_published().gate, Gate::Input);
    /// ```
    pub fn as_published() -> Self {
        let noise = Decay { start: 2.0, decay: 0.9999, floor: 0.3 };
        Settings {
            trace: 1.0,
            value_noise: noise,
            policy_noise: noise,
            squash: Squash::Twice,
            at_time_limit: AtTimeLimit::Terminal,
            gate: Gate::Input,
            policy_output: Activation::Tanh,
            update: UpdateRule::Plain,
            epochs: 1,
            inference_steps: 1,
            second_order: false,
            policy_gain: 1.0,
            value_gain: 1.0,
            ..Settings::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let whole = [
            ("horizon", self.horizon),
            ("batch", self.batch),
            ("epochs", self.epochs),
            ("inference steps", self.inference_steps),
        ];
        if let Some((what, n)) = whole.into_iter().find(|(_, n)| !(1..=1 << 24).contains(n)) {
            return Err(Error::invalid(what, format!("{n} cannot be; 1 to 2^24")));
        }
        let parts = [("discount", self.discount), ("trace", self.trace), ("share to forget", self.forget)];
        if let Some((what, v)) = parts.into_iter().find(|(_, v)| !(0.0..=1.0).contains(v)) {
            return Err(Error::invalid(what, format!("{v} is not between 0 and 1")));
        }
        self.value_noise.check("value noise")?;
        self.policy_noise.check("policy noise")
    }
}
