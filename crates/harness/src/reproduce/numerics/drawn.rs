//! The networks that are measured, and networks of known weights drawn from them: what they make of many inputs at once.

use tractable::data::Dataset;
use tractable::{Activation, Device, Fit, Gaussian, Matrix, Network, Result, rng};

/// Units of every hidden layer.
const WIDTH: usize = 50;
/// Rows that a network learns from, and the noise of what it sees.
const ROWS: usize = 300;
const NOISE: f64 = 0.1;

/// One of the networks. All numbers are in standard deviations of the data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) activation: Activation,
    pub(super) hidden: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) seed: u64,
}

impl Kind {
    /// Trained as anybody would: a smooth function of normal inputs, seen with noise, the usual settings.
    pub(super) fn trained(&self) -> Result<Network> {
        let &Kind { activation, hidden, inputs, outputs, seed } = self;
        let mut random = rng::stream(seed, "numerics data", (100 * hidden + inputs) as u64);
        let mut normal = || rng::standard_normal(&mut random);
        // Three waves in random directions for every output.
        let waves: Vec<Vec<f64>> =
            (0..3 * outputs).map(|_| (0..=inputs).map(|_| normal()).collect()).collect();
        let steep = 1.5 / (inputs as f64).sqrt();
        let wave = |w: &[f64], x: &[f64]| {
            (w[inputs] + steep * w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).sin()
        };
        let x: Vec<f64> = (0..ROWS * inputs).map(|_| normal()).collect();
        let mut y: Vec<f64> = x
            .chunks_exact(inputs)
            .flat_map(|x| waves.chunks_exact(3).map(move |of| of.iter().map(|w| wave(w, x)).sum::<f64>()))
            .collect();
        for output in 0..outputs {
            let column = || y.iter().skip(output).step_by(outputs);
            let mean = column().sum::<f64>() / ROWS as f64;
            let std = (column().map(|y| (y - mean).powi(2)).sum::<f64>() / ROWS as f64).sqrt();
            y.iter_mut()
                .skip(output)
                .step_by(outputs)
                .for_each(|y| *y = (*y - mean) / std + NOISE * normal());
        }
        let widths = [inputs].into_iter().chain(std::iter::repeat_n(WIDTH, hidden)).chain([outputs]);
        let mut net = Network::mlp(widths, activation).seed(seed).device(Device::cpu(1)).build()?;
        let data = Dataset::new(Matrix::new(x, inputs)?, Matrix::new(y, outputs)?)?;
        net.fit(&data, &Fit::new().noise_std(NOISE))?;
        Ok(net)
    }
}

/// Inputs that are looked at side by side.
pub(super) const TOGETHER: usize = 32;
/// One number of each of them.
pub(super) type Points = [f32; TOGETHER];

/// Networks drawn from a network. The weights of the last layer are not drawn: given the units below, what they do is known.
pub(super) struct Drawn {
    activation: Activation,
    hidden: Vec<[Normals; 2]>,
    last: [Gaussian; 2],
    /// Weights and biases of the network that was drawn last.
    weights: Vec<[Vec<f32>; 2]>,
}

/// Means and standard deviations.
type Normals = Vec<(f64, f64)>;

impl Drawn {
    pub(super) fn new(net: &Network, activation: Activation) -> Result<Self> {
        let mut layers = Vec::new();
        for name in net.layer_names() {
            layers.extend(net.weights(name)?);
        }
        let last = layers.pop().map(|(w, b)| [w, b]).expect("a network has layers");
        let of = |g: &Gaussian| g.mean().iter().copied().zip(g.std()).collect();
        let hidden = layers.iter().map(|(w, b)| [of(w), of(b)]).collect();
        Ok(Drawn { activation, hidden, last, weights: Vec::new() })
    }

    /// Draws the hidden layers anew.
    pub(super) fn draw(&mut self, normal: &mut impl FnMut() -> f64) {
        let mut one = |of: &Normals| of.iter().map(|(mean, std)| (mean + std * normal()) as f32).collect();
        self.weights = self.hidden.iter().map(|[w, b]| [one(w), one(b)]).collect();
    }

    /// Mean and variance of every output, given inputs and the hidden layers that were drawn: `x` has every input's points.
    pub(super) fn outputs(&self, x: &[Points]) -> Vec<[[f64; TOGETHER]; 2]> {
        let mut a = x.to_vec();
        for [w, b] in &self.weights {
            let unit = |(w, b): (&[f32], &f32)| self.activated(weighted(w, &a, *b));
            a = w.chunks_exact(a.len()).zip(b).map(unit).collect();
        }
        let [w, b] = &self.last;
        let squares: Vec<Points> = a.iter().map(|a| a.map(|a| a * a)).collect();
        let line = |all: &[f64], o: usize| -> Vec<f32> {
            all[o * a.len()..][..a.len()].iter().map(|&v| v as f32).collect()
        };
        let output = |o: usize| {
            let mean = weighted(&line(w.mean(), o), &a, b.mean()[o] as f32);
            let var = weighted(&line(w.var(), o), &squares, b.var()[o] as f32);
            [mean.map(f64::from), var.map(f64::from)]
        };
        (0..b.mean().len()).map(output).collect()
    }

    fn activated(&self, z: Points) -> Points {
        match self.activation {
            Activation::Tanh => z.map(f32::tanh),
            _ => z.map(|z| z.max(0.0)),
        }
    }
}

/// `b + sum w a`.
fn weighted(w: &[f32], a: &[Points], b: f32) -> Points {
    let mut sum = [b; TOGETHER];
    for (w, a) in w.iter().zip(a) {
        for i in 0..TOGETHER {
            sum[i] += w * a[i];
        }
    }
    sum
}
