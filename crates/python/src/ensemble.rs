//! The calibrated model of several networks.

use crate::arrays::{Inputs, Numbers, labels, outputs, rows};
use crate::device::device;
use crate::errors::{OrRaise, invalid};
use crate::learned::Surprise;
use crate::locks;
use crate::network::{Network, Path, covariance};
use crate::posterior::Posterior;
use crate::prediction::Prediction;
use crate::progress::Watch;
use crate::related;
use crate::want::{Classes, Wish, WishSettings, observed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{RwLock, RwLockReadGuard};
use tractable::data::{As, Dataset, Table};
use tractable::ensemble::Settings;
use tractable::{
    Ensemble as Inner, Input, Matrix,
    network::{Observation, Output},
};

/// Several networks, calibrated on the rows that each of them left out.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Ensemble {
    inner: RwLock<Inner>,
    width: usize,
    output: Output,
}

impl From<Inner> for Ensemble {
    fn from(model: Inner) -> Self {
        Ensemble { width: model.input().len(), output: model.output(), inner: RwLock::new(model) }
    }
}

/// The cells of a column: numbers, or texts of which an empty one is missing.
#[derive(FromPyObject)]
enum Cells<'py> {
    Texts(Vec<String>),
    Numbers(Bound<'py, PyAny>),
}

impl Cells<'_> {
    fn texts(self) -> PyResult<Vec<String>> {
        let text = |v: &f64| if v.is_nan() { String::new() } else { v.to_string() };
        match self {
            Cells::Texts(texts) => Ok(texts),
            Cells::Numbers(numbers) => Ok(Numbers::of(&numbers, "column")?.data().iter().map(text).collect()),
        }
    }
}

impl Ensemble {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        locks::read(&self.inner)
    }

    /// Inputs as the networks take them: numbers as they are, columns of a frame as the model's table has them.
    fn given<'py>(&self, x: &Bound<'py, PyAny>, std: Option<&Bound<'py, PyAny>>) -> PyResult<Inputs<'py>> {
        let columns = convert(x.py(), "to_columns")?.call1((x,))?;
        if !columns.is_none() && self.read().preparation().is_some() {
            let (mean, own) = self.encode(x.py(), columns.extract()?)?;
            return Inputs::of(&mean, std.or(Some(&own)), self.width);
        }
        self.numbers(x, std)
    }

    fn names_of_classes(&self) -> Classes {
        let names = self.read().class_names().to_vec();
        Classes(matches!(self.output, Output::Classes { classes } if classes == names.len()).then_some(names))
    }

    fn numbers<'py>(&self, x: &Bound<'py, PyAny>, std: Option<&Bound<'py, PyAny>>) -> PyResult<Inputs<'py>> {
        Inputs::of(x, std, self.width)?.filled(|x, missing| match self.read().preparation() {
            Some(preparation) => preparation.fill(x, missing),
            None => Err(tractable::Error::Invalid {
                what: "input".into(),
                why: "NaN, and this model has never seen how its inputs are distributed".into(),
            }),
        })
    }

    /// Rows and what was observed of them, for learning.
    fn observing<T: Send>(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        learn: impl FnOnce(&mut Inner, Input<'_>, Observation<'_>) -> tractable::Result<T> + Send,
    ) -> PyResult<T> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        if let Output::Classes { .. } = self.output {
            let labels = self.names_of_classes().of(y, "y")?;
            return py.detach(|| learn(&mut locks::write(&self.inner), input, (&labels).into())).or_raise();
        }
        let width = self.output.units();
        let y = Numbers::of(y, "y")?;
        y.rows(width, "y")?;
        let (y, seen) = observed(y.data().to_vec());
        let mut observation = Observation::values(&y, width).or_raise()?;
        if let Some(seen) = &seen {
            observation = observation.seen(seen);
        }
        py.detach(|| learn(&mut locks::write(&self.inner), input, observation)).or_raise()
    }

    fn scores_dict<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |score: &tractable::ensemble::LeftOut| {
            let out = PyDict::new(py);
            out.set_item("rows", score.rows)?;
            out.set_item("nll", score.nll)?;
            out.set_item("rmse", score.rmse)?;
            out.set_item("coverage_90", score.coverage_90)?;
            out.set_item("error_rate", score.error_rate)?;
            Ok(out)
        };
        self.read().scores().iter().map(one).collect()
    }
}

