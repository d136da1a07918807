//! What we depend on: explained, permissively licensed, from the registry.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Licences that ask for no more than their text.
const PERMISSIVE: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unlicense",
    "Unicode-3.0",
    "BSL-1.0",
];

fn cargo(args: &[&str]) -> String {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let output = command.args(args).args(["--offline", "--locked"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = output.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Crates that the program and its tests are built from on this machine, with their licences. Those of the Python package need not
/// have been downloaded.
fn built() -> BTreeSet<(String, String)> {
    let tree = cargo(&[
        "tree",
        "-p",
        "tractable-cli",
        "-p",
        "tractable-harness",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ]);
    let line = |l: &str| {
        let (package, licence) = l.trim_end_matches(" (*)").split_once('|').unwrap();
        (package.to_string(), licence.to_string())
    };
    tree.lines().filter(|l| !l.is_empty()).map(line).collect()
}

/// Whether an expression of licences leaves a choice that is permissive. The old form writes a slash for OR.
fn permissive(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ").replace(['(', ')'], " ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| PERMISSIVE.contains(&licence.trim())))
}

#[test]
fn licences_are_permissive_and_sources_known() {
    let built = built();
    assert!(built.len() > 50, "the tree was not read");
    for (package, licence) in built {
        assert!(permissive(&licence), "{package}: {licence}");
        // A path or an address in parentheses is not the registry.
        let elsewhere = package.contains('(') && !package.ends_with("(proc-macro)");
        assert!(!elsewhere || package.starts_with("tractable"), "{package}");
    }
}

/// What the features leave out stays out: docs/dependencies.md says what the numbers are made of.
#[test]
fn a_network_alone_needs_few_crates() {
    let crates = |features: &[&str]| -> BTreeSet<String> {
        let args = ["tree", "-p", "tractable", "-e", "normal", "--prefix", "none"];
        let text = cargo(&[&args, features].concat());
        let foreign = text.lines().filter(|l| !l.starts_with("tractable"));
        foreign.map(|l| l.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    let (alone, whole) = (crates(&["--no-default-features"]), crates(&[]));
    let files = crates(&["--no-default-features", "--features", "files"]);
    assert!(alone.len() <= 11, "{} crates: {alone:#?}", alone.len());
    assert!(files.len() <= 22, "{} crates: {files:#?}", files.len());
    let arrays = crates(&["--no-default-features", "--features", "ndarray"]);
    assert!(arrays.len() <= 15, "{} crates: {arrays:#?}", arrays.len());
    assert!(whole.len() <= 33, "{} crates: {whole:#?}", whole.len());
}

#[test]
fn licences_are_read_as_written() {
    for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(permissive(good), "{good}");
    }
    for bad in ["GPL-3.0", "none", "", "MIT AND GPL-3.0", "MPL-2.0", "AGPL-3.0 OR LGPL-3.0"] {
        assert!(!permissive(bad), "{bad}");
    }
}

#[test]
fn every_direct_dependency_is_explained() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dependencies.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter(|l| l.starts_with("| `") && l.matches('|').count() == 6);
    let explained: BTreeSet<String> = rows
        .flat_map(|l| l.split('|').nth(1).unwrap().split('`').skip(1).step_by(2))
        .map(String::from)
        .collect();
    let own: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let own = own["packages"].as_array().unwrap();
    let used: BTreeSet<String> = own
        .iter()
        .flat_map(|p| p["dependencies"].as_array().unwrap().clone())
        .map(|d| d["name"].as_str().unwrap().to_string())
        .filter(|name| !name.starts_with("tractable"))
        .collect();
    let missing: Vec<_> = used.difference(&explained).collect();
    assert!(missing.is_empty(), "docs/dependencies.md says nothing of {missing:?}");
    let gone: Vec<_> = explained.difference(&used).filter(|n| *n != "libfuzzer-sys").collect();
    assert!(gone.is_empty(), "docs/dependencies.md explains {gone:?}, which nobody uses");
}
