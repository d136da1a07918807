//! What a caller wants at the output.

use crate::arrays::{Numbers, labels, squares};
use crate::errors::{OrRaise, invalid};
use pyo3::prelude::*;
use tractable::{
    Matrix, Wanted,
    condition::Extremum,
    network::{Observation, Output},
};

/// A wish, with the arrays it refers to. What is not a number is left free.
pub(crate) struct Wish {
    kind: Kind,
    pub(crate) settings: WishSettings,
}

enum Kind {
    Values { y: Vec<f64>, noise: Option<Vec<f64>>, seen: Option<Vec<bool>>, width: usize },
    Labels(Vec<usize>),
    Other(Vec<usize>),
    Maximum,
    Minimum,
    Stationary,
}

/// Names of the classes, where they have names.
#[derive(Default)]
pub(crate) struct Classes(pub(crate) Option<Vec<String>>);

impl Classes {
    /// Numbers of the classes, from their names as they were in `fit` or, without names, from whole numbers.
    pub(crate) fn of(&self, object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<usize>> {
        match &self.0 {
            Some(names) => {
                let convert = object.py().import("tractable._convert")?;
                labels(&convert.call_method1("to_labels", (object, names, what))?, what)
            }
            None => labels(object, what),
        }
    }
}

/// What else a call says of its wish.
#[derive(Default)]
pub(crate) struct WishSettings {
    pub(crate) output: usize,
    pub(crate) layer: Option<String>,
    pub(crate) known_weights: bool,
    pub(crate) covariance: Option<Matrix>,
    pub(crate) rounds: Option<usize>,
}

impl Wish {
    pub(crate) fn of(
        want: &Bound<'_, PyAny>,
        noise_std: Option<&Bound<'_, PyAny>>,
        output: Output,
        classes: &Classes,
        rows: usize,
        settings: WishSettings,
    ) -> PyResult<Self> {
        let kind = match want.extract::<&str>() {
            Ok("max") => Kind::Maximum,
            Ok("min") => Kind::Minimum,
            Ok("stationary") => Kind::Stationary,
            Ok(_) if classes.0.is_some() => Kind::Labels(classes.of(want, "want")?),
            Ok(other) => {
                return Err(invalid("want", format!("`{other}` is not max, min, stationary or numbers")));
            }
            Err(_) => match output {
                Output::Classes { .. } => Kind::Labels(classes.of(want, "want")?),
                _ => values(want, noise_std, output.units(), rows)?,
            },
        };
        if noise_std.is_some() && !matches!(kind, Kind::Values { .. }) {
            return Err(invalid("noise_std", "is for wanted numbers, not for classes, maxima or minima"));
        }
        Ok(Wish { kind, settings })
    }

    /// Any class except these.
    pub(crate) fn other_than(labels: Vec<usize>, settings: WishSettings) -> Self {
        Wish { kind: Kind::Other(labels), settings }
    }

    pub(crate) fn wanted(&self) -> PyResult<Wanted<'_>> {
        let s = &self.settings;
        let extremum = |mut e: Extremum<'static>| -> Wanted<'_> {
            e = e.output(s.output);
            if s.known_weights {
                e = e.known_weights();
            }
            e.into()
        };
        let mut wanted = match &self.kind {
            Kind::Values { y, noise, seen, width } => {
                let mut observation = Observation::values(y, *width).or_raise()?;
                if let Some(noise) = noise {
                    observation = observation.noise_var(noise);
                }
                if let Some(seen) = seen {
                    observation = observation.seen(seen);
                }
                Wanted::from(observation)
            }
            Kind::Labels(labels) => Wanted::from(&labels[..]),
            Kind::Other(labels) => Wanted::other_than(labels),
            Kind::Maximum => extremum(Wanted::maximum()),
            Kind::Minimum => extremum(Wanted::minimum()),
            Kind::Stationary => extremum(Wanted::stationary()),
        };
        if let Some(layer) = &s.layer {
            wanted = wanted.layer(layer);
        }
        if s.known_weights {
            wanted = wanted.known_weights();
        }
        if let Some(covariance) = &s.covariance {
            wanted = wanted.covariance(covariance);
        }
        if let Some(rounds) = s.rounds {
            wanted = wanted.rounds(rounds);
        }
        Ok(wanted)
    }
}

/// Numbers with their noise; one row stands for all.
fn values(
    y: &Bound<'_, PyAny>,
    noise_std: Option<&Bound<'_, PyAny>>,
    width: usize,
    rows: usize,
) -> PyResult<Kind> {
    let given = Numbers::of(y, "want")?;
    let all = match given.rows(width, "want")? {
        1 => given.data().repeat(rows),
        _ => given.data().to_vec(),
    };
    let noise = noise_std.map(|s| squares(s, all.len() / width, width)).transpose()?;
    let (y, seen) = observed(all);
    Ok(Kind::Values { y, noise, seen, width })
}

/// Numbers, and which of them there are.
pub(crate) fn observed(mut y: Vec<f64>) -> (Vec<f64>, Option<Vec<bool>>) {
    if !y.iter().any(|v| v.is_nan()) {
        return (y, None);
    }
    let seen = y.iter().map(|v| !v.is_nan()).collect();
    y.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
    (y, Some(seen))
}
