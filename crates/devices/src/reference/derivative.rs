//! Derivatives on the reference device: a literal sum over the branches of every unit.

use super::Reference;
use super::parts::{Scratch, State, Weights};
use crate::{Derivatives, Units};
use tractable_core::error::Result;
use tractable_core::moments::derivative::{Gate, Unit, UnitDerivative, repaired};
use tractable_core::moments::{Activation, Moments};

/// One node a unit, `[row][unit]`.
pub(crate) type Derivative = Vec<UnitDerivative<f64>>;

impl Units<'_, State> {
    fn moments(&self, unit: usize) -> Moments<f64> {
        let slope = if self.activation == Activation::Identity { 1.0 } else { self.a.slope[unit] };
        Moments { mean: self.a.mean[unit], var: self.a.var[unit], slope }
    }

    fn unit(&self, unit: usize) -> Unit<f64> {
        Unit::new(self.activation, self.z.mean[unit], self.z.var[unit], self.moments(unit))
    }
}

impl Derivatives for Reference {
    type Derivative = Derivative;

    fn derivative_output(&self, units: Units<'_, State>, output: usize, d: &mut Derivative) {
        let width = units.z.shape.len();
        let chosen = |unit: usize| if unit % width == output { 1.0 } else { 0.0 };
        let node = |unit: usize| UnitDerivative::output(&units.unit(unit), chosen(unit));
        *d = (0..units.z.mean.len()).map(node).collect();
    }

    fn derivative_below(
        &self,
        w: Option<&Weights>,
        _: &mut Scratch,
        below: Units<'_, State>,
        above: Units<'_, State>,
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
        let mut branch = |out: usize, from: usize, mu_w: f64, var_w: f64| {
            d[from].add(mu_w, var_w, &units[from], &d_above[out], factors[out]);
        };
        match w {
            Some(w) => w.each(below.a, above.z, |out, from, weight| {
                branch(out, from, w.p.mean[weight], w.p.var[weight]);
            }),
            // One branch of weight 1 for every unit.
            None => (0..units.len()).for_each(|unit| branch(unit, unit, 1.0, 0.0)),
        }
        d.iter_mut().for_each(|node| node.var = repaired(node.var));
    }

    fn derivative_read(&self, d: &Derivative) -> Result<[Vec<f64>; 3]> {
        let parts: [fn(&UnitDerivative<f64>) -> f64; 3] = [|n| n.mean, |n| n.var, |n| n.cov];
        Ok(parts.map(|part| d.iter().map(part).collect()))
    }
}
