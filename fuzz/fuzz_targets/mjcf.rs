#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tractable_fuzz::library::mjcf(bytes));
