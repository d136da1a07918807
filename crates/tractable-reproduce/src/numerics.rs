//! `tractable reproduce numerics`: what the method approximates, measured against draws of the same weights.
//!
//! Four questions: what a linearised ReLU loses against the exact one; how far the spread of a whole network is from that
//! of networks drawn from its weights, where hidden units are taken to be independent of each other; how far
//! `condition` moves an input; and how far this build is from recorded reference vectors.

use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::data::Dataset;
use tractable::moments::{mixture_relu, relu};
use tractable::verify::{self, Checked};
use tractable::{Activation, Device, Fit, Gaussian, Matrix, Network, Result, Wanted, rng};
use tractable_program::console::note;
use tractable_program::jobs::side_by_side;
use tractable_program::report::{Exit, Outcome, Report, table};
use tractable_program::results::Clock;
use tractable_program::{console, interrupt};

const AFTER_HELP: &str = "\
Example:
  tractable reproduce numerics -o docs/results

Networks of 50 units a layer, before and after learning 200 points of x^3 - 3x. `std / sampled std` is the
network's own standard deviation over that of outputs of networks drawn from its weights, at nine
inputs from -2 to 2. Search is judged by importance sampling: inputs and networks are drawn,
and weighted by how well they explain the wanted output.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Networks drawn for every line
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    draws: usize,
    /// Seed of the networks and of the draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder of golden/ and physics/, to be computed again [default: that of the repository, where this is run in it]
    #[arg(long, value_name = "DIR")]
    reference: Option<PathBuf>,
    /// Folder for numerics.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// max(0, z) of z ~ N(at, 1).
#[derive(Serialize)]
struct Relu {
    at: f64,
    exact_mean: f64,
    linear_mean: f64,
    exact_std: f64,
    linear_std: f64,
}

#[derive(Serialize, Clone)]
struct VarianceCheck {
    activation: &'static str,
    hidden_layers: usize,
    state: &'static str,
    ratio_low: f64,
    ratio_median: f64,
    ratio_high: f64,
    /// Largest difference of the means, in sampled standard deviations.
    mean_off: f64,
}

#[derive(Serialize, Clone, Copy)]
struct Posterior {
    mean: f64,
    std: f64,
}

#[derive(Serialize, Clone)]
struct Conditioned {
    prior_mean: f64,
    prior_std: f64,
    wanted: f64,
    noise_std: f64,
    sampled: Posterior,
    /// The best Gaussian of input and output together, from the same draws.
    full: Posterior,
    once: Posterior,
    rounds: Posterior,
    /// Draws that count, after weighting.
    effective_draws: f64,
}

#[derive(Serialize)]
struct Precision {
    what: &'static str,
    files: usize,
    worst: f64,
}

#[derive(Serialize)]
struct All {
    draws: usize,
    relu: Vec<Relu>,
    spread: Vec<VarianceCheck>,
    conditioning: Vec<Conditioned>,
    precision: Vec<Precision>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.draws < 100 {
        return Err(Exit::Error("--draws: a hundred are the least".into()));
    }
    let clock = Clock::start();
    let relu = [-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0].map(one_relu).into();
    let mut kinds = Vec::new();
    for activation in [Activation::MixtureRelu, Activation::Relu] {
        for hidden in 1..=3 {
            kinds.extend([(activation, hidden, false), (activation, hidden, true)]);
        }
    }
    let spread = side_by_side(&kinds, "networks", |&(a, hidden, trained)| spread(args, a, hidden, trained))?;
    let stds = [0.01, 0.03, 0.1, 0.3];
    let conditioning = side_by_side(&stds, "posteriors", |&std| conditioned(args, std))?;
    let own = Path::new("crates/tractable/tests/data");
    let precision = match &args.reference {
        Some(folder) => precision(folder)?,
        None if own.is_dir() => precision(own)?,
        None => {
            note("not in the repository: reference vectors are left out");
            Vec::new()
        }
    };
    let all = All { draws: args.draws, relu, spread, conditioning, precision };
    let report = Report::new(args.json);
    if args.json {
        all.relu.iter().try_for_each(|r| report.say("relu", r, String::new))?;
        all.spread.iter().try_for_each(|r| report.say("spread", r, String::new))?;
        all.conditioning.iter().try_for_each(|r| report.say("conditioning", r, String::new))?;
        all.precision.iter().try_for_each(|r| report.say("precision", r, String::new))?;
    } else {
        report.say("", &(), || text(&all))?;
    }
    let command = format!("tractable reproduce numerics --draws {} --seed {}", args.draws, args.seed);
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, "numerics", &command, &all))
}

