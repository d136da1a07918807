//! Features with their targets, ready to be learned from.

#[cfg(feature = "csv")]
use super::preparation::Preparation;
use super::related::Related;
use super::scaler::Scaler;
#[cfg(feature = "csv")]
use std::sync::Arc;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Input, Matrix};
use tractable_core::rng;

/// The target to predict, one row per row of features.
///
/// ```
/// use tractable::Matrix;
/// use tractable::data::{Dataset, Target};
/// let x = Matrix::column(vec![0.0, 1.0])?;
/// let data = Dataset::new(x, Matrix::column(vec![5.0, 6.0])?)?;
/// match data.target() {
///     Target::Values { y, .. } => assert_eq!(y.data(), [5.0, 6.0]),
///     Target::Labels { .. } => unreachable!(),
/// }
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Regression: numbers.
    Values {
        /// `[rows, outputs]`; 0 where not observed.
        y: Matrix,
        /// Which entries of `y` were observed, row-major; `None`: all.
        observed: Option<Vec<bool>>,
    },
    /// Classification: one class per row.
    Labels {
        /// The class of each row, as a position in `names`.
        labels: Vec<usize>,
        /// Class names.
        names: Vec<String>,
    },
}

/// Features `[rows, width]` and the target of each row.
///
/// ```
/// use tractable::{Matrix, data::Dataset};
/// let x = Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2)?;
/// let data = Dataset::new(x, Matrix::column(vec![0.5, 0.7])?)?;
/// assert_eq!((data.rows(), data.width()), (2, 2));
/// assert_eq!(data.input_names(), ["x0", "x1"]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    x: Matrix,
    gaps: Option<Gaps>,
    /// Of rows; the mean of those that are not 0 was 1 where they were given.
    weights: Option<Vec<f64>>,
    target: Target,
    inputs: Vec<String>,
    outputs: Vec<String>,
    standardize: bool,
    pub(super) related: Option<Related>,
    #[cfg(feature = "csv")]
    preparation: Option<Arc<Preparation>>,
}

/// Inputs that are missing: their means are in `x`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gaps {
    pub(super) var: Vec<f64>,
    pub(super) missing: Vec<bool>,
}

impl Gaps {
    fn select(&self, rows: &[usize], width: usize) -> Option<Self> {
        let pick = |r: &usize| r * width..(r + 1) * width;
        let missing: Vec<bool> = rows.iter().flat_map(|r| &self.missing[pick(r)]).copied().collect();
        let var = rows.iter().flat_map(|r| &self.var[pick(r)]).copied().collect();
        missing.contains(&true).then_some(Gaps { var, missing })
    }
}

