//! A model of one fold of a candidate: lines or Gaussian processes in closed form, one for every output, or a network.

use super::folds::NONE;
use super::line::Line;
use super::process::Process;
use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Input};
use tractable_network::network::Network;
use tractable_network::output::{Observation, Parts};

pub(super) struct Member {
    /// Of a closed form, a network without hidden layers that knows the names and units.
    pub(super) net: Network,
    pub(super) form: Form,
    /// The fold that it has not learned from; `NONE` if it has learned from all rows.
    pub(super) fold: usize,
    /// Against the other models of its candidate.
    pub(super) weight: f64,
}

pub(super) enum Form {
    Network,
    Lines(Vec<Line>),
    Processes(Vec<Process>),
}

impl Form {
    /// The Gaussian processes that it is.
    pub(super) fn processes(&self) -> &[Process] {
        if let Form::Processes(all) = self { all } else { &[] }
    }
}

/// What one model says of one number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    mean: f64,
    doubt: f64,
    noise: [f64; 2],
}

/// Mean and doubt of every row, and the noise of all.
type Exact = ([Vec<f64>; 2], f64);

impl Member {
    pub(super) fn new(net: Network, form: Form, fold: usize, weight: f64) -> Result<Self> {
        let mut member = Member { net, form, fold, weight };
        member.show_lines()?;
        Ok(member)
    }

    /// Gives the network the weights and the noise of the lines.
    fn show_lines(&mut self) -> Result<()> {
        let Form::Lines(lines) = &self.form else { return Ok(()) };
        let inputs = self.net.input().len();
        let (mut mean, mut var, mut bias, mut bias_var) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            let vars = line.vars();
            mean.extend(&line.weights[..inputs]);
            var.extend(&vars[..inputs]);
            bias.push(line.weights[inputs]);
            bias_var.push(vars[inputs]);
        }
        set_weights(&mut self.net, [mean, var], [bias, bias_var])?;
        self.net.set_noise_std(lines.iter().map(|line| line.noise().sqrt()))
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        let form = match &self.form {
            Form::Network => Form::Network,
            Form::Lines(lines) => Form::Lines(lines.clone()),
            Form::Processes(processes) => Form::Processes(processes.clone()),
        };
        Ok(Member { net: self.net.try_clone()?, form, fold: self.fold, weight: self.weight })
    }

    /// Whether it has learned all rows, and can be made anew without one fold or another.
    pub(super) fn knows_folds(&self) -> bool {
        self.fold == NONE && !self.is_network()
    }

    pub(super) fn is_network(&self) -> bool {
        matches!(self.form, Form::Network)
    }

    /// In standardised units, `[rows, width]`, for exact inputs; without the doubt of Gaussian processes if it is not asked for.
    pub(super) fn say(&self, x: Input<'_>, doubt: bool) -> Result<Vec<Said>> {
        let units = self.net.output().units();
        let standard = || scaled(self.net.input_scaler(), x.mean());
        let closed = |predict: &dyn Fn(usize, &[f64]) -> Exact| {
            let (x, mut said) = (standard(), vec![Said::default(); x.rows() * units]);
            for output in 0..units {
                let ([mean, doubt], noise) = predict(output, &x);
                let rows = said[output..].iter_mut().step_by(units).zip(mean).zip(doubt);
                rows.for_each(|((said, mean), doubt)| *said = Said { mean, doubt, noise: [noise; 2] });
            }
            Ok(said)
        };
        match &self.form {
            Form::Network => {
                let [mean, doubt, noise] = self.net.predict_standard(x)?;
                let std = self.net.noise_std();
                let said = |i: usize| Said {
                    mean: mean[i],
                    doubt: doubt[i],
                    noise: [noise[i], std[i % units % std.len()].powi(2)],
                };
                Ok((0..mean.len()).map(said).collect())
            }
            Form::Lines(lines) => closed(&|output, x| (lines[output].predict(x), lines[output].noise())),
            Form::Processes(processes) => {
                closed(&|output, x| (processes[output].predict(x, doubt), processes[output].noise()))
            }
        }
    }

    /// Learns one row.
    pub(super) fn learn(&mut self, x: Input<'_>, seen: Observation<'_>) -> Result<()> {
        self.net.count_one_more();
        if let Form::Network = self.form {
            return self.net.learn(x, seen).map(|_| ());
        }
        let (y, known) = seen.entries();
        let (x, y) = (scaled(self.net.input_scaler(), x.mean()), scaled(self.net.output_scaler(), y));
        let known = |output: &usize| known.is_none_or(|known| known[*output]);
        for output in (0..y.len()).filter(known) {
            match &mut self.form {
                Form::Lines(lines) => lines[output].learn(&x, y[output]),
                Form::Processes(processes) => processes[output].learn(&x, y[output]),
                Form::Network => {}
            }
        }
        self.show_lines()
    }

    /// Counts what was learned less.
    pub(super) fn discount(&mut self, factor: f64) -> Result<()> {
        self.net.discount(factor)?;
        self.net.count_fewer(factor);
        match &mut self.form {
            Form::Lines(lines) => lines.iter_mut().for_each(|line| line.discount(factor)),
            Form::Processes(processes) => processes.iter_mut().for_each(|p| p.discount(factor)),
            Form::Network => {}
        }
        self.show_lines()
    }
}

/// Of a network without hidden layers: mean and variance of its weights and of its biases.
pub(super) fn set_weights(net: &mut Network, weights: [Vec<f64>; 2], biases: [Vec<f64>; 2]) -> Result<()> {
    let (inputs, units) = (net.input().len(), biases[0].len());
    let [[mean, var], [bias, bias_var]] = [weights, biases];
    let layer = net.layer_names()[0].clone();
    net.set_weights(&layer, &Gaussian::new(mean, var, inputs)?, &Gaussian::new(bias, bias_var, units)?)
}

pub(super) fn scaled(scaler: Option<&tractable_data::Scaler>, v: &[f64]) -> Vec<f64> {
    scaler.map_or_else(|| v.to_vec(), |s| s.apply(v))
}

/// What several models say together, each with a weight; the weights add up to 1.
pub(super) fn together(said: &[(f64, Vec<Said>)]) -> Vec<Parts> {
    let squares: f64 = said.iter().map(|(w, _)| w * w).sum();
    let entries = said.first().map_or(0, |(_, s)| s.len());
    let entry = |i: usize| {
        let sum = |f: &dyn Fn(&Said) -> f64| said.iter().map(|(w, s)| w * f(&s[i])).sum::<f64>();
        let mean = sum(&|s| s.mean);
        // A weighted variance of a sample; of one model there is none.
        let between = if squares < 1.0 { sum(&|s| (s.mean - mean).powi(2)) / (1.0 - squares) } else { 0.0 };
        let noise = [sum(&|s| s.noise[0]), sum(&|s| s.noise[1])];
        Parts { mean, between, doubt: sum(&|s| s.doubt), noise, open: 0.0 }
    };
    (0..entries).map(entry).collect()
}