fn one_relu(at: f64) -> Relu {
    let (exact, linear) = (mixture_relu::moments(at, 1.0), relu::moments(at, 1.0));
    Relu {
        at,
        exact_mean: exact.mean,
        linear_mean: linear.mean,
        exact_std: exact.var.sqrt(),
        linear_std: linear.var.sqrt(),
    }
}

/// 1-50-...-1, as it begins or after 20 rounds over the curve.
fn network(args: &Args, activation: Activation, hidden: usize, trained: bool) -> Result<Network> {
    let widths = [1].into_iter().chain(std::iter::repeat_n(50, hidden)).chain([1]);
    let mut net = Network::mlp(widths, activation).seed(args.seed).device(Device::cpu(1)).build()?;
    if trained {
        let x: Vec<f64> = (0..200).map(|i| 4.0 * f64::from(i) / 199.0 - 2.0).collect();
        let y = x.iter().map(|x| x.powi(3) - 3.0 * x).collect();
        let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?;
        net.fit(&data, &Fit::new().epochs(20).batch(1).noise_std(0.1).seed(args.seed))?;
    }
    Ok(net)
}

/// One network of known weights, drawn from one of uncertain weights; ReLU between its layers.
struct Drawn {
    layers: Vec<(Vec<f64>, Vec<f64>)>,
}

/// Means and standard deviations.
type Normals = Vec<(f64, f64)>;

/// The weights and biases of every layer.
fn normals(net: &Network) -> Result<Vec<[Normals; 2]>> {
    let of = |g: &Gaussian| g.mean().iter().copied().zip(g.std()).collect();
    let layers = net.layer_names().iter().filter_map(|name| net.weights(name).transpose());
    layers.map(|both| both.map(|(w, b)| [of(&w), of(&b)])).collect()
}

impl Drawn {
    fn draw(from: &[[Normals; 2]], normal: &mut impl FnMut() -> f64) -> Self {
        let mut one = |of: &Normals| of.iter().map(|(mean, std)| mean + std * normal()).collect();
        Drawn { layers: from.iter().map(|[w, b]| (one(w), one(b))).collect() }
    }

    fn output(&self, x: f64) -> f64 {
        let mut a = vec![x];
        for (i, (weights, biases)) in self.layers.iter().enumerate() {
            let row = |(w, b): (&[f64], &f64)| w.iter().zip(&a).map(|(w, a)| w * a).sum::<f64>() + b;
            let z = weights.chunks_exact(a.len()).zip(biases).map(row);
            let last = i + 1 == self.layers.len();
            a = z.map(|z| if last { z } else { z.max(0.0) }).collect();
        }
        a[0]
    }
}

fn spread(args: &Args, activation: Activation, hidden: usize, trained: bool) -> Result<VarianceCheck> {
    let net = network(args, activation, hidden, trained)?;
    let from = normals(&net)?;
    let x: Vec<f64> = (0..9).map(|i| f64::from(i) / 2.0 - 2.0).collect();
    let mut random = rng::stream(args.seed, "numerics spread", hidden as u64);
    let mut normal = || rng::standard_normal(&mut random);
    let (mut sum, mut squares) = ([0.0; 9], [0.0; 9]);
    let said = net.predict(&Matrix::column(x.clone())?)?;
    for _ in 0..args.draws {
        let drawn = Drawn::draw(&from, &mut normal);
        for (i, &x) in x.iter().enumerate() {
            // From the network's own mean, so that little is lost in the difference of the sums.
            let y = drawn.output(x) - said.mean()[i];
            (sum[i], squares[i]) = (sum[i] + y, squares[i] + y * y);
        }
    }
    let n = args.draws as f64;
    let std: Vec<f64> = (0..9).map(|i| ((squares[i] - sum[i] * sum[i] / n) / (n - 1.0)).sqrt()).collect();
    let mut ratios: Vec<f64> = said.output().std().iter().zip(&std).map(|(said, std)| said / std).collect();
    ratios.sort_by(f64::total_cmp);
    let mean_off = sum.iter().zip(&std).map(|(s, std)| (s / n / std).abs()).fold(0.0, f64::max);
    Ok(VarianceCheck {
        activation: if activation == Activation::Relu { "ReLU, linearised" } else { "ReLU, exact moments" },
        hidden_layers: hidden,
        state: if trained { "learned" } else { "prior" },
        ratio_low: ratios[0],
        ratio_median: ratios[4],
        ratio_high: ratios[8],
        mean_off,
    })
}

