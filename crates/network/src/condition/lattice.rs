//! Quasi-random points: a lattice that stays one whenever its length doubles.

/// Maximum number of dimensions.
pub(super) const MOST: usize = 16;

/// Generators of a rank-1 lattice in base 2 for 2^10 to 2^20 points, by F. Y. Kuo.
const GENERATORS: [u64; MOST] = [
    1, 182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519, 391023, 246327,
    126539, 399185, 461527,
];

/// Point number `i` of the lattice, in `(0, 1)` for every dimension; shifted, so that none lies in a corner.
pub(crate) fn point(i: u32, dimensions: usize) -> impl Iterator<Item = f64> {
    // The bits of `i` reversed: every doubling fills the gaps.
    let turned = u64::from(i.reverse_bits());
    (0..dimensions).map(move |d| {
        let shift = (d as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let at = (turned * GENERATORS[d] + shift) & 0xFFFF_FFFF;
        (at as f64 + 0.5) / (1u64 << 32) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_doubling_is_even_in_every_dimension() {
        for n in [1024usize, 4096] {
            for d in 0..MOST {
                let mut cells = vec![0; n];
                (0..n as u32).for_each(|i| cells[(point(i, MOST).nth(d).unwrap() * n as f64) as usize] += 1);
                assert!(cells.iter().all(|&c| c == 1), "{n} points, dimension {d}");
            }
            // Products of two coordinates are known much better than by chance, which is off by about 0.08/sqrt(n) each.
            for (a, b) in [(0, 1), (2, 9), (14, 15)] {
                let products = (0..n as u32).map(|i| {
                    let p: Vec<f64> = point(i, MOST).collect();
                    (p[a] - 0.5) * (p[b] - 0.5)
                });
                let mean = products.sum::<f64>() / n as f64;
                assert!(mean.abs() < 0.02 / (n as f64).sqrt(), "{n} points, {a} and {b}: {mean}");
            }
        }
    }
}
