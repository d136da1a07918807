//! Every mistake a caller can make: the error it gives, and that nothing has changed after it.

use crate::cases::{Draw, bytes, teach};
use tractable::data::{Dataset, Scaler};
use tractable::{
    Activation, Device, Error, Fit, Gaussian, Layer, Matrix, Network, Prior, Wanted,
    network::{Observation, Padding, Tree, UpdateRule, Window},
    train::NoiseSchedule,
};

/// The variants, without their fields.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Shape,
    NotFinite,
    OutOfRange,
    Invalid,
    Diverged,
}

fn kind(e: &Error) -> Option<Kind> {
    Some(match e {
        Error::Shape { .. } => Kind::Shape,
        Error::NotFinite { .. } => Kind::NotFinite,
        Error::OutOfRange { .. } => Kind::OutOfRange,
        Error::Invalid { .. } => Kind::Invalid,
        Error::Diverged { .. } => Kind::Diverged,
        _ => return None,
    })
}

/// Collects what did not fail as it should, so that one run shows everything.
#[derive(Default)]
struct Table(Vec<String>);

impl Table {
    fn check<T>(&mut self, what: &str, got: tractable::Result<T>, expected: Kind, says: &str) {
        match got {
            Ok(_) => self.0.push(format!("{what}: accepted")),
            Err(e) if kind(&e) != Some(expected) => self.0.push(format!("{what}: {e:?}, not {expected:?}")),
            Err(e) if !e.to_string().contains(says) => {
                self.0.push(format!("{what}: says \"{e}\", not \"{says}\""))
            }
            Err(_) => {}
        }
    }

    fn done(self) {
        assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
    }
}

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn numbers() {
    use Kind::*;
    let mut t = Table::default();
    let one = || Matrix::column(vec![1.0, 2.0]).unwrap();
    t.check(
        "matrix NaN",
        Matrix::new(vec![1.0, 2.0, 3.0, NAN], 2),
        NotFinite,
        "matrix: row 1, column 1 is NaN",
    );
    t.check(
        "matrix inf",
        Matrix::new(vec![1.0, INF, 3.0, 4.0], 2),
        NotFinite,
        "matrix: row 0, column 1 is inf",
    );
    t.check("matrix -inf", Matrix::column(vec![-INF]), NotFinite, "row 0, column 0 is -inf");
    t.check("matrix both", Matrix::new(vec![0.0, INF, -INF, NAN], 2), NotFinite, "row 0, column 1 is inf");
    t.check("matrix ragged", Matrix::new(vec![1.0; 3], 2), Shape, "a multiple of the width 2, got 3 numbers");
    t.check("matrix of width 0", Matrix::new(vec![], 0), Invalid, "the width must be at least 1");
    t.check(
        "matrix of absurd width",
        Matrix::new(vec![1.0], usize::MAX),
        Shape,
        "width 18446744073709551615",
    );
    t.check("mean NaN", Gaussian::new(vec![NAN], vec![1.0], 1), NotFinite, "mean: row 0, column 0 is NaN");
    t.check("variance NaN", Gaussian::new(vec![0.0], vec![NAN], 1), NotFinite, "variance: row 0, column 0");
    t.check(
        "variance inf",
        Gaussian::new(vec![0.0], vec![INF], 1),
        NotFinite,
        "variance: row 0, column 0 is inf",
    );
    t.check(
        "variance negative",
        Gaussian::new(vec![0.0; 4], vec![0.0, 1.0, 1.0, -0.5], 2),
        OutOfRange,
        "variance: row 1, column 1 is -0.5",
    );
    t.check(
        "variances too few",
        Gaussian::new(vec![0.0; 2], vec![1.0], 1),
        Shape,
        "variance: expected 2 numbers, got 1",
    );
    t.check(
        "gaussian ragged",
        Gaussian::new(vec![0.0; 3], vec![1.0; 3], 2),
        Shape,
        "mean: expected a multiple",
    );
    t.check("gaussian of width 0", Gaussian::new(vec![], vec![], 0), Invalid, "width");
    t.check(
        "around, negative",
        Gaussian::around(&one(), -1.0),
        OutOfRange,
        "variance: row 0, column 0 is -1",
    );
    t.check("around, NaN", Gaussian::around(&one(), NAN), NotFinite, "variance");
    t.check(
        "scaler NaN",
        Scaler::new(vec![0.0, NAN], vec![1.0, 1.0]),
        NotFinite,
        "scaler mean: row 0, column 1",
    );
    t.check(
        "scaler 0",
        Scaler::new(vec![0.0, 0.0], vec![1.0, 0.0]),
        OutOfRange,
        "scaler std: row 0, column 1 is 0",
    );
    t.check("scaler negative", Scaler::new(vec![0.0], vec![-1.0]), OutOfRange, "scaler std");
    t.check("scaler inf", Scaler::new(vec![0.0], vec![INF]), OutOfRange, "scaler std");
    t.check("scaler lengths", Scaler::new(vec![0.0], vec![]), Shape, "scaler");
    t.check("scaler empty", Scaler::new(vec![], vec![]), Invalid, "scaler");
    t.check(
        "scaler observed",
        Scaler::fit_observed(&one(), Some(&[true])),
        Shape,
        "observed: expected 2 entries, got 1",
    );
    t.check(
        "dataset rows",
        Dataset::new(one(), Matrix::column(vec![1.0]).unwrap()),
        Shape,
        "target: expected 2 rows",
    );
    t.check(
        "dataset empty",
        Dataset::new(Matrix::column(vec![]).unwrap(), Matrix::column(vec![]).unwrap()),
        Invalid,
        "target",
    );
    let names = || ["a", "b"].map(String::from).to_vec();
    t.check("labels rows", Dataset::with_labels(one(), vec![0], names()), Shape, "labels: expected 2 rows");
    t.check("labels range", Dataset::with_labels(one(), vec![0, 2], names()), OutOfRange, "labels: row 1");
    t.check("one class", Dataset::with_labels(one(), vec![0, 0], vec!["a".into()]), Invalid, "class names");
    let data = || Dataset::new(one(), one()).unwrap();
    for fraction in [0.0, 1.0, -1.0, 2.0, NAN, INF, 1e-9] {
        t.check(&format!("split {fraction}"), data().split(fraction, 0), Invalid, "split");
    }
    t.check("select none", data().select(&[]), Invalid, "select");
    t.check("select beyond", data().select(&[0, 2]), Invalid, "there is no row 2");
    for classes in [0, 1, (1 << 24) + 1, usize::MAX] {
        t.check(
            &format!("{classes} classes"),
            Tree::new(classes),
            Invalid,
            &format!("classes: {classes} is not"),
        );
    }
    t.check("activation", "gelu".parse::<Activation>(), Invalid, "`gelu` is not known");
    t.check("device", "tpu".parse::<Device>(), Invalid, "`tpu` is not known");
    t.done();
}