impl Dataset {
    /// Regression: `x` is `[rows, width]`, `y` is `[rows, outputs]`. Columns are named `x0`, `x1`, ... and
    /// `y0`, ...
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let two = Matrix::column(vec![1.0, 2.0])?;
    /// let three = Matrix::column(vec![1.0, 2.0, 3.0])?;
    /// assert!(Dataset::new(two, three).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn new(x: Matrix, y: Matrix) -> Result<Self> {
        check_rows("target", &x, y.rows())?;
        let outputs = numbered("y", y.width());
        let inputs = numbered("x", x.width());
        Ok(Self::from_parts(x, Target::Values { y, observed: None }, inputs, outputs))
    }

    /// Classification: `x` is `[rows, width]`, `labels` holds a position in `names` for each row.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let x = Matrix::column(vec![0.1, 0.9])?;
    /// let data = Dataset::with_labels(x, vec![0, 1], vec!["low".into(), "high".into()])?;
    /// assert_eq!(data.output_names(), ["class"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_labels(x: Matrix, labels: Vec<usize>, names: Vec<String>) -> Result<Self> {
        check_rows("labels", &x, labels.len())?;
        if names.len() < 2 {
            return Err(Error::invalid(
                "class names",
                format!("at least 2 classes are needed, got {}", names.len()),
            ));
        }
        if let Some(row) = labels.iter().position(|&label| label >= names.len()) {
            return Err(Error::OutOfRange {
                what: "labels".into(),
                row,
                column: 0,
                value: labels[row] as f64,
                why: format!("there are {} classes, counted from 0", names.len()),
            });
        }
        let inputs = numbered("x", x.width());
        Ok(Self::from_parts(x, Target::Labels { labels, names }, inputs, vec!["class".into()]))
    }

    /// Other names for the columns.
    ///
    /// # Errors
    /// When there are more or fewer names than columns, or a name occurs twice.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let column = Matrix::column(vec![1.0, 2.0])?;
    /// let data = Dataset::new(column.clone(), column)?.with_names(vec!["rooms".into()], vec!["price".into()])?;
    /// assert_eq!(data.input_names(), ["rooms"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_names(mut self, inputs: Vec<String>, outputs: Vec<String>) -> Result<Self> {
        for (what, old, new) in
            [("input names", &self.inputs, &inputs), ("output names", &self.outputs, &outputs)]
        {
            if old.len() != new.len() {
                return Err(Error::shape(what, old.len(), new.len()));
            }
            if let Some(twice) = new.iter().enumerate().find_map(|(i, n)| new[..i].contains(n).then_some(n)) {
                return Err(Error::invalid(what, format!("`{twice}` is given twice")));
            }
        }
        (self.inputs, self.outputs) = (inputs, outputs);
        Ok(self)
    }

    /// For parts whose sizes were checked where they were made.
    pub(super) fn from_parts(x: Matrix, target: Target, inputs: Vec<String>, outputs: Vec<String>) -> Self {
        debug_assert_eq!(x.width(), inputs.len());
        Self {
            x,
            gaps: None,
            weights: None,
            target,
            inputs,
            outputs,
            standardize: false,
            related: None,
            #[cfg(feature = "csv")]
            preparation: None,
        }
    }

    /// Features, `[rows, width]`, not standardised.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.x().data(), [1.0, 2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn x(&self) -> &Matrix {
        &self.x
    }

    /// The features as a network takes them: known numbers, or Gaussians where cells were missing.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert!(data.input().var().is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input(&self) -> Input<'_> {
        match &self.gaps {
            None => Input::from(&self.x),
            Some(gaps) => {
                Input::uncertain(self.x.data(), &gaps.var, self.x.width()).expect("variances are computed")
            }
        }
    }

    /// How the columns of the file became these features; `None` where there was no file.
    #[cfg(feature = "csv")]
    pub fn preparation(&self) -> Option<&Preparation> {
        self.preparation.as_deref()
    }

    /// Share of the features that are missing.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.missing(), 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn missing(&self) -> f64 {
        let missing = self.gaps.as_ref().map_or(0, |g| g.missing.iter().filter(|m| **m).count());
        missing as f64 / self.x.data().len().max(1) as f64
    }

    /// The target, not standardised.
    ///
    /// ```
    /// # use tractable::{Matrix, data::{Dataset, Target}};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert!(matches!(data.target(), Target::Values { observed: None, .. }));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Regression targets, `[rows, outputs]`, not standardised; `None` for classes. Where [`Target::Values`] says that an
    /// entry was not observed, it is 0 here.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.y().unwrap().data(), [3.0, 4.0]);
    /// assert!(data.labels().is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn y(&self) -> Option<&Matrix> {
        match &self.target {
            Target::Values { y, .. } => Some(y),
            Target::Labels { .. } => None,
        }
    }

    /// The class of every row, counted from 0; `None` for regression.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// let x = Matrix::column(vec![0.1, 0.9])?;
    /// let data = Dataset::with_labels(x, vec![0, 1], vec!["low".into(), "high".into()])?;
    /// assert_eq!(data.labels().unwrap(), [0, 1]);
    /// assert!(data.y().is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn labels(&self) -> Option<&[usize]> {
        match &self.target {
            Target::Values { .. } => None,
            Target::Labels { labels, .. } => Some(labels),
        }
    }

    /// Number of rows.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.rows(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Number of features.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.width(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.x.width()
    }

    /// Names of the features.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.input_names(), ["x0"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input_names(&self) -> &[String] {
        &self.inputs
    }

    /// Names of the target columns; for classes the one column they came from.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.output_names(), ["y0"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output_names(&self) -> &[String] {
        &self.outputs
    }

    /// The same rows with another target of the same outputs.
    ///
    /// # Errors
    /// When it does not have as many rows.
    pub fn with_target(mut self, target: Target) -> Result<Self> {
        let rows = match &target {
            Target::Values { y, .. } => y.rows(),
            Target::Labels { labels, .. } => labels.len(),
        };
        check_rows("target", &self.x, rows)?;
        self.target = target;
        Ok(self)
    }

    /// The same rows with features that are not known exactly, `[rows, width]` variances: those above 0 count as missing.
    ///
    /// # Errors
    /// When there are more or fewer than features, or one is negative or not finite.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// let data = data.with_variances(vec![0.0, 0.5])?;
    /// assert_eq!((data.input().var().unwrap()[1], data.missing()), (0.5, 0.5));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_variances(mut self, var: Vec<f64>) -> Result<Self> {
        Input::uncertain(self.x.data(), &var, self.x.width())?;
        let missing: Vec<bool> = var.iter().map(|v| *v > 0.0).collect();
        self.gaps = missing.contains(&true).then_some(Gaps { var, missing });
        Ok(self)
    }

    /// The same rows, each with a weight; only the ratios count, so they are divided by the mean of those that are not 0. An [`Ensemble`] takes the noise variance
    /// of a row for that of the others divided by its weight; a network by itself does not look at them.
    ///
    /// [`Ensemble`]: https://docs.rs/tractable/latest/tractable/struct.Ensemble.html
    ///
    /// # Errors
    /// When there is not one for every row, one is negative or not finite, or all are 0.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.with_weights(&[1.0, 3.0])?.weights().unwrap(), [0.5, 1.5]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        check_rows("weights", &self.x, weights.len())?;
        if let Some(row) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
            return Err(Error::OutOfRange {
                what: "weights".into(),
                row,
                column: 0,
                value: weights[row],
                why: "a weight is a finite number of at least 0".into(),
            });
        }
        let counting = weights.iter().filter(|w| **w > 0.0).count();
        if counting == 0 {
            return Err(Error::invalid("weights", "all are 0"));
        }
        let mean = weights.iter().map(|w| w / counting as f64).sum::<f64>();
        // Where all count the same, they say nothing.
        let differ = weights.iter().any(|w| *w != weights[0]);
        self.weights = differ.then(|| weights.iter().map(|w| w / mean).collect());
        Ok(self)
    }

    /// The weights of the rows; `None` where all count the same.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Whether none of these features is missing in a row.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert!(data.knows(1, 0..1));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn knows(&self, row: usize, features: std::ops::Range<usize>) -> bool {
        let at = row * self.width();
        let missing = |gaps: &Gaps| gaps.missing[at + features.start..at + features.end].contains(&true);
        !self.gaps.as_ref().is_some_and(missing)
    }

    /// The same rows, of which some features are those of other rows: row `i` has those of row `rows[i]`.
    ///
    /// # Errors
    /// When there are no such features or rows, or not as many rows.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let x = Matrix::new(vec![1.0, 10.0, 2.0, 20.0], 2)?;
    /// let data = Dataset::new(x, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.with_inputs_of(1..2, &[1, 0])?.x().data(), [1.0, 20.0, 2.0, 10.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_inputs_of(&self, features: std::ops::Range<usize>, rows: &[usize]) -> Result<Dataset> {
        let width = self.width();
        if features.start >= features.end || features.end > width {
            return Err(Error::invalid("features", format!("{features:?} are not among the {width}")));
        }
        check_rows("rows to take from", &self.x, rows.len())?;
        if let Some(row) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(Error::invalid("rows to take from", format!("there is no row {row}")));
        }
        fn moved<T: Copy>(
            all: &[T],
            width: usize,
            features: &std::ops::Range<usize>,
            rows: &[usize],
        ) -> Vec<T> {
            let mut new = all.to_vec();
            for (row, from) in new.chunks_exact_mut(width).zip(rows) {
                let from = from * width;
                row[features.clone()].copy_from_slice(&all[from + features.start..from + features.end]);
            }
            new
        }
        let mut data = self.clone();
        data.x = Matrix::new(moved(self.x.data(), width, &features, rows), width)?;
        data.gaps = self.gaps.as_ref().map(|gaps| Gaps {
            var: moved(&gaps.var, width, &features, rows),
            missing: moved(&gaps.missing, width, &features, rows),
        });
        Ok(data)
    }

    /// Standardise features and numeric targets when a network is fitted to these data.
    ///
    /// Nothing is computed here: the [`Scaler`](super::Scaler) must come from the training part,
    /// which is known only then.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// let data = data.standardize();
    /// assert!(data.wants_standardize());
    /// assert_eq!(data.x().data(), [1.0, 2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn standardize(mut self) -> Self {
        self.standardize = true;
        self
    }

    /// Whether [`standardize`](Self::standardize) was called.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert!(!data.wants_standardize());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn wants_standardize(&self) -> bool {
        self.standardize
    }

    /// A random part of `round(fraction_train * rows)` rows for training, and the rest for testing. Groups stay together, and where rows
    /// have a time, the last ones are for testing ([`related`](Self::related)).
    ///
    /// The rows are shuffled with [`rng::stream`]`(seed, "split", 0)`: the same seed gives the same parts.
    ///
    /// # Errors
    /// When the fraction is not between 0 and 1, or leaves one part empty.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let x = Matrix::column((0..10).map(f64::from).collect())?;
    /// let (train, test) = Dataset::new(x.clone(), x)?.split(0.9, 0)?;
    /// assert_eq!((train.rows(), test.rows()), (9, 1));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn split(self, fraction_train: f64, seed: u64) -> Result<(Dataset, Dataset)> {
        if !(fraction_train > 0.0 && fraction_train < 1.0) {
            let why = format!("the training fraction must be between 0 and 1, got {fraction_train}");
            return Err(Error::invalid("split", why));
        }
        let rows = self.rows();
        let mut train = (fraction_train * rows as f64).round() as usize;
        let mut order: Vec<usize> = (0..rows).collect();
        rng::shuffle(&mut order, &mut rng::stream(seed, "split", 0));
        if let Some(related) = self.related.as_ref().filter(|_| train > 0) {
            (order, train) = related.order(order, train);
        }
        if train == 0 || train >= rows {
            let why = format!("{fraction_train} of {rows} rows leaves one part empty");
            return Err(Error::invalid("split", why));
        }
        #[cfg_attr(not(feature = "csv"), expect(unused_mut))]
        let (mut train, mut test) = (self.select(&order[..train])?, self.select(&order[train..])?);
        // What is missing is known by the rows to train on alone.
        #[cfg(feature = "csv")]
        if let Some(preparation) = &self.preparation {
            let refitted = Arc::new(train.refit(preparation));
            train.prepare(refitted.clone());
            test.prepare(refitted);
        }
        Ok((train, test))
    }

    /// The rows at `rows`, in that order; a row may be repeated.
    ///
    /// # Errors
    /// When a row does not exist, or none is selected.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert_eq!(data.select(&[1])?.x().data(), [2.0]);
    /// assert!(data.select(&[2]).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn select(&self, rows: &[usize]) -> Result<Dataset> {
        if rows.is_empty() {
            return Err(Error::invalid("select", "at least one row is needed"));
        }
        if let Some(&row) = rows.iter().find(|&&row| row >= self.rows()) {
            return Err(Error::invalid(
                "select",
                format!("there is no row {row}; there are {}, counted from 0", self.rows()),
            ));
        }
        let target = match &self.target {
            Target::Values { y, observed } => {
                let width = y.width();
                let part = |seen: &Vec<bool>| {
                    rows.iter().flat_map(|r| &seen[r * width..][..width]).copied().collect()
                };
                Target::Values { y: y.select(rows), observed: observed.as_ref().map(part) }
            }
            Target::Labels { labels, names } => {
                Target::Labels { labels: rows.iter().map(|&r| labels[r]).collect(), names: names.clone() }
            }
        };
        Ok(Self {
            x: self.x.select(rows),
            gaps: self.gaps.as_ref().and_then(|g| g.select(rows, self.width())),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect()),
            target,
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
            standardize: self.standardize,
            related: self.related.as_ref().map(|related| related.select(rows)),
            #[cfg(feature = "csv")]
            preparation: self.preparation.clone(),
        })
    }
}

