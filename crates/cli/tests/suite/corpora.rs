//! The inputs that fuzzing began with and those it found, for the readers of the program: see `fuzz/`.

use std::fs;
use std::path::{Path, PathBuf};

#[allow(dead_code, unreachable_pub, reason = "public for the fuzz targets")]
#[path = "../../../../fuzz/src/program.rs"]
mod program;

type Reader = (&'static str, fn(&[u8]));

#[test]
fn every_input_is_read_or_refused() {
    let readers: [Reader; 3] =
        [("npy", program::npy), ("expression", program::expression), ("archive", program::archive)];
    for (name, reader) in readers {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(files.len() >= 3, "{name}: {} inputs", files.len());
        for file in files {
            let bytes = fs::read(&file).unwrap();
            assert!(std::panic::catch_unwind(|| reader(&bytes)).is_ok(), "{}", file.display());
        }
    }
}