#[test]
fn building() {
    use Kind::*;
    const MAX: usize = usize::MAX;
    let mut t = Table::default();
    let mlp = |widths: &[usize]| Network::mlp(widths.to_vec(), Activation::Relu);
    let image = |layer: Layer| Network::builder(tractable::Shape::image(1, 5, 5)).layer(layer);
    let named = |name: &str| Network::builder(tractable::Shape::flat(1)).layer(Layer::linear(1).named(name));
    let flat = |layer: Layer| Network::builder(tractable::Shape::flat(4)).layer(layer);
    let cases = [
        ("nothing", mlp(&[]), "input shape"),
        ("no layers", mlp(&[3]), "layers: a network must have 1 to 1000 layers, not 0"),
        ("no inputs", mlp(&[0, 2]), "input shape: 0"),
        ("no units", mlp(&[3, 0, 1]), "layer `linear1`: outputs of a linear layer"),
        ("no outputs", mlp(&[3, 4, 0]), "layer `linear2`: outputs of a linear layer"),
        ("absurd input", mlp(&[MAX, 1]), "input shape"),
        ("absurd layer", mlp(&[3, MAX, 1]), "layer `linear1`"),
        ("absurd product", mlp(&[1 << 26, 1 << 40]), "layer `linear1`"),
        ("huge input", mlp(&[1 << 30, 1]), "input shape"),
        ("a narrow layer", mlp(&[1 << 21, 1]), "narrow layers take 536871168 bytes on this device"),
        ("too many weights", mlp(&[1 << 20, 1 << 20]), "layer `linear1`: size: more than 2^31"),
        (
            "absurd image",
            Network::builder(tractable::Shape::image(MAX, MAX, MAX)).layer(Layer::linear(1)),
            "input shape",
        ),
        (
            "kernel larger than the image",
            image(Layer::conv2d(1, 6)),
            "layer `conv1`: window: expected an image of at least 6x6",
        ),
        ("pool larger than the image", image(Layer::max_pool2d(6)), "layer `max_pool1`: window"),
        ("convolution of a vector", flat(Layer::conv2d(1, 2)), "layer `conv1`: window"),
        ("kernel 0", image(Layer::conv2d(1, 0)), "layer `conv1`: window: kernel and stride"),
        ("pool 0", image(Layer::avg_pool2d(0)), "layer `avg_pool1`: window: kernel and stride"),
        ("stride 0", image(Layer::conv2d(1, 2).stride(0)), "layer `conv1`: window: kernel and stride"),
        ("no channels", image(Layer::conv2d(0, 2)), "layer `conv1`: channels of a convolution"),
        ("absurd channels", image(Layer::conv2d(MAX, 2)), "layer `conv1`"),
        ("absurd kernel", image(Layer::conv2d(1, MAX)), "layer `conv1`"),
        ("absurd padding", image(Layer::conv2d(1, 2).padding(MAX)), "layer `conv1`"),
        ("huge padding", image(Layer::conv2d(1, 2).padding(1 << 40)), "layer `conv1`"),
        ("absurd end padding", image(Layer::avg_pool2d(2).end_padding(MAX - 5)), "layer `avg_pool1`"),
        ("absurd pool", image(Layer::avg_pool2d(1 << 41).stride(1).padding(1 << 40)), "layer `avg_pool1`"),
        (
            "absurd max pool",
            image(Layer::max_pool2d(1 << 41).stride(1).padding(1 << 40)),
            "layer `max_pool1`",
        ),
        (
            "momentum 1",
            flat(Layer::BatchNorm { momentum: 1.0, epsilon: 1e-5 }),
            "layer `batch_norm1`: momentum: 1",
        ),
        ("momentum NaN", flat(Layer::BatchNorm { momentum: NAN, epsilon: 1e-5 }), "momentum: NaN"),
        ("epsilon 0", flat(Layer::BatchNorm { momentum: 0.9, epsilon: 0.0 }), "epsilon: 0"),
        ("epsilon inf", flat(Layer::BatchNorm { momentum: 0.9, epsilon: INF }), "epsilon: inf"),
        (
            "leaky NaN",
            flat(Activation::LeakyRelu { slope: NAN }.into()),
            "layer `leaky_relu1`: leaky ReLU: slope NaN",
        ),
        ("a name twice", named("a").layer(Layer::linear(1).named("a")), "layer name `a`"),
        ("an empty name", named(""), "layer name ``"),
        (
            "a wide normalisation",
            Network::builder(tractable::Shape::flat((1 << 18) + 1)).layer(Layer::batch_norm()),
            "more than 262144 channels",
        ),
        ("a long name", named(&"é".repeat(101)), "layer name: `éééééééééééééééééééé...` has 202 bytes"),
        (
            "too many layers",
            (0..1001).fold(Network::builder(tractable::Shape::flat(1)), |net, _| net.layer(Activation::Relu)),
            "layers: a network must have 1 to 1000 layers, not 1001",
        ),
        ("a reserved name", named("input"), "layer name `input`"),
        ("no classes", mlp(&[2, 1]).classes(0), "classes: 0"),
        ("one class", mlp(&[2, 1]).classes(1), "classes: 1"),
        ("absurd classes", mlp(&[2, 1]).classes(MAX), "classes: 18446744073709551615"),
        ("gain 0", mlp(&[2, 1]).prior(Prior::he().gain(0.0)), "prior gain: 0"),
        ("gain negative", mlp(&[2, 1]).prior(Prior::xavier().gain(-1.0)), "prior gain: -1"),
        ("gain NaN", mlp(&[2, 1]).prior(Prior::he().gain(NAN)), "prior gain: NaN"),
        ("gain inf", mlp(&[2, 1]).prior(Prior::he().gain(INF)), "prior gain: inf"),
        ("gain beyond f32", mlp(&[2, 1]).prior(Prior::he().gain(1e60)), "prior"),
        ("gain below f32", mlp(&[2, 1]).prior(Prior::he().gain(1e-60)), "prior"),
        ("bias variance 0", mlp(&[2, 1]).prior(Prior::he().bias_var(0.0)), "prior bias variance: 0"),
        ("bias variance beyond f32", mlp(&[2, 1]).prior(Prior::he().bias_var(1e60)), "prior"),
        ("noise 0", mlp(&[2, 1]).noise_std([0.0]), "noise: a standard deviation of 0"),
        ("noise negative", mlp(&[2, 2]).noise_std([1.0, -1.0]), "noise: a standard deviation of -1"),
        ("noise NaN", mlp(&[2, 1]).noise_std([NAN]), "noise: a standard deviation of NaN"),
        ("noise whose square overflows", mlp(&[2, 1]).noise_std([1e200]), "noise"),
        ("noise whose square underflows", mlp(&[2, 1]).noise_std([1e-200]), "noise"),
        ("threads", mlp(&[2, 1]).device(Device::cpu(MAX)), "threads: 18446744073709551615"),
    ];
    for (what, builder, says) in cases {
        t.check(what, builder.build(), Invalid, says);
    }
    t.check("too many noises", mlp(&[2, 3]).noise_std([1.0; 2]).build(), Shape, "noise: expected 1 or 3");
    t.check("no noise", mlp(&[2, 3]).noise_std([]).build(), Shape, "noise: expected 1 or 3");
    let wrong = mlp(&[4, 16, 77]).classes(3).build();
    t.check("classes on a wide layer", wrong, Shape, "last layer: expected 3 outputs, one per class, got 77");
    let wrong = mlp(&[2, 3]).layer(Activation::Relu).classes(10).build();
    t.check("classes on top of an activation", wrong, Shape, "last layer: expected 11 units");
    let window = |kernel, stride, padding| Window { kernel, stride, padding: Padding::Around(padding) };
    let image = tractable::Shape::image(1, 5, 5);
    t.check("slide 0", window(0, 1, 0).slide(image), Invalid, "window");
    t.check("slide too far", window(8, 1, 1).slide(image), Shape, "at least 8x8 with its padding, got 5x5");
    t.check("linear 0", Layer::linear(0).output(image), Invalid, "outputs");
    t.done();
}