/// Columns of larger numbers, or of a smaller spread, have squares that no number holds.
const SQUARED: [f64; 2] = [1e-140, 1e140];

impl Dataset {
    /// Standardises the features: what is missing counts with its variance, and the levels of a category have one
    /// standard deviation in common.
    pub fn input_scaler(&self) -> Scaler {
        let scaler = Scaler::fit(&self.x);
        let mut std = scaler.std().to_vec();
        if let Some(gaps) = &self.gaps {
            let (width, rows) = (self.width(), self.rows() as f64);
            for (column, std) in std.iter_mut().enumerate() {
                let more = gaps.var.iter().skip(column).step_by(width).sum::<f64>() / rows;
                // Without a gap to the last bit what it was.
                if more > 0.0 {
                    *std = std.hypot(more.sqrt());
                }
            }
        }
        #[cfg(feature = "csv")]
        if let Some(preparation) = &self.preparation {
            preparation.even_out(&mut std);
        }
        Scaler::new(scaler.mean().to_vec(), std).unwrap_or(scaler)
    }
}

#[cfg(feature = "csv")]
impl Dataset {
    /// A preparation that knows how these rows are distributed.
    fn refit(&self, preparation: &Preparation) -> Preparation {
        let known = self.gaps.as_ref().map(|g| g.missing.iter().map(|m| !m).collect::<Vec<bool>>());
        preparation.refitted(self.x.data(), known.as_deref())
    }

