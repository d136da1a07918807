//! Rows: how a few outputs depend on a state, and their covariance (T44, T45). One pass from the output down gives the
//! covariance caused by shared inputs and units; a forward pass alone treats all units as independent.

// A forward pass treats all units as independent. Where that matters, `engine.rs::rows` then propagates
// a few outputs down, like innovations of means: their slopes with respect to every state, and the
// contribution of each layer's own variance to their covariance (`Op::BackRows`, `Op::Spread`; T44 to
// T46). This gives the full covariance of the linearised network without a matrix of a layer's width,
// at the cost of about (3 + k)/3 of a pass for `k` outputs. `network/rows.rs` uses it for `predict`
// with uncertain inputs (row by row: `network/predict.rs` sends exact rows of the same batch through an
// ordinary pass), `output_covariance`, and everything in `condition/`. Learning does not use it: in
// measurements it made results slightly worse.

use super::Network;
use crate::engine::ActivePass;
use tractable_core::error::Result;
use tractable_core::gaussian::{Input, Matrix};
use tractable_devices::{Field, Purpose};

/// A few outputs of every sample, to first order in a state: `mean + slopes (state - its mean)`, with covariance `spread`
/// given the state.
pub(crate) struct Rows {
    /// Rows per sample.
    pub(crate) k: usize,
    /// `[samples, k]`.
    pub(crate) mean: Vec<f64>,
    /// `[samples, k, width of the state]`; empty if not requested.
    pub(crate) slopes: Vec<f64>,
    /// `[samples, k, k]`.
    pub(crate) spread: Vec<f64>,
}

/// Which outputs of every sample: `k` each, `None` where a sample has fewer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) k: usize,
    pub(crate) outputs: Vec<Option<usize>>,
}

impl Chosen {
    /// All outputs of this many samples.
    pub(crate) fn all(units: usize, samples: usize) -> Self {
        Chosen { k: units, outputs: (0..units * samples).map(|i| Some(i % units)).collect() }
    }

    /// Those that are seen.
    pub(crate) fn seen(seen: Option<&[bool]>, units: usize, samples: usize) -> Self {
        let Some(mask) = seen else { return Chosen::all(units, samples) };
        let of = |sample: usize| (0..units).filter(move |o| mask[sample * units + o]);
        let k = (0..samples).map(|s| of(s).count()).max().unwrap_or(0);
        let padded = |s: usize| of(s).map(Some).chain(std::iter::repeat(None)).take(k);
        Chosen { k, outputs: (0..samples).flat_map(padded).collect() }
    }

    /// The same outputs, of a single sample, for this many samples.
    pub(crate) fn for_samples(&self, samples: usize) -> Self {
        Chosen { k: self.k, outputs: self.outputs.repeat(samples) }
    }
}

/// Outputs whose rows are propagated at a time, if there are many.
const AT_ONCE: usize = 16;

/// Which parts of [`Rows`] are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Slopes,
    Spread,
    Both,
}

impl Network {
    /// Computes what depends on a state (0 is the input), and propagates rows of the chosen outputs down to it.
    pub(crate) fn rows_in(
        &self,
        pass: &mut dyn ActivePass,
        (from, at): (usize, usize),
        chosen: &Chosen,
        ask: Ask,
    ) -> Result<Rows> {
        let purpose = if ask == Ask::Slopes { Purpose::Predict } else { Purpose::Rows };
        pass.run(&self.graph.forward(from, purpose), None)?;
        self.rows_after(pass, at, chosen, ask)
    }

    /// Propagates rows of the chosen outputs down to a state, after a forward pass for [`Purpose::Rows`].
    pub(crate) fn rows_after(
        &self,
        pass: &mut dyn ActivePass,
        at: usize,
        chosen: &Chosen,
        ask: Ask,
    ) -> Result<Rows> {
        let (units, k) = (self.spec.output.units(), chosen.k);
        let mut begin = vec![0.0; chosen.outputs.len() * units];
        for (row, output) in chosen.outputs.iter().enumerate() {
            output.iter().for_each(|o| begin[row * units + o] = 1.0);
        }
        let output = self.graph.output();
        let plan = self.graph.rows(output, Some(at), ask != Ask::Spread, ask != Ask::Slopes);
        let [slopes, spread] = pass.rows(&plan, output, k, &begin, (ask != Ask::Spread).then_some(at))?;
        let all = pass.read(output, Field::Mean)?;
        let mean_of =
            |(row, output): (usize, &Option<usize>)| output.map_or(0.0, |o| all[row / k * units + o]);
        let mean: Vec<f64> = chosen.outputs.iter().enumerate().map(mean_of).collect();
        for (numbers, per_sample) in [(&slopes, slopes.len()), (&spread, spread.len())] {
            let samples = chosen.outputs.len() / k.max(1);
            if let Some(i) = numbers.iter().position(|v| !v.is_finite()) {
                return Err(self.diverged(at, i * samples / per_sample, numbers[i]));
            }
        }
        Ok(Rows { k, mean, slopes, spread })
    }