fn values(device: Device) -> Network {
    let mut net = Network::mlp([3, 8, 2], Activation::Tanh).device(&device).build().unwrap();
    teach(&mut net, 2, 4, 1);
    net
}

fn classes(device: Device) -> Network {
    let mut net = Network::mlp([3, 8, 5], Activation::Tanh).classes(5).device(&device).build().unwrap();
    teach(&mut net, 2, 4, 1);
    net
}

/// A bad call of `learn`, and the same for `condition`.
type Call<'a> = (&'a str, Matrix, Observation<'a>, Kind, &'a str);

#[test]
fn observing() {
    use Kind::*;
    let matrix = |rows: usize, width: usize| Matrix::new(vec![0.5; rows * width], width).unwrap();
    let (x, y, long) = (matrix(2, 3), matrix(2, 2), matrix(3, 2));
    let (wide, narrow) = (matrix(2, 3), matrix(2, 1));
    let noise = |at: usize, v: f64| (0..4).map(|i| if i == at { v } else { 1.0 }).collect::<Vec<_>>();
    let (zero, negative, nan, inf) = (noise(3, 0.0), noise(2, -1.0), noise(0, NAN), noise(1, INF));
    let empty = Matrix::new(vec![], 3).unwrap();
    let no_y = Matrix::new(vec![], 2).unwrap();
    let of_values: Vec<Call<'_>> = vec![
        ("input too wide", matrix(2, 4), Observation::from(&y), Shape, "input: expected 3 columns, got 4"),
        ("input too narrow", matrix(2, 2), Observation::from(&y), Shape, "input: expected 3 columns, got 2"),
        (
            "no rows",
            empty.clone(),
            Observation::from(&no_y),
            Shape,
            "input: expected at least one row, got 0",
        ),
        ("too many rows", x.clone(), Observation::from(&long), Shape, "observation: expected 2 rows, got 3"),
        (
            "too few rows",
            matrix(4, 3),
            Observation::from(&long),
            Shape,
            "observation: expected 4 rows, got 3",
        ),
        (
            "no observations",
            x.clone(),
            Observation::from(&no_y),
            Shape,
            "observation: expected 2 rows, got 0",
        ),
        ("too wide", x.clone(), Observation::from(&wide), Shape, "observation: expected 2 columns, got 3"),
        (
            "too narrow",
            x.clone(),
            Observation::from(&narrow),
            Shape,
            "observation: expected 2 columns, got 1",
        ),
        ("labels", x.clone(), Observation::from(&[0, 1]), Invalid, "2 outputs: give numbers, not labels"),
        (
            "mask too short",
            x.clone(),
            Observation::from(&y).seen(&[true; 3]),
            Shape,
            "seen entries: expected 4, got 3",
        ),
        (
            "mask too long",
            x.clone(),
            Observation::from(&y).seen(&[true; 5]),
            Shape,
            "seen entries: expected 4, got 5",
        ),
        (
            "noise too short",
            x.clone(),
            Observation::from(&y).noise_var(&[1.0; 2]),
            Shape,
            "noise of every observation: expected 4, got 2",
        ),
        (
            "noise too long",
            x.clone(),
            Observation::from(&y).noise_var(&[1.0; 5]),
            Shape,
            "noise of every observation",
        ),
        (
            "noise zero",
            x.clone(),
            Observation::from(&y).noise_var(&zero),
            OutOfRange,
            "noise variance: row 1, column 1 is 0",
        ),
        (
            "noise negative",
            x.clone(),
            Observation::from(&y).noise_var(&negative),
            OutOfRange,
            "noise variance: row 1, column 0 is -1",
        ),
        (
            "noise NaN",
            x.clone(),
            Observation::from(&y).noise_var(&nan),
            OutOfRange,
            "noise variance: row 0, column 0 is NaN",
        ),
        (
            "noise inf",
            x.clone(),
            Observation::from(&y).noise_var(&inf),
            OutOfRange,
            "noise variance: row 0, column 1 is inf",
        ),
    ];
    let of_classes: Vec<Call<'_>> = vec![
        ("numbers", x.clone(), Observation::from(&y), Invalid, "has 5 classes: give labels, not numbers"),
        ("label too large", x.clone(), Observation::from(&[4, 5]), OutOfRange, "label: row 1, column 0 is 5"),
        ("absurd label", x.clone(), Observation::from(&[usize::MAX, 0]), OutOfRange, "label: row 0"),
        ("too few labels", x.clone(), Observation::from(&[1]), Shape, "observation: expected 2 rows, got 1"),
        ("no labels", x.clone(), Observation::from(&[]), Shape, "observation: expected 2 rows, got 0"),
        ("mask of labels", x.clone(), Observation::from(&[1, 2]).seen(&[true; 2]), Shape, "seen entries"),
    ];
    let mut t = Table::default();
    for device in [Device::cpu(2), Device::reference()] {
        for (mut net, calls) in [(values(device.clone()), &of_values), (classes(device.clone()), &of_classes)]
        {
            let before = bytes(&net);
            for (what, x, observation, kind, says) in calls {
                t.check(&format!("learn, {what}"), net.learn(x, *observation), *kind, says);
                assert!(bytes(&net) == before, "{what} changed the network");
                let unsure = Gaussian::around(x, 0.1).unwrap();
                t.check(&format!("condition, {what}"), net.search(&unsure, *observation), *kind, says);
            }
            t.check("predict wide", net.predict(&matrix(1, 4)), Shape, "input: expected 3 columns, got 4");
            t.check("predict nothing", net.predict(&empty), Shape, "at least one row");
            assert!(bytes(&net) == before);
        }
        let (net, y, known) = (values(device.clone()), matrix(1, 2), matrix(1, 3));
        let prior = Gaussian::around(&known, 0.1).unwrap();
        let wanted = || Wanted::from(&y);
        t.check("no rounds", net.search(&prior, wanted().rounds(0)), Invalid, "rounds: at least one");
        t.check(
            "unknown layer",
            net.search(&prior, wanted().layer("nope")),
            Invalid,
            "layer: `nope` is not in this network; it has input, linear1, tanh1, linear2",
        );
        t.check("empty layer", net.search(&prior, wanted().layer("")), Invalid, "layer: ``");
        t.check("known input", net.search(&known, wanted()), Invalid, "input: it is known exactly");
        for v in [-1.0, NAN, INF] {
            t.check(
                "noise wanted",
                net.search(&prior, wanted().noise_var(v)),
                Invalid,
                &format!("noise: a variance of {v}"),
            );
        }
        t.check("classes of numbers", net.predict_classes(&known), Invalid, "predict_classes");
    }
    t.done();
}

