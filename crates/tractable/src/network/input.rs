//! Passes that move the input: one round of conditioning, and the gradient by the input. For applications that
//! look at the output on the way and repeat.

use super::{Engine, Network};
use crate::backend::{NoiseVar, Seen};
use crate::error::Result;
use crate::gaussian::{Gaussian, Input};
use crate::output::Tree;
use crate::stack::MeanVar;

impl Network {
    /// Rows that a pass should take at a time at most.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once
    }

    /// One round of [`condition`](Network::condition) on labels, seen without noise: the output's nodes as they were
    /// before, and the posterior of the input, in the user's units. At most [`at_once`](Self::at_once) rows.
    pub(crate) fn round(&self, x: &Gaussian, labels: &[usize], tree: Tree) -> Result<(MeanVar, Gaussian)> {
        let nodes = tree.nodes();
        let (mut y, mut seen) = (vec![0.0; labels.len() * nodes], vec![false; labels.len() * nodes]);
        for (row, &label) in labels.iter().enumerate() {
            let at = row * nodes..(row + 1) * nodes;
            tree.observe(label, &mut y[at.clone()], &mut seen[at]);
        }
        let seen = Seen { y: &y, noise: NoiseVar::One(0.0), seen: Some(&seen) };
        let mut buffers = Default::default();
        let (mean, var) = self.standardize(Input::from(x), &mut buffers);
        let var = var.expect("a Gaussian has variances");
        let done = on_device!(&self.engine, stack => stack.round(mean, var, seen));
        let [output, posterior] = done.map_err(|b| self.diverged(b))?;
        let posterior = self.in_users_units(posterior, x.rows(), self.spec.input_scaler.as_ref(), 0)?;
        Ok((output, posterior))
    }

    /// The output's nodes, and the gradient by the input, in the user's units, of a function of their means.
    /// `by_output` gives its gradient by those means; variances count as constant. At most
    /// [`at_once`](Self::at_once) rows.
    pub(crate) fn input_gradient(
        &self,
        x: Input<'_>,
        by_output: impl FnOnce(&MeanVar) -> Vec<f64>,
    ) -> Result<(MeanVar, Vec<f64>)> {
        let mut buffers = Default::default();
        let (mean, _) = self.standardize(x, &mut buffers);
        let done = on_device!(&self.engine, stack => stack.gradient(mean, by_output));
        let (output, mut gradient) = done.map_err(|b| self.diverged(b))?;
        if let Some(scaler) = &self.spec.input_scaler {
            gradient.iter_mut().zip(scaler.std().iter().cycle()).for_each(|(g, std)| *g /= std);
        }
        Ok((output, gradient))
    }
}
