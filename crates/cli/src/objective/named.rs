//! Test functions with known optima, to measure an optimiser.

use std::f64::consts::{E, PI};

/// Which end is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Minimize,
    Maximize,
}

/// An optimum within the bounds, and every place where the function has it.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub value: f64,
    pub places: &'static [&'static [f64]],
}

/// A function with a name.
#[derive(Debug)]
pub struct TestFunction {
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// One pair per dimension.
    pub bounds: &'static [(f64, f64)],
    /// What is looked for unless something else is asked.
    pub direction: Direction,
    pub minimum: Option<Known>,
    pub maximum: Option<Known>,
    pub(super) function: fn(&[f64]) -> f64,
}

impl TestFunction {
    /// The known optimum in a direction.
    pub fn known(&self, direction: Direction) -> Option<Known> {
        match direction {
            Direction::Minimize => self.minimum,
            Direction::Maximize => self.maximum,
        }
    }
}

/// All there are, in the order of their dimensions.
pub(crate) const TEST_FUNCTIONS: &[TestFunction] = &[
    TestFunction {
        name: "cubic",
        about: "x^3 - 3x on [-2, 2]: maximum at -1, minimum at 1, each also reached at one end",
        bounds: &[(-2.0, 2.0)],
        direction: Direction::Maximize,
        // The ends reach the same values; a search by derivatives finds the first place of each.
        minimum: Some(Known { value: -2.0, places: &[&[1.0], &[-2.0]] }),
        maximum: Some(Known { value: 2.0, places: &[&[-1.0], &[2.0]] }),
        function: |x| x[0] * (x[0] * x[0] - 3.0),
    },
    TestFunction {
        name: "branin",
        about: "Branin on [-5, 10] x [0, 15]: three equal minima",
        bounds: &[(-5.0, 10.0), (0.0, 15.0)],
        direction: Direction::Minimize,
        minimum: Some(Known {
            // 10 / (8 pi)
            value: 0.397_887_357_729_738_16,
            places: &[&[-PI, 12.275], &[PI, 2.275], &[3.0 * PI, 2.475]],
        }),
        maximum: None,
        function: branin,
    },
    TestFunction {
        name: "rosenbrock4",
        about: "Rosenbrock in four dimensions on [-5, 10]: a bent valley",
        bounds: &[(-5.0, 10.0); 4],
        direction: Direction::Minimize,
        minimum: Some(Known { value: 0.0, places: &[&[1.0; 4]] }),
        maximum: None,
        function: rosenbrock,
    },
    TestFunction {
        name: "ackley5",
        about: "Ackley in five dimensions on [-32.768, 32.768], its minimum shifted off the centre",
        bounds: &[(-32.768, 32.768); 5],
        direction: Direction::Minimize,
        minimum: Some(Known { value: 0.0, places: &[&ACKLEY_SHIFT] }),
        maximum: None,
        function: ackley,
    },
    TestFunction {
        name: "hartmann6",
        about: "Hartmann in six dimensions on [0, 1]: six minima, one of them lowest",
        bounds: &[(0.0, 1.0); 6],
        direction: Direction::Minimize,
        minimum: Some(Known {
            value: -3.322_368_011_415_515,
            places: &[&[0.201_689_51, 0.150_010_69, 0.476_873_97, 0.275_332_43, 0.311_651_62, 0.657_300_53]],
        }),
        maximum: None,
        function: hartmann,
    },
];

/// The function of a name, in capitals or not.
pub fn test_function(name: &str) -> Option<&'static TestFunction> {
    TEST_FUNCTIONS.iter().find(|f| f.name.eq_ignore_ascii_case(name.trim()))
}

/// `(y - 5.1/(4 pi^2) x^2 + 5/pi x - 6)^2 + 10 (1 - 1/(8 pi)) cos x + 10`
fn branin(at: &[f64]) -> f64 {
    let (x, y) = (at[0], at[1]);
    let bent = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
    bent * bent + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * x.cos() + 10.0
}

/// `sum 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2`
fn rosenbrock(x: &[f64]) -> f64 {
    let link = |p: &[f64]| 100.0 * (p[1] - p[0] * p[0]).powi(2) + (1.0 - p[0]).powi(2);
    x.windows(2).map(link).sum()
}

