//! Bounds of a search as they are typed: `-2:2`, or `-5:10,0:15` with a pair for every dimension.

/// From the least to the largest value of every dimension.
///
/// # Errors
/// Which pair is wrong, and how it should be.
pub fn parse_bounds(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let pairs: Vec<&str> = text.split(',').map(str::trim).collect();
    pairs
        .iter()
        .enumerate()
        .map(|(i, pair)| parse_pair(pair).map_err(|why| place(i, &pairs) + &why))
        .collect()
}

/// Bounds for this many dimensions: one pair for all of them, or as many as
/// dimensions.
///
/// # Errors
/// If there are neither one nor as many as dimensions.
pub(crate) fn spread_bounds(bounds: &[(f64, f64)], dimensions: usize) -> Result<Vec<(f64, f64)>, String> {
    match bounds {
        [one] => Ok(vec![*one; dimensions]),
        all if all.len() == dimensions => Ok(all.into()),
        all => Err(format!(
            "{} pairs of bounds for {dimensions} dimensions: give one pair for all, or {dimensions}",
            all.len()
        )),
    }
}

fn place(i: usize, pairs: &[&str]) -> String {
    match pairs {
        [_] => format!("bounds `{}`: ", pairs[i]),
        _ => format!("bounds `{}` of dimension {}: ", pairs[i], i + 1),
    }
}

fn parse_pair(pair: &str) -> Result<(f64, f64), String> {
    let Some((low, high)) = pair.split_once(':') else {
        return Err("expected two numbers with a colon, such as -2:2".into());
    };
    let number = |text: &str| -> Result<f64, String> {
        let text = text.trim();
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            Ok(_) => Err(format!("`{text}` is not finite; bounds must be finite")),
            Err(_) => Err(format!("`{text}` is not a number; expected two, such as -2:2")),
        }
    };
    let (low, high) = (number(low)?, number(high)?);
    if low == high {
        return Err("both ends are the same; there is nothing to search".into());
    }
    if low > high {
        return Err(format!("the ends are reversed; did you mean {high}:{low}?"));
    }
    if !(high - low).is_finite() {
        return Err("the ends are too far apart for a number".into());
    }
    Ok((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read() {
        assert_eq!(parse_bounds("-2:2"), Ok(vec![(-2.0, 2.0)]));
        assert_eq!(parse_bounds("-5:10, 0:15"), Ok(vec![(-5.0, 10.0), (0.0, 15.0)]));
        assert_eq!(parse_bounds(" -1e-3 : .5 "), Ok(vec![(-0.001, 0.5)]));
    }

    #[test]
    fn what_bounds_nothing_is_refused() {
        for (text, why) in [
            ("", "bounds ``: expected two numbers with a colon"),
            ("2", "expected two numbers with a colon, such as -2:2"),
            ("-2:", "`` is not a number"),
            ("a:2", "`a` is not a number"),
            ("1:2:3", "`2:3` is not a number"),
            ("2:-2", "reversed; did you mean -2:2?"),
            ("1:1", "both ends are the same"),
            ("0:-0", "both ends are the same"),
            ("nan:1", "`nan` is not finite"),
            ("0:inf", "`inf` is not finite"),
            ("0:1e999", "`1e999` is not finite"),
            ("-1.7e308:1.7e308", "too far apart"),
            ("0:1,", "bounds `` of dimension 2: expected two numbers"),
            ("0:1,3:2", "bounds `3:2` of dimension 2: the ends are reversed"),
        ] {
            let said = parse_bounds(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn one_pair_holds_for_all() {
        assert_eq!(spread_bounds(&[(0.0, 1.0)], 3), Ok(vec![(0.0, 1.0); 3]));
        assert_eq!(spread_bounds(&[(0.0, 1.0), (2.0, 3.0)], 2).unwrap()[1], (2.0, 3.0));
        assert!(spread_bounds(&[(0.0, 1.0); 2], 3).unwrap_err().contains("2 pairs of bounds for 3"));
    }
}
