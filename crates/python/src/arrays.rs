//! Arrays in and out. Arrays of doubles in C order are read where they are; everything else is copied once.

use crate::errors::{OrRaise, shape};
use crate::posterior::{Gaussian, Posterior};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tractable::{Input, Matrix};

/// Doubles in C order.
pub(crate) struct Numbers<'py>(PyReadonlyArrayDyn<'py, f64>);

static CONVERT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

impl<'py> Numbers<'py> {
    /// From an array, a frame, a tensor or lists.
    pub(crate) fn of(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>()
            && array.is_c_contiguous()
        {
            return Ok(Numbers(array.try_readonly()?));
        }
        let py = object.py();
        let convert = CONVERT.get_or_try_init(py, || {
            PyResult::Ok(py.import("tractable._convert")?.getattr("to_numbers")?.unbind())
        })?;
        let array = convert.bind(py).call1((object, what))?;
        Ok(Numbers(array.cast_into::<PyArrayDyn<f64>>().map_err(PyErr::from)?.try_readonly()?))
    }

    pub(crate) fn data(&self) -> &[f64] {
        self.0.as_slice().expect("in C order")
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// The number of rows of this width: one or more dimensions after the first make up a row. A single dimension is
    /// a column where a row has one entry, or else one row.
    pub(crate) fn rows(&self, width: usize, what: &str) -> PyResult<usize> {
        let fits = match *self.shape() {
            [] => (width == 1).then_some(1),
            [n] if width == 1 => Some(n),
            [n] => (n == width).then_some(1),
            [n, ref rest @ ..] => (rest.iter().product::<usize>() == width).then_some(n),
        };
        fits.ok_or_else(|| {
            shape(what, format!("rows of {width}"), format!("an array of shape {:?}", self.shape()))
        })
    }

    pub(crate) fn matrix(&self, width: usize, what: &str) -> PyResult<Matrix> {
        self.rows(width, what)?;
        Matrix::new(self.data().to_vec(), width).or_raise()
    }
}

/// Inputs of a network: numbers, or a mean with standard deviations.
pub(crate) struct Inputs<'py> {
    mean: Mean<'py>,
    var: Option<Vec<f64>>,
    width: usize,
}

enum Mean<'py> {
    Lent(Numbers<'py>),
    Own(Vec<f64>),
}

impl<'py> Inputs<'py> {
    pub(crate) fn of(x: &Bound<'py, PyAny>, std: Option<&Bound<'py, PyAny>>, width: usize) -> PyResult<Self> {
        let gaussian = match x.cast::<Posterior>() {
            Ok(posterior) => Some(posterior.get().0.gaussian().clone()),
            Err(_) => x.cast::<Gaussian>().ok().map(|g| g.get().0.clone()),
        };
        if let Some(g) = gaussian {
            if g.width() != width {
                return Err(shape("input", format!("rows of {width}"), g.width()));
            }
            let mean = Mean::Own(g.mean().to_vec());
            let var = Some(std.map_or_else(|| Ok(g.var().to_vec()), |s| squares(s, g.rows(), width))?);
            return Ok(Inputs { mean, var, width });
        }
        let mean = Numbers::of(x, "input")?;
        let rows = mean.rows(width, "input")?;
        let var = std.map(|s| squares(s, rows, width)).transpose()?;
        Ok(Inputs { mean: Mean::Lent(mean), var, width })
    }

    pub(crate) fn mean(&self) -> &[f64] {
        match &self.mean {
            Mean::Lent(numbers) => numbers.data(),
            Mean::Own(numbers) => numbers,
        }
    }

    pub(crate) fn input(&self) -> PyResult<Input<'_>> {
        match &self.var {
            None => Input::exact(self.mean(), self.width).or_raise(),
            Some(var) => Input::uncertain(self.mean(), var, self.width).or_raise(),
        }
    }

    /// Replaces what is not a number by what the rest of the row says.
    pub(crate) fn filled(
        mut self,
        fill: impl FnOnce(&Matrix, &[bool]) -> tractable::Result<tractable::Gaussian>,
    ) -> PyResult<Self> {
        let missing: Vec<bool> = self.mean().iter().map(|v| v.is_nan()).collect();
        if !missing.contains(&true) {
            return Ok(self);
        }
        let known = self.mean().iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
        let filled = fill(&Matrix::new(known, self.width).or_raise()?, &missing).or_raise()?;
        let mut var = filled.var().to_vec();
        if let Some(own) = &self.var {
            let each = var.iter_mut().zip(own).zip(&missing);
            each.for_each(|((var, own), missing)| *var = if *missing { *var } else { *own });
        }
        self.mean = Mean::Own(filled.mean().to_vec());
        self.var = Some(var);
        Ok(self)
    }
}

/// Variances `[rows, width]` from standard deviations: one for all, one per column, or one per entry.
pub(crate) fn squares(std: &Bound<'_, PyAny>, rows: usize, width: usize) -> PyResult<Vec<f64>> {
    let std = Numbers::of(std, "std")?;
    let (data, n) = (std.data(), rows * width);
    if let Some(bad) = data.iter().find(|s| !(**s >= 0.0 && s.is_finite())) {
        return Err(crate::errors::invalid("std", format!("{bad} is not a standard deviation")));
    }
    match data.len() {
        1 => Ok(vec![data[0] * data[0]; n]),
        len if len == n || (len == width && std.shape().len() == 1) => {
            Ok((0..n).map(|i| data[i % len] * data[i % len]).collect())
        }
        _ => Err(shape("std", format!("1, {width} or {rows} x {width}"), format!("{:?}", std.shape()))),
    }
}

/// A new array of this shape.
pub(crate) fn array<'py>(py: Python<'py>, data: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_vec(py, data);
    match shape {
        [_] => Ok(flat.into_any()),
        _ => Ok(flat.reshape(shape.to_vec())?.into_any()),
    }
}

/// One row after another: `[rows, width]`.
pub(crate) fn rows<'py>(py: Python<'py>, data: Vec<f64>, width: usize) -> PyResult<Bound<'py, PyAny>> {
    let n = data.len() / width.max(1);
    array(py, data, &[n, width])
}

/// Outputs: `[rows]` if there is one, `[rows, width]` otherwise.
pub(crate) fn outputs<'py>(py: Python<'py>, data: Vec<f64>, width: usize) -> PyResult<Bound<'py, PyAny>> {
    if width == 1 { array(py, data, &[0]) } else { rows(py, data, width) }
}

/// Labels: whole numbers from 0.
pub(crate) fn labels(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<usize>> {
    let numbers = Numbers::of(object, what)?;
    if numbers.data().len() != numbers.shape().first().copied().unwrap_or(1) {
        return Err(shape(what, "one label per row", format!("an array of shape {:?}", numbers.shape())));
    }
    let label = |v: &f64| {
        (v.fract() == 0.0 && (0.0..4294967296.0).contains(v)).then_some(*v as usize).ok_or_else(|| {
            crate::errors::invalid(what, format!("{v} is not a class; classes are whole numbers from 0"))
        })
    };
    numbers.data().iter().map(label).collect()
}
