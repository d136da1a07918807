//! What a network has besides its layers, as Python gives it.

use crate::device::device;
use crate::errors::{OrRaise, invalid};
use crate::network::Network;
use pyo3::prelude::*;
use tractable::{
    Noise, Prior,
    network::{NetworkBuilder, Scheme, UpdateRule},
};

/// What a network has besides its layers.
pub(crate) struct Settings<'a> {
    pub(crate) classes: Option<usize>,
    pub(crate) head: &'a str,
    pub(crate) noise: Option<NoiseGiven>,
    pub(crate) gain: f64,
    pub(crate) scheme: Option<&'a str>,
    pub(crate) bias_var: Option<f64>,
    pub(crate) update: Option<UpdateGiven>,
    /// Unless `update` says so.
    pub(crate) usual_rule: UpdateRule,
    pub(crate) seed: u64,
    pub(crate) device: &'a str,
}

#[derive(FromPyObject)]
pub(crate) enum NoiseGiven {
    Name(String),
    One(f64),
    Each(Vec<f64>),
}

#[derive(FromPyObject)]
pub(crate) enum UpdateGiven {
    Name(String),
    Counted(usize),
    Paced(String, usize),
}

impl Settings<'_> {
    pub(crate) fn build(self, mut builder: NetworkBuilder) -> PyResult<Network> {
        builder = builder.head(self.head.parse().or_raise()?);
        if let Some(classes) = self.classes {
            builder = builder.classes(classes);
        }
        builder = match self.noise {
            None if self.classes.is_some() => builder,
            None => builder.noise(Noise::Inferred),
            Some(NoiseGiven::Name(name)) => builder.noise(match name.as_str() {
                "inferred" => Noise::Inferred,
                "per_input" => Noise::PerInput,
                _ => {
                    let why = format!("`{name}` is not inferred, per_input or a standard deviation");
                    return Err(invalid("noise", why));
                }
            }),
            Some(NoiseGiven::One(std)) => builder.noise_std([std]),
            Some(NoiseGiven::Each(std)) => builder.noise_std(std),
        };
        let update = match self.update {
            None => self.usual_rule,
            Some(UpdateGiven::Counted(rows)) => UpdateRule::counted(rows),
            Some(UpdateGiven::Paced(name, rows)) if name == "paced" => UpdateRule::paced(rows),
            Some(UpdateGiven::Paced(name, _)) => {
                let why = format!("(`{name}`, rows) is not (`paced`, rows)");
                return Err(invalid("update", why));
            }
            Some(UpdateGiven::Name(name)) => match name.as_str() {
                "capped" => UpdateRule::Capped,
                "plain" => UpdateRule::Plain,
                _ => {
                    let why = format!(
                        "`{name}` is not capped, plain, (paced, rows) or the number of rows to count"
                    );
                    return Err(invalid("update", why));
                }
            },
        };
        let usual_scheme = if let UpdateRule::Paced { .. } = update { "even" } else { "he" };
        let mut prior = match self.scheme.unwrap_or(usual_scheme) {
            "he" => Prior::he(),
            "xavier" => Prior { scheme: Scheme::Xavier, ..Prior::he() },
            "even" => Prior::deep(),
            other => return Err(invalid("scheme", format!("`{other}` is not he, xavier or even"))),
        };
        prior = prior.gain(self.gain);
        if let Some(var) = self.bias_var {
            prior = prior.bias_var(var);
        }
        let device = device(self.device)?;
        let built = builder.prior(prior).update_rule(update).seed(self.seed).device(device).build();
        Ok(built.or_raise()?.into())
    }
}
