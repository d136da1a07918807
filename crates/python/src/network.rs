//! One network and its three verbs.

use crate::arrays::{Inputs, Numbers, labels, rows, squares};
use crate::device::device;
use crate::errors::{OrRaise, invalid};
use crate::layer::Layer;
use crate::learned::{LearnInfo, Surprise};
use crate::locks::{self, Calling};
use crate::posterior::{Derivative, Gaussian, Posterior};
use crate::prediction::Prediction;
use crate::progress::{Watch, interruptible};
use crate::settings::{NoiseGiven, Settings, UpdateGiven};
use crate::want::{Classes, Wish, WishSettings, observed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tractable::data::Dataset;
use tractable::recipes;
use tractable::{
    Fit, Input, Matrix, Network as Inner, Shape,
    condition::Wrt,
    network::{Observation, Output, UpdateRule},
    stop,
    train::Progress,
};

/// A network with Gaussian weights, hidden units and inputs.
///
/// Network(input, layers) has any layers; Network.mlp(widths) is a dense one. Several threads may ask it at once;
/// learning waits for its turn.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Network {
    inner: RwLock<Inner>,
    input: Shape,
    output: Output,
}

impl From<Inner> for Network {
    fn from(net: Inner) -> Self {
        Network { input: net.input(), output: net.output(), inner: RwLock::new(net) }
    }
}

/// The shape of an input as Python gives it.
fn shape(input: &Bound<'_, PyAny>) -> PyResult<Shape> {
    match input.extract::<usize>() {
        Ok(n) => Ok(Shape::flat(n)),
        Err(_) => match input.extract::<Vec<usize>>()?[..] {
            [n] => Ok(Shape::flat(n)),
            [channels, height, width] => Ok(Shape::image(channels, height, width)),
            _ => Err(invalid("input", "give the number of inputs, or (channels, height, width)")),
        },
    }
}

impl Network {
    /// To ask.
    pub(crate) fn read(&self) -> tractable::Result<RwLockReadGuard<'_, Inner>> {
        locks::check(&self.inner, "network")?;
        Ok(locks::read(&self.inner))
    }

    /// To change.
    pub(crate) fn write(&self) -> tractable::Result<RwLockWriteGuard<'_, Inner>> {
        locks::check(&self.inner, "network")?;
        Ok(locks::write(&self.inner))
    }

    /// Rows and what was observed of them, for learning.
    pub(crate) fn observing<T: Send>(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
        learn: impl FnOnce(Input<'_>, Observation<'_>) -> tractable::Result<T> + Send,
    ) -> PyResult<T> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        if let Output::Classes { .. } = self.output {
            if noise_std.is_some() {
                return Err(invalid("noise_std", NO_NOISE));
            }
            let labels = labels(y, "y")?;
            return interruptible(py, || learn(input, Observation::from(&labels)));
        }
        let width = self.output.units();
        let y = Numbers::of(y, "y")?;
        let n = y.rows(width, "y")?;
        let noise = noise_std.map(|s| squares(s, n, width)).transpose()?;
        let (own, seen) = match y.data().iter().any(|v| v.is_nan()) {
            true => observed(y.data().to_vec()),
            false => (Vec::new(), None),
        };
        let mut observation =
            Observation::values(if seen.is_some() { &own } else { y.data() }, width).or_raise()?;
        if let Some(seen) = &seen {
            observation = observation.seen(seen);
        }
        if let Some(noise) = &noise {
            observation = observation.noise_var(noise);
        }
        interruptible(py, || learn(input, observation))
    }

    fn given<'py>(&self, x: &Bound<'py, PyAny>, std: Option<&Bound<'py, PyAny>>) -> PyResult<Inputs<'py>> {
        Inputs::of(x, std, self.input.len())
    }

    fn wish(
        &self,
        want: &Bound<'_, PyAny>,
        noise_std: Option<&Bound<'_, PyAny>>,
        rows: usize,
        settings: WishSettings,
    ) -> PyResult<Wish> {
        Wish::of(want, noise_std, self.output, &Classes::default(), rows, settings)
    }
}

