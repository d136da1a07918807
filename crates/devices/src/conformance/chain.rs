//! Several layers in sequence, as in learning: state passed from one kernel to the next must give the same results.

use super::*;
use std::cell::Cell;

/// Convolution, ReLU, pooling, normalisation, ReLU, dense, ReLU, dense: forward pass, backward pass, and one update of all weights.
fn chain<B: Backend>(b: &B, rows: usize, channels: usize, pool: Pool, step: Step<f64>) -> Vec<Named> {
    let around = Window { kernel: 3, stride: 1, padding: Padding::Around(1) };
    let halved = Window { kernel: 2, stride: 2, padding: Padding::End(1) };
    let input = Shape::image(channels, 6, 5);
    let (image, pooled) = (Shape::image(7, 6, 5), Shape::image(7, 3, 3));
    let conv = Map { input, output: image, window: Some(around) };
    let dense = Map { input: pooled, output: Shape::flat(9), window: None };
    let last = Map { input: Shape::flat(9), output: Shape::flat(3), window: None };
    let mut n = Numbers::new(11);
    let x = n.draw(rows * input.len(), -1.0, 1.0);
    let y = n.draw(rows * 3, -1.0, 1.0);
    let p =
        Parameters { mean: vec![1.1; 7], var: vec![0.2; 7], bias_mean: vec![0.1; 7], bias_var: vec![0.1; 7] };
    let s = Statistics { mean: vec![0.1; 7], var: vec![0.9; 7], momentum: 0.9, epsilon: 1e-5 };
    let mut weights =
        [(conv, 1), (dense, 2), (last, 3)].map(|(map, seed)| filled(b, map, &parameters(&map, seed)));
    let mut norm = b.norm(&p, &s).unwrap();
    let shapes =
        [input, image, image, pooled, pooled, pooled, Shape::flat(9), Shape::flat(9), Shape::flat(3)];
    let mut states = shapes.map(|shape| b.state(shape));
    let mut scratch: [B::Scratch; 4] = Default::default();
    let (learn, relu) = (Purpose::Learn, Activation::Relu);
    b.write(&mut states[0], &x, None).unwrap();
    let [x, z1, a1, p1, n1, a2, z3, a3, z4] = &mut states;
    b.map(&weights[0], &mut scratch[0], x, z1, learn);
    b.activate(relu, z1, a1, learn);
    b.pool(pool, halved, a1, p1);
    b.normalize(&norm, &mut scratch[3], p1, n1, learn);
    b.activate(relu, n1, a2, learn);
    b.map(&weights[1], &mut scratch[1], a2, z3, learn);
    b.activate(relu, z3, a3, learn);
    b.map(&weights[2], &mut scratch[2], a3, z4, learn);
    b.observe(z4, Seen { y: &y, noise: NoiseVar::One(0.5), seen: None });
    b.map_back(&weights[2], &mut scratch[2], z4, a3);
    b.activate_back(a3, a3, z3);
    b.map_back(&weights[1], &mut scratch[1], z3, a2);
    b.activate_back(a2, a2, n1);
    b.normalize_total(&norm, &mut scratch[3], p1, n1, None).unwrap();
    b.normalize_back(&norm, &scratch[3], None, n1, p1);
    b.pool_back(pool, halved, p1, p1, a1);
    b.activate_back(a1, a1, z1);
    let (steps, mut status) = ([step; 2], Default::default());
    let mut out = vec![("output", read(b, z4, Field::Mean)), ("its var", read(b, z4, Field::Var))];
    out.push(("activation", read(b, a2, Field::Mean)));
    out.push(("innovation", read(b, z1, Field::DMean)));
    out.push(("its var", read(b, z1, Field::DVar)));
    b.map_learn(&mut weights[0], &mut scratch[0], x, z1, steps, &mut status);
    b.map_learn(&mut weights[1], &mut scratch[1], a2, z3, steps, &mut status);
    b.map_learn(&mut weights[2], &mut scratch[2], a3, z4, steps, &mut status);
    let mut sums = b.normalize_sums(&norm);
    b.normalize_accumulate(&norm, &scratch[3], &mut sums);
    b.normalize_apply(&mut norm, &sums, steps, &mut status);
    for w in &weights {
        let p = b.weights_parameters(w, 0..usize::MAX).unwrap();
        out.extend([
            ("weights", p.mean),
            ("their var", p.var),
            ("bias", p.bias_mean),
            ("its var", p.bias_var),
        ]);
    }
    out.push(("scale", b.norm_parameters(&norm).unwrap().0.mean));
    out
}

#[test]
fn chains_agree() {
    for (rows, channels, pool) in
        [(3, 1, Pool::Average), (8, 3, Pool::Max), (5, 4, Pool::Average), (16, 1, Pool::Max)]
    {
        for step in [Step::Capped(2.0), Step::Plain] {
            let what = format!("{rows} rows of {channels} channels, {pool:?}, {step:?}");
            agree(&what, 1 << 12, |b| on!(b, b => chain(b, rows, channels, pool, step)));
        }
    }
}

