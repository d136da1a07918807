//! The source itself: equations cited and tested, file sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The folder of all packages.
fn crates() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Every `.rs` file below a folder: path relative to it, and text.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    walk(folder, &mut files);
    let name = |f: &Path| f.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
    files.iter().map(|f| (name(f), std::fs::read_to_string(f).unwrap())).collect()
}

/// The sources of all packages; paths begin below `src`.
fn all_sources() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for package in std::fs::read_dir(crates()).unwrap() {
        all.extend(sources(&package.unwrap().path().join("src")));
    }
    assert!(all.len() > 300, "the source was not read");
    all
}

/// `T<number>` standing alone.
fn tags(text: &str) -> BTreeSet<u32> {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices('T') {
        let rest = &text[at + 1..];
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let alone = !text[..at].ends_with(letter) && !rest[digits.len()..].starts_with(letter);
        if alone && let Ok(tag) = digits.parse() {
            found.insert(tag);
        }
    }
    found
}

/// Test functions as `file::name`, and the files that hold any.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut files = all_sources();
    for suite in ["tractable/tests/suite", "harness/tests/suite"] {
        files.extend(sources(&crates().join(suite)));
    }
    for (file, text) in files {
        let place = file.trim_end_matches(".rs").replace('/', "::");
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line == "#[test]" {
                is_test = true;
            } else if is_test && let Some(rest) = line.strip_prefix("fn ") {
                found.insert(format!("{place}::{}", rest.split('(').next().unwrap()));
                found.insert(place.clone());
                is_test = false;
            }
        }
    }
    found
}

/// Words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn equations_are_cited_and_tested() {
    let table = std::fs::read_to_string(crates().join("../docs/equations.md")).unwrap();
    let (tests, mut listed, mut wrong) = (tests(), BTreeMap::new(), Vec::new());
    // Tests named once for a whole section, above its table.
    let mut of_section: Vec<&str> = Vec::new();
    for line in table.lines() {
        if line.starts_with("## ") {
            of_section.clear();
        } else if line.starts_with("All: ") {
            of_section = quoted(line).collect();
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(tag) = cells.get(1).and_then(|c| c.strip_prefix('T')).and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        if listed.insert(tag, line).is_some() {
            wrong.push(format!("T{tag} is listed twice"));
        }
        // The last cell names tests; "its example" is the one in the function's documentation.
        let cell = cells[cells.len() - 2];
        let named: Vec<&str> = quoted(cell).chain(of_section.iter().copied()).collect();
        for test in named.iter().filter(|t| !tests.contains(**t)) {
            wrong.push(format!("T{tag}: there is no test `{test}`"));
        }
        if named.is_empty() && cell != "its example" {
            wrong.push(format!("T{tag} names no test"));
        }
    }
    assert!(listed.len() > 20, "the table was not read");
    let mut cited: BTreeMap<u32, String> = BTreeMap::new();
    for (file, text) in all_sources() {
        tags(&text).into_iter().for_each(|tag| drop(cited.insert(tag, file.clone())));
    }
    wrong.extend(
        cited
            .iter()
            .filter(|(t, _)| !listed.contains_key(t))
            .map(|(t, f)| format!("{f} cites T{t}, which is not listed")),
    );
    wrong.extend(listed.keys().filter(|t| !cited.contains_key(t)).map(|t| format!("T{t} is cited nowhere")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn tags_are_read_as_written() {
    let found: Vec<u32> = tags("// T7, (T12) Tanh T MaT5 T3x `T20`").into_iter().collect();
    assert_eq!(found, [7, 12, 20]);
    assert!(tests().contains("architecture::tags_are_read_as_written"));
}

#[test]
fn files_are_short_enough_to_read() {
    let code = |text: &str| text.lines().filter(|line| !line.trim_start().starts_with("//")).count();
    let long = all_sources().into_iter().map(|(file, text)| (file, code(&text))).filter(|(_, n)| *n > 600);
    assert_eq!(long.collect::<Vec<_>>(), [], "lines without comments");
}

#[test]
fn public_types_can_go_to_other_threads() {
    fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<tractable::Network>();
    anywhere::<tractable::Device>();
    anywhere::<tractable::network::Sums>();
    fn movable<T: Send>() {}
    movable::<tractable::condition::Search<'static>>();
    movable::<tractable::condition::Searches<'static>>();
    anywhere::<tractable::network::NetworkBuilder>();
    anywhere::<tractable::Gaussian>();
    anywhere::<tractable::Matrix>();
    anywhere::<tractable::Error>();
    anywhere::<tractable::Fit>();
    anywhere::<tractable::train::FitReport>();
    anywhere::<tractable::Layer>();
    anywhere::<tractable::network::Tree>();
    anywhere::<tractable::data::Dataset>();
    anywhere::<tractable::data::Scaler>();
    anywhere::<tractable::rl::env::HalfCheetah>();
    anywhere::<tractable::rl::env::InvertedPendulum>();
    anywhere::<tractable::rl::env::mujoco::Simulator>();
    anywhere::<tractable::rl::env::mujoco::ModelTask>();
}
