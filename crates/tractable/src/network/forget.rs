//! Forgetting: the remedy for a network that has become too sure of itself to learn anything new.

use super::Network;
use crate::error::{Error, Result};

impl Network {
    /// Makes the network listen again: the variance v of every weight and bias moves a `share` of the way back to
    /// its prior, `v + share (prior - v)`; means stay. A share of 0 changes nothing, 1 forgets all certainty.
    ///
    /// Every observation makes weights surer and nothing makes them less so: after a long stream, or many epochs, a
    /// network no longer follows what changes. Call this now and then, every hundred samples of a stream, say; no
    /// variance then stays below `share` times its prior. The smaller the share, the longer the memory.
    ///
    /// [`UpdateRule::Counted`](crate::UpdateRule::Counted) does not go deaf either, but does not replace this: it holds on to what it
    /// knew for as many rows as it remembers, and a short memory pulls the means to the prior. It is for data that are seen again and
    /// again, this is for streams that jump (`examples/stream.rs` compares them).
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 16, 1], Activation::Tanh).noise_std([0.1]).build()?;
    /// let x = Matrix::column(vec![0.5])?;
    /// net.learn(&x, &Matrix::column(vec![1.0])?)?;
    /// let sure = net.predict(&x)?.var()[0];
    /// net.forget(0.01)?;
    /// assert!(net.predict(&x)?.var()[0] > sure);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn forget(&mut self, share: f64) -> Result<()> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::invalid("share to forget", format!("{share} is not between 0 and 1")));
        }
        for layer in 0..self.spec.layers.len() {
            let Some(prior) = self.spec.prior_of(&self.graph, layer)? else { continue };
            let mut contents = self.contents(layer)?.unwrap_or_default();
            let p = &mut contents.parameters;
            for (vars, prior) in [&mut p.var, &mut p.bias_var].into_iter().zip(prior) {
                vars.iter_mut().for_each(|v| *v += share * (prior[1] - *v));
            }
            self.fill(layer, 0..contents.parameters.bias_mean.len(), &contents)?;
        }
        Ok(())
    }
}
