//! Pooling: the posteriors that several networks give for the same rows, as one.

use super::posterior::Learned;
use super::{Answer, Found, Mode, Posterior, modes};
use tractable_core::error::Result;

/// Modes count as one if they are no farther apart than this many standard deviations in any entry: two normal densities of the
/// same width and weight then have no valley as deep as [`modes::DEEP`] between them.
const APART: f64 = 3.7;

/// Pools posteriors with weights that sum to 1: their mean and covariance, and the modes of all.
pub fn pooled(said: &[(f64, Posterior)]) -> Result<Posterior> {
    let (rows, d) = (said[0].1.rows(), said[0].1.width());
    let mut answers = Vec::with_capacity(rows);
    for row in 0..rows {
        let place = |p: &'_ Posterior| p.mean()[row * d..][..d].to_vec();
        let mut mean = vec![0.0; d];
        for (weight, p) in said {
            mean.iter_mut().zip(place(p)).for_each(|(m, own)| *m += weight * own);
        }
        let mut covariance = vec![0.0; d * d];
        for (weight, p) in said {
            let (own, place) = (p.covariance(row)?, place(p));
            for (i, c) in covariance.iter_mut().enumerate() {
                let apart = (place[i / d] - mean[i / d]) * (place[i % d] - mean[i % d]);
                *c += weight * (own.data()[i] + apart);
            }
        }
        let var: Vec<f64> = (0..d).map(|i| covariance[i * d + i]).collect();
        let all = said.iter().flat_map(|(weight, p)| {
            p.modes(row).iter().map(move |m| Mode { weight: weight * m.weight, ..m.clone() })
        });
        let modes = joined(all.collect());
        let found = found(said.iter().map(|(_, p)| p.found(row)));
        answers.push(Answer { mean, var, covariance: Learned::Full(covariance), modes, found });
    }
    Ok(Posterior::of(answers, None).expect("what is finite stays so"))
}

/// As reliable as the least reliable of them.
fn found(all: impl Iterator<Item = Found>) -> Found {
    all.reduce(|a, b| match (a, b) {
        (Found::Points { points: p, effective: e }, Found::Points { points, effective }) => {
            Found::Points { points: p + points, effective: e.min(effective) }
        }
        (Found::Linearised { steps: s, converged: c }, Found::Linearised { steps, converged }) => {
            Found::Linearised { steps: s.max(steps), converged: c && converged }
        }
        (linearised @ Found::Linearised { .. }, _) | (_, linearised) => linearised,
    })
    .expect("there is at least one network")
}

/// Joins modes that overlap, leaves out those that are too light, and sorts the rest, the heaviest first.
fn joined(all: Vec<Mode>) -> Vec<Mode> {
    let overlap = |a: &Mode, b: &Mode| {
        let entries = a.mean.iter().zip(&b.mean).zip(a.var.iter().zip(&b.var));
        entries.into_iter().all(|((a, b), (v, w))| (a - b).powi(2) <= APART * APART * 0.5 * (v + w))
    };
    let mut group: Vec<usize> = (0..all.len()).collect();
    for a in 0..all.len() {
        for b in 0..a {
            if group[a] != group[b] && overlap(&all[a], &all[b]) {
                let (gone, stays) = (group[a], group[b]);
                group.iter_mut().filter(|g| **g == gone).for_each(|g| *g = stays);
            }
        }
    }
    let of = |g: usize| all.iter().zip(&group).filter(move |(_, own)| **own == g).map(|(m, _)| m);
    let mut modes: Vec<Mode> = (0..all.len())
        .filter(|&g| of(g).next().is_some())
        .map(|g| one_of(&of(g).collect::<Vec<_>>()))
        .collect();
    modes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let light = |m: &Mode| m.weight < modes::LEAST;
    modes.truncate(modes.iter().position(light).unwrap_or(modes.len()).max(1));
    let total: f64 = modes.iter().map(|m| m.weight).sum();
    modes.iter_mut().for_each(|m| m.weight /= total);
    modes
}

/// Weight, mean and variance of several modes together.
fn one_of(modes: &[&Mode]) -> Mode {
    let weight: f64 = modes.iter().map(|m| m.weight).sum();
    let average = |f: &dyn Fn(&Mode) -> f64| modes.iter().map(|m| m.weight / weight * f(m)).sum::<f64>();
    let entries = 0..modes[0].mean.len();
    let mean: Vec<f64> = entries.clone().map(|i| average(&|m| m.mean[i])).collect();
    let var = entries.map(|i| average(&|m| m.var[i] + (m.mean[i] - mean[i]).powi(2))).collect();
    Mode { weight, mean, var }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_overlap_are_one() {
        let mode = |weight: f64, mean: f64, std: f64| Mode {
            weight,
            mean: vec![mean, 0.0],
            var: vec![std * std, 0.0],
        };
        // Two networks with two answers each, and one that is too light to be told.
        let all = vec![
            mode(0.3, 1.0, 0.1),
            mode(0.2, -1.0, 0.1),
            mode(0.3, 1.2, 0.1),
            mode(0.19, -1.1, 0.1),
            mode(0.01, 5.0, 0.1),
        ];
        let joined = joined(all);
        assert_eq!(joined.len(), 2, "{joined:?}");
        assert!((joined[0].weight - 0.6 / 0.99).abs() < 1e-12 && (joined[0].mean[0] - 1.1).abs() < 1e-12);
        assert!((joined[0].var[0] - 0.02).abs() < 1e-12 && joined[0].var[1] == 0.0, "{joined:?}");
        assert!(joined[1].mean[0] < -1.0, "{joined:?}");
    }

    #[test]
    fn the_least_reliable_answer_counts() {
        let points = |effective| Found::Points { points: 10, effective };
        let line = |steps, converged| Found::Linearised { steps, converged };
        assert_eq!(
            found([points(70.0), points(5.0)].into_iter()),
            Found::Points { points: 20, effective: 5.0 }
        );
        assert_eq!(found([line(3, true), line(2, false)].into_iter()), line(3, false));
        assert_eq!(found([points(70.0), line(2, true)].into_iter()), line(2, true));
    }
}