/// A convolution of known images, ReLU and average pooling, fused if the device can; `joined` counts how often.
fn first_layers<B: Backend>(
    b: &B,
    case: &Case,
    conv: Map,
    halved: Window,
    joined: &Cell<usize>,
) -> Vec<Named> {
    // Numbers with few bits, so that rounding never moves a unit across ReLU's threshold.
    let mut p = parameters(&conv, 4);
    p.mean.iter_mut().chain(&mut p.bias_mean).for_each(|v| *v = (*v * 64.0).round() / 64.0);
    let mut w = filled(b, conv, &p);
    let (x, mut pooled) = case.start(b);
    let (mut scratch, mut status) = Default::default();
    let (mut z, mut a) = (b.state(conv.output), b.state(conv.output));
    let steps = [Step::Capped(2.0); 2];
    let fused = b.fused().filter(|fused| fused.joins(&w, halved, &x));
    if let Some(fused) = fused {
        fused.join(&w, &mut scratch, halved, &x, &mut pooled);
        joined.set(joined.get() + 1);
    } else {
        b.map(&w, &mut scratch, &x, &mut z, Purpose::Learn);
        b.activate(Activation::Relu, &z, &mut a, Purpose::Learn);
        b.pool(Pool::Average, halved, &a, &mut pooled);
    }
    case.innovate(b, &mut pooled);
    if let Some(fused) = fused {
        fused.join_learn(&mut w, &mut scratch, halved, [&x, &pooled], steps, &mut status);
    } else {
        b.pool_back(Pool::Average, halved, &pooled, &pooled, &mut a);
        b.activate_back(&a, &a, &mut z);
        b.map_learn(&mut w, &mut scratch, &x, &z, steps, &mut status);
    }
    let p = b.weights_parameters(&w, 0..usize::MAX).unwrap();
    vec![
        ("pooled", read(b, &pooled, Field::Mean)),
        ("its var", read(b, &pooled, Field::Var)),
        ("weights", p.mean),
        ("their var", p.var),
        ("bias", p.bias_mean),
        ("its var", p.bias_var),
    ]
}

#[test]
fn first_layers_in_one_agree() {
    let window = |kernel, stride, padding| Window { kernel, stride, padding };
    let joined = Cell::new(0);
    for (rows, channels, size, window, pool, outputs) in [
        (16, 1, (8, 9), window(4, 1, Padding::Around(1)), window(3, 2, Padding::Around(0)), 5),
        (32, 3, (7, 6), window(5, 1, Padding::Around(2)), window(3, 2, Padding::End(1)), 33),
        (16, 3, (6, 5), window(3, 1, Padding::Around(0)), window(2, 2, Padding::Around(0)), 8),
        (48, 1, (9, 6), window(5, 1, Padding::Around(2)), window(3, 2, Padding::Around(1)), 4),
        (16, 2, (5, 5), window(3, 1, Padding::Around(1)), window(2, 1, Padding::Around(0)), 3),
    ] {
        let input = Shape::image(channels, size.0, size.1);
        let output = |window: Window, of: Shape, channels| {
            let (down, across) = window.slide(of).unwrap();
            Shape::image(channels, down, across)
        };
        let image = output(window, input, outputs);
        let conv = Map { input, output: image, window: Some(window) };
        let mut case = Case::new(input, output(pool, image, outputs), rows, true, 5);
        case.mean.iter_mut().for_each(|v| *v = (*v * 8.0).round() / 8.0);
        agree(
            &format!("{conv:?}, {pool:?}, {rows} rows"),
            1 << 12,
            |b| on!(b, b => first_layers(b, &case, conv, pool, &joined)),
        );
    }
    #[cfg(feature = "cuda")]
    assert_eq!(joined.get(), 4 * 5 * gpus().len() / 3, "twice each on two of three forms of the GPU");
}

/// The fused kernels do not round a NaN away.
#[test]
#[cfg(feature = "cuda")]
#[cfg_attr(miri, ignore)]
fn what_is_not_finite_passes_through_first_layers() {
    let around = Window { kernel: 5, stride: 1, padding: Padding::Around(2) };
    let halved = Window { kernel: 2, stride: 2, padding: Padding::Around(0) };
    let (input, joined) = (Shape::image(1, 6, 6), Cell::new(0));
    let conv = Map { input, output: Shape::image(8, 6, 6), window: Some(around) };
    let mut case = Case::new(input, Shape::image(8, 3, 3), 16, true, 5);
    case.mean[14] = f64::from_bits(0x7fff_ffff_ffff_ffff);
    for (name, gpu, _) in gpus() {
        for (part, values) in &first_layers(gpu, &case, conv, halved, &joined)[..2] {
            let row = values.len() / 16;
            assert!(values[..row].iter().any(|v| v.is_nan()), "{part}, {name}");
            assert!(values[row..].iter().all(|v| v.is_finite()), "{part} of other rows, {name}");
        }
    }
    assert_eq!(joined.get(), 2 * gpus().len() / 3);
}
