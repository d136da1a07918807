//! One network of a candidate: the fold it has not learned from, and how unsure it is away from its data.

use super::line::Line;
use super::outside::{Outside, ROWS};
use std::sync::{Arc, OnceLock};
use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Input};
use tractable_core::rng::{self, Rng};
use tractable_network::network::Network;
use tractable_network::output::{Observation, Parts};

pub(super) struct Member {
    pub(super) net: Network,
    pub(super) fold: usize,
    /// Against the other networks of its candidate.
    pub(super) weight: f64,
    /// One entry per output; none of classes.
    pub(super) kept: Vec<Kept>,
    /// Of a line, one entry per output: the network's weights, jointly.
    pub(super) lines: Vec<Line>,
    /// What `outside` is made from, if the network has learned since.
    pub(super) before: Option<Arc<Before>>,
    /// Rows learned since.
    pub(super) since: usize,
    /// Worked out from the rows that are kept when it is first asked for.
    outside: OnceLock<Arc<Vec<Outside>>>,
}

/// A network and the rows that stand for all of its rows, as they were. Working [`Outside`] out anew takes as long as learning
/// hundreds of rows, so it waits until there are a twentieth more of them.
pub(super) struct Before {
    pub(super) net: Network,
    pub(super) kept: Vec<Kept>,
}

const RENEW_AFTER: usize = 20;

/// Rows that [`Outside`] is made from, in the network's units.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) of_rows: usize,
}

/// What one network says of one number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    mean: f64,
    doubt: f64,
    noise: [f64; 2],
}

impl Member {
    pub(super) fn new(net: Network, fold: usize, weight: f64, kept: Vec<Kept>) -> Self {
        let (lines, outside) = (Vec::new(), OnceLock::new());
        Member { net, fold, weight, kept, lines, before: None, since: 0, outside }
    }

    /// Lines, and a network that has their weights.
    pub(super) fn of_lines(net: Network, fold: usize, weight: f64, lines: Vec<Line>) -> Result<Self> {
        let mut member = Member { lines, ..Member::new(net, fold, weight, Vec::new()) };
        member.show_lines()?;
        Ok(member)
    }

    /// Gives the network the weights and the noise of the lines.
    fn show_lines(&mut self) -> Result<()> {
        let inputs = self.net.input().len();
        let (mut mean, mut var, mut bias, mut bias_var) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for line in &self.lines {
            let vars = line.vars();
            mean.extend(&line.weights[..inputs]);
            var.extend(&vars[..inputs]);
            bias.push(line.weights[inputs]);
            bias_var.push(vars[inputs]);
        }
        let layer = self.net.layer_names()[0].clone();
        let (weights, biases) =
            (Gaussian::new(mean, var, inputs)?, Gaussian::new(bias, bias_var, self.lines.len())?);
        self.net.set_weights(&layer, &weights, &biases)?;
        self.net.set_noise_std(self.lines.iter().map(|line| line.noise().sqrt()))
    }

    fn say_lines(&self, x: Input<'_>) -> Vec<Said> {
        let x = (scaled(self.net.input_scaler(), x.mean()), x.width());
        let one = |(at, line): (&[f64], &Line)| {
            let [mean, doubt] = line.predict(at);
            Said { mean, doubt, noise: [line.noise(); 2] }
        };
        x.0.chunks_exact(x.1).flat_map(|at| self.lines.iter().map(move |line| one((at, line)))).collect()
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(Member {
            lines: self.lines.clone(),
            before: self.before.clone(),
            since: self.since,
            outside: self.outside.clone(),
            ..Member::new(self.net.try_clone()?, self.fold, self.weight, self.kept.clone())
        })
    }

    fn outside(&self) -> Result<&[Outside]> {
        if let Some(known) = self.outside.get() {
            return Ok(known);
        }
        let (net, kept) = self.as_it_was();
        let make = |(output, k): (usize, &Kept)| {
            let std = net.noise_std()[output % net.noise_std().len()];
            Outside::new(net, &k.x, &k.y, output, std * std, k.of_rows)
        };
        let made = kept.iter().enumerate().map(make).collect::<Result<Vec<_>>>()?;
        Ok(self.outside.get_or_init(|| Arc::new(made)))
    }

    /// What its uncertainty away from the data is made from.
    fn as_it_was(&self) -> (&Network, &[Kept]) {
        self.before.as_ref().map_or((&self.net, &self.kept), |b| (&b.net, &b.kept))
    }

