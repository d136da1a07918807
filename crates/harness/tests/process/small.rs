//! Experiments of the book in miniature: they run, and their lines can be read.

use crate::run::Place;

#[test]
fn experiments_run_in_miniature() {
    let place = Place::new();
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let runs: [&[&str]; 6] = [
        &["toys", "--seeds", "1", "--times", "50"],
        &["regret", "--seeds", "1", "--long", "100"],
        &["workers", "--images", "1024", "--workers", "4", "--million", "0.1", "--seeds", "1"],
        &["numerics", "--draws", "100", "--networks", "1", "--reference", vectors],
        &["streams", "--seeds", "1", "--rows", "1000"],
        &["sustained", "--updates", "1000", "--rows", "2000"],
    ];
    for args in runs {
        assert!(!place.json(&[&["reproduce"], args].concat()).is_empty(), "{args:?}");
    }
}
