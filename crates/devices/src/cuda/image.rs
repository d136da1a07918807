//! The compiled kernels, as kept in the repository: `cuda/compile.py` makes them from `cuda/kernels`.

use std::io::Read;
use std::sync::OnceLock;

/// For Hopper.
static CODE: &[u8] = include_bytes!("../../cuda/kernels.cubin.gz");
/// For all other GPUs of compute capability 8.0 and later; the driver compiles it.
static PTX: &[u8] = include_bytes!("../../cuda/kernels.ptx.gz");

/// The code for Hopper, unpacked once.
pub(super) fn code() -> &'static [u8] {
    static UNPACKED: OnceLock<Vec<u8>> = OnceLock::new();
    UNPACKED.get_or_init(|| unpack(CODE))
}

/// The PTX, unpacked once.
pub(super) fn ptx() -> &'static [u8] {
    static UNPACKED: OnceLock<Vec<u8>> = OnceLock::new();
    UNPACKED.get_or_init(|| unpack(PTX))
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut out).expect("the embedded kernels are intact");
    // PTX ends with a zero byte.
    out.push(0);
    out
}
