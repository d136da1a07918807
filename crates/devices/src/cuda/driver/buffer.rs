//! Memory of the device.

use super::{Gpu, OUT_OF_MEMORY, failed};
use std::sync::Arc;
use tractable_core::error::Result;

/// Numbers in the device's memory. It grows and never shrinks; new memory is uninitialised.
pub struct Buffer<T> {
    gpu: Arc<Gpu>,
    at: u64,
    room: usize,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Copy> Buffer<T> {
    /// No memory yet.
    pub(in crate::cuda) fn none(gpu: &Arc<Gpu>) -> Self {
        Buffer { gpu: gpu.clone(), at: 0, room: 0, kind: std::marker::PhantomData }
    }

    /// Room for `n` numbers, all bytes zero.
    pub(in crate::cuda) fn zeros(gpu: &Arc<Gpu>, n: usize) -> Result<Self> {
        let mut buffer = Self::none(gpu);
        buffer.grow(n)?;
        buffer.clear(n);
        Ok(buffer)
    }

    /// Makes room for at least `n` numbers; if it must grow, the old contents are lost.
    pub(in crate::cuda) fn grow(&mut self, n: usize) -> Result<()> {
        if self.room >= n && self.at != 0 {
            return Ok(());
        }
        self.gpu.alive()?;
        self.gpu.enter();
        self.free();
        let bytes = (n * size_of::<T>()).max(16);
        // SAFETY: fills the address.
        match unsafe { (self.gpu.f.cuMemAllocAsync)(&mut self.at, bytes, self.gpu.stream()) } {
            0 => {
                self.room = n;
                Ok(())
            }
            OUT_OF_MEMORY => {
                self.at = 0;
                let (mut free, mut all) = (0, 0);
                // SAFETY: fills both.
                unsafe { (self.gpu.f.cuMemGetInfo_v2)(&mut free, &mut all) };
                Err(failed(format!(
                    "{} more are needed, and {} of {} are free",
                    size(bytes),
                    size(free),
                    size(all)
                )))
            }
            code => {
                self.at = 0;
                self.gpu.note(code, "allocating memory");
                self.gpu.alive()
            }
        }
    }

    /// Capacity in numbers.
    pub(in crate::cuda) fn room(&self) -> usize {
        self.room
    }

    /// Its address.
    pub(in crate::cuda) fn at(&self) -> u64 {
        self.at
    }

    /// Sets the first `n` numbers to zero.
    pub(in crate::cuda) fn clear(&self, n: usize) {
        if self.at != 0 {
            self.check(0, n);
            self.gpu.clear(self.at, (n * size_of::<T>()).div_ceil(4));
        }
    }

    /// Copies numbers to the device, from number `first` on.
    pub(in crate::cuda) fn write(&self, first: usize, from: &[T]) {
        self.check(first, from.len());
        if self.at != 0 {
            self.gpu.upload(self.at + (first * size_of::<T>()) as u64, from);
        }
    }

    /// Waits for the device, and copies the first `n` numbers back.
    pub(in crate::cuda) fn read(&self, n: usize) -> Result<Vec<T>>
    where
        T: Default,
    {
        self.read_from(0, n)
    }

    /// Waits for the device, and copies `n` numbers back, from number `first` on.
    pub(in crate::cuda) fn read_from(&self, first: usize, n: usize) -> Result<Vec<T>>
    where
        T: Default,
    {
        self.check(first, n);
        self.gpu.alive()?;
        let mut to = vec![T::default(); n];
        if n == 0 {
            return Ok(to);
        }
        self.gpu.enter();
        // SAFETY: `to` has room for `n` numbers and is not touched until the copy is done.
        let code = unsafe {
            (self.gpu.f.cuMemcpyDtoHAsync_v2)(
                to.as_mut_ptr().cast(),
                self.at + (first * size_of::<T>()) as u64,
                n * size_of::<T>(),
                self.gpu.stream(),
            )
        };
        self.gpu.note(code, "copying from the device");
        self.gpu.wait()?;
        Ok(to)
    }

    /// Whether there is room for `n` numbers, from number `first` on.
    pub(super) fn check(&self, first: usize, n: usize) {
        let fits = first <= self.room && n <= self.room - first;
        assert!(fits, "{n} numbers from number {first} on, in a buffer of {}", self.room);
    }

    fn free(&mut self) {
        if self.at != 0 {
            // SAFETY: an address of ours, freed after all work launched so far.
            unsafe { (self.gpu.f.cuMemFreeAsync)(self.at, self.gpu.stream()) };
            (self.at, self.room) = (0, 0);
        }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.at != 0 {
            self.gpu.enter();
            // SAFETY: as in `free`.
            unsafe { (self.gpu.f.cuMemFreeAsync)(self.at, self.gpu.stream()) };
        }
    }
}

/// A number of bytes as text.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000_000 => format!("{bytes} bytes"),
        1_000_000..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
