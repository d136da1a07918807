//! What a GPU refuses before it does harm. Skipped, with a message, if there is no GPU.

use super::super::image;
use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Not the structure of any kernel.
#[derive(Clone, Copy, PartialEq)]
struct TooShort(u64);

// SAFETY: not true, which must be noticed before a launch.
unsafe impl Arguments for TooShort {
    const KERNELS: &'static [&'static str] = &["mask"];
}

fn gpu() -> Option<Arc<Gpu>> {
    Gpu::open(0, image::code, image::ptx).map_err(|e| eprintln!("skipped: {e}")).ok().map(Arc::new)
}

/// What a panic says.
fn panic_of(f: impl FnOnce()) -> String {
    *catch_unwind(AssertUnwindSafe(f)).unwrap_err().downcast().unwrap()
}

#[test]
fn arguments_of_another_size_are_refused() {
    let Some(gpu) = gpu() else { return };
    gpu.launch("mask", [1; 3], 32, 0, &TooShort(0));
    let said = gpu.alive().unwrap_err().to_string();
    assert!(said.contains("mask takes 32 bytes of arguments, not 8"), "{said}");
}

#[test]
fn arguments_of_another_kernel_are_refused() {
    let Some(gpu) = gpu() else { return };
    let said = panic_of(|| gpu.launch("posterior", [1; 3], 32, 0, &TooShort(0)));
    assert!(said.contains("posterior takes other arguments"), "{said}");
}

#[test]
fn a_buffer_is_not_left() {
    let Some(gpu) = gpu() else { return };
    let buffer = Buffer::<u32>::zeros(&gpu, 8).unwrap();
    let beyond: [&dyn Fn(); 4] =
        [&|| buffer.clear(9), &|| buffer.write(5, &[1; 4]), &|| drop(buffer.read_from(8, 1)), &|| {
            drop(buffer.read_from(usize::MAX, 2))
        }];
    for leave in beyond {
        let said = panic_of(leave);
        assert!(said.contains("in a buffer of 8"), "{said}");
    }
    assert_eq!(buffer.read(8).unwrap(), [0; 8]);
}

#[test]
fn a_panic_on_a_side_stream_returns_to_the_main_one() {
    let Some(gpu) = gpu() else { return };
    let mark = Mark::new(&gpu);
    assert_eq!(panic_of(|| gpu.beside(&mark, || panic!("{}", "aside"))), "aside");
    assert_eq!(CURRENT.get(), 0);
    // What was queued there is waited for.
    assert_ne!(gpu.busy.load(Relaxed), 0);
}
