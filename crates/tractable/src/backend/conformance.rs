//! Every kernel of the fast device against the reference, over odd shapes, with every vector width this
//! processor has and several team sizes.
//!
//! Inputs are f32 numbers, so both devices start from the same; errors are relative to the largest entry of
//! an array and bounded in units of f32's epsilon and the length of the sums.

use super::{Backend, Cpu, Map, NoiseVar, Parameters, Part, Pool, Reference, Seen, Statistics, Tally};
use crate::moments::Activation;
use crate::rng::{self, Rng};
use crate::shape::{Padding, Shape, Window};

macro_rules! on {
    ($which:expr, $b:ident => $body:expr) => {
        match $which {
            Which::Reference($b) => $body,
            Which::Cpu($b) => $body,
        }
    };
}

// After the macro, which it uses.
mod derivative;

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

/// All cases; where a checker of memory interprets every instruction, one of so many.
fn some<T>(cases: impl IntoIterator<Item = T>, one_of: usize) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if cfg!(miri) { one_of } else { 1 })
}

fn archs() -> Vec<(&'static str, pulp::Arch)> {
    let mut archs = vec![("scalar", pulp::Arch::Scalar)];
    #[cfg(target_arch = "x86_64")]
    {
        archs.extend(pulp::x86::V3::try_new().map(|v| ("AVX2", pulp::Arch::V3(v))));
        archs.extend(pulp::x86::V4::try_new().map(|v| ("AVX-512", pulp::Arch::V4(v))));
    }
    archs
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
        let (m, v) = (b.read(z, Part::Mean), b.read(z, Part::Var));
        let total: Vec<f64> =
            self.d_var.iter().zip(&v).map(|(d, v)| (-1.0 / d.min(-1e-2)).max(v * 1.5)).collect();
        let noise: Vec<f64> = total.iter().zip(&v).map(|(t, v)| t - v).collect();
        let y: Vec<f64> = m.iter().zip(&total).zip(&self.d_mean).map(|((m, t), d)| m + d * t).collect();
        b.observe(z, Seen { y: &y, noise: NoiseVar::PerEntry(&noise), seen: None });
    }

    fn start<B: Backend>(&self, b: &B) -> (B::State, B::State) {
        let (mut x, z) = (b.state(self.input), b.state(self.output));
        b.write(&mut x, &self.mean, self.var.as_deref());
        (x, z)
    }
}

fn parts<B: Backend>(b: &B, z: &B::State, x: &B::State) -> Vec<(&'static str, Vec<f64>)> {
    vec![
        ("mean", b.read(z, Part::Mean)),
        ("var", b.read(z, Part::Var)),
        ("d_mean", b.read(x, Part::DMean)),
        ("d_var", b.read(x, Part::DVar)),
    ]
}

/// Runs the same on the reference and on every form of the fast device; `terms` is the length of its sums.
fn agree<T>(what: &str, terms: usize, run: T)
where
    T: Fn(Which<'_>) -> Vec<(&'static str, Vec<f64>)>,
{
    let reference = run(Which::Reference(&Reference));
    for (name, arch) in archs() {
        let mut of_one_thread = None;
        for threads in [1, 3] {
            let ours = run(Which::Cpu(&Cpu::with_arch(arch, threads)));
            for ((part, ours), (_, reference)) in ours.iter().zip(&reference) {
                assert_eq!(ours.len(), reference.len(), "{what}, {name}: {part}");
                let scale = reference.iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
                let off = ours.iter().zip(reference).map(|(a, b)| (a - b).abs());
                let worst = off.fold(0.0, |m: f64, d| if d.is_nan() || d > m { d } else { m }) / scale;
                let bound = EPSILON * (8.0 + (terms as f64).sqrt());
                assert!(
                    worst <= bound,
                    "{what}, {name}, {threads} threads: {part} off by {worst:e}, allowed {bound:e}"
                );
            }
            // Whatever the number of threads: the same bits.
            assert_eq!(of_one_thread.get_or_insert(ours.clone()), &ours, "{what}, {name}, {threads} threads");
        }
    }
}

