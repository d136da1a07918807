//! One axis: which numbers it spans, where they lie, and which of them are written.

/// Equal distances for equal differences, or for equal ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scale {
    #[default]
    Linear,
    Log,
}

/// The numbers from `low` to `high`, `low < high`, both positive on a log scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) scale: Scale,
}

/// Round numbers on an axis, and how they are written.
pub(super) struct Ticks {
    pub(super) at: Vec<(f64, String)>,
    /// What all of them are to be multiplied with, as `×10⁶`; empty: with nothing.
    pub(super) factor: String,
}

impl Axis {
    /// An axis that shows all of `low..=high` with `margin` (a share of its length) on either side.
    ///
    /// # Errors
    /// If the difference is too large for a number.
    pub(super) fn around(low: f64, high: f64, scale: Scale, margin: f64) -> Result<Self, String> {
        let (mut a, mut b) = match scale {
            Scale::Linear => (low, high),
            Scale::Log => (low.log10(), high.log10()),
        };
        // A constant, up to rounding: some room on either side of it.
        let size = a.abs().max(b.abs());
        if b - a <= 1e-9 * size || b == a {
            let room = match scale {
                Scale::Linear if size > 0.0 => 0.1 * size,
                Scale::Linear => 1.0,
                Scale::Log => 0.5,
            };
            (a, b) = (a - room, b + room);
        }
        let room = (b - a) * margin;
        (a, b) = (a - room, b + room);
        if scale == Scale::Log {
            (a, b) = (10f64.powf(a), 10f64.powf(b));
        }
        let whole = (b - a).is_finite() && b > a && (scale == Scale::Linear || a > 0.0);
        if whole {
            Ok(Axis { low: a, high: b, scale })
        } else {
            Err(format!("the values from {low:e} to {high:e} do not fit on an axis"))
        }
    }

    /// Where a number lies: 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            // Differences of logarithms: the ratio of the ends may be too large for a number.
            Scale::Log => (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
        }
    }

    /// About `wanted` round numbers.
    pub(super) fn ticks(&self, wanted: usize) -> Ticks {
        if self.scale == Scale::Log
            && let Some(at) = self.decades(wanted)
        {
            return Ticks { at, factor: String::new() };
        }
        let size = self.low.abs().max(self.high.abs());
        let power = if (1e-4..1e6).contains(&size) { 0 } else { size.log10().floor() as i32 };
        let step = round_step((self.high - self.low) / wanted.max(1) as f64);
        // Indices, not sums: those drift. A little beyond the ends is rounding.
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let values = (0..=(last - first) as usize).map(|i| (first + i as f64) * step);
        let digits = digits_after_point(step.log10() - f64::from(power));
        let text = |v: f64| format!("{:.digits$}", v / 10f64.powi(power)).replace('-', "−");
        let at = values.map(|v| (v, if v.abs() < step * 1e-6 { "0".into() } else { text(v) })).collect();
        let factor = if power == 0 { String::new() } else { format!("×10{}", raised(power)) };
        Ticks { at, factor }
    }

    /// Powers of ten, with 2 and 5 times them where there are few; `None` if fewer than two lie on the axis.
    fn decades(&self, wanted: usize) -> Option<Vec<(f64, String)>> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let on_axis = |v: &f64| *v >= self.low * (1.0 - 1e-9) && *v <= self.high * (1.0 + 1e-9);
        let apart = ((last - first) as usize).div_ceil(wanted.max(1)).max(1);
        let factors: &[f64] = if self.high / self.low < 1000.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let plain = first >= -4 && last <= 5;
        let mut ticks = Vec::new();
        for power in (first..=last).filter(|p| p.rem_euclid(apart as i32) == 0) {
            for factor in factors {
                let value = factor * 10f64.powi(power);
                if on_axis(&value) {
                    let text = if plain { format!("{value}") } else { power_of_ten(*factor, power) };
                    ticks.push((value, text));
                }
            }
        }
        (ticks.len() >= 2).then_some(ticks)
    }
}

