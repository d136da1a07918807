//! How the units of an output layer stand for classes: [`Head`], [`ClassUnits`].

use super::{Softmax, Spread, Tree};
use tractable_core::error::{Error, Result};

/// How a network with classes reads them from its output.
///
/// ```
/// use tractable::{Activation, Network, network::Head};
/// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).head(Head::Softmax).build()?;
/// assert_eq!(net.output().units(), 3);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Head {
    /// A binary tree: a class is a path, and every node of it is observed with noise.
    #[default]
    Tree,
    /// A softmax over one unit per class. It has no noise.
    Softmax,
}

impl Head {
    /// Whether it is the tree.
    #[cfg(feature = "files")]
    pub(crate) fn is_tree(&self) -> bool {
        *self == Head::Tree
    }
}

impl std::str::FromStr for Head {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "tree" => Ok(Head::Tree),
            "softmax" => Ok(Head::Softmax),
            _ => Err(Error::invalid("head", format!("`{name}` is not tree or softmax"))),
        }
    }
}

/// The units of an output layer and the classes that they stand for. Made by [`Output::class_units`](super::Output::class_units).
///
/// ```
/// use tractable::{Activation, Network};
/// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).build()?;
/// let units = net.output().class_units()?;
/// let p = units.probabilities(&[2.0, 0.0, 0.0], &[0.1, 1.0, 1.0]);
/// assert!(p[0] > p[2]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassUnits {
    /// Nodes of a tree.
    Tree(Tree),
    /// One unit per class.
    Softmax(Softmax),
}

impl ClassUnits {
    pub(crate) fn new(classes: usize, head: Head) -> Result<Self> {
        let tree = Tree::new(classes)?;
        Ok(match head {
            Head::Tree => ClassUnits::Tree(tree),
            Head::Softmax => ClassUnits::Softmax(Softmax { classes }),
        })
    }

    /// Number of classes.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).build()?;
    /// assert_eq!(net.output().class_units()?.classes(), 3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn classes(&self) -> usize {
        match self {
            ClassUnits::Tree(tree) => tree.classes(),
            ClassUnits::Softmax(softmax) => softmax.classes,
        }
    }

    /// Number of units.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([4, 16, 5], Activation::Relu).classes(5).build()?;
    /// assert_eq!(net.output().class_units()?.units(), 6); // nodes of the tree
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn units(&self) -> usize {
        match self {
            ClassUnits::Tree(tree) => tree.nodes(),
            ClassUnits::Softmax(softmax) => softmax.classes,
        }
    }

    /// Class probabilities from the mean and variance of one sample's output units: T27 of a tree, T90 of a softmax.
    ///
    /// ```
    /// # use tractable::{Activation, Network, network::Head};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).head(Head::Softmax).build()?;
    /// let p = net.output().class_units()?.probabilities(&[2.0, 0.0, 0.0], &[0.1, 1.0, 1.0]);
    /// assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn probabilities(&self, mean: &[f64], var: &[f64]) -> Vec<f64> {
        match self {
            ClassUnits::Tree(tree) => tree.probabilities(mean, var),
            ClassUnits::Softmax(softmax) => softmax.probabilities(mean, var),
        }
    }

    /// The variance of the prediction with these output units, of the model and of the label: T37 of a tree, T93 of a softmax.
    ///
    /// ```
    /// # use tractable::{Activation, Network, network::Head};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).head(Head::Softmax).build()?;
    /// let spread = net.output().class_units()?.spread(&[2.0, 0.0, 1.0], &[0.1, 1.0, 0.5]);
    /// assert!(spread.model > 0.0 && spread.noise > 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn spread(&self, mean: &[f64], var: &[f64]) -> Spread {
        match self {
            ClassUnits::Tree(tree) => tree.spread(mean, var),
            ClassUnits::Softmax(softmax) => softmax.spread(mean, var),
        }
    }

    /// The gradient of `ln P(class)` by the means of the units, at constant variances: T38 of a tree, T94 of a softmax.
    ///
    /// ```
    /// # use tractable::{Activation, Network, network::Head};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).head(Head::Softmax).build()?;
    /// let slope = net.output().class_units()?.ln_gradient(1, &[0.2, -0.1, 0.3], &[0.1; 3]);
    /// assert!(slope[1] > 0.0 && slope[0] < 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn ln_gradient(&self, class: usize, mean: &[f64], var: &[f64]) -> Vec<f64> {
        match self {
            ClassUnits::Tree(tree) => tree.ln_gradient(class, mean, var),
            ClassUnits::Softmax(softmax) => softmax.ln_gradient(class, mean, var),
        }
    }
}
