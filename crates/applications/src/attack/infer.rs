//! [`infer`]: attacks by inference of the image from a wrong label.

use super::lanes::{self, Lanes, Method, Moved};
use super::{Attacked, Budget, Settings, Targets, resident};
use tractable_core::error::Result;
use tractable_core::gaussian::{Input, Matrix};
use tractable_network::network::Network;
use tractable_network::output::Wanted;

/// With known weights, an iteration covers at most this share of an L2 budget: longer steps would only be projected back.
const OF_BUDGET: f64 = 0.33;

/// Changes images until the network misclassifies them, by inference: repeatedly the posterior of the image given the
/// target label. One result for each attack of `targets`, in their order.
///
/// Without a target and with known weights, as by default, any other label will do: every iteration moves towards the one that
/// it takes least to reach. With uncertain weights the observed label is the most likely wrong one at the start. Results are
/// bit-identical for any number of threads and any other images in the same call.
///
/// # Errors
/// If the network has no classes, images have another size, pixels are outside the range, labels are not
/// classes, a target is the image's own class, or settings are invalid.
///
/// ```
/// use tractable::{Activation, Matrix, Network, attack};
/// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
/// let images = Matrix::new(vec![0.1, 0.9, 0.5, 0.3, 0.8, 0.2, 0.4, 0.6], 4)?;
/// let targets = attack::Targets::all_wrong(&[0, 2]);
/// let found = attack::infer(&net, &images, &targets, &attack::Settings::new().iterations(20))?;
/// assert_eq!(found.len(), 4);
/// assert!(found.iter().all(|a| a.iterations <= 20 && a.after.len() == 3));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn infer(
    net: &Network,
    images: &Matrix,
    targets: &Targets<'_>,
    settings: &Settings,
) -> Result<Vec<Attacked>> {
    let std = match settings.budget {
        Some(Budget::L2(size)) if settings.known_weights => {
            settings.prior_std.min(OF_BUDGET * size / (images.width() as f64).sqrt())
        }
        _ => settings.prior_std,
    };
    let prior_var = std * std;
    let begun = lanes::begin(net, images, targets, settings)?;
    if settings.known_weights
        && let Some(searches) = net.searches(resident::SLOTS)?
    {
        return resident::run(net, searches, images, settings, &begun, prior_var);
    }
    let step = |lanes: &Lanes<'_>| {
        let x = Input::uncertain(&lanes.mean, &lanes.var, images.width())?;
        if lanes.var.iter().all(|&v| v == 0.0) {
            // Nothing can move any more.
            let output = lanes.net.predict(x)?.into();
            return Ok(Moved { output, exact: true, mean: lanes.mean.clone(), var: lanes.var.clone() });
        }
        let labels: Vec<usize> = lanes.tasks.iter().map(|t| t.towards).collect();
        let known = lanes.settings.known_weights;
        let shown: Vec<usize> = lanes.tasks.iter().map(|t| t.label).collect();
        let wanted = match known {
            true if lanes.tasks.iter().all(|t| t.target.is_none()) => Wanted::other_than(&shown),
            true => Wanted::from(&labels[..]).known_weights(),
            false => Wanted::from(&labels[..]),
        };
        let mut image = lanes.net.searching(x, wanted)?;
        let [low, high] = lanes.boxes();
        image.limits(low, high)?;
        let output = image.round()?.output()?;
        let posterior = image.posterior()?;
        Ok(Moved { output, exact: known, mean: posterior.mean().to_vec(), var: posterior.var().to_vec() })
    };
    lanes::run(net, images, settings, &begun, &Method { begin: &|_, _, _| prior_var, step: &step })
}
