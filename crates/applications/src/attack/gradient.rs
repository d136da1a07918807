//! Gradient attacks, for comparison: [`fgsm`] and [`pgd`], on the network of means.

use super::lanes::{self, Lanes, Method, Moved};
use super::limits::l2;
use super::targets::Task;
use super::{Attacked, Budget, Settings, Targets};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::rng::{self, Rng, standard_normal};
use tractable_network::network::Network;
use tractable_network::output::{ClassUnits, Output};

/// The gradient of `ln P(label)` with respect to the pixels, for every image: of the network of means, with constant
/// variances. Innovations of means go back through every layer like a gradient, so this takes one pass.
///
/// # Errors
/// If the network has no classes, images have another size, or labels are not classes.
///
/// ```
/// use tractable::{Activation, Matrix, Network, attack};
/// let net = Network::mlp([2, 16, 3], Activation::Tanh).classes(3).seed(1).build()?;
/// let (x, h) = ([0.3, 0.7], 1e-2);
/// let slope = attack::gradient(&net, &Matrix::new(x.to_vec(), 2)?, &[2])?;
/// let p = |x0: f64| Ok::<_, tractable::Error>(net.predict_classes(&Matrix::new(vec![x0, x[1]], 2)?)?.row(0)[2]);
/// let change = p(x[0] + h)?.ln() - p(x[0] - h)?.ln();
/// assert!(change.signum() == slope.row(0)[0].signum());
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn gradient(net: &Network, images: &Matrix, labels: &[usize]) -> Result<Matrix> {
    let Output::Classes { classes, .. } = net.output() else {
        return Err(Error::invalid("gradient", "this is a regression model; it has no class gradient"));
    };
    Targets::untargeted(labels).check(images.rows(), classes)?;
    let units = net.output().class_units()?;
    let mut all = Vec::with_capacity(images.data().len());
    for from in (0..images.rows()).step_by(net.rows_at_once()) {
        let to = images.rows().min(from + net.rows_at_once());
        let signed: Vec<(usize, f64)> = labels[from..to].iter().map(|&l| (l, 1.0)).collect();
        let mut sizes = Vec::new();
        let x = Input::from(images).rows_between(from, to);
        let (_, part) = net.gradient(x, |out| by_units(units, out, &signed, &mut sizes))?;
        for (row, size) in part.data().chunks_exact(images.width()).zip(&sizes) {
            all.extend(row.iter().map(|g| g * size));
        }
    }
    Matrix::new(all, images.width())
}

/// The gradient of `sign ln P(class)` by the means of the output's units, row after row, each divided by its largest entry, which goes
/// to `sizes`: for a confident network it would be too small for single precision.
fn by_units(
    units: ClassUnits,
    out: &Gaussian,
    signed: &[(usize, f64)],
    sizes: &mut Vec<f64>,
) -> Result<Matrix> {
    let width = units.units();
    let rows = out.mean().chunks_exact(width).zip(out.var().chunks_exact(width)).zip(signed);
    let mut all = Vec::with_capacity(out.mean().len());
    for ((mean, var), &(class, sign)) in rows {
        let gradient = units.ln_gradient(class, mean, var);
        let size = gradient.iter().fold(0.0, |s: f64, g| s.max(g.abs()));
        let size = if size > 0.0 { size } else { 1.0 };
        sizes.push(size);
        all.extend(gradient.iter().map(|g| sign * g / size));
    }
    Matrix::new(all, width)
}

/// The fast gradient sign method: one step of the size of the budget, which must be set; iterations and random start
/// are ignored. For L2 the step follows the gradient itself.
///
/// # Errors
/// As for [`infer`](super::infer), and if there is no budget.
///
/// ```
/// use tractable::{Activation, Matrix, Network, attack};
/// let net = Network::mlp([2, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
/// let image = Matrix::new(vec![0.3, 0.7], 2)?;
/// let settings = attack::Settings::new().budget(attack::Budget::Linf(0.1));
/// let found = attack::fgsm(&net, &image, &attack::Targets::untargeted(&[0]), &settings)?;
/// assert!(found[0].l_inf <= 0.1 + 1e-12);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn fgsm(
    net: &Network,
    images: &Matrix,
    targets: &Targets<'_>,
    settings: &Settings,
) -> Result<Vec<Attacked>> {
    let budget = budget_of(settings)?;
    let once = Settings { iterations: 1, random_start: None, step: Some(budget.size()), ..settings.clone() };
    pgd(net, images, targets, &once)
}

