//! NCCL, NVIDIA's library for sums over several GPUs, opened at run time if it is installed.

use super::{Buffer, Code, Gpu, Pointer, failed};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use tractable_core::error::Result;

/// What the members of a team have in common.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u8; ID]);

/// Bytes of an [`Id`].
const ID: usize = 128;

functions! {
    ncclGetUniqueId(*mut Id);
    ncclCommInitRank(*mut Pointer, c_int, Id, c_int);
    ncclAllReduce(*const c_void, *mut c_void, usize, c_int, c_int, Pointer, Pointer);
    ncclCommDestroy(Pointer);
    ncclCommAbort(Pointer);
}

/// Environment variable with the path of the library, if the system does not find it by name.
const LIBRARY: &str = "TRACTABLE_LIBNCCL";
const FLOAT: c_int = 7;
const SUM: c_int = 0;

fn functions() -> Option<&'static Functions> {
    static LOADED: OnceLock<Option<Functions>> = OnceLock::new();
    let load = || {
        let name = std::env::var_os(LIBRARY).unwrap_or("libnccl.so.2".into());
        // SAFETY: opening the library runs its initialisers, which do not touch our data.
        let library = unsafe { Library::new(name) }.ok()?;
        // Never closed: its threads may outlive us.
        Functions::load(&ManuallyDrop::new(library)).ok()
    };
    LOADED.get_or_init(load).as_ref()
}

fn check(code: Code, doing: &str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(failed(format!("{doing} with NCCL failed (error {code})"))) }
}

/// GPUs that add up numbers, one per worker.
pub(in crate::cuda) struct Team {
    gpu: Arc<Gpu>,
    f: &'static Functions,
    /// Zero once it was given up.
    communicator: AtomicUsize,
}

impl Team {
    /// Whether the library is installed.
    pub(in crate::cuda) fn is_possible() -> bool {
        functions().is_some()
    }

    /// The id that the first worker sends to all others.
    pub(in crate::cuda) fn id() -> Result<Vec<u8>> {
        let f = functions().ok_or_else(|| failed("NCCL is not installed"))?;
        let mut id = Id([0; ID]);
        // SAFETY: fills the bytes.
        check(unsafe { (f.ncclGetUniqueId)(&mut id) }, "the sum over GPUs")?;
        Ok(id.0.to_vec())
    }

    /// Waits for all workers.
    pub(in crate::cuda) fn join(gpu: &Arc<Gpu>, ranks: usize, rank: usize, id: &[u8]) -> Result<Self> {
        let f = functions().ok_or_else(|| failed("NCCL is not installed"))?;
        let id = Id(id.try_into().map_err(|_| failed("the first worker sent no NCCL id"))?);
        let mut communicator = std::ptr::null_mut();
        gpu.enter();
        // SAFETY: fills the handle; the context of this GPU is the thread's own.
        let code = unsafe { (f.ncclCommInitRank)(&mut communicator, ranks as c_int, id, rank as c_int) };
        check(code, "the sum over GPUs")?;
        Ok(Team { gpu: gpu.clone(), f, communicator: AtomicUsize::new(communicator as usize) })
    }

    /// Replaces the first `n` numbers by their sums over all workers; `n` must be the same on all workers.
    pub(in crate::cuda) fn add(&self, numbers: &Buffer<f32>, n: usize) -> Result<()> {
        numbers.check(0, n);
        self.gpu.alive()?;
        self.gpu.enter();
        let team = self.communicator.load(Relaxed);
        if team == 0 {
            return Err(failed("the sum over GPUs was given up after an error"));
        }
        let (at, team, stream) = (numbers.at() as usize as Pointer, team as Pointer, self.gpu.stream());
        // SAFETY: the buffer has `n` numbers, and is freed after the work on this stream.
        check(unsafe { (self.f.ncclAllReduce)(at, at, n, FLOAT, SUM, team, stream) }, "the sum over GPUs")
    }

    /// Ends sums that wait for a worker which has failed. There are no further sums.
    pub(in crate::cuda) fn give_up(&self) {
        self.close(self.f.ncclCommAbort);
    }

    fn close(&self, how: unsafe extern "C" fn(Pointer) -> Code) {
        let team = self.communicator.swap(0, Relaxed);
        if team != 0 {
            self.gpu.enter();
            // SAFETY: a communicator of ours, which is not used any more.
            unsafe { how(team as Pointer) };
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.close(self.f.ncclCommDestroy);
    }
}
