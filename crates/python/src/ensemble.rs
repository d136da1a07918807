//! The calibrated model of several networks.

use crate::arrays::{Inputs, Numbers, rows};
use crate::columns::{self, Column};
use crate::device::device;
use crate::errors::{OrRaise, invalid};
use crate::insight;
use crate::learned::Surprise;
use crate::locks;
use crate::network::{Network, Path, covariance};
use crate::posterior::Posterior;
use crate::prediction::Prediction;
use crate::progress::{Watch, interruptible};
use crate::related;
use crate::table::{self, Cells, columns_of, target_inside};
use crate::want::{Classes, Wish, WishSettings, observed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{RwLock, RwLockReadGuard};
use tractable::data::{Dataset, Target};
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
    /// Of the table that it was fitted to; none where it was read from a file.
    columns: Vec<Column>,
}

impl From<Inner> for Ensemble {
    fn from(model: Inner) -> Self {
        let (width, output) = (model.input().len(), model.output());
        Ensemble { width, output, inner: RwLock::new(model), columns: Vec::new() }
    }
}

impl Ensemble {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        locks::read(&self.inner)
    }

    /// Inputs as the networks take them: numbers as they are, columns of a frame as the model's table has them.
    fn given<'py>(&self, x: &Bound<'py, PyAny>, std: Option<&Bound<'py, PyAny>>) -> PyResult<Inputs<'py>> {
        if let Some(columns) = columns_of(x)?
            && self.read().preparation().is_some()
        {
            let (mean, own) = self.encode(x.py(), columns)?;
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

    /// What is known of rows that are new.
    fn target(&self, y: &Bound<'_, PyAny>, labels: Option<Vec<usize>>) -> PyResult<Target> {
        if let Some(labels) = labels {
            let names = self.read().class_names().to_vec();
            return Ok(Target::Labels { labels, names });
        }
        let width = self.output.units();
        let (y, observed) = observed(Numbers::of(y, "y")?.matrix(width, "y")?.data().to_vec());
        Ok(Target::Values { y: Matrix::new(y, width).or_raise()?, observed })
    }

    fn names_of_classes(&self) -> Classes {
        let names = self.read().class_names().to_vec();
        Classes(
            matches!(self.output, Output::Classes { classes, .. } if classes == names.len()).then_some(names),
        )
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
        let (x, y) = &target_inside(x, y)?;
        let given = self.given(x, std)?;
        let input = given.input()?;
        if let Output::Classes { .. } = self.output {
            let labels = self.names_of_classes().of(y, "y")?;
            return work(py, input.rows(), || learn(&mut locks::write(&self.inner), input, (&labels).into()));
        }
        let width = self.output.units();
        let y = Numbers::of(y, "y")?;
        y.rows(width, "y")?;
        let (y, seen) = observed(y.data().to_vec());
        let mut observation = Observation::values(&y, width).or_raise()?;
        if let Some(seen) = &seen {
            observation = observation.seen(seen);
        }
        work(py, input.rows(), || learn(&mut locks::write(&self.inner), input, observation))
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

/// Work on so many rows; that on a single one is short.
fn work<T: Send>(
    py: Python<'_>,
    rows: usize,
    work: impl FnOnce() -> tractable::Result<T> + Send,
) -> PyResult<T> {
    if rows > 1 { interruptible(py, work) } else { py.detach(work).or_raise() }
}

#[pymethods]
impl Ensemble {
    /// Fits to a table. Columns that are left out, cells that cannot be read, and what is noticed about the rows are warned of;
    /// model.columns has all columns. Ctrl-C ends it.
    ///
    /// Parameters
    /// ----------
    /// x : array [rows, inputs], or a pandas or polars frame
    ///     A frame may have texts, dates and missing cells. NaN is missing.
    /// y : array [rows] or [rows, outputs], a column or a frame; or the name, or a list of names, of columns of x
    /// classes : bool, optional
    ///     Whether y is classes; by default texts and booleans are.
    /// groups : array, or the name of a column of x, optional
    ///     Rows with the same entry belong together, and are left out together. A column that is named is no input.
    /// time : array, or the name of a column of x, optional
    ///     When rows were observed: those that are left out are later than those learned. A column that is named stays an input. One of
    ///     the two.
    /// seed : int, default=0
    /// single : bool, default=False
    ///     One network, the most likely on a fifth of the rows, in a fifth of the time.
    /// visits : int, default=50_000
    ///     Rows that each network learns from, over all epochs.
    /// threads : int, optional
    ///     By default one per core. The result is the same.
    /// sample_weight : array [rows], optional
    ///     The noise variance of a row is taken for that of the others divided by its weight. Only the ratios count; predictions have the
    ///     noise of a row of mean weight, and rows of weight 0 are not learned.
    /// class_weight : dict or "balanced", optional
    ///     How many times as frequent each class is where the model will be used as among these rows; "balanced" for classes that are
    ///     all as frequent. Probabilities are shifted by Bayes' rule, p'(k) = w_k p(k) / sum of w_j p(j); nothing else changes.
    /// progress : function of (done, of, what), or bool, optional
    ///     By default a bar on a terminal; False for none.
    ///
    /// Returns
    /// -------
    /// Ensemble
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, 3 * x, single=True, visits=2000)
    /// >>> model.rows
    /// 40
    #[staticmethod]
    #[pyo3(signature = (
        x, y, *, classes=None, groups=None, time=None, seed=0, single=false, visits=50_000, threads=None,
        sample_weight=None, class_weight=None, progress=None
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
        threads: Option<usize>,
        sample_weight: Option<&Bound<'_, PyAny>>,
        class_weight: Option<&Bound<'_, PyAny>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let named = related::Named::of(x, groups, time)?;
        let (data, columns) = table::to_fit(&named.x, y, classes)?;
        let data = table::weighted(named.applied(data)?, sample_weight)?;
        let settings = Settings::default().seed(seed).single(single).visits(visits);
        let settings = settings.threads(threads.unwrap_or(0));
        let settings = match class_weight {
            Some(weights) => settings.class_weights(table::class_weights(weights, data.target())?),
            None => settings,
        };
        let mut watch = Watch::new(py, progress)?;
        let model =
            interruptible(py, || Inner::fit_with(&data, &settings, |s| watch.look(s.what, s.done, s.of)));
        watch.end()?;
        let model = model?.ok_or_else(|| invalid("fit", "was stopped"))?;
        columns::warn(py, &columns)?;
        related::warn(py, &model)?;
        Ok(Ensemble { columns, ..model.into() })
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
            Output::Classes { classes, .. } => Some((0..classes).map(|i| i.to_string()).collect::<Vec<_>>()),
            _ => None,
        };
        let learned = table::of_arrays(x, y, names.clone())?;
        let held_out = table::of_arrays(x_held_out, y_held_out, names)?;
        Ok(interruptible(py, || Inner::calibrated(net, &learned, &held_out))?.into())
    }

    /// What comes out? Ctrl-C ends it.
    ///
    /// Parameters
    /// ----------
    /// x : array [rows, inputs], or a frame with the columns of the fit, in any order
    ///     NaN is a missing input, and counts with its uncertainty.
    /// std : float or array, optional
    ///     Standard deviation of the inputs: one, one per input, or one per cell.
    ///
    /// Returns
    /// -------
    /// Prediction
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, 3 * x, single=True, visits=2000)
    /// >>> lower, upper = model.predict([0.5]).interval(0.9)
    /// >>> bool(lower[0] < 1.5 < upper[0])
    /// True
    #[pyo3(signature = (x, *, std=None))]
    fn predict(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Prediction> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let prediction = interruptible(py, || self.read().predict(input))?;
        Ok(Prediction::new(prediction, None))
    }

    /// Probability of every class, calibrated. Ctrl-C ends it.
    ///
    /// Parameters
    /// ----------
    /// x, std : as for predict
    ///
    /// Returns
    /// -------
    /// array [rows, classes], in the order of class_names
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, np.where(x > 0, "up", "down"), single=True, visits=2000)
    /// >>> model.class_names, bool(model.predict_proba([0.9])[0, 1] > 0.5)
    /// (['down', 'up'], True)
    #[pyo3(signature = (x, *, std=None))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        std: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(x, std)?;
        let input = given.input()?;
        let p = interruptible(py, || self.read().predict_classes(input))?;
        rows(py, p.data().to_vec(), p.width())
    }

    /// What do the data say about the weights? More rows, without retraining: all of them, or none if there is an error or Ctrl-C.
    ///
    /// Parameters
    /// ----------
    /// x, std : as for predict
    /// y : as for fit
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, 3 * x, single=True, visits=2000)
    /// >>> model.learn([0.5, 0.6], [1.5, 1.8])
    /// >>> model.rows
    /// 42
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

    /// Which input gives the output I want? Ctrl-C ends it.
    ///
    /// Parameters
    /// ----------
    /// x : array [rows, inputs], or a frame
    ///     Where to look.
    /// want : numbers, classes, or "max", "min" or "stationary"
    ///     NaN is left free.
    /// std : float or array, optional
    ///     How far from x to look: one standard deviation, one per input, or one per cell.
    /// cov : array [inputs, inputs], optional
    ///     Covariance of the inputs, instead of std.
    /// noise_std : float or array, optional
    ///     How exactly the wanted number must be met.
    /// known_weights : bool, default=False
    ///     Whether to ignore the uncertainty of the weights.
    ///
    /// Returns
    /// -------
    /// Posterior
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, 3 * x, single=True, visits=2000)
    /// >>> found = model.condition([0.0], 1.5, std=1.0)
    /// >>> bool(abs(found.mean[0, 0] - 0.5) < 0.2)
    /// True
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
        interruptible(py, || self.read().condition(input, wanted)).map(Posterior)
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
            if row % 1024 == 0 {
                py.check_signals()?;
            }
            let cells: Vec<&str> = ordered.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
            let (m, v) = preparation.encode(&cells).or_raise()?;
            mean.extend(m);
            std.extend(v.iter().map(|v| v.sqrt()));
        }
        let width = preparation.width();
        Ok((rows(py, mean, width)?, rows(py, std, width)?))
    }

    /// Predictions for the rows it was fitted to, each by the networks that left it out. Ctrl-C ends it.
    ///
    /// Parameters
    /// ----------
    /// x, y, sample_weight : as they were given to fit, with the rows in the same order
    ///
    /// Returns
    /// -------
    /// Prediction
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, 3 * x, visits=500)
    /// >>> len(model.left_out(x, 3 * x))
    /// 40
    #[pyo3(signature = (x, y, *, sample_weight=None))]
    fn left_out<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        sample_weight: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Prediction> {
        if let Output::Classes { .. } = self.output {
            return Err(invalid("left_out", "this model has classes; use left_out_proba"));
        }
        let (x, y) = &target_inside(x, y)?;
        let data = table::weighted(table::as_fitted(&self.read(), x, y, None)?, sample_weight)?;
        let prediction = interruptible(py, || self.read().left_out(&data))?;
        Ok(Prediction::new(prediction, None))
    }

    /// left_out() for classes.
    ///
    /// Parameters
    /// ----------
    /// x, y : as they were given to fit, with the rows in the same order
    ///
    /// Returns
    /// -------
    /// array [rows, classes], in the order of class_names
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, x > 0, visits=500)
    /// >>> model.left_out_proba(x, x > 0).shape
    /// (40, 2)
    fn left_out_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Output::Classes { .. } = self.output else {
            return Err(invalid("left_out_proba", "this model has no classes; use left_out"));
        };
        let (x, y) = &target_inside(x, y)?;
        let labels = self.names_of_classes().of(y, "y")?;
        let data = table::as_fitted(&self.read(), x, y, Some(labels))?;
        let p = interruptible(py, || self.read().left_out_classes(&data))?;
        rows(py, p.data().to_vec(), p.width())
    }

    /// Which columns count: by how much predictions become worse when the cells of a column are dealt out among the rows at random.
    ///
    /// Parameters
    /// ----------
    /// x, y, sample_weight : as they were given to fit, with the rows in the same order; or new rows
    /// left_out : bool, default=True
    ///     Whether they are the rows of the fit, each predicted by what left it out.
    /// loss : "log_density" or "squared"
    ///     The negative log-likelihood in nats, or the squared error (of classes the Brier score).
    /// repeats : int, default=5
    ///     How often the cells of each column are dealt out.
    /// most_rows : int, default=1000
    ///     Rows that are asked about, at most; of more a random part.
    /// seed : int, default=0
    /// progress : function of (done, of, what), or bool, optional
    ///     By default a bar on a terminal; False for none. Ctrl-C stops it.
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
        x, y, *, left_out=true, loss="log_density", repeats=5, most_rows=1000, seed=0, sample_weight=None,
        progress=None
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
        sample_weight: Option<&Bound<'py, PyAny>>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let settings = ImportanceSettings::default().left_out(left_out).loss(insight::loss(loss)?);
        let settings = settings.repeats(repeats).most_rows(most_rows).seed(seed);
        let (x, y) = &target_inside(x, y)?;
        let labels = match self.output {
            Output::Classes { .. } => Some(self.names_of_classes().of(y, "y")?),
            Output::Values { .. } => None,
        };
        let data = match left_out {
            true => table::as_fitted(&self.read(), x, y, labels)?,
            false => self.rows_of(x)?.with_target(self.target(y, labels)?).or_raise()?,
        };
        let data = table::weighted(data, sample_weight)?;
        let mut watch = Watch::new(py, progress)?;
        let found = interruptible(py, || {
            self.read().importance(&data, &settings, |s| watch.look(s.what, s.done, s.of))
        });
        let found = insight::finished(watch, found, "importance")?;
        insight::importance(py, &found, &self.read().output_names()[..found.loss.len()])
    }

    /// How the mean prediction for these rows moves with one column, while the others stay as they are.
    ///
    /// Parameters
    /// ----------
    /// x : array or frame
    ///     Rows that are averaged over, such as those of the fit.
    /// column : str
    ///     Its name; of arrays "x0", "x1", ...
    /// points : int, default=20
    ///     Cells of the column that are tried, at most: of a number those that cut its values into equal parts.
    /// most_rows : int, default=200
    ///     Rows that are averaged over, at most; of more a random part.
    /// seed : int, default=0
    /// progress : function of (done, of, what), or bool, optional
    ///     By default a bar on a terminal; False for none. Ctrl-C stops it.
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
        let found = interruptible(py, || {
            self.read().effect(&data, column, &settings, |s| watch.look(s.what, s.done, s.of))
        });
        insight::effect(py, &insight::finished(watch, found, "effect")?)
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

    /// What the columns of the table are taken for, as the program prints it: one dict per column with its name, what it is, the share of
    /// its cells that are missing, and a problem or None. pandas.DataFrame(model.columns) is a table of them.
    ///
    /// A model that was read from a file or a pickle has only the columns that it reads and the targets; what was missing is None.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, tractable as tr
    /// >>> x = np.linspace(-1, 1, 40)
    /// >>> model = tr.Ensemble.fit(x, 3 * x, single=True, visits=500)
    /// >>> model.columns[0]
    /// {'name': 'x0', 'what': 'number', 'missing': 0.0, 'problem': None}
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        if !self.columns.is_empty() {
            return self.columns.iter().map(|c| c.dict(py)).collect();
        }
        let model = self.read();
        let Some(preparation) = model.preparation() else { return Ok(Vec::new()) };
        Column::of_model(&preparation, model.output_names(), None).iter().map(|c| c.dict(py)).collect()
    }

    /// Number of classes, or None for numbers.
    #[getter]
    fn classes(&self) -> Option<usize> {
        match self.output {
            Output::Classes { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// Number of models: networks, lines and Gaussian processes.
    fn __len__(&self) -> usize {
        self.read().models()
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
        let scaler = model.first().input_scaler()?;
        Some((scaler.mean().to_vec(), scaler.std().to_vec()))
    }

    /// For notebooks: scores, and the curve where there is one input.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tractable._html")?.call_method1("of_ensemble", (slf,))
    }

    fn __repr__(&self) -> String {
        let model = self.read();
        let models = model.models();
        let models = if models == 1 { "1 model".into() } else { format!("{models} models") };
        let what = match self.output {
            Output::Classes { classes, .. } => format!("{classes} classes"),
            _ => model.output_names().join(", "),
        };
        let score = model.scores().first().map_or(String::new(), |s| match (s.rmse, s.error_rate) {
            (Some(rmse), _) => format!("; left-out RMSE {rmse:.4}"),
            (_, Some(error)) => format!("; left-out error {:.1} %", 100.0 * error),
            _ => String::new(),
        });
        let inputs = if self.width == 1 { "1 input".into() } else { format!("{} inputs", self.width) };
        format!("<Ensemble of {models}: {inputs} -> {what}; {} rows{score}>", model.rows())
    }
}
