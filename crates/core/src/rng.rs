//! Random numbers: one seed gives named, independent streams, bit-identical on every platform.
//!
//! Each use has its own stream (`"init"` for layer 3, `"shuffle"` for epoch 7), so
//! that adding a draw in one place changes no other number. Nothing here calls the platform's
//! math library.

use crate::fnv::fnv1a_128;

/// A source of random bits.
///
/// ```
/// struct Counter(u64);
/// impl tractable::rng::Rng for Counter {
///     fn next_u64(&mut self) -> u64 {
///         self.0 += 1 << 62;
///         self.0
///     }
/// }
/// assert!(tractable::rng::uniform(0.0, 1.0, &mut Counter(0)) > 0.25);
/// ```
pub trait Rng {
    /// The next 64 bits.
    fn next_u64(&mut self) -> u64;
}

/// Bernstein's stream cipher ChaCha with eight rounds, a 64-bit counter and a nonce of zero; [`stream`] makes one.
///
/// ```
/// use tractable::rng::{ChaCha8Rng, Rng, stream};
/// let mut rng: ChaCha8Rng = stream(0, "init", 0);
/// assert_eq!(rng.next_u64(), 0x4b96f94f8bf88bb5);
/// ```
#[derive(Clone, Debug)]
pub struct ChaCha8Rng {
    key: [u32; 8],
    /// Blocks that were computed.
    counter: u64,
    block: [u32; 16],
    /// Words of the block that were given away.
    used: usize,
}

impl ChaCha8Rng {
    fn new(key: [u8; 32]) -> Self {
        let words = key.as_chunks().0;
        let key = std::array::from_fn(|i| u32::from_le_bytes(words[i]));
        ChaCha8Rng { key, counter: 0, block: [0; 16], used: 16 }
    }

    fn refill(&mut self) {
        let mut start = [0; 16];
        for (word, bytes) in start.iter_mut().zip(b"expand 32-byte k".as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        start[4..12].copy_from_slice(&self.key);
        (start[12], start[13]) = (self.counter as u32, (self.counter >> 32) as u32);
        let mut x = start;
        for _ in 0..4 {
            for i in 0..4 {
                quarter_round(&mut x, [i, 4 + i, 8 + i, 12 + i]);
            }
            for i in 0..4 {
                quarter_round(&mut x, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
            }
        }
        self.block = std::array::from_fn(|i| x[i].wrapping_add(start[i]));
        (self.counter, self.used) = (self.counter.wrapping_add(1), 0);
    }
}

#[inline(always)]
fn quarter_round(x: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    for (sum, term, mixed, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        x[sum] = x[sum].wrapping_add(x[term]);
        x[mixed] = (x[mixed] ^ x[sum]).rotate_left(turn);
    }
}

impl Rng for ChaCha8Rng {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        if self.used == 16 {
            self.refill();
        }
        let (low, high) = (self.block[self.used], self.block[self.used + 1]);
        self.used += 2;
        u64::from(high) << 32 | u64::from(low)
    }
}

/// The stream number `index` called `name` of `seed`.
///
/// The 32-byte ChaCha key is, in little-endian order,
///
/// ```text
/// seed (8 bytes) | index (8 bytes) | FNV-1a-128(name) (16 bytes)
/// ```
///
/// Different triples have different keys (unless two names collide in 128 bits), and ChaCha's output under
/// different keys is independent for all practical purposes: no further mixing is needed. Model files do
/// not depend on this function, but repeating a run from its seed does, so the layout is fixed.
///
/// ```
/// use tractable::rng::{Rng, stream};
/// let mut a = stream(7, "init", 3);
/// assert_eq!(a.next_u64(), stream(7, "init", 3).next_u64());
/// assert_ne!(stream(7, "init", 3).next_u64(), stream(7, "init", 4).next_u64());
/// assert_ne!(stream(7, "init", 3).next_u64(), stream(7, "shuffle", 3).next_u64());
/// ```
pub fn stream(seed: u64, name: &str, index: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&index.to_le_bytes());
    key[16..].copy_from_slice(&fnv1a_128(name.as_bytes()).to_le_bytes());
    ChaCha8Rng::new(key)
}

