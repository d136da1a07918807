//! The posterior that `condition` gives, beside that of drawn inputs and networks.

use super::drawn::{Drawn, Kind, Points, TOGETHER};
use tractable::{Gaussian, Matrix, Network, Result, Wanted, condition::Found, rng};

/// Standard deviations of every input before.
pub(super) const PRIOR_STDS: [f64; 3] = [0.1, 0.3, 1.0];
/// Noise of what is wanted, from network to network.
const NOISE_STDS: [f64; 3] = [0.03, 0.1, 0.3];
/// Draws of weights after which the truth is looked at, and as how many independent draws of the posterior it is to be as good.
const BLOCK: usize = 256;
const WELL_KNOWN: f64 = 10_000.0;
/// With fewer, this many times as many are sampled; then the case is excluded.
const LONGER: usize = 10;
const KNOWN: f64 = 1000.0;

/// One input that is conditioned on one wish.
struct Case {
    mean: Vec<f64>,
    std: f64,
    wanted: Vec<f64>,
    noise_var: f64,
}

/// How far an answer is from the truth, for the input that is worst: the mean in true standard deviations, the standard
/// deviation over the true one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Off {
    pub(super) mean: f64,
    pub(super) ratio: f64,
}

/// One case: nothing where the truth is not known well enough.
pub(super) struct Judged {
    pub(super) kind: Kind,
    pub(super) prior_std: f64,
    pub(super) off: Option<Answers>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Answers {
    pub(super) once: Off,
    pub(super) rounds: Off,
    pub(super) condition: Off,
    pub(super) found: Found,
}

/// One network, its inputs with each of the standard deviations.
pub(super) fn judged(kind: &Kind, draws: usize) -> Result<Vec<Judged>> {
    let net = kind.trained()?;
    let mut drawn = Drawn::new(&net, kind.activation)?;
    let mut random = rng::stream(kind.seed, "numerics condition", (100 * kind.hidden + kind.inputs) as u64);
    let mut normal = || rng::standard_normal(&mut random);
    let cases: Vec<Case> = PRIOR_STDS.iter().map(|&std| case(kind, &mut drawn, std, &mut normal)).collect();
    let truths = truths(&cases, &mut drawn, draws, &mut normal);
    let judge = |(case, truth): (&Case, &Sums)| {
        let off = truth.posterior().map(|truth| answers(&net, case, &truth)).transpose()?;
        Ok(Judged { kind: *kind, prior_std: case.std, off })
    };
    cases.iter().zip(&truths).map(judge).collect()
}

/// A place like those that were learned; what is wanted comes from a drawn network and a drawn input near it.
fn case(kind: &Kind, drawn: &mut Drawn, std: f64, normal: &mut impl FnMut() -> f64) -> Case {
    let mean: Vec<f64> = (0..kind.inputs).map(|_| normal()).collect();
    let noise_std = NOISE_STDS[kind.seed as usize % NOISE_STDS.len()];
    drawn.draw(normal);
    let x: Vec<Points> = mean.iter().map(|m| [(m + std * normal()) as f32; TOGETHER]).collect();
    let outputs = drawn.outputs(&x);
    let wanted =
        outputs.iter().map(|[mean, var]| mean[0] + (var[0] + noise_std * noise_std).sqrt() * normal());
    Case { wanted: wanted.collect(), mean, std, noise_var: noise_std * noise_std }
}

/// Weighed draws of the input, in standard deviations of its prior, summed up.
struct Sums {
    std: f64,
    prior_mean: Vec<f64>,
    /// Of weights, and of squares of weights.
    weight: f64,
    squares: f64,
    /// Of every drawn network's weight: squares.
    networks: f64,
    of_inputs: Vec<OfInput>,
}

/// Of one input: first and second moment; of every drawn network's first moment: squares, and products with its weight.
#[derive(Clone, Default)]
struct OfInput {
    first: f64,
    second: f64,
    networks_first: f64,
    networks_product: f64,
}

/// Draws networks, and inputs for each of them, and weighs both by how well they explain what is wanted: until they tell well, and
/// longer where they do not tell enough.
fn truths(cases: &[Case], drawn: &mut Drawn, draws: usize, normal: &mut impl FnMut() -> f64) -> Vec<Sums> {
    let mut all: Vec<Sums> = cases.iter().map(Sums::new).collect();
    for block in 0..LONGER * draws.div_ceil(BLOCK) {
        let enough = if block * BLOCK < draws { WELL_KNOWN } else { KNOWN };
        let unknown = |s: &Sums| block == 0 || s.effective() < enough;
        let mut open: Vec<(&Case, &mut Sums)> =
            cases.iter().zip(&mut all).filter(|(_, sums)| unknown(sums)).collect();
        if open.is_empty() {
            break;
        }
        for _ in 0..BLOCK.min(draws) {
            drawn.draw(normal);
            open.iter_mut().for_each(|(case, sums)| sums.add(case, drawn, normal));
        }
    }
    all
}

impl Sums {
    fn new(case: &Case) -> Self {
        let of_inputs = vec![OfInput::default(); case.mean.len()];
        let prior_mean = case.mean.clone();
        Sums { std: case.std, prior_mean, weight: 0.0, squares: 0.0, networks: 0.0, of_inputs }
    }

