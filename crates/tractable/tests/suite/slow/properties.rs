//! What must hold for any small network and any finite batch.

use crate::cases::Model;
use proptest::prelude::*;
use tractable::{Activation, Device, Gaussian, Matrix, Network, Wanted, network::UpdateRule};

/// A small network with its numbers: widths, activation, seed, and where it computes.
#[derive(Debug, Clone)]
struct Case {
    widths: Vec<usize>,
    activation: Activation,
    seed: u64,
    reference: bool,
    noise: f64,
    rows: usize,
    numbers: Vec<f64>,
}

impl Case {
    fn net(&self, policy: UpdateRule) -> Network {
        let device = if self.reference { Device::reference() } else { Device::cpu(1) };
        let net = Network::mlp(self.widths.clone(), self.activation).seed(self.seed).device(&device);
        net.update_rule(policy).noise_std([self.noise]).build().unwrap()
    }

    fn take(&self, from: usize, n: usize) -> Vec<f64> {
        self.numbers.iter().cycle().skip(from).take(n).copied().collect()
    }

    fn x(&self, rows: usize) -> Gaussian {
        let n = rows * self.widths[0];
        let var = self.take(7, n).iter().map(|v| v.abs()).collect();
        Gaussian::new(self.take(0, n), var, self.widths[0]).unwrap()
    }

    fn y(&self, rows: usize) -> Matrix {
        let width = *self.widths.last().unwrap();
        Matrix::new(self.take(13, rows * width), width).unwrap()
    }
}

fn activations() -> impl Strategy<Value = Activation> {
    let names = ["identity", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "mixture_relu"];
    prop::sample::select(names.map(|n| n.parse().unwrap()).to_vec())
}

fn cases() -> impl Strategy<Value = Case> {
    let numbers = prop_oneof![8 => -3.0..3.0f64, 1 => Just(0.0), 1 => -1e4..1e4f64];
    (
        prop::collection::vec(1..20usize, 2..5),
        activations(),
        any::<u64>(),
        any::<bool>(),
        prop_oneof![Just(0.01), 0.05..3.0f64, Just(100.0)],
        1..20usize,
        prop::collection::vec(numbers, 1..60),
    )
        .prop_map(|(widths, activation, seed, reference, noise, rows, numbers)| Case {
            widths,
            activation,
            seed,
            reference,
            noise,
            rows,
            numbers,
        })
}

fn check(g: &Gaussian) -> Result<(), TestCaseError> {
    prop_assert!(g.mean().iter().all(|v| v.is_finite()), "{:?}", g.mean());
    prop_assert!(g.var().iter().all(|v| v.is_finite() && *v >= 0.0), "{:?}", g.var());
    Ok(())
}

