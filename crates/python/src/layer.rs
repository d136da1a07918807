//! Layers by the names that they have in Rust.

use crate::errors::{OrRaise, invalid};
use pyo3::prelude::*;
use tractable::{Activation, Layer as Kind, network::Node};

/// A layer of a network: Layer.conv2d(32, 4).padding(1), Layer.linear(100), or the name of an activation.
#[pyclass(frozen, module = "tractable")]
#[derive(Clone)]
pub(crate) struct Layer {
    kind: Kind,
    name: Option<String>,
    inputs: Option<Vec<String>>,
}

impl From<Kind> for Layer {
    fn from(kind: Kind) -> Self {
        Layer { kind, name: None, inputs: None }
    }
}

impl Layer {
    pub(crate) fn node(&self) -> Node {
        let node = match &self.inputs {
            Some(inputs) => self.kind.of(inputs.clone()),
            None => self.kind.into(),
        };
        match &self.name {
            Some(name) => node.named(name.clone()),
            None => node,
        }
    }

    /// A layer, or an activation by name.
    pub(crate) fn given(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.cast::<Layer>() {
            Ok(layer) => Ok(layer.get().clone()),
            Err(_) => Ok(Kind::from(object.extract::<String>()?.parse::<Activation>().or_raise()?).into()),
        }
    }

    fn windowed(&self, change: impl FnOnce(Kind) -> Kind) -> PyResult<Self> {
        match self.kind {
            Kind::Conv2d { .. } | Kind::AvgPool2d { .. } | Kind::MaxPool2d { .. } => {
                Ok(Layer { kind: change(self.kind), ..self.clone() })
            }
            _ => Err(invalid("layer", format!("`{}` has no window", self.kind.kind()))),
        }
    }
}

#[pymethods]
impl Layer {
    /// A dense layer.
    #[staticmethod]
    fn linear(outputs: usize) -> Self {
        Kind::linear(outputs).into()
    }

    /// A convolution with square kernels, stride 1, no padding.
    #[staticmethod]
    fn conv2d(channels: usize, kernel: usize) -> Self {
        Kind::conv2d(channels, kernel).into()
    }

    /// Averages over windows, stride 1.
    #[staticmethod]
    fn avg_pool2d(kernel: usize) -> Self {
        Kind::avg_pool2d(kernel).into()
    }

    /// The largest mean of every window, stride 1.
    #[staticmethod]
    fn max_pool2d(kernel: usize) -> Self {
        Kind::max_pool2d(kernel).into()
    }

    /// Standardises every channel, then scales and shifts it.
    #[staticmethod]
    fn batch_norm() -> Self {
        Kind::batch_norm().into()
    }

    /// An activation by name.
    #[staticmethod]
    #[pyo3(signature = (name, slope=None))]
    fn activation(name: &str, slope: Option<f64>) -> PyResult<Self> {
        let function: Activation = name.parse().or_raise()?;
        let function = match slope {
            None => function,
            Some(slope) => function
                .with_parameter(slope)
                .ok_or_else(|| invalid("slope", format!("`{name}` has none")))?,
        };
        Ok(Kind::from(function).into())
    }

    /// The sum of several layers; of() names them.
    #[staticmethod]
    fn add() -> Self {
        Kind::Add.into()
    }

    /// The distance between windows.
    fn stride(&self, stride: usize) -> PyResult<Self> {
        self.windowed(|kind| kind.stride(stride))
    }

    /// Zeros on every side.
    fn padding(&self, zeros: usize) -> PyResult<Self> {
        self.windowed(|kind| kind.padding(zeros))
    }

    /// Zeros at the right and at the bottom only.
    fn end_padding(&self, zeros: usize) -> PyResult<Self> {
        self.windowed(|kind| kind.end_padding(zeros))
    }

    /// A convolution without biases.
    fn without_bias(&self) -> PyResult<Self> {
        match self.kind {
            Kind::Conv2d { .. } => Ok(Layer { kind: self.kind.without_bias(), ..self.clone() }),
            _ => Err(invalid("layer", format!("`{}` always has what it has", self.kind.kind()))),
        }
    }

    /// A name, for condition() and of().
    fn named(&self, name: String) -> Self {
        Layer { name: Some(name), ..self.clone() }
    }

    /// The layers it reads, by name, instead of the one before it.
    #[pyo3(signature = (*names))]
    fn of(&self, names: Vec<String>) -> Self {
        Layer { inputs: Some(names), ..self.clone() }
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_ref().map_or(String::new(), |n| format!(" named {n}"));
        let inputs = self.inputs.as_ref().map_or(String::new(), |i| format!(" of {}", i.join(", ")));
        format!("<Layer {}{name}{inputs}>", self.kind.kind())
    }
}