/// Where Ackley's minimum is put. At the centre of the bounds, a method that tries the centre would be right
/// by chance. There is no usual shift: these numbers are ours, off the centre and off each other, and results
/// of other shifts or bounds are not comparable digit by digit.
const ACKLEY_SHIFT: [f64; 5] = [5.5, -11.25, 2.75, -7.0, 14.5];

/// With `z = x - shift`: `-20 exp(-0.2 sqrt(mean z^2)) - exp(mean cos(2 pi z)) + 20 + e`
fn ackley(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let shifted = || x.iter().zip(ACKLEY_SHIFT).map(|(x, s)| x - s);
    let squares = shifted().map(|z| z * z).sum::<f64>() / n;
    let waves = shifted().map(|z| (2.0 * PI * z).cos()).sum::<f64>() / n;
    // In this order, the sum is 0 at the minimum up to rounding of e.
    20.0 * (1.0 - (-0.2 * squares.sqrt()).exp()) + (E - waves.exp())
}

/// `-sum_k weight[k] exp(-sum_i steepness[k][i] (x[i] - centre[k][i])^2)`
fn hartmann(x: &[f64]) -> f64 {
    const WEIGHT: [f64; 4] = [1.0, 1.2, 3.0, 3.2];
    const STEEPNESS: [[f64; 6]; 4] = [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ];
    const CENTRE: [[f64; 6]; 4] = [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ];
    let hill = |k: usize| {
        let away = (0..6).map(|i| STEEPNESS[k][i] * (x[i] - CENTRE[k][i]).powi(2)).sum::<f64>();
        WEIGHT[k] * (-away).exp()
    };
    -(0..4).map(hill).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b.abs().max(1.0)
    }

    #[test]
    fn optima_are_where_they_are_said_to_be() {
        for f in TEST_FUNCTIONS {
            assert!(f.known(f.direction).is_some(), "{}", f.name);
            for (direction, sign) in [(Direction::Minimize, 1.0), (Direction::Maximize, -1.0)] {
                let Some(known) = f.known(direction) else { continue };
                for place in known.places {
                    assert_eq!(place.len(), f.bounds.len(), "{}", f.name);
                    assert!(place.iter().zip(f.bounds).all(|(x, (l, h))| l <= x && x <= h), "{}", f.name);
                    let value = (f.function)(place);
                    assert!(near(value, known.value, 1e-14), "{}: {value} at {place:?}", f.name);
                    // Nothing nearby is better, within the bounds.
                    for i in 0..place.len() {
                        for step in [-0.01, 0.01, -0.3, 0.3] {
                            let mut x = place.to_vec();
                            x[i] = (x[i] + step).clamp(f.bounds[i].0, f.bounds[i].1);
                            assert!(
                                sign * (f.function)(&x) >= sign * known.value - 1e-14,
                                "{} at {x:?}",
                                f.name
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_the_literature() {
        // Published: 0.397887, -3.32237.
        assert!(near(test_function("branin").unwrap().minimum.unwrap().value, 0.397887, 1e-6));
        assert!(near(test_function("hartmann6").unwrap().minimum.unwrap().value, -3.32237, 1e-6));
        // Computed apart from this code.
        for (name, at, value) in [
            ("branin", vec![0.0, 0.0], 55.602_112_642_270_264),
            ("branin", vec![2.5, 7.5], 24.129_964_413_622_268),
            ("hartmann6", vec![0.5; 6], -0.505_314_991_702_233_3),
            ("hartmann6", vec![0.0; 6], -0.005_089_112_883_664_44),
            ("ackley5", vec![0.0; 5], 18.726_135_132_062_18),
            ("ackley5", vec![1.0, 2.0, 3.0, 4.0, 5.0], 18.609_127_741_514_396),
            ("rosenbrock4", vec![0.0; 4], 3.0),
            ("rosenbrock4", vec![-1.0, 2.0, 3.0, -4.0], 17109.0),
            ("rosenbrock4", vec![-1.2, 1.0, -1.2, 1.0], 532.4),
            ("cubic", vec![0.5], -1.375),
        ] {
            let got = (test_function(name).unwrap().function)(&at);
            assert!(near(got, value, 1e-14), "{name} at {at:?}: {got}");
        }
        assert!(test_function(" Branin ").is_some() && test_function("branin2").is_none());
    }
}