/// A table as Python read it: either arrays or columns.
#[derive(FromPyObject)]
struct Read<'py> {
    #[pyo3(item)]
    x: Bound<'py, PyAny>,
    #[pyo3(item)]
    y: Bound<'py, PyAny>,
    /// Names of inputs and outputs.
    #[pyo3(item)]
    names: Option<(Vec<String>, Vec<String>)>,
    #[pyo3(item)]
    class_names: Option<Vec<String>>,
    #[pyo3(item)]
    columns: Option<Vec<(String, Cells<'py>)>>,
    /// Types of columns that are known.
    #[pyo3(item)]
    kinds: Vec<(String, String)>,
    #[pyo3(item)]
    targets: Vec<String>,
}

fn convert<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("tractable._convert")?.getattr(name)
}

/// Columns of which some are targets.
fn table(
    columns: Vec<(String, Cells<'_>)>,
    kinds: Vec<(String, String)>,
    targets: Vec<String>,
    class_names: Option<Vec<String>>,
) -> PyResult<Dataset> {
    let columns = columns.into_iter().map(|(name, cells)| Ok((name, cells.texts()?)));
    let mut table = Table::of_columns(columns.collect::<PyResult<Vec<_>>>()?).or_raise()?;
    for (name, kind) in kinds {
        let kind = match kind.as_str() {
            "number" => As::Number,
            "category" => As::Category,
            _ => As::Date,
        };
        table = table.treat(&name, kind).or_raise()?;
    }
    match class_names {
        Some(classes) => table.labels(&targets[0], &classes),
        None => table.targets(&targets.iter().map(String::as_str).collect::<Vec<_>>()),
    }
    .or_raise()
}

/// Rows whose NaNs are missing, with what is known of the columns' names.
fn dataset(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    class_names: Option<Vec<String>>,
    names: Option<(Vec<String>, Vec<String>)>,
) -> PyResult<Dataset> {
    let x = Numbers::of(x, "input")?;
    let width = match *x.shape() {
        [_] => 1,
        [_, ref rest @ ..] => rest.iter().product(),
        [] => return Err(invalid("input", "a single number is not a table")),
    };
    let missing: Vec<bool> = x.data().iter().map(|v| v.is_nan()).collect();
    let known = x.data().iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
    let x = Matrix::new(known, width).or_raise()?;
    let mut data = match class_names {
        Some(names) => Dataset::with_labels(x, labels(y, "y")?, names),
        None => {
            let y = Numbers::of(y, "y")?;
            let width = if y.shape().len() < 2 { 1 } else { y.shape()[1..].iter().product() };
            Dataset::new(x, y.matrix(width, "y")?)
        }
    }
    .or_raise()?;
    if let Some((inputs, outputs)) = names {
        data = data.with_names(inputs, outputs).or_raise()?;
    }
    if missing.contains(&true) { data.mark_missing(missing).or_raise() } else { Ok(data) }
}

#[pymethods]
impl Ensemble {
    /// Fits to a table: arrays, or a frame with texts, dates and missing cells. NaN is missing.
    ///
    /// groups: rows with the same entry belong together, and are left out together; an array, or the name of a column of x, which is then no
    /// input. time: when a row was observed, likewise; rows that are left out are later than those learned, and the column stays an input.
    /// classes: whether y is classes; by default texts and booleans are. single: one network, the most likely on a fifth of the rows, in a
    /// fifth of the time. progress: a function of (done, of, what), or False for none.
    #[staticmethod]
    #[pyo3(signature = (
        x, y, *, classes=None, groups=None, time=None, seed=0, single=false, visits=50_000, outside=true, threads=None,
        progress=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn fit(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        classes: Option<bool>,
        groups: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
        seed: u64,
        single: bool,
        visits: usize,
        outside: bool,
        threads: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let named = related::Named::of(x, groups, time)?;
        let read: Read<'_> = convert(py, "to_data")?.call1((&named.x, y, classes))?.extract()?;
        let data = match read.columns {
            Some(columns) => table(columns, read.kinds, read.targets, read.class_names)?,
            None => dataset(&read.x, &read.y, read.class_names, read.names)?,
        };
        let data = named.applied(data)?;
        let settings = Settings::default().seed(seed).single(single).visits(visits).outside(outside);
        let settings = settings.threads(threads.unwrap_or(0));
        let mut watch = Watch::new(py, progress)?;
        let model = py.detach(|| Inner::fit_with(&data, &settings, |s| watch.look(s.what, s.done, s.of)));
        watch.end()?;
        let model = model.or_raise()?.ok_or_else(|| invalid("fit", "was stopped"))?;
        related::warn(py, &model)?;
        Ok(model.into())
    }

    /// A model from your own network, calibrated on rows that it was not trained on.
    #[staticmethod]
    #[pyo3(signature = (network, x, y, x_held_out, y_held_out))]
    fn calibrated(
        py: Python<'_>,
        network: &Network,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        x_held_out: &Bound<'_, PyAny>,
        y_held_out: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let net = network.read().or_raise()?.try_clone().or_raise()?;
        let names = match net.output() {
            Output::Classes { classes } => Some((0..classes).map(|i| i.to_string()).collect::<Vec<_>>()),
            _ => None,
        };
        let learned = dataset(x, y, names.clone(), None)?;
        let held_out = dataset(x_held_out, y_held_out, names, None)?;
        Ok(py.detach(|| Inner::calibrated(net, &learned, &held_out)).or_raise()?.into())
    }

    /// What comes out? NaN is a missing input, and counts with its uncertainty.
    #[pyo3(signature = (x, *, std=None))]
    fn predict(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Prediction> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let prediction = py.detach(|| self.read().predict(input)).or_raise()?;
        Ok(Prediction::new(prediction, None))
    }

    /// Probability of every class, [rows, classes], calibrated.
    #[pyo3(signature = (x, *, std=None))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        std: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let p = py.detach(|| self.read().predict_classes(input)).or_raise()?;
        rows(py, p.data().to_vec(), p.width())
    }

    /// What do the data say about the weights? More rows, without retraining.
    #[pyo3(signature = (x, y, *, std=None))]
    fn learn(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.observing(py, x, y, std, |model, input, seen| model.learn(input, seen))
    }

    /// learn() for one row of a stream: predicts it, corrects the calibration with it, learns it, and returns its surprise.
    #[pyo3(signature = (x, y, *, std=None))]
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Surprise> {
        self.observing(py, x, y, std, |model, input, seen| model.learn_one(input, seen)).map(Surprise)
    }

    /// Gives less weight to what was learned: multiplies the variance of every weight by a factor, up to its prior. Drift chooses the factor.
    fn discount(&self, py: Python<'_>, factor: f64) -> PyResult<()> {
        py.detach(|| locks::write(&self.inner).discount(factor)).or_raise()
    }

    /// Which input gives the output I want? Its posterior, given a prior around x with these standard deviations.
    #[pyo3(signature = (x, want, *, std=None, cov=None, noise_std=None, known_weights=false))]
    #[allow(clippy::too_many_arguments)]
    fn condition(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        want: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        cov: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
        known_weights: bool,
    ) -> PyResult<Posterior> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let covariance = cov.map(|c| covariance(c, self.width)).transpose()?;
        let settings = WishSettings { known_weights, covariance, ..WishSettings::default() };
        let wish = Wish::of(want, noise_std, self.output, &self.names_of_classes(), input.rows(), settings)?;
        let wanted = wish.wanted()?;
        py.detach(|| self.read().condition(input, wanted)).or_raise().map(Posterior)
    }

    /// Mean and standard deviation of the inputs that raw columns become, [rows, inputs] each.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<(String, Cells<'py>)>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let mut by_name = std::collections::HashMap::new();
        for (name, cells) in columns {
            by_name.insert(name, cells.texts()?);
        }
        let model = self.read();
        let Some(preparation) = model.preparation() else {
            return Err(invalid("columns", "this model was not fitted to a table"));
        };
        let mut ordered = Vec::new();
        for name in preparation.columns() {
            let cells = by_name.get(name);
            ordered.push(cells.ok_or_else(|| invalid("columns", format!("`{name}` is missing")))?);
        }
        let n = ordered.first().map_or(0, |c| c.len());
        let (mut mean, mut std) = (Vec::new(), Vec::new());
        for row in 0..n {
            let cells: Vec<&str> = ordered.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
            let (m, v) = preparation.encode(&cells).or_raise()?;
            mean.extend(m);
            std.extend(v.iter().map(|v| v.sqrt()));
        }
        let width = preparation.width();
        Ok((rows(py, mean, width)?, rows(py, std, width)?))
    }

    /// Predictions for the rows it was fitted to, each by the networks that left it out.
    fn left_out<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<Prediction> {
        if let Output::Classes { .. } = self.output {
            return Err(invalid("left_out", "this model has classes; use left_out_proba"));
        }
        let data = dataset(x, y, None, None)?;
        let prediction = py.detach(|| self.read().left_out(&data)).or_raise()?;
        Ok(Prediction::new(prediction, None))
    }

    /// left_out() for classes.
    fn left_out_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Output::Classes { classes } = self.output else {
            return Err(invalid("left_out_proba", "this model has no classes; use left_out"));
        };
        let data = dataset(x, y, Some((0..classes).map(|i| i.to_string()).collect()), None)?;
        let p = py.detach(|| self.read().left_out_classes(&data)).or_raise()?;
        outputs(py, p.data().to_vec(), p.width())
    }

    /// Writes the file that the program and the Rust library read.
    fn save(&self, py: Python<'_>, path: Path) -> PyResult<()> {
        py.detach(|| self.read().save(path)).or_raise()
    }

    /// Reads a file. It may be untrusted. device: where its networks answer, "cpu" or "cpu:2" for two threads.
    #[staticmethod]
    #[pyo3(signature = (path, *, device="cpu"))]
    fn load(py: Python<'_>, path: Path, device: &str) -> PyResult<Self> {
        let device = self::device(device)?;
        Ok(py.detach(|| Inner::load_on(path, device)).or_raise()?.into())
    }

    /// The bytes of the file that save() would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read().to_bytes().or_raise()?))
    }

    /// A model from such bytes.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Inner::from_bytes(data).or_raise()?.into())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,)))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        Ensemble::from_bytes(self.to_bytes(py)?.as_bytes())
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }

    /// Number of inputs of the networks.
    #[getter]
    fn inputs(&self) -> usize {
        self.width
    }

    /// Names of the inputs.
    #[getter]
    fn input_names(&self) -> Vec<String> {
        self.read().input_names().to_vec()
    }

    /// Names of the outputs.
    #[getter]
    fn output_names(&self) -> Vec<String> {
        self.read().output_names().to_vec()
    }

    /// Names of the classes; empty for numbers.
    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.read().class_names().to_vec()
    }

    /// Number of classes, or None for numbers.
    #[getter]
    fn classes(&self) -> Option<usize> {
        match self.output {
            Output::Classes { classes } => Some(classes),
            _ => None,
        }
    }

    /// Number of networks.
    fn __len__(&self) -> usize {
        self.read().networks().count()
    }

    /// Rows it has learned.
    #[getter]
    fn rows(&self) -> usize {
        self.read().rows()
    }

    /// Scores on the rows that were left out, on which it was also calibrated; one dict per output.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.scores_dict(py)
    }

    /// Mean and standard deviation of the inputs it was fitted to, or None.
    #[getter]
    fn input_range(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let model = self.read();
        let scaler = model.networks().next()?.input_scaler()?;
        Some((scaler.mean().to_vec(), scaler.std().to_vec()))
    }

    /// For notebooks: scores, and the curve where there is one input.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tractable._html")?.call_method1("of_ensemble", (slf,))
    }

    fn __repr__(&self) -> String {
        let model = self.read();
        let networks = model.networks().count();
        let networks = if networks == 1 { "1 network".into() } else { format!("{networks} networks") };
        let what = match self.output {
            Output::Classes { classes } => format!("{classes} classes"),
            _ => model.output_names().join(", "),
        };
        let score = model.scores().first().map_or(String::new(), |s| match (s.rmse, s.error_rate) {
            (Some(rmse), _) => format!("; left-out RMSE {rmse:.4}"),
            (_, Some(error)) => format!("; left-out error {:.1} %", 100.0 * error),
            _ => String::new(),
        });
        let inputs = if self.width == 1 { "1 input".into() } else { format!("{} inputs", self.width) };
        format!("<Ensemble of {networks}: {inputs} -> {what}; {} rows{score}>", model.rows())
    }
}