/// x is 0.5 and uncertain, y = -1 is wanted: the curve x^3 - 3x has it at 0.347.
fn conditioned(args: &Args, prior_std: f64) -> Result<Conditioned> {
    let (prior_mean, wanted, noise_std) = (0.5, -1.0, 0.1);
    let net = network(args, Activation::MixtureRelu, 2, true)?;
    let from = normals(&net)?;
    let mut random = rng::stream(args.seed, "numerics conditioning", 0);
    let mut normal = || rng::standard_normal(&mut random);
    let mut drawn = Vec::with_capacity(args.draws);
    for _ in 0..args.draws {
        let x = prior_mean + prior_std * normal();
        let y = Drawn::draw(&from, &mut normal).output(x);
        drawn.push((x, y, (-0.5 * ((wanted - y) / noise_std).powi(2)).exp()));
    }
    let weight: f64 = drawn.iter().map(|d| d.2).sum();
    let mean = drawn.iter().map(|d| d.2 * d.0).sum::<f64>() / weight;
    let var = drawn.iter().map(|d| d.2 * (d.0 - mean).powi(2)).sum::<f64>() / weight;
    let effective_draws = weight * weight / drawn.iter().map(|d| d.2 * d.2).sum::<f64>();
    let n = args.draws as f64;
    let (x, y) = (drawn.iter().map(|d| d.0).sum::<f64>() / n, drawn.iter().map(|d| d.1).sum::<f64>() / n);
    let cov = drawn.iter().map(|d| (d.0 - x) * (d.1 - y)).sum::<f64>() / n;
    let seen = drawn.iter().map(|d| (d.1 - y).powi(2)).sum::<f64>() / n + noise_std * noise_std;
    let prior_var = prior_std * prior_std;
    let full = Posterior {
        mean: prior_mean + cov / seen * (wanted - y),
        std: (prior_var - cov * cov / seen).sqrt(),
    };
    let prior = Gaussian::new(vec![prior_mean], vec![prior_var], 1)?;
    let wish = Matrix::column(vec![wanted])?;
    let condition = |rounds: usize| {
        let noise = noise_std * noise_std * rounds as f64;
        let x = net.search(&prior, Wanted::from(&wish).noise_var(noise).rounds(rounds))?;
        Ok::<_, tractable::Error>(Posterior { mean: x.mean()[0], std: x.std()[0] })
    };
    Ok(Conditioned {
        prior_mean,
        prior_std,
        wanted,
        noise_std,
        sampled: Posterior { mean, std: var.sqrt() },
        full,
        once: condition(1)?,
        rounds: condition(100)?,
        effective_draws,
    })
}

fn precision(folder: &Path) -> Outcome<Vec<Precision>> {
    let row = |what, files: Vec<Checked>| {
        let checked = files.iter().filter(|f| f.status == verify::Status::Checked);
        // NaN is the worst.
        let worst =
            checked.clone().map(|f| f.worst).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a });
        Precision { what, files: checked.count(), worst }
    };
    let golden = folder.join("golden");
    Ok(vec![
        row(
            "reference vectors, fast device (f32), relative",
            verify::golden(&golden, Device::cpu(console::threads()))?,
        ),
        row(
            "reference vectors, reference device (f64), relative",
            verify::golden(&golden, Device::reference())?,
        ),
        row("steps and trajectories of MuJoCo, absolute", verify::physics(&folder.join("physics"))?),
    ])
}

fn text(all: &All) -> String {
    let head = |names: &[&str]| vec![names.iter().map(|n| n.to_string()).collect::<Vec<_>>()];
    let mut relu = head(&["mean of z", "exact mean", "linearised", "exact std", "linearised"]);
    relu.extend(all.relu.iter().map(|r| {
        [r.at, r.exact_mean, r.linear_mean, r.exact_std, r.linear_std].map(|v| format!("{v:.3}")).to_vec()
    }));
    let mut spread =
        head(&["activation", "hidden layers", "weights", "std / sampled", "lowest", "highest", "mean off"]);
    spread.extend(all.spread.iter().map(|r| {
        let numbers = [r.ratio_median, r.ratio_low, r.ratio_high, r.mean_off].map(|v| format!("{v:.3}"));
        [vec![r.activation.into(), r.hidden_layers.to_string(), r.state.into()], numbers.to_vec()].concat()
    }));
    let mut posteriors =
        head(&["std before", "sampled", "full covariance", "condition once", "in 100 rounds", "draws"]);
    posteriors.extend(all.conditioning.iter().map(|c| {
        let pair = |p: Posterior| format!("{:.3} ± {:.3}", p.mean, p.std);
        let cells = [c.sampled, c.full, c.once, c.rounds].map(pair);
        [vec![c.prior_std.to_string()], cells.to_vec(), vec![format!("{:.0}", c.effective_draws)]].concat()
    }));
    let mut precision = head(&["computed again", "files", "worst error"]);
    precision.extend(
        all.precision.iter().map(|p| vec![p.what.into(), p.files.to_string(), format!("{:.1e}", p.worst)]),
    );
    [table(&relu, &[]), table(&spread, &[0, 2]), table(&posteriors, &[]), table(&precision, &[0])].join("\n")
}
