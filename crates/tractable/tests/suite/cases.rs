//! Networks, numbers and model files that several tests share.

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tractable::rng::{ChaCha8Rng, standard_normal, stream};
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Shape,
    network::{Head, NetworkBuilder, Observation},
};

/// Seeded numbers.
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(stream(seed, "tests", 0))
    }

    pub(crate) fn normal(&mut self) -> f64 {
        standard_normal(&mut self.0)
    }

    pub(crate) fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        use tractable::rng::Rng;
        low + (high - low) * (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.uniform(0.0, n as f64) as usize
    }

    /// Standard normal numbers.
    pub(crate) fn matrix(&mut self, rows: usize, width: usize) -> Matrix {
        Matrix::new(self.normals(rows * width), width).unwrap()
    }

    /// Standard normal means, variances between 0.01 and 0.5.
    pub(crate) fn gaussian(&mut self, rows: usize, width: usize) -> Gaussian {
        let var = (0..rows * width).map(|_| self.uniform(0.01, 0.5)).collect();
        Gaussian::new(self.normals(rows * width), var, width).unwrap()
    }
}

/// One small network for every kind of layer and output, each with a name.
pub(crate) fn zoo() -> Vec<(&'static str, NetworkBuilder)> {
    let image = || Network::builder(Shape::image(2, 7, 6));
    vec![
        ("one linear layer", Network::builder(Shape::flat(3)).layer(Layer::linear(2))),
        ("dense", Network::mlp([4, 33, 5, 2], Activation::Relu)),
        (
            "branches",
            Network::builder(Shape::flat(3))
                .layer(Layer::linear(6))
                .layer(Activation::Tanh)
                .layer(Layer::linear(6))
                .layer(Layer::Add.of(["linear1", "linear2"]))
                .layer(Activation::Relu)
                .layer(Layer::linear(2)),
        ),
        (
            "image that goes around a convolution",
            image()
                .layer(Layer::conv2d(2, 3).padding(1))
                .layer(Activation::Relu)
                .layer(Layer::Add.of(["input", "relu1"]))
                .layer(Layer::linear(2)),
        ),
        ("dense classes", Network::mlp([4, 9, 3], Activation::Tanh).classes(3)),
        (
            "classes by a softmax",
            Network::mlp([4, 9, 5], Activation::MixtureRelu).classes(5).head(Head::Softmax),
        ),
        (
            "every activation",
            Network::builder(Shape::flat(3))
                .layer(Layer::linear(5))
                .layer(Activation::Identity)
                .layer(Layer::linear(5))
                .layer(Activation::LeakyRelu { slope: 0.1 })
                .layer(Layer::linear(5))
                .layer(Activation::Sigmoid)
                .layer(Layer::linear(5))
                .layer(Activation::Softplus)
                .layer(Layer::linear(5))
                .layer(Activation::MixtureRelu)
                .layer(Layer::linear(1)),
        ),
        (
            "normalisation first",
            image().layer(Layer::batch_norm()).layer(Layer::avg_pool2d(2)).layer(Layer::linear(2)),
        ),
        (
            "convolution without biases, normalisation",
            image()
                .layer(Layer::conv2d(3, 3).padding(1).without_bias())
                .layer(Layer::batch_norm())
                .layer(Activation::Relu)
                .layer(Layer::linear(2)),
        ),
        (
            "activation and pool first",
            image()
                .layer(Activation::Softplus)
                .layer(Layer::max_pool2d(3).stride(2).padding(1))
                .layer(Layer::conv2d(3, 2))
                .layer(Layer::linear(1)),
        ),
        (
            "convolution and average pool",
            image()
                .layer(Layer::conv2d(5, 3).padding(1))
                .layer(Activation::Relu)
                .layer(Layer::avg_pool2d(3).stride(2).end_padding(1))
                .layer(Layer::linear(2)),
        ),
        (
            "convolution, normalisation, max pool, classes",
            image()
                .layer(Layer::conv2d(4, 2).stride(2).end_padding(1))
                .layer(Activation::MixtureRelu)
                .layer(Layer::batch_norm())
                .layer(Layer::max_pool2d(2))
                .layer(Layer::linear(6))
                .layer(Layer::batch_norm())
                .layer(Activation::Tanh)
                .layer(Layer::linear(5))
                .classes(5),
        ),
    ]
}

/// A network of the zoo with this noise, unless it is one that has none.
pub(crate) fn with_noise(what: &str, net: NetworkBuilder, std: f64) -> NetworkBuilder {
    if what.contains("softmax") { net } else { net.noise_std([std]) }
}

