//! Predictions in the network's own units. Rows that are known exactly and rows that are uncertain take different passes, so
//! that the prediction of a row does not depend on the other rows of its batch.

use super::Network;
use tractable_core::error::Result;
use tractable_core::gaussian::Input;

/// Mean, variance and noise variance of the output, `[rows, units]` each.
type Predicted = [Vec<f64>; 3];

impl Network {
    /// The units of exact rows are treated as independent; those of uncertain rows have covariances.
    #[doc(hidden)]
    pub fn predict_standard(&self, x: Input<'_>) -> Result<Predicted> {
        by_kind(x, |x| self.predict_independent(x), |x| self.predict_by_rows(x))
    }

    fn predict_independent(&self, x: Input<'_>) -> Result<Predicted> {
        self.in_parts(x.rows(), |rows| {
            let n = rows.len();
            let pass = self.forward(x.rows_between(rows.start, rows.end))?;
            let [mean, var] = pass.read_prior(self.graph.output())?;
            Ok([mean, var, self.noise_of(&*pass, n)?])
        })
    }
}

/// Predicts exact rows and uncertain rows separately.
fn by_kind(
    x: Input<'_>,
    exact: impl Fn(Input<'_>) -> Result<Predicted>,
    uncertain: impl Fn(Input<'_>) -> Result<Predicted>,
) -> Result<Predicted> {
    if x.var().is_none() {
        return exact(x);
    }
    let (moving, known): (Vec<usize>, Vec<usize>) = (0..x.rows()).partition(|&row| x.is_uncertain(row));
    if moving.is_empty() {
        return exact(Input::exact(x.mean(), x.width())?);
    }
    if known.is_empty() {
        return uncertain(x);
    }
    let gather = |all: &[f64], rows: &[usize]| -> Vec<f64> {
        rows.iter().flat_map(|&row| &all[row * x.width()..][..x.width()]).copied().collect()
    };
    let first = exact(Input::exact(&gather(x.mean(), &known), x.width())?)?;
    let var = gather(x.var().expect("some rows have a variance"), &moving);
    let second = uncertain(Input::uncertain(&gather(x.mean(), &moving), &var, x.width())?)?;
    let units = first[0].len() / known.len();
    let mut merged = [const { Vec::new() }; 3];
    for ((merged, first), second) in merged.iter_mut().zip(&first).zip(&second) {
        merged.resize(units * x.rows(), 0.0);
        for (rows, part) in [(&known, first), (&moving, second)] {
            for (row, numbers) in rows.iter().zip(part.chunks_exact(units)) {
                merged[row * units..][..units].copy_from_slice(numbers);
            }
        }
    }
    Ok(merged)
}
