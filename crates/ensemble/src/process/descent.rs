//! The minimum of a smooth function nearby: steps of a limited-memory quasi-Newton method, inside a box.

/// Steps whose curvature is remembered.
const MEMORY: usize = 10;
/// How often a step is shortened, and the share of the promised gain that it must bring.
const SHORTER: usize = 12;
const GAIN: f64 = 1e-4;

/// Takes up to so many steps from `at`; `f` gives the value and the gradient, or an infinite value where there is none.
pub(super) fn minimum(
    mut at: Vec<f64>,
    bounds: &[[f64; 2]],
    steps: usize,
    mut f: impl FnMut(&[f64]) -> (f64, Vec<f64>),
) -> Vec<f64> {
    let (mut value, mut slope) = f(&at);
    let mut known: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    for _ in 0..steps {
        // Coordinates that are held by a bound stay there.
        let held =
            |i: usize, by: f64| (at[i] <= bounds[i][0] && by < 0.0) || (at[i] >= bounds[i][1] && by > 0.0);
        let mut way = slope.clone();
        let mut shares = Vec::with_capacity(known.len());
        for (moved, turned, inverse) in known.iter().rev() {
            let share = inverse * dot(moved, &way);
            way.iter_mut().zip(turned).for_each(|(w, t)| *w -= share * t);
            shares.push(share);
        }
        let size = match known.last() {
            Some((_, turned, inverse)) => 1.0 / (inverse * dot(turned, turned)),
            None => 1.0 / dot(&slope, &slope).sqrt().max(1.0),
        };
        way.iter_mut().for_each(|w| *w *= size);
        for ((moved, turned, inverse), share) in known.iter().zip(shares.into_iter().rev()) {
            let more = share - inverse * dot(turned, &way);
            way.iter_mut().zip(moved).for_each(|(w, m)| *w += more * m);
        }
        way.iter_mut().enumerate().for_each(|(i, w)| *w = if held(i, -*w) { 0.0 } else { -*w });
        if dot(&way, &slope) >= 0.0 {
            return at;
        }
        let mut length = 1.0;
        let found = (0..SHORTER).find_map(|_| {
            let there: Vec<f64> = at
                .iter()
                .zip(&way)
                .zip(bounds)
                .map(|((a, w), [low, high])| (a + length * w).clamp(*low, *high))
                .collect();
            let moved: Vec<f64> = there.iter().zip(&at).map(|(t, a)| t - a).collect();
            let (new, new_slope) = f(&there);
            length *= 0.4;
            (new <= value + GAIN * dot(&moved, &slope)).then_some((there, moved, new, new_slope))
        });
        let Some((there, moved, new, new_slope)) = found else { return at };
        let turned: Vec<f64> = new_slope.iter().zip(&slope).map(|(n, s)| n - s).collect();
        let curved = dot(&moved, &turned);
        if curved > 1e-12 {
            if known.len() == MEMORY {
                known.remove(0);
            }
            known.push((moved, turned, 1.0 / curved));
        }
        (at, value, slope) = (there, new, new_slope);
    }
    at
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        let valley = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
        };
        let found = minimum(vec![-1.2, 1.0], &[[-5.0, 5.0]; 2], 200, valley);
        assert!((found[0] - 1.0).abs() < 1e-5 && (found[1] - 1.0).abs() < 1e-5, "{found:?}");
        // At a bound: the best point with x <= .5 is on the parabola.
        let found = minimum(vec![-1.2, 1.0], &[[-5.0, 0.5], [-5.0, 5.0]], 200, valley);
        assert!((found[0] - 0.5).abs() < 1e-6 && (found[1] - 0.25).abs() < 1e-3, "{found:?}");
    }
}
