//! Rows and their covariance: what every layer adds, and how it takes rows down.

use super::*;

/// A layer forward, then `k` rows a sample of its output down to its input.
fn rows_agree(
    what: &str,
    terms: usize,
    (input, output): (Shape, Shape),
    layer: impl Fn(Which<'_>, &Case, usize, &[f64]) -> Vec<Named>,
) {
    for (samples, k, exact) in [(1, 1, false), (3, 2, false), (2, 5, true)] {
        let case = Case::new(input, output, samples, exact, k as u64);
        let rows = Numbers::new(77).draw(samples * k * output.len(), -1.0, 1.0);
        agree(&format!("{what}, {samples} samples of {k} rows, exact {exact}"), terms, |b| {
            layer(b, &case, k, &rows)
        });
    }
}

/// What is compared, after a pass forward: `back` takes rows of `z` down to `x`.
fn walked<B: Backend>(
    b: &B,
    (x, z): (&B::State, &B::State),
    own: bool,
    (k, rows): (usize, &[f64]),
    back: impl FnOnce(&B::State, &mut B::State),
    [mut of_x, mut of_z]: [B::State; 2],
) -> Vec<Named> {
    let mut spread = B::Spread::default();
    b.rows(z, k, &mut of_z);
    b.innovate(&mut of_z, rows).unwrap();
    b.spread_begin(z, k, &mut spread);
    if own {
        b.spread_add(z, Field::Own, &of_z, &mut spread);
    }
    b.rows(x, k, &mut of_x);
    back(&of_z, &mut of_x);
    b.spread_add(x, Field::Var, &of_x, &mut spread);
    let mut out = vec![
        ("mean", read(b, z, Field::Mean)),
        ("var", read(b, z, Field::Var)),
        ("rows", read(b, &of_x, Field::DMean)),
        ("spread", b.spread_read(&spread).unwrap()),
    ];
    if own {
        out.push(("own", read(b, z, Field::Own)));
    }
    out
}

#[test]
fn rows_of_maps_agree() {
    let window = Window { kernel: 3, stride: 2, padding: Padding::Around(1) };
    let image = Shape::image(3, 7, 5);
    let (down, across) = window.slide(image).unwrap();
    let maps = [
        Map { input: Shape::flat(5), output: Shape::flat(3), window: None },
        Map { input: Shape::flat(33), output: Shape::flat(70), window: None },
        Map { input: image, output: Shape::flat(9), window: None },
        Map { input: image, output: Shape::image(33, down, across), window: Some(window) },
    ];
    for map in maps {
        let mut n = Numbers::new(3);
        let weights = map.output.channels * map.fan_in();
        let p = Parameters {
            mean: n.draw(weights, -1.0, 1.0),
            var: n.draw(weights, 0.01, 1.0),
            bias_mean: n.draw(map.output.channels, -1.0, 1.0),
            bias_var: n.draw(map.output.channels, 0.01, 0.1),
        };
        let terms = map.fan_in() + map.output.len();
        rows_agree(&format!("{map:?}"), terms, (map.input, map.output), |b, case, k, rows| {
            on!(b, b => {
                let mut w = b.weights(map).unwrap();
                b.set_weights(&mut w, 0..map.output.channels, &p).unwrap();
                let (x, mut z) = case.start(b);
                let mut scratch = Default::default();
                b.map(&w, &mut scratch, &x, &mut z, Purpose::Rows);
                let rows_of = [b.state(map.input), b.state(map.output)];
                walked(b, (&x, &z), true, (k, rows), |from, to| b.map_back(&w, &mut scratch, from, to), rows_of)
            })
        });
    }
}

#[test]
fn rows_of_normalisations_agree() {
    for shape in [Shape::flat(33), Shape::image(3, 5, 4)] {
        let (c, mut n) = (shape.channels, Numbers::new(9));
        let p = Parameters {
            mean: n.draw(c, 0.5, 1.5),
            var: n.draw(c, 0.1, 1.0),
            bias_mean: n.draw(c, -1.0, 1.0),
            bias_var: n.draw(c, 0.01, 0.1),
        };
        let s =
            Statistics { mean: n.draw(c, -0.5, 0.5), var: n.draw(c, 0.5, 2.0), momentum: 0.9, epsilon: 1e-5 };
        rows_agree(&format!("norm of {shape}"), shape.len(), (shape, shape), |b, case, k, rows| {
            on!(b, b => {
                let norm = b.norm(&p, &s).unwrap();
                let (x, mut z) = case.start(b);
                let mut scratch = Default::default();
                b.normalize(&norm, &mut scratch, &x, &mut z, Purpose::Rows);
                let rows_of = [b.state(shape), b.state(shape)];
                walked(b, (&x, &z), true, (k, rows), |from, to| b.normalize_back(&norm, &scratch, None, from, to), rows_of)
            })
        });
    }
}

#[test]
fn rows_of_activations_agree() {
    for &activation in Activation::ALL {
        let name = activation.name();
        for shape in [Shape::flat(31), Shape::image(3, 7, 5)] {
            // What is an activation's own is a difference: it is right to the precision of what it is taken from.
            rows_agree(
                &format!("{name} of {shape}"),
                100 * shape.len(),
                (shape, shape),
                |b, case, k, rows| {
                    on!(b, b => {
                        let (x, mut z) = case.start(b);
                        b.activate(activation, &x, &mut z, Purpose::Rows);
                        let rows_of = [b.state(shape), b.state(shape)];
                        let mut out = walked(b, (&x, &z), true, (k, rows), |from, to| b.activate_back(&z, from, to), rows_of);
                        let (own, var) = (out.pop().unwrap().1, read(b, &z, Field::Var));
                        out.push(("own and the rest", own.iter().zip(&var).map(|(own, var)| own + var).collect()));
                        out
                    })
                },
            );
        }
    }
}

#[test]
fn rows_of_pooling_and_sums_agree() {
    let window = Window { kernel: 3, stride: 2, padding: Padding::Around(1) };
    let input = Shape::image(33, 7, 5);
    let (height, width) = window.slide(input).unwrap();
    let output = Shape { height, width, ..input };
    for pool in [Pool::Average, Pool::Max] {
        rows_agree(&format!("{pool:?}"), input.len(), (input, output), |b, case, k, rows| {
            on!(b, b => {
                let (x, mut z) = case.start(b);
                b.pool(pool, window, &x, &mut z);
                let rows_of = [b.state(input), b.state(output)];
                walked(b, (&x, &z), false, (k, rows), |from, to| b.pool_back(pool, window, &z, from, to), rows_of)
            })
        });
    }
    rows_agree("a sum", input.len(), (input, input), |b, case, k, rows| {
        on!(b, b => {
            let (x, mut z) = case.start(b);
            let states = [x, case.start(b).0];
            b.add(&states, &[0, 1], &mut z);
            let rows_of = [b.state(input), b.state(input)];
            walked(b, (&states[0], &z), false, (k, rows), |from, to| b.add_back(from, to), rows_of)
        })
    });
}