#[test]
fn settings_and_fits() {
    use Kind::*;
    let mut t = Table::default();
    for device in [Device::cpu(1), Device::reference()] {
        let (mut net, mut labels) = (values(device.clone()), classes(device.clone()));
        let before = (bytes(&net), bytes(&labels));
        let scaler = |n: usize| Some(Scaler::identity(n));
        t.check("noise 0", net.set_noise_std([0.0]), Invalid, "noise");
        t.check(
            "noises",
            net.set_noise_std([1.0; 3]),
            Shape,
            "noise: expected 1 or 2 standard deviations, got 3",
        );
        t.check("noise square", net.set_noise_std([1e200]), Invalid, "noise");
        t.check(
            "input scaler",
            net.set_scalers(scaler(2), None),
            Shape,
            "input scaler: expected 3 columns, got 2",
        );
        t.check(
            "output scaler",
            net.set_scalers(None, scaler(3)),
            Shape,
            "output scaler: expected 2 columns, got 3",
        );
        t.check(
            "scaled labels",
            labels.set_scalers(None, scaler(6)),
            Invalid,
            "output scaler: labels are not scaled",
        );
        let overflown = Scaler::fit(&Matrix::column(vec![-1e308, 1e308]).unwrap());
        let mut one = Network::mlp([1, 2, 1], Activation::Relu).device(&device).build().unwrap();
        t.check("overflown scaler", one.set_scalers(Some(overflown), None), OutOfRange, "scaler std");

        let mut draw = Draw::new(1);
        let data = Dataset::new(draw.matrix(10, 3), draw.matrix(10, 2)).unwrap();
        let five = ["a", "b", "c", "d", "e", "f"].map(String::from);
        let labelled = |n: usize| {
            let labels = (0..10).map(|i| i % n).collect();
            Dataset::with_labels(Draw::new(1).matrix(10, 3), labels, five[..n].to_vec()).unwrap()
        };
        let narrow = Dataset::new(draw.matrix(10, 2), draw.matrix(10, 2)).unwrap();
        let one_target = Dataset::new(draw.matrix(10, 3), draw.matrix(10, 1)).unwrap();
        let noise = |start, decay, floor| Fit::new().noise(NoiseSchedule { start, decay, floor });
        let fits = [
            ("no epochs", Fit::new().epochs(0), "fit: epochs and batch"),
            ("batch 0", Fit::new().batch(0), "fit: epochs and batch"),
            ("noise 0", Fit::new().noise_std(0.0), "noise: 0"),
            ("noise negative", Fit::new().noise_std(-1.0), "noise: -1"),
            ("noise NaN", Fit::new().noise_std(NAN), "noise: NaN"),
            ("noise decays to 0", noise(1.0, 1e-30, 0.0).epochs(100), "noise"),
            ("noise grows to infinity", noise(1.0, 1e30, 0.0).epochs(100), "noise"),
            ("decay NaN", noise(1.0, NAN, 0.1), "noise"),
            ("decay negative", noise(1.0, -0.5, 0.1), "noise"),
            ("floor NaN", noise(1.0, 0.9, NAN), "noise"),
            ("floor negative", noise(1.0, 0.9, -1.0), "noise"),
            ("floor infinite", noise(1.0, 0.9, INF), "noise"),
            ("all validation", Fit::new().early_stopping(1.0, 3), "validation: 1 is not in [0, 1)"),
            ("negative validation", Fit::new().early_stopping(-0.1, 3), "validation"),
            ("NaN validation", Fit::new().early_stopping(NAN, 3), "validation"),
            ("no validation", Fit::new().early_stopping(0.0, 3), "early stopping"),
            ("validation takes all", Fit::new().early_stopping(0.99, 3), "validation: 10 rows are too few"),
        ];
        for (what, fit, says) in fits {
            t.check(what, net.fit(&data, &fit), Invalid, says);
            t.check(what, net.check_fit(&data, &fit), Invalid, says);
            t.check(what, labels.fit(&labelled(5), &fit), Invalid, says);
        }
        let fit = Fit::new().epochs(1);
        t.check("data too narrow", net.fit(&narrow, &fit), Shape, "data: expected 3 input columns, got 2");
        t.check(
            "too narrow, asked",
            net.check_fit(&narrow, &fit),
            Shape,
            "data: expected 3 input columns, got 2",
        );
        t.check("targets", net.fit(&one_target, &fit), Shape, "data: expected 2 targets, got 1");
        t.check("labels to fit", net.fit(&labelled(2), &fit), Invalid, "data: the target is a label");
        t.check("numbers to fit", labels.fit(&data, &fit), Invalid, "data: the network has classes");
        t.check("too many classes", labels.fit(&labelled(6), &fit), Shape, "data: expected 5 classes, got 6");
        t.check("nll too narrow", net.nll(&narrow), Shape, "data: expected 3 input columns");
        t.check("nll of labels", net.nll(&labelled(2)), Invalid, "data");
        assert!((bytes(&net), bytes(&labels)) == before, "a failed call changed the network");
    }
    t.done();
}