/// Parameters of all layers: means and variances.
fn parameters(net: &Network) -> (Vec<f64>, Vec<f64>) {
    let file = Model::of(net);
    let part =
        |end: &str| file.tensors.keys().filter(|n| n.ends_with(end)).flat_map(|n| file.get(n)).collect();
    (part(".mean"), part(".var"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn finite_in_finite_out(case in cases()) {
        let mut net = case.net(UpdateRule::Capped);
        let (x, y) = (case.x(case.rows), case.y(case.rows));
        check(net.predict(&x).unwrap().output())?;
        if x.var().iter().any(|v| *v > 0.0) {
            let back = net.search(&x, Wanted::from(&y).rounds(2)).unwrap();
            check(&back)?;
            let wider = back.var().iter().zip(x.var()).find(|(post, prior)| **post > **prior * (1.0 + 1e-6));
            prop_assert!(wider.is_none(), "an input's variance grew: {wider:?}");
        }
        for _ in 0..3 {
            if let Err(e) = net.learn(&x, &y) {
                // Allowed where numbers did grow beyond the device; never otherwise.
                prop_assert!(!case.reference && case.numbers.iter().any(|v| v.abs() > 3.0), "{e}");
                break;
            }
        }
        let (mean, var) = parameters(&net);
        prop_assert!(mean.iter().all(|v| v.is_finite()));
        prop_assert!(var.iter().all(|v| v.is_finite() && *v > 0.0));
    }

    #[test]
    fn one_observation_never_adds_doubt(case in cases()) {
        let mut net = case.net(UpdateRule::Capped);
        let (x, y) = (case.x(1), case.y(1));
        for _ in 0..3 {
            let (_, before) = parameters(&net);
            if net.learn(&x, &y).is_err() {
                break;
            }
            let (_, after) = parameters(&net);
            let grown = before.iter().zip(&after).find(|(before, after)| after > before);
            prop_assert!(grown.is_none(), "{grown:?}");
        }
    }

    #[test]
    fn an_output_seen_where_it_was_expected_moves_nothing(case in cases()) {
        let mut net = case.net(UpdateRule::Capped);
        let x = case.x(1);
        // The output as learning sees it: all units independent.
        let nothing = vec![false; net.output().units()];
        let last = net.layer_names().last().unwrap().clone();
        let seen = case.y(1);
        let expected = net.search(&x, Wanted::from(&seen).only(&nothing).layer(&last)).unwrap();
        let y = Matrix::new(expected.mean().to_vec(), expected.width()).unwrap();
        let (before, _) = parameters(&net);
        let info = net.learn(&x, &y).unwrap();
        prop_assert_eq!(info.capped, 0);
        let (after, _) = parameters(&net);
        prop_assert_eq!(before, after);
    }

    /// Hidden units have no order: taken in reverse, with their weights, they make the same network.
    #[test]
    fn hidden_units_can_be_permuted(case in cases(), hidden in 2..20usize) {
        let (inputs, outputs) = (case.widths[0], *case.widths.last().unwrap());
        let case = Case { widths: vec![inputs, hidden, outputs], ..case };
        let mut net = case.net(UpdateRule::Plain);
        let mut file = Model::of(&net);
        for part in ["mean", "var"] {
            let reverse = |rows: usize, columns: usize, v: Vec<f64>, by_row: bool| -> Vec<f64> {
                let at = |r: usize, c: usize| if by_row { (rows - 1 - r, c) } else { (r, columns - 1 - c) };
                (0..rows * columns).map(|i| at(i / columns, i % columns)).map(|(r, c)| v[r * columns + c]).collect()
            };
            for (name, rows, columns, by_row) in
                [("linear1.weight", hidden, inputs, true), ("linear1.bias", hidden, 1, true), ("linear2.weight", outputs, hidden, false)]
            {
                let name = format!("{name}.{part}");
                let turned = reverse(rows, columns, file.get(&name), by_row);
                file.set(&name, &turned);
            }
        }
        let mut turned = file.load(if case.reference { Device::reference() } else { Device::cpu(1) }).unwrap();
        let (x, y) = (case.x(2), case.y(2));
        let near = |a: &[f64], b: &[f64]| {
            let scale = b.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
            let size = case.numbers.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            let tolerance = if case.reference { 1e-12 } else { 3e-5 };
            a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * (scale + size))
        };
        let (a, b) = (net.predict(&x).unwrap(), turned.predict(&x).unwrap());
        prop_assert!(near(a.mean(), b.mean()), "{:?} {:?}", a.mean(), b.mean());
        prop_assert!(near(a.var(), b.var()), "{:?} {:?}", a.var(), b.var());
        let counted = (net.learn(&x, &y), turned.learn(&x, &y));
        if let (Ok(a), Ok(b)) = counted {
            prop_assert_eq!(a.rows, b.rows);
        }
    }

    /// Twice the output's noise never leaves less doubt about the weights, as far as the device can tell: what
    /// f32 cannot tell from nothing is repaired to 2^-10 of what it was.
    #[test]
    fn more_noise_leaves_more_doubt(case in cases()) {
        let after = |noise: f64| {
            let mut net = Case { noise, ..case.clone() }.net(UpdateRule::Plain);
            let before = parameters(&net).1;
            net.learn(&case.x(1), &case.y(1)).map(|_| (before, parameters(&net).1))
        };
        if let (Ok((before, less)), Ok((_, more))) = (after(case.noise), after(2.0 * case.noise)) {
            let slack = if case.reference { 1e-12 } else { 2.0 / 1024.0 };
            let pairs = less.iter().zip(&more).zip(&before);
            let wrong = pairs.clone().find(|((less, more), before)| **more < **less - slack * **before);
            prop_assert!(wrong.is_none(), "{wrong:?}");
        }
    }
}
