//! The activations: one table, from which devices, files, the command line and Python take them.

use super::derivative::Curve;
use super::{Moments, Real, identity, leaky_relu, mixture_relu, relu, sigmoid, softplus, tanh};
use crate::error::{Error, Result};

/// Makes everything that depends on the list from the table below.
macro_rules! activations {
    ($(
        $(#[$doc:meta])*
        $variant:ident $({ $(#[$of_parameter:meta])* $parameter:ident = $default:literal })?
            = $name:ident, curved: $curved:literal, |$mu_z:pat_param, $var_z:pat_param, $a:pat_param| $curve:expr;
    )*) => {
        /// The nonlinearity between two layers.
        ///
        /// All except [`Activation::MixtureRelu`] are linearised at the mean; that one has the exact mean and variance
        /// of `max(0, z)` for a Gaussian `z`.
        ///
        /// ```
        /// use tractable::Activation;
        /// let a = Activation::MixtureRelu.moments(0.0, 1.0);
        /// assert!((a.mean - 0.3989422804014327_f64).abs() < 1e-15); // 1/sqrt(2 pi)
        /// assert!((a.slope - 0.5).abs() < 1e-15);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
        pub enum Activation {
            $( $(#[$doc])* $variant $({ $(#[$of_parameter])* $parameter: f64 })?, )*
        }

        impl Activation {
            /// All of them, in the order of the CUDA kernels, with the usual parameter.
            ///
            /// ```
            /// assert!(tractable::Activation::ALL.contains(&tractable::Activation::Tanh));
            /// ```
            pub const ALL: &[Activation] = &[$( Activation::$variant $({ $parameter: $default })? ),*];

            /// Mean and variance of the activation of `z ~ N(mu_z, var_z)`, and its slope cov(a, z)/var(z).
            ///
            /// ```
            /// let a = tractable::Activation::Relu.moments(2.0_f64, 0.5);
            /// assert_eq!((a.mean, a.var, a.slope), (2.0, 0.5, 1.0));
            /// ```
            pub fn moments<R: Real>(self, mu_z: R, var_z: R) -> Moments<R> {
                match self {
                    $( Activation::$variant $({ $parameter })? =>
                        $name::moments(mu_z, var_z $(, R::from_f64($parameter))?), )*
                }
            }

            /// Moments of the slope `phi'(z)` of `z ~ N(mu_z, var_z)`, given those of the activation itself.
            ///
            /// ```
            /// use tractable::Activation;
            /// let a = Activation::Relu.moments(2.0, 0.5);
            /// assert_eq!(Activation::Relu.curve(2.0, 0.5, a).mean, 1.0);
            /// ```
            #[inline(always)]
            pub fn curve<R: Real>(self, mu_z: R, var_z: R, a: Moments<R>) -> Curve<R> {
                match self {
                    $( Activation::$variant { .. } => {
                        let ($mu_z, $var_z, $a) = (mu_z, var_z, a);
                        $curve
                    } )*
                }
            }

            /// Compiles `work` for the formulae of every activation, and runs it with those of this one.
            ///
            /// ```
            /// use tractable::moments::{Formulae, Moments};
            /// use tractable::{Activation, moments::derivative::Curve};
            /// struct Mean(f32);
            /// impl Formulae<f32> for Mean {
            ///     type Output = f32;
            ///     fn with(
            ///         self,
            ///         moments: impl Fn(f32, f32) -> Moments<f32>,
            ///         _: impl Fn(f32, f32, Moments<f32>) -> Curve<f32>,
            ///     ) -> f32 {
            ///         moments(self.0, 0.0).mean
            ///     }
            /// }
            /// assert_eq!(Activation::Relu.run(Mean(2.0)), 2.0);
            /// ```
            #[inline(always)]
            pub fn run<R: Real, F: Formulae<R>>(self, work: F) -> F::Output {
                match self {
                    $( Activation::$variant $({ $parameter })? => work.with(
                        #[inline(always)]
                        move |mu_z, var_z| $name::moments(mu_z, var_z $(, R::from_f64($parameter))?),
                        #[inline(always)]
                        |$mu_z, $var_z, $a| $curve,
                    ), )*
                }
            }

            /// Whether its slope depends on `z`. If neither a layer's activation nor the next one's is curved, a
            /// derivative has no covariance with the layer.
            ///
            /// ```
            /// use tractable::Activation;
            /// assert!(Activation::Tanh.is_curved() && !Activation::Relu.is_curved());
            /// ```
            pub fn is_curved(self) -> bool {
                match self { $( Activation::$variant { .. } => $curved, )* }
            }

            /// The name used on the command line and in layer names.
            ///
            /// ```
            /// assert_eq!(tractable::Activation::MixtureRelu.name(), "mixture_relu");
            /// ```
            pub fn name(self) -> &'static str {
                match self { $( Activation::$variant { .. } => stringify!($name), )* }
            }

            /// Its parameter, if it has one.
            ///
            /// ```
            /// use tractable::Activation;
            /// assert_eq!(Activation::LeakyRelu { slope: 0.2 }.parameter(), Some(0.2));
            /// assert_eq!(Activation::Tanh.parameter(), None);
            /// ```
            pub fn parameter(mut self) -> Option<f64> {
                self.parameter_mut().copied()
            }

            /// The same with another parameter; `None` if it has none.
            ///
            /// ```
            /// use tractable::Activation;
            /// let leaky: Activation = "leaky_relu".parse()?;
            /// assert_eq!(leaky.with_parameter(0.2), Some(Activation::LeakyRelu { slope: 0.2 }));
            /// # Ok::<(), tractable::Error>(())
            /// ```
            pub fn with_parameter(mut self, value: f64) -> Option<Self> {
                *self.parameter_mut()? = value;
                Some(self)
            }

            fn parameter_mut(&mut self) -> Option<&mut f64> {
                match self { $( Activation::$variant $({ $parameter })? => [$( $parameter )?].into_iter().next(), )* }
            }
        }
    };
}

activations! {
    /// `z`
    Identity = identity, curved: false, |_, _, _| Curve::straight(R::ONE);
    /// `max(0, z)`, linearised: a unit with a negative mean is off.
    Relu = relu, curved: false, |_, _, a| Curve::straight(a.slope);
    /// `z` above zero, `slope * z` below, linearised.
    LeakyRelu {
        /// Slope below zero.
        slope = 0.1
    } = leaky_relu, curved: false, |_, _, a| Curve::straight(a.slope);
    /// `tanh z`, linearised.
    Tanh = tanh, curved: true, |_, var_z, a| tanh::curve(a, var_z);
    /// `1/(1 + exp(-z))`, linearised.
    Sigmoid = sigmoid, curved: true, |_, var_z, a| sigmoid::curve(a, var_z);
    /// `ln(1 + exp z)`, linearised.
    Softplus = softplus, curved: true, |_, var_z, a| softplus::curve(a, var_z);
    /// `max(0, z)` with the exact moments of a rectified Gaussian.
    MixtureRelu = mixture_relu, curved: true, |mu_z, var_z, a| mixture_relu::curve(mu_z, var_z, a);
}

/// Work that is compiled for the formulae of every activation; see [`Activation::run`].
pub trait Formulae<R> {
    /// What it returns.
    type Output;
    /// Does it, given [`Activation::moments`] and [`Activation::curve`].
    fn with(
        self,
        moments: impl Fn(R, R) -> Moments<R> + Sync,
        curve: impl Fn(R, R, Moments<R>) -> Curve<R>,
    ) -> Self::Output;
}

impl Activation {
    /// Names of those that are `wanted`, as in "tanh, sigmoid or softplus".
    ///
    /// ```
    /// use tractable::Activation;
    /// assert_eq!(Activation::names(|a| !a.is_curved()), "identity, relu or leaky_relu");
    /// ```
    pub fn names(wanted: impl Fn(Activation) -> bool) -> String {
        let names: Vec<_> = Self::ALL.iter().filter(|a| wanted(**a)).map(|a| a.name()).collect();
        match &names[..] {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            names => names.concat(),
        }
    }
}

impl std::str::FromStr for Activation {
    type Err = Error;

    /// Reads a [name](Activation::name); `leaky_relu` gets the slope 0.1.
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|a| a.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|a| a.name()).collect();
            Error::invalid("activation", format!("`{name}` is not known; use one of {}", names.join(", ")))
        })
    }
}
