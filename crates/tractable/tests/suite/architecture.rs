//! The source itself: which module may use which, equations cited and tested, file sizes, where `unsafe` may be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every `.rs` file below a folder of this package: path relative to it, and text.
fn sources(folder: &str) -> Vec<(String, String)> {
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
    let (base, mut files) = (root().join(folder), Vec::new());
    walk(&base, &mut files);
    files.sort();
    assert!(files.len() > 5, "{folder} was not found");
    let name = |f: &Path| f.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
    files.iter().map(|f| (name(f), std::fs::read_to_string(f).unwrap())).collect()
}

/// Modules from the ground up. A module may use those on lower floors, and on its own.
const FLOORS: &[&[&str]] = &[
    &["error", "fnv", "rng", "cholesky"],
    &["workers", "files", "memory", "moments", "gaussian", "shape", "metrics"],
    &["backend", "data"],
    &["layer", "output"],
    &["graph"],
    &["plan"],
    &["engine"],
    // A builder makes networks, and a network checks shapes as the builder does.
    // A derivative is asked of a network, which conditions on one that is zero.
    &["network", "builder", "derivative"],
    &["train", "checkpoint", "recipes", "condition", "drift"],
    &["ensemble"],
    // Applications.
    &["attack", "optimize", "rl"],
    // The proof of everything below.
    &["verify"],
];

