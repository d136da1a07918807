//! Every kernel of the fast device against the reference, over odd shapes, with every vector width this
//! processor has and several team sizes.
//!
//! Inputs are f32 numbers, so both devices start from the same; errors are relative to the largest entry of
//! an array and bounded in units of f32's epsilon and the length of the sums.

use super::device::archs;
use super::*;
use tractable_core::moments::Activation;
use tractable_core::moments::posterior::{Count, Pace};
use tractable_core::rng::{self, Rng};
use tractable_core::shape::Padding;
use tractable_core::team::Team;

macro_rules! on {
    ($which:expr, $b:ident => $body:expr) => {
        match $which {
            Which::Reference($b) => $body,
            Which::Cpu($b) => $body,
            #[cfg(feature = "cuda")]
            Which::Cuda($b) => $body,
        }
    };
}

// After the macro, which they use.
mod average;
mod chain;
mod derivative;
mod norms;
mod rows;
mod tiles;

const EPSILON: f64 = f32::EPSILON as f64;

/// Seeded f32 numbers in a range, as f64.
struct Numbers(rng::ChaCha8Rng);

impl Numbers {
    fn new(seed: u64) -> Self {
        Numbers(rng::stream(seed, "conformance", 0))
    }

    fn draw(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        (0..n).map(|_| f64::from((low + (high - low) * unit(self.0.next_u64())) as f32)).collect()
    }
}

/// All cases; under Miri, only some of them.
fn some<T>(cases: impl IntoIterator<Item = T>, one_of: usize) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if cfg!(miri) { one_of } else { 1 })
}

/// A field of a state.
fn read<B: Backend>(b: &B, state: &B::State, field: Field) -> Vec<f64> {
    b.read(state, field).unwrap()
}

/// A batch going through one layer and back: what it is made of, and what to compare.
struct Case {
    input: Shape,
    output: Shape,
    mean: Vec<f64>,
    var: Option<Vec<f64>>,
    d_mean: Vec<f64>,
    d_var: Vec<f64>,
}

impl Case {
    fn new(input: Shape, output: Shape, rows: usize, exact: bool, seed: u64) -> Self {
        let mut n = Numbers::new(seed);
        let (i, o) = (rows * input.len(), rows * output.len());
        let mean = n.draw(i, -1.0, 1.0);
        let var = (!exact).then(|| n.draw(i, 0.0, 0.5));
        Case { input, output, mean, var, d_mean: n.draw(o, -1.0, 1.0), d_var: n.draw(o, -1.0, 0.0) }
    }

    /// Puts known innovations at the output: observing y with noise r where mean and variance are known.
    fn innovate<B: Backend>(&self, b: &B, z: &mut B::State) {
        // d_mean = (y - m)/(v + r), d_var = -1/(v + r): choose r and y so that both come out as drawn.
        let (m, v) = (read(b, z, Field::Mean), read(b, z, Field::Var));
        let total: Vec<f64> =
            self.d_var.iter().zip(&v).map(|(d, v)| (-1.0 / d.min(-1e-2)).max(v * 1.5)).collect();
        let noise: Vec<f64> = total.iter().zip(&v).map(|(t, v)| t - v).collect();
        let y: Vec<f64> = m.iter().zip(&total).zip(&self.d_mean).map(|((m, t), d)| m + d * t).collect();
        b.observe(z, Seen { y: &y, noise: NoiseVar::PerEntry(&noise), seen: None });
    }

    fn start<B: Backend>(&self, b: &B) -> (B::State, B::State) {
        let (mut x, z) = (b.state(self.input), b.state(self.output));
        b.write(&mut x, &self.mean, self.var.as_deref()).unwrap();
        (x, z)
    }
}

fn parts<B: Backend>(b: &B, z: &B::State, x: &B::State) -> Vec<Named> {
    vec![
        ("mean", read(b, z, Field::Mean)),
        ("var", read(b, z, Field::Var)),
        ("d_mean", read(b, x, Field::DMean)),
        ("d_var", read(b, x, Field::DVar)),
    ]
}