/// Finite numbers that the arithmetic cannot hold. Whatever is refused leaves the network as it was; whatever is
/// accepted leaves it finite.
#[test]
fn divergence_is_an_error_and_changes_nothing() {
    let one = |v: f64| Matrix::column(vec![v]).unwrap();
    for device in [Device::cpu(1), Device::cpu(2), Device::reference()] {
        let huge = if device == Device::reference() { 1e300 } else { 1e38 };
        for activation in ["relu", "tanh", "sigmoid", "softplus", "mixture_relu", "leaky_relu", "identity"] {
            for policy in [UpdateRule::Plain, UpdateRule::Capped] {
                let builder = Network::mlp([1, 4, 1], activation.parse().unwrap());
                let fresh =
                    || builder.clone().update_rule(policy).noise_std([0.1]).device(&device).build().unwrap();
                let mut net = fresh();
                let before = bytes(&net);
                let what = format!("{activation}, {policy:?}, {device:?}");
                // An input whose square overflows.
                let err = net.learn(&one(huge), &one(1.0)).unwrap_err();
                assert!(matches!(err, Error::Diverged { row: 0, .. }), "{what}: {err:?}");
                assert!(err.to_string().contains("layer `linear1` produced inf"), "{what}: {err}");
                assert!(matches!(net.predict(&one(huge)), Err(Error::Diverged { .. })), "{what}");
                let unsure = Gaussian::around(&one(huge), 1.0).unwrap();
                assert!(matches!(net.search(&unsure, &one(1.0)), Err(Error::Diverged { .. })), "{what}");
                // The second row of three.
                let x = Matrix::column(vec![0.1, huge, 0.2]).unwrap();
                let err = net.learn(&x, &Matrix::column(vec![0.0; 3]).unwrap()).unwrap_err();
                assert!(matches!(err, Error::Diverged { row: 1, .. }), "{what}: {err:?}");
                assert!(bytes(&net) == before, "{what}: a failed learn changed the network");
                // A target beyond what f32 holds, and one whose effect overflows.
                for y in [huge, 1e200, 1.7e308, -1.7e308] {
                    let mut net = fresh();
                    let x = Matrix::column(vec![0.5, -0.3]).unwrap();
                    let learned = net.learn(&x, &Matrix::column(vec![y, 1.0]).unwrap());
                    let dir = tempfile::tempdir().unwrap();
                    let saved = net.save(dir.path().join("net"));
                    assert!(saved.is_ok(), "{what}: y = {y:e} made {}: {learned:?}", saved.unwrap_err());
                    let err = learned.unwrap_err();
                    assert!(matches!(err, Error::OutOfRange { row: 0, column: 0, .. }), "{what}: {err:?}");
                    assert!(bytes(&net) == before, "{what}: y = {y:e}");
                    // Where it was not seen it does not matter.
                    let y = Matrix::column(vec![y, 1.0]).unwrap();
                    net.learn(&x, Observation::from(&y).seen(&[false, true])).unwrap();
                }
            }
        }
    }
}