/// The number of the form 1, 2, 2.5 or 5 times a power of ten that is the least factor away from `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let away = |f: &f64| (f * power / step).ln().abs();
    let factors = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().min_by(|a, b| away(a).total_cmp(&away(b)));
    factors.unwrap_or(1.0) * power
}

/// How many digits tell neighbours apart that are 10 to this power away from each other.
fn digits_after_point(power: f64) -> usize {
    // One digit more for steps of 2.5.
    let leading = 10f64.powf(power - (power + 1e-9).floor());
    let more = (leading * 10.0).round() % 10.0 != 0.0;
    (usize::from(more) as f64 - (power + 1e-9).floor()).max(0.0) as usize
}

fn power_of_ten(factor: f64, power: i32) -> String {
    let mantissa = if factor == 1.0 { String::new() } else { format!("{factor}×") };
    mantissa + "10" + &raised(power)
}

fn raised(power: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        c => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c.to_digit(10).unwrap_or(0) as usize],
    };
    power.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(low: f64, high: f64, scale: Scale, wanted: usize) -> Vec<String> {
        let ticks = Axis { low, high, scale }.ticks(wanted);
        let factor = Some(ticks.factor).filter(|f| !f.is_empty());
        ticks.at.into_iter().map(|(_, t)| t).chain(factor).collect()
    }

    #[test]
    fn ticks_are_round_and_short() {
        assert_eq!(said(-2.0, 2.0, Scale::Linear, 5), ["−2", "−1", "0", "1", "2"]);
        assert_eq!(said(0.0, 1.0, Scale::Linear, 4), ["0", "0.25", "0.50", "0.75", "1.00"]);
        assert_eq!(said(0.93, 1.07, Scale::Linear, 3), ["0.95", "1.00", "1.05"]);
        assert_eq!(said(0.0, 2e6, Scale::Linear, 4), ["0", "0.5", "1.0", "1.5", "2.0", "×10⁶"]);
        assert_eq!(said(-3e-7, 0.0, Scale::Linear, 3), ["−3", "−2", "−1", "0", "×10⁻⁷"]);
        assert_eq!(said(0.0, 0.001, Scale::Linear, 4), ["0", "0.00025", "0.00050", "0.00075", "0.00100"]);
    }

    #[test]
    fn log_ticks_are_decades() {
        assert_eq!(said(0.001, 10.0, Scale::Log, 6), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(said(0.9, 11.0, Scale::Log, 6), ["1", "2", "5", "10"]);
        assert_eq!(said(1e-7, 1e-1, Scale::Log, 3), ["10⁻⁶", "10⁻⁴", "10⁻²"]);
        // Less than a factor of two: as on a linear axis.
        assert_eq!(said(2.1, 2.4, Scale::Log, 3), ["2.1", "2.2", "2.3", "2.4"]);
    }

    #[test]
    fn every_range_gets_an_axis_with_ticks_on_it() {
        let numbers = [-1e300, -7.3, -1e-12, 0.0, 1e-250, 3.0, 3.0 + 1e-15, 1e9, 1e9 + 1.0, 1e250];
        for (i, &low) in numbers.iter().enumerate() {
            for &high in &numbers[i..] {
                for scale in [Scale::Linear, Scale::Log] {
                    if scale == Scale::Log && low <= 0.0 {
                        continue;
                    }
                    let axis = Axis::around(low, high, scale, 0.05).unwrap();
                    let ticks = axis.ticks(6).at;
                    assert!((1..=25).contains(&ticks.len()), "{low:e}..{high:e} {scale:?}: {ticks:?}");
                    for (v, text) in &ticks {
                        assert!((-1e-6..=1.0 + 1e-6).contains(&axis.place(*v)), "{low:e}..{high:e}: {text}");
                    }
                    let (a, b) = (axis.place(low), axis.place(high));
                    assert!(
                        (-1e-9..=1.0 + 1e-9).contains(&a) && b >= a && b <= 1.0 + 1e-9,
                        "{low:e}..{high:e}"
                    );
                }
            }
        }
        assert!(Axis::around(-1.7e308, 1.7e308, Scale::Linear, 0.05).is_err());
    }
}