/// Projected gradient descent: steps along the sign of the gradient (L-inf) or along the gradient (L2), each projected
/// onto the budget, which must be set. Towards the target or, without one, away from the label.
///
/// # Errors
/// As for [`infer`](super::infer), and if there is no budget.
///
/// ```
/// use tractable::{Activation, Matrix, Network, attack};
/// let net = Network::mlp([2, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
/// let image = Matrix::new(vec![0.3, 0.7], 2)?;
/// let settings = attack::Settings::new().iterations(40).budget(attack::Budget::L2(0.5)).random_start(0);
/// let found = attack::pgd(&net, &image, &attack::Targets::untargeted(&[0]), &settings)?;
/// assert!(found[0].l2 <= 0.5 + 1e-12);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn pgd(
    net: &Network,
    images: &Matrix,
    targets: &Targets<'_>,
    settings: &Settings,
) -> Result<Vec<Attacked>> {
    let budget = budget_of(settings)?;
    let length = settings.step.unwrap_or(2.5 * budget.size() / settings.iterations.max(1) as f64);
    let begin = |number: usize, _: &Task, x: &mut [f64]| {
        if let Some(seed) = settings.random_start {
            somewhere(budget, x, &mut rng::stream(seed, "pgd", number as u64));
        }
        0.0
    };
    let width = images.width();
    let step = |lanes: &Lanes<'_>| {
        let signed: Vec<(usize, f64)> =
            lanes.tasks.iter().map(|t| t.target.map_or((t.label, -1.0), |target| (target, 1.0))).collect();
        let of_units = |out: &Gaussian| by_units(lanes.units, out, &signed, &mut Vec::new());
        let (output, gradient) = lanes.net.gradient(Input::exact(&lanes.mean, width)?, of_units)?;
        let (mut gradient, mut mean) = (gradient.data().to_vec(), lanes.mean.clone());
        for (lane, (g, x)) in gradient.chunks_exact_mut(width).zip(mean.chunks_exact_mut(width)).enumerate() {
            let limits = lanes.limits(lane);
            (0..width).filter(|&i| limits.is_frozen(i)).for_each(|i| g[i] = 0.0);
            ascend(budget, length, g, x);
        }
        Ok(Moved { output, exact: true, mean, var: lanes.var.clone() })
    };
    let begun = lanes::begin(net, images, targets, settings)?;
    lanes::run(net, images, settings, &begun, &Method { begin: &begin, step: &step })
}

fn budget_of(settings: &Settings) -> Result<Budget> {
    settings.budget.ok_or_else(|| {
        Error::invalid(
            "budget",
            "gradient attacks need a budget; set an L-inf or L2 budget, or use inference",
        )
    })
}

/// One step of this length up a gradient.
fn ascend(budget: Budget, length: f64, gradient: &[f64], x: &mut [f64]) {
    match budget {
        Budget::Linf(_) => {
            let sign = |g: f64| if g == 0.0 { 0.0 } else { g.signum() };
            x.iter_mut().zip(gradient).for_each(|(x, g)| *x += length * sign(*g));
        }
        Budget::L2(_) => {
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            if norm > 0.0 {
                x.iter_mut().zip(gradient).for_each(|(x, g)| *x += length / norm * g);
            }
        }
    }
}

/// Moves to a random point inside the budget: uniform in the L-inf box; in L2, in a uniform direction, uniformly far.
fn somewhere(budget: Budget, x: &mut [f64], rng: &mut impl Rng) {
    let mut unit = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    match budget {
        Budget::Linf(size) => x.iter_mut().for_each(|x| *x += size * (2.0 * unit() - 1.0)),
        Budget::L2(size) => {
            let far = size * unit();
            let direction: Vec<f64> = x.iter().map(|_| standard_normal(rng)).collect();
            let norm = l2(&direction, &vec![0.0; x.len()]);
            x.iter_mut().zip(&direction).for_each(|(x, d)| *x += far / norm * d);
        }
    }
}