/// Scalers that overflow on the way in or out.
#[test]
fn scalers_that_overflow_are_an_error() {
    for device in [Device::cpu(1), Device::reference()] {
        let net = || Network::mlp([1, 4, 1], Activation::Tanh).device(&device).build().unwrap();
        let scaler = |mean: f64, std: f64| Some(Scaler::new(vec![mean], vec![std]).unwrap());
        let x = Matrix::column(vec![0.5]).unwrap();
        for (what, input, output) in [
            ("input", scaler(0.0, 1e-308), None),
            ("input square", scaler(0.0, 1e-170), None),
            ("output", None, scaler(1.7e308, 1e308)),
            ("output square", None, scaler(0.0, 1e200)),
        ] {
            let mut net = net();
            net.set_scalers(input, output).unwrap();
            let finite = |g: Gaussian| g.mean().iter().chain(g.var()).all(|v| v.is_finite());
            for x in [&x, &Matrix::column(vec![1e10]).unwrap()] {
                let unsure = Gaussian::around(x, 1e10).unwrap();
                assert!(
                    net.predict(&unsure).map(Gaussian::from).map_or(true, finite),
                    "{what} on {device:?}: predict"
                );
                assert!(net.search(&unsure, x).map_or(true, finite), "{what} on {device:?}: condition");
                let before = bytes(&net);
                if net.learn(x, x).is_err() {
                    assert!(bytes(&net) == before);
                }
            }
            bytes(&net); // still a network that can be saved
        }
    }
}

