//! Second derivatives of the mean network: the curvature of every activation times the squared derivative of its unit.

use crate::engine::{MeanVar, Slope};
use crate::graph::Graph;
use crate::layer::Layer;
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::{Curve, Unit};

/// A network after a forward pass: the means of the weights of every layer, `[out, in]`, and the mean and variance of the input and of
/// every layer, `[rows, width]`.
pub(super) struct Passed<'a> {
    pub(super) graph: &'a Graph,
    pub(super) weights: &'a [&'a [f64]],
    pub(super) states: &'a [MeanVar],
    pub(super) rows: usize,
}

impl Passed<'_> {
    /// T36. `d^2(output)/d(unit)^2` for every unit of a state, `[rows, width]`: `sum_a rest_a E[phi''(z_a)] t_a^2` over all
    /// activations `a` above, where `rest` is the derivative with respect to the activation and `t` that of its `z` with respect to the unit.
    pub(super) fn by_units(&self, slope: Slope) -> Vec<f64> {
        let all: Vec<usize> = (0..self.graph.shapes[slope.at].len()).collect();
        let mut second = vec![0.0; self.rows * all.len()];
        self.each_bend(slope, &all, |row, bend, t| {
            let sums = &mut second[row * t.len()..][..t.len()];
            sums.iter_mut().zip(t).for_each(|(sum, t)| *sum += bend * t * t); // T36
        });
        second
    }

    /// Second derivatives with respect to all pairs of these units, `d^2(output)/(d(unit) d(other))`, `[rows, units, units]`.
    pub(super) fn matrix(&self, slope: Slope, units: &[usize]) -> Vec<f64> {
        let width = units.len();
        let mut second = vec![0.0; self.rows * width * width];
        self.each_bend(slope, units, |row, bend, t| {
            let lines = second[row * width * width..].chunks_exact_mut(width);
            for (line, a) in lines.zip(t) {
                line.iter_mut().zip(t).for_each(|(sum, b)| *sum += bend * a * b); // T36
            }
        });
        second
    }

    /// Calls `f(row, curvature of the output due to an activation, derivatives of its unit with respect to these units of the state)`.
    fn each_bend(&self, slope: Slope, units: &[usize], mut f: impl FnMut(usize, f64, &[f64])) {
        let (graph, rows, k) = (self.graph, self.rows, units.len());
        let width = |state: usize| graph.shapes[state].len();
        let tangents = self.tangents(slope.at, units);
        // Down: the derivative of the output with respect to every state, `[row][unit]`.
        let mut rests: Vec<Vec<f64>> = (0..graph.shapes.len()).map(|s| vec![0.0; rows * width(s)]).collect();
        let output = graph.output();
        rests[output].iter_mut().skip(slope.output).step_by(width(output)).for_each(|rest| *rest = 1.0);
        for (i, layer) in graph.layers.iter().enumerate().skip(slope.at).rev() {
            let mut rest = std::mem::take(&mut rests[i + 1]);
            match *layer {
                Layer::Activation { function } => {
                    let (moved, width) = (&tangents[graph.inputs[i][0]], width(i + 1));
                    for (at, (rest, curve)) in rest.iter_mut().zip(self.curves(i, function)).enumerate() {
                        let (row, unit) = (at / width, at % width);
                        if function.is_curved() && !moved.is_empty() {
                            f(row, *rest * curve.bend, &moved[(unit * rows + row) * k..][..k]);
                        }
                        *rest *= curve.mean;
                    }
                }
                Layer::Add => {}
                _ => rest = back(self.weights[i], &rest, rows),
            }
            for &below in &graph.inputs[i] {
                rests[below].iter_mut().zip(&rest).for_each(|(sum, rest)| *sum += rest);
            }
        }
    }

    /// Up: the derivatives of states with respect to these units of one, `[unit of the state][row][requested unit]`; empty where they are zero, and where
    /// no curved activation follows.
    fn tangents(&self, at: usize, units: &[usize]) -> Vec<Vec<f64>> {
        let (graph, k) = (self.graph, units.len());
        let n = self.rows * k;
        let bends = |layer: usize| matches!(graph.layers[layer], Layer::Activation { function } if function.is_curved());
        let mut needed = vec![false; graph.shapes.len()];
        for i in (0..graph.layers.len()).rev() {
            let above = needed[i + 1] || bends(i);
            graph.inputs[i].iter().for_each(|&s| needed[s] |= above);
        }
        let mut tangents: Vec<Vec<f64>> = vec![Vec::new(); graph.shapes.len()];
        tangents[at] = vec![0.0; graph.shapes[at].len() * n];
        for (j, &unit) in units.iter().enumerate() {
            tangents[at][unit * n..][..n].iter_mut().skip(j).step_by(k).for_each(|t| *t = 1.0);
        }
        for (i, layer) in graph.layers.iter().enumerate().skip(at).filter(|&(i, _)| needed[i + 1]) {
            let mut moved = graph.inputs[i].iter().map(|&s| &tangents[s]).filter(|t| !t.is_empty());
            let Some(first) = moved.next() else { continue };
            tangents[i + 1] = match *layer {
                Layer::Activation { function } => {
                    let (mut t, curves) = (first.clone(), self.curves(i, function));
                    let width = curves.len() / self.rows;
                    for (at, t) in t.chunks_exact_mut(k).enumerate() {
                        let curve = &curves[at % self.rows * width + at / self.rows];
                        t.iter_mut().for_each(|t| *t *= curve.mean);
                    }
                    t
                }
                Layer::Add => moved.fold(first.clone(), |mut sum, t| {
                    sum.iter_mut().zip(t).for_each(|(a, b)| *a += b);
                    sum
                }),
                _ => times(self.weights[i], first, n),
            };
        }
        tangents
    }

    /// Slopes of an activation, `[row][unit]`.
    fn curves(&self, layer: usize, function: Activation) -> Vec<Curve<f64>> {
        let [mean, var] = &self.states[self.graph.inputs[layer][0]];
        let curve = |(&m, &v): (&f64, &f64)| Unit::new(function, m, v, function.moments(m, v)).curve;
        mean.iter().zip(var).map(curve).collect()
    }
}

/// `[out, in]` weights times a matrix `[in, n]`.
fn times(weights: &[f64], x: &[f64], n: usize) -> Vec<f64> {
    let inputs = x.len() / n;
    let mut product = vec![0.0; weights.len() / inputs * n];
    for (sum, weights) in product.chunks_exact_mut(n).zip(weights.chunks_exact(inputs)) {
        for (w, x) in weights.iter().zip(x.chunks_exact(n)) {
            sum.iter_mut().zip(x).for_each(|(s, x)| *s += w * x);
        }
    }
    product
}

/// A matrix `[rows, out]` times `[out, in]` weights.
fn back(weights: &[f64], d: &[f64], rows: usize) -> Vec<f64> {
    let outputs = d.len() / rows;
    let inputs = weights.len() / outputs;
    let mut product = vec![0.0; rows * inputs];
    for (unit, weights) in weights.chunks_exact(inputs).enumerate() {
        for (sum, d) in product.chunks_exact_mut(inputs).zip(d.chunks_exact(outputs)) {
            if d[unit] != 0.0 {
                sum.iter_mut().zip(weights).for_each(|(s, w)| *s += w * d[unit]);
            }
        }
    }
    product
}