/// A batch of so many rows, and with so much work, rows times weights, is learned by a copy.
const MANY_ROWS: usize = 16;
const WORTH_A_COPY: usize = 1 << 22;

const NO_NOISE: &str = "classes have a setting of their own: Network(..., noise=1.0)";

/// A path as Python gives it: text or os.PathLike.
pub(crate) type Path = PathBuf;

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (
        input, layers, *, classes=None, head="tree", noise=None, gain=1.0, scheme=None, bias_var=None, update=None, seed=0,
        device="cpu"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        input: &Bound<'_, PyAny>,
        layers: Vec<Bound<'_, PyAny>>,
        classes: Option<usize>,
        head: &str,
        noise: Option<NoiseGiven>,
        gain: f64,
        scheme: Option<&str>,
        bias_var: Option<f64>,
        update: Option<UpdateGiven>,
        seed: u64,
        device: &str,
    ) -> PyResult<Self> {
        let mut builder = Inner::builder(shape(input)?);
        for layer in &layers {
            builder = builder.layer(Layer::given(layer)?.node());
        }
        let usual_rule = UpdateRule::default();
        Settings { classes, head, noise, gain, scheme, bias_var, update, usual_rule, seed, device }
            .build(builder)
    }

    /// A residual network for images: resnet18, resnet20 or wrn-16-4, with a softmax.
    ///
    /// Parameters
    /// ----------
    /// name : str
    /// input : (channels, height, width)
    /// classes : int
    /// width : int, optional
    ///     Channels of the stem, for a smaller network: 64, 16 and 16 unless set.
    ///
    /// Examples
    /// --------
    /// >>> import tractable as tr
    /// >>> net = tr.Network.residual("resnet20", (1, 8, 8), 10, width=4)
    /// >>> net.classes
    /// 10
    #[staticmethod]
    #[pyo3(signature = (name, input, classes, *, width=None, gain=1.0, update=None, seed=0, device="cpu"))]
    #[allow(clippy::too_many_arguments)]
    fn residual(
        name: &str,
        input: &Bound<'_, PyAny>,
        classes: usize,
        width: Option<usize>,
        gain: f64,
        update: Option<UpdateGiven>,
        seed: u64,
        device: &str,
    ) -> PyResult<Self> {
        let input = shape(input)?;
        let builder = match name {
            "resnet18" => recipes::resnet18_of(width.unwrap_or(64), input, classes),
            "resnet20" => recipes::resnet20_of(width.unwrap_or(16), input, classes),
            "wrn-16-4" => recipes::wrn_of(width.unwrap_or(16), 4, input, classes),
            _ => return Err(invalid("name", format!("`{name}` is not resnet18, resnet20 or wrn-16-4"))),
        };
        let (classes, noise, scheme, bias_var) = (None, None, None, None);
        let (head, usual_rule) = ("softmax", recipes::RESIDUAL_RULE);
        Settings { classes, head, noise, gain, scheme, bias_var, update, usual_rule, seed, device }
            .build(builder)
    }

    /// A dense network with these widths, input and output included.
    #[staticmethod]
    #[pyo3(signature = (
        widths, activation="mixture_relu", *, classes=None, head="tree", noise=None, gain=1.0, scheme=None,
        bias_var=None, update=None, seed=0, device="cpu"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn mlp(
        widths: Vec<usize>,
        activation: &str,
        classes: Option<usize>,
        head: &str,
        noise: Option<NoiseGiven>,
        gain: f64,
        scheme: Option<&str>,
        bias_var: Option<f64>,
        update: Option<UpdateGiven>,
        seed: u64,
        device: &str,
    ) -> PyResult<Self> {
        let usual_rule = UpdateRule::default();
        Settings { classes, head, noise, gain, scheme, bias_var, update, usual_rule, seed, device }
            .build(Inner::mlp(widths, activation.parse().or_raise()?))
    }

    /// What comes out? Mean and variance of every output; std makes the inputs uncertain.
    #[pyo3(signature = (x, *, std=None, cov=false))]
    fn predict(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        cov: bool,
    ) -> PyResult<Prediction> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let predicted = interruptible(py, || {
            let net = self.read()?;
            let covariance = cov.then(|| net.output_covariance(input)).transpose()?;
            let covariance = covariance.map(|all| all.iter().flat_map(|m| m.data()).copied().collect());
            Ok((net.predict(input)?, covariance))
        });
        let (prediction, covariance) = predicted?;
        Ok(Prediction::new(prediction, covariance))
    }

    /// Probability of every class, [rows, classes].
    #[pyo3(signature = (x, *, std=None))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        std: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let p = interruptible(py, || self.read()?.predict_classes(input))?;
        rows(py, p.data().to_vec(), p.width())
    }

    /// What do the data say about the weights? One batch: all of it, or nothing if there is an error or Ctrl-C.
    ///
    /// Parameters
    /// ----------
    /// x : array [rows, inputs]
    /// y : array [rows] or [rows, outputs]
    ///     NaN is not observed; classes are whole numbers.
    /// std : float or array, optional
    ///     Standard deviation of the inputs: one, one per input, or one per cell.
    /// noise_std : float or array, optional
    ///     Standard deviation of the noise, likewise, instead of the network's own.
    ///
    /// Returns
    /// -------
    /// LearnInfo
    ///
    /// Examples
    /// --------
    /// >>> import tractable as tr
    /// >>> net = tr.Network.mlp([1, 8, 1])
    /// >>> net.learn([0.1, 0.2], [0.3, 0.6]).rows
    /// 2
    #[pyo3(signature = (x, y, *, std=None, noise_std=None))]
    fn learn(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LearnInfo> {
        let learn = |input: Input<'_>, seen: Observation<'_>| {
            let mut net = self.write()?;
            if input.rows() < MANY_ROWS || input.rows() * net.parameters() < WORTH_A_COPY {
                return net.learn(input, seen);
            }
            // Once its first layer has learned, only a copy may be stopped.
            let mut learned = net.try_clone()?;
            let info = stop::on_trial(|| learned.learn(input, seen))?;
            *net = learned;
            Ok(info)
        };
        self.observing(py, x, y, std, noise_std, learn).map(LearnInfo)
    }

    /// learn() for one row of a stream: returns how large the error of its prediction was, and how large it was expected to be.
    #[pyo3(signature = (x, y, *, std=None, noise_std=None))]
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Surprise> {
        let learn = |input: Input<'_>, seen: Observation<'_>| self.write()?.learn_one(input, seen);
        self.observing(py, x, y, std, noise_std, learn).map(Surprise)
    }

    /// Learns from all rows several times, in batches. Ctrl-C ends it and keeps what was learned.
    ///
    /// progress: a function of (done, of, what), or False for none.
    #[pyo3(signature = (
        x, y, *, epochs=50, batch=16, noise_std=None, anneal=None, shuffle=true, seed=None, validation=0.0,
        patience=None, standardize=true, progress=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn fit<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        epochs: usize,
        batch: usize,
        noise_std: Option<f64>,
        anneal: Option<f64>,
        shuffle: bool,
        seed: Option<u64>,
        validation: f64,
        patience: Option<usize>,
        standardize: bool,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let x = Numbers::of(x, "input")?.matrix(self.input.len(), "input")?;
        let data = match self.output {
            Output::Classes { classes, .. } => {
                let names = (0..classes).map(|i| i.to_string()).collect();
                Dataset::with_labels(x, labels(y, "y")?, names)
            }
            _ => Dataset::new(x, Numbers::of(y, "y")?.matrix(self.output.units(), "y")?),
        };
        let mut data = data.or_raise()?;
        if standardize {
            data = data.standardize();
        }
        let mut fit = Fit::new().epochs(epochs).batch(batch);
        if let Some(std) = noise_std {
            fit = fit.noise_std(std);
        }
        (fit.anneal, fit.shuffle, fit.seed) = (anneal, shuffle, seed);
        (fit.validation, fit.patience) = (validation, patience);
        let mut watch = Watch::new(py, progress)?;
        let report = py.detach(|| {
            let (mut net, mut done) = (self.write()?, 0);
            let _calling = Calling::with(&self.inner);
            net.fit_with(&data, &fit, |p| match p {
                Progress::Rows(row, of) => {
                    watch.look("learning", done + row as u64, (fit.epochs * of) as u64)
                }
                Progress::Epoch(_, epoch) => {
                    done += epoch.learned.rows as u64;
                    watch.look("learning", done, (fit.epochs * epoch.learned.rows) as u64)
                }
            })
        });
        watch.end()?;
        let report = report.or_raise()?;
        let out = PyDict::new(py);
        out.set_item("epochs", report.epochs.len())?;
        out.set_item("best_epoch", report.best_epoch)?;
        let scores: Vec<f64> = report.epochs.iter().filter_map(|e| e.validation_nll).collect();
        out.set_item("validation_nll", scores)?;
        Ok(out)
    }

    /// Which input, or hidden layer, gives the output I want? Its posterior, given a prior around x with these standard deviations.
    ///
    /// want: numbers (NaN is left free), classes, or "max", "min", "stationary" for one output.
    #[pyo3(signature = (x, want, *, std=None, cov=None, noise_std=None, output=0, layer=None, known_weights=false))]
    #[allow(clippy::too_many_arguments)]
    fn condition(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        want: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        cov: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
        output: usize,
        layer: Option<String>,
        known_weights: bool,
    ) -> PyResult<Posterior> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let covariance = cov.map(|c| covariance(c, self.input.len())).transpose()?;
        let settings = WishSettings { output, layer, known_weights, covariance, rounds: None };
        let wish = self.wish(want, noise_std, input.rows(), settings)?;
        let wanted = wish.wanted()?;
        interruptible(py, || self.read()?.condition(input, wanted)).map(Posterior)
    }

    /// Moves the input towards the output I want, round by round; not a posterior. other_than asks for any other class.
    #[pyo3(signature = (x, want=None, *, other_than=None, std=None, noise_std=None, output=0, layer=None, known_weights=false, rounds=10))]
    #[allow(clippy::too_many_arguments)]
    fn search(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        want: Option<&Bound<'_, PyAny>>,
        other_than: Option<&Bound<'_, PyAny>>,
        std: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
        output: usize,
        layer: Option<String>,
        known_weights: bool,
        rounds: usize,
    ) -> PyResult<Gaussian> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let settings = WishSettings { output, layer, known_weights, covariance: None, rounds: Some(rounds) };
        let wish = match (want, other_than) {
            (Some(want), None) => self.wish(want, noise_std, input.rows(), settings)?,
            (None, Some(other)) => Wish::other_than(labels(other, "other_than")?, settings),
            _ => return Err(invalid("search", "give either want or other_than")),
        };
        let wanted = wish.wanted()?;
        interruptible(py, || self.read()?.search(input, wanted)).map(Gaussian)
    }

    /// How does an output change with the input, or with a hidden layer?
    #[pyo3(signature = (x, *, std=None, layer=None, output=None))]
    fn derivative(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        layer: Option<&str>,
        output: Option<usize>,
    ) -> PyResult<Derivative> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        interruptible(py, || self.read()?.derivative(input, wrt(layer, output))).map(Derivative)
    }

    /// The second derivative by every input, or unit of a hidden layer, at the means of the weights.
    #[pyo3(signature = (x, *, std=None, layer=None, output=None))]
    fn second_derivative<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        std: Option<&Bound<'py, PyAny>>,
        layer: Option<&str>,
        output: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let second = interruptible(py, || self.read()?.second_derivative(input, wrt(layer, output)))?;
        rows(py, second.data().to_vec(), second.width())
    }

    /// Forgets a share of what was learned: every weight returns some way to its prior.
    fn forget(&self, py: Python<'_>, share: f64) -> PyResult<()> {
        py.detach(|| self.write()?.forget(share)).or_raise()
    }

    /// Gives less weight to what was learned: multiplies the variance of every weight by a factor, up to its prior. Drift chooses the factor.
    fn discount(&self, py: Python<'_>, factor: f64) -> PyResult<()> {
        py.detach(|| self.write()?.discount(factor)).or_raise()
    }

    /// Weights and biases of a layer as two Gaussians, or None if it has none.
    fn weights(&self, layer: &str) -> PyResult<Option<(Gaussian, Gaussian)>> {
        let weights = self.read().and_then(|net| net.weights(layer)).or_raise()?;
        Ok(weights.map(|(weights, biases)| (Gaussian(weights), Gaussian(biases))))
    }

    /// Writes the file that the program and the Rust library read.
    fn save(&self, py: Python<'_>, path: Path) -> PyResult<()> {
        py.detach(|| self.read()?.save(path)).or_raise()
    }

    /// Reads a file. It may be untrusted.
    #[staticmethod]
    #[pyo3(signature = (path, *, device="cpu"))]
    fn load(py: Python<'_>, path: Path, device: &str) -> PyResult<Self> {
        let device = self::device(device)?;
        Ok(py.detach(|| Inner::load(path, device)).or_raise()?.into())
    }

    /// The bytes of the file that save() would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read().and_then(|net| net.to_bytes()).or_raise()?))
    }

    /// A network from such bytes.
    #[staticmethod]
    #[pyo3(signature = (data, *, device="cpu"))]
    fn from_bytes(data: &[u8], device: &str) -> PyResult<Self> {
        let device = self::device(device)?;
        Ok(Inner::from_bytes(data, device).or_raise()?.into())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,)))
    }

    /// An independent copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(py.detach(|| self.read()?.try_clone()).or_raise()?.into())
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// Shape of one sample: (n,) or (channels, height, width).
    #[getter]
    fn input_shape(&self) -> Vec<usize> {
        match self.input.is_flat() {
            true => vec![self.input.len()],
            false => vec![self.input.channels, self.input.height, self.input.width],
        }
    }

    /// Number of outputs; of a network with classes, the nodes of its tree.
    #[getter]
    fn outputs(&self) -> usize {
        self.output.units()
    }

    /// Number of classes, or None for numbers.
    #[getter]
    fn classes(&self) -> Option<usize> {
        match self.output {
            Output::Classes { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// Names of the layers, in order.
    #[getter]
    fn layers(&self) -> PyResult<Vec<String>> {
        Ok(self.read().or_raise()?.layer_names().to_vec())
    }

    /// Number of weights and biases.
    #[getter]
    fn parameters(&self) -> PyResult<usize> {
        Ok(self.read().or_raise()?.parameters())
    }

    #[getter]
    fn seed(&self) -> PyResult<u64> {
        Ok(self.read().or_raise()?.seed())
    }

    /// Standard deviation of the noise, one or one per output, standardised as the network is.
    #[getter]
    fn noise_std(&self) -> PyResult<Vec<f64>> {
        Ok(self.read().or_raise()?.noise_std().to_vec())
    }

    #[getter]
    fn device(&self) -> PyResult<String> {
        Ok(self.read().or_raise()?.device().to_string())
    }

    fn __repr__(&self) -> PyResult<String> {
        let net = self.read().or_raise()?;
        let out = match self.output {
            Output::Classes { classes, .. } => format!("{classes} classes"),
            _ => format!("{} outputs", self.output.units()).replace("1 outputs", "1 output"),
        };
        let layers = net.layer_names().join(", ");
        Ok(format!("<Network {} -> {layers} -> {out}; {} parameters>", self.input, net.parameters()))
    }
}

fn wrt(layer: Option<&str>, output: Option<usize>) -> Wrt<'_> {
    let wrt = layer.map_or(Wrt::input(), Wrt::from);
    match output {
        Some(output) => wrt.output(output),
        None => wrt,
    }
}

pub(crate) fn covariance(object: &Bound<'_, PyAny>, width: usize) -> PyResult<Matrix> {
    Numbers::of(object, "cov")?.matrix(width, "cov")
}
