//! Forgetting: what keeps a network ready to learn while what it learns keeps changing.

use crate::error::Result;
use crate::layer::Contents;
use crate::network::Network;

/// T73. The variance of every weight grows by this part, up to what it was before anything was learned.
pub(super) fn forget(network: &mut Network, part: f64) -> Result<()> {
    if part == 0.0 {
        return Ok(());
    }
    let gain = network.prior().gain;
    let mut contents: Vec<Contents> =
        network.contents().into_iter().map(Option::unwrap_or_default).collect();
    for c in &mut contents {
        let p = &mut c.parameters;
        if p.bias_mean.is_empty() {
            continue;
        }
        let most = gain * p.bias_mean.len() as f64 / p.mean.len() as f64;
        // T73
        p.var.iter_mut().chain(&mut p.bias_var).for_each(|v| *v = (*v * (1.0 + part)).min(most.max(*v)));
    }
    network.refill(&contents)
}
