//! Targets of the value network: returns, with their variance.

/// What follows a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum After {
    /// The episode continued.
    GoesOn,
    /// It ended there, and the rest has this value: mean and variance, 0 and 0 if the task is over.
    Ended { mean: f64, var: f64 },
}

/// T71. Discounted returns `y_j = r_j + gamma y_{j+1}` with variances `gamma^2 S_{j+1}`, from the end; after the last
/// step comes `beyond`, the value of the state and action that follow it (mean, variance). With `values`, what
/// each step's own state and action are worth, a part `1 - trace` of every `y_{j+1}` is replaced by that value:
/// less noise from later steps, more trust in the value network.
pub(crate) fn targets(
    rewards: &[f64],
    after: &[After],
    beyond: (f64, f64),
    discount: f64,
    values: Option<(f64, &[(f64, f64)])>,
) -> (Vec<f64>, Vec<f64>) {
    let n = rewards.len();
    let (mut mean, mut var) = (vec![0.0; n], vec![0.0; n]);
    let (mut m, mut s) = beyond;
    for j in (0..n).rev() {
        if let After::Ended { mean, var } = after[j] {
            (m, s) = (mean, var);
        } else if let Some((trace, values)) = values
            && let Some(&(q, q_var)) = values.get(j + 1)
        {
            m = trace * m + (1.0 - trace) * q;
            s = trace * trace * s + (1.0 - trace) * (1.0 - trace) * q_var;
        }
        // T71
        m = rewards[j] + discount * m;
        s *= discount * discount;
        (mean[j], var[j]) = (m, s);
    }
    (mean, var)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_by_hand() {
        let on = After::GoesOn;
        let cut = After::Ended { mean: 10.0, var: 4.0 };
        let (m, s) = targets(&[1.0, 2.0, 3.0], &[on, cut, on], (100.0, 1.0), 0.5, None);
        assert_eq!(m, [1.0 + 0.5 * 7.0, 2.0 + 5.0, 53.0]);
        assert_eq!(s, [0.25, 1.0, 0.25]);
    }

    #[test]
    fn a_trace_of_nothing_is_one_step() {
        let values = [(0.0, 9.0), (4.0, 1.0), (6.0, 2.0)];
        let (m, s) =
            targets(&[1.0, 2.0, 3.0], &[After::GoesOn; 3], (8.0, 4.0), 0.5, Some((0.0, &values[..])));
        assert_eq!((m, s), (vec![3.0, 5.0, 7.0], vec![0.25, 0.5, 1.0]));
        let whole = targets(&[1.0, 2.0, 3.0], &[After::GoesOn; 3], (8.0, 4.0), 0.5, Some((1.0, &values[..])));
        assert_eq!(whole, targets(&[1.0, 2.0, 3.0], &[After::GoesOn; 3], (8.0, 4.0), 0.5, None));
    }
}
