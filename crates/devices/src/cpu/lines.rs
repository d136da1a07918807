//! Memory that starts on a cache line: a vector that straddles two lines costs two loads.

use std::ops::{Deref, DerefMut};
use tractable_core::error::{Error, Result};

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; 16]);

/// f32 numbers from a cache line on, in whole lines. Grows, never shrinks; fresh memory is zero.
#[derive(Default)]
pub(super) struct Lines(Vec<Line>);

impl Lines {
    /// Room for `n` numbers.
    pub(super) fn zeros(n: usize) -> Self {
        let mut lines = Lines::default();
        lines.grow(n);
        lines
    }

    /// The same, or an error where there is no such memory.
    pub(super) fn try_zeros(n: usize) -> Result<Self> {
        let mut lines = Vec::new();
        let too_much = |_| Error::Memory { bytes: n as u64 * 4 };
        lines.try_reserve_exact(n.div_ceil(16)).map_err(too_much)?;
        lines.resize(n.div_ceil(16), Line([0.0; 16]));
        Ok(Lines(lines))
    }

    /// Makes room for at least `n` numbers.
    pub(super) fn grow(&mut self, n: usize) {
        if self.len() < n {
            self.0.resize(n.div_ceil(16), Line([0.0; 16]));
        }
    }
}

impl Deref for Lines {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a line is sixteen f32 without padding.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr() as *const f32, self.0.len() * 16) }
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr() as *mut f32, self.0.len() * 16) }
    }
}