    /// One drawn network, with some inputs.
    fn add(&mut self, case: &Case, drawn: &Drawn, normal: &mut impl FnMut() -> f64) {
        let u: Vec<Points> = case.mean.iter().map(|_| std::array::from_fn(|_| normal() as f32)).collect();
        let place = |(u, m): (&Points, &f64)| u.map(|u| (m + case.std * f64::from(u)) as f32);
        let x: Vec<Points> = u.iter().zip(&case.mean).map(place).collect();
        let mut weights = [1.0; TOGETHER];
        for ([mean, var], wanted) in drawn.outputs(&x).iter().zip(&case.wanted) {
            for (p, weight) in weights.iter_mut().enumerate() {
                let var = var[p] + case.noise_var;
                *weight *= (-0.5 * (wanted - mean[p]).powi(2) / var).exp() / var.sqrt();
            }
        }
        let total: f64 = weights.iter().sum();
        self.weight += total;
        self.squares += weights.iter().map(|w| w * w).sum::<f64>();
        self.networks += total * total;
        for (sums, u) in self.of_inputs.iter_mut().zip(&u) {
            let first: f64 = weights.iter().zip(u).map(|(w, &u)| w * f64::from(u)).sum();
            sums.first += first;
            sums.second += weights.iter().zip(u).map(|(w, &u)| w * f64::from(u).powi(2)).sum::<f64>();
            sums.networks_first += first * first;
            sums.networks_product += first * total;
        }
    }

    /// Independent draws of the posterior that would tell its mean as well, for the input that is known worst; inputs of
    /// one network are not independent.
    fn effective(&self) -> f64 {
        let pairs = self.weight * self.weight / self.squares;
        let of_one = |input: &OfInput| {
            let mean = input.first / self.weight;
            let var = input.second / self.weight - mean * mean;
            let error =
                input.networks_first - 2.0 * mean * input.networks_product + mean * mean * self.networks;
            var * self.weight * self.weight / error
        };
        self.of_inputs.iter().map(of_one).fold(pairs, f64::min)
    }

    /// Mean and standard deviation of every input, if they are known well enough.
    fn posterior(&self) -> Option<Vec<(f64, f64)>> {
        let one = |(input, m): (&OfInput, &f64)| {
            let mean = input.first / self.weight;
            let var = input.second / self.weight - mean * mean;
            (m + self.std * mean, self.std * var.sqrt())
        };
        (self.effective() >= KNOWN).then(|| self.of_inputs.iter().zip(&self.prior_mean).map(one).collect())
    }
}

fn answers(net: &Network, case: &Case, truth: &[(f64, f64)]) -> Result<Answers> {
    let d = case.mean.len();
    let prior = Gaussian::new(case.mean.clone(), vec![case.std * case.std; d], d)?;
    let wanted = Matrix::new(case.wanted.clone(), case.wanted.len())?;
    let search = |rounds: usize| {
        let noise = case.noise_var * rounds as f64;
        net.search(&prior, Wanted::from(&wanted).noise_var(noise).rounds(rounds)).map(|x| off(&x, truth))
    };
    let posterior = net.condition(&prior, Wanted::from(&wanted).noise_var(case.noise_var))?;
    Ok(Answers {
        once: search(1)?,
        rounds: search(100)?,
        condition: off(posterior.gaussian(), truth),
        found: posterior.found(0),
    })
}

fn off(answer: &Gaussian, truth: &[(f64, f64)]) -> Off {
    let means = answer.mean().iter().zip(truth).map(|(m, (mean, std))| (m - mean).abs() / std);
    let ratios = answer.std().into_iter().zip(truth).map(|(s, (_, std))| s / std);
    let farther = |a: f64, b: f64| if b.ln().abs() > a.ln().abs() { b } else { a };
    Off { mean: means.fold(0.0, f64::max), ratio: ratios.fold(1.0, farther) }
}