    /// Takes what is missing from a preparation.
    pub(super) fn prepare(&mut self, preparation: Arc<Preparation>) {
        if let Some(gaps) = &mut self.gaps {
            let width = self.x.width();
            let mut x = self.x.data().to_vec();
            for (row, missing) in gaps.missing.chunks_exact(width).enumerate() {
                let missing: Vec<usize> = (0..width).filter(|&i| missing[i]).collect();
                if !missing.is_empty() {
                    let at = row * width..(row + 1) * width;
                    preparation.joint.fill(&mut x[at.clone()], &mut gaps.var[at], &missing);
                }
            }
            self.x = Matrix::new(x, width).expect("means are finite");
        }
        self.preparation = Some(preparation);
    }

    /// Other rows of the same columns; an input with a variance is missing.
    pub(super) fn with_rows(&self, x: Matrix, var: Vec<f64>, target: Target) -> Self {
        let missing: Vec<bool> = var.iter().map(|v| *v > 0.0).collect();
        let gaps = missing.contains(&true).then_some(Gaps { var, missing });
        let (inputs, outputs) = (self.inputs.clone(), self.outputs.clone());
        let preparation = self.preparation.clone();
        let weights = self.weights.clone();
        Dataset {
            x,
            gaps,
            weights,
            target,
            inputs,
            outputs,
            standardize: self.standardize,
            related: None,
            preparation,
        }
    }

