//! The source of the program itself: which module may use which, and file sizes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every `.rs` file below `src` of a package: path relative to it, and its code without comments.
fn sources(package: &str) -> Vec<(String, String)> {
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
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src");
    let mut files = Vec::new();
    walk(&base, &mut files);
    files.sort();
    let name = |f: &Path| f.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
    // Documentation may point anywhere.
    let code =
        |text: &str| text.lines().map(|l| l.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
    files.iter().map(|f| (name(f), code(&std::fs::read_to_string(f).unwrap()))).collect()
}

/// Modules from the ground up. A module may use those on lower floors, and itself.
const FLOORS: &[&[&str]] = &[
    &["escape"],
    &["console"],
    &["report"],
    &["team"],
    &["files", "interrupt", "progress"],
    &["out"],
    &["csv", "jobs", "results", "plot", "objective", "image_sets"],
    &["page", "fetch", "settings", "scores"],
    &["run"],
    // What the verbs are about.
    &["attack", "rl"],
    &["view"],
    &["cmd"],
];

/// The first name after every `prefix` of a text; several where they stand in braces.
fn named(text: &str, prefix: &str) -> Vec<String> {
    let word = |s: &str| s.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let after = text.match_indices(prefix).map(|(at, _)| &text[at + prefix.len()..]);
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        None => vec![word(rest)],
        Some(inside) => {
            let mut depth = 0;
            let end = inside.find(|c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth < 0
            });
            let mut depth = 0;
            let parts = inside[..end.unwrap()].split(|c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth == 0 && c == ','
            });
            parts.map(word).collect()
        }
    });
    names.filter(|w: &String| !w.is_empty()).collect()
}

fn module(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

#[test]
fn no_module_uses_one_above_it() {
    let floor = |module: &str| FLOORS.iter().position(|f| f.contains(&module));
    let (files, mut wrong) = (sources("tractable-program"), Vec::new());
    for (file, code) in files.iter().filter(|(f, _)| f != "lib.rs") {
        let own = module(file);
        let Some(level) = floor(own) else {
            wrong.push(format!("{file}: module `{own}` has no floor"));
            continue;
        };
        for used in named(code, "crate::") {
            let Some(below) = floor(&used) else {
                wrong.push(format!("{file}: `crate::{used}` is not a module"));
                continue;
            };
            if below > level || (below == level && used != own) {
                wrong.push(format!("{file}: `{own}` uses `{used}`, which is not below it"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let known: BTreeSet<&str> = files.iter().map(|(f, _)| module(f)).collect();
    let gone: Vec<_> = FLOORS.iter().copied().flatten().filter(|m| !known.contains(**m)).collect();
    assert!(gone.is_empty(), "no longer there: {gone:?}");
}

/// What two verbs share is below `cmd`. The harness may type `tractable train`, as a user would.
#[test]
fn no_verb_uses_another() {
    for (file, code) in sources("tractable-program") {
        let Some(place) = file.strip_prefix("cmd/") else { continue };
        // From a verb's own file `super` is `cmd`; from a file of its folder it is the verb.
        let up = "super::".repeat(place.trim_end_matches("/mod.rs").matches('/').count() + 1);
        let code = code.split("#[cfg(test)]").next().unwrap();
        assert!(!code.contains("crate::cmd") && !code.contains(&up), "{file} uses another verb");
    }
    for (file, code) in sources("tractable-reproduce") {
        let used = named(&code, "tractable_cli::cmd::");
        assert!(used.iter().all(|u| u == "train"), "{file}: {used:?}");
        assert!(!code.contains("tractable_cli::{cmd"), "{file}");
    }
}

#[test]
fn imports_are_read_as_written() {
    assert_eq!(named("use crate::report::{Exit, Outcome};", "crate::"), ["report"]);
    assert_eq!(
        named("use crate::{console, run::{self, commands},\n files};", "crate::"),
        ["console", "run", "files"]
    );
    assert_eq!(named("fn f(x: crate::run::Past) -> crate::report::Outcome", "crate::"), ["run", "report"]);
    assert_eq!((module("cmd/rl/mod.rs"), module("files.rs")), ("cmd", "files"));
}

#[test]
fn files_are_short_enough_to_read() {
    for package in ["tractable-program", "tractable-reproduce", "tractable-cli"] {
        let files = sources(package);
        assert!(files.len() > 1, "{package} was not found");
        for (file, code) in files {
            assert!(code.lines().count() <= 600, "{package}/src/{file}: {} lines", code.lines().count());
        }
    }
}
