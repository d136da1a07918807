//! Arrays of numbers in the precision of a device, as they are sent.

use std::ops::Range;

/// Numbers in one of two precisions.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Of a device that computes in f32.
    Single(Vec<f32>),
    /// Of a device that computes in f64.
    Double(Vec<f64>),
}

/// Runs the same code for either precision.
macro_rules! either {
    ($numbers:expr, $v:ident => $code:expr) => {
        match $numbers {
            Numbers::Single($v) => $code,
            Numbers::Double($v) => $code,
        }
    };
}

impl Numbers {
    /// No numbers yet.
    pub fn empty(double: bool) -> Self {
        if double { Numbers::Double(Vec::new()) } else { Numbers::Single(Vec::new()) }
    }

    /// `n` zeros.
    pub fn zeros(n: usize, double: bool) -> Self {
        if double { Numbers::Double(vec![0.0; n]) } else { Numbers::Single(vec![0.0; n]) }
    }

    /// Whether they are f64.
    pub fn is_double(&self) -> bool {
        matches!(self, Numbers::Double(_))
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        either!(self, v => v.len())
    }

    /// One of them.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Numbers::Single(v) => f64::from(v[at]),
            Numbers::Double(v) => v[at],
        }
    }

    /// Appends numbers, rounded to this precision.
    pub fn extend(&mut self, more: impl Iterator<Item = f64>) {
        match self {
            Numbers::Single(v) => v.extend(more.map(|v| v as f32)),
            Numbers::Double(v) => v.extend(more),
        }
    }

    /// Sets both numbers of every pair; the first is the pair `from`.
    pub fn set_pairs(&mut self, from: usize, pairs: impl ExactSizeIterator<Item = [f64; 2]>) {
        let range = 2 * from..2 * (from + pairs.len());
        match self {
            Numbers::Single(v) => {
                let v = v[range].as_chunks_mut().0.iter_mut();
                v.zip(pairs).for_each(|(v, pair)| *v = pair.map(|number| number as f32));
            }
            Numbers::Double(v) => {
                v[range].as_chunks_mut().0.iter_mut().zip(pairs).for_each(|(v, pair)| *v = pair);
            }
        }
    }

    /// Calls `f` with every one of `others` and its pair; the first belongs to the pair `from`.
    pub fn with_pairs<T>(
        &self,
        from: usize,
        others: impl Iterator<Item = T>,
        mut f: impl FnMut(T, [f64; 2]),
    ) {
        match self {
            Numbers::Single(v) => {
                let pairs = v[2 * from..].as_chunks().0.iter();
                others.zip(pairs).for_each(|(other, pair)| f(other, pair.map(f64::from)));
            }
            Numbers::Double(v) => {
                others.zip(v[2 * from..].as_chunks().0).for_each(|(other, pair)| f(other, *pair));
            }
        }
    }

    /// Whether none is NaN or infinite.
    pub fn all_finite(&self) -> bool {
        either!(self, v => v.iter().all(|v| v.is_finite()))
    }

    /// Multiplies all by a factor.
    pub fn times(&mut self, factor: f64) {
        match self {
            Numbers::Single(v) => v.iter_mut().for_each(|v| *v *= factor as f32),
            Numbers::Double(v) => v.iter_mut().for_each(|v| *v *= factor),
        }
    }

    /// Adds an array of the same length and precision.
    pub fn add(&mut self, more: &Numbers) {
        match (self, more) {
            (Numbers::Single(v), Numbers::Single(more)) => v.iter_mut().zip(more).for_each(|(v, m)| *v += m),
            (Numbers::Double(v), Numbers::Double(more)) => v.iter_mut().zip(more).for_each(|(v, m)| *v += m),
            _ => unreachable!("precisions are compared before"),
        }
    }

    /// Little endian.
    pub fn bytes(&self, range: Range<usize>) -> Vec<u8> {
        // One number at a time: byte by byte takes ten times as long.
        let mut bytes = vec![0; range.len() * if self.is_double() { 8 } else { 4 }];
        match self {
            Numbers::Single(v) => {
                bytes.as_chunks_mut().0.iter_mut().zip(&v[range]).for_each(|(b, v)| *b = v.to_le_bytes());
            }
            Numbers::Double(v) => {
                bytes.as_chunks_mut().0.iter_mut().zip(&v[range]).for_each(|(b, v)| *b = v.to_le_bytes());
            }
        }
        bytes
    }

    /// Whole numbers from bytes; `None` where some are left over.
    pub fn from_bytes(bytes: &[u8], double: bool) -> Option<Self> {
        let mut numbers = Numbers::zeros(bytes.len() / if double { 8 } else { 4 }, double);
        let all = 0..numbers.len();
        numbers.set(all, bytes)?;
        Some(numbers)
    }

    /// `None` if the bytes are a different number of numbers.
    pub fn set(&mut self, range: Range<usize>, bytes: &[u8]) -> Option<()> {
        match self {
            Numbers::Single(v) => {
                let (numbers, []) = bytes.as_chunks() else { return None };
                (numbers.len() == range.len()).then_some(())?;
                v[range].iter_mut().zip(numbers).for_each(|(v, b)| *v = f32::from_le_bytes(*b));
            }
            Numbers::Double(v) => {
                let (numbers, []) = bytes.as_chunks() else { return None };
                (numbers.len() == range.len()).then_some(())?;
                v[range].iter_mut().zip(numbers).for_each(|(v, b)| *v = f64::from_le_bytes(*b));
            }
        }
        Some(())
    }

    /// Adds up a slice over workers in the order of ranks, including this worker's own, and returns its bytes; the error is the rank of a worker whose
    /// message has a different size.
    pub fn add_in_order(
        &mut self,
        range: Range<usize>,
        own: usize,
        from: &[Vec<u8>],
    ) -> Result<Vec<u8>, usize> {
        let size = if self.is_double() { 8 } else { 4 };
        let other = |(rank, bytes): (usize, &Vec<u8>)| rank != own && bytes.len() != size * range.len();
        if let Some(rank) = from.iter().enumerate().find(|said| other(*said)).map(|(rank, _)| rank) {
            return Err(rank);
        }
        macro_rules! add {
            ($numbers:expr, $kind:ty) => {{
                let mine = &mut $numbers[range.clone()];
                let mut sum: Vec<$kind> = vec![0.0; mine.len()];
                for (rank, bytes) in from.iter().enumerate() {
                    if rank == own {
                        sum.iter_mut().zip(&*mine).for_each(|(sum, v)| *sum += v);
                    } else {
                        let said = sum.iter_mut().zip(bytes.as_chunks().0);
                        said.for_each(|(sum, v)| *sum += <$kind>::from_le_bytes(*v));
                    }
                }
                mine.copy_from_slice(&sum);
            }};
        }
        match self {
            Numbers::Single(v) => add!(v, f32),
            Numbers::Double(v) => add!(v, f64),
        }
        Ok(self.bytes(range))
    }
}
