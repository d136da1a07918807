//! Tiles of tensor cores that only wide layers and full batches use, and how they round.

use super::*;

/// A ReLU that may be a view, then a map: forward pass, backward pass, and one update.
fn through<B: Backend>(b: &B, map: Map, case: &Case, exact: bool) -> Vec<Named> {
    let mut w = filled(b, map, &parameters(&map, 1));
    let ((mut below, mut z), mut activated) = (case.start(b), b.state(map.input));
    let (mut scratch, mut status) = Default::default();
    if !exact {
        b.activate(Activation::Relu, &below, &mut activated, Purpose::Learn);
    }
    let x = if exact { &mut below } else { &mut activated };
    b.map(&w, &mut scratch, x, &mut z, Purpose::Learn);
    case.innovate(b, &mut z);
    b.map_back(&w, &mut scratch, &z, x);
    if !exact {
        b.activate_back(&activated, &activated, &mut below);
    }
    let mut out = parts(b, &z, &below);
    let x = if exact { &below } else { &activated };
    b.map_learn(&mut w, &mut scratch, x, &z, [Step::Capped(2.0); 2], &mut status);
    b.status(&mut status).unwrap();
    let p = b.weights_parameters(&w, 0..usize::MAX).unwrap();
    out.extend([("weights", p.mean), ("their var", p.var)]);
    out
}

fn dense(input: Shape, outputs: usize) -> Map {
    Map { input, output: Shape::flat(outputs), window: None }
}

fn convolution(input: Shape, channels: usize, window: Window) -> Map {
    let (height, width) = window.slide(input).unwrap();
    Map { input, output: Shape { channels, height, width }, window: Some(window) }
}

#[test]
#[cfg_attr(miri, ignore)] // concerns GPUs alone
fn wide_tiles_agree() {
    let window = |kernel, stride| Window { kernel, stride, padding: Padding::Around(0) };
    let cases = [
        // Known inputs and uncertain ones, with 64 and 128 columns in a tile.
        (dense(Shape::flat(24), 128), 160, true),
        (dense(Shape::flat(24), 128), 160, false),
        (dense(Shape::flat(40), 64), 64, false),
        // A window that moves by two pixels.
        (convolution(Shape::image(8, 5, 5), 128, window(3, 2)), 40, false),
        // A window that is not square, with few positions and with many.
        (dense(Shape::image(64, 2, 3), 12), 4, false),
        (dense(Shape::image(64, 2, 3), 12), 96, false),
        // Images with a large window.
        (convolution(Shape::image(3, 5, 5), 9, window(4, 1)), 8, true),
    ];
    for (map, rows, exact) in cases {
        let case = Case::new(map.input, map.output, rows, exact, 2);
        let terms = map.fan_in().max(map.output.channels).max(rows * map.output.pixels());
        agree(&format!("{map:?}, {rows} rows"), terms, |b| on!(b, b => through(b, map, &case, exact)));
    }
}

/// TF32 numbers are rounded: cutting their last bits would make all variances too small by 7e-4.
#[test]
#[cfg(feature = "cuda")]
#[cfg_attr(miri, ignore)]
fn tf32_is_rounded() {
    let Some((_, fast, _)) = gpus().iter().find(|(name, ..)| name.contains("TF32")) else { return };
    for (exact, window) in [(true, false), (false, false), (false, true)] {
        let map = match window {
            false => dense(Shape::flat(128), 64),
            true => {
                let window = Window { kernel: 3, stride: 1, padding: Padding::Around(0) };
                convolution(Shape::image(16, 4, 4), 36, window)
            }
        };
        let case = Case::new(map.input, map.output, 64, exact, 3);
        let ours = through(fast, map, &case, exact);
        let reference = through(&Reference, map, &case, exact);
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let off = |part: usize| {
            let off: Vec<f64> = ours[part].1.iter().zip(&reference[part].1).map(|(a, b)| a - b).collect();
            norm(&off) / norm(&reference[part].1)
        };
        let sum = |of: &[Named]| of[1].1.iter().sum::<f64>();
        let bias = (sum(&ours) / sum(&reference) - 1.0).abs();
        let what = format!("{map:?}, exact {exact}: {:e}, {:e}, bias {bias:e}", off(0), off(1));
        assert!(off(0) < 1e-3 && off(1) < 2e-4 && bias < 1e-4, "{what}");
    }
}
