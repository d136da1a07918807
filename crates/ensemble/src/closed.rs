//! Candidates in closed form: from rows to lines and Gaussian processes, one for every output.

use super::candidate::Candidate;
use super::folds::{FOLDS, Folds, NONE};
use super::line::Line;
use super::member::{Form, Member, scaled};
use super::process::{Kernel, Process, Readings, Told};
use std::sync::Arc;
use tractable_core::error::Result;
use tractable_core::team::Team;
use tractable_data::{Dataset, Target};
use tractable_network::network::Network;

/// The rows in which an output is known, its values and weights: standardised as a network does it, values as logarithms if it learns these.
fn rows(net: &Network, log: bool, data: &Dataset, output: usize) -> Told {
    let Target::Values { y, observed } = data.target() else { unreachable!("the target is numbers") };
    let (inputs, width) = (data.width(), y.width());
    let seen = |row: &usize| {
        observed.as_ref().is_none_or(|o| o[row * width + output])
            && data.weights().is_none_or(|w| w[*row] > 0.0)
    };
    let rows: Vec<usize> = (0..data.rows()).filter(seen).collect();
    let x = scaled(net.input_scaler(), data.x().data());
    let x = rows.iter().flat_map(|r| &x[r * inputs..(r + 1) * inputs]).copied().collect();
    let [mean, std] = net.output_scaler().map_or([0.0, 1.0], |s| [s.mean()[output], s.std()[output]]);
    let value = |row: &usize| {
        let y = y.row(*row)[output];
        ((if log { libm::log(y) } else { y }) - mean) / std
    };
    let weights = data.weights().map(|w| rows.iter().map(|r| w[*r]).collect());
    Told { x, y: rows.iter().map(value).collect(), weights }
}

fn outputs(net: &Network) -> std::ops::Range<usize> {
    0..net.output().units()
}

/// A line through each output.
pub(super) fn lines(net: &Network, log: bool, data: &Dataset) -> Form {
    let line = |output: usize| {
        let Told { x, y, weights } = rows(net, log, data, output);
        Line::fit(&x, &y, weights.as_deref(), data.width())
    };
    Form::Lines(outputs(net).map(line).collect())
}

/// How the rows are read by Gaussian processes.
pub(super) fn readings(x: &[f64], data: &Dataset) -> Arc<Readings> {
    #[cfg(feature = "csv")]
    let widths: Option<Vec<usize>> = data.preparation().map(|p| {
        let width = |name: &str| p.column(name).map_or(0, |(inputs, _)| inputs.len());
        p.columns().map(width).filter(|w| *w > 0).collect()
    });
    #[cfg(not(feature = "csv"))]
    let widths: Option<Vec<usize>> = None;
    let widths = widths.unwrap_or_else(|| vec![1; data.width()]);
    let groups = widths.iter().enumerate().flat_map(|(column, width)| vec![column; *width]);
    Arc::new(Readings::fit(x, groups.collect()))
}

/// The kernels that these rows lead to, one for every output; `from` suits similar rows.
pub(super) fn kernels(
    net: &Network,
    log: bool,
    data: &Dataset,
    readings: &Readings,
    from: Option<&Form>,
    mut go_on: impl FnMut() -> bool,
) -> Vec<Kernel> {
    let kernel = |output: usize| {
        let from = match from {
            Some(Form::Processes(processes)) => Some(&processes[output].kernel),
            _ => None,
        };
        Process::tuned(readings, &rows(net, log, data, output), log, from, net.seed(), &mut go_on)
    };
    outputs(net).map(kernel).collect()
}

/// Gaussian processes with these kernels.
pub(super) fn processes(
    net: &Network,
    log: bool,
    data: &Dataset,
    readings: &Arc<Readings>,
    kernels: &[Kernel],
    seed: u64,
) -> Form {
    let process = |output: usize| {
        let told = rows(net, log, data, output);
        Process::fit(readings.clone(), &told, log, kernels[output].clone(), seed)
    };
    Form::Processes(outputs(net).map(process).collect())
}

impl Candidate {
    /// Closed forms that have been calibrated learn all rows; Gaussian processes with the mean of the kernels of all folds.
    pub(super) fn complete(&mut self, data: &Dataset, seed: u64) -> Result<()> {
        if self.members[0].is_network() {
            return Ok(());
        }
        let of_folds: Vec<&[Process]> =
            self.members.iter().filter(|m| m.fold != NONE).map(|m| m.form.processes()).collect();
        let own = |output: usize| of_folds.iter().map(|of| of[output].kernel.clone()).collect::<Vec<_>>();
        let (net, first) = (self.members[0].net.try_clone()?, self.members[0].form.processes());
        let mut form = match first {
            [] => lines(&net, self.log, data),
            [first, ..] => {
                let kernels: Vec<Kernel> = outputs(&net).map(|o| Kernel::mean(&own(o))).collect();
                processes(&net, self.log, data, &first.readings, &kernels, seed)
            }
        };
        if let Form::Processes(all) = &mut form {
            all.iter_mut().enumerate().for_each(|(output, p)| p.of_folds = own(output));
        }
        self.members = vec![Member::new(net, form, NONE, 1.0)?];
        Ok(())
    }

    /// The same with closed forms that leave folds out, from the rows that it was fitted to.
    pub(super) fn of_folds(&self, data: &Dataset, folds: &Folds, seed: u64, team: &Team) -> Result<Self> {
        let mut copy = self.try_clone()?;
        let member = &self.members[0];
        if !member.knows_folds() {
            return Ok(copy);
        }
        let of_fold = |fold: usize| {
            let (part, net) = (data.select(&folds.rows(fold, false))?, member.net.try_clone()?);
            let form = match member.form.processes() {
                [] => lines(&net, self.log, &part),
                all => {
                    let kernels: Vec<Kernel> = all.iter().map(|p| p.of_folds[fold].clone()).collect();
                    processes(&net, self.log, &part, &all[0].readings, &kernels, seed)
                }
            };
            Member::new(net, form, fold, 1.0)
        };
        copy.members = team.map(FOLDS, of_fold).into_iter().collect::<Result<_>>()?;
        Ok(copy)
    }
}
