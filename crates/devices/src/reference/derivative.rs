//! Derivatives on the reference device: a literal sum over the branches of every unit.

use super::Reference;
use super::parts::State;
use crate::Units;
use tractable_core::moments::derivative::{Gate, Unit, UnitDerivative, repaired};
use tractable_core::moments::{Activation, Moments};

/// One node a unit, `[row][unit]`.
pub type Derivative = Vec<UnitDerivative<f64>>;

impl Units<'_, State> {
    fn moments(&self, unit: usize) -> Moments<f64> {
        let slope = if self.activation == Activation::Identity { 1.0 } else { self.a.slope[unit] };
        Moments { mean: self.a.mean[unit], var: self.a.var[unit], slope }
    }

    fn unit(&self, unit: usize) -> Unit<f64> {
        Unit::new(self.activation, self.z.mean[unit], self.z.var[unit], self.moments(unit))
    }
}

impl Reference {
    pub(super) fn derivative_of_output(units: Units<'_, State>, output: usize) -> Derivative {
        let width = units.z.shape.len();
        let chosen = |unit: usize| if unit % width == output { 1.0 } else { 0.0 };
        (0..units.z.mean.len()).map(|unit| UnitDerivative::output(&units.unit(unit), chosen(unit))).collect()
    }

    /// `branches` calls its argument with (unit above, unit below, mean, variance) of every weight between them.
    pub(super) fn derivative_below(
        branches: impl FnOnce(&mut dyn FnMut(usize, usize, f64, f64)),
        below: &Units<'_, State>,
        above: &Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        let units: Vec<_> = (0..below.z.mean.len()).map(|unit| below.unit(unit)).collect();
        let factors: Vec<_> = (0..above.z.mean.len())
            .map(|unit| gate.factors(below.activation, &above.unit(unit), above.moments(unit)))
            .collect();
        if !more {
            *d = vec![UnitDerivative::default(); units.len()];
        }
        branches(&mut |out, from, mu_w, var_w| {
            d[from].add(mu_w, var_w, &units[from], &d_above[out], factors[out]);
        });
        d.iter_mut().for_each(|node| node.var = repaired(node.var));
    }
}