/// A whole number in `0..n`, each equally likely; `n` must not be 0.
///
/// Lemire's multiply-shift: the high 64 bits of `x * n` for a 64-bit draw `x`; draws whose low 64 bits are
/// below `2^64 mod n` are thrown away, which removes the bias exactly.
pub fn below(n: u64, rng: &mut impl Rng) -> u64 {
    debug_assert!(n > 0);
    let rejected = n.wrapping_neg() % n; // 2^64 mod n
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(n);
        if product as u64 >= rejected {
            return (product >> 64) as u64;
        }
    }
}

/// Puts `order` into a uniformly random order (Fisher-Yates from the back).
///
/// The draws are 64 bits wide whatever the width of `usize`, so 32- and 64-bit platforms agree.
///
/// ```
/// use tractable::rng::{shuffle, stream};
/// let mut order: Vec<usize> = (0..5).collect();
/// shuffle(&mut order, &mut stream(0, "shuffle", 1));
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn shuffle(order: &mut [usize], rng: &mut impl Rng) {
    for last in (1..order.len()).rev() {
        order.swap(last, below(last as u64 + 1, rng) as usize);
    }
}

/// Uniform on the 2^52 midpoints `(k + 1/2) / 2^52`: never 0 or 1, symmetric about 1/2, every value exact.
pub fn open_unit(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// A draw from N(0, 1), by Marsaglia's polar method: with `(u, v)` uniform in the unit disc and `s = u^2 +
/// v^2`,
///
/// ```text
/// z = u sqrt(-2 ln(s) / s)
/// ```
///
/// Why not `rand_distr::StandardNormal`: its ziggurat is faster, but calls the platform's `exp` and `ln`,
/// whose last bits differ between operating systems, and its tables may change with its version. Here the
/// square root is exact by IEEE 754 and the logarithm is `libm`'s, written in Rust: the same bits
/// everywhere. The second number of each pair is thrown away, so a draw depends on the stream alone.
///
/// ```
/// use tractable::rng::{standard_normal, stream};
/// let mut rng = stream(0, "example", 0);
/// let z: Vec<f64> = (0..10_000).map(|_| standard_normal(&mut rng)).collect();
/// let mean = z.iter().sum::<f64>() / 1e4;
/// assert!(mean.abs() < 0.05);
/// ```
pub fn standard_normal(rng: &mut impl Rng) -> f64 {
    loop {
        let u = 2.0 * open_unit(rng) - 1.0;
        let v = 2.0 * open_unit(rng) - 1.0;
        let s = u * u + v * v;
        // s > 0 always: u and v are odd multiples of 2^-52.
        if s < 1.0 {
            return u * (-2.0 * libm::log(s) / s).sqrt();
        }
    }
}

/// A draw from the uniform distribution between `low` and `high`.
///
/// ```
/// use tractable::rng::{stream, uniform};
/// let mut rng = stream(0, "example", 0);
/// assert!((0..100).all(|_| (2.0..3.0).contains(&uniform(2.0, 3.0, &mut rng))));
/// ```
pub fn uniform(low: f64, high: f64, rng: &mut impl Rng) -> f64 {
    low + (high - low) * open_unit(rng)
}

#[cfg(test)]
mod tests {
    use super::{ChaCha8Rng, Rng};
    use rand_chacha::rand_core::{Rng as _, SeedableRng};

    #[test]
    fn words_are_those_of_rand_chacha() {
        for first in [0, 1, 127, 255] {
            let key: [u8; 32] = std::array::from_fn(|i| (first * (2 * i + 1)) as u8);
            // From the start, and where the counter's low half overflows, or all of it.
            for block in [0, (1 << 32) - 6, (1 << 40) - 3, u64::MAX - 9] {
                let (mut ours, mut theirs) = (ChaCha8Rng::new(key), rand_chacha::ChaCha8Rng::from_seed(key));
                ours.counter = block;
                theirs.set_word_pos(u128::from(block) * 16);
                for i in 0..5000 {
                    assert_eq!(ours.next_u64(), theirs.next_u64(), "{first}, {block}: {i}");
                }
            }
        }
    }
}