    /// Marks inputs as missing, `[rows, width]`: whatever number is there, they become uncertain, with the mean and variance
    /// that the rest of their row gives them.
    ///
    /// # Errors
    /// When there is not one mark for every input.
    ///
    /// ```
    /// use tractable::{Matrix, data::Dataset};
    /// let x = Matrix::column(vec![1.0, 2.0, 0.0])?;
    /// let data = Dataset::new(x, Matrix::column(vec![1.0, 2.0, 3.0])?)?.mark_missing(vec![false, false, true])?;
    /// assert_eq!(data.input().mean(), [1.0, 2.0, 1.5]);
    /// assert!(data.input().var().unwrap()[2] > 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mark_missing(self, missing: Vec<bool>) -> Result<Self> {
        if missing.len() != self.x.data().len() {
            return Err(Error::shape("marks", self.x.data().len(), missing.len()));
        }
        let preparation = Preparation::of_numbers(&self.inputs, Vec::new(), Vec::new());
        Ok(self.with_gaps(if missing.contains(&true) { missing } else { Vec::new() }, preparation, true))
    }

    /// Inputs that are missing, zeros in `x` by now,
    /// are put in: with their distribution in these rows where the preparation is `new`.
    pub(super) fn with_gaps(mut self, missing: Vec<bool>, preparation: Preparation, new: bool) -> Self {
        if !missing.is_empty() {
            self.gaps = Some(Gaps { var: vec![0.0; missing.len()], missing });
        }
        let preparation = if new { self.refit(&preparation) } else { preparation };
        self.prepare(Arc::new(preparation));
        self
    }
}

impl Dataset {
    /// Refuses columns that cannot be standardised, by name.
    pub fn check_spread(&self) -> Result<()> {
        check_columns("input", &self.x, &self.inputs, |_| true)?;
        match &self.target {
            Target::Labels { .. } => Ok(()),
            Target::Values { y, observed } => {
                check_columns("target", y, &self.outputs, |i| observed.as_ref().is_none_or(|o| o[i]))
            }
        }
    }
}

fn check_columns(what: &str, data: &Matrix, names: &[String], seen: impl Fn(usize) -> bool) -> Result<()> {
    for (column, name) in names.iter().enumerate() {
        let entries = (column..data.data().len()).step_by(data.width()).filter(|&i| seen(i));
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        entries.map(|i| data.data()[i]).for_each(|v| (least, most) = (v.min(least), v.max(most)));
        let (spread, largest) = (most - least, most.abs().max(least.abs()));
        let refused = match () {
            _ if largest.is_finite() && largest > SQUARED[1] => largest,
            _ if spread > 0.0 && spread < SQUARED[0] => spread,
            _ => continue,
        };
        let why = format!("the square of {refused:e} overflows; change the unit");
        return Err(Error::invalid(format!("{what} `{name}`"), why));
    }
    Ok(())
}

fn check_rows(what: &str, x: &Matrix, rows: usize) -> Result<()> {
    if rows == 0 {
        return Err(Error::invalid(what, "at least one row is needed"));
    }
    if rows != x.rows() {
        return Err(Error::shape(what, format!("{} rows, as in x", x.rows()), rows));
    }
    Ok(())
}

fn numbered(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}
