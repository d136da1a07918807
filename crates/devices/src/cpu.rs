//! The fast device: f32, the widest vectors the processor has (chosen at run time), a team of threads.
//!
//! `tile` holds the three inner loops, `map` and `update` drive them for dense and convolutional layers over `weights` and
//! `window`s, `state` says how a layer lies in memory, `derivative` goes the other way round the chain rule. The other files
//! are named for what their kernels do.

// The arithmetic of a dense layer with n weights and a batch of B is 7 n B multiply-adds: three forward
// (mean; `second_a * var_w`; `var_a * mu_w^2`), two back, two in the update. Three tiles in `tile.rs`
// do all of it:
//
// - *forward*: 6 rows x 32 outputs in registers, one pass over the inputs. Weights are stored in panels
//   of 32 outputs, means and variances side by side, 64-byte aligned. Inputs are stored as pairs:
//   (mean, mean squared) and, at a fixed offset, (second moment, variance), so that one pointer per row
//   reaches all of them and known inputs need only the first pair.
// - *backward*: 6 rows x 32 inputs over the outputs, on the transposed means (`turn.rs`, 4 % of the
//   time at batch 16).
// - *sums*: 6 inputs x 32 outputs over the rows, then `posterior::free_step` on a whole line at once;
//   lines that need capping or repair take the slow path and are counted.
//
// Convolutions use the same tiles: the staged image is zero-padded and the inputs of a window are a few
// contiguous runs, so the forward pass needs no patch matrix; in the backward pass a tile adds its 32
// inputs to the image directly. The general `gemm` crate was not needed: batch updates reach 65 to 80 %
// of the measured peak, and a general matrix product would pass over memory three times where one pass
// suffices here.
//
// Threads: the core package's `team.rs` is a fork-join team that spins for some tens of microseconds before it sleeps;
// work below half a million products stays on the calling thread. Every thread handles the same samples
// in every kernel, and the update of a convolution is summed in parts of the batch (the same parts for
// any number of threads), so samples stay in the cache of one core. Vector widths: `pulp` picks
// AVX-512, AVX2 or scalar code at run time; `Device::vectors` forces one. The tails of the normal
// distribution are cut off before they become denormal.

mod average;
mod derivative;
mod lines;
mod map;
mod norm;
mod observe;
mod pool;
mod rows;
mod state;
mod status;
mod sums;
mod tile;
mod turn;
mod unitwise;
mod update;
mod weights;
mod window;

use super::Backend;
use super::device::width;
use tractable_core::team::Team;

/// Processor cores with their vectors.
pub struct Cpu {
    arch: pulp::Arch,
    team: Team,
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cpu {{ threads: {}, vectors: {} }}", self.team.size(), self.width())
    }
}

/// A pointer that may go to other threads; whoever follows it says why that is sound.
#[derive(Clone, Copy)]
struct Shared<P>(P);
// SAFETY: see above.
unsafe impl<T> Send for Shared<*mut T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<*mut T> {}
// SAFETY: see above.
unsafe impl<T> Send for Shared<*const T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<*const T> {}

impl<P: Copy> Shared<P> {
    /// The pointer. (Closures that call this capture the wrapper, not the pointer inside.)
    fn get(&self) -> P {
        self.0
    }
}

impl<T> Shared<*mut T> {
    /// The pointer, so many places on; callers stay inside the buffer.
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

/// A loop to be compiled for the vectors at hand. A closure that is given to them as it is may be called through a function of
/// its own, which is not.
struct Loop<F>(F);

impl<R, F: FnMut() -> R> pulp::WithSimd for Loop<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> R {
        self.0()
    }
}

impl Cpu {
    /// With these vectors and these threads.
    pub(super) fn new(arch: pulp::Arch, team: Team) -> Self {
        Self { arch, team }
    }

    pub(super) fn arch(&self) -> pulp::Arch {
        self.arch
    }

    /// Numbers in a vector.
    pub(super) fn width(&self) -> usize {
        width(self.arch)
    }
}

impl Backend for Cpu {}