/// A batch that fits a network: labels for classes, numbers otherwise.
pub(crate) struct Batch {
    pub(crate) x: Matrix,
    pub(crate) y: Matrix,
    pub(crate) labels: Vec<usize>,
    classes: bool,
}

impl Batch {
    pub(crate) fn new(net: &Network, rows: usize, draw: &mut Draw) -> Self {
        let (classes, n) = match net.output() {
            tractable::network::Output::Classes { classes, .. } => (true, classes),
            _ => (false, 1),
        };
        Batch {
            x: draw.matrix(rows, net.input().len()),
            y: draw.matrix(rows, net.output().units()),
            labels: (0..rows).map(|_| draw.below(n)).collect(),
            classes,
        }
    }

    /// Some of its rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let labels = rows.iter().map(|&r| self.labels[r]).collect();
        Batch { x: self.x.select(rows), y: self.y.select(rows), labels, classes: self.classes }
    }

    pub(crate) fn seen(&self) -> Observation<'_> {
        if self.classes { Observation::from(&self.labels) } else { Observation::from(&self.y) }
    }
}

/// Lets a network learn from `steps` random batches.
pub(crate) fn teach(net: &mut Network, steps: usize, rows: usize, seed: u64) {
    let mut draw = Draw::new(seed);
    for _ in 0..steps {
        let batch = Batch::new(net, rows, &mut draw);
        net.learn(&batch.x, batch.seen()).unwrap();
    }
}

/// Everything there is to know about a network: its file, with the metadata in a fixed order.
pub(crate) fn bytes(net: &Network) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net");
    net.save(&path).unwrap();
    Model::read(&path).canonical()
}

/// A model file taken apart, without its checksum: what is written may be something else, and gets to the checks behind it.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) metadata: HashMap<String, String>,
    pub(crate) tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Model {
    pub(crate) fn of(net: &Network) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("net");
        net.save(&path).unwrap();
        Self::read(&path)
    }

    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file.tensors().into_iter();
        let tensors = tensors.map(|(n, t)| (n, (t.dtype(), t.shape().to_vec(), t.data().to_vec())));
        let metadata = header.metadata().iter().flatten().filter(|(name, _)| *name != "checksum");
        Model {
            metadata: metadata.map(|(k, v)| (k.clone(), v.clone())).collect(),
            tensors: tensors.collect(),
        }
    }

    pub(crate) fn write(&self, path: &Path) {
        let views = self.tensors.iter().map(|(n, (d, s, b))| (n, TensorView::new(*d, s.clone(), b).unwrap()));
        let bytes = safetensors::serialize(
            views.collect::<Vec<_>>(),
            Some(self.metadata.clone().into_iter().collect()),
        )
        .unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn load(&self, device: Device) -> tractable::Result<Network> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("net");
        self.write(&path);
        Network::load(path, device.clone())
    }

    fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in self.metadata.iter().collect::<BTreeMap<_, _>>() {
            out.extend(format!("{name}={value}\n").into_bytes());
        }
        for (name, (dtype, shape, bytes)) in &self.tensors {
            out.extend(format!("{name} {dtype:?} {shape:?}\n").into_bytes());
            out.extend(bytes);
        }
        out
    }

    pub(crate) fn spec(&self) -> serde_json::Value {
        serde_json::from_str(&self.metadata["spec"]).unwrap()
    }

    pub(crate) fn set_spec(&mut self, spec: &serde_json::Value) {
        self.metadata.insert("spec".into(), spec.to_string());
    }

    /// A tensor's numbers.
    pub(crate) fn get(&self, name: &str) -> Vec<f64> {
        let (dtype, _, bytes) = &self.tensors[name];
        match dtype {
            Dtype::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
            _ => panic!("{name} is {dtype:?}"),
        }
    }

    /// Puts other numbers into a tensor.
    pub(crate) fn set(&mut self, name: &str, values: &[f64]) {
        let (dtype, _, bytes) = self.tensors.get_mut(name).unwrap();
        *bytes = match dtype {
            Dtype::F64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Dtype::F32 => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
            _ => panic!("{name} is {dtype:?}"),
        };
    }
}

/// Largest difference between two arrays, relative to the larger of each expected number and `floor`.
pub(crate) fn worst(got: &[f64], expected: &[f64], floor: f64) -> f64 {
    assert_eq!(got.len(), expected.len());
    let off = got.iter().zip(expected).map(|(g, e)| (g - e).abs() / e.abs().max(floor));
    off.fold(0.0, |w: f64, d| if d.is_nan() || d > w { d } else { w })
}
