//! The examples are run, and print what their first lines promise.

use std::path::PathBuf;
use std::process::Command;

/// A promise of a first line: "`name` in LOW..HIGH".
struct Promise<'a> {
    name: &'a str,
    low: f64,
    high: f64,
}

fn promises(line: &str) -> Vec<Promise<'_>> {
    let mut found = Vec::new();
    let mut parts = line.split('`').skip(1);
    while let (Some(name), Some(after)) = (parts.next(), parts.next()) {
        let range = after
            .strip_prefix(" in ")
            .unwrap_or_else(|| panic!("`{name}` is not followed by ` in `: {line}"));
        let end = range.find([',', ' ']).unwrap_or(range.len());
        let (low, high) =
            range[..end].trim_end_matches('.').split_once("..").expect("a range such as 0..0.1");
        found.push(Promise { name, low: low.parse().unwrap(), high: high.parse().unwrap() });
    }
    found
}

/// Where cargo puts examples: beside the folder of this test.
fn built(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "{}: not built; `cargo test` builds it, or `cargo build --examples`",
        path.display()
    );
    path
}

#[test]
fn print_what_they_promise() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let first = source.lines().next().unwrap();
        let (about, expect) = first.split_once("Expect: ").unwrap_or_else(|| panic!("{path:?}: {first}"));
        assert!(about.starts_with("//! ") && about.len() > 10, "{path:?}: {first}");
        let ran = Command::new(built(path.file_stem().unwrap().to_str().unwrap())).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(
            ran.status.success() && ran.stderr.is_empty(),
            "{path:?}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let promises = promises(expect);
        assert!(promises.len() >= 2, "{path:?}: {first}");
        for Promise { name, low, high } in promises {
            let said = out.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": "));
            let said = said.unwrap_or_else(|| panic!("{path:?} does not print `{name}`:\n{out}"));
            let number: f64 = said.trim().parse().unwrap_or_else(|e| panic!("{path:?}: {said}: {e}"));
            assert!((low..=high).contains(&number), "{path:?}: {name} is {number}, not in {low}..{high}");
        }
        count += 1;
    }
    assert!(count >= 8, "{count} examples");
}

#[test]
fn promises_are_read_as_they_are_written() {
    let read = promises("`a b` in -1.5..2, `c` in 0..0.1 of all, `d` in 3..4.");
    let read: Vec<_> = read.iter().map(|p| (p.name, p.low, p.high)).collect();
    assert_eq!(read, [("a b", -1.5, 2.0), ("c", 0.0, 0.1), ("d", 3.0, 4.0)]);
}
