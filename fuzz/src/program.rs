//! Readers of the program.

use std::path::Component;
use tractable_cli::{attack::npy, fetch::archive, objective};

/// An array has as many numbers as its shape says, all of them finite.
pub fn npy(bytes: &[u8]) {
    if let Ok((shape, data)) = npy::parse(bytes) {
        assert_eq!(shape.iter().product::<usize>(), data.len());
        assert!(data.iter().all(|v| v.is_finite()));
    }
}

/// An expression or a list of bounds; what is read can be evaluated, and a mistake can be shown.
pub fn expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match objective::Objective::from_text(text) {
        Ok(function) => {
            // As many numbers as it takes: it says no to any other number of them.
            let given = |n: usize| function.bounds(Some(&vec![(0.0, 1.0); n]));
            let own = function.bounds(None).ok().map(|b| b.len());
            let Some(n) = own.or_else(|| (1..=300).find(|&n| given(n).is_ok())) else { return };
            let x = vec![0.5; n];
            let (a, b) = (function.value(&x), function.value(&x));
            assert!(a.to_bits() == b.to_bits(), "{a} and {b}");
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
    if let Ok(bounds) = objective::parse_bounds(text) {
        assert!(!bounds.is_empty());
    }
}

/// Names of an archive never lead out of it, and reading what is there ends.
pub fn archive(bytes: &[u8]) {
    let _ = archive::each_file(bytes, drop, |path, content| {
        assert!(
            path.components().all(|c| !matches!(c, Component::ParentDir | Component::RootDir)),
            "{path:?}"
        );
        std::io::copy(&mut std::io::Read::take(content, 1 << 20), &mut std::io::sink())
            .map(drop)
            .map_err(drop)
    });
}