    /// Mean, variance and noise variance of the output, with covariances between units, in the network's own units.
    pub(crate) fn predict_by_rows(&self, x: Input<'_>) -> Result<[Vec<f64>; 3]> {
        let units = self.spec.output.units();
        self.in_parts_of(self.at_once_with(AT_ONCE.min(units)), x.rows(), |rows| {
            let (n, x) = (rows.len(), x.rows_between(rows.start, rows.end));
            let mut pass = self.pass_of(x)?;
            let (_, state_var) = self.own_units(x);
            pass.run(&self.graph.forward(0, Purpose::Rows), None)?;
            let mut var = vec![0.0; n * units];
            for from in (0..units).step_by(AT_ONCE) {
                let k = AT_ONCE.min(units - from);
                let chosen = Chosen { k, outputs: (0..k * n).map(|i| Some(from + i % k)).collect() };
                let out = self.rows_after(&mut *pass, 0, &chosen, Ask::Both)?;
                for sample in 0..n {
                    let state_var = state_var.as_ref().map(|v| &v[sample * x.width()..][..x.width()]);
                    for i in 0..k {
                        var[sample * units + from + i] = out.variance(sample, i, state_var);
                    }
                }
            }
            let noise = self.noise_of(&*pass, n)?;
            Ok([pass.read(self.graph.output(), Field::Mean)?, var, noise])
        })
    }

    /// Rows of samples in the network's own units.
    pub(crate) fn rows(&self, x: Input<'_>, chosen: &Chosen, ask: Ask) -> Result<Rows> {
        let mut pass = self.engine.pass();
        pass.write(0, x.mean(), x.var())?;
        self.rows_in(&mut *pass, (0, 0), chosen, ask)
    }

    /// Covariance of all units of a state, `[width, width]`, after a forward pass of one sample for [`Purpose::Rows`].
    pub(crate) fn state_covariance(&self, pass: &mut dyn ActivePass, state: usize) -> Result<Vec<f64>> {
        let width = self.graph.shapes[state].len();
        let begin: Vec<f64> =
            (0..width * width).map(|i| f64::from(u8::from(i / width == i % width))).collect();
        let plan = self.graph.rows(state, None, false, true);
        Ok(std::mem::take(&mut pass.rows(&plan, state, width, &begin, None)?[1]))
    }

    /// Samples to process at a time, if each has this many rows.
    pub(crate) fn at_once_with(&self, rows: usize) -> usize {
        (self.at_once / (1 + rows / 2)).max(1)
    }

    /// Covariance of the outputs, `[outputs, outputs]` for every row of `x`, caused by the uncertain weights and inputs that they
    /// share. It does not include the noise of a new observation.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Network};
    /// let net = Network::mlp([2, 8, 2], Activation::Relu).build()?;
    /// let x = Gaussian::new(vec![0.5, 1.0], vec![0.1, 0.1], 2)?;
    /// let covariance = &net.output_covariance(&x)?[0];
    /// assert!((covariance.row(0)[0] / net.predict(&x)?.var()[0] - 1.0).abs() < 1e-6);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output_covariance<'a>(&self, x: impl Into<Input<'a>>) -> Result<Vec<Matrix>> {
        let x = self.check_input(x.into())?;
        let units = self.spec.output.units();
        let scale = |i: usize| self.scaler_at(self.graph.output()).map_or(1.0, |s| s.std()[i]);
        let mut all = Vec::with_capacity(x.rows());
        let step = self.at_once_with(units);
        for from in (0..x.rows()).step_by(step) {
            let x = x.rows_between(from, x.rows().min(from + step));
            let cov = self.output_covariances(x)?;
            for cov in cov.chunks_exact(units * units) {
                let cov = cov.iter().enumerate().map(|(i, v)| v * scale(i / units) * scale(i % units));
                all.push(Matrix::new(cov.collect(), units)?);
            }
        }
        Ok(all)
    }

    /// `[samples, outputs, outputs]`, in the network's own units; the samples in the user's.
    fn output_covariances(&self, x: Input<'_>) -> Result<Vec<f64>> {
        let (mut buffers, n) = (Default::default(), x.rows());
        let (mean, var) = self.standardize(x, &mut buffers);
        let x = match var {
            Some(var) => Input::uncertain(mean, var, x.width())?,
            None => Input::exact(mean, x.width())?,
        };
        let rows = self.rows(x, &Chosen::all(self.spec.output.units(), n), Ask::Both)?;
        Ok((0..n)
            .flat_map(|s| rows.covariance(s, x.var().map(|v| &v[s * x.width()..][..x.width()])))
            .collect())
    }
}

impl Rows {
    /// The variance of one output of a sample, as in [`covariance`](Rows::covariance).
    fn variance(&self, sample: usize, i: usize, var: Option<&[f64]>) -> f64 {
        let own = self.spread_of(sample)[i * self.k + i];
        let by_state = |var: &[f64]| {
            let slopes = &self.slopes_of(sample)[i * var.len()..][..var.len()];
            slopes.iter().zip(var).map(|(a, v)| a * a * v).sum::<f64>()
        };
        own + var.map_or(0.0, by_state)
    }

    /// The rows of one sample.
    pub(crate) fn slopes_of(&self, sample: usize) -> &[f64] {
        let each = self.slopes.len() / (self.mean.len() / self.k);
        &self.slopes[sample * each..][..each]
    }

    pub(crate) fn spread_of(&self, sample: usize) -> &[f64] {
        &self.spread[sample * self.k * self.k..][..self.k * self.k]
    }

    pub(crate) fn mean_of(&self, sample: usize) -> &[f64] {
        &self.mean[sample * self.k..][..self.k]
    }

    /// T46. Covariance of the outputs of a sample, for a state with these variances: `spread + slopes diag(var) slopes'`.
    pub(crate) fn covariance(&self, sample: usize, var: Option<&[f64]>) -> Vec<f64> {
        let (mut cov, k) = (self.spread_of(sample).to_vec(), self.k);
        if let Some(var) = var {
            let (a, d) = (self.slopes_of(sample), var.len());
            for (i, cov) in cov.iter_mut().enumerate() {
                let (left, right) = (&a[i / k * d..][..d], &a[i % k * d..][..d]);
                *cov += (0..d).map(|u| left[u] * var[u] * right[u]).sum::<f64>();
            }
        }
        cov
    }
}
