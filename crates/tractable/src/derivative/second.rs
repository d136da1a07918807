//! Second derivatives of the mean network: the curvature of every activation times the squared derivative of its unit.

use crate::engine::{MeanVar, Slope};
use crate::graph::Graph;
use crate::layer::Layer;
use crate::moments::Activation;
use crate::moments::derivative::Unit;

/// T36. `d^2(output)/d(unit)^2` for every unit of a state and one row: `sum_a rest_a E[phi''(z_a)] t_a^2` over all
/// activations `a` above, where `rest` is the derivative with respect to the activation and `t` that of its `z` with respect to the unit.
///
/// `weights` are those of every layer, `[out, in]`; `states` the mean and variance of the input and of every layer.
pub(super) fn by_units(
    graph: &Graph,
    weights: &[&[f64]],
    states: &[MeanVar],
    slope: Slope,
    row: usize,
    rows: usize,
) -> Vec<f64> {
    let all: Vec<usize> = (0..graph.shapes[slope.at].len()).collect();
    let mut second = vec![0.0; all.len()];
    each_bend(graph, weights, states, slope, &all, (row, rows), |bend, t| {
        second.iter_mut().zip(t).for_each(|(sum, t)| *sum += bend * t * t); // T36
    });
    second
}

/// Second derivatives of a sample by these units and each other, `d^2(output)/(d(unit) d(other))`, row after row.
pub(super) fn matrix(
    graph: &Graph,
    weights: &[&[f64]],
    states: &[MeanVar],
    slope: Slope,
    units: &[usize],
    (row, rows): (usize, usize),
) -> Vec<f64> {
    let width = units.len();
    let mut second = vec![0.0; width * width];
    each_bend(graph, weights, states, slope, units, (row, rows), |bend, t| {
        for (row, a) in second.chunks_exact_mut(width).zip(t) {
            row.iter_mut().zip(t).for_each(|(sum, b)| *sum += bend * a * b); // T36
        }
    });
    second
}

/// Calls `f(curvature of the output by an activation, derivatives of its unit by these units of the state)`.
fn each_bend(
    graph: &Graph,
    weights: &[&[f64]],
    states: &[MeanVar],
    slope: Slope,
    units: &[usize],
    (row, rows): (usize, usize),
    mut f: impl FnMut(f64, &[f64]),
) {
    let of_row = |v: &[f64]| -> std::ops::Range<usize> { row * v.len() / rows..(row + 1) * v.len() / rows };
    let width = graph.shapes[slope.at].len();
    let curves = |layer: usize, function: Activation| {
        let [mean, var] = &states[graph.inputs[layer][0]];
        let z = mean[of_row(mean)].iter().zip(&var[of_row(var)]);
        z.map(|(&m, &v)| Unit::new(function, m, v, function.moments(m, v)).curve).collect::<Vec<_>>()
    };
    // Up: how every state moves with each unit, `[unit of the state][unit asked for]`; empty where it does not.
    let one = |i: usize| units.iter().map(|&j| if i == j { 1.0 } else { 0.0 }).collect();
    let mut tangents: Vec<Vec<Vec<f64>>> = vec![Vec::new(); states.len()];
    tangents[slope.at] = (0..width).map(one).collect();
    for (i, layer) in graph.layers.iter().enumerate().skip(slope.at) {
        let moved = graph.inputs[i].iter().map(|&s| &tangents[s]).filter(|t| !t.is_empty());
        tangents[i + 1] = match *layer {
            Layer::Activation { function } => moved
                .flat_map(|t| t.iter().zip(curves(i, function)))
                .map(|(t, curve)| t.iter().map(|t| t * curve.mean).collect())
                .collect(),
            Layer::Add => {
                moved.fold(Vec::new(), |sum, t| if sum.is_empty() { t.clone() } else { plus(sum, t) })
            }
            _ => moved.flat_map(|t| times(weights[i], t)).collect(),
        };
    }
    // Down: how much the output moves with every state.
    let mut rests: Vec<Vec<f64>> = graph.shapes.iter().map(|s| vec![0.0; s.len()]).collect();
    rests[graph.output()][slope.output] = 1.0;
    for (i, layer) in graph.layers.iter().enumerate().skip(slope.at).rev() {
        let mut rest = std::mem::take(&mut rests[i + 1]);
        match *layer {
            Layer::Activation { function } => {
                let moved = &tangents[graph.inputs[i][0]];
                for (unit, curve) in curves(i, function).iter().enumerate() {
                    let bend = rest[unit] * curve.bend;
                    let t = moved.get(unit).map_or(&[][..], |t| t);
                    f(bend, t);
                    rest[unit] *= curve.mean;
                }
            }
            Layer::Add => {}
            _ => rest = back(weights[i], &rest),
        }
        for &below in &graph.inputs[i] {
            rests[below].iter_mut().zip(&rest).for_each(|(sum, rest)| *sum += rest);
        }
    }
}

/// The sum of two matrices.
fn plus(mut a: Vec<Vec<f64>>, b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter_mut().flatten().zip(b.iter().flatten()).for_each(|(a, b)| *a += b);
    a
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
