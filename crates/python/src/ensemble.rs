//! The calibrated model of several networks.

use crate::arrays::{Inputs, Numbers, labels, outputs, rows};
use crate::device::device;
use crate::errors::{OrRaise, invalid};
use crate::insight;
use crate::learned::Surprise;
use crate::locks;
use crate::network::{Network, Path, covariance};
use crate::posterior::Posterior;
use crate::prediction::Prediction;
use crate::progress::Watch;
use crate::want::{Classes, Wish, WishSettings, observed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{RwLock, RwLockReadGuard};
use tractable::data::{As, Dataset, Table, Target};
use tractable::ensemble::{EffectSettings, ImportanceSettings, Settings};
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

    /// Rows as data whose targets are not known.
    fn rows_of(&self, x: &Bound<'_, PyAny>) -> PyResult<Dataset> {
        let given = self.given(x, None)?;
        let input = given.input()?;
        let known = Matrix::new(input.mean().to_vec(), self.width).or_raise()?;
        let nothing = Matrix::column(vec![0.0; input.rows()]).or_raise()?;
        let data = Dataset::new(known, nothing).or_raise()?;
        match input.var() {
            None => Ok(data),
            Some(var) => data.with_variances(var.to_vec()).or_raise(),
        }
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
            let rarer = |r: &tractable::ensemble::Rarer| {
                let out = PyDict::new(py);
                out.set_item("class", &r.class)?;
                out.set_item("rows", r.rows)?;
                out.set_item("auc", r.auc)?;
                out.set_item("average_precision", r.average_precision)?;
                out.set_item("threshold", r.found.threshold)?;
                out.set_item("precision", r.found.precision)?;
                out.set_item("recall", r.found.recall)?;
                out.set_item("f1", r.found.f1)?;
                PyResult::Ok(out)
            };
            out.set_item("rarer", score.rarer.as_ref().map(rarer).transpose()?)?;
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

/// One weight for each class: from a dict of those that are not 1, or by how often each occurs.
fn class_weights(given: &Bound<'_, PyAny>, target: &Target) -> PyResult<Vec<f64>> {
    let Target::Labels { labels, names } = target else {
        return Err(invalid("class_weight", "the target is a number"));
    };
    if let Ok(word) = given.extract::<String>() {
        if word != "balanced" {
            return Err(invalid("class_weight", format!("`{word}` is neither a dict nor \"balanced\"")));
        }
        let count = |class: usize| labels.iter().filter(|label| **label == class).count().max(1);
        let even = labels.len() as f64 / names.len() as f64;
        return Ok((0..names.len()).map(|class| even / count(class) as f64).collect());
    }
    let mut weights = vec![1.0; names.len()];
    for (class, weight) in given.cast::<PyDict>()?.iter() {
        let class = class.str()?.to_string();
        let at = names.iter().position(|name| *name == class);
        let at = at.ok_or_else(|| invalid("class_weight", format!("there is no class `{class}`")))?;
        weights[at] = weight.extract()?;
    }
    Ok(weights)
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
    /// classes: whether y is classes; by default texts and booleans are. single: one network, the most likely on a fifth of the rows, in a
    /// fifth of the time. progress: a function of (done, of, what), or False for none.
    ///
    /// sample_weight: one number per row. The noise variance of a row is taken for that of the others divided by its weight. Only the ratios
    /// count; predictions have the noise of a row of mean weight, and rows of weight 0 are not learned.
    ///
    /// class_weight: how many times as frequent each class is where the model will be used as among these rows, as a dict, or "balanced" for
    /// classes that are all as frequent. Probabilities are shifted by Bayes' rule, p'(k) = w_k p(k) / sum of w_j p(j); nothing else changes.
    #[staticmethod]
    #[pyo3(signature = (
        x, y, *, classes=None, seed=0, single=false, visits=50_000, outside=true, threads=None, sample_weight=None,
        class_weight=None, progress=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn fit(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        classes: Option<bool>,
        seed: u64,
        single: bool,
        visits: usize,
        outside: bool,
        threads: Option<usize>,
        sample_weight: Option<&Bound<'_, PyAny>>,
        class_weight: Option<&Bound<'_, PyAny>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let read: Read<'_> = convert(py, "to_data")?.call1((x, y, classes))?.extract()?;
        let data = match read.columns {
            Some(columns) => table(columns, read.kinds, read.targets, read.class_names)?,
            None => dataset(&read.x, &read.y, read.class_names, read.names)?,
        };
        let data = match sample_weight {
            Some(weights) => data.with_weights(Numbers::of(weights, "sample_weight")?.data()).or_raise()?,
            None => data,
        };
        let settings = Settings::default().seed(seed).single(single).visits(visits).outside(outside);
        let settings = settings.threads(threads.unwrap_or(0));
        let settings = match class_weight {
            Some(weights) => settings.class_weights(class_weights(weights, data.target())?),
            None => settings,
        };
        let mut watch = Watch::new(py, progress)?;
        let model = py.detach(|| Inner::fit_with(&data, &settings, |s| watch.look(s.what, s.done, s.of)));
        watch.end()?;
        model.or_raise()?.map(Ensemble::from).ok_or_else(|| invalid("fit", "was stopped"))
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

    /// Which columns count: by how much predictions become worse when the cells of a column are dealt out among the rows at random.
    ///
    /// Parameters
    /// ----------
    /// x, y : the rows that fit took, in the same order: each is predicted by what left it out. With left_out=False, rows that are new.
    /// loss : "log_density", the negative log-likelihood in nats, or "squared", the squared error (of classes the Brier score).
    /// repeats : how often the cells of each column are dealt out.
    /// most_rows : rows that are asked about, at most; of more a random part.
    /// progress : a function of (done, of, what), or False for none. Ctrl-C stops it.
    ///
    /// Returns
    /// -------
    /// list of dict: "output", "column", "increase" of the mean loss and its standard error "std"; what counts most comes first. All inputs
    /// that come from one column move together.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.random.default_rng(0).normal(size=(100, 2))
    /// >>> model = tr.Ensemble.fit(x, 3 * x[:, 1], visits=1000)
    /// >>> model.importance(x, 3 * x[:, 1])[0]["column"]
    /// 'x1'
    #[pyo3(signature = (
        x, y, *, left_out=true, loss="log_density", repeats=5, most_rows=1000, seed=0, progress=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn importance<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        left_out: bool,
        loss: &str,
        repeats: usize,
        most_rows: usize,
        seed: u64,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let settings = ImportanceSettings::default().left_out(left_out).loss(insight::loss(loss)?);
        let settings = settings.repeats(repeats).most_rows(most_rows).seed(seed);
        let target = match self.output {
            Output::Classes { .. } => {
                let names = self.read().class_names().to_vec();
                Target::Labels { labels: self.names_of_classes().of(y, "y")?, names }
            }
            Output::Values { width, .. } => {
                let (y, observed) = observed(Numbers::of(y, "y")?.matrix(width, "y")?.data().to_vec());
                Target::Values { y: Matrix::new(y, width).or_raise()?, observed }
            }
        };
        let data = self.rows_of(x)?.with_target(target).or_raise()?;
        let mut watch = Watch::new(py, progress)?;
        let found =
            py.detach(|| self.read().importance(&data, &settings, |s| watch.look(s.what, s.done, s.of)));
        let found = insight::finished(watch, found.or_raise()?, "importance")?;
        insight::importance(py, &found, &self.read().output_names()[..found.loss.len()])
    }

    /// How the mean prediction for these rows moves with one column, while the others stay as they are.
    ///
    /// Parameters
    /// ----------
    /// x : rows that are averaged over, such as those that fit took.
    /// column : its name; of arrays "x0", "x1", ...
    /// points : cells of the column that are tried, at most: of a number those that cut its values into equal parts.
    /// most_rows : rows that are averaged over, at most; of more a random part.
    /// progress : a function of (done, of, what), or False for none. Ctrl-C stops it.
    ///
    /// Returns
    /// -------
    /// dict: "column"; "at", the cells: numbers that grow or the names of levels; "mean", the mean prediction there or the mean probability
    /// of each class; and "std", how uncertain the model is of that mean, at most (of classes, how far its networks are apart).
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.random.default_rng(0).normal(size=(100, 2))
    /// >>> model = tr.Ensemble.fit(x, 3 * x[:, 1], visits=1000)
    /// >>> effect = model.effect(x, "x1", points=3)
    /// >>> bool(effect["mean"][0] < effect["mean"][2])
    /// True
    #[pyo3(signature = (x, column, *, points=20, most_rows=200, seed=0, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn effect<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        column: &str,
        points: usize,
        most_rows: usize,
        seed: u64,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let settings = EffectSettings::default().points(points).most_rows(most_rows).seed(seed);
        let data = self.rows_of(x)?;
        let mut watch = Watch::new(py, progress)?;
        let found =
            py.detach(|| self.read().effect(&data, column, &settings, |s| watch.look(s.what, s.done, s.of)));
        insight::effect(py, &insight::finished(watch, found.or_raise()?, "effect")?)
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

    /// Of two classes, the rarer one and the probability from which on a row is taken for it, as (number, threshold); None otherwise.
    ///
    /// The threshold is the one with the best F1 on left-out rows: `predict_proba(x)[:, number] >= threshold` finds the class where it is never
    /// the most probable one. The probabilities do not depend on it. See scores for what it finds.
    #[getter]
    fn threshold(&self) -> Option<(usize, f64)> {
        self.read().threshold()
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