    /// Notes that as much as these rows is about to change.
    fn changing(&mut self, rows: usize) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        self.since = self.since.saturating_add(rows);
        if self.before.is_none() {
            self.before = Some(Arc::new(Before { net: self.net.try_clone()?, kept: self.kept.clone() }));
        }
        Ok(())
    }

    /// Has the uncertainty away from the data worked out anew once enough has changed.
    fn changed(&mut self) {
        if self.kept.iter().any(|kept| self.since.saturating_mul(RENEW_AFTER) >= kept.of_rows) {
            (self.before, self.since, self.outside) = (None, 0, OnceLock::new());
        }
    }

    /// In standardised units, `[rows, width]`, for exact inputs. The doubt (weight uncertainty) is computed from all weights together if rows were
    /// kept, otherwise from a pass, by rows or with independent units.
    pub(super) fn say(&self, x: Input<'_>, by_rows: bool) -> Result<Vec<Said>> {
        if !self.lines.is_empty() {
            return Ok(self.say_lines(x));
        }
        let [mean, mut doubt, noise] = match by_rows {
            true => self.net.predict_with_covariances(x)?,
            false => self.net.predict_standard(x)?,
        };
        let units = self.net.output().units();
        let standard = self.net.input_scaler().map(|s| s.apply(x.mean()));
        let at = standard.as_deref().unwrap_or(x.mean());
        for (output, outside) in self.outside()?.iter().enumerate() {
            let var = outside.var(self.as_it_was().0, at)?;
            var.iter().enumerate().for_each(|(row, v)| doubt[row * units + output] = *v);
        }
        let std = self.net.noise_std();
        let said = |i: usize| Said {
            mean: mean[i],
            doubt: doubt[i],
            noise: [noise[i], std[i % units % std.len()].powi(2)],
        };
        Ok((0..mean.len()).map(said).collect())
    }

    /// Learns one row, and keeps it with a probability that makes all rows equally likely to be kept.
    pub(super) fn learn(&mut self, x: Input<'_>, seen: Observation<'_>) -> Result<()> {
        self.changing(1)?;
        self.net.count_one_more();
        let (y, known) = seen.entries();
        if self.lines.is_empty() {
            self.net.learn(x, seen)?;
        }
        let (x, y) = (scaled(self.net.input_scaler(), x.mean()), scaled(self.net.output_scaler(), y));
        if !self.lines.is_empty() {
            for (output, line) in self.lines.iter_mut().enumerate() {
                if known.is_none_or(|known| known[output]) {
                    line.learn(&x, y[output]);
                }
            }
            return self.show_lines();
        }
        for (output, kept) in self.kept.iter_mut().enumerate() {
            if known.is_some_and(|known| !known[output]) {
                continue;
            }
            kept.of_rows = kept.of_rows.saturating_add(1);
            if kept.y.len() < ROWS {
                kept.x.extend(&x);
                kept.y.push(y[output]);
                continue;
            }
            let mut random = rng::stream(self.net.seed(), "kept", kept.of_rows as u64);
            let at = random.next_u64() as usize % kept.of_rows;
            if let Some(old) = kept.y.get_mut(at) {
                *old = y[output];
                kept.x[at * x.len()..(at + 1) * x.len()].copy_from_slice(&x);
            }
        }
        self.changed();
        Ok(())
    }

    /// Counts what was learned less.
    pub(super) fn discount(&mut self, factor: f64) -> Result<()> {
        let rows = self.kept.iter().map(|kept| kept.of_rows).max().unwrap_or(0) as f64;
        self.changing((rows * (factor - 1.0)).max(0.0) as usize)?;
        self.net.discount(factor)?;
        self.net.count_fewer(factor);
        if !self.lines.is_empty() {
            self.lines.iter_mut().for_each(|line| line.discount(factor));
            return self.show_lines();
        }
        for kept in &mut self.kept {
            kept.of_rows = ((kept.of_rows as f64 / factor) as usize).max(1);
        }
        self.changed();
        Ok(())
    }

    /// Its doubt is that of a pass from now on.
    pub(super) fn forget_rows(&mut self) {
        self.kept.clear();
        (self.before, self.since, self.outside) = (None, 0, OnceLock::new());
    }
}

fn scaled(scaler: Option<&tractable_data::Scaler>, v: &[f64]) -> Vec<f64> {
    scaler.map_or_else(|| v.to_vec(), |s| s.apply(v))
}

/// What several networks say together, each with a weight; the weights add up to 1.
pub(super) fn together(said: &[(f64, Vec<Said>)]) -> Vec<Parts> {
    let squares: f64 = said.iter().map(|(w, _)| w * w).sum();
    let entries = said.first().map_or(0, |(_, s)| s.len());
    let entry = |i: usize| {
        let sum = |f: &dyn Fn(&Said) -> f64| said.iter().map(|(w, s)| w * f(&s[i])).sum::<f64>();
        let mean = sum(&|s| s.mean);
        // A weighted variance of a sample; of one network there is none.
        let between = if squares < 1.0 { sum(&|s| (s.mean - mean).powi(2)) / (1.0 - squares) } else { 0.0 };
        let noise = [sum(&|s| s.noise[0]), sum(&|s| s.noise[1])];
        Parts { mean, between, doubt: sum(&|s| s.doubt), noise, open: 0.0 }
    };
    (0..entries).map(entry).collect()
}
