//! Second derivatives of the mean network: how much every slope on the way bends, times how far its unit moves, squared.

use crate::layer::Layer;
use crate::moments::derivative::Unit;
use crate::stack::{MeanVar, Slope};

/// T36. `d^2(output)/d(unit)^2` for every unit of a layer and one row: `sum_a rest_a E[phi''(z_a)] t_a^2` over all
/// activations `a` above, where `rest` is the derivative by the activation and `t` that of its `z` by the unit.
///
/// `weights` are those of every layer, `[out, in]`; `states` the mean and variance of the input and of every layer.
pub(super) fn by_units(
    layers: &[Layer],
    weights: &[Option<&[f64]>],
    states: &[MeanVar],
    slope: Slope,
    row: usize,
    rows: usize,
) -> Vec<f64> {
    let of_row =
        |v: &'_ [f64]| -> std::ops::Range<usize> { row * v.len() / rows..(row + 1) * v.len() / rows };
    let width = states[slope.at][0].len() / rows;
    // Up: how every layer moves with each unit, `[unit of the layer][unit asked for]`.
    let one = |i: usize| (0..width).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
    let mut tangent: Vec<Vec<f64>> = (0..width).map(one).collect();
    let mut bends = Vec::new();
    for (i, layer) in layers.iter().enumerate().skip(slope.at) {
        match (layer, weights[i]) {
            (&Layer::Activation { function }, _) => {
                let [mean, var] = &states[i];
                let z = mean[of_row(mean)].iter().zip(&var[of_row(var)]);
                let curves: Vec<_> =
                    z.map(|(&m, &v)| Unit::new(function, m, v, function.moments(m, v)).curve).collect();
                let moved = tangent.clone();
                for (t, curve) in tangent.iter_mut().zip(&curves) {
                    t.iter_mut().for_each(|t| *t *= curve.mean);
                }
                bends.push((curves, moved));
            }
            (_, Some(weights)) => tangent = times(weights, &tangent),
            _ => unreachable!("layers are dense"),
        }
    }
    // Down: how much the output moves with every activation.
    let [output, _] = &states[layers.len()];
    let mut rest = vec![0.0; output.len() / rows];
    rest[slope.output] = 1.0;
    let mut second = vec![0.0; width];
    for weights in weights[slope.at..].iter().rev() {
        if let Some(weights) = weights {
            rest = back(weights, &rest);
            continue;
        }
        let (curves, moved) = bends.pop().expect("one for every activation");
        for ((curve, rest), moved) in curves.iter().zip(&mut rest).zip(&moved) {
            let bend = *rest * curve.bend;
            second.iter_mut().zip(moved).for_each(|(sum, t)| *sum += bend * t * t); // T36
            *rest *= curve.mean;
        }
    }
    second
}

/// `[out, in]` weights times a matrix `[in][columns]`.
fn times(weights: &[f64], x: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = x[0].len();
    let product = |weights: &[f64]| {
        let mut sum = vec![0.0; columns];
        for (w, x) in weights.iter().zip(x) {
            sum.iter_mut().zip(x).for_each(|(s, x)| *s += w * x);
        }
        sum
    };
    weights.chunks_exact(x.len()).map(product).collect()
}

/// A row `[out]` times `[out, in]` weights.
fn back(weights: &[f64], d: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; weights.len() / d.len()];
    for (weights, d) in weights.chunks_exact(sum.len()).zip(d) {
        sum.iter_mut().zip(weights).for_each(|(s, w)| *s += w * d);
    }
    sum
}