fn module(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

/// Modules that a line's `crate::` paths name.
fn named(line: &str) -> Vec<String> {
    let word = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    line.match_indices("crate::").map(|(at, _)| word(&line[at + 7..])).filter(|w| !w.is_empty()).collect()
}

#[test]
fn no_module_uses_one_above_it() {
    let floor = |module: &str| FLOORS.iter().position(|f| f.contains(&module));
    let files = sources("src");
    let mut wrong = Vec::new();
    for (file, text) in files.iter().filter(|(f, _)| f != "lib.rs") {
        let own = module(file);
        let Some(level) = floor(own) else {
            wrong.push(format!("{file}: module `{own}` has no floor"));
            continue;
        };
        for (i, line) in text.lines().enumerate() {
            // Documentation may point anywhere.
            let code = line.split("//").next().unwrap();
            for used in named(code) {
                match floor(&used) {
                    Some(below) if below <= level => {}
                    Some(_) => wrong.push(format!("{file}:{}: `{own}` uses `{used}`, above it", i + 1)),
                    // Re-exported names would hide where they come from.
                    None => wrong.push(format!("{file}:{}: `crate::{used}` is no module", i + 1)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let known: BTreeSet<&str> = files.iter().map(|(f, _)| module(f)).collect();
    let gone: Vec<_> = FLOORS.iter().copied().flatten().filter(|m| !known.contains(**m)).collect();
    assert!(gone.is_empty(), "no longer there: {gone:?}");
}

/// Functions of a text that begin with this: `fn NAME`.
fn functions<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let name = |line: &'a str| line.split(['(', '<']).next();
    let lines = text.lines().map(str::trim);
    lines
        .filter_map(|l| l.strip_prefix(begin)?.trim_start_matches("const ").strip_prefix("fn "))
        .filter_map(name)
        .collect()
}

/// Attack, optimisation and reinforcement learning are written as a user would write them. Only the files that hold
/// models inside of others look into how models are stored.
#[test]
fn applications_use_the_public_interface() {
    let files = sources("src");
    let of =
        |folders: &'static [&'static str]| files.iter().filter(move |(f, _)| folders.contains(&module(f)));
    let below = &[
        "condition",
        "network",
        "engine",
        "graph",
        "plan",
        "builder",
        "derivative",
        "output",
        "gaussian",
        "layer",
        "backend",
    ];
    let (mut hidden, mut public) = (BTreeSet::new(), BTreeSet::new());
    for (_, text) in of(below) {
        hidden.extend(functions(text, "pub(crate) "));
        public.extend(functions(text, "pub "));
    }
    // Their own functions, and names that the standard library has too.
    of(&["attack", "optimize", "rl"]).for_each(|(_, text)| {
        ["", "pub(super) ", "pub(crate) "].iter().for_each(|begin| public.extend(functions(text, begin)));
    });
    public.extend(["map", "fill"]);
    assert!(hidden.contains("in_parts") && public.contains("searching"), "the source was not read");
    let mut wrong = Vec::new();
    let stores_models = ["rl/file.rs", "optimize/state.rs"];
    for (file, text) in
        of(&["attack", "optimize", "rl"]).filter(|(f, _)| !stores_models.contains(&f.as_str()))
    {
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            let called =
                |name: &&&str| code.contains(&format!(".{name}(")) || code.contains(&format!("::{name}("));
            let private = hidden.difference(&public).find(called);
            let inside = named(code)
                .into_iter()
                .find(|m| ["engine", "graph", "plan", "checkpoint"].contains(&m.as_str()));
            if let Some(name) = private.map(|n| n.to_string()).or(inside) {
                wrong.push(format!("{file}:{}: `{name}` is not public", i + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn imports_are_read_as_written() {
    assert_eq!(named("use crate::backend::{Cpu, Device};"), ["backend"]);
    assert_eq!(
        named("pub(crate) fn f(x: crate::network::Trace) -> crate::error::Result<()>"),
        ["network", "error"]
    );
    assert_eq!((module("backend/cpu/mod.rs"), module("rng.rs")), ("backend", "rng"));
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
    let inside = sources("src").into_iter().filter(|(_, t)| t.contains("#[test]"));
    for (file, text) in sources("tests/suite").into_iter().chain(inside) {
        let place = file.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
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
    let table = std::fs::read_to_string(root().join("../../docs/equations.md")).unwrap();
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
    for (file, text) in sources("src") {
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
    let long: Vec<_> = sources("src").into_iter().filter(|(_, t)| t.lines().count() > 600).collect();
    let names: Vec<_> = long.iter().map(|(f, t)| format!("{f}: {} lines", t.lines().count())).collect();
    assert!(names.is_empty(), "{names:?}");
}

/// The fast device, and the files that call foreign libraries.
const UNSAFE: &[&str] = &["backend/cpu/", "backend/cuda/driver", "rl/env/mujoco/library.rs"];

#[test]
fn unsafe_code_is_where_it_must_be() {
    let word = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe");
    for (file, text) in sources("src").into_iter().filter(|(f, _)| !UNSAFE.iter().any(|u| f.starts_with(u))) {
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            assert!(!word(code), "{file}:{}: {line}", i + 1);
        }
    }
}

/// Every `unsafe` says why it is sound, on it or in the lines above.
#[test]
fn unsafe_code_says_why() {
    for (file, text) in sources("src") {
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap();
            let block = code.contains("unsafe {") || code.contains("unsafe impl");
            let said = lines[i.saturating_sub(12)..=i].iter().any(|l| l.contains("SAFETY"));
            assert!(!block || said, "{file}:{}: no SAFETY comment: {line}", i + 1);
        }
    }
}

#[test]
fn public_types_can_go_to_other_threads() {
    fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<tractable::Network>();
    anywhere::<tractable::Device>();
    anywhere::<tractable::Sums>();
    fn movable<T: Send>() {}
    movable::<tractable::Search<'static>>();
    movable::<tractable::Searches<'static>>();
    anywhere::<tractable::NetworkBuilder>();
    anywhere::<tractable::Gaussian>();
    anywhere::<tractable::Matrix>();
    anywhere::<tractable::Error>();
    anywhere::<tractable::Fit>();
    anywhere::<tractable::FitReport>();
    anywhere::<tractable::Layer>();
    anywhere::<tractable::Tree>();
    anywhere::<tractable::data::Dataset>();
    anywhere::<tractable::data::Scaler>();
    anywhere::<tractable::rl::env::HalfCheetah>();
    anywhere::<tractable::rl::env::InvertedPendulum>();
    anywhere::<tractable::rl::env::mujoco::Simulator>();
    anywhere::<tractable::rl::env::mujoco::ModelTask>();
}
