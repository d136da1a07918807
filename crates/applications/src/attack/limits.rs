//! Limits of an image: the pixel range, the budget, frozen pixels.

use super::settings::{Budget, Settings};

/// The limits of one image.
pub(super) struct Limits<'a> {
    settings: &'a Settings,
    /// Where it began.
    image: &'a [f64],
    frozen: Option<&'a [bool]>,
}

impl<'a> Limits<'a> {
    pub(super) fn new(settings: &'a Settings, image: &'a [f64], row: usize) -> Self {
        let frozen = settings.frozen.as_deref().map(|f| match f.len() == image.len() {
            true => f,
            false => &f[row * image.len()..][..image.len()],
        });
        Limits { settings, image, frozen }
    }

    pub(super) fn is_frozen(&self, pixel: usize) -> bool {
        self.frozen.is_some_and(|f| f[pixel])
    }

    /// Lowest and highest value of every pixel, as far as each has limits of its own.
    pub(super) fn boxes(&self) -> [Vec<f64>; 2] {
        let (low, high) = self.settings.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let size = match self.settings.budget {
            Some(Budget::Linf(size)) => size,
            _ => f64::INFINITY,
        };
        let lowest = self.image.iter().map(|x| (x - size).max(low.min(*x))).collect();
        [lowest, self.image.iter().map(|x| (x + size).min(high.max(*x))).collect()]
    }

    /// Projects an image onto the budget, then clips every pixel to its range, which only brings
    /// it closer to the start.
    pub(super) fn project(&self, x: &mut [f64]) {
        if self.frozen.is_some() {
            (0..x.len()).filter(|&i| self.is_frozen(i)).for_each(|i| x[i] = self.image[i]);
        }
        match self.settings.budget {
            None => {}
            Some(Budget::Linf(size)) => {
                x.iter_mut().zip(self.image).for_each(|(x, from)| *x = x.clamp(from - size, from + size));
            }
            Some(Budget::L2(size)) => {
                let norm = l2(x, self.image);
                if norm > size {
                    x.iter_mut()
                        .zip(self.image)
                        .for_each(|(x, from)| *x = from + (*x - from) * (size / norm));
                }
            }
        }
        if let Some((low, high)) = self.settings.range {
            x.iter_mut().for_each(|x| *x = x.clamp(low, high));
        }
    }
}

pub(super) fn l2(x: &[f64], from: &[f64]) -> f64 {
    x.iter().zip(from).map(|(x, from)| (x - from) * (x - from)).sum::<f64>().sqrt()
}

pub(super) fn l_inf(x: &[f64], from: &[f64]) -> f64 {
    x.iter().zip(from).map(|(x, from)| (x - from).abs()).fold(0.0, f64::max)
}