#[test]
fn an_innovation_that_overflows_changes_nothing() {
    let mut net = Network::mlp([1, 1], Activation::Relu)
        .prior(Prior::he().gain(1e-30).bias_var(1e-30))
        .noise_std([1e-18])
        .update_rule(UpdateRule::Plain)
        .device(Device::cpu(1))
        .build()
        .unwrap();
    let (x, y) = (Matrix::column(vec![1.0]).unwrap(), Matrix::column(vec![1e10]).unwrap());
    let before = net.predict(&x).unwrap();
    assert!(matches!(net.learn(&x, &y), Err(Error::Diverged { row: 0, .. })));
    assert_eq!(net.predict(&x).unwrap(), before);
}

/// A wish that overflows on the way down, and then an ordinary one: the first is an error and leaves no trace.
#[test]
fn a_condition_that_fails_spoils_nothing() {
    for device in [Device::cpu(1), Device::reference()] {
        let net = Network::mlp([3, 8, 1], Activation::Tanh).device(&device).build().unwrap();
        let x = Gaussian::new(vec![0.1, 0.2, 0.3], vec![0.1; 3], 3).unwrap();
        let (good, huge) = (Matrix::column(vec![1.0]).unwrap(), Matrix::column(vec![1e300]).unwrap());
        let before = net.search(&x, &good).unwrap();
        assert!(matches!(net.search(&x, &huge), Err(Error::OutOfRange { .. })), "{device:?}");
        assert_eq!(net.search(&x, &good).unwrap(), before, "{device:?}");
    }
}

