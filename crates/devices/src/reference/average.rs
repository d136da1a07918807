//! Averages of parameters on the reference device.

use super::Reference;
use super::parts::{Norm, Scratch, Weights};
use crate::{Averages, Noted, Parameters};

impl Averages for Reference {
    fn map_average(&self, latest: &Weights, average: &mut Weights, share: f64, status: &mut Noted) {
        if status.broken.is_none() {
            follow(&latest.p, &mut average.p, share);
        }
    }

    fn normalize_average(&self, latest: &Norm, average: &mut Norm, share: f64, status: &mut Noted) {
        if status.broken.is_none() {
            follow(&latest.p, &mut average.p, share);
            average.running.clone_from(&latest.running);
        }
    }

    fn normalize_restate(&self, norm: &mut Norm, scratch: &Scratch, share: f64) {
        norm.running.restate(&scratch.mean, &scratch.var, share);
    }
}

fn follow(latest: &Parameters, average: &mut Parameters, share: f64) {
    for (latest, average) in [(&latest.mean, &mut average.mean), (&latest.bias_mean, &mut average.bias_mean)]
    {
        for (latest, average) in latest.iter().zip(average) {
            *average = if share < 1.0 { *average + share * (latest - *average) } else { *latest }; // T81
        }
    }
    average.var.clone_from(&latest.var);
    average.bias_var.clone_from(&latest.bias_var);
}
