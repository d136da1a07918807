//! Tables as Python has them, arrays or frames, and what a model is fitted to.

use crate::arrays::{Numbers, labels};
use crate::columns::Column;
use crate::errors::{OrRaise, invalid};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tractable::data::{As, Dataset, Preparation, Table, Target};
use tractable::{Ensemble, Matrix, network::Output};

/// The cells of a column: numbers, or texts of which an empty one is missing.
#[derive(FromPyObject)]
pub(crate) enum Cells<'py> {
    Texts(Vec<String>),
    Numbers(Bound<'py, PyAny>),
}

impl Cells<'_> {
    pub(crate) fn texts(self) -> PyResult<Vec<String>> {
        match self {
            Cells::Texts(texts) => Ok(texts),
            Cells::Numbers(numbers) => Ok(Numbers::of(&numbers, "column")?.data().iter().map(text).collect()),
        }
    }
}

fn text(v: &f64) -> String {
    if v.is_nan() { String::new() } else { v.to_string() }
}

/// Columns by name.
pub(crate) type Columns<'py> = Vec<(String, Cells<'py>)>;

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
    columns: Option<Columns<'py>>,
    /// Types of columns that are known.
    #[pyo3(item)]
    kinds: Vec<(String, String)>,
    #[pyo3(item)]
    targets: Vec<String>,
}

/// What is known of the outputs of arrays.
enum Known<'a, 'py> {
    Classes(Vec<usize>, Vec<String>),
    Numbers(&'a Bound<'py, PyAny>),
}

fn convert<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("tractable._convert")?.getattr(name)
}

/// The columns of a frame; `None` if it is something else.
pub(crate) fn columns_of<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<Columns<'py>>> {
    convert(x.py(), "to_columns")?.call1((x,))?.extract()
}

/// x and y, which may be the name of a column of the frame x.
pub(crate) fn target_inside<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    convert(x.py(), "target_inside")?.call1((x, y))?.extract()
}

/// What to fit to, and what its columns are taken for.
pub(crate) fn to_fit(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    classes: Option<bool>,
) -> PyResult<(Dataset, Vec<Column>)> {
    let read: Read<'_> = convert(x.py(), "to_data")?.call1((x, y, classes))?.extract()?;
    let Some(columns) = read.columns else {
        let known = match read.class_names {
            None => Known::Numbers(&read.y),
            Some(names) => Known::Classes(labels(&read.y, "y")?, names),
        };
        let data = dataset(&read.x, known, read.names)?;
        let columns = columns_of_numbers(&data, &Numbers::of(&read.x, "input")?);
        return Ok((data, columns));
    };
    let mut table = table(columns)?;
    for (name, kind) in read.kinds {
        let kind = match kind.as_str() {
            "number" => As::Number,
            "category" => As::Category,
            _ => As::Date,
        };
        table = table.treat(&name, kind).or_raise()?;
    }
    let columns = Column::of_table(&table, &read.targets);
    let data = match read.class_names {
        Some(classes) => table.labels(&read.targets[0], &classes),
        None => table.targets(&read.targets.iter().map(String::as_str).collect::<Vec<_>>()),
    };
    Ok((data.or_raise()?, columns))
}

/// The same rows once more, as a fitted model reads them; `labels` where it has classes.
pub(crate) fn as_fitted(
    model: &Ensemble,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    labels: Option<Vec<usize>>,
) -> PyResult<Dataset> {
    let class_names = match (model.output(), model.class_names()) {
        (Output::Classes { classes, .. }, []) => (0..classes).map(|i| i.to_string()).collect(),
        (_, names) => names.to_vec(),
    };
    let known = match labels {
        Some(labels) => Known::Classes(labels, class_names.clone()),
        None => Known::Numbers(y),
    };
    let (Some(columns), Some(preparation)) = (columns_of(x)?, model.preparation()) else {
        return dataset(x, known, None);
    };
    let mut columns = columns.into_iter().map(|(name, cells)| Ok((name, cells.texts()?)));
    let mut columns = columns.by_ref().collect::<PyResult<Vec<(String, Vec<String>)>>>()?;
    let targets = model.output_names();
    columns.retain(|(name, _)| !targets.contains(name));
    match known {
        Known::Classes(labels, names) => {
            let names = labels.iter().map(|&label| names.get(label).cloned().unwrap_or_default());
            columns.push((targets[0].clone(), names.collect()));
        }
        Known::Numbers(y) => {
            let y = Numbers::of(y, "y")?;
            y.rows(targets.len(), "y")?;
            for (i, name) in targets.iter().enumerate() {
                let own = y.data().iter().skip(i).step_by(targets.len());
                columns.push((name.clone(), own.map(text).collect()));
            }
        }
    }
    let table = Table::of_columns(columns).or_raise()?;
    table.as_trained(&preparation, targets, &class_names).or_raise()
}

fn table(columns: Columns<'_>) -> PyResult<Table> {
    let columns = columns.into_iter().map(|(name, cells)| Ok((name, cells.texts()?)));
    Table::of_columns(columns.collect::<PyResult<Vec<_>>>()?).or_raise()
}

/// Rows whose NaNs are missing, with what is known of the columns' names.
fn dataset(
    x: &Bound<'_, PyAny>,
    known: Known<'_, '_>,
    names: Option<(Vec<String>, Vec<String>)>,
) -> PyResult<Dataset> {
    let x = Numbers::of(x, "input")?;
    let width = match *x.shape() {
        [_] => 1,
        [_, ref rest @ ..] => rest.iter().product(),
        [] => return Err(invalid("input", "a single number is not a table")),
    };
    let missing: Vec<bool> = x.data().iter().map(|v| v.is_nan()).collect();
    let filled = x.data().iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
    let x = Matrix::new(filled, width).or_raise()?;
    let mut data = match known {
        Known::Classes(labels, names) => Dataset::with_labels(x, labels, names),
        Known::Numbers(y) => {
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

/// Columns of which all are numbers; targets have no gaps.
fn columns_of_numbers(data: &Dataset, x: &Numbers<'_>) -> Vec<Column> {
    let share = |column: usize| {
        let gaps = x.data().iter().skip(column).step_by(data.width()).filter(|v| v.is_nan());
        gaps.count() as f64 / data.rows() as f64
    };
    let mut missing: Vec<f64> = (0..data.width()).map(share).collect();
    missing.resize(data.width() + data.output_names().len(), 0.0);
    let numbers = Preparation::of_numbers(data.input_names(), Vec::new(), Vec::new());
    Column::of_model(&numbers, data.output_names(), Some(&missing))
}

/// A table from one of its parts that Python needs by itself: the network of the user's own.
pub(crate) fn of_arrays(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    class_names: Option<Vec<String>>,
) -> PyResult<Dataset> {
    let known = match class_names {
        None => Known::Numbers(y),
        Some(names) => Known::Classes(labels(y, "y")?, names),
    };
    dataset(x, known, None)
}

/// With one weight for every row, if there are any.
pub(crate) fn weighted(data: Dataset, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Dataset> {
    match weights {
        Some(weights) => data.with_weights(Numbers::of(weights, "sample_weight")?.data()).or_raise(),
        None => Ok(data),
    }
}

/// One weight for each class: from a dict of those that are not 1, or by how often each occurs.
pub(crate) fn class_weights(given: &Bound<'_, PyAny>, target: &Target) -> PyResult<Vec<f64>> {
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