/// Whatever the settings: weights stay finite, or the batch is refused and nothing changes.
#[test]
fn learning_never_leaves_weights_that_are_not_finite() {
    let mut draw = Draw::new(77);
    let mut refused = 0;
    for _ in 0..600 {
        let mut power = |low: f64, high: f64| 10f64.powf(draw.uniform(low, high));
        let (gain, bias, noise, size, y) =
            (power(-20.0, 10.0), power(-20.0, 10.0), power(-15.0, 3.0), power(-8.0, 8.0), power(-3.0, 17.0));
        let mut net = Network::mlp([2, 5, 4, 1], Activation::Relu)
            .prior(Prior::he().gain(gain).bias_var(bias))
            .noise_std([noise])
            .update_rule(UpdateRule::Plain)
            .device(Device::cpu(1))
            .build()
            .unwrap();
        let x = Matrix::new(vec![size, -size, 0.5 * size, size], 2).unwrap();
        let y = Matrix::column(vec![y, -y]).unwrap();
        for _ in 0..3 {
            refused += u32::from(net.learn(&x, &y).is_err());
        }
        bytes(&net); // saving refuses what is not finite
    }
    assert!(refused > 0, "nothing extreme was tried");
}

#[test]
fn names_stay_once_fitted() {
    let data = |names: [&str; 2]| {
        let x = Matrix::column(vec![0.0, 1.0]).unwrap();
        Dataset::with_labels(x, vec![0, 1], names.map(String::from).to_vec()).unwrap()
    };
    let mut net = Network::mlp([1, 4, 2], Activation::Relu).classes(2).build().unwrap();
    net.fit(&data(["cat", "dog"]), &Fit::new().epochs(1)).unwrap();
    let err = net.fit(&data(["dog", "cat"]), &Fit::new().epochs(2)).unwrap_err();
    assert_eq!(err.to_string(), "classes: expected cat, dog, got dog, cat");
    assert_eq!(net.class_names(), ["cat", "dog"]);
}

#[test]
fn a_small_file_cannot_ask_for_endless_memory() {
    let net = Network::builder(tractable::Shape::image(1, 1, 1))
        .layer(Layer::conv2d(1, 1).stride(1 << 20).padding(1 << 20))
        .build();
    let why = net.unwrap_err().to_string();
    assert_eq!(why, "layer `conv1`: size: one sample takes more than 2^26 numbers");
}

/// Every variant's text to the letter, and the operating system's reason where there is one.
#[test]
fn texts_and_causes() {
    use std::error::Error as _;
    let text = |s: &str| s.to_string();
    let data = |line, column: Option<&str>| Error::Data {
        path: "a.csv".into(),
        line,
        column: column.map(text),
        why: "why".into(),
    };
    let (what, why, value) = (|| text("x"), || text("why"), f64::NAN);
    for (error, says) in [
        (Error::Shape { what: what(), expected: text("2"), got: text("3") }, "x: expected 2, got 3"),
        (
            Error::NotFinite { what: what(), row: 1, column: 2, value },
            "x: row 1, column 2 is NaN; only finite numbers can be used",
        ),
        (
            Error::OutOfRange { what: what(), row: 1, column: 2, value: -1.5, why: why() },
            "x: row 1, column 2 is -1.5; why",
        ),
        (Error::Invalid { what: what(), why: why() }, "x: why"),
        (
            Error::Diverged { layer: what(), row: 3, value },
            "layer `x` produced NaN for row 3: the network has diverged; use a larger noise, a smaller batch or the \
             capped update rule",
        ),
        (data(0, None), "a.csv: why"),
        (data(7, None), "a.csv, line 7: why"),
        (data(0, Some("y")), "a.csv, column `y`: why"),
        (data(7, Some("y")), "a.csv, line 7, column `y`: why"),
        (Error::Model { path: "m".into(), at: text("spec"), why: why() }, "m: spec: why"),
        (
            Error::Memory { bytes: 9 },
            "not enough memory for 9 bytes; use a smaller network, batch or data set",
        ),
        (
            Error::InUse { path: "run".into() },
            "run: another process is using this folder; wait until it ends or choose another folder",
        ),
    ] {
        assert_eq!(error.to_string(), says);
        assert!(error.source().is_none(), "{says}");
    }
    let error = Error::File { path: "m".into(), doing: "open it", source: std::io::Error::other("full") };
    assert_eq!(error.to_string(), "m: cannot open it: full");
    assert_eq!(error.source().unwrap().to_string(), "full");
}
