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

/// Maps with their rows, and whether inputs are known, which between them need all tiles.
fn cases() -> [(Map, usize, bool); 7] {
    let window = |kernel, stride| Window { kernel, stride, padding: Padding::Around(0) };
    [
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
    ]
}

#[test]
#[cfg_attr(miri, ignore)] // concerns GPUs alone
fn wide_tiles_agree() {
    for (map, rows, exact) in cases() {
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

/// What may not be finite: one number of it.
#[cfg(feature = "cuda")]
#[derive(Debug, Clone, Copy, PartialEq)]
enum Broken {
    Input,
    InputVar,
    Weight,
    WeightVar,
    Observation,
    Noise,
}

/// A map forward, back, and its sums: units whose mean or variance is not finite, and whether any sum is not.
#[cfg(feature = "cuda")]
fn broken<B: Backend>(b: &B, map: Map, case: &Case, what: Broken, value: f64) -> Vec<bool> {
    let (mut p, mut mean, mut var) = (parameters(&map, 1), case.mean.clone(), case.var.clone());
    let (mut y, mut noise) = (case.d_mean.clone(), vec![0.5; case.d_mean.len()]);
    let into = match what {
        Broken::Input => &mut mean,
        Broken::InputVar => var.get_or_insert_default(),
        Broken::Weight => &mut p.mean,
        Broken::WeightVar => &mut p.var,
        Broken::Observation => &mut y,
        Broken::Noise => &mut noise,
    };
    let middle = into.len() / 2;
    into[middle] = value;
    let w = filled(b, map, &p);
    let (mut x, mut z) = (b.state(map.input), b.state(map.output));
    let mut scratch = Default::default();
    b.write(&mut x, &mean, var.as_deref()).unwrap();
    b.map(&w, &mut scratch, &x, &mut z, Purpose::Learn);
    b.observe(&mut z, Seen { y: &y, noise: NoiseVar::PerEntry(&noise), seen: None });
    b.map_back(&w, &mut scratch, &z, &mut x);
    let mut sums = b.map_sums(&w);
    b.map_accumulate(&w, &mut scratch, &x, &z, &mut sums);
    let (mut many, mut few) = (tractable_core::workers::Numbers::Single(Vec::new()), Vec::new());
    b.sums_read(&sums, &mut many, &mut few).unwrap();
    let tractable_core::workers::Numbers::Single(many) = many else { unreachable!() };
    // Weights of the reference come before its biases.
    let half = if b.is_double() { map.output.channels * map.fan_in() } else { many.len() / 2 };
    let sums = many[..2 * half].iter().any(|v| !v.is_finite());
    let fields = parts(b, &z, &x);
    let units = fields.chunks_exact(2).flat_map(|pair| pair[0].1.iter().zip(&pair[1].1));
    units.map(|(mean, var)| !mean.is_finite() || !var.is_finite()).chain([sums]).collect()
}

/// What a NaN or an infinity makes not finite in the reference is not finite on a GPU: no kernel rounds it away. There may be more:
/// parts of an infinity have no sum.
#[test]
#[cfg(feature = "cuda")]
#[cfg_attr(miri, ignore)]
fn what_is_not_finite_passes_through_maps() {
    // In f32 the NaN that GPUs compute: all ones, which rounded up would be zero.
    let nan = f64::from_bits(0x7fff_ffff_ffff_ffff);
    let all = [
        Broken::Input,
        Broken::InputVar,
        Broken::Weight,
        Broken::WeightVar,
        Broken::Observation,
        Broken::Noise,
    ];
    for (map, rows, exact) in cases() {
        let case = Case::new(map.input, map.output, rows, exact, 2);
        for what in all.into_iter().filter(|&what| !exact || what != Broken::InputVar) {
            // Kernels for known inputs do not multiply weights with variances of zero: only means are comparable.
            let comparable = if exact && what == Broken::Weight { case.d_mean.len() } else { usize::MAX };
            for value in [nan, f64::INFINITY] {
                let reference = broken(&Reference, map, &case, what, value);
                for (name, gpu, _) in gpus() {
                    let ours = broken(gpu, map, &case, what, value);
                    let mut pairs = reference.iter().zip(&ours).take(comparable);
                    let lost = pairs.position(|(reference, ours)| *reference && !ours);
                    assert_eq!(lost, None, "{value} as {what:?}, {map:?}, {rows} rows, {name}");
                }
            }
        }
    }
}