type Named = (&'static str, Vec<f64>);

/// Checks that every array is as close to the reference as f32 sums of this many terms can be.
fn close(what: &str, times: f64, terms: usize, ours: &[Named], reference: &[Named]) {
    for ((part, ours), (_, reference)) in ours.iter().zip(reference) {
        assert_eq!(ours.len(), reference.len(), "{what}: {part}");
        let scale = reference.iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
        let off = ours.iter().zip(reference).map(|(a, b)| (a - b).abs());
        let worst = off.fold(0.0, |m: f64, d| if d.is_nan() || d > m { d } else { m }) / scale;
        let bound = times * EPSILON * (8.0 + (terms as f64).sqrt());
        assert!(worst <= bound, "{what}: {part} off by {worst:e}, allowed {bound:e}");
    }
}

/// Runs the same on the reference and on every form of the fast device; `terms` is the length of its sums.
fn agree<T>(what: &str, terms: usize, run: T)
where
    T: Fn(Which<'_>) -> Vec<Named>,
{
    let reference = run(Which::Reference(&Reference));
    #[cfg(feature = "cuda")]
    for (name, gpu, times) in gpus() {
        let ours = run(Which::Cuda(gpu));
        close(&format!("{what}, {name}"), *times, terms, &ours, &reference);
        assert_eq!(ours, run(Which::Cuda(gpu)), "{what}, {name}: the same bits twice");
    }
    for (width, arch) in archs() {
        let name = format!("vectors of {width}");
        let mut of_one_thread = None;
        for threads in [1, 3] {
            let ours = run(Which::Cpu(&Cpu::new(arch, Team::of(threads))));
            close(&format!("{what}, {name}, {threads} threads"), 1.0, terms, &ours, &reference);
            // Whatever the number of threads: the same bits.
            assert_eq!(of_one_thread.get_or_insert(ours.clone()), &ours, "{what}, {name}, {threads} threads");
        }
    }
}

enum Which<'a> {
    Reference(&'a Reference),
    Cpu(&'a Cpu),
    #[cfg(feature = "cuda")]
    Cuda(&'a super::cuda::Cuda),
}

/// The first GPU, if there is one, with the factor on the allowed error: as it is, and with all maps on tensor cores.
#[cfg(feature = "cuda")]
fn gpus() -> &'static [(&'static str, super::cuda::Cuda, f64)] {
    use super::cuda::{Cuda, Precision};
    static GPUS: std::sync::OnceLock<Vec<(&'static str, Cuda, f64)>> = std::sync::OnceLock::new();
    GPUS.get_or_init(|| {
        let open = |precision| Cuda::open(0, precision);
        match (open(Precision::Precise), open(Precision::Precise), open(Precision::Fast)) {
            (Ok(plain), Ok(precise), Ok(fast)) => vec![
                ("GPU", plain, 1.0),
                ("GPU, bf16 parts", precise.eager(), 40.0),
                ("GPU, TF32", fast.eager(), 4000.0),
            ],
            (Err(e), ..) | (_, Err(e), _) | (.., Err(e)) => {
                eprintln!("skipped: {e}");
                Vec::new()
            }
        }
    })
}

fn parameters(map: &Map, seed: u64) -> Parameters {
    let mut n = Numbers::new(seed);
    let (weights, biases) = (map.fan_in() * map.output.channels, map.output.channels);
    Parameters {
        mean: n.draw(weights, -1.0, 1.0),
        var: n.draw(weights, 0.01, 0.5),
        bias_mean: n.draw(biases, -1.0, 1.0),
        bias_var: n.draw(biases, 0.01, 0.5),
    }
}

/// Weights put in by two parts, as a file's are.
fn filled<B: Backend>(b: &B, map: Map, p: &Parameters) -> B::Weights {
    let mut w = b.weights(map).unwrap();
    let (outputs, n) = (map.output.channels, map.fan_in());
    for part in [0..outputs / 2, outputs / 2..outputs] {
        let [mean, var] = [&p.mean, &p.var].map(|v| v[part.start * n..part.end * n].to_vec());
        let [bias_mean, bias_var] = [&p.bias_mean, &p.bias_var].map(|v| v[part.clone()].to_vec());
        b.set_weights(&mut w, part, &Parameters { mean, var, bias_mean, bias_var }).unwrap();
    }
    w
}

/// A tenth is forgotten, and steps are limited.
const COUNT: Count<f64> = Count { weight: 0.1, share: 0.1, mean: 0.1, precision: 3.0, cap: 2.0 };

/// Steps of a length of their own, some of which are limited.
const PACE: Pace<f64> = Pace { length: 3.0, share: 0.1, precision: 3.0, pull: 0.2 };

fn map_agrees(map: Map, rows: usize, exact: bool) {
    let p = parameters(&map, 1);
    let case = Case::new(map.input, map.output, rows, exact, 2);
    let positions = map.output.pixels();
    let pass = |b: Which<'_>, steps: Steps, split: bool| {
        on!(b, b => {
            let mut w = filled(b, map, &p);
            let (mut x, mut z) = case.start(b);
            let mut scratch = Default::default();
            b.map(&w, &mut scratch, &x, &mut z, Purpose::Learn);
            case.innovate(b, &mut z);
            b.map_back(&w, &mut scratch, &z, &mut x);
            let mut status = Default::default();
            if split {
                // In two halves, a batch and then nothing more.
                let mut sums = b.map_sums(&w);
                b.map_accumulate(&w, &mut scratch, &x, &z, &mut sums);
                b.map_apply(&mut w, &sums, steps, &mut status);
            } else {
                b.map_learn(&mut w, &mut scratch, &x, &z, steps, &mut status);
            }
            let tally = b.status(&mut status).unwrap().tally;
            let mut out = parts(b, &z, &x);
            let p = b.weights_parameters(&w, 0..usize::MAX).unwrap();
            out.extend([("weights", p.mean), ("their var", p.var), ("bias", p.bias_mean), ("its var", p.bias_var)]);
            (out, tally)
        })
    };
    let what = format!("{map:?}, {rows} rows, exact {exact}");
    // With the cap every step is limited in the same way, so that sums that overshoot can be compared too.
    for steps in [[Step::Capped(2.0); 2], [Step::Counted(COUNT); 2], [Step::Paced(PACE); 2]] {
        // Where steps are not limited nothing hides the rounding of the innovations.
        let shown = if matches!(steps[0], Step::Capped(_)) { 1 } else { 8 };
        let terms = shown * map.fan_in().max(map.output.channels).max(rows * positions);
        agree(&format!("{what}, {steps:?}"), terms, |b| pass(b, steps, false).0);
    }
    let steps = [Step::Capped(2.0); 2];
    let capped = pass(Which::Reference(&Reference), steps, false).1.capped;
    let cpu = Cpu::new(pulp::Arch::new(), Team::of(1));
    let whole = pass(Which::Cpu(&cpu), steps, false);
    assert_eq!(pass(Which::Cpu(&cpu), steps, true), whole, "{what}: in two halves");
    let ours = whole.1.capped;
    let near = capped.abs_diff(ours) as f64;
    assert!(near <= 1.0 + 0.01 * capped as f64, "{what}: capped {ours}, reference {capped}");
}

#[test]
fn dense_maps_agree() {
    let sizes = [1, 2, 7, 31, 32, 33, 65, 127];
    for (i, &inputs) in some(sizes.iter().enumerate(), 5) {
        for (j, &outputs) in some(sizes.iter().enumerate(), 5) {
            let rows = [1, 2, 3, 5, 6, 7, 13, 16, 17, 33, 65][(3 * i + 5 * j) % 11];
            let map = Map { input: Shape::flat(inputs), output: Shape::flat(outputs), window: None };
            map_agrees(map, rows, (i + j) % 3 == 0);
        }
    }
}

#[test]
fn dense_maps_on_images_agree() {
    for channels in some([1, 3, 32, 33], 3) {
        let map = Map { input: Shape::image(channels, 3, 5), output: Shape::flat(17), window: None };
        map_agrees(map, 5, channels == 3);
    }
}

#[test]
#[cfg_attr(miri, ignore)] // takes hours there, and covers no new code path
fn large_batches_agree() {
    // Large enough for several tasks on several threads.
    let map = Map { input: Shape::flat(257), output: Shape::flat(67), window: None };
    map_agrees(map, 131, false);
    let window = Window { kernel: 3, stride: 1, padding: Padding::Around(1) };
    let map = Map { input: Shape::image(33, 9, 7), output: Shape::image(31, 9, 7), window: Some(window) };
    map_agrees(map, 5, false);
}

#[test]
#[cfg_attr(miri, ignore)] // takes hours there, and covers no new code path
fn batches_of_whole_tiles_agree() {
    let map = Map { input: Shape::flat(150), output: Shape::flat(70), window: None };
    map_agrees(map, 64, false);
    for (kernel, padding, channels, outputs) in
        [(3, Padding::Around(1), 32, 20), (2, Padding::End(1), 12, 36), (3, Padding::Around(0), 64, 18)]
    {
        let (window, input) = (Window { kernel, stride: 1, padding }, Shape::image(channels, 3, 4));
        let (down, across) = window.slide(input).unwrap();
        let map = Map { input, output: Shape::image(outputs, down, across), window: Some(window) };
        map_agrees(map, 32, false);
    }
}

/// Windows of every kind over rectangular images.
fn windows() -> Vec<(Window, (usize, usize))> {
    let mut windows = Vec::new();
    for (kernel, stride) in [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 3), (5, 2)] {
        for padding in
            [Padding::Around(0), Padding::Around(1), Padding::Around(2), Padding::End(1), Padding::End(2)]
        {
            windows.push((Window { kernel, stride, padding }, (7, 5)));
        }
    }
    windows
}

#[test]
fn convolutions_agree() {
    for (i, (window, (height, width))) in some(windows().into_iter().enumerate(), 12) {
        let (from, to) = ([1, 3, 32, 5][i % 4], [1, 4, 31, 33][i / 2 % 4]);
        let input = Shape::image(from, height, width);
        let (down, across) = window.slide(input).unwrap();
        let map = Map { input, output: Shape::image(to, down, across), window: Some(window) };
        map_agrees(map, [1, 2, 5][i % 3], i % 5 == 0);
    }
}

#[test]
fn pooling_agrees() {
    for (i, (window, (height, width))) in some(windows().into_iter().enumerate(), 12) {
        let input = Shape::image([1, 3, 32, 33][i % 4], height, width);
        let (down, across) = window.slide(input).unwrap();
        let output = Shape { height: down, width: across, ..input };
        let case = Case::new(input, output, 3, false, i as u64);
        for pool in [Pool::Average, Pool::Max] {
            agree(&format!("{pool:?} {window:?} on {input}"), window.kernel * window.kernel, |b| {
                on!(b, b => {
                    let (mut x, mut z) = case.start(b);
                    b.pool(pool, window, &x, &mut z);
                    case.innovate(b, &mut z);
                    b.pool_back(pool, window, &z, &z, &mut x);
                    parts(b, &z, &x)
                })
            });
        }
    }
}

#[test]
fn batch_normalisation_agrees() {
    for shape in [
        Shape::flat(1),
        Shape::flat(33),
        Shape::image(3, 5, 4),
        Shape::image(32, 3, 3),
        Shape::image(65, 2, 1),
        Shape::image(6, 13, 13),
    ] {
        for (rows, purpose) in [(1, Purpose::Learn), (7, Purpose::Learn), (7, Purpose::Predict)] {
            let mut n = Numbers::new(9);
            let c = shape.channels;
            let p = Parameters {
                mean: n.draw(c, 0.5, 1.5),
                var: n.draw(c, 0.1, 1.0),
                bias_mean: n.draw(c, -1.0, 1.0),
                bias_var: n.draw(c, 0.01, 0.1),
            };
            let s = Statistics {
                mean: n.draw(c, -0.5, 0.5),
                var: n.draw(c, 0.5, 2.0),
                momentum: 0.9,
                epsilon: 1e-5,
            };
            let case = Case::new(shape, shape, rows, false, 4);
            agree(&format!("batch norm of {shape}, {rows} rows, {purpose:?}"), rows * shape.pixels(), |b| {
                on!(b, b => {
                    let mut norm = b.norm(&p, &s).unwrap();
                    let (mut x, mut z) = case.start(b);
                    let mut scratch = Default::default();
                    b.normalize(&norm, &mut scratch, &x, &mut z, purpose);
                    case.innovate(b, &mut z);
                    if purpose == Purpose::Learn {
                        b.normalize_total(&norm, &mut scratch, &x, &z, None).unwrap();
                        let (mut sums, mut status) = (b.normalize_sums(&norm), Default::default());
                        b.normalize_accumulate(&norm, &scratch, &mut sums);
                        b.normalize_back(&norm, &scratch, None, &z, &mut x);
                        b.normalize_apply(&mut norm, &sums, [Step::Capped(2.0); 2], &mut status);
                    } else {
                        b.normalize_back(&norm, &scratch, None, &z, &mut x);
                    }
                    let mut out = parts(b, &z, &x);
                    let (p, s) = b.norm_parameters(&norm).unwrap();
                    out.extend([("scale", p.mean), ("its var", p.var), ("shift", p.bias_mean), ("its var", p.bias_var)]);
                    out.extend([("running mean", s.mean), ("running var", s.var)]);
                    out
                })
            });
        }
    }
}

#[test]
fn activations_agree() {
    for (i, &activation) in some(Activation::ALL.iter().enumerate(), 3) {
        let shape = [Shape::flat(31), Shape::image(3, 7, 5), Shape::flat(129)][i % 3];
        let case = Case::new(shape, shape, 17, false, i as u64);
        agree(activation.name(), 1, |b| {
            on!(b, b => {
                let (mut x, mut z) = case.start(b);
                b.activate(activation, &x, &mut z, Purpose::Predict);
                case.innovate(b, &mut z);
                b.activate_back(&z, &z, &mut x);
                b.posterior(&mut x);
                let mut out = parts(b, &z, &x);
                out.extend([("slope", read(b, &z, Field::Slope)), ("posterior", read(b, &x, Field::Mean)), ("its var", read(b, &x, Field::Var))]);
                out
            })
        });
    }
}

#[test]
fn entries_that_were_not_seen_say_nothing() {
    let case = Case::new(Shape::flat(5), Shape::flat(5), 2, false, 3);
    let seen = [true, false, true, true, false, false, false, true, true, true];
    let y = vec![0.5; 10];
    agree("mask", 1, |b| {
        on!(b, b => {
            let (mut x, _) = case.start(b);
            b.observe(&mut x, Seen { y: &y, noise: NoiseVar::PerOutput(&[0.1, 0.2, 0.3, 0.4, 0.5]), seen: Some(&seen) });
            let d = read(b, &x, Field::DMean);
            assert!(d.iter().zip(&seen).all(|(d, seen)| *seen != (*d == 0.0)));
            vec![("d_mean", d), ("d_var", read(b, &x, Field::DVar))]
        })
    });
}

#[test]
fn classes_that_are_seen_agree() {
    for (classes, rows) in [(2, 3), (10, 5), (37, 1), (300, 9)] {
        let shape = Shape::flat(classes);
        let case = Case::new(shape, shape, rows, false, 9);
        let is_class = |i: usize| i % classes == (7 * (i / classes) + 1) % classes;
        let y: Vec<f64> = (0..rows * classes).map(|i| f64::from(u8::from(is_class(i)))).collect();
        let some: Vec<bool> = (0..rows * classes).map(|i| i / classes % 3 > 0 || i % 2 == 0).collect();
        for seen in [None, Some(&some[..])] {
            agree(&format!("{classes} classes, {rows} rows"), classes, |b| {
                on!(b, b => {
                    let (mut x, _) = case.start(b);
                    b.observe(&mut x, Seen { y: &y, noise: NoiseVar::Softmax, seen });
                    let d = read(b, &x, Field::DMean);
                    assert!(d.iter().enumerate().all(|(i, d)| seen.is_some_and(|s| !s[i]) == (*d == 0.0)));
                    vec![("d_mean", d), ("d_var", read(b, &x, Field::DVar))]
                })
            });
        }
    }
}

#[test]
fn noise_that_is_inferred_agrees() {
    for (shape, rows) in [(Shape::flat(5), 3), (Shape::image(3, 2, 2), 2), (Shape::flat(33), 7)] {
        let n = rows * shape.len();
        let (case, head) = (Case::new(shape, shape, rows, false, 5), Case::new(shape, shape, rows, false, 6));
        let y = Numbers::new(7).draw(n, -2.0, 2.0);
        let var = Numbers::new(8).draw(shape.len(), 0.1, 1.0);
        let some: Vec<bool> = (0..n).map(|i| i % 3 > 0).collect();
        for (seen, with_head) in
            [(None, false), (None, true), (Some(&some[..]), false), (Some(&some[..]), true)]
        {
            agree(&format!("noise of {shape:?}, {rows} rows, head {with_head}"), rows, |b| {
                on!(b, b => {
                    let ((mut output, _), (mut u, _)) = (case.start(b), head.start(b));
                    let mut sums = NoiseSums::zeros(shape.len());
                    let seen = Seen { y: &y, noise: NoiseVar::PerOutput(&var), seen };
                    b.infer_noise(&mut output, with_head.then_some(&mut u), seen, &mut sums);
                    let mut out = vec![("squares", sums.squares), ("count", sums.count)];
                    if with_head {
                        out.extend([("d_mean", read(b, &u, Field::DMean)), ("d_var", read(b, &u, Field::DVar))]);
                        b.forget_innovation(&mut u);
                        assert!(read(b, &u, Field::DMean).iter().all(|d| *d == 0.0));
                    }
                    out
                })
            });
        }
    }
}

#[test]
fn innovations_are_taken_as_they_are() {
    for shape in [Shape::flat(5), Shape::image(3, 2, 2)] {
        let case = Case::new(shape, shape, 3, false, 4);
        let d_mean: Vec<f64> = (0..3 * shape.len()).map(|i| i as f64 / 8.0 - 1.0).collect();
        agree("innovate", 1, |b| {
            on!(b, b => {
                let (mut x, _) = case.start(b);
                b.innovate(&mut x, &d_mean).unwrap();
                let d = read(b, &x, Field::DMean);
                assert_eq!(d, d_mean);
                vec![("d_mean", d), ("d_var", read(b, &x, Field::DVar))]
            })
        });
    }
}

#[test]
fn sums_agree() {
    for shape in [Shape::flat(5), Shape::flat(33), Shape::image(3, 2, 4), Shape::image(33, 2, 1)] {
        let (one, two) = (Case::new(shape, shape, 7, false, 5), Case::new(shape, shape, 7, false, 6));
        agree(&format!("sums of {shape}"), 1, |b| {
            on!(b, b => {
                let ((x, mut z), (y, mut second)) = (one.start(b), two.start(b));
                let mut states = [x, y];
                b.add(&states, &[0, 1], &mut z);
                one.innovate(b, &mut z);
                b.add_back(&z, &mut states[0]);
                // A second innovation on top, from a state of another layout.
                b.activate(Activation::Identity, &states[1], &mut second, Purpose::Predict);
                two.innovate(b, &mut second);
                b.add_innovation(&second, &mut states[0]);
                parts(b, &z, &states[0])
            })
        });
    }
}

#[test]
fn batches_are_summed_up_before_they_are_applied() {
    let map = Map { input: Shape::flat(33), output: Shape::flat(7), window: None };
    let (p, shape) = (parameters(&map, 1), Shape::flat(7));
    let cases = [2, 3].map(|seed| Case::new(map.input, map.output, 5, false, seed));
    let s = Statistics { mean: vec![0.1; 7], var: vec![0.9; 7], momentum: 0.9, epsilon: 1e-5 };
    let of_norm =
        Parameters { mean: vec![1.0; 7], var: vec![0.3; 7], bias_mean: vec![0.2; 7], bias_var: vec![0.1; 7] };
    agree("two batches", 33, |b| {
        on!(b, b => {
            let (mut w, mut norm) = (filled(b, map, &p), b.norm(&of_norm, &s).unwrap());
            let (mut of_w, mut of_n, mut scratch) = (b.map_sums(&w), b.normalize_sums(&norm), [Default::default(), Default::default()]);
            for case in &cases {
                let (x, mut z) = case.start(b);
                let mut n = b.state(shape);
                b.map(&w, &mut scratch[0], &x, &mut z, Purpose::Learn);
                b.normalize(&norm, &mut scratch[1], &z, &mut n, Purpose::Learn);
                case.innovate(b, &mut n);
                b.normalize_total(&norm, &mut scratch[1], &z, &n, None).unwrap();
                b.normalize_accumulate(&norm, &scratch[1], &mut of_n);
                b.normalize_back(&norm, &scratch[1], None, &n, &mut z);
                b.map_accumulate(&w, &mut scratch[0], &x, &z, &mut of_w);
            }
            let (steps, mut status) = ([Step::Paced(PACE), Step::Counted(COUNT)], Default::default());
            b.map_apply(&mut w, &of_w, steps, &mut status);
            b.normalize_apply(&mut norm, &of_n, steps, &mut status);
            let (w, (n, s)) = (b.weights_parameters(&w, 0..usize::MAX).unwrap(), b.norm_parameters(&norm).unwrap());
            vec![("weights", w.mean), ("their var", w.var), ("scale", n.mean), ("running mean", s.mean), ("running var", s.var)]
        })
    });
}

#[test]
fn rows_are_gathered_as_they_were_written() {
    for shape in [Shape::flat(5), Shape::flat(33), Shape::image(3, 2, 4)] {
        let values = Numbers::new(3).draw(6 * shape.len(), -1.0, 1.0);
        agree(&format!("rows of {shape}"), 1, |b| {
            on!(b, b => {
                let (mut table, mut x) = (b.table(shape, 6).unwrap(), b.state(shape));
                b.table_write(&mut table, 0, &values[..2 * shape.len()]).unwrap();
                b.table_write(&mut table, 2, &values[2 * shape.len()..]).unwrap();
                b.write(&mut x, &values, Some(&vec![0.5; values.len()])).unwrap();
                b.gather(&table, &[5, 0, 3], &mut x);
                let mean = read(b, &x, Field::Mean);
                let row = |r: usize| &values[r * shape.len()..(r + 1) * shape.len()];
                assert_eq!(mean, [row(5), row(0), row(3)].concat());
                vec![("mean", mean), ("var", read(b, &x, Field::Var))]
            })
        });
    }
}

#[test]
fn what_is_not_finite_is_noted_and_stops_updates() {
    fn check<B: Backend<Status = Noted>>(b: &B) {
        let map = Map { input: Shape::flat(3), output: Shape::flat(2), window: None };
        let mut w = filled(b, map, &parameters(&map, 1));
        let (mut x, mut z) = (b.state(map.input), b.state(map.output));
        b.write(&mut x, &[1.0, 2.0, 3.0, 4.0, if b.is_double() { f64::INFINITY } else { 1e300 }, 6.0], None)
            .unwrap();
        let (mut scratch, mut status) = (Default::default(), Noted::default());
        b.map(&w, &mut scratch, &x, &mut z, Purpose::Learn);
        b.observe(&mut z, Seen { y: &[0.0; 4], noise: NoiseVar::One(1.0), seen: None });
        b.check_innovation(&z, 1, &mut status);
        let noted = status.broken.unwrap();
        assert_eq!((noted.state, noted.row), (1, 1));
        status = Noted::default();
        let states = [x, z];
        b.check_states(&states, &mut status);
        let noted = status.broken.unwrap();
        assert_eq!((noted.state, noted.row, noted.value), (0, 1, f64::INFINITY), "the first of them");
        let before = b.weights_parameters(&w, 0..usize::MAX).unwrap();
        b.map_learn(&mut w, &mut scratch, &states[0], &states[1], [Step::Plain; 2], &mut status);
        assert_eq!(b.weights_parameters(&w, 0..usize::MAX).unwrap(), before);
        let mut average = filled(b, map, &parameters(&map, 2));
        b.map_average(&w, &mut average, 1.0, &mut status);
        assert_ne!(b.weights_parameters(&average, 0..usize::MAX).unwrap(), before);
        assert!(b.status(&mut status).unwrap().broken.is_some());
        assert!(b.status(&mut status).unwrap().broken.is_none(), "it is told once");
    }
    check(&Reference);
    (1..3).for_each(|threads| check(&Cpu::new(pulp::Arch::new(), Team::of(threads))));
}
