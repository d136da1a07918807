//! Forgetting, so that an overconfident network keeps adapting.

use super::Network;
use tractable_core::error::{Error, Result};

impl Network {
    /// Lets the network adapt again: the variance v of every weight and bias moves a `share` of the way back to
    /// its prior, `v + share (prior - v)`; means are unchanged. A share of 0 changes nothing, 1 resets all variances.
    ///
    /// Every observation reduces the variance of the weights, and nothing increases it: after a long stream, or many epochs, a
    /// network stops adapting. Call this regularly, for example every hundred samples of a stream; no
    /// variance then stays below `share` times its prior. The smaller the share, the longer the memory.
    ///
    /// [`UpdateRule::Counted`](crate::UpdateRule::Counted) keeps adapting too, but does not replace this: it keeps old knowledge for
    /// as many rows as it remembers, and a short memory pulls the means to the prior. Use it for data that are seen repeatedly, and
    /// `forget` for streams that jump (`examples/stream.rs` compares them).
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
        self.each_variance(|v, prior| v + share * (prior - v))
    }

    /// Gives less weight to what was learned: multiplies the variance of every weight and bias by a factor, up to
    /// its prior; means are unchanged. The variance of predictions grows by about the same factor. A factor of 1 changes nothing.
    /// [`Drift`](crate::Drift) chooses the factor.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 16, 1], Activation::Tanh).noise_std([0.1]).build()?;
    /// let x = Matrix::column(vec![0.5])?;
    /// for _ in 0..1000 {
    ///     net.learn(&x, &x)?;
    /// }
    /// let sure = net.predict(&x)?.var()[0];
    /// net.discount(2.0)?;
    /// assert!(net.predict(&x)?.var()[0] > 1.5 * sure);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn discount(&mut self, factor: f64) -> Result<()> {
        if factor.is_nan() || factor < 1.0 {
            return Err(Error::invalid("factor", format!("{factor}: must be at least 1")));
        }
        self.each_variance(|v, prior| (factor * v).min(v.max(prior)))
    }

    /// Changes every variance, given its prior.
    fn each_variance(&mut self, change: impl Fn(f64, f64) -> f64) -> Result<()> {
        for layer in 0..self.spec.layers.len() {
            let Some(prior) = self.spec.prior_of(&self.graph, layer)? else { continue };
            let mut contents = self.contents(layer)?.unwrap_or_default();
            let p = &mut contents.parameters;
            for (vars, prior) in [&mut p.var, &mut p.bias_var].into_iter().zip(prior) {
                vars.iter_mut().for_each(|v| *v = change(*v, prior[1]));
            }
            self.fill(layer, 0..contents.parameters.bias_mean.len(), &contents)?;
        }
        Ok(())
    }
}
