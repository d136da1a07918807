//! Where a function of two numbers, known on a grid, has a value: pieces of the curve, cell by cell.

/// `values[row * x.len() + column]` is the function at `x[column]`, `y[row]`. Straight in between.
pub(super) fn contour([x, y]: [&[f64]; 2], values: &[f64], level: f64) -> Vec<[(f64, f64); 2]> {
    let above = |row: usize, column: usize| values[row * x.len() + column] - level;
    let mut pieces = Vec::new();
    for row in 0..y.len().saturating_sub(1) {
        for column in 0..x.len().saturating_sub(1) {
            // Round the cell, corner by corner.
            let corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)];
            let mut crossed = Vec::new();
            for i in 0..4 {
                let ((r, c), (to_r, to_c)) = (corners[i], corners[(i + 1) % 4]);
                let (from, to) = (above(r, c), above(to_r, to_c));
                if (from > 0.0) != (to > 0.0) {
                    let t = from / (from - to);
                    crossed.push((x[c] + t * (x[to_c] - x[c]), y[r] + t * (y[to_r] - y[r])));
                }
            }
            match crossed[..] {
                [a, b] => pieces.push([a, b]),
                [a, b, c, d] => {
                    // At a saddle the middle tells which corners belong together.
                    let middle: f64 = corners.iter().map(|&(r, c)| above(r, c)).sum();
                    let together = (middle > 0.0) == (above(row, column) > 0.0);
                    pieces.extend(if together { [[a, b], [c, d]] } else { [[d, a], [b, c]] });
                }
                _ => {}
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_where_it_is() {
        let axis: Vec<f64> = (0..=40).map(|i| f64::from(i) / 10.0 - 2.0).collect();
        let values: Vec<f64> = axis.iter().flat_map(|y| axis.iter().map(move |x| x.hypot(*y))).collect();
        let pieces = contour([&axis, &axis], &values, 1.5);
        assert!(pieces.iter().flatten().all(|(x, y)| (x.hypot(*y) - 1.5).abs() < 0.01));
        let length: f64 = pieces.iter().map(|[a, b]| (a.0 - b.0).hypot(a.1 - b.1)).sum();
        assert!((length - 3.0 * std::f64::consts::PI).abs() < 0.05, "{length}");
        assert!(contour([&axis, &axis], &values, 9.0).is_empty());
    }

    #[test]
    fn saddles_keep_the_higher_corners_together_or_apart() {
        let at = |middle_high: bool| {
            let low = if middle_high { -0.5 } else { -2.0 };
            let pieces = contour([&[0.0, 1.0], &[0.0, 1.0]], &[1.0, low, low, 1.0], 0.0);
            assert_eq!(pieces.len(), 2);
            // A piece that cuts off the corner (0, 0) has both ends near it.
            pieces.iter().any(|p| p.iter().all(|(x, y)| x + y < 1.0))
        };
        assert!(!at(true) && at(false));
    }
}
