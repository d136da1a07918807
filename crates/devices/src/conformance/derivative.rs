//! Derivatives: the factored sums of the fast device against the sum over branches.

use super::*;
use crate::Units;
use tractable_core::moments::derivative::Gate;

/// Three layers of units with whatever states: below, above, and an output; maps from each to the next.
struct Tower {
    states: [(Vec<f64>, Vec<f64>); 3],
    widths: [usize; 3],
    maps: [(Map, Parameters); 2],
}

impl Tower {
    fn new(below: usize, above: usize, rows: usize, seed: u64) -> Self {
        let mut n = Numbers::new(seed);
        let widths = [below, above, 3];
        // A layer's sums stay of the size of its terms, so that no rounding is magnified on the way.
        let states = widths.map(|w| (n.draw(rows * w, -1.5, 1.5), n.draw(rows * w, 0.01, 0.5)));
        let map =
            |from: usize, to: usize| Map { input: Shape::flat(from), output: Shape::flat(to), window: None };
        let maps = [map(below, above), map(above, 3)].map(|m| (m, parameters(&m, seed + 1)));
        Tower { states, widths, maps }
    }

    /// Mean, variance and covariance by the units below.
    fn run<B: Backend>(&self, b: &B, activations: [Activation; 3], gate: Gate) -> Vec<Named> {
        let mut z = self.widths.map(|w| b.state(Shape::flat(w)));
        let mut a = self.widths.map(|w| b.state(Shape::flat(w)));
        for (i, (mean, var)) in self.states.iter().enumerate() {
            b.write(&mut z[i], mean, Some(var)).unwrap();
            b.activate(activations[i], &z[i], &mut a[i], Purpose::Predict);
        }
        let units = |i: usize| Units { z: &z[i], activation: activations[i], a: &a[i] };
        let [mut d, mut above, mut output] =
            [B::Derivative::default(), B::Derivative::default(), B::Derivative::default()];
        b.derivative_output(units(2), 1, &mut output);
        let [lower, upper] = self.maps.each_ref().map(|(map, p)| filled(b, *map, p));
        b.derivative_below(
            Some(&upper),
            &mut Default::default(),
            units(1),
            units(2),
            &output,
            gate,
            false,
            &mut above,
        );
        b.derivative_below(
            Some(&lower),
            &mut Default::default(),
            units(0),
            units(1),
            &above,
            gate,
            false,
            &mut d,
        );
        let [mean, var, cov] = b.derivative_read(&d).unwrap();
        // Once more on top, and below a sum.
        b.derivative_below(
            Some(&lower),
            &mut Default::default(),
            units(0),
            units(1),
            &above,
            gate,
            true,
            &mut d,
        );
        let [twice, ..] = b.derivative_read(&d).unwrap();
        b.derivative_below(None, &mut Default::default(), units(1), units(1), &above, gate, false, &mut d);
        let [of_sum, var_of_sum, cov_of_sum] = b.derivative_read(&d).unwrap();
        let below_sum = [("of a sum", of_sum), ("its var", var_of_sum), ("its cov", cov_of_sum)];
        [("mean", mean), ("var", var), ("cov", cov), ("twice", twice)].into_iter().chain(below_sum).collect()
    }
}

fn every() -> Vec<Activation> {
    Activation::ALL.to_vec()
}

#[test]
fn derivatives_agree() {
    let sizes = [1, 3, 31, 32, 33, 65];
    let mut case = 0;
    for below in some(every(), 3) {
        for above in some(every(), 3) {
            for gate in [Gate::Both, Gate::Input] {
                // Steps that share no factor with the number of sizes or batches, so that all pairs come up.
                let (n, m, rows) = (sizes[case % 6], sizes[(case / 6 + case) % 6], 1 + case % 9);
                let output = every()[case % 7];
                case += 1;
                let tower = Tower::new(n, m, rows, case as u64);
                let what =
                    format!("{below:?} below {above:?} below {output:?}, {gate:?}, {m} x {n}, {rows} rows");
                agree(&what, m + 3, |b| on!(b, b => tower.run(b, [below, above, output], gate)));
            }
        }
    }
}

#[test]
fn derivatives_of_every_shape_agree() {
    let tanh = Activation::Tanh;
    for (i, n) in some([1, 3, 31, 32, 33, 65].into_iter().enumerate(), 4) {
        for (j, m) in some([1, 3, 31, 32, 33, 65].into_iter().enumerate(), 4) {
            let rows = 1 + (3 * i + j) % 9;
            let tower = Tower::new(n, m, rows, (6 * i + j) as u64);
            for below in [tanh, Activation::Relu] {
                agree(
                    &format!("{below:?}, {m} x {n}, {rows} rows"),
                    m + 3,
                    |b| on!(b, b => tower.run(b, [below, tanh, Activation::Identity], Gate::Both)),
                );
            }
        }
    }
}

/// Enough work for several threads.
#[test]
#[cfg_attr(miri, ignore)]
fn large_derivatives_agree() {
    let tower = Tower::new(131, 257, 37, 5);
    let tanh = Activation::Tanh;
    agree("large", 260, |b| on!(b, b => tower.run(b, [tanh, tanh, tanh], Gate::Both)));
}
