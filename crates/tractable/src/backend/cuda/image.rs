//! The compiled kernels, as kept in the repository: `cuda/compile.py` makes them from `cuda/kernels`.

use std::io::Read;
use std::sync::OnceLock;

/// For Hopper.
static CODE: &[u8] = include_bytes!("../../../cuda/kernels.cubin.gz");
/// For all other GPUs of compute capability 8.0 and later; the driver compiles it.
static PTX: &[u8] = include_bytes!("../../../cuda/kernels.ptx.gz");

/// Code and PTX, unpacked once.
pub(super) fn images() -> &'static [Vec<u8>; 2] {
    static UNPACKED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    UNPACKED.get_or_init(|| {
        [CODE, PTX].map(|packed| {
            let mut out = Vec::new();
            flate2::read::GzDecoder::new(packed)
                .read_to_end(&mut out)
                .expect("the embedded kernels are intact");
            // PTX ends with a zero byte.
            out.push(0);
            out
        })
    })
}