enum Which<'a> {
    Reference(&'a Reference),
    Cpu(&'a Cpu),
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
    let mut w = b.weights(map);
    let (outputs, n) = (map.output.channels, map.fan_in());
    for part in [0..outputs / 2, outputs / 2..outputs] {
        let [mean, var] = [&p.mean, &p.var].map(|v| v[part.start * n..part.end * n].to_vec());
        let [bias_mean, bias_var] = [&p.bias_mean, &p.bias_var].map(|v| v[part.clone()].to_vec());
        b.set_weights(&mut w, part, &Parameters { mean, var, bias_mean, bias_var });
    }
    w
}

fn map_agrees(map: Map, rows: usize, exact: bool) {
    let p = parameters(&map, 1);
    let case = Case::new(map.input, map.output, rows, exact, 2);
    let positions = map.output.pixels();
    let pass = |b: Which<'_>, cap: Option<f64>| {
        on!(b, b => {
            let mut w = filled(b, map, &p);
            let (mut x, mut z) = case.start(b);
            let mut scratch = Default::default();
            b.map(&w, &mut scratch, &x, &mut z);
            case.innovate(b, &mut z);
            b.map_back(&w, &mut scratch, &z, &mut x);
            let tally = b.map_learn(&mut w, &mut scratch, &x, &z, cap);
            let mut out = parts(b, &z, &x);
            let p = b.weights_parameters(&w);
            out.extend([("weights", p.mean), ("their var", p.var), ("bias", p.bias_mean), ("its var", p.bias_var)]);
            (out, tally)
        })
    };
    let what = format!("{map:?}, {rows} rows, exact {exact}");
    // With the cap every step is limited in the same way, so that sums that overshoot can be compared too.
    agree(&what, map.fan_in().max(map.output.channels).max(rows * positions), |b| pass(b, Some(2.0)).0);
    let Tally { capped, .. } = pass(Which::Reference(&Reference), Some(2.0)).1;
    let ours = pass(Which::Cpu(&Cpu::new(1)), Some(2.0)).1.capped;
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
#[cfg_attr(miri, ignore)] // takes hours there, and no other path through the code
fn large_batches_agree() {
    // Large enough for several tasks on several threads.
    let map = Map { input: Shape::flat(257), output: Shape::flat(67), window: None };
    map_agrees(map, 131, false);
    let window = Window { kernel: 3, stride: 1, padding: Padding::Around(1) };
    let map = Map { input: Shape::image(33, 9, 7), output: Shape::image(31, 9, 7), window: Some(window) };
    map_agrees(map, 5, false);
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
                    b.pool_back(pool, window, &z, &mut x);
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
    ] {
        for (rows, learning) in [(1, true), (7, true), (7, false)] {
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
            agree(
                &format!("batch norm of {shape}, {rows} rows, learning {learning}"),
                rows * shape.pixels(),
                |b| {
                    on!(b, b => {
                        let mut norm = b.norm(&p, &s);
                        let (mut x, mut z) = case.start(b);
                        let mut scratch = Default::default();
                        b.normalize(&norm, &mut scratch, &x, &mut z, learning);
                        case.innovate(b, &mut z);
                        b.normalize_back(&norm, &scratch, &z, &mut x);
                        b.normalize_learn(&mut norm, &mut scratch, &x, &z, Some(2.0));
                        let mut out = parts(b, &z, &x);
                        let (p, s) = b.norm_parameters(&norm);
                        out.extend([("scale", p.mean), ("its var", p.var), ("shift", p.bias_mean), ("its var", p.bias_var)]);
                        out.extend([("running mean", s.mean), ("running var", s.var)]);
                        out
                    })
                },
            );
        }
    }
}

#[test]
fn activations_agree() {
    let all = ["identity", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "mixture_relu"];
    for (i, name) in some(all.into_iter().enumerate(), 3) {
        let activation: Activation = name.parse().unwrap();
        let shape = [Shape::flat(31), Shape::image(3, 7, 5), Shape::flat(129)][i % 3];
        let case = Case::new(shape, shape, 17, false, i as u64);
        agree(name, 1, |b| {
            on!(b, b => {
                let (mut x, mut z) = case.start(b);
                b.activate(activation, &x, &mut z);
                case.innovate(b, &mut z);
                b.activate_back(&z, &mut x);
                b.posterior(&mut x);
                let mut out = parts(b, &z, &x);
                out.extend([("slope", b.read(&z, Part::Slope)), ("posterior", b.read(&x, Part::Mean)), ("its var", b.read(&x, Part::Var))]);
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
            let d = b.read(&x, Part::DMean);
            assert!(d.iter().zip(&seen).all(|(d, seen)| *seen != (*d == 0.0)));
            vec![("d_mean", d), ("d_var", b.read(&x, Part::DVar))]
        })
    });
}

#[test]
fn innovations_are_taken_as_they_are() {
    for shape in [Shape::flat(5), Shape::image(3, 2, 2)] {
        let case = Case::new(shape, shape, 3, false, 4);
        let d_mean: Vec<f64> = (0..3 * shape.len()).map(|i| i as f64 / 8.0 - 1.0).collect();
        agree("innovate", 1, |b| {
            on!(b, b => {
                let (mut x, _) = case.start(b);
                b.innovate(&mut x, &d_mean);
                let d = b.read(&x, Part::DMean);
                assert_eq!(d, d_mean);
                vec![("d_mean", d), ("d_var", b.read(&x, Part::DVar))]
            })
        });
    }
}

#[test]
fn what_is_not_finite_is_found() {
    for threads in [1, 2] {
        let cpu = Cpu::new(threads);
        let mut x = cpu.state(Shape::flat(3));
        cpu.write(&mut x, &[1.0, 2.0, 3.0, 4.0, 1e300, 6.0], None);
        assert_eq!(cpu.not_finite(&x, [Part::Var, Part::Mean]), Some((1, f64::INFINITY)));
        assert_eq!(cpu.not_finite(&x, [Part::Var, Part::DMean]), None);
    }
}
