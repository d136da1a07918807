//! The dependence of the output on every weight, to first order: the inputs of a layer's weights, and the slope of the output
//! with respect to their results.

use super::Network;
use crate::layer::Layer;
use tractable_core::error::Result;
use tractable_core::gaussian::Input;
use tractable_devices::{Field, Purpose};

/// A dense layer in a batch. The slope of the output with respect to the weight from `i` to `o` is `input[i] slope[o]`,
/// with respect to a bias `slope[o]`.
pub struct LayerSlopes {
    /// Inputs of the weights, `[rows, inputs]`.
    pub input: Vec<f64>,
    /// Results of the weights, `[rows, outputs]`,
    pub made: Vec<f64>,
    /// and the slope of the output with respect to them.
    pub slope: Vec<f64>,
    /// Prior variance of a weight and of a bias.
    pub prior: [f64; 2],
}

impl Network {
    /// Whether [`slopes`](Network::slopes) can be computed: all parameters are in dense layers.
    #[doc(hidden)]
    pub fn is_dense(&self) -> bool {
        let parameters = (0..self.spec.layers.len()).filter(|&i| self.graph.has_parameters(i));
        parameters.into_iter().all(|i| matches!(self.spec.layers[i], Layer::Linear { .. }))
    }

    /// Every layer with parameters except the noise head, for inputs in the network's own units.
    #[doc(hidden)]
    pub fn slopes(&self, x: Input<'_>, output: usize) -> Result<Vec<LayerSlopes>> {
        let (rows, units) = (x.rows(), self.spec.output.units());
        let mut pass = self.engine.pass();
        pass.write(0, x.mean(), x.var())?;
        pass.run(&self.forward, None)?;
        let only: Vec<f64> = (0..rows * units).map(|i| f64::from(u8::from(i % units == output))).collect();
        pass.innovate(&only)?;
        let learns = |i: usize| self.graph.has_parameters(i) && self.graph.head != Some(i);
        pass.run(&self.graph.back(Purpose::Predict, |s| s > 0 && learns(s - 1)), None)?;
        (0..self.spec.layers.len())
            .filter(|&i| learns(i))
            .map(|i| {
                let [weight, bias] = self.spec.prior_of(&self.graph, i)?.expect("it has parameters");
                Ok(LayerSlopes {
                    input: pass.read(self.graph.inputs[i][0], Field::Mean)?,
                    made: pass.read(i + 1, Field::Mean)?,
                    slope: pass.read(i + 1, Field::DMean)?,
                    prior: [weight[1], bias[1]],
                })
            })
            .collect()
    }
}
